//! The options of each tool.

use crate::options::{Rule, Takes};

const PID: Rule = Rule::taken(&["-p", "--pid"], Takes::Value);
const UID: Rule = Rule::taken(&["-u", "--uid"], Takes::Value);
const NAME: Rule = Rule::taken(&["-n", "--name"], Takes::Value);
const FAILED: Rule = Rule::taken(&["-x", "--failed", "--fails"], Takes::Nothing);
const DURATION: Rule = Rule::taken(&["--duration", "-d"], Takes::Value);
const HELP: Rule = Rule::refused(
    &["-h", "--help"],
    Takes::Nothing,
    "It is about the tool itself.",
    "The page Tools says what each tool shows.",
);
const TIMES: Rule = Rule::ignored(&["-T", "-t", "--timestamp", "--time"], Takes::Nothing, "each row has its time");
const TIME: Rule = Rule::ignored(&["-T", "--timestamp"], Takes::Nothing, "each row has its time");
const UIDS: Rule =
    Rule::ignored(&["-U", "--print-uid"], Takes::Nothing, "the user of a process is in the history of the capture");
const UNITS: Rule = Rule::ignored(&["-m", "--milliseconds"], Takes::Nothing, "units are said with the values");
const NANOSECONDS: Rule = Rule::ignored(&["-N", "--nanoseconds"], Takes::Nothing, "units are said with the values");
const FAMILY: Rule =
    Rule::ignored(&["-4", "-6", "--ipv4", "--ipv6"], Takes::Nothing, "rows are filtered where they are shown");
const PORTS: Rule = Rule::ignored(
    &["-P", "--port", "-L", "--localport", "-D", "--remoteport"],
    Takes::Value,
    "rows are filtered where they are shown",
);
const WIDE: Rule = Rule::ignored(&["-w", "--wide", "-s", "--csv"], Takes::Nothing, "it is about how the tool prints");
const MAPS: Rule = Rule::ignored(
    &["--cgroupmap", "--mntnsmap"],
    Takes::Value,
    "maps of other tools are not read; choose a control group in the form",
);
const NO_CLEAR: Rule =
    Rule::ignored(&["-C", "--noclear", "-S", "--nosummary"], Takes::Nothing, "it is about how the tool prints");
const QUEUED: Rule = Rule::refused(
    &["-Q", "--queued", "--queue"],
    Takes::Nothing,
    "Time in the queue of the system is not measured.",
    "Remove it.",
);
const FLAGS: Rule = Rule::refused(
    &["-F", "--flags"],
    Takes::Nothing,
    "Kinds of requests are not told apart.",
    "The tool biosnoop shows each request with its kind.",
);
const EACH: Rule = Rule::refused(
    &["-P", "--pids", "--pidnss", "-L", "--tids"],
    Takes::Nothing,
    "The tool does not tell processes apart.",
    "Choose one with -p.",
);
const STACK_SIZE: Rule = Rule::ignored(&["--stack-storage-size"], Takes::Value, "maps have a size of their own");
const FOLDED: Rule = Rule::ignored(
    &["-f", "--folded", "-d", "--delimited", "-a", "--annotations"],
    Takes::Nothing,
    "stacks are drawn as a flame graph, and exported folded",
);

/// Options that all tools of the library have.
pub(super) const ANY: &[Rule] = &[PID, TIMES, HELP];

const SNOOP: &[Rule] = &[PID, FAILED, TIMES, UIDS, HELP];

const PRINTED: Rule = Rule::ignored(
    &["-T", "-t", "--timestamp", "-j", "--csv", "-C", "--noclear", "--json"],
    Takes::Nothing,
    "it is about how the tool prints",
);
const ROWS: Rule = Rule::ignored(&["-r", "--maxrows"], Takes::Value, "tables are sorted and cut where they are shown");
const SUMS: &[Rule] = &[PID, PRINTED, ROWS, HELP];
const SLOWER: &[Rule] = &[PID, PRINTED, HELP];
const STACKS: &[Rule] = &[
    PID,
    HELP,
    Rule::ignored(&["-f", "--folded", "-d", "--delimited"], Takes::Nothing, "the flame graph can be exported"),
    Rule::ignored(&["--stack-storage-size", "-n", "-s"], Takes::Value, "stacks are kept whole"),
];

/// Tools with their options.
pub(super) const TOOLS: &[(&str, &[Rule])] = &[
    (
        "opensnoop",
        &[
            PID,
            UID,
            NAME,
            FAILED,
            DURATION,
            TIME,
            UIDS,
            MAPS,
            HELP,
            Rule::refused(
                &["-t", "--tid"],
                Takes::Value,
                "A script is of processes.",
                "Write -p with the process of the thread.",
            ),
            Rule::ignored(
                &["-e", "--extended_fields", "-F", "--full-path"],
                Takes::Nothing,
                "paths are shown as they were given",
            ),
            Rule::ignored(&["-b", "--buffer-pages"], Takes::Value, "buffers are set up by Bathyscope"),
            Rule::refused(
                &["-f", "--flag_filter"],
                Takes::Value,
                "Flags are not asked for.",
                "Write `strace -e openat`, and filter the rows.",
            ),
        ],
    ),
    (
        "execsnoop",
        &[
            UID,
            TIMES,
            UIDS,
            MAPS,
            HELP,
            Rule::ignored(
                &["-x", "--fails"],
                Takes::Nothing,
                "the tool shows programs that were started; `strace -e execve -Z` shows what failed",
            ),
            Rule::ignored(&["-q", "--quote"], Takes::Nothing, "it is about how the tool prints"),
            Rule::ignored(&["--max-args"], Takes::Value, "arguments are shown as far as the kernel gives them"),
            Rule::refused(
                &["-n", "--name", "-l", "--line"],
                Takes::Value,
                "What is started cannot be chosen before.",
                "Search the rows.",
            ),
            Rule::refused(&["-P", "--ppid"], Takes::Value, "Parents cannot be chosen.", "Filter the rows."),
        ],
    ),
    (
        "exitsnoop",
        &[
            PID,
            FAILED,
            TIMES,
            HELP,
            Rule::ignored(&["--utc"], Takes::Nothing, "each row has its time"),
            Rule::ignored(&["--label"], Takes::Attached, "it is about how the tool prints"),
        ],
    ),
    (
        "killsnoop",
        &[
            PID,
            TIMES,
            HELP,
            Rule::refused(
                &["-x", "--failed"],
                Takes::Nothing,
                "The tool does not choose by result.",
                "Filter the rows.",
            ),
            Rule::refused(
                &["-s", "--signal", "--filter"],
                Takes::Value,
                "The tool shows all signals.",
                "Filter the rows.",
            ),
        ],
    ),
    (
        "statsnoop",
        &[
            PID,
            TIMES,
            HELP,
            Rule::refused(
                &["-x", "--failed"],
                Takes::Nothing,
                "The tool does not choose by result.",
                "Write `strace -e %stat -Z`.",
            ),
        ],
    ),
    (
        "capable",
        &[
            PID,
            HELP,
            TIMES,
            Rule::ignored(&["-v", "--verbose", "-x", "--extra"], Takes::Nothing, "names are shown in any case"),
            Rule::refused(
                &["-K", "--kernel-stack", "-U", "--user-stack"],
                Takes::Nothing,
                "The tool has no stacks.",
                "Write a script with kstack or ustack.",
            ),
            Rule::ignored(&["--unique"], Takes::Nothing, "rows are counted where they are shown"),
            MAPS,
        ],
    ),
    (
        "biolatency",
        &[
            TIME,
            UNITS,
            Rule::taken(&["-D", "--disks"], Takes::Nothing),
            QUEUED,
            FLAGS,
            HELP,
            Rule::ignored(&["-j", "--json", "-e", "--extension"], Takes::Nothing, "it is about how the tool prints"),
            Rule::refused(
                &["-d", "--disk"],
                Takes::Value,
                "The tool sums over all disks.",
                "Filter the rows of biosnoop.",
            ),
        ],
    ),
    (
        "biosnoop",
        &[
            QUEUED,
            HELP,
            Rule::ignored(&["-d", "--disk"], Takes::Value, "rows are filtered where they are shown"),
            Rule::ignored(&["-P", "--pattern"], Takes::Nothing, "the tool biopattern tells it"),
        ],
    ),
    (
        "filetop",
        &[
            PID,
            NO_CLEAR,
            HELP,
            Rule::taken(&["-r", "--maxrows"], Takes::Value),
            Rule::ignored(&["-s", "--sort"], Takes::Value, "tables are sorted where they are shown"),
            Rule::ignored(&["-a", "--all-files"], Takes::Nothing, "it is about how the tool prints"),
        ],
    ),
    ("fileslower", &[PID, HELP, Rule::ignored(&["-a", "--all-files"], Takes::Nothing, "all kinds of files are shown")]),
    (
        "tcpconnect",
        &[
            PID,
            UID,
            TIMES,
            UIDS,
            FAMILY,
            PORTS,
            MAPS,
            HELP,
            Rule::refused(
                &["-c", "--count"],
                Takes::Nothing,
                "The tool shows each connection.",
                "Count its rows by SQL.",
            ),
            Rule::refused(
                &["-d", "--dns"],
                Takes::Nothing,
                "Names of hosts are not looked up.",
                "The tool gethostlatency shows what is looked up.",
            ),
        ],
    ),
    ("tcpaccept", &[PID, TIMES, FAMILY, PORTS, MAPS, HELP]),
    ("tcplife", &[PID, TIMES, FAMILY, PORTS, WIDE, HELP]),
    (
        "tcpstates",
        &[
            TIMES,
            FAMILY,
            PORTS,
            WIDE,
            HELP,
            Rule::ignored(&["-Y", "--journal"], Takes::Nothing, "rows are kept with the capture"),
        ],
    ),
    (
        "tcpretrans",
        &[
            FAMILY,
            HELP,
            Rule::ignored(&["-s", "--sequence"], Takes::Nothing, "it is about how the tool prints"),
            Rule::refused(&["-l", "--lossprobe"], Takes::Nothing, "Loss probes are not shown.", "Remove it."),
            Rule::refused(&["-c", "--count"], Takes::Nothing, "The tool shows each packet.", "Count its rows by SQL."),
        ],
    ),
    ("tcptop", &[PID, NO_CLEAR, FAMILY, HELP, Rule::taken(&["-r", "--maxrows"], Takes::Value), MAPS]),
    (
        "tcpconnlat",
        &[
            PID,
            TIMES,
            FAMILY,
            HELP,
            Rule::ignored(&["-L", "--lport", "-v", "--verbose"], Takes::Nothing, "it is about how the tool prints"),
        ],
    ),
    ("tcpdrop", &[FAMILY, HELP]),
    ("runqlat", &[PID, TIME, UNITS, EACH, HELP]),
    (
        "runqlen",
        &[
            TIME,
            HELP,
            Rule::refused(
                &["-O", "--runqocc"],
                Takes::Nothing,
                "Occupancy is not measured.",
                "The timeline of thread states shows it.",
            ),
            Rule::refused(
                &["-C", "--cpus"],
                Takes::Nothing,
                "The tool sums over all CPUs.",
                "The timeline of thread states shows each.",
            ),
        ],
    ),
    (
        "runqslower",
        &[
            PID,
            HELP,
            Rule::ignored(&["-P", "--previous"], Takes::Nothing, "it is about how the tool prints"),
            Rule::refused(&["-t", "--tid"], Takes::Value, "A script is of processes.", "Write -p."),
        ],
    ),
    (
        "cpudist",
        &[
            PID,
            TIME,
            UNITS,
            EACH,
            HELP,
            Rule::refused(
                &["-O", "--offcpu"],
                Takes::Nothing,
                "The tool measures time on CPUs.",
                "The tool offcputime sums time off CPUs.",
            ),
            Rule::ignored(
                &["-I", "--include-idle", "-e", "--extension"],
                Takes::Nothing,
                "it is about how the tool prints",
            ),
        ],
    ),
    (
        "offcputime",
        &[
            PID,
            UID_OF_STACKS,
            FOLDED,
            STACK_SIZE,
            HELP,
            Rule::taken(&["-m", "--min-block-time"], Takes::Value),
            Rule::refused(
                &["-M", "--max-block-time", "--state", "-t", "--tid"],
                Takes::Value,
                "The tool has no such choice.",
                "Filter the stacks where they are shown.",
            ),
            Rule::ignored(
                &["-U", "--user-stacks-only", "-K", "--kernel-stacks-only", "-k", "--kernel-threads-only"],
                Takes::Nothing,
                "stacks have both parts, and are filtered where they are shown",
            ),
        ],
    ),
    (
        "wakeuptime",
        &[
            PID,
            UID_OF_STACKS,
            HELP,
            Rule::ignored(&["-v", "--verbose", "-f", "--folded"], Takes::Nothing, "stacks are drawn as a flame graph"),
            STACK_SIZE,
            Rule::refused(
                &["-m", "--min-block-time", "-M", "--max-block-time"],
                Takes::Value,
                "The tool has no such choice.",
                "Filter the stacks where they are shown.",
            ),
        ],
    ),
    (
        "memleak",
        &[
            PID,
            HELP,
            Rule::ignored(&["-a", "--show-allocs"], Takes::Nothing, "stacks are shown with their sums"),
            Rule::ignored(&["-t", "--trace"], Takes::Nothing, "it is about how the tool prints"),
            Rule::ignored(&["-T", "--top"], Takes::Value, "all stacks are shown"),
            Rule::refused(
                &[
                    "-c",
                    "--command",
                    "-o",
                    "--older",
                    "-s",
                    "--sample-rate",
                    "-z",
                    "--min-size",
                    "-Z",
                    "--max-size",
                    "-O",
                    "--obj",
                ],
                Takes::Value,
                "The tool has no such choice.",
                "Remove it.",
            ),
        ],
    ),
    (
        "syscount",
        &[
            PID,
            HELP,
            DURATION,
            Rule::taken(&["-T", "--top"], Takes::Value),
            UNITS,
            Rule::ignored(&["-i", "--interval"], Takes::Value, "values are shown while they change"),
            Rule::refused(
                &["-L", "--latency"],
                Takes::Nothing,
                "The tool counts calls.",
                "The tool syslatency measures them.",
            ),
            Rule::refused(
                &["-x", "--failures"],
                Takes::Nothing,
                "The tool counts all calls.",
                "The tool syserrors counts those that failed.",
            ),
            Rule::refused(
                &["-P", "--process"],
                Takes::Nothing,
                "The tool counts by call.",
                "Write `bpftrace -e 'tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }'`.",
            ),
            Rule::refused(
                &["-e", "--errno", "-t", "--tid"],
                Takes::Value,
                "The tool has no such choice.",
                "Remove it.",
            ),
            Rule::ignored(&["-l", "--list"], Takes::Nothing, "names of calls are completed in the form"),
        ],
    ),
    (
        "hardirqs",
        &[
            TIME,
            NANOSECONDS,
            HELP,
            Rule::ignored(&["-d", "--dist"], Takes::Nothing, "the tool shows histograms in any case"),
            Rule::refused(
                &["-C", "--count"],
                Takes::Nothing,
                "The tool measures time.",
                "Write `perf stat -e irq:irq_handler_entry -a`.",
            ),
        ],
    ),
    (
        "softirqs",
        &[
            TIME,
            NANOSECONDS,
            HELP,
            Rule::ignored(&["-d", "--dist"], Takes::Nothing, "the tool shows histograms in any case"),
            Rule::refused(
                &["-C", "--events"],
                Takes::Nothing,
                "The tool measures time.",
                "Write `perf stat -e irq:softirq_entry -a`.",
            ),
        ],
    ),
    ("cachestat", SUMS),
    ("dcstat", SUMS),
    ("vfsstat", SUMS),
    ("biotop", SUMS),
    ("filelife", SUMS),
    ("ext4slower", SLOWER),
    ("xfsslower", SLOWER),
    ("btrfsslower", SLOWER),
    ("nfsslower", SLOWER),
    ("klockstat", STACKS),
    ("offwaketime", STACKS),
    ("drsnoop", SNOOP),
    ("mountsnoop", SNOOP),
    ("shmsnoop", SNOOP),
    ("gethostlatency", ANY),
    (
        "bashreadline",
        &[HELP, Rule::refused(&["-s", "--shared"], Takes::Value, "The library is found by the program.", "Remove it.")],
    ),
    (
        "profile",
        &[
            PID,
            FOLDED,
            STACK_SIZE,
            HELP,
            Rule::taken(&["-L", "--tid"], Takes::Value),
            Rule::taken(&["-F", "--frequency"], Takes::Value),
            Rule::taken(&["-U", "--user-stacks-only"], Takes::Nothing),
            Rule::taken(&["-K", "--kernel-stacks-only"], Takes::Nothing),
            Rule::taken(&["-C", "--cpu"], Takes::Value),
            Rule::refused(&["-c", "--count"], Takes::Value, "The tool samples by time.", "Write `perf record -c`."),
            Rule::ignored(&["-I", "--include-idle"], Takes::Nothing, "idle CPUs have no samples of the clock"),
            MAPS,
        ],
    ),
    (
        "funccount",
        &[
            PID,
            HELP,
            TIME,
            DURATION,
            Rule::ignored(&["-i", "--interval", "-D"], Takes::Value, "values are shown while they change"),
            Rule::refused(
                &["-r", "--regexp"],
                Takes::Nothing,
                "Functions are chosen by patterns with *.",
                "Write a pattern such as 'vfs_*'.",
            ),
            Rule::refused(&["-c", "--cpu"], Takes::Value, "The tool sums over all CPUs.", "Remove it."),
        ],
    ),
    (
        "funclatency",
        &[
            PID,
            HELP,
            TIME,
            UNITS,
            DURATION,
            Rule::ignored(&["-u", "--microseconds"], Takes::Nothing, "units are said with the values"),
            Rule::ignored(&["-i", "--interval"], Takes::Value, "values are shown while they change"),
            Rule::ignored(&["-v", "--verbose", "-F", "--function"], Takes::Nothing, "it is about how the tool prints"),
            Rule::refused(
                &["-r", "--regexp"],
                Takes::Nothing,
                "Functions are chosen by patterns with *.",
                "Write a pattern such as 'vfs_*'.",
            ),
            Rule::refused(&["-l", "--level"], Takes::Value, "Nested calls are not told apart.", "Remove it."),
        ],
    ),
    (
        "stackcount",
        &[
            PID,
            HELP,
            TIME,
            Rule::taken(&["--duration", "-D"], Takes::Value),
            Rule::taken(&["-P", "--perpid"], Takes::Nothing),
            Rule::taken(&["-K", "--kernel-stacks-only"], Takes::Nothing),
            Rule::taken(&["-U", "--user-stacks-only"], Takes::Nothing),
            Rule::ignored(&["-i", "--interval"], Takes::Value, "values are shown while they change"),
            Rule::ignored(
                &["-s", "--offset", "-v", "--verbose", "-d", "--delimited", "-f", "--folded"],
                Takes::Nothing,
                "it is about how the tool prints",
            ),
            Rule::refused(
                &["-r", "--regexp"],
                Takes::Nothing,
                "Functions are chosen by patterns with *.",
                "Write a pattern such as 'vfs_*'.",
            ),
            Rule::refused(&["-c", "--cpu"], Takes::Value, "The tool sums over all CPUs.", "Remove it."),
        ],
    ),
    (
        "trace",
        &[
            PID,
            NAME,
            HELP,
            TIMES,
            Rule::taken(&["-K", "--kernel-stack"], Takes::Nothing),
            Rule::taken(&["-U", "--user-stack"], Takes::Nothing),
            Rule::ignored(
                &[
                    "-u",
                    "--unix-timestamp",
                    "-C",
                    "--print_cpu",
                    "-B",
                    "--bin_cmp",
                    "-v",
                    "--verbose",
                    "-a",
                    "--address",
                ],
                Takes::Nothing,
                "it is about how the tool prints",
            ),
            Rule::ignored(
                &["-Z", "--string-size", "-b", "--buffer-pages"],
                Takes::Value,
                "texts have a size of their own, which a script can set",
            ),
            Rule::refused(
                &["-L", "--tid", "-M", "--max-events", "-c", "--cgroup-path", "-f", "--msg-filter"],
                Takes::Value,
                "A script has no such choice.",
                "Remove it, or write it as a condition.",
            ),
            Rule::refused(
                &["-I", "--include"],
                Takes::Value,
                "C headers are not read: types come from the kernel.",
                "Remove it.",
            ),
            Rule::refused(
                &["-S", "--include-self"],
                Takes::Nothing,
                "Processes of Bathyscope are recorded like others.",
                "Remove it.",
            ),
            Rule::refused(
                &["-A", "--aggregate"],
                Takes::Nothing,
                "The tool prints each hit.",
                "Write `argdist` or a script with count().",
            ),
        ],
    ),
];

const UID_OF_STACKS: Rule = Rule::refused(
    &["-u", "--user-threads-only", "--useronly"],
    Takes::Nothing,
    "Threads of the kernel are not left out.",
    "Filter the stacks where they are shown.",
);

const OF_RUNTIMES: &str = "Write a script with the USDT probes of the runtime: the catalogue lists those of each program; the tool \
                           pycalls counts calls of Python.";

/// Tools of BCC and others that the library does not have, and what is nearest.
pub(super) const NOT_THERE: [(&str, &str); 66] = [
    (
        "blkparse",
        "The tool biosnoop shows each request of a disk; `perf record -e 'block:*' -a` records all of its steps.",
    ),
    (
        "blktrace",
        "The tool biosnoop shows each request of a disk; `perf record -e 'block:*' -a` records all of its steps.",
    ),
    ("btrfsdist", "The tool fileslower shows slow reads and writes; syslatency makes histograms by system call."),
    ("cachetop", "The tool pagecache shows what comes into and leaves the page cache."),
    ("cpuunclaimed", "The timeline of thread states shows idle CPUs beside threads that wait."),
    ("criticalstat", "The tracer preemptirqsoff finds the longest time: trace-cmd record -p preemptirqsoff."),
    ("cthreads", "The tool threadsnoop shows threads that are started."),
    ("dbslower", "Write a script with the USDT probes of the server."),
    ("dbstat", "Write a script with the USDT probes of the server."),
    ("dcsnoop", "Write `bpftrace -e 'kprobe:lookup_fast { @[comm] = count(); }'`."),
    ("deadlock", "The tool futexes shows which locks of programs are waited for."),
    ("dirtop", "The tool filetop sums reads and writes by file."),
    ("ext4dist", "The tool fileslower shows slow reads and writes; syslatency makes histograms by system call."),
    ("funcslower", "The tool funclatency makes a histogram of a function's durations."),
    ("inject", "Bathyscope changes nothing that it observes."),
    ("javacalls", OF_RUNTIMES),
    ("javaflow", OF_RUNTIMES),
    ("javagc", OF_RUNTIMES),
    ("javaobjnew", OF_RUNTIMES),
    ("javastat", OF_RUNTIMES),
    ("javathreads", OF_RUNTIMES),
    ("llcstat", "Write `perf stat -e LLC-loads,LLC-load-misses -a`."),
    ("mdflush", "Write `bpftrace -e 'kprobe:md_flush_request { @[comm] = count(); }'`."),
    ("mysqld_qslower", "Write a script with the USDT probes of the server."),
    ("netqtop", "The tool netrate shows packets by device."),
    ("nfsdist", "The tool fileslower shows slow reads and writes; syslatency makes histograms by system call."),
    ("nodegc", OF_RUNTIMES),
    ("nodestat", OF_RUNTIMES),
    ("perlcalls", OF_RUNTIMES),
    ("perlflow", OF_RUNTIMES),
    ("perlstat", OF_RUNTIMES),
    ("phpcalls", OF_RUNTIMES),
    ("phpflow", OF_RUNTIMES),
    ("phpstat", OF_RUNTIMES),
    ("pidpersec", "The tool forks shows processes that are made."),
    ("ppchcalls", "It is for another processor."),
    ("pythonflow", OF_RUNTIMES),
    ("pythongc", OF_RUNTIMES),
    ("pythonstat", OF_RUNTIMES),
    ("readahead", "The tool pagecache shows what comes into and leaves the page cache."),
    ("reset-trace", "`bathyscope cleanup` removes what ended captures have left."),
    ("rubycalls", OF_RUNTIMES),
    ("rubyflow", OF_RUNTIMES),
    ("rubygc", OF_RUNTIMES),
    ("rubyobjnew", OF_RUNTIMES),
    ("rubystat", OF_RUNTIMES),
    ("slabratetop", "The tool slabrate shows allocations by cache."),
    ("sofdsnoop", "Write `strace -e sendmsg,recvmsg`."),
    ("swapin", "Write `perf stat -e vm:pswpin -a`, or the recipe for memory."),
    ("tclcalls", OF_RUNTIMES),
    ("tclflow", OF_RUNTIMES),
    ("tclobjnew", OF_RUNTIMES),
    ("tclstat", OF_RUNTIMES),
    ("tcpcong", "Write `bpftrace -e 'tracepoint:tcp:tcp_cong_state_set { @[args.cong_state] = count(); }'`."),
    ("tcpsubnet", "The tool tcptop sums by connection."),
    ("tcpsynbl", "Write `bpftrace -e 'kprobe:tcp_v4_syn_recv_sock { @ = count(); }'`."),
    ("tcptracer", "The tools tcpconnect, tcpaccept and tcplife follow connections."),
    ("tplist", "The catalogue lists tracepoints and USDT probes with their arguments."),
    ("ttysnoop", "Write `strace -e write=all -p PID` of the process that writes to the terminal."),
    ("ucalls", OF_RUNTIMES),
    ("uflow", OF_RUNTIMES),
    ("ugc", OF_RUNTIMES),
    ("uobjnew", OF_RUNTIMES),
    ("ustat", OF_RUNTIMES),
    ("uthreads", OF_RUNTIMES),
    ("vfscount", "Write `funccount 'vfs_*'`."),
];
