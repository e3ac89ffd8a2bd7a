//! What each stream says: made of its number alone, so that the model and the one who checks agree without talking.
//!
//! Every token but markup ends in a stamp with the time at which it was sent. Who checks takes the stamps out again: what is left
//! must be the message, byte for byte.

use std::time::{SystemTime, UNIX_EPOCH};

const OPEN: char = '⟦';
const CLOSE: char = '⟧';

/// Pieces of text that are hard to stream: characters of every length, and beginnings of markers.
const WORDS: [&str; 12] =
    ["tide", "wind", "Łeba", "🛶", "<tool", "</thi", "harbour", "naïve", "港", "<", "tool_call>", "eight"];

/// A message in its parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Message {
    pub thought: String,
    pub content: String,
    /// The arguments of a call of `tide`.
    pub arguments: String,
}

/// One token: its text, and whether a stamp goes with it.
pub struct Token {
    pub text: String,
    pub stamped: bool,
}

impl Token {
    fn markup(text: &str) -> Self {
        Self { text: text.to_owned(), stamped: false }
    }
}

/// The tokens of a stream, and what they say.
pub fn of(number: u64) -> (Vec<Token>, Message) {
    let mut rng = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut roll = |sides: u64| {
        rng ^= rng << 13;
        rng ^= rng >> 7;
        rng ^= rng << 17;
        (rng >> 16) % sides
    };
    let mut words = |least: u64, first: &str| -> Vec<String> {
        let count = least + roll(2 * least);
        let rest = (0..count).map(|_| format!(" {}", WORDS[roll(WORDS.len() as u64) as usize]));
        std::iter::once(first.to_owned()).chain(rest).collect()
    };
    let (thought, content, port) = (words(20, "Thought"), words(20, "Said"), words(10, "Port"));
    let said =
        |words: &[String]| words.iter().map(|text| Token { text: text.clone(), stamped: true }).collect::<Vec<_>>();
    let mut tokens = vec![Token::markup("<think>"), Token::markup("\n")];
    tokens.extend(said(&thought));
    tokens.extend(["\n", "</think>", "\n\n"].map(Token::markup));
    tokens.extend(said(&content));
    tokens.extend(["\n", "<tool_call>", "\n{\"name\": \"tide\", \"arguments\": ", "{\"port\": \""].map(Token::markup));
    tokens.extend(said(&port));
    tokens.extend(["\"}", "}\n", "</tool_call>"].map(Token::markup));
    let message = Message {
        thought: thought.concat(),
        content: content.concat(),
        arguments: format!("{{\"port\": \"{}\"}}", port.concat()),
    };
    (tokens, message)
}

/// Microseconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64)
}

/// A token as it is sent now.
pub fn stamped(token: &Token) -> String {
    if token.stamped { format!("{}{OPEN}{:x}{CLOSE}", token.text, now()) } else { token.text.clone() }
}

/// Text with its stamps taken out as it comes, and the age of each.
#[derive(Default)]
pub struct Unstamped {
    pub text: String,
    stamp: Option<String>,
}

impl Unstamped {
    pub fn push(&mut self, text: &str, ages: &mut Vec<u32>) {
        let now = now();
        for letter in text.chars() {
            match (&mut self.stamp, letter) {
                (None, OPEN) => self.stamp = Some(String::new()),
                (None, letter) => self.text.push(letter),
                (Some(stamp), CLOSE) => {
                    let sent = u64::from_str_radix(stamp, 16).unwrap_or(0);
                    ages.push(u32::try_from(now.saturating_sub(sent)).unwrap_or(u32::MAX));
                    self.stamp = None;
                }
                (Some(stamp), letter) => stamp.push(letter),
            }
        }
    }
}
