//! Extracts the input of a custom tool from its arguments while they are written.

use serde_json::Value;

use super::tools::CUSTOM_INPUT;

/// Reads `{"input": "…"}` incrementally. Arguments of another shape are the input verbatim.
#[derive(Debug, Default)]
pub(super) struct CustomInput {
    all: String,
    /// How much of `all` is read.
    read: usize,
    said: String,
    place: Place,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Inside,
    Behind,
}

impl CustomInput {
    /// Takes more of the arguments, and returns the input as far as it is certain.
    pub(super) fn push(&mut self, arguments: &str) -> String {
        self.all.push_str(arguments);
        if self.place == Place::Before
            && let Some(at) = opening(&self.all)
        {
            self.read = at;
            self.place = Place::Inside;
        }
        let start = self.said.len();
        if self.place == Place::Inside {
            self.decode();
        }
        self.said[start..].to_owned()
    }

    /// The rest of the input at the end of the arguments, and all of it.
    pub(super) fn finish(mut self) -> (String, String) {
        if self.place != Place::Before {
            return (String::new(), self.said);
        }
        let object: Option<Value> = serde_json::from_str(&self.all).ok();
        let input = object.as_ref().and_then(|object| object.get(CUSTOM_INPUT)).and_then(Value::as_str);
        let input = input.map_or_else(|| std::mem::take(&mut self.all), str::to_owned);
        (input.clone(), input)
    }

    fn decode(&mut self) {
        while let Some(at) = self.all[self.read..].find(['"', '\\']) {
            let at = self.read + at;
            self.said.push_str(&self.all[self.read..at]);
            self.read = at;
            if self.all.as_bytes()[at] == b'"' {
                self.place = Place::Behind;
                return;
            }
            let Some((character, length)) = escape(&self.all[at..]) else { return };
            self.said.push(character);
            self.read += length;
        }
        self.said.push_str(&self.all[self.read..]);
        self.read = self.all.len();
    }
}

/// The start of the input's text, if the arguments have the expected beginning.
fn opening(arguments: &str) -> Option<usize> {
    let mut rest = arguments.trim_start().strip_prefix('{')?.trim_start().strip_prefix('"')?;
    rest = rest.strip_prefix(CUSTOM_INPUT)?.strip_prefix('"')?.trim_start();
    rest = rest.strip_prefix(':')?.trim_start().strip_prefix('"')?;
    Some(arguments.len() - rest.len())
}

/// The character of an escape and the escape's length; `None` if it is incomplete.
fn escape(text: &str) -> Option<(char, usize)> {
    let simple = |character| Some((character, 2));
    match text.as_bytes().get(1)? {
        b'n' => simple('\n'),
        b't' => simple('\t'),
        b'r' => simple('\r'),
        b'b' => simple('\u{8}'),
        b'f' => simple('\u{c}'),
        b'u' => {
            let Some(first) = unit(text)? else { return simple(char::REPLACEMENT_CHARACTER) };
            if !(0xd800..0xdc00).contains(&first) {
                return Some((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6));
            }
            // The first half of a pair; the second one may follow.
            let rest = &text[6..];
            let second = match rest.as_bytes() {
                [] | [b'\\'] => return None,
                [b'\\', b'u', ..] => unit(rest)?,
                _ => None,
            };
            match second {
                Some(second @ 0xdc00..0xe000) => {
                    let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                    Some((char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12))
                }
                _ => Some((char::REPLACEMENT_CHARACTER, 6)),
            }
        }
        _ => text[1..].chars().next().map(|character| (character, 1 + character.len_utf8())),
    }
}

/// The number of a `\uXXXX`; outer `None`: incomplete; inner `None`: not a number.
fn unit(text: &str) -> Option<Option<u32>> {
    let digits = text.as_bytes().get(2..6)?;
    let number = |digits| u32::from_str_radix(digits, 16).ok();
    Some(std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+')).and_then(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &str, cut: usize) -> (String, String, usize) {
        let (mut input, mut said, mut deltas) = (CustomInput::default(), String::new(), 0);
        let characters: Vec<char> = arguments.chars().collect();
        for piece in characters.chunks(cut) {
            let more = input.push(&piece.iter().collect::<String>());
            deltas += usize::from(!more.is_empty());
            said.push_str(&more);
        }
        let (rest, all) = input.finish();
        (said + &rest, all, deltas)
    }

    #[test]
    fn every_cut_gives_the_same_input() {
        for (arguments, expected) in [
            (r#"{"input": "a \"b\"\\\n\u00e9 \ud83d\udef6 🛶/\/"}"#, "a \"b\"\\\né 🛶 🛶//"),
            (r#" { "input" :"\ud83dx\udef6"}"#, "\u{fffd}x\u{fffd}"),
            (r#"{"input": "\ud83d🛶\ud83dé\ud83d\n"}"#, "\u{fffd}🛶\u{fffd}é\u{fffd}\n"),
            (r#"{"input": "\uaéx\u🛶\u12"}"#, "\u{fffd}aéx\u{fffd}🛶\u{fffd}12"),
            (r#"{"input": "cut o"#, "cut o"),
            (r#"{"other": 1, "input": "later"}"#, "later"),
            (r#"{"input": 3}"#, r#"{"input": 3}"#),
            ("no JSON", "no JSON"),
            (r#"{"input": ""}"#, ""),
            ("", ""),
        ] {
            for cut in [1, 2, 3, 7, 100] {
                let (said, all, _) = read(arguments, cut);
                assert_eq!((said.as_str(), all.as_str()), (expected, expected), "{arguments} by {cut}");
            }
        }
        assert!(read(r#"{"input": "as it is written"}"#, 1).2 > 10);
    }
}
