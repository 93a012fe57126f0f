//! The machine: sender, receiver and data transport of one host.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use rdcc::receiver::{ConfigError, Receiver, ReceiverEvent};
use rdcc::sender::{MessageSpec, Sender, SenderEvent};
use rdcc::{Addressee, Datagram};
use wire::rdcc::{CongestionReport, Flags, Message, MessageId, MessageType};
use wire::units::{Nanos, Octets};

use super::event::{Event, Observer};
use super::settings::{Dscp, Role, Settings};
use super::summary::{Counters, Messages, Summary, micros};
use super::transport::{Arrival, Transport};
use super::workload::{MessageShape, Progress, Workload};
use super::{CONTROL, DATA};
use crate::driver::{Machine, Traffic};
use crate::socket::{Arrived, Outbox, tos};

/// A host of the domain.
pub struct Host {
    rdcc_port: u16,
    dscp: Dscp,
    sender: Option<Sender>,
    receiver: Option<Receiver>,
    transport: Transport,
    progress: Progress,
    receives: bool,
    stopped: bool,
    /// Bindings of messages under way, to tell the transport which one was given up.
    bindings: BTreeMap<(SocketAddr, u64), rdcc::sender::Binding>,
    control: VecDeque<Datagram>,
    observe: Observer,
}

impl Host {
    /// A host that has not sent anything yet.
    ///
    /// # Errors
    /// [`ConfigError`] for a receiver's parameters that can't work.
    pub fn new(
        settings: Settings,
        role: Role,
        workload: Workload,
        seeds: [[u8; 32]; 2],
        source_ports: [u16; 2],
        observe: Observer,
        now: Nanos,
    ) -> Result<Self, ConfigError> {
        let transport = Transport::new(&settings, source_ports);
        let Settings { rdcc_port, dscp, sender, receiver, .. } = settings;
        let receiver = role.receives().then(|| Receiver::new(receiver, seeds[1])).transpose()?;
        let workload = if role.sends() { workload } else { Workload::default() };
        let mut host = Self {
            rdcc_port,
            dscp,
            sender: role.sends().then(|| Sender::new(sender, seeds[0])),
            receiver,
            transport,
            progress: Progress::new(workload),
            receives: role.receives(),
            stopped: false,
            bindings: BTreeMap::new(),
            control: VecDeque::new(),
            observe,
        };
        host.associate(now);
        Ok(host)
    }

    fn associate(&mut self, now: Nanos) {
        for to in self.progress.receivers().to_vec() {
            self.transport.connect(to);
            let peer = self.peer(to);
            self.number(to, peer);
            if let Some(sender) = &mut self.sender {
                // The port is the domain's, and nobody was asked before: nothing is refused.
                let asked = sender.associate(peer, now);
                debug_assert!(asked.is_ok(), "{asked:?}");
            }
        }
        self.settle(now);
    }

    fn peer(&self, address: Ipv4Addr) -> SocketAddr {
        SocketAddr::new(address.into(), self.rdcc_port)
    }

    /// Tells the sender the numbers that its posts get.
    fn number(&mut self, to: Ipv4Addr, peer: SocketAddr) {
        let Some(sender) = &mut self.sender else { return };
        for (qp, msn) in self.transport.numbering(to) {
            sender.set_next_msn(peer, qp, msn);
        }
    }

    /// What it did so far; the sockets' counters are the driver's.
    pub fn summary(&self, now: Nanos) -> Summary {
        Summary {
            ran: micros(now),
            messages: self.sender.is_some().then(|| Messages::of(&self.progress)),
            sender: self.sender.as_ref().map(|sender| sender.stats().into()),
            receiver: self.receiver.as_ref().map(|receiver| receiver.stats().into()),
            transport: self.transport.stats().into(),
            datagrams: Counters::from(Traffic::default()),
        }
    }

    fn tell(&mut self, now: Nanos, event: &Event) {
        (self.observe)(now, event);
    }

    /// Starts a batch whose time has come.
    fn start_batch(&mut self, now: Nanos) {
        for (to, shape) in self.progress.start(now) {
            self.submit(to, &shape, now);
        }
    }

    fn submit(&mut self, to: Ipv4Addr, shape: &MessageShape, now: Nanos) {
        let peer = self.peer(to);
        let Some(sender) = &mut self.sender else { return };
        let binding = self.transport.binding(to, shape.unscheduled);
        let spec = MessageSpec {
            class: shape.class,
            weight: shape.weight,
            hint: shape.hint,
            deadline: shape.deadline,
            allow_unscheduled: shape.unscheduled,
            ..MessageSpec::new(Octets(shape.octets), binding, 0)
        };
        match sender.submit(peer, spec, now) {
            Ok(message) => {
                self.bindings.insert((peer, message.0), binding);
                self.progress.submitted(peer, message, shape.octets, now);
            }
            Err(error) => {
                let event = Event::MessageAborted { peer, message: 0, reason: error.to_string() };
                self.tell(now, &event);
                let batch = self.progress.refused(now);
                self.tell_batch(batch, now);
            }
        }
    }

    /// Moves everything on that doesn't wait for the outbox: events, arrivals, failures, permits.
    fn settle(&mut self, now: Nanos) {
        while let Some(arrival) = self.transport.poll_arrival() {
            if let Some(receiver) = &mut self.receiver {
                match arrival {
                    Arrival::RoceV2(arrival) => receiver.handle_data(arrival, now),
                    Arrival::Opaque(arrival) => receiver.handle_opaque_data(arrival, now),
                }
            }
        }
        while let Some((to, message)) = self.transport.poll_failure() {
            let peer = self.peer(to);
            if let Some(sender) = &mut self.sender {
                sender.cancel(peer, message, now);
            }
        }
        while let Some(event) = self.receiver.as_mut().and_then(Receiver::poll_event) {
            self.receiver_event(event, now);
        }
        while let Some(event) = self.sender.as_mut().and_then(Sender::poll_event) {
            self.sender_event(event, now);
        }
        while let Some(datagram) = self.receiver.as_mut().and_then(Receiver::poll_transmit) {
            self.observe_control(datagram.to, &datagram.octets, None, now);
            self.control.push_back(datagram);
        }
        while let Some(datagram) = self.sender.as_mut().and_then(Sender::poll_transmit) {
            self.observe_control(datagram.to, &datagram.octets, None, now);
            self.control.push_back(datagram);
        }
    }

    fn receiver_event(&mut self, event: ReceiverEvent, now: Nanos) {
        let told = match event {
            ReceiverEvent::AssociationUp { from } => {
                // A sender that begins has a transport that begins.
                if let IpAddr::V4(address) = from.ip() {
                    self.transport.connect(address);
                }
                Event::AssociationUp { peer: from, unscheduled_limit: None, credit_unit: None }
            }
            ReceiverEvent::MessageCompleted { from, message, octets, .. } => {
                Event::MessageDone { peer: from, message: message.0, octets: Some(octets.0), took: None }
            }
            ReceiverEvent::MessageCancelled { from, message } => {
                let reason = "cancelled by the sender".to_owned();
                Event::MessageAborted { peer: from, message: message.0, reason }
            }
            ReceiverEvent::BeyondCredit { from, message, octets } => {
                Event::BeyondCredit { peer: from, message: message.0, octets }
            }
        };
        self.tell(now, &told);
    }

    fn sender_event(&mut self, event: SenderEvent, now: Nanos) {
        let told = match event {
            SenderEvent::AssociationUp { peer, unscheduled_limit, credit_unit } => Event::AssociationUp {
                peer,
                unscheduled_limit: Some(unscheduled_limit.0),
                credit_unit: Some(credit_unit.0),
            },
            SenderEvent::AssociationLost { peer } => {
                if let IpAddr::V4(address) = peer.ip() {
                    self.transport.connect(address);
                    self.number(address, peer);
                }
                Event::AssociationLost { peer }
            }
            SenderEvent::AssociationRefused { peer } => Event::AssociationFailed { peer, refused: true },
            SenderEvent::AssociationUnanswered { peer } => Event::AssociationFailed { peer, refused: false },
            SenderEvent::WithoutRdcc { peer, message, .. } => {
                self.progress.without_rdcc += 1;
                return self.message_aborted(peer, message, "the receiver doesn't answer", now);
            }
            SenderEvent::MessageAborted { peer, message, reason, .. } => {
                return self.message_aborted(peer, message, &reason.to_string(), now);
            }
            SenderEvent::MessageRestarted { .. } => return,
            SenderEvent::MessageDone { peer, message, at, .. } => {
                self.bindings.remove(&(peer, message.0));
                let Some(ended) = self.progress.ended(peer, message, true, at) else { return };
                let took = Some(micros(ended.took));
                let event = Event::MessageDone { peer, message: message.0, octets: Some(ended.octets), took };
                self.tell(now, &event);
                return self.tell_batch(ended.batch, now);
            }
        };
        self.tell(now, &told);
    }

    fn message_aborted(&mut self, peer: SocketAddr, message: MessageId, reason: &str, now: Nanos) {
        if let (Some(binding), IpAddr::V4(address)) = (self.bindings.remove(&(peer, message.0)), peer.ip()) {
            self.transport.abandon(address, binding);
        }
        self.progress.aborted += 1;
        self.tell(now, &Event::MessageAborted { peer, message: message.0, reason: reason.to_owned() });
        let ended = self.progress.ended(peer, message, false, now);
        self.tell_batch(ended.and_then(|ended| ended.batch), now);
    }

    fn tell_batch(&mut self, batch: Option<(u32, Nanos)>, now: Nanos) {
        if let Some((batch, took)) = batch {
            self.tell(now, &Event::BatchDone { batch, took: micros(took) });
        }
    }

    /// Tells of grants, statuses and reports; `heard` is for reports that came.
    fn observe_control(&mut self, peer: SocketAddr, octets: &[u8], heard: Option<bool>, now: Nanos) {
        let interesting =
            [MessageType::CREDIT_GRANT, MessageType::SENDER_STATUS, MessageType::CONGESTION_REPORT];
        if !octets.get(1).is_some_and(|&code| interesting.contains(&MessageType(code))) {
            return;
        }
        let Ok((header, message)) = wire::rdcc::decode(octets) else { return };
        let event = match message {
            Message::CreditGrant(grant) => Event::Grant {
                peer,
                message: grant.message_id.0,
                limit: grant.grant_limit.0,
                rate: grant.pacing_rate.0,
                lifetime: grant.lifetime.0,
                pool: header.flags.contains(Flags::POOL),
            },
            Message::SenderStatus(status) => Event::SenderStatus {
                peer,
                unused: status.unused_credit.0,
                level: status.congestion_level,
                suggested_rate: status.suggested_rate.0,
            },
            Message::CongestionReport(report) => report_event(peer, &report, heard.unwrap_or_default()),
            _ => return,
        };
        self.tell(now, &event);
    }

    fn handle_control(&mut self, from: SocketAddr, octets: &[u8], now: Nanos) {
        let addressee = rdcc::addressee(octets);
        let before = self.reports_heard();
        let is_report = octets.get(1) == Some(&MessageType::CONGESTION_REPORT.0);
        if !is_report {
            self.observe_control(from, octets, None, now);
        }
        if addressee != Addressee::Receiver
            && let Some(sender) = &mut self.sender
        {
            sender.handle_datagram(from, octets, now);
        }
        if addressee != Addressee::Sender
            && let Some(receiver) = &mut self.receiver
        {
            receiver.handle_datagram(from, octets, now);
        }
        if is_report {
            self.observe_control(from, octets, Some(self.reports_heard() > before), now);
        }
    }

    fn reports_heard(&self) -> u64 {
        self.sender.as_ref().map_or(0, |sender| sender.stats().reports_heard)
            + self.receiver.as_ref().map_or(0, |receiver| receiver.stats().reports_heard)
    }
}

fn report_event(from: SocketAddr, report: &CongestionReport, heard: bool) -> Event {
    Event::Report {
        from,
        reporter: report.reporter_id,
        source: SocketAddr::new(report.flow.source(), report.source_port),
        destination: SocketAddr::new(report.flow.destination(), report.destination_port),
        depth: report.queue_depth.0,
        threshold: report.queue_threshold.0,
        degree: report.congestion_degree,
        suggested_rate: report.suggested_rate.0,
        heard,
    }
}

impl Machine for Host {
    fn handle_datagram(&mut self, arrived: &Arrived<'_>, now: Nanos) {
        match arrived.socket {
            CONTROL => self.handle_control(arrived.from.into(), arrived.octets, now),
            DATA => self.transport.handle_datagram(arrived, now),
            // Nobody sends to the ports that data leaves by.
            _ => {}
        }
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: Nanos) {
        self.start_batch(now);
        if let Some(sender) = &mut self.sender {
            sender.handle_timeout(now);
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.handle_timeout(now);
        }
        self.transport.handle_timeout(now);
        self.settle(now);
    }

    fn poll_timeout(&mut self) -> Option<Nanos> {
        let timers = [
            self.progress.poll_timeout(),
            self.sender.as_ref().and_then(Sender::poll_timeout),
            self.receiver.as_ref().and_then(Receiver::poll_timeout),
            self.transport.poll_timeout(),
        ];
        timers.into_iter().flatten().min()
    }

    //= RDCC, Operational Considerations: ed7a99d6
    fn poll_transmit(&mut self, outbox: &mut Outbox, now: Nanos) {
        while let Some(permit) = self.sender.as_mut().and_then(|sender| sender.poll_send(now)) {
            let class = usize::from(permit.class.min(7));
            let dscp = if permit.scheduled { self.dscp.scheduled[class] } else { self.dscp.unscheduled };
            self.transport.post(&permit, dscp, now);
        }
        self.settle(now);
        while !outbox.is_full() {
            let Some(datagram) = self.control.pop_front() else { break };
            let IpAddr::V4(address) = datagram.to.ip() else { continue };
            let to = SocketAddrV4::new(address, datagram.to.port());
            outbox.push(CONTROL, to, tos(self.dscp.control), |out| out.extend_from_slice(&datagram.octets));
        }
        self.transport.poll_transmit(outbox, now);
        self.settle(now);
    }

    fn stop(&mut self, now: Nanos) {
        self.stopped = true;
        self.tell(now, &Event::Stopping);
        self.progress.stop();
        for (peer, message) in self.progress.open() {
            if let Some(sender) = &mut self.sender {
                sender.cancel(peer, message, now);
            }
        }
        self.settle(now);
    }

    fn is_finished(&self) -> bool {
        let working = self.receives && !self.stopped;
        !working && self.progress.is_finished() && self.control.is_empty()
    }
}
