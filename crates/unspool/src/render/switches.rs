//! Whether a request has thinking on.

use serde_json::Value;

use crate::format::file::Switches;
use crate::request::Request;

/// The kwarg that a top-level `reasoning_effort` sets, too.
const ENABLE: &str = "enable_thinking";

/// Whether thinking is on.
pub(super) fn thinks(switches: &Switches, request: &Request) -> bool {
    let kwargs = &request.chat_template_kwargs;
    let top_level = request.reasoning_effort.as_deref();
    let effort = top_level.or_else(|| kwargs.get("reasoning_effort").and_then(Value::as_str));
    if effort.is_some_and(|e| switches.effort_off.iter().any(|off| off == e)) {
        return false;
    }
    let mut given: Vec<bool> = switches.keys.iter().filter_map(|k| kwargs.get(k)).map(is_true).collect();
    if let Some(effort) = top_level
        && switches.keys.iter().any(|k| k == ENABLE)
        && !kwargs.contains_key(ENABLE)
    {
        given.push(effort != "none");
    }
    if !given.is_empty() {
        return given.contains(&true);
    }
    switches.default || (effort.is_some() && !switches.effort_off.is_empty())
}

/// Whether a value counts as true, as templates see it.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(b) => *b,
        Value::Number(n) => n.as_f64() != Some(0.0),
        Value::String(s) => !s.is_empty(),
        Value::Array(a) => !a.is_empty(),
        Value::Object(o) => !o.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(value: &Value) -> Request {
        Request::from_openai(value).unwrap()
    }

    #[test]
    fn a_present_key_decides_over_the_default() {
        let switches: Switches = toml::from_str("keys = [\"thinking\", \"enable_thinking\"]\ndefault = false").unwrap();
        let asks = |kwargs: Value| thinks(&switches, &request(&json!({ "chat_template_kwargs": kwargs })));
        assert!(!asks(json!({})));
        assert!(asks(json!({"thinking": true, "enable_thinking": false})));
        assert!(!asks(json!({"thinking": null})));
        assert!(thinks(&switches, &request(&json!({"reasoning_effort": "low"}))));
        assert!(!thinks(&switches, &request(&json!({"reasoning_effort": "none"}))));
    }

    #[test]
    fn an_effort_that_means_off_is_off_and_another_is_on() {
        let switches: Switches = toml::from_str("effort_off = [\"no_think\"]\ndefault = false").unwrap();
        assert!(!thinks(&switches, &request(&json!({}))));
        assert!(thinks(&switches, &request(&json!({"reasoning_effort": "low"}))));
        assert!(!thinks(&switches, &request(&json!({"chat_template_kwargs": {"reasoning_effort": "no_think"}}))));
    }
}
