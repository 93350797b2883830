//! What samples tell beside their stack, summed up: accesses to memory as `perf mem report` groups them, and the most
//! frequent branches from one function to another.

use std::collections::HashMap;

use bathyscope_capture::{Batch, CaptureId, ColumnData, StackId, StreamSchema, StringId, decode_chunk, visible};
use bathyscope_store::{CaptureRecord, Store, StoreError};
use bathyscope_views::{Dictionaries, frame_names};
use serde_json::json;

/// Rows that are printed of each table.
const TOP: usize = 30;
/// The words of an access that accesses are grouped by, beside symbol and mapping.
const WORDS: [&str; 6] = ["access", "level", "snoop", "tlb", "locked", "blocked"];

/// Accesses of one kind by one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Accesses {
    samples: u64,
    weight: u64,
}

/// Branches of one kind from one function to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Branches {
    branches: u64,
    mispredicted: u64,
    cycles: u64,
    /// Those whose cycles the CPU told.
    timed: u64,
}

type AccessKey = (Vec<StringId>, StringId, StackId);
type BranchKey = (StackId, StackId, StringId);

/// The records of a profile, by the ids of its dictionaries.
#[derive(Debug, Default)]
pub(super) struct Records {
    accesses: Option<HashMap<AccessKey, Accesses>>,
    branches: Option<HashMap<BranchKey, Branches>>,
}

/// Reads and sums up what there is; nothing of profiles without such records.
pub(super) async fn read(store: &Store, id: CaptureId, record: &CaptureRecord) -> Result<Records, StoreError> {
    let mut records = Records::default();
    for (index, stream) in (0_u16..).zip(&record.streams) {
        let schema = &stream.schema;
        let wanted: &[&str] = if schema.column("data_src").is_some() {
            records.accesses = Some(HashMap::new());
            &["access", "level", "snoop", "tlb", "locked", "blocked", "mapping", "stack", "weight"]
        } else if schema.column("mispredicted").is_some() {
            records.branches = Some(HashMap::new());
            &["from", "to", "kind", "mispredicted", "cycles"]
        } else {
            continue;
        };
        let columns: Vec<usize> = wanted.iter().filter_map(|name| schema.column(name)).collect();
        for info in store.chunk_index(id, index, 0).await? {
            let bytes = store.chunk(id, index, info.seq).await?;
            if let Ok(batch) = decode_chunk(schema, &bytes, &columns) {
                records.add(schema, &batch);
            }
        }
    }
    Ok(records)
}

impl Records {
    /// Whether texts are needed to show them.
    pub(super) fn is_empty(&self) -> bool {
        self.accesses.is_none() && self.branches.is_none()
    }

    fn add(&mut self, schema: &StreamSchema, batch: &Batch) {
        let column = |name: &str| schema.column(name).and_then(|index| batch.columns.get(index));
        let ids = |name: &str| column(name).map_or(&[][..], ColumnData::as_id);
        let numbers = |name: &str| column(name).map_or(&[][..], ColumnData::as_u64);
        let rows = batch.columns.iter().map(ColumnData::len).max().unwrap_or(0);
        if let Some(accesses) = self.accesses.as_mut().filter(|_| schema.column("data_src").is_some()) {
            let (words, mappings, stacks, weights) = (WORDS.map(ids), ids("mapping"), ids("stack"), numbers("weight"));
            for row in 0..rows {
                let words = words.iter().map(|ids| at(ids, row)).collect();
                let known = accesses.entry((words, at(mappings, row), at(stacks, row))).or_default();
                known.samples += 1;
                known.weight = known.weight.saturating_add(at(weights, row));
            }
        } else if let Some(branches) = &mut self.branches {
            let (from, to, kinds) = (ids("from"), ids("to"), ids("kind"));
            let (mispredicted, all_cycles) = (numbers("mispredicted"), numbers("cycles"));
            for row in 0..rows {
                let known = branches.entry((at(from, row), at(to, row), at(kinds, row))).or_default();
                let cycles = at(all_cycles, row);
                known.branches += 1;
                known.mispredicted += at(mispredicted, row);
                known.cycles = known.cycles.saturating_add(cycles);
                known.timed += u64::from(cycles > 0);
            }
        }
    }

    /// The tables, or an object for each of their rows.
    pub(super) fn shown(&self, all: &Dictionaries, as_json: bool) -> String {
        let accesses = self.accesses.as_ref().map(|found| named_accesses(found, all));
        let branches = self.branches.as_ref().map(|found| named_branches(found, all));
        let accesses = accesses.map(|rows| if as_json { json_accesses(&rows) } else { table_of_accesses(&rows) });
        let branches = branches.map(|rows| if as_json { json_branches(&rows) } else { table_of_branches(&rows) });
        [accesses, branches].into_iter().flatten().collect()
    }
}

/// The value of a row; 0 where there is none.
fn at<T: Copy + Default>(column: &[T], row: usize) -> T {
    column.get(row).copied().unwrap_or_default()
}

/// The innermost function of a stack.
fn symbol(all: &Dictionaries, stack: StackId) -> String {
    let innermost = all.stack(stack).and_then(|frames| frames.first().copied());
    let name = innermost.and_then(|frame| frame_names(all, frame).into_iter().next());
    name.map_or_else(|| "[unknown]".to_owned(), |(name, _)| name)
}

fn text(all: &Dictionaries, id: StringId) -> String {
    all.text(id).map_or_else(String::new, visible)
}

/// Words, symbol and mapping, with what there was of them; those of the greatest weight first.
fn named_accesses(found: &HashMap<AccessKey, Accesses>, all: &Dictionaries) -> Vec<(Vec<String>, Accesses)> {
    let mut rows: HashMap<Vec<String>, Accesses> = HashMap::new();
    for ((words, mapping, stack), count) in found {
        let words = words.iter().map(|word| text(all, *word));
        let key: Vec<String> = words.chain([symbol(all, *stack), text(all, *mapping)]).collect();
        let sum = rows.entry(key).or_default();
        sum.samples += count.samples;
        sum.weight = sum.weight.saturating_add(count.weight);
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by(|(a_key, a), (b_key, b)| (b.weight, b.samples, a_key).cmp(&(a.weight, a.samples, b_key)));
    rows
}

/// From, to and kind, with what there was of them; the most frequent first.
fn named_branches(found: &HashMap<BranchKey, Branches>, all: &Dictionaries) -> Vec<([String; 3], Branches)> {
    let mut rows: HashMap<[String; 3], Branches> = HashMap::new();
    for ((from, to, kind), count) in found {
        let sum = rows.entry([symbol(all, *from), symbol(all, *to), text(all, *kind)]).or_default();
        sum.branches += count.branches;
        sum.mispredicted += count.mispredicted;
        sum.cycles = sum.cycles.saturating_add(count.cycles);
        sum.timed += count.timed;
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by(|(a_key, a), (b_key, b)| b.branches.cmp(&a.branches).then_with(|| a_key.cmp(b_key)));
    rows
}

/// A text of at least so many characters, with what does not fit kept.
fn padded(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

fn table_of_accesses(rows: &[(Vec<String>, Accesses)]) -> String {
    let samples: u64 = rows.iter().map(|(_, count)| count.samples).sum();
    let weight: u64 = rows.iter().map(|(_, count)| count.weight).fold(0, u64::saturating_add);
    let mut text = format!("\n{samples} accesses, weight {weight}\n");
    let heads = ["access", "level", "snoop", "TLB", "locked", "blocked", "symbol", "mapping"];
    let shown = rows.get(..TOP.min(rows.len())).unwrap_or_default();
    let width = |index: usize, head: &str| {
        let cells = shown.iter().filter_map(|(key, _)| key.get(index)).map(|cell| cell.chars().count());
        cells.chain([head.len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = heads.iter().enumerate().map(|(index, head)| width(index, head)).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells: Vec<String> = cells.zip(&widths).map(|(cell, width)| padded(cell, *width)).collect();
        cells.join("  ").trim_end().to_owned()
    };
    text.push_str(&format!("{:>7} {:>8} {:>10}  {}\n", "share", "samples", "weight", line(&mut heads.into_iter())));
    for (key, count) in shown {
        // Where nothing has a weight, it is the samples that count.
        let (part, all) = if weight > 0 { (count.weight, weight) } else { (count.samples, samples) };
        let share = 100.0 * part as f64 / all.max(1) as f64;
        let cells = line(&mut key.iter().map(String::as_str));
        text.push_str(&format!("{share:>6.1}% {:>8} {:>10}  {cells}\n", count.samples, count.weight));
    }
    text + &more(rows.len())
}

fn table_of_branches(rows: &[([String; 3], Branches)]) -> String {
    let all: u64 = rows.iter().map(|(_, count)| count.branches).sum();
    let mut text = format!("\n{all} branches\n");
    text.push_str(&format!(
        "{:>7} {:>8} {:>12} {:>7}  {:<9}  from -> to\n",
        "share", "branches", "mispredicted", "cycles", "kind"
    ));
    for ([from, to, kind], count) in rows.iter().take(TOP) {
        let percent = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
        let missed = percent(count.mispredicted, count.branches);
        let cycles = mean_cycles(count).map_or_else(|| "-".to_owned(), |cycles| format!("{cycles:.1}"));
        let kind = if kind.is_empty() { "-" } else { kind };
        let share = percent(count.branches, all);
        text.push_str(&format!(
            "{share:>6.1}% {:>8} {missed:>11.1}% {cycles:>7}  {kind:<9}  {from} -> {to}\n",
            count.branches
        ));
    }
    text + &more(rows.len())
}

/// Cycles between a branch and the one before, where the CPU tells them.
fn mean_cycles(count: &Branches) -> Option<f64> {
    (count.timed > 0).then(|| count.cycles as f64 / count.timed as f64)
}

fn more(rows: usize) -> String {
    if rows > TOP { format!("{} more\n", rows - TOP) } else { String::new() }
}

fn json_accesses(rows: &[(Vec<String>, Accesses)]) -> String {
    let line = |(key, count): &(Vec<String>, Accesses)| {
        let cell = |index: usize| key.get(index);
        let object = json!({
            "access": cell(0), "level": cell(1), "snoop": cell(2), "tlb": cell(3), "locked": cell(4),
            "blocked": cell(5), "symbol": cell(6), "mapping": cell(7), "samples": count.samples, "weight": count.weight,
        });
        format!("{object}\n")
    };
    rows.iter().map(line).collect()
}

fn json_branches(rows: &[([String; 3], Branches)]) -> String {
    let line = |([from, to, kind], count): &([String; 3], Branches)| {
        let object = json!({
            "from": from, "to": to, "kind": kind, "branches": count.branches, "mispredicted": count.mispredicted,
            "mean_cycles": mean_cycles(count),
        });
        format!("{object}\n")
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(level: &str, symbol: &str, samples: u64, weight: u64) -> (Vec<String>, Accesses) {
        let key = ["load", level, "None", "L1 hit", "No", "N/A", symbol, "[heap]"].map(str::to_owned).to_vec();
        (key, Accesses { samples, weight })
    }

    #[test]
    fn accesses_are_a_table_by_weight() {
        let rows = [row("Local RAM hit", "walk", 3, 600), row("L1 hit", "sum", 5, 200)];
        let expected = "
8 accesses, weight 800
  share  samples     weight  access  level          snoop  TLB     locked  blocked  symbol  mapping
  75.0%        3        600  load    Local RAM hit  None   L1 hit  No      N/A      walk    [heap]
  25.0%        5        200  load    L1 hit         None   L1 hit  No      N/A      sum     [heap]
";
        assert_eq!(table_of_accesses(&rows), expected);
        // Without weights the samples are what counts.
        assert!(table_of_accesses(&[row("N/A", "walk", 3, 0), row("N/A", "sum", 1, 0)]).contains("  75.0%        3"));
        let json: serde_json::Value = serde_json::from_str(json_accesses(&rows).lines().next().unwrap()).unwrap();
        assert_eq!((&json["symbol"], &json["weight"]), (&json!("walk"), &json!(600)));
    }

    #[test]
    fn branches_are_a_table_by_number() {
        let row = |kind: &str, branches, mispredicted, cycles, timed| {
            let names = ["main", "sum", kind].map(str::to_owned);
            (names, Branches { branches, mispredicted, cycles, timed })
        };
        let rows = [row("call", 3, 1, 30, 2), row("", 1, 0, 0, 0)];
        let expected = "
4 branches
  share branches mispredicted  cycles  kind       from -> to
  75.0%        3        33.3%    15.0  call       main -> sum
  25.0%        1         0.0%       -  -          main -> sum
";
        assert_eq!(table_of_branches(&rows), expected);
        let json: serde_json::Value = serde_json::from_str(json_branches(&rows).lines().last().unwrap()).unwrap();
        assert_eq!((&json["mean_cycles"], &json["branches"]), (&json!(null), &json!(1)));
    }
}
