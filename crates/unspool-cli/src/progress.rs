//! Says that something is still being done, once it takes more than a second, and only to somebody who watches.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long work is silent, and how often its time is told then.
const STEP: Duration = Duration::from_secs(1);

/// Does some work; `what` says which.
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
        // The line goes, so that what follows stands by itself.
        tell("\r\u{1b}[K");
    }
    told.0
}

/// What cannot be told is not worth a failure.
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
