//! A backend without a model: it writes plausible turns in the format's own syntax, so that anyone can test a client
//! with any model's format. Its output depends only on the request and its seed.

mod turn;
mod values;
mod words;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use unspool::Error;
use unspool::Pair;
use unspool::budget::{Markers, ThinkingBudget};
use unspool::grammar::{Options, StrictLevel};
use unspool::sample::Sampler;
use unspool::{Registry, Setup, ToolChoice, Vocabulary};
use unspool_text::{Cutter, Rng};

use self::turn::Writer;
use super::markers::markers;
use super::script::{Script, Token};
use super::{Backend, BackendError, BackendFault, Job, Pieces, StopReason};
use crate::budget::ReasoningMarkers;
use crate::capabilities::{Capabilities, NOTHING_BUT_WRITE};
use crate::error::ApiError;
use crate::hash::fnv1a;
use crate::prompt::RenderedPrompt;
use crate::request::ChatRequest;

/// First id of ordinary pieces; single entries are below.
const FIRST_ORDINARY_ID: u32 = 1000;
/// Number of ids for ordinary pieces.
const ORDINARY_IDS: u64 = 150_000;

/// The backend without a model.
#[derive(Debug)]
pub struct Mock {
    pair: Pair,
    single: Vec<String>,
    rate: f64,
    thoughts: ReasoningMarkers,
}

impl Mock {
    /// A mock that writes `rate` tokens per second (0: no limit), and the pair to parse its output. As with real
    /// tokenizers, its vocabulary has the format's markers as single entries.
    ///
    /// # Errors
    /// What [`Registry::pair`] refuses.
    pub fn new(registry: &Registry, setup: &Setup, rate: f64) -> Result<(Self, Pair), Error> {
        let plain = registry.pair(setup)?;
        let single = markers(&plain);
        let special = single.iter().cloned().zip(0..).collect::<HashMap<_, _>>();
        let with_entries = Setup { vocabulary: Vocabulary { special, ..Vocabulary::default() }, ..setup.clone() };
        let (pair, single) = match registry.pair(&with_entries) {
            Ok(pair) => (pair, single),
            // The format needs other entries than it writes: then no vocabulary is used.
            Err(_) => (plain, Vec::new()),
        };
        Ok((Self { pair: pair.clone(), single, rate, thoughts: ReasoningMarkers::default() }, pair))
    }

    /// Sets the texts around a thought, for thinking budgets.
    #[must_use]
    pub fn with_thoughts(self, thoughts: ReasoningMarkers) -> Self {
        Self { thoughts, ..self }
    }

    fn script(&self, job: &Job) -> Result<Script, BackendError> {
        let request = &job.request;
        let seed = request.sampling.seed.map_or(request.hash, |seed| fnv1a(&seed.to_le_bytes()));
        let mut rng = Rng::new(seed.wrapping_add(fnv1a(&job.choice.to_le_bytes())));
        let thinks =
            self.pair.parser(&request.parse, unspool::Prompt::Unknown).is_ok_and(|parser| !parser.reasoning_ended());
        let text = match self.held_to_grammar(job, thinks, &mut rng)? {
            Some(text) => text,
            None => self.write(&mut Writer::new(request, thinks, &mut rng))?,
        };
        let prompt_tokens = job.prompt.tokens.unwrap_or_default();
        let tokens = match request.sampling.thinking_budget {
            Some(budget) => self.within(budget, &text, rng, thinks),
            None => self.cut(&text, &self.single, rng),
        };
        Ok(Script { tokens, stop: StopReason::Stop, prompt_tokens })
    }

    /// The tokens of a text whose thought ends when its budget is used up; the rest of the thought is dropped.
    fn within(&self, budget: u64, text: &str, rng: Rng, thinks: bool) -> Vec<Token> {
        let texts = [self.thoughts.start(), self.thoughts.end(), self.thoughts.forced()];
        // A marker is one token here, whatever the vocabulary, so that counting can start from it.
        let mut single = self.single.clone();
        single.extend(
            texts
                .iter()
                .take(2)
                .filter(|text| !self.single.iter().any(|known| known == *text))
                .map(|text| (*text).to_owned()),
        );
        let [start, end, forced] = texts.map(|text| self.cut(text, &single, Rng::new(0)));
        let ids = |tokens: &[Token]| tokens.iter().filter_map(|token| token.id).collect::<Vec<_>>();
        let start_ids = ids(&start);
        let markers = Markers { start: start_ids.clone(), end: ids(&end), forced: ids(&forced) };
        let tokens = self.cut(text, &single, rng);
        // A thought that the text does not open is already open.
        let opened = thinks && !tokens.iter().any(|token| start.first() == Some(token));
        let mut machine = ThinkingBudget::new(markers, budget, if opened { &start_ids } else { &[] });
        let mut out = Vec::new();
        let mut rest = tokens.as_slice();
        while let [token, behind @ ..] = rest {
            let closer = rest.iter().position(|token| end.first() == Some(token));
            if let (Some(at), true) = (closer, machine.forced().is_some()) {
                machine.take(&ids(&forced));
                out.extend(forced.iter().cloned());
                rest = &rest[at + 1..];
                continue;
            }
            machine.take(&ids(std::slice::from_ref(token)));
            out.push(token.clone());
            rest = behind;
        }
        out
    }

    /// If calls are required or a tool is strict, samples the format's grammar: a thought, and calls that match.
    fn held_to_grammar(&self, job: &Job, thinks: bool, rng: &mut Rng) -> Result<Option<String>, BackendError> {
        let request = &job.request;
        let is_strict = request.parse.tools.any_strict();
        if !(Writer::new(request, thinks, rng).calls_wanted() && (is_strict || request.demands_calls())) {
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
        Ok(grammar.map(|grammar| grammar.sample(&mut Sampler::new(rng.bits()))))
    }

    /// The turn in the format's syntax. If the syntax cannot express a turn, a plainer one is tried.
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

    fn cut(&self, text: &str, single: &[String], rng: Rng) -> Vec<Token> {
        let token = |piece: &str| {
            let entry = self.single.iter().position(|entry| entry == piece).and_then(|at| u32::try_from(at).ok());
            let ordinary =
                || FIRST_ORDINARY_ID + u32::try_from(fnv1a(piece.as_bytes()) % ORDINARY_IDS).unwrap_or_default();
            Token { text: piece.to_owned(), id: Some(entry.unwrap_or_else(ordinary)) }
        };
        Cutter::new(text, single, rng).map(token).collect()
    }
}

/// Additional capabilities of the mock: it invents the probabilities of its tokens.
pub(super) const CAPABILITIES: Capabilities =
    Capabilities { probabilities: true, token_ids: true, ..NOTHING_BUT_WRITE };

impl Backend for Mock {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn prompt<'a>(&'a self, request: &'a Arc<ChatRequest>) -> BoxFuture<'a, Result<RenderedPrompt, ApiError>> {
        // The prompt is counted in pieces and never assembled, because nobody reads it; so it does not determine how
        // the reply begins.
        let count = |text: &str| Cutter::new(text, &[], Rng::new(0)).count() as u64;
        let messages = request.messages.iter().map(|message| count(&message.role) + 2 + count(&message.text()));
        let tools = request.tools.iter().map(|tool| count(&tool.to_string()));
        let prompt = RenderedPrompt { tokens: Some(messages.chain(tools).sum()), ..RenderedPrompt::default() };
        Box::pin(async { Ok(prompt) })
    }

    fn start(&self, job: Job) -> BoxFuture<'_, Result<Pieces, BackendError>> {
        let script = self.script(&job);
        Box::pin(async move { Ok(script?.play(job.sampling(), self.rate)) })
    }
}
