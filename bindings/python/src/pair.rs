//! A compiled pair of formats.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::thread;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use serde_json::Value;
use unspool::spans::Both;
use unspool::{Delta, EndTokens, FinishReason, Request, Setup, Spans};

use crate::error::Fault;
use crate::formats::{own, registry_with};
use crate::gate::Gate;
use crate::grammar::{Grammar, Wishes};
use crate::message::{self, Message, quoted};
use crate::options::{call_ids, incomplete_calls, limits};
use crate::parser::Parser;
use crate::request::{self, GivenPrompt, Known};
use crate::vocabulary::Vocabulary;

/// A compiled pair of a reasoning format and a tool-call format. It creates a parser for each reply. Create it once and
/// use it for many replies, from any thread.
#[pyclass(frozen, module = "unspool")]
pub(crate) struct Pair {
    core: unspool::Pair,
    made: Made,
    ends: OnceLock<EndTokens>,
}

/// The arguments of a pair, to create it again elsewhere.
struct Made {
    reasoning: Option<String>,
    tools: Option<String>,
    vocabulary: Option<Py<Vocabulary>>,
    setup: Value,
    files: Vec<(String, String)>,
}

/// One of many outputs: text or ids.
#[derive(FromPyObject)]
enum Output {
    #[pyo3(transparent)]
    Text(String),
    #[pyo3(transparent)]
    Ids(Vec<u32>),
}

impl Pair {
    fn build(py: Python<'_>, made: Made) -> Result<Self, Fault> {
        let vocabulary = made.vocabulary.as_ref().map(|vocabulary| vocabulary.get());
        let text = |key: &str| made.setup.get(key).and_then(Value::as_str).map(str::to_owned);
        let config = made.setup.get("tokenizer_config").filter(|config| !config.is_null());
        let mut config = config.cloned().or_else(|| Some(vocabulary?.tokenizer_config.clone())).unwrap_or_default();
        // A checkpoint's template may be in a separate file.
        if let Some(template) = vocabulary.and_then(|vocabulary| vocabulary.template.as_deref())
            && !config.get("chat_template").is_some_and(Value::is_string)
            && (config.is_null() || config.is_object())
        {
            config["chat_template"] = template.into();
        }
        let setup = Setup {
            reasoning_parser: made.reasoning.clone(),
            tool_parser: made.tools.clone(),
            model_type: text("model_type").or_else(|| vocabulary?.model_type.clone()),
            vocabulary: vocabulary.map(|vocabulary| vocabulary.core.clone()).unwrap_or_default(),
            tokenizer_config: config,
            incomplete_calls: incomplete_calls(text("incomplete_calls").as_deref())?,
            call_ids: call_ids(made.setup.get("call_ids"))?,
            raw_rest: made.setup.get("raw_rest").and_then(Value::as_bool).unwrap_or(false),
            flavour: None,
            limits: limits(made.setup.get("limits"))?,
        };
        let core = py.detach(|| -> Result<unspool::Pair, Fault> { Ok(registry_with(&made.files)?.pair(&setup)?) })?;
        Ok(Self { core, made, ends: OnceLock::new() })
    }

    fn parse_one(
        &self,
        request: &Request,
        known: &Known,
        output: (Option<&str>, &[u32]),
        reason: Option<FinishReason>,
    ) -> Result<Message, Fault> {
        let mut parser = self.core.parser(request, known.prompt())?.keep_tokens().keep_chars();
        let mut both = Both(unspool::Message::default(), Spans::default());
        parser.push(Delta { text: output.0, ids: output.1 }, &mut both);
        let finish = parser.finish(reason, &mut both);
        Ok(Message::of((both.0, both.1), &parser, &finish, &request.tools))
    }

    /// The ids that end reasoning, computed once: they do not depend on the request.
    fn ends(&self) -> Result<&EndTokens, Fault> {
        if let Some(ends) = self.ends.get() {
            return Ok(ends);
        }
        let ends = self.core.reasoning_end_tokens(&Request::default())?;
        Ok(self.ends.get_or_init(|| ends))
    }

    fn has_bytes(&self) -> bool {
        self.core.vocabulary().bytes.is_some()
    }

    fn needs_bytes(&self) -> Result<(), Fault> {
        if self.has_bytes() {
            return Ok(());
        }
        Err(Fault::new("no_vocab", "ids without text, and the vocabulary has no bytes")
            .hint("give `Pair` a tokenizer or a checkpoint's folder")
            .at("ids"))
    }
}

/// Parses `size` outputs per thread.
fn in_threads(
    outputs: &[Output],
    size: usize,
    parse: &(impl Fn(&[Output]) -> Result<Vec<Message>, Fault> + Sync),
) -> Result<Vec<Message>, Fault> {
    thread::scope(|scope| {
        let parts: Vec<_> = outputs.chunks(size).map(|chunk| scope.spawn(move || parse(chunk))).collect();
        let mut messages = Vec::with_capacity(outputs.len());
        for part in parts {
            messages.extend(part.join().map_err(|_| Fault::new("bug", "a thread of `parse_many` panicked"))??);
        }
        Ok(messages)
    })
}

#[pymethods]
impl Pair {
    /// `reasoning` and `tools` are names as in `unspool.formats()`; None: that half is not parsed.
    ///
    /// `vocabulary` is a `Vocabulary`, a tokenizer of `tokenizers` or `transformers`, a dict `{text: id}` of the texts
    /// that are one token, or the path of a checkpoint's directory. `tokenizer_config` (a dict) and `model_type` are
    /// the checkpoint's; the directory has them. `call_ids` is the shape of generated call ids, if the model wrote
    /// none: None for the format's, `"random"` for `chatcmpl-tool-` and 16 hexadecimal digits, a number of letters and
    /// digits, a pattern with `{name}` and `{index}`, or `""` for none. `raw_rest=True`, for one half of a format whose
    /// halves belong together, leaves the other half's text unchanged in the content, for another parser.
    /// `incomplete_calls` says how to treat a call that never completes: `"stream"`, `"text"` or `"drop"`. `limits`
    /// maps names of limits to numbers or texts such as `"64KiB"`. With `model` (the checkpoint's name, for messages)
    /// the vocabulary is checked: an `Error` of kind `missing_tokens` if it lacks a token that the format needs.
    #[new]
    #[pyo3(signature = (reasoning = None, tools = None, *, vocabulary = None, model_type = None, tokenizer_config = None, incomplete_calls = "stream", call_ids = None, raw_rest = false, limits = None, model = None))]
    fn new(
        py: Python<'_>,
        reasoning: Option<String>,
        tools: Option<String>,
        vocabulary: Option<&Bound<'_, PyAny>>,
        model_type: Option<String>,
        tokenizer_config: Option<&Bound<'_, PyAny>>,
        incomplete_calls: &str,
        call_ids: Option<&Bound<'_, PyAny>>,
        raw_rest: bool,
        limits: Option<&Bound<'_, PyAny>>,
        model: Option<&str>,
    ) -> PyResult<Self> {
        let value = |object: Option<&Bound<'_, PyAny>>| -> PyResult<Value> {
            Ok(object.map(crate::json::of).transpose()?.unwrap_or_default())
        };
        let setup = serde_json::json!({
            "model_type": model_type,
            "tokenizer_config": value(tokenizer_config)?,
            "incomplete_calls": incomplete_calls,
            "call_ids": value(call_ids)?,
            "raw_rest": raw_rest,
            "limits": value(limits)?,
        });
        let vocabulary = vocabulary.map(Vocabulary::of_object).transpose()?;
        let made = Made { reasoning, tools, vocabulary: vocabulary.map(Bound::unbind), setup, files: own() };
        let pair = Self::build(py, made)?;
        if let (Some(model), Some(vocabulary)) = (model, &pair.made.vocabulary) {
            pair.core.check_vocabulary(|token| vocabulary.get().has(token), model).map_err(Fault::from)?;
        }
        Ok(pair)
    }

    /// The name of the reasoning format.
    #[getter]
    fn reasoning(&self) -> Option<&str> {
        self.made.reasoning.as_deref()
    }

    /// The name of the tool-call format.
    #[getter]
    fn tools(&self) -> Option<&str> {
        self.made.tools.as_deref()
    }

    /// The known facts about the tokenizer; None if none were given.
    #[getter]
    fn vocabulary(&self, py: Python<'_>) -> Option<Py<Vocabulary>> {
        self.made.vocabulary.as_ref().map(|vocabulary| vocabulary.clone_ref(py))
    }

    /// Likely problems of the pair, as sentences; the pair works nonetheless.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        let told = |warning: &unspool::SetupWarning| match &warning.hint {
            Some(hint) => format!("{}\nhint: {hint}", warning.message),
            None => warning.message.clone(),
        };
        self.core.warnings().iter().map(told).collect()
    }

    /// The literals that open and close reasoning; None if the format has none.
    #[getter]
    fn reasoning_markers(&self) -> Option<(String, String)> {
        self.core.reasoning_markers()
    }

    /// Whether the text must contain special tokens (`skip_special_tokens=False`) for this request.
    #[pyo3(signature = (request = None, *, tools = None))]
    fn needs_special_tokens(
        &self,
        request: Option<&Bound<'_, PyAny>>,
        tools: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        Ok(self.core.needs(&request::request(request, tools)?).special_tokens)
    }

    /// Creates a parser for one reply.
    ///
    /// `tools` is the list of an OpenAI request; without tools no calls are returned. `request` is a dict of such a
    /// request's fields (`tools`, `tool_choice`, `parallel_tool_calls`, `include_reasoning`, `chat_template_kwargs`,
    /// `reasoning_effort`), plus `calls_wanted` (True: return calls although the tools are unknown), `calls_before`
    /// (number of calls in the conversation so far) and `id_seed`. `prompt` is the rendered prompt or its end, as text,
    /// as ids, or as `(id, bytes)`; it determines where the reply begins. Without it, pass `start="content"` (reasoning
    /// is over, or there is none) or `start="reasoning"`.
    #[pyo3(signature = (*, tools = None, prompt = None, start = None, request = None))]
    fn parser(
        &self,
        tools: Option<&Bound<'_, PyAny>>,
        prompt: Option<GivenPrompt>,
        start: Option<&str>,
        request: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Parser> {
        let request = request::request(request, tools)?;
        let known = Known::of(prompt, start)?;
        let parser = self.core.parser(&request, known.prompt()).map_err(Fault::from)?;
        Ok(Parser::new(parser.keep_tokens().keep_chars(), request.tools, self.has_bytes()))
    }

    /// Parses a complete output.
    #[pyo3(signature = (text, *, tools = None, prompt = None, start = None, request = None, reason = None))]
    fn parse(
        &self,
        py: Python<'_>,
        text: &str,
        tools: Option<&Bound<'_, PyAny>>,
        prompt: Option<GivenPrompt>,
        start: Option<&str>,
        request: Option<&Bound<'_, PyAny>>,
        reason: Option<&str>,
    ) -> PyResult<Message> {
        let request = request::request(request, tools)?;
        let reason = message::reason(reason)?;
        let known = Known::of(prompt, start)?;
        Ok(py.detach(|| self.parse_one(&request, &known, (Some(text), &[]), reason))?)
    }

    /// Parses a complete output of ids. The vocabulary must have the bytes of its tokens. The message's places then
    /// include ranges of tokens.
    #[pyo3(signature = (ids, *, tools = None, prompt = None, start = None, request = None, reason = None))]
    fn parse_ids(
        &self,
        py: Python<'_>,
        ids: Vec<u32>,
        tools: Option<&Bound<'_, PyAny>>,
        prompt: Option<GivenPrompt>,
        start: Option<&str>,
        request: Option<&Bound<'_, PyAny>>,
        reason: Option<&str>,
    ) -> PyResult<Message> {
        self.needs_bytes()?;
        let request = request::request(request, tools)?;
        let reason = message::reason(reason)?;
        let known = Known::of(prompt, start)?;
        Ok(py.detach(|| self.parse_one(&request, &known, (None, &ids), reason))?)
    }

    /// The kind of each token of a complete output, as a mask for training, one byte per token. 0: markup, and dropped
    /// white space; 1: reasoning; 2: content; 3: a call, with its header and arguments. A token that is partly markup
    /// has the kind of its text; one in two fields has the kind of the later field.
    #[pyo3(signature = (ids, *, tools = None, prompt = None, start = None, request = None, reason = None))]
    fn token_kinds<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<u32>,
        tools: Option<&Bound<'_, PyAny>>,
        prompt: Option<GivenPrompt>,
        start: Option<&str>,
        request: Option<&Bound<'_, PyAny>>,
        reason: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.needs_bytes()?;
        let request = request::request(request, tools)?;
        let reason = message::reason(reason)?;
        let known = Known::of(prompt, start)?;
        let mut parser = self.core.parser(&request, known.prompt()).map_err(Fault::from)?.keep_tokens();
        let kinds = py.detach(|| {
            let mut spans = Spans::default();
            parser.push(Delta { text: None, ids: &ids }, &mut spans);
            parser.finish(reason, &mut spans);
            parser.token_kinds(&spans).unwrap_or_default()
        });
        Ok(PyBytes::new(py, &kinds.into_iter().map(|kind| kind as u8).collect::<Vec<u8>>()))
    }

    /// Parses many complete outputs, each a text or a list of ids, of the same request and prompt. Uses `threads`
    /// threads and releases the interpreter's lock.
    #[pyo3(signature = (outputs, *, tools = None, prompt = None, start = None, request = None, reason = None, threads = 1))]
    fn parse_many(
        &self,
        py: Python<'_>,
        outputs: Vec<Output>,
        tools: Option<&Bound<'_, PyAny>>,
        prompt: Option<GivenPrompt>,
        start: Option<&str>,
        request: Option<&Bound<'_, PyAny>>,
        reason: Option<&str>,
        threads: usize,
    ) -> PyResult<Vec<Message>> {
        if outputs.iter().any(|output| matches!(output, Output::Ids(_))) {
            self.needs_bytes()?;
        }
        let request = request::request(request, tools)?;
        let reason = message::reason(reason)?;
        let known = Known::of(prompt, start)?;
        let one = |output: &Output| match output {
            Output::Text(text) => self.parse_one(&request, &known, (Some(text), &[]), reason),
            Output::Ids(ids) => self.parse_one(&request, &known, (None, ids), reason),
        };
        let parse = |outputs: &[Output]| outputs.iter().map(one).collect::<Result<Vec<Message>, Fault>>();
        let size = outputs.len().div_ceil(threads.max(1)).max(1);
        let messages = py.detach(|| match outputs.len() {
            few if few <= size => parse(&outputs),
            _ => in_threads(&outputs, size, &parse),
        })?;
        Ok(messages)
    }

    /// Renders a message as the model would write it.
    #[pyo3(signature = (message, *, tools = None, request = None))]
    fn render(
        &self,
        message: &Bound<'_, PyAny>,
        tools: Option<&Bound<'_, PyAny>>,
        request: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let request = request::request(request, tools)?;
        let message = match message.extract::<Message>() {
            Ok(message) => message,
            Err(_) => Message::from_openai(message)?,
        };
        Ok(self.core.render(&message.to_core(), &request).map_err(Fault::from)?)
    }

    /// The grammar of the replies to a request (a dict as in an OpenAI request, including `response_format`); None if
    /// nothing is constrained.
    ///
    /// `strict_level`, `"auto"`, `"function"` or `"parameter"`, says how strictly calls must follow their schemas;
    /// `enforce=False`: not at all. With `with_thought` the grammar begins with the reasoning, for an engine that
    /// applies it from the first token on; otherwise it begins where the gate opens. `thought_open`: whether the prompt
    /// leaves reasoning open, if known.
    #[pyo3(signature = (request = None, *, tools = None, strict_level = "auto", enforce = true, with_thought = false, thought_open = None))]
    fn grammar(
        &self,
        request: Option<&Bound<'_, PyAny>>,
        tools: Option<&Bound<'_, PyAny>>,
        strict_level: &str,
        enforce: bool,
        with_thought: bool,
        thought_open: Option<bool>,
    ) -> PyResult<Option<Grammar>> {
        let fields = request::json(request, tools)?;
        let answer = unspool::grammar::answer_schema(&fields).map_err(Fault::from)?;
        let wishes = Wishes { strict_level: strict_level.to_owned(), enforce, with_thought, thought_open };
        let grammar = self.core.grammar(&request::of_json(&fields)?, &wishes.options(answer)?).map_err(Fault::from)?;
        Ok(grammar.map(Grammar::new))
    }

    /// Creates a gate for a reply, which reports, in ids, when reasoning is over.
    #[pyo3(signature = (*, tools = None, prompt = None, start = None, request = None, enable_in_reasoning = false))]
    fn gate(
        &self,
        tools: Option<&Bound<'_, PyAny>>,
        prompt: Option<GivenPrompt>,
        start: Option<&str>,
        request: Option<&Bound<'_, PyAny>>,
        enable_in_reasoning: bool,
    ) -> PyResult<Gate> {
        let request = request::request(request, tools)?;
        let known = Known::of(prompt, start)?;
        let gate = self.core.gate(&request, known.prompt()).map_err(Fault::from)?;
        Ok(Gate::new(gate.enable_in_reasoning(enable_in_reasoning)))
    }

    /// The single ids that end reasoning: those that are not content (`</think>`), and those that are (such as the
    /// opener of a call).
    fn reasoning_end_ids(&self) -> PyResult<(BTreeSet<u32>, BTreeSet<u32>)> {
        let ends = self.ends()?;
        Ok((ends.explicit.clone(), ends.implicit.clone()))
    }

    /// Whether reasoning is over after these ids: a prompt, an output, or a prompt with its output.
    #[pyo3(signature = (ids, *, request = None))]
    fn is_reasoning_end(&self, ids: Vec<u32>, request: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let request = request::request(request, None)?;
        Ok(self.core.is_reasoning_end_in(&request, self.ends()?, &ids).map_err(Fault::from)?)
    }

    /// The ids of a delta or an output that are not reasoning: after the first explicit end, or from the first implicit
    /// end on. Without an end: all ids if no reasoning is expected, otherwise none.
    #[pyo3(signature = (ids, *, request = None))]
    fn content_ids(&self, ids: Vec<u32>, request: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<u32>> {
        let request = request::request(request, None)?;
        Ok(self.core.content_ids_in(&request, self.ends()?, &ids).map_err(Fault::from)?.to_vec())
    }

    /// Number of reasoning ids in a complete output, without markers.
    #[pyo3(signature = (ids, *, prompt = None, start = None, request = None))]
    fn count_reasoning_tokens(
        &self,
        ids: Vec<u32>,
        prompt: Option<GivenPrompt>,
        start: Option<&str>,
        request: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let (request, known) = (request::request(request, None)?, Known::of(prompt, start)?);
        Ok(self.core.count_reasoning_tokens(&request, known.prompt(), &ids).map_err(Fault::from)?)
    }

    /// Describes the compiled states, openings and limits.
    fn explain(&self) -> String {
        self.core.explain()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = |name: &Option<String>| name.as_deref().map_or(Ok("None".to_owned()), |name| quoted(py, name));
        Ok(format!("Pair(reasoning={}, tools={})", name(&self.made.reasoning)?, name(&self.made.tools)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let made = &slf.get().made;
        let fields = PyDict::new(py);
        fields.set_item("reasoning", &made.reasoning)?;
        fields.set_item("tools", &made.tools)?;
        fields.set_item("vocabulary", made.vocabulary.as_ref().map(|vocabulary| vocabulary.clone_ref(py)))?;
        fields.set_item("setup", made.setup.to_string())?;
        fields.set_item("files", made.files.clone())?;
        let again = slf.get_type().getattr("_again")?;
        Ok((again, PyTuple::new(py, [fields])?))
    }

    /// Restores a pickled pair.
    #[staticmethod]
    fn _again(py: Python<'_>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut fields: BTreeMap<String, Bound<'_, PyAny>> = fields.extract()?;
        let mut take = |key: &str| fields.remove(key).unwrap_or_else(|| py.None().into_bound(py));
        let vocabulary: Option<Bound<'_, Vocabulary>> = take("vocabulary").extract()?;
        let setup: String = take("setup").extract()?;
        let setup = serde_json::from_str(&setup).map_err(|error| Fault::new("pickle", error.to_string()))?;
        let made = Made {
            reasoning: take("reasoning").extract()?,
            tools: take("tools").extract()?,
            vocabulary: vocabulary.map(Bound::unbind),
            setup,
            files: take("files").extract()?,
        };
        Ok(Self::build(py, made)?)
    }
}
