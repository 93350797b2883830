//! The table of what a script can call: names, how they are called, what they do in a line, and who checks them. It also
//! feeds the editor and the reference page.

use super::{Checked, body::BodyChecker, calls, calls::Call};
use crate::lang::hir::TypedExpr;

/// What kind of thing a name of the language is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReferenceGroup {
    /// A value of the moment: `pid`.
    Value,
    /// What is shown: `printf`.
    Output,
    /// On texts and memory: `str`.
    Text,
    /// On addresses and symbols: `ksym`.
    Address,
    /// On maps: `delete`.
    Map,
    /// What a map aggregates: `count`.
    Aggregation,
    /// What changes the system: `signal`; needs to be allowed.
    Action,
    /// Answered when the script is compiled: `sizeof`.
    Compile,
}

impl ReferenceGroup {
    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Value => "Values",
            Self::Output => "Output",
            Self::Text => "Text and memory",
            Self::Address => "Addresses and symbols",
            Self::Map => "Maps",
            Self::Aggregation => "Aggregations",
            Self::Action => "What changes the system",
            Self::Compile => "When it is compiled",
        }
    }
}

/// A name of the language, for the reference page and the editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub group: ReferenceGroup,
    /// How it is written, with what it gives: `str(address[, length]) → string`.
    pub signature: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
}

/// An entry of the table.
pub(super) struct ReferenceEntry {
    pub(super) name: &'static str,
    group: ReferenceGroup,
    pub(super) signature: &'static str,
    about: &'static str,
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) check: fn(&mut BodyChecker<'_, '_>, &Call<'_>) -> Checked<TypedExpr>,
}

type Check = fn(&mut BodyChecker<'_, '_>, &Call<'_>) -> Checked<TypedExpr>;

const MANY: usize = usize::MAX;

const fn entry(
    name: &'static str,
    group: ReferenceGroup,
    (least, most): (usize, usize),
    signature: &'static str,
    about: &'static str,
    check: Check,
) -> ReferenceEntry {
    ReferenceEntry { name, group, signature, about, least, most, check }
}

use ReferenceGroup::{Action, Address, Aggregation, Compile, Map, Output, Text, Value};
use calls::{actions, addresses, aggregations, compile_time, maps, output, texts, values};

#[rustfmt::skip]
static ENTRIES: &[ReferenceEntry] = &[
    entry("cgroup", Value, (0, 0), "cgroup → uint64", "The id of the current process's control group (version 2).", values::plain),
    entry("comm", Value, (0, 1), "comm → string[16] · comm(pid) → process name", "The name of the current thread; or of another one, looked up when it is shown, and `:pid` if it is gone by then and was not seen before. As a key each process counts by itself.", values::comm),
    entry("config", Value, (0, 0), "config → record", "The settings that are in force: `config.max_strlen`.", values::config),
    entry("cpid", Value, (0, 0), "cpid → uint32", "The process started by -c, or 0.", values::plain),
    entry("cpu", Value, (0, 0), "cpu → uint32", "The CPU that this runs on.", values::plain),
    entry("curtask", Value, (0, 0), "curtask → struct task_struct *", "The current thread in the kernel.", values::curtask),
    entry("dw_ustack", Value, (0, 2), "dw_ustack([mode,] [frames]) → ustack", "The process's stack by the unwind tables of its files, without frame pointers; x86_64 only.", values::stack),
    entry("elapsed", Value, (0, 0), "elapsed → uint64", "Nanoseconds since the script was started.", values::plain),
    entry("func", Value, (0, 0), "func → function name", "The function that is probed.", values::func),
    entry("gid", Value, (0, 0), "gid → uint64", "The group id of the current process.", values::plain),
    entry("has_cpid", Value, (0, 0), "has_cpid → bool", "Whether there is a process started by -c.", values::plain),
    entry("jiffies", Value, (0, 0), "jiffies → uint64", "The kernel's count of ticks.", values::plain),
    entry("kstack", Value, (0, 2), "kstack([mode,] [frames]) → kstack", "The kernel's stack; modes are bpftrace, perf, raw, build_id.", values::stack),
    entry("leader_comm", Value, (0, 0), "leader_comm → string[16]", "The name of the current process's first thread.", values::plain),
    entry("leader_tid", Value, (0, 0), "leader_tid → uint32", "The id of the current process's first thread.", values::plain),
    entry("ncpus", Value, (0, 0), "ncpus → uint64", "How many CPUs there are.", values::plain),
    entry("nsecs", Value, (0, 1), "nsecs([clock]) → uint64", "Nanoseconds of a clock: monotonic (usual), boot, tai, coarse.", values::nsecs),
    entry("numaid", Value, (0, 0), "numaid → uint32", "The memory node of this CPU.", values::plain),
    entry("pcomm", Value, (0, 1), "pcomm([task]) → string[16]", "The name of the parent process.", values::pcomm),
    entry("pid", Value, (0, 1), "pid([curr_ns|init]) → uint32", "The current process's id.", values::pid),
    entry("ppid", Value, (0, 1), "ppid([task]) → uint32", "The parent process's id.", values::ppid),
    entry("probe", Value, (0, 0), "probe → probe name", "The name of the attach point that was hit.", values::plain),
    entry("probetype", Value, (0, 0), "probetype → string", "The kind of the attach point, such as tracepoint or kprobe.", values::plain),
    entry("rand", Value, (0, 0), "rand → uint32", "A random number.", values::plain),
    entry("retval", Value, (0, 0), "retval → uint64, or the function's type", "What the probed function returns (kretprobe, fexit, uretprobe).", values::retval),
    entry("tid", Value, (0, 1), "tid([curr_ns|init]) → uint32", "The current thread's id.", values::tid),
    entry("uid", Value, (0, 0), "uid → uint64", "The user id of the current process.", values::plain),
    entry("usermode", Value, (0, 0), "usermode → uint8", "1 if the CPU ran user code when it was interrupted.", values::usermode),
    entry("username", Value, (0, 1), "username([uid]) → username", "The name of the current user.", values::username),
    entry("ustack", Value, (0, 2), "ustack([mode,] [frames]) → ustack", "The process's stack; it needs frame pointers.", values::stack),

    entry("assert", Output, (1, 2), "assert(condition, message)", "Ends the script with code 1 and a message if the condition does not hold.", output::assert),
    entry("cat", Output, (1, MANY), "cat(format, …)", "Shows the content of the file so named.", output::cat),
    entry("debugf", Output, (1, MANY), "debugf(format, …)", "As `printf`, on standard error with its place in the script: for debugging a script.", output::printf),
    entry("errorf", Output, (1, MANY), "errorf(format, …)", "Shows an error with its place in the script.", output::printf),
    entry("exit", Output, (0, 1), "exit([code])", "Ends the script: from now on only `end` probes do anything.", output::exit),
    entry("join", Output, (1, 2), "join(array[, delimiter])", "Shows an array of texts, such as args.argv of execve.", output::join),
    entry("print", Output, (1, 3), "print(value) · print(@map[, top[, div]])", "Shows a value, a map or one element.", output::print),
    entry("printf", Output, (1, MANY), "printf(format, …)", "Shows values by a format.", output::printf),
    entry("time", Output, (0, 1), "time([format])", "Shows the time by a format of strftime.", output::time),
    entry("warnf", Output, (1, MANY), "warnf(format, …)", "Shows a warning with its place in the script.", output::printf),

    entry("bswap", Text, (1, 1), "bswap(number) → number", "The number with its bytes in the other order.", texts::bswap),
    entry("buf", Text, (1, 2), "buf(address[, length]) → buffer", "Bytes of memory, for %r; an array needs no length.", texts::buf),
    entry("flag_names", Text, (2, 2), "flag_names(\"set\", number) → flag names", "The names of a number's bits, or of the number, by a set of names of arguments of system calls: `flag_names(\"open\", args.flags)`.", texts::flag_names),
    entry("macaddr", Text, (1, 1), "macaddr(array) → macaddr", "A hardware address of 6 bytes.", texts::macaddr),
    entry("memcmp", Text, (3, 3), "memcmp(a, b, count) → int64", "0 if the first bytes of both are equal, else the difference.", texts::memcmp),
    entry("ntop", Text, (1, 2), "ntop([family,] address) → inet", "A network address as text.", texts::ntop),
    entry("path", Address, (1, 2), "path(struct path *[, size]) → path", "The path of a file, where the kernel allows it (fentry, fexit, iter).", addresses::path),
    entry("pton", Text, (1, 1), "pton(\"address\") → uint8[]", "The bytes of a network address that is written as text.", texts::pton),
    entry("signal_name", Text, (1, 1), "signal_name(number) → signal name", "The name of a signal.", texts::named),
    entry("str", Text, (1, 2), "str(address[, length]) → string", "The text at an address, up to its NUL.", texts::str),
    entry("str_concat", Text, (2, 2), "str_concat(a, b) → string", "Two texts one after the other.", texts::concat),
    entry("strcap", Text, (1, 1), "strcap(text) → int64", "How many bytes a text may have.", texts::strcap),
    entry("strcontains", Text, (2, 2), "strcontains(text, needle) → bool", "Whether a text is part of another.", texts::find),
    entry("strerror", Text, (1, 1), "strerror(errno) → strerror", "What an error number means.", texts::named),
    entry("strftime", Text, (2, 2), "strftime(format, nanoseconds) → timestamp", "A time by a format of strftime; %f is microseconds.", texts::strftime),
    entry("strlen", Text, (1, 1), "strlen(text) → uint64", "The length of a text.", texts::strlen),
    entry("strncmp", Text, (3, 3), "strncmp(a, b, count) → int64", "0 if both texts begin alike.", texts::strncmp),
    entry("strstr", Text, (2, 2), "strstr(text, needle) → int64", "Where a text is in another, or -1.", texts::find),
    entry("syscall_name", Text, (1, 1), "syscall_name(number) → syscall name", "The name of a system call.", texts::named),

    entry("cgroup_path", Address, (1, 2), "cgroup_path(id[, filter]) → cgroup path", "The path of a control group.", addresses::cgroup_path),
    entry("cgroupid", Address, (1, 1), "cgroupid(\"path\") → uint64", "The id of a control group (version 2), looked up when the script is compiled; the path may leave out where they are mounted.", addresses::cgroup_id),
    entry("container_of", Address, (3, 3), "container_of(pointer, type, member) → type *", "The struct that a pointer points into.", addresses::container_of),
    entry("kaddr", Address, (1, 1), "kaddr(\"symbol\") → uint64", "The address of a kernel symbol.", addresses::kaddr),
    entry("kptr", Address, (1, 1), "kptr(pointer) → pointer", "The pointer, taken to point into the kernel.", addresses::space),
    entry("ksym", Address, (1, 1), "ksym(address) → ksym", "The kernel function at an address.", addresses::ksym),
    entry("percpu_kaddr", Address, (1, 2), "percpu_kaddr(\"symbol\"[, cpu]) → pointer", "The address of a kernel variable that each CPU has.", addresses::percpu_kaddr),
    entry("reg", Address, (1, 1), "reg(\"name\") → uint64", "A register of the place that was hit.", addresses::reg),
    entry("socket_cookie", Address, (1, 1), "socket_cookie(struct sock *) → uint64", "The number that the kernel gave a socket, which no other one has as long as the machine runs (fentry, fexit, rawtracepoint, iter).", addresses::socket_cookie),
    entry("uaddr", Address, (1, 1), "uaddr(\"symbol\") → pointer", "The address, in the process that was hit, of a variable or function of the probed file.", addresses::uaddr),
    entry("uptr", Address, (1, 1), "uptr(pointer) → pointer", "The pointer, taken to point into the process.", addresses::space),
    entry("usym", Address, (1, 1), "usym(address) → usym", "The function of the process at an address.", addresses::usym),

    entry("clear", Map, (1, 1), "clear(@map)", "Removes all elements. It is done outside the kernel: what is counted between a print() of the map and this is lost. To lose nothing, keep the last values in another map and print the differences, as the tool vfsstat does.", maps::clear),
    entry("delete", Map, (1, 2), "delete(@map, key) → bool", "Removes an element; whether it was there.", maps::delete),
    entry("find", Map, (3, 3), "find(@map, key, $value) → bool", "Puts an element's value into a variable, if it is there.", maps::find),
    entry("has_key", Map, (1, 2), "has_key(@map, key) → bool", "Whether there is such an element.", maps::has_key),
    entry("len", Map, (1, 1), "len(@map) · len(stack) → int64", "How many elements a map or frames a stack has.", maps::len),
    entry("zero", Map, (1, 1), "zero(@map)", "Sets all values to zero. As with clear(), what is counted between a print() of the map and this is lost.", maps::clear),

    entry("avg", Aggregation, (1, 1), "@x = avg(number)", "Keeps the average.", aggregations::misplaced),
    entry("count", Aggregation, (0, 0), "@x = count()", "Counts.", aggregations::misplaced),
    entry("hist", Aggregation, (1, 2), "@x = hist(number[, k])", "A histogram with 2^k buckets for each power of two.", aggregations::misplaced),
    entry("lhist", Aggregation, (4, 4), "@x = lhist(number, min, max, step)", "A histogram with buckets of one width.", aggregations::misplaced),
    entry("max", Aggregation, (1, 1), "@x = max(number)", "Keeps the largest.", aggregations::misplaced),
    entry("min", Aggregation, (1, 1), "@x = min(number)", "Keeps the smallest.", aggregations::misplaced),
    entry("stats", Aggregation, (1, 1), "@x = stats(number)", "Keeps count, average and total.", aggregations::misplaced),
    entry("sum", Aggregation, (1, 1), "@x = sum(number)", "Adds up.", aggregations::misplaced),
    entry("tseries", Aggregation, (3, 4), "@x = tseries(number, interval, count[, \"agg\"])", "Values by intervals of time: the last, or avg, max, min, sum.", aggregations::misplaced),

    entry("override", Action, (1, 1), "override(value)", "Makes the probed function return this at once (kprobe).", actions::override_return),
    entry("signal", Action, (1, 1), "signal(number or \"name\")", "Sends a signal to the current process.", actions::signal),
    entry("signal_thread", Action, (1, 1), "signal_thread(number or \"name\")", "Sends a signal to the current thread.", actions::signal),
    entry("system", Action, (1, MANY), "system(format, …)", "Runs a command, without a shell.", output::system),
    entry("write_user", Action, (2, 3), "write_user(address, value) · write_user(address, from, bytes)", "Writes a value, or so many bytes from another address, into the current process's memory.", actions::write_user),

    entry("fail", Compile, (1, MANY), "fail(format, …)", "Refuses the script with a message if it is reached.", compile_time::fail),
    entry("is_array", Compile, (1, 1), "is_array(x) → bool", "Whether it is an array.", compile_time::is_type),
    entry("is_integer", Compile, (1, 1), "is_integer(x) → bool", "Whether it is a number.", compile_time::is_type),
    entry("is_err", Address, (1, 1), "is_err(pointer) → bool", "Whether a pointer is an error that a function of the kernel returned in its place.", addresses::is_err),
    entry("is_literal", Compile, (1, 1), "is_literal(x) → bool", "Whether it is written as a number or text.", compile_time::is_type),
    entry("is_ptr", Compile, (1, 1), "is_ptr(x) → bool", "Whether it is a pointer.", compile_time::is_type),
    entry("is_str", Compile, (1, 1), "is_str(x) → bool", "Whether it is a text.", compile_time::is_type),
    entry("is_unsigned_integer", Compile, (1, 1), "is_unsigned_integer(x) → bool", "Whether it is a number without a sign.", compile_time::is_type),
    entry("kfunc_allowed", Compile, (1, 1), "kfunc_allowed(\"name\") → bool", "Whether the kernel lets programs of this kind of probe call a function of its own (a kfunc); it is tried when the script is compiled.", compile_time::kfunc_allowed),
    entry("kfunc_exist", Compile, (1, 1), "kfunc_exist(\"name\") → bool", "Whether the kernel has a function that programs may call (a kfunc); kernels before 6.10 mark none, there any function of that name counts.", compile_time::kfunc_exist),
    entry("sizeof", Compile, (1, 1), "sizeof(x) → uint64", "The bytes of a type or value.", compile_time::size_of),
    entry("static_assert", Compile, (1, 2), "static_assert(condition, \"message\")", "Refuses the script if the condition does not hold.", compile_time::static_assert),
    entry("typeinfo", Compile, (1, 1), "typeinfo(x) → (btf_id, base_type, full_type)", "A type: the kernel's number of it (0 if it has none), its kind such as int, string or pointer, and its name.", compile_time::type_info),

    entry("skboutput", Output, (0, MANY), "skboutput", "Not supported yet: packets to a file.", actions::later),
    entry("unwatch", Action, (0, MANY), "unwatch", "Not supported yet: removes a watchpoint.", actions::later),
];

/// The entry of a name.
pub(super) fn find(name: &str) -> Option<&'static ReferenceEntry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

/// All entries.
pub(super) fn entries() -> &'static [ReferenceEntry] {
    ENTRIES
}

/// Whether a name alone is a value.
pub(super) fn is_value(name: &str) -> bool {
    matches!(name, "args" | "ctx") || find(name).is_some_and(|entry| entry.least == 0 && entry.group == Value)
}

/// Whether calling it does nothing besides its result.
pub(super) fn is_pure(name: &str) -> bool {
    find(name).is_none_or(|entry| match entry.group {
        Output | Action => false,
        Map => matches!(entry.name, "has_key" | "len"),
        Compile => !matches!(entry.name, "fail" | "static_assert"),
        Value | Text | Address | Aggregation => true,
    })
}

/// Everything that a script can call or use by a name of its own, for the reference page and the editor.
pub fn reference() -> Vec<Reference> {
    let arguments = [
        Reference {
            name: "args",
            group: Value,
            signature: "args.name",
            about: "The arguments of the attach point, by name; of a program its parameters and local variables, by debug information.",
        },
        Reference {
            name: "arg0",
            group: Value,
            signature: "arg0 … argN → uint64",
            about: "The arguments of a probed function, by number.",
        },
        Reference {
            name: "sarg0",
            group: Value,
            signature: "sarg0 … sargN → uint64",
            about: "Words of the probed function's stack.",
        },
        Reference { name: "ctx", group: Value, signature: "ctx → pointer", about: "The context of the program." },
        Reference {
            name: "offsetof",
            group: Compile,
            signature: "offsetof(type, member) → uint64",
            about: "Where a member is in a struct.",
        },
        Reference {
            name: "getopt",
            group: Compile,
            signature: "getopt(\"name\"[, default[, \"description\"]])",
            about: "An option given to the script.",
        },
    ];
    let mut all: Vec<Reference> = ENTRIES
        .iter()
        .map(|it| Reference { name: it.name, group: it.group, signature: it.signature, about: it.about })
        .chain(arguments)
        .collect();
    all.sort_by_key(|it| (it.group, it.name));
    all
}
