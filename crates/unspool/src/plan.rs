//! A compiled pair under one set of request switches.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::error::Error;
use crate::explanation::Explanation;
use crate::flow::tables::{Raw, Source, Tables};
use crate::format::file::{FormatFile, Required};
use crate::format::syntax::{Fault, Format};
use crate::request::{Request, ToolChoice};
use crate::response_template::{Halves, TemplateSpec};
use crate::setup::{Setup, Vocabulary};
use crate::special::{Special, Specials};

/// The data that all parsers of one pair and one set of switches share.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) tables: Tables,
    pub(crate) special: Specials,
    pub(crate) reasoning: Option<Format>,
    pub(crate) tools: Option<Format>,
    /// The checkpoint's own template, for a format that uses it.
    pub(crate) checkpoint: Option<Arc<TemplateSpec>>,
    vocabulary: Arc<Vocabulary>,
    /// Distinguishes plans with different keys.
    pub(crate) fingerprint: u64,
}

impl Plan {
    pub(crate) fn new(
        setup: &Setup,
        vocabulary: Arc<Vocabulary>,
        reasoning: Option<FormatFile>,
        tools: Option<FormatFile>,
        plain: bool,
    ) -> Result<Self, Fault> {
        let (reasoning, tools) = (reasoning.map(Format::new).transpose()?, tools.map(Format::new).transpose()?);
        let (thinker, caller) = (reasoning.as_ref().map(Format::words), tools.as_ref().map(Format::words));
        let checkpoint = checkpoint_template(setup, thinker.or(caller))?;
        let used = used_texts(thinker, caller);
        // A hidden token in a template is a marker; any other never shows.
        let hidden: Vec<String> =
            vocabulary.hidden.iter().filter(|text| !used.iter().any(|u| u.contains(text.as_str()))).cloned().collect();
        let raw = Raw::of(setup, thinker.or(caller));
        let source = Source {
            reasoning: reasoning.as_ref().filter(|_| raw != Raw::Thoughts),
            tools: tools.as_ref().filter(|_| raw != Raw::Answers),
            raw,
            special: &vocabulary.special,
            hidden: &hidden,
            declared: &vocabulary.hidden,
            plain,
        };
        let tables = Tables::new(&source)?;
        let special: HashMap<u32, Special> = vocabulary
            .special
            .iter()
            .map(|(text, id)| {
                let hidden = hidden.contains(text);
                let used = used.iter().any(|u| u.contains(text.as_str()));
                (*id, Special { text: text.clone(), hidden, used })
            })
            .collect();
        let special = Specials::new(special);
        let template = thinker.or(caller).and_then(|f| setup.tokenizer_config.get(f.checkpoint.as_ref()?));
        let fingerprint = fingerprint(&[thinker, caller], template, (plain, raw));
        Ok(Self { tables, special, reasoning, tools, checkpoint, vocabulary, fingerprint })
    }

    /// Whether to refuse requests that require guaranteed calls.
    pub(crate) fn refuses(&self) -> bool {
        self.tools.as_ref().is_some_and(|f| f.serve.required == Required::Refuse)
    }

    /// Refuses guarantees that need a grammar which the checkpoint's template cannot express.
    pub(crate) fn check_guarantees(&self, request: &Request, mute: bool) -> Result<(), Error> {
        if self.checkpoint.is_none() || !self.refuses() || mute {
            return Ok(());
        }
        let asked = match &request.tool_choice {
            ToolChoice::Required => Some("`tool_choice: \"required\"`"),
            ToolChoice::Named(_) => Some("a named `tool_choice`"),
            _ if request.tools.any_strict() => Some("a strict tool"),
            _ if request.parallel_tool_calls == Some(false) => Some("`parallel_tool_calls: false`"),
            _ => None,
        };
        match asked {
            Some(what) => Err(Error::request(&format!("response_template parsing cannot guarantee {what}"))
                .hint("leave it out, or serve this model with a parser of its own format")),
            None => Ok(()),
        }
    }

    /// Whether the tokens' bytes are known.
    #[inline]
    pub(crate) fn has_bytes(&self) -> bool {
        self.vocabulary.bytes.is_some()
    }

    /// Whether none of these tokens needs its own position: none is special, and no bytes are known to find boundaries.
    pub(crate) fn all_ordinary(&self, ids: &[u32]) -> bool {
        self.vocabulary.bytes.is_none() && !ids.iter().any(|id| self.special.contains(*id))
    }

    /// Bytes of a token.
    pub(crate) fn bytes(&self, id: u32) -> Option<&[u8]> {
        self.vocabulary.bytes.as_ref()?.get(id)
    }
}

/// A checksum of all keys: those of the files, and of the template that the checkpoint brings.
fn fingerprint(halves: &[Option<&FormatFile>], template: Option<&Value>, (plain, raw): (bool, Raw)) -> u64 {
    // The keys are strings, numbers and lists, which always serialise.
    sum(&serde_json::to_vec(&(halves, template, plain, raw)).unwrap_or_default())
}

/// FNV-1a: the same in every process, unlike the standard library's hashes.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

impl Raw {
    /// The part of a format with bound halves that passes through unparsed. With a checkpoint's template, everything
    /// does that its halves do not parse.
    fn of(setup: &Setup, format: Option<&FormatFile>) -> Self {
        if !setup.raw_rest || !format.is_some_and(|f| f.bound && f.checkpoint.is_none()) {
            return Self::Nothing;
        }
        match (&setup.reasoning_parser, &setup.tool_parser) {
            (Some(_), None) => Self::Answers,
            (None, Some(_)) => Self::Thoughts,
            _ => Self::Nothing,
        }
    }
}

/// The template that the checkpoint brings, if the format uses it.
fn checkpoint_template(setup: &Setup, format: Option<&FormatFile>) -> Result<Option<Arc<TemplateSpec>>, Fault> {
    let Some(key) = format.and_then(|f| f.checkpoint.as_deref()) else { return Ok(None) };
    let fault = |told: Explanation| ("checkpoint".to_owned(), told);
    let template =
        setup.tokenizer_config.get(key).filter(|t| !t.is_null()).ok_or_else(|| {
            fault(format!("this parser requires `{key}` metadata in the tokenizer configuration").into())
        })?;
    let spec = TemplateSpec::parse(template).map_err(fault)?;
    let halves = Halves { reasoning: setup.reasoning_parser.is_some(), tools: setup.tool_parser.is_some() };
    spec.serves(halves).map_err(fault)?;
    Ok(Some(Arc::new(spec)))
}

/// All texts in which a format may contain a special token.
fn used_texts(reasoning: Option<&FormatFile>, tools: Option<&FormatFile>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for format in reasoning.into_iter().chain(tools) {
        for list in [
            &format.reasoning.thought,
            &format.reasoning.ends,
            &format.content.frame,
            &format.content.drop,
            &format.tools.block,
            &format.tools.call,
            &format.tools.param,
            &format.tools.between,
            &format.tools.literals.string,
        ] {
            out.extend(list.iter().cloned());
        }
        out.extend(format.content.header.iter().cloned());
        out.push(format.tools.elements.open.clone());
        out.push(format.tools.elements.close.clone());
        if let Some(channels) = &format.channels {
            out.extend([channels.start.clone(), channels.body.clone()]);
            out.extend(channels.channel.iter().chain(&channels.r#type).cloned());
            out.extend(channels.end.iter().cloned());
        }
    }
    out
}
