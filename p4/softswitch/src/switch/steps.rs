//! The steps of a packet's way one by one: [`Switch::ingress`] ends with the queues and [`Switch::dequeue`] goes from them
//! to the wire. In `simple_switch` threads can stand between ingress and the queue, and between the queue and egress;
//! here a caller can.

use std::collections::VecDeque;

use super::{Departure, Switch, instance, set, set_if};
use crate::exec;
use crate::flight::{CLONE_REQUESTED, Flight};
use crate::num::size32;

/// A packet that has left its queue and hasn't been through egress yet. Dropped, the packet is gone.
#[derive(Debug)]
pub struct Taken {
    flight: Box<Flight>,
    port: u16,
    queue: u8,
}

impl Taken {
    /// The port that it is to leave through.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The queue that it waited in.
    pub fn queue(&self) -> u8 {
        self.queue
    }
}

impl Switch {
    /// From now on packets that are sent to a port wait for [`Switch::release`] before they are queued.
    pub fn hold(&mut self) {
        self.held.get_or_insert_with(VecDeque::new);
    }

    /// Packets that wait for [`Switch::release`].
    pub fn held(&self) -> usize {
        self.held.as_ref().map_or(0, VecDeque::len)
    }

    /// Queues the packet that has waited longest, or drops it where there is no room; false: none waits.
    pub fn release(&mut self, now_ns: u64) -> bool {
        let Some((port, flight)) = self.held.as_mut().and_then(VecDeque::pop_front) else { return false };
        self.push(port, flight, now_ns);
        true
    }

    /// The first half of [`Switch::dequeue`]: a packet leaves its queue, with the queue's figures of this moment.
    pub fn take(&mut self, port: u16, now_ns: u64) -> Option<Taken> {
        self.now_ns = self.now_ns.max(now_ns);
        let (mut f, queue) = self.tm.pop(port, now_ns)?;
        let now_us = now_ns / 1000;
        set_if(&mut f.frame, self.standard().egress_timestamp, now_us);
        if let (Some(enq), Some(delta)) = (self.standard().enq_timestamp, self.standard().deq_timedelta) {
            let enqueued = f.frame[enq.slot as usize];
            set(&mut f.frame, delta, now_us.wrapping_sub(enqueued));
        }
        set_if(&mut f.frame, self.standard().deq_qdepth, self.tm.depth(port, queue));
        set_if(&mut f.frame, self.standard().qid, u64::from(queue));
        Some(Taken { flight: f, port, queue })
    }

    /// The second half of [`Switch::dequeue`]: egress and what follows it.
    pub fn egress(&mut self, taken: Taken, now_ns: u64) -> Departure {
        let Taken { flight: mut f, port, queue } = taken;
        let mut departure =
            Departure { packet: None, queue, enqueued_ns: f.enqueued_ns, recirculated: false };
        set(&mut f.frame, self.standard().egress_port, u64::from(port));
        // One more than drop: in nine bits that is 0, and the program sees 0.
        set(&mut f.frame, self.standard().egress_spec, u64::from(self.config.drop_port) + 1);
        let length = u64::from(f.length);
        set(&mut f.frame, self.standard().packet_length, length);

        let code = self.program.control.egress;
        exec::apply(&self.program, &mut self.state, &mut f, code, now_ns);
        if f.dead {
            self.put_flight(f);
            return departure;
        }
        if f.clone_session & CLONE_REQUESTED != 0 {
            self.clone_egress(&f, now_ns);
            f.clone_session = 0;
        }
        if f.frame[self.standard().egress_spec.slot as usize] == u64::from(self.config.drop_port) {
            self.state.stats.egress_drops += 1;
            self.put_flight(f);
            return departure;
        }
        exec::deparse(&self.program, &mut self.state, &mut f, now_ns);
        if f.dead {
            self.put_flight(f);
            return departure;
        }
        if f.recirculate != 0 {
            let list = f.recirculate;
            self.restart(&mut f, list, instance::RECIRCULATED);
            let octets = f.packet.len();
            f.ingress_octets = octets;
            f.length = size32(octets);
            set(&mut f.frame, self.standard().packet_length, octets as u64);
            departure.recirculated = true;
            if self.wait(f) {
                self.state.stats.recirculated += 1;
                self.run_waiting(now_ns);
            }
            return departure;
        }
        let mut packet = std::mem::take(&mut f.packet);
        packet.truncate(f.truncate);
        self.tm.departed(port, packet.len(), now_ns);
        self.state.stats.transmitted += 1;
        self.put_flight(f);
        departure.packet = Some(packet);
        departure
    }
}
