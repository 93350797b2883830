//! Stacks of a program without frame pointers, taken by unwind tables.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use bathyscope_tests::{
    is_root,
    programs::program,
    skip,
    tracing::{Traced, Tracer, shows},
};

/// All that called, the innermost first.
const CHAIN: &str = "f6+ >> f5+ >> f4+ >> f3+ >> f2+ >> f1+ >> main+ >> _start+";

/// The program, running until this is dropped.
struct Running(Child);

impl Running {
    fn start(path: &Path) -> Self {
        let (input, output) = (Stdio::piped(), Stdio::piped());
        let mut child = Command::new(path).stdin(input).stdout(output).spawn().expect("the program starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output is a pipe");
        BufReader::new(output).read_line(&mut line).expect("its first line");
        Self(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It ends with its input.
        let _ended = self.0.wait();
    }
}

/// What a script prints about the process of `chain`, which it counts at 20 hits of the probe.
fn traced(running: &Running, probe: &str) -> Traced {
    let pid = running.0.id().to_string();
    let count = "@dw[dw_ustack] = count(); @fp[ustack] = count(); @hits++; if (@hits >= 20) { exit(); }";
    let script = format!("{probe} {{ {count} }}");
    Tracer::start(["-p", &pid, "-e", &script]).finish()
}

/// What is printed of a map: all its elements.
fn map_of(text: &str, name: &str) -> String {
    let begin = format!("@{name}[");
    text.split_inclusive("]: ").filter(|element| element.contains(&begin)).collect()
}

#[test]
fn whole_stacks_are_shown_without_frame_pointers() {
    if !is_root() || !cfg!(target_arch = "x86_64") {
        return skip("stacks by unwind tables", "root on x86_64");
    }
    let Some(path) = program("chain") else { return skip("stacks by unwind tables", "gcc") };
    let running = Running::start(&path);
    let function = format!("uprobe:{}:f6", path.display());
    for probe in ["tracepoint:syscalls:sys_enter_getppid", "profile:hz:99", &function] {
        let traced = traced(&running, probe);
        assert!(traced.status.is_some_and(|status| status.success()), "{probe}: {traced:?}");
        let (by_tables, by_frames) = (map_of(&traced.out, "dw"), map_of(&traced.out, "fp"));
        assert!(shows(&by_tables, CHAIN), "{probe}:\n{}\n{}", traced.out, traced.err);
        assert!(!shows(&by_frames, "f6+ >> f5+ >> f4+ >> f3+"), "{probe}:\n{by_frames}");
    }
}

#[test]
fn a_command_has_tables_before_it_runs() {
    if !is_root() || !cfg!(target_arch = "x86_64") {
        return skip("stacks of a command by unwind tables", "root on x86_64");
    }
    let Some(path) = program("chain") else { return skip("stacks of a command by unwind tables", "gcc") };
    // Its input is empty, so it ends after its first look.
    let command = path.display().to_string();
    // The library's function, main, what of the library calls it, _start.
    let script = "tracepoint:syscalls:sys_enter_poll { if (len(dw_ustack) > 3) { @whole = count(); } }";
    let traced = Tracer::start(["-c", &command, "-e", script]).finish();
    assert!(shows(&traced.out, "@whole: 1"), "{traced:?}");
}
