//! Replies that the checkpoint's own template parses: the machine's output, emitted like any other flow's.

use crate::body::Eof;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::event::{Event, Sink};
use crate::flow::state::State;
use crate::flow::tokens::Tokens;
use crate::flow::{RequestOptions, ids};
use crate::limits::Limits;
use crate::request::IncompleteCalls;
use crate::response_template::{Call, Machine, MachineCx, MachineOut};
use crate::span::Span;

use std::ops::Range;

/// One run of a machine over a window of bytes.
pub(crate) struct Run<'a> {
    pub(crate) machine: &'a mut Machine,
    pub(crate) limits: &'a Limits,
    pub(crate) request_options: &'a RequestOptions,
    pub(crate) state: &'a mut State,
    pub(crate) tokens: &'a mut Tokens,
    pub(crate) sink: &'a mut dyn Sink,
    /// Offset of the window in the output.
    pub(crate) base: u64,
}

/// Receives the machine's output.
struct Answers<'a> {
    w: &'a str,
    request_options: &'a RequestOptions,
    state: &'a mut State,
    tokens: &'a mut Tokens,
    sink: &'a mut dyn Sink,
    base: u64,
}

impl Run<'_> {
    /// Decides what can be decided of `w`; returns how much that is.
    pub(crate) fn step(self, w: &str, eof: Eof) -> usize {
        let mut answers = Answers {
            w,
            request_options: self.request_options,
            state: self.state,
            tokens: self.tokens,
            sink: self.sink,
            base: self.base,
        };
        let mut cx = MachineCx { out: &mut answers, tools: &self.request_options.tools, limits: self.limits, eof };
        self.machine.step(w, &mut cx)
    }
}

impl Answers<'_> {
    fn offset(&self, at: usize) -> u64 {
        self.base + at as u64
    }

    fn say(&mut self, kind: DiagnosticKind, at: usize, text: &str, message: &str) {
        self.sink.event(Event::Diagnostic(Diagnostic::new(kind, self.offset(at), text, message)));
    }
}

impl MachineOut for Answers<'_> {
    fn reasoning(&mut self, text: &str, at: Range<usize>) {
        self.tokens.reason(self.offset(at.start), self.offset(at.end));
        if !self.request_options.hide_reasoning {
            let span = Span::new(self.offset(at.start), self.offset(at.end));
            self.sink.event_at(Event::Reasoning(text), span);
        }
    }

    fn content(&mut self, text: &str, at: Range<usize>) {
        self.state.content_said = true;
        self.sink.event_at(Event::Content(text), Span::new(self.offset(at.start), self.offset(at.end)));
    }

    fn call(&mut self, call: Call<'_>) {
        let at = call.region.start;
        let whole = Span::new(self.offset(at), self.offset(call.region.end));
        if !call.complete && self.request_options.incomplete != IncompleteCalls::Stream {
            let raw = self.w.get(call.region.clone()).unwrap_or_default();
            if self.request_options.incomplete == IncompleteCalls::Text {
                self.sink.event_at(Event::Content(raw), whole);
            } else {
                self.say(DiagnosticKind::CallDropped, at, raw, "this call never completed");
            }
            return;
        }
        let function = self.request_options.tools.position(call.name);
        if self.request_options.misses(function) {
            self.say(DiagnosticKind::UnknownFunction, at, call.name, "the request has no function of this name");
        } else if let Some(fault) = self.request_options.bad_schema(function) {
            self.say(DiagnosticKind::BadSchema, at, call.name, &fault);
        }
        let index = self.state.calls;
        self.state.calls_seen += 1;
        if self.request_options.only_first && index > 0 {
            self.say(DiagnosticKind::CallFiltered, at, call.name, "the request allows one call only");
            return;
        }
        self.state.calls += 1;
        let made = ids::made(
            &self.request_options.ids,
            None,
            self.request_options.seed,
            (self.request_options.calls_before + index, call.name),
        );
        let start = Event::CallStart { index, id: call.id.unwrap_or(&made), name: call.name };
        self.sink.event_at(start, Span::empty(whole.start));
        if !call.arguments.is_empty() {
            self.sink.event_at(Event::CallArguments { index, json: call.arguments }, whole);
        }
        self.sink.event_at(Event::CallEnd { index, complete: call.complete }, whole);
    }

    fn answering(&mut self, at: usize) {
        self.tokens.open_gate(self.offset(at), self.offset(at));
    }

    fn report(&mut self, kind: DiagnosticKind, at: usize, text: &str, message: &str) {
        self.say(kind, at, text, message);
    }
}
