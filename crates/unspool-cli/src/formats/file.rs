//! `unspool formats FILE`: runs the examples of the user's own format file.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use unspool::format::file::{Example, FormatFile};
use unspool::{Delta, FinishReason, Half, Message, Prompt, Registry, Request, Setup};

use crate::failure::{Failure, warn};
use crate::files;

/// The result for a file.
#[derive(Debug, Serialize)]
pub(super) struct Tried {
    file: String,
    reasoning: Vec<String>,
    tools: Vec<String>,
    /// The differences of each example; none: it passes.
    examples: Vec<Vec<String>>,
}

/// Whether a name means a file.
pub(super) fn is_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// Loads a file and runs its examples.
pub(super) fn tried(registry: &mut Registry, path: &str) -> Result<Tried, Failure> {
    let known = registry.warnings().len();
    let names = registry.add(path, &files::text("FILE", Path::new(path))?)?;
    for warning in &registry.warnings()[known..] {
        warn(&warning.message, warning.hint.as_deref());
    }
    let of = |half: Half| names.iter().filter(|(h, _)| *h == half).map(|(_, name)| name.clone()).collect::<Vec<_>>();
    let (reasoning, tools) = (of(Half::Reasoning), of(Half::Tools));
    let words = match (reasoning.first(), tools.first()) {
        (Some(name), _) => registry.words(Half::Reasoning, name)?,
        (None, Some(name)) => registry.words(Half::Tools, name)?,
        (None, None) => FormatFile::default(),
    };
    let examples =
        words.example.iter().map(|example| differences(registry, &words, example)).collect::<Result<_, _>>()?;
    Ok(Tried { file: path.to_owned(), reasoning, tools, examples })
}

impl Tried {
    pub(super) fn is_true(&self) -> bool {
        self.examples.iter().all(Vec::is_empty)
    }

    pub(super) fn told(&self) -> String {
        let mut out = format!("{:11}{}\n", "file", self.file);
        for (half, names) in [(Half::Reasoning, &self.reasoning), (Half::Tools, &self.tools)] {
            for name in names {
                let _ = writeln!(out, "{:11}{} {name}", "name", half.flag());
            }
        }
        for (i, faults) in self.examples.iter().enumerate() {
            let _ = writeln!(out, "example {:<3}{}", i + 1, if faults.is_empty() { "true" } else { "read otherwise:" });
            for fault in faults {
                let _ = writeln!(out, "{:11}{fault}", "");
            }
        }
        if self.examples.is_empty() {
            out.push_str("           no examples; write an `[[example]]` for each thing that the format can say\n");
        }
        out
    }
}

/// The differences between an example's expected and actual result, parsed whole and character by character.
fn differences(registry: &Registry, words: &FormatFile, example: &Example) -> Result<Vec<String>, Failure> {
    let names = example.parsers(words);
    let setup = Setup {
        reasoning_parser: names.reasoning,
        tool_parser: names.tools,
        tokenizer_config: example.tokenizer_config.clone(),
        ..Setup::default()
    };
    let pair = registry.pair(&setup)?;
    let request = Request::from_openai(&example.request())?;
    let prompt = example.prompt.as_deref().map_or(Prompt::Unknown, Prompt::Text);
    let read = |pieces: &[&str]| -> Result<Message, Failure> {
        let mut message = Message::default();
        let mut parser = pair.parser(&request, prompt)?;
        for piece in pieces {
            parser.push(Delta::text(piece), &mut message);
        }
        parser.finish(Some(FinishReason::Stop), &mut message);
        Ok(message)
    };
    let whole = read(&[&example.text])?;
    let characters: Vec<&str> = example.text.split_inclusive(|_: char| true).collect();
    let mut faults = faults(example, &whole);
    if faults.is_empty() {
        faults = self::faults(example, &read(&characters)?);
    }
    Ok(faults)
}

fn faults(example: &Example, message: &Message) -> Vec<String> {
    let mut faults = Vec::new();
    let mut compare = |what: &str, right: String, read: String| {
        if right != read {
            faults.push(format!("{what}: {read}, not {right}"));
        }
    };
    let quoted = |text: &str| Value::from(text).to_string();
    let expected = |text: &Option<String>| quoted(text.as_deref().unwrap_or_default());
    compare("reasoning", expected(&example.reasoning), quoted(&message.reasoning));
    compare("content", expected(&example.content), quoted(&message.content));
    compare("calls", example.calls.len().to_string(), message.tool_calls.len().to_string());
    for (right, read) in example.calls.iter().zip(&message.tool_calls) {
        let arguments = serde_json::from_str(&read.arguments).unwrap_or_else(|_| Value::from(read.arguments.as_str()));
        compare("call", format!("{}({})", right.name, right.arguments), format!("{}({arguments})", read.name));
    }
    faults
}
