//! Timing: several contestants on the same deltas, in turns.

use std::hint::black_box;
use std::time::{Duration, Instant};

use unspool::{Delta, Message};

use crate::answer::Answer;
use crate::contest::{Contestant, Maker};
use crate::count::allocations;

/// A run that takes longer is given up.
const TOO_LONG: Duration = Duration::from_secs(2);
const LEAST_RUNS: usize = 3;

/// How long to measure.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    /// Everything is measured so often; the best run of all rounds counts.
    pub(crate) rounds: usize,
    /// In one round, a measurement is repeated for so long.
    pub(crate) each: Duration,
}

/// What one reply is, and what it should become.
#[derive(Clone, Copy)]
pub(crate) struct Reply<'a> {
    pub(crate) text: &'a str,
    pub(crate) message: &'a Message,
}

/// How a reply is handed over.
#[derive(Clone, Copy)]
pub(crate) enum Way<'a> {
    Deltas(&'a [Delta<'a>]),
    Whole,
    /// Whole, and the request is read and the parser made within the time.
    WithRequest(&'a serde_json::Value),
}

/// One contestant's way through one reply.
pub(crate) struct Trial<'a> {
    maker: &'a dyn Maker,
    way: Way<'a>,
    best: Duration,
    right: bool,
    given_up: bool,
}

/// What became of a measurement.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Outcome {
    /// The format is not read.
    Missing,
    /// Given up.
    TooLong,
    /// The best time, and whether the answer was right.
    Took(Duration, bool),
}

impl<'a> Trial<'a> {
    pub(crate) fn new(maker: &'a dyn Maker, way: Way<'a>) -> Self {
        Self { maker, way, best: Duration::MAX, right: true, given_up: false }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        if self.given_up { Outcome::TooLong } else { Outcome::Took(self.best, self.right) }
    }

    fn round(&mut self, reply: Reply<'_>, answer: &mut Answer, each: Duration) {
        let began = Instant::now();
        for run in 0.. {
            if self.given_up || run >= LEAST_RUNS && began.elapsed() > each {
                break;
            }
            answer.clear();
            let Some(took) = self.run(reply.text, answer) else {
                self.given_up = true;
                return;
            };
            self.best = self.best.min(took);
            if run == 0 {
                self.right &= answer.is(reply.message);
            }
            black_box(&answer.content);
            if took > each {
                break;
            }
        }
    }

    /// Once through the reply; `None`: it takes too long.
    fn run(&self, text: &str, answer: &mut Answer) -> Option<Duration> {
        let mut start = Instant::now();
        let mut parser = match self.way {
            Way::WithRequest(body) => self.maker.request(body),
            _ => self.maker.parser(),
        };
        match self.way {
            Way::Deltas(deltas) => {
                start = Instant::now();
                stream(&mut *parser, deltas, answer, start)?;
            }
            Way::Whole => {
                start = Instant::now();
                parser.whole(text, answer);
            }
            Way::WithRequest(_) => parser.whole(text, answer),
        }
        Some(start.elapsed())
    }
}

fn stream(parser: &mut dyn Contestant, deltas: &[Delta<'_>], answer: &mut Answer, start: Instant) -> Option<()> {
    for some in deltas.chunks(512) {
        for delta in some {
            parser.push(*delta, answer);
        }
        if start.elapsed() > TOO_LONG {
            return None;
        }
    }
    parser.finish(answer);
    Some(())
}

/// Runs the trials in rounds, so that a slow moment of the machine does not hit one alone.
pub(crate) fn run_all(trials: &mut [Trial<'_>], reply: Reply<'_>, patience: Patience) {
    let mut answer = Answer::for_message(reply.message, reply.text);
    for _ in 0..patience.rounds {
        for trial in &mut *trials {
            trial.round(reply, &mut answer, patience.each);
        }
    }
}

/// Calls of the allocator while the deltas are streamed.
pub(crate) fn allocations_of(maker: &dyn Maker, deltas: &[Delta<'_>], reply: Reply<'_>) -> Option<u64> {
    let mut answer = Answer::for_message(reply.message, reply.text);
    let mut parser = maker.parser();
    let before = allocations();
    stream(&mut *parser, deltas, &mut answer, Instant::now())?;
    Some(allocations() - before)
}
