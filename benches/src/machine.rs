//! What the machine is, and what it was doing.

use std::fs;
use std::process::Command;

/// The day, the processor and the commit.
pub(crate) fn described() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown processor", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let (day, commit) = (said("date", &["-u", "+%F"]), said("git", &["rev-parse", "--short", "HEAD"]));
    let compiler = said("rustc", &["--version"]);
    format!("{day}, commit {commit}, {model}, {cores} cores, {compiler}")
}

/// The load average of the last minute; how many programs wanted to run.
pub(crate) fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().filter(|first| !first.is_empty()).unwrap_or("unknown").to_owned()
}

/// The first line that a command prints.
fn said(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output().ok().filter(|o| o.status.success());
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").trim().to_owned()
}
