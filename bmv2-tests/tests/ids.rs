//! The program's face to controllers: the ids of `p4/IDS`, given out once and never again. A controller of yesterday's
//! program must not reach something else today.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use bmv2_tests::program::Program;
use p4runtime::p4::config::v1::{P4Info, Preamble};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../p4")
}

/// `ID kind name(1 field, 2 field)`, one line for each object of the program.
fn lines(info: &P4Info) -> BTreeSet<String> {
    let line = |kind: &str, preamble: &Option<Preamble>, parts: Vec<(u32, &str)>| {
        let preamble = preamble.as_ref().unwrap();
        let parts: Vec<String> = parts.iter().map(|(id, name)| format!("{id} {name}")).collect();
        let parts = if parts.is_empty() { String::new() } else { format!("({})", parts.join(", ")) };
        format!("{:#010x} {kind} {}{parts}", preamble.id, preamble.name)
    };
    let mut all = BTreeSet::new();
    for table in &info.tables {
        let keys = table.match_fields.iter().map(|field| (field.id, field.name.as_str())).collect();
        all.insert(line("table", &table.preamble, keys));
    }
    for action in &info.actions {
        let params = action.params.iter().map(|param| (param.id, param.name.as_str())).collect();
        all.insert(line("action", &action.preamble, params));
    }
    for header in &info.controller_packet_metadata {
        let fields = header.metadata.iter().map(|field| (field.id, field.name.as_str())).collect();
        all.insert(line("header", &header.preamble, fields));
    }
    all.extend(info.action_profiles.iter().map(|profile| line("profile", &profile.preamble, vec![])));
    all.extend(info.counters.iter().map(|counter| line("counter", &counter.preamble, vec![])));
    all.extend(info.meters.iter().map(|meter| line("meter", &meter.preamble, vec![])));
    all.extend(info.registers.iter().map(|register| line("register", &register.preamble, vec![])));
    all
}

/// The lines of `p4/IDS`; those that begin with `retired` name what is gone.
fn ledger() -> (BTreeSet<String>, Vec<String>) {
    let text = fs::read_to_string(folder().join("IDS")).unwrap();
    let entries = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (retired, live): (Vec<&str>, Vec<&str>) = entries.partition(|line| line.starts_with("retired "));
    let retired = retired.into_iter().filter_map(|line| line.strip_prefix("retired ")).map(str::to_owned);
    (live.into_iter().map(str::to_owned).collect(), retired.collect())
}

#[test]
fn the_program_has_the_ids_that_were_given_out() {
    let (live, _) = ledger();
    let program = lines(&Program::load().unwrap().info);
    let new: Vec<_> = program.difference(&live).collect();
    let gone: Vec<_> = live.difference(&program).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "p4/IDS: add what is new, with an id that was never used, and write `retired` before what is gone\nnew: {new:#?}\ngone: {gone:#?}"
    );
}

#[test]
fn no_id_was_given_out_twice() {
    let (live, retired) = ledger();
    let mut seen = BTreeMap::new();
    for line in live.iter().chain(&retired) {
        let id = line.split(' ').next().unwrap();
        if let Some(other) = seen.insert(id.to_owned(), line.clone()) {
            panic!("p4/IDS: {id} is both `{other}` and `{line}`");
        }
    }
}

/// An id that the compiler makes up from a name or a place could change; those of its own `NoAction` and of the controller's
/// headers come from names that P4Runtime fixes.
#[test]
fn every_id_stands_in_the_sources() {
    let sources: String = ["include", "bmv2"]
        .iter()
        .flat_map(|name| fs::read_dir(folder().join(name)).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "p4"))
        .map(|path| fs::read_to_string(path).unwrap().to_lowercase())
        .collect();
    for line in ledger().0 {
        let [id, kind, name] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if kind != "header" && name != "NoAction" {
            assert!(sources.contains(&format!("@id({id})")), "no @id({id}) in p4 for {name}");
        }
    }
}
