//! `tc` for one interface.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::process::{Command, Stdio};

use wire::units::BitPerSec;

use super::ShaperError;

/// Our qdisc's handle, by which one that a killed agent left behind is known.
const HANDLE: &str = "5c0e:";

/// What HTB lends a class at a time; it would else derive one from the rate and complain.
const QUANTUM: &str = "60000";

/// The qdisc of an interface, and the classes in it.
#[derive(Debug)]
pub(super) struct Tc {
    interface: String,
    /// One for each address that ever had a bound.
    classes: BTreeMap<IpAddr, Class>,
}

#[derive(Clone, Copy, Debug)]
struct Class {
    /// Its minor number, and its filter's preference.
    number: u16,
    bound: Option<BitPerSec>,
    /// Whether the kernel has its filter.
    filtered: bool,
}

/// Whose the root qdisc is.
#[derive(PartialEq, Eq)]
enum Root {
    Kernel,
    Ours,
    Other { kind: String, handle: String },
}

impl Tc {
    pub fn new(interface: &str) -> Self {
        Self { interface: interface.to_owned(), classes: BTreeMap::new() }
    }

    /// Puts our qdisc in the place of the kernel's own, or of one that a killed agent left.
    pub fn take_over(&self) -> Result<(), ShaperError> {
        match self.root()? {
            Root::Kernel => {}
            Root::Ours => self.run(&["qdisc", "del", "dev", "", "root"])?,
            Root::Other { kind, handle } => {
                return Err(ShaperError::InUse { interface: self.interface.clone(), kind, handle });
            }
        }
        // HTB's default class 0: what no filter matches isn't limited.
        self.run(&["qdisc", "add", "dev", "", "root", "handle", HANDLE, "htb", "default", "0"])
    }

    /// Limits an address, or does so no longer. Where that fails because somebody changed the qdisc meanwhile, all is set anew.
    pub fn set(&mut self, source: IpAddr, bound: Option<BitPerSec>) -> Result<(), ShaperError> {
        let number = u16::try_from(self.classes.len() + 1).unwrap_or(u16::MAX);
        let class = self.classes.entry(source).or_insert(Class { number, bound: None, filtered: false });
        class.bound = bound;
        match self.apply(source) {
            Ok(()) => Ok(()),
            Err(_) => self.anew(),
        }
    }

    /// Sets all anew if limits should be in force and our qdisc is gone.
    pub fn look(&mut self) -> Result<(), ShaperError> {
        let limits = self.classes.values().any(|class| class.bound.is_some());
        if !limits || self.root()? == Root::Ours { Ok(()) } else { self.anew() }
    }

    /// Takes our qdisc away; one that somebody has put in its place stays.
    pub fn restore(&self) -> Result<(), ShaperError> {
        if self.root()? == Root::Ours { self.run(&["qdisc", "del", "dev", "", "root"]) } else { Ok(()) }
    }

    fn anew(&mut self) -> Result<(), ShaperError> {
        self.take_over()?;
        for class in self.classes.values_mut() {
            class.filtered = false;
        }
        let sources: Vec<IpAddr> = self.classes.keys().copied().collect();
        sources.into_iter().try_for_each(|source| self.apply(source))
    }

    fn root(&self) -> Result<Root, ShaperError> {
        let shown = self.ask(&["-j", "qdisc", "show", "dev", ""])?;
        let qdiscs: Vec<serde_json::Value> = serde_json::from_str(&shown).unwrap_or_default();
        let root = qdiscs.iter().find(|qdisc| qdisc["root"] == true);
        let root = root.ok_or_else(|| ShaperError::NoRoot(self.interface.clone()))?;
        let text = |key: &str| root[key].as_str().unwrap_or_default().to_owned();
        Ok(match text("handle") {
            // Those that the kernel gives by itself have none.
            handle if handle == "0:" => Root::Kernel,
            handle if handle == HANDLE => Root::Ours,
            handle => Root::Other { kind: text("kind"), handle },
        })
    }

    /// Makes the kernel have the address's class as we have it.
    fn apply(&mut self, source: IpAddr) -> Result<(), ShaperError> {
        let Some(&Class { number, bound, filtered }) = self.classes.get(&source) else { return Ok(()) };
        let id = format!("{HANDLE}{number:x}");
        let preference = number.to_string();
        if let Some(bound) = bound {
            let rate = format!("{}bit", bound.0);
            self.run(&[
                "class", "replace", "dev", "", "parent", HANDLE, "classid", &id, "htb", "rate", &rate,
                "quantum", QUANTUM,
            ])?;
            if !filtered {
                let (protocol, field, length) =
                    if source.is_ipv4() { ("ip", "ip", 32) } else { ("ipv6", "ip6", 128) };
                let prefix = format!("{source}/{length}");
                let at =
                    ["filter", "add", "dev", "", "parent", HANDLE, "protocol", protocol, "pref", &preference];
                self.run(&[&at[..], &["u32", "match", field, "src", &prefix, "flowid", &id]].concat())?;
            }
        } else if filtered {
            self.run(&["filter", "del", "dev", "", "parent", HANDLE, "pref", &preference])?;
            self.run(&["class", "del", "dev", "", "classid", &id])?;
        }
        if let Some(class) = self.classes.get_mut(&source) {
            class.filtered = bound.is_some();
        }
        Ok(())
    }

    fn run(&self, arguments: &[&str]) -> Result<(), ShaperError> {
        self.ask(arguments).map(|_| ())
    }

    /// Runs `tc`; an empty argument stands for the interface.
    fn ask(&self, arguments: &[&str]) -> Result<String, ShaperError> {
        let arguments: Vec<&str> = arguments
            .iter()
            .map(|&argument| if argument.is_empty() { self.interface.as_str() } else { argument })
            .collect();
        let output =
            Command::new("tc").args(&arguments).stdin(Stdio::null()).output().map_err(ShaperError::NoTc)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(ShaperError::Refused { arguments: arguments.join(" "), said });
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
