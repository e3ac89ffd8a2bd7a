//! The pair that a glued text is parsed with.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use serde_json::{Value, json};
use unspool::Pair;
use unspool::limits::Limits;
use unspool::setup::Half;
use unspool::{FinishReason, IncompleteCalls, Parser, Prompt, Registry, Request, Setup, Vocabulary};

use crate::cuts::Piece;
use crate::glue::{FIRST_BYTE_ID, Glued, Names};
use crate::watch::{Answer, Run};

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// What the answer is wanted for.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    pub(crate) calls: IncompleteCalls,
    pub(crate) choice: Choice,
    pub(crate) limits: Limits,
}

/// A `tool_choice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Auto,
    Required,
    /// The first tool of the case.
    Named,
}

impl Choice {
    /// As a request says it; nothing without a tool to choose.
    fn of(self, tools: &Value) -> Option<Value> {
        let name = tools.pointer("/0/function/name")?;
        match self {
            Self::Auto => None,
            Self::Required => Some(json!("required")),
            Self::Named => Some(json!({"type": "function", "function": {"name": name}})),
        }
    }
}

/// A pair, a request and an end.
pub(crate) struct Subject {
    /// The error is the refusal of a pair that cannot work, with its own vocabulary, say.
    pair: Result<Pair, String>,
    request: Request,
    finish: FinishReason,
    filters: bool,
}

impl Subject {
    pub(crate) fn new(glued: &Glued, wish: &Wish, finish: FinishReason) -> Self {
        let mut wished = json!({"tools": glued.source().tools});
        if let Some(choice) = wish.choice.of(&glued.source().tools) {
            wished["tool_choice"] = choice;
        }
        let request = Request::from_openai(&wished).expect("tools of a case");
        let pair = Self::pair(glued, wish.calls).map(|pair| pair.with_limits(wish.limits.clone()));
        let filters = Self::has_filters(&glued.names);
        Self { pair, request: Request { id_seed: Some(7), ..request }, finish, filters }
    }

    fn has_filters(names: &Names) -> bool {
        let halves = [(Half::Reasoning, &names.reasoning), (Half::Tools, &names.tools)];
        let words = halves.into_iter().filter_map(|(half, name)| REGISTRY.words(half, name.as_deref()?).ok());
        let mut written = words.map(|words| serde_json::to_value(&words).expect("words are JSON"));
        written.any(|words| words["content"]["filter"].as_array().is_some_and(|filters| !filters.is_empty()))
    }

    /// The pair of a text's case. Many cases share one; it is compiled once in a process.
    fn pair(glued: &Glued, calls: IncompleteCalls) -> Result<Pair, String> {
        static MADE: LazyLock<Mutex<HashMap<String, Result<Pair, String>>>> = LazyLock::new(Mutex::default);
        let source = glued.source();
        let name = format!("{:?} {:?} {} {calls:?}", glued.names, source.special, source.config);
        if let Some(pair) = MADE.lock().expect("no panic inside").get(&name) {
            return pair.clone();
        }
        let mut bytes: HashMap<u32, Vec<u8>> =
            source.special.iter().map(|(text, id)| (*id, text.clone().into_bytes())).collect();
        bytes.extend((0..=u8::MAX).map(|byte| (FIRST_BYTE_ID + u32::from(byte), vec![byte])));
        let setup = Setup {
            reasoning_parser: glued.names.reasoning.clone(),
            tool_parser: glued.names.tools.clone(),
            vocabulary: Vocabulary {
                special: source.special.iter().map(|(text, id)| (text.clone(), *id)).collect(),
                hidden: Vec::new(),
                bytes: Some(bytes.into()),
            },
            tokenizer_config: source.config.clone(),
            incomplete_calls: calls,
            ..Setup::default()
        };
        let pair = REGISTRY.pair(&setup).map_err(|error| error.to_string());
        MADE.lock().expect("no panic inside").insert(name, pair.clone());
        pair
    }

    /// Whether the pair's formats write their text anew, so that it is not what stands in the output.
    pub(crate) fn filters(&self) -> bool {
        self.filters
    }

    /// The answer to the pieces; a refusal is an answer too.
    pub(crate) fn run(&self, pieces: &[Piece]) -> Answer {
        self.answer(pieces, false)
    }

    /// The same with the state saved and restored after every piece.
    pub(crate) fn run_saved(&self, pieces: &[Piece]) -> Answer {
        self.answer(pieces, true)
    }

    fn answer(&self, pieces: &[Piece], saved: bool) -> Answer {
        let pair = match &self.pair {
            Ok(pair) => pair,
            Err(refusal) => return Answer { refused: Some(refusal.clone()), ..Answer::default() },
        };
        let fresh = || pair.parser(&self.request, Prompt::Unknown).expect("a request that was taken before");
        if let Err(refusal) = pair.parser(&self.request, Prompt::Unknown) {
            return Answer { refused: Some(refusal.message), ..Answer::default() };
        }
        let reload: Option<&dyn Fn() -> Parser> = if saved { Some(&fresh) } else { None };
        Run { pieces, finish: Some(self.finish), reload }.with(fresh())
    }
}
