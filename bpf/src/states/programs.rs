//! The programs at switches and wake-ups: count, filter, record.

use bathyscope_capture::{
    MAX_BLOCKED_FRAMES, MAX_STATE_FRAMES, STATE_RECORD_BYTES, StateFlags, StateKind, StatePlace, TaskBits,
};

use super::{RING, SWITCH_COUNTERS, StateError, StateProbe, StatePrograms, WAKE_COUNTERS, task::Task};
use crate::{
    ir::{
        BlockId, Builder, Helper, IrBinaryOp, MapDefinition, Memory, Op, Program, ProgramKind, Reg, Size, Test, Width,
    },
    probe::{Frame, ProbeCounter, TargetFilter, check_ring},
};

/// Arguments of `sched_switch`: whether the thread is preempted, the thread that leaves the CPU, the one that gets it, the state
/// of the former.
const PREEMPTED_AT: u32 = 0;
const PREVIOUS_AT: u32 = 8;
const NEXT_AT: u32 = 16;
const STATE_AT: u32 = 24;
/// The argument of `sched_waking` and `sched_wakeup_new`: the thread that is woken.
const WAKEE_AT: u32 = 0;
/// Nobody is woken: readers poll. A program that runs while the queue of a CPU is locked must not wake anybody.
const NO_WAKEUP: i64 = 1;
/// `get_stack`: the stack in user space.
const USER_STACK: i64 = 1 << 8;
/// The name of the place where a record with stacks is put together: a per-CPU array of one value. No program of these runs
/// inside another: they run with interrupts off.
const ROOM: &str = "states_room";
/// Bytes of the most frames of one side.
const SIDE_BYTES: u32 = 8 * MAX_STATE_FRAMES;
/// Bytes of the frames that tell where a thread blocks.
const BLOCKED_BYTES: u32 = 8 * MAX_BLOCKED_FRAMES;

/// Makes the programs.
///
/// # Errors
/// If the size of the ring is none, or the kernel does not tell what the target asks.
pub fn programs(probe: &StateProbe) -> Result<StatePrograms, StateError> {
    check_ring(probe.ring_bytes)?;
    Ok(StatePrograms {
        switch: switch(probe)?,
        waking: wakeup(probe, "st_waking", StateKind::Waking)?,
        new: wakeup(probe, "st_new", StateKind::New)?,
    })
}

/// What a record has.
struct Words {
    now: Reg,
    /// CPU, kind and flags.
    head: Reg,
    value: Reg,
    running: Reg,
    other: Reg,
}

impl Words {
    fn store(&self, b: &mut Builder, record: Reg, head: Reg) {
        let numbers = [
            (StatePlace::TIME_NS, Size::B8, self.now),
            (StatePlace::CPU, Size::B4, head),
            (StatePlace::VALUE, Size::B4, self.value),
            (StatePlace::TID, Size::B8, self.running),
            (StatePlace::OTHER_TID, Size::B8, self.other),
        ];
        for (at, size, number) in numbers {
            b.store(record, offset(at), size, number);
        }
    }
}

fn offset(at: u32) -> i16 {
    i16::try_from(at).unwrap_or(i16::MAX)
}

/// A flag where it stands in the first word behind the time.
const fn in_head(flag: u8) -> i64 {
    (flag as i64) << 24
}

/// The current CPU with the kind of the record.
fn head(b: &mut Builder, kind: StateKind) -> Reg {
    let cpu = b.call(Helper::GetSmpProcessorId, &[]);
    match kind {
        StateKind::Switch => cpu,
        kind => b.binary(IrBinaryOp::Or, cpu, (kind as i64) << 16),
    }
}

fn switch(probe: &StateProbe) -> Result<Program, StateError> {
    let mut frame = Frame::counting("st_switch", SWITCH_COUNTERS.to_owned(), ProgramKind::RawTracepoint);
    let (running, rejected) = (frame.pid_tgid, frame.filtered);
    let b = &mut frame.builder;
    let address = b.load_context(NEXT_AT, Size::B8, false);
    let next = Task::read(b, address, &probe.places);
    let sides = target_sides(b, probe, (running, &next), rejected)?;
    let now = frame.builder.call(Helper::KtimeGetNs, &[]);
    frame.require_allowance(STATE_RECORD_BYTES, Some(now));

    let b = &mut frame.builder;
    let preempted = b.load_context(PREEMPTED_AT, Size::B8, false);
    let told = b.load_context(STATE_AT, Size::B8, false);
    let value = state_left(b, told, probe);
    let cpu = head(b, StateKind::Switch);
    let flag = b.select(Test::Ne, Width::W64, preempted, 0, in_head(StateFlags::PREEMPTED), 0);
    let head = b.binary(IrBinaryOp::Or, cpu, flag);
    let head = sides.in_head(b, head);
    let is_own = sides.from;
    let words = Words { now, head, value, running, other: next.pid_tgid };
    let plain = b.block();
    if probe.sleep_stacks {
        require_sleep(b, [is_own, preempted, told], plain);
        record_with_stacks(&mut frame, probe, &words, Frames::All);
    } else {
        require_blocked(b, [is_own, preempted, told], plain);
        record_with_stacks(&mut frame, probe, &words, Frames::Innermost);
    }
    frame.builder.switch_to(plain);
    record(&mut frame, probe, &words);
    Ok(frame.finish())
}

/// Which threads of a switch are the target's, 1 or 0.
struct Sides {
    from: Reg,
    to: Reg,
    /// Whether it is of interest: somebody is not.
    is_told: bool,
}

impl Sides {
    /// Adds what they are to the word behind the time.
    fn in_head(&self, b: &mut Builder, head: Reg) -> Reg {
        if !self.is_told {
            return head;
        }
        let flags = [(self.from, StateFlags::FROM_TARGET), (self.to, StateFlags::TO_TARGET)];
        flags.into_iter().fold(head, |head, (is, flag)| {
            let flag = b.select(Test::Ne, Width::W64, is, 0, in_head(flag), 0);
            b.binary(IrBinaryOp::Or, head, flag)
        })
    }
}

/// Goes on only where one of the threads is a target; both are asked for, as whoever reads them has to know whose they are.
fn target_sides(
    b: &mut Builder,
    probe: &StateProbe,
    (running, next): (Reg, &Task),
    rejected: BlockId,
) -> Result<Sides, StateError> {
    let (from, to) = (b.set(1), b.set(1));
    if probe.target == TargetFilter::System {
        return Ok(Sides { from, to, is_told: false });
    }
    let [not_from, asked, not_to, wanted] = std::array::from_fn(|_| b.block());
    probe.target.require(b, Some(running), not_from);
    b.jump(asked);
    b.switch_to(not_from);
    b.assign(from, 0);
    b.jump(asked);
    b.switch_to(asked);
    next.require(b, probe.target, &probe.places, not_to)?;
    b.jump(wanted);
    b.switch_to(not_to);
    b.assign(to, 0);
    b.branch(Test::Eq, from, 0, rejected, wanted);
    b.switch_to(wanted);
    Ok(Sides { from, to, is_told: true })
}

/// Goes on where a thread of the target goes to sleep, else to `plain`.
fn require_sleep(b: &mut Builder, [is_own, preempted, told]: [Reg; 3], plain: BlockId) {
    let [own, waits, sleeps, comes_back] = std::array::from_fn(|_| b.block());
    b.branch(Test::Eq, is_own, 0, plain, own);
    b.switch_to(own);
    b.branch(Test::Ne, preempted, 0, plain, waits);
    b.switch_to(waits);
    b.branch(Test::Bits, told, i64::from(TaskBits::REPORTED), sleeps, plain);
    b.switch_to(sleeps);
    // Nothing comes after the last switch of a thread, so its stack is of no use.
    b.branch(Test::Bits, told, i64::from(TaskBits::DEAD), plain, comes_back);
    b.switch_to(comes_back);
}

/// Goes on where a thread of the target is left uninterruptible, else to `plain`: few are, and of these it is of interest where.
/// Threads of the kernel that wait for work are so too, in a state of their own.
fn require_blocked(b: &mut Builder, [is_own, preempted, told]: [Reg; 3], plain: BlockId) {
    let [own, waits, blocked, counted] = std::array::from_fn(|_| b.block());
    b.branch(Test::Eq, is_own, 0, plain, own);
    b.switch_to(own);
    b.branch(Test::Ne, preempted, 0, plain, waits);
    b.switch_to(waits);
    b.branch(Test::Bits, told, i64::from(TaskBits::UNINTERRUPTIBLE), blocked, plain);
    b.switch_to(blocked);
    b.branch(Test::Bits, told, i64::from(TaskBits::NO_LOAD), plain, counted);
    b.switch_to(counted);
}

/// The state of the thread that leaves the CPU, with that of its end where it has ended: only then this is read.
fn state_left(b: &mut Builder, told: Reg, probe: &StateProbe) -> Reg {
    let value = b.set(told);
    let (dead, known) = (b.block(), b.block());
    b.branch(Test::Bits, told, i64::from(TaskBits::DEAD), dead, known);
    b.switch_to(dead);
    let previous = b.load_context(PREVIOUS_AT, Size::B8, false);
    let slot = b.slot(8);
    let end = crate::syscalls::kernel_number_by(b, slot, previous, probe.places.exit_state, Size::B4);
    let both = b.binary(IrBinaryOp::Or, told, end);
    b.assign(value, both);
    b.jump(known);
    b.switch_to(known);
    value
}

fn wakeup(probe: &StateProbe, name: &str, kind: StateKind) -> Result<Program, StateError> {
    let mut frame = Frame::counting(name, WAKE_COUNTERS.to_owned(), ProgramKind::RawTracepoint);
    let (running, rejected) = (frame.pid_tgid, frame.filtered);
    let b = &mut frame.builder;
    let address = b.load_context(WAKEE_AT, Size::B8, false);
    let wakee = Task::read(b, address, &probe.places);
    wakee.require(b, probe.target, &probe.places, rejected)?;
    let now = frame.builder.call(Helper::KtimeGetNs, &[]);
    frame.require_allowance(STATE_RECORD_BYTES, Some(now));
    let b = &mut frame.builder;
    let value = match probe.places.cpu {
        Some(at) => wakee.number(b, at, Size::B4),
        None => b.set(0),
    };
    let words = Words { now, head: head(b, kind), value, running, other: wakee.pid_tgid };
    if probe.wake_stacks {
        record_with_stacks(&mut frame, probe, &words, Frames::All);
    } else {
        record(&mut frame, probe, &words);
    }
    Ok(frame.finish())
}

/// Writes a record of constant size; ends the program.
fn record(frame: &mut Frame, probe: &StateProbe, words: &Words) {
    let b = &mut frame.builder;
    let ring = b.map(MapDefinition::ring(RING, probe.ring_bytes));
    let ring = b.map_address(ring);
    let bytes = i64::from(STATE_RECORD_BYTES);
    let record = b.call(Helper::RingbufReserve, &[ring.into(), bytes.into(), 0.into()]);
    let (there, full) = (b.block(), b.block());
    b.branch(Test::Eq, record, 0, full, there);
    b.switch_to(there);
    words.store(b, record, words.head);
    b.call_only(Helper::RingbufSubmit, &[record.into(), NO_WAKEUP.into()]);
    b.ret(0);
    count_full(frame, full);
}

fn count_full(frame: &mut Frame, full: BlockId) {
    frame.builder.switch_to(full);
    frame.count(ProbeCounter::RingFull);
    frame.builder.ret(0);
}

/// What is recorded of a stack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frames {
    /// All in the kernel and in user space.
    All,
    /// What tells where in the kernel the thread blocks.
    Innermost,
}

/// Writes a record with the stacks of the current thread, as long as it is with them; ends the program.
fn record_with_stacks(frame: &mut Frame, probe: &StateProbe, words: &Words, what: Frames) {
    let b = &mut frame.builder;
    let frames_bytes = if probe.sleep_stacks || probe.wake_stacks { 2 * SIDE_BYTES } else { BLOCKED_BYTES };
    let map = b.map(MapDefinition::scratch(ROOM, StatePlace::FRAMES + frames_bytes));
    let room = b.array_value(map, 0);
    let head = b.binary(IrBinaryOp::Or, words.head, in_head(StateFlags::STACKS));
    words.store(b, room, head);
    let frames = b.address_of(Memory::Pointer(room, offset(StatePlace::FRAMES)));
    let kernel = stack(b, frames, if what == Frames::All { SIDE_BYTES } else { BLOCKED_BYTES }, 0);
    b.store(room, offset(StatePlace::KERNEL_BYTES), Size::B4, kernel);
    let user = if what == Frames::All {
        let behind = b.binary(IrBinaryOp::Add, frames, kernel);
        stack(b, behind, SIDE_BYTES, USER_STACK)
    } else {
        b.set(0)
    };
    b.store(room, offset(StatePlace::USER_BYTES), Size::B4, user);
    let more = b.binary(IrBinaryOp::Add, kernel, user);
    let bytes = b.binary(IrBinaryOp::Add, more, i64::from(StatePlace::FRAMES));
    let ring = b.map(MapDefinition::ring(RING, probe.ring_bytes));
    let ring = b.map_address(ring);
    let put = b.call(Helper::RingbufOutput, &[ring.into(), room.into(), bytes.into(), NO_WAKEUP.into()]);
    let (there, full) = (b.block(), b.block());
    b.branch(Test::Eq, put, 0, there, full);
    b.switch_to(there);
    let extra = frame.builder.binary(IrBinaryOp::Sub, bytes, i64::from(STATE_RECORD_BYTES));
    frame.charge(extra);
    frame.builder.ret(0);
    count_full(frame, full);
}

/// Copies the current thread's stack of one side, at most so many bytes; gives its bytes, 0 where there is none.
fn stack(b: &mut Builder, to: Reg, most: u32, flags: i64) -> Reg {
    let context = b.reg();
    b.push(Op::ContextAddress { to: context, offset: 0 });
    let got = b.call(Helper::GetStack, &[context.into(), to.into(), i64::from(most).into(), flags.into()]);
    // A negative error is a large number here.
    b.select(Test::Gt, Width::W64, got, i64::from(most), 0, got)
}
