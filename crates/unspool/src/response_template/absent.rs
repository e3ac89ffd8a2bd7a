//! The types of a build without the feature `response-template`: no template can be read, so that no machine ever exists.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::body::Eof;
use crate::diagnostic::DiagnosticKind;
use crate::explanation::Explanation;
use crate::limits::Limits;
use crate::schema::ToolSet;

pub(crate) struct Call<'a> {
    pub(crate) name: &'a str,
    pub(crate) id: Option<&'a str>,
    pub(crate) arguments: &'a str,
    pub(crate) complete: bool,
    pub(crate) region: Range<usize>,
}

pub(crate) trait MachineOut {
    fn reasoning(&mut self, text: &str, at: Range<usize>);
    fn content(&mut self, text: &str, at: Range<usize>);
    fn call(&mut self, call: Call<'_>);
    fn answering(&mut self, at: usize);
    fn report(&mut self, kind: DiagnosticKind, at: usize, text: &str, message: &str);
}

pub(crate) struct MachineCx<'a> {
    pub(crate) out: &'a mut dyn MachineOut,
    pub(crate) tools: &'a ToolSet,
    pub(crate) limits: &'a Limits,
    pub(crate) eof: Eof,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Waiting,
    Thinking,
    Answering,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Halves {
    pub(crate) reasoning: bool,
    pub(crate) tools: bool,
}

/// No value of this type exists, so none can be read from a snapshot either.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum MachineState {}

/// No value of this type exists.
#[derive(Debug, Clone)]
pub(crate) enum TemplateSpec {}

/// No value of this type exists.
#[derive(Debug, Clone)]
pub(crate) enum Machine {}

impl TemplateSpec {
    pub(crate) fn parse(_: &Value) -> Result<Self, Explanation> {
        let message = "this build of unspool reads no `response_template`";
        Err(Explanation::new(message, "build the crate `unspool` with its feature `response-template`"))
    }

    pub(crate) fn thinks(&self) -> bool {
        match *self {}
    }

    pub(crate) fn serves(&self, _: Halves) -> Result<(), Explanation> {
        match *self {}
    }

    pub(crate) fn thought_markers(&self) -> Option<(String, String)> {
        match *self {}
    }
}

impl Machine {
    #[allow(clippy::needless_pass_by_value, reason = "the signature of the machine that exists")]
    pub(crate) fn new(spec: Arc<TemplateSpec>, _: Halves) -> Self {
        match *spec {}
    }

    pub(crate) fn state(&self) -> &MachineState {
        match *self {}
    }

    pub(crate) fn fits(&self, _: &MachineState, _: &str) -> bool {
        match *self {}
    }

    pub(crate) fn restore(&mut self, _: MachineState) {
        match *self {}
    }

    pub(crate) fn phase(&self) -> Phase {
        match *self {}
    }

    pub(crate) fn want_calls(&mut self, _: bool) {
        match *self {}
    }

    pub(crate) fn begin(&mut self, _: Phase) {
        match *self {}
    }

    pub(crate) fn prompt(&mut self, _: &str, _: &Limits) {
        match *self {}
    }

    pub(crate) fn step(&mut self, _: &str, _: &mut MachineCx<'_>) -> usize {
        match *self {}
    }
}
