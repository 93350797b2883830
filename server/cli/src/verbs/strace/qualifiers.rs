//! Values of options that are lists of words: times, columns of the table, and what `-e` asks for under its long names.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
};

use bathyscope_capture::HexTexts;
use bathyscope_catalog::{closest, syscalls::SummaryColumn};
use clap::Args;

use super::{Precision, lines::Clock};

/// What an option of the kind of `-e` says, with its place among the others: a later one replaces an earlier one, whichever
/// of its names it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ordered {
    /// Values are read in the order in which they are given.
    place: usize,
    text: String,
}

/// Reads the value of an option of that kind.
pub(super) fn ordered(text: &str) -> Result<Ordered, Infallible> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    Ok(Ordered { place: NEXT.fetch_add(1, Ordering::Relaxed), text: text.to_owned() })
}

/// What `-e NAME=` asks for, also as `--NAME=`.
#[derive(Clone, Debug, Default, Args)]
pub struct QualifierArgs {
    /// Calls and sets to show, such as trace=openat,%network or !futex, /REGEX, openat@64; status=failed; signal=SIGNALS; raw=CALLS; read=FDS and write=FDS for the data; abbrev=none; quiet=WHAT; decode-fds=WHAT; repeatable, where the last of each kind counts
    #[arg(short, long = "expr", value_name = "EXPR", value_parser = ordered)]
    expressions: Vec<Ordered>,
    /// As -e trace=CALLS
    #[arg(long, value_name = "CALLS", value_parser = ordered)]
    trace: Vec<Ordered>,
    /// As -e signal=SIGNALS
    #[arg(long, value_name = "SIGNALS", value_parser = ordered)]
    signal: Vec<Ordered>,
    /// As -e status=OUTCOME
    #[arg(long, value_name = "OUTCOME", value_parser = ordered)]
    status: Vec<Ordered>,
    /// As -e abbrev=CALLS
    #[arg(long, value_name = "CALLS", value_parser = ordered)]
    abbrev: Vec<Ordered>,
    /// As -e verbose=CALLS
    #[arg(long = "verbose", value_name = "CALLS", value_parser = ordered)]
    structures: Vec<Ordered>,
    /// As -e raw=CALLS
    #[arg(long, value_name = "CALLS", value_parser = ordered)]
    raw: Vec<Ordered>,
    /// As -e read=FDS
    #[arg(long, value_name = "FDS", value_parser = ordered)]
    read: Vec<Ordered>,
    /// As -e write=FDS
    #[arg(long, value_name = "FDS", value_parser = ordered)]
    write: Vec<Ordered>,
    /// Messages that are not printed: attach, exit, personality, all
    #[arg(long = "quiet", visible_aliases = ["silent", "silence"], value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "attach,personality", value_parser = ordered, conflicts_with = "quiet_count")]
    silent: Vec<Ordered>,
    /// What is shown of descriptors: path, socket, dev, pidfd, all or none
    #[arg(long = "decode-fds", value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_parser = ordered, conflicts_with = "file_count")]
    decode: Vec<Ordered>,
    /// Print structures of files, usage and host whole, as -e abbrev=none; an environment stays the number of its variables
    #[arg(short = 'v', long = "no-abbrev", num_args = 0, default_missing_value = "none", value_parser = ordered)]
    whole: Vec<Ordered>,
    /// Only calls that succeeded, as -e status=successful
    #[arg(short = 'z', long = "successful-only", num_args = 0, default_missing_value = "successful", value_parser = ordered)]
    successful: Vec<Ordered>,
    /// Only calls that failed, as -e status=failed
    #[arg(short = 'Z', long = "failed-only", num_args = 0, default_missing_value = "failed", value_parser = ordered)]
    failed: Vec<Ordered>,
}

impl QualifierArgs {
    /// All of them as `-e` has them, in the order in which they were given.
    pub(super) fn expressions(&self) -> Vec<String> {
        let named = [
            ("trace", &self.trace),
            ("signal", &self.signal),
            ("status", &self.status),
            ("abbrev", &self.abbrev),
            ("verbose", &self.structures),
            ("raw", &self.raw),
            ("read", &self.read),
            ("write", &self.write),
            ("quiet", &self.silent),
            ("decode-fds", &self.decode),
            ("abbrev", &self.whole),
            ("status", &self.successful),
            ("status", &self.failed),
        ];
        let mut all: Vec<(usize, String)> = self.expressions.iter().map(|it| (it.place, it.text.clone())).collect();
        for (name, values) in named {
            all.extend(values.iter().map(|it| (it.place, format!("{name}={}", it.text))));
        }
        all.sort();
        all.into_iter().map(|(_, text)| text).collect()
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
        "non-ascii-chars" => Ok(HexTexts::Characters),
        "none" => Ok(HexTexts::None),
        _ => Err("write all, non-ascii, non-ascii-chars or none".to_owned()),
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

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        qualifiers: QualifierArgs,
        #[arg(short = 'q', id = "quiet_count", action = clap::ArgAction::Count)]
        _quiet: u8,
        #[arg(short = 'y', id = "file_count", action = clap::ArgAction::Count)]
        _files: u8,
    }

    fn read(line: &str) -> Result<Vec<String>, clap::Error> {
        let words = std::iter::once("strace").chain(line.split(' '));
        Ok(<Line as clap::Parser>::try_parse_from(words)?.qualifiers.expressions())
    }

    #[test]
    fn all_names_are_expressions_in_the_order_in_which_they_are_given() {
        let cases: [(&str, &[&str]); 4] = [
            (
                "-e close --trace=read -e trace=write --status failed",
                &["close", "trace=read", "trace=write", "status=failed"],
            ),
            ("-v -e abbrev=execve -v", &["abbrev=none", "abbrev=execve", "abbrev=none"]),
            ("-z -e status=failed -Z", &["status=successful", "status=failed", "status=failed"]),
            ("--quiet -e q=exit --decode-fds", &["quiet=attach,personality", "q=exit", "decode-fds=all"]),
        ];
        for (line, expected) in cases {
            assert_eq!(read(line).unwrap(), expected, "{line}");
        }
        // As with strace.
        assert!(read("-q --quiet=exit").is_err() && read("-y --decode-fds=path").is_err());
    }
}
