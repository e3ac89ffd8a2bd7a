//! The other side of a [`Sandbox`](crate::Sandbox): a process that renders one template and ends.

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::error::TextError;
use crate::prompter::Job;
use crate::sandbox::{self, SandboxLimits, TELL_LINES};
use crate::template::ChatTemplate;

/// Interval between checks of time and memory.
const GLANCE: Duration = Duration::from_millis(3);
/// Memory for the process beyond the template's limit: threads' stacks, and freed memory that is not returned.
#[cfg(unix)]
const ROOM: u64 = 192 << 20;

/// Runs a worker, in a program whose first argument is [`ARGUMENT`](sandbox::ARGUMENT); `arguments` are the following
/// ones. The job comes on standard input, the answer goes to standard output.
pub fn run(arguments: impl IntoIterator<Item = String>) -> ExitCode {
    let arguments: Vec<String> = arguments.into_iter().collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(time), Some(memory)) = (number(0), number(1)) else { return ExitCode::from(2) };
    let limits = SandboxLimits { time: Duration::from_millis(time), memory };
    let tells = arguments.get(2).is_some_and(|word| word == TELL_LINES);
    let mut job = Vec::new();
    if io::stdin().read_to_end(&mut job).is_err() {
        return ExitCode::from(2);
    }
    confine(limits);
    let line = Arc::new(AtomicU32::new(0));
    let (done, answer) = mpsc::channel();
    let own = Arc::clone(&line);
    let rendering = std::thread::Builder::new().spawn(move || {
        // The receiver lives as long as the process.
        let _ = done.send(render(&job, &own, tells));
    });
    let answer = match rendering {
        Ok(_) => watch(&answer, &line, limits),
        Err(error) => Err(TextError::new(format!("no thread can be started: {error}"))),
    };
    let text = serde_json::to_vec(&answer).unwrap_or_default();
    match io::stdout().write_all(&text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(2),
    }
}

fn render(job: &[u8], line: &Arc<AtomicU32>, tells: bool) -> Result<String, TextError> {
    let job: Job =
        serde_json::from_slice(job).map_err(|error| TextError::new(format!("this is no job of a worker: {error}")))?;
    let line = Arc::clone(line);
    let template = ChatTemplate::traced(&job.template, move |now| {
        let before = line.swap(now, Ordering::Relaxed);
        if tells && before != now {
            // A missing reader is no reason to stop.
            let _ = writeln!(io::stderr(), "{now}");
        }
    })?;
    job.prompt(&template)
}

/// The answer, or an error if there is none within the time or memory limit.
fn watch(
    answer: &Receiver<Result<String, TextError>>,
    line: &AtomicU32,
    limits: SandboxLimits,
) -> Result<String, TextError> {
    let started = Instant::now();
    let before = memory("VmRSS:").unwrap_or(0);
    loop {
        match answer.recv_timeout(GLANCE) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Disconnected) => return Err(TextError::new("the chat template cannot be rendered")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = Some(line.load(Ordering::Relaxed));
        if started.elapsed() > limits.time {
            return Err(sandbox::late(now, limits.time));
        }
        if memory("VmRSS:").is_some_and(|taken| taken.saturating_sub(before) > limits.memory) {
            return Err(sandbox::too_large(now, limits.memory));
        }
    }
}

/// A statistic of this process in bytes, if the system provides it.
fn memory(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

/// Limits that the system enforces on the process. Limits that a system lacks are skipped.
#[cfg(unix)]
fn confine(limits: SandboxLimits) {
    use rlimit::Resource;

    let seconds = limits.time.as_secs() + 2;
    let more = limits.memory + ROOM;
    let of_memory = ["VmData:", "VmSize:"].map(|name| memory(name).map(|now| now + more));
    let bounds = [
        (Resource::CPU, Some(seconds)),
        (Resource::CORE, Some(0)),
        (Resource::FSIZE, Some(0)),
        (Resource::DATA, of_memory[0]),
        // Reserved address space counts here too, so this limit is wider.
        (Resource::AS, of_memory[1].map(|bytes| bytes + (1 << 30))),
    ];
    for (resource, bound) in bounds {
        if let Some(bound) = bound {
            // If a limit cannot be set, the checks in this module remain.
            let _ = resource.set(bound, bound);
        }
    }
}

/// Other systems have no such limits.
#[cfg(not(unix))]
fn confine(_: SandboxLimits) {}
