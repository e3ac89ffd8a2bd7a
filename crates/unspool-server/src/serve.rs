//! Listens, and shuts down without breaking off answers.

use std::fmt;
use std::future::{Future, IntoFuture as _};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::{Listener, ListenerExt as _};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::api;
use crate::app::App;
use crate::config::ServeConfig;
use crate::connection::{self, Activity, Running, TimeLimits, TimedListener};
use crate::error::StartupError;
use crate::tls::{self, TlsListener};

/// Time for connections to send written data after all answers have finished.
const LAST_BYTES: Duration = Duration::from_secs(1);
/// Interval of tidying the metrics.
const UPKEEP: Duration = Duration::from_secs(5);

/// Serves `app` on `listener` until `stop` completes. Then it accepts no new connections, and running answers finish
/// within `--shutdown-timeout`.
///
/// # Errors
/// The system's error for the listener.
pub async fn serve<L>(listener: L, app: Arc<App>, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()>
where
    L: Listener,
    L::Addr: fmt::Debug,
{
    let _upkeep = Upkeep::of(&app);
    let _told = Introduction::of(&app);
    let (limits, patience) = (TimeLimits::of(app.http()), Duration::from_secs(app.http().shutdown_timeout));
    let running = Running::default();
    let router = connection::watched(api::router(app), running.clone(), limits);
    let (told, stopping) = oneshot::channel::<()>();
    let service = router.into_make_service_with_connect_info::<Activity>();
    let server = axum::serve(TimedListener::new(listener, limits), service).with_graceful_shutdown(async {
        stop.await;
        let _ = told.send(());
    });
    tokio::select! {
        ended = server.into_future() => ended,
        () = drained(stopping, &running, patience) => Ok(()),
    }
}

/// Waits for the stop, and then for running answers, up to a timeout.
async fn drained(stopping: oneshot::Receiver<()>, running: &Running, patience: Duration) {
    if stopping.await.is_err() {
        // The server has ended by itself.
        return std::future::pending().await;
    }
    match timeout(patience, running.none()).await {
        // The last bytes are on their way. Idle connections are not waited for.
        Ok(()) => tokio::time::sleep(LAST_BYTES).await,
        Err(_) => {
            let count = running.count();
            tracing::warn!(count, "--shutdown-timeout is over: running answers are cut");
        }
    }
}

/// Tidies the metrics regularly, even if nobody reads them; ends with its owner.
struct Upkeep(tokio::task::JoinHandle<()>);

impl Upkeep {
    fn of(app: &App) -> Self {
        let metrics = Arc::clone(app.metrics());
        Self(tokio::spawn(async move {
            loop {
                tokio::time::sleep(UPKEEP).await;
                metrics.tidy();
            }
        }))
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Logs the startup: the formats, the source of prompts, and the state of each backend. It runs next to the server, so
/// a backend that does not answer delays nothing.
struct Introduction(tokio::task::JoinHandle<()>);

impl Introduction {
    fn of(app: &Arc<App>) -> Self {
        let app = Arc::clone(app);
        Self(tokio::spawn(async move {
            app.told().iter().for_each(|line| tracing::info!("{line}"));
            let servers = app.backend().servers().await;
            for server in &servers {
                let facts = &server.facts;
                let version = facts.version.as_deref().unwrap_or("not told");
                let context =
                    app.backend().longest_context(None).map_or("not told".to_owned(), |n| format!("{n} tokens"));
                let state = if server.well { "well" } else { "does not answer" };
                tracing::info!("backend {}: {state}; version {version}, context {context}", server.address);
            }
            app.learn().await;
        }))
    }
}

impl Drop for Introduction {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs the gateway until the process receives a signal. The first signal lets running answers finish, the second does
/// not. `ready` is called with the address once the gateway listens: a URL such as `http://127.0.0.1:8000` or
/// `https://0.0.0.0:8000`, or `unix:PATH`.
///
/// # Errors
/// Invalid settings, or the address is not available.
pub async fn run(config: &ServeConfig, ready: impl FnOnce(&str)) -> Result<(), StartupError> {
    let app = Arc::new(App::new(config)?);
    allow_many_streams();
    if let Some(path) = &config.http.uds {
        return on_socket(path, app, ready).await;
    }
    let acceptor = tls::acceptor(&config.http)?;
    let place = format!("{}:{}", config.address(), config.port);
    let fault = |error: io::Error| unheard(&place, &error);
    let listener = TcpListener::bind((config.address().trim_matches(['[', ']']), config.port)).await.map_err(fault)?;
    let address = listener.local_addr().map_err(fault)?;
    match acceptor {
        None => {
            ready(&format!("http://{address}"));
            tracing::info!("what there is: http://{address}/docs");
            // Tokens are small and must not wait for acknowledgements (Nagle's algorithm).
            let listener = listener.tap_io(|stream| {
                // Without the option a stream is only slower.
                let _ = stream.set_nodelay(true);
            });
            until_told(listener, app).await.map_err(fault)
        }
        Some(acceptor) => {
            ready(&format!("https://{address}"));
            tracing::info!("what there is: https://{address}/docs");
            until_told(TlsListener::new(listener, acceptor), app).await.map_err(fault)
        }
    }
}

/// Why an address cannot be listened on, and how to fix it.
fn unheard(place: &str, error: &io::Error) -> StartupError {
    StartupError::new(format!("cannot listen on {place}: {error}")).hint(match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there; --port takes another port, 0 any free one",
        io::ErrorKind::PermissionDenied => "ports below 1024 need rights that the gateway does not have; see --port",
        io::ErrorKind::AddrNotAvailable => "--host must be an address of this machine; 0.0.0.0 is all of them",
        io::ErrorKind::NotFound => "the folder must be there already; see --uds",
        _ => "--host takes an address or a name of this machine, such as 127.0.0.1, and --uds a path",
    })
}

/// Raises the limit of open files to the hard limit: each stream needs two, to the client and to the backend, and
/// shells often set a limit of 1,024.
fn allow_many_streams() {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(files) => tracing::debug!(files, "limit of open files"),
        Err(error) => tracing::warn!(%error, "the limit of open files cannot be raised; each stream needs two"),
    }
}

/// Listens on a Unix socket. Replaces one that an earlier gateway left behind, but no other file.
#[cfg(unix)]
async fn on_socket(path: &Path, app: Arc<App>, ready: impl FnOnce(&str)) -> Result<(), StartupError> {
    use std::os::unix::fs::FileTypeExt as _;

    let shown = path.display().to_string();
    let fault = |error: io::Error| unheard(&shown, &error);
    let left_behind = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    if left_behind && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path).map_err(fault)?;
    }
    let listener = tokio::net::UnixListener::bind(path).map_err(fault)?;
    ready(&format!("unix:{}", path.display()));
    let ended = until_told(listener, app).await;
    // It may have been removed already.
    let _ = std::fs::remove_file(path);
    ended.map_err(fault)
}

/// Other systems have no Unix sockets.
#[cfg(not(unix))]
async fn on_socket(_: &Path, _: Arc<App>, _: impl FnOnce(&str)) -> Result<(), StartupError> {
    Err(StartupError::new("--uds needs a system with Unix sockets").hint("listen on a port with --host and --port"))
}

async fn until_told<L>(listener: L, app: Arc<App>) -> io::Result<()>
where
    L: Listener,
    L::Addr: fmt::Debug,
{
    let (told, stop) = oneshot::channel::<()>();
    let server = serve(listener, app, async {
        // An error means that the sender is gone, which is a reason to stop as well.
        let _ = stop.await;
    });
    let signals = async {
        end_signal().await;
        tracing::info!("stopping; running answers are finished first");
        let _ = told.send(());
        end_signal().await;
    };
    tokio::select! {
        ended = server => ended,
        () = signals => Ok(()),
    }
}

/// [`run`] on its own runtime, for programs without one.
///
/// # Errors
/// As [`run`]; or the system cannot create threads.
pub fn run_blocking(config: &ServeConfig, ready: impl FnOnce(&str)) -> Result<(), StartupError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| StartupError::new(format!("cannot start the gateway's threads: {error}")))?;
    let ended = runtime.block_on(run(config, ready));
    // Work on other threads would delay the exit.
    runtime.shutdown_background();
    ended
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
