//! The state of a reply: everything that a snapshot saves.

use serde::{Deserialize, Serialize};

use crate::body::BodyMachine;
use crate::call_header::Cursor;
use crate::json::scan::JsonScan;
use crate::span::Span;

use super::numbered::{AlternativeId, FormId, TrailId};

/// A text state: which patterns count, and the field of the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub(crate) enum Place {
    /// In a header: text is held until an opener drops it.
    #[default]
    Header,
    /// Nothing yet; a thought may still come.
    Wait,
    /// In a thought that has no text yet.
    ReasonFresh,
    /// In a thought.
    Reason,
    /// In the answer.
    Content,
    /// In the answer after the only thought: thinking markers are text.
    After,
    /// After a call.
    Gap,
    /// After a call; thinking markers are text.
    GapAfter,
    /// Inside a block that has a call.
    Block,
    /// Inside a call whose body broke.
    Broken,
    /// Inside a call that the request does not want: its raw text is content.
    Raw,
    /// In a message that the format leaves out.
    Dropped,
}

impl Place {
    pub(crate) const ALL: [Self; 12] = [
        Self::Header,
        Self::Wait,
        Self::ReasonFresh,
        Self::Reason,
        Self::Content,
        Self::After,
        Self::Gap,
        Self::GapAfter,
        Self::Block,
        Self::Broken,
        Self::Raw,
        Self::Dropped,
    ];

    /// Whether a piece of text here loses the white space at its edges, if the format's pieces do.
    pub(crate) fn has_edges(self) -> bool {
        !matches!(self, Self::Header | Self::Broken | Self::Raw | Self::Dropped)
    }

    /// Whether text here is reasoning.
    pub(crate) fn thinks(self) -> bool {
        matches!(self, Self::Reason | Self::ReasonFresh)
    }
}

/// Which closers may still come late after a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub(crate) enum Late {
    /// None: its block is closed, or text has come.
    #[default]
    Nothing,
    /// A block's.
    Block,
    /// The call's, and a block's.
    Call,
}

/// The machine that reads the bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Mode {
    /// The patterns of the place.
    Text,
    /// A header whose name is not known yet. Its bytes are held in the window.
    Header(PendingHeader),
    /// An envelope whose name is not known yet. Its bytes are held in the window.
    BeforeName(Box<BeforeName>),
    /// A call's body.
    Body(Box<Call>),
    /// A call's closers.
    Closers { form: FormId, next: usize },
    /// After a block's closer, which may repeat.
    BlockClosed { closer: usize },
    /// A JSON value that is not a call, up to its end.
    Skip(JsonScan),
}

/// The origin of a header, for the retreat.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) place: Place,
    pub(crate) fresh: bool,
    /// White space and framing before the opener.
    pub(crate) lead: usize,
    /// End of the opener's first literal, from the start of the held bytes.
    pub(crate) first: usize,
}

/// Alternatives that are still possible.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PendingHeader {
    pub(crate) origin: Origin,
    pub(crate) cursors: Vec<(AlternativeId, Cursor)>,
    /// Complete headers before those of the cursors: calls without arguments, if a call follows.
    pub(crate) before: Vec<(AlternativeId, Cursor)>,
    /// The furthest match of the alternatives that have failed.
    pub(crate) last: usize,
    /// The header may open the next message rather than a call.
    pub(crate) message: bool,
}

/// An envelope before its name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BeforeName {
    pub(crate) origin: Origin,
    pub(crate) alternative: AlternativeId,
    /// Number of held bytes that it has read.
    pub(crate) read: usize,
    pub(crate) machine: BodyMachine,
    /// Repeated markers before it: ranges of the held bytes.
    pub(crate) repeats: Vec<(usize, usize)>,
    /// Alternatives that read the same bytes if it is not a call.
    pub(crate) next: Vec<AlternativeId>,
}

/// The memory of openings that came to nothing, for the next one: code and lists are full of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spare {
    /// Empty.
    pub(crate) cursors: Vec<(AlternativeId, Cursor)>,
    before_name: Option<Box<BeforeName>>,
}

impl Spare {
    pub(crate) fn boxed(&mut self, new: BeforeName) -> Box<BeforeName> {
        match self.before_name.take() {
            Some(mut spare) => {
                *spare = new;
                spare
            }
            None => Box::new(new),
        }
    }

    pub(crate) fn keep_cursors(&mut self, mut cursors: Vec<(AlternativeId, Cursor)>) {
        cursors.clear();
        self.cursors = cursors;
    }

    pub(crate) fn keep(&mut self, before_name: Box<BeforeName>) {
        self.before_name = Some(before_name);
    }
}

/// A call whose body is being read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) form: FormId,
    pub(crate) in_block: bool,
    pub(crate) machine: BodyMachine,
    /// The open call; none between two calls of a list.
    pub(crate) open: Option<OpenCall>,
    /// Offset where the call's own text begins.
    pub(crate) start: u64,
    /// Offset of the entire call: for a further call of a list, the end of the previous one.
    pub(crate) from: u64,
    /// Raw text of the call while its events wait.
    pub(crate) raw: Option<String>,
    /// White space before the call, which is text if the call is, and whether no text precedes it.
    pub(crate) lead: Option<(String, bool)>,
}

/// A call that was announced.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct OpenCall {
    /// Its index for the client; `None`: filtered.
    pub(crate) index: Option<usize>,
    pub(crate) name: String,
    /// Its function among the request's tools.
    pub(crate) function: Option<usize>,
    pub(crate) id: String,
    /// Number of bytes of arguments written.
    pub(crate) written: usize,
    /// The arguments have reached the limit; the rest is dropped.
    pub(crate) full: bool,
    /// Arguments that wait for the call's end (`incomplete_calls`).
    pub(crate) waiting: Option<String>,
    /// Offset up to which the output was read for the written arguments.
    pub(crate) read: u64,
    /// Offset where its arguments may begin.
    pub(crate) body: u64,
}

/// The state between two deltas.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) place: Place,
    pub(crate) mode: Mode,
    /// At the start of a run of text: white space is held.
    pub(crate) fresh: bool,
    /// The last marker, if no text has come since: its index among those that count once.
    pub(crate) marker: Option<usize>,
    /// Text to strip if it comes next: trail and position in it.
    pub(crate) strip: Option<(TrailId, usize)>,
    /// Nothing has come yet, and a thought may begin without its opener.
    pub(crate) bare_thought: bool,
    /// The run of text follows a call or a thought, and does not begin the output.
    pub(crate) behind: bool,
    /// White space before dropped markers, at the start of a run of text.
    pub(crate) pending: String,
    /// Its range.
    pub(crate) pending_at: Span,
    /// The emitted text ends in white space that is too long to be an edge.
    pub(crate) long_run: bool,
    /// Bytes of the window known to be white space (or header).
    pub(crate) seen: usize,
    pub(crate) thought_done: bool,
    pub(crate) content_said: bool,
    pub(crate) reasoning_said: bool,
    /// White space that is content only if more content comes.
    pub(crate) content_gap: String,
    /// White space that is reasoning only if more reasoning comes.
    pub(crate) reasoning_gap: String,
    /// The edges of the two gaps.
    pub(crate) content_gap_at: Span,
    pub(crate) reasoning_gap_at: Span,
    /// A thought whose field is undecided.
    pub(crate) undecided: Option<String>,
    /// Its range.
    pub(crate) undecided_at: Span,
    /// The opener must still be prepended (`into = content`).
    pub(crate) opener_due: bool,
    /// Number of calls announced to the client.
    pub(crate) calls: usize,
    /// Number of calls seen, including filtered ones.
    pub(crate) calls_seen: usize,
    /// Text of a broken call, for its diagnostic.
    pub(crate) unplaced: String,
    pub(crate) unplaced_at: u64,
    /// It has reached the limit; the rest is dropped.
    pub(crate) unplaced_full: bool,
    /// In a block after its first call.
    pub(crate) in_block: bool,
    /// Which closers belong to the previous call.
    pub(crate) late: Late,
    /// A header of this form went back to text; its closer is text too, once, whatever else it is.
    pub(crate) closer_is_text: Option<FormId>,
    /// An opener of a call or block was text, and no call has come since: special tokens that close it are text too.
    pub(crate) opener_is_text: bool,
    /// Channels: up to this offset of the output no started header ends.
    pub(crate) no_header: u64,
    /// Channels: the route of the open body.
    pub(crate) route: Option<crate::flow::channels::Open>,
    /// No part of what a snapshot says.
    #[serde(skip)]
    pub(crate) spare: Spare,
}

impl State {
    /// The place of the current text, if only text and the patterns of the place can come.
    #[inline]
    pub(crate) fn runs_on(&self) -> Option<Place> {
        let runs = matches!(self.place, Place::Reason | Place::Content | Place::After) && !self.fresh;
        (runs && matches!(self.mode, Mode::Text) && self.strip.is_none()).then_some(self.place)
    }

    /// A reply at its start.
    pub(crate) fn new(place: Place) -> Self {
        Self {
            place,
            mode: Mode::Text,
            fresh: true,
            marker: None,
            strip: None,
            bare_thought: false,
            behind: false,
            pending: String::new(),
            pending_at: Span::default(),
            long_run: false,
            seen: 0,
            thought_done: false,
            content_said: false,
            reasoning_said: false,
            content_gap: String::new(),
            reasoning_gap: String::new(),
            content_gap_at: Span::default(),
            reasoning_gap_at: Span::default(),
            undecided: None,
            undecided_at: Span::default(),
            opener_due: false,
            calls: 0,
            calls_seen: 0,
            unplaced: String::new(),
            unplaced_at: 0,
            unplaced_full: false,
            in_block: false,
            late: Late::Nothing,
            closer_is_text: None,
            opener_is_text: false,
            no_header: 0,
            route: None,
            spare: Spare::default(),
        }
    }
}
