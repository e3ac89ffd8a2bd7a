//! Former keys that have a replacement. They still work, with a warning.

use toml::{Table, Value};

/// Former keys and their replacements.
const OLD: &[(&str, &str)] = &[
    ("names.former", "`names.alias`"),
    (
        "tools.envelope.container",
        "the object in `tools.call`: `[{envelope}]` for a list, `{?[}{envelope}{?]}` for both",
    ),
    (
        "tools.envelope.name",
        "the object in `tools.call`, with the model's keys: `{\"name\": {name}, \"arguments\": {json}}`",
    ),
    (
        "tools.envelope.arguments",
        "the object in `tools.call`, with the model's keys: `{\"name\": {name}, \"arguments\": {json}}`",
    ),
    ("tools.envelope.id", "the object in `tools.call`, with the key of the id: `\"id\": {id}`"),
    ("tools.envelope.shape", "the object in `tools.call`: `{{name}: {json}}`"),
    ("tools.envelope.commit", "nothing: a call without a marker needs the key of its arguments"),
    ("tools.silent", "`tools.values = [\"json\"]`"),
    ("tools.python", "`tools.values = [\"python\"]`"),
    ("tools.params.typed", "`tools.values = [\"schema\"]`"),
    ("tools.literals.delimited", "`tools.values = [\"schema\"]`"),
    ("tools.params.escape", "`tools.params.encoding = [\"xml\"]`"),
    ("tools.params.attr", "`tools.params.encoding = [\"xml-names\"]`"),
    ("tools.params.marks", "`tools.params.encoding = [\"byte-marks\"]`"),
    ("tools.elements.open", "`tools.param`, with the tags of one element around `{value}`"),
    ("tools.elements.close", "`tools.param`, with the tags of one element around `{value}`"),
    ("tools.elements.item", "nothing: the elements of a list are items"),
    ("grammar.spellings", "`tools.loose = [\"breaks\"]`"),
    ("grammar.calls", "`tools.call`: the first template is written, all are admitted"),
    ("content.header", "`start.turn`, with `start.state = \"header\"`"),
    ("cutoff.unanswered", "`reasoning.unanswered`"),
    ("switches.effort_off", "`switches.effort`, with `!` in front"),
    ("channels.start", "`channels.header`"),
    ("channels.body", "`channels.header`"),
    ("channels.channel", "`channels.header`"),
    ("channels.type", "`channels.header`"),
    ("channels.to", "`channels.header`"),
    ("channels.else", "a last entry of `channels.route` that asks for nothing: `{as = \"calls\"}`"),
    ("detect.lacks", "`template`, with `!` in front"),
    ("when.vocab_has", "`when.vocab`"),
    ("when.vocab_lacks", "`when.vocab`, with `!` in front"),
    ("when.template_has", "`when.template`"),
    ("when.template_lacks", "`when.template`, with `!` in front"),
];

/// The replacement for `tools.loose = true`.
const LOOSE: &str = "`tools.loose = [\"blanks\"]`";

/// The former keys in a file, with their replacements.
pub(super) fn found(file: &Table) -> Vec<(String, &'static str)> {
    let mut all = Vec::new();
    in_words(file, "", &mut all);
    let tables = |key: &str| file.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table);
    for (i, variant) in tables("variant").enumerate() {
        in_words(variant, &format!("variant.{i}."), &mut all);
    }
    for (i, rule) in tables("detect").enumerate() {
        if rule.contains_key("lacks") {
            all.extend(newer("detect.lacks").map(|now| (format!("detect.{i}.lacks"), now)));
        }
    }
    all
}

fn newer(word: &str) -> Option<&'static str> {
    OLD.iter().find(|(old, _)| *old == word).map(|(_, now)| *now)
}

fn in_words(words: &Table, place: &str, all: &mut Vec<(String, &'static str)>) {
    let value = |path: &str| {
        let mut keys = path.split('.');
        let first = words.get(keys.next()?)?;
        keys.try_fold(first, |value, key| value.get(key))
    };
    all.extend(OLD.iter().filter(|(old, _)| value(old).is_some()).map(|(old, now)| (format!("{place}{old}"), *now)));
    if value("tools.loose").is_some_and(Value::is_bool) {
        all.push((format!("{place}tools.loose"), LOOSE));
    }
}

/// Former names become aliases of the first names.
pub(super) fn former_names(file: &mut Table) {
    let Some(names) = file.get_mut("names").and_then(Value::as_table_mut) else { return };
    let first = |key: &str| match names.get(key) {
        Some(Value::Array(list)) => list.first().cloned(),
        other => other.cloned(),
    };
    let today: Vec<Value> = ["reasoning", "tools"].into_iter().filter_map(first).collect();
    let former = match names.remove("former") {
        None => return,
        Some(Value::Array(list)) => list,
        Some(one) => vec![one],
    };
    let alias = names.entry("alias").or_insert_with(|| Value::Table(Table::new()));
    for name in former.iter().filter_map(Value::as_str) {
        if let Value::Table(alias) = alias {
            alias.insert(name.to_owned(), Value::Array(today.clone()));
        }
    }
}
