//! Every kind of diagnostic can happen, and says where.

use std::collections::HashMap;

use serde_json::{Value, json};
use unspool::{
    Delta, Diagnostic, DiagnosticKind, FinishReason, IncompleteCalls, Limits, Message, Prompt, Registry, Request,
    Setup, Vocabulary,
};

/// One reply and how it is read.
struct Reply<'a> {
    names: (&'a str, &'a str),
    request: Value,
    text: &'a str,
    setup: Setup,
    finish: FinishReason,
}

impl Default for Reply<'_> {
    fn default() -> Self {
        let tool =
            |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
        Self {
            names: ("qwen3", "hermes"),
            request: json!({"tools": [tool("f"), tool("g")]}),
            text: "",
            setup: Setup::default(),
            finish: FinishReason::Stop,
        }
    }
}

impl Reply<'_> {
    /// The diagnostics, which are the same for the whole text and for single characters.
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let single: Vec<&str> = self.text.char_indices().map(|(i, c)| &self.text[i..i + c.len_utf8()]).collect();
        let whole = self.run(&[self.text]);
        assert_eq!(self.run(&single), whole, "{:?}", self.text);
        whole
    }

    fn run(&self, pieces: &[&str]) -> Vec<Diagnostic> {
        let setup = Setup {
            reasoning_parser: Some(self.names.0.to_owned()),
            tool_parser: Some(self.names.1.to_owned()),
            ..self.setup.clone()
        };
        let pair = Registry::builtin().pair(&setup).expect("a pair");
        let request = Request::from_openai(&self.request).expect("a request");
        let mut parser = pair.parser(&request, Prompt::Unknown).expect("a parser");
        let mut message = Message::default();
        for piece in pieces {
            parser.push(Delta::text(piece), &mut message);
        }
        parser.finish(Some(self.finish), &mut message);
        message.diagnostics
    }

    /// Whether a diagnostic of this kind quotes this text at the place where it first stands.
    fn says(&self, kind: DiagnosticKind, text: &str) {
        let found = self.diagnostics();
        let at = self.text.find(text).expect("the text stands in the output") as u64;
        let fits = |note: &&Diagnostic| note.kind == kind && note.offset == at && note.text.starts_with(text);
        assert!(found.iter().any(|note| fits(&note)), "no {kind:?} of {text:?} at {at}: {found:#?}");
    }
}

#[test]
fn of_calls() {
    let length = || Reply { finish: FinishReason::Length, ..Reply::default() };
    let has = |reply: &Reply<'_>, kind: DiagnosticKind| {
        let found = reply.diagnostics();
        assert!(found.iter().any(|note| note.kind == kind), "no {kind:?}: {found:#?}");
    };
    let hurt = "</think><tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1";
    has(&Reply { text: hurt, ..length() }, DiagnosticKind::CallCutOff);
    let broken = "</think><tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}, oops}</tool_call>";
    has(&Reply { text: broken, ..Reply::default() }, DiagnosticKind::CallBroken);
    has(&Reply { text: broken, ..Reply::default() }, DiagnosticKind::UnplacedText);
    let kimi = "</think><|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{oops\
                <|tool_call_end|><|tool_calls_section_end|>";
    has(&Reply { names: ("kimi_k2", "kimi_k2"), text: kimi, ..Reply::default() }, DiagnosticKind::NotJson);
    let unknown = "</think><tool_call>{\"name\": \"h\", \"arguments\": {}}</tool_call>";
    has(&Reply { text: unknown, ..Reply::default() }, DiagnosticKind::UnknownFunction);
    Reply { text: "</think>a <tool_call> is a tag", ..Reply::default() }
        .says(DiagnosticKind::NoCallFollows, "<tool_call>");
    let call = |name: &str| format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {{}}}}</tool_call>");
    let two = format!("</think>{}{}", call("f"), call("g"));
    let mut one_only = Reply { text: &two, ..Reply::default() };
    one_only.request["parallel_tool_calls"] = json!(false);
    has(&one_only, DiagnosticKind::CallFiltered);
    let drop = Setup { incomplete_calls: IncompleteCalls::Drop, ..Setup::default() };
    has(&Reply { text: hurt, setup: drop, ..length() }, DiagnosticKind::CallDropped);
    let limits = Setup { limits: Limits { arguments: 4, ..Limits::default() }, ..Setup::default() };
    let long = "</think><tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 12345}}</tool_call>";
    has(&Reply { text: long, setup: limits, ..Reply::default() }, DiagnosticKind::LimitReached);
    has(&Reply { text: "still think", ..length() }, DiagnosticKind::ThoughtCutOff);
}

#[test]
fn texts_that_stand_in_for_output_are_whole() {
    let lost = "é lost ".repeat(300);
    let broken = format!("</think><tool_call>{{\"name\": \"f\", \"arguments\": {{\"a\": {lost}</tool_call>");
    Reply { text: &broken, ..Reply::default() }.says(DiagnosticKind::UnplacedText, &lost);
    let member = format!("\"memo\": \"{lost}\"");
    let call = format!("</think><tool_call>{{\"name\": \"f\", {member}, \"arguments\": {{}}}}</tool_call>");
    let found = Reply { text: &call, ..Reply::default() }.diagnostics();
    assert!(found.iter().any(|note| note.text == member), "{found:?}");
    let piece = format!("<parameter nam>{lost}");
    let params = format!(
        "</think><minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">1</parameter>\n{piece}</invoke>\n</minimax:tool_call>"
    );
    Reply { names: ("minimax_m2", "minimax_m2"), text: &params, ..Reply::default() }
        .says(DiagnosticKind::UnplacedText, &piece);
    let cut = format!("</think><tool_call>{{\"name\": \"f\", \"arguments\": {{\"a\": \"{lost}");
    let setup = Setup { incomplete_calls: IncompleteCalls::Drop, ..Setup::default() };
    let dropped = Reply { text: &cut, setup, finish: FinishReason::Length, ..Reply::default() };
    dropped.says(DiagnosticKind::CallDropped, &cut["</think>".len()..]);
    // The limit holds.
    let setup = Setup { limits: Limits { arguments: 600, ..Limits::default() }, ..Setup::default() };
    for (names, text) in [(("qwen3", "hermes"), &broken), (("minimax_m2", "minimax_m2"), &params)] {
        let found = Reply { names, text, setup: setup.clone(), ..Reply::default() }.diagnostics();
        let longest = found.iter().map(|note| note.text.len()).max();
        assert!(longest.is_some_and(|most| (590..=600).contains(&most)), "{names:?}: {longest:?}");
    }
}

#[test]
fn of_schemas_that_cannot_be_used() {
    let call = "</think><tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
    for (parameters, told) in [
        (json!([1]), true),
        (json!({"properties": {"a": {"$ref": "#/$defs/nowhere"}}}), true),
        (json!({"properties": {"a": {"$ref": "#/$defs/here"}}, "$defs": {"here": {}}}), false),
        (Value::Null, false),
    ] {
        let request = json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}]});
        let found = Reply { text: call, request, ..Reply::default() }.diagnostics();
        assert_eq!(found.iter().any(|note| note.kind == DiagnosticKind::BadSchema), told, "{parameters}: {found:?}");
    }
}

#[test]
fn of_citations_with_their_places() {
    let text = "<|START_THINKING|>é.<|END_THINKING|><|START_RESPONSE|>Noon <co>at Looe</co: 0:[1]>.<|END_RESPONSE|>";
    let reply = Reply { names: ("cohere_command3", "cohere_command3"), text, ..Reply::default() };
    reply.says(DiagnosticKind::TextFiltered, "<co>");
    reply.says(DiagnosticKind::TextFiltered, "</co: 0:[1]>");
    let few = Setup { limits: Limits { diagnostics: 1, ..Limits::default() }, ..Setup::default() };
    let kinds: Vec<_> = Reply { setup: few, ..reply }.diagnostics().into_iter().map(|note| note.kind).collect();
    let told = [DiagnosticKind::TextFiltered, DiagnosticKind::LimitReached];
    assert_eq!(kinds, told, "the limit holds for filters too");
}

#[test]
fn of_tokens() {
    let bytes: HashMap<u32, Vec<u8>> = [(1, b"a".to_vec()), (2, vec![0xff])].into();
    let setup =
        Setup { vocabulary: Vocabulary { bytes: Some(bytes.into()), ..Vocabulary::default() }, ..Setup::default() };
    let pair = Registry::builtin().pair(&setup).expect("a pair");
    let mut message = Message::default();
    let mut parser = pair.parser(&Request::default(), Prompt::Unknown).expect("a parser");
    parser.push(Delta { text: None, ids: &[1, 2, 9, 1] }, &mut message);
    parser.finish(None, &mut message);
    let kinds: Vec<DiagnosticKind> = message.diagnostics.iter().map(|note| note.kind).collect();
    assert!(kinds.contains(&DiagnosticKind::InvalidUtf8) && kinds.contains(&DiagnosticKind::UnknownToken), "{kinds:?}");
}
