//! The keys of a format's calls.

use serde::{Deserialize, Serialize};

use super::file::List;

/// `[tools]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// Wrapper of several calls.
    pub block: List,
    /// One call.
    pub call: List,
    /// The same, as written in the file: with the objects in place of `{envelope}`.
    pub written: List,
    /// One parameter.
    pub param: List,
    /// Separator of calls.
    pub between: List,
    /// One block for all calls, or one for each.
    pub group: Group,
    /// Where a call without a marker counts.
    pub r#where: Where,
    /// The default type of an untyped value whose type is not in the schema.
    pub silent: Silent,
    /// Untyped values may be Python literals.
    pub python: bool,
    /// Blanks are allowed inside tags.
    pub loose: bool,
    /// `f.f` means the function `f`, if the request has `f` and no `f.f`.
    pub doubled: bool,
    /// `[tools.envelope]`
    pub envelope: EnvelopeWords,
    /// `[tools.params]`
    pub params: ParamsWords,
    /// `[tools.elements]`
    pub elements: ElementsWords,
    /// `[tools.literals]`
    pub literals: LiteralsWords,
}

/// `tools.group`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// One block for all calls.
    #[default]
    All,
    /// One block for each call.
    Each,
}

/// `tools.where`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    /// Anywhere.
    #[default]
    Anywhere,
    /// Only if nothing but white space precedes it.
    Start,
}

/// `tools.silent`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Silent {
    /// Text.
    #[default]
    Text,
    /// JSON if it decodes, else text.
    Json,
}

/// `[tools.envelope]`: JSON object(s) around name and arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnvelopeWords {
    /// The JSON container.
    pub container: Container,
    /// Keys of the name.
    pub name: List,
    /// Keys of the arguments.
    pub arguments: List,
    /// Keys of the id.
    pub id: List,
    /// Keys, or `{NAME: ARGUMENTS}`.
    pub shape: Shape,
    /// When the header is complete.
    pub commit: Commit,
}

impl Default for EnvelopeWords {
    fn default() -> Self {
        Self {
            container: Container::default(),
            name: List(vec!["name".into()]),
            arguments: List(vec!["arguments".into(), "parameters".into()]),
            id: List::default(),
            shape: Shape::default(),
            commit: Commit::default(),
        }
    }
}

/// `envelope.container`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Container {
    /// One object is one call.
    #[default]
    Object,
    /// A list of objects.
    Array,
    /// One object or a list.
    Either,
}

/// `envelope.shape`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// `{"name": NAME, "arguments": ARGUMENTS}`
    #[default]
    Keys,
    /// `{NAME: ARGUMENTS}`
    Key,
}

/// `envelope.commit`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Commit {
    /// The name makes it a call.
    #[default]
    Name,
    /// Name and the key of the arguments make it a call.
    Arguments,
}

/// `[tools.params]`: flat parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ParamsWords {
    /// Outer white space of a value, in addition to framing.
    pub trim: Trim,
    /// Which one decides if `{type}` and the schema differ.
    pub typed: Typed,
    /// Entities and CDATA in values.
    pub escape: Escape,
    /// Entities in attributes.
    pub attr: Escape,
    /// Byte-level marks (U+0120, U+010A) are a blank and a line break.
    pub marks: bool,
    /// A first parameter of this name, not in the schema, that holds an object is the arguments.
    pub unwrap: List,
}

/// `params.trim`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trim {
    /// Kept.
    #[default]
    None,
    /// Trimmed.
    All,
}

/// `params.typed`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Typed {
    /// What the model wrote.
    #[default]
    Model,
    /// What the schema says.
    Schema,
}

/// `params.escape`, `params.attr`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Escape {
    /// Plain text.
    #[default]
    None,
    /// XML entities (and, in values, CDATA).
    Xml,
}

/// `[tools.elements]`: nested elements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ElementsWords {
    /// Opening tag, with `{key}`.
    pub open: String,
    /// Closing tag, with `{key}`.
    pub close: String,
    /// Name of a list's elements when rendering.
    pub item: String,
}

impl Default for ElementsWords {
    fn default() -> Self {
        Self { open: "<{key}>".into(), close: "</{key}>".into(), item: "item".into() }
    }
}

/// `[tools.literals]`: Gemma literals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LiteralsWords {
    /// String delimiter: one for both sides, or opener and closer.
    pub string: List,
    /// The type of text between delimiters.
    pub delimited: Delimited,
}

/// `literals.delimited`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delimited {
    /// A string.
    #[default]
    String,
    /// A value that gets its type from the schema.
    Untyped,
}
