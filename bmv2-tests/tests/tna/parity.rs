//! One controller serves both programs: tables, keys, actions, parameters, counters and meters have the same names and ids. What
//! differs stands in `p4/tofino/PARITY`, line for line, with its reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bmv2_tests::program::Program;
use p4runtime::p4::config::v1::match_field::MatchType;
use p4runtime::p4::config::v1::{P4Info, Preamble};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../p4/tofino")
}

/// What a controller sees of a program, a line for each thing. Sizes, which differ by what a chip has room for, aren't among it.
fn lines(info: &P4Info) -> BTreeSet<String> {
    let name = |preamble: &Option<Preamble>| {
        let preamble = preamble.as_ref().unwrap();
        (format!("{:#010x}", preamble.id), preamble.name.trim_start_matches('.').to_owned())
    };
    let mut all = BTreeSet::new();
    for table in &info.tables {
        let (id, table_name) = name(&table.preamble);
        all.insert(format!("table {table_name} {id}"));
        for field in &table.match_fields {
            let kind = MatchType::try_from(match field.r#match {
                Some(p4runtime::p4::config::v1::match_field::Match::MatchType(kind)) => kind,
                _ => 0,
            });
            let kind = kind.map_or("?", |kind| kind.as_str_name()).to_lowercase();
            all.insert(format!("key {table_name} {} {} {kind} {}", field.id, field.name, field.bitwidth));
        }
        for action in &table.action_refs {
            let called =
                info.actions.iter().find(|one| one.preamble.as_ref().unwrap().id == action.id).unwrap();
            all.insert(format!("action-of {table_name} {}", name(&called.preamble).1));
        }
    }
    for action in &info.actions {
        let (id, action_name) = name(&action.preamble);
        all.insert(format!("action {action_name} {id}"));
        for param in &action.params {
            all.insert(format!("parameter {action_name} {} {} {}", param.id, param.name, param.bitwidth));
        }
    }
    for counter in &info.counters {
        let (id, counter) = name(&counter.preamble);
        all.insert(format!("counter {counter} {id}"));
    }
    for meter in &info.meters {
        let (id, meter) = name(&meter.preamble);
        all.insert(format!("meter {meter} {id}"));
    }
    for profile in &info.action_profiles {
        let (id, profile) = name(&profile.preamble);
        all.insert(format!("profile {profile} {id}"));
    }
    for header in &info.controller_packet_metadata {
        let (_, header_name) = name(&header.preamble);
        for field in &header.metadata {
            all.insert(format!("header {header_name} {} {} {}", field.id, field.name, field.bitwidth));
        }
    }
    all
}

/// `- line`: v1model alone has it. `+ line`: the chip's program alone. Under `[tofino]`, `[tofino2]` for one chip, before for both.
fn listed(chip: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(folder().join("PARITY")).unwrap();
    let mut section = String::new();
    let mut all = BTreeSet::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.clone_into(&mut section);
        } else if section.is_empty() || section == chip {
            assert!(all.insert(line.to_owned()), "p4/tofino/PARITY has `{line}` twice");
        }
    }
    all
}

fn differences(chip: &str) -> BTreeSet<String> {
    let file = folder().join(format!("build/{chip}/crn.p4info.txtpb"));
    let text = fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}: make tofino writes it", file.display()));
    let here = lines(&p4runtime::p4info::parse_text(&text).unwrap());
    let v1model = lines(&Program::load().unwrap().info);
    let gone = v1model.difference(&here).map(|line| format!("- {line}"));
    gone.chain(here.difference(&v1model).map(|line| format!("+ {line}"))).collect()
}

fn check(chip: &str) {
    let (found, listed) = (differences(chip), listed(chip));
    let new: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "p4/tofino/PARITY, for {chip}: list what differs, with its reason, or make it equal\nnot listed: {new:#?}\nlisted, and not so: {gone:#?}"
    );
}

#[test]
#[ignore = "p4/tofino/build is absent until make tofino has compiled the program"]
fn the_program_for_tofino_1_has_what_v1model_has() {
    check("tofino");
}

#[test]
#[ignore = "p4/tofino/build is absent until make tofino has compiled the program"]
fn the_program_for_tofino_2_has_what_v1model_has() {
    check("tofino2");
}
