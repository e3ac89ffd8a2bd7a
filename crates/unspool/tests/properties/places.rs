//! Where in the output an answer's fields stand.

use unspool::span::Span;

use crate::watch::Answer;

/// What is wrong with the places of an answer to this output: where a piece is as long as its place, it is the text there, and
/// no two fields have a byte in common.
pub(crate) fn place_faults(answer: &Answer, output: &str) -> Vec<String> {
    let at = |span: Span| output.get(usize::try_from(span.start).ok()?..usize::try_from(span.end).ok()?);
    let wrong = |(span, text): &&(Span, String)| span.len() == text.len() as u64 && at(*span) != Some(text.as_str());
    let mut found: Vec<String> = answer
        .texts
        .iter()
        .filter(wrong)
        .map(|(span, text)| format!("{text:?} is said to be at {span:?}, where {:?} stands", at(*span)))
        .collect();
    let mut all: Vec<(Span, &str)> = Vec::new();
    all.extend(answer.spans.reasoning.iter().map(|span| (*span, "reasoning")));
    all.extend(answer.spans.content.iter().map(|span| (*span, "content")));
    all.extend(answer.spans.calls.iter().map(|call| (call.whole, "call")));
    all.sort_by_key(|(span, _)| (span.start, span.end));
    let pairs = all.windows(2).filter(|pair| pair[1].0.start < pair[0].0.end);
    found.extend(pairs.map(|pair| format!("{:?} and {:?} overlap", pair[0], pair[1])));
    found.extend(
        all.last()
            .filter(|(span, _)| span.end > output.len() as u64)
            .map(|last| format!("{last:?} is beyond the output")),
    );
    for call in &answer.spans.calls {
        let inside = |span: &&Span| span.start < call.whole.start || span.end > call.whole.end;
        found.extend(
            call.arguments.iter().find(inside).map(|span| format!("arguments at {span:?} outside of {:?}", call.whole)),
        );
    }
    found
}
