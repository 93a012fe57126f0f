//! A machine that is never at rest: others get their turn all the same.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use agent::clock::Clock;
use agent::driver::{Machine, drive};
use agent::socket::{Arrived, Outbox, Socket};
use wire::units::Nanos;

const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 77, 210, 1);

/// Always has something to send, to itself or to a port where nobody reads, and is always late.
struct Restless {
    to: SocketAddr,
    heard: u64,
    takes: bool,
    stopped: bool,
}

impl Machine for Restless {
    fn handle_datagram(&mut self, _: &Arrived<'_>, _: Nanos) {
        self.heard += 1;
    }

    fn takes_datagrams(&self) -> bool {
        self.takes
    }

    fn handle_timeout(&mut self, _: Nanos) {}

    fn poll_timeout(&mut self) -> Option<Nanos> {
        Some(Nanos(0))
    }

    fn poll_transmit(&mut self, outbox: &mut Outbox, _: Nanos) {
        while !outbox.is_full() {
            outbox.push(0, self.to, 0, |octets| octets.extend_from_slice(&[0x5a; 64]));
        }
    }

    fn stop(&mut self, _: Nanos) {
        self.stopped = true;
    }

    fn is_finished(&self) -> bool {
        self.stopped
    }
}

async fn run(takes: bool) -> (Restless, agent::driver::Traffic) {
    let sockets = [0, 0].map(|port| Socket::bind(SocketAddrV4::new(ADDRESS, port)).unwrap());
    let mut machine = Restless { to: sockets[1].local(), heard: 0, takes, stopped: false };
    // A timer of the runtime's: like a signal, it comes only to a task that pauses.
    let stop = tokio::time::sleep(Duration::from_millis(100));
    let driven = drive(&mut machine, &sockets, Clock::start(), stop);
    let traffic = tokio::time::timeout(Duration::from_secs(20), driven).await.unwrap().unwrap();
    (machine, traffic)
}

/// It hears what comes, and it ends when it is asked to, within its last words' time.
#[test]
fn a_machine_that_always_sends_hears_and_ends() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (machine, traffic) = run(true).await;
        assert!(traffic.sent > 64, "{traffic:?}");
        assert!(machine.heard > 64, "{traffic:?}");
    });
}

/// One that takes no datagrams gets none; they wait in the socket.
#[test]
fn what_is_not_taken_is_not_read() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (machine, traffic) = run(false).await;
        assert!(traffic.sent > 64, "{traffic:?}");
        assert_eq!((machine.heard, traffic.received), (0, 0));
    });
}
