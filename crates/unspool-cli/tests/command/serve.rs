//! `unspool serve`, from outside: it says where it listens, answers, and refuses settings that cannot work.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::unspool;

/// A gateway that ends with its test.
struct Gateway {
    child: Child,
    address: String,
}

impl Gateway {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_unspool"))
            .args(["serve", "--port", "0", "--log", "off", "--mock-rate", "0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("listening on http://").expect("an address").to_owned();
        Self { child, address }
    }

    /// The body of the answer to a chat request.
    fn chat(&self, body: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).expect("the gateway listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
            content-type: application/json";
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).expect("the gateway reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the gateway answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
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
