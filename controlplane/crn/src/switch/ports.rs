//! The switch's ports: where packets come from and go to.

use std::path::Path;

use agent::link::{BATCH, Buffers, Link};
use miette::{IntoDiagnostic as _, Result, miette};
use nix::errno::Errno;

use super::files::{Recording, Source};
use super::values::Interface;

/// Batches taken from one interface before the others have their turn.
const BATCHES_PER_TURN: usize = 4;

/// What passed a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Frames that came in.
    pub in_frames: u64,
    /// Their octets.
    pub in_octets: u64,
    /// Frames that went out.
    pub out_frames: u64,
    /// Their octets.
    pub out_octets: u64,
    /// Frames that the interface refused.
    pub out_failed: u64,
}

enum Way {
    Interface { socket: Link, recordings: Option<[Recording; 2]> },
    Files { source: Source, sink: Recording },
}

/// A port and what is behind it.
pub struct Port {
    /// Its number.
    pub number: u16,
    /// The interface's name, or the files'.
    pub name: String,
    /// What passed it.
    pub passed: Passed,
    way: Way,
    /// Frames that are about to leave.
    out: Vec<Vec<u8>>,
}

impl Port {
    /// A port on an interface, recorded into a folder if one is given.
    pub fn on_interface(interface: &Interface, recorded: Option<&Path>) -> Result<Port> {
        let socket = Link::open(&interface.name).into_diagnostic()?;
        let recordings = match recorded {
            Some(folder) => Some([
                Recording::create(folder, &interface.name, "in")?,
                Recording::create(folder, &interface.name, "out")?,
            ]),
            None => None,
        };
        Ok(Port::new(interface, Way::Interface { socket, recordings }))
    }

    /// A port whose packets are in a file.
    pub fn on_files(interface: &Interface) -> Result<Port> {
        let source = Source::open(&interface.name)?;
        let sink = Recording::create(Path::new(""), &interface.name, "out")?;
        Ok(Port::new(interface, Way::Files { source, sink }))
    }

    fn new(interface: &Interface, way: Way) -> Port {
        Port {
            number: interface.port,
            name: interface.name.clone(),
            passed: Passed::default(),
            way,
            out: Vec::new(),
        }
    }

    /// The interface's socket, to wait for.
    pub fn socket(&self) -> Option<&Link> {
        match &self.way {
            Way::Interface { socket, .. } => Some(socket),
            Way::Files { .. } => None,
        }
    }

    /// The file's packets.
    pub fn source(&mut self) -> Option<&mut Source> {
        match &mut self.way {
            Way::Files { source, .. } => Some(source),
            Way::Interface { .. } => None,
        }
    }

    /// Counts a packet from a file.
    pub fn came(&mut self, octets: &[u8]) {
        self.passed.in_frames += 1;
        self.passed.in_octets += octets.len() as u64;
    }

    /// Takes what waits at the interface, in `spare` memory, up to some batches.
    pub fn receive(
        &mut self,
        buffers: &mut Buffers,
        spare: &mut Vec<Vec<u8>>,
        into: &mut Vec<(u16, Vec<u8>)>,
    ) -> Result<()> {
        let Way::Interface { socket, recordings } = &mut self.way else { return Ok(()) };
        let from = into.len();
        for _ in 0..BATCHES_PER_TURN {
            let number = self.number;
            let result = socket.receive(
                buffers,
                || spare.pop().unwrap_or_default(),
                |octets| into.push((number, octets)),
            );
            match result {
                Ok(count) if count == BATCH => {}
                // Of an interface that is down nothing comes until it is up again; that is no reason to end.
                Ok(_) | Err(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => break,
                Err(errno) => return Err(miette!("interface {}: {}", socket.name(), errno.desc())),
            }
        }
        for (_, octets) in &into[from..] {
            self.passed.in_frames += 1;
            self.passed.in_octets += octets.len() as u64;
            if let Some([recording, _]) = recordings {
                recording.write(octets)?;
            }
        }
        Ok(())
    }

    /// Keeps a packet until [`Port::send`].
    pub fn push(&mut self, octets: Vec<u8>) {
        self.out.push(octets);
    }

    /// Sends what was pushed; its memory goes to `spare`.
    pub fn send(&mut self, buffers: &mut Buffers, spare: &mut Vec<Vec<u8>>) -> Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        match &mut self.way {
            Way::Interface { socket, recordings } => {
                let sent = socket.send(buffers, &self.out);
                self.passed.out_frames += sent.frames;
                self.passed.out_octets += sent.octets;
                self.passed.out_failed += sent.failed;
                if let Some([_, recording]) = recordings {
                    self.out.iter().try_for_each(|octets| recording.write(octets))?;
                }
            }
            Way::Files { sink, .. } => {
                for octets in &self.out {
                    self.passed.out_frames += 1;
                    self.passed.out_octets += octets.len() as u64;
                    sink.write(octets)?;
                }
            }
        }
        for mut octets in self.out.drain(..) {
            if spare.len() < SPARE {
                octets.clear();
                spare.push(octets);
            }
        }
        Ok(())
    }

    /// Ends: recordings are complete.
    pub fn close(self) -> Result<Passed> {
        match self.way {
            Way::Interface { recordings, .. } => {
                recordings.into_iter().flatten().try_for_each(Recording::flush)?;
            }
            Way::Files { sink, .. } => sink.flush()?,
        }
        Ok(self.passed)
    }
}

/// Buffers kept for reuse.
const SPARE: usize = 1024;
