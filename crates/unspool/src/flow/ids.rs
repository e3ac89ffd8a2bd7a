//! Generates ids for calls without one.

use crate::random::Random;
use crate::request::CallIds;

/// An id for a call of this function, the `index`-th of the conversation. `native`: the format's shape.
pub(crate) fn made(shape: &CallIds, native: Option<&str>, seed: u64, (index, name): (usize, &str)) -> String {
    match (shape, native) {
        (CallIds::Left, _) => String::new(),
        (CallIds::Letters(length), _) => short(seed, index, *length),
        (CallIds::Pattern(pattern), _) => filled(pattern, index, name),
        (CallIds::Format, Some(native)) => match native.parse() {
            Ok(length) => short(seed, index, length),
            Err(_) => filled(native, index, name),
        },
        (CallIds::Random, _) | (CallIds::Format, None) => random(seed, index),
    }
}

fn filled(pattern: &str, index: usize, name: &str) -> String {
    pattern.replace("{index}", &index.to_string()).replace("{name}", name)
}

/// An id in vLLM's shape: `chatcmpl-tool-` and 16 hexadecimal digits.
fn random(seed: u64, index: usize) -> String {
    format!("chatcmpl-tool-{:016x}", mix(seed, index))
}

/// An id of this many letters and digits, as Mistral's templates require.
fn short(seed: u64, index: usize, length: usize) -> String {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut out = String::with_capacity(length);
    let mut bits = mix(seed, index);
    for _ in 0..length {
        out.push(char::from(LETTERS[(bits % 62) as usize]));
        bits = mix(bits, index);
    }
    out
}

/// Scrambles a seed and a counter.
fn mix(seed: u64, index: usize) -> u64 {
    Random::of(seed, index as u64).next()
}
