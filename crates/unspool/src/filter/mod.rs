//! Named text filters over reasoning and content.
//!
//! A filter sees the text of one field in the pieces that the flow emits. Held text goes out before an event of another
//! kind, so the parts keep their order and the result does not depend on the split.

mod backslash;
mod citations;

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::event::{Event, Sink};
use crate::format::file::Filter;
use crate::span::Span;

use backslash::Backslash;
use citations::{Citations, Gone};

/// One filter over one field.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Stage {
    Backslash(Backslash),
    Citations(Citations),
}

impl Stage {
    fn new(name: Filter) -> Self {
        match name {
            Filter::BackslashNewline => Self::Backslash(Backslash::default()),
            Filter::Citations => Self::Citations(Citations::default()),
        }
    }

    /// Whether this text passes through unchanged, without a change of the filter's state.
    #[inline]
    fn passes(&self, text: &str) -> bool {
        match self {
            Self::Backslash(stage) => stage.passes(text),
            Self::Citations(stage) => stage.passes(text),
        }
    }

    fn push(&mut self, (text, from): (&str, u64), over: bool, out: &mut String, gone: &mut Gone<'_>) {
        match self {
            Self::Backslash(stage) => stage.push(text, over, out),
            Self::Citations(stage) => stage.push((text, from), over, out, gone),
        }
    }
}

/// The two fields that are filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Field {
    Reasoning,
    Content,
}

impl Field {
    fn said(self, text: &str) -> Event<'_> {
        match self {
            Self::Reasoning => Event::Reasoning(text),
            Self::Content => Event::Content(text),
        }
    }
}

/// The filters of a format, in order, for both fields.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Filters {
    reasoning: Vec<Stage>,
    content: Vec<Stage>,
    /// The last written field.
    last: Option<Field>,
    /// Offset of the next text in the output.
    at: u64,
    /// The range of the text that was read and not emitted yet.
    from: u64,
    read: u64,
    /// Buffer for the text between two stages, reused so that a delta does not allocate.
    #[serde(skip)]
    room: [String; 2],
}

impl Filters {
    /// The filters of these names.
    pub(crate) fn new(names: &[Filter]) -> Self {
        let stages = || names.iter().map(|name| Stage::new(*name)).collect();
        Self { reasoning: stages(), content: stages(), last: None, at: 0, from: 0, read: 0, room: Default::default() }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.content.is_empty()
    }

    /// A sink that filters on the way to `sink`.
    pub(crate) fn over<'a, S: Sink>(&'a mut self, sink: &'a mut S) -> Filtering<'a, S> {
        Filtering { filters: self, sink }
    }

    /// Sets the position of the next text.
    fn begin(&mut self, span: Span) {
        if span.start != self.read {
            self.from = span.start;
        }
        (self.at, self.read) = (span.start, span.end);
    }

    /// Emits the text that the filters hold.
    pub(crate) fn finish(&mut self, sink: &mut impl Sink) {
        self.flush(sink);
    }

    fn flush(&mut self, sink: &mut impl Sink) {
        if let Some(field) = self.last.take() {
            self.run(field, "", true, sink);
        }
    }

    fn run(&mut self, field: Field, text: &str, over: bool, sink: &mut impl Sink) {
        let stages = match field {
            Field::Reasoning => &mut self.reasoning,
            Field::Content => &mut self.content,
        };
        let at = self.at;
        self.at += text.len() as u64;
        if !over && stages.iter().all(|stage| stage.passes(text)) {
            let span = Span::new(self.from, self.read.max(self.from));
            self.from = span.end;
            sink.event_at(field.said(text), span);
            return;
        }
        let [now, next] = &mut self.room;
        now.clear();
        now.push_str(text);
        let mut gone = |offset: u64, text: &str| {
            let what = "the format's filter takes this out of the text";
            sink.event(Event::Diagnostic(Diagnostic::new(DiagnosticKind::TextFiltered, offset, text, what)));
        };
        for stage in stages {
            next.clear();
            stage.push((now, at), over, next, &mut gone);
            std::mem::swap(now, next);
        }
        if now.is_empty() {
            return;
        }
        let span = Span::new(self.from, self.read.max(self.from));
        self.from = span.end;
        sink.event_at(field.said(now), span);
    }
}

/// Filters text events; held text goes out before any other event.
pub(crate) struct Filtering<'a, S> {
    filters: &'a mut Filters,
    sink: &'a mut S,
}

impl<S: Sink> Sink for Filtering<'_, S> {
    fn event(&mut self, event: Event<'_>) {
        let at = self.filters.at;
        self.event_at(event, Span::empty(at));
    }

    fn event_at(&mut self, event: Event<'_>, span: Span) {
        let (field, text) = match event {
            Event::Reasoning(text) => (Field::Reasoning, text),
            Event::Content(text) => (Field::Content, text),
            other => {
                if !matches!(other, Event::Diagnostic(_)) {
                    self.filters.flush(self.sink);
                }
                self.sink.event_at(other, span);
                return;
            }
        };
        if self.filters.last.is_some_and(|last| last != field) {
            self.filters.flush(self.sink);
        }
        self.filters.last = Some(field);
        self.filters.begin(span);
        self.filters.run(field, text, false, self.sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The filtered and the removed text, the same for every split into two and for single characters.
    fn filtered(name: Filter, text: &str) -> (String, String) {
        let run = |pieces: &[&str]| {
            let mut filters = Filters::new(&[name]);
            let (mut out, mut diagnostics) = (String::new(), Vec::new());
            let mut sink = |event: Event<'_>| match event {
                Event::Content(text) => out.push_str(text),
                Event::Diagnostic(note) => diagnostics.push(note),
                _ => {}
            };
            let mut at = 0;
            for piece in pieces {
                let mut filtering = filters.over(&mut sink);
                filtering.event_at(Event::Content(piece), Span::of(at, piece));
                at += piece.len() as u64;
            }
            filters.finish(&mut sink);
            (out, diagnostics)
        };
        let whole = run(&[text]);
        for (cut, _) in text.char_indices() {
            assert_eq!(run(&[&text[..cut], &text[cut..]]), whole, "cut at {cut} of {text:?}");
        }
        let single: Vec<&str> = text.char_indices().map(|(i, c)| &text[i..i + c.len_utf8()]).collect();
        assert_eq!(run(&single), whole);
        for note in &whole.1 {
            let at = usize::try_from(note.offset).expect("a place in the text");
            assert_eq!(&text[at..at + note.text.len()], note.text, "the offset is that of the text");
        }
        let gone: Vec<&str> = whole.1.iter().map(|note| note.text.as_str()).collect();
        (whole.0, gone.join(" "))
    }

    #[test]
    fn written_line_breaks_become_real_ones_outside_code_and_formulas() {
        let text = r"a\nb\r\nc \\n `x\ny` $p\nq$ \(r\ns\) ```k\nl``` m\";
        let want = "a\nb\nc \\\\n `x\\ny` $p\\nq$ \\(r\\ns\\) ```k\\nl``` m\\";
        assert_eq!(filtered(Filter::BackslashNewline, text).0, want);
        assert_eq!(filtered(Filter::BackslashNewline, r"\r\rx\q").0, "\n\nx\\q");
    }

    #[test]
    fn citation_marks_go_and_their_text_stays() {
        let text = "The <co>sill dries</co: 0:[1,2]> at five <c> </cot <co>x</co>.<co";
        let (left, gone) = filtered(Filter::Citations, text);
        assert_eq!(left, "The sill dries at five <c> </cot x.<co");
        assert_eq!(gone, "<co> </co: 0:[1,2]> <co> </co>");
    }
}
