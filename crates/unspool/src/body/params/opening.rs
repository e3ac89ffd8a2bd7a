//! A parameter's opening: the templates tried one after the other over the held bytes.

use serde::{Deserialize, Serialize};

use super::ParamsSpec;
use crate::format::template::Slot;
use crate::head::{Advance, Thread};
use crate::limits::Limits;
use crate::scan::{Match, deciding};

/// The templates that may still fit, in order, and how far each has been read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Opening {
    heads: Vec<Head>,
    /// One that failed after its key.
    failed: Option<Box<Head>>,
    /// How far the bytes behind that one have been looked through for the end of a value without an opener.
    searched: usize,
    /// How many bytes those that failed have read at most.
    fitted: usize,
}

/// A template's opening, as far as it has been read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) template: usize,
    pub(super) thread: Thread,
    /// The key's opener is missing.
    pub(super) lacks_opener: bool,
}

/// What a look at an opening gave.
pub(super) enum Tried {
    /// The bytes end before it is decided.
    Wait,
    /// This one fits.
    Fits(Head),
    /// None fits: one that failed after its key, if there is one, and how many bytes fitted at most.
    No(Option<Box<Head>>, usize),
}

impl Opening {
    /// The one that bytes are held for.
    pub(super) fn begun(&self) -> Option<&Head> {
        self.heads.first().or(self.failed.as_deref())
    }

    /// Whether bytes are held for it.
    pub(super) fn is_under_way(&self) -> bool {
        !self.heads.is_empty() || self.failed.is_some()
    }

    /// The template that is being tried.
    pub(super) fn first(&self) -> Option<&Head> {
        self.heads.first()
    }

    /// Whether the bytes held for it are more than half a marker.
    pub(super) fn holds_text(&self, spec: &ParamsSpec, held: &str) -> bool {
        self.first().is_some_and(|head| {
            let program = &spec.template(head.template).opening;
            !head.thread.taken.is_empty() || !head.thread.unplaced(program, held).is_empty()
        })
    }

    /// Reads on over the bytes held since the opening began. `may_lack`: the opener of a key may be missing here.
    pub(super) fn advance(&mut self, spec: &ParamsSpec, held: &str, (limits, may_lack): (&Limits, bool)) -> Tried {
        if self.heads.is_empty() && self.failed.is_none() {
            self.heads = heads(spec, held.as_bytes(), may_lack);
            self.fitted = 0;
        }
        let held = deciding(held, limits.head);
        while let Some(head) = self.heads.first_mut() {
            match head.thread.advance(&spec.template(head.template).opening, held, false, limits) {
                Advance::More if held.len() <= limits.head => return Tried::Wait,
                Advance::Accept => return Tried::Fits(self.heads.remove(0)),
                Advance::More | Advance::Fail | Advance::Another | Advance::Ended => {
                    self.fitted = self.fitted.max(head.thread.pos);
                    let head = self.heads.remove(0);
                    let has_key = !head.lacks_opener && head.thread.value(Slot::Key, held).is_some();
                    if self.failed.is_none() && has_key {
                        self.failed = Some(Box::new(head));
                    }
                }
            }
        }
        Tried::No(self.failed.take(), self.fitted)
    }

    /// Keeps the one that failed after its key, until it is known where its value ends.
    pub(super) fn keep(&mut self, head: Box<Head>, searched: usize) {
        self.failed = Some(head);
        self.searched = searched;
    }

    /// How far the bytes behind a key have been looked through.
    pub(super) fn searched(&self) -> usize {
        self.searched
    }
}

/// The templates that may begin where `bytes` begin.
fn heads(spec: &ParamsSpec, bytes: &[u8], may_lack: bool) -> Vec<Head> {
    let all = || spec.templates.iter().enumerate();
    let fits = all().filter(|(_, t)| t.first.at(bytes) != Match::No);
    let mut heads: Vec<Head> =
        fits.map(|(template, _)| Head { template, thread: Thread::at(0), lacks_opener: false }).collect();
    if may_lack && heads.is_empty() {
        let apart = all().filter(|(_, t)| t.key_close.is_some());
        heads.extend(apart.map(|(template, t)| Head {
            template,
            thread: Thread::behind_first(&t.opening),
            lacks_opener: true,
        }));
    }
    heads
}
