//! Reads a format file: TOML, variables, variants, and the line of each key.

use std::collections::HashMap;

use serde::Deserialize;
use toml::{Table, Value};

use super::check;
use super::clash::clash;
use super::file::{FormatFile, List, Names};
use super::lines::{has_line, line_of, line_table};
use super::old;
use super::rewrite::{negated, rewrite};
use super::template::Slot;
use crate::explanation::Explanation;
use crate::suggest::{did_you_mean, near};

/// The facts for a variant's conditions.
#[derive(Debug, Clone, Default)]
pub struct Facts<'a> {
    /// The requested registry name.
    pub name: &'a str,
    /// Texts that are single vocabulary entries; `None`: the vocabulary is unknown.
    pub vocabulary: Option<&'a HashMap<String, u32>>,
    /// The checkpoint's chat template.
    pub template: Option<&'a str>,
    /// The checkpoint's `tokenizer_config.json`.
    pub config: Option<&'a serde_json::Value>,
    /// The requested turn syntax, in a format that has several.
    pub flavour: Option<&'a str>,
    /// The request's `chat_template_kwargs`, including a top-level `reasoning_effort`.
    pub kwargs: Option<&'a serde_json::Map<String, serde_json::Value>>,
}

/// An error in a format file, with file, line and key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The file, as the user named it.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// Dotted key.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub hint: String,
}

/// The default hint.
const HINT: &str = "`unspool formats --schema` lists all words; `unspool formats NAME` shows a format that works";

impl FileError {
    /// The error and its location, without the hint.
    pub(crate) fn placed(&self) -> String {
        let key = if self.key.is_empty() { String::new() } else { format!("`{}`: ", self.key) };
        format!("{}:{}: {key}{}", self.path, self.line, self.message)
    }
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n  hint: {}", self.placed(), self.hint)
    }
}

/// A parsed format file; [`Source::resolve`] returns the keys for one of its names.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file, as the user named it.
    pub path: String,
    /// Its text.
    pub text: String,
    base: Table,
    variants: Vec<Variant>,
    vars: Table,
    lines: HashMap<String, usize>,
    /// Its names.
    pub names: Names,
    /// Name of the file whose values this one inherits.
    pub extends: Option<String>,
    /// Former keys: line, key, and replacement.
    pub(crate) old: Vec<(usize, String, &'static str)>,
}

#[derive(Debug, Clone)]
struct Variant {
    names: Option<Vec<String>>,
    when: When,
    table: Table,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct When {
    kwarg: Table,
    vocab: List,
    vocab_has: List,
    vocab_lacks: List,
    template: List,
    template_has: List,
    template_lacks: List,
    config: Table,
    flavour: Option<String>,
}

impl Source {
    /// Parses a file's text.
    ///
    /// # Errors
    /// Invalid TOML, unknown keys, values of the wrong type, in the file or in a variant.
    pub fn read(path: &str, text: &str) -> Result<Self, FileError> {
        let lines = line_table(text);
        let fault = |key: &str, message: String| FileError {
            path: path.to_owned(),
            line: line_of(&lines, key),
            key: key.to_owned(),
            hint: advised(&message),
            message,
        };
        let mut base: Table = toml::from_str(text).map_err(|e| FileError {
            path: path.to_owned(),
            line: e.span().map_or(1, |s| 1 + text[..s.start.min(text.len())].matches('\n').count()),
            key: String::new(),
            message: e.message().to_owned(),
            hint: "format files are TOML, see https://toml.io".to_owned(),
        })?;
        let vars = match base.remove("vars") {
            None => Table::new(),
            Some(Value::Table(t)) => t,
            Some(_) => return Err(fault("vars", "must be a table".into())),
        };
        if let Some(name) = vars.keys().find(|name| Slot::named(name).is_some() || name.starts_with(['?', '*'])) {
            let error = fault(&format!("vars.{name}"), format!("`{{{name}}}` is a slot of templates"));
            return Err(FileError { hint: "give the variable a name that no slot has".to_owned(), ..error });
        }
        let extends = match base.remove("extends") {
            None => None,
            Some(Value::String(s)) => Some(s),
            Some(_) => return Err(fault("extends", "must be the name of a format".into())),
        };
        let old = old::found(&base).into_iter().map(|(key, now)| (line_of(&lines, &key), key, now)).collect();
        old::former_names(&mut base);
        let mut variants = Vec::new();
        if let Some(list) = base.remove("variant") {
            let list = list.as_array().cloned().ok_or_else(|| fault("variant", "write `[[variant]]`".into()))?;
            for (i, item) in list.into_iter().enumerate() {
                let key = format!("variant.{i}");
                variants.push(Variant::read(item).map_err(|m| fault(&key, m))?);
            }
        }
        let names = names_in(&base);
        if names.reasoning.is_empty() && names.tools.is_empty() {
            let message = match base.get("names") {
                Some(names) if !names.is_table() => "must be a table with `reasoning`, `tools`, or both",
                _ => "no name: `names.reasoning` and `names.tools` are both missing",
            };
            return Err(fault("names", message.into()));
        }
        let known = [&names.reasoning[..], &names.tools].concat();
        let unknown = |(alias, of): (&String, &List)| {
            Some((alias.clone(), of.iter().find(|name| !known.contains(name))?.clone()))
        };
        if let Some((alias, name)) = names.alias.iter().find_map(unknown) {
            let message = format!("no name of this file is `{name}`");
            let hint = format!("the names are `{}`", known.join("`, `"));
            return Err(FileError { hint, ..fault(&format!("names.alias.{alias}"), message) });
        }
        for (i, variant) in variants.iter().enumerate() {
            let unknown = variant.names.iter().flatten().find(|name| !known.contains(name));
            if let Some(name) = unknown {
                let message = format!("no name of this file is `{name}`, so the variant would never hold");
                return Err(FileError {
                    hint: format!("the names are `{}`", known.join("`, `")),
                    ..fault(&format!("variant.{i}.names"), message)
                });
            }
        }
        let (path, text) = (path.to_owned(), text.to_owned());
        let source = Self { path, text, base, variants, vars, lines, names, extends, old };
        source.check_all()?;
        Ok(source)
    }

    /// Checks that the keys are valid under each variant.
    pub(crate) fn check_all(&self) -> Result<(), FileError> {
        if self.extends.is_some() {
            // The other file's values are not there yet.
            return Ok(());
        }
        let mut all = vec![self.words(self.base.clone(), &HashMap::new(), None)?];
        for (i, variant) in self.variants.iter().enumerate() {
            let mut table = self.base.clone();
            merge(&mut table, &variant.table);
            all.push(self.words(table, &HashMap::new(), Some(i))?);
        }
        // Several variants may be active at once, so one may use markers of another.
        all.iter().enumerate().try_for_each(|(i, words)| self.check(words, &all, i.checked_sub(1)))?;
        let tables = self.variants.iter().map(|variant| &variant.table);
        tables.chain([&self.base]).try_for_each(|table| self.must_say_where_replies_begin(table))
    }

    /// No default is right for most models that think.
    fn must_say_where_replies_begin(&self, table: &Table) -> Result<(), FileError> {
        let says = |table: &Table, section: &str, key: &str| table.get(section).is_some_and(|s| s.get(key).is_some());
        if !says(table, "reasoning", "thought") || [table, &self.base].iter().any(|t| says(t, "start", "state")) {
            return Ok(());
        }
        let told = Explanation::new(
            "is missing: where does a reply begin if the prompt says nothing?",
            "`start.state = \"reasoning\"` if the model thinks unless it is told otherwise, \"content\" if it writes the opener of \
             its thoughts itself",
        );
        Err(FileError { line: line_of(&self.lines, "reasoning.thought"), ..self.error("start.state", told) })
    }

    fn check(&self, words: &FormatFile, all: &[FormatFile], variant: Option<usize>) -> Result<(), FileError> {
        let line = |key: &str| {
            let inside = variant.map(|i| format!("variant.{i}.{key}")).filter(|k| has_line(&self.lines, k));
            line_of(&self.lines, &inside.unwrap_or_else(|| key.to_owned()))
        };
        if let Some((key, told)) = check::fault(words, all) {
            return Err(FileError { line: line(&key), ..self.error(&key, told) });
        }
        let Some(clash) = clash(words) else { return Ok(()) };
        let message = format!("{}, see `{}` in line {}", clash.message, clash.first, line(&clash.first));
        let hint = "give the two different texts, or leave one out".to_owned();
        Err(FileError { path: self.path.clone(), line: line(&clash.second), key: clash.second, message, hint })
    }

    /// Inherits another file's values; its own take precedence.
    pub fn extend_from(&mut self, other: &Self) {
        let mut base = other.base.clone();
        base.remove("names");
        base.remove("detect");
        merge(&mut base, &self.base);
        self.base = base;
        let mut variants: Vec<Variant> = other.variants.iter().filter(|v| v.names.is_none()).cloned().collect();
        variants.append(&mut self.variants);
        self.variants = variants;
        let mut vars = other.vars.clone();
        merge(&mut vars, &self.vars);
        self.vars = vars;
        self.extends = None;
    }

    /// The flavours of a name: turn syntaxes that a user can select.
    pub(crate) fn flavours(&self, name: &str) -> Vec<String> {
        let of = |variant: &Variant| variant.names.as_ref().is_none_or(|names| names.iter().any(|own| own == name));
        let variants = self.variants.iter().filter(|variant| of(variant));
        let mut all: Vec<String> = variants.filter_map(|variant| variant.when.flavour.clone()).collect();
        all.dedup();
        all
    }

    /// The active variants as a bit set; equal sets give equal keys.
    #[must_use]
    pub fn active(&self, facts: &Facts<'_>) -> u64 {
        self.variants.iter().take(64).enumerate().filter(|(_, v)| v.holds(facts)).fold(0, |bits, (i, _)| bits | 1 << i)
    }

    /// Those of these variants that are active under a request's template arguments, if all other conditions hold.
    pub(crate) fn asked(&self, variants: u64, kwargs: &serde_json::Map<String, serde_json::Value>) -> u64 {
        let dropped = |(i, variant): (usize, &Variant)| u64::from(!variant.is_asked(Some(kwargs))) << i;
        self.variants.iter().take(64).enumerate().map(dropped).fold(variants, |bits, dropped| bits & !dropped)
    }

    /// The variants that some request may activate, as a bit set.
    pub(crate) fn possible(&self, facts: &Facts<'_>) -> u64 {
        self.variants.iter().take(64).enumerate().filter(|(_, v)| v.fits(facts)).fold(0, |bits, (i, _)| bits | 1 << i)
    }

    /// The keys under these facts.
    ///
    /// # Errors
    /// As [`Source::read`].
    pub fn resolve(&self, facts: &Facts<'_>) -> Result<FormatFile, FileError> {
        let active = self.active(facts);
        let mut table = self.base.clone();
        for (i, variant) in self.variants.iter().take(64).enumerate() {
            if active & (1 << i) != 0 {
                merge(&mut table, &variant.table);
            }
        }
        self.words(table, &self.variables(facts), None)
    }

    /// An error in a key, found later.
    pub(crate) fn error(&self, key: &str, told: Explanation) -> FileError {
        FileError {
            path: self.path.clone(),
            line: line_of(&self.lines, key),
            key: key.to_owned(),
            message: told.message,
            hint: told.hint.unwrap_or_else(|| HINT.to_owned()),
        }
    }

    fn words(
        &self,
        mut table: Table,
        variables: &HashMap<String, String>,
        variant: Option<usize>,
    ) -> Result<FormatFile, FileError> {
        for (name, _) in &self.vars {
            let value = variables.get(name).map_or("", String::as_str);
            let pattern = format!("{{{name}}}");
            substitute(&mut table, &pattern, value);
        }
        rewrite(&mut table).map_err(|(key, told)| {
            let inside = variant.map(|i| format!("variant.{i}.{key}")).filter(|k| has_line(&self.lines, k));
            FileError { line: line_of(&self.lines, &inside.unwrap_or_else(|| key.clone())), ..self.error(&key, told) }
        })?;
        serde_path_to_error::deserialize(Value::Table(table)).map_err(|e| {
            let key = e.path().to_string();
            let inside = variant.map(|i| format!("variant.{i}.{key}"));
            let line_key = inside.filter(|k| self.lines.contains_key(k.as_str())).unwrap_or_else(|| key.clone());
            let message = e.into_inner().to_string();
            FileError {
                path: self.path.clone(),
                line: line_of(&self.lines, &line_key),
                key,
                hint: advised(&message),
                message: message.trim().to_owned(),
            }
        })
    }

    fn variables(&self, facts: &Facts<'_>) -> HashMap<String, String> {
        let mut out = HashMap::new();
        for (name, value) in &self.vars {
            let text = match value {
                Value::String(s) => s.clone(),
                Value::Table(t) => from_checkpoint(name, t, facts).unwrap_or_default(),
                _ => String::new(),
            };
            out.insert(name.clone(), text);
        }
        out
    }
}

/// The hint for an error: the default, with similar keys.
fn advised(message: &str) -> String {
    misspelt(message).map_or_else(|| HINT.to_owned(), |question| format!("{question} {HINT}"))
}

/// The keys most similar to an unknown one; `message` names it first, followed by all possible keys.
fn misspelt(message: &str) -> Option<String> {
    let (unknown, expected) = message.split_once(", expected ")?;
    let unknown = unknown.rsplit_once("unknown ")?.1.split('`').nth(1)?;
    did_you_mean(&near(unknown, expected.split('`').skip(1).step_by(2)))
}

/// The `names` of a file's text; empty if it is not TOML.
pub(crate) fn names_of(text: &str) -> Names {
    toml::from_str::<Table>(text).map(|table| names_in(&table)).unwrap_or_default()
}

fn list_of(value: Option<&Value>) -> List {
    match value {
        Some(Value::String(name)) => List(vec![name.clone()]),
        Some(Value::Array(list)) => List(list.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()),
        _ => List::default(),
    }
}

fn names_in(table: &Table) -> Names {
    let list = |key: &str| list_of(table.get("names").and_then(|names| names.get(key)));
    let map = |key: &str| {
        let table = table.get("names").and_then(|names| names.get(key)).and_then(Value::as_table);
        table.into_iter().flatten().map(|(word, names)| (word.clone(), list_of(Some(names)))).collect()
    };
    Names {
        reasoning: list("reasoning"),
        tools: list("tools"),
        model_type: list("model_type"),
        alias: map("alias"),
        since: map("since"),
    }
}

/// A variable's value from the tokenizer config, else from a vocabulary entry that matches a pattern.
fn from_checkpoint(name: &str, table: &Table, facts: &Facts<'_>) -> Option<String> {
    if let Some(key) = table.get("config").and_then(Value::as_str)
        && let Some(text) = facts.config.and_then(|c| c.get(key)).and_then(serde_json::Value::as_str)
    {
        return Some(text.to_owned());
    }
    let patterns = table.get("vocab").and_then(Value::as_array)?;
    let vocabulary = facts.vocabulary?;
    let slot = format!("{{{name}}}");
    for pattern in patterns.iter().filter_map(Value::as_str) {
        let Some((before, after)) = pattern.split_once(&slot) else { continue };
        let mut fits: Vec<&str> = vocabulary
            .keys()
            .filter_map(|entry| entry.strip_prefix(before)?.strip_suffix(after))
            .filter(|part| part.is_empty() || part.starts_with(':'))
            .collect();
        fits.sort_unstable();
        if let Some(part) = fits.last() {
            return Some((*part).to_owned());
        }
    }
    None
}

impl Variant {
    fn read(item: Value) -> Result<Self, String> {
        let Value::Table(mut table) = item else { return Err("must be a table".into()) };
        let names = match table.remove("names") {
            None => None,
            Some(Value::Array(a)) => Some(a.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect()),
            Some(Value::String(s)) => Some(vec![s]),
            Some(_) => return Err("`names` must be a list of names".into()),
        };
        let when = match table.remove("when") {
            None => When::default(),
            Some(mut v) => {
                if let Value::Table(when) = &mut v {
                    negated(when, "vocab", "vocab_has", "vocab_lacks");
                    negated(when, "template", "template_has", "template_lacks");
                }
                When::deserialize(v).map_err(|e| format!("`when`: {}", e.to_string().trim()))?
            }
        };
        Ok(Self { names, when, table })
    }

    fn holds(&self, facts: &Facts<'_>) -> bool {
        self.is_asked(facts.kwargs) && self.fits(facts)
    }

    /// Whether the request activates it.
    fn is_asked(&self, kwargs: Option<&serde_json::Map<String, serde_json::Value>>) -> bool {
        self.when.kwarg.iter().all(|(k, v)| kwargs.and_then(|m| m.get(k)).is_some_and(|got| same(v, got)))
    }

    /// Whether it is active for a request that asks for it.
    fn fits(&self, facts: &Facts<'_>) -> bool {
        let when = &self.when;
        let named = self.names.as_ref().is_none_or(|names| names.iter().any(|n| n == facts.name));
        let config =
            when.config.iter().all(|(k, v)| facts.config.and_then(|m| m.get(k)).is_some_and(|got| same(v, got)));
        let vocab_known = when.vocab_has.is_empty() && when.vocab_lacks.is_empty() || facts.vocabulary.is_some();
        let in_vocab = |s: &String| facts.vocabulary.is_some_and(|v| v.contains_key(s));
        let vocab = when.vocab_has.iter().all(in_vocab) && !when.vocab_lacks.iter().any(in_vocab);
        let template_known = when.template_has.is_empty() && when.template_lacks.is_empty() || facts.template.is_some();
        let in_template = |s: &String| facts.template.is_some_and(|t| t.contains(s.as_str()));
        let template = when.template_has.iter().all(in_template) && !when.template_lacks.iter().any(in_template);
        let flavour = when.flavour.is_none() || when.flavour.as_deref() == facts.flavour;
        named && config && flavour && vocab_known && vocab && template_known && template
    }
}

fn same(want: &Value, got: &serde_json::Value) -> bool {
    match (want, got) {
        (Value::String(a), serde_json::Value::String(b)) => a == b,
        (Value::Boolean(a), serde_json::Value::Bool(b)) => a == b,
        (Value::Integer(a), serde_json::Value::Number(b)) => b.as_i64() == Some(*a),
        _ => false,
    }
}

/// Merges `over` into `table`, table by table; any other value replaces.
fn merge(table: &mut Table, over: &Table) {
    for (key, value) in over {
        match (table.get_mut(key), value) {
            (Some(Value::Table(a)), Value::Table(b)) => merge(a, b),
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

fn substitute(table: &mut Table, pattern: &str, text: &str) {
    for (_, value) in table.iter_mut() {
        substitute_value(value, pattern, text);
    }
}

fn substitute_value(value: &mut Value, pattern: &str, text: &str) {
    match value {
        Value::String(s) if s.contains(pattern) => *s = s.replace(pattern, text),
        Value::Array(a) => a.iter_mut().for_each(|v| substitute_value(v, pattern, text)),
        Value::Table(t) => substitute(t, pattern, text),
        _ => {}
    }
}
