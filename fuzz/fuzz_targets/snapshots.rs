//! Whatever bytes a snapshot holds, no parser panics over them; the test `fuzzed` of the core asks the same.

#![no_main]

#[path = "../../crates/unspool/tests/shared/snapshots.rs"]
mod snapshots;

libfuzzer_sys::fuzz_target!(|data: &[u8]| snapshots::run(data));
