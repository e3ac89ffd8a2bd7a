//! Says how an answer differs from what a case expects.

use unspool::{FinishReason, IncompleteCalls, Message, ToolCall};

use crate::case::{Case, Expect, ExpectedCall};
use crate::doors::{Feed, Known};
use crate::json::Json;
use crate::same::short;
use crate::watch::Answer;

/// A string argument of this length must not wait for its end.
const LONG_STRING: usize = 40;

/// All that is wrong with an answer; empty: nothing.
pub(crate) fn differences(case: &Case, known: Known, feed: &Feed, answer: &Answer) -> Vec<String> {
    let mut found = answer.faults.clone();
    let first = match (known, &case.expect_text_only) {
        (Known::Text, Some(expect)) => expect,
        _ => &case.expect,
    };
    if first.error.is_some() {
        found.extend(refusal(answer));
        return found;
    }
    if let Some(refusal) = &answer.refused {
        found.push(format!("refused: {refusal}"));
        return found;
    }
    let mut value = value_differences(case, first, answer);
    if case.also_ok.iter().any(|other| value_differences(case, other, answer).is_empty()) {
        value.clear();
    }
    found.extend(value);
    if feed.counts {
        found.extend(count_differences(case, known, feed, answer));
    }
    found.extend(extra_differences(case, feed, answer));
    found
}

fn refusal(answer: &Answer) -> Option<String> {
    match &answer.refused {
        None => Some("accepted, but must be refused".to_owned()),
        Some(text) if !text.starts_with("request: ") => Some(format!("refused, but not as a request: {text}")),
        Some(_) => None,
    }
}

fn value_differences(case: &Case, expect: &Expect, answer: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    let compare = match (case.exact, expect.whitespace.as_deref()) {
        (true, _) => Compare::Exact,
        (_, Some("loose")) => Compare::Loose,
        _ => Compare::Trimmed,
    };
    let message = &answer.message;
    found.extend(text_difference("reasoning", expect.reasoning.as_deref(), &message.reasoning, compare));
    if !expect.content_any {
        found.extend(text_difference("content", expect.content.as_deref(), &message.content, compare));
        if case.strict_empty_content() && expect.content.is_none() && !message.content.is_empty() {
            found.push(format!("content is {:?}, not empty", message.content));
        }
    }
    found.extend(calls_difference(case, expect, message));
    if let Some(reason) = expect.finish_reason.filter(|reason| *reason != answer.finish.reason) {
        found.push(format!("finish_reason is {:?}, not {reason:?}", answer.finish.reason));
    }
    if let Some(events) = expect.events.as_ref().filter(|events| **events != answer.parts) {
        found.push(format!("parts are {:?}, not {events:?}", answer.parts));
    }
    found
}

/// How much of the white space of a field counts.
#[derive(Debug, Clone, Copy)]
enum Compare {
    /// All.
    Exact,
    /// That between words.
    Trimmed,
    /// None.
    Loose,
}

fn text_difference(field: &str, expected: Option<&str>, given: &str, compare: Compare) -> Option<String> {
    let expected = expected.unwrap_or_default();
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let same = match compare {
        Compare::Exact => expected == given,
        Compare::Trimmed => expected.trim() == given.trim(),
        Compare::Loose => bare(expected) == bare(given),
    };
    (!same).then(|| format!("{field} is {given:?}, not {expected:?}"))
}

fn calls_difference(case: &Case, expect: &Expect, message: &Message) -> Option<String> {
    let expected = expect.tool_calls.as_deref().unwrap_or_default();
    let given = &message.tool_calls;
    if expected.len() != given.len() {
        return Some(format!("{} calls, not {}: {:?}", given.len(), expected.len(), short(given)));
    }
    expected.iter().zip(given).enumerate().find_map(|(index, (expected, given))| {
        let cut_here = case.finish == Some(FinishReason::Length) && index + 1 == expect.tool_calls.as_ref()?.len();
        call_difference(expected, given, cut_here).map(|what| format!("call {index}: {what}"))
    })
}

fn call_difference(expected: &ExpectedCall, given: &ToolCall, cut_here: bool) -> Option<String> {
    if expected.name != given.name {
        return Some(format!("name is {:?}, not {:?}", given.name, expected.name));
    }
    if expected.id.as_ref().is_some_and(|id| *id != given.id) {
        return Some(format!("id is {:?}, not {:?}", given.id, expected.id));
    }
    if expected.partial == given.complete {
        return Some(format!("complete is {}; arguments {:?}", given.complete, given.arguments));
    }
    if expected.partial {
        let prefix = expected.arguments_prefix.as_deref().unwrap_or_default();
        let same = if cut_here { given.arguments == prefix } else { given.arguments.starts_with(prefix) };
        let how = if cut_here { "are" } else { "begin with" };
        return (!same).then(|| format!("arguments are {:?}; they must {how} {prefix:?}", given.arguments));
    }
    let wanted = expected.arguments.as_deref().map_or("null", |raw| raw.get());
    match (Json::parse(wanted), Json::parse(&given.arguments)) {
        (Ok(wanted), Ok(given)) if wanted == given => None,
        (Err(fault), _) => Some(format!("the case's own arguments are not JSON: {fault}")),
        (Ok(_), Ok(_)) => Some(format!("arguments are {}, not {wanted}", given.arguments)),
        (Ok(_), Err(fault)) => Some(format!("arguments {:?} are not JSON ({fault}), not {wanted}", given.arguments)),
    }
}

/// Tokens of the thought and the step of the gate; both need ids.
fn count_differences(case: &Case, known: Known, feed: &Feed, answer: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    let finish = &answer.finish;
    if known == Known::Text {
        if finish.reasoning_tokens.is_some() {
            found.push("reasoning_tokens without ids".to_owned());
        }
        return found;
    }
    if let Some(tokens) = case.expect.reasoning_tokens.filter(|tokens| *tokens != finish.reasoning_tokens) {
        found.push(format!("reasoning_tokens is {:?}, not {tokens:?}", finish.reasoning_tokens));
    }
    if let Some(step) = case.expect.reasoning_end_token.filter(|step| *step != finish.reasoning_end_token) {
        found.push(format!("gate_step is {:?}, not {step:?}", finish.reasoning_end_token));
    }
    if feed.token_steps && answer.gate != finish.reasoning_end_token {
        found.push(format!(
            "reasoning_ended turned at {:?}, reasoning_end_token is {:?}",
            answer.gate, finish.reasoning_end_token
        ));
    }
    found
}

/// The checks that some cases name, and the one that every long argument gets.
fn extra_differences(case: &Case, feed: &Feed, answer: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    let expect = &case.expect;
    if expect.diagnostic.is_some() && answer.message.diagnostics.is_empty() {
        found.push("no diagnostic".to_owned());
    }
    if expect.stream_indices.as_ref().is_some_and(|indices| *indices != answer.indices) {
        found.push(format!("call indices are {:?}, not {:?}", answer.indices, expect.stream_indices));
    }
    for part in expect.raw_arguments_contains.as_ref().map(|parts| parts.as_slice()).unwrap_or_default() {
        if !answer.message.tool_calls.iter().any(|call| call.arguments.contains(part)) {
            found.push(format!("no arguments contain {part:?}"));
        }
    }
    if let Some(limit) = case.limit_ms().filter(|limit| answer.took.as_millis() > u128::from(*limit)) {
        found.push(format!("took {:?}, limit {limit} ms", answer.took));
    }
    if feed.token_steps && answer.early_arguments < 2 && has_long_argument(case) {
        found.push(format!("arguments do not flow: {} events before the last token", answer.early_arguments));
    }
    found
}

fn has_long_argument(case: &Case) -> bool {
    let Some([call]) = case.expect.tool_calls.as_deref() else { return false };
    let json = call.arguments.as_deref().and_then(|raw| Json::parse(raw.get()).ok());
    case.incomplete_calls == IncompleteCalls::Stream
        && !call.partial
        && json.is_some_and(|json| json.longest_string() >= LONG_STRING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::CASES;

    /// The answer that a case asks for.
    fn right_answer(case: &Case) -> Answer {
        let mut answer = Answer::default();
        let expect = &case.expect;
        answer.message.reasoning = expect.reasoning.clone().unwrap_or_default();
        answer.message.content = expect.content.clone().unwrap_or_default();
        for (index, call) in expect.tool_calls.iter().flatten().enumerate() {
            let raw = call.arguments.as_deref().map_or("null", |raw| raw.get()).to_owned();
            answer.message.tool_calls.push(ToolCall {
                id: call.id.clone().unwrap_or_else(|| format!("call_{index}")),
                name: call.name.clone(),
                arguments: if call.partial { call.arguments_prefix.clone().unwrap_or_default() } else { raw },
                complete: !call.partial,
            });
        }
        answer.finish.reason = expect.finish_reason.unwrap_or_default();
        answer.parts = match expect.events.as_deref() {
            Some(_) => vec!["reasoning", "content", "tool_call", "reasoning", "content"],
            None => Vec::new(),
        };
        answer
    }

    #[test]
    fn right_answers_pass_and_others_do_not() {
        for case in CASES.iter().filter(|case| case.expect.error.is_none()) {
            let right = right_answer(case);
            assert_eq!(value_differences(case, &case.expect, &right), Vec::<String>::new(), "{}", case.id);
            let mut wrong = right.clone();
            wrong.message.reasoning.push('!');
            assert_eq!(value_differences(case, &case.expect, &wrong).len(), 1, "{}", case.id);
            for call in 0..right.message.tool_calls.len() {
                let mut wrong = right.clone();
                wrong.message.tool_calls[call].arguments.insert(0, '!');
                assert_eq!(value_differences(case, &case.expect, &wrong).len(), 1, "{}", case.id);
            }
        }
    }
}
