//! Client connections: their timeouts, and the number of requests in progress.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::serve::{IncomingStream, Listener};
use futures_util::stream::{self, StreamExt as _};
use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::config::HttpConfig;

/// Timeouts for a client. `None`: no limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimeLimits {
    /// For the headers of a request, and between two pieces of its body.
    pub request: Option<Duration>,
    /// Between two requests.
    pub idle: Option<Duration>,
}

impl TimeLimits {
    /// The configured timeouts.
    #[must_use]
    pub fn of(config: &HttpConfig) -> Self {
        let seconds = |seconds| (seconds > 0).then(|| Duration::from_secs(seconds));
        Self { request: seconds(config.request_timeout), idle: seconds(config.idle_timeout) }
    }
}

/// The requests in progress.
#[derive(Debug, Clone)]
pub struct Running(Arc<watch::Sender<usize>>);

impl Default for Running {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

impl Running {
    /// Their number.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.0.borrow()
    }

    /// Waits until there are none.
    pub async fn none(&self) {
        // `self` owns the sender, so the wait cannot fail.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// The state of a connection, for its timeouts.
#[derive(Debug, Clone, Default)]
pub struct Activity(Arc<Doings>);

#[derive(Debug, Default)]
struct Doings {
    /// Number of requests in progress.
    busy: AtomicUsize,
    /// Number of requests that have begun.
    begun: AtomicU64,
    /// The task that reads from the connection during a request, and must learn of its end.
    reader: AtomicWaker,
}

/// A request in progress, until this is dropped.
struct Answering {
    running: Running,
    activity: Option<Activity>,
}

impl Answering {
    fn new(running: Running, activity: Option<Activity>) -> Self {
        running.0.send_modify(|count| *count += 1);
        if let Some(Activity(state)) = &activity {
            state.begun.fetch_add(1, Ordering::Relaxed);
            state.busy.fetch_add(1, Ordering::SeqCst);
        }
        Self { running, activity }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.running.0.send_modify(|count| *count -= 1);
        if let Some(Activity(state)) = &self.activity {
            state.busy.fetch_sub(1, Ordering::SeqCst);
            // Its idle time begins, and nothing else notifies the reader.
            state.reader.wake();
        }
    }
}

/// The body of an answer, which is in progress until its end.
struct AnswerBody {
    body: Body,
    _answering: Answering,
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

/// Tracks the requests of `router`, and applies the timeouts to their bodies.
pub fn watched(router: Router, running: Running, limits: TimeLimits) -> Router {
    router.layer(middleware::from_fn_with_state((running, limits), watch_one))
}

async fn watch_one(State((running, limits)): State<(Running, TimeLimits)>, request: Request, next: Next) -> Response {
    let activity = request.extensions().get::<ConnectInfo<Activity>>().map(|info| info.0.clone());
    let answering = Answering::new(running, activity);
    let request = match limits.request {
        Some(limit) if !request.body().is_end_stream() => request.map(|body| timed(body, limit)),
        _ => request,
    };
    next.run(request).await.map(|body| Body::new(AnswerBody { body, _answering: answering }))
}

/// A body with a maximum time between two pieces.
fn timed(body: Body, limit: Duration) -> Body {
    Body::from_stream(stream::unfold(Some(body.into_data_stream()), move |body| async move {
        let mut body = body?;
        match timeout(limit, body.next()).await {
            Ok(Some(Ok(bytes))) => Some((Ok(bytes), Some(body))),
            Ok(Some(Err(error))) => Some((Err(io::Error::other(error)), None)),
            Ok(None) => None,
            Err(_) => Some((Err(late()), None)),
        }
    }))
}

/// The error for a slow client.
fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the client took too long")
}

/// A listener whose connections have timeouts.
pub struct TimedListener<L> {
    inner: L,
    limits: TimeLimits,
}

impl<L> TimedListener<L> {
    /// On top of `inner`.
    #[must_use]
    pub fn new(inner: L, limits: TimeLimits) -> Self {
        Self { inner, limits }
    }
}

impl<L: Listener> Listener for TimedListener<L> {
    type Io = Timed<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (io, address) = self.inner.accept().await;
        (Timed::new(io, self.limits), address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.inner.local_addr()
    }
}

impl<L: Listener> Connected<IncomingStream<'_, TimedListener<L>>> for Activity {
    fn connect_info(stream: IncomingStream<'_, TimedListener<L>>) -> Self {
        stream.io().activity.clone()
    }
}

/// What the connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// Nothing: an answer is in progress.
    No,
    /// A request.
    Request,
    /// The rest of a request's headers.
    Head,
}

/// A connection with timeouts.
pub struct Timed<I> {
    io: I,
    activity: Activity,
    limits: TimeLimits,
    waiting: Waiting,
    /// Number of requests that had begun when the wait began.
    begun: u64,
    /// End of the wait.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<I> Timed<I> {
    fn new(io: I, limits: TimeLimits) -> Self {
        Self { io, activity: Activity::default(), limits, waiting: Waiting::No, begun: 0, deadline: None }
    }

    fn wait(&mut self, what: Waiting) {
        let limit = match what {
            Waiting::No => None,
            Waiting::Request => self.limits.idle,
            Waiting::Head => self.limits.request,
        };
        self.waiting = what;
        self.begun = self.activity.0.begun.load(Ordering::Relaxed);
        match (limit, &mut self.deadline) {
            (None, deadline) => *deadline = None,
            (Some(limit), Some(deadline)) => deadline.as_mut().reset(Instant::now() + limit),
            (Some(limit), deadline) => *deadline = Some(Box::pin(sleep(limit))),
        }
    }

    fn is_answering(&self) -> bool {
        self.activity.0.busy.load(Ordering::SeqCst) > 0
    }

    /// Whether the wait is over.
    fn has_come(&self) -> bool {
        self.begun != self.activity.0.begun.load(Ordering::Relaxed)
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Timed<I> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut this.io).poll_read(cx, buf) {
            let has_more = buf.filled().len() > before;
            if has_more && !this.is_answering() && (this.waiting != Waiting::Head || this.has_come()) {
                this.wait(Waiting::Head);
            }
            return Poll::Ready(read);
        }
        this.activity.0.reader.register(cx.waker());
        if this.is_answering() {
            this.wait(Waiting::No);
            return Poll::Pending;
        }
        if this.waiting == Waiting::No || this.has_come() {
            this.wait(Waiting::Request);
        }
        match &mut this.deadline {
            Some(deadline) => {
                ready!(deadline.as_mut().poll(cx));
                Poll::Ready(Err(late()))
            }
            None => Poll::Pending,
        }
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Timed<I> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.io).poll_write(cx, buf));
        // A client that still takes its answer is not idle.
        this.waiting = Waiting::No;
        Poll::Ready(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.io).poll_write_vectored(cx, bufs));
        this.waiting = Waiting::No;
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    const LIMITS: TimeLimits =
        TimeLimits { request: Some(Duration::from_secs(60)), idle: Some(Duration::from_secs(75)) };

    fn connection() -> (DuplexStream, Timed<DuplexStream>) {
        let (client, server) = duplex(64);
        (client, Timed::new(server, LIMITS))
    }

    /// The number of seconds after which a read fails.
    async fn seconds_until_late(connection: &mut Timed<DuplexStream>) -> u64 {
        let start = Instant::now();
        let mut buf = [0; 64];
        loop {
            match connection.read(&mut buf).await {
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
                    return start.elapsed().as_secs();
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_ends() {
        let (_client, mut connection) = connection();
        assert_eq!(seconds_until_late(&mut connection).await, 75);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_trickles_ends_with_the_first_bytes_limit() {
        let (mut client, mut connection) = connection();
        tokio::spawn(async move {
            for _ in 0..100 {
                sleep(Duration::from_secs(10)).await;
                if client.write_all(b"x").await.is_err() {
                    break;
                }
            }
        });
        assert_eq!(seconds_until_late(&mut connection).await, 70);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_may_take_its_time_and_the_idle_time_begins_behind_it() {
        let (mut client, mut connection) = connection();
        client.write_all(b"GET").await.expect("the duplex takes it");
        let mut buf = [0; 3];
        connection.read_exact(&mut buf).await.expect("it is there");
        let running = Running::default();
        let answering = Answering::new(running.clone(), Some(connection.activity.clone()));
        assert_eq!(running.count(), 1);
        assert!(timeout(Duration::from_secs(1000), connection.read(&mut buf)).await.is_err());
        drop(answering);
        running.none().await;
        assert_eq!(seconds_until_late(&mut connection).await, 75);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_is_late() {
        let pieces = stream::iter([Ok::<_, io::Error>("a")]).chain(stream::pending());
        let mut body = timed(Body::from_stream(pieces), Duration::from_secs(60)).into_data_stream();
        assert_eq!(body.next().await.expect("a piece").expect("it came in time"), "a");
        let start = Instant::now();
        assert!(body.next().await.expect("an error").is_err());
        assert_eq!(start.elapsed().as_secs(), 60);
        assert!(body.next().await.is_none());
    }
}
