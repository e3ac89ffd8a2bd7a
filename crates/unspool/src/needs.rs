//! What a pair asks of its surroundings: of the tokenizer, of the request to the engine, and of its own two halves.

use crate::format::file::{FormatFile, KeepSpecial, Level, Required};
use crate::pair::{Pair, kwargs};
use crate::registry::Registry;
use crate::request::{Request, ToolChoice};
use crate::setup::{Half, SetupError, SetupErrorKind};

/// What the request to the engine must have, so that the pair can read the output. From the `serve` words of both halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// The text must hold special tokens as they are: `skip_special_tokens` and `spaces_between_special_tokens` are false.
    pub special_tokens: bool,
    /// How calls come that a request insists on (`tool_choice` required or named).
    pub forced_calls: Required,
    /// How strict the grammar of calls is if neither the server nor the request says.
    pub level: Level,
}

/// Something that is likely wrong, and that does not keep a pair from working.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupWarning {
    /// What is likely wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Pair {
    /// What the request to the engine must have for this request of a client. A format file that cannot be resolved under
    /// the request's switches asks for what is safe: special tokens.
    #[must_use]
    pub fn needs(&self, request: &Request) -> Needs {
        let safe = Needs { special_tokens: true, forced_calls: Required::Native, level: Level::Auto };
        let Ok(plan) = self.plan(&kwargs(request), false) else { return safe };
        let wants_calls = self.gives_calls() && !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
        let keeps = |format: &FormatFile| match format.serve.keep_special {
            KeepSpecial::Always => true,
            KeepSpecial::Tools => wants_calls,
            KeepSpecial::Never => false,
        };
        let tools = plan.tools.as_ref();
        Needs {
            special_tokens: plan.reasoning.as_ref().is_some_and(keeps) || tools.is_some_and(keeps),
            forced_calls: tools.map_or(Required::Native, |f| f.serve.required),
            level: tools.map_or(Level::Auto, |f| f.serve.level),
        }
    }

    /// Checks at start-up, as vLLM does, that a tokenizer has the tokens without which a format cannot be read (`ids.need`).
    /// `has` says whether a text is one entry of the vocabulary, `model` is the checkpoint's name for the message.
    ///
    /// # Errors
    /// [`SetupErrorKind::MissingTokens`], with the flag, every missing token and the model.
    pub fn check_vocabulary(&self, has: impl Fn(&str) -> bool, model: &str) -> Result<(), SetupError> {
        let plan = self.formats(&Request::default())?;
        let halves = [(Half::Reasoning, plan.reasoning.as_ref()), (Half::Tools, plan.tools.as_ref())];
        let mut faults = Vec::new();
        for (half, format) in halves {
            let (Some(format), Some(name)) = (format, self.name(half)) else { continue };
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
        Err(SetupError {
            kind: SetupErrorKind::MissingTokens,
            message: format!("the tokenizer of {model} does not fit: {}", faults.join("; ")),
            hint: Some(
                "take the parser that belongs to the model; `unspool formats` lists which models write what".into(),
            ),
        })
    }
}

/// What is likely wrong with a pair: the thought of one half waits for the calls of another family.
pub(crate) fn warnings(registry: &Registry, pair: &Pair) -> Vec<SetupWarning> {
    let Ok(plan) = pair.formats(&Request::default()) else { return Vec::new() };
    let (Some(reasoning), Some(tools)) = (&plan.reasoning, &plan.tools) else { return Vec::new() };
    let (Some(thinker), Some(caller)) = (pair.name(Half::Reasoning), pair.name(Half::Tools)) else {
        return Vec::new();
    };
    let own = |end: &&String| {
        !reasoning.content.drop.contains(end) && !reasoning.content.frame.iter().any(|f| begins(f, end))
    };
    let calls: Vec<&String> = reasoning.reasoning.ends.iter().filter(own).collect();
    let opens = |end: &&String| tools.tools.block.iter().chain(&*tools.tools.call).any(|t| begins(t, end));
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

/// Whether a template begins with a literal, white space apart.
fn begins(template: &str, literal: &str) -> bool {
    template.trim_start().starts_with(literal)
}
