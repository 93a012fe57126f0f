//! Keeps switches as they should be, for as long as the controller runs: tries again what has failed, at growing
//! intervals, and asks those that are ready from time to time whether they still hold what they should.
//!
//! A machine over the [`Controller`]: time is an argument and may jump; nothing here waits.

use std::collections::BTreeMap;

use wire::units::Nanos;

use crate::desired::DesiredError;
use crate::machine::{Controller, ControllerEvent, State};
use crate::pipeline::Pipelines;
use crate::topology::Topology;

/// How often things are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rhythm {
    /// From the time a switch is ready to the next look at what it holds.
    pub check: Nanos,
    /// Pause after the first failure; doubled after each further one.
    pub first_pause: Nanos,
    /// Longest pause.
    pub longest_pause: Nanos,
}

impl Default for Rhythm {
    /// A check every 30 s; pauses from 0.5 s to 30 s.
    fn default() -> Self {
        Self {
            check: Nanos(30_000_000_000),
            first_pause: Nanos(500_000_000),
            longest_pause: Nanos(30_000_000_000),
        }
    }
}

/// What is due for a switch next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Retry(Nanos),
    Check(Nanos),
    Nothing,
}

#[derive(Clone, Copy, Debug)]
struct Care {
    due: Due,
    pause: Nanos,
    /// It held what it should when it was last looked at.
    good: bool,
}

/// A controller and its timers.
#[derive(Debug)]
pub struct Keeper {
    /// The controller; its events are to be given to [`Keeper::heard`].
    pub controller: Controller,
    rhythm: Rhythm,
    cares: BTreeMap<String, Care>,
}

impl Keeper {
    /// Keeps the switches of a controller.
    pub fn new(controller: Controller, rhythm: Rhythm) -> Self {
        Self { controller, rhythm, cares: BTreeMap::new() }
    }

    /// Begins with all switches.
    pub fn start(&mut self, now: Nanos) {
        self.controller.start(now);
    }

    /// Takes another topology and the programs of its switches; switches that are new in it are begun with.
    ///
    /// # Errors
    /// It doesn't fit a switch; the old one stays in force everywhere then.
    pub fn set_topology(
        &mut self,
        topology: &Topology,
        pipelines: Pipelines,
        keep: impl FnMut(&str) -> bool,
        now: Nanos,
    ) -> Result<(), DesiredError> {
        self.controller.set_topology_and_pipelines(topology, pipelines, now)?;
        self.controller.retain(keep);
        self.cares.retain(|name, _| topology.switches.contains_key(name));
        let names: Vec<String> = topology.switches.keys().cloned().collect();
        for name in names {
            // What it failed on may be what has been corrected.
            if matches!(self.controller.state(&name), Some(State::Idle | State::Failed)) {
                self.cares.remove(&name);
                self.controller.start_one(&name, now);
            }
        }
        Ok(())
    }

    /// Sets the timers that follow from what the controller tells.
    pub fn heard(&mut self, event: &ControllerEvent, now: Nanos) {
        let rhythm = self.rhythm;
        let fresh = Care { due: Due::Nothing, pause: rhythm.first_pause, good: false };
        match event {
            ControllerEvent::Ready { switch, .. } => {
                let due = Due::Check(later(now, rhythm.check));
                self.cares.insert(switch.clone(), Care { due, good: true, ..fresh });
            }
            // The switch tells by itself when it needs another primary.
            ControllerEvent::Backup { switch } => {
                self.cares.insert(switch.clone(), fresh);
            }
            ControllerEvent::Failed { switch, .. } if self.controller.failure(switch).is_some() => {
                let care = self.cares.entry(switch.clone()).or_insert(fresh);
                care.good = false;
                care.due = Due::Retry(later(now, care.pause));
                care.pause = Nanos(care.pause.0.saturating_mul(2).min(rhythm.longest_pause.0));
            }
            _ => {}
        }
    }

    /// How far a switch is. While a switch that is ready is only being looked at, it still is; `None` if there is no
    /// such switch.
    pub fn state(&self, switch: &str) -> Option<State> {
        let state = self.controller.state(switch)?;
        let good = self.cares.get(switch).is_some_and(|care| care.good);
        let looking = matches!(state, State::AskingProgram | State::Reading);
        Some(if good && looking { State::Ready } else { state })
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Nanos) {
        for (switch, care) in &mut self.cares {
            match care.due {
                Due::Retry(at) if at.0 <= now.0 => {
                    care.due = Due::Nothing;
                    self.controller.start_one(switch, now);
                }
                Due::Check(at) if at.0 <= now.0 => {
                    care.due = Due::Nothing;
                    self.controller.read_counters(switch, now);
                    self.controller.check(switch, now);
                }
                _ => {}
            }
        }
    }

    /// When to call [`Keeper::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        let time = |care: &Care| match care.due {
            Due::Retry(at) | Due::Check(at) => Some(at),
            Due::Nothing => None,
        };
        self.cares.values().filter_map(time).min_by_key(|at| at.0)
    }
}

fn later(now: Nanos, pause: Nanos) -> Nanos {
    Nanos(now.0.saturating_add(pause.0))
}

/// How often a piece of the content in force has to be seen in a row until it counts.
const PIECE_SIGHTINGS: u32 = 10;

/// Decides when a file that is being watched has changed. A file that is written in place is seen in pieces, and a
/// piece can be a valid topology: only what has been seen twice in a row is taken, and what is the beginning of the content in
/// force, as an interrupted copy leaves it, only after ten times. Who writes in place and pauses for longer than that
/// has the piece taken; a file that is replaced atomically never is one. `E`: why a file can't be read, which settles likewise.
#[derive(Clone, Debug)]
pub struct Settled<E> {
    taken: Result<Vec<u8>, E>,
    /// The last content in force, also while the file can't be read.
    known: Vec<u8>,
    seen: Option<Result<Vec<u8>, E>>,
    sightings: u32,
}

impl<E: PartialEq> Settled<E> {
    /// The content in force.
    pub fn new(content: Vec<u8>) -> Self {
        Self { known: content.clone(), taken: Ok(content), seen: None, sightings: 0 }
    }

    /// Takes what the file holds now, or why it can't be read (it may be replaced at this moment). Gives what is new about it once it has
    /// settled.
    pub fn see(&mut self, found: Result<Vec<u8>, E>) -> Option<&Result<Vec<u8>, E>> {
        if found == self.taken {
            self.seen = None;
            return None;
        }
        if self.seen.as_ref() != Some(&found) {
            self.seen = Some(found);
            self.sightings = 1;
            return None;
        }
        self.sightings += 1;
        let piece = found
            .as_ref()
            .is_ok_and(|content| content.len() < self.known.len() && self.known.starts_with(content));
        if self.sightings < if piece { PIECE_SIGHTINGS } else { 2 } {
            return None;
        }
        self.seen = None;
        if let Ok(content) = &found {
            self.known.clone_from(content);
        }
        self.taken = found;
        Some(&self.taken)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::client::{Event, Reply, RequestError};
    use crate::pipeline::Pipeline;
    use crate::topology;

    fn keeper() -> Keeper {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../topologies/incast-8to1.yaml");
        let topology = topology::load(std::path::Path::new(path)).expect("accepted");
        let pipeline = Arc::new(Pipeline::v1model().expect("usable"));
        let rhythm = Rhythm { check: Nanos(1000), first_pause: Nanos(10), longest_pause: Nanos(35) };
        Keeper::new(Controller::new(pipeline, &topology, 1).expect("fits"), rhythm)
    }

    /// Answers the one request that is out, and hears what comes of it; gives whether there was one.
    fn answer(keeper: &mut Keeper, now: Nanos, result: Result<Reply, RequestError>) -> bool {
        let Some((switch, id, _)) = keeper.controller.poll_request() else { return false };
        keeper.controller.handle_event(&switch, Event::Reply { id, result }, now);
        while let Some(event) = keeper.controller.poll_event() {
            keeper.heard(&event, now);
        }
        true
    }

    fn gone() -> Result<Reply, RequestError> {
        Err(RequestError::Unreachable("gone".to_owned()))
    }

    #[test]
    fn pauses_between_attempts_double_up_to_the_longest_and_start_over_after_success() {
        let mut keeper = keeper();
        keeper.start(Nanos(0));
        let mut now = Nanos(0);
        for pause in [10, 20, 35, 35] {
            assert!(answer(&mut keeper, now, gone()));
            assert_eq!(keeper.poll_timeout(), Some(Nanos(now.0 + pause)));
            keeper.handle_timeout(Nanos(now.0 + pause - 1));
            assert!(keeper.controller.poll_request().is_none(), "not before the pause is over");
            now = Nanos(now.0 + pause);
            keeper.handle_timeout(now);
        }
        assert!(answer(&mut keeper, now, Ok(Reply::Arbitration { primary: false })));
        assert_eq!(keeper.poll_timeout(), None, "a backup waits for the switch");
        keeper.controller.handle_event("s1", Event::Closed("gone".to_owned()), now);
        while let Some(event) = keeper.controller.poll_event() {
            keeper.heard(&event, now);
        }
        assert_eq!(keeper.poll_timeout(), Some(Nanos(now.0 + 10)));
    }

    #[test]
    fn a_switch_that_is_only_looked_at_stays_ready() {
        let mut keeper = keeper();
        keeper.start(Nanos(0));
        assert!(answer(&mut keeper, Nanos(0), Ok(Reply::Arbitration { primary: true })));
        assert_eq!(keeper.state("s1"), Some(State::AskingProgram));
        let cookie = Pipeline::v1model().expect("usable").cookie;
        assert!(answer(&mut keeper, Nanos(0), Ok(Reply::Cookie(Some(cookie)))));
        let held = keeper.controller.desired("s1").expect("there").entities.clone();
        assert!(answer(&mut keeper, Nanos(0), Ok(Reply::Entities(held))));
        assert_eq!((keeper.state("s1"), keeper.poll_timeout()), (Some(State::Ready), Some(Nanos(1000))));
        keeper.handle_timeout(Nanos(1000));
        assert_eq!(keeper.controller.state("s1"), Some(State::AskingProgram), "a check has begun");
        assert_eq!(keeper.state("s1"), Some(State::Ready));
        keeper.controller.handle_event("s1", Event::Closed("gone".to_owned()), Nanos(1000));
        while let Some(event) = keeper.controller.poll_event() {
            keeper.heard(&event, Nanos(1000));
        }
        assert_eq!(keeper.state("s1"), Some(State::Failed));
    }

    /// The clock may jump: forward, everything is due at once and once only; back, nothing is done twice.
    #[test]
    fn a_clock_that_jumps_does_no_harm() {
        let mut keeper = keeper();
        keeper.start(Nanos(5000));
        assert!(answer(&mut keeper, Nanos(5000), gone()));
        keeper.handle_timeout(Nanos(3));
        assert!(keeper.controller.poll_request().is_none());
        keeper.handle_timeout(Nanos(u64::MAX));
        keeper.handle_timeout(Nanos(u64::MAX));
        assert!(answer(&mut keeper, Nanos(u64::MAX), gone()));
        assert!(keeper.controller.poll_request().is_none(), "one attempt");
        assert_eq!(keeper.poll_timeout(), Some(Nanos(u64::MAX)));
    }

    type File = Settled<&'static str>;

    #[expect(clippy::unnecessary_wraps, reason = "as a look at the file gives it")]
    fn content(text: &str) -> Result<Vec<u8>, &'static str> {
        Ok(text.as_bytes().to_vec())
    }

    #[test]
    fn a_file_counts_as_changed_when_it_has_settled() {
        let mut file = File::new(b"one".to_vec());
        let mut see = |text: &str| file.see(content(text)).cloned();
        assert_eq!(see("one"), None);
        // Truncated, then written in two pieces.
        assert_eq!(see(""), None);
        assert_eq!(see("tw"), None);
        assert_eq!(see("two"), None);
        assert_eq!(see("two"), Some(content("two")));
        assert_eq!(see("two"), None, "taken once");
        // Replaced atomically, and put back before it has settled.
        assert_eq!(see("three"), None);
        assert_eq!(see("two"), None);
        assert_eq!(file.see(Err("gone")), None, "between unlink and rename");
        assert_eq!(file.see(content("three")), None);
        assert!(file.see(content("three")).is_some());
    }

    #[test]
    fn a_file_that_is_gone_is_told_once_and_is_new_when_it_comes_back() {
        let mut file = File::new(b"one".to_vec());
        assert_eq!(file.see(Err("gone")), None);
        assert_eq!(file.see(Err("gone")), Some(&Err("gone")));
        assert_eq!(file.see(Err("gone")), None, "told once");
        assert_eq!(file.see(content("one")), None);
        assert_eq!(
            file.see(content("one")),
            Some(&content("one")),
            "the same as before, but it is there again"
        );
    }

    #[test]
    fn a_piece_of_the_content_in_force_counts_only_when_it_stays() {
        let mut file = File::new(b"one two".to_vec());
        for piece in ["", "one"] {
            for _ in 1..PIECE_SIGHTINGS {
                assert_eq!(file.see(content(piece)), None, "{piece}");
            }
            assert_eq!(file.see(content("one two")), None, "the writer has gone on");
        }
        for _ in 1..PIECE_SIGHTINGS {
            assert_eq!(file.see(content("one")), None);
        }
        assert_eq!(file.see(content("one")), Some(&content("one")), "it is meant");
    }
}
