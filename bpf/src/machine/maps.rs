//! Maps.

use std::collections::{BTreeMap, HashMap};

use super::memory::{RegionUse, Regions};
use crate::ir::{MapDefinition, MapKind};

/// Errors of the kernel that programs see.
pub(super) const ENOENT: i64 = -2;
pub(super) const E2BIG: i64 = -7;
pub(super) const EFAULT: i64 = -14;
pub(super) const EEXIST: i64 = -17;
pub(super) const EINVAL: i64 = -22;

#[derive(Debug)]
struct MapEntry {
    /// The region of each CPU's value, or of the only one.
    regions: Vec<u32>,
    /// When it was made or looked up last.
    used: u64,
}

#[derive(Debug)]
pub(super) struct MachineMap {
    pub definition: MapDefinition,
    cpus: u32,
    entries: BTreeMap<Vec<u8>, MapEntry>,
    clock: u64,
}

/// All maps, by name.
#[derive(Debug, Default)]
pub(super) struct MachineMaps {
    all: Vec<MachineMap>,
    names: HashMap<String, usize>,
}

/// What is in a map.
#[derive(Debug)]
pub struct Entries<'a> {
    map: &'a MachineMap,
    regions: &'a Regions,
}

impl<'a> Entries<'a> {
    /// The keys, in order of their bytes.
    pub fn keys(&self) -> impl Iterator<Item = &'a [u8]> {
        self.map.entries.keys().map(Vec::as_slice)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.map.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.map.entries.is_empty()
    }

    /// The value of a CPU; of maps that are not per CPU, the value.
    pub fn value(&self, key: &[u8], cpu: u32) -> Option<&'a [u8]> {
        let entry = self.map.entries.get(key)?;
        let index = if self.map.definition.kind.is_per_cpu() { cpu as usize } else { 0 };
        entry.regions.get(index).map(|region| self.regions.bytes(*region))
    }

    /// The values of all CPUs; of maps that are not per CPU, the one.
    pub fn values(&self, key: &[u8]) -> Vec<&'a [u8]> {
        let regions = self.map.entries.get(key).map_or(&[][..], |entry| entry.regions.as_slice());
        regions.iter().map(|region| self.regions.bytes(*region)).collect()
    }

    /// The number at the start of the value, summed over CPUs: what a count is.
    pub fn sum(&self, key: &[u8]) -> Option<u64> {
        let values = self.values(key);
        let number = |bytes: &&[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        (!values.is_empty()).then(|| values.iter().map(number).fold(0, u64::wrapping_add))
    }
}

impl MachineMaps {
    pub(super) fn declare(&mut self, definition: &MapDefinition, cpus: u32, regions: &mut Regions) {
        if self.names.contains_key(&definition.name) {
            return;
        }
        self.names.insert(definition.name.clone(), self.all.len());
        let (entries, clock) = (BTreeMap::new(), 0);
        let mut map = MachineMap { definition: definition.clone(), cpus, entries, clock };
        if definition.kind.is_array() {
            for index in 0..definition.max_entries {
                map.insert(&index.to_le_bytes(), regions);
            }
        }
        self.all.push(map);
    }

    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    pub(super) fn get(&mut self, index: usize) -> Option<&mut MachineMap> {
        self.all.get_mut(index)
    }

    pub(super) fn entries<'a>(&'a self, name: &str, regions: &'a Regions) -> Option<Entries<'a>> {
        let map = self.all.get(self.index(name)?)?;
        Some(Entries { map, regions })
    }

    pub(super) fn set(&mut self, name: &str, key: &[u8], cpu: u32, value: &[u8], regions: &mut Regions) -> bool {
        let Some(map) = self.index(name).and_then(|index| self.all.get_mut(index)) else { return false };
        map.update(key, value, 0, cpu, regions) == 0
    }

    pub(super) fn remove(&mut self, name: &str, key: &[u8]) -> bool {
        let Some(map) = self.index(name).and_then(|index| self.all.get_mut(index)) else { return false };
        map.entries.remove(key).is_some()
    }
}

impl MachineMap {
    fn insert(&mut self, key: &[u8], regions: &mut Regions) {
        let count = if self.definition.kind.is_per_cpu() { self.cpus } else { 1 };
        let purpose = if self.definition.kind == MapKind::Constant { RegionUse::Constant } else { RegionUse::Value };
        let content = match &*self.definition.content {
            [] => vec![0; self.definition.value_bytes as usize],
            content => content.to_vec(),
        };
        let regions = (0..count).map(|_| regions.add(content.clone(), purpose)).collect();
        self.clock += 1;
        self.entries.insert(key.to_vec(), MapEntry { regions, used: self.clock });
    }

    /// The address of a CPU's value, or 0.
    pub(super) fn lookup(&mut self, key: &[u8], cpu: u32) -> u64 {
        self.clock += 1;
        let per_cpu = self.definition.kind.is_per_cpu();
        let Some(entry) = self.entries.get_mut(key) else { return 0 };
        entry.used = self.clock;
        entry.regions.get(if per_cpu { cpu as usize } else { 0 }).map_or(0, |region| Regions::address(*region))
    }

    /// Sets a value; gives 0 or an error.
    pub(super) fn update(&mut self, key: &[u8], value: &[u8], flags: u64, cpu: u32, regions: &mut Regions) -> i64 {
        let there = self.entries.contains_key(key);
        match (flags, there, self.definition.kind.is_array()) {
            (_, false, true) => return E2BIG,
            (1, true, _) => return EEXIST,
            (2, false, _) => return ENOENT,
            (3.., ..) => return EINVAL,
            _ => {}
        }
        if !there {
            if self.entries.len() >= self.definition.max_entries as usize && !self.evict() {
                return E2BIG;
            }
            self.insert(key, regions);
        }
        let per_cpu = self.definition.kind.is_per_cpu();
        let index = if per_cpu { cpu as usize } else { 0 };
        let region = self.entries.get(key).and_then(|entry| entry.regions.get(index)).copied();
        let Some(bytes) = region.and_then(|region| regions.bytes_mut(region)) else { return EINVAL };
        for (to, from) in bytes.iter_mut().zip(value) {
            *to = *from;
        }
        0
    }

    /// Makes room in an LRU map.
    fn evict(&mut self) -> bool {
        if !matches!(self.definition.kind, MapKind::LruHash | MapKind::LruPerCpuHash) {
            return false;
        }
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
        oldest.is_some_and(|key| self.entries.remove(&key).is_some())
    }

    /// Deletes an entry. What points to its value may still be used in this run, as in the kernel.
    pub(super) fn delete(&mut self, key: &[u8]) -> i64 {
        if self.definition.kind.is_array() {
            return EINVAL;
        }
        if self.entries.remove(key).is_some() { 0 } else { ENOENT }
    }

    pub(super) fn keys(&self) -> Vec<Vec<u8>> {
        self.entries.keys().cloned().collect()
    }

    /// The id of a stack, which is kept once.
    pub(super) fn stack_id(&mut self, stack: &[u8], regions: &mut Regions) -> i64 {
        let known = self
            .entries
            .iter()
            .find(|(_, entry)| entry.regions.first().is_some_and(|region| regions.bytes(*region) == stack));
        if let Some((key, _)) = known {
            return key.first_chunk().map_or(EINVAL, |bytes| i64::from(u32::from_le_bytes(*bytes)));
        }
        let id = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        if id >= self.definition.max_entries {
            return EEXIST;
        }
        self.insert(&id.to_le_bytes(), regions);
        let region = self.entries.get(&id.to_le_bytes()[..]).and_then(|entry| entry.regions.first()).copied();
        if let Some(bytes) = region.and_then(|region| regions.bytes_mut(region)) {
            bytes.clear();
            bytes.extend_from_slice(stack);
        }
        i64::from(id)
    }
}
