//! Nested elements: `<key>value</key>`, where a value may contain elements again.
//!
//! A repeated name makes a list, so nothing can be written before the call ends: the elements are kept as a tree and
//! written at the end, up to the limit `argument`.

mod spec;
#[cfg(test)]
mod tests;
mod tree;

use serde::{Deserialize, Serialize};

pub(crate) use self::spec::ElementsSpec;
use self::tree::Tree;
use super::ends::{Ender, LookPast, Structure, first_match};
use super::object::Object;
use super::tag::closes;
use super::{Cx, Eof, Repair, Status, Step};
use crate::call_header::{Advance, Cursor, Program};
use crate::diagnostic::DiagnosticKind;
use crate::format::template::Slot;
use crate::json::write::{string_of, string_piece};
use crate::marks::Blanks;
use crate::scan::{Match, blanks, prefix};

/// A body of elements in progress.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Elements {
    tree: Tree,
    object: Object,
    /// Number of bytes at the start of the rest without the beginning of a tag.
    scanned: usize,
    lookahead: Lookahead,
    /// The diagnostic about the skipped text has been reported.
    noted: bool,
    /// The open element is too long to store: it is a string, and is written as it comes.
    streams: bool,
    /// Name of the last closed element, while only white space follows; empty: none.
    closed: String,
}

/// A look-ahead at a possible tag; each part resumes where it stopped.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Lookahead {
    close: Option<Cursor>,
    open: Option<Cursor>,
    past: LookPast,
}

impl Lookahead {
    /// Looks at what may be another tag.
    fn restart(&mut self) {
        for cursor in [&mut self.close, &mut self.open].into_iter().flatten() {
            cursor.restart(0);
        }
        self.past = LookPast::default();
    }
}

/// What begins at a byte.
enum Found<'s> {
    /// Nothing, for this many bytes.
    Data(usize),
    /// More bytes are needed.
    Undecided,
    /// The innermost element's closer, of this length.
    Close(usize),
    /// The same in another spelling.
    Misspelled(usize),
    /// The closer of an element that is already closed.
    Repeat(usize),
    /// An element's opener.
    Open { key: &'s str, len: usize },
    /// The body's end.
    End,
    /// Something invalid there.
    Bad,
}

/// The context of one step: the input from `at` on is not consumed yet.
struct Turn<'s, 'c, 'd> {
    spec: &'s ElementsSpec,
    cx: &'c mut Cx<'d>,
    input: &'s str,
    at: usize,
}

impl<'s> Turn<'s, '_, '_> {
    fn rest(&self) -> &'s str {
        &self.input[self.at..]
    }

    fn is_last(&self) -> bool {
        self.cx.eof != Eof::No
    }

    /// What may follow an element.
    fn structure(&self) -> Structure<'s> {
        Structure { literals: &self.spec.structure, most: self.cx.limits.blank, blanks: Blanks::default() }
    }

    /// The openers of calls.
    fn calls(&self) -> Structure<'s> {
        Structure { literals: &self.spec.call_open, most: self.cx.limits.blank, blanks: Blanks::default() }
    }

    /// Consumes `len` bytes that are read as `read`.
    fn repaired(&mut self, len: usize, read: &str, message: &str) {
        let text = &self.rest()[..len];
        self.cx.out.repaired(Repair { at: self.at.cast_signed(), text, read, message });
        self.at += len;
    }
}

impl Elements {
    /// Continues.
    pub(crate) fn step(&mut self, spec: &ElementsSpec, cx: &mut Cx<'_>, input: &str) -> Step {
        let mut turn = Turn { spec, cx, input, at: 0 };
        let status = self.read(&mut turn);
        Step { consumed: turn.at, status }
    }

    fn read(&mut self, turn: &mut Turn<'_, '_, '_>) -> Status {
        loop {
            let text = turn.rest();
            let found = turn.spec.first.find(text.as_bytes(), self.scanned.min(text.len()));
            let (at, found) = found.map_or((text.len(), Found::Undecided), |at| (at, self.found(turn, at)));
            if let Found::Data(len) = found {
                self.scanned = at + len;
                self.lookahead.restart();
                continue;
            }
            let is_decided = !matches!(found, Found::Undecided);
            if !self.take_text(turn, at, is_decided) {
                return self.broken(turn);
            }
            match found {
                Found::Data(_) => {}
                Found::Undecided if turn.is_last() => return self.cut(turn),
                Found::Undecided => return Status::More,
                Found::Close(len) => {
                    turn.at += len;
                    self.close(turn);
                }
                Found::Misspelled(len) => {
                    let read = self.tree.innermost().map_or(String::new(), |key| turn.spec.closer(key));
                    turn.repaired(len, &read, "this closer is spelled as the format does not write it");
                    self.close(turn);
                }
                Found::Repeat(len) => {
                    turn.repaired(len, "", "this marker stands here twice; it counts once");
                    self.noted = false;
                    self.scanned = 0;
                    self.lookahead.restart();
                    continue;
                }
                Found::Open { key, len } => {
                    let (key, is_empty) = key.strip_suffix('/').map_or((key, false), |key| (key, true));
                    if self.streams || !self.tree.open(key, turn.cx.limits) {
                        return self.broken(turn);
                    }
                    turn.at += len;
                    self.closed.clear();
                    if is_empty {
                        self.close(turn);
                    }
                }
                Found::End => {
                    self.close_all(turn);
                    self.write(turn);
                    return self.object.end(turn.cx.out);
                }
                Found::Bad => return self.broken(turn),
            }
            self.lookahead.restart();
            (self.scanned, self.noted) = (0, false);
        }
    }

    fn found<'s>(&mut self, turn: &Turn<'s, '_, '_>, at: usize) -> Found<'s> {
        let (spec, rest) = (turn.spec, &turn.rest()[at..]);
        let bytes = rest.as_bytes();
        let closer = match tag(&mut self.lookahead.close, &spec.close, rest, turn) {
            Tag::Undecided => return Found::Undecided,
            Tag::Read { key, len } if self.tree.innermost().is_some_and(|open| key.is_none_or(|key| key == open)) => {
                return Found::Close(len);
            }
            Tag::Read { key, len } => {
                let is_again = key.is_some_and(|key| !key.is_empty() && key == self.closed);
                Some((len, is_again && !key.is_some_and(|key| self.tree.has_open(key))))
            }
            Tag::No => None,
        };
        if let Some(found) = self.end(turn, bytes) {
            return found;
        }
        if let Some((len, is_again)) = closer {
            return match self.lookahead.past.follows(bytes, len, &turn.structure()) {
                Match::Partial if is_again && !turn.is_last() => Found::Undecided,
                Match::Full(_) | Match::Partial if is_again => Found::Repeat(len),
                _ if self.tree.is_open() => Found::Bad,
                _ => Found::Data(len),
            };
        }
        if let Some(found) = self.misspelled(turn, bytes) {
            return found;
        }
        let call = first_match(&spec.call_open, bytes);
        match tag(&mut self.lookahead.open, &spec.open, rest, turn) {
            Tag::Undecided => return Found::Undecided,
            Tag::Read { key: Some(key), len } => {
                // An argument may have the name of one of the format's own tags; a call's opener is followed by a call.
                let is_call = match call {
                    Match::Full(n) if n == len => self.lookahead.past.follows(bytes, len, &turn.calls()),
                    _ => Match::No,
                };
                match is_call {
                    Match::Partial if !turn.is_last() => return Found::Undecided,
                    Match::Full(_) | Match::Partial => {}
                    Match::No => return Found::Open { key, len },
                }
            }
            Tag::Read { .. } | Tag::No => {}
        }
        match call {
            Match::Full(_) if self.tree.is_open() => Found::Bad,
            Match::Full(_) => Found::End,
            Match::Partial => Found::Undecided,
            Match::No => Found::Data(1),
        }
    }

    /// The innermost element's closer without its sign, if structure follows and its text did not open it.
    fn misspelled(&mut self, turn: &Turn<'_, '_, '_>, bytes: &[u8]) -> Option<Found<'static>> {
        let key = self.tree.innermost().filter(|_| !self.streams)?;
        match closes(key, bytes) {
            Match::No => None,
            Match::Partial => (!turn.is_last()).then_some(Found::Undecided),
            Match::Full(n) => match self.lookahead.past.follows(bytes, n, &turn.structure()) {
                Match::Full(_) => match prefix(turn.spec.closer(key).as_bytes(), bytes[n..].trim_ascii_start()) {
                    Match::Full(_) => None,
                    Match::Partial if !turn.is_last() => Some(Found::Undecided),
                    _ => (!self.tree.holds_own_tag()).then_some(Found::Misspelled(n)),
                },
                Match::Partial => (!turn.is_last()).then_some(Found::Undecided),
                Match::No => None,
            },
        }
    }

    /// The call's or block's closer: it ends the body, and everything that is open if structure follows.
    fn end(&mut self, turn: &Turn<'_, '_, '_>, bytes: &[u8]) -> Option<Found<'static>> {
        for ender in &turn.spec.enders {
            match ender.literal.at(bytes) {
                Match::No => {}
                Match::Partial => return Some(Found::Undecided),
                Match::Full(_) if !self.tree.is_open() => return Some(Found::End),
                Match::Full(n) => {
                    let structure =
                        Structure { literals: &ender.followers, most: turn.cx.limits.blank, blanks: Blanks::default() };
                    match self.lookahead.past.follows(bytes, n, &structure) {
                        Match::Full(_) => return Some(Found::End),
                        // If the output was cut, a value without a closer must not look complete.
                        Match::Partial if turn.cx.eof == Eof::Stop => return Some(Found::End),
                        Match::Partial => return Some(Found::Undecided),
                        Match::No => {}
                    }
                }
            }
        }
        None
    }

    /// Consumes the text before `end`; false if it exceeds the limit.
    fn take_text(&mut self, turn: &mut Turn<'_, '_, '_>, end: usize, is_decided: bool) -> bool {
        if !turn.rest()[..end].trim().is_empty() {
            self.closed.clear();
        }
        if !self.tree.is_open() {
            self.pass_over(turn, end, is_decided);
            return true;
        }
        self.scanned = 0;
        let text = &turn.rest()[..end];
        if self.streams {
            string_of(text, |json, from| turn.cx.out.args_of(json, from));
        } else if let Some(room) = self.tree.push_text(text, turn.cx.limits) {
            let mut room = room;
            while !text.is_char_boundary(room) {
                room -= 1;
            }
            let message = "the elements of this call are too long to be kept";
            turn.cx.out.report(DiagnosticKind::LimitReached, turn.at + room, "", message);
            if !self.tree.is_leaf() {
                self.tree.push_text(&text[..room], turn.cx.limits);
                turn.at += room;
                return false;
            }
            self.write(turn);
            let (key, kept) = self.tree.take_leaf();
            self.object.key(turn.cx.out, &key);
            turn.cx.out.args("\"");
            string_piece(&kept, |json| turn.cx.out.args(json));
            string_of(text, |json, from| turn.cx.out.args_of(json, from));
            self.streams = true;
        }
        turn.at += end;
        true
    }

    /// Text outside all elements has no place: it goes to a diagnostic, except white space.
    fn pass_over(&mut self, turn: &mut Turn<'_, '_, '_>, end: usize, is_decided: bool) {
        let blank = if self.noted { 0 } else { blanks(&turn.rest().as_bytes()[..end]) };
        turn.at += blank;
        let text = &turn.rest()[..end - blank];
        let is_over = is_decided || turn.is_last() || text.len() >= turn.cx.limits.arguments.saturating_add(4);
        self.scanned = if is_over || self.noted { 0 } else { text.len() };
        if text.is_empty() || !is_over && !self.noted {
            return;
        }
        if !self.noted {
            self.noted = true;
            self.object.unplaced();
            // Text longer than a diagnostic can quote is quoted the same in every split.
            let quoted = if text.len() > turn.cx.limits.arguments { text } else { text.trim_end() };
            turn.cx.out.report(DiagnosticKind::UnplacedText, turn.at, quoted, "text outside the elements");
        }
        turn.at += text.len();
    }

    fn close(&mut self, turn: &mut Turn<'_, '_, '_>) {
        self.tree.innermost().unwrap_or_default().clone_into(&mut self.closed);
        self.tree.close();
        if self.streams {
            self.streams = false;
            self.tree = Tree::default();
            turn.cx.out.args("\"");
        } else if !self.tree.is_open() && self.tree.is_full(turn.cx.limits) {
            self.write(turn);
        }
    }

    fn close_all(&mut self, turn: &mut Turn<'_, '_, '_>) {
        while self.tree.is_open() {
            self.close(turn);
        }
    }

    /// Writes the complete members.
    fn write(&mut self, turn: &mut Turn<'_, '_, '_>) {
        let rules = turn.spec.rules(turn.cx.limits);
        self.tree.write(&mut self.object, turn.cx, (rules, turn.at));
    }

    fn broken(&mut self, turn: &mut Turn<'_, '_, '_>) -> Status {
        let text = self.tree.open_text();
        if self.tree.is_open() && !self.streams && !text.is_empty() {
            turn.cx.out.report(DiagnosticKind::UnplacedText, turn.at, &text, "this element is broken");
        }
        self.write(turn);
        Status::Broken
    }

    /// Reports the name in a partial tag, if it is more than part of the expected closer.
    fn note_half_tag(&mut self, turn: &mut Turn<'_, '_, '_>) {
        let held = turn.rest();
        let half = |cursor: &Option<Cursor>, program| cursor.as_ref().map_or("", |t| t.unplaced(program, held));
        let closed = half(&self.lookahead.close, &turn.spec.close);
        let ends = |e: &Ender| e.literal.at(held.as_bytes()) == Match::Partial;
        let is_due =
            self.tree.innermost().is_some_and(|open| open.starts_with(closed)) || turn.spec.enders.iter().any(ends);
        if !closed.is_empty() && !is_due || !half(&self.lookahead.open, &turn.spec.open).is_empty() {
            let message = "the output ended inside this tag";
            turn.cx.out.report(DiagnosticKind::UnplacedText, turn.at, held, message);
        }
    }

    /// The output ends with a partial tag.
    fn cut(&mut self, turn: &mut Turn<'_, '_, '_>) -> Status {
        self.note_half_tag(turn);
        turn.at = turn.input.len();
        self.write(turn);
        if self.tree.is_open() {
            if !self.streams {
                let text = self.tree.open_text();
                let message = "the output ended inside this element";
                turn.cx.out.report(DiagnosticKind::CallCutOff, turn.at, &text, message);
            }
            return Status::Done { complete: false };
        }
        match turn.cx.eof {
            Eof::Length => Status::Done { complete: false },
            _ => self.object.end(turn.cx.out),
        }
    }
}

/// A tag under examination.
enum Tag<'a> {
    No,
    Undecided,
    Read { key: Option<&'a str>, len: usize },
}

fn tag<'a>(cursor: &mut Option<Cursor>, program: &Program, rest: &'a str, turn: &Turn<'_, '_, '_>) -> Tag<'a> {
    let cursor = cursor.get_or_insert_with(|| Cursor::at(0));
    match cursor.advance(program, rest, false, turn.cx.limits) {
        Advance::More => Tag::Undecided,
        Advance::Fail | Advance::Another | Advance::Ended => Tag::No,
        Advance::Accept => Tag::Read { key: cursor.value(Slot::Key, rest), len: cursor.pos },
    }
}
