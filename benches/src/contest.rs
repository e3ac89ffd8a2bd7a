//! The contestants: the floor, unspool, and the others.

use unspool::Pair;
use unspool::{Delta, Parser, Prompt, Request};

use crate::answer::Answer;
use crate::input::Format;

/// A parser of one reply.
pub(crate) trait Contestant {
    /// The next piece of output.
    fn push(&mut self, piece: &str, answer: &mut Answer);
    /// The output is over.
    fn finish(&mut self, answer: &mut Answer);
    /// The whole output at once, where that is another way through the code.
    fn whole(&mut self, text: &str, answer: &mut Answer) {
        self.push(text, answer);
        self.finish(answer);
    }
}

/// The least that any parser must do: look for a marker's first byte, and copy.
pub(crate) struct Floor(usize);

impl Contestant for Floor {
    #[inline(never)]
    fn push(&mut self, piece: &str, answer: &mut Answer) {
        self.0 += usize::from(memchr::memchr(b'<', piece.as_bytes()).is_some());
        answer.content.push_str(piece);
    }

    fn finish(&mut self, _answer: &mut Answer) {
        std::hint::black_box(self.0);
    }
}

impl Contestant for Parser {
    fn push(&mut self, piece: &str, answer: &mut Answer) {
        Parser::push(self, Delta::text(piece), answer);
    }

    fn finish(&mut self, answer: &mut Answer) {
        Parser::finish(self, None, answer);
    }
}

/// Makes a new parser for each run; `None`: the format is not supported.
pub(crate) type Maker = Option<Box<dyn Fn() -> Box<dyn Contestant>>>;

/// All contestants for a format whose text is like `sample`, in the order of the table.
pub(crate) fn makers(format: &Format, pair: &Pair, request: &Request, sample: &str) -> Vec<Maker> {
    let (pair, request) = (pair.clone(), request.clone());
    let unspool = move || Box::new(pair.parser(&request, Prompt::Unknown).expect("a parser")) as Box<dyn Contestant>;
    vec![Some(Box::new(|| Box::new(Floor(0)))), Some(Box::new(unspool)), smg(format, sample), dynamo(format, sample)]
}

#[cfg(feature = "rivals")]
use crate::rivals::{dynamo, smg};

#[cfg(not(feature = "rivals"))]
fn smg(format: &Format, _sample: &str) -> Maker {
    let _ = format.smg;
    None
}

#[cfg(not(feature = "rivals"))]
fn dynamo(format: &Format, _sample: &str) -> Maker {
    let _ = format.dynamo;
    None
}
