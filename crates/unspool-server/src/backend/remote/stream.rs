//! The stream of an answer, from bytes to pieces.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::{Instant, timeout, timeout_at};

use super::dialect::Reader;
use super::http::{fault, silent};
use super::sse::{EventReader, LONGEST_EVENT, TooLong};
use crate::backend::{BackendError, BackendFault, Native, Piece, Pieces};

/// Timeout for the end of a stream after the model has stopped: only usage can still come.
const GRACE: Duration = Duration::from_secs(2);

/// Maximum size of an answer in bytes, with its ids: no model writes that much.
const LONGEST_ANSWER: usize = 64 << 20;

/// The bytes of a body, as they come.
pub(super) fn bytes(response: Response) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::unfold(Some(response), |response| async {
        let mut response = response?;
        match response.chunk().await {
            Ok(chunk) => chunk.map(|chunk| (Ok(chunk), Some(response))),
            Err(error) => Some((Err(io::Error::other(fault(&error))), None)),
        }
    })
}

/// The pieces of an answer.
pub(super) fn pieces(response: Response, reader: Box<dyn Reader>, silence: Duration) -> Pieces {
    let streamed = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_none_or(|kind| !kind.starts_with("application/json"));
    let form = if streamed { Form::Events(EventReader::default()) } else { Form::OneBody(Vec::new()) };
    let incoming = Incoming { response, form, outbox: Outbox::new(reader), silence, heard: Instant::now() };
    stream::unfold(incoming, |mut incoming| async { incoming.next().await.map(|piece| (piece, incoming)) }).boxed()
}

/// The form of the answer.
enum Form {
    /// As server-sent events.
    Events(EventReader),
    /// As one body, from a server that does not stream.
    OneBody(Vec<u8>),
}

struct Incoming {
    response: Response,
    form: Form,
    outbox: Outbox,
    /// Maximum time without an event. Keep-alive comments do not count.
    silence: Duration,
    /// Time of the last event.
    heard: Instant,
}

impl Incoming {
    async fn next(&mut self) -> Option<Result<Piece, BackendError>> {
        loop {
            if let Some(piece) = self.outbox.ready.pop_front() {
                return Some(piece);
            }
            if self.outbox.over {
                return None;
            }
            match self.chunk().await {
                Ok(Some(chunk)) => {
                    let events = self.outbox.events;
                    self.take(&chunk);
                    if self.outbox.events > events || matches!(self.form, Form::OneBody(_)) {
                        self.heard = Instant::now();
                    }
                }
                Ok(None) => self.end(),
                Err(error) => self.outbox.fail(error),
            }
        }
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, BackendError> {
        let chunk = self.response.chunk();
        let chunk = if self.outbox.stopped {
            timeout(GRACE, chunk).await.unwrap_or(Ok(None))
        } else {
            timeout_at(self.heard + self.silence, chunk).await.map_err(|_| silent())?
        };
        chunk.map_err(|error| fault(&error))
    }

    fn take(&mut self, chunk: &[u8]) {
        let outbox = &mut self.outbox;
        let taken = match &mut self.form {
            Form::Events(reader) => reader.push(chunk, &mut |data| outbox.event(data)),
            Form::OneBody(body) if body.len() + chunk.len() > LONGEST_EVENT => Err(TooLong),
            Form::OneBody(body) => {
                body.extend_from_slice(chunk);
                Ok(())
            }
        };
        if taken.is_err() {
            outbox.fail(BackendError::new(BackendFault::BadAnswer, "the backend sent an event without end"));
        }
    }

    /// The body ends. An answer without a finish reason was cut off.
    fn end(&mut self) {
        let outbox = &mut self.outbox;
        match &mut self.form {
            Form::Events(reader) => reader.finish(&mut |data| outbox.event(data)),
            Form::OneBody(body) => outbox.event(body),
        }
        outbox.fail(BackendError::new(BackendFault::Died, "the backend went away in the middle of its answer"));
    }
}

/// The pieces to be taken.
struct Outbox {
    reader: Box<dyn Reader>,
    ready: VecDeque<Result<Piece, BackendError>>,
    stopped: bool,
    over: bool,
    /// Number of events received.
    events: u64,
    /// Number of bytes of text and ids received.
    bytes: usize,
}

impl Outbox {
    fn new(reader: Box<dyn Reader>) -> Self {
        Self { reader, ready: VecDeque::new(), stopped: false, over: false, events: 0, bytes: 0 }
    }

    fn event(&mut self, data: &[u8]) {
        if self.over {
            return;
        }
        if data.trim_ascii() == b"[DONE]" {
            self.over = true;
            return;
        }
        self.events += 1;
        let (ready, stopped, bytes) = (&mut self.ready, &mut self.stopped, &mut self.bytes);
        let read = self.reader.read(data, &mut |piece| {
            match &piece {
                Piece::Tokens(tokens) => {
                    *bytes += tokens.text.len() + size_of_val(tokens.ids.as_slice());
                }
                Piece::Stopped { .. } => *stopped = true,
                Piece::Native(Native::Reasoning(text) | Native::CallArguments { json: text, .. }) => {
                    *bytes += text.len();
                }
                Piece::Native(Native::CallStart { id, name }) => *bytes += id.len() + name.len(),
                Piece::Native(Native::Probabilities(_)) | Piece::PromptProbabilities(_) => {}
                Piece::Usage { .. } | Piece::Prompt(_) => {}
            }
            ready.push_back(Ok(piece));
        });
        if let Err(error) = read {
            self.fail(error);
        } else if self.bytes > LONGEST_ANSWER {
            let message = format!("the backend's answer is longer than {LONGEST_ANSWER} bytes");
            self.fail(BackendError::new(BackendFault::BadAnswer, message));
        }
    }

    /// Nothing follows an error; after the model has stopped, an error is ignored.
    fn fail(&mut self, error: BackendError) {
        if !self.over && !self.stopped {
            self.ready.push_back(Err(error));
        }
        self.over = true;
    }
}
