//! The composed pair, compiled: which patterns each state looks for, how calls open and close.

use std::collections::HashMap;

use crate::body::{BodySpec, Follow};
use crate::format::file::{
    AfterThought, Blocks, By, Channels, Commit, Container, Filter, FormatFile, Into, Opener, StartState, Tools, Where,
};
use crate::format::template::{Part, Slot, Template};
use crate::head::{Op, Program};
use crate::scan::Literal;

use super::channels::ChannelTables;
use super::marker::{Marker, Strip, around};
use super::scanset::{Action, Pattern, ScanSet};
use super::state::Place;

/// Where the words of a compiled format come from, for errors.
pub(crate) type Fault = (String, String);

/// A way in which calls may open.
#[derive(Debug, Clone)]
pub(crate) struct Alternative {
    /// The opening behind its first literal.
    pub(crate) program: Program,
    /// The call that opens.
    pub(crate) form: usize,
    /// The block that opens with it.
    pub(crate) block: Option<usize>,
    /// The first literal belongs to the body (`{` of an envelope without marker).
    pub(crate) bare: bool,
    /// It counts only where nothing but white space precedes.
    pub(crate) at_start: bool,
    /// For which request it counts.
    pub(crate) guided: Guided,
}

/// Openings that only a `tool_choice` brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guided {
    /// Always.
    No,
    /// With `tool_choice: required`.
    Required,
    /// With a named function, whose bare arguments they may be.
    Named,
}

/// A call's template behind its opening.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(crate) body: BodySpec,
    /// Its closers, in order; each may be missing.
    pub(crate) closers: Vec<Literal>,
}

/// A block's template.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Its opener's first literal, and whether that is one vocabulary entry.
    pub(crate) opener: Literal,
    pub(crate) single: bool,
}

/// Flags of the composed pair.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) start: StartState,
    pub(crate) one_block: bool,
    pub(crate) wait_after: bool,
    pub(crate) into_content: bool,
    pub(crate) has_thoughts: bool,
    pub(crate) unanswered: Option<String>,
    pub(crate) filters: Vec<Filter>,
    pub(crate) native_ids: Option<String>,
    pub(crate) turn: Vec<String>,
    /// Thinking markers that are one vocabulary entry count by id.
    pub(crate) by_id: bool,
    /// The first thought's opener as it is written, for `into = content`.
    pub(crate) opener: String,
}

/// The compiled pair.
#[derive(Debug, Clone)]
pub(crate) struct Tables {
    pub(crate) words: Words,
    sets: Vec<ScanSet>,
    pub(crate) openings: Vec<Vec<usize>>,
    pub(crate) alternatives: Vec<Alternative>,
    pub(crate) forms: Vec<Form>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) trails: Vec<Vec<Strip>>,
    /// Byte-level marks are white space in tags.
    pub(crate) marks: bool,
    /// Opening that may begin at any text inside a block (a call without a first literal).
    pub(crate) bare_in_block: Option<usize>,
    pub(crate) thoughts: Vec<(Marker, Marker)>,
    pub(crate) channels: Option<ChannelTables>,
}

/// What the tables are made from.
pub(crate) struct Source<'a> {
    pub(crate) reasoning: Option<&'a FormatFile>,
    pub(crate) tools: Option<&'a FormatFile>,
    /// Texts that are single vocabulary entries.
    pub(crate) special: &'a HashMap<String, u32>,
    pub(crate) hidden: &'a [String],
    /// Thinking markers are unknown: switched off, and the format then reads none.
    pub(crate) plain: bool,
}

/// A pattern before it is put into states.
#[derive(Clone)]
struct Role {
    marker: Marker,
    id: Option<u32>,
    loose: bool,
}

struct Builder<'a> {
    source: &'a Source<'a>,
    by: By,
    trails: Vec<Vec<Strip>>,
    alternatives: Vec<Alternative>,
    forms: Vec<Form>,
    blocks: Vec<Block>,
    openings: Vec<Vec<usize>>,
    /// First literals of openings, by where they count.
    open_outside: Vec<(Role, usize)>,
    open_inside: Vec<(Role, usize)>,
    open_gap: Vec<(Role, usize)>,
    bare_in_block: Option<usize>,
    close_blocks: Vec<Role>,
    close_calls: Vec<Role>,
}

fn template(text: &str, key: &str) -> Result<Template, Fault> {
    Template::parse(text).map_err(|e| (key.to_owned(), e.message))
}

impl Tables {
    /// Compiles a pair.
    pub(crate) fn new(source: &Source<'_>) -> Result<Self, Fault> {
        let by = source.reasoning.or(source.tools).map_or(By::Auto, |f| f.ids.by);
        let mut b = Builder {
            source,
            by,
            trails: Vec::new(),
            alternatives: Vec::new(),
            forms: Vec::new(),
            blocks: Vec::new(),
            openings: Vec::new(),
            open_outside: Vec::new(),
            open_inside: Vec::new(),
            open_gap: Vec::new(),
            bare_in_block: None,
            close_blocks: Vec::new(),
            close_calls: Vec::new(),
        };
        if let Some(format) = source.tools.filter(|f| f.checkpoint.is_none()) {
            b.tools(&format.tools)?;
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
    fn role(&self, marker: Marker, thinking: bool) -> Role {
        let by_id = match self.by {
            By::Auto => thinking,
            By::Text => false,
            By::Id => true,
        };
        let id = if by_id { self.source.special.get(&marker.literal).copied() } else { None };
        Role { marker, id, loose: false }
    }

    fn literal_role(&self, text: &str, thinking: bool) -> Role {
        self.role(Marker::read(&[Part::Text(text.to_owned())]), thinking)
    }

    fn opening(&mut self, alternatives: Vec<usize>) -> usize {
        self.openings.push(alternatives);
        self.openings.len() - 1
    }

    fn tools(&mut self, tools: &Tools) -> Result<(), Fault> {
        let calls: Vec<Template> = tools.call.iter().map(|c| template(c, "tools.call")).collect::<Result<_, _>>()?;
        let blocks: Vec<Template> = tools.block.iter().map(|c| template(c, "tools.block")).collect::<Result<_, _>>()?;
        if calls.is_empty() {
            return Err(("tools.call".into(), "a tools half needs a call template".into()));
        }
        let mut follow = follow(&calls, &blocks, tools.loose);
        if let Some(words) = self.channel_words() {
            // A message's end closes its body, whichever it is.
            let ends = words.end.iter().map(|end| Literal::new(end, false));
            follow.call_close.extend(ends.filter(|end| !follow.call_close.contains(end)).collect::<Vec<_>>());
        }
        let follow = follow;
        for call in &calls {
            let slot = call.body().ok_or_else(|| {
                ("tools.call".to_owned(), "a call template needs a body slot such as {json} or {params}".to_owned())
            })?;
            let body = BodySpec::new(slot, tools, follow.clone()).map_err(|m| ("tools".to_owned(), m))?;
            let after = &call.parts[call.position(Slot::is_body).map_or(0, |i| i + 1)..];
            let mut closers = literals(after, tools.loose);
            if let Some(words) = self.channel_words() {
                // What ends the message is the flow's to read.
                closers.retain(|c| !words.end.iter().any(|end| end == c.text()));
            }
            self.forms.push(Form { body, closers });
        }
        let structure = structure(tools, &follow)?;
        for block in &blocks {
            self.block(tools, block, &calls, &structure);
        }
        for (form, call) in calls.iter().enumerate() {
            self.bare_call(tools, form, call, &structure, blocks.is_empty());
        }
        self.guided(tools)?;
        for form in &self.forms {
            for closer in &form.closers {
                let mut role = Role {
                    marker: Marker::read(&[Part::Text(closer.text().to_owned())]),
                    id: None,
                    loose: tools.loose,
                };
                role.marker.literal = closer.text().to_owned();
                self.close_calls.push(role);
            }
        }
        Ok(())
    }

    fn program(&self, parts: &[Part], call: &Template, tools: &Tools, structure: &[Literal]) -> Program {
        let mut all = parts.to_vec();
        let end = call.position(Slot::is_body).unwrap_or(call.parts.len());
        all.extend_from_slice(&call.parts[..end]);
        let mut program = Program::new(&all, tools.loose);
        if matches!(program.ops.last(), Some(Op::Space)) {
            program.ops.pop();
        }
        match call.body() {
            Some(Slot::Params | Slot::Elements) => {
                if program.ends_in_slot() {
                    program.ops.push(Op::Expect(structure.to_vec()));
                }
                program.structure = structure.to_vec();
            }
            Some(Slot::Json) if program.ends_in_slot() => program.ops.push(Op::Expect(vec![Literal::exact("{")])),
            Some(Slot::Literals) if program.ends_in_slot() => {
                program.ops.push(Op::Expect(vec![Literal::exact("{"), Literal::exact("(")]));
            }
            Some(Slot::Kwargs) => program.ops.push(Op::KwargsFollow),
            // Another template may open with the same marker.
            Some(Slot::Envelope) => program.ops.push(Op::Expect(containers(tools))),
            _ => {}
        }
        program
    }

    fn block(&mut self, tools: &Tools, block: &Template, calls: &[Template], structure: &[Literal]) {
        let Some((open, close)) = around(block, Slot::Calls) else { return };
        let at = block.position(|s| s == Slot::Calls).unwrap_or(0);
        let index = self.blocks.len();
        let single = self.source.special.contains_key(&open.literal);
        self.blocks.push(Block { opener: Literal::new(&open.literal, tools.loose), single });
        let mut alternatives = Vec::new();
        for (form, call) in calls.iter().enumerate() {
            let mut program = self.program(&block.parts[..at], call, tools, structure);
            let first = take_first_literal(&mut program);
            let Some(first) = first else { continue };
            alternatives.push(self.alternatives.len());
            self.alternatives.push(Alternative {
                program,
                form,
                block: Some(index),
                bare: false,
                at_start: tools.r#where == Where::Start && !is_marker(first.text()),
                guided: Guided::No,
            });
        }
        let opening = self.opening(alternatives);
        let first = first_literal_text(&open.literal);
        let role = Role { marker: Marker { literal: first, ..open }, id: None, loose: tools.loose };
        self.open_outside.push((role, opening));
        for closer in block_closers(&close, tools.loose) {
            let mut role = self.literal_role(closer.text(), false);
            role.marker.lead = close.lead.clone();
            role.loose = tools.loose;
            self.close_blocks.push(role);
        }
    }

    /// A call by itself, outside a block or as a further call inside one.
    fn bare_call(&mut self, tools: &Tools, form: usize, call: &Template, structure: &[Literal], no_block: bool) {
        let mut program = self.program(&[], call, tools, structure);
        let lead = match call.parts.first() {
            Some(Part::Text(text)) => text[..text.len() - text.trim_start().len()].to_owned(),
            _ => String::new(),
        };
        let base = Alternative {
            program: Program::default(),
            form,
            block: None,
            bare: false,
            at_start: false,
            guided: Guided::No,
        };
        match take_first_literal(&mut program) {
            Some(first) => {
                let opening = self.opening(vec![self.alternatives.len()]);
                self.alternatives.push(Alternative { program, ..base });
                let mut marker = Marker { literal: first.text().to_owned(), ..Marker::default() };
                if !lead.is_empty() {
                    marker.lead.push(Strip { text: lead.into(), of_marker: false });
                }
                let role = Role { marker, id: None, loose: tools.loose };
                self.open_inside.push((role.clone(), opening));
                self.open_outside.push((role, opening));
            }
            None if call.body() == Some(Slot::Envelope) => {
                let list = matches!(tools.envelope.container, Container::Array | Container::Either);
                let object = matches!(tools.envelope.container, Container::Object | Container::Either);
                let opening = self.opening(vec![self.alternatives.len()]);
                let at_start = tools.r#where == Where::Start;
                self.alternatives.push(Alternative { bare: true, at_start: at_start && no_block, ..base.clone() });
                for text in [("[", list), ("{", object)].into_iter().filter(|(_, on)| *on).map(|(t, _)| t) {
                    let role =
                        Role { marker: Marker { literal: text.into(), ..Marker::default() }, id: None, loose: false };
                    self.open_inside.push((role.clone(), opening));
                    if no_block {
                        self.open_outside.push((role, opening));
                    }
                }
                self.separated(tools, &Program::default(), &base);
            }
            None => {
                self.separated(tools, &program, &base);
            }
        }
    }

    /// Calls behind a separator; a separator of white space alone lets a call begin at any text in its block.
    fn separated(&mut self, tools: &Tools, program: &Program, base: &Alternative) {
        for between in tools.between.iter() {
            let literal = between.trim();
            let opening = self.opening(vec![self.alternatives.len()]);
            self.alternatives.push(Alternative {
                program: Program {
                    ops: [vec![Op::Space], program.ops.clone()].concat(),
                    structure: program.structure.clone(),
                },
                bare: false,
                ..base.clone()
            });
            if literal.is_empty() {
                self.alternatives.last_mut().iter_mut().for_each(|a| a.program.ops = program.ops.clone());
                self.bare_in_block = Some(opening);
                continue;
            }
            let role = Role { marker: Marker { literal: literal.into(), ..Marker::default() }, id: None, loose: false };
            self.open_inside.push((role.clone(), opening));
            self.open_gap.push((role, opening));
        }
    }

    /// Guided JSON for required and named choices: a list of calls, or the bare arguments of the named function. A format
    /// whose calls are bare JSON anyway reads it with its own templates.
    fn guided(&mut self, tools: &Tools) -> Result<(), Fault> {
        if self.alternatives.iter().any(|a| a.bare && a.block.is_none()) {
            return Ok(());
        }
        let mut words = tools.clone();
        words.envelope = crate::format::file::EnvelopeWords {
            container: Container::Either,
            commit: Commit::Arguments,
            arguments: crate::format::file::List(vec!["parameters".into(), "arguments".into()]),
            ..Default::default()
        };
        let fault = |m| ("tools".to_owned(), m);
        let list = BodySpec::new(Slot::Envelope, &words, Follow::default()).map_err(fault)?;
        let json = BodySpec::new(Slot::Json, tools, Follow::default()).map_err(fault)?;
        for (text, body, guided) in [
            ("[", list.clone(), &[Guided::Required, Guided::Named][..]),
            ("{", list, &[Guided::Required]),
            ("{", json, &[Guided::Named]),
        ] {
            let form = self.forms.len();
            self.forms.push(Form { body, closers: Vec::new() });
            let mut alternatives = Vec::new();
            for guided in guided {
                alternatives.push(self.alternatives.len());
                self.alternatives.push(Alternative {
                    program: Program::default(),
                    form,
                    block: None,
                    bare: true,
                    at_start: true,
                    guided: *guided,
                });
            }
            let opening = self.opening(alternatives);
            let role = Role { marker: Marker { literal: text.into(), ..Marker::default() }, id: None, loose: false };
            self.open_outside.push((role, opening));
        }
        Ok(())
    }

    fn trail(&mut self, strips: &[Strip]) -> Option<usize> {
        if strips.is_empty() {
            return None;
        }
        if let Some(i) = self.trails.iter().position(|t| t == strips) {
            return Some(i);
        }
        self.trails.push(strips.to_vec());
        Some(self.trails.len() - 1)
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

    /// Patterns of one state, in order of rank; a literal that stands there already is passed over, but several openings
    /// with one literal are one.
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
                        let mut both = self.openings[a].clone();
                        both.extend(self.openings[*b].iter().filter(|x| !self.openings[a].contains(x)));
                        if patterns[i].lead.is_empty() {
                            patterns[i].lead = role.marker.lead.iter().map(|s| &*s.text).collect::<String>().into();
                        }
                        patterns[i].action = Action::Open(self.opening(both));
                    }
                }
                _ => {}
            }
        }
        ScanSet::new(patterns)
    }

    fn finish(mut self) -> Result<Tables, Fault> {
        let source = self.source;
        let thoughts = self.thoughts()?;
        let reasoning = source.reasoning.map(|f| &f.reasoning);
        let one_block = reasoning.is_some_and(|r| r.blocks == Blocks::One);
        let by_prompt = reasoning.is_some_and(|r| r.opener == Opener::Prompt);
        let words = self.words(&thoughts, one_block);
        let shown = if source.plain { &[][..] } else { &thoughts[..] };
        let opens: Vec<Role> = shown.iter().filter(|_| !by_prompt).map(|(o, _)| self.role(o.clone(), true)).collect();
        let closes: Vec<Role> = shown.iter().map(|(_, c)| self.role(c.clone(), true)).collect();
        let (frame_opens, frame_closes) = self.frames()?;
        let drops = self.drops();
        let ends: Vec<String> =
            if source.plain { Vec::new() } else { reasoning.map(|r| r.ends.to_vec()).unwrap_or_default() };

        let act = |roles: &[Role], action: Action| roles.iter().map(|r| (r.clone(), action)).collect::<Vec<_>>();
        let open =
            |roles: &[(Role, usize)]| roles.iter().map(|(r, i)| (r.clone(), Action::Open(*i))).collect::<Vec<_>>();
        let header: Vec<Role> = self.header();
        let outside = open(&self.open_outside);
        let inside = open(&self.open_inside);
        let gap = open(&self.open_gap);
        let framed = [act(&frame_opens, Action::OpenFrame), act(&frame_closes, Action::CloseFrame)].concat();
        let rest = [act(&header, Action::Header), act(&drops, Action::Drop)].concat();
        let closers = [act(&self.close_blocks, Action::CloseBlock), act(&self.close_calls, Action::CloseCall)].concat();
        let thinking = [act(&opens, Action::OpenThought), act(&closes, Action::CloseThought)].concat();
        let ended = self.ended(&ends, &outside, &frame_opens, &drops);
        let reason = [act(&closes, Action::CloseThought), ended, act(&drops, Action::Drop)].concat();
        let fresh = [act(&opens, Action::OpenThought), reason.clone()].concat();
        let reason = if one_block { reason } else { fresh.clone() };
        // A list's bare bracket closes only where the list is open.
        let marked: Vec<_> = closers.iter().filter(|(r, _)| is_marker(&r.marker.literal)).cloned().collect();
        let after_gap = [gap, marked].concat();

        let messages = self.messages();
        let mut sets = Vec::new();
        for place in Place::ALL {
            if let Some(messages) = &messages {
                let roles = messages.at(place, &outside, &[inside.clone(), closers.clone()].concat(), &rest);
                sets.push(self.set(&roles));
                continue;
            }
            let roles: Vec<(Role, Action)> = match place {
                Place::Header | Place::Wait | Place::Content => [&thinking[..], &outside, &framed, &rest].concat(),
                Place::ReasonFresh => fresh.clone(),
                Place::Reason => reason.clone(),
                Place::After => [&outside[..], &framed, &rest].concat(),
                Place::Gap => [&thinking[..], &outside, &after_gap, &framed, &rest].concat(),
                Place::GapAfter => [&outside[..], &after_gap, &framed, &rest].concat(),
                Place::Block => [
                    &act(&self.close_blocks, Action::CloseBlock)[..],
                    &inside,
                    &outside,
                    &thinking,
                    &act(&self.close_calls, Action::CloseCall),
                    &framed,
                    &rest,
                ]
                .concat(),
                Place::Broken => [&closers[..], &inside, &outside, &thinking, &framed, &rest].concat(),
                Place::Raw => [&closers[..], &thinking, &rest].concat(),
            };
            sets.push(self.set(&roles));
        }
        let channels = self.channel_words().map(ChannelTables::new);
        Ok(Tables {
            words,
            sets,
            openings: self.openings,
            alternatives: self.alternatives,
            forms: self.forms,
            blocks: self.blocks,
            trails: self.trails,
            marks: source.tools.is_some_and(|f| f.tools.params.marks),
            bare_in_block: self.bare_in_block,
            thoughts,
            channels,
        })
    }

    fn channel_words(&self) -> Option<&Channels> {
        self.source
            .reasoning
            .and_then(|f| f.channels.as_ref())
            .or_else(|| self.source.tools.and_then(|f| f.channels.as_ref()))
    }

    fn messages(&self) -> Option<Messages> {
        let words = self.channel_words()?;
        let roles = |texts: &[String], action: Action| {
            texts.iter().map(|t| (self.literal_role(t, true), action)).collect::<Vec<_>>()
        };
        Some(Messages {
            body: roles(std::slice::from_ref(&words.body), Action::Body),
            end: roles(&words.end, Action::EndMessage),
            next: if words.restart {
                roles(std::slice::from_ref(&words.start), Action::NextMessage)
            } else {
                Vec::new()
            },
            unframed: words.unframed,
        })
    }

    fn thoughts(&self) -> Result<Vec<(Marker, Marker)>, Fault> {
        let Some(format) = self.source.reasoning else { return Ok(Vec::new()) };
        if format.channels.is_some() {
            return Ok(Vec::new());
        }
        format
            .reasoning
            .thought
            .iter()
            .map(|t| {
                around(&template(t, "reasoning.thought")?, Slot::Thought)
                    .ok_or_else(|| ("reasoning.thought".to_owned(), "the template has no {thought}".to_owned()))
            })
            .collect()
    }

    fn frames(&self) -> Result<(Vec<Role>, Vec<Role>), Fault> {
        let mut opens = Vec::new();
        let mut closes = Vec::new();
        for format in self.both() {
            if format.channels.is_some() {
                continue;
            }
            for text in format.content.frame.iter() {
                let (open, close) = around(&template(text, "content.frame")?, Slot::Content)
                    .ok_or_else(|| ("content.frame".to_owned(), "the template has no {content}".to_owned()))?;
                opens.push(self.role(open, false));
                closes.push(self.role(close, false));
            }
        }
        Ok((opens, closes))
    }

    fn both(&self) -> impl Iterator<Item = &FormatFile> {
        self.source.reasoning.into_iter().chain(self.source.tools)
    }

    fn drops(&self) -> Vec<Role> {
        let mut roles: Vec<Role> =
            self.both().flat_map(|f| f.content.drop.iter()).map(|text| self.literal_role(text, false)).collect();
        for text in self.source.hidden {
            let mut role =
                Role { marker: Marker { literal: text.clone(), ..Marker::default() }, id: None, loose: false };
            role.id = self.source.special.get(text).copied();
            roles.push(role);
        }
        roles
    }

    fn header(&self) -> Vec<Role> {
        self.both().filter_map(|f| f.content.header.as_deref()).map(|text| self.literal_role(text, false)).collect()
    }

    /// What ends a thought without its closer.
    fn ended(
        &self,
        ends: &[String],
        outside: &[(Role, Action)],
        frames: &[Role],
        drops: &[Role],
    ) -> Vec<(Role, Action)> {
        let mut out = Vec::new();
        for end in ends {
            let opens: Vec<_> = outside.iter().filter(|(r, _)| r.marker.literal == *end).cloned().collect();
            if !opens.is_empty() {
                out.extend(opens);
            } else if let Some(frame) = frames.iter().find(|r| r.marker.literal == *end) {
                out.push((frame.clone(), Action::OpenFrame));
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
        for filter in self.both().flat_map(|f| f.content.filter.iter()) {
            if !filters.contains(filter) {
                filters.push(*filter);
            }
        }
        Words {
            start: match reasoning {
                Some(f) if !self.source.plain => f.start.state,
                _ => StartState::Content,
            },
            one_block,
            wait_after: reasoning.is_some_and(|f| f.reasoning.after == AfterThought::Wait),
            into_content: reasoning.is_some_and(|f| f.reasoning.into == Into::Content),
            has_thoughts: !thoughts.is_empty() && !self.source.plain,
            unanswered: reasoning.and_then(|f| f.cutoff.unanswered.clone()),
            filters,
            native_ids: self.source.tools.and_then(|f| f.ids.call.clone()),
            turn: reasoning.map(|f| f.start.turn.to_vec()).unwrap_or_default(),
            by_id: self.by != By::Text,
            opener: thoughts.first().map(|(open, _)| open.literal.clone()).unwrap_or_default(),
        }
    }
}

/// Patterns of a format of messages.
struct Messages {
    body: Vec<(Role, Action)>,
    end: Vec<(Role, Action)>,
    next: Vec<(Role, Action)>,
    unframed: bool,
}

impl Messages {
    fn at(
        &self,
        place: Place,
        outside: &[(Role, Action)],
        inside: &[(Role, Action)],
        rest: &[(Role, Action)],
    ) -> Vec<(Role, Action)> {
        let calls = if self.unframed { outside } else { &[] };
        match place {
            Place::Header => [&self.body, &self.end, calls, rest].concat(),
            Place::Reason | Place::ReasonFresh => [&self.end[..], &self.next, rest].concat(),
            Place::Block | Place::Broken => [&self.end[..], &self.next, inside, calls, rest].concat(),
            Place::Raw => [&self.end[..], rest].concat(),
            Place::Gap | Place::GapAfter => [&self.end[..], &self.next, inside, calls, rest].concat(),
            _ => [&self.end[..], &self.next, calls, rest].concat(),
        }
    }
}

/// Literals that mark structure behind a call's name.
fn structure(tools: &Tools, follow: &Follow) -> Result<Vec<Literal>, Fault> {
    let mut out = Vec::new();
    for text in tools.param.iter() {
        let param = template(text, "tools.param")?;
        if let Some(first) = Program::new(&param.parts, tools.loose).first_literal() {
            out.push(first.clone());
        }
    }
    out.extend(follow.call_close.iter().chain(&follow.block_close).chain(&follow.call_open).cloned());
    Ok(out)
}

/// What may stand behind a body, from all templates.
fn follow(calls: &[Template], blocks: &[Template], loose: bool) -> Follow {
    let mut follow = Follow::default();
    let add = |list: &mut Vec<Literal>, literal: Literal| {
        if !list.contains(&literal) {
            list.push(literal);
        }
    };
    for call in calls {
        let end = call.position(Slot::is_body).unwrap_or(0);
        for (i, closer) in literals(&call.parts[end + 1..], loose).into_iter().enumerate() {
            if i > 0 {
                add(&mut follow.block_close, closer.clone());
            }
            add(&mut follow.call_close, closer);
        }
        if let Some(first) = Program::new(&call.parts[..end], loose).first_literal() {
            add(&mut follow.call_open, first.clone());
        }
    }
    for block in blocks {
        if let Some((open, close)) = around(block, Slot::Calls) {
            if !open.literal.is_empty() {
                add(&mut follow.call_open, Literal::new(&first_literal_text(&open.literal), loose));
            }
            for closer in block_closers(&close, loose) {
                add(&mut follow.block_close, closer);
            }
        }
    }
    follow
}

/// All literals of template parts.
fn literals(parts: &[Part], loose: bool) -> Vec<Literal> {
    Program::new(parts, loose)
        .ops
        .into_iter()
        .filter_map(|op| match op {
            Op::Literal(literal) => Some(literal),
            _ => None,
        })
        .collect()
}

/// The literals that close a block; each may be missing.
fn block_closers(close: &Marker, loose: bool) -> Vec<Literal> {
    literals(&[Part::Text(close.literal.clone())], loose)
}

fn first_literal_text(text: &str) -> String {
    Program::new(&[Part::Text(text.to_owned())], false)
        .first_literal()
        .map_or_else(String::new, |l| l.text().to_owned())
}

/// Takes the first literal off a program; the pattern of the state stands for it.
fn take_first_literal(program: &mut Program) -> Option<Literal> {
    let at = program.ops.iter().position(|op| !matches!(op, Op::Space))?;
    let Op::Literal(first) = program.ops[at].clone() else { return None };
    program.ops.drain(..=at);
    Some(first)
}

/// The brackets with which an envelope begins.
fn containers(tools: &Tools) -> Vec<Literal> {
    match tools.envelope.container {
        Container::Object => vec![Literal::exact("{")],
        Container::Array => vec![Literal::exact("[")],
        Container::Either => vec![Literal::exact("["), Literal::exact("{")],
    }
}

/// Whether a literal is a marker by itself, not punctuation that ordinary text uses.
fn is_marker(text: &str) -> bool {
    text.len() > 1
}
