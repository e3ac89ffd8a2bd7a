//! `unspool formats`.

use std::fs;
use std::path::Path;

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
fn the_table_fits_a_screen() {
    let out = unspool(&["formats"], "").clean();
    let widest = out.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|widest| (60..=100).contains(&widest)), "{widest:?}\n{out}");
}

#[test]
fn a_template_or_a_folder_is_told_its_flags() {
    let source = "{% for m in messages %}<|im_start|>{{ '<tool_call>\\n{\"name\": ' }}{% endfor %}";
    let file = TempFile::new("chat_template.jinja", source);
    let out = unspool(&["formats", "--model", file.path()], "").clean();
    assert!(
        out.contains("\nflags      --tool-call-parser hermes\nwhy        `hermes`: the chat template has "),
        "{out}"
    );
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("folder-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("chat_template.jinja"), source).expect("a file");
    let run = unspool(&["formats", "--model", &folder.display().to_string()], "");
    fs::remove_dir_all(&folder).expect("it is there");
    assert!(run.clean().contains("--tool-call-parser hermes"));
    let plain = TempFile::new("chat_template.jinja", "{{ messages }}");
    assert!(unspool(&["formats", "--model", plain.path()], "").refused().contains("the marks of no format"));
}

#[test]
fn the_schema_has_all_words() {
    let schema: Value = serde_json::from_str(&unspool(&["formats", "--schema"], "").clean()).expect("JSON");
    let call = &schema["properties"]["tools"]["properties"]["call"];
    assert!(
        call["description"].is_string() && schema["properties"]["variant"]["items"]["properties"]["when"].is_object()
    );
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
    let flags =
        "model      Qwen/Qwen3-8B\nflags      --reasoning-parser qwen3 --tool-call-parser qwen3_json\nwhy        ";
    assert!(out.starts_with(flags), "{out}");
    assert!(out.contains("\nthe same   --tool-call-parser ") && out.contains("hermes"), "{out}");
    assert_eq!(out, unspool(&["formats", "--model", "Qwen/Qwen3-8B"], "").clean());
    let out = unspool(&["formats", "deepseek-ai/DeepSeek-V3-0324", "--json"], "").clean();
    let found: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&found["reasoning"], &found["tools"]), (&Value::Null, &json!("deepseek_v3")));
    assert_eq!((&found["model"], &found["why"]["reasoning"]), (&json!("deepseek-ai/DeepSeek-V3-0324"), &Value::Null));
    assert!(found["why"]["tools"].is_string() && found["also"]["tools"].is_array(), "{found}");
    let err = unspool(&["formats", "--model", "Qwen/Qwen33-8B"], "").refused();
    assert!(err.contains("`Qwen/Qwen33-8B`") && err.contains("did you mean `Qwen/Qwen3"), "{err}");
}

#[test]
fn another_servers_name_is_told_the_flags() {
    let out = unspool(&["formats", "gpt-oss"], "").clean();
    assert!(
        out.starts_with("alias      gpt-oss\nflags      --reasoning-parser openai_gptoss --tool-call-parser openai\n"),
        "{out}"
    );
    let found: Value = serde_json::from_str(&unspool(&["formats", "qwen25", "--json"], "").clean()).expect("JSON");
    assert_eq!(
        (&found["alias"], &found["reasoning"], &found["tools"]),
        (&json!("qwen25"), &Value::Null, &json!("hermes"))
    );
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
