//! Policies, and the reports besides the congestion reports.

use std::net::IpAddr;

use super::super::decode::{Located, Problems};
use super::super::{
    AclEntry, Origin, Places, Policies, Prefix, Problem, QueuePairRate, Rate, Reports, SourceRate, Time, raw,
};

/// Lowest rate that congestion may advise where the file gives none: the smallest that the wire knows.
const DEFAULT_FLOOR: u64 = 1_000_000;

/// What `domain.reports` says.
pub(super) fn reports(raw: Option<&raw::Reports>, problems: &mut Problems) -> Reports {
    let Some(raw) = raw else { return Reports::default() };
    let path = raw.path.as_ref().and_then(|path| path.interval.as_ref());
    let advice = raw.rate_advice.as_ref();
    let advice_interval = advice.and_then(|advice| advice.interval.as_ref());
    for (given, zero) in [(path, true), (advice_interval, false)] {
        let Some(given) = given else { continue };
        whole_micros(given, zero, problems);
    }
    let floor = |floor: Option<Rate>| floor.map_or(DEFAULT_FLOOR, Rate::get);
    let signal = raw.rate_signal.as_ref();
    let kind = signal.and_then(|signal| u8::try_from(signal.kind.as_ref()?.value.0).ok());
    Reports {
        path_interval_ns: path.map(|interval| interval.value.get()),
        rate_advice: advice_interval
            .map(|interval| (interval.value.get(), floor(advice.and_then(|advice| advice.floor)))),
        rate_signal: kind.map(|kind| (kind, floor(signal.and_then(|signal| signal.floor)))),
    }
}

fn whole_micros(given: &Located<Time>, zero: bool, problems: &mut Problems) {
    let nanos = given.value.get();
    if nanos.is_multiple_of(1000) && (zero || nanos > 0) {
        return;
    }
    problems.push(
        Problem::error("topology::report_interval", format!("{} isn't a report interval", given.value))
            .at(given.span, "")
            .hint(format!(
                "allowed: {} to 60s, in whole microseconds: switches count time in those",
                if zero { "0us" } else { "1us" }
            )),
    );
}

/// Reads the policies; entries that can't be read have been reported.
pub(super) fn check(file: &raw::File, problems: &mut Problems) -> Policies {
    let Some(raw) = &file.policies else { return Policies::default() };
    let port = |port: &Option<Located<super::super::decode::Int<0, 65535>>>| {
        u16::try_from(port.as_ref()?.value.0).ok()
    };
    let prefix = |prefix: &Option<Located<super::super::values::Prefix>>| Some(prefix.as_ref()?.value.0);
    for entry in raw.acl.iter().flatten() {
        families(entry, problems);
    }
    for entry in raw.report_to.iter().flatten() {
        if let (Some(sources), Some(address)) = (&entry.sources, &entry.address)
            && sources.value.0.is_ipv4() != address.value.0.is_ipv4()
        {
            problems.push(
                Problem::error("topology::family", "sources and address are of different families")
                    .at(address.span, "where reports go")
                    .at(sources.span, "about these")
                    .hint("give an address of the sources' family"),
            );
        }
    }
    Policies {
        source_rates: raw
            .source_rates
            .iter()
            .flatten()
            .filter_map(|entry| {
                Some(SourceRate {
                    from: prefix(&entry.from)?,
                    class: entry.class.as_ref().and_then(|class| u8::try_from(class.value.0).ok()),
                    rate_bps: entry.rate?.get(),
                })
            })
            .collect(),
        queue_pair_rates: raw
            .queue_pair_rates
            .iter()
            .flatten()
            .filter_map(|entry| {
                Some(QueuePairRate {
                    to: entry.to.as_ref()?.value.0,
                    qp: u32::try_from(entry.qp.as_ref()?.value.0).ok()?,
                    rate_bps: entry.rate?.get(),
                })
            })
            .collect(),
        acl: raw
            .acl
            .iter()
            .flatten()
            .filter_map(|entry| {
                Some(AclEntry {
                    action: entry.action.as_ref()?.value.0,
                    from: prefix(&entry.from),
                    to: prefix(&entry.to),
                    protocol: entry.protocol.as_ref().map(|protocol| protocol.value.0),
                    source_port: port(&entry.source_port),
                    destination_port: port(&entry.destination_port),
                })
            })
            .collect(),
        report_to: raw
            .report_to
            .iter()
            .flatten()
            .filter_map(|entry| -> Option<(Prefix, IpAddr)> {
                Some((prefix(&entry.sources)?, entry.address.as_ref()?.value.0))
            })
            .collect(),
        source_check: raw.source_check == Some(true),
    }
}

/// An entry whose two prefixes are of different families matches nothing.
fn families(entry: &raw::AclEntry, problems: &mut Problems) {
    if let (Some(from), Some(to)) = (&entry.from, &entry.to)
        && from.value.0.is_ipv4() != to.value.0.is_ipv4()
    {
        problems.push(
            Problem::error("topology::family", "`from` and `to` are of different families: nothing matches")
                .at(to.span, "")
                .at(from.span, "")
                .hint("give two prefixes of one family"),
        );
    }
}

/// Notes where each policy stands. Entries that can't be read end the checks before these numbers are used.
pub(super) fn places(file: &raw::File, places: &mut Places) {
    let reports = file.domain.as_ref().and_then(|domain| domain.reports.as_ref());
    let spans = reports.map(|reports| {
        [
            reports.path.as_ref().and_then(|path| path.interval.as_ref()).map(|given| given.span),
            reports.rate_advice.as_ref().and_then(|advice| advice.interval.as_ref()).map(|given| given.span),
            reports.rate_signal.as_ref().and_then(|signal| signal.kind.as_ref()).map(|given| given.span),
        ]
    });
    if let Some(span) = spans.into_iter().flatten().flatten().next() {
        places.note(Origin::Reports, span);
    }
    let Some(raw) = &file.policies else { return };
    let lists = [
        ("source_rates", spans_of(raw.source_rates.as_ref(), |entry| Some(entry.from.as_ref()?.span))),
        ("queue_pair_rates", spans_of(raw.queue_pair_rates.as_ref(), |entry| Some(entry.to.as_ref()?.span))),
        ("acl", spans_of(raw.acl.as_ref(), |entry| Some(entry.action.as_ref()?.span))),
        ("report_to", spans_of(raw.report_to.as_ref(), |entry| Some(entry.sources.as_ref()?.span))),
    ];
    for (list, spans) in lists {
        for (index, span) in spans.into_iter().enumerate() {
            places.note(Origin::Policy(list, index), span.unwrap_or_default());
        }
    }
}

fn spans_of<T>(
    list: Option<&Vec<T>>,
    span: impl Fn(&T) -> Option<super::super::Span>,
) -> Vec<Option<super::super::Span>> {
    list.into_iter().flatten().map(span).collect()
}
