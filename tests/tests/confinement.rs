//! What the two long-lived processes cannot do any more once they run, whoever has taken them over: system calls are made in
//! the real processes, by a debugger, as their own code would make them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use bathyscope_tests::{alone, in_lab, proc, server::Server, skip, wait::until, workspace::binary};
use tempfile::TempDir;

fn data() -> TempDir {
    tempfile::tempdir().expect("a folder for captures")
}

/// A line of the status of each thread of a process.
fn of_threads(pid: u32, line: &str) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("the process lives").flatten();
    let texts = threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok());
    let value =
        |text: String| text.lines().find_map(|one| one.strip_prefix(line)?.strip_prefix(':')).map(str::to_owned);
    texts.filter_map(value).map(|value| value.trim().to_owned()).collect()
}

#[track_caller]
fn all_threads_are_filtered(pid: u32, who: &str) {
    let found = of_threads(pid, "Seccomp");
    assert!(!found.is_empty() && found.iter().all(|mode| mode == "2"), "{who}: {found:?}");
    assert!(of_threads(pid, "NoNewPrivs").iter().all(|value| value == "1"), "{who}");
}

/// The process that starts children for files of the console.
fn reader_of(console: u32) -> u32 {
    let filtered = |pid: &u32| of_threads(*pid, "Seccomp") == ["2"];
    until("the reader", || proc::children(console).into_iter().find(filtered))
}

/// The process that makes the commands of an agent, which is forked from it before anything is given up.
fn launcher_of(agent: u32) -> Option<u32> {
    proc::children(agent).into_iter().find(|pid| of_threads(*pid, "Seccomp") == ["0"])
}

/// A filter lets the console do what it does once in a year too: with the first start of a new release.
#[test]
fn p37_a_filtered_console_brings_an_older_database_up_to_date() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/store/tests/fixtures");
    for version in ["v1", "v10"] {
        let folder = data();
        fs::copy(fixtures.join(format!("{version}.db")), folder.path().join("bathyscope.db")).unwrap();
        let server = Server::simulated(folder.path());
        all_threads_are_filtered(server.child("console"), "the console");
        assert_ne!(server.get("/api/captures")["total"], 0, "{version}: what was stored");
        assert!(folder.path().join(format!("bathyscope.db.{version}.bak")).exists(), "{version}: the backup");
    }
}

#[test]
fn p90_every_thread_of_agent_and_console_has_a_filter() {
    let folder = data();
    let server = Server::simulated(folder.path());
    all_threads_are_filtered(server.child("agent"), "the simulated agent");
    all_threads_are_filtered(server.child("console"), "the console");
    all_threads_are_filtered(reader_of(server.child("console")), "the reader of the console");
    let connecting = data();
    let other = Server::start(connecting.path(), &["--simulate", "--outbound-private", "127.0.0.1:1"]);
    all_threads_are_filtered(other.child("outbound"), "the process that connects to others");
    drop(other);
    assert!(of_threads(server.child("console"), "Threads").iter().all(|count| count != "1"), "threads were looked at");
    drop(server);
    let Some(_alone) = alone("the filter of the real agent") else { return };
    let folder = data();
    let server = Server::start(folder.path(), &["--commands", "off"]);
    all_threads_are_filtered(server.child("agent"), "the agent");
    assert_eq!(launcher_of(server.child("agent")), None, "nothing makes commands where none are allowed");
    // The agent of a verb at a terminal.
    let mut verb = Command::new(binary())
        .args(["strace", "-o", "/dev/null", "--", "sleep", "1000"])
        .stdin(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let (agent, command) = until("the command of the verb", || {
        let agent =
            proc::children(verb.id()).into_iter().find(|pid| proc::command_line(*pid).iter().any(|w| w == "agent"))?;
        let sleeps = |pid: &u32| proc::command_line(*pid).first().is_some_and(|word| word == "sleep");
        Some((agent, proc::children(agent).into_iter().find(sleeps)?))
    });
    all_threads_are_filtered(agent, "the agent of a verb");
    let own = proc::status(std::process::id());
    let status = proc::status(command);
    for line in ["Seccomp", "NoNewPrivs", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(status[line], own[line], "{line} of the command is that of whoever started it");
    }
    let kept = u64::from_str_radix(&proc::status(agent)["CapPrm"], 16).unwrap();
    assert_eq!(kept & !KEPT, 0, "the agent of a verb keeps no more than that of a console");
    verb.kill().unwrap();
    verb.wait().unwrap();
}

/// The capabilities that SECURITY.md lists for the agent, and `CAP_SYS_ADMIN`.
const KEPT: u64 = 1 << 1 | 1 << 5 | 1 << 14 | 1 << 19 | 1 << 21 | 1 << 34 | 1 << 38 | 1 << 39 | 1 << 40;
/// Those of the launcher: `CAP_DAC_OVERRIDE`, `CAP_SETGID`, `CAP_SETUID`, `CAP_SETPCAP`.
const LAUNCHERS: u64 = 1 << 1 | 1 << 6 | 1 << 7 | 1 << 8;

#[test]
fn p91_the_launcher_has_what_commands_need_and_nothing_else() {
    let Some(_alone) = alone("the launcher of commands") else { return };
    let folder = data();
    let server = Server::start(folder.path(), &["--commands", "54321"]);
    let launcher = until("the launcher", || launcher_of(server.child("agent")));
    let status = until("the launcher gives rights up", || {
        let status = proc::status(launcher);
        let kept = u64::from_str_radix(status.get("CapPrm")?, 16).ok()?;
        (kept & !LAUNCHERS == 0).then_some(status)
    });
    for set in ["CapEff", "CapBnd"] {
        assert_eq!(u64::from_str_radix(&status[set], 16).unwrap() & !LAUNCHERS, 0, "{set}");
    }
    assert_eq!((status["CapInh"].as_str(), status["CapAmb"].as_str()), ("0000000000000000", "0000000000000000"));
    let open = proc::descriptors(launcher);
    let sockets = open.iter().filter(|target| target.starts_with("socket:")).count();
    let null = open.iter().filter(|target| *target == "/dev/null").count();
    // Standard error is the log's file; the door, and with it the console, is not there.
    assert_eq!((open.len(), sockets, null), (4, 1, 2), "{open:?}");
    // It ends with the agent.
    let agent = server.child("agent");
    bathyscope_tests::server::signal(agent, rustix::process::Signal::KILL);
    until("the launcher ends", || (!proc::is_alive(launcher)).then_some(()));
}

/// `strace CMD` of root runs what only root may run, as without it.
#[test]
fn p92_commands_at_a_terminal_have_the_rights_of_whoever_started_them() {
    let Some(_alone) = alone("commands that need rights") else { return };
    if in_lab() {
        return skip("commands that need rights", "programs that the small system of the lab does not have");
    }
    let folder = data();
    let mut cases = vec![
        "unshare -m sh -c 'mount -t tmpfs none /mnt && touch /mnt/x && ls /mnt; umount /mnt'",
        "unshare -m -u sh -c 'hostname of-the-test; hostname'",
        "setpriv --reuid 54321 --clear-groups id -u",
        "unshare -U -r id -u",
        "grep -E '^(Seccomp|NoNewPrivs|Cap|Groups)' /proc/self/status",
    ];
    match Command::new("sudo").args(["-n", "true"]).output() {
        Ok(output) if output.status.success() => cases.push("sudo -n id -u"),
        _ => skip("sudo under `strace CMD`", "sudo that asks for no password"),
    }
    for script in cases {
        let run = |words: &[&str]| {
            let mut command = Command::new(words[0]);
            let output =
                command.args(&words[1..]).args(["/bin/sh", "-c", script]).stdin(Stdio::null()).output().unwrap();
            (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let calls = folder.path().join("calls");
        let (bathyscope, calls) = (binary(), calls.to_str().unwrap().to_owned());
        let traced = run(&[bathyscope.to_str().unwrap(), "strace", "-f", "-o", &calls, "--"]);
        let alone = run(&["env"]);
        assert_eq!(alone.0, Some(0), "{script} works here: {alone:?}");
        assert_eq!(traced, alone, "{script}");
        assert!(fs::read_to_string(&calls).unwrap().contains("execve("), "{script}");
    }
}

/// The version of Landlock in this kernel; none where there is none.
fn landlock() -> Option<i64> {
    // SAFETY: asks for a number, with no pointer.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0, 0, 1) };
    (version > 0).then_some(version)
}

#[cfg(target_arch = "x86_64")]
mod made_in_the_process {
    use super::*;

    /// What became of a call.
    #[derive(Debug, PartialEq, Eq)]
    enum Outcome {
        Returned(i64),
        Killed(i32),
    }

    const REFUSED: Outcome = Outcome::Returned(-(libc::ENOSYS as i64));

    /// A process that is stopped and does what the test says.
    struct Taken {
        pid: libc::pid_t,
        before: libc::user_regs_struct,
    }

    fn ptrace(request: libc::c_uint, pid: libc::pid_t, address: u64, data: u64) {
        // SAFETY: requests without pointers, or with one to a struct of the caller's that outlives the call; they change the
        // other process only, which the test has started.
        let result = unsafe { libc::ptrace(request, pid, address, data) };
        assert_eq!(result, 0, "ptrace {request}: {}", std::io::Error::last_os_error());
    }

    fn wait(pid: libc::pid_t) -> i32 {
        let mut status = 0;
        // SAFETY: writes one number to a local.
        let waited = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) };
        assert_eq!(waited, pid, "{}", std::io::Error::last_os_error());
        status
    }

    impl Taken {
        fn new(pid: u32) -> Self {
            let pid = libc::pid_t::try_from(pid).unwrap();
            ptrace(libc::PTRACE_ATTACH, pid, 0, 0);
            assert!(libc::WIFSTOPPED(wait(pid)));
            // SAFETY: a struct of numbers, for which zeros are values.
            let mut before: libc::user_regs_struct = unsafe { std::mem::zeroed() };
            ptrace(libc::PTRACE_GETREGS, pid, 0, (&raw mut before) as u64);
            Self { pid, before }
        }

        /// Puts bytes below the stack, where nothing is kept; gives their address.
        fn place(&self, bytes: &[u8]) -> u64 {
            let start = (self.before.rsp - 4096) & !15;
            let mut padded = bytes.to_vec();
            padded.extend([0; 8]);
            for (index, word) in padded.chunks_exact(8).enumerate() {
                let word = u64::from_ne_bytes(word.try_into().unwrap());
                ptrace(libc::PTRACE_POKEDATA, self.pid, start + 8 * index as u64, word);
            }
            start
        }

        /// Makes a call: the thread waits in one, so the instruction for it lies just before its next.
        fn call(&self, number: libc::c_long, arguments: [u64; 4]) -> Outcome {
            let mut registers = self.before;
            registers.rip -= 2;
            registers.rax = number.cast_unsigned();
            registers.orig_rax = u64::MAX;
            [registers.rdi, registers.rsi, registers.rdx, registers.r10] = arguments;
            (registers.r8, registers.r9) = (u64::MAX, 0);
            ptrace(libc::PTRACE_SETREGS, self.pid, 0, (&raw mut registers) as u64);
            ptrace(libc::PTRACE_SINGLESTEP, self.pid, 0, 0);
            let status = wait(self.pid);
            if libc::WIFSIGNALED(status) {
                return Outcome::Killed(libc::WTERMSIG(status));
            }
            assert!(libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGTRAP, "{status:#x}");
            ptrace(libc::PTRACE_GETREGS, self.pid, 0, (&raw mut registers) as u64);
            Outcome::Returned(registers.rax.cast_signed())
        }

        fn open(&self, path: &Path, flags: libc::c_int) -> i64 {
            let path = self.place(path.to_str().unwrap().as_bytes());
            let here = i64::from(libc::AT_FDCWD).cast_unsigned();
            match self.call(libc::SYS_openat, [here, path, flags as u64, 0o600]) {
                Outcome::Returned(result) => result,
                killed @ Outcome::Killed(_) => panic!("{killed:?}"),
            }
        }

        fn let_go(self) {
            let mut before = self.before;
            ptrace(libc::PTRACE_SETREGS, self.pid, 0, (&raw mut before) as u64);
            ptrace(libc::PTRACE_DETACH, self.pid, 0, 0);
        }
    }

    const OF_ALL: [(&str, libc::c_long); 10] = [
        ("execve", libc::SYS_execve),
        ("ptrace", libc::SYS_ptrace),
        ("mount", libc::SYS_mount),
        ("init_module", libc::SYS_init_module),
        ("kexec_load", libc::SYS_kexec_load),
        ("setns", libc::SYS_setns),
        ("unshare", libc::SYS_unshare),
        ("process_vm_readv", libc::SYS_process_vm_readv),
        ("setuid", libc::SYS_setuid),
        ("open_by_handle_at", libc::SYS_open_by_handle_at),
    ];

    fn process(server: &Server, verb: &str) -> u32 {
        if verb == "reader" { reader_of(server.child("console")) } else { server.child(verb) }
    }

    fn end_by(verb: &str, name: &str, number: libc::c_long) {
        let folder = data();
        let server = if verb == "agent" {
            Server::start(folder.path(), &["--commands", "off"])
        } else {
            Server::simulated(folder.path())
        };
        let taken = Taken::new(process(&server, verb));
        assert_eq!(taken.call(number, [0; 4]), Outcome::Killed(libc::SIGSYS), "{name} in the {verb}");
    }

    #[test]
    fn p93_calls_that_only_an_attacker_makes_end_the_process() {
        let Some(_alone) = alone("system calls made in the processes") else { return };
        for verb in ["agent", "console", "reader"] {
            for (name, number) in OF_ALL {
                end_by(verb, name, number);
            }
        }
        for (name, number) in [("bpf", libc::SYS_bpf), ("perf_event_open", libc::SYS_perf_event_open)] {
            end_by("console", name, number);
            end_by("reader", name, number);
        }
    }

    #[test]
    fn p93_calls_that_are_on_no_list_fail_and_the_process_goes_on() {
        let Some(_alone) = alone("system calls made in the processes") else { return };
        let folder = data();
        let server = Server::start(folder.path(), &["--commands", "off"]);
        let mut cases = vec![
            ("socket(AF_PACKET)", libc::SYS_socket, [libc::AF_PACKET as u64, libc::SOCK_RAW as u64, 0, 0]),
            ("socket(AF_NETLINK)", libc::SYS_socket, [libc::AF_NETLINK as u64, libc::SOCK_RAW as u64, 0, 0]),
            ("fork", libc::SYS_clone, [libc::SIGCHLD as u64, 0, 0, 0]),
            ("fork, as of old", libc::SYS_fork, [0; 4]),
            ("a user namespace", libc::SYS_clone, [(libc::CLONE_NEWUSER | libc::SIGCHLD) as u64, 0, 0, 0]),
            ("clone3", libc::SYS_clone3, [0; 4]),
            ("fanotify_init", libc::SYS_fanotify_init, [0; 4]),
            ("personality", libc::SYS_personality, [0; 4]),
            ("another filter", libc::SYS_seccomp, [0; 4]),
            ("PR_SET_DUMPABLE", libc::SYS_prctl, [libc::PR_SET_DUMPABLE as u64, 1, 0, 0]),
            ("limits of others", libc::SYS_prlimit64, [1, 0, 0, 0]),
        ];
        for verb in ["agent", "console", "reader"] {
            if verb == "console" {
                let code = (libc::PROT_READ | libc::PROT_EXEC) as u64;
                let private = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
                cases.extend([
                    ("memory for code", libc::SYS_mmap, [0, 4096, code, private]),
                    ("memory that becomes code", libc::SYS_mprotect, [0, 4096, code, 0]),
                    ("a socket for datagrams", libc::SYS_socket, [libc::AF_INET as u64, libc::SOCK_DGRAM as u64, 0, 0]),
                    ("a connection by sending", libc::SYS_sendto, [1, 0, 0, libc::MSG_FASTOPEN as u64]),
                    ("connect", libc::SYS_connect, [0; 4]),
                    ("kill", libc::SYS_kill, [1, 0, 0, 0]),
                ]);
            }
            if verb == "reader" {
                // Less than the console, which it belongs to.
                cases.extend([
                    ("a socket of its own", libc::SYS_socket, [libc::AF_UNIX as u64, libc::SOCK_STREAM as u64, 0, 0]),
                    ("removing a file", libc::SYS_unlinkat, [0; 4]),
                    ("a file in memory", libc::SYS_memfd_create, [0; 4]),
                    ("a message with descriptors", libc::SYS_sendmsg, [0; 4]),
                    ("another signal", libc::SYS_pidfd_send_signal, [0, libc::SIGSTOP as u64, 0, 0]),
                    ("a signal to a thread", libc::SYS_tgkill, [1, 1, libc::SIGSTOP as u64, 0]),
                ]);
            }
            let pid = process(&server, verb);
            let taken = Taken::new(pid);
            for (name, number, arguments) in &cases {
                assert_eq!(taken.call(*number, *arguments), REFUSED, "{name} in the {verb}");
            }
            assert!(matches!(taken.call(libc::SYS_getpid, [0; 4]), Outcome::Returned(own) if own == i64::from(pid)));
            taken.let_go();
            assert_eq!(process(&server, verb), pid, "the {verb} goes on");
            assert_eq!(server.get("/api/host")["agent"]["state"], "connected");
        }
        // The reader still has a child read what comes.
        let file = folder.path().join("of-the-test");
        fs::write(&file, [b"SQLite format 3\0".to_vec(), vec![0; 5000]].concat()).unwrap();
        let refused = bathyscope_tests::command_line::run([
            "captures",
            "import",
            file.to_str().unwrap(),
            "--data",
            folder.path().to_str().unwrap(),
        ]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("file is not a database"), "{said}");
    }

    #[test]
    fn p94_the_console_opens_no_file_outside_of_its_places() {
        let Some(_alone) = alone("files of the console") else { return };
        let Some(version) = landlock() else {
            return skip("files of the console", "Landlock among the kernel's security modules");
        };
        let (folder, others) = (data(), data());
        // Everybody may read and write it, by its user.
        let other = others.path().join("other");
        fs::write(&other, "of others").unwrap();
        for path in [others.path(), &other] {
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        }
        let server = Server::simulated(folder.path());
        let taken = Taken::new(server.child("console"));
        let denied = -i64::from(libc::EACCES);
        let create = libc::O_CREAT | libc::O_WRONLY;
        let cases = [
            (other.as_path(), libc::O_RDONLY),
            (&other, libc::O_WRONLY),
            (&others.path().join("new"), create),
            (Path::new("/etc/hostname"), libc::O_RDONLY),
            (Path::new("/etc/resolv.conf"), libc::O_RDONLY),
            (Path::new("/tmp"), libc::O_RDONLY),
            (Path::new("/dev/null"), libc::O_WRONLY),
            (Path::new("/proc/self/comm"), libc::O_WRONLY),
        ];
        for (path, flags) in cases.into_iter().filter(|(path, flags)| path.exists() || flags & libc::O_CREAT != 0) {
            assert_eq!(taken.open(path, flags), denied, "{path:?} {flags:#o}");
        }
        for path in ["/proc/self/status", "/sys/devices/system/cpu/online", "/etc/passwd", "/dev/null", "/usr/bin/env"]
        {
            assert!(taken.open(Path::new(path), libc::O_RDONLY) >= 0, "{path}");
        }
        assert!(taken.open(&folder.path().join("short-lived/of-the-test"), create) >= 0, "its own directory");
        if version >= 4 {
            // A port of its choice: the rule names the port that it was told to listen at, which is 0 here.
            let socket = match taken.call(libc::SYS_socket, [libc::AF_INET as u64, libc::SOCK_STREAM as u64, 0, 0]) {
                Outcome::Returned(socket) if socket >= 0 => socket.cast_unsigned(),
                other => panic!("{other:?}"),
            };
            let mut address = vec![libc::AF_INET as u8, 0];
            address.extend(47_123_u16.to_be_bytes());
            address.extend([127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
            let address = taken.place(&address);
            assert_eq!(taken.call(libc::SYS_bind, [socket, address, 16, 0]), Outcome::Returned(denied), "another port");
        } else {
            skip("ports of the console", "Landlock 4, of Linux 6.7");
        }
        taken.let_go();
        assert_eq!(server.get("/api/host")["agent"]["state"], "connected");
    }
}
