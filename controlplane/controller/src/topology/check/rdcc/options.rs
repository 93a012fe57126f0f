//! Parameters that have a default of their own at the endpoint.

use super::super::super::decode::{Int, Located, Problems};
use super::super::super::quantity::{Quantity, Unit};
use super::super::super::{Problem, Rate, RdccHear, RdccOptions, RdccParams, Size, Time, raw};
use super::{place, pointing};

pub(super) fn read(raw: &raw::Rdcc) -> RdccOptions {
    let hear = raw.hear.clone().unwrap_or_default();
    RdccOptions {
        unit_overhead: given(raw.unit_overhead.as_ref()),
        update_interval_ns: given(raw.update_interval.as_ref()),
        delay_target_ns: given(raw.delay_target.as_ref()),
        alpha_bps: given(raw.alpha.as_ref()),
        beta_permille: narrow(given(raw.beta.as_ref()).map(|millionths| millionths / 1000)),
        association_credit: given(raw.association_credit.as_ref()),
        max_associations: count(raw.max_associations.as_ref()),
        max_pending_messages: count(raw.max_pending_messages.as_ref()),
        idle_timeout_ns: given(raw.idle_timeout.as_ref()),
        loss_threshold_ppm: narrow(given(raw.loss_threshold.as_ref())),
        loss_interval_ns: given(raw.loss_interval.as_ref()),
        opaque_bindings: raw.opaque_bindings,
        pool_grants: raw.pool_grants,
        sender_backlog_threshold: given(raw.sender_backlog_threshold.as_ref()),
        hear: RdccHear { reports: hear.reports, ecn: hear.ecn, delay: hear.delay },
    }
}

fn given<U: Unit>(value: Option<&Located<Quantity<U>>>) -> Option<u64> {
    value.map(|given| given.value.get())
}

fn narrow(value: Option<u64>) -> Option<u32> {
    value.and_then(|value| u32::try_from(value).ok())
}

fn count<const MIN: u64, const MAX: u64>(value: Option<&Located<Int<MIN, MAX>>>) -> Option<usize> {
    value.and_then(|given| usize::try_from(given.value.0).ok())
}

/// What an endpoint couldn't work with; `access_bps` is the slowest link of a host.
pub(super) fn check(raw: &raw::Rdcc, params: &RdccParams, access_bps: u64, problems: &mut Problems) {
    for (given, what) in [
        (&raw.update_interval, "an update interval"),
        (&raw.idle_timeout, "an idle timeout"),
        (&raw.loss_interval, "a loss interval"),
    ] {
        if let Some(given) = given.as_ref().filter(|given| given.value.get() == 0) {
            problems.push(
                Problem::error("topology::rdcc", format!("{} isn't {what}", given.value))
                    .at(given.span, "")
                    .hint("allowed: 1ns to 60s"),
            );
        }
    }
    if let Some(beta) = &raw.beta
        && !((1..=1000).contains(&(beta.value.get() / 1000)) && beta.value.get().is_multiple_of(1000))
    {
        problems.push(
            Problem::error("topology::rdcc", format!("{} isn't a beta", beta.value))
                .at(beta.span, "")
                .hint("allowed: 0.1% to 100%, in steps of 0.1%"),
        );
    }
    if let Some(target) = &raw.delay_target
        && target.value.get() < params.base_rtt_ns
    {
        problems.push(
            Problem::warning(
                "topology::rdcc",
                format!("the delay target ({}) is below the base RTT", target.value),
            )
            .at(target.span, "every path counts as congested")
            .hint(format!("RDCC's default is twice the base RTT: {}", Time::new(2 * params.base_rtt_ns))),
        );
    }
    if let Some(credit) = &raw.association_credit
        && credit.value.get() < params.credit_unit
    {
        problems.push(
            Problem::error("topology::rdcc", "one sender couldn't hold a single Credit Unit")
                .at(credit.span, "")
                .hint(format!("at least {}", Size::new(params.credit_unit))),
        );
    }
    least_rate(raw, params, access_bps, problems);
}

/// `R_min`, one Credit Unit in an update interval, has to fit the link, headers counted. Endpoints refuse to start
/// otherwise; switches don't mind.
fn least_rate(raw: &raw::Rdcc, params: &RdccParams, access_bps: u64, problems: &mut Problems) {
    let interval = params.options.update_interval_ns.unwrap_or(params.base_rtt_ns).max(1);
    let overhead = params.options.unit_overhead.unwrap_or_default();
    let octets = u128::from(params.credit_unit + overhead);
    let least = octets * 8_000_000_000 / u128::from(interval);
    if least <= u128::from(access_bps) {
        return;
    }
    let nanos = (octets * 8_000_000_000).div_ceil(u128::from(access_bps.max(1)));
    let problem = Problem::warning(
        "topology::rdcc",
        format!(
            "one Credit Unit ({}) in each update interval ({}) is more than a link of {} carries",
            Size::new(params.credit_unit),
            Time::new(interval),
            Rate::new(access_bps)
        ),
    );
    let places =
        [place(raw.update_interval.as_ref()), place(raw.credit_unit.as_ref()), place(raw.base_rtt.as_ref())];
    let enough = Time::new(u64::try_from(nanos).unwrap_or(u64::MAX));
    let hint =
        format!("receivers won't start: `update_interval: {enough}` at least, or a smaller Credit Unit");
    problems.push(pointing(problem, places).hint(hint));
}
