//! What tokenizing takes of memory. A process of its own, because the system only tells the peak of a whole process.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used)]

use serde_json::json;
use unspool_text::Tokenizer as _;
use unspool_text::tokenizer::HubTokenizer;

/// Most that tokenizing may take, in lengths of the text. In one piece it takes more than a hundred.
const MOST: u64 = 16;

/// The highest that this process's memory has been, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells it");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("it is a number") << 10
}

#[test]
fn a_long_text_is_tokenized_in_little_memory() {
    let model = json!({"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "Ahoy": 1, "there": 2}});
    let file = json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null, "model": model});
    let tokenizer = HubTokenizer::new(&file.to_string()).expect("it is well formed");
    let text = "Ahoy there ".repeat(200_000);
    let before = peak();
    let ids = tokenizer.encode(&text, true).expect("all has tokens");
    let taken = peak() - before;
    assert_eq!((ids.len(), &ids[..2], &ids[399_998..]), (400_000, &[1, 2][..], &[1, 2][..]));
    assert!(taken < MOST * text.len() as u64, "{} bytes for a text of {}", taken, text.len());
}
