//! Formats of messages: a header says what the body is.

use serde::{Deserialize, Serialize};

use crate::format::file::Channels;
use crate::request::Prompt;

use super::state::{Place, State};
use super::tables::{Fault, Source};

/// How messages are read.
#[derive(Debug, Clone)]
pub(crate) struct ChannelTables {}

/// A body that is open.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Open {}

impl ChannelTables {
    pub(crate) fn new(words: &Channels, source: &Source<'_>) -> Result<Self, Fault> {
        let _ = (words, source.plain);
        Ok(Self {})
    }

    pub(crate) fn start(&self, prompt: Prompt<'_>) -> (State, bool) {
        let _ = prompt;
        (State::new(Place::Header), false)
    }
}
