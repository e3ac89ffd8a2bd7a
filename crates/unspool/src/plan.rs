//! A compiled pair under one set of request switches.

use std::collections::HashMap;
use std::sync::Arc;

use crate::align::{Special, Specials};
use crate::flow::tables::{Source, Tables};
use crate::format::file::FormatFile;
use crate::limits::Limits;
use crate::setup::{Setup, Vocabulary};

/// What every parser of one pair and one set of switches shares.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) tables: Tables,
    pub(crate) limits: Limits,
    pub(crate) special: Specials,
    pub(crate) reasoning: Option<FormatFile>,
    pub(crate) tools: Option<FormatFile>,
    vocabulary: Arc<Vocabulary>,
}

impl Plan {
    pub(crate) fn new(
        setup: &Setup,
        vocabulary: Arc<Vocabulary>,
        reasoning: Option<FormatFile>,
        tools: Option<FormatFile>,
        plain: bool,
    ) -> Result<Self, (String, String)> {
        let used = used_texts(reasoning.as_ref(), tools.as_ref());
        // A hidden token that a template writes is a marker; any other never shows.
        let hidden: Vec<String> =
            vocabulary.hidden.iter().filter(|text| !used.iter().any(|u| u.contains(text.as_str()))).cloned().collect();
        let source = Source {
            reasoning: reasoning.as_ref(),
            tools: tools.as_ref(),
            special: &vocabulary.special,
            hidden: &hidden,
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
        Ok(Self { tables, limits: setup.limits.clone(), special, reasoning, tools, vocabulary })
    }

    /// Bytes of a token.
    pub(crate) fn bytes(&self, id: u32) -> Option<&[u8]> {
        self.vocabulary.bytes.as_ref()?.get(&id).map(Vec::as_slice)
    }
}

/// All texts in which a format may use a special token.
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
