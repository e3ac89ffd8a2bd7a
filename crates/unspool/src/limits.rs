//! All limits of the parser.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::suggest::{did_you_mean, near};

/// How much the parser holds, nests and announces. The defaults are generous for models and tight against abuse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Maximum length of a function name, a parameter name or an id, in bytes.
    pub name: usize,
    /// Maximum length of a call's header (from its opener to its announcement, without arguments before the name), in
    /// bytes.
    #[serde(alias = "head")]
    pub header: usize,
    /// Maximum run of white space held as possible framing, in bytes. A longer one is text.
    pub blank: usize,
    /// Maximum length of a value that is held until its end (because its JSON type needs it), in bytes. A longer one
    /// becomes a string.
    pub argument: usize,
    /// Maximum length of arguments held because the name comes after them, in bytes. Beyond it the call is raw text.
    #[serde(alias = "early")]
    pub held_arguments: usize,
    /// Maximum length of a thought held because its field is undecided (`force_nonempty_content`), in bytes.
    pub thought: usize,
    /// Maximum nesting of arguments, in levels. Deeper text is broken.
    pub depth: usize,
    /// Maximum arguments of one call, in bytes. The rest is dropped, and the call is incomplete. Also limits the text
    /// of a diagnostic that is the only place of its bytes (see
    /// [`DiagnosticKind::is_output`](crate::DiagnosticKind::is_output)).
    pub arguments: usize,
    /// Maximum number of calls in one reply. Further calls are raw text.
    pub calls: usize,
    /// Maximum number of diagnostics of all kinds in one reply. One more says that there are further ones.
    #[serde(alias = "notes")]
    pub diagnostics: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            name: 256,
            header: 4 << 10,
            blank: 1 << 10,
            argument: 1 << 20,
            held_arguments: 1 << 20,
            thought: 4 << 20,
            depth: 128,
            arguments: 16 << 20,
            calls: 100_000,
            diagnostics: 256,
        }
    }
}

/// Maximum value of a limit: 1 TiB.
const GREATEST: u64 = 1 << 40;
/// Former and current names of limits.
const RENAMED: [(&str, &str); 3] = [("head", "header"), ("early", "held_arguments"), ("notes", "diagnostics")];
/// Units of byte limits, with their powers of two.
const UNITS: [(&str, u32); 4] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("B", 0)];

impl Limits {
    /// The names of all limits.
    pub const NAMES: [&str; 10] = [
        "name",
        "header",
        "blank",
        "argument",
        "held_arguments",
        "thought",
        "depth",
        "arguments",
        "calls",
        "diagnostics",
    ];

    /// Sets one limit.
    pub fn set(&mut self, limit: &Limit) {
        if let Some(field) = self.field(&limit.name) {
            *field = limit.value;
        }
    }

    fn field(&mut self, name: &str) -> Option<&mut usize> {
        Some(match name {
            "name" => &mut self.name,
            "header" => &mut self.header,
            "blank" => &mut self.blank,
            "argument" => &mut self.argument,
            "held_arguments" => &mut self.held_arguments,
            "thought" => &mut self.thought,
            "depth" => &mut self.depth,
            "arguments" => &mut self.arguments,
            "calls" => &mut self.calls,
            "diagnostics" => &mut self.diagnostics,
            _ => return None,
        })
    }
}

/// One limit with its value, as `--limit NAME=VALUE` writes it: `header=8KiB`, `calls=64`. Read with [`FromStr`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    name: String,
    value: usize,
}

impl Limit {
    /// Parses a limit from its name (former names work too) and its value: a number, followed by `B`, `KiB`, `MiB` or
    /// `GiB` for a limit in bytes.
    ///
    /// # Errors
    /// There is no limit with this name, or the value is invalid.
    pub fn new(name: &str, value: &str) -> Result<Self, Error> {
        let name = RENAMED.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new);
        if !Limits::NAMES.contains(&name) {
            let all = Limits::NAMES.join(", ");
            let hint = match did_you_mean(&near(name, Limits::NAMES)) {
                Some(question) => format!("{question} The limits are {all}"),
                None => format!("the limits are {all}"),
            };
            return Err(refused(format!("no limit is named `{name}`"), hint));
        }
        let in_bytes = !["depth", "calls", "diagnostics"].contains(&name);
        let value = value.trim();
        let (digits, power) = UNITS
            .iter()
            .find_map(|(unit, power)| Some((value.strip_suffix(unit).filter(|_| in_bytes)?.trim_end(), *power)))
            .unwrap_or((value, 0));
        let number: Option<u64> = digits.parse().ok().and_then(|n: u64| n.checked_mul(1 << power));
        match number {
            // If memory is smaller than the maximum value, a limit beyond it has no effect.
            Some(number) if number <= GREATEST => {
                Ok(Self { name: name.to_owned(), value: usize::try_from(number).unwrap_or(usize::MAX) })
            }
            _ => Err(refused(
                format!("`{value}` is no value for the limit `{name}`"),
                match in_bytes {
                    true => "write a number of bytes up to 1024GiB, such as 4096, 64KiB or 16MiB".to_owned(),
                    false => "write a number without a unit, such as 64".to_owned(),
                },
            )),
        }
    }
}

impl FromStr for Limit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.split_once('=') {
            Some((name, value)) => Self::new(name.trim(), value),
            None => Err(refused(format!("`{text}` sets no limit"), "write NAME=VALUE, such as header=8KiB".to_owned())),
        }
    }
}

fn refused(message: String, hint: String) -> Error {
    Error::new(ErrorKind::BadLimit, message).hint(hint).at("limits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_sets_its_field() {
        for name in Limits::NAMES {
            let mut limits = Limits::default();
            limits.set(&Limit::new(name, "77").unwrap());
            let written = serde_json::to_value(&limits).unwrap();
            assert_eq!(written[name], 77, "{name}");
            assert_eq!(written.as_object().unwrap().len(), Limits::NAMES.len());
            assert_eq!(written.as_object().unwrap().values().filter(|value| **value == 77).count(), 1, "{name}");
        }
    }

    #[test]
    fn older_names_set_the_same_fields() {
        for (old, new) in RENAMED {
            assert_eq!(Limit::new(old, "5"), Limit::new(new, "5"));
            let read: Limits = serde_json::from_str(&format!("{{\"{old}\": 5}}")).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap()[new], 5);
        }
    }

    #[test]
    fn bytes_have_units_and_counts_have_none() {
        let value = |text: &str| text.parse::<Limit>().map(|limit| limit.value).map_err(|error| error.message);
        assert_eq!(value("header=8KiB"), Ok(8 << 10));
        assert_eq!(value("arguments = 16 MiB"), Ok(16 << 20));
        assert_eq!(value("held_arguments=1GiB"), Ok(1 << 30));
        assert_eq!(value("name=64B"), Ok(64));
        assert_eq!(value("calls=3"), Ok(3));
        for text in [
            "calls=3KiB",
            "header=-1",
            "header=",
            "header=1.5KiB",
            "header=8kb",
            "header=2048GiB",
            "header=99999999999999999999GiB",
        ] {
            assert!(value(text).is_err_and(|message| message.contains("is no value for the limit")), "{text}");
        }
        assert!(value("header").is_err());
    }

    #[test]
    fn an_unknown_name_lists_near_ones_and_all() {
        let error = Limit::new("argumnts", "1").unwrap_err();
        assert!(
            error
                .hint
                .as_deref()
                .unwrap()
                .starts_with("did you mean `arguments`, `argument` or `held_arguments`? The limits are name, "),
            "{error}"
        );
        assert!(Limit::new("zzzzzzzzz", "1").unwrap_err().hint.unwrap().starts_with("the limits are "));
    }
}
