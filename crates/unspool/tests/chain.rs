//! Two parsers, one behind the other: the first reads thoughts and passes the rest on as it stands, the second reads that.
//!
//! What comes out is what one pair gives, for every case of the corpus in a format whose halves belong together. [`APART`] are
//! the cases in which only a pair can know.

use std::fs;
use std::path::Path;

use serde_json::Value;
use unspool::{Delta, FinishReason, Message, Pair, Prompt, Registry, Request, Setup};

/// Formats whose halves belong together.
const BOUND: &[&str] = &["cohere_command3", "cohere_command4", "inkling", "kimi_k3", "muse", "muse_glimmer", "openai"];

const APART: &[&str] = &[
    // The first cannot know that no call follows its opener, and that the thought goes on.
    "cohere_command4/malformed",
    // The second does not know that the prompt has left a header open.
    "inkling/history-header-text",
];

struct Case {
    id: String,
    names: (String, String),
    request: Request,
    prompt: Option<String>,
    text: String,
    finish: FinishReason,
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut cases = Vec::new();
    for folder in ["corpus", "cases"] {
        for entry in fs::read_dir(root.join(folder)).expect("the corpus is there") {
            let path = entry.expect("a file").path();
            if path.extension().is_some_and(|e| e == "jsonl") {
                let text = fs::read_to_string(path).expect("a file of cases");
                cases.extend(text.lines().filter_map(|line| case(&serde_json::from_str(line).expect("a case"))));
            }
        }
    }
    cases
}

fn case(fields: &Value) -> Option<Case> {
    let text = |key: &str| fields[key].as_str().map(str::to_owned);
    let names = (text("reasoning_parser")?, text("tool_parser")?);
    let usual = fields["incomplete_calls"].is_null() && fields["expect"]["error"].is_null();
    if !BOUND.contains(&names.1.as_str()) || !usual {
        return None;
    }
    let mut request = fields["request"].clone();
    request["tools"] = fields["tools"].clone();
    // What is left out of reasoning is the affair of who gives the first parser's answer on.
    request["include_reasoning"] = Value::Null;
    let request = Request { id_seed: Some(1), ..Request::from_openai(&request).ok()? };
    let finish = if fields["finish"] == "length" { FinishReason::Length } else { FinishReason::Stop };
    Some(Case { id: text("id")?, names, request, prompt: text("prompt_tail"), text: text("text")?, finish })
}

fn pair(reasoning: Option<&str>, tools: Option<&str>, raw_rest: bool) -> Pair {
    let setup = Setup {
        reasoning_parser: reasoning.map(str::to_owned),
        tool_parser: tools.map(str::to_owned),
        raw_rest,
        ..Setup::default()
    };
    Registry::builtin().pair(&setup).unwrap_or_else(|e| panic!("{reasoning:?} {tools:?}: {e}"))
}

fn read(pair: &Pair, case: &Case, prompt: Prompt<'_>, pieces: &[&str]) -> Message {
    let mut parser = pair.parser(&case.request, prompt).unwrap_or_else(|e| panic!("{}: {e}", case.id));
    let mut message = Message::default();
    pieces.iter().for_each(|piece| parser.push(Delta::text(piece), &mut message));
    parser.finish(Some(case.finish), &mut message);
    message
}

/// The pieces of a text, cut before each of its characters.
fn characters(text: &str) -> Vec<&str> {
    text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]).collect()
}

#[test]
fn two_parsers_in_a_row_give_what_one_pair_gives() {
    let mut tried = 0;
    let mut odd = Vec::new();
    for case in cases() {
        let prompt = || case.prompt.as_deref().map_or(Prompt::Unknown, Prompt::Text);
        let (reasoning, tools) = (Some(case.names.0.as_str()), Some(case.names.1.as_str()));
        let whole = read(&pair(reasoning, tools, false), &case, prompt(), &[&case.text]);
        let first = pair(reasoning, None, true);
        let thought = read(&first, &case, prompt(), &[&case.text]);
        let cut = read(&first, &case, prompt(), &characters(&case.text));
        assert_eq!((&cut.reasoning, &cut.content), (&thought.reasoning, &thought.content), "{}", case.id);
        let second = pair(None, tools, true);
        let answer = read(&second, &case, Prompt::Content, &[&thought.content]);
        let cut = read(&second, &case, Prompt::Content, &characters(&thought.content));
        assert_eq!((&cut.tool_calls, &cut.content), (&answer.tool_calls, &answer.content), "{}", case.id);
        assert_eq!(answer.reasoning, "", "{}", case.id);
        tried += 1;
        let same = thought.reasoning.trim() == whole.reasoning.trim()
            && answer.content.trim() == whole.content.trim()
            && answer.tool_calls == whole.tool_calls;
        assert!(!same || !APART.contains(&case.id.as_str()), "{} is no exception any more", case.id);
        if !same && !APART.contains(&case.id.as_str()) {
            odd.push(format!(
                "{}\n  {:?}\n  pair  {whole:?}\n  first {thought:?}\n  then  {answer:?}",
                case.id, case.text
            ));
        }
    }
    assert!(tried > 100, "{tried} cases");
    assert!(odd.is_empty(), "{} of {tried} differ:\n{}", odd.len(), odd.join("\n"));
}
