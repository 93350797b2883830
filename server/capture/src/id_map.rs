//! A fast hasher for small whole numbers.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A map keyed by ids that this capture gave out itself. Not for text from outside: the hash has no secret.
pub type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// Multiplies into 128 bits and folds: a few cycles for each number, and spread over all bits.
#[derive(Debug, Default)]
pub struct IdHasher {
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
