//! The crate's machine, with the world of the capture programs: one map of counters, one of targets, one ring.
#![allow(dead_code, clippy::indexing_slicing, reason = "each test file uses a part")]

use std::collections::BTreeMap;

use bathyscope_bpf::{Code, ir::Helper, machine::Machine, probe::TARGETS_MAP};

/// Where memory of the process is.
pub(crate) const USER: u64 = 0x3000_0000;

/// What surrounds a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub context: Vec<u8>,
    /// Memory of the process, at [`USER`].
    pub user: Vec<u8>,
    pub tgid: u32,
    pub tid: u32,
    pub cpu: u32,
    pub comm: [u8; 16],
    pub time_ns: u64,
    /// hits, filtered, ring_full
    pub counters: [u64; 3],
    pub targets: BTreeMap<u32, u32>,
    pub ring_is_full: bool,
    /// Submitted records.
    pub records: Vec<Vec<u8>>,
}

/// Runs a program; gives what it returns.
pub(crate) fn run(code: &Code, world: &mut World) -> Result<u64, String> {
    let mut machine = Machine::new(8);
    let around = &mut machine.world;
    (around.tgid, around.tid, around.cpu) = (world.tgid, world.tid, world.cpu);
    (around.comm, around.time_ns) = (world.comm, world.time_ns);
    around.user.insert(USER, world.user.clone());
    if world.ring_is_full {
        around.overrides.insert(Helper::RingbufReserve, 0);
    }
    machine.declare(code);
    for (tgid, value) in &world.targets {
        machine.set(TARGETS_MAP, &tgid.to_le_bytes(), 0, &value.to_le_bytes());
    }
    let result = machine.run(code, &world.context).map_err(|trap| trap.to_string());
    world.records.extend(machine.records().map(<[u8]>::to_vec));
    for map in code.maps.iter().filter(|map| map.name.ends_with("_count")) {
        let entries = machine.map(&map.name).unwrap();
        let values = entries.value(&[0; 4], world.cpu).unwrap();
        for (counter, bytes) in world.counters.iter_mut().zip(values.chunks(8)) {
            *counter += u64::from_le_bytes(bytes.try_into().unwrap());
        }
    }
    if let Some(entries) = machine.map(TARGETS_MAP) {
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
        world.targets = entries.keys().map(|key| (number(key), number(entries.value(key, 0).unwrap()))).collect();
    }
    result
}
