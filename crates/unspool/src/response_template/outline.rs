//! The literals of a template around names and values, for grammars.

use regex_syntax::hir::{Hir, HirKind};

use super::approximate::{from_python, wider};
use super::content::{ContentParser, PairParser};
use super::delimiter::Delimiter;
use super::spec::{Field, Kind, TemplateSpec};
use super::transform::Shape;

/// A template whose regions are all between literals.
#[derive(Debug, PartialEq)]
pub(crate) struct Outline {
    pub(crate) thought: Option<Region>,
    /// `None`: text outside all regions is the answer.
    pub(crate) answer: Option<Region>,
    pub(crate) calls: Option<CallRegion>,
}

/// A region of text. Empty `open`: it begins where no other does. Empty `close`: it extends to the end.
#[derive(Debug, PartialEq)]
pub(crate) struct Region {
    pub(crate) open: Vec<String>,
    pub(crate) close: Vec<String>,
}

/// A region of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct CallRegion {
    pub(crate) open: Vec<Piece>,
    pub(crate) close: Vec<String>,
    pub(crate) content: CallContent,
}

/// A part of an opener or a tag.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    /// The name of the function or a parameter, and the pattern for the entire name.
    Name(String),
    /// A parameter's name again.
    Again,
    /// A parameter's value.
    Value,
}

/// The contents of a region of calls.
#[derive(Debug, PartialEq)]
pub(crate) enum CallContent {
    /// The arguments as JSON; the name is in the opener.
    Arguments,
    /// The arguments of one function as JSON; the template fixes the name.
    Only(String),
    /// An object with the name and the arguments under these keys; several in a list if `listed`.
    Envelope { name: String, arguments: String, listed: bool },
    /// A tag for each parameter.
    Tags { tag: Vec<Piece>, json: bool, trimmed: bool },
}

impl TemplateSpec {
    /// The template as literals.
    ///
    /// # Errors
    /// The feature that has no such form.
    pub(crate) fn outline(&self) -> Result<Outline, String> {
        let field = |kind: Kind| self.fields.iter().find(|f| f.kind == kind);
        let region = |kind: Kind| field(kind).filter(|f| f.open.is_some() || f.close.is_some()).map(Field::region);
        Ok(Outline {
            thought: region(Kind::Thinking).transpose()?,
            answer: region(Kind::Content).transpose()?,
            calls: field(Kind::ToolCalls).map(Field::calls).transpose()?,
        })
    }
}

impl Field {
    fn region(&self) -> Result<Region, String> {
        Ok(Region { open: literals(self.open.as_ref(), "opener")?, close: literals(self.close.as_ref(), "closer")? })
    }

    fn calls(&self) -> Result<CallRegion, String> {
        let close = literals(self.close.as_ref(), "closer of calls")?;
        let (open, group) = match &self.open {
            Some(Delimiter::Pattern(pattern)) => opener(pattern.source())?,
            open => (vec![Piece::Text(literals(open.as_ref(), "opener of calls")?.swap_remove(0))], None),
        };
        if close.is_empty() {
            return Err("calls have no closer".to_owned());
        }
        let content = self.call_content(group.as_deref())?;
        Ok(CallRegion { open, close, content })
    }

    fn call_content(&self, group: Option<&str>) -> Result<CallContent, String> {
        let strange = || "its `transform` is not made of a name and arguments".to_owned();
        if let (ContentParser::One(PairParser::Json { .. }), Some(name), None, false) =
            (&self.content, self.transform.as_ref().and_then(Shape::of_one_function), group, self.each)
        {
            return Ok(CallContent::Only(name));
        }
        let place = self.transform.as_ref().map(|shape| shape.of_call(self.each).ok_or_else(strange)).transpose()?;
        match (&self.content, place, group) {
            (ContentParser::Xml { tag, value, merge: false }, Some((name, arguments)), Some(group)) => {
                let whole = name == [group] && arguments == ["content"];
                if !whole {
                    return Err(strange());
                }
                let (json, trimmed) = match value {
                    PairParser::Text { strip } => (false, *strip),
                    PairParser::Json { .. } => (true, true),
                    PairParser::Kind(_) => return Err("its values are of one type".to_owned()),
                };
                Ok(CallContent::Tags { tag: tag_of(tag.as_str())?, json, trimmed })
            }
            (ContentParser::One(PairParser::Json { .. }), place, group) => {
                let place = place.unwrap_or_else(|| {
                    let key = |key: &str| vec!["content".to_owned(), key.to_owned()];
                    (key("name"), key("arguments"))
                });
                match (&place.0[..], &place.1[..], group) {
                    ([name], [arguments], Some(group)) if name == group && arguments == "content" => {
                        Ok(CallContent::Arguments)
                    }
                    ([of, name], [also, arguments], None) if of == "content" && also == "content" => {
                        let (name, arguments) = (name.clone(), arguments.clone());
                        Ok(CallContent::Envelope { name, arguments, listed: self.each })
                    }
                    _ => Err(strange()),
                }
            }
            _ => Err("its content is neither JSON nor tags behind a name".to_owned()),
        }
    }
}

impl Shape {
    /// The fixed name of all calls, if the content is their arguments.
    fn of_one_function(&self) -> Option<String> {
        let Self::Map(members) = self else { return None };
        let member = |key: &str| members.iter().find(|(k, _)| k == key).map(|(_, shape)| shape);
        match (member("function"), member("name"), member("arguments")) {
            (Some(function), _, _) => function.of_one_function(),
            (None, Some(Self::Fixed(name)), Some(Self::Slot(slot, more))) if slot == "content" && more.is_empty() => {
                name.as_str().map(str::to_owned)
            }
            _ => None,
        }
    }

    /// The sources of name and arguments: paths that begin with a group's name or `content`.
    fn of_call(&self, each: bool) -> Option<(Vec<String>, Vec<String>)> {
        let Self::Map(members) = self else { return None };
        let member = |members: &[(String, Shape)], key: &str| members.iter().position(|(k, _)| k == key);
        if let Some(at) = member(members, "function") {
            return members[at].1.of_call(each);
        }
        let path = |key: &str| match &members[member(members, key)?].1 {
            Self::Slot(name, more) => {
                let content = each.then(|| "content".to_owned());
                Some(content.into_iter().chain([name.clone()]).chain(more.iter().cloned()).collect())
            }
            _ => None,
        };
        Some((path("name")?, path("arguments")?))
    }
}

fn literals(delimiter: Option<&Delimiter>, what: &str) -> Result<Vec<String>, String> {
    match delimiter {
        Some(Delimiter::Literals { texts, .. }) => Ok(texts.clone()),
        Some(Delimiter::Pattern(_)) => Err(format!("its {what} is a pattern")),
        None => Ok(Vec::new()),
    }
}

/// An opener with a function's name, and the name of its group.
fn opener(source: &str) -> Result<(Vec<Piece>, Option<String>), String> {
    let strange = || "its opener of calls is more than literals around a name".to_owned();
    let mut out = Vec::new();
    let mut group = None;
    for item in items(source).ok_or_else(strange)? {
        match item {
            Item::Text(text) => out.push(Piece::Text(text)),
            Item::Group(name, pattern) if group.is_none() => {
                group = Some(name);
                out.push(Piece::Name(pattern));
            }
            _ => return Err(strange()),
        }
    }
    if !matches!(out.first(), Some(Piece::Text(_))) {
        return Err(strange());
    }
    Ok((out, group))
}

fn tag_of(source: &str) -> Result<Vec<Piece>, String> {
    let piece = |item| match item {
        Item::Text(text) => Some(Piece::Text(text)),
        Item::Group(name, pattern) if name == "key" => Some(Piece::Name(pattern)),
        Item::Group(name, _) if name == "value" => Some(Piece::Value),
        Item::Anything => Some(Piece::Again),
        Item::Group(..) => None,
    };
    let all: Option<Vec<Piece>> = items(source).and_then(|all| all.into_iter().map(piece).collect());
    let is_tag = |all: &[Piece]| {
        matches!(all, [Piece::Text(_), Piece::Name(_), Piece::Text(_), Piece::Value, Piece::Text(_), ..])
    };
    all.filter(|all| is_tag(all))
        .ok_or_else(|| "its `tag_pattern` is more than literals around key and value".to_owned())
}

/// A part of a pattern.
enum Item {
    Text(String),
    Group(String, String),
    /// A reference.
    Anything,
}

/// A pattern as literals and groups; `None` if it is more complex. Look-around is removed, and optional text is
/// included.
fn items(source: &str) -> Option<Vec<Item>> {
    let pattern = wider(&from_python(source));
    let hir = regex_syntax::ParserBuilder::new().dot_matches_new_line(true).build().parse(&pattern).ok()?;
    let mut out = Vec::new();
    collect(&hir, &mut out).then_some(out)
}

fn collect(hir: &Hir, out: &mut Vec<Item>) -> bool {
    match hir.kind() {
        HirKind::Empty => true,
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0).into_owned();
            match out.last_mut() {
                Some(Item::Text(last)) => last.push_str(&text),
                _ => out.push(Item::Text(text)),
            }
            true
        }
        HirKind::Concat(all) => all.iter().all(|one| collect(one, out)),
        HirKind::Capture(group) => match &group.name {
            Some(name) => {
                out.push(Item::Group(name.to_string(), group.sub.to_string()));
                true
            }
            None => collect(&group.sub, out),
        },
        HirKind::Alternation(all) => all.first().is_some_and(|first| collect(first, out)),
        HirKind::Repetition(r) if r.min == 0 && r.max.is_none() && !r.greedy => {
            out.push(Item::Anything);
            true
        }
        HirKind::Repetition(r) if r.max == Some(1) => collect(&r.sub, out),
        HirKind::Repetition(r) => r.min == 0,
        HirKind::Class(_) | HirKind::Look(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outline(calls: &serde_json::Value) -> Result<Outline, String> {
        let fields = json!({"content": {}, "tool_calls": calls});
        let template = json!({"version": 1, "start_anchor": "<s>", "fields": fields});
        TemplateSpec::parse(&template).map_err(|told| told.message)?.outline()
    }

    #[test]
    fn a_name_in_the_opener_and_tags_behind_it() {
        let function = json!({"type": "function", "function": {"name": "{fn}", "arguments": "{content}"}});
        let tag = r#"<p n="(?P<key>[^"]+)">\n(?P<value>.*?)\n(?:</p>|(?=<p n="))"#;
        let calls = json!({
            "open_pattern": r" to=(?P<fn>[^\s<]+)<\|say\|>", "close": "<|end|>", "content": "xml-inline",
            "content_args": {"tag_pattern": tag}, "transform": function,
        });
        let found = outline(&calls).unwrap().calls.unwrap();
        let text = |text: &str| Piece::Text(text.to_owned());
        assert!(matches!(&found.open[..], [a, Piece::Name(_), b] if *a == text(" to=") && *b == text("<|say|>")));
        let CallContent::Tags { tag, json: false, .. } = &found.content else { panic!("{found:?}") };
        assert!(matches!(&tag[..], [a, Piece::Name(_), b, Piece::Value, c]
            if *a == text("<p n=\"") && *b == text("\">\n") && *c == text("\n</p>")));
    }

    #[test]
    fn an_object_with_both() {
        let function = json!({"type": "function", "function": {"name": "{content.do}", "arguments": "{content.with}"}});
        let calls = json!({"open": "<act>", "close": "</act>", "content": "json", "transform": function});
        let content = outline(&calls).unwrap().calls.unwrap().content;
        assert_eq!(content, CallContent::Envelope { name: "do".into(), arguments: "with".into(), listed: false });
    }

    #[test]
    fn the_arguments_of_one_function() {
        let function = json!({"type": "function", "function": {"name": "set_lamp", "arguments": "{content}"}});
        let calls = json!({"open": "<lamp>", "close": "</lamp>", "content": "json", "transform": function});
        assert_eq!(outline(&calls).unwrap().calls.unwrap().content, CallContent::Only("set_lamp".into()));
        let function =
            json!({"type": "function", "function": {"name": "set_lamp", "arguments": {"level": "{content.x}"}}});
        let calls = json!({"open": "<lamp>", "close": "</lamp>", "content": "json", "transform": function});
        assert!(outline(&calls).unwrap_err().contains("transform"));
    }

    #[test]
    fn what_has_no_such_form_is_said() {
        let function = json!({"type": "function", "function": {"name": "{fn}", "arguments": "{content}"}});
        for (open, close, word) in [(r"[ab](?P<fn>\w+):", "</a>", "literals"), (r"<(?P<fn>\w+)>", "", "closer")] {
            let mut calls = json!({"open_pattern": open, "content": "json", "transform": function});
            if !close.is_empty() {
                calls["close"] = close.into();
            }
            let error = outline(&calls).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
