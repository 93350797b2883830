//! Whose threads' events were recorded of a target, where switches do not tell it row by row.
//!
//! They do since the kind *states* asks for both threads of a switch; tracepoints are of threads that the spec names. Of captures
//! from before, who a group, a user's processes or a command and its children were follows from all rows together: each wake-up is
//! of a thread of the target, and of each switch at least one thread is.

use std::collections::{HashMap, HashSet};

use bathyscope_capture::{ColumnData, StreamSchema, Target};
use bathyscope_derive::{RecordedThreads, RuleInput};
use bathyscope_store::{BlockingStore, CaptureRecord};

use super::{DerivationFailure, Watch, inputs::Inputs};

/// Pairs of processes that switched, of which neither is known to be the target's.
const MAX_PAIRS: usize = 1 << 16;

/// Whose events were recorded, as far as that is known before the rows are looked at; none if all of them have to be.
pub(super) fn known(record: &CaptureRecord, streams: &[StreamSchema]) -> Option<RecordedThreads> {
    let switches = streams.iter().find(|schema| schema.name == "switches");
    match (record.spec.target.watched(), switches) {
        (Target::System, _) => Some(RecordedThreads::All),
        // The rule reads it.
        (_, Some(switches)) if switches.column("of_target").is_some() => Some(RecordedThreads::All),
        (Target::Threads { tids, .. }, None) => Some(RecordedThreads::These(tids.iter().copied().collect())),
        _ => None,
    }
}

/// Whether threads are the target's by their names.
pub(super) fn by_name(record: &CaptureRecord) -> bool {
    matches!(record.spec.target.watched(), Target::Comm { .. })
}

/// Whose events were recorded.
pub(super) fn recorded(
    store: &BlockingStore,
    record: &CaptureRecord,
    streams: &[StreamSchema],
    watch: &Watch,
) -> Result<RecordedThreads, DerivationFailure> {
    match known(record, streams) {
        Some(known) => Ok(known),
        None => processes(store, record, streams, watch).map(RecordedThreads::OfProcesses),
    }
}

/// The processes of the target.
fn processes(
    store: &BlockingStore,
    record: &CaptureRecord,
    streams: &[StreamSchema],
    watch: &Watch,
) -> Result<HashSet<u32>, DerivationFailure> {
    let mut known: HashSet<u32> = match record.spec.target.watched() {
        Target::Process { pid, .. } => [*pid].into(),
        Target::Processes { pids, .. } => pids.iter().copied().collect(),
        _ => HashSet::new(),
    };
    let mut pairs = Pairs::default();
    let column = |stream: &str, column: &str| {
        let (at, schema) = (0_u16..).zip(streams).find(|(_, schema)| schema.name == stream)?;
        Some((at, schema.column(column)?))
    };
    let switches = column("switches", "next_pid");
    let wakeups = column("wakeups", "wakee_pid");
    let input = |(stream, column), more: &[usize]| RuleInput {
        stream,
        columns: more.iter().copied().chain([column]).collect(),
    };
    let wanted: Vec<RuleInput> = wakeups
        .map(|wakeups| input(wakeups, &[]))
        .into_iter()
        .chain(switches.map(|switches| input(switches, &[StreamSchema::PID])))
        .collect();
    let mut inputs = Inputs::new(store, record.id, &wanted)?;
    while let Some((stream, rows)) = inputs.next(store, streams)? {
        if watch.is_cancelled() {
            return Err(DerivationFailure::Cancelled);
        }
        let numbers = |column: usize| rows.columns.get(column).map(ColumnData::as_u64).unwrap_or_default();
        match (wakeups, switches) {
            (Some((wakeups, wakee)), _) if stream == wakeups => {
                known.extend(numbers(wakee).iter().filter_map(|pid| u32::try_from(*pid).ok()));
            }
            (_, Some((_, next))) => pairs.add(numbers(StreamSchema::PID), numbers(next)),
            _ => {}
        }
    }
    pairs.explain(&mut known);
    // Idle threads belong to nobody.
    known.remove(&0);
    Ok(known)
}

/// How often two processes switched.
#[derive(Debug, Default)]
struct Pairs(HashMap<(u32, u32), u64>);

impl Pairs {
    fn add(&mut self, left: &[u64], next: &[u64]) {
        for (left, next) in left.iter().zip(next) {
            let (Ok(left), Ok(next)) = (u32::try_from(*left), u32::try_from(*next)) else { continue };
            let pair = (left.min(next), left.max(next));
            if let Some(count) = self.0.get_mut(&pair) {
                *count += 1;
            } else if self.0.len() < MAX_PAIRS {
                self.0.insert(pair, 1);
            }
        }
    }

    /// Adds the fewest processes that explain all switches, those of most switches first: of a switch with an idle thread it is
    /// the other one.
    fn explain(&self, known: &mut HashSet<u32>) {
        known.extend(self.0.keys().filter(|(idle, _)| *idle == 0).map(|(_, other)| *other));
        loop {
            let mut open: HashMap<u32, u64> = HashMap::new();
            for ((one, other), count) in &self.0 {
                if !known.contains(one) && !known.contains(other) {
                    *open.entry(*one).or_default() += count;
                    *open.entry(*other).or_default() += count;
                }
            }
            let most = open.into_iter().max_by_key(|(pid, count)| (*count, std::cmp::Reverse(*pid)));
            let Some((pid, _)) = most else { return };
            known.insert(pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_tell_whose_they_are() {
        let mut pairs = Pairs::default();
        // 7 sleeps often, 9 never: it is only preempted by 30, 31 and 32, and goes on.
        pairs.add(&[0, 7, 9, 30, 9, 31, 9], &[7, 0, 30, 9, 31, 9, 32]);
        let mut known = HashSet::new();
        pairs.explain(&mut known);
        assert_eq!(known, HashSet::from([7, 9]));
        // What is known already explains switches with others.
        let mut known = HashSet::from([30, 31, 32]);
        pairs.explain(&mut known);
        assert_eq!(known, HashSet::from([7, 30, 31, 32]));
    }
}
