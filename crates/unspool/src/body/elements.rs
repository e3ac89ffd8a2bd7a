use crate::body::*;
use serde::{Deserialize, Serialize};
#[derive(Debug, Clone)]
pub(crate) struct ElementsSpec {}
impl ElementsSpec {
    pub(crate) fn new(_t: &crate::format::file::Tools, _f: Follow) -> Result<Self, String> {
        Ok(Self {})
    }
}
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Elements {}
impl Elements {
    pub(crate) fn step(&mut self, _s: &ElementsSpec, _c: &mut Cx<'_>, _i: &str) -> Step {
        Step { consumed: 0, status: Status::Broken }
    }
    pub(crate) fn name(&self) -> &str {
        ""
    }
    pub(crate) fn id(&self) -> Option<&str> {
        None
    }
    pub(crate) fn into_scan(self) -> Option<crate::json::scan::JsonScan> {
        None
    }
}
