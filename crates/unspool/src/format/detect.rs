//! `[[detect]]`: by what a checkpoint's own files show that it writes a format.

use serde::{Deserialize, Serialize};

use super::file::List;

/// One `[[detect]]`: conditions, and the names that hold where all of them do.
///
/// A condition on something that is not known does not hold, and a rule without any condition never does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Detect {
    /// The name for `--reasoning-parser`; it may be another file's.
    pub reasoning: Option<String>,
    /// The name for `--tool-call-parser`; it may be another file's.
    pub tools: Option<String>,
    /// Texts that all stand in the chat template's source.
    pub template: List,
    /// Texts of which none stands there.
    pub lacks: List,
    /// Texts that all are entries of the vocabulary.
    pub tokens: List,
    /// Values of the model configuration's `model_type`, or entries of its `architectures`, one of which it must be.
    pub model_type: List,
}
