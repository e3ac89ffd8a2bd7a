//! The gateway's state, fixed at startup.

mod opening;

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::Value;
use unspool::setup::Half;
use unspool::{Pair, Setup};

use self::opening::{limits, named, open, registry, rules, sure_room, warn_of, warn_of_length};
use crate::backend::{self, Backend};
use crate::budget::ReasoningMarkers;
use crate::config::{AnswerConfig, BackendSpec, HttpConfig, ImagePolicy, ServeConfig, TemplateChoice};
use crate::constraint::Constrainer;
use crate::continuation::Continuations;
use crate::error::{ApiError, Overflow, StartupError};
use crate::hints::Hints;
use crate::metrics::Metrics;
use crate::model::Model;
use crate::prompt::RenderedPrompt;
use crate::raw_log::RawLog;
use crate::request::{ChatRequest, Delivery, ToolRules};
use crate::unique;

/// A gateway that is ready to serve.
pub struct App {
    pair: Pair,
    backend: Arc<dyn Backend>,
    model: Arc<Model>,
    rules: ToolRules,
    has_reasoning_parser: bool,
    names: Vec<String>,
    default_name: String,
    keys: Vec<String>,
    started: u64,
    metrics: Arc<Metrics>,
    hints: Arc<Hints>,
    answers: AnswerConfig,
    default_max_tokens: u64,
    http: HttpConfig,
    raw_log: Option<Arc<RawLog>>,
    constrainer: Arc<Constrainer>,
    continuations: Arc<Continuations>,
    /// Startup messages about formats and prompts.
    told: Vec<String>,
    /// Whether a text replaces images.
    hides_images: bool,
}

impl App {
    /// Checks the settings, loads the formats and opens the backend, in vLLM's order: values, plugins (tools first),
    /// names.
    ///
    /// # Errors
    /// Anything that would fail later: contradictory settings, an unknown parser, an invalid file.
    pub fn new(config: &ServeConfig) -> Result<Self, StartupError> {
        config.check()?;
        let can = backend::capabilities(&config.backend);
        config.check_backend(&can)?;
        let registry = registry(config)?;
        let model = Arc::new(Model::open(config)?);
        let mut setup = Setup {
            reasoning_parser: named(config.reasoning_parser.as_deref(), Half::Reasoning, (&registry, &model))?,
            tool_parser: named(config.tool_call_parser.as_deref(), Half::Tools, (&registry, &model))?,
            incomplete_calls: config.answers.incomplete_calls.0,
            limits: limits(config),
            ..Setup::default()
        };
        let names = [setup.reasoning_parser.clone(), setup.tool_parser.clone()];
        model.describe(&mut setup);
        let (pair, backend) = open(config, &registry, setup, &model)?;
        if let Some(folder) = &config.model_dir {
            let has = |token: &str| model.has_token(token) != Some(false);
            pair.check_vocabulary(has, &folder.display().to_string())?;
        }
        warn_of(registry.warnings());
        warn_of(pair.warnings());
        if let Some(misfit) = model.misfit(&pair, (names[0].is_some(), names[1].is_some())) {
            tracing::warn!(
                "the chat template may not fit the parsers: {misfit}; hint: `unspool template check` shows it"
            );
        }
        warn_of_length(config.answers.max_model_len, model.longest_context());
        let default_name = match &config.backend {
            BackendSpec::Mock => "mock",
            BackendSpec::Replay(_) => "replay",
            BackendSpec::Remote { .. } => config.backend_model.as_deref().unwrap_or("default"),
        };
        // Without a configured name, the backend's name is used once it is known.
        let remote = matches!(config.backend, BackendSpec::Remote { .. });
        let name = config.served_model_name.first().map(String::as_str);
        let name = name.or_else(|| (!remote || config.backend_model.is_some()).then_some(default_name));
        let told = told(config, &names, model.has_template());
        let metrics = Arc::new(Metrics::new(name, names[0].as_deref(), names[1].as_deref())?);
        let hints = Arc::new(Hints::new(registry, pair.vocabulary(), names, Arc::clone(&metrics)));
        let constrainer = Arc::new(Constrainer::new(config, backend.capabilities(), &pair));
        let thoughts = ReasoningMarkers::new(&config.constraint.reasoning()?, &pair, &model);
        let held = (Arc::clone(&constrainer), thoughts);
        let continuations = Continuations::new(config, Arc::clone(&backend), held, (pair.clone(), Arc::clone(&model)));
        let raw_log = config
            .answers
            .log_raw
            .as_deref()
            .map(|folder| RawLog::create(folder, pair.vocabulary(), config.answers.log_raw_size));
        Ok(Self {
            metrics,
            hints,
            answers: config.answers.clone(),
            default_max_tokens: config.default_max_tokens,
            http: config.http.clone(),
            raw_log: raw_log.transpose()?.map(Arc::new),
            constrainer,
            continuations: Arc::new(continuations),
            pair,
            backend,
            model,
            rules: rules(config, can.chats),
            has_reasoning_parser: config.reasoning_parser.is_some(),
            names: config.served_model_name.clone(),
            default_name: default_name.to_owned(),
            keys: config.keys(),
            started: unique::now(),
            told,
            hides_images: config.text.image_policy == ImagePolicy::Placeholder,
        })
    }

    /// Startup messages about formats and prompts, one per line.
    #[must_use]
    pub fn told(&self) -> &[String] {
        &self.told
    }

    /// Whether a conversation may contain images: the backend accepts them, or a text replaces them.
    pub(crate) fn takes_images(&self) -> bool {
        self.hides_images || self.backend.capabilities().chats
    }

    /// Queries the backend's servers, and uses their name of the model in the metrics.
    pub async fn learn(&self) {
        self.backend.learn().await;
        self.metrics.name_model(self.backend.model_name().as_deref().unwrap_or(&self.default_name));
    }

    /// The pair of formats.
    #[must_use]
    pub fn pair(&self) -> &Pair {
        &self.pair
    }

    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Chooses the structured output of a request.
    #[must_use]
    pub fn constrainer(&self) -> &Constrainer {
        &self.constrainer
    }

    /// Begins answers, and continues them if they need several requests to the backend.
    #[must_use]
    pub fn continuations(&self) -> &Arc<Continuations> {
        &self.continuations
    }

    /// Whether `--reasoning-parser` is set.
    #[must_use]
    pub fn has_reasoning_parser(&self) -> bool {
        self.has_reasoning_parser
    }

    /// The names of `--served-model-name`.
    #[must_use]
    pub fn served_names(&self) -> &[String] {
        &self.names
    }

    /// The name of the model if none is configured.
    #[must_use]
    pub fn default_name(&self) -> &str {
        &self.default_name
    }

    /// When the gateway started, in seconds since 1970.
    #[must_use]
    pub fn started(&self) -> u64 {
        self.started
    }

    /// The metrics.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Looks for hints for the operator.
    #[must_use]
    pub fn hints(&self) -> &Arc<Hints> {
        &self.hints
    }

    /// The settings of answers.
    #[must_use]
    pub fn answers(&self) -> &AnswerConfig {
        &self.answers
    }

    /// The settings of HTTP.
    #[must_use]
    pub fn http(&self) -> &HttpConfig {
        &self.http
    }

    /// The log of raw outputs.
    #[must_use]
    pub fn raw_log(&self) -> Option<&Arc<RawLog>> {
        self.raw_log.as_ref()
    }

    /// Maximum tokens of prompt and answer: as configured, or from the backend, or from the model's files.
    #[must_use]
    pub fn longest_context(&self, model: Option<&str>) -> Option<u64> {
        let set = self.answers.max_model_len.or_else(|| self.backend.longest_context(model));
        set.or_else(|| self.model.longest_context())
    }

    /// Fits prompt and answer into the context, if its length and the prompt's tokens are known: an answer gets at most
    /// the room that is left, as in vLLM.
    ///
    /// # Errors
    /// There is no room, or the request asks for more than the entire context.
    pub(crate) fn fit_to_context(
        &self,
        request: &mut Arc<ChatRequest>,
        prompt: &RenderedPrompt,
    ) -> Result<(), ApiError> {
        let Some(longest) = self.longest_context(request.model.as_deref()) else { return Ok(()) };
        // The backend keeps the requested number of tokens at the end of the prompt.
        let tokens = prompt.tokens.map(|tokens| request.sampling.kept_of_prompt(tokens, longest));
        let asked = request.sampling.max_tokens;
        let overflow = Overflow { longest: Some(longest), prompt: tokens, asked: None };
        if tokens.is_some_and(|tokens| tokens >= longest) {
            return Err(ApiError::too_many_tokens("messages", overflow));
        }
        if asked.is_some_and(|asked| asked > longest) {
            let field = if request.sampling.by_older_name { "max_tokens" } else { "max_completion_tokens" };
            return Err(ApiError::too_many_tokens(field, Overflow { asked, ..overflow }));
        }
        let room = match (tokens, asked) {
            (Some(tokens), _) => longest - tokens,
            // Only the backend knows the length of the prompt.
            (None, Some(_)) => return Ok(()),
            (None, None) if prompt.text.is_empty() || self.backend.capabilities().fills_context => return Ok(()),
            (None, None) => self.default_max_tokens.min(sure_room(longest, prompt.text.len())),
        };
        if asked.is_none_or(|asked| asked > room) {
            let sampling = &mut Arc::make_mut(request).sampling;
            sampling.max_tokens = Some(room);
            sampling.min_tokens = sampling.min_tokens.min(room);
        }
        Ok(())
    }

    /// The model's own files.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The prompt of a request.
    ///
    /// # Errors
    /// A conversation that the backend does not support.
    pub async fn prompt(&self, request: &Arc<ChatRequest>) -> Result<RenderedPrompt, ApiError> {
        self.backend.prompt(request).await
    }

    /// As [`App::prompt`]. If the template takes a system message only at the start, later ones are merged into it, if
    /// the request's API allows them anywhere.
    async fn prompt_merged(&self, request: &mut Arc<ChatRequest>) -> Result<RenderedPrompt, ApiError> {
        match self.prompt_with_system(request).await {
            // Some templates take no two messages of the assistant in a row.
            Err(error)
                if request.merges_system
                    && request.has_split_turns()
                    && error.status == StatusCode::BAD_REQUEST
                    && error.overflow.is_none() =>
            {
                Arc::make_mut(request).join_turns();
                self.prompt(request).await
            }
            done => done,
        }
    }

    async fn prompt_with_system(&self, request: &mut Arc<ChatRequest>) -> Result<RenderedPrompt, ApiError> {
        let may = request.merges_system && request.has_late_system();
        if may && self.model.refuses_late_system() {
            Arc::make_mut(request).merge_system();
            return self.prompt(request).await;
        }
        match self.prompt(request).await {
            // The template is the server's, and may be the reason for the refusal.
            Err(error) if may && error.status == StatusCode::BAD_REQUEST && error.overflow.is_none() => {
                Arc::make_mut(request).merge_system();
                self.prompt(request).await
            }
            done => done,
        }
    }

    /// The tokens of a request's prompt.
    ///
    /// # Errors
    /// Those of [`App::prompt`]; or the backend's tokenizer is unknown.
    pub async fn count_tokens(&self, request: ChatRequest) -> Result<u64, ApiError> {
        self.prompt_merged(&mut Arc::new(request)).await?.tokens.ok_or_else(|| {
            ApiError::new(StatusCode::NOT_IMPLEMENTED, "tokens cannot be counted with this backend")
                .hint("its tokenizer is not known to the gateway")
        })
    }

    /// The prompt of a request, with as much room after it as [`App::fit`] requires. If the beginning of the
    /// conversation may be dropped, drops as much as necessary.
    ///
    /// # Errors
    /// Those of [`App::prompt`] and [`App::fit`].
    pub(crate) async fn prompt_that_fits(&self, request: &mut Arc<ChatRequest>) -> Result<RenderedPrompt, ApiError> {
        self.backend.learn().await;
        loop {
            let prompt = self.prompt_merged(request).await?;
            let Err(error) = self.fit_to_context(request, &prompt) else { return Ok(prompt) };
            let share = error.overflow.as_deref().filter(|_| request.may_drop).and_then(Overflow::share);
            match share {
                Some(share) if Arc::make_mut(request).drop_beginning(share) => {}
                _ => return Err(error),
            }
        }
    }

    /// Reads and checks a chat request, under this server's settings.
    ///
    /// # Errors
    /// What vLLM refuses, with the field in question.
    pub fn chat_request(&self, body: Value) -> Result<ChatRequest, ApiError> {
        self.chat_request_under(body, self.rules)
    }

    /// As [`App::chat_request`], with other rules for tools.
    pub(crate) fn chat_request_under(&self, body: Value, rules: ToolRules) -> Result<ChatRequest, ApiError> {
        let mut request = ChatRequest::read(body, rules)?;
        self.check_stops(&request.sampling.stop)?;
        request.sampling.wishes.check(&self.backend.capabilities())?;
        request.sampling.wishes.as_ids |= self.answers.return_tokens_as_token_ids;
        if self.hides_images && !self.backend.capabilities().chats {
            request.hide_images();
        }
        if let Some(index) = request.odd_arguments() {
            tracing::warn!(
                index,
                "a call in the conversation has arguments that are no JSON object; the template gets them as they are"
            );
        }
        self.continuations.markers().check(&request)?;
        self.model.prepare(&mut request)?;
        request.diagnostics |= self.answers.return_diagnostics;
        if self.answers.enable_force_include_usage && request.delivery != Delivery::Whole {
            request.delivery = Delivery::Stream { usage: true, continuous: true };
        }
        Ok(request)
    }

    /// Checks the number of stop sequences.
    ///
    /// # Errors
    /// There are more than the server allows.
    pub(crate) fn check_stops(&self, stops: &[String]) -> Result<(), ApiError> {
        let most = self.answers.max_stops;
        if stops.len() <= most {
            return Ok(());
        }
        Err(ApiError::bad_field("stop", format!("`stop` holds {} texts; {most} are allowed", stops.len()))
            .hint("the server's --max-stops sets how many"))
    }

    pub(crate) fn tool_rules(&self) -> ToolRules {
        self.rules
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        self.keys.clone()
    }

    /// The model name for the answer to a request for `asked`.
    ///
    /// # Errors
    /// The name is not served.
    pub fn model_name(&self, asked: Option<&str>) -> Result<String, ApiError> {
        match (self.names.first(), asked.filter(|name| !name.is_empty())) {
            (None, asked) => Ok(asked.unwrap_or(&self.default_name).to_owned()),
            (Some(first), None) => Ok(first.clone()),
            (Some(first), Some(asked)) if self.names.iter().any(|name| name == asked) => Ok(first.clone()),
            (Some(_), Some(asked)) => {
                let error = ApiError::new(StatusCode::NOT_FOUND, format!("the model `{asked}` is not served here"));
                let error = ApiError { param: Some("model".to_owned()), ..error };
                Err(error.hint(format!("served: {}", self.names.join(", "))))
            }
        }
    }
}

/// Startup messages: the formats, and the source of prompts.
fn told(config: &ServeConfig, names: &[Option<String>; 2], has_template: bool) -> Vec<String> {
    let name = |name: &Option<String>, flag: Option<&str>| match (name, flag) {
        (None, _) => "none".to_owned(),
        (Some(name), Some("auto")) => format!("`{name}` (told from the model)"),
        (Some(name), _) => format!("`{name}`"),
    };
    let formats = format!(
        "formats: reasoning {}, tool calls {}",
        name(&names[0], config.reasoning_parser.as_deref()),
        name(&names[1], config.tool_call_parser.as_deref()),
    );
    let choice = TemplateChoice::of(config.chat_template.as_deref());
    let prompts = match (&config.backend, choice) {
        (BackendSpec::Remote { kind, .. }, _) if *kind == crate::config::RemoteKind::Chat => {
            "made by the chat server".to_owned()
        }
        (_, TemplateChoice::ChatMl) => "simple ones in the manner of ChatML (--chat-template chatml)".to_owned(),
        (_, TemplateChoice::Nothing) => "none; /v1/completions alone is served (--chat-template none)".to_owned(),
        (_, TemplateChoice::Given(_)) => "rendered here with --chat-template".to_owned(),
        (_, TemplateChoice::Unsaid) if has_template => "rendered here with the template in --model-dir".to_owned(),
        (BackendSpec::Remote { .. }, TemplateChoice::Unsaid) => "rendered by the backend".to_owned(),
        (BackendSpec::Mock | BackendSpec::Replay(_), TemplateChoice::Unsaid) => "nobody needs any".to_owned(),
    };
    vec![formats, format!("prompts: {prompts}")]
}
