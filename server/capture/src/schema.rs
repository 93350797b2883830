//! What the columns of a stream mean.

mod meaning;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use meaning::{Derivation, RowKind, RowMeaning, SliceTime};

use crate::ColumnUnit;

/// What a row of a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamKind {
    /// A hit of a probe.
    Events,
    /// A sampled stack.
    Samples,
    /// An element of a script's map, or one bucket of it, as it was at a moment: every snapshot is a run of rows with one
    /// time and one number in the column `snapshot`.
    Map,
}

/// How a column is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnType {
    /// Unsigned 64-bit numbers.
    U64,
    /// Signed 64-bit numbers.
    I64,
    /// [`crate::StringId`]s into the capture's strings.
    Text,
    /// [`crate::StackId`]s into the capture's stacks.
    Stack,
}

/// How a column's values are written for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Display {
    /// In base ten.
    Decimal,
    /// In base sixteen with `0x`.
    Hex,
    /// Nanoseconds of the monotonic clock, shown relative to the capture's start.
    TimeNs,
    /// A length of time in nanoseconds, scaled.
    DurationNs,
    /// Text or a stack's innermost frame.
    Text,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, unique in the stream.
    pub name: String,
    /// How it is kept.
    pub ty: ColumnType,
    /// How it is shown.
    pub display: Display,
}

/// How the kernel describes and prints an event, as it was when the capture was made: ids, fields, values and even the
/// words differ between kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFormat {
    /// The text of the event's format file.
    pub text: String,
    /// Values of names in the print format that the kernel left there, such as those of enumerations; and, as `_text`,
    /// where the kernel's code begins, if its functions are named in the text.
    pub constants: BTreeMap<String, i64>,
}

impl KernelFormat {
    /// The longest text that is kept, in bytes; the longest of any kernel seen has some 80 KiB.
    pub const MAX_TEXT_BYTES: usize = 256 << 10;
    /// The most constants.
    pub const MAX_CONSTANTS: usize = 4096;
    /// The name of the constant that says where the kernel's code begins.
    pub const CODE_START: &'static str = "_text";
}

/// The columns of one stream.
///
/// Every stream begins with the five columns of [`StreamSchema::COMMON`], in that order; the samples of a profile then
/// have `stack` (type [`ColumnType::Stack`]) as the sixth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamSchema {
    /// The probe's name, such as `sched:sched_switch` or `cpu-clock`.
    pub name: String,
    /// What a row is.
    pub kind: StreamKind,
    /// All columns in order, the common ones first.
    pub columns: Vec<Column>,
    /// How the kernel prints the event, if a row is one of the kernel's and this was recorded. Captures from before there
    /// was this field have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Box<KernelFormat>>,
    /// What a row says about time, if the stream says it; [`StreamSchema::meaning`] answers for any stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Box<RowMeaning>>,
    /// The id of the source of the capture whose rows these are; empty of captures from before there were several, and of what
    /// was computed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// How it was made, if it was computed from other streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<Box<Derivation>>,
}

impl StreamSchema {
    /// Index of the column `time`: nanoseconds of the monotonic clock, absolute.
    pub const TIME: usize = 0;
    /// Index of the column `cpu`.
    pub const CPU: usize = 1;
    /// Index of the column `pid`: the process (the kernel's tgid).
    pub const PID: usize = 2;
    /// Index of the column `tid`: the thread (the kernel's pid).
    pub const TID: usize = 3;
    /// Index of the column `comm`: the thread's name at that moment.
    pub const COMM: usize = 4;
    /// Index of the column `stack` in samples.
    pub const STACK: usize = 5;
    /// Names, types and looks of the common columns.
    pub const COMMON: [(&'static str, ColumnType, Display); 5] = [
        ("time", ColumnType::U64, Display::TimeNs),
        ("cpu", ColumnType::U64, Display::Decimal),
        ("pid", ColumnType::U64, Display::Decimal),
        ("tid", ColumnType::U64, Display::Decimal),
        ("comm", ColumnType::Text, Display::Text),
    ];

    /// A schema of the common columns followed by `own`.
    pub fn new(name: impl Into<String>, kind: StreamKind, own: impl IntoIterator<Item = Column>) -> Self {
        let common = Self::COMMON.map(|(name, ty, display)| Column { name: name.to_owned(), ty, display });
        let columns = common.into_iter().chain(own).collect();
        Self { name: name.into(), kind, columns, format: None, rows: None, source: String::new(), derived: None }
    }

    /// What stands in the place of a stream that was computed and is not there any more, or not yet, so that the numbers of
    /// others stay: it has no name, no columns and no rows.
    pub fn absent() -> Self {
        let (name, source) = (String::new(), String::new());
        Self { name, kind: StreamKind::Events, columns: Vec::new(), format: None, rows: None, source, derived: None }
    }

    /// Whether it only stands in the place of a stream.
    pub const fn is_absent(&self) -> bool {
        self.columns.is_empty()
    }

    /// Whether its rows were recorded, and not computed from those of others: views of all rows together count the former only.
    pub fn is_recorded(&self) -> bool {
        self.derived.is_none() && !self.is_absent()
    }

    /// Whether a row is something that happened, and not an element of a snapshot.
    pub fn has_events(&self) -> bool {
        self.kind != StreamKind::Map
    }

    /// The index of the column that says how long a row's call took, in nanoseconds: what has one is a slice of time.
    pub fn duration_column(&self) -> Option<usize> {
        self.column("duration_ns").filter(|index| self.columns.get(*index).is_some_and(|it| it.ty == ColumnType::U64))
    }

    /// Whether 0 in a column is no value, whatever asks for it: how long a system call took, of rows that take no time (signals,
    /// ends of threads) and of calls whose entry or exit was not recorded. No call takes no time.
    pub fn zero_is_none(&self, column: usize) -> bool {
        let is = |name: &str, ty| {
            self.column(name).and_then(|at| self.columns.get(at)).is_some_and(|column| column.ty == ty)
        };
        // Few columns are durations, so most answers need no names.
        let is_length =
            |it: &Column| it.ty == ColumnType::U64 && (it.display == Display::DurationNs || it.name == "duration_ns");
        self.columns.get(column).is_some_and(is_length) && is("call", ColumnType::Text) && is("result", ColumnType::I64)
    }

    /// What the numbers of a column are, as far as the stream or the column's name says it.
    pub fn unit_of(&self, column: usize) -> Option<ColumnUnit> {
        let found = self.columns.get(column).filter(|it| matches!(it.ty, ColumnType::U64 | ColumnType::I64))?;
        if matches!(found.display, Display::DurationNs | Display::TimeNs) {
            return Some(ColumnUnit::Nanoseconds);
        }
        let said = match self.meaning().kind {
            RowKind::Counter { value, unit, .. } if value == found.name => unit,
            RowKind::Sample { weight: Some(weight), unit, .. } if weight == found.name => Some(unit),
            _ => None,
        };
        said.and_then(|unit| ColumnUnit::of_name(&unit)).or_else(|| ColumnUnit::of_name(&found.name))
    }

    /// The index of the column called `name`.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// The name of the column that holds an event's own field: the field's name, or `args.NAME` where the plain name is one
/// of the common columns (`sched_wakeup` has a `pid` and a `comm` of its own).
pub fn column_name_of_field(field: &str) -> String {
    if StreamSchema::COMMON.iter().any(|(name, ..)| *name == field) || field == "stack" {
        format!("args.{field}")
    } else {
        field.to_owned()
    }
}
