//! Spans: case by case, and against a join that compares each end with each begin.

use std::sync::Arc;

use bathyscope_capture::{
    Batch, Cell, ColumnType, Predicate, Row, RowKind, SliceTime, StreamSchema, StringId, column_name_of_field,
};
use bathyscope_derive::{
    BUILT_IN_SPANS, DerivationCount, DerivationError, MAX_SPAN_COLUMNS, Rule, RuleSpec, Span, SpanEdge, SpanPairing,
    Spans,
};
use proptest::prelude::*;

use crate::fixture::{Form, Host, schema};

/// The streams `a` and `b`, with a number, a signed number and a text each.
fn streams() -> Vec<StreamSchema> {
    let own = [("key", ColumnType::U64), ("signed", ColumnType::I64), ("word", ColumnType::Text)];
    vec![schema("a", &own), schema("b", &own)]
}

/// A row: its time, the number on which the others depend, and its CPU.
type Made = (u64, u64, u32);

fn batch(rows: &[Made], host: &mut Host) -> Batch {
    let mut batch = Batch::empty(&streams()[0]);
    for (time, key, cpu) in rows {
        let mut row: Row<StringId, u32> = Row::common(*time, *cpu, [7, 8], host.id("made"));
        let word = if *key == 0 { Cell::Null } else { Cell::Text(host.id(&format!("w{key}"))) };
        row.cells.extend([Cell::U64(*key), Cell::I64(-(*key as i64)), word]);
        assert!(row.append(&mut batch, |id| id, |stack| stack));
    }
    batch
}

fn edge(stream: &str, key: &[&str], condition: Option<&str>) -> SpanEdge {
    let condition = condition.map(|text| Predicate::parse(text).unwrap());
    SpanEdge { stream: stream.to_owned(), key: key.iter().map(|name| (*name).to_owned()).collect(), condition }
}

fn span(key: &[&str], pairing: SpanPairing) -> Span {
    let (begin, end) = (edge("a", key, None), edge("b", key, None));
    Span { name: "made".to_owned(), begin, end, pairing, carried: Vec::new() }
}

/// What a rule makes of rows of `a` and `b`: begin, end, key, depth if there is one, CPU of the end, what is not known.
struct Found {
    rows: Vec<(u64, u64, u64)>,
    depths: Vec<u64>,
    ends: Vec<u64>,
    unknown: Vec<String>,
    counts: [u64; 2],
}

fn found(span: &Span, begins: &[Made], ends: &[Made], (part, losses): (usize, &[u64])) -> Found {
    let mut host = Host::default();
    let mut rule = Spans::new(span, &streams(), &mut host).unwrap();
    losses.iter().for_each(|time| rule.add_loss(*time, *time));
    // Chunks of both streams come one after another, and nobody says how far they are until the end.
    for (stream, rows) in [(0, begins), (1, ends)] {
        for rows in rows.chunks(part.max(1)) {
            let rows = batch(rows, &mut host);
            rule.push(stream, Arc::new(rows), &mut host);
        }
    }
    rule.advance(begins.len() as u64, &mut host);
    rule.finish(u64::MAX, &mut host);
    let table = host.table(&rule.streams()[0], 0);
    let number = |row: &std::collections::BTreeMap<String, String>, name: &str| row[name].parse::<u64>().unwrap();
    let times = |row| (number(row, "time"), number(row, "time") + number(row, "duration_ns"), number(row, "key"));
    let counts = [DerivationCount::UnmatchedBegin, DerivationCount::UnmatchedEnd].map(|what| rule.counts().get(what));
    let has_depth = table.first().is_some_and(|row| row.contains_key("depth"));
    Found {
        rows: table.iter().map(times).collect(),
        depths: table.iter().filter(|_| has_depth).map(|row| number(row, "depth")).collect(),
        ends: table.iter().map(|row| number(row, "end_cpu")).collect(),
        unknown: table.iter().map(|row| row["unknown"].clone()).collect(),
        counts,
    }
}

#[test]
fn an_end_belongs_to_the_begin_that_the_pairing_says() {
    let begins = [(10, 1, 0), (20, 1, 0), (25, 2, 0), (40, 1, 0)];
    let ends = [(5, 1, 3), (30, 1, 3), (50, 1, 4), (60, 1, 5), (70, 9, 5)];
    let cases = [
        (SpanPairing::Nested, vec![(10, 60, 1), (20, 30, 1), (40, 50, 1)], vec![0, 1, 1], [1, 2]),
        (SpanPairing::Overlapping, vec![(10, 30, 1), (20, 50, 1), (40, 60, 1)], vec![], [1, 2]),
        (SpanPairing::Exclusive, vec![(20, 30, 1), (40, 50, 1)], vec![], [2, 3]),
    ];
    for (pairing, rows, depths, counts) in cases {
        let found = found(&span(&["key"], pairing), &begins, &ends, (2, &[]));
        assert_eq!((found.rows, found.depths, found.counts), (rows, depths, counts), "{pairing:?}");
    }
}

#[test]
fn an_end_at_the_moment_of_a_begin_comes_after_it() {
    let found = found(&span(&["key"], SpanPairing::Overlapping), &[(10, 1, 0), (20, 1, 0)], &[(20, 1, 7)], (9, &[]));
    assert_eq!((found.rows, found.ends, found.counts), (vec![(10, 20, 1)], vec![7], [1, 0]));
}

#[test]
fn spans_over_a_loss_are_marked() {
    let begins = [(10, 1, 0), (30, 1, 0)];
    let found = found(&span(&["key"], SpanPairing::Exclusive), &begins, &[(20, 1, 0), (40, 1, 0)], (9, &[35]));
    assert_eq!(found.unknown, ["", "lost events"]);
}

#[test]
fn keys_are_numbers_or_texts_of_one_or_more_columns() {
    let begins = [(10, 1, 0), (20, 2, 1), (30, 0, 2)];
    let ends = [(40, 1, 1), (50, 2, 1), (60, 0, 2)];
    type Case<'a> = (&'a [&'a str], &'a [(u64, u64, u64)]);
    let cases: [Case<'_>; 4] = [
        (&["key", "signed"], &[(10, 40, 1), (20, 50, 2), (30, 60, 0)]),
        // A row without the text belongs to none.
        (&["word", "key"], &[(10, 40, 1), (20, 50, 2)]),
        (&["cpu", "key"], &[(20, 50, 2), (30, 60, 0)]),
        (&["key", "signed", "cpu", "tid"], &[(20, 50, 2), (30, 60, 0)]),
    ];
    for (key, rows) in cases {
        let found = found(&span(key, SpanPairing::Nested), &begins, &ends, (9, &[]));
        assert_eq!(found.rows, rows, "{key:?}");
    }
}

#[test]
fn a_condition_chooses_rows_and_both_edges_may_be_of_one_stream() {
    let mut host = Host::default();
    let rows = batch(&[(10, 1, 0), (20, 2, 0), (30, 1, 0), (40, 3, 0), (50, 1, 0)], &mut host);
    let mut made = span(&["tid"], SpanPairing::Exclusive);
    made.begin.condition = Some(Predicate::parse("word == \"w1\" && args.key == 1").unwrap());
    made.end = edge("a", &["tid"], Some("signed < 0 && word ~ \"w*\""));
    made.carried = ["key", "gone", "word"].map(str::to_owned).into();
    let mut rule = Spans::new(&made, &streams(), &mut host).unwrap();
    assert_eq!(rule.inputs().len(), 1);
    rule.push(0, Arc::new(rows), &mut host);
    rule.push(1, Arc::new(batch(&[(15, 1, 0)], &mut Host::default())), &mut host);
    rule.finish(100, &mut host);
    let table = host.table(&rule.streams()[0], 0);
    let of = |name: &str| table.iter().map(|row| row[name].as_str()).collect::<Vec<_>>();
    // The row at 30 begins, and ends nothing, for the one at 20 ended what began at 10.
    assert_eq!((of("time"), of("duration_ns")), (vec!["10", "30"], vec!["10", "10"]));
    assert_eq!((of("key"), of("word")), (vec!["1", "1"], vec!["w1", "w1"]));
    assert_eq!(rule.counts().get(DerivationCount::UnmatchedBegin), 1);
}

#[test]
fn a_condition_of_a_column_with_a_unit_may_have_another() {
    let mut host = Host::default();
    let rows = batch(&[(1_000_000, 1, 0), (2_000_000, 1, 0), (3_000_000, 1, 0)], &mut host);
    let mut made = span(&["tid"], SpanPairing::Exclusive);
    made.begin.condition = Some(Predicate::parse("time <= 1ms").unwrap());
    made.end = edge("a", &["tid"], Some("time between 3000us and 1s"));
    let mut rule = Spans::new(&made, &streams(), &mut host).unwrap();
    rule.push(0, Arc::new(rows), &mut host);
    rule.finish(4_000_000, &mut host);
    let table = host.table(&rule.streams()[0], 0);
    let found: Vec<&str> = table.iter().map(|row| row["duration_ns"].as_str()).collect();
    assert_eq!(found, ["2000000"]);
}

#[test]
fn a_definition_that_cannot_be_is_refused_in_words() {
    let good = span(&["key"], SpanPairing::Nested);
    let with = |change: &dyn Fn(&mut Span)| {
        let mut span = good.clone();
        change(&mut span);
        Spans::new(&span, &streams(), &mut Host::default()).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(with(&|_| {}), Ok(()));
    let columns = |count: usize| vec!["key".to_owned(); count];
    type Case<'a> = (&'a dyn Fn(&mut Span), &'a str);
    let cases: [Case<'_>; 10] = [
        (&|span| span.end.condition = Some(Predicate::parse("key > 1ms").unwrap()), "nothing says what `key` is in"),
        (&|span| span.name.clear(), "a name has 1 to 128 bytes"),
        (&|span| span.begin.key = columns(2), "as many columns at the begin as at the end"),
        (&|span| (span.begin.key, span.end.key) = (columns(0), columns(0)), "1 to 4 columns"),
        (&|span| span.carried = columns(MAX_SPAN_COLUMNS + 1), "at most 4 more"),
        (&|span| span.end.key = vec!["word".to_owned()], "a number and a text are never equal"),
        (&|span| span.end.stream = "c".to_owned(), "made is made from c, which the capture does not have"),
        (&|span| span.end.key = vec!["gone".to_owned()], "the column gone of b"),
        (&|span| span.end.condition = Some(Predicate::parse("gone == 1").unwrap()), "the column gone of b"),
        (&|span| span.end.condition = Some(Predicate::parse("word matches \"x\"").unwrap()), "of stored rows alone"),
    ];
    for (change, words) in cases {
        let error = with(change).unwrap_err();
        assert!(error.contains(words), "{error} should say {words}");
    }
    let unsound = Predicate::All(Vec::new());
    let mut span = good.clone();
    span.begin.condition = Some(unsound);
    let error = Spans::new(&span, &streams(), &mut Host::default()).unwrap_err();
    assert!(matches!(error, DerivationError::Condition { .. }), "{error}");
}

#[test]
fn a_span_is_one_line_of_text_where_that_is_read_as_the_same_span() {
    let rule = |name: &str, pairing| {
        let span = Span { name: name.to_owned(), ..span(&["key", "word"], pairing) };
        RuleSpec::Span(Box::new(span))
    };
    for pairing in [SpanPairing::Nested, SpanPairing::Overlapping, SpanPairing::Exclusive] {
        let rule = rule("<b>naps, \"often\"", pairing);
        let text = rule.text_of_span().unwrap();
        assert_eq!(RuleSpec::Span(Box::new(text.parse().unwrap())), rule, "{text}");
    }
    for ambiguous in ["a: begin = b", "two\nlines"] {
        assert_eq!(rule(ambiguous, SpanPairing::Nested).text_of_span(), None, "{ambiguous}");
    }
    assert_eq!(RuleSpec::ThreadStates.text_of_span(), None);
    assert_eq!(RuleSpec::Span(Box::new((&BUILT_IN_SPANS[0]).into())).text_of_span(), None, "everybody has it");
}

#[test]
fn a_definition_is_stored_as_text() {
    let mut made = span(&["dev", "sector"], SpanPairing::Overlapping);
    made.begin.condition = Some(Predicate::parse("dev == 1").unwrap());
    let text = serde_json::to_string(&made).unwrap();
    assert_eq!(serde_json::from_str::<Span>(&text).unwrap(), made);
    assert!(text.contains(r#""pairing":"overlapping""#) && !text.contains("carried"), "{text}");
    assert!(serde_json::from_str::<Span>(&text.replace("pairing", "paring")).is_err());
}

/// The streams of the built-in spans, as the kernel's formats make them.
fn kernel_streams() -> Vec<StreamSchema> {
    use ColumnType::{I64, Text, U64};
    let comm = column_name_of_field("comm");
    let request = [("dev", U64), ("sector", U64), ("nr_sector", U64), ("bytes", U64), ("rwbs", Text), (&*comm, Text)];
    vec![
        schema("block:block_rq_issue", &request),
        schema("block:block_rq_complete", &[("dev", U64), ("sector", U64), ("nr_sector", U64), ("error", I64)]),
        schema("irq:irq_handler_entry", &[("irq", I64), ("name", Text)]),
        schema("irq:irq_handler_exit", &[("irq", I64), ("ret", I64)]),
        schema("irq:softirq_entry", &[("vec", U64)]),
        schema("irq:softirq_exit", &[("vec", U64)]),
        schema("workqueue:workqueue_execute_start", &[("work", U64), ("function", U64)]),
        schema("workqueue:workqueue_execute_end", &[("work", U64), ("function", U64)]),
    ]
}

#[test]
fn built_in_spans_are_made_where_their_streams_are() {
    let all: Vec<StreamSchema> = kernel_streams().into_iter().chain(Form::Tracepoints.streams()).collect();
    let rules = RuleSpec::built_in(&all);
    let streams: Vec<StreamSchema> = rules.iter().flat_map(|rule| rule.check(&all).unwrap()).collect();
    let names: Vec<&str> = streams.iter().map(|stream| stream.name.as_str()).collect();
    let expected = [
        "thread states",
        "cpu occupation",
        "run-queue latency",
        "block requests",
        "interrupt handlers",
        "soft interrupts",
        "workqueue items",
    ];
    assert_eq!(names, expected);
    assert_eq!(rules.len(), 1 + BUILT_IN_SPANS.len());
    for rule in &rules {
        // As it is kept.
        let text = serde_json::to_string(rule).unwrap();
        assert_eq!(serde_json::from_str::<RuleSpec>(&text).unwrap(), *rule, "{text}");
    }
    for stream in streams.iter().skip(3) {
        let meaning = stream.meaning();
        assert_eq!(Some(&meaning), stream.rows.as_deref(), "{} has the columns that it says", stream.name);
        assert!(matches!(meaning.kind, RowKind::Slice { time: SliceTime::Begin, .. }));
        assert_eq!(stream.derived.as_deref().unwrap().from.len(), 2);
    }
    assert_eq!(RuleSpec::built_in(&all[..1]), []);
    let block = streams[3].columns.iter().skip(5).map(|column| column.name.as_str());
    let expected = ["duration_ns", "end_cpu", "unknown", "dev", "sector", "nr_sector", "bytes", "rwbs"];
    assert_eq!(block.collect::<Vec<_>>(), expected);
}

/// The pairs that a join finds which looks for each end through all begins.
fn joined(pairing: SpanPairing, begins: &[Made], ends: &[Made]) -> Vec<(u64, u64, u64)> {
    let mut used = vec![false; begins.len()];
    let mut pairs = Vec::new();
    let mut previous_end: Vec<(u64, u64)> = Vec::new();
    for (end, key, _) in ends {
        let open = |at: &usize| !used[*at] && begins[*at].1 == *key && begins[*at].0 <= *end;
        let mut candidates = (0..begins.len()).filter(open);
        let found = match pairing {
            SpanPairing::Overlapping => candidates.next(),
            SpanPairing::Nested => candidates.next_back(),
            // The last begin before it, if no other end came in between.
            SpanPairing::Exclusive => candidates
                .next_back()
                .filter(|at| previous_end.iter().all(|(time, other)| other != key || *time < begins[*at].0)),
        };
        if let Some(at) = found {
            used[at] = true;
            pairs.push((begins[at].0, *end, *key));
        }
        previous_end.push((*end, *key));
    }
    pairs.sort_unstable();
    pairs
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn spans_are_what_a_join_finds(
        begins in prop::collection::btree_map(0..400_u64, 1..6_u64, 0..80),
        ends in prop::collection::btree_map(0..400_u64, 1..6_u64, 0..80),
        part in 1..50_usize,
        by_word in any::<bool>(),
    ) {
        let rows = |map: std::collections::BTreeMap<u64, u64>| {
            map.into_iter().map(|(time, key)| (time, key, key as u32)).collect::<Vec<Made>>()
        };
        let (begins, ends) = (rows(begins), rows(ends));
        for pairing in [SpanPairing::Nested, SpanPairing::Overlapping, SpanPairing::Exclusive] {
            let key: &[&str] = if by_word { &["word", "key"] } else { &["signed", "key"] };
            let mut found = found(&span(key, pairing), &begins, &ends, (part, &[]));
            found.rows.sort_unstable();
            let expected = joined(pairing, &begins, &ends);
            prop_assert_eq!(&found.rows, &expected, "{:?}", pairing);
            let matched = expected.len() as u64;
            prop_assert_eq!(found.counts, [begins.len() as u64 - matched, ends.len() as u64 - matched]);
        }
    }
}
