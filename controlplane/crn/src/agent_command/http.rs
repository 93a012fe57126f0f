//! `/metrics` of an agent.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError};

use agent::rdcc::summary::{Counters, Summary};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

/// `OpenMetrics`, as prometheus-client writes it.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers until the process ends.
pub async fn serve(listener: TcpListener, shared: agent::rdcc::Shared) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let summary = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
                async move { Ok::<_, Infallible>(answer(&request, summary.as_ref())) }
            });
            // A request that breaks off concerns nobody else.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

fn answer(request: &Request<Incoming>, summary: Option<&Summary>) -> Response<Full<Bytes>> {
    let (status, kind, text) = match request.uri().path() {
        "/metrics" => (StatusCode::OK, METRICS, summary.map_or_else(String::new, metrics)),
        _ => (StatusCode::NOT_FOUND, "text/plain", "there is /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// The counters in `OpenMetrics` text.
fn metrics(summary: &Summary) -> String {
    let mut registry = Registry::with_prefix("crn_rdcc");
    let parts = [
        ("sender", summary.sender.as_ref()),
        ("receiver", summary.receiver.as_ref()),
        ("transport", Some(&summary.transport)),
    ];
    for (part, counters) in parts {
        register(registry.sub_registry_with_prefix(part), counters);
    }
    let mut out = String::new();
    // Writing into a `String` doesn't fail.
    let _ = text::encode(&mut out, &registry);
    out
}

fn register(registry: &mut Registry, counters: Option<&Counters>) {
    for counter in counters.into_iter().flat_map(|counters| &counters.0) {
        if counter.gauge {
            let value = i64::try_from(counter.value).unwrap_or(i64::MAX);
            registry.register(counter.name, counter.help, ConstGauge::new(value));
        } else {
            registry.register(counter.name, counter.help, ConstCounter::new(counter.value));
        }
    }
}
