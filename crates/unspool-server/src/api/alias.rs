//! Errors of a translated request, in terms of the original request.

use crate::error::ApiError;

/// Renames fields to the client's names: `names` are pairs of the translated and the original name.
pub(super) fn renamed(mut error: ApiError, names: &[(&str, &str)]) -> ApiError {
    let Some((theirs, own)) = error.param.as_deref().and_then(|param| {
        let head = param.split(['.', '[']).next().unwrap_or_default();
        names.iter().find(|(theirs, _)| *theirs == head)
    }) else {
        return error;
    };
    error.param = error.param.map(|param| param.replacen(theirs, own, 1));
    error.message = error.message.replace(&format!("`{theirs}"), &format!("`{own}"));
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_clients_names() {
        let error = ApiError::bad_field("messages[0].content", "`messages[0].content` and `messages_x` do not fit");
        let error = renamed(error, &[("messages[0", "no"), ("messages", "input")]);
        assert_eq!(error.param.as_deref(), Some("input[0].content"));
        assert!(error.message.starts_with("`input[0].content`"), "{}", error.message);
        let same = ApiError::bad_field("tools", "`tools` is empty");
        assert_eq!(renamed(same.clone(), &[("messages", "input")]), same);
    }
}
