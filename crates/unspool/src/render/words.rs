//! The keys of a pair for the renderer: parsed templates and collected markup.

use crate::format::file::{Channels, Content, Into, Off, StartState, Where};
use crate::format::marker::{is_markup, is_word, literal_text};
use crate::format::syntax::Format;
use crate::format::template::{Part, Slot, Template};
use crate::limits::Limits;
use crate::request::Request;
use crate::scan::{Cut, cuts};
use crate::switches::{kwargs, thinks};

use super::RenderError;
use super::markup::{HeaderPattern, Literals};

/// The state of thinking at the start of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// Its markers are text.
    Unknown,
    /// A thought may come.
    Possible,
    /// The reply begins in a thought.
    Open,
}

/// The halves of a pair, and the keys of both.
#[derive(Debug)]
pub(crate) struct Words<'a> {
    pub(crate) reasoning: Option<&'a Format>,
    pub(crate) tools: Option<&'a Format>,
    /// The limits of the parser that will read the output.
    pub(crate) limits: &'a Limits,
    pub(crate) thinking: Thinking,
    pub(crate) thoughts: &'a [Template],
    pub(crate) frames: &'a [Template],
    pub(crate) blocks: &'a [Template],
    pub(crate) calls: &'a [Template],
    pub(crate) params: &'a [Template],
}

impl<'a> Words<'a> {
    pub(crate) fn read(
        reasoning: Option<&'a Format>,
        tools: Option<&'a Format>,
        (request, limits): (&Request, &'a Limits),
    ) -> Result<Self, RenderError> {
        let reasoning = reasoning.or(tools.filter(|f| f.bound));
        let frames = [reasoning, tools].into_iter().flatten().map(|f| &f.syntax.frames).find(|f| !f.is_empty());
        let (thought, call) = (reasoning.map(|f| &f.syntax), tools.map(|f| &f.syntax));
        Ok(Self {
            reasoning,
            tools,
            limits,
            thinking: reasoning.map_or(Ok(Thinking::Unknown), |f| thinking(f, request))?,
            thoughts: thought.map_or(&[], |s| &s.thoughts),
            frames: frames.map_or(&[], Vec::as_slice),
            blocks: call.map_or(&[], |s| &s.blocks),
            calls: call.map_or(&[], |s| &s.calls),
            params: call.map_or(&[], |s| &s.params),
        })
    }

    /// The files of the pair; a file for both halves comes once.
    pub(crate) fn files(&self) -> impl Iterator<Item = &'a Format> {
        let second = self.tools.filter(|t| self.reasoning.is_none_or(|r| !std::ptr::eq(r, *t)));
        self.reasoning.into_iter().chain(second)
    }

    /// The files' settings for content.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &'a Content> {
        self.files().map(|f| &f.content)
    }

    /// The settings for messages, if the format is one of messages.
    pub(crate) fn channels(&self) -> Option<&'a Channels> {
        self.files().find_map(|f| f.channels.as_ref())
    }

    /// Whether blanks are allowed inside tags.
    pub(crate) fn loose(&self) -> bool {
        self.files().any(|f| f.tools.loose)
    }

    /// Whether thoughts are content.
    pub(crate) fn thinks_in_content(&self) -> bool {
        self.reasoning.is_some_and(|f| f.reasoning.into == Into::Content)
    }

    /// Markup that ends or changes a thought.
    pub(crate) fn in_thought(&self) -> Literals {
        let mut literals = self.thinking_markers();
        if let Some(file) = self.reasoning {
            literals.add(file.reasoning.ends.iter());
        }
        self.add_common(&mut literals);
        literals
    }

    /// Markup that plain content must not contain.
    pub(crate) fn in_content(&self) -> Literals {
        let mut literals = match self.thinking {
            Thinking::Unknown => Literals::new(self.loose()),
            _ if self.thinks_in_content() => Literals::new(self.loose()),
            _ => self.thinking_markers(),
        };
        for frame in self.frames {
            literals.add(frame.around(Slot::Content));
        }
        literals.add(self.call_markup());
        self.add_common(&mut literals);
        literals
    }

    /// Structure inside a value: the tags of parameters, calls and blocks, but not the value's own closer.
    pub(crate) fn in_value(&self) -> Literals {
        let mut literals = Literals::new(self.loose());
        literals.add(self.params.iter().filter_map(Template::first_literal).filter(|l| is_markup(l)));
        literals.add(self.call_markup());
        literals
    }

    /// A block's closers that are not punctuation: directly after a call's bracket they end it, even inside an open
    /// string.
    pub(crate) fn block_ends(&self) -> Vec<String> {
        let close = |block: &Template| literal_text(block.after(|s| s == Slot::Calls));
        let mut out = Vec::new();
        for text in self.blocks.iter().map(close) {
            out.extend(cuts(&text).into_iter().filter_map(|cut| match cut {
                Cut::Literal(literal) if is_word(literal) => Some(literal.to_owned()),
                _ => None,
            }));
        }
        out
    }

    /// Openers and closers of calls and blocks that are markup by themselves.
    fn call_markup(&self) -> impl Iterator<Item = &str> {
        let all = || self.blocks.iter().chain(self.calls);
        let closers = self
            .blocks
            .iter()
            .filter_map(|t| t.closer(|s| s == Slot::Calls))
            .chain(self.calls.iter().filter_map(|t| t.closer(Slot::is_body)));
        all().filter_map(Template::first_literal).chain(closers).filter(|l| is_markup(l))
    }

    fn thinking_markers(&self) -> Literals {
        let mut literals = Literals::new(self.loose());
        for thought in self.thoughts {
            literals.add(thought.around(Slot::Thought));
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

    /// The beginnings of calls whose opener is not markup by itself.
    pub(crate) fn plain_headers(&self) -> Vec<HeaderPattern> {
        let Some(file) = self.tools else { return Vec::new() };
        let only_at_start = file.tools.r#where == Where::Start;
        let mut openings = Vec::new();
        let mut add = |parts: &[Part], call: &Template| {
            openings.push(
                HeaderPattern::new(parts, call.body(), file.tools.loose)
                    .container(file.tools.envelope.container)
                    .only_at_start(only_at_start),
            );
        };
        for call in self.calls {
            let header = call.before(Slot::is_body);
            if call.first_literal().is_some_and(|l| !is_markup(l)) {
                add(header, call);
            }
            for block in self.blocks.iter().filter(|b| b.first_literal().is_some_and(|l| !is_markup(l))) {
                add(&[block.before(|s| s == Slot::Calls), header].concat(), call);
            }
        }
        openings
    }

    /// Name keys in JSON that is a call without any marker, if the format has such JSON.
    pub(crate) fn bare_json(&self) -> Option<&'a [String]> {
        let file = self.tools.filter(|f| f.tools.block.is_empty())?;
        let bare = self.calls.iter().any(|c| matches!(c.parts.first(), Some(Part::Slot(Slot::Envelope))));
        bare.then_some(&file.tools.envelope.name[..])
    }

    /// Whether rendered calls count only if nothing but white space precedes them.
    pub(crate) fn calls_at_start_only(&self) -> bool {
        let opener = self.blocks.first().or(self.calls.first()).and_then(Template::first_literal);
        self.tools.is_some_and(|f| f.tools.r#where == Where::Start) && !opener.is_some_and(is_markup)
    }
}

fn thinking(file: &Format, request: &Request) -> Result<Thinking, RenderError> {
    let on = thinks(&file.switches, &kwargs(request)).map_err(|e| RenderError::at("request", e.message))?;
    Ok(match (on, file.switches.off, file.start.state) {
        (false, Off::Plain, _) => Thinking::Unknown,
        (true, _, StartState::Reasoning) => Thinking::Open,
        _ => Thinking::Possible,
    })
}
