//! The beginning of keyword arguments: `name =`.

use crate::limits::Limits;
use crate::scan::{Literal, Match, blanks};

/// Whether a byte may begin a keyword's name.
fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

/// Whether a byte may be part of a keyword's name.
fn in_name(byte: u8) -> bool {
    begins_name(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
}

/// Length of the name at the start of `rest`: `Full` once its end is seen.
pub(crate) fn name(rest: &[u8], limits: &Limits) -> Match {
    if !rest.first().is_none_or(|b| begins_name(*b)) {
        return Match::No;
    }
    match rest.iter().take(limits.name + 1).position(|b| !in_name(*b)) {
        Some(n) => Match::Full(n),
        None if rest.len() > limits.name => Match::No,
        None => Match::Partial,
    }
}

/// Whether `rest` begins with a keyword, `name =` but not `name ==`; `Full` gives the length before the `=`.
pub(crate) fn keyword(rest: &[u8], eof: bool, limits: &Limits) -> Match {
    let Match::Full(n) = name(rest, limits) else { return name(rest, limits) };
    let gap = blanks(&rest[n..]);
    if gap > limits.blank {
        return Match::No;
    }
    match (rest.get(n + gap), rest.get(n + gap + 1)) {
        (Some(b'='), Some(b'=')) => Match::No,
        (Some(b'='), Some(_)) => Match::Full(n + gap),
        (Some(b'='), None) if eof => Match::Full(n + gap),
        (Some(b'=') | None, None) => Match::Partial,
        _ => Match::No,
    }
}

/// Whether keyword arguments begin after a `(`: its `)`, or `name =`. `Full` gives the bytes examined.
pub(crate) fn arguments(input: &str, eof: bool, limits: &Limits) -> Match {
    let bytes = input.as_bytes();
    let gap = blanks(bytes);
    let found = match bytes.get(gap) {
        _ if gap > limits.blank => Match::No,
        None => Match::Partial,
        Some(b')') => Match::Full(1),
        Some(_) => keyword(&bytes[gap..], eof, limits),
    };
    match found {
        Match::Full(n) => Match::Full(gap + n),
        Match::Partial if eof => Match::No,
        other => other,
    }
}

/// Whether `rest` begins, after white space, with a bracket and a key with its `:` or `=`, or the closing bracket. Keys
/// may also be between `open` and `close`.
pub(crate) fn members(rest: &[u8], (open, close): (&Literal, &Literal), limits: &Limits) -> Match {
    let mut at = blanks(rest);
    let closer = match rest.get(at) {
        None => return Match::Partial,
        Some(b'{') => b'}',
        Some(b'(') => b')',
        Some(_) => return Match::No,
    };
    at += 1;
    let gap = blanks(&rest[at..]);
    at += gap;
    match rest.get(at) {
        _ if gap > limits.blank => Match::No,
        None => Match::Partial,
        Some(byte) if *byte == closer => Match::Full(at + 1),
        Some(quote @ (b'"' | b'\'')) => quoted(&rest[at + 1..], std::slice::from_ref(quote), limits),
        Some(_) => match open.at(&rest[at..]) {
            Match::Full(n) => quoted(&rest[at + n..], close.text().as_bytes(), limits),
            Match::Partial => Match::Partial,
            Match::No => bare(&rest[at..], limits),
        },
    }
}

/// Whether a byte separates a key from its value.
fn separates(byte: u8) -> bool {
    matches!(byte, b':' | b'=')
}

/// Whether `rest` begins with a key without quotes and its separator.
fn bare(rest: &[u8], limits: &Limits) -> Match {
    let ends = |b: &u8| separates(*b) || matches!(b, b',' | b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'<' | b'\n');
    match rest.iter().take(limits.name + 1).position(ends) {
        Some(n) if n > 0 && separates(rest[n]) => Match::Full(n),
        Some(_) => Match::No,
        None if rest.len() > limits.name => Match::No,
        None => Match::Partial,
    }
}

/// Whether `rest` begins with a key's text, its closing quote and its separator.
fn quoted(rest: &[u8], quote: &[u8], limits: &Limits) -> Match {
    let shown = &rest[..rest.len().min(limits.name + quote.len())];
    let Some(n) = shown.windows(quote.len()).position(|bytes| bytes == quote) else {
        return if shown.len() < rest.len() { Match::No } else { Match::Partial };
    };
    let behind = &rest[n + quote.len()..];
    let gap = blanks(behind);
    match behind.get(gap) {
        _ if gap > limits.blank => Match::No,
        None => Match::Partial,
        Some(byte) if separates(*byte) => Match::Full(n),
        Some(_) => Match::No,
    }
}
