//! Samples of one process with as many frames as a flame graph has at most, each in as many samples as others of its level:
//! what a page has to draw at once at worst.

use std::sync::Arc;

use bathyscope_capture::{
    Append, ColumnType, Frame, Mapping, MappingKind, Method, ProfileSpec, StackId, StreamKind, StreamSchema, Symbol,
};

use crate::{Maker, Rows, START_NS, column};

/// At 1280 pixels each is two wide.
const STACKS: u32 = 600;
const LEVELS: u32 = 41;
const PERIOD_NS: u64 = 1_000_000;

#[derive(Default)]
pub(crate) struct Wide {
    made: u64,
}

/// The frame of a stack at a level: twice as many as at the level before, until each stack has its own.
fn frame(stack: u32, level: u32) -> u32 {
    let across = STACKS.min(1 << level.min(16));
    1 + level * STACKS + stack * across / STACKS
}

impl Maker for Wide {
    fn method(&self) -> Method {
        Method::Profile(ProfileSpec::default())
    }

    fn schemas(&self) -> Vec<StreamSchema> {
        vec![StreamSchema::new("cpu-clock", StreamKind::Samples, [column("stack", ColumnType::Stack)])]
    }

    fn dictionaries(&self) -> Append {
        let frames = LEVELS * STACKS;
        let mapping =
            Mapping { kind: MappingKind::File, build_id: Vec::new(), name: b"/usr/bin/wide".to_vec(), pid: 0 };
        let function = |id: u32| {
            let (level, at) = ((id - 1) / STACKS, (id - 1) % STACKS);
            Symbol { function: format!("level_{level}::function_{at}"), offset: 16, lines: Vec::new() }
        };
        let stack = |stack: u32| -> Arc<[u32]> { (0..LEVELS).rev().map(|level| frame(stack, level)).collect() };
        Append {
            strings: vec![(1, b"wide".to_vec())],
            mappings: vec![(1, mapping)],
            frames: (1..=frames).map(|id| (id, Frame { mapping: 1, offset: u64::from(id) * 256 })).collect(),
            symbols: (1..=frames).map(|id| (id, function(id))).collect(),
            stacks: (0..STACKS).map(|at| (at + 1, stack(at))).collect::<Vec<(StackId, _)>>(),
            ..Append::default()
        }
    }

    fn event(&mut self, streams: &mut [Rows]) -> u16 {
        let stack = 1 + self.made % u64::from(STACKS);
        self.made += 1;
        if let Some(rows) = streams.first_mut() {
            rows.push(&[self.now_ns(), 0, 7, 7, 1, stack]);
        }
        0
    }

    fn now_ns(&self) -> u64 {
        START_NS + self.made * PERIOD_NS
    }
}
