//! The facts for the checks and the verdict, collected once.

use unspool::Error;
use unspool::{DiagnosticKind, Half, Pair};

use super::input::Output;
use super::rank::{Entry, Ranking, Reader, Reading};
use super::stripped::{self, Stripped};
use super::{LONGEST, MOST_RANKED, Question};
use crate::border;
use crate::marks::{self, LookAlike};
use crate::names::{self, Found};
use crate::template::{self, Finding};

/// The facts.
#[derive(Debug)]
pub(super) struct Survey<'a> {
    pub(super) question: Question<'a>,
    pub(super) reader: Reader<'a>,
    /// The names of the halves, from the flags.
    pub(super) named: [Option<&'a str>; 2],
    /// The pair of these names, or its error; `None`: no name is given.
    pub(super) pair: Option<Result<Pair, Error>>,
    pub(super) ranking: Vec<Entry>,
    /// How the pair of the flags parses the outputs.
    pub(super) own: Option<Entry>,
    /// The names for the model, from its files or its id.
    pub(super) expected: [Option<Found>; 2],
    /// The differences between the template and the parsers of the flags (or the expected ones).
    pub(super) findings: Option<Vec<Finding>>,
    pub(super) views: Vec<View<'a>>,
}

/// One examined output.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) output: &'a Output,
    /// The result of the pair of the flags.
    pub(super) own: Option<Reading>,
    /// The result of the best pair.
    pub(super) best: Reading,
    pub(super) look_alikes: Vec<LookAlike>,
    pub(super) stripped: Option<Stripped>,
}

impl View<'_> {
    /// Whether the output ends inside a call.
    pub(super) fn ends_in_call(&self) -> bool {
        let cut =
            |reading: &Reading| reading.message.diagnostics.iter().any(|one| one.kind == DiagnosticKind::CallCutOff);
        cut(&self.best)
    }
}

impl<'a> Survey<'a> {
    pub(super) fn new(question: &Question<'a>) -> Result<Self, Error> {
        let formats = question.formats;
        let named = [
            question.reasoning_parser.or(question.served.and_then(|served| served.reasoning_parser.as_deref())),
            question.tool_call_parser.or(question.served.and_then(|served| served.tool_call_parser.as_deref())),
        ];
        let [reasoning, tools] = named;
        let outputs = &question.input.outputs;
        let prompt = question.prompt.or_else(|| outputs.iter().find_map(|output| output.prompt.as_deref()));
        let reader = Reader::new(formats, question.request, prompt)?;
        let texts: Vec<&str> = outputs.iter().take(MOST_RANKED).map(|output| cut(&output.raw)).collect();
        let registry = formats.registry();
        let expected = [Half::Reasoning, Half::Tools].map(|half| {
            let model = question.model.or(question.served.and_then(|served| served.model.as_deref()));
            let model = model.or_else(|| outputs.iter().find_map(|output| output.model.as_deref()));
            names::of_files(registry, half, &question.checkpoint).or_else(|| names::of_model(registry, half, model?))
        });
        let likely: Vec<&str> =
            reasoning.into_iter().chain(expected[0].as_ref().map(|found| found.name.as_str())).collect();
        let mut ranks = Ranking::new(&reader, &texts);
        let ranking = ranks.entries(&likely);
        let pair = named.iter().any(Option::is_some).then(|| formats.compose(reasoning, tools));
        let own = match &pair {
            Some(Ok(_)) => ranks.entry(reasoning, tools),
            _ => None,
        };
        let best = ranking.first().map(|best| (best.reasoning_parser.as_deref(), best.tool_call_parser.as_deref()));
        let best = best.and_then(|(reasoning, tools)| ranks.pair(reasoning, tools));
        let mut survey = Self {
            question: *question,
            named,
            pair,
            ranking,
            own,
            expected,
            findings: None,
            views: Vec::new(),
            reader: reader.clone(),
        };
        survey.views = outputs.iter().map(|output| survey.view(output, best.as_ref())).collect();
        survey.findings = survey.against_template();
        Ok(survey)
    }

    fn view(&self, output: &'a Output, best: Option<&Pair>) -> View<'a> {
        let text = cut(&output.raw);
        let read = |pair: &Pair| self.reader.read(pair, text, 0).unwrap_or_default();
        let own = match &self.pair {
            Some(Ok(pair)) => Some(read(pair)),
            _ => None,
        };
        let best = best.map(read).unwrap_or_default();
        let formats = self.question.formats;
        // A text that some format writes is not a look-alike of another one's marker.
        let known = |alike: &LookAlike| !formats.marks().iter().any(|mark| mark.contains(alike.found.as_str()));
        let look_alikes = marks::look_alikes(text, &self.wanted_marks()).into_iter().filter(known).collect();
        let tools: Vec<String> = match self.reader.knows_tools {
            true => self.reader.request.tools.definitions().map(|tool| tool.name.clone()).collect(),
            false => Vec::new(),
        };
        let read_by_own = own.as_ref().is_some_and(|own| !own.message.tool_calls.is_empty());
        let likely = self.named[1].or(self.expected[1].as_ref().map(|found| found.name.as_str()));
        let stripped = match read_by_own {
            true => None,
            false => stripped::find(formats, text, &tools, likely),
        };
        View { output, own, best, look_alikes, stripped }
    }

    /// The possible markers in the outputs: those of the flags or the model, otherwise of all formats.
    fn wanted_marks(&self) -> Vec<String> {
        let formats = self.question.formats;
        let mut out = Vec::new();
        for (half, at) in [(Half::Reasoning, 0), (Half::Tools, 1)] {
            let names = self.named[at].into_iter().chain(self.expected[at].as_ref().map(|found| found.name.as_str()));
            out.extend(names.filter_map(|name| formats.known(half, name)).flat_map(|known| known.marks.clone()));
        }
        if out.is_empty() { self.question.formats.marks().to_vec() } else { out }
    }

    /// Compares the template with the parsers of the flags, or with the expected ones.
    fn against_template(&self) -> Option<Vec<Finding>> {
        let prompter = self.question.prompter?;
        let name = |at: usize| self.named[at].or(self.expected[at].as_ref().map(|found| found.name.as_str()));
        let (reasoning, tools) = (name(0), name(1));
        let pair = match &self.pair {
            Some(Ok(pair)) => pair.clone(),
            _ => self.question.formats.compose(reasoning, tools).ok()?,
        };
        let named = [self.named[0].is_some(), self.named[1].is_some()];
        let any = named.contains(&true);
        let (reasoning, tools) = if any { (named[0], named[1]) } else { (reasoning.is_some(), tools.is_some()) };
        Some(template::Subject { prompter, pair: &pair, reasoning, tools }.findings())
    }

    /// The best entry of the ranking.
    pub(super) fn best(&self) -> Option<&Entry> {
        self.ranking.first()
    }

    /// All entries as good as the best.
    pub(super) fn ties(&self) -> impl Iterator<Item = &Entry> {
        self.ranking.iter().filter(|entry| entry.rank == 1)
    }

    /// Whether the parsers of the flags parse the outputs as well as the best ones.
    pub(super) fn reads_well(&self) -> bool {
        match (&self.own, self.best()) {
            (Some(own), Some(best)) => {
                own.valid_calls >= best.valid_calls
                    && own.calls >= best.calls
                    && own.markup_left <= best.markup_left
                    && own.repairs <= best.repairs
            }
            (None, Some(best)) => self.pair.is_none() && best.calls == 0 && best.markup_left == 0,
            _ => false,
        }
    }

    /// Whether there are tools to call.
    pub(super) fn wants_calls(&self) -> bool {
        self.reader.knows_tools && self.question.request["tool_choice"] != "none"
    }
}

/// The examined part of an output.
pub(super) fn cut(text: &str) -> &str {
    &text[..border::floor(text, LONGEST)]
}
