//! The structured output that a client requests: `response_format` and vLLM's `structured_outputs`.

use serde_json::{Value, json};
use unspool::grammar::answer_schema;

use super::ChatRequest;
use crate::error::ApiError;

/// vLLM's kinds of structured outputs, of which a request may have one.
const KINDS: [&str; 6] = ["json", "regex", "choice", "grammar", "json_object", "structural_tag"];

/// The requested form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asked {
    /// None.
    Nothing,
    /// JSON that matches this schema.
    Json(Value),
    /// A form that only the backend knows: a regular expression, a grammar, a choice of texts, a structural tag.
    Other,
}

impl Asked {
    pub(crate) fn of(request: &ChatRequest) -> Result<Self, ApiError> {
        let outputs = request.sampling.others.get("structured_outputs");
        let fields = json!({"response_format": request.response_format, "structured_outputs": outputs});
        let schema = answer_schema(&fields)
            .map_err(|error| ApiError { param: Some("response_format".to_owned()), ..ApiError::from(error) })?;
        if let Some(schema) = schema {
            // vLLM also accepts a schema as text.
            let read = schema.as_str().and_then(|text| serde_json::from_str(text).ok());
            return Ok(Self::Json(read.unwrap_or(schema)));
        }
        let tag = request.response_format.as_ref().and_then(|format| format.get("type"));
        let other = tag.is_some_and(|kind| kind == "structural_tag") || outputs.is_some_and(|o| said(o).count() > 0);
        Ok(if other { Self::Other } else { Self::Nothing })
    }
}

/// The constraints in `structured_outputs`.
fn said(outputs: &Value) -> impl Iterator<Item = &str> {
    KINDS.into_iter().filter(|kind| outputs.get(*kind).is_some_and(|value| !value.is_null()))
}

/// Refuses what vLLM refuses: structured outputs of more than one kind, or with a named function.
pub(super) fn check(request: &ChatRequest) -> Result<(), ApiError> {
    let Some(outputs) = request.sampling.others.get("structured_outputs") else { return Ok(()) };
    let fault = |message: String| Err(ApiError::bad_field("structured_outputs", message));
    if !outputs.is_object() {
        return fault("`structured_outputs` must be an object".to_owned());
    }
    let said: Vec<&str> = said(outputs).collect();
    if said.len() > 1 {
        return fault(format!("`structured_outputs` may have one constraint; it has {}", said.join(" and ")));
    }
    let form =
        request.response_format.as_ref().and_then(|form| form.get("type")?.as_str()).filter(|form| *form != "text");
    // vLLM counts two JSON kinds as one.
    let clash = |kind: &&str| !kind.starts_with("json") || form == Some("structural_tag");
    if let (Some(form), Some(kind)) = (form, said.iter().copied().find(|kind| clash(kind))) {
        return fault(format!(
            "`structured_outputs` asks for {kind}, but `response_format` for {form}; one may be asked"
        ));
    }
    if !said.is_empty() && matches!(request.parse.tool_choice, unspool::ToolChoice::Named(_)) {
        return fault("`structured_outputs` cannot go with a function that must be called".to_owned());
    }
    Ok(())
}
