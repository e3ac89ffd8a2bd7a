//! Ids for calls that the model gave none.

use crate::random::Random;

/// An id as vLLM makes them: `chatcmpl-tool-` and 16 hexadecimal digits.
pub(crate) fn random(seed: u64, index: usize) -> String {
    format!("chatcmpl-tool-{:016x}", mix(seed, index))
}

/// An id of so many letters and digits, as Mistral's templates demand.
pub(crate) fn short(seed: u64, index: usize, length: usize) -> String {
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
