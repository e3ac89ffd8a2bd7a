//! A parameter's opening: the templates tried one after the other over the held bytes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{ParamsSpec, escape};
use crate::format::template::Slot;
use crate::head::{Advance, Thread};
use crate::limits::Limits;
use crate::scan::Match;

/// The templates that may still fit, in order, and how far each has been read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Opening {
    heads: Vec<Head>,
    /// One that failed after its key.
    failed: Option<Box<Head>>,
}

/// A template's opening, as far as it has been read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) template: usize,
    pub(super) thread: Thread,
}

/// What a look at an opening gave.
pub(super) enum Tried {
    /// The bytes end before it is decided.
    Wait,
    /// This one fits.
    Fits(Head),
    /// None fits; one that failed after its key, if there is one.
    No(Option<Box<Head>>),
}

impl Opening {
    /// Whether bytes are held for it.
    pub(super) fn is_under_way(&self) -> bool {
        !self.heads.is_empty()
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

    /// Reads on over the bytes held since the opening began.
    pub(super) fn advance(&mut self, spec: &ParamsSpec, held: &str, limits: &Limits) -> Tried {
        if self.heads.is_empty() {
            let bytes = held.as_bytes();
            let may_fit = spec.templates.iter().enumerate().filter(|(_, t)| t.first.at(bytes) != Match::No);
            self.heads.extend(may_fit.map(|(template, _)| Head { template, thread: Thread::at(0) }));
        }
        let held = if spec.marks { escape::blank_marks(held) } else { Cow::Borrowed(held) };
        while let Some(head) = self.heads.first_mut() {
            match head.thread.advance(&spec.template(head.template).opening, &held, false, limits) {
                Advance::More if held.len() <= limits.head => return Tried::Wait,
                Advance::Accept => return Tried::Fits(self.heads.remove(0)),
                Advance::More | Advance::Fail => {
                    let head = self.heads.remove(0);
                    if self.failed.is_none() && head.thread.value(Slot::Key, &held).is_some() {
                        self.failed = Some(Box::new(head));
                    }
                }
            }
        }
        Tried::No(self.failed.take())
    }
}
