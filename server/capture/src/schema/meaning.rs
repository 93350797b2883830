//! What a row of a stream says about time, and what a derived stream was made from.

use serde::{Deserialize, Serialize};

use super::{ColumnType, StreamKind, StreamSchema};

/// What a row is, with the columns that views need to draw it. Columns are given by their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowMeaning {
    /// What it is.
    #[serde(flatten)]
    pub kind: RowKind,
    /// The columns that tell tracks apart: `tid` for threads (idle threads are told apart by `cpu`), `cpu` for CPUs, or any
    /// others, such as `dev` and `sector`.
    pub key: Vec<String>,
}

/// What a row says about time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "snake_case")]
pub enum RowKind {
    /// Something happened at its time.
    Instant,
    /// Something took from one moment to another.
    Slice {
        /// How long it took, in nanoseconds.
        duration: String,
        /// Which end of it the time of the row is.
        time: SliceTime,
        /// How deep it is nested in other slices of its key, from 0; none where slices of a key do not contain others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depth: Option<String>,
    },
    /// Its key was in this state from its time on, until the next row of the same key.
    State {
        /// The state.
        state: String,
        /// For how long, in nanoseconds; none where only the next row ends it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<String>,
    },
    /// A stack, and what it counts for.
    Sample {
        /// The stack.
        stack: String,
        /// The weight; none where each row counts for one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weight: Option<String>,
        /// What the weight is measured in, such as `samples`, `ns` or `bytes`.
        unit: String,
    },
    /// The value of a counter.
    Counter {
        /// The value.
        value: String,
        /// For how long it was counted, in nanoseconds, up to the row's time; none where the value is that of the moment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        span: Option<String>,
        /// What the value is measured in; none where it depends on the key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        /// The column that is not 0 in rows whose value is that of the moment, whatever their span says; none where rows are
        /// alike.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gauge: Option<String>,
        /// The column that has the unit of each row, empty for numbers; none where rows do not say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit_of: Option<String>,
    },
    /// One element of what was read at once: all rows with the same number are of one reading.
    Snapshot {
        /// The number of the reading.
        number: String,
    },
}

/// Which end of a slice the time of its row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SliceTime {
    /// It began then.
    Begin,
    /// It ended then.
    End,
}

/// How a derived stream was made, so that it can be removed and made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Derivation {
    /// The rule's name, such as `thread-states`.
    pub rule: String,
    /// The rule's version: rows of another version may mean something else.
    pub version: u32,
    /// The names of the streams that it was made from.
    pub from: Vec<String>,
}

impl Derivation {
    /// The most streams that one is made from.
    pub const MAX_FROM: usize = 64;
    /// The longest name of a rule or a stream, in bytes.
    pub const MAX_NAME_BYTES: usize = 256;

    fn is_bounded(&self) -> bool {
        let mut names = self.from.iter().chain([&self.rule]);
        self.from.len() <= Self::MAX_FROM && names.all(|name| name.len() <= Self::MAX_NAME_BYTES)
    }
}

impl RowMeaning {
    /// The most columns of a key.
    pub const MAX_KEY_COLUMNS: usize = 8;
    /// The longest unit, in bytes.
    pub const MAX_UNIT_BYTES: usize = 64;

    /// What `kind` is, told apart by these columns.
    pub fn new(kind: RowKind, key: &[&str]) -> Self {
        Self { kind, key: key.iter().map(|name| (*name).to_owned()).collect() }
    }

    /// Whether the schema has all columns that this names, with the types that they need, and nothing is too long.
    pub fn fits(&self, schema: &StreamSchema) -> bool {
        let typed = |name: &String, ty| type_of(schema, name) == Some(ty);
        let is_unit = |unit: &String| unit.len() <= Self::MAX_UNIT_BYTES;
        let number = |name: &String| matches!(type_of(schema, name), Some(ColumnType::U64 | ColumnType::I64));
        let kind = match &self.kind {
            RowKind::Instant => true,
            RowKind::Slice { duration, depth, .. } => {
                typed(duration, ColumnType::U64) && depth.as_ref().is_none_or(|depth| typed(depth, ColumnType::U64))
            }
            RowKind::State { state, duration } => {
                let takes_time = duration.as_ref().is_none_or(|duration| typed(duration, ColumnType::U64));
                schema.column(state).is_some() && takes_time
            }
            RowKind::Sample { stack, weight, unit } => {
                typed(stack, ColumnType::Stack) && weight.as_ref().is_none_or(number) && is_unit(unit)
            }
            RowKind::Counter { value, span, unit, gauge, unit_of } => {
                let whole = |name: &Option<String>| name.as_ref().is_none_or(|name| typed(name, ColumnType::U64));
                let tells_unit = unit_of.as_ref().is_none_or(|name| typed(name, ColumnType::Text));
                number(value) && whole(span) && whole(gauge) && tells_unit && unit.as_ref().is_none_or(is_unit)
            }
            RowKind::Snapshot { number } => typed(number, ColumnType::U64),
        };
        kind && self.key.len() <= Self::MAX_KEY_COLUMNS && self.key.iter().all(|name| schema.column(name).is_some())
    }

    /// What rows of a stream are that does not say it itself, by its kind and its columns.
    fn guessed(schema: &StreamSchema) -> Self {
        match schema.kind {
            StreamKind::Map => Self::of_map(schema),
            StreamKind::Samples => {
                let stack = schema.columns.get(StreamSchema::STACK).map_or("stack", |column| column.name.as_str());
                let kind = RowKind::Sample { stack: stack.to_owned(), weight: None, unit: "samples".to_owned() };
                Self::new(kind, &["tid"])
            }
            StreamKind::Events => {
                Self::of_counts(schema).or_else(|| Self::of_slices(schema)).unwrap_or_else(Self::instant)
            }
        }
    }

    fn instant() -> Self {
        Self::new(RowKind::Instant, &["tid"])
    }

    /// Elements of a map, by the columns of their key.
    fn of_map(schema: &StreamSchema) -> Self {
        let is_key = |name: &str| {
            let rest = name.strip_prefix("key").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let own = schema.columns.iter().skip(StreamSchema::COMMON.len()).map(|column| column.name.as_str());
        let key: Vec<&str> = own.filter(|name| is_key(name)).take(Self::MAX_KEY_COLUMNS).collect();
        Self::new(RowKind::Snapshot { number: "snapshot".to_owned() }, &key)
    }

    /// Counts of an event in a scope over an interval each, and gauges at its end.
    fn of_counts(schema: &StreamSchema) -> Option<Self> {
        let has = |name: &str, ty| type_of(schema, name) == Some(ty);
        let texts = has("event", ColumnType::Text) && has("scope", ColumnType::Text);
        let numbers = has("value", ColumnType::U64) && has("span_ns", ColumnType::U64);
        // Captures from before there were gauges have neither.
        let known = |name: &str, ty| has(name, ty).then(|| name.to_owned());
        let (gauge, unit_of) = (known("gauge", ColumnType::U64), known("unit", ColumnType::Text));
        let (value, span) = ("value".to_owned(), Some("span_ns".to_owned()));
        let kind = RowKind::Counter { value, span, unit: None, gauge, unit_of };
        (texts && numbers).then(|| Self::new(kind, &["event", "scope"]))
    }

    /// What has a duration. System calls have the time of their entry; the rest is recorded when it ends, and has that time.
    fn of_slices(schema: &StreamSchema) -> Option<Self> {
        schema.duration_column()?;
        let is_call = type_of(schema, "call").is_some() && type_of(schema, "result").is_some();
        let time = if schema.name == "syscalls" && is_call { SliceTime::Begin } else { SliceTime::End };
        let depth = (type_of(schema, "depth") == Some(ColumnType::U64)).then(|| "depth".to_owned());
        Some(Self::new(RowKind::Slice { duration: "duration_ns".to_owned(), time, depth }, &["tid"]))
    }
}

fn type_of(schema: &StreamSchema, name: &str) -> Option<ColumnType> {
    schema.columns.iter().find(|column| column.name == name).map(|column| column.ty)
}

impl StreamSchema {
    /// What its rows are. What the stream says itself counts where its columns are as that says; for others, such as all of
    /// captures from before streams said it, kind and columns tell.
    pub fn meaning(&self) -> RowMeaning {
        let own = self.rows.as_deref().filter(|rows| rows.fits(self));
        own.cloned().unwrap_or_else(|| RowMeaning::guessed(self))
    }

    /// Checks what a stream from elsewhere says of its rows and of how it was made.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check_meaning(&self) -> Result<(), &'static str> {
        if self.rows.as_deref().is_some_and(|rows| !rows.fits(self)) {
            return Err("what a stream says of its rows does not fit its columns");
        }
        if self.source.len() > Derivation::MAX_NAME_BYTES {
            return Err("the id of a stream's source is too long");
        }
        if self.derived.as_deref().is_some_and(|derived| !derived.is_bounded()) {
            return Err("what a stream says of how it was made is too long");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Display};

    fn schema(name: &str, kind: StreamKind, own: &[(&str, ColumnType)]) -> StreamSchema {
        let column =
            |(name, ty): &(&str, ColumnType)| Column { name: (*name).to_owned(), ty: *ty, display: Display::Decimal };
        StreamSchema::new(name, kind, own.iter().map(column))
    }

    #[test]
    fn streams_that_do_not_say_what_their_rows_are_are_told_by_their_columns() {
        use ColumnType::{I64, Stack, Text, U64};
        let slice = |time, depth: Option<&str>| RowKind::Slice {
            duration: "duration_ns".to_owned(),
            time,
            depth: depth.map(str::to_owned),
        };
        let counter = |gauge: Option<&str>, unit_of: Option<&str>| RowKind::Counter {
            value: "value".to_owned(),
            span: Some("span_ns".to_owned()),
            unit: None,
            gauge: gauge.map(str::to_owned),
            unit_of: unit_of.map(str::to_owned),
        };
        let sample = RowKind::Sample { stack: "stack".to_owned(), weight: None, unit: "samples".to_owned() };
        let counts = [("event", Text), ("scope", Text), ("value", U64), ("span_ns", U64)];
        let gauges = [counts.as_slice(), &[("gauge", U64), ("unit", Text)]].concat();
        let calls = [("call", Text), ("result", I64), ("duration_ns", U64)];
        type Case<'a> = (&'a str, StreamKind, &'a [(&'a str, ColumnType)], RowKind, &'a [&'a str]);
        let cases: [Case<'_>; 10] = [
            ("sched:sched_switch", StreamKind::Events, &[("prev_state", I64)], RowKind::Instant, &["tid"]),
            ("syscalls", StreamKind::Events, &calls, slice(SliceTime::Begin, None), &["tid"]),
            (
                "function_graph",
                StreamKind::Events,
                &[("depth", U64), ("duration_ns", U64)],
                slice(SliceTime::End, Some("depth")),
                &["tid"],
            ),
            ("printf:1", StreamKind::Events, &[("duration_ns", U64)], slice(SliceTime::End, None), &["tid"]),
            ("printf:2", StreamKind::Events, &[("duration_ns", I64)], RowKind::Instant, &["tid"]),
            ("counts", StreamKind::Events, &counts, counter(None, None), &["event", "scope"]),
            ("counts", StreamKind::Events, &gauges, counter(Some("gauge"), Some("unit")), &["event", "scope"]),
            ("cpu-clock", StreamKind::Samples, &[("stack", Stack)], sample, &["tid"]),
            (
                "@",
                StreamKind::Map,
                &[("snapshot", U64), ("key", Text), ("count", U64)],
                RowKind::Snapshot { number: "snapshot".to_owned() },
                &["key"],
            ),
            (
                "@pairs",
                StreamKind::Map,
                &[("snapshot", U64), ("key0", U64), ("key1.a", Text), ("keyed", U64)],
                RowKind::Snapshot { number: "snapshot".to_owned() },
                &["key0", "key1.a"],
            ),
        ];
        for (name, kind, own, rows, key) in cases {
            let schema = schema(name, kind, own);
            assert_eq!(schema.meaning(), RowMeaning::new(rows, key), "{name}");
            assert!(schema.meaning().fits(&schema), "{name}");
        }
    }

    #[test]
    fn what_a_stream_says_counts_if_its_columns_are_so() {
        let state = RowKind::State { state: "state".to_owned(), duration: Some("duration_ns".to_owned()) };
        let rows = Some(Box::new(RowMeaning::new(state, &["tid"])));
        let own = [("state", ColumnType::Text), ("duration_ns", ColumnType::U64)];
        let full = StreamSchema { rows: rows.clone(), ..schema("thread states", StreamKind::Events, &own) };
        assert_eq!(Some(full.meaning()), rows.as_deref().cloned());
        let less = StreamSchema { rows: rows.clone(), ..schema("thread states", StreamKind::Events, &own[..1]) };
        assert_eq!(less.meaning(), RowMeaning::instant());
        let many = RowMeaning { key: vec!["tid".to_owned(); 9], ..full.meaning() };
        assert!(!many.fits(&full));
        assert!(full.check_meaning().is_ok() && less.check_meaning().is_err());
    }

    #[test]
    fn what_a_stream_says_is_bounded() {
        let own = [("stack", ColumnType::Stack)];
        let with = |unit: usize, names: usize, name: usize| {
            let kind = RowKind::Sample { stack: "stack".to_owned(), weight: None, unit: "s".repeat(unit) };
            let derived = Derivation { rule: "r".repeat(name), version: 1, from: vec!["a:b".to_owned(); names] };
            let schema = schema("off-CPU", StreamKind::Samples, &own);
            let rows = Some(Box::new(RowMeaning::new(kind, &["tid"])));
            StreamSchema { rows, derived: Some(Box::new(derived)), ..schema }.check_meaning()
        };
        assert_eq!(with(64, 64, 256), Ok(()));
        assert_eq!([with(65, 1, 1), with(1, 65, 1), with(1, 1, 257)].map(|it| it.is_err()), [true; 3]);
    }

    #[test]
    fn schemas_of_before_are_read_and_written_as_before() {
        let before = r#"{"name":"a:b","kind":"events","columns":[]}"#;
        let schema: StreamSchema = serde_json::from_str(before).unwrap();
        assert_eq!((&schema.rows, &schema.derived), (&None, &None));
        assert_eq!(serde_json::to_string(&schema).unwrap(), before);
        let meaning = RowMeaning::new(
            RowKind::Slice { duration: "duration_ns".to_owned(), time: SliceTime::Begin, depth: None },
            &["dev", "sector"],
        );
        let from = vec!["block:block_rq_issue".to_owned()];
        let derived = Derivation { rule: "block requests".to_owned(), version: 1, from };
        let said = StreamSchema { rows: Some(Box::new(meaning)), derived: Some(Box::new(derived)), ..schema };
        let text = serde_json::to_string(&said).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"name":"a:b","kind":"events","columns":[],"rows":{"row":"slice","duration":"duration_ns","time":"begin","#,
                r#""key":["dev","sector"]},"derived":{"rule":"block requests","version":1,"from":["block:block_rq_issue"]}}"#
            )
        );
        assert_eq!(serde_json::from_str::<StreamSchema>(&text).unwrap(), said);
    }
}
