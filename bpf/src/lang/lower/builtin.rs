//! The parameterless values.

use bathyscope_plan::{Architecture, Clock, Space, Type};

use super::{Result, TaskOffsets, program::Lower};
use crate::{
    ir::{Helper, IrBinaryOp, Operand, ProgramKind, Reg, Size, Test, Width},
    lang::hir::{Builtin, Context},
};

impl Lower<'_> {
    pub(super) fn builtin(&mut self, builtin: Builtin, ty: &Type) -> Result<Operand> {
        use Builtin as B;
        let call = |it: &mut Self, helper| it.b.call(helper, &[]);
        Ok(match builtin {
            B::Pid => self.process(true)?.into(),
            B::Tid => self.process(false)?.into(),
            B::HostPid => self.high_half(Helper::GetCurrentPidTgid).into(),
            B::HostTid => self.low_half(Helper::GetCurrentPidTgid).into(),
            B::Uid => self.low_half(Helper::GetCurrentUidGid).into(),
            B::Gid => self.high_half(Helper::GetCurrentUidGid).into(),
            B::ParentPid => self.parent_pid()?,
            B::Cpu => call(self, Helper::GetSmpProcessorId).into(),
            B::NumaNode => {
                let node = call(self, Helper::GetNumaNodeId);
                self.narrowed(node.into(), ty)
            }
            B::CpuCount => Operand::Constant(self.shared.options.possible_cpus.into()),
            B::Cgroup => call(self, Helper::GetCurrentCgroupId).into(),
            // The kernel does not give tracing programs its coarse clock; this is the same clock, read exactly.
            B::Nanoseconds(Clock::Monotonic) | B::CoarseNanoseconds => call(self, Helper::KtimeGetNs).into(),
            B::Nanoseconds(Clock::Boot) => call(self, Helper::KtimeGetBootNs).into(),
            B::Nanoseconds(Clock::Tai) => call(self, Helper::KtimeGetTaiNs).into(),
            B::Elapsed => {
                let now = call(self, Helper::KtimeGetNs);
                self.b.binary(IrBinaryOp::Sub, now, self.shared.options.begin_ns.cast_signed()).into()
            }
            B::Jiffies => call(self, Helper::Jiffies64).into(),
            B::Random => call(self, Helper::GetPrandomU32).into(),
            B::CurrentTask => call(self, Helper::GetCurrentTask).into(),
            B::Probe => self.attach_point(),
            B::FunctionAddress => self.function_address()?,
            B::EntryAddress => {
                let context = self.context();
                self.b.call(Helper::GetFuncIp, &[context.into()]).into()
            }
            B::UserMode => self.user_mode()?,
            B::TargetPid => Operand::Constant(self.shared.options.target_pid.into()),
            B::Comm | B::LeaderComm | B::ParentComm => {
                return self.error("the checked script uses a name as a number");
            }
        })
    }

    fn high_half(&mut self, helper: Helper) -> Reg {
        let both = self.b.call(helper, &[]);
        self.b.binary(IrBinaryOp::Shr, both, 32)
    }

    fn low_half(&mut self, helper: Helper) -> Reg {
        let both = self.b.call(helper, &[]);
        self.b.extend(both, Size::B4, false)
    }

    /// The process's or thread's id where the script means ids: in its own pid namespace, if it has one.
    fn process(&mut self, process: bool) -> Result<Reg> {
        let Some((device, inode)) = self.shared.options.pid_namespace else {
            // Where the task is asked for its name anyway, this costs nothing more.
            if let Some(task) = self.typed_task().filter(|_| self.id.shows_comm) {
                let current = self.b.call(Helper::GetCurrentTaskBtf, &[]);
                let at = if process { task.tgid } else { task.pid };
                return Ok(self.b.load(current, i16::try_from(at).unwrap_or(i16::MAX), Size::B4, false));
            }
            return Ok(if process {
                self.high_half(Helper::GetCurrentPidTgid)
            } else {
                self.low_half(Helper::GetCurrentPidTgid)
            });
        };
        // The kernel writes the thread's id and then the process's; zeros for tasks of other namespaces.
        let slot = self.b.slot(8);
        let room = self.b.slot_address(slot);
        let arguments = [device.cast_signed().into(), inode.cast_signed().into(), room.into(), 8.into()];
        self.b.call_only(Helper::GetNsCurrentPidTgid, &arguments);
        Ok(self.b.load_slot(slot, if process { 4 } else { 0 }, Size::B4, false))
    }

    /// Where things are in the current task, if programs may look there by its type and it is worth it: a helper that asks
    /// the kernel for its name costs as much as all else of a small body.
    pub(super) fn typed_task(&self) -> Option<TaskOffsets> {
        let options = self.shared.options;
        let task =
            options.task.filter(|_| options.typed_task && self.shared.script.config.license.starts_with("GPL"))?;
        let in_reach = |offset: u32| offset <= i16::MAX as u32 - 16;
        let words = task.comm.is_multiple_of(8);
        (words && [task.comm, task.tgid, task.pid].into_iter().all(in_reach)).then_some(task)
    }

    fn parent_pid(&mut self) -> Result<Operand> {
        let Some(task) = self.shared.options.task else {
            return self.error("this kernel does not tell where a task keeps its parent");
        };
        let current = self.b.call(Helper::GetCurrentTask, &[]);
        let parent = self.read_at(current.into(), task.real_parent.into(), Space::Kernel, None, &Type::U64)?;
        let id = Type::Integer { bytes: 4, signed: false };
        self.read_at(parent, task.tgid.into(), Space::Kernel, None, &id)
    }

    /// Which attach point it is, as an index in the plan.
    pub(super) fn attach_point(&mut self) -> Operand {
        if self.id.calls.is_some() {
            return self.attach_point_of_call();
        }
        if !self.id.cookie {
            return Operand::Constant(self.id.point.into());
        }
        let context = self.context();
        self.b.call(Helper::GetAttachCookie, &[context.into()]).into()
    }

    pub(super) fn function_address(&mut self) -> Result<Operand> {
        use ProgramKind as K;
        Ok(match self.id.kind {
            K::Kprobe | K::Kretprobe | K::KprobeMulti | K::KprobeSession | K::Fentry | K::Fexit => {
                let context = self.context();
                self.b.call(Helper::GetFuncIp, &[context.into()]).into()
            }
            K::Uprobe | K::Uretprobe | K::UprobeMulti | K::PerfEvent => {
                let pointer = match self.shared.options.architecture {
                    Architecture::X86_64 => 128,
                    Architecture::Aarch64 => 256,
                };
                self.b.load_context(pointer, Size::B8, false).into()
            }
            K::Tracepoint | K::RawTracepoint | K::BtfTracepoint | K::Iterator => {
                return self.error("there is no function at this probe");
            }
        })
    }

    fn user_mode(&mut self) -> Result<Operand> {
        if !matches!(self.probe.context, Context::Registers | Context::PerfEvent) {
            return self.error("`usermode` is only known where there are registers");
        }
        let (offset, mask, user) = match self.shared.options.architecture {
            // The privilege level in `cs`.
            Architecture::X86_64 => (136, 3, 3),
            // The exception level in `pstate`.
            Architecture::Aarch64 => (264, 0xf, 0),
        };
        let state = self.b.load_context(offset, Size::B8, false);
        let level = self.b.binary(IrBinaryOp::And, state, mask);
        Ok(self.b.boolean(Test::Eq, Width::W64, level, user).into())
    }
}
