//! `GET /openapi.json`: what there is, for programs; `GET /docs`: the same for people.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use utoipa::OpenApi;
use utoipa::openapi::server::Server;

use super::{chat, completions, messages, responses, service, text};
use crate::app::App;

/// The endpoints with their fields. The fields are those that the gateway itself reads; others go on to the backend.
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
        messages::serve,
        messages::count_tokens,
        service::models,
        service::health,
        service::version,
        service::metrics,
        text::tokenize,
        text::detokenize,
        text::render
    )
)]
struct Document;

/// The page: it reads the document beside it, and nothing from elsewhere.
const PAGE: &str = include_str!("docs.html");

/// `GET /openapi.json`.
pub(super) async fn document(State(app): State<Arc<App>>) -> Response {
    let mut document = Document::openapi();
    if let Some(root) = app.http().root() {
        document.servers = Some(vec![Server::new(root)]);
    }
    match document.to_json() {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => crate::error::ApiError::new(
            axum::http::StatusCode::INTERNAL_SERVER_ERROR,
            format!("the document cannot be written: {error}"),
        )
        .into_response(),
    }
}

/// `GET /docs`.
pub(super) async fn page() -> Html<&'static str> {
    Html(PAGE)
}
