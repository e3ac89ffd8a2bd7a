//! Ids for calls that the model gave none.

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

/// Scrambles a seed and a counter (the finaliser of `SplitMix64`).
fn mix(seed: u64, index: usize) -> u64 {
    let mut z = seed.wrapping_add((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
