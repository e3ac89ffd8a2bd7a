//! What is wrong on the command line: what, where, and a hint; exit code 2.

use crate::unspool;

#[track_caller]
fn check(arguments: &[&str], message: &str, hint: &str) {
    let err = unspool(arguments, "").refused();
    let lines: Vec<&str> = err.lines().collect();
    assert!(lines[0].starts_with("error: ") && lines[0].contains(message), "{err}");
    assert!(lines[1].starts_with("  hint: ") && lines[1].contains(hint), "{err}");
    assert_eq!(lines.len(), 2, "{err}");
}

#[test]
fn unknown_flags_name_the_nearest() {
    check(&["serve", "--tool-parser", "x"], "`unspool serve` has no flag `--tool-parser`", "`--tool-");
    check(&["serve", "--resoning-parser", "x"], "`--resoning-parser`", "did you mean `--reasoning-parser`");
    check(&["parse", "--jsn"], "`unspool parse` has no flag `--jsn`", "did you mean `--json`?");
    check(&["parse", "--qqqq"], "`--qqqq`", "`unspool parse --help`");
    check(&["--verbos"], "`unspool` has no flag `--verbos`", "");
    check(&["formats", "a", "b"], "`b` is an extra argument", "`unspool formats --help`");
}

#[test]
fn unknown_commands_name_the_nearest() {
    check(&["sevre"], "there is no command `sevre`", "did you mean `serve`?");
    check(&["zzzzz"], "there is no command `zzzzz`", "the commands are parse, ");
}

#[test]
fn missing_values_say_what_the_flag_takes() {
    check(&["serve", "--port"], "--port has no value", "write --port PORT: Port to listen on");
    check(&["serve", "--api-key"], "--api-key has no value", "write --api-key KEY: Keys that clients");
    check(&["parse", "--finish"], "--finish", "stop, length, tool_calls");
}

#[test]
fn values_that_do_not_fit_say_why() {
    check(&["serve", "--port", "99999"], "--port is `99999`: 99999 is not in", "write --port PORT");
    check(&["serve", "--port", "many"], "--port is `many`", "write --port PORT");
    check(
        &["serve", "--backend", "magic"],
        "--backend is `magic`: no backend is called `magic`",
        "write --backend BACKEND",
    );
    check(&["serve", "--limit", "depth"], "--limit is `depth`", "write NAME=VALUE, such as header=8KiB");
    check(&["serve", "--log", "lots"], "--log is `lots`, which is not a possible value", "it can be off, error, warn");
    check(&["parse", "--finish", "stp"], "--finish is `stp`", "did you mean `stop`? it can be stop, length");
    check(&["completions", "fishy"], "`fishy`", "did you mean `fish`");
}

#[test]
fn flags_that_exclude_each_other_are_both_named() {
    check(&["parse", "--json", "--events"], "cannot be given together", "leave out one");
    check(&["serve", "--port", "1", "--port", "2"], "--port is given twice", "give it once");
}

#[test]
fn missing_arguments_are_named() {
    check(&["completions"], "<SHELL> is missing", "`unspool completions --help`");
    check(&["formats", "--explain"], "is missing", "`unspool formats --help`");
}

#[test]
fn pages_that_are_asked_for_are_no_errors() {
    let help = unspool(&["serve", "--help"], "").clean();
    for flag in ["--config", "--ssl-certfile", "--stream-interval", "--return-diagnostics", "--log-format"] {
        assert!(help.contains(flag), "{flag}");
    }
    // An example that is broken into lines elsewhere than behind a backslash cannot be copied.
    for command in ["parse", "formats", "grammar", "stream", "serve", "completions", "man"] {
        let help = unspool(&[command, "--help"], "").clean();
        let lines: Vec<&str> = help.lines().collect();
        for (line, next) in lines.iter().zip(&lines[1..]) {
            let broken =
                next.trim() == "\\" || line.trim_start().starts_with("unspool ") && next.trim().starts_with("--");
            assert!(line.ends_with('\\') || !broken, "{command}: {line}\n{next}");
        }
    }
    assert!(unspool(&["--version"], "").clean().starts_with("unspool "));
}
