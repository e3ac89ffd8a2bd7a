//! Snapshots as bytes.

use super::Snapshot;

impl Snapshot {
    /// The snapshot as bytes, to be kept or sent; [`Snapshot::from_bytes`] reads them.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Numbers and a text can always be written; what could not would be refused when it is read.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads what [`Snapshot::to_bytes`] wrote. Whether a parser can go on from it is [`Parser::restore`](super::Parser::restore)'s
    /// affair.
    ///
    /// # Errors
    /// These bytes are no snapshot.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("this is no snapshot: {error}"))
    }
}
