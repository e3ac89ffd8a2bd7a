//! Limits of grammars: a request's schemas are untrusted, and the grammar must not grow beyond the limits.

use crate::error::Error;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::str::FromStr;

/// The maximum size of a grammar, and so of the work to build it. Written as `bytes=4MiB,nodes=200000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Bytes of the texts and schemas in a grammar, and of the written grammar.
    pub bytes: usize,
    /// Nodes of a grammar.
    pub nodes: usize,
}

impl Default for Limit {
    fn default() -> Self {
        Self { bytes: 4 << 20, nodes: 200_000 }
    }
}

impl Limit {
    /// Checks the size of a written grammar.
    ///
    /// # Errors
    /// It exceeds the limit.
    pub fn check(&self, bytes: usize) -> Result<(), Error> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let what = format!("the grammar of this request's tools has {bytes} bytes, which is more than the limit");
        Err(self.exceeded(&what, "bytes"))
    }

    fn exceeded(self, what: &str, which: &str) -> Error {
        let limit =
            if which == "bytes" { format!("bytes={}", Bytes(self.bytes)) } else { format!("nodes={}", self.nodes) };
        Error {
            hint: Some(
                "give the tools smaller schemas, or fewer tools at a time; `--grammar-limit` says the limit".to_owned(),
            ),
            ..Error::grammar(&format!("{what} `{limit}` for grammars"))
        }
    }
}

/// A number of bytes in KiB or MiB if it is a multiple of them.
struct Bytes(usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes > 0 && bytes % (1 << 20) == 0 => write!(f, "{}MiB", bytes >> 20),
            bytes if bytes > 0 && bytes % (1 << 10) == 0 => write!(f, "{}KiB", bytes >> 10),
            bytes => bytes.fmt(f),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes={},nodes={}", Bytes(self.bytes), self.nodes)
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut limit = Self::default();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let (digits, unit) = value.split_at(value.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len());
            let scale = match (key, unit) {
                (_, "") => Some(1),
                ("bytes", "KiB") => Some(1 << 10),
                ("bytes", "MiB") => Some(1 << 20),
                _ => None,
            };
            let number = digits.parse::<usize>().ok().zip(scale).and_then(|(n, scale)| n.checked_mul(scale));
            match (key, number) {
                ("bytes", Some(number)) => limit.bytes = number,
                ("nodes", Some(number)) => limit.nodes = number,
                _ => return Err(format!("`{part}` is no limit of grammars; write it like bytes=4MiB,nodes=200000")),
            }
        }
        Ok(limit)
    }
}

/// The resources used to build a grammar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Nodes, bounded by [`Limit::nodes`].
    pub nodes: usize,
    /// Bytes of texts and schemas, bounded by [`Limit::bytes`].
    pub bytes: usize,
    /// Steps of examining schemas and nodes, bounded by eight times [`Limit::nodes`].
    pub steps: usize,
}

/// Allowed steps of examining schemas, per node of a grammar.
const STEPS: usize = 8;
/// Number of steps between two checks whether the work is still wanted.
const PATIENCE: usize = 1 << 10;

/// The rest of a limit.
pub(super) struct Budget<'a> {
    limit: Limit,
    /// Whether the work may continue.
    wanted: &'a dyn Fn() -> bool,
    nodes: Cell<usize>,
    bytes: Cell<usize>,
    steps: Cell<usize>,
    /// The tool of the current schema.
    tool: RefCell<Option<String>>,
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("limit", &self.limit).field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl<'a> Budget<'a> {
    pub(super) fn new(limit: Limit, wanted: &'a dyn Fn() -> bool) -> Self {
        let [nodes, bytes, steps] = [0; 3].map(Cell::new);
        Self { limit, wanted, nodes, bytes, steps, tool: RefCell::default() }
    }

    /// Sets the current tool; `None`: the form of the answer.
    pub(super) fn is_for(&self, tool: Option<&str>) {
        *self.tool.borrow_mut() = tool.map(str::to_owned);
    }

    /// Charges the weight of nodes.
    pub(super) fn take(&self, weight: Weight) -> Result<(), Error> {
        self.nodes.set(self.nodes.get().saturating_add(weight.nodes));
        self.bytes.set(self.bytes.get().saturating_add(weight.bytes));
        if self.nodes.get() > self.limit.nodes {
            return Err(self.exceeded("nodes"));
        }
        if self.bytes.get() > self.limit.bytes {
            return Err(self.exceeded("bytes"));
        }
        self.step(1)
    }

    /// Charges a number of steps.
    pub(super) fn step(&self, count: usize) -> Result<(), Error> {
        let before = self.steps.get();
        let after = before.saturating_add(count);
        self.steps.set(after);
        if after > self.limit.nodes.saturating_mul(STEPS) {
            return Err(self.exceeded("nodes"));
        }
        if before / PATIENCE != after / PATIENCE && !(self.wanted)() {
            return Err(Error::grammar("nobody waits for this grammar any more"));
        }
        Ok(())
    }

    /// The resources used so far.
    pub(super) fn spent(&self) -> Work {
        Work { nodes: self.nodes.get(), bytes: self.bytes.get(), steps: self.steps.get() }
    }

    fn exceeded(&self, which: &str) -> Error {
        let what = match &*self.tool.borrow() {
            Some(tool) => format!("the schema of the tool `{tool}` makes the grammar larger than the limit"),
            None => "the schema of the answer makes the grammar larger than the limit".to_owned(),
        };
        let field = if self.tool.borrow().is_some() { "tools" } else { "response_format" };
        self.limit.exceeded(&what, which).at(field)
    }
}

/// The cost of something under a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) nodes: usize,
    pub(super) bytes: usize,
}

impl std::ops::AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_they_are_written() {
        assert_eq!(Limit::default().to_string(), "bytes=4MiB,nodes=200000");
        for text in ["bytes=4MiB,nodes=200000", "bytes=3KiB,nodes=1", "bytes=1000,nodes=0"] {
            assert_eq!(text.parse::<Limit>().map(|limit| limit.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("nodes=7".parse(), Ok(Limit { nodes: 7, ..Limit::default() }));
        for odd in ["", "4MiB", "bytes=", "bytes=4GB", "nodes=1MiB", "size=3", "bytes=99999999999999MiB", "nodes=-1"] {
            assert!(odd.parse::<Limit>().is_err(), "{odd}");
        }
    }

    #[test]
    fn a_budget_names_the_tool_and_the_limit() {
        let budget = Budget::new(Limit { bytes: 10, nodes: 2 }, &|| true);
        budget.is_for(Some("tide"));
        assert_eq!(budget.take(Weight { nodes: 2, bytes: 10 }), Ok(()));
        let told = budget.take(Weight { nodes: 1, bytes: 0 }).unwrap_err();
        assert!(told.message.contains("`tide`") && told.message.contains("`nodes=2`"), "{told}");
        budget.is_for(None);
        let told =
            Budget::new(Limit { bytes: 10, nodes: 2 }, &|| true).take(Weight { nodes: 0, bytes: 11 }).unwrap_err();
        assert!(told.message.contains("answer") && told.message.contains("`bytes=10`"), "{told}");
        assert_eq!(told.place.as_deref(), Some("response_format"));
    }

    #[test]
    fn work_that_nobody_waits_for_ends() {
        let budget = Budget::new(Limit::default(), &|| false);
        let steps = (0..).find(|_| budget.step(1).is_err());
        assert_eq!(steps, Some(PATIENCE - 1));
    }
}
