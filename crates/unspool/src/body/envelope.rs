//! The body `envelope`: JSON around the name and the arguments of calls, one object a call, alone or in a list.
//!
//! It reads the envelope's own level only: keys come in any order, and what stands inside the arguments is data.

use serde::{Deserialize, Serialize};

use self::parts::{PendingCall, Short, Unplaced};
use super::json::{Closers, Passed};
use super::{Cx, Eof, Follow, Status, Step};
use crate::explanation::Explanation;
use crate::format::file::{EnvelopeWords, Shape};
use crate::json::arguments::Arguments;
use crate::json::scan::{JsonScan, Scanned, Stop};
use crate::scan::blanks;

mod parts;
mod structure;

/// What the body has to know of its format.
#[derive(Debug, Clone)]
pub(crate) struct EnvelopeSpec {
    words: EnvelopeWords,
    closers: Closers,
    longest_key: usize,
}

impl EnvelopeSpec {
    /// The spec of an envelope with these words, which these literals may follow.
    ///
    /// # Errors
    /// A role without a key, or a key with two roles.
    pub(crate) fn new(words: &EnvelopeWords, follow: &Follow) -> Result<Self, Explanation> {
        if words.shape == Shape::Keys {
            for (role, keys) in [("name", &words.name), ("arguments", &words.arguments)] {
                if keys.is_empty() {
                    return Err(Explanation::new(
                        format!("`tools.envelope.{role}` has no key"),
                        "name the key under which the model writes it, or leave the line out",
                    ));
                }
            }
            let roles = [("name", &words.name), ("arguments", &words.arguments), ("id", &words.id)];
            for (i, (role, keys)) in roles.iter().enumerate() {
                let other = |key: &String| roles[i + 1..].iter().find(|(_, keys)| keys.contains(key));
                if let Some((key, (other, _))) = keys.iter().find_map(|key| other(key).map(|o| (key, o))) {
                    return Err(Explanation::new(
                        format!("the key `{key}` stands in `tools.envelope.{role}` and in `tools.envelope.{other}`"),
                        "a key has one role; leave it out in one of the two",
                    ));
                }
            }
        }
        let keys = [&words.name, &words.arguments, &words.id];
        let longest_key = keys.into_iter().flat_map(|keys| keys.iter()).map(String::len).max().unwrap_or(0);
        Ok(Self { words: words.clone(), closers: Closers::new(follow), longest_key })
    }
}

/// What a member of a call's object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Role {
    Name,
    Arguments,
    Id,
    Other,
}

/// What a string that is kept is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Kept {
    Key,
    Name,
    Id,
}

/// Where the envelope stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
enum At {
    /// Before anything.
    #[default]
    Start,
    /// In the list, before an element.
    Element,
    /// In the list, behind an element.
    AfterElement,
    /// In an object, before a key.
    Key,
    /// In a string that is kept.
    Short(Kept, Short),
    Colon(Role),
    Value(Role),
    /// In an id that is a number.
    Number {
        scan: JsonScan,
        text: String,
    },
    Arguments(Arguments),
    /// In the value of a member that has no place.
    Skip(JsonScan),
    /// In an element that is no object.
    SkipElement(JsonScan),
    /// In an object, behind a value.
    After,
    /// Everything is read.
    Over,
}

/// What is known of a call's arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Given {
    #[default]
    Missing,
    /// `null` or the like.
    Nothing,
    /// They came. False: as a string that begins like JSON and is none.
    Written(bool),
}

/// The call at hand.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Call {
    name: Option<String>,
    id: Option<String>,
    /// The key of the arguments has been seen.
    asked: bool,
    given: Given,
    announced: bool,
    unplaced: Unplaced,
}

/// The state of one envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Envelope {
    at: At,
    list: bool,
    /// An element of the list, or a call, is over.
    later: bool,
    /// The object at hand had a call (shape `key`).
    called: bool,
    call: Call,
    header: PendingCall,
}

impl Default for Envelope {
    fn default() -> Self {
        Self {
            at: At::Start,
            list: false,
            later: false,
            called: false,
            call: Call::default(),
            header: PendingCall::first(),
        }
    }
}

/// What a turn over the input came to.
enum Turn {
    /// So many bytes are read; on with the rest.
    Go(usize),
    /// So many bytes are read; the rest, if there is one, cannot be decided yet.
    Wait(usize),
    /// So many bytes are read, and this is to be told.
    Say(usize, Status),
    /// So many bytes are read, and the element that they end is no call.
    NoCall(usize),
}

/// The input of a step, and how far it is read.
#[derive(Clone, Copy)]
struct Here<'a> {
    input: &'a str,
    at: usize,
}

impl<'a> Here<'a> {
    fn rest(self) -> &'a str {
        &self.input[self.at..]
    }
}

impl Envelope {
    /// The name of the call that was announced last.
    pub(crate) fn name(&self) -> &str {
        self.call.name.as_deref().unwrap_or_default()
    }

    /// See [`super::BodyMachine::passes`].
    #[inline]
    pub(crate) fn passes(&mut self, text: &str, depth: usize) -> bool {
        match &mut self.at {
            At::Arguments(arguments) if self.call.announced => arguments.passes(text, depth),
            _ => false,
        }
    }

    /// The id that the model wrote for it before it was announced.
    pub(crate) fn id(&self) -> Option<&str> {
        self.call.id.as_deref()
    }

    /// What was read of the list since its last call, as long as no further one is open.
    pub(crate) fn unread(&self) -> String {
        if self.call.announced { String::new() } else { self.header.element("") }
    }

    /// Where the JSON of the envelope stands behind the bytes that were taken, as long as no call is open: for passing a value
    /// that is no call on to its own end. `None`: it is no JSON any more.
    pub(crate) fn scan(&self) -> Option<&JsonScan> {
        if self.call.announced { None } else { self.header.scan.as_ref() }
    }

    /// Reads on.
    ///
    /// Before `Named`, the bytes taken may have to be given back, so the caller keeps them; `Broken` says so. `CallEnd` is for
    /// lists (and for shape `key`): what follows it belongs to the next call, or to none, and `Done` and `Broken` then speak of
    /// the rest of the list alone.
    pub(crate) fn step(&mut self, spec: &EnvelopeSpec, cx: &mut Cx<'_>, input: &str) -> Step {
        let announced = self.call.announced;
        if announced {
            self.header.give_early(cx.out);
        }
        let mut here = Here { input, at: 0 };
        if announced
            && let At::Arguments(arguments) = &mut self.at
            && let Some(Scanned { len, stop }) = arguments.steady(input, cx.limits, &mut Passed::from(&mut *cx.out, 0))
        {
            if stop == Stop::More && cx.eof == Eof::No {
                return Step { consumed: len, status: Status::More };
            }
            here.at = len;
        }
        let (mut shown, mut more) = (0, true);
        let status = loop {
            if more || shown == here.at {
                shown = self.portion(cx, here, shown);
            }
            // What may become arguments has a limit of its own.
            let counts = !announced && !matches!(self.at, At::Arguments(_) | At::Skip(_));
            let turn = self.turn(spec, cx, Here { input: &input[..shown], ..here });
            let (Turn::Go(len) | Turn::Wait(len) | Turn::Say(len, _) | Turn::NoCall(len)) = turn;
            here.at += len;
            if counts && !self.header.count(len, cx.limits) {
                break Status::Broken;
            }
            more = matches!(turn, Turn::Wait(_));
            match turn {
                Turn::Go(_) => {}
                Turn::NoCall(_) => self.no_call(cx, here),
                Turn::Wait(_) if shown < input.len() => {}
                Turn::Wait(_) if cx.eof == Eof::No => break Status::More,
                Turn::Wait(_) => break self.end(spec, cx, here),
                Turn::Say(_, status) => break status,
            }
        };
        if announced {
            if status == Status::Broken {
                self.tell_unplaced(cx, here);
            }
            return Step { consumed: here.at, status };
        }
        self.header.end_step(&input[..here.at], cx.limits);
        self.call.announced = status == Status::Named;
        Step { consumed: here.at, status }
    }

    /// How much of the input a turn is shown of which so much was shown before. Until a call is announced that is no more than
    /// fits within the limits, else one character: so a limit is passed at the same byte however the input is cut.
    fn portion(&self, cx: &Cx<'_>, here: Here<'_>, before: usize) -> usize {
        let len = here.input.len();
        if self.call.announced || before == len {
            return len;
        }
        let limits = cx.limits;
        let kept = self.header.early_bytes() + self.call.unplaced.len();
        let room = match &self.at {
            At::Arguments(arguments) if arguments.holds() => 0,
            // Within JSON a byte may become six; a member without a place brings its colon and comma along.
            _ => limits.held_arguments.saturating_sub(kept.saturating_add(4)) / 6,
        };
        let least = here.input[before..].chars().next().map_or(len, |c| before + c.len_utf8());
        let mut end = least.max(here.at.saturating_add(room.min(self.header.room(limits)))).min(len);
        while !here.input.is_char_boundary(end) {
            end -= 1;
        }
        end.max(least)
    }

    fn turn(&mut self, spec: &EnvelopeSpec, cx: &mut Cx<'_>, here: Here<'_>) -> Turn {
        let rest = here.rest();
        match &mut self.at {
            At::Arguments(_) => self.arguments(spec, cx, here),
            At::Short(what, short) => {
                let most = if *what == Kept::Key { cx.limits.name.max(spec.longest_key) } else { cx.limits.name };
                let (announced, header) = (self.call.announced, &mut self.header);
                // A key is none of the call's own then, and stays as it is written.
                let is_key = *what == Kept::Key && spec.words.shape == Shape::Keys;
                let Scanned { len, stop } = short.read(rest, most, &mut |end, escape| {
                    let at = (here.at + end).cast_signed() - escape.len().cast_signed();
                    match announced {
                        _ if is_key => {}
                        true => Passed::tell(cx.out, at, escape),
                        false => header.mend(at, escape),
                    }
                });
                if is_key {
                    self.call.unplaced.key_goes_on(&rest[..len], cx.limits.arguments);
                }
                match stop {
                    Stop::More | Stop::Control | Stop::Escape(_) => Turn::Wait(len),
                    Stop::Bad => Turn::Say(len, Status::Broken),
                    Stop::End => {
                        let (what, short) = (*what, std::mem::take(short));
                        self.short(spec, what, &short, len)
                    }
                }
            }
            At::Number { scan, text } => {
                let Scanned { len, stop } = scan.scan(rest.as_bytes(), cx.limits.depth);
                text.push_str(&rest[..len]);
                match stop {
                    Stop::More | Stop::Control | Stop::Escape(_) => Turn::Wait(len),
                    Stop::Bad => Turn::Say(len, Status::Broken),
                    Stop::End => {
                        let id = if text.len() > cx.limits.name { String::new() } else { std::mem::take(text) };
                        self.identified(&id, len)
                    }
                }
            }
            At::Skip(_) | At::SkipElement(_) => self.skip(cx, here),
            At::Over => Turn::Say(0, Status::Done { complete: true }),
            _ => {
                let blank = blanks(rest.as_bytes());
                match rest.as_bytes().get(blank) {
                    None => Turn::Wait(blank),
                    Some(_) if blank > 0 => Turn::Go(blank),
                    Some(&byte) => self.structure(spec, cx, here, byte),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
