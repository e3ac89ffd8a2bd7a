//! A checkpoint's `response_template`, parsed and checked.

use fancy_regex::Regex;
use serde_json::{Map, Value};

use super::content::{ContentParser, PairParser};
use super::delimiter::{Delimiter, Pattern, regex};
use super::io::Halves;
use super::transform::Shape;
use crate::explanation::Explanation;

/// A checked template.
#[derive(Debug)]
pub(crate) struct TemplateSpec {
    anchor: Anchor,
    pub(super) fields: Vec<Field>,
    /// The field for text outside all regions.
    pub(super) implicit: Option<usize>,
}

/// How to find the prompt's last turn.
#[derive(Debug)]
enum Anchor {
    Literals(Vec<String>),
    Pattern(Box<Regex>),
}

/// The kind of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Thinking,
    Content,
    ToolCalls,
}

/// A field of the template.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) kind: Kind,
    pub(super) open: Option<Delimiter>,
    pub(super) close: Option<Delimiter>,
    pub(super) content: ContentParser,
    pub(super) transform: Option<Shape>,
    /// The transform applies to each element of the content.
    pub(super) each: bool,
}

impl TemplateSpec {
    /// Parses and checks a template.
    pub(crate) fn parse(template: &Value) -> Result<Self, Explanation> {
        let top = Table::new(template, "response_template")?;
        top.only(&["version", "defaults", "fields", "start_anchor", "start_anchor_pattern"])?;
        if top.get("version").is_some_and(|version| version.as_u64() != Some(1)) {
            return Err(top.wrong("version", "must be 1", "this program reads version 1 of response templates"));
        }
        if let Some(defaults) = top.get("defaults") {
            Table::new(defaults, "response_template.defaults")?.only(&["role"])?;
        }
        let anchor = anchor(&top)?;
        let fields_value =
            top.get("fields").ok_or_else(|| top.wrong("fields", "is missing", "name at least one field"))?;
        let fields_table = Table::new(fields_value, "response_template.fields")?;
        fields_table.only(&["thinking", "content", "tool_calls"])?;
        let mut fields = Vec::new();
        for (name, kind) in [("content", Kind::Content), ("thinking", Kind::Thinking), ("tool_calls", Kind::ToolCalls)]
        {
            if let Some(value) = fields_table.get(name) {
                fields.push(Field::parse(&Table::new(value, &fields_table.path(name))?, kind)?);
            }
        }
        let mut openless = fields.iter().enumerate().filter(|(_, f)| f.open.is_none()).map(|(i, _)| i);
        let mut implicit = openless.next();
        if openless.next().is_some() {
            return Err(fields_table.error(
                "more than one field has no opener",
                "only one field can take what stands outside all regions; give the others `open` or `open_pattern`",
            ));
        }
        if implicit.is_none() && !fields.iter().any(|f| f.kind == Kind::Content) {
            implicit = Some(fields.len());
            fields.push(Field::implicit_content());
        }
        Ok(Self { anchor, fields, implicit })
    }

    /// Whether a reply may contain a thought.
    pub(crate) fn thinks(&self) -> bool {
        self.fields.iter().any(|f| f.kind == Kind::Thinking)
    }

    /// Whether the template has the fields that these halves need. One without thoughts only serves calls.
    pub(crate) fn serves(&self, halves: Halves) -> Result<(), Explanation> {
        for (needed, kind, field, flag) in [
            (halves.reasoning && !halves.tools, Kind::Thinking, "thinking", "--reasoning-parser"),
            (halves.tools, Kind::ToolCalls, "tool_calls", "--tool-call-parser"),
        ] {
            if needed && !self.fields.iter().any(|f| f.kind == kind) {
                return Err(Explanation::new(
                    format!("response_template.fields: there is no `{field}`, which {flag} needs"),
                    format!("leave out {flag}, or name a parser that knows this model"),
                ));
            }
        }
        Ok(())
    }

    /// The first literals that open and close a thought, if they are literals.
    pub(crate) fn thought_markers(&self) -> Option<(String, String)> {
        let thinking = self.fields.iter().find(|f| f.kind == Kind::Thinking)?;
        match (&thinking.open, &thinking.close) {
            (Some(Delimiter::Literals { texts: open, .. }), Some(Delimiter::Literals { texts: close, .. })) => {
                Some((open.first()?.clone(), close.first()?.clone()))
            }
            _ => None,
        }
    }

    /// The prompt after its last start anchor; all of it if there is none.
    pub(super) fn turn<'p>(&self, prompt: &'p str) -> &'p str {
        let start = match &self.anchor {
            Anchor::Literals(texts) => texts.iter().filter_map(|t| Some(prompt.rfind(t)? + t.len())).max(),
            Anchor::Pattern(regex) => regex.find_iter(prompt).map_while(Result::ok).map(|found| found.end()).last(),
        };
        start.and_then(|start| prompt.get(start..)).unwrap_or(prompt)
    }
}

fn anchor(top: &Table<'_>) -> Result<Anchor, Explanation> {
    match (top.get("start_anchor"), top.get("start_anchor_pattern")) {
        (Some(_), Some(_)) => Err(top.both("start_anchor", "start_anchor_pattern")),
        (Some(value), None) => Ok(Anchor::Literals(top.literals("start_anchor", value)?)),
        (None, Some(value)) => {
            let pattern = top.text("start_anchor_pattern", value)?;
            let regex = regex(pattern).map_err(|e| top.bad_pattern("start_anchor_pattern", &e))?;
            Ok(Anchor::Pattern(Box::new(regex)))
        }
        (None, None) => Err(top.wrong(
            "start_anchor",
            "is missing",
            "give the text (or `start_anchor_pattern`) with which the assistant's turn begins in a prompt",
        )),
    }
}

impl Field {
    fn implicit_content() -> Self {
        Self {
            kind: Kind::Content,
            open: None,
            close: None,
            content: ContentParser::default(),
            transform: None,
            each: false,
        }
    }

    fn parse(table: &Table<'_>, kind: Kind) -> Result<Self, Explanation> {
        table.only(&[
            "open",
            "open_pattern",
            "close",
            "close_pattern",
            "content",
            "content_args",
            "repeats",
            "join",
            "optional",
            "transform",
            "transform_each",
        ])?;
        let open = delimiter(table, "open", "open_pattern")?;
        let close = delimiter(table, "close", "close_pattern")?;
        let never_empty =
            [("open_pattern", open.as_ref()), ("close_pattern", close.as_ref().filter(|_| open.is_none()))];
        for (key, delimiter) in never_empty {
            if delimiter.is_some_and(Delimiter::may_be_empty) {
                return Err(table.wrong(key, "matches the empty text", "let the pattern take at least one character"));
            }
        }
        let repeats = table.switch("repeats")?;
        table.switch("optional")?;
        if let Some(join) = table.get("join") {
            table.text("join", join)?;
            if !repeats {
                return Err(table.wrong(
                    "join",
                    "needs `repeats: true`",
                    "pieces are joined only where a field repeats",
                ));
            }
        }
        let each = table.switch("transform_each")?;
        let content = ContentParser::parse(table)?;
        let mut groups = open.as_ref().map(Delimiter::groups).unwrap_or_default();
        groups.extend(close.as_ref().map(Delimiter::groups).unwrap_or_default());
        let transform = match table.get("transform") {
            None => None,
            Some(value) => Some(Shape::parse(value, &table.path("transform"), &groups, each)?),
        };
        if each && transform.is_none() {
            return Err(table.wrong("transform_each", "needs `transform`", "say what each element becomes"));
        }
        let field = Self { kind, open, close, content, transform, each };
        field.check(table, &groups)?;
        Ok(field)
    }

    /// Checks the requirements for a field.
    fn check(&self, table: &Table<'_>, groups: &[String]) -> Result<(), Explanation> {
        if self.kind == Kind::ToolCalls && self.open.is_none() {
            return Err(table.wrong("open", "is missing", "say with `open` or `open_pattern` where calls begin"));
        }
        if self.kind != Kind::ToolCalls {
            let is_text = matches!(self.content, ContentParser::One(PairParser::Text { .. }));
            if !is_text || self.transform.is_some() || table.get("join").is_some() {
                return Err(table.error(
                    "thinking and content are plain text",
                    "leave out `transform` and `join`, and let `content` be \"text\"",
                ));
            }
        }
        if self.transform.is_none() && !groups.is_empty() {
            return Err(
                table.error("its patterns have named groups, but there is no `transform`", "use them in a `transform`")
            );
        }
        Ok(())
    }
}

fn delimiter(table: &Table<'_>, literal: &str, pattern: &str) -> Result<Option<Delimiter>, Explanation> {
    match (table.get(literal), table.get(pattern)) {
        (Some(_), Some(_)) => Err(table.both(literal, pattern)),
        (Some(value), None) => Ok(Some(Delimiter::literals(table.literals(literal, value)?))),
        (None, Some(value)) => {
            let text = table.text(pattern, value)?;
            let compiled = Pattern::new(text).map_err(|e| table.bad_pattern(pattern, &e))?;
            Ok(Some(Delimiter::Pattern(Box::new(compiled))))
        }
        (None, None) => Ok(None),
    }
}

/// An object of the template, and its path.
pub(super) struct Table<'a> {
    at: String,
    map: &'a Map<String, Value>,
}

impl<'a> Table<'a> {
    pub(super) fn new(value: &'a Value, at: &str) -> Result<Self, Explanation> {
        match value {
            Value::Object(map) => Ok(Self { at: at.to_owned(), map }),
            _ => Err(Explanation::new(
                format!("{at}: must be an object"),
                "look at the `response_template` of the tokenizer's configuration",
            )),
        }
    }

    pub(super) fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.at)
    }

    /// The value of a key; null counts as missing.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|v| !v.is_null())
    }

    /// Refuses unknown keys.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Explanation> {
        match self.map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(self.error(&format!("unknown key `{key}`"), &format!("known are {}", known.join(", ")))),
            None => Ok(()),
        }
    }

    pub(super) fn error(&self, what: &str, hint: &str) -> Explanation {
        Explanation::new(format!("{}: {what}", self.at), hint)
    }

    pub(super) fn wrong(&self, key: &str, what: &str, hint: &str) -> Explanation {
        Explanation::new(format!("{}: {what}", self.path(key)), hint)
    }

    fn both(&self, one: &str, other: &str) -> Explanation {
        self.error(&format!("`{one}` and `{other}` exclude each other"), "keep one of them")
    }

    pub(super) fn bad_pattern(&self, key: &str, error: &str) -> Explanation {
        let line = error.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join(" ");
        self.wrong(key, &format!("is no pattern: {line}"), "patterns are Python regular expressions")
    }

    pub(super) fn text(&self, key: &str, value: &'a Value) -> Result<&'a str, Explanation> {
        value.as_str().ok_or_else(|| self.wrong(key, "must be a string", "put it in quotes"))
    }

    /// A boolean, false if missing.
    pub(super) fn switch(&self, key: &str) -> Result<bool, Explanation> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(on)) => Ok(*on),
            Some(_) => Err(self.wrong(key, "must be true or false", "leave it out for false")),
        }
    }

    /// One literal or several, none of them empty.
    fn literals(&self, key: &str, value: &Value) -> Result<Vec<String>, Explanation> {
        let texts: Option<Vec<String>> = match value {
            Value::String(text) => Some(vec![text.clone()]),
            Value::Array(list) => list.iter().map(|v| v.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        texts.filter(|texts| !texts.is_empty() && texts.iter().all(|t| !t.is_empty())).ok_or_else(|| {
            self.wrong(key, "must be a text or a list of texts, none of them empty", "give the literal marker")
        })
    }
}
