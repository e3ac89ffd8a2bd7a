//! A request that arrives after its reply has begun.

use super::Parser;
use crate::error::Error;
use crate::flow::state::{Mode, Place};
use crate::request::Request;

impl Parser {
    /// Replaces the parser's request, for callers that learn it late. Its tools, `tool_choice`, `parallel_tool_calls`,
    /// `include_reasoning` and id settings apply from here on. Its thinking switches do not, because they determined
    /// where the reply begins.
    ///
    /// # Errors
    /// The parser has already decided something that depends on the request: a call has begun, or reasoning was emitted
    /// or held that should not be. The parser is then unchanged.
    pub fn set_request(&mut self, request: &Request) -> Result<(), Error> {
        let request_options = self.request_options.clone().of(request);
        let state = &self.memory.state;
        let undecided = match state.mode {
            Mode::Text => true,
            // The choice determines which headers count.
            Mode::Header(_) | Mode::BeforeName(_) | Mode::Skip(_) => {
                request_options.choice == self.request_options.choice
            }
            Mode::Body(_) | Mode::Closers { .. } | Mode::BlockClosed { .. } => false,
        };
        let late = |what: &str| {
            Err(Error::request(&format!("the request comes too late: {what}"))
                .hint("make the parser with the request, or set it before the first call"))
        };
        let passed_on = self.request_options.mute && (state.place == Place::Raw || state.opener_is_text);
        if !undecided || state.calls_seen > 0 || passed_on {
            return late("a call has begun");
        }
        if request_options.hide_reasoning != self.request_options.hide_reasoning && state.reasoning_said {
            return late("`include_reasoning` is another one, and reasoning has begun");
        }
        self.plan.check_guarantees(request, request_options.mute)?;
        if let Some(machine) = &mut self.machine {
            machine.want_calls(!request_options.mute);
        }
        self.request_options = request_options;
        Ok(())
    }
}
