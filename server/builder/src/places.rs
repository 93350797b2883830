//! Which places belong together, which are near one that cannot be probed, and those that no list of the kernel has.

use std::collections::BTreeSet;

use bathyscope_bpf::lang::attach_text;
use serde::Serialize;

/// A second place that belongs to one: when what began there ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Partner {
    /// The site.
    pub site: String,
    /// What is the same at both, as expressions at the first.
    pub key: Vec<String>,
    /// The same at the second.
    pub end_key: Vec<String>,
    /// What the time between them is.
    pub meaning: &'static str,
}

impl Partner {
    fn of_thread(site: String, meaning: &'static str) -> Self {
        Self { site, key: vec!["tid".to_owned()], end_key: vec!["tid".to_owned()], meaning }
    }
}

/// A tracepoint with another one that ends what it begins.
struct TracepointPair {
    first: &'static str,
    second: &'static str,
    /// What is the same at both, as expressions at each; blanks separate the parts.
    keys: (&'static str, &'static str),
    meaning: &'static str,
}

const fn pair(
    first: &'static str,
    second: &'static str,
    keys: (&'static str, &'static str),
    meaning: &'static str,
) -> TracepointPair {
    TracepointPair { first, second, keys, meaning }
}

/// Tracepoints that belong together and are not in the same thread, or not of like names.
#[rustfmt::skip]
static PAIRS: [TracepointPair; 12] = [
    pair("block:block_rq_issue", "block:block_rq_complete", ("args.dev args.sector", "args.dev args.sector"), "how long the device takes"),
    pair("block:block_rq_insert", "block:block_rq_issue", ("args.dev args.sector", "args.dev args.sector"), "how long a request waits for the device"),
    pair("sched:sched_wakeup", "sched:sched_switch", ("args.pid", "args.next_pid"), "how long a thread waits for a CPU"),
    pair("sched:sched_waking", "sched:sched_switch", ("args.pid", "args.next_pid"), "how long a wake-up takes"),
    pair("sched:sched_switch", "sched:sched_switch", ("args.prev_pid", "args.next_pid"), "how long a thread is off the CPU"),
    pair("irq:irq_handler_entry", "irq:irq_handler_exit", ("cpu", "cpu"), "how long the handler takes"),
    pair("irq:softirq_entry", "irq:softirq_exit", ("cpu", "cpu"), "how long the handler takes"),
    pair("irq:softirq_raise", "irq:softirq_entry", ("cpu args.vec", "cpu args.vec"), "how long it is pending"),
    pair("workqueue:workqueue_queue_work", "workqueue:workqueue_execute_start", ("args.work", "args.work"), "how long work waits"),
    pair("workqueue:workqueue_execute_start", "workqueue:workqueue_execute_end", ("args.work", "args.work"), "how long work takes"),
    pair("timer:hrtimer_expire_entry", "timer:hrtimer_expire_exit", ("args.hrtimer", "args.hrtimer"), "how long it runs"),
    pair("nvme:nvme_setup_cmd", "nvme:nvme_complete_rq", ("args.ctrl_id args.cid", "args.ctrl_id args.cid"), "how long a command takes"),
];

/// Words at the end of a tracepoint's name that others answer in the same thread.
const ENDINGS: [(&str, &str); 6] = [
    ("_enter", "_exit"),
    ("_entry", "_exit"),
    ("_begin", "_end"),
    ("_start", "_end"),
    ("_start", "_done"),
    ("_acquire", "_release"),
];

/// The places that may end what begins at `site`, the likeliest first. `exists` says whether there is a tracepoint of a name.
pub fn partners(site: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Partner> {
    let Ok(read) = attach_text(site) else { return Vec::new() };
    let parts: Vec<&str> = read.parts.iter().map(|part| part.text.as_str()).collect();
    let rest = || site.split_once(':').map_or("", |(_, rest)| rest);
    let until = "from the call to the return";
    match parts.as_slice() {
        ["kprobe", name] | ["kprobe", _, name] if !name.contains('+') => {
            vec![Partner::of_thread(format!("kretprobe:{}", rest()), until)]
        }
        ["fentry", ..] => vec![Partner::of_thread(format!("fexit:{}", rest()), until)],
        ["uprobe", _, name] if !name.contains('+') => {
            vec![Partner::of_thread(format!("uretprobe:{}", rest()), until)]
        }
        ["tracepoint", system, name] => tracepoint_partners(system, name, exists),
        _ => Vec::new(),
    }
}

fn tracepoint_partners(system: &str, name: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Partner> {
    if *system == *"syscalls"
        && let Some(call) = name.strip_prefix("sys_enter_")
    {
        let site = format!("tracepoint:syscalls:sys_exit_{call}");
        return vec![Partner::of_thread(site, "how long the system call takes")];
    }
    let full = format!("{system}:{name}");
    let known = PAIRS.iter().filter(|pair| pair.first == full && exists(pair.second));
    let parts = |keys: &str| keys.split(' ').map(str::to_owned).collect();
    let partner = |pair: &TracepointPair| Partner {
        site: format!("tracepoint:{}", pair.second),
        key: parts(pair.keys.0),
        end_key: parts(pair.keys.1),
        meaning: pair.meaning,
    };
    let mut found: Vec<Partner> = known.map(partner).collect();
    for (begin, end) in ENDINGS {
        let Some(stem) = name.strip_suffix(begin) else { continue };
        let other = format!("{system}:{stem}{end}");
        let site = format!("tracepoint:{other}");
        if exists(&other) && !found.iter().any(|it| it.site == site) {
            found.push(Partner::of_thread(site, "from one to the other in a thread"));
        }
    }
    found
}

/// Words of kernel functions that say nothing of what they do.
const EMPTY_WORDS: [&str; 24] = [
    "do", "the", "sys", "ksys", "x64", "ia32", "compat", "se", "vfs", "generic", "get", "set", "put", "file", "iter",
    "core", "to", "of", "in", "is", "on", "internal", "common", "at2",
];

/// The tracepoints that tell most of what a function of the kernel would, for kernels that cannot probe it: the system call
/// that leads there, and those that share words with its name.
pub fn nearest<'a>(function: &str, tracepoints: impl Iterator<Item = &'a str> + Clone, most: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let words: BTreeSet<&str> =
        function.split(['_', '.']).filter(|word| word.len() > 1 && !EMPTY_WORDS.contains(word)).collect();
    let calls: Vec<&str> = tracepoints.clone().filter(|it| it.starts_with("syscalls:sys_enter_")).collect();
    let call = |name: &str| calls.iter().find(|it| it.strip_prefix("syscalls:sys_enter_") == Some(name));
    // `__x64_sys_openat`, `do_sys_openat2`, `ksys_read`, `vfs_read`, `do_unlinkat`.
    let behind = function.rsplit_once("sys_").map_or(function, |(_, behind)| behind);
    let stem = behind.trim_start_matches('_').trim_start_matches("vfs_").trim_start_matches("do_");
    for name in [stem, stem.trim_end_matches(char::is_numeric), &format!("{stem}at"), &format!("{stem}64")] {
        if let Some(call) = call(name)
            && !found.iter().any(|it| it == call)
        {
            found.push((*call).to_owned());
        }
    }
    let shared = |name: &str| name.split([':', '_']).filter(|word| words.contains(word)).collect::<BTreeSet<_>>().len();
    let mut others: Vec<(usize, usize, &str)> = tracepoints
        .filter(|name| !name.starts_with("syscalls:sys_exit_") && !found.iter().any(|it| it == name))
        .map(|name| (shared(name), name.len(), name))
        // Where the system call is known, one word in common says too little.
        .filter(|(shared, ..)| *shared > usize::from(!found.is_empty()))
        .collect();
    others.sort_by_key(|(shared, length, name)| (std::cmp::Reverse(*shared), *length, *name));
    let best = others.first().map_or(0, |(shared, ..)| *shared);
    found.extend(others.into_iter().filter(|(shared, ..)| *shared == best).map(|(.., name)| name.to_owned()));
    found.truncate(most);
    found
}

/// A place that no list of the kernel has: a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TimerSite {
    /// The site.
    pub site: &'static str,
    /// What it is good for.
    pub about: &'static str,
}

/// Clocks.
pub const TIMERS: [TimerSite; 5] = [
    TimerSite { site: "profile:hz:99", about: "timer on each CPU, 99 times a second: what runs there" },
    TimerSite { site: "profile:ms:10", about: "timer on each CPU, every 10 ms" },
    TimerSite { site: "interval:s:1", about: "timer on one CPU, once a second" },
    TimerSite { site: "interval:ms:100", about: "timer on one CPU, every 100 ms" },
    TimerSite { site: "begin", about: "once, when the script starts" },
];

/// Perf events that a script can be run at, with after how many events it runs.
const PERF: [(&str, &str, u32); 19] = [
    ("cpu-clock", "software", 1_000_000),
    ("task-clock", "software", 1_000_000),
    ("page-faults", "software", 1),
    ("context-switches", "software", 1),
    ("cpu-migrations", "software", 1),
    ("minor-faults", "software", 1),
    ("major-faults", "software", 1),
    ("alignment-faults", "software", 1),
    ("emulation-faults", "software", 1),
    ("bpf-output", "software", 1),
    ("cpu-cycles", "hardware", 1_000_000),
    ("instructions", "hardware", 1_000_000),
    ("cache-references", "hardware", 100_000),
    ("cache-misses", "hardware", 10_000),
    ("branch-instructions", "hardware", 1_000_000),
    ("branch-misses", "hardware", 10_000),
    ("bus-cycles", "hardware", 1_000_000),
    ("frontend-stalls", "hardware", 1_000_000),
    ("ref-cycles", "hardware", 1_000_000),
];

/// The site of a perf event of that name; none if scripts cannot be run at it.
pub fn perf_site(event: &str) -> Option<String> {
    let known = PERF.iter().find(|(name, ..)| *name == event || (*name == "cpu-cycles" && event == "cycles"))?;
    let (name, provider, count) = known;
    Some(format!("{provider}:{name}:{count}"))
}

/// A part of a site, in quotes where it has to be.
pub fn site_part(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-+/@*?[]".contains(&byte);
    if text.bytes().all(plain) { text.to_owned() } else { crate::texts::quoted(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_has_its_end() {
        let exists = |name: &str| name != "block:block_rq_complete";
        for (site, end, key) in [
            ("tracepoint:syscalls:sys_enter_openat", "tracepoint:syscalls:sys_exit_openat", "tid"),
            ("kprobe:vfs_read", "kretprobe:vfs_read", "tid"),
            ("fentry:ext4:ext4_sync_file", "fexit:ext4:ext4_sync_file", "tid"),
            ("uprobe:/bin/bash:readline", "uretprobe:/bin/bash:readline", "tid"),
            ("tracepoint:irq:softirq_entry", "tracepoint:irq:softirq_exit", "cpu"),
            ("tracepoint:sched:sched_wakeup", "tracepoint:sched:sched_switch", "args.pid"),
            ("tracepoint:ext4:ext4_sync_file_enter", "tracepoint:ext4:ext4_sync_file_exit", "tid"),
        ] {
            let found = partners(site, &exists);
            assert_eq!((found[0].site.as_str(), found[0].key[0].as_str()), (end, key), "{site}");
        }
        for site in ["tracepoint:block:block_rq_issue", "kprobe:vfs_read+4", "interval:s:1", "nothing:x", "kretprobe:a"]
        {
            assert_eq!(partners(site, &exists), Vec::new(), "{site}");
        }
    }

    #[test]
    fn what_cannot_be_probed_has_something_near() {
        let tracepoints = [
            "syscalls:sys_enter_openat",
            "syscalls:sys_exit_openat",
            "syscalls:sys_enter_read",
            "syscalls:sys_enter_unlinkat",
            "sock:inet_sock_set_state",
            "tcp:tcp_retransmit_skb",
            "block:block_rq_issue",
            "tcp:tcp_send_reset",
        ];
        for (function, near) in [
            ("do_sys_openat2", Some("syscalls:sys_enter_openat")),
            ("__x64_sys_read", Some("syscalls:sys_enter_read")),
            ("vfs_read", Some("syscalls:sys_enter_read")),
            ("vfs_unlink", Some("syscalls:sys_enter_unlinkat")),
            ("tcp_retransmit_timer", Some("tcp:tcp_retransmit_skb")),
            ("nothing_alike", None),
        ] {
            let found = nearest(function, tracepoints.iter().copied(), 3);
            assert_eq!(found.first().map(String::as_str), near, "{function}: {found:?}");
        }
    }

    #[test]
    fn perf_events_and_odd_names_become_sites() {
        assert_eq!(perf_site("cycles").as_deref(), Some("hardware:cpu-cycles:1000000"));
        assert_eq!(perf_site("nothing"), None);
        for text in ["/usr/bin/bash", "std::vec", "a b,c{"] {
            let site = format!("uprobe:{}:x", site_part(text));
            assert_eq!(attach_text(&site).map(|it| it.parts[1].text.clone()).as_deref(), Ok(text), "{site}");
        }
    }
}
