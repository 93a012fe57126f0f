//! What SCONE's agents print: a line for everything that happens, for people or as JSON.

use agent::scone::Event;
use wire::units::Nanos;

use crate::agent_command::print::line;

/// Prints to standard output. Whoever reads it may have gone: the agent goes on.
pub fn event(json: bool, now: Nanos, event: &Event) {
    let _ = line(json, now, event, told);
}

fn told(event: &Event) -> String {
    let mbit = |rate: u64| rate as f64 / 1e6;
    match event {
        Event::Started { address, port } => format!("rate advice comes to {address} port {port}"),
        Event::Advice { from, source, rate } => format!("{from} advises {source} {rate} Mbit/s"),
        Event::Cap { source, advised, bound } => {
            format!("cap of {source}: {:.3} Mbit/s, on its way to {:.3}", mbit(*bound), mbit(*advised))
        }
        Event::Released { source } => format!("no cap of {source} any more"),
        Event::Discarded { from, reason, count } => {
            format!("{count} discarded, the last from {from}: {reason}")
        }
        Event::Backpressure { from, prefix, rate } => {
            format!("{from} allows the senders of {prefix} {rate} Mbit/s together")
        }
        Event::Advised { sender, rate: Some(rate) } => format!("{sender} is advised {rate} Mbit/s"),
        Event::Advised { sender, rate: None } => format!("{sender} is advised nothing any more"),
        Event::ShaperFailed { reason } => reason.clone(),
        Event::Stopping => "ends".to_owned(),
    }
}
