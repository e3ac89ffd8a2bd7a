//! Tokenizers, chat templates and prompts: text to tokens and back.
//!
//! | module | what it does |
//! |---|---|
//! | [`model_dir`] | a model's directory, read in one step |
//! | [`tokenizer`] | text to token ids, and ids to bytes |
//! | [`template`] | chat templates: Jinja as Python implements it |
//! | [`conversation`] | chat API messages in the shape that templates read |
//! | [`harmony`] | prompts of gpt-oss, which has no template |
//! | [`prompter`] | from a request to its prompt |
//! | [`sandbox`], [`worker`] | rendering of untrusted templates in a separate process |
//! | [`utf8`] | an incremental detokenizer's last step: joins token bytes to text without splitting a character |
//! | [`pieces`] | splits text into token-like pieces, for backends without a tokenizer |
//! | [`rng`] | reproducible random choices |
//!
//! A prompt is made from a conversation and a template:
//!
//! ```
//! use serde_json::{Map, json};
//! use unspool_text::ChatTemplate;
//!
//! let template = ChatTemplate::new("{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}")?;
//! let context = Map::from_iter([("messages".to_owned(), json!([{"role": "user", "content": "Ahoy"}]))]);
//! assert_eq!(template.render(&context)?, "[user] Ahoy\n");
//! # Ok::<(), unspool_text::TextError>(())
//! ```
//!
//! The bytes of tokens become text again, never half a character:
//!
//! ```
//! use unspool_text::utf8::Utf8Decoder;
//!
//! let mut decoder = Utf8Decoder::default();
//! let mut text = String::new();
//! decoder.push(b"caf\xc3", &mut text); // the token ends inside a character
//! assert_eq!(text, "caf");
//! decoder.push(b"\xa9", &mut text);
//! assert_eq!(text, "café");
//! ```

pub mod conversation;
mod error;
pub mod harmony;
pub mod model_dir;
pub mod pieces;
mod prompt_text;
pub mod prompter;
pub mod rng;
pub mod sandbox;
pub mod template;
pub mod tokenizer;
pub mod utf8;
mod work;
pub mod worker;

pub use error::TextError;
pub use model_dir::ModelDir;
pub use pieces::Cutter;
pub use prompt_text::PromptText;
pub use prompter::{PromptRequest, Prompter};
pub use rng::Rng;
pub use sandbox::{Sandbox, SandboxLimits};
pub use template::ChatTemplate;
pub use tokenizer::Tokenizer;
pub use utf8::Utf8Decoder;
pub use work::{Stop, is_wanted};
