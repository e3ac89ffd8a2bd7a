//! Call headers: a template's part before its body, as a small program over held bytes.
//!
//! A cursor runs one program over the bytes held so far and stops at their end; with more bytes it resumes there. At
//! most one literal is compared twice.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::format::template::{Part, Slot};
use crate::keyword;
use crate::limits::Limits;
use crate::marks::Blanks;
use crate::scan::{Cut, Literal, Match, cuts};

/// One step of a header.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// This literal.
    Literal(Literal),
    /// Any run of white space, none too.
    Space,
    /// Optional text.
    Optional(Literal),
    /// Any short text; the field is what the templates write.
    Free(Box<str>),
    /// Any text up to this literal that contains none of the others.
    Until(Literal, Vec<Literal>),
    /// A name or similar, up to the first byte that cannot be part of one.
    Slot(Slot),
    /// Attributes of a tag, in any order; the first one is required.
    Attrs(Vec<(Box<str>, Slot)>),
    /// Look-ahead: after white space one of these literals must follow.
    Expect(Vec<Literal>),
    /// Look-ahead: the call's arguments must begin, or another call's opener must follow.
    Arguments(Begins),
}

/// How the arguments of a call begin.
#[derive(Debug, Clone)]
pub(crate) enum Begins {
    /// One of these literals, after white space.
    With(Vec<Literal>),
    /// With a keyword, or the end of the list.
    Keywords,
    /// With a bracket, followed by a key or the closing bracket. Keys may be between these two literals.
    Members(Literal, Literal),
}

impl Begins {
    /// Whether they begin at the start of `rest`.
    fn at(&self, rest: &str, blanks: Blanks, (eof, limits): (bool, &Limits)) -> Match {
        match self {
            Self::With(literals) => expect(literals, blanks, rest.as_bytes()),
            Self::Keywords => keyword::arguments(rest, eof, limits),
            Self::Members(open, close) => keyword::members(rest.as_bytes(), (open, close), limits),
        }
    }
}

/// A header: the ops up to the body.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    pub(crate) ops: Vec<Op>,
    /// Literals of the body's structure: before one of them, the literal that closes a slot may be missing.
    pub(crate) structure: Vec<Literal>,
    /// The literal before the ops: it opens the call, and a repeated one counts once.
    pub(crate) opener: Option<Literal>,
    /// Openers of a further call; before one of them, this call has no arguments.
    pub(crate) openers: Vec<Literal>,
    /// What counts as white space in it.
    pub(crate) blanks: Blanks,
}

/// The value of a slot in a header: a byte range in the held bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Taken {
    pub(crate) slot: Slot,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A run of a program: the next op, and the values of the slots.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Cursor {
    op: usize,
    /// Everything before this offset in the held bytes is matched.
    pub(crate) pos: usize,
    /// How far an open slot has been scanned.
    seen: usize,
    /// A position, and the known end of the white space from there on.
    gap: (usize, usize),
    pub(crate) taken: Vec<Taken>,
    /// Whole attributes without a slot: byte ranges in the held bytes.
    pub(crate) unplaced: Vec<(usize, usize)>,
    /// Repeated markers: byte ranges in the held bytes.
    pub(crate) repeats: Vec<(usize, usize)>,
    /// The tag is self-closing (`<invoke name="f"/>`): there is no body.
    pub(crate) closed: bool,
}

/// The status of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advance {
    /// Needs more bytes.
    More,
    /// The program is complete; the body begins at `cursor.pos`.
    Accept,
    /// The bytes do not match.
    Fail,
    /// Everything up to the arguments matches, and another call's opener follows, after white space.
    Another,
    /// Everything up to the arguments matches, and the output ends before they begin.
    Ended,
}

impl Program {
    /// The ops of these template parts. `loose` as in [`Literal::new`].
    pub(crate) fn new(parts: &[Part], loose: bool) -> Self {
        let mut ops = Vec::new();
        for part in parts {
            match part {
                Part::Text(text) => {
                    for cut in cuts(text) {
                        ops.push(match cut {
                            Cut::Space(_) => Op::Space,
                            Cut::Literal(l) => Op::Literal(Literal::new(l, loose)),
                        });
                    }
                }
                Part::Optional(text) => ops.push(Op::Optional(Literal::exact(text))),
                Part::Free(text) => ops.push(Op::Free(text.as_str().into())),
                Part::Slot(slot) => ops.push(Op::Slot(*slot)),
                Part::Attrs(attrs) => ops.push(Op::Attrs(attrs.iter().map(|(n, s)| (n.as_str().into(), *s)).collect())),
            }
        }
        Self { ops, ..Self::default() }
    }

    /// The same header with this white space.
    pub(crate) fn with_blanks(self, blanks: Blanks) -> Self {
        Self { blanks, ..self }
    }

    /// Whether it is a message's header, after its first marker.
    pub(crate) fn is_header(&self) -> bool {
        matches!(self.ops.first(), Some(Op::Until(..)))
    }

    /// Whether a slot is the value of an attribute.
    pub(crate) fn is_attribute(&self, slot: Slot) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Attrs(attrs) if attrs.iter().any(|(_, s)| *s == slot)))
    }

    /// The first literal, if the program begins with one (ignoring white space).
    pub(crate) fn first_literal(&self) -> Option<&Literal> {
        self.ops.iter().find_map(|op| match op {
            Op::Space => None,
            Op::Literal(l) => Some(Some(l)),
            _ => Some(None),
        })?
    }

    /// The literal that ends the slot of op `at`, if its first byte can also be part of a name (`CALL {name}: {json}`).
    fn plain_closer(&self, at: usize) -> Option<&Literal> {
        match self.ops[at + 1..].iter().find(|op| !matches!(op, Op::Space)) {
            Some(Op::Literal(literal)) if literal.first_byte().is_some_and(|b| !ends_name(b)) => Some(literal),
            _ => None,
        }
    }

    /// The last literal.
    pub(crate) fn last_literal(&self) -> Option<&Literal> {
        self.ops.iter().rev().find_map(|op| if let Op::Literal(literal) = op { Some(literal) } else { None })
    }

    /// The literal that closes a slot, if another one must follow before the body: the slot is a separate element.
    pub(crate) fn apart_from(&self, slot: Slot) -> Option<&Literal> {
        let at = self.ops.iter().position(|op| matches!(op, Op::Slot(s) if *s == slot))?;
        let mut behind = self.ops[at + 1..].iter().filter(|op| !matches!(op, Op::Space));
        match (behind.next(), behind.next()) {
            (Some(Op::Literal(closer)), Some(Op::Literal(_))) => Some(closer),
            _ => None,
        }
    }

    /// Whether the last op that consumes bytes is a slot, so that only the following text can end it.
    pub(crate) fn ends_in_slot(&self) -> bool {
        self.ops
            .iter()
            .rev()
            .find(|op| !matches!(op, Op::Space | Op::Optional(_)))
            .is_some_and(|op| matches!(op, Op::Slot(_) | Op::Free(_)))
    }
}

/// The end of a slot's text, searched in this range, and whether it is certain.
fn slot_end(closer: Option<&Literal>, bytes: &[u8], shown: Range<usize>) -> (usize, bool) {
    let end = shown.end;
    for i in shown {
        if ends_name(bytes[i]) {
            return (i, true);
        }
        match closer.filter(|l| l.first_byte() == Some(bytes[i])).map(|l| l.at(&bytes[i..])) {
            Some(Match::Full(_)) => return (i, true),
            Some(Match::Partial) => return (i, false),
            Some(Match::No) | None => {}
        }
    }
    (end, false)
}

/// Bytes that a name or key cannot hold.
pub(crate) fn ends_name(byte: u8) -> bool {
    matches!(byte, b'<' | b'>' | b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'"' | b'\'' | b'`' | b'\n' | b'\r')
}

impl Cursor {
    /// A cursor at the start of its program.
    pub(crate) fn at(pos: usize) -> Self {
        Self { pos, seen: pos, ..Self::default() }
    }

    /// The same as [`Cursor::at`], in the memory that this one has.
    pub(crate) fn restart(&mut self, pos: usize) {
        let (mut taken, mut unplaced, mut repeats) =
            (std::mem::take(&mut self.taken), std::mem::take(&mut self.unplaced), std::mem::take(&mut self.repeats));
        taken.clear();
        unplaced.clear();
        repeats.clear();
        *self = Self { taken, unplaced, repeats, ..Self::at(pos) };
    }

    /// How far it has scanned.
    pub(crate) fn seen(&self) -> usize {
        self.seen
    }

    /// Marks a number of held bytes as scanned without a match.
    pub(crate) fn pass(&mut self, bytes: u64) {
        self.seen = usize::try_from(bytes).map_or(self.seen, |bytes| self.seen.max(bytes));
    }

    /// Whether its positions are valid in the held bytes; those of a modified snapshot may not be.
    pub(crate) fn fits(&self, held: &str) -> bool {
        let range = |from: usize, to: usize| held.get(from..to).is_some();
        held.is_char_boundary(self.pos)
            && self.seen <= held.len()
            && held.is_char_boundary(self.gap.1)
            && self.taken.iter().all(|taken| range(taken.start, taken.end))
            && self.unplaced.iter().chain(&self.repeats).all(|(from, to)| range(*from, *to))
    }

    /// A cursor after the program's first literal, which the model omitted.
    pub(crate) fn behind_first(program: &Program) -> Self {
        let first = program.ops.iter().position(|op| matches!(op, Op::Literal(_))).unwrap_or(0);
        Self { op: first + 1, ..Self::default() }
    }

    /// Whether everything but the program's last literal has matched.
    pub(crate) fn wants_last(&self, program: &Program) -> bool {
        matches!(program.ops.get(self.op), Some(Op::Literal(_))) && self.op + 1 == program.ops.len()
    }

    /// Continues over the held bytes `held`.
    pub(crate) fn advance(&mut self, program: &Program, held: &str, eof: bool, limits: &Limits) -> Advance {
        if self.pos.max(self.seen) > held.len() {
            // A cursor from a modified snapshot does not belong to these bytes.
            return Advance::Fail;
        }
        let bytes = held.as_bytes();
        if self.op == 0
            && self.taken.is_empty()
            && self.unplaced.is_empty()
            && let Some(opener) = &program.opener
        {
            let mut found = self.skip_marker(opener, program.blanks, bytes);
            while let Match::Full(_) = found {
                found = self.skip_marker(opener, program.blanks, bytes);
            }
            if !eof && found == Match::Partial {
                return Advance::More;
            }
        }
        while let Some(op) = program.ops.get(self.op) {
            let step = match op {
                Op::Literal(literal) => match literal.at(&bytes[self.pos..]) {
                    Match::Full(n) => self.take(n),
                    Match::Partial => Advance::More,
                    Match::No => match self.skip_repeat(program, bytes) {
                        Match::Full(_) => Advance::Accept,
                        Match::Partial => Advance::More,
                        Match::No => self.skip_literal(program, &bytes[self.pos..]),
                    },
                },
                Op::Space => {
                    let n = self.gap(program.blanks, bytes);
                    if self.pos + n == bytes.len() && !eof { Advance::More } else { self.take(n) }
                }
                Op::Optional(literal) => match literal.at(&bytes[self.pos..]) {
                    Match::Full(n) => self.take(n),
                    Match::Partial if !eof => Advance::More,
                    _ => self.take(0),
                },
                Op::Free(written) => self.read_free(written, program, (held, limits)),
                Op::Until(end, stops) => self.read_until(end, stops, (bytes, limits)),
                Op::Slot(slot) => self.read_slot(Some(*slot), program, (bytes, limits)),
                Op::Attrs(attrs) => self.read_attributes(attrs, program.blanks, (bytes, limits)),
                Op::Expect(literals) => match expect(literals, program.blanks, &bytes[self.pos..]) {
                    Match::Full(_) => self.take(0),
                    Match::Partial => Advance::More,
                    Match::No => Advance::Fail,
                },
                Op::Arguments(_) if self.closed => self.take(0),
                Op::Arguments(begins) => self.arguments(begins, program, (held, eof, limits)),
            };
            match step {
                Advance::Accept => {}
                Advance::More if eof && matches!(op, Op::Arguments(_)) => return Advance::Ended,
                Advance::More if eof => return Advance::Fail,
                other => return other,
            }
        }
        Advance::Accept
    }

    /// Text that is ignored; reported if the templates do not write it.
    fn read_free(&mut self, written: &str, program: &Program, (held, limits): (&str, &Limits)) -> Advance {
        let from = self.pos;
        let step = self.read_slot(None, program, (held.as_bytes(), limits));
        if step == Advance::Accept && held[from..self.pos].trim() != written.trim() && self.pos > from {
            self.unplaced.push((from, self.pos));
        }
        step
    }

    /// Length of the next white space. A resumed cursor does not scan it again.
    fn gap(&mut self, blanks: Blanks, bytes: &[u8]) -> usize {
        let from = if self.gap.0 == self.pos { self.gap.1.max(self.pos) } else { self.pos };
        let end = from + blanks.before(&bytes[from..]);
        self.gap = (self.pos, end);
        end - self.pos
    }

    /// Advances `n` bytes to the next op.
    fn take(&mut self, n: usize) -> Advance {
        self.pos += n;
        self.seen = self.pos;
        self.op += 1;
        Advance::Accept
    }

    /// Scans up to `end`, and consumes it.
    fn read_until(&mut self, end: &Literal, stops: &[Literal], (bytes, limits): (&[u8], &Limits)) -> Advance {
        for at in self.seen..bytes.len() {
            self.seen = at;
            if at - self.pos > limits.header {
                return Advance::Fail;
            }
            let rest = &bytes[at..];
            match end.at(rest) {
                Match::Full(n) => return self.take(at + n - self.pos),
                Match::Partial => return Advance::More,
                Match::No => {}
            }
            for stop in stops {
                match stop.at(rest) {
                    Match::Full(_) => return Advance::Fail,
                    Match::Partial => return Advance::More,
                    Match::No => {}
                }
            }
        }
        self.seen = bytes.len();
        Advance::More
    }

    /// Checks the position where the arguments of the call should begin.
    fn arguments(&mut self, begins: &Begins, program: &Program, at: (&str, bool, &Limits)) -> Advance {
        let (held, eof, limits) = at;
        let gap = self.gap(program.blanks, held.as_bytes());
        if gap > limits.blank {
            return Advance::Fail;
        }
        let rest = &held[self.pos + gap..];
        match begins.at(rest, program.blanks, (eof, limits)) {
            Match::Full(_) => return self.take(0),
            Match::Partial => return Advance::More,
            Match::No if rest.is_empty() => return Advance::More,
            Match::No => {}
        }
        // One opener may be the beginning of another.
        let openers = || program.openers.iter().map(|opener| opener.at(rest.as_bytes()));
        if openers().any(|found| found == Match::Partial) {
            return Advance::More;
        } else if openers().any(|found| found != Match::No) {
            return Advance::Another;
        }
        match self.skip_repeat(program, held.as_bytes()) {
            Match::Full(_) => Advance::Accept,
            Match::Partial => Advance::More,
            Match::No => Advance::Fail,
        }
    }

    /// A repeated marker, with only white space between, counts once.
    fn skip_repeat(&mut self, program: &Program, bytes: &[u8]) -> Match {
        let Some(before) = program.ops[..self.op].iter().rposition(|op| !matches!(op, Op::Space)) else {
            return Match::No;
        };
        let Op::Literal(marker) = &program.ops[before] else { return Match::No };
        let found = self.skip_marker(marker, program.blanks, bytes);
        if let Match::Full(_) = found {
            // The text after the marker is read again.
            self.op = before + 1;
        }
        found
    }

    /// Skips this marker, and white space before it, if it comes next.
    fn skip_marker(&mut self, marker: &Literal, blanks: Blanks, bytes: &[u8]) -> Match {
        let gap = self.gap(blanks, bytes);
        let found = marker.at(&bytes[self.pos + gap..]);
        if let Match::Full(n) = found {
            let start = self.pos + gap;
            self.repeats.push((start, start + n));
            (self.pos, self.seen) = (start + n, start + n);
        }
        found
    }

    /// The literal that closes a slot may be missing before the body's structure (`<function=f</function>`).
    fn skip_literal(&mut self, program: &Program, rest: &[u8]) -> Advance {
        if self.op == 0 || !matches!(program.ops[self.op - 1], Op::Slot(_)) {
            return Advance::Fail;
        }
        match expect(&program.structure, program.blanks, rest) {
            Match::Full(_) => self.take(0),
            Match::Partial => Advance::More,
            Match::No => Advance::Fail,
        }
    }

    fn read_slot(&mut self, slot: Option<Slot>, program: &Program, (bytes, limits): (&[u8], &Limits)) -> Advance {
        // White space around it, including line breaks, is not part of it.
        let start = self.pos + self.gap(program.blanks, bytes);
        if start - self.pos > limits.blank {
            return Advance::Fail;
        }
        let shown = self.seen.max(start)..bytes.len().min(start + limits.name + 1);
        let (stop, ended) = slot_end(program.plain_closer(self.op), bytes, shown);
        if stop - start > limits.name {
            return Advance::Fail;
        }
        self.seen = stop;
        if !ended {
            return Advance::More;
        }
        let raw = &bytes[start..stop];
        let value_end = stop - program.blanks.behind(raw);
        let behind = program.blanks.before(&bytes[stop..]);
        if behind > limits.blank {
            return Advance::Fail;
        }
        if stop + behind == bytes.len() {
            return Advance::More;
        }
        if let Some(slot) = slot {
            if start == value_end && matches!(slot, Slot::Name | Slot::Key) {
                return match self.skip_repeat(program, bytes) {
                    Match::Full(_) => Advance::Accept,
                    Match::Partial => Advance::More,
                    Match::No => Advance::Fail,
                };
            }
            // Next to a line break, a name is one word.
            let breaks = bytes[self.pos..start].contains(&b'\n') || bytes[stop..stop + behind].contains(&b'\n');
            if breaks && (start..value_end).any(|at| program.blanks.begins(&bytes[at..value_end])) {
                return Advance::Fail;
            }
            self.taken.push(Taken { slot, start, end: value_end });
        }
        self.take(stop + behind - self.pos)
    }

    /// Reads attributes one by one, so that a resumed cursor does not read a complete one again.
    fn read_attributes(
        &mut self,
        attrs: &[(Box<str>, Slot)],
        blanks: Blanks,
        (bytes, limits): (&[u8], &Limits),
    ) -> Advance {
        loop {
            let rest = &bytes[self.pos..];
            let at = blanks.before(rest);
            if at > limits.blank {
                return Advance::Fail;
            }
            let Some(&first) = rest.get(at) else { return Advance::More };
            if !(first.is_ascii_alphanumeric() || first == b'_') {
                let required = attrs.first().map(|(_, s)| *s);
                if !self.taken.iter().any(|t| Some(t.slot) == required) {
                    return Advance::Fail;
                }
                self.pos += at;
                return self.end_of_attributes(bytes);
            }
            match attribute(&rest[at..], blanks, limits) {
                Attribute::More => return Advance::More,
                Attribute::Bad => return Advance::Fail,
                Attribute::Read { name, value, len } => {
                    let known = attrs.iter().find(|(n, _)| n.as_bytes() == &rest[at..at + name]);
                    if let Some((_, slot)) = known
                        && !self.taken.iter().any(|t| t.slot == *slot)
                    {
                        let (start, end) = (self.pos + at + value.0, self.pos + at + value.1);
                        if start == end && matches!(slot, Slot::Name | Slot::Key) {
                            return Advance::Fail;
                        }
                        self.taken.push(Taken { slot: *slot, start, end });
                    } else {
                        self.unplaced.push((self.pos + at, self.pos + at + len));
                    }
                    self.pos += at + len;
                }
            }
        }
    }

    fn end_of_attributes(&mut self, bytes: &[u8]) -> Advance {
        if bytes[self.pos] == b'/' {
            match bytes.get(self.pos + 1) {
                None => return Advance::More,
                Some(b'>') => {
                    self.closed = true;
                    return self.take(1);
                }
                Some(_) => {}
            }
        }
        self.take(0)
    }

    /// The text that a failed cursor cannot place: a partial slot or attribute, and whole attributes after the first
    /// one. A partial literal is a partial marker, not text.
    pub(crate) fn unplaced<'a>(&self, program: &Program, held: &'a str) -> &'a str {
        let is_half = matches!(program.ops.get(self.op), Some(Op::Free(_) | Op::Slot(_) | Op::Attrs(_)));
        let has_attributes = program.ops.iter().any(|op| matches!(op, Op::Attrs(_)));
        let from = match self.taken.first() {
            Some(first) if has_attributes && self.taken.len() > 1 => first.end,
            _ if is_half => self.pos,
            _ => return "",
        };
        held[from..].trim_start_matches(['"', '\'']).trim()
    }

    /// The value of a slot, in the held bytes.
    pub(crate) fn value<'a>(&self, slot: Slot, held: &'a str) -> Option<&'a str> {
        self.taken.iter().find(|t| t.slot == slot).map(|t| &held[t.start..t.end])
    }

    /// The range after a slot's first word, in the held bytes.
    pub(crate) fn behind_word(&self, slot: Slot, held: &str) -> Option<(usize, usize)> {
        let taken = self.taken.iter().find(|t| t.slot == slot)?;
        let text = held[taken.start..taken.end].trim_start();
        let rest = text.split_once(char::is_whitespace)?.1.trim();
        let end = taken.start + held[taken.start..taken.end].trim_end().len();
        (!rest.is_empty()).then(|| (end - rest.len(), end))
    }
}

/// Whether one of `literals` follows white space.
fn expect(literals: &[Literal], blanks: Blanks, rest: &[u8]) -> Match {
    let rest = &rest[blanks.before(rest)..];
    let mut result = Match::No;
    for literal in literals {
        match literal.at(rest) {
            Match::Full(n) => return Match::Full(n),
            Match::Partial => result = Match::Partial,
            Match::No => {}
        }
    }
    result
}

enum Attribute {
    More,
    Bad,
    /// Length of the name, range of the value, total length.
    Read {
        name: usize,
        value: (usize, usize),
        len: usize,
    },
}

/// Reads `name="value"`, `name='value'` or `name=value`.
fn attribute(input: &[u8], blanks: Blanks, limits: &Limits) -> Attribute {
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':');
    let name = input.iter().take(limits.name + 1).take_while(|b| is_name(b)).count();
    if name > limits.name {
        return Attribute::Bad;
    }
    let mut at = name + blanks.before(&input[name..]);
    match input.get(at) {
        None => return Attribute::More,
        Some(b'=') => at += 1,
        Some(_) => return Attribute::Bad,
    }
    at += blanks.before(&input[at..]);
    let Some(&quote) = input.get(at) else { return Attribute::More };
    let quoted = matches!(quote, b'"' | b'\'');
    let start = if quoted { at + 1 } else { at };
    let ends = |at: usize| match input[at] {
        byte if quoted => byte == quote,
        byte => matches!(byte, b'<' | b'>' | b'/' | b'"') || blanks.begins(&input[at..]),
    };
    let shown = input.len().min(start + limits.name + 1);
    let Some(len) = (start..shown).position(ends) else {
        return if shown - start > limits.name { Attribute::Bad } else { Attribute::More };
    };
    if len > limits.name || input[start..start + len].contains(&b'\n') {
        return Attribute::Bad;
    }
    let trimmed = {
        let raw = &input[start..start + len];
        let lead = blanks.before(raw);
        let tail = blanks.behind(&raw[lead..]);
        (start + lead, start + len - tail)
    };
    Attribute::Read { name, value: trimmed, len: start + len + usize::from(quoted) }
}

#[cfg(test)]
mod tests;
