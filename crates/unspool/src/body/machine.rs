//! One type for all argument syntaxes, so that the flow does not depend on them.

use serde::{Deserialize, Serialize};

use crate::explanation::Explanation;
use crate::format::file::Tools;
use crate::format::template::Slot;
use crate::json::scan::{JsonScan, plain};

use super::elements::{Elements, ElementsSpec};
use super::envelope::{Envelope, EnvelopeSpec};
use super::json::{JsonBody, JsonSpec};
use super::kwargs::{Kwargs, KwargsSpec};
use super::literals::{Literals, LiteralsSpec};
use super::params::{Params, ParamsSpec};
use super::{Cx, Follow, Status, Step};

/// An argument syntax with the settings of its format.
#[derive(Debug, Clone)]
pub(crate) enum BodySpec {
    Envelope(EnvelopeSpec),
    Json(JsonSpec),
    Params(ParamsSpec),
    Elements(ElementsSpec),
    Kwargs(KwargsSpec),
    Literals(LiteralsSpec),
}

/// A body in progress.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum BodyMachine {
    Envelope(Envelope),
    Json(JsonBody),
    Params(Params),
    Elements(Elements),
    Kwargs(Kwargs),
    Literals(Literals),
}

impl BodySpec {
    /// The syntax of a body slot.
    ///
    /// # Errors
    /// Contradictory settings.
    pub(crate) fn new(slot: Slot, tools: &Tools, follow: Follow) -> Result<Self, Explanation> {
        Ok(match slot {
            Slot::Envelope => Self::Envelope(EnvelopeSpec::new(&tools.envelope, &follow)?),
            Slot::Json => Self::Json(JsonSpec::new(&follow)),
            Slot::Params => Self::Params(ParamsSpec::new(tools, follow)?),
            Slot::Elements => Self::Elements(ElementsSpec::new(tools, follow)?),
            Slot::Kwargs => Self::Kwargs(KwargsSpec::new(tools, follow)?),
            Slot::Literals => Self::Literals(LiteralsSpec::new(tools, follow)?),
            other => return Err(format!("{{{}}} is no argument syntax", other.name()).into()),
        })
    }

    /// The syntax's name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Envelope(_) => Slot::Envelope.name(),
            Self::Json(_) => Slot::Json.name(),
            Self::Params(_) => Slot::Params.name(),
            Self::Elements(_) => Slot::Elements.name(),
            Self::Kwargs(_) => Slot::Kwargs.name(),
            Self::Literals(_) => Slot::Literals.name(),
        }
    }

    /// A machine at the start of a body.
    pub(crate) fn machine(&self) -> BodyMachine {
        match self {
            Self::Envelope(_) => BodyMachine::Envelope(Envelope::default()),
            Self::Json(_) => BodyMachine::Json(JsonBody::default()),
            Self::Params(_) => BodyMachine::Params(Params::default()),
            Self::Elements(_) => BodyMachine::Elements(Elements::default()),
            Self::Kwargs(_) => BodyMachine::Kwargs(Kwargs::default()),
            Self::Literals(_) => BodyMachine::Literals(Literals::default()),
        }
    }
}

impl BodyMachine {
    /// Continues. If machine and spec have different syntaxes, as in a foreign snapshot, the body is broken.
    pub(crate) fn step(&mut self, spec: &BodySpec, cx: &mut Cx<'_>, input: &str) -> Step {
        match (self, spec) {
            (Self::Envelope(m), BodySpec::Envelope(s)) => m.step(s, cx, input),
            (Self::Json(m), BodySpec::Json(s)) => m.step(s, cx, input),
            (Self::Params(m), BodySpec::Params(s)) => m.step(s, cx, input),
            (Self::Elements(m), BodySpec::Elements(s)) => m.step(s, cx, input),
            (Self::Kwargs(m), BodySpec::Kwargs(s)) => m.step(s, cx, input),
            (Self::Literals(m), BodySpec::Literals(s)) => m.step(s, cx, input),
            _ => Step { consumed: 0, status: Status::Broken },
        }
    }

    /// Whether a delta passes through unchanged: it is JSON within a value, or data inside a string without anything
    /// that JSON escapes. If so, the machine has consumed it. `depth`: maximum nesting.
    #[inline]
    pub(crate) fn passes(&mut self, spec: &BodySpec, text: &str, depth: usize) -> bool {
        match (self, spec) {
            (Self::Envelope(m), _) => m.passes(text, depth),
            (Self::Json(m), _) => m.passes(text, depth),
            _ if plain(text.as_bytes()) < text.len() => false,
            (Self::Params(m), BodySpec::Params(s)) => m.passes(s, text),
            (Self::Kwargs(m), _) => m.passes(text),
            (Self::Literals(m), BodySpec::Literals(s)) => m.passes(s, text),
            _ => false,
        }
    }

    /// Whether the body contains the call's name.
    pub(crate) fn names_itself(&self) -> bool {
        matches!(self, Self::Envelope(_))
    }

    /// The name in the body.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Envelope(m) => m.name(),
            _ => "",
        }
    }

    /// The text after the body's last call, while that is not a further one.
    pub(crate) fn unread(&self) -> String {
        match self {
            Self::Envelope(m) => m.unread(),
            _ => String::new(),
        }
    }

    /// The id in the body.
    pub(crate) fn id(&self) -> Option<&str> {
        match self {
            Self::Envelope(m) => m.id(),
            _ => None,
        }
    }

    /// The scan of a JSON value that is not a call, if it is still JSON and not complete.
    pub(crate) fn scan(&self) -> Option<JsonScan> {
        match self {
            Self::Envelope(m) => m.scan().filter(|scan| !scan.is_over()).cloned(),
            _ => None,
        }
    }
}
