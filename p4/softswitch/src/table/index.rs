//! The search structures: a hash map for exact keys, one for every mask of lpm and ternary keys, sorted intervals for a
//! single range, a list for the rest.

use crate::num::{low64, size32};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::key::CompiledKey;
use crate::control::MatchKind;
use crate::program::TableShape;

/// A fast hash for words; keys come from the controller, not from an adversary's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for w in words {
            self.write_u64(u64::from_ne_bytes(*w));
        }
        for &b in rest {
            self.write_u64(u64::from(b));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd134_2543_de82_ef95;
        self.0 = low64(product >> 64) ^ low64(product);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

pub(crate) type FastHash = BuildHasherDefault<WordHasher>;

/// A map from packed keys; keys of one word, the common case, are kept without a pointer.
#[derive(Clone, Debug)]
pub(crate) enum WordMap<V> {
    One(HashMap<u64, V, FastHash>),
    Many(HashMap<Box<[u64]>, V, FastHash>),
}

impl<V> WordMap<V> {
    pub(crate) fn new(words: usize) -> WordMap<V> {
        if words == 1 { WordMap::One(HashMap::default()) } else { WordMap::Many(HashMap::default()) }
    }

    pub(crate) fn get(&self, key: &[u64]) -> Option<&V> {
        match self {
            WordMap::One(m) => m.get(key.first()?),
            WordMap::Many(m) => m.get(key),
        }
    }

    pub(crate) fn get_mut(&mut self, key: &[u64]) -> Option<&mut V> {
        match self {
            WordMap::One(m) => m.get_mut(key.first()?),
            WordMap::Many(m) => m.get_mut(key),
        }
    }

    pub(crate) fn entry(&mut self, key: &[u64], make: impl FnOnce() -> V) -> &mut V {
        match self {
            WordMap::One(m) => m.entry(key.first().copied().unwrap_or(0)).or_insert_with(make),
            WordMap::Many(m) => m.entry(key.into()).or_insert_with(make),
        }
    }

    pub(crate) fn remove(&mut self, key: &[u64]) -> Option<V> {
        match self {
            WordMap::One(m) => m.remove(key.first()?),
            WordMap::Many(m) => m.remove(key),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            WordMap::One(m) => m.is_empty(),
            WordMap::Many(m) => m.is_empty(),
        }
    }

    fn values(&self) -> Box<dyn Iterator<Item = &V> + '_> {
        match self {
            WordMap::One(m) => Box::new(m.values()),
            WordMap::Many(m) => Box::new(m.values()),
        }
    }
}

/// How good an entry is: the lowest is best. Priority or bits outside the prefix, then age.
type Rank = (u32, u64);

/// Entries whose keys have one mask.
#[derive(Clone, Debug)]
pub(crate) struct MaskGroup {
    mask: Box<[u64]>,
    best: u32,
    /// Rank and slot, best first.
    map: WordMap<Vec<(Rank, u32)>>,
}

/// Entries that share everything but their range.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeBucket {
    /// Low, high, rank, slot.
    entries: Vec<(u64, u64, Rank, u32)>,
    /// Where a segment starts, and who wins in it; rebuilt when entries changed.
    segments: Vec<(u64, Option<u32>)>,
    stale: bool,
}

/// An entry of a table that needs to be searched one by one.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    rank: Rank,
    slot: u32,
    key: CompiledKey,
}

/// A table's search structure.
#[derive(Clone, Debug)]
pub(crate) enum Index {
    Keyless,
    Exact(WordMap<u32>),
    /// Groups in the order of their best rank.
    Masked {
        words: usize,
        lpm: bool,
        groups: Vec<MaskGroup>,
    },
    Range {
        word: usize,
        buckets: WordMap<RangeBucket>,
    },
    List(Vec<Listed>),
}

impl Index {
    pub(crate) fn new(shape: &TableShape) -> Index {
        let count = |kind| shape.key.iter().filter(|f| f.kind == kind).count();
        let exact = count(MatchKind::Exact);
        if shape.key.is_empty() {
            return Index::Keyless;
        }
        if exact == shape.key.len() {
            return Index::Exact(WordMap::new(shape.words));
        }
        let ranges = count(MatchKind::Range);
        match ranges {
            0 => {
                let lpm = exact + count(MatchKind::Lpm) == shape.key.len();
                Index::Masked { words: shape.words, lpm, groups: Vec::new() }
            }
            1 if exact + 1 == shape.key.len()
                && shape.key.iter().all(|f| f.bits <= 64 || f.kind == MatchKind::Exact) =>
            {
                let word = shape.key.iter().find(|f| f.kind == MatchKind::Range).map_or(0, |f| f.word);
                Index::Range { word, buckets: WordMap::new(shape.words) }
            }
            _ => Index::List(Vec::new()),
        }
    }

    fn group_rank(lpm: bool, key: &CompiledKey, priority: u32) -> u32 {
        if lpm { u32::MAX - size32(key.prefix_len) } else { priority }
    }

    pub(crate) fn find(&self, key: &CompiledKey, priority: u32) -> Option<u32> {
        match self {
            Index::Keyless => None,
            Index::Exact(map) => map.get(&key.value).copied(),
            Index::Masked { lpm, groups, .. } => {
                let rank = Index::group_rank(*lpm, key, priority);
                let group = groups.iter().find(|g| *g.mask == *key.mask)?;
                let same = group.map.get(&key.value)?;
                same.iter().find(|((p, _), _)| *p == rank).map(|(_, slot)| *slot)
            }
            Index::Range { .. } => {
                let Index::Range { word, buckets } = self else { return None };
                let (_, low, high) = *key.ranges.iter().find(|(w, _, _)| w == word)?;
                let bucket = buckets.get(&key.value)?;
                let same = |e: &&(u64, u64, Rank, u32)| e.0 == low && e.1 == high && e.2.0 == priority;
                bucket.entries.iter().find(same).map(|e| e.3)
            }
            Index::List(list) => list.iter().find(|l| l.rank.0 == priority && l.key == *key).map(|l| l.slot),
        }
    }

    pub(crate) fn insert(&mut self, key: &CompiledKey, priority: u32, handle: u64, slot: u32) {
        match self {
            Index::Keyless => {}
            Index::Exact(map) => {
                *map.entry(&key.value, || slot) = slot;
            }
            Index::Masked { words, lpm, groups } => {
                let rank = (Index::group_rank(*lpm, key, priority), handle);
                let at = groups.iter().position(|g| *g.mask == *key.mask);
                let at = at.unwrap_or_else(|| {
                    groups.push(MaskGroup {
                        mask: key.mask.clone().into(),
                        best: rank.0,
                        map: WordMap::new(*words),
                    });
                    groups.len() - 1
                });
                let group = &mut groups[at];
                let same = group.map.entry(&key.value, Vec::new);
                let place = same.partition_point(|(r, _)| *r < rank);
                same.insert(place, (rank, slot));
                group.best = group.best.min(rank.0);
                groups.sort_by_key(|g| g.best);
            }
            Index::Range { word, buckets } => {
                if let Some(&(_, low, high)) = key.ranges.iter().find(|(w, _, _)| w == word) {
                    let bucket = buckets.entry(&key.value, RangeBucket::default);
                    bucket.entries.push((low, high, (priority, handle), slot));
                    bucket.stale = true;
                }
            }
            Index::List(list) => {
                let rank = (priority, handle);
                let place = list.partition_point(|l| l.rank < rank);
                list.insert(place, Listed { rank, slot, key: key.clone() });
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &CompiledKey, priority: u32, slot: u32) {
        match self {
            Index::Keyless => {}
            Index::Exact(map) => {
                map.remove(&key.value);
            }
            Index::Masked { lpm, groups, .. } => {
                let gone = Index::group_rank(*lpm, key, priority);
                let Some(at) = groups.iter().position(|g| *g.mask == *key.mask) else { return };
                let group = &mut groups[at];
                if let Some(same) = group.map.get_mut(&key.value) {
                    same.retain(|(_, s)| *s != slot);
                    if same.is_empty() {
                        group.map.remove(&key.value);
                    }
                }
                if group.map.is_empty() {
                    groups.remove(at);
                } else if !*lpm && gone == group.best {
                    group.best =
                        group.map.values().filter_map(|v| v.first()).map(|(r, _)| r.0).min().unwrap_or(gone);
                    groups.sort_by_key(|g| g.best);
                }
            }
            Index::Range { buckets, .. } => {
                if let Some(bucket) = buckets.get_mut(&key.value) {
                    bucket.entries.retain(|e| e.3 != slot);
                    bucket.stale = true;
                    if bucket.entries.is_empty() {
                        buckets.remove(&key.value);
                    }
                }
            }
            Index::List(list) => list.retain(|l| l.slot != slot),
        }
    }

    /// As [`Index::lookup`], for keys of one word.
    pub(crate) fn lookup_word(&mut self, key: u64) -> Option<u32> {
        match self {
            Index::Exact(WordMap::One(map)) => map.get(&key).copied(),
            Index::Masked { lpm, groups, .. } => {
                let get = |group: &MaskGroup| match (&group.map, group.mask.first()) {
                    (WordMap::One(map), Some(mask)) => map.get(&(key & mask))?.first().copied(),
                    _ => None,
                };
                best(*lpm, groups, get)
            }
            other => other.lookup(&mut [key], &mut [0]),
        }
    }

    /// The slot of the entry that the packed key hits. `scratch` has as many words as the key.
    pub(crate) fn lookup(&mut self, key: &mut [u64], scratch: &mut [u64]) -> Option<u32> {
        match self {
            Index::Keyless => None,
            Index::Exact(map) => map.get(key).copied(),
            Index::Masked { lpm, groups, .. } => best(*lpm, groups, |group| {
                for ((s, k), m) in scratch.iter_mut().zip(&*key).zip(&group.mask) {
                    *s = k & m;
                }
                group.map.get(scratch)?.first().copied()
            }),
            Index::Range { word, buckets } => {
                let value = std::mem::take(&mut key[*word]);
                let bucket = buckets.get_mut(key)?;
                if bucket.stale {
                    bucket.rebuild();
                }
                let at = bucket.segments.partition_point(|(start, _)| *start <= value);
                bucket.segments.get(at.checked_sub(1)?)?.1
            }
            Index::List(list) => list.iter().find(|l| hits(&l.key, key)).map(|l| l.slot),
        }
    }
}

fn hits(entry: &CompiledKey, key: &[u64]) -> bool {
    let masked = entry.value.iter().zip(&entry.mask).zip(key).all(|((v, m), k)| k & m == *v);
    let wide = |(w, low, high): &(usize, Vec<u64>, Vec<u64>)| {
        let value = &key[*w..w + low.len()];
        value.iter().rev().ge(low.iter().rev()) && value.iter().rev().le(high.iter().rev())
    };
    masked
        && entry.ranges.iter().all(|&(w, low, high)| (low..=high).contains(&key[w]))
        && entry.wide_ranges.iter().all(wide)
}

/// The best of what `get` finds in the groups; it stops where no better one can follow.
fn best(
    lpm: bool,
    groups: &[MaskGroup],
    mut get: impl FnMut(&MaskGroup) -> Option<(Rank, u32)>,
) -> Option<u32> {
    let mut found: Option<(Rank, u32)> = None;
    for group in groups {
        if let Some((rank, _)) = found
            && (lpm || rank.0 < group.best)
        {
            break;
        }
        if let Some(best) = get(group)
            && found.is_none_or(|(rank, _)| best.0 < rank)
        {
            found = Some(best);
        }
    }
    found.map(|(_, slot)| slot)
}

impl RangeBucket {
    /// Cuts the number line where any range starts or ends and notes each piece's winner.
    fn rebuild(&mut self) {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|&i| self.entries[i].0);
        let mut cuts: Vec<u64> = self.entries.iter().map(|e| e.0).collect();
        cuts.extend(self.entries.iter().filter_map(|e| e.1.checked_add(1)));
        cuts.sort_unstable();
        cuts.dedup();
        let mut alive: std::collections::BTreeMap<Rank, (u64, u32)> = std::collections::BTreeMap::new();
        let mut next = order.into_iter().peekable();
        self.segments.clear();
        for cut in cuts {
            while let Some(&i) = next.peek()
                && self.entries[i].0 <= cut
            {
                let (_, high, rank, slot) = self.entries[i];
                alive.insert(rank, (high, slot));
                next.next();
            }
            while let Some((&rank, &(high, _))) = alive.first_key_value()
                && high < cut
            {
                alive.remove(&rank);
            }
            let winner = alive.first_key_value().map(|(_, (_, slot))| *slot);
            self.segments.push((cut, winner));
        }
        self.stale = false;
    }
}
