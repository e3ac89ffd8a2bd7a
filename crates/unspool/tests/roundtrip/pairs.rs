//! The pairs of names that are tried.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{LazyLock, Mutex};

use unspool::message::Message;
use unspool::setup::{Half, Setup};
use unspool::{Pair, Registry};

/// Names of a pair.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) reasoning: Option<String>,
    pub(crate) tools: Option<String>,
    /// The request asks for thinking.
    asked: bool,
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |half: &Option<String>| half.as_deref().unwrap_or("-").to_owned();
        write!(f, "{} + {}", name(&self.reasoning), name(&self.tools))
    }
}

/// Formats that give thoughts as content, their opener in front.
const THINK_IN_CONTENT: &[&str] = &["minimax_m2_append_think"];
/// Formats whose calls count only where nothing stands before.
const CALLS_FIRST: &[&str] = &["pythonic", "llama4_pythonic"];
/// Names whose format the checkpoint brings: there is nothing to write with.
const CHECKPOINTS: &[&str] = &["hf", "beam"];
/// Formats that think only if the request asks for it.
const THINK_ON_REQUEST: &[&str] = &["deepseek_v3", "poolside_v1", "hy_v3", "exaone4", "hyperclovax_seed_think"];

impl Names {
    pub(crate) fn new(reasoning: Option<&str>, tools: Option<&str>) -> Self {
        Self { reasoning: reasoning.map(str::to_owned), tools: tools.map(str::to_owned), asked: false }
    }

    /// The same names in a request that asks for thinking.
    pub(crate) fn asked_to_think(self) -> Self {
        Self { asked: true, ..self }
    }

    fn setup(&self) -> Setup {
        Setup { reasoning_parser: self.reasoning.clone(), tool_parser: self.tools.clone(), ..Setup::default() }
    }

    /// The pair, compiled once in a process.
    pub(crate) fn pair(&self) -> Pair {
        static MADE: LazyLock<Mutex<BTreeMap<String, Pair>>> = LazyLock::new(Mutex::default);
        let name = self.to_string();
        if let Some(pair) = MADE.lock().unwrap().get(&name) {
            return pair.clone();
        }
        let pair = Registry::builtin().pair(&self.setup()).unwrap_or_else(|e| panic!("{self}: {e}"));
        MADE.lock().unwrap().insert(name, pair.clone());
        pair
    }

    fn has(&self, names: &[&str]) -> bool {
        [&self.reasoning, &self.tools].into_iter().flatten().any(|n| names.contains(&n.as_str()))
    }

    /// A message without what no text of this pair could say.
    pub(crate) fn fit(&self, mut message: Message) -> Message {
        let thinks = self.reasoning.as_ref().is_some_and(|n| self.asked || !THINK_ON_REQUEST.contains(&n.as_str()));
        if self.tools.is_none() {
            message.tool_calls.clear();
        }
        if self.has(THINK_IN_CONTENT) {
            message.content = format!("<think>{}</think>{}", message.reasoning, message.content);
        }
        if !thinks || self.has(THINK_IN_CONTENT) {
            message.reasoning.clear();
        }
        if self.has(CALLS_FIRST) && !message.tool_calls.is_empty() {
            message.content.clear();
        }
        message
    }
}

/// Every name by itself, and with the other half of the same name if there is one.
pub(crate) fn all_names() -> Vec<Names> {
    let registry = Registry::builtin();
    let (reasoning, tools) = (registry.names(Half::Reasoning), registry.names(Half::Tools));
    assert!(reasoning.len() >= 42 && tools.len() >= 58, "{} + {} names", reasoning.len(), tools.len());
    let mut all: Vec<Names> = Vec::new();
    for name in &reasoning {
        all.push(Names::new(Some(name), None));
        if tools.contains(name) {
            all.push(Names::new(Some(name), Some(name)));
        }
    }
    all.extend(tools.iter().map(|name| Names::new(None, Some(name))));
    all.retain(|n| !n.has(CHECKPOINTS));
    all
}

/// Each reasoning name with some tools names of other families, as far as they go together.
pub(crate) fn mixed_names() -> Vec<Names> {
    const TRIED: usize = 4;
    let registry = Registry::builtin();
    let tools = registry.names(Half::Tools);
    let mut mixed = Vec::new();
    for (i, reasoning) in registry.names(Half::Reasoning).iter().enumerate() {
        for j in 0..TRIED {
            let names = Names::new(Some(reasoning), Some(&tools[(i * 7 + j * 13) % tools.len()]));
            if !names.has(CHECKPOINTS) && registry.pair(&names.setup()).is_ok() {
                mixed.push(names);
            }
        }
    }
    mixed
}
