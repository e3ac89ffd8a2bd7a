//! Runs long work outside of the threads that serve connections.

use std::sync::Arc;

use axum::http::StatusCode;
use tokio::sync::Semaphore;
use unspool_text::Stop;

use crate::error::ApiError;

/// Runs `work` on its own thread. If the caller stops waiting, the work is stopped.
///
/// # Errors
/// Those of `work`; or it panicked.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let failed = |_| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the gateway failed on this request");
    let stop = StopWhenDropped(Stop::default());
    let told = stop.0.clone();
    tokio::task::spawn_blocking(move || told.during(work)).await.map_err(failed)?
}

/// As [`run`], after waiting for a permit.
///
/// # Errors
/// As [`run`].
pub(crate) async fn in_turn<T: Send + 'static>(
    turns: &Arc<Semaphore>,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let turn = Arc::clone(turns).acquire_owned().await;
    let turn = turn.map_err(|_| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "the gateway is stopping"))?;
    run(move || {
        // The permit is released when the work ends, not when the caller stops waiting.
        let _turn = turn;
        work()
    })
    .await
}

/// Stops the work when the caller is gone.
struct StopWhenDropped(Stop);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.tell();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::*;

    #[tokio::test]
    async fn work_that_nobody_waits_for_stops() {
        let (tell, heard) = mpsc::channel();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let work = run(move || {
            let _ = begun.send(());
            let until = Instant::now() + Duration::from_secs(60);
            while unspool_text::is_wanted() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            let _ = tell.send(Instant::now() < until);
            Ok(())
        });
        let waiting = tokio::spawn(work);
        begins.await.expect("it begins");
        assert!(heard.try_recv().is_err(), "it goes on while somebody waits");
        waiting.abort();
        let stopped = tokio::task::spawn_blocking(move || heard.recv_timeout(Duration::from_secs(90))).await;
        assert_eq!(stopped.expect("it does not panic"), Ok(true), "it was stopped, and did not run out of time");
    }
}
