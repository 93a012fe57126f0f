//! How fast a queue pair sends: a bound that the user sets, DCQCN end to end, and both.

use std::net::{IpAddr, Ipv4Addr};

use roce::dcqcn;
use roce::{Disposition, Endpoint, QpConfig, QpConfigError, TxContent};
use wire::roce::{Bth, Opcode};
use wire::units::{BitPerSec, Nanos};

const A: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const B: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const QP: u32 = 0x11;
const LINE: BitPerSec = BitPerSec(100_000_000_000);

fn endpoint(dcqcn: Option<dcqcn::Config>) -> Endpoint {
    let mut endpoint = Endpoint::new();
    let config = QpConfig { mtu: 1024, dcqcn, ..QpConfig::new(QP, 0x22, B) };
    endpoint.create_qp(config).unwrap_or_else(|error| panic!("{error}"));
    endpoint
}

/// A full packet of a WRITE of 1024 octets a message: BTH 12, RETH 16, payload, ICRC 4, and 66 on the link.
const PACKET_BITS: u64 = (12 + 16 + 1024 + 4 + 66) * 8;

fn post(endpoint: &mut Endpoint, messages: u64) {
    for wr_id in 0..messages {
        assert!(endpoint.post(QP, wr_id, 1024, 26, Nanos(0)).is_ok());
    }
}

#[test]
fn a_bound_spaces_packets_by_their_time_on_the_link() {
    let mut endpoint = endpoint(None);
    // A packet takes a microsecond, exactly.
    assert_eq!(endpoint.set_bound(QP, Some(BitPerSec(PACKET_BITS * 1_000_000))), Ok(()));
    post(&mut endpoint, 3);
    assert!(endpoint.poll_transmit(Nanos(0)).is_some());
    assert!(endpoint.poll_transmit(Nanos(0)).is_none());
    assert_eq!(endpoint.poll_timeout(), Some(Nanos(1000)));
    assert!(endpoint.poll_transmit(Nanos(999)).is_none());
    assert!(endpoint.poll_transmit(Nanos(1000)).is_some());
    // A late packet doesn't let the next one go early.
    endpoint.handle_timeout(Nanos(5000));
    assert!(endpoint.poll_transmit(Nanos(5000)).is_some());
    assert!(endpoint.poll_transmit(Nanos(5000)).is_none());
}

#[test]
fn a_bound_that_is_taken_away_no_longer_holds_back() {
    let mut endpoint = endpoint(None);
    assert_eq!(endpoint.rate(QP, Nanos(0)), Ok(None));
    assert_eq!(endpoint.set_bound(QP, Some(BitPerSec(0))), Ok(()));
    assert_eq!(endpoint.rate(QP, Nanos(0)), Ok(Some(BitPerSec(1))), "none is ever stopped for good");
    assert_eq!(endpoint.set_bound(QP, None), Ok(()));
    post(&mut endpoint, 2);
    assert!(endpoint.poll_transmit(Nanos(0)).is_some() && endpoint.poll_transmit(Nanos(0)).is_some());
    assert!(endpoint.set_bound(0x99, None).is_err() && endpoint.rate(0x99, Nanos(0)).is_err());
}

#[test]
fn other_queue_pairs_send_while_one_is_held_back() {
    let mut endpoint = endpoint(None);
    let other = QpConfig { mtu: 1024, ..QpConfig::new(0x12, 0x23, B) };
    assert_eq!(endpoint.create_qp(other), Ok(()));
    assert_eq!(endpoint.set_bound(QP, Some(BitPerSec(1_000_000))), Ok(()));
    post(&mut endpoint, 2);
    for wr_id in 0..4 {
        assert!(endpoint.post(0x12, wr_id, 1024, 26, Nanos(0)).is_ok());
    }
    let order: Vec<_> = std::iter::from_fn(|| endpoint.poll_transmit(Nanos(0))).map(|p| p.qp).collect();
    assert_eq!(order, [QP, 0x12, 0x12, 0x12, 0x12]);
}

#[test]
fn parameters_of_dcqcn_are_checked() {
    let dcqcn = dcqcn::Config { inverse_gain: 0, ..dcqcn::Config::new(LINE) };
    let config = QpConfig { dcqcn: Some(dcqcn), ..QpConfig::new(QP, 0x22, B) };
    assert!(matches!(Endpoint::new().create_qp(config), Err(QpConfigError::Dcqcn(_))));
}

#[test]
fn marks_are_answered_with_cnps_that_cut_the_senders_rate() {
    let config = dcqcn::Config::new(LINE);
    let mut sender = endpoint(Some(config));
    let mut receiver = Endpoint::new();
    let other = QpConfig { mtu: 1024, dcqcn: Some(config), ..QpConfig::new(0x22, QP, A) };
    assert_eq!(receiver.create_qp(other), Ok(()));
    assert!(sender.post(QP, 1, 8192, 26, Nanos(0)).is_ok());
    let packets: Vec<_> = (1..=8).filter_map(|us| sender.poll_transmit(Nanos(us * 1000))).collect();
    assert_eq!(packets.len(), 8);
    // Two marked within the interval, one after it: two CNPs, ahead of the acknowledgement.
    for (packet, (at, ce)) in packets.iter().zip([(0, false), (1, true), (2, true), (60, true)]) {
        let now = Nanos(at * 1000);
        let taken = receiver.handle_packet(A, &packet.head, packet.udp_payload_octets(), ce, now);
        assert_eq!(taken, Ok(Disposition::Taken));
    }
    assert_eq!((receiver.stats().marked_packets, receiver.stats().cnps_sent), (3, 0));
    let cnp = receiver.poll_transmit(Nanos(60_000)).unwrap_or_else(|| panic!("a CNP is due"));
    assert_eq!(cnp.content, TxContent::Cnp);
    assert!(!cnp.is_data(), "a CNP is never marked itself");
    let bth = Bth::decode(&cnp.head).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((bth.opcode, bth.becn, bth.destination_qp), (Opcode::CNP, true, QP));
    assert_eq!(cnp.udp_payload_octets(), 12 + 16 + 4);

    let now = Nanos(61_000);
    assert_eq!(sender.rate(QP, now), Ok(Some(LINE)));
    assert_eq!(
        sender.handle_packet(B, &cnp.head, cnp.udp_payload_octets(), false, now),
        Ok(Disposition::Taken)
    );
    assert_eq!(sender.rate(QP, now), Ok(Some(BitPerSec(LINE.0 / 2))));
    // Advice alone never raises what DCQCN allows; the lower applies.
    assert_eq!(sender.set_bound(QP, Some(LINE)), Ok(()));
    assert_eq!(sender.rate(QP, now), Ok(Some(BitPerSec(LINE.0 / 2))));
    assert_eq!(sender.set_bound(QP, Some(BitPerSec(1_000_000_000))), Ok(()));
    assert_eq!(sender.rate(QP, now), Ok(Some(BitPerSec(1_000_000_000))));
}
