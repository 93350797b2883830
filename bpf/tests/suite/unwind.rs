//! Walks of made stacks, by made rows, through a made tree of mappings.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::hand;

use bathyscope_bpf::{
    compile,
    lang::{Compiled, LowerOptions, hir::*},
    machine::Machine,
    unwind::{CHUNK_ROWS, MappingOffsets, REGISTERED_MAP, ROWS_MAP, Tables, register_program},
};
use bathyscope_catalog::elf::{Rule, unwind_row};
use bathyscope_plan::{Aggregation, Architecture, AttachPoint, Period, StackMode, Type, UserFile};
use hand::*;

const OFFSETS: MappingOffsets = MappingOffsets {
    task_mm: 0x10,
    mm_root: 0x20,
    vma_start: 0,
    vma_end: 8,
    vma_pgoff: 16,
    vma_file: 24,
    vma_flags: 40,
    file_inode: 32,
    node_pivot: 8,
    range_slot: 128,
    arange_slot: 80,
};
const TASK: u64 = 0xffff_8880_0000_1000;
const MEMORY: u64 = 0xffff_8880_0000_2000;
const REGISTERS: u64 = 0xffff_c900_0000_3f58;
const NODES: u64 = 0xffff_8880_0001_0000;
const VMAS: u64 = 0xffff_8880_0002_0000;
const FILES: u64 = 0xffff_8880_0003_0000;
const INODES: u64 = 0xffff_8880_0004_0000;

/// What is mapped: first address, end, page in the file, number of the file or none.
const MAPPED: [(u64, u64, u64, Option<u64>); 5] = [
    (0x40_0000, 0x40_2000, 0, Some(0)),
    (0x40_2000, 0x40_5000, 2, Some(0)),
    (0x50_0000, 0x51_0000, 0, None),
    (0x7f00_0000_0000, 0x7f00_0002_0000, 0x10, Some(1)),
    (0x7ffc_0000_0000, 0x7ffc_0010_0000, 0, None),
];
const STACK: u64 = 0x7ffc_0000_8000;

fn word(memory: &mut std::collections::BTreeMap<u64, Vec<u8>>, at: u64, value: u64) {
    memory.insert(at, value.to_le_bytes().to_vec());
}

fn node(words: &[(usize, u64)]) -> Vec<u8> {
    let mut bytes = vec![0; 256];
    for (at, value) in words {
        bytes[*at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

/// Lays out mappings as the kernel does: a root with two leaves, in which what is not mapped has empty slots.
fn map_process(machine: &mut Machine) {
    let kernel = &mut machine.world.kernel;
    word(kernel, TASK + 0x10, MEMORY);
    // Inside, a pointer to a node has a mark of its own; the root has one more.
    let entry = |number: u64, kind: u64| (NODES + 256 * number) | kind << 3 | 4;
    word(kernel, MEMORY + 0x20, entry(0, 3) | 2);
    kernel.insert(NODES, node(&[(8, 0x5f_ffff), (16, u64::MAX), (80, entry(1, 1)), (88, entry(2, 1))]));
    let vma = |number: u64| VMAS + 256 * number;
    let leaf = [(8, 0x3f_ffff), (16, 0x40_1fff), (24, 0x40_4fff), (32, 0x4f_ffff), (40, 0x50_ffff), (48, 0x5f_ffff)];
    let slots = [(136, vma(0)), (144, vma(1)), (160, vma(2))];
    kernel.insert(NODES + 256, node(&[leaf.as_slice(), &slots].concat()));
    let leaf = [(8, 0x7eff_ffff_ffff), (16, 0x7f00_0001_ffff), (24, 0x7ffb_ffff_ffff), (32, 0x7ffc_000f_ffff)];
    kernel.insert(NODES + 512, node(&[leaf.as_slice(), &[(136, vma(3)), (152, vma(4))]].concat()));
    for ((start, end, page, file), number) in MAPPED.into_iter().zip(0..) {
        word(kernel, vma(number), start);
        word(kernel, vma(number) + 8, end);
        word(kernel, vma(number) + 16, page);
        // The stack is no code.
        word(kernel, vma(number) + 40, if number == 4 { 3 } else { 5 });
        word(kernel, vma(number) + 24, file.map_or(0, |file| FILES + 256 * file));
    }
    for file in 0..2 {
        word(kernel, FILES + 256 * file + 32, INODES + 4096 * file);
    }
    (machine.world.task, machine.world.task_registers) = (TASK, REGISTERS);
}

fn set_registers(machine: &mut Machine, ip: u64, sp: u64, bp: u64) {
    let mut registers = vec![0; 168];
    for (at, value) in [(128, ip), (152, sp), (32, bp), (136, 0x33)] {
        registers[at..at + 8].copy_from_slice(&u64::to_le_bytes(value));
    }
    machine.world.kernel.insert(REGISTERS, registers);
}

/// The stack from an address on.
fn set_stack(machine: &mut Machine, words: &[(u64, u64)]) {
    let mut bytes = vec![0; 0x2000];
    for (at, value) in words {
        let at = usize::try_from(at - STACK).unwrap();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    machine.world.user.insert(STACK, bytes);
}

fn tables() -> Tables {
    Tables { offsets: OFFSETS, rows: 2 * CHUNK_ROWS, files: 4 }
}

fn script(frames: u16, point: AttachPoint) -> Compiled {
    let mut hand = Hand::new();
    let ty = Type::Stack { user: true, mode: StackMode::Bpftrace, frames };
    let map = hand.map(vec![ty.clone()], Type::Aggregate(Aggregation::Count));
    hand.aggregate(map, Some(expr(TypedExprKind::UnwoundStack, ty.clone())), None);
    // A second one shares the function.
    hand.emit(vec![expr(TypedExprKind::UnwoundStack, ty)]);
    let mut script = hand.finish();
    script.probes[0].points[0].point = point;
    let options =
        LowerOptions { possible_cpus: 4, unwind: Some(tables()), ..LowerOptions::new("made", Architecture::X86_64) };
    compiled(script, &options)
}

fn uprobe() -> AttachPoint {
    let file = UserFile { path: "/bin/made".to_owned(), in_process: None, device: 1, inode: 2 };
    AttachPoint::Uprobe { file, offset: 64, exit: false, pid: None, symbol: "made".to_owned() }
}

fn made_event() -> AttachPoint {
    AttachPoint::Tracepoint { system: "made".to_owned(), name: "event".to_owned() }
}

/// Rows of two files, the second beginning shortly before the end of a chunk, and both files made known by the program that
/// does so.
fn with_tables(compiled: &Compiled) -> Machine {
    let mut machine = machine();
    machine.declare(&compiled.codes[0]);
    map_process(&mut machine);
    let program = [
        (0x100, Rule::Stack { offset: 8, rbp: 0 }),
        (0x110, Rule::Stack { offset: 48, rbp: 16 }),
        (0x200, Rule::Unknown),
        (0x1000, Rule::Frame { offset: 16, rbp: 16 }),
        (0x2100, Rule::Stack { offset: 32, rbp: 0 }),
        (0x2200, Rule::End),
        (0x2300, Rule::Unsupported),
        (0x2400, Rule::Aligned { offset: 8 }),
    ];
    let library = [(0x10_000, Rule::Stack { offset: 16, rbp: 0 }), (0x10_100, Rule::Signal), (0x10_110, Rule::Unknown)];
    let first = u64::from(CHUNK_ROWS) - 1;
    let mut rows = vec![0; 2 * CHUNK_ROWS as usize * 8];
    for (at, (offset, rule)) in (0..).zip(program).chain((first..).zip(library)) {
        let at = usize::try_from(at).unwrap() * 8;
        rows[at..at + 8].copy_from_slice(&unwind_row(offset, rule).to_le_bytes());
    }
    for (key, chunk) in (0_u32..).zip(rows.chunks(CHUNK_ROWS as usize * 8)) {
        assert!(machine.set(ROWS_MAP, &key.to_le_bytes(), 0, chunk));
    }
    let register = compile(&register_program(&tables())).unwrap();
    for (address, first, count, inode) in
        [(0x40_0000_u64, 0, 8, INODES), (0x7f00_0000_0000, first, 3, INODES + 4096), (0x50_0000, 9, 9, 0)]
    {
        let context: Vec<u8> = [address, first, count].iter().flat_map(|word| word.to_le_bytes()).collect();
        machine.run(&register, &[context, vec![0; 72]].concat()).unwrap();
        let value = machine.map(REGISTERED_MAP).unwrap().value(&[0; 4], 0).unwrap().to_vec();
        assert_eq!(words(&value)[5], inode, "{address:#x}");
    }
    machine
}

/// The frames that are kept after a hit.
fn walked(machine: &mut Machine, compiled: &Compiled) -> Vec<u64> {
    let before: Vec<Vec<u8>> = machine.map("user_stacks").unwrap().keys().map(<[u8]>::to_vec).collect();
    before.iter().for_each(|key| assert!(machine.remove("user_stacks", key)));
    run(machine, compiled, &[]);
    let kept = machine.map("user_stacks").unwrap();
    let bodies: Vec<_> = kept.keys().map(|key| words(kept.value(key, 0).unwrap())).collect();
    assert!(bodies.len() <= 1, "both uses give the same stack");
    bodies.first().map(|body| body.iter().copied().take_while(|frame| *frame != 0).collect()).unwrap_or_default()
}

#[test]
fn a_stack_is_walked_by_rows_through_files_and_signals() {
    let compiled = script(127, made_event());
    assert!(compiled.plan.user_stacks);
    let mut machine = with_tables(&compiled);
    set_registers(&mut machine, 0x7f00_0000_0010, STACK, 0x1234);
    set_stack(
        &mut machine,
        &[
            // In the library, then a function that keeps rbp, at the last byte of which it calls.
            (STACK + 8, 0x40_0120),
            (STACK + 16 + 40, 0x40_1080),
            (STACK + 16 + 32, STACK + 0x100),
            // A function with a frame pointer, called by one without a row: both go by rbp.
            (STACK + 0x108, 0x50_0042),
            (STACK + 0x100, STACK + 0x200),
            (STACK + 0x208, 0x7f00_0000_0100),
            (STACK + 0x200, 0xdead),
            // Not a signal yet: the call is before its row. Then the frame that the kernel made.
            (STACK + 0x218, 0x7f00_0000_0101),
            (STACK + 0x220 + 120, STACK + 0x1000),
            (STACK + 0x220 + 160, STACK + 0x800),
            (STACK + 0x220 + 168, 0x40_2100),
            // What was interrupted stands at the first byte of a function. Its caller aligned the stack.
            (STACK + 0x800 + 24, 0x40_2450),
            (STACK + 0x1000 - 8, STACK + 0x1040),
            (STACK + 0x1000, 0xbeef),
            (STACK + 0x1038, 0x40_2210),
        ],
    );
    let expected = [
        0x7f00_0000_0010,
        0x40_0120,
        0x40_1080,
        0x50_0042,
        0x7f00_0000_0100,
        0x7f00_0000_0101,
        0x40_2100,
        0x40_2450,
        0x40_2210,
    ];
    assert_eq!(walked(&mut machine, &compiled), expected);
    assert_eq!(counters(&machine)[5], 0);
}

#[test]
fn walks_end_where_they_must() {
    let compiled = script(127, made_event());
    let mut machine = with_tables(&compiled);
    type Case<'a> = (u64, u64, &'a [(u64, u64)], &'a [u64]);
    let cases: [Case<'_>; 9] = [
        // The outermost frame; a rule that is not followed.
        (0x40_2210, 0, &[], &[0x40_2210]),
        (0x40_2310, 0, &[], &[0x40_2310]),
        // An address of return that cannot be one; memory that is not there.
        (0x40_0100, 0, &[(STACK, 0xffff_8000_0000_0000)], &[0x40_0100]),
        (0x40_1000, 0x1000, &[], &[0x40_1000]),
        // Nothing is mapped there, and rbp does not point into the stack; or points where it points.
        (0x60_0000, 0x10, &[], &[0x60_0000]),
        (0x60_0000, STACK, &[(STACK, STACK), (STACK + 8, 0x50_0001)], &[0x60_0000, 0x50_0001]),
        // A caller that is not mapped, or no code, is none.
        (0x50_0000, STACK, &[(STACK, STACK + 32), (STACK + 8, 0x20)], &[0x50_0000]),
        // The frame pointer leads out of what has no rows.
        (
            0x50_0000,
            STACK,
            &[(STACK, STACK + 32), (STACK + 8, 0x50_0002), (STACK + 40, STACK)],
            &[0x50_0000, 0x50_0002],
        ),
        (0x50_0000, STACK, &[(STACK, 0), (STACK + 8, 0x40_2201)], &[0x50_0000, 0x40_2201]),
    ];
    for (ip, bp, stack, expected) in cases {
        set_registers(&mut machine, ip, STACK, bp);
        set_stack(&mut machine, stack);
        assert_eq!(walked(&mut machine, &compiled), expected, "{ip:#x}");
    }
    assert_eq!(counters(&machine)[5], 0);
    // A walk that cannot begin is a loss; a thread of the kernel has no such stack.
    machine.world.kernel.remove(&REGISTERS);
    assert_eq!(walked(&mut machine, &compiled), [0; 0]);
    assert_eq!(counters(&machine)[5], 2);
    machine.world.kernel.remove(&(TASK + 0x10));
    assert_eq!(walked(&mut machine, &compiled), [0; 0]);
    assert_eq!(counters(&machine)[5], 2);
}

#[test]
fn the_depth_of_a_walk_is_limited() {
    for (wanted, most) in [(127, 127), (5, 5), (1, 1)] {
        let compiled = script(wanted, made_event());
        let mut machine = with_tables(&compiled);
        set_registers(&mut machine, 0x40_0100, STACK, 0);
        let stack: Vec<(u64, u64)> = (0..200).map(|n| (STACK + 8 * n, 0x40_0102)).collect();
        set_stack(&mut machine, &stack);
        // Each function has only been called: its caller is at the next word.
        assert_eq!(walked(&mut machine, &compiled).len(), most);
    }
}

#[test]
fn a_walk_is_accepted_in_every_kind_of_program() {
    let points = [
        made_event(),
        AttachPoint::Begin,
        AttachPoint::Profile { every: Period::Hertz(99) },
        uprobe(),
        AttachPoint::RawTracepoint { name: "sys_enter".to_owned(), module: String::new() },
    ];
    for point in points {
        let compiled = script(127, point);
        assert!(compiled.codes[0].instructions.len() < 4096);
    }
}

#[test]
fn recorded_kernels_tell_where_mappings_are() {
    for series in ["6.1", "6.12", "6.18"] {
        let types = bathyscope_catalog::recorded::kernel(series).unwrap().types();
        assert!(MappingOffsets::of(&types).is_some(), "{series}");
    }
}
