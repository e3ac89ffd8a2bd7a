//! Limits the size and nesting of a template. Recursive functions compile it, so this is checked before, token by
//! token.

use minijinja::machinery::{self, Token};
use minijinja::syntax::SyntaxConfig;

use crate::error::TextError;

/// Maximum size of a template, in bytes. The longest known one has 30 kB.
pub(super) const LONGEST: usize = 1 << 20;
/// Maximum number of tokens between two braces: each can be a nesting level, as in `1+1+1` or `a|b|c`. Known templates
/// have up to two hundred.
pub(super) const MOST_TOKENS: usize = 2_000;
/// Maximum number of `elif`; each nests in the previous one. Known templates have up to twenty.
pub(super) const MOST_BRANCHES: usize = 1_000;

/// Checks a template's size.
///
/// # Errors
/// It is too large or too deeply nested; the message names the line.
pub(super) fn check(source: &str, syntax: SyntaxConfig) -> Result<(), TextError> {
    if source.len() > LONGEST {
        let message = format!("the chat template has {} bytes, more than {LONGEST}", source.len());
        return Err(TextError::new(message).hint("templates of models have some kilobytes; is this the right file?"));
    }
    let (mut tokens, mut branches, mut begins) = (0, 0, false);
    // The compiler reports invalid tokens.
    for (token, span) in machinery::tokenize(source, false, syntax).map_while(Result::ok) {
        let fault = |what: String| {
            TextError::new(format!("the chat template, line {} is too nested: {what}", span.start_line))
                .hint("write it as several statements, with `set` for the parts")
        };
        match token {
            Token::VariableStart | Token::BlockStart => tokens = 0,
            Token::Ident("elif") if begins => branches += 1,
            _ => tokens += 1,
        }
        begins = matches!(token, Token::BlockStart);
        if tokens > MOST_TOKENS {
            return Err(fault(format!("more than {MOST_TOKENS} words and signs between two braces")));
        }
        if branches > MOST_BRANCHES {
            return Err(fault(format!("more than {MOST_BRANCHES} `elif`")));
        }
    }
    Ok(())
}
