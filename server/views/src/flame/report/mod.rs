//! Samples by any keys: name of the thread, file, function, source line, CPU, process, thread, control group; with the chains of
//! calls of each row. What `perf report` shows.

mod chains;
mod counts;
mod places;

use std::collections::HashMap;

use bathyscope_capture::StreamSchema;

use self::{
    chains::ChainBuilder,
    counts::{CountedSamples, SampleKeys},
    places::{Place, Places},
};
use super::{groups::cgroup_column, sample_unit};
use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    answers::{NodeKind, SampleUnit},
    hash::IdMap,
    needle::shown,
    scan::schema_of,
};

pub use chains::ChainNode;

/// The most rows that are told apart. The samples of others are one row.
const MAX_REPORT_ROWS: usize = 1 << 20;

/// What samples are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReportKey {
    /// The name of the thread.
    Comm,
    /// What the code was mapped from.
    Dso,
    /// The function.
    Symbol,
    /// File and line of the source.
    SourceLine,
    /// The CPU.
    Cpu,
    /// The process.
    Pid,
    /// The thread.
    Tid,
    /// The control group.
    Cgroup,
}

impl ReportKey {
    /// All of them with the words that perf has for them.
    pub const ALL: [(&str, Self); 8] = [
        ("comm", Self::Comm),
        ("dso", Self::Dso),
        ("symbol", Self::Symbol),
        ("srcline", Self::SourceLine),
        ("cpu", Self::Cpu),
        ("pid", Self::Pid),
        ("tid", Self::Tid),
        ("cgroup", Self::Cgroup),
    ];

    /// The key of this name. `sym` is short for `symbol`, as with perf.
    pub fn named(word: &str) -> Option<Self> {
        let word = if word == "sym" { "symbol" } else { word };
        Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, key)| *key)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, key)| *key == self).map_or("", |(name, _)| name)
    }

    /// Whether it is of a frame, not of the whole sample.
    const fn is_of_frame(self) -> bool {
        matches!(self, Self::Dso | Self::Symbol | Self::SourceLine)
    }
}

/// Which end of a chain of calls is its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainOrder {
    /// The outermost caller: what was called is below.
    Caller,
    /// The innermost function: who called it is below.
    Callee,
}

/// Which samples, and how they are told apart.
#[derive(Clone, Debug)]
pub struct ReportQuery {
    /// The stream of samples.
    pub stream: u16,
    /// Samples from when until when.
    pub range: TimeRange,
    /// Only these.
    pub filter: Option<Filter>,
    /// By what rows are told apart, in the order of their columns.
    pub keys: Vec<ReportKey>,
    /// Whether a sample also counts for the functions that called the innermost one, and rows are in the order of that.
    pub children: bool,
    /// Chains of calls; none if there is no order.
    pub chains: Option<ChainOrder>,
    /// Nodes of chains with a smaller share of all samples, in percent, are left out.
    pub chain_percent: f64,
}

/// The value of a row for a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportValue {
    /// The name of a thread, a control group, a line of source.
    Text(String),
    /// What code was mapped from: its whole path, or empty where it is not known.
    Module(String),
    /// A function.
    Function {
        /// Its name.
        name: String,
        /// Whether it is the kernel's.
        is_kernel: bool,
    },
    /// A CPU.
    Number(u64),
    /// A process or a thread, and what it was called last.
    Thread {
        /// Its number.
        id: u64,
        /// Its name.
        comm: String,
    },
    /// One of those that are not told apart.
    Other,
}

/// Samples with the same values of all keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRow {
    /// By key.
    pub values: Vec<ReportValue>,
    /// Weight of samples that ended in it.
    pub own: u64,
    /// How many samples these are.
    pub samples: u64,
    /// The same with those of what it called; each sample counts once. As `own` without children.
    pub total: u64,
    /// Its chains of calls, the heaviest first.
    pub chains: Vec<ChainNode>,
}

/// Samples of one stream by keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleReport {
    /// What weights count.
    pub unit: SampleUnit,
    /// How many samples there are.
    pub samples: u64,
    /// The weight of all.
    pub total: u64,
    /// The most frames that a stack has.
    pub deepest: usize,
    /// The rows, the heaviest first.
    pub rows: Vec<ReportRow>,
}

/// Makes the rows.
///
/// # Errors
/// If the stream has no samples, or none with what a key asks for; if the query does not fit the capture, a chunk cannot be
/// loaded, or `cancel` was set.
pub fn sample_report(source: &dyn Source, query: &ReportQuery, cancel: &Cancel) -> Result<SampleReport, ViewError> {
    let schema = schema_of(source, query.stream)?;
    let unit = sample_unit(schema).ok_or(ViewError::NoSamples)?;
    if query.keys.contains(&ReportKey::Cgroup) && cgroup_column(schema).is_none() {
        return Err(ViewError::NoReportKey {
            key: "cgroup",
            why: "no control group was recorded with these samples",
            remedy: "record one group by itself, with --cgroup, --container or --unit",
        });
    }
    let counted = CountedSamples::read(source, query, cancel)?;
    let mut rows = Rows::new(source, query);
    rows.count(&counted, cancel)?;
    if query.keys.contains(&ReportKey::SourceLine) && counted.samples > 0 && !rows.places.has_lines() {
        return Err(ViewError::NoReportKey {
            key: "srcline",
            why: "no frame of these samples has a line of source: no debug information was found when the capture ended",
            remedy: "build the program with -g, or install its debug symbols, and record again",
        });
    }
    if let Some(order) = query.chains {
        rows.add_chains(&counted, order, cancel)?;
    }
    Ok(SampleReport {
        unit,
        samples: counted.samples,
        total: counted.weight,
        deepest: rows.deepest,
        rows: rows.finish(&counted.keys),
    })
}

/// What makes a row: the values of the sample, and those of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct RowKey {
    sample: u32,
    module: u16,
    name: u32,
    is_kernel: bool,
    line: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct RowSum {
    own: u64,
    samples: u64,
    total: u64,
    /// Of the sample that it was counted for last.
    last: u32,
}

/// Rows while they are counted.
struct Rows<'a> {
    source: &'a dyn Source,
    query: &'a ReportQuery,
    places: Places<'a>,
    by_key: HashMap<RowKey, u32>,
    keys: Vec<RowKey>,
    sums: Vec<RowSum>,
    chains: IdMap<u32, ChainBuilder>,
    deepest: usize,
    total: u64,
}

/// The row of those that are not told apart.
const OTHER: RowKey = RowKey { sample: u32::MAX, module: 0, name: u32::MAX, is_kernel: false, line: 0 };

impl<'a> Rows<'a> {
    fn new(source: &'a dyn Source, query: &'a ReportQuery) -> Self {
        let places = Places::new(source.dictionaries(), query.keys.contains(&ReportKey::SourceLine));
        let (by_key, keys, sums, chains) = Default::default();
        Self { source, query, places, by_key, keys, sums, chains, deepest: 0, total: 0 }
    }

    /// The row of a place in a sample.
    fn row(&mut self, sample: u32, place: Place) -> u32 {
        let mut key = RowKey { sample, module: 0, name: 0, is_kernel: false, line: 0 };
        for wanted in &self.query.keys {
            match wanted {
                ReportKey::Dso => key.module = place.module,
                ReportKey::Symbol => (key.name, key.is_kernel) = (place.name, place.is_kernel),
                ReportKey::SourceLine => key.line = place.line,
                _ => {}
            }
        }
        if let Some(row) = self.by_key.get(&key) {
            return *row;
        }
        let key = if self.keys.len() >= MAX_REPORT_ROWS { OTHER } else { key };
        let next = self.keys.len() as u32;
        let row = *self.by_key.entry(key).or_insert(next);
        if row == next {
            self.keys.push(key);
            self.sums.push(RowSum::default());
        }
        row
    }

    /// Calls `each` with every stack, by the values of its samples, and with its places, innermost first.
    fn for_each(
        &mut self,
        counted: &CountedSamples,
        cancel: &Cancel,
        mut each: impl FnMut(&mut Self, &[Place], (u32, u64, u64)),
    ) -> Result<(), ViewError> {
        let dictionaries = self.source.dictionaries();
        let mut path = Vec::new();
        let mut done = 0_u32;
        dictionaries.for_each_stack(counted.stacks(), |stack, frames| {
            done = done.wrapping_add(1);
            if done.is_multiple_of(4096) && cancel.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(ViewError::Cancelled);
            }
            path.clear();
            self.places.add_stack(frames.unwrap_or(&[]), &mut path);
            counted.of_stack(stack).iter().for_each(|pair| each(self, &path, (pair.keys, pair.weight, pair.samples)));
            Ok(())
        })?;
        for (keys, weight, samples) in counted.beyond() {
            let place = self.places.other_stacks();
            each(self, &[place], (keys, weight, samples));
        }
        Ok(())
    }

    fn count(&mut self, counted: &CountedSamples, cancel: &Cancel) -> Result<(), ViewError> {
        let children = self.query.children && self.query.keys.iter().any(|key| key.is_of_frame());
        let mut sample = 0_u32;
        self.total = counted.weight;
        self.for_each(counted, cancel, |rows, path, (keys, weight, samples)| {
            sample = sample.wrapping_add(1);
            rows.deepest = rows.deepest.max(path.len());
            let counts = if children { path.len() } else { 1 };
            for (depth, place) in path.iter().take(counts).enumerate() {
                let row = rows.row(keys, *place);
                let Some(sum) = rows.sums.get_mut(row as usize) else { continue };
                if depth == 0 {
                    sum.own += weight;
                    sum.samples += samples;
                }
                if std::mem::replace(&mut sum.last, sample) != sample {
                    sum.total += weight;
                }
            }
        })
    }

    /// Chains of the rows that have a share large enough for one.
    fn add_chains(&mut self, counted: &CountedSamples, order: ChainOrder, cancel: &Cancel) -> Result<(), ViewError> {
        let least = self.least_weight();
        let children = self.query.children && self.query.keys.iter().any(|key| key.is_of_frame());
        let mut seen: Vec<u32> = Vec::new();
        self.for_each(counted, cancel, |rows, path, (keys, weight, _)| {
            seen.clear();
            let mut add = |rows: &mut Self, place: &Place, chain: &mut dyn Iterator<Item = Place>| {
                let row = rows.row(keys, *place);
                let is_shown = rows.sums.get(row as usize).is_some_and(|sum| sum.total >= least);
                if !is_shown || seen.contains(&row) {
                    return;
                }
                seen.push(row);
                rows.chains.entry(row).or_default().add(chain, weight);
            };
            let Some(leaf) = path.first() else { return };
            // The row of the innermost function has the whole chain; the others, in whose callees the sample was, have the part
            // below the root that the order tells.
            match order {
                ChainOrder::Callee => add(rows, leaf, &mut path.iter().copied()),
                ChainOrder::Caller => add(rows, leaf, &mut path.iter().rev().copied()),
            }
            let inner = if children { 1..path.len() } else { 0..0 };
            let mut add_inner = |rows: &mut Self, at: usize| {
                let Some(place) = path.get(at) else { return };
                match order {
                    ChainOrder::Callee => add(rows, place, &mut path.iter().skip(at).copied()),
                    ChainOrder::Caller => add(rows, place, &mut path.iter().take(at + 1).rev().copied()),
                }
            };
            match order {
                ChainOrder::Callee => inner.for_each(|at| add_inner(rows, at)),
                ChainOrder::Caller => inner.rev().for_each(|at| add_inner(rows, at)),
            }
        })
    }

    /// The smallest weight that has chains.
    fn least_weight(&self) -> u64 {
        (self.total as f64 * self.query.chain_percent / 100.0).ceil() as u64
    }

    fn finish(mut self, keys: &SampleKeys) -> Vec<ReportRow> {
        let least = self.least_weight().max(1);
        let children = self.query.children;
        let mut rows = Vec::with_capacity(self.keys.len());
        for (at, (key, sum)) in (0_u32..).zip(self.keys.iter().zip(&self.sums)) {
            let values = self.query.keys.iter().map(|wanted| match wanted {
                _ if *key == OTHER => ReportValue::Other,
                ReportKey::Dso => ReportValue::Module(self.places.module(key.module).to_owned()),
                ReportKey::Symbol => {
                    ReportValue::Function { name: self.places.name(key.name).to_owned(), is_kernel: key.is_kernel }
                }
                ReportKey::SourceLine => ReportValue::Text(self.places.line(key.line).to_owned()),
                of_sample => keys.value(key.sample, *of_sample),
            });
            let chains =
                self.chains.remove(&at).map_or(Vec::new(), |built| built.finish(least, |n| self.places.name(n)));
            let RowSum { own, samples, total, .. } = *sum;
            rows.push(ReportRow { values: values.collect(), own, samples, total, chains });
        }
        let rank = |row: &ReportRow| if children { (row.total, row.own) } else { (row.own, row.total) };
        rows.sort_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| a.values.cmp(&b.values)));
        rows
    }
}

/// What a text of the capture is called.
fn text_of(source: &dyn Source, id: u32) -> String {
    source.dictionaries().text(id).map_or_else(|| "[no name]".to_owned(), |text| shown(text).into_owned())
}

/// Streams of samples, by number.
pub fn sampled_streams(source: &dyn Source) -> Vec<(u16, &StreamSchema)> {
    (0_u16..).zip(source.streams()).filter(|(_, schema)| sample_unit(schema).is_some()).collect()
}

/// Whether a name in a chain was inlined into its caller.
fn is_inlined(kind: NodeKind) -> bool {
    kind == NodeKind::Inlined
}
