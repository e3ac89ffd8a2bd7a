//! The words of a pair, as writing needs them: templates read, markup collected.

use crate::format::file::{Channels, Content, FormatFile, Into, Off, StartState, Where};
use crate::format::template::{Part, Slot, Template};
use crate::request::Request;
use crate::scan::{Cut, cuts};
use crate::switches::{kwargs, thinks};

use super::RenderError;
use super::markup::{Literals, Opening, closer, first_literal, is_markup, literal_text};

/// How thinking stands when the reply begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// Its markers are unknown.
    Unknown,
    /// A thought may come.
    Possible,
    /// The reply begins in a thought.
    Open,
}

/// The halves of a pair, and the words of both.
#[derive(Debug)]
pub(crate) struct Words<'a> {
    pub(crate) reasoning: Option<&'a FormatFile>,
    pub(crate) tools: Option<&'a FormatFile>,
    pub(crate) thinking: Thinking,
    pub(crate) thoughts: Vec<Template>,
    pub(crate) frames: Vec<Template>,
    pub(crate) blocks: Vec<Template>,
    pub(crate) calls: Vec<Template>,
    pub(crate) params: Vec<Template>,
}

impl<'a> Words<'a> {
    pub(crate) fn read(
        reasoning: Option<&'a FormatFile>,
        tools: Option<&'a FormatFile>,
        request: &Request,
    ) -> Result<Self, RenderError> {
        let reasoning = reasoning.or(tools.filter(|f| f.bound));
        let frames = [reasoning, tools].into_iter().flatten().map(|f| &f.content.frame).find(|f| !f.is_empty());
        Ok(Self {
            reasoning,
            tools,
            thinking: reasoning.map_or(Ok(Thinking::Unknown), |f| thinking(f, request))?,
            thoughts: templates(reasoning.map(|f| &f.reasoning.thought[..]))?,
            frames: templates(frames.map(|f| &f[..]))?,
            blocks: templates(tools.map(|f| &f.tools.block[..]))?,
            calls: templates(tools.map(|f| &f.tools.call[..]))?,
            params: templates(tools.map(|f| &f.tools.param[..]))?,
        })
    }

    /// The files of the pair; one that is both halves comes once.
    pub(crate) fn files(&self) -> impl Iterator<Item = &'a FormatFile> {
        let second = self.tools.filter(|t| self.reasoning.is_none_or(|r| !std::ptr::eq(r, *t)));
        self.reasoning.into_iter().chain(second)
    }

    /// What the files say of content.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &'a Content> {
        self.files().map(|f| &f.content)
    }

    /// How messages are read, if the format is one of messages.
    pub(crate) fn channels(&self) -> Option<&'a Channels> {
        self.files().find_map(|f| f.channels.as_ref())
    }

    /// Whether blanks may stand inside tags.
    pub(crate) fn loose(&self) -> bool {
        self.files().any(|f| f.tools.loose)
    }

    /// Whether thoughts are given as content.
    pub(crate) fn thinks_in_content(&self) -> bool {
        self.reasoning.is_some_and(|f| f.reasoning.into == Into::Content)
    }

    /// What ends or changes a thought.
    pub(crate) fn in_thought(&self) -> Literals {
        let mut literals = self.thinking_markers();
        if let Some(file) = self.reasoning {
            literals.add(file.reasoning.ends.iter());
        }
        self.add_common(&mut literals);
        literals
    }

    /// What is no plain content.
    pub(crate) fn in_content(&self) -> Literals {
        let mut literals = match self.thinking {
            Thinking::Unknown => Literals::new(self.loose()),
            _ if self.thinks_in_content() => Literals::new(self.loose()),
            _ => self.thinking_markers(),
        };
        for frame in &self.frames {
            literals.add(around(frame, Slot::Content));
        }
        literals.add(self.call_markup());
        self.add_common(&mut literals);
        literals
    }

    /// What is structure inside a value: the tags of parameters, calls and blocks, but not the value's own closer.
    pub(crate) fn in_value(&self) -> Literals {
        let mut literals = Literals::new(self.loose());
        literals.add(self.params.iter().filter_map(first_literal).filter(|l| is_markup(l)));
        literals.add(self.call_markup());
        literals
    }

    /// A block's closers that are no punctuation: right behind a call's bracket they end it, although a string is open.
    pub(crate) fn block_ends(&self) -> Vec<String> {
        let close = |block: &Template| literal_text(after(block, Slot::Calls));
        let mut out = Vec::new();
        for text in self.blocks.iter().map(close) {
            out.extend(cuts(&text).into_iter().filter_map(|cut| match cut {
                Cut::Literal(literal) if literal.len() > 1 => Some(literal.to_owned()),
                _ => None,
            }));
        }
        out
    }

    /// Openers and closers of calls and blocks that are markup by themselves.
    fn call_markup(&self) -> impl Iterator<Item = &str> {
        let all = || self.blocks.iter().chain(&self.calls);
        let closers = self
            .blocks
            .iter()
            .filter_map(|t| closer(t, |s| s == Slot::Calls))
            .chain(self.calls.iter().filter_map(|t| closer(t, Slot::is_body)));
        all().filter_map(first_literal).chain(closers).filter(|l| is_markup(l))
    }

    fn thinking_markers(&self) -> Literals {
        let mut literals = Literals::new(self.loose());
        for thought in &self.thoughts {
            literals.add(around(thought, Slot::Thought));
        }
        literals
    }

    fn add_common(&self, literals: &mut Literals) {
        for content in self.contents() {
            literals.add(content.drop.iter());
            literals.add(content.header.iter());
        }
        if let Some(channels) = self.channels() {
            literals.add([&channels.start, &channels.body]);
            literals.add(channels.channel.iter().chain(&channels.r#type).chain(channels.end.iter()));
        }
    }

    /// How calls begin whose opener is no markup by itself.
    pub(crate) fn plain_openings(&self) -> Vec<Opening> {
        let Some(file) = self.tools else { return Vec::new() };
        let only_at_start = file.tools.r#where == Where::Start;
        let mut openings = Vec::new();
        let mut add = |parts: &[Part], call: &Template| {
            openings.push(
                Opening::new(parts, call.body(), file.tools.loose)
                    .container(file.tools.envelope.container)
                    .only_at_start(only_at_start),
            );
        };
        for call in &self.calls {
            let head = before(call, Slot::is_body);
            if first_literal(call).is_some_and(|l| !is_markup(l)) {
                add(head, call);
            }
            for block in self.blocks.iter().filter(|b| first_literal(b).is_some_and(|l| !is_markup(l))) {
                add(&[before(block, |s| s == Slot::Calls), head].concat(), call);
            }
        }
        openings
    }

    /// Keys of a name in JSON that is a call without any marker, if there is such JSON.
    pub(crate) fn bare_json(&self) -> Option<&'a [String]> {
        let file = self.tools.filter(|f| f.tools.block.is_empty())?;
        let bare = self.calls.iter().any(|c| matches!(c.parts.first(), Some(Part::Slot(Slot::Envelope))));
        bare.then_some(&file.tools.envelope.name[..])
    }

    /// Whether calls as they are written count only where nothing but white space precedes.
    pub(crate) fn calls_at_start_only(&self) -> bool {
        let opener = self.blocks.first().or(self.calls.first()).and_then(first_literal);
        self.tools.is_some_and(|f| f.tools.r#where == Where::Start) && !opener.is_some_and(is_markup)
    }
}

fn templates(sources: Option<&[String]>) -> Result<Vec<Template>, RenderError> {
    sources.unwrap_or_default().iter().map(|s| template(s)).collect()
}

/// Reads a template of the format file.
pub(crate) fn template(source: &str) -> Result<Template, RenderError> {
    Template::parse(source).map_err(|e| RenderError::at("format", e.message))
}

/// The parts before the first slot that `wanted` holds for; all parts if there is none.
pub(crate) fn before(template: &Template, wanted: impl Fn(Slot) -> bool) -> &[Part] {
    let end = template.position(wanted).unwrap_or(template.parts.len());
    &template.parts[..end]
}

/// The parts after a slot.
pub(crate) fn after(template: &Template, slot: Slot) -> &[Part] {
    template.position(|s| s == slot).and_then(|at| template.parts.get(at + 1..)).unwrap_or_default()
}

fn around(template: &Template, slot: Slot) -> [String; 2] {
    [literal_text(before(template, |s| s == slot)), literal_text(after(template, slot))]
}

fn thinking(file: &FormatFile, request: &Request) -> Result<Thinking, RenderError> {
    let on = thinks(&file.switches, &kwargs(request)).map_err(|e| RenderError::at("request", e.message))?;
    Ok(match (on, file.switches.off, file.start.state) {
        (false, Off::Plain, _) => Thinking::Unknown,
        (true, _, StartState::Reasoning) => Thinking::Open,
        _ => Thinking::Possible,
    })
}
