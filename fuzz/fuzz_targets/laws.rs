//! Laws 1 to 3 over arbitrary bytes, as the test `fuzzed` of the core has them.

#![no_main]

#[path = "../../crates/unspool/tests/shared/laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|data: &[u8]| laws::run_one_way(data));
