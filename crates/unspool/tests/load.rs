//! Format files that can be read and make no sense: each is refused with its line and a hint.

use unspool::Registry;
use unspool::{Error, ErrorKind};

/// A tools half with these lines.
fn tools(lines: &str) -> String {
    format!("names.tools = [\"mine\"]\n[tools]\n{lines}\n")
}

/// A reasoning half with these lines, and calls beside it.
fn reasoning(lines: &str) -> String {
    let call = "tools.call = \"<call:{name}>{json}</call>\"";
    format!(
        "names = {{ reasoning = [\"mine\"], tools = [\"mine\"] }}\n{call}\n[reasoning]\n{lines}\n[start]\nstate = \"content\"\n"
    )
}

fn error(file: &str) -> Error {
    let error = Registry::builtin().add("my.toml", file).err();
    error.unwrap_or_else(|| panic!("{file}is loaded"))
}

#[track_caller]
fn refused(file: &str, line: usize, key: &str, what: &str) {
    let error = error(file);
    assert_eq!(error.kind, ErrorKind::BadFormat, "{error}");
    let place = format!("my.toml:{line}: `{key}`: ");
    assert!(error.message.starts_with(&place) && error.message.contains(what), "{file}gives {error}");
    assert!(error.hint.is_some(), "{error}");
}

#[test]
fn a_call_without_a_name() {
    refused(&tools("call = \"<c>{json}</c>\""), 3, "tools.call", "which function");
    refused(&tools("call = [\"<c {name}>{json}</c>\",\n\"<d>{json}</d>\"]"), 4, "tools.call.1", "which function");
    for good in
        ["<c:{name}>{json}</c>", "<c>{id}<a>{json}</c>", "<c>{envelope}</c>", "<c name=\\\"{name}\\\">{json}</c>"]
    {
        Registry::builtin().add("my.toml", &tools(&format!("call = \"{good}\""))).expect(good);
    }
    let in_block = "block = \"<b:{name}>{calls}</b>\"\ncall = \"<c>{json}</c>\"";
    Registry::builtin().add("my.toml", &tools(in_block)).expect("the block names the function");
}

#[test]
fn slots_that_are_missing_or_stand_twice() {
    refused(&tools("call = \"<c:{name}>{json}{json}</c>\""), 3, "tools.call", "`{json}` stands twice");
    refused(&tools("call = \"<c:{name}>{json}<d>{params}</c>\""), 3, "tools.call", "both stand for the arguments");
    refused(&tools("call = \"<c:{name}>{json}</c>\"\nblock = \"<b></b>\""), 4, "tools.block", "no `{calls}`");
    refused(&reasoning("thought = \"<t>{thought}-{thought}</t>\""), 4, "reasoning.thought", "`{thought}` stands twice");
    refused(&reasoning("thought = \"<t></t>\""), 4, "reasoning.thought", "no `{thought}`");
    refused(&reasoning("thought = \"<t>{name}{thought}</t>\""), 4, "reasoning.thought", "`{name}` has no place");
    let param = "call = \"<c:{name}>{params}</c>\"\nparam = \"<p {key}>{value}{value}</p>\"";
    refused(&tools(param), 4, "tools.param", "`{value}` stands twice");
    let frame =
        format!("{}[content]\nframe = \"<a>{{content}}{{content}}</a>\"\n", tools("call = \"<c:{name}>{json}</c>\""));
    refused(&frame, 5, "content.frame", "`{content}` stands twice");
}

#[test]
fn a_fault_of_a_variant_stands_in_its_line() {
    let variant = "[[variant]]\nnames = [\"mine\"]\ntools.call = \"<d>{json}</d>\"";
    refused(&format!("{}{variant}\n", tools("call = \"<c:{name}>{json}</c>\"")), 6, "tools.call", "which function");
}

#[test]
fn a_fault_of_a_file_that_extends_another_is_found_too() {
    let file = "extends = \"hermes\"\nnames.tools = [\"mine\"]\n[tools]\ncall = \"<c>{json}</c>\"\n";
    refused(file, 4, "tools.call", "which function");
}

#[test]
fn a_variable_with_a_slots_name() {
    let file = format!("vars.name = \"x\"\n{}", tools("call = \"<c:{name}>{json}</c>\""));
    refused(&file, 1, "vars.name", "is a slot of templates");
}

#[test]
fn messages_that_nothing_can_begin() {
    let channels = |lines: &str| format!("{}[channels]\n{lines}\n", tools("call = \"<c:{name}>{json}</c>\""));
    refused(&channels("body = \"<b>\""), 4, "channels", "no `start`");
    refused(&channels("start = \"<s>\""), 4, "channels", "no `body`");
    refused(&channels("start = \"<s>\"\nbody = \"\""), 4, "channels", "no `body`");
    let envelope = tools("call = \"<c>{envelope}</c>\"");
    let file = format!("{envelope}[channels]\nstart = \"<s>\"\nbody = \"<b>\"\ncalls = \"functions.\"\n");
    refused(&file, 7, "channels.calls", "a recipient names the function");
}

#[test]
fn an_end_of_a_thought_that_nothing_knows() {
    let thought = "thought = \"<t>{thought}</t>\"";
    let ends = |text: &str| reasoning(&format!("{thought}\nends = [\"{text}\"]"));
    refused(&ends("<cal>"), 5, "reasoning.ends", "\"<cal>\" neither opens");
    refused(&ends("{json}"), 5, "reasoning.ends", "neither opens");
    for good in ["<call", "<call:"] {
        Registry::builtin().add("my.toml", &ends(good)).expect(good);
    }
    let dropped = format!("{}[content]\ndrop = [\"<end>\"]\n", ends("<end>"));
    Registry::builtin().add("my.toml", &dropped).expect("it vanishes");
    // A file without calls may wait for those of another one.
    let alone = |end: &str| {
        format!(
            "names.reasoning = [\"mine\"]\n[reasoning]\n{thought}\nends = [\"{end}\"]\n[start]\nstate = \"content\"\n"
        )
    };
    Registry::builtin().add("my.toml", &alone("<tool_call>")).expect("hermes opens a call with it");
    refused(&alone("<tool_cal>"), 4, "reasoning.ends", "neither opens");
}

#[test]
fn a_thought_without_a_place_where_replies_begin() {
    let file = "names.reasoning = [\"mine\"]\n[reasoning]\nthought = \"<t>{thought}</t>\"\n";
    refused(file, 3, "start.state", "where does a reply begin");
    let variant = "[[variant]]\nwhen.kwarg.deep = true\nreasoning.thought = \"<d>{thought}</d>\"\n";
    Registry::builtin().add("my.toml", &format!("{file}[start]\nstate = \"content\"\n{variant}")).expect("it is said");
    // Another file's word is its own too.
    let extends = "extends = \"qwen3\"\nnames.reasoning = [\"mine\"]\nreasoning.thought = \"<t>{thought}</t>\"\n";
    Registry::builtin().add("my.toml", extends).expect("qwen3 says it");
}

#[test]
fn a_misspelt_word_brings_the_one_that_is_meant() {
    let call = "call = \"<c:{name}>{json}</c>\"";
    let cases = [
        (tools("cal = \"<c:{name}>{json}</c>\""), "`call`"),
        (tools("call = \"<c:{nmae}>{json}</c>\""), "`name`"),
        (tools(&format!("{call}\ngroup = \"eech\"")), "`each`"),
        (format!("{}[[variant]]\nwhen.kwrag.a = true\n", tools(call)), "`kwarg`"),
        (
            format!("{}[turns]\nuser = \"u{{txet}}\"\nassistant = \"{{reply}}\"\nresult = \"{{text}}\"\n", tools(call)),
            "`text`",
        ),
    ];
    for (file, meant) in cases {
        let hint = error(&file).hint.unwrap_or_default();
        assert!(hint.contains("did you mean") && hint.contains(meant), "{file}gives {hint}");
        assert!(!hint.contains("docs/"), "an installed command has no such file: {hint}");
    }
}
