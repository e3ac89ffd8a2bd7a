//! Law 1 where it is most at risk: deltas that go out as they come. Each reply is cut so that such a delta begins at every
//! character and ends behind every one that follows soon, with whole text or single characters around it.

use serde_json::json;
use unspool::{Delta, Finish, Half, Message, Pair, Parser, Prompt, Registry, Request, Setup, ToolCall, Vocabulary};

/// So many characters the deltas have.
const LENGTHS: [usize; 6] = [1, 2, 3, 5, 8, 13];

/// What is hard in text: white space at edges, runs of it, and bytes with which markers begin.
const TEXT: &str = "One <b two\n\n  three [4] {5} to=x, \"6\"\\\nsieben 語🍵  \n";
/// What is hard in a string.
const VALUE: &str = " a\"b\\c\n\n  d</e> f)g, h'i<|\"j 語\t ";

fn request() -> Request {
    let request = json!({"tools": [{"type": "function", "function": {"name": "note", "parameters": {"type": "object", "properties": {
        "text": {"type": "string"}, "any": {}, "levels": {"type": "array"}}}}}],
        "chat_template_kwargs": {"enable_thinking": true, "thinking": true}});
    Request { id_seed: Some(7), ..Request::from_openai(&request).expect("a good request") }
}

/// The message in as many parts as the format can say.
fn written(pair: &Pair, request: &Request) -> Option<String> {
    let values = [json!(VALUE), json!("plain words, then an end")];
    let calls = values.iter().map(|value| {
        let arguments = json!({"text": value, "any": "x y", "levels": [1, -2.5, "z"]}).to_string();
        ToolCall { name: "note".into(), arguments, complete: true, ..ToolCall::default() }
    });
    let full = Message {
        reasoning: TEXT.trim().into(),
        content: TEXT.trim().into(),
        tool_calls: calls.collect(),
        ..Message::default()
    };
    let plain = |text: &str| text.replace(['<', '[', '{'], "-");
    let simple: Vec<ToolCall> = full.tool_calls.iter().skip(1).cloned().collect();
    [
        full.clone(),
        Message { reasoning: String::new(), ..full.clone() },
        Message {
            reasoning: plain(&full.reasoning),
            content: plain(&full.content),
            tool_calls: simple.clone(),
            ..Message::default()
        },
        Message { content: plain(&full.content), tool_calls: simple, ..Message::default() },
        Message { reasoning: plain(&full.reasoning), content: plain(&full.content), ..Message::default() },
        Message { content: plain(&full.content), ..Message::default() },
    ]
    .iter()
    .find_map(|message| pair.render(message, request).ok())
}

/// The pair of a name and a partner of its own.
fn pair(half: Half, name: &str, bytes: Option<unspool::TokenBytes>) -> Option<Pair> {
    let registry = Registry::builtin();
    let partner = registry.partners(half, name).into_iter().next();
    let (reasoning_parser, tool_parser) = match half {
        Half::Reasoning => (Some(name.to_owned()), partner),
        Half::Tools => (partner, Some(name.to_owned())),
    };
    let vocabulary = Vocabulary { bytes, ..Vocabulary::default() };
    registry.pair(&Setup { reasoning_parser, tool_parser, vocabulary, ..Setup::default() }).ok()
}

/// A reply that has been read up to some place.
#[derive(Clone)]
struct Reading {
    parser: Parser,
    message: Message,
    /// Each character comes with an id.
    ids: bool,
}

impl Reading {
    fn push(&mut self, text: &str) {
        let ids = vec![u32::MAX; if self.ids { text.chars().count() } else { 0 }];
        self.parser.push(Delta { text: Some(text), ids: &ids }, &mut self.message);
    }

    fn end(mut self) -> (Message, Finish) {
        let finish = self.parser.finish(None, &mut self.message);
        (self.message, finish)
    }
}

/// Every cut of a text must give what the whole text gives; with an id for each character also the same counts.
fn check(pair: &Pair, request: &Request, text: &str) -> usize {
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let parser = pair.parser(request, Prompt::Unknown).expect("a parser");
    let start = |ids| Reading { parser: parser.clone(), message: Message::default(), ids };
    let mut whole = start(false);
    whole.push(text);
    let (whole, _) = whole.end();
    let mut runs = 0;
    for ids in [false, true] {
        let mut single = start(ids);
        for from in 0..ends.len() - 1 {
            for to in LENGTHS.iter().map(|length| from + length).filter(|to| *to < ends.len()) {
                let mut cut = single.clone();
                cut.push(&text[ends[from]..ends[to]]);
                cut.push(&text[ends[to]..]);
                let (message, _) = cut.end();
                assert_eq!(message, whole, "{:?} behind {:?}", &text[ends[from]..ends[to]], &text[..ends[from]]);
                runs += 1;
            }
            single.push(&text[ends[from]..ends[from + 1]]);
        }
        assert_eq!(single.end().0, whole, "character by character: {text}");
    }
    runs
}

/// Tokens that pass are counted as those that wait are: one by one with text, or by their bytes from a vocabulary.
fn counts(pair: &Pair, known: &Pair, request: &Request, text: &str) {
    let run = |pair: &Pair, deltas: &[Delta<'_>]| {
        let mut parser = pair.parser(request, Prompt::Unknown).expect("a parser");
        deltas.iter().for_each(|delta| parser.push(*delta, &mut Message::default()));
        parser.finish(None, &mut Message::default())
    };
    let ids: Vec<u32> = text.chars().map(u32::from).collect();
    let mut buffers = vec![[0; 4]; ids.len()];
    let pieces: Vec<&str> = text.chars().zip(&mut buffers).map(|(c, buffer)| &*c.encode_utf8(buffer)).collect();
    let single: Vec<Delta<'_>> =
        pieces.iter().zip(ids.chunks(1)).map(|(text, ids)| Delta { text: Some(text), ids }).collect();
    let expected = run(known, &[Delta::ids(&ids)]);
    assert_eq!(run(pair, &single), expected, "text with ids: {text}");
    assert_eq!(run(known, &single), expected, "text with ids of a vocabulary: {text}");
}

#[test]
fn deltas_pass_from_every_character_to_every_other() {
    let (registry, request) = (Registry::builtin(), request());
    let mut runs = 0;
    for half in [Half::Reasoning, Half::Tools] {
        for name in registry.names(half) {
            let Some(plain) = pair(half, &name, None) else { continue };
            let Some(text) = written(&plain, &request) else { continue };
            runs += check(&plain, &request, &text);
            let bytes = text.chars().map(|c| (u32::from(c), c.to_string().into_bytes())).collect();
            let known = pair(half, &name, Some(bytes)).expect("the same pair");
            counts(&plain, &known, &request, &text);
        }
    }
    assert!(runs > 50_000, "{runs} runs");
}
