//! The targets of `fuzz/`, with seeds and with what chance makes of them, the same at every run: bad input ends in a
//! reason, never in a panic, and the switch goes on. `HOSTILE_INPUTS` in the environment sets how many inputs each gets.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Numbers in no order, the same at every run (splitmix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap()
    }

    fn octet(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }
}

/// A value that often matters.
const EDGES: [u8; 6] = [0, 1, 0x7f, 0x80, 0xfe, 0xff];

/// Something like `seed`, or like two of them.
fn mutated(chance: &mut Chance, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut data = seeds[chance.below(seeds.len())].clone();
    for _ in 0..=chance.below(6) {
        let at = chance.below(data.len());
        match chance.below(6) {
            0 => data.truncate(at),
            1 => data.insert(at.min(data.len()), chance.octet()),
            2 if !data.is_empty() => {
                data.remove(at);
            }
            3 if !data.is_empty() => data[at] ^= 1 << chance.below(8),
            4 if !data.is_empty() => data[at] = EDGES[chance.below(EDGES.len())],
            5 => {
                let other = &seeds[chance.below(seeds.len())];
                data.truncate(at);
                data.extend_from_slice(&other[chance.below(other.len())..]);
            }
            _ => data.push(chance.octet()),
        }
    }
    data
}

/// Gives the target its seeds and so many inputs made of them, and some that are chance alone.
fn try_hard(target: fn(&[u8]), name: &str, inputs: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(!seeds.is_empty(), "no seeds in fuzz/seeds/{name}");
    for seed in &seeds {
        target(seed);
    }
    target(&[]);
    let asked = std::env::var("HOSTILE_INPUTS").ok().and_then(|n| n.parse().ok());
    let mut chance = Chance(0x5eed);
    for n in 0..asked.unwrap_or(inputs) {
        let data = if n % 8 == 7 {
            (0..chance.below(600)).map(|_| chance.octet()).collect()
        } else {
            mutated(&mut chance, &seeds)
        };
        target(&data);
    }
}

#[test]
fn programs() {
    try_hard(fuzz::json, "json", 6000);
}

/// All nodes of a document, each as a path of places from the root.
fn nodes(value: &Value, at: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
    all.push(at.clone());
    let inner: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(items) => items.values().collect(),
        _ => Vec::new(),
    };
    for (place, value) in inner.into_iter().enumerate() {
        at.push(place);
        nodes(value, at, all);
        at.pop();
    }
}

/// The node there, if there is one.
fn find<'a>(value: &'a mut Value, path: &[usize]) -> Option<&'a mut Value> {
    let Some((&place, rest)) = path.split_first() else { return Some(value) };
    let inner = match value {
        Value::Array(items) => items.get_mut(place),
        Value::Object(items) => items.values_mut().nth(place),
        _ => None,
    };
    find(inner?, rest)
}

/// The document with one of its values gone, doubled, another's or none that belongs there.
fn changed(chance: &mut Chance, document: &Value, nodes: &[Vec<usize>]) -> Value {
    let strange = [json!(null), json!(-1), json!(u64::MAX), json!("x"), json!([]), json!({}), json!("0xfff")];
    let mut changed = document.clone();
    for _ in 0..=chance.below(2) {
        let [path, other] = [0; 2].map(|_| &nodes[chance.below(nodes.len())]);
        let graft = find(&mut document.clone(), other).unwrap().clone();
        // What was changed before may have taken the place away.
        let Some(target) = find(&mut changed, path) else { continue };
        match (chance.below(4), target) {
            (0, target) => *target = strange[chance.below(strange.len())].clone(),
            (1, Value::Array(items)) if !items.is_empty() => {
                items.remove(chance.below(items.len()));
            }
            (1, Value::Object(items)) if !items.is_empty() => {
                let name = items.keys().nth(chance.below(items.len())).unwrap().clone();
                items.remove(&name);
            }
            (2, Value::Array(items)) if !items.is_empty() => {
                items.push(items[chance.below(items.len())].clone());
            }
            (2, Value::Number(number)) => *number = chance.below(300).into(),
            (_, target) => *target = graft,
        }
    }
    changed
}

/// Programs that p4c has made, changed in a few places: each value in them stands for something, so that most get far.
#[test]
fn real_programs_changed_in_places() {
    let folder = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let samples = std::fs::read_dir(folder("../shared/conformance")).into_iter().flatten();
    let mut paths: Vec<PathBuf> = samples.map(|entry| entry.unwrap().path()).collect();
    paths.push(folder("p4/bmv2/build/crn.json"));
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let asked = std::env::var("HOSTILE_INPUTS").ok().and_then(|n| n.parse().ok());
    let mut chance = Chance(0x1500);
    for path in paths {
        let document: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let mut all = Vec::new();
        nodes(&document, &mut Vec::new(), &mut all);
        for _ in 0..asked.unwrap_or(10) {
            fuzz::json(changed(&mut chance, &document, &all).to_string().as_bytes());
        }
    }
}

#[test]
fn packets_of_every_length() {
    try_hard(fuzz::packets, "packets", 3000);
    // Every length there is, a prefix of a packet that the program knows, both engines side by side.
    let known = include_bytes!("../../../fuzz/seeds/packets/rocev2");
    for length in (0..=200u16).chain([1499, 1500, 9000, 65_534, 65_535]) {
        let [high, low] = length.to_be_bytes();
        let mut one = vec![1, high, low];
        one.extend_from_slice(&known[3..known.len().min(3 + usize::from(length))]);
        fuzz::packets(&one);
    }
}

#[test]
fn entries() {
    try_hard(fuzz::entries, "entries", 10_000);
}

#[test]
fn messages_of_controllers() {
    try_hard(fuzz::grpc, "grpc", 5000);
}
