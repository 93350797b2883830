//! The functions of the kernel that programs may call.

use ArgumentKind::{
    Any, Bytes, Constant, Context, EntryCallback, Frame, Key, Long, LoopCallback, Map, Memory, PerCpuMap, Record, Ring,
    Room, Stacks, Text, Typed, Value,
};

/// A function of the kernel that programs may call, with the kernel's number. (`ktime_get_coarse_ns` is not among them:
/// the kernel does not give it to tracing programs.) What helpers return is 64 bits wide and,
/// unless said otherwise, 0 or a negative error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Helper {
    /// `(map, key)` → address of the value, or 0.
    MapLookup = 1,
    /// `(map, key, value, flags)`; flags: 0 any, 1 only new, 2 only existing.
    MapUpdate = 2,
    /// `(map, key)`.
    MapDelete = 3,
    /// `()` → nanoseconds of the monotonic clock, which stands while the machine sleeps.
    KtimeGetNs = 5,
    /// `()` → a random number of 32 bits.
    GetPrandomU32 = 7,
    /// `()` → the CPU.
    GetSmpProcessorId = 8,
    /// `()` → tgid in the high half, thread in the low half.
    GetCurrentPidTgid = 14,
    /// `()` → gid in the high half, uid in the low half.
    GetCurrentUidGid = 15,
    /// `(room, bytes)`; the thread's name, filled up with NULs.
    GetCurrentComm = 16,
    /// `(context, stack map, flags)` → id, or a negative error. Flags: frames to skip, `1 << 8` the user's stack,
    /// `1 << 9` compare by hash only, `1 << 10` replace what collides.
    GetStackId = 27,
    /// `()` → address of the current `task_struct`, as a number.
    GetCurrentTask = 35,
    /// `(user address, memory, bytes)`.
    ProbeWriteUser = 36,
    /// `()` → the NUMA node.
    GetNumaNodeId = 42,
    /// `(typed socket)` → the number that the kernel gave it; only in typed programs.
    GetSocketCookie = 46,
    /// `(context, room, bytes = 24)`: value, enabled and running time of the perf event; only in perf event programs.
    PerfProgReadValue = 56,
    /// `(context, value)`: the kernel function is not run and returns this; only where error injection is allowed.
    OverrideReturn = 58,
    /// `(context, room, bytes, flags)` → bytes written, or a negative error. Flags as of [`Self::GetStackId`], and
    /// `1 << 11` build ids.
    GetStack = 67,
    /// `()` → id of the current cgroup (version 2).
    GetCurrentCgroupId = 80,
    /// `(signal)` to the process.
    SendSignal = 109,
    /// `(room, bytes, user address)`.
    ProbeReadUser = 112,
    /// `(room, bytes, kernel address)`.
    ProbeReadKernel = 113,
    /// `(room, bytes, user address)` → length with the NUL, or a negative error.
    ProbeReadUserStr = 114,
    /// `(room, bytes, kernel address)` → length with the NUL, or a negative error.
    ProbeReadKernelStr = 115,
    /// `(signal)` to the thread.
    SendSignalThread = 117,
    /// `()` → jiffies.
    Jiffies64 = 118,
    /// `(device, inode, room, bytes = 8)`: thread and process (two 32-bit numbers) as the pid namespace sees them.
    GetNsCurrentPidTgid = 120,
    /// `(level)` → id of the current cgroup's ancestor.
    GetCurrentAncestorCgroupId = 123,
    /// `()` → nanoseconds since boot, sleep included.
    KtimeGetBootNs = 125,
    /// `(seq file, memory, bytes)`; only in iterators. The seq file is read from the context's meta data.
    SeqWrite = 127,
    /// `(ring, memory, bytes, flags)`; flags: 1 wakes nobody, 2 wakes at once.
    RingbufOutput = 130,
    /// `(ring, bytes, 0)` → address of a record, or 0. It must be submitted or discarded on every path.
    RingbufReserve = 131,
    /// `(record, flags)`.
    RingbufSubmit = 132,
    /// `(record, flags)`.
    RingbufDiscard = 133,
    /// `(ring, what)` → 0: bytes not yet read, 1: size, 2: consumer's position, 3: producer's position.
    RingbufQuery = 134,
    /// `(typed path, room, bytes)` → length; only in typed programs at functions on the kernel's list.
    DPath = 147,
    /// `(typed per-CPU variable, cpu)` → address, or 0.
    PerCpuPtr = 153,
    /// `(typed per-CPU variable)` → address.
    ThisCpuPtr = 154,
    /// `()` → the current `task_struct`, typed.
    GetCurrentTaskBtf = 158,
    /// `(map, callback, frame, 0)` → how many entries the callback saw. The callback takes (map, key, value, frame).
    ForEachMapElem = 164,
    /// `(context)` → address of the function that is probed.
    GetFuncIp = 173,
    /// `(context)` → the number given when the program was attached.
    GetAttachCookie = 174,
    /// `(typed task)` → its `pt_regs`, typed.
    TaskPtRegs = 175,
    /// `(rounds, callback, frame, 0)` → how many rounds there were; at most `1 << 23`. The callback takes (round,
    /// frame).
    Loop = 181,
    /// `(memory, bytes, constant text)` → as `strncmp`. The text is in a [`super::MapKind::Constant`], with its NUL.
    Strncmp = 182,
    /// `(context, n, 8 bytes of room)`: argument `n` of the traced function.
    GetFuncArg = 183,
    /// `(context, 8 bytes of room)`: the result of the traced function.
    GetFuncRet = 184,
    /// `(context)` → how many arguments the traced function has.
    GetFuncArgCnt = 185,
    /// `(per-CPU map, key, cpu)` → address of that CPU's value, or 0.
    MapLookupPercpu = 195,
    /// `()` → nanoseconds of the atomic clock (`CLOCK_TAI`).
    KtimeGetTaiNs = 208,
}

/// What a helper takes in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    /// A map of keys and values.
    Map,
    /// A map of one value for each CPU.
    PerCpuMap,
    /// A ring.
    Ring,
    /// A map of stacks.
    Stacks,
    /// Initialised memory: a key of the map before it.
    Key,
    /// Initialised memory: a value of the map before it.
    Value,
    /// Initialised memory; its number of bytes follows.
    Memory,
    /// Memory that the helper fills; its number of bytes follows.
    Room,
    /// 8 bytes that the helper fills.
    Long,
    /// A number of bytes: a constant, or a number whose bounds the verifier can see.
    Bytes,
    /// A constant number.
    Constant,
    /// A number or a pointer.
    Any,
    /// A reserved record.
    Record,
    /// The context.
    Context,
    /// A pointer whose type the verifier knows.
    Typed,
    /// A function: of the rounds of a loop.
    LoopCallback,
    /// A function: of the entries of the map before it.
    EntryCallback,
    /// What a callback gets: the address of a slot, or 0.
    Frame,
    /// An address in a constant.
    Text,
}

/// Each helper with the kernel's name without `bpf_`, and what it takes.
#[rustfmt::skip]
const TABLE: [(Helper, &str, &[ArgumentKind]); 49] = [
    (Helper::MapLookup, "map_lookup_elem", &[Map, Key]),
    (Helper::MapUpdate, "map_update_elem", &[Map, Key, Value, Constant]),
    (Helper::MapDelete, "map_delete_elem", &[Map, Key]),
    (Helper::KtimeGetNs, "ktime_get_ns", &[]),
    (Helper::GetPrandomU32, "get_prandom_u32", &[]),
    (Helper::GetSmpProcessorId, "get_smp_processor_id", &[]),
    (Helper::GetCurrentPidTgid, "get_current_pid_tgid", &[]),
    (Helper::GetCurrentUidGid, "get_current_uid_gid", &[]),
    (Helper::GetCurrentComm, "get_current_comm", &[Room, Bytes]),
    (Helper::GetStackId, "get_stackid", &[Context, Stacks, Any]),
    (Helper::GetCurrentTask, "get_current_task", &[]),
    (Helper::ProbeWriteUser, "probe_write_user", &[Any, Memory, Bytes]),
    (Helper::GetNumaNodeId, "get_numa_node_id", &[]),
    (Helper::GetSocketCookie, "get_socket_cookie", &[Typed]),
    (Helper::PerfProgReadValue, "perf_prog_read_value", &[Context, Room, Bytes]),
    (Helper::OverrideReturn, "override_return", &[Context, Any]),
    (Helper::GetStack, "get_stack", &[Context, Room, Bytes, Any]),
    (Helper::GetCurrentCgroupId, "get_current_cgroup_id", &[]),
    (Helper::SendSignal, "send_signal", &[Any]),
    (Helper::ProbeReadUser, "probe_read_user", &[Room, Bytes, Any]),
    (Helper::ProbeReadKernel, "probe_read_kernel", &[Room, Bytes, Any]),
    (Helper::ProbeReadUserStr, "probe_read_user_str", &[Room, Bytes, Any]),
    (Helper::ProbeReadKernelStr, "probe_read_kernel_str", &[Room, Bytes, Any]),
    (Helper::SendSignalThread, "send_signal_thread", &[Any]),
    (Helper::Jiffies64, "jiffies64", &[]),
    (Helper::GetNsCurrentPidTgid, "get_ns_current_pid_tgid", &[Any, Any, Room, Bytes]),
    (Helper::GetCurrentAncestorCgroupId, "get_current_ancestor_cgroup_id", &[Any]),
    (Helper::KtimeGetBootNs, "ktime_get_boot_ns", &[]),
    (Helper::SeqWrite, "seq_write", &[Typed, Memory, Bytes]),
    (Helper::RingbufOutput, "ringbuf_output", &[Ring, Memory, Bytes, Any]),
    (Helper::RingbufReserve, "ringbuf_reserve", &[Ring, Constant, Constant]),
    (Helper::RingbufSubmit, "ringbuf_submit", &[Record, Any]),
    (Helper::RingbufDiscard, "ringbuf_discard", &[Record, Any]),
    (Helper::RingbufQuery, "ringbuf_query", &[Ring, Any]),
    (Helper::DPath, "d_path", &[Typed, Room, Bytes]),
    (Helper::PerCpuPtr, "per_cpu_ptr", &[Typed, Any]),
    (Helper::ThisCpuPtr, "this_cpu_ptr", &[Typed]),
    (Helper::GetCurrentTaskBtf, "get_current_task_btf", &[]),
    (Helper::ForEachMapElem, "for_each_map_elem", &[Map, EntryCallback, Frame, Constant]),
    (Helper::GetFuncIp, "get_func_ip", &[Context]),
    (Helper::GetAttachCookie, "get_attach_cookie", &[Context]),
    (Helper::TaskPtRegs, "task_pt_regs", &[Typed]),
    (Helper::Loop, "loop", &[Any, LoopCallback, Frame, Constant]),
    (Helper::Strncmp, "strncmp", &[Memory, Bytes, Text]),
    (Helper::GetFuncArg, "get_func_arg", &[Context, Any, Long]),
    (Helper::GetFuncRet, "get_func_ret", &[Context, Long]),
    (Helper::GetFuncArgCnt, "get_func_arg_cnt", &[Context]),
    (Helper::MapLookupPercpu, "map_lookup_percpu_elem", &[PerCpuMap, Key, Any]),
    (Helper::KtimeGetTaiNs, "ktime_get_tai_ns", &[]),
];

impl Helper {
    /// The kernel's number.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// The helper of this number.
    pub fn of_number(number: i32) -> Option<Self> {
        TABLE.iter().map(|(helper, _, _)| *helper).find(|helper| helper.number() == number)
    }

    fn entry(self) -> (&'static str, &'static [ArgumentKind]) {
        // All are in the table; a test says so.
        TABLE.iter().find(|(helper, _, _)| *helper == self).map_or(("?", &[]), |(_, name, arguments)| (name, arguments))
    }

    /// The kernel's name without `bpf_`.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    pub(crate) fn arguments(self) -> &'static [ArgumentKind] {
        self.entry().1
    }

    /// Whether nothing but the result depends on the call, so that a call whose result is unused can go.
    pub(crate) fn is_pure(self) -> bool {
        self.is_constant()
            || matches!(
                self,
                Self::MapLookup
                    | Self::MapLookupPercpu
                    | Self::KtimeGetNs
                    | Self::KtimeGetBootNs
                    | Self::KtimeGetTaiNs
                    | Self::Jiffies64
                    | Self::GetPrandomU32
                    | Self::RingbufQuery
            )
    }

    /// Whether a second call with the same arguments in the same run gives the same, so that it need not be made.
    /// Clocks and random numbers are not among them, and neither are lookups, which may find what was written between.
    pub(crate) fn is_constant(self) -> bool {
        matches!(
            self,
            Self::GetSmpProcessorId
                | Self::GetCurrentPidTgid
                | Self::GetCurrentUidGid
                | Self::GetCurrentTask
                | Self::GetCurrentTaskBtf
                | Self::GetNumaNodeId
                | Self::GetCurrentCgroupId
                | Self::GetCurrentAncestorCgroupId
                | Self::GetFuncIp
                | Self::GetAttachCookie
                | Self::GetFuncArgCnt
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_numbers_and_has_all() {
        assert!(TABLE.is_sorted_by(|a, b| a.0.number() < b.0.number()));
        for (helper, name, arguments) in &TABLE {
            assert_eq!((helper.name(), helper.arguments()), (*name, *arguments));
            assert_eq!(Helper::of_number(helper.number()), Some(*helper));
            assert!(arguments.len() <= 5 && !name.starts_with("bpf_"));
        }
        assert_eq!(Helper::of_number(4), None);
    }
}
