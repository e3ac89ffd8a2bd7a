//! Grammars that go on from where the prompt, or what was written already, has left the thought.

use serde_json::{Value, json};
use unspool::grammar::{Options, StrictLevel};
use unspool::sample::Sampler;
use unspool::{Delta, Event, FinishReason, Half, Message, Pair, Parser, Prompt, Registry, Request, Setup};

/// Every tool parser with a reasoning parser that goes with it, and the texts around a thought.
fn pairs() -> Vec<(String, Pair, (String, String))> {
    let registry = Registry::builtin();
    let mut out = Vec::new();
    for name in registry.names(Half::Tools) {
        let own = registry.names(Half::Reasoning).contains(&name).then(|| name.clone());
        let partner = own.or_else(|| registry.partners(Half::Tools, &name).into_iter().next());
        let setup = Setup { reasoning_parser: partner, tool_parser: Some(name.clone()), ..Setup::default() };
        let Ok(pair) = registry.pair(&setup) else { continue };
        if let Some(markers) = pair.reasoning_markers().filter(|(start, _)| !start.is_empty()) {
            out.push((name, pair, markers));
        }
    }
    out
}

fn request() -> Request {
    let parameters = json!({"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]});
    let tools = json!([{"type": "function", "function": {"name": "tide", "strict": true, "parameters": parameters}}]);
    let body = json!({"tools": tools, "tool_choice": "required",
        "chat_template_kwargs": {"enable_thinking": true, "thinking": true}});
    Request::from_openai(&body).expect("a request")
}

/// What a parser says that has read `before` already.
fn read(mut parser: Parser, before: &str, text: &str) -> Message {
    let mut message = Message::default();
    let mut sink = |event: Event<'_>| unspool::Sink::event(&mut message, event);
    parser.push(Delta::text(before), &mut sink);
    parser.push(Delta::text(text), &mut sink);
    parser.finish(Some(FinishReason::Stop), &mut sink);
    message
}

fn is_right(message: &Message) -> bool {
    let calls = &message.tool_calls;
    let fits = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value["port"].is_string());
    !calls.is_empty() && calls.iter().all(|call| call.complete && call.name == "tide" && fits(&call.arguments))
}

/// Texts of the grammar for a state, read behind `prompt` and `before`.
fn faults(name: &str, pair: &Pair, (prompt, before): (&str, &str)) -> Option<String> {
    let mut parser = pair.parser(&request(), Prompt::Text(prompt)).ok()?;
    parser.push(Delta::text(before), &mut |_: Event<'_>| {});
    let open = (!parser.reasoning_ended()).then(|| parser.is_thinking());
    let options = Options {
        level: StrictLevel::Parameter,
        with_thought: open.is_some(),
        thought_open: open,
        ..Options::default()
    };
    let grammar = pair.grammar(&request(), &options).ok()??;
    let mut sampler = Sampler::new(11);
    (0..8).find_map(|_| {
        let text = grammar.sample(&mut sampler);
        let parser = pair.parser(&request(), Prompt::Text(prompt)).ok()?;
        let message = read(parser, before, &text);
        (!is_right(&message)).then(|| format!("{name}, {prompt:?} {before:?} {open:?}: {text:?}\n  {message:?}"))
    })
}

#[test]
fn an_open_thought_is_closed_and_a_closed_one_is_over() {
    let mut all = Vec::new();
    let pairs = pairs();
    for (name, pair, (start, end)) in &pairs {
        for (prompt, before) in [
            (start.clone(), String::new()),
            (start.clone(), "Hm.".to_owned()),
            (start.clone(), format!("Hm.{end}")),
            (format!("{start}Hm.{end}"), String::new()),
            (String::new(), format!("{start}Hm.{end}")),
        ] {
            all.extend(faults(name, pair, (&prompt, &before)));
        }
    }
    assert!(pairs.len() >= 36, "{} pairs have markers", pairs.len());
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
}
