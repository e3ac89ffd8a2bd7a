//! A backend without a model: it writes plausible turns in the format's own wire syntax, so that anyone can test a client
//! against any model's format. What it writes depends on the request and its seed alone.

mod turn;
mod values;
mod words;

use std::collections::HashMap;

use futures_util::future::BoxFuture;
use serde_json::json;
use unspool::grammar::{Options, StrictLevel};
use unspool::sample::Sampler;
use unspool::setup::Pair;
use unspool::{Message, Registry, Request, Setup, SetupError, ToolCall, ToolChoice, Vocabulary};
use unspool_text::{Cutter, Dice};

use self::turn::Writer;
use super::script::{Script, Token};
use super::{Backend, BackendError, BackendFault, Job, Pieces, RenderedPrompt, StopReason};
use crate::api::chat::ChatRequest;
use crate::error::ApiError;
use crate::hash::fnv1a;

/// Ids of ordinary pieces begin here; below are the single entries.
const FIRST_ORDINARY_ID: u32 = 1000;
/// Ids of ordinary pieces are spread over this many.
const ORDINARY_IDS: u64 = 150_000;
/// Longest marker that is taken for a single entry, in bytes.
const LONGEST_MARKER: usize = 64;

/// The backend without a model.
#[derive(Debug)]
pub struct Mock {
    pair: Pair,
    single: Vec<String>,
    rate: f64,
}

impl Mock {
    /// A mock that writes `rate` tokens a second (0: as fast as they are taken), and the pair to parse it with. As real
    /// tokenizers do, its vocabulary has the format's markers as single entries.
    ///
    /// # Errors
    /// What [`Registry::pair`] refuses.
    pub fn new(registry: &Registry, setup: &Setup, rate: f64) -> Result<(Self, Pair), SetupError> {
        let plain = registry.pair(setup)?;
        let single = markers(&plain);
        let special = single.iter().cloned().zip(0..).collect::<HashMap<_, _>>();
        let with_entries = Setup { vocabulary: Vocabulary { special, ..Vocabulary::default() }, ..setup.clone() };
        let (pair, single) = match registry.pair(&with_entries) {
            Ok(pair) => (pair, single),
            // The format wants other entries than it writes: then nothing is known of the vocabulary.
            Err(_) => (plain, Vec::new()),
        };
        Ok((Self { pair: pair.clone(), single, rate }, pair))
    }

    fn script(&self, job: &Job) -> Result<Script, BackendError> {
        let request = &job.request;
        let seed = request.sampling.seed.map_or(request.hash, |seed| fnv1a(&seed.to_le_bytes()));
        let mut dice = Dice::new(seed.wrapping_add(fnv1a(&job.choice.to_le_bytes())));
        let thinks =
            self.pair.parser(&request.parse, unspool::Prompt::Unknown).is_ok_and(|parser| !parser.reasoning_ended());
        let text = match self.held_to_grammar(job, thinks, &mut dice)? {
            Some(text) => text,
            None => self.write(&mut Writer::new(request, thinks, &mut dice))?,
        };
        let prompt_tokens = job.prompt.tokens.unwrap_or_default();
        Ok(Script { tokens: self.cut(&text, dice), stop: StopReason::Stop, prompt_tokens })
    }

    /// Where calls are demanded or a tool is strict, a text of the format's grammar: thought, and calls that fit.
    fn held_to_grammar(&self, job: &Job, thinks: bool, dice: &mut Dice) -> Result<Option<String>, BackendError> {
        let request = &job.request;
        let is_strict = request.parse.tools.any_strict();
        if !(Writer::new(request, thinks, dice).calls_wanted() && (is_strict || request.demands_calls())) {
            return Ok(None);
        }
        let mut parse = request.parse.clone();
        if parse.tool_choice == ToolChoice::Auto {
            parse.tool_choice = ToolChoice::Required;
        }
        let options = Options { level: StrictLevel::Parameter, with_thought: thinks, ..Options::default() };
        let grammar = self.pair.grammar(&parse, &options).map_err(|error| {
            BackendError::new(BackendFault::CannotWrite, format!("the format has no grammar for this request: {error}"))
        })?;
        Ok(grammar.map(|grammar| grammar.sample(&mut Sampler::new(dice.bits()))))
    }

    /// The turn in the format's syntax. Where the syntax cannot say a turn, a plainer one is tried.
    fn write(&self, writer: &mut Writer<'_>) -> Result<String, BackendError> {
        let mut refusal = None;
        for plainness in turn::PLAINNESS {
            let message = writer.turn(plainness);
            match self.pair.render(&message, writer.parse()) {
                Ok(text) => return Ok(text),
                Err(error) => refusal = Some(error.message),
            }
        }
        let why = refusal.unwrap_or_default();
        Err(BackendError::new(
            BackendFault::CannotWrite,
            format!("the format cannot write an answer to this request: {why}"),
        ))
    }

    fn cut(&self, text: &str, dice: Dice) -> Vec<Token> {
        let token = |piece: &str| {
            let entry = self.single.iter().position(|entry| entry == piece).and_then(|at| u32::try_from(at).ok());
            let ordinary =
                || FIRST_ORDINARY_ID + u32::try_from(fnv1a(piece.as_bytes()) % ORDINARY_IDS).unwrap_or_default();
            Token { text: piece.to_owned(), id: Some(entry.unwrap_or_else(ordinary)) }
        };
        Cutter::new(text, &self.single, dice).map(token).collect()
    }
}

impl Backend for Mock {
    fn prompt(&self, request: &ChatRequest) -> Result<RenderedPrompt, ApiError> {
        let mut text = String::new();
        for message in &request.messages {
            text.push_str(&message.role);
            text.push('\n');
            text.push_str(&message.text());
            text.push('\n');
        }
        for tool in &request.tools {
            text.push_str(&tool.to_string());
        }
        let tokens = Cutter::new(&text, &[], Dice::new(0)).count() as u64;
        // Nobody reads the prompt, so it says nothing about how the reply begins.
        Ok(RenderedPrompt { text, turn: None, tokens: Some(tokens) })
    }

    fn start(&self, job: Job) -> BoxFuture<'_, Result<Pieces, BackendError>> {
        let script = self.script(&job);
        Box::pin(async move { Ok(script?.play(job.sampling(), self.rate)) })
    }
}

/// The markers of a pair: what samples of its own writing show in brackets. A syntax that cannot say one part says others.
fn markers(pair: &Pair) -> Vec<String> {
    const WORD: &str = "birch";
    let call = ToolCall {
        name: WORD.to_owned(),
        arguments: format!("{{\"{WORD}\": \"{WORD}\"}}"),
        complete: true,
        ..ToolCall::default()
    };
    let tool = json!({"tools": [{"type": "function", "function": {"name": WORD}}]});
    let request = Request::from_openai(&tool).unwrap_or_default();
    let mut found = Vec::new();
    for parts in 1..8 {
        let (thinks, says, calls) = (parts & 1 != 0, parts & 2 != 0, parts & 4 != 0);
        let word = |there: bool| if there { WORD.to_owned() } else { String::new() };
        let tool_calls = if calls { vec![call.clone()] } else { Vec::new() };
        let sample = Message { reasoning: word(thinks), content: word(says), tool_calls, ..Message::default() };
        let text = pair.render(&sample, &request).unwrap_or_default();
        for marker in bracketed(&text).filter(|marker| !marker.contains(WORD)) {
            if !found.iter().any(|known| known == marker) {
                found.push(marker.to_owned());
            }
        }
    }
    found
}

/// The stretches `<…>` and `[…]` of a text that look like markers: short, without white space, quotes or values in them.
fn bracketed(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(['<', '[']).filter_map(move |(at, open)| {
        let rest = &text[at..];
        let close = if open == "<" { '>' } else { ']' };
        let marker = &rest[..=rest.find(close)?];
        let inside = &marker[1..marker.len() - 1];
        let capitals = open == "<" || inside.chars().all(|c| c.is_ascii_uppercase() || "_/".contains(c));
        let odd = |c: char| c.is_whitespace() || "\"'=<>[]{}".contains(c);
        (!inside.is_empty() && marker.len() <= LONGEST_MARKER && capitals && !inside.contains(odd)).then_some(marker)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_what_stands_in_brackets() {
        let text = "<think>a < b</think>\n<function=f>[TOOL_CALLS][{\"a\": [1]}]<|end|>[THINK]<｜tool▁sep｜>x</think";
        let found: Vec<_> = bracketed(text).collect();
        assert_eq!(found, ["<think>", "</think>", "[TOOL_CALLS]", "<|end|>", "[THINK]", "<｜tool▁sep｜>"]);
    }
}
