//! Probes in the kernel's code, beyond a function's begin: inside, at addresses, in modules.

use std::{fs, net::UdpSocket, process::Command};

use bathyscope_tests::{command_line::stdout_of, in_lab, is_root, skip, tracing::shows};

use crate::{Kernel, traced};

fn possible(what: &str) -> bool {
    let possible = is_root() && Kernel::running().kprobes;
    if !possible {
        skip(what, "root and kprobes");
    }
    possible
}

fn read_something() {
    for _ in 0..20 {
        fs::read("/proc/self/stat").expect("a file of the kernel");
    }
}

/// What is printed by `@hits = count()` at a place while files are read.
fn hits(options: &[&str], place: &str) -> Result<u64, String> {
    let script = format!("{place} {{ @hits = count(); }}");
    let printed = traced(&[options, &["-e", &script]].concat(), read_something)?;
    let hits = printed.out.lines().find_map(|line| line.strip_prefix("@hits: ")?.parse().ok());
    hits.ok_or_else(|| format!("{printed:?}"))
}

#[test]
fn instructions_inside_a_function_are_probed() {
    if !possible("kprobes inside of functions") {
        return;
    }
    // The first instruction has more than one byte everywhere: a mark for jumps, or the call that tracing patches.
    let refused = hits(&[], "kprobe:vfs_read+1").expect_err("no instruction begins there");
    let near = refused.split_once("The nearest places are vfs_read and vfs_read+");
    let near = near.unwrap_or_else(|| panic!("{refused}")).1;
    let offset: u64 = near.split_once('.').and_then(|(number, _)| number.parse().ok()).expect("an offset");
    assert!(hits(&[], &format!("kprobe:vfs_read+{offset}")).expect("an instruction") >= 20);
    let refused = hits(&[], "kprobe:vfs_read+1000000").expect_err("another function is there");
    assert!(refused.contains("is behind its end"), "{refused}");
    let refused = hits(&[], "kretprobe:vfs_read+4").expect_err("a return has one place");
    assert!(refused.contains("a return has no offset"), "{refused}");
}

#[test]
fn raw_addresses_are_probed_if_that_is_allowed() {
    if !possible("kprobes at addresses") {
        return;
    }
    let symbols = fs::read_to_string("/proc/kallsyms").expect("the kernel's symbols");
    let line = symbols.lines().find(|line| line.ends_with(" vfs_read")).expect("it is in every kernel");
    let place = format!("kprobe:0x{}", line.split(' ').next().expect("an address"));
    let refused = hits(&[], &place).expect_err("it is unsafe");
    assert!(refused.contains("allow it with --unsafe"), "{refused}");
    assert!(hits(&["--unsafe"], &place).expect("the function's first instruction") >= 20);
    // Inside of the same instruction.
    let inside = format!("kprobe:{:#x}", u64::from_str_radix(&place[9..], 16).expect("an address") + 1);
    let refused = hits(&["--unsafe"], &inside).expect_err("no instruction begins there");
    assert!(refused.contains("no instruction begins there"), "{refused}");
}

/// A network device that takes every packet and does nothing with it: it is a module by itself.
struct Dummy;

impl Dummy {
    fn new() -> Self {
        let run = |program: &str, words: &str| {
            let status = Command::new(program).args(words.split(' ')).status();
            assert!(status.as_ref().is_ok_and(std::process::ExitStatus::success), "{program} {words}: {status:?}");
        };
        run("modprobe", "dummy numdummies=1");
        // What the kernel itself says to its neighbours at some time would be counted too.
        let _without_it = fs::write("/proc/sys/net/ipv6/conf/dummy0/disable_ipv6", "1");
        run("busybox", "ip address add 10.77.0.1/24 dev dummy0");
        run("busybox", "ip link set dummy0 up");
        Self
    }

    fn send(&self) {
        let socket = UdpSocket::bind("10.77.0.1:0").expect("an address of the device");
        for _ in 0..10 {
            socket.send_to(&[0; 100], "10.77.0.2:9").expect("it takes everything");
        }
    }
}

impl Drop for Dummy {
    fn drop(&mut self) {
        // The guest goes away anyway.
        let _gone = Command::new("rmmod").arg("dummy").status();
    }
}

#[test]
fn functions_of_modules_are_probed() {
    if !possible("functions of modules") {
        return;
    }
    if !in_lab() {
        return skip("functions of modules", "a kernel into which a module may be loaded (tests/lab)");
    }
    let dummy = Dummy::new();
    let cases = [
        ("kprobe:dummy:dummy_xmit { @[probe] = count(); }", "@[kprobe:dummy:dummy_xmit]: 10"),
        ("kprobe:dummy_xmit { @[probe] = count(); }", "@[kprobe:dummy_xmit]: 10"),
        ("kretprobe:dummy:dummy_xmit { @[probe, retval] = count(); }", "@[kretprobe:dummy:dummy_xmit, 0]: 10"),
        ("kprobe:dummy:*xmit* { @[probe] = count(); }", "@[kprobe:dummy:dummy_xmit]: 10"),
        ("kprobe:dum*:dummy_x* { @[probe] = count(); }", "@[kprobe:dummy:dummy_xmit]: 10"),
        // Headers of the device, the network and the protocol, and what was sent.
        ("fentry:dummy:dummy_xmit { @[probe, args.skb.len] = count(); }", "@[fentry:dummy:dummy_xmit, 142]: 10"),
        ("fexit:dummy:dummy_xmit { @[probe, retval] = count(); }", "@[fexit:dummy:dummy_xmit, "),
        ("fentry:dummy:* { @[probe] = count(); }", "@[fentry:dummy:dummy_xmit]: 10"),
        ("fentry:dummy_xmit { @[str(args.dev.name)] = count(); }", "@[dummy0]: 10"),
    ];
    let mut wrong = Vec::new();
    for (script, wanted) in cases {
        match traced(&["-e", script], || dummy.send()) {
            Ok(printed) if shows(&printed.out, wanted) => {}
            other => wrong.push(format!("{script}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let listed = stdout_of(["trace", "-l", "kprobe:dummy:dummy_x*"]);
    assert_eq!(listed, "kprobe:dummy:dummy_xmit\n");
    let listed = stdout_of(["trace", "-lv", "fentry:dummy:dummy_x*"]);
    assert!(
        shows(&listed, "fentry:dummy:dummy_xmit >> struct sk_buff * … skb >> struct net_device * … dev"),
        "{listed}"
    );
    let refused = traced(&["-e", "kprobe:loop:dummy_xmit { exit(); }"], || {}).expect_err("it is in another module");
    assert!(refused.contains("there is no kernel function `dummy_xmit` in module `loop`"), "{refused}");
}

#[test]
fn facts_of_the_kernel_are_right() {
    if !is_root() {
        return skip("facts of the kernel in scripts", "root");
    }
    let cases = [
        ("kaddr(\"jiffies\") >> 63", "1"),
        ("*(uint64*)kaddr(\"jiffies\") - jiffies < 100", "true"),
        ("((struct rq*)percpu_kaddr(\"runqueues\", 0)).cpu", "0"),
        ("((struct rq*)percpu_kaddr(\"runqueues\")).cpu == cpu", "true"),
        ("numaid < 1024", "true"),
        ("rand != rand || rand != rand", "true"),
        ("ncpus > cpu", "true"),
    ];
    let symbols = fs::read_to_string("/proc/kallsyms").expect("the kernel's symbols");
    for (expression, expected) in cases {
        let named = expression.split_once("kaddr(\"").and_then(|(_before, rest)| rest.split_once('"'));
        if let Some((symbol, _)) = named.filter(|(symbol, _)| !symbols.contains(&format!(" {symbol}\n"))) {
            skip(&format!("`{expression}` in scripts"), &format!("a kernel that tells where `{symbol}` is"));
            continue;
        }
        let script = format!("begin {{ print({expression}); exit(); }}");
        let printed = traced(&["-e", &script], || {}).unwrap_or_else(|error| panic!("{expression}: {error}"));
        assert_eq!(printed.out.trim(), expected, "{expression}: {printed:?}");
    }
}

#[test]
fn registers_and_pointers_are_read_where_a_function_is_hit() {
    if !possible("registers of kprobes") {
        return;
    }
    let script = "kprobe:vfs_read /pid == cpid/ { printf(\"<%d %d %d>\\n\", reg(\"di\") == arg0, reg(\"ip\") > 0, \
                  kptr((struct file *)arg0).f_mode > 0); exit(); }";
    let printed = traced(&["-e", script, "-c", "cat /etc/hosts"], || {}).expect("it is attached");
    assert!(shows(&printed.out, "<1 1 1>"), "{printed:?}");
    let script =
        "tracepoint:syscalls:sys_enter_execve /pid == cpid/ { printf(\"<%s>\\n\", str(uptr(args.filename))); }";
    let printed = traced(&["-e", script, "-c", "/bin/true"], || {}).expect("it is attached");
    assert!(shows(&printed.out, "</bin/true>"), "{printed:?}");
}

#[test]
fn paths_are_told_where_the_kernel_allows_it() {
    if !is_root() {
        return skip("paths in fentry", "root");
    }
    let script = "fentry:vfs_read { print(path(args.file)); }";
    let refused = traced(&["-e", script], || {}).expect_err("the kernel does not allow it there");
    if refused.contains("this kernel has no function trampolines") && !in_lab() {
        return skip("paths in fentry", "fentry");
    }
    assert!(refused.contains("does not allow `path`") && refused.contains("filp_close"), "{refused}");
    for path in ["path(&args.file.f_path)", "path(args.file)", "path(args.file.f_path)"] {
        let script = format!("fentry:security_file_open /pid == cpid/ {{ printf(\"<%s>\\n\", {path}); }}");
        let printed = traced(&["-e", &script, "-c", "cat /etc/hostname"], || {}).expect("it is attached");
        assert!(shows(&printed.out, "</etc/hostname>"), "{path}: {printed:?}");
    }
}
