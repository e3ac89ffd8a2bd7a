//! What turns text into tokens and back.
//!
//! | module | what it does |
//! |---|---|
//! | [`utf8`] | joins the bytes of tokens to text, without ever giving out half a character |
//! | [`pieces`] | cuts text into pieces such as a tokenizer makes, for backends that have no tokenizer |
//! | [`dice`] | reproducible random choices |
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
pub mod dice;
mod error;
pub mod folder;
pub mod harmony;
pub mod pieces;
pub mod template;
pub mod tokenizer;
pub mod utf8;

pub use dice::Dice;
pub use error::TextError;
pub use folder::ModelFolder;
pub use pieces::Cutter;
pub use template::ChatTemplate;
pub use tokenizer::Tokenizer;
pub use utf8::Utf8Decoder;
