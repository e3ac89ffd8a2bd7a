//! Limits are bytes of the output: whoever is longer than one is text, however the output is cut.

use std::collections::HashMap;

use serde_json::{Value, json};
use unspool::{
    Delta, DiagnosticKind, Event, Finish, FinishReason, Half, Limit, Limits, Message, Pair, Prompt, Registry, Request,
    Setup, Sink as _, Vocabulary,
};

fn pair(reasoning: &str, tools: &str) -> Pair {
    let name = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    let bytes = (0..=u8::MAX).map(|byte| (u32::from(byte), vec![byte])).collect();
    let setup = Setup {
        reasoning_parser: name(reasoning),
        tool_parser: name(tools),
        vocabulary: Vocabulary { bytes: Some(bytes), ..Vocabulary::default() },
        ..Setup::default()
    };
    Registry::builtin().pair(&setup).unwrap_or_else(|e| panic!("{reasoning} + {tools}: {e}"))
}

fn request() -> Request {
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
        "a": {"type": "string"}, "n": {"type": "integer"}}}}});
    let request = Request::from_openai(&json!({"tools": [tool]})).expect("a good request");
    Request { id_seed: Some(7), ..request }
}

fn parse<'d>(pair: &Pair, deltas: impl IntoIterator<Item = Delta<'d>>) -> (Message, Finish) {
    let mut parser = pair.parser(&request(), Prompt::Unknown).expect("a parser");
    let mut message = Message::default();
    for delta in deltas {
        parser.push(delta, &mut message);
    }
    let finish = parser.finish(Some(FinishReason::Stop), &mut message);
    (message, finish)
}

/// The answer to a text, which is the same for its characters and some other pieces, and for its bytes as tokens.
fn all_ways(pair: &Pair, text: &str, what: &str) -> Message {
    let (whole, _) = parse(pair, [Delta::text(text)]);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    for size in [1, 2, 7, 1000] {
        let borders: Vec<usize> = places.iter().copied().step_by(size).chain([text.len()]).collect();
        let (message, _) = parse(pair, borders.windows(2).map(|piece| Delta::text(&text[piece[0]..piece[1]])));
        assert_eq!(message, whole, "{what}: in pieces of {size}");
    }
    let ids: Vec<u32> = text.bytes().map(u32::from).collect();
    let single = parse(pair, ids.chunks(1).map(Delta::ids));
    assert_eq!(single.0, whole, "{what}: as single bytes");
    for size in [3, 50, ids.len().max(1)] {
        assert_eq!(parse(pair, ids.chunks(size).map(Delta::ids)), single, "{what}: in groups of {size} bytes");
    }
    whole
}

fn runs(byte: &str, count: usize) -> String {
    byte.repeat(count)
}

/// A case: the pair, a text up to the run, the run's byte, the longest run that is no text, and the rest.
type Case = (&'static str, &'static str, &'static str, &'static str, usize, &'static str);

const HEAD: usize = 4 << 10;
const BLANK: usize = 1 << 10;
const NAME: usize = 256;

#[test]
fn a_run_is_held_up_to_its_limit_and_not_a_byte_longer() {
    let harmony = "<|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|>";
    let cases: &[Case] = &[
        ("", "openai", "", "x", HEAD, harmony),
        ("", "mistral", "[TOOL_CALLS]f[ARGS]", " ", BLANK, "{\"a\": \"b\"}"),
        (
            "",
            "cohere_command3",
            "<|START_ACTION|>[",
            " ",
            HEAD - 34,
            "{\"tool_name\": \"f\", \"parameters\": {}}]<|END_ACTION|>",
        ),
        ("", "glm47", "<tool_call>f<arg_key>a</arg_key>", " ", HEAD - 31, "<arg_value>b</arg_value></tool_call>"),
        ("", "qwen3_coder", "<tool_call>", "\n", HEAD, "<function=f>\n</function>\n</tool_call>"),
        ("", "llama3_json", "", " ", BLANK, "{\"name\": \"f\", \"parameters\": {}}"),
        ("qwen3", "", "", " ", BLANK, "<think>Hm.</think>Yes."),
    ];
    for (reasoning, tools, before, byte, longest, after) in cases {
        let pair = pair(reasoning, tools);
        for count in [0, 1, longest - 2, longest - 1, *longest, longest + 1, longest + 2, 5000] {
            let text = format!("{before}{}{after}", runs(byte, count));
            let what = format!("{reasoning}+{tools}: {before:?}, {count} times {byte:?}, {after:?}");
            let message = all_ways(&pair, &text, &what);
            let read = |message: &Message| (message.reasoning.clone(), message.tool_calls.clone());
            let short = all_ways(&pair, &format!("{before}{after}"), &what);
            // The name's limit may add to that of the opening.
            if count <= *longest {
                assert_eq!(read(&message), read(&short), "{what}");
            } else if count > longest + NAME {
                assert!(message.content.contains(&runs(byte, *longest)) || read(&message) != read(&short), "{what}");
            }
        }
    }
}

/// Every worked example of every format, with limits so small that nearly everything reaches them.
#[test]
fn small_limits_hold_in_every_cut() {
    let registry = Registry::builtin();
    let mut seen = HashMap::new();
    for half in [Half::Reasoning, Half::Tools] {
        for name in registry.names(half) {
            let (path, _) = registry.file(half, &name).expect("a known name");
            let words = registry.words(half, &name).expect("a known name");
            if seen.insert((path, half == Half::Tools), ()).is_some() || words.checkpoint.is_some() {
                continue;
            }
            for example in &words.example {
                let names = example.parsers(&words);
                let pair = pair(&names.reasoning.unwrap_or_default(), &names.tools.unwrap_or_default());
                for bytes in [1, 2, 3, 5, 8, 13, 21, 34, 64] {
                    let mut limits = Limits::default();
                    for limit in Limits::NAMES.iter().filter(|limit| !["calls", "depth"].contains(limit)) {
                        limits.set(&Limit::new(limit, &bytes.to_string()).expect("a small limit"));
                    }
                    let what = format!("{name} with limits of {bytes}: {:?}", example.text);
                    all_ways(&pair.with_limits(limits), &example.text, &what);
                }
            }
        }
    }
}

/// The limit `diagnostics` bounds all diagnostics together, and one more says that there are others.
fn bounded(message: &Message, kinds: &[DiagnosticKind], most: usize) {
    let told = &message.diagnostics;
    assert_eq!(told.len(), most + 1, "{kinds:?}");
    assert_eq!(told.last().map(|note| note.kind), Some(DiagnosticKind::LimitReached), "{kinds:?}");
    for kind in kinds {
        assert!(told[..most].iter().any(|note| note.kind == *kind), "{kind:?} of {kinds:?}");
    }
    assert!(told[..most].iter().all(|note| kinds.contains(&note.kind)), "{kinds:?}");
}

#[test]
fn diagnostics_of_all_kinds_are_bounded_together() {
    let most = 40;
    let limits = || Limits { diagnostics: most, ..Limits::default() };
    // A million bytes that are no UTF-8, at once and one by one.
    let ids = vec![0xff; 1_000_000];
    let plain = pair("", "hermes").with_limits(limits());
    let (at_once, _) = parse(&plain, [Delta::ids(&ids)]);
    bounded(&at_once, &[DiagnosticKind::InvalidUtf8], most);
    assert_eq!(at_once.content.chars().count(), ids.len());
    assert_eq!(parse(&plain, ids.chunks(1).map(Delta::ids)).0, at_once);
    // Ids that the vocabulary does not have, between openers that no call follows.
    let mixed: Vec<u32> =
        (0..100).flat_map(|_| "<tool_call>no</tool_call>".bytes().map(u32::from).chain([70_000, 0xff])).collect();
    let (at_once, _) = parse(&plain, [Delta::ids(&mixed)]);
    let kinds = [DiagnosticKind::NoCallFollows, DiagnosticKind::UnknownToken, DiagnosticKind::InvalidUtf8];
    bounded(&at_once, &kinds, most);
    for size in [1, 2, 5, 26, 27, 100] {
        assert_eq!(parse(&plain, mixed.chunks(size).map(Delta::ids)).0, at_once, "in groups of {size}");
    }
    // What a format's filters take out.
    let cited = "<co>tide</co: 0:[1]> ".repeat(100);
    let filtering = pair("cohere_command3", "").with_limits(limits());
    bounded(&all_ways(&filtering, &cited, "citations"), &[DiagnosticKind::TextFiltered], most);
    // Calls of functions that nobody asked for.
    let calls: Value = json!({"name": "g", "arguments": {}});
    let unknown = format!("<tool_call>{calls}</tool_call>").repeat(100);
    bounded(&all_ways(&plain, &unknown, "unknown functions"), &[DiagnosticKind::UnknownFunction], most);
    // With room for all there is no last one.
    let (told, _) =
        parse(&plain.with_limits(Limits { diagnostics: 100, ..Limits::default() }), [Delta::text(&unknown)]);
    assert_eq!(told.diagnostics.len(), 100);
    assert!(told.diagnostics.iter().all(|note| note.kind == DiagnosticKind::UnknownFunction));
}

/// Elements that are read and not written yet count with what the model wrote for them, not with what keeping them costs.
#[test]
fn a_long_list_of_elements_is_a_whole_call() {
    let setup = Setup { tool_parser: Some("minimax_m3".into()), ..Setup::default() };
    let pair = Registry::builtin().pair(&setup).expect("a pair");
    let tool = json!({"name": "plot", "parameters": {"type": "object", "properties": {
        "levels": {"type": "array", "items": {"type": "number"}}}}});
    let body = json!({"tools": [{"type": "function", "function": tool}]});
    let request = Request::from_openai(&body).expect("a good request");
    let levels: Vec<f64> = (0..16_000).map(|at| f64::from(at % 800) / 100.0 - 4.0).collect();
    let arguments = json!({ "levels": levels }).to_string();
    let call = unspool::ToolCall { name: "plot".into(), arguments, complete: true, ..unspool::ToolCall::default() };
    let text = pair.render(&Message { tool_calls: vec![call], ..Message::default() }, &request).expect("a call");
    let mut parser = pair.parser(&request, Prompt::Unknown).expect("a parser");
    let mut message = Message::default();
    parser.push(Delta::text(&text), &mut message);
    parser.finish(None, &mut message);
    assert!(message.diagnostics.is_empty() && message.tool_calls[0].complete, "{:?}", message.diagnostics);
    let read: Value = serde_json::from_str(&message.tool_calls[0].arguments).expect("JSON");
    assert_eq!(read["levels"].as_array().map(Vec::len), Some(16_000));
}

/// Characters that JSON escapes come in runs, and a run is few events, however long: each costs a line or a frame somewhere.
#[test]
fn a_megabyte_of_line_breaks_is_few_events() {
    const RUN: usize = 1 << 20;
    let breaks = "\n".repeat(RUN);
    for (tools, before, after) in [
        ("qwen3_coder", "<tool_call>\n<function=f>\n<parameter=a>\nx", "x\n</parameter>\n</function>\n</tool_call>"),
        ("hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"x", "x\"}}\n</tool_call>"),
        ("pythonic", "[f(a='''x", "x''')]"),
        ("gemma4", "<|tool_call>call:f{a:<|\"|>x", "x<|\"|>}<tool_call|>"),
    ] {
        let mut parser = pair("", tools).parser(&request(), Prompt::Unknown).expect("a parser");
        let (mut message, mut events, mut bytes) = (Message::default(), 0, 0);
        for text in [before, &breaks, after] {
            let mut sink = |event: Event<'_>| {
                if let Event::CallArguments { json, .. } = &event {
                    (events, bytes) = (events + 1, bytes + json.len());
                }
                message.event(event);
            };
            parser.push(Delta::text(text), &mut sink);
        }
        parser.finish(None, &mut message);
        let [call] = &message.tool_calls[..] else { panic!("{tools}: {} calls", message.tool_calls.len()) };
        let arguments: Value = serde_json::from_str(&call.arguments).expect("it is JSON");
        assert_eq!(arguments["a"].as_str().map(str::len), Some(RUN + 2), "{tools}");
        assert!(bytes >= 2 * RUN && events <= RUN / 16, "{tools}: {events} events for {bytes} bytes");
    }
}
