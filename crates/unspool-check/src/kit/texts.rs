//! Random texts made of a format's markers, its examples and plain words.

use unspool::format::file::FormatFile;
use unspool::format::template::{Part, Template};
use unspool_text::Rng;

/// Pieces that look like the beginning of something.
const PIECES: [&str; 26] = [
    "word",
    " and ",
    "Looe",
    ". ",
    ", ",
    "\n",
    "\n\n",
    " ",
    "é",
    "潮",
    "5",
    "null",
    "true",
    "<",
    ">",
    "</",
    "<b>",
    "[",
    "]",
    "{",
    "}",
    "{\"a\": 1}",
    "(",
    ")",
    "\"",
    "'",
];

/// Pieces of texts.
pub(super) struct Pieces {
    own: Vec<String>,
}

impl Pieces {
    /// The pieces of some formats.
    pub(super) fn new(words: &[&FormatFile]) -> Self {
        let mut own = Vec::new();
        for file in words {
            for template in templates(file) {
                let Ok(template) = Template::parse(template) else { continue };
                own.extend(template.parts.iter().filter_map(|part| match part {
                    Part::Text(text) | Part::Optional(text) | Part::Free(text) => Some(text.clone()),
                    _ => None,
                }));
            }
            own.extend(file.content.drop.iter().chain(&*file.reasoning.ends).cloned());
            own.extend(file.example.iter().flat_map(|example| fragments(&example.text)));
        }
        own.retain(|text| !text.is_empty());
        Self { own }
    }

    /// A text, and its words that occur nowhere else.
    pub(super) fn glued(&self, rng: &mut Rng) -> (String, Vec<String>) {
        let (mut out, mut words) = (String::new(), Vec::new());
        for number in 0..2 + rng.below(14) {
            match rng.below(8) {
                0 => {
                    let word = format!("zq{number}qz");
                    out.push_str(&word);
                    words.push(word);
                }
                1 | 2 => out.push_str(PIECES[rng.below(PIECES.len())]),
                3 => {
                    // A truncated marker.
                    let whole = self.any(rng);
                    let ends: Vec<usize> = whole.char_indices().map(|(at, _)| at).collect();
                    out.push_str(&whole[..ends[rng.below(ends.len())]]);
                }
                _ => out.push_str(self.any(rng)),
            }
        }
        (out, words)
    }

    fn any(&self, rng: &mut Rng) -> &str {
        match self.own.len() {
            0 => "text",
            count => &self.own[rng.below(count)],
        }
    }
}

/// All templates of a file.
pub(super) fn templates(file: &FormatFile) -> impl Iterator<Item = &String> {
    let tools = &file.tools;
    let thoughts = file.reasoning.thought.iter().chain(&*file.content.frame);
    thoughts.chain(&*tools.block).chain(&*tools.call).chain(&*tools.param).chain(&*tools.between)
}

/// Splits before openers and after closers.
fn fragments(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut cut = true;
    for c in text.chars() {
        let opens = matches!(c, '<' | '[' | '{' | '(' | '"' | ' ' | '\n');
        match out.last_mut() {
            Some(last) if !cut && !opens => last.push(c),
            _ => out.push(c.to_string()),
        }
        cut = matches!(c, '>' | ']' | '}' | ')' | '\n' | ',' | ':');
    }
    out
}
