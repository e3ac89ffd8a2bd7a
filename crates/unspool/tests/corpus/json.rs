//! JSON as values that compare exactly: numbers as decimals, the last of equal keys, any order of keys.

use std::collections::BTreeMap;

/// Maximum nesting that is parsed; deeper texts are compared by their bytes.
const DEPTH: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(Decimal),
    /// UTF-16 units, so that half a surrogate pair is a value like any other.
    String(Vec<u16>),
    Array(Vec<Json>),
    Object(BTreeMap<Vec<u16>, Json>),
}

/// `digits` * 10^`exponent`, without zeros at either end; zero has no digits and no sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: String,
    exponent: i128,
}

impl Json {
    /// Reads one JSON value, strictly after RFC 8259.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader { bytes: text.as_bytes(), text, at: 0 };
        let value = reader.value(0)?;
        reader.blanks();
        if reader.at < text.len() { Err(reader.fault("text after the value")) } else { Ok(value) }
    }

    /// The longest string value anywhere inside, in UTF-16 units.
    pub(crate) fn longest_string(&self) -> usize {
        match self {
            Self::String(units) => units.len(),
            Self::Array(items) => items.iter().map(Self::longest_string).max().unwrap_or(0),
            Self::Object(map) => map.values().map(Self::longest_string).max().unwrap_or(0),
            _ => 0,
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn fault(&self, what: &str) -> String {
        format!("{what} at byte {}", self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> Result<(), String> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.fault(&format!("no {:?}", char::from(byte))))
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEPTH {
            return Err(self.fault("nested too deep"));
        }
        self.blanks();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Json::Number),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Json, String> {
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))] {
            if self.bytes[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.fault("no value"))
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        let mut map = BTreeMap::new();
        self.eat(b'{')?;
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(map));
        }
        loop {
            self.blanks();
            let key = self.string()?;
            self.blanks();
            self.eat(b':')?;
            map.insert(key, self.value(depth + 1)?);
            self.blanks();
            if self.peek() != Some(b',') {
                self.eat(b'}')?;
                return Ok(Json::Object(map));
            }
            self.at += 1;
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, String> {
        let mut items = Vec::new();
        self.eat(b'[')?;
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            if self.peek() != Some(b',') {
                self.eat(b']')?;
                return Ok(Json::Array(items));
            }
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<Vec<u16>, String> {
        let mut units = Vec::new();
        self.eat(b'"')?;
        loop {
            let rest = &self.text[self.at..];
            let Some(character) = rest.chars().next() else { return Err(self.fault("open string")) };
            match character {
                '"' => {
                    self.at += 1;
                    return Ok(units);
                }
                '\\' => units.push(self.escape()?),
                '\0'..='\x1f' => return Err(self.fault("raw control character")),
                _ => {
                    self.at += character.len_utf8();
                    units.extend_from_slice(character.encode_utf16(&mut [0; 2]));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<u16, String> {
        self.at += 1;
        let letter = self.peek().ok_or_else(|| self.fault("open escape"))?;
        self.at += 1;
        Ok(match letter {
            b'"' | b'\\' | b'/' => u16::from(letter),
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'u' => {
                let hex = self.bytes.get(self.at..self.at + 4).ok_or_else(|| self.fault("short escape"))?;
                let hex = std::str::from_utf8(hex).map_err(|_| self.fault("bad escape"))?;
                if hex.starts_with('+') {
                    return Err(self.fault("bad escape"));
                }
                let unit = u16::from_str_radix(hex, 16).map_err(|_| self.fault("bad escape"))?;
                self.at += 4;
                unit
            }
            _ => return Err(self.fault("unknown escape")),
        })
    }

    fn digits(&mut self) -> Result<&str, String> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if start == self.at { Err(self.fault("no digit")) } else { Ok(&self.text[start..self.at]) }
    }

    fn number(&mut self) -> Result<Decimal, String> {
        let negative = self.eat(b'-').is_ok();
        let mut digits = self.digits()?.to_owned();
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(self.fault("zero before a number"));
        }
        let mut exponent = 0;
        if self.eat(b'.').is_ok() {
            let fraction = self.digits()?;
            exponent -= fraction.len() as i128;
            digits.push_str(fraction);
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            let down = self.eat(b'-').is_ok();
            if !down {
                let _ = self.eat(b'+');
            }
            let shift: i128 = self.digits()?.parse().map_err(|_| self.fault("exponent out of reach"))?;
            exponent += if down { -shift } else { shift };
        }
        Ok(Decimal::new(negative, &digits, exponent))
    }
}

impl Decimal {
    fn new(negative: bool, digits: &str, exponent: i128) -> Self {
        let digits = digits.trim_start_matches('0');
        let short = digits.trim_end_matches('0');
        if short.is_empty() {
            return Self { negative: false, digits: String::new(), exponent: 0 };
        }
        Self { negative, digits: short.to_owned(), exponent: exponent + (digits.len() - short.len()) as i128 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        Json::parse(a).unwrap() == Json::parse(b).unwrap()
    }

    #[test]
    fn numbers_are_exact_decimals() {
        assert!(same("1e3", "1000.0") && same("1000", "1000.0") && same("-0.50", "-5E-1") && same("0", "-0.0"));
        assert!(!same("9007199254740993", "9007199254740992"));
        assert!(!same("0.1", "0.10000000000000001"));
        assert!(!same("1", "true") && !same("0", "null") && !same("1", "\"1\""));
    }

    #[test]
    fn objects_take_the_last_key_in_any_order() {
        assert!(same(r#"{"a": 1, "b": [2], "a": 3}"#, r#"{"b":[2],"a":3}"#));
        assert!(!same(r#"{"a": 1}"#, r#"{"a": 1, "b": null}"#));
    }

    #[test]
    fn strings_compare_by_what_they_say() {
        assert!(same(r#""\u00e9\ud83c\udf75\/""#, "\"é🍵/\""));
        assert!(!same(r#""\ud83c""#, r#""\ud83d""#));
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in ["", "{", "{\"a\":1,}", "01", "1.", "+1", "NaN", "\"\n\"", "[1] 2", "\"\\x\"", "nul", "\"\\u+123\""]
        {
            assert!(Json::parse(text).is_err(), "{text}");
        }
    }
}
