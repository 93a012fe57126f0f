//! The packet thread: takes what comes, gives it to the switch, sends what leaves.
//!
//! It holds the switch only while packets go through it, never while it waits or talks to the kernel.

use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use agent::link::{BATCH, Buffers};
use miette::{IntoDiagnostic as _, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use softswitch::runtime::Runtime;
use softswitch::server::Server;
use softswitch::{Packet, Switch};

use super::ports::Port;
use super::wire::Wires;

/// Digests and idle entries are looked for so often, if nothing else happens.
const TICK: Duration = Duration::from_millis(10);

/// Departures in one turn; controllers come in between, even if the program clones for ever.
const DEPARTURES_PER_TURN: usize = 4096;

/// Ports of v1model have 9 bits.
const PORTS: usize = 512;

/// Everything of the packet thread.
pub struct Plane {
    server: Server,
    ports: Vec<Port>,
    wires: Wires,
    /// Place in `ports` of each port number.
    places: Vec<Option<usize>>,
    cpu_port: Option<u16>,
    began: Instant,
    woken: UnixStream,
    stop: Arc<AtomicBool>,
    /// When the files' packets begin, and whether the end of the last is the end of all.
    files: Option<Files>,
    lost: Lost,
}

/// How files are read.
#[derive(Clone, Copy, Debug)]
pub struct Files {
    /// After so long.
    pub begin: Duration,
    /// End when all packets have left.
    pub exit: bool,
}

/// Packets that nobody got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// They came while there was no program.
    pub without_program: u64,
    /// They left through a port without interface.
    pub without_interface: u64,
    /// The links lost them, as was asked for.
    pub on_links: u64,
}

/// What the thread leaves behind.
pub struct Remains {
    /// The ports.
    pub ports: Vec<Port>,
    /// What nobody got.
    pub lost: Lost,
}

impl Plane {
    /// A thread's state; `woken` gets an octet whenever something else than a packet wants attention.
    #[expect(clippy::too_many_arguments, reason = "each is another part of the world")]
    pub fn new(
        server: Server,
        ports: Vec<Port>,
        wires: Wires,
        cpu_port: Option<u16>,
        began: Instant,
        woken: UnixStream,
        stop: Arc<AtomicBool>,
        files: Option<Files>,
    ) -> Plane {
        let mut places = vec![None; PORTS];
        for (place, port) in ports.iter().enumerate() {
            if let Some(slot) = places.get_mut(usize::from(port.number)) {
                *slot = Some(place);
            }
        }
        Plane { server, ports, wires, places, cpu_port, began, woken, stop, files, lost: Lost::default() }
    }

    /// Moves packets until told to stop.
    pub fn run(mut self) -> Result<Remains> {
        let mut buffers = Buffers::new();
        let mut spare = Vec::new();
        let mut inbound: Vec<(u16, Vec<u8>)> = Vec::new();
        let mut next = Some(self.now());
        while !self.stop.load(Ordering::Acquire) {
            let ready = self.wait(next)?;
            for (place, ready) in ready.into_iter().enumerate() {
                if ready {
                    self.ports[place].receive(&mut buffers, &mut spare, &mut inbound)?;
                }
            }
            let from_files = self.read_files(&mut inbound)?;
            self.arrive(&mut inbound);
            next = self.turn(&mut inbound);
            let now = self.now();
            while let Some((place, octets)) = self.wires.next_out(now) {
                self.ports[place].push(octets);
            }
            next = next.into_iter().chain(self.wires.next_at()).min();
            for port in &mut self.ports {
                port.send(&mut buffers, &mut spare)?;
            }
            self.server.deliver();
            match from_files {
                Reading::More => next = Some(self.now()),
                Reading::Done if next.is_none() && self.files.is_some_and(|files| files.exit) => break,
                Reading::Done | Reading::Waiting => {}
            }
        }
        let lost = Lost { on_links: self.wires.lost, ..self.lost };
        Ok(Remains { ports: self.ports, lost })
    }

    /// What the links hold up is taken from `inbound`, and what they held up long enough is put there.
    fn arrive(&mut self, inbound: &mut Vec<(u16, Vec<u8>)>) {
        if !self.wires.is_between_input() {
            return;
        }
        let now = self.now();
        for (port, octets) in std::mem::take(inbound) {
            let place = self.places.get(usize::from(port)).copied().flatten();
            let arrived = match place {
                Some(place) => self.wires.comes(place, octets, now),
                None => Some(octets),
            };
            inbound.extend(arrived.map(|octets| (port, octets)));
        }
        while let Some((place, octets)) = self.wires.next_in(now) {
            inbound.push((self.ports[place].number, octets));
        }
    }

    fn now(&self) -> u64 {
        nanoseconds(self.began)
    }

    /// Waits for packets, the next departure, a call or the tick; gives which interfaces have something.
    fn wait(&mut self, next: Option<u64>) -> Result<Vec<bool>> {
        let now = self.now();
        let timeout = next.map_or(TICK, |at| Duration::from_nanos(at.saturating_sub(now)).min(TICK));
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(self.ports.len() + 1);
        fds.push(PollFd::new(self.woken.as_fd(), PollFlags::POLLIN));
        for port in &self.ports {
            if let Some(socket) = port.socket() {
                fds.push(PollFd::new(socket.as_fd(), PollFlags::POLLIN));
            }
        }
        match ppoll(&mut fds, Some(TimeSpec::from_duration(timeout)), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error).into_diagnostic(),
        }
        let any = |fd: &PollFd<'_>| fd.revents().is_some_and(|events| !events.is_empty());
        let mut found = fds.iter().map(any);
        let woken = found.next().unwrap_or(false);
        let ready =
            self.ports.iter().map(|port| port.socket().is_some() && found.next().unwrap_or(false)).collect();
        if woken {
            // How often it was called doesn't matter.
            let _ = self.woken.read(&mut [0; 64]);
        }
        Ok(ready)
    }

    /// The next packets of the files, in the order of their times across files.
    fn read_files(&mut self, inbound: &mut Vec<(u16, Vec<u8>)>) -> Result<Reading> {
        let Some(files) = self.files else { return Ok(Reading::Waiting) };
        if self.began.elapsed() < files.begin {
            return Ok(Reading::Waiting);
        }
        for _ in 0..BATCH {
            let sources = self.ports.iter_mut().enumerate();
            let first = sources
                .filter_map(|(place, port)| port.source()?.next_at().map(|at| (at, place)))
                .min()
                .map(|(_, place)| place);
            let Some(port) = first.and_then(|place| self.ports.get_mut(place)) else {
                return Ok(Reading::Done);
            };
            if let Some(octets) = port.source().map(super::files::Source::take).transpose()?.flatten() {
                port.came(&octets);
                inbound.push((port.number, octets));
            }
        }
        Ok(Reading::More)
    }

    /// Gives the switch what came, takes what leaves, and says when something leaves next.
    fn turn(&mut self, inbound: &mut Vec<(u16, Vec<u8>)>) -> Option<u64> {
        let server = self.server.clone();
        let mut runtime = server.runtime();
        let mut budget = DEPARTURES_PER_TURN;
        let mut active = Vec::new();
        for (port, octets) in inbound.drain(..) {
            let now = self.now();
            match runtime.switch_mut() {
                Some(switch) => {
                    switch.ingress(port, Packet::new(octets), now);
                    self.drain(switch, now, &mut active, &mut budget);
                }
                None => self.lost.without_program += 1,
            }
        }
        let now = self.now();
        if let Some(switch) = runtime.switch_mut() {
            self.drain(switch, now, &mut active, &mut budget);
        }
        runtime.advance(now);
        self.next_departure(&runtime)
    }

    fn drain(&mut self, switch: &mut Switch, now: u64, active: &mut Vec<u16>, budget: &mut usize) {
        loop {
            active.clear();
            active.extend(switch.active_ports().filter(|&port| Some(port) != self.cpu_port));
            let mut any = false;
            for &port in &*active {
                while *budget > 0
                    && let Some(departure) = switch.dequeue(port, now)
                {
                    *budget -= 1;
                    any = true;
                    if let Some(packet) = departure.packet {
                        self.leave(port, packet, now);
                    }
                }
            }
            if !any {
                return;
            }
        }
    }

    fn leave(&mut self, port: u16, packet: Packet, now: u64) {
        let place = self.places.get(usize::from(port)).copied().flatten();
        let Some(place) = place else {
            self.lost.without_interface += 1;
            return;
        };
        let octets = if packet.virtual_octets() > 0 { packet.to_octets() } else { packet.into_head() };
        if let Some(octets) = self.wires.leaves(place, octets, now)
            && let Some(port) = self.ports.get_mut(place)
        {
            port.push(octets);
        }
    }

    fn next_departure(&self, runtime: &Runtime) -> Option<u64> {
        let switch = runtime.switch()?;
        let ports = switch.active_ports().filter(|&port| Some(port) != self.cpu_port);
        ports.filter_map(|port| switch.next_departure(port)).min()
    }
}

enum Reading {
    /// It isn't time yet, or there are no files.
    Waiting,
    /// There is more.
    More,
    /// All has been read.
    Done,
}

/// The switch's clock: since it began.
pub fn nanoseconds(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
