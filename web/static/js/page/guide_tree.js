// The questions of the guided start: at most three lead to what is recorded for an answer. Names of recipes and tools are those of
// the program; a test holds that each exists, and that commands are understood.

/**
 * @typedef {object} Way one way to an answer
 * @property {string} [recipe] a recipe's name
 * @property {string} [tool] a tool's name
 * @property {string} [command] a command line of another tool, which the form reads
 * @property {string} [page] the address of a page
 * @property {string} [label] what the link to a page says
 * @property {string} why what it shows, and when it is the right one: a sentence
 * @property {string[]} [needs] capabilities of the host, of a command and a page; all of them
 *
 * @typedef {object} Choice
 * @property {string} id what it is called in the address
 * @property {string} text
 * @property {string} [question] what is asked next
 * @property {Choice[]} [choices]
 * @property {Way[]} [ways] the best first
 */

/** @param {string} name @param {string} why @returns {Way} */
const recipe = (name, why) => ({ recipe: name, why });
/** @param {string} name @param {string} why @returns {Way} */
const tool = (name, why) => ({ tool: name, why });
/** @param {string} text @param {string} why @param {string[]} [needs] @returns {Way} */
const command = (text, why, needs = ["tracepoint"]) => ({ command: text, why, needs });
/** @param {string} label @param {string} address @param {string} why @param {string[]} [needs] @returns {Way} */
const page = (label, address, why, needs = []) => ({ label, page: address, why, needs });
/** @param {string} id @param {string} text @param {...Way} ways @returns {Choice} */
const leaf = (id, text, ...ways) => ({ id, text, ways });

/** @type {Choice} */
const TIME = {
  id: "time",
  text: "Where the time goes: a hot spot or a call path",
  question: "The time of what?",
  choices: [
    {
      id: "process",
      text: "A process",
      question: "What does it do in that time?",
      choices: [
        leaf(
          "both",
          "I do not know yet",
          recipe(
            "process-time",
            "Samples on the CPU beside thread states: shows whether the process runs or waits, and where.",
          ),
        ),
        leaf(
          "cpu",
          "It uses the CPU",
          tool("profile", "Samples stacks on the CPU: a flame graph of what the CPU works on."),
          command("perf record -F 99 -g -p PID", "Samples of one process; choose it in the form.", [
            "cpu_clock_sampling",
          ]),
        ),
        leaf(
          "waits",
          "It waits",
          recipe("waiting", "Thread states with who wakes whom: the timeline shows each wait and the critical path."),
          tool(
            "offcputime",
            "Sums waiting time by stack: a flame graph of what threads wait for. Costs less than each wait.",
          ),
        ),
      ],
    },
    leaf(
      "command",
      "A command that I start",
      recipe(
        "command",
        "Records the command from its first instruction to its end, with the processes that it starts.",
      ),
    ),
    leaf(
      "machine",
      "The whole machine",
      recipe("machine", "What every CPU does, who waits, disks and pressure, on one clock."),
      command(
        "perf record -F 99 -a -g -- sleep 10",
        "Samples of all CPUs for ten seconds: a flame graph of the machine.",
        ["cpu_clock_sampling"],
      ),
    ),
    leaf(
      "kernel",
      "The kernel: which functions call which",
      command(
        "trace-cmd record -p function_graph -g vfs_read sleep 1",
        "The tree of calls below one function, with the time of each.",
        ["function_graph"],
      ),
      command(
        "perf record -F 99 -a -g -- sleep 10",
        "Samples of stacks also show call paths, without the function tracers.",
        ["cpu_clock_sampling"],
      ),
    ),
    leaf(
      "runtime",
      "A language runtime",
      tool("pycalls", "Counts calls of Python functions; Python must have been built with USDT probes."),
      tool("pygc", "How long Python's garbage collections take."),
      command(
        "perf record -F 99 -g -p PID",
        "Samples; functions of just-in-time compilers are named from /tmp/perf-PID.map.",
        ["cpu_clock_sampling"],
      ),
    ),
  ],
};

/** @type {Choice} */
const SLOW = {
  id: "slow",
  text: "Why something is slow now and then: rare slow events",
  question: "What is slow?",
  choices: [
    leaf(
      "disk",
      "Disks or files",
      recipe("disk", "Each disk request with its latency, and who waits for it."),
      tool("fileslower", "Each read and write of a file that took long, with the file's name."),
      tool("ext4slower", "The same of files on one kind of file system."),
      tool("bioheat", "A heat map of disk latency: shows when disks became slow."),
    ),
    leaf(
      "network",
      "The network",
      recipe("network", "TCP connections with latency, retransmissions and drops."),
      tool("tcpconnlat", "How long the other side took to answer each new connection."),
      tool("gethostlatency", "How long lookups of host names take."),
      tool("tcpretrans", "Each retransmitted segment."),
    ),
    leaf(
      "cpu",
      "Threads wait for a CPU",
      tool("runqslower", "Each long wait for a CPU, with the thread that ran there before."),
      tool("runqlat", "The distribution of all waits for a CPU."),
    ),
    leaf(
      "lock",
      "Locks",
      tool("futexes", "Waiting time for locks of programs by stack."),
      tool("locks", "Waiting time for locks of the kernel by stack."),
      tool("klockstat", "Waiting time, number of waits and the longest wait for locks of the kernel."),
      recipe("waiting", "Who held up whom, on a timeline."),
    ),
    leaf(
      "call",
      "A system call",
      command("strace -T -p PID", "Each system call of a process with its duration, without stopping the process."),
      tool("syslatency", "Count, average and total duration of each system call."),
    ),
    leaf(
      "function",
      "A function of the kernel or of a program",
      tool("kfunclatency", "The distribution of the duration of a kernel function."),
      tool("funclatency", "The distribution of the duration of a function of a program or library."),
      tool("syslatency", "Durations of system calls need no probe on a function."),
    ),
    leaf(
      "interrupt",
      "Interrupts",
      tool("hardirqs", "How long handlers of hardware interrupts take."),
      tool("softirqs", "How long soft interrupts take, by kind."),
    ),
  ],
};

/** @type {Choice} */
const COUNT = {
  id: "count",
  text: "How often or how much: counts and sums",
  question: "Of what?",
  choices: [
    leaf("calls", "System calls", tool("syscount", "System calls by name and by process.")),
    leaf(
      "files",
      "Reads and writes of files",
      tool("filetop", "Bytes that are read and written, by file and process."),
      tool("pagecache", "Pages that enter and leave the page cache."),
      tool("vfsstat", "Reads, writes, opens and more, once a second."),
    ),
    leaf(
      "caches",
      "Hits and misses of file caches",
      tool("cachestat", "Hits and misses of the page cache, once a second."),
      tool("dcstat", "Lookups in the cache of directory entries, once a second."),
    ),
    leaf(
      "network",
      "Bytes on the network",
      tool("tcptop", "Bytes over TCP by process."),
      tool("netrate", "Bytes by network device."),
    ),
    leaf(
      "functions",
      "Calls of functions",
      tool("kfunccount", "Calls of kernel functions; the name may have wildcards."),
      tool("funccount", "Calls of functions of a program or library."),
    ),
    leaf(
      "events",
      "Any event of the kernel, in intervals",
      command(
        "perf stat -a -e sched:sched_switch -I 1000",
        "Counts in each second, as a chart; choose other events in the form.",
      ),
      tool("eventcount", "Counts of tracepoints, with wildcards."),
    ),
    leaf(
      "hardware",
      "Cycles, cache misses and other counters of the CPU",
      command("perf stat -ddd -a -- sleep 5", "Counters of the CPU with the ratios that follow from them.", ["pmu"]),
      command(
        "perf stat -a -- sleep 5",
        "The software counters, which every machine has: task clock, switches, migrations, faults.",
        ["cpu_clock_sampling"],
      ),
    ),
    leaf(
      "usdt",
      "USDT probes of a program or runtime",
      tool("usdtcount", "Hits of the USDT probes that a program was built with."),
      page("Find USDT probes", "/catalog?kind=marker", "The catalogue lists the USDT probes of programs.", ["uprobe"]),
    ),
  ],
};

/** @type {Choice} */
const DISTRIBUTION = {
  id: "distribution",
  text: "How values are distributed: histograms",
  question: "Of which values?",
  choices: [
    leaf(
      "disk",
      "Latency of disks",
      tool("biolatency", "Latency from request to completion."),
      tool("bitesize", "Sizes of disk requests."),
    ),
    leaf("runqueue", "Waits for a CPU", tool("runqlat", "From when a thread can run to when it does.")),
    leaf("oncpu", "How long threads run at a time", tool("cpudist", "Many short runs mean frequent switches.")),
    leaf("network", "Round-trip times", tool("tcprtt", "Round-trip times that TCP measures, by port.")),
    leaf(
      "function",
      "Duration of a function",
      tool("kfunclatency", "Of a kernel function."),
      tool("funclatency", "Of a function of a program or library."),
    ),
    leaf(
      "work",
      "Waits of kernel work in its queue",
      tool("wqlat", "From when work is queued to when a worker begins it."),
    ),
  ],
};

/** @type {Choice} */
const WHO = {
  id: "who",
  text: "Who does it, and what: each event with its process",
  question: "Does what?",
  choices: [
    leaf(
      "open",
      "Opens files",
      tool("opensnoop", "Each file that is opened, by whom, and how long it took."),
      tool("statsnoop", "Who calls stat on files."),
    ),
    leaf(
      "start",
      "Starts programs or threads",
      tool("execsnoop", "Each program at its start, with its arguments."),
      tool("threadsnoop", "Each thread that is created."),
    ),
    leaf(
      "end",
      "Exits or is killed",
      tool("exitsnoop", "Each process that ends, with its age and reason."),
      tool("killsnoop", "Who sends which signal to whom."),
      tool("oomkill", "Processes that the kernel kills for memory."),
    ),
    leaf(
      "disk",
      "Uses the disk",
      tool("biosnoop", "Each disk request with its process."),
      tool("biotop", "Requests and bytes by process."),
      tool("biostacks", "Which kernel code path issues the requests."),
    ),
    leaf(
      "connect",
      "Uses the network",
      tool("tcpconnect", "Connections that processes open."),
      tool("tcpaccept", "Connections from outside."),
      tool("tcplife", "Each connection with its bytes and duration."),
    ),
    leaf(
      "memory",
      "Uses memory",
      recipe("memory", "Where the memory of a process comes from: mappings, page faults and stacks."),
      tool("faults", "Which code touches memory for the first time."),
      tool("memleak", "Memory that is not freed, by stack."),
    ),
    leaf(
      "wakes",
      "Wakes others, or lets them wait",
      tool("wakeuptime", "Who ended waits, after how long."),
      tool("offwaketime", "What threads waited for, with the stack of who woke them."),
      recipe("waiting", "Who waits for whom, on a timeline."),
    ),
    leaf(
      "calls",
      "Makes system calls",
      command(
        "strace -p PID",
        "Each system call with its arguments, as strace prints it; choose the process in the form.",
      ),
    ),
  ],
};

/** @type {Choice} */
const ERRORS = {
  id: "errors",
  text: "What fails: errors",
  question: "Where?",
  choices: [
    leaf("calls", "System calls", tool("syserrors", "Failing system calls by process, call and error.")),
    leaf("files", "Opening files", tool("opensnoop", "With --failed, only what could not be opened.")),
    leaf(
      "network",
      "Packets",
      tool("tcpdrop", "Dropped packets of TCP with the reason."),
      tool("drops", "Dropped packets of all kinds, by reason and stack."),
      tool("tcpretrans", "Retransmitted segments."),
    ),
    leaf(
      "process",
      "Processes that end early",
      tool("exitsnoop", "With --failed, only those with an exit code or a signal."),
      tool("signals", "Each signal that reaches a process."),
    ),
    leaf("rights", "Missing rights", tool("capable", "With --denied, privileges that were asked for and refused.")),
  ],
};

/** @type {Choice} */
const SECURITY = {
  id: "security",
  text: "What happens that should not: security",
  question: "What do you want to watch?",
  choices: [
    leaf("programs", "Programs that are started", tool("execsnoop", "Each program with its arguments and its parent.")),
    leaf(
      "rights",
      "Privileges and changes of the user",
      tool("capable", "Privileges that processes use."),
      tool("setuids", "Changes of user, and whether they were allowed."),
    ),
    leaf(
      "files",
      "Files",
      tool("opensnoop", "Files that are opened."),
      tool("filegone", "Files that are deleted and renamed."),
      tool("filelife", "Files that are deleted soon after they were created."),
      tool("mountsnoop", "File systems that are mounted."),
    ),
    leaf(
      "network",
      "The network",
      tool("solisten", "Processes that start to listen on a port."),
      tool("tcpconnect", "Connections to outside."),
      tool("sslsnoop", "What goes through OpenSSL, in the clear: handle it as a secret."),
    ),
    leaf("shell", "Commands that are typed", tool("bashreadline", "Command lines that are typed into bash.")),
    leaf(
      "container",
      "What a container does",
      command(
        "sysdig container.id=abc and evt.type=open",
        "Files that a container opens; choose the container in the form.",
      ),
    ),
  ],
};

/** The first question. @type {Choice} */
export const GUIDE = {
  id: "",
  text: "",
  question: "What do you want to know?",
  choices: [TIME, SLOW, COUNT, DISTRIBUTION, WHO, ERRORS, SECURITY],
};
