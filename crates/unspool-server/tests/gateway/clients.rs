//! The stock `openai` and `anthropic` Python clients against the gateway.
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

impl Package {
    /// A Python that has the package; installed once for a target folder.
    fn python(&self) -> Result<PathBuf, String> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-client", self.name));
        let python = folder.join("bin").join("python");
        let import = format!("import {}", self.name);
        if Command::new(&python).args(["-c", &import]).output().is_ok_and(|output| output.status.success()) {
            return Ok(python);
        }
        let run = |command: &mut Command| match command.output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Err(error.to_string()),
        };
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", self.version];
        run(Command::new(&python).args(install))?;
        Ok(python)
    }

    /// Runs a script of `tests/clients` against a gateway for each of the recorded formats.
    async fn run(self, script: &str, path: &str) {
        let name = self.name;
        let installed = tokio::task::spawn_blocking(move || self.python()).await.expect("installing does not panic");
        let python = match installed {
            Ok(python) => python,
            Err(why) => {
                assert!(std::env::var_os(MUST_RUN).is_none(), "the `{name}` package cannot be installed: {why}");
                eprintln!("SKIPPED: the `{name}` package cannot be installed, so NO REAL CLIENT was tested:\n{why}");
                return;
            }
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(script);
        let mut command = Command::new(&python);
        command.arg(&script).args(["--api-key", "sesame"]).env("NO_PROXY", "127.0.0.1");
        let mut gateways = Vec::new();
        for (reasoning, tools, _) in WIRES {
            let config = ServeConfig { api_key: vec!["sesame".into()], ..pair(reasoning, tools) };
            let gateway = Gateway::start(config).await;
            command.arg(format!("{}{path}", gateway.base));
            gateways.push(gateway);
        }
        let output = tokio::task::spawn_blocking(move || command.output()).await.expect("running does not panic");
        let output = output.expect("Python starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && out.contains("all is well"), "{WIRES:?}\n{out}\n{err}");
        for gateway in gateways {
            gateway.stop().await;
        }
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
