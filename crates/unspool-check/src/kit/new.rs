//! Drafts a format file from outputs of a model and its chat template.

use serde_json::{Value, json};
use unspool::{Message, Registry, Request, Setup, ToolCall};
use unspool_text::Prompter;

use super::draft::{Draft, Example};
use super::guess::{self, Calls, Shape, Thought};
use super::reading::{Read, Reader};
use crate::border;
use crate::diagnose::{Formats, Input, Output, Question, diagnose};
use crate::template::{Written, turns};

/// The input of a draft.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The name of both halves.
    pub name: &'a str,
    /// Raw outputs; may be empty if there is a template.
    pub outputs: &'a [String],
    /// The tools of the requests, if known.
    pub tools: &'a Value,
    /// Renders the model's chat template.
    pub template: Option<&'a Prompter>,
    /// Possibly related formats.
    pub registry: &'a Registry,
}

/// A drafted file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The file.
    pub text: String,
    /// Remarks about it.
    pub notes: Vec<String>,
}

/// The reasoning and calls that were found.
struct Seen {
    /// Texts of replies: from the template, where everything is known, and as given.
    texts: Vec<String>,
    thought: Option<Thought>,
    /// The same without reasoning, and the possible calls in each.
    calls: Vec<(String, Calls)>,
}

/// Drafts a file; `None`: the outputs show neither reasoning nor calls.
#[must_use]
pub fn new(wanted: &Wanted<'_>) -> Option<Made> {
    let written = wanted.template.map(turns).unwrap_or_default();
    let seen = seen(wanted, &written);
    let mut notes = Vec::new();
    let relative = relative(wanted, &seen.texts);
    if let Some((name, true)) = &relative {
        notes.push(format!("`{name}` reads this output already: --tool-call-parser {name}"));
    }
    let mut draft = Draft {
        name: wanted.name.to_owned(),
        relative: relative.as_ref().map(|(name, _)| name.clone()),
        ..Draft::default()
    };
    draft.thought.clone_from(&seen.thought);
    if let Some(prompter) = wanted.template {
        super::turns::facts(prompter, &mut draft);
    }
    let with_calls = seen.calls.iter().find_map(|(text, calls)| fitting(wanted, &draft, text, calls));
    match with_calls {
        Some(done) => draft = done,
        None if seen.calls.is_empty() && seen.thought.is_none() => return extended(wanted, &seen, relative, notes),
        None if !seen.calls.is_empty() => {
            notes.push("calls were seen, but no templates that read them were found; write [tools] by hand".to_owned());
        }
        None => {}
    }
    if draft.shape.is_none() && draft.thought.is_none() {
        return extended(wanted, &seen, relative, notes);
    }
    let outputs = if wanted.outputs.is_empty() {
        seen.texts.iter().take(3).collect()
    } else {
        wanted.outputs.iter().collect::<Vec<_>>()
    };
    draft.examples = outputs.into_iter().filter_map(|text| example(wanted, &draft, trimmed(text))).collect();
    draft.examples.extend(nasty(wanted, &draft));
    if draft.shape.as_ref().is_some_and(|shape| shape.block.is_none()) && !several(&seen) {
        notes.push("only one call was seen at a time; if several stand in a block, write `tools.block`".to_owned());
    }
    Some(Made { text: draft.toml(), notes })
}

fn trimmed(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

fn several(seen: &Seen) -> bool {
    seen.calls.iter().any(|(_, calls)| calls.found.len() > 1)
}

/// Examines all texts.
fn seen(wanted: &Wanted<'_>, written: &[Written]) -> Seen {
    let mut names: Vec<String> = wanted.tools.as_array().into_iter().flatten().filter_map(tool_name).collect();
    let own: Vec<String> =
        wanted.outputs.iter().map(|text| text[..border::floor(text, guess::LONGEST)].to_owned()).collect();
    let thought = own.iter().find_map(|text| guess::thought(text)).or_else(|| {
        written.iter().filter(|turn| !turn.reasoning.is_empty()).find_map(|turn| guess::thought(&turn.text))
    });
    let behind = |text: &str| {
        let text = trimmed(text);
        guess::thought(text).map_or_else(|| text.to_owned(), |thought| text[thought.end..].to_owned())
    };
    let mut calls = Vec::new();
    // The template's output is the best evidence: one turn has two calls.
    let turns = written.iter().filter(|turn| !turn.calls.is_empty());
    let mut turns: Vec<&Written> = turns.collect();
    turns.sort_by_key(|turn| std::cmp::Reverse(turn.calls.len()));
    let known: Vec<String> = written.iter().flat_map(|turn| turn.calls.iter().map(|(name, _)| name.clone())).collect();
    for turn in turns {
        let text = behind(&turn.text);
        calls.extend(guess::calls(&text, &known).into_iter().map(|found| (text.clone(), found)));
    }
    names.dedup();
    let mut given: Vec<(String, Calls)> = Vec::new();
    for text in &own {
        let text = behind(text);
        given.extend(guess::calls(&text, &names).into_iter().map(|found| (text.clone(), found)));
    }
    given.sort_by_key(|(_, calls)| std::cmp::Reverse(calls.found.len()));
    calls.extend(given);
    let texts = own.into_iter().chain(written.iter().map(|turn| turn.text.clone())).collect();
    Seen { texts, thought, calls }
}

fn tool_name(tool: &Value) -> Option<String> {
    tool.pointer("/function/name").or_else(|| tool.get("name")).and_then(Value::as_str).map(str::to_owned)
}

/// The draft with templates of calls, if the resulting file parses the calls that were found.
fn fitting(wanted: &Wanted<'_>, draft: &Draft, text: &str, calls: &Calls) -> Option<Draft> {
    let shape = guess::shape(text, calls);
    // White space before it may belong to the answer.
    let tight = Shape {
        call: shape.call.trim_start().to_owned(),
        block: shape.block.as_ref().map(|block| block.trim_start().to_owned()),
        ..shape.clone()
    };
    for shape in [shape, tight] {
        for ends in [true, false] {
            let draft = Draft { shape: Some(shape.clone()), ends, ..draft.clone() };
            let Some(read) = read(wanted, &draft, &draft.behind_thought(text), &request(calls)) else { continue };
            let same = |(own, found): (&ToolCall, &guess::Found)| {
                own.complete && own.name == found.name && same_arguments(&own.arguments, &found.arguments)
            };
            let names = read.calls.len() >= calls.found.len() && read.calls.iter().zip(&calls.found).all(same);
            if names && !read.content.contains(['<', '{']) {
                return Some(draft);
            }
        }
    }
    None
}

/// Whether arguments are those that were found; types are not known before.
fn same_arguments(own: &str, found: &serde_json::Map<String, Value>) -> bool {
    let Ok(Value::Object(own)) = serde_json::from_str::<Value>(own) else { return false };
    own.len() == found.len() && found.keys().all(|key| own.contains_key(key))
}

/// A request with the functions that were found; the values determine the types of their parameters.
fn request(calls: &Calls) -> Value {
    let tools: Vec<Value> = calls.found.iter().map(|found| tool(&found.name, &found.arguments)).collect();
    json!({"tools": tools})
}

fn tool(name: &str, arguments: &serde_json::Map<String, Value>) -> Value {
    let kind = |value: &Value| match value {
        Value::String(text) if text.parse::<i64>().is_ok() => json!({"type": "integer"}),
        Value::String(text) if text.parse::<f64>().is_ok() => json!({"type": "number"}),
        Value::String(text) if text == "true" || text == "false" => json!({"type": "boolean"}),
        Value::String(_) => json!({"type": "string"}),
        _ => json!({}),
    };
    let properties: serde_json::Map<String, Value> =
        arguments.iter().map(|(key, value)| (key.clone(), kind(value))).collect();
    json!({"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}})
}

/// A draft's result for a text.
fn read(wanted: &Wanted<'_>, draft: &Draft, text: &str, body: &Value) -> Option<Read> {
    let pair = draft.pair(wanted.registry)?;
    let request = Request { id_seed: Some(0), ..Request::from_openai(body).ok()? };
    Reader { pair: &pair, request: &request, prompt: None }.whole(text).ok()
}

/// The request for an output: the known tools, and those that it calls.
fn body(wanted: &Wanted<'_>, text: &str) -> Value {
    let mut tools: Vec<Value> = wanted.tools.as_array().cloned().unwrap_or_default();
    let names: Vec<String> = tools.iter().filter_map(tool_name).collect();
    let behind = guess::thought(text).map_or(text, |thought| &text[thought.end..]);
    for calls in guess::calls(behind, &[]) {
        for found in calls.found.iter().filter(|found| !names.contains(&found.name)) {
            tools.push(tool(&found.name, &found.arguments));
        }
    }
    json!({"tools": tools})
}

/// An output as an example, parsed by the draft itself.
fn example(wanted: &Wanted<'_>, draft: &Draft, text: &str) -> Option<Example> {
    let text = &text[..border::floor(text, guess::LONGEST)];
    let opened = draft.thought.as_ref().is_none_or(|thought| thought.opened) || !draft.begins_in_thought();
    let prompt = (!opened).then(|| draft.opener()).flatten();
    let pair = draft.pair(wanted.registry)?;
    let body = body(wanted, text);
    let request = Request { id_seed: Some(0), ..Request::from_openai(&body).ok()? };
    let read = Reader { pair: &pair, request: &request, prompt: prompt.as_deref() }.whole(text).ok()?;
    let calls = read.calls.iter().map(|call| Some((call.name.clone(), serde_json::from_str(&call.arguments).ok()?)));
    Some(Example {
        text: text.to_owned(),
        prompt,
        reasoning: read.reasoning,
        content: read.content,
        calls: calls.collect::<Option<_>>()?,
    })
}

/// A call with a look-alike of the closer in a value, which a format must support.
fn nasty(wanted: &Wanted<'_>, draft: &Draft) -> Option<Example> {
    let shape = draft.shape.as_ref()?;
    let closer = shape.call.rsplit('}').next().unwrap_or_default().trim().to_owned();
    let value =
        if closer.is_empty() { "a quote \" and a brace }".to_owned() } else { format!("{closer} is no end here") };
    let arguments = json!({"text": value});
    let call =
        ToolCall { name: "note".to_owned(), arguments: arguments.to_string(), complete: true, ..ToolCall::default() };
    let message = Message { tool_calls: vec![call], ..Message::default() };
    let tools = json!({"tools": [{"type": "function", "function": {"name": "note", "parameters": {"type": "object",
        "properties": {"text": {"type": "string"}}}}}]});
    let pair = draft.pair(wanted.registry)?;
    let request = Request { id_seed: Some(0), ..Request::from_openai(&tools).ok()? };
    let text = pair.render(&message, &request).ok()?;
    let read = Reader { pair: &pair, request: &request, prompt: None }.whole(&text).ok()?;
    let same = read.calls.len() == 1 && serde_json::from_str::<Value>(&read.calls[0].arguments).ok()? == arguments;
    same.then(|| Example {
        text,
        prompt: None,
        reasoning: read.reasoning,
        content: read.content,
        calls: vec![("note".to_owned(), arguments)],
    })
}

/// The built-in format that parses the outputs best, and whether it finds all of their calls.
fn relative(wanted: &Wanted<'_>, texts: &[String]) -> Option<(String, bool)> {
    let outputs: Vec<Output> = texts
        .iter()
        .map(|text| Output { raw: text.clone(), place: "raw output".to_owned(), ..Output::default() })
        .collect();
    let input = Input { kind: crate::diagnose::Kind::Raw, outputs };
    let formats = Formats::new(wanted.registry.clone(), Setup::default());
    let request = json!({"tools": wanted.tools});
    let mut question = Question::new(&input, &formats);
    question.request = &request;
    let report = diagnose(&question).ok()?;
    let best = report.ranking.first()?;
    let name = best.tool_call_parser.as_ref().filter(|_| best.calls > 0).or(best.reasoning_parser.as_ref())?;
    Some((name.clone(), best.calls > 0 && best.calls == best.valid_calls && best.markup_left == 0))
}

/// A file that extends a relative.
fn extended(
    wanted: &Wanted<'_>,
    seen: &Seen,
    relative: Option<(String, bool)>,
    mut notes: Vec<String>,
) -> Option<Made> {
    let (name, _) = relative?;
    notes.push(format!("nothing was found that `{name}` does not say; the file starts from it"));
    let mut draft =
        Draft { name: wanted.name.to_owned(), relative: Some(name.clone()), extends: Some(name), ..Draft::default() };
    draft.pair(wanted.registry)?;
    let outputs = if wanted.outputs.is_empty() { &seen.texts } else { wanted.outputs };
    draft.examples = outputs.iter().filter_map(|text| example(wanted, &draft, trimmed(text))).collect();
    Some(Made { text: draft.toml(), notes })
}
