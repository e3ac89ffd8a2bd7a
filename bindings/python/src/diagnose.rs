//! Why calls or reasoning do not arrive: the checks of `unspool diagnose`.

use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::Value;
use unspool::{Checkpoint, Setup};
use unspool_check::diagnose::{Formats, Input, Question, Report, Served};
use unspool_check::template::prompter;
use unspool_text::{Prompter, model_dir};

use crate::error::Fault;
use crate::formats::registry;
use crate::request;
use crate::vocabulary::Vocabulary;

/// The inputs besides the output.
struct Asked<'a> {
    names: [Option<&'a str>; 2],
    request: Value,
    prompt: Option<&'a str>,
    model: Option<&'a str>,
    served: Option<Served>,
}

/// Finds out why calls or reasoning do not arrive: makes nine checks, ranks all formats by how well they parse the
/// output, and ends with one verdict. Returns what `unspool diagnose --json` prints, as a dict (`unspool.Diagnosis`).
///
/// `output` is raw output, the body of a chat completion, completion, response or message (text or dict), a log of
/// server-sent events, or JSON lines; only the first 200 answers are used. `reasoning` and `tool_calls` are the names
/// of the two parsers in use. `tools` and `request` belong to the request; `prompt` is the rendered prompt or its end.
/// `checkpoint` is a directory, a tokenizer, or any vocabulary that `Pair` takes; its chat template is checked too, or
/// `template` instead. `model` is the model's id, and `serve_args` is the command line of the server. This function
/// uses no network; `unspool diagnose --url` does.
#[pyfunction]
#[pyo3(signature = (output, *, reasoning = None, tool_calls = None, tools = None, request = None, prompt = None, checkpoint = None, template = None, model = None, serve_args = None))]
pub(crate) fn diagnose<'py>(
    py: Python<'py>,
    output: &Bound<'py, PyAny>,
    reasoning: Option<&str>,
    tool_calls: Option<&str>,
    tools: Option<&Bound<'py, PyAny>>,
    request: Option<&Bound<'py, PyAny>>,
    prompt: Option<&str>,
    checkpoint: Option<&Bound<'py, PyAny>>,
    template: Option<&str>,
    model: Option<&str>,
    serve_args: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let asked = Asked {
        names: [reasoning, tool_calls],
        request: request::json(request, tools)?,
        prompt,
        model,
        served: serve_args.map(Served::read),
    };
    let text = text_of(output)?;
    let checkpoint = checkpoint.map(Vocabulary::of_object).transpose()?;
    let files = Files::of(checkpoint.as_ref().map(Bound::get), template)?;
    let report = py.detach(|| report(&text, &asked, &files))?;
    Ok(pythonize::pythonize(py, &report)?)
}

/// A text unchanged; anything else as JSON.
fn text_of(output: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = output.cast::<PyString>() {
        return text.extract();
    }
    let value = crate::json::of(output)?;
    Ok(value.to_string())
}

/// The contents of the checkpoint's files.
struct Files<'a> {
    vocabulary: Option<&'a Vocabulary>,
    prompter: Option<Prompter>,
}

impl<'a> Files<'a> {
    fn of(vocabulary: Option<&'a Vocabulary>, template: Option<&str>) -> Result<Self, Fault> {
        let source = template.or_else(|| vocabulary?.chat_template());
        let tokens =
            vocabulary.map(|vocabulary| model_dir::named_tokens(&vocabulary.tokenizer_config)).unwrap_or_default();
        let prompter =
            source.map(|source| prompter(source, tokens)).transpose().map_err(|error| error.at("template"))?;
        Ok(Self { vocabulary, prompter })
    }

    /// The chat template to check.
    fn template(&self) -> Option<&str> {
        Some(self.prompter.as_ref()?.template(true)?.source())
    }

    /// The settings that all pairs share.
    fn base(&self) -> Setup {
        let mut config = self.vocabulary.map(|vocabulary| vocabulary.tokenizer_config.clone()).unwrap_or_default();
        if let Some(template) = self.template()
            && (config.is_null() || config.is_object())
        {
            config["chat_template"] = template.into();
        }
        let vocabulary = self.vocabulary.map(|known| unspool::Vocabulary {
            special: known.core.special.clone(),
            hidden: known.core.hidden.clone(),
            bytes: None,
        });
        Setup { vocabulary: vocabulary.unwrap_or_default(), tokenizer_config: config, ..Setup::default() }
    }
}

fn report(text: &str, asked: &Asked<'_>, files: &Files<'_>) -> Result<Report, Fault> {
    let input =
        Input::read(text).map_err(|error| Fault::new("argument", error.message).hint(error.hint).at("output"))?;
    let formats = Formats::new(registry()?, files.base());
    let has = |text: &str| files.vocabulary.is_some_and(|vocabulary| vocabulary.core.special.contains_key(text));
    let has_token: Option<&dyn Fn(&str) -> bool> = if files.vocabulary.is_some() { Some(&has) } else { None };
    let types = files.vocabulary.map(Vocabulary::model_types).unwrap_or_default();
    let question = Question {
        reasoning_parser: asked.names[0],
        tool_call_parser: asked.names[1],
        request: &asked.request,
        prompt: asked.prompt,
        model: asked.model,
        prompter: files.prompter.as_ref(),
        served: asked.served.as_ref(),
        checkpoint: Checkpoint { template: files.template(), has_token, model_types: &types },
        ..Question::new(&input, &formats)
    };
    Ok(unspool_check::diagnose::diagnose(&question)?)
}
