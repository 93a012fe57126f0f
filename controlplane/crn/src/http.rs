//! What commands that stay serve of themselves over HTTP.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use miette::{Context as _, IntoDiagnostic as _, Result};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tracing::debug;

/// `OpenMetrics`, as prometheus-client writes it.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How long a connection may take, from the first octet of its request to the last of the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connections that are served at a time; others wait to be accepted.
const CONNECTIONS: usize = 64;

/// Pause after a connection couldn't be accepted: what is missing, file descriptors mostly, isn't there at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where to serve, from the command line.
///
/// # Errors
/// Anything but an address and a port: names may stand for several addresses.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write an IP address and a port, as in 127.0.0.1:9464 or [::1]:9464".to_owned())
}

/// What a request gets.
pub struct Page {
    /// 200, or why not.
    pub status: StatusCode,
    /// The media type.
    pub kind: &'static str,
    /// The body.
    pub text: String,
}

impl Page {
    /// Metrics in `OpenMetrics` text.
    pub fn metrics(text: String) -> Self {
        Self { status: StatusCode::OK, kind: METRICS, text }
    }

    /// A JSON document.
    pub fn json(text: String) -> Self {
        Self { status: StatusCode::OK, kind: "application/json", text }
    }

    /// There is nothing at that path; `what` says what there is.
    pub fn missing(what: &str) -> Self {
        Self { status: StatusCode::NOT_FOUND, kind: "text/plain", text: format!("there is {what}\n") }
    }
}

impl From<Page> for Response<Full<Bytes>> {
    fn from(page: Page) -> Self {
        let mut response = Response::new(Full::new(Bytes::from(page.text)));
        *response.status_mut() = page.status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(page.kind));
        response
    }
}

/// Listens at an address.
pub async fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.into_diagnostic().wrap_err_with(|| format!("can't listen at {address}"))
}

/// Answers requests to read until the process ends: one a connection, each in [`PATIENCE`].
pub async fn serve(
    listener: TcpListener,
    answer: impl Fn(&Request<Incoming>) -> Page + Clone + Send + 'static,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // Never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                debug!(%error, "a connection couldn't be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let reads = matches!(*request.method(), Method::GET | Method::HEAD);
                let response: Response<_> = if reads { answer(&request).into() } else { only_reading() };
                async move { Ok::<Response<_>, Infallible>(response) }
            });
            let mut builder = hyper::server::conn::http1::Builder::new();
            // One request each: who keeps a connection open keeps a place.
            builder.keep_alive(false);
            let served = builder.serve_connection(TokioIo::new(stream), service);
            // A request that breaks off, or never comes whole, concerns nobody else.
            match tokio::time::timeout(PATIENCE, served).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => debug!(%error, "a request for metrics broke off"),
                Err(_) => debug!("a request for metrics took too long"),
            }
            drop(place);
        });
    }
}

/// Nothing can be changed here.
fn only_reading() -> Response<Full<Bytes>> {
    let text = "there is nothing to change here: GET or HEAD\n".to_owned();
    let page = Page { status: StatusCode::METHOD_NOT_ALLOWED, kind: "text/plain", text };
    let mut response: Response<_> = page.into();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

/// All metrics of a registry in `OpenMetrics` text.
pub fn open_metrics(registry: &Registry) -> String {
    let mut out = String::new();
    // Writing into a `String` doesn't fail.
    let _ = text::encode(&mut out, registry);
    out
}
