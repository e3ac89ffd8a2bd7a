//! `unspool diagnose`: what it prints, its exit codes, and the server of `--url`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};

use crate::{TOOLS, TempFile, unspool};

const CALL: &str =
    "<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"harbour\": \"Looe\", \"days\": 3}}\n</tool_call>";

fn diagnosed(arguments: &[&str], input: &str) -> (Option<i32>, Value) {
    let run = unspool(&[&["diagnose", "--json"], arguments].concat(), input);
    let report = serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}{}", run.out, run.err));
    (run.code, report)
}

#[test]
fn a_diagnosis_has_its_shape() {
    let tools = TempFile::new("tools.json", TOOLS);
    let (code, report) = diagnosed(&["--tools", tools.path(), "--tool-call-parser", "mistral"], CALL);
    assert_eq!(code, Some(1), "{report:#}");
    assert_eq!(report["input"], json!({"kind": "raw", "outputs": 1}));
    let keys =
        |value: &Value| value.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    assert_eq!(keys(&report), ["input", "checks", "ranking", "verdict"]);
    let checks: Vec<&str> =
        report["checks"].as_array().into_iter().flatten().filter_map(|c| c["check"].as_str()).collect();
    let all = [
        "flags",
        "names",
        "template",
        "pair",
        "streaming",
        "finish_reason",
        "raw_text",
        "special_tokens",
        "code_points",
    ];
    assert_eq!(checks, all);
    let raw_text = &report["checks"][6];
    assert_eq!(keys(raw_text), ["check", "result", "message", "evidence"]);
    assert_eq!(
        (&raw_text["result"], keys(&raw_text["evidence"][0])),
        (&json!("fail"), ["where", "offset", "line", "text"].map(str::to_owned).to_vec())
    );
    let best = &report["ranking"][0];
    let wanted = ["reasoning_parser", "tool_call_parser", "calls", "valid_calls", "repairs", "markup_left", "rank"];
    assert_eq!(
        (keys(best), &best["valid_calls"], &best["rank"]),
        (wanted.map(str::to_owned).to_vec(), &json!(1), &json!(1))
    );
    assert_eq!(keys(&report["verdict"]), ["kind", "message", "flags", "hint"]);
    assert_eq!(report["verdict"]["kind"], "wrong_parser");
    assert_eq!(report["verdict"]["flags"], json!(["--enable-auto-tool-choice", "--tool-call-parser hermes"]));
}

#[test]
fn the_exit_code_says_what_was_found() {
    let tools = TempFile::new("tools.json", TOOLS);
    let with = |names: &[&str], input: &str| unspool(&[&["diagnose", "--tools", tools.path()], names].concat(), input);
    let run = with(&["--tool-call-parser", "hermes"], CALL);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("input     raw output, 1 output\n") && run.out.contains("verdict   ok: "), "{}", run.out);
    let run = with(&["--tool-call-parser", "mistral"], CALL);
    assert_eq!(run.code, Some(1));
    assert!(
        run.out.contains("fail  raw text: ")
            && run.out.contains("flags     --enable-auto-tool-choice --tool-call-parser hermes"),
        "{}",
        run.out
    );
    assert!(run.out.contains("  1   ernie45, exaone4, granite4, hermes"), "a tie stands in one line: {}", run.out);
    let run = with(&["--tool-call-parser", "hermes"], "Noon.");
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(run.out.contains("verdict   no call: the model did not call"), "{}", run.out);
    assert!(with(&[], "").refused().contains("the input is empty"));
    assert!(with(&[], "{\"error\": {\"message\": \"no such model\"}}").refused().contains("no such model"));
    assert!(unspool(&["diagnose", "no/such/file"], "").refused().contains("no/such/file"));
    assert!(unspool(&["diagnose", "--tool-call-parser", "auto"], CALL).refused().contains("--model-dir"));
}

#[test]
fn a_template_and_a_line_of_flags_are_read() {
    let template = TempFile::new(
        "chat_template.jinja",
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}{{ '<tool_call>\\n{\"name\": \"' + c.function.name + '\", \"arguments\": ' }}{{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}<|im_end|>\n{% endfor %}{{ tools }}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    );
    let (code, report) = diagnosed(&["--model-dir", template.path(), "--tool-call-parser", "auto"], CALL);
    assert_eq!((code, &report["checks"][2]["result"]), (Some(0), &json!("pass")), "{report:#}");
    let line = "vllm serve Qwen/Qwen2.5-7B-Instruct --tool-call-parser mistral --enable-auto-tool-choice";
    let (code, report) = diagnosed(&["--model-dir", template.path(), "--serve-args", line], CALL);
    assert_eq!((code, &report["verdict"]["kind"]), (Some(1), &json!("wrong_parser")), "{report:#}");
    assert_eq!(report["checks"][1]["result"], "fail", "{report:#}");
}

/// A server that answers each path with a body; gives its address.
fn server(answers: &'static [(&'static str, &'static str)]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, answers);
        }
    });
    address
}

fn answer(mut stream: TcpStream, answers: &[(&str, &str)]) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let (mut first, mut length) = (String::new(), 0);
    let _ = reader.read_line(&mut first);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let streamed = String::from_utf8_lossy(&body).contains("\"stream\":true");
    let path = first.split_whitespace().nth(1).unwrap_or_default();
    let key = if streamed { "stream" } else { path };
    let (status, text) = match answers.iter().find(|(known, _)| *known == key) {
        Some((_, text)) => ("200 OK", *text),
        None => ("404 Not Found", "{}"),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", text.len());
    let _ = stream.write_all((head + text).as_bytes());
}

#[test]
fn a_server_is_asked_in_every_way() {
    let address = server(&[
        ("/v1/models", r#"{"data": [{"id": "Qwen/Qwen3-8B"}]}"#),
        ("/version", r#"{"version": "0.32.0"}"#),
        ("/tokenize", r#"{"tokens": [1, 2]}"#),
        ("/detokenize", r#"{"prompt": "<|im_start|>assistant\n"}"#),
        (
            "/v1/completions",
            r#"{"choices": [{"text": "<think>\nHm.\n</think>\n\n<tool_call>\n{\"name\": \"tide_table\", \"arguments\": {\"harbour\": \"Whitby\"}}\n</tool_call>"}]}"#,
        ),
        (
            "/v1/chat/completions",
            r#"{"model": "Qwen/Qwen3-8B", "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "<tool_call>\n{\"name\": \"tide_table\", \"arguments\": {\"harbour\": \"Whitby\"}}\n</tool_call>", "reasoning": "Hm."}}]}"#,
        ),
        (
            "stream",
            "data: {\"choices\": [{\"index\": 0, \"delta\": {\"reasoning\": \"Hm.\", \"content\": \"<tool_call>\"}, \"finish_reason\": null}]}\n\ndata: [DONE]\n\n",
        ),
    ]);
    let names = ["--url", &address, "--reasoning-parser", "qwen3", "--tool-call-parser", "mistral"];
    let (code, report) = diagnosed(&names, "");
    assert_eq!((code, &report["verdict"]["kind"]), (Some(1), &json!("wrong_parser")), "{report:#}");
    assert_eq!(report["verdict"]["flags"][2], "--tool-call-parser qwen3_json", "{report:#}");
    assert_eq!((&report["checks"][4]["check"], &report["checks"][4]["result"]), (&json!("streaming"), &json!("fail")));
    let told = unspool(&["diagnose", "--url", "http://127.0.0.1:1"], "").refused();
    assert!(told.contains("--url") && told.contains("/v1/models"), "{told}");
    let told = unspool(&["diagnose", "--url", &server(&[])], "").refused();
    assert!(told.contains("404"), "{told}");
}
