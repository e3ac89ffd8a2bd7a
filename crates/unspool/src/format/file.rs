//! The words of a format file; those of calls and of examples have files of their own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use super::detect::Detect;
pub use super::example::{Example, ExampleCall, ExampleNames};
pub use super::tools::*;
pub use super::turns::{At, Keep, ThinkingTurns, Turns};

/// One value, or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(from = "OneOrMany", into = "Vec<String>")]
pub struct List(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged, expecting = "must be a text or a list of texts")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for List {
    fn from(v: OneOrMany) -> Self {
        match v {
            OneOrMany::One(s) => Self(vec![s]),
            OneOrMany::Many(v) => Self(v),
        }
    }
}

impl From<List> for Vec<String> {
    fn from(v: List) -> Self {
        v.0
    }
}

impl std::ops::Deref for List {
    type Target = [String];
    fn deref(&self) -> &[String] {
        &self.0
    }
}

/// A list for each half; a list alone is that of both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "OneOrEach")]
pub struct ByHalf {
    /// Of the reasoning half.
    pub reasoning: List,
    /// Of the tools half.
    pub tools: List,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "must be a text, a list of texts, or such lists under `reasoning` and `tools`")]
enum OneOrEach {
    Both(List),
    Each(Each),
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Each {
    reasoning: List,
    tools: List,
}

impl From<OneOrEach> for ByHalf {
    fn from(v: OneOrEach) -> Self {
        match v {
            OneOrEach::Both(list) => Self { reasoning: list.clone(), tools: list },
            OneOrEach::Each(Each { reasoning, tools }) => Self { reasoning, tools },
        }
    }
}

/// A format file after its variants are applied: every word of the language.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FormatFile {
    /// Registry names of the two halves.
    pub names: Names,
    /// Globs of checkpoints that write this format; one with `!` in front takes some away.
    pub models: ByHalf,
    /// One line for the docs.
    pub note: String,
    /// Names of other files' tools halves that are known to go with the reasoning half.
    pub pairs: List,
    /// One half never works without the other: naming one brings both.
    pub bound: bool,
    /// Key of the tokenizer config under which the checkpoint brings its own description of a reply.
    pub checkpoint: Option<String>,
    /// How a thought is written.
    pub reasoning: Reasoning,
    /// Where a reply begins.
    pub start: Start,
    /// What switches thinking on and off.
    pub switches: Switches,
    /// What becomes of a thought that the output's end cuts off.
    pub cutoff: Cutoff,
    /// Answer frames, dropped markers, filters.
    pub content: Content,
    /// How calls are written.
    pub tools: Tools,
    /// How a format of messages is read.
    pub channels: Option<Channels>,
    /// Token ids: what counts by id, native call ids, required tokens.
    pub ids: Ids,
    /// What the grammar accepts beside what is written.
    pub grammar: Grammar,
    /// What the serving layer has to know.
    pub serve: Serve,
    /// How the turns of a conversation are written.
    pub turns: Turns,
    /// By what a checkpoint's own files show that it writes this.
    pub detect: Vec<Detect>,
    /// Worked examples: tests and docs.
    pub example: Vec<Example>,
}

/// Registry names of the two halves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Names {
    /// Names for `--reasoning-parser`.
    pub reasoning: List,
    /// Names for `--tool-call-parser`.
    pub tools: List,
    /// Types of checkpoints that are always read so, whatever parsers are named.
    pub model_type: List,
    /// Other names for names of this file: those of other servers, and those of yore. One that stands for a name of each half
    /// is that half's there.
    pub alias: BTreeMap<String, List>,
    /// Versions of vLLM, and the names that older ones lack.
    pub since: BTreeMap<String, List>,
}

/// `[reasoning]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reasoning {
    /// How a thought is delimited; the first template is written.
    pub thought: List,
    /// Whether a thought may come again.
    pub blocks: Blocks,
    /// Literals that end a thought without its closer.
    pub ends: List,
    /// Where the reply stands behind a thought.
    pub after: AfterThought,
    /// Who writes the opener.
    pub opener: Opener,
    /// What a thought may begin with at the very start of the output, its opener being left out.
    pub bare: Option<String>,
    /// Where thoughts go.
    pub into: Into,
}

/// `reasoning.blocks`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocks {
    /// Repeated openers and stray closers are dropped; a later block is a thought again.
    #[default]
    Many,
    /// An opener counts before the first thought only; the first closer is the last marker.
    One,
}

/// `reasoning.after`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterThought {
    /// In the answer: the closer opens the gate.
    #[default]
    Content,
    /// Before a frame, call or text: that opens the gate, not the closer.
    Wait,
}

/// `reasoning.opener`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opener {
    /// The output may write it.
    #[default]
    Output,
    /// Only the prompt writes it; in the output it is text.
    Prompt,
}

/// `reasoning.into`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Into {
    /// Thoughts are reasoning.
    #[default]
    Reasoning,
    /// Nothing is moved; an opener that the prompt wrote is put in front.
    Content,
}

/// `[start]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Start {
    /// Where a reply begins if the prompt of this turn says nothing.
    pub state: StartState,
    /// Assistant headers: the prompt counts from behind the last one.
    pub turn: List,
}

/// `start.state`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartState {
    /// In a thought.
    #[default]
    Reasoning,
    /// Before an answer or a thought.
    Content,
    /// In a header.
    Header,
}

/// `[switches]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Switches {
    /// Names of `chat_template_kwargs`: if any is present, thinking is on when a present one is true.
    pub keys: List,
    /// What holds if none is present.
    pub default: bool,
    /// Allowed values of `reasoning_effort`; another one is a request error. Empty: any.
    pub effort: List,
    /// Values of `reasoning_effort` that mean off.
    pub effort_off: List,
    /// What off does.
    pub off: Off,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            keys: List::default(),
            default: true,
            effort: List::default(),
            effort_off: List::default(),
            off: Off::default(),
        }
    }
}

/// `switches.off`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Off {
    /// Thinking markers are unknown: text.
    #[default]
    Plain,
    /// They are read, but nothing waits for them.
    Markers,
}

/// `[cutoff]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cutoff {
    /// Name of the request switch with which a thought without answer is given as content.
    pub unanswered: Option<String>,
}

/// `[content]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Content {
    /// Answer wrappers.
    pub frame: List,
    /// Text between this marker and the next opener is a header and goes.
    pub header: Option<String>,
    /// Markers that are dropped in every text state.
    pub drop: List,
    /// Named text filters.
    pub filter: Vec<Filter>,
}

/// `content.filter`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filter {
    /// `\n` written as two characters becomes a line break outside code and formulas.
    BackslashNewline,
    /// `<co>…</co: 0:[1]>` marks are removed.
    Citations,
}

/// `[channels]`: a format of messages, and how it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Channels {
    /// A message begins.
    pub start: String,
    /// The channel's name follows.
    pub channel: Option<String>,
    /// The content type follows.
    pub r#type: Option<String>,
    /// The recipient follows, in the same word.
    pub to: Option<String>,
    /// The body begins.
    pub body: String,
    /// The body ends.
    pub end: List,
    /// Where bodies go; the first that fits.
    pub route: Vec<Route>,
    /// Where a body goes that no route fits.
    pub r#else: Option<RouteAs>,
    /// Prefix that makes a recipient a function.
    pub calls: Option<String>,
    /// Recipients that are never functions.
    pub builtin: List,
    /// What stands between two bodies of one kind.
    pub join: String,
    /// A header begins a message although no end came.
    pub restart: bool,
    /// A call counts before any header.
    pub unframed: bool,
}

impl Default for Channels {
    fn default() -> Self {
        Self {
            start: String::new(),
            channel: None,
            r#type: None,
            to: None,
            body: String::new(),
            end: List::default(),
            route: Vec::new(),
            r#else: None,
            calls: None,
            builtin: List::default(),
            join: "\n".into(),
            restart: false,
            unframed: false,
        }
    }
}

/// One entry of `channels.route`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Channel name; missing: any.
    #[serde(default)]
    pub channel: Option<String>,
    /// Recipients, `""` for none; missing: any.
    #[serde(default)]
    pub to: Option<Vec<String>>,
    /// What the body is.
    pub r#as: RouteAs,
}

/// What a message's body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteAs {
    /// A thought.
    Reasoning,
    /// The answer.
    Content,
    /// Calls, read with `[tools]`.
    Calls,
    /// Left out, with a diagnostic.
    Drop,
}

/// `[ids]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ids {
    /// What counts by token id.
    pub by: By,
    /// Template of native call ids.
    pub call: Option<String>,
    /// Tokens that must be single vocabulary entries.
    pub need: ByHalf,
}

/// `ids.by`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A thinking marker that is one vocabulary entry counts by id when ids are known.
    #[default]
    Auto,
    /// Text counts.
    Text,
    /// Every marker counts by id when ids are known.
    Id,
}

/// `[grammar]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grammar {
    /// `written`, or also `compact` (the templates without their white space).
    pub spellings: List,
    /// Further templates of a call, such as a model also writes.
    pub calls: List,
    /// What a reply may end with, beside what the templates write: the end of a message.
    pub ends: List,
    /// What a call of a tool that is not strict may hold.
    pub free: Free,
}

/// `grammar.free`: the parameters of a tool that is not strict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Free {
    /// Any names with any values.
    #[default]
    Any,
    /// Those that the tool declares with values of their types, in any number (vLLM's tag for GLM).
    Declared,
}

/// `[serve]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Serve {
    /// When special tokens must be kept in the text.
    pub keep_special: KeepSpecial,
    /// How required and named choices are written.
    pub required: Required,
    /// Default strict level of the grammar.
    pub level: Level,
}

/// `serve.level`: how strict the grammar of calls is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Only tools that are declared strict.
    #[default]
    Auto,
    /// Every call's markup and name.
    Function,
    /// Also every call's arguments.
    Parameter,
}

/// `serve.keep_special`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepSpecial {
    /// Always.
    #[default]
    Always,
    /// When the request has tools.
    Tools,
    /// Never.
    Never,
}

/// `serve.required`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Required {
    /// In the format's own syntax.
    #[default]
    Native,
    /// As guided JSON.
    Json,
    /// Not at all: a request that has to be sure of its calls is refused.
    Refuse,
}
