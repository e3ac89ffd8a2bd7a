//! The patterns of each place, in order of rank.

use crate::format::marker::is_word;

use super::numbered::CallHeaderId;
use super::scanset::Action;
use super::state::Place;
use super::tables::Role;

pub(super) fn with_action(roles: &[Role], action: Action) -> Vec<(Role, Action)> {
    roles.iter().map(|role| (role.clone(), action)).collect()
}

pub(super) fn open(roles: &[(Role, CallHeaderId)]) -> Vec<(Role, Action)> {
    roles.iter().map(|(role, call_header)| (role.clone(), Action::Open(*call_header))).collect()
}

/// All patterns of a pair, by kind.
pub(super) struct Roles {
    pub(super) opens: Vec<(Role, Action)>,
    pub(super) closes: Vec<(Role, Action)>,
    pub(super) ended: Vec<(Role, Action)>,
    pub(super) outside: Vec<(Role, Action)>,
    pub(super) inside: Vec<(Role, Action)>,
    pub(super) gap: Vec<(Role, Action)>,
    pub(super) framed: Vec<(Role, Action)>,
    pub(super) headers: Vec<(Role, Action)>,
    pub(super) drops: Vec<(Role, Action)>,
    pub(super) close_blocks: Vec<(Role, Action)>,
    pub(super) close_calls: Vec<(Role, Action)>,
}

impl Roles {
    fn rest(&self) -> Vec<(Role, Action)> {
        [&self.headers[..], &self.drops].concat()
    }

    fn closers(&self) -> Vec<(Role, Action)> {
        [&self.close_blocks[..], &self.close_calls].concat()
    }

    /// The patterns of a place, in order of rank.
    pub(super) fn at(&self, place: Place, one_block: bool) -> Vec<(Role, Action)> {
        let thinking = [&self.opens[..], &self.closes].concat();
        let rest = self.rest();
        // After a call its closers count even without openers; a list's bare bracket only while the list is open.
        let marked: Vec<_> = self.closers().into_iter().filter(|(r, _)| is_word(&r.marker.literal)).collect();
        let after_call = [&self.gap[..], &marked].concat();
        let reason = [&self.closes[..], &self.ended, &self.drops].concat();
        match place {
            Place::Header | Place::Wait | Place::Content => {
                [&thinking, &self.outside, &self.framed, &rest[..]].concat()
            }
            Place::Reason if one_block => reason,
            Place::ReasonFresh | Place::Reason => [&self.opens[..], &reason].concat(),
            Place::After => [&self.outside[..], &self.framed, &rest].concat(),
            Place::Gap => [&thinking[..], &self.outside, &after_call, &self.framed, &rest].concat(),
            Place::GapAfter => [&self.outside[..], &after_call, &self.framed, &rest].concat(),
            Place::Block => {
                let calls =
                    [&self.close_blocks[..], &self.inside, &self.outside, &thinking, &self.close_calls].concat();
                [&calls[..], &self.framed, &rest].concat()
            }
            Place::Broken => {
                [&self.closers()[..], &self.inside, &self.outside, &thinking, &self.framed, &rest].concat()
            }
            Place::Raw => [&self.closers()[..], &thinking, &rest].concat(),
            Place::Dropped => rest,
        }
    }
}

/// Patterns of a format of messages.
pub(super) struct Messages {
    pub(super) body: Vec<(Role, Action)>,
    pub(super) end: Vec<(Role, Action)>,
    pub(super) next: Vec<(Role, Action)>,
    pub(super) unframed: bool,
}

impl Messages {
    /// The tokens that begin a message.
    pub(super) fn starts(&self) -> impl Iterator<Item = u32> {
        self.next.iter().filter(|(_, action)| *action == Action::NextMessage).filter_map(|(role, _)| role.id)
    }

    /// The marker that begins every message.
    fn start(&self) -> Vec<(Role, Action)> {
        self.next.iter().take(1).cloned().collect()
    }

    pub(super) fn at(&self, place: Place, roles: &Roles) -> Vec<(Role, Action)> {
        let calls = if self.unframed { &roles.outside[..] } else { &[] };
        let inside = [&roles.inside[..], &roles.closers()].concat();
        let rest = roles.rest();
        match place {
            Place::Header => [&self.body, &self.end, &self.start(), calls, &rest].concat(),
            Place::Reason | Place::ReasonFresh => [&self.end[..], &self.next, &rest].concat(),
            Place::Block | Place::Broken | Place::Gap | Place::GapAfter => {
                [&self.end[..], &self.next, &inside, calls, &rest].concat()
            }
            Place::Raw => [&self.end[..], &self.next, &rest].concat(),
            // The body of a message to the user: calls in it are text.
            Place::After | Place::Dropped => [&self.end[..], &self.next, &rest].concat(),
            _ => [&self.end[..], &self.next, calls, &rest].concat(),
        }
    }
}
