//! The columns of samples and of their branches, and the values of a row.

use std::collections::HashMap;

use bathyscope_capture::{Cell, Column, ColumnType, Display, Row, StackId, StreamKind, StreamSchema, StringId};
use bathyscope_decode::perf::{Access, Branch, MemoryWords, Sample, has_data_source};

/// Said at the end of a capture of memory in which nothing was told.
pub(crate) const NO_DATA_SOURCE: &str =
    "no sample told its data source (memory events such as cpu/mem-loads/P or ibs_op// do)";
/// The name of the stream of branches.
const BRANCHES: &str = "branches";
/// The most data sources whose words are kept; a CPU has some hundred.
const MAX_SOURCES: usize = 1 << 12;

/// The columns of memory, behind `stack`.
const MEMORY: [(&str, ColumnType, Display); 12] = [
    ("addr", ColumnType::U64, Display::Hex),
    ("mapping", ColumnType::Text, Display::Text),
    ("access", ColumnType::Text, Display::Text),
    ("level", ColumnType::Text, Display::Text),
    ("snoop", ColumnType::Text, Display::Text),
    ("tlb", ColumnType::Text, Display::Text),
    ("locked", ColumnType::Text, Display::Text),
    ("blocked", ColumnType::Text, Display::Text),
    ("weight", ColumnType::U64, Display::Decimal),
    ("ins_lat", ColumnType::U64, Display::Decimal),
    ("retire_lat", ColumnType::U64, Display::Decimal),
    ("data_src", ColumnType::U64, Display::Hex),
];
/// The event of a sample, where several are sampled: behind the columns of memory.
const EVENT: [(&str, ColumnType, Display); 1] = [("event", ColumnType::Text, Display::Text)];
/// The number by which branches find their sample, at the end of its columns.
const NUMBER: [(&str, ColumnType, Display); 1] = [("sample", ColumnType::U64, Display::Decimal)];
/// The columns of a branch, behind the common ones.
const BRANCH: [(&str, ColumnType, Display); 11] = [
    ("sample", ColumnType::U64, Display::Decimal),
    ("index", ColumnType::U64, Display::Decimal),
    ("from", ColumnType::Stack, Display::Text),
    ("to", ColumnType::Stack, Display::Text),
    ("mispredicted", ColumnType::U64, Display::Decimal),
    ("predicted", ColumnType::U64, Display::Decimal),
    ("in_tx", ColumnType::U64, Display::Decimal),
    ("abort", ColumnType::U64, Display::Decimal),
    ("cycles", ColumnType::U64, Display::Decimal),
    ("kind", ColumnType::Text, Display::Text),
    ("spec", ColumnType::Text, Display::Text),
];

fn columns<'a>(all: &'a [(&'a str, ColumnType, Display)]) -> impl Iterator<Item = Column> + 'a {
    all.iter().map(|(name, ty, display)| Column { name: (*name).to_owned(), ty: *ty, display: *display })
}

/// What samples have besides their stack.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampleColumns {
    /// The memory that was accessed.
    pub(crate) memory: bool,
    /// A number, by which branches find their sample.
    pub(crate) branches: bool,
    /// Their event, one of several.
    pub(crate) event: bool,
}

/// The schema of samples.
pub(crate) fn samples(name: String, with: SampleColumns) -> StreamSchema {
    let stack = [("stack", ColumnType::Stack, Display::Text)];
    let memory = if with.memory { &MEMORY[..] } else { &[] };
    let event = if with.event { &EVENT[..] } else { &[] };
    let number = if with.branches { &NUMBER[..] } else { &[] };
    let more = columns(memory).chain(columns(event)).chain(columns(number));
    StreamSchema::new(name, StreamKind::Samples, columns(&stack).chain(more))
}

/// The schema of the branches of these samples.
pub(crate) fn branches(samples: &str) -> StreamSchema {
    // The event can be called so, too.
    let name = if samples == BRANCHES { "branch records" } else { BRANCHES };
    StreamSchema::new(name, StreamKind::Events, columns(&BRANCH))
}

/// A stack of so many frames, with the address of its innermost one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampledStack {
    pub(crate) id: StackId,
    pub(crate) top: Option<u64>,
    pub(crate) depth: usize,
}

/// A row, its texts by their ids.
pub(crate) type SampleRow = Row<StringId, SampledStack>;
type SampleCell = Cell<StringId, SampledStack>;

/// A stack of one frame, or of none.
fn place(id: StackId, address: u64) -> SampleCell {
    Cell::Stack(SampledStack { id, top: Some(address), depth: 1 })
}

/// The row of a sample or of one of its branches, with the common columns.
pub(crate) fn common(time_ns: u64, sample: &Sample, comm: StringId) -> SampleRow {
    Row::common(time_ns, sample.cpu, [sample.pid, sample.tid], comm)
}

/// The words of data sources, put into the dictionary once each.
#[derive(Debug, Default)]
pub(crate) struct SourceWords {
    known: HashMap<u64, [StringId; 6]>,
    /// Samples of memory, and those among them whose data source says something.
    seen: u64,
    told: u64,
}

impl SourceWords {
    /// Whether there were samples of memory, and none told anything.
    pub(crate) fn says_nothing(&self) -> bool {
        self.seen > 0 && self.told == 0
    }

    /// The columns of memory of a sample. `text` gives the id of a text.
    pub(crate) fn cells(
        &mut self,
        access: &Access,
        mapping: StringId,
        text: &mut dyn FnMut(&[u8]) -> StringId,
    ) -> [SampleCell; 12] {
        self.seen += 1;
        self.told += u64::from(has_data_source(access.data_source));
        if self.known.len() >= MAX_SOURCES {
            self.known.clear();
        }
        let [kind, level, snoop, tlb, locked, blocked] = *self.known.entry(access.data_source).or_insert_with(|| {
            let MemoryWords { access, level, snoop, tlb, locked, blocked } = MemoryWords::of(access.data_source);
            [access, level, snoop, tlb, locked, blocked].map(|words| text(words.as_bytes()))
        });
        [
            Cell::U64(access.address),
            Cell::Text(mapping),
            Cell::Text(kind),
            Cell::Text(level),
            Cell::Text(snoop),
            Cell::Text(tlb),
            Cell::Text(locked),
            Cell::Text(blocked),
            Cell::U64(access.weight),
            Cell::U64(access.instruction_latency),
            Cell::U64(access.retire_latency),
            Cell::U64(access.data_source),
        ]
    }
}

/// The columns of branch `index` of a sample; `from` and `to` are stacks of one frame.
pub(crate) fn branch(
    (sample, index): (u64, u64),
    branch: &Branch,
    (from, to): (StackId, StackId),
    text: &mut dyn FnMut(&str) -> StringId,
) -> [SampleCell; 11] {
    let flags = branch.flags;
    let flag = |set: bool| Cell::U64(u64::from(set));
    [
        Cell::U64(sample),
        Cell::U64(index),
        place(from, branch.from),
        place(to, branch.to),
        flag(flags.mispredicted()),
        flag(flags.predicted()),
        flag(flags.in_tx()),
        flag(flags.abort()),
        Cell::U64(flags.cycles()),
        Cell::Text(text(flags.kind())),
        Cell::Text(text(flags.speculation())),
    ]
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::{Batch, StringDictionary};

    use super::*;

    #[test]
    fn a_row_has_a_value_for_each_column() {
        let mut strings = StringDictionary::default();
        let sample = Sample { cpu: 1, pid: 2, tid: 3, ..Sample::default() };
        let schema = samples("x".to_owned(), SampleColumns { memory: true, branches: true, event: true });
        let mut rows = Batch::empty(&schema);
        let mut row = common(9, &sample, 4);
        row.cells.push(Cell::Stack(SampledStack { id: 5, top: None, depth: 2 }));
        let mut words = SourceWords::default();
        let access = Access { address: 0x1000, data_source: 0x6810_0142, weight: 7, ..Access::default() };
        row.cells.extend(words.cells(&access, 0, &mut |text| strings.id(text)));
        row.cells.push(Cell::Text(6));
        row.cells.push(Cell::U64(3));
        assert!(row.append(&mut rows, |text| text, |stack| stack.id));
        let at = |name: &str| &rows.columns[schema.column(name).unwrap()];
        assert_eq!((at("addr").as_u64(), at("weight").as_u64()), (&[0x1000][..], &[7][..]));
        assert_eq!((at("stack").as_id(), at("data_src").as_u64()), (&[5][..], &[0x6810_0142][..]));
        let taken = strings.take_new();
        let level = taken.iter().find(|(id, _)| *id == at("level").as_id()[0]).unwrap();
        assert_eq!(&*level.1, b"L1 hit");
        assert!(!words.says_nothing());
    }

    #[test]
    fn branches_have_a_name_of_their_own() {
        assert_eq!((branches("cycles").name, branches("branches").name), ("branches".into(), "branch records".into()));
        let mut text = |text: &str| u32::try_from(text.len()).unwrap();
        let flags = bathyscope_decode::perf::BranchFlags(1 | 9 << 4 | 6 << 20);
        let cells = branch((3, 1), &Branch { from: 0x10, to: 0x20, flags }, (7, 8), &mut text);
        assert_eq!(cells.len() + 5, branches("x").columns.len());
        assert_eq!(cells[2], place(7, 0x10));
        assert_eq!(
            cells[4..],
            [1, 0, 0, 0, 9].map(Cell::U64).into_iter().chain([3, 0].map(Cell::Text)).collect::<Vec<_>>()
        );
    }
}
