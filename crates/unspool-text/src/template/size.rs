//! How large and how nested a template may be. It is compiled by functions that call themselves for each level, so this is
//! looked at before, token by token.

use minijinja::machinery::{self, Token};
use minijinja::syntax::SyntaxConfig;

use crate::error::TextError;

/// Longest template, in bytes. The longest of the known ones has 30 kB.
pub(super) const LONGEST: usize = 1 << 20;
/// Most tokens between two braces: each can be a level of its own, as in `1+1+1` or `a|b|c`. The known ones have a hundred or two.
pub(super) const MOST_TOKENS: usize = 2_000;
/// Most `elif`; each lies in the one before. The known ones have ten or twenty.
pub(super) const MOST_BRANCHES: usize = 1_000;

/// Checks a template's size.
///
/// # Errors
/// It is too large or too nested; the message names the line.
pub(super) fn check(source: &str, syntax: SyntaxConfig) -> Result<(), TextError> {
    if source.len() > LONGEST {
        let message = format!("the chat template has {} bytes, more than {LONGEST}", source.len());
        return Err(TextError::new(message).hint("templates of models have some kilobytes; is this the right file?"));
    }
    let (mut tokens, mut branches, mut begins) = (0, 0, false);
    // What is no token is told by the compiler.
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
