//! The cases as they stand in the files, and what a run needs of each.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use unspool::{FinishReason, IncompleteCalls, PromptToken, Registry, Request, Setup, Vocabulary};

use crate::watch::Answer;

/// First id of the vocabulary that spells each byte as one token; far above the ids of the cases.
const FIRST_BYTE_ID: u32 = 2_000_000;

#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) reasoning_parser: Option<String>,
    pub(crate) tool_parser: Option<String>,
    model_type: Option<String>,
    #[serde(default)]
    tools: Value,
    #[serde(default)]
    request: Value,
    prompt_tail: Option<String>,
    #[serde(default)]
    prompt_tokens: Vec<Token>,
    text: String,
    #[serde(default)]
    pub(crate) tokens: Vec<Token>,
    #[serde(default)]
    special_token_ids: HashMap<String, u32>,
    #[serde(default)]
    hidden_special_tokens: Vec<String>,
    #[serde(default)]
    pub(crate) incomplete_calls: IncompleteCalls,
    #[serde(default)]
    tokenizer_config: Value,
    eos_id: Option<u32>,
    pub(crate) finish: Option<FinishReason>,
    /// Outer white space counts.
    #[serde(default)]
    pub(crate) exact: bool,
    #[serde(default)]
    pub(crate) chunks: Vec<String>,
    #[serde(default)]
    pub(crate) pieces: Vec<String>,
    pub(crate) expect: Expect,
    pub(crate) expect_text_only: Option<Expect>,
    #[serde(default)]
    pub(crate) also_ok: Vec<Expect>,
    #[serde(default)]
    strict_empty_content: bool,
    limit_ms: Option<u64>,
    /// Made once, when first needed.
    #[serde(skip)]
    made: OnceLock<Result<Made, String>>,
    /// The answers that all others of their kind must equal byte for byte: for text alone and with ids.
    #[serde(skip)]
    pub(crate) canonical: [OnceLock<Answer>; 2],
}

/// `[id, text]`, or `[id, null, hex]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "WrittenToken")]
pub(crate) struct Token {
    pub(crate) id: u32,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum WrittenToken {
    Text(u32, String),
    Hex(u32, (), String),
}

impl From<WrittenToken> for Token {
    fn from(token: WrittenToken) -> Self {
        match token {
            WrittenToken::Text(id, text) => Self { id, bytes: text.into_bytes() },
            WrittenToken::Hex(id, (), hex) => Self { id, bytes: from_hex(&hex) },
        }
    }
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
}

#[derive(Debug, Deserialize)]
pub(crate) struct Expect {
    pub(crate) reasoning: Option<String>,
    pub(crate) content: Option<String>,
    pub(crate) tool_calls: Option<Vec<ExpectedCall>>,
    pub(crate) finish_reason: Option<FinishReason>,
    /// Outer `None`: not said; inner `None`: null.
    #[serde(default, deserialize_with = "said")]
    pub(crate) reasoning_tokens: Option<Option<u64>>,
    #[serde(default, deserialize_with = "said")]
    pub(crate) reasoning_end_token: Option<Option<i64>>,
    pub(crate) whitespace: Option<String>,
    pub(crate) error: Option<String>,
    #[serde(default)]
    pub(crate) content_any: bool,
    pub(crate) events: Option<Vec<String>>,
    pub(crate) diagnostic: Option<Value>,
    pub(crate) stream_indices: Option<Vec<usize>>,
    pub(crate) raw_arguments_contains: Option<OneOrMany>,
    #[serde(default)]
    strict_empty_content: bool,
    limit_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(crate) fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct ExpectedCall {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    /// The text as it stands in the file, so that no number goes through a float.
    pub(crate) arguments: Option<Box<RawValue>>,
    #[serde(default)]
    pub(crate) partial: bool,
    pub(crate) arguments_prefix: Option<String>,
}

/// Tells a field that is null from one that is not there.
fn said<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}

/// What the runs of a case share.
#[derive(Debug)]
pub(crate) struct Made {
    /// Knows the special tokens only.
    pub(crate) pair: unspool::Pair,
    /// Knows the bytes of every token, and each single byte as a token of its own.
    pub(crate) byte_pair: unspool::Pair,
    pub(crate) request: Request,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

impl Case {
    /// The names as they stand on the command line: `reasoning+tools`.
    pub(crate) fn names(&self) -> [Option<&str>; 2] {
        [self.reasoning_parser.as_deref(), self.tool_parser.as_deref()]
    }

    pub(crate) fn limit_ms(&self) -> Option<u64> {
        self.limit_ms.or(self.expect.limit_ms)
    }

    pub(crate) fn strict_empty_content(&self) -> bool {
        self.strict_empty_content || self.expect.strict_empty_content
    }

    /// The output as a backend gives it: without the stop token's text at its end.
    pub(crate) fn output(&self) -> &str {
        let stop = self.special_token_ids.iter().find(|(_, id)| Some(**id) == self.eos_id);
        let in_tokens: usize = self.tokens.iter().map(|token| token.bytes.len()).sum();
        match stop.and_then(|(text, _)| self.text.strip_suffix(text.as_str())) {
            Some(rest) if self.tokens.is_empty() || rest.len() == in_tokens => rest,
            _ => &self.text,
        }
    }

    /// The end of the prompt; `None`: the case says nothing of it.
    pub(crate) fn prompt_tail(&self) -> Option<&str> {
        self.prompt_tail.as_deref()
    }

    /// The whole prompt as text.
    pub(crate) fn prompt_text(&self) -> Option<String> {
        let bytes: Vec<u8> = self.prompt_tokens.iter().flat_map(|token| token.bytes.clone()).collect();
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(crate) fn prompt_tokens(&self) -> Vec<PromptToken> {
        self.prompt_tokens.iter().map(|token| PromptToken { id: token.id, bytes: token.bytes.clone() }).collect()
    }

    /// Ids that spell the output byte by byte; special tokens stay whole.
    pub(crate) fn byte_ids(&self) -> Vec<u32> {
        let special = |id: u32| self.special_token_ids.values().any(|special| *special == id);
        let mut ids = Vec::new();
        for token in &self.tokens {
            if special(token.id) {
                ids.push(token.id);
            } else {
                ids.extend(token.bytes.iter().map(|byte| FIRST_BYTE_ID + u32::from(*byte)));
            }
        }
        ids
    }

    /// The pairs and the request; the error is the refusal's text.
    pub(crate) fn made(&self) -> Result<&Made, &str> {
        self.made.get_or_init(|| self.make()).as_ref().map_err(String::as_str)
    }

    fn make(&self) -> Result<Made, String> {
        let mut request = match &self.request {
            Value::Object(map) => map.clone(),
            _ => serde_json::Map::new(),
        };
        request.insert("tools".to_owned(), self.tools.clone());
        let mut request = Request::from_openai(&Value::Object(request)).map_err(|e| format!("request: {e}"))?;
        // Ids that the model did not write are random otherwise; here every door must give the same.
        request.id_seed = Some(7);
        let pair = |bytes| REGISTRY.pair(&self.setup(bytes)).map_err(|e| format!("setup: {e}"));
        Ok(Made { pair: pair(None)?, byte_pair: pair(Some(self.token_bytes()))?, request })
    }

    fn setup(&self, bytes: Option<HashMap<u32, Vec<u8>>>) -> Setup {
        Setup {
            reasoning_parser: self.reasoning_parser.clone(),
            tool_parser: self.tool_parser.clone(),
            model_type: self.model_type.clone(),
            vocabulary: Vocabulary {
                special: self.special_token_ids.clone(),
                hidden: self.hidden_special_tokens.clone(),
                bytes: bytes.map(Into::into),
            },
            tokenizer_config: self.tokenizer_config.clone(),
            incomplete_calls: self.incomplete_calls,
            ..Setup::default()
        }
    }

    fn token_bytes(&self) -> HashMap<u32, Vec<u8>> {
        let mut table: HashMap<u32, Vec<u8>> =
            self.special_token_ids.iter().map(|(text, id)| (*id, text.clone().into_bytes())).collect();
        table.extend(self.prompt_tokens.iter().chain(&self.tokens).map(|token| (token.id, token.bytes.clone())));
        table.extend((0..=u8::MAX).map(|byte| (FIRST_BYTE_ID + u32::from(byte), vec![byte])));
        table
    }
}

/// All cases that `UNSPOOL_CASES` keeps.
pub(crate) static CASES: LazyLock<Vec<Case>> = LazyLock::new(load);

fn load() -> Vec<Case> {
    let folders = ["corpus", "cases"].map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name));
    let mut files: Vec<_> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("the folder of cases is there"))
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect();
    files.sort();
    let wanted = std::env::var("UNSPOOL_CASES").unwrap_or_default();
    let mut cases: Vec<Case> = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a corpus file");
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let case: Case =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{}:{}: {error}", file.display(), number + 1));
            if wanted.split(',').any(|part| case.id.contains(part)) {
                cases.push(case);
            }
        }
    }
    assert!(!cases.is_empty(), "no case's id contains {wanted:?}");
    cases
}
