//! What the commands that talk to switches share: which ones, where they listen, and a runtime to wait in.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::task::Poll;
use std::time::Duration;

use controller::client::GrpcClient;
use controller::files;
use controller::pipeline::Pipelines;
use controller::topology::{Origin, Problem, Topology, is_host_port};
use miette::{IntoDiagnostic as _, Report, Result, miette};
use p4runtime::client::{Address, Options, Tls};

use crate::output::{self, say};

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
    #[arg(long, default_value_t = 10, allow_negative_numbers = true, value_parser = whole::<1, 600>)]
    timeout: u64,
}

fn at(text: &str) -> Result<(String, String), String> {
    let (switch, address) =
        text.split_once('=').ok_or_else(|| "write SWITCH=HOST:PORT, as in s1=127.0.0.1:9559".to_owned())?;
    if !is_host_port(address) {
        return Err(format!("`{address}` isn't host:port, as in 127.0.0.1:9559"));
    }
    Ok((switch.to_owned(), address.to_owned()))
}

/// Who we are among several controllers.
#[derive(clap::Args, Clone)]
pub struct Election {
    /// Election id: of several controllers the one with the highest is primary, the others stand by. An apply with one
    /// above a running controller's takes the switch from it for as long as it lasts
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = whole::<1, { u64::MAX }>)]
    pub election_id: u64,
}

/// A whole number of the command line, in a range that is named when it isn't kept.
pub fn whole<const LEAST: u64, const MOST: u64>(text: &str) -> Result<u64, String> {
    let known = text.parse().ok().filter(|number| (LEAST..=MOST).contains(number));
    known.ok_or_else(|| format!("write a whole number from {LEAST} to {MOST}"))
}

/// A switch and where it listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// `host:port`.
    pub address: String,
    /// How it is recognised.
    pub tls: Option<Tls>,
    /// P4Runtime device id.
    pub device_id: u64,
}

impl Reached {
    /// What a client connects to.
    pub fn at(&self) -> Address {
        Address { host_port: self.address.clone(), tls: self.tls.clone() }
    }

    /// A client of it; within a runtime.
    pub fn client(&self, timeout: Duration) -> GrpcClient {
        let options = Options { device_id: self.device_id, timeout, ..Options::default() };
        GrpcClient::spawn(self.at(), options)
    }
}

/// A topology, and all that reaching its switches takes.
pub struct Site {
    pub topology: Topology,
    /// The program of each.
    pub pipelines: Pipelines,
    /// Those that were asked for.
    pub reached: BTreeMap<String, Reached>,
}

impl Selection {
    /// How long to wait for a switch.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    /// Reads the topology, and whatever the switches that were asked for need.
    ///
    /// # Errors
    /// A bad file, no such switch, or one without an address or a program; printed already, with `json` as JSON besides.
    pub fn site(&self, json: bool) -> Result<Site> {
        let topology = output::load_for(&self.topology, json)?;
        let file = topology.file().to_owned();
        self.site_of(topology).map_err(|refused| refused.say(&file, json))
    }

    /// As [`Selection::site`], of a topology that has been read.
    ///
    /// # Errors
    /// As [`Selection::site`]; nothing has been printed.
    pub fn site_of(&self, topology: Topology) -> Result<Site, Refused> {
        let reached = self.resolve(&topology)?;
        match Pipelines::load_for(&topology, |name| reached.contains_key(name)) {
            Ok(pipelines) => Ok(Site { topology, pipelines, reached }),
            Err(problems) => Err(Refused::File(problems)),
        }
    }

    /// The switches that were asked for, each with its address.
    fn resolve(&self, topology: &Topology) -> Result<BTreeMap<String, Reached>, Refused> {
        let named = self.only.iter().chain(self.at.iter().map(|(name, _)| name));
        for name in named {
            if !topology.switches.contains_key(name) {
                let known: Vec<&str> = topology.switches.keys().map(String::as_str).collect();
                return Err(miette!(
                    "there is no switch `{name}` in {}; there are: {}",
                    topology.file(),
                    known.join(", ")
                )
                .into());
            }
        }
        for (place, (name, address)) in self.at.iter().enumerate() {
            if let Some((_, first)) = self.at[..place].iter().find(|(other, _)| other == name) {
                return Err(miette!(
                    "`--at` says twice where {name} is: {first} and {address}; give one of them"
                )
                .into());
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
                match tls(topology, name) {
                    Ok(tls) => {
                        let (address, device_id) = (address.clone(), switch.device_id);
                        reached.insert(name.clone(), Reached { address, tls, device_id });
                    }
                    Err(problem) => problems.push(problem),
                }
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
        Err(Refused::File(problems))
    }
}

/// Why switches can't be reached as file and command line say.
pub enum Refused {
    /// The command line doesn't go with the file.
    Usage(Report),
    /// What the file says.
    File(Vec<Problem>),
}

impl From<Report> for Refused {
    fn from(report: Report) -> Self {
        Self::Usage(report)
    }
}

impl Refused {
    fn say(self, file: &str, json: bool) -> Report {
        match self {
            Self::Usage(report) => report,
            Self::File(problems) => refused(file, &problems, json),
        }
    }
}

/// Prints problems of a file that were found only after it had been read; gives what ends the command.
pub fn refused(file: &str, problems: &[Problem], json: bool) -> Report {
    problems.iter().for_each(output::show);
    if json {
        say!("{}", output::checked(file, false, problems, &[]));
    }
    output::said()
}

/// Reads the files that a switch's `tls` names; `None` where it has none.
///
/// # Errors
/// One can't be read.
pub fn tls(topology: &Topology, name: &str) -> Result<Option<Tls>, Problem> {
    let Some(files) = topology.switches.get(name).and_then(|switch| switch.tls.as_ref()) else {
        return Ok(None);
    };
    let read = |path: &Path| {
        files::read(path, files::CERTIFICATE_LIMIT).map_err(|error| {
            let message = format!("TLS toward `{name}`: {} can't be read: {error}", path.display());
            let hint = "files of `tls` are looked for beside the topology file";
            topology.problem("topology::tls", &message, &Origin::Switch(name.to_owned()), hint)
        })
    };
    let identity = match &files.identity {
        Some((certificate, key)) => Some((read(certificate)?, read(key)?)),
        None => None,
    };
    Ok(Some(Tls { ca: read(&files.ca)?, identity, name: files.name.clone() }))
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
