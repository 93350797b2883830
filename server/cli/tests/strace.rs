//! `bathyscope strace` as a person runs it, with made-up calls: needs no rights.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::process::{Command, Output, Stdio};

fn verb(verb: &str, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    command.arg(verb).args(words).stdin(Stdio::null());
    command.output().unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn p24_a_process_is_traced_to_its_end_however_busy_the_others_are() {
    // 450,000 calls a second cost 6.8 % of one CPU, of which one of the seven processes has made a seventh.
    let words = ["--simulate=rate=450000", "-p", "1201", "-e", "close", "--duration", "2s", "-o", "/dev/null"];
    let output = verb("strace", &words);
    let text = errors(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("nothing lost") && !text.contains("DETACHED"), "{text}");
}

#[test]
fn p24_a_capture_that_the_guard_ended_says_so_last_and_does_not_end_well() {
    for (of, why) in [("--all", "the probes used"), ("--comm=nobody", "to pass over what others do")] {
        let output =
            verb("strace", &["--simulate=rate=3000000", of, "--budget", "0.1", "-o", "/dev/null", "--duration", "60s"]);
        let text = errors(&output);
        let last = text.lines().last().unwrap();
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(last.contains("DETACHED by the guard") && last.contains(why), "{text}");
        assert!(!text.contains("nothing lost"), "{text}");
    }
    let words =
        ["--simulate=rate=3000000", "-e", "sched:sched_switch", "--budget", "0.1", "--duration", "60s", "--json"];
    let output = verb("trace", &words);
    let text = errors(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.lines().last().unwrap().starts_with("DETACHED by the guard"), "{text}");
    assert!(!text.contains("nothing was lost"), "{text}");
}

#[test]
fn the_table_is_of_time_on_a_cpu_or_with_w_of_all_time() {
    let table = |letters: &str| {
        let output = verb("strace", &["--simulate=rate=1000", "--all", letters, "--duration", "1s"]);
        let text = errors(&output);
        assert!(output.status.success(), "{text}");
        text
    };
    let total = |text: &str| -> f64 {
        let line = text.lines().find(|line| line.ends_with(" total")).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let (cpu, wall) = (table("-c"), table("-cw"));
    assert!(cpu.starts_with("Time: how long calls ran on a CPU"), "{cpu}");
    assert!(wall.starts_with("Time: from the begin of calls"), "{wall}");
    // The made calls wait half of their time.
    assert!(total(&cpu) > 0.0 && total(&wall) > 1.5 * total(&cpu), "{cpu}{wall}");
}

#[test]
fn options_are_taken_at_their_place_or_refused_with_what_helps() {
    let refused = [
        ("-b execve ls", "It needs ptrace"),
        ("--seccomp-bpf ls", "It needs ptrace"),
        ("-e inject=openat:error=ENOENT ls", "It needs ptrace"),
        ("-ft --frobnicate ls", "is no option of `strace`"),
        ("-Y ls", "--json has the name of the thread"),
        ("-o |cat ls", "not written to a program"),
        ("-e signal=SIGFOO ls", "there is no signal"),
        ("--filter fd.prot=80", "is no field"),
    ];
    for (line, words) in refused {
        let output = verb("strace", &[&["--simulate"][..], &line.split(' ').collect::<Vec<_>>()].concat());
        let text = errors(&output);
        assert!(!output.status.success() && text.contains(words), "{line}: {text}");
    }
}

#[test]
fn lines_have_what_was_asked_for() {
    let lines = |words: &[&str]| {
        let output =
            verb("strace", &[&["--simulate=rate=500", "-p", "1201", "--duration", "700ms"][..], words].concat());
        let text = errors(&output);
        assert!(output.status.success(), "{text}");
        text
    };
    let numbered = lines(&["-n", "-e", "close"]);
    assert!(numbered.lines().any(|line| line.starts_with("[   3] close(3)  ")), "{numbered}");
    let hex = lines(&["-xx", "-e", "/^wri"]);
    assert!(hex.lines().any(|line| line.starts_with(r#"write(1, "\x68\x65\x6c\x6c\x6f\x0a", 6)"#)), "{hex}");
    let raw = lines(&["-e", "trace=openat", "-e", "raw=openat"]);
    assert!(raw.lines().any(|line| line.starts_with("openat(0xffffffffffffff9c, 0x1000, 0x80000, 0)")), "{raw}");
    let dumped = lines(&["-e", "write", "-e", "write=1", "-s", "2", "-a", "0", "--syscall-times=ns"]);
    assert!(dumped.lines().any(|line| line.starts_with("write(1, \"he\"..., 6) = 6 <0.0000")), "{dumped}");
    assert!(dumped.contains(" | 00000  68 65 6c 6c 6f 0a  "), "{dumped}");
    let quiet = lines(&["-q", "-e", "close"]);
    assert!(!quiet.contains("bathyscope:"), "{quiet}");
    let of_file = lines(&["-P", "/etc/hosts"]);
    assert!(of_file.contains("openat(AT_FDCWD, \"/etc/hosts\"") && !of_file.contains("missing.conf"), "{of_file}");
    assert!(of_file.contains("read(3") && !of_file.contains("mmap("), "{of_file}");
    assert!(of_file.contains("were recorded and are not shown, "), "{of_file}");
    // A path is that file's, and not the beginning of others.
    let of_none = lines(&["-P", "/etc/host"]);
    assert!(!of_none.contains("openat("), "{of_none}");
}

#[test]
fn each_thread_has_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    // Root's rights are gone when the files are made.
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let path = folder.path().join("calls");
    let path = path.to_str().unwrap();
    let words = ["--simulate=rate=2000", "--all", "-ff", "-o", path, "-e", "close", "--duration", "700ms"];
    let output = verb("strace", &words);
    assert!(output.status.success(), "{}", errors(&output));
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() > 3, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.lines().all(|line| line.starts_with("close(3)")), "{}: {text}", file.display());
    }
}
