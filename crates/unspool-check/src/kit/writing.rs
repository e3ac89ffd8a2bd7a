//! Tests the format's output: rendered messages, and samples of its grammar.

use serde_json::{Value, json};
use unspool::format::file::Into;
use unspool::grammar::{Options, StrictLevel};
use unspool::sample::{Parts, Sampler};
use unspool::{Half, Message, Request};

use super::reading::{Read, Reader};
use super::trial::{Effort, Line, Step, Subject};
use crate::calls::fits;
use crate::diagnose::Outcome;

/// Functions with parameters of all types.
pub(super) fn tools() -> Value {
    let function = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    json!([
        function(
            "tide",
            json!({"type": "object", "required": ["port"], "properties": {
            "port": {"type": "string"}, "days": {"type": "integer"}, "height": {"type": "number"}, "wet": {"type": "boolean"},
            "scale": {"enum": ["m", "ft"]}, "marks": {"type": "array", "items": {"type": "string"}},
            "boat": {"type": "object", "properties": {"name": {"type": "string"}, "feet": {"type": "number"}}, "required": ["name"]}}})
        ),
        function("log", json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})),
        function("ping", json!({"type": "object", "properties": {}})),
    ])
}

fn request(choice: &str) -> Request {
    let request = Request::from_openai(&json!({"tools": tools(), "tool_choice": choice})).unwrap_or_default();
    Request { id_seed: Some(0), ..request }
}

/// Rendered messages parse to the same messages in every split.
pub(super) fn rendering(subjects: &[Subject], effort: Effort) -> Line {
    let (request, mut faults, mut written) = (request("auto"), Vec::new(), 0);
    // In a format that leaves thoughts in content, they cannot be distinguished.
    for subject in subjects.iter().filter(|subject| !keeps_thoughts(subject)) {
        match rendered(subject, &request, effort) {
            Ok(count) => written += count,
            Err(fault) => faults.push(format!("{}: {fault}", subject.name())),
        }
    }
    if subjects.is_empty() {
        return Line::new(Step::Rendering, Outcome::Unknown, "no pair can be tried without its checkpoint");
    }
    let good = format!("{written} messages are read as what was written");
    Line::of_faults(Step::Rendering, good, "not all messages come back", faults)
}

fn keeps_thoughts(subject: &Subject) -> bool {
    subject.pair.words(Half::Reasoning).is_some_and(|words| words.reasoning.into == Into::Content)
}

fn rendered(subject: &Subject, request: &Request, effort: Effort) -> Result<usize, String> {
    let (tools, mut sampler) = (tools(), Sampler::new(effort.seed));
    let reader = Reader { pair: &subject.pair, request, prompt: None };
    let (mut written, mut refused) = (0, None);
    for number in 0..effort.count {
        let calls = if subject.tools.is_some() { usize::try_from(number % 4).unwrap_or(0) } else { 0 };
        let parts = Parts {
            reasoning: subject.reasoning.is_some() && number % 3 > 0,
            content: calls == 0 || number % 5 == 0,
            calls,
        };
        let message = sampler.message_of(&tools, parts);
        let text = match subject.pair.render(&message, request) {
            Ok(text) => text,
            Err(error) => {
                refused = Some(error.to_string());
                continue;
            }
        };
        let whole = reader.whole(&text).map_err(|error| error.message)?;
        if let Some(difference) = difference(&message, &whole) {
            return Err(format!("{difference}\n  text: {text:?}"));
        }
        if let Some((how, _)) = reader.changed(&text, &whole).map_err(|error| error.message)? {
            return Err(format!("{how} it is read otherwise\n  text: {text:?}"));
        }
        written += 1;
    }
    match refused {
        // Some formats cannot express everything, such as text before a call.
        Some(error) if written * 4 < usize::try_from(effort.count).unwrap_or(0) => {
            Err(format!("only {written} of {} messages can be written: {error}", effort.count))
        }
        _ => Ok(written),
    }
}

fn difference(message: &Message, read: &Read) -> Option<String> {
    for (what, wanted, own) in
        [("the thought", &message.reasoning, &read.reasoning), ("the answer", &message.content, &read.content)]
    {
        if wanted != own {
            return Some(format!("{what} {wanted:?} is read as {own:?}"));
        }
    }
    if message.tool_calls.len() != read.calls.len() {
        return Some(format!("{} calls are read as {}", message.tool_calls.len(), read.calls.len()));
    }
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    message.tool_calls.iter().zip(&read.calls).find_map(|(wanted, own)| {
        let same = wanted.name == own.name && value(&wanted.arguments) == value(&own.arguments);
        (!same).then(|| {
            format!("the call {}({}) is read as {}({})", wanted.name, wanted.arguments, own.name, own.arguments)
        })
    })
}

/// Samples of a grammar with a required call: each parses to calls that match their schemas.
pub(super) fn grammar(subjects: &[Subject], effort: Effort) -> Line {
    let (mut faults, mut sampled, mut without) = (Vec::new(), 0, 0);
    for subject in subjects.iter().filter(|subject| subject.tools.is_some()) {
        match samples(subject, effort) {
            Ok(Some(count)) => sampled += count,
            Ok(None) => without += 1,
            Err(fault) => faults.push(format!("{}: {fault}", subject.name())),
        }
    }
    if faults.is_empty() && sampled == 0 {
        let why = if without > 0 { "there is no grammar" } else { "there are no calls" };
        return Line::new(Step::Grammar, Outcome::Unknown, why);
    }
    Line::of_faults(Step::Grammar, format!("{sampled} samples are calls that fit"), "admits what is not read", faults)
}

fn samples(subject: &Subject, effort: Effort) -> Result<Option<u64>, String> {
    let request = request("required");
    let options =
        Options { level: StrictLevel::Parameter, with_thought: subject.reasoning.is_some(), ..Options::default() };
    let grammar = match subject.pair.grammar(&request, &options) {
        Ok(Some(grammar)) => grammar,
        Ok(None) => return Ok(None),
        Err(error) => return Err(error.message),
    };
    let (tools, mut sampler) = (tools(), Sampler::new(effort.seed));
    let reader = Reader { pair: &subject.pair, request: &request, prompt: None };
    for _ in 0..effort.count {
        let text = grammar.sample(&mut sampler);
        let read = reader.whole(&text).map_err(|error| error.message)?;
        if let Some(fault) = unfit(&read, &tools) {
            return Err(format!("{fault}\n  text: {text:?}"));
        }
    }
    Ok(Some(effort.count))
}

/// The faults of calls that a grammar admitted.
fn unfit(read: &Read, tools: &Value) -> Option<String> {
    if read.calls.is_empty() {
        return Some("a sample has no call".to_owned());
    }
    for call in &read.calls {
        let tool = tools.as_array().into_iter().flatten().find(|tool| tool["function"]["name"] == call.name);
        let Some(tool) = tool else { return Some(format!("a sample calls `{}`, which is no function", call.name)) };
        if !call.complete || !fits(&call.arguments, &tool["function"]["parameters"]) {
            return Some(format!("the arguments of `{}` do not fit its schema: {}", call.name, call.arguments));
        }
    }
    None
}
