//! The body `json`: the arguments of one call as JSON, verbatim.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Cx, Eof, Follow, Out, Repair, Status, Step};
use crate::diagnostic::DiagnosticKind;
use crate::json::arguments::{Arguments, Ending, Progress};
use crate::json::copy::JsonOut;
use crate::json::scan::{Scanned, Stop};
use crate::scan::{FirstBytes, Literal, Match, blanks, is_blank};

/// The literals that end a body from outside: its own closers, the block's, and openers of what may follow.
#[derive(Debug, Clone)]
pub(crate) struct Closers {
    literals: Vec<Literal>,
    first: FirstBytes,
}

impl Closers {
    pub(crate) fn new(follow: &Follow) -> Self {
        let all = [&follow.call_close, &follow.block_close, &follow.call_open];
        let mut literals: Vec<Literal> = Vec::new();
        for literal in all.into_iter().flatten().filter(|l| !l.text().is_empty()) {
            if !literals.contains(literal) {
                literals.push(literal.clone());
            }
        }
        let first = FirstBytes::new(literals.iter().filter_map(|l| l.text().bytes().next()));
        Self { literals, first }
    }

    /// Whether `input` begins with one of them.
    pub(crate) fn at(&self, input: &[u8]) -> Match {
        let mut result = Match::No;
        for literal in &self.literals {
            match literal.at(input) {
                Match::Full(n) => return Match::Full(n),
                Match::Partial => result = Match::Partial,
                Match::No => {}
            }
        }
        result
    }

    /// The first position of one of them, or where one is possible with more bytes.
    fn find(&self, input: &[u8]) -> Option<(usize, Match)> {
        let mut from = 0;
        while let Some(at) = self.first.find(input, from) {
            match self.at(&input[at..]) {
                Match::No => from = at + 1,
                found => return Some((at, found)),
            }
        }
        None
    }
}

/// Emits JSON that passes through, and reports repairs in it.
pub(super) struct Passed<'a> {
    out: &'a mut dyn Out,
    /// Start of the JSON in the input of the step.
    base: isize,
}

impl<'a> Passed<'a> {
    pub(super) fn from(out: &'a mut dyn Out, base: usize) -> Self {
        Self { out, base: base.cast_signed() }
    }

    /// Reports a doubled backslash.
    pub(super) fn tell(out: &mut dyn Out, at: isize, escape: &str) {
        let read = format!("\\{escape}");
        let message = "this backslash begins no escape of JSON; it is read as a backslash";
        out.repaired(Repair { at, text: escape, read: &read, message });
    }
}

impl JsonOut for Passed<'_> {
    #[inline]
    fn json(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.args_of(text, text);
        }
    }

    #[inline]
    fn json_at(&mut self, text: &str, place: Range<isize>) {
        self.out.args_at(text, Some(self.base + place.start..self.base + place.end));
    }

    fn doubled(&mut self, at: isize, escape: &str) {
        Self::tell(self.out, self.base + at, escape);
    }
}

/// The format's settings for the body.
#[derive(Debug, Clone)]
pub(crate) struct JsonSpec {
    closers: Closers,
    /// Calls have a closer, so broken JSON has an end too.
    closed: bool,
}

impl JsonSpec {
    /// The spec of a body that these literals may follow.
    pub(crate) fn new(follow: &Follow) -> Self {
        Self { closers: Closers::new(follow), closed: !follow.call_close.is_empty() }
    }
}

/// The state of one body.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct JsonBody {
    state: State,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum State {
    /// In the JSON value, or before it.
    Json(Arguments),
    /// After a byte that is not JSON: everything passes through, up to a closer.
    Raw,
}

impl Default for State {
    fn default() -> Self {
        Self::Json(Arguments::default())
    }
}

impl JsonBody {
    /// See [`super::BodyMachine::passes`].
    #[inline]
    pub(crate) fn passes(&mut self, text: &str, depth: usize) -> bool {
        match &mut self.state {
            State::Json(arguments) => arguments.passes(text, depth),
            State::Raw => false,
        }
    }

    /// Continues.
    ///
    /// The body ends where its value ends. If it is not JSON it continues to a closer (kimi_k2/bad-json), or breaks if
    /// the format has none.
    pub(crate) fn step(&mut self, spec: &JsonSpec, cx: &mut Cx<'_>, input: &str) -> Step {
        let State::Json(arguments) = &mut self.state else { return raw(spec, cx, input, 0) };
        let mut at = 0;
        if let Some(Scanned { len, stop }) = arguments.steady(input, cx.limits, &mut Passed::from(&mut *cx.out, 0)) {
            if stop == Stop::More && cx.eof == Eof::No {
                return Step { consumed: len, status: Status::More };
            }
            at = len;
        } else if !arguments.begun() {
            at = blanks(input.as_bytes());
            match spec.closers.at(&input.as_bytes()[at..]) {
                Match::No => {}
                Match::Partial if cx.eof == Eof::No => return Step { consumed: at, status: Status::More },
                Match::Partial if cx.eof == Eof::Length => return done(at, false),
                // There is nothing between the markers: no arguments.
                Match::Full(_) | Match::Partial => {
                    cx.out.args("{}");
                    return done(at, true);
                }
            }
        }
        let (len, progress) = arguments.step(&input[at..], cx.limits, &mut Passed::from(&mut *cx.out, at));
        at += len;
        match progress {
            Progress::More => self.ran_out(cx, at),
            Progress::End(ending) => {
                match ending {
                    Ending::Whole => {}
                    Ending::Nothing => cx.out.args("{}"),
                    Ending::NoJson => not_json(cx, at, ""),
                }
                done(at, ending != Ending::NoJson)
            }
            Progress::Bad => {
                let end = input[at..].chars().next().map_or(at, |c| at + c.len_utf8());
                not_json(cx, at, &input[at..end]);
                if !spec.closed {
                    return Step { consumed: at, status: Status::Broken };
                }
                self.state = State::Raw;
                raw(spec, cx, input, at)
            }
        }
    }

    /// The input is exhausted.
    fn ran_out(&mut self, cx: &mut Cx<'_>, at: usize) -> Step {
        let State::Json(arguments) = &self.state else { return Step { consumed: at, status: Status::More } };
        match cx.eof {
            Eof::No => Step { consumed: at, status: Status::More },
            Eof::Stop if !arguments.begun() => {
                cx.out.args("{}");
                done(at, true)
            }
            Eof::Stop | Eof::Length => {
                let whole = arguments.finish(&mut Passed::from(&mut *cx.out, at));
                // A number has no end marker: if it was cut off, digits may be missing.
                done(at, whole && cx.eof == Eof::Stop)
            }
        }
    }
}

fn done(consumed: usize, complete: bool) -> Step {
    Step { consumed, status: Status::Done { complete } }
}

/// Passes everything from `from` up to a closer through. White space before a closer is its framing.
fn raw(spec: &JsonSpec, cx: &mut Cx<'_>, input: &str, from: usize) -> Step {
    let bytes = input.as_bytes();
    let found = spec.closers.find(&bytes[from..]);
    let end = found.map_or(bytes.len(), |(at, _)| from + at);
    let blank = bytes[from..end].iter().rev().take(cx.limits.blank).take_while(|b| is_blank(**b)).count();
    let end = end - blank;
    if from < end {
        cx.out.args_of(&input[from..end], &input[from..end]);
    }
    match found {
        Some((_, Match::Full(_))) => done(end, false),
        _ if cx.eof == Eof::No => Step { consumed: end, status: Status::More },
        _ => done(end, false),
    }
}

/// Reports that the arguments are not JSON, at `at`.
fn not_json(cx: &mut Cx<'_>, at: usize, text: &str) {
    let message = "the arguments are not JSON; they are passed on as the model wrote them";
    cx.out.report(DiagnosticKind::NotJson, at, text, message);
}

#[cfg(test)]
pub(crate) mod drive;
#[cfg(test)]
pub(crate) mod tests;
