//! The backend that `--backend` names.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The source of raw output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum BackendSpec {
    /// No model: plausible turns in the format's own syntax.
    #[default]
    Mock,
    /// Recorded raw outputs, JSON Lines.
    Replay(PathBuf),
    /// Servers that produce raw output, all of one kind.
    Remote {
        /// Their kind.
        kind: RemoteKind,
        /// Their base URLs; at least one.
        urls: Vec<String>,
    },
}

/// A kind of server that produces raw output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteKind {
    /// Any `/v1/completions` server: text in, text out.
    OpenAi,
    /// vLLM's `/v1/completions`, with token ids.
    Vllm,
    /// SGLang's `/generate`.
    Sglang,
    /// llama.cpp's `/completion`.
    LlamaCpp,
    /// Text Generation Inference's `/generate_stream`.
    Tgi,
    /// Any `/v1/chat/completions` server: messages in, text out, possibly with markup.
    Chat,
}

impl RemoteKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [Self::OpenAi, Self::Vllm, Self::Sglang, Self::LlamaCpp, Self::Tgi, Self::Chat];
}

impl RemoteKind {
    /// Whether servers of this kind render prompts from conversations.
    #[must_use]
    pub fn makes_prompts(self) -> bool {
        matches!(self, Self::Vllm | Self::LlamaCpp | Self::Chat)
    }
}

impl fmt::Display for RemoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenAi => "openai",
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::LlamaCpp => "llamacpp",
            Self::Tgi => "tgi",
            Self::Chat => "chat",
        })
    }
}

impl fmt::Display for BackendSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mock => f.write_str("mock"),
            Self::Replay(path) => write!(f, "replay:{}", path.display()),
            Self::Remote { kind, urls } => write!(f, "{kind}:{}", urls.join(",")),
        }
    }
}

fn unknown_backend(text: &str) -> String {
    let kinds = RemoteKind::ALL.map(|kind| format!("{kind}:URL")).join(", ");
    format!("no backend is called `{text}`; it can be mock, replay:FILE, {kinds}")
}

impl FromStr for BackendSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "mock" => Ok(Self::Mock),
            Some(("replay", path)) if !path.is_empty() => Ok(Self::Replay(PathBuf::from(path))),
            Some((name, rest)) if name != "mock" && name != "replay" => {
                let kind = RemoteKind::ALL.into_iter().find(|kind| kind.to_string() == name);
                let kind = kind.ok_or_else(|| unknown_backend(text))?;
                let urls: Vec<String> = rest.split(',').map(|url| url.trim().to_owned()).collect();
                match urls.iter().find(|url| !(url.starts_with("http://") || url.starts_with("https://"))) {
                    None => Ok(Self::Remote { kind, urls }),
                    Some(url) => Err(format!("`{url}` is no http:// or https:// address")),
                }
            }
            _ => Err(unknown_backend(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_are_read_and_written_alike() {
        for text in [
            "mock",
            "replay:a/b.jsonl",
            "openai:http://127.0.0.1:8001/v1",
            "openai:https://host",
            "vllm:http://a,http://b",
            "tgi:http://c",
            "chat:https://c/v1",
        ] {
            assert_eq!(text.parse::<BackendSpec>().map(|spec| spec.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "mock:", "replay:", "openai:host:80", "vllm", "sglang:http://a,b", "own:http://a"] {
            assert!(text.parse::<BackendSpec>().is_err(), "{text}");
        }
    }
}
