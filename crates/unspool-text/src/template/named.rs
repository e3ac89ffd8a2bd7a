//! Chooses among a checkpoint's templates.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::ChatTemplate;
use crate::error::TextError;

/// Characters that a template contains but a file name does not; vLLM's test.
const TEMPLATE_SIGNS: [char; 3] = ['{', '}', '\n'];

/// Templates available by name without a file, as in vLLM.
const BUILT_IN: [(&str, &str); 2] = [
    (
        "template_chatml.jinja",
        "{% for message in messages %}{{ '<|im_start|>' ~ message.role ~ '\n' ~ message.content }}\
         {% if not loop.last or add_generation_prompt %}{{ '<|im_end|>\n' }}{% endif %}{% endfor %}\
         {% if add_generation_prompt and messages[-1].role != 'assistant' %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    ),
    ("template_basic.jinja", "{% for message in messages %}{{ message.content }}{% endfor %}"),
];

/// The chat templates of a checkpoint, by name.
#[derive(Debug, Clone, Default)]
pub struct Templates {
    named: BTreeMap<String, Arc<ChatTemplate>>,
    without_tools: Option<Arc<ChatTemplate>>,
}

impl Templates {
    /// Adds a template, replacing one with the same name. `place` is for messages.
    ///
    /// # Errors
    /// Those of [`ChatTemplate::new`].
    pub fn add(&mut self, name: &str, source: &str, place: &str) -> Result<(), TextError> {
        let template = ChatTemplate::new(source).map_err(|error| error.at(place))?;
        self.named.insert(name.to_owned(), Arc::new(template));
        Ok(())
    }

    /// Adds the template for requests without tools.
    ///
    /// # Errors
    /// Those of [`ChatTemplate::new`].
    pub fn add_without_tools(&mut self, source: &str, place: &str) -> Result<(), TextError> {
        self.without_tools = Some(Arc::new(ChatTemplate::new(source).map_err(|error| error.at(place))?));
        Ok(())
    }

    /// The template with a name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Arc<ChatTemplate>> {
        self.named.get(name)
    }

    /// The template for a request: with tools `tool_use` if there is one, else `default`.
    #[must_use]
    pub fn choose(&self, tools: bool) -> Option<&Arc<ChatTemplate>> {
        if !tools && self.without_tools.is_some() {
            return self.without_tools.as_ref();
        }
        self.named("tool_use").filter(|_| tools).or_else(|| self.named("default"))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.without_tools.is_none()
    }
}

/// The text for `--chat-template`: a file's; the template itself, if the text has a brace or a line break; or one of
/// `template_chatml.jinja` and `template_basic.jinja`.
///
/// # Errors
/// The text looks like a file name, and the file does not exist.
pub fn given(text: &str) -> Result<String, TextError> {
    let failed = match std::fs::read_to_string(Path::new(text)) {
        Ok(source) => return Ok(source),
        Err(error) => error,
    };
    if text.contains(TEMPLATE_SIGNS) {
        return Ok(text.to_owned());
    }
    match BUILT_IN.iter().find(|(name, _)| *name == text) {
        Some((_, source)) => Ok((*source).to_owned()),
        None => {
            Err(TextError::new(format!("the chat template `{text}` looks like a file, but cannot be read: {failed}"))
                .hint("give a file, the template itself, or one of template_chatml.jinja and template_basic.jinja"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_choose_their_own_template() {
        let mut templates = Templates::default();
        assert!(templates.is_empty() && templates.choose(true).is_none());
        templates.add("default", "d", "test").expect("it is Jinja");
        let source = |templates: &Templates, tools| templates.choose(tools).map(|t| t.source().to_owned());
        assert_eq!(source(&templates, true).as_deref(), Some("d"));
        templates.add("tool_use", "t", "test").expect("it is Jinja");
        assert_eq!((source(&templates, true).as_deref(), source(&templates, false).as_deref()), (Some("t"), Some("d")));
        templates.add_without_tools("w", "test").expect("it is Jinja");
        assert_eq!((source(&templates, true).as_deref(), source(&templates, false).as_deref()), (Some("t"), Some("w")));
        let error = templates.add("x", "{% if %}", "some/file").expect_err("no Jinja");
        assert!(error.message.starts_with("some/file: "), "{error}");
    }

    #[test]
    fn a_template_is_a_file_or_itself() {
        assert_eq!(given("{{ messages }}").as_deref(), Ok("{{ messages }}"));
        assert_eq!(given("a\nb").as_deref(), Ok("a\nb"));
        let file = std::env::temp_dir().join(format!("unspool-template-{}", std::process::id()));
        std::fs::write(&file, "from a file").expect("the folder takes files");
        assert_eq!(given(&file.display().to_string()).as_deref(), Ok("from a file"));
        std::fs::remove_file(&file).expect("it is there");
        assert!(given("no/such/file.jinja").is_err_and(|error| error.hint.is_some()));
        for (name, _) in BUILT_IN {
            let template = ChatTemplate::new(&given(name).expect("it is built in")).expect("it is Jinja");
            assert!(!template.variables().is_empty());
        }
    }
}
