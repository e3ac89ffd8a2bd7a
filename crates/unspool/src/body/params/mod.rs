//! Flat parameters: `<parameter=key>value</parameter>` and its relatives.
//!
//! Between parameters, a header program reads the next opening. Inside a value everything is data except a closer
//! followed by structure (see [`value`]). The JSON object is written as the model writes: strings grow with every step.

pub(crate) mod escape;
mod header;
mod skip;
mod spec;
#[cfg(test)]
mod tests;
mod value;
mod value_output;

use serde::{Deserialize, Serialize};

use self::header::{HeaderAttempt, ParamHeader, Tried};
use self::skip::Skip;
pub(crate) use self::spec::ParamsSpec;
use self::value::Value;
use super::ends::{Structure, first_match};
use super::object::Object;
use super::{Cx, Eof, Repair, Status, Step};
use crate::diagnostic::DiagnosticKind;
use crate::format::template::Slot;
use crate::scan::{Literal, Match};

/// A body of parameters being read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Params {
    state: State,
    object: Object,
    /// The last byte was a line break.
    after_line_break: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum State {
    /// Before an opening or the body's end.
    Between(ParamHeader),
    /// In a value.
    Value(Box<Value>),
    /// In unplaced text.
    Skip(Skip),
}

impl Default for State {
    fn default() -> Self {
        Self::Between(ParamHeader::default())
    }
}

/// The inputs of one turn of the machine; the input from `at` on is not consumed yet.
struct Turn<'s, 'c, 'd> {
    spec: &'s ParamsSpec,
    cx: &'c mut Cx<'d>,
    object: &'c mut Object,
    input: &'s str,
    at: usize,
    /// Whether a line break precedes `input`.
    after_line_break: bool,
}

/// The result of a turn.
enum Next {
    /// More bytes are needed.
    Wait,
    /// Continue in another state.
    To(State),
    /// The body is over.
    Over(Status),
}

impl<'s> Turn<'s, '_, '_> {
    fn rest(&self) -> &'s str {
        &self.input[self.at..]
    }

    fn is_last(&self) -> bool {
        self.cx.eof != Eof::No
    }

    /// Whether a line begins at `offset` in the rest.
    fn is_line_start(&self, offset: usize) -> bool {
        match (self.at + offset).checked_sub(1) {
            Some(before) => self.input.as_bytes()[before] == b'\n',
            None => self.after_line_break,
        }
    }

    /// Matches one of `literals` after white space.
    fn structure<'a>(&self, literals: &'a [Literal]) -> Structure<'a> {
        Structure { literals, most: self.cx.limits.blank, blanks: self.spec.blanks }
    }

    fn report(&mut self, kind: DiagnosticKind, text: &str, message: &str) {
        self.cx.out.report(kind, self.at, text, message);
    }

    /// Reports that `text`, at `offset` in the rest, was read as `read`.
    fn repaired(&mut self, offset: usize, text: &str, read: &str) {
        let message = match (text.is_empty(), read.is_empty()) {
            (true, _) => "this marker is missing; it is read as if it stood here",
            (_, true) => "this marker stands here twice; it counts once",
            _ => "this closer is spelled as the format does not write it",
        };
        self.cx.out.repaired(Repair { at: (self.at + offset).cast_signed(), text, read, message });
    }

    /// Reports the repairs of an opening.
    fn tell_repairs(&mut self, header: &HeaderAttempt, held: &str) {
        if header.lacks_opener {
            self.repaired(0, "", self.spec.template(header.template).first.text());
        }
        for &(from, to) in &header.cursor.repeats {
            self.repaired(from, held.get(from..to).unwrap_or_default(), "");
        }
    }

    /// Whether a call's closer is here in another spelling, followed by structure.
    fn misspelled_end(&self) -> Match {
        self.spec.misspelled_end(self.rest().as_bytes(), self.cx.limits.blank)
    }

    /// Whether an opening failed only because the value's opener is missing.
    fn may_lack_value_opener(&self, header: &HeaderAttempt) -> bool {
        let template = self.spec.template(header.template);
        template.key_close.is_some() && header.cursor.wants_last(&template.opening)
    }
}

impl Params {
    /// See [`super::BodyMachine::passes`].
    #[inline]
    pub(crate) fn passes(&mut self, spec: &ParamsSpec, text: &str) -> bool {
        let State::Value(value) = &mut self.state else { return false };
        let passes = value.passes(spec, text);
        self.after_line_break &= !passes;
        passes
    }

    /// Consumes input.
    pub(crate) fn step(&mut self, spec: &ParamsSpec, cx: &mut Cx<'_>, input: &str) -> Step {
        if let State::Value(value) = &mut self.state
            && value.take_run(spec, cx, input)
        {
            self.after_line_break = false;
            return Step { consumed: input.len(), status: Status::More };
        }
        let after_line_break = self.after_line_break;
        let mut turn = Turn { spec, cx, object: &mut self.object, input, at: 0, after_line_break };
        let status = loop {
            let next = match &mut self.state {
                State::Between(opening) => between(&mut turn, opening),
                State::Value(value) => value.read(&mut turn),
                State::Skip(skip) => skip.read(&mut turn),
            };
            match next {
                Next::Wait => break Status::More,
                Next::To(state) => self.state = state,
                Next::Over(status) => break status,
            }
        };
        let consumed = turn.at;
        if consumed > 0 {
            self.after_line_break = input.as_bytes()[consumed - 1] == b'\n';
        }
        Step { consumed, status }
    }
}

/// Between parameters: white space is framing, then the body's end or an opening.
fn between(turn: &mut Turn<'_, '_, '_>, opening: &mut ParamHeader) -> Next {
    if !opening.is_under_way() {
        loop {
            turn.at += turn.spec.blanks.before(turn.rest().as_bytes());
            match first_match(&turn.spec.tails, turn.rest().as_bytes()) {
                Match::Full(n) => turn.at += n,
                Match::Partial if !turn.is_last() => return Next::Wait,
                _ => break,
            }
        }
        match first_match(&turn.spec.after_call, turn.rest().as_bytes()) {
            Match::Full(_) => return Next::Over(turn.object.end(turn.cx.out)),
            Match::Partial => return if turn.is_last() { at_the_end(turn) } else { Next::Wait },
            Match::No => {}
        }
        match turn.misspelled_end() {
            Match::Full(_) => return Next::Over(turn.object.end(turn.cx.out)),
            Match::Partial if !turn.is_last() => return Next::Wait,
            Match::Partial | Match::No => {}
        }
    }
    let held = turn.rest();
    match opening.advance(turn.spec, held, (turn.cx.limits, turn.object.has_members())) {
        Tried::Fits(header) => {
            turn.tell_repairs(&header, held);
            turn.at += header.cursor.pos;
            match Value::new(turn, &header, held) {
                Some(value) => Next::To(State::Value(Box::new(value))),
                None => Next::To(State::default()),
            }
        }
        Tried::Wait if turn.is_last() => cut_opening(turn, opening),
        Tried::Wait => Next::Wait,
        Tried::No(Some(header), _) if turn.may_lack_value_opener(&header) => {
            value_without_opener(turn, opening, header)
        }
        Tried::No(None, fitted) => Next::To(State::Skip(Skip::behind(fitted))),
        Tried::No(Some(header), _) => no_opening(turn, &header),
    }
}

/// No template fits; this one failed after its key.
fn no_opening(turn: &mut Turn<'_, '_, '_>, header: &HeaderAttempt) -> Next {
    let held = turn.rest();
    // `<arg_key>leaf</arg_key>oolong`: the key is certain, but the value's position is not.
    if let Some(key) = header.cursor.value(Slot::Key, held) {
        turn.object.key(turn.cx.out, &turn.spec.key(key));
    }
    let (read, program) = (header.cursor.pos, &turn.spec.template(header.template).opening);
    // The rest of its half-read attributes is still to come.
    let lost = if header.cursor.taken.len() > 1 { header.cursor.unplaced(program, &held[..read]) } else { "" };
    if !lost.is_empty() {
        turn.report(DiagnosticKind::UnplacedText, lost, "attributes of a parameter that has no value");
    }
    turn.at += read;
    Next::Over(Status::Broken)
}

/// After a key whose value has no opener, the text up to the value's closer is the value. If the call's closer or the
/// next key comes first, there is no value.
fn value_without_opener(turn: &mut Turn<'_, '_, '_>, opening: &mut ParamHeader, header: Box<HeaderAttempt>) -> Next {
    let held = turn.rest();
    let spec = turn.spec;
    let start = header.cursor.pos;
    let bytes = held.as_bytes();
    let mut from = opening.searched().max(start);
    loop {
        let Some(at) = spec.in_value.find(bytes, from.min(bytes.len())) else {
            return wait_for_value(turn, opening, header, bytes.len());
        };
        if at - start > turn.cx.limits.argument {
            return no_opening(turn, &header);
        }
        let close = spec.template(header.template).close.at(&bytes[at..]);
        match (close, first_match(&spec.structure, &bytes[at..])) {
            (Match::Full(_), _) => {
                turn.repaired(start, "", spec.value_opener(header.template));
                turn.tell_repairs(&header, held);
                turn.at += start;
                return match Value::new(turn, &header, held) {
                    Some(value) => Next::To(State::Value(Box::new(value))),
                    None => Next::To(State::default()),
                };
            }
            (_, Match::Full(_)) => return no_opening(turn, &header),
            (Match::Partial, _) | (_, Match::Partial) => return wait_for_value(turn, opening, header, at),
            (Match::No, Match::No) => from = at + 1,
        }
    }
}

/// The value's end has not come; beyond a limit there is no value.
fn wait_for_value(
    turn: &mut Turn<'_, '_, '_>,
    opening: &mut ParamHeader,
    header: Box<HeaderAttempt>,
    searched: usize,
) -> Next {
    if searched - header.cursor.pos > turn.cx.limits.argument {
        return no_opening(turn, &header);
    }
    if turn.is_last() {
        let held = turn.rest();
        if let Some(key) = header.cursor.value(Slot::Key, held) {
            turn.object.key(turn.cx.out, &turn.spec.key(key));
        }
        turn.at += header.cursor.pos;
        note_cut_opening(turn, held[header.cursor.pos..searched.min(held.len())].trim());
        turn.at = turn.input.len();
        return Next::Over(Status::Done { complete: false });
    }
    opening.keep(header, searched);
    Next::Wait
}

/// The output ends between two parameters, apart from an incomplete marker.
fn at_the_end(turn: &mut Turn<'_, '_, '_>) -> Next {
    turn.at = turn.input.len();
    Next::Over(match turn.cx.eof {
        Eof::Length => Status::Done { complete: false },
        _ => turn.object.end(turn.cx.out),
    })
}

/// Reports unplaced text of an opening at the end of the output.
fn note_cut_opening(turn: &mut Turn<'_, '_, '_>, lost: &str) {
    if !lost.is_empty() {
        turn.report(DiagnosticKind::UnplacedText, lost, "the output ended inside the opening of a parameter");
    }
}

/// The output ends in an opening.
fn cut_opening(turn: &mut Turn<'_, '_, '_>, opening: &ParamHeader) -> Next {
    let held = turn.rest();
    let Some(header) = opening.begun().filter(|header| header.cursor.pos > 0) else {
        return at_the_end(turn);
    };
    let lost = if let Some(key) = header.cursor.value(Slot::Key, held) {
        turn.object.key(turn.cx.out, &turn.spec.key(key));
        header.cursor.unplaced(&turn.spec.template(header.template).opening, held)
    } else {
        held
    };
    note_cut_opening(turn, lost);
    turn.at = turn.input.len();
    Next::Over(Status::Done { complete: false })
}
