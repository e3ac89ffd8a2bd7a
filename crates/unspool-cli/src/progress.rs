//! Reports progress of work that takes more than a second, if standard error is a terminal.

use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The delay before the first report, and the interval after it.
const STEP: Duration = Duration::from_secs(1);

/// Does some work; `what` describes it.
pub(crate) fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if io::stderr().is_terminal() { shown(what, STEP, io::stderr(), work) } else { work() }
}

/// Does some work, and reports on a terminal after each `step`. Clears the line at the end, so that later output stands
/// alone.
fn shown<T>(what: &str, step: Duration, mut terminal: impl io::Write + Send, work: impl FnOnce() -> T) -> T {
    // A failure to write is ignored.
    let mut tell = move |text: &str| drop(terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush()));
    let (done, over) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (begun, mut told) = (Instant::now(), false);
            while over.recv_timeout(step) == Err(RecvTimeoutError::Timeout) {
                told = true;
                tell(&format!("\r{what} … {} s", begun.elapsed().as_secs()));
            }
            if told {
                tell("\r\u{1b}[K");
            }
        });
        let result = work();
        drop(done);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the terminal gets from work of this duration.
    fn written(takes: Duration) -> String {
        let mut terminal = Vec::new();
        let step = Duration::from_millis(20);
        assert_eq!(shown("adding", step, &mut terminal, || (thread::sleep(takes), 1 + 1).1), 2);
        String::from_utf8(terminal).expect("it is text")
    }

    #[test]
    fn long_work_is_reported_and_the_line_is_cleared() {
        let text = written(Duration::from_millis(200));
        assert!(text.starts_with("\radding … 0 s") && text.ends_with("\r\u{1b}[K"), "{text:?}");
    }

    #[test]
    fn short_work_is_silent() {
        assert_eq!(written(Duration::ZERO), "");
    }
}
