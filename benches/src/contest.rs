//! The contestants: the floor, unspool, and the others.

use serde_json::Value;
use unspool::Pair;
use unspool::{Delta, Parser, Prompt, Request};

use crate::answer::Answer;

/// A parser of one reply.
pub(crate) trait Contestant {
    /// The next piece of output.
    fn push(&mut self, delta: Delta<'_>, answer: &mut Answer);
    /// The output is over.
    fn finish(&mut self, answer: &mut Answer);
    /// The whole output at once, where that is another way through the code.
    fn whole(&mut self, text: &str, answer: &mut Answer) {
        self.push(Delta::text(text), answer);
        self.finish(answer);
    }
}

/// Makes parsers, as a server does that has set up its format.
pub(crate) trait Maker {
    /// A parser for the request that every table uses, which is read already.
    fn parser(&self) -> Box<dyn Contestant>;
    /// Reads a client's request, and makes a parser for it.
    fn request(&self, body: &Value) -> Box<dyn Contestant>;
}

/// The least that any parser must do: look at every byte for a marker's first, and copy.
pub(crate) struct Floor;

struct FloorParser(usize);

impl Contestant for FloorParser {
    #[inline(never)]
    fn push(&mut self, delta: Delta<'_>, answer: &mut Answer) {
        let text = delta.text.unwrap_or_default();
        self.0 += memchr::memchr_iter(b'<', text.as_bytes()).count();
        answer.content.push_str(text);
    }

    fn finish(&mut self, _answer: &mut Answer) {
        std::hint::black_box(self.0);
    }
}

impl Maker for Floor {
    fn parser(&self) -> Box<dyn Contestant> {
        Box::new(FloorParser(0))
    }

    fn request(&self, _body: &Value) -> Box<dyn Contestant> {
        self.parser()
    }
}

impl Contestant for Parser {
    fn push(&mut self, delta: Delta<'_>, answer: &mut Answer) {
        Parser::push(self, delta, answer);
    }

    fn finish(&mut self, answer: &mut Answer) {
        Parser::finish(self, None, answer);
    }
}

/// unspool, its pair compiled.
pub(crate) struct Unspool {
    pub(crate) pair: Pair,
    pub(crate) request: Request,
}

impl Maker for Unspool {
    fn parser(&self) -> Box<dyn Contestant> {
        Box::new(self.pair.parser(&self.request, Prompt::Unknown).expect("a parser"))
    }

    fn request(&self, body: &Value) -> Box<dyn Contestant> {
        let request = Request::from_openai(body).expect("a good request");
        Box::new(self.pair.parser(&request, Prompt::Unknown).expect("a parser"))
    }
}
