//! What every script of the tool library and every example must show, and what is done for it.

/// A script and its proof.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// Its name: the file's without `.bt`.
    pub name: &'static str,
    /// What follows the file.
    pub params: &'static str,
    /// What happens while it is attached.
    pub work: Work,
    /// What it must print, as `tracing::shows` reads it; or `sum COLUMN LEAST`, of the lines below a header.
    pub wants: &'static [&'static str],
    /// What it needs beside the probes that its header names.
    pub needs: Need,
}

/// What is done while a script is attached. Words may be `{file}`, `{other}` (files that can be written), `{folder}`,
/// `{port}`, `{group}` (a control group of 16 MiB), `{huge}` (more large pages than
/// there is room for) and `{work}` (the program that does it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// `tests/programs/work.c` with these words.
    Do(&'static str),
    /// The same, upon which the script ends by itself.
    Last(&'static str),
    /// The same, upon which the output is waited for: it is printed once a second.
    Until(&'static str),
    /// A TLS connection between two `openssl` processes, with a line of text.
    Tls,
    /// Nothing; its output is waited for.
    Wait,
    /// Nothing; it ends by itself.
    Nothing,
}

/// What the host must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Nothing,
    /// Files of the project are on a disk of its own.
    Disk,
    /// They are on ext4.
    Ext4,
    /// Control groups limit memory.
    MemoryGroup,
    /// The whole system can be brought into trouble, which is only done in the lab.
    Lab,
    /// CPUs that change their frequency.
    Frequency,
    /// A second processor.
    Processors,
    OpenSsl,
}

const fn case(name: &'static str, params: &'static str, work: Work, wants: &'static [&'static str]) -> Case {
    Case { name, params, work, wants, needs: Need::Nothing }
}

impl Case {
    const fn needs(mut self, needs: Need) -> Self {
        self.needs = needs;
        self
    }
}

use Work::{Do, Last, Nothing, Tls, Until, Wait};

/// The tool library. Functions of the C library have no frames here, so that who calls them may be missing in stacks.
pub(crate) const TOOLS: &[Case] = &[
    case("bashreadline", "", Do("shell true-it-is"), &["true-it-is"]),
    case("bindsnoop", "", Do("tcp {port}"), &["work … 2 … {port} … 0"]),
    case("bioheat", "", Do("write {file}"), &["@us:"]).needs(Need::Disk),
    case("biolatency", "", Do("write {file}"), &["@us:"]).needs(Need::Disk),
    case("biopattern", "", Do("write {file}"), &["@requests["]).needs(Need::Disk),
    case("biosnoop", "", Do("reread {file}"), &["work … :"]).needs(Need::Disk),
    case("biostacks", "", Do("reread {file}"), &["@us[ >> blk_mq_"]).needs(Need::Disk),
    case("biotop", "", Do("reread {file}"), &["@bytes[work, R"]).needs(Need::Disk),
    case("bitesize", "", Do("reread {file}"), &["@bytes[work]:"]).needs(Need::Disk),
    case("cachestat", "", Until("reread {file}"), &["sum TOTAL 1", "sum DIRTIED 1"]).needs(Need::Ext4),
    case("capable", "", Do("mount {folder}"), &["work … 21 … 0"]),
    case("capable-kprobe", "", Do("mount {folder}"), &["work … 21"]),
    case("compactsnoop", "", Do("put /proc/sys/vm/compact_memory 1"), &["work"]),
    case("cpudist", "", Do("wake"), &["@us: >> |@"]),
    case("cpufreq", "", Do("spin 100"), &["@mhz["]).needs(Need::Frequency),
    case("cpuwalk", "", Do("spin 500"), &["@cpu: >> |@"]),
    case("dcstat", "", Until("write {file}"), &["sum LOOKUPS 1", "sum SLOW 1", "sum MISSES 1"]),
    case("drops", "", Do("refused {port}"), &["tcp_v4_rcv"]),
    case("drsnoop", "", Do("put /proc/sys/vm/nr_hugepages {huge}"), &["work"]).needs(Need::Lab),
    case("eventcount", "sched sched_process_*", Do("exit"), &["sched_process_exit]:"]),
    case("eventstacks", "syscalls sys_enter_clock_nanosleep", Do("sleep 1"), &["@stacks[work, >> do_sleep+"]),
    case("execsnoop", "", Do("exec /bin/echo some words"), &["work … /bin/echo some words"]),
    case("exitsnoop", "", Do("exit"), &["work … 42 0", "work … 0 15"]),
    case("ext4slower", "--ms=0", Do("write {file}"), &["work … 65536 … file"]).needs(Need::Ext4),
    case("ext4sync", "", Do("write {file}"), &["@us["]).needs(Need::Ext4),
    case("faults", "", Do("touch 20000000"), &["@faults[work, >> do_touch+"]),
    case("filecalls", "", Do("write {file}"), &["sys_enter_write]:", "sys_enter_fsync]:"]),
    case("filegone", "", Do("remove {file} {other}"), &["work … rename … {file} to {other}", "work … delete {other}"]),
    case("filelife", "", Do("brief {file}"), &["work … {file}"]),
    case("fileslower", "--ms=0", Do("write {file}"), &["work … 65536 … file"]),
    case("filetop", "--top=1000", Do("write {file}"), &["@read[work, file]: 65536", "@written[work, file]: 1048576"]),
    case("forks", "", Do("exit"), &["@forks[work]: 2"]),
    case("funccount", "{work} do_o*", Do("open /etc/hosts"), &["{work}:do_open]: 1"]),
    case("funclatency", "{work} nap", Do("sleep 20"), &["@ns[work]: >> [16M, 32M)"]),
    case("funcstacks", "{work} nap", Do("sleep 1"), &["@stacks[work, >> nap+ >> do_sleep+ >> main+"]),
    case("futexes", "", Do("futex"), &["@us[work, >> lock_wait+"]),
    case("gethostlatency", "", Do("resolve localhost"), &["work … localhost"]),
    case("hardirqs", "", Do("reread {file}"), &["@ns[ … ]: { .count = "]),
    case("kfunccount", "vfs_*", Do("write {file}"), &["vfs_write]:", "vfs_fsync_range]:"]),
    case("kfunclatency", "vfs_write", Do("write {file}"), &["@ns: >> |@"]),
    case("killsnoop", "", Do("kill"), &["work … 10 … 0"]),
    case("klockstat", "", Do("contend"), &["@waits[ >> ]: "]).needs(Need::Processors),
    case("loads", "", Wait, &[": … . … /"]),
    case("locks", "", Do("contend"), &["@ns[work, >> ]: "]).needs(Need::Processors),
    case("majorfaults", "", Do("major {file}"), &["@faults[work, >> do_major+"]),
    case("memleak", "", Do("malloc 123456"), &["@held[work, >> keep_memory+ >> ]: 123456"]),
    case("migrations", "", Do("migrate"), &["@moves[0, 1]:", "@moves[1, 0]:"]).needs(Need::Processors),
    case("mmaps", "", Do("touch 20000768"), &["@bytes[work, >> main+ >> ]: 20000768"]),
    case(
        "mountsnoop",
        "",
        Do("mount {folder}"),
        &["work … mount worktmp on {folder} as tmpfs = 0", "umount {folder} = 0"],
    ),
    case("naptime", "", Do("sleep 50"), &["work … 50000"]),
    case("netrate", "", Do("tcp {port}"), &["@sent[lo]:", "@received[lo]:"]),
    case("offwaketime", "", Do("wake"), &["@us[work, >> , work, >> ]: "]),
    case("offcputime", "", Do("sleep 20"), &["@us[work, >> do_sleep+ >> schedule"]),
    case("oomkill", "", Do("oom {group}"), &["work … "]).needs(Need::MemoryGroup),
    case("opensnoop", "--failed", Do("missing /no/such/file"), &["work … -2 … /no/such/file"]),
    case("pagecache", "", Do("write {file}"), &["@added[work]:"]),
    case("profile", "", Do("spin 500"), &["@samples[work, >> spin_here+ >> do_spin+ >> main+"]),
    case("pycalls", "{work}", Do("mark x"), &["@calls[marks.py, marked]: 5"]),
    case("pygc", "{work}", Do("mark x"), &["@us[2]:"]),
    case("runqlat", "", Do("wake"), &["@us: >> |@"]),
    case("runqlen", "", Do("spin 500"), &["@waiting: >> |@"]),
    case("runqslower", "--ms=0", Do("wake"), &["work"]),
    case("setuids", "", Do("setuid 1234"), &["work … 0 … 1234 … 0"]),
    case("shmsnoop", "", Do("shm"), &["work … shmget key 0x0, 12345 bytes", "work … shmat id", "work … shmdt 0x"]),
    case("signals", "", Do("kill"), &["work … work … 10"]),
    case("slabrate", "--top=1000", Do("open /etc/hosts"), &["@bytes["]),
    case("softirqs", "", Do("tcp {port}"), &["@us[net_rx]:"]),
    case("solisten", "", Do("tcp {port}"), &["work … 8"]),
    case("ssllatency", "", Tls, &["@us[openssl]:"]).needs(Need::OpenSsl),
    case("sslsnoop", "", Tls, &["openssl … write … in the clear", "openssl … read … in the clear"])
        .needs(Need::OpenSsl),
    case("statsnoop", "", Do("stat /etc/hostname"), &["work … 0 /etc/hostname"]),
    case("strace", "", Do("kill"), &["work … kill … 0xa"]),
    case("syncsnoop", "", Do("write {file}"), &["work … sys_exit_fsync"]),
    case("syscount", "--top=1000", Do("sleep 1"), &["nanosleep]:", "@processes[work, "]),
    case("syserrors", "", Do("missing /no/such/file"), &["@errors[work, openat, No such file or directory]: "]),
    case("syslatency", "", Do("sleep 20"), &["nanosleep]: { .count = "]),
    case("tcpaccept", "", Do("tcp {port}"), &["127.0.0.1 … {port}"]),
    case("tcpconnect", "", Do("tcp {port}"), &["work … 127.0.0.1 … {port}"]),
    case("tcpconnlat", "", Do("tcp {port}"), &["work … 127.0.0.1 … {port}"]),
    case("tcpdrop", "", Do("refused {port}"), &["127.0.0.1 … 127.0.0.1 … {port} … tcp_v4_rcv"]),
    case("tcplife", "", Do("tcp {port}"), &["work … 127.0.0.1 … {port} … 2000"]),
    case("tcpretrans", "", Do("retransmit {port}"), &["127.0.0.1 … 127.0.0.1 … {port} … 2"]),
    case("tcprtt", "", Do("tcp {port}"), &["@us[{port}]: >> |@"]),
    case("tcpstates", "", Do("tcp {port}"), &["work … {port} … CLOSE … SYN_SENT", "{port} … FIN_WAIT"]),
    case("tcptop", "--top=1000", Do("tcp {port}"), &["@sent[work, … ]: 40000", "@received[work, … ]: 40000"]),
    case("threadsnoop", "", Do("thread"), &["work … thread_begins"]),
    case("usdtcount", "{work} *", Do("mark x"), &["work:step]: 5"]),
    case("vfsstat", "", Until("write {file}"), &["sum WRITE 16", "sum READ 1", "sum FSYNC 1", "sum OPEN 1"]),
    case("wakeuptime", "", Do("wake"), &["@us[work, work, >> ]: "]),
    case("wqlat", "", Do("terminal"), &["@us[flush_to_ldisc]:"]),
    case("writeback", "", Do("sync {file}"), &[" … sync … "]).needs(Need::Disk),
];

/// The examples of the language's reference.
pub(crate) const EXAMPLES: &[Case] = &[
    case("01_hello", "", Nothing, &["tracing, end it >> one second more: 1 >> done"]),
    case("02_predicate", "", Do("write {file}"), &["work … writes 65536 bytes"]),
    case("03_several", "", Do("exit"), &["sched_process_fork]:", "sched_process_exit]:"]),
    case("04_macro", "", Do("write {file}"), &["work waited … us for fsync"]),
    case("05_parameters", "--most=1", Last("missing /no/such/file"), &["opens that fail, at most 1"]),
    case("06_tracepoint", "", Do("wake"), &["@switches[work, "]),
    case("07_rawtracepoint", "", Do("wake"), &["@by_priority[120]:"]),
    case("08_profile", "", Do("spin 500"), &["spin_here+ >> , work]:"]),
    case("09_interval", "", Wait, &["@calls: "]),
    case("10_uprobe", "", Do("malloc 123456"), &["@bytes: >> |@", "@calls[work]: "]),
    case("11_software", "", Do("touch 20000000"), &["@[work]: "]),
    case("12_kprobe", "", Do("write {file}"), &["@ns: >> |@"]),
    case("13_numbers", "", Nothing, &["10000000 ns, 70000 of 16 bits: 4464", "beef 755 A"]),
    case("14_texts", "", Do("open /etc/hostname"), &["@opened[/etc/hostname]: "]),
    case("15_structures", "", Nothing, &[": parent … mappings"]),
    case("16_own_structures", "", Do("pipe"), &["work: pipe 3 and 4"]),
    case("17_tuples", "", Do("exit"), &["work ended as ", "@last: ("]),
    case("18_maps", "", Do("wake"), &["@us[work]: "]),
    case("19_histograms", "", Do("write {file}"), &["@bytes: >> [64K, 128K)", "@small: >> [1000, ...)"]),
    case(
        "20_statistics",
        "",
        Do("write {file}"),
        // Other tests run programs of this name meanwhile, which write single bytes.
        &[
            "@count[work]: ",
            "@total[work]: 104",
            "@least[work]: ",
            "@most[work]: 65536",
            "@mean[work]: ",
            "@all[work]: { .count = ",
        ],
    ),
    case("21_top", "", Wait, &["@["]),
    case("22_declared", "", Do("exec /bin/true"), &["programs, at most 100 are remembered"]),
    case("23_conditions", "", Do("missing /no/such/file"), &["@missing: "]),
    case("24_loops", "", Nothing, &["3 * 3 = 9", "@square[4]: 16"]),
    case("25_stacks", "", Do("sleep 20"), &["@[work, >> schedule"]),
    case("26_symbols", "", Do("sleep 20"), &["@[hrtimer_wakeup"]),
    case("27_times", "", Do("exec /bin/true"), &[": … /bin/true"]),
];
