//! Alternate Marking (RFC 9341, RFC 9343).

use super::bed::SLOW;
use super::{Bed, Story};
use crate::case::Case;
use crate::entries::{self, exact, whole};
use crate::frames::{Data, Mark, Where, host_address_6};
use crate::setup::{Entry, Key};

pub(super) fn cases() -> Vec<Case> {
    vec![colours(), delay(), entry(), marked_at_the_entry(), from_outside(), exit(), marked_twice()]
}

/// `FlowMonID` of the first flow, whose index is 5.
const FIRST: u32 = 0x12345;
/// `FlowMonID` of the second flow, whose index is 6.
const SECOND: u32 = 0x00777;
/// Index of the flow that is to be marked.
const MARKED_HERE: u128 = 7;
/// A period longer than any case (2^40 us): the colour stays.
const LOG2_PERIOD: u128 = 40;

fn flow(id: u32, index: u128) -> Entry {
    let key = vec![whole("marked", 1, 1), whole("flow_mon_id", id.into(), 20)];
    entries::with_priority(1, "marking_flow", key, "set_marking", &[index])
}

/// Host 1's unmarked packets from UDP port 50000 to host `to`.
fn five_tuple(to: u8) -> Entry {
    let key = vec![
        whole("marked", 0, 1),
        whole("src_addr", host_address_6(1), 128),
        whole("dst_addr", host_address_6(to), 128),
        whole("protocol", 17, 8),
        whole("src_port", 50000, 16),
        whole("dst_port", 4791, 16),
    ];
    entries::with_priority(1, "marking_flow", key, "set_marking", &[MARKED_HERE])
}

fn edge(port: Key, flow: u128, arguments: [u128; 3]) -> Entry {
    entries::with_priority(1, "marking_edge", vec![port, exact("flow", flow)], "set_edge", &arguments)
}

/// An IPv6 packet to host 4, 60 octets of payload.
fn plain() -> Data {
    Data { dst: 4, dscp: 0, ..Data::scheduled(14 + 40 + 8 + 60).v6() }
}

fn with(mark: Mark) -> Data {
    let plain = plain();
    Data { option: Some(mark), octets: plain.octets + usize::from(mark.octets), ..plain }
}

/// The index of `marked` and `marked_departed`.
fn coloured(flow: u64, loss: bool) -> u64 {
    flow << 1 | u64::from(loss)
}

/// Both colours, both headers, one of them long; a flow that isn't monitored and an option that is only padding aren't
/// counted. One packet is counted on arrival and dropped: it has no route.
fn colours() -> Case {
    let dest = |mark| Mark { within: Where::Destination, ..mark };
    let sent = [
        with(Mark::hop_by_hop(FIRST, false, false)),
        with(Mark::hop_by_hop(FIRST, true, false)),
        with(dest(Mark::hop_by_hop(FIRST, true, false))),
        with(Mark { octets: 16, ..dest(Mark::hop_by_hop(SECOND, false, false)) }),
        with(Mark { octets: 16, ..Mark::hop_by_hop(SECOND, false, false) }),
        with(Mark::hop_by_hop(FIRST + 1, true, true)),
        with(Mark { blank: true, ..Mark::hop_by_hop(0, false, false) }),
        plain(),
    ];
    let lost = Data { dst: 99, ..sent[1] };
    Story::new()
        .send(1, &[&sent[..], &[lost]].concat())
        .expect_forwarded(4, &sent)
        .count("marked", coloured(5, false), 1)
        .count("marked", coloured(5, true), 3)
        .count("marked", coloured(6, false), 2)
        .count("marked_departed", coloured(5, false), 1)
        .count("marked_departed", coloured(5, true), 2)
        .count("marked_departed", coloured(6, false), 2)
        .count("drops", 4 << 12 | 1 << 3, 1)
        .end(
            "marking_by_colour",
            "marked packets are counted by flow and colour when they arrive and when they leave",
            &Bed::with(&[], vec![flow(FIRST, 5), flow(SECOND, 6)]),
        )
}

/// Delay-marked packets that wait for more than 32,768 us: bin 15. One without the delay flag isn't binned. Every bin's
/// edges stand in `tests/tables`.
fn delay() -> Case {
    let marked = |delay| Data { dst: 2, ..with(Mark::hop_by_hop(FIRST, true, delay)) };
    let sent = [marked(true), marked(false), marked(true)];
    Story::primed()
        .send(1, &sent)
        .expect_forwarded(SLOW, &sent)
        .count("marked", coloured(5, true), 3)
        .count("marked_departed", coloured(5, true), 3)
        .count("delay_bins", 5 << 4 | 15, 2)
        .end(
            "marking_delay_bins",
            "delay-marked packets are counted in bins by their time in the queue",
            &Bed::with(&[], vec![flow(FIRST, 5)]),
        )
}

/// Marked at the entry: the first packet of the period for delay too. What has no route, what carries a Hop-by-Hop header already, what
/// enters elsewhere and what isn't the flow's stays as it is.
fn entry() -> Case {
    let plain = Data { dst: 2, ..plain() };
    let other = Data { ports: (50001, 4791), ..plain };
    let taken = Data { dst: 2, ..with(Mark { blank: true, ..Mark::hop_by_hop(0, false, false) }) };
    let marked = |delay| Data { dst: 2, ..with(Mark::hop_by_hop(FIRST, false, delay)) };
    let at_port_1 = edge(whole("ingress_port", 1, 9), MARKED_HERE, [1, FIRST.into(), LOG2_PERIOD]);
    let no_route = Data { dst: 99, ..plain };
    Story::primed()
        .send(1, &[no_route, plain, plain, other, taken, plain])
        .expect_forwarded(SLOW, &[marked(true), marked(false), other, taken, marked(false)])
        .settle()
        .send(3, &[plain])
        .expect_forwarded(SLOW, &[plain])
        .count("marked", coloured(7, false), 3)
        .count("marked_departed", coloured(7, false), 3)
        .count("delay_bins", 7 << 4 | 15, 1)
        .count("drops", 4 << 12 | 1 << 3, 1)
        .end(
            "marking_entry",
            "at the measured domain's entry the option is inserted, one packet of a period is marked for delay",
            &Bed::with(&[], vec![five_tuple(2), five_tuple(99), at_port_1]),
        )
}

/// Where the flow enters the measured domain nothing is marked yet: a mark that comes through there is blanked and not counted, in
/// either header. The same mark through another port is believed.
fn marked_at_the_entry() -> Case {
    let short = Mark::hop_by_hop(FIRST, true, false);
    let to_dest = |mark| Mark { within: Where::Destination, ..mark };
    let marks = [short, to_dest(short), Mark { octets: 16, ..short }];
    let blank = |mark| with(Mark { blank: true, ..mark });
    let at_port_1 = edge(whole("ingress_port", 1, 9), 5, [1, FIRST.into(), LOG2_PERIOD]);
    Story::new()
        .send(1, &marks.map(with))
        .expect_forwarded(4, &marks.map(blank))
        .settle()
        .send(2, &[with(short)])
        .expect_forwarded(4, &[with(short)])
        .count("marked", coloured(5, true), 1)
        .count("marked_departed", coloured(5, true), 1)
        .end(
            "marking_not_believed_at_the_entry",
            "a packet that is marked already where its flow enters the measured domain loses its mark, uncounted",
            &Bed::with(&[], vec![flow(FIRST, 5), at_port_1]),
        )
}

/// Port 3 lies outside the domain, and host 4 isn't a source of port 1: what they mark is blanked and not counted. A flow
/// that isn't monitored here is nobody's business.
fn from_outside() -> Case {
    let mark = Mark::hop_by_hop(FIRST, false, false);
    let to_2 = |data| Data { dst: 2, ..data };
    let marked = to_2(with(mark));
    let blank = to_2(with(Mark { blank: true, ..mark }));
    let other = to_2(with(Mark { flow: FIRST + 1, ..mark }));
    let from = |src, data| Data { src, ..data };
    let only_1 = [
        entries::source_valid(1, (0, 0), false),
        entries::source_valid(1, (host_address_6(1), 128), true),
        entries::source_valid(1, (entries::mapped([10, 0, 0, 1]), 128), true),
    ];
    Story::new()
        .send(3, &[from(3, marked), from(3, other)])
        .expect_forwarded(SLOW, &[from(3, blank), from(3, other)])
        .settle()
        .send(1, &[from(4, marked), marked])
        .expect_forwarded(SLOW, &[from(4, blank), marked])
        .count("marked", coloured(5, false), 1)
        .count("marked_departed", coloured(5, false), 1)
        .end(
            "marking_not_believed_from_outside",
            "marks from outside the domain, and of sources that aren't valid on their port, are blanked, uncounted",
            &Bed { trusted: vec![1, 2, 4], ..Bed::with(&[], [vec![flow(FIRST, 5)], only_1.to_vec()].concat()) },
        )
}

/// Marks in both headers, in a short and a long one: the first is what counts. Not believed, both become padding, from outside
/// (port 3) and where the first's flow enters the measured domain (port 2): were the second left, the next switch would count
/// it. At the first's exit (port 1) the first goes, and one from host to host stays.
fn marked_twice() -> Case {
    let of = |octets, mark| Mark { octets, ..mark };
    let first = Mark::hop_by_hop(FIRST, true, false);
    let second = Mark { within: Where::Destination, ..Mark::hop_by_hop(SECOND, false, false) };
    let pairs = [(8, 8), (16, 8), (8, 16)].map(|(outer, inner)| (of(outer, first), of(inner, second)));
    let blank = |mark| Mark { blank: true, ..mark };
    let both = |frame: fn(&Data) -> Vec<u8>, data, (outer, inner): (Mark, Mark)| {
        outer.before(inner.before(frame(&data)))
    };
    let sent = |data| pairs.map(|pair| both(Data::sent, data, pair)).to_vec();
    let blanked =
        |data| pairs.map(|(outer, inner)| both(Data::forwarded, data, (blank(outer), blank(inner)))).to_vec();
    let [inside, outside] = [plain(), Data { src: 3, ..plain() }];
    let leaving = Data { dst: 1, ..inside };
    let second_alone = |pair: (Mark, Mark)| pair.1.before(leaving.forwarded());
    let at_the_exit = vec![
        second_alone(pairs[0]),
        blank(pairs[1].0).before(second_alone(pairs[1])),
        second_alone(pairs[2]),
    ];
    let edges = [
        edge(whole("ingress_port", 2, 9), 5, [1, FIRST.into(), LOG2_PERIOD]),
        edge(whole("egress_port", 1, 9), 5, [2, 0, 0]),
    ];
    Story::new()
        .send_octets(3, sent(outside))
        .expect_all(4, blanked(outside))
        .settle()
        .send_octets(2, sent(inside))
        .expect_all(4, blanked(inside))
        .settle()
        .send_octets(1, sent(leaving))
        .expect_all(1, at_the_exit)
        .settle()
        .send_octets(1, sent(inside))
        .expect_all(4, pairs.map(|pair| both(Data::forwarded, inside, pair)).to_vec())
        .count("marked", coloured(5, true), 6)
        .count("marked_departed", coloured(5, true), 6)
        .end(
            "marking_in_both_headers",
            "of two marks the first counts; where marks aren't believed both go, at the exit the first",
            &Bed {
                trusted: vec![1, 2, 4],
                ..Bed::with(&[], [vec![flow(FIRST, 5), flow(SECOND, 6)], edges.to_vec()].concat())
            },
        )
}

/// Taken off at the exit: a header that holds nothing else goes, in a longer one the option becomes padding.
fn exit() -> Case {
    let short = Mark::hop_by_hop(FIRST, true, false);
    let long = Mark { octets: 16, ..short };
    let marks = [
        short,
        long,
        Mark { within: Where::Destination, ..short },
        Mark { within: Where::Destination, ..long },
    ];
    let sent = marks.map(with);
    let blank = |mark| with(Mark { blank: true, ..mark });
    let seen = [plain(), blank(marks[1]), plain(), blank(marks[3])];
    let elsewhere = Data { dst: 3, ..sent[0] };
    let at_port_4 = edge(whole("egress_port", 4, 9), 5, [2, 0, 0]);
    Story::new()
        .send(1, &sent)
        .expect_forwarded(4, &seen)
        .settle()
        .send(1, &[elsewhere])
        .expect(3, elsewhere.forwarded())
        .count("marked", coloured(5, true), 5)
        .count("marked_departed", coloured(5, true), 5)
        .end(
            "marking_exit",
            "at the measured domain's exit the option is removed, and only there",
            &Bed::with(&[], vec![flow(FIRST, 5), at_port_4]),
        )
}
