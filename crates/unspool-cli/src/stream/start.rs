//! The `start` line: which pair, which request, which prompt.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use unspool::Error;
use unspool::Pair;
use unspool::suggest;
use unspool::{
    Checkpoint, Half, IncompleteCalls, Limit, Limits, Parser, Prompt, PromptToken, Registry, Request, Setup,
    TokenBytes, Vocabulary,
};

use super::hex::{IdAndBytes, Spelled};
use super::reply::Refusal;
use crate::failure::warn;
use crate::files::reason;
use crate::setup::tell_warnings;
use crate::{place, tools};

/// Number of compiled pairs to cache for repeated starts.
const KEPT_PAIRS: usize = 8;

/// Fields that choose and compile a pair.
const SETUP_FIELDS: [&str; 10] = [
    "reasoning_parser",
    "tool_parser",
    "model_type",
    "model",
    "special_tokens",
    "hidden_special_tokens",
    "tokenizer_config",
    "vocab",
    "incomplete_calls",
    "limits",
];
/// Fields of one reply.
const REPLY_FIELDS: [&str; 4] = ["tools", "request", "prompt", "prompt_tokens"];

/// The fields of a start line, not yet parsed.
struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    fn read(start: &'a RawValue) -> Result<Self, Refusal> {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(start.get())
            .map_err(|_| Refusal::start("`start` is not an object", "write {\"start\": {…}}"))?;
        Ok(Self(fields))
    }

    /// The text of a field; null counts as missing.
    fn raw(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|raw| raw.get()).filter(|text| *text != "null")
    }

    fn get<T: Deserialize<'a>>(&self, name: &str) -> Result<Option<T>, Refusal> {
        self.raw(name)
            .map(serde_json::from_str)
            .transpose()
            .map_err(|error| Refusal::start(format!("`start.{name}`: {}", reason(&error)), hint_for(name)))
    }
}

/// The expected value of a field.
fn hint_for(field: &str) -> &'static str {
    match field {
        "reasoning_parser" | "tool_parser" | "model_type" | "model" => "it must be a name",
        "prompt" => "it must be a text",
        "tools" => "it must be a list of tools as in an OpenAI request",
        "request" => "it must be an object with fields of an OpenAI chat request",
        "prompt_tokens" => "it must be a list of [id, text] or [id, null, hex]",
        "special_tokens" => "it must be an object {text: id}",
        "hidden_special_tokens" => "it must be a list of texts",
        "tokenizer_config" => "it must be the object of `tokenizer_config.json`",
        "limits" => "it must be an object {limit: number or text such as \"64KiB\"}",
        "vocab" => "it must be an object {id: text or {\"hex\": …}}",
        _ => "it must be \"stream\", \"text\" or \"drop\"",
    }
}

/// Default fields of a start, from the command line.
pub(super) type Defaults = Arc<BTreeMap<String, Box<RawValue>>>;

/// Creates parsers from start lines, and caches compiled pairs.
#[derive(Clone)]
pub(super) struct Starter {
    registry: Registry,
    /// Limits that a start does not set.
    limits: Limits,
    /// Fields that a start does not set.
    defaults: Defaults,
    /// The most recent pairs, newest first, each with the text of its fields.
    kept: Vec<(String, Pair)>,
    /// Unknown fields that any thread has already reported.
    told: Arc<Mutex<HashSet<String>>>,
}

/// A parser, and whether it accepts ids alone.
pub(super) struct Started {
    pub(super) parser: Parser,
    pub(super) has_vocab: bool,
}

impl Starter {
    pub(super) fn new(registry: Registry, limits: Limits, defaults: Defaults) -> Self {
        Self { registry, limits, defaults, kept: Vec::new(), told: Arc::default() }
    }

    /// Creates the parser for the reply that the line begins.
    pub(super) fn start(&mut self, start: &RawValue) -> Result<Started, Refusal> {
        self.reply(Fields::read(start)?)
    }

    /// Creates the parser for a line with a complete output, whose other fields are those of a start.
    pub(super) fn whole(&mut self, fields: BTreeMap<String, &RawValue>) -> Result<Started, Refusal> {
        self.reply(Fields(fields))
    }

    fn reply(&mut self, said: Fields<'_>) -> Result<Started, Refusal> {
        self.tell_unknown(&said);
        let defaults = Arc::clone(&self.defaults);
        // The defaults outlive the fields of the line.
        let mut fields = Fields(said.0.into_iter().collect());
        for (name, value) in &*defaults {
            if fields.raw(name).is_none() {
                fields.0.insert(name.clone(), value);
            }
        }
        let pair = self.pair(&fields)?;
        let request = request(&fields)?;
        let tokens = fields.get::<Vec<IdAndBytes>>("prompt_tokens")?.map(prompt_tokens).transpose()?;
        let text: Option<String> = fields.get("prompt")?;
        let prompt = match (&tokens, &text) {
            (Some(tokens), _) => Prompt::Tokens(tokens),
            (None, Some(text)) => Prompt::Text(text),
            (None, None) => Prompt::Unknown,
        };
        let parser = pair.parser(&request, prompt).map_err(Refusal::from)?.keep_tokens();
        Ok(Started { parser, has_vocab: fields.raw("vocab").is_some() })
    }

    /// Warns once about an unknown field, which is probably misspelt; the reply continues.
    fn tell_unknown(&self, fields: &Fields<'_>) {
        let known = SETUP_FIELDS.iter().chain(&REPLY_FIELDS).copied();
        for name in fields.0.keys() {
            let is_new = || self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
            if !known.clone().any(|field| field == name) && is_new() {
                let hint = suggest::did_you_mean(&suggest::near(name, known.clone()));
                warn(&format!("`start` has no field `{name}`"), hint.as_deref());
            }
        }
    }

    fn pair(&mut self, fields: &Fields<'_>) -> Result<Pair, Refusal> {
        let mut key = String::new();
        for name in SETUP_FIELDS {
            key.push_str(fields.raw(name).unwrap_or_default());
            key.push('\n');
        }
        match self.kept.iter().position(|(kept, _)| *kept == key) {
            Some(index) => self.kept[..=index].rotate_right(1),
            None => {
                let mut setup = setup(fields, self.limits.clone())?;
                self.detect(&mut setup)?;
                let pair = self.registry.pair(&setup)?;
                if let Some(model) = fields.get::<String>("model")? {
                    check_tokens(&pair, &setup, &model)?;
                }
                tell_warnings(&pair);
                self.kept.truncate(KEPT_PAIRS - 1);
                self.kept.insert(0, (key, pair));
            }
        }
        Ok(self.kept[0].1.clone())
    }
}

impl Starter {
    /// Resolves `auto` from the chat template and the special tokens.
    fn detect(&self, setup: &mut Setup) -> Result<(), Refusal> {
        let template = setup.tokenizer_config.get("chat_template").and_then(Value::as_str).map(str::to_owned);
        let special = setup.vocabulary.special.clone();
        let has = |text: &str| special.contains_key(text);
        let has_token: Option<&dyn Fn(&str) -> bool> = if special.is_empty() { None } else { Some(&has) };
        let model_types: Vec<&str> = setup.model_type.as_deref().into_iter().collect();
        let checkpoint = Checkpoint { template: template.as_deref(), has_token, model_types: &model_types };
        let told = |half: Half, name: &Option<String>| match name.as_deref() {
            Some(place::AUTO) if template.is_none() && special.is_empty() => Err(Refusal::start(
                format!("{} auto needs the model's files", half.flag()),
                "give the folder of the checkpoint with --model-dir, or `tokenizer_config` with its `chat_template`",
            )),
            Some(place::AUTO) => Ok(Some(self.registry.detect(half, &checkpoint)?.name)),
            _ => Ok(name.clone()),
        };
        let names = (told(Half::Reasoning, &setup.reasoning_parser)?, told(Half::Tools, &setup.tool_parser)?);
        (setup.reasoning_parser, setup.tool_parser) = names;
        Ok(())
    }
}

/// The startup check, for a named checkpoint whose special tokens are known.
fn check_tokens(pair: &Pair, setup: &Setup, model: &str) -> Result<(), Error> {
    let Vocabulary { special, bytes, .. } = &setup.vocabulary;
    if special.is_empty() {
        return Ok(());
    }
    let entries: HashSet<&[u8]> = bytes.iter().flat_map(TokenBytes::iter).map(|(_, bytes)| bytes).collect();
    let has = |token: &str| special.contains_key(token) || entries.contains(token.as_bytes());
    pair.check_vocabulary(has, model)
}

/// The limits of the command, overridden by those of the start.
fn limits(fields: &Fields<'_>, mut limits: Limits) -> Result<Limits, Refusal> {
    let Some(given) = fields.get::<BTreeMap<String, Value>>("limits")? else { return Ok(limits) };
    for (name, value) in given {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let limit = Limit::new(&name, &text).map_err(|error| {
            Refusal::start(format!("`start.limits`: {}", error.message), error.hint.as_deref().unwrap_or_default())
        })?;
        limits.set(&limit);
    }
    Ok(limits)
}

fn setup(fields: &Fields<'_>, defaults: Limits) -> Result<Setup, Refusal> {
    let bytes = fields.get::<HashMap<u32, Spelled>>("vocab")?.map(|vocab| {
        let decode = |(id, bytes): (u32, Spelled)| bytes.decode().map(|bytes| (id, bytes));
        vocab.into_iter().map(decode).collect::<Result<TokenBytes, _>>()
    });
    let bytes =
        bytes.transpose().map_err(|what| Refusal::start(format!("`start.vocab`: {what}"), hint_for("vocab")))?;
    Ok(Setup {
        reasoning_parser: fields.get("reasoning_parser")?,
        tool_parser: fields.get("tool_parser")?,
        model_type: fields.get("model_type")?,
        vocabulary: Vocabulary {
            special: fields.get("special_tokens")?.unwrap_or_default(),
            hidden: fields.get("hidden_special_tokens")?.unwrap_or_default(),
            bytes,
        },
        tokenizer_config: fields.get("tokenizer_config")?.unwrap_or_default(),
        incomplete_calls: fields.get::<IncompleteCalls>("incomplete_calls")?.unwrap_or_default(),
        limits: limits(fields, defaults)?,
        ..Setup::default()
    })
}

/// The request; `tools` next to `request` replaces the tools in it.
fn request(fields: &Fields<'_>) -> Result<Request, Refusal> {
    let mut request: Map<String, Value> = fields.get("request")?.unwrap_or_default();
    if let Some(tools) = fields.get::<Value>("tools")? {
        if !tools.is_array() && !tools.is_object() {
            return Err(Refusal::start("`start.tools`: no list of tools", hint_for("tools")));
        }
        request.insert("tools".to_owned(), tools);
    }
    tools::listed(&mut request)?;
    Ok(Request::from_openai(&Value::Object(request))?)
}

fn prompt_tokens(tokens: Vec<IdAndBytes>) -> Result<Vec<PromptToken>, Refusal> {
    tokens
        .into_iter()
        .map(|token| token.decode().map(|(id, bytes)| PromptToken { id, bytes }))
        .collect::<Result<_, _>>()
        .map_err(|what| Refusal::start(format!("`start.prompt_tokens`: {what}"), hint_for("prompt_tokens")))
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { kind: error.kind.as_str(), message: error.message, hint: error.hint }
    }
}
