//! The flow: which field a byte belongs to, and which machine reads it.
//!
//! [`tables`] compiles a composed pair into one set of patterns for each [`state::Place`]; [`text`] runs them;
//! [`calls`] opens, reads and closes calls; [`emit`] emits the result.

mod actions;
mod calls;
pub(crate) mod channels;
pub(crate) mod chars;
mod closers;
mod edges;
mod emit;
pub(crate) mod explain;
mod finder;
mod gaps;
mod header_table;
mod headers;
pub(crate) mod ids;
pub(crate) mod numbered;
pub(crate) mod pass;
mod read_header;
mod roles;
mod saved;
pub(crate) mod scanset;
pub(crate) mod state;
pub(crate) mod tables;
mod text;
pub(crate) mod tokens;

use crate::body::Eof;
use crate::event::Sink;
use crate::limits::Limits;
use crate::request::{CallIds, IncompleteCalls, Request, ToolChoice};
use crate::schema::ToolSet;

use state::{Mode, State};
use tables::Tables;
use tokens::Tokens;

/// The request's settings for the flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestOptions {
    pub(crate) tools: std::sync::Arc<ToolSet>,
    /// The caller asked for the pair's tools half.
    pub(crate) gives_calls: bool,
    /// No calls go out: `tool_choice: none`, no tools, or no tools half.
    pub(crate) mute: bool,
    pub(crate) choice: ToolChoice,
    pub(crate) only_first: bool,
    pub(crate) hide_reasoning: bool,
    pub(crate) incomplete: IncompleteCalls,
    pub(crate) ids: CallIds,
    pub(crate) calls_before: usize,
    pub(crate) seed: u64,
}

impl RequestOptions {
    /// The settings for this request and the same pair.
    pub(crate) fn of(self, request: &Request) -> Self {
        Self {
            tools: std::sync::Arc::clone(&request.tools),
            mute: !self.gives_calls || !request.wants_calls(),
            choice: request.tool_choice.clone(),
            only_first: request.parallel_tool_calls == Some(false),
            hide_reasoning: request.include_reasoning == Some(false),
            calls_before: request.calls_before,
            seed: request.id_seed.unwrap_or(self.seed),
            ..self
        }
    }

    /// Whether the request lacks the called function. False if its tools are unknown.
    pub(crate) fn misses(&self, function: Option<usize>) -> bool {
        function.is_none() && !self.tools.is_empty()
    }

    /// Whether the request's `tool_choice` requires calls.
    #[inline]
    pub(crate) fn asks(&self) -> bool {
        matches!(self.choice, ToolChoice::Required | ToolChoice::Named(_))
    }

    /// Describes the unusable parts of a function's schema.
    pub(crate) fn bad_schema(&self, function: Option<usize>) -> Option<String> {
        let fault = self.tools.at(function?)?.fault()?;
        Some(format!("the function's schema cannot be used as a whole: {fault}"))
    }
}

/// Whether a step should be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    /// Call again: the state changed, or bytes remain.
    Again,
    /// These bytes decide nothing more.
    Wait,
}

/// One run over a window of bytes.
pub(crate) struct Flow<'a> {
    pub(crate) tables: &'a Tables,
    pub(crate) limits: &'a Limits,
    pub(crate) request_options: &'a RequestOptions,
    pub(crate) s: &'a mut State,
    pub(crate) tokens: &'a mut Tokens,
    pub(crate) sink: &'a mut dyn Sink,
    /// The undecided bytes.
    pub(crate) w: &'a str,
    /// Decided bytes of `w`.
    pub(crate) pos: usize,
    /// Offset of `w` in the output.
    pub(crate) base: u64,
    pub(crate) eof: Eof,
    /// Offset of the next emitted text in the output, for the format's filters.
    pub(crate) text_at: u64,
}

impl Flow<'_> {
    /// Decides what can be decided; the rest begins at `pos`.
    pub(crate) fn run(&mut self) {
        loop {
            let go = match &self.s.mode {
                Mode::Text => self.text(),
                Mode::Header(_) => self.read_header(),
                Mode::BeforeName(_) => self.held_arguments(),
                Mode::Body(_) => self.body(),
                Mode::Closers { .. } => self.closers(),
                Mode::BlockClosed { .. } => self.block_closed(),
                Mode::Skip(_) => self.skip(),
            };
            if go == Go::Wait {
                break;
            }
        }
        if self.eof != Eof::No {
            self.end();
        }
    }

    /// Offset in the output of a position in the window.
    #[inline]
    pub(crate) fn offset(&self, at: usize) -> u64 {
        self.base + at as u64
    }

    pub(crate) fn over(&self) -> bool {
        self.eof != Eof::No
    }
}
