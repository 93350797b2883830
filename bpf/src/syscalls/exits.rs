//! The program at the exits of calls.

use bathyscope_capture::{CallFlags, CallPlace};

use super::{
    TARGET_RUNS, TARGET_WILL_EXECUTE, plan,
    programs::{ProgramWriter, SyscallCounter},
};
use crate::ir::{BlockId, Helper, IrBinaryOp, Memory, Program, Reg, Size, Test};
use bathyscope_capture::SyscallOutcome;

/// Where the record of `raw_syscalls:sys_exit` has the result.
const RESULT_AT: u32 = 16;
/// The same of the raw tracepoint `sys_exit`: its second argument.
const RAW_RESULT_AT: u32 = 8;
/// Results from here to -1 are errors.
const LAST_ERROR: i64 = -4095;

impl ProgramWriter<'_> {
    pub(super) fn exit(mut self) -> Program {
        let copier = self.copier(true);
        let copy = copier.write(&mut self.b);
        let data = self.data_function();
        let nothing = self.nothing;
        let result_at = if self.probe.raw { RAW_RESULT_AT } else { RESULT_AT };
        let result = self.b.load_context(result_at, Size::B8, false);
        let target = self.require_target(nothing);
        self.require_below(nothing);
        self.number = self.number_at_exit();
        self.find_counters();
        if let Some(target) = target {
            self.note_execution(target, result);
        }
        self.identify_exit(nothing);
        let flags = self.require_wanted(nothing);
        let (no_room, known, unknown, ended) = (self.b.block(), self.b.block(), self.b.block(), self.b.block());
        let state = self.state(no_room);
        let state_flags = self.load(state, CallPlace::FLAGS, Size::B4);
        let active = self.b.block();
        self.b.branch(Test::Bits, state_flags, CallFlags::ACTIVE, active, unknown);
        self.b.switch_to(active);
        let number = self.load(state, CallPlace::NUMBER, Size::B4);
        self.b.branch(Test::Eq, number, self.number, known, unknown);

        self.b.switch_to(unknown);
        self.unseen(state, flags);
        let since = self.b.reg();
        let began = self.load(state, CallPlace::START_NS, Size::B8);
        self.b.assign(since, began);
        self.b.jump(ended);

        self.b.switch_to(known);
        let now = self.b.call(Helper::KtimeGetNs, &[]);
        self.b.assign(since, now);
        let start = self.load(state, CallPlace::START_NS, Size::B8);
        let duration = self.b.binary(IrBinaryOp::Sub, now, start);
        self.store(state, CallPlace::DURATION_NS, Size::B8, duration);
        self.store(state, CallPlace::FLAGS, Size::B4, 0);
        self.note_time(state);
        if self.probe.min_duration_ns > 0 {
            let long = self.b.block();
            let least = self.probe.min_duration_ns.cast_signed();
            let short = self.unless_besides(flags, long);
            self.b.branch(Test::Lt, duration, least, short, long);
            self.b.switch_to(long);
        }
        self.b.jump(ended);

        self.b.switch_to(ended);
        self.store(state, CallPlace::RESULT, Size::B8, result);
        self.require_outcome(flags, result);
        // What could not be read at the entry may be a path.
        self.b.call_function(copy, &[state.into(), self.place.into()]);
        if self.probe.path.is_some() {
            let go_on = self.b.block();
            let other = self.unless_besides(flags, go_on);
            self.require_path(state, other);
            self.b.jump(go_on);
            self.b.switch_to(go_on);
        }
        self.note_inodes(state, flags, result);
        self.note_socket(state, flags, result);
        if let Some(data) = data {
            self.tell_data(data, state, flags, result);
        }
        self.count(SyscallCounter::Hits);
        self.submit(state, since);

        self.b.switch_to(no_room);
        self.count(SyscallCounter::Hits);
        self.count(SyscallCounter::NoRoom);
        self.b.ret(0);
        self.finish()
    }

    /// From the end of the call that begins a command on its process is a target; before that it is ours.
    fn note_execution(&mut self, target: Reg, result: Reg) {
        let nothing = self.nothing;
        let (ours, begins, begun, go_on) = (self.b.block(), self.b.block(), self.b.block(), self.b.block());
        let what = self.b.load(target, 0, Size::B4, false);
        self.b.branch(Test::Eq, what, i64::from(TARGET_WILL_EXECUTE), ours, go_on);
        self.b.switch_to(ours);
        self.require_executed(begins, nothing);
        self.b.switch_to(begins);
        self.b.branch(Test::Eq, result, 0, begun, go_on);
        self.b.switch_to(begun);
        self.b.store(target, 0, Size::B4, i64::from(TARGET_RUNS));
        self.b.jump(go_on);
        self.b.switch_to(go_on);
    }

    /// A call whose entry was not seen. A new thread returns from the call that made it, and has not made it itself.
    fn unseen(&mut self, state: Reg, flags: Reg) {
        let (own, told) = (self.b.block(), self.b.block());
        let nothing = self.nothing;
        self.b.branch(Test::Bits, flags, plan::FORKS, nothing, own);
        self.b.switch_to(own);
        // By what it ends as it cannot be told then which call it is, nor whether it is wanted.
        let renamed = plan::RESTORES | plan::EXECUTES | plan::THROUGH;
        self.b.branch(Test::Bits, flags, renamed, nothing, told);
        self.b.switch_to(told);
        self.begin(state, CallFlags::NO_START);
        self.b.zero(Memory::Pointer(state, i16::try_from(CallPlace::ARGUMENTS).unwrap_or(i16::MAX)), 48);
        if self.probe.min_duration_ns > 0 {
            let filtered = self.filtered;
            self.b.jump(filtered);
        }
    }

    /// A block for what is not asked for: it goes to `go_on` all the same if the call is one of those besides, else it is where
    /// calls count as filtered.
    fn unless_besides(&mut self, flags: Reg, go_on: BlockId) -> BlockId {
        if self.probe.besides.is_empty() {
            return self.filtered;
        }
        let (here, other, filtered) = (self.b.here(), self.b.block(), self.filtered);
        self.b.switch_to(other);
        self.b.branch(Test::Bits, flags, plan::BESIDES, go_on, filtered);
        self.b.switch_to(here);
        other
    }

    fn require_outcome(&mut self, flags: Reg, result: Reg) {
        if self.probe.outcome == SyscallOutcome::Any {
            return;
        }
        let go_on = self.b.block();
        let other = self.unless_besides(flags, go_on);
        // As unsigned numbers the errors are the largest.
        match self.probe.outcome {
            SyscallOutcome::Any => self.b.jump(go_on),
            SyscallOutcome::Failed => self.b.branch(Test::Ge, result, LAST_ERROR, go_on, other),
            SyscallOutcome::Succeeded => self.b.branch(Test::Ge, result, LAST_ERROR, other, go_on),
        }
        self.b.switch_to(go_on);
    }
}
