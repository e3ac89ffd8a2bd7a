//! Runs every format on an output, and ranks the results.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};
use unspool::Error;
use unspool::{
    Delta, DiagnosticKind, FinishReason, Half, Message, Pair, Prompt, Request, Setup, ToolChoice, Vocabulary,
};

use super::formats::{Formats, Names, folded};
use crate::border;
use crate::calls::fits;

/// How well a pair parses the outputs. Equal `rank` is a tie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The reasoning half.
    pub reasoning_parser: Option<String>,
    /// The tools half.
    pub tool_call_parser: Option<String>,
    /// Number of calls.
    pub calls: usize,
    /// Number of calls that are complete, declared, and match their schema.
    pub valid_calls: usize,
    /// Number of anomalies.
    pub repairs: usize,
    /// Number of markers of reasoning and calls left in the text.
    pub markup_left: usize,
    /// From 1, the best.
    pub rank: usize,
}

/// The parser's inputs besides the output.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    pub(super) formats: &'a Formats,
    pub(super) request: Request,
    /// Whether the request's tools are known; if not, any name is accepted.
    pub(super) knows_tools: bool,
    pub(super) prompt: Option<&'a str>,
}

/// One output, as a pair parses it.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading {
    pub(super) message: Message,
}

/// The score of a pair; the least is the best.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    /// Valid calls, counted from above.
    missing: usize,
    /// All calls, counted from above.
    without: usize,
    repairs: usize,
    markup: usize,
}

impl<'a> Reader<'a> {
    /// A reader of outputs of a request; `fields` are those of the request.
    ///
    /// # Errors
    /// A field of the request with the wrong type.
    pub(super) fn new(formats: &'a Formats, fields: &Value, prompt: Option<&'a str>) -> Result<Self, Error> {
        let mut fields = fields.clone();
        let knows_tools = fields.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
        if !knows_tools {
            // Without tools there are no calls. An undeclared name only produces a diagnostic.
            fields["tools"] = json!([{"type": "function", "function": {"name": "_"}}]);
        }
        if fields["tool_choice"] == "none" {
            fields["tool_choice"] = json!("auto");
        }
        let mut request = Request::from_openai(&fields)?;
        request.id_seed = Some(0);
        Ok(Self { formats, request, knows_tools, prompt })
    }

    /// Parses an output in pieces of at least `size` bytes; 0: whole.
    pub(super) fn read(&self, pair: &Pair, text: &str, size: usize) -> Result<Reading, Error> {
        let mut parser = pair.parser(&self.request, self.prompt.map_or(Prompt::Unknown, Prompt::Text))?;
        let mut message = Message::default();
        let mut rest = text;
        while !rest.is_empty() {
            let end = if size == 0 { rest.len() } else { border::ceil(rest, size) };
            let (piece, after) = rest.split_at(end);
            parser.push(Delta::text(piece), &mut message);
            rest = after;
        }
        parser.finish(Some(FinishReason::Stop), &mut message);
        Ok(Reading { message })
    }

    /// Number of calls that are complete, declared, and match their schema.
    pub(super) fn valid_calls(&self, message: &Message) -> usize {
        let is_valid = |call: &&unspool::ToolCall| {
            if !self.knows_tools {
                return call.complete && fits(&call.arguments, &Value::Null);
            }
            let mut known = self.request.tools.definitions();
            let own = known.find(|tool| tool.name == call.name);
            own.is_some_and(|own| call.complete && fits(&call.arguments, &own.parameters))
        };
        message.tool_calls.iter().filter(is_valid).count()
    }
}

/// Ranks pairs of formats by how they parse some outputs.
#[derive(Debug)]
pub(super) struct Ranking<'a> {
    reader: &'a Reader<'a>,
    outputs: &'a [&'a str],
    /// The markers of all formats in the outputs.
    marks: Vec<String>,
    /// The outputs without blanks and in plain characters, for a quick check.
    folded: String,
    tried: HashMap<Names, Option<Entry>>,
}

impl<'a> Ranking<'a> {
    pub(super) fn new(reader: &'a Reader<'a>, outputs: &'a [&'a str]) -> Self {
        let stands = |mark: &&String| outputs.iter().any(|output| output.contains(mark.as_str()));
        let marks = reader.formats.marks().iter().filter(stands).cloned().collect();
        let folded = outputs.iter().map(|output| folded(output)).collect();
        Self { reader, outputs, marks, folded, tried: HashMap::new() }
    }

    /// How a pair parses the outputs; `None`: the pair is impossible.
    pub(super) fn entry(&mut self, reasoning: Option<&str>, tools: Option<&str>) -> Option<Entry> {
        let key = (reasoning.map(str::to_owned), tools.map(str::to_owned));
        if let Some(known) = self.tried.get(&key) {
            return known.clone();
        }
        let entry = self.tried_now(reasoning, tools);
        self.tried.insert(key, entry.clone());
        entry
    }

    /// The pair. Values from an unknown vocabulary are derived from the outputs.
    pub(super) fn pair(&self, reasoning: Option<&str>, tools: Option<&str>) -> Option<Pair> {
        let formats = self.reader.formats;
        let varies = |half, name: Option<&str>| {
            name.and_then(|name| formats.known(half, name)).is_some_and(|known| known.varies)
        };
        if !(varies(Half::Reasoning, reasoning) || varies(Half::Tools, tools)) {
            return formats.pair(reasoning, tools);
        }
        let tags = self.outputs.iter().flat_map(|output| tags(output));
        let setup = Setup {
            reasoning_parser: reasoning.map(str::to_owned),
            tool_parser: tools.map(str::to_owned),
            vocabulary: Vocabulary { special: tags.zip(1..).collect(), ..Vocabulary::default() },
            ..formats.base().clone()
        };
        formats.registry().pair(&setup).ok()
    }

    fn tried_now(&self, reasoning: Option<&str>, tools: Option<&str>) -> Option<Entry> {
        let pair = self.pair(reasoning, tools)?;
        let mut entry = Entry {
            reasoning_parser: reasoning.map(str::to_owned),
            tool_call_parser: tools.map(str::to_owned),
            calls: 0,
            valid_calls: 0,
            repairs: 0,
            markup_left: 0,
            rank: 0,
        };
        for output in self.outputs {
            let Reading { message } = self.reader.read(&pair, output, 0).ok()?;
            entry.calls += message.tool_calls.len();
            entry.valid_calls += self.reader.valid_calls(&message);
            entry.repairs += message.diagnostics.iter().filter(|one| is_repair(one.kind)).count();
            entry.markup_left += self.markup(&message.content) + self.markup(&message.reasoning);
        }
        Some(entry)
    }

    /// Number of markers in a text.
    fn markup(&self, text: &str) -> usize {
        self.marks.iter().map(|mark| text.matches(mark.as_str()).count()).sum()
    }

    /// All tools halves, each with the best reasoning half; if no half finds a call, the reasoning halves too. The best
    /// first. Of equivalent reasoning halves, one of the `likely` names is taken.
    pub(super) fn entries(&mut self, likely: &[&str]) -> Vec<Entry> {
        let formats = self.reader.formats;
        let may_think = |ranking: &Self, name: &str| {
            formats.known(Half::Reasoning, name).is_some_and(|known| known.may_speak(&ranking.folded))
        };
        // Guided calls are JSON, whatever the format.
        let forced = matches!(self.reader.request.tool_choice, ToolChoice::Required | ToolChoice::Named(_));
        let mut thinkers: Vec<Entry> = self.entry(None, None).into_iter().collect();
        let is_likely = |name: &str| likely.contains(&name);
        let mut halves: Vec<&str> = formats.all(Half::Reasoning).iter().map(|known| known.name.as_str()).collect();
        halves.retain(|name| may_think(self, name));
        halves.sort_by_key(|name| !is_likely(name));
        for name in halves {
            thinkers.extend(self.entry(Some(name), None));
        }
        let Some(best) = thinkers.iter().min_by_key(|entry| score(entry)).cloned() else { return Vec::new() };
        let mut out = Vec::new();
        for known in formats.all(Half::Tools) {
            if !forced && !known.may_speak(&self.folded) {
                out.push(Entry { tool_call_parser: Some(known.name.clone()), ..best.clone() });
                continue;
            }
            let mut halves: Vec<Option<&str>> = vec![None];
            halves.extend(known.partners.iter().filter(|name| may_think(self, name)).map(|name| Some(name.as_str())));
            if !halves.contains(&best.reasoning_parser.as_deref()) {
                halves.push(best.reasoning_parser.as_deref());
            }
            halves[1..].sort_by_key(|name| !name.is_some_and(is_likely));
            let tried = halves.into_iter().filter_map(|half| self.entry(half, Some(&known.name)));
            out.extend(tried.min_by_key(score));
        }
        if out.iter().all(|entry| entry.calls == 0) {
            out = thinkers;
        }
        ranked(out)
    }
}

/// The distinct tags of a text.
fn tags(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (start, _) in text.match_indices('<') {
        let end = text[start..].find(['>', ' ', '\n', '=']).filter(|end| text[start + end..].starts_with('>'));
        if let Some(tag) = end.filter(|end| *end < 64).map(|end| text[start..=start + end].to_owned())
            && !out.contains(&tag)
        {
            out.push(tag);
        }
    }
    out
}

/// The score of an entry.
fn score(entry: &Entry) -> Score {
    Score {
        missing: usize::MAX - entry.valid_calls,
        without: usize::MAX - entry.calls,
        repairs: entry.repairs,
        markup: entry.markup_left,
    }
}

/// Sorted and numbered.
fn ranked(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by(|a, b| {
        let names = |entry: &Entry| (entry.tool_call_parser.clone(), entry.reasoning_parser.clone());
        score(a).cmp(&score(b)).then_with(|| names(a).cmp(&names(b)))
    });
    let mut last: Option<(Score, usize)> = None;
    for (at, entry) in entries.iter_mut().enumerate() {
        let own = score(entry);
        entry.rank = match last {
            Some((score, rank)) if score == own => rank,
            _ => at + 1,
        };
        last = Some((own, entry.rank));
    }
    entries
}

/// Whether an anomaly is a repair of the output.
fn is_repair(kind: DiagnosticKind) -> bool {
    !matches!(kind, DiagnosticKind::BadSchema | DiagnosticKind::UnknownFunction | DiagnosticKind::CallFiltered)
}
