//! What a running script says.

use bathyscope_decode::script::{Record, Snapshot};
use bathyscope_plan::{MapPlan, Plan};

/// Something that a script's records ask for, in their order.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptEvent {
    /// A record that shows something by itself or asks for something outside: `printf`, `print` of a value, `time`, `join`,
    /// `cat`, `system`.
    Record(Record),
    /// A map, because a record asked for it: all of it (`print(@)`), or one element whose value is not in the record
    /// (`print(@[key])`).
    Map {
        /// The record that asked.
        record: Record,
        /// What is in it, in the kernel's order.
        snapshot: MapSnapshot,
    },
    /// Frames of stacks that what follows refers to, by whether they are of user space and their id: only for a tap, which
    /// cannot read them itself once the capture has ended.
    Stacks(Vec<((bool, u64), Vec<u64>)>),
    /// A map as it was at the end, where the script wants it to be shown.
    Final(MapSnapshot),
    /// `exit()`: the script asked to end. Go on with [`super::ScriptSession::finish`].
    Exit {
        /// The code to exit with.
        code: i64,
        /// When, monotonic nanoseconds.
        time_ns: u64,
    },
    /// `clear(@)` or `zero(@)` was done.
    Emptied {
        /// The map, index in the plan.
        map: u32,
    },
    /// Something could not be done, such as reading a map. In words.
    Trouble(String),
}

impl ScriptEvent {
    /// The stacks that it refers to, by whether they are of user space and their id.
    pub fn stacks(&self, plan: &Plan) -> Vec<(bool, u64)> {
        match self {
            Self::Record(record) => record.stacks(plan),
            Self::Map { snapshot, .. } | Self::Final(snapshot) => {
                snapshot.read(plan).map(|(map, snapshot)| snapshot.stacks(map)).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }
}

/// A map as it was at a moment; for `bathyscope_decode::script::Snapshot`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapSnapshot {
    /// Which map, index in the plan.
    pub map: u32,
    /// When, monotonic nanoseconds: of the record that asked, or of the reading.
    pub time_ns: u64,
    /// Keys, and values (for a per-CPU map one for each possible CPU, one after the other).
    pub elements: Vec<(Vec<u8>, Vec<u8>)>,
}

impl MapSnapshot {
    /// Its elements as `bathyscope_decode::script::Snapshot::read` takes them.
    pub fn elements(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.elements.iter().map(|(key, value)| (key.as_slice(), value.as_slice()))
    }

    /// What it says, with the map that it is of; none if it is not as planned.
    pub fn read<'a>(&self, plan: &'a Plan) -> Option<(&'a MapPlan, Snapshot)> {
        let map = plan.maps.get(self.map as usize)?;
        Some((map, Snapshot::read(map, self.elements()).ok()?))
    }
}
