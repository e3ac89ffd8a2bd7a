//! What the fuzzer asks of the readers of requests, with inputs by chance and a fixed budget.
//!
//! `FUZZ_INPUTS=100000` tries more; `FUZZ_SEED=7` others.

mod requests;

use std::panic;

/// Inputs of the everyday run.
const INPUTS: u64 = 3_000;
/// Longest input, in bytes.
const LONGEST: u64 = 96;

/// The generator known as SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

#[test]
fn no_body_breaks_a_reader() {
    let mut state = setting("FUZZ_SEED", 1);
    let mut faults = Vec::new();
    for number in 0..setting("FUZZ_INPUTS", INPUTS) {
        let length = next(&mut state) % LONGEST;
        let data: Vec<u8> = (0..length).map(|_| next(&mut state).to_le_bytes()[0]).collect();
        if panic::catch_unwind(|| requests::run(&data)).is_err() {
            faults.push(format!("input {number}: {}", data.escape_ascii()));
        }
    }
    assert!(faults.is_empty(), "{} inputs break a law\n{}", faults.len(), faults.join("\n"));
}
