//! Where a script's made hits come from: how often each attach point is hit, and what its program then finds.

use std::collections::BTreeMap;

use bathyscope_bpf::machine::World;
use bathyscope_plan::{AttachPoint, Period, Plan};

use crate::simulated::{
    events::CPUS,
    options::Simulation,
    profile::{Stacks, chain_of},
    world::{self, CODE_ADDRESS, CODE_OFFSET, Draw, MadeField, MadeProcess, MadeTracepoint, MadeValue, PROCESSES},
};

/// Bytes before a tracepoint's own fields.
const COMMON_BYTES: usize = 8;
/// Where made texts lie in a process's memory, each so far from the next.
const TEXTS_ADDRESS: u64 = 0x7ffd_0000_0000;
const TEXT_ROOM: u64 = 0x1000;
/// Bytes of `struct pt_regs` with what perf events have behind it.
const REGISTER_BYTES: usize = 21 * 8 + 16;
/// Offsets in `struct pt_regs`: arguments, result, instruction pointer, stack pointer.
const ARGUMENTS: [usize; 6] = [112, 104, 96, 88, 72, 64];
const RESULT: usize = 80;
const INSTRUCTION: usize = 128;
const STACK: usize = 152;
const STACK_ADDRESS: u64 = 0x7ffe_0000_0000;
/// What stands between the frames of kernel and user in a call chain begins here.
const CONTEXTS: u64 = (-4095_i64).cast_unsigned();

/// An attach point that is hit again and again.
#[derive(Debug)]
pub(super) struct HitSource {
    /// Its index in the plan's probes.
    pub(super) probe: u32,
    /// Its program.
    pub(super) program: usize,
    /// How many hits there were.
    pub(super) made: u64,
    every_ns: u64,
    kind: ContextKind,
}

#[derive(Debug)]
enum ContextKind {
    Tracepoint(&'static MadeTracepoint),
    Registers { pid: Option<u32>, exit: bool, offset: u64 },
    Sample { cpu: Option<u32> },
}

/// Attach points that are hit by themselves; the others are run by hand.
pub(super) fn sources(plan: &Plan, simulation: &Simulation) -> Vec<HitSource> {
    let mut sources = Vec::new();
    let per_event = 1_000_000_000 / simulation.rate_per_s.max(1);
    for (index, probe) in (0_u32..).zip(&plan.probes) {
        let mut add = |every_ns: u64, kind: ContextKind| {
            let program = probe.program as usize;
            sources.push(HitSource { probe: index, program, made: 0, every_ns: every_ns.max(1000), kind });
        };
        match &probe.point {
            AttachPoint::Tracepoint { system, name } => {
                if let Some((_number, made)) = world::tracepoint(system, name) {
                    add(per_event, ContextKind::Tracepoint(made));
                }
            }
            AttachPoint::Uprobe { offset, exit, pid, .. } => {
                add(per_event, ContextKind::Registers { pid: *pid, exit: *exit, offset: *offset });
            }
            AttachPoint::Usdt { offset, pid, .. } => {
                add(per_event, ContextKind::Registers { pid: *pid, exit: false, offset: *offset });
            }
            AttachPoint::Profile { every } => {
                (0..CPUS).for_each(|cpu| add(period_ns(*every), ContextKind::Sample { cpu: Some(cpu) }));
            }
            AttachPoint::Interval { every } => add(period_ns(*every), ContextKind::Sample { cpu: Some(0) }),
            AttachPoint::PerfEvent { period, .. } => {
                add(per_event.saturating_mul((*period).max(1)), ContextKind::Sample { cpu: None });
            }
            _ => {}
        }
    }
    sources
}

fn period_ns(every: Period) -> u64 {
    match every {
        Period::Hertz(hertz) => 1_000_000_000 / hertz.max(1),
        Period::Nanoseconds(ns) => ns,
    }
}

impl HitSource {
    /// When the next hit is due, after the begin. A timer's first one is after its period.
    pub(super) fn next_ns(&self) -> u64 {
        let first = u64::from(matches!(self.kind, ContextKind::Sample { .. }));
        (self.made + first).saturating_mul(self.every_ns)
    }

    /// Sets the world up for the next hit and gives the program's context.
    pub(super) fn set_up(&self, simulation: &Simulation, world: &mut World) -> Vec<u8> {
        let mut draw = Draw::of(simulation.seed, u64::from(self.probe), self.made);
        let cpu = match self.kind {
            ContextKind::Sample { cpu: Some(cpu) } => {
                draw = Draw::of(simulation.seed, u64::from(self.probe) << 8 | u64::from(cpu), self.made);
                cpu
            }
            _ => draw.below(2, u64::from(CPUS)) as u32,
        };
        let chosen = match self.kind {
            ContextKind::Registers { pid: Some(pid), .. } => world::process(pid),
            _ => draw.one_of(0, &PROCESSES.each_ref()),
        };
        let Some(process) = chosen.or(PROCESSES.first()) else { return Vec::new() };
        set_process(world, process, draw, cpu);
        match self.kind {
            ContextKind::Tracepoint(made) => record(made, draw, &mut world.user),
            ContextKind::Registers { exit, offset, .. } => registers(world, draw, exit, offset),
            ContextKind::Sample { .. } => registers(world, draw, false, CODE_OFFSET),
        }
    }
}

fn set_process(world: &mut World, process: &MadeProcess, draw: Draw, cpu: u32) {
    world.cpu = cpu;
    world.tgid = process.pid;
    world.tid = draw.one_of(1, process.threads).unwrap_or(process.pid);
    world.comm = [0; 16];
    for (to, from) in world.comm.iter_mut().zip(process.comm) {
        *to = *from;
    }
    (world.uid, world.gid) = (process.uid(), process.uid());
    world.cgroup = 1;
    world.random = vec![draw.number(40) as u32];
    world.user.clear();
    let (_in_kernel, chain) = chain_of(process, Stacks { kernel: true, user: true }, draw);
    // The marks between the parts tell which is which: frames of the kernel come first, if there are any.
    let mut parts = chain.split(|address| *address >= CONTEXTS).filter(|part| !part.is_empty());
    let (first, second) = (parts.next().unwrap_or_default().to_vec(), parts.next().map(<[u64]>::to_vec));
    (world.kernel_stack, world.user_stack) = match second {
        Some(user) => (first, user),
        None => (Vec::new(), first),
    };
}

/// A tracepoint's record, as the kernel lays it out; texts at addresses are put into `memory`.
fn record(made: &MadeTracepoint, draw: Draw, memory: &mut BTreeMap<u64, Vec<u8>>) -> Vec<u8> {
    let end = made.fields.iter().map(|field| (field.offset + field.size) as usize).max().unwrap_or(COMMON_BYTES);
    let mut record = vec![0; end.next_multiple_of(8)];
    for (number, field) in (0_u64..).zip(made.fields) {
        let each = if field.declaration.ends_with(']') && !is_text(field) { 8 } else { field.size as usize };
        let count = (field.size as usize).checked_div(each).unwrap_or(0);
        for index in 0..count {
            let at = field.offset as usize + index * each;
            let bytes = bytes_of((field.make)(draw, index as u64), field, number, &mut record, memory);
            if let Some(room) = record.get_mut(at..at + each) {
                room.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
            }
        }
    }
    record
}

fn is_text(field: &MadeField) -> bool {
    field.declaration.starts_with("char ") || field.declaration.starts_with("__data_loc")
}

fn bytes_of(
    value: MadeValue,
    field: &MadeField,
    number: u64,
    record: &mut Vec<u8>,
    memory: &mut BTreeMap<u64, Vec<u8>>,
) -> Vec<u8> {
    let dynamic = field.declaration.starts_with("__data_loc");
    match value {
        MadeValue::Unsigned(number) => number.to_le_bytes().to_vec(),
        MadeValue::Signed(number) => number.to_le_bytes().to_vec(),
        MadeValue::Text(text) if dynamic => {
            let (at, length) = (record.len() as u32, text.len() as u32 + 1);
            record.extend(text);
            record.push(0);
            record.resize(record.len().next_multiple_of(8), 0);
            (length << 16 | at).to_le_bytes().to_vec()
        }
        MadeValue::Text(mut text) if field.declaration.contains('*') => {
            let address = TEXTS_ADDRESS + number * TEXT_ROOM;
            text.push(0);
            memory.insert(address, text);
            address.to_le_bytes().to_vec()
        }
        MadeValue::Text(mut text) => {
            text.truncate((field.size as usize).saturating_sub(1));
            text
        }
        // An empty text where there is no address; else one that is not mapped.
        MadeValue::Unreadable if dynamic => {
            let at = record.len() as u32;
            record.resize(record.len() + 8, 0);
            (1 << 16 | at).to_le_bytes().to_vec()
        }
        MadeValue::Unreadable => 0xdead_0000_u64.to_le_bytes().to_vec(),
    }
}

fn registers(world: &mut World, draw: Draw, exit: bool, offset: u64) -> Vec<u8> {
    let mut bytes = vec![0; REGISTER_BYTES];
    let mut put = |at: usize, value: u64| {
        if let Some(room) = bytes.get_mut(at..at + 8) {
            room.copy_from_slice(&value.to_le_bytes());
        }
    };
    for (number, at) in (50_u64..).zip(ARGUMENTS) {
        put(at, draw.below(number, 4096));
    }
    put(RESULT, if exit { draw.below(60, 100) } else { 0 });
    let address = CODE_ADDRESS + offset.saturating_sub(CODE_OFFSET);
    put(INSTRUCTION, address);
    put(STACK, STACK_ADDRESS);
    world.user.insert(STACK_ADDRESS, vec![0; 256]);
    world.function = address;
    bytes
}

#[cfg(test)]
mod tests {
    use bathyscope_catalog::parse_event_format;

    use super::*;

    /// What is put into a record is where the format says that it is.
    #[test]
    fn records_are_laid_out_as_their_formats_say() {
        for (index, made) in world::TRACEPOINTS.iter().enumerate() {
            let format = parse_event_format(made.format(index + 1).as_bytes()).unwrap();
            let draw = Draw::of(1, 2, 3);
            let mut memory = BTreeMap::new();
            let bytes = record(made, draw, &mut memory);
            for field in &format.fields {
                let at = field.offset as usize;
                let word = |at: usize, size: usize| {
                    let mut word = [0; 8];
                    word[..size].copy_from_slice(&bytes[at..at + size]);
                    u64::from_le_bytes(word)
                };
                match made.value(&field.name, draw).unwrap() {
                    MadeValue::Unsigned(number) => {
                        let size = (field.size as usize).min(8);
                        let mask = u64::MAX >> (64 - 8 * size);
                        assert_eq!(word(at, size), number & mask, "{} {}", made.name, field.name);
                    }
                    MadeValue::Signed(number) => {
                        let size = (field.size as usize).min(8);
                        let mask = u64::MAX >> (64 - 8 * size);
                        assert_eq!(word(at, size), number.cast_unsigned() & mask, "{} {}", made.name, field.name);
                    }
                    MadeValue::Text(text) if field.size == 4 => {
                        let place = word(at, 4);
                        let (start, length) = ((place & 0xffff) as usize, (place >> 16) as usize);
                        assert_eq!(&bytes[start..start + length - 1], text, "{} {}", made.name, field.name);
                    }
                    MadeValue::Text(text) if field.size == 8 => assert!(memory[&word(at, 8)].starts_with(&text)),
                    MadeValue::Text(text) => assert!(bytes[at..].starts_with(&text), "{} {}", made.name, field.name),
                    MadeValue::Unreadable => assert!(word(at, field.size as usize) != 0),
                }
            }
        }
    }
}
