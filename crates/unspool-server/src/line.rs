//! One log line per request, collected from its parts. It never contains text of users or models.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The known facts about a request.
#[derive(Debug)]
pub struct Line {
    start: Instant,
    /// Index of the server, from 1.
    pub backend: Option<usize>,
    /// Tokens of the prompt.
    pub prompt: u64,
    /// Tokens of the answers.
    pub completion: u64,
    /// Time to the first output.
    pub first: Option<Duration>,
    /// Finish reason of the last answer.
    pub finish: Option<&'static str>,
    /// Reason of a refusal or failure.
    pub reason: Option<String>,
}

impl Line {
    /// Time since the request began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A line shared by several parts.
pub type Shared = Arc<Mutex<Line>>;

tokio::task_local! {
    static CURRENT: Shared;
}

/// A line that begins now.
#[must_use]
pub fn begin() -> Shared {
    Arc::new(Mutex::new(Line {
        start: Instant::now(),
        backend: None,
        prompt: 0,
        completion: 0,
        first: None,
        finish: None,
        reason: None,
    }))
}

/// Runs `work` with this line as the current one.
pub async fn during<T>(line: Shared, work: impl Future<Output = T>) -> T {
    CURRENT.scope(line, work).await
}

/// The line of the current request.
#[must_use]
pub fn current() -> Option<Shared> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Changes the line of the current request, if there is one.
pub fn note(change: impl FnOnce(&mut Line)) {
    if let Some(line) = current() {
        change(&mut line.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
