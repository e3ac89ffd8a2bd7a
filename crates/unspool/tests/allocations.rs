//! What streaming takes of the allocator: nothing for a token of text, next to nothing for one of arguments, in every format.

use allocation_counter::measure;
use serde_json::{Value, json};
use unspool::{Delta, Event, Half, Message, Pair, Prompt, Registry, Request, Setup, ToolCall};

/// Bytes of a token, as a vocabulary cuts English.
const TOKEN: usize = 4;
/// Bytes of the shorter and the longer part that is measured; what a reply takes once is in both.
const LENGTHS: [usize; 2] = [4 << 10, 16 << 10];
/// Allocations for a thousand tokens of text: a buffer may double.
const TEXT: u64 = 1;
/// Allocations for a diagnostic: its texts.
const DIAGNOSTIC: u64 = 3;
/// Of arguments.
const ARGUMENTS: u64 = 100;

const PROSE: &str = include_str!("../../../benches/texts/prose.txt");
const MARKDOWN: &str = include_str!("../../../benches/texts/markdown.md");
const CODE: &str = include_str!("../../../benches/texts/code.tsx");
const LISTS: &str = include_str!("../../../benches/texts/json.md");

fn request() -> Request {
    let parameters = json!({"type": "object", "properties": {
        "text": {"type": "string"}, "any": {}, "levels": {"type": "array", "items": {"type": "number"}}}});
    let tools = json!([{"type": "function", "function": {"name": "note", "parameters": parameters}}]);
    let request = json!({"tools": tools, "chat_template_kwargs": {"enable_thinking": true, "thinking": true}});
    Request { id_seed: Some(7), ..Request::from_openai(&request).expect("a good request") }
}

/// The sample again and again, up to this length.
fn repeated(sample: &str, bytes: usize) -> String {
    let mut text = sample.repeat(bytes / sample.len() + 1);
    while text.len() > bytes || !text.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        text.pop();
    }
    text
}

fn answer(sample: &str, bytes: usize) -> Message {
    Message { content: repeated(sample, bytes), ..Message::default() }
}

fn thought(sample: &str, bytes: usize) -> Message {
    Message { reasoning: repeated(sample, bytes), content: "Yes.".into(), ..Message::default() }
}

fn call(arguments: &Value) -> Message {
    let call =
        ToolCall { name: "note".into(), arguments: arguments.to_string(), complete: true, ..ToolCall::default() };
    Message { tool_calls: vec![call], ..Message::default() }
}

/// A message of about this many bytes.
type Make = fn(usize) -> Message;

const INPUTS: &[(&str, u64, Make)] = &[
    ("prose", TEXT, |bytes| answer(PROSE, bytes)),
    ("Markdown", TEXT, |bytes| answer(MARKDOWN, bytes)),
    ("code", TEXT, |bytes| answer(CODE, bytes)),
    ("JSON", TEXT, |bytes| answer(LISTS, bytes)),
    ("a thought", TEXT, |bytes| thought(MARKDOWN, bytes)),
    ("arguments of prose", ARGUMENTS, |bytes| call(&json!({"text": repeated(PROSE, bytes)}))),
    ("arguments of code", ARGUMENTS, |bytes| call(&json!({"text": repeated(CODE, bytes)}))),
    ("arguments of any type", ARGUMENTS, |bytes| call(&json!({"any": repeated(CODE, bytes)}))),
    ("numbers", ARGUMENTS, |bytes| {
        let number = |i: usize| ((i * 37 % 1000) as f64 - 500.0) / 8.0;
        call(&json!({"levels": (0..bytes / 8).map(number).collect::<Vec<_>>()}))
    }),
];

/// Allocations for one short call, in the syntax that takes the most: its name, id, key and state.
const CALL: u64 = 22;

/// So many short calls.
fn calls(count: usize) -> Message {
    let call = |i: usize| ToolCall {
        name: "note".into(),
        arguments: json!({"text": format!("berth {}", i % 10)}).to_string(),
        complete: true,
        ..ToolCall::default()
    };
    Message { tool_calls: (0..count).map(call).collect(), ..Message::default() }
}

/// The pair of a name and a partner of its own.
fn pair(half: Half, name: &str) -> Option<Pair> {
    let registry = Registry::builtin();
    let partner = registry.partners(half, name).into_iter().next();
    let (reasoning_parser, tool_parser) = match half {
        Half::Reasoning => (Some(name.to_owned()), partner),
        Half::Tools => (partner, Some(name.to_owned())),
    };
    registry.pair(&Setup { reasoning_parser, tool_parser, ..Setup::default() }).ok()
}

/// Borders of tokens.
fn borders(text: &str) -> Vec<usize> {
    let mut borders = vec![0];
    for at in text.char_indices().map(|(at, _)| at).chain([text.len()]) {
        if at >= borders.last().map_or(0, |last| last + TOKEN) || (at == text.len() && at > 0) {
            borders.push(at);
        }
    }
    borders
}

/// Tokens of a text and how often the allocator was asked while it streamed, diagnostics apart: those are no part of a token.
fn streamed(pair: &Pair, request: &Request, text: &str) -> (u64, u64) {
    let borders = borders(text);
    let mut parser = pair.parser(request, Prompt::Unknown).expect("a parser");
    let (mut bytes, mut diagnostics) = (0, 0);
    let mut sink = |event: Event<'_>| {
        diagnostics += u64::from(matches!(event, Event::Diagnostic(_)));
        if let Event::Reasoning(text) | Event::Content(text) | Event::CallArguments { json: text, .. } = event {
            bytes += text.len();
        }
    };
    let allocated = measure(|| {
        for piece in borders.windows(2) {
            parser.push(Delta::text(&text[piece[0]..piece[1]]), &mut sink);
        }
    });
    parser.finish(None, &mut sink);
    // A list may be markup for the most part.
    assert!(20 * bytes > text.len(), "{bytes} bytes of {text}");
    (borders.len() as u64 - 1, allocated.count_total.saturating_sub(DIAGNOSTIC * diagnostics))
}

#[test]
fn tokens_take_no_memory_of_their_own() {
    let (registry, request) = (Registry::builtin(), request());
    let (mut faults, mut runs) = (Vec::new(), 0);
    for half in [Half::Reasoning, Half::Tools] {
        for name in registry.names(half) {
            let Some(pair) = pair(half, &name) else { continue };
            for (what, most, make) in INPUTS {
                let written = LENGTHS.map(|bytes| pair.render(&make(bytes), &request).ok());
                let [Some(short), Some(long)] = written else { continue };
                let (short, long) = (streamed(&pair, &request, &short), streamed(&pair, &request, &long));
                let (tokens, allocations) = (long.0 - short.0, long.1.saturating_sub(short.1));
                // Two growths of a buffer are no cost of a token.
                if allocations.saturating_sub(2) * 1000 > most * tokens {
                    faults.push(format!("{name}, {what}: {allocations} allocations for {tokens} tokens more"));
                }
                runs += 1;
            }
        }
    }
    assert!(runs > 600, "{runs} runs");
    assert!(faults.is_empty(), "{} take memory\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_short_call_takes_little_memory() {
    let (registry, request) = (Registry::builtin(), request());
    let (mut faults, mut runs) = (Vec::new(), 0);
    for name in registry.names(Half::Tools) {
        let Some(pair) = pair(Half::Tools, &name) else { continue };
        let written = [20, 120].map(|count| pair.render(&calls(count), &request).ok());
        let [Some(few), Some(many)] = written else { continue };
        let (few, many) = (streamed(&pair, &request, &few), streamed(&pair, &request, &many));
        let allocations = many.1.saturating_sub(few.1);
        if allocations > 100 * CALL {
            faults.push(format!("{name}: {allocations} allocations for 100 calls more, of {} tokens", many.0 - few.0));
        }
        runs += 1;
    }
    assert!(runs > 40, "{runs} names");
    assert!(faults.is_empty(), "{} take memory\n{}", faults.len(), faults.join("\n"));
}
