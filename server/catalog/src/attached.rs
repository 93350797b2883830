//! What anyone has attached to the kernel: probes made by a text, and the kernel's numbers of BPF programs in words.

/// The most dynamic events that are kept.
const MAX_DYNAMIC_EVENTS: usize = 64 << 10;

/// A probe that somebody has made by a text: a line of `dynamic_events`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicEvent<'a> {
    /// The first letter, which says what it is: `p`, `r`, `e`, `f`, `t` or `s`.
    pub kind: char,
    /// Its group, by which it is listed among the tracepoints.
    pub system: &'a str,
    /// Its name there.
    pub name: &'a str,
    /// Where it is; of synthetic events, what they consist of.
    pub place: &'a str,
    /// What it takes along.
    pub arguments: &'a str,
}

impl DynamicEvent<'_> {
    /// What it is, in words.
    pub fn what(&self) -> &'static str {
        match self.kind {
            'p' if self.place.starts_with('/') => "uprobe",
            'r' if self.place.starts_with('/') => "uretprobe",
            'p' => "kprobe",
            'r' => "kretprobe",
            'e' => "event probe",
            'f' => "fprobe",
            't' => "tracepoint probe",
            's' => "synthetic event",
            _ => "dynamic event",
        }
    }

    /// The pid and the pid namespace of the Bathyscope that made it, if one did: its groups are named so.
    pub fn maker(&self) -> Option<(u32, u64)> {
        let mut parts = self.system.strip_prefix("bathyscope_")?.split('_');
        let mut number = || parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let (namespace, pid) = (number()?.parse().ok()?, number()?.parse().ok()?);
        let _ticks_and_number = (number()?, number()?);
        parts.next().is_none().then_some((pid, namespace))
    }
}

/// Reads the text of `dynamic_events`. Lines that make no sense are left out.
pub fn parse_dynamic_events(text: &[u8]) -> Vec<DynamicEvent<'_>> {
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    lines.filter_map(dynamic_event).take(MAX_DYNAMIC_EVENTS).collect()
}

fn dynamic_event(line: &str) -> Option<DynamicEvent<'_>> {
    let (head, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (kind, full) = head.split_once(':')?;
    let (system, name) = full.split_once('/')?;
    let (place, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
    let kind = kind.chars().next()?;
    (!system.is_empty() && !name.is_empty()).then_some(DynamicEvent { kind, system, name, place, arguments })
}

/// `enum bpf_prog_type`, in the kernel's words.
pub fn bpf_program_kind(kind: u32) -> &'static str {
    const KINDS: [&str; 33] = [
        "unspecified",
        "socket_filter",
        "kprobe",
        "sched_cls",
        "sched_act",
        "tracepoint",
        "xdp",
        "perf_event",
        "cgroup_skb",
        "cgroup_sock",
        "lwt_in",
        "lwt_out",
        "lwt_xmit",
        "sock_ops",
        "sk_skb",
        "cgroup_device",
        "sk_msg",
        "raw_tracepoint",
        "cgroup_sock_addr",
        "lwt_seg6local",
        "lirc_mode2",
        "sk_reuseport",
        "flow_dissector",
        "cgroup_sysctl",
        "raw_tracepoint_writable",
        "cgroup_sockopt",
        "tracing",
        "struct_ops",
        "ext",
        "lsm",
        "sk_lookup",
        "syscall",
        "netfilter",
    ];
    KINDS.get(kind as usize).copied().unwrap_or("of a newer kernel")
}

/// `enum bpf_attach_type`, for typed programs, as scripts name them; none of another.
pub fn bpf_typed_attach(attach: u32) -> Option<&'static str> {
    Some(match attach {
        23 => "raw tracepoint",
        24 => "fentry",
        25 => "fexit",
        26 => "return value changed at",
        27 => "lsm",
        28 => "iterator",
        _ => return None,
    })
}

/// `enum bpf_link_type`, in the kernel's words.
pub fn bpf_link_kind(kind: u32) -> &'static str {
    const KINDS: [&str; 15] = [
        "unspecified",
        "raw_tracepoint",
        "tracing",
        "cgroup",
        "iter",
        "netns",
        "xdp",
        "perf_event",
        "kprobe_multi",
        "struct_ops",
        "netfilter",
        "tcx",
        "uprobe_multi",
        "netkit",
        "sockmap",
    ];
    KINDS.get(kind as usize).copied().unwrap_or("of a newer kernel")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_read_with_their_makers() {
        let text = b"p:kprobes/slow vfs_read count=%dx\nr64:uprobes/done /bin/a:0x10 $retval\nnonsense\n:/ x\n\
            e:eprobes/opened syscalls/sys_enter_openat\np:bathyscope_4026531836_77_123_1/p0 do_exit\n\xff:a/b c\n";
        let found: Vec<_> = parse_dynamic_events(text)
            .into_iter()
            .map(|it| (it.what(), it.system, it.name, it.place, it.arguments, it.maker()))
            .collect();
        assert_eq!(
            found,
            [
                ("kprobe", "kprobes", "slow", "vfs_read", "count=%dx", None),
                ("uretprobe", "uprobes", "done", "/bin/a:0x10", "$retval", None),
                ("event probe", "eprobes", "opened", "syscalls/sys_enter_openat", "", None),
                ("kprobe", "bathyscope_4026531836_77_123_1", "p0", "do_exit", "", Some((77, 4_026_531_836))),
            ]
        );
    }

    #[test]
    fn numbers_of_the_kernel_have_words() {
        let words = [bpf_program_kind(2), bpf_program_kind(26), bpf_program_kind(32), bpf_program_kind(999)];
        assert_eq!(words, ["kprobe", "tracing", "netfilter", "of a newer kernel"]);
        assert_eq!((bpf_link_kind(12), bpf_link_kind(99)), ("uprobe_multi", "of a newer kernel"));
        assert_eq!((bpf_typed_attach(24), bpf_typed_attach(0)), (Some("fentry"), None));
    }
}
