//! The prompt of gpt-oss models: harmony messages, written without a template, as vLLM's encoder does.

mod typescript;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use serde_json::Value;

use crate::error::TextError;
use crate::prompt_text::PromptText;

/// The contents of a harmony prompt.
#[derive(Debug, Clone, Copy)]
pub struct Conversation<'a> {
    /// The messages of the chat API, unchanged.
    pub messages: &'a [Value],
    /// The tools of the chat API for the model.
    pub tools: &'a [Value],
    /// `low`, `medium` or `high`; none: medium.
    pub effort: Option<&'a str>,
    /// The date for the model, as `2026-01-31`.
    pub date: &'a str,
    /// Whether the prompt ends where the assistant turn begins.
    pub generation_prompt: bool,
}

/// Writes the prompt.
///
/// # Errors
/// An effort that harmony does not know.
pub fn render(conversation: &Conversation<'_>) -> Result<PromptText, TextError> {
    let effort = conversation.effort.unwrap_or("medium");
    if !["low", "medium", "high"].contains(&effort) {
        return Err(TextError::new(format!("`reasoning_effort` is `{effort}`, which harmony does not know"))
            .hint("this model's values are `low`, `medium` and `high`"));
    }
    let mut out = Writer::default();
    let functions: Vec<&Value> = conversation.tools.iter().filter_map(|tool| tool.get("function")).collect();
    out.message("system", None, &system(conversation, effort, !functions.is_empty()), END);
    let first = conversation.messages.first();
    let leads = |message: &&Value| message["role"] == "system" || message["role"] == "developer";
    let instructions =
        first.filter(leads).and_then(|message| flat(&message["content"])).filter(|text| !text.is_empty());
    let rest =
        conversation.messages.get(usize::from(first.is_some_and(|message| leads(&message)))..).unwrap_or_default();
    if instructions.is_some() || !functions.is_empty() {
        out.message("developer", None, &developer(instructions.as_deref(), &functions), END);
    }
    said(rest, &mut out);
    if conversation.generation_prompt {
        out.mark(START);
        out.text.push_str("assistant");
    }
    Ok(PromptText { text: out.text, markers: Some(out.markers) })
}

const START: &str = "<|start|>";
const END: &str = "<|end|>";
const CALL: &str = "<|call|>";

/// Writes messages, and records which texts are special tokens: user text never is.
#[derive(Default)]
struct Writer {
    text: String,
    markers: Vec<Range<usize>>,
}

impl Writer {
    fn mark(&mut self, marker: &str) {
        let start = self.text.len();
        self.text.push_str(marker);
        self.markers.push(start..self.text.len());
    }

    fn message(&mut self, author: &str, channel: Option<&str>, body: &str, end: &str) {
        self.mark(START);
        self.text.push_str(author);
        if let Some(channel) = channel {
            self.mark("<|channel|>");
            self.text.push_str(channel);
        }
        self.mark("<|message|>");
        self.text.push_str(body);
        self.mark(end);
    }
}

fn system(conversation: &Conversation<'_>, effort: &str, has_functions: bool) -> String {
    let calls = "\nCalls to these tools must go to the commentary channel: 'functions'.";
    format!(
        "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\nCurrent date: {}\n\n\
         Reasoning: {effort}\n\n# Valid channels: analysis, commentary, final. Channel must be included for every message.{}",
        conversation.date,
        if has_functions { calls } else { "" }
    )
}

fn developer(instructions: Option<&str>, functions: &[&Value]) -> String {
    let mut sections = Vec::new();
    if let Some(text) = instructions {
        sections.push(format!("# Instructions\n\n{text}"));
    }
    if !functions.is_empty() {
        let mut out = String::from("# Tools\n\n## functions\n\nnamespace functions {\n\n");
        for function in functions {
            for line in function["description"].as_str().unwrap_or_default().lines() {
                // Writing to a string does not fail.
                let _ = writeln!(out, "// {line}");
            }
            let parameters = function.get("parameters").filter(|schema| !schema.is_null());
            let argument = parameters.map(|schema| format!("_: {}", typescript::of(schema, "")));
            let name = function["name"].as_str().unwrap_or_default();
            let _ = write!(out, "type {name} = ({}) => any;\n\n", argument.unwrap_or_default());
        }
        out.push_str("} // namespace functions");
        sections.push(out);
    }
    sections.join("\n\n")
}

/// The messages after the preamble. Reasoning of earlier final answers is omitted.
fn said(messages: &[Value], out: &mut Writer) {
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let names: HashMap<&str, &str> =
        calls.filter_map(|call| Some((call["id"].as_str()?, call["function"]["name"].as_str()?))).collect();
    let answered = messages.iter().rposition(is_final);
    for (index, message) in messages.iter().enumerate() {
        let content = flat(&message["content"]).unwrap_or_default();
        match message["role"].as_str().unwrap_or_default() {
            "assistant" => assistant(message, &content, answered.is_some_and(|last| index <= last), out),
            "tool" => {
                let name = message["tool_call_id"].as_str().and_then(|id| names.get(id)).copied().unwrap_or_default();
                out.message(&format!("functions.{name}"), Some("commentary to=assistant"), &content, END);
            }
            "system" | "developer" => out.message("developer", None, &developer(Some(&content), &[]), END),
            role => out.message(role, None, &content, END),
        }
    }
}

/// Whether a message is an answer rather than calls.
fn is_final(message: &Value) -> bool {
    let calls = message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
    message["role"] == "assistant" && !calls && flat(&message["content"]).is_some_and(|text| !text.is_empty())
}

fn assistant(message: &Value, content: &str, answered: bool, out: &mut Writer) {
    let reasoning = message["reasoning"].as_str().or_else(|| message["reasoning_content"].as_str());
    let thought = ("analysis", reasoning.filter(|_| !answered).unwrap_or_default());
    let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    // If calls follow, text for the user precedes the reasoning.
    let spoken = if calls.is_empty() { [thought, ("final", content)] } else { [("commentary", content), thought] };
    for (channel, text) in spoken.into_iter().filter(|(_, text)| !text.is_empty()) {
        out.message("assistant", Some(channel), text, END);
    }
    for call in calls {
        let name = call["function"]["name"].as_str().unwrap_or_default();
        let arguments = match &call["function"]["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        out.message(&format!("assistant to=functions.{name}"), Some("commentary json"), &arguments, CALL);
    }
}

/// The text of a content; parts are concatenated.
fn flat(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let text = |part: &Value| part.as_str().or_else(|| part["text"].as_str()).map(str::to_owned);
            Some(parts.iter().filter_map(text).collect::<String>()).filter(|_| !parts.is_empty())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
