//! The index answers by name, alias and id, and refuses an inconsistent P4Info.

use super::*;
use crate::p4info::{parse_text, to_text};

const INFO: &str = r#"
# proto-file: p4/config/v1/p4info.proto
# proto-message: P4Info

pkg_info { arch: "v1model" }
tables {
  preamble { id: 33554433 name: "ingress.dscp_map" alias: "dscp_map" annotations: "@name(\"dscp_map\")" }
  match_fields { id: 1 name: "dscp" bitwidth: 6 match_type: EXACT }
  action_refs { id: 16777217 }
  action_refs { id: 16777218 annotations: "@defaultonly" scope: DEFAULT_ONLY }
  const_default_action_id: 16777218
  initial_default_action { action_id: 16777218 }
  direct_resource_ids: 318767105
  size: 64
}
actions {
  preamble { id: 16777217 name: "ingress.set_class" alias: "set_class" }
  params { id: 1 name: "traffic_class" bitwidth: 3 }
}
actions { preamble { id: 16777218 name: "NoAction" alias: "NoAction" annotations: "@noWarn(\"unused\")" } }
direct_counters { preamble { id: 318767105 name: "hits" alias: "hits" } spec { unit: BOTH } direct_table_id: 33554433 }
registers {
  preamble { id: 369098753 name: "ingress.r" alias: "r" }
  type_spec { bitstring { bit { bitwidth: 48 } } }
  size: 16
}
type_info { structs { key: "s" value { members { name: "a" type_spec { bool { } } } } } }
"#;

#[test]
fn names_aliases_and_ids_find_the_same_object() {
    let index = P4InfoIndex::new(parse_text(INFO).unwrap()).unwrap();
    let table = index.tables.find("dscp_map").unwrap();
    assert_eq!(table.id, index.tables.find("ingress.dscp_map").unwrap().id);
    assert_eq!(index.tables.by_id(33_554_433).unwrap().name, "ingress.dscp_map");
    assert_eq!(
        (table.fields[0].width, table.fields[0].kind, table.needs_priority()),
        (6, MatchKind::Exact, false)
    );
    assert_eq!(table.direct_counter, Some(318_767_105));
    assert!(!table.action(16_777_218).unwrap().in_entries);
    assert_eq!(index.registers.find("r").unwrap().shape, DataShape::Bits(48));
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let index = P4InfoIndex::new(parse_text(INFO).unwrap()).unwrap();
    let error = index.tables.find("dscp_mop").unwrap_err().to_string();
    assert!(error.contains("dscp_mop") && error.contains("dscp_map"), "{error}");
}

#[test]
fn a_dangling_action_is_refused() {
    let text = INFO.replace("action_refs { id: 16777217 }", "action_refs { id: 16777299 }");
    assert!(matches!(P4InfoIndex::new(parse_text(&text).unwrap()), Err(IndexError::Dangling { .. })));
}

#[test]
fn a_duplicate_id_is_refused() {
    let text = INFO.replace("id: 16777218 name: \"NoAction\"", "id: 16777217 name: \"NoAction\"");
    assert!(matches!(P4InfoIndex::new(parse_text(&text).unwrap()), Err(IndexError::Duplicate { .. })));
}

#[test]
fn text_survives_the_round_trip() {
    let info = parse_text(INFO).unwrap();
    let text = to_text(&info).unwrap();
    assert_eq!(parse_text(&text).unwrap(), info);
    assert!(text.lines().count() > 20, "one field a line");
}

#[test]
fn a_fault_in_the_text_is_placed() {
    let error = parse_text("tables {\n  sise: 3\n}\n").unwrap_err().to_string();
    assert!(error.contains("sise"), "{error}");
    assert!(parse_text("tables {").is_err());
}
