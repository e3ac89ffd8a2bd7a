//! The contents of a region: the parsers that a template may name.

use std::borrow::Cow;
use std::rc::Rc;

use fancy_regex::Regex;
use serde_json::Value;

use super::calls::Ending;
use super::delimiter::regex;
use super::json::{Node, Style};
use super::spec::Table;
use super::value::Val;
use crate::explanation::Explanation;
use crate::format::file::Silent;
use crate::schema::Kinds;
use crate::typing::{Converted, Rules, Want, convert};

/// A parser for one value.
#[derive(Debug, Clone)]
pub(super) enum PairParser {
    Text { strip: bool },
    Kind(Kinds),
    Json { style: Style, allow_non_json: bool },
}

/// A parser for a region.
#[derive(Debug)]
pub(super) enum ContentParser {
    One(PairParser),
    /// Tags with a key and a value.
    Xml {
        tag: Box<Regex>,
        value: PairParser,
        merge: bool,
    },
    /// Lines with a key and a value.
    Lines {
        line: String,
        pair: String,
        value: PairParser,
        strip: bool,
    },
}

impl Default for ContentParser {
    fn default() -> Self {
        Self::One(PairParser::Text { strip: true })
    }
}

/// The parsed contents of a region.
pub(super) struct Parsed<'a> {
    pub(super) value: Val<'a>,
    /// Text that the parser cannot place.
    pub(super) left: Vec<&'a str>,
}

/// Maximum number of places between tags with other text; a pattern that must skip more stops.
const MOST_ODD: usize = 16;

/// Tags as `<key>value</key>`.
const TAG: &str = r"<(?P<key>[^<>/\s]+)>(?P<value>.*?)</\1>";

impl PairParser {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "text" => Self::Text { strip: true },
            "int" => Self::Kind(Kinds::INTEGER),
            "float" => Self::Kind(Kinds::NUMBER.or(Kinds::INTEGER)),
            "bool" => Self::Kind(Kinds::BOOLEAN),
            "json" => Self::Json { style: Style::default(), allow_non_json: false },
            _ => return None,
        })
    }

    /// Parses one value; `None` if the text is not one.
    fn read<'a>(&self, text: &'a str, depth: usize) -> Option<Parsed<'a>> {
        let whole = |value| Some(Parsed { value, left: Vec::new() });
        match self {
            Self::Text { strip: true } => whole(Val::Text(text.trim())),
            Self::Text { strip: false } => whole(Val::Text(text)),
            Self::Kind(kinds) => {
                match convert(text.trim(), Want::Kinds(*kinds), Rules { silent: Silent::Text, python: true, depth }) {
                    Converted::Json(json) | Converted::Repaired(json) => {
                        whole(Val::Given(Cow::Owned(json.into_owned())))
                    }
                    Converted::Text(_) if *kinds == Kinds::BOOLEAN => whole(Val::Given("false".into())),
                    Converted::Text(_) => None,
                }
            }
            Self::Json { style, allow_non_json } => {
                let node = Node::read(text, style, depth);
                let rest = node.as_ref().and_then(|node| text.get(node.span.end..)).unwrap_or_default().trim();
                match node {
                    Some(node) if !*allow_non_json || node.complete && rest.is_empty() => {
                        let left = if rest.is_empty() { Vec::new() } else { vec![rest] };
                        Some(Parsed { value: Val::Json(Rc::new(node), text), left })
                    }
                    _ if *allow_non_json => whole(Val::Text(text)),
                    _ => None,
                }
            }
        }
    }
}

impl ContentParser {
    /// Parses `content` and `content_args` of a field.
    pub(super) fn parse(field: &Table<'_>) -> Result<Self, Explanation> {
        let name = field.get("content").map_or(Ok("text"), |v| field.text("content", v))?;
        let empty = Value::Object(serde_json::Map::new());
        let args = Table::new(field.get("content_args").unwrap_or(&empty), &field.path("content_args"))?;
        let hint = "known are text, int, float, bool, json, xml-inline, kv-lines";
        Self::named(name, &args)?.ok_or_else(|| field.wrong("content", &format!("there is no parser `{name}`"), hint))
    }

    /// The parser with a name and its arguments; `None` if there is none with that name.
    fn named(name: &str, args: &Table<'_>) -> Result<Option<Self>, Explanation> {
        let parser = match name {
            "text" => {
                args.only(&["strip"])?;
                Ok(Self::One(PairParser::Text { strip: args.get("strip").is_none() || args.switch("strip")? }))
            }
            "int" | "float" | "bool" => {
                args.only(&[])?;
                Ok(Self::One(PairParser::named(name).unwrap_or(PairParser::Text { strip: true })))
            }
            "json" => {
                args.only(&["unquoted_keys", "string_delims", "allow_non_json"])?;
                let string_delims = string_delims(args)?;
                let style = Style { unquoted_keys: args.switch("unquoted_keys")?, string_delims };
                Ok(Self::One(PairParser::Json { style, allow_non_json: args.switch("allow_non_json")? }))
            }
            "xml-inline" => {
                args.only(&["tag_pattern", "value_parser", "merge_duplicates"])?;
                let pattern = args.get("tag_pattern").map_or(Ok(TAG), |v| args.text("tag_pattern", v))?;
                let tag = regex(pattern).map_err(|e| args.bad_pattern("tag_pattern", &e))?;
                let has = |name| tag.capture_names().flatten().any(|n| n == name);
                if !has("key") || !has("value") {
                    return Err(args.wrong(
                        "tag_pattern",
                        "has no groups `key` and `value`",
                        "name them: `(?P<key>…)`",
                    ));
                }
                let merge = args.switch("merge_duplicates")?;
                Ok(Self::Xml { tag: Box::new(tag), value: value_parser(args)?, merge })
            }
            "kv-lines" => {
                args.only(&["line_sep", "kv_sep", "value_parser", "strip"])?;
                let text = |key: &str, default: &str| match args.get(key) {
                    None => Ok(default.to_owned()),
                    Some(value) => match args.text(key, value)? {
                        "" => Err(args.wrong(key, "is empty", "give the text that separates")),
                        text => Ok(text.to_owned()),
                    },
                };
                let strip = args.get("strip").is_none() || args.switch("strip")?;
                Ok(Self::Lines {
                    line: text("line_sep", "\n")?,
                    pair: text("kv_sep", ":")?,
                    value: value_parser(args)?,
                    strip,
                })
            }
            _ => return Ok(None),
        };
        parser.map(Some)
    }

    /// Parses a region's content; `None` if it is empty.
    pub(super) fn read<'a>(&self, text: &'a str, ending: Ending, depth: usize) -> Option<Parsed<'a>> {
        match self {
            Self::One(parser) => parser.read(text, depth),
            Self::Xml { tag, value, merge } => {
                let mut pairs = Pairs::new(text);
                let mut from = 0;
                let mut odd = 0;
                while odd < MOST_ODD
                    && let Ok(Some(found)) = tag.captures_from_pos(text, from)
                    && let (Some(all), Some(key), Some(inside)) = (found.get(0), found.name("key"), found.name("value"))
                    && all.end() > from
                {
                    odd += usize::from(pairs.left(from..all.start()));
                    from = all.end();
                    match value.read(inside.as_str(), depth) {
                        Some(read) => pairs.add(key.as_str().trim(), read, *merge),
                        None => {
                            pairs.left(all.start()..all.end());
                        }
                    }
                }
                let is_read = !pairs.left(from..text.len());
                Some(pairs.finish(ending, is_read))
            }
            Self::Lines { line, pair, value, strip } => {
                let mut pairs = Pairs::new(text);
                let trim = |text: &'a str| if *strip { text.trim() } else { text };
                let mut is_read = true;
                for part in text.split_inclusive(line.as_str()).filter(|part| !part.trim().is_empty()) {
                    let is_over = part.ends_with(line.as_str()) || ending != Ending::Cut;
                    let part = part.strip_suffix(line.as_str()).unwrap_or(part);
                    let read = part
                        .split_once(pair.as_str())
                        .filter(|_| is_over)
                        .and_then(|(key, text)| Some((key, value.read(trim(text), depth)?)));
                    is_read = read.is_some();
                    match read {
                        Some((key, read)) => pairs.add(trim(key), read, false),
                        None => pairs.left.push(part.trim()),
                    }
                }
                Some(pairs.finish(ending, is_read))
            }
        }
    }
}

/// The pairs found in a region.
struct Pairs<'a> {
    text: &'a str,
    members: Vec<(Cow<'a, str>, Val<'a>)>,
    left: Vec<&'a str>,
}

impl<'a> Pairs<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, members: Vec::new(), left: Vec::new() }
    }

    /// Records text outside of pairs. Returns whether it is more than white space.
    fn left(&mut self, range: std::ops::Range<usize>) -> bool {
        let text = self.text.get(range).unwrap_or_default().trim();
        if !text.is_empty() {
            self.left.push(text);
        }
        !text.is_empty()
    }

    fn add(&mut self, key: &'a str, read: Parsed<'a>, merge: bool) {
        self.left.extend(read.left);
        if merge && let Some((_, value)) = self.members.iter_mut().find(|(name, _)| name == key) {
            match value {
                Val::List(items) => items.push(read.value),
                one => *one = Val::List(vec![one.clone(), read.value]),
            }
            return;
        }
        self.members.push((Cow::Borrowed(key), read.value));
    }

    /// `is_read`: only white space follows the last pair.
    fn finish(self, ending: Ending, is_read: bool) -> Parsed<'a> {
        let whole = match ending {
            // Unmatched text is reported; the call remains without it.
            Ending::Closed => true,
            Ending::Stopped => is_read,
            Ending::Cut => false,
        };
        Parsed { value: Val::Map { members: self.members, whole }, left: self.left }
    }
}

/// The parser of a tag's or line's value: `{"name": …, "args": {…}}`, or only a name; without one the text is the
/// value.
fn value_parser(args: &Table<'_>) -> Result<PairParser, Explanation> {
    let Some(value) = args.get("value_parser") else { return Ok(PairParser::Text { strip: false }) };
    let unknown = || args.wrong("value_parser", "names no parser", "known are text, int, float, bool, json");
    let Value::Object(_) = value else {
        return PairParser::named(args.text("value_parser", value)?).ok_or_else(unknown);
    };
    let table = Table::new(value, &args.path("value_parser"))?;
    table.only(&["name", "args"])?;
    let name = table.get("name").map_or(Ok("text"), |v| table.text("name", v))?;
    let empty = Value::Object(serde_json::Map::new());
    let inner = Table::new(table.get("args").unwrap_or(&empty), &table.path("args"))?;
    match ContentParser::named(name, &inner)? {
        Some(ContentParser::One(parser)) => Ok(parser),
        _ => Err(unknown()),
    }
}

fn string_delims(args: &Table<'_>) -> Result<Vec<(String, String)>, Explanation> {
    let Some(value) = args.get("string_delims") else { return Ok(Vec::new()) };
    let pair = |value: &Value| match value.as_array().map(Vec::as_slice) {
        Some([Value::String(open), Value::String(close)]) if !open.is_empty() && !close.is_empty() => {
            Some((open.clone(), close.clone()))
        }
        _ => None,
    };
    let pairs: Option<Vec<_>> = value.as_array().and_then(|list| list.iter().map(pair).collect());
    pairs.ok_or_else(|| args.wrong("string_delims", "must be a list of pairs", "write `[[\"<|q|>\", \"<|q|>\"]]`"))
}
