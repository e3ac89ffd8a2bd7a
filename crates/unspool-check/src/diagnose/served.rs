//! Reads a server's flags from its command line.

/// The relevant flags of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Served {
    /// `--reasoning-parser`
    pub reasoning_parser: Option<String>,
    /// `--tool-call-parser`
    pub tool_call_parser: Option<String>,
    /// `--enable-auto-tool-choice`
    pub auto_tool_choice: bool,
    /// `--chat-template`
    pub chat_template: Option<String>,
    /// The model: the word after `serve`, or `--model`.
    pub model: Option<String>,
}

impl Served {
    /// Parses a command line with shell quotes.
    #[must_use]
    pub fn read(line: &str) -> Self {
        let mut out = Self::default();
        let words = words(line);
        let mut rest = words.iter().peekable();
        while let Some(word) = rest.next() {
            let Some(flag) = word.strip_prefix("--") else {
                if word == "serve" {
                    out.model = rest.next_if(|next| !next.starts_with('-')).cloned().or(out.model);
                }
                continue;
            };
            let (name, given) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (flag, None),
            };
            let name = name.replace('_', "-");
            if name == "enable-auto-tool-choice" {
                out.auto_tool_choice = given.as_deref() != Some("false");
                continue;
            }
            let slot = match name.as_str() {
                "reasoning-parser" => &mut out.reasoning_parser,
                "tool-call-parser" => &mut out.tool_call_parser,
                "chat-template" => &mut out.chat_template,
                "model" | "model-path" => &mut out.model,
                _ => continue,
            };
            *slot = given.or_else(|| rest.next_if(|next| !next.starts_with("--")).cloned());
        }
        out
    }
}

/// The words of a line, without quotes.
fn words(line: &str) -> Vec<String> {
    let (mut out, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => match chars.next() {
                Some('\n') | None => {}
                Some(c) => word.get_or_insert_default().push(c),
            },
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => out.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_from_a_line() {
        let line = "vllm serve Qwen/Qwen3-8B --tool-call-parser=hermes --reasoning-parser 'qwen3' \\\n --enable-auto-tool-choice \
            --chat-template \"{{ a }}\" --port 80";
        let served = Served::read(line);
        assert_eq!(served.model.as_deref(), Some("Qwen/Qwen3-8B"));
        assert_eq!(
            (served.tool_call_parser.as_deref(), served.reasoning_parser.as_deref()),
            (Some("hermes"), Some("qwen3"))
        );
        assert_eq!((served.auto_tool_choice, served.chat_template.as_deref()), (true, Some("{{ a }}")));
        assert_eq!(Served::read(""), Served::default());
        assert_eq!(Served::read("--tool-call-parser").tool_call_parser, None);
        assert_eq!(Served::read("--tool_call_parser x").tool_call_parser.as_deref(), Some("x"));
    }
}
