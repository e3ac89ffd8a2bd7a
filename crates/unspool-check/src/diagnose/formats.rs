//! All formats, as far as a diagnosis asks for them, found out once and kept.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use unspool::Error;
use unspool::format::file::FormatFile;
use unspool::{Half, Pair, Registry, Setup};

use super::stripped::{self, Skeleton};
use crate::marks;

/// The names of two halves.
pub(super) type Names = (Option<String>, Option<String>);

/// All formats. Making it reads every file and takes some milliseconds; whoever looks at many outputs keeps it.
#[derive(Debug)]
pub struct Formats {
    registry: Registry,
    /// What all setups have in common.
    base: Setup,
    known: [Vec<Known>; 2],
    marks: Vec<String>,
    pairs: Mutex<HashMap<Names, Option<Pair>>>,
}

/// One half under one name.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) name: String,
    pub(super) words: FormatFile,
    pub(super) marks: Vec<String>,
    /// Names of the other half that go with it.
    pub(super) partners: Vec<String>,
    /// What one of must stand in an output for this half to find anything, without blanks and in plain characters; empty:
    /// anything will do.
    openers: Vec<String>,
    /// Whether its marks depend on a vocabulary that is not known.
    pub(super) varies: bool,
    pub(super) skeletons: Vec<Skeleton>,
}

impl Formats {
    /// The formats of a registry; `base` is what their setups have in common, such as what is known of the checkpoint.
    #[must_use]
    pub fn new(registry: Registry, base: Setup) -> Self {
        let mut known =
            [Half::Reasoning, Half::Tools].map(|half| known_of(&registry, half, base.vocabulary.special.is_empty()));
        pair_up(&mut known);
        let mut marks: Vec<String> = Vec::new();
        for mark in known.iter().flatten().flat_map(|half| &half.marks) {
            if !marks.contains(mark) {
                marks.push(mark.clone());
            }
        }
        Self { registry, base, known, marks, pairs: Mutex::new(HashMap::new()) }
    }

    /// The registry.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// What all setups have in common.
    pub(super) fn base(&self) -> &Setup {
        &self.base
    }

    /// The marks of all formats.
    #[must_use]
    pub fn marks(&self) -> &[String] {
        &self.marks
    }

    /// All names of a half.
    pub(super) fn all(&self, half: Half) -> &[Known] {
        let [reasoning, tools] = &self.known;
        match half {
            Half::Reasoning => reasoning,
            Half::Tools => tools,
        }
    }

    /// What is known of a name.
    pub(super) fn known(&self, half: Half, name: &str) -> Option<&Known> {
        self.all(half).iter().find(|known| known.name == name)
    }

    /// Composes a pair, or says why it cannot be.
    ///
    /// # Errors
    /// What [`Registry::pair`] says.
    pub fn compose(&self, reasoning: Option<&str>, tools: Option<&str>) -> Result<Pair, Error> {
        let setup = Setup {
            reasoning_parser: reasoning.map(str::to_owned),
            tool_parser: tools.map(str::to_owned),
            ..self.base.clone()
        };
        self.registry.pair(&setup)
    }

    /// A pair, made once; `None`: it cannot be had.
    pub(super) fn pair(&self, reasoning: Option<&str>, tools: Option<&str>) -> Option<Pair> {
        let names = (reasoning.map(str::to_owned), tools.map(str::to_owned));
        let mut pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        pairs.entry(names).or_insert_with(|| self.compose(reasoning, tools).ok()).clone()
    }
}

impl Known {
    /// Whether this half may find anything in an output, which is given without blanks and in plain characters.
    pub(super) fn may_speak(&self, folded: &str) -> bool {
        self.varies || self.openers.is_empty() || self.openers.iter().any(|opener| folded.contains(opener.as_str()))
    }
}

/// A text without blanks and in plain characters.
pub(super) fn folded(text: &str) -> String {
    marks::plain(text).chars().filter(|c| !c.is_whitespace()).collect()
}

fn known_of(registry: &Registry, half: Half, no_vocabulary: bool) -> Vec<Known> {
    let variable = |text: &str| text.lines().any(|line| line.starts_with("vars.") || line.starts_with("[vars"));
    let one = |name: String| {
        let words = registry.words(half, &name).ok()?;
        let varies = no_vocabulary && registry.file(half, &name).is_ok_and(|(_, text)| variable(&text));
        Some(Known {
            marks: marks::of_words(&words, half),
            partners: Vec::new(),
            openers: openers(&words, half),
            varies,
            skeletons: if half == Half::Tools { stripped::skeletons(&words) } else { Vec::new() },
            name,
            words,
        })
    };
    registry.names(half).into_iter().filter_map(one).collect()
}

/// Enters who goes with whom: halves of one file, the same name first, and what the word `pairs` lists.
fn pair_up([reasoning, tools]: &mut [Vec<Known>; 2]) {
    let together = |thinker: &Known, caller: &Known| {
        let of_file =
            thinker.words.names.tools.contains(&caller.name) && caller.words.names.reasoning.contains(&thinker.name);
        of_file || thinker.words.pairs.contains(&caller.name)
    };
    for thinker in reasoning.iter_mut() {
        thinker.partners = tools.iter().filter(|c| together(thinker, c)).map(|c| c.name.clone()).collect();
    }
    for caller in tools.iter_mut() {
        caller.partners = reasoning.iter().filter(|t| together(t, caller)).map(|t| t.name.clone()).collect();
        let own = caller.name.clone();
        caller.partners.sort_by_key(|name| *name != own);
    }
}

/// The literals with which thoughts or calls begin; a thought may lack its opener, so its closer counts as well.
fn openers(words: &FormatFile, half: Half) -> Vec<String> {
    let templates: Vec<&String> = match half {
        Half::Reasoning => words.reasoning.thought.iter().collect(),
        Half::Tools => words.tools.block.iter().chain(&*words.tools.call).collect(),
    };
    if words.channels.is_some() || words.checkpoint.is_some() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for template in templates {
        let sides: Vec<&str> = match half {
            Half::Reasoning => template.split("{thought}").collect(),
            Half::Tools => vec![template.trim_start().split('{').next().unwrap_or_default()],
        };
        for side in sides {
            let first = side.split_whitespace().next().unwrap_or_default();
            let first = first.find('>').map_or(first, |end| &first[..=end]);
            if first.chars().filter(|c| c.is_alphanumeric()).count() < 2 {
                // It begins with no mark of its own.
                return Vec::new();
            }
            out.push(folded(first));
        }
    }
    out
}
