//! Times unspool beside a copy, and beside other streaming parsers; prints RESULTS.md's tables.
//!
//! `cargo run --release [--features rivals] [-- NAME…]`; the names keep to some tool parsers.

mod answer;
mod contest;
mod count;
mod input;
#[cfg(feature = "rivals")]
mod rivals;

use std::hint::black_box;
use std::time::{Duration, Instant};

use unspool::{Message, Request};

use crate::answer::Answer;
use crate::contest::{Contestant, Maker, makers};
use crate::count::{Counting, allocations};
use crate::input::{FORMATS, Format, arguments_alone, pieces, request, text_alone, turn};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SIZES: [usize; 4] = [1_000, 4_000, 16_000, 64_000];
/// Tokens of the texts whose allocations are counted.
const COUNTED: usize = 4_000;
/// Everything is measured so often; the best run of all rounds counts.
const ROUNDS: usize = 3;
/// In one round, a measurement is repeated for so long.
const PATIENCE: Duration = Duration::from_millis(150);
/// A run that takes longer is given up.
const TOO_LONG: Duration = Duration::from_secs(5);
const MOST_RUNS: usize = 200;
/// Parsers made for the cost of a request.
const REQUESTS: u32 = 2_000;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let formats: Vec<&Format> =
        FORMATS.iter().filter(|f| wanted.is_empty() || wanted.iter().any(|name| name == f.tools)).collect();
    let request = request();
    println!("Streaming in ns a token, whole texts in MB/s.\n");
    println!(
        "| syntax | reasoning / tools | tokens | floor | unspool | ratio | smg | dynamo | whole: unspool | smg | dynamo |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for format in &formats {
        for size in SIZES {
            times(format, &request, size);
        }
    }
    println!("\nAllocations of {COUNTED} streamed tokens, and ns to make a parser for a request.\n");
    println!(
        "| tools | thought and content: unspool | smg | dynamo | arguments: unspool | smg | dynamo | request: unspool | smg | dynamo |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for format in &formats {
        costs(format, &request);
    }
}

/// One row of the first table.
fn times(format: &Format, request: &Request, size: usize) {
    let pair = format.pair();
    let message = turn(size);
    let text = match pair.render(&message, request) {
        Ok(text) => text,
        Err(error) => {
            println!("| {} | {} | {size} | not rendered: {error} |", format.syntax, format.tools);
            return;
        }
    };
    let pieces = pieces(&text);
    let makers = makers(format, &pair, request, &text);
    let mut streamed: Vec<Outcome> = makers.iter().map(|_| Outcome::Missing).collect();
    let mut whole: Vec<Outcome> = makers.iter().map(|_| Outcome::Missing).collect();
    // In rounds, so that a slow moment of the machine does not hit one contestant alone.
    for _ in 0..ROUNDS {
        for (index, maker) in makers.iter().enumerate() {
            streamed[index].improve(best(maker, &message, &text, |parser, answer| stream(parser, &pieces, answer)));
            whole[index].improve(best(maker, &message, &text, |parser, answer| {
                parser.whole(&text, answer);
                true
            }));
        }
    }
    let per_token = |took: Duration| took.as_nanos() as f64 / pieces.len() as f64;
    let ratio = match (&streamed[0], &streamed[1]) {
        (Outcome::Took(floor, _), Outcome::Took(unspool, _)) => per_token(*unspool) / per_token(*floor),
        _ => f64::NAN,
    };
    let streamed: Vec<String> = streamed.iter().enumerate().map(|(i, o)| o.show(i > 0, per_token)).collect();
    let megabytes = |took: Duration| text.len() as f64 / 1e6 / took.as_secs_f64();
    let whole: Vec<String> = whole.iter().map(|o| o.show(true, megabytes)).collect();
    println!(
        "| {} | {} / {} | {size} | {} | {} | {ratio:.1} | {} | {} | {} | {} | {} |",
        format.syntax,
        format.reasoning,
        format.tools,
        streamed[0],
        streamed[1],
        streamed[2],
        streamed[3],
        whole[1],
        whole[2],
        whole[3]
    );
}

/// What became of a measurement.
enum Outcome {
    /// The format is not supported.
    Missing,
    /// Given up.
    TooLong,
    /// The best time, and whether the answer was right.
    Took(Duration, bool),
}

impl Outcome {
    /// Takes another round's measurement in.
    fn improve(&mut self, other: Self) {
        *self = match (&*self, other) {
            (Self::TooLong, _) => Self::TooLong,
            (Self::Took(a, right), Self::Took(b, also)) => Self::Took((*a).min(b), *right && also),
            (_, other) => other,
        };
    }

    fn show(&self, judged: bool, number: impl Fn(Duration) -> f64) -> String {
        match self {
            Self::Missing => "-".to_owned(),
            Self::TooLong => format!("over {} s", TOO_LONG.as_secs()),
            Self::Took(took, right) => {
                let wrong = if judged && !right { " ✗" } else { "" };
                let number = number(*took);
                let digits = usize::from(number < 100.0);
                format!("{number:.digits$}{wrong}")
            }
        }
    }
}

/// The best of several runs. `run` says whether it came to the end.
fn best(
    maker: &Maker,
    message: &Message,
    text: &str,
    run: impl Fn(&mut dyn Contestant, &mut Answer) -> bool,
) -> Outcome {
    let Some(maker) = maker else { return Outcome::Missing };
    let (mut best, mut right) = (Duration::MAX, true);
    let began = Instant::now();
    for _ in 0..MOST_RUNS {
        let (mut parser, mut answer) = (maker(), Answer::for_text(text));
        let start = Instant::now();
        let ended = run(&mut *parser, &mut answer);
        best = best.min(start.elapsed());
        if !ended {
            return Outcome::TooLong;
        }
        right &= answer.is(message);
        black_box(&answer.content);
        if began.elapsed() > PATIENCE {
            break;
        }
    }
    Outcome::Took(best, right)
}

/// Streams the pieces; false: it took too long.
fn stream(parser: &mut dyn Contestant, pieces: &[&str], answer: &mut Answer) -> bool {
    let start = Instant::now();
    for some in pieces.chunks(512) {
        for piece in some {
            parser.push(piece, answer);
        }
        if start.elapsed() > TOO_LONG {
            return false;
        }
    }
    parser.finish(answer);
    true
}

/// One row of the second table.
fn costs(format: &Format, request: &Request) {
    let mut cells = Vec::new();
    let pair = format.pair();
    for message in [text_alone(COUNTED), arguments_alone(COUNTED)] {
        let Ok(text) = pair.render(&message, request) else {
            cells.extend(["cannot be rendered", "-", "-"].map(String::from));
            continue;
        };
        let pieces = pieces(&text);
        for maker in &makers(format, &pair, request, &text)[1..] {
            cells.push(maker.as_ref().map_or("-".to_owned(), |maker| {
                let (mut parser, mut answer) = (maker(), Answer::for_text(&text));
                let before = allocations();
                let ended = stream(&mut *parser, &pieces, &mut answer);
                let count = allocations() - before;
                if ended { count.to_string() } else { format!("over {count}") }
            }));
        }
    }
    for maker in &makers(format, &pair, request, "")[1..] {
        cells.push(maker.as_ref().map_or("-".to_owned(), |maker| {
            let start = Instant::now();
            for _ in 0..REQUESTS {
                black_box(maker());
            }
            (start.elapsed() / REQUESTS).as_nanos().to_string()
        }));
    }
    println!("| {} | {} |", format.tools, cells.join(" | "));
}
