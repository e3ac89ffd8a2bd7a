//! Reports progress of work that takes more than a second, if standard error is a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The delay before the first report, and the interval after it.
const STEP: Duration = Duration::from_secs(1);

/// Does some work; `what` describes it.
pub(crate) fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (done, over) = channel::<()>();
    let told = thread::scope(|scope| {
        let teller = scope.spawn(move || {
            let (begun, mut lines) = (Instant::now(), 0);
            while over.recv_timeout(STEP) == Err(RecvTimeoutError::Timeout) {
                lines += 1;
                tell(&format!("\r{what} … {} s", begun.elapsed().as_secs()));
            }
            lines
        });
        let result = work();
        drop(done);
        (result, teller.join().unwrap_or(0))
    });
    if told.1 > 0 {
        // Clear the line, so that later output stands alone.
        tell("\r\u{1b}[K");
    }
    told.0
}

/// Writes to standard error. A failure to do so is ignored.
fn tell(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_gives_what_it_gives() {
        assert_eq!(during("adding", || 1 + 1), 2);
    }
}
