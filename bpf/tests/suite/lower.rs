//! The lowering's meaning: checked scripts made by hand run in the machine, against straightforward models.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::hand;

use bathyscope_bpf::lang::hir::*;
use bathyscope_decode::script::{Aggregated, Snapshot, Value};
use bathyscope_plan::{Aggregation, SeriesOf, StackMode, Type};
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
    assert_eq!(counters(&machine), [1, 0, 0, 0, 0, 0, 0]);
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
    assert_eq!(counters(&machine), [2, 0, 0, 0, 1, 0, 0]);
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
    assert_eq!(counters(&machine), [1, 2, 0, 0, 0, 0, 0]);
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

fn histogram(hand: Hand, map: ScriptMapId, numbers: &[i64]) -> Vec<(u64, u64)> {
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
                    Some(expr(TypedExprKind::Tuple(parts), Type::Tuple(both.to_vec())))
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
        let series = Aggregation::TimeSeries { interval_ns: 1000, phase_ns: 0, slots: 3, of, signed: true };
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
fn the_last_value_of_an_interval_is_the_latest_of_all_cpus() {
    let mut hand = Hand::new();
    let series = Aggregation::TimeSeries { interval_ns: 1000, phase_ns: 0, slots: 3, of: SeriesOf::Last, signed: true };
    let map = hand.map(Vec::new(), Type::Aggregate(series));
    hand.aggregate(map, None, Some(field(8, &Type::I64)));
    let compiled = hand.compile();
    let mut machine = machine();
    // Where the latest is on the first CPU, in the middle, on the last.
    let hits =
        [(7_000, 0, 1), (7_100, 1, 2), (7_200, 0, 3), (8_000, 0, 4), (8_100, 1, -5), (9_000, 1, 6), (9_900, 1, 7)];
    for (time, cpu, value) in hits {
        (machine.world.time_ns, machine.world.cpu) = (time, cpu);
        run(&mut machine, &compiled, &[i64::cast_unsigned(value)]);
    }
    let plan = &compiled.plan.maps[0];
    let values = machine.map("m0").unwrap().values(&[0; 4]).concat();
    let snapshot = Snapshot::read(plan, [(&[0; 4][..], values.as_slice())]).unwrap();
    let Value::Aggregate(Aggregated::Series(points)) = &snapshot.entries[0].value else { panic!("{snapshot:?}") };
    let points: Vec<_> = points.iter().map(|point| (point.interval, point.value)).collect();
    assert_eq!(points, [(7, 3), (8, -5), (9, 7)]);
}

#[test]
fn elements_are_set_read_and_removed() {
    for key in [None, Some(int(5))] {
        let mut hand = Hand::new();
        let map = hand.map(key.iter().map(|key| key.ty.clone()).collect(), Type::I64);
        let has =
            |key: &Option<TypedExpr>| expr(TypedExprKind::HasKey { map, key: key.clone().map(Box::new) }, Type::Bool);
        let before = has(&key);
        let value = field(8, &Type::I64);
        let boxed = |key: &Option<TypedExpr>| key.clone().map(Box::new);
        let step = |by, gives_old| {
            expr(TypedExprKind::AtomicStep { map, key: key.clone().map(Box::new), by, gives_old }, Type::I64)
        };
        let local = hand.local(&Type::Bool);
        hand.set(local, before);
        hand.push(TypedStatementKind::SetMap { map, key: key.clone(), value });
        let (after, plus) = (hand.local(&Type::I64), hand.local(&Type::I64));
        hand.set(after, step(1, true));
        hand.set(plus, step(-5, false));
        hand.push(TypedStatementKind::Expression(step(100, false)));
        let end = hand.local(&Type::I64);
        hand.set(end, hand.read(map, boxed(&key).map(|key| *key)));
        hand.push(TypedStatementKind::Delete { map, key: key.clone() });
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
    assert_eq!(counters(&machine), [5, 0, 0, 2, 0, 0, 0]);
}

#[test]
fn keys_have_no_accidental_bytes() {
    let mut hand = Hand::new();
    let parts = [Type::Bool, integer(4, true), Type::Text { bytes: 24 }, integer(2, false)];
    let map = hand.map(parts.to_vec(), Type::Aggregate(Aggregation::Count));
    let key =
        vec![number(1, &parts[0]), field(8, &parts[1]), user_text(field(16, &Type::U64), 24), field(24, &parts[3])];
    hand.aggregate(map, Some(expr(TypedExprKind::Tuple(key), Type::Tuple(parts.to_vec()))), None);
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
        hand.aggregate(map, Some(expr(TypedExprKind::Stack, ty)), None);
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
        let limited =
            |most| TypedExprKind::Same { left: Box::new(read()), right: Box::new(text(wanted)), most: Some(most) };
        let held = hand.get(held);
        let other = hand.get(other);
        hand.emit(vec![
            same(read(), text(wanted)),
            same(held.clone(), text(wanted)),
            same(held.clone(), other.clone()),
            expr(limited(3), Type::Bool),
            expr(
                TypedExprKind::Difference { left: Box::new(held.clone()), right: Box::new(other), most: 9, text: true },
                Type::I64,
            ),
            expr(TypedExprKind::TextLength(Box::new(held.clone())), Type::U64),
            expr(TypedExprKind::Find { text: Box::new(held.clone()), needle: Box::new(text("ef")) }, Type::I64),
            expr(
                TypedExprKind::Find {
                    text: Box::new(held.clone()),
                    needle: Box::new(user_text(field(16, &Type::U64), 32)),
                },
                Type::I64,
            ),
            expr(TypedExprKind::Concat { left: Box::new(held), right: Box::new(text("+")) }, Type::Text { bytes: 66 }),
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
            statement(TypedStatementKind::If {
                condition: compare(CompareOp::Equal, hand.get(i), int(3)),
                then: vec![statement(TypedStatementKind::Continue)],
                otherwise: Vec::new(),
            }),
            statement(TypedStatementKind::If {
                condition: compare(CompareOp::Greater, hand.get(i), field(16, &Type::I64)),
                then: vec![statement(TypedStatementKind::Break)],
                otherwise: Vec::new(),
            }),
            statement(TypedStatementKind::SetLocal {
                local: sum,
                value: binary(ArithmeticOp::Add, hand.get(sum), hand.get(i)),
            }),
        ];
        let bound = if is_constant { int(end) } else { field(8, &Type::I64) };
        hand.push(TypedStatementKind::ForRange { variable: Some(i), first: int(0), end: bound, body });
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
    let inner = vec![statement(TypedStatementKind::If {
        condition: compare(
            CompareOp::Equal,
            binary(ArithmeticOp::Multiply, hand.get(i), hand.get(j)),
            field(8, &Type::I64),
        ),
        then: vec![statement(TypedStatementKind::Return(None))],
        otherwise: Vec::new(),
    })];
    let outer =
        vec![statement(TypedStatementKind::ForRange { variable: Some(j), first: int(1), end: int(30), body: inner })];
    hand.push(TypedStatementKind::ForRange { variable: Some(i), first: int(1), end: int(30), body: outer });
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
        let body = vec![statement(TypedStatementKind::Expression(expr(
            TypedExprKind::LocalStep { local: left, by: -1, gives_old: true },
            Type::I64,
        )))];
        hand.push(TypedStatementKind::While { condition, body, limit });
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
    hand.push(TypedStatementKind::SetMap { map: plain, key: Some(key), value: field(16, &Type::I64) });
    hand.aggregate(counted, Some(field(8, &Type::U64)), Some(field(16, &Type::I64)));
    let (keys, sums) = (hand.local(&Type::I64), hand.local(&Type::I64));
    hand.set(keys, int(0));
    hand.set(sums, int(0));
    for (map, key_ty) in [(plain, integer(4, false)), (counted, Type::U64)] {
        let (k, v) = (hand.local(&key_ty), hand.local(&Type::I64));
        let key = expr(TypedExprKind::Convert(Box::new(hand.get(k))), Type::I64);
        let add = |to: LocalId, value: TypedExpr, hand: &Hand| {
            statement(TypedStatementKind::SetLocal { local: to, value: binary(ArithmeticOp::Add, hand.get(to), value) })
        };
        let body = vec![add(keys, key, &hand), add(sums, hand.get(v), &hand)];
        hand.push(TypedStatementKind::ForMap { map, key: k, value: Some(v), body });
    }
    let length = expr(TypedExprKind::Length(Countable::Map(plain)), Type::U64);
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
