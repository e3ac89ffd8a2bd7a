//! One line at a time: the reply that is open, and what each line answers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use unspool::request::RequestError;
use unspool::{Delta, Event, FinishReason, Message, Sink};

use super::start::{Started, Starter};
use crate::files::reason;
use crate::wire::{EventShape, MessageShape};

/// One line of input: exactly one of its fields.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    start: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<Piece<'a>>,
    /// Outer `None`: not there; inner `None`: null.
    #[serde(default, deserialize_with = "present")]
    finish: Option<Option<FinishReason>>,
    /// A whole output.
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    /// What the caller calls it.
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

/// Tells a field that is null from one that is not there.
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

    /// A field of `start` that is not what it must be.
    pub(super) fn start(message: impl Into<String>, hint: &str) -> Self {
        Self::new("bad_start", message, hint)
    }
}

impl From<RequestError> for Refusal {
    fn from(error: RequestError) -> Self {
        Self { kind: "request", message: error.message, hint: error.hint }
    }
}

/// What stands between a start and its finish.
enum Reply {
    /// Nothing: no start yet, or the last reply is over.
    None,
    /// The start was refused: deltas and finish answer nothing.
    Refused,
    /// A reply on its way.
    Open(Box<Started>, Message),
}

/// All replies of one process, or of one of its threads.
pub(super) struct Session {
    starter: Starter,
    reply: Reply,
    line: u64,
    /// Text that is joined for a line of output.
    room: String,
    /// No events are written.
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

/// An answer with what the caller calls it.
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

/// Writes events as lines, neighbours of a kind joined, and folds them into the message.
struct EventLines<'a, W> {
    out: &'a mut W,
    message: &'a mut Message,
    written: io::Result<()>,
    /// What the text is that waits for more of its kind.
    kind: Kind,
    text: &'a mut String,
}

/// A kind of event whose neighbours are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    None,
    Reasoning,
    Content,
    Arguments(usize),
}

impl<'a, W: Write> EventLines<'a, W> {
    fn new(out: &'a mut W, message: &'a mut Message, text: &'a mut String) -> Self {
        text.clear();
        Self { out, message, written: Ok(()), kind: Kind::None, text }
    }

    fn write(&mut self, shape: EventShape<'_>) {
        if self.written.is_ok() {
            self.written = Answer::Event(shape).write(self.out);
        }
    }

    fn flush(&mut self) {
        let text = std::mem::take(self.text);
        match std::mem::replace(&mut self.kind, Kind::None) {
            Kind::None => {}
            Kind::Reasoning => self.write(EventShape::Reasoning { text: &text }),
            Kind::Content => self.write(EventShape::Content { text: &text }),
            Kind::Arguments(index) => self.write(EventShape::CallArguments { index, json: &text }),
        }
        *self.text = text;
        self.text.clear();
    }

    /// All that waits is written.
    fn end(mut self) -> io::Result<()> {
        self.flush();
        self.written
    }
}

impl<W: Write> Sink for EventLines<'_, W> {
    fn event(&mut self, event: Event<'_>) {
        let (kind, text) = match event {
            Event::Reasoning(text) => (Kind::Reasoning, text),
            Event::Content(text) => (Kind::Content, text),
            Event::CallArguments { index, json } => (Kind::Arguments(index), json),
            _ => (Kind::None, ""),
        };
        if kind != self.kind {
            self.flush();
            self.kind = kind;
        }
        match kind {
            Kind::None => self.write(EventShape::from(&event)),
            _ => self.text.push_str(text),
        }
        self.message.event(event);
    }
}

/// Whether a line is a start, behind which nothing depends on what came before it.
pub(super) fn begins_reply(line: &[u8]) -> bool {
    let name = line.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    // One whose name stands elsewhere is answered by the thread that has the reply before it.
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
    /// `messages`: no events are written, but one message for each reply.
    pub(super) fn new(starter: Starter, messages: bool) -> Self {
        Self { starter, reply: Reply::None, line: 0, room: String::new(), messages }
    }

    /// Goes on elsewhere in the input, behind so many lines, where no reply is open.
    pub(super) fn begin(&mut self, lines_before: u64) {
        self.reply = Reply::None;
        self.line = lines_before;
    }

    /// Answers a line that is longer than it may be, and was not read.
    pub(super) fn too_long(&mut self, longest: usize, out: &mut impl Write) -> io::Result<()> {
        self.line += 1;
        let message = format!("the line is longer than {longest} bytes");
        self.refuse(
            &Refusal::new("bad_line", message, "cut the output into several deltas, or set --max-line-size"),
            out,
        )
    }

    /// Answers one line of input. The error is of writing.
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

    /// Answers a whole output. As a start does, it gives up a reply that is open.
    fn whole(
        &mut self,
        line: &[u8],
        (id, text, reason): (Option<&RawValue>, &str, Option<FinishReason>),
        out: &mut impl Write,
    ) -> io::Result<()> {
        self.reply = Reply::None;
        // The line was read as an object before.
        let mut fields: BTreeMap<String, &RawValue> = serde_json::from_slice(line).unwrap_or_default();
        fields.retain(|name, _| !["id", "text", "finish"].contains(&name.as_str()));
        let answer = self.starter.whole(fields).map(|started| {
            let (mut message, mut parser) = (Message::default(), started.parser);
            parser.push(Delta::text(text), &mut message);
            let finish = parser.finish(reason, &mut message);
            (message, finish)
        });
        let answer = match &answer {
            Ok((message, finish)) => Answer::Message(MessageShape::new(message, finish)),
            Err(refusal) => Answer::Error { refusal, line: self.line },
        };
        Named { id, answer }.write(out)
    }

    /// A start in the middle of a reply gives that reply up.
    fn start(&mut self, start: &RawValue, out: &mut impl Write) -> io::Result<()> {
        match self.starter.start(start) {
            Ok(started) => {
                self.reply = Reply::Open(Box::new(started), Message::default());
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
            Reply::Open(started, message) if self.messages => {
                started.parser.push(Delta { text: piece.text.as_deref(), ids }, message);
                Ok(())
            }
            Reply::Open(started, message) => {
                let mut lines = EventLines::new(out, message, &mut self.room);
                started.parser.push(Delta { text: piece.text.as_deref(), ids }, &mut lines);
                lines.end()
            }
        }
    }

    fn finish(&mut self, reason: Option<FinishReason>, out: &mut impl Write) -> io::Result<()> {
        match std::mem::replace(&mut self.reply, Reply::None) {
            Reply::Refused => Ok(()),
            Reply::None => self.refuse(&not_started("finish"), out),
            Reply::Open(mut started, mut message) => {
                let finish = if self.messages {
                    started.parser.finish(reason, &mut message)
                } else {
                    let mut lines = EventLines::new(out, &mut message, &mut self.room);
                    let finish = started.parser.finish(reason, &mut lines);
                    lines.end()?;
                    finish
                };
                Answer::Message(MessageShape::new(&message, &finish)).write(out)
            }
        }
    }
}

fn not_started(what: &str) -> Refusal {
    Refusal::new("not_started", format!("a `{what}` without a `start`"), "begin each reply with {\"start\": {…}}")
}

fn read(line: &[u8]) -> Result<Line<'_>, Refusal> {
    let hint = "a line is {\"start\": {…}}, {\"delta\": {\"text\": …, \"ids\": […]}}, {\"finish\": …} or {\"id\": …, \"text\": …}";
    // Lists would pass as objects whose fields stand in order.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err(Refusal::new("bad_line", "the line is not a JSON object", hint));
    }
    serde_json::from_slice(line).map_err(|error| {
        let message = format!("column {}: {}", error.column(), reason(&error));
        Refusal::new("bad_line", message, hint)
    })
}
