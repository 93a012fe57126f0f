//! The machine: sender, receiver and data transport of one host.

mod events;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use admission::reports::ControlPort;
use rdcc::receiver::{ConfigError, Receiver};
use rdcc::sender::{MessageSpec, Sender};
use rdcc::{Addressee, Datagram};
use wire::rdcc::{Epoch, MessageId, MessageType};
use wire::units::{Nanos, Octets};

use super::admission::{Admission, AdmissionError};
use super::event::{Event, Observer};
use super::settings::{Dscp, Role, Settings};
use super::summary::{Counters, Messages, Summary, micros};
use super::transport::{Arrival, Transport, Way};
use super::workload::{MessageShape, Progress, Workload};
use super::{CONTROL, DATA, REPORTS};
use crate::driver::{Machine, Traffic};
use crate::socket::{Arrived, BATCH, Outbox, tos};

/// Control datagrams that may wait for the sockets. With more, nothing is read and no timer of RDCC is served: both make
/// new ones, and what nobody can send yet had better not be made.
const CONTROL_WAITS: usize = 4096;

/// A host of the domain.
pub struct Host {
    rdcc_port: u16,
    dscp: Dscp,
    sender: Option<Sender>,
    receiver: Option<Receiver>,
    transport: Transport,
    /// In front of the transport's posts.
    admission: Option<Admission>,
    progress: Progress,
    receives: bool,
    stopped: bool,
    /// Bindings of messages under way, to tell the transport which one was given up.
    bindings: BTreeMap<(SocketAddr, u64), rdcc::sender::Binding>,
    control: VecDeque<Datagram>,
    observe: Observer,
}

/// A host that can't be.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A receiver's parameters can't work.
    #[error(transparent)]
    Receiver(#[from] ConfigError),
    /// Those of the admission can't.
    #[error(transparent)]
    Admission(#[from] AdmissionError),
}

impl Host {
    /// A host that has not sent anything yet. `previous` is the Epoch of the run before, if one is known to have been:
    /// its grants may still be used, so this run's receiver begins only when they can't any more.
    ///
    /// # Errors
    /// `HostError` for parameters that can't work.
    #[expect(clippy::too_many_arguments, reason = "each is another part of the world")]
    pub fn new(
        settings: Settings,
        role: Role,
        workload: Workload,
        seeds: [[u8; 32]; 2],
        source_ports: [u16; 2],
        previous: Option<Epoch>,
        mut observe: Observer,
        now: Nanos,
    ) -> Result<Self, HostError> {
        let transport = Transport::new(&settings, source_ports);
        let data_port = settings.carrier.port();
        let Settings { address, rdcc_port, dscp, sender, receiver, admission, .. } = settings;
        let admission = admission
            .filter(|_| role.sends())
            .map(|settings| Admission::new(settings, address, receiver.base_rtt, now))
            .transpose()?;
        let receive = |config| match previous {
            Some(_) => Receiver::restarted(config, previous, seeds[1], now),
            None => Receiver::new(config, seeds[1]),
        };
        let receiver = role.receives().then(|| receive(receiver)).transpose()?;
        let address = address.into();
        observe(now, &Event::Started { address, rdcc_port, data_port, source_ports });
        let workload = if role.sends() { workload } else { Workload::default() };
        let mut host = Self {
            rdcc_port,
            dscp,
            sender: role.sends().then(|| Sender::new(sender, seeds[0])),
            receiver,
            transport,
            admission,
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
            self.connect(to, now);
            let peer = self.peer(to);
            if let Some(sender) = &mut self.sender {
                // The port is the domain's, and nobody was asked before: nothing is refused.
                let asked = sender.associate(peer, now);
                debug_assert!(asked.is_ok(), "{asked:?}");
            }
        }
        self.settle(now);
    }

    /// The transport to a receiver begins anew, and with it the numbers that posts get.
    fn connect(&mut self, to: Ipv4Addr, now: Nanos) {
        self.transport.connect(to, Way::Out);
        let peer = self.peer(to);
        self.number(to, peer);
        if let Some(admission) = &mut self.admission
            && let Err(error) = admission.connected(to, now)
        {
            self.tell(now, &Event::MessageAborted { peer, message: 0, reason: error.to_string() });
        }
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

    /// No more than so many batches may start, until it is called again.
    pub fn release(&mut self, batches: u32) {
        self.progress.release(batches);
    }

    /// What it did so far; the sockets' counters are the driver's.
    pub fn summary(&self, now: Nanos) -> Summary {
        Summary {
            ran: micros(now),
            messages: self.sender.is_some().then(|| Messages::of(&self.progress)),
            sender: self.sender.as_ref().map(|sender| sender.stats().into()),
            receiver: self.receiver.as_ref().map(|receiver| receiver.stats().into()),
            admission: self.admission.as_ref().map(Admission::view),
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
        self.settle_admission(now);
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

    /// What the transport tells that concerns admission, and what that has to tell.
    fn settle_admission(&mut self, now: Nanos) {
        while let Some(completed) = self.transport.poll_completion() {
            if let Some(admission) = &mut self.admission {
                admission.completed(&completed, now);
            }
        }
        while let Some(peer) = self.transport.poll_notified() {
            if let Some(admission) = &mut self.admission {
                admission.notified(peer, now);
            }
        }
        while let Some(event) = self.admission.as_mut().and_then(Admission::poll_event) {
            self.tell(now, &event);
        }
    }

    /// Posts what the sender's credit allows, and admission, if there is one.
    fn post(&mut self, now: Nanos) {
        let Self { sender, admission, transport, dscp, .. } = self;
        while let Some(permit) = sender.as_mut().and_then(|sender| sender.poll_send(now)) {
            let class = usize::from(permit.class.min(7));
            let dscp = if permit.scheduled { dscp.scheduled[class] } else { dscp.unscheduled };
            match admission {
                Some(admission) => admission.submit(permit, dscp),
                None => transport.post(&permit, dscp, now),
            }
        }
        if let Some(admission) = admission {
            admission.admit(now, |permit, dscp| transport.post(permit, dscp, now));
        }
    }

    /// Puts the next control datagram into the outbox, if one waits.
    fn post_control(&mut self, outbox: &mut Outbox) -> bool {
        let Some(datagram) = self.control.pop_front() else { return false };
        if let IpAddr::V4(address) = datagram.to.ip() {
            let to = SocketAddrV4::new(address, datagram.to.port());
            outbox.push(CONTROL, to, tos(self.dscp.control), |out| out.extend_from_slice(&datagram.octets));
        }
        true
    }

    /// A message of ours is over.
    fn message_over(&mut self, peer: SocketAddr, message: MessageId, done: bool) {
        if let Some(admission) = &mut self.admission {
            admission.message_ended(peer.ip(), message, done);
        }
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
        if let Some(admission) = &mut self.admission {
            admission.take_datagram(from.ip(), ControlPort::Rdcc, octets, now);
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

impl Machine for Host {
    fn takes_datagrams(&self) -> bool {
        self.control.len() < CONTROL_WAITS
    }

    fn handle_datagram(&mut self, arrived: &Arrived<'_>, now: Nanos) {
        match arrived.socket {
            CONTROL => self.handle_control(arrived.from, arrived.octets, now),
            DATA => self.transport.handle_datagram(arrived, now),
            number if number >= REPORTS => {
                if let Some(admission) = &mut self.admission
                    && let Some(port) = admission.port(number - REPORTS)
                {
                    admission.take_datagram(arrived.from.ip(), port, arrived.octets, now);
                }
            }
            // Nobody sends to the ports that data leaves by.
            _ => {}
        }
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: Nanos) {
        self.start_batch(now);
        if self.takes_datagrams() {
            if let Some(sender) = &mut self.sender {
                sender.handle_timeout(now);
            }
            if let Some(receiver) = &mut self.receiver {
                receiver.handle_timeout(now);
            }
        }
        self.transport.handle_timeout(now);
        self.settle(now);
    }

    fn poll_timeout(&mut self) -> Option<Nanos> {
        let (sender, receiver) = (self.sender.as_ref(), self.receiver.as_ref());
        let served = self.takes_datagrams();
        let timers = [
            self.progress.poll_timeout(),
            sender.filter(|_| served).and_then(Sender::poll_timeout),
            receiver.filter(|_| served).and_then(Receiver::poll_timeout),
            self.transport.poll_timeout(),
            self.admission.as_ref().and_then(Admission::poll_timeout),
        ];
        timers.into_iter().flatten().min()
    }

    //= RDCC, Operational Considerations: ed7a99d6
    fn poll_transmit(&mut self, outbox: &mut Outbox, now: Nanos) {
        if let Some(admission) = &mut self.admission {
            admission.handle_turn(now);
        }
        self.post(now);
        self.settle(now);
        // First, but not alone: data that no control lets through would make more of it.
        while outbox.waiting() < BATCH / 2 && self.post_control(outbox) {}
        self.transport.poll_transmit(outbox, now);
        while !outbox.is_full() && self.post_control(outbox) {}
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
