//! The lowering's meaning: checked scripts made by hand run in the machine, against straightforward models.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod hand;

use bathyscope_bpf::{
    lang::{
        LowerOptions, TaskOffsets,
        hir::*,
        host::Architecture,
        plan::{AttachPoint, UsdtArgument, UsdtPlace, UserFile},
        types::{Aggregation, SeriesOf, Shown, Space, StackMode, Type},
    },
    output::{Aggregated, Snapshot, Value},
};
use hand::*;

fn signed(value: i64) -> Value {
    Value::Signed(value)
}

#[test]
fn a_record_has_what_was_asked() {
    let mut hand = Hand::new();
    hand.emit(vec![builtin(Builtin::Pid), builtin(Builtin::Comm), field(8, &Type::I64), text("abc")]);
    let compiled = hand.compile();
    let mut machine = machine();
    run(&mut machine, &compiled, &[42_u64.wrapping_neg()]);
    let record = records(&mut machine, &compiled).remove(0);
    assert_eq!((record.pid, record.tid, record.site, record.probe), (77, 78, 0, 0));
    assert!(record.time_ns >= 1_000_000);
    let expected = [Value::Unsigned(77), Value::Text(b"made".to_vec()), signed(-42), Value::Text(b"abc".to_vec())];
    assert_eq!(record.values, expected);
    assert_eq!(counters(&machine), [1, 0, 0, 0, 0, 0]);
}

#[test]
fn long_texts_are_sent_with_their_length() {
    let mut hand = Hand::new();
    let (a, b) = (user_text(field(8, &Type::U64), 1024), user_text(field(16, &Type::U64), 1024));
    hand.emit(vec![a, int(7), b, text("end")]);
    let compiled = hand.compile();
    let mut machine = machine();
    machine.world.user.insert(0x1000, b"/etc/passwd\0".to_vec());
    machine.world.user.insert(0x2000, [vec![b'x'; 2000], vec![0]].concat());
    run(&mut machine, &compiled, &[0x1000, 0x2000]);
    let length = machine.records().next().unwrap().len();
    assert_eq!(length, 32 + 8 + 4 + 11 + 1 + 4 + 1023 + 1 + 4 + 3);
    let record = records(&mut machine, &compiled).remove(0);
    let texts = [b"/etc/passwd".to_vec(), vec![b'x'; 1023], b"end".to_vec()].map(Value::Text);
    let [a, b, end] = texts;
    assert_eq!(record.values, [a, signed(7), b, end]);
    // What cannot be read is empty, and counted.
    run(&mut machine, &compiled, &[0x1000, 0x9999]);
    assert_eq!(records(&mut machine, &compiled)[0].values[2], Value::Text(Vec::new()));
    assert_eq!(counters(&machine), [2, 0, 0, 0, 1, 0]);
}

#[test]
fn predicates_and_targets_filter() {
    let mut hand = Hand::new();
    hand.predicate = Some(compare(CompareOp::Greater, field(8, &Type::I64), int(10)));
    hand.emit(vec![int(1)]);
    let compiled = hand.compile();
    let mut machine = machine();
    for value in [5, 11, 10_u64.wrapping_neg()] {
        run(&mut machine, &compiled, &[value]);
    }
    assert_eq!(records(&mut machine, &compiled).len(), 1);
    assert_eq!(counters(&machine), [3, 2, 0, 0, 0, 0]);
}

fn edge_numbers() -> Vec<i64> {
    let mut all = vec![0, 1, 2, 3, 5, 7, 100, 1000, 65_535, 65_536, i64::MAX, i64::MIN, i64::MIN + 1];
    all.extend((0..63).flat_map(|bit| [1_i64 << bit, (1_i64 << bit) - 1, (1_i64 << bit) + 1]));
    all.extend(all.clone().iter().map(|value: &i64| value.wrapping_neg()));
    all
}

fn model(op: ArithmeticOp, a: i128, b: i128, bits: u32, is_signed: bool) -> i128 {
    use ArithmeticOp as A;
    let shift = u32::try_from(b).ok().filter(|shift| *shift < bits);
    let whole = match op {
        A::Add => a + b,
        A::Subtract => a - b,
        A::Multiply => a.wrapping_mul(b),
        A::Divide => a.checked_div(b).unwrap_or(0),
        A::Modulo => a.checked_rem(b).unwrap_or(a),
        A::BitAnd => a & b,
        A::BitOr => a | b,
        A::BitXor => a ^ b,
        A::ShiftLeft => shift.map_or(0, |shift| a.wrapping_shl(shift)),
        A::ShiftRight => shift.map_or(if a < 0 { -1 } else { 0 }, |shift| a >> shift),
    };
    let low = whole & ((1 << bits) - 1);
    if is_signed && low >> (bits - 1) == 1 { low - (1 << bits) } else { low }
}

#[test]
fn arithmetic_is_that_of_the_type() {
    use ArithmeticOp as A;
    let ops = [
        A::Add,
        A::Subtract,
        A::Multiply,
        A::Divide,
        A::Modulo,
        A::BitAnd,
        A::BitOr,
        A::BitXor,
        A::ShiftLeft,
        A::ShiftRight,
    ];
    let interesting = [0_i64, 1, 2, 3, 7, 31, 32, 63, 64, 127, 128, 255, 256, -1, -2, -7, i64::MAX, i64::MIN, 1 << 31];
    for (bytes, is_signed) in [(1, true), (2, false), (4, true), (4, false), (8, true), (8, false)] {
        let ty = integer(bytes, is_signed);
        for op in ops {
            let mut hand = Hand::new();
            hand.emit(vec![binary(op, field(8, &ty), field(16, &ty))]);
            let compiled = hand.compile();
            for a in interesting {
                for b in interesting {
                    let value = |x: i64| model(A::Add, x.into(), 0, u32::from(bytes) * 8, is_signed);
                    let expected = model(op, value(a), value(b), u32::from(bytes) * 8, is_signed);
                    let found = values(&compiled, &[a.cast_unsigned(), b.cast_unsigned()])[0].number().unwrap();
                    assert_eq!(found, expected, "{op:?} of {a} and {b} in {ty:?}");
                }
            }
        }
    }
}

fn bucket(number: i64, bits: u32, unsigned: bool) -> u64 {
    if number < 0 && !unsigned {
        return 0;
    }
    let number = number.cast_unsigned();
    if number < 1 << bits {
        return number + 1;
    }
    let level = u64::from(63 - number.leading_zeros() - bits);
    ((level + 1) << bits) + ((number >> level) & ((1 << bits) - 1)) + 1
}

fn histogram(hand: Hand, map: MapId, numbers: &[i64]) -> Vec<(u64, u64)> {
    let compiled = hand.compile();
    let mut machine = machine();
    for (index, number) in numbers.iter().enumerate() {
        machine.world.cpu = u32::try_from(index).unwrap() % 4;
        run(&mut machine, &compiled, &[number.cast_unsigned()]);
    }
    let plan = &compiled.plan.maps[map.0 as usize];
    let entries = machine.map(&plan.object_name).unwrap();
    let content: Vec<(Vec<u8>, Vec<u8>)> =
        entries.keys().map(|key| (key.to_vec(), entries.values(key).concat())).collect();
    let each = content.iter().map(|(key, values)| (key.as_slice(), values.as_slice()));
    let snapshot = Snapshot::read(plan, each).unwrap();
    match &snapshot.entries[0].value {
        Value::Aggregate(Aggregated::Buckets(buckets)) => buckets.clone(),
        other => panic!("{other:?}"),
    }
}

fn expected_buckets(numbers: &[i64], bucket: impl Fn(i64) -> u64) -> Vec<(u64, u64)> {
    let mut buckets = std::collections::BTreeMap::new();
    numbers.iter().for_each(|number| *buckets.entry(bucket(*number)).or_insert(0) += 1);
    buckets.into_iter().collect()
}

#[test]
fn histograms_by_powers_of_two() {
    let numbers = edge_numbers();
    for bits in 0..=5 {
        for (unsigned, ty) in [(false, Type::I64), (true, Type::U64)] {
            for key in [None, Some(Type::U64)] {
                let mut hand = Hand::new();
                let map = hand.map(key.iter().cloned().collect(), Type::Aggregate(Aggregation::Hist { bits }));
                hand.aggregate(map, key.map(|ty| number(9, &ty)), Some(field(8, &ty)));
                let found = histogram(hand, map, &numbers);
                assert_eq!(
                    found,
                    expected_buckets(&numbers, |n| bucket(n, bits.into(), unsigned)),
                    "{bits} {unsigned}"
                );
            }
        }
    }
}

#[test]
fn linear_histograms() {
    for (min, max, step) in [(0, 100, 10), (-50, 50, 7), (0, 100_000, 1), (10, 11, 5)] {
        let mut numbers: Vec<i64> = (-200..300).collect();
        numbers.extend(edge_numbers());
        for key in [None, Some(Type::U64)] {
            let mut hand = Hand::new();
            let linear = Aggregation::LinearHist { min, max, step };
            let last = u64::from(linear.buckets().unwrap()) - 1;
            let map = hand.map(key.iter().cloned().collect(), Type::Aggregate(linear));
            hand.aggregate(map, key.map(|ty| number(9, &ty)), Some(field(8, &Type::I64)));
            let of = |n: i64| match n {
                n if n < min => 0,
                n if n >= max => last,
                n => 1 + (n - min).cast_unsigned() / step,
            };
            assert_eq!(histogram(hand, map, &numbers), expected_buckets(&numbers, of), "{min} {max} {step}");
        }
    }
}

#[test]
fn numbers_are_aggregated_and_read_over_all_cpus() {
    let numbers = [5_i64, -3, 100, 0, 7, -90, 12];
    let (sum, count) = (numbers.iter().sum::<i64>(), i64::try_from(numbers.len()).unwrap());
    let cases = [
        (Aggregation::Count, count),
        (Aggregation::Sum { signed: true }, sum),
        (Aggregation::Min { signed: true }, -90),
        (Aggregation::Max { signed: true }, 100),
        (Aggregation::Average { signed: true }, sum / count),
        (Aggregation::Stats { signed: true }, sum / count),
    ];
    for (aggregation, expected) in cases {
        for key in [Vec::new(), vec![Type::U64], vec![integer(4, false), Type::Text { bytes: 16 }]] {
            let make_key = |key: &[Type]| match key {
                [] => None,
                [one] => Some(number(3, one)),
                both => {
                    let parts = vec![number(3, &both[0]), builtin(Builtin::Comm)];
                    Some(expr(ExprKind::Tuple(parts), Type::Tuple(both.to_vec())))
                }
            };
            let mut hand = Hand::new();
            let map = hand.map(key.clone(), Type::Aggregate(aggregation.clone()));
            let value = (aggregation != Aggregation::Count).then(|| field(8, &Type::I64));
            hand.aggregate(map, make_key(&key), value);
            let read = hand.read(map, make_key(&key));
            hand.emit(vec![read]);
            let compiled = hand.compile();
            let mut machine = machine();
            let mut last = None;
            for (cpu, number) in (0..).zip(numbers) {
                machine.world.cpu = cpu % 4;
                last = values_in(&mut machine, &compiled, &[number.cast_unsigned()])[0].number();
            }
            assert_eq!(last, Some(expected.into()), "{aggregation:?} {key:?}");
        }
    }
}

#[test]
fn time_series_keep_the_latest_intervals() {
    for (of, expected) in [
        (SeriesOf::Last, [9_i64, 4]),
        (SeriesOf::Sum, [14, 2]),
        (SeriesOf::Min, [5, -2]),
        (SeriesOf::Max, [9, 4]),
        (SeriesOf::Average, [7, 1]),
    ] {
        let mut hand = Hand::new();
        let series = Aggregation::TimeSeries { interval_ns: 1000, slots: 3, of, signed: true };
        let map = hand.map(Vec::new(), Type::Aggregate(series));
        hand.aggregate(map, None, Some(field(8, &Type::I64)));
        let compiled = hand.compile();
        let mut machine = machine();
        for (time, value) in [(1_000, 1000_i64), (7_000, 5), (7_500, 9), (8_100, -2), (8_200, 4)] {
            machine.world.time_ns = time;
            run(&mut machine, &compiled, &[value.cast_unsigned()]);
        }
        let slots = words(machine.map("m0").unwrap().value(&[0; 4], 0).unwrap());
        for (interval, expected) in [7_u64, 8].into_iter().zip(expected) {
            let at = usize::try_from(interval % 3).unwrap() * 3;
            let value = slots[at].cast_signed();
            let value = if of == SeriesOf::Average { value / slots[at + 1].cast_signed() } else { value };
            assert_eq!((value, slots[at + 2]), (expected, interval), "{of:?}");
        }
    }
}

#[test]
fn elements_are_set_read_and_removed() {
    for key in [None, Some(int(5))] {
        let mut hand = Hand::new();
        let map = hand.map(key.iter().map(|key| key.ty.clone()).collect(), Type::I64);
        let has = |key: &Option<Expr>| expr(ExprKind::HasKey { map, key: key.clone().map(Box::new) }, Type::Bool);
        let before = has(&key);
        let value = field(8, &Type::I64);
        let boxed = |key: &Option<Expr>| key.clone().map(Box::new);
        let step =
            |by, before| expr(ExprKind::AtomicStep { map, key: key.clone().map(Box::new), by, before }, Type::I64);
        let local = hand.local(&Type::Bool);
        hand.set(local, before);
        hand.push(StatementKind::SetMap { map, key: key.clone(), value });
        let (after, plus) = (hand.local(&Type::I64), hand.local(&Type::I64));
        hand.set(after, step(1, true));
        hand.set(plus, step(-5, false));
        hand.push(StatementKind::Expression(step(100, false)));
        let end = hand.local(&Type::I64);
        hand.set(end, hand.read(map, boxed(&key).map(|key| *key)));
        hand.push(StatementKind::Delete { map, key: key.clone() });
        let gone = hand.read(map, key.clone());
        let all = [local, after, plus, end].map(|local| hand.get(local));
        hand.emit([all.to_vec(), vec![gone]].concat());
        let compiled = hand.compile();
        let values: Vec<i128> = values(&compiled, &[20]).iter().map(|value| value.number().unwrap()).collect();
        assert_eq!(values, [i128::from(key.is_none()), 20, 16, 116, 0]);
    }
}

#[test]
fn full_maps_are_counted() {
    let mut hand = Hand::new();
    let map = hand.map(vec![Type::U64], Type::Aggregate(Aggregation::Count));
    hand.script.maps[0].max_entries = 2;
    hand.aggregate(map, Some(field(8, &Type::U64)), None);
    let compiled = hand.compile();
    let mut machine = machine();
    for key in [1, 2, 3, 1, 4] {
        run(&mut machine, &compiled, &[key]);
    }
    assert_eq!(counters(&machine), [5, 0, 0, 2, 0, 0]);
}

#[test]
fn keys_have_no_accidental_bytes() {
    let mut hand = Hand::new();
    let parts = [Type::Bool, integer(4, true), Type::Text { bytes: 24 }, integer(2, false)];
    let map = hand.map(parts.to_vec(), Type::Aggregate(Aggregation::Count));
    let key =
        vec![number(1, &parts[0]), field(8, &parts[1]), user_text(field(16, &Type::U64), 24), field(24, &parts[3])];
    hand.aggregate(map, Some(expr(ExprKind::Tuple(key), Type::Tuple(parts.to_vec()))), None);
    let compiled = hand.compile();
    let mut machine = machine();
    machine.world.user.insert(0x1000, b"a long text at first\0".to_vec());
    machine.world.user.insert(0x2000, b"short\0".to_vec());
    for at in [0x1000_u64, 0x2000, 0x2000] {
        run(&mut machine, &compiled, &[(-2_i64).cast_unsigned(), at, 0xffff]);
    }
    let entries = machine.map("m0").unwrap();
    let mut expected = vec![1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff];
    expected.extend(b"short".iter().copied().chain([0; 19]));
    expected.extend([0xff, 0xff, 0, 0, 0, 0, 0, 0]);
    let keys: Vec<&[u8]> = entries.keys().collect();
    assert_eq!((entries.len(), entries.sum(&expected)), (2, Some(2)), "{keys:?} {expected:?}");
}

#[test]
fn stacks_are_kept_once() {
    for user in [false, true] {
        let mut hand = Hand::new();
        let ty = Type::Stack { user, mode: StackMode::Bpftrace, frames: 127 };
        let map = hand.map(vec![ty.clone()], Type::Aggregate(Aggregation::Count));
        hand.aggregate(map, Some(expr(ExprKind::Stack, ty)), None);
        let compiled = hand.compile();
        assert_eq!((compiled.plan.kernel_stacks, compiled.plan.user_stacks), (!user, user));
        let mut machine = machine();
        let mut seen = Vec::new();
        for depth in [3_u64, 3, 127, 1, 200, 3] {
            let frames: Vec<u64> = (0..depth).map(|n| 0xffff_ffff_8100_0000 + n * 16).collect();
            if user {
                machine.world.user_stack = frames;
            } else {
                machine.world.kernel_stack = frames;
            }
            run(&mut machine, &compiled, &[]);
            seen.push(machine.map("m0").unwrap().len());
        }
        // Of 200 frames, 127 are taken.
        assert_eq!(seen, [1, 1, 2, 3, 3, 3]);
        let bodies = machine.map(if user { "user_stacks" } else { "kernel_stacks" }).unwrap();
        let mut lengths: Vec<usize> = bodies
            .keys()
            .map(|key| words(bodies.value(key, 0).unwrap()).iter().take_while(|frame| **frame != 0).count())
            .collect();
        lengths.sort_unstable();
        assert_eq!(lengths, [1, 3, 127]);
        if user {
            machine.world.user_stack.clear();
        } else {
            machine.world.kernel_stack.clear();
        }
        // That there is none is an answer; any other error is a loss.
        for (error, lost) in [(-14, 0), (-22, 1)] {
            machine.world.overrides.insert(bathyscope_bpf::ir::Helper::GetStack, error);
            run(&mut machine, &compiled, &[]);
            assert_eq!(counters(&machine)[5], lost);
        }
    }
}

#[test]
fn texts_are_compared() {
    let texts = ["", "a", "ab", "abcdefgh", "abcdefghi", "abcdefgx", "a much longer text than that, really"];
    for wanted in texts {
        let mut hand = Hand::new();
        let read = || user_text(field(8, &Type::U64), 64);
        let (held, other) = (hand.local(&Type::Text { bytes: 64 }), hand.local(&Type::Text { bytes: 32 }));
        hand.set(held, read());
        hand.set(other, user_text(field(16, &Type::U64), 32));
        let limited = |most| ExprKind::Same { left: Box::new(read()), right: Box::new(text(wanted)), most: Some(most) };
        let held = hand.get(held);
        let other = hand.get(other);
        hand.emit(vec![
            same(read(), text(wanted)),
            same(held.clone(), text(wanted)),
            same(held.clone(), other.clone()),
            expr(limited(3), Type::Bool),
            expr(
                ExprKind::Difference { left: Box::new(held.clone()), right: Box::new(other), most: 9, text: true },
                Type::I64,
            ),
            expr(ExprKind::TextLength(Box::new(held.clone())), Type::U64),
            expr(ExprKind::Find { text: Box::new(held.clone()), needle: Box::new(text("ef")) }, Type::I64),
            expr(
                ExprKind::Find { text: Box::new(held.clone()), needle: Box::new(user_text(field(16, &Type::U64), 32)) },
                Type::I64,
            ),
            expr(ExprKind::Concat { left: Box::new(held), right: Box::new(text("+")) }, Type::Text { bytes: 66 }),
        ]);
        let compiled = hand.compile();
        for found in texts {
            let mut machine = machine();
            machine.world.user.insert(0x1000, [found.as_bytes(), b"\0rest that is not read"].concat());
            let other = &wanted[..wanted.len().min(31)];
            machine.world.user.insert(0x2000, [other.as_bytes(), b"\0other rest"].concat());
            let values = values_in(&mut machine, &compiled, &[0x1000, 0x2000]);
            let cut = |text: &str| text.bytes().take(3).collect::<Vec<u8>>();
            assert_eq!(values[0], Value::Bool(found == wanted), "{found} {wanted}");
            assert_eq!(values[1], Value::Bool(found == wanted), "{found} {wanted}");
            assert_eq!(values[2], Value::Bool(found == other), "{found} {wanted}");
            assert_eq!(values[3], Value::Bool(cut(found) == cut(wanted)), "{found} {wanted}");
            let bytes = |text: &str| text.bytes().chain([0; 9]).take(9).collect::<Vec<u8>>();
            let difference =
                bytes(found).iter().zip(bytes(other)).map(|(a, b)| i64::from(*a) - i64::from(b)).find(|d| *d != 0);
            assert_eq!(values[4], signed(difference.unwrap_or(0)), "{found} {wanted}");
            assert_eq!(values[5], Value::Unsigned(found.len() as u64));
            let position = |needle: &str| signed(found.find(needle).map_or(-1, |at| i64::try_from(at).unwrap()));
            assert_eq!(values[6], position("ef"), "{found}");
            assert_eq!(values[7], position(other), "{found} {wanted}");
            assert_eq!(values[8], Value::Text(format!("{found}+").into_bytes()));
        }
    }
}

#[test]
fn loops_do_their_rounds() {
    // Small and large bounds, constant and not: in the program, and as callbacks.
    for (end, is_constant) in [(5, true), (100, true), (5, false), (100, false), (-3, false)] {
        let mut hand = Hand::new();
        let (i, sum) = (hand.local(&Type::I64), hand.local(&Type::I64));
        hand.set(sum, int(0));
        let body = vec![
            statement(StatementKind::If {
                condition: compare(CompareOp::Equal, hand.get(i), int(3)),
                then: vec![statement(StatementKind::Continue)],
                otherwise: Vec::new(),
            }),
            statement(StatementKind::If {
                condition: compare(CompareOp::Greater, hand.get(i), field(16, &Type::I64)),
                then: vec![statement(StatementKind::Break)],
                otherwise: Vec::new(),
            }),
            statement(StatementKind::SetLocal {
                local: sum,
                value: binary(ArithmeticOp::Add, hand.get(sum), hand.get(i)),
            }),
        ];
        let bound = if is_constant { int(end) } else { field(8, &Type::I64) };
        hand.push(StatementKind::ForRange { variable: Some(i), first: int(0), end: bound, body });
        let sum = hand.get(sum);
        hand.emit(vec![sum]);
        let compiled = hand.compile();
        for stop in [2_i64, 4, 50, 1000] {
            let found = values(&compiled, &[end.cast_unsigned(), stop.cast_unsigned()]);
            let expected: i64 = (0..end).take_while(|n| *n == 3 || *n <= stop).filter(|n| *n != 3).sum();
            assert_eq!(found, [signed(expected)], "{end} {is_constant} {stop}");
        }
    }
}

#[test]
fn returns_end_the_program_from_within_loops() {
    let mut hand = Hand::new();
    let (i, j) = (hand.local(&Type::I64), hand.local(&Type::I64));
    let inner = vec![statement(StatementKind::If {
        condition: compare(
            CompareOp::Equal,
            binary(ArithmeticOp::Multiply, hand.get(i), hand.get(j)),
            field(8, &Type::I64),
        ),
        then: vec![statement(StatementKind::Return(None))],
        otherwise: Vec::new(),
    })];
    let outer =
        vec![statement(StatementKind::ForRange { variable: Some(j), first: int(1), end: int(30), body: inner })];
    hand.push(StatementKind::ForRange { variable: Some(i), first: int(1), end: int(30), body: outer });
    hand.emit(vec![int(1)]);
    let compiled = hand.compile();
    let mut machine = machine();
    for (product, count) in [(29 * 29, 0), (31, 1), (6, 0)] {
        run(&mut machine, &compiled, &[product]);
        assert_eq!(records(&mut machine, &compiled).len(), count, "{product}");
    }
}

#[test]
fn while_counts_down_to_its_limit() {
    for limit in [10, 100] {
        let mut hand = Hand::new();
        let left = hand.local(&Type::I64);
        hand.set(left, field(8, &Type::I64));
        let condition = compare(CompareOp::Greater, hand.get(left), int(0));
        let body = vec![statement(StatementKind::Expression(expr(
            ExprKind::LocalStep { local: left, by: -1, before: true },
            Type::I64,
        )))];
        hand.push(StatementKind::While { condition, body, limit });
        let left = hand.get(left);
        hand.emit(vec![left]);
        let compiled = hand.compile();
        for start in [0, 5, 1000_i64] {
            let expected = (start - i64::from(limit)).max(0);
            assert_eq!(values(&compiled, &[start.cast_unsigned()]), [signed(expected)]);
        }
    }
}

#[test]
fn loops_over_maps_see_every_element() {
    let mut hand = Hand::new();
    let plain = hand.map(vec![integer(4, false)], Type::I64);
    let counted = hand.map(vec![Type::U64], Type::Aggregate(Aggregation::Sum { signed: true }));
    let key = field(8, &integer(4, false));
    hand.push(StatementKind::SetMap { map: plain, key: Some(key), value: field(16, &Type::I64) });
    hand.aggregate(counted, Some(field(8, &Type::U64)), Some(field(16, &Type::I64)));
    let (keys, sums) = (hand.local(&Type::I64), hand.local(&Type::I64));
    hand.set(keys, int(0));
    hand.set(sums, int(0));
    for (map, key_ty) in [(plain, integer(4, false)), (counted, Type::U64)] {
        let (k, v) = (hand.local(&key_ty), hand.local(&Type::I64));
        let key = expr(ExprKind::Convert(Box::new(hand.get(k))), Type::I64);
        let add = |to: LocalId, value: Expr, hand: &Hand| {
            statement(StatementKind::SetLocal { local: to, value: binary(ArithmeticOp::Add, hand.get(to), value) })
        };
        let body = vec![add(keys, key, &hand), add(sums, hand.get(v), &hand)];
        hand.push(StatementKind::ForMap { map, key: k, value: Some(v), body });
    }
    let length = expr(ExprKind::Length(Countable::Map(plain)), Type::U64);
    let (keys, sums) = (hand.get(keys), hand.get(sums));
    hand.emit(vec![keys, sums, length]);
    let compiled = hand.compile();
    let mut machine = machine();
    let (mut keys, mut plain, mut sums) = (0_i64, 0_i64, 0_i64);
    for (cpu, (key, value)) in (0..).zip([(1_u32, 10_i64), (2, -20), (3, 30)]) {
        machine.world.cpu = cpu;
        let found = values_in(&mut machine, &compiled, &[key.into(), value.cast_unsigned()]);
        keys += 2 * i64::from(key);
        plain += value;
        sums += value;
        assert_eq!(found, [signed(keys), signed(plain + sums), Value::Unsigned(u64::from(cpu) + 1)]);
    }
}

#[test]
fn memory_is_read_by_its_type() {
    let mut hand = Hand::new();
    let address = || Box::new(field(8, &Type::U64));
    let read =
        |offset, space, bits, ty: &Type| expr(ExprKind::Read { address: address(), offset, space, bits }, ty.clone());
    let array = Type::Array { of: Box::new(integer(4, true)), count: 4 };
    let held = hand.local(&array);
    hand.set(held, read(16, Space::Kernel, None, &array));
    let index = field(16, &Type::U64);
    let element =
        |of: Expr| expr(ExprKind::Element { of: Box::new(of), index: Box::new(index.clone()) }, integer(4, true));
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
    hand.set(held, expr(ExprKind::Tuple(parts), tuple.clone()));
    hand.push(StatementKind::SetMap { map, key: Some(int(1)), value: hand.get(held) });
    let there = hand.read(map, Some(int(1)));
    let missing = hand.read(map, Some(int(2)));
    let part = |of: &Expr, offset, ty: &Type| {
        expr(ExprKind::Part { of: Box::new(of.clone()), offset, bits: None }, ty.clone())
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
    let find = |needle| expr(ExprKind::Find { text: Box::new(long()), needle: Box::new(needle) }, Type::I64);

    // Two long texts are compared, searched and joined.
    let mut hand = Hand::new();
    let joined = ExprKind::Concat { left: Box::new(long()), right: Box::new(other()) };
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
        let key = expr(ExprKind::Tuple(vec![long(), number(1, &Type::U64)]), tuple);
        let value = Some(hand.get(i));
        body.push(statement(StatementKind::Aggregate { map, key: Some(key), value }));
    }
    hand.push(StatementKind::ForRange { variable: Some(i), first: int(0), end: int(16), body });
    hand.compile();

    // Many conditions.
    let mut hand = Hand::new();
    let sum = hand.local(&Type::I64);
    hand.set(sum, int(0));
    for n in 0..100 {
        let condition = compare(CompareOp::Greater, field(8 + 8 * (n % 10), &Type::I64), int(i64::from(n)));
        let value = binary(ArithmeticOp::Add, hand.get(sum), int(1));
        let then = vec![statement(StatementKind::SetLocal { local: sum, value })];
        hand.push(StatementKind::If { condition, then, otherwise: Vec::new() });
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
                ExprKind::Read {
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
            let at = |field: Expr| key.as_ref().map(|_| field);
            hand.aggregate(map, at(field(8, &Type::U64)), Some(field(16, &Type::I64)));
            let remove = vec![statement(StatementKind::Delete { map, key: at(field(8, &Type::U64)) })];
            let condition = compare(CompareOp::Less, field(16, &Type::I64), int(0));
            hand.push(StatementKind::If { condition, then: remove, otherwise: Vec::new() });
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
        [Builtin::LeaderComm, Builtin::ParentComm].map(|it| expr(ExprKind::Builtin(it), Type::Text { bytes: 16 }));
    let parent = expr(ExprKind::Builtin(Builtin::ParentPid), integer(4, false));
    hand.emit([names.to_vec(), vec![parent]].concat());
    let task = Some(TaskOffsets { comm: 32, tgid: 8, group_leader: 16, real_parent: 24 });
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
        expr(ExprKind::UsdtArgument { index: 0 }, Type::I64),
        expr(ExprKind::Builtin(Builtin::Probe), integer(4, false)),
    ]);
    let mut script = hand.script;
    let (body, context) = (hand.body, Context::Registers);
    script.probes.push(Probe {
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
    let inet = |address: Expr| shown(ExprKind::Inet { family: None, address: Box::new(address) }, Shown::Inet);
    let bytes = |count| {
        let ty = Type::Array { of: Box::new(integer(1, false)), count };
        expr(ExprKind::Read { address: Box::new(field(8, &Type::U64)), offset: 0, space: Space::User, bits: None }, ty)
    };
    let buffer = |length: Option<Expr>| {
        let address = Box::new(field(8, &Type::U64));
        expr(
            ExprKind::ReadBuffer { address, space: Space::User, length: length.map(Box::new) },
            Type::Buffer { bytes: 8 },
        )
    };
    hand.emit(vec![
        inet(field(16, &integer(4, false))),
        inet(bytes(16)),
        shown(ExprKind::Reinterpret(Box::new(bytes(6))), Shown::Mac),
        buffer(None),
        buffer(Some(field(24, &Type::U64))),
        shown(ExprKind::WithProcess { address: Box::new(field(8, &Type::U64)) }, Shown::UserSymbol),
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
