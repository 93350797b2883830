//! The lowering's meaning, continued: memory, processes, markers, and scripts that the verifier finds hard.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::hand;

use bathyscope_bpf::lang::{LowerOptions, TaskOffsets, hir::*};
use bathyscope_decode::script::Value;
use bathyscope_plan::{Aggregation, Architecture, AttachPoint, Shown, Space, Type, UsdtArgument, UsdtPlace, UserFile};
use hand::*;

fn signed(value: i64) -> Value {
    Value::Signed(value)
}

#[test]
fn memory_is_read_by_its_type() {
    let mut hand = Hand::new();
    let address = || Box::new(field(8, &Type::U64));
    let read = |offset, space, bits, ty: &Type| {
        expr(TypedExprKind::Read { address: address(), offset, space, bits }, ty.clone())
    };
    let array = Type::Array { of: Box::new(integer(4, true)), count: 4 };
    let held = hand.local(&array);
    hand.set(held, read(16, Space::Kernel, None, &array));
    let index = field(16, &Type::U64);
    let element = |of: TypedExpr| {
        expr(TypedExprKind::Element { of: Box::new(of), index: Box::new(index.clone()) }, integer(4, true))
    };
    let element_of_local = element(hand.get(held));
    hand.emit(vec![
        read(0, Space::Kernel, None, &integer(1, true)),
        read(4, Space::Kernel, None, &integer(4, false)),
        read(8, Space::Kernel, Some((3, 5)), &integer(2, false)),
        read(8, Space::Kernel, Some((3, 5)), &integer(2, true)),
        element(read(16, Space::Kernel, None, &array)),
        element_of_local,
        read(0, Space::User, None, &Type::U64),
    ]);
    let compiled = hand.compile();
    let mut memory = vec![0_u8; 32];
    memory[0] = 0xfe;
    memory[4..8].copy_from_slice(&0xdead_beef_u32.to_le_bytes());
    memory[8] = 0b1010_1000;
    for (n, value) in (0_i32..4).zip(memory[16..].chunks_exact_mut(4)) {
        value.copy_from_slice(&(-n * 10).to_le_bytes());
    }
    let mut machine = machine();
    machine.world.kernel.insert(0xffff_8880_0000_1000, memory);
    for (index, expected) in [(0, 0), (2, -20), (3, -30), (4, 0), (u64::MAX, 0)] {
        let found = values_in(&mut machine, &compiled, &[0xffff_8880_0000_1000, index]);
        let numbers: Vec<i128> = found.iter().map(|value| value.number().unwrap()).collect();
        assert_eq!(numbers, [-2, 0xdead_beef, 0b10101, -11, expected, expected, 0], "{index}");
    }
}

#[test]
fn composed_values_survive_their_travels() {
    let mut hand = Hand::new();
    let types = vec![integer(1, false), Type::Text { bytes: 16 }, Type::I64];
    let tuple = Type::Tuple(types.clone());
    let map = hand.map(vec![Type::U64], tuple.clone());
    let held = hand.local(&tuple);
    let parts = vec![field(8, &types[0]), builtin(Builtin::Comm), field(16, &types[2])];
    hand.set(held, expr(TypedExprKind::Tuple(parts), tuple.clone()));
    hand.push(TypedStatementKind::SetMap { map, key: Some(int(1)), value: hand.get(held) });
    let there = hand.read(map, Some(int(1)));
    let missing = hand.read(map, Some(int(2)));
    let part = |of: &TypedExpr, offset, ty: &Type| {
        expr(TypedExprKind::Part { of: Box::new(of.clone()), offset, bits: None }, ty.clone())
    };
    let all = vec![there.clone(), missing, part(&there, 1, &types[1]), part(&hand.get(held), 24, &types[2])];
    hand.emit(all);
    let compiled = hand.compile();
    let found = values(&compiled, &[0x1ff, 5]);
    let tuple = |a, comm: &[u8], b| Value::List(vec![Value::Unsigned(a), Value::Text(comm.to_vec()), signed(b)]);
    let expected = [tuple(255, b"made", 5), tuple(0, b"", 0), Value::Text(b"made".to_vec()), signed(5)];
    assert_eq!(found, expected);
}

/// What makes the verifier work hardest.
#[test]
fn hard_scripts_are_accepted() {
    let long = || user_text(field(8, &Type::U64), 1024);
    let other = || user_text(field(16, &Type::U64), 1024);
    let find = |needle| expr(TypedExprKind::Find { text: Box::new(long()), needle: Box::new(needle) }, Type::I64);

    // Two long texts are compared, searched and joined.
    let mut hand = Hand::new();
    let joined = TypedExprKind::Concat { left: Box::new(long()), right: Box::new(other()) };
    hand.emit(vec![
        same(long(), other()),
        find(text("needle in a haystack")),
        find(other()),
        expr(joined, Type::Text { bytes: 1024 }),
    ]);
    let compiled = hand.compile();
    let mut machine = machine();
    machine.world.user.insert(0x1000, [vec![b'h'; 900], b"needle in a haystack\0".to_vec()].concat());
    machine.world.user.insert(0x8000, [vec![b'h'; 900], b"needle\0".to_vec()].concat());
    let found = values_in(&mut machine, &compiled, &[0x1000, 0x8000]);
    assert_eq!(found[..3], [Value::Bool(false), signed(900), signed(0)]);
    assert!(matches!(&found[3], Value::Text(text) if text.len() == 1023));

    // As many long texts as fit.
    let mut hand = Hand::new();
    hand.emit((0..30).map(|_| long()).collect());
    hand.compile();

    // Aggregations, one after the other, in every round of a loop.
    let mut hand = Hand::new();
    let mut body = Vec::new();
    let i = hand.local(&Type::I64);
    for n in 0..10 {
        let map =
            hand.map(vec![Type::Text { bytes: 1024 }, Type::U64], Type::Aggregate(Aggregation::Hist { bits: n % 6 }));
        let tuple = Type::Tuple(vec![Type::Text { bytes: 1024 }, Type::U64]);
        let key = expr(TypedExprKind::Tuple(vec![long(), number(1, &Type::U64)]), tuple);
        let value = Some(hand.get(i));
        body.push(statement(TypedStatementKind::Aggregate { map, key: Some(key), value }));
    }
    hand.push(TypedStatementKind::ForRange { variable: Some(i), first: int(0), end: int(16), body });
    hand.compile();

    // Many conditions.
    let mut hand = Hand::new();
    let sum = hand.local(&Type::I64);
    hand.set(sum, int(0));
    for n in 0..100 {
        let condition = compare(CompareOp::Greater, field(8 + 8 * (n % 10), &Type::I64), int(i64::from(n)));
        let value = binary(ArithmeticOp::Add, hand.get(sum), int(1));
        let then = vec![statement(TypedStatementKind::SetLocal { local: sum, value })];
        hand.push(TypedStatementKind::If { condition, then, otherwise: Vec::new() });
    }
    let sum = hand.get(sum);
    hand.emit(vec![sum]);
    hand.compile();

    // Many variables that live at the same time.
    let mut hand = Hand::new();
    let all: Vec<LocalId> = (0..40).map(|_| hand.local(&Type::I64)).collect();
    for (local, n) in all.iter().zip(0_u32..) {
        hand.set(
            *local,
            expr(
                TypedExprKind::Read {
                    address: Box::new(field(8, &Type::U64)),
                    offset: i64::from(n) * 8,
                    space: Space::User,
                    bits: None,
                },
                Type::I64,
            ),
        );
    }
    let values = all.iter().map(|local| hand.get(*local)).collect();
    hand.emit(values);
    hand.compile();
}

#[test]
fn elements_of_histograms_are_removed_with_all_their_buckets() {
    for key in [None, Some(Type::U64)] {
        for bits in [0, 5] {
            let mut hand = Hand::new();
            let map = hand.map(key.iter().cloned().collect(), Type::Aggregate(Aggregation::Hist { bits }));
            let at = |field: TypedExpr| key.as_ref().map(|_| field);
            hand.aggregate(map, at(field(8, &Type::U64)), Some(field(16, &Type::I64)));
            let remove = vec![statement(TypedStatementKind::Delete { map, key: at(field(8, &Type::U64)) })];
            let condition = compare(CompareOp::Less, field(16, &Type::I64), int(0));
            hand.push(TypedStatementKind::If { condition, then: remove, otherwise: Vec::new() });
            let compiled = hand.compile();
            let mut machine = machine();
            for (key, number) in [(1_u64, 5_i64), (1, 5000), (2, 7), (1, -1)] {
                run(&mut machine, &compiled, &[key, number.cast_unsigned()]);
            }
            let entries = machine.map("m0").unwrap();
            let left: u64 = entries.keys().flat_map(|key| words(entries.value(key, 0).unwrap())).sum();
            assert_eq!(left, u64::from(key.is_some()), "{key:?} {bits}");
        }
    }
}

#[test]
fn processes_are_those_of_the_namespace() {
    let mut hand = Hand::new();
    hand.emit(vec![builtin(Builtin::Pid), builtin(Builtin::Tid), builtin(Builtin::HostPid)]);
    let base = LowerOptions::new("made", Architecture::X86_64);
    let compiled = compiled(hand.finish(), &LowerOptions { pid_namespace: Some((4, 0xf000_0000)), ..base });
    let mut machine = machine();
    machine.world.namespace_ids = Some((5, 6));
    let found = values_in(&mut machine, &compiled, &[]);
    assert_eq!(found, [5, 6, 77].map(Value::Unsigned));
}

#[test]
fn relatives_are_found_through_the_task() {
    let mut hand = Hand::new();
    let names =
        [Builtin::LeaderComm, Builtin::ParentComm].map(|it| expr(TypedExprKind::Builtin(it), Type::Text { bytes: 16 }));
    let parent = expr(TypedExprKind::Builtin(Builtin::ParentPid), integer(4, false));
    hand.emit([names.to_vec(), vec![parent]].concat());
    let task = Some(TaskOffsets { comm: 32, tgid: 8, pid: 12, group_leader: 16, real_parent: 24 });
    let compiled = compiled(hand.finish(), &LowerOptions { task, ..LowerOptions::new("made", Architecture::X86_64) });
    let made = |tgid: u32, leader: u64, parent: u64, comm: &str| {
        let mut bytes = vec![0; 64];
        bytes[8..12].copy_from_slice(&tgid.to_le_bytes());
        bytes[16..24].copy_from_slice(&leader.to_le_bytes());
        bytes[24..32].copy_from_slice(&parent.to_le_bytes());
        bytes[32..32 + comm.len()].copy_from_slice(comm.as_bytes());
        bytes
    };
    let [own, leader, parent] = [0xffff_8880_0001_0000_u64, 0xffff_8880_0002_0000, 0xffff_8880_0003_0000];
    let mut machine = machine();
    machine.world.task = own;
    machine.world.kernel.insert(own, made(78, leader, parent, "own"));
    machine.world.kernel.insert(leader, made(77, leader, parent, "leader"));
    machine.world.kernel.insert(parent, made(9, parent, parent, "parent"));
    let found = values_in(&mut machine, &compiled, &[]);
    let texts = ["leader", "parent"].map(|text| Value::Text(text.as_bytes().to_vec()));
    assert_eq!(found, [texts.to_vec(), vec![Value::Unsigned(9)]].concat());
}

#[test]
fn markers_of_different_layouts_are_different_programs() {
    let place = |bytes, signed, place| UsdtArgument { bytes, signed, place };
    let layouts = [
        vec![place(4, true, UsdtPlace::Register { offset: 80, shift: 0 })],
        vec![place(2, false, UsdtPlace::Register { offset: 80, shift: 8 })],
        vec![place(8, true, UsdtPlace::Constant(-9))],
        vec![place(8, false, UsdtPlace::Memory { base: 96, index: Some(80), scale: 8, displacement: -16 })],
        vec![place(4, true, UsdtPlace::Register { offset: 80, shift: 0 })],
    ];
    let points = layouts.iter().zip(0_u64..).map(|(arguments, n)| {
        let file = UserFile { path: "/bin/made".to_owned(), in_process: None, device: 1, inode: 2 };
        let (provider, name) = ("made".to_owned(), "marker".to_owned());
        let arguments = arguments.clone();
        let point = AttachPoint::Usdt { file, offset: n * 64, semaphore: 0, pid: None, provider, name, arguments };
        ProbePoint { name: "usdt:/bin/made:made:marker".to_owned(), point }
    });
    let mut hand = Hand::new();
    hand.emit(vec![
        expr(TypedExprKind::UsdtArgument { index: 0 }, Type::I64),
        expr(TypedExprKind::Builtin(Builtin::Probe), integer(4, false)),
    ]);
    let mut script = hand.script;
    let (body, context) = (hand.body, Context::Registers);
    script.probes.push(TypedProbe {
        points: points.collect(),
        context,
        locals: Vec::new(),
        predicate: None,
        body,
        span: span(),
    });
    let compiled = compiled(script, &LowerOptions::new("made", Architecture::X86_64));
    assert_eq!(compiled.codes.len(), 4);
    let programs: Vec<u32> = compiled.plan.probes.iter().map(|probe| probe.program).collect();
    // The first and the last are alike; which of both it was is told by the cookie.
    assert_eq!(programs, [0, 0, 1, 2, 3]);
    assert_eq!(
        compiled.plan.programs.iter().map(|program| program.cookie).collect::<Vec<_>>(),
        [true, false, false, false]
    );
    let mut registers = vec![0; 168];
    registers[80..88].copy_from_slice(&3_u64.wrapping_sub(0x100).to_le_bytes());
    registers[96..104].copy_from_slice(&(0x2000_u64 + 0x800).to_le_bytes());
    let mut machine = machine();
    machine.world.user.insert(0x2000, (0..64_u64).flat_map(u64::to_le_bytes).collect());
    machine.world.cookie = 1;
    let mut found = Vec::new();
    for code in &compiled.codes {
        machine.run(code, &registers).unwrap();
        found.extend(records(&mut machine, &compiled).remove(0).values);
    }
    let expected =
        [(-253, 1), (0xffff, 2), (-9, 3), (1, 4)].map(|(value, probe)| [signed(value), Value::Unsigned(probe)]);
    assert_eq!(found, expected.concat());
}

#[test]
fn addresses_and_bytes_are_copied() {
    let mut hand = Hand::new();
    let shown = |kind, shown| expr(kind, Type::Shown(shown));
    let inet =
        |address: TypedExpr| shown(TypedExprKind::Inet { family: None, address: Box::new(address) }, Shown::Inet);
    let bytes = |count| {
        let ty = Type::Array { of: Box::new(integer(1, false)), count };
        expr(
            TypedExprKind::Read { address: Box::new(field(8, &Type::U64)), offset: 0, space: Space::User, bits: None },
            ty,
        )
    };
    let buffer = |length: Option<TypedExpr>| {
        let address = Box::new(field(8, &Type::U64));
        expr(
            TypedExprKind::ReadBuffer { address, space: Space::User, length: length.map(Box::new) },
            Type::Buffer { bytes: 8 },
        )
    };
    hand.emit(vec![
        inet(field(16, &integer(4, false))),
        inet(bytes(16)),
        shown(TypedExprKind::Reinterpret(Box::new(bytes(6))), Shown::Mac),
        buffer(None),
        buffer(Some(field(24, &Type::U64))),
        shown(TypedExprKind::WithProcess { address: Box::new(field(8, &Type::U64)) }, Shown::UserSymbol),
    ]);
    let compiled = hand.compile();
    let mut machine = machine();
    let memory: Vec<u8> = (1..=32).collect();
    machine.world.user.insert(0x1000, memory.clone());
    for (length, content) in [(3_u64, &memory[..3]), (0, &[]), (u64::MAX, &memory[..8])] {
        let found = values_in(&mut machine, &compiled, &[0x1000, 0x0100_007f, length]);
        let mut four = [0; 16];
        four[..4].copy_from_slice(&[127, 0, 0, 1]);
        let expected = [
            Value::Inet { family: 2, address: four },
            Value::Inet { family: 10, address: memory[..16].try_into().unwrap() },
            Value::Mac([1, 2, 3, 4, 5, 6]),
            Value::Buffer(memory[..8].to_vec()),
            Value::Buffer(content.to_vec()),
            Value::Address { address: 0x1000, pid: 77 },
        ];
        assert_eq!(found, expected);
    }
}
