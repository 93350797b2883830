//! Samples of which each has a stack that no other has: as many stacks as events.

use std::sync::Arc;

use bathyscope_capture::{Append, Method, ProfileSpec, StackId, StreamSchema};

use crate::{Maker, Rows, START_NS, dice::Dice, samples::Samples};

const FUNCTIONS: u64 = 8_000;
const PROCESSES: u64 = 100;
/// Levels on which stacks part; those behind them differ too.
const BRANCHES: u64 = 12;
/// The least and the most levels behind the branches.
const LEVELS: (u64, u64) = (4, 20);

pub(crate) struct Distinct {
    names: Samples,
    now_ns: u64,
    stacks: StackId,
    new: Vec<(StackId, Arc<[u32]>)>,
}

impl Distinct {
    pub(crate) fn new() -> Self {
        Self { names: Samples::new(), now_ns: START_NS, stacks: 0, new: Vec::new() }
    }
}

/// The stack with a number, innermost first: at each of the first levels eight times as many stacks part, as in a tree.
fn stack(number: u64) -> Arc<[u32]> {
    let depth = BRANCHES + LEVELS.0 + number % (LEVELS.1 - LEVELS.0);
    let function = |level: u64| {
        let group = number >> (3 * BRANCHES.saturating_sub(level + 1));
        1 + u32::try_from(Dice::new(group << 8 | level).below(FUNCTIONS)).unwrap_or(0)
    };
    (0..depth).rev().map(function).collect()
}

impl Maker for Distinct {
    fn method(&self) -> Method {
        Method::Profile(ProfileSpec::default())
    }

    fn schemas(&self) -> Vec<StreamSchema> {
        self.names.schemas()
    }

    fn dictionaries(&self) -> Append {
        Append { stacks: Vec::new(), ..self.names.dictionaries() }
    }

    fn new_entries(&mut self) -> Append {
        Append { stacks: std::mem::take(&mut self.new), ..Append::default() }
    }

    fn event(&mut self, streams: &mut [Rows]) -> u16 {
        self.now_ns += 1000;
        self.stacks += 1;
        let number = u64::from(self.stacks);
        self.new.push((self.stacks, stack(number)));
        let process = number % PROCESSES;
        if let Some(rows) = streams.first_mut() {
            rows.push(&[self.now_ns, number % 16, 3000 + process, 3000 + process, 1 + process, number]);
        }
        0
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }
}
