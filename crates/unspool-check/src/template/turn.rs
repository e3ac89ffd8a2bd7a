//! Extracts the assistant turn from a rendered conversation.

use serde_json::{Map, Value};
use unspool_text::{PromptRequest, Prompter, TextError};

use super::conversations::{ANSWER, Case, answer, tools};

/// Renders conversations with one template and one set of switches.
pub(super) struct Stage<'a> {
    pub(super) prompter: &'a Prompter,
    pub(super) kwargs: &'a Map<String, Value>,
    pub(super) tools: Vec<Value>,
}

/// A turn as the template writes it.
pub(super) struct Turn {
    /// The prompt before it.
    pub(super) prompt: String,
    /// What the model would have written.
    pub(super) text: String,
    /// Whether the prompt for a new turn ends like the beginning of the history's turns.
    pub(super) begins_alike: bool,
    /// Start of the turn in the rendered conversation.
    pub(super) start: usize,
}

impl<'a> Stage<'a> {
    pub(super) fn new(prompter: &'a Prompter, kwargs: &'a Map<String, Value>) -> Self {
        Self { prompter, kwargs, tools: tools() }
    }

    /// The rendering request for these messages.
    fn request<'r>(&'r self, messages: &'r [Value], generation_prompt: bool) -> PromptRequest<'r> {
        PromptRequest {
            messages,
            tools: Some(&self.tools).filter(|tools| !tools.is_empty()).map(Vec::as_slice),
            documents: None,
            kwargs: self.kwargs,
            template: None,
            generation_prompt,
            continue_final: false,
        }
    }

    pub(super) fn render(&self, messages: &[Value], generation_prompt: bool) -> Result<String, TextError> {
        self.prompter.render(&self.request(messages, generation_prompt)).map(unspool_text::PromptText::into_text)
    }

    /// The line of the template that writes the text at `at` of the rendered messages.
    pub(super) fn line(&self, messages: &[Value], generation_prompt: bool, at: usize) -> Option<usize> {
        let lines = self.prompter.lines(&self.request(messages, generation_prompt)).ok()?;
        lines.iter().rev().find(|(range, _)| range.start <= at).map(|(_, line)| *line)
    }

    /// The turn of a conversation; `marks` are the parsers' markers.
    pub(super) fn turn(&self, case: &Case, marks: &[String]) -> Result<Turn, TextError> {
        let (prompt, whole) = (self.render(&case.before, true)?, self.render(&case.messages(), false)?);
        let begins_alike = whole.starts_with(&prompt);
        let last = case.before.last().and_then(|message| message["content"].as_str()).unwrap_or_default();
        let start = if begins_alike { prompt.len() } else { start(last, &prompt, &whole) };
        let text = self.without_end(&whole[start..], marks);
        Ok(Turn { prompt: whole[..start].to_owned(), text: text.to_owned(), begins_alike, start })
    }

    /// A turn without the text that the template writes after every turn. An engine stops at the last marker there, so
    /// nothing after it counts.
    fn without_end<'t>(&self, text: &'t str, marks: &[String]) -> &'t str {
        let (end, stop) = self.end().unwrap_or_default();
        let text = text.strip_suffix(&*end).or_else(|| text.trim_end().strip_suffix(end.trim())).unwrap_or(text);
        let stop = Some(stop).filter(|stop| !stop.is_empty() && !marks.contains(stop));
        stop.and_then(|stop| text.split_once(&*stop)).map_or(text, |(text, _)| text)
    }

    /// The text that the template writes after a turn, and the marker in it at which an engine stops.
    fn end(&self) -> Option<(String, String)> {
        let answer = answer();
        let whole = self.render(&answer.messages(), false).ok()?;
        let end = whole[whole.rfind(ANSWER)? + ANSWER.len()..].to_owned();
        let (bare, prompt) = (self.render(&answer.before, false).ok()?, self.render(&answer.before, true).ok()?);
        let stop = if bare == prompt {
            // The beginning of a new turn is at the very end.
            first_mark(&end[end.len() - common_end(&bare, &end)..])
        } else {
            last_mark(end.trim())
        };
        let stop = stop.unwrap_or_default().to_owned();
        Some((end, stop))
    }
}

/// The first complete marker of a text.
fn first_mark(text: &str) -> Option<&str> {
    let start = text.find(['<', '['])?;
    text[start..].find(['>', ']']).map(|end| &text[start..=start + end])
}

/// The marker at the end of a text.
pub(super) fn last_mark(text: &str) -> Option<&str> {
    let opens = if text.ends_with('>') { '<' } else { text.ends_with(']').then_some('[')? };
    text.rfind(opens).map(|at| &text[at..])
}

/// The start of a turn in the history that begins differently from a new one. `last` is the text of the previous
/// message, `prompt` the conversation up to the beginning of a new turn.
fn start(last: &str, prompt: &str, whole: &str) -> usize {
    let behind = |text: &str| text.rfind(last).filter(|_| !last.is_empty()).map(|at| at + last.len());
    let (Some(in_prompt), Some(in_whole)) = (behind(prompt), behind(whole)) else {
        return border(whole, 0, common(prompt, whole));
    };
    let (new, old) = (&prompt[in_prompt..], &whole[in_whole..]);
    // Some templates write the beginning of a new turn at the end unconditionally.
    let old = &old[..old.len() - common_end(new, old)];
    let cuts = new.char_indices().map(|(at, c)| at + c.len_utf8());
    let cuts: Vec<usize> = cuts.filter(|at| new[..*at].ends_with(['\n', '>', ']', ':', '\u{ff1a}'])).collect();
    // The last part of a new turn's beginning that the old turn has too, as long as possible.
    for end in cuts.iter().rev() {
        let starts = [0].iter().chain(cuts.iter().take_while(|cut| *cut < end));
        let mut pieces = starts.map(|start| new[*start..*end].trim_start()).filter(|piece| !piece.is_empty());
        if let Some((piece, at)) = pieces.find_map(|piece| old.find(piece).map(|at| (piece, at))) {
            return in_whole + at + piece.len();
        }
    }
    border(whole, in_whole, in_whole + common(new, old))
}

/// Length of the common beginning of two texts, in whole characters.
fn common(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// Length of the common end of two texts, in whole characters.
fn common_end(a: &str, b: &str) -> usize {
    a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// The last position from `first` to `last` outside of markers: it follows a line break or a closing bracket.
fn border(text: &str, first: usize, last: usize) -> usize {
    let is_border = |at: &usize| text.is_char_boundary(*at) && text[..*at].ends_with(['\n', '>', ']']);
    (first..=last).rev().find(is_border).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_border_is_outside_of_markers() {
        let text = "<|user|>\n<|assistant|>\n<tool_call>";
        assert_eq!(border(text, 9, 24), 23, "not behind the bracket that opens");
        assert_eq!(border("abc", 1, 2), 1);
        assert_eq!(common("aé1", "aé2"), 3);
    }

    #[test]
    fn a_turn_begins_behind_the_header() {
        let from = |new: &str, whole: &'static str| &whole[start("q", new, whole)..];
        let new = "<u>q<a>\n<think>\n";
        assert_eq!(from(new, "<u>q<a>\nhigh"), "high", "the history loses the thought");
        assert_eq!(from(new, "<u>q</u><a>\n<call>"), "<call>", "the question ends");
        assert_eq!(from("<u>q<a><think></think>", "<u>q<a></think>high"), "high", "it closes what it never opened");
        assert_eq!(from("<t><u>q[/U]", "<u>q[/U] high"), " high", "tools stand before the last question only");
        assert_eq!(from("<u>q", "<u>q</o>high"), "</o>high", "a new turn has no beginning");
        assert_eq!((last_mark("a</x><|end|>"), first_mark("</x><|end|>")), (Some("<|end|>"), Some("</x>")));
        assert_eq!((last_mark("a[/INST]"), last_mark("a.")), (Some("[/INST]"), None));
    }
}
