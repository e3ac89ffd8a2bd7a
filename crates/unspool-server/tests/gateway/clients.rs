//! Stock clients against the gateway: the `openai` and `anthropic` Python packages, and the Vercel AI SDK.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::Command;

use unspool_server::ServeConfig;

use crate::common::{Gateway, WIRES, pair};

/// Set: a client that cannot be installed is a failure, no skip.
const MUST_RUN: &str = "UNSPOOL_REQUIRE_CLIENTS";

/// A Python package, at a version that is known to work.
#[derive(Clone, Copy)]
struct Package {
    name: &'static str,
    version: &'static str,
}

const OPENAI: Package = Package { name: "openai", version: "openai==2.*" };
const ANTHROPIC: Package = Package { name: "anthropic", version: "anthropic==2.*" };

/// Where clients are installed, once for a target folder.
fn installed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

/// Runs a command; what it says if it fails.
fn done(command: &mut Command) -> Result<(), String> {
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(format!("{:?}: {error}", command.get_program())),
    }
}

impl Package {
    /// A Python that has the package.
    fn python(self) -> Result<PathBuf, String> {
        let folder = installed(&format!("{}-client", self.name));
        let python = folder.join("bin").join("python");
        let import = format!("import {}", self.name);
        if done(Command::new(&python).args(["-c", &import])).is_ok() {
            return Ok(python);
        }
        done(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", self.version];
        done(Command::new(&python).args(install))?;
        Ok(python)
    }

    /// Runs a script of `tests/clients`.
    async fn run(self, name: &'static str, path: &str) {
        let command = move || {
            let mut command = Command::new(self.python()?);
            command.arg(script(name));
            Ok(command)
        };
        talk(self.name, command, path).await;
    }
}

/// Node with the packages of `tests/clients/package.json`, exactly as its lock file names them, and the script.
fn ai_sdk() -> Result<Command, String> {
    let folder = installed("ai-sdk");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let same = |file: &str| {
        let [wanted, there] = [script(file), folder.join(file)].map(|path| std::fs::read(path).ok());
        wanted.is_some() && wanted == there
    };
    let files = ["package.json", "package-lock.json"];
    // npm writes this file when it is done.
    if !files.into_iter().all(same) || !folder.join("node_modules/.package-lock.json").exists() {
        for file in files {
            std::fs::copy(script(file), folder.join(file)).map_err(|error| error.to_string())?;
        }
        let flags = ["ci", "--no-audit", "--no-fund", "--ignore-scripts"];
        done(Command::new("npm").args(flags).current_dir(&folder))?;
    }
    let mut command = Command::new("node");
    command.arg(script("ai_client.mjs")).arg(&folder);
    Ok(command)
}

/// Has a client talk to a gateway for each of the recorded formats. One that cannot be installed is passed over, loudly.
async fn talk(name: &str, command: impl FnOnce() -> Result<Command, String> + Send + 'static, path: &str) {
    let command = tokio::task::spawn_blocking(command).await.expect("installing does not panic");
    let mut command = match command {
        Ok(command) => command,
        Err(why) => {
            assert!(std::env::var_os(MUST_RUN).is_none(), "`{name}` cannot be installed: {why}");
            eprintln!("SKIPPED: `{name}` cannot be installed, so this REAL CLIENT was NOT tested:\n{why}");
            return;
        }
    };
    command.args(["--api-key", "sesame"]).env("NO_PROXY", "127.0.0.1");
    let mut gateways = Vec::new();
    for (reasoning, tools, _) in WIRES {
        let config = ServeConfig { api_key: vec!["sesame".into()], ..pair(reasoning, tools) };
        let gateway = Gateway::start(config).await;
        command.arg(format!("{}{path}", gateway.base));
        gateways.push(gateway);
    }
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("running does not panic");
    let output = output.expect("the client starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("all is well"), "{WIRES:?}\n{out}\n{err}");
    for gateway in gateways {
        gateway.stop().await;
    }
}

/// One test for both APIs, so that the package is installed once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_openai_client_reads_chat_answers_and_responses() {
    OPENAI.run("openai_client.py", "/v1").await;
    OPENAI.run("responses_client.py", "/v1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_anthropic_client_reads_messages() {
    ANTHROPIC.run("anthropic_client.py", "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vercel_ai_sdk_talks_over_every_api() {
    talk("ai", ai_sdk, "").await;
}
