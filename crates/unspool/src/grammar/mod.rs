//! Grammars that constrain a model to its own format: everything that they allow parses to calls that match their
//! schemas.
//!
//! They derive from the templates of the parser and the renderer, and are written for two kinds of backend: as a
//! structural tag (JSON for xgrammar, in vLLM and SGLang), and as text for llguidance.
//!
//! ```
//! use unspool::grammar::Options;
//! use unspool::{Registry, Request, Setup};
//!
//! let setup = Setup { tool_parser: Some("hermes".into()), ..Setup::default() };
//! let pair = Registry::builtin().pair(&setup).unwrap();
//! let request = Request::from_openai(&serde_json::json!({
//!     "tools": [{"type": "function", "function": {"name": "tide", "strict": true, "parameters": {
//!         "type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}}}],
//!     "tool_choice": "required",
//! })).unwrap();
//! let grammar = pair.grammar(&request, &Options::default()).unwrap().unwrap();
//! assert!(grammar.lark().contains(r#"{\"name\": \"tide\", \"arguments\": "#));
//! assert_eq!(grammar.structural_tag()["type"], "structural_tag");
//! ```

mod avoid;
mod calls;
#[cfg(feature = "response-template")]
mod checkpoint;
mod ebnf;
mod elements;
mod fill;
mod lark;
mod limit;
mod messages;
mod node;
mod notation;
mod number;
mod params;
pub(crate) mod pattern;
mod reply;
mod rules;
mod sample;
mod schema;
mod text;
mod tidy;
mod values;
mod xgrammar;

use std::collections::HashMap;

use serde_json::Value;

use crate::error::Error;
use crate::format::file::Level;
use crate::pair::Pair;
use crate::render::words::{Thinking, Words};
use crate::request::{Request, ToolChoice};
use crate::sample::Sampler;

use calls::{Calls, Function};
use limit::Budget;
use node::Node;
use reply::Wish;
use rules::Rules;
use schema::Place;

pub use limit::{Limit, Work};

/// How strictly calls are constrained to their schemas, as in `--tool-strict-level`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StrictLevel {
    /// A grammar for required calls and strict tools; only strict tools are constrained to their schemas.
    #[default]
    Auto,
    /// A grammar for all calls; only strict tools are constrained to their schemas.
    Function,
    /// A grammar for all calls, and all tools are constrained to their schemas.
    Parameter,
}

/// Settings of a grammar, in addition to the request's tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The strictness. `Auto` leaves it to the format; some have their own level.
    pub level: StrictLevel,
    /// False: calls are never constrained (`VLLM_ENFORCE_STRICT_TOOL_CALLING=0`).
    pub enforce: bool,
    /// True: the grammar begins with the thought, for a backend that applies it from the first token on. False: it
    /// begins where the gate opens.
    pub with_thought: bool,
    /// Whether the reply begins inside a thought, if known: [`Parser::is_thinking`](crate::Parser::is_thinking) after
    /// the prompt. `None`: as format and request say.
    pub thought_open: Option<bool>,
    /// The JSON schema of the answer (`response_format`). An answer is then JSON, or calls if the request lets the
    /// model choose. Ignored if calls are required.
    pub answer: Option<Value>,
    /// Maximum size of the grammar.
    pub limit: Limit,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            level: StrictLevel::Auto,
            enforce: true,
            with_thought: false,
            thought_open: None,
            answer: None,
            limit: Limit::default(),
        }
    }
}

/// A grammar for one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Grammar {
    root: Node,
    rules: Vec<Node>,
    /// It begins with a thought.
    thinks: bool,
    work: Work,
}

impl Grammar {
    /// The structural tag for xgrammar 0.2.8.
    #[must_use]
    pub fn structural_tag(&self) -> Value {
        xgrammar::write(self)
    }

    /// The grammar text for llguidance 1.9.
    #[must_use]
    pub fn lark(&self) -> String {
        lark::write(self)
    }

    /// The schema, if the grammar is exactly the JSON that matches it. Many backends accept a schema directly.
    #[must_use]
    pub fn json_schema(&self) -> Option<&Value> {
        match &self.root {
            Node::Json { schema, without } if without.is_nothing() => Some(schema),
            _ => None,
        }
    }

    /// The resources used to build it, to compare with the limit.
    #[must_use]
    pub fn work(&self) -> Work {
        self.work
    }

    /// A text that the grammar admits, with plausible words and values; for a backend without a model.
    #[must_use]
    pub fn sample(&self, sampler: &mut Sampler) -> String {
        sample::text(self, sampler)
    }
}

impl Pair {
    /// The grammar for the replies to a request; `None` if it constrains nothing.
    ///
    /// # Errors
    /// A function or parameter whose name the format cannot write; a named function that is not among the tools; a
    /// guarantee that a checkpoint's own format (`hf`) cannot give, because its templates have no grammar; or a grammar
    /// beyond [`Options::limit`].
    pub fn grammar(&self, request: &Request, options: &Options) -> Result<Option<Grammar>, Error> {
        self.grammar_while(request, options, &|| true)
    }

    /// The same, while `wanted` returns true. It is called regularly, so that work for a disconnected client ends.
    ///
    /// # Errors
    /// Those of [`Pair::grammar`], or it is no longer wanted.
    pub fn grammar_while(
        &self,
        request: &Request,
        options: &Options,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Option<Grammar>, Error> {
        let plan = self.formats(request)?;
        let tools = plan.tools.as_ref().filter(|_| self.gives_calls());
        let scope = Scope::of(request, options, tools.map(|f| f.serve.level).unwrap_or_default());
        let calling = tools.filter(|_| scope.calls);
        if calling.is_none() && options.answer.is_none() {
            return Ok(None);
        }
        if plan.checkpoint.is_some() && plan.refuses() {
            return Err(Error {
                hint: Some("serve this model with a parser of its own format".to_owned()),
                ..Error::grammar("response_template parsing cannot guarantee the form of a reply")
            });
        }
        let budget = Budget::new(options.limit, wanted);
        let functions = functions(request, scope.all_strict, &budget)?;
        let must_call = calling.is_some() && !matches!(request.tool_choice, ToolChoice::Auto);
        let wish = Wish {
            must_call,
            once: scope.once,
            thought: options.with_thought.then_some(options.thought_open),
            answer: options.answer.as_ref().filter(|_| !must_call),
        };
        if let Some(schema) = wish.answer {
            Place::root(schema, &budget).take()?;
        }
        let mut rules = Rules::new(&budget);
        #[cfg(feature = "response-template")]
        if let Some(spec) = &plan.checkpoint {
            let root = checkpoint::reply(spec, calling.map(|_| &functions[..]), wish, &mut rules)?;
            return finished(root, rules, options.with_thought);
        }
        let words = Words::read(plan.reasoning.as_ref(), tools, (request, self.limits()))
            .map_err(|e| Error::grammar(&e.to_string()))?;
        let mut calls = calling.map(|file| Calls {
            words: &words,
            file,
            functions: &functions,
            once: scope.once,
            calls_before: request.calls_before,
            rules: Rules::new(&budget),
            arguments: HashMap::new(),
        });
        let root = reply::reply(&words, calls.as_mut(), wish)?;
        let begins = options.thought_open.unwrap_or(words.thinking == Thinking::Open);
        let thinks = options.with_thought && begins && !words.thinks_in_content();
        finished(root, calls.map_or(rules, |c| c.rules), thinks)
    }
}

/// The grammar of a root and its rules.
fn finished(root: Node, rules: Rules<'_>, thinks: bool) -> Result<Option<Grammar>, Error> {
    let budget = rules.budget;
    budget.take(root.weight())?;
    let (root, rules) = tidy::tidied(root, rules.into_nodes(), budget)?;
    Ok(Some(Grammar { root, rules, thinks, work: budget.spent() }))
}

/// The schema of the answer in a chat request: `response_format` of the types `json_schema` and `json_object`, or
/// `structured_outputs.json` and `.json_object`.
///
/// # Errors
/// A `json_schema` without a schema.
pub fn answer_schema(request: &Value) -> Result<Option<Value>, Error> {
    let format = request.get("response_format").filter(|f| !f.is_null());
    match format.and_then(|f| f.get("type")).and_then(Value::as_str) {
        Some("json_object") => return Ok(Some(schema::any_object())),
        Some("json_schema") => {
            let schema = format.and_then(|f| f.pointer("/json_schema/schema"));
            let missing = || Error::request("`response_format.json_schema` has no `schema`");
            return schema.map(|s| Some(s.clone())).ok_or_else(missing);
        }
        _ => {}
    }
    let outputs = request.get("structured_outputs");
    let said = |key: &str| outputs.and_then(|o| o.get(key)).filter(|v| !v.is_null());
    if let Some(schema) = said("json") {
        return Ok(Some(schema.clone()));
    }
    Ok(said("json_object").filter(|v| **v == Value::Bool(true)).map(|_| schema::any_object()))
}

/// The constrained parts of a request.
struct Scope {
    calls: bool,
    all_strict: bool,
    once: bool,
}

impl Scope {
    fn of(request: &Request, options: &Options, own: Level) -> Self {
        let mut level = match (options.level, own) {
            (StrictLevel::Auto, Level::Function) => StrictLevel::Function,
            (StrictLevel::Auto, Level::Parameter) => StrictLevel::Parameter,
            (level, _) => level,
        };
        let auto = request.tool_choice == ToolChoice::Auto;
        let once = request.parallel_tool_calls == Some(false) || matches!(request.tool_choice, ToolChoice::Named(_));
        if once && level == StrictLevel::Auto {
            level = StrictLevel::Function;
        }
        // A constrained answer would otherwise keep the model from calling at all.
        let free = auto && level == StrictLevel::Auto && !request.tools.any_strict() && options.answer.is_none();
        let none = request.tools.is_empty() || !request.wants_calls();
        Self { calls: options.enforce && !none && !free, all_strict: level == StrictLevel::Parameter, once }
    }
}

/// The functions that may be called.
fn functions(request: &Request, all_strict: bool, budget: &Budget<'_>) -> Result<Vec<Function>, Error> {
    let named = match &request.tool_choice {
        ToolChoice::Named(name) => Some(name),
        _ => None,
    };
    let mut all = Vec::new();
    for definition in request.tools.definitions().filter(|d| named.is_none_or(|n| *n == d.name)) {
        budget.is_for(Some(&definition.name));
        budget.step(1)?;
        let schema = schema::arguments(&definition.parameters);
        all.push(Function { name: definition.name.clone(), schema, strict: all_strict || definition.strict });
    }
    budget.is_for(None);
    match named.filter(|_| all.is_empty()) {
        Some(name) => Err(Error::grammar(&format!("`tool_choice` names the function `{name}`, which is no tool"))),
        None => Ok(all),
    }
}

/// A text in an attribute, its markup as entities.
fn escaped_attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
