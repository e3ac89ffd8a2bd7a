//! After a call's body: its closers, and what models write in excess.

use crate::body::{BodySpec, ClosingTag};
use crate::diagnostic::DiagnosticKind;
use crate::scan::{Literal, Match, blanks};

use super::numbered::FormId;
use super::scanset::At;
use super::state::{BeforeName, Mode, Origin};
use super::{Flow, Go};

/// What was found after a call.
enum Stands {
    /// The closer with this number, of this length.
    Closer(usize, usize),
    /// The same in another spelling.
    Misspelled(usize, usize),
    /// A repeat of an earlier closer; total length in bytes.
    Again(usize),
    /// The same followed by text; this many bytes are text too.
    Text(usize),
    /// Unmatched brackets, of this length.
    Brackets(usize),
    /// A further envelope, after this many bytes.
    Envelope(usize),
    /// More bytes are needed.
    Undecided,
    Nothing,
}

impl Flow<'_> {
    /// Consumes the closers of a call; each may be missing.
    pub(crate) fn closers(&mut self) -> Go {
        let Mode::Closers { form, next } = self.s.mode else { return Go::Wait };
        let closers = &self.tables.forms[form].closers;
        let w = self.w;
        let rest = &w[self.pos..];
        let n = blanks(rest.as_bytes());
        match self.behind_call(form, next) {
            Stands::Closer(i, len) => {
                self.pos += n + len;
                self.s.mode = Mode::Closers { form, next: i + 1 };
            }
            Stands::Misspelled(i, len) => {
                let why = "this closes the call in another spelling";
                self.repaired(self.offset(self.pos + n), &rest[n..n + len], closers[i].text(), why);
                self.pos += n + len;
                self.s.mode = Mode::Closers { form, next: i + 1 };
            }
            Stands::Again(len) => self.skip_repeated(len),
            Stands::Text(len) => {
                let in_block = self.s.in_block;
                self.closers_are_text(in_block, len);
            }
            Stands::Brackets(len) => {
                let why = "these brackets close nothing";
                self.report(DiagnosticKind::UnplacedText, self.offset(self.pos + n), rest[n..len].trim_end(), why);
                self.pos += len;
            }
            Stands::Envelope(lead) => {
                let Some(alternative) = self.tables.forms[form].again else { return Go::Wait };
                let place = if self.s.in_block { super::state::Place::Block } else { self.gap_place() };
                let origin = Origin { place, fresh: true, lead, first: lead };
                let machine = self.tables.forms[form].body.machine();
                self.s.place = place;
                self.s.mode = Mode::BeforeName(Box::new(BeforeName {
                    origin,
                    alternative,
                    read: lead,
                    machine,
                    repeats: Vec::new(),
                    next: Vec::new(),
                }));
            }
            Stands::Undecided if !self.over() => return Go::Wait,
            Stands::Undecided | Stands::Nothing => {
                if self.over()
                    && n < rest.len()
                    && closers[next..].iter().any(|c| c.at(&rest.as_bytes()[n..]) == Match::Partial)
                {
                    // A partial closer at the end of the output is not text.
                    self.pos = w.len();
                }
                self.s.mode = Mode::Text;
                let in_block = self.s.in_block;
                self.after_call(in_block);
            }
        }
        Go::Again
    }

    /// After a block's closer: the same closer again, after white space only, counts once.
    pub(crate) fn block_closed(&mut self) -> Go {
        let Mode::BlockClosed { closer } = self.s.mode else { return Go::Wait };
        let Some(closer) = self.tables.follow.block_close.get(closer) else { return Go::Wait };
        match self.again(closer) {
            Stands::Again(len) => self.skip_repeated(len),
            Stands::Text(len) => self.closers_are_text(false, len),
            Stands::Undecided if !self.over() => return Go::Wait,
            _ => self.s.mode = Mode::Text,
        }
        Go::Again
    }

    /// The closers after the call belong to no call.
    fn closers_are_text(&mut self, in_block: bool, len: usize) {
        self.s.mode = Mode::Text;
        self.after_call(in_block);
        self.begin_text(self.pos + len);
    }

    fn skip_repeated(&mut self, len: usize) {
        let text = &self.w[self.pos..self.pos + len];
        let lead = blanks(text.as_bytes());
        self.repeated(self.offset(self.pos + lead), &text[lead..]);
        self.pos += len;
    }

    /// What follows the call's closer `next - 1`, or its body.
    fn behind_call(&self, form: FormId, next: usize) -> Stands {
        let (spec, rest) = (&self.tables.forms[form], &self.w.as_bytes()[self.pos..]);
        let n = blanks(rest);
        if n > self.limits.blank {
            return Stands::Nothing;
        }
        if n == rest.len() {
            let may_follow = next < spec.closers.len() || next > 0 || is_json(&spec.body);
            return if may_follow { Stands::Undecided } else { Stands::Nothing };
        }
        let mut undecided = false;
        for (i, closer) in spec.closers.iter().enumerate().skip(next) {
            match closer.at(&rest[n..]) {
                Match::Full(len) => return Stands::Closer(i, len),
                Match::Partial => undecided = true,
                Match::No => {}
            }
        }
        if undecided && !self.over() {
            return Stands::Undecided;
        }
        let again = match next.checked_sub(1) {
            Some(last) => self.again(&spec.closers[last]),
            None => self.surplus(form, n),
        };
        match again {
            Stands::Nothing => self.misspelled(&spec.closers[next..], next, n),
            found => found,
        }
    }

    /// `closer` repeated once or more, followed by structure or the end of the output.
    fn again(&self, closer: &Literal) -> Stands {
        let rest = &self.w.as_bytes()[self.pos..];
        let mut end = 0;
        loop {
            let at = end + blanks(&rest[end..]);
            if at > self.limits.blank {
                return Stands::Nothing;
            }
            match closer.at(&rest[at..]) {
                Match::Full(n) if at + n <= self.limits.blank => end = at + n,
                Match::Partial if end == 0 || at < rest.len() => return Stands::Undecided,
                _ => break,
            }
        }
        if end == 0 {
            return Stands::Nothing;
        }
        let behind = end + blanks(&rest[end..]);
        match self.structure(&rest[behind..], closer) {
            _ if behind - end > self.limits.blank => Stands::Text(end),
            Match::Full(_) => Stands::Again(end),
            Match::Partial if self.over() && behind == rest.len() => Stands::Again(end),
            Match::Partial => Stands::Undecided,
            Match::No => Stands::Text(end),
        }
    }

    /// Excess closing brackets after JSON, or a further envelope in the same block.
    fn surplus(&self, form: FormId, n: usize) -> Stands {
        let spec = &self.tables.forms[form];
        if !is_json(&spec.body) {
            return Stands::Nothing;
        }
        let rest = &self.w.as_bytes()[self.pos..];
        let run = |from: usize| rest[from..].iter().take_while(|b| matches!(b, b'}' | b']')).count();
        let mut end = n;
        loop {
            let more = run(end);
            let gap = blanks(&rest[end + more..]);
            if more == 0 || end + more + gap > self.limits.blank {
                break;
            }
            end += more + gap;
        }
        if end > n {
            let closes =
                spec.closers.iter().chain(&self.tables.follow.call_close).chain(&self.tables.follow.block_close);
            return match first_of(closes, &rest[end..]) {
                Match::Full(_) => Stands::Brackets(end),
                Match::Partial if end < rest.len() || !self.over() => Stands::Undecided,
                Match::Partial => Stands::Brackets(end),
                Match::No => Stands::Nothing,
            };
        }
        let in_markers = !spec.closers.is_empty() || self.s.in_block;
        if spec.again.is_none() || !in_markers {
            return Stands::Nothing;
        }
        let comma = if rest[n] == b',' { 1 + blanks(&rest[n + 1..]) } else { 0 };
        match rest.get(n + comma) {
            None => Stands::Undecided,
            Some(b'{') if n + comma <= self.limits.blank => Stands::Envelope(n + comma),
            Some(_) => Stands::Nothing,
        }
    }

    /// A closer in another spelling, followed by structure.
    fn misspelled(&self, closers: &[Literal], next: usize, n: usize) -> Stands {
        let rest = &self.w.as_bytes()[self.pos..];
        for (i, closer) in closers.iter().enumerate() {
            let Some(tag) = ClosingTag::of(closer) else { continue };
            match tag.misspelled(&rest[n..]) {
                Match::Full(len) => {
                    let behind = n + len + blanks(&rest[n + len..]);
                    match self.structure(&rest[behind..], closer) {
                        _ if behind - n - len > self.limits.blank => {}
                        Match::Full(_) => return Stands::Misspelled(next + i, len),
                        Match::Partial if !self.over() => return Stands::Undecided,
                        Match::Partial | Match::No => {}
                    }
                }
                Match::Partial if !self.over() => return Stands::Undecided,
                Match::Partial | Match::No => {}
            }
        }
        Stands::Nothing
    }

    /// Whether `rest` begins with something that the templates allow after a closer, other than that closer itself.
    fn structure(&self, rest: &[u8], closer: &Literal) -> Match {
        let follow = &self.tables.follow;
        let all = follow.call_close.iter().chain(&follow.block_close).filter(|literal| *literal != closer);
        if rest.is_empty() {
            return Match::Partial;
        }
        match first_of(all.chain(&follow.call_open), rest) {
            Match::No => {
                let at = self.w.len() - rest.len();
                let set = self.tables.set(self.gap_place());
                let begins = |place, id| self.tokens.begins(self.base + place as u64, id);
                match set.at(self.w.as_bytes(), at, self.over(), begins) {
                    At::Found(found) => Match::Full(found.len),
                    At::Partial => Match::Partial,
                    At::Nothing => Match::No,
                }
            }
            found => found,
        }
    }
}

fn is_json(body: &BodySpec) -> bool {
    matches!(body, BodySpec::Json(_) | BodySpec::Envelope(_))
}

/// The first of these at the start of `rest`; at the end of the text, one may still follow.
fn first_of<'a>(literals: impl Iterator<Item = &'a Literal>, rest: &[u8]) -> Match {
    if rest.is_empty() {
        return Match::Partial;
    }
    let mut found = Match::No;
    for literal in literals {
        match literal.at(rest) {
            Match::Full(n) => return Match::Full(n),
            Match::Partial => found = Match::Partial,
            Match::No => {}
        }
    }
    found
}
