//! Runs a pipeline: tables, conditions, actions.

use super::hash_input;
use crate::flight::Flight;
use crate::num::index;
use crate::program::{END, KeyWord, Next, Program, TableShape};
use crate::state::State;
use crate::table::Bound;

/// Runs a pipeline's code to its end, an exit, or the packet's death.
pub(crate) fn apply(program: &Program, state: &mut State, flight: &mut Flight, code: u32, now_ns: u64) {
    super::run(program, state, flight, code, now_ns);
    if flight.fuel == 0 {
        state.stats.runaway_drops += 1;
    }
    flight.exit = false;
}

/// What a word of a key field adds to its word of the packed key: nothing when its header isn't valid.
fn key_part(part: &KeyWord, frame: &[u64]) -> u64 {
    if frame[part.valid as usize] == 0 {
        return 0;
    }
    (frame[part.slot as usize] & part.mask) << part.shift
}

/// Packs the key of the packet's fields.
fn pack(shape: &TableShape, frame: &mut [u64], key: usize) {
    frame[key..key + shape.words].fill(0);
    for part in &shape.key_words {
        frame[key + part.word] |= key_part(part, frame);
    }
}

/// Finds the entry that the packed key hits.
fn find(shape: &TableShape, state: &mut State, key: &mut [u64], t: usize) -> Option<u32> {
    let index = &mut state.tables[t].index;
    if let [key] = key {
        return index.lookup_word(*key);
    }
    if state.masked.len() < shape.words {
        state.masked.resize(shape.words, 0);
    }
    index.lookup(key, &mut state.masked[..shape.words])
}

/// What a profile choice came to.
enum Choice {
    Run(u32),
    Nothing,
}

/// Applies a table; gives the code of the action it chooses, if any, and where the pipeline's code goes on after that.
/// `keyed`: its key is packed already.
#[inline(never)]
pub(super) fn table(
    program: &Program,
    state: &mut State,
    flight: &mut Flight,
    t: usize,
    now_ns: u64,
    keyed: bool,
) -> (Option<u32>, u32) {
    let shape = &program.control.tables[t];
    let mut hit = None;
    if shape.words > 0 && state.tables[t].len() > 0 {
        let key = program.own.key as usize;
        if !keyed {
            pack(shape, &mut flight.frame, key);
        }
        hit = find(shape, state, &mut flight.frame[key..key + shape.words], t);
    }
    if let Some(slot) = hit {
        touch(program, state, flight, t, slot, now_ns);
    }
    // The group is chosen first: its hash needs the whole state.
    let table = &state.tables[t];
    let bound = match hit {
        Some(slot) => table.at(slot).map(|e| &e.bound),
        None => table.default.as_ref(),
    };
    let is_hit = hit.is_some();
    let Some(bound) = bound else {
        let to = match shape.next {
            Next::HitMiss { miss, .. } => miss,
            Next::ByAction(_) => shape.base_next,
        };
        return (None, to);
    };
    let chosen = match bound {
        Bound::Call { action, data } => {
            copy_params(program, flight, data);
            Choice::Run(*action)
        }
        Bound::Member(m) => member(program, state, flight, t, *m),
        Bound::Group(g) => {
            let g = *g;
            match group_member(program, state, flight, t, g) {
                Some(m) => member(program, state, flight, t, m),
                None => Choice::Nothing,
            }
        }
    };
    let Choice::Run(action) = chosen else {
        let to = match shape.next {
            Next::HitMiss { hit, .. } if is_hit => hit,
            Next::HitMiss { miss, .. } => miss,
            Next::ByAction(_) => shape.base_next,
        };
        return (None, to);
    };
    let to = match &shape.next {
        Next::HitMiss { hit, .. } if is_hit => *hit,
        Next::HitMiss { miss, .. } => *miss,
        Next::ByAction(by_action) => by_action[action as usize],
    };
    let code = program.action_codes[action as usize];
    ((code != END).then_some(code), to)
}

/// Counts and meters a hit.
fn touch(program: &Program, state: &mut State, flight: &mut Flight, t: usize, slot: u32, now_ns: u64) {
    let Some(entry) = state.tables[t].at_mut(slot) else { return };
    entry.last_hit_ns = now_ns;
    entry.counter.packets = entry.counter.packets.wrapping_add(1);
    entry.counter.octets = entry.counter.octets.wrapping_add(flight.ingress_octets as u64);
    if let Some(meter) = &program.control.tables[t].direct_meter {
        let units = if meter.octets { flight.ingress_octets as u64 } else { 1 };
        let colour = entry.meter.as_mut().map_or(0, |m| m.execute(now_ns / 1000, units));
        flight.frame[meter.slot as usize] = colour & meter.mask;
    }
}

fn copy_params(program: &Program, flight: &mut Flight, data: &[u64]) {
    let base = program.param_base as usize;
    flight.frame[base..base + data.len()].copy_from_slice(data);
}

fn profile_of(program: &Program, t: usize) -> Option<usize> {
    program.control.table_infos[t].profile.map(|p| p.0)
}

fn member(program: &Program, state: &State, flight: &mut Flight, t: usize, slot: u32) -> Choice {
    let profile = profile_of(program, t).and_then(|p| state.profiles.get(p));
    match profile.and_then(|p| p.members.at(slot)) {
        Some(m) => {
            copy_params(program, flight, &m.data);
            Choice::Run(m.action)
        }
        None => Choice::Nothing,
    }
}

fn group_member(program: &Program, state: &mut State, flight: &Flight, t: usize, group: u32) -> Option<u32> {
    let profile = profile_of(program, t)?;
    let selector = program.control.selectors.get(profile)?.as_ref()?;
    let size = state.profiles[profile].groups.at(group)?.buckets.len();
    if size == 0 {
        return None;
    }
    let hash = hash_input::compute(program, state, flight, selector);
    let at = index(hash % size as u64);
    state.profiles[profile].groups.at(group)?.buckets.get(at).copied()
}
