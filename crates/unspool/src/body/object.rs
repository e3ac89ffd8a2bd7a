//! The JSON object that a body writes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Out, Status};
use crate::json::write::string_of;

/// The state of the object.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Object {
    /// It has a member, so its opening brace is written.
    has_members: bool,
    /// Text of the body had no place in it.
    unplaced: bool,
    /// The members' names, for a body that needs them.
    names: BTreeSet<String>,
}

impl Object {
    pub(super) fn has_members(&self) -> bool {
        self.has_members
    }

    /// Records a member's name.
    pub(super) fn named(&mut self, key: &str) {
        self.names.insert(key.to_owned());
    }

    /// Whether a member of this name was recorded.
    pub(super) fn has(&self, key: &str) -> bool {
        self.names.contains(key)
    }

    pub(super) fn unplaced(&mut self) {
        self.unplaced = true;
    }

    /// Begins a member.
    pub(super) fn key(&mut self, out: &mut dyn Out, key: &str) {
        out.args(if self.has_members { ", \"" } else { "{\"" });
        string_of(key, |piece, from| out.args_of(piece, from));
        out.args("\": ");
        self.has_members = true;
    }

    /// Adds the members of another object, given as JSON text.
    pub(super) fn adopt(&mut self, out: &mut dyn Out, object: &str) {
        let inner = object.trim().strip_prefix('{').and_then(|o| o.strip_suffix('}')).unwrap_or_default();
        if inner.trim().is_empty() {
            return;
        }
        out.args(if self.has_members { ", " } else { "{" });
        out.args(inner.trim());
        self.has_members = true;
    }

    /// Ends the object. If nothing in the body was valid, there are no arguments rather than empty ones.
    pub(super) fn end(&mut self, out: &mut dyn Out) -> Status {
        match (self.has_members, self.unplaced) {
            (false, true) => return Status::Broken,
            (false, false) => out.args("{}"),
            (true, _) => out.args("}"),
        }
        Status::Done { complete: true }
    }
}
