//! Rate and depth of BMv2's queues, which P4Runtime can't set: over Thrift, where the topology says where it listens.
//! Where it doesn't, the topology's warnings have said so.

use std::time::Duration;

use controller::client::{ThriftError, set_queues};
use controller::topology::{Queues, Topology};
use miette::Result;

use crate::output::{self, complain, say};
use crate::switches;

/// What came of each switch whose queues were to be set.
pub type Outcomes = Vec<(String, Queues, Result<(), ThriftError>)>;

/// Sets the queues of those switches of `ready` that are BMv2 and have a Thrift server, all at the same time.
pub async fn set(topology: &Topology, ready: impl Fn(&str) -> bool, timeout: Duration) -> Outcomes {
    let wanted = topology.switches.iter().filter_map(|(name, switch)| {
        let (address, queues) = (switch.thrift.clone()?, switch.queues?);
        ready(name).then(|| {
            let setting = async move { set_queues(&address, queues, timeout).await };
            ((name.clone(), queues), setting)
        })
    });
    let outcomes = switches::side_by_side(wanted.collect()).await;
    outcomes.into_iter().map(|((name, queues), outcome)| (name, queues, outcome)).collect()
}

/// Prints what came of it.
///
/// # Errors
/// Some weren't set; printed already.
pub fn report(outcomes: &Outcomes, quiet: bool) -> Result<()> {
    for (name, queues, outcome) in outcomes {
        match outcome {
            Ok(()) if quiet => {}
            Ok(()) => say!("{name}  queues: {}", said(*queues)),
            Err(error) => complain!("error: {name}: {error}"),
        }
    }
    if outcomes.iter().all(|(_, _, outcome)| outcome.is_ok()) { Ok(()) } else { Err(output::said()) }
}

/// Depth and rate in words.
pub fn said(queues: Queues) -> String {
    let rate = queues.rate_pps.map_or_else(|| "rate as it is".to_owned(), |rate| format!("{rate} packets/s"));
    format!("{} packets, {rate}", queues.depth)
}
