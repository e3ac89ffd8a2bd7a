//! Law 6: what a format's grammar admits, the parser reads as calls that fit their schemas; and what the renderer
//! writes, the grammar admits. The grammar is compiled by llguidance and walked token by token.

mod checkpoint;
mod corrections;
mod dump;
mod keys;
mod machine;
#[path = "../roundtrip/messages.rs"]
#[allow(dead_code)]
mod messages;
mod opened;
#[path = "../roundtrip/pairs.rs"]
#[allow(dead_code)]
mod pairs;
mod schemas;
mod shapes;
mod sizes;
mod table;
mod tags;
mod theirs;
mod tools;
mod validate;

use llguidance::Matcher;
use serde_json::{Value, json};
use unspool::Pair;
use unspool::grammar::{Options, StrictLevel};
use unspool::message::Message;
use unspool::sample::{Parts, Sampler};
use unspool::{Delta, Event, FinishReason, Prompt, Request};

use dump::Dump;
use machine::{Machine, Random};
use pairs::{Names, all_names};

/// Samples for each format in the everyday run; `GRAMMAR_SAMPLES` in the environment says another number, and `.ci/test` wants 200.
const SAMPLES: usize = 20;

/// Number of samples under `auto`, where text alone is valid too; at least one must have a call.
const ENOUGH: usize = 40;

fn sample_count() -> usize {
    std::env::var("GRAMMAR_SAMPLES").ok().and_then(|n| n.parse().ok()).unwrap_or(SAMPLES)
}

/// Only names that hold this, if `GRAMMAR_NAME` says so.
fn names_with_calls() -> Vec<Names> {
    let only = std::env::var("GRAMMAR_NAME").ok();
    let wanted = |n: &Names| n.tools.is_some() && only.as_ref().is_none_or(|o| n.tools.as_ref() == Some(o));
    all_names().into_iter().filter(wanted).collect()
}

fn report(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

fn request(fields: &Value) -> Request {
    Request::from_openai(fields).unwrap()
}

/// A format with its request and compiled grammar.
struct Case {
    pair: Pair,
    request: Request,
    machine: Machine,
    matcher: Matcher,
    dump: Dump,
}

impl Case {
    fn new(names: &Names, fields: &Value, level: StrictLevel, with_thought: bool) -> Result<Self, String> {
        let options = Options { level, with_thought, ..Options::default() };
        Self::of(names.pair(), names, messages::markers(names), fields, &options)
    }

    /// `names`: what faults name the pair.
    fn of(
        pair: Pair,
        names: impl std::fmt::Display,
        mut markers: Vec<String>,
        fields: &Value,
        options: &Options,
    ) -> Result<Self, String> {
        let request = request(fields);
        let grammar = pair.grammar(&request, options).map_err(|e| format!("{names}: {e}"))?;
        let grammar = grammar.ok_or_else(|| format!("{names}: no grammar"))?;
        let mut triggers = Vec::new();
        literals(&grammar.structural_tag(), &mut markers, &mut triggers);
        let machine = Machine::new(&markers, &triggers);
        let matcher = machine.matcher(&grammar.lark()).map_err(|e| format!("{names}: {e}"))?;
        // Where blanks may stand inside tags, a tag keeps more out of texts than it must.
        let loose = grammar.lark().contains(r"<[ \t\r\n]*");
        let dump = Dump::new(loose, &format!("{names}, {}", fields["tool_choice"]), grammar.structural_tag());
        Ok(Self { pair, request, machine, matcher, dump })
    }

    fn parse<'t>(&self, pieces: impl IntoIterator<Item = &'t str>) -> Message {
        let mut message = Message::default();
        let mut parser = self.pair.parser(&self.request, Prompt::Unknown).unwrap();
        let mut sink = |event: Event<'_>| unspool::Sink::event(&mut message, event);
        for piece in pieces {
            parser.push(Delta::text(piece), &mut sink);
        }
        parser.finish(Some(FinishReason::Stop), &mut sink);
        message
    }

    /// Parses a text whole, character by character and in five random cuts; all must agree.
    fn parse_all(&self, text: &str, random: &mut Random) -> Result<Message, String> {
        let whole = self.parse([text]);
        let characters = text.char_indices().map(|(i, c)| &text[i..i + c.len_utf8()]);
        let mut others = vec![self.parse(characters)];
        for _ in 0..5 {
            others.push(self.parse(cut(text, random)));
        }
        let seen = |m: &Message| {
            let calls = m.tool_calls.iter().map(|c| (c.name.clone(), c.arguments.clone(), c.complete));
            (m.reasoning.clone(), m.content.clone(), calls.collect::<Vec<_>>())
        };
        match others.iter().find(|m| seen(m) != seen(&whole)) {
            Some(other) => Err(format!("cuts differ: {whole:?}\n  {other:?}")),
            None => Ok(whole),
        }
    }
}

/// The literals of a structural tag: what a sample must hit to go on.
fn literals(tag: &Value, out: &mut Vec<String>, triggers: &mut Vec<String>) {
    match tag {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("begin" | "end" | "value" | "separator", Value::String(text)) => out.push(text.clone()),
                    ("triggers", Value::Array(all)) => {
                        triggers.extend(all.iter().filter_map(|t| t.as_str().map(str::to_owned)));
                    }
                    ("json_schema", _) => {}
                    ("grammar", Value::String(text)) => ebnf_literals(text, out, triggers),
                    (_, value) => literals(value, out, triggers),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|value| literals(value, out, triggers)),
        _ => {}
    }
}

/// The same of a part that is EBNF.
fn ebnf_literals(text: &str, out: &mut Vec<String>, triggers: &mut Vec<String>) {
    let quoted = fancy_regex::Regex::new(r#"(Regex\(|TagDispatch\(\()?("(?:[^"\\]|\\.)*")"#).unwrap();
    for found in quoted.captures_iter(text).map(Result::unwrap) {
        let Ok(literal) = serde_json::from_str::<String>(&found[2]) else { continue };
        match found.get(1).map(|m| m.as_str()) {
            Some("Regex(") => {}
            Some(_) => triggers.push(literal),
            None => out.push(literal),
        }
    }
}

fn cut<'t>(text: &'t str, random: &mut Random) -> Vec<&'t str> {
    let mean = [2, 3, 6, 15, 50][random.below(5)];
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, _) in text.char_indices().skip(1) {
        if random.below(mean) == 0 {
            pieces.push(&text[start..at]);
            start = at;
        }
    }
    pieces.push(&text[start..]);
    pieces
}

/// Whether all calls of a message are complete calls of the tools, with arguments that fit where those are held to.
fn check_calls(message: &Message, tools: &Value, strict: bool) -> Result<(), String> {
    for call in &message.tool_calls {
        let tool = tools.as_array().unwrap().iter().find(|t| t["function"]["name"] == *call.name);
        let Some(tool) = tool else { return Err(format!("a call of {:?}, which is no tool", call.name)) };
        if !call.complete {
            return Err(format!("an incomplete call: {call:?}\n {:?}", message.diagnostics));
        }
        let arguments = json_value(&call.arguments)?;
        if !arguments.is_object() {
            return Err(format!("arguments that are no object: {arguments}"));
        }
        if strict {
            let schema = &tool["function"]["parameters"];
            validate::check(schema, schema, &arguments).map_err(|e| format!("{}: {e}", call.name))?;
        }
    }
    Ok(())
}

/// The JSON value of a text; a number that no double holds counts as a great one, for JSON allows it.
fn json_value(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).or_else(|_| {
        let exponent = fancy_regex::Regex::new(r"([0-9][eE][+-]?)[0-9]{3,}").unwrap();
        serde_json::from_str(&exponent.replace_all(text, "${1}9")).map_err(|e| format!("{e} in {text:?}"))
    })
}

/// Samples texts of one grammar and checks what the parser makes of them. Gives back how many had calls.
fn sampled(names: &Names, choice: &Value, level: StrictLevel, count: usize) -> Result<usize, String> {
    let tools = tools::tools(names);
    let mut case = Case::new(names, &json!({"tools": tools, "tool_choice": choice}), level, names.reasoning.is_some())?;
    let strict = level == StrictLevel::Parameter;
    let mut calling = 0;
    for number in 0..count {
        let mut random = Random::new(&format!("{names} {choice}"), number as u64);
        let said = |why: String| format!("{names}, {choice}: {why}");
        let text = case.machine.sample(&mut case.matcher, &mut random).map_err(said)?;
        let fault = |why: String| format!("{names}, {choice}: {why}\n  text: {text:?}");
        case.dump.sampled(&text);
        let message = case.parse_all(&text, &mut random).map_err(fault)?;
        check_calls(&message, &tools, strict).map_err(fault)?;
        let must = choice != "auto";
        if must && (message.tool_calls.is_empty() || !message.content.trim().is_empty()) {
            return Err(fault(format!("no call, or text beside it: {message:?}")));
        }
        let named = choice.pointer("/function/name").and_then(Value::as_str);
        if let Some(name) = named
            && (message.tool_calls.len() != 1 || message.tool_calls[0].name != name)
        {
            return Err(fault(format!("not one call of {name}: {message:?}")));
        }
        calling += usize::from(!message.tool_calls.is_empty());
    }
    Ok(calling)
}

/// All names in four parts, so that the tests run side by side.
fn sample_part(part: usize) {
    let mut faults = Vec::new();
    for names in names_with_calls().into_iter().skip(part).step_by(4) {
        // A name by itself has its full number; the pair with its reasoning half adds the thought in front.
        let count = if names.reasoning.is_none() { sample_count() } else { sample_count() / 4 };
        let named = json!({"type": "function", "function": {"name": "tide"}});
        let parts = [
            (json!("required"), StrictLevel::Parameter, count * 2 / 5),
            (json!("auto"), StrictLevel::Parameter, count / 5),
            (named, StrictLevel::Parameter, count / 5),
            (json!("required"), StrictLevel::Function, count / 5),
        ];
        for (choice, level, count) in parts {
            match sampled(&names, &choice, level, count) {
                Ok(0) if count >= ENOUGH => faults.push(format!("{names}, {choice}: no sample had a call")),
                Ok(_) => {}
                Err(fault) => {
                    faults.push(fault);
                    break;
                }
            }
        }
    }
    report(&faults);
}

#[test]
fn sampled_texts_are_calls_that_fit_1() {
    sample_part(0);
}

#[test]
fn sampled_texts_are_calls_that_fit_2() {
    sample_part(1);
}

#[test]
fn sampled_texts_are_calls_that_fit_3() {
    sample_part(2);
}

#[test]
fn sampled_texts_are_calls_that_fit_4() {
    sample_part(3);
}

/// Changes a text somewhere: a stretch goes, comes twice or moves, or a character is another one.
fn mutated(text: &str, random: &mut Random) -> String {
    let borders: Vec<usize> = text.char_indices().map(|(i, _)| i).chain([text.len()]).collect();
    let mut place = || borders[random.below(borders.len())];
    let (a, b) = (place(), place());
    let (from, to) = (a.min(b), a.max(b).min(a.min(b) + 40));
    let to = (to..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len());
    match random.below(5) {
        0 => format!("{}{}", &text[..from], &text[to..]),
        1 => format!("{}{}{}", &text[..to], &text[from..to], &text[to..]),
        2 => text[..from].to_owned(),
        3 => format!(
            "{}{}",
            &text[..from],
            &text[from..].replacen(['"', '>', '<', '=', '\'', '{', '[', '}', ']'], "~", 1)
        ),
        _ => format!("{}{}{}", &text[..from], ["x", "9", "\"", "}", "<", "]"][random.below(6)], &text[from..]),
    }
}

/// What the parser says against a text that should be calls and nothing else.
fn flagged(case: &Case, text: &str, tools: &Value) -> bool {
    let message = case.parse([text]);
    let complaints = !message.diagnostics.is_empty() || !message.content.trim().is_empty();
    complaints || message.tool_calls.is_empty() || check_calls(&message, tools, true).is_err()
}

/// Mutates rendered calls; gives back how many the parser flagged.
fn mutants(names: &Names) -> Result<usize, String> {
    let tools = tools::tools(names);
    let fields = json!({"tools": tools, "tool_choice": "required"});
    let mut case = Case::new(names, &fields, StrictLevel::Parameter, true)?;
    let mut sampler = Sampler::new(9);
    let mut random = Random::new(&names.to_string(), 3);
    let mut count = 0;
    for _ in 0..24 {
        let parts = Parts { reasoning: names.reasoning.is_some(), content: false, calls: 2 };
        let message = names.fit(sampler.message_of(&tools, parts));
        let Ok(text) = case.pair.render(&message, &case.request) else { continue };
        for _ in 0..8 {
            let text = mutated(&text, &mut random);
            if flagged(&case, &text, &tools) {
                count += 1;
                case.dump.rejected.push(text.clone());
                if case.machine.accepts(&mut case.matcher, &text).is_ok() {
                    let message = case.parse([text.as_str()]);
                    return Err(format!("{names}: accepted although flagged: {message:?}\n  text: {text:?}"));
                }
            }
        }
    }
    Ok(count)
}

#[test]
fn what_the_parser_flags_is_rejected() {
    let mut faults = Vec::new();
    for names in names_with_calls() {
        match mutants(&names) {
            Ok(count) if count >= 24 => {}
            Ok(count) => faults.push(format!("{names}: only {count} flagged texts")),
            Err(fault) => faults.push(fault),
        }
    }
    report(&faults);
}

/// Renders messages and feeds them to the grammar.
fn rendered(names: &Names) -> Result<(), String> {
    let tools = tools::tools(names);
    let mut case = Case::new(names, &json!({"tools": tools}), StrictLevel::Parameter, true)?;
    let mut sampler = Sampler::new(5);
    for _ in 0..64 {
        let message = names.fit(sampler.message(&tools));
        // A value that the syntax cannot say is refused by name; then there is no text.
        let Ok(text) = case.pair.render(&message, &case.request) else { continue };
        case.dump.accepted.push(text.clone());
        let machine = &case.machine;
        machine.accepts(&mut case.matcher, &text).map_err(|e| format!("{names}: {e}\n  text: {text:?}"))?;
    }
    Ok(())
}

/// Texts of the grammar's own sampler, which the mock backend writes.
fn plausible(names: &Names) -> Result<(), String> {
    let tools = tools::tools(names);
    for choice in [json!("required"), json!({"type": "function", "function": {"name": "plan"}}), json!("auto")] {
        let fields = json!({"tools": tools, "tool_choice": choice});
        let mut case = Case::new(names, &fields, StrictLevel::Parameter, true)?;
        let options = Options { level: StrictLevel::Parameter, with_thought: true, ..Options::default() };
        let grammar = case.pair.grammar(&case.request, &options).map_err(|e| e.to_string())?.ok_or("no grammar")?;
        let mut sampler = Sampler::new(23);
        for _ in 0..16 {
            let text = grammar.sample(&mut sampler);
            let fault = |why: String| format!("{names}, {choice}: {why}\n  text: {text:?}");
            case.machine.accepts(&mut case.matcher, &text).map_err(fault)?;
            let message = case.parse([text.as_str()]);
            check_calls(&message, &tools, true).map_err(fault)?;
            if choice != "auto" && message.tool_calls.is_empty() {
                return Err(fault("no call".to_owned()));
            }
        }
    }
    Ok(())
}

#[test]
fn the_grammars_own_samples_are_calls_that_fit() {
    report(&names_with_calls().iter().filter_map(|names| plausible(names).err()).collect::<Vec<_>>());
}

#[test]
fn rendered_messages_are_accepted() {
    report(&names_with_calls().iter().filter_map(|names| rendered(names).err()).collect::<Vec<_>>());
}
