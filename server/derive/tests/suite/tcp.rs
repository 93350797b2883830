//! States of TCP connections.

use std::sync::Arc;

use bathyscope_capture::{Batch, Cell, ColumnType, Row, RowKind, StreamSchema, StringId};
use bathyscope_derive::{DerivationCount, DerivationError, Rule, RuleSpec, TcpStates};

use crate::fixture::{Host, schema};

const COLUMNS: [(&str, ColumnType); 4] = [
    ("skaddr", ColumnType::U64),
    ("oldstate", ColumnType::I64),
    ("newstate", ColumnType::I64),
    ("dport", ColumnType::U64),
];

fn streams() -> Vec<StreamSchema> {
    vec![schema("sched:other", &[]), schema("sock:inet_sock_set_state", &COLUMNS)]
}

/// Changes: when, which socket, to which state.
fn batch(changes: &[(u64, u64, i64)], host: &mut Host) -> Arc<Batch> {
    let mut batch = Batch::empty(&streams()[1]);
    for (time, socket, state) in changes {
        let mut row: Row<StringId, u32> = Row::common(*time, 1, [7, 8], host.id("curl"));
        row.cells.extend([Cell::U64(*socket), Cell::I64(0), Cell::I64(*state), Cell::U64(443)]);
        assert!(row.append(&mut batch, |id| id, |stack| stack));
    }
    Arc::new(batch)
}

#[test]
fn each_state_of_a_connection_lasts_until_its_next_change() {
    let mut host = Host::default();
    let mut rule = TcpStates::new(&streams(), &mut host).unwrap();
    let schema = rule.streams()[0].clone();
    assert_eq!(Some(&schema.meaning()), schema.rows.as_deref());
    assert!(matches!(schema.meaning().kind, RowKind::State { .. }));
    // 9 is connected, used and closed; 5 was there before and stays; 9 is another connection then, during which something is lost.
    let changes = [
        (100, 9, 2),
        (110, 9, 1),
        (150, 5, 8),
        (160, 9, 4),
        (170, 9, 7),
        (200, 9, 2),
        (210, 9, 1),
        (300, 9, 99),
        (400, 4, 10),
    ];
    rule.add_loss(205, 206);
    rule.push(1, batch(&changes, &mut host), &mut host);
    rule.advance(u64::MAX, &mut host);
    rule.finish(1000, &mut host);
    let rows = host.table(&schema, 0);
    let told = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>().join(",");
    assert_eq!(told("time"), "100,110,150,160,200,210,400");
    assert_eq!(told("state"), "syn sent,established,close wait,fin wait 1,syn sent,established,listen");
    assert_eq!(told("duration_ns"), "10,50,850,10,10,90,600");
    assert_eq!(told("unknown"), ",,lost events,,lost events,,end");
    assert_eq!((told("skaddr"), rows[0]["dport"].as_str()), ("9,9,5,9,9,9,4".to_owned(), "443"));
    let counts = rule.counts();
    assert_eq!((counts.get(DerivationCount::BeginUnknown), counts.get(DerivationCount::UnusableRows)), (1, 1));
}

#[test]
fn it_needs_the_event_with_its_socket_and_its_state() {
    let mut host = Host::default();
    assert!(matches!(TcpStates::new(&streams()[..1], &mut host), Err(DerivationError::NoStream { .. })));
    let without = [schema("sock:inet_sock_set_state", &COLUMNS[..1])];
    assert!(matches!(TcpStates::new(&without, &mut host), Err(DerivationError::NoColumn { .. })));
    assert_eq!(RuleSpec::built_in(&streams()), [RuleSpec::TcpStates]);
    assert_eq!(serde_json::to_string(&RuleSpec::TcpStates).unwrap(), "\"tcp_states\"");
}
