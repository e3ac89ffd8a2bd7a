//! Whatever a client sends, the gateway's readers answer it; the test `fuzzed` of the gateway asks the same.

#![no_main]

#[path = "../../crates/unspool-server/tests/fuzzed/requests.rs"]
mod requests;

libfuzzer_sys::fuzz_target!(|data: &[u8]| requests::run(data));
