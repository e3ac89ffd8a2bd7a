//! An assistant's turn that a template writes is what the renderer writes, and is read as the same message.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};
use unspool::format::file::ThinkingTurns;
use unspool::{Delta, FinishReason, Half, Message, Pair, Prompt, Registry, Request};
use unspool_check::template::prompter;
use unspool_check::write::Wish;
use unspool_text::{ChatTemplate, PromptRequest, Prompter};

use super::messages::{tools, wild};
use super::pairs::Names;
use super::{same, shown, wishes, written};

/// Messages that are tried with each template.
const MESSAGES: usize = 24;

/// A pair, its template, and the request that both are asked with.
struct Subject {
    pair: Pair,
    prompter: Prompter,
    kwargs: Map<String, Value>,
    request: Request,
    tools: Vec<Value>,
}

impl Subject {
    fn new(wish: &Wish, think: bool) -> Self {
        let pair = wish.pair(&Registry::builtin()).unwrap();
        let words = pair.words(Half::Reasoning);
        let switches = words.map(|words| words.switches).unwrap_or_default();
        let mut kwargs: Map<String, Value> = switches.keys.iter().map(|key| (key.clone(), json!(think))).collect();
        if switches.keys.is_empty() && !switches.effort_off.is_empty() {
            kwargs.insert("reasoning_effort".to_owned(), json!("high"));
        }
        let body = json!({"tools": tools(), "chat_template_kwargs": kwargs});
        let request = Request::from_openai(&body).unwrap();
        let prompter = prompter(&written(wish), Map::new()).unwrap();
        let Value::Array(tools) = tools() else { unreachable!("it is a list") };
        Self { pair, prompter, kwargs, request, tools }
    }

    fn render(&self, messages: &[Value]) -> String {
        let request = PromptRequest {
            messages,
            tools: Some(&self.tools),
            documents: None,
            kwargs: &self.kwargs,
            template: None,
            generation_prompt: false,
            continue_final: false,
        };
        self.prompter.render(&request).expect("it renders").into_text()
    }

    /// The turn of a message behind a question, and the prompt in front of it.
    fn turn(&self, message: &Message) -> (String, String) {
        let turns = [Half::Tools, Half::Reasoning]
            .iter()
            .find_map(|half| self.pair.words(*half).map(|words| words.turns).filter(|turns| !turns.is_empty()));
        let turns = turns.expect("it has turns");
        let called = turns.called.as_ref().filter(|_| !message.tool_calls.is_empty());
        let around = |turn: &str| turn.split_once("{reply}").map(|(a, b)| (a.to_owned(), b.to_owned()));
        let (before, after) = around(called.unwrap_or(&turns.assistant)).expect("it has a reply");
        let question = json!({"role": "user", "content": "When?"});
        let asked = self.render(std::slice::from_ref(&question));
        let whole = self.render(&[question, said(message)]);
        let turn = whole.strip_prefix(&asked).and_then(|rest| rest.strip_prefix(&before));
        let turn = turn.and_then(|rest| rest.strip_suffix(&after));
        (format!("{asked}{before}"), turn.unwrap_or_else(|| panic!("another frame: {whole:?}")).to_owned())
    }

    fn read(&self, prompt: &str, turn: &str) -> Message {
        let mut parser = self.pair.parser(&self.request, Prompt::Text(prompt)).unwrap();
        let mut message = Message::default();
        if let Some((start, end)) = self.pair.reasoning_markers()
            && parser.is_thinking()
            && !turn.contains(&start)
            && !turn.contains(&end)
        {
            // A turn of the history without a thought has no marks of one.
            parser.push(Delta::text(&end), &mut message);
        }
        parser.push(Delta::text(turn), &mut message);
        parser.finish(Some(FinishReason::Stop), &mut message);
        message
    }
}

/// A message as clients send it.
fn said(message: &Message) -> Value {
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| {
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
        })
        .collect();
    json!({"role": "assistant", "content": message.content, "reasoning_content": message.reasoning, "tool_calls": calls})
}

/// The message with arguments as Python writes them, ids that every format can write, and no text that is white space only; nothing if
/// its numbers cannot be kept.
fn plain(mut message: Message) -> Option<Message> {
    let dump = ChatTemplate::new("{{ value | tojson }}").unwrap();
    for (at, call) in message.tool_calls.iter_mut().enumerate() {
        let value: Value = serde_json::from_str(&call.arguments).ok()?;
        let context = [("value".to_owned(), value)].into_iter().collect();
        call.arguments = dump.render(&context).ok()?;
        call.id = format!("callnr{at:03}");
    }
    Some(message).filter(|message| !message.content.is_empty() || !message.tool_calls.is_empty())
}

/// What the renderer writes behind an empty thought, if it begins with one.
fn behind<'t>(pair: &Pair, text: &'t str) -> &'t str {
    let Some((start, end)) = pair.reasoning_markers() else { return text };
    let opened = text.strip_prefix(&*start).map(str::trim_start);
    opened.and_then(|rest| rest.strip_prefix(&*end)).unwrap_or(text)
}

/// What the history has in place of a thought.
fn none(pair: &Pair) -> String {
    let [reasoning, tools] = [Half::Reasoning, Half::Tools].map(|half| pair.words(half).map(|words| words.turns));
    let said = reasoning.filter(|turns| !turns.is_empty() || turns.thinking != ThinkingTurns::default());
    said.or(tools).map(|turns| turns.thinking.none).unwrap_or_default()
}

fn check(subject: &Subject, message: &Message) -> Result<bool, String> {
    let Ok(expected) = subject.pair.render(message, &subject.request) else { return Ok(false) };
    let (prompt, turn) = subject.turn(message);
    let none = none(&subject.pair);
    let agree = if message.reasoning.trim().is_empty() {
        let rest = turn.strip_prefix(none.as_str()).unwrap_or(&turn);
        rest.trim_start() == behind(&subject.pair, &expected).trim_start()
    } else {
        turn == expected
    };
    if !agree {
        return Err(format!("the template writes {turn:?}\n  the renderer  {expected:?}"));
    }
    same::messages(message, &subject.read(&prompt, &turn)).map_err(|error| format!("{error}\n  in {turn:?}"))?;
    Ok(true)
}

#[test]
fn turns_are_what_the_renderer_writes() {
    let mut faults = Vec::new();
    let mut tried = 0;
    for (at, wish) in wishes().iter().enumerate() {
        let names = Names::new(wish.reasoning_parser.as_deref(), wish.tool_parser.as_deref()).asked_to_think();
        let subject = Subject::new(wish, true);
        let mut seed = [7; 32];
        seed[0] = u8::try_from(at).unwrap();
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let strategy = wild(&names);
        let mut count = 0;
        for _ in 0..MESSAGES {
            let Some(message) = plain(strategy.new_tree(&mut runner).unwrap().current()) else { continue };
            match check(&subject, &message) {
                Ok(said) => count += usize::from(said),
                Err(error) => {
                    faults.push(format!("{}: {error}", shown(wish)));
                    break;
                }
            }
        }
        assert!(count > 1 || !faults.is_empty(), "{}: only {count} messages can be written", shown(wish));
        tried += count;
    }
    assert!(faults.is_empty(), "{} of {} templates:\n{}", faults.len(), wishes().len(), faults.join("\n"));
    eprintln!("{tried} turns of {} templates are the same", wishes().len());
}
