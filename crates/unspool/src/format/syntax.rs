//! The templates of a format, parsed once for flow, renderer, grammar and the check for clashes.

use std::ops::Deref;

use super::file::FormatFile;
use super::template::Template;
use crate::explanation::Explanation;

/// A key of a format file and its error.
pub(crate) type Fault = (String, Explanation);

/// The templates of a format; the renderer writes the first of each list, the parser reads all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Syntax {
    pub(crate) thoughts: Vec<Template>,
    pub(crate) frames: Vec<Template>,
    pub(crate) blocks: Vec<Template>,
    pub(crate) calls: Vec<Template>,
    /// Further calls that a grammar allows.
    pub(crate) further_calls: Vec<Template>,
    pub(crate) params: Vec<Template>,
    /// The opening and closing tag of an element.
    pub(crate) element: (Template, Template),
    /// The shape of call ids, in a format with its own.
    pub(crate) call_id: Option<Template>,
}

impl Syntax {
    /// Parses the templates of a format.
    ///
    /// # Errors
    /// A template with an unknown slot or an open brace.
    pub(crate) fn read(words: &FormatFile) -> Result<Self, Fault> {
        let (tools, elements) = (&words.tools, &words.tools.elements);
        Ok(Self {
            thoughts: all(&words.reasoning.thought, "reasoning.thought")?,
            frames: all(&words.content.frame, "content.frame")?,
            blocks: all(&tools.block, "tools.block")?,
            calls: all(&tools.call, "tools.call")?,
            further_calls: all(&words.grammar.calls, "grammar.calls")?,
            params: all(&tools.param, "tools.param")?,
            element: (one(&elements.open, "tools.elements.open")?, one(&elements.close, "tools.elements.close")?),
            call_id: words
                .ids
                .call
                .as_deref()
                .filter(|text| text.contains('{'))
                .map(|text| one(text, "ids.call"))
                .transpose()?,
        })
    }
}

fn all(texts: &[String], key: &str) -> Result<Vec<Template>, Fault> {
    texts.iter().map(|text| one(text, key)).collect()
}

fn one(text: &str, key: &str) -> Result<Template, Fault> {
    Template::parse(text).map_err(|e| (key.to_owned(), Explanation { message: e.message, hint: e.hint }))
}

/// A format: its keys and its parsed templates.
#[derive(Debug, Clone)]
pub(crate) struct Format {
    words: FormatFile,
    pub(crate) syntax: Syntax,
}

impl Format {
    /// Parses the templates among the keys.
    ///
    /// # Errors
    /// As [`Syntax::read`].
    pub(crate) fn new(words: FormatFile) -> Result<Self, Fault> {
        let syntax = Syntax::read(&words)?;
        Ok(Self { words, syntax })
    }

    /// Its keys.
    pub(crate) fn words(&self) -> &FormatFile {
        &self.words
    }
}

impl Deref for Format {
    type Target = FormatFile;

    fn deref(&self) -> &FormatFile {
        &self.words
    }
}
