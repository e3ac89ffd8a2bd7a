//! A model's folder: the files of a checkpoint that determine its prompts and tokens.
//!
//! | file | what is read |
//! |---|---|
//! | `tokenizer.json`, else `tekken.json`, else a tiktoken file | the tokenizer |
//! | `chat_template.jinja`, else `tokenizer_config.json` | the chat template; `additional_chat_templates/*.jinja` are further ones, by name |
//! | `chat_template.json` | the template of a model that also sees; it counts where no tools are given |
//! | `tokenizer_config.json`, `special_tokens_map.json` | the special tokens that templates name |
//! | `config.json` | `model_type`, the longest context |
//! | `generation_config.json` | the tokens that end a turn |

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::TextError;
use crate::template::Templates;
use crate::tokenizer::{HubTokenizer, NoTokenizer, RankTokenizer, Tokenizer};

/// The contents of a model's folder.
#[derive(Debug)]
pub struct ModelDir {
    path: PathBuf,
    tokenizer: Arc<dyn Tokenizer>,
    templates: Templates,
    tokenizer_config: Value,
    config: Value,
    special_tokens: Map<String, Value>,
    end_tokens: Vec<u32>,
}

impl ModelDir {
    /// Reads a folder.
    ///
    /// # Errors
    /// The folder or its tokenizer does not exist, or a file cannot be read; the message names the file.
    pub fn open(path: &Path) -> Result<Self, TextError> {
        if !path.is_dir() {
            return Err(TextError::new(format!("there is no model folder at {}", path.display())).hint(
                "it is a folder with tokenizer.json, tokenizer_config.json and config.json, as checkpoints come",
            ));
        }
        let tokenizer_config = json(path, "tokenizer_config.json")?.unwrap_or_default();
        let tokenizer = tokenizer(path, &tokenizer_config)?;
        Self::with(path, tokenizer_config, tokenizer)
    }

    /// Reads a folder that may lack the tokenizer, for callers that only need the other files; texts cannot be
    /// tokenized then.
    ///
    /// # Errors
    /// As [`ModelDir::open`], except for the tokenizer.
    pub fn open_without_tokenizer(path: &Path) -> Result<Self, TextError> {
        match Self::open(path) {
            Ok(folder) => Ok(folder),
            Err(error) if !path.is_dir() => Err(error),
            Err(_) => {
                let tokenizer_config = json(path, "tokenizer_config.json")?.unwrap_or_default();
                Self::with(path, tokenizer_config, Arc::new(NoTokenizer::default()))
            }
        }
    }

    fn with(path: &Path, tokenizer_config: Value, tokenizer: Arc<dyn Tokenizer>) -> Result<Self, TextError> {
        let config = json(path, "config.json")?.unwrap_or_default();
        let map = json(path, "special_tokens_map.json")?.unwrap_or_default();
        let generation = json(path, "generation_config.json")?.unwrap_or_default();
        let named = generation.get("eos_token_id").or_else(|| config.get("eos_token_id"));
        Ok(Self {
            path: path.to_owned(),
            templates: templates(path, &tokenizer_config)?,
            special_tokens: special_tokens(&[&map, &tokenizer_config], &*tokenizer),
            end_tokens: end_tokens(named),
            tokenizer,
            tokenizer_config,
            config,
        })
    }

    /// Whether there is a tokenizer; without one its entries are unknown.
    #[must_use]
    pub fn has_tokenizer(&self) -> bool {
        self.tokenizer.entries().size() > 0
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The tokenizer.
    #[must_use]
    pub fn tokenizer(&self) -> &Arc<dyn Tokenizer> {
        &self.tokenizer
    }

    /// The chat templates.
    #[must_use]
    pub fn templates(&self) -> &Templates {
        &self.templates
    }

    /// `tokenizer_config.json`; null if there is none.
    #[must_use]
    pub fn tokenizer_config(&self) -> &Value {
        &self.tokenizer_config
    }

    /// The special tokens with names for templates: `bos_token`, `eos_token`, …
    #[must_use]
    pub fn special_tokens(&self) -> &Map<String, Value> {
        &self.special_tokens
    }

    /// The ids of the tokens that end a turn, if the checkpoint lists them.
    #[must_use]
    pub fn end_tokens(&self) -> &[u32] {
        &self.end_tokens
    }

    /// `model_type` of `config.json`.
    #[must_use]
    pub fn model_type(&self) -> Option<&str> {
        self.config.get("model_type").and_then(Value::as_str)
    }

    /// `architectures` of `config.json`.
    pub fn architectures(&self) -> impl Iterator<Item = &str> {
        self.config.get("architectures").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// The maximum context length in tokens, as vLLM derives it: the least of the lengths in `config.json`, times the
    /// factor by which positions are scaled, unless the lengths include it. A model with `longrope` has its original
    /// length.
    #[must_use]
    pub fn longest_context(&self) -> Option<u64> {
        let config = self.config.get("text_config").filter(|inner| inner.is_object()).unwrap_or(&self.config);
        let least = |config: &Value| LENGTHS.iter().filter_map(|key| config.get(*key)?.as_u64()).min();
        let length = least(config).or_else(|| least(&self.config))?;
        let rope =
            ["rope_parameters", "rope_scaling"].iter().find_map(|key| config.get(*key).filter(|v| v.is_object()));
        let Some(rope) = rope else { return Some(length) };
        let kind = rope.get("rope_type").or_else(|| rope.get("type")).and_then(Value::as_str).unwrap_or("default");
        if kind == "longrope" {
            let before = config.get("original_max_position_embeddings").and_then(Value::as_u64);
            return Some(before.unwrap_or(length));
        }
        let stretched_already = self.model_type().is_some_and(|kind| kind.contains("gemma3"));
        match rope.get("factor").and_then(Value::as_f64) {
            Some(factor) if factor > 0.0 && !STRETCHED.contains(&kind) && !stretched_already => {
                Some((length as f64 * factor) as u64)
            }
            _ => Some(length),
        }
    }
}

/// Keys of `config.json` for a maximum length; vLLM's list.
const LENGTHS: [&str; 9] = [
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_target_positions",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
];

/// Kinds of scaling whose lengths already include the factor; vLLM's list.
const STRETCHED: [&str; 6] = ["su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling"];

/// Reads a regular file. Pipes and devices may never end.
///
/// # Errors
/// It cannot be read, or is not a regular file.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    if std::fs::metadata(path)?.is_file() {
        return std::fs::read(path);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
}

/// Reads a file's text; `None`: it does not exist.
fn read(folder: &Path, name: &str) -> Result<Option<String>, TextError> {
    let path = folder.join(name);
    match read_regular(&path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| {
            TextError::new(format!("{} is no text", path.display()))
                .hint("a SentencePiece model is not read here; convert the tokenizer to tokenizer.json")
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(TextError::new(format!("cannot read {}: {error}", path.display()))),
    }
}

fn json(folder: &Path, name: &str) -> Result<Option<Value>, TextError> {
    let Some(text) = read(folder, name)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| {
        TextError::new(format!("{} is not JSON: {error}", folder.join(name).display()))
            .hint("the file may be cut off, or a pointer of Git LFS; fetch it again")
    })
}

fn tokenizer(folder: &Path, config: &Value) -> Result<Arc<dyn Tokenizer>, TextError> {
    let place = |name: &str| folder.join(name).display().to_string();
    if let Some(text) = read(folder, "tokenizer.json")? {
        return tried(&place("tokenizer.json"), || Ok(Arc::new(HubTokenizer::new(&text)?)));
    }
    if let Some(text) = read(folder, "tekken.json")? {
        return tried(&place("tekken.json"), || Ok(Arc::new(RankTokenizer::tekken(&text)?)));
    }
    let listed = std::fs::read_dir(folder)
        .map_err(|error| TextError::new(format!("cannot read {}: {error}", folder.display())))?;
    let mut names: Vec<String> =
        listed.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.ends_with(".tiktoken") || name == "tiktoken.model" || name == "tokenizer.model");
    // Of several, prefer the one with this name.
    names.sort_by_key(|name| (name == "tokenizer.model", name.clone()));
    let Some(name) = names.first() else {
        return Err(TextError::new(format!("there is no tokenizer in {}", folder.display()))
            .hint("a tokenizer.json, a tekken.json or a tiktoken file (*.tiktoken, tiktoken.model) is needed"));
    };
    let text = read(folder, name)?.unwrap_or_default();
    tried(&place(name), || Ok(Arc::new(RankTokenizer::tiktoken(&text, config)?)))
}

/// Checks that a tokenizer works. The library that reads `tokenizer.json` panics on some files.
fn tried(
    place: &str,
    make: impl FnOnce() -> Result<Arc<dyn Tokenizer>, TextError>,
) -> Result<Arc<dyn Tokenizer>, TextError> {
    let work = || {
        let made = make()?;
        crate::tokenizer::try_out(&*made)?;
        Ok(made)
    };
    let broken = |_| Err(TextError::new("the tokenizer fails on what the file says"));
    let made: Result<_, TextError> = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(broken);
    made.map_err(|error| match error.hint {
        None => error.at(place).hint("the file may be cut off or changed; fetch it again"),
        Some(_) => error.at(place),
    })
}

fn templates(folder: &Path, tokenizer_config: &Value) -> Result<Templates, TextError> {
    let mut out = Templates::default();
    let place = |name: &str| folder.join(name).display().to_string();
    match tokenizer_config.get("chat_template") {
        Some(Value::String(text)) => out.add("default", text, &place("tokenizer_config.json"))?,
        Some(Value::Array(named)) => {
            for entry in named {
                let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
                out.add(text("name"), text("template"), &place("tokenizer_config.json"))?;
            }
        }
        _ => {}
    }
    if let Some(text) = read(folder, "chat_template.jinja")? {
        out.add("default", &text, &place("chat_template.jinja"))?;
    }
    for entry in std::fs::read_dir(folder.join("additional_chat_templates")).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let shown = format!("additional_chat_templates/{file}");
        if let (Some(name), Some(text)) = (file.strip_suffix(".jinja"), read(folder, &shown)?) {
            out.add(name, &text, &place(&shown))?;
        }
    }
    if let Some(text) = json(folder, "chat_template.json")?.as_ref().and_then(|file| file["chat_template"].as_str()) {
        out.add_without_tools(text, &place("chat_template.json"))?;
    }
    Ok(out)
}

/// The tokens with names for templates; later files take precedence.
fn special_tokens(files: &[&Value], tokenizer: &dyn Tokenizer) -> Map<String, Value> {
    let mut out = Map::new();
    for file in files {
        out.extend(named_tokens(file));
    }
    // Files without names come with a tokenizer that has the common tokens.
    for (name, text) in [("bos_token", "<s>"), ("eos_token", "</s>")] {
        let unnamed = files.iter().all(|file| file.as_object().is_none_or(Map::is_empty));
        if unnamed && tokenizer.entries().added().contains_key(text) {
            out.insert(name.to_owned(), Value::from(text));
        }
    }
    out
}

/// The special tokens to which a `tokenizer_config.json` or a `special_tokens_map.json` gives names for templates:
/// `bos_token`, …
#[must_use]
pub fn named_tokens(file: &Value) -> Map<String, Value> {
    const NAMES: [&str; 7] =
        ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];
    let mut out = Map::new();
    for name in NAMES {
        if let Some(text) = crate::tokenizer::token_text(file.get(name)) {
            out.insert(name.to_owned(), Value::String(text));
        }
    }
    if let Some(Value::Array(more)) = file.get("additional_special_tokens") {
        let texts = more.iter().filter_map(|token| crate::tokenizer::token_text(Some(token)));
        out.insert("additional_special_tokens".to_owned(), texts.collect());
    }
    for (name, token) in file.get("extra_special_tokens").and_then(Value::as_object).into_iter().flatten() {
        if let Some(text) = crate::tokenizer::token_text(Some(token)) {
            out.insert(name.clone(), Value::String(text));
        }
    }
    out
}

fn end_tokens(named: Option<&Value>) -> Vec<u32> {
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    match named {
        Some(Value::Array(ids)) => ids.iter().filter_map(id).collect(),
        Some(one) => id(one).into_iter().collect(),
        None => Vec::new(),
    }
}
