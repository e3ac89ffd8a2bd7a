//! Compares a template with a pair of parsers.

use serde::Serialize;
use serde_json::{Map, Value, json};
use unspool::{Delta, FinishReason, Half, Message, Pair, Prompt, Request};
use unspool_text::{Prompter, TextError};

use super::conversations::{Case, TOOL, cases, instruction, question};
use super::turn::{Stage, Turn, last_mark};
use crate::marks;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Template and parsers agree.
    Fits,
    /// Nothing is wrong, but there is a remark.
    Note,
    /// They differ.
    Differs,
}

impl Verdict {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Note => "note",
            Self::Differs => "differs",
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Its subject.
    pub check: String,
    /// Its result.
    pub verdict: Verdict,
    /// The message; may be empty.
    pub message: String,
    /// The template's line, if known.
    pub line: Option<usize>,
    /// The turn as the template writes it, if it parses differently.
    pub written: Option<String>,
    /// The parsed message: `reasoning`, `content` and `tool_calls`.
    pub parsed: Option<Value>,
}

impl Finding {
    /// A finding without a line, and without a turn.
    #[must_use]
    pub fn new(check: &str, verdict: Verdict, message: impl Into<String>) -> Self {
        Self { check: check.to_owned(), verdict, message: message.into(), line: None, written: None, parsed: None }
    }
}

/// A template, and the parsers for a model trained on it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Renders the template.
    pub prompter: &'a Prompter,
    /// The parsers.
    pub pair: &'a Pair,
    /// Whether a reasoning parser is named.
    pub reasoning: bool,
    /// Whether a tool-call parser is named.
    pub tools: bool,
}

/// The template arguments of a conversation.
struct Arguments {
    usual: Map<String, Value>,
    on: Map<String, Value>,
    off: Map<String, Value>,
}

impl Subject<'_> {
    /// All findings.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let arguments = Arguments { usual: Map::new(), on: self.switched(true), off: self.switched(false) };
        let usual = Stage::new(self.prompter, &arguments.usual);
        let (open, closed) = (Stage::new(self.prompter, &arguments.on), Stage::new(self.prompter, &arguments.off));
        let mut out = vec![self.shown_tools(&usual), self.thought(&usual)];
        let switches = changes(&open, &closed);
        if self.reasoning && !switches {
            let names = self.switches().join("`, `");
            out.push(Finding::new(
                "thinking switches",
                Verdict::Note,
                format!("`{names}` change nothing in the prompt"),
            ));
        }
        for case in cases() {
            if (!self.reasoning && !case.reasoning.is_empty()) || (!self.tools && !case.calls.is_empty()) {
                continue;
            }
            // Many models think unless the request disables it.
            let stage = match (self.reasoning && switches, case.reasoning.is_empty()) {
                (false, _) => &usual,
                (true, true) => &closed,
                (true, false) => &open,
            };
            out.push(self.turn(stage, &case));
        }
        out.extend(self.look_alikes());
        out
    }

    /// The request's switches of thinking: the parser's, and the two that most templates have.
    fn switches(&self) -> Vec<String> {
        let own = self.pair.words(Half::Reasoning).map(|words| words.switches.keys.to_vec()).unwrap_or_default();
        let mut names: Vec<String> = own;
        for usual in ["enable_thinking", "thinking"] {
            if !names.iter().any(|name| name == usual) {
                names.push(usual.to_owned());
            }
        }
        names
    }

    fn switched(&self, on: bool) -> Map<String, Value> {
        self.switches().into_iter().map(|name| (name, json!(on))).collect()
    }

    /// Whether tools reach the prompt.
    fn shown_tools(&self, stage: &Stage<'_>) -> Finding {
        const CHECK: &str = "tools in the prompt";
        let alone = match stage.render(&[question()], true) {
            Err(error) => return unrendered(CHECK, Verdict::Differs, &error),
            Ok(text) => text.contains(TOOL),
        };
        if alone {
            return Finding::new(CHECK, Verdict::Fits, "");
        }
        let told = stage.render(&[instruction(), question()], true);
        if told.is_ok_and(|text| text.contains(TOOL)) {
            let message = "the template shows tools only where the conversation begins with a system message";
            return Finding::new(CHECK, Verdict::Note, message);
        }
        let verdict = if self.tools { Verdict::Differs } else { Verdict::Note };
        Finding::new(CHECK, verdict, "the template shows no tools: the model never learns of them")
    }

    /// Whether the prompt begins a thought, and the parser agrees.
    fn thought(&self, stage: &Stage<'_>) -> Finding {
        const CHECK: &str = "the beginning of a reply";
        let Some((start, end)) = self.pair.reasoning_markers().filter(|_| self.reasoning) else {
            return Finding::new(CHECK, Verdict::Fits, "");
        };
        let prompt = match stage.render(&[question()], true) {
            Ok(prompt) => prompt,
            Err(error) => return unrendered(CHECK, Verdict::Differs, &error),
        };
        let last = |mark: &str| Some(mark).filter(|mark| !mark.is_empty()).and_then(|mark| prompt.rfind(mark));
        let opened = last(&start) > last(&end);
        let parser = self.pair.parser(&request(stage), Prompt::Text(&prompt));
        match parser {
            Err(error) => Finding::new(CHECK, Verdict::Differs, error.message),
            Ok(parser) if opened && !parser.is_thinking() => {
                let message = format!("the prompt opens a thought with {start}, but the parser begins with the answer");
                let line = stage.line(&[question()], true, prompt.rfind(&start).unwrap_or(prompt.len()));
                Finding { line, ..Finding::new(CHECK, Verdict::Differs, message) }
            }
            Ok(_) if opened => Finding::new(CHECK, Verdict::Fits, "the prompt opens a thought, and the parser knows"),
            Ok(_) => Finding::new(CHECK, Verdict::Fits, ""),
        }
    }

    /// One turn, rendered by the template and parsed.
    fn turn(&self, stage: &Stage<'_>, case: &Case) -> Finding {
        let mut turn = match stage.turn(case, &marks::of_pair(self.pair)) {
            Ok(turn) => turn,
            Err(error) => {
                let lenient = error.by_template && !case.needed;
                return unrendered(case.name, if lenient { Verdict::Note } else { Verdict::Differs }, &error);
            }
        };
        let lost = Lost::of(case, &turn.text);
        if lost.all_calls(case) {
            let message = "the template leaves calls out of the history, so there is nothing to compare";
            return Finding::new(case.name, Verdict::Note, message);
        }
        let mut message = match self.read(stage, &turn) {
            Ok(message) => message,
            Err(error) => return Finding::new(case.name, Verdict::Differs, error),
        };
        let mut stop = None;
        let mut told = difference(case, &message, &lost);
        if let (Some(_), Some(mark)) = (&told, last_mark(turn.text.trim_end())) {
            // Some turns have their own end, at which an engine stops.
            let text = turn.text.trim_end();
            let shorter =
                Turn { text: text[..text.len() - mark.len()].to_owned(), prompt: turn.prompt.clone(), ..turn };
            let again = self.read(stage, &shorter).unwrap_or_default();
            if difference(case, &again, &lost).is_none() {
                stop = Some(mark.to_owned());
                (turn, message, told) = (shorter, again, None);
            }
        }
        let Some(difference) = told else { return agreed(case, &lost, stop) };
        let at = turn.start + misread(&turn.text, &message);
        let (message, written) = (read_as(&message), turn.text);
        let difference = if written.contains("'type': 'text', 'text': '") {
            "the template is given content as a list of parts, and prints the list as it is; \
                --chat-template-content-format string gives it as text"
                .to_owned()
        } else {
            difference
        };
        Finding {
            line: stage.line(&case.messages(), false, at),
            written: Some(written),
            parsed: Some(message),
            ..Finding::new(case.name, Verdict::Differs, difference)
        }
    }

    /// The parsers' result for a turn.
    fn read(&self, stage: &Stage<'_>, turn: &Turn) -> Result<Message, String> {
        let request = request(stage);
        let make = || self.pair.parser(&request, Prompt::Text(&turn.prompt)).map_err(|error| error.message);
        let (mut parser, mut text) = (make()?, turn.text.clone());
        if let Some((start, end)) = self.pair.reasoning_markers() {
            // The history omits the thought with which a new turn would begin, if the template supports thoughts at
            // all.
            let knows = self.prompter.template(true).is_none_or(|template| template.source().contains(&*end));
            let bare = !text.contains(&end) && !text.contains(&start) && !turn.prompt.trim_end().ends_with(&start);
            if bare && parser.is_thinking() && (knows || !turn.begins_alike) {
                text.insert_str(0, &end);
            }
        }
        let mut message = Message::default();
        parser.push(Delta::text(&text), &mut message);
        parser.finish(Some(FinishReason::Stop), &mut message);
        Ok(message)
    }

    /// Markers of the parser that the template spells with other characters.
    fn look_alikes(&self) -> Vec<Finding> {
        let Some(template) = self.prompter.template(true) else { return Vec::new() };
        let found = marks::look_alikes(template.source(), &marks::of_pair(self.pair));
        let told = |alike: marks::LookAlike| Finding {
            line: Some(template.source()[..alike.offset].matches('\n').count() + 1),
            ..Finding::new(
                "look-alike characters",
                Verdict::Differs,
                format!(
                    "the template writes `{}`, the parser reads `{}`: {}",
                    alike.found, alike.mark, alike.difference
                ),
            )
        };
        found.into_iter().map(told).collect()
    }
}

/// Whether a switch changes the beginning of a new turn.
fn changes(on: &Stage<'_>, off: &Stage<'_>) -> bool {
    match (on.render(&[question()], true), off.render(&[question()], true)) {
        (Ok(on), Ok(off)) => on != off,
        _ => false,
    }
}

fn unrendered(check: &str, verdict: Verdict, error: &TextError) -> Finding {
    let message = if error.by_template {
        format!("the template refuses it: {}", error.message)
    } else {
        format!("the template cannot render it: {}", error.message)
    };
    let line = error.message.split("line ").nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    let line = line.filter(|_| !error.by_template).and_then(|line| line.parse().ok());
    Finding { line, ..Finding::new(check, verdict, message) }
}

/// The parts that a template omits from the history.
struct Lost {
    thought: bool,
    text: bool,
    /// Number of calls written.
    calls: usize,
}

impl Lost {
    fn of(case: &Case, written: &str) -> Self {
        let sign = |(name, arguments): &(&'static str, Value)| {
            let text = arguments.as_object().and_then(|fields| fields.values().find_map(Value::as_str));
            text.filter(|text| text.chars().all(char::is_alphanumeric)).unwrap_or(name).to_owned()
        };
        let beside = !case.calls.is_empty() && !case.content.is_empty();
        Self {
            thought: !case.reasoning.is_empty() && !written.contains(case.reasoning),
            text: beside && !written.contains(case.content),
            calls: case.calls.iter().map(sign).take_while(|sign| written.contains(sign)).count(),
        }
    }

    fn all_calls(&self, case: &Case) -> bool {
        !case.calls.is_empty() && self.calls == 0
    }
}

/// A turn that parsed correctly.
fn agreed(case: &Case, lost: &Lost, stop: Option<String>) -> Finding {
    let mut said = Vec::new();
    if lost.thought {
        said.push("the history loses the thought".to_owned());
    }
    if lost.text {
        said.push("the history loses the text beside a call".to_owned());
    }
    if lost.calls < case.calls.len() {
        said.push(format!("the history has {} of {} calls", lost.calls, case.calls.len()));
    }
    said.extend(stop.map(|mark| format!("the turn ends with {mark}: the engine must stop there")));
    let verdict = if said.is_empty() { Verdict::Fits } else { Verdict::Note };
    Finding::new(case.name, verdict, said.join("; "))
}

fn request(stage: &Stage<'_>) -> Request {
    let body = json!({"tools": stage.tools, "chat_template_kwargs": stage.kwargs});
    // The body is our own.
    Request::from_openai(&body).unwrap_or_default()
}

/// The difference between a turn and its parsed message, ignoring white space around texts.
fn difference(case: &Case, message: &Message, lost: &Lost) -> Option<String> {
    let reasoning = if lost.thought { "" } else { case.reasoning };
    let content = if lost.text { "" } else { case.content };
    for (what, expected, got) in
        [("the thought", reasoning, &message.reasoning), ("the text", content, &message.content)]
    {
        if expected.trim() != got.trim() {
            return Some(format!("{what} is read as {got:?}, not as {expected:?}"));
        }
    }
    if lost.calls != message.tool_calls.len() {
        return Some(format!("{} calls are read, not {}", message.tool_calls.len(), lost.calls));
    }
    let mut pairs = case.calls.iter().zip(&message.tool_calls).enumerate();
    pairs.find_map(|(at, ((name, arguments), call))| {
        let got: Value = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
        let differs = *name != call.name || !same(arguments, &got);
        differs
            .then(|| format!("call {} is read as {} {}, not as {name} {arguments}", at + 1, call.name, call.arguments))
    })
}

/// The position in the turn where text begins that contains markup.
fn misread(text: &str, message: &Message) -> usize {
    [&message.content, &message.reasoning]
        .into_iter()
        .map(|part| part.trim())
        .filter(|part| part.contains(['<', '[', '{']))
        .find_map(|part| text.find(part))
        .unwrap_or(0)
}

/// Whether two JSON values are equal; `2` and `2.0` are.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

fn read_as(message: &Message) -> Value {
    let call = |call: &unspool::ToolCall| json!({"name": call.name, "arguments": call.arguments});
    json!({"reasoning": message.reasoning, "content": message.content,
        "tool_calls": message.tool_calls.iter().map(call).collect::<Vec<_>>()})
}
