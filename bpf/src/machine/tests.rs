//! What the verifier would refuse is caught.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::Machine;
use crate::{
    Code, CodeFunction, Instruction,
    instruction::{PSEUDO_MAP_FD, Second},
    ir::{Helper, IrBinaryOp, MapDefinition, MapId, MapKind, ProgramKind, Size, Test},
};

fn code(instructions: Vec<Instruction>, maps: Vec<MapDefinition>, map_references: Vec<(usize, MapId)>) -> Code {
    let (name, end) = ("bad".to_owned(), instructions.len());
    let functions =
        vec![CodeFunction { name: name.clone(), start: 0, end, parameters: 1, stack_bytes: 0, memory_bytes: None }];
    Code {
        name,
        kind: ProgramKind::Tracepoint,
        target: String::new(),
        maps,
        instructions,
        functions,
        map_references,
        function_references: Vec::new(),
        positions: Vec::new(),
        source: None,
        stack_bytes: 0,
        reads_context: false,
    }
}

fn map(register: u8) -> [Instruction; 2] {
    let [mut first, second] = Instruction::constant(register, 0);
    first.src = PSEUDO_MAP_FD;
    [first, second]
}

#[test]
fn what_the_verifier_would_refuse_is_a_trap() {
    let mov = |to, value| Instruction::mov(true, to, Second::Imm(value));
    let (load, store) = (Instruction::load, Instruction::store);
    let exit = Instruction::exit();
    let cases: Vec<(&str, Vec<Instruction>)> = vec![
        ("r0 is read", vec![exit]),
        ("r2 is read", vec![Instruction::alu(true, IrBinaryOp::Add, 2, Second::Imm(1))]),
        ("r10 is written", vec![mov(10, 0)]),
        ("were not written", vec![load(Size::B8, 0, 10, -8), exit]),
        ("are outside of Stack", vec![store(Size::B8, 10, -520, Second::Imm(0))]),
        ("are outside of Stack", vec![store(Size::B8, 10, 0, Second::Imm(0))]),
        ("are not aligned", vec![store(Size::B8, 10, -12, Second::Imm(0))]),
        ("are outside of Context", vec![load(Size::B8, 0, 1, 0)]),
        ("are outside of Context", vec![load(Size::B8, 0, 1, 16)]),
        ("Context { hidden: 8 } is written", vec![store(Size::B8, 1, 8, Second::Imm(0))]),
        ("where nothing is", vec![mov(2, 0), load(Size::B8, 0, 2, 0)]),
        ("r1 is read", vec![Instruction::call(Helper::KtimeGetNs), Instruction::mov(true, 0, Second::Reg(1))]),
        (
            "it does not end",
            vec![mov(0, 0), {
                let mut back = Instruction::branch(true, Test::Eq, 0, Second::Imm(0));
                back.off = -1;
                back
            }],
        ),
        ("runs past the end", vec![mov(0, 0)]),
        ("a shift is by too much", vec![mov(0, 0), Instruction::alu(true, IrBinaryOp::Shl, 0, Second::Imm(64))]),
        ("constant zero", vec![mov(0, 0), Instruction::alu(true, IrBinaryOp::Div, 0, Second::Imm(0))]),
    ];
    for (expected, instructions) in cases {
        let trap = Machine::new(1).run(&code(instructions, vec![], vec![]), &[0; 16]).unwrap_err();
        assert!(trap.what.contains(expected), "{trap}, expected: {expected}");
    }
}

#[test]
fn keys_must_be_written_and_records_given_back() {
    let hash = MapDefinition::new("hash", MapKind::Hash, 8, 8, 4);
    let ring = MapDefinition::ring("ring", 4096);
    let maps = vec![hash, ring];
    let mut lookup = map(1).to_vec();
    lookup.extend([
        Instruction::mov(true, 2, Second::Reg(10)),
        Instruction::alu(true, IrBinaryOp::Add, 2, Second::Imm(-8)),
        Instruction::store(Size::B4, 10, -8, Second::Imm(1)),
        Instruction::call(Helper::MapLookup),
        Instruction::exit(),
    ]);
    let lookup = code(lookup, maps.clone(), vec![(0, MapId(0))]);
    let trap = Machine::new(1).run(&lookup, &[]).unwrap_err();
    assert_eq!((trap.instruction, trap.what.contains("were not written")), (5, true), "{trap}");
    let mut reserve = map(1).to_vec();
    let mov = |to, value| Instruction::mov(true, to, Second::Imm(value));
    reserve.extend([mov(2, 16), mov(3, 0), Instruction::call(Helper::RingbufReserve), mov(0, 0), Instruction::exit()]);
    let reserve = code(reserve, maps, vec![(0, MapId(1))]);
    let trap = Machine::new(1).run(&reserve, &[]).unwrap_err();
    assert!(trap.what.contains("neither submitted nor discarded"), "{trap}");
}
