//! What can be said in the prompt of `crn up --cli`.

use std::time::Duration;

use controller::topology::Topology;

use super::Limit;
use super::steward::CALLED;

/// What `help` prints.
pub const HELP: &str = "\
HOST LINE               run a line in a host; hosts' names in it stand for their addresses: a1 ping -c 3 r
SWITCH LINE             the same among the switches: s1 ip -s link
nodes                   what runs, by process number
links                   who is connected with whom
ping HOST HOST          one echo request
pingall                 every host pings every other
tables [SWITCH [TABLE]] what switches hold, and whether that is what they should
counters [SWITCH]       what they have counted
figures                 what the hosts' agents have told so far
kill NODE               end a switch, a host's agent or `controller` at once
stop NODE               ask it to end
start NODE              start it once more
link NODE NODE down|up  take a cable out, or put it in; a port is written as in s1:3
wait TIME               as in 5s
wait done               until all batches have ended
help, exit";

/// Columns of what to write, before what it does.
const USAGE: usize = 23;

/// What to do with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// End it at once.
    Kill,
    /// Ask it to end.
    Stop,
    /// Start it once more.
    Start,
}

/// A node that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A switch.
    Switch(String),
    /// A host's agent.
    Host(String),
    /// The controller.
    Controller,
}

/// An order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing.
    Nothing,
    /// Print the list of orders.
    Help,
    /// End the run.
    Exit,
    /// List what runs.
    Nodes,
    /// List the links.
    Links,
    /// One echo request.
    Ping(String, String),
    /// Every host to every other.
    PingAll,
    /// What switches hold, of one table if one is named.
    Tables(Vec<String>, Option<String>),
    /// What they have counted.
    Counters(Vec<String>),
    /// What the agents have told.
    Figures,
    /// End or start a node.
    Do(Deed, Node),
    /// A cable between these ends, out or in.
    Cable {
        /// Its ends: nodes, or ports of switches.
        ends: [String; 2],
        /// Whether it goes in.
        up: bool,
    },
    /// Wait so long.
    Wait(Duration),
    /// Wait until all batches have ended.
    WaitDone,
    /// Run a line within a host; `None`: among the switches.
    Run(Option<String>, String),
}

impl Order {
    /// Reads a line.
    ///
    /// # Errors
    /// What would be right.
    pub fn read(line: &str, topology: &Topology) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let host = |name: &str| {
            let known = || topology.hosts.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let found = topology.hosts.contains_key(name).then(|| name.to_owned());
            found.ok_or_else(|| format!("there is no host {name}; there are: {}", known()))
        };
        let switches = |names: &[&str]| -> Result<Vec<String>, String> {
            let known = || topology.switches.keys().cloned().collect::<Vec<_>>();
            if names.is_empty() {
                return Ok(known());
            }
            let switch = |name: &&str| {
                let found = topology.switches.contains_key(*name).then(|| (*name).to_owned());
                found.ok_or_else(|| format!("there is no switch {name}; there are: {}", known().join(", ")))
            };
            names.iter().map(switch).collect()
        };
        let deed = |deed, name| Ok(Self::Do(deed, node(name, topology)?));
        match words.as_slice() {
            [] => Ok(Self::Nothing),
            [word, ..] if word.starts_with('#') => Ok(Self::Nothing),
            ["help" | "?"] => Ok(Self::Help),
            ["exit" | "quit"] => Ok(Self::Exit),
            ["nodes"] => Ok(Self::Nodes),
            ["links" | "net"] => Ok(Self::Links),
            ["ping", from, to] => Ok(Self::Ping(host(from)?, host(to)?)),
            ["pingall"] => Ok(Self::PingAll),
            ["tables"] => Ok(Self::Tables(switches(&[])?, None)),
            ["tables", name] => Ok(Self::Tables(switches(&[name])?, None)),
            ["tables", name, table] => Ok(Self::Tables(switches(&[name])?, Some((*table).to_owned()))),
            ["counters", names @ ..] => switches(names).map(Self::Counters),
            ["figures"] => Ok(Self::Figures),
            ["kill", name] => deed(Deed::Kill, name),
            ["stop", name] => deed(Deed::Stop, name),
            ["start", name] => deed(Deed::Start, name),
            ["link", one, other, state @ ("up" | "down")] => {
                Ok(Self::Cable { ends: [(*one).to_owned(), (*other).to_owned()], up: *state == "up" })
            }
            ["wait", "done"] => Ok(Self::WaitDone),
            ["wait", time] => time.parse().map(|Limit(time)| Self::Wait(time)),
            [name, ..] if is_node(name, topology) => {
                let (_, rest) = line.trim().split_once(char::is_whitespace).unwrap_or_default();
                if rest.trim().is_empty() {
                    return Err(format!("say what {name} should run, as in {name} ip address"));
                }
                let host = topology.hosts.contains_key(*name).then(|| (*name).to_owned());
                Ok(Self::Run(host, addressed(rest.trim(), topology)))
            }
            [word @ ("ping" | "tables" | "kill" | "stop" | "start" | "link" | "wait"), ..] => {
                let usage = HELP.lines().filter(|usage| usage.split(' ').next() == Some(word));
                let usage = usage.map(|usage| usage[..USAGE].trim_end());
                Err(format!("write {}", usage.collect::<Vec<_>>().join(" or ")))
            }
            [word, ..] => Err(format!("there is no order and no node {word}; help lists what there is")),
        }
    }
}

fn is_node(name: &str, topology: &Topology) -> bool {
    topology.hosts.contains_key(name) || topology.switches.contains_key(name)
}

fn node(name: &str, topology: &Topology) -> Result<Node, String> {
    if topology.switches.contains_key(name) {
        Ok(Node::Switch(name.to_owned()))
    } else if topology.hosts.contains_key(name) {
        Ok(Node::Host(name.to_owned()))
    } else if name == CALLED {
        Ok(Node::Controller)
    } else {
        Err(format!("there is no node {name}; there are the file's switches and hosts, and {CALLED}"))
    }
}

/// A line with hosts' addresses in the place of their names.
fn addressed(line: &str, topology: &Topology) -> String {
    let word = |word: &str| match topology.hosts.get(word) {
        Some(host) => host.address.to_string(),
        None => word.to_owned(),
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
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
    fn orders_are_read() {
        let topology = incast();
        let read = |line| Order::read(line, &topology).unwrap();
        assert_eq!(read("  # a comment"), Order::Nothing);
        assert_eq!(read("ping a1 r"), Order::Ping("a1".to_owned(), "r".to_owned()));
        assert_eq!(read("tables"), Order::Tables(vec!["s1".to_owned()], None));
        assert_eq!(read("kill s1"), Order::Do(Deed::Kill, Node::Switch("s1".to_owned())));
        assert_eq!(read("start a1"), Order::Do(Deed::Start, Node::Host("a1".to_owned())));
        assert_eq!(read("stop controller"), Order::Do(Deed::Stop, Node::Controller));
        let ends = ["s1:3".to_owned(), "a3".to_owned()];
        assert_eq!(read("link s1:3 a3 down"), Order::Cable { ends, up: false });
        assert_eq!(read("wait 5s"), Order::Wait(Duration::from_secs(5)));
        assert_eq!(
            read("a1 echo  'a  b' r"),
            Order::Run(Some("a1".to_owned()), "echo  'a  b' 10.0.0.9".to_owned())
        );
        assert_eq!(read("s1 ip link"), Order::Run(None, "ip link".to_owned()));
    }

    #[test]
    fn what_cant_be_is_refused_with_what_would_be_right() {
        let topology = incast();
        for (line, right) in [
            ("ping a1", "write ping HOST HOST"),
            ("ping a1 s1", "there is no host s1; there are: a1, a2"),
            ("tables a1", "there is no switch a1; there are: s1"),
            ("kill nobody", "there is no node nobody"),
            ("link a1 s1", "write link NODE NODE down|up"),
            ("tables s1 a b", "write tables [SWITCH [TABLE]]"),
            ("wait", "write wait TIME or wait done"),
            ("wait 5", "5m or 1h"),
            ("a1", "say what a1 should run"),
            ("nonsense", "there is no order and no node nonsense"),
        ] {
            let error = Order::read(line, &topology).unwrap_err();
            assert!(error.contains(right), "{line}: {error}");
        }
    }
}
