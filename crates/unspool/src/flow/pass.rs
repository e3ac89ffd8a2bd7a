//! Deltas that pass through unchanged.
//!
//! Most deltas continue a text, or a string in the arguments of a call, and begin nothing, so they need no window.
//! [`super::text`] and [`super::calls`] decide the same for such a delta; this is the short path.

use crate::limits::Limits;
use crate::scan::is_blank;

use super::RequestOptions;
use super::state::{Mode, Place, State};
use super::tables::Tables;

/// The destination of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Reasoning,
    Content,
    /// The arguments of this call.
    Arguments(usize),
}

/// Maximum white space held here; longer runs go through the window.
const SHORT: usize = 64;

/// The inputs of the decision, besides the state.
#[derive(Clone, Copy)]
pub(crate) struct Passing<'a> {
    pub(crate) tables: &'a Tables,
    pub(crate) limits: &'a Limits,
    pub(crate) request_options: &'a RequestOptions,
    /// Offset of the delta in the output.
    pub(crate) base: u64,
}

impl Passing<'_> {
    /// The destination of a delta that passes unchanged, if nothing is held before it; the state includes it then. The
    /// text is not empty.
    #[inline]
    pub(crate) fn field(self, state: &mut State, text: &str) -> Option<Field> {
        if matches!(state.mode, Mode::Body(_)) {
            return self.arguments(state, text);
        }
        let place = state.runs_on()?;
        let last = is_blank(*text.as_bytes().last()?);
        let candidate = || self.tables.set(place).candidate(text.as_bytes(), 0, self.request_options.asks());
        if self.tables.words.edges && last || candidate().is_some() {
            return None;
        }
        let field = self.field_of(state, place)?;
        state.long_run = last;
        Some(field)
    }

    /// The same for a delta that follows held white space or ends with some, since that may be the edge of a piece.
    /// Returns the number of bytes that are no edge; if there are none, everything is held.
    pub(crate) fn before_edge(self, state: &mut State, held: &str, text: &str) -> Option<(Field, usize)> {
        let place = state.runs_on()?;
        let blank = |byte: &u8| is_blank(*byte);
        if !self.tables.words.edges || state.long_run || held.len() > SHORT || !held.as_bytes().iter().all(blank) {
            return None;
        }
        let edge =
            text.as_bytes().iter().rev().take(self.limits.blank.saturating_add(1)).take_while(|b| blank(b)).count();
        let len = text.len() - edge;
        let run = if len == 0 { held.len() + edge } else { edge };
        let candidate = || self.tables.set(place).candidate(&text.as_bytes()[..len], 0, self.request_options.asks());
        if run > self.limits.blank || candidate().is_some() {
            return None;
        }
        self.field_of(state, place).map(|field| (field, len))
    }

    /// The destination of a place's text, if nothing must be reported before it.
    #[inline]
    fn field_of(self, state: &State, place: Place) -> Option<Field> {
        if state.undecided.is_some() || state.marker.is_some() {
            return None;
        }
        if place.thinks() && !self.tables.words.into_content {
            return (state.reasoning_said && state.reasoning_gap.is_empty()).then_some(Field::Reasoning);
        }
        (state.content_said && state.content_gap.is_empty() && !state.opener_due).then_some(Field::Content)
    }

    /// A delta that only continues a value in an open call.
    #[inline]
    fn arguments(self, state: &mut State, text: &str) -> Option<Field> {
        let Mode::Body(call) = &mut state.mode else { return None };
        let open = call.open.as_mut().filter(|open| open.waiting.is_none() && !open.full)?;
        let index = open.index?;
        let fits = open.written + text.len() <= self.limits.arguments;
        if !fits || !call.machine.passes(&self.tables.forms[call.form].body, text, self.limits.depth) {
            return None;
        }
        open.written += text.len();
        open.read = self.base + text.len() as u64;
        Some(Field::Arguments(index))
    }
}
