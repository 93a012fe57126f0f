//! N-to-1 incast over the compiled program, for the figures in `docs/benchmarks.md`.
//!
//! `cargo run --release -p sim --example incast [-- FILTER]`, where FILTER is a part of a row's name ("N=8 ", "400G").

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement: it reads the clock, and a failure ends it"
)]

use std::fmt::Write as _;
use std::time::Instant;

use sim::{Pipeline, Scheme};

/// Hosts of one switch at most: `BMv2` has 510 ports.
const LEAF_HOSTS: u32 = 400;
const UNIT: u64 = 4096;
/// What a packet takes on the link beside its payload of one Credit Unit.
const ON_LINK: u64 = 98;
/// One way over one link.
const HOP_NANOS: u64 = 2000;

struct Case {
    senders: u32,
    gigabits: u64,
    kib: u64,
}

impl Case {
    fn name(&self) -> String {
        format!("N={} {}G {}KiB", self.senders, self.gigabits, self.kib)
    }

    /// One switch; for more hosts than it has ports, leaf switches with four times the rate toward a core.
    fn leaves(&self) -> u32 {
        if self.senders < LEAF_HOSTS { 0 } else { self.senders.div_ceil(LEAF_HOSTS) }
    }

    fn rtt_nanos(&self) -> u64 {
        HOP_NANOS * if self.leaves() == 0 { 4 } else { 6 }
    }

    fn bdp(&self) -> u64 {
        self.gigabits * self.rtt_nanos() / 8
    }

    fn unscheduled_budget(&self) -> u64 {
        self.bdp() / 2
    }

    /// U: the senders' share of `G_u`. Where that is less than a packet, one octet, which lets nothing go unscheduled: the
    /// topology takes no zero.
    fn unscheduled_limit(&self) -> u64 {
        let share = self.unscheduled_budget() / u64::from(self.senders);
        if share < UNIT { 1 } else { share }
    }

    /// The utilisation that the first grant's round trip leaves of a batch.
    fn attainable(&self) -> f64 {
        let octets = u64::from(self.senders) * self.kib * 1024;
        let on_link = octets + octets / UNIT * ON_LINK;
        let nanos = on_link as f64 * 8.0 / self.gigabits as f64;
        nanos / (nanos + self.rtt_nanos() as f64)
    }

    fn yaml(&self) -> String {
        let (bdp, rtt) = (self.bdp(), self.rtt_nanos());
        let mut yaml = format!(
            "name: incast\n\
             domain:\n  ports: {{ rdcc: 52100, crem: 52101, scone: 52102 }}\n  dscp:\n    \
             - {{ dscp: 26, role: scheduled, class: 0, queue: 0 }}\n    \
             - {{ dscp: 28, role: unscheduled, class: 0, queue: 0 }}\n    \
             - {{ dscp: 48, role: control, class: 7, queue: 7 }}\n\
             defaults:\n  link: {{ rate: {}Gbps, delay: {HOP_NANOS}ns }}\n  profile: data\n  control_profile: control\n\
             profiles:\n  data: {{ b_th: {bdp}B, ecn_threshold: {bdp}B, q_max: {}B, report_interval: 10us }}\n  \
             control: {{ b_th: 900kB, q_max: 1MB, report_interval: 10us }}\nswitches:\n  \
             core: {{ target: soft, device_id: 1, reporter_id: 1, address: 10.255.0.1 }}\n",
            self.gigabits,
            bdp * 10,
        );
        for leaf in 1..=self.leaves() {
            let id = leaf + 1;
            let _ = writeln!(
                yaml,
                "  leaf{leaf}: {{ target: soft, device_id: {id}, reporter_id: {id}, address: 10.255.0.{id} }}"
            );
        }
        yaml.push_str("hosts:\n  r: { address: 10.1.0.1 }\n");
        for host in 0..self.senders {
            let _ = writeln!(yaml, "  h{host}: {{ address: 10.0.{}.{} }}", host / 200, host % 200 + 1);
        }
        yaml.push_str("links:\n  - { endpoints: [\"core:500\", r] }\n");
        for leaf in 1..=self.leaves() {
            let rate = self.gigabits * 4;
            let _ = writeln!(
                yaml,
                "  - {{ endpoints: [\"core:{leaf}\", \"leaf{leaf}:500\"], rate: {rate}Gbps }}"
            );
        }
        for host in 0..self.senders {
            let place = match self.leaves() {
                0 => format!("core:{}", host + 1),
                _ => format!("leaf{}:{}", host / LEAF_HOSTS + 1, host % LEAF_HOSTS + 1),
            };
            let _ = writeln!(yaml, "  - {{ endpoints: [\"{place}\", h{host}] }}");
        }
        let names: Vec<_> = (0..self.senders).map(|host| format!("h{host}")).collect();
        let _ = write!(
            yaml,
            "rdcc:\n  base_rtt: {rtt}ns\n  budget: {}B\n  unscheduled_budget: {}B\n  unscheduled_limit: {}B\n  \
             start_jitter: {rtt}ns\n  credit_unit: {UNIT}B\n\
             workloads:\n  - name: incast\n    senders: [{}]\n    receivers: [r]\n    batches: {}\n    gap: 50us\n    \
             payload: {UNIT}B\n    bottleneck: \"core:500\"\n    messages:\n      - {{ size: {}KiB, mode: scheduled }}\n",
            2 * bdp,
            self.unscheduled_budget(),
            self.unscheduled_limit(),
            names.join(", "),
            if self.senders > 100 { 2 } else { 10 },
            self.kib,
        );
        yaml
    }
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let pipeline = Pipeline::built_in().unwrap();
    println!(
        "| case | drops | peak queue / (BDP + G_u) | utilisation | of attainable | p99 slowdown | G held | reports | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for gigabits in [100, 400] {
        for kib in [64, 1024] {
            for senders in [8, 32, 128, 1024] {
                let case = Case { senders, gigabits, kib };
                if !case.name().contains(&filter) {
                    continue;
                }
                let topology = controller::topology::parse("incast.yaml", &case.yaml()).unwrap();
                let started = Instant::now();
                let outcome = sim::run(&topology, &pipeline, Scheme::RdccCrn, 1, &mut |_| {}).unwrap();
                let summary = outcome.summary;
                assert_eq!(summary.messages.sent, summary.messages.completed, "{summary:#?}");
                assert_eq!(summary.rdcc.invariant_violations, 0);
                let bound = case.bdp() + case.unscheduled_budget();
                println!(
                    "| {} | {} | {:.3} | {:.4} | {:.4} | {:.4} | {} | {} | {:.0} |",
                    case.name(),
                    summary.bottleneck.drops,
                    summary.bottleneck.queue_peak_octets as f64 / bound as f64,
                    summary.bottleneck.utilisation,
                    summary.bottleneck.utilisation / case.attainable(),
                    summary.messages.slowdown.scheduled.p99,
                    if summary.rdcc.outstanding_peak_octets <= summary.rdcc.budget_octets {
                        "yes"
                    } else {
                        "NO"
                    },
                    summary.reports.congestion_to_receiver,
                    started.elapsed().as_secs_f64(),
                );
            }
        }
    }
}
