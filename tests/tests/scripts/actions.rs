//! What scripts change: signals, memory of a process, results of kernel functions.

use std::{
    io::Write as _,
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

use bathyscope_tests::{in_lab, is_root, programs::program, skip};
use tempfile::TempDir;

use crate::{Kernel, traced};

/// A copy of `tests/programs/acts.c`, so that nobody else runs what is probed.
pub(crate) struct Acts {
    _folder: TempDir,
    pub path: PathBuf,
}

impl Acts {
    /// None, and said so, where it cannot be made or traced.
    pub(crate) fn new(what: &str) -> Option<Self> {
        if !is_root() {
            skip(what, "root");
            return None;
        }
        let Some(built) = program("acts") else {
            skip(what, "gcc");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("acts");
        std::fs::copy(built, &path).expect("a program can be copied");
        Some(Self { _folder: folder, path })
    }

    pub(crate) fn text(&self) -> &str {
        self.path.to_str().expect("a path of text")
    }

    /// What it prints when it does what the words say.
    pub(crate) fn act(&self, words: &[&str]) -> Output {
        let mut child = Command::new(&self.path)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        go(&mut child);
        child.wait_with_output().expect("it ends")
    }
}

/// Lets a waiting program go on.
pub(crate) fn go(child: &mut Child) {
    child.stdin.take().expect("its input").write_all(b"\n").expect("it reads");
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn memory_of_a_process_is_written() {
    let Some(acts) = Acts::new("writing memory of a process") else { return };
    let script = format!("uprobe:{}:say_this {{ write_user(arg0, \"other words\") }}", acts.text());
    let refused = traced(&["-e", &script], || {}).expect_err("it changes what is observed");
    assert!(refused.contains("allow it with --unsafe"), "{refused}");
    let mut output = None;
    let written = traced(&["--unsafe", "-e", &script], || output = Some(acts.act(&["say", "the words it was given"])));
    if let Err(refused) = &written
        && !in_lab()
    {
        assert!(refused.contains("locked down"), "{refused}");
        return skip("writing memory of a process", "a kernel that is not locked down");
    }
    let traced = written.expect("it is attached");
    let output = output.expect("it acted");
    assert_eq!(said(&output), "other words", "{traced:?}");
    assert_eq!(said(&acts.act(&["say", "its own"])), "its own", "nothing is left of the probe");
    let numbers = format!("uprobe:{}:say_this {{ write_user(arg0, (uint16)0x4142) }}", acts.text());
    traced_output(&["--unsafe", "-e", &numbers], &acts, &["say", "words"], "BArds");
}

fn traced_output(words: &[&str], acts: &Acts, does: &[&str], expected: &str) {
    let mut output = None;
    let traced = traced(words, || output = Some(acts.act(does))).expect("it is attached");
    assert_eq!(said(&output.expect("it acted")), expected, "{words:?}: {traced:?}");
}

#[test]
fn processes_and_threads_are_signalled() {
    let Some(acts) = Acts::new("signals from scripts") else { return };
    for (action, expected) in [("signal(\"SIGUSR1\")", "process"), ("signal_thread(10)", "thread")] {
        let script = format!("uprobe:{}:ask_for_signal {{ {action} }}", acts.text());
        traced_output(&["--unsafe", "-e", &script], &acts, &["signalled"], expected);
    }
    let script = format!("uprobe:{}:say_this {{ signal(\"KILL\") }}", acts.text());
    let mut output = None;
    let killed = traced(&["--unsafe", "-e", &script], || output = Some(acts.act(&["say", "nothing"])));
    killed.expect("it is attached");
    let output = output.expect("it acted");
    assert_eq!((output.status.signal(), said(&output)), (Some(9), String::new()));
}

/// Debian's kernels have no replacing of results, and say so before anything is loaded.
#[test]
fn results_are_replaced_or_refused_in_words() {
    let kernel = Kernel::running();
    if !is_root() || !kernel.kprobes {
        return skip("replaced results of kernel functions", "root and kprobes");
    }
    let symbols = std::fs::read_to_string("/proc/kallsyms").expect("the kernel's symbols");
    let able = symbols.lines().any(|line| line.ends_with(" bpf_override_return"));
    let script = "kprobe:__x64_sys_getpriority /comm == \"replaced\"/ { override(7) }";
    let result = traced(&["--unsafe", "-e", script], || {
        if able {
            let own = std::thread::Builder::new().name("replaced".to_owned());
            let asked = own.spawn(|| rustix::process::getpriority_process(None)).expect("a thread starts");
            // The system call gives 20 less the priority.
            assert_eq!(asked.join().expect("it ends"), Ok(13));
        }
    });
    match result {
        Ok(_traced) => assert!(able),
        Err(refused) => assert!(!able && refused.contains("CONFIG_BPF_KPROBE_OVERRIDE"), "{refused}"),
    }
}
