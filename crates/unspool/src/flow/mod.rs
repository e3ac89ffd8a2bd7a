//! The flow: which field a byte belongs to, and who reads it.
//!
//! [`tables`] compiles a composed pair into one set of patterns for each [`state::Place`]; [`text`] runs them; [`calls`]
//! opens, reads and closes calls; [`emit`] gives the result out.

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

/// What of the request the flow asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestOptions {
    pub(crate) tools: std::sync::Arc<ToolSet>,
    /// The pair has a tools half that was asked for.
    pub(crate) gives_calls: bool,
    /// No call is given: `tool_choice: none`, no tools, or no tools half.
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
    /// What this request asks of the same pair.
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

    /// Whether the request lacks the function that is called. Nothing is said where its tools are not known.
    pub(crate) fn misses(&self, function: Option<usize>) -> bool {
        function.is_none() && !self.tools.is_empty()
    }

    /// Whether the request asks for calls by its `tool_choice`.
    #[inline]
    pub(crate) fn asks(&self) -> bool {
        matches!(self.choice, ToolChoice::Required | ToolChoice::Named(_))
    }

    /// What of a function's schema cannot be used, in words.
    pub(crate) fn bad_schema(&self, function: Option<usize>) -> Option<String> {
        let fault = self.tools.at(function?)?.fault()?;
        Some(format!("the function's schema cannot be used as a whole: {fault}"))
    }
}

/// Whether a step wants to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    /// Call again: the state changed, or bytes are left.
    Again,
    /// Nothing more can be decided from these bytes.
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
    /// The bytes that are not decided yet.
    pub(crate) w: &'a str,
    /// Decided so far, in `w`.
    pub(crate) pos: usize,
    /// Offset of `w` in the output.
    pub(crate) base: u64,
    pub(crate) eof: Eof,
    /// Offset in the output of the text that goes out next, for the format's filters.
    pub(crate) text_at: u64,
}

impl Flow<'_> {
    /// Decides what can be decided; what is left begins at `pos`.
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

    /// Offset in the output of a place in the window.
    #[inline]
    pub(crate) fn offset(&self, at: usize) -> u64 {
        self.base + at as u64
    }

    pub(crate) fn over(&self) -> bool {
        self.eof != Eof::No
    }
}
