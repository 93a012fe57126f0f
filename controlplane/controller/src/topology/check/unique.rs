//! What belongs to one node only.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::hash::Hash;

use super::super::decode::{Named, Problems};
use super::super::{Problem, Span, raw};
use super::nodes::derived_mac;

/// Addresses, MACs, device ids and reporter ids belong to one node each.
pub(super) fn check(switches: &Named<raw::Switch>, hosts: &Named<raw::Host>, problems: &mut Problems) {
    let switches: Vec<_> =
        switches.0.iter().filter_map(|(name, raw)| Some((name.value.as_str(), raw.as_ref()?))).collect();
    let hosts: Vec<_> =
        hosts.0.iter().filter_map(|(name, raw)| Some((name.value.as_str(), raw.as_ref()?))).collect();

    let of_switches = switches.iter().filter_map(|(name, raw)| Some((*name, raw.address.as_ref()?)));
    let of_hosts = hosts.iter().filter_map(|(name, raw)| Some((*name, raw.address.as_ref()?)));
    let addresses = of_switches.chain(of_hosts).map(|(name, address)| (address.value, name, address.span));
    duplicates(
        "topology::same_address",
        "address",
        "give each node an address of its own",
        addresses,
        problems,
    );

    let of_switches = switches.iter().filter_map(|(name, raw)| Some((*name, raw.ipv6.as_ref()?)));
    let of_hosts = hosts.iter().filter_map(|(name, raw)| Some((*name, raw.ipv6.as_ref()?)));
    let addresses = of_switches.chain(of_hosts).map(|(name, address)| (address.value, name, address.span));
    let hint = "give each node an address of its own";
    duplicates("topology::same_address", "address", hint, addresses, problems);

    let ids = switches
        .iter()
        .filter_map(|(name, raw)| raw.device_id.as_ref().map(|id| (id.value.0, *name, id.span)));
    let hint = "give each switch an id of its own";
    duplicates("topology::same_device_id", "device_id", hint, ids, problems);
    let ids = switches
        .iter()
        .filter_map(|(name, raw)| raw.reporter_id.as_ref().map(|id| (id.value.0, *name, id.span)));
    let hint = "give each switch an id of its own: endpoints tell switches apart by it";
    duplicates("topology::same_reporter_id", "reporter_id", hint, ids, problems);

    // Equal addresses have been reported; the MACs derived from them needn't be.
    let mut addresses = HashSet::new();
    let macs = hosts.iter().filter_map(|(name, raw)| {
        let address = raw.address.as_ref()?;
        let first = addresses.insert(address.value);
        match &raw.mac {
            Some(mac) => Some((format_mac(mac.value.0), *name, mac.span)),
            None if first => Some((format_mac(derived_mac(address.value)), *name, address.span)),
            None => None,
        }
    });
    duplicates("topology::same_mac", "MAC", "give each host a MAC of its own", macs, problems);
}

fn format_mac(mac: [u8; 6]) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}

fn duplicates<'a, T: Hash + Eq + Display>(
    code: &'static str,
    what: &str,
    hint: &str,
    values: impl Iterator<Item = (T, &'a str, Span)>,
    problems: &mut Problems,
) {
    let mut seen: HashMap<T, (&str, Span)> = HashMap::new();
    for (value, name, span) in values {
        if let Some((other, first)) = seen.get(&value) {
            problems.push(
                Problem::error(code, format!("`{name}` and `{other}` have the same {what} {value}"))
                    .at(span, format!("{name}'s"))
                    .at(*first, format!("{other}'s"))
                    .hint(hint),
            );
        } else {
            seen.insert(value, (name, span));
        }
    }
}
