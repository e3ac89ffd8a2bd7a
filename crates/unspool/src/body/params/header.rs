//! A parameter's opening: the templates tried one after the other over the held bytes.

use serde::{Deserialize, Serialize};

use super::ParamsSpec;
use crate::call_header::{Advance, Cursor};
use crate::format::template::Slot;
use crate::limits::Limits;
use crate::scan::{Match, deciding};

/// The templates that may still fit, in order, and how far each has been read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ParamHeader {
    headers: Vec<HeaderAttempt>,
    /// One that failed after its key.
    failed: Option<Box<HeaderAttempt>>,
    /// How far the bytes behind that one have been looked through for the end of a value without an opener.
    searched: usize,
    /// How many bytes those that failed have read at most.
    fitted: usize,
}

/// A template's opening, as far as it has been read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct HeaderAttempt {
    pub(super) template: usize,
    pub(super) cursor: Cursor,
    /// The key's opener is missing.
    pub(super) lacks_opener: bool,
}

/// What a look at an opening gave.
pub(super) enum Tried {
    /// The bytes end before it is decided.
    Wait,
    /// This one fits.
    Fits(HeaderAttempt),
    /// None fits: one that failed after its key, if there is one, and how many bytes fitted at most.
    No(Option<Box<HeaderAttempt>>, usize),
}

impl ParamHeader {
    /// The one that bytes are held for.
    pub(super) fn begun(&self) -> Option<&HeaderAttempt> {
        self.headers.first().or(self.failed.as_deref())
    }

    /// Whether bytes are held for it.
    pub(super) fn is_under_way(&self) -> bool {
        !self.headers.is_empty() || self.failed.is_some()
    }

    /// The template that is being tried.
    pub(super) fn first(&self) -> Option<&HeaderAttempt> {
        self.headers.first()
    }

    /// Whether the bytes held for it are more than half a marker.
    pub(super) fn holds_text(&self, spec: &ParamsSpec, held: &str) -> bool {
        self.first().is_some_and(|header| {
            let program = &spec.template(header.template).opening;
            !header.cursor.taken.is_empty() || !header.cursor.unplaced(program, held).is_empty()
        })
    }

    /// Reads on over the bytes held since the opening began. `may_lack`: the opener of a key may be missing here.
    pub(super) fn advance(&mut self, spec: &ParamsSpec, held: &str, (limits, may_lack): (&Limits, bool)) -> Tried {
        if self.headers.is_empty() && self.failed.is_none() {
            self.headers = headers(spec, held.as_bytes(), may_lack);
            self.fitted = 0;
        }
        let held = deciding(held, limits.header);
        while let Some(header) = self.headers.first_mut() {
            match header.cursor.advance(&spec.template(header.template).opening, held, false, limits) {
                Advance::More if held.len() <= limits.header => return Tried::Wait,
                Advance::Accept => return Tried::Fits(self.headers.remove(0)),
                Advance::More | Advance::Fail | Advance::Another | Advance::Ended => {
                    self.fitted = self.fitted.max(header.cursor.pos);
                    let header = self.headers.remove(0);
                    let has_key = !header.lacks_opener && header.cursor.value(Slot::Key, held).is_some();
                    if self.failed.is_none() && has_key {
                        self.failed = Some(Box::new(header));
                    }
                }
            }
        }
        Tried::No(self.failed.take(), self.fitted)
    }

    /// Keeps the one that failed after its key, until it is known where its value ends.
    pub(super) fn keep(&mut self, header: Box<HeaderAttempt>, searched: usize) {
        self.failed = Some(header);
        self.searched = searched;
    }

    /// How far the bytes behind a key have been looked through.
    pub(super) fn searched(&self) -> usize {
        self.searched
    }
}

/// The templates that may begin where `bytes` begin.
fn headers(spec: &ParamsSpec, bytes: &[u8], may_lack: bool) -> Vec<HeaderAttempt> {
    let all = || spec.templates.iter().enumerate();
    let fits = all().filter(|(_, t)| t.first.at(bytes) != Match::No);
    let mut headers: Vec<HeaderAttempt> =
        fits.map(|(template, _)| HeaderAttempt { template, cursor: Cursor::at(0), lacks_opener: false }).collect();
    if may_lack && headers.is_empty() {
        let apart = all().filter(|(_, t)| t.key_close.is_some());
        headers.extend(apart.map(|(template, t)| HeaderAttempt {
            template,
            cursor: Cursor::behind_first(&t.opening),
            lacks_opener: true,
        }));
    }
    headers
}
