//! How long a WRITE of 16 MiB takes over a long path that loses packets, with and without CREM.
//!
//! `cargo run --release -p crem --example completion [transfers]` prints the figures of `docs/crem.md`, with `--headline FILE.svg` only
//! those of the draft's case, and draws them (`make headline`). Virtual time: they are the same on any machine.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement: a failure ends it"
)]

mod path;
mod picture;

use path::{Outcome, Path, Scheme};
use roce::Recovery;

const OCTETS: u32 = 16 << 20;
const WARM_UP: usize = 30;
/// Transfers of the draft's case.
const HEADLINE: usize = 200;
const SELECTIVE: Recovery = Recovery::SelectiveRepeat { reorder_packets: 8192 };

fn percentile(outcome: &Outcome, percent: usize) -> u64 {
    let mut times = outcome.times.clone();
    times.sort_unstable();
    times[(times.len() * percent).div_ceil(100).max(1) - 1]
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("--headline") {
        return headline(HEADLINE, arguments.next().as_deref());
    }
    let count: usize = first.and_then(|count| count.parse().ok()).unwrap_or(300);
    println!(
        "WRITE of 16 MiB at 100 Gbit/s, {count} transfers after {WARM_UP}; packets toward the receiver are lost independently\n"
    );
    println!(
        "| RTT | loss | scheme | p50 over loss-free | p99 over loss-free | repair symbols / needed | sent again |"
    );
    println!("|---|---|---|---|---|---|---|");
    for round_trip in [1_000_000, 10_000_000, 40_000_000] {
        let free =
            Path::new(Scheme::Plain(Recovery::GoBackN), round_trip, 0.0, 1).transfers(OCTETS, 1, 1).times[0];
        for loss in [0.0001, 0.001, 0.01] {
            for (name, scheme) in [
                ("CREM, go-back-N, hold", Scheme::Crem(Recovery::GoBackN)),
                ("CREM, selective repeat, pass", Scheme::Crem(SELECTIVE)),
            ] {
                let outcome = Path::new(scheme, round_trip, loss, 42).transfers(OCTETS, WARM_UP, count);
                let over = |percent| (percentile(&outcome, percent) as f64 - free as f64) / round_trip as f64;
                let needed = outcome.blocks * u64::from(crem::smallest_m(32, loss, 1e-4, 8));
                println!(
                    "| {} ms | {} % | {name} | {:.3} RTT | {:.3} RTT | {:.3} | {} |",
                    round_trip / 1_000_000,
                    loss * 100.0,
                    over(50),
                    over(99),
                    outcome.repair_symbols as f64 / needed as f64,
                    outcome.retransmitted,
                );
            }
        }
    }
    headline(count.min(HEADLINE), None);
}

/// The draft's case: 20 ms and 0.1 %.
fn headline(count: usize, file: Option<&str>) {
    const ROUND_TRIP: u64 = 20_000_000;
    println!("\n20 ms, 0.1 %: completion in ms\n");
    println!(
        "| scheme | p50 | p90 | p99 | repair symbols per packet | sent again per packet |\n|---|---|---|---|---|---|"
    );
    let mut curves = Vec::new();
    for (name, scheme) in [
        ("plain, go-back-N", Scheme::Plain(Recovery::GoBackN)),
        ("plain, selective repeat", Scheme::Plain(SELECTIVE)),
        ("fixed FEC 32+1", Scheme::Fixed(1)),
        ("fixed FEC 32+4", Scheme::Fixed(4)),
        ("CREM", Scheme::Crem(Recovery::GoBackN)),
    ] {
        let outcome = Path::new(scheme, ROUND_TRIP, 0.001, 7).transfers(OCTETS, WARM_UP, count);
        let ms = |percent| percentile(&outcome, percent) as f64 / 1e6;
        let packets = (count * (OCTETS as usize / 4096)) as f64;
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.3} | {:.3} |",
            ms(50),
            ms(90),
            ms(99),
            outcome.repair_symbols as f64 / packets,
            outcome.retransmitted as f64 / packets,
        );
        curves.push((name, outcome.times));
    }
    if let Some(file) = file {
        let svg = picture::completion_svg(&curves).expect("a picture in memory");
        std::fs::write(file, svg).expect("a file that can be written");
    }
}
