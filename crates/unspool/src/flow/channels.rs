//! Formats of messages: a header says what the body is.
//!
//! A header is all text since the last message's end, including its start marker. It is held until its body marker
//! arrives, or turns out to be text. In a body only the end of the message counts (and, if the format says so, the next
//! header).

use serde::{Deserialize, Serialize};

use crate::format::file::{Channels, Route, RouteAs};
use crate::span::Span;

use super::Flow;
use super::calls::CallHeader;
use super::numbered::AlternativeId;
use super::scanset::Action;
use super::state::{Late, Mode, Origin, Place, State};
use super::tables::Raw;

/// The format's settings for messages.
#[derive(Debug, Clone)]
pub(crate) struct ChannelTables {
    pub(crate) words: Channels,
    /// The role that the templates write.
    pub(super) role: String,
}

/// The header that a prompt left open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Open {
    header: String,
}

impl Open {
    pub(super) fn header(&self) -> &str {
        &self.header
    }
}

/// The contents of a header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Header<'a> {
    channel: &'a str,
    to: &'a str,
}

/// The kind of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Body<'a> {
    Reasoning,
    Content,
    /// Calls, parsed by the tools half.
    Calls,
    /// The arguments of this function.
    Function(&'a str),
    Dropped,
}

impl ChannelTables {
    /// `frames`: the text at the start of a message in the templates.
    pub(crate) fn new<'t>(words: &Channels, mut frames: impl Iterator<Item = &'t str>) -> Self {
        let behind = frames.find_map(|text| text.strip_prefix(words.start.as_str())).unwrap_or_default();
        let markers = words.channel.iter().chain(&words.r#type).chain([&words.body]);
        let end = markers.filter_map(|marker| behind.find(marker.as_str())).min().unwrap_or(behind.len());
        let role = behind[..end].split_whitespace().next().unwrap_or_default().to_owned();
        Self { words: words.clone(), role }
    }

    /// The state at the start of a reply, given the message that the prompt leaves open.
    pub(crate) fn start(&self, text: &str) -> (State, bool) {
        let mut state = State::new(Place::Header);
        let Some(at) = text.rfind(&self.words.start) else { return (state, false) };
        let open = &text[at + self.words.start.len()..];
        let over = self.words.end.iter().any(|end| open.contains(end.as_str()));
        if over {
            return (state, false);
        }
        match open.split_once(&self.words.body) {
            None => state.route = Some(Open { header: open.to_owned() }),
            Some((header, _)) => match self.body(&self.read(header)) {
                Body::Reasoning => state.place = Place::ReasonFresh,
                Body::Content => {
                    state.place = Place::After;
                    return (state, true);
                }
                _ => {}
            },
        }
        (state, false)
    }

    /// Reads a header: role, recipient, channel and content type, in any order that models write.
    fn read<'a>(&self, header: &'a str) -> Header<'a> {
        let after_start = header.rfind(&self.words.start).map_or(header, |at| &header[at + self.words.start.len()..]);
        let type_marker = self.words.r#type.as_deref().unwrap_or("\u{0}");
        let before_type = after_start.split(type_marker).next().unwrap_or("");
        let mut out = Header::default();
        let recipient = |word: &'a str| self.words.to.as_deref().and_then(|marker| word.strip_prefix(marker));
        if let Some((_, behind)) = self.words.channel.as_deref().and_then(|marker| before_type.split_once(marker)) {
            out.channel = behind.split_whitespace().next().filter(|word| recipient(word).is_none()).unwrap_or("");
        }
        let marker = self.words.channel.as_deref().unwrap_or("\u{0}");
        for piece in before_type.split(marker) {
            if let Some(to) = piece.split_whitespace().find_map(recipient) {
                out.to = to;
            }
        }
        out
    }

    /// Whether text between a start marker and a body marker is a header: role, channel and type are single words, and
    /// all others are recipients, or the type after one.
    pub(super) fn is_header(&self, text: &str) -> bool {
        let words = &self.words;
        let recipient = |word: &str| words.to.as_deref().is_some_and(|to| word.starts_with(to));
        let markers = words.channel.iter().chain(&words.r#type);
        let pieces = markers.fold(vec![text], |pieces, marker| {
            pieces.into_iter().flat_map(|piece| piece.split(marker.as_str())).collect()
        });
        pieces.iter().all(|piece| {
            let plain = piece.split_whitespace().filter(|word| !recipient(word)).count();
            plain <= 1 + usize::from(piece.split_whitespace().any(recipient))
        })
    }

    fn body<'a>(&self, header: &Header<'a>) -> Body<'a> {
        if let Some(name) = self.function(header.to) {
            return Body::Function(name);
        }
        if self.words.channel.is_some() && header.channel.is_empty() && header.to.is_empty() {
            return Body::Content;
        }
        let fits = |route: &Route| {
            route.channel.as_ref().is_none_or(|c| c == header.channel)
                && route.to.as_ref().is_none_or(|to| to.iter().any(|t| t == header.to))
        };
        match self.words.route.iter().find(|r| fits(r)).map(|r| r.r#as).or(self.words.r#else) {
            Some(RouteAs::Content) => Body::Content,
            Some(RouteAs::Calls) => Body::Calls,
            Some(RouteAs::Drop) => Body::Dropped,
            Some(RouteAs::Reasoning) | None => Body::Reasoning,
        }
    }

    /// The function that a recipient names, if the format's recipients are functions.
    fn function<'a>(&self, to: &'a str) -> Option<&'a str> {
        let prefix = self.words.calls.as_deref()?;
        if let Some(name) = to.strip_prefix(prefix) {
            return (!name.is_empty()).then_some(name);
        }
        let first = to.split('.').next().unwrap_or("");
        let builtin = self.words.builtin.iter().any(|b| b == first);
        (!to.is_empty() && !builtin && !prefix.starts_with(to)).then_some(to)
    }
}

impl Flow<'_> {
    /// A body marker at `at..end`: the held header determines the body.
    pub(crate) fn open_message(&mut self, at: usize, end: usize) {
        let Some(channels) = &self.tables.channels else { return };
        let w = self.w;
        let prefix = self.s.route.take().map(|open| open.header).unwrap_or_default();
        let header = format!("{prefix}{}", &w[self.pos..at]);
        let body = channels.body(&channels.read(&header));
        self.s.seen = 0;
        if body != Body::Reasoning {
            self.tokens.open_gate(self.offset(end), self.offset(end));
        }
        if self.passes(&body) {
            self.s.place = Place::Raw;
            self.s.fresh = false;
            self.give(end);
            return;
        }
        self.tell_odd_header(&prefix, &w[self.pos..at]);
        if let Body::Function(name) = body {
            self.function_message(name, end);
            return;
        }
        self.pos = end;
        self.s.fresh = body == Body::Calls;
        self.s.in_block = false;
        self.s.late = Late::Nothing;
        match body {
            Body::Reasoning => {
                self.s.place = Place::Reason;
                if self.s.reasoning_said {
                    self.s.reasoning_gap.clone_from(&channels.words.join);
                    self.s.reasoning_gap_at = Span::empty(self.offset(end));
                }
            }
            Body::Content => {
                // Calls that may come before any header do not count in a message to the user.
                self.s.place = Place::After;
                if self.s.content_said {
                    self.s.content_gap.clone_from(&channels.words.join);
                    self.s.content_gap_at = Span::empty(self.offset(end));
                }
            }
            Body::Calls => self.s.place = Place::Gap,
            Body::Dropped | Body::Function(_) => self.s.place = Place::Dropped,
        }
    }

    /// Whether a message passes through verbatim, for another parser.
    fn passes(&self, body: &Body<'_>) -> bool {
        match self.tables.words.raw {
            Raw::Nothing => false,
            Raw::Answers => *body != Body::Reasoning,
            Raw::Thoughts => *body == Body::Reasoning,
        }
    }

    /// Handles a start marker of the next message in an open body. It counts if it is its own token; in text, a
    /// complete header must follow.
    pub(crate) fn next_message(&mut self, has_id: bool, marker: usize, end: usize) {
        match self.tables.next_header {
            Some(call_header) if !(has_id && self.tokens.known) => self.open(call_header, marker, end),
            _ => self.end_message(marker, marker),
        }
    }

    /// Handles the next message's header in an open body, read up to `end` of the held bytes.
    pub(crate) fn header_stands(&mut self, alternative: AlternativeId, origin: Origin, end: usize) -> bool {
        if !self.tables.alternatives[alternative].program.is_header() {
            return self.header_in_body(origin.lead, end);
        }
        let Some(channels) = &self.tables.channels else { return false };
        let held = &self.w[self.pos..][origin.first..end];
        if !channels.is_header(held.strip_suffix(channels.words.body.as_str()).unwrap_or(held)) {
            return false;
        }
        let marker = self.pos + origin.lead;
        self.end_message(marker, marker);
        true
    }

    /// Handles a header without its start marker in an open body: `held` up to the body marker, after `lead` bytes of
    /// white space. If ids are known and the body marker is another token, it is text.
    pub(crate) fn header_in_body(&mut self, lead: usize, end: usize) -> bool {
        let Some(channels) = &self.tables.channels else { return false };
        let (from, to) = (self.pos + lead, self.pos + end);
        let at = to - channels.words.body.len();
        if self.w[from..at].contains(char::is_whitespace) {
            return false;
        }
        let headers = &self.tables.set(Place::Header).patterns;
        let marker = headers.iter().find(|p| p.action == Action::Body).and_then(|p| p.id);
        if marker.is_some_and(|id| self.tokens.begins(self.offset(at), id) == Some(false)) {
            return false;
        }
        self.end_message(self.pos, from);
        self.open_message(at, to);
        true
    }

    /// The body is the arguments of a function.
    fn function_message(&mut self, name: &str, end: usize) {
        let w = self.w;
        let start = self.offset(self.pos);
        let raw = &w[self.pos..end];
        let Some(form) = self.tables.message_form else {
            // This pair cannot parse calls, so the message is verbatim text, as under a request that wants none.
            self.s.place = Place::Raw;
            self.s.fresh = false;
            self.give(end);
            return;
        };
        let machine = self.tables.forms[form].body.machine();
        let origin = Origin { place: Place::Gap, fresh: true, lead: 0, first: 0 };
        self.pos = end;
        let (name, unplaced, repeats) = (name.to_owned(), Vec::new(), Vec::new());
        let opened =
            CallHeader { form, block: false, name, id: None, closed: false, origin, raw, start, unplaced, repeats };
        self.announce(opened, machine);
    }

    /// The message ends, or the next header begins: returns to reading headers.
    pub(crate) fn end_message(&mut self, marker: usize, end: usize) {
        match self.s.place {
            Place::Raw => self.give(end),
            place if self.tables.words.raw == Raw::Answers && !place.thinks() => self.give(end),
            Place::Content | Place::After if !self.s.fresh => self.give(marker),
            Place::Reason | Place::ReasonFresh => self.give(marker),
            _ => {}
        }
        self.tell_unplaced();
        self.pos = end;
        self.s.place = Place::Header;
        self.s.mode = Mode::Text;
        self.s.in_block = false;
        self.s.fresh = true;
        self.s.seen = 0;
        self.s.strip = None;
    }
}
