//! `tojson`: JSON in the form of Python's `json.dumps`.

use std::fmt::Write as _;

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, State, Value};

use super::charge;
use super::python;

/// The keyword arguments of `json.dumps` that templates use.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    /// Escape characters beyond ASCII.
    pub(super) ensure_ascii: bool,
    /// One value per line, each level indented by this text.
    pub(super) indent: Option<String>,
    /// The separators between values, and between a key and its value.
    pub(super) separators: Option<(String, String)>,
    /// Sort keys alphabetically.
    pub(super) sort_keys: bool,
}

/// The JSON text of a value.
pub(super) fn write(state: &State<'_, '_>, value: &Value, layout: &Layout) -> Result<String, Error> {
    let default = if layout.indent.is_some() { "," } else { ", " };
    let (item, key) = match &layout.separators {
        Some((item, key)) => (item.as_str(), key.as_str()),
        None => (default, ": "),
    };
    let mut writer = Writer { out: String::new(), state, layout, item, key, depth: 0 };
    writer.value(value)?;
    Ok(writer.out)
}

struct Writer<'a, 't, 'e> {
    out: String,
    state: &'a State<'t, 'e>,
    layout: &'a Layout,
    item: &'a str,
    key: &'a str,
    depth: usize,
}

impl Writer<'_, '_, '_> {
    fn value(&mut self, value: &Value) -> Result<(), Error> {
        // Each value is charged, and its text before it is written: at most six times its length.
        self.state.consume_fuel(charge::WALK)?;
        charge::bytes(self.state, value.as_str().map_or(0, |text| text.len().saturating_mul(6)))?;
        match value.kind() {
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.number(value),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Map => self.map(value)?,
            ValueKind::Seq | ValueKind::Iterable => self.list(value)?,
            other => {
                return Err(Error::new(ErrorKind::BadSerialization, format!("a value of the kind {other} is no JSON")));
            }
        }
        Ok(())
    }

    fn number(&mut self, value: &Value) {
        if value.is_integer() {
            let _ = write!(self.out, "{value}");
        } else {
            let number = f64::try_from(value.clone()).unwrap_or(f64::NAN);
            self.out.push_str(&python::json_float(number));
        }
    }

    fn list(&mut self, value: &Value) -> Result<(), Error> {
        let mut items = value.try_iter()?.peekable();
        if items.peek().is_none() {
            self.out.push_str("[]");
            return Ok(());
        }
        self.open('[')?;
        for (index, item) in items.enumerate() {
            self.next(index)?;
            self.value(&item)?;
        }
        self.close(']')?;
        Ok(())
    }

    fn map(&mut self, value: &Value) -> Result<(), Error> {
        let mut keys: Vec<Value> = value.try_iter()?.collect();
        if keys.is_empty() {
            self.out.push_str("{}");
            return Ok(());
        }
        if self.layout.sort_keys {
            keys.sort();
        }
        self.open('{')?;
        for (index, key) in keys.iter().enumerate() {
            self.next(index)?;
            match key.kind() {
                ValueKind::String => self.string(key.as_str().unwrap_or_default()),
                _ => {
                    let text = write(self.state, key, &Layout::default())?;
                    self.string(&text);
                }
            }
            charge::bytes(self.state, self.key.len())?;
            self.out.push_str(self.key);
            self.value(&value.get_item(key)?)?;
        }
        self.close('}')?;
        Ok(())
    }

    fn open(&mut self, bracket: char) -> Result<(), Error> {
        self.out.push(bracket);
        self.depth += 1;
        if self.depth > charge::DEEPEST {
            return Err(charge::too_deep());
        }
        Ok(())
    }

    fn next(&mut self, index: usize) -> Result<(), Error> {
        if index > 0 {
            charge::bytes(self.state, self.item.len())?;
            self.out.push_str(self.item);
        }
        self.line()
    }

    fn close(&mut self, bracket: char) -> Result<(), Error> {
        self.depth -= 1;
        self.line()?;
        self.out.push(bracket);
        Ok(())
    }

    fn line(&mut self) -> Result<(), Error> {
        if let Some(indent) = &self.layout.indent {
            charge::bytes(self.state, indent.len().saturating_mul(self.depth))?;
            self.out.push('\n');
            for _ in 0..self.depth {
                self.out.push_str(indent);
            }
        }
        Ok(())
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                c if u32::from(c) < 0x20 || (self.layout.ensure_ascii && u32::from(c) > 0x7e) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let _ = write!(self.out, "\\u{unit:04x}");
                    }
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}
