//! Attacks by what runs in the child: each does what somebody would who has taken it over.

use std::{fs::File, io::Read as _};

use super::*;

const SMALL: Limits =
    Limits { memory_bytes: 64 << 20, cpu_seconds: 2, wall: Some(Duration::from_secs(20)), threads: false, user: None };

/// Starts a child, waits for its first message, and tells how it ended.
#[track_caller]
fn outcome(limits: Limits, work: impl FnOnce(&mut Inside)) -> Result<Option<Vec<u8>>, SandboxError> {
    let mut child = start(limits, None, || Ok(()), |(), mut inside| work(&mut inside)).unwrap();
    child.receive(1 << 20)
}

#[track_caller]
fn is_forbidden(what: &str, work: impl FnOnce(&mut Inside)) {
    match outcome(SMALL, work) {
        Err(SandboxError::Forbidden) => {}
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn p80_a_child_computes_and_talks() {
    let mut child = start(
        SMALL,
        None,
        || Ok(20),
        |base: u64, mut inside| {
            let number = inside.receive().unwrap();
            let sum = number.iter().map(|byte| u64::from(*byte)).sum::<u64>() + base;
            inside.send(&sum.to_le_bytes()).unwrap();
        },
    )
    .unwrap();
    child.send(&[1, 2, 3]).unwrap();
    assert_eq!(child.receive(8).unwrap().unwrap(), 26_u64.to_le_bytes());
    assert!(child.receive(8).unwrap().is_none());
}

/// What it uses of a CPU is told, however it ends, and is in the account of its parent.
#[test]
fn p80_what_a_child_uses_of_a_cpu_is_in_the_account() {
    let works = |(): (), mut inside: Inside| {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(200) {
            std::hint::spin_loop();
        }
        let _nobody_listens = inside.send(b"done");
        loop {
            std::hint::spin_loop();
        }
    };
    let before = (children_cpu_ns(), crate::ProcessUse::own().cpu_ns);
    let mut child = start(SMALL, None, || Ok(()), works).unwrap();
    assert_eq!(child.receive(10).unwrap().unwrap(), b"done");
    let used = child.close();
    // A busy machine gives it less than all of a CPU.
    assert!(used > 5_000_000, "{used} ns");
    assert!(children_cpu_ns() >= before.0 + used);
    assert!(crate::ProcessUse::own().cpu_ns >= before.1 + used, "it is in what the process says that it has used");
    // One that is ended by its limit is counted too.
    let before = children_cpu_ns();
    let ended = outcome(Limits { cpu_seconds: 1, ..SMALL }, |_inside| {
        loop {
            std::hint::spin_loop();
        }
    });
    assert!(matches!(ended, Err(SandboxError::Time { seconds: 1 })), "{ended:?}");
    // The limit counts by ticks of the clock, which may run ahead of what was used.
    assert!(children_cpu_ns() >= before + 300_000_000, "{}", children_cpu_ns() - before);
}

/// Whoever listens to a child that says nothing can be freed by another thread.
#[test]
fn p80_the_talk_with_a_silent_child_can_be_ended() {
    let waits = |(): (), mut inside: Inside| drop(inside.receive());
    let mut child = start(Limits { wall: None, ..SMALL }, None, || Ok(()), waits).unwrap();
    let hang_up = child.hang_up().unwrap();
    let listening = std::thread::spawn(move || child.receive(10));
    hang_up.now();
    assert!(!matches!(listening.join().unwrap(), Ok(Some(_))));
}

#[test]
fn p80_a_child_has_no_right_left() {
    let mut child = start(
        SMALL,
        None,
        || Ok(()),
        |(), mut inside| {
            inside.send(b"confined").unwrap();
            let _until_the_parent_has_looked = inside.receive();
        },
    )
    .unwrap();
    assert_eq!(child.receive(100).unwrap().unwrap(), b"confined");
    let of_child = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", child.pid()));
    let status = of_child("status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no {name} in {status}")).trim().to_owned()
    };
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(u64::from_str_radix(&field(set), 16).unwrap(), 0, "{set}");
    }
    assert_eq!((field("Seccomp"), field("NoNewPrivs")), ("2".to_owned(), "1".to_owned()));
    if rustix::process::geteuid().is_root() {
        assert_eq!(u64::from_str_radix(&field("CapBnd"), 16).unwrap(), 0);
        assert_eq!(field("Uid"), "60900\t60900\t60900\t60900");
        assert_eq!((field("Gid"), field("Groups")), ("60900\t60900\t60900\t60900".to_owned(), String::new()));
        let open = std::fs::read_dir(format!("/proc/{}/fd", child.pid())).unwrap().count();
        assert_eq!(open, 1, "its socket");
        let limits = of_child("limits").unwrap();
        for none in ["Max core file size", "Max file size", "Max open files", "Max processes"] {
            let line = limits.lines().find(|line| line.starts_with(none)).unwrap();
            let numbers: Vec<&str> = line[none.len()..].split_whitespace().take(2).collect();
            assert_eq!(numbers, ["0", "0"], "{none}");
        }
    }
    child.send(b"end").unwrap();
    assert!(child.receive(1).unwrap().is_none());
}

#[test]
fn p80_memory_without_end_ends_only_the_child() {
    let eats = |_inside: &mut Inside| {
        let mut all: Vec<Vec<u8>> = Vec::new();
        loop {
            all.push(vec![1; 1 << 20]);
            std::hint::black_box(&all);
        }
    };
    assert!(matches!(outcome(SMALL, eats), Err(SandboxError::Memory { mib: 64 })));
}

#[test]
fn p80_work_without_end_is_ended_by_its_time_on_a_cpu_and_by_the_clock() {
    let limits = Limits { cpu_seconds: 1, ..SMALL };
    let turns = |_inside: &mut Inside| loop {
        std::hint::black_box(0);
    };
    assert!(matches!(outcome(limits, turns), Err(SandboxError::Time { seconds: 1 })));
    // One that waits uses no CPU.
    let limits = Limits { wall: Some(Duration::from_millis(300)), ..SMALL };
    let waits = |inside: &mut Inside| drop(inside.receive());
    assert!(matches!(outcome(limits, waits), Err(SandboxError::Time { .. })));
}

#[test]
fn p80_system_calls_that_reach_out_end_the_child() {
    assert!(matches!(outcome(SMALL, |_| ()), Ok(None)), "without an attack it ends well");
    is_forbidden("socket", |_| drop(std::net::TcpStream::connect("127.0.0.1:1")));
    is_forbidden("fork", |_| {
        // SAFETY: the child of the attack, if there were one, would end at once with its parent.
        let _pid = unsafe { libc::fork() };
    });
    is_forbidden("kill", |_| {
        let _sent = rustix::process::test_kill_process(Pid::INIT);
    });
    is_forbidden("a signal to another process", |_| {
        // SAFETY: numbers.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getppid(), libc::getppid(), libc::SIGABRT) };
    });
    is_forbidden("ptrace", |_| {
        // SAFETY: numbers; nothing is read or written.
        let _attached = unsafe { libc::ptrace(libc::PTRACE_ATTACH, libc::getppid(), 0, 0) };
    });
    is_forbidden("prctl", |_| {
        let _set = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable);
    });
    is_forbidden("bpf", |_| {
        // SAFETY: numbers; no attributes.
        unsafe { libc::syscall(libc::SYS_bpf, 0, 0, 0) };
    });
    is_forbidden("memory that can be executed", |_| {
        let protection = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::EXEC;
        // SAFETY: a new mapping at a place that the kernel chooses, which nothing uses.
        let _mapped = unsafe {
            rustix::mm::mmap_anonymous(std::ptr::null_mut(), 4096, protection, rustix::mm::MapFlags::PRIVATE)
        };
    });
    is_forbidden("execve", |_| {
        let program = c"/bin/true";
        let arguments = [program.as_ptr(), std::ptr::null()];
        // SAFETY: the path and the list end in NUL and null; nothing else is passed.
        unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), std::ptr::null()) };
    });
}

#[test]
fn p80_one_with_threads_starts_threads_and_no_process() {
    let limits = Limits { threads: true, ..SMALL };
    let threads = |inside: &mut Inside| {
        let sum = std::thread::spawn(|| (0..100_u64).sum::<u64>()).join().unwrap();
        inside.send(&sum.to_le_bytes()).unwrap();
    };
    assert_eq!(outcome(limits, threads).unwrap().unwrap(), 4950_u64.to_le_bytes());
    let forks = outcome(limits, |_inside| {
        // SAFETY: the child of the attack, if there were one, would end at once with its parent.
        let _pid = unsafe { libc::fork() };
    });
    assert!(matches!(forks, Err(SandboxError::Forbidden)), "{forks:?}");
}

#[test]
fn p80_no_file_is_opened_or_looked_at() {
    for threads in [false, true] {
        let opens = |inside: &mut Inside| {
            let tried = [
                File::open("/etc/passwd").map(drop),
                File::create("/tmp/of_a_child").map(drop),
                std::fs::metadata("/etc/passwd").map(drop),
                std::fs::read_link("/proc/self/exe").map(drop),
            ];
            let is_refused = |done: &io::Result<()>| done.as_ref().is_err_and(|error| error.raw_os_error().is_some());
            inside.send(&tried.map(|done| u8::from(is_refused(&done)))).unwrap();
        };
        assert_eq!(outcome(Limits { threads, ..SMALL }, opens).unwrap().unwrap(), [1; 4]);
    }
    is_forbidden("another way to open", |_| {
        // SAFETY: numbers and a path that ends in NUL.
        unsafe { libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, c"/etc/passwd".as_ptr(), 0, 0) };
    });
    is_forbidden("removing a file", |_| drop(std::fs::remove_file("/tmp/of_a_child")));
}

#[test]
fn p80_what_a_child_says_is_bounded_and_whole() {
    let large = outcome(SMALL, |inside| drop(inside.send(&vec![0; 2 << 20])));
    assert!(matches!(large, Err(SandboxError::TooLarge { bytes, .. }) if bytes == 2 << 20), "{large:?}");
    let half = outcome(SMALL, |inside| inside.socket.write_all(&[9, 0, 0, 0, 1, 2]).unwrap());
    assert!(matches!(half, Err(SandboxError::Ended { status: 0 })), "{half:?}");
    let panics = outcome(SMALL, |_inside| std::panic::resume_unwind(Box::new("on purpose")));
    assert!(matches!(panics, Err(SandboxError::Ended { status: 101 })), "{panics:?}");
    // One that does not listen holds its parent up until its time is over.
    let limits = Limits { wall: Some(Duration::from_millis(300)), ..SMALL };
    let mut deaf = start(
        limits,
        None,
        || Ok(()),
        |(), mut inside| {
            let mut one = [0];
            inside.socket.read_exact(&mut one).unwrap();
            loop {
                std::hint::black_box(0);
            }
        },
    )
    .unwrap();
    assert!(matches!(deaf.send(&vec![0; 16 << 20]), Err(SandboxError::Time { .. })));
}

#[test]
fn p80_a_child_is_gone_when_nobody_wants_it() {
    let child = start(SMALL, None, || Ok(()), |(), mut inside| drop(inside.receive())).unwrap();
    let folder = format!("/proc/{}", child.pid());
    assert!(std::path::Path::new(&folder).exists());
    drop(child);
    assert!(!std::path::Path::new(&folder).exists(), "neither it nor its zombie");
}

#[test]
fn p80_a_child_reads_the_file_that_it_was_given() {
    let file = tempfile::tempfile().unwrap();
    (&file).write_all(b"content").unwrap();
    rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0)).unwrap();
    let mut child = start(
        SMALL,
        Some(file.as_fd()),
        || Ok(()),
        |(), mut inside| {
            let mut text = [0; 7];
            inside.input.as_mut().unwrap().read_exact(&mut text).unwrap();
            inside.send(&text).unwrap();
        },
    )
    .unwrap();
    assert_eq!(child.receive(100).unwrap().unwrap(), b"content");
}
