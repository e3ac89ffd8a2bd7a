//! An open value: everything is data except a closer followed by structure.
//!
//! Only a possible closer, its framing, and white space that may be trimmed are held. Everything before is emitted at
//! once, in runs. A look-ahead that needs more bytes resumes where it stopped.

use serde::{Deserialize, Serialize};

use super::escape::{self, CDATA, CDATA_END, Entity};
use super::header::{HeaderAttempt, ParamHeader, Tried};
use super::value_output::ValueOutput;
use super::{Cx, Eof, Next, ParamsSpec, State, Turn, note_cut_opening};
use crate::body::Status;
use crate::body::ends::LookPast;
use crate::body::tag::{self, ClosingTag, Tag, closes};
use crate::format::template::Slot;
use crate::json::write::string_of;
use crate::marks::{MARK, mark};
use crate::scan::{Match, blanks, is_blank, prefix};

/// An open value.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Value {
    template: usize,
    output: ValueOutput,
    /// Whether the framing before the value is consumed.
    begun: bool,
    in_cdata: bool,
    /// Number of bytes at the start of the rest in which nothing begins.
    scanned: usize,
    /// Number of bytes at the start of the rest that are white space and may be trimmed.
    held_blanks: usize,
    /// Number of bytes at the start of the rest that a failed opening has read: no other opening begins in them.
    no_opening: usize,
    /// The rest continues a run of white space that is too long to be trimmed.
    in_long_run: bool,
    lookahead: Lookahead,
    /// The key, whose name a closing tag may have.
    key: Box<str>,
    open: OpenTags,
}

/// Unclosed tags in the value: with the closer's own name, that name without its sign, and the key's name.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct OpenTags {
    full: u32,
    bare: u32,
    key: u32,
}

/// A look-ahead at a possible end of the value.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Lookahead {
    /// The next parameter's opening.
    opening: ParamHeader,
    past: LookPast,
    /// Closers in a row here, separated only by white space: their number, and the end of the last one.
    run: Option<(usize, usize)>,
}

/// What begins at a byte.
enum Found {
    Data,
    /// More bytes are needed.
    Undecided,
    /// The value ends; the length of its own closer, or 0 if something else ends it.
    End(usize),
    /// The value ends with a closer of this length in another spelling.
    Misspelled(usize),
    /// This number of bytes encodes this character.
    Char(char, usize),
    Text(&'static str, usize),
    Cdata,
}

impl Value {
    /// Begins a value; `None` if its tag is self-closing and the value is already written.
    pub(super) fn new(turn: &mut Turn<'_, '_, '_>, header: &HeaderAttempt, held: &str) -> Option<Self> {
        let output = ValueOutput::new(turn, header, held);
        if header.cursor.closed {
            output.end(turn, 0);
            return None;
        }
        Some(Self {
            template: header.template,
            output,
            begun: false,
            in_cdata: false,
            scanned: 0,
            held_blanks: 0,
            no_opening: 0,
            in_long_run: false,
            lookahead: Lookahead::default(),
            key: turn.spec.key(header.cursor.value(Slot::Key, held).unwrap_or_default()).into(),
            open: OpenTags::default(),
        })
    }

    /// Consumes input.
    pub(super) fn read(&mut self, turn: &mut Turn<'_, '_, '_>) -> Next {
        if !self.begun && !self.begin(turn) {
            return Next::Wait;
        }
        loop {
            if self.in_cdata && !self.read_cdata(turn) {
                return self.wait(turn);
            }
            let text = turn.rest();
            let Some(at) = turn.spec.in_value.find(text.as_bytes(), self.scanned.min(text.len())) else {
                return self.pause(turn, text.len());
            };
            match self.found(turn, at) {
                Found::Data => {
                    if let Some(tag) = &turn.spec.template(self.template).tag
                        && !self.open.count(tag, &self.key, &turn.rest().as_bytes()[at..], turn.is_last())
                    {
                        return self.pause(turn, at);
                    }
                    self.lookahead = Lookahead::default();
                    self.scanned = at + 1;
                }
                Found::Undecided => return self.pause(turn, at),
                Found::End(closer) => {
                    let framing = self.give_to_end(turn, at);
                    self.tell_end(turn, framing, closer);
                    self.end(turn, framing, closer);
                    return Next::To(State::default());
                }
                Found::Misspelled(closer) => {
                    let framing = self.give_to_end(turn, at);
                    let read = turn.spec.template(self.template).close.text();
                    turn.repaired(framing, &turn.rest()[framing..framing + closer], read);
                    self.end(turn, framing, closer);
                    return Next::To(State::default());
                }
                Found::Char(c, len) => self.give_for(turn, at, len, c.encode_utf8(&mut [0; 4])),
                Found::Text(text, len) => self.give_for(turn, at, len, text),
                Found::Cdata => {
                    self.give_for(turn, at, CDATA.len(), "");
                    self.in_cdata = true;
                }
            }
        }
    }

    /// Emits the rest of a value that ends at `end` of the rest, and returns the length of the framing before its
    /// closer.
    fn give_to_end(&mut self, turn: &mut Turn<'_, '_, '_>, end: usize) -> usize {
        let framing = self.framing(turn, end);
        self.give(turn, end - framing);
        framing
    }

    /// Ends the value; `framing` and `closer` are lengths.
    fn end(&mut self, turn: &mut Turn<'_, '_, '_>, framing: usize, closer: usize) {
        turn.at += framing + closer;
        std::mem::replace(&mut self.output, ValueOutput::String).end(turn, framing + closer);
    }

    /// Reports a missing or repeated closer.
    fn tell_end(&self, turn: &mut Turn<'_, '_, '_>, at: usize, closer: usize) {
        let close = &turn.spec.template(self.template).close;
        let rest = &turn.rest()[at..];
        match close.at(rest.as_bytes()) {
            _ if closer == 0 => turn.repaired(at, "", close.text()),
            Match::Full(n) if n < closer => turn.repaired(at + n, rest[n..closer].trim(), ""),
            _ => {}
        }
    }

    /// The steady state: consumes `input` if all of it is plain text of a string.
    #[inline]
    pub(super) fn take_run(&mut self, spec: &ParamsSpec, cx: &mut Cx<'_>, input: &str) -> bool {
        let is_run = cx.eof == Eof::No && self.passes(spec, input);
        if is_run {
            string_of(input, |json, from| cx.out.args_of(json, from));
        }
        is_run
    }

    /// Whether all of `input` is text of a string that continues after it.
    #[inline]
    pub(super) fn passes(&mut self, spec: &ParamsSpec, input: &str) -> bool {
        let is_ready = self.begun && !self.in_cdata && self.scanned == 0 && matches!(self.output, ValueOutput::String);
        let Some(last) = input.as_bytes().last().filter(|_| is_ready) else { return false };
        if is_blank(*last) || spec.in_value.find(input.as_bytes(), 0).is_some() {
            return false;
        }
        self.in_long_run = false;
        true
    }

    /// Consumes the framing before the value; false if more bytes are needed.
    fn begin(&mut self, turn: &mut Turn<'_, '_, '_>) -> bool {
        let rest = turn.rest().as_bytes();
        if turn.spec.trim {
            turn.at += blanks(rest);
            self.begun = !turn.rest().is_empty() || turn.is_last();
        } else {
            match prefix(turn.spec.template(self.template).lead.as_bytes(), rest) {
                Match::Full(n) => turn.at += n,
                Match::Partial if !turn.is_last() => return false,
                Match::Partial | Match::No => {}
            }
            self.begun = true;
        }
        self.begun
    }

    /// Emits the first `len` bytes of the rest.
    #[inline]
    fn give(&mut self, turn: &mut Turn<'_, '_, '_>, len: usize) {
        if len > 0 {
            let piece = &turn.rest()[..len];
            self.output.give(turn, piece);
            turn.at += len;
            self.held_blanks = 0;
        }
        self.scanned = self.scanned.saturating_sub(len);
        self.no_opening = self.no_opening.saturating_sub(len);
    }

    /// Emits the bytes before `at`, then `text` in place of the `len` bytes there.
    fn give_for(&mut self, turn: &mut Turn<'_, '_, '_>, at: usize, len: usize, text: &str) {
        self.give(turn, at);
        if !text.is_empty() {
            self.output.give(turn, text);
        }
        turn.at += len;
        (self.scanned, self.held_blanks, self.no_opening, self.in_long_run) = (0, 0, 0, false);
    }

    /// Emits everything certain before `end`, where nothing or something undecided begins.
    fn pause(&mut self, turn: &mut Turn<'_, '_, '_>, end: usize) -> Next {
        let rest = turn.rest().as_bytes();
        let ends_blank = end > 0 && is_blank(rest[end - 1]);
        let held = if !ends_blank {
            0
        } else if turn.spec.trim {
            self.blank_run(turn, end)
        } else {
            let trail = turn.spec.template(self.template).trail.as_bytes();
            let fits = |n: &usize| rest[..end].ends_with(&trail[..*n]);
            (1..=trail.len().min(end)).rev().find(fits).unwrap_or(0)
        };
        if end > 0 {
            self.in_long_run = turn.spec.trim && ends_blank && held == 0;
        }
        self.give(turn, end - held);
        self.scanned = held;
        self.held_blanks = if turn.spec.trim { held } else { 0 };
        self.wait(turn)
    }

    /// Waits for more bytes; if none come, the value stays open. The held bytes are then dropped: they may be half a
    /// closer, or an incomplete opening of a parameter.
    fn wait(&mut self, turn: &mut Turn<'_, '_, '_>) -> Next {
        if !turn.is_last() {
            return Next::Wait;
        }
        turn.at += self.scanned.min(turn.rest().len());
        let held = turn.rest();
        if self.lookahead.opening.holds_text(turn.spec, held) {
            note_cut_opening(turn, held);
        }
        turn.at = turn.input.len();
        std::mem::replace(&mut self.output, ValueOutput::String).cut(turn);
        Next::Over(Status::Done { complete: false })
    }

    /// The length of the framing before `end`, if the value ends there.
    fn framing(&self, turn: &Turn<'_, '_, '_>, end: usize) -> usize {
        if turn.spec.trim {
            return self.blank_run(turn, end);
        }
        let trail = &turn.spec.template(self.template).trail;
        if turn.rest()[..end].ends_with(&**trail) { trail.len() } else { 0 }
    }

    /// The run of white space before `end`, if short enough to be trimmed.
    fn blank_run(&self, turn: &Turn<'_, '_, '_>, end: usize) -> usize {
        let known = self.held_blanks.min(end);
        let text = &turn.rest().as_bytes()[known..end];
        let seen = text.iter().rev().take(turn.cx.limits.blank + 1).take_while(|b| is_blank(**b)).count();
        let run = if seen == text.len() { end } else { seen };
        let is_text = run > turn.cx.limits.blank || run == end && self.in_long_run;
        if is_text { 0 } else { run }
    }

    /// Continues in a CDATA section, where everything is data; true at its end.
    fn read_cdata(&mut self, turn: &mut Turn<'_, '_, '_>) -> bool {
        let rest = turn.rest();
        if let Some(end) = rest.find(CDATA_END) {
            self.give_for(turn, end, CDATA_END.len(), "");
            self.in_cdata = false;
            return true;
        }
        let half = if turn.is_last() { 0 } else { rest.len() - rest.trim_end_matches(']').len() };
        self.give(turn, rest.len() - half.min(2));
        self.scanned = 0;
        false
    }

    fn found(&mut self, turn: &mut Turn<'_, '_, '_>, at: usize) -> Found {
        let rest = &turn.rest()[at..];
        let bytes = rest.as_bytes();
        if let Some(special) = special(turn, rest) {
            return special;
        }
        let spec = turn.spec;
        match self.own_closer(turn, bytes) {
            Found::Data => {}
            found => return found,
        }
        for ender in &spec.enders {
            match ender.literal.at(bytes) {
                Match::No => {}
                Match::Partial => return Found::Undecided,
                Match::Full(n) => match self.lookahead.past.follows(bytes, n, &turn.structure(&ender.followers)) {
                    Match::Full(_) => return Found::End(0),
                    // If the output is cut here, an unclosed value must not look complete.
                    Match::Partial if turn.cx.eof == Eof::Stop => return Found::End(0),
                    Match::Partial => return Found::Undecided,
                    Match::No => {}
                },
            }
        }
        match self.misspelled_closer(turn, at) {
            Found::Data => {}
            found => return found,
        }
        self.next_opening(turn, at)
    }

    /// The value's closer, or a run of closers; structure must follow the last one.
    fn own_closer(&mut self, turn: &Turn<'_, '_, '_>, bytes: &[u8]) -> Found {
        let spec = turn.spec;
        let close = &spec.template(self.template).close;
        let (mut count, mut end) = match (self.lookahead.run, close.at(bytes)) {
            (Some(run), _) => run,
            (None, Match::No) => return Found::Data,
            (None, Match::Partial) => return Found::Undecided,
            (None, Match::Full(n)) => (1, n),
        };
        loop {
            match self.lookahead.past.follows(bytes, end, &turn.structure(&spec.structure)) {
                Match::Partial if !turn.is_last() => return Found::Undecided,
                Match::Full(_) | Match::Partial => break,
                Match::No => {}
            }
            let again = end + spec.blanks.before(&bytes[end..]);
            match spec.misspelled_end(&bytes[again..], turn.cx.limits.blank) {
                Match::Partial if !turn.is_last() => return Found::Undecided,
                Match::Full(_) => break,
                Match::Partial | Match::No => {}
            }
            match spec.bare_key(self.template, &bytes[again..], turn.cx.limits.name) {
                Match::Partial if !turn.is_last() => return Found::Undecided,
                Match::Full(_) => break,
                Match::Partial | Match::No => {}
            }
            match close.at(&bytes[again..]) {
                Match::Full(n) if again + n <= turn.cx.limits.blank => (count, end) = (count + 1, again + n),
                Match::Partial if !turn.is_last() => return Found::Undecided,
                _ => return Found::Data,
            }
            self.lookahead.run = Some((count, end));
        }
        // If the value has as many openers as there are extra closers, those closers belong to the value.
        if count > 1 && self.open.full as usize >= count - 1 { Found::Data } else { Found::End(end) }
    }

    /// A closer in another spelling: structure must follow, no closer of its own may, and nothing in the value may have
    /// opened it.
    fn misspelled_closer(&mut self, turn: &Turn<'_, '_, '_>, at: usize) -> Found {
        let spec = turn.spec;
        let template = spec.template(self.template);
        let Some(tag) = &template.tag else { return Found::Data };
        let bytes = &turn.rest().as_bytes()[at..];
        let by_key = if &*self.key == tag.name() { Match::No } else { closes(&self.key, bytes) };
        let (found, open) = match (by_key, tag.misspelled(bytes)) {
            (Match::Full(n), _) => (Match::Full(n), self.open.key),
            (_, Match::Full(n)) if bytes[2..].starts_with(tag.name().as_bytes()) => (Match::Full(n), self.open.full),
            (_, Match::Full(n)) => (Match::Full(n), self.open.bare),
            (Match::Partial, _) | (_, Match::Partial) => (Match::Partial, 0),
            (Match::No, Match::No) => (Match::No, 0),
        };
        match found {
            Match::Full(n) if open == 0 => {
                let past = &bytes[n + spec.blanks.before(&bytes[n..])..];
                let follows = self.lookahead.past.follows(bytes, n, &turn.structure(&spec.structure));
                match follows {
                    Match::Full(_) => Found::Misspelled(n),
                    Match::Partial if !turn.is_last() => Found::Undecided,
                    Match::Partial => Found::Data,
                    Match::No => match spec.misspelled_end(past, turn.cx.limits.blank) {
                        Match::Full(_) => Found::Misspelled(n),
                        Match::Partial if !turn.is_last() => Found::Undecided,
                        _ => Found::Data,
                    },
                }
            }
            Match::Partial if !turn.is_last() => Found::Undecided,
            _ => Found::Data,
        }
    }

    /// Repairs a missing closer only before a complete opening: at the start of a line with any key, if the templates
    /// require one there; elsewhere with a key that the schema declares and the call does not have yet.
    fn next_opening(&mut self, turn: &Turn<'_, '_, '_>, at: usize) -> Found {
        let spec = turn.spec;
        let rest = &turn.rest()[at..];
        if at < self.no_opening {
            return Found::Data;
        }
        match self.lookahead.opening.advance(spec, rest, (turn.cx.limits, false)) {
            Tried::Wait => Found::Undecided,
            Tried::No(_, fitted) => {
                self.no_opening = at + fitted;
                Found::Data
            }
            Tried::Fits(header) => {
                let key = spec.key(header.cursor.value(Slot::Key, rest).unwrap_or_default());
                let is_declared = turn.cx.schema.is_some_and(|schema| schema.declares(&key));
                let counts = spec.at_line_start && turn.is_line_start(at) || is_declared && !turn.object.has(&key);
                if counts { Found::End(0) } else { Found::Data }
            }
        }
    }
}

impl OpenTags {
    /// Counts the tag at the start of `bytes`, which is data. False: more bytes are needed to identify it.
    fn count(&mut self, tag: &ClosingTag, key: &str, bytes: &[u8], is_last: bool) -> bool {
        let names = [(tag.name(), &mut self.full), (tag.bare(), &mut self.bare), (key, &mut self.key)];
        let found = names.map(|(name, count)| (tag::tag(name, bytes), count));
        if !is_last && found.iter().any(|(tag, _)| *tag == Tag::Partial) {
            return false;
        }
        for (tag, count) in found {
            match tag {
                Tag::Opens => *count = count.saturating_add(1),
                Tag::Closes => *count = count.saturating_sub(1),
                Tag::Other | Tag::Partial => {}
            }
        }
        true
    }
}

/// An entity, a marker, or the start of a CDATA section.
fn special(turn: &Turn<'_, '_, '_>, rest: &str) -> Option<Found> {
    match *rest.as_bytes().first()? {
        b'&' if turn.spec.escape => Some(match escape::entity(rest) {
            Entity::Char(c, len) => Found::Char(c, len),
            Entity::Partial if !turn.is_last() => Found::Undecided,
            Entity::Partial | Entity::No => Found::Data,
        }),
        b'<' if turn.spec.escape => match prefix(CDATA.as_bytes(), rest.as_bytes()) {
            Match::Full(_) => Some(Found::Cdata),
            Match::Partial => Some(Found::Undecided),
            Match::No => None,
        },
        MARK if turn.spec.blanks.marks => Some(mark(rest.as_bytes()).map_or(Found::Data, |text| Found::Text(text, 2))),
        _ => None,
    }
}
