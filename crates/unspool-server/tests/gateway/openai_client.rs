//! The stock `openai` Python client against the gateway.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::Command;

use unspool_server::ServeConfig;

use crate::common::{Gateway, WIRES, pair};

/// The package, at a version that is known to work.
const PACKAGE: &str = "openai==2.*";
/// Set: a client that cannot be installed is a failure, no skip.
const MUST_RUN: &str = "UNSPOOL_REQUIRE_CLIENTS";

/// A Python that has the package; installed once for a target folder.
fn python() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("openai-client");
    let python = folder.join("bin").join("python");
    if Command::new(&python).args(["-c", "import openai"]).output().is_ok_and(|output| output.status.success()) {
        return Ok(python);
    }
    let run = |command: &mut Command| match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(error.to_string()),
    };
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE]))?;
    Ok(python)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stock_client_reads_thoughts_content_and_parallel_calls() {
    let installed = tokio::task::spawn_blocking(python).await.expect("installing does not panic");
    let python = match installed {
        Ok(python) => python,
        Err(why) => {
            assert!(std::env::var_os(MUST_RUN).is_none(), "the `openai` package cannot be installed: {why}");
            eprintln!("SKIPPED: the `openai` package cannot be installed, so NO REAL CLIENT was tested:\n{why}");
            return;
        }
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/openai_client.py");
    let mut command = Command::new(&python);
    command.arg(&script).args(["--api-key", "sesame"]).env("NO_PROXY", "127.0.0.1");
    let mut gateways = Vec::new();
    for (reasoning, tools, _) in WIRES {
        let gateway = Gateway::start(ServeConfig { api_key: vec!["sesame".into()], ..pair(reasoning, tools) }).await;
        command.arg(format!("{}/v1", gateway.base));
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
