//! `/metrics` and `/healthz`.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tracing::debug;

use super::SharedHealth;
use super::metrics::Metrics;

/// `OpenMetrics`, as prometheus-client writes it.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers until the process ends.
pub async fn serve(listener: TcpListener, metrics: Arc<Metrics>, health: SharedHealth) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (metrics, health) = (Arc::clone(&metrics), Arc::clone(&health));
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let response = answer(&request, &metrics, &health);
                async move { Ok::<_, Infallible>(response) }
            });
            let served =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
            if let Err(error) = served.await {
                debug!(%error, "a request for metrics broke off");
            }
        });
    }
}

fn answer(request: &Request<Incoming>, metrics: &Metrics, health: &SharedHealth) -> Response<Full<Bytes>> {
    let (status, kind, text) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => (StatusCode::OK, METRICS, metrics.text()),
        (&Method::GET, "/healthz") => {
            let health = health.lock().unwrap_or_else(PoisonError::into_inner);
            let status = if health.good() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            (status, "application/json", health.json())
        }
        _ => (StatusCode::NOT_FOUND, "text/plain", "there is /metrics and /healthz\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
