//! The programs that tell what is no end of a call: the ends of threads, calls that have not returned, and signals.

use bathyscope_capture::{CALL_HEADER_BYTES, CallFlags, CallPlace};

use super::{
    TARGET_RUNS,
    programs::{ProgramWriter, SyscallCounter},
};
use crate::{
    ir::{BlockId, Builder, Helper, IrBinaryOp, Memory, Parameter, Program, Reg, Size, SlotId, Test},
    probe::COMM_BYTES,
};
use bathyscope_capture::SyscallOutcome;

/// The signal that strace tells of only as an end. The kernel may deliver it without saying who sent it.
const SIGKILL: i64 = 9;
/// Bytes of a `siginfo_t` that are kept: number, error, code, and the members of whatever kind it is.
const SIGNAL_BYTES: u32 = 48;

/// A number in the kernel's memory; 0 if it cannot be read.
pub(super) fn kernel_number(b: &mut Builder, base: Reg, offset: u32, size: Size) -> Reg {
    let slot = b.slot(8);
    kernel_number_by(b, slot, base, offset, size)
}

/// The same by way of a slot of 8 bytes, which several may share.
pub(crate) fn kernel_number_by(b: &mut Builder, slot: SlotId, base: Reg, offset: u32, size: Size) -> Reg {
    b.store_slot(slot, 0, Size::B8, 0);
    let from = b.binary(IrBinaryOp::Add, base, i64::from(offset));
    let room = b.slot_address(slot);
    b.call_only(Helper::ProbeReadKernel, &[room.into(), i64::from(size.bytes()).into(), from.into()]);
    b.load_slot(slot, 0, size, false)
}

impl ProgramWriter<'_> {
    /// Records the call that a thread ends in, forgets the thread, and records its end.
    pub(super) fn forget(mut self) -> Program {
        self.find_counters();
        let key = self.key_of(self.pid_tgid);
        let map = self.b.map_address(self.threads);
        let state = self.b.call(Helper::MapLookup, &[map.into(), key.into()]);
        let (there, gone) = (self.b.block(), self.b.block());
        self.b.branch(Test::Ne, state, 0, there, gone);
        self.b.switch_to(there);
        let open = self.require_inside(state, gone);
        if open {
            self.store(state, CallPlace::FLAGS, Size::B4, CallFlags::UNFINISHED);
            self.identify(state);
            self.output(state, gone);
        }
        self.b.switch_to(gone);
        let key = self.key_of(self.pid_tgid);
        let map = self.b.map_address(self.threads);
        self.b.call_only(Helper::MapDelete, &[map.into(), key.into()]);
        self.end();
        self.finish()
    }

    /// Counts a call that has not returned, and goes on where it is to be recorded, else to `no`. `false` if none is:
    /// then the block has ended.
    fn require_inside(&mut self, state: Reg, no: BlockId) -> bool {
        let (active, rejected) = (self.b.block(), self.b.block());
        let flags = self.load(state, CallPlace::FLAGS, Size::B4);
        self.b.branch(Test::Bits, flags, CallFlags::ACTIVE, active, no);
        self.b.switch_to(rejected);
        self.count(SyscallCounter::Filtered);
        self.b.jump(no);
        self.b.switch_to(active);
        self.count(SyscallCounter::Hits);
        if self.probe.outcome != SyscallOutcome::Any {
            self.b.jump(rejected);
            return false;
        }
        let now = self.b.call(Helper::KtimeGetNs, &[]);
        let start = self.load(state, CallPlace::START_NS, Size::B8);
        let duration = self.b.binary(IrBinaryOp::Sub, now, start);
        self.store(state, CallPlace::DURATION_NS, Size::B8, duration);
        if self.probe.min_duration_ns > 0 {
            let long = self.b.block();
            self.b.branch(Test::Lt, duration, self.probe.min_duration_ns.cast_signed(), rejected, long);
            self.b.switch_to(long);
        }
        if self.probe.path.is_some() {
            let matched = self.load(state, CallPlace::MATCHED, Size::B2);
            let wanted = self.b.block();
            self.b.branch(Test::Ne, matched, 0, wanted, rejected);
            self.b.switch_to(wanted);
        }
        true
    }

    /// Walks all threads, and records the calls that they are in.
    pub(super) fn inside(mut self) -> Program {
        self.find_counters();
        let threads = self.threads;
        let parameters = [
            Parameter::Map(threads),
            Parameter::Key(threads),
            Parameter::Value(threads),
            Parameter::Frame { bytes: 8, context: None },
        ];
        let (function, registers) = self.b.begin_function("record_inside", &parameters);
        let next = self.b.block();
        let outside = self.counters;
        if let [_, _, state, _] = registers[..] {
            self.counters = self.b.array_value(self.counters_map, 0);
            if self.require_inside(state, next) {
                self.store(state, CallPlace::FLAGS, Size::B4, CallFlags::INSIDE);
                self.output(state, next);
            }
        }
        self.b.switch_to(next);
        self.b.ret(0);
        self.b.end_function();
        self.counters = outside;
        let frame = self.b.slot(8);
        self.b.store_slot(frame, 0, Size::B8, 0);
        let (map, function, frame) =
            (self.b.map_address(threads), self.b.function_address(function), self.b.slot_address(frame));
        self.b.call_only(Helper::ForEachMapElem, &[map.into(), function.into(), frame.into(), 0.into()]);
        self.b.jump(self.nothing);
        self.finish()
    }

    /// Records how the thread ended.
    fn end(&mut self) {
        let nothing = self.nothing;
        let Some(places) = self.probe.ends else { return self.b.jump(nothing) };
        self.require_running_target();
        let record = self.record(CallFlags::END);
        let task = self.b.call(Helper::GetCurrentTask, &[]);
        let code = kernel_number(&mut self.b, task, places.exit_code, Size::B4);
        let group = kernel_number(&mut self.b, task, places.signal, Size::B8);
        let live = kernel_number(&mut self.b, group, places.live, Size::B4);
        let flags = kernel_number(&mut self.b, group, places.flags, Size::B4);
        let group_code = kernel_number(&mut self.b, group, places.group_exit_code, Size::B4);
        for (at, number) in (0_u32..).zip([code, group_code, flags, live]) {
            self.b.store_slot(record, CallPlace::END + 4 * at, Size::B4, number);
        }
        self.tell(record);
    }

    /// Records a signal that is delivered to this thread.
    pub(super) fn signal(mut self) -> Program {
        let nothing = self.nothing;
        let (told, whole) = (self.b.block(), self.b.block());
        let number = self.b.load_context(0, Size::B8, false);
        let from = self.b.load_context(8, Size::B8, false);
        self.b.branch(Test::Eq, number, SIGKILL, nothing, told);
        self.b.switch_to(told);
        self.require_running_target();
        self.find_counters();
        let record = self.record(CallFlags::SIGNAL);
        self.b.store_slot(record, CallPlace::NUMBER, Size::B4, number);
        let room = self.b.address_of(Memory::Slot(record, CallPlace::ARGUMENTS));
        let bytes = i64::from(SIGNAL_BYTES);
        let read = self.b.call(Helper::ProbeReadKernel, &[room.into(), bytes.into(), from.into()]);
        self.b.branch(Test::Eq, read, 0, whole, nothing);
        self.b.switch_to(whole);
        if self.probe.stacks {
            let (full, fits) = (self.b.block(), self.b.block());
            self.tell_stack(full);
            self.b.jump(fits);
            self.b.switch_to(full);
            self.count(SyscallCounter::Hits);
            self.count(SyscallCounter::RingFull);
            self.b.jump(nothing);
            self.b.switch_to(fits);
        }
        self.tell(record);
        self.finish()
    }

    /// Goes on only where the process is a target; one that is not the command yet is none.
    fn require_running_target(&mut self) {
        let nothing = self.nothing;
        self.require_below(nothing);
        if let Some(target) = self.require_target(nothing) {
            let go_on = self.b.block();
            let what = self.b.load(target, 0, Size::B4, false);
            self.b.branch(Test::Eq, what, i64::from(TARGET_RUNS), go_on, nothing);
            self.b.switch_to(go_on);
        }
    }

    /// A record of this thread and moment, the rest zero.
    fn record(&mut self, flags: i64) -> SlotId {
        let record = self.b.slot(CALL_HEADER_BYTES);
        self.b.zero(Memory::Slot(record, 0), CALL_HEADER_BYTES);
        let now = self.b.call(Helper::KtimeGetNs, &[]);
        self.b.store_slot(record, CallPlace::START_NS, Size::B8, now);
        let tgid = self.b.binary(IrBinaryOp::Shr, self.pid_tgid, 32);
        self.b.store_slot(record, CallPlace::PID, Size::B4, tgid);
        self.b.store_slot(record, CallPlace::TID, Size::B4, self.pid_tgid);
        let cpu = self.b.call(Helper::GetSmpProcessorId, &[]);
        self.b.store_slot(record, CallPlace::CPU, Size::B4, cpu);
        self.b.store_slot(record, CallPlace::FLAGS, Size::B4, flags);
        // Without the kernel's types it does not give its registers.
        if self.probe.ends.is_some() {
            let number = self.number_in_registers();
            self.b.store_slot(record, CallPlace::INSIDE, Size::B8, number);
            if self.probe.addresses && flags == CallFlags::SIGNAL {
                let address = self.next_instruction();
                self.b.store_slot(record, CallPlace::ADDRESS, Size::B8, address);
            }
        } else {
            self.b.store_slot(record, CallPlace::INSIDE, Size::B8, -1);
        }
        let comm = self.b.address_of(Memory::Slot(record, CallPlace::COMM));
        self.b.call_only(Helper::GetCurrentComm, &[comm.into(), i64::from(COMM_BYTES).into()]);
        record
    }

    /// Counts a record without pieces and gives it to the ring; ends the block.
    fn tell(&mut self, record: SlotId) {
        self.count(SyscallCounter::Hits);
        let (nothing, full) = (self.nothing, self.b.block());
        let from = self.b.slot_address(record);
        self.put(from, i64::from(CALL_HEADER_BYTES).into(), nothing, full);
        self.b.switch_to(full);
        self.count(SyscallCounter::RingFull);
        self.b.jump(nothing);
    }
}
