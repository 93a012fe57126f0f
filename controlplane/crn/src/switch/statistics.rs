//! What happened, printed at the end.

use miette::Result;
use softswitch::SwitchStats;
use softswitch::server::Server;

use super::plane::Remains;
use crate::output::say;

/// Prints the ports' figures, then what the switch dropped and why. Ends the ports' recordings.
pub fn print(server: &Server, remains: Remains) -> Result<()> {
    for port in remains.ports {
        let (number, name) = (port.number, port.name.clone());
        let passed = port.close()?;
        say!(
            "port {number} ({name}): {} in ({} octets), {} out ({} octets), {} refused by the interface",
            passed.in_frames,
            passed.in_octets,
            passed.out_frames,
            passed.out_octets,
            passed.out_failed
        );
    }
    let ran = server.runtime().switch().map(|switch| (*switch.stats(), switch.is_native()));
    if let Some((_, native)) = ran {
        say!("engine at the end: {}", if native { "native code" } else { "interpreter" });
    }
    let mut figures = ran.map_or_else(Vec::new, |(stats, _)| figures(&stats));
    figures.extend([
        ("came while there was no program", remains.lost.without_program),
        ("left through ports without interface", remains.lost.without_interface),
        ("lost on links, as asked for", remains.lost.on_links),
        ("not taken by controllers", server.undelivered()),
    ]);
    for (what, count) in figures.into_iter().filter(|&(_, count)| count > 0) {
        say!("{count:>10} {what}");
    }
    Ok(())
}

fn figures(stats: &SwitchStats) -> Vec<(&'static str, u64)> {
    vec![
        ("received (since the program was given)", stats.received),
        ("transmitted, packet-ins included", stats.transmitted),
        ("dropped by the program in ingress", stats.ingress_drops),
        ("dropped by the program in egress", stats.egress_drops),
        ("dropped at full queues", stats.tail_drops),
        ("dropped for a priority without queue", stats.priority_drops),
        ("dropped for a port number that can't be", stats.port_drops),
        ("dropped after too many passes", stats.loop_drops),
        ("dropped by a failed assert or assume", stats.assertion_failures),
        ("dropped because an action ran away", stats.runaway_drops),
        ("clones made", stats.clones),
        ("clones asked for in an unknown session", stats.clones_without_session),
        ("multicast copies made", stats.multicast_copies),
        ("multicasts to an unknown or empty group", stats.multicast_without_group),
        ("recirculated", stats.recirculated),
        ("resubmitted", stats.resubmitted),
        ("ended the parser in an error", stats.parser_errors),
        ("digest samples", stats.digests),
        ("digest samples lost", stats.digest_drops),
    ]
}
