//! The JSON schema of format files, for editors.

use serde_json::{Map, Value, json};

/// The type of a key's value.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A text.
    Text,
    /// A text or a list of texts.
    Texts,
    /// True or false.
    Bool,
    /// One of these words.
    One(&'static [&'static str]),
    /// Any of these words.
    Any(&'static [&'static str]),
    /// A table of texts or lists by name.
    Named,
    /// Routes of messages.
    Routes,
    /// Texts, or texts for each half.
    Halves,
}

use Kind::{Any, Bool, Halves, Named, One, Routes, Text, Texts};

/// All keys, each with its type and description.
const WORDS: &[(&str, Kind, &str)] = &[
    ("names.reasoning", Texts, "names for --reasoning-parser"),
    ("names.tools", Texts, "names for --tool-call-parser"),
    ("names.model_type", Texts, "types of checkpoints that are always read so"),
    ("names.alias", Named, "other names for names of this file"),
    ("names.since", Named, "versions of vLLM, and the names that older ones lack"),
    ("models", Halves, "which checkpoints write this, as globs; `!` takes some away"),
    ("note", Text, "one line about the format"),
    ("pairs", Texts, "names of other files' tools halves that go with the reasoning half"),
    ("bound", Bool, "one half never works without the other"),
    ("checkpoint", Text, "the key of the tokenizer config under which the checkpoint brings its own description"),
    ("extends", Text, "the name of a format to start from"),
    ("vars", Named, "texts for `{X}` in templates"),
    ("reasoning.thought", Texts, "templates with {thought}: how a thought is delimited"),
    ("reasoning.blocks", One(&["many", "one"]), "whether a thought may come again"),
    ("reasoning.ends", Texts, "literals that end a thought without its closer"),
    ("reasoning.after", One(&["content", "wait"]), "where the reply stands behind a thought"),
    ("reasoning.opener", One(&["output", "prompt"]), "who writes the opener"),
    ("reasoning.bare", Text, "what stands for an opener that models leave out at the start of a reply"),
    ("reasoning.into", One(&["reasoning", "content"]), "where thoughts go"),
    ("reasoning.unanswered", Text, "the template argument with which a thought without an answer is content"),
    ("start.state", One(&["reasoning", "content", "header"]), "where a reply begins if the prompt says nothing"),
    ("start.turn", Texts, "how an assistant's turn begins in the prompt"),
    ("switches.keys", Texts, "template arguments that switch thinking"),
    ("switches.default", Bool, "whether a model thinks if none is given"),
    ("switches.effort", Texts, "allowed values of reasoning_effort; with `!` in front: off"),
    ("switches.off", One(&["plain", "markers"]), "what off does"),
    ("content.frame", Texts, "templates with {content}: wrappers of the answer"),
    ("content.drop", Texts, "markers that are dropped in every text"),
    ("content.filter", Any(&["backslash-newline", "citations"]), "filters of text"),
    ("tools.block", Texts, "templates with {calls}: the wrapper of several calls"),
    ("tools.call", Texts, "templates of one call, with the slot of an argument syntax"),
    ("tools.param", Texts, "templates with {key} and {value}: one parameter, or one element"),
    ("tools.between", Texts, "what stands between calls"),
    ("tools.group", One(&["all", "each"]), "one block for all calls, or one for each"),
    ("tools.where", One(&["anywhere", "start"]), "where a call without a marker counts"),
    ("tools.values", Any(&["json", "python", "schema"]), "how untyped values are read"),
    ("tools.doubled", Bool, "`tide.tide` is `tide`"),
    ("tools.loose", Any(&["blanks", "breaks"]), "what may be otherwise in the markup"),
    ("tools.params.trim", One(&["none", "all"]), "outer white space of values"),
    ("tools.params.encoding", Any(&["xml", "xml-names", "byte-marks"]), "how values and names are encoded"),
    ("tools.params.unwrap", Texts, "a parameter of this name that holds an object is the arguments"),
    ("tools.literals.string", Texts, "the delimiter of strings, or opener and closer"),
    ("channels.header", Text, "how a message begins"),
    ("channels.end", Texts, "what ends a message"),
    ("channels.route", Routes, "where bodies go"),
    ("channels.calls", Text, "the prefix that makes a recipient a function"),
    ("channels.builtin", Texts, "recipients that are never functions"),
    ("channels.join", Text, "what stands between two bodies of one kind"),
    ("channels.restart", Bool, "a header begins a message although the one before did not end"),
    ("channels.unframed", Bool, "a call counts before any header"),
    ("ids.by", One(&["auto", "text", "id"]), "what counts by token id"),
    ("ids.call", Text, "how ids of calls are written"),
    ("ids.need.reasoning", Texts, "tokens that must be entries of the vocabulary"),
    ("ids.need.tools", Texts, "tokens that must be entries of the vocabulary"),
    ("serve.keep_special", One(&["always", "tools", "never"]), "when special tokens must be kept in the text"),
    ("serve.required", One(&["native", "json", "refuse"]), "how demanded calls come"),
    ("serve.level", One(&["auto", "function", "parameter"]), "how strict a grammar is if nobody says"),
    ("grammar.ends", Texts, "what may stand at the end of a reply"),
    ("grammar.free", One(&["any", "declared"]), "what calls of tools that are not strict hold"),
    ("turns.begin", Text, "the beginning of text"),
    ("turns.system", Text, "the system's turn, with {text}"),
    ("turns.user", Text, "a user's turn, with {text}"),
    ("turns.at", One(&["first", "last"]), "the user's turn in which system message and tools stand"),
    ("turns.assistant", Text, "a turn of the assistant, with {reply}"),
    ("turns.called", Text, "a turn of the assistant with calls"),
    ("turns.resumed", Text, "a turn of the assistant behind a tool's result"),
    ("turns.result", Text, "a tool's result, with {text}"),
    ("turns.results", Text, "what stands around results, with {results}"),
    ("turns.result_between", Text, "what stands between two results"),
    ("turns.tools", Text, "what is said of the tools"),
    ("turns.declare", Text, "a turn of its own for the tools"),
    ("turns.declare_first", Bool, "the tools' turn stands before the system's"),
    ("turns.tool", Text, "one tool"),
    ("turns.tool_between", Text, "what stands between two tools"),
    ("turns.param", Text, "one parameter of a tool"),
    ("turns.param_between", Text, "what stands between two parameters"),
    ("turns.thinking.on", Text, "what a prompt adds if the model shall think"),
    ("turns.thinking.off", Text, "what a prompt adds if it shall not"),
    ("turns.thinking.none", Text, "what the history has in place of a thought"),
    ("turns.thinking.told_on", Text, "what the system's turn says if the model shall think"),
    ("turns.thinking.told_off", Text, "what it says if it shall not"),
    ("turns.thinking.keep", One(&["recent", "all"]), "which thoughts the history keeps"),
    ("turns.thinking.resumed", Bool, "also for turns that turns.resumed begins"),
];

/// The schema, with every key of the format language.
#[must_use]
pub fn schema() -> Value {
    let mut properties = Map::new();
    for (path, kind, says) in WORDS {
        insert(&mut properties, path, kind.schema(says));
    }
    let mut variant = properties.clone();
    variant.insert("names".to_owned(), described(texts(), "the names that were asked for"));
    variant.insert(
        "when".to_owned(),
        json!({"type": "object", "description": "what must hold", "properties": {
        "kwarg": {"type": "object"}, "config": {"type": "object"}, "vocab": texts(), "template": texts(), "flavour": {"type": "string"}},
        "additionalProperties": false}),
    );
    let list = |properties: Map<String, Value>, says: &str| {
        json!({"type": "array", "description": says,
            "items": {"type": "object", "properties": properties, "additionalProperties": false}})
    };
    properties
        .insert("variant".to_owned(), list(variant, "further keys that lie over the file's if all conditions hold"));
    let detect = ["template", "tokens", "model_type"].map(|key| (key.to_owned(), texts()));
    let names = ["reasoning", "tools"].map(|key| (key.to_owned(), json!({"type": "string"})));
    properties.insert(
        "detect".to_owned(),
        list(detect.into_iter().chain(names).collect(), "marks by which a checkpoint's format is told"),
    );
    properties.insert("example".to_owned(), list(example(), "a worked example"));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "unspool format file",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "required": ["names"],
    })
}

fn example() -> Map<String, Value> {
    let mut out: Map<String, Value> = ["text", "prompt", "reasoning", "content"]
        .map(|key| (key.to_owned(), json!({"type": "string"})))
        .into_iter()
        .collect();
    let names = json!({"type": "object", "properties": {"reasoning": {"type": "string"}, "tools": {"type": "string"}},
        "additionalProperties": false});
    out.insert("names".to_owned(), names);
    out.insert("request".to_owned(), json!({"type": "object"}));
    out.insert("tokenizer_config".to_owned(), json!({"type": "object"}));
    let call = json!({"type": "object", "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
        "required": ["name"], "additionalProperties": false});
    out.insert("calls".to_owned(), json!({"type": "array", "items": call}));
    out
}

/// Adds a key under its path.
fn insert(properties: &mut Map<String, Value>, path: &str, word: Value) {
    match path.split_once('.') {
        None => {
            properties.insert(path.to_owned(), word);
        }
        Some((first, rest)) => {
            let table = properties
                .entry(first)
                .or_insert_with(|| json!({"type": "object", "properties": {}, "additionalProperties": false}));
            if let Some(inner) = table["properties"].as_object_mut() {
                insert(inner, rest, word);
            }
        }
    }
}

fn texts() -> Value {
    json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
}

fn described(mut schema: Value, says: &str) -> Value {
    schema["description"] = json!(says);
    schema
}

impl Kind {
    fn schema(self, says: &str) -> Value {
        let schema = match self {
            Text => json!({"type": "string"}),
            Texts => texts(),
            Bool => json!({"type": "boolean"}),
            One(words) => json!({"enum": words}),
            Any(words) => json!({"type": "array", "items": {"enum": words}}),
            Named => json!({"type": "object", "additionalProperties": {"anyOf": [texts(), {"type": "object"}]}}),
            Routes => json!({"type": "array", "items": {"type": "object", "properties": {
                "channel": {"type": "string"}, "to": texts(), "as": {"enum": ["reasoning", "content", "calls", "drop"]}},
                "required": ["as"], "additionalProperties": false}}),
            Halves => json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}},
                {"type": "object", "properties": {"reasoning": texts(), "tools": texts()}, "additionalProperties": false}]}),
        };
        described(schema, says)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use unspool::{Half, Registry};

    use super::*;
    use crate::calls::fits;

    fn json_of(text: &str) -> String {
        let table: toml::Table = text.parse().expect("TOML");
        serde_json::to_string(&table).expect("JSON")
    }

    #[test]
    fn the_built_in_files_fit_their_schema() {
        let (registry, schema) = (Registry::builtin(), schema());
        for half in [Half::Reasoning, Half::Tools] {
            for name in registry.names(half) {
                let (path, text) = registry.file(half, &name).expect("it is built in");
                assert!(fits(&json_of(&text), &schema), "{path}");
            }
        }
        for bad in [
            "names.tools = 1",
            "names.tools = [\"a\"]\ntool.call = \"x\"",
            "names.tools = [\"a\"]\n[tools]\ngroup = \"some\"",
        ] {
            assert!(!fits(&json_of(bad), &schema), "{bad}");
        }
    }

    #[test]
    fn every_word_of_the_language_is_in_the_schema() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/format-language.md");
        let page = std::fs::read_to_string(page).expect("the page is there");
        let known: BTreeSet<&str> = WORDS.iter().map(|(path, ..)| *path).collect();
        let cells =
            page.lines().filter_map(|line| line.strip_prefix("| `")).filter_map(|line| line.split(" | ").next());
        let words: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`')).filter(|word| is_word(word)).collect();
        assert!(words.len() > 40, "{words:?}");
        let missing: Vec<&&str> = words.iter().filter(|word| !known.contains(*word)).collect();
        assert!(missing.is_empty(), "not in the schema: {missing:?}");
        let told: Vec<&&str> = known.iter().filter(|word| word.contains('.') && !words.contains(*word)).collect();
        assert!(told.is_empty(), "not on the page: {told:?}");
    }

    /// Whether a text is the dotted path of a key.
    fn is_word(text: &str) -> bool {
        let path = text.contains('.') && !text.contains(['{', '<', '[', ' ', '"', '…']) && !text.ends_with(".X");
        path && text.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '.' | '_'))
    }
}
