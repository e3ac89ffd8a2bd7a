//! A parameter's opening: tries the templates in order on the held bytes.

use serde::{Deserialize, Serialize};

use super::ParamsSpec;
use crate::call_header::{Advance, Cursor};
use crate::format::template::Slot;
use crate::limits::Limits;
use crate::scan::{Match, deciding};

/// The templates that may still fit, in order, each with its progress.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ParamHeader {
    headers: Vec<HeaderAttempt>,
    /// A template that failed after its key.
    failed: Option<Box<HeaderAttempt>>,
    /// How far the bytes after that key have been searched for the end of a value without an opener.
    searched: usize,
    /// Maximum number of bytes that any failed template read.
    fitted: usize,
}

/// The progress of one template's opening.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct HeaderAttempt {
    pub(super) template: usize,
    pub(super) cursor: Cursor,
    /// The key's opener is missing.
    pub(super) lacks_opener: bool,
}

/// The result of trying an opening.
pub(super) enum Tried {
    /// Undecided: more bytes are needed.
    Wait,
    /// This template fits.
    Fits(HeaderAttempt),
    /// No template fits: one that failed after its key, if any, and the maximum number of bytes that fitted.
    No(Option<Box<HeaderAttempt>>, usize),
}

impl ParamHeader {
    /// The template that bytes are held for.
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

    /// Whether the held bytes are more than an incomplete marker.
    pub(super) fn holds_text(&self, spec: &ParamsSpec, held: &str) -> bool {
        self.first().is_some_and(|header| {
            let program = &spec.template(header.template).opening;
            !header.cursor.taken.is_empty() || !header.cursor.unplaced(program, held).is_empty()
        })
    }

    /// Continues over the bytes held since the opening began. `may_lack`: the key's opener may be missing here.
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

    /// Stores a template that failed after its key, until the end of its value is known.
    pub(super) fn keep(&mut self, header: Box<HeaderAttempt>, searched: usize) {
        self.failed = Some(header);
        self.searched = searched;
    }

    /// How far the bytes after a key have been searched.
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
