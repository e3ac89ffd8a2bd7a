//! `--config FILE`: flags of `unspool serve` in a YAML file, as in vLLM. The file's flags precede those of the command
//! line. A flag that the command line also has is dropped, so the command line wins.

use std::any::TypeId;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;

use clap::{Arg, ArgAction, CommandFactory as _};
use serde::de::{Deserialize as _, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use unspool::suggest;

use crate::args::Cli;
use crate::failure::Failure;
use crate::{files, usage};

/// The command whose flags a file may set.
const COMMAND: &str = "serve";
/// The flag that names the file.
const FLAG: &str = "--config";
/// The hint for an invalid file.
const SHAPE: &str = "write one flag a line without its dashes, for example `port: 8000`";

/// Expands the command line with the flags of the file that it names. Flags may have underscores in place of dashes, as
/// in vLLM.
pub(crate) fn expand(arguments: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    if arguments.get(1).is_none_or(|command| command != COMMAND) {
        return Ok(arguments);
    }
    let mut arguments: Vec<OsString> = arguments.into_iter().map(dashed).collect();
    let Some(file) = take_file(&mut arguments)? else { return Ok(arguments) };
    let path = Path::new(&file);
    let shown = path.display().to_string();
    let fields = read(path, &shown)?;
    let given: HashSet<String> = arguments.iter().filter_map(|argument| flag_of(argument)).map(str::to_owned).collect();
    let command = Cli::command();
    let serve = command.find_subcommand(COMMAND).into_iter().flat_map(clap::Command::get_arguments);
    let reader = Flags { place: &shown, given: &given, known: with_long_names(serve) };
    let mut flags = Vec::new();
    for (key, field) in &fields {
        flags.extend(reader.of(key, (&field.value, &field.written))?);
    }
    check(&shown, &flags)?;
    arguments.splice(2..2, flags.into_iter().map(OsString::from));
    Ok(arguments)
}

/// Replaces underscores by dashes in the argument's flag name, up to the first dot.
fn dashed(argument: OsString) -> OsString {
    let Some(flag) = flag_of(&argument).filter(|flag| flag.contains('_')) else { return argument };
    let (head, tail) = flag.split_at(flag.find('.').unwrap_or(flag.len()));
    let rest = argument.to_str().and_then(|text| text.get(flag.len()..)).unwrap_or_default();
    format!("{}{tail}{rest}", head.replace('_', "-")).into()
}

/// The flag of an argument, including its dashes.
fn flag_of(argument: &OsStr) -> Option<&str> {
    let text = argument.to_str().filter(|text| text.starts_with("--"))?;
    text.split('=').next()
}

/// Removes `--config FILE` from the arguments.
fn take_file(arguments: &mut Vec<OsString>) -> Result<Option<OsString>, Failure> {
    let mut found = None;
    while let Some(at) = arguments.iter().position(|argument| flag_of(argument) == Some(FLAG)) {
        let whole = arguments.remove(at);
        let file = match whole.to_str().and_then(|text| text.split_once('=')) {
            Some((_, file)) if !file.is_empty() => OsString::from(file),
            None if at < arguments.len() && flag_of(&arguments[at]).is_none() => arguments.remove(at),
            _ => return Err(Failure::usage(format!("{FLAG} has no value"), format!("write {FLAG} FILE"))),
        };
        if found.replace(file).is_some() {
            return Err(Failure::usage(format!("{FLAG} is given twice"), "put all flags into one file"));
        }
    }
    Ok(found)
}

/// A value of the file: as YAML types it, and with its scalars as written.
struct Field {
    value: Value,
    written: Value,
}

fn read(path: &Path, shown: &str) -> Result<Vec<(String, Field)>, Failure> {
    let text = files::text(FLAG, path)?;
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Vec::new());
    }
    let fault = |error: serde_saphyr::Error| {
        let reason = error.to_string();
        let reason = reason.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let place = error.location().map(|at| format!(":{}:{}", at.line(), at.column())).unwrap_or_default();
        Failure::usage(format!("{shown}{place}: not YAML: {reason}"), SHAPE)
    };
    let Value::Object(fields) = serde_saphyr::from_str(&text).map_err(fault)? else {
        return Err(Failure::usage(format!("{shown}: the file holds no flags"), SHAPE));
    };
    let shape = Value::Object(fields);
    let written = serde_saphyr::with_deserializer_from_str(&text, |file| AsWritten(&shape).deserialize(file));
    let (Value::Object(fields), Value::Object(mut written)) = (&shape, written.map_err(fault)?) else {
        return Ok(Vec::new());
    };
    let field = |(key, value): (&String, &Value)| {
        let written = written.remove(key).unwrap_or_default();
        (key.clone(), Field { value: value.clone(), written })
    };
    Ok(fields.iter().map(field).collect())
}

/// Reads a value of the same shape again, with its scalars as texts: a key or a name may look like a number.
#[derive(Clone, Copy)]
struct AsWritten<'a>(&'a Value);

impl<'de> DeserializeSeed<'de> for AsWritten<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, file: D) -> Result<Value, D::Error> {
        match self.0 {
            Value::Null => IgnoredAny::deserialize(file).map(|_| Value::Null),
            Value::Array(_) => file.deserialize_seq(self),
            Value::Object(_) => file.deserialize_map(self),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => String::deserialize(file).map(Value::String),
        }
    }
}

impl<'de> Visitor<'de> for AsWritten<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what was read before")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let shapes = self.0.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut out = Vec::new();
        while let Some(item) = list.next_element_seed(AsWritten(shapes.get(out.len()).unwrap_or(&Value::Null)))? {
            out.push(item);
        }
        Ok(out.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let shape = self.0.get(&key).unwrap_or(&Value::Null);
            let value = map.next_value_seed(AsWritten(shape))?;
            out.insert(key, value);
        }
        Ok(out.into())
    }
}

/// Converts fields of a file to flags.
struct Flags<'a> {
    place: &'a str,
    /// The flags of the command line.
    given: &'a HashSet<String>,
    /// All existing flags.
    known: Vec<&'a Arg>,
}

fn with_long_names<'a>(arguments: impl Iterator<Item = &'a Arg>) -> Vec<&'a Arg> {
    arguments.filter(|argument| argument.get_long().is_some()).collect()
}

impl Flags<'_> {
    fn of(&self, key: &str, (value, written): (&Value, &Value)) -> Result<Vec<String>, Failure> {
        let (head, tail) = key.split_at(key.find('.').unwrap_or(key.len()));
        let name = format!("{}{tail}", head.trim_start_matches('-').replace('_', "-"));
        let argument = self.known.iter().find(|arg| arg.get_long() == Some(name.as_str()));
        match (argument, value) {
            // A table under a name that is not a flag may hold dotted flags.
            (None, Value::Object(inner)) if self.known.iter().any(|arg| is_under(arg, &name)) => {
                let mut flags = Vec::new();
                for (key, value) in inner {
                    let written = written.get(key).unwrap_or(value);
                    flags.extend(self.of(&format!("{name}.{key}"), (value, written))?);
                }
                Ok(flags)
            }
            (None, _) => Err(self.unknown(key, &name)),
            (Some(_), _) if format!("--{name}") == FLAG => Err(Failure::usage(
                format!("{}: `{key}` names another file", self.place),
                "put all flags into one file",
            )),
            (Some(_), _) if self.given.contains(&format!("--{name}")) => Ok(Vec::new()),
            (Some(argument), _) => self.written(argument, (key, &name), (value, written)),
        }
    }

    fn written(
        &self,
        argument: &Arg,
        (key, name): (&str, &str),
        (value, written): (&Value, &Value),
    ) -> Result<Vec<String>, Failure> {
        let with = |value: &str| format!("--{name}={value}");
        let is_switch = matches!(argument.get_action(), ArgAction::SetTrue);
        // A text flag takes the value as written, a numeric flag takes the number.
        let text = |value: &Value, written: &Value| plain(if takes_number(argument) { value } else { written });
        Ok(match value {
            Value::Null => {
                let message = format!("{}: `{key}` has no value", self.place);
                return Err(Failure::usage(message, "leave the line out, or write a value behind it"));
            }
            Value::Bool(true) if is_switch => vec![format!("--{name}")],
            Value::Bool(false) if is_switch => Vec::new(),
            _ if is_switch => {
                let message = format!("{}: `{key}` is {value}; it must be true or false", self.place);
                return Err(Failure::usage(message, format!("`{key}: true` is as --{name} on the command line")));
            }
            Value::Array(items) if matches!(argument.get_action(), ArgAction::Append) => {
                if items.iter().any(Value::is_null) {
                    let message = format!("{}: an item of `{key}` has no value", self.place);
                    return Err(Failure::usage(message, "leave the item out, or write a value"));
                }
                let written = written.as_array().unwrap_or(items);
                items.iter().zip(written).map(|(item, written)| with(&text(item, written))).collect()
            }
            Value::Array(_) | Value::Object(_) if takes_json(argument) => vec![with(&value.to_string())],
            Value::Array(_) | Value::Object(_) if !matches!(argument.get_action(), ArgAction::Append) => {
                let message = format!("{}: `{key}` is {value}; the flag takes one value", self.place);
                return Err(Failure::usage(message, format!("`unspool {COMMAND} --help` says what --{name} takes")));
            }
            _ => vec![with(&text(value, written))],
        })
    }

    fn unknown(&self, key: &str, name: &str) -> Failure {
        let known = self.known.iter().filter(|arg| !arg.is_hide_set()).filter_map(|arg| arg.get_long());
        let hint = suggest::did_you_mean(&suggest::near(name, known));
        let hint = hint.unwrap_or_else(|| format!("`unspool {COMMAND} --help` lists all flags"));
        Failure::usage(format!("{}: there is no flag `{key}`", self.place), hint)
    }
}

/// Whether a flag's value is JSON.
fn takes_json(argument: &Arg) -> bool {
    argument.get_value_names().is_some_and(|names| names.iter().any(|name| name.as_str() == "JSON"))
}

/// Whether a flag's value is a number.
fn takes_number(argument: &Arg) -> bool {
    let kind = argument.get_value_parser().type_id();
    [
        TypeId::of::<u8>(),
        TypeId::of::<u16>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
        TypeId::of::<i64>(),
        TypeId::of::<f64>(),
    ]
    .iter()
    .any(|number| kind == *number)
}

/// Whether a flag's name continues with a dot after `name`.
fn is_under(argument: &Arg, name: &str) -> bool {
    argument.get_long().and_then(|long| long.strip_prefix(name)).is_some_and(|rest| rest.starts_with('.'))
}

/// A value as written on a command line.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Parses the file's flags alone, so that an error in a value names the file.
fn check(place: &str, flags: &[String]) -> Result<(), Failure> {
    let alone = ["unspool", COMMAND].map(str::to_owned).into_iter().chain(flags.iter().cloned());
    match Cli::command().try_get_matches_from(alone) {
        Ok(_) => Ok(()),
        Err(error) => match usage::failure(&error) {
            Some(Failure::Usage { message, hint }) => {
                Err(Failure::Usage { message: format!("{place}: {message}"), hint })
            }
            _ => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_dashes_up_to_the_dot() {
        for (given, read) in [
            ("--tool_call_parser", "--tool-call-parser"),
            ("--a_b=c_d", "--a-b=c_d"),
            ("--a_b.c_d=e_f", "--a-b.c_d=e_f"),
            ("a_b", "a_b"),
            ("-a_b", "-a_b"),
        ] {
            assert_eq!(dashed(given.into()), read);
        }
    }

    #[test]
    fn values_are_written_as_their_flags_take_them() {
        let command = clap::Command::new("serve")
            .arg(Arg::new("a").long("a-flag").action(ArgAction::SetTrue))
            .arg(Arg::new("b").long("several").action(ArgAction::Append))
            .arg(Arg::new("c").long("one").value_name("TEXT"))
            .arg(Arg::new("f").long("text").value_name("JSON"))
            .arg(Arg::new("d").long("group.inner-switch").action(ArgAction::SetTrue))
            .arg(Arg::new("e").long("group.inner_value"));
        let given = HashSet::from(["--taken".to_owned()]);
        let reader = Flags { place: "f.yaml", given: &given, known: with_long_names(command.get_arguments()) };
        let written = |text: &str| {
            let fields: Map<String, Value> = serde_saphyr::from_str(text).expect("it is YAML");
            let flags: Result<Vec<_>, _> = fields.iter().map(|(key, value)| reader.of(key, (value, value))).collect();
            flags.map(|flags| flags.concat().join(" ")).map_err(|_| ())
        };
        for (text, flags) in [
            ("a_flag: true", "--a-flag"),
            ("--a-flag: false", ""),
            ("several: [1, b, -c]", "--several=1 --several=b --several=-c"),
            ("several: only", "--several=only"),
            ("text: [1, b]", "--text=[1,\"b\"]"),
            ("text:\n  x: {y: true}", "--text={\"x\":{\"y\":true}}"),
            ("one: 1.5", "--one=1.5"),
            ("group:\n  inner-switch: true\n  inner_value: z", "--group.inner-switch --group.inner_value=z"),
            ("group.inner_value: z", "--group.inner_value=z"),
        ] {
            assert_eq!(written(text).as_deref(), Ok(flags), "{text}");
        }
        for text in [
            "a_flag: 1",
            "other: 1",
            "one: [1, b]",
            "one: {x: 1}",
            "one:",
            "a_flag:",
            "several: [~]",
            "group:\n  other: 1",
            "group: 1",
        ] {
            assert!(written(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_file_is_taken_out_of_the_arguments() {
        let take = |arguments: &[&str]| {
            let mut arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            take_file(&mut arguments).map(|file| (file, arguments))
        };
        let (file, rest) = take(&["u", "serve", "--config", "a.yaml", "--port", "1"]).expect("it has a value");
        assert_eq!((file, rest.len()), (Some("a.yaml".into()), 4));
        let (file, rest) = take(&["u", "serve", "--config=b.yaml"]).expect("it has a value");
        assert_eq!((file, rest.len()), (Some("b.yaml".into()), 2));
        for wrong in [
            &["u", "serve", "--config"][..],
            &["--config", "--port"],
            &["--config="],
            &["--config", "a", "--config", "b"],
        ] {
            assert!(take(wrong).is_err(), "{wrong:?}");
        }
    }
}
