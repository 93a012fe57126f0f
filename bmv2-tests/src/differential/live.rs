//! BMv2's side: a real `simple_switch_grpc`, and softswitch beside it in step.

use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use p4runtime::client::WriteError;
use p4runtime::p4::v1::Update;
use softswitch::Engine;

use super::draw::Draw;
use super::plan::{Load, Plan};
use super::soft::Soft;
use super::{Outputs, Round, difference};
use crate::bmv2::Frames;
use crate::bmv2::bench::Bench;
use crate::target::TargetError;

/// How long an expected frame may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long is waited for frames that nobody expects, after a packet that should be dropped.
const QUIET: Duration = Duration::from_micros(300);
/// Differences after which a run ends: what follows is of the same cause.
const ENOUGH: usize = 5;
/// How often a run is made before what it shows is believed.
const ATTEMPTS: usize = 4;

/// What a run came to.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Which entries BMv2 took.
    pub taken: Vec<bool>,
    /// What BMv2 let out, round by round.
    pub outputs: Vec<Outputs>,
    /// What softswitch did otherwise.
    pub differences: Vec<String>,
    /// The round in which BMv2 crashed, if it did: an element beyond a header stack ends it.
    pub crashed: Option<usize>,
}

/// Runs so many rounds through both. What differs must differ again: the same seed gives the same frames, so that a frame
/// lost on a busy machine, or a queue served late, doesn't count.
///
/// # Errors
/// The switch can't be started or set up, or the machine is too busy.
pub fn compare(plan: &Plan, seed: u64, rounds: usize) -> Result<Comparison, TargetError> {
    let mut result = attempt(plan, seed, rounds);
    for _ in 1..ATTEMPTS {
        let again = match &result {
            Ok(comparison) => !comparison.differences.is_empty(),
            Err(error) => matches!(error, TargetError::Disturbed { .. }),
        };
        if !again {
            break;
        }
        result = attempt(plan, seed, rounds);
    }
    result
}

fn attempt(plan: &Plan, seed: u64, rounds: usize) -> Result<Comparison, TargetError> {
    thread::scope(|scope| {
        let run = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|error| TargetError::switch("network namespace", &error))?;
            in_namespace(plan, seed, rounds)
        });
        run.join().unwrap_or_else(|_| Err(TargetError::Switch("the run's thread panicked".to_owned())))
    })
}

fn in_namespace(plan: &Plan, seed: u64, rounds: usize) -> Result<Comparison, TargetError> {
    let updates = plan.updates(seed)?;
    let ports: Vec<u16> = plan.ports.iter().map(|port| port.port).collect();
    let mut bench = Bench::start(&plan.program, &ports)?;
    let refused = bench.write(updates.clone())?;
    let mut comparison =
        Comparison { taken: refused.iter().map(Option::is_none).collect(), ..Comparison::default() };
    bench.set_queues(&plan.ports)?;
    let (mut soft, taken) = Soft::new(plan, &updates, Engine::Native)?;
    for (place, (bmv2, soft)) in refused.iter().zip(&taken).enumerate() {
        if bmv2.is_none() != *soft {
            let said = format!(
                "entry {place}: BMv2 {}, softswitch {}: {:?}",
                bmv2.as_deref().unwrap_or("takes it"),
                if *soft { "takes it" } else { "refuses it" },
                updates[place]
            );
            comparison.differences.push(said);
        }
    }
    let mut draw = Draw::new(!seed);
    for place in 0..rounds {
        if let Some(primer) = plan.primer() {
            let expected = soft.round(&primer)?;
            bench_round(&mut bench, plan, &primer, &expected)?;
        }
        let round = plan.round(&mut draw);
        let expected = soft.round(&round)?;
        let seen = bench_round(&mut bench, plan, &round, &expected)?;
        if seen != expected && bench.has_ended() {
            comparison.crashed = Some(place);
            break;
        }
        comparison.differences.extend(difference(place, &round, &seen, &expected));
        comparison.outputs.push(seen);
        if comparison.differences.len() >= ENOUGH {
            break;
        }
    }
    Ok(comparison)
}

/// Sends a round and takes what comes: at least as many frames as softswitch let out, if they come.
fn bench_round(
    bench: &mut Bench,
    plan: &Plan,
    round: &Round,
    expected: &Outputs,
) -> Result<Outputs, TargetError> {
    let began = Instant::now();
    for frame in &round.frames {
        bench.send(round.port, frame)?;
    }
    let took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    let limit_us = plan.period_us() / 2;
    if matches!(plan.load, Load::Bursts(_)) && took_us > limit_us {
        return Err(TargetError::Disturbed { took_us, limit_us });
    }
    let count = |frames: &Frames| frames.values().map(Vec::len).sum::<usize>();
    let wanted: usize = expected.values().map(Vec::len).sum();
    let deadline = Instant::now() + if wanted == 0 { QUIET } else { PATIENCE };
    let mut frames = Frames::new();
    loop {
        bench.collect(&mut frames)?;
        let left = deadline.saturating_duration_since(Instant::now());
        if (wanted > 0 && count(&frames) >= wanted) || left.is_zero() || bench.has_ended() {
            break;
        }
        bench.wait(left)?;
    }
    let octets = |seen: Vec<crate::target::Seen>| seen.into_iter().map(|seen| seen.octets).collect();
    Ok(frames.into_iter().map(|(port, seen)| (port, octets(seen))).collect())
}

/// Which updates of a batch were refused, and why.
pub(crate) fn refused(of: usize, result: Result<(), WriteError>) -> Result<Vec<Option<String>>, TargetError> {
    let mut refused = vec![None; of];
    match result {
        Ok(()) => {}
        Err(WriteError::Updates { failed, .. }) => {
            for update in failed {
                if let Some(place) = refused.get_mut(update.index) {
                    *place = Some(update.to_string());
                }
            }
        }
        Err(error) => return Err(TargetError::switch("entries", &error)),
    }
    Ok(refused)
}

/// The updates that were made.
#[must_use]
pub fn made(updates: Vec<Update>, taken: &[bool]) -> Vec<Update> {
    updates.into_iter().zip(taken).filter(|(_, taken)| **taken).map(|(update, _)| update).collect()
}
