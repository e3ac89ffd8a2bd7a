//! The requirements of a pair: for the tokenizer, for the request to the engine, and for its two halves.

use crate::error::{Error, ErrorKind};
use crate::format::file::{KeepSpecial, Level, Required};
use crate::format::syntax::Format;
use crate::format::template::Template;
use crate::plan::Plan;
use crate::registry::Registry;
use crate::setup::{Half, SetupWarning};

/// Requirements for the request to the engine, so that the pair can parse the output. From the `serve` keys of both
/// halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// The text must contain special tokens: set `skip_special_tokens` and `spaces_between_special_tokens` to false.
    pub special_tokens: bool,
    /// How the model writes required calls (`tool_choice` required or named).
    pub forced_calls: Required,
    /// The default strictness of the grammar of calls.
    pub level: Level,
}

impl Needs {
    /// The safe choice without further knowledge: keep special tokens.
    pub(crate) const SAFE: Self = Self { special_tokens: true, forced_calls: Required::Native, level: Level::Auto };

    /// The needs of a pair for a reply with or without possible calls.
    pub(crate) fn of(plan: &Plan, wants_calls: bool) -> Self {
        let keeps = |format: &Format| match format.serve.keep_special {
            KeepSpecial::Always => true,
            KeepSpecial::Tools => wants_calls,
            KeepSpecial::Never => false,
        };
        let tools = plan.tools.as_ref();
        Self {
            special_tokens: plan.reasoning.as_ref().is_some_and(keeps) || tools.is_some_and(keeps),
            forced_calls: tools.map_or(Required::Native, |f| f.serve.required),
            level: tools.map_or(Level::Auto, |f| f.serve.level),
        }
    }
}

/// Checks that a tokenizer has the tokens that a format needs (`ids.need`). `name` returns the name of a half.
pub(crate) fn check_vocabulary<'a>(
    plan: &Plan,
    name: impl Fn(Half) -> Option<&'a str>,
    has: impl Fn(&str) -> bool,
    model: &str,
) -> Result<(), Error> {
    let halves = [(Half::Reasoning, plan.reasoning.as_ref()), (Half::Tools, plan.tools.as_ref())];
    let mut faults = Vec::new();
    for (half, format) in halves {
        let (Some(format), Some(name)) = (format, name(half)) else { continue };
        let needed = match half {
            Half::Reasoning => &format.ids.need.reasoning,
            Half::Tools => &format.ids.need.tools,
        };
        let missing: Vec<String> = needed.iter().filter(|t| !has(t)).map(|t| format!("`{t}`")).collect();
        if !missing.is_empty() {
            faults.push(format!("{} {name} needs the token {}", half.flag(), missing.join(" and ")));
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    let message = format!("the tokenizer of {model} does not fit: {}", faults.join("; "));
    Err(Error::new(ErrorKind::MissingTokens, message)
        .hint("take the parser that belongs to the model; `unspool formats` lists which models write what"))
}

/// The warning for a name that is an alias.
pub(crate) fn alias(registry: &Registry, half: Half, name: &str) -> Option<SetupWarning> {
    let own = registry.alias(half, name)?;
    Some(SetupWarning {
        message: format!("{} {name} is read as `{own}`", half.flag()),
        hint: Some(format!("`{own}` is the name here; others call it `{name}`")),
    })
}

/// Warnings about a pair that is probably wrong: the thought of one half ends at calls of another family.
pub(crate) fn warnings(registry: &Registry, plan: &Plan, (thinker, caller): (&str, &str)) -> Vec<SetupWarning> {
    if plan.checkpoint.as_ref().is_some_and(|spec| !spec.thinks()) {
        return vec![SetupWarning {
            message: format!(
                "the checkpoint's own template has no `thinking`: {} {thinker} finds no thought",
                Half::Reasoning.flag()
            ),
            hint: Some(format!("leave {} out", Half::Reasoning.flag())),
        }];
    }
    let (Some(reasoning), Some(tools)) = (&plan.reasoning, &plan.tools) else { return Vec::new() };
    let own = |end: &&String| {
        !reasoning.content.drop.contains(end) && !reasoning.syntax.frames.iter().any(|f| begins(f, end))
    };
    let calls: Vec<&String> = reasoning.reasoning.ends.iter().filter(own).collect();
    let opens = |end: &&String| tools.syntax.blocks.iter().chain(&tools.syntax.calls).any(|t| begins(t, end));
    if calls.is_empty() || calls.iter().any(opens) {
        return Vec::new();
    }
    let partners = registry.partners(Half::Reasoning, thinker);
    vec![SetupWarning {
        message: format!(
            "{} {thinker} expects calls that begin with `{}`, and {} {caller} reads none of these",
            Half::Reasoning.flag(),
            calls[0],
            Half::Tools.flag(),
        ),
        hint: (!partners.is_empty())
            .then(|| format!("tool-call parsers that go with {thinker}: {}", partners.join(", "))),
    }]
}

/// Whether a template begins with a literal, ignoring white space.
fn begins(template: &Template, literal: &str) -> bool {
    template.first_literal().is_some_and(|text| text.starts_with(literal))
}
