//! One queue pair: its halves, and the pace at which its data leaves.

use std::collections::VecDeque;

use wire::units::Nanos;

use crate::config::QpConfig;
use crate::pacing::Pacer;
use crate::packet::TxPacket;
use crate::requester::Requester;
use crate::responder::Responder;
use crate::work::{Completion, ReceiveCompletion};

#[derive(Debug)]
pub(super) struct Qp {
    pub config: QpConfig,
    pub requester: Requester,
    pub responder: Responder,
    pub pacer: Pacer,
    pub in_replying: bool,
    pub in_sending: bool,
    /// The time under which it stands in the endpoint's timers.
    pub timer: Option<Nanos>,
    /// The last data packet was of an answer: then it is the requests' turn.
    answered: bool,
}

impl Qp {
    pub fn new(config: QpConfig) -> Self {
        Self {
            config,
            requester: Requester::default(),
            responder: Responder::new(),
            pacer: Pacer::new(config.dcqcn),
            in_replying: false,
            in_sending: false,
            timer: None,
            answered: false,
        }
    }

    /// A queue pair fails as a whole, as with ibverbs: where one half did, the other ends what was posted to it, flushed.
    pub fn fail_wholly(
        &mut self,
        done: &mut VecDeque<Completion>,
        receives_done: &mut VecDeque<ReceiveCompletion>,
    ) {
        match (self.requester.failed(), self.responder.failed()) {
            (true, false) => self.responder.end(&self.config, receives_done),
            (false, true) => self.requester.end(&self.config, done),
            _ => {}
        }
    }

    /// From when on the next data packet may leave; `None` when there is none.
    pub fn data_at(&self) -> Option<Nanos> {
        let paced = self.pacer.free_at();
        let requests = self.requester.can_send(&self.config).then(|| self.requester.ready_at().max(paced));
        let answers = self.responder.has_answer().then_some(paced);
        requests.into_iter().chain(answers).min()
    }

    /// The next data packet, of requests and answers in turn.
    pub fn next_data(&mut self, now: Nanos) -> Option<TxPacket> {
        if now < self.pacer.free_at() {
            return None;
        }
        let requests_wait = now < self.requester.ready_at() || !self.requester.can_send(&self.config);
        self.answered = self.responder.has_answer() && (requests_wait || !self.answered);
        let packet = if self.answered {
            self.responder.take_answer(&self.config)?
        } else if requests_wait {
            return None;
        } else {
            self.requester.next_packet(&self.config, now)?
        };
        self.pacer.sent(&packet, now);
        Some(packet)
    }

    /// A CNP, an acknowledgement or a refusal.
    pub fn next_reply(&mut self) -> Option<TxPacket> {
        self.pacer.take_cnp(&self.config).or_else(|| self.responder.take_reply(&self.config))
    }

    pub fn has_reply(&self) -> bool {
        self.pacer.cnp_due() || self.responder.has_reply()
    }

    /// When something changes by itself: an acknowledgement is overdue, or data that waits may leave.
    pub fn next_timer(&self, now: Option<Nanos>) -> Option<Nanos> {
        let waiting = self.data_at().filter(|&at| now.is_none_or(|now| at > now) && !self.in_sending);
        self.requester.deadline().into_iter().chain(waiting).min()
    }
}
