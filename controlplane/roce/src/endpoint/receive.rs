//! Packets that arrive.

use core::net::IpAddr;

use wire::roce::{Headers, ICRC_OCTETS, Opcode, Syndrome};
use wire::units::Nanos;

use super::{Endpoint, PacketError};
use crate::event::{Carried, Disposition, Received};
use crate::requester::Answered;
use crate::responder::{Arrival, Sink};

impl Endpoint {
    /// Takes a datagram that came to port 4791 from the host `from`. `head` is what of the UDP payload is at hand, at least
    /// the transport headers; `udp_payload_octets` counts all of it, padding and ICRC included; `ce` says whether the
    /// packet was marked. Whether the ICRC is right is for the caller to check, who has the octets. Gives what became of
    /// the packet; what it brought comes from [`Endpoint::poll_receive`] and the completions.
    ///
    /// # Errors
    /// [`PacketError`], without effect.
    pub fn handle_packet(
        &mut self,
        from: IpAddr,
        head: &[u8],
        udp_payload_octets: usize,
        ce: bool,
        now: Nanos,
    ) -> Result<Disposition, PacketError> {
        let (headers, header_octets) = Headers::decode(head)?;
        let bth = headers.bth;
        let unknown = PacketError::UnknownQp(bth.destination_qp);
        let index = *self.by_number.get(&bth.destination_qp).ok_or(unknown)?;
        let qp = self.qps.get_mut(index).ok_or(unknown)?;
        let expected = qp.config.remote;
        if from != expected {
            return Err(PacketError::WrongSource { qp: qp.config.local_qp, from, expected });
        }
        let needed = header_octets + usize::from(bth.pad_count) + ICRC_OCTETS;
        let too_short = PacketError::TooShort { octets: udp_payload_octets, needed };
        let payload_octets = udp_payload_octets.checked_sub(needed).ok_or(too_short)?;
        let payload_octets = u32::try_from(payload_octets).unwrap_or(u32::MAX);
        let arrival = Arrival { headers, payload_octets, ce };

        let opcode = bth.opcode;
        let disposition = if opcode.is_send() || opcode.is_write() || opcode == Opcode::READ_REQUEST {
            if ce {
                self.stats.marked_packets += 1;
                qp.pacer.marked(now);
            }
            let mut sink = Sink {
                received: &mut self.received,
                receive_completions: &mut self.receive_completions,
                stats: &mut self.stats,
                memory: &self.memory,
            };
            qp.responder.request(&qp.config, arrival, &mut sink)
        } else if opcode.is_read_response() {
            if ce {
                self.stats.marked_packets += 1;
                qp.pacer.marked(now);
            }
            self.read_response(index, &arrival, now)
        } else if opcode == Opcode::ACKNOWLEDGE {
            self.acknowledgement(index, &headers, now)
        } else if opcode == Opcode::CNP {
            self.stats.cnps_received += 1;
            qp.pacer.notified(now);
            Disposition::Taken
        } else {
            return Err(PacketError::Unsupported(opcode));
        };
        self.schedule(index, now);
        Ok(disposition)
    }

    fn acknowledgement(&mut self, index: usize, headers: &Headers, now: Nanos) -> Disposition {
        let (Some(qp), Some(aeth)) = (self.qps.get_mut(index), headers.aeth) else {
            return Disposition::Invalid;
        };
        let (config, psn, done) = (&qp.config, headers.bth.psn, &mut self.completions);
        match aeth.syndrome {
            Syndrome::Ack { .. } => {
                self.stats.acks_received += 1;
                qp.requester.acknowledged(config, psn, now, done);
            }
            Syndrome::Nak(code) => {
                self.stats.naks_received += 1;
                qp.requester.refused(config, psn, code, now, done);
            }
            Syndrome::RnrNak { timer } => {
                self.stats.naks_received += 1;
                qp.requester.not_ready(config, psn, timer, now, done);
            }
            Syndrome::Reserved(_) => return Disposition::Invalid,
        }
        Disposition::Taken
    }

    fn read_response(&mut self, index: usize, arrival: &Arrival, now: Nanos) -> Disposition {
        let Some(qp) = self.qps.get_mut(index) else { return Disposition::Ignored };
        let psn = arrival.headers.bth.psn;
        let octets = arrival.payload_octets;
        let answered = qp.requester.answer(&qp.config, psn, octets, now, &mut self.completions);
        match answered {
            Answered::Taken(answer) => {
                self.stats.received_packets += 1;
                self.received.push_back(Received {
                    qp: qp.config.local_qp,
                    from: qp.config.remote,
                    msn: answer.msn,
                    octets,
                    ce: arrival.ce,
                    first: answer.first,
                    last: answer.last,
                    psn,
                    offset: answer.offset,
                    carried: Carried::ReadResponse { wr_id: answer.wr_id },
                    rate_signal: arrival.signal(&qp.config),
                });
                Disposition::Taken
            }
            Answered::Duplicate => {
                self.stats.duplicate_packets += 1;
                Disposition::Duplicate
            }
            Answered::OutOfOrder => {
                self.stats.out_of_order_packets += 1;
                Disposition::OutOfOrder
            }
            Answered::Invalid => Disposition::Invalid,
            Answered::Ignored => Disposition::Ignored,
        }
    }
}
