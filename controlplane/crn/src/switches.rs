//! What the commands that talk to switches share: which ones, where they listen, and a runtime to wait in.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::path::PathBuf;
use std::task::Poll;
use std::time::Duration;

use controller::topology::{Origin, Topology};
use miette::{IntoDiagnostic as _, Result, miette};

use crate::output;

/// Which switches, and how to reach them.
#[derive(clap::Args, Clone)]
pub struct Selection {
    /// Topology file
    #[arg(value_name = "TOPOLOGY")]
    pub topology: PathBuf,
    /// Only this switch (may be given several times)
    #[arg(long = "target-only", value_name = "SWITCH")]
    only: Vec<String>,
    /// Reach a switch here instead of at its `p4runtime` address (may be given several times)
    #[arg(long = "at", value_name = "SWITCH=HOST:PORT", value_parser = at)]
    at: Vec<(String, String)>,
    /// Seconds to wait for a switch
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
}

fn at(text: &str) -> Result<(String, String), String> {
    let (switch, address) =
        text.split_once('=').ok_or_else(|| "write SWITCH=HOST:PORT, as in s1=127.0.0.1:9559".to_owned())?;
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    if port.is_none() {
        return Err(format!("`{address}` isn't host:port, as in 127.0.0.1:9559"));
    }
    Ok((switch.to_owned(), address.to_owned()))
}

/// A switch and where it listens.
#[derive(Clone, Debug)]
pub struct Reached {
    /// `host:port`.
    pub address: String,
    /// P4Runtime device id.
    pub device_id: u64,
}

impl Selection {
    /// How long to wait for a switch.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    /// The switches that were asked for, each with its address.
    ///
    /// # Errors
    /// No such switch, or one without an address; printed already.
    pub fn resolve(&self, topology: &Topology) -> Result<BTreeMap<String, Reached>> {
        let named = self.only.iter().chain(self.at.iter().map(|(name, _)| name));
        for name in named {
            if !topology.switches.contains_key(name) {
                let known: Vec<&str> = topology.switches.keys().map(String::as_str).collect();
                return Err(miette!(
                    "there is no switch `{name}` in {}; there are: {}",
                    topology.file(),
                    known.join(", ")
                ));
            }
        }
        let mut reached = BTreeMap::new();
        let mut problems = Vec::new();
        for (name, switch) in &topology.switches {
            if !self.only.is_empty() && !self.only.contains(name) {
                continue;
            }
            let given = self.at.iter().find(|(other, _)| other == name).map(|(_, address)| address);
            if let Some(address) = given.or(switch.p4runtime.as_ref()) {
                let (address, device_id) = (address.clone(), switch.device_id);
                reached.insert(name.clone(), Reached { address, device_id });
            } else {
                problems.push(topology.problem(
                    "topology::p4runtime",
                    &format!("switch `{name}` has no P4Runtime address"),
                    &Origin::Switch(name.clone()),
                    &format!("add `p4runtime: 127.0.0.1:9559` to it, or give `--at {name}=127.0.0.1:9559`"),
                ));
            }
        }
        if problems.is_empty() {
            return Ok(reached);
        }
        for problem in problems {
            eprint!("{}", problem.render(output::width(), output::color_stderr()));
        }
        Err(output::said())
    }
}

/// A runtime for waiting for switches.
///
/// # Errors
/// The system refuses one.
pub fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().into_diagnostic()
}

/// Waits for all of these at the same time; the results in the order in which they were given.
pub async fn side_by_side<K, F: Future>(pending: Vec<(K, F)>) -> Vec<(K, F::Output)> {
    let (names, futures): (Vec<K>, Vec<_>) =
        pending.into_iter().map(|(name, future)| (name, Box::pin(future))).unzip();
    let mut waiting: Vec<_> = futures.into_iter().map(|future| (future, None)).collect();
    poll_fn(|context| {
        let mut all = Poll::Ready(());
        for (future, output) in waiting.iter_mut().filter(|(_, output)| output.is_none()) {
            match future.as_mut().poll(context) {
                Poll::Ready(done) => *output = Some(done),
                Poll::Pending => all = Poll::Pending,
            }
        }
        all
    })
    .await;
    names.into_iter().zip(waiting).filter_map(|(name, (_, output))| Some((name, output?))).collect()
}
