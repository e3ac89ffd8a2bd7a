//! Renders untrusted templates in a separate process.
//!
//! A template is a program. The engine counts its steps, but one step can walk a value that contains itself twice,
//! sixty levels deep, or allocate gigabytes, and printing a value that contains itself crashes the process. None of
//! this can be bounded inside a process. So such a template gets a process that can be killed: it has limits of time
//! and memory, reports the line it was at, and leaves nothing behind. Each rendering gets a new process: the few
//! milliseconds ensure that no request sees what another left.

use std::ffi::OsString;
use std::io::{Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::error::TextError;
use crate::work::{Bounds, Ended};

/// The first argument of a program that should call [`worker::run`](crate::worker::run).
pub const ARGUMENT: &str = "render-template";
/// The argument that makes the worker write each line number to its standard error.
pub(crate) const TELL_LINES: &str = "lines";

/// Interval between checks of the limits.
const GLANCE: Duration = Duration::from_millis(10);
/// Time beyond a worker's own limit until it is killed from here.
const GRACE: Duration = Duration::from_secs(2);
/// Maximum size of the stored standard error of a worker, in bytes.
const LAST_WORDS: usize = 4096;
/// Environment variables for a worker: nothing secret.
const ENVIRONMENT: [&str; 3] = ["TZ", "TZDIR", "SystemRoot"];

/// Limits of one rendering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Maximum time.
    pub time: Duration,
    /// Maximum memory, in bytes.
    pub memory: u64,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self { time: Duration::from_secs(5), memory: 256 << 20 }
    }
}

/// Starts a worker process for each rendering.
#[derive(Debug, Clone)]
pub struct Sandbox {
    program: PathBuf,
    limits: SandboxLimits,
}

/// How a worker ended.
enum Outcome {
    /// With an answer.
    Answered(Result<String, TextError>),
    /// Without one.
    Died(Death, String),
}

/// What killed a worker.
#[derive(Clone, Copy)]
enum Death {
    Late,
    Memory,
    Depth,
    Other(Option<ExitStatus>),
}

impl Sandbox {
    /// A sandbox whose workers are `program`, called with [`ARGUMENT`] first.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), limits: SandboxLimits::default() }
    }

    /// Sets other limits.
    #[must_use]
    pub fn limited(mut self, limits: SandboxLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Runs a job in a worker. It ends early if this thread's [`Stop`](crate::Stop) is set.
    ///
    /// # Errors
    /// The worker's error; or the worker was killed, and the message has the line.
    pub(crate) fn run(&self, job: &impl Serialize) -> Result<String, TextError> {
        let job = serde_json::to_vec(job)
            .map_err(|error| TextError::new(format!("the conversation cannot be handed on: {error}")))?;
        let death = match self.attempt(&job, false)? {
            Outcome::Answered(answer) => return answer,
            Outcome::Died(death, _) => death,
        };
        // It died before it could report the line. The second attempt reports each line in advance.
        let line = match self.attempt(&job, true)? {
            Outcome::Answered(_) => None,
            Outcome::Died(_, words) => words.lines().rev().find_map(|word| word.trim().parse().ok()),
        };
        Err(self.told(death, line))
    }

    fn attempt(&self, job: &[u8], tell_lines: bool) -> Result<Outcome, TextError> {
        let mut worker = Worker::start(self, tell_lines)
            .map_err(|error| TextError::new(format!("no process for the chat template can be started: {error}")))?;
        let (input, output, errors) = (worker.0.stdin.take(), worker.0.stdout.take(), worker.0.stderr.take());
        std::thread::scope(|scope| {
            let (done, answer) = mpsc::channel();
            // A worker that ends early does not read everything.
            scope.spawn(move || input.map(|mut input| input.write_all(job)));
            let words = scope.spawn(move || last_words(errors));
            let most = self.limits.memory;
            scope.spawn(move || {
                let mut bytes = Vec::new();
                let read = output.map(|output| output.take(most).read_to_end(&mut bytes));
                // The receiver may be gone.
                let _ = done.send(read.and_then(Result::ok).map(|_| bytes));
            });
            let ended = self.wait(&mut worker, &answer);
            let words = words.join().unwrap_or_default();
            match ended {
                Err(Ended::Stopped) => Err(Ended::Stopped.into()),
                Err(Ended::Late) => Ok(Outcome::Died(Death::Late, words)),
                Ok((bytes, status)) => Ok(match serde_json::from_slice(&bytes) {
                    Ok(answer) => Outcome::Answered(answer),
                    Err(_) => Outcome::Died(cause(status, &words), words),
                }),
            }
        })
    }

    /// The output of the worker after it has ended; kills it when its time is over or the caller stopped waiting.
    fn wait(
        &self,
        worker: &mut Worker,
        answer: &mpsc::Receiver<Option<Vec<u8>>>,
    ) -> Result<(Vec<u8>, Option<ExitStatus>), Ended> {
        let bounds = Bounds::current();
        let end = Instant::now() + self.limits.time + GRACE;
        loop {
            let late = if Instant::now() >= end { Err(Ended::Late) } else { Ok(()) };
            if let Err(ended) = bounds.check().and(late) {
                worker.end();
                return Err(ended);
            }
            match answer.recv_timeout(GLANCE) {
                Ok(bytes) => return Ok((bytes.unwrap_or_default(), worker.0.wait().ok())),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok((Vec::new(), worker.0.wait().ok())),
            }
        }
    }

    /// The error for a worker that died.
    fn told(&self, death: Death, line: Option<u32>) -> TextError {
        let SandboxLimits { time, memory } = self.limits;
        match death {
            Death::Late => late(line, time),
            Death::Memory => too_large(line, memory),
            Death::Depth => fault(line, "nests a value or itself without end")
                .hint("does a value hold itself, or a macro call itself?"),
            Death::Other(status) => {
                let how = status.map_or_else(|| "without a status".to_owned(), |status| status.to_string());
                fault(line, &format!("ended the process that renders it ({how})"))
            }
        }
    }
}

/// The error for a template that takes too long.
pub(crate) fn late(line: Option<u32>, time: Duration) -> TextError {
    fault(line, &format!("takes more than {} seconds", time.as_secs_f32()))
        .hint("the conversation is too long for this template, or the template does not end")
}

/// The error for a template that needs too much memory.
pub(crate) fn too_large(line: Option<u32>, memory: u64) -> TextError {
    fault(line, &format!("takes more than {} MiB of memory", memory >> 20))
        .hint("the conversation is too long for this template, or the template multiplies it")
}

fn fault(line: Option<u32>, what: &str) -> TextError {
    let line = line.filter(|line| *line > 0).map(|line| format!(", line {line}")).unwrap_or_default();
    TextError::new(format!("the chat template{line} {what}"))
}

/// Determines the cause from what the process left; Rust's own messages are the same everywhere.
fn cause(status: Option<ExitStatus>, words: &str) -> Death {
    if words.contains("memory allocation of") {
        Death::Memory
    } else if words.contains("overflowed its stack") {
        Death::Depth
    } else {
        Death::Other(status)
    }
}

/// The end of a worker's standard error.
fn last_words(errors: Option<impl Read>) -> String {
    let Some(mut errors) = errors else { return String::new() };
    let (mut kept, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = errors.read(&mut piece) {
        kept.extend_from_slice(&piece[..count]);
        let over = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..over);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// A process that does not outlive its owner.
struct Worker(Child);

impl Worker {
    fn start(sandbox: &Sandbox, tell_lines: bool) -> std::io::Result<Self> {
        let SandboxLimits { time, memory } = sandbox.limits;
        let kept = ENVIRONMENT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        let kept: Vec<(&str, OsString)> = kept.collect();
        let mut command = Command::new(&sandbox.program);
        command.arg(ARGUMENT).arg(time.as_millis().to_string()).arg(memory.to_string());
        command.args(tell_lines.then_some(TELL_LINES)).env_clear().envs(kept);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map(Self)
    }

    fn end(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}
