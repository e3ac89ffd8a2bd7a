//! White space beside markup, to the byte, for every name.

use serde_json::json;
use unspool::message::Message;
use unspool::{Pair, Request, ToolCall};

use crate::pairs::{Names, all_names};
use crate::{cut, parse, report};

const THOUGHT: &str = "Ebb at noon.";
const TEXT: &str = "Listen.";

/// One format, and what it writes.
struct Format<'a> {
    names: &'a Names,
    pair: Pair,
    request: Request,
}

impl Format<'_> {
    fn render(&self, reasoning: &str, content: &str, calls: usize) -> Option<String> {
        let mut message =
            Message { reasoning: reasoning.to_owned(), content: content.to_owned(), ..Message::default() };
        for i in 0..calls {
            let arguments = "{\"port\":\"Looe\"}".to_owned();
            let (id, name) = (format!("call{i:05}"), "tide".to_owned());
            message.tool_calls.push(ToolCall { id, name, arguments, complete: true });
        }
        self.pair.render(&message, &self.request).ok()
    }

    /// Reads a text whole, by character and in pieces.
    fn reads(&self, text: &str, expect: (&str, &str)) -> Result<(), String> {
        let characters: Vec<&str> = text.char_indices().map(|(i, c)| &text[i..i + c.len_utf8()]).collect();
        for pieces in [&[text][..], &characters, &cut(text, 7)] {
            let (message, _) = parse(&self.pair, &self.request, pieces.iter().copied());
            if (message.reasoning.as_str(), message.content.as_str()) != expect {
                let found = (message.reasoning, message.content);
                return Err(format!(
                    "{}: {found:?} instead of {expect:?} in {} pieces of {text:?}",
                    self.names,
                    pieces.len()
                ));
            }
        }
        Ok(())
    }

    /// Messages and frames keep their white space: whether the text to the user is written between markers.
    fn keeps(&self) -> bool {
        let plain = self.render("", TEXT, 0).unwrap_or_default();
        let thought = self.render(THOUGHT, TEXT, 0).unwrap_or_default();
        let framed = |text: &str| text.rfind(TEXT).is_some_and(|at| !text[at + TEXT.len()..].trim().is_empty());
        framed(&plain) || framed(&thought)
    }

    fn check(&self) -> Result<usize, String> {
        let mut checked = 0;
        let thought = self.render(THOUGHT, "", 0);
        for around in [(" \n\n\t", "\n  "), ("", " "), ("\n", "")] {
            let Some(text) = &thought else { break };
            let inside = format!("{}{THOUGHT}{}", around.0, around.1);
            self.reads(&text.replace(THOUGHT, &inside), (THOUGHT, ""))?;
            let at = text.find(THOUGHT).unwrap_or(0);
            self.reads(&format!("{}{inside}", &text[..at]), (THOUGHT, ""))?;
            checked += 2;
        }
        if let Some(text) = self.render(THOUGHT, TEXT, 0) {
            self.reads(&text.replace(TEXT, " \n\n  Listen. \n"), (THOUGHT, "  Listen. \n"))?;
            checked += 1;
        }
        if let Some(text) = self.render("", TEXT, 1).filter(|text| text.starts_with(TEXT)) {
            self.reads(&text.replace(TEXT, " \nListen. \n\t"), ("", " \nListen."))?;
            self.reads(&format!("{} \n \n\n  Over. ", text.replace(TEXT, "Listen. \n")), ("", "Listen.\n\n  Over. "))?;
            self.reads(&format!("{text}\n \n"), ("", TEXT))?;
            checked += 3;
        }
        if let Some(text) = self.render("", TEXT, 0).filter(|text| text == TEXT) {
            self.reads(&text.replace(TEXT, "\n Listen. \n\n"), ("", "\n Listen. \n\n"))?;
            checked += 1;
        }
        Ok(checked)
    }
}

#[test]
fn white_space_beside_markup_goes_to_the_byte() {
    let tools = json!({"tools": [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object",
        "properties": {"port": {"type": "string"}}}}}]});
    let (mut faults, mut checked) = (Vec::new(), 0);
    for names in all_names() {
        let format = Format { names: &names, pair: names.pair(), request: Request::from_openai(&tools).unwrap() };
        if format.keeps() {
            continue;
        }
        match format.check() {
            Ok(count) => checked += count,
            Err(fault) => faults.push(fault),
        }
    }
    report(&faults);
    assert!(checked > 200, "{checked}");
}
