//! How a text is split before its pieces are merged: the patterns of tokenizers that have theirs in code, not in a
//! file.

/// Splits words by case, and numbers into up to three digits: GPT-4o's pattern, also Llama 4's.
pub(super) const WORDS_BY_CASE: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// Words, numbers of up to three digits: GPT-4's pattern, also Llama 3's.
pub(super) const WORDS: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// Words, digits one by one: the pattern of the first Qwen models.
pub(super) const WORDS_AND_DIGITS: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// As [`WORDS_BY_CASE`], with runs of Chinese characters by themselves: Kimi's pattern.
pub(super) const WORDS_AND_HAN: &str = concat!(
    r"[\p{Han}]+",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// The pattern of a tokenizer class, as `tokenizer_config.json` names it.
pub(super) fn of_class(class: Option<&str>) -> Option<&'static str> {
    Some(match class? {
        "TikTokenTokenizer" => WORDS_AND_HAN,
        "QWenTokenizer" => WORDS_AND_DIGITS,
        "Llama4Tokenizer" | "GPT4oTokenizer" => WORDS_BY_CASE,
        "LlamaTokenizer" | "LlamaTokenizerFast" | "PreTrainedTokenizerFast" | "TiktokenTokenizer" => WORDS,
        _ => return None,
    })
}
