//! A machine that runs compiled programs without a kernel, for tests (feature `machine`).
//!
//! It runs instructions, not IR, and is strict: what the kernel's verifier would refuse is an error here as soon as it
//! happens (a register or a stack byte that was not written, a register that a call clobbered, an access outside of a
//! thing or through null, an unaligned access to the stack or the context, a record that is kept). It follows one path
//! at a time, so it is no proof that the verifier accepts a program.
//!
//! ```
//! use bathyscope_bpf::{compile, ir::{Builder, MapDefinition, ProgramKind, Size}, machine::Machine};
//!
//! let mut builder = Builder::new("example", ProgramKind::RawTracepoint);
//! let seen = builder.map(MapDefinition::global("seen", 8));
//! let place = builder.global_address(seen, 0);
//! let argument = builder.load_context(0, Size::B8, false);
//! builder.store(place, 0, Size::B8, argument);
//! builder.ret(0);
//! let code = compile(&builder.finish()).unwrap();
//!
//! let mut machine = Machine::new(2);
//! assert_eq!(machine.run(&code, &7_u64.to_le_bytes()), Ok(0));
//! assert_eq!(machine.map("seen").unwrap().value(&[0; 4], 0), Some(&7_u64.to_le_bytes()[..]));
//! ```

mod execute;
mod helpers;
mod maps;
mod memory;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::{Code, ir::Helper};
use execute::Run;
pub use maps::Entries;
use maps::MachineMaps;
use memory::Regions;

/// Instructions that one run may take.
const MAX_STEPS: u64 = 20_000_000;

/// What surrounds the programs. It can be changed between runs.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The CPU on which programs run, below the number of CPUs.
    pub cpu: u32,
    /// The NUMA node.
    pub numa_node: u32,
    /// The process.
    pub tgid: u32,
    /// The thread.
    pub tid: u32,
    /// Process and thread as the pid namespace sees them, if that differs.
    pub namespace_ids: Option<(u32, u32)>,
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The thread's name.
    pub comm: [u8; 16],
    /// The cgroup.
    pub cgroup: u64,
    /// Its ancestors, the root first.
    pub ancestor_cgroups: Vec<u64>,
    /// The monotonic clock; each question adds a nanosecond, so that their order shows.
    pub time_ns: u64,
    /// What the clock of time since boot is ahead of it.
    pub boot_offset_ns: u64,
    /// What the atomic clock is ahead of it.
    pub tai_offset_ns: u64,
    /// The kernel's ticks.
    pub jiffies: u64,
    /// What `get_prandom_u32` gives, one after the other and again.
    pub random: Vec<u32>,
    /// Memory of the kernel: addresses and what is there.
    pub kernel: BTreeMap<u64, Vec<u8>>,
    /// Memory of the process.
    pub user: BTreeMap<u64, Vec<u8>>,
    /// Addresses on the kernel's stack, the innermost first.
    pub kernel_stack: Vec<u64>,
    /// Addresses on the user's stack, the innermost first.
    pub user_stack: Vec<u64>,
    /// Address of the current `task_struct`.
    pub task: u64,
    /// Address of the task's registers.
    pub task_registers: u64,
    /// What `d_path` says of the `struct path` at an address.
    pub paths: BTreeMap<u64, Vec<u8>>,
    /// The numbers of the sockets at these addresses.
    pub socket_cookies: BTreeMap<u64, u64>,
    /// How far the per-CPU variables of two CPUs are from each other.
    pub per_cpu_stride: u64,
    /// Address of the probed function.
    pub function: u64,
    /// The traced function's arguments.
    pub arguments: Vec<u64>,
    /// The traced function's result.
    pub result: u64,
    /// The number given when the program was attached.
    pub cookie: u64,
    /// Value, enabled and running time of the perf event.
    pub perf_value: [u64; 3],
    /// Helpers that do nothing and return this instead.
    pub overrides: BTreeMap<Helper, i64>,
}

/// What programs did to the world beside maps and records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Signals that were sent, and whether to the thread only.
    pub signals: Vec<(u64, bool)>,
    /// What functions were made to return.
    pub overridden: Vec<u64>,
    /// What iterators wrote.
    pub written: Vec<u8>,
}

/// Why a program was stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("instruction {instruction}: {what}")]
pub struct Trap {
    /// The index of the instruction.
    pub instruction: usize,
    /// What it did.
    pub what: String,
}

/// A run that comes in between two instructions of another, as another thread's does where a program can be preempted.
#[derive(Clone, Debug)]
pub struct Interruption {
    /// How many instructions of the outer run are executed before it.
    pub after: u64,
    /// What runs.
    pub code: Code,
    /// With this context.
    pub context: Vec<u8>,
    /// What surrounds it: another thread, usually on the same CPU.
    pub world: World,
}

/// The machine: maps and rings, which live from run to run, and the world.
#[derive(Debug)]
pub struct Machine {
    /// What surrounds the programs.
    pub world: World,
    /// What programs did to it.
    pub effects: Effects,
    /// What comes in between the next run; none once it has.
    pub interruption: Option<Interruption>,
    cpus: u32,
    maps: MachineMaps,
    regions: Regions,
    records: Vec<(String, Vec<u8>)>,
    randoms: usize,
}

impl Machine {
    /// A machine with so many CPUs and without maps.
    pub fn new(cpus: u32) -> Self {
        Self {
            world: World::default(),
            effects: Effects::default(),
            interruption: None,
            cpus: cpus.max(1),
            maps: MachineMaps::default(),
            regions: Regions::default(),
            records: Vec::new(),
            randoms: 0,
        }
    }

    /// Runs a program with this context. Maps that it has and the machine has not are made, empty.
    ///
    /// # Errors
    /// What the program did that it may not.
    pub fn run(&mut self, code: &Code, context: &[u8]) -> Result<u64, Trap> {
        self.declare(code);
        Run::new(self, code).start(context)
    }

    /// Makes the maps of a program, so that they can be filled before it runs.
    pub fn declare(&mut self, code: &Code) {
        for definition in &code.maps {
            self.maps.declare(definition, self.cpus, &mut self.regions);
        }
    }

    /// What is in a map, by the name in its definition.
    pub fn map(&self, name: &str) -> Option<Entries<'_>> {
        self.maps.entries(name, &self.regions)
    }

    /// Sets a value of a map for one CPU, or for all if the map is not per CPU. Tells whether there was room.
    pub fn set(&mut self, name: &str, key: &[u8], cpu: u32, value: &[u8]) -> bool {
        self.maps.set(name, key, cpu, value, &mut self.regions)
    }

    /// Removes an entry; tells whether it was there.
    pub fn remove(&mut self, name: &str, key: &[u8]) -> bool {
        self.maps.remove(name, key)
    }

    /// The records of all rings that were not taken, in order.
    pub fn records(&self) -> impl Iterator<Item = &[u8]> {
        self.records.iter().map(|(_, record)| record.as_slice())
    }

    /// Takes the records of a ring, which makes room for others.
    pub fn take_records(&mut self, ring: &str) -> Vec<Vec<u8>> {
        let (taken, kept) = std::mem::take(&mut self.records).into_iter().partition(|(name, _)| name == ring);
        self.records = kept;
        let taken: Vec<(String, Vec<u8>)> = taken;
        taken.into_iter().map(|(_, record)| record).collect()
    }
}
