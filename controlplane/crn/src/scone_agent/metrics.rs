//! `/metrics` of SCONE's agents.

use std::net::IpAddr;
use std::sync::PoisonError;

use agent::scone::{Shared, Snapshot};
use hyper::Request;
use hyper::body::Incoming;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::http::{Page, open_metrics};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Address {
    address: String,
}

/// What a request gets. `what`: a host, or a gateway; `lost`: printed lines that nobody took.
pub fn answer(request: &Request<Incoming>, what: &str, shared: &Shared, lost: u64) -> Page {
    match request.uri().path() {
        "/metrics" => {
            let snapshot = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Page::metrics(metrics(what, &snapshot, lost))
        }
        _ => Page::missing("/metrics"),
    }
}

fn metrics(what: &str, snapshot: &Snapshot, lost: u64) -> String {
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
    registry.register("lines_lost", "Lines that nobody read in time", ConstCounter::new(lost));
    open_metrics(&registry)
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
        let text = metrics("host", &Snapshot { rates, counters: vec![("advice", 3)] }, 7);
        let cap = "crn_scone_host_rate_bits_per_second{address=\"10.0.0.1\"} 25000000\n";
        assert!(text.contains(cap) && text.contains("crn_scone_host_advice_total 3\n"), "{text}");
        assert!(text.contains("crn_scone_host_lines_lost_total 7\n"), "{text}");
    }
}
