//! Runs a body in a test as a parser does, over every split of its input.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::{Cx, Eof, Out, Repair, Status, Step};
use crate::diagnostic::DiagnosticKind;
use crate::limits::Limits;

/// A body under test.
pub(crate) trait Machine: Default + Clone + PartialEq + std::fmt::Debug + Serialize + DeserializeOwned {
    type Spec;
    fn advance(&mut self, spec: &Self::Spec, cx: &mut Cx<'_>, input: &str) -> Step;
    /// Described when a call gets its name.
    fn header(&self) -> String;
}

/// The output of a body, in order, one line each, with neighbouring pieces of arguments joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) said: Vec<String>,
    pub(crate) diagnostics: Vec<(DiagnosticKind, usize, String)>,
    /// Number of consumed bytes.
    pub(crate) taken: usize,
}

struct Record<'a> {
    trace: &'a mut Trace,
    base: usize,
}

impl Out for Record<'_> {
    fn args(&mut self, json: &str) {
        assert!(!json.is_empty(), "an empty piece says nothing");
        match self.trace.said.last_mut() {
            Some(last) if last.starts_with("args ") => last.push_str(json),
            _ => self.trace.said.push(format!("args {json}")),
        }
    }

    fn report(&mut self, kind: DiagnosticKind, at: usize, text: &str, _: &str) {
        self.trace.diagnostics.push((kind, self.base + at, text.to_owned()));
    }

    fn repaired(&mut self, repair: Repair<'_>) {
        let at = self.base.checked_add_signed(repair.at).expect("a place in the text");
        self.trace.diagnostics.push((DiagnosticKind::Repaired, at, format!("{} -> {}", repair.text, repair.read)));
    }
}

/// Runs a new machine over `pieces`, the last of which ends in `eof`.
pub(crate) fn drive<M: Machine>(spec: &M::Spec, pieces: &[&str], eof: Eof, limits: &Limits) -> Trace {
    let mut machine = M::default();
    let mut trace = Trace::default();
    let mut held = String::new();
    let last = pieces.len().saturating_sub(1);
    for (i, piece) in pieces.iter().enumerate() {
        held.push_str(piece);
        let eof = if i == last { eof } else { Eof::No };
        loop {
            let base = trace.taken;
            let step = {
                let mut record = Record { trace: &mut trace, base };
                let mut cx = Cx { out: &mut record, schema: None, limits, eof };
                machine.advance(spec, &mut cx, &held)
            };
            trace.taken += step.consumed;
            held.drain(..step.consumed);
            let saved = serde_json::to_value(&machine).expect("a state can be saved");
            let restored: M = serde_json::from_value(saved).expect("a state can be restored");
            assert_eq!(restored, machine);
            machine = restored;
            match step.status {
                Status::More => {
                    assert_eq!(eof, Eof::No, "nothing more comes, but more is asked for");
                    let bound = limits.blank + 64;
                    assert!(held.len() <= bound, "{} bytes held", held.len());
                    break;
                }
                Status::Named => trace.said.push(format!("named {}", machine.header())),
                Status::CallEnd { complete } => trace.said.push(format!("end {complete}")),
                Status::Done { complete } => {
                    trace.said.push(format!("done {complete}"));
                    return trace;
                }
                Status::Broken => {
                    trace.said.push("broken".to_owned());
                    return trace;
                }
            }
        }
    }
    trace
}

/// Runs over `text` whole, in every two pieces and character by character; all outputs must be equal.
pub(crate) fn drive_all_ways<M: Machine>(spec: &M::Spec, text: &str, eof: Eof, limits: &Limits) -> Trace {
    let whole = drive::<M>(spec, &[text], eof, limits);
    for (cut, _) in text.char_indices() {
        let halves = drive::<M>(spec, &[&text[..cut], &text[cut..]], eof, limits);
        assert_same(&halves, &whole, &format!("{text:?} cut at {cut}"));
    }
    let mut chars: Vec<&str> = text.split("").filter(|c| !c.is_empty()).collect();
    // The end may come alone.
    chars.push("");
    assert_same(&drive::<M>(spec, &chars, eof, limits), &whole, &format!("{text:?} char by char"));
    whole
}

/// If no call is open, the raw bytes are given back, so the number of consumed bytes does not matter.
fn assert_same(one: &Trace, other: &Trace, what: &str) {
    assert_eq!((&one.said, &one.diagnostics), (&other.said, &other.diagnostics), "{what}");
    let given_back = match &other.said[..] {
        [.., before, last] => last == "broken" && before.starts_with("end "),
        [last] => last == "broken",
        [] => false,
    };
    if !given_back {
        assert_eq!(one.taken, other.taken, "{what}");
    }
}

/// Splits `text` at these positions, if they are character boundaries.
pub(crate) fn cut_at<'a>(text: &'a str, places: &[usize]) -> Vec<&'a str> {
    let mut places: Vec<usize> =
        places.iter().map(|p| p % (text.len() + 1)).filter(|p| text.is_char_boundary(*p)).collect();
    places.sort_unstable();
    places.push(text.len());
    let mut from = 0;
    places
        .into_iter()
        .map(|to| {
            let piece = &text[from..to];
            from = to;
            piece
        })
        .collect()
}
