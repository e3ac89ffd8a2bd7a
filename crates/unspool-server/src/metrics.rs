//! Metrics: one observer per answer, next to the parser, so that all APIs are counted alike.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use metrics::{Counter, Key, KeyName, Label, Metadata, Recorder as _, Unit};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use unspool::DiagnosticKind;

use crate::error::StartupError;
use crate::line::{self, Line, Shared};
use crate::reply::{ReplyEvent, Step};

/// Bucket bounds for times, in seconds.
const SECONDS: [f64; 14] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0];
/// Bucket bounds for held-back bytes.
const BYTES: [f64; 10] = [0.0, 4.0, 16.0, 32.0, 64.0, 128.0, 256.0, 1024.0, 4096.0, 65536.0];

const REQUESTS: &str = "unspool_requests_total";
const ANSWERS: &str = "unspool_answers_total";
const CALLS: &str = "unspool_calls_total";
const PARTIAL: &str = "unspool_partial_calls_total";
const MALFORMED: &str = "unspool_malformed_calls_total";
const UNKNOWN: &str = "unspool_unknown_names_total";
const DIAGNOSTICS: &str = "unspool_diagnostics_total";
const DROPPED: &str = "unspool_dropped_bytes_total";
const PROMPT: &str = "unspool_prompt_tokens_total";
const COMPLETION: &str = "unspool_completion_tokens_total";
const REASONING: &str = "unspool_reasoning_tokens_total";
const HINTS: &str = "unspool_hints_total";
const HELD: &str = "unspool_held_back_bytes";
const FIRST_BYTE: &str = "unspool_time_to_first_byte_seconds";
const FIRST_CALL: &str = "unspool_time_to_first_call_seconds";
const DURATION: &str = "unspool_answer_seconds";

/// Name and description.
const COUNTERS: [(&str, &str); 12] = [
    (REQUESTS, "Requests by surface and HTTP status"),
    (ANSWERS, "Answers by why they ended; `aborted`: the client went away, `error`: the backend failed"),
    (CALLS, "Calls that were given to clients"),
    (PARTIAL, "Calls whose arguments never became complete"),
    (MALFORMED, "Calls with a fault in their text, each counted once, by its first fault"),
    (UNKNOWN, "Calls of a function that the request does not have"),
    (DIAGNOSTICS, "Oddities of the output, by kind"),
    (DROPPED, "Bytes of output that went neither to the client nor to a diagnostic nor were markup; always 0"),
    (HINTS, "Hints that another parser would read answers in which markup is left, by cause; at most one an hour"),
    (PROMPT, "Tokens of prompts, as far as they are known"),
    (COMPLETION, "Tokens of output"),
    (REASONING, "Tokens of thought; without token ids an estimate"),
];
/// Name, unit and description.
const HISTOGRAMS: [(&str, Unit, &str); 4] = [
    (HELD, Unit::Bytes, "The most bytes that an answer held back until their meaning was certain"),
    (FIRST_BYTE, Unit::Seconds, "From the request to the first thought, text or call"),
    (FIRST_CALL, Unit::Seconds, "From the request to the first call's name"),
    (DURATION, Unit::Seconds, "From the request to the end of the answer"),
];

/// The APIs that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// Chat completions.
    Chat,
    /// Raw completions.
    Completions,
    /// Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
}

impl Surface {
    /// The API of a path, if its requests are counted.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        match path {
            "/v1/chat/completions" => Some(Self::Chat),
            "/v1/completions" => Some(Self::Completions),
            "/v1/responses" => Some(Self::Responses),
            "/v1/messages" | "/v1/messages/count_tokens" => Some(Self::Messages),
            _ => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
            Self::Responses => "responses",
            Self::Messages => "messages",
        }
    }
}

/// The counters of one gateway.
pub struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    labels: RwLock<Vec<Label>>,
    /// The model's name is set.
    named: AtomicBool,
}

impl Metrics {
    /// Counters labelled with the names of the model and of the two halves; all possible ones start at 0.
    ///
    /// # Errors
    /// Never in practice: the buckets are constants.
    pub fn new(model: Option<&str>, reasoning: Option<&str>, tools: Option<&str>) -> Result<Self, StartupError> {
        let fault = |error| StartupError::new(format!("the metrics cannot be set up: {error}"));
        let buckets = |builder: PrometheusBuilder, name: &str, bounds: &[f64]| {
            builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), bounds).map_err(fault)
        };
        let mut builder = buckets(PrometheusBuilder::new(), HELD, &BYTES)?;
        for name in [FIRST_BYTE, FIRST_CALL, DURATION] {
            builder = buckets(builder, name, &SECONDS)?;
        }
        let recorder = builder.build_recorder();
        let label = |key: &'static str, value: Option<&str>| Label::new(key, value.unwrap_or("none").to_owned());
        let labels = vec![label("model", model), label("reasoning_parser", reasoning), label("tool_parser", tools)];
        let metrics =
            Self { handle: recorder.handle(), recorder, labels: RwLock::new(labels), named: AtomicBool::new(false) };
        for (name, says) in COUNTERS {
            metrics.recorder.describe_counter(KeyName::from_const_str(name), None, says.into());
        }
        for (name, unit, says) in HISTOGRAMS {
            metrics.recorder.describe_histogram(KeyName::from_const_str(name), Some(unit), says.into());
        }
        if let Some(model) = model {
            metrics.name_model(model);
        }
        Ok(metrics)
    }

    /// Sets the model's name, unless it has one; all possible counters start at 0.
    pub fn name_model(&self, model: &str) {
        if self.named.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(label) = self.labels.write().unwrap_or_else(PoisonError::into_inner).first_mut() {
            *label = Label::new("model", model.to_owned());
        }
        for name in [CALLS, PARTIAL, UNKNOWN, DROPPED, PROMPT, COMPLETION, REASONING] {
            self.counter(name, &[]).increment(0);
        }
    }

    /// All metrics in Prometheus' text format.
    #[must_use]
    pub fn text(&self) -> String {
        self.handle.render()
    }

    /// Folds the measurements since the last call, so that they take no more memory. Call it regularly.
    pub fn tidy(&self) {
        self.handle.run_upkeep();
    }

    /// Counts a request with this response status.
    pub(crate) fn request(&self, surface: Surface, status: u16) {
        let labels = [Label::new("surface", surface.word()), Label::new("status", status.to_string())];
        self.counter(REQUESTS, &labels).increment(1);
    }

    /// Counts a hint.
    pub(crate) fn hint(&self, cause: &str) {
        self.counter(HINTS, &[Label::new("cause", cause.to_owned())]).increment(1);
    }

    fn key(&self, name: &'static str, more: &[Label]) -> Key {
        let labels = self.labels.read().unwrap_or_else(PoisonError::into_inner);
        Key::from_parts(name, [&labels, more].concat())
    }

    fn counter(&self, name: &'static str, more: &[Label]) -> Counter {
        self.recorder.register_counter(&self.key(name, more), &METADATA)
    }

    fn record(&self, name: &'static str, value: f64) {
        self.recorder.register_histogram(&self.key(name, &[]), &METADATA).record(value);
    }
}

static METADATA: Metadata<'static> = Metadata::new("unspool", metrics::Level::INFO, Some(module_path!()));

/// Observes one answer.
pub struct Observer {
    metrics: Arc<Metrics>,
    surface: Surface,
    start: Instant,
    said: bool,
    called: bool,
    ended: bool,
    /// Whether the current call has been counted as malformed.
    malformed: bool,
    most_held: usize,
    /// The request's log line.
    line: Option<Shared>,
}

impl Observer {
    /// An observer of an answer to a request that arrives now.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>, surface: Surface) -> Self {
        Self {
            metrics,
            surface,
            start: Instant::now(),
            said: false,
            called: false,
            ended: false,
            malformed: false,
            most_held: 0,
            line: line::current(),
        }
    }

    /// Records how many bytes the parser holds back.
    pub(crate) fn held(&mut self, bytes: usize) {
        self.most_held = self.most_held.max(bytes);
    }

    /// A step of the answer.
    pub(crate) fn step(&mut self, step: &Step) {
        for event in &step.events {
            self.event(event);
        }
        let Some(ending) = &step.ending else { return };
        for (name, count) in
            [(PROMPT, step.tokens.prompt), (COMPLETION, step.tokens.completion), (REASONING, step.tokens.reasoning)]
        {
            self.metrics.counter(name, &[]).increment(count);
        }
        self.note_in_line(|line| {
            line.prompt = line.prompt.max(step.tokens.prompt);
            line.completion += step.tokens.completion;
        });
        self.end(match ending.reason.as_str() {
            "stop" => "stop",
            "length" => "length",
            "tool_calls" => "tool_calls",
            "content_filter" => "content_filter",
            // The backend's own reasons are unbounded, but labels must be bounded.
            _ => "other",
        });
    }

    fn note_in_line(&self, change: impl FnOnce(&mut Line)) {
        if let Some(line) = &self.line {
            change(&mut line.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Records a failure of the backend.
    pub(crate) fn failed(&mut self) {
        self.end("error");
    }

    fn event(&mut self, event: &ReplyEvent) {
        match event {
            ReplyEvent::Note(note) => return self.note(note.kind),
            ReplyEvent::CallStart { .. } => {
                self.metrics.counter(CALLS, &[]).increment(1);
                if !std::mem::replace(&mut self.called, true) {
                    self.metrics.record(FIRST_CALL, self.start.elapsed().as_secs_f64());
                }
            }
            ReplyEvent::CallEnd { complete, .. } => {
                self.malformed = false;
                self.metrics.counter(PARTIAL, &[]).increment(u64::from(!complete));
            }
            // Output after an error no longer belongs to that call, even if the call was never announced.
            ReplyEvent::Reasoning(_) | ReplyEvent::Content(_) => self.malformed = false,
            ReplyEvent::CallArguments { .. } | ReplyEvent::Probabilities { .. } => {}
        }
        if !std::mem::replace(&mut self.said, true) {
            self.note_in_line(|line| line.first = line.first.or_else(|| Some(line.elapsed())));
            self.metrics.record(FIRST_BYTE, self.start.elapsed().as_secs_f64());
        }
    }

    fn note(&mut self, kind: DiagnosticKind) {
        let word = serde_json::to_value(kind).ok().and_then(|word| word.as_str().map(str::to_owned));
        let word = word.unwrap_or_else(|| "other".to_owned());
        if kind == DiagnosticKind::UnknownFunction {
            self.metrics.counter(UNKNOWN, &[]).increment(1);
        }
        let is_fault =
            matches!(kind, DiagnosticKind::CallBroken | DiagnosticKind::NotJson | DiagnosticKind::UnplacedText);
        if is_fault && !std::mem::replace(&mut self.malformed, true) {
            self.metrics.counter(MALFORMED, &[Label::new("cause", word.clone())]).increment(1);
        }
        self.metrics.counter(DIAGNOSTICS, &[Label::new("kind", word)]).increment(1);
    }

    fn end(&mut self, reason: &'static str) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.note_in_line(|line| line.finish = Some(reason));
        let labels = [Label::new("surface", self.surface.word()), Label::new("finish_reason", reason)];
        self.metrics.counter(ANSWERS, &labels).increment(1);
        self.metrics.record(DURATION, self.start.elapsed().as_secs_f64());
        self.metrics.record(HELD, self.most_held as f64);
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.end("aborted");
    }
}
