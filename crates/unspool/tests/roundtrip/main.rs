//! Law 6: what is rendered is parsed as the same message again, however it is cut, for every name and for messages that
//! try to be mistaken for markup. A message that the syntax cannot say is refused, never written wrong.

mod edges;
mod mended;
mod messages;
mod pairs;
mod same;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;
use unspool::Pair;
use unspool::message::Message;
use unspool::sample::{Parts, Sampler};
use unspool::{Delta, Event, Finish, FinishReason, Prompt, Request};

use pairs::{Names, all_names, mixed_names};

/// Messages tried for each pair of names; `ROUNDTRIP_MESSAGES` in the environment says another number.
const MESSAGES: usize = 64;

fn message_count() -> usize {
    std::env::var("ROUNDTRIP_MESSAGES").ok().and_then(|n| n.parse().ok()).unwrap_or(MESSAGES)
}

/// Parses a text that comes in pieces.
fn parse<'t>(pair: &Pair, request: &Request, pieces: impl IntoIterator<Item = &'t str>) -> (Message, Finish) {
    let mut message = Message::default();
    let mut parser = pair.parser(request, Prompt::Unknown).unwrap();
    let mut sink = |event: Event<'_>| unspool::Sink::event(&mut message, event);
    for piece in pieces {
        parser.push(Delta::text(piece), &mut sink);
    }
    let finish = parser.finish(Some(FinishReason::Stop), &mut sink);
    (message, finish)
}

/// Cuts a text at some of the places between its characters.
fn cut(text: &str, seed: u64) -> Vec<&str> {
    let mut state = seed | 1;
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, _) in text.char_indices().skip(1) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if (state >> 60) < 4 {
            pieces.push(&text[start..at]);
            start = at;
        }
    }
    pieces.push(&text[start..]);
    pieces
}

/// Parses a rendered text whole, character by character and in pieces, and compares each with the message.
fn check(pair: &Pair, request: &Request, message: &Message, text: &str) -> Result<(), String> {
    let whole = [text];
    let characters: Vec<&str> = text.char_indices().map(|(i, c)| &text[i..i + c.len_utf8()]).collect();
    let pieces = cut(text, text.len() as u64);
    for (cut, pieces) in [("whole", &whole[..]), ("by character", &characters), ("in pieces", &pieces)] {
        let (parsed, _) = parse(pair, request, pieces.iter().copied());
        same::messages(message, &parsed).map_err(|difference| format!("{cut}: {difference}\n  text: {text:?}"))?;
    }
    Ok(())
}

/// Fails with all faults, one for each pair of names.
fn report(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

fn runner(names: &Names) -> TestRunner {
    let seed = names.to_string().bytes().fold([0_u8; 32], |mut seed, byte| {
        seed.rotate_left(1);
        seed[0] ^= byte;
        seed
    });
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

/// Renders and parses wild messages. Gives back how many could be written.
fn wild(names: &Names, request: &Request, count: usize) -> Result<usize, String> {
    let pair = names.pair();
    let mut runner = runner(names);
    let messages = messages::wild(names);
    let mut written = 0;
    for _ in 0..count {
        let message = messages.new_tree(&mut runner).map_err(|e| e.to_string())?.current();
        match pair.render(&message, request) {
            Ok(text) => {
                written += 1;
                check(&pair, request, &message, &text).map_err(|fault| format!("{names}, {fault}"))?;
            }
            Err(error) if error.place.as_deref().is_none_or(str::is_empty) => {
                return Err(format!("{names}: an error without a place: {error}"));
            }
            Err(_) => {}
        }
    }
    Ok(written)
}

fn request() -> Request {
    Request::from_openai(&json!({"tools": messages::tools()})).unwrap()
}

#[test]
fn wild_messages_come_back_or_are_refused() {
    let request = request();
    let mut faults = Vec::new();
    for names in all_names() {
        match wild(&names, &request, message_count()) {
            Ok(written) if written * 4 >= message_count() => {}
            Ok(written) => faults.push(format!("{names}: only {written} messages could be written")),
            Err(fault) => faults.push(fault),
        }
    }
    report(&faults);
}

#[test]
fn ordinary_messages_can_be_written_in_every_format() {
    let (tools, request) = (messages::tools(), request());
    let ordinary = |names: &Names| {
        let pair = names.pair();
        let mut sampler = Sampler::new(11);
        for _ in 0..message_count() {
            let message = names.fit(sampler.message(&tools));
            let text = pair.render(&message, &request).map_err(|e| format!("{names}: {e}\n  message: {message:?}"))?;
            check(&pair, &request, &message, &text).map_err(|fault| format!("{names}, {fault}"))?;
        }
        Ok(())
    };
    report(&all_names().iter().filter_map(|names| ordinary(names).err()).collect::<Vec<String>>());
}

#[test]
fn halves_of_different_families_work_together() {
    let request = request();
    let mixed = mixed_names();
    let faults = mixed.iter().filter_map(|names| wild(names, &request, message_count() / 4).err());
    report(&faults.collect::<Vec<String>>());
}

#[test]
fn switches_of_the_request_decide_how_a_message_is_written() {
    let mut faults = Vec::new();
    for (name, fields) in [
        ("k2_horizon", json!({"chat_template_kwargs": {"tool_call_format": "json", "reasoning_effort": "low"}})),
        ("k2_horizon", json!({"chat_template_kwargs": {"tool_call_format": "xml_typed"}})),
        ("minimax_m3", json!({"chat_template_kwargs": {"thinking_mode": "enabled"}})),
        ("hy_v3", json!({"reasoning_effort": "high"})),
        ("exaone4", json!({"chat_template_kwargs": {"enable_thinking": true}})),
        ("hyperclovax_seed_think", json!({"chat_template_kwargs": {"thinking": true}})),
        ("gemma4", json!({"chat_template_kwargs": {"enable_thinking": true}})),
        ("deepseek_v4", json!({"chat_template_kwargs": {"thinking": false}})),
        ("glm47", json!({"chat_template_kwargs": {"enable_thinking": false}})),
        ("kimi_k3", json!({"tool_choice": "required"})),
        ("mistral", json!({"tool_choice": {"type": "function", "function": {"name": "tide"}}})),
        ("kimi_k2", json!({"tool_choice": "none"})),
    ] {
        let names = Names::new(Some(name), Some(name)).asked_to_think();
        let mut body = fields.clone();
        body["tools"] = messages::tools();
        match wild(&names, &Request::from_openai(&body).unwrap(), message_count()) {
            Ok(0) => faults.push(format!("{names} with {fields}: no message could be written")),
            Ok(_) => {}
            Err(fault) => faults.push(format!("with {fields}: {fault}")),
        }
    }
    report(&faults);
}

#[test]
fn native_ids_come_back() {
    let request = Request { calls_before: 3, ..request() };
    let names = Names::new(Some("kimi_k2"), Some("kimi_k2"));
    let message = Sampler::new(1).message_of(&messages::tools(), Parts { reasoning: true, content: false, calls: 2 });
    let text = names.pair().render(&message, &request).unwrap();
    let (parsed, _) = parse(&names.pair(), &request, [text.as_str()]);
    for (i, call) in parsed.tool_calls.iter().enumerate() {
        assert_eq!(call.id, format!("functions.{}:{}", call.name, i + 3));
    }
}
