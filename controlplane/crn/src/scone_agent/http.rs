//! `/metrics` of SCONE's agents.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError};

use agent::scone::{Shared, Snapshot};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use tokio::net::TcpListener;

/// `OpenMetrics`, as prometheus-client writes it.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Address {
    address: String,
}

/// Answers until the process ends. `what`: a host, or a gateway.
pub async fn serve(listener: TcpListener, what: &'static str, shared: Shared) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let snapshot = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
                async move { Ok::<_, Infallible>(answer(&request, what, &snapshot)) }
            });
            // A request that breaks off concerns nobody else.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

fn answer(request: &Request<Incoming>, what: &str, snapshot: &Snapshot) -> Response<Full<Bytes>> {
    let (status, kind, text) = match request.uri().path() {
        "/metrics" => (StatusCode::OK, METRICS, metrics(what, snapshot)),
        _ => (StatusCode::NOT_FOUND, "text/plain", "there is /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn metrics(what: &str, snapshot: &Snapshot) -> String {
    let mut registry = Registry::with_prefix(format!("crn_scone_{what}"));
    let rates = Family::<Address, Gauge>::default();
    for &(address, rate) in &snapshot.rates {
        rates.get_or_create(&label(address)).set(i64::try_from(rate).unwrap_or(i64::MAX));
    }
    let unit = Unit::Other("bits_per_second".to_owned());
    registry.register_with_unit("rate", "Cap or advice in force for the address", unit, rates);
    for &(name, count) in &snapshot.counters {
        registry.register(name, format!("Datagrams: {name}"), ConstCounter::new(count));
    }
    let mut out = String::new();
    // Writing into a `String` doesn't fail.
    let _ = text::encode(&mut out, &registry);
    out
}

fn label(address: IpAddr) -> Address {
    Address { address: address.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_and_counters_are_exported() {
        let rates = vec![(IpAddr::from([10, 0, 0, 1]), 25_000_000)];
        let text = metrics("host", &Snapshot { rates, counters: vec![("advice", 3)] });
        let cap = "crn_scone_host_rate_bits_per_second{address=\"10.0.0.1\"} 25000000\n";
        assert!(text.contains(cap) && text.contains("crn_scone_host_advice_total 3\n"), "{text}");
    }
}
