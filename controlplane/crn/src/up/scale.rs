//! Rates that this machine can carry: all rates divided, and all times multiplied, by the same number.
//!
//! Sizes stay as they are. So does everything that is a ratio: a queue as a part of its threshold, a completion time as a
//! part of the ideal one, the credit of a round trip. That makes a live run comparable with a simulation of the file.

use controller::topology::{ReportLimit, Topology};
use miette::{Result, miette};

/// The lowest rate that the protocols can express, bit/s.
const LOWEST_BPS: u64 = 1_000_000;

/// The longest time that is given to an agent or a switch, in nanoseconds: their limit.
const LONGEST_NS: u64 = 60_000_000_000;

/// How a topology was scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Rates are divided and times multiplied by it.
    pub factor: u64,
    /// The rate of the fastest link in the file, bit/s.
    pub fastest_bps: u64,
}

impl Scale {
    /// The smallest whole number that brings the fastest link down to `limit_bps`.
    pub fn of(topology: &Topology, limit_bps: u64) -> Self {
        let fastest_bps = topology.links.iter().map(|link| link.rate_bps).max().unwrap_or(limit_bps);
        Self { factor: fastest_bps.div_ceil(limit_bps.max(1)).max(1), fastest_bps }
    }

    /// Scales a topology: links, thresholds of time, RDCC's parameters, policies, workloads.
    ///
    /// # Errors
    /// A rate would be below what the protocols can express, or a time longer.
    pub fn apply(self, topology: &mut Topology) -> Result<()> {
        let Self { factor, .. } = self;
        let rate = |what: &str, value: &mut u64| {
            let scaled = *value / factor;
            if scaled < LOWEST_BPS {
                return Err(miette!(
                    help = "give a higher --rate; it is what the fastest link gets",
                    "{what} would be {scaled} bit/s, and 1 Mbit/s is the least that can be told to switches and hosts"
                ));
            }
            *value = scaled;
            Ok(())
        };
        let time = |what: &str, value: &mut u64| {
            let scaled = value.saturating_mul(factor);
            if scaled > LONGEST_NS {
                return Err(miette!(
                    help = "give a higher --rate; it is what the fastest link gets",
                    "{what} would be {} s, and 60 s is the most",
                    scaled / 1_000_000_000
                ));
            }
            *value = scaled;
            Ok(())
        };
        for link in &mut topology.links {
            rate("a link's rate", &mut link.rate_bps)?;
            time("a link's delay", &mut link.delay_ns)?;
        }
        for profile in topology.profiles.values_mut() {
            time("a report interval", &mut profile.report_interval_ns)?;
        }
        let profiles = topology.profiles.values_mut().map(|profile| &mut profile.report_limit);
        let ports = topology.switches.values_mut().flat_map(|switch| switch.port_options.values_mut());
        for limit in profiles.chain(ports.filter_map(|port| port.report_limit.as_mut())) {
            if let ReportLimit::Rate(limit) = limit {
                rate("a limit of reports", limit)?;
            }
        }
        let reports = &mut topology.domain.reports;
        if let Some(interval) = &mut reports.path_interval_ns {
            time("the interval of path reports", interval)?;
        }
        if let Some((interval, floor)) = &mut reports.rate_advice {
            time("the interval of Rate Advice", interval)?;
            rate("the floor of Rate Advice", floor)?;
        }
        if let Some((_, floor)) = &mut reports.rate_signal {
            rate("the floor of Rate Signals", floor)?;
        }
        for policy in &mut topology.policies.source_rates {
            rate("a policy's rate", &mut policy.rate_bps)?;
        }
        for policy in &mut topology.policies.queue_pair_rates {
            rate("a policy's rate", &mut policy.rate_bps)?;
        }
        let rdcc = &mut topology.rdcc;
        for (what, value) in [
            ("the base round-trip time", &mut rdcc.base_rtt_ns),
            ("J", &mut rdcc.start_jitter_ns),
            ("the Grant Lifetime", &mut rdcc.grant_lifetime_ns),
            ("D_max", &mut rdcc.max_delay_ns),
        ] {
            time(what, value)?;
        }
        for workload in &mut topology.workloads {
            time("a workload's gap", &mut workload.gap_ns)?;
        }
        Ok(())
    }

    /// What it does, in words.
    pub fn said(self, topology: &Topology) -> String {
        let Self { factor, fastest_bps } = self;
        if factor == 1 {
            return "rates and times are the file's".to_owned();
        }
        format!(
            "rates are the file's / {factor}, times x {factor}, sizes as in the file: the fastest link has {} instead of \
             {}, the base round-trip time is {} instead of {}",
            bits(fastest_bps / factor),
            bits(fastest_bps),
            duration(topology.rdcc.base_rtt_ns),
            duration(topology.rdcc.base_rtt_ns / factor),
        )
    }
}

/// A rate for people.
pub fn bits(bps: u64) -> String {
    match bps {
        0..1_000_000 => format!("{bps} bit/s"),
        1_000_000..1_000_000_000 => format!("{} Mbit/s", bps as f64 / 1e6),
        _ => format!("{} Gbit/s", bps as f64 / 1e9),
    }
}

/// A time for people.
pub fn duration(nanos: u64) -> String {
    match nanos {
        0..1_000_000 => format!("{} us", nanos as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{} ms", nanos as f64 / 1e6),
        _ => format!("{} s", nanos as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn incast() -> Topology {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies/incast-8to1.yaml");
        controller::topology::load(&path).unwrap()
    }

    #[test]
    fn bandwidth_delay_products_stay() {
        let mut topology = incast();
        let scale = Scale::of(&topology, 100_000_000);
        assert_eq!(scale, Scale { factor: 1000, fastest_bps: 100_000_000_000 });
        topology.profiles.get_mut("data").unwrap().report_limit = ReportLimit::Rate(3_000_000_000);
        let before = topology.clone();
        scale.apply(&mut topology).unwrap();
        let product = |t: &Topology| u128::from(t.links[0].rate_bps) * u128::from(t.rdcc.base_rtt_ns);
        assert_eq!(product(&topology), product(&before));
        assert_eq!(topology.rdcc.budget, before.rdcc.budget);
        assert_eq!(topology.profiles["data"].b_th, before.profiles["data"].b_th);
        assert_eq!(topology.profiles["data"].report_interval_ns, 10_000_000);
        assert_eq!(topology.profiles["data"].report_limit, ReportLimit::Rate(3_000_000));
        assert_eq!(topology.workloads[0].gap_ns, 50_000_000);
        let said = scale.said(&topology);
        assert!(said.contains("100 Mbit/s instead of 100 Gbit/s"), "{said}");
        assert!(said.contains("8 ms instead of 8 us"), "{said}");
    }

    #[test]
    fn slow_links_stay_as_they_are_and_none_gets_too_slow() {
        let mut topology = incast();
        let scale = Scale::of(&topology, 100_000_000_000);
        assert_eq!(scale.factor, 1);
        // One bit/s less, and the factor is 2: never faster than asked.
        assert_eq!(Scale::of(&topology, 99_999_999_999).factor, 2);
        scale.apply(&mut topology).unwrap();
        assert_eq!(topology, incast());
        let lowest = Scale::of(&topology, 1_000_000);
        lowest.apply(&mut topology).unwrap();
        let mut topology = incast();
        let error = Scale::of(&topology, 999_999).apply(&mut topology).unwrap_err();
        assert!(error.to_string().contains("1 Mbit/s"), "{error}");
    }
}
