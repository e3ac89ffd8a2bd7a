//! Law: whatever bytes a snapshot holds, `restore` refuses them or gives a parser that goes on and never panics.
//!
//! The first bytes choose the parsers and how much text comes before and behind; the rest are a snapshot as it stands, and edits of a
//! snapshot that a parser wrote, whose sum is made to fit again: else nothing would get past it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Value, json};
use unspool::setup::Half;
use unspool::{Delta, Message, Pair, Parser, Prompt, Registry, Request, Setup, Snapshot};

/// Bytes before the edits: parser, half, and where the text is cut.
const HEAD: usize = 3;
/// Bytes of an edit: which value of the state, and what it becomes.
const EDIT: usize = 3;
/// The ways of [`changed`] that make a number larger: by far, and by one.
const TOO_LARGE: [u8; 2] = [1, 2];
/// Most edits of one input.
const MOST: usize = 8;

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);
static REQUEST: LazyLock<Request> = LazyLock::new(request);

/// A pair and a reply of its own; `None` is a pair that cannot work.
type Made = Option<(Pair, String)>;

thread_local! {
    /// Pairs are compiled once.
    static PAIRS: RefCell<HashMap<(u8, bool), Made>> = RefCell::new(HashMap::new());
}

/// Runs one input; a panic is a broken law.
pub(crate) fn run(data: &[u8]) {
    let Some((&[name, half, cut], rest)) = data.split_first_chunk::<HEAD>() else { return };
    PAIRS.with_borrow_mut(|pairs| {
        let made = pairs.entry((name, half % 2 == 0)).or_insert_with(|| pair(name, half % 2 == 0));
        if let Some((pair, reply)) = made {
            as_it_stands(pair, rest);
            edited(pair, reply, cut, rest);
        }
    });
}

/// Makes every number in the states of a parser of each name too large, one at a time. `cuts`: number of positions in a
/// reply, which differ from name to name.
#[allow(dead_code, reason = "the fuzz target finds such edits by itself")]
pub(crate) fn each_number(cuts: usize) {
    /// What is read behind the changed state: enough for a marker.
    const BEHIND: usize = 24;
    for tools in [false, true] {
        let half = if tools { Half::Tools } else { Half::Reasoning };
        for number in 0..u8::try_from(REGISTRY.names(half).len()).expect("fewer names") {
            let Some((pair, reply)) = pair(number, tools) else { continue };
            for cut in 0..cuts {
                let cut = border(&reply, reply.len() * (16 * cut + usize::from(number) % 16) / (16 * cuts));
                let rest = &reply[cut..border(&reply, cut + BEHIND)];
                let (outer, state) = written(&pair, &reply[..cut]);
                for left in 0..count(&state) {
                    let mut state = state.clone();
                    let Some(value) = nth(&mut state, &mut { left }).filter(|value| value.is_number()) else {
                        continue;
                    };
                    *value = changed(value, TOO_LARGE[(left + cut) % TOO_LARGE.len()]);
                    restored(&pair, (outer.clone(), &state), rest);
                }
            }
        }
    }
}

fn request() -> Request {
    let tool = json!({"name": "save", "parameters": {"type": "object", "properties": {
        "text": {"type": "string"}, "n": {"type": "integer"}, "list": {"type": "array", "items": {"type": "number"}}}}});
    let body = json!({"tools": [{"type": "function", "function": tool}]});
    Request { id_seed: Some(7), ..Request::from_openai(&body).expect("a good request") }
}

fn pair(number: u8, tools: bool) -> Made {
    let half = if tools { Half::Tools } else { Half::Reasoning };
    let names = REGISTRY.names(half);
    let name = names[usize::from(number) % names.len()].clone();
    let partner = REGISTRY.partners(half, &name).into_iter().next();
    let (reasoning_parser, tool_parser) = if tools { (partner, Some(name)) } else { (Some(name), partner) };
    let pair = REGISTRY.pair(&Setup { reasoning_parser, tool_parser, ..Setup::default() }).ok()?;
    let call = |arguments: Value| unspool::ToolCall {
        name: "save".into(),
        arguments: arguments.to_string(),
        complete: true,
        ..unspool::ToolCall::default()
    };
    let calls = vec![call(json!({"text": "a \"b\"\n<c", "n": 3, "list": [1, 2.5]})), call(json!({"text": "語"}))];
    let full =
        Message { reasoning: "Hm. \n<".into(), content: "Yes \n no.".into(), tool_calls: calls, ..Message::default() };
    let fewer = [
        full.clone(),
        Message { reasoning: String::new(), ..full.clone() },
        Message { reasoning: String::new(), content: String::new(), ..full.clone() },
        Message { tool_calls: Vec::new(), ..full },
    ];
    let reply = fewer.iter().find_map(|message| pair.render(message, &REQUEST).ok()).unwrap_or_default();
    Some((pair, format!("{reply} <think>x</think> {{\"a\": [1")))
}

fn parser(pair: &Pair) -> Parser {
    pair.parser(&REQUEST, Prompt::Unknown).expect("a request without wishes")
}

/// The bytes are a snapshot, or none.
fn as_it_stands(pair: &Pair, bytes: &[u8]) {
    if let Ok(snapshot) = serde_json::from_slice::<Snapshot>(bytes) {
        go_on(parser(pair), snapshot, "x</think>");
    }
}

/// A state that a parser wrote, and a few values of it changed.
fn edited(pair: &Pair, reply: &str, cut: u8, edits: &[u8]) {
    let cut = border(reply, usize::from(cut) % (reply.len() + 1));
    let (outer, mut state) = written(pair, &reply[..cut]);
    for edit in edits.as_chunks::<EDIT>().0.iter().take(MOST) {
        let mut left = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % count(&state);
        if let Some(value) = nth(&mut state, &mut left) {
            *value = changed(value, edit[2]);
        }
    }
    restored(pair, (outer, &state), &reply[cut..]);
}

/// The last border of a character up to here.
fn border(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The snapshot behind a text, and the state that it holds as text.
fn written(pair: &Pair, text: &str) -> (Value, Value) {
    let mut parser = parser(pair);
    parser.push(Delta::text(text), &mut Message::default());
    let outer = serde_json::to_value(parser.snapshot()).expect("a snapshot is JSON");
    let state = outer["state"].as_str().and_then(|text| serde_json::from_str(text).ok()).expect("a state is JSON");
    (outer, state)
}

/// Goes on from a changed state, whose sum is made to fit.
fn restored(pair: &Pair, (mut outer, state): (Value, &Value), rest: &str) {
    let text = state.to_string();
    outer["sum"] = sum(text.as_bytes()).into();
    outer["state"] = text.into();
    let snapshot = serde_json::from_value(outer).expect("the outer form is as it was");
    go_on(parser(pair), snapshot, rest);
}

/// Either refuses it, or reads on in any cut.
fn go_on(mut parser: Parser, snapshot: Snapshot, rest: &str) {
    if parser.restore(snapshot).is_err() {
        return;
    }
    let mut message = Message::default();
    let mut at_once = parser.clone();
    at_once.push(Delta::text(rest), &mut message);
    at_once.finish(None, &mut message);
    for (at, c) in rest.char_indices() {
        parser.push(Delta { text: Some(&rest[at..at + c.len_utf8()]), ids: &[1] }, &mut message);
        let _ = (parser.reasoning_end(), parser.held_bytes(), parser.is_thinking());
    }
    parser.finish(None, &mut message);
    serde_json::to_string(&parser.snapshot()).expect("a snapshot");
}

/// Values of a state, containers included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// The value at this index.
fn nth<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(members) => members.values_mut().find_map(|member| nth(member, left)),
        _ => None,
    }
}

fn changed(value: &Value, how: u8) -> Value {
    let number = value.as_u64();
    match how % 12 {
        0 => json!(0),
        1 => json!(u64::MAX),
        2 => json!(number.unwrap_or_default().wrapping_add(1)),
        3 => json!(number.unwrap_or_default().wrapping_sub(1)),
        4 => json!(i64::MIN),
        5 => json!(how),
        6 => Value::Null,
        7 => json!("語\u{1}\"<"),
        8 => json!(""),
        9 => json!([]),
        10 => json!([value.clone(), value.clone()]),
        _ => json!(value.as_bool() != Some(true)),
    }
}

/// FNV-1a, by which a snapshot knows its own state.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
