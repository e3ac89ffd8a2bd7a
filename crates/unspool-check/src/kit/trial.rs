//! All tests of a format file.

use serde::Serialize;
use unspool::Error;
use unspool::format::file::FormatFile;
use unspool::{Half, Pair, Registry, Setup};

use super::{examples, laws, use_of_words, writing};
use crate::diagnose::Outcome;

/// The number of tests.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Number of random texts, messages and samples for each pair.
    pub count: u64,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { count: 60, seed: 1 }
    }
}

/// The tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The file is valid, and its templates compile.
    File,
    /// Its examples pass in every split.
    Examples,
    /// The split changes nothing and no text is lost, for random texts of its markers.
    Laws,
    /// Rendered messages parse to the same messages.
    Rendering,
    /// Samples of the grammar parse to calls that match.
    Grammar,
    /// Its two halves, and those of other files that it names, work together.
    Clashes,
    /// Each of its keys has an effect.
    Words,
}

impl Step {
    /// A description of the test.
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

/// The result of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The test.
    pub step: Step,
    /// The result; `unknown`: it could not run.
    pub result: Outcome,
    /// A sentence.
    pub message: String,
    /// The evidence.
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

/// The results for a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tested {
    /// The file.
    pub file: String,
    /// Its names of reasoning parsers.
    pub reasoning: Vec<String>,
    /// Its names of tool-call parsers.
    pub tools: Vec<String>,
    /// All results.
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

/// Tests a file; `base` has the formats that it may refer to.
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

/// The pairs of a file: each tools half with a reasoning half of the file, each remaining reasoning half alone, and
/// with a tools half of another file that it names.
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
            // A checkpoint's own description is not available here.
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
