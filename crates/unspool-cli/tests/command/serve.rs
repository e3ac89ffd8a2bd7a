//! `unspool serve`, from outside: it says where it listens, answers, and refuses settings that cannot work.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::{TempFile, unspool};

/// A gateway that ends with its test.
pub(crate) struct Gateway {
    child: Child,
    address: String,
}

impl Gateway {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::telling(&[&["--log", "off"], arguments].concat(), Stdio::inherit())
    }

    /// With its standard error somewhere else.
    pub(crate) fn telling(arguments: &[&str], errors: Stdio) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_unspool"))
            .args(["serve", "--port", "0", "--mock-rate", "0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .expect("the command starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("listening on http://").expect("an address").to_owned();
        Self { child, address }
    }

    /// The body of the answer to a chat request.
    fn chat(&self, body: &str) -> Value {
        self.ask("POST /v1/chat/completions", body)
    }

    /// The body of the answer to a request with a key.
    pub(crate) fn ask(&self, what: &str, body: &str) -> Value {
        self.ask_with_key(what, body, "sesame-street")
    }

    /// The body of the answer to a request with this key.
    pub(crate) fn ask_with_key(&self, what: &str, body: &str, key: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).expect("the gateway listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        let head = "HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json";
        write!(stream, "{what} {head}\r\nauthorization: Bearer {key}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
            .expect("the gateway reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the gateway answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    /// Ends it and returns its output.
    pub(crate) fn told(mut self) -> String {
        let mut errors = self.child.stderr.take().expect("a pipe");
        let _ = self.child.kill();
        let mut told = String::new();
        errors.read_to_string(&mut told).expect("it is text");
        told
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_mock_backend_answers_a_chat() {
    let names = ["--reasoning-parser", "qwen3", "--tool-call-parser", "qwen3_coder", "--enable-auto-tool-choice"];
    let gateway = Gateway::start(&names);
    let answer = gateway.chat(r#"{"model": "any", "seed": 1, "messages": [{"role": "user", "content": "Hello"}]}"#);
    let message = &answer["choices"][0]["message"];
    let text = |field: &str| message[field].as_str().unwrap_or_default();
    assert!(!text("reasoning").is_empty() && !text("content").is_empty(), "{answer}");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let refused = |arguments: &[&str]| unspool(&[&["serve", "--port", "0"], arguments].concat(), "").refused();
    let err = refused(&["--tool-call-parser", "qwen3-coder"]);
    assert!(err.contains("`qwen3-coder`") && err.contains("  hint: did you mean `qwen3_coder`"), "{err}");
    let err = refused(&["--enable-auto-tool-choice"]);
    assert!(err.contains("--tool-call-parser") && err.contains("  hint: "), "{err}");
    let err = refused(&["--tool-parser-plugin", "no/such/format.toml"]);
    assert!(err.contains("no/such/format.toml"), "{err}");
    let err = refused(&["--backend", "magic"]);
    assert!(["mock", "replay:FILE", "vllm:URL", "tgi:URL"].iter().all(|kind| err.contains(kind)), "{err}");
    let err = refused(&["--model-dir", "no/such/model"]);
    assert!(err.contains("no/such/model") && err.contains("  hint: "), "{err}");
}

#[test]
fn a_log_holds_nothing_that_users_and_models_say_and_no_keys() {
    let recording = TempFile::new(
        "said.jsonl",
        "{\"text\": \"<think>wombat-thought</think>wombat-answer <tool_call>{\\\"name\\\": \
        \\\"wombat-call\\\", \\\"arguments\\\": {\\\"x\\\" wombat-fault</tool_call>\"}\n",
    );
    let backend = format!("replay:{}", recording.path());
    for format in ["text", "json"] {
        let arguments = [
            "--log",
            "trace",
            "--log-format",
            format,
            "--backend",
            &backend,
            "--api-key",
            "sesame-street",
            "--backend-api-key",
            "sesame-lane",
            "--reasoning-parser",
            "qwen3",
            "--tool-call-parser",
            "hermes",
            "--enable-auto-tool-choice",
        ];
        let gateway = Gateway::telling(&arguments, Stdio::piped());
        let request = r#"{"model": "wombat-model", "messages": [{"role": "user", "content": "wombat-prompt"}], "tools":
            [{"type": "function", "function": {"name": "wombat-tool"}}]}"#;
        let answer = gateway.chat(request).to_string();
        assert!(answer.contains("wombat-thought") && answer.contains("wombat-call"), "{answer}");
        gateway.ask("POST /v1/messages", r#"{"model": "m", "messages": [{"role": "wombat"}], "max_tokens": 9}"#);
        gateway.ask("POST /v1/responses", r#"{"model": "m", "input": "wombat-prompt"}"#);
        gateway.ask("POST /v1/chat/completions", "{\"wombat\": ");
        let told = gateway.told();
        assert!(told.contains("/v1/chat/completions"), "requests are told: {told}");
        for word in ["wombat", "sesame"] {
            assert!(!told.contains(word), "{told}");
        }
        for line in told.lines().filter(|_| format == "json") {
            let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(line["level"].is_string() && line["timestamp"].is_string(), "{line}");
        }
    }
}

#[test]
fn arguments_in_a_conversation_that_are_no_object_leave_a_line_in_the_log() {
    let gateway = Gateway::telling(&["--log", "warn"], Stdio::piped());
    let call = |arguments: &str| {
        let messages = serde_json::json!([{"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "wombat", "arguments": arguments}}]}]);
        serde_json::json!({"messages": messages}).to_string()
    };
    for arguments in ["{}", "", " {\"a\": 1}"] {
        assert_eq!(gateway.chat(&call(arguments))["object"], "chat.completion");
    }
    gateway.chat(&call("{\"harbour\": \"Loo"));
    let told = gateway.told();
    assert_eq!(told.matches("arguments that are no JSON object").count(), 1, "{told}");
    assert!(told.contains("index=1") && !told.contains("wombat") && !told.contains("Loo"), "{told}");
}

/// The most memory that a process had, in bytes.
#[cfg(target_os = "linux")]
fn peak(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

/// A gateway that the system gives 1 GiB of address space.
#[cfg(target_os = "linux")]
fn small_gateway() -> Gateway {
    let shell = "ulimit -v 1048576; exec \"$0\" \"$@\"";
    let mut child = Command::new("sh")
        .args(["-c", shell, env!("CARGO_BIN_EXE_unspool"), "serve", "--port", "0", "--mock-rate", "0", "--log", "off"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the shell starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let address = line.trim().strip_prefix("listening on http://").expect("an address").to_owned();
    Gateway { child, address }
}

#[test]
#[cfg(target_os = "linux")]
fn bodies_do_not_multiply_in_memory_and_a_small_process_lives() {
    let small = r#"{"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}"#;
    let size = 15 << 20;
    let filled = |front: &str, item: &str, back: &str| {
        let items = vec![item; (size - front.len() - back.len()) / (item.len() + 1)].join(",");
        format!("{front}{items}{back}")
    };
    let refused = [
        filled("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"x\":[", "0", "]}"),
        filled("{\"messages\":[", "{}", "]}"),
        filled("{\"messages\":[{\"role\":\"user\",\"content\":[", "{}", "]}]}"),
        filled("{\"tools\":[", "{}", "]}"),
        filled("{\"tools\":[{\"function\":{\"parameters\":{\"enum\":[", "1", "]}}}]}"),
        filled("{\"messages\":[{\"content\":", "[", ""),
    ];
    let gateway = small_gateway();
    for body in &refused {
        let told = gateway.chat(body);
        assert_eq!(told["error"]["code"], 400, "{told}");
    }
    assert_eq!(gateway.chat(small)["object"], "chat.completion", "it lives");
    let long = format!(
        "{{\"messages\":[{{\"role\":\"user\",\"content\":\"{}\"}}],\"max_tokens\":1}}",
        "a b ".repeat(size / 4)
    );
    // What the allocator keeps of earlier requests is not this one's, so each begins with a new process.
    for (body, object) in [(&long, "chat.completion")].into_iter().chain(refused.iter().map(|body| (body, ""))) {
        let gateway = small_gateway();
        assert_eq!(gateway.chat(small)["object"], "chat.completion");
        let before = peak(gateway.child.id());
        assert_eq!(gateway.chat(body)["object"].as_str().unwrap_or_default(), object);
        let more = peak(gateway.child.id()) - before;
        assert!(more < 4 * body.len(), "{more} bytes for a body of {}: {}", body.len(), &body[..50]);
    }
}

#[test]
fn the_log_says_what_it_serves_and_has_a_line_for_each_request() {
    let gateway = Gateway::telling(&["--reasoning-parser", "qwen3"], Stdio::piped());
    let answer = gateway.chat(r#"{"model": "any", "seed": 1, "messages": [{"role": "user", "content": "wombat"}]}"#);
    assert!(answer["choices"].is_array(), "{answer}");
    gateway.chat(r#"{"messages": [{"role": "user", "content": "wombat"}], "temperature": -1}"#);
    // The line is written when the answer is over.
    std::thread::sleep(Duration::from_millis(300));
    let told = gateway.told();
    for part in ["/docs", "formats: reasoning `qwen3`, tool calls none", "prompts: "] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("path=\"/v1/chat/completions\"")).collect();
    assert_eq!(lines.len(), 2, "{told}");
    for part in
        ["method=POST", "status=200", "prompt_tokens=", "completion_tokens=", "first_ms=", "duration_ms=", "finish="]
    {
        assert!(lines[0].contains(part), "{part}: {}", lines[0]);
    }
    assert!(
        lines[1].contains("status=400") && lines[1].contains("reason=\"BadRequestError temperature\""),
        "{}",
        lines[1]
    );
    assert!(!told.contains("wombat"), "{told}");
}
