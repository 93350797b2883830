//! A fast hasher for small whole numbers, and the two FNV-1a hashes.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A map keyed by ids that this capture gave out itself. Not for text from outside: the hash has no secret.
pub(crate) type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// Multiplies into 128 bits and folds: a few cycles for each number, and spread over all bits.
#[derive(Default)]
pub(crate) struct IdHasher {
    state: u64,
}

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl IdHasher {
    fn add(&mut self, number: u64) {
        let product = u128::from(self.state.rotate_left(23) ^ number ^ MULTIPLIER) * u128::from(MULTIPLIER | 1);
        self.state = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.add(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.add(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }

    fn finish(&self) -> u64 {
        self.state
    }
}

/// The 32-bit FNV-1a hash, which the front end computes too, for colours.
pub(crate) fn fnv1a_32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Where the 64-bit FNV-1a hash begins.
pub(crate) const FNV1A_64: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues the 64-bit FNV-1a hash.
pub(crate) fn fnv1a_64(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_is_the_published_one() {
        let cases: [(&str, u32, u64); 3] = [
            ("", 0x811c_9dc5, 0xcbf2_9ce4_8422_2325),
            ("a", 0xe40c_292c, 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0xbf9c_f968, 0x8594_4171_f739_67e8),
        ];
        for (text, short, long) in cases {
            assert_eq!((fnv1a_32(text.as_bytes()), fnv1a_64(FNV1A_64, text.as_bytes())), (short, long), "{text}");
        }
    }
}
