//! Samples by keys against plain lists of samples.

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_capture::MappingKind;
use bathyscope_views::{
    ChainNode, ChainOrder, Filter, MemorySource, ReportKey, ReportQuery, ReportRow, ReportValue, SampleReport,
    TimeRange, ViewError, sample_report,
};
use proptest::{collection::vec, prelude::*};

use crate::fixture::{Build, GO, events, profile, symbol};

const COMMS: [&str; 3] = ["sh", "nginx", "worker"];
const FUNCTIONS: [(&str, &str); 5] = [
    ("main", "/bin/x"),
    ("read", "/bin/x"),
    ("read", "/lib/y.so"),
    ("parse", "/lib/y.so"),
    ("do_idle", "[kernel.kallsyms]"),
];

/// CPU, thread, name, and functions from the outermost one.
type Sample = (u64, u64, usize, Vec<usize>);

fn made(samples: &[Sample]) -> MemorySource {
    let mut build = Build::default();
    build.profile();
    for (at, (cpu, tid, comm, functions)) in (0..).zip(samples) {
        if at == 20 {
            build.chunk();
        }
        let frame = |build: &mut Build, function: &usize| {
            let (name, module) = FUNCTIONS[*function];
            let kind = if module.starts_with('[') { MappingKind::Kernel } else { MappingKind::File };
            build.frame(kind, module.as_bytes(), *function as u64, symbol(name, &[]))
        };
        let frames: Vec<u32> = functions.iter().rev().map(|function| frame(&mut build, function)).collect();
        let stack = build.stacks.stack(&frames);
        build.sample((at * 100, *cpu, tid / 2, *tid, COMMS[*comm].as_bytes()), stack);
    }
    build.finish()
}

fn query(keys: &[ReportKey], children: bool, chains: Option<ChainOrder>) -> ReportQuery {
    let (stream, range, filter) = (0, TimeRange::ALL, None);
    ReportQuery { stream, range, filter, keys: keys.to_vec(), children, chains, chain_percent: 0.0 }
}

fn text(value: &ReportValue) -> String {
    match value {
        ReportValue::Text(text) | ReportValue::Module(text) => text.clone(),
        ReportValue::Function { name, is_kernel } => format!("{name}{}", if *is_kernel { " k" } else { "" }),
        ReportValue::Number(number) => number.to_string(),
        ReportValue::Thread { id, .. } => id.to_string(),
        ReportValue::Other => "others".to_owned(),
    }
}

/// The value of a key for a frame of a sample.
fn naive(sample: &Sample, function: Option<usize>, key: ReportKey) -> String {
    let (name, module) = function.map_or(("[no stack]", ""), |at| FUNCTIONS[at]);
    match key {
        ReportKey::Comm => COMMS[sample.2].to_owned(),
        ReportKey::Dso => module.to_owned(),
        ReportKey::Symbol => format!("{name}{}", if module.starts_with('[') { " k" } else { "" }),
        ReportKey::SourceLine if function.is_none() => "[unknown]".to_owned(),
        ReportKey::SourceLine => "x.c:3".to_owned(),
        ReportKey::Cpu => sample.0.to_string(),
        ReportKey::Pid => (sample.1 / 2).to_string(),
        ReportKey::Tid => sample.1.to_string(),
        ReportKey::Cgroup => String::new(),
    }
}

/// Functions of a sample from the innermost one.
fn leaf_first(sample: &Sample) -> Vec<Option<usize>> {
    if sample.3.is_empty() { vec![None] } else { sample.3.iter().rev().copied().map(Some).collect() }
}

fn name(function: Option<usize>) -> String {
    function.map_or("[no stack]", |at| FUNCTIONS[at].0).to_owned()
}

/// Own, total and chains by values.
type Expected = BTreeMap<Vec<String>, (u64, u64, BTreeMap<Vec<String>, u64>)>;

fn expected(samples: &[Sample], keys: &[ReportKey], children: bool, order: ChainOrder) -> Expected {
    let mut all = Expected::new();
    for sample in samples {
        let path = leaf_first(sample);
        let values = |function| keys.iter().map(|key| naive(sample, function, *key)).collect::<Vec<_>>();
        let names = |functions: &[Option<usize>]| functions.iter().map(|one| name(*one)).collect::<Vec<_>>();
        let mut seen = BTreeSet::new();
        let mut add = |at: usize, mut chain: Vec<String>| {
            if order == ChainOrder::Caller {
                chain.reverse();
            }
            let row = all.entry(values(path[at])).or_default();
            row.0 += u64::from(at == 0);
            if seen.insert(values(path[at])) {
                row.1 += 1;
                *row.2.entry(chain).or_default() += 1;
            }
        };
        add(0, names(&path));
        let inner: Vec<usize> = match (children, order) {
            (false, _) => Vec::new(),
            (true, ChainOrder::Callee) => (1..path.len()).collect(),
            (true, ChainOrder::Caller) => (1..path.len()).rev().collect(),
        };
        for at in inner {
            add(at, names(if order == ChainOrder::Caller { &path[..=at] } else { &path[at..] }));
        }
    }
    all
}

fn chains(nodes: &[ChainNode], before: &[String], found: &mut BTreeMap<Vec<String>, u64>) {
    for node in nodes {
        let mut names = before.to_vec();
        names.extend(node.names.iter().map(|(name, _)| name.clone()));
        assert_eq!(node.value, node.own + node.hidden + node.below.iter().map(|below| below.value).sum::<u64>());
        if node.own > 0 {
            *found.entry(names.clone()).or_default() += node.own;
        }
        chains(&node.below, &names, found);
    }
}

fn found(report: &SampleReport) -> Expected {
    let row = |row: &ReportRow| {
        let mut of_row = BTreeMap::new();
        chains(&row.chains, &[], &mut of_row);
        (row.values.iter().map(text).collect(), (row.own, row.total, of_row))
    };
    let all: Expected = report.rows.iter().map(row).collect();
    assert_eq!(all.len(), report.rows.len(), "values are there twice");
    all
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    vec((0u64..3, 0u64..5, 0usize..3, vec(0usize..5, 0..6)), 1..60)
}

fn keys() -> impl Strategy<Value = Vec<ReportKey>> {
    let known: Vec<ReportKey> =
        ReportKey::ALL.iter().map(|(_, key)| *key).filter(|key| *key != ReportKey::Cgroup).collect();
    proptest::sample::subsequence(known, 1..5).prop_shuffle()
}

proptest! {
    #[test]
    fn rows_and_chains_are_those_of_the_samples(
        samples in samples(), keys in keys(), children: bool, is_caller: bool
    ) {
        let order = if is_caller { ChainOrder::Caller } else { ChainOrder::Callee };
        let has_frames = samples.iter().any(|sample| !sample.3.is_empty());
        prop_assume!(has_frames || !keys.contains(&ReportKey::SourceLine));
        let report = sample_report(&made(&samples), &query(&keys, children, Some(order)), &GO).unwrap();
        prop_assert_eq!((report.samples, report.total), (samples.len() as u64, samples.len() as u64));
        let of_frame = keys.iter().any(|key| matches!(key, ReportKey::Dso | ReportKey::Symbol | ReportKey::SourceLine));
        prop_assert_eq!(found(&report), expected(&samples, &keys, children && of_frame, order));
        let rank: Vec<u64> = report.rows.iter().map(|row| if children { row.total } else { row.own }).collect();
        prop_assert!(rank.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn branches_below_the_share_are_counted_as_hidden(samples in samples(), percent in 0.0f64..60.0) {
        let asked = ReportQuery { chain_percent: percent, ..query(&[ReportKey::Comm], false, Some(ChainOrder::Caller)) };
        let report = sample_report(&made(&samples), &asked, &GO).unwrap();
        let least = report.total as f64 * percent / 100.0;
        fn check(node: &ChainNode, least: f64) {
            assert!(node.value as f64 >= least);
            assert_eq!(node.value, node.own + node.hidden + node.below.iter().map(|below| below.value).sum::<u64>());
            node.below.iter().for_each(|below| check(below, least));
        }
        report.rows.iter().flat_map(|row| &row.chains).for_each(|node| check(node, least));
    }
}

#[test]
fn inlined_functions_are_marked_in_chains_and_filters_are_kept() {
    let filter = Filter::parse("comm == \"nginx worker\"").unwrap();
    let asked = ReportQuery { filter, ..query(&[ReportKey::Comm, ReportKey::Dso], true, Some(ChainOrder::Callee)) };
    let report = sample_report(&profile(), &asked, &GO).unwrap();
    assert!(report.rows.iter().all(|row| text(&row.values[0]) == "nginx worker"));
    let inlined = report
        .rows
        .iter()
        .flat_map(|row| &row.chains)
        .flat_map(|node| &node.names)
        .find(|(name, _)| name == "ngx_parse");
    assert_eq!(inlined, Some(&("ngx_parse".to_owned(), true)));
}

#[test]
fn what_cannot_be_told_apart_is_refused_in_words() {
    let cgroup = sample_report(&profile(), &query(&[ReportKey::Cgroup], false, None), &GO);
    let said = cgroup.unwrap_err();
    assert!(said.is_bad_request() && said.to_string().contains("no control group was recorded"), "{said}");
    let mut build = Build::default();
    build.profile();
    let frame = build.frame(MappingKind::File, b"/bin/x", 7, None);
    let stack = build.stacks.stack(&[frame]);
    build.sample((0, 0, 1, 1, b"x"), stack);
    let lines = sample_report(&build.finish(), &query(&[ReportKey::SourceLine], false, None), &GO);
    assert!(lines.unwrap_err().to_string().contains("no debug information"));
    let no_samples = sample_report(&events(), &query(&[ReportKey::Comm], false, None), &GO);
    assert!(matches!(no_samples, Err(ViewError::NoSamples)));
}
