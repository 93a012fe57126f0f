//! `/metrics` of an agent, and `/admission`: its domains and the two queries of each task.

use std::sync::PoisonError;

use agent::rdcc::admission::AdmissionView;
use agent::rdcc::summary::{Counters, Summary};
use hyper::Request;
use hyper::body::Incoming;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;

use crate::http::{Page, open_metrics};

/// What a request gets.
pub fn answer(request: &Request<Incoming>, shared: &agent::rdcc::Shared) -> Page {
    match request.uri().path() {
        "/metrics" => {
            let summary = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Page::metrics(summary.as_ref().map_or_else(String::new, metrics))
        }
        "/admission" => {
            let summary = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
            match summary.and_then(|summary| summary.admission) {
                Some(view) => Page::json(serde_json::to_string(&view).unwrap_or_default()),
                None => Page::missing("/metrics; no admission runs here"),
            }
        }
        _ => Page::missing("/metrics and, where admission runs, /admission"),
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
    if let Some(admission) = &summary.admission {
        let registry = registry.sub_registry_with_prefix("admission");
        register(registry, Some(&admission.counters));
        register_domains(registry, admission);
    }
    open_metrics(&registry)
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Domain {
    /// `device`, or the receiver at a route's end.
    domain: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DomainState {
    domain: String,
    state: String,
}

fn register_domains(registry: &mut Registry, admission: &AdmissionView) {
    let gauges = || Family::<Domain, Gauge>::default();
    let counters = || Family::<Domain, Counter>::default();
    let (window, in_flight) = (gauges(), gauges());
    let (deferred, avoided, completed) = (counters(), counters(), counters());
    let states = Family::<DomainState, Gauge>::default();
    for view in admission.device.iter().chain(&admission.routes) {
        let domain = view.peer.map_or_else(|| "device".to_owned(), |peer| peer.to_string());
        let state = DomainState { domain: domain.clone(), state: view.state.to_owned() };
        states.get_or_create(&state).set(1);
        let label = Domain { domain };
        let set = |family: &Family<Domain, Gauge>, value: u64| {
            family.get_or_create(&label).set(i64::try_from(value).unwrap_or(i64::MAX));
        };
        set(&window, view.window);
        set(&in_flight, view.in_flight);
        let count = |family: &Family<Domain, Counter>, value| family.get_or_create(&label).inc_by(value);
        count(&deferred, view.deferred.into());
        count(&avoided, view.avoided.into());
        count(&completed, view.completed);
    }
    registry.register("window_octets", "Window", window);
    registry.register("in_flight_octets", "Octets in flight", in_flight);
    registry.register("deferred", "Posts that had to wait for room", deferred);
    registry.register("avoided", "Posts that a quarantine kept off", avoided);
    registry.register("completed_octets", "Octets completed with success", completed);
    registry.register("state", "1 for the state that the domain is in", states);
}

/// Puts counters into a registry.
pub fn register(registry: &mut Registry, counters: Option<&Counters>) {
    for counter in counters.into_iter().flat_map(|counters| &counters.0) {
        if counter.gauge {
            let value = i64::try_from(counter.value).unwrap_or(i64::MAX);
            registry.register(counter.name, counter.help, ConstGauge::new(value));
        } else {
            registry.register(counter.name, counter.help, ConstCounter::new(counter.value));
        }
    }
}
