//! Reads the text.

use super::StfError;
use super::expect::{Check, Expected};
use crate::num::low8;

/// One line of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Packet {
        port: u16,
        octets: Vec<u8>,
    },
    Expect {
        port: u16,
        packet: Expected,
    },
    Add(Add),
    SetDefault {
        table: String,
        action: String,
        args: Vec<(String, String)>,
    },
    RemoveAll,
    CheckCounter {
        counter: String,
        index: String,
        check: Check,
    },
    /// A command of `simple_switch_CLI`, as words.
    Direct(Vec<String>),
    Wait,
    NoPacket,
}

/// An `add` line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Add {
    pub table: String,
    pub priority: Option<u32>,
    pub keys: Vec<(String, String)>,
    pub action: String,
    pub args: Vec<(String, String)>,
    /// The name given with `= NAME`.
    pub name: Option<String>,
}

/// Reads a whole test; with each command its line.
pub(super) fn parse(text: &str) -> Result<Vec<(usize, Command)>, StfError> {
    let mut commands = Vec::new();
    for (i, raw) in text.lines().enumerate() {
        let line = raw.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let command = parse_line(i + 1, line).map_err(|problem| StfError { line: i + 1, problem })?;
        commands.push((i + 1, command));
    }
    Ok(commands)
}

fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    match text.find(char::is_whitespace) {
        Some(at) => (&text[..at], text[at..].trim_start()),
        None => (text, ""),
    }
}

fn parse_line(number_of_line: usize, line: &str) -> Result<Command, String> {
    let (word, rest) = split_word(line);
    match word.to_ascii_lowercase().as_str() {
        "packet" => {
            let (port, data) = split_word(rest);
            Ok(Command::Packet { port: number(port)?, octets: octets(data)? })
        }
        "expect" => {
            let (port, data) = split_word(rest);
            let mut digits: String = data.split_whitespace().collect();
            let exact_length = digits.ends_with('$');
            if exact_length {
                digits.pop();
            }
            if let Some(c) = digits.chars().find(|c| !c.is_ascii_hexdigit() && *c != '*') {
                return Err(format!("{c:?} isn't a hexadecimal digit or *"));
            }
            let digits = (!digits.is_empty() || exact_length).then_some(digits);
            let packet = Expected { line: number_of_line, digits, exact_length };
            Ok(Command::Expect { port: number(port)?, packet })
        }
        "add" => add(rest).map(Command::Add),
        "setdefault" => {
            let (table, call) = split_word(rest);
            let (_, action, args, _) = call_of(call)?;
            Ok(Command::SetDefault { table: unquote(table), action, args })
        }
        "remove" if rest.eq_ignore_ascii_case("all") => Ok(Command::RemoveAll),
        "check_counter" => check_counter(rest),
        "wait" => Ok(Command::Wait),
        "no_packet" => Ok(Command::NoPacket),
        "mirroring_add"
        | "mirroring_add_mc"
        | "mirroring_delete"
        | "mirroring_get"
        | "mc_mgrp_create"
        | "mc_node_create"
        | "mc_node_update"
        | "mc_node_associate"
        | "counter_read"
        | "counter_write"
        | "register_read"
        | "register_write"
        | "register_reset"
        | "meter_get_rates"
        | "meter_set_rates"
        | "meter_array_set_rates"
        | "set_queue_depth"
        | "set_queue_rate"
        | "counter_reset" => Ok(Command::Direct(line.split_whitespace().map(str::to_owned).collect())),
        other if super::cli::COMMANDS.contains(&other) => {
            Ok(Command::Direct(line.split_whitespace().map(str::to_owned).collect()))
        }
        other => Err(format!("unknown command {other:?}")),
    }
}

pub(super) fn number<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => match text.strip_prefix("0b") {
            Some(bits) => u64::from_str_radix(bits, 2),
            None => text.parse(),
        },
    };
    let value = parsed.map_err(|_| format!("{text:?} isn't a number"))?;
    T::try_from(value).map_err(|_| format!("{text} is too large here"))
}

fn octets(data: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = data.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    if !digits.len().is_multiple_of(2) {
        return Err("a packet needs an even number of hexadecimal digits".to_owned());
    }
    let digit = |c: u8| {
        char::from(c).to_digit(16).ok_or_else(|| format!("{:?} isn't a hexadecimal digit", c as char))
    };
    digits.chunks_exact(2).map(|pair| Ok(low8(u64::from(digit(pair[0])? << 4 | digit(pair[1])?)))).collect()
}

fn unquote(text: &str) -> String {
    text.trim_matches('"').to_owned()
}

type Call = (String, String, Vec<(String, String)>, Option<String>);

/// `... ACTION(ARG:VALUE, ...) [= NAME]`: what stands before, the action, its arguments, the name.
fn call_of(text: &str) -> Result<Call, String> {
    let open = text.find('(').ok_or("an action with ( ) expected")?;
    let close = text[open..].find(')').map(|at| open + at).ok_or("a ) is missing")?;
    let head = text[..open].trim_end();
    let start = head.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let mut args = Vec::new();
    for arg in text[open + 1..close].split(',').map(str::trim).filter(|a| !a.is_empty()) {
        let (name, value) = arg.split_once(':').ok_or_else(|| format!("argument {arg:?} without a name"))?;
        args.push((unquote(name.trim()), value.trim().to_owned()));
    }
    let tail = text[close + 1..].trim();
    let name = match tail.strip_prefix('=') {
        Some(name) => Some(name.trim().to_owned()),
        None if tail.is_empty() => None,
        None => return Err(format!("{tail:?} after the action")),
    };
    Ok((head[..start].trim().to_owned(), unquote(&head[start..]), args, name))
}

fn add(text: &str) -> Result<Add, String> {
    let (table, rest) = split_word(text);
    let (middle, action, args, name) = call_of(rest)?;
    let mut out = Add { table: unquote(table), action, args, name, ..Add::default() };
    let mut words = middle.split_whitespace().peekable();
    if let Some(first) = words.peek()
        && !first.contains(':')
    {
        out.priority = Some(number(first)?);
        words.next();
    }
    for word in words {
        let (key, value) = word.split_once(':').ok_or_else(|| format!("key {word:?} without a value"))?;
        out.keys.push((unquote(key), value.to_owned()));
    }
    Ok(out)
}

/// `NAME(INDEX) [packets|bytes OP NUMBER]`.
fn check_counter(text: &str) -> Result<Command, String> {
    let wrong = || format!("check_counter NAME(INDEX) [packets|bytes OP NUMBER] expected, not {text:?}");
    let (counter, rest) = text.split_once('(').ok_or_else(wrong)?;
    let (index, rest) = rest.split_once(')').ok_or_else(wrong)?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (unit, op, value) = match words.as_slice() {
        [] => ("packets", "==", 0),
        [unit, op, value] => (*unit, *op, number(value)?),
        _ => return Err(wrong()),
    };
    let check = Check { unit: unit.to_owned(), op: op.to_owned(), value };
    Ok(Command::CheckCounter { counter: counter.trim().to_owned(), index: index.trim().to_owned(), check })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_add_line_has_keys_action_and_arguments() {
        let commands =
            parse("# a comment\nadd t 12 data.f1:0x**01 extra$0.h:3 a.b(x:1, y:0xff) = N\n").unwrap();
        let Command::Add(add) = &commands[0].1 else { panic!("not an add: {commands:?}") };
        assert_eq!((add.table.as_str(), add.priority, add.action.as_str()), ("t", Some(12), "a.b"));
        assert_eq!(add.keys, [("data.f1".into(), "0x**01".into()), ("extra$0.h".into(), "3".into())]);
        assert_eq!(add.args, [("x".into(), "1".into()), ("y".into(), "0xff".into())]);
        assert_eq!(add.name.as_deref(), Some("N"));
        assert_eq!(commands[0].0, 2);
    }

    #[test]
    fn faults_name_their_line() {
        for bad in
            ["packet 0 abc", "packet x 00", "expect 1 0g", "add t k a()", "frobnicate", "setdefault t a"]
        {
            let text = format!("wait\n{bad}\n");
            assert_eq!(parse(&text).unwrap_err().line, 2, "{bad}");
        }
    }
}
