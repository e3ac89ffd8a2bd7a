//! Errors of the command line have a hint, and the exit code is 2.

use std::process::Command;

use crate::{TempFile, unspool};

#[track_caller]
fn check(arguments: &[&str], parts: &[&str]) {
    let err = unspool(arguments, "text").refused();
    for part in parts {
        assert!(err.contains(part), "no {part:?} in\n{err}");
    }
    assert!(err.starts_with("error: "), "{err}");
}

#[test]
fn unknown_parsers_list_near_ones() {
    check(&["parse", "--tool-call-parser", "qwen3-coder"], &["`qwen3-coder`", "\n  hint: ", "qwen3_coder"]);
    check(&["parse", "--reasoning-parser", "deepsek_r1"], &["`deepsek_r1`", "\n  hint: ", "deepseek_r1"]);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    check(&["parse", "no/such/output.txt"], &["no/such/output.txt: no such file", "  hint: "]);
    check(&["parse", "--tools", "no/such/tools.json"], &["no/such/tools.json", "`--tools`"]);
    check(&["parse", "--request", "no/such/request.json"], &["no/such/request.json", "`--request`"]);
}

#[test]
fn files_with_bad_json_are_named_with_the_place() {
    let file = TempFile::new("bad.json", "[\n  {\"type\": }\n]");
    check(&["parse", "--tools", file.path()], &["bad.json:2:12: not JSON: expected value", "  hint: "]);
    let file = TempFile::new("list.json", "[]");
    check(&["parse", "--request", file.path()], &["list.json: the request is not an object", "  hint: "]);
    let file = TempFile::new("number.json", "5");
    check(&["parse", "--tools", file.path()], &["number.json: no list of tools", "  hint: "]);
}

#[test]
fn bad_requests_are_refused() {
    let file = TempFile::new("request.json", r#"{"tool_choice": "sometimes"}"#);
    check(&["parse", "--request", file.path()], &["`tool_choice` is \"sometimes\""]);
}

#[test]
fn plugins_that_cannot_be_used_are_named() {
    for command in ["parse", "stream", "formats"] {
        for option in ["--tool-parser-plugin", "--reasoning-parser-plugin"] {
            check(&[command, option, "no/such/format.toml"], &["no/such/format.toml", option]);
            let broken = TempFile::new("broken.toml", "names.tools = [");
            check(&[command, option, broken.path()], &["broken.toml"]);
        }
        let misspelt =
            "names.tools = [\"mine\"]\n[tools]\ncall = \"<c>{envelope}</c>\"\n[[variant]]\nnames = [\"mien\"]\n";
        let misspelt = TempFile::new("misspelt.toml", misspelt);
        check(
            &[command, "--tool-parser-plugin", misspelt.path()],
            &["misspelt.toml:5", "`mien`", "  hint: the names are `mine`"],
        );
    }
    let taken = TempFile::new("taken.toml", "names.tools = [\"hermes\"]\n[tools]\ncall = \"<c>{envelope}</c>\"\n");
    let run = unspool(&["parse", "--tool-parser-plugin", taken.path(), "--tool-call-parser", "hermes"], "text");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.starts_with("warning: ") && run.err.contains("formats/hermes.toml"), "{}", run.err);
}

#[test]
fn a_plugin_must_bring_the_half_that_it_is_given_for() {
    let file = TempFile::new("half.toml", "names.tools = [\"my_tools\"]\n[tools]\ncall = \"<c>{envelope}</c>\"\n");
    check(
        &["parse", "--reasoning-parser-plugin", file.path()],
        &["half.toml: the file has no reasoning parser", "`--tool-parser-plugin`"],
    );
}

#[test]
fn contradicting_options_are_refused() {
    check(&["parse", "--events", "--json"], &["cannot be given together"]);
    check(&["parse", "--chunk", "0"], &["--chunk"]);
    check(&["formats", "--explain"], &["<NAME>"]);
    check(&["man", "pars"], &["no command `pars`", "did you mean `parse`?"]);
}

#[test]
fn help_is_enough_to_use_each_command() {
    for command in ["parse", "formats", "stream", "serve", "completions", "man"] {
        let out = unspool(&[command, "--help"], "").clean();
        assert!(out.contains("Usage: unspool") && out.contains("Example"), "{out}");
        assert!(out.contains(&format!("  unspool {command}")), "{out}");
    }
}

#[test]
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(unspool(&["completions", shell], "").clean().contains("unspool"), "{shell}");
    }
    assert!(unspool(&["man"], "").clean().contains(".TH unspool 1"));
    assert!(unspool(&["man", "parse"], "").clean().contains(".TH unspool-parse 1"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_page_that_cannot_be_printed_is_an_error() {
    for arguments in [&["--help"][..], &["serve", "--help"], &["--version"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
        let run = Command::new(env!("CARGO_BIN_EXE_unspool")).args(arguments).stdout(full).output();
        let run = run.expect("the command starts");
        assert_eq!(run.status.code(), Some(1), "{arguments:?}");
        assert!(String::from_utf8_lossy(&run.stderr).contains("cannot write the output"), "{arguments:?}");
    }
}
