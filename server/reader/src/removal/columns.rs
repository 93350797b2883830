//! Which columns of a stream are replaced, by what they are known to mean.
//!
//! A text is kept only where the column is one of this program's own words (a call, a state, an event, a function), and a number where it
//! is a quantity, or of no kind that was chosen. Columns that events of the kernel, probes and scripts bring are judged by their names; a
//! text whose column says nothing may be anything, and is an argument whatever was chosen.

use bathyscope_capture::{Column, ColumnNames, ColumnType, Display, RowKind, StreamKind, StreamSchema};

use super::{Removal, RemovedKind};

/// What becomes of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnRule {
    /// They stay.
    Keep,
    /// Texts are replaced by placeholders of a kind.
    Text(RemovedKind),
    /// Numbers are replaced.
    Number,
    /// Numbers that may be addresses of memory are replaced.
    Pointers,
}

/// Columns of the program's own streams that have words of its own, or names of functions.
const OWN_WORDS: [(&str, &[&str]); 6] = [
    ("syscalls", &["call", "error", "kind", "abi"]),
    ("function", &["func", "caller"]),
    ("function_graph", &["func", "caller", "state"]),
    ("ftrace", &["event"]),
    ("switches", &["state", "blocked_function", "of_target"]),
    ("branches", &["kind", "spec"]),
];
/// Likewise of samples, of counters, and of what was computed.
const SAMPLE_WORDS: [&str; 7] = ["access", "level", "snoop", "tlb", "locked", "blocked", "event"];
const COUNTER_WORDS: [&str; 3] = ["event", "unit", "state"];
const COMPUTED_WORDS: [&str; 2] = ["state", "unknown"];
/// Columns of maps that have what was counted.
const SUMS: [&str; 9] = ["snapshot", "count", "sum", "min", "max", "average", "total", "low", "high"];
/// Numbers that are quantities, in the program's own streams.
const QUANTITIES: [&str; 16] = [
    "result",
    "value",
    "weight",
    "period",
    "depth",
    "ins_lat",
    "retire_lat",
    "cycles",
    "enabled_ns",
    "running_ns",
    "span_ns",
    "duration_ns",
    "sample",
    "index",
    "end_cpu",
    "target_cpu",
];
/// Words of the names of columns.
const NAME_WORDS: [&str; 13] = [
    "comm",
    "user",
    "username",
    "login",
    "host",
    "hostname",
    "nodename",
    "container",
    "cgroup",
    "scope",
    "task",
    "thread",
    "process",
];
const PATH_WORDS: [&str; 13] = [
    "path", "pathname", "file", "filename", "fname", "dir", "exe", "mapping", "dentry", "interp", "oldname", "newname",
    "mount",
];
const ADDRESS_WORDS: [&str; 26] = [
    "address", "ip", "ip4", "ip6", "ipv4", "ipv6", "mac", "port", "sport", "dport", "lport", "rport", "ptr", "pointer",
    "sk", "sock", "skb", "dst", "src", "peer", "remote", "local", "vaddr", "paddr", "pfn", "sockaddr",
];

/// The rule of each column; `of` says who named them, as far as that is known.
pub(super) fn rules(removal: &Removal, schema: &StreamSchema, of: Option<ColumnNames>) -> Vec<ColumnRule> {
    let rule = |(index, column): (usize, &Column)| rule(removal, schema, (index, column), of);
    schema.columns.iter().enumerate().map(rule).collect()
}

fn rule(
    removal: &Removal,
    schema: &StreamSchema,
    (index, column): (usize, &Column),
    of: Option<ColumnNames>,
) -> ColumnRule {
    match column.ty {
        ColumnType::Stack => ColumnRule::Keep,
        ColumnType::Text if index == StreamSchema::COMM => chosen(removal, RemovedKind::Names),
        ColumnType::Text => text(removal, schema, column, of),
        ColumnType::U64 | ColumnType::I64 if index < StreamSchema::COMMON.len() => ColumnRule::Keep,
        ColumnType::U64 | ColumnType::I64 => number(removal, schema, column, of),
    }
}

fn chosen(removal: &Removal, kind: RemovedKind) -> ColumnRule {
    if removal.removes(kind) { ColumnRule::Text(kind) } else { ColumnRule::Keep }
}

fn text(removal: &Removal, schema: &StreamSchema, column: &Column, of: Option<ColumnNames>) -> ColumnRule {
    let name = column.name.as_str();
    if is_own_word(schema, name, of) {
        return ColumnRule::Keep;
    }
    // A script's columns are called by whoever wrote it.
    let is_script = of == Some(ColumnNames::Script) || schema.kind == StreamKind::Map;
    match meaning(name).filter(|_| !is_script) {
        Some(kind) => chosen(removal, kind),
        None => ColumnRule::Text(RemovedKind::Arguments),
    }
}

/// Whether a column has words of this program.
fn is_own_word(schema: &StreamSchema, name: &str, of: Option<ColumnNames>) -> bool {
    if of == Some(ColumnNames::Script) {
        return false;
    }
    let own = OWN_WORDS.iter().find(|(stream, _)| *stream == schema.name);
    let computed = schema.derived.is_some() && COMPUTED_WORDS.contains(&name);
    let sampled = schema.kind == StreamKind::Samples && SAMPLE_WORDS.contains(&name);
    let counted = is_counter(schema) && COUNTER_WORDS.contains(&name);
    own.is_some_and(|(_, columns)| columns.contains(&name)) || computed || sampled || counted
}

fn is_counter(schema: &StreamSchema) -> bool {
    schema.kind == StreamKind::Events && matches!(schema.meaning().kind, RowKind::Counter { .. })
}

fn number(removal: &Removal, schema: &StreamSchema, column: &Column, of: Option<ColumnNames>) -> ColumnRule {
    if matches!(column.display, Display::TimeNs | Display::DurationNs) {
        return ColumnRule::Keep;
    }
    let name = column.name.as_str();
    let is_address = column.display == Display::Hex || meaning(name) == Some(RemovedKind::Addresses);
    if is_address && removal.removes(RemovedKind::Addresses) {
        return ColumnRule::Number;
    }
    if removal.removes(RemovedKind::Arguments) && is_data(schema, name, of) {
        return ColumnRule::Number;
    }
    // A name that says nothing may be that of an address: what is as large as one is taken for it.
    if removal.removes(RemovedKind::Addresses) { ColumnRule::Pointers } else { ColumnRule::Keep }
}

/// Whether a number is what a program or a script has, and none that the kernel or this program tells about it.
fn is_data(schema: &StreamSchema, name: &str, of: Option<ColumnNames>) -> bool {
    if schema.kind == StreamKind::Map {
        return !SUMS.contains(&name);
    }
    // Elements of arrays may be the letters of a text.
    if name.ends_with(']') {
        return true;
    }
    let is_own = OWN_WORDS.iter().any(|(stream, _)| *stream == schema.name)
        || schema.kind == StreamKind::Samples
        || is_counter(schema)
        || of == Some(ColumnNames::Own);
    match of {
        Some(ColumnNames::Script) => true,
        _ if is_own => false,
        Some(ColumnNames::Kernel) if schema.derived.is_none() => is_of_calls_or_dynamic(schema),
        // Of what was computed it is not known of what.
        _ => !QUANTITIES.contains(&name) && !is_of_threads(name),
    }
}

/// Numbers of threads, which are told of every row.
fn is_of_threads(name: &str) -> bool {
    ["pid", "tid", "cpu"].iter().any(|word| name == *word || name.ends_with(&format!("_{word}")))
}

/// Whether the rows are of system calls, or of probes that somebody has made: their fields are arguments.
fn is_of_calls_or_dynamic(schema: &StreamSchema) -> bool {
    let group = schema.name.split(':').next().unwrap_or("");
    let is_probe = |text: &str| text.contains("__probe_");
    matches!(group, "syscalls" | "raw_syscalls" | "kprobes" | "uprobes" | "probe" | "synthetic")
        || schema.format.as_deref().is_some_and(|format| is_probe(&format.text))
        || schema.columns.iter().any(|column| is_probe(&column.name))
        || !schema.name.contains(':')
}

/// What the name of a column says of its values; none if nothing.
fn meaning(name: &str) -> Option<RemovedKind> {
    let name = name.split('[').next().unwrap_or(name).to_ascii_lowercase();
    let words = || name.split(['_', '.']);
    let has = |all: &[&str]| words().any(|word| all.contains(&word));
    if has(&ADDRESS_WORDS) || words().any(|word| word.ends_with("addr")) {
        return Some(RemovedKind::Addresses);
    }
    if has(&PATH_WORDS) {
        return Some(RemovedKind::Paths);
    }
    has(&NAME_WORDS).then_some(RemovedKind::Names)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::removal::REMOVAL_KEY_BYTES;
    use RemovedKind::{Addresses, Arguments, Names, Paths};

    fn schema(name: &str, kind: StreamKind, own: &[(&str, ColumnType, Display)]) -> StreamSchema {
        let column = |(name, ty, display): &(&str, ColumnType, Display)| Column {
            name: (*name).to_owned(),
            ty: *ty,
            display: *display,
        };
        StreamSchema::new(name, kind, own.iter().map(column))
    }

    #[test]
    fn columns_are_judged_by_what_they_mean_and_removed_where_that_is_not_known() {
        const TEXT: (ColumnType, Display) = (ColumnType::Text, Display::Text);
        const NUMBER: (ColumnType, Display) = (ColumnType::U64, Display::Decimal);
        const HEX: (ColumnType, Display) = (ColumnType::U64, Display::Hex);
        const LONG: (ColumnType, Display) = (ColumnType::U64, Display::DurationNs);
        let events = StreamKind::Events;
        let (of_events, of_calls, of_script) =
            (Some(ColumnNames::Kernel), Some(ColumnNames::Own), Some(ColumnNames::Script));
        // With which of them each is replaced; `all` where it is with any.
        let all: &[RemovedKind] = &RemovedKind::ALL;
        type Case<'a> = (&'a str, StreamKind, Option<ColumnNames>, &'a str, (ColumnType, Display), &'a [RemovedKind]);
        let cases: &[Case<'_>] = &[
            ("sched:sched_switch", events, of_events, "next_comm", TEXT, &[Names]),
            ("sched:sched_switch", events, of_events, "next_pid", NUMBER, &[]),
            ("sched:sched_process_exec", events, of_events, "filename", TEXT, &[Paths]),
            ("syscalls:sys_enter_openat", events, of_events, "args.filename", TEXT, &[Paths]),
            ("syscalls:sys_enter_write", events, of_events, "count", NUMBER, &[Arguments]),
            ("syscalls:sys_enter_write", events, of_events, "buf", HEX, &[Arguments, Addresses]),
            ("net:net_dev_queue", events, of_events, "name", TEXT, all),
            ("tcp:tcp_retransmit_skb", events, of_events, "saddr[0]", NUMBER, &[Arguments, Addresses]),
            ("tcp:tcp_retransmit_skb", events, of_events, "dport", NUMBER, &[Addresses]),
            ("tcp:tcp_retransmit_skb", events, of_events, "skbaddr", HEX, &[Addresses]),
            ("syscalls", events, of_calls, "call", TEXT, &[]),
            ("syscalls", events, of_calls, "args", TEXT, all),
            ("syscalls", events, of_calls, "note", TEXT, all),
            ("syscalls", events, of_calls, "duration_ns", LONG, &[]),
            ("printf:3", events, of_script, "comm", TEXT, all),
            ("printf:3", events, of_script, "call", TEXT, all),
            ("printf:3", events, of_script, "arg0", NUMBER, &[Arguments]),
            ("@", StreamKind::Map, of_script, "key", TEXT, all),
            ("@", StreamKind::Map, of_script, "key", NUMBER, &[Arguments]),
            ("@", StreamKind::Map, of_script, "count", NUMBER, &[]),
            ("cycles", StreamKind::Samples, Some(ColumnNames::Own), "mapping", TEXT, &[Paths]),
            ("cycles", StreamKind::Samples, Some(ColumnNames::Own), "addr", HEX, &[Addresses]),
            ("cycles", StreamKind::Samples, Some(ColumnNames::Own), "level", TEXT, &[]),
            ("of/another", events, None, "call", TEXT, all),
            ("of/another", events, None, "number", NUMBER, &[Arguments]),
        ];
        for (stream, kind, of, name, (ty, display), removed) in cases {
            let schema = schema(stream, *kind, &[(name, *ty, *display)]);
            for chosen in RemovedKind::ALL {
                let removal = Removal::new(&[chosen], [0; REMOVAL_KEY_BYTES], "").unwrap();
                let rule = rules(&removal, &schema, *of).pop().unwrap();
                let is_replaced = matches!(rule, ColumnRule::Text(_) | ColumnRule::Number);
                assert_eq!(is_replaced, removed.contains(&chosen), "{stream} {name} without {chosen}: {rule:?}");
            }
        }
    }

    #[test]
    fn common_columns_stay_but_for_the_name() {
        let schema = schema("a:b", StreamKind::Events, &[]);
        let all = Removal::new(&RemovedKind::ALL, [0; REMOVAL_KEY_BYTES], "").unwrap();
        let rules = rules(&all, &schema, None);
        assert_eq!(rules.iter().filter(|rule| **rule != ColumnRule::Keep).count(), 1);
        assert_eq!(rules[StreamSchema::COMM], ColumnRule::Text(Names));
    }
}
