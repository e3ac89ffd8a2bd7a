//! Numbers as text: converts Python's spellings to JSON's, digit by digit.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a text is a JSON number that every reader can represent: without an exponent, and not too long.
pub(crate) fn is_plain(text: &str) -> bool {
    const LONGEST: usize = 300;
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let fits = whole == 1 || whole > 1 && digits[0] != b'0';
    let fraction = match &digits[whole..] {
        [] => true,
        [b'.', fraction @ ..] => !fraction.is_empty() && fraction.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    fits && fraction && text.len() <= LONGEST
}

/// The JSON number for an integer's text, which may have `_` between digits.
pub(super) fn integer(text: &str) -> Option<Cow<'_, str>> {
    if is_plain(text) && text != "-0" {
        return (!text.contains('.')).then_some(Cow::Borrowed(text));
    }
    let (negative, rest) = sign(text);
    let (digits, end) = digits(rest)?;
    (end == rest.len()).then_some(())?;
    let json = Parts { negative, whole: &digits, fraction: "", exponent: "" }.json(text);
    is_finite(&json).then_some(json)
}

/// The JSON number for a number's text.
pub(super) fn number(text: &str) -> Option<Cow<'_, str>> {
    if is_plain(text) && text != "-0" {
        return Some(Cow::Borrowed(text));
    }
    let (negative, mut rest) = sign(text);
    let mut whole = Cow::Borrowed("");
    if let Some((digits, end)) = digits(rest) {
        whole = digits;
        rest = &rest[end..];
    }
    let mut fraction = Cow::Borrowed("");
    if let Some(after) = rest.strip_prefix('.') {
        rest = after;
        if let Some((digits, end)) = digits(rest) {
            fraction = digits;
            rest = &rest[end..];
        } else if !whole.is_empty() {
            fraction = Cow::Borrowed("0");
        }
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut exponent = Cow::Borrowed("");
    if let Some(after) = rest.strip_prefix(['e', 'E']) {
        let signed = after.strip_prefix(['+', '-']).unwrap_or(after);
        let (digits, end) = digits(signed)?;
        let mark = &rest[..rest.len() - signed.len()];
        exponent = if end == digits.len() {
            Cow::Borrowed(&rest[..mark.len() + end])
        } else {
            Cow::Owned(format!("{mark}{digits}"))
        };
        rest = &signed[end..];
    }
    if !rest.is_empty() {
        return None;
    }
    let json = Parts { negative, whole: &whole, fraction: &fraction, exponent: &exponent }.json(text);
    is_finite(&json).then_some(json)
}

/// Maximum digits of a hexadecimal, octal or binary number to convert, because the work is quadratic.
const MOST_BASE_DIGITS: usize = 4096;

/// The decimal digits of `0x10`, `0o17` or `0b11`, which may have `_` before and between digits.
pub(super) fn with_base(text: &str) -> Option<Cow<'_, str>> {
    let (negative, rest) = sign(text);
    let (prefix, digits) = rest.split_at_checked(2)?;
    let base = match prefix {
        "0x" | "0X" => 16,
        "0o" | "0O" => 8,
        "0b" | "0B" => 2,
        _ => return None,
    };
    let digits = digits.strip_prefix('_').unwrap_or(digits);
    let is_run = !digits.starts_with('_') && !digits.ends_with('_') && !digits.contains("__");
    if digits.is_empty() || !is_run || digits.len() > MOST_BASE_DIGITS {
        return None;
    }
    let decimal = decimal(digits, base)?;
    Some(Cow::Owned(format!("{}{decimal}", if negative && decimal != "0" { "-" } else { "" })))
}

/// The decimal digits of a number in another base.
fn decimal(digits: &str, base: u32) -> Option<String> {
    const LIMB: u64 = 1_000_000_000;
    let mut limbs: Vec<u64> = Vec::new();
    for digit in digits.chars().filter(|c| *c != '_') {
        let mut carry = u64::from(digit.to_digit(base)?);
        for limb in &mut limbs {
            let value = *limb * u64::from(base) + carry;
            *limb = value % LIMB;
            carry = value / LIMB;
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let mut decimal = limbs.last().map_or_else(|| "0".to_owned(), u64::to_string);
    for limb in limbs.iter().rev().skip(1) {
        let _ = write!(decimal, "{limb:09}");
    }
    Some(decimal)
}

/// Whether a JSON number fits double precision.
pub(super) fn is_finite(json: &str) -> bool {
    json.parse::<f64>().is_ok_and(f64::is_finite)
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// The digits at the start of `text` without the `_` between them, and where they end.
fn digits(text: &str) -> Option<(Cow<'_, str>, usize)> {
    let bytes = text.as_bytes();
    let is_digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    if !is_digit(0) {
        return None;
    }
    let mut end = 1;
    while is_digit(end) || bytes.get(end) == Some(&b'_') && is_digit(end + 1) {
        end += 1;
    }
    let run = &text[..end];
    Some((if run.contains('_') { Cow::Owned(run.replace('_', "")) } else { Cow::Borrowed(run) }, end))
}

/// The parts of a number.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: &'a str,
}

impl Parts<'_> {
    /// The JSON number; `text` itself if it is that.
    fn json<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let whole = match self.whole.trim_start_matches('0') {
            "" => "0",
            trimmed => trimmed,
        };
        let minus = if self.negative && !(whole == "0" && self.fraction.is_empty()) { "-" } else { "" };
        let point = if self.fraction.is_empty() { "" } else { "." };
        let json = format!("{minus}{whole}{point}{}{}", self.fraction, self.exponent);
        if json == text { Cow::Borrowed(text) } else { Cow::Owned(json) }
    }
}
