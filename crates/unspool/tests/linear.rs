//! Law 4: the time for an output grows with its length, whatever is repeated in it and however it is cut.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use unspool::{Delta, FinishReason, Half, Message, Pair, Prompt, Registry, Request, Setup};

/// Length of the shorter output, in bytes, and how many times as long the other one is.
const SHORT: usize = 4 << 10;
const TIMES: usize = 5;
/// How many times as long the longer output may take: far from a square, and with room for a busy machine.
const MOST: u32 = 14;
/// What takes less is not judged.
const QUICK: Duration = Duration::from_millis(60);

/// What a run takes.
fn time(pair: &Pair, request: &Request, text: &str, size: usize) -> Duration {
    let borders: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(size).chain([text.len()]).collect();
    let mut parser = pair.parser(request, Prompt::Unknown).expect("a parser");
    let mut message = Message::default();
    let start = Instant::now();
    for piece in borders.windows(2) {
        parser.push(Delta::text(&text[piece[0]..piece[1]]), &mut message);
    }
    parser.finish(Some(FinishReason::Length), &mut message);
    start.elapsed()
}

/// Where pieces of markup and text begin in an example.
fn places(text: &str) -> Vec<usize> {
    let mut before = ' ';
    let mut places = Vec::new();
    for (at, c) in text.char_indices() {
        if matches!(c, '<' | '[' | '{' | '(' | '"' | '\n') || matches!(before, '>' | ']' | '\n' | ',' | ':') {
            places.push(at);
        }
        before = c;
    }
    places.push(text.len());
    places
}

/// Outputs that repeat one piece of an example, behind what stands before it.
fn repeated(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let places = places(text);
    let mut seen = BTreeSet::new();
    let pieces: Vec<(&str, &str)> = places.windows(2).map(|p| (&text[..p[0]], &text[p[0]..p[1]])).collect();
    pieces.into_iter().filter(move |(_, piece)| !piece.is_empty() && seen.insert(*piece))
}

fn check(pair: &Pair, request: &Request, (before, piece): (&str, &str), size: usize) -> Option<String> {
    let output = |len: usize| format!("{before}{}", piece.repeat(len / piece.len() + 1));
    let judge = || {
        let long = time(pair, request, &output(SHORT * TIMES), size);
        let is_fault = long > QUICK && long > time(pair, request, &output(SHORT), size) * MOST;
        is_fault.then(|| format!("{long:?} for {piece:?} repeated behind {before:?}, in pieces of {size}"))
    };
    // Again, should the machine have been busy.
    (0..4).map(|_| judge()).find(Option::is_none).map_or_else(judge, |quick| quick)
}

#[test]
fn whatever_is_repeated_takes_time_by_its_length() {
    let registry = Registry::builtin();
    let mut files = BTreeSet::new();
    let mut faults = Vec::new();
    for half in [Half::Tools, Half::Reasoning] {
        for name in registry.names(half) {
            let words = registry.words(half, &name).expect("a known name");
            let (path, _) = registry.file(half, &name).expect("a known name");
            if !files.insert(path) {
                continue;
            }
            for example in words.example.iter().take(1) {
                let names = example.parsers(&words);
                let setup = Setup {
                    reasoning_parser: names.reasoning,
                    tool_parser: names.tools,
                    tokenizer_config: example.tokenizer_config.clone(),
                    ..Setup::default()
                };
                let pair = registry.pair(&setup).expect("the example's pair");
                let request = Request::from_openai(&example.request()).expect("the example's request");
                for piece in repeated(&example.text) {
                    faults.extend(check(&pair, &request, piece, usize::MAX).map(|fault| format!("{name}: {fault}")));
                    faults.extend(check(&pair, &request, piece, 3).map(|fault| format!("{name}: {fault}")));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} outputs take too long\n{}", faults.len(), faults.join("\n"));
}

/// Marks of a byte-level tokenizer in tags, long openings, and many of them.
#[test]
fn marks_in_tags_take_time_by_their_length() {
    let setup = Setup { tool_parser: Some("minicpm5".into()), ..Setup::default() };
    let pair = Registry::builtin().pair(&setup).expect("a pair");
    let body = serde_json::json!({"tools": [{"type": "function", "function": {"name": "f"}}]});
    let request = Request::from_openai(&body).expect("a request");
    let call = "<function name=\"f\">";
    for (before, piece) in [
        (call, "<param name=\"k\">a\u{120}b</param>\u{10a}"),
        (call, "<param name=\"k\">a<\u{120}b"),
        (call, "<param\u{120}"),
        ("", "<function\u{120}name=\"f\"\u{120}>"),
        ("<function", "\u{120}"),
        (call, "\u{120}"),
    ] {
        for size in [usize::MAX, 1] {
            let fault = check(&pair, &request, (before, piece), size);
            assert_eq!(fault, None);
        }
    }
}
