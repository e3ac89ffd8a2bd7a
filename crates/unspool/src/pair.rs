//! A composed pair, which creates parsers for requests.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind};
use crate::explanation::Explanation;
use crate::flow::tokens::Gate;
use crate::flow::{RequestOptions, explain};
use crate::format::file::{FormatFile, Off};
use crate::format::source::{Facts, Source};
use crate::format::syntax::Format;
use crate::limits::Limits;
use crate::needs::{self, Needs};
use crate::parser::Parser;
use crate::plan::Plan;
use crate::prompt::{self, Known};
use crate::registry::{Registry, names_by_half};
use crate::request::{Prompt, Request};
use crate::response_template::{Halves, Machine, Phase};
use crate::setup::{Half, Setup, SetupWarning, Vocabulary};
use crate::switches::{kwargs, thinks, truthy};

/// A compiled pair of a reasoning half and a tools half. Cheap to clone; creates a parser for each reply.
#[derive(Debug, Clone)]
pub struct Pair {
    inner: Arc<Inner>,
    limits: Arc<Limits>,
}

#[derive(Debug)]
struct Inner {
    setup: Setup,
    vocabulary: Arc<Vocabulary>,
    reasoning: Option<(Arc<Source>, String)>,
    tools: Option<(Arc<Source>, String)>,
    /// Whether the caller asked for calls: a bound format always has its tools half.
    gives_calls: bool,
    /// Whether the caller named a reasoning parser.
    reasons: bool,
    /// The variants of both halves that a request may activate; the others are decided once.
    possible: OnceLock<[u64; 2]>,
    plans: Mutex<Vec<(Key, Arc<Plan>)>>,
    warnings: OnceLock<Vec<SetupWarning>>,
}

/// The active variants, and whether thinking markers are text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    reasoning: u64,
    tools: u64,
    plain: bool,
}

impl Pair {
    pub(crate) fn new(registry: &Registry, setup: &Setup) -> Result<Self, Error> {
        let (reasoning_name, tools_name) = names(registry, setup);
        let mut reasoning = find(registry, Half::Reasoning, reasoning_name)?;
        let mut tools = find(registry, Half::Tools, tools_name)?;
        let (gives_calls, reasons) = (tools.is_some(), reasoning.is_some());
        bind(&mut reasoning, &mut tools)?;
        let inner = Inner {
            setup: compiled_from(setup),
            vocabulary: Arc::new(setup.vocabulary.clone()),
            reasoning,
            tools,
            gives_calls,
            reasons,
            possible: OnceLock::new(),
            plans: Mutex::new(Vec::new()),
            warnings: OnceLock::new(),
        };
        let pair = Self { inner: Arc::new(inner), limits: Arc::new(setup.limits.clone()) };
        pair.plan(&Map::new(), false)?;
        let _ = pair.inner.warnings.set(pair.check(registry, setup));
        Ok(pair)
    }

    /// Warnings about the pair.
    fn check(&self, registry: &Registry, setup: &Setup) -> Vec<SetupWarning> {
        let (reasoning, tools) = names(registry, setup);
        let named = [(Half::Reasoning, reasoning), (Half::Tools, tools)];
        let mut warnings: Vec<SetupWarning> =
            named.into_iter().filter_map(|(half, name)| needs::alias(registry, half, name?)).collect();
        let both = self.inner.reasons && self.inner.gives_calls;
        if let (Ok(plan), Some(thinker), Some(caller), true) =
            (self.formats(&Request::default()), self.name(Half::Reasoning), self.name(Half::Tools), both)
        {
            warnings.extend(needs::warnings(registry, &plan, (thinker, caller)));
        }
        warnings
    }

    /// Creates a parser for one reply.
    ///
    /// # Errors
    /// The request asks for something that the format cannot do, such as an unknown `reasoning_effort`.
    pub fn parser(&self, request: &Request, prompt: Prompt<'_>) -> Result<Parser, Error> {
        let kwargs = kwargs(request);
        let base = self.plan(&kwargs, false)?;
        let off = match &base.reasoning {
            Some(format) => !thinks(&format.switches, &kwargs)?,
            None => false,
        };
        // If the caller says that a thought is open, its markers count whatever the switches say.
        let plain = off
            && !matches!(prompt, Prompt::Reasoning)
            && base.reasoning.as_ref().is_some_and(|f| f.switches.off == Off::Plain);
        let plan = if plain { self.plan(&kwargs, true)? } else { base };
        let prompt = Known::of(prompt, &self.inner.vocabulary);
        let (mut state, open) = prompt::start(&plan.tables, &self.inner.vocabulary, &prompt, off);
        let says = |format: &Format| format.switches.keys.iter().any(|key| kwargs.contains_key(key));
        let switched_off = off && plan.reasoning.as_ref().is_some_and(says);
        if plan.tables.words.bare_thought.is_some() && !switched_off && !state.place.thinks() {
            // Off by default is not a choice of the request; a thought that the prompt closed is.
            state.bare_thought = !prompt::start(&plan.tables, &self.inner.vocabulary, &prompt, false).1;
        }
        let gate = if open || (off && !state.place.thinks()) { Gate::FromStart } else { Gate::Closed };
        if plan.tables.words.unanswered.as_ref().is_some_and(|key| kwargs.get(key).is_some_and(truthy)) {
            state.undecided = Some(String::new());
        }
        let (request_options, limits) = (self.request_options(request), Arc::clone(&self.limits));
        if let Some(spec) = &plan.checkpoint {
            plan.check_guarantees(request, request_options.mute)?;
            let halves = Halves { reasoning: self.inner.reasons, tools: !request_options.mute };
            let mut machine = Machine::new(Arc::clone(spec), halves);
            match &prompt {
                Known::Nothing => {}
                Known::Prompt(prompt) => machine.prompt(&prompt.text, &self.limits),
                Known::Content => machine.begin(Phase::Answering),
                Known::Reasoning => machine.begin(Phase::Thinking),
            }
            let gate = match machine.phase() {
                Phase::Answering => Gate::FromStart,
                Phase::Waiting if off || !halves.reasoning || !spec.thinks() => Gate::FromStart,
                _ => Gate::Closed,
            };
            return Ok(Parser::new((Arc::clone(&plan), limits), request_options, (state, gate), Some(machine)));
        }
        Ok(Parser::new((plan, limits), request_options, (state, gate), None))
    }

    /// The same pair with other limits; nothing is compiled again.
    #[must_use]
    pub fn with_limits(&self, limits: Limits) -> Self {
        Self { inner: Arc::clone(&self.inner), limits: Arc::new(limits) }
    }

    /// The limits of its parsers.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Describes the compiled states, headers, follow sets and limits.
    #[must_use]
    pub fn explain(&self) -> String {
        match self.plan(&Map::new(), false) {
            Ok(plan) => explain::explain(&plan.tables, &self.limits),
            Err(error) => error.message,
        }
    }

    fn request_options(&self, request: &Request) -> RequestOptions {
        let own = RequestOptions {
            gives_calls: self.inner.gives_calls,
            incomplete: self.inner.setup.incomplete_calls,
            ids: self.inner.setup.call_ids.clone(),
            seed: request.id_seed.unwrap_or_else(|| RandomState::new().hash_one(0)),
            ..RequestOptions::default()
        };
        own.of(request)
    }

    /// The compiled tables under these switches, built once.
    pub(crate) fn plan(&self, kwargs: &Map<String, Value>, plain: bool) -> Result<Arc<Plan>, Error> {
        let inner = &*self.inner;
        let halves = [&inner.reasoning, &inner.tools];
        let possible = inner.possible.get_or_init(|| {
            halves.map(|half| half.as_ref().map_or(0, |(source, name)| source.possible(&inner.facts(name, kwargs))))
        });
        let active = |half: usize| halves[half].as_ref().map_or(0, |(source, _)| source.asked(possible[half], kwargs));
        let key = Key { reasoning: active(0), tools: active(1), plain };
        let mut plans = inner.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, plan)) = plans.iter().find(|(k, _)| *k == key) {
            return Ok(Arc::clone(plan));
        }
        let resolve = |half: &Option<(Arc<Source>, String)>| -> Result<Option<FormatFile>, Error> {
            let Some((source, name)) = half else { return Ok(None) };
            source.resolve(&inner.facts(name, kwargs)).map(Some).map_err(Error::from)
        };
        let (reasoning, tools) = (resolve(&inner.reasoning)?, resolve(&inner.tools)?);
        let plan = Plan::new(&inner.setup, Arc::clone(&inner.vocabulary), reasoning, tools, plain)
            .map_err(|(key, told)| inner.located(&key, told))?;
        let plan = Arc::new(plan);
        plans.push((key, Arc::clone(&plan)));
        Ok(plan)
    }

    /// The known part of the tokenizer's vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.inner.vocabulary
    }

    /// The literals that open and close a thought, without surrounding white space (vLLM's `reasoning_start_str` and
    /// `reasoning_end_str`, which an engine needs for its `thinking_token_budget`). `None`: the format has no thought,
    /// has messages with headers, or an opener that is not one literal.
    #[must_use]
    pub fn reasoning_markers(&self) -> Option<(String, String)> {
        let plan = self.plan(&Map::new(), false).ok()?;
        if let Some(spec) = &plan.checkpoint {
            return spec.thought_markers();
        }
        let (opener, closer) = plan.tables.thoughts.first()?;
        (!closer.literal.is_empty()).then(|| (opener.literal.clone(), closer.literal.clone()))
    }

    /// The keys of a half for this vocabulary and tokenizer config, without any switch of a request.
    #[must_use]
    pub fn words(&self, half: Half) -> Option<FormatFile> {
        let plan = self.plan(&Map::new(), false).ok()?;
        let format = match half {
            Half::Reasoning => plan.reasoning.as_ref(),
            Half::Tools => plan.tools.as_ref(),
        };
        format.map(|format| format.words().clone())
    }

    /// The keys of both halves, without any switch of a request.
    pub(crate) fn formats(&self, request: &Request) -> Result<Arc<Plan>, Error> {
        self.plan(&kwargs(request), false)
    }

    /// The requirements for the engine's request, given a client's request. If a format file cannot be resolved under
    /// the request's switches, the result is the safe choice: keep special tokens.
    #[must_use]
    pub fn needs(&self, request: &Request) -> Needs {
        let Ok(plan) = self.formats(request) else { return Needs::SAFE };
        Needs::of(&plan, self.gives_calls() && request.wants_calls())
    }

    /// Checks, as vLLM does at startup, that a tokenizer has the tokens that the format needs (`ids.need`). `has` says
    /// whether a text is one entry of the vocabulary; `model` is the checkpoint's name for the message.
    ///
    /// # Errors
    /// [`ErrorKind::MissingTokens`], with the flag, every missing token and the model.
    pub fn check_vocabulary(&self, has: impl Fn(&str) -> bool, model: &str) -> Result<(), Error> {
        needs::check_vocabulary(&*self.formats(&Request::default())?, |half| self.name(half), has, model)
    }

    /// Warnings about a pair that works but is probably wrong.
    #[must_use]
    pub fn warnings(&self) -> &[SetupWarning] {
        self.inner.warnings.get().map_or(&[], Vec::as_slice)
    }

    /// The name of a half. For a bound format, the twin of the other half's name.
    pub(crate) fn name(&self, half: Half) -> Option<&str> {
        let found = match half {
            Half::Reasoning => &self.inner.reasoning,
            Half::Tools => &self.inner.tools,
        };
        found.as_ref().map(|(_, name)| name.as_str())
    }

    /// Whether the caller asked for calls.
    pub(crate) fn gives_calls(&self) -> bool {
        self.inner.gives_calls
    }
}

impl Registry {
    /// Composes a pair and compiles it.
    ///
    /// # Errors
    /// An unknown name (the hint lists near matches), a pair that cannot work, or a checkpoint that lacks what the
    /// format needs.
    pub fn pair(&self, setup: &Setup) -> Result<Pair, Error> {
        Pair::new(self, setup)
    }

    /// Adds a user's format file and returns its names; `path` is for messages. The file takes over existing names, as
    /// in vLLM, and [`Registry::warnings`] reports it.
    ///
    /// # Errors
    /// The file is broken, or names a format that does not exist.
    pub fn add(&mut self, path: &str, text: &str) -> Result<Vec<(Half, String)>, Error> {
        let mut with = self.clone();
        let source = with.enter(path, text)?;
        let names = names_by_half(&source);
        for (half, name) in &names {
            let setup = match half {
                Half::Reasoning => Setup { reasoning_parser: Some(name.clone()), ..Setup::default() },
                Half::Tools => Setup { tool_parser: Some(name.clone()), ..Setup::default() },
            };
            with.pair(&setup)?;
        }
        with.check_rules(&source)?;
        *self = with;
        Ok(names)
    }
}

impl Inner {
    fn facts<'a>(&'a self, name: &'a str, kwargs: &'a Map<String, Value>) -> Facts<'a> {
        let special = &self.vocabulary.special;
        Facts {
            name,
            vocabulary: (!special.is_empty()).then_some(special),
            template: self.setup.tokenizer_config.get("chat_template").and_then(Value::as_str),
            config: Some(&self.setup.tokenizer_config),
            flavour: self.setup.flavour.as_deref(),
            kwargs: Some(kwargs),
        }
    }

    /// An error in a key of the format: in the file, or in the description that the checkpoint brings.
    fn located(&self, key: &str, told: Explanation) -> Error {
        if key == "checkpoint" {
            let (half, name) =
                if self.reasons { (Half::Reasoning, &self.reasoning) } else { (Half::Tools, &self.tools) };
            let name = name.as_ref().map_or("", |(_, name)| name);
            let usual = "give the checkpoint's `tokenizer_config.json`, or take a parser that needs none of it";
            let message = format!("{} {name}: {}", half.flag(), told.message);
            let hint = told.hint.unwrap_or_else(|| usual.to_owned());
            return Error::new(ErrorKind::BadCheckpoint, message).hint(hint);
        }
        let tools = key.starts_with("tools") || self.reasoning.is_none();
        match if tools { &self.tools } else { &self.reasoning } {
            Some((source, _)) => source.error(key, told).into(),
            None => Error { hint: told.hint, ..Error::new(ErrorKind::BadFormat, told.message) },
        }
    }
}

/// The settings of a pair except the vocabulary and the limits, which it stores elsewhere.
fn compiled_from(setup: &Setup) -> Setup {
    Setup {
        reasoning_parser: setup.reasoning_parser.clone(),
        tool_parser: setup.tool_parser.clone(),
        model_type: setup.model_type.clone(),
        vocabulary: Vocabulary::default(),
        tokenizer_config: setup.tokenizer_config.clone(),
        incomplete_calls: setup.incomplete_calls,
        flavour: setup.flavour.clone(),
        call_ids: setup.call_ids.clone(),
        raw_rest: setup.raw_rest,
        limits: Limits::default(),
    }
}

/// The names to use: some checkpoints always select one format.
fn names<'a>(registry: &'a Registry, setup: &'a Setup) -> (Option<&'a str>, Option<&'a str>) {
    let tools = setup.tool_parser.as_deref();
    match setup.model_type.as_deref().and_then(|model_type| registry.names_of_type(model_type)) {
        Some(names) => {
            (names.reasoning.first().map(String::as_str), tools.and(names.tools.first().map(String::as_str)))
        }
        None => (setup.reasoning_parser.as_deref(), tools),
    }
}

type Found = Option<(Arc<Source>, String)>;

fn find(registry: &Registry, half: Half, name: Option<&str>) -> Result<Found, Error> {
    match name.filter(|n| !n.is_empty()) {
        None => Ok(None),
        Some(name) => Ok(Some((registry.find(half, name)?, registry.canonical(half, name).to_owned()))),
    }
}

/// The name of a file's other half that belongs to `name`: the same one, the one at the same position, or the first.
fn twin(name: &str, own: &[String], others: &[String]) -> Option<String> {
    let at = own.iter().position(|n| n == name).unwrap_or(0);
    others.iter().find(|n| *n == name).or_else(|| others.get(at)).or(others.first()).cloned()
}

/// A bound format adds its other half, and refuses another format's.
fn bind(reasoning: &mut Found, tools: &mut Found) -> Result<(), Error> {
    let bound = |half: &Found| match half {
        Some((source, name)) => source.resolve(&Facts { name, ..Facts::default() }).is_ok_and(|f| f.bound),
        None => false,
    };
    let (r, t) = (bound(reasoning), bound(tools));
    match (&reasoning, &tools) {
        (Some((source, name)), None) if r => {
            *tools = twin(name, &source.names.reasoning, &source.names.tools).map(|n| (Arc::clone(source), n));
        }
        (None, Some((source, name))) if t => {
            *reasoning = twin(name, &source.names.tools, &source.names.reasoning).map(|n| (Arc::clone(source), n));
        }
        (Some((a, x)), Some((b, y))) if (r || t) && a.path != b.path => {
            let message = format!("--reasoning-parser {x} and --tool-call-parser {y} cannot work together");
            return Err(Error::new(ErrorKind::BadPair, message).hint(if r {
                format!("`{x}` reads whole messages; use a tool-call parser of {}", a.names.tools.join(", "))
            } else {
                format!("`{y}` reads whole messages; use a reasoning parser of {}", b.names.reasoning.join(", "))
            }));
        }
        _ => {}
    }
    Ok(())
}
