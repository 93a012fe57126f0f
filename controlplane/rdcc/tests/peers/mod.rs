//! Hand-driven ends: one machine under test, the other side played by the test.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rdcc::receiver::{Hear, Receiver, ReceiverConfig};
use rdcc::sender::{Binding, MessageSpec, SendPermit, Sender, SenderConfig, SenderEvent};
use wire::rdcc::{
    AssocAccept, AssocRequest, AssociationId, BindingKind, Capabilities, CongestionReport, CreditGrant,
    CreditRequest, Direction, Epoch, ErrorMessage, Flags, FlowAddresses, Header, Message, MessageId, MsgDone,
    Reason, RoceBinding, SequenceNumber, ServiceHint, TrafficClass, Weight,
};
use wire::units::{MbitPerSec, Micros, Nanos, Octets, Octets32};

pub const PORT: u16 = 52_100;
pub const UNIT: u64 = 4096;
pub const CRN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 255, 0, 1)), PORT);
pub const STRANGER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 9, 9, 9)), PORT);
pub const RECEIVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9)), PORT);
pub const ASSOCIATION: AssociationId = AssociationId(0x5a17_c0de);
pub const EPOCH: Epoch = Epoch(3);

pub const fn us(micros: u64) -> Nanos {
    Nanos(micros * 1000)
}

pub fn source(index: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, index], PORT))
}

pub fn report(direction: Direction, source: SocketAddr, degree: u8, suggested: u32) -> Vec<u8> {
    report_with(direction, source, degree, suggested, |_| {})
}

/// A report with something changed.
pub fn report_with(
    direction: Direction,
    source: SocketAddr,
    degree: u8,
    suggested: u32,
    change: impl FnOnce(&mut CongestionReport),
) -> Vec<u8> {
    let IpAddr::V4(source) = source.ip() else { panic!("{source}") };
    let mut report = CongestionReport {
        reporter_id: 1,
        queue_depth: Octets32(200_000),
        queue_threshold: Octets32(100_000),
        congestion_degree: degree,
        direction,
        protocol: 17,
        source_port: 49_152,
        destination_port: 4791,
        suggested_rate: MbitPerSec(suggested),
        flow: FlowAddresses::V4 { source, destination: Ipv4Addr::new(10, 0, 0, 9) },
    };
    change(&mut report);
    Message::CongestionReport(report).to_octets(&Header {
        association_id: AssociationId(0),
        epoch: Epoch(0),
        flags: Flags::NONE,
        sequence_number: SequenceNumber(0),
    })
}

/// A sender under test and the receiver that the test plays.
pub struct SenderBench {
    pub sender: Sender,
    pub sequence: u32,
    pub accept: AssocAccept,
}

impl SenderBench {
    pub fn new() -> Self {
        let mut config = SenderConfig::new(MbitPerSec(100_000), PORT);
        config.crn_addresses = vec![CRN.ip()];
        Self::with(config)
    }

    pub fn with(config: SenderConfig) -> Self {
        let accept = AssocAccept {
            sender_nonce: 0,
            capabilities: Capabilities::STATUS,
            unscheduled_limit: Octets32(16_384),
            start_jitter: Micros(8),
            backlog_threshold: Octets32(1_000_000),
            grant_lifetime: Micros(2000),
            credit_unit: Octets32(4096),
        };
        Self { sender: Sender::new(config, [7; 32]), sequence: 0, accept }
    }

    /// With the association up at time 0.
    pub fn up() -> Self {
        let mut bench = Self::new();
        bench.associate(Nanos(0));
        bench
    }

    pub fn associate(&mut self, now: Nanos) {
        self.sender.associate(RECEIVER, now).unwrap();
        let Some((_, Message::AssocRequest(request))) = self.sent() else { panic!("no ASSOC_REQUEST") };
        self.accept.sender_nonce = request.sender_nonce;
        self.give_accept(Flags::NONE, now);
        assert!(matches!(self.sender.poll_event(), Some(SenderEvent::AssociationUp { .. })));
    }

    pub fn give_accept(&mut self, flags: Flags, now: Nanos) {
        self.give_flagged(flags, &Message::AssocAccept(self.accept), now);
    }

    pub fn give(&mut self, message: &Message, now: Nanos) {
        self.give_flagged(Flags::NONE, message, now);
    }

    pub fn give_flagged(&mut self, flags: Flags, message: &Message, now: Nanos) {
        self.sequence = self.sequence.wrapping_add(1);
        let sequence_number = SequenceNumber(self.sequence);
        self.give_with(
            Header { association_id: ASSOCIATION, epoch: EPOCH, flags, sequence_number },
            message,
            now,
        );
    }

    pub fn give_with(&mut self, header: Header, message: &Message, now: Nanos) {
        self.sender.handle_datagram(RECEIVER, &message.to_octets(&header), now);
    }

    pub fn grant(&mut self, id: MessageId, limit: u64, rate: u32, now: Nanos) {
        self.give(&grant(id, limit, rate), now);
    }

    pub fn done(&mut self, id: MessageId, length: u64, now: Nanos) {
        self.give(&Message::MsgDone(MsgDone { message_id: id, octets_received: Octets(length) }), now);
    }

    pub fn error(&mut self, id: MessageId, reason: Reason, now: Nanos) {
        self.give(&Message::Error(ErrorMessage { reason, message_id: id }), now);
    }

    /// The next datagram of the sender, decoded.
    pub fn sent(&mut self) -> Option<(Header, Message)> {
        let datagram = self.sender.poll_transmit()?;
        assert_eq!(datagram.to, RECEIVER);
        Some(wire::rdcc::decode(&datagram.octets).unwrap())
    }

    /// The next datagram, which must be a `CREDIT_REQUEST`.
    pub fn requested(&mut self) -> CreditRequest {
        match self.sent() {
            Some((_, Message::CreditRequest(request))) => request,
            other => panic!("no CREDIT_REQUEST: {other:?}"),
        }
    }

    pub fn submit(&mut self, length: u64, unscheduled: bool, now: Nanos) -> MessageId {
        let destination_qp = if unscheduled { 2 } else { 1 };
        let mut spec = MessageSpec::new(Octets(length), Binding::RoceV2 { destination_qp }, length);
        spec.allow_unscheduled = unscheduled;
        self.sender.submit(RECEIVER, spec, now).unwrap()
    }

    /// Runs timers and takes permits up to and including `until`; at most `limit` permits.
    pub fn permits(&mut self, from: Nanos, until: Nanos, limit: usize) -> Vec<(Nanos, SendPermit)> {
        let mut taken = Vec::new();
        let mut now = from;
        while now <= until && taken.len() < limit {
            self.sender.handle_timeout(now);
            while taken.len() < limit
                && let Some(permit) = self.sender.poll_send(now)
            {
                taken.push((now, permit));
            }
            let Some(next) = self.sender.poll_timeout() else { break };
            now = next.max(now);
        }
        taken
    }
}

pub fn grant(id: MessageId, limit: u64, rate: u32) -> Message {
    Message::CreditGrant(CreditGrant {
        message_id: id,
        grant_limit: Octets(limit),
        pacing_rate: MbitPerSec(rate),
        lifetime: Micros(0),
    })
}

/// A receiver under test and the senders that the test plays.
pub struct ReceiverBench {
    pub receiver: Receiver,
    pub ids: std::collections::BTreeMap<u8, AssociationId>,
    pub sequence: u32,
    /// What the played senders say they can do.
    pub capabilities: Capabilities,
}

impl ReceiverBench {
    /// 100 Gbit/s, 8 us, G = 200 kB, `G_u` = 50 kB, U = 6250, Lifetime and `D_max` 100 us.
    pub fn config() -> ReceiverConfig {
        let mut config = ReceiverConfig::new(MbitPerSec(100_000), us(8), Octets(UNIT));
        config.crn_addresses = vec![CRN.ip()];
        config.hear = Hear { reports: true, ecn: true, delay: false };
        config.report_interval = us(10);
        config.epoch = EPOCH;
        config
    }

    pub fn new(config: ReceiverConfig) -> Self {
        Self::of(Receiver::new(config, [9; 32]).unwrap())
    }

    pub fn of(receiver: Receiver) -> Self {
        let capabilities = Capabilities::STATUS;
        Self { receiver, ids: std::collections::BTreeMap::new(), sequence: 0, capabilities }
    }

    /// Brings an association up; gives its parameters.
    pub fn associate(&mut self, from: u8, now: Nanos) -> AssocAccept {
        self.request_association(from, u64::from(from), Flags::NONE, now);
        let Some((header, Message::AssocAccept(accept))) = self.sent(from) else { panic!("not accepted") };
        self.ids.insert(from, header.association_id);
        accept
    }

    pub fn request_association(&mut self, from: u8, nonce: u64, flags: Flags, now: Nanos) {
        let message = Message::AssocRequest(AssocRequest {
            sender_nonce: nonce,
            capabilities: self.capabilities,
            line_rate: MbitPerSec(100_000),
        });
        self.give_with(from, AssociationId(0), Epoch(0), flags, &message, now);
    }

    pub fn give(&mut self, from: u8, message: &Message, now: Nanos) {
        let id = self.ids[&from];
        self.give_with(from, id, EPOCH, Flags::NONE, message, now);
    }

    pub fn give_with(
        &mut self,
        from: u8,
        association_id: AssociationId,
        epoch: Epoch,
        flags: Flags,
        message: &Message,
        now: Nanos,
    ) {
        self.sequence += 1;
        let header = Header { association_id, epoch, flags, sequence_number: SequenceNumber(self.sequence) };
        self.receiver.handle_datagram(source(from), &message.to_octets(&header), now);
        assert!(self.receiver.audit());
    }

    /// The next datagram to a sender, decoded.
    pub fn sent(&mut self, to: u8) -> Option<(Header, Message)> {
        let datagram = self.receiver.poll_transmit()?;
        assert_eq!(datagram.to, source(to));
        Some(wire::rdcc::decode(&datagram.octets).unwrap())
    }

    /// All grants that wait to be sent, by sender.
    pub fn grants(&mut self) -> Vec<(u8, CreditGrant)> {
        let mut grants = Vec::new();
        while let Some(datagram) = self.receiver.poll_transmit() {
            let IpAddr::V4(address) = datagram.to.ip() else { continue };
            if let Ok((_, Message::CreditGrant(grant))) = wire::rdcc::decode(&datagram.octets) {
                grants.push((address.octets()[3], grant));
            }
        }
        grants
    }

    pub fn timeout(&mut self, now: Nanos) {
        self.receiver.handle_timeout(now);
        assert!(self.receiver.audit());
    }

    /// Runs all timers up to `until`.
    pub fn run(&mut self, until: Nanos) {
        while let Some(at) = self.receiver.poll_timeout().filter(|&at| at <= until) {
            self.timeout(at);
        }
    }

    pub fn data(&mut self, from: u8, qp: u32, msn: u32, octets: u32, now: Nanos) {
        let from = source(from).ip();
        self.receiver.handle_data(
            rdcc::receiver::DataArrival { from, qp, msn, octets, ce: false, source_port: 49_152 },
            now,
        );
        assert!(self.receiver.audit());
    }
}

/// A request as a sender would make it, on queue pair 1 from message sequence number 0.
pub fn request(id: u64, length: u64, unscheduled: u64) -> CreditRequest {
    let binding = RoceBinding {
        destination_qp: if unscheduled > 0 { 2 } else { 1 },
        first_msn: 0,
        rdma_messages: u16::try_from(length.div_ceil(UNIT)).unwrap(),
    };
    CreditRequest {
        message_id: MessageId(id),
        message_length: Octets(length),
        unscheduled_sent: Octets(unscheduled),
        class: TrafficClass(0),
        weight: Weight(1),
        service_hint: ServiceHint::NONE,
        binding_kind: BindingKind::ROCEV2,
        deadline: Micros(0),
        binding_value: binding.to_value(),
    }
}
