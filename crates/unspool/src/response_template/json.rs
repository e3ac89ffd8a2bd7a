//! JSON as a tree over its text, even if the text breaks off: values keep their spelling.

use std::ops::Range;
use std::rc::Rc;

use crate::json::write;

/// Deviations from JSON that a template allows.
#[derive(Debug, Clone, Default)]
pub(super) struct Style {
    /// Keys without quotes.
    pub(super) unquoted_keys: bool,
    /// Further pairs of string delimiters.
    pub(super) string_delims: Vec<(String, String)>,
}

/// A value and its range.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) span: Range<usize>,
    /// Its text is valid JSON.
    pub(super) plain: bool,
    /// It is complete.
    pub(super) complete: bool,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    Object(Vec<(String, Rc<Node>)>),
    List(Vec<Rc<Node>>),
    Text(String),
    /// Number, `true`, `false`, `null`.
    Scalar,
}

impl Node {
    /// Reads the value at the start of `text`; the node ends where the value ends or breaks off.
    pub(super) fn read(text: &str, style: &Style, depth: usize) -> Option<Self> {
        let mut reader = Reader { text, style, at: 0 };
        reader.blanks();
        reader.value(depth)
    }

    /// The member of an object; the last one with its name.
    pub(super) fn member(&self, key: &str) -> Option<Rc<Self>> {
        match &self.kind {
            NodeKind::Object(members) => {
                members.iter().rev().find(|(name, _)| name == key).map(|(_, node)| node.clone())
            }
            _ => None,
        }
    }

    /// The names of an object's members.
    pub(super) fn keys(&self) -> Vec<&str> {
        match &self.kind {
            NodeKind::Object(members) => members.iter().map(|(name, _)| name.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// The JSON text; for an incomplete value, as far as it goes.
    pub(super) fn json(&self, text: &str) -> String {
        let mut out = String::new();
        self.write(text, &mut out);
        out
    }

    fn write(&self, text: &str, out: &mut String) {
        if self.plain {
            escape_controls(text.get(self.span.clone()).unwrap_or_default(), out);
            return;
        }
        match &self.kind {
            NodeKind::Scalar => out.push_str(text.get(self.span.clone()).unwrap_or_default()),
            NodeKind::Text(string) => {
                write::string(out, string);
                if !self.complete {
                    out.pop();
                }
            }
            NodeKind::List(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    item.write(text, out);
                }
                out.push_str(if self.complete { "]" } else { "" });
            }
            NodeKind::Object(members) => {
                out.push('{');
                for (i, (key, value)) in members.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    write::string(out, key);
                    out.push_str(": ");
                    value.write(text, out);
                }
                out.push_str(if self.complete { "}" } else { "" });
            }
        }
    }
}

/// Copies JSON text; raw control characters in its strings become escapes.
fn escape_controls(json: &str, out: &mut String) {
    if !json.bytes().any(|b| b < 0x20) {
        out.push_str(json);
        return;
    }
    let (mut in_string, mut escaped, mut from) = (false, false, 0);
    for (i, byte) in json.bytes().enumerate() {
        if in_string && byte < 0x20 {
            out.push_str(&json[from..i]);
            write::escaped(&[byte], &mut |piece, _| out.push_str(piece));
            from = i + 1;
        }
        match byte {
            b'"' if !escaped => in_string = !in_string,
            b'\\' if in_string => {
                escaped = !escaped;
                continue;
            }
            _ => {}
        }
        escaped = false;
    }
    out.push_str(&json[from..]);
}

struct Reader<'a> {
    text: &'a str,
    style: &'a Style,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &[u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    fn blanks(&mut self) {
        self.at += crate::scan::blanks(self.rest());
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        let start = self.at;
        match self.peek()? {
            b'{' | b'[' if depth == 0 => None,
            b'{' => Some(self.object(depth)),
            b'[' => Some(self.list(depth)),
            b'"' => {
                let (text, complete) = self.quoted();
                Some(Node { kind: NodeKind::Text(text), span: start..self.at, plain: true, complete })
            }
            _ => self.delimited().or_else(|| self.scalar()),
        }
    }

    /// A string between delimiters of the template.
    fn delimited(&mut self) -> Option<Node> {
        let start = self.at;
        let (text, complete) = self.between()?;
        Some(Node { kind: NodeKind::Text(text), span: start..self.at, plain: false, complete })
    }

    fn between(&mut self) -> Option<(String, bool)> {
        let rest = self.text.get(self.at..)?;
        let (open, close) = self.style.string_delims.iter().find(|(open, _)| rest.starts_with(open.as_str()))?;
        let inside = &rest[open.len()..];
        let end = inside.find(close.as_str());
        let len = end.unwrap_or(inside.len());
        self.at += open.len() + len + end.map_or(0, |_| close.len());
        Some((inside[..len].to_owned(), end.is_some()))
    }

    fn scalar(&mut self) -> Option<Node> {
        let start = self.at;
        let len =
            self.rest().iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')).count();
        let text = self.text.get(start..start + len)?;
        let complete = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        let may_go_on = |word: &str| word.starts_with(text);
        let is_begun = ["true", "false", "null"].into_iter().any(may_go_on)
            || text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let is_cut = is_begun && len > 0 && start + len == self.text.len();
        if !complete && !is_cut {
            return None;
        }
        self.at += len;
        Some(Node { kind: NodeKind::Scalar, span: start..self.at, plain: true, complete })
    }

    /// A JSON string at its opening quote: its text, and whether its closing quote is there.
    fn quoted(&mut self) -> (String, bool) {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut end = start;
        while end < bytes.len() && bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let complete = end < bytes.len();
        let end = end.min(bytes.len());
        let mut json = String::from("\"");
        escape_text(self.text.get(start..end).unwrap_or_default(), &mut json);
        json.push('"');
        self.at = end + usize::from(complete);
        let raw = || self.text.get(start..end).unwrap_or_default().to_owned();
        (serde_json::from_str(&json).unwrap_or_else(|_| raw()), complete)
    }

    fn list(&mut self, depth: usize) -> Node {
        let start = self.at;
        self.at += 1;
        let (mut items, mut plain) = (Vec::new(), true);
        let complete = loop {
            self.blanks();
            if items.is_empty() && self.close(b']') {
                break true;
            }
            let Some(item) = self.value(depth - 1) else { break false };
            plain &= item.plain;
            let whole = item.complete;
            items.push(Rc::new(item));
            if !whole {
                break false;
            }
            self.blanks();
            if self.close(b']') {
                break true;
            }
            if !self.close(b',') {
                break false;
            }
        };
        Node { kind: NodeKind::List(items), span: start..self.at, plain, complete }
    }

    fn object(&mut self, depth: usize) -> Node {
        let start = self.at;
        self.at += 1;
        let (mut members, mut plain) = (Vec::new(), true);
        let complete = loop {
            self.blanks();
            if members.is_empty() && self.close(b'}') {
                break true;
            }
            let Some((key, plain_key)) = self.key() else { break false };
            self.blanks();
            if !self.close(b':') {
                break false;
            }
            self.blanks();
            let Some(value) = self.value(depth - 1) else { break false };
            plain &= plain_key && value.plain;
            let whole = value.complete;
            members.push((key, Rc::new(value)));
            if !whole {
                break false;
            }
            self.blanks();
            if self.close(b'}') {
                break true;
            }
            if !self.close(b',') {
                break false;
            }
        };
        Node { kind: NodeKind::Object(members), span: start..self.at, plain, complete }
    }

    /// A key, and whether it is plain JSON.
    fn key(&mut self) -> Option<(String, bool)> {
        if self.peek()? == b'"' {
            return Some(self.quoted()).filter(|(_, complete)| *complete).map(|(key, _)| (key, true));
        }
        if let Some((key, complete)) = self.between() {
            return complete.then_some((key, false));
        }
        let rest = self.text.get(self.at..).filter(|_| self.style.unquoted_keys)?;
        let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$');
        let len = rest.find(|c| !is_key(c))?;
        self.at += len;
        (len > 0).then(|| (rest[..len].to_owned(), false))
    }

    /// Consumes this byte if it is next.
    fn close(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }
}

/// Copies the inside of a JSON string; raw control characters become escapes.
fn escape_text(inside: &str, out: &mut String) {
    let mut from = 0;
    for (i, byte) in inside.bytes().enumerate() {
        if byte < 0x20 {
            out.push_str(&inside[from..i]);
            write::escaped(&[byte], &mut |piece, _| out.push_str(piece));
            from = i + 1;
        }
    }
    out.push_str(&inside[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, style: &Style) -> (String, bool) {
        let node = Node::read(text, style, 8).unwrap();
        (node.json(text), node.complete)
    }

    #[test]
    fn plain_json_stays_as_it_is() {
        let style = Style::default();
        for text in [r#"{"a" :  [1.50, -2e3,"x\u00e9\"", {} , null],"b":true}"#, "[]", "\"x\"", "3", " 12 "] {
            assert_eq!(read(text, &style), (text.trim().to_owned(), true));
        }
        assert_eq!(read("{\"a\": \"l1\nl2\", \n\"b\": 1}", &style), ("{\"a\": \"l1\\nl2\", \n\"b\": 1}".into(), true));
        let node = Node::read(r#"{"a": 1, "a": "\u00e9"}"#, &style, 8).unwrap();
        assert!(matches!(&node.member("a").unwrap().kind, NodeKind::Text(t) if t == "é"));
    }

    #[test]
    fn liberties_become_json() {
        let delims = vec![("<|\"|>".into(), "<|\"|>".into())];
        let style = Style { unquoted_keys: true, string_delims: delims };
        assert_eq!(
            read("{a: <|\"|>x \"y\"<|\"|>, b-c: [1]}", &style),
            (r#"{"a": "x \"y\"", "b-c": [1]}"#.into(), true)
        );
        assert_eq!(read("{<|\"|>k<|\"|>: <|\"|>open", &style), (r#"{"k": "open"#.into(), false));
    }

    #[test]
    fn broken_text_is_read_as_far_as_it_goes() {
        let style = Style::default();
        for (text, json) in [
            (r#"{"a": "hib"#, r#"{"a": "hib"#),
            (r#"{"a": 1,, "b": 2}"#, r#"{"a": 1,"#),
            (r#"{"a": monday"#, r#"{"a": "#),
            (r#"{"a": nul}"#, r#"{"a": "#),
            (r#"{"a": 12"#, r#"{"a": 12"#),
            (r#"{"a": tru"#, r#"{"a": tru"#),
            (r#"["x", 1"#, r#"["x", 1"#),
            (r#"{"a"#, r#"{"a"#),
            ("{", "{"),
            (r#"{"a": "x\"#, r#"{"a": "x\"#),
        ] {
            assert_eq!(read(text, &style), (json.into(), false), "{text}");
        }
        assert!(Node::read("nope", &style, 8).is_none());
        assert!(Node::read("", &style, 8).is_none());
        assert!(Node::read("[[[", &style, 2).unwrap().json("[[[").starts_with("[["));
    }
}
