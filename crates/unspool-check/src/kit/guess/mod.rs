//! Guesses how an output writes reasoning and calls.
//!
//! It first searches for the inside of a call, in each of the six argument syntaxes, and then for the markers around
//! it. What several calls have in common belongs to each call, and the rest to the block around all.

mod bodies;
mod marks;
mod tags;
mod thought;

use std::ops::Range;

use serde_json::{Map, Value};

pub(super) use thought::{Thought, thought};

/// Maximum size of an output to guess from.
pub(super) const LONGEST: usize = 64 << 10;

/// The inside of a call, as a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Core {
    /// Starting with the name or the object around it: `{name}:{json}`.
    pub(super) template: String,
    /// `tools.param`
    pub(super) param: Option<String>,
    /// `tools.literals.string`
    pub(super) string: Vec<String>,
    /// The syntax's description.
    pub(super) syntax: &'static str,
}

/// A call in the output.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// The range of the core.
    pub(super) at: Range<usize>,
    pub(super) name: String,
    /// The arguments, as far as they are known without types.
    pub(super) arguments: Map<String, Value>,
}

/// All calls of an output in one syntax.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Calls {
    pub(super) core: Core,
    pub(super) found: Vec<Found>,
}

/// The templates of calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) block: Option<String>,
    pub(super) call: String,
    pub(super) between: Option<String>,
    pub(super) param: Option<String>,
    pub(super) string: Vec<String>,
    pub(super) syntax: &'static str,
    /// A call has no marker of its own.
    pub(super) bare: bool,
}

/// The calls of an output in every possible syntax, the most likely first. `tools` are the names of the functions;
/// empty: unknown.
pub(super) fn calls(text: &str, tools: &[String]) -> Vec<Calls> {
    let known = |calls: &Calls| {
        !calls.found.is_empty() && (tools.is_empty() || calls.found.iter().all(|found| tools.contains(&found.name)))
    };
    let all = [
        bodies::objects(text, tools),
        tags::params(text),
        tags::elements(text),
        bodies::literals(text),
        bodies::kwargs(text),
        bodies::json(text, tools),
    ];
    all.into_iter().flatten().filter(known).collect()
}

/// The templates for a syntax and the markers around its calls.
pub(super) fn shape(text: &str, calls: &Calls) -> Shape {
    let core = &calls.core;
    let outer = marks::around(text, &calls.found.iter().map(|found| found.at.clone()).collect::<Vec<_>>());
    let call = format!("{}{}{}", escaped(&outer.open), core.template, escaped(&outer.close));
    let block = outer.block.map(|(open, close)| format!("{}{{calls}}{}", escaped(&open), escaped(&close)));
    let begins = block.as_deref().unwrap_or(&call).trim_start();
    Shape {
        bare: begins.starts_with(['{', '[']) && !begins.starts_with("[{") || begins.starts_with("{name}"),
        between: outer.between,
        param: core.param.clone(),
        string: core.string.clone(),
        syntax: core.syntax,
        block,
        call,
    }
}

/// A literal in a template's notation.
fn escaped(text: &str) -> String {
    // A brace opens a slot; formats with a brace in a marker cannot be guessed.
    text.to_owned()
}
