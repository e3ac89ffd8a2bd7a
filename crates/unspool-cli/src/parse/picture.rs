//! Prints the parts of a reply for people.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use anstyle::{AnsiColor, Style};
use unspool::{Diagnostic, Finish, FinishReason, Message};

use crate::failure::Failure;

/// Style of the heading of a part.
const HEADING: Style = AnsiColor::Cyan.on_default().bold();
/// Style of the remark next to a heading.
const ASIDE: Style = Style::new().dimmed();
/// Bytes of raw output that a diagnostic shows around its position.
const AROUND: usize = 160;

/// Prints all parts, then the diagnostics.
pub(crate) fn print(message: &Message, finish: &Finish, raw: &str) -> Result<(), Failure> {
    let mut out = String::new();
    let counted = finish.reasoning_tokens.map(|tokens| format!("{tokens} tokens")).unwrap_or_default();
    part(&mut out, "reasoning", &counted, &message.reasoning);
    part(&mut out, "content", "", &message.content);
    for (index, call) in message.tool_calls.iter().enumerate() {
        let cut = if call.complete { "" } else { ", incomplete" };
        part(&mut out, &format!("call {index}: {}", call.name), &format!("{}{cut}", call.id), &call.arguments);
    }
    let reason = match finish.reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
    };
    let _ = writeln!(out, "{HEADING}finish_reason{HEADING:#}: {reason}");
    for diagnostic in &message.diagnostics {
        let _ = writeln!(out, "\n{}", snippet(diagnostic, raw));
    }
    Ok(anstream::stdout().write_all(out.as_bytes())?)
}

/// A heading and its text, indented; nothing for an empty field.
fn part(out: &mut String, heading: &str, aside: &str, text: &str) {
    if text.is_empty() && aside.is_empty() {
        return;
    }
    let _ = write!(out, "{HEADING}{heading}{HEADING:#}");
    if !aside.is_empty() {
        let _ = write!(out, "  {ASIDE}({aside}){ASIDE:#}");
    }
    out.push('\n');
    for line in text.lines() {
        let _ = writeln!(out, "  {line}");
    }
    out.push('\n');
}

/// A diagnostic with its position in the raw output.
fn snippet(diagnostic: &Diagnostic, raw: &str) -> String {
    let kind = serde_json::to_value(diagnostic.kind).ok();
    let kind = kind.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
    let span = place(diagnostic, raw);
    let (window, line) = window(raw, &span);
    let shown = raw.get(window.clone()).unwrap_or_default();
    let span = span.start - window.start..span.end - window.start;
    let source = Snippet::source(shown).line_start(line).path("raw output");
    let report = &[Level::WARNING
        .primary_title(format!("{kind}: {} (byte {})", diagnostic.message, diagnostic.offset))
        .element(source.annotation(AnnotationKind::Primary.span(span)))];
    Renderer::styled().render(report)
}

/// The bytes of a diagnostic, at character boundaries.
fn place(diagnostic: &Diagnostic, raw: &str) -> Range<usize> {
    let offset = usize::try_from(diagnostic.offset).unwrap_or(usize::MAX).min(raw.len());
    let start = floor(raw, offset);
    let same = raw.get(start..).is_some_and(|rest| rest.starts_with(&diagnostic.text));
    let length = if same { diagnostic.text.len() } else { 1 };
    start..ceil(raw, start + length)
}

/// The part of the raw output to show around a position, and the number of its first line.
fn window(raw: &str, place: &Range<usize>) -> (Range<usize>, usize) {
    let earliest = floor(raw, place.start.saturating_sub(AROUND));
    let before = raw.get(earliest..place.start).unwrap_or_default();
    let start = before.rfind('\n').map_or(earliest, |at| earliest + at + 1);
    let latest = ceil(raw, place.end + AROUND);
    let after = raw.get(place.end..latest).unwrap_or_default();
    let end = after.find('\n').map_or(latest, |at| place.end + at);
    let line = 1 + raw.get(..start).unwrap_or_default().matches('\n').count();
    (start..end, line)
}

/// The nearest character boundary at or before a byte.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The nearest character boundary at or after a byte.
fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use unspool::DiagnosticKind;

    use super::*;

    #[test]
    fn a_diagnostic_shows_its_place() {
        let raw = "Größe.\n<tool_call>{bad}\nend";
        let offset = raw.find("{bad}").unwrap() as u64;
        let text = snippet(&Diagnostic::new(DiagnosticKind::CallBroken, offset, "{bad}", "no name"), raw);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert!(plain.starts_with("warning: call_broken: no name"), "{plain}");
        assert!(plain.contains("2 | <tool_call>{bad}"), "{plain}");
        assert!(plain.contains("           ^^^^^"), "{plain}");
    }

    #[test]
    fn any_place_is_shown_without_a_panic() {
        let raw = "é\n".repeat(400);
        for offset in [0, 1, 2, 3, 599, 1200, 5000] {
            let diagnostic = Diagnostic::new(DiagnosticKind::UnplacedText, offset, "x", "odd");
            assert!(!snippet(&diagnostic, &raw).is_empty());
            assert!(!snippet(&diagnostic, "").is_empty());
        }
    }
}
