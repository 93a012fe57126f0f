//! The cases notice when the program is wrong: one comparison of the compiled program is changed, and the case that is
//! about it must fail. That also shows that softswitch runs that JSON and nothing else.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::sync::Arc;

use bmv2_tests::cases;
use bmv2_tests::program::Program;
use bmv2_tests::soft::Soft;
use bmv2_tests::target::{Target as _, judge};
use serde_json::Value;

/// A comparison (a field's name, or part of it, of a slice with the shift that leads to it; the operator; another field's name,
/// or a number as the JSON writes it), the operator instead, and the case that is about it.
type Mutant = (&'static str, &'static str, &'static str, &'static str, &'static str);

const MUTANTS: &[Mutant] = &[
    // Occupancy, thresholds, marking.
    ("occupancy", ">", "b_th", ">=", "threshold_equal"),
    ("occupancy", ">", "ecn_threshold", ">=", "ecn_threshold"),
    ("occupancy", ">", "ecn_threshold", ">=", "ecn_threshold_ipv6"),
    ("ipv4.ecn", "!=", "0x00", "==", "ecn_threshold"),
    ("ipv6.ecn", "!=", "0x03", "==", "ecn_threshold_ipv6"),
    ("deq_qdepth", "==", "0x000000", "!=", "tail_drop_heals_when_empty"),
    // CONGESTION_REPORT.
    ("udp_port", "==", "rdcc_port", "!=", "no_report_about_rdcc_datagrams"),
    ("udp_port", "==", "crem_port", "!=", "no_report_about_control_ports"),
    ("udp_port", "==", "scone_port", "!=", "no_report_about_control_ports"),
    ("congestion_trigger_last", "!=", "0x000000000000", "==", "flow_interval"),
    ("congestion_trigger_colour", "==", "0x02", "!=", "port_limit"),
    // What is refused.
    ("ipv4.ttl", "<=", "0x01", "<", "refused_packets"),
    ("ipv6.hop_limit", "<=", "0x01", "<", "refused_ipv6_packets"),
    ("ipv6.version", "!=", "0x06", "==", "refused_ipv6_packets"),
    ("ipv4.ihl", ">", "0x05", "<", "refused_packets"),
    ("checksum_error", "==", "0x01", "!=", "refused_packets"),
    ("udp.length", "<=", "payload_octets", "<", "malformed_ipv4_lengths"),
    ("udp.length", ">=", "0x0008", ">", "malformed_ipv4_lengths"),
    ("payload_octets", ">=", "0x0014", ">", "malformed_ipv4_lengths"),
    ("ethernet.dst_mac >> 0x28", "==", "0x01", "!=", "group_frames"),
    ("ipv4.src_addr >> 0x1d", "==", "0x07", "!=", "malformed_sources"),
    ("ipv4.src_addr >> 0x18", "==", "0x00", "!=", "malformed_sources"),
    ("ipv4.src_addr >> 0x18", "==", "0x7f", "!=", "malformed_sources"),
    ("ipv6.src_addr >> 0x78", "==", "0xff", "!=", "malformed_sources"),
    ("ipv6.src_addr >> 0x1", "==", "0x00000000000000000000000000000000", "!=", "malformed_sources"),
    // The boundary.
    ("udp_port", "==", "scone_port", "!=", "untrusted_port"),
    ("hides_upper_layer", "==", "0x01", "!=", "trust_hidden_ports"),
    ("classifier_mapped", "==", "0x01", "!=", "trust_in_parts"),
    // PATH_REPORT.
    ("path_report_trigger_held", "<", "0x04", "<=", "path_report_gathers_psns"),
    ("path_report_trigger_owner", "==", "expression", "!=", "path_report_slot_taken_over"),
    ("path_report_trigger_colour", "==", "0x02", "!=", "path_report_port_limit"),
    ("path_lost", ">", "expression", "<=", "path_report_gathers_psns"),
    ("path_held", ">=", "0x04", ">", "path_report_gathers_psns"),
    ("bth.opcode", "!=", "0x81", "==", "path_report_opcodes"),
    ("bth.opcode", "!=", "0xb2", "==", "path_report_opcodes"),
    // Rate Advice.
    ("rate_advice_trigger_last", "!=", "0x000000000000", "==", "rate_advice_by_policy"),
    ("rate_advice_gate_last", "!=", "0x000000000000", "==", "rate_advice_by_policy"),
    ("suggested_rate", "!=", "0x00000000", "==", "rate_advice_without_a_rate"),
    ("share_of_source", "==", "0x00", "!=", "rate_advice_beside_rate_signal"),
    ("reports_congestion", "==", "0x01", "!=", "rate_advice_deferred"),
    ("policy_rate", "<", "rate_advice_body_share", ">", "rate_advice_never_above_policy"),
    ("expression", "<", "advice_floor", ">", "rate_advice_floor"),
    // The Rate Signal.
    ("rate_signal_rate", "<", "rate_signal.rate", "<=", "rate_signal_by_policy"),
    ("rate_signal.rate", "==", "0x00000000", "!=", "rate_signal_by_policy"),
    ("rate_signal_policy", "<", "rate_signal_share", ">", "rate_signal_smaller_of_both"),
    ("expression", "<", "signal_floor", ">", "rate_signal_floor"),
    ("rate_signal.type", "==", "extension_type", "!=", "rate_signal_left_alone"),
    ("rate_signal.length", "==", "0x0a", "!=", "rate_signal_left_alone"),
    ("rate_signal.version", "==", "0x00000001", "!=", "rate_signal_left_alone"),
    ("udp.checksum", "!=", "0x0000", "==", "rate_signal_by_policy"),
    // Alternate Marking.
    ("hop_by_hop.option_type", "==", "0x12", "!=", "marking_by_colour"),
    ("destination_options.option_length", "==", "0x04", "!=", "marking_by_colour"),
    ("delay_marked", "==", "0x01", "!=", "marking_delay_bins"),
    ("marking_boundary_last", "!=", "expression", "==", "marking_entry"),
    ("source_invalid", "==", "0x00", "!=", "marking_not_believed_from_outside"),
    ("hop_by_hop.length", "==", "0x00", "!=", "marking_exit"),
    ("destination_options.length", "==", "0x00", "!=", "marking_exit"),
];

fn field(side: &Value) -> String {
    side["value"].as_array().unwrap().iter().filter_map(Value::as_str).collect::<Vec<_>>().join(".")
}

/// The field and the shift of a slice, which is shifted and then masked.
fn slice(side: &Value) -> Option<String> {
    let value = &side["value"];
    if value["op"] == ">>" && value["left"]["type"] == "field" {
        return Some(format!("{} >> {}", field(&value["left"]), value["right"]["value"].as_str()?));
    }
    (side["type"] == "expression" && value["op"] == "&").then(|| slice(&value["left"])).flatten()
}

/// Whether a side of a comparison is what a mutant names.
fn names(side: &Value, wanted: &str) -> bool {
    match side["type"].as_str() {
        Some("field") => field(side).ends_with(wanted),
        Some("hexstr") => side["value"] == wanted,
        Some(kind) => kind == wanted || slice(side).is_some_and(|slice| slice.ends_with(wanted)),
        None => false,
    }
}

fn replace(value: &mut Value, mutant: &Mutant) -> usize {
    let (left, op, right, with, _) = *mutant;
    let mut found = 0;
    if value["op"] == op && names(&value["left"], left) && names(&value["right"], right) {
        value["op"] = with.into();
        found += 1;
    }
    match value {
        Value::Object(fields) => {
            found += fields.values_mut().map(|field| replace(field, mutant)).sum::<usize>();
        }
        Value::Array(items) => found += items.iter_mut().map(|item| replace(item, mutant)).sum::<usize>(),
        _ => {}
    }
    found
}

/// Whether the case holds on softswitch with this program.
fn holds(name: &str, program: Program) -> bool {
    let case = cases::all().into_iter().find(|case| case.name == name).unwrap();
    let target = Soft { program: Some(Arc::new(program)), ..Soft::default() };
    judge(&target.run(&case), |observed| case.differences(observed)).is_ok()
}

#[test]
fn every_mutant_is_noticed_by_its_case() {
    let program = Program::load().unwrap();
    let json: Value = serde_json::from_slice(&program.json).unwrap();
    let mut survived = Vec::new();
    for mutant in MUTANTS {
        let mut changed = json.clone();
        let found = replace(&mut changed, mutant);
        assert_eq!(found, 1, "{mutant:?}: {found} such comparisons in the program");
        let mutated = Program { json: serde_json::to_vec(&changed).unwrap(), ..program.clone() };
        if holds(mutant.4, mutated) {
            survived.push(mutant);
        }
    }
    assert!(survived.is_empty(), "not noticed: {survived:#?}");
}

/// The other side: as it is, the program passes them.
#[test]
fn the_program_itself_passes_those_cases() {
    let program = Program::load().unwrap();
    let mut names: Vec<&str> = MUTANTS.iter().map(|mutant| mutant.4).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        assert!(holds(name, program.clone()), "{name}");
    }
}
