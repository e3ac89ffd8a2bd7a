//! `unspool formats`.

use serde_json::{Value, json};

use crate::{TempFile, unspool};

#[test]
fn the_table_has_every_name() {
    let out = unspool(&["formats"], "").clean();
    for name in ["hermes", "qwen3_coder", "deepseek_r1", "kimi_k2"] {
        assert!(out.lines().any(|line| line.split_whitespace().next() == Some(name)), "no {name} in\n{out}");
    }
}

#[test]
fn json_has_the_same_rows() {
    let rows: Value = serde_json::from_str(&unspool(&["formats", "--json"], "").clean()).expect("JSON");
    let row = |name: &str| {
        let rows = rows.as_array().expect("a list");
        rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    assert_eq!(row("qwen3_coder")["reasoning"], Value::Null);
    assert_eq!(row("qwen3_coder")["tools"]["call"], "<function={name}>\n{params}</function>");
    assert_eq!(row("kimi_k2")["reasoning"]["thought"], "<think>{thought}</think>");
    assert_eq!(row("deepseek_v3")["reasoning"]["default"], false);
}

#[test]
fn one_name_is_shown_alone() {
    let out = unspool(&["formats", "qwen3_coder"], "").clean();
    assert!(out.contains("qwen3_coder"), "{out}");
    assert!(!out.contains("kimi_k2"), "{out}");
    assert!(out.contains("# formats/qwen3.toml"), "the file is shown: {out}");
}

#[test]
fn a_name_shows_its_models_its_partners_and_an_example() {
    let out = unspool(&["formats", "qwen3"], "").clean();
    for piece in [
        "models     Qwen/Qwen3-*",
        "goes with  --tool-call-parser qwen3_coder, qwen3_xml, ",
        "qwen3_json, hermes\n",
        "example\n  output     <think>\n             They want the tide.\n",
        "  call       tide({",
    ] {
        assert!(out.contains(piece), "no {piece:?} in\n{out}");
    }
    let row: Value = serde_json::from_str(&unspool(&["formats", "hermes", "--json"], "").clean()).expect("JSON");
    assert!(row["tools"]["goes_with"].as_array().is_some_and(|names| names.contains(&"qwen3".into())), "{row}");
    assert!(row["note"].is_string() && row["tools"]["models"].is_array(), "{row}");
}

#[test]
fn explain_prints_states_closers_and_limits() {
    let out = unspool(&["formats", "kimi_k2", "--explain"], "").clean();
    for piece in [
        "state Reason",
        "\"<|tool_calls_section_begin|>\" -> may open a call",
        "closes with",
        "limits in bytes: name 256",
    ] {
        assert!(out.contains(piece), "no {piece:?} in\n{out}");
    }
}

#[test]
fn an_unknown_name_lists_near_ones() {
    let err = unspool(&["formats", "qwen3-coder"], "").refused();
    assert!(err.starts_with("error: no parser is named `qwen3-coder`\n  hint: did you mean `qwen3_coder`"), "{err}");
}

#[test]
fn a_model_is_told_its_flags() {
    let out = unspool(&["formats", "Qwen/Qwen3-8B"], "").clean();
    assert_eq!(out, "model      Qwen/Qwen3-8B\nflags      --reasoning-parser qwen3 --tool-call-parser qwen3_json\n");
    let out = unspool(&["formats", "deepseek-ai/DeepSeek-V3-0324", "--json"], "").clean();
    let found: Value = serde_json::from_str(&out).expect("JSON");
    let right = json!({"model": "deepseek-ai/DeepSeek-V3-0324", "reasoning": null, "tools": "deepseek_v3"});
    assert_eq!(found, right);
}

#[test]
fn another_servers_name_is_told_the_flags() {
    let out = unspool(&["formats", "gpt-oss"], "").clean();
    assert_eq!(out, "alias      gpt-oss\nflags      --reasoning-parser openai_gptoss --tool-call-parser openai\n");
    let found: Value = serde_json::from_str(&unspool(&["formats", "qwen25", "--json"], "").clean()).expect("JSON");
    assert_eq!(found, json!({"alias": "qwen25", "reasoning": null, "tools": "hermes"}));
}

#[test]
fn the_examples_of_a_file_are_read() {
    let text = "names.tools = [\"heron\"]\ntools.call = \"<c>{envelope}</c>\"\n\
                [[example]]\ntext = 'So.<c>{\"name\": \"tide\", \"arguments\": {\"days\": 3}}</c>'\ncontent = \"So.\"\n\
                calls = [{ name = \"tide\", arguments = { days = 3 } }]\n";
    let good = TempFile::new("heron.toml", text);
    let out = unspool(&["formats", good.path()], "").clean();
    assert!(out.contains("name       --tool-call-parser heron\nexample 1  true"), "{out}");
    let bad = TempFile::new("heron.toml", &text.replace("days = 3 }", "days = 4 }"));
    let run = unspool(&["formats", bad.path()], "");
    assert_eq!(run.code, Some(1), "{}", run.err);
    let differs = "example 1  read otherwise:\n           call: tide({\"days\":3}), not tide({\"days\":4})\n";
    assert!(run.out.ends_with(differs), "{}", run.out);
    let tried: Value = serde_json::from_str(&unspool(&["formats", good.path(), "--json"], "").clean()).expect("JSON");
    assert_eq!((&tried["tools"], &tried["examples"]), (&json!(["heron"]), &json!([[]])));
    let old = TempFile::new("heron.toml", &text.replace("[[example]]", "tools.silent = \"json\"\n[[example]]"));
    let run = unspool(&["formats", old.path()], "");
    assert!(run.code == Some(0) && run.err.contains("`tools.silent` is an old word"), "{}", run.err);
}
