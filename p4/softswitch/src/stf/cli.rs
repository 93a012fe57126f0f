//! Table and profile commands of `simple_switch_CLI`, for what STF's own `add` can't say.
//!
//! Here priorities are BMv2's own: a low number wins. Member, group and entry handles count from 0.

use crate::Switch;
use crate::control::{
    ActionCall, EntryAction, GroupMember, KeyInfo, KeyMatch, MatchKind, NewEntry, ProfileGroup, ProfileId,
    ProfileMember, TableId,
};
use crate::value::Value;

use super::commands::{Outcome, full, text, value};
use super::parse::number;

/// The commands read here.
pub(super) const COMMANDS: [&str; 14] = [
    "act_prof_create_member",
    "act_prof_modify_member",
    "act_prof_delete_member",
    "act_prof_create_group",
    "act_prof_delete_group",
    "act_prof_add_member_to_group",
    "act_prof_remove_member_from_group",
    "table_add",
    "table_set_default",
    "table_clear",
    "table_indirect_add",
    "table_indirect_add_with_group",
    "table_indirect_set_default",
    "table_indirect_set_default_with_group",
];

/// A number, or an IPv4, IPv6 or MAC address.
fn address(given: &str) -> Outcome<Value> {
    if let Ok(v4) = given.parse::<std::net::Ipv4Addr>() {
        return Ok(Value::from_octets(&v4.octets()));
    }
    if let Ok(v6) = given.parse::<std::net::Ipv6Addr>() {
        return Ok(Value::from_octets(&v6.octets()));
    }
    if given.matches(':').count() == 5 {
        let octets: Result<Vec<u8>, _> = given.split(':').map(|o| u8::from_str_radix(o, 16)).collect();
        return octets.map(|o| Value::from_octets(&o)).map_err(|_| format!("{given:?} isn't a MAC address"));
    }
    value(given)
}

fn key_match(info: &KeyInfo, given: &str) -> Outcome<KeyMatch> {
    let malformed = || format!("{given:?} doesn't suit key field {} ({:?})", info.name, info.kind);
    Ok(match info.kind {
        MatchKind::Exact => KeyMatch::Exact(address(given)?),
        MatchKind::Lpm => {
            let (prefix, len) = given.rsplit_once('/').ok_or_else(malformed)?;
            KeyMatch::Lpm { value: address(prefix)?, prefix_len: number(len)? }
        }
        MatchKind::Ternary | MatchKind::Optional => match given.split_once("&&&") {
            Some((v, m)) => KeyMatch::Ternary { value: address(v)?, mask: address(m)? },
            None => KeyMatch::Ternary { value: address(given)?, mask: full(info.width) },
        },
        MatchKind::Range => {
            let (low, high) = given.split_once("->").ok_or_else(malformed)?;
            KeyMatch::Range { low: address(low)?, high: address(high)? }
        }
    })
}

fn call(switch: &Switch, action: crate::control::ActionId, args: &[&str]) -> Outcome<ActionCall> {
    let wanted = switch.program().actions()[action.0].params.len();
    if args.len() != wanted {
        return Err(format!("{wanted} arguments expected, {} given", args.len()));
    }
    let args: Outcome<Vec<Value>> = args.iter().map(|a| address(a)).collect();
    Ok(ActionCall { action, args: args? })
}

/// `TABLE KEY ... => REST`, after the table and what precedes the keys.
fn entry(
    switch: &mut Switch,
    table: TableId,
    words: &[&str],
    make: impl Fn(&Switch, &[&str]) -> Outcome<EntryAction>,
) -> Outcome<()> {
    let info = &switch.program().tables()[table.0];
    let arrow = words.iter().position(|w| *w == "=>").ok_or("=> is missing")?;
    let (keys, rest) = (&words[..arrow], &words[arrow + 1..]);
    if keys.len() != info.keys.len() {
        return Err(format!("{} key fields expected, {} given", info.keys.len(), keys.len()));
    }
    let key: Outcome<Vec<KeyMatch>> =
        info.keys.iter().zip(keys).map(|(k, given)| key_match(k, given)).collect();
    let (priority, rest) = match (info.needs_priority, rest.split_last()) {
        (true, Some((last, rest))) => (number(last)?, rest),
        (true, None) => return Err("a priority is missing".to_owned()),
        (false, _) => (0, rest),
    };
    let action = make(switch, rest)?;
    let entry = NewEntry { key: key?, priority, action, idle_timeout_ns: 0 };
    switch.table_insert(table, entry).map(|_| ()).map_err(|e| text(&e))
}

fn one(rest: &[&str], make: fn(u32) -> EntryAction) -> Outcome<EntryAction> {
    match rest {
        [id] => Ok(make(number(id)?)),
        other => Err(format!("one member or group expected, not {other:?}")),
    }
}

fn free(used: impl Iterator<Item = u32>) -> u32 {
    let used: Vec<u32> = used.collect();
    (0..u32::MAX).find(|id| !used.contains(id)).unwrap_or(u32::MAX)
}

/// Changes a group's members.
fn regroup(
    switch: &mut Switch,
    p: ProfileId,
    group: &str,
    change: impl Fn(&mut Vec<GroupMember>),
) -> Outcome<()> {
    let mut group: ProfileGroup = switch.group(p, number(group)?).map_err(|e| text(&e))?;
    change(&mut group.members);
    switch.group_modify(p, group).map_err(|e| text(&e))
}

/// Runs one of [`COMMANDS`].
pub(super) fn run(switch: &mut Switch, words: &[&str]) -> Outcome<()> {
    let [command, object, rest @ ..] = words else { return Err("a name is missing".to_owned()) };
    if command.starts_with("act_prof") {
        let p = switch.program().profile(object).map_err(|e| text(&e))?;
        return profile(switch, command, p, rest);
    }
    let table = switch.program().table(object).map_err(|e| text(&e))?;
    match (*command, rest) {
        ("table_add", [action, rest @ ..]) => {
            let id = switch.program().table_action(table, action).map_err(|e| text(&e))?;
            entry(switch, table, rest, |s, args| Ok(EntryAction::Call(call(s, id, args)?)))
        }
        ("table_set_default", [action, args @ ..]) => {
            let id = switch.program().table_action(table, action).map_err(|e| text(&e))?;
            let call = call(switch, id, args)?;
            switch.table_set_default(table, Some(EntryAction::Call(call))).map_err(|e| text(&e))
        }
        ("table_clear", []) => switch.table_clear(table).map_err(|e| text(&e)),
        ("table_indirect_add", rest) => entry(switch, table, rest, |_, rest| one(rest, EntryAction::Member)),
        ("table_indirect_add_with_group", rest) => {
            entry(switch, table, rest, |_, rest| one(rest, EntryAction::Group))
        }
        ("table_indirect_set_default", rest) => {
            switch.table_set_default(table, Some(one(rest, EntryAction::Member)?)).map_err(|e| text(&e))
        }
        ("table_indirect_set_default_with_group", rest) => {
            switch.table_set_default(table, Some(one(rest, EntryAction::Group)?)).map_err(|e| text(&e))
        }
        _ => Err(format!("wrong number of arguments: {}", words.join(" "))),
    }
}

fn profile(switch: &mut Switch, command: &str, p: ProfileId, rest: &[&str]) -> Outcome<()> {
    let done = match (command, rest) {
        ("act_prof_create_member", [action, args @ ..]) => {
            let action = switch.program().profile_action(p, action).map_err(|e| text(&e))?;
            let call = call(switch, action, args)?;
            let id = free(switch.members(p).map_err(|e| text(&e))?.iter().map(|m| m.id));
            switch.member_insert(p, ProfileMember { id, call })
        }
        ("act_prof_modify_member", [action, id, args @ ..]) => {
            let action = switch.program().profile_action(p, action).map_err(|e| text(&e))?;
            let call = call(switch, action, args)?;
            switch.member_modify(p, ProfileMember { id: number(id)?, call })
        }
        ("act_prof_delete_member", [id]) => switch.member_delete(p, number(id)?),
        ("act_prof_create_group", []) => {
            let id = free(switch.groups(p).map_err(|e| text(&e))?.iter().map(|g| g.id));
            switch.group_insert(p, ProfileGroup { id, members: Vec::new(), max_size: 0 })
        }
        ("act_prof_delete_group", [id]) => switch.group_delete(p, number(id)?),
        ("act_prof_add_member_to_group", [member, group]) => {
            let member = GroupMember { member: number(member)?, weight: 1 };
            return regroup(switch, p, group, |members| members.push(member));
        }
        ("act_prof_remove_member_from_group", [member, group]) => {
            let member: u32 = number(member)?;
            return regroup(switch, p, group, |members| members.retain(|m| m.member != member));
        }
        _ => return Err(format!("wrong arguments for {command}: {}", rest.join(" "))),
    };
    done.map_err(|e| text(&e))
}
