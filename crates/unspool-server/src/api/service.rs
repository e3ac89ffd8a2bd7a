//! The endpoints around the API: models, health, version.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::ApiError;

/// `GET /v1/models`: the served names; without any, the backend's own list.
#[utoipa::path(get, path = "/v1/models", tag = "Service", responses((status = 200, description = "The names of the model")))]
pub(super) async fn models(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    Ok(json_response(&list(&app).await?))
}

async fn list(app: &App) -> Result<Value, ApiError> {
    app.learn().await;
    Ok(match app.served_names() {
        [] => match app.backend().models().await {
            Some(list) => list?,
            None => cards(app, &[app.default_name().to_owned()]),
        },
        names => cards(app, names),
    })
}

/// `GET /v1/models/{id}`: one of that list. An id may have slashes.
#[utoipa::path(
    get, path = "/v1/models/{id}", tag = "Service", params(("id" = String, Path, description = "A name of the list")),
    responses((status = 200, description = "The model"), (status = 404, description = "No model has this name")),
)]
pub(super) async fn model(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, ApiError> {
    let mut list = list(&app).await?;
    let cards = list.get_mut("data").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
    let card = cards.into_iter().find(|card| card.get("id").is_some_and(|own| *own == *id));
    card.map(|card| json_response(&card)).ok_or_else(|| {
        let error = ApiError::new(StatusCode::NOT_FOUND, format!("the model `{id}` is not served here"));
        ApiError { param: Some("model".to_owned()), ..error }.hint("GET /v1/models lists what is")
    })
}

/// `GET /ready`: 200 if a backend is healthy, else 503.
#[utoipa::path(
    get, path = "/ready", tag = "Service",
    responses((status = 200, description = "A backend is well"), (status = 503, description = "None is")),
)]
pub(super) async fn ready(State(app): State<Arc<App>>) -> Response {
    let well: Vec<bool> = app.backend().servers().await.iter().map(|server| server.well).collect();
    let ready = well.is_empty() || well.contains(&true);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, json_response(&json!({"ready": ready, "backends": well}))).into_response()
}

/// The page at `/`. Its links are relative, so they work behind a proxy's prefix.
const PAGE: &str = concat!(
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>unspool</title>",
    "<style>body{font:16px/1.5 system-ui;max-width:40em;margin:3em auto;padding:0 1em}</style>",
    "<h1>unspool ",
    env!("CARGO_PKG_VERSION"),
    "</h1><p>This is a gateway for language models. Clients take this address with <code>/v1</code> behind it as their base URL.</p><ul>",
    "<li><a href=\"docs\">docs</a>: the endpoints and their fields (<a href=\"openapi.json\">openapi.json</a>)</li>",
    "<li><a href=\"v1/models\">v1/models</a>: what is served</li>",
    "<li><a href=\"health\">health</a>: the gateway lives; <a href=\"ready\">ready</a>: a backend answers</li>",
    "<li><a href=\"metrics\">metrics</a>: what is counted</li></ul></html>",
);

/// `GET /`.
pub(super) async fn page() -> Html<&'static str> {
    Html(PAGE)
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

/// `GET /metrics`: metrics in Prometheus' text format.
#[utoipa::path(get, path = "/metrics", tag = "Service", responses((status = 200, description = "What is counted, in Prometheus' text format")))]
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.metrics().text()).into_response()
}

/// A JSON answer.
pub(super) fn json_response(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}
