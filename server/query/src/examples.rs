//! Queries to begin with.

use bathyscope_capture::{Display, StreamKind, StreamSchema};
use serde::Serialize;

use crate::{
    ColumnKind, TableInfo,
    capture::Capture,
    names::{self, Content, written},
};

/// A query that runs on a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// What it shows.
    pub title: String,
    /// The query.
    pub sql: String,
}

/// The most examples.
const MOST: usize = 24;
/// The streams with the most rows that examples are made of.
const STREAMS: usize = 4;

/// Queries that run on a capture, made of its streams with the most rows.
pub fn examples(capture: &Capture) -> Vec<Example> {
    let mut tables = names::tables_of(capture, capture.usual_stack_rows());
    tables.retain(|table| matches!(table.content, Content::Stream(_)));
    tables.sort_by_key(|table| std::cmp::Reverse(table.rows));
    let mut found = Vec::new();
    for table in tables.iter().take(STREAMS) {
        let Content::Stream(stream) = table.content else { continue };
        if let Some(schema) = capture.source.streams().get(usize::from(stream)) {
            of_stream(table, schema, &mut found);
        }
    }
    found.push(example("The streams and their totals", "select * from streams".to_owned()));
    found.push(example("What was lost, and when", "select * from losses order by start".to_owned()));
    found.push(example(
        "Processes by how often their threads were forked or renamed",
        "select pid, kind, count(*) as changes\nfrom processes\ngroup by pid, kind\norder by changes desc\nlimit 50"
            .to_owned(),
    ));
    found.truncate(MOST);
    found
}

fn example(title: impl Into<String>, sql: String) -> Example {
    Example { title: title.into(), sql }
}

fn of_stream(table: &TableInfo, schema: &StreamSchema, found: &mut Vec<Example>) {
    let name = written(table.short());
    let about = &schema.name;
    found.push(example(format!("The first rows of {about}"), format!("select * from {name} limit 100")));
    found.push(example(
        format!("{about}: rows in each tenth of a second"),
        format!(
            "select time / 100000000 * 100000000 as start_ns, count(*) as rows\nfrom {name}\ngroup by 1\norder by 1"
        ),
    ));
    match schema.kind {
        StreamKind::Map => return,
        StreamKind::Events | StreamKind::Samples => found.push(example(
            format!("{about}: who has the most rows"),
            format!(
                "select comm, pid, count(*) as rows\nfrom {name}\ngroup by comm, pid\norder by rows desc\nlimit 20"
            ),
        )),
    }
    if let Some(stack) = table.columns.iter().find(|column| column.kind == ColumnKind::Stack) {
        let column = written(&stack.name);
        found.push(example(
            format!("{about}: the hottest functions"),
            format!(
                "select stack_top({column}) as function, count(*) as samples\nfrom {name}\ngroup by 1\norder by samples desc\nlimit 20"
            ),
        ));
        found.push(example(
            format!("{about}: stacks that pass a function"),
            format!(
                "select stack({column}) as stack, count(*) as samples\nfrom {name}\nwhere {column} in (select id from stacks where function like '%read%')\ngroup by {column}\norder by samples desc\nlimit 20"
            ),
        ));
    }
    if let Some(length) = table.columns.iter().find(|column| column.display == Display::DurationNs) {
        let column = written(&length.name);
        found.push(example(
            format!("{about}: how long it took"),
            format!(
                "select comm, count(*) as rows, percentile({column}, 50) as p50_ns, percentile({column}, 99) as p99_ns, max({column}) as max_ns\nfrom {name}\ngroup by comm\norder by p99_ns desc\nlimit 20"
            ),
        ));
    }
    let own = table.columns.iter().skip(StreamSchema::COMMON.len());
    if let Some(number) =
        own.clone().find(|column| column.kind == ColumnKind::Integer && column.display == Display::Decimal)
    {
        let column = written(&number.name);
        found.push(example(
            format!("{about}: how {} is spread", number.name),
            format!(
                "select value ->> 0 as at_least, value ->> 1 as at_most, value ->> 2 as rows\nfrom json_each((select hist({column}) from {name}))"
            ),
        ));
    }
}
