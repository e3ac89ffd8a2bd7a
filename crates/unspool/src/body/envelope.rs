//! The body `envelope`: JSON around the name and the arguments of calls, one object per call, alone or in a list.
//!
//! It parses only the envelope's own level: keys come in any order, and the contents of the arguments are data.

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

/// The format's settings for the body.
#[derive(Debug, Clone)]
pub(crate) struct EnvelopeSpec {
    words: EnvelopeWords,
    closers: Closers,
    longest_key: usize,
}

impl EnvelopeSpec {
    /// The spec of an envelope with these keys, which these literals may follow.
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

/// The role of a member of a call's object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Role {
    Name,
    Arguments,
    Id,
    Other,
}

/// The role of a stored string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Kept {
    Key,
    Name,
    Id,
}

/// The position in the envelope.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
enum At {
    /// Before anything.
    #[default]
    Start,
    /// In the list, before an element.
    Element,
    /// In the list, after an element.
    AfterElement,
    /// In an object, before a key.
    Key,
    /// In a string that is stored.
    Short(Kept, Short),
    Colon(Role),
    Value(Role),
    /// In an id that is a number.
    Number {
        scan: JsonScan,
        text: String,
    },
    Arguments(Arguments),
    /// In the value of a member without a role.
    Skip(JsonScan),
    /// In an element that is not an object.
    SkipElement(JsonScan),
    /// In an object, after a value.
    After,
    /// The envelope is complete.
    Over,
}

/// The state of a call's arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Given {
    #[default]
    Missing,
    /// `null` or similar.
    Nothing,
    /// They are written. False: as a string that begins like JSON but is not.
    Written(bool),
}

/// The current call.
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
    /// An element of the list, or a call, is complete.
    later: bool,
    /// The current object had a call (shape `key`).
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

/// The result of one turn over the input.
enum Turn {
    /// This many bytes are consumed; continue with the rest.
    Go(usize),
    /// This many bytes are consumed; the rest, if any, is undecided.
    Wait(usize),
    /// This many bytes are consumed, with this status.
    Say(usize, Status),
    /// This many bytes are consumed, and the element that they end is not a call.
    NoCall(usize),
}

/// The input of a step, and how far it is consumed.
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
    /// The name of the last announced call.
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

    /// The id that the model wrote before the call was announced.
    pub(crate) fn id(&self) -> Option<&str> {
        self.call.id.as_deref()
    }

    /// The text of the list since its last call, while no further one is open.
    pub(crate) fn unread(&self) -> String {
        if self.call.announced { String::new() } else { self.header.element("") }
    }

    /// The JSON state after the consumed bytes, while no call is open, to pass a value that is not a call through to
    /// its end. `None`: it is no longer JSON.
    pub(crate) fn scan(&self) -> Option<&JsonScan> {
        if self.call.announced { None } else { self.header.scan.as_ref() }
    }

    /// Continues.
    ///
    /// Before `Named`, the caller keeps the consumed bytes, because they may have to be given back; `Broken` says so.
    /// `CallEnd` is for lists (and for shape `key`): the following text belongs to the next call or to none, and `Done`
    /// and `Broken` then refer only to the rest of the list.
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
            // Text that may become arguments has its own limit.
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

    /// How much of the input a turn sees, given how much was seen before. Until a call is announced, that is at most
    /// what fits within the limits, or else one character, so a limit is reached at the same byte in every split.
    fn portion(&self, cx: &Cx<'_>, here: Here<'_>, before: usize) -> usize {
        let len = here.input.len();
        if self.call.announced || before == len {
            return len;
        }
        let limits = cx.limits;
        let kept = self.header.early_bytes() + self.call.unplaced.len();
        let room = match &self.at {
            At::Arguments(arguments) if arguments.holds() => 0,
            // Within JSON a byte may become six; a member without a role includes its colon and comma.
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
                // Such a key is not one of the call's own, and stays as written.
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
