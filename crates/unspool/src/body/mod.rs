//! Bodies: one machine per argument syntax. Text in, JSON text out, incrementally.
//!
//! A body sees the bytes that are not consumed yet. It consumes what it can and reports its status; it sees the rest
//! again, followed by more. It writes the JSON text of the arguments through [`Out`].

pub(crate) mod elements;
mod ends;
pub(crate) mod envelope;
pub(crate) mod json;
pub(crate) mod kwargs;
pub(crate) mod literals;
mod machine;
mod object;
pub(crate) mod params;
mod tag;
#[cfg(test)]
mod testing;

pub(crate) use machine::{BodyMachine, BodySpec};
pub(crate) use tag::{ClosingTag, unclosed};

use std::ops::Range;

use crate::diagnostic::DiagnosticKind;
use crate::json::write::string_of;
use crate::limits::Limits;
use crate::scan::Literal;
use crate::schema::FunctionSchema;
use crate::typing::Converted;

/// The status of a body after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// It needs more bytes (never returned if `eof` is set).
    More,
    /// Envelope only: a call's name (and id, if the model wrote one) is known; see [`envelope::Envelope::name`].
    Named,
    /// Envelope only: one call of a list ends; the next may follow. `complete` as in `Done`.
    CallEnd { complete: bool },
    /// The body ends. Its closer, if it has one, is not consumed. `complete`: the arguments are as the model meant
    /// them.
    Done { complete: bool },
    /// The next byte violates the syntax. Written output stays.
    Broken,
}

/// The result of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Number of bytes consumed.
    pub(crate) consumed: usize,
    /// The status of the body.
    pub(crate) status: Status,
}

/// The end of the output, for a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Eof {
    /// More may come.
    No,
    /// The model ended the reply.
    Stop,
    /// The engine cut the output (`length`).
    Length,
}

/// Receives the output of a body.
pub(crate) trait Out {
    /// A piece of the JSON text of the arguments that the body writes itself.
    fn args(&mut self, json: &str);
    /// A piece of JSON made from `text`, or equal to it: a slice of the step's input, or a text of unknown position.
    fn args_of(&mut self, json: &str, text: &str) {
        let _ = text;
        self.args(json);
    }
    /// A piece of JSON made from this range, relative to the start of the step's input; negative: in the input of an
    /// earlier step.
    fn args_at(&mut self, json: &str, place: Option<Range<isize>>) {
        let _ = place;
        self.args(json);
    }
    /// An anomaly; `at` is an offset in the input of this step.
    fn report(&mut self, kind: DiagnosticKind, at: usize, text: &str, message: &str);
    /// A repaired mistake of the model.
    fn repaired(&mut self, repair: Repair<'_>);
}

/// A mistake of the model and its repair.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repair<'a> {
    /// Its position, relative to the start of this step's input; negative: in the input of an earlier step.
    pub(crate) at: isize,
    /// The text; empty: a marker was missing.
    pub(crate) text: &'a str,
    /// The repair; empty: the text was left out.
    pub(crate) read: &'a str,
    /// One sentence for people.
    pub(crate) message: &'a str,
}

/// Reports bytes without a place in the arguments.
pub(crate) fn unplaced(out: &mut dyn Out, at: usize, text: &str) {
    out.report(DiagnosticKind::UnplacedText, at, text, "these bytes have no place in the arguments of the call");
}

/// Writes the inside of a JSON string for `text`, which begins at `at` in this step's input; negative: in an earlier
/// one.
pub(crate) fn give_string(out: &mut dyn Out, text: &str, at: isize) {
    let mut from = at;
    string_of(text, |json, source| {
        let end = from + source.len().cast_signed();
        out.args_at(json, Some(from..end));
        from = end;
    });
}

/// Writes a converted value. `text` is the value as the model wrote it, which ends `end` bytes into this step's input.
pub(crate) fn give(converted: &Converted<'_>, out: &mut dyn Out, text: &str, end: usize) {
    let mut from = end.cast_signed() - text.len().cast_signed();
    converted.write(&mut |json| {
        out.args_at(json, Some(from..end.cast_signed()));
        from = end.cast_signed();
    });
    if let Converted::Repaired(json) = converted {
        let at = end.cast_signed() - text.len().cast_signed();
        out.repaired(Repair {
            at,
            text,
            read: json,
            message: "this value is spelled as JSON does not; it is read as what is meant",
        });
    }
}

/// The context of a step.
pub(crate) struct Cx<'a> {
    /// The output.
    pub(crate) out: &'a mut dyn Out,
    /// Schema of the function, if the request has it.
    pub(crate) schema: Option<&'a FunctionSchema>,
    /// The limits.
    pub(crate) limits: &'a Limits,
    /// Whether the input is the last.
    pub(crate) eof: Eof,
}

/// Literals that may follow a body or a part of it, computed from the templates.
#[derive(Debug, Clone, Default)]
pub(crate) struct Follow {
    /// The call's own closers: for each call template, its literals after the body, in order.
    pub(crate) call_close: Vec<Literal>,
    /// The block's closers (first literal).
    pub(crate) block_close: Vec<Literal>,
    /// First literals of a call or block.
    pub(crate) call_open: Vec<Literal>,
}
