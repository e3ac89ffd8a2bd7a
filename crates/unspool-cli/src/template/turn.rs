//! Cuts the turn of the assistant out of a rendered conversation.

use serde_json::{Map, Value};
use unspool_text::{PromptRequest, Prompter, TextError};

use super::conversations::{ANSWER, Case, tools};

/// Renders conversations with one template and one set of its switches.
pub(super) struct Stage<'a> {
    pub(super) prompter: &'a Prompter,
    pub(super) kwargs: &'a Map<String, Value>,
    pub(super) tools: Vec<Value>,
}

/// A turn as the template writes it.
pub(super) struct Turn {
    /// The prompt in front of it.
    pub(super) prompt: String,
    /// What the model would have written.
    pub(super) text: String,
    /// Whether the prompt for a new turn ends as the history's turns begin.
    pub(super) begins_alike: bool,
    /// Where the turn begins in the rendered conversation.
    pub(super) start: usize,
}

impl<'a> Stage<'a> {
    pub(super) fn new(prompter: &'a Prompter, kwargs: &'a Map<String, Value>) -> Self {
        Self { prompter, kwargs, tools: tools() }
    }

    /// What a rendering of these messages is asked for.
    pub(super) fn request<'r>(&'r self, messages: &'r [Value], generation_prompt: bool) -> PromptRequest<'r> {
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

    /// The line of the template that writes what stands at `at` of the rendered messages.
    pub(super) fn line(&self, messages: &[Value], at: usize) -> Option<usize> {
        let lines = self.prompter.lines(&self.request(messages, false)).ok()?;
        lines.iter().rev().find(|(range, _)| range.start <= at).map(|(_, line)| *line)
    }

    /// The turn of a conversation.
    pub(super) fn turn(&self, case: &Case) -> Result<Turn, TextError> {
        let mut messages = case.before.clone();
        let (bare, prompt) = (self.render(&messages, false)?, self.render(&messages, true)?);
        messages.push(case.message());
        let whole = self.render(&messages, false)?;
        // Where the history's turn parts from the one that is about to be written.
        let shared = common(&prompt, &whole);
        let begins_alike = shared == prompt.len();
        let start = if begins_alike { shared } else { border(&whole, common(&bare, &whole), shared) };
        let text = &whole[start..];
        let end = self.end().unwrap_or_default();
        let text = match text.strip_suffix(&*end) {
            Some(text) => text,
            None => text.trim_end().strip_suffix(end.trim()).unwrap_or(text),
        };
        Ok(Turn { prompt: whole[..start].to_owned(), text: text.to_owned(), begins_alike, start })
    }

    /// What the template writes behind a turn.
    fn end(&self) -> Option<String> {
        let answer = super::conversations::cases().into_iter().next()?;
        let mut messages = answer.before.clone();
        messages.push(answer.message());
        let whole = self.render(&messages, false).ok()?;
        whole.rfind(ANSWER).map(|at| whole[at + ANSWER.len()..].to_owned())
    }
}

/// How far two texts are the same, in whole characters.
fn common(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// The last place from `first` to `last` that does not lie within a marker: it follows a line break or a bracket that closes.
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
}
