//! Values of options that are lists of words: times, columns of the table, and what `-e` asks for under its long names.

use bathyscope_capture::HexTexts;
use bathyscope_catalog::{closest, syscalls::SummaryColumn};
use clap::Args;

use super::{Precision, lines::Clock};

/// What `-e NAME=` asks for as `--NAME=`.
#[derive(Clone, Debug, Default, Args)]
pub struct QualifierArgs {
    /// As -e trace=CALLS
    #[arg(long, value_name = "CALLS")]
    trace: Vec<String>,
    /// As -e signal=SIGNALS
    #[arg(long, value_name = "SIGNALS")]
    signal: Vec<String>,
    /// As -e status=OUTCOME
    #[arg(long, value_name = "OUTCOME")]
    status: Vec<String>,
    /// As -e abbrev=CALLS
    #[arg(long, value_name = "CALLS")]
    abbrev: Vec<String>,
    /// As -e verbose=CALLS
    #[arg(long = "verbose", value_name = "CALLS")]
    structures: Vec<String>,
    /// As -e raw=CALLS
    #[arg(long, value_name = "CALLS")]
    raw: Vec<String>,
    /// As -e read=FDS
    #[arg(long, value_name = "FDS")]
    read: Vec<String>,
    /// As -e write=FDS
    #[arg(long, value_name = "FDS")]
    write: Vec<String>,
}

impl QualifierArgs {
    /// The expressions and these.
    pub(super) fn with(&self, expressions: &[String]) -> Vec<String> {
        let all = [
            ("trace", &self.trace),
            ("signal", &self.signal),
            ("status", &self.status),
            ("abbrev", &self.abbrev),
            ("verbose", &self.structures),
            ("raw", &self.raw),
            ("read", &self.read),
            ("write", &self.write),
        ];
        let long = all.into_iter().flat_map(|(name, values)| values.iter().map(move |value| format!("{name}={value}")));
        expressions.iter().cloned().chain(long).collect()
    }
}

/// The columns of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(pub(super) Vec<SummaryColumn>);

impl Default for Columns {
    fn default() -> Self {
        Self(SummaryColumn::USUAL.to_vec())
    }
}

/// Columns by the names that strace gives them.
const COLUMNS: [(SummaryColumn, &[&str]); 8] = [
    (SummaryColumn::Share, &["time-percent", "time", "time_percent"]),
    (SummaryColumn::Time, &["total-time", "total_time"]),
    (SummaryColumn::Shortest, &["min-time", "min_time", "shortest"]),
    (SummaryColumn::Longest, &["max-time", "max_time", "longest"]),
    (SummaryColumn::Mean, &["avg-time", "avg_time"]),
    (SummaryColumn::Calls, &["calls", "count"]),
    (SummaryColumn::Errors, &["errors", "error"]),
    (SummaryColumn::Name, &["name", "syscall", "syscall-name", "syscall_name"]),
];

/// Reads columns.
pub(super) fn columns(text: &str) -> Result<Columns, String> {
    let mut columns = Vec::new();
    for word in text.split(',').map(str::trim) {
        let found = COLUMNS.iter().find(|(_, names)| names.contains(&word));
        let Some((column, _)) = found else {
            let all = COLUMNS.iter().filter_map(|(_, names)| names.first().copied());
            let near = closest(word, all.clone()).map(|near| format!("; did you mean `{near}`?"));
            let list = all.collect::<Vec<_>>().join(", ");
            return Err(format!(
                "there is no column `{word}`{} There are {list}.",
                near.unwrap_or_else(|| ".".to_owned())
            ));
        };
        if columns.contains(column) {
            return Err(format!("the column `{word}` is named twice"));
        }
        columns.push(*column);
    }
    Ok(Columns(columns))
}

/// Reads how times are written: a format and a precision, in any order, each with or without its name.
pub(super) fn clock(text: &str) -> Result<Clock, String> {
    let (mut format, mut precision) = (None, None);
    for word in text.split(',') {
        let (name, value) = word.split_once(':').map_or((None, word), |(name, value)| (Some(name), value));
        let as_format = matches!(value, "none" | "time" | "unix") && !matches!(name, Some("precision"));
        let as_precision = match value {
            "s" => Some(Precision::S),
            "ms" => Some(Precision::Ms),
            "us" => Some(Precision::Us),
            "ns" => Some(Precision::Ns),
            _ => None,
        }
        .filter(|_| !matches!(name, Some("format")));
        let known = matches!(name, None | Some("format" | "precision"));
        match as_precision {
            _ if !known => return Err(format!("`{word}` is neither format:FORMAT nor precision:PRECISION")),
            Some(found) if precision.replace(found).is_some() => return Err("there are two precisions".to_owned()),
            Some(_) => {}
            None if !as_format => {
                return Err(format!("`{word}` is no format (none, time, unix) and no precision (s, ms, us, ns)"));
            }
            None if format.replace(value).is_some() => return Err("there are two formats".to_owned()),
            None => {}
        }
    }
    let precision = precision.unwrap_or(Precision::S);
    Ok(match format {
        Some("none") => Clock::None,
        Some("unix") => Clock::Epoch(precision),
        _ => Clock::Day(precision),
    })
}

/// Reads which texts are in base sixteen.
pub(super) fn hex_texts(text: &str) -> Result<HexTexts, String> {
    match text {
        "all" => Ok(HexTexts::All),
        "non-ascii" => Ok(HexTexts::NonAscii),
        "none" => Ok(HexTexts::None),
        _ => Err("write all, non-ascii or none".to_owned()),
    }
}

/// Reads how numbers with names are written.
pub(super) fn constants(text: &str) -> Result<String, String> {
    match text {
        "abbrev" => Ok(text.to_owned()),
        "raw" | "verbose" => Err(format!(
            "`{text}` is not supported: numbers with names are written by their names; -e raw=CALLS writes all arguments of calls \
             as numbers"
        )),
        _ => Err("write abbrev".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_with_strace() {
        let cases = [
            ("time", Clock::Day(Precision::S)),
            ("ns", Clock::Day(Precision::Ns)),
            ("unix,us", Clock::Epoch(Precision::Us)),
            ("precision:ms,format:unix", Clock::Epoch(Precision::Ms)),
            ("none", Clock::None),
        ];
        for (text, expected) in cases {
            assert_eq!(clock(text), Ok(expected), "{text}");
        }
        for text in ["", "bogus", "ns,us", "unix,time", "format:ns", "precision:unix", "x:ns", "unix,"] {
            assert!(clock(text).is_err(), "{text}");
        }
    }

    #[test]
    fn columns_have_straces_names() {
        use SummaryColumn::{Calls, Longest, Name};
        assert_eq!(columns("calls,longest,syscall"), Ok(Columns(vec![Calls, Longest, Name])));
        assert!(columns("call").unwrap_err().contains("did you mean `calls`?"));
        assert!(columns("calls,count").unwrap_err().contains("twice"));
    }

    #[test]
    fn long_names_are_expressions() {
        let args =
            QualifierArgs { trace: vec!["read".to_owned()], status: vec!["failed".to_owned()], ..Default::default() };
        assert_eq!(args.with(&["close".to_owned()]), ["close", "trace=read", "status=failed"]);
    }
}
