//! Functions ranked by what their calls took.

use std::cmp::{Ordering, Reverse};

use super::{
    CallChoice, CallForest,
    forest::Record,
    irqs::{Irqs, has_irqs},
    tree::comm_of,
};
use crate::{
    Cancel, Source, ViewError,
    answers::{FunctionRow, FunctionsPage, IrqShare},
    hash::IdMap,
    needle::Needle,
};

/// The most functions of a page.
pub const MAX_FUNCTION_PAGE: u32 = 1000;
/// The most rows that are told apart.
const MAX_ROWS: usize = 1 << 18;
/// Interrupts that are told of a row.
const MAX_SHARES: usize = 4;

/// Into what the calls of a function are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Not at all.
    Whole,
    /// By the CPU that they ended on.
    Cpu,
    /// By thread.
    Thread,
    /// By the interrupt that was handled within them; others are left out.
    Irq,
}

/// What functions are ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionRank {
    /// Time in their calls.
    Total,
    /// Time in their calls and in none within.
    Own,
    /// Number of calls.
    Calls,
    /// Mean length of a call.
    Average,
    /// Median length.
    Median,
    /// Length that 99 of 100 calls do not exceed.
    P99,
    /// The longest call.
    Longest,
    /// Name.
    Name,
}

/// Which functions, and in what order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionsQuery {
    /// Into what calls are divided.
    pub part: Part,
    /// By what they are ranked.
    pub rank: FunctionRank,
    /// Whether the least comes first.
    pub ascending: bool,
    /// Text in the names; empty for all.
    pub search: String,
    /// Rows before the page.
    pub offset: u64,
    /// Rows of the page, at most [`MAX_FUNCTION_PAGE`].
    pub limit: u32,
}

#[derive(Default)]
struct GatheredDurations {
    durations: Vec<u64>,
    cut: u64,
    own: u64,
    longest: Option<(u64, Reverse<u32>)>,
    irqs: IdMap<u32, u64>,
}

/// Function and part.
type Key = (u32, u32);

/// Ranks functions by the calls that the query takes.
///
/// # Errors
/// If rows of interrupts cannot be loaded, or `cancel` was set.
pub fn rank_functions(
    source: &dyn Source,
    forest: &CallForest,
    choice: &CallChoice,
    query: &FunctionsQuery,
    cancel: &Cancel,
) -> Result<FunctionsPage, ViewError> {
    let irqs = Irqs::read(source, forest, cancel)?;
    let mut gathered: IdMap<Key, GatheredDurations> = IdMap::default();
    for (index, call) in (0_u32..).zip(&forest.calls).filter(|(index, _)| choice.is_hit(*index)) {
        let handled = irqs.of_call.get(&index).map_or(&[][..], Vec::as_slice);
        let part = match query.part {
            Part::Whole => 0,
            Part::Cpu => call.cpu,
            Part::Thread => call.task,
            Part::Irq => match handled.first() {
                Some(irq) => *irq,
                None => continue,
            },
        };
        let key = (call.function, part);
        if gathered.len() >= MAX_ROWS && !gathered.contains_key(&key) {
            continue;
        }
        gathered.entry(key).or_default().add(index, call, handled);
    }
    let needle = Needle::new(&query.search);
    let rows = gathered.into_iter().map(|(key, gathered)| row(source, forest, &irqs, query.part, key, gathered));
    let mut rows: Vec<FunctionRow> = rows
        .filter(|row| {
            needle.as_ref().is_none_or(|needle| {
                needle.is_in(&row.function) || row.part.as_ref().is_some_and(|part| needle.is_in(part))
            })
        })
        .collect();
    rows.sort_by(|a, b| compare(a, b, query));
    let own = rows.iter().map(|row| row.own).sum();
    let (total, skip) = (rows.len() as u64, usize::try_from(query.offset).unwrap_or(usize::MAX));
    let limit = query.limit.min(MAX_FUNCTION_PAGE) as usize;
    let (chosen, left_out) = (choice.count, forest.left_out());
    let rows = rows.into_iter().skip(skip).take(limit).collect();
    Ok(FunctionsPage { total, offset: query.offset, rows, chosen, left_out, own, irqs: has_irqs(source) })
}

impl GatheredDurations {
    fn add(&mut self, index: u32, call: &Record, irqs: &[u32]) {
        irqs.iter().for_each(|irq| *self.irqs.entry(*irq).or_insert(0) += 1);
        if !call.is_measured() {
            self.cut += 1;
            return;
        }
        self.durations.push(call.duration_ns());
        self.own = self.own.saturating_add(call.own_ns());
        // The first of equals.
        self.longest = self.longest.max(Some((call.duration_ns(), Reverse(index))));
    }
}

/// The value that `hundredths` of all do not exceed: the nearest rank.
pub(super) fn quantile(sorted: &[u64], hundredths: usize) -> u64 {
    let rank = (sorted.len() * hundredths).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

fn row(
    source: &dyn Source,
    forest: &CallForest,
    irqs: &Irqs,
    part: Part,
    (function, key): Key,
    mut gathered: GatheredDurations,
) -> FunctionRow {
    gathered.durations.sort_unstable();
    let durations = &gathered.durations;
    let total = durations.iter().fold(0_u64, |sum, duration| sum.saturating_add(*duration));
    let task = forest.tasks.get(key as usize).filter(|_| part == Part::Thread);
    let mut shares: Vec<IrqShare> = gathered
        .irqs
        .iter()
        .map(|(irq, count)| IrqShare {
            name: irqs.names.get(*irq as usize).cloned().unwrap_or_default(),
            count: *count,
        })
        .collect();
    shares.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    shares.truncate(MAX_SHARES);
    let calls = durations.len() as u64;
    FunctionRow {
        function: source
            .dictionaries()
            .text(function)
            .map_or_else(|| "[no name]".to_owned(), bathyscope_capture::visible),
        part: match part {
            Part::Whole => None,
            Part::Cpu => Some(format!("CPU {key}")),
            Part::Thread => task.map(|task| format!("{} {}", comm_of(source, task.tid, task.comm), task.tid)),
            Part::Irq => irqs.names.get(key as usize).cloned(),
        },
        cpu: if part == Part::Cpu { Some(u64::from(key)) } else { task.and_then(|task| task.cpu) },
        tid: task.map(|task| task.tid),
        calls: calls + gathered.cut,
        cut: gathered.cut,
        total,
        own: gathered.own,
        average: total / calls.max(1),
        median: quantile(durations, 50),
        p99: quantile(durations, 99),
        longest: gathered.longest.map_or(0, |(duration, _)| duration),
        longest_id: gathered.longest.map(|(_, Reverse(index))| forest.id(index)),
        irqs: shares,
    }
}

fn compare(a: &FunctionRow, b: &FunctionRow, query: &FunctionsQuery) -> Ordering {
    let number = |row: &FunctionRow| match query.rank {
        FunctionRank::Total => row.total,
        FunctionRank::Own => row.own,
        FunctionRank::Calls => row.calls,
        FunctionRank::Average => row.average,
        FunctionRank::Median => row.median,
        FunctionRank::P99 => row.p99,
        FunctionRank::Longest => row.longest,
        FunctionRank::Name => 0,
    };
    let by_name = a.function.cmp(&b.function).then_with(|| a.part.cmp(&b.part));
    let first = if query.rank == FunctionRank::Name { by_name } else { number(a).cmp(&number(b)) };
    if query.ascending { first.then(by_name) } else { first.reverse().then(by_name) }
}
