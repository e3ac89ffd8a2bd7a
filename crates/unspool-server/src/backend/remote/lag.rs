//! Tokens that come before their text.
//!
//! A vLLM that looks for stop texts holds back as much text as may become one, while the tokens go out at once. Read as they come,
//! every token would stand too early in the text. So tokens wait here until their text has come.

use std::collections::VecDeque;

use unspool::Pair;

use super::dialect::Reader;
use crate::backend::{BackendError, Piece};

/// Reads a server's events, and gives tokens together with their text.
pub(super) struct Lagging {
    reader: Box<dyn Reader>,
    queue: Queue,
}

impl Lagging {
    /// What `reader` reads; `pair` knows the texts of tokens. Where it does not, tokens have no place in the text, and nothing
    /// has to be done.
    pub(super) fn behind(reader: Box<dyn Reader>, pair: &Pair) -> Box<dyn Reader> {
        if pair.vocabulary().bytes.is_none() {
            return reader;
        }
        let queue = Queue { pair: pair.clone(), text: String::new(), ids: VecDeque::new(), lost: false };
        Box::new(Self { reader, queue })
    }
}

impl Reader for Lagging {
    fn read(&mut self, data: &[u8], take: &mut dyn FnMut(Piece)) -> Result<(), BackendError> {
        let queue = &mut self.queue;
        self.reader.read(data, &mut |piece| match piece {
            Piece::Tokens { text, ids } => queue.push(text, ids, take),
            Piece::Stopped { reason, at } => {
                // The text of a stop text's tokens is cut off.
                if at.as_ref().is_some_and(serde_json::Value::is_string) {
                    queue.ids.clear();
                }
                queue.end(take);
                take(Piece::Stopped { reason, at });
            }
            other => take(other),
        })
    }

    fn end(&mut self, take: &mut dyn FnMut(Piece)) {
        self.reader.end(take);
        self.queue.end(take);
    }
}

/// Text and tokens that have not found each other yet.
struct Queue {
    pair: Pair,
    text: String,
    ids: VecDeque<u32>,
    /// The text is not that of the tokens, so that it has to do without them.
    lost: bool,
}

impl Queue {
    fn push(&mut self, text: String, ids: Vec<u32>, take: &mut dyn FnMut(Piece)) {
        // Mostly nothing waits, and what comes goes on as it is.
        if self.text.is_empty() {
            self.text = text;
        } else {
            self.text.push_str(&text);
        }
        if !self.lost {
            if self.ids.is_empty() {
                self.ids = ids.into();
            } else {
                self.ids.extend(ids);
            }
            match self.matched() {
                Some((length, count)) => return self.give(length, count, take),
                None => self.lost = true,
            }
            self.ids.clear();
        }
        self.give(self.text.len(), 0, take);
    }

    /// How much text and how many tokens belong together; `None`: they are not of each other.
    fn matched(&self) -> Option<(usize, usize)> {
        let vocabulary = self.pair.vocabulary();
        let table = vocabulary.bytes.as_ref()?;
        let (mut at, mut sure) = (0, (0, 0));
        for (i, id) in self.ids.iter().enumerate() {
            let (bytes, rest) = (table.get(*id)?, &self.text.as_bytes()[at..]);
            if rest.starts_with(bytes) {
                at += bytes.len();
            } else if bytes.starts_with(rest) {
                return Some(sure);
            } else if !vocabulary.special.values().any(|special| special == id) {
                return None;
            }
            // Else the server has left the special token's text out. A token may end within a character.
            if self.text.is_char_boundary(at) {
                sure = (at, i + 1);
            }
        }
        // Text behind all tokens is of none of them.
        (at == self.text.len()).then_some(sure)
    }

    fn give(&mut self, length: usize, count: usize, take: &mut dyn FnMut(Piece)) {
        let later = self.text.split_off(length);
        let text = std::mem::replace(&mut self.text, later);
        let later = self.ids.split_off(count);
        let ids = Vec::from(std::mem::replace(&mut self.ids, later));
        if !text.is_empty() || !ids.is_empty() {
            take(Piece::Tokens { text, ids });
        }
    }

    /// Gives what is left.
    fn end(&mut self, take: &mut dyn FnMut(Piece)) {
        self.give(self.text.len(), self.ids.len(), take);
    }
}
