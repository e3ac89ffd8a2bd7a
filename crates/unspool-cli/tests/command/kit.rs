//! `unspool new`, `test`, `fmt` and `cases`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{TOOLS, TempFile, lines, unspool};

const OUTPUT: &str = "<muse>They want the tide.</muse>\nLet me look.\n<do fn=\"tide\">\n<arg name=\"harbour\">Looe</arg>\n<arg name=\"days\">3</arg>\n</do>\n";

/// A path for a file that the command makes, gone when the test is over.
struct Target(PathBuf);

impl Target {
    fn new(name: &str) -> Self {
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_file_is_made_tried_and_used() {
    let (output, tools, target) =
        (TempFile::new("heron.txt", OUTPUT), TempFile::new("tools.json", TOOLS), Target::new("heron.toml"));
    let made =
        unspool(&["new", "heron", "--from", output.path(), "--tools", tools.path(), "--output", target.path()], "");
    assert_eq!(made.code, Some(0), "{}", made.err);
    assert!(made.out.contains("unspool test "), "{}", made.out);
    let tried = unspool(&["test", target.path(), "--count", "10"], "");
    assert_eq!((tried.code, tried.err.as_str()), (Some(0), ""), "{}", tried.out);
    for step in ["file", "examples", "laws", "rendering", "grammar", "clashes", "words"] {
        assert!(tried.out.contains(&format!("pass  {step}: ")), "{step}: {}", tried.out);
    }
    let names = ["--format", target.path(), "--reasoning-parser", "heron", "--tool-call-parser", "heron"];
    let read = unspool(&[&["parse", "--json", "--tools", tools.path()], &names[..]].concat(), OUTPUT).clean();
    let message: Value = serde_json::from_str(&read).expect("JSON");
    assert_eq!(
        (&message["reasoning"], &message["content"]),
        (&Value::from("They want the tide."), &Value::from("Let me look."))
    );
    assert_eq!(message["tool_calls"][0]["arguments"], "{\"harbour\": \"Looe\", \"days\": 3}");
    let again = unspool(&["new", "heron", "--from", output.path(), "--output", target.path()], "").refused();
    assert!(again.contains("not written over"), "{again}");
    assert!(unspool(&["fmt", "--check", target.path()], "").code == Some(0), "a made file is arranged");
}

#[test]
fn what_cannot_be_made_is_told() {
    let plain = TempFile::new("plain.txt", "High water is at noon.");
    let told = unspool(&["new", "heron", "--from", plain.path(), "--output", "-"], "").refused();
    assert!(told.contains("neither a thought nor a call"), "{told}");
    assert!(unspool(&["new", "a b", "--from", plain.path()], "").refused().contains("`a b`"));
    assert!(unspool(&["new", "heron"], "").refused().contains("--from"));
}

#[test]
fn a_faulty_file_fails() {
    let file = TempFile::new("mine.toml", "names.tools = [\"mine\"]\n[tools]\ncall = \"<go>{nme}</go>\"\n");
    let run = unspool(&["test", file.path(), "--json"], "");
    let told: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!((run.code, &told["good"]), (Some(1), &Value::Bool(false)), "{told:#}");
    assert_eq!(told["files"][0]["lines"][0]["result"], "fail");
    assert!(told["files"][0]["lines"][0]["message"].to_string().contains("{nme}"), "{told:#}");
    assert!(unspool(&["test", "no/such.toml"], "").refused().contains("no/such.toml"));
}

#[test]
fn files_are_arranged() {
    let file = TempFile::new(
        "mine.toml",
        "[tools]\ncall=\"<go>{envelope}</go>\"\n[[example]]\ntext = \"x\"\ncontent = \"x\"\n",
    );
    let root = TempFile::new("root.toml", "note = \"n\"\nnames.tools = [\"mine\"]\n");
    let run = unspool(&["fmt", "--check", file.path(), root.path()], "");
    assert_eq!((run.code, run.out.matches("not formatted").count()), (Some(1), 2), "{}", run.out);
    assert_eq!(unspool(&["fmt", file.path(), root.path()], "").code, Some(0));
    assert_eq!(fs::read_to_string(root.path()).expect("it is there"), "names.tools = [\"mine\"]\nnote = \"n\"\n");
    assert_eq!(unspool(&["fmt", "--check", file.path(), root.path()], "").code, Some(0));
    let broken = TempFile::new("broken.toml", "a = ");
    assert!(unspool(&["fmt", broken.path()], "").refused().contains("broken.toml"));
}

#[test]
fn cases_hold_other_implementations() {
    let cases = lines(&unspool(&["cases", "hermes", "--count", "12"], "").clean());
    assert!(cases.len() > 12, "{}", cases.len());
    assert!(
        cases[0]["id"].to_string().contains("hermes/example-1")
            && cases[0]["expect"]["tool_calls"][0]["name"].is_string()
    );
    let tools = TempFile::new("tools.json", &cases.last().expect("there are some")["tools"].to_string());
    for case in cases.iter().filter(|case| case["id"].to_string().contains("made-up")) {
        let text = case["text"].as_str().expect("a text");
        let read = unspool(&["parse", "--json", "--tool-call-parser", "hermes", "--tools", tools.path()], text).clean();
        let message: Value = serde_json::from_str(&read).expect("JSON");
        assert_eq!(message["content"], case["expect"]["content"], "{text}");
    }
    let python =
        unspool(&["cases", "qwen3_coder", "--reasoning-parser", "qwen3", "--count", "3", "--pytest"], "").clean();
    assert!(
        python.contains("def test_case(case, size, parse)") && python.contains("qwen3_coder/made-up-1"),
        "{python}"
    );
    assert!(unspool(&["cases", "qwen3-coder"], "").refused().contains("did you mean"));
}
