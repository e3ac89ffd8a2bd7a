//! The endpoints around the API: models, health, version.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::ApiError;

/// `GET /v1/models`: the served names; without any, the backend's own list.
#[utoipa::path(get, path = "/v1/models", tag = "Service", responses((status = 200, description = "The names of the model")))]
pub(super) async fn models(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    app.backend().learn().await;
    let list = match app.served_names() {
        [] => match app.backend().models().await {
            Some(list) => list?,
            None => cards(&app, &[app.default_name().to_owned()]),
        },
        names => cards(&app, names),
    };
    Ok(json_response(&list))
}

fn cards(app: &App, names: &[String]) -> Value {
    let root = names.first();
    let card = |id: &String| {
        json!({
            "id": id, "object": "model", "created": app.started(), "owned_by": "unspool", "root": root, "parent": null,
            "max_model_len": app.longest_context(Some(id)), "permission": [],
        })
    };
    json!({"object": "list", "data": names.iter().map(card).collect::<Vec<_>>()})
}

/// `GET /health`: 200 and nothing else.
#[utoipa::path(get, path = "/health", tag = "Service", responses((status = 200, description = "The gateway serves; empty")))]
pub(super) async fn health() -> StatusCode {
    StatusCode::OK
}

/// `GET /version`.
#[utoipa::path(get, path = "/version", tag = "Service", responses((status = 200, description = "The version")))]
pub(super) async fn version() -> Response {
    json_response(&json!({"version": env!("CARGO_PKG_VERSION")}))
}

/// `GET /metrics`: what is counted, in Prometheus' text format.
#[utoipa::path(get, path = "/metrics", tag = "Service", responses((status = 200, description = "What is counted, in Prometheus' text format")))]
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.metrics().text()).into_response()
}

/// A JSON answer.
pub(super) fn json_response(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}
