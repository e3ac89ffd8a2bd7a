//! A cache of recent constraints. Clients usually send the same tools again, and their constraints can be megabytes.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::Constraint;
use crate::request::ChatRequest;

/// Maximum number of cached constraints.
const KEPT: usize = 32;
/// Maximum size in bytes, including the keys.
const MOST_BYTES: usize = 64 << 20;

/// The latest constraints, by the inputs that determine them.
#[derive(Debug, Default)]
pub(super) struct Memory {
    kept: Mutex<VecDeque<(String, Option<Constraint>)>>,
}

impl Memory {
    /// The constraint for this key; built and cached if missing.
    pub(super) fn find<E>(
        &self,
        key: String,
        make: impl FnOnce() -> Result<Option<Constraint>, E>,
    ) -> Result<Option<Constraint>, E> {
        // Nothing is half-done under the lock, so its contents are valid after a panic.
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut kept = lock();
            if let Some(at) = kept.iter().position(|(known, _)| *known == key)
                && let Some(entry) = kept.remove(at)
            {
                let found = entry.1.clone();
                kept.push_front(entry);
                return Ok(found);
            }
        }
        let made = make()?;
        let mut kept = lock();
        kept.truncate(KEPT - 1);
        kept.push_front((key, made.clone()));
        let mut bytes = 0;
        kept.retain(|entry| {
            bytes += weight(entry);
            bytes <= MOST_BYTES
        });
        Ok(made)
    }
}

/// Size of an entry in bytes.
fn weight((key, constraint): &(String, Option<Constraint>)) -> usize {
    key.len()
        + match constraint {
            Some(Constraint::Tag(text) | Constraint::Lark(text) | Constraint::Gbnf(text)) => text.len(),
            Some(Constraint::Json(schema)) => size(schema),
            Some(Constraint::AsSent | Constraint::Free) | None => 0,
        }
}

/// Size of a JSON value in memory, which is several times that of its text.
fn size(value: &Value) -> usize {
    let inner = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.capacity(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| size_of::<String>() + key.capacity() + size(value)).sum()
        }
    };
    size_of::<Value>() + inner
}

/// The parts of a request that determine its constraint. `counts`: include the number of earlier calls, for formats
/// that number them.
pub(super) fn key(request: &ChatRequest, state: &str, counts: bool) -> String {
    let parse = &request.parse;
    json!([
        state,
        request.tools,
        format!("{:?}", parse.tool_choice),
        parse.parallel_tool_calls,
        parse.chat_template_kwargs,
        parse.reasoning_effort,
        request.response_format,
        request.sampling.others.get("structured_outputs"),
        counts.then_some(parse.calls_before),
    ])
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_counts_as_it_lies_in_memory() {
        // Each number takes a place of its own, whatever its text.
        let numbers = json!({"enum": vec![1; 1000]});
        assert!(size(&numbers) >= 1000 * size_of::<Value>());
        let key = numbers.to_string();
        assert!(weight(&(key.clone(), Some(Constraint::Json(numbers)))) > 8 * key.len());
    }

    #[test]
    fn what_was_made_lately_is_not_made_again() {
        let memory = Memory::default();
        let mut made = Vec::new();
        let mut find = |key: usize| {
            let constraint = memory.find(key.to_string(), || {
                made.push(key);
                Ok::<_, ()>(Some(Constraint::Lark(key.to_string().into())))
            });
            assert_eq!(constraint, Ok(Some(Constraint::Lark(key.to_string().into()))));
        };
        [0, 1, 0].into_iter().for_each(&mut find);
        // The first one is used all the time, the second one is evicted.
        (2..KEPT + 1).for_each(|key| {
            find(key);
            find(0);
        });
        [0, 1].into_iter().for_each(&mut find);
        assert_eq!(made, (0..=KEPT).chain([1]).collect::<Vec<_>>());
        let big: std::sync::Arc<str> = "a".repeat(MOST_BYTES).into();
        let _ = memory.find("big".into(), || Ok::<_, ()>(Some(Constraint::Tag(big))));
        assert_eq!(memory.find("big".into(), || Ok::<_, ()>(None)), Ok(None), "what is too big is not kept");
        assert_eq!(memory.find("x".into(), || Err(7)), Err(7), "a fault is not kept");
        assert_eq!(memory.find("x".into(), || Ok::<_, ()>(None)), Ok(None));
    }
}
