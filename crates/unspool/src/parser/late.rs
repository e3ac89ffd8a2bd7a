//! A request that comes when its reply has begun.

use super::Parser;
use crate::error::Error;
use crate::flow::state::{Mode, Place};
use crate::request::Request;

impl Parser {
    /// Takes a request in the place of the one that the parser was made with, for callers that hear of it late. Its tools, its
    /// choice, `parallel_tool_calls`, `include_reasoning` and what it says of ids count from here on. Its thinking switches do
    /// not: they have said where the reply begins.
    ///
    /// # Errors
    /// Something was decided already that depends on it: a call has begun, or reasoning was given or kept that it would not.
    /// The parser is then as it was.
    pub fn set_request(&mut self, request: &Request) -> Result<(), Error> {
        let request_options = self.request_options.clone().of(request);
        let state = &self.memory.state;
        let undecided = match state.mode {
            Mode::Text => true,
            // Which openings count depends on the choice.
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
