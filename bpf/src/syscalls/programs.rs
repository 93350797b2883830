//! The programs at the entries and exits of calls.

use bathyscope_capture::{CALL_HEADER_BYTES, CallFlags, CallPlace};

use super::{
    COUNTERS, COUNTERS_BYTES, MAX_THREADS, RING, SAMPLED, SAMPLED_SHIFT, SyscallError, SyscallProbe, SyscallPrograms,
    TARGET_WILL_EXECUTE,
    copy::{Copier, Sizes},
    plan,
};
use crate::{
    ir::{
        BlockId, Builder, Helper, IrBinaryOp, MapDefinition, MapId, MapKind, Operand, Program, ProgramKind, Reg, Size,
        Test,
    },
    probe::{COMM_BYTES, TargetFilter, targets_map},
};
use bathyscope_capture::SyscallOutcome;
use bathyscope_catalog::constants::{Arch, syscall_number};

/// Where the records of `raw_syscalls` have their fields; the tracepoints' formats are part of the kernel's interface. A raw
/// tracepoint has the number as its second argument, at the same place.
const ID_AT: u32 = 8;
pub(super) const ARGUMENTS_AT: u32 = 16;
/// Nobody is woken: readers poll.
const NO_WAKEUP: i64 = 1;

#[derive(Clone, Copy)]
pub(super) enum SyscallCounter {
    Hits = 0,
    Filtered = 8,
    RingFull = 16,
    NoRoom = 24,
    Others = 32,
}

/// Where the counters have the nanoseconds that were spent on recorded calls.
const SPENT_AT: i16 = 40;

/// Makes the programs.
///
/// # Errors
/// If a size is outside its limits.
pub fn programs(probe: &SyscallProbe) -> Result<SyscallPrograms, SyscallError> {
    probe.check()?;
    let content = plan::content(probe);
    let kind = if probe.raw { ProgramKind::RawTracepoint } else { ProgramKind::Tracepoint };
    Ok(SyscallPrograms {
        enter: ProgramWriter::new(probe, "sys_enter", &content, kind).enter(),
        exit: ProgramWriter::new(probe, "sys_exit", &content, kind).exit(),
        forget: ProgramWriter::new(probe, "sys_forget", &content, ProgramKind::Tracepoint).forget(),
        signal: probe
            .signals
            .then(|| ProgramWriter::new(probe, "sys_signal", &content, ProgramKind::RawTracepoint).signal()),
        inside: ProgramWriter::new(probe, "sys_inside", &content, ProgramKind::RawTracepoint).inside(),
    })
}

/// The most bytes of the kernel's memory that threads' values may take; there are always as many as [`LEAST_THREADS`].
const MAX_THREADS_BYTES: u32 = 256 << 20;
const LEAST_THREADS: u32 = 1 << 10;

/// Values are made when a thread calls first. Where texts are long there is room for fewer: what has none is counted.
fn threads_map(probe: &SyscallProbe) -> MapDefinition {
    let bytes = Sizes::of(probe.string_bytes).value_bytes();
    let threads = (MAX_THREADS_BYTES / bytes).clamp(LEAST_THREADS, MAX_THREADS);
    MapDefinition::new("sys_threads", MapKind::Hash, 4, bytes, threads).with_flags(MapDefinition::NO_PREALLOC)
}

pub(super) struct ProgramWriter<'a> {
    pub(super) b: Builder,
    pub(super) probe: &'a SyscallProbe,
    pub(super) sizes: Sizes,
    pub(super) threads: MapId,
    table: MapId,
    zeros: MapId,
    ring: MapId,
    pub(super) counters_map: MapId,
    pub(super) counters: Reg,
    /// The call's number, once it is identified with the bits of [`Abi`](bathyscope_catalog::syscalls::Abi); in the
    /// programs that see no call anything.
    pub(super) number: Reg,
    /// The call's place in the table, once it is identified.
    pub(super) place: Reg,
    pub(super) pid_tgid: Reg,
    /// Ends the program and counts nothing.
    pub(super) nothing: BlockId,
    /// Counts a hit that is not wanted.
    pub(super) filtered: BlockId,
}

impl<'a> ProgramWriter<'a> {
    fn new(probe: &'a SyscallProbe, name: &str, content: &[u8], kind: ProgramKind) -> Self {
        let mut b = Builder::new(name, kind);
        let sizes = Sizes::of(probe.string_bytes);
        let threads = b.map(threads_map(probe));
        let table = b.map(MapDefinition::constant("sys_table", content.to_vec()));
        let zeros = b.map(MapDefinition::constant("sys_zeros", vec![0; sizes.value_bytes() as usize]));
        let ring = b.map(MapDefinition::ring(RING, probe.ring_bytes));
        let counters_map = b.map(MapDefinition::scratch(COUNTERS, COUNTERS_BYTES));
        let (nothing, filtered) = (b.block(), b.block());
        let pid_tgid = b.call(Helper::GetCurrentPidTgid, &[]);
        let number = b.load_context(ID_AT, Size::B8, false);
        Self {
            b,
            probe,
            sizes,
            threads,
            table,
            zeros,
            ring,
            counters_map,
            // None until it is known that the call is a target's: most are not, and do without.
            counters: pid_tgid,
            number,
            place: number,
            pid_tgid,
            nothing,
            filtered,
        }
    }

    pub(super) fn copier(&self, exit: bool) -> Copier<'a> {
        let path = self.probe.path.as_deref();
        let places = plan::places(self.probe.arch);
        let program = self.probe.places.program;
        Copier { threads: self.threads, table: self.table, sizes: self.sizes, places, exit, path, program }
    }

    pub(super) fn count(&mut self, counter: SyscallCounter) {
        let at = counter as i16;
        let before = self.b.load(self.counters, at, Size::B8, false);
        let after = self.b.binary(IrBinaryOp::Add, before, 1);
        self.b.store(self.counters, at, Size::B8, after);
    }

    pub(super) fn load(&mut self, state: Reg, place: u32, size: Size) -> Reg {
        self.b.load(state, i16::try_from(place).unwrap_or(i16::MAX), size, false)
    }

    pub(super) fn store(&mut self, state: Reg, place: u32, size: Size, value: impl Into<Operand>) {
        self.b.store(state, i16::try_from(place).unwrap_or(i16::MAX), size, value);
    }

    pub(super) fn key_of(&mut self, value: Reg) -> Reg {
        let slot = self.b.slot(8);
        self.b.store_slot(slot, 0, Size::B4, value);
        self.b.slot_address(slot)
    }

    /// Where the counters are, from here on.
    pub(super) fn find_counters(&mut self) {
        self.counters = self.b.array_value(self.counters_map, 0);
    }

    /// A block that counts the call of a process that is no target, and ends the program.
    fn count_other(&mut self) -> BlockId {
        let (here, other) = (self.b.here(), self.b.block());
        self.b.switch_to(other);
        self.find_counters();
        self.count(SyscallCounter::Others);
        self.b.ret(0);
        self.b.switch_to(here);
        other
    }

    /// Adds the time since a moment to what was spent on recorded calls, if this call is one that is measured.
    pub(super) fn note_spent(&mut self, since: Reg) {
        let (measured, done) = (self.b.block(), self.b.block());
        let hits = self.b.load(self.counters, SyscallCounter::Hits as i16, Size::B8, false);
        self.b.branch(Test::Bits, hits, SAMPLED - 1, done, measured);
        self.b.switch_to(measured);
        let now = self.b.call(Helper::KtimeGetNs, &[]);
        let spent = self.b.binary(IrBinaryOp::Sub, now, since);
        let spent = self.b.binary(IrBinaryOp::Shl, spent, SAMPLED_SHIFT);
        let before = self.b.load(self.counters, SPENT_AT, Size::B8, false);
        let after = self.b.binary(IrBinaryOp::Add, before, spent);
        self.b.store(self.counters, SPENT_AT, Size::B8, after);
        self.b.jump(done);
        self.b.switch_to(done);
    }

    /// Goes on where the process is a target, else to `no`. Where targets are in a map and one has not executed its
    /// command yet, gives the address of what says so.
    pub(super) fn require_target(&mut self, no: BlockId) -> Option<Reg> {
        let tgid = self.b.binary(IrBinaryOp::Shr, self.pid_tgid, 32);
        let go_on = self.b.block();
        let mut found = None;
        match self.probe.target {
            TargetFilter::System => {
                for pid in &self.probe.excluded {
                    let next = self.b.block();
                    self.b.branch(Test::Eq, tgid, i64::from(*pid), no, next);
                    self.b.switch_to(next);
                }
                self.b.jump(go_on);
            }
            TargetFilter::Process(pid) => self.b.branch(Test::Ne, tgid, i64::from(pid), no, go_on),
            TargetFilter::Targets => {
                let map = self.b.map(targets_map());
                let key = self.key_of(tgid);
                let map = self.b.map_address(map);
                let target = self.b.call(Helper::MapLookup, &[map.into(), key.into()]);
                self.b.branch(Test::Eq, target, 0, no, go_on);
                found = Some(target);
            }
            other @ (TargetFilter::Threads
            | TargetFilter::Cgroup { .. }
            | TargetFilter::User(_)
            | TargetFilter::Comm(_)) => {
                other.require(&mut self.b, None, no);
                self.b.jump(go_on);
            }
        }
        self.b.switch_to(go_on);
        found
    }

    pub(super) fn number_of(&self, name: &str) -> i64 {
        syscall_number(self.probe.arch, name).unwrap_or(-1)
    }

    /// The flags of the table's entry at a place.
    pub(super) fn flags_at(&mut self, place: Reg) -> Reg {
        let entry = self.copier(false).entry(&mut self.b, place);
        self.load(entry, 0, Size::B4)
    }

    /// Goes on where the call is wanted, else to `no`; gives its flags.
    pub(super) fn require_wanted(&mut self, no: BlockId) -> Reg {
        let flags = self.flags_at(self.place);
        let wanted = self.b.block();
        self.b.branch(Test::Bits, flags, plan::WANTED, wanted, no);
        self.b.switch_to(wanted);
        flags
    }

    /// The thread's value, made if there is none; goes to `no_room` if that cannot be.
    pub(super) fn state(&mut self, no_room: BlockId) -> Reg {
        let key = self.key_of(self.pid_tgid);
        let state = self.b.reg();
        let (there, absent, done) = (self.b.block(), self.b.block(), self.b.block());
        let map = self.b.map_address(self.threads);
        let first = self.b.call(Helper::MapLookup, &[map.into(), key.into()]);
        self.b.branch(Test::Ne, first, 0, there, absent);
        self.b.switch_to(there);
        self.b.assign(state, first);
        self.b.jump(done);
        self.b.switch_to(absent);
        let map = self.b.map_address(self.threads);
        let zeros = self.b.global_address(self.zeros, 0);
        self.b.call_only(Helper::MapUpdate, &[map.into(), key.into(), zeros.into(), 0.into()]);
        let map = self.b.map_address(self.threads);
        let second = self.b.call(Helper::MapLookup, &[map.into(), key.into()]);
        let made = self.b.block();
        self.b.branch(Test::Ne, second, 0, made, no_room);
        self.b.switch_to(made);
        self.b.assign(state, second);
        // Every record renews it; this one is for a first call that does not return.
        self.name(state);
        self.b.jump(done);
        self.b.switch_to(done);
        state
    }

    /// Puts the thread's name into its value.
    fn name(&mut self, state: Reg) {
        let comm = self.b.binary(IrBinaryOp::Add, state, i64::from(CallPlace::COMM));
        self.b.call_only(Helper::GetCurrentComm, &[comm.into(), i64::from(COMM_BYTES).into()]);
    }

    pub(super) fn begin(&mut self, state: Reg, flags: i64) {
        let tgid = self.b.binary(IrBinaryOp::Shr, self.pid_tgid, 32);
        self.store(state, CallPlace::PID, Size::B4, tgid);
        self.store(state, CallPlace::TID, Size::B4, self.pid_tgid);
        let now = self.b.call(Helper::KtimeGetNs, &[]);
        self.store(state, CallPlace::START_NS, Size::B8, now);
        self.store(state, CallPlace::DURATION_NS, Size::B8, 0);
        self.store(state, CallPlace::RESULT, Size::B8, 0);
        self.store(state, CallPlace::NUMBER, Size::B4, self.number);
        self.store(state, CallPlace::USED, Size::B4, 0);
        self.store(state, CallPlace::FLAGS, Size::B4, flags);
        self.store(state, CallPlace::FAILED, Size::B4, 0);
        self.store(state, CallPlace::MATCHED, Size::B2, 0);
        self.store(state, CallPlace::PLACE, Size::B2, self.place);
    }

    /// Completes the record and gives it to the ring; ends the program. The time since a moment counts as spent on it.
    pub(super) fn submit(&mut self, state: Reg, since: Reg) {
        self.identify(state);
        let told = self.b.block();
        if self.probe.stacks {
            let (full, fits) = (self.b.block(), self.b.block());
            self.tell_stack(full);
            self.b.jump(fits);
            // A call without the stack that was asked for is lost.
            self.b.switch_to(full);
            self.count(SyscallCounter::RingFull);
            self.b.jump(told);
            self.b.switch_to(fits);
        }
        self.output(state, told);
        self.b.switch_to(told);
        self.note_spent(since);
        self.b.ret(0);
    }

    /// Says on which CPU the call ended, and what its thread is called now.
    pub(super) fn identify(&mut self, state: Reg) {
        let cpu = self.b.call(Helper::GetSmpProcessorId, &[]);
        self.store(state, CallPlace::CPU, Size::B4, cpu);
        self.name(state);
    }

    /// Gives the record to the ring, and goes to `done`.
    pub(super) fn output(&mut self, state: Reg, done: BlockId) {
        let used = self.load(state, CallPlace::USED, Size::B4);
        let (fits, full) = (self.b.block(), self.b.block());
        self.b.branch(Test::Gt, used, i64::from(self.sizes.pieces_bytes()), full, fits);
        self.b.switch_to(fits);
        let bytes = self.b.binary(IrBinaryOp::Add, used, i64::from(CALL_HEADER_BYTES));
        self.put(state, bytes.into(), done, full);
        self.b.switch_to(full);
        self.count(SyscallCounter::RingFull);
        self.b.jump(done);
    }

    /// Gives so many bytes to the ring; goes to `full` where there is no room.
    pub(super) fn put(&mut self, from: Reg, bytes: Operand, done: BlockId, full: BlockId) {
        let ring = self.b.map_address(self.ring);
        let put = self.b.call(Helper::RingbufOutput, &[ring.into(), from.into(), bytes, NO_WAKEUP.into()]);
        self.b.branch(Test::Eq, put, 0, done, full);
    }

    /// Goes on where a path was the one asked for.
    pub(super) fn require_path(&mut self, state: Reg, no: BlockId) {
        if self.probe.path.is_some() {
            let matched = self.load(state, CallPlace::MATCHED, Size::B2);
            let go_on = self.b.block();
            self.b.branch(Test::Ne, matched, 0, go_on, no);
            self.b.switch_to(go_on);
        }
    }

    pub(super) fn finish(mut self) -> Program {
        self.b.switch_to(self.nothing);
        self.b.ret(0);
        self.b.switch_to(self.filtered);
        self.count(SyscallCounter::Hits);
        self.count(SyscallCounter::Filtered);
        self.b.ret(0);
        self.b.finish()
    }

    /// The return from a signal's handler has no arguments; the signals that it blocks again stand for its first one. What
    /// 32-bit programs and x32 return from has them elsewhere, and is not looked at.
    fn note_frame(&mut self, state: Reg, flags: Reg) {
        if !plan::restoring(self.probe) {
            return;
        }
        let (returns, own, known, go_on) = (self.b.block(), self.b.block(), self.b.block(), self.b.block());
        self.b.branch(Test::Bits, flags, plan::RESTORES, returns, go_on);
        self.b.switch_to(returns);
        let mask = self.b.reg();
        self.b.assign(mask, 0);
        self.b.branch(Test::Eq, self.number, self.number_of("rt_sigreturn"), own, known);
        self.b.switch_to(own);
        // Without the kernel's types it does not give its registers either.
        if self.probe.ends.is_some() {
            let (stack_pointer, place) = if self.probe.arch == Arch::Aarch64 { (248, 168) } else { (152, 296) };
            let task = self.b.call(Helper::GetCurrentTaskBtf, &[]);
            let registers = self.b.call(Helper::TaskPtRegs, &[task.into()]);
            let stack = self.b.load(registers, stack_pointer, Size::B8, false);
            let address = self.b.binary(IrBinaryOp::Add, stack, place);
            self.b.assign(mask, address);
        }
        self.b.jump(known);
        self.b.switch_to(known);
        self.store(state, CallPlace::ARGUMENTS, Size::B8, mask);
        self.b.jump(go_on);
        self.b.switch_to(go_on);
    }

    fn enter(mut self) -> Program {
        let copier = self.copier(false);
        let copy = copier.write(&mut self.b);
        let (filtered, other) = (self.filtered, self.count_other());
        let target = self.require_target(other);
        self.require_below(other);
        self.find_counters();
        if let Some(target) = target {
            let (ours, theirs) = (self.b.block(), self.b.block());
            let what = self.b.load(target, 0, Size::B4, false);
            self.b.branch(Test::Eq, what, i64::from(TARGET_WILL_EXECUTE), ours, theirs);
            self.b.switch_to(ours);
            let execute = self.number_of("execve");
            self.b.branch(Test::Eq, self.number, execute, theirs, filtered);
            self.b.switch_to(theirs);
        }
        let arguments = self.identify_entry(filtered);
        let flags = self.require_wanted(filtered);
        // Without room the exit is recorded alone, and counts then.
        let nothing = self.nothing;
        let state = self.state(nothing);
        self.begin(state, CallFlags::ACTIVE);
        self.keep_arguments(state, arguments);
        self.note_frame(state, flags);
        self.b.call_function(copy, &[state.into(), self.place.into()]);
        self.note_address(state);
        self.note_family(state);
        self.keep_time(state);
        let (last, returns) = (self.b.block(), self.b.block());
        let start = self.load(state, CallPlace::START_NS, Size::B8);
        self.b.branch(Test::Bits, flags, plan::NEVER_RETURNS, last, returns);
        self.b.switch_to(returns);
        self.note_spent(start);
        self.b.ret(0);
        self.b.switch_to(last);
        self.store(state, CallPlace::FLAGS, Size::B4, CallFlags::NO_RETURN);
        if self.probe.outcome == SyscallOutcome::Any && self.probe.min_duration_ns == 0 {
            self.require_path(state, filtered);
            self.count(SyscallCounter::Hits);
            self.submit(state, start);
        } else {
            self.b.jump(filtered);
        }
        self.finish()
    }
}
