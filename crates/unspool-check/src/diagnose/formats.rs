//! The facts about all formats that a diagnosis needs, computed once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use unspool::Error;
use unspool::format::file::FormatFile;
use unspool::{Half, Pair, Registry, Setup};

use super::stripped::{self, Skeleton};
use crate::marks;

/// The names of two halves.
pub(super) type Names = (Option<String>, Option<String>);

/// All formats. Creating this reads every file and takes some milliseconds, so keep it for many outputs.
#[derive(Debug)]
pub struct Formats {
    registry: Registry,
    /// The common settings of all pairs.
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
    /// Names of the other half that work with it.
    pub(super) partners: Vec<String>,
    /// Texts of which an output must contain one for this half to find anything, without blanks and in plain
    /// characters; empty: no requirement.
    openers: Vec<String>,
    /// Whether its markers depend on an unknown vocabulary.
    pub(super) varies: bool,
    pub(super) skeletons: Vec<Skeleton>,
}

impl Formats {
    /// The formats of a registry; `base` has the common settings of all pairs, such as the known facts about the
    /// checkpoint.
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

    /// The common settings of all pairs.
    pub(super) fn base(&self) -> &Setup {
        &self.base
    }

    /// The markers of all formats.
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

    /// The facts about a name.
    pub(super) fn known(&self, half: Half, name: &str) -> Option<&Known> {
        self.all(half).iter().find(|known| known.name == name)
    }

    /// Composes a pair.
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

    /// A pair, created once; `None`: impossible.
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

/// Records which halves work together: those of one file, the same name first, and those that the key `pairs` lists.
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

/// The literals that begin reasoning or calls; a thought may lack its opener, so its closer counts too.
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
                // It begins without its own marker.
                return Vec::new();
            }
            out.push(folded(first));
        }
    }
    out
}
