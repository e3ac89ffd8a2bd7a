//! Runs the examples of a file in every split.

use unspool::{Registry, Request, Setup};

use super::reading::{Reader, faults};
use super::trial::{Line, Step, Subject};
use crate::diagnose::Outcome;

/// The result of all examples of the file, with the differences of those that fail.
pub(super) fn line(registry: &Registry, subjects: &[Subject]) -> Line {
    let Some(words) = subjects.first().map(|subject| &subject.words) else {
        return Line::new(Step::Examples, Outcome::Unknown, "no pair can be tried without its checkpoint");
    };
    let mut wrong = Vec::new();
    for (number, example) in words.example.iter().enumerate() {
        let names = example.parsers(words);
        let setup = Setup {
            reasoning_parser: names.reasoning,
            tool_parser: names.tools,
            tokenizer_config: example.tokenizer_config.clone(),
            ..Setup::default()
        };
        let told = |fault: String| format!("example {}: {fault}", number + 1);
        let tried = || -> Result<Vec<String>, String> {
            let pair = registry.pair(&setup).map_err(|error| error.message)?;
            let request = Request::from_openai(&example.request()).map_err(|error| error.message)?;
            let request = Request { id_seed: Some(0), ..request };
            let reader = Reader { pair: &pair, request: &request, prompt: example.prompt.as_deref() };
            let whole = reader.whole(&example.text).map_err(|error| error.message)?;
            let mut out = faults(example, &whole);
            if out.is_empty()
                && let Some((how, read)) =
                    reader.changed_anywhere(&example.text, &whole).map_err(|error| error.message)?
            {
                out.push(format!("{how} it is read otherwise: {}", faults(example, &read).join(", ")));
            }
            Ok(out)
        };
        wrong.extend(tried().unwrap_or_else(|fault| vec![fault]).into_iter().map(told));
    }
    match words.example.len() {
        0 => Line::new(
            Step::Examples,
            Outcome::Fail,
            "there are none: write an `[[example]]` for each thing that the format can say",
        ),
        count => {
            let good = format!("{count} {} true in every cut", if count == 1 { "is" } else { "are" });
            Line::of_faults(Step::Examples, good, "not all are true", wrong)
        }
    }
}
