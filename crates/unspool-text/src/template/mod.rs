//! Chat templates: the Jinja text of a checkpoint that renders a conversation into the prompt.
//!
//! Templates are written for Python's Jinja2 as configured by the `transformers` library, and get the same here. Block
//! tags strip the following line break and the preceding blanks, loops have `break` and `continue`, values have
//! Python's methods, `tojson` writes like `json.dumps`, `raise_exception` refuses a conversation, `strftime_now`
//! returns the time, and `{% generation %}` marks a section without changing it. A template is third-party code: it
//! runs with a step budget and can access nothing but the conversation.

mod charge;
mod content;
mod functions;
mod generation;
mod json;
mod named;
mod python;
mod size;
mod trace;
mod value;

use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind};
use serde_json::Map;

pub use self::content::ContentFormat;
use self::functions::Clock;
pub(crate) use self::functions::date;
pub use self::named::{Templates, given};
use crate::error::TextError;
use crate::work::{self, Bounds, Ended};

/// Maximum steps of one rendering; vLLM stops after 30 seconds. A long conversation with tools takes about ten
/// thousand.
const FUEL: u64 = 10_000_000;
/// Maximum time of one rendering. The step limit ends most long renderings; this ends the others.
const LONGEST: Duration = Duration::from_secs(10);
/// Name of the only template in its environment.
const NAME: &str = "chat_template";

/// A compiled chat template. Rendering does not change it, so it can be shared.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    source: String,
    variables: HashSet<String>,
    format: ContentFormat,
    /// Whether rendering reports each line.
    traced: bool,
}

impl ChatTemplate {
    /// Compiles a template.
    ///
    /// # Errors
    /// It is invalid Jinja, or uses an unknown feature; the message names the line.
    pub fn new(source: &str) -> Result<Self, TextError> {
        Self::with_clock(source, Clock::Now)
    }

    /// As [`ChatTemplate::new`]; rendering calls `mark` with the number of each line it reaches.
    pub(crate) fn traced(source: &str, mark: impl Fn(u32) + Send + Sync + 'static) -> Result<Self, TextError> {
        let mut template = Self::new(source)?;
        template.environment.add_function(trace::MARK, move |line: u32| {
            mark(line);
            charge::check()
        });
        template.traced = true;
        Ok(template)
    }

    /// As [`ChatTemplate::new`], with `strftime_now` fixed at `moment` (`2026-01-31T09:30:00`).
    ///
    /// # Errors
    /// As [`ChatTemplate::new`]; or `moment` is invalid.
    pub fn at_moment(source: &str, moment: &str) -> Result<Self, TextError> {
        Self::with_clock(source, Clock::still(moment)?)
    }

    fn with_clock(source: &str, clock: Clock) -> Result<Self, TextError> {
        size::check(source, syntax()?)?;
        // Within those limits it can still nest deeper than a thread's default stack allows.
        work::deep(|| Self::compile(source, clock))
    }

    fn compile(source: &str, clock: Clock) -> Result<Self, TextError> {
        let prepared = generation::without_tags(source);
        let mut environment = Environment::new();
        environment.set_syntax(syntax()?);
        environment.set_fuel(Some(FUEL));
        // The prompt is not HTML, whatever the template's name.
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_unknown_method_callback(functions::method);
        functions::add(&mut environment, clock);
        environment.add_template_owned(NAME, prepared.clone()).map_err(|error| told(&error, "cannot be compiled"))?;
        let template = environment.get_template(NAME).map_err(|error| told(&error, "cannot be compiled"))?;
        let variables = template.undeclared_variables(false);
        let format = content::format(&prepared, syntax()?);
        Ok(Self { environment, source: source.to_owned(), variables, format, traced: false })
    }

    /// The template's text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The names that the template expects from its context.
    #[must_use]
    pub fn variables(&self) -> &HashSet<String> {
        &self.variables
    }

    /// The form in which it reads message content.
    #[must_use]
    pub fn content_format(&self) -> ContentFormat {
        self.format
    }

    /// Whether it has the role `developer`, detected from its text as vLLM does.
    #[must_use]
    pub fn knows_developer(&self) -> bool {
        self.source.contains("\"developer\"") || self.source.contains("'developer'")
    }

    /// Renders `context`. Steps and time are bounded, and rendering ends soon after this thread's [`Stop`](crate::Stop)
    /// is set. A single step of the engine is not bounded: render an untrusted template in a
    /// [`Sandbox`](crate::Sandbox).
    ///
    /// # Errors
    /// The template refuses the conversation (then the message is its own), fails on it, or does not end.
    pub fn render(&self, context: &Map<String, serde_json::Value>) -> Result<String, TextError> {
        let bounds = Bounds::current().within(LONGEST);
        // Macros can nest calls deeply.
        bounds.during(|| work::deep(|| self.evaluate(context)))
    }

    /// Which line writes which part of the text; in order.
    ///
    /// # Errors
    /// As [`ChatTemplate::render`].
    pub fn lines(&self, context: &Map<String, serde_json::Value>) -> Result<Vec<(Range<usize>, usize)>, TextError> {
        let spans = || {
            let template = self.environment.get_template(NAME);
            let rendered = template.and_then(|own| own.render_with_spans(value::object(context)));
            let (_, spans) = rendered.map_err(|error| told(&error, "cannot render this conversation"))?;
            Ok(spans.iter().map(|span| (span.output_range(), span.line())).collect())
        };
        Bounds::current().within(LONGEST).during(|| work::deep(spans))
    }

    fn evaluate(&self, context: &Map<String, serde_json::Value>) -> Result<String, TextError> {
        let rendered = match self.traced {
            true => trace::render(&self.environment, value::object(context)),
            false => self.environment.get_template(NAME).and_then(|own| own.render(value::object(context))),
        };
        rendered.map_err(|error| told(&error, "cannot render this conversation"))
    }
}

fn syntax() -> Result<SyntaxConfig, TextError> {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    syntax.map_err(|error| TextError::new(format!("the template syntax cannot be set up: {error}")))
}

/// Converts an error. The template's own `raise_exception` message is unchanged.
fn told(error: &minijinja::Error, what: &str) -> TextError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let mut late = false;
    while let Some(deeper) = cause {
        if let Some(refusal) = deeper.downcast_ref::<functions::Refusal>() {
            return TextError { by_template: true, ..TextError::new(refusal.0.clone()) };
        }
        late |= deeper.downcast_ref() == Some(&Ended::Late);
        cause = deeper.source();
    }
    let line = error.line().map(|line| format!(", line {line}")).unwrap_or_default();
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    let told = TextError::new(format!("the chat template{line} {what}: {}{detail}", error.kind()));
    match error.kind() {
        _ if late => told.hint(format!("a prompt must be made within {} seconds", LONGEST.as_secs())),
        ErrorKind::OutOfFuel => told.hint("the template takes too many steps; a shorter conversation may do"),
        ErrorKind::UndefinedError => told.hint("the template reads a field that this conversation does not have"),
        _ => told,
    }
}

#[cfg(test)]
mod tests;
