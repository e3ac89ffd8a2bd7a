//! Gaps: text before a message's header, and between the end of a message and the start of the next.
//!
//! A header consists of words that the format has a place for. Other text in a gap belongs to the answer; an invalid
//! header goes to a diagnostic.

use crate::diagnostic::DiagnosticKind;

use super::Flow;
use super::channels::ChannelTables;
use super::scanset::{Action, Found};
use super::state::Place;
use super::tables::Raw;

impl ChannelTables {
    /// How much of the text before a header's marker, without a start marker before it, belongs to no header: the words
    /// before the first recipient or marker, unless they are the role. `prefix`: the header that the prompt left open.
    pub(super) fn before_header(&self, prefix: Option<&str>, held: &str) -> usize {
        let words = &self.words;
        let mut markers = words.channel.iter().chain(&words.r#type);
        if prefix.is_some_and(|prefix| markers.clone().any(|marker| prefix.contains(marker.as_str()))) {
            return 0;
        }
        let first = markers.by_ref().filter_map(|marker| held.find(marker.as_str())).min();
        let piece = &held[..first.unwrap_or(held.len())];
        let starts_word = |at: &usize| piece[..*at].chars().next_back().is_none_or(char::is_whitespace);
        let to = words.to.as_deref().unwrap_or("\u{0}");
        let recipient = piece.match_indices(to).map(|(at, _)| at).find(starts_word);
        let text = &piece[..recipient.unwrap_or(piece.len())];
        // The blank before a recipient belongs to the header.
        let text = if recipient.is_some() { text.strip_suffix(' ').unwrap_or(text) } else { text };
        let is_role = match prefix {
            Some(prefix) => prefix.trim().is_empty() && text.split_whitespace().count() == 1,
            None => text.trim() == self.role,
        };
        if is_role || text.trim().is_empty() { 0 } else { text.len() }
    }
}

impl Flow<'_> {
    /// Handles a pattern at `at` in a header. Returns false if it starts the next one, which stays held.
    pub(super) fn in_header(&mut self, at: usize, found: Found) -> bool {
        let end = at + found.len;
        match self.tables.set(Place::Header).patterns[found.pattern].action {
            Action::Body => self.text_before_header(at, end),
            Action::NextMessage => {
                self.message_starts(at, end);
                return false;
            }
            Action::Drop
            | Action::DropCloser
            | Action::CloseFrame
            | Action::CloseThought
            | Action::EndMessage
            | Action::Header => self.text_in_gap(at, end),
            _ if self.tables.channels.is_some() => self.no_body(at, end),
            _ if self.w[self.pos..at].split_whitespace().nth(1).is_some() => self.text_in_gap(at, end),
            // A header is one word, such as a function's name; it is text if no call follows.
            Action::Open(_) => {}
            _ => self.pos = at,
        }
        true
    }

    /// After a marker in a header: text has come instead of a header. If messages have no channels, the next header
    /// says where it begins.
    pub(super) fn leave_header(&mut self, action: Action) {
        let is_header = action == Action::Header || self.tables.channels.is_some();
        let over = !self.s.fresh || matches!(action, Action::CloseFrame | Action::CloseThought);
        if self.s.place == Place::Header && over && !is_header {
            self.s.place = self.answer_place();
        }
    }

    /// Text up to `to` is not a header, as the bytes before `decided` show.
    fn text_in_gap(&mut self, to: usize, decided: usize) {
        self.header_is_text(to, decided);
        self.s.place = Place::Header;
    }

    /// A message's start marker is at `at..end`: the header is held from there on.
    fn message_starts(&mut self, at: usize, end: usize) {
        self.no_body(at, end);
        self.s.seen = end - at;
    }

    /// The held text up to `at` has no body: it is a header without one, or the answer's text.
    fn no_body(&mut self, at: usize, decided: usize) {
        self.text_before_header(at, decided);
        self.s.route = None;
        let left = self.w[self.pos..at].trim_end();
        if left.trim().is_empty() {
            self.pos = at;
        } else if self.tables.words.raw == Raw::Answers {
            self.text_in_gap(at, decided);
        } else {
            let offset = self.offset(self.pos);
            if self.is_bare_start(left) {
                self.repeated(offset, left);
            } else {
                self.report(DiagnosticKind::UnplacedText, offset, left, "no body follows this header");
            }
            self.pos = at;
        }
    }

    /// Text before a header that ends at `at` belongs to the answer. One word after a message's end is a broken header.
    fn text_before_header(&mut self, at: usize, decided: usize) {
        let Some(channels) = &self.tables.channels else { return };
        if self.is_started() {
            return;
        }
        let prefix = self.s.route.as_ref().map(super::channels::Open::header);
        let text = channels.before_header(prefix, &self.w[self.pos..at]);
        let ended = self.s.marker.and_then(|marker| self.tables.single.get(marker));
        let ended = ended.is_some_and(|marker| channels.words.end.iter().any(|end| **end == **marker));
        let held = &self.w[self.pos..self.pos + text];
        if ended && text > 0 && held.split_whitespace().nth(1).is_none() {
            self.report(DiagnosticKind::UnplacedText, self.offset(self.pos), held, "this word is no header");
            self.pos += text;
        } else if text > 0 {
            self.text_in_gap(self.pos + text, decided);
        }
    }

    /// Whether the held text begins with a message's start marker.
    fn is_started(&self) -> bool {
        let starts = self.tables.set(Place::Header).patterns.iter().find(|p| p.action == Action::NextMessage);
        starts.is_some_and(|start| {
            self.w[self.pos..].starts_with(start.literal.text())
                && start.id.is_none_or(|id| self.tokens.begins(self.offset(self.pos), id) != Some(false))
        })
    }

    /// Whether a header has only its start marker and a role.
    fn is_bare_start(&self, header: &str) -> bool {
        self.tables.channels.as_ref().is_some_and(|channels| {
            let role = header.strip_prefix(channels.words.start.as_str());
            role.is_some_and(|role| role.trim().is_empty() || role.trim() == channels.role)
        })
    }

    /// Reports words in a header up to its body marker (`text` from `at` on) that no header has.
    pub(super) fn tell_odd_header(&mut self, prefix: &str, text: &str) {
        let Some(channels) = &self.tables.channels else { return };
        let header = format!("{prefix}{text}");
        let behind = header.strip_prefix(channels.words.start.as_str()).unwrap_or(&header);
        if !channels.is_header(behind) {
            let why = "this header has words that headers do not have";
            self.report(DiagnosticKind::UnplacedText, self.offset(self.pos), text, why);
        }
    }
}
