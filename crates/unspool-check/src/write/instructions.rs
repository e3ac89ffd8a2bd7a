//! Instructions for the model on how to write calls: our own words around an example in the format's syntax.

use serde_json::json;
use unspool::{Message, Pair, Request, ToolCall};

use super::family::Family;

/// A stand-in for a function's name.
const NAME: &str = "function_name";

/// The instructions for a pair.
pub(super) fn of(pair: &Pair, family: &Family) -> String {
    let (one, two) = (example(pair, family, 1), example(pair, family, 2));
    let Some(one) = one else { return String::new() };
    let mut out = format!(
        "To call a function, write its name and its arguments exactly like this, with the values of your choice:\n\n{one}\n\n\
         The arguments must follow the function's schema; leave out those that you do not need."
    );
    if let Some(two) = two.filter(|_| several(family)) {
        out.push_str(&format!(" To call several functions, write one call behind the other:\n\n{two}\n\n"));
    } else {
        out.push(' ');
    }
    out.push_str("Write nothing behind a call: its result comes with the next message. If no function helps, answer in plain words.");
    out
}

/// Whether several calls differ from one call repeated.
fn several(family: &Family) -> bool {
    family.in_list() || family.block.is_some() || !family.between().is_empty()
}

/// A number of calls in the format's syntax.
fn example(pair: &Pair, family: &Family, count: usize) -> Option<String> {
    let call = |at: usize| ToolCall {
        id: format!("call_id_{}", at + 1),
        name: if at == 0 { NAME.to_owned() } else { format!("another_{NAME}") },
        arguments: "{\"first_argument\": \"some text\", \"second_argument\": 3}".to_owned(),
        complete: true,
    };
    let message = Message { tool_calls: (0..count).map(call).collect(), ..Message::default() };
    let parameters = json!({"type": "object",
        "properties": {"first_argument": {"type": "string"}, "second_argument": {"type": "integer"}}});
    let tool = |call: &ToolCall| json!({"type": "function", "function": {"name": call.name, "parameters": parameters}});
    let tools: Vec<_> = message.tool_calls.iter().map(tool).collect();
    let request = Request::from_openai(&json!({"tools": tools})).ok()?;
    let text = pair.render(&message, &request).ok()?;
    Some(family.without_thought(&text).trim().to_owned())
}
