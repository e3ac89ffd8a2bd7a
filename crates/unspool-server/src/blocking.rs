//! Work that takes its time, away from the threads that serve connections.

use axum::http::StatusCode;

use crate::error::ApiError;

/// Runs `work` on a thread of its own.
///
/// # Errors
/// Those of `work`; or it panicked.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let failed = |_| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the gateway failed on this request");
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}
