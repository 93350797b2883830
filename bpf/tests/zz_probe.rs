#![allow(clippy::all, clippy::pedantic, warnings)]
mod hand;
use bathyscope_bpf::lang::{hir::*, types::*};
use hand::*;
#[test]
fn sizes() {
    for (maps, rounds, text, bits) in [
        (1, 2, 64, 0),
        (1, 16, 64, 0),
        (4, 1, 64, 0),
        (4, 4, 64, 0),
        (8, 1, 64, 0),
        (10, 1, 64, 0),
        (4, 1, 1024, 0),
        (4, 4, 1024, 0),
        (4, 4, 64, 3),
    ] {
        let mut hand = Hand::new();
        let long = || user_text(field(8, &Type::U64), text);
        let mut body = Vec::new();
        let i = hand.local(&Type::I64);
        for n in 0..maps {
            let map =
                hand.map(vec![Type::Text { bytes: text }, Type::U64], Type::Aggregate(Aggregation::Hist { bits }));
            let tuple = Type::Tuple(vec![Type::Text { bytes: text }, Type::U64]);
            let key = expr(ExprKind::Tuple(vec![long(), number(1, &Type::U64)]), tuple);
            let value = Some(hand.get(i));
            body.push(statement(StatementKind::Aggregate { map, key: Some(key), value }));
        }
        hand.push(StatementKind::ForRange { variable: Some(i), first: int(0), end: int(rounds), body });
        let options = bathyscope_bpf::lang::LowerOptions {
            possible_cpus: 4,
            ..bathyscope_bpf::lang::LowerOptions::new("made", bathyscope_bpf::lang::host::Architecture::X86_64)
        };
        let compiled = bathyscope_bpf::lang::compile_checked(Default::default(), hand.finish(), &options).unwrap();
        let t = std::time::Instant::now();
        let r = load::load(&compiled);
        println!(
            "{maps} {rounds} {text} {bits}: insns {} ok {} {:?}",
            compiled.codes[0].instructions.len(),
            r.is_ok(),
            t.elapsed()
        );
        if maps == 4 && rounds == 4 && text == 64 && bits == 0 {
            std::fs::write("/tmp/dis", bathyscope_bpf::disassemble(&compiled.codes[0])).unwrap();
        }
    }
}
