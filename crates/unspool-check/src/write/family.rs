//! A pair's description of a conversation.

use unspool::format::file::{Channels, Container, FormatFile, Keep, Opener, RouteAs, StartState, ThinkingTurns, Turns};
use unspool::format::template::{Part, Slot, Template};
use unspool::{Half, Pair};

use super::WriteError;

/// The keys of both halves, with parsed templates.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) turns: Turns,
    pub(super) reasoning: Option<FormatFile>,
    pub(super) tools: Option<FormatFile>,
    /// The template of a thought, if the pair has thoughts.
    pub(super) thought: Option<Template>,
    /// The frame of an answer.
    pub(super) frame: Option<Template>,
    pub(super) block: Option<Template>,
    pub(super) call: Option<Template>,
    pub(super) param: Option<Template>,
    /// The beginning of messages, in a format of messages.
    pub(super) channels: Option<Channels>,
    /// The text before each further piece of a reply.
    pub(super) header: Option<String>,
}

impl Family {
    /// Reads a pair; `named` says which halves are wanted.
    pub(super) fn of(pair: &Pair, named: [bool; 2]) -> Result<Self, WriteError> {
        let words = |half: Half, wanted: bool| pair.words(half).filter(|words| wanted || words.bound);
        let (reasoning, tools) = (words(Half::Reasoning, named[0]), words(Half::Tools, named[1]));
        let said = [&tools, &reasoning].into_iter().flatten().find(|words| !words.turns.is_empty());
        let mut turns = said.map(|words| words.turns.clone()).ok_or(WriteError::NoTurns)?;
        let thinks = |words: &&FormatFile| !words.turns.is_empty() || words.turns.thinking != ThinkingTurns::default();
        if let Some(words) = reasoning.as_ref().filter(thinks) {
            turns.thinking = words.turns.thinking.clone();
        }
        let read = |text: Option<&String>| text.and_then(|text| Template::parse(text).ok());
        let halves = || [&reasoning, &tools].into_iter().flatten();
        let channels = halves().find_map(|words| words.channels.clone());
        let header = halves().find_map(|words| words.content.header.clone());
        let frame = read(halves().find_map(|words| words.content.frame.first()));
        let caller = tools.as_ref().filter(|_| named[1]).map(|words| &words.tools);
        Ok(Self {
            thought: read(reasoning.as_ref().and_then(|words| words.reasoning.thought.first())),
            frame,
            block: read(caller.and_then(|tools| tools.block.first())),
            call: read(caller.and_then(|tools| tools.call.first())),
            param: read(caller.and_then(|tools| tools.param.first())),
            channels,
            header,
            turns,
            reasoning,
            tools,
        })
    }

    /// Whether a reply begins in a thought unless the prompt says otherwise.
    pub(super) fn begins_thinking(&self) -> bool {
        self.reasoning.as_ref().is_some_and(|words| words.start.state == StartState::Reasoning)
    }

    /// Whether only prompts write the opener of a thought.
    pub(super) fn opens_in_prompt(&self) -> bool {
        self.reasoning.as_ref().is_some_and(|words| words.reasoning.opener == Opener::Prompt)
    }

    /// Whether white space next to reasoning and calls is dropped.
    pub(super) fn trims(&self) -> bool {
        let halves = || [&self.reasoning, &self.tools].into_iter().flatten();
        self.channels.is_none() && halves().all(|words| words.start.state != StartState::Header)
    }

    pub(super) fn keeps_all_thoughts(&self) -> bool {
        self.turns.thinking.keep == Keep::All
    }

    /// Whether all calls form one JSON list.
    pub(super) fn in_list(&self) -> bool {
        let (Some(words), Some(call)) = (&self.tools, &self.call) else { return false };
        let separated = words.tools.between.iter().any(|text| !text.is_empty());
        let container = words.tools.envelope.container;
        let lists = container == Container::Array || container == Container::Either && !separated;
        call.body() == Some(Slot::Envelope) && lists
    }

    /// The separator of calls.
    pub(super) fn between(&self) -> &str {
        self.tools.as_ref().and_then(|words| words.tools.between.first()).map_or("", String::as_str)
    }

    /// The parts of a template of calls. If replies are messages and the template shows none, with that of an answer
    /// around it, addressed to the function.
    pub(super) fn message(&self, template: &Template) -> Vec<Part> {
        let plain = || template.parts.clone();
        let (Some(channels), Some(frame)) = (&self.channels, &self.frame) else { return plain() };
        let shows =
            matches!(template.parts.first(), Some(Part::Text(text)) if text.trim_start().starts_with(&channels.start));
        let (Some(marker), Some(Part::Text(answer)), false) = (&channels.to, frame.parts.first(), shows) else {
            return plain();
        };
        let users = channels.route.iter().filter(|route| route.r#as == RouteAs::Content);
        let addressed = |user: &String| (!user.is_empty()).then(|| answer.split_once(&format!("{marker}{user}")));
        let Some((before, after)) = users.flat_map(|route| route.to.iter().flatten()).find_map(addressed).flatten()
        else {
            return plain();
        };
        let mut out = vec![Part::Text(format!("{before}{marker}")), Part::Slot(Slot::Name)];
        out.push(Part::Text(after.to_owned()));
        out.extend(template.parts.iter().cloned());
        out.extend(channels.end.first().cloned().map(Part::Text));
        out
    }

    /// The beginning of a piece of a reply: if something precedes it, and if nothing does.
    pub(super) fn beginnings(&self, literal: &str) -> (String, String) {
        if let Some(channels) = &self.channels {
            // The prompt ends after the first message's start and role.
            let behind = literal.strip_prefix(channels.start.as_str());
            let first =
                behind.map_or(literal, |rest| rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'));
            return (literal.to_owned(), first.to_owned());
        }
        let header = self.header.as_deref().unwrap_or_default();
        (format!("{header}{literal}"), literal.trim_start().to_owned())
    }
}

impl Family {
    /// The text for a reply without a thought, if one begins with an empty thought.
    pub(super) fn without_thought<'t>(&self, text: &'t str) -> &'t str {
        let Some(thought) = self.thought.as_ref().filter(|_| self.begins_thinking()) else { return text };
        let is_thought = |part: &&Part| **part != Part::Slot(Slot::Thought);
        let skipped = if self.opens_in_prompt() { thought.parts.iter().take_while(is_thought).count() } else { 0 };
        let empty: String = thought.parts[skipped..]
            .iter()
            .map(|part| match part {
                Part::Text(text) | Part::Optional(text) | Part::Free(text) => text.as_str(),
                _ => "",
            })
            .collect();
        text.strip_prefix(empty.trim_start()).unwrap_or(text)
    }

    /// Refuses features that generated templates cannot express.
    pub(super) fn check(&self) -> Result<(), WriteError> {
        use unspool::format::file::Into;
        if self.reasoning.as_ref().is_some_and(|words| words.reasoning.into == Into::Content) {
            return Err(WriteError::Unwritable(
                "this format gives thoughts as content, so no template can tell them apart",
            ));
        }
        let halves = || [&self.reasoning, &self.tools].into_iter().flatten();
        if halves().any(|words| words.checkpoint.is_some()) {
            return Err(WriteError::NoTurns);
        }
        Ok(())
    }
}
