//! Where names of a BTF file are, found by a hash of the name. Made on the first look-up by name: a millisecond or two
//! for a whole kernel, and four bytes for each name.

use super::btf::{Btf, kind};

/// Types by name. Types of equal names are in order of their numbers.
#[derive(Debug)]
pub(super) struct NameIndex {
    /// Where in `types` each bucket begins, and the end of the last.
    buckets: Vec<u32>,
    types: Vec<u32>,
}

impl NameIndex {
    pub(super) fn new(btf: &Btf) -> Self {
        let named = btf.all().filter(|(_, raw)| raw.name != 0 && can_be_found(raw.kind));
        let entries: Vec<(u32, u32)> =
            named.map(|(index, raw)| (hash_of_terminated(btf.name_bytes(raw.name)), index)).collect();
        let (buckets, types) = bucketed(&entries);
        Self { buckets, types }
    }

    /// The types that may have this name: compare it.
    pub(super) fn candidates(&self, name: &str) -> &[u32] {
        in_bucket(&self.buckets, &self.types, hash(name))
    }
}

/// Enum constants by name: the enum's number and the constant's place in it.
#[derive(Debug)]
pub(super) struct ConstantIndex {
    buckets: Vec<u32>,
    constants: Vec<(u32, u32)>,
}

impl ConstantIndex {
    pub(super) fn new(btf: &Btf) -> Self {
        let mut entries = Vec::new();
        for (index, raw) in btf.all() {
            let step = match raw.kind {
                kind::ENUM => 8,
                kind::ENUM64 => 12,
                _ => continue,
            };
            for entry in 0..raw.entries {
                let name = btf.number(raw.rest + entry as usize * step);
                entries.push((hash_of_terminated(btf.name_bytes(name)), (index, entry)));
            }
        }
        let (buckets, constants) = bucketed(&entries);
        Self { buckets, constants }
    }

    /// The constants that may have this name: compare it.
    pub(super) fn candidates(&self, name: &str) -> &[(u32, u32)] {
        in_bucket(&self.buckets, &self.constants, hash(name))
    }
}

/// Whether types of this kind are looked up by name.
fn can_be_found(kind: u8) -> bool {
    !matches!(kind, kind::TYPE_TAG | kind::DECL_TAG)
}

/// Sorts entries into about one bucket for each, keeping the order within.
fn bucketed<T: Copy + Default>(entries: &[(u32, T)]) -> (Vec<u32>, Vec<T>) {
    let count = entries.len().next_power_of_two();
    let mut ends = vec![0_u32; count + 1];
    for (hash, _) in entries {
        if let Some(size) = ends.get_mut((*hash as usize & (count - 1)) + 1) {
            *size += 1;
        }
    }
    let mut sum = 0;
    for end in &mut ends {
        sum += *end;
        *end = sum;
    }
    let (mut next, mut sorted) = (ends.clone(), vec![T::default(); entries.len()]);
    for (hash, value) in entries {
        if let Some(at) = next.get_mut(*hash as usize & (count - 1)) {
            if let Some(place) = sorted.get_mut(*at as usize) {
                *place = *value;
            }
            *at += 1;
        }
    }
    (ends, sorted)
}

fn in_bucket<'a, T>(buckets: &[u32], sorted: &'a [T], hash: u32) -> &'a [T] {
    let bucket = hash as usize & buckets.len().saturating_sub(2);
    match (buckets.get(bucket), buckets.get(bucket + 1)) {
        (Some(start), Some(end)) => sorted.get(*start as usize..*end as usize).unwrap_or_default(),
        _ => &[],
    }
}

/// The hash of a name.
fn hash(name: &str) -> u32 {
    let (words, rest) = name.as_bytes().as_chunks::<8>();
    let hash = words.iter().fold(0, |hash, word| mixed(hash, u64::from_le_bytes(*word)));
    finished(mixed(hash, packed(rest)))
}

/// The same of a name that a zero byte ends, without looking for its end first.
fn hash_of_terminated(bytes: &[u8]) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        // The lowest bit that is set is the top bit of the first zero byte.
        let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);
        if zeros != 0 {
            let kept = (zeros.trailing_zeros() / 8) * 8;
            return finished(mixed(hash, word & ((1 << kept) - 1)));
        }
        hash = mixed(hash, word);
    }
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    finished(mixed(hash, packed(rest.get(..end).unwrap_or_default())))
}

fn packed(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn mixed(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn finished(hash: u64) -> u32 {
    // The top bits depend on all of the word.
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_hash_agree() {
        for length in 0..40 {
            let name = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz".get(..length).unwrap();
            for behind in ["\0", "\0next", "\0\0\0\0\0\0\0\0\0\0\0\0"] {
                assert_eq!(hash(name), hash_of_terminated(format!("{name}{behind}").as_bytes()), "{name:?} {behind:?}");
            }
        }
        assert_ne!(hash("aaaaaaaa"), hash("aaaaaaaab"));
    }

    #[test]
    fn entries_of_a_bucket_keep_their_order() {
        let entries: Vec<(u32, u32)> = (0..100).map(|n| (n % 7, n)).collect();
        let (buckets, sorted) = bucketed(&entries);
        let found: Vec<u32> = in_bucket(&buckets, &sorted, 3).iter().copied().filter(|n| n % 7 == 3).collect();
        assert_eq!(found, (0..100).filter(|n| n % 7 == 3).collect::<Vec<_>>());
        let (none, empty) = bucketed::<u32>(&[]);
        assert!(in_bucket(&none, &empty, 5).is_empty());
    }
}
