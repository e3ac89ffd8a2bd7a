//! Runs a body over every split of a text.

use serde::{Serialize, de::DeserializeOwned};

use super::{Cx, Eof, Follow, Out, Repair, Status, Step};
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::format::template::{Part, Slot, Template};
use crate::limits::Limits;
use crate::scan::{Cut, Literal, cuts};
use crate::schema::FunctionSchema;

/// A body's output for a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) args: String,
    pub(super) status: Option<Status>,
    /// The unconsumed rest.
    pub(super) rest: String,
    /// Kind and text of each diagnostic.
    pub(super) diagnostics: Vec<(DiagnosticKind, String)>,
    /// The position of each in the text.
    pub(super) places: Vec<usize>,
    /// Start of the step's input.
    shown: usize,
}

impl Out for Run {
    fn args(&mut self, json: &str) {
        assert!(!json.is_empty());
        self.args.push_str(json);
    }

    fn report(&mut self, kind: DiagnosticKind, at: usize, text: &str, message: &str) {
        self.places.push(self.shown + at);
        self.diagnostics.push((kind, Diagnostic::new(kind, 0, text, message).text));
    }

    fn repaired(&mut self, repair: Repair<'_>) {
        self.places.push(self.shown.checked_add_signed(repair.at).expect("a place in the text"));
        self.diagnostics.push((DiagnosticKind::Repaired, format!("{} -> {}", repair.text, repair.read)));
    }
}

/// Follow sets as from a format's templates.
pub(super) struct Follows;

impl Follows {
    pub(super) fn of(block: &str, call: &str, loose: bool) -> Follow {
        let literals = |text: &str| -> Vec<Literal> {
            let cuts = cuts(text).into_iter();
            cuts.filter_map(|c| if let Cut::Literal(l) = c { Some(Literal::new(l, loose)) } else { None }).collect()
        };
        let around = |source: &str, is_slot: &dyn Fn(Slot) -> bool| -> (Vec<Literal>, Vec<Literal>) {
            let template = Template::parse(source).unwrap();
            let at = template.position(is_slot).unwrap_or(0);
            let text = |part: Option<&Part>| match part {
                Some(Part::Text(text)) => literals(text),
                _ => Vec::new(),
            };
            (text(template.parts.first()).into_iter().take(1).collect(), text(template.parts.get(at + 1)))
        };
        let (mut call_open, call_close) = around(call, &Slot::is_body);
        let (block_open, block_close) = around(block, &|s| s == Slot::Calls);
        call_open.extend(block_open);
        Follow { call_close, block_close: block_close.into_iter().take(1).collect(), call_open }
    }
}

/// A text for a body, and its context.
pub(super) struct Feed<'a> {
    pub(super) text: &'a str,
    /// How the output ends.
    pub(super) eof: Eof,
    pub(super) schema: Option<&'a FunctionSchema>,
    pub(super) limits: &'a Limits,
}

impl Feed<'_> {
    /// Feeds the text, split at `cuts`, to a body as the flow does: the body sees the rest of a step again, followed by
    /// more. Saves and restores the state after every step.
    pub(super) fn drive<B: Default + Serialize + DeserializeOwned>(
        &self,
        cuts: &[usize],
        mut step: impl FnMut(&mut B, &mut Cx<'_>, &str) -> Step,
    ) -> Run {
        let mut run = Run::default();
        let mut body = B::default();
        let (mut from, mut shown) = (0, 0);
        let Self { text, schema, limits, .. } = *self;
        for (i, end) in cuts.iter().copied().chain([text.len(), text.len()]).enumerate() {
            shown = end.max(shown);
            let eof = if i > cuts.len() { self.eof } else { Eof::No };
            let input = &text[from..shown];
            run.shown = from;
            let Step { consumed, status } = step(&mut body, &mut Cx { out: &mut run, schema, limits, eof }, input);
            assert!(input.is_char_boundary(consumed), "consumed {consumed} of {input:?}");
            from += consumed;
            body = serde_json::from_str(&serde_json::to_string(&body).unwrap()).unwrap();
            if status != Status::More {
                run.status = Some(status);
                break;
            }
            assert_eq!(eof, Eof::No, "more bytes wanted at the end of {text:?}");
        }
        run.shown = 0;
        run.rest = text[from..].to_owned();
        run
    }
}

/// Runs a text whole, split in two at every position, and split everywhere; all results must be equal.
pub(super) fn check_cuts(text: &str, mut run: impl FnMut(&[usize]) -> Run) -> Run {
    let places: Vec<usize> = text.char_indices().map(|(i, _)| i).collect();
    let whole = run(&[]);
    for at in &places {
        assert_eq!(run(&[*at]), whole, "cut at {at} of {text:?}");
    }
    assert_eq!(run(&places), whole, "cut everywhere: {text:?}");
    whole
}
