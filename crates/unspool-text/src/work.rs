//! Bounds of long work: rendering and tokenizing can be stopped, and have a deadline.
//!
//! The bounds belong to the thread, not to each call: between a request and a filter of its template are a library's
//! functions, which pass nothing through. [`Stop::during`] sets them for one piece of work, and everything in this
//! crate that can take long calls [`check`] between two steps.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::TextError;

/// Stack size of threads for deeply nested work, in bytes. Only the used part takes memory.
const DEEP_STACK: usize = 64 << 20;

/// Stops work on another thread.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    told: Arc<AtomicBool>,
}

impl Stop {
    /// Sets it.
    pub fn tell(&self) {
        self.told.store(true, Ordering::Relaxed);
    }

    /// Whether it is set.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    /// Runs `work` on this thread; it ends with an error soon after the stop is set.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        Bounds { stop: self.clone(), until: None }.during(work)
    }
}

/// The bounds of a thread's work.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bounds {
    stop: Stop,
    until: Option<Instant>,
}

thread_local! {
    static BOUNDS: RefCell<Bounds> = RefCell::default();
}

impl Bounds {
    /// This thread's.
    pub(crate) fn current() -> Self {
        BOUNDS.with_borrow(Clone::clone)
    }

    /// The same, with a deadline at most this far away.
    pub(crate) fn within(mut self, time: Duration) -> Self {
        let end = Instant::now().checked_add(time);
        self.until = self.until.into_iter().chain(end).min();
        self
    }

    /// Runs `work` within these bounds.
    pub(crate) fn during<T>(self, work: impl FnOnce() -> T) -> T {
        /// Restores the earlier bounds, even if `work` panics.
        struct Earlier(Bounds);
        impl Drop for Earlier {
            fn drop(&mut self) {
                BOUNDS.set(std::mem::take(&mut self.0));
            }
        }
        let _earlier = Earlier(BOUNDS.replace(self));
        work()
    }

    /// Whether the work may continue.
    pub(crate) fn check(&self) -> Result<(), Ended> {
        if self.stop.is_told() {
            return Err(Ended::Stopped);
        }
        match self.until {
            Some(until) if Instant::now() >= until => Err(Ended::Late),
            _ => Ok(()),
        }
    }
}

/// Whether this thread's work may continue.
pub(crate) fn check() -> Result<(), Ended> {
    BOUNDS.with_borrow(Bounds::check)
}

/// Whether this thread's work is still wanted, for work outside this crate.
#[must_use]
pub fn is_wanted() -> bool {
    check().is_ok()
}

/// Why work ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Its caller stopped waiting.
    Stopped,
    /// It takes too long.
    Late,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stopped => "the request was given up",
            Self::Late => "it takes too long",
        })
    }
}

impl std::error::Error for Ended {}

impl From<Ended> for TextError {
    fn from(ended: Ended) -> Self {
        Self::new(ended.to_string())
    }
}

/// Runs `work` on a thread with a deep stack, within the bounds of this one.
///
/// # Errors
/// Those of `work`; or the system cannot create a thread, or `work` panics.
pub(crate) fn deep<T: Send>(work: impl FnOnce() -> Result<T, TextError> + Send) -> Result<T, TextError> {
    let bounds = Bounds::current();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("unspool-deep".to_owned()).stack_size(DEEP_STACK);
        let running = thread
            .spawn_scoped(scope, || bounds.during(work))
            .map_err(|error| TextError::new(format!("no thread can be started: {error}")))?;
        running.join().unwrap_or_else(|_| Err(TextError::new("the work failed in a way that it should not")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_when_it_is_told_or_late() {
        assert_eq!((check(), is_wanted()), (Ok(()), true));
        let stop = Stop::default();
        stop.during(|| {
            assert_eq!(check(), Ok(()));
            assert_eq!(deep(|| Ok(check())), Ok(Ok(())));
            stop.tell();
            assert_eq!((check(), is_wanted()), (Err(Ended::Stopped), false));
            assert_eq!(deep(|| Ok(check())), Ok(Err(Ended::Stopped)), "another thread has the same bounds");
        });
        assert_eq!(check(), Ok(()), "the bounds end with the work");
        let late = Bounds::default().within(Duration::ZERO).within(Duration::from_secs(9));
        assert_eq!(late.check(), Err(Ended::Late), "the earlier deadline counts");
    }

    #[test]
    fn a_panic_is_an_error() {
        let told: Result<(), TextError> = deep(|| panic!("on purpose"));
        assert!(told.is_err());
    }
}
