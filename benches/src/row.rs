//! Everything that is measured of one pair of names.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::Value;
use unspool::{Half, Message, Prompt, Registry, Request, ToolCall, Vocabulary};

use crate::contest::{Floor, Maker, Unspool};
use crate::messages::Input;
use crate::names::{Names, body};
use crate::tokens::{Marks, Tokens};
use crate::trial::{Outcome, Patience, Reply, Trial, Way, allocations_of, run_all};

/// Bytes of the reply that is read together with its request.
const REPLY: usize = 8_000;
/// Bytes of the prompt that a parser gets.
const PROMPT: usize = 8_000;

/// What all rows share.
pub(crate) struct Task<'a> {
    pub(crate) inputs: Vec<&'a Input>,
    /// About this many tokens each.
    pub(crate) tokens: usize,
    pub(crate) patience: Patience,
    pub(crate) tools: Value,
}

/// One row.
pub(crate) struct Row {
    pub(crate) names: Names,
    /// For each input; or why this format cannot say it.
    pub(crate) cells: Vec<Result<Cell, String>>,
    pub(crate) request: RequestCost,
}

/// One pair on one input.
pub(crate) struct Cell {
    pub(crate) tokens: usize,
    pub(crate) bytes: usize,
    pub(crate) floor: Times,
    pub(crate) unspool: Times,
    /// One token a delta, with its id.
    pub(crate) with_ids: Outcome,
    /// Eight tokens a delta, with their ids.
    pub(crate) eight_with_ids: Outcome,
    /// Calls of the allocator while the tokens are streamed one by one.
    pub(crate) allocations: u64,
    pub(crate) smg: Times,
    pub(crate) dynamo: Times,
}

/// One contestant's times.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) one: Outcome,
    pub(crate) eight: Outcome,
    pub(crate) whole: Outcome,
}

/// What a request costs before its output comes.
pub(crate) struct RequestCost {
    /// A parser for a request that is read already.
    pub(crate) parser: Duration,
    /// The same with a long prompt.
    pub(crate) prompted: Duration,
    /// Request, parser and a whole reply, by each contestant.
    pub(crate) unspool: Outcome,
    pub(crate) smg: Outcome,
    pub(crate) dynamo: Outcome,
}

const MISSING: Times = Times { one: Outcome::Missing, eight: Outcome::Missing, whole: Outcome::Missing };

/// One pair, ready to be measured.
struct Subject<'a> {
    task: &'a Task<'a>,
    names: &'a Names,
    body: Value,
    request: Request,
    marks: Marks,
    /// Knows no ids.
    unspool: Unspool,
    /// Knows the ids of the format's marks.
    knowing: Unspool,
    smg: Option<Box<dyn Maker>>,
    dynamo: Option<Box<dyn Maker>>,
}

pub(crate) fn measure(names: &Names, task: &Task<'_>) -> Row {
    let subject = Subject::new(names, task);
    let cells = task.inputs.iter().map(|input| subject.cell(input)).collect();
    Row { names: names.clone(), cells, request: subject.request_cost() }
}

/// Streams each input through unspool alone, for so long each: for a profiler to look at.
pub(crate) fn spin(names: &Names, task: &Task<'_>, each: Duration) {
    let subject = Subject::new(names, task);
    for input in &task.inputs {
        let Ok((text, message)) = subject.names.write(&input.message(task.tokens * 4), &subject.request) else {
            continue;
        };
        let tokens = Tokens::of(&text, &subject.marks);
        let deltas = tokens.deltas(1, false);
        let mut trials = [Trial::new(&subject.unspool, Way::Deltas(&deltas))];
        run_all(&mut trials, Reply { text: &text, message: &message }, Patience { rounds: 1, each });
    }
}

impl<'a> Subject<'a> {
    fn new(names: &'a Names, task: &'a Task<'a>) -> Self {
        let body = body(&task.tools);
        let request = Request::from_openai(&body).expect("a good request");
        let plain = plain(names, &request);
        let marks = Marks::of(&plain);
        let with = |vocabulary| Unspool { pair: names.pair(vocabulary), request: request.clone() };
        let (unspool, knowing) = (with(Vocabulary::default()), with(marks.vocabulary()));
        let (smg, dynamo) = (smg(names, &plain, &task.tools), dynamo(names, &plain, &task.tools));
        Self { task, names, body, request, marks, unspool, knowing, smg, dynamo }
    }

    fn cell(&self, input: &Input) -> Result<Cell, String> {
        let (text, message) = self.names.write(&input.message(self.task.tokens * 4), &self.request)?;
        let reply = Reply { text: &text, message: &message };
        let tokens = Tokens::of(&text, &self.marks);
        let (one, eight) = (tokens.deltas(1, false), tokens.deltas(8, false));
        let (one_id, eight_ids) = (tokens.deltas(1, true), tokens.deltas(8, true));
        let ways = [Way::Deltas(&one), Way::Deltas(&eight), Way::Whole];
        let both: [&dyn Maker; 2] = [&Floor, &self.unspool];
        let mut trials: Vec<Trial<'_>> =
            ways.iter().flat_map(|way| both.map(|maker| Trial::new(maker, *way))).collect();
        trials.extend([&one_id, &eight_ids].map(|ids| Trial::new(&self.knowing, Way::Deltas(ids))));
        run_all(&mut trials, reply, self.task.patience);
        let took: Vec<Outcome> = trials.iter().map(Trial::outcome).collect();
        Ok(Cell {
            tokens: tokens.count(),
            bytes: text.len(),
            floor: Times { one: took[0], eight: took[2], whole: took[4] },
            unspool: Times { one: took[1], eight: took[3], whole: took[5] },
            with_ids: took[6],
            eight_with_ids: took[7],
            allocations: allocations_of(&self.unspool, &one, reply).unwrap_or(u64::MAX),
            smg: self.rival(self.smg.as_deref(), &ways, reply),
            dynamo: self.rival(self.dynamo.as_deref(), &ways, reply),
        })
    }

    /// Others are slower by so much that one round has to do.
    fn rival(&self, maker: Option<&dyn Maker>, ways: &[Way<'_>; 3], reply: Reply<'_>) -> Times {
        let Some(maker) = maker else { return MISSING };
        let mut trials = ways.map(|way| Trial::new(maker, way));
        run_all(&mut trials, reply, Patience { rounds: 1, ..self.task.patience });
        let [one, eight, whole] = trials.map(|trial| trial.outcome());
        Times { one, eight, whole }
    }

    fn request_cost(&self) -> RequestCost {
        let (pair, request) = (&self.unspool.pair, &self.request);
        let prompt = prompt(self.names);
        let took = |prompt| nanoseconds(|| drop(black_box(pair.parser(request, prompt))), self.task.patience);
        let (parser, prompted) = (took(Prompt::Unknown), took(Prompt::Text(&prompt)));
        let outcomes = self.whole_replies().unwrap_or([Outcome::Missing; 3]);
        RequestCost { parser, prompted, unspool: outcomes[0], smg: outcomes[1], dynamo: outcomes[2] }
    }

    fn whole_replies(&self) -> Result<[Outcome; 3], String> {
        let turn = crate::messages::INPUTS[0].message(REPLY);
        let (text, message) = self.names.write(&turn, &self.request)?;
        let reply = Reply { text: &text, message: &message };
        let makers: [Option<&dyn Maker>; 3] = [Some(&self.unspool), self.smg.as_deref(), self.dynamo.as_deref()];
        let mut trials: Vec<Trial<'_>> =
            makers.iter().flatten().map(|maker| Trial::new(*maker, Way::WithRequest(&self.body))).collect();
        run_all(&mut trials, reply, self.task.patience);
        let mut took = trials.iter().map(Trial::outcome);
        Ok(makers.map(|maker| maker.and_then(|_| took.next()).unwrap_or(Outcome::Missing)))
    }
}

/// What the format writes for a small message, where everything else is words.
fn plain(names: &Names, request: &Request) -> String {
    let arguments = "{\"harbour\": \"Looe\", \"days\": 3}".to_owned();
    let call = ToolCall { name: "tide".into(), arguments, complete: true, ..ToolCall::default() };
    let calls = if names.tools.is_some() { vec![call.clone(), call] } else { Vec::new() };
    let message = Message { reasoning: "Hm.".into(), content: "Yes.".into(), tool_calls: calls, ..Message::default() };
    let (text, _) = names.write(&message, request).unwrap_or_else(|e| panic!("{}: {e}", names.shown()));
    text
}

/// A long prompt. The turn's header stands near its end, and what the turn begins with behind it.
fn prompt(names: &Names) -> String {
    let registry = Registry::builtin();
    let halves = [(Half::Reasoning, &names.reasoning), (Half::Tools, &names.tools)];
    let words = |(half, name): (Half, &Option<String>)| registry.words(half, name.as_deref()?).ok();
    let header = halves.into_iter().filter_map(words).find_map(|words| words.start.turn.first().cloned());
    let user = include_str!("../texts/markdown.md");
    format!("{}\n{}Let me see. ", user.repeat(PROMPT / user.len()), header.unwrap_or_default())
}

/// The least time of one call, in batches.
pub(crate) fn nanoseconds(mut what: impl FnMut(), patience: Patience) -> Duration {
    const BATCH: u32 = 16;
    const LEAST: usize = 20;
    let (began, mut best) = (Instant::now(), Duration::MAX);
    for batch in 0.. {
        if batch >= LEAST && began.elapsed() > patience.each {
            break;
        }
        let start = Instant::now();
        for _ in 0..BATCH {
            what();
        }
        best = best.min(start.elapsed() / BATCH);
    }
    best
}

#[cfg(feature = "rivals")]
use crate::rivals::{dynamo, smg};

#[cfg(not(feature = "rivals"))]
fn smg(names: &Names, _sample: &str, _tools: &Value) -> Option<Box<dyn Maker>> {
    let _ = names.smg;
    None
}

#[cfg(not(feature = "rivals"))]
fn dynamo(names: &Names, _sample: &str, _tools: &Value) -> Option<Box<dyn Maker>> {
    let _ = names.dynamo;
    None
}
