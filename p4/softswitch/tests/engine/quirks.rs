//! `simple_switch`'s quirks, each by name.

use serde_json::json;
use softswitch::control::{CloneSession, Replica};

use super::program::{Build, assign, drain, field, number, op, packet, primitive, std_field, word};

fn to(port: u64) -> serde_json::Value {
    assign(std_field("egress_spec"), number(port))
}

fn session(port: u16) -> CloneSession {
    CloneSession { replicas: vec![Replica { port, instance: 0 }], ..CloneSession::default() }
}

#[test]
fn a_clone_in_ingress_is_the_original_packet_even_if_that_is_dropped() {
    let clone = primitive("clone_ingress_pkt_to_egress", json!([number(5), number(1)]));
    let mut switch = Build {
        ingress: vec![
            assign(field("h", "a"), number(99)),
            assign(field("m", "kept"), number(7)),
            assign(field("m", "lost"), number(8)),
            clone,
            primitive("mark_to_drop", json!([{ "type": "header", "value": "standard_metadata" }])),
        ],
        egress_for: Some((1, vec![assign(field("h", "b"), op("+", field("m", "kept"), field("m", "lost")))])),
        ..Build::default()
    }
    .switch();
    switch.set_clone_session(5, session(3)).unwrap();
    switch.ingress(0, packet(1, 2, 0), 0);
    let out = drain(&mut switch, 0);
    assert_eq!(out.len(), 1);
    // Ingress's change is not in it, and of the metadata only the field list came along.
    assert_eq!((out[0].0, word(&out[0].1, 0), word(&out[0].1, 1)), (3, 1, 7));
    assert_eq!((switch.stats().clones, switch.stats().ingress_drops), (1, 1));
}

#[test]
fn a_clone_in_egress_has_the_headers_as_egress_left_them_and_starts_at_queue_0() {
    let clone = primitive("clone_egress_pkt_to_egress", json!([number(5), number(1)]));
    let mut switch = Build {
        ingress: vec![to(1), assign(std_field("priority"), number(6))],
        egress: vec![assign(field("h", "a"), number(99)), assign(field("m", "kept"), number(7)), clone],
        egress_for: Some((2, vec![assign(field("h", "b"), field("m", "kept"))])),
        ..Build::default()
    }
    .switch();
    switch.set_clone_session(5, session(3)).unwrap();
    switch.ingress(0, packet(1, 2, 0), 0);
    assert_eq!(switch.dequeue(1, 0).unwrap().queue, 6);
    let clone = switch.dequeue(3, 0).unwrap();
    assert_eq!(clone.queue, 0);
    let clone = clone.packet.unwrap().to_octets();
    assert_eq!((word(&clone, 0), word(&clone, 1)), (99, 7));
}

#[test]
fn a_clone_without_session_is_counted() {
    let clone = primitive("clone_egress_pkt_to_egress", json!([number(5), number(1)]));
    let mut switch = Build { ingress: vec![to(1)], egress: vec![clone], ..Build::default() }.switch();
    switch.ingress(0, packet(1, 2, 0), 0);
    assert_eq!(drain(&mut switch, 0).len(), 1);
    assert_eq!(switch.stats().clones_without_session, 1);
}

#[test]
fn clone_sessions_can_cut_the_payload() {
    let clone = primitive("clone_egress_pkt_to_egress", json!([number(5), number(1)]));
    let mut switch = Build {
        ingress: vec![to(1)],
        egress: vec![clone],
        egress_for: Some((2, vec![])),
        ..Build::default()
    }
    .switch();
    switch.set_clone_session(5, CloneSession { packet_length_octets: 20, ..session(3) }).unwrap();
    switch.ingress(0, packet(1, 2, 100), 0);
    let lengths: Vec<(u16, usize)> = drain(&mut switch, 0).iter().map(|(p, o)| (*p, o.len())).collect();
    assert_eq!(lengths, [(1, 108), (3, 20)]);
}

#[test]
fn a_recirculated_packet_is_type_4_in_ingress_and_0_in_egress_and_forgets_where_it_came_in() {
    let mut switch = Build {
        ingress: vec![to(1), assign(field("m", "kept"), number(1))],
        egress: vec![primitive("recirculate", json!([number(1)]))],
        ingress_for: Some((
            4,
            vec![
                to(2),
                assign(field("h", "a"), std_field("ingress_port")),
                assign(field("m", "lost"), field("m", "kept")),
            ],
        )),
        ..Build::default()
    };
    // The second time egress doesn't recirculate: `kept` came along and is in `lost`.
    switch.egress = vec![
        primitive("_jump_if_zero", json!([op("==", field("m", "lost"), number(0)), number(2)])),
        primitive("recirculate", json!([number(1)])),
        assign(field("h", "b"), std_field("instance_type")),
    ];
    let mut switch = switch.switch();
    switch.ingress(9, packet(1, 77, 0), 5_000);
    let first = switch.dequeue(1, 5_000).unwrap();
    assert!(first.recirculated && first.packet.is_none());
    let out = drain(&mut switch, 5_000);
    assert_eq!(out.len(), 1);
    assert_eq!((out[0].0, word(&out[0].1, 0), word(&out[0].1, 1)), (2, 0, 0));
}

#[test]
fn truncation_ends_with_a_recirculation_and_holds_otherwise() {
    let cut = primitive("truncate", json!([number(10)]));
    let mut switch = Build { ingress: vec![to(1)], egress: vec![cut.clone()], ..Build::default() }.switch();
    switch.ingress(0, packet(1, 2, 100), 0);
    assert_eq!(drain(&mut switch, 0)[0].1.len(), 10);

    let mut switch = Build {
        ingress: vec![to(1)],
        ingress_for: Some((4, vec![to(2)])),
        egress: vec![
            primitive("_jump_if_zero", json!([op("==", std_field("egress_port"), number(1)), number(3)])),
            cut,
            primitive("recirculate", json!([number(1)])),
        ],
        ..Build::default()
    }
    .switch();
    switch.ingress(0, packet(1, 2, 100), 0);
    assert_eq!(drain(&mut switch, 0), [(2, packet(1, 2, 100).to_octets())]);
}

#[test]
fn a_resubmitted_packet_enters_again_as_it_came() {
    let mut switch = Build {
        ingress: vec![
            assign(field("h", "a"), number(99)),
            assign(field("m", "kept"), number(7)),
            primitive("resubmit", json!([number(1)])),
        ],
        ingress_for: Some((6, vec![to(1), assign(field("h", "b"), field("m", "kept"))])),
        ..Build::default()
    }
    .switch();
    switch.ingress(0, packet(1, 2, 0), 0);
    let out = drain(&mut switch, 0);
    assert_eq!((word(&out[0].1, 0), word(&out[0].1, 1)), (1, 7));
}

#[test]
fn a_packet_that_goes_round_for_ever_is_dropped_and_counted() {
    let again = primitive("resubmit", json!([number(1)]));
    let mut switch =
        Build { ingress: vec![again.clone()], ingress_for: Some((6, vec![again])), ..Build::default() }
            .switch();
    switch.ingress(0, packet(1, 2, 0), 0);
    assert_eq!(switch.stats().loop_drops, 1);
}

#[test]
fn multicast_goes_before_drop_and_marks_its_copies() {
    let mut switch = Build {
        ingress: vec![to(511), assign(std_field("mcast_grp"), number(4))],
        egress: vec![
            assign(field("h", "a"), std_field("egress_rid")),
            assign(field("h", "b"), std_field("instance_type")),
        ],
        ..Build::default()
    }
    .switch();
    let replicas = vec![Replica { port: 2, instance: 20 }, Replica { port: 3, instance: 30 }];
    switch.set_multicast_group(4, replicas).unwrap();
    switch.ingress(0, packet(1, 2, 0), 0);
    let out: Vec<(u16, u32, u32)> =
        drain(&mut switch, 0).iter().map(|(p, o)| (*p, word(o, 0), word(o, 1))).collect();
    assert_eq!(out, [(2, 20, 5), (3, 30, 5)]);
}

#[test]
fn the_length_follows_headers_added_and_removed() {
    let extra = json!([{ "type": "header", "value": "extra" }]);
    let mut switch = Build {
        ingress: vec![to(1), primitive("add_header", extra)],
        egress: vec![assign(field("h", "a"), std_field("packet_length"))],
        ..Build::default()
    }
    .switch();
    switch.ingress(0, packet(1, 2, 4), 0);
    let out = drain(&mut switch, 0);
    assert_eq!((out[0].1.len(), word(&out[0].1, 2)), (20, 20));
}

#[test]
fn negative_intermediates_are_negative_until_they_are_cut() {
    // x = (a - b) before any mask: compared as a number, not as 32 bits.
    let difference = op("-", field("h", "a"), field("h", "b"));
    let mut switch = Build {
        ingress: vec![
            to(1),
            primitive("_jump_if_zero", json!([op("<", difference.clone(), number(0)), number(3)])),
            assign(field("m", "kept"), number(1)),
        ],
        egress: vec![
            assign(field("h", "b"), field("m", "kept")),
            assign(field("h", "a"), op("&", op(">>", difference, number(4)), number(0xffff_ffff))),
        ],
        ..Build::default()
    }
    .switch();
    switch.ingress(0, packet(1, 17, 0), 0);
    let out = drain(&mut switch, 0);
    // Egress sees kept in b by then: (1 - 1) >> 4.
    assert_eq!((word(&out[0].1, 0), word(&out[0].1, 1)), (0, 1));
}

#[test]
fn products_wider_than_any_word_are_exact() {
    // (x * x) >> 100 for x = 2^64 - 1.
    let x = field("m", "x");
    let mut switch = Build {
        ingress: vec![
            to(1),
            assign(x.clone(), number(u64::MAX)),
            assign(field("m", "wide"), op("*", x.clone(), x)),
            assign(field("h", "a"), op("&", op(">>", field("m", "wide"), number(96)), number(0xffff_ffff))),
            assign(field("h", "b"), op("&", field("m", "wide"), number(0xffff_ffff))),
        ],
        ..Build::default()
    }
    .switch();
    switch.ingress(0, packet(0, 0, 0), 0);
    let out = drain(&mut switch, 0);
    let square = u128::from(u64::MAX) * u128::from(u64::MAX);
    assert_eq!(u128::from(word(&out[0].1, 0)), square >> 96);
    assert_eq!(u128::from(word(&out[0].1, 1)), square & 0xffff_ffff);
}

#[test]
fn registers_keep_what_fits_them_and_ignore_indices_beyond() {
    let register = json!({ "type": "register_array", "value": "r" });
    let mut switch = Build {
        registers: vec![json!({ "name": "r", "id": 0, "size": 4, "bitwidth": 8 })],
        ingress: vec![
            to(1),
            primitive("register_write", json!([register, field("h", "a"), field("h", "b")])),
            primitive("register_read", json!([field("h", "b"), register, field("h", "a")])),
        ],
        ..Build::default()
    }
    .switch();
    switch.ingress(0, packet(3, 0x1ff, 0), 0);
    switch.ingress(0, packet(4, 0x1ff, 0), 0);
    let out = drain(&mut switch, 0);
    assert_eq!(word(&out[0].1, 1), 0xff);
    assert_eq!(word(&out[1].1, 1), 0x1ff, "beyond the array the field is left alone");
}

#[test]
fn a_clones_class_of_service_is_its_queue() {
    let clone = primitive("clone_ingress_pkt_to_egress", json!([number(5), number(1)]));
    let mut switch = Build { ingress: vec![to(1), clone], ..Build::default() }.switch();
    switch.set_clone_session(5, CloneSession { class_of_service: 6, ..session(3) }).unwrap();
    switch.ingress(0, packet(1, 2, 0), 0);
    assert_eq!((switch.dequeue(1, 0).unwrap().queue, switch.dequeue(3, 0).unwrap().queue), (0, 6));
    let most = switch.set_clone_session(5, CloneSession { class_of_service: 8, ..session(3) }).unwrap_err();
    assert!(most.to_string().contains("8 queues"), "{most}");
}
