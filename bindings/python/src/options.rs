//! The keyword arguments of `Pair`.

use serde_json::Value;
use unspool::{CallIds, IncompleteCalls, Limit, Limits};

use crate::error::Fault;

/// How to treat a call that never completes.
pub(crate) fn incomplete_calls(name: Option<&str>) -> Result<IncompleteCalls, Fault> {
    match name {
        None | Some("stream") => Ok(IncompleteCalls::Stream),
        Some("text") => Ok(IncompleteCalls::Text),
        Some("drop") => Ok(IncompleteCalls::Drop),
        Some(other) => Err(Fault::new("argument", format!("`{other}` is not a value of `incomplete_calls`"))
            .hint("write \"stream\", \"text\" or \"drop\"")
            .at("incomplete_calls")),
    }
}

/// The shape of call ids.
pub(crate) fn call_ids(given: Option<&Value>) -> Result<CallIds, Fault> {
    let length = given.and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok());
    match (given, length) {
        (None | Some(Value::Null), _) => Ok(CallIds::Format),
        (_, Some(length @ 1..=256)) => Ok(CallIds::Letters(length)),
        (Some(Value::String(text)), _) if text.is_empty() => Ok(CallIds::Left),
        (Some(Value::String(text)), _) if text == "random" => Ok(CallIds::Random),
        (Some(Value::String(text)), _) if text.contains("{index}") => Ok(CallIds::Pattern(text.clone())),
        _ => Err(Fault::new("argument", "invalid `call_ids`")
            .hint("write \"random\", a number of letters and digits, a pattern such as \"functions.{name}:{index}\", or \"\" for none")
            .at("call_ids")),
    }
}

/// The parser's limits.
pub(crate) fn limits(given: Option<&Value>) -> Result<Limits, Fault> {
    let mut limits = Limits::default();
    for (name, value) in given.and_then(Value::as_object).into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        limits.set(&Limit::new(name, &text)?);
    }
    Ok(limits)
}
