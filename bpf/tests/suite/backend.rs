//! The back end by itself: random programs mean after compilation what they meant before, and malformed ones are
//! refused with the reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::machine;

use bathyscope_bpf::{
    CompileError, PASSES, compile, disassemble,
    ir::{
        Builder, End, Helper, IrBinaryOp, MapDefinition, MapKind, Op, Operand, Program, ProgramKind, Reg, Size, Test,
        Width,
    },
    validate,
};
use machine::{World, run};
use proptest::prelude::*;

const SIZES: [Size; 4] = [Size::B1, Size::B2, Size::B4, Size::B8];
const BINARY: [IrBinaryOp; 13] = [
    IrBinaryOp::SignedDiv,
    IrBinaryOp::SignedMod,
    IrBinaryOp::Add,
    IrBinaryOp::Sub,
    IrBinaryOp::Mul,
    IrBinaryOp::Div,
    IrBinaryOp::Mod,
    IrBinaryOp::And,
    IrBinaryOp::Or,
    IrBinaryOp::Xor,
    IrBinaryOp::Shl,
    IrBinaryOp::Shr,
    IrBinaryOp::Sar,
];
const TESTS: [Test; 11] = [
    Test::Eq,
    Test::Ne,
    Test::Lt,
    Test::Le,
    Test::Gt,
    Test::Ge,
    Test::SignedLt,
    Test::SignedLe,
    Test::SignedGt,
    Test::SignedGe,
    Test::Bits,
];

/// Numbers from which a program is made.
type Recipe = Vec<(u8, u8, u8, i64)>;

/// A program over `count` registers and one slot of 16 bytes: blocks that lead only forward, all registers set at the
/// start, and at the end a mixture of all of them.
fn program(count: usize, blocks: &[Recipe], initial: &[i64]) -> Program {
    let mut builder = Builder::new("random", ProgramKind::Tracepoint);
    let regs: Vec<Reg> = (0..count).map(|index| builder.set(initial[index % initial.len()])).collect();
    // Half of them start as something that the compiler does not know.
    for (to, by) in regs.iter().zip(initial.iter().cycle()).skip(1).step_by(2) {
        builder.push(Op::Call { to: Some(*to), helper: Helper::GetSmpProcessorId, arguments: vec![] });
        let (op, width, right) = (IrBinaryOp::Mul, Width::W64, Operand::Constant(*by));
        builder.push(Op::Binary { to: *to, op, width, left: *to, right });
    }
    let slot = builder.slot(16);
    for offset in [0, 8] {
        builder.push(Op::StoreSlot { slot, offset, size: Size::B8, value: Operand::Constant(7) });
    }
    let mut ids = vec![builder.block()];
    builder.jump(ids[0]);
    ids.extend(blocks.iter().map(|_| builder.block()));
    for (at, recipe) in blocks.iter().enumerate() {
        builder.switch_to(ids[at]);
        let reg = |n: u8| regs[usize::from(n) % count];
        let operand = |n: u8, c: i64| if n.is_multiple_of(2) { Operand::Reg(reg(n / 2)) } else { Operand::Constant(c) };
        for (kind, a, b, c) in recipe {
            let (to, size) = (reg(*a), SIZES[usize::from(*b) % 4]);
            let offset = (u32::from(*b) / 4 % 2) * 8;
            let width = if c % 2 == 0 { Width::W64 } else { Width::W32 };
            match kind % 8 {
                0 => builder.push(Op::Set { to, value: operand(*b, *c) }),
                1 => builder.push(Op::Extend { to, from: reg(*b), size, signed: c % 2 == 0 }),
                2 => builder.push(Op::StoreSlot { slot, offset, size, value: operand(*a, *c) }),
                3 => builder.push(Op::LoadSlot { to, slot, offset, size, signed: c % 2 == 0 }),
                4 => builder.push(Op::Call { to: Some(to), helper: Helper::GetSmpProcessorId, arguments: vec![] }),
                _ => {
                    let (op, left) = (BINARY[usize::from(*kind) % 13], reg(*b));
                    let zero = |c: i64| c & 0xffff_ffff == 0;
                    let right = match operand(*kind / 2, *c) {
                        // A division by the constant zero is refused.
                        Operand::Constant(c) if zero(c) => Operand::Constant(1),
                        other => other,
                    };
                    builder.push(Op::Binary { to, op, width, left, right });
                }
            }
        }
        let (kind, a, b, c) = recipe.first().copied().unwrap_or((0, 0, 0, 0));
        let (next, far) = (ids[at + 1], ids[(at + 1 + usize::from(kind) % 3).min(blocks.len())]);
        if at + 1 < ids.len() {
            let width = if c % 2 == 0 { Width::W64 } else { Width::W32 };
            let (test, right) = (TESTS[usize::from(a) % 11], operand(b, c % 3));
            builder.end(End::Branch { test, width, left: reg(b), right, then: far, otherwise: next });
        }
    }
    builder.switch_to(ids[blocks.len()]);
    let mut all = builder.set(1);
    for reg in regs {
        let scaled = builder.binary(IrBinaryOp::Mul, all, 31);
        all = builder.binary(IrBinaryOp::Add, scaled, reg);
    }
    builder.end(End::Return(all.into()));
    builder.finish()
}

fn extend(value: u64, size: Size, signed: bool) -> u64 {
    let unused = 64 - size.bytes() * 8;
    if signed { ((value << unused).cast_signed() >> unused).cast_unsigned() } else { value << unused >> unused }
}

/// What the IR means, with nothing shared with the compiler.
fn interpret(program: &Program, cpu: u64) -> u64 {
    let mut regs = vec![0_u64; program.body.registers as usize];
    let mut slot = [0_u8; 16];
    // The registers are private to the crate; their printed form is not.
    let index = |reg: Reg| format!("{reg:?}").trim_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().unwrap();
    let mut at = 0;
    loop {
        let block = &program.body.blocks[at];
        let value = |operand: Operand, regs: &[u64]| match operand {
            Operand::Reg(reg) => regs[index(reg)],
            Operand::Constant(value) => value.cast_unsigned(),
        };
        for op in &block.ops {
            match op {
                Op::Set { to, value: new } => regs[index(*to)] = value(*new, &regs),
                Op::Extend { to, from, size, signed } => regs[index(*to)] = extend(regs[index(*from)], *size, *signed),
                Op::StoreSlot { offset, size, value: new, .. } => {
                    let (offset, bytes) = (*offset as usize, size.bytes() as usize);
                    slot[offset..offset + bytes].copy_from_slice(&value(*new, &regs).to_le_bytes()[..bytes]);
                }
                Op::LoadSlot { to, offset, size, signed, .. } => {
                    let mut all = [0; 8];
                    let (offset, bytes) = (*offset as usize, size.bytes() as usize);
                    all[..bytes].copy_from_slice(&slot[offset..offset + bytes]);
                    regs[index(*to)] = extend(u64::from_le_bytes(all), *size, *signed);
                }
                Op::Call { to, .. } => regs[index(to.unwrap())] = cpu,
                Op::Binary { to, op, width, left, right } => {
                    regs[index(*to)] = binary(*op, *width, regs[index(*left)], value(*right, &regs));
                }
                other => panic!("{other:?}"),
            }
        }
        let target = match &block.end {
            End::Jump(target) => *target,
            End::Return(result) => return value(*result, &regs),
            End::Branch { test, width, left, right, then, otherwise } => {
                if holds(*test, *width, regs[index(*left)], value(*right, &regs)) { *then } else { *otherwise }
            }
        };
        at = format!("{target:?}").trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
    }
}

fn binary(op: IrBinaryOp, width: Width, a: u64, b: u64) -> u64 {
    let (a, b, bits) = match width {
        Width::W64 => (a, b, 64),
        Width::W32 => (a & 0xffff_ffff, b & 0xffff_ffff, 32),
    };
    let by = (b % bits) as u32;
    let signed = |value: u64| match width {
        Width::W32 => i64::from((value as u32).cast_signed()),
        Width::W64 => value.cast_signed(),
    };
    let result = match op {
        IrBinaryOp::Add => a.wrapping_add(b),
        IrBinaryOp::Sub => a.wrapping_sub(b),
        IrBinaryOp::Mul => a.wrapping_mul(b),
        IrBinaryOp::Div => a.checked_div(b).unwrap_or(0),
        IrBinaryOp::Mod => a.checked_rem(b).unwrap_or(a),
        IrBinaryOp::SignedDiv => {
            signed(a).checked_div(signed(b)).map_or(if b == 0 { 0 } else { a }, i64::cast_unsigned)
        }
        IrBinaryOp::SignedMod => {
            signed(a).checked_rem(signed(b)).map_or(if b == 0 { a } else { 0 }, i64::cast_unsigned)
        }
        IrBinaryOp::And => a & b,
        IrBinaryOp::Or => a | b,
        IrBinaryOp::Xor => a ^ b,
        IrBinaryOp::Shl => a << by,
        IrBinaryOp::Shr => a >> by,
        IrBinaryOp::Sar if width == Width::W64 => (a.cast_signed() >> by).cast_unsigned(),
        IrBinaryOp::Sar => i64::from((a as u32).cast_signed() >> by).cast_unsigned(),
    };
    if width == Width::W32 { result & 0xffff_ffff } else { result }
}

fn holds(test: Test, width: Width, a: u64, b: u64) -> bool {
    let narrow = |value: u64| if width == Width::W32 { value & 0xffff_ffff } else { value };
    let (a, b) = (narrow(a), narrow(b));
    let signed = |value: u64| match width {
        Width::W32 => i64::from((value as u32).cast_signed()),
        Width::W64 => value.cast_signed(),
    };
    match test {
        Test::Eq => a == b,
        Test::Ne => a != b,
        Test::Lt => a < b,
        Test::Le => a <= b,
        Test::Gt => a > b,
        Test::Ge => a >= b,
        Test::SignedLt => signed(a) < signed(b),
        Test::SignedLe => signed(a) <= signed(b),
        Test::SignedGt => signed(a) > signed(b),
        Test::SignedGe => signed(a) >= signed(b),
        Test::Bits => a & b != 0,
    }
}

fn constant() -> impl Strategy<Value = i64> + Clone {
    prop_oneof![-3_i64..3, any::<i64>(), Just(0x8000_0000), Just(0xffff_ffff), Just(i64::MIN), 0_i64..70]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn compiling_keeps_the_meaning(
        count in 1_usize..24,
        blocks in prop::collection::vec(
            prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>(), constant()), 0..12), 1..6,
        ),
        initial in prop::collection::vec(constant(), 1..6),
    ) {
        let program = program(count, &blocks, &initial);
        let code = compile(&program).unwrap();
        let mut world = World { cpu: 3, ..World::default() };
        let result = run(&code, &mut world);
        prop_assert_eq!(result, Ok(interpret(&program, 3)), "{}\n{}", program, disassemble(&code));
    }
}

#[test]
fn registers_that_do_not_fit_go_to_the_stack() {
    let mut builder = Builder::new("many", ProgramKind::Tracepoint);
    let regs: Vec<Reg> = (0..20).map(|_| builder.call(Helper::KtimeGetNs, &[])).collect();
    let mut sum = builder.set(0);
    for reg in regs {
        sum = builder.binary(IrBinaryOp::Add, sum, reg);
    }
    builder.end(End::Return(sum.into()));
    let code = compile(&builder.finish()).unwrap();
    assert!(code.stack_bytes >= 14 * 8, "{}", disassemble(&code));
    assert_eq!(run(&code, &mut World::default()), Ok((1..=20).sum()));
}

#[test]
fn the_stack_has_a_limit() {
    let of = |bytes: u32| {
        let mut builder = Builder::new("deep", ProgramKind::Tracepoint);
        let slot = builder.slot(bytes);
        // Written and never read, it would take no room.
        builder.push(Op::StoreSlot { slot, offset: 0, size: Size::B8, value: Operand::Constant(1) });
        builder.load_slot(slot, 0, Size::B8, false);
        builder.slot_address(slot);
        let room = builder.slot_address(slot);
        builder.call_only(Helper::GetCurrentComm, &[room.into(), Operand::Constant(16)]);
        compile(&builder.finish())
    };
    assert_eq!(of(504).unwrap().stack_bytes, 504);
    assert_eq!(of(512).unwrap().stack_bytes, 512);
    assert!(matches!(of(513), Err(CompileError::Stack { bytes: 520, most: 512, .. })));
    assert!(matches!(of(u32::MAX), Err(CompileError::Stack { .. })));
}

#[test]
fn what_is_known_and_unused_is_dropped() {
    let mut builder = Builder::new("known", ProgramKind::Tracepoint);
    let a = builder.set(6);
    let b = builder.binary(IrBinaryOp::Mul, a, 7);
    let _unused = builder.call(Helper::KtimeGetNs, &[]);
    let (yes, no) = (builder.block(), builder.block());
    builder.branch(Test::Eq, b, 42, yes, no);
    builder.switch_to(yes);
    builder.end(End::Return(b.into()));
    builder.switch_to(no);
    builder.end(End::Return(Operand::Constant(1)));
    let code = compile(&builder.finish()).unwrap();
    assert_eq!(disassemble(&code), "   0: r0 = 42\n   1: exit\n");
    let names = PASSES.map(|pass| pass.name);
    assert!(names.contains(&"fold constants and copies") && names.contains(&"drop unused results"));
}

fn ring() -> MapDefinition {
    MapDefinition::new("ring", MapKind::RingBuffer, 0, 0, 4096)
}

fn hash() -> MapDefinition {
    MapDefinition::new("hash", MapKind::Hash, 4, 8, 1)
}

/// Builds a program that looks a value up, and hands over where it may be null.
fn looked_up(builder: &mut Builder) -> Reg {
    let map = builder.map(hash());
    let slot = builder.slot(8);
    builder.push(Op::StoreSlot { slot, offset: 0, size: Size::B4, value: Operand::Constant(1) });
    let (map, key) = (builder.map_address(map), builder.slot_address(slot));
    builder.call(Helper::MapLookup, &[map.into(), key.into()])
}

fn reserved(builder: &mut Builder) -> Reg {
    let map = builder.map(ring());
    let map = builder.map_address(map);
    let record = builder.call(Helper::RingbufReserve, &[map.into(), Operand::Constant(16), Operand::Constant(0)]);
    let (there, full) = (builder.block(), builder.block());
    builder.branch(Test::Eq, record, 0, full, there);
    builder.switch_to(there);
    record
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn malformed_programs_are_refused_with_the_reason() {
    let load = |to, base, offset| Op::Load { to, base, offset, size: Size::B8, signed: false };
    type Make<'a> = Box<dyn Fn(&mut Builder) + 'a>;
    let cases: Vec<(&str, Make<'_>)> = vec![
        (
            "v0 is read where it may not be set",
            Box::new(|b| {
                let reg = b.reg();
                b.end(End::Return(reg.into()));
            }),
        ),
        (
            "v1 is read where it may not be set",
            Box::new(|b| {
                let a = b.load_context(8, Size::B4, false);
                let maybe = b.reg();
                let (set, join) = (b.block(), b.block());
                b.branch(Test::Eq, a, 0, set, join);
                b.switch_to(set);
                b.push(Op::Set { to: maybe, value: Operand::Constant(1) });
                b.jump(join);
                b.switch_to(join);
                b.end(End::Return(maybe.into()));
            }),
        ),
        (
            "a pointer may be null",
            Box::new(|b| {
                let value = looked_up(b);
                let to = b.reg();
                b.push(load(to, value, 0));
            }),
        ),
        (
            "8 bytes at 8 are outside of 8",
            Box::new(|b| {
                let value = looked_up(b);
                let (there, missing) = (b.block(), b.block());
                b.branch(Test::Ne, value, 0, there, missing);
                b.switch_to(there);
                let to = b.reg();
                b.push(load(to, value, 8));
            }),
        ),
        (
            "what is used as a pointer is none",
            Box::new(|b| {
                let (number, to) = (b.set(1), b.reg());
                b.push(load(to, number, 0));
            }),
        ),
        (
            "neither submitted nor discarded",
            Box::new(|b| {
                reserved(b);
            }),
        ),
        (
            "a record is",
            Box::new(|b| {
                let record = reserved(b);
                let a = b.load_context(8, Size::B4, false);
                let (submit, join) = (b.block(), b.block());
                b.branch(Test::Eq, a, 0, submit, join);
                b.switch_to(submit);
                b.call_only(Helper::RingbufSubmit, &[record.into(), Operand::Constant(0)]);
                b.jump(join);
            }),
        ),
        (
            "v1 is read where it may not be set",
            Box::new(|b| {
                let record = reserved(b);
                b.call_only(Helper::RingbufSubmit, &[record.into(), Operand::Constant(0)]);
                b.call_only(Helper::RingbufSubmit, &[record.into(), Operand::Constant(0)]);
            }),
        ),
        (
            "cannot be read from the context at 4",
            Box::new(|b| {
                b.load_context(4, Size::B4, false);
            }),
        ),
        (
            "cannot be read from the context at 9",
            Box::new(|b| {
                b.load_context(9, Size::B2, false);
            }),
        ),
        (
            "not aligned",
            Box::new(|b| {
                let slot = b.slot(16);
                b.push(Op::StoreSlot { slot, offset: 4, size: Size::B8, value: Operand::Constant(0) });
            }),
        ),
        (
            "are not in slot 0",
            Box::new(|b| {
                let slot = b.slot(4);
                b.push(Op::StoreSlot { slot, offset: 0, size: Size::B8, value: Operand::Constant(0) });
            }),
        ),
        (
            "argument 1 of probe_read_user",
            Box::new(|b| {
                let slot = b.slot(8);
                let to = b.slot_address(slot);
                b.call(Helper::ProbeReadUser, &[to.into(), Operand::Constant(9), Operand::Constant(0)]);
            }),
        ),
        (
            "takes 2 arguments",
            Box::new(|b| {
                b.call(Helper::MapLookup, &[]);
            }),
        ),
        (
            "argument 1 of ringbuf_reserve",
            Box::new(|b| {
                let map = b.map(hash());
                let map = b.map_address(map);
                b.call(Helper::RingbufReserve, &[map.into(), Operand::Constant(8), Operand::Constant(0)]);
            }),
        ),
        (
            "division by the constant zero",
            Box::new(|b| {
                let one = b.set(1);
                b.binary(IrBinaryOp::Div, one, 0);
            }),
        ),
        (
            "is a pointer where a number is needed",
            Box::new(|b| {
                let slot = b.slot(8);
                let address = b.slot_address(slot);
                b.end(End::Return(address.into()));
            }),
        ),
        (
            "has the name of another",
            Box::new(|b| {
                let one = b.map(ring());
                assert_eq!(b.map(ring()), one, "asked for again it is the same");
                b.map(MapDefinition { max_entries: 2 * ring().max_entries, ..ring() });
            }),
        ),
    ];
    for (expected, make) in cases {
        let mut builder = Builder::new("bad", ProgramKind::Tracepoint);
        make(&mut builder);
        let program = builder.finish();
        let error = validate(&program).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}, expected: {expected}\n{program}");
    }
    assert!(validate(&Builder::new("a b", ProgramKind::Tracepoint).finish()).is_err());
    assert!(validate(&Builder::new("good", ProgramKind::Tracepoint).finish()).is_ok());
}

/// A program as a script of `statements` conditions, lookups and loops makes it.
fn long_program(statements: usize) -> Program {
    let mut builder = Builder::new("long", ProgramKind::Tracepoint);
    let counts = builder.map(MapDefinition::new("counts", MapKind::PerCpuArray, 4, 8, 16));
    let hash = builder.map(hash());
    let end = builder.block();
    let carried = builder.set(0);
    for statement in 0..statements {
        let field = builder.load_context(8, Size::B8, false);
        let key = builder.slot(8);
        builder.store_slot(key, 0, Size::B8, field);
        let (map, address) = (builder.map_address(hash), builder.slot_address(key));
        let found = builder.call(Helper::MapLookup, &[map.into(), address.into()]);
        let (there, next) = (builder.block(), builder.block());
        builder.branch(Test::Ne, found, 0, there, next);
        builder.switch_to(there);
        let count = builder.array_value(counts, u32::try_from(statement % 16).unwrap());
        let before = builder.load(count, 0, Size::B8, false);
        let after = builder.binary(IrBinaryOp::Add, before, carried);
        builder.store(count, 0, Size::B8, after);
        builder.jump(next);
        builder.switch_to(next);
        if statement % 8 == 0 {
            builder.repeat(4, |builder, round| {
                let (op, width, left) = (IrBinaryOp::Add, Width::W64, carried);
                builder.push(Op::Binary { to: carried, op, width, left, right: round.index.into() });
            });
        }
        let go_on = builder.block();
        builder.branch(Test::Gt, field, i64::try_from(statement).unwrap(), end, go_on);
        builder.switch_to(go_on);
    }
    builder.jump(end);
    builder.switch_to(end);
    builder.ret(carried);
    builder.finish()
}

/// The last is long enough that work which grows with the square of the length would be noticed by whoever waits.
#[test]
fn long_programs_compile() {
    let mut instructions = Vec::new();
    for statements in [200, 1400] {
        let program = long_program(statements);
        let code = compile(&program).unwrap();
        instructions.push(code.instructions.len() / statements);
        assert!(code.stack_bytes <= 64, "the slots of {statements} statements do not share their place");
    }
    assert!(instructions[1] <= instructions[0] + 2, "{instructions:?}");
    // Too long for jumps: said as such, and not after minutes.
    assert!(matches!(compile(&long_program(8000)), Err(CompileError::Length { .. })));
}
