//! `[[detect]]`: how a checkpoint's own files show its format.

use serde::{Deserialize, Serialize};

use super::file::List;

/// One `[[detect]]` rule: conditions, and the names to use if all of them hold.
///
/// A condition on an unknown fact does not hold, and a rule without conditions never does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Detect {
    /// The name for `--reasoning-parser`; it may be another file's.
    pub reasoning: Option<String>,
    /// The name for `--tool-call-parser`; it may be another file's.
    pub tools: Option<String>,
    /// Texts that must all occur in the chat template's source.
    pub template: List,
    /// Texts that must not occur there.
    pub lacks: List,
    /// Texts that must all be entries of the vocabulary.
    pub tokens: List,
    /// One of these must be the model configuration's `model_type` or one of its `architectures`.
    pub model_type: List,
}
