//! Says whether two runs of the same output gave the same.

use unspool::ToolCall;

use crate::watch::Answer;

/// How an answer differs from the one that all cuts of its kind must share, byte for byte.
pub(crate) fn cut_differences(canonical: &Answer, answer: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    let (one, other) = (&canonical.message, &answer.message);
    for (field, a, b) in [("reasoning", &one.reasoning, &other.reasoning), ("content", &one.content, &other.content)] {
        if a != b {
            found.push(format!("{field} depends on the cut: {b:?}, not {a:?}"));
        }
    }
    if one.tool_calls != other.tool_calls {
        found.push(format!(
            "calls depend on the cut: {:?}, not {:?}",
            short(&other.tool_calls),
            short(&one.tool_calls)
        ));
    }
    if one.diagnostics != other.diagnostics {
        found.push(format!("diagnostics depend on the cut: {:?}, not {:?}", other.diagnostics, one.diagnostics));
    }
    if canonical.spans != answer.spans {
        found.push(format!("places depend on the cut: {:?}, not {:?}", answer.spans, canonical.spans));
    }
    if canonical.finish.reason != answer.finish.reason {
        found.push("finish_reason depends on the cut".to_owned());
    }
    found
}

/// Calls in few words.
pub(crate) fn short(calls: &[ToolCall]) -> Vec<String> {
    calls.iter().map(|call| format!("{}({})", call.name, call.arguments)).collect()
}
