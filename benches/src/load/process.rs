//! A server in a process of its own, and what the system says about it.

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// Clock ticks a second; the same on every Linux that Rust runs on.
const TICKS: f64 = 100.0;

/// A running server; it is killed when this is dropped.
pub struct Server {
    child: Child,
    pub base: String,
}

impl Server {
    pub fn start(role: &str, argument: &str) -> Result<Self, Box<dyn Error>> {
        let mut child =
            Command::new(std::env::current_exe()?).args(["serve", role, argument]).stdout(Stdio::piped()).spawn()?;
        let mut base = String::new();
        let out = child.stdout.take().ok_or("the server has no output")?;
        BufReader::new(out).read_line(&mut base)?;
        let base = base.trim().to_owned();
        if base.is_empty() { Err(format!("the {role} did not start").into()) } else { Ok(Self { child, base }) }
    }

    /// Seconds of processor time so far.
    pub fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        // The name in brackets may hold spaces; behind it come the fields from the third on.
        let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        (ticks(11) + ticks(12)) / TICKS
    }

    /// Memory that it holds now, in KiB.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
