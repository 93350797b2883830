//! A machine that runs compiled programs strictly: what the kernel's verifier would refuse at run time is an error here
//! (a register or a stack byte that was not written, one that a call clobbered, an access outside or across things, an
//! unaligned access to stack or context), and constants are extended as the kernel does.
//!
//! The crate rbpf was tried for this; it compares 64-bit registers with constants that it extends by zeros instead of by
//! the sign, and leaves r1 to r5 alone in calls, so it would hide the faults that matter here.
#![allow(dead_code, clippy::indexing_slicing, reason = "each test file uses a part")]

use std::collections::BTreeMap;

use bathyscope_bpf::{Code, Instruction, ir::Helper, probe::COUNTERS_BYTES};

const STACK_TOP: u64 = 0x1000_0200;
const STACK_BYTES: usize = 512;
const CONTEXT: u64 = 0x2000_0000;
pub(crate) const USER: u64 = 0x3000_0000;
const COUNTERS: u64 = 0x4000_0000;
const TARGET: u64 = 0x5000_0000;
const RECORD: u64 = 0x6000_0000;
const MAP: u64 = 0x7000_0000;
const MAX_STEPS: usize = 200_000;

/// What surrounds a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub context: Vec<u8>,
    /// Memory of the process, at [`USER`].
    pub user: Vec<u8>,
    pub tgid: u32,
    pub tid: u32,
    pub cpu: u32,
    pub comm: [u8; 16],
    pub time_ns: u64,
    /// hits, filtered, ring_full
    pub counters: [u64; 3],
    pub targets: BTreeMap<u32, u32>,
    pub ring_is_full: bool,
    /// Submitted records.
    pub records: Vec<Vec<u8>>,
}

struct Machine<'a> {
    code: &'a Code,
    world: &'a mut World,
    registers: [Option<u64>; 11],
    stack: Vec<Option<u8>>,
    /// Whether 8 bytes at an index of the stack hold a whole register that was spilled.
    record: Option<Vec<u8>>,
    target_value: u32,
    calls: u64,
}

/// Runs a program; gives what it returns.
pub(crate) fn run(code: &Code, world: &mut World) -> Result<u64, String> {
    let mut machine = Machine {
        code,
        world,
        registers: [None; 11],
        stack: vec![None; STACK_BYTES],
        record: None,
        target_value: 0,
        calls: 0,
    };
    machine.registers[1] = Some(CONTEXT);
    machine.registers[10] = Some(STACK_TOP);
    let mut at = 0_usize;
    for _ in 0..MAX_STEPS {
        let instruction = *code.instructions.get(at).ok_or("ran past the end")?;
        match machine.step(instruction, at).map_err(|error| format!("instruction {at}: {error}"))? {
            Next::At(next) => at = next,
            Next::Exit(value) if machine.record.is_none() => return Ok(value),
            Next::Exit(_) => return Err("a record was kept".to_owned()),
        }
    }
    Err("it does not end".to_owned())
}

enum Next {
    At(usize),
    Exit(u64),
}

fn bytes_of(code: u8) -> usize {
    match code & 0x18 {
        0x00 => 4,
        0x08 => 2,
        0x10 => 1,
        _ => 8,
    }
}

fn extended(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

impl Machine<'_> {
    fn get(&self, register: u8) -> Result<u64, String> {
        self.registers[register as usize].ok_or_else(|| format!("r{register} was not written"))
    }

    fn set(&mut self, register: u8, value: u64) -> Result<(), String> {
        if register > 9 {
            return Err("r10 is written".to_owned());
        }
        self.registers[register as usize] = Some(value);
        Ok(())
    }

    fn step(&mut self, i: Instruction, at: usize) -> Result<Next, String> {
        let address = |base: u64| base.wrapping_add_signed(i64::from(i.off));
        match (i.code, i.code & 7) {
            (0x18, _) => {
                let value = match self.code.map_references.iter().find(|(index, _)| *index == at) {
                    Some((_, map)) => MAP + map.index() as u64,
                    None => {
                        let high = self.code.instructions.get(at + 1).ok_or("half a constant")?.imm;
                        u64::from(high.cast_unsigned()) << 32 | u64::from(i.imm.cast_unsigned())
                    }
                };
                self.set(i.dst, value)?;
                return Ok(Next::At(at + 2));
            }
            (0x95, _) => return Ok(Next::Exit(self.get(0)?)),
            (0x85, _) => {
                let result = self.call(i.imm)?;
                self.registers[0] = Some(result);
                self.registers[1..6].fill(None);
            }
            (0xdb, _) => {
                let place = address(self.get(i.dst)?);
                let sum = extended(&self.read(place, 8)?).wrapping_add(self.get(i.src)?);
                self.write(place, &sum.to_le_bytes())?;
            }
            (_, 1) => {
                let value = extended(&self.read(address(self.get(i.src)?), bytes_of(i.code))?);
                self.set(i.dst, value)?;
            }
            (_, class @ (2 | 3)) => {
                let value = if class == 2 { i64::from(i.imm).cast_unsigned() } else { self.get(i.src)? };
                self.write(address(self.get(i.dst)?), &value.to_le_bytes()[..bytes_of(i.code)])?;
            }
            (_, 4 | 7) => self.alu(i)?,
            (_, _) => {
                let taken = i.code == 0x05 || self.test(i)?;
                let next = at as i64 + 1 + if taken { i64::from(i.off) } else { 0 };
                return usize::try_from(next).map(Next::At).map_err(|error| error.to_string());
            }
        }
        Ok(Next::At(at + 1))
    }

    fn operands(&self, i: Instruction, wide: bool, needs_left: bool) -> Result<(u64, u64), String> {
        let left = if needs_left { self.get(i.dst)? } else { 0 };
        let right = if i.code & 8 == 0 { i64::from(i.imm).cast_unsigned() } else { self.get(i.src)? };
        let mask = if wide { u64::MAX } else { u64::from(u32::MAX) };
        Ok((left & mask, right & mask))
    }

    fn alu(&mut self, i: Instruction) -> Result<(), String> {
        let wide = i.code & 7 == 7;
        let (a, b) = self.operands(i, wide, i.code & 0xf0 != 0xb0)?;
        let bits = if wide { 64 } else { 32 };
        if matches!(i.code & 0xf0, 0x60 | 0x70 | 0xc0) && i.code & 8 == 0 && b >= bits {
            return Err("a shift by too much".to_owned());
        }
        let distance = (b % bits) as u32;
        let result = match i.code & 0xf0 {
            0x00 => a.wrapping_add(b),
            0x10 => a.wrapping_sub(b),
            0x20 => a.wrapping_mul(b),
            0x30 => a.checked_div(b).unwrap_or(0),
            0x40 => a | b,
            0x50 => a & b,
            0x60 => a << distance,
            0x70 => a >> distance,
            0x90 => a.checked_rem(b).unwrap_or(a),
            0xa0 => a ^ b,
            0xb0 => b,
            0xc0 if wide => (a.cast_signed() >> distance).cast_unsigned(),
            0xc0 => u64::from(((a as u32).cast_signed() >> distance).cast_unsigned()),
            other => return Err(format!("no such operation: {other:#x}")),
        };
        self.set(i.dst, if wide { result } else { result & u64::from(u32::MAX) })
    }

    fn test(&self, i: Instruction) -> Result<bool, String> {
        let wide = i.code & 7 == 5;
        let (a, b) = self.operands(i, wide, true)?;
        let signed = |value: u64| if wide { value.cast_signed() } else { i64::from((value as u32).cast_signed()) };
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
            other => return Err(format!("no such test: {other:#x}")),
        })
    }

    fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, String> {
        let within = |base: u64, length: usize| {
            let start = usize::try_from(address.checked_sub(base)?).ok()?;
            (start.checked_add(bytes)? <= length).then_some(start)
        };
        let aligned = address.is_multiple_of(bytes as u64) || !bytes.is_power_of_two() || bytes > 8;
        if let Some(start) = within(STACK_TOP - STACK_BYTES as u64, STACK_BYTES) {
            if !aligned {
                return Err(format!("an unaligned read of the stack at {}", start));
            }
            let all: Option<Vec<u8>> = self.stack[start..start + bytes].iter().copied().collect();
            return all.ok_or_else(|| format!("stack bytes at {start} were not written"));
        }
        if let Some(start) = within(CONTEXT, self.world.context.len()) {
            if !aligned || start < 8 {
                return Err(format!("a read of the context at {start}"));
            }
            return Ok(self.world.context[start..start + bytes].to_vec());
        }
        if let Some(start) = within(COUNTERS, COUNTERS_BYTES as usize) {
            let all: Vec<u8> = self.world.counters.iter().flat_map(|counter| counter.to_le_bytes()).collect();
            return Ok(all[start..start + bytes].to_vec());
        }
        if let (Some(record), Some(start)) = (&self.record, within(RECORD, self.record.as_ref().map_or(0, Vec::len))) {
            return Ok(record[start..start + bytes].to_vec());
        }
        Err(format!("a read of {bytes} bytes at {address:#x}"))
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let within = |base: u64, length: usize| {
            let start = usize::try_from(address.checked_sub(base)?).ok()?;
            (start.checked_add(bytes.len())? <= length).then_some(start)
        };
        let aligned = address.is_multiple_of(bytes.len() as u64) || !bytes.len().is_power_of_two() || bytes.len() > 8;
        if let Some(start) = within(STACK_TOP - STACK_BYTES as u64, STACK_BYTES) {
            if !aligned {
                return Err(format!("an unaligned write of the stack at {start}"));
            }
            for (to, from) in self.stack[start..].iter_mut().zip(bytes) {
                *to = Some(*from);
            }
            return Ok(());
        }
        if let Some(start) = within(COUNTERS, COUNTERS_BYTES as usize)
            && start.is_multiple_of(8)
        {
            self.world.counters[start / 8] = extended(bytes);
            return Ok(());
        }
        let record_bytes = self.record.as_ref().map_or(0, Vec::len);
        if let (Some(start), Some(record)) = (within(RECORD, record_bytes), &mut self.record) {
            record[start..start + bytes.len()].copy_from_slice(bytes);
            return Ok(());
        }
        Err(format!("a write of {} bytes at {address:#x}", bytes.len()))
    }

    fn map(&self, value: u64) -> Result<&str, String> {
        let index = value.checked_sub(MAP).ok_or("not a map")? as usize;
        Ok(&self.code.maps.get(index).ok_or("no such map")?.name)
    }

    fn key(&self) -> Result<u32, String> {
        Ok(extended(&self.read(self.get(2)?, 4)?) as u32)
    }

    fn call(&mut self, number: i32) -> Result<u64, String> {
        self.calls += 1;
        let is = |helper: Helper| helper.number() == number;
        let error = |code: i64| code.cast_unsigned();
        Ok(match number {
            _ if is(Helper::MapLookup) => {
                let key = self.key()?;
                match self.map(self.get(1)?)? {
                    name if name.ends_with("_count") && key == 0 => COUNTERS,
                    "targets" if self.world.targets.contains_key(&key) => TARGET,
                    _ => 0,
                }
            }
            _ if is(Helper::MapUpdate) => {
                let (key, value) = (self.key()?, extended(&self.read(self.get(3)?, 4)?) as u32);
                assert_eq!((self.map(self.get(1)?)?, self.get(4)?), ("targets", 0));
                self.world.targets.insert(key, value);
                0
            }
            _ if is(Helper::MapDelete) => {
                let key = self.key()?;
                assert_eq!(self.map(self.get(1)?)?, "targets");
                self.world.targets.remove(&key);
                0
            }
            // Each call another value, so that a program's order of calls is seen.
            _ if is(Helper::KtimeGetNs) => self.world.time_ns + self.calls,
            _ if is(Helper::GetSmpProcessorId) => u64::from(self.world.cpu),
            _ if is(Helper::GetCurrentPidTgid) => u64::from(self.world.tgid) << 32 | u64::from(self.world.tid),
            _ if is(Helper::GetCurrentComm) => {
                assert_eq!(self.get(2)?, 16);
                let comm = self.world.comm;
                self.write(self.get(1)?, &comm)?;
                0
            }
            _ if is(Helper::ProbeReadKernel) => {
                let (to, bytes, from) = (self.get(1)?, self.get(2)? as usize, self.get(3)?);
                let content = self.read_any(from, bytes).ok_or("a kernel read")?;
                self.write(to, &content)?;
                0
            }
            _ if is(Helper::ProbeReadKernelStr) || is(Helper::ProbeReadUserStr) => {
                let (to, room, from) = (self.get(1)?, self.get(2)? as usize, self.get(3)?);
                let source = if is(Helper::ProbeReadUserStr) { self.user_from(from) } else { self.kernel_from(from) };
                match source {
                    None => {
                        self.write(to, &vec![0; room])?;
                        error(-14)
                    }
                    Some(source) => {
                        let text: Vec<u8> = source.into_iter().take_while(|byte| *byte != 0).take(room - 1).collect();
                        // What follows the NUL is left over from before.
                        let mut filled = vec![0xaa; room];
                        filled[..text.len()].copy_from_slice(&text);
                        filled[text.len()] = 0;
                        self.write(to, &filled)?;
                        text.len() as u64 + 1
                    }
                }
            }
            _ if is(Helper::RingbufReserve) => {
                assert!(self.map(self.get(1)?)?.ends_with("_ring"));
                assert_eq!((self.get(3)?, self.record.is_none()), (0, true));
                if self.world.ring_is_full {
                    0
                } else {
                    self.record = Some(vec![0x55; self.get(2)? as usize]);
                    RECORD
                }
            }
            _ if is(Helper::RingbufSubmit) => {
                assert_eq!((self.get(1)?, self.get(2)?), (RECORD, 1));
                self.world.records.push(self.record.take().ok_or("nothing to submit")?);
                0
            }
            _ => return Err(format!("no such helper: {number}")),
        })
    }

    fn user_from(&self, address: u64) -> Option<Vec<u8>> {
        let start = usize::try_from(address.checked_sub(USER)?).ok()?;
        self.world.user.get(start..).filter(|rest| !rest.is_empty()).map(<[u8]>::to_vec)
    }

    fn kernel_from(&self, address: u64) -> Option<Vec<u8>> {
        if let Some(start) = address.checked_sub(CONTEXT).map(|start| start as usize)
            && start < self.world.context.len()
        {
            return self.world.context.get(start..).map(<[u8]>::to_vec);
        }
        let start = address.checked_sub(STACK_TOP - STACK_BYTES as u64)? as usize;
        self.stack.get(start..)?.iter().copied().map_while(|byte| Some(byte.unwrap_or(0))).collect::<Vec<_>>().into()
    }

    fn read_any(&self, address: u64, bytes: usize) -> Option<Vec<u8>> {
        self.kernel_from(address)?.get(..bytes).map(<[u8]>::to_vec)
    }
}
