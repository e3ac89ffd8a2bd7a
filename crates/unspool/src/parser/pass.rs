//! Deltas that need no window, and whose tokens need no queue.

use super::Parser;
use crate::align;
use crate::body::Eof;
use crate::event::{Event, Sink};
use crate::flow::RequestOptions;
use crate::flow::pass::{Field, Passing};
use crate::span::Span;

impl Parser {
    /// Text of a number of ordinary tokens; none: their ids are unknown.
    #[inline]
    pub(super) fn push_ordinary(&mut self, text: &str, count: usize, sink: &mut impl Sink) {
        if count > 0 {
            self.memory.unaligned.count(text, count);
            self.memory.tokens.known = true;
        }
        let memory = &mut self.memory;
        let is_next = memory.tokens.is_settled() && text.len() >= count;
        if is_next && self.pass(text, Some(count), sink) {
            self.count_chars(text);
            return;
        }
        align::ordinary(text, count, &mut self.memory.tokens);
        self.feed(text, Eof::No, sink);
    }

    /// Emits a delta that continues the previous text and begins nothing; returns false if it may begin something.
    /// `count`: its number of tokens, if they are not added yet.
    #[inline]
    pub(super) fn pass(&mut self, text: &str, count: Option<usize>, sink: &mut impl Sink) -> bool {
        let memory = &mut self.memory;
        if !memory.hold.is_empty() || text.is_empty() || self.machine.is_some() {
            return false;
        }
        let (tables, limits, request_options) = (&self.plan.tables, &self.limits, &self.request_options);
        let passing = Passing { tables, limits, request_options, base: memory.base };
        let Some(field) = passing.field(&mut memory.state, text) else { return false };
        let at = memory.base;
        memory.base += text.len() as u64;
        match count {
            Some(count) => memory.tokens.pass(count, text.len(), field == Field::Reasoning),
            None => {
                if field == Field::Reasoning {
                    memory.tokens.reason(at, memory.base);
                }
                memory.tokens.settle(memory.base);
            }
        }
        if memory.filters.is_empty() {
            say(field, (text, at), &self.request_options, sink);
        } else {
            say(field, (text, at), &self.request_options, &mut memory.filters.over(sink));
        }
        true
    }

    /// The same if white space at the end of the text may be the edge of a piece: that is held.
    pub(super) fn pass_edge(&mut self, text: &str, sink: &mut impl Sink) -> bool {
        let memory = &mut self.memory;
        if text.is_empty() || self.machine.is_some() {
            return false;
        }
        let (tables, limits, request_options) = (&self.plan.tables, &self.limits, &self.request_options);
        let passing = Passing { tables, limits, request_options, base: memory.base };
        let Some((field, len)) = passing.before_edge(&mut memory.state, &memory.hold, text) else { return false };
        let (here, edge) = text.split_at(len);
        memory.hold.push_str(here);
        if len > 0 {
            let at = memory.base;
            memory.base += memory.hold.len() as u64;
            if field == Field::Reasoning {
                memory.tokens.reason(at, memory.base);
            }
            memory.tokens.settle(memory.base);
            say(field, (&memory.hold, at), &self.request_options, sink);
            memory.hold.clear();
        }
        memory.hold.push_str(edge);
        true
    }
}

/// Emits a piece of a field at this offset of the output.
#[inline]
fn say(field: Field, (text, at): (&str, u64), request_options: &RequestOptions, sink: &mut impl Sink) {
    let span = Span::of(at, text);
    match field {
        Field::Arguments(index) => sink.event_at(Event::CallArguments { index, json: text }, span),
        Field::Reasoning if request_options.hide_reasoning => {}
        Field::Reasoning => sink.event_at(Event::Reasoning(text), span),
        Field::Content => sink.event_at(Event::Content(text), span),
    }
}
