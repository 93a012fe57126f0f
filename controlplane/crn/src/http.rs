//! What commands that stay serve of themselves over HTTP.

use std::convert::Infallible;
use std::net::SocketAddr;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use miette::{Context as _, IntoDiagnostic as _, Result};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tracing::debug;

/// `OpenMetrics`, as prometheus-client writes it.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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

/// Answers until the process ends.
pub async fn serve(
    listener: TcpListener,
    answer: impl Fn(&Request<Incoming>) -> Page + Clone + Send + 'static,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let page = answer(&request);
                async move { Ok::<Response<_>, Infallible>(page.into()) }
            });
            let served =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // A request that breaks off concerns nobody else.
            if let Err(error) = served.await {
                debug!(%error, "a request for metrics broke off");
            }
        });
    }
}

/// All metrics of a registry in `OpenMetrics` text.
pub fn open_metrics(registry: &Registry) -> String {
    let mut out = String::new();
    // Writing into a `String` doesn't fail.
    let _ = text::encode(&mut out, registry);
    out
}
