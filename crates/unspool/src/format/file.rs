//! The keys of a format file; those of calls and of examples have their own modules.

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

/// A list for each half; a single list is for both.
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

/// A format file with its variants applied: every key of the language.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FormatFile {
    /// Registry names of the two halves.
    pub names: Names,
    /// Globs of checkpoints that write this format; one with a leading `!` excludes some.
    pub models: ByHalf,
    /// One line for the docs.
    pub note: String,
    /// Names of other files' tools halves that are known to work with the reasoning half.
    pub pairs: List,
    /// The halves work only together: naming one selects both.
    pub bound: bool,
    /// Key of the tokenizer config under which the checkpoint brings its own description of a reply.
    pub checkpoint: Option<String>,
    /// The thought.
    pub reasoning: Reasoning,
    /// Where a reply begins.
    pub start: Start,
    /// The switches of thinking.
    pub switches: Switches,
    /// What happens to a thought that the end of the output cuts off.
    pub cutoff: Cutoff,
    /// Answer frames, dropped markers, filters.
    pub content: Content,
    /// The calls.
    pub tools: Tools,
    /// The messages, for a format of messages.
    pub channels: Option<Channels>,
    /// Token ids: which markers count by id, native call ids, required tokens.
    pub ids: Ids,
    /// What the grammar accepts in addition to the templates.
    pub grammar: Grammar,
    /// Settings for the serving layer.
    pub serve: Serve,
    /// The turns of a conversation.
    pub turns: Turns,
    /// How a checkpoint's own files show this format.
    pub detect: Vec<Detect>,
    /// Examples, for tests and documentation.
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
    /// Values of a checkpoint's `model_type` that always select this file, whatever parsers are named.
    pub model_type: List,
    /// Other names for names of this file: those of other servers, and former ones. One that stands for a name of each
    /// half lists both.
    pub alias: BTreeMap<String, List>,
    /// Versions of vLLM, and the names that older ones lack.
    pub since: BTreeMap<String, List>,
}

/// `[reasoning]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reasoning {
    /// The delimiters of a thought; the renderer writes the first template.
    pub thought: List,
    /// Whether further thoughts may come.
    pub blocks: Blocks,
    /// Literals that end a thought without its closer.
    pub ends: List,
    /// The state after a thought.
    pub after: AfterThought,
    /// Who writes the opener.
    pub opener: Opener,
    /// The beginning of a thought without its opener at the very start of the output.
    pub bare: Option<String>,
    /// The field for thoughts.
    pub into: Into,
}

/// `reasoning.blocks`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocks {
    /// Repeated openers and stray closers are dropped; a later block is a thought again.
    #[default]
    Many,
    /// An opener counts only before the first thought; the first closer is the last marker.
    One,
}

/// `reasoning.after`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterThought {
    /// In the answer: the closer opens the gate.
    #[default]
    Content,
    /// Before a frame, call or text: these open the gate, the closer does not.
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
    /// Thoughts stay in content; an opener that the prompt wrote is prepended.
    Content,
}

/// `[start]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Start {
    /// Where a reply begins if the prompt of this turn says nothing.
    pub state: StartState,
    /// Beginnings of the assistant turn: the prompt after the last one counts.
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
    /// Whether thinking is on if none is present.
    pub default: bool,
    /// Allowed values of `reasoning_effort`; any other is a request error. Empty: any.
    pub effort: List,
    /// Values of `reasoning_effort` that mean off.
    pub effort_off: List,
    /// The effect of off.
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
    /// Thinking markers are text.
    #[default]
    Plain,
    /// The parser reads them but does not wait for them.
    Markers,
}

/// `[cutoff]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cutoff {
    /// Name of the request switch that turns a thought without an answer into content.
    pub unanswered: Option<String>,
}

/// `[content]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Content {
    /// Answer wrappers.
    pub frame: List,
    /// Text between this marker and the next opener is a header and is dropped.
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

/// `[channels]`: how to read a format of messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Channels {
    /// Begins a message.
    pub start: String,
    /// Precedes the channel's name.
    pub channel: Option<String>,
    /// Precedes the content type.
    pub r#type: Option<String>,
    /// Precedes the recipient, in the same word.
    pub to: Option<String>,
    /// Begins the body.
    pub body: String,
    /// Ends the body.
    pub end: List,
    /// Destinations of bodies; the first match counts.
    pub route: Vec<Route>,
    /// Destination of a body without a matching route.
    pub r#else: Option<RouteAs>,
    /// Prefix that makes a recipient a function.
    pub calls: Option<String>,
    /// Recipients that are never functions.
    pub builtin: List,
    /// The separator of two bodies of one kind.
    pub join: String,
    /// A header begins a message even without the end of the previous one.
    pub restart: bool,
    /// A call may come before any header.
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
    /// The kind of the body.
    pub r#as: RouteAs,
}

/// The kind of a message's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteAs {
    /// Reasoning.
    Reasoning,
    /// Content.
    Content,
    /// Calls, parsed with `[tools]`.
    Calls,
    /// Dropped, with a diagnostic.
    Drop,
}

/// `[ids]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ids {
    /// Which markers count by token id.
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
    /// A thinking marker that is one vocabulary entry counts by id if ids are known.
    #[default]
    Auto,
    /// Text counts.
    Text,
    /// Every marker counts by id if ids are known.
    Id,
}

/// `[grammar]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grammar {
    /// `written`, or also `compact` (the templates without their white space).
    pub spellings: List,
    /// Further templates of a call that a model also writes.
    pub calls: List,
    /// Markers that may end a reply in addition to the templates: the end of a message.
    pub ends: List,
    /// The arguments of a tool that is not strict.
    pub free: Free,
}

/// `grammar.free`: the parameters of a tool that is not strict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Free {
    /// Any names with any values.
    #[default]
    Any,
    /// Those that the tool declares, with values of their types, in any number (vLLM's tag for GLM).
    Declared,
}

/// `[serve]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Serve {
    /// When the text must keep special tokens.
    pub keep_special: KeepSpecial,
    /// How the model writes required and named choices.
    pub required: Required,
    /// Default strictness of the grammar.
    pub level: Level,
}

/// `serve.level`: strictness of the grammar of calls.
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
    /// If the request has tools.
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
    /// Not at all: a request that requires calls is refused.
    Refuse,
}
