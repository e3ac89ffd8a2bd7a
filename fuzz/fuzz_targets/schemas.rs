//! Whatever the schema of a tool, its grammar keeps within the limit; the test `fuzzed` of the core asks the same.

#![no_main]

#[path = "../../crates/unspool/tests/shared/schemas.rs"]
mod schemas;

libfuzzer_sys::fuzz_target!(|data: &[u8]| schemas::run(data));
