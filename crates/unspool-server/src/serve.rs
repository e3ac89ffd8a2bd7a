//! Listening, and stopping without breaking off answers.

use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::net::TcpListener;

use crate::api;
use crate::app::App;
use crate::config::ServeConfig;
use crate::error::StartupError;

/// Serves `app` on `listener` until `stop` is there; then no new connection is taken, and running answers are finished.
///
/// # Errors
/// What the system says about the listener.
pub async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    axum::serve(listener, api::router(app)).with_graceful_shutdown(stop).await
}

/// Runs the gateway until the process is told to end. The first signal lets running answers finish, the second does not.
/// `ready` is called with the address once the gateway listens.
///
/// # Errors
/// The settings are wrong, or the address cannot be listened on.
pub async fn run(config: &ServeConfig, ready: impl FnOnce(std::net::SocketAddr)) -> Result<(), StartupError> {
    let app = Arc::new(App::new(config)?);
    let place = format!("{}:{}", config.host, config.port);
    let fault = |error: io::Error| StartupError::new(format!("cannot listen on {place}: {error}"));
    let listener = TcpListener::bind((config.host.trim_matches(['[', ']']), config.port)).await.map_err(|error| {
        let in_use = error.kind() == io::ErrorKind::AddrInUse;
        let error = fault(error);
        if in_use { error.hint("another program listens there; --port takes another port") } else { error }
    })?;
    ready(listener.local_addr().map_err(fault)?);
    let (told, stop) = tokio::sync::oneshot::channel::<()>();
    let server = serve(listener, app, async {
        // An error means that nobody can tell it any more, which is a reason to stop as well.
        let _ = stop.await;
    });
    let signals = async {
        end_signal().await;
        tracing::info!("stopping; running answers are finished first");
        let _ = told.send(());
        end_signal().await;
    };
    tokio::select! {
        ended = server => ended.map_err(fault),
        () = signals => Ok(()),
    }
}

/// [`run`] on a runtime of its own, for programs that have none.
///
/// # Errors
/// As [`run`]; or the system gives no threads.
pub fn run_blocking(config: &ServeConfig, ready: impl FnOnce(std::net::SocketAddr)) -> Result<(), StartupError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| StartupError::new(format!("cannot start the gateway's threads: {error}")))?;
    runtime.block_on(run(config, ready))
}

/// Waits for the signal that ends a process.
#[cfg(unix)]
async fn end_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
        }
        Err(_) => drop(tokio::signal::ctrl_c().await),
    }
}

/// Waits for the signal that ends a process.
#[cfg(not(unix))]
async fn end_signal() {
    drop(tokio::signal::ctrl_c().await);
}
