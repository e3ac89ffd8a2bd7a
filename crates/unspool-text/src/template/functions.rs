//! Functions for templates.

use std::fmt;

use jiff::ZonedDateTime;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use minijinja_contrib::{globals, pycompat};

use super::charge;
use super::json::{self, Layout};
use crate::error::TextError;

/// The message of `raise_exception`.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// The clock of `strftime_now`.
#[derive(Debug, Clone)]
pub(super) enum Clock {
    /// The machine's local time.
    Now,
    /// A fixed time.
    Still(DateTime),
}

impl Clock {
    pub(super) fn still(moment: &str) -> Result<Self, TextError> {
        let moment = moment.parse().map_err(|error| TextError::new(format!("`{moment}` is no moment: {error}")))?;
        Ok(Self::Still(moment))
    }

    fn tell(&self, format: &str) -> Result<String, Error> {
        let told = match self {
            Self::Now => jiff::fmt::strtime::format(format, &ZonedDateTime::now()),
            Self::Still(moment) => {
                moment.to_zoned_datetime(TimeZone::UTC).and_then(|moment| jiff::fmt::strtime::format(format, &moment))
            }
        };
        told.map_err(|error| Error::new(ErrorKind::InvalidOperation, format!("strftime_now({format:?}): {error}")))
    }
}

/// Today, as `2026-01-31`, in the machine's local time.
pub(crate) fn date() -> Result<String, TextError> {
    Clock::Now.tell("%Y-%m-%d").map_err(|error| TextError::new(format!("the date cannot be told: {error}")))
}

/// Adds the functions and filters that `transformers` provides to templates, and those of Jinja2 that the engine lacks.
pub(super) fn add(environment: &mut Environment<'static>, clock: Clock) {
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, "the template refuses").with_source(Refusal(message)))
    });
    environment.add_function("strftime_now", move |format: String| clock.tell(&format));
    environment.add_function("cycler", globals::cycler);
    environment.add_function("joiner", globals::joiner);
    environment.add_filter("tojson", |state: &State, value: &Value, more: Rest<Value>, named: Kwargs| {
        tojson(state, value, (&more, &named))
    });
    environment.add_filter("indent", |state: &State, text: String, more: Rest<Value>, named: Kwargs| {
        indented(state, &text, (&more, &named))
    });
    environment.set_formatter(|out, state, value| {
        charge::check()?;
        charge::walk(state, value)?;
        minijinja::escape_formatter(out, state, value)
    });
    // The engine allows loops over none; templates use this test to distinguish it from a list.
    environment.add_test("iterable", |value: &Value| !value.is_none() && value.try_iter().is_ok());
}

/// Python's methods on values.
pub(super) fn method(state: &mut State<'_, '_>, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    charge::check()?;
    if let ("format", Some(format)) = (method, value.as_str()) {
        charge::bytes(state, charge::widths(format))?;
        args.iter().try_for_each(|value| charge::walk(state, value))?;
    }
    pycompat::unknown_method_callback(state, value, method, args)
}

/// `tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.
fn tojson(state: &State<'_, '_>, value: &Value, (positional, kwargs): (&[Value], &Kwargs)) -> Result<Value, Error> {
    let given = |at: usize, name: &str| -> Result<Option<Value>, Error> {
        let value = match positional.get(at) {
            Some(value) => Some(value.clone()),
            None => kwargs.get::<Option<Value>>(name)?,
        };
        Ok(value.filter(|value| !value.is_none() && !value.is_undefined()))
    };
    let layout = Layout {
        ensure_ascii: given(0, "ensure_ascii")?.is_some_and(|value| value.is_true()),
        indent: given(1, "indent")?.map(|value| indent(&value)).transpose()?,
        separators: given(2, "separators")?.map(|value| separators(&value)).transpose()?,
        sort_keys: given(3, "sort_keys")?.is_some_and(|value| value.is_true()),
    };
    kwargs.assert_all_used()?;
    json::write(state, value, &layout).map(Value::from)
}

/// Jinja2's `indent(width=4, first=False, blank=False)`. Keeps a line break at the end of the text.
fn indented(state: &State<'_, '_>, text: &str, (positional, kwargs): (&[Value], &Kwargs)) -> Result<String, Error> {
    let given = |at: usize, name: &str| -> Result<Option<Value>, Error> {
        match positional.get(at) {
            Some(value) => Ok(Some(value.clone())),
            None => kwargs.get(name),
        }
    };
    let before = given(0, "width")?.map_or_else(|| Ok("    ".to_owned()), |width| indent(&width))?;
    let first = given(1, "first")?.is_some_and(|value| value.is_true());
    let blank = given(2, "blank")?.is_some_and(|value| value.is_true());
    kwargs.assert_all_used()?;
    let lines = text.split('\n').count();
    charge::bytes(state, lines.saturating_mul(before.len()).saturating_add(text.len()))?;
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        // Only `first` affects the first line, even if it is empty.
        if if number == 0 { first } else { blank || !line.is_empty() } {
            out.push_str(&before);
        }
        out.push_str(line);
    }
    Ok(out)
}

fn indent(value: &Value) -> Result<String, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    let width = i64::try_from(value.clone())?;
    Ok(" ".repeat(usize::try_from(width).unwrap_or(0).min(64)))
}

fn separators(value: &Value) -> Result<(String, String), Error> {
    let texts: Vec<String> = match value.kind() {
        ValueKind::Seq => value.try_iter()?.map(|item| item.to_string()).collect(),
        _ => Vec::new(),
    };
    match <[String; 2]>::try_from(texts) {
        Ok([item, key]) => Ok((item, key)),
        Err(_) => Err(Error::new(ErrorKind::InvalidOperation, "`separators` must be two texts")),
    }
}
