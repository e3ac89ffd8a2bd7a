//! The command from outside: what it prints, and how it fails.

mod config_file;
mod corpus;
mod diagnose;
mod failures;
mod formats;
mod grammar;
mod kit;
mod parse;
mod serve;
mod stream;
mod template_check;
mod templates;
mod usage;
mod whole;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use serde_json::Value;

/// What one run of the command gave.
struct Run {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs the command with some standard input.
fn unspool(arguments: &[&str], input: impl AsRef<[u8]>) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_unspool"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.as_ref().to_vec();
    // A command that refuses its options never reads; that is no failure of the test.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the command ends");
    writer.join().expect("the writer ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the command writes UTF-8");
    Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

impl Run {
    /// Standard output of a run that must have gone well and said nothing else.
    fn clean(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        self.out
    }

    /// Standard output of a run that must have gone well, and said nothing else but warnings.
    fn warned(self) -> String {
        let fine = self.err.lines().all(|line| line.starts_with("warning: ") || line.starts_with("  hint: "));
        assert!(self.code == Some(0) && fine, "{}", self.err);
        self.out
    }

    /// Standard error of a run whose command line was wrong.
    fn refused(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (Some(2), ""), "{}", self.err);
        self.err
    }
}

/// Standard output as JSON Lines.
fn lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// A file for one test, gone when the test is over.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str, text: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = folder.join(format!("{}-{number}-{name}", std::process::id()));
        fs::write(&path, text).expect("a temporary file");
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A list of tools with one function, `tide(harbour: string, days: integer)`.
const TOOLS: &str = r#"[{"type": "function", "function": {"name": "tide", "parameters": {"type": "object", "properties":
    {"harbour": {"type": "string"}, "days": {"type": "integer"}}}}}]"#;
