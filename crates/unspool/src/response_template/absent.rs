//! The types of a build without the feature `response-template`: no template can be read, so that no machine ever exists.

mod io;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::explanation::Explanation;
use crate::limits::Limits;

pub(crate) use io::{Call, Halves, MachineCx, MachineOut, Phase};

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
