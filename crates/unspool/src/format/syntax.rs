//! What the templates of a format say, read once: flow, renderer, grammar and the check for clashes go by it.

use std::ops::Deref;

use super::file::FormatFile;
use super::template::Template;
use crate::explanation::Explanation;

/// A key of a format file, and what is wrong with it.
pub(crate) type Fault = (String, Explanation);

/// The templates of a format; of each list the first is written, and all are read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Syntax {
    pub(crate) thoughts: Vec<Template>,
    pub(crate) frames: Vec<Template>,
    pub(crate) blocks: Vec<Template>,
    pub(crate) calls: Vec<Template>,
    /// Further calls that a grammar allows.
    pub(crate) further_calls: Vec<Template>,
    pub(crate) params: Vec<Template>,
    /// The opening and the closing tag of an element.
    pub(crate) element: (Template, Template),
    /// How ids of calls are written, in a format that has some of its own.
    pub(crate) call_id: Option<Template>,
}

impl Syntax {
    /// Reads the templates of a format.
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

/// A format: its words, and what its templates say.
#[derive(Debug, Clone)]
pub(crate) struct Format {
    words: FormatFile,
    pub(crate) syntax: Syntax,
}

impl Format {
    /// Reads the templates among the words.
    ///
    /// # Errors
    /// As [`Syntax::read`].
    pub(crate) fn new(words: FormatFile) -> Result<Self, Fault> {
        let syntax = Syntax::read(&words)?;
        Ok(Self { words, syntax })
    }

    /// Its words.
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
