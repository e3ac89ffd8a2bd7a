//! Generates chat templates from format files: from the strings of parser, renderer and grammar, and the turns around
//! them.
//!
//! | module | what it writes |
//! |---|---|
//! | `turns` | the turns of a conversation, and where a new one begins |
//! | `tools` | the tools of a request |
//! | `reply` | a turn of the assistant, as the renderer does |
//! | `values` | arguments and values, and the macros that they need |
//! | `instructions` | what tells the model how calls are written |
//! | `family`, `jinja` | what a pair says; Jinja text, line by line |

mod family;
mod instructions;
mod jinja;
mod reply;
mod tools;
mod turns;
mod values;

use std::fmt;

use unspool::Error;
use unspool::format::file::Switches;
use unspool::{Half, Pair, Registry, Setup};

use self::family::Family;
use self::jinja::{Jinja, list};
use self::tools::Tools;
use self::turns::Writer;

/// The template to generate.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Name of the reasoning parser.
    pub reasoning_parser: Option<String>,
    /// Name of the tool-call parser.
    pub tool_parser: Option<String>,
    /// The turn syntax, in a format that has several; `None`: the default.
    pub flavour: Option<String>,
    /// Instructions on how to write calls, in place of ours.
    pub instructions: Option<String>,
}

/// Why no template can be generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteError {
    /// The format file does not describe turns.
    NoTurns,
    /// The names do not form a pair.
    Setup(Error),
    /// An unknown flavour of the format; the known ones.
    Flavour(String, Vec<String>),
    /// No name at all.
    Nameless,
    /// Messages whose pieces have no fixed order in a turn, or thoughts that are content.
    Unwritable(&'static str),
}

impl WriteError {
    /// The message and its hint.
    #[must_use]
    pub fn told(&self) -> (String, String) {
        match self {
            Self::NoTurns => (
                "this format's file does not say how the turns of a conversation are written".to_owned(),
                "take the checkpoint's own chat template; docs/formats.md lists the formats whose turns are known"
                    .to_owned(),
            ),
            Self::Setup(error) => (error.message.clone(), error.hint.clone().unwrap_or_default()),
            Self::Flavour(asked, known) if known.is_empty() => (
                format!("this format has no flavour `{asked}`"),
                "it has one way of writing turns: leave `/…` out".to_owned(),
            ),
            Self::Flavour(asked, known) => {
                (format!("this format has no flavour `{asked}`"), format!("its flavours are `{}`", known.join("`, `")))
            }
            Self::Nameless => ("no format is named".to_owned(), "`unspool formats` lists all names".to_owned()),
            Self::Unwritable(why) => ((*why).to_owned(), "take the checkpoint's own chat template".to_owned()),
        }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told().0)
    }
}

impl std::error::Error for WriteError {}

impl Wish {
    /// The template for a name: a tool-call parser, a reasoning parser, or both halves of one file; `NAME/FLAVOUR`
    /// selects one of its flavours.
    #[must_use]
    pub fn named(registry: &Registry, name: &str) -> Self {
        let (name, flavour) = name.split_once('/').map_or((name, None), |(name, flavour)| (name, Some(flavour)));
        let known = |half: Half| registry.has(half, name) || registry.alias(half, name).is_some();
        let mut wish = Self { flavour: flavour.map(str::to_owned), ..Self::default() };
        let both = known(Half::Reasoning) && known(Half::Tools);
        if known(Half::Reasoning) {
            wish.reasoning_parser = Some(name.to_owned());
        }
        if known(Half::Tools) || !known(Half::Reasoning) {
            wish.tool_parser = Some(name.to_owned());
        }
        // A name of both halves may refer to different families.
        let file = |half| registry.file(half, name).ok();
        if both
            && file(Half::Reasoning) != file(Half::Tools)
            && registry.partners(Half::Reasoning, name).iter().all(|own| own != name)
        {
            wish.reasoning_parser = None;
        }
        wish
    }

    /// The pair of the template.
    ///
    /// # Errors
    /// An unknown name or flavour.
    pub fn pair(&self, registry: &Registry) -> Result<Pair, WriteError> {
        let names = [(Half::Tools, &self.tool_parser), (Half::Reasoning, &self.reasoning_parser)];
        if names.iter().all(|(_, name)| name.is_none()) {
            return Err(WriteError::Nameless);
        }
        let pair = registry.pair(&self.setup()).map_err(WriteError::Setup)?;
        if let Some(asked) = &self.flavour {
            let of = |(half, name): (Half, &Option<String>)| name.as_ref().map(|name| registry.flavours(half, name));
            let mut known: Vec<String> = names.into_iter().filter_map(of).flatten().collect();
            known.dedup();
            if !known.contains(asked) {
                return Err(WriteError::Flavour(asked.clone(), known));
            }
        }
        Ok(pair)
    }

    fn setup(&self) -> Setup {
        Setup {
            reasoning_parser: self.reasoning_parser.clone(),
            tool_parser: self.tool_parser.clone(),
            flavour: self.flavour.clone(),
            ..Setup::default()
        }
    }

    /// Generates the template.
    ///
    /// # Errors
    /// The names do not form a pair, or its files do not describe turns.
    pub fn template(&self, registry: &Registry) -> Result<String, WriteError> {
        let pair = self.pair(registry)?;
        let family = Family::of(&pair, [self.reasoning_parser.is_some(), self.tool_parser.is_some()])?;
        family.check()?;
        let instructions = match (&self.instructions, &family.call) {
            (Some(own), _) => own.clone(),
            (None, Some(_)) => instructions::of(&pair, &family),
            (None, None) => String::new(),
        };
        let mut shown = family.turns.clone();
        if family.call.is_none() {
            shown.tools.clear();
        } else if self.instructions.is_some()
            && !turns::has(&shown.tools, "instructions")
            && !turns::has(&shown.system, "instructions")
        {
            // The family's template has no instructions, but the user's own must appear.
            shown.tools.push_str("\n\n{instructions}");
        }
        let tools = Tools { turns: &shown, instructions: &instructions };
        let thinks =
            family.reasoning.as_ref().filter(|_| family.thought.is_some()).map(|words| thinks(&words.switches));
        let mut jinja = Jinja::default();
        jinja.comment(&self.heading());
        tools.macros(&mut jinja);
        values::macros(&mut jinja, &family);
        Writer { family: &family, tools, thinks }.write(&mut jinja);
        Ok(jinja.into_text())
    }

    /// The template's heading comment.
    fn heading(&self) -> String {
        let flag = |half: Half, name: &Option<String>| name.as_ref().map(|name| format!("{} {name}", half.flag()));
        let flags = [flag(Half::Reasoning, &self.reasoning_parser), flag(Half::Tools, &self.tool_parser)];
        let flags: Vec<String> = flags.into_iter().flatten().collect();
        let flavour = self.flavour.as_ref().map(|flavour| format!(" ({flavour})")).unwrap_or_default();
        format!("Chat template{flavour} for {}, written by unspool from the format's file.", flags.join(" "))
    }
}

/// Whether the model should think, as an expression over the request's switches.
fn thinks(switches: &Switches) -> String {
    let defined = |key: &String| format!("{key} is defined");
    let truthy = |key: &String| format!("({key} is defined and {key})");
    let join = |with: &dyn Fn(&String) -> String| switches.keys.iter().map(with).collect::<Vec<_>>().join(" or ");
    let mut out = switches.default.to_string();
    if !switches.keys.is_empty() {
        out = match &switches.keys[..] {
            [key] => format!("{key} if {} else {out}", defined(key)),
            _ => format!("({}) if {} else {out}", join(&truthy), join(&defined)),
        };
    }
    if switches.effort_off.is_empty() {
        return out;
    }
    let off = list(switches.effort_off.iter().map(String::as_str));
    let told = "reasoning_effort is defined and reasoning_effort is string";
    match switches.keys.is_empty() {
        true => format!("(reasoning_effort not in {off}) if {told} else {out}"),
        false => format!("false if {told} and reasoning_effort in {off} else ({out})"),
    }
}
