//! Holds a template against a pair of parsers.

use serde_json::{Map, Value, json};
use unspool::{Delta, FinishReason, Message, Pair, Prompt, Request};
use unspool_text::Prompter;

use super::conversations::{Case, cases};
use super::turn::{Stage, Turn};

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Template and parsers agree.
    Fits,
    /// Nothing is wrong, but somebody may want to know.
    Note,
    /// They do not.
    Differs,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Note => "note",
            Self::Differs => "differs",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug)]
pub(super) struct Finding {
    /// What it is about.
    pub(super) what: String,
    pub(super) verdict: Verdict,
    /// What is to be said about it; may be empty.
    pub(super) message: String,
    /// The template's line, where one is known.
    pub(super) line: Option<usize>,
    /// What the template wrote, and what the parser made of it.
    pub(super) picture: Option<(String, Value)>,
}

impl Finding {
    /// Something that does not fit.
    pub(super) fn differs(what: &str, message: impl Into<String>) -> Self {
        Self::new(what, Verdict::Differs, message)
    }

    fn new(what: &str, verdict: Verdict, message: impl Into<String>) -> Self {
        Self { what: what.to_owned(), verdict, message: message.into(), line: None, picture: None }
    }

    pub(super) fn json(&self) -> Value {
        let (written, parsed) =
            self.picture.clone().map_or((Value::Null, Value::Null), |(text, parsed)| (json!(text), parsed));
        json!({"check": self.what, "verdict": self.verdict.word(), "message": self.message, "line": self.line,
            "written": written, "parsed": parsed})
    }
}

/// A template and the parsers that are to read what a model trained on it writes.
pub(super) struct Subject<'a> {
    pub(super) prompter: &'a Prompter,
    pub(super) pair: &'a Pair,
    pub(super) has_reasoning: bool,
    pub(super) has_tools: bool,
}

impl Subject<'_> {
    /// All findings.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let (bare, on, off) = (Map::new(), switches(true), switches(false));
        let [usual, open, closed] = [&bare, &on, &off].map(|kwargs| Stage::new(self.prompter, kwargs));
        let mut out = vec![self.tools(&usual), self.thought(&usual)];
        out.extend(self.switch());
        for case in cases() {
            if (!self.has_reasoning && !case.reasoning.is_empty()) || (!self.has_tools && !case.calls.is_empty()) {
                continue;
            }
            // Many models think whenever they are not told not to.
            let stage = match (self.has_reasoning, case.reasoning.is_empty()) {
                (false, _) => &usual,
                (true, true) => &closed,
                (true, false) => &open,
            };
            out.push(self.turn(stage, &case));
        }
        out.extend(self.look_alikes());
        out
    }

    /// Whether tools reach the prompt.
    fn tools(&self, stage: &Stage<'_>) -> Finding {
        const WHAT: &str = "tools in the prompt";
        let question = cases().swap_remove(0).before;
        match stage.render(&question, true) {
            Err(error) => Finding::new(
                WHAT,
                Verdict::Differs,
                format!("the template cannot render a question: {}", error.message),
            ),
            Ok(text) if text.contains("tide_table") => Finding::new(WHAT, Verdict::Fits, ""),
            Ok(_) if self.has_tools => {
                Finding::new(WHAT, Verdict::Differs, "the template shows no tools: the model never learns of them")
            }
            Ok(_) => Finding::new(WHAT, Verdict::Note, "the template shows no tools"),
        }
    }

    /// Whether the prompt begins a thought, and the parser knows.
    fn thought(&self, stage: &Stage<'_>) -> Finding {
        const WHAT: &str = "the beginning of a reply";
        let question = cases().swap_remove(0).before;
        let Some((start, end)) = self.pair.reasoning_markers().filter(|_| self.has_reasoning) else {
            return Finding::new(WHAT, Verdict::Fits, "");
        };
        let prompt = match stage.render(&question, true) {
            Ok(prompt) => prompt,
            Err(error) => return Finding::new(WHAT, Verdict::Differs, error.message),
        };
        let last =
            |marker: &str| Some(marker).filter(|marker| !marker.is_empty()).and_then(|marker| prompt.rfind(marker));
        let opened = last(&start) > last(&end);
        let parser = self.pair.parser(&request(stage.kwargs, &stage.tools), Prompt::Text(&prompt));
        match parser {
            Err(error) => Finding::new(WHAT, Verdict::Differs, error.message),
            Ok(parser) if opened && !parser.is_thinking() => Finding::new(
                WHAT,
                Verdict::Differs,
                format!("the prompt opens a thought with {start}, but the parser begins with the answer"),
            ),
            Ok(_) if opened => Finding::new(WHAT, Verdict::Fits, "the prompt opens a thought, and the parser knows"),
            Ok(_) => Finding::new(WHAT, Verdict::Fits, ""),
        }
    }

    /// Whether the switches of thinking do anything.
    fn switch(&self) -> Option<Finding> {
        let question = cases().swap_remove(0).before;
        let [on, off] =
            [switches(true), switches(false)].map(|kwargs| Stage::new(self.prompter, &kwargs).render(&question, true));
        let same = on.ok()? == off.ok()?;
        let message = "`enable_thinking` and `thinking` change nothing in the prompt";
        (same && self.has_reasoning).then(|| Finding::new("thinking switches", Verdict::Note, message))
    }

    /// One turn, written by the template and read by the parsers.
    fn turn(&self, stage: &Stage<'_>, case: &Case) -> Finding {
        let turn = match stage.turn(case) {
            Ok(turn) => turn,
            Err(error) => {
                let message = format!("the template cannot render it: {}", error.message);
                return Finding::new(case.name, Verdict::Differs, message);
            }
        };
        let message = match self.read(stage, &turn) {
            Ok(message) => message,
            Err(error) => return Finding::new(case.name, Verdict::Differs, error),
        };
        let loses = !case.reasoning.is_empty() && !turn.text.contains(case.reasoning);
        let Some(difference) = difference(case, &message, loses) else {
            let (verdict, said) =
                if loses { (Verdict::Note, "the history loses the thought") } else { (Verdict::Fits, "") };
            return Finding::new(case.name, verdict, said);
        };
        let mut messages = case.before.clone();
        messages.push(case.message());
        Finding {
            line: stage.line(&messages, turn.start),
            picture: Some((turn.text, parsed(&message))),
            ..Finding::new(case.name, Verdict::Differs, difference)
        }
    }

    /// What the parsers make of a turn.
    fn read(&self, stage: &Stage<'_>, turn: &Turn) -> Result<Message, String> {
        let request = request(stage.kwargs, &stage.tools);
        let mut text = turn.text.clone();
        if let (false, Some((start, end))) = (turn.begins_alike, self.pair.reasoning_markers()) {
            // The history leaves out the empty thought that a new turn would begin with.
            let parser = self.pair.parser(&request, Prompt::Text(&turn.prompt)).map_err(|error| error.message)?;
            if parser.is_thinking() && !text.contains(&end) && !turn.prompt.trim_end().ends_with(&start) {
                text.insert_str(0, &end);
            }
        }
        let mut parser = self.pair.parser(&request, Prompt::Text(&turn.prompt)).map_err(|error| error.message)?;
        let mut message = Message::default();
        parser.push(Delta::text(&text), &mut message);
        parser.finish(Some(FinishReason::Stop), &mut message);
        Ok(message)
    }

    /// Characters that look like others, which a deployed template may have got by mistake.
    fn look_alikes(&self) -> Option<Finding> {
        const LOOK_ALIKES: [(char, char); 10] = [
            ('\u{ff5c}', '|'),
            ('\u{2581}', '_'),
            ('\u{ff1c}', '<'),
            ('\u{ff1e}', '>'),
            ('\u{2039}', '<'),
            ('\u{203a}', '>'),
            ('\u{201c}', '"'),
            ('\u{201d}', '"'),
            ('\u{2019}', '\''),
            ('\u{a0}', ' '),
        ];
        let source = self.prompter.template(true)?.source();
        let found: Vec<String> = LOOK_ALIKES
            .iter()
            .filter(|(c, _)| source.contains(*c))
            .map(|(c, plain)| format!("{c} (U+{:04X}, looks like {plain:?})", u32::from(*c)))
            .collect();
        let message = format!("the template has {}; the parser reads exactly what is written", found.join(", "));
        (!found.is_empty()).then(|| Finding::new("look-alike characters", Verdict::Note, message))
    }
}

fn switches(on: bool) -> Map<String, Value> {
    ["enable_thinking", "thinking"].iter().map(|name| ((*name).to_owned(), json!(on))).collect()
}

fn request(kwargs: &Map<String, Value>, tools: &[Value]) -> Request {
    let body = json!({"tools": tools, "chat_template_kwargs": kwargs});
    // The body is our own.
    Request::from_openai(&body).unwrap_or_default()
}

/// What differs between a turn and what was read of it, white space around texts aside; `loses`: the template does not show the
/// thought.
fn difference(case: &Case, message: &Message, loses: bool) -> Option<String> {
    let reasoning = if loses { "" } else { case.reasoning };
    for (what, expected, got) in
        [("the thought", reasoning, &message.reasoning), ("the text", case.content, &message.content)]
    {
        if expected.trim() != got.trim() {
            return Some(format!("{what} is read as {got:?}, not as {expected:?}"));
        }
    }
    if case.calls.len() != message.tool_calls.len() {
        let (expected, got) = (case.calls.len(), message.tool_calls.len());
        return Some(format!("{got} calls are read, not {expected}"));
    }
    let mut pairs = case.calls.iter().zip(&message.tool_calls).enumerate();
    pairs.find_map(|(at, ((name, arguments), call))| {
        let got: Value = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
        let differs = *name != call.name || !same(arguments, &got);
        differs
            .then(|| format!("call {} is read as {} {}, not as {name} {arguments}", at + 1, call.name, call.arguments))
    })
}

/// Whether two JSON values say the same; `2` and `2.0` do.
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

fn parsed(message: &Message) -> Value {
    let call = |call: &unspool::ToolCall| json!({"name": call.name, "arguments": call.arguments});
    json!({"reasoning": message.reasoning, "content": message.content,
        "tool_calls": message.tool_calls.iter().map(call).collect::<Vec<_>>()})
}
