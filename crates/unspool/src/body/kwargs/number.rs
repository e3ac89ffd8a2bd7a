//! Python numbers as JSON numbers, digit for digit.

use std::borrow::Cow;

use crate::typing::{is_plain, with_base};

/// The JSON text of a Python number; `None` if `text` is not one.
///
/// A float beyond a double has no JSON value that a reader can represent: it keeps its digits as a string.
pub(super) fn to_json(text: &str) -> Option<Cow<'_, str>> {
    if is_plain(text) {
        return Some(Cow::Borrowed(text));
    }
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    if let Some(number) = with_base(text) {
        return Some(number);
    }
    let number = decimal(digits)?;
    let json = format!("{sign}{number}");
    let is_integer = json.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    if !is_integer && json.parse::<f64>().is_ok_and(f64::is_infinite) {
        return Some(Cow::Owned(format!("\"{json}\"")));
    }
    Some(Cow::Owned(json))
}

/// Whether `digits` is a run of digits with single `_` between them.
fn is_run(digits: &str) -> bool {
    !digits.is_empty()
        && !digits.starts_with('_')
        && !digits.ends_with('_')
        && !digits.contains("__")
        && digits.chars().all(|c| c == '_' || c.is_ascii_digit())
}

/// A decimal number: removes leading zeros, and adds a missing digit before or after the point.
fn decimal(text: &str) -> Option<String> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(i) => (&text[..i], Some(&text[i..])),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let part_fits = |part: &str| part.is_empty() || is_run(part);
    if !part_fits(whole) || !fraction.is_none_or(part_fits) || (whole.is_empty() && fraction.is_none_or(str::is_empty))
    {
        return None;
    }
    let plain: String = whole.chars().filter(|c| *c != '_').collect();
    let trimmed = plain.trim_start_matches('0');
    let mut json = if trimmed.is_empty() { "0".to_owned() } else { trimmed.to_owned() };
    if let Some(fraction) = fraction {
        json.push('.');
        json.extend(fraction.chars().filter(|c| *c != '_'));
        if fraction.is_empty() {
            json.push('0');
        }
    }
    if let Some(exponent) = exponent {
        let power = exponent[1..].trim_start_matches(['+', '-']);
        if exponent.len() - power.len() > 2 || !is_run(power) {
            return None;
        }
        json.extend(exponent.chars().filter(|c| *c != '_'));
    }
    Some(json)
}

#[cfg(test)]
mod tests {
    use super::to_json;

    #[test]
    fn numbers_keep_their_digits() {
        for (python, json) in [
            ("3", "3"),
            ("-7", "-7"),
            ("+7", "7"),
            ("007", "7"),
            ("000", "0"),
            ("1_000", "1000"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("0.50", "0.50"),
            (".5", "0.5"),
            ("5.", "5.0"),
            ("1.e3", "1.0e3"),
            ("01.5", "1.5"),
            ("1e3", "1e3"),
            ("1E+05", "1E+05"),
            ("1e-999", "1e-999"),
            ("-0.0", "-0.0"),
            ("0x1F", "31"),
            ("-0b101", "-5"),
            ("0o17", "15"),
            ("0x_ff", "255"),
            ("0xFFFFFFFFFFFFFFFFFFFFFFFF", "79228162514264337593543950335"),
            ("1e999", "\"1e999\""),
            ("-1e999", "\"-1e999\""),
        ] {
            assert_eq!(to_json(python).as_deref(), Some(json), "{python}");
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in
            ["", "-", ".", "1j", "12x", "1__0", "_1", "1_", "0x", "0b2", "1e", "1e+-5", "1.2.3", "--1", "1e5e5", "0xg"]
        {
            assert_eq!(to_json(text), None, "{text}");
        }
    }
}
