//! Each feature of the IR on a real kernel: the verifier must accept it, and what it computes must be right. It needs
//! root; the test command also runs it in the kernel lab, where kernels have what this one may lack. Without root it says
//! that it was skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::print_stdout, reason = "a skipped test must be seen")]

use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, LazyLock, Mutex},
};

use aya::{
    Btf, Ebpf, EbpfLoader,
    maps::{Array, MapData, PerCpuArray},
    programs::{Program as Loaded, ProgramError, TracePoint},
};
use bathyscope_bpf::{
    Code, compile, disassemble,
    ir::{
        AtomicOp, Builder, End, Helper, IrBinaryOp, IrUnaryOp, MapDefinition, MapId, MapKind, Memory, Op, Operand,
        Parameter, ProgramKind, Reg, Size, Source, Test, Width,
    },
    object,
};

static LOADER: LazyLock<Mutex<EbpfLoader<'static>>> = LazyLock::new(|| {
    let mut loader = EbpfLoader::new();
    loader.btf(None);
    Mutex::new(loader)
});

static BTF: LazyLock<Option<Btf>> = LazyLock::new(|| Btf::from_sys_fs().ok());

fn ready() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or("0");
    let capabilities = u64::from_str_radix(effective.trim(), 16).unwrap_or(0);
    let root = capabilities & (1 << 21) != 0;
    if !root {
        println!("SKIPPED: needs root (CAP_SYS_ADMIN)");
    }
    root
}

/// The release of the running kernel.
fn kernel() -> (u32, u32) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut parts = release.split(['.', '-']).map(|part| part.trim().parse().unwrap_or(0));
    (parts.next().unwrap(), parts.next().unwrap())
}

fn load_object(code: &Code) -> Ebpf {
    LOADER.lock().unwrap().load(&object(&[code]).unwrap()).unwrap_or_else(|error| panic!("{}: {error:?}", code.name))
}

fn load_program(ebpf: &mut Ebpf, code: &Code) -> Result<(), ProgramError> {
    let btf = || BTF.as_ref().expect("the kernel's types");
    match ebpf.program_mut(&code.name).unwrap() {
        Loaded::TracePoint(program) => program.load(),
        Loaded::PerfEvent(program) => program.load(),
        Loaded::RawTracePoint(program) => program.load(),
        Loaded::KProbe(program) => program.load(),
        Loaded::UProbe(program) => program.load(),
        Loaded::BtfTracePoint(program) => program.load(&code.target, btf()),
        Loaded::FEntry(program) => program.load(&code.target, btf()),
        Loaded::FExit(program) => program.load(&code.target, btf()),
        Loaded::Iter(program) => program.load(&code.target, btf()),
        other => panic!("{other:?}"),
    }
}

fn accepted(code: &Code) -> Ebpf {
    let mut ebpf = load_object(code);
    if let Err(error) = load_program(&mut ebpf, code) {
        panic!("{} was refused: {error:?}\n{}", code.name, disassemble(code));
    }
    ebpf
}

const RESULTS: u32 = 32;

/// A program that writes numbers into a map, and what they must be.
struct Computation {
    builder: Builder,
    results: MapId,
    expected: BTreeMap<u32, u64>,
}

impl Computation {
    fn new(name: &str) -> Self {
        let mut builder = Builder::new(name, ProgramKind::Tracepoint);
        let results = builder.map(MapDefinition::new("results", MapKind::Array, 4, 8, RESULTS));
        // Only for this thread: runs at the same time would disturb each other.
        let thread = fs::read_link("/proc/thread-self").unwrap();
        let thread: i64 = thread.file_name().unwrap().to_str().unwrap().parse().unwrap();
        let pid_tgid = builder.call(Helper::GetCurrentPidTgid, &[]);
        let (mine, other) = (builder.block(), builder.block());
        let test = Test::Eq;
        let (left, right) = (pid_tgid, thread.into());
        builder.end(End::Branch { test, width: Width::W32, left, right, then: mine, otherwise: other });
        builder.switch_to(other);
        builder.ret(0);
        builder.switch_to(mine);
        Self { builder, results, expected: BTreeMap::new() }
    }

    fn expect(&mut self, value: Reg, expected: u64) {
        let index = u32::try_from(self.expected.len()).unwrap();
        let place = self.builder.array_value(self.results, index);
        self.builder.store(place, 0, Size::B8, value);
        self.expected.insert(index, expected);
    }

    /// Something that the compiler does not know to be `value`.
    fn unknown(&mut self, value: i64) -> Reg {
        let cpu = self.builder.call(Helper::GetSmpProcessorId, &[]);
        let none = self.builder.binary(IrBinaryOp::Shr, cpu, 32);
        self.builder.binary(IrBinaryOp::Add, none, value)
    }

    fn check(self) {
        let mut builder = self.builder;
        builder.ret(0);
        let program = builder.finish();
        let code = compile(&program).unwrap_or_else(|error| panic!("{error}\n{program}"));
        let mut ebpf = accepted(&code);
        {
            let program: &mut TracePoint = ebpf.program_mut(&code.name).unwrap().try_into().unwrap();
            program.attach("raw_syscalls", "sys_enter").unwrap();
        }
        let _pid = fs::read_link("/proc/self");
        let map: Array<&MapData, u64> = Array::try_from(ebpf.map("results").unwrap()).unwrap();
        for (index, expected) in self.expected {
            let found = map.get(&index, 0).unwrap();
            assert_eq!(found, expected, "{}: result {index}: {found:#x}\n{}", code.name, disassemble(&code));
        }
    }
}

#[test]
fn arithmetic_that_bpf_lacks() {
    if !ready() {
        return;
    }
    let mut test = Computation::new("arithmetic");
    for (a, b) in [(7_i64, -2_i64), (-7, 2), (-7, -2), (i64::MIN, -1), (5, 0)] {
        let (left, right) = (test.unknown(a), test.unknown(b));
        let quotient = test.builder.binary(IrBinaryOp::SignedDiv, left, right);
        test.expect(quotient, a.checked_div(b).unwrap_or(if b == 0 { 0 } else { a }).cast_unsigned());
        let remainder = test.builder.binary(IrBinaryOp::SignedMod, left, right);
        test.expect(remainder, a.checked_rem(b).unwrap_or(if b == 0 { a } else { 0 }).cast_unsigned());
    }
    let number = test.unknown(0x0102_0304_0506_0708);
    let ops = [
        (IrUnaryOp::Swap16, 0x0807),
        (IrUnaryOp::Swap32, 0x0807_0605),
        (IrUnaryOp::Swap64, 0x0807_0605_0403_0201),
        (IrUnaryOp::Negate, 0x0102_0304_0506_0708_u64.wrapping_neg()),
        (IrUnaryOp::Not, !0x0102_0304_0506_0708),
    ];
    for (op, expected) in ops {
        let result = test.builder.unary(op, number);
        test.expect(result, expected);
    }
    let narrow = test.builder.reg();
    test.builder.push(Op::Unary { to: narrow, op: IrUnaryOp::Negate, width: Width::W32, from: number });
    test.expect(narrow, u64::from(0x0506_0708_u32.wrapping_neg()));
    let chosen = test.builder.select(Test::SignedLt, Width::W64, number, 0, 1, number);
    test.expect(chosen, 0x0102_0304_0506_0708);
    test.check();
}

#[test]
fn atomics_on_globals_and_maps() {
    if !ready() {
        return;
    }
    let mut test = Computation::new("atomics");
    let global = test.builder.map(MapDefinition::global("word", 16));
    let start =
        test.builder.map(MapDefinition { content: 5_u64.to_le_bytes().to_vec(), ..MapDefinition::global("start", 8) });
    let base = test.builder.global_address(global, 8);
    let begin = test.builder.global_address(start, 0);
    let first = test.builder.load(begin, 0, Size::B8, false);
    test.expect(first, 5);
    let cases = [
        (AtomicOp::Exchange, 12_u64, None),
        (AtomicOp::Add, 8, Some(12)),
        (AtomicOp::Or, 0x60, Some(20)),
        (AtomicOp::And, 0x6f, Some(0x74)),
        (AtomicOp::Xor, 1, Some(0x64)),
    ];
    for (op, value, before) in cases {
        let value = test.unknown(value.cast_signed());
        let old = test.builder.atomic_fetch(op, Width::W64, base, 0, value);
        if let Some(before) = before {
            test.expect(old, before);
        }
    }
    let (new, narrow) = (test.unknown(77), test.unknown(3));
    let old = test.builder.reg();
    let expected = Operand::Constant(0x65);
    test.builder.push(Op::CompareExchange { to: old, width: Width::W64, base, offset: 0, expected, value: new });
    test.expect(old, 0x65);
    test.builder.atomic(AtomicOp::Add, Width::W32, base, 0, narrow);
    test.builder.atomic(AtomicOp::Add, Width::W64, base, 0, narrow);
    let now = test.builder.load(base, 0, Size::B8, false);
    test.expect(now, 83);
    test.check();
}

#[test]
fn scratch_copies_and_comparisons() {
    if !ready() {
        return;
    }
    let mut test = Computation::new("scratch");
    let map = test.builder.map(MapDefinition::scratch("scratch", 4096));
    let scratch = test.builder.array_value(map, 0);
    let comm = test.builder.slot(16);
    let room = test.builder.slot_address(comm);
    test.builder.call_only(Helper::GetCurrentComm, &[room.into(), 16.into()]);
    test.builder.zero(Memory::Pointer(scratch, 0), 256);
    test.builder.zero(Memory::Pointer(scratch, 256), 2048);
    test.builder.copy(Memory::Pointer(scratch, 16), Memory::Slot(comm, 0), 16);
    test.builder.copy(Memory::Pointer(scratch, 1040), Memory::Pointer(scratch, 0), 1000);
    test.builder.copy(Memory::Pointer(scratch, 3001), Memory::Pointer(scratch, 16), 7);
    let compare = |test: &mut Computation, a: u16, b: u16, bytes: u32, same: bool| {
        let (equal, different, join) = (test.builder.block(), test.builder.block(), test.builder.block());
        let (a, b) = (a.cast_signed(), b.cast_signed());
        test.builder.compare_memory(Memory::Pointer(scratch, a), Memory::Pointer(scratch, b), bytes, equal, different);
        let result = test.builder.reg();
        for (block, value) in [(equal, 1), (different, 0)] {
            test.builder.switch_to(block);
            test.builder.assign(result, value);
            test.builder.jump(join);
        }
        test.builder.switch_to(join);
        test.expect(result, u64::from(same));
    };
    compare(&mut test, 0, 1040, 1000, true);
    compare(&mut test, 0, 1032, 1000, false);
    compare(&mut test, 16, 3001, 7, true);
    compare(&mut test, 16, 1056, 100, true);
    // A place that depends on a number: its bounds are shown by a mask right before.
    let at = test.unknown(1056);
    let at = test.builder.binary(IrBinaryOp::And, at, 2047);
    let place = test.builder.binary(IrBinaryOp::Add, scratch, at);
    let word = test.builder.load(place, 0, Size::B8, false);
    let original = test.builder.load(scratch, 16, Size::B8, false);
    let difference = test.builder.binary(IrBinaryOp::Sub, word, original);
    test.expect(difference, 0);
    // A length that depends on a number: text read into scratch, and its end.
    let end = test.builder.binary(IrBinaryOp::Add, scratch, 2100);
    let bytes = test.unknown(9);
    let bytes = test.builder.binary(IrBinaryOp::And, bytes, 1023);
    let from = test.builder.binary(IrBinaryOp::Add, scratch, 16);
    let done = test.builder.call(Helper::ProbeReadKernel, &[end.into(), bytes.into(), from.into()]);
    test.expect(done, 0);
    test.check();
}

#[test]
fn text_is_compared_with_a_constant() {
    if !ready() {
        return;
    }
    let mut test = Computation::new("strncmp");
    let text = test.builder.map(MapDefinition::constant("text", b"hello\0".to_vec()));
    let slot = test.builder.slot(8);
    test.builder.store_slot(slot, 0, Size::B8, i64::from_le_bytes(*b"help\0\0\0\0"));
    let memory = test.builder.slot_address(slot);
    let text = test.builder.global_address(text, 0);
    let order = test.builder.call(Helper::Strncmp, &[memory.into(), 8.into(), text.into()]);
    let negative = test.builder.boolean(Test::SignedGt, Width::W32, order, 0);
    test.expect(negative, 1);
    let order = test.builder.call(Helper::Strncmp, &[memory.into(), 3.into(), text.into()]);
    let order = test.builder.extend(order, Size::B4, false);
    test.expect(order, 0);
    test.check();
}

#[test]
fn callbacks_loop_and_visit_maps() {
    if !ready() {
        return;
    }
    let mut test = Computation::new("callbacks");
    let source = Source { name: "loop.bt".to_owned(), text: "begin\n  for ($i : 0..1000) { @sum += $i }\n".to_owned() };
    test.builder.set_source(Arc::new(source));
    test.builder.at(1, 1);
    let frame = test.builder.slot(24);
    test.builder.zero(Memory::Slot(frame, 0), 24);
    test.builder.push(Op::StoreContext { slot: frame, offset: 16 });
    test.builder.at(2, 3);
    let parameters = [Parameter::Number, Parameter::Frame { bytes: 24, context: Some(16) }];
    let (sum, arguments) = test.builder.begin_function("sum", &parameters);
    let (round, memory) = (arguments[0], arguments[1]);
    let before = test.builder.load(memory, 0, Size::B8, false);
    let after = test.builder.binary(IrBinaryOp::Add, before, round);
    test.builder.store(memory, 0, Size::B8, after);
    // The system call's number, so that the context is used.
    let id = test.builder.load_context(8, Size::B8, true);
    let id = test.builder.binary(IrBinaryOp::And, id, 0);
    test.builder.store(memory, 8, Size::B8, id);
    let (stop, go_on) = (test.builder.block(), test.builder.block());
    test.builder.branch(Test::Ge, round, 999, stop, go_on);
    test.builder.switch_to(stop);
    test.builder.ret(1);
    test.builder.switch_to(go_on);
    test.builder.ret(0);
    test.builder.end_function();
    let (callback, address) = (test.builder.function_address(sum), test.builder.slot_address(frame));
    let rounds = test.builder.call(Helper::Loop, &[5000.into(), callback.into(), address.into(), 0.into()]);
    test.expect(rounds, 1000);
    let total = test.builder.load_slot(frame, 0, Size::B8, false);
    test.expect(total, 499_500);
    visit_map(&mut test);
    test.check();
}

fn visit_map(test: &mut Computation) {
    let hash = test.builder.map(MapDefinition::new("numbers", MapKind::Hash, 8, 8, 16).with_flags(1));
    let (key, value) = (test.builder.slot(8), test.builder.slot(8));
    for number in [3_i64, 5, 7] {
        test.builder.store_slot(key, 0, Size::B8, number);
        test.builder.store_slot(value, 0, Size::B8, number * 10);
        let (map, key, value) =
            (test.builder.map_address(hash), test.builder.slot_address(key), test.builder.slot_address(value));
        test.builder.call_only(Helper::MapUpdate, &[map.into(), key.into(), value.into(), 0.into()]);
    }
    let frame = test.builder.slot(8);
    test.builder.zero(Memory::Slot(frame, 0), 8);
    let parameters = [
        Parameter::Map(hash),
        Parameter::Key(hash),
        Parameter::Value(hash),
        Parameter::Frame { bytes: 8, context: None },
    ];
    let (twice, argument) = test.builder.begin_function("twice", &[Parameter::Number, Parameter::Number]);
    let product = test.builder.binary(IrBinaryOp::Mul, argument[0], argument[1]);
    test.builder.ret(product);
    test.builder.end_function();
    let (visit, arguments) = test.builder.begin_function("visit", &parameters);
    let (key, value) =
        (test.builder.load(arguments[1], 0, Size::B8, false), test.builder.load(arguments[2], 0, Size::B8, false));
    let product = test.builder.call_function(twice, &[key.into(), value.into()]);
    let before = test.builder.load(arguments[3], 0, Size::B8, false);
    let after = test.builder.binary(IrBinaryOp::Add, before, product);
    test.builder.store(arguments[3], 0, Size::B8, after);
    test.builder.ret(0);
    test.builder.end_function();
    let (map, callback, address) =
        (test.builder.map_address(hash), test.builder.function_address(visit), test.builder.slot_address(frame));
    let seen = test.builder.call(Helper::ForEachMapElem, &[map.into(), callback.into(), address.into(), 0.into()]);
    test.expect(seen, 3);
    let total = test.builder.load_slot(frame, 0, Size::B8, false);
    test.expect(total, 30 * 3 + 50 * 5 + 70 * 7);
}

#[test]
fn loops_with_a_known_bound() {
    if !ready() {
        return;
    }
    let mut test = Computation::new("rounds");
    let sum = test.builder.set(0);
    let most = test.unknown(40);
    let most = test.builder.binary(IrBinaryOp::And, most, 63);
    test.builder.repeat(most, |builder, round| {
        let (skip, add) = (builder.block(), builder.block());
        builder.branch(Test::Eq, round.index, 10, skip, add);
        builder.switch_to(skip);
        builder.jump(round.next);
        builder.switch_to(add);
        builder.push(Op::Binary {
            to: sum,
            op: IrBinaryOp::Add,
            width: Width::W64,
            left: sum,
            right: round.index.into(),
        });
        let (leave, stay) = (builder.block(), builder.block());
        builder.branch(Test::Ge, round.index, 35, leave, stay);
        builder.switch_to(leave);
        builder.jump(round.after);
        builder.switch_to(stay);
    });
    test.expect(sum, (0..=35).sum::<u64>() - 10);
    test.check();
}

#[test]
fn values_of_other_cpus_are_read() {
    if !ready() {
        return;
    }
    let mut test = Computation::new("percpu");
    let map = test.builder.map(MapDefinition::new("mine", MapKind::PerCpuHash, 8, 8, 16));
    let (key, value) = (test.builder.slot(8), test.builder.slot(8));
    test.builder.store_slot(key, 0, Size::B8, 1);
    test.builder.store_slot(value, 0, Size::B8, 42);
    let (address, key, value) =
        (test.builder.map_address(map), test.builder.slot_address(key), test.builder.slot_address(value));
    test.builder.call_only(Helper::MapUpdate, &[address.into(), key.into(), value.into(), 0.into()]);
    let sum = test.builder.set(0);
    test.builder.repeat(64, |builder, round| {
        let address = builder.map_address(map);
        let found = builder.call(Helper::MapLookupPercpu, &[address.into(), key.into(), round.index.into()]);
        let there = builder.block();
        builder.branch(Test::Eq, found, 0, round.after, there);
        builder.switch_to(there);
        let value = builder.load(found, 0, Size::B8, false);
        let largest = builder.select(Test::Gt, Width::W64, value, sum, value, sum);
        builder.assign(sum, largest);
    });
    test.expect(sum, 42);
    test.check();
}

/// Writes what is particular to a kind of program.
type Write = fn(&mut Builder);

fn registers(builder: &mut Builder) {
    let first = builder.load_context(112, Size::B8, false);
    let slot = builder.slot(64);
    let room = builder.slot_address(slot);
    builder.call_only(Helper::ProbeReadKernel, &[room.into(), 64.into(), first.into()]);
    stacks(builder);
    let context = builder.address_of(Memory::Context(0));
    builder.call_only(Helper::GetFuncIp, &[context.into()]);
    builder.call_only(Helper::GetAttachCookie, &[context.into()]);
}

fn stacks(builder: &mut Builder) {
    let map = builder.map(MapDefinition::stacks("stacks", 127, 1024));
    let (context, stacks) = (builder.address_of(Memory::Context(0)), builder.map_address(map));
    let id = builder.call(Helper::GetStackId, &[context.into(), stacks.into(), 0.into()]);
    let user = builder.call(Helper::GetStackId, &[context.into(), stacks.into(), 256.into()]);
    let key = builder.slot(8);
    builder.store_slot(key, 0, Size::B4, id);
    builder.store_slot(key, 4, Size::B4, user);
    let counts = builder.map(MapDefinition::new("counts", MapKind::LruPerCpuHash, 8, 8, 64));
    let (map, address) = (builder.map_address(counts), builder.slot_address(key));
    let found = builder.call(Helper::MapLookup, &[map.into(), address.into()]);
    let (there, missing) = (builder.block(), builder.block());
    builder.branch(Test::Ne, found, 0, there, missing);
    builder.switch_to(there);
    let one = builder.set(1);
    builder.atomic(AtomicOp::Add, Width::W64, found, 0, one);
    builder.jump(missing);
    builder.switch_to(missing);
    let scratch = builder.map(MapDefinition::scratch("scratch", 2048));
    let room = builder.array_value(scratch, 0);
    builder.call_only(Helper::GetStack, &[context.into(), room.into(), 1016.into(), 0.into()]);
}

fn task(builder: &mut Builder) {
    let task = builder.call(Helper::GetCurrentTaskBtf, &[]);
    let number = builder.reg();
    builder.push(Op::Untype { to: number, from: task });
    let shifted = builder.binary(IrBinaryOp::Shr, number, 12);
    let word = builder.load(task, 0, Size::B8, false);
    let number = builder.reg();
    builder.push(Op::Untype { to: number, from: word });
    let mixed = builder.binary(IrBinaryOp::Xor, shifted, number);
    let slot = builder.slot(8);
    builder.store_slot(slot, 0, Size::B8, mixed);
    let ring = builder.map(MapDefinition::ring("ring", 65536));
    let (ring, memory) = (builder.map_address(ring), builder.slot_address(slot));
    builder.call_only(Helper::RingbufOutput, &[ring.into(), memory.into(), 8.into(), 1.into()]);
    builder.call_only(Helper::RingbufQuery, &[ring.into(), 0.into()]);
}

fn arguments(builder: &mut Builder) {
    let first = builder.load_context(0, Size::B8, false);
    let number = builder.reg();
    builder.push(Op::Untype { to: number, from: first });
    let slot = builder.slot(8);
    let masked = builder.binary(IrBinaryOp::And, number, 0xfff);
    builder.store_slot(slot, 0, Size::B8, masked);
    let room = builder.slot_address(slot);
    builder.call_only(Helper::ProbeReadKernel, &[room.into(), 8.into(), first.into()]);
    task(builder);
}

fn traced(builder: &mut Builder) {
    arguments(builder);
    let slot = builder.slot(8);
    let (context, room) = (builder.address_of(Memory::Context(0)), builder.slot_address(slot));
    builder.call_only(Helper::GetFuncArg, &[context.into(), 0.into(), room.into()]);
    builder.call_only(Helper::GetFuncArgCnt, &[context.into()]);
    builder.call_only(Helper::GetFuncIp, &[context.into()]);
}

fn returned(builder: &mut Builder) {
    traced(builder);
    let slot = builder.slot(8);
    let (context, room) = (builder.address_of(Memory::Context(0)), builder.slot_address(slot));
    builder.call_only(Helper::GetFuncRet, &[context.into(), room.into()]);
}

fn item(builder: &mut Builder) {
    let meta = builder.load_context(0, Size::B8, false);
    let seq = builder.load(meta, 0, Size::B8, false);
    let task = builder.load_context(8, Size::B8, false);
    let (there, last) = (builder.block(), builder.block());
    builder.branch(Test::Eq, task, 0, last, there);
    builder.switch_to(there);
    let slot = builder.slot(8);
    builder.store_slot(slot, 0, Size::B8, 1);
    let memory = builder.slot_address(slot);
    builder.call_only(Helper::SeqWrite, &[seq.into(), memory.into(), 8.into()]);
    builder.jump(last);
    builder.switch_to(last);
}

fn sample(builder: &mut Builder) {
    let ip = builder.load_context(128, Size::B8, false);
    let slot = builder.slot(24);
    let (context, room) = (builder.address_of(Memory::Context(0)), builder.slot_address(slot));
    builder.call_only(Helper::PerfProgReadValue, &[context.into(), room.into(), 24.into()]);
    builder.store_slot(slot, 0, Size::B8, ip);
    stacks(builder);
}

fn current(builder: &mut Builder) {
    let helpers = [
        Helper::GetCurrentUidGid,
        Helper::GetCurrentCgroupId,
        Helper::KtimeGetBootNs,
        Helper::KtimeGetTaiNs,
        Helper::Jiffies64,
        Helper::GetNumaNodeId,
        Helper::GetPrandomU32,
        Helper::GetCurrentTask,
    ];
    let mut all = builder.set(0);
    for helper in helpers {
        let value = builder.call(helper, &[]);
        all = builder.binary(IrBinaryOp::Add, all, value);
    }
    let slot = builder.slot(16);
    builder.store_slot(slot, 8, Size::B8, all);
    let room = builder.slot_address(slot);
    builder.call_only(Helper::GetNsCurrentPidTgid, &[4.into(), 0xeff_fffc.into(), room.into(), 8.into()]);
    builder.call_only(Helper::GetCurrentAncestorCgroupId, &[1.into()]);
    builder.call_only(Helper::SendSignalThread, &[0.into()]);
}

/// Programs of every kind, with what is particular to it.
fn kinds() -> Vec<(ProgramKind, &'static str, Write)> {
    vec![
        (ProgramKind::Tracepoint, "", current),
        (ProgramKind::Tracepoint, "", stacks),
        (ProgramKind::RawTracepoint, "", task),
        (ProgramKind::BtfTracepoint, "sched_switch", arguments),
        (ProgramKind::Kprobe, "", registers),
        (ProgramKind::Kretprobe, "", registers),
        (ProgramKind::Uprobe, "", registers),
        (ProgramKind::Uretprobe, "", registers),
        (ProgramKind::KprobeMulti, "", registers),
        (ProgramKind::KprobeSession, "", registers),
        (ProgramKind::UprobeMulti, "", registers),
        (ProgramKind::PerfEvent, "", sample),
        (ProgramKind::Fentry, "do_unlinkat", traced),
        (ProgramKind::Fexit, "do_unlinkat", returned),
        (ProgramKind::Iterator, "task", item),
    ]
}

#[test]
fn every_kind_of_program_is_accepted() {
    if !ready() {
        return;
    }
    for (index, (kind, target, write)) in kinds().into_iter().enumerate() {
        let mut builder = Builder::new(format!("kind{index}"), kind);
        builder.set_target(target);
        write(&mut builder);
        builder.ret(0);
        let program = builder.finish();
        let code = compile(&program).unwrap_or_else(|error| panic!("{kind:?}: {error}\n{program}"));
        let mut ebpf = load_object(&code);
        match load_program(&mut ebpf, &code) {
            Ok(()) => println!("{kind:?} is accepted"),
            // A kernel built without trampolines says so before it verifies anything.
            Err(ProgramError::LoadError { verifier_log, .. })
                if matches!(kind, ProgramKind::Fentry | ProgramKind::Fexit)
                    && verifier_log.to_string().is_empty()
                    && std::env::var_os("KERNEL_LAB").is_none() =>
            {
                println!("SKIPPED: {kind:?} is not possible on this kernel");
            }
            Err(error) => panic!("{kind:?} was refused: {error:?}\n{}", disassemble(&code)),
        }
    }
}

#[test]
fn the_verifier_names_lines_of_the_script() {
    if !ready() {
        return;
    }
    let mut builder = Builder::new("lines", ProgramKind::Tracepoint);
    let text = "tracepoint:raw_syscalls:sys_enter {\n  $x = args.id;\n  @bad = *$x;\n}\n".to_owned();
    builder.set_source(Arc::new(Source { name: "fault.bt".to_owned(), text }));
    let scratch = builder.map(MapDefinition::scratch("scratch", 64));
    builder.at(2, 3);
    let id = builder.load_context(8, Size::B8, false);
    builder.at(3, 3);
    // Without a bound: the verifier must refuse it, at this line.
    let base = builder.array_value(scratch, 0);
    let place = builder.binary(IrBinaryOp::Add, base, id);
    let value = builder.load(place, 0, Size::B8, false);
    builder.store(base, 0, Size::B8, value);
    builder.ret(0);
    let code = compile(&builder.finish()).unwrap();
    let mut ebpf = load_object(&code);
    let Err(ProgramError::LoadError { verifier_log, .. }) = load_program(&mut ebpf, &code) else {
        panic!("an access without bounds was accepted");
    };
    let log = verifier_log.to_string();
    assert!(log.contains("; @bad = *$x;"), "{log}");
    // From 6.8 on it names the file and the line.
    assert!(kernel() < (6, 8) || log.contains("@ fault.bt:3"), "{log}");
}

#[test]
fn counts_of_a_cpu_are_its_own() {
    if !ready() {
        return;
    }
    let mut builder = Builder::new("count", ProgramKind::RawTracepoint);
    let map = builder.map(MapDefinition::new("count", MapKind::PerCpuArray, 4, 8, 1));
    let base = builder.array_value(map, 0);
    let before = builder.load(base, 0, Size::B8, false);
    let after = builder.binary(IrBinaryOp::Add, before, 1);
    builder.store(base, 0, Size::B8, after);
    builder.ret(0);
    let code = compile(&builder.finish()).unwrap();
    let mut ebpf = accepted(&code);
    let Loaded::RawTracePoint(program) = ebpf.program_mut("count").unwrap() else { panic!("not one") };
    program.attach("sys_enter").unwrap();
    for _ in 0..100 {
        let _pid = fs::read_link("/proc/self");
    }
    let map: PerCpuArray<&MapData, u64> = PerCpuArray::try_from(ebpf.map("count").unwrap()).unwrap();
    let sum: u64 = map.get(&0, 0).unwrap().iter().sum();
    assert!(sum >= 100, "{sum}");
}
