//! From a request to the prompt: chooses the template, shapes the conversation, merges the arguments.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::conversation;
use crate::error::TextError;
use crate::harmony;
use crate::model_dir::ModelDir;
use crate::prompt_text::PromptText;
use crate::sandbox::Sandbox;
use crate::template::{ChatTemplate, ContentFormat, Templates, date};

/// Marks the end of a message to be continued. The blank shows whether a template trims white space there.
const END_MARK: &str = "\u{1}END_OF_THE_LAST_MESSAGE\u{1} ";

/// The input of a prompt.
#[derive(Debug, Clone, Copy)]
pub struct PromptRequest<'a> {
    /// The messages of the chat API, unchanged.
    pub messages: &'a [Value],
    /// Its tools; a template distinguishes `None` from an empty list.
    pub tools: Option<&'a [Value]>,
    /// The documents of the request, for templates that use them.
    pub documents: Option<&'a Value>,
    /// The template arguments, merged (see [`merged`]).
    pub kwargs: &'a Map<String, Value>,
    /// A template from the request, or the name of one of the checkpoint's.
    pub template: Option<&'a str>,
    /// Whether the prompt ends where the assistant turn begins.
    pub generation_prompt: bool,
    /// Whether the last message stays open, so that the model continues it.
    pub continue_final: bool,
}

/// Renders prompts.
#[derive(Debug)]
pub struct Prompter {
    given: Option<Arc<ChatTemplate>>,
    templates: Templates,
    special_tokens: Map<String, Value>,
    format: Option<ContentFormat>,
    harmony: bool,
    sandbox: Option<Sandbox>,
}

impl Prompter {
    /// A prompter for a model's folder. `given` is the template of `--chat-template`, which takes precedence over the
    /// checkpoint's; `format` is the content format, if it should not be detected from the template.
    ///
    /// # Errors
    /// `given` is invalid Jinja, or the checkpoint has no template and its prompts cannot be written in another way.
    pub fn new(
        folder: Option<&ModelDir>,
        given: Option<&str>,
        format: Option<ContentFormat>,
    ) -> Result<Self, TextError> {
        let given = given.map(|source| ChatTemplate::new(source).map(Arc::new)).transpose()?;
        // As in vLLM, these models use harmony whatever templates they have.
        let harmony = folder.and_then(ModelDir::model_type) == Some("gpt_oss");
        let templates = folder.map(|folder| folder.templates().clone()).unwrap_or_default();
        if let (None, false, true, Some(folder)) = (&given, harmony, templates.is_empty(), folder) {
            return Err(no_template(folder));
        }
        let special_tokens = folder.map(|folder| folder.special_tokens().clone()).unwrap_or_default();
        Ok(Self { given, templates, special_tokens, format, harmony, sandbox: None })
    }

    /// Adds a sandbox for templates from requests; without one they are refused.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// Adds special tokens with names for templates (`bos_token`, …), if there is no folder.
    #[must_use]
    pub fn with_special_tokens(mut self, tokens: Map<String, Value>) -> Self {
        self.special_tokens.extend(tokens);
        self
    }

    /// The special tokens with names for templates.
    #[must_use]
    pub fn special_tokens(&self) -> &Map<String, Value> {
        &self.special_tokens
    }

    /// The template for a request with or without tools, if prompts use one.
    #[must_use]
    pub fn template(&self, tools: bool) -> Option<&ChatTemplate> {
        if self.harmony {
            return None;
        }
        self.given.as_ref().or_else(|| self.templates.choose(tools)).map(|template| &**template)
    }

    /// Renders the prompt.
    ///
    /// # Errors
    /// The conversation cannot be expressed, or the template refuses it.
    pub fn render(&self, request: &PromptRequest<'_>) -> Result<PromptText, TextError> {
        for key in ["chat_template", "tokenize", "messages"] {
            if request.kwargs.contains_key(key) {
                return Err(TextError::new(format!("`chat_template_kwargs` cannot hold `{key}`")));
            }
        }
        if self.harmony {
            return harmony_prompt(request);
        }
        let named = request.template.and_then(|name| self.templates.named(name)).map(|template| &**template);
        if let (Some(own), None) = (request.template, named) {
            return self.foreign(own, request);
        }
        let template = named.or_else(|| self.template(request.tools.is_some())).ok_or_else(|| {
            TextError::new("no chat template fits this request: the checkpoint's are for other uses, by their names")
        })?;
        let text = prompt(template, (&self.special_tokens, self.format), request)?;
        Ok(PromptText { text, markers: None })
    }

    /// Which line of the template writes which part of the prompt, as far as it is known; in order.
    ///
    /// # Errors
    /// As [`Prompter::render`]; or the prompt does not use a template.
    pub fn lines(&self, request: &PromptRequest<'_>) -> Result<Vec<(Range<usize>, usize)>, TextError> {
        let template = self.template(request.tools.is_some());
        let template = template.ok_or_else(|| TextError::new("the prompt is not made with a template"))?;
        template.lines(&context(template, (&self.special_tokens, self.format), request)?)
    }

    /// Renders with an untrusted template.
    fn foreign(&self, template: &str, request: &PromptRequest<'_>) -> Result<PromptText, TextError> {
        let sandbox = self.sandbox.as_ref().ok_or_else(|| {
            TextError::new("a chat template in the request cannot be rendered here")
                .hint("it needs a process of its own, and this program was not told how to start one")
        })?;
        let job = Handed {
            template,
            special_tokens: &self.special_tokens,
            format: self.format,
            messages: request.messages,
            tools: request.tools,
            documents: request.documents,
            kwargs: request.kwargs,
            generation_prompt: request.generation_prompt,
            continue_final: request.continue_final,
        };
        Ok(PromptText { text: sandbox.run(&job)?, markers: None })
    }
}

/// A rendering job for a worker.
#[derive(Serialize)]
struct Handed<'a> {
    template: &'a str,
    special_tokens: &'a Map<String, Value>,
    format: Option<ContentFormat>,
    messages: &'a [Value],
    tools: Option<&'a [Value]>,
    documents: Option<&'a Value>,
    kwargs: &'a Map<String, Value>,
    generation_prompt: bool,
    continue_final: bool,
}

/// The same for the worker.
#[derive(Deserialize)]
pub(crate) struct Job {
    pub(crate) template: String,
    special_tokens: Map<String, Value>,
    format: Option<ContentFormat>,
    messages: Vec<Value>,
    tools: Option<Vec<Value>>,
    documents: Option<Value>,
    kwargs: Map<String, Value>,
    generation_prompt: bool,
    continue_final: bool,
}

impl Job {
    /// The prompt that `template`, compiled from the job's, renders.
    pub(crate) fn prompt(&self, template: &ChatTemplate) -> Result<String, TextError> {
        let request = PromptRequest {
            messages: &self.messages,
            tools: self.tools.as_deref(),
            documents: self.documents.as_ref(),
            kwargs: &self.kwargs,
            template: None,
            generation_prompt: self.generation_prompt,
            continue_final: self.continue_final,
        };
        prompt(template, (&self.special_tokens, self.format), &request)
    }
}

/// Renders a template with the checkpoint's special tokens, and content in `format` or as detected.
fn prompt(
    template: &ChatTemplate,
    given: (&Map<String, Value>, Option<ContentFormat>),
    request: &PromptRequest<'_>,
) -> Result<String, TextError> {
    let prompt = template.render(&context(template, given, request)?)?;
    if request.continue_final { cut(&prompt) } else { Ok(prompt) }
}

/// The variables for a template.
fn context(
    template: &ChatTemplate,
    (special_tokens, format): (&Map<String, Value>, Option<ContentFormat>),
    request: &PromptRequest<'_>,
) -> Result<Map<String, Value>, TextError> {
    let format = format.unwrap_or_else(|| template.content_format());
    let mut messages = conversation::messages(request.messages, format)?;
    conversation::without_developer(&mut messages, template);
    if request.continue_final {
        mark(&mut messages)?;
    }
    let mut context = special_tokens.clone();
    context.insert("messages".to_owned(), Value::Array(messages));
    let tools = request.tools.map(|tools| tools.iter().map(conversation::tool).collect());
    context.insert("tools".to_owned(), tools.unwrap_or(Value::Null));
    context.insert("documents".to_owned(), request.documents.cloned().unwrap_or(Value::Null));
    context.insert("add_generation_prompt".to_owned(), json!(request.generation_prompt && !request.continue_final));
    context.insert("continue_final_message".to_owned(), json!(request.continue_final));
    context.extend(request.kwargs.iter().map(|(key, value)| (key.clone(), value.clone())));
    Ok(context)
}

fn no_template(folder: &ModelDir) -> TextError {
    let place = folder.path().display();
    let kind = folder.model_type().unwrap_or("(not named)");
    TextError::new(format!("the checkpoint in {place} (model type {kind}) has no chat template"))
        .hint("give one with --chat-template FILE; without a template only gpt_oss models can be prompted")
}

/// Appends the end mark to the last text of the last message.
fn mark(messages: &mut [Value]) -> Result<(), TextError> {
    let last = messages.last_mut().map(|message| &mut message["content"]);
    let text = match last {
        Some(Value::Array(parts)) => parts.iter_mut().rev().find_map(|part| part.get_mut("text")),
        other => other,
    };
    match text {
        Some(Value::String(text)) => {
            text.push_str(END_MARK);
            Ok(())
        }
        _ => Err(TextError::new("`continue_final_message` needs a last message with text")),
    }
}

/// The prompt up to the end mark. If the template trims white space at the end of messages, so does this.
fn cut(prompt: &str) -> Result<String, TextError> {
    let at = prompt.rfind(END_MARK.trim_end()).ok_or_else(|| {
        TextError::new("`continue_final_message` is set, but the template does not show the last message")
    })?;
    let kept = &prompt[..at];
    Ok(if prompt[at..].starts_with(END_MARK) { kept } else { kept.trim_end() }.to_owned())
}

fn harmony_prompt(request: &PromptRequest<'_>) -> Result<PromptText, TextError> {
    if request.continue_final {
        return Err(TextError::new("`continue_final_message` cannot be had with this model: its turns are messages"));
    }
    harmony::render(&harmony::Conversation {
        messages: request.messages,
        tools: request.tools.unwrap_or_default(),
        effort: request.kwargs.get("reasoning_effort").and_then(Value::as_str),
        date: &date()?,
        generation_prompt: request.generation_prompt,
    })
}

/// Merges a request's template arguments with a server's defaults, as vLLM does: a request's `null` or `"auto"` is no
/// value, a top-level effort takes precedence over one in the arguments, and it sets `enable_thinking` unless the
/// request does.
#[must_use]
pub fn merged(defaults: &Map<String, Value>, own: &Map<String, Value>, effort: Option<&str>) -> Map<String, Value> {
    let mut out = defaults.clone();
    let set = |value: &Value| !value.is_null() && value != "auto";
    out.extend(own.iter().filter(|(_, value)| set(value)).map(|(key, value)| (key.clone(), value.clone())));
    if let Some(effort) = effort.filter(|effort| *effort != "auto") {
        out.insert("reasoning_effort".to_owned(), json!(effort));
        if !own.contains_key("enable_thinking") {
            out.insert("enable_thinking".to_owned(), json!(effort != "none"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</>{% endfor %}\
        {% if tools %}{{ tools | tojson }}{% endif %}{% if add_generation_prompt %}<assistant>{{ mood }}{% endif %}";

    fn request<'a>(messages: &'a [Value], kwargs: &'a Map<String, Value>) -> PromptRequest<'a> {
        PromptRequest {
            messages,
            tools: None,
            documents: None,
            kwargs,
            template: None,
            generation_prompt: true,
            continue_final: false,
        }
    }

    fn told(prompter: &Prompter, request: &PromptRequest<'_>) -> Result<String, TextError> {
        prompter.render(request).map(PromptText::into_text)
    }

    #[test]
    fn a_prompt_is_made() {
        let prompter = Prompter::new(None, Some(TEMPLATE), None).expect("it is Jinja");
        let said = [json!({"role": "user", "content": " Ahoy "}), json!({"role": "assistant", "content": "Well, "})];
        let kwargs = Map::from_iter([("mood".to_owned(), json!("calm"))]);
        let plain = request(&said[..1], &kwargs);
        assert_eq!(told(&prompter, &plain).as_deref(), Ok("<user>Ahoy</><assistant>calm"));
        let tools = [json!({"type": "function", "function": {"name": "f"}})];
        let with_tools = PromptRequest { tools: Some(&tools), generation_prompt: false, ..plain };
        let expected = r#"<user>Ahoy</>[{"type": "function", "function": {"name": "f", "description": null, "parameters": null}}]"#;
        assert_eq!(told(&prompter, &with_tools).as_deref(), Ok(expected));
        let open = PromptRequest { continue_final: true, ..request(&said, &kwargs) };
        assert_eq!(told(&prompter, &open).as_deref(), Ok("<user>Ahoy</><assistant>Well,"));
        let own = PromptRequest { template: Some("{{ messages | length }}"), ..request(&said, &kwargs) };
        assert!(told(&prompter, &own).is_err_and(|error| error.hint.is_some()), "there is no sandbox here");
        let kwargs = Map::from_iter([("messages".to_owned(), json!([]))]);
        assert!(told(&prompter, &request(&said, &kwargs)).is_err());
    }

    #[test]
    fn an_open_message_keeps_its_white_space_where_the_template_does() {
        let prompter =
            Prompter::new(None, Some("{% for m in messages %}[{{ m.content }}]{% endfor %}"), None).expect("Jinja");
        let said = [json!({"role": "assistant", "content": "Well, "})];
        let kwargs = Map::new();
        let open = PromptRequest { continue_final: true, ..request(&said, &kwargs) };
        assert_eq!(told(&prompter, &open).as_deref(), Ok("[Well, "));
        let silent = Prompter::new(None, Some("nothing"), None).expect("Jinja");
        assert!(silent.render(&open).is_err());
    }

    #[test]
    fn arguments_are_merged_as_in_vllm() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        let defaults = map(json!({"enable_thinking": false, "a": 1}));
        let own = map(json!({"a": null, "b": "auto", "c": 2}));
        assert_eq!(merged(&defaults, &own, None), map(json!({"enable_thinking": false, "a": 1, "c": 2})));
        let effort = merged(&defaults, &own, Some("high"));
        assert_eq!((&effort["enable_thinking"], &effort["reasoning_effort"]), (&json!(true), &json!("high")));
        let own = map(json!({"enable_thinking": false}));
        assert_eq!(merged(&defaults, &own, Some("low"))["enable_thinking"], false);
    }
}
