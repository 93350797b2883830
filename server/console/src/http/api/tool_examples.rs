//! What tools print of a known workload, recorded by `tests/tool-examples`.

/// Name of each tool, and an example of its output; empty where none could be recorded.
const EXAMPLES: &[(&str, &str)] = &[
    ("bashreadline", include_str!("../../../tool_examples/bashreadline.txt")),
    ("bindsnoop", include_str!("../../../tool_examples/bindsnoop.txt")),
    ("bioheat", include_str!("../../../tool_examples/bioheat.txt")),
    ("biolatency", include_str!("../../../tool_examples/biolatency.txt")),
    ("biopattern", include_str!("../../../tool_examples/biopattern.txt")),
    ("biosnoop", include_str!("../../../tool_examples/biosnoop.txt")),
    ("biostacks", include_str!("../../../tool_examples/biostacks.txt")),
    ("biotop", include_str!("../../../tool_examples/biotop.txt")),
    ("bitesize", include_str!("../../../tool_examples/bitesize.txt")),
    ("cachestat", include_str!("../../../tool_examples/cachestat.txt")),
    ("capable", include_str!("../../../tool_examples/capable.txt")),
    ("capable-kprobe", include_str!("../../../tool_examples/capable-kprobe.txt")),
    ("compactsnoop", include_str!("../../../tool_examples/compactsnoop.txt")),
    ("cpudist", include_str!("../../../tool_examples/cpudist.txt")),
    ("cpufreq", include_str!("../../../tool_examples/cpufreq.txt")),
    ("cpuwalk", include_str!("../../../tool_examples/cpuwalk.txt")),
    ("dcstat", include_str!("../../../tool_examples/dcstat.txt")),
    ("drops", include_str!("../../../tool_examples/drops.txt")),
    ("drsnoop", include_str!("../../../tool_examples/drsnoop.txt")),
    ("eventcount", include_str!("../../../tool_examples/eventcount.txt")),
    ("eventstacks", include_str!("../../../tool_examples/eventstacks.txt")),
    ("execsnoop", include_str!("../../../tool_examples/execsnoop.txt")),
    ("exitsnoop", include_str!("../../../tool_examples/exitsnoop.txt")),
    ("ext4slower", include_str!("../../../tool_examples/ext4slower.txt")),
    ("ext4sync", include_str!("../../../tool_examples/ext4sync.txt")),
    ("faults", include_str!("../../../tool_examples/faults.txt")),
    ("filecalls", include_str!("../../../tool_examples/filecalls.txt")),
    ("filegone", include_str!("../../../tool_examples/filegone.txt")),
    ("filelife", include_str!("../../../tool_examples/filelife.txt")),
    ("fileslower", include_str!("../../../tool_examples/fileslower.txt")),
    ("filetop", include_str!("../../../tool_examples/filetop.txt")),
    ("forks", include_str!("../../../tool_examples/forks.txt")),
    ("funccount", include_str!("../../../tool_examples/funccount.txt")),
    ("funclatency", include_str!("../../../tool_examples/funclatency.txt")),
    ("funcstacks", include_str!("../../../tool_examples/funcstacks.txt")),
    ("futexes", include_str!("../../../tool_examples/futexes.txt")),
    ("gethostlatency", include_str!("../../../tool_examples/gethostlatency.txt")),
    ("hardirqs", include_str!("../../../tool_examples/hardirqs.txt")),
    ("kfunccount", include_str!("../../../tool_examples/kfunccount.txt")),
    ("kfunclatency", include_str!("../../../tool_examples/kfunclatency.txt")),
    ("killsnoop", include_str!("../../../tool_examples/killsnoop.txt")),
    ("klockstat", include_str!("../../../tool_examples/klockstat.txt")),
    ("loads", include_str!("../../../tool_examples/loads.txt")),
    ("locks", include_str!("../../../tool_examples/locks.txt")),
    ("majorfaults", include_str!("../../../tool_examples/majorfaults.txt")),
    ("memleak", include_str!("../../../tool_examples/memleak.txt")),
    ("migrations", include_str!("../../../tool_examples/migrations.txt")),
    ("mmaps", include_str!("../../../tool_examples/mmaps.txt")),
    ("mountsnoop", include_str!("../../../tool_examples/mountsnoop.txt")),
    ("naptime", include_str!("../../../tool_examples/naptime.txt")),
    ("netrate", include_str!("../../../tool_examples/netrate.txt")),
    ("offcputime", include_str!("../../../tool_examples/offcputime.txt")),
    ("offwaketime", include_str!("../../../tool_examples/offwaketime.txt")),
    ("oomkill", include_str!("../../../tool_examples/oomkill.txt")),
    ("opensnoop", include_str!("../../../tool_examples/opensnoop.txt")),
    ("pagecache", include_str!("../../../tool_examples/pagecache.txt")),
    ("profile", include_str!("../../../tool_examples/profile.txt")),
    ("pycalls", include_str!("../../../tool_examples/pycalls.txt")),
    ("pygc", include_str!("../../../tool_examples/pygc.txt")),
    ("runqlat", include_str!("../../../tool_examples/runqlat.txt")),
    ("runqlen", include_str!("../../../tool_examples/runqlen.txt")),
    ("runqslower", include_str!("../../../tool_examples/runqslower.txt")),
    ("setuids", include_str!("../../../tool_examples/setuids.txt")),
    ("shmsnoop", include_str!("../../../tool_examples/shmsnoop.txt")),
    ("signals", include_str!("../../../tool_examples/signals.txt")),
    ("slabrate", include_str!("../../../tool_examples/slabrate.txt")),
    ("softirqs", include_str!("../../../tool_examples/softirqs.txt")),
    ("solisten", include_str!("../../../tool_examples/solisten.txt")),
    ("ssllatency", include_str!("../../../tool_examples/ssllatency.txt")),
    ("sslsnoop", include_str!("../../../tool_examples/sslsnoop.txt")),
    ("statsnoop", include_str!("../../../tool_examples/statsnoop.txt")),
    ("strace", include_str!("../../../tool_examples/strace.txt")),
    ("syncsnoop", include_str!("../../../tool_examples/syncsnoop.txt")),
    ("syscount", include_str!("../../../tool_examples/syscount.txt")),
    ("syserrors", include_str!("../../../tool_examples/syserrors.txt")),
    ("syslatency", include_str!("../../../tool_examples/syslatency.txt")),
    ("tcpaccept", include_str!("../../../tool_examples/tcpaccept.txt")),
    ("tcpconnect", include_str!("../../../tool_examples/tcpconnect.txt")),
    ("tcpconnlat", include_str!("../../../tool_examples/tcpconnlat.txt")),
    ("tcpdrop", include_str!("../../../tool_examples/tcpdrop.txt")),
    ("tcplife", include_str!("../../../tool_examples/tcplife.txt")),
    ("tcpretrans", include_str!("../../../tool_examples/tcpretrans.txt")),
    ("tcprtt", include_str!("../../../tool_examples/tcprtt.txt")),
    ("tcpstates", include_str!("../../../tool_examples/tcpstates.txt")),
    ("tcptop", include_str!("../../../tool_examples/tcptop.txt")),
    ("threadsnoop", include_str!("../../../tool_examples/threadsnoop.txt")),
    ("usdtcount", include_str!("../../../tool_examples/usdtcount.txt")),
    ("vfsstat", include_str!("../../../tool_examples/vfsstat.txt")),
    ("wakeuptime", include_str!("../../../tool_examples/wakeuptime.txt")),
    ("wqlat", include_str!("../../../tool_examples/wqlat.txt")),
    ("writeback", include_str!("../../../tool_examples/writeback.txt")),
];

/// An example of what a tool prints; empty where there is none.
pub(super) fn example_of(tool: &str) -> &'static str {
    let found = EXAMPLES.binary_search_by_key(&tool, |(name, _)| *name).ok();
    found.and_then(|at| EXAMPLES.get(at)).map_or("", |(_, example)| *example)
}

#[cfg(test)]
mod tests {
    use bathyscope_bpf::tools;

    use super::*;

    /// Tools whose output cannot be recorded in an emulated machine.
    const WITHOUT: [&str; 1] = ["cpufreq"];

    #[test]
    fn every_tool_has_an_example_of_its_output() {
        assert_eq!(EXAMPLES.len(), tools::all().len());
        for tool in tools::all() {
            let (name, example) = (tool.name, example_of(tool.name));
            assert_eq!(example.is_empty(), WITHOUT.contains(&name), "{name}: tests/tool-examples records it");
            assert!(example.len() < 2000, "{name}: {} bytes", example.len());
            assert!(example.lines().all(|line| line.chars().count() <= 120), "{name}: long lines");
            for part in ["/root", "/tmp", "/work/", "/home", "\t"] {
                assert!(!example.contains(part), "{name} shows where it was recorded, {part:?}: {example}");
            }
        }
    }
}
