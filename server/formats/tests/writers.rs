//! The writers on small captures byte for byte, on hostile names, and read back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "../../views/tests/suite/fixture/mod.rs"]
mod fixture;

use std::sync::atomic::AtomicBool;

use bathyscope_capture::{ColumnType, Display, StreamKind, visible};
use bathyscope_formats::{
    ChainShape, DiffText, ReportText, write_csv, write_folded, write_ndjson, write_perf_diff, write_perf_report,
    write_perf_script, write_report_json,
};
use bathyscope_views::{
    ChainOrder, CompareQuery, ComparedSide, Filter, FlameQuery, GroupBy, MemorySource, Normalised, ReportKey,
    ReportQuery, RowCursor, RowsQuery, Source, TimeRange, ViewError, compare, fold, sample_report,
};
use fixture::{Build, GO, Own, events, golden, hostile, hostile_names, profile};
use proptest::{collection::vec, prelude::*};

type Writer = fn(&mut RowCursor<'_>, &mut dyn std::io::Write) -> Result<u64, ViewError>;

fn written(writer: Writer, source: &MemorySource, stream: u16, filter: &str) -> String {
    let query = RowsQuery { filter: Filter::parse(filter).unwrap(), ..RowsQuery::new(stream) };
    let mut out = Vec::new();
    let rows = writer(&mut RowCursor::new(source, &query, &GO).unwrap(), &mut out).unwrap();
    if filter.is_empty() {
        assert_eq!(rows, source.chunks(stream).iter().map(|chunk| u64::from(chunk.rows)).sum::<u64>());
    }
    String::from_utf8(out).unwrap()
}

fn folded(source: &MemorySource, query: &FlameQuery) -> String {
    let mut out = Vec::new();
    write_folded(&fold(source, query, &GO).unwrap(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Records of RFC 4180; none for an empty field without quotes. Refuses what the RFC does not allow.
fn read_csv(text: &str) -> Vec<Vec<Option<String>>> {
    let mut records = Vec::new();
    let mut record = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (field, after) = if let Some(mut quoted) = rest.strip_prefix('"') {
            let mut field = String::new();
            loop {
                let (part, after) = quoted.split_once('"').expect("a quoted field ends");
                field.push_str(part);
                match after.strip_prefix('"') {
                    Some(more) => {
                        field.push('"');
                        quoted = more;
                    }
                    None => break (Some(field), after),
                }
            }
        } else {
            let end = rest.find([',', '\r']).expect("a field ends");
            assert!(!rest[..end].contains(['"', '\n']), "{rest}");
            (Some(rest[..end].to_owned()).filter(|field| !field.is_empty()), &rest[end..])
        };
        record.push(field);
        rest = match after.strip_prefix(',') {
            Some(more) => more,
            None => {
                records.push(std::mem::take(&mut record));
                after.strip_prefix("\r\n").expect("a record ends in CR LF")
            }
        };
    }
    assert!(record.is_empty());
    records
}

#[test]
fn golden_files() {
    let (profile, events) = (profile(), events());
    golden("folded.txt", folded(&profile, &FlameQuery::default()).as_bytes());
    let inverted = FlameQuery { invert: true, by: GroupBy::None, ..FlameQuery::default() };
    golden("folded-invert.txt", folded(&profile, &inverted).as_bytes());
    golden("events.csv", written(write_csv, &events, 1, "").as_bytes());
    golden("samples.csv", written(write_csv, &profile, 0, "cpu == 0").as_bytes());
    golden("events.ndjson", written(write_ndjson, &events, 1, "").as_bytes());
    golden("samples.ndjson", written(write_ndjson, &profile, 0, "pid == 20").as_bytes());
    golden("samples-perf-script.txt", written(write_perf_script, &profile, 0, "cpu == 1").as_bytes());
    golden("events-perf-script.txt", written(write_perf_script, &events, 0, "args.pid > 3").as_bytes());
}

/// As the FlameGraph scripts read a line: all before the last blank is the stack, and that must not end in a count.
fn read_folded(line: &str) -> (Vec<&str>, u64) {
    let (stack, count) = line.rsplit_once(' ').unwrap();
    let tail = stack.rsplit(char::is_whitespace).next().filter(|tail| tail.len() < stack.len());
    assert!(tail.is_none_or(|tail| tail.is_empty() || !tail.chars().all(|c| c.is_numeric() || c == '.')), "{line}");
    (stack.split(';').collect(), count.parse().unwrap())
}

#[test]
fn hostile_names_stay_in_their_frames() {
    let text = folded(&hostile(), &FlameQuery::default());
    assert_eq!(text.lines().count(), hostile_names().len());
    for line in text.lines() {
        let (frames, count) = read_folded(line);
        // Process, function, the function inlined into it, the module without a symbol.
        assert!((3..=4).contains(&frames.len()) && frames.iter().all(|frame| !frame.is_empty()), "{line}");
        assert_eq!(count, 3);
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

#[test]
fn hostile_names_stay_in_their_fields() {
    let (source, names) = (hostile(), hostile_names());
    let csv = read_csv(&written(write_csv, &source, 1, ""));
    assert_eq!(csv.len(), names.len() + 1);
    for (record, name) in csv.iter().skip(1).zip(&names) {
        assert_eq!(record.len(), 6);
        for field in [record[4].as_deref().unwrap(), record[5].as_deref().unwrap()] {
            assert!(!field.starts_with(['=', '+', '-', '@', '\t', '\r']), "{field}");
            assert_eq!(field.strip_prefix('\'').unwrap_or(field), visible(name));
        }
    }
    let lines = written(write_ndjson, &source, 1, "");
    assert_eq!(lines.lines().count(), names.len());
    for (line, name) in lines.lines().zip(&names) {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let row = row.as_object().unwrap();
        let keys: Vec<&str> = row.keys().map(String::as_str).collect();
        assert_eq!(keys.len(), 6);
        assert_eq!((row["comm"].as_str(), row["text"].as_str()), (Some(&*visible(name)), Some(&*visible(name))));
    }
    let text = written(write_perf_script, &source, 0, "");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
    let heads = text.lines().filter(|line| line.ends_with(" cpu-clock: ")).count();
    assert_eq!(heads, 3 * names.len());
    assert!(text.lines().all(|line| line.is_empty() || line.starts_with('\t') != line.ends_with(" cpu-clock: ")));
}

#[test]
fn a_closed_output_and_a_set_flag_end_a_writer() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _bytes: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (source, stop) = (profile(), AtomicBool::new(true));
    let writers: [Writer; 3] = [write_csv, write_ndjson, write_perf_script];
    for writer in writers {
        let rows = |flag| RowCursor::new(&source, &RowsQuery::new(0), flag).unwrap();
        assert!(matches!(writer(&mut rows(&GO), &mut Closed), Err(ViewError::Write(_))));
        assert!(matches!(writer(&mut rows(&stop), &mut Vec::new()), Err(ViewError::Cancelled)));
    }
    let stacks = fold(&source, &FlameQuery::default(), &GO).unwrap();
    assert!(matches!(write_folded(&stacks, &mut Closed), Err(ViewError::Write(_))));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn csv_and_json_come_back(rows in vec((any::<u64>(), any::<i64>(), "\\PC{0,12}|[=+@,\"'\\-\r\n\t ]{0,6}"), 1..30)) {
        let mut build = Build::default();
        let own = [
            ("big", ColumnType::U64, Display::Hex),
            ("signed", ColumnType::I64, Display::Decimal),
            ("text, \"quoted\"", ColumnType::Text, Display::Text),
        ];
        build.stream("a:b", StreamKind::Events, &own);
        for (n, (big, signed, text)) in (0..).zip(&rows) {
            let text = if n % 5 == 4 { Own::Missing } else { Own::T(text.as_bytes()) };
            build.event((n, 0, 1, 1, b"x"), &[Own::U(*big), Own::I(*signed), text]);
        }
        let source = build.finish();
        let csv = read_csv(&written(write_csv, &source, 0, ""));
        prop_assert_eq!(csv[0].last().unwrap().as_deref(), Some("text, \"quoted\""));
        let json = written(write_ndjson, &source, 0, "");
        prop_assert_eq!(csv.len(), rows.len() + 1);
        prop_assert_eq!(json.lines().count(), rows.len());
        for ((n, (big, signed, text)), (record, line)) in rows.iter().enumerate().zip(csv.iter().skip(1).zip(json.lines())) {
            let shown = (n % 5 != 4).then(|| visible(text.as_bytes()));
            let unguarded = |field: &String| field.strip_prefix('\'').unwrap_or(field).to_owned();
            prop_assert_eq!(record[5].clone(), Some(big.to_string()));
            prop_assert_eq!(record[6].clone(), Some(signed.to_string()));
            prop_assert_eq!(record[7].as_ref().map(unguarded), shown.clone());
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            prop_assert_eq!((row["big"].as_u64(), row["signed"].as_i64()), (Some(*big), Some(*signed)));
            prop_assert_eq!(row["text, \"quoted\""].as_str(), shown.as_deref());
        }
    }
}

/// The samples of a capture by keys, printed, and as JSON.
fn reported(source: &MemorySource, keys: &[ReportKey], order: ChainOrder, text: &ReportText<'_>) -> [String; 2] {
    let query = ReportQuery {
        stream: 0,
        range: TimeRange::ALL,
        filter: None,
        keys: keys.to_vec(),
        children: text.children,
        chains: Some(order),
        chain_percent: text.chain_percent,
    };
    let report = sample_report(source, &query, &GO).unwrap();
    let (mut table, mut json) = (Vec::new(), Vec::new());
    write_perf_report(&report, text, &mut table).unwrap();
    write_report_json(&report, text, &mut json).unwrap();
    [table, json].map(|bytes| String::from_utf8(bytes).unwrap())
}

fn report_text(keys: &[ReportKey]) -> ReportText<'_> {
    ReportText {
        event: "cpu-clock",
        lost: "at least 3".to_owned(),
        keys,
        children: true,
        counts: false,
        chains: ChainShape::Graph,
        chain_percent: 5.0,
        percent_limit: 0.0,
    }
}

#[test]
fn reports_of_samples_look_like_perf() {
    use ReportKey::{Comm, Cpu, Dso, Pid, SourceLine, Symbol, Tid};
    let usual = [Comm, Dso, Symbol];
    let own = ReportText { children: false, counts: true, ..report_text(&usual) };
    let folded = ReportText { chains: ChainShape::Folded, children: false, ..report_text(&[Pid, Cpu, Symbol]) };
    let lines = ReportText { chains: ChainShape::Nothing, percent_limit: 13.0, ..report_text(&[Tid, SourceLine]) };
    for (name, order, text) in [
        ("report-children", ChainOrder::Caller, report_text(&usual)),
        ("report-own", ChainOrder::Callee, own),
        ("report-folded", ChainOrder::Callee, folded),
        ("report-lines", ChainOrder::Callee, lines),
    ] {
        let [table, json] = reported(&profile(), text.keys, order, &text);
        golden(&format!("{name}.txt"), table.as_bytes());
        golden(&format!("{name}.ndjson"), json.as_bytes());
    }
}

#[test]
fn hostile_names_cannot_leave_their_row() {
    let keys = [ReportKey::Comm, ReportKey::Dso, ReportKey::Symbol];
    for chains in [ChainShape::Graph, ChainShape::Folded] {
        let text = ReportText { chains, chain_percent: 0.0, ..report_text(&keys) };
        let [table, json] = reported(&hostile(), &keys, ChainOrder::Callee, &text);
        assert!(table.chars().all(|c| c == '\n' || !c.is_control()), "{table}");
        for line in json.lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(row["comm"].is_string() && row["chains"].is_array(), "{line}");
        }
    }
}

#[test]
fn differences_look_like_perf_and_say_what_is_chance() {
    let filtered =
        |text: &str| FlameQuery { filter: Filter::parse(text).unwrap(), by: GroupBy::None, ..FlameQuery::default() };
    let source = profile();
    let side = |text: &str| ComparedSide::read(&source, &filtered(text), &GO).unwrap();
    let query = CompareQuery { flame: filtered(""), normalised: Normalised::Total };
    let found = compare(&side(""), &[side("comm == \"node\"")], &query).unwrap();
    for (name, text) in [
        ("diff.txt", DiffText { heads: vec!["Baseline a".to_owned(), "Compared b".to_owned()], ..DiffText::default() }),
        ("diff-ratio.txt", DiffText { ratio: true, percent_limit: 15.0, ..DiffText::default() }),
        ("diff-significant.txt", DiffText { only_significant: true, ..DiffText::default() }),
    ] {
        let mut out = Vec::new();
        write_perf_diff(&found, &text, &mut out).unwrap();
        golden(name, &out);
    }
}
