//! `unspool stream`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{TOOLS, lines, unspool};

fn stream(input: &[Value]) -> Vec<Value> {
    let input: String = input.iter().map(|line| format!("{line}\n")).collect();
    lines(&unspool(&["stream"], input).clean())
}

fn tools() -> Value {
    serde_json::from_str(TOOLS).expect("JSON")
}

/// The kinds of the errors, and the messages' contents, in order.
fn outcome(out: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    out.iter()
        .filter_map(|line| match line.get("error") {
            Some(error) => {
                assert!(error["message"].is_string() && error["line"].is_u64(), "{error}");
                text(&error["kind"])
            }
            None => line.get("message").map(|message| text(&message["content"]).unwrap_or_default()),
        })
        .collect()
}

#[test]
fn a_reply_gives_its_events_and_its_message() {
    let out = stream(&[
        json!({"start": {"reasoning_parser": "qwen3", "tool_parser": "hermes", "tools": tools()}}),
        json!({"delta": {"text": "<think>\nWhich?\n</think>\n\nLooking.\n<tool_call>\n{\"name\": \"tide\", "}}),
        json!({"delta": {"text": "\"arguments\": {\"harbour\": \"Looe\"}}\n</tool_call>"}}),
        json!({"finish": "stop"}),
    ]);
    let events = out.iter().filter_map(|line| line["event"].as_object());
    let mut types: Vec<&str> = events.flat_map(|event| event.keys().map(String::as_str)).collect();
    types.dedup();
    assert_eq!(types, ["reasoning", "content", "call_start", "call_arguments", "call_end"]);
    let message = &out.last().expect("a message")["message"];
    assert_eq!((&message["reasoning"], &message["content"]), (&json!("Which?"), &json!("Looking.")));
    let call = &message["tool_calls"][0];
    assert_eq!((&call["name"], &call["arguments"]), (&json!("tide"), &json!("{\"harbour\": \"Looe\"}")));
    assert_eq!(message["finish_reason"], "tool_calls");
    let id = out.iter().find_map(|line| line["event"]["call_start"]["id"].as_str()).expect("an id");
    assert_eq!(call["id"], id);
}

#[test]
fn replies_follow_one_another() {
    let reply = |text: &str| [json!({"start": {}}), json!({"delta": {"text": text}}), json!({"finish": null})];
    let out = stream(&[reply("one"), reply("two"), reply("")].concat());
    assert_eq!(outcome(&out), ["one", "two", ""]);
}

#[test]
fn null_is_as_good_as_missing() {
    let fields = [
        "reasoning_parser",
        "tool_parser",
        "model_type",
        "tools",
        "request",
        "prompt",
        "prompt_tokens",
        "special_tokens",
        "hidden_special_tokens",
        "tokenizer_config",
        "vocab",
        "incomplete_calls",
    ];
    let start: serde_json::Map<String, Value> = fields.iter().map(|field| ((*field).to_owned(), Value::Null)).collect();
    let out = stream(&[
        json!({ "start": start }),
        json!({"delta": {"text": "a", "ids": null}}),
        json!({"delta": {"text": null}}),
        json!({"finish": null}),
    ]);
    assert_eq!(outcome(&out), ["a"]);
}

#[test]
fn ids_alone_are_enough_with_a_vocabulary() {
    let start = json!({"start": {
        "reasoning_parser": "qwen3",
        "special_tokens": {"<think>": 1, "</think>": 2},
        "prompt_tokens": [[7, "Hi"], [9, null, "c3"], [10, null, "a9"]],
        "vocab": {"1": "<think>", "2": "</think>", "3": "caf", "4": {"hex": "c3"}, "5": {"hex": "a9"}, "6": "ok"},
    }});
    let ids = |ids: &[u32]| json!({"delta": {"ids": ids}});
    let out = stream(&[start, ids(&[1, 3, 4]), ids(&[5]), ids(&[2, 6]), json!({"finish": "stop"})]);
    let message = &out.last().expect("a message")["message"];
    assert_eq!((&message["reasoning"], &message["content"]), (&json!("café"), &json!("ok")));
    assert_eq!((&message["reasoning_tokens"], &message["reasoning_end_token"]), (&json!(3), &json!(4)));
}

#[test]
fn a_refused_start_answers_once_and_the_next_works() {
    let refused = |start: Value| {
        let reply = [json!({ "start": start }), json!({"delta": {"text": "x"}}), json!({"finish": "stop"})];
        let next = [json!({"start": {}}), json!({"delta": {"text": "next"}}), json!({"finish": "stop"})];
        let out = stream(&[reply, next].concat());
        let outcome = outcome(&out);
        assert_eq!(outcome.get(1..), Some(&["next".to_owned()][..]), "{start}");
        (outcome[0].clone(), out[0]["error"]["hint"].as_str().unwrap_or_default().to_owned())
    };
    let (kind, hint) = refused(json!({"tool_parser": "qwen3-coder"}));
    assert!(kind == "unknown_name" && hint.contains("qwen3_coder"), "{kind}: {hint}");
    assert_eq!(
        refused(json!({"reasoning_parser": "k2_horizon", "request": {"reasoning_effort": "huge"}})).0,
        "request"
    );
    assert_eq!(refused(json!({"request": {"tool_choice": 5}})).0, "request");
    assert_eq!(refused(json!({"tools": [{"type": "function"}]})).0, "request");
    for (field, value) in [
        ("reasoning_parser", json!(5)),
        ("tools", json!(5)),
        ("request", json!([])),
        ("prompt", json!([])),
        ("prompt_tokens", json!([[1]])),
        ("special_tokens", json!({"<a>": -1})),
        ("hidden_special_tokens", json!("<a>")),
        ("vocab", json!({"1": {"hex": "0"}})),
        ("incomplete_calls", json!("keep")),
    ] {
        let (kind, hint) = refused(json!({ field: value }));
        assert!(kind == "bad_start" && hint.starts_with("it must be"), "{field}: {kind}: {hint}");
    }
    assert_eq!(refused(json!("qwen3")).0, "bad_start");
    assert_eq!(refused(Value::Null).0, "bad_start");
}

#[test]
fn lines_that_cannot_be_used_are_skipped() {
    let input = [
        &b"{\"delta\": {\"text\": \"early\"}}"[..],
        b"{\"finish\": \"stop\"}",
        b"{\"start\": {}}",
        b"not json",
        b"",
        b"[1]",
        b"\"\xff\"",
        b"{\"delta\": {\"text\": 5}}",
        b"{\"delta\": {\"ids\": [-1]}}",
        b"{\"delta\": {\"ids\": [5]}}",
        b"{\"finish\": \"later\"}",
        b"{\"start\": {}, \"finish\": \"stop\"}",
        b"{}",
        b"{\"delta\": {\"text\": \"kept\"}}",
        b"{\"finish\": \"length\"}",
    ]
    .join(&b'\n');
    let out = lines(&unspool(&["stream"], input).clean());
    let bad = ["bad_line"; 5];
    let expected: Vec<&str> = [&["not_started"; 2][..], &bad, &["no_vocab"], &["bad_line"; 3], &["kept"]].concat();
    assert_eq!(outcome(&out), expected);
    assert_eq!(out[2]["error"]["line"], 4);
}

#[test]
fn an_unknown_field_is_told_once() {
    let line = "{\"start\": {\"tool_parsr\": \"hermes\"}}\n{\"finish\": \"stop\"}\n";
    let run = unspool(&["stream"], line.repeat(2));
    assert_eq!(run.code, Some(0));
    assert_eq!(run.err.matches("warning").count(), 1, "{}", run.err);
    assert!(run.err.contains("did you mean `tool_parser`"), "{}", run.err);
    assert_eq!(outcome(&lines(&run.out)), ["", ""]);
}

#[test]
fn a_new_start_gives_up_the_open_reply() {
    let out = stream(&[
        json!({"start": {}}),
        json!({"delta": {"text": "old"}}),
        json!({"start": {}}),
        json!({"delta": {"text": "new"}}),
        json!({"finish": "stop"}),
    ]);
    assert_eq!(outcome(&out), ["new"]);
}

/// The next line is not sent before the answer to the last is there.
#[test]
fn answers_come_at_once() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_unspool"))
        .arg("stream")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut input = child.stdin.take().expect("a pipe");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let (sender, answers) = mpsc::channel();
    let reader = thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    writeln!(input, "{}", json!({"start": {}})).expect("the command reads");
    for word in ["one", "two", "three"] {
        writeln!(input, "{}", json!({"delta": {"text": word}})).expect("the command reads");
        let mut said = String::new();
        while said != word {
            let answer = answers.recv_timeout(Duration::from_secs(30)).unwrap_or_else(|_| {
                let _ = child.kill();
                panic!("the answer to {word:?} is {said:?}");
            });
            let event: Value = serde_json::from_str(&answer).expect("JSON");
            said.push_str(event["event"]["content"]["text"].as_str().expect("a text"));
        }
    }
    drop(input);
    assert!(child.wait().expect("the command ends").success());
    drop(answers);
    let _ = reader.join();
}

#[test]
fn limits_hold_for_all_replies_or_for_one() {
    let tools = r#"[{"type": "function", "function": {"name": "tide"}}]"#;
    let call = r#"<tool_call>{\"name\": \"tide\", \"arguments\": {}}</tool_call>"#;
    let reply = |limits: &str| {
        format!(
            "{{\"start\": {{\"tool_parser\": \"hermes\", \"tools\": {tools}{limits}}}}}\n\
             {{\"delta\": {{\"text\": \"{call}{call}\"}}}}\n{{\"finish\": \"stop\"}}\n"
        )
    };
    let calls = |arguments: &[&str], input: String| {
        let out = lines(&unspool(&[&["stream"], arguments].concat(), input).clean());
        let messages: Vec<usize> =
            out.iter().filter_map(|line| line["message"]["tool_calls"].as_array().map(Vec::len)).collect();
        messages
    };
    assert_eq!(calls(&[], reply("")), [2]);
    assert_eq!(
        calls(&["--limit", "calls=1", "--limit", "header=8KiB"], reply("") + &reply(", \"limits\": {\"calls\": 2}")),
        [1, 2]
    );
    let err = unspool(&["stream", "--limit", "cals=1"], "").refused();
    assert!(err.contains("no limit is named `cals`") && err.contains("hint: did you mean `calls`?"), "{err}");
    let out = lines(&unspool(&["stream"], reply(", \"limits\": {\"head\": \"much\"}")).clean());
    assert_eq!(out[0]["error"]["kind"], "bad_start");
    assert_eq!(out[0]["error"]["message"], "`start.limits`: `much` is no value for the limit `header`");
}

#[test]
fn the_tokens_of_a_named_model_are_checked() {
    let start = |model: &str, tokens: &str| {
        let start =
            format!("{{\"start\": {{\"reasoning_parser\": \"deepseek_r1\", {model} \"special_tokens\": {tokens}}}}}");
        unspool(&["stream"], start + "\n{\"finish\": \"stop\"}").clean()
    };
    let (some, all) = ("{\"<think>\": 1}", "{\"<think>\": 1, \"</think>\": 2}");
    let refused = lines(&start("\"model\": \"org/m\",", some));
    assert_eq!(refused[0]["error"]["kind"], "missing_tokens");
    assert_eq!(
        refused[0]["error"]["message"],
        "the tokenizer of org/m does not fit: --reasoning-parser deepseek_r1 needs the token `</think>`"
    );
    assert!(start("\"model\": \"org/m\",", all).contains("\"message\""));
    assert!(start("", some).contains("\"message\""), "a model that nobody names is not checked");
}

#[test]
fn checkpoints_without_a_template_and_odd_pairs_are_told() {
    let out = lines(&unspool(&["stream"], "{\"start\": {\"reasoning_parser\": \"beam\"}}").clean());
    assert_eq!(out[0]["error"]["kind"], "bad_checkpoint");
    let run = unspool(&["stream"], "{\"start\": {\"reasoning_parser\": \"qwen3\", \"tool_parser\": \"mistral\"}}");
    assert_eq!(run.code, Some(0));
    assert!(
        run.err.starts_with("warning: --reasoning-parser qwen3 expects calls that begin with `<tool_call>`"),
        "{}",
        run.err
    );
    assert!(run.err.contains("\n  hint: tool-call parsers that go with qwen3: "), "{}", run.err);
}

#[test]
fn neighbours_of_a_kind_that_one_delta_brings_are_one_line() {
    let text =
        format!("<tool_call>\n<function=tide>\n<parameter=harbour>\n{}\n</parameter>\n", "x\n\u{1}".repeat(100_000));
    let out = stream(&[
        json!({"start": {"tool_parser": "qwen3_coder", "tools": tools()}}),
        json!({"delta": {"text": text}}),
        json!({"delta": {"text": "</function>\n</tool_call>"}}),
        json!({"finish": "stop"}),
    ]);
    assert!(out.len() < 10, "{} lines", out.len());
    let written: usize = out.iter().filter(|line| line.get("event").is_some()).map(|line| line.to_string().len()).sum();
    // Each escape has a backslash, which stands in a JSON text again.
    assert!(written < 5 * text.len(), "{written} bytes for {}", text.len());
}

#[test]
fn a_line_that_is_too_long_is_told_and_the_next_one_works() {
    let delta = |text: &str| json!({"delta": {"text": text}}).to_string();
    let input =
        [json!({"start": {}}).to_string(), delta(&"x".repeat(200)), delta("short"), "{\"finish\": null}".to_owned()];
    for jobs in ["1", "3"] {
        let run = unspool(&["stream", "--max-line-size", "100", "--jobs", jobs], input.join("\n"));
        let out = lines(&run.clean());
        assert_eq!(outcome(&out), ["bad_line", "short"], "{jobs}");
        assert_eq!(out[0]["error"]["line"], 2);
    }
}

#[test]
fn several_jobs_answer_the_same_in_the_same_order() {
    let mut input = vec![json!({"delta": {"text": "no start"}}), json!(1)];
    for number in 0..200 {
        let parser = if number % 7 == 0 { "nothing" } else { "qwen3" };
        input.push(json!({"start": {"reasoning_parser": parser}}));
        input.push(json!({"delta": {"text": format!("<think>{number}</think>")}}));
        input.push(json!({"delta": {"text": "x".repeat(number)}}));
        if number % 5 != 0 {
            input.push(json!({"finish": "stop"}));
        }
        input.push(json!({"finish": "stop"}));
    }
    let text: String = input.iter().map(|line| format!("{line}\n")).collect();
    let one = unspool(&["stream"], &text).clean();
    assert!(one.lines().count() > 500);
    assert_eq!(unspool(&["stream", "--jobs", "4"], &text).clean(), one);
}

/// What lies in the input together is answered together, and no answer waits for more input.
#[test]
fn an_answer_does_not_wait_for_more_input() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_unspool"))
        .arg("stream")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let together = format!("{}\n{}\n{{\"del", json!({"start": {}}), json!({"delta": {"text": "one"}}));
    input.write_all(together.as_bytes()).expect("the command reads");
    let mut answer = String::new();
    output.read_line(&mut answer).expect("an answer");
    assert!(answer.contains("one"), "{answer}");
    input.write_all(b"ta\": {\"text\": \"two\"}}\n").expect("the command reads");
    answer.clear();
    output.read_line(&mut answer).expect("an answer");
    assert!(answer.contains("two"), "{answer}");
    drop(input);
    assert!(child.wait().expect("the command ends").success());
}

#[test]
fn events_and_calls_say_where_they_stand() {
    let start = json!({"start": {"reasoning_parser": "qwen3", "tool_parser": "hermes",
        "tools": [{"type": "function", "function": {"name": "tide"}}]}});
    let pieces = [
        "<think>",
        "Low?",
        "</think>",
        "It is ",
        "low.",
        "<tool_call>{\"name\": \"tide\", ",
        "\"arguments\": {}}",
        "</tool_call>",
    ];
    let mut lines = vec![start.to_string()];
    lines
        .extend(pieces.iter().zip(1_u32..).map(|(text, id)| json!({"delta": {"text": text, "ids": [id]}}).to_string()));
    lines.push(json!({"finish": "stop"}).to_string());
    let out = unspool(&["stream"], &(lines.join("\n") + "\n")).clean();
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let text = pieces.concat();
    let at = |place: &Value, key: &str| {
        let edge = |i: usize| usize::try_from(place[key][i].as_u64().expect("a number")).expect("small");
        edge(0)..edge(1)
    };
    let mut seen = Vec::new();
    for event in answers.iter().filter_map(|answer| answer["event"].as_object()) {
        let (kind, place) = event.iter().next().expect("one kind");
        seen.push((kind.as_str(), &text[at(place, "span")], pieces[at(place, "tokens")].concat()));
    }
    let call = text[text.find("<tool_call>").expect("a call")..].strip_suffix("</tool_call>").expect("its closer");
    assert_eq!(seen[0], ("reasoning", "Low?", "Low?".to_owned()));
    let content: String = seen.iter().filter(|(kind, ..)| *kind == "content").map(|(_, text, _)| *text).collect();
    assert_eq!(content, "It is low.");
    let end = seen.iter().find(|(kind, ..)| *kind == "call_end").expect("an end");
    assert_eq!((end.1, end.2.as_str()), (call, call));
    let message = &answers.last().expect("a message")["message"]["tool_calls"][0];
    assert_eq!((&text[at(message, "span")], pieces[at(message, "tokens")].concat().as_str()), (call, call));
}
