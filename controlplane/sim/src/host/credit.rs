//! RDCC on a host: a sender and a receiver that share the host's queue pairs.

use std::net::SocketAddr;

use controller::topology::{Mode, Topology};
use rdcc::Addressee;
use rdcc::receiver::{DataArrival, Receiver, ReceiverStats};
use rdcc::sender::{Binding, MessageSpec, SendPermit, Sender, SenderEvent};
use roce::Received;
use wire::rdcc::{Message, MessageType};
use wire::units::{Nanos, Octets};

use super::nic::Nic;
use crate::parameters;
use crate::run::RunError;
use controller::topology::Scheme;

/// The RDCC machines of a host.
#[derive(Debug)]
pub struct Credit {
    sender: Sender,
    receiver: Receiver,
    port: u16,
    came: Came,
}

/// The congestion reports that came to a host, whether or not its scheme heeds them.
#[derive(Clone, Debug, Default)]
pub struct Came {
    /// When.
    pub times: Vec<Nanos>,
    /// The largest Queue Depth, in octets.
    pub deepest_octets: u64,
}

impl Credit {
    /// Machines without associations.
    pub fn new(
        topology: &Topology,
        name: &str,
        nic: &Nic,
        scheme: Scheme,
        seed: [u8; 32],
    ) -> Result<Self, RunError> {
        let (uplink, ..) = nic.uplink();
        let sender = Sender::new(parameters::sender(topology, &uplink, scheme), seed);
        let mut receiver_seed = seed;
        receiver_seed[31] = 1;
        let receiver = Receiver::new(parameters::receiver(topology, &uplink, scheme), receiver_seed)
            .map_err(|error| RunError::Parameters { host: name.to_owned(), reason: error.to_string() })?;
        Ok(Self { sender, receiver, port: topology.domain.ports.rdcc, came: Came::default() })
    }

    /// RDCC's UDP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The receiver's counters.
    pub fn receiver_stats(&self) -> ReceiverStats {
        self.receiver.stats()
    }

    /// The congestion reports that came.
    pub fn reports_that_came(&self) -> &Came {
        &self.came
    }

    /// Makes the association with a receiver, before the queue pairs: sequence numbers are kept in it.
    pub fn associate(&mut self, peer: SocketAddr, now: Nanos) -> Result<(), String> {
        self.sender.associate(peer, now).map(drop).map_err(|error| error.to_string())
    }

    /// The sequence number that the queue pair's next message will have.
    pub fn set_next_msn(&mut self, peer: SocketAddr, qp: u32, msn: u32) {
        self.sender.set_next_msn(peer, qp, msn);
    }

    /// Hands a message over.
    pub fn submit(
        &mut self,
        peer: SocketAddr,
        qp: u32,
        octets: u64,
        mode: Mode,
        now: Nanos,
    ) -> Result<(), String> {
        let mut spec =
            MessageSpec::new(Octets(octets), Binding::RoceV2 { destination_qp: qp }, u64::from(qp));
        spec.allow_unscheduled = mode == Mode::Unscheduled;
        self.sender.submit(peer, spec, now).map(drop).map_err(|error| error.to_string())
    }

    /// Data that the endpoint accepted of a packet from `source_port`.
    pub fn take_data(&mut self, received: &Received, source_port: u16, now: Nanos) {
        let arrival = DataArrival {
            from: received.from,
            qp: received.qp,
            msn: received.msn,
            octets: received.octets,
            ce: received.ce,
            source_port,
        };
        self.receiver.handle_data(arrival, now);
    }

    /// A datagram to RDCC's port: some types are for the sender, some for the receiver, some for either.
    pub fn take_datagram(&mut self, from: SocketAddr, octets: &[u8], now: Nanos) {
        if let Ok((_, Message::CongestionReport(report))) = wire::rdcc::decode(octets) {
            self.came.times.push(now);
            self.came.deepest_octets = self.came.deepest_octets.max(report.queue_depth.0.into());
        }
        let addressee = rdcc::addressee(octets);
        if addressee != Addressee::Receiver {
            self.sender.handle_datagram(from, octets, now);
        }
        if addressee != Addressee::Sender {
            self.receiver.handle_datagram(from, octets, now);
        }
    }

    /// Calls the machines: hands over what has credit, with the queue pair that it goes on and its DSCP, tells of messages that
    /// are over, and queues what the machines say. True when a grant went out.
    pub fn work(
        &mut self,
        nic: &mut Nic,
        post: impl FnMut(u32, &SendPermit, u8),
        ended: impl FnMut(SocketAddr, u64),
        now: Nanos,
    ) -> bool {
        self.work_sender(nic, post, ended, now);
        self.work_receiver(nic, now)
    }

    fn work_sender(
        &mut self,
        nic: &mut Nic,
        mut post: impl FnMut(u32, &SendPermit, u8),
        mut ended: impl FnMut(SocketAddr, u64),
        now: Nanos,
    ) {
        let sender = &mut self.sender;
        if sender.poll_timeout().is_some_and(|at| at <= now) {
            sender.handle_timeout(now);
        }
        while let Some(permit) = sender.poll_send(now) {
            let Binding::RoceV2 { destination_qp } = permit.binding else { continue };
            let dscp = if permit.scheduled { nic.dscp.scheduled } else { nic.dscp.unscheduled };
            post(destination_qp, &permit, dscp);
        }
        while let Some(datagram) = sender.poll_transmit() {
            nic.queue_control(self.port, datagram.to, &datagram.octets);
        }
        while let Some(event) = sender.poll_event() {
            if let SenderEvent::MessageDone { peer, message, .. }
            | SenderEvent::MessageAborted { peer, message, .. } = event
            {
                ended(peer, message.0);
            }
        }
    }

    fn work_receiver(&mut self, nic: &mut Nic, now: Nanos) -> bool {
        let receiver = &mut self.receiver;
        if receiver.poll_timeout().is_some_and(|at| at <= now) {
            receiver.handle_timeout(now);
        }
        let mut granted = false;
        while let Some(datagram) = receiver.poll_transmit() {
            granted |= datagram.octets.get(1) == Some(&MessageType::CREDIT_GRANT.0);
            nic.queue_control(self.port, datagram.to, &datagram.octets);
        }
        while receiver.poll_event().is_some() {}
        granted
    }

    /// When the machines want to be called.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        [self.sender.poll_timeout(), self.receiver.poll_timeout()].into_iter().flatten().min()
    }
}
