//! `GET /openapi.json` describes the APIs for programs, `GET /docs` for people.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use serde_json::Value;
use utoipa::OpenApi;
use utoipa::openapi::server::Server;

use super::{chat, completions, messages, responses, service, text};
use crate::app::App;

/// The endpoints and the fields that the gateway reads; other fields go to the backend.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "unspool",
        description = "Takes the raw output of a language model apart into thoughts, text and calls."
    ),
    paths(
        chat::serve,
        completions::serve,
        responses::serve,
        responses::input_tokens,
        messages::serve,
        messages::count_tokens,
        service::models,
        service::model,
        service::health,
        service::ready,
        service::version,
        service::metrics,
        text::tokenize,
        text::detokenize,
        text::render
    )
)]
struct Document;

/// The page: it loads only the document next to it.
const PAGE: &str = include_str!("docs.html");

/// The answers of each endpoint, and the required fields of its request.
const ANSWERS: &str = include_str!("answers.json");

/// `GET /openapi.json`.
pub(super) async fn document(State(app): State<Arc<App>>) -> Response {
    let mut document = Document::openapi();
    if let Some(root) = app.http().root() {
        document.servers = Some(vec![Server::new(root)]);
    }
    match whole(&document) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => crate::error::ApiError::new(
            axum::http::StatusCode::INTERNAL_SERVER_ERROR,
            format!("the document cannot be written: {error}"),
        )
        .into_response(),
    }
}

/// The document with the answers added.
fn whole(document: &utoipa::openapi::OpenApi) -> serde_json::Result<String> {
    let mut all = serde_json::to_value(document)?;
    merge(&mut all, serde_json::from_str(ANSWERS)?);
    drop_unfit_defaults(&mut all);
    Ok(all.to_string())
}

/// Drops defaults that their own schemas refuse: lists that are too short, and null where null is no value. Such a field is
/// refused when it is missing, and the document must be valid by itself.
fn drop_unfit_defaults(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_unfit_defaults),
        Value::Object(fields) => {
            let length = fields.get("default").and_then(Value::as_array).map(Vec::len);
            let least = fields.get("minItems").and_then(Value::as_u64).unwrap_or_default();
            let no_null = fields.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "null");
            let is_null = fields.get("default").is_some_and(Value::is_null);
            if length.is_some_and(|length| (length as u64) < least) || (is_null && no_null) {
                fields.remove("default");
            }
            fields.values_mut().for_each(drop_unfit_defaults);
        }
        _ => {}
    }
}

/// Merges `more` into `base`: objects are merged, anything else is replaced.
fn merge(base: &mut Value, more: Value) {
    match (base, more) {
        (Value::Object(base), Value::Object(more)) => {
            for (key, value) in more {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, more) => *base = more,
    }
}

/// `GET /docs`.
pub(super) async fn page() -> Html<&'static str> {
    Html(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_an_id_of_its_own() {
        let document = serde_json::to_value(Document::openapi()).expect("it is JSON");
        let operations = document["paths"].as_object().expect("there are paths").values();
        let mut ids: Vec<String> = operations
            .flat_map(|methods| methods.as_object().into_iter().flatten())
            .map(|(_, operation)| operation["operationId"].as_str().expect("an operation has an id").to_owned())
            .collect();
        let all = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), all, "{ids:?}");
    }

    #[test]
    fn every_answer_has_a_form_and_nothing_else_is_described() {
        let document = serde_json::to_value(Document::openapi()).expect("it is JSON");
        let answers: Value = serde_json::from_str(ANSWERS).expect("the answers are JSON");
        for (path, methods) in answers["paths"].as_object().expect("there are paths") {
            for method in methods.as_object().expect("a path has methods").keys() {
                assert!(document["paths"][path][method].is_object(), "{method} {path}");
            }
        }
        let whole: Value = serde_json::from_str(&whole(&Document::openapi()).expect("it is JSON")).expect("it is JSON");
        for (path, methods) in whole["paths"].as_object().expect("there are paths") {
            for (status, answer) in methods
                .as_object()
                .into_iter()
                .flatten()
                .flat_map(|(_, operation)| operation["responses"].as_object().into_iter().flatten())
            {
                assert!(answer["description"].is_string(), "{path} {status}");
                assert!(path == "/health" || answer["content"].is_object(), "{path} {status}");
            }
        }
        for (name, schema) in answers["components"]["schemas"].as_object().expect("there are schemas") {
            let known = document["components"]["schemas"].get(name).is_some();
            assert_eq!(
                known,
                schema.get("type").is_none(),
                "{name}: a request's body is told of elsewhere, an answer only here"
            );
        }
    }
}
