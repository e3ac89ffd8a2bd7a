//! The compiled pair: the patterns of each state, and how calls open and close.

use std::collections::HashMap;

use serde::Serialize;

use crate::body::{BodySpec, Follow};
use crate::call_header::Program;
use crate::format::file::{AfterThought, Blocks, By, Channels, Escape, Filter, Into, Opener, StartState};
use crate::format::template::{Part, Slot, Template};
use crate::scan::Literal;

use super::channels::ChannelTables;
use super::numbered::{AlternativeId, BlockId, CallHeaderId, FormId, Numbered, TrailId};
use super::roles::{Messages, Roles, open, with_action};
use super::scanset::{self, Action, Pattern, ScanSet};
use super::state::Place;
use crate::format::marker::{Marker, Strip, literal_text};
use crate::format::syntax::{Fault, Format};

/// A way to open a call.
#[derive(Debug, Clone)]
pub(crate) struct Alternative {
    /// The header after its first literal.
    pub(crate) program: Program,
    /// The call that opens.
    pub(crate) form: FormId,
    /// The block that opens with it.
    pub(crate) block: Option<BlockId>,
    /// The first literal belongs to the body (`{` of an envelope without marker).
    pub(crate) bare: bool,
    /// It counts only if nothing but white space precedes it.
    pub(crate) at_start: bool,
    /// The requests for which it counts.
    pub(crate) guided: Guided,
    /// The next message opens, rather than a call.
    pub(crate) message: bool,
}

/// Headers that only a `tool_choice` activates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guided {
    /// Always.
    No,
    /// With `tool_choice: required`.
    Required,
    /// With a named function, whose bare arguments they may be.
    Named,
}

/// A call's template after its header.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(crate) body: BodySpec,
    /// Its closers, in order; each may be missing.
    pub(crate) closers: Vec<Literal>,
    /// How a further envelope begins after this one, in the same block.
    pub(crate) again: Option<AlternativeId>,
}

/// A block's template.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Its opener's first literal, and whether it is a special token.
    pub(crate) opener: Literal,
    pub(crate) special: bool,
}

/// Flags of the composed pair.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) start: StartState,
    pub(crate) one_block: bool,
    pub(crate) wait_after: bool,
    pub(crate) into_content: bool,
    pub(crate) has_thoughts: bool,
    /// Pieces of a field lose white space next to markup.
    pub(crate) edges: bool,
    pub(crate) unanswered: Option<String>,
    pub(crate) filters: Vec<Filter>,
    pub(crate) native_ids: Option<String>,
    /// Names in attributes use entities.
    pub(crate) entities: bool,
    /// A name may be repeated, separated by a dot.
    pub(crate) doubled: bool,
    pub(crate) turn: Vec<String>,
    /// Thinking markers that are one vocabulary entry count by id.
    pub(crate) by_id: bool,
    /// The first thought's opener as written, for `into = content`.
    pub(crate) opener: String,
    /// The beginning of a thought without its opener at the start of the output.
    pub(crate) bare_thought: Option<String>,
    /// What passes through unparsed.
    pub(crate) raw: Raw,
}

/// The compiled pair.
#[derive(Debug, Clone)]
pub(crate) struct Tables {
    pub(crate) words: Words,
    sets: Vec<ScanSet>,
    pub(crate) call_headers: Numbered<CallHeaderId, Vec<AlternativeId>>,
    pub(crate) alternatives: Numbered<AlternativeId, Alternative>,
    pub(crate) forms: Numbered<FormId, Form>,
    /// The call for messages to a function (channels): the first whose arguments do not contain the name.
    pub(crate) message_form: Option<FormId>,
    pub(crate) blocks: Numbered<BlockId, Block>,
    pub(crate) trails: Numbered<TrailId, Vec<Strip>>,
    /// A header that may begin at any text inside a block (a call without a first literal).
    pub(crate) bare_in_block: Option<CallHeaderId>,
    /// What may follow a call's body.
    pub(crate) follow: Follow,
    /// Closers of blocks that are followed by another closer.
    pub(crate) half_closers: Vec<Literal>,
    /// The header of the next message after its first marker, if the previous message has no end.
    pub(crate) next_header: Option<CallHeaderId>,
    /// The tokens that begin the next message, anywhere.
    pub(crate) message_starts: Vec<u32>,
    /// Openers of calls whose header has the name, to find one after another's header.
    pub(crate) headers: Vec<(Literal, CallHeaderId)>,
    /// Texts that the tokenizer declares special tokens.
    pub(crate) special: Vec<String>,
    pub(crate) thoughts: Vec<(Marker, Marker)>,
    pub(crate) channels: Option<ChannelTables>,
    /// Markers that count once and are reported if repeated.
    pub(crate) single: Vec<Box<str>>,
}

/// What passes through verbatim if one half of a format is alone and another parser follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) enum Raw {
    #[default]
    Nothing,
    /// Everything but thoughts.
    Answers,
    /// Thoughts.
    Thoughts,
}

/// The input of the tables.
pub(crate) struct Source<'a> {
    pub(crate) raw: Raw,
    pub(crate) reasoning: Option<&'a Format>,
    pub(crate) tools: Option<&'a Format>,
    /// Texts that are single vocabulary entries.
    pub(crate) special: &'a HashMap<String, u32>,
    pub(crate) hidden: &'a [String],
    /// Texts that the tokenizer declares special tokens, including those in templates.
    pub(crate) declared: &'a [String],
    /// Thinking markers are text: thinking is off, and the format then has no markers.
    pub(crate) plain: bool,
}

/// A pattern before it is assigned to states.
#[derive(Clone)]
pub(super) struct Role {
    pub(super) marker: Marker,
    pub(super) id: Option<u32>,
    pub(super) loose: bool,
}

pub(super) struct Builder<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) by: By,
    pub(super) trails: Numbered<TrailId, Vec<Strip>>,
    pub(super) alternatives: Numbered<AlternativeId, Alternative>,
    pub(super) forms: Numbered<FormId, Form>,
    pub(super) message_form: Option<FormId>,
    pub(super) blocks: Numbered<BlockId, Block>,
    pub(super) call_headers: Numbered<CallHeaderId, Vec<AlternativeId>>,
    /// First literals of headers, by where they count.
    pub(super) open_outside: Vec<(Role, CallHeaderId)>,
    pub(super) open_inside: Vec<(Role, CallHeaderId)>,
    pub(super) open_gap: Vec<(Role, CallHeaderId)>,
    pub(super) bare_in_block: Option<CallHeaderId>,
    pub(super) close_blocks: Vec<Role>,
    pub(super) close_calls: Vec<Role>,
    pub(super) follow: Follow,
    pub(super) half_closers: Vec<Literal>,
    pub(super) next_header: Option<CallHeaderId>,
}

impl Tables {
    /// Compiles a pair.
    pub(crate) fn new(source: &Source<'_>) -> Result<Self, Fault> {
        let by = source.reasoning.or(source.tools).map_or(By::Auto, |f| f.ids.by);
        let mut b = Builder {
            source,
            by,
            trails: Numbered::new(),
            alternatives: Numbered::new(),
            forms: Numbered::new(),
            message_form: None,
            blocks: Numbered::new(),
            call_headers: Numbered::new(),
            open_outside: Vec::new(),
            open_inside: Vec::new(),
            open_gap: Vec::new(),
            bare_in_block: None,
            close_blocks: Vec::new(),
            close_calls: Vec::new(),
            follow: Follow::default(),
            half_closers: Vec::new(),
            next_header: None,
        };
        if let Some(format) = source.tools.filter(|f| f.checkpoint.is_none()) {
            b.tools(format)?;
        }
        b.finish()
    }

    /// The patterns of a place.
    #[inline]
    pub(crate) fn set(&self, place: Place) -> &ScanSet {
        &self.sets[place as usize]
    }
}

impl Builder<'_> {
    pub(super) fn role(&self, marker: Marker, thinking: bool) -> Role {
        let by_id = match self.by {
            By::Auto => thinking,
            By::Text => false,
            By::Id => true,
        };
        let id = if by_id { self.source.special.get(&marker.literal).copied() } else { None };
        Role { marker, id, loose: false }
    }

    pub(super) fn literal_role(&self, text: &str, thinking: bool) -> Role {
        self.role(Marker::read(&[Part::Text(text.to_owned())]), thinking)
    }

    pub(super) fn call_header(&mut self, alternatives: Vec<AlternativeId>) -> CallHeaderId {
        self.call_headers.push(alternatives)
    }

    fn trail(&mut self, strips: &[Strip]) -> Option<TrailId> {
        if strips.is_empty() {
            return None;
        }
        self.trails.position(|t| t == strips).or_else(|| Some(self.trails.push(strips.to_vec())))
    }

    fn pattern(&mut self, role: &Role, action: Action) -> Pattern {
        let lead: String = role.marker.lead.iter().map(|s| &*s.text).collect();
        Pattern {
            lead: lead.into(),
            lead_of_marker: role.marker.lead.iter().any(|s| s.of_marker),
            literal: Literal::new(&role.marker.literal, role.loose),
            id: role.id,
            action,
            trail: self.trail(&role.marker.trail),
        }
    }

    /// Patterns of one state, in order of rank. A literal that is already there is skipped, but several headers with
    /// one literal are merged.
    fn set(&mut self, roles: &[(Role, Action)]) -> ScanSet {
        let mut patterns: Vec<Pattern> = Vec::new();
        for (role, action) in roles {
            if role.marker.literal.is_empty() {
                continue;
            }
            let known = patterns.iter().position(|p| p.literal.text() == role.marker.literal);
            match (known, action) {
                (None, _) => {
                    let pattern = self.pattern(role, *action);
                    patterns.push(pattern);
                }
                (Some(i), Action::Open(b)) => {
                    if let Action::Open(a) = patterns[i].action
                        && a != *b
                    {
                        let mut both = self.call_headers[a].clone();
                        both.extend(self.call_headers[*b].iter().filter(|x| !self.call_headers[a].contains(x)));
                        if patterns[i].lead.is_empty() {
                            patterns[i].lead = role.marker.lead.iter().map(|s| &*s.text).collect::<String>().into();
                        }
                        patterns[i].action = Action::Open(self.call_header(both));
                    }
                }
                _ => {}
            }
        }
        let asked: Vec<bool> = patterns.iter().map(|pattern| self.is_asked(pattern.action)).collect();
        ScanSet::new(patterns, &asked)
    }

    /// Whether nothing opens inside a text unless the request asks for it.
    fn is_asked(&self, action: Action) -> bool {
        let Action::Open(call_header) = action else { return false };
        let alternatives = self.call_headers[call_header].iter().map(|i| &self.alternatives[*i]);
        alternatives.into_iter().all(|a| a.guided != Guided::No || a.at_start)
    }

    fn finish(mut self) -> Result<Tables, Fault> {
        let source = self.source;
        let thoughts = self.thoughts()?;
        let one_block = source.reasoning.is_some_and(|f| f.reasoning.blocks == Blocks::One);
        let words = self.words(&thoughts, one_block);
        let roles = self.roles(&thoughts)?;
        let messages = self.messages();
        let mut sets = Vec::new();
        for place in Place::ALL {
            let roles = match &messages {
                Some(messages) => messages.at(place, &roles),
                None => roles.at(place, one_block),
            };
            sets.push(self.set(&roles));
        }
        let channels = self.channel_words().map(|words| ChannelTables::new(words, self.frame_texts()));
        let headers = self.headers();
        let single = scanset::single(&sets);
        Ok(Tables {
            headers,
            single,
            follow: self.follow,
            half_closers: self.half_closers,
            next_header: self.next_header,
            message_starts: messages.iter().flat_map(|messages| messages.starts()).collect(),
            special: source.declared.to_vec(),
            words,
            sets,
            call_headers: self.call_headers,
            alternatives: self.alternatives,
            message_form: self.message_form,
            forms: self.forms,
            blocks: self.blocks,
            trails: self.trails,
            bare_in_block: self.bare_in_block,
            thoughts,
            channels,
        })
    }

    /// The openers of calls whose header has the name: inside a block first.
    fn headers(&self) -> Vec<(Literal, CallHeaderId)> {
        let names = |call_header: &CallHeaderId| {
            self.call_headers[*call_header]
                .iter()
                .any(|i| !self.forms[self.alternatives[*i].form].body.machine().names_itself())
        };
        let all = self.open_inside.iter().chain(&self.open_outside).filter(|(_, call_header)| names(call_header));
        all.map(|(role, call_header)| (Literal::new(&role.marker.literal, role.loose), *call_header)).collect()
    }

    /// All patterns, by kind.
    fn roles(&self, thoughts: &[(Marker, Marker)]) -> Result<Roles, Fault> {
        let reasoning = self.source.reasoning.map(|f| &f.reasoning).filter(|_| !self.source.plain);
        let shown = if self.source.plain { &[][..] } else { thoughts };
        let written = reasoning.is_none_or(|r| r.opener == Opener::Output);
        let opens = shown.iter().filter(|_| written).map(|(open, _)| self.role(open.clone(), true));
        let closes = shown.iter().map(|(_, close)| self.role(close.clone(), true));
        let (frame_opens, frame_closes) = self.frames()?;
        let drops = self.drops();
        let outside = open(&self.open_outside);
        let ends = reasoning.map(|r| r.ends.to_vec()).unwrap_or_default();
        let mut ended = self.ended(&ends, &outside, (&frame_opens, &self.header()), &drops);
        let mut closes: Vec<_> = closes.map(|role| (role, Action::CloseThought)).collect();
        if self.source.raw == Raw::Answers {
            // Outside a thought its closer may be another element's.
            ended.splice(0..0, closes.drain(..));
        }
        Ok(Roles {
            opens: opens.map(|role| (role, Action::OpenThought)).collect(),
            closes,
            ended,
            outside,
            inside: open(&self.open_inside),
            gap: open(&self.open_gap),
            framed: [with_action(&frame_opens, Action::OpenFrame), with_action(&frame_closes, Action::CloseFrame)]
                .concat(),
            headers: with_action(&self.header(), Action::Header),
            drops: [with_action(&drops, Action::Drop), with_action(&self.special_closers(), Action::DropCloser)]
                .concat(),
            close_blocks: with_action(&self.close_blocks, Action::CloseBlock),
            close_calls: with_action(&self.close_calls, Action::CloseCall),
        })
    }

    pub(super) fn channel_words(&self) -> Option<&Channels> {
        self.source
            .reasoning
            .and_then(|f| f.channels.as_ref())
            .or_else(|| self.source.tools.and_then(|f| f.channels.as_ref()))
    }

    fn messages(&mut self) -> Option<Messages> {
        let words = self.channel_words()?.clone();
        self.next_header = Some(self.header_in_text(&words));
        let bare = words.to.as_deref().filter(|_| words.restart).map(|to| self.header_in_body(to, &words.body));
        let roles = |texts: &[String], action: Action| {
            texts.iter().map(|t| (self.literal_role(t, true), action)).collect::<Vec<_>>()
        };
        let body = roles(std::slice::from_ref(&words.body), Action::Body);
        let starts: Vec<String> = [&words.start].into_iter().chain(&words.channel).cloned().collect();
        let mut next = roles(&starts, Action::NextMessage);
        if let Some((role, call_header)) = bare {
            next.extend(body.iter().cloned().chain([(role, Action::Open(call_header))]));
        } else {
            next.extend(body.iter().map(|(role, _)| (role.clone(), Action::BodyAgain)));
        }
        Some(Messages { body, end: roles(&words.end, Action::EndMessage), next, unframed: words.unframed })
    }

    fn thoughts(&self) -> Result<Vec<(Marker, Marker)>, Fault> {
        let Some(format) = self.source.reasoning else { return Ok(Vec::new()) };
        if format.channels.is_some() {
            return Ok(Vec::new());
        }
        let markers = |t: &Template| {
            t.markers(Slot::Thought)
                .ok_or_else(|| ("reasoning.thought".to_owned(), "the template has no {thought}".into()))
        };
        format.syntax.thoughts.iter().map(markers).collect()
    }

    fn frames(&self) -> Result<(Vec<Role>, Vec<Role>), Fault> {
        let mut opens = Vec::new();
        let mut closes = Vec::new();
        for format in self.read_here() {
            if format.channels.is_some() {
                continue;
            }
            for frame in &format.syntax.frames {
                let (open, close) = frame
                    .markers(Slot::Content)
                    .ok_or_else(|| ("content.frame".to_owned(), "the template has no {content}".into()))?;
                opens.push(self.role(open, false));
                closes.push(self.role(close, false));
            }
        }
        Ok((opens, closes))
    }

    /// The beginnings of the templates of answers.
    fn frame_texts(&self) -> impl Iterator<Item = &str> {
        self.both().flat_map(|format| &format.syntax.frames).filter_map(|frame| match frame.parts.first() {
            Some(Part::Text(text)) => Some(text.as_str()),
            _ => None,
        })
    }

    fn both(&self) -> impl Iterator<Item = &Format> {
        self.source.reasoning.into_iter().chain(self.source.tools)
    }

    /// The formats whose content settings apply.
    fn read_here(&self) -> impl Iterator<Item = &Format> {
        self.both().filter(|_| self.source.raw != Raw::Answers)
    }

    fn drops(&self) -> Vec<Role> {
        let mut roles: Vec<Role> =
            self.read_here().flat_map(|f| f.content.drop.iter()).map(|text| self.literal_role(text, false)).collect();
        for text in self.source.hidden {
            let mut role =
                Role { marker: Marker { literal: text.clone(), ..Marker::default() }, id: None, loose: false };
            role.id = self.source.special.get(text).copied();
            roles.push(role);
        }
        roles
    }

    /// Special tokens that close a call, a block or a parameter: without an opener they are dropped.
    fn special_closers(&self) -> Vec<Role> {
        let params = self.source.tools.iter().flat_map(|f| &f.syntax.params);
        let params = params.map(|param| literal_text(param.after(|slot| slot == Slot::Value)).trim().to_owned());
        let closers = self.close_blocks.iter().chain(&self.close_calls).map(|role| role.marker.literal.clone());
        let special = closers.chain(params).filter(|text| self.source.declared.contains(text));
        special.map(|text| self.literal_role(&text, false)).collect()
    }

    fn header(&self) -> Vec<Role> {
        self.read_here()
            .filter_map(|f| f.content.header.as_deref())
            .map(|text| self.literal_role(text, false))
            .collect()
    }

    /// Markers that end a thought without its closer.
    fn ended(
        &self,
        ends: &[String],
        outside: &[(Role, Action)],
        (frames, headers): (&[Role], &[Role]),
        drops: &[Role],
    ) -> Vec<(Role, Action)> {
        let mut out = Vec::new();
        for end in ends {
            // It may be the beginning of an opener, and then acts as that opener.
            let opens: Vec<_> = outside.iter().filter(|(r, _)| r.marker.literal.starts_with(end)).cloned().collect();
            if !opens.is_empty() {
                out.extend(opens);
            } else if let Some(frame) = frames.iter().find(|r| r.marker.literal == *end) {
                out.push((frame.clone(), Action::OpenFrame));
            } else if let Some(header) = headers.iter().find(|r| r.marker.literal == *end) {
                out.push((header.clone(), Action::Header));
            } else if let Some(drop) = drops.iter().find(|r| r.marker.literal == *end) {
                out.push((drop.clone(), Action::EndThoughtDrop));
            } else {
                out.push((self.literal_role(end, false), Action::EndThoughtKeep));
            }
        }
        out
    }

    fn words(&self, thoughts: &[(Marker, Marker)], one_block: bool) -> Words {
        let reasoning = self.source.reasoning;
        let mut filters: Vec<Filter> = Vec::new();
        for filter in self.read_here().flat_map(|f| f.content.filter.iter()) {
            if !filters.contains(filter) {
                filters.push(*filter);
            }
        }
        Words {
            start: match reasoning {
                // There is no header to hold.
                Some(f) if self.source.raw == Raw::Answers && f.start.state == StartState::Header => {
                    StartState::Content
                }
                Some(f) if !self.source.plain => f.start.state,
                _ => StartState::Content,
            },
            one_block,
            wait_after: reasoning.is_some_and(|f| f.reasoning.after == AfterThought::Wait),
            into_content: reasoning.is_some_and(|f| f.reasoning.into == Into::Content),
            edges: self.both().all(|f| f.channels.is_none() && f.start.state != StartState::Header)
                && reasoning.is_none_or(|f| f.reasoning.into != Into::Content),
            has_thoughts: !thoughts.is_empty() && !self.source.plain,
            unanswered: reasoning.and_then(|f| f.cutoff.unanswered.clone()),
            filters,
            native_ids: self.source.tools.and_then(|f| f.ids.call.clone()),
            entities: self.source.tools.is_some_and(|f| f.tools.params.attr == Escape::Xml),
            doubled: self.source.tools.is_some_and(|f| f.tools.doubled),
            turn: reasoning.map(|f| f.start.turn.to_vec()).unwrap_or_default(),
            by_id: self.by != By::Text,
            bare_thought: reasoning.and_then(|f| f.reasoning.bare.clone()).filter(|_| !self.source.plain),
            raw: self.source.raw,
            opener: thoughts.first().map(|(open, _)| open.literal.clone()).unwrap_or_default(),
        }
    }
}
