//! Handles one line at a time: the open reply, and the answer of each line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use unspool::spans::Both;
use unspool::{Delta, Event, Finish, FinishReason, Message, OwnedEvent, Parser, Sink, Span, Spans};

use super::start::{Started, Starter};
use crate::files::reason;
use crate::wire::{EventShape, Location, MessageShape};

/// One line of input: exactly one of its fields is set.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    start: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<Piece<'a>>,
    /// Outer `None`: missing; inner `None`: null.
    #[serde(default, deserialize_with = "present")]
    finish: Option<Option<FinishReason>>,
    /// A complete output.
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    /// The caller's id.
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(default)]
    ids: Option<Vec<u32>>,
}

/// Distinguishes a null field from a missing one.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Why a line cannot be used.
#[derive(Debug, Serialize)]
pub(super) struct Refusal {
    pub(super) kind: &'static str,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Refusal {
    fn new(kind: &'static str, message: impl Into<String>, hint: &str) -> Self {
        Self { kind, message: message.into(), hint: Some(hint.to_owned()) }
    }

    /// A field of `start` with an invalid value.
    pub(super) fn start(message: impl Into<String>, hint: &str) -> Self {
        Self::new("bad_start", message, hint)
    }
}

/// The message so far, and the spans of its fields.
type Fold = Both<Message, Spans>;

/// The state between a start and its finish.
enum Reply {
    /// No start yet, or the last reply is finished.
    None,
    /// The start was refused: deltas and finish produce no output.
    Refused,
    /// An open reply.
    Open(Box<Started>, Fold),
}

/// All replies of one process, or of one of its threads.
pub(super) struct Session {
    starter: Starter,
    reply: Reply,
    line: u64,
    /// Buffer for the events of a delta.
    room: Vec<(OwnedEvent, Span)>,
    /// Whether to write messages without events.
    messages: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer<'a> {
    Event(EventShape<'a>),
    Message(MessageShape<'a>),
    Error {
        #[serde(flatten)]
        refusal: &'a Refusal,
        line: u64,
    },
}

/// An answer with the caller's id.
#[derive(Serialize)]
struct Named<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(flatten)]
    answer: Answer<'a>,
}

impl Named<'_> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        out.write_all(b"\n")
    }
}

impl Answer<'_> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        out.write_all(b"\n")
    }
}

/// Collects the events of a delta, joins neighbours of the same kind, and folds them into the message.
struct EventLines<'a> {
    fold: &'a mut Fold,
    events: &'a mut Vec<(OwnedEvent, Span)>,
}

impl<'a> EventLines<'a> {
    fn new(fold: &'a mut Fold, events: &'a mut Vec<(OwnedEvent, Span)>) -> Self {
        events.clear();
        Self { fold, events }
    }

    /// Appends to the last event if it is of this kind. Joins texts only if they touch, so that each line has one span.
    fn join(&mut self, event: &Event<'_>, span: Span) -> bool {
        let Some((last, place)) = self.events.last_mut() else { return false };
        let touches = place.end == span.start;
        match (last, event) {
            (OwnedEvent::Reasoning(all), Event::Reasoning(text)) if touches => all.push_str(text),
            (OwnedEvent::Content(all), Event::Content(text)) if touches => all.push_str(text),
            (OwnedEvent::CallArguments { index, json: all }, Event::CallArguments { index: other, json })
                if index == other =>
            {
                all.push_str(json);
            }
            _ => return false,
        }
        place.end = span.end;
        true
    }
}

impl Sink for EventLines<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.event_at(event, Span::default());
    }

    fn event_at(&mut self, event: Event<'_>, span: Span) {
        if !self.join(&event, span) {
            self.events.push((event.clone().into_owned(), span));
        }
        self.fold.event_at(event, span);
    }
}

/// Writes the events of a delta, one per line.
fn write_events(events: &[(OwnedEvent, Span)], parser: &Parser, out: &mut impl Write) -> io::Result<()> {
    events.iter().try_for_each(|(event, span)| {
        Answer::Event(EventShape::new(&event.as_event(), Location::new(*span, parser))).write(out)
    })
}

/// The complete reply in its output shape.
fn message_shape<'a>(Both(message, spans): &'a Fold, finish: &Finish, parser: &Parser) -> MessageShape<'a> {
    MessageShape::new(message, finish, |index| {
        Location::new(spans.calls.get(index).map(|call| call.whole).unwrap_or_default(), parser)
    })
}

/// Whether a line is a start, after which nothing depends on the lines before it.
pub(super) fn begins_reply(line: &[u8]) -> bool {
    let name = line.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    // If the key comes later in the line, the thread with the previous reply answers it.
    let begins = |word: &&[u8]| name.is_some_and(|name| name.starts_with(word));
    let words: [&[u8]; 3] = [b"\"start\"", b"\"id\"", b"\"text\""];
    words.iter().any(begins)
        && matches!(
            read(line),
            Ok(Line { start: Some(_), delta: None, finish: None, text: None, .. }
                | Line { start: None, delta: None, text: Some(_), .. })
        )
}

impl Session {
    /// `messages`: write one message per reply and no events.
    pub(super) fn new(starter: Starter, messages: bool) -> Self {
        Self { starter, reply: Reply::None, line: 0, room: Vec::new(), messages }
    }

    /// Continues at another point of the input, after this many lines, where no reply is open.
    pub(super) fn begin(&mut self, lines_before: u64) {
        self.reply = Reply::None;
        self.line = lines_before;
    }

    /// Answers a line beyond the maximum length, which was not read.
    pub(super) fn too_long(&mut self, longest: usize, out: &mut impl Write) -> io::Result<()> {
        self.line += 1;
        let message = format!("the line is longer than {longest} bytes");
        self.refuse(
            &Refusal::new("bad_line", message, "cut the output into several deltas, or set --max-line-size"),
            out,
        )
    }

    /// Answers one line of input. The error is a write error.
    pub(super) fn line(&mut self, line: &[u8], out: &mut impl Write) -> io::Result<()> {
        self.line += 1;
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        match read(line) {
            Ok(Line { start: None, delta: None, finish, text: Some(text), id }) => {
                self.whole(line, (id, &text, finish.unwrap_or(Some(FinishReason::Stop))), out)
            }
            Ok(Line { start: Some(start), delta: None, finish: None, .. }) => self.start(start, out),
            Ok(Line { start: None, delta: Some(piece), finish: None, .. }) => self.delta(&piece, out),
            Ok(Line { start: None, delta: None, finish: Some(reason), .. }) => self.finish(reason, out),
            Ok(_) => {
                let message = "a line has exactly one of `start`, `delta`, `finish` and `text`";
                self.refuse(&Refusal::new("bad_line", message, "write each as a line of its own"), out)
            }
            Err(refusal) => self.refuse(&refusal, out),
        }
    }

    fn refuse(&self, refusal: &Refusal, out: &mut impl Write) -> io::Result<()> {
        Answer::Error { refusal, line: self.line }.write(out)
    }

    /// Answers a complete output. Like a start, it discards an open reply.
    fn whole(
        &mut self,
        line: &[u8],
        (id, text, reason): (Option<&RawValue>, &str, Option<FinishReason>),
        out: &mut impl Write,
    ) -> io::Result<()> {
        self.reply = Reply::None;
        // The line has already been parsed as an object.
        let mut fields: BTreeMap<String, &RawValue> = serde_json::from_slice(line).unwrap_or_default();
        fields.retain(|name, _| !["id", "text", "finish"].contains(&name.as_str()));
        let answer = self.starter.whole(fields).map(|started| {
            let (mut fold, mut parser) = (Fold::default(), started.parser);
            parser.push(Delta::text(text), &mut fold);
            let finish = parser.finish(reason, &mut fold);
            (fold, finish, parser)
        });
        let answer = match &answer {
            Ok((fold, finish, parser)) => Answer::Message(message_shape(fold, finish, parser)),
            Err(refusal) => Answer::Error { refusal, line: self.line },
        };
        Named { id, answer }.write(out)
    }

    /// A start during a reply discards that reply.
    fn start(&mut self, start: &RawValue, out: &mut impl Write) -> io::Result<()> {
        match self.starter.start(start) {
            Ok(started) => {
                self.reply = Reply::Open(Box::new(started), Fold::default());
                Ok(())
            }
            Err(refusal) => {
                self.reply = Reply::Refused;
                self.refuse(&refusal, out)
            }
        }
    }

    fn delta(&mut self, piece: &Piece<'_>, out: &mut impl Write) -> io::Result<()> {
        let ids = piece.ids.as_deref().unwrap_or_default();
        match &mut self.reply {
            Reply::Refused => Ok(()),
            Reply::None => self.refuse(&not_started("delta"), out),
            Reply::Open(started, _) if piece.text.is_none() && !ids.is_empty() && !started.has_vocab => {
                let message = "the delta has ids and no text, and `start` had no `vocab`";
                let hint = "send `vocab` with `start`, or `text` with every delta";
                self.refuse(&Refusal::new("no_vocab", message, hint), out)
            }
            Reply::Open(started, fold) if self.messages => {
                started.parser.push(Delta { text: piece.text.as_deref(), ids }, fold);
                Ok(())
            }
            Reply::Open(started, fold) => {
                let delta = Delta { text: piece.text.as_deref(), ids };
                started.parser.push(delta, &mut EventLines::new(fold, &mut self.room));
                write_events(&self.room, &started.parser, out)
            }
        }
    }

    fn finish(&mut self, reason: Option<FinishReason>, out: &mut impl Write) -> io::Result<()> {
        match std::mem::replace(&mut self.reply, Reply::None) {
            Reply::Refused => Ok(()),
            Reply::None => self.refuse(&not_started("finish"), out),
            Reply::Open(mut started, mut fold) => {
                let finish = started.parser.finish(reason, &mut EventLines::new(&mut fold, &mut self.room));
                if !self.messages {
                    write_events(&self.room, &started.parser, out)?;
                }
                Answer::Message(message_shape(&fold, &finish, &started.parser)).write(out)
            }
        }
    }
}

fn not_started(what: &str) -> Refusal {
    Refusal::new("not_started", format!("a `{what}` without a `start`"), "begin each reply with {\"start\": {…}}")
}

fn read(line: &[u8]) -> Result<Line<'_>, Refusal> {
    let hint = "a line is {\"start\": {…}}, {\"delta\": {\"text\": …, \"ids\": […]}}, {\"finish\": …} or {\"id\": …, \"text\": …}";
    // serde would accept a list as an object with its fields in order.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err(Refusal::new("bad_line", "the line is not a JSON object", hint));
    }
    serde_json::from_slice(line).map_err(|error| {
        let message = format!("column {}: {}", error.column(), reason(&error));
        Refusal::new("bad_line", message, hint)
    })
}
