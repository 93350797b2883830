//! What small scripts become: the programs before and after the back end. With `BATHYSCOPE_BLESS=1` the files in
//! `golden/lower` are written anew; look at what changes before they are committed, since every instruction here is run for
//! every event.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::hand;

use std::{fs, path::Path};

use bathyscope_bpf::{disassemble, lang::hir::*};
use bathyscope_plan::{Aggregation, StackMode, Type};
use hand::*;

fn count(key: Option<TypedExpr>) -> Hand {
    let mut hand = Hand::new();
    let map = hand.map(key.iter().map(|key| key.ty.clone()).collect(), Type::Aggregate(Aggregation::Count));
    hand.aggregate(map, key, None);
    hand
}

fn scripts() -> Vec<(&'static str, Hand)> {
    let stack = || expr(TypedExprKind::Stack, Type::Stack { user: false, mode: StackMode::Bpftrace, frames: 127 });
    let long = || integer(8, true);
    let mut all = vec![
        ("count", count(None)),
        ("count_by_pid", count(Some(builtin(Builtin::Pid)))),
        ("count_by_comm", count(Some(builtin(Builtin::Comm)))),
        ("count_by_stack", count(Some(stack()))),
    ];
    let mut hand = Hand::new();
    let map = hand.map(Vec::new(), Type::Aggregate(Aggregation::Hist { bits: 0 }));
    hand.aggregate(map, None, Some(field(16, &long())));
    all.push(("hist", hand));

    let mut hand = count(None);
    hand.predicate = Some(compare(CompareOp::Equal, builtin(Builtin::Pid), number(1234, &integer(4, false))));
    all.push(("predicate", hand));

    let mut hand = count(None);
    let text = same(builtin(Builtin::Comm), text("bash"));
    hand.predicate = Some(text);
    all.push(("predicate_comm", hand));

    let mut hand = Hand::new();
    hand.emit(vec![builtin(Builtin::Pid), builtin(Builtin::Comm)]);
    all.push(("printf_pid_comm", hand));

    let mut hand = Hand::new();
    hand.emit(vec![builtin(Builtin::Comm), user_text(field(24, &Type::U64), 1024)]);
    all.push(("printf_str", hand));

    let mut hand = Hand::new();
    let start = hand.map(vec![integer(4, false)], Type::U64);
    let tid = || builtin(Builtin::Tid);
    let now = || builtin(Builtin::Nanoseconds(bathyscope_plan::Clock::Monotonic));
    hand.push(TypedStatementKind::SetMap { map: start, key: Some(tid()), value: now() });
    all.push(("latency_begin", hand));

    let mut hand = Hand::new();
    let start = hand.map(vec![integer(4, false)], Type::U64);
    let times = hand.map(Vec::new(), Type::Aggregate(Aggregation::Hist { bits: 0 }));
    let key = Some(Box::new(tid()));
    hand.predicate = Some(expr(TypedExprKind::HasKey { map: start, key }, Type::Bool));
    let begun = hand.read(start, Some(tid()));
    hand.aggregate(times, None, Some(binary(ArithmeticOp::Subtract, now(), begun)));
    hand.push(TypedStatementKind::Delete { map: start, key: Some(tid()) });
    all.push(("latency_end", hand));

    let mut hand = Hand::new();
    let map = hand.map(Vec::new(), long());
    let key = None;
    hand.push(TypedStatementKind::Expression(expr(
        TypedExprKind::AtomicStep { map, key, by: 1, gives_old: true },
        long(),
    )));
    all.push(("step", hand));
    all
}

#[test]
fn small_scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/lower");
    let bless = std::env::var_os("BATHYSCOPE_BLESS").is_some();
    for (name, hand) in scripts() {
        let compiled = hand.compile();
        let found = format!("{}\n{}", compiled.programs[0], disassemble(&compiled.codes[0]));
        let path = folder.join(format!("{name}.txt"));
        if bless {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &found).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == expected, "{name} has changed:\n{found}");
    }
}
