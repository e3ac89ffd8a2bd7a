//! Structured outputs: chooses the constraint of every request, in the notation that the backend reads.
//!
//! There is at most one constraint. If calls are constrained to their format, the grammar of calls also expresses what
//! the client asked of the answer, and nothing else is sent. If a backend cannot take a constraint, the request goes
//! without one, and the log says so once.
//!
//! Reasoning must stay possible before the constrained part. There are three ways: the backend has a reasoning parser;
//! the grammar begins with the thought; or the gateway lets the model think first and requests the rest after the
//! thought ([`crate::continuation`]).

mod guided;
mod memory;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};
use unspool::Error;
use unspool::Pair;
use unspool::format::file::Required;
use unspool::grammar::{Grammar, Limit, Options, StrictLevel};
use unspool::{Delta, Event, Prompt, Request, ToolChoice};

use self::memory::Memory;
use crate::capabilities::{Capabilities, Notation, Waits};
use crate::config::{GrammarBackend, ServeConfig};
use crate::error::ApiError;
use crate::gbnf;
use crate::request::{Asked, ChatRequest};

/// The structured output for a backend.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Constraint {
    /// The client's own, if the backend supports it.
    #[default]
    AsSent,
    /// None, whatever the client asks for.
    Free,
    /// JSON that matches a schema.
    Json(Value),
    /// A structural tag, as JSON text for xgrammar.
    Tag(Arc<str>),
    /// A grammar, as text for llguidance.
    Lark(Arc<str>),
    /// A grammar of llama.cpp.
    Gbnf(Arc<str>),
}

impl Constraint {
    /// Adds it to a request with vLLM's fields, in place of the client's.
    pub(crate) fn put(&self, body: &mut Map<String, Value>) {
        let outputs = match self {
            Self::AsSent => return,
            Self::Free => None,
            Self::Json(schema) => Some(json!({"json": schema})),
            Self::Tag(tag) => Some(json!({"structural_tag": &**tag})),
            Self::Lark(grammar) | Self::Gbnf(grammar) => Some(json!({"grammar": &**grammar})),
        };
        body.remove("response_format");
        body.remove("structured_outputs");
        if let Some(outputs) = outputs {
            body.insert("structured_outputs".to_owned(), outputs);
        }
    }
}

/// A constraint, and when it applies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Form {
    /// The constraint for the backend.
    pub constraint: Constraint,
    /// The backend itself applies it after the thought.
    pub waits: bool,
    /// The real constraint only works after the thought: the answer begins without it and continues with it.
    pub later: bool,
}

/// How an answer begins, as the prompt says.
pub use unspool::Standing as Start;

/// Chooses the constraint of an answer.
#[derive(Debug)]
pub struct Constrainer {
    pair: Pair,
    level: StrictLevel,
    enforce: bool,
    limit: Limit,
    can: Capabilities,
    /// The backend's notation; `None`: only a client's own constraint is forwarded.
    notation: Option<Notation>,
    /// A client's own constraint is forwarded unchanged, but after the thought.
    delays: bool,
    /// The backend has a reasoning parser.
    gates: bool,
    in_reasoning: bool,
    /// The parser reads guided JSON as calls.
    reads_guided: bool,
    /// Calls are numbered, continuing earlier ones in the conversation.
    counts: bool,
    memory: Memory,
    warned: AtomicBool,
}

/// The thought's part of a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thought {
    /// None.
    Outside,
    /// At the beginning; it is already open, or optional.
    InFront { open: bool },
}

impl Constrainer {
    /// The settings, for answers that `pair` parses.
    #[must_use]
    pub fn new(config: &ServeConfig, can: Capabilities, pair: &Pair) -> Self {
        let constraint = &config.constraint;
        Self {
            level: constraint.tool_strict_level.0,
            enforce: constraint.enforces(),
            limit: constraint.grammar_limit,
            notation: match constraint.structured_outputs_backend {
                GrammarBackend::Auto => can.notations.first().copied(),
                named => named.notation().filter(|notation| can.notations.contains(notation)),
            },
            delays: can.passes_on() && constraint.structured_outputs_backend == GrammarBackend::Auto,
            can,
            gates: constraint.backend_reasoning_parser,
            in_reasoning: constraint.enable_in_reasoning.0,
            reads_guided: reads_guided(pair),
            counts: counts(pair),
            memory: Memory::default(),
            warned: AtomicBool::new(false),
            pair: pair.clone(),
        }
    }

    /// The structured output for a request whose answer begins like this. With many tools the first time takes long.
    ///
    /// # Errors
    /// It is impossible: a schema is missing, or the format cannot write a name or guarantee anything.
    pub fn form(&self, request: &ChatRequest, start: Start) -> Result<Form, ApiError> {
        let asked = Asked::of(request)?;
        let (gates, thought) = self.thought(request, start);
        if asked == Asked::Other && !request.demands_calls() && self.can.gbnf {
            // It can only stand behind the thought.
            let (constraint, later) = (expression(request)?, thought != Thought::Outside);
            return Ok(Form { constraint: if later { Constraint::Free } else { constraint }, waits: false, later });
        }
        if self.notation.is_none() {
            self.warn_of_silence(request);
            // From the first token on, a constrained answer would leave no thought, and would be read as one.
            let formed = asked != Asked::Nothing && !request.demands_calls();
            let later = self.delays && formed && thought != Thought::Outside;
            let constraint = if later { Constraint::Free } else { Constraint::AsSent };
            return Ok(Form { constraint, waits: false, later });
        }
        let waits = gates && start != Start::Answering;
        let key = memory::key(request, &format!("{thought:?}"), self.counts);
        let (constraint, later) = match self.memory.find(key, || self.constraint(request, &asked, thought))? {
            Some(constraint) => (constraint, false),
            None => (Constraint::Free, true),
        };
        Ok(Form { constraint, waits: waits && !later, later })
    }

    /// Whether the backend handles the thought, and otherwise its part of the constraint.
    fn thought(&self, request: &ChatRequest, start: Start) -> (bool, Thought) {
        let from_start = self.in_reasoning || request.parse.include_reasoning == Some(false);
        // A backend that is configured per request need not wait for an unwanted thought.
        let gates = self.gates && !self.in_reasoning && !(from_start && self.can.waits == Waits::ByRequest);
        let thought = match start {
            _ if gates => Thought::Outside,
            Start::Answering => Thought::Outside,
            // An open thought must be closed, or the entire answer would be part of it.
            Start::Thinking => Thought::InFront { open: true },
            Start::Undecided if from_start => Thought::Outside,
            Start::Undecided => Thought::InFront { open: false },
        };
        (gates, thought)
    }

    /// The constraint; `None`: there is one, but it does not work after a thought.
    fn constraint(
        &self,
        request: &ChatRequest,
        asked: &Asked,
        thought: Thought,
    ) -> Result<Option<Constraint>, ApiError> {
        let demands = request.demands_calls();
        let direct = |constraint| Ok((thought == Thought::Outside).then_some(constraint));
        if *asked == Asked::Other && !demands {
            return direct(Constraint::AsSent);
        }
        let answer = match asked {
            Asked::Json(schema) if !demands => Some(schema),
            _ => None,
        };
        if self.notation == Some(Notation::Json) {
            return match answer {
                Some(_) => direct(Constraint::AsSent),
                None if demands => self.guided_alone(request, thought),
                None => {
                    if self.grammar(&request.parse, None, thought).is_ok_and(|grammar| grammar.is_some()) {
                        self.warn("calls cannot be held to their schemas: this backend takes JSON schemas alone");
                    }
                    Ok(Some(Constraint::AsSent))
                }
            };
        }
        let grammar = match self.grammar(&request.parse, answer, thought) {
            // A format without grammars leaves the answer to the backend, if its calls are unconstrained.
            Err(_) if self.grammar(&request.parse, None, thought).is_ok_and(|calls| calls.is_none()) => {
                return direct(Constraint::AsSent);
            }
            grammar => grammar?,
        };
        match grammar {
            // The backend's own schema support covers more schemas than a grammar in its notation.
            Some(grammar) if answer.is_some() && grammar.json_schema().is_some() => Ok(Some(Constraint::AsSent)),
            Some(grammar) => self.written(&grammar).map(Some),
            None if demands => self.guided(request, thought),
            None => Ok(Some(Constraint::AsSent)),
        }
    }

    /// If calls may not be constrained in their own format: guided JSON, for formats that support it.
    fn guided(&self, request: &ChatRequest, thought: Thought) -> Result<Option<Constraint>, ApiError> {
        if self.pair.needs(&request.parse).forced_calls != Required::Json {
            return Ok(Some(Constraint::Free));
        }
        let Some(schema) = guided::calls(request)? else { return Ok(Some(Constraint::Free)) };
        let silent = Request { tool_choice: ToolChoice::None, ..request.parse.clone() };
        let grammar = self.grammar(&silent, Some(&schema), thought)?;
        Ok(Some(match grammar {
            Some(grammar) if grammar.json_schema().is_none() => self.written(&grammar)?,
            _ => Constraint::Json(schema),
        }))
    }

    /// Guided JSON for a backend that only accepts a schema.
    fn guided_alone(&self, request: &ChatRequest, thought: Thought) -> Result<Option<Constraint>, ApiError> {
        if !self.reads_guided || !self.enforce && self.pair.needs(&request.parse).forced_calls != Required::Json {
            self.warn("a call is demanded, but this backend cannot be held to this format");
            return Ok(Some(Constraint::Free));
        }
        let Some(schema) = guided::calls(request)? else { return Ok(Some(Constraint::Free)) };
        Ok((thought == Thought::Outside).then_some(Constraint::Json(schema)))
    }

    fn grammar(
        &self,
        request: &Request,
        answer: Option<&Value>,
        thought: Thought,
    ) -> Result<Option<Grammar>, ApiError> {
        let open = match thought {
            Thought::Outside => None,
            Thought::InFront { open } => Some(open),
        };
        let options = Options {
            level: self.level,
            enforce: self.enforce,
            with_thought: open.is_some(),
            thought_open: open,
            answer: answer.cloned(),
            limit: self.limit,
        };
        self.pair.grammar_while(request, &options, &unspool_text::is_wanted).map_err(told)
    }

    fn written(&self, grammar: &Grammar) -> Result<Constraint, ApiError> {
        let text = match self.notation {
            Some(Notation::Lark) => grammar.lark(),
            _ => grammar.structural_tag().to_string(),
        };
        self.limit.check(text.len()).map_err(told)?;
        Ok(match self.notation {
            Some(Notation::Lark) => Constraint::Lark(text.into()),
            _ => Constraint::Tag(text.into()),
        })
    }

    /// Warns that a raw completions server takes no constraint of the gateway.
    fn warn_of_silence(&self, request: &ChatRequest) {
        let wishes = request.demands_calls() || request.parse.tools.any_strict() && !request.tools.is_empty();
        if self.can.passes_on() && self.enforce && wishes {
            self.warn(
                "calls cannot be held to their format: an `openai` backend has no notation for it; if it is a vLLM or an \
                 SGLang, name it so in --backend",
            );
        }
    }

    fn warn(&self, message: &str) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("{message}; such requests are answered without a constraint");
        }
    }
}

/// What holds an answer to what the client asks of it beside JSON, in GBNF.
fn expression(request: &ChatRequest) -> Result<Constraint, ApiError> {
    let outputs = request.sampling.others.get("structured_outputs");
    if let Some(grammar) = outputs.and_then(gbnf::of) {
        return Ok(Constraint::Gbnf(grammar?.into()));
    }
    if outputs.is_some_and(|outputs| outputs.get("grammar").is_some_and(Value::is_string)) {
        return Ok(Constraint::AsSent);
    }
    let field = if outputs.is_some_and(|outputs| outputs.get("structural_tag").is_some()) {
        "structured_outputs.structural_tag"
    } else {
        "response_format"
    };
    Err(ApiError::bad_field(field, format!("`{field}` is refused: llama.cpp knows no structural tags"))
        .hint("ask for a JSON schema, an expression, a choice or a grammar in GBNF"))
}

/// The error for a request without a grammar.
fn told(error: Error) -> ApiError {
    let told = ApiError::bad_field(error.place.as_deref().unwrap_or("tools"), error.message);
    match error.hint {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

/// A request that requires a call.
fn demand() -> Option<Request> {
    let body = json!({"tools": [{"type": "function", "function": {"name": "tide"}}], "tool_choice": "required"});
    Request::from_openai(&body).ok()
}

/// Whether a pair's grammar depends on the earlier calls in the conversation.
fn counts(pair: &Pair) -> bool {
    let grammar = |calls_before| {
        let request = Request { calls_before, ..demand()? };
        pair.grammar(&request, &Options::default()).ok()?
    };
    grammar(0) != grammar(3)
}

/// Whether a pair's parser reads guided JSON as a call.
fn reads_guided(pair: &Pair) -> bool {
    let Some(request) = demand() else { return false };
    let Ok(mut parser) = pair.parser(&request, Prompt::Unknown) else { return false };
    // A thought that is open at the start ends first.
    if parser.is_thinking() {
        let end = pair.reasoning_markers().map(|(_, end)| end).unwrap_or_default();
        parser.push(Delta::text(&end), &mut |_: Event<'_>| {});
    }
    parser.push(Delta::text("[{\"name\": \"tide\", \"parameters\": {}}]"), &mut |_: Event<'_>| {});
    parser.finish(None, &mut |_: Event<'_>| {});
    parser.calls() == 1
}

#[cfg(test)]
mod tests {
    use unspool::{Registry, Setup};
    use unspool_text::Stop;

    use super::*;
    use crate::capabilities::NOTHING_BUT_WRITE;
    use crate::request::ToolRules;

    #[test]
    fn a_grammar_for_nobody_is_not_made() {
        let setup = Setup { tool_parser: Some("hermes".into()), ..Setup::default() };
        let pair = Registry::builtin().pair(&setup).expect("the name is known");
        let can = Capabilities { notations: &[Notation::Tag], ..NOTHING_BUT_WRITE };
        let constrainer = Constrainer::new(&ServeConfig::default(), can, &pair);
        let tool = |number: usize| {
            let fields: Map<String, Value> =
                (0..40).map(|at| (format!("f{number}_{at}"), json!({"type": "string"}))).collect();
            json!({"type": "function", "function": {"name": format!("f{number}"), "strict": true,
                "parameters": {"type": "object", "properties": fields, "additionalProperties": false}}})
        };
        let tools: Vec<Value> = (0..100).map(tool).collect();
        let body = json!({"messages": [{"role": "user", "content": "a"}], "tools": tools, "tool_choice": "required"});
        let rules = ToolRules { has_parser: true, auto: true };
        let request = ChatRequest::read(body, rules).expect("the request is right");
        let stop = Stop::default();
        stop.tell();
        let refused = stop.during(|| constrainer.form(&request, Start::Answering));
        assert!(refused.is_err(), "the client has gone");
        assert!(
            constrainer
                .form(&request, Start::Answering)
                .is_ok_and(|form| matches!(form.constraint, Constraint::Tag(_)))
        );
    }
}
