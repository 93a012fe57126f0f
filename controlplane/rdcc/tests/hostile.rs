//! The invariant of RDCC, Receiver Credit Budget, over a channel that loses, repeats, delays and reorders datagrams, with
//! restarts of either side, changing parameters and messages of strangers.
//!
//! `RDCC_SOAK_STEPS` asks for more steps than the million that always run (`make soak`: 10^8), `RDCC_SOAK_SEED` for others.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peers;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use peers::{CRN, PORT, RECEIVER, STRANGER, UNIT, report, source, us};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestError, TestRng, TestRunner};
use rdcc::receiver::{DataArrival, Parameters, Receiver, ReceiverConfig, ReceiverEvent};
use rdcc::sender::{Binding, MessageSpec, Sender, SenderConfig, SenderEvent};
use wire::rdcc::{Direction, Epoch, MessageId};
use wire::units::{MbitPerSec, Micros, Nanos, Octets};

const D_MAX: u64 = 40_000;

/// What an adversary may do between two events.
#[derive(Clone, Debug)]
enum Act {
    Submit { sender: u8, units: u8, tail: u16, unscheduled: bool, class: u8, weight: u8 },
    Cancel { sender: u8, message: u8 },
    Report { sender: u8, to_receiver: bool, degree: u8, suggested: u32 },
    LinkPause { sender: u8 },
    Pause { sender: u8, message: u8, resume: bool },
    Parameters { unscheduled_limit: u16, jitter: u8 },
    Forged { from_crn: bool, message_type: u8, body: Vec<u8> },
    RestartSender { sender: u8 },
    Wait { micros: u16 },
    RestartReceiver,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => (0..3u8, 0..60u8, 1..4096u16, any::<bool>(), 0..8u8, any::<u8>()).prop_map(
            |(sender, units, tail, unscheduled, class, weight)| Act::Submit { sender, units, tail, unscheduled, class, weight }
        ),
        1 => (0..3u8, 1..9u8).prop_map(|(sender, message)| Act::Cancel { sender, message }),
        3 => (0..3u8, any::<bool>(), any::<u8>(), 0..200_000u32).prop_map(
            |(sender, to_receiver, degree, suggested)| Act::Report { sender, to_receiver, degree, suggested }
        ),
        1 => (0..3u8).prop_map(|sender| Act::LinkPause { sender }),
        1 => (0..3u8, 1..9u8, any::<bool>())
            .prop_map(|(sender, message, resume)| Act::Pause { sender, message, resume }),
        1 => (0..20_000u16, 0..16u8)
            .prop_map(|(unscheduled_limit, jitter)| Act::Parameters { unscheduled_limit, jitter }),
        1 => (any::<bool>(), 0..13u8, proptest::collection::vec(any::<u8>(), 0..70))
            .prop_map(|(from_crn, message_type, body)| Act::Forged { from_crn, message_type, body }),
        1 => (0..3u8).prop_map(|sender| Act::RestartSender { sender }),
        8 => (1..400u16).prop_map(|micros| Act::Wait { micros }),
        1 => Just(Act::RestartReceiver),
    ];
    proptest::collection::vec(act, 1..25)
}

struct World {
    now: Nanos,
    senders: Vec<Sender>,
    receiver: Receiver,
    config: ReceiverConfig,
    incarnation: u16,
    sender_config: SenderConfig,
    /// How often each sender restarted.
    lives: [u8; 3],
    /// (arrival, order) -> what.
    flying: BTreeMap<(Nanos, u64), Flying>,
    order: u64,
    /// Posts under way, which the budget must cover.
    in_flight: u64,
    random: u64,
    lossy: bool,
    last_data: BTreeMap<(usize, u32), Nanos>,
    /// Messages of each sender that haven't ended.
    open: [usize; 3],
    /// Those that the application gave up: no other may end without its octets.
    given_up: BTreeSet<(usize, MessageId)>,
    /// Whether a receiver may know messages that their senders don't: a `CANCEL` or a sender got lost.
    orphans: bool,
    steps: u64,
}

#[derive(Clone)]
enum Flying {
    ToReceiver(usize, Vec<u8>),
    ToSender(usize, Vec<u8>),
    Data(DataArrival),
}

impl World {
    fn new(random: u64) -> Self {
        let mut config = ReceiverConfig::new(MbitPerSec(100_000), us(8), Octets(UNIT));
        config.unscheduled_limit = Octets(16_000);
        // Half of the schedules are with pools.
        config.pool_grants = random & 2 != 0;
        config.d_max = Nanos(D_MAX);
        config.crn_addresses = vec![CRN.ip()];
        let mut sender = SenderConfig::new(MbitPerSec(100_000), PORT);
        sender.crn_addresses = vec![CRN.ip()];
        Self {
            now: Nanos(0),
            senders: (0..3u8).map(|index| Sender::new(sender.clone(), [index; 32])).collect(),
            receiver: Receiver::new(config.clone(), [100; 32]).unwrap(),
            config,
            incarnation: 1,
            sender_config: sender,
            lives: [0; 3],
            flying: BTreeMap::new(),
            order: 0,
            in_flight: 0,
            random: random | 1,
            lossy: true,
            last_data: BTreeMap::new(),
            open: [0; 3],
            given_up: BTreeSet::new(),
            orphans: false,
            steps: 0,
        }
    }

    /// xorshift: which datagram is lost doesn't need more.
    fn draw(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn fly(&mut self, what: &Flying) {
        let copies = if self.lossy { [0, 1, 1, 1, 1, 2][usize::try_from(self.draw(6)).unwrap()] } else { 1 };
        for _ in 0..copies {
            let at = Nanos(self.now.0 + 1 + self.draw(D_MAX));
            self.order += 1;
            self.flying.insert((at, self.order), what.clone());
        }
    }

    /// The transport is reliable and in order on each queue pair, and late by up to `D_max`.
    fn post(&mut self, sender: usize, arrival: DataArrival) {
        let last = self.last_data.get(&(sender, arrival.qp)).copied().unwrap_or_default();
        let at = Nanos(self.now.0 + 1 + self.draw(D_MAX)).max(last);
        self.last_data.insert((sender, arrival.qp), at);
        self.order += 1;
        self.flying.insert((at, self.order), Flying::Data(arrival));
        self.in_flight += u64::from(arrival.octets);
        // What really flies never exceeds G, whatever happened to the control messages.
        assert!(self.in_flight <= self.config.budget.0, "{} in flight", self.in_flight);
    }

    fn drain(&mut self) {
        self.steps += 1;
        assert!(self.receiver.audit());
        while let Some(datagram) = self.receiver.poll_transmit() {
            // What answers a stranger goes to a stranger.
            let Some(to) = (0..3u8).position(|index| source(index) == datagram.to) else { continue };
            self.fly(&Flying::ToSender(to, datagram.octets));
        }
        while let Some(event) = self.receiver.poll_event() {
            assert!(!matches!(event, ReceiverEvent::BeyondCredit { .. }), "{event:?}");
        }
        for index in 0..self.senders.len() {
            while let Some(permit) = self.senders[index].poll_send(self.now) {
                let Binding::RoceV2 { destination_qp: qp } = permit.binding else { panic!() };
                let from = source(u8::try_from(index).unwrap()).ip();
                self.post(
                    index,
                    DataArrival {
                        from,
                        qp,
                        msn: permit.msn,
                        octets: permit.octets,
                        ce: false,
                        source_port: 49_152,
                    },
                );
            }
            while let Some(datagram) = self.senders[index].poll_transmit() {
                self.fly(&Flying::ToReceiver(index, datagram.octets));
            }
            while let Some(event) = self.senders[index].poll_event() {
                use SenderEvent::{MessageAborted, MessageDone, WithoutRdcc};
                if matches!(event, MessageDone { .. } | MessageAborted { .. } | WithoutRdcc { .. }) {
                    self.open[index] -= 1;
                }
                // An honest sender's message ends DONE, or because its application wants that.
                if let MessageAborted { message, .. } = event {
                    assert!(self.given_up.contains(&(index, message)), "{event:?}");
                }
            }
            assert_eq!(self.senders[index].stats().invariant_violations, 0);
        }
    }

    /// Runs until `end`, or until every message ended.
    fn run(&mut self, end: Nanos, until_ended: bool) {
        loop {
            self.drain();
            if until_ended && self.open == [0; 3] {
                return;
            }
            let timers = self.senders.iter().map(Sender::poll_timeout).chain([self.receiver.poll_timeout()]);
            let timer = timers.flatten().min();
            let arrival = self.flying.keys().next().map(|&(at, _)| at);
            let Some(next) = [timer, arrival].into_iter().flatten().min().filter(|&at| at <= end) else {
                self.now = self.now.max(end);
                return;
            };
            self.now = self.now.max(next);
            while let Some((&key, _)) = self.flying.iter().next().filter(|(key, _)| key.0 <= self.now) {
                let what = self.flying.remove(&key).unwrap();
                self.deliver(what);
                self.drain();
            }
            for sender in &mut self.senders {
                sender.handle_timeout(self.now);
            }
            self.receiver.handle_timeout(self.now);
        }
    }

    fn deliver(&mut self, what: Flying) {
        match what {
            Flying::ToReceiver(from, octets) => {
                let from = source(u8::try_from(from).unwrap());
                self.receiver.handle_datagram(from, &octets, self.now);
            }
            Flying::ToSender(to, octets) => self.senders[to].handle_datagram(RECEIVER, &octets, self.now),
            Flying::Data(arrival) => {
                self.in_flight -= u64::from(arrival.octets);
                self.receiver.handle_data(arrival, self.now);
            }
        }
    }

    fn act(&mut self, act: &Act) {
        let now = self.now;
        match *act {
            Act::Submit { sender, units, tail, unscheduled, class, weight } => {
                let length = Octets(u64::from(units) * UNIT + u64::from(tail));
                // Another life of a sender has other queue pairs.
                let life = u32::from(self.lives[usize::from(sender)]);
                let destination_qp = 2 * life + if unscheduled { 2 } else { 1 };
                let mut spec = MessageSpec::new(length, Binding::RoceV2 { destination_qp }, 0);
                (spec.allow_unscheduled, spec.class, spec.weight) = (unscheduled, class, weight);
                let sender = usize::from(sender);
                self.open[sender] += usize::from(self.senders[sender].submit(RECEIVER, spec, now).is_ok());
            }
            Act::Cancel { sender, message } => {
                self.given_up.insert((usize::from(sender), MessageId(u64::from(message))));
                self.orphans = true;
                self.senders[usize::from(sender)].cancel(RECEIVER, MessageId(u64::from(message)), now);
            }
            Act::Report { sender, to_receiver, degree, suggested } => {
                let direction = if to_receiver { Direction::TO_RECEIVER } else { Direction::TO_SENDER };
                let octets = report(direction, source(sender), degree, suggested);
                let before = self.receiver.stats();
                self.receiver.handle_datagram(CRN, &octets, now);
                self.senders[usize::from(sender)].handle_datagram(CRN, &octets, now);
                // RDCC, On-Path Congestion Reporting: a report raises no rate and no credit.
                assert!(self.receiver.stats().credit_granted == before.credit_granted || !to_receiver);
            }
            Act::LinkPause { sender } => self.senders[usize::from(sender)].handle_link_pause(now),
            Act::Pause { sender, message, resume } => {
                let (sender, message) =
                    (&mut self.senders[usize::from(sender)], MessageId(u64::from(message)));
                if resume {
                    sender.resume(RECEIVER, message, now);
                } else {
                    sender.pause(RECEIVER, message, now);
                }
            }
            Act::Parameters { unscheduled_limit, jitter } => {
                let before = self.receiver.parameters();
                let parameters = Parameters {
                    unscheduled_limit: Octets(u64::from(unscheduled_limit)),
                    start_jitter: Micros(u32::from(jitter)),
                    ..before
                };
                self.receiver.set_parameters(parameters, now);
                self.config.unscheduled_limit = parameters.unscheduled_limit;
                self.config.start_jitter = parameters.start_jitter;
            }
            Act::Forged { from_crn, message_type, ref body } => {
                let from = if from_crn { CRN } else { STRANGER };
                let length = u8::try_from(4 + body.len()).unwrap();
                let octets = [&[0x10, message_type, 0, length], body.as_slice()].concat();
                self.receiver.handle_datagram(from, &octets, now);
                self.senders.iter_mut().for_each(|sender| sender.handle_datagram(from, &octets, now));
            }
            Act::RestartSender { sender } => {
                let index = usize::from(sender);
                self.lives[index] += 1;
                self.open[index] = 0;
                self.given_up.retain(|&(sender, _)| sender != index);
                self.orphans = true;
                self.senders[index] =
                    Sender::new(self.sender_config.clone(), [sender + 10 * self.lives[index]; 32]);
            }
            Act::Wait { micros } => self.run(Nanos(now.0 + u64::from(micros) * 1000), false),
            Act::RestartReceiver => {
                self.incarnation += 1;
                let previous = core::mem::replace(&mut self.config.epoch, Epoch(self.incarnation));
                let seed = [self.incarnation.to_be_bytes()[1]; 32];
                let config = self.config.clone();
                self.receiver = Receiver::restarted(config, Some(previous), seed, now).unwrap();
            }
        }
        self.drain();
    }
}

/// One schedule; gives the number of its steps.
fn schedule(acts: &[Act], random: u64) -> u64 {
    let mut world = World::new(random);
    for act in acts {
        world.act(act);
    }
    world.lossy = false;
    for sender in &mut world.senders {
        // What the application holds back would never end.
        (1..64).for_each(|message| sender.resume(RECEIVER, MessageId(message), world.now));
    }
    let end = Nanos(world.now.0 + 8_000_000_000);
    world.run(end, true);
    assert_eq!(world.open, [0; 3]);
    // No state is left behind once everything under way has arrived or expired.
    world.run(Nanos(world.now.0 + 2_000_000), false);
    let stats = world.receiver.stats();
    assert_eq!((stats.outstanding, stats.pacing_sum), (0, 0));
    assert!(stats.pending_messages == 0 || world.orphans, "{stats:?}");
    // What nobody talks of any more goes too, with the associations.
    world.run(world.now + world.config.idle_timeout + world.config.idle_timeout, false);
    let stats = world.receiver.stats();
    assert_eq!((stats.pending_messages, stats.associations), (0, 0));
    world.steps
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// What is granted and announced stays within G at every step, what flies does too, and every message ends once the
/// network heals.
//~ RDCC, Receiver Credit Budget: 784c0926
//~ RDCC, On-Path Congestion Reporting: 34d70df5
#[test]
fn the_budget_holds_and_every_message_ends() {
    let wanted = number("RDCC_SOAK_STEPS", 1_000_000);
    let first = number("RDCC_SOAK_SEED", 1);
    let steps = Cell::new(0);
    for round in first.. {
        let config = ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() };
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&round.to_be_bytes());
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
        let result = runner.run(&(acts(), any::<u64>()), |(acts, random)| {
            steps.set(steps.get() + schedule(&acts, random));
            Ok(())
        });
        match result {
            Ok(()) => {}
            Err(TestError::Fail(reason, (acts, random))) => {
                panic!("RDCC_SOAK_SEED={round}: {reason}\nrandom {random}\n{acts:#?}")
            }
            Err(error) => panic!("RDCC_SOAK_SEED={round}: {error}"),
        }
        if steps.get() >= wanted {
            println!("{} steps, seeds {first} to {round}", steps.get());
            return;
        }
    }
}
