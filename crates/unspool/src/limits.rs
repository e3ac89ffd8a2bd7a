//! Every bound of the parser, in one place.

use serde::{Deserialize, Serialize};

/// How much the parser holds, nests and announces. All defaults are generous for models and tight against abuse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Longest function name, parameter name or id, in bytes.
    pub name: usize,
    /// Longest opening of a call (from its opener to its announcement, arguments before the name apart), in bytes.
    pub head: usize,
    /// Longest run of white space held as possible framing, in bytes. A longer one is text.
    pub blank: usize,
    /// Longest value that is held until its end (one whose JSON type needs it), in bytes. A longer one is given as a string.
    pub argument: usize,
    /// Longest arguments text held because the name comes after it, in bytes. Beyond it the call is raw text.
    pub early: usize,
    /// Longest thought held because its field is undecided (`force_nonempty_content`), in bytes.
    pub thought: usize,
    /// Deepest nesting of arguments, in levels. Deeper text is broken.
    pub depth: usize,
    /// Most bytes of arguments in one call. Further text goes to a diagnostic.
    pub arguments: usize,
    /// Most calls in one reply. Further calls are raw text.
    pub calls: usize,
    /// Most diagnostics in one reply; further ones are counted only.
    pub notes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            name: 256,
            head: 4 << 10,
            blank: 1 << 10,
            argument: 1 << 20,
            early: 1 << 20,
            thought: 4 << 20,
            depth: 128,
            arguments: 16 << 20,
            calls: 100_000,
            notes: 256,
        }
    }
}
