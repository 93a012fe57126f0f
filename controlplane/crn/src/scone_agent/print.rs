//! What SCONE's agents print: a line for everything that happens, for people or as JSON.

use agent::scone::Event;
use wire::units::Nanos;

use crate::agent_command::lines::Lines;

/// Prints an event.
pub fn event(lines: &Lines, now: Nanos, event: &Event) {
    lines.line(now, event, told);
}

fn told(event: &Event) -> String {
    let mbit = |rate: u64| rate as f64 / 1e6;
    match event {
        Event::Started { address, port } => format!("rate advice comes to {address} port {port}"),
        Event::Advice { from, source, rate } => format!("{from} advises {source} {rate} Mbit/s"),
        Event::Cap { source, advised, bound, expired: false } => {
            format!("cap of {source}: {:.3} Mbit/s, on its way to {:.3}", mbit(*bound), mbit(*advised))
        }
        Event::Cap { source, advised, bound, expired: true } => {
            let (bound, advised) = (mbit(*bound), mbit(*advised));
            format!(
                "cap of {source}: {bound:.3} Mbit/s, on its way up since the advice of {advised:.3} expired"
            )
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
        Event::Refused { to, reason, count } => {
            format!("{count} couldn't be sent, the last to {to}: {reason}")
        }
        Event::ShaperFailed { reason } => reason.clone(),
        Event::Stopping => "ends".to_owned(),
    }
}
