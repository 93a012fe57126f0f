//! The stream: arbitration, packets, digests, idle timeouts.

use p4runtime::google::rpc::Status;
use p4runtime::p4::v1::{
    DigestListAckError, IdleTimeoutNotification, PacketOutError, StreamError, StreamMessageRequest,
    StreamMessageResponse, StreamOtherError, stream_error, stream_message_request as request,
    stream_message_response as response,
};
use p4runtime::status::Code;

use super::arbitration::Notice;
use super::fault::Fault;
use super::{Runtime, StreamId, no_pipeline, packets};
use crate::Packet;

/// Messages kept for streams that don't take them; packet-ins beyond are dropped, as a full queue would.
const OUTBOX_MESSAGES: usize = 16_384;

impl Runtime {
    /// A controller has opened a stream. It is nobody until it sends its first arbitration message.
    pub fn open_stream(&mut self) -> StreamId {
        self.last_stream += 1;
        StreamId(self.last_stream)
    }

    /// A controller's stream has ended; if it was primary, the others hear of it.
    pub fn close_stream(&mut self, stream: StreamId) {
        let notices = self.arbitration.close(stream);
        self.outbox.retain(|&(to, _)| to != stream);
        self.send_notices(notices);
    }

    /// Takes a message from a controller's stream. What is refused without ending the stream (a packet-out, an
    /// acknowledgment) is answered on the stream.
    ///
    /// # Errors
    /// The stream must be ended with this status, and [`Runtime::close_stream`] called: the arbitration was refused.
    pub fn receive(&mut self, stream: StreamId, message: &StreamMessageRequest) -> Result<(), Status> {
        use stream_error::Details;
        let update = message.update.as_ref().ok_or_else(|| Fault::invalid("an empty stream message"))?;
        let (done, details) = match update {
            request::Update::Arbitration(message) => {
                let notices = self.arbitration.update(stream, message)?;
                self.send_notices(notices);
                return Ok(());
            }
            request::Update::Packet(packet) => {
                let details = Details::PacketOut(PacketOutError { packet_out: Some(packet.clone()) });
                (self.check_stream(stream).and_then(|()| self.packet_out(packet)), details)
            }
            request::Update::DigestAck(ack) => {
                let details = Details::DigestListAck(DigestListAckError { digest_list_ack: Some(*ack) });
                let done = self.check_stream(stream).and_then(|()| self.seen_mut()?.acknowledge(ack));
                (done, details)
            }
            request::Update::Other(other) => {
                let details = Details::Other(StreamOtherError { other: Some(other.clone()) });
                (Err(Fault::unimplemented("messages of other architectures")), details)
            }
        };
        if let Err(fault) = done {
            let error = StreamError {
                canonical_code: fault.code as i32,
                message: fault.message,
                details: Some(details),
                ..StreamError::default()
            };
            self.send(stream, response::Update::Error(error));
        }
        Ok(())
    }

    fn check_stream(&self, stream: StreamId) -> Result<(), Fault> {
        if self.arbitration.is_primary(stream) {
            return Ok(());
        }
        Err(Fault::new(Code::PermissionDenied, "only a primary may send this"))
    }

    fn packet_out(&mut self, packet: &p4runtime::p4::v1::PacketOut) -> Result<(), Fault> {
        let port = self.config.cpu_port;
        let now_ns = self.now_ns;
        let device = self.active.as_mut().ok_or_else(no_pipeline)?;
        let octets = packets::packet_out(&device.pipeline, packet)?;
        let port = port.ok_or_else(|| Fault::new(Code::FailedPrecondition, "this switch has no CPU port"))?;
        device.switch.ingress(port, Packet::new(octets), now_ns);
        Ok(())
    }

    /// The time is now `now_ns` (the clock that the switch gets, which never runs backwards). Turns what the switch has
    /// for controllers into stream messages: packets that left through the CPU port, digests, idle entries.
    pub fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        let now_ns = self.now_ns;
        if let Some(saved) = &mut self.saved {
            saved.now_ns = now_ns;
        }
        let Some(device) = &mut self.active else { return };
        device.now_ns = now_ns;
        let mut updates = Vec::new();
        while let Some(packet) = device.switch.poll_packet_in(now_ns) {
            if let Some(packet) = packets::packet_in(&device.pipeline, &packet.to_octets()) {
                updates.push(response::Update::Packet(packet));
            }
        }
        updates.extend(device.poll_digests().into_iter().map(response::Update::Digest));
        let idle = device.switch.poll_idle(now_ns);
        let table_entry: Vec<_> =
            idle.into_iter().filter_map(|(table, handle)| device.idle_message(table, handle)).collect();
        if !table_entry.is_empty() {
            let timestamp = i64::try_from(now_ns).unwrap_or(i64::MAX);
            updates.push(response::Update::IdleTimeoutNotification(IdleTimeoutNotification {
                table_entry,
                timestamp,
            }));
        }
        if updates.is_empty() {
            return;
        }
        for stream in self.arbitration.primaries() {
            for update in &updates {
                self.send(stream, update.clone());
            }
        }
    }

    /// The next message for a controller, and for which.
    pub fn poll_response(&mut self) -> Option<(StreamId, StreamMessageResponse)> {
        self.outbox.pop_front()
    }

    /// Packet-ins that were dropped because nobody took messages from [`Runtime::poll_response`].
    pub fn dropped_packet_ins(&self) -> u64 {
        self.dropped
    }

    fn send(&mut self, stream: StreamId, update: response::Update) {
        if self.outbox.len() >= OUTBOX_MESSAGES && matches!(update, response::Update::Packet(_)) {
            self.dropped += 1;
            return;
        }
        self.outbox.push_back((stream, StreamMessageResponse { update: Some(update) }));
    }

    fn send_notices(&mut self, notices: Vec<Notice>) {
        for (stream, message) in notices {
            self.send(stream, response::Update::Arbitration(message));
        }
    }
}
