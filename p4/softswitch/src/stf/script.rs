//! A test as what has to be done to the real switch: its commands in the words of `simple_switch_CLI`.

use super::commands::{TOP_PRIORITY, find_key};
use super::parse::{Add, Command, parse};
use super::{Check, Expected, StfError};
use crate::control::{ActionId, KeyInfo, MatchKind};
use crate::program::Program;

/// One line of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A packet enters.
    Packet {
        /// Port.
        port: u16,
        /// The packet.
        octets: Vec<u8>,
    },
    /// A packet must leave.
    Expect {
        /// Port.
        port: u16,
        /// What it must be.
        packet: Expected,
    },
    /// A command of `simple_switch_CLI`.
    Cli(String),
    /// A counter must hold.
    Counter {
        /// Its name.
        counter: String,
        /// Its cell.
        index: String,
        /// What must hold.
        check: Check,
    },
    /// All packets must have gone all the way.
    Wait,
}

/// The steps of a test, each with its line.
///
/// # Errors
/// The text isn't STF, names something the program doesn't have, or what can't be done from outside (counters of entries).
pub fn script(program: &Program, text: &str) -> Result<Vec<(usize, Step)>, StfError> {
    let mut steps = Vec::new();
    for (line, command) in parse(text)? {
        let done = match command {
            Command::Packet { port, octets } => Ok(Step::Packet { port, octets }),
            Command::Expect { port, packet } => Ok(Step::Expect { port, packet }),
            Command::Add(add) => table_add(program, &add).map(Step::Cli),
            Command::SetDefault { table, action, args } => {
                set_default(program, &table, &action, &args).map(Step::Cli)
            }
            Command::Direct(words) => Ok(Step::Cli(words.join(" "))),
            Command::CheckCounter { index, .. } if index.starts_with('$') => {
                Err("counters of single entries are out of reach from outside".to_owned())
            }
            Command::CheckCounter { counter, index, check } => Ok(Step::Counter { counter, index, check }),
            Command::RemoveAll => Err("`remove all` has no command in simple_switch_CLI".to_owned()),
            Command::Wait | Command::NoPacket => Ok(Step::Wait),
        };
        steps.push((line, done.map_err(|problem| StfError { line, problem })?));
    }
    Ok(steps)
}

fn table_add(program: &Program, add: &Add) -> Result<String, String> {
    let table = program.table(&add.table).map_err(|e| e.to_string())?;
    let info = &program.tables()[table.0];
    let mut keys: Vec<String> = info.keys.iter().map(anything).collect();
    for (name, given) in &add.keys {
        let at = find_key(&info.keys, name)?;
        keys[at] = key(&info.keys[at], given)?;
    }
    let action = program.table_action(table, &add.action).map_err(|e| e.to_string())?;
    let args = arguments(program, action, &add.args)?;
    let priority = if info.needs_priority {
        format!(" {}", TOP_PRIORITY.saturating_sub(add.priority.unwrap_or(0)))
    } else {
        String::new()
    };
    Ok(format!("table_add {} {} {} => {args}{priority}", add.table, add.action, keys.join(" ")))
}

fn set_default(
    program: &Program,
    table: &str,
    action: &str,
    args: &[(String, String)],
) -> Result<String, String> {
    let id = program.table(table).map_err(|e| e.to_string())?;
    let called = program.table_action(id, action).map_err(|e| e.to_string())?;
    Ok(format!("table_set_default {table} {action} {}", arguments(program, called, args)?))
}

/// In the order of the action's parameters.
fn arguments(program: &Program, action: ActionId, given: &[(String, String)]) -> Result<String, String> {
    let info = &program.actions()[action.0];
    let values: Option<Vec<&str>> = info
        .params
        .iter()
        .map(|param| given.iter().find(|(name, _)| *name == param.name).map(|(_, value)| value.as_str()))
        .collect();
    let values =
        values.ok_or_else(|| format!("action {} needs {} arguments", info.name, info.params.len()))?;
    Ok(values.join(" "))
}

fn anything(info: &KeyInfo) -> String {
    match info.kind {
        MatchKind::Exact => "0".to_owned(),
        MatchKind::Lpm => "0/0".to_owned(),
        MatchKind::Ternary | MatchKind::Optional => "0&&&0".to_owned(),
        MatchKind::Range => format!("0->{}", (1u128 << info.width.min(127)) - 1),
    }
}

fn key(info: &KeyInfo, given: &str) -> Result<String, String> {
    if given.contains('*') {
        return Err(format!("{given}: digits left open can't be said in simple_switch_CLI"));
    }
    Ok(match info.kind {
        MatchKind::Lpm if !given.contains('/') => format!("{given}/{}", info.width),
        MatchKind::Ternary | MatchKind::Optional if !given.contains("&&&") => {
            format!("{given}&&&{:#x}", u128::MAX >> (128 - info.width.clamp(1, 128)))
        }
        MatchKind::Range if !given.contains("->") => match given.split_once("..") {
            Some((low, high)) => format!("{low}->{high}"),
            None => format!("{given}->{given}"),
        },
        _ => given.to_owned(),
    })
}
