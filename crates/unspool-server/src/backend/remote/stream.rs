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

/// How long the end of a stream may take once the model has stopped: only token counts can still come.
const GRACE: Duration = Duration::from_secs(2);

/// Most bytes of an answer, its ids included: no model writes as much.
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

/// How the answer comes.
enum Form {
    /// As server-sent events.
    Events(EventReader),
    /// In one piece, from a server that does not stream.
    OneBody(Vec<u8>),
}

struct Incoming {
    response: Response,
    form: Form,
    outbox: Outbox,
    /// Longest time without an event. Comments that keep a connection open are none.
    silence: Duration,
    /// When the last event came.
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

    /// The body is over. An answer that never said that it stopped was cut off.
    fn end(&mut self) {
        let outbox = &mut self.outbox;
        match &mut self.form {
            Form::Events(reader) => reader.finish(&mut |data| outbox.event(data)),
            Form::OneBody(body) => outbox.event(body),
        }
        outbox.fail(BackendError::new(BackendFault::Died, "the backend went away in the middle of its answer"));
    }
}

/// The pieces that wait to be taken.
struct Outbox {
    reader: Box<dyn Reader>,
    ready: VecDeque<Result<Piece, BackendError>>,
    stopped: bool,
    over: bool,
    /// Events that came.
    events: u64,
    /// Bytes of text and ids that came.
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

    /// After an error nothing follows; once the model has stopped, an error takes nothing away.
    fn fail(&mut self, error: BackendError) {
        if !self.over && !self.stopped {
            self.ready.push_back(Err(error));
        }
        self.over = true;
    }
}
