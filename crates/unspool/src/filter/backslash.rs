//! `\n`, `\r\n` and `\r` written as backslash sequences become line breaks, outside code and formulas.

use serde::{Deserialize, Serialize};

/// The context of the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Inside {
    #[default]
    Prose,
    /// Code after this many back-quotes.
    Code(usize),
    /// A formula after this many dollar signs.
    Dollars(usize),
    /// A formula that ends with a backslash and this character.
    Formula(char),
}

/// The filter's state, with a held incomplete sequence.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Backslash {
    inside: Inside,
    held: String,
}

impl Backslash {
    /// Whether text passes through unchanged.
    #[inline]
    pub(crate) fn passes(&self, text: &str) -> bool {
        let is_sign =
            |byte: &u8| matches!(byte, b'`' | b'$' | b'\\') || *byte == b'\n' && self.inside == Inside::Dollars(1);
        self.held.is_empty() && !text.as_bytes().iter().any(is_sign)
    }

    pub(crate) fn push(&mut self, text: &str, over: bool, out: &mut String) {
        let mut held = std::mem::take(&mut self.held);
        if held.is_empty() {
            let read = self.read(text, over, out);
            held.push_str(&text[read..]);
        } else {
            held.push_str(text);
            let read = self.read(&held, over, out);
            held.drain(..read);
        }
        self.held = held;
    }

    /// Reads up to the possible beginning of a sequence; returns the number of bytes consumed.
    fn read(&mut self, input: &str, over: bool, out: &mut String) -> usize {
        let mut rest = input;
        while let Some(first) = rest.chars().next() {
            let taken = match first {
                '`' | '$' => self.run(rest, first, over, out),
                '\\' => self.sequence(rest, over, out),
                _ => {
                    let len = rest.find(['`', '$', '\\']).unwrap_or(rest.len());
                    if self.inside == Inside::Dollars(1) && rest[..len].contains('\n') {
                        // A lone dollar sign does not begin a formula.
                        self.inside = Inside::Prose;
                    }
                    out.push_str(&rest[..len]);
                    Some(len)
                }
            };
            match taken {
                Some(len) => rest = &rest[len..],
                None => break,
            }
        }
        input.len() - rest.len()
    }

    /// A run of back-quotes or dollar signs; it is complete when another character follows.
    fn run(&mut self, rest: &str, sign: char, over: bool, out: &mut String) -> Option<usize> {
        let len = rest.chars().take_while(|c| *c == sign).count();
        if len == rest.len() && !over && len < 64 {
            return None;
        }
        out.push_str(&rest[..len]);
        self.inside = match (self.inside, sign) {
            (Inside::Prose, '`') => Inside::Code(len),
            (Inside::Prose, _) => Inside::Dollars(len),
            (Inside::Code(n), '`') | (Inside::Dollars(n), '$') if n == len => Inside::Prose,
            (same, _) => same,
        };
        Some(len)
    }

    fn sequence(&mut self, rest: &str, over: bool, out: &mut String) -> Option<usize> {
        let Some(second) = rest[1..].chars().next() else {
            if over {
                out.push('\\');
            }
            return over.then_some(1);
        };
        let len = 1 + second.len_utf8();
        match (self.inside, second) {
            (Inside::Prose, 'n') => out.push('\n'),
            (Inside::Prose, 'r') => {
                let behind = &rest[len..];
                if !over && (behind.is_empty() || behind == "\\") {
                    return None;
                }
                out.push('\n');
                return Some(if behind.starts_with("\\n") { len + 2 } else { len });
            }
            (inside, _) => {
                out.push_str(&rest[..len]);
                self.inside = match (inside, second) {
                    (Inside::Prose, '(') => Inside::Formula(')'),
                    (Inside::Prose, '[') => Inside::Formula(']'),
                    (Inside::Formula(end), c) if end == c => Inside::Prose,
                    (same, _) => same,
                };
                // A sign after a backslash opens nothing; only a doubled backslash hides the next character.
                return Some(len);
            }
        }
        Some(len)
    }
}
