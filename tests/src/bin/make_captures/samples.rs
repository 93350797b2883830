//! Stacks sampled on all CPUs in turn.

use std::sync::Arc;

use bathyscope_capture::{
    Append, ColumnType, Frame, Mapping, MappingKind, Method, ProfileSpec, StackId, StreamKind, StreamSchema, Symbol,
};

use crate::{Maker, Rows, START_NS, column, dice::Dice};

const CPUS: u64 = 16;
const THREADS: u64 = 300;
const FREQUENCY_HZ: u32 = 999;
const FUNCTIONS: u64 = 8_000;
const FILES: u64 = 20;
const STACKS: u64 = 40_000;
const MAX_DEPTH: u64 = 40;

pub(crate) struct Samples {
    dice: Dice,
    now_ns: u64,
    cpu: u64,
}

impl Samples {
    pub(crate) fn new() -> Self {
        Self { dice: Dice::new(3), now_ns: START_NS, cpu: 0 }
    }
}

/// Innermost first. Each is one seen before, cut at some depth, with other functions called from there.
fn stacks(dice: &mut Dice) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = vec![vec![1]];
    while (all.len() as u64) < STACKS {
        let like = dice.few(all.len() as u64) as usize;
        let from = &all[like];
        let keep = 1 + dice.below(from.len() as u64) as usize;
        let mut outermost_first: Vec<u32> = from.iter().rev().take(keep).copied().collect();
        let more = 1 + dice.few(MAX_DEPTH - keep.min(MAX_DEPTH as usize - 1) as u64);
        outermost_first.extend((0..more).map(|_| 1 + u32::try_from(dice.few(FUNCTIONS)).unwrap_or(0)));
        outermost_first.reverse();
        all.push(outermost_first);
    }
    all
}

impl Maker for Samples {
    fn method(&self) -> Method {
        Method::Profile(ProfileSpec { frequency_hz: FREQUENCY_HZ, ..ProfileSpec::default() })
    }

    fn schemas(&self) -> Vec<StreamSchema> {
        vec![StreamSchema::new("cpu-clock", StreamKind::Samples, [column("stack", ColumnType::Stack)])]
    }

    fn dictionaries(&self) -> Append {
        let name = |id: u32| (id, format!("service-{id}").into_bytes());
        let file = |id: u32| {
            let name = format!("/usr/lib/libservice-{id}.so").into_bytes();
            (id, Mapping { kind: MappingKind::File, build_id: id.to_be_bytes().repeat(5), name, pid: 0 })
        };
        let files = u32::try_from(FILES).unwrap_or(1);
        let functions = u32::try_from(FUNCTIONS).unwrap_or(1);
        let frame = |id: u32| (id, Frame { mapping: 1 + id % files, offset: u64::from(id) * 256 });
        let function = |id: u32| {
            let function = format!("service::part_{}::function_{id}", id % 83);
            (id, Symbol { function, offset: 16, lines: Vec::new() })
        };
        let stacks = stacks(&mut Dice::new(4));
        Append {
            strings: (1..=100).map(name).collect(),
            mappings: (1..=files).map(file).collect(),
            frames: (1..=functions).map(frame).collect(),
            symbols: (1..=functions).map(function).collect(),
            stacks: (1..).zip(stacks).map(|(id, frames): (StackId, _)| (id, Arc::from(frames))).collect(),
            ..Append::default()
        }
    }

    fn event(&mut self, streams: &mut [Rows]) -> u16 {
        self.cpu = (self.cpu + 1) % CPUS;
        self.now_ns += 1_000_000_000 / u64::from(FREQUENCY_HZ) / CPUS + self.dice.below(200);
        let thread = self.dice.few(THREADS);
        let stack = 1 + self.dice.few(STACKS);
        if let Some(rows) = streams.first_mut() {
            rows.push(&[self.now_ns, self.cpu, 3000 + thread / 5 * 5, 3000 + thread, 1 + thread % 100, stack]);
        }
        0
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }
}
