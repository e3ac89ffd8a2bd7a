//! Everything that a format file is held to.

use serde::Serialize;
use unspool::Error;
use unspool::format::file::FormatFile;
use unspool::{Half, Pair, Registry, Setup};

use super::{examples, laws, use_of_words, writing};
use crate::diagnose::Outcome;

/// How much is tried.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Random texts, messages and samples of each pair.
    pub count: u64,
    /// What they depend on.
    pub seed: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { count: 60, seed: 1 }
    }
}

/// What is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The file can be read, and its templates compile.
    File,
    /// Its examples are true in every cut.
    Examples,
    /// The cut changes nothing and no text is lost, over texts glued from its markers.
    Laws,
    /// What is written is read as the same.
    Rendering,
    /// What the grammar admits is read as calls that fit.
    Grammar,
    /// Its two halves, and other files' that it names, work together.
    Clashes,
    /// Each word that it says makes a difference.
    Words,
}

impl Step {
    /// What is tried, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Examples => "examples",
            Self::Laws => "laws",
            Self::Rendering => "rendering",
            Self::Grammar => "grammar",
            Self::Clashes => "clashes",
            Self::Words => "words",
        }
    }
}

/// How it came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// What was tried.
    pub step: Step,
    /// How it came out; `unknown`: there is nothing to try it with.
    pub result: Outcome,
    /// In a sentence.
    pub message: String,
    /// What shows it.
    pub details: Vec<String>,
}

impl Line {
    pub(super) fn new(step: Step, result: Outcome, message: impl Into<String>) -> Self {
        Self { step, result, message: message.into(), details: Vec::new() }
    }

    /// Passes if there are no faults.
    pub(super) fn of_faults(step: Step, good: String, bad: &str, faults: Vec<String>) -> Self {
        match faults.len() {
            0 => Self::new(step, Outcome::Pass, good),
            _ => Self { details: faults, ..Self::new(step, Outcome::Fail, bad) },
        }
    }
}

/// What came of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tested {
    /// The file.
    pub file: String,
    /// Its names of reasoning parsers.
    pub reasoning: Vec<String>,
    /// Its names of tool-call parsers.
    pub tools: Vec<String>,
    /// All that was tried.
    pub lines: Vec<Line>,
}

impl Tested {
    /// Whether nothing failed.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.lines.iter().all(|line| line.result != Outcome::Fail)
    }
}

/// A pair of names of a file, compiled.
pub(super) struct Subject {
    pub(super) reasoning: Option<String>,
    pub(super) tools: Option<String>,
    pub(super) words: FormatFile,
    pub(super) pair: Pair,
}

impl Subject {
    /// The names, for messages.
    pub(super) fn name(&self) -> String {
        match (&self.reasoning, &self.tools) {
            (Some(reasoning), Some(tools)) if reasoning == tools => reasoning.clone(),
            (Some(reasoning), Some(tools)) => format!("{reasoning} with {tools}"),
            (Some(name), None) | (None, Some(name)) => name.clone(),
            (None, None) => String::new(),
        }
    }
}

/// Tries a file; `base` has the formats that it may refer to.
#[must_use]
pub fn test(base: &Registry, path: &str, text: &str, effort: Effort) -> Tested {
    let mut registry = base.clone();
    let known = registry.warnings().len();
    let mut out = Tested { file: path.to_owned(), reasoning: Vec::new(), tools: Vec::new(), lines: Vec::new() };
    let names = match registry.add(path, text) {
        Ok(names) => names,
        Err(error) => {
            out.lines.push(Line { details: told(&error), ..Line::new(Step::File, Outcome::Fail, error.message) });
            return out;
        }
    };
    for (half, name) in names {
        match half {
            Half::Reasoning => out.reasoning.push(name),
            Half::Tools => out.tools.push(name),
        }
    }
    let warnings = registry.warnings()[known..].iter().map(|warning| warning.message.clone()).collect();
    let message = format!("{} names, all templates compile", out.reasoning.len() + out.tools.len());
    out.lines.push(Line { details: warnings, ..Line::new(Step::File, Outcome::Pass, message) });
    let (subjects, clashes) = subjects(&registry, &out);
    out.lines.push(examples::line(&registry, &subjects));
    out.lines.push(laws::line(&subjects, effort));
    out.lines.push(writing::rendering(&subjects, effort));
    out.lines.push(writing::grammar(&subjects, effort));
    out.lines.push(clashes);
    out.lines.push(use_of_words::line(base, path, text, &out));
    out
}

fn told(error: &Error) -> Vec<String> {
    error.hint.iter().map(|hint| format!("hint: {hint}")).collect()
}

/// The pairs that a file makes: each tools half with a reasoning half of the file, each reasoning half that is left by itself,
/// and with a tools half of another file that it names.
fn subjects(registry: &Registry, of: &Tested) -> (Vec<Subject>, Line) {
    let (mut out, mut faults, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    let mut tried = 0;
    let mut names: Vec<(Option<String>, Option<String>)> = Vec::new();
    for tools in &of.tools {
        let own = of.reasoning.iter().find(|name| *name == tools).or(of.reasoning.first());
        names.push((own.cloned(), Some(tools.clone())));
    }
    for reasoning in of.reasoning.iter().filter(|name| !of.tools.contains(name)) {
        let others = registry.partners(Half::Reasoning, reasoning);
        let other = others.into_iter().find(|name| !of.tools.contains(name)).or_else(|| of.tools.first().cloned());
        names.push((Some(reasoning.clone()), other));
    }
    for (reasoning, tools) in names {
        tried += 1;
        let half = if tools.is_some() { Half::Tools } else { Half::Reasoning };
        let name = tools.as_ref().or(reasoning.as_ref()).cloned().unwrap_or_default();
        let setup = Setup { reasoning_parser: reasoning.clone(), tool_parser: tools.clone(), ..Setup::default() };
        match (registry.pair(&setup), registry.words(half, &name)) {
            (Ok(pair), Ok(words)) => {
                let subject = Subject { reasoning, tools, words, pair };
                warnings.extend(subject.pair.warnings().iter().map(|w| format!("{}: {}", subject.name(), w.message)));
                out.push(subject);
            }
            // A description that the checkpoint brings is not here.
            (Err(_), Ok(words)) if words.checkpoint.is_some() => {}
            (Err(error), _) | (_, Err(error)) => faults.push(error.message),
        }
    }
    let good = if tried == 1 { "the pair works".to_owned() } else { format!("{tried} pairs work") };
    let line = match faults.is_empty() {
        true => Line { details: warnings, ..Line::new(Step::Clashes, Outcome::Pass, good) },
        false => Line::of_faults(Step::Clashes, good, "halves do not work together", faults),
    };
    (out, line)
}
