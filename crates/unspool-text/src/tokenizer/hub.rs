//! `tokenizer.json`, with the `tokenizers` crate.

use std::fmt;
use std::sync::OnceLock;

use serde_json::Value;

use super::{Entries, Tokenizer, cut, growth};
use crate::error::TextError;
use crate::work;

/// A tokenizer of the Hugging Face `tokenizers` library.
pub struct HubTokenizer {
    tokenizer: tokenizers::Tokenizer,
    /// The same without special tokens; created on first use.
    plain: OnceLock<Box<tokenizers::Tokenizer>>,
    entries: Entries,
    /// The tokens added before and after every text; `None`: they depend on the text.
    around: Option<(Vec<u32>, Vec<u32>)>,
}

impl HubTokenizer {
    /// Reads a `tokenizer.json`. Ignores truncation and padding that some files keep from training.
    ///
    /// # Errors
    /// The text is not such a file, or the bytes of its entries are unknown.
    pub fn new(json: &str) -> Result<Self, TextError> {
        let file: Value = serde_json::from_str(json)
            .map_err(|error| TextError::new(format!("this is no tokenizer.json: {error}")))?;
        growth::check(&file)?;
        let mut tokenizer: tokenizers::Tokenizer =
            json.parse().map_err(|error| TextError::new(format!("this is no tokenizer.json: {error}")))?;
        tokenizer.with_padding(None);
        let kept = tokenizer.with_truncation(None).map(|_| ());
        kept.map_err(|error| TextError::new(format!("the truncation cannot be switched off: {error}")))?;
        let spelling = Spelling::of(file.get("decoder").unwrap_or(&Value::Null))?;
        let mut entries = Entries::default();
        for (text, id) in tokenizer.get_vocab(false) {
            entries.set(id, &spelling.bytes(&text))?;
        }
        for (id, token) in tokenizer.get_added_tokens_decoder() {
            entries.add(id, &token.content, token.special)?;
        }
        let around = around(&tokenizer);
        Ok(Self { tokenizer, plain: OnceLock::new(), entries, around })
    }

    fn in_pieces(&self, tokenizer: &tokenizers::Tokenizer, text: &str) -> Result<Vec<u32>, TextError> {
        let encode = |text: &str| encode(tokenizer, text, false);
        let (mut out, mut rest) = (Vec::new(), text);
        while let Some(at) = cut::first_cut(rest, &encode)? {
            work::check()?;
            out.extend(encode(&rest[..at])?);
            rest = &rest[at..];
        }
        work::check()?;
        out.extend(encode(rest)?);
        Ok(out)
    }
}

fn encode(tokenizer: &tokenizers::Tokenizer, text: &str, add_special: bool) -> Result<Vec<u32>, TextError> {
    let encoding = tokenizer.encode_fast(text, add_special);
    let encoding = encoding.map_err(|error| TextError::new(format!("the text has no tokens: {error}")))?;
    Ok(encoding.get_ids().to_vec())
}

/// The tokens that a tokenizer adds around texts, found by comparing two of them.
fn around(tokenizer: &tokenizers::Tokenizer) -> Option<(Vec<u32>, Vec<u32>)> {
    let of = |text: &str| {
        let (bare, with) = (encode(tokenizer, text, false).ok()?, encode(tokenizer, text, true).ok()?);
        let more = with.len().checked_sub(bare.len())?;
        let at = (0..=more).find(|at| with[*at..].starts_with(&bare)).filter(|_| !bare.is_empty())?;
        Some((with[..at].to_vec(), with[at + bare.len()..].to_vec()))
    };
    let first = of("a word")?;
    (of("12 other words")? == first).then_some(first)
}

impl Tokenizer for HubTokenizer {
    fn encode(&self, text: &str, add_special: bool) -> Result<Vec<u32>, TextError> {
        match &self.around {
            Some((before, after)) if add_special => {
                Ok([before, &*self.in_pieces(&self.tokenizer, text)?, after].concat())
            }
            None if add_special => encode(&self.tokenizer, text, true),
            _ => self.in_pieces(&self.tokenizer, text),
        }
    }

    fn encode_plain(&self, text: &str) -> Result<Vec<u32>, TextError> {
        let blind = self.plain.get_or_init(|| {
            let mut blind = self.tokenizer.clone();
            blind.set_encode_special_tokens(true);
            Box::new(blind)
        });
        self.in_pieces(blind, text)
    }

    fn entries(&self) -> &Entries {
        &self.entries
    }

    fn spelling(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TextError> {
        // The library skips unknown ids.
        if let Some(id) = ids.iter().find(|id| self.entries.bytes(**id).is_none()) {
            return Err(TextError::new(format!("the vocabulary has no token {id}")));
        }
        let text = self.tokenizer.decode(ids, false);
        text.map_err(|error| TextError::new(format!("the ids cannot be decoded: {error}")))
    }
}

impl fmt::Debug for HubTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubTokenizer").field("entries", &self.entries.size()).finish_non_exhaustive()
    }
}

/// How a vocabulary spells the bytes of its entries: the effect of a decoder on one token, wherever it occurs. (Effects
/// only at the start of a text are ignored, because a reply begins in the middle of one.)
#[derive(Debug, Default)]
struct Spelling {
    /// Every byte is a letter of its own (GPT-2's alphabet).
    letters: bool,
    /// `<0xE2>` is a byte.
    hexadecimal: bool,
    /// Texts and their replacements, in order.
    replaced: Vec<(String, String)>,
    /// A prefix that attaches a token to the previous one; without it there is a blank.
    glue: Option<String>,
    /// A suffix that means a blank.
    suffix: Option<String>,
}

impl Spelling {
    fn of(decoder: &Value) -> Result<Self, TextError> {
        let mut out = Self::default();
        out.take(decoder)?;
        Ok(out)
    }

    fn take(&mut self, decoder: &Value) -> Result<(), TextError> {
        let text = |key: &str| decoder.get(key).and_then(Value::as_str).map(str::to_owned);
        match decoder.get("type").and_then(Value::as_str) {
            Some("Sequence") => {
                decoder["decoders"].as_array().into_iter().flatten().try_for_each(|part| self.take(part))?;
            }
            Some("ByteLevel") => self.letters = true,
            Some("ByteFallback") => self.hexadecimal = true,
            Some("Fuse" | "Strip") => {}
            Some("Metaspace") => {
                self.replaced.push((text("replacement").unwrap_or_else(|| "▁".to_owned()), " ".to_owned()));
            }
            Some("Replace") => match decoder.pointer("/pattern/String").and_then(Value::as_str) {
                Some(pattern) => self.replaced.push((pattern.to_owned(), text("content").unwrap_or_default())),
                None => return Err(unknown("a Replace decoder with a regular expression")),
            },
            Some("WordPiece") => self.glue = Some(text("prefix").unwrap_or_else(|| "##".to_owned())),
            Some("BPEDecoder") => self.suffix = Some(text("suffix").unwrap_or_else(|| "</w>".to_owned())),
            Some(other) => return Err(unknown(&format!("the decoder {other}"))),
            None => {}
        }
        Ok(())
    }

    fn bytes(&self, token: &str) -> Vec<u8> {
        if self.letters
            && let Some(bytes) = token.chars().map(byte_of_letter).collect::<Option<Vec<u8>>>()
        {
            return bytes;
        }
        if self.hexadecimal
            && let Some(byte) = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'))
            && let (2, Ok(byte)) = (byte.len(), u8::from_str_radix(byte, 16))
        {
            return vec![byte];
        }
        let mut text = token.to_owned();
        for (from, to) in &self.replaced {
            text = text.replace(from.as_str(), to);
        }
        if let Some(glue) = &self.glue {
            text = text.strip_prefix(glue.as_str()).map_or_else(|| format!(" {text}"), str::to_owned);
        }
        if let Some(suffix) = &self.suffix {
            text = text.replace(suffix.as_str(), " ");
        }
        text.into_bytes()
    }
}

fn unknown(what: &str) -> TextError {
    TextError::new(format!("the tokenizer has {what}, which cannot be told token by token"))
}

/// The byte of a letter in GPT-2's alphabet: printable Latin-1 letters are themselves, the others follow from U+0100
/// on.
fn byte_of_letter(letter: char) -> Option<u8> {
    let code = u32::from(letter);
    match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u8::try_from(code).ok(),
        0x100..=0x143 => {
            let number = code - 0x100;
            u8::try_from(match number {
                0..=0x20 => number,
                0x21..=0x42 => number - 0x21 + 0x7f,
                _ => 0xad,
            })
            .ok()
        }
        _ => None,
    }
}

/// The added tokens of a `tokenizer_config.json`: text, id, and whether it is special.
pub(super) fn added_tokens(config: &Value) -> Vec<(String, u32, bool)> {
    let entries = config.get("added_tokens_decoder").and_then(Value::as_object).into_iter().flatten();
    let entry = |(id, token): (&String, &Value)| {
        let special = token.get("special").and_then(Value::as_bool).unwrap_or(false);
        Some((token_text(Some(token))?, id.parse().ok()?, special))
    };
    entries.filter_map(entry).collect()
}

/// The text of a token, given as text or as an object.
pub(crate) fn token_text(token: Option<&Value>) -> Option<String> {
    let token = token?;
    token.as_str().or_else(|| token.get("content")?.as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The letter of each byte, by the rule that defines the alphabet.
    fn alphabet() -> Vec<char> {
        let plain = |byte: u32| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
        let mut others = 0x100..;
        let code = |byte: u32| if plain(byte) { Some(byte) } else { others.next() };
        (0..=255).map(code).map(|code| code.and_then(char::from_u32).expect("it is a letter")).collect()
    }

    #[test]
    fn letters_are_bytes() {
        for (byte, letter) in (0..=255).zip(alphabet()) {
            assert_eq!(byte_of_letter(letter), Some(byte), "{letter}");
        }
        assert_eq!(byte_of_letter('\u{144}'), None);
    }

    fn byte_level() -> String {
        let mut vocab = serde_json::Map::new();
        let mut merges = Vec::new();
        for letter in alphabet() {
            vocab.insert(letter.to_string(), json!(vocab.len()));
        }
        for (left, right) in [("t", "i"), ("d", "e"), ("ti", "de"), ("Ġ", "tide")] {
            vocab.insert(format!("{left}{right}"), json!(vocab.len()));
            merges.push(json!([left, right]));
        }
        let added = json!([
            {"id": 260, "content": "<|end|>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
            {"id": 261, "content": "<think>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": false}
        ]);
        let level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
        json!({"version": "1.0", "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
            "padding": null, "added_tokens": added, "normalizer": null, "pre_tokenizer": level, "post_processor": null,
            "decoder": level, "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocab, "merges": merges}})
        .to_string()
    }

    #[test]
    fn a_byte_level_vocabulary_is_read() {
        let tokenizer = HubTokenizer::new(&byte_level()).expect("it is well formed");
        let text = "tide tide<think>é🛶<|end|>";
        let ids = tokenizer.encode(text, false).expect("all bytes have entries");
        assert_eq!(ids[..3], [258, 259, 261], "nothing is cut off");
        assert_eq!(ids.last(), Some(&260));
        let bytes: Vec<u8> =
            ids.iter().flat_map(|id| tokenizer.entries().bytes(*id).expect("known").to_vec()).collect();
        assert_eq!(String::from_utf8_lossy(&bytes), text);
        assert_eq!(tokenizer.entries().special(), ["<|end|>"]);
        assert_eq!((tokenizer.entries().size(), tokenizer.entries().bytes(262)), (262, None));
        assert_eq!(tokenizer.decode(&ids).as_deref(), Ok(text));
        assert!(tokenizer.decode(&[262]).is_err());
        let plain = tokenizer.encode_plain("<|end|>").expect("all bytes have entries");
        assert_eq!((plain.len(), tokenizer.decode(&plain).as_deref()), (7, Ok("<|end|>")));
        let mut live = crate::tokenizer::Detokenizer::default();
        let mut steps = String::new();
        for id in &ids {
            live.push(tokenizer.entries(), *id, &mut steps).expect("known");
            assert!(text.starts_with(&steps), "{steps:?} is no beginning of the text");
        }
        assert_eq!(steps, text);
    }

    /// Words with a leading blank as one entry each, as in SentencePiece models.
    fn pieces(normalizer: &Value, pre_tokenizer: &Value) -> String {
        let mut vocab = vec![json!(["<unk>", 0.0]), json!(["<s>", 0.0])];
        for word in ["tide", "keel", "oak", "ti", "de", "▁", "a", "e", "k"] {
            vocab.push(json!([word, -3.0]));
            vocab.push(json!([format!("▁{word}"), -2.0]));
        }
        let added = json!([{"id": 1, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true}]);
        let begin = json!({"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}});
        json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": begin, "decoder": null,
            "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": false}})
        .to_string()
    }

    /// A long text of words, lines, blanks, and signs that are special tokens for some.
    fn long_text() -> String {
        let mut state = 7_u64;
        let mut out = String::new();
        while out.len() < 2 * cut::PIECE {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            out.push_str(
                ["tide", " keel", " oak", "\n\n", " ", "é", " ti de", " <s> a", " 🛶 e"][(state >> 33) as usize % 9],
            );
        }
        out
    }

    #[test]
    fn pieces_have_the_tokens_of_the_whole() {
        let nothing = Value::Null;
        let space =
            |scheme: &str| json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true});
        let llama = json!({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]});
        let text = long_text();
        for (which, file, is_cut) in [
            ("GPT-2's way", byte_level(), true),
            ("a blank at the first word", pieces(&nothing, &space("first")), true),
            ("a blank at every word", pieces(&nothing, &space("always")), true),
            ("no blank", pieces(&nothing, &space("never")), true),
            ("a blank in front, no words", pieces(&llama, &nothing), false),
        ] {
            let tokenizer = HubTokenizer::new(&file).expect("it is well formed");
            let bare = |text: &str| encode(&tokenizer.tokenizer, text, false);
            assert_eq!(cut::first_cut(&text, &bare).expect("it has tokens").is_some(), is_cut, "{which}");
            for add_special in [false, true] {
                let whole = encode(&tokenizer.tokenizer, &text, add_special).expect("all has tokens");
                assert!(tokenizer.encode(&text, add_special).as_deref() == Ok(&*whole), "{which}: {add_special}");
            }
        }
    }

    #[test]
    fn work_that_nobody_waits_for_ends() {
        let tokenizer = HubTokenizer::new(&byte_level()).expect("it is well formed");
        let stop = crate::Stop::default();
        stop.tell();
        assert!(stop.during(|| tokenizer.encode("tide", false)).is_err());
        assert!(tokenizer.encode("tide", false).is_ok());
    }

    #[test]
    fn decoders_say_how_bytes_are_spelled() {
        let pieces = json!({"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]});
        let spelling = Spelling::of(&pieces).expect("it is known");
        assert_eq!(spelling.bytes("▁tide"), b" tide");
        assert_eq!(spelling.bytes("<0xE2>"), [0xe2]);
        assert_eq!(spelling.bytes("<0xE2"), b"<0xE2");
        let words = Spelling::of(&json!({"type": "WordPiece", "prefix": "##", "cleanup": true})).expect("it is known");
        assert_eq!((words.bytes("##s"), words.bytes("tide")), (b"s".to_vec(), b" tide".to_vec()));
        assert!(Spelling::of(&json!({"type": "CTC"})).is_err());
    }

    #[test]
    fn no_tokenizer_is_an_error() {
        assert!(HubTokenizer::new("{}").is_err());
    }
}
