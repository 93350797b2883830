//! Instructions.

use super::{
    MAX_STEPS, Machine, Trap,
    memory::{RegionUse, Regions},
};
use crate::{
    Code, Instruction,
    instruction::{LD_IMM64, PSEUDO_CALL, PSEUDO_FUNC, PSEUDO_MAP_FD, PSEUDO_MAP_VALUE},
    ir::{Helper, ProgramKind},
};

const STACK_BYTES: usize = 512;
const MAX_FRAMES: usize = 8;
/// As far as a pointer to the current task leads.
const TASK_BYTES: u64 = 64 << 10;
/// What is below a map, and a function, in a register.
const MAP: u64 = 0x00c0_0000_0000_0000;
const FUNCTION: u64 = 0x00d0_0000_0000_0000;

/// One run of a program.
pub(super) struct Run<'a> {
    pub machine: &'a mut Machine,
    pub code: &'a Code,
    /// The instruction that is being executed.
    at: usize,
    steps: u64,
    frames: usize,
    /// Address of the context.
    pub context: u64,
    /// The reserved record and the ring that it is of.
    pub record: Option<(u32, usize)>,
}

/// The registers of a frame; those that hold nothing are none.
type MachineRegisters = [Option<u64>; 11];

enum Next {
    At(usize),
    Exit(u64),
}

fn width(code: u8) -> usize {
    match code & 0x18 {
        0x00 => 4,
        0x08 => 2,
        0x10 => 1,
        _ => 8,
    }
}

pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn get(registers: &MachineRegisters, register: u8) -> Result<u64, String> {
    let value = registers.get(usize::from(register)).copied().flatten();
    value.ok_or_else(|| format!("r{register} is read and holds nothing"))
}

fn set(registers: &mut MachineRegisters, register: u8, value: u64) -> Result<(), String> {
    match registers.get_mut(usize::from(register)) {
        Some(entry) if register < 10 => *entry = Some(value),
        _ => return Err(format!("r{register} is written")),
    }
    Ok(())
}

impl<'a> Run<'a> {
    pub(super) fn new(machine: &'a mut Machine, code: &'a Code) -> Self {
        Self { machine, code, at: 0, steps: 0, frames: 0, context: 0, record: None }
    }

    pub(super) fn start(mut self, context: &[u8]) -> Result<u64, Trap> {
        let hidden = if self.code.kind == ProgramKind::Tracepoint { 8 } else { 0 };
        let region = self.machine.regions.add(context.to_vec(), RegionUse::Context { hidden });
        self.context = Regions::address(region);
        let result = self.call(0, &[self.context]);
        self.machine.regions.remove(region);
        let result = match (result, self.record.take()) {
            (Ok(_), Some((record, _))) => {
                self.machine.regions.remove(record);
                Err("a record was neither submitted nor discarded".to_owned())
            }
            (result, _) => result,
        };
        result.map_err(|what| Trap { instruction: self.at, what })
    }

    /// Runs a function with a frame of its own.
    pub(super) fn call(&mut self, start: usize, arguments: &[u64]) -> Result<u64, String> {
        if self.frames == MAX_FRAMES {
            return Err("calls are too deep".to_owned());
        }
        self.frames += 1;
        let stack = self.machine.regions.add(vec![0; STACK_BYTES], RegionUse::Stack);
        let mut registers: MachineRegisters = [None; 11];
        for (register, argument) in registers.iter_mut().skip(1).zip(arguments) {
            *register = Some(*argument);
        }
        if let Some(frame) = registers.last_mut() {
            *frame = Some(Regions::address(stack) + STACK_BYTES as u64);
        }
        let result = self.body(start, &mut registers);
        self.machine.regions.remove(stack);
        self.frames -= 1;
        result
    }

    fn body(&mut self, start: usize, registers: &mut MachineRegisters) -> Result<u64, String> {
        let mut at = start;
        loop {
            self.at = at;
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err("it does not end".to_owned());
            }
            self.interrupt()?;
            let instruction = *self.code.instructions.get(at).ok_or("it runs past the end")?;
            match self.step(instruction, at, registers)? {
                Next::At(next) => at = next,
                Next::Exit(value) => return Ok(value),
            }
        }
    }

    /// Runs what comes in between here.
    fn interrupt(&mut self) -> Result<(), String> {
        let steps = self.steps;
        let Some(due) = self.machine.interruption.take_if(|due| due.after < steps) else { return Ok(()) };
        let own = std::mem::replace(&mut self.machine.world, due.world);
        self.machine.declare(&due.code);
        let result = Run::new(self.machine, &due.code).start(&due.context);
        self.machine.world = own;
        result.map(|_result| ()).map_err(|trap| format!("the run in between: {trap}"))
    }

    fn step(&mut self, i: Instruction, at: usize, registers: &mut MachineRegisters) -> Result<Next, String> {
        let address = |base: u64| base.wrapping_add_signed(i64::from(i.off));
        match (i.code, i.code & 7) {
            (LD_IMM64, _) => {
                let value = self.wide(i, at)?;
                set(registers, i.dst, value)?;
                return Ok(Next::At(at + 2));
            }
            (0x95, _) => return Ok(Next::Exit(get(registers, 0)?)),
            (0x85, _) => self.called(i, at, registers)?,
            (0xc3 | 0xdb, _) => self.atomic(i, registers)?,
            (_, 1) => {
                let value = self.load(address(get(registers, i.src)?), width(i.code))?;
                set(registers, i.dst, value)?;
            }
            (_, class @ (2 | 3)) => {
                let value = if class == 2 { i64::from(i.imm).cast_unsigned() } else { get(registers, i.src)? };
                let bytes = value.to_le_bytes();
                let place = address(get(registers, i.dst)?);
                self.machine.regions.write(place, bytes.get(..width(i.code)).unwrap_or_default(), true)?;
            }
            (_, 4 | 7) => alu(i, registers)?,
            (_, 5 | 6) => {
                let taken = i.code == 0x05 || test(i, registers)?;
                let next = at as i64 + 1 + if taken { i64::from(i.off) } else { 0 };
                return usize::try_from(next).map(Next::At).map_err(|error| error.to_string());
            }
            _ => return Err(format!("there is no instruction {:#x}", i.code)),
        }
        Ok(Next::At(at + 1))
    }

    /// Whether a program may hold a pointer there whose type the kernel knows: from its context, or to the current task.
    fn may_read(&self, address: u64) -> bool {
        let in_task = self.machine.world.task != 0 && address.wrapping_sub(self.machine.world.task) < TASK_BYTES;
        self.code.kind.has_typed_context() || in_task
    }

    /// Reads memory; of the kernel only where a typed pointer leads, and there zeros where nothing is.
    fn load(&self, address: u64, bytes: usize) -> Result<u64, String> {
        let own = self.machine.regions.read(address, bytes, true);
        match own {
            Err(_) if self.may_read(address) && self.machine.regions.find(address).is_none() => {
                if address == 0 {
                    return Err("null is read".to_owned());
                }
                Ok(super::helpers::peek(&self.machine.world.kernel, address, bytes).map_or(0, |bytes| number(&bytes)))
            }
            own => own.map(|bytes| number(&bytes)),
        }
    }

    fn wide(&mut self, i: Instruction, at: usize) -> Result<u64, String> {
        let second = self.code.instructions.get(at + 1).ok_or("a constant is half")?.imm;
        let low = u64::from(i.imm.cast_unsigned());
        let map = |this: &Self| {
            let found = this.code.map_references.binary_search_by_key(&at, |(at, _)| *at).ok();
            let map = found.and_then(|index| this.code.map_references.get(index)).map(|(_, map)| *map);
            let name = map.and_then(|map| this.code.maps.get(map.index())).map(|map| map.name.as_str());
            name.and_then(|name| this.machine.maps.index(name)).ok_or("there is no such map")
        };
        Ok(match i.src {
            PSEUDO_MAP_FD => MAP | map(self)? as u64,
            PSEUDO_MAP_VALUE => {
                let index = map(self)?;
                let base = self.machine.maps.get(index).map_or(0, |map| map.lookup(&[0; 4], 0));
                base + u64::from(second.cast_unsigned())
            }
            PSEUDO_FUNC => FUNCTION | u64::try_from(at as i64 + 1 + i64::from(i.imm)).map_err(|e| e.to_string())?,
            _ => u64::from(second.cast_unsigned()) << 32 | low,
        })
    }

    fn called(&mut self, i: Instruction, at: usize, registers: &mut MachineRegisters) -> Result<(), String> {
        let result = if i.src == PSEUDO_CALL {
            let start = usize::try_from(at as i64 + 1 + i64::from(i.imm)).map_err(|error| error.to_string())?;
            let function = self.code.functions.iter().find(|function| function.start == start);
            let count = function.ok_or("there is no such function")?.parameters;
            let arguments: Vec<u64> =
                (1_u8..).take(count).map(|register| get(registers, register)).collect::<Result<_, _>>()?;
            let result = self.call(start, &arguments)?;
            self.at = at;
            result
        } else {
            let helper = Helper::of_number(i.imm).ok_or_else(|| format!("there is no helper {}", i.imm))?;
            let count = helper.arguments().len();
            let arguments: Vec<u64> =
                (1_u8..).take(count).map(|register| get(registers, register)).collect::<Result<_, _>>()?;
            let mut all = [0; 5];
            all.iter_mut().zip(arguments).for_each(|(to, from)| *to = from);
            let result = self.helper(helper, all).map_err(|what| format!("{}: {what}", helper.name()))?;
            self.at = at;
            result
        };
        registers.iter_mut().skip(1).take(5).for_each(|register| *register = None);
        set(registers, 0, result)
    }

    fn atomic(&mut self, i: Instruction, registers: &mut MachineRegisters) -> Result<(), String> {
        let bytes = width(i.code);
        let mask = if bytes == 4 { u64::from(u32::MAX) } else { u64::MAX };
        let place = get(registers, i.dst)?.wrapping_add_signed(i64::from(i.off));
        if !place.is_multiple_of(bytes as u64) {
            return Err("an atomic operation is not aligned".to_owned());
        }
        let old = number(&self.machine.regions.read(place, bytes, true)?);
        let value = get(registers, i.src)? & mask;
        let new = match i.imm & !1 {
            0x00 => old.wrapping_add(value),
            0x40 => old | value,
            0x50 => old & value,
            0xa0 => old ^ value,
            0xe0 => value,
            0xf0 if old == get(registers, 0)? & mask => value,
            0xf0 => old,
            other => return Err(format!("there is no atomic operation {other:#x}")),
        };
        self.machine.regions.write(place, new.to_le_bytes().get(..bytes).unwrap_or_default(), true)?;
        match i.imm {
            0xf1 => set(registers, 0, old),
            imm if imm & 1 == 1 => set(registers, i.src, old),
            _ => Ok(()),
        }
    }

    /// The map in an argument.
    pub(super) fn map_index(&self, argument: u64) -> Result<usize, String> {
        let index = argument.checked_sub(MAP).filter(|index| *index < FUNCTION - MAP);
        index.and_then(|index| usize::try_from(index).ok()).ok_or_else(|| "it is not a map".to_owned())
    }

    /// The function in an argument.
    pub(super) fn function_start(argument: u64) -> Result<usize, String> {
        let start = argument.checked_sub(FUNCTION).and_then(|start| usize::try_from(start).ok());
        start.ok_or_else(|| "it is not a function".to_owned())
    }
}

fn operands(i: Instruction, registers: &MachineRegisters, wide: bool, needs_left: bool) -> Result<(u64, u64), String> {
    let left = if needs_left { get(registers, i.dst)? } else { 0 };
    let right = if i.code & 8 == 0 { i64::from(i.imm).cast_unsigned() } else { get(registers, i.src)? };
    let mask = if wide { u64::MAX } else { u64::from(u32::MAX) };
    Ok((left & mask, right & mask))
}

fn low(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0)
}

fn alu(i: Instruction, registers: &mut MachineRegisters) -> Result<(), String> {
    let wide = i.code & 7 == 7;
    if i.code & 0xf0 == 0xd0 {
        let value = get(registers, i.dst)?;
        let swapped = match i.imm {
            16 => u64::from(u16::try_from(value & 0xffff).unwrap_or(0).swap_bytes()),
            32 => u64::from(low(value).swap_bytes()),
            64 => value.swap_bytes(),
            other => return Err(format!("{other} bits are swapped")),
        };
        return set(registers, i.dst, swapped);
    }
    let (a, b) = operands(i, registers, wide, i.code & 0xf0 != 0xb0)?;
    let bits = if wide { 64 } else { 32 };
    if matches!(i.code & 0xf0, 0x60 | 0x70 | 0xc0) && i.code & 8 == 0 && b >= bits {
        return Err("a shift is by too much".to_owned());
    }
    if matches!(i.code & 0xf0, 0x30 | 0x90) && i.code & 8 == 0 && b == 0 {
        return Err("a division is by the constant zero".to_owned());
    }
    let distance = low(b % bits);
    let result = match i.code & 0xf0 {
        0x00 => a.wrapping_add(b),
        0x10 => a.wrapping_sub(b),
        0x20 => a.wrapping_mul(b),
        0x30 => a.checked_div(b).unwrap_or(0),
        0x40 => a | b,
        0x50 => a & b,
        0x60 => a << distance,
        0x70 => a >> distance,
        0x80 => a.wrapping_neg(),
        0x90 => a.checked_rem(b).unwrap_or(a),
        0xa0 => a ^ b,
        0xb0 => b,
        0xc0 if wide => (a.cast_signed() >> distance).cast_unsigned(),
        0xc0 => u64::from((low(a).cast_signed() >> distance).cast_unsigned()),
        other => return Err(format!("there is no operation {other:#x}")),
    };
    set(registers, i.dst, if wide { result } else { result & u64::from(u32::MAX) })
}

fn test(i: Instruction, registers: &MachineRegisters) -> Result<bool, String> {
    let wide = i.code & 7 == 5;
    let (a, b) = operands(i, registers, wide, true)?;
    let signed = |value: u64| if wide { value.cast_signed() } else { i64::from(low(value).cast_signed()) };
    Ok(match i.code & 0xf0 {
        0x10 => a == b,
        0x20 => a > b,
        0x30 => a >= b,
        0x40 => a & b != 0,
        0x50 => a != b,
        0x60 => signed(a) > signed(b),
        0x70 => signed(a) >= signed(b),
        0xa0 => a < b,
        0xb0 => a <= b,
        0xc0 => signed(a) < signed(b),
        0xd0 => signed(a) <= signed(b),
        other => return Err(format!("there is no test {other:#x}")),
    })
}
