//! `/metrics` of an agent.

use std::sync::PoisonError;

use agent::rdcc::summary::{Counters, Summary};
use hyper::Request;
use hyper::body::Incoming;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::http::{Page, open_metrics};

/// What a request gets.
pub fn answer(request: &Request<Incoming>, shared: &agent::rdcc::Shared) -> Page {
    match request.uri().path() {
        "/metrics" => {
            let summary = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Page::metrics(summary.as_ref().map_or_else(String::new, metrics))
        }
        _ => Page::missing("/metrics"),
    }
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
    open_metrics(&registry)
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
