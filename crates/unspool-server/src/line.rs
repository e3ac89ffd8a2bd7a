//! One line of the log for each request, gathered where its parts are known: never what anybody said.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is known of a request.
#[derive(Debug)]
pub struct Line {
    start: Instant,
    /// Which of several servers, from 1.
    pub backend: Option<usize>,
    /// Tokens of the prompt.
    pub prompt: u64,
    /// Tokens of the answers.
    pub completion: u64,
    /// When the first answer began.
    pub first: Option<Duration>,
    /// Why the last answer ended.
    pub finish: Option<&'static str>,
    /// Why there is none.
    pub reason: Option<String>,
}

impl Line {
    /// How long it has taken.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A line that several parts write to.
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

/// Does `work` on behalf of this line.
pub async fn during<T>(line: Shared, work: impl Future<Output = T>) -> T {
    CURRENT.scope(line, work).await
}

/// The line of the request that is being worked on.
#[must_use]
pub fn current() -> Option<Shared> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Notes something in the line of the request that is being worked on, if there is one.
pub fn note(change: impl FnOnce(&mut Line)) {
    if let Some(line) = current() {
        change(&mut line.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
