//! The model's own files: its tokenizer and its chat template.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use unspool::{Checkpoint, Detected, Half, Pair, PromptToken, Registry, Setup, ToolChoice, Vocabulary};
use unspool_check::template::{Subject, Verdict};
use unspool_text::template::{self, ContentFormat};
use unspool_text::tokenizer::Tokenizer;
use unspool_text::{ModelDir, PromptRequest, Prompter, Sandbox, TextError, model_dir, prompter};

use crate::config::{ContentFormatOption, ServeConfig, TemplateChoice};
use crate::error::{ApiError, StartupError};
use crate::prompt::PromptRenderer;
use crate::prompt::RenderedPrompt;
use crate::request::ChatRequest;

/// The contents of `--model-dir` and the template flags.
#[derive(Debug)]
pub struct Model {
    folder: Option<ModelDir>,
    /// The file of `--tokenizer-config`, which takes precedence over the folder's.
    tokenizer_config: Option<Value>,
    /// Whether every request can be rendered with a template.
    has_template: bool,
    prompter: Prompter,
    defaults: Map<String, Value>,
    trusts_templates: bool,
    hides_tools: bool,
    /// The template takes a system message only at the start.
    refuses_late_system: bool,
    /// Limits how many prompts are rendered and texts tokenized at once.
    turns: Arc<Semaphore>,
    /// Maximum length of a text to tokenize, in characters.
    longest_text: usize,
}

impl Model {
    /// Opens the model's folder and the chat template.
    ///
    /// # Errors
    /// A file is missing or invalid, or the model has no template and none is given.
    pub fn open(config: &ServeConfig) -> Result<Self, StartupError> {
        let folder = config.model_dir.as_deref().map(ModelDir::open).transpose()?;
        let choice = TemplateChoice::of(config.chat_template.as_deref());
        let given = match choice {
            TemplateChoice::Given(text) => Some(template::given(text)?),
            TemplateChoice::Unsaid | TemplateChoice::ChatMl | TemplateChoice::Nothing => None,
        };
        // If the model's own template is not used, it may be missing.
        let counts = matches!(choice, TemplateChoice::Unsaid | TemplateChoice::Given(_));
        let format = match config.chat_template_content_format {
            ContentFormatOption::Auto => None,
            ContentFormatOption::String => Some(ContentFormat::String),
            ContentFormatOption::Openai => Some(ContentFormat::OpenAi),
        };
        let named = |error: TextError| if given.is_some() { error.at("--chat-template") } else { error };
        let prompter = match Prompter::new(folder.as_ref(), given.as_deref(), format) {
            Err(_) if !counts => Prompter::new(None, None, format),
            made => made,
        }
        .map_err(named)?;
        let prompter = if config.trust_request_chat_template {
            prompter.with_sandbox(Sandbox::new(worker(config)?))
        } else {
            prompter
        };
        if let (Some(format), Some(template)) = (format, prompter.template(false))
            && template.content_format() != format
        {
            tracing::warn!("--chat-template-content-format is not the form that the template seems to read");
        }
        let defaults = match config.default_chat_template_kwargs.as_deref() {
            Some(text) => serde_json::from_str(text).map_err(|error| {
                StartupError::new(format!("--default-chat-template-kwargs is not a JSON object: {error}"))
                    .hint("write it like --default-chat-template-kwargs '{\"enable_thinking\": false}'")
            })?,
            None => Map::new(),
        };
        Ok(Self {
            has_template: counts && folder.is_some() || given.is_some(),
            folder,
            tokenizer_config: config.tokenizer_config.as_deref().map(read_tokenizer_config).transpose()?,
            refuses_late_system: refuses_late_system(&prompter),
            prompter,
            defaults,
            trusts_templates: config.trust_request_chat_template,
            hides_tools: config.exclude_tools_when_tool_choice_none,
            turns: Arc::new(Semaphore::new(config.text.workers())),
            longest_text: config.text.max_tokenize_chars,
        })
    }

    /// Whether this text is one entry of the tokenizer; `None`: there is no tokenizer.
    #[must_use]
    pub fn has_token(&self, text: &str) -> Option<bool> {
        let entries = self.folder.as_ref()?.tokenizer().entries();
        Some(entries.added().contains_key(text) || entries.iter().any(|(_, bytes)| bytes == text.as_bytes()))
    }

    /// Adds the checkpoint's facts to the settings of a pair.
    pub fn describe(&self, setup: &mut Setup) {
        if let Some(config) = &self.tokenizer_config {
            setup.tokenizer_config = config.clone();
            setup.vocabulary = Vocabulary::of_tokenizer_config(config);
        }
        let Some(folder) = &self.folder else { return };
        let entries = folder.tokenizer().entries();
        setup.model_type = folder.model_type().map(str::to_owned);
        setup.vocabulary = Vocabulary {
            special: entries.added().clone(),
            hidden: entries.special().to_vec(),
            bytes: Some(entries.iter().collect()),
        };
        if self.tokenizer_config.is_none() {
            setup.tokenizer_config = folder.tokenizer_config().clone();
        }
        if let (Value::Object(config), Some(template)) = (&mut setup.tokenizer_config, self.prompter.template(true)) {
            config.insert("chat_template".to_owned(), Value::from(template.source()));
        }
    }

    /// Detects the model's format from its files.
    ///
    /// # Errors
    /// There are no files, or they are ambiguous.
    pub fn detect(&self, registry: &Registry, half: Half) -> Result<Detected, StartupError> {
        let declared = self.tokenizer_config.as_ref();
        let template = self.prompter.template(true).map(|template| template.source().to_owned());
        let template = template.or_else(|| declared?.get("chat_template").and_then(Value::as_str).map(str::to_owned));
        if self.folder.is_none() && template.is_none() && declared.is_none() {
            let flag = half.flag();
            return Err(StartupError::new(format!(
                "{flag} is `auto`, but there are no files of the model to tell it from"
            ))
            .hint(format!("give the model's folder with --model-dir, or name the format with {flag}")));
        }
        let added = declared.map(Vocabulary::of_tokenizer_config).unwrap_or_default().special;
        let has_token = |text: &str| self.has_token(text).unwrap_or_else(|| added.contains_key(text));
        let types: Vec<&str> = self
            .folder
            .iter()
            .flat_map(|folder| folder.model_type().into_iter().chain(folder.architectures()))
            .collect();
        let checkpoint = Checkpoint {
            template: template.as_deref(),
            has_token: (self.folder.is_some() || declared.is_some()).then_some(&has_token),
            model_types: &types,
        };
        Ok(registry.detect(half, &checkpoint)?)
    }

    /// The first difference between what the template writes and what the parsers read; `named`: which halves have a
    /// name.
    #[must_use]
    pub fn misfit(&self, pair: &Pair, named: (bool, bool)) -> Option<String> {
        let (reasoning, tools) = named;
        // Without a template there is nothing to compare; harmony's prompts are our own.
        if !self.has_template || self.prompter.template(true).is_none() || !(reasoning || tools) {
            return None;
        }
        let subject = Subject { prompter: &self.prompter, pair, reasoning, tools };
        let found = subject.findings().into_iter().find(|finding| finding.verdict == Verdict::Differs)?;
        let line = found.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        Some(format!("{}: {}{line}", found.check, found.message.replace('\n', " ")))
    }

    /// Checks a request's template settings, and merges its arguments with the server's, once for template and parser.
    ///
    /// # Errors
    /// The request brings a template, and the server does not allow that.
    pub fn prepare(&self, request: &mut ChatRequest) -> Result<(), ApiError> {
        let in_kwargs = request.parse.chat_template_kwargs.get("chat_template").is_some_and(|value| !value.is_null());
        if !self.trusts_templates && (request.template.is_some() || in_kwargs) {
            let field = if in_kwargs { "chat_template_kwargs" } else { "chat_template" };
            return Err(ApiError::bad_field(field, "a chat template in the request is not allowed here")
                .hint("the server allows it if it is started with --trust-request-chat-template"));
        }
        if self.hides_tools && request.parse.tool_choice == ToolChoice::None {
            // Done here rather than in the template, so that it applies to every kind of prompt.
            request.tools.clear();
        }
        let effort = request.parse.reasoning_effort.as_deref();
        request.parse.chat_template_kwargs =
            prompter::merged(&self.defaults, &request.parse.chat_template_kwargs, effort);
        Ok(())
    }

    /// The tokenizer.
    ///
    /// # Errors
    /// The gateway has no model folder.
    pub fn tokenizer(&self) -> Result<&Arc<dyn Tokenizer>, ApiError> {
        let folder = self.folder.as_ref().ok_or_else(|| {
            ApiError::new(axum::http::StatusCode::NOT_IMPLEMENTED, "this gateway has no tokenizer")
                .hint("it has one if it is started with --model-dir")
        })?;
        Ok(folder.tokenizer())
    }

    /// The semaphore for rendering and tokenizing.
    #[must_use]
    pub fn turns(&self) -> &Arc<Semaphore> {
        &self.turns
    }

    /// Tokenizes a text; `param` is its field in the request.
    ///
    /// # Errors
    /// The gateway has no model folder, the text is too long, or a part of it cannot be tokenized.
    pub fn tokenize(&self, text: &str, add_special: bool, param: &str) -> Result<Vec<u32>, ApiError> {
        self.check_length(text, param)?;
        self.tokenizer()?.encode(text, add_special).map_err(|error| refused(error, param))
    }

    fn check_length(&self, text: &str, param: &str) -> Result<(), ApiError> {
        let longest = self.longest_text;
        if text.len() <= longest || text.chars().take(longest + 1).count() <= longest {
            return Ok(());
        }
        Err(ApiError::bad_field(
            param,
            format!("the text has more than {longest} characters, the most that are tokenized here"),
        )
        .hint("the limit is set with --max-tokenize-chars"))
    }

    /// Whether there is a tokenizer.
    #[must_use]
    pub fn has_tokenizer(&self) -> bool {
        self.folder.is_some()
    }

    /// The ids of the tokens that end a turn, if the checkpoint lists them.
    #[must_use]
    pub fn end_tokens(&self) -> &[u32] {
        self.folder.as_ref().map(ModelDir::end_tokens).unwrap_or_default()
    }

    /// The text that the tokenizer prepends to every sequence, if any.
    #[must_use]
    pub fn sequence_start(&self) -> Option<String> {
        let tokenizer = self.folder.as_ref()?.tokenizer();
        let (with, without) = (tokenizer.encode("", true).ok()?, tokenizer.encode("", false).ok()?);
        let first = with.first().filter(|_| with.len() > without.len())?;
        String::from_utf8(tokenizer.entries().bytes(*first)?.to_vec()).ok()
    }

    /// The maximum context length, in tokens.
    #[must_use]
    pub fn longest_context(&self) -> Option<u64> {
        self.folder.as_ref().and_then(ModelDir::longest_context)
    }

    /// Whether the template takes a system message only at the start of the conversation.
    #[must_use]
    pub fn refuses_late_system(&self) -> bool {
        self.refuses_late_system
    }

    /// Whether the gateway renders every request's prompt, with a template.
    #[must_use]
    pub fn has_template(&self) -> bool {
        self.has_template
    }

    /// Whether the gateway renders a request's prompt, with a template.
    #[must_use]
    pub fn renders(&self, request: &ChatRequest) -> bool {
        self.has_template || request.template.is_some()
    }

    /// The prompt of a prepared request, with its tokens if there is a tokenizer.
    ///
    /// # Errors
    /// The conversation cannot be expressed, or the template refuses it.
    pub fn render(&self, request: &ChatRequest) -> Result<RenderedPrompt, ApiError> {
        if let Some(text) = &request.raw_prompt {
            let ids = match &self.folder {
                Some(_) => self.tokenize(text, true, "prompt")?,
                None => Vec::new(),
            };
            return Ok(RenderedPrompt { complete: false, ..self.rendered(text.clone(), &ids) });
        }
        let tools = Some(request.tools.as_slice()).filter(|tools| !tools.is_empty());
        let text = self.prompter.render(&PromptRequest {
            messages: &request.raw_messages,
            tools,
            documents: request.documents.as_ref(),
            kwargs: &request.parse.chat_template_kwargs,
            template: request.template.as_deref(),
            generation_prompt: request.generation_prompt,
            continue_final: request.continue_final,
        });
        let refused = |error| refused(error, "messages");
        let text = text.map_err(refused)?;
        let ids = match &self.folder {
            Some(folder) => {
                self.check_length(text.text(), "messages")?;
                text.encode(&**folder.tokenizer(), request.add_special_tokens).map_err(refused)?
            }
            None => Vec::new(),
        };
        Ok(self.rendered(text.into_text(), &ids))
    }

    /// A prompt with its tokens.
    #[must_use]
    pub fn rendered(&self, text: String, ids: &[u32]) -> RenderedPrompt {
        let entries = self.folder.as_ref().map(|folder| folder.tokenizer().entries());
        let bytes = |id: u32| entries.and_then(|entries| entries.bytes(id)).unwrap_or_default().to_vec();
        let encoded: Vec<PromptToken> = ids.iter().map(|id| PromptToken { id: *id, bytes: bytes(*id) }).collect();
        let tokens = entries.is_some().then_some(encoded.len() as u64);
        RenderedPrompt { text, turn: Some(0), tokens, encoded, complete: true, begins: None }
    }
}

/// Tests whether a template refuses a system message after the user's.
fn refuses_late_system(prompter: &Prompter) -> bool {
    let message = |role: &str| json!({"role": role, "content": "a"});
    let (system, user) = (message("system"), message("user"));
    let takes = |messages: &[Value]| {
        let (tools, documents, kwargs) = (None, None, &Map::new());
        let (generation_prompt, continue_final) = (true, false);
        let request =
            PromptRequest { messages, tools, documents, kwargs, template: None, generation_prompt, continue_final };
        prompter.render(&request).is_ok()
    };
    takes(&[system.clone(), user.clone()]) && !takes(&[system.clone(), user.clone(), system, user])
}

fn read_tokenizer_config(path: &Path) -> Result<Value, StartupError> {
    let place = path.display();
    let hint = "it is the file tokenizer_config.json of the checkpoint";
    let text = model_dir::read_regular(path)
        .map_err(|error| StartupError::new(format!("--tokenizer-config: cannot read {place}: {error}")).hint(hint))?;
    match serde_json::from_slice(&text) {
        Ok(config @ Value::Object(_)) => Ok(config),
        Ok(_) => Err(StartupError::new(format!("--tokenizer-config: {place} is not a JSON object")).hint(hint)),
        Err(error) => Err(StartupError::new(format!("--tokenizer-config: {place} is not JSON: {error}")).hint(hint)),
    }
}

/// The program that renders the templates of requests.
fn worker(config: &ServeConfig) -> Result<PathBuf, StartupError> {
    config.text.template_worker.clone().ok_or_else(|| {
        StartupError::new(
            "--trust-request-chat-template needs a program that renders such templates in a process of its own",
        )
        .hint("`unspool serve` brings it; who embeds the gateway names one in `ServeConfig::text`")
    })
}

fn refused(error: TextError, param: &str) -> ApiError {
    let told = ApiError::bad_field(param, error.message);
    match error.hint {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

impl From<TextError> for StartupError {
    fn from(error: TextError) -> Self {
        Self { message: error.message, hint: error.hint }
    }
}

/// Renders prompts with the model's template if there is one, otherwise with `otherwise`.
#[derive(Debug)]
pub struct ModelPrompts {
    model: Arc<Model>,
    otherwise: Arc<dyn PromptRenderer>,
}

impl ModelPrompts {
    /// A renderer for `model`.
    #[must_use]
    pub fn new(model: Arc<Model>, otherwise: Arc<dyn PromptRenderer>) -> Self {
        Self { model, otherwise }
    }
}

impl PromptRenderer for ModelPrompts {
    fn render(&self, request: &ChatRequest) -> Result<RenderedPrompt, ApiError> {
        if self.model.renders(request) { self.model.render(request) } else { self.otherwise.render(request) }
    }

    fn is_exact(&self, request: &ChatRequest) -> bool {
        self.model.renders(request)
    }

    fn turns(&self) -> Option<&Arc<Semaphore>> {
        Some(self.model.turns())
    }
}
