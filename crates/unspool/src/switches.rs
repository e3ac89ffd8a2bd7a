//! The switches of a request: whether the model should think.

use serde_json::{Map, Value};

use crate::error::Error;
use crate::format::file::Switches;
use crate::request::Request;

/// The chat-template arguments as vLLM merges them: the top-level effort takes precedence and sets `enable_thinking`.
pub(crate) fn kwargs(request: &Request) -> Map<String, Value> {
    let mut kwargs = request.chat_template_kwargs.clone();
    if let Some(effort) = &request.reasoning_effort {
        kwargs.insert("reasoning_effort".into(), Value::String(effort.clone()));
        kwargs.entry("enable_thinking").or_insert(Value::Bool(effort != "none"));
    }
    kwargs
}

/// Whether thinking is on for a request.
pub(crate) fn thinks(switches: &Switches, kwargs: &Map<String, Value>) -> Result<bool, Error> {
    let effort = kwargs.get("reasoning_effort");
    if let Some(effort) = effort
        && !switches.effort.is_empty()
        && !effort.as_str().is_some_and(|e| switches.effort.iter().any(|allowed| allowed == e))
    {
        let allowed = switches.effort.join("`, `");
        return Err(Error::request(&format!("unsupported `reasoning_effort`: {effort}"))
            .hint(format!("this model's values are `{allowed}`")));
    }
    if let Some(effort) = effort.and_then(Value::as_str)
        && !switches.effort_off.is_empty()
    {
        if switches.effort_off.iter().any(|off| off == effort) {
            return Ok(false);
        }
        if switches.keys.is_empty() {
            return Ok(true);
        }
    }
    let mut present = switches.keys.iter().filter_map(|key| kwargs.get(key)).peekable();
    Ok(if present.peek().is_some() { present.any(truthy) } else { switches.default })
}

/// Truth as a chat template sees it.
pub(crate) fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(b) => *b,
        Value::Number(n) => n.as_f64() != Some(0.0),
        Value::String(s) => !s.is_empty(),
        Value::Array(a) => !a.is_empty(),
        Value::Object(o) => !o.is_empty(),
    }
}
