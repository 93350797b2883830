//! Tables over all streams whose rows are of one kind, so that a query need not know what a capture recorded.

use bathyscope_capture::{Display, RowKind, RowMeaning, SliceTime, StreamSchema};

use crate::column::{ColumnInfo, ColumnKind, quoted};

/// Rows of one kind, of all streams that have such rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Union {
    States,
    Slices,
    Samples,
    Counters,
}

/// What every row has, whatever it is.
const COMMON: [&str; 4] = ["cpu", "pid", "tid", "comm"];

impl Union {
    pub(crate) const ALL: [Self; 4] = [Self::States, Self::Slices, Self::Samples, Self::Counters];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::States => "states",
            Self::Slices => "slices",
            Self::Samples => "samples",
            Self::Counters => "counters",
        }
    }

    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::States => "what was in which state, from when and for how long, of all streams",
            Self::Slices => "what took time, with its begin and duration, of all streams",
            Self::Samples => "stacks with what each counts for, of all streams",
            Self::Counters => "values of counters, of all streams",
        }
    }

    pub(crate) fn columns(self) -> Vec<ColumnInfo> {
        let whole = |name| ColumnInfo::new(name, ColumnKind::Integer, Display::Decimal);
        let text = |name| ColumnInfo::new(name, ColumnKind::Text, Display::Text);
        let length = |name| ColumnInfo::new(name, ColumnKind::Integer, Display::DurationNs);
        let own = match self {
            Self::States => vec![length("duration_ns"), text("state")],
            Self::Slices => vec![length("duration_ns"), whole("depth")],
            Self::Samples => {
                vec![ColumnInfo::new("stack", ColumnKind::Stack, Display::Text), whole("weight"), text("unit")]
            }
            Self::Counters => vec![text("name"), text("of"), whole("value"), length("span_ns"), text("unit")],
        };
        let time = ColumnInfo::new("time", ColumnKind::Integer, Display::TimeNs);
        let common = [whole("cpu"), whole("pid"), whole("tid"), text("comm")];
        [time].into_iter().chain(common).chain(own).chain([text("stream")]).collect()
    }

    /// What the own columns of a stream are in SQL, in the order of [`Union::columns`], and when its rows begin; none if its rows
    /// are of another kind.
    fn own(self, meaning: &RowMeaning) -> Option<(String, Vec<String>)> {
        let column = |name: &str| quoted(name);
        let some = |name: &Option<String>| name.as_deref().map_or_else(|| "NULL".to_owned(), quoted);
        let time = || "time".to_owned();
        Some(match (self, &meaning.kind) {
            (Self::States, RowKind::State { state, duration }) => (time(), vec![some(duration), column(state)]),
            (Self::Slices, RowKind::Slice { duration, time: end, depth }) => {
                let begin = match end {
                    SliceTime::Begin => time(),
                    SliceTime::End => format!("time - {}", column(duration)),
                };
                (begin, vec![column(duration), some(depth)])
            }
            (Self::Samples, RowKind::Sample { stack, weight, unit }) => {
                let weight = weight.as_deref().map_or_else(|| "1".to_owned(), quoted);
                (time(), vec![column(stack), weight, literal(unit)])
            }
            (Self::Counters, RowKind::Counter { value, span, unit, gauge, unit_of }) => {
                let mut key = meaning.key.iter().map(|name| format!("CAST({} AS TEXT)", quoted(name)));
                let mut key = || key.next().unwrap_or_else(|| "NULL".to_owned());
                let unit = match (unit, unit_of) {
                    (Some(unit), _) => literal(unit),
                    (None, Some(of)) => format!("NULLIF({}, '')", column(of)),
                    (None, None) => "NULL".to_owned(),
                };
                let span = match gauge {
                    Some(gauge) => format!("CASE WHEN {} = 0 THEN {} END", column(gauge), some(span)),
                    None => some(span),
                };
                (time(), vec![key(), key(), column(value), span, unit])
            }
            _ => return None,
        })
    }

    /// Whether a stream's rows are of this kind.
    pub(crate) fn has(self, schema: &StreamSchema) -> bool {
        self.own(&schema.meaning()).is_some()
    }

    /// The statement that makes it a view over the tables of these names.
    pub(crate) fn view(self, name: &str, tables: &[(&str, &StreamSchema)]) -> String {
        let names: Vec<String> = self.columns().iter().map(|column| quoted(&column.name)).collect();
        let part = |(table, schema): &(&str, &StreamSchema)| {
            let (time, own) = self.own(&schema.meaning())?;
            let common = COMMON.map(str::to_owned);
            let all: Vec<String> = [time].into_iter().chain(common).chain(own).chain([literal(&schema.name)]).collect();
            Some(format!("SELECT {} FROM {}", all.join(", "), quoted(table)))
        };
        let mut parts: Vec<String> = tables.iter().filter_map(part).take(MOST_STREAMS).collect();
        if parts.is_empty() {
            parts.push(format!("SELECT {} WHERE 0", vec!["NULL"; names.len()].join(", ")));
        }
        format!("CREATE TEMP VIEW {}({}) AS {}", quoted(name), names.join(", "), parts.join(" UNION ALL "))
    }
}

/// As many streams as a compound SELECT may have parts.
const MOST_STREAMS: usize = 50;

/// A text in SQL.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\0', "").replace('\'', "''"))
}
