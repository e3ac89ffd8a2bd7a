use serde::{Deserialize, Serialize};
use crate::body::*;
#[derive(Debug, Clone)]
pub(crate) struct ElementsSpec {}
impl ElementsSpec { pub(crate) fn new(_t: &crate::format::file::Tools, _f: Follow) -> Result<Self, String> { Ok(Self{}) } }
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Elements {}
impl Elements {
  pub(crate) fn step(&mut self, _s: &ElementsSpec, _c: &mut Cx<'_>, _i: &str) -> Step { Step{consumed:0,status:Status::Broken} }
}
