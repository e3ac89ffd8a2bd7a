//! What the fuzzer asks, with inputs by chance and a fixed budget: bytes and markers of all formats for every pair of names.
//!
//! `FUZZ_INPUTS=100000` tries more; `FUZZ_SEED=7` others.

#[path = "../shared/laws.rs"]
mod laws;
#[path = "../shared/schemas.rs"]
mod schemas;
#[path = "../shared/snapshots.rs"]
mod snapshots;

use std::panic;

/// Inputs of the everyday run; `.ci/test` asks for more.
const INPUTS: u64 = 400;
/// Pieces of an input.
const PIECES: u64 = 24;

/// The generator known as SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

/// The fuzzer's dictionary.
fn markers() -> Vec<Vec<u8>> {
    let unquote = |line: &str| line.strip_prefix('"')?.strip_suffix('"').map(unescape);
    include_str!("../../../../fuzz/laws.dict").lines().filter_map(unquote).collect()
}

/// A dictionary's `\\`, `\"` and `\xAB`.
fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        out.push(match (first, rest) {
            (b'\\', [b'x', digits @ ..]) => {
                rest = &digits[2..];
                u8::from_str_radix(std::str::from_utf8(&digits[..2]).unwrap(), 16).unwrap()
            }
            (b'\\', [escaped, behind @ ..]) => {
                rest = behind;
                *escaped
            }
            _ => *first,
        });
    }
    out
}

/// Five bytes that choose, then markers, JSON, text and single bytes in any order.
fn input(markers: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    const PLAIN: &[&str] = &[
        "{",
        "}",
        "\"",
        ":",
        ",",
        "[",
        "]",
        "(",
        ")",
        "=",
        "\n",
        " ",
        "save",
        "stop",
        "text",
        "true",
        "12",
        "-0.5e3",
        "\"text\": \"a\"",
        "{\"name\": \"save\", \"arguments\": {",
        "save(text='",
        "word and word",
        "\\u00e9",
        "\\n",
        "語",
        "🍵",
    ];
    let mut out: Vec<u8> = (0..5).map(|_| random.below(256) as u8).collect();
    for _ in 0..random.below(PIECES as usize) {
        match random.below(8) {
            0 => out.push(random.below(256) as u8),
            1..=3 => out.extend_from_slice(PLAIN[random.below(PLAIN.len())].as_bytes()),
            _ => out.extend_from_slice(&markers[random.below(markers.len())]),
        }
    }
    out
}

/// Bytes by chance, for a target that reads them as choices.
fn bytes(random: &mut Random) -> Vec<u8> {
    const LONGEST: usize = 64;
    (0..random.below(LONGEST)).map(|_| random.below(256) as u8).collect()
}

fn all_hold(inputs: u64, input: impl Fn(&mut Random) -> Vec<u8>, law: impl Fn(&[u8]) + panic::RefUnwindSafe) {
    let seed = setting("FUZZ_SEED", 1);
    let mut faults = Vec::new();
    for number in 0..setting("FUZZ_INPUTS", inputs) {
        let mut random = Random(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let data = input(&mut random);
        if panic::catch_unwind(|| law(&data)).is_err() {
            faults.push(format!("input {number}: {}", data.escape_ascii()));
        }
    }
    assert!(faults.is_empty(), "{} inputs break a law\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn no_input_breaks_a_law() {
    let markers = markers();
    assert!(markers.len() > 100, "{} markers", markers.len());
    all_hold(INPUTS, |random| input(&markers, random), laws::run);
}

#[test]
fn no_schema_breaks_a_grammar() {
    all_hold(2 * INPUTS, bytes, schemas::run);
}

#[test]
fn no_snapshot_breaks_a_parser() {
    all_hold(5 * INPUTS, bytes, snapshots::run);
}

/// What the fuzzer found, kept as it wrote it: a cursor beyond the bytes it stands in.
#[test]
fn snapshots_that_broke_a_parser_once_break_none() {
    const KEPT: &[[u8; 6]] = &[[0x21, 0x21, 0xc3, 0x23, 0xc3, 0xdf]];
    KEPT.iter().for_each(|input| snapshots::run(input));
}

/// The same by kind: which pair and place an input means changes with every new name.
#[test]
fn no_number_of_a_snapshot_breaks_a_parser() {
    let cuts = usize::try_from(setting("SNAPSHOT_CUTS", 2)).expect("a small number");
    snapshots::each_number(cuts);
}
