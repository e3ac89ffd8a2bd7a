//! Snapshots as bytes.

use super::Snapshot;

impl Snapshot {
    /// The snapshot as bytes, to store or send; [`Snapshot::from_bytes`] reads them.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Numbers and texts always serialise; reading would refuse anything else.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads the output of [`Snapshot::to_bytes`]. [`Parser::restore`](super::Parser::restore) checks whether a parser
    /// can continue from it.
    ///
    /// # Errors
    /// These bytes are not a snapshot.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("this is no snapshot: {error}"))
    }
}
