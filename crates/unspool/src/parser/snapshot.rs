//! A parser's state, saved and restored.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Memory, Parser};
use crate::error::{Error, ErrorKind};
use crate::plan::sum;
use crate::response_template::{Machine, MachineState};

/// A parser's state, to continue elsewhere. Its contents are opaque; [`Parser::restore`] checks it as a whole.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Snapshot {
    /// Version of the layout; [`Parser::restore`] refuses any other.
    pub version: u32,
    /// Identifies the format keys that the parser used.
    #[serde(default)]
    format: u64,
    /// Checksum of `state`, so that no foreign number gets into a parser.
    #[serde(default)]
    sum: u64,
    /// The saved state as JSON.
    #[serde(default)]
    state: String,
}

/// The serialised form of a snapshot's state.
#[derive(Serialize)]
struct Saved<'a> {
    machine: Option<&'a MachineState>,
    memory: &'a Memory,
}

/// The deserialised form of a snapshot's state.
#[derive(Deserialize)]
struct Restored {
    machine: Option<MachineState>,
    memory: Memory,
}

/// Version of [`Snapshot`]'s layout.
pub const SNAPSHOT_VERSION: u32 = 3;

impl Parser {
    /// The state after the last delta.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let saved = Saved { machine: self.machine.as_ref().map(Machine::state), memory: &self.memory };
        // Numbers, texts and lists of them can always be written; what could not would be refused by `restore`.
        let state = serde_json::to_string(&saved).unwrap_or_default();
        let format = self.plan.fingerprint;
        Snapshot { version: SNAPSHOT_VERSION, format, sum: sum(state.as_bytes()), state }
    }

    /// Goes on from a snapshot that a parser of the same pair and request made.
    ///
    /// # Errors
    /// The snapshot is of another version, of a parser of another pair or thinking mode, or not as a parser wrote it.
    pub fn restore(&mut self, snapshot: Snapshot) -> Result<(), Error> {
        let Snapshot { version, format, sum: written, state } = snapshot;
        if version != SNAPSHOT_VERSION {
            return Err(refused(format!("the snapshot has version {version}, this parser reads {SNAPSHOT_VERSION}"))
                .hint("make the snapshot and restore it with the same version of unspool"));
        }
        if format != self.plan.fingerprint {
            return Err(refused("the snapshot was made with other formats or another thinking mode")
                .hint("restore it into a parser of the same pair and request"));
        }
        let changed = || refused("the snapshot is not as a parser wrote it: its state was changed on the way");
        if written != sum(state.as_bytes()) {
            return Err(changed());
        }
        let saved: Value = serde_json::from_str(&state).map_err(|_| changed())?;
        if !counts_fit(&saved) {
            return Err(changed());
        }
        let restored: Restored = serde_json::from_value(saved).map_err(|_| changed())?;
        if !restored.memory.state.fits(&self.plan.tables, &restored.memory.hold) {
            return Err(changed());
        }
        match (&mut self.machine, restored.machine) {
            (Some(machine), Some(state)) if machine.fits(&state, &restored.memory.hold) => machine.restore(state),
            (None, None) => {}
            _ => return Err(changed()),
        }
        self.memory = restored.memory;
        Ok(())
    }
}

/// Whether all numbers of a saved state are such that a parser can count on from them. Only the open containers of JSON
/// are bits, not a count.
fn counts_fit(saved: &Value) -> bool {
    const MOST: u64 = 1 << 60;
    match saved {
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.unsigned_abs() <= MOST,
            None => false,
        },
        Value::Array(items) => items.iter().all(counts_fit),
        Value::Object(members) => members.iter().all(|(name, value)| name == "objects" || counts_fit(value)),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadSnapshot, message)
}
