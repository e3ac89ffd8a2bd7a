//! Expressions and choices as grammars in llama.cpp's notation, GBNF.
//!
//! An expression is one that matches the whole answer. What GBNF cannot say is refused: looking around, references to groups, borders
//! of words, and anchors inside. `\d`, `\w` and `\s` are those of ASCII.

use std::fmt::Write as _;

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};
use serde_json::Value;

use crate::error::ApiError;

/// Longest expression that is read.
const LONGEST: usize = 1 << 10;
/// Longest grammar.
const MOST: usize = 256 << 10;
/// What llama.cpp takes of nested counts, which it writes out.
const MOST_REPEATED: u32 = 1000;
/// Most characters and ranges of a grammar, each counted as often as it is repeated.
const MOST_WRITTEN: usize = 100_000;

/// The grammar of `structured_outputs`; `None`: it asks for neither an expression nor a choice.
pub(crate) fn of(outputs: &Value) -> Option<Result<String, ApiError>> {
    if let Some(choice) = outputs.get("choice").filter(|choice| !choice.is_null()) {
        return Some(one_of(choice));
    }
    let regex = outputs.get("regex").filter(|regex| !regex.is_null())?;
    Some(match regex.as_str() {
        Some(pattern) => matching(pattern),
        None => refused("regex", "must be a text"),
    })
}

fn refused<T>(field: &str, what: &str) -> Result<T, ApiError> {
    let field = format!("structured_outputs.{field}");
    Err(ApiError::bad_field(&field, format!("`{field}` {what}")))
}

fn one_of(choice: &Value) -> Result<String, ApiError> {
    let texts = choice.as_array().and_then(|texts| texts.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    let Some(texts) = texts.filter(|texts| !texts.is_empty()) else {
        return refused("choice", "must be a list of texts, one at least");
    };
    let mut out = String::from("root ::= ");
    for (number, text) in texts.into_iter().enumerate() {
        out.push_str(if number > 0 { " | " } else { "" });
        literal(text, &mut out);
    }
    match out.len() {
        ..=MOST => Ok(out),
        length => refused("choice", &format!("makes a grammar of {length} bytes; {MOST} are allowed")),
    }
}

fn matching(pattern: &str) -> Result<String, ApiError> {
    if pattern.len() > LONGEST {
        return refused("regex", &format!("has {} bytes; {LONGEST} are allowed", pattern.len()));
    }
    let parsed = regex_syntax::ParserBuilder::new().nest_limit(100).build().parse(&of_ascii(pattern));
    let hir = match parsed {
        Ok(hir) => hir,
        Err(error) => {
            let why = match &error {
                regex_syntax::Error::Parse(error) => error.kind().to_string(),
                regex_syntax::Error::Translate(error) => error.kind().to_string(),
                _ => "it cannot be read".to_owned(),
            };
            return refused("regex", &format!("cannot be held by this backend: {why}"));
        }
    };
    let mut out = String::from("root ::= ");
    let told = Writer { out: &mut out, repeated: 1, written: 0 }.top(&hir);
    match told {
        Ok(()) if out.len() <= MOST => Ok(out),
        Ok(()) => refused("regex", &format!("makes a grammar of more than {MOST} bytes")),
        Err(why) => refused("regex", &format!("cannot be held by this backend: {why}")),
    }
}

/// The pattern with its classes of ASCII written out: those of all scripts have thousands of characters, and models write none of
/// them for a number.
fn of_ascii(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('d') => out.push_str("[0-9]"),
            Some('D') => out.push_str("[^0-9]"),
            Some('w') => out.push_str("[0-9A-Za-z_]"),
            Some('W') => out.push_str("[^0-9A-Za-z_]"),
            Some('s') => out.push_str(r"[\t\n\x0B\x0C\r\x20]"),
            Some('S') => out.push_str(r"[^\t\n\x0B\x0C\r\x20]"),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

struct Writer<'a> {
    out: &'a mut String,
    /// How often the part that is written is repeated.
    repeated: u32,
    /// Characters and ranges so far, with their repetitions.
    written: usize,
}

impl Writer<'_> {
    /// The whole expression, whose anchors say what holds anyway.
    fn top(&mut self, hir: &Hir) -> Result<(), String> {
        match hir.kind() {
            HirKind::Look(Look::Start | Look::End) => self.write(&Hir::empty()),
            HirKind::Concat(parts) => {
                let start = parts.iter().take_while(|part| matches!(part.kind(), HirKind::Look(Look::Start))).count();
                let end = parts.iter().rev().take_while(|part| matches!(part.kind(), HirKind::Look(Look::End))).count();
                self.write(&Hir::concat(parts[start..parts.len() - end].to_vec()))
            }
            _ => self.write(hir),
        }
    }

    fn write(&mut self, hir: &Hir) -> Result<(), String> {
        if self.out.len() > MOST {
            return Err(format!("its grammar would have more than {MOST} bytes"));
        }
        match hir.kind() {
            HirKind::Empty => self.out.push_str("\"\""),
            HirKind::Literal(text) => match std::str::from_utf8(&text.0) {
                Ok(text) => {
                    self.count(text.len())?;
                    literal(text, self.out);
                }
                Err(_) => return Err("it matches bytes that are no text".to_owned()),
            },
            HirKind::Class(class) => self.class(class)?,
            HirKind::Look(_) => return Err("anchors and word boundaries inside it are not supported".to_owned()),
            HirKind::Repetition(repetition) => self.repetition(repetition)?,
            HirKind::Capture(capture) => self.write(&capture.sub)?,
            HirKind::Concat(parts) => self.all(parts, " ")?,
            HirKind::Alternation(parts) => self.all(parts, " | ")?,
        }
        Ok(())
    }

    /// Counts what llama.cpp will write out.
    fn count(&mut self, parts: usize) -> Result<(), String> {
        self.written = self.written.saturating_add(parts.saturating_mul(self.repeated as usize));
        match self.written {
            ..=MOST_WRITTEN => Ok(()),
            _ => Err(format!("its repetitions have more than {MOST_WRITTEN} characters")),
        }
    }

    fn all(&mut self, parts: &[Hir], between: &str) -> Result<(), String> {
        self.out.push('(');
        for (number, part) in parts.iter().enumerate() {
            self.out.push_str(if number > 0 { between } else { "" });
            self.write(part)?;
        }
        self.out.push(')');
        Ok(())
    }

    fn repetition(&mut self, repetition: &Repetition) -> Result<(), String> {
        let outer = self.repeated;
        self.repeated = outer.saturating_mul(repetition.max.unwrap_or(repetition.min).max(1));
        if self.repeated > MOST_REPEATED {
            return Err(format!("it counts to {} where {MOST_REPEATED} is allowed", self.repeated));
        }
        self.out.push('(');
        self.write(&repetition.sub)?;
        self.out.push(')');
        self.repeated = outer;
        let (least, most) = (repetition.min, repetition.max);
        let written = match (least, most) {
            (0, None) => self.out.write_str("*"),
            (1, None) => self.out.write_str("+"),
            (0, Some(1)) => self.out.write_str("?"),
            (least, None) => write!(self.out, "{{{least},}}"),
            (least, Some(most)) => write!(self.out, "{{{least},{most}}}"),
        };
        written.map_err(|error| error.to_string())
    }

    fn class(&mut self, class: &Class) -> Result<(), String> {
        if class.is_empty() {
            return Err("a part of it matches nothing".to_owned());
        }
        let Class::Unicode(class) = class else { return Err("it matches bytes that are no text".to_owned()) };
        self.count(class.ranges().len())?;
        self.out.push('[');
        for range in class.ranges() {
            character(range.start(), self.out);
            if range.start() != range.end() {
                self.out.push('-');
                character(range.end(), self.out);
            }
        }
        self.out.push(']');
        Ok(())
    }
}

fn literal(text: &str, out: &mut String) {
    out.push('"');
    text.chars().for_each(|letter| character(letter, out));
    out.push('"');
}

/// A character as it stands both in a text and in a class.
fn character(letter: char, out: &mut String) {
    if letter.is_ascii_alphanumeric() || letter == ' ' {
        return out.push(letter);
    }
    let code = u32::from(letter);
    // Nothing is written that a text cannot hold.
    let _ = match code {
        ..=0xFF => write!(out, "\\x{code:02X}"),
        0x100..=0xFFFF => write!(out, "\\u{code:04X}"),
        _ => write!(out, "\\U{code:08X}"),
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn regex(pattern: &str) -> Result<String, String> {
        of(&json!({"regex": pattern})).expect("it is asked for").map_err(|error| error.message)
    }

    #[test]
    fn expressions_become_grammars() {
        for (pattern, grammar) in [
            ("yes", r#""yes""#),
            ("^yes$", r#""yes""#),
            ("(yes|no)", r#"("yes" | "no")"#),
            (r"\d{3}", r"([0-9]){3,3}"),
            (r"[a-z]+?", r"([a-z])+"),
            (r"v\d+\.\d*x?", r#"("v" ([0-9])+ "\x2E" ([0-9])* ("x")?)"#),
            (r"[\w\]-]{2,}", r"([\x2D0-9A-Z\x5D\x5Fa-z]){2,}"),
            ("(?P<a>é)", r#""\xE9""#),
            ("日|\u{1F600}", r"[\u65E5\U0001F600]"),
            ("a\"\\n", r#""a\x22\x0A""#),
            ("", r#""""#),
            ("[^x]", r"[\x00-wy-\U0010FFFF]"),
        ] {
            assert_eq!(regex(pattern), Ok(format!("root ::= {grammar}")), "{pattern}");
        }
    }

    #[test]
    fn what_cannot_be_said_is_refused() {
        for (pattern, why) in [
            ("(?=a)b", "look-around"),
            (r"(a)\1", "backreferences"),
            (r"a\b", "word boundaries"),
            ("a^b", "anchor"),
            ("(a{100}){100}", "counts to 10000"),
            (&"a{1000}".repeat(101), "repetitions"),
            ("a(", "unclosed"),
            ("[a&&b]", "nothing"),
            (&format!("{}a{}", "(".repeat(200), ")".repeat(200)), "nest"),
            (&"a".repeat(LONGEST + 1), "bytes"),
            (&r"\pL".repeat(200), "bytes"),
        ] {
            let told = regex(pattern).expect_err(pattern);
            assert!(told.contains(why) && told.contains("structured_outputs.regex"), "{why}: {told}");
        }
    }

    #[test]
    fn choices_become_grammars() {
        let of = |choice: Value| of(&json!({"choice": choice})).expect("it is asked for");
        assert_eq!(of(json!(["a \"b\"", "c\\"])), Ok(r#"root ::= "a \x22b\x22" | "c\x5C""#.to_owned()));
        for odd in [json!([]), json!("a"), json!([1]), json!([&"a".repeat(MOST)])] {
            assert_eq!(of(odd).map_err(|error| error.param), Err(Some("structured_outputs.choice".to_owned())));
        }
        assert_eq!(super::of(&json!({"grammar": "root ::= \"a\""})), None);
    }
}
