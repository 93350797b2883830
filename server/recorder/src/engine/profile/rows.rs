//! The columns of samples and of their branches, and the values of a row.

use std::collections::HashMap;

use bathyscope_capture::{Batch, Column, ColumnData, ColumnType, Display, StackId, StreamKind, StreamSchema, StringId};
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

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Number(u64),
    Text(StringId),
    /// A stack of so many frames, with the address of its innermost one.
    Stack {
        id: StackId,
        top: Option<u64>,
        depth: usize,
    },
}

impl Value {
    /// A stack of one frame, or of none.
    pub(crate) fn place(id: StackId, address: u64) -> Self {
        Self::Stack { id, top: Some(address), depth: 1 }
    }
}

/// The common columns of a row.
pub(crate) fn common(time_ns: u64, sample: &Sample, comm: StringId) -> Vec<Value> {
    let number = |number: u32| Value::Number(u64::from(number));
    vec![Value::Number(time_ns), number(sample.cpu), number(sample.pid), number(sample.tid), Value::Text(comm)]
}

/// Appends a row. Columns without a value, or with one of another type, get none.
pub(crate) fn push(rows: &mut Batch, values: &[Value]) {
    for (index, column) in rows.columns.iter_mut().enumerate() {
        match (column, values.get(index)) {
            (ColumnData::U64(column), Some(Value::Number(number))) => column.push(*number),
            (ColumnData::Id(column), Some(Value::Text(id) | Value::Stack { id, .. })) => column.push(*id),
            (ColumnData::U64(column), _) => column.push(0),
            (ColumnData::I64(column), _) => column.push(0),
            (ColumnData::Id(column), _) => column.push(0),
        }
    }
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
    pub(crate) fn values(
        &mut self,
        access: &Access,
        mapping: StringId,
        text: &mut dyn FnMut(&[u8]) -> StringId,
    ) -> [Value; 12] {
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
            Value::Number(access.address),
            Value::Text(mapping),
            Value::Text(kind),
            Value::Text(level),
            Value::Text(snoop),
            Value::Text(tlb),
            Value::Text(locked),
            Value::Text(blocked),
            Value::Number(access.weight),
            Value::Number(access.instruction_latency),
            Value::Number(access.retire_latency),
            Value::Number(access.data_source),
        ]
    }
}

/// The columns of branch `index` of a sample; `from` and `to` are stacks of one frame.
pub(crate) fn branch(
    (sample, index): (u64, u64),
    branch: &Branch,
    (from, to): (StackId, StackId),
    text: &mut dyn FnMut(&str) -> StringId,
) -> [Value; 11] {
    let flags = branch.flags;
    let flag = |set: bool| Value::Number(u64::from(set));
    [
        Value::Number(sample),
        Value::Number(index),
        Value::place(from, branch.from),
        Value::place(to, branch.to),
        flag(flags.mispredicted()),
        flag(flags.predicted()),
        flag(flags.in_tx()),
        flag(flags.abort()),
        Value::Number(flags.cycles()),
        Value::Text(text(flags.kind())),
        Value::Text(text(flags.speculation())),
    ]
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::StringDictionary;

    use super::*;

    #[test]
    fn a_row_has_a_value_for_each_column() {
        let mut strings = StringDictionary::default();
        let sample = Sample { cpu: 1, pid: 2, tid: 3, ..Sample::default() };
        let schema = samples("x".to_owned(), SampleColumns { memory: true, branches: true, event: true });
        let mut rows = Batch::empty(&schema);
        let mut values = common(9, &sample, 4);
        values.push(Value::Stack { id: 5, top: None, depth: 2 });
        let mut words = SourceWords::default();
        let access = Access { address: 0x1000, data_source: 0x6810_0142, weight: 7, ..Access::default() };
        values.extend(words.values(&access, 0, &mut |text| strings.id(text)));
        values.push(Value::Text(6));
        values.push(Value::Number(3));
        assert_eq!(values.len(), schema.columns.len());
        push(&mut rows, &values);
        // A sample that holds less than the schema.
        push(&mut rows, &common(10, &sample, 4));
        assert!(rows.columns.iter().all(|column| column.len() == 2));
        let at = |name: &str| &rows.columns[schema.column(name).unwrap()];
        assert_eq!((at("addr").as_u64(), at("weight").as_u64()), (&[0x1000, 0][..], &[7, 0][..]));
        assert_eq!((at("stack").as_id(), at("data_src").as_u64()), (&[5, 0][..], &[0x6810_0142, 0][..]));
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
        let values = branch((3, 1), &Branch { from: 0x10, to: 0x20, flags }, (7, 8), &mut text);
        assert_eq!(values.len() + 5, branches("x").columns.len());
        assert_eq!(values[2], Value::place(7, 0x10));
        assert_eq!(
            values[4..],
            [1, 0, 0, 0, 9].map(Value::Number).into_iter().chain([3, 0].map(Value::Text)).collect::<Vec<_>>()
        );
    }
}
