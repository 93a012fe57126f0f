//! `/metrics` and `/healthz`.

use std::sync::PoisonError;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};

use super::SharedHealth;
use super::metrics::Metrics;
use crate::http::Page;

/// What a request gets.
pub fn answer(request: &Request<Incoming>, metrics: &Metrics, health: &SharedHealth) -> Page {
    match request.uri().path() {
        "/metrics" => Page::metrics(metrics.text()),
        "/healthz" => {
            let health = health.lock().unwrap_or_else(PoisonError::into_inner);
            let status = if health.good() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            Page { status, kind: "application/json", text: health.json() }
        }
        _ => Page::missing("/metrics and /healthz"),
    }
}
