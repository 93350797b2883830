//! What queries give, how much they read for it, and what they cannot do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../../../views/tests/suite/fixture/mod.rs"]
mod fixture;
mod hostile;
mod made;
mod ranges;

use std::sync::{Arc, atomic::AtomicBool};

use bathyscope_capture::{ProcessChange, ProcessChangeKind, ShownCell};
use bathyscope_query::{Answer, Capture, ColumnKind, Cut, Limits, QueryError, examples, run, tables};
use bathyscope_views::MemorySource;
use made::{CHUNKS, ROWS, all_different, switches};

pub(crate) fn capture(source: MemorySource) -> Capture {
    Capture::new(Arc::new(source))
}

pub(crate) fn ask(capture: &Capture, sql: &str) -> Result<Answer, QueryError> {
    run(capture, sql, &Limits::USUAL, &Arc::new(AtomicBool::new(false)))
}

/// The answer as lines with `|` between values.
pub(crate) fn lines(answer: &Answer) -> Vec<String> {
    let word = |cell: &ShownCell| match cell {
        ShownCell::Null => "-".to_owned(),
        ShownCell::Number(number) => number.to_string(),
        ShownCell::Real(number) => format!("{number:?}"),
        ShownCell::Text(text) => text.clone(),
        ShownCell::Stack { id, top, depth } => format!("{id}:{top}:{depth}"),
    };
    answer.rows.iter().map(|row| row.iter().map(word).collect::<Vec<_>>().join("|")).collect()
}

#[track_caller]
fn gives(capture: &Capture, sql: &str, expected: &[&str]) {
    let answer = ask(capture, sql).unwrap_or_else(|error| panic!("{sql}: {error} {}", error.remedy()));
    assert_eq!(lines(&answer), expected, "{sql}");
}

#[test]
fn rows_of_one_kind_are_a_table_over_all_streams() {
    let capture = capture(made::mixed());
    let cases: &[(&str, &[&str])] = &[
        (
            "select time, tid, comm, duration_ns, depth, stream from slices order by time",
            &["0|9|two|900|-|it's \"taken\"", "300|8|one|200|-|it's \"taken\""],
        ),
        ("select name, of, value, span_ns, unit, stream from counters", &["cs|all|42|1000|-|counts"]),
        ("select count(*) from states", &["0"]),
        ("select count(*) from samples where stack is not null", &["0"]),
        ("select sum(s.duration_ns), max(c.value) from slices s join counters c on s.time < c.time", &["1100|42"]),
    ];
    for (sql, expected) in cases {
        gives(&capture, sql, expected);
    }
    let answer = ask(&capture, "select time, duration_ns from slices").unwrap();
    let displays: Vec<_> = answer.columns.iter().map(|column| column.display).collect();
    assert_eq!(displays, [bathyscope_capture::Display::Decimal, bathyscope_capture::Display::DurationNs]);
    for sql in ["drop view slices", "create temp view x as select 1", "insert into slices values (1)"] {
        assert!(ask(&capture, sql).is_err(), "{sql}");
    }
    let gauges = Capture::new(Arc::new(made::gauges()));
    let expected = ["cs|42|1000|-", "memory:free|4096|-|bytes", "pressure:io-some|250|1000|ns"];
    gives(&gauges, "select name, value, span_ns, unit from counters order by name", &expected);
    let profile = Capture::new(Arc::new(fixture::profile()));
    gives(&profile, "select count(*), sum(weight), min(unit), min(stream) from samples", &["40|40|samples|cpu-clock"]);
    let listed: Vec<String> = tables(&profile).unwrap().into_iter().map(|table| table.name).collect();
    assert_eq!(listed[..3], ["cpu-clock", "samples", "streams"], "what is always empty is not listed");
    gives(&profile, "select count(*) from slices", &["0"]);
}

#[test]
fn calls_of_unknown_length_have_none() {
    let capture = capture(made::calls());
    let cases: &[(&str, &[&str])] = &[
        ("select call, duration_ns from syscalls", &["read|-", "read|50", "write|30", "write|-", "futex|-", "read|7"]),
        ("select count(*), count(duration_ns), sum(duration_ns), avg(duration_ns) from syscalls", &["6|3|87|29.0"]),
        ("select min(duration_ns), max(duration_ns), total(duration_ns) from syscalls", &["7|50|87.0"]),
        (
            "select call, count(*), count(duration_ns), min(duration_ns), avg(duration_ns) from syscalls group by call order by call",
            &["futex|1|0|-|-", "read|3|2|7|28.5", "write|2|1|30|30.0"],
        ),
        // As before, row by row.
        (
            "select call, count(duration_ns), sum(duration_ns + 0) from syscalls group by call",
            &["futex|0|-", "read|2|57", "write|1|30"],
        ),
        ("select duration_ns, count(*) from syscalls group by duration_ns", &["-|3", "7|1", "30|1", "50|1"]),
        ("select distinct duration_ns from syscalls order by duration_ns desc", &["50", "30", "7", "-"]),
        ("select count(*) from syscalls where duration_ns < 40", &["2"]),
        ("select count(*) from syscalls where duration_ns >= 0", &["3"]),
        ("select count(*) from syscalls where duration_ns = 0", &["0"]),
        ("select count(*) from syscalls where duration_ns in (0, 7)", &["1"]),
        ("select count(*) from syscalls where duration_ns is null", &["3"]),
        ("select sum(duration_ns) from syscalls where duration_ns <> 7", &["80"]),
        ("select percentile(duration_ns, 50), count(duration_ns) from syscalls", &["30|3"]),
        ("select count(*), sum(duration_ns) from slices", &["6|87"]),
        // What a filter for rows without one becomes.
        ("select count(*) from syscalls where not coalesce(duration_ns glob '*', 0)", &["3"]),
    ];
    for (sql, expected) in cases {
        gives(&capture, sql, expected);
    }
}

#[test]
fn streams_are_tables_by_their_whole_and_their_short_names() {
    let capture = capture(fixture::events());
    let cases: &[(&str, &[&str])] = &[
        ("select count(*) from \"sched:sched_wakeup\"", &["30"]),
        ("select count(*) from sched_wakeup", &["30"]),
        ("select count(*) from SCHED_WAKEUP", &["30"]),
        (
            "select time, cpu, pid, tid, comm, prev_comm, prev_prio, \"args.pid\" from sched_wakeup limit 2",
            &["0|0|100|100|bash|sshd|20|0", "100|1|101|101|kworker/0:1|cron|17|1"],
        ),
        ("select comm, count(*) from sched_wakeup group by comm order by comm", &["bash|10", "kworker/0:1|20"]),
        (
            "select comm, cpu, count(*), sum(prev_prio) from sched_wakeup where comm = 'bash' group by comm, cpu",
            &["bash|0|10|-205"],
        ),
        ("select distinct cpu from sched_wakeup order by cpu", &["0", "1", "2"]),
        ("select distinct comm from sched_wakeup where cpu in (1, 2)", &["kworker/0:1"]),
        ("select min(prev_prio), max(prev_prio), total(prev_prio) from sched_wakeup", &["-67|20|-705.0"]),
        ("select time from sched_wakeup order by time desc limit 2", &["84100", "78400"]),
        ("select filename, flags from sys_enter_openat where filename is null", &["-|320"]),
        // Beyond 2^63 numbers keep their bits.
        ("select flags, printf('%x', flags) from sys_enter_openat where flags < 0", &["-1|ffffffffffffffff"]),
        ("select until from sys_enter_openat where until >= 8000", &["8000", "9000"]),
        ("select pid from sched_wakeup where comm = 'nobody'", &[]),
        ("select count(*) from sched_wakeup where comm = 'BASH' collate nocase", &["10"]),
        ("select count(*) from sched_wakeup where comm in ('bash', 'zsh', null)", &["10"]),
        ("select count(*) from sched_wakeup where pid = '100'", &["15"]),
        ("select count(*) from sched_wakeup where pid = 100.0 and cpu < 0.5", &["5"]),
        ("select count(*) from sched_wakeup where cpu = null", &["0"]),
        ("select count(*) from sched_wakeup where time between 100 and 900", &["3"]),
        (
            "select a.time, b.filename from sched_wakeup a join sys_enter_openat b on b.time between a.time and a.time + 1000 \
             where a.time > 20000 and a.time < 23000 order by 1, 2",
            &["22500|/etc/file0"],
        ),
        (
            "with w as materialized (select pid, count(*) n from sched_wakeup group by pid) select w.n from \
             sys_enter_openat o join w on w.pid = o.pid limit 1",
            &["15"],
        ),
        (
            "select sum(n) over (order by cpu) from (select cpu, count(*) n from sched_wakeup group by cpu)",
            &["10", "20", "30"],
        ),
        ("select 1 as a, 'x' as b, null as c, 1.5 as d, x'00ff' as e", &["1|x|-|1.5|x'00ff'"]),
        ("values (1), (2)", &["1", "2"]),
    ];
    for (sql, expected) in cases {
        gives(&capture, sql, expected);
    }
}

#[test]
fn the_small_tables_tell_what_rows_refer_to() {
    let mut capture = capture(fixture::profile());
    let change = |time_ns, kind| ProcessChange { time_ns, pid: 10, tid: 10, kind };
    capture.processes = Arc::new(vec![
        change(0, ProcessChangeKind::Existing { comm: 1 }),
        change(fixture::ORIGIN + 7, ProcessChangeKind::Fork { parent_pid: 1 }),
        change(fixture::ORIGIN + 9, ProcessChangeKind::Exit),
    ]);
    let cases: &[(&str, &[&str])] = &[
        ("select name, kind, rows, chunks, first, last from streams", &["cpu-clock|samples|40|2|0|39000"]),
        ("select * from processes", &["0|10|10|existing|sh|-", "7|10|10|fork|-|1", "9|10|10|exit|-|-"]),
        (
            "select depth, function from stacks where id = 1",
            &["0|vfs_read", "1|do_syscall_64", "2|ngx_serve", "3|main"],
        ),
        ("select count(*), max(id) from stacks", &["20|8"]),
        (
            "select function, offset, kind, module, file, line, inlined from frames where id = 6",
            &["ngx_serve|20|file|/usr/sbin/nginx|x.c|3|ngx_buffer;ngx_parse"],
        ),
        ("select f.function from stacks s join frames f on f.id = s.frame where s.id = 4", &["do_idle"]),
        ("select kind, name from mappings where id = 1", &["kernel|[kernel.kallsyms]"]),
        ("select text from strings where id = 1", &["sh"]),
        ("select text from strings where id in (2, 1, 77) order by id", &["sh", "nginx"]),
        ("select count(*) from strings where id = 0 or id = -5 or id = 9223372036854775807", &["0"]),
        (
            "select stack(1), stack_top(2), frame(1), stack(0), stack(99), frame(-1)",
            &["main;ngx_serve;ngx_buffer;ngx_parse;do_syscall_64;vfs_read|ngx_parse|vfs_read|-|-|-"],
        ),
        ("select stack from \"cpu-clock\" where time = 4000", &["4:do_idle:1"]),
        ("select count(*) from \"cpu-clock\" where stack is null", &["1"]),
    ];
    for (sql, expected) in cases {
        gives(&capture, sql, expected);
    }
    let answer = ask(&capture, "select stack, count(*) n from cpu_clock group by stack").unwrap();
    assert_eq!(answer.columns[0].kind, ColumnKind::Stack);
    assert!(answer.rows[0][0] == ShownCell::Null && matches!(answer.rows[1][0], ShownCell::Stack { .. }));
    let losses = self::capture(fixture::events());
    gives(
        &losses,
        "select * from losses",
        &["sched:sched_wakeup|ring_full|17|10000|30000", "-|store|3|1000000|1000001"],
    );
}

#[test]
fn functions_compute_what_they_say() {
    let capture = capture(switches());
    let cases: &[(&str, &[&str])] = &[
        (
            "select overlap(0, 10, 5, 20), overlap(0, 5, 5, 9), overlap(7, 2, 0, 9), overlap(0, null, 1, 2)",
            &["5|0|0|-"],
        ),
        (
            "select hist(value) from json_each('[0, 1, 2, 3, 4, 1023, 1024, -7]')",
            &["[[null,-1,1],[0,0,1],[1,1,1],[2,3,2],[4,7,1],[512,1023,1],[1024,2047,1]]"],
        ),
        ("select hist(9223372036854775807)", &["[[4611686018427387904,9223372036854775807,1]]"]),
        ("select hist(null), hist(1) filter (where 0)", &["[]|-"]),
        (
            "select percentile(value, 50), percentile(value, 99), percentile(value, 0), percentile(value, 100) from \
          json_each('[5, 1, 4, 2, 3]')",
            &["3|5|1|5"],
        ),
        ("select percentile(value, 50) from json_each('[1.5, 2, 10]')", &["2.0"]),
        ("select percentile(null, 50), percentile(1, 50) filter (where 0)", &["-|-"]),
        (
            "select floor(1.5), ceil(1.5), floor(-1.5), ceil(7), log2(8), sqrt(9), log2(0), floor(null)",
            &["1|2|-2|7|3.0|3.0|-|-"],
        ),
        ("select cpu, percentile(dur, 100) from sched_switch group by cpu order by cpu limit 2", &["0|992", "1|999"]),
    ];
    for (sql, expected) in cases {
        gives(&capture, sql, expected);
    }
    let error = ask(&capture, "select percentile(1, 101)").unwrap_err();
    assert!(error.to_string().contains("from 0 to 100"), "{error}");
}

#[test]
fn chunks_in_which_nothing_is_wanted_are_not_decoded() {
    let capture = capture(switches());
    let all = CHUNKS as u64;
    let cases = [
        ("select count(*) from sched_switch", 0),
        ("select count(cpu) from sched_switch", all),
        ("select count(*) from sched_switch where time between 0 and 10", 1),
        ("select cpu from sched_switch where time >= 5000000 and time < 6000000", 2),
        ("select cpu from sched_switch where time > 1e12", 0),
        ("select cpu from sched_switch where time = 5000000", 1),
        ("select cpu from sched_switch where time in (0, 5000000, 9900000)", 3),
        // Each chunk has a number of its own in this column.
        ("select cpu from sched_switch where chunk = 3", 1),
        ("select cpu from sched_switch where chunk > 3.5 and chunk <= 5", 2),
        ("select cpu from sched_switch where chunk in (1, 8, 77)", 2),
        ("select cpu from sched_switch where chunk between 18 and 1000", 2),
        ("select cpu from sched_switch where prio < -19", 1),
        ("select cpu from sched_switch where cpu = 9", 0),
        ("select cpu from sched_switch where comm = 'nobody at all'", 0),
        // What cannot be told before is looked at.
        ("select cpu from sched_switch where chunk + 0 = 3", all),
        ("select cpu from sched_switch limit 10", 1),
        ("select time from sched_switch order by time limit 10", 1),
        ("select time from sched_switch order by time desc limit 10", 1),
    ];
    for (sql, expected) in cases {
        let answer = ask(&capture, sql).unwrap();
        assert_eq!(answer.scanned.chunks, expected, "{sql}");
    }
    let answer = ask(&capture, "select cpu from sched_switch where chunk = 3").unwrap();
    assert_eq!((answer.rows.len(), answer.scanned.skipped), (ROWS, all - 1));
}

#[test]
fn groups_are_put_together_without_sorting_and_say_the_same() {
    let capture = capture(switches());
    let plan = |sql: &str| lines(&ask(&capture, &format!("explain query plan {sql}")).unwrap()).join("\n");
    let grouped = "select cpu, count(*), sum(dur) from sched_switch group by cpu";
    assert!(plan(grouped).contains("group 1") && !plan(grouped).contains("TEMP B-TREE"), "{}", plan(grouped));
    let pairs = [
        ("cpu, count(*), sum(dur)", "cpu"),
        ("comm, count(*)", "comm"),
        ("comm, cpu, min(time), max(prio)", "comm, cpu"),
        ("prio, count(distinct cpu)", "prio"),
        ("tid, count(*), group_concat(cpu)", "tid"),
    ];
    for (columns, keys) in pairs {
        let slow_keys: Vec<String> = keys.split(", ").map(|key| format!("+{key} desc")).collect();
        let falling: Vec<String> = keys.split(", ").map(|key| format!("{key} desc")).collect();
        let fast = format!("select {columns} from sched_switch group by {keys} order by {}", falling.join(", "));
        let slow = format!("select {columns} from sched_switch group by {keys} order by {}", slow_keys.join(", "));
        assert_eq!(lines(&ask(&capture, &fast).unwrap()), lines(&ask(&capture, &slow).unwrap()), "{fast}");
        for condition in ["", "where dur > 500", "where comm = 'two'", "where time between 2000000 and 7123456"] {
            let fast = format!("select {columns} from sched_switch {condition} group by {keys} order by {keys}");
            let sorted: Vec<String> = keys.split(", ").map(|key| format!("+{key}")).collect();
            let slow = format!("select {columns} from sched_switch {condition} group by {}", sorted.join(", "));
            let slow = format!("{slow} order by {}", sorted.join(", "));
            assert_eq!(lines(&ask(&capture, &fast).unwrap()), lines(&ask(&capture, &slow).unwrap()), "{fast}");
        }
    }
    gives(&capture, "select count(distinct cpu), count(*), count(distinct comm) from sched_switch", &["8|10000|4"]);
    gives(&capture, "select count(distinct cpu) from sched_switch where cpu > 2", &["5"]);
    gives(&capture, "select count(*) from (select distinct cpu, dur % 2 from sched_switch)", &["8"]);
    gives(
        &capture,
        "select cpu, min(time) from sched_switch group by cpu having count(*) > 1 order by cpu limit 1",
        &["0|0"],
    );
    let distinct = ask(&capture, "select distinct cpu, comm from sched_switch").unwrap();
    let slow = ask(&capture, "select distinct +cpu, +comm from sched_switch").unwrap();
    let sorted = |answer| {
        let mut lines = lines(answer);
        lines.sort();
        lines
    };
    assert_eq!(sorted(&distinct), sorted(&slow));
}

#[test]
fn more_groups_than_are_kept_are_sorted_by_sqlite() {
    let rows = (1 << 20) + 70_000;
    let capture = capture(all_different(rows));
    let expected = rows.to_string();
    gives(
        &capture,
        "select count(*), sum(n) from (select v, count(*) as n from big group by v)",
        &[&format!("{expected}|{expected}")],
    );
    gives(
        &capture,
        "select cpu, count(*) from big group by cpu order by cpu desc limit 1",
        &[&format!("3|{}", rows / 4)],
    );
}

#[test]
fn an_answer_is_cut_where_it_was_asked_to_be_and_says_so() {
    let capture = capture(switches());
    let cancel = Arc::new(AtomicBool::new(false));
    let limits = Limits { rows: 7, ..Limits::USUAL };
    let answer = run(&capture, "select time from sched_switch", &limits, &cancel).unwrap();
    assert_eq!((answer.rows.len(), answer.truncated), (7, Some(Cut::Rows)));
    let answer = run(&capture, "select time from sched_switch limit 7", &limits, &cancel).unwrap();
    assert_eq!((answer.rows.len(), answer.truncated), (7, None));
    let limits = Limits { bytes: 1000, ..Limits::USUAL };
    let answer = run(&capture, "select hex(zeroblob(100)) from sched_switch", &limits, &cancel).unwrap();
    assert_eq!((answer.rows.len(), answer.truncated), (4, Some(Cut::Bytes)));
}

#[test]
fn heads_and_numbers_are_as_a_page_needs_them() {
    let capture = capture(fixture::events());
    let sql = "select time, comm, flags, until as u, time / 2, flags * 1.5, 'x' as t, null as n from sys_enter_openat";
    let json = serde_json::to_value(ask(&capture, sql).unwrap()).unwrap();
    let heads: Vec<String> = json["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|head| {
            format!(
                "{}:{}:{}",
                head["name"].as_str().unwrap(),
                head["type"].as_str().unwrap(),
                head["display"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        heads,
        [
            "time:i64:time_ns",
            "comm:text:text",
            "flags:i64:hex",
            "u:i64:time_ns",
            "time / 2:i64:decimal",
            "flags * 1.5:f64:decimal",
            "t:text:text",
            "n:any:decimal",
        ]
    );
    let json = serde_json::to_value(ask(&capture, "select 9007199254740993, 9007199254740991").unwrap()).unwrap();
    assert_eq!(json["rows"], serde_json::json!([["9007199254740993", 9_007_199_254_740_991_i64]]));
}

#[test]
fn mistakes_are_told_with_their_place_and_what_there_is() {
    let capture = capture(fixture::events());
    let cases = [
        ("select tiem from sched_wakeup", "no such column: tiem", "sched_wakeup has time, cpu, pid"),
        ("select 1\nfrom nowhere", "no such table: nowhere", "sched_wakeup, sys_enter_openat, states, slices"),
        ("select nope(1)", "no such function: nope", "stack()"),
        ("select\n  from from", "line 2, column 3: near \"from\": syntax error", ""),
        ("select time from sched:sched_wakeup", "", "double quotes"),
        ("select \"no such\" from sched_wakeup", "no such column", "sched_wakeup has"),
        ("", "no statement", "Write a SELECT"),
        ("  -- only a remark", "no statement", "Write a SELECT"),
        ("select 1; select 2", "more than one statement", "one at a time"),
        ("select \0", "zero byte", ""),
        ("select count(*, 1)", "syntax error", ""),
    ];
    for (sql, message, remedy) in cases {
        let error = ask(&capture, sql).unwrap_err();
        assert!(error.to_string().contains(message), "{sql}: {error}");
        assert!(error.remedy().contains(remedy), "{sql}: {error} {}", error.remedy());
    }
    gives(&capture, "select 1; -- with a remark", &["1"]);
}

#[test]
fn names_that_try_to_be_something_else_are_names() {
    let capture = capture(fixture::hostile());
    assert_eq!(tables(&capture).unwrap()[0].name, "cpu-clock");
    let answer = ask(&capture, "select text, comm, count(*) from \"a:b\" group by text, comm").unwrap();
    assert_eq!(answer.rows.len(), fixture::hostile_names().len());
    let answer = ask(&capture, "select stack(stack), comm from cpu_clock").unwrap();
    for line in lines(&answer) {
        assert!(!line.contains(['\u{1b}', '\n', '\u{202e}', '\0']), "{line:?}");
    }
    assert_eq!(ask(&capture, "select text from b where text = '1e999'").unwrap().rows.len(), 1);
}

#[test]
fn examples_run_on_the_captures_they_are_made_for() {
    for source in [fixture::events(), fixture::profile(), fixture::hostile(), switches(), MemorySource::new(0)] {
        let capture = capture(source);
        let examples = examples(&capture);
        assert!(examples.len() >= 3);
        for example in examples {
            ask(&capture, &example.sql).unwrap_or_else(|error| panic!("{}: {error}", example.sql));
        }
    }
}
