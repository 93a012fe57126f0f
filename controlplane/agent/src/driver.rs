//! The loop around a machine: what came, what is due, what is to be sent, and then a wait for the next of these.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;

use wire::units::Nanos;

use crate::clock::Clock;
use crate::socket::{Arrived, Buffers, Outbox, Socket};
use crate::timer::Timer;

/// How long a machine that was told to stop may take for its last words.
const LAST_WORDS: Nanos = Nanos(200_000_000);

/// Turns without a pause after which others get theirs: signals, a metrics server, and the system's word that a socket
/// may be read again, which comes only when the task pauses.
const TURNS: u32 = 16;

/// What an agent drives. Time comes in with every call; after any of them, `poll_transmit` and `poll_timeout` are asked
/// again.
pub trait Machine {
    /// Takes a datagram.
    fn handle_datagram(&mut self, arrived: &Arrived<'_>, now: Nanos);

    /// Takes what fitted of a datagram that was longer than any that is taken whole ([`crate::socket`]). Such a one is no
    /// message of anybody's: a machine that counts what it discards counts it, others needn't know.
    fn handle_truncated(&mut self, _arrived: &Arrived<'_>, _now: Nanos) {}

    /// Whether it takes datagrams. One with too much to send lets them wait in the sockets, whose room is bounded,
    /// rather than in memory, whose isn't.
    fn takes_datagrams(&self) -> bool {
        true
    }

    /// Does what is due.
    fn handle_timeout(&mut self, now: Nanos);

    /// When `handle_timeout` or `poll_transmit` is to be called next, if nothing comes before.
    fn poll_timeout(&mut self) -> Option<Nanos>;

    /// Adds what is to be sent now, until the outbox is full.
    fn poll_transmit(&mut self, outbox: &mut Outbox, now: Nanos);

    /// Asks it to end: give up what is under way and say so to the other side.
    fn stop(&mut self, now: Nanos);

    /// Whether it has ended; what it put into the outbox still goes.
    fn is_finished(&self) -> bool;
}

/// What the loop counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Datagrams that came.
    pub received: u64,
    /// Of those, the ones that were too long to be taken whole.
    pub truncated: u64,
    /// Datagrams that the system took.
    pub sent: u64,
    /// Datagrams that it refused.
    pub refused: u64,
    /// Times that a socket took no more and nothing was read until it did.
    pub blocked: u64,
}

/// Drives a machine until it has finished, or until `stop` comes and it has said its last words.
///
/// # Errors
/// The system's, from a socket or a timer: the agent can't go on.
pub async fn drive(
    machine: &mut impl Machine,
    sockets: &[Socket],
    clock: Clock,
    stop: impl Future<Output = ()>,
) -> io::Result<Traffic> {
    let mut stop = pin!(stop);
    let mut stopped_at: Option<Nanos> = None;
    let mut timer = Timer::new()?;
    let mut buffers = Buffers::default();
    let mut outbox = Outbox::default();
    let mut traffic = Traffic::default();
    let mut turns = 0;
    for socket in sockets {
        // The runtime doesn't know yet that a new socket may be written, and would say that it is blocked.
        socket.writable().await?;
    }
    loop {
        let now = clock.now();
        if machine.poll_timeout().is_some_and(|at| at <= now) {
            machine.handle_timeout(now);
        }
        let before = outbox.sent() + outbox.refused();
        machine.poll_transmit(&mut outbox, now);
        let blocked = outbox.flush(sockets, &mut buffers);
        (traffic.sent, traffic.refused) = (outbox.sent(), outbox.refused());
        let overdue = stopped_at.is_some_and(|at| now >= at + LAST_WORDS);
        if (machine.is_finished() && outbox.is_empty()) || overdue {
            return Ok(traffic);
        }
        let mut received = 0;
        let reads = blocked.is_none() && machine.takes_datagrams();
        if reads {
            for (number, socket) in sockets.iter().enumerate() {
                received += buffers.receive(number, socket, |arrived, whole| {
                    if whole {
                        machine.handle_datagram(arrived, clock.now());
                    } else {
                        traffic.truncated += 1;
                        machine.handle_truncated(arrived, clock.now());
                    }
                })?;
            }
            traffic.received += received as u64;
        }
        traffic.blocked += u64::from(blocked.is_some());
        // What was refused counts, too: the machine sees it with its next `poll_transmit`.
        let busy = received > 0 || (blocked.is_none() && outbox.sent() + outbox.refused() > before);
        turns = if busy { turns + 1 } else { 0 };
        if busy && turns % TURNS != 0 {
            continue;
        }
        if busy {
            // Waiting for what is ready already would not do: the runtime looks for what else is ready only when
            // nothing is left to run.
            tokio::task::yield_now().await;
        } else {
            // A machine that wants to be called at once is called a microsecond later: others must get their turn.
            let now = clock.now();
            let last_words = stopped_at.map(|at| at + LAST_WORDS);
            let deadline = machine.poll_timeout().into_iter().chain(last_words).min();
            timer.set(deadline.map(|at| at.max(now + Nanos(1000))), now)?;
        }
        tokio::select! {
            biased;
            () = &mut stop, if stopped_at.is_none() => {
                let now = clock.now();
                stopped_at = Some(now);
                machine.stop(now);
            }
            () = std::future::ready(()), if busy => {}
            writable = writable(sockets, blocked), if blocked.is_some() => writable?,
            () = readable(sockets), if reads => {}
            expired = timer.expired() => expired?,
        }
    }
}

/// Waits until something may be read from one of the sockets.
async fn readable(sockets: &[Socket]) {
    poll_fn(|context| {
        let ready = sockets.iter().map(|socket| socket.poll_readable(context).is_ready());
        // All of them are asked, so that each wakes.
        if ready.fold(false, |any, one| any | one) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}

async fn writable(sockets: &[Socket], number: Option<usize>) -> io::Result<()> {
    match number.and_then(|number| sockets.get(number)) {
        Some(socket) => socket.writable().await,
        None => std::future::pending().await,
    }
}
