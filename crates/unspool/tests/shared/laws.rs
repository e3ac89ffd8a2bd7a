//! Laws 1 to 3 over arbitrary bytes: the cut changes nothing, plain text is kept whole, and nothing panics.
//!
//! The first bytes choose the parsers and the settings, the rest is the output of a model. The fuzz target `laws` runs this too.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use unspool::Pair;
use unspool::setup::Half;
use unspool::{
    Delta, Diagnostic, Finish, FinishReason, IncompleteCalls, Limit, Limits, Message, Parser, Prompt, Registry,
    Request, Setup, Snapshot, ToolCall, Vocabulary,
};

/// Bytes before the output: reasoning parser, tool parser, settings, seed of the cuts, limits.
const HEAD: usize = 5;

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);
static REASONING: LazyLock<Vec<String>> = LazyLock::new(|| REGISTRY.names(Half::Reasoning));
static TOOLS: LazyLock<Vec<String>> = LazyLock::new(|| REGISTRY.names(Half::Tools));
static REQUEST: LazyLock<Request> = LazyLock::new(request);

type Key = (Option<String>, Option<String>, u8);

thread_local! {
    /// Pairs are compiled once; `None` is a pair that cannot work.
    static PAIRS: RefCell<HashMap<Key, Option<Pair>>> = RefCell::new(HashMap::new());
}

/// Runs one input in every way; a broken law is a panic.
#[allow(dead_code, reason = "the fuzz target takes one way at a time")]
pub(crate) fn run(data: &[u8]) {
    with_subject(data, |subject, output, seed| {
        let whole = Whole::of(subject, output);
        for way in Way::ALL {
            way.check(&whole, seed);
        }
    });
}

/// Runs one input at once and in one other way, which the input chooses: many inputs a second find more than many ways of each.
#[allow(dead_code, reason = "the stable test takes all ways")]
pub(crate) fn run_one_way(data: &[u8]) {
    with_subject(data, |subject, output, seed| {
        let way = Way::ALL[usize::from(seed) % Way::ALL.len()];
        way.check(&Whole::of(subject, output), seed);
    });
}

fn with_subject(data: &[u8], check: impl FnOnce(&Subject, &[u8], u8)) {
    let Some((&[reasoning, tools, settings, seed, bounds], output)) = data.split_first_chunk::<HEAD>() else { return };
    let key = (chosen(&REASONING, reasoning), chosen(&TOOLS, tools), settings % 3);
    let finish = [None, Some(FinishReason::Stop), Some(FinishReason::Length), Some(FinishReason::ToolCalls)]
        [usize::from(settings / 3 % 4)];
    PAIRS.with_borrow_mut(|pairs| {
        let pair = pairs.entry(key.clone()).or_insert_with(|| pair(&key));
        if let Some(pair) = pair {
            let limits = limits(bounds);
            let name = format!("{key:?} {finish:?} {limits:?}");
            check(&Subject { pair: pair.with_limits(limits), finish, name }, output, seed);
        }
    });
}

/// One of the names, or none.
fn chosen(names: &[String], byte: u8) -> Option<String> {
    names.get(usize::from(byte) % (names.len() + 1)).cloned()
}

/// The usual limits for a third of all bytes; else small ones, from 1 to 64, for about half of them.
fn limits(byte: u8) -> Limits {
    let mut limits = Limits::default();
    let mut state = u32::from(byte);
    for name in Limits::NAMES.iter().filter(|_| !byte.is_multiple_of(3)) {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 {
            let value = (state >> 20) % 64 + 1;
            limits.set(&Limit::new(name, &value.to_string()).expect("a small number"));
        }
    }
    limits
}

/// The pair, with a vocabulary whose tokens are the single bytes.
fn pair((reasoning, tools, mode): &Key) -> Option<Pair> {
    let bytes = (0..=u8::MAX).map(|byte| (u32::from(byte), vec![byte])).collect();
    let setup = Setup {
        reasoning_parser: reasoning.clone(),
        tool_parser: tools.clone(),
        vocabulary: Vocabulary { bytes: Some(bytes), ..Vocabulary::default() },
        incomplete_calls: [IncompleteCalls::Stream, IncompleteCalls::Text, IncompleteCalls::Drop][usize::from(*mode)],
        ..Setup::default()
    };
    REGISTRY.pair(&setup).ok()
}

fn request() -> Request {
    let body = serde_json::json!({"tools": [{"type": "function", "function": {"name": "save", "parameters": {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "n": {"type": "integer"},
            "x": {"type": ["number", "null"]},
            "yes": {"type": "boolean"},
            "list": {"type": "array", "items": {"type": "string"}},
            "object": {"type": "object", "properties": {"a": {"type": "string"}}},
        },
    }}}, {"type": "function", "function": {"name": "stop"}}]});
    let request = Request::from_openai(&body).expect("a good request");
    Request { id_seed: Some(7), ..request }
}

/// What all runs over one output share.
struct Subject {
    pair: Pair,
    finish: Option<FinishReason>,
    name: String,
}

/// What must not depend on the cut.
#[derive(Debug, PartialEq)]
struct Answer {
    reasoning: String,
    content: String,
    tool_calls: Vec<ToolCall>,
    diagnostics: Vec<Diagnostic>,
    finish: FinishReason,
}

impl Subject {
    fn parser(&self) -> Parser {
        self.pair.parser(&REQUEST, Prompt::Unknown).expect("a request without request_options")
    }

    /// The answer to the deltas; `saved`: the state goes through JSON into a new parser after each of them.
    fn run<'d>(&self, deltas: impl IntoIterator<Item = Delta<'d>>, saved: bool) -> Answer {
        self.run_counted(deltas, saved).0
    }

    /// The same, with what the tokens' ids add: how many were a thought's, and where it ended.
    fn run_counted<'d>(&self, deltas: impl IntoIterator<Item = Delta<'d>>, saved: bool) -> (Answer, Finish) {
        let mut parser = self.parser();
        let mut message = Message::default();
        for delta in deltas {
            parser.push(delta, &mut message);
            if saved {
                let text = serde_json::to_string(&parser.snapshot()).expect("a snapshot");
                let snapshot: Snapshot = serde_json::from_str(&text).expect("the same snapshot");
                parser = self.parser();
                parser.restore(snapshot).expect("a snapshot of this version");
            }
        }
        let finish = parser.finish(self.finish, &mut message);
        let Message { reasoning, content, tool_calls, diagnostics, .. } = message;
        (Answer { reasoning, content, tool_calls, diagnostics, finish: finish.reason }, finish)
    }
}

/// The answer to a whole output, with which all others are compared.
struct Whole<'a> {
    subject: &'a Subject,
    output: &'a [u8],
    text: Cow<'a, str>,
    answer: Answer,
}

impl<'a> Whole<'a> {
    fn of(subject: &'a Subject, output: &'a [u8]) -> Self {
        let text = String::from_utf8_lossy(output);
        let answer = subject.run([Delta::text(&text)], false);
        if text.chars().all(|c| c.is_alphabetic() || " ,.!?\n".contains(c)) {
            plain(&answer, &text, &subject.name);
        }
        Self { subject, output, text, answer }
    }

    fn is(&self, answer: &Answer, how: &str) {
        assert_eq!(&self.answer, answer, "{}: {how}", self.subject.name);
    }
}

/// How an output comes in.
#[derive(Debug, Clone, Copy)]
enum Way {
    Characters,
    Cuts,
    Saved,
    Ids,
    Bytes,
}

impl Way {
    const ALL: [Self; 5] = [Self::Characters, Self::Cuts, Self::Saved, Self::Ids, Self::Bytes];

    fn check(self, whole: &Whole<'_>, seed: u8) {
        let Whole { subject, text, .. } = whole;
        match self {
            Self::Characters => whole.is(&subject.run(cuts(text, 1).map(Delta::text), false), "by characters"),
            Self::Cuts => whole.is(&subject.run(cuts(text, seed).map(Delta::text), false), "in cuts"),
            // What is saved grows with what is held, so a long output is saved less often.
            Self::Saved if text.len() < 40 => {
                whole.is(&subject.run(cuts(text, 1).map(Delta::text), true), "saved and restored at each character");
            }
            Self::Saved => {
                let most = u8::try_from(text.len() / 10).unwrap_or(u8::MAX);
                whole.is(&subject.run(cuts(text, most).map(Delta::text), true), "saved and restored in cuts");
            }
            Self::Ids => ids(whole),
            Self::Bytes => bytes(whole, seed),
        }
    }
}

/// As ids, one by one and at once.
fn ids(whole: &Whole<'_>) {
    let ids: Vec<u32> = whole.text.bytes().map(u32::from).collect();
    let single = whole.subject.run_counted(ids.chunks(1).map(Delta::ids), false);
    whole.is(&single.0, "ids one by one");
    let name = &whole.subject.name;
    assert_eq!(single, whole.subject.run_counted([Delta::ids(&ids)], false), "{name}: ids at once");
}

/// As ids of bytes that may not be UTF-8.
fn bytes(whole: &Whole<'_>, seed: u8) {
    let raw: Vec<u32> = whole.output.iter().copied().map(u32::from).collect();
    let mean = usize::from(seed % 16) + 1;
    let at_once = whole.subject.run_counted([Delta::ids(&raw)], false);
    let in_cuts = whole.subject.run_counted(raw.chunks(mean).map(Delta::ids), false);
    assert_eq!(at_once, in_cuts, "{}: bytes that may not be UTF-8", whole.subject.name);
}

/// The text in pieces of 1 to `most` characters, by a small generator of its own.
fn cuts(text: &str, most: u8) -> impl Iterator<Item = &str> {
    let mut state = u32::from(most);
    let mut rest = text;
    std::iter::from_fn(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let count = (state >> 16) % u32::from(most).max(1);
        let (end, c) = rest.char_indices().take(count as usize + 1).last()?;
        let (piece, behind) = rest.split_at(end + c.len_utf8());
        rest = behind;
        Some(piece)
    })
}

/// Law 2 where it is simple: text without any marker is one field, but for its outer white space.
fn plain(answer: &Answer, text: &str, name: &str) {
    let kept = format!("{}{}", answer.reasoning, answer.content);
    // A format that moves nothing into reasoning puts the opener that the prompt wrote in front.
    let kept = kept.strip_prefix("<think>").unwrap_or(&kept);
    assert_eq!(kept.trim(), text.trim(), "{name}: plain text");
    assert!(answer.tool_calls.is_empty(), "{name}: a call in plain text");
}
