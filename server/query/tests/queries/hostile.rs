//! Queries that want more than to read this capture, or more than their share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bathyscope_query::{Limits, QueryError, run};

use crate::{ask, capture, fixture, made::switches};

#[test]
fn a_query_reaches_nothing_but_this_capture() {
    let capture = capture(fixture::events());
    let refused = [
        "select * from sqlite_schema",
        "select count(*) from sqlite_schema",
        "select * from sqlite_master",
        "select sql from sqlite_temp_master",
        "pragma table_info(sched_wakeup)",
        "pragma query_only = off",
        "pragma database_list",
        "select * from pragma_database_list",
        "select count(*) from pragma_database_list",
        "select * from pragma_function_list",
        "select * from pragma_table_info('sched_wakeup')",
        "attach '/etc/passwd' as x",
        "attach ':memory:' as x",
        "attach 'bathyscope.db' as x",
        "detach main",
        "vacuum",
        "vacuum into '/tmp/copy.db'",
        "select load_extension('x')",
        "select fts3_tokenizer('simple')",
        "select * from dbstat",
        "create table t (x)",
        "create temp table t (x)",
        "create view v as select 1",
        "create temp view v as select 1",
        "create virtual table t using fts5(x)",
        "create virtual table t using \"sched:sched_wakeup\"",
        "create table t as select * from sched_wakeup",
        "create index i on sched_wakeup (time)",
        "create trigger t after insert on sched_wakeup begin select 1; end",
        "insert into sched_wakeup (time) values (1)",
        "insert into sqlite_schema values (1, 2, 3, 4, 5)",
        "update sched_wakeup set time = 1",
        "delete from sched_wakeup",
        "delete from sched_wakeup returning *",
        "drop table sched_wakeup",
        "alter table sched_wakeup rename to x",
        "begin",
        "commit",
        "rollback",
        "savepoint s",
        "release s",
        "reindex",
        "analyze",
        "with x as (select 1) insert into sched_wakeup (time) select * from x",
        "explain pragma database_list",
        "explain attach 'x' as y",
        "select last_insert_rowid()",
        "select changes()",
        "select sqlite_compileoption_get(1)",
        "select sqlite_log(1, 'x')",
        "select rtreecheck('x')",
    ];
    for sql in refused {
        match ask(&capture, sql) {
            Err(QueryError::Refused { .. } | QueryError::Wrong { .. }) => {}
            other => panic!("{sql}: {other:?}"),
        }
    }
    // These are not there at all.
    let absent = [
        "sessions",
        "shares",
        "login_tokens",
        "audit",
        "captures",
        "settings",
        "chunks",
        "chunk_data",
        "main.sessions",
        "temp.sessions",
        "output",
        "scripts",
        "symbols",
        "bytecode('select 1')",
        "tables_used('select 1')",
        "generate_series(1, 2)",
        "fsdir('/')",
        "sqlite_dbpage",
        "sqlite_stmt",
        "fts5vocab",
    ];
    for table in absent {
        let error = ask(&capture, &format!("select * from {table}")).unwrap_err();
        assert!(
            error.to_string().contains("no such table") || matches!(error, QueryError::Refused { .. }),
            "{table}: {error}"
        );
    }
    for function in
        ["readfile('/etc/passwd')", "writefile('/tmp/x', 1)", "edit('x')", "system('id')", "eval('select 1')"]
    {
        let error = ask(&capture, &format!("select {function}")).unwrap_err();
        assert!(error.to_string().contains("no such function"), "{function}: {error}");
    }
    // A name of a common table expression may be anything; it is the query's own.
    assert!(ask(&capture, "with sessions as (select 1) select count(*) from sessions").is_ok());
}

#[test]
fn what_is_refused_says_what_was_wanted() {
    let capture = capture(fixture::events());
    let cases = [
        ("pragma database_list", "PRAGMA database_list is not for queries"),
        ("attach 'x' as y", "no other database can be attached"),
        ("create table t (x)", "nothing can be created, changed or deleted"),
        ("select load_extension('x')", "the function load_extension() is not for queries"),
        ("begin", "transactions are not for queries"),
    ];
    for (sql, words) in cases {
        let error = ask(&capture, sql).unwrap_err();
        assert!(error.to_string().contains(words), "{sql}: {error}");
        assert!(error.remedy().contains("SELECT"));
    }
}

fn within(limits: Limits, sql: &str) -> Result<bathyscope_query::Answer, QueryError> {
    run(&capture(switches()), sql, &limits, &Arc::new(AtomicBool::new(false)))
}

#[test]
fn queries_without_end_are_ended() {
    let limits = Limits { time: Duration::from_millis(200), ..Limits::USUAL };
    let endless = [
        "with recursive r(x) as (select 1 union all select x + 1 from r) select count(*) from r",
        "with recursive r(x) as (select 1 union all select x from r) select max(x) from r",
        "select count(*) from sched_switch a, sched_switch b, sched_switch c, sched_switch d where a.dur + b.dur = c.dur",
        "select a.cpu, count(*) from sched_switch a, sched_switch b, sched_switch c group by a.cpu",
        "select max(length(replace(hex(zeroblob(60000)), '0', 'ab'))) from sched_switch a, sched_switch b",
    ];
    for sql in endless {
        let began = Instant::now();
        let error = within(limits, sql).unwrap_err();
        assert!(matches!(error, QueryError::Time { limit_ms: 200 }), "{sql}: {error}");
        assert!(!error.remedy().is_empty());
        assert!(began.elapsed() < Duration::from_secs(10), "{sql} took {:?}", began.elapsed());
    }
}

#[test]
fn memory_has_a_limit() {
    let limits = Limits { memory: 8 << 20, ..Limits::USUAL };
    let greedy = [
        "select hex(zeroblob(100000)) x from sched_switch order by x",
        "select count(*) from (select distinct time || hex(zeroblob(3000)) from sched_switch)",
        "with recursive r(x, y) as (select 1, zeroblob(10000) union all select x + 1, zeroblob(10000) from r limit 1000000) select count(*) from r a join r b on a.y = b.y",
        "with r as materialized (select a.time, hex(randomblob(500)) from sched_switch a, sched_switch b) select count(*) from r a, r b",
        "select percentile(a.time + b.time, 50) from sched_switch a, sched_switch b",
    ];
    for sql in greedy {
        let error = within(limits, sql).unwrap_err();
        assert!(matches!(error, QueryError::Memory { .. }), "{sql}: {error}");
    }
}

#[test]
fn single_values_and_texts_of_queries_have_limits() {
    let deep = format!("select {}1{}", "abs(".repeat(5000), ")".repeat(5000));
    let sums = format!("select {}1", "1+".repeat(5000));
    let long = format!("select {} from sched_switch", "1,".repeat(40_000));
    let many = format!("select 1{}", " union all select 1".repeat(600));
    let joined =
        format!("select 1 from sched_switch a0{}", (1..70).map(|n| format!(", sched_switch a{n}")).collect::<String>());
    let cases = [
        ("select randomblob(1000000000)".to_owned(), "too big"),
        ("select zeroblob(1000000000) from sched_switch".to_owned(), "too big"),
        ("select replace(hex(zeroblob(100000)), '0', hex(zeroblob(1000)))".to_owned(), "too big"),
        ("select group_concat(hex(zeroblob(1000))) from sched_switch".to_owned(), "too big"),
        (deep, "Expression tree is too large"),
        (sums, "Expression tree is too large"),
        (long, "a query has at most"),
        (many, "too many terms in compound SELECT"),
        (joined, "at most 64 tables in a join"),
        ("select 'x' like hex(zeroblob(1000))".to_owned(), "pattern too complex"),
    ];
    for (sql, words) in cases {
        let error = ask(&capture(switches()), &sql).unwrap_err();
        let start: String = sql.chars().take(60).collect();
        assert!(error.to_string().contains(words), "{start}: {error}");
    }
    // Brackets alone only take what the text takes.
    let brackets = format!("select {}1{}", "(".repeat(5000), ")".repeat(5000));
    assert_eq!(crate::lines(&ask(&capture(switches()), &brackets).unwrap()), ["1"]);
    let nested = format!("select {}1{}", "(select ".repeat(3000), ")".repeat(3000));
    assert!(ask(&capture(switches()), &nested).is_err());
    let list: Vec<String> = (0..8000).map(|n| n.to_string()).collect();
    let sql = format!("select count(*) from sched_switch where dur in ({})", list.join(","));
    assert_eq!(crate::lines(&ask(&capture(switches()), &sql).unwrap()), ["10000"]);
}

#[test]
fn a_query_ends_when_it_is_cancelled() {
    let cancel = Arc::new(AtomicBool::new(false));
    let (flag, source) = (Arc::clone(&cancel), capture(switches()));
    let (started, wait) = std::sync::mpsc::sync_channel(1);
    let query = std::thread::spawn(move || {
        started.send(()).unwrap();
        let sql = "with recursive r(x) as (select 1 union all select x + 1 from r) select count(*) from r";
        run(&source, sql, &Limits { time: Duration::from_secs(600), ..Limits::USUAL }, &flag)
    });
    wait.recv().unwrap();
    cancel.store(true, Ordering::Relaxed);
    assert!(matches!(query.join().unwrap(), Err(QueryError::Cancelled)));
    let set = Arc::new(AtomicBool::new(true));
    let scan = run(&capture(switches()), "select sum(dur) from sched_switch", &Limits::USUAL, &set);
    assert!(matches!(scan, Err(QueryError::Cancelled)));
}
