//! The files of the simulated host, in memory.

use std::{fmt::Write as _, os::fd::OwnedFd};

use bathyscope_catalog::dynamic::{DynamicDefinition, Line, ProbeSite, parse_dynamic};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, Capability, CapabilityState, DynamicEvent, DynamicEvents, KernelFile, ProbeLimit,
    ProcessFile, SocketTable, large,
};

use super::{
    activity, attached, elf, trace,
    world::{
        self, CODE_ADDRESS, CODE_BYTES, CODE_OFFSET, COMPILED_ADDRESS, FUNCTION_BYTES, FUNCTIONS, HEAP_ADDRESS,
        HEAP_BYTES, KERNEL_ADDRESS, KERNEL_FUNCTIONS, MadeProcess, TRACEPOINTS,
    },
};
use crate::{
    doctor,
    error::{failed, refused},
    host_requests::UserFile,
};

/// A file in memory that nobody can change any more.
fn file_of(bytes: &[u8]) -> Result<OwnedFd, AgentError> {
    large::sealed_file("bathyscope-simulated", bytes).map_err(|error| refused("making a simulated file", &error, ""))
}

pub(super) fn open_kernel_file(file: &KernelFile) -> Result<OwnedFd, AgentError> {
    match file {
        KernelFile::Kallsyms => file_of(kallsyms().as_bytes()),
        KernelFile::AvailableEvents => {
            let lines = TRACEPOINTS.iter().map(|one| format!("{}:{}\n", one.system, one.name));
            file_of(lines.collect::<String>().as_bytes())
        }
        KernelFile::EventFormat { tracepoint } if tracepoint.system() == "ftrace" => {
            let format = trace::own_format(tracepoint.name());
            file_of(format.ok_or_else(|| no_such_tracepoint(&tracepoint.to_string()))?.as_bytes())
        }
        KernelFile::EventFormat { tracepoint } => match world::tracepoint(tracepoint.system(), tracepoint.name()) {
            Some((number, made)) => file_of(made.format(number).as_bytes()),
            None => Err(no_such_tracepoint(&tracepoint.to_string())),
        },
        KernelFile::Notes => {
            let mut notes = Vec::new();
            for word in [4_u32, 20, 3] {
                notes.extend(word.to_le_bytes());
            }
            notes.extend(b"GNU\0");
            notes.extend([0x51; 20]);
            file_of(&notes)
        }
        KernelFile::FilterFunctions => file_of(KERNEL_FUNCTIONS.map(|name| format!("{name}\n")).concat().as_bytes()),
        KernelFile::TraceHeaderPage => file_of(trace::HEADER_PAGE.as_bytes()),
        KernelFile::TraceHeaderEvent => file_of(trace::HEADER_EVENT.as_bytes()),
        KernelFile::AvailableTracers => file_of(b"function_graph hwlat blk nop\n"),
        KernelFile::TraceOptions => file_of(b"print-parent\nnosym-offset\nevent-fork\n"),
        KernelFile::TraceClocks => file_of(b"[local] global boot mono\n"),
        KernelFile::Modules => file_of(b"simulated_fs 16384 1 - Live 0xffffffffc0000000\n"),
        KernelFile::DynamicEvents => file_of(attached::DYNAMIC_EVENTS.as_bytes()),
        KernelFile::ProbeBlacklist => {
            let first = KERNEL_ADDRESS + FUNCTION_BYTES;
            file_of(format!("0x{first:016x}-0x{:016x}\t{}\n", first + FUNCTION_BYTES, KERNEL_FUNCTIONS[1]).as_bytes())
        }
        KernelFile::Stat => file_of(activity::stat().as_bytes()),
        KernelFile::LoadAverage => file_of(b"1.52 1.31 0.98 3/412 2001\n"),
        KernelFile::MemoryInfo => file_of(activity::memory_info().as_bytes()),
        KernelFile::MemoryStat => file_of(activity::memory_stat().as_bytes()),
        KernelFile::DiskStat => file_of(activity::disk_stat().as_bytes()),
        KernelFile::NetworkStat => file_of(activity::network_stat().as_bytes()),
        KernelFile::Pressure { resource } => file_of(activity::pressure(*resource).as_bytes()),
        KernelFile::Btf | KernelFile::ModuleBtf { .. } => {
            let why = "the simulated kernel has no type information";
            Err(failed(AgentErrorKind::NotFound, "opening the kernel's type information", why, ""))
        }
    }
}

/// One that somebody else made: there is always something of others on a host.
pub(super) fn dynamic_events(kprobes: bool) -> DynamicEvents {
    let event = DynamicEvent {
        group: "probe".to_owned(),
        name: "tcp_sendmsg".to_owned(),
        line: "p:probe/tcp_sendmsg tcp_sendmsg size=%dx:u64".to_owned(),
        hits: Some(4711),
        missed: Some(0),
        marks: Some(vec!["FTRACE".to_owned()]),
        owner: None,
        detached: false,
    };
    let [name, value, effect, remedy] =
        ["CONFIG_KPROBE_EVENTS", "no", "Functions of the kernel cannot be probed.", "Start without kprobes=0."]
            .map(str::to_owned);
    let limits = if kprobes { Vec::new() } else { vec![ProbeLimit { name, value, effect, remedy }] };
    DynamicEvents { events: vec![event], optimization: Some(true), limits }
}

/// Whether an instruction begins at the place of a line; here they have four bytes.
pub(super) fn try_event(line: &str) -> Result<(), AgentError> {
    match parse_dynamic(line) {
        Ok(Line::Define(DynamicDefinition { place: ProbeSite::Function { symbol, offset, .. }, .. }))
            if offset % 4 != 0 =>
        {
            let before = offset - offset % 4;
            let near = format!(
                "The nearest places where an instruction begins are {symbol}+{before} and {symbol}+{}.",
                before + 4
            );
            let why = "Probe point is not an instruction boundary";
            Err(failed(AgentErrorKind::Invalid, format!("making the probe `{symbol}+{offset}`"), why, near))
        }
        _ => Ok(()),
    }
}

pub(super) fn no_such_tracepoint(name: &str) -> AgentError {
    let doing = format!("opening the format of {name}");
    failed(AgentErrorKind::NotFound, doing, "the simulated kernel has no such tracepoint", "Choose one from the list.")
}

fn kallsyms() -> String {
    let mut text = String::new();
    for (index, name) in (0_u64..).zip(KERNEL_FUNCTIONS) {
        // Writing to a String cannot fail.
        let _infallible = writeln!(text, "{:016x} T {name}", KERNEL_ADDRESS + index * FUNCTION_BYTES);
    }
    // Behind the functions, which are listed by these names.
    if let Some((index, _)) = (0_u64..).zip(KERNEL_FUNCTIONS).find(|(_, name)| *name == "schedule") {
        let (start, end) = (KERNEL_ADDRESS + index * FUNCTION_BYTES, KERNEL_ADDRESS + (index + 1) * FUNCTION_BYTES);
        let _infallible = writeln!(text, "{start:016x} T __sched_text_start\n{end:016x} T __sched_text_end");
    }
    text
}

pub(super) fn open_process_file(pid: u32, file: &ProcessFile) -> Result<OwnedFd, AgentError> {
    let doing = format!("looking for process {pid}");
    let missing =
        || failed(AgentErrorKind::NotFound, &doing, "there is no such process (any more)", "Choose one that runs.");
    let process = match file {
        // The kernel has this file of a thread too.
        ProcessFile::Status => world::process_of(pid),
        _ => world::process(pid),
    };
    let process = process.ok_or_else(missing)?;
    match *file {
        ProcessFile::Maps => file_of(&maps(process)),
        ProcessFile::Stat => {
            let mut stat = format!("{pid} (").into_bytes();
            stat.extend(process.comm);
            stat.extend(
                format!(") S 1 {pid} {pid} 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 {} 0 100 0 0\n", process.threads.len())
                    .bytes(),
            );
            file_of(&stat)
        }
        ProcessFile::Status => {
            let mut status = b"Name:\t".to_vec();
            status.extend(process.comm);
            let (uid, parent) = (process.uid(), u32::from(pid != 1));
            status.extend(format!("\nTgid:\t{}\nPid:\t{pid}\nPPid:\t{parent}\n", process.pid).bytes());
            status.extend(format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n").bytes());
            file_of(&status)
        }
        ProcessFile::ControlGroups => file_of(format!("0::{}\n", process.group).as_bytes()),
        ProcessFile::Cmdline => {
            let mut line = process.path.to_vec();
            line.extend(b"\0--serve\0");
            file_of(&line)
        }
        ProcessFile::Mapped { start, end } if (start, end) == (CODE_ADDRESS, CODE_ADDRESS + CODE_BYTES) => {
            file_of(&elf::program(world::build_id(pid)))
        }
        ProcessFile::Mapped { start, end } => {
            let doing = format!("opening the file mapped at {start:x}-{end:x} by process {pid}");
            Err(failed(AgentErrorKind::NotFound, doing, "no code is mapped there (any more)", ""))
        }
        ProcessFile::Links => {
            let mut list = Vec::new();
            for (number, link) in
                [(-100_i32, "/srv"), (0, "/dev/null"), (1, "pipe:[4711]"), (2, "pipe:[4711]"), (3, "socket:[4242]")]
            {
                list.extend(number.to_le_bytes());
                list.extend((link.len() as u16).to_le_bytes());
                list.extend(link.as_bytes());
            }
            file_of(&list)
        }
        ProcessFile::Sockets { table } => {
            let head =
                "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
            let line =
                "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1\n";
            file_of(format!("{head}{}", if table == SocketTable::Tcp { line } else { "" }).as_bytes())
        }
        ProcessFile::PerfMap if process.compiled_at_run_time => file_of(perf_map().as_bytes()),
        ProcessFile::PerfMap => {
            let doing = format!("opening the perf map of process {pid}");
            Err(failed(AgentErrorKind::NotFound, doing, "no such file or directory", ""))
        }
    }
}

/// The device of every simulated file; the inode is the process's id, as in its `maps`.
const DEVICE: u64 = 0xfe00;

pub(super) fn open_user_file(path: &str, in_process: Option<u32>) -> Result<UserFile, AgentError> {
    let doing = format!("opening {}", bathyscope_capture::visible(path.as_bytes()));
    if let Some(pid) = in_process.filter(|pid| world::process(*pid).is_none()) {
        let doing = format!("looking for process {pid}");
        let why = "there is no such process (any more)";
        return Err(failed(AgentErrorKind::NotFound, doing, why, "Choose one that runs."));
    }
    let missing = || failed(AgentErrorKind::NotFound, &doing, "no such file or directory", "Check the path.");
    let process = world::PROCESSES.iter().find(|process| process.path == path.as_bytes()).ok_or_else(missing)?;
    let program = elf::program(world::build_id(process.pid));
    let bytes = program.len() as u64;
    Ok(UserFile { file: file_of(&program)?, device: DEVICE, inode: u64::from(process.pid), bytes })
}

fn maps(process: &MadeProcess) -> Vec<u8> {
    let end = CODE_ADDRESS + CODE_BYTES;
    let mut maps = format!("{CODE_ADDRESS:08x}-{end:08x} r-xp {CODE_OFFSET:08x} fe:00 {} ", process.pid).into_bytes();
    // The kernel writes a line break in a path as an escape.
    for byte in process.path {
        match byte {
            b'\n' => maps.extend(b"\\012"),
            byte => maps.push(*byte),
        }
    }
    maps.push(b'\n');
    let end = HEAP_ADDRESS + HEAP_BYTES;
    maps.extend(format!("{HEAP_ADDRESS:08x}-{end:08x} rw-p 00000000 00:00 0 [heap]\n").bytes());
    if process.compiled_at_run_time {
        let end = COMPILED_ADDRESS + CODE_BYTES;
        maps.extend(format!("{COMPILED_ADDRESS:08x}-{end:08x} rwxp 00000000 00:00 0 \n").bytes());
    }
    maps
}

fn perf_map() -> String {
    let mut text = String::new();
    for (index, name) in (0_u64..).zip(FUNCTIONS) {
        let address = COMPILED_ADDRESS + index * FUNCTION_BYTES;
        let _infallible = writeln!(text, "{address:x} {FUNCTION_BYTES:x} LApp;::{name}");
    }
    text
}

/// What the simulated host can do: enough to use everything, and one of each kind of lack, so that it can be seen.
pub(super) fn capabilities() -> Vec<Capability> {
    let verdict = |id: &str| match id {
        "pmu" => {
            (CapabilityState::MissingHardware, "simulated: this CPU offers no cycle counter", "Use real hardware.")
        }
        "kprobe" | "kprobe_multi" | "fentry" => (
            CapabilityState::MissingKernelFeature,
            "simulated: this kernel was built without it",
            "Use a kernel with CONFIG_KPROBES.",
        ),
        "uprobe_multi" => {
            (CapabilityState::MissingPrivilege, "simulated: the agent lacks CAP_BPF", "Run the agent as root.")
        }
        "lockdown" => (CapabilityState::Refused, "simulated: the kernel is locked down", "Switch the lockdown off."),
        _ => (CapabilityState::Available, "simulated", ""),
    };
    let make = |(id, title, purpose): (&str, &str, &str)| {
        let (state, finding, remedy) = verdict(id);
        Capability {
            id: id.into(),
            title: title.into(),
            purpose: purpose.into(),
            state,
            finding: finding.into(),
            remedy: remedy.into(),
        }
    };
    doctor::ways().map(make).collect()
}
