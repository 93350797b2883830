//! Probes that are no places in code: counters, watched memory, walks over what the kernel has, signals to the tracer.

use std::{fs, path::Path};

use bathyscope_tests::{
    is_root, skip,
    tracing::{Tracer, shows},
};
use rustix::process::Signal;

use crate::{cases::Work, places::Place, traced};

fn possible(what: &str) -> bool {
    if !is_root() {
        skip(what, "root");
    }
    is_root()
}

#[test]
fn software_events_fire() {
    if !possible("software events") || bathyscope_tests::programs::program("work").is_none() {
        return skip("software events", "root and gcc");
    }
    let fire = [
        ("context-switches:1", Work::Do("wake")),
        ("cs:1", Work::Do("wake")),
        ("cpu-clock:1000000", Work::Do("spin 200")),
        ("task-clock:1000000", Work::Do("spin 200")),
        ("page-faults:1", Work::Do("touch 2000000")),
        ("faults:1", Work::Do("touch 2000000")),
        ("minor-faults:1", Work::Do("touch 2000000")),
        ("major-faults:1", Work::Do("major {file}")),
        ("cpu-migrations:1", Work::Do("migrate")),
    ];
    let mut wrong = Vec::new();
    for (event, work) in fire {
        let Work::Do(words) = work else { continue };
        if event.starts_with("cpu-migrations") && std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2)
        {
            skip("the event cpu-migrations", "two processors");
            continue;
        }
        let script = format!("software:{event} {{ @[comm] = count(); }}");
        let mut place = Place::new();
        match traced(&["-e", &script], || place.work(words).expect("the work can be done")) {
            Ok(printed) if shows(&printed.out, "@[work]: ") => {}
            other => wrong.push(format!("{event}: {other:?}")),
        }
    }
    // Nothing makes these happen here, but they are attached.
    for event in ["alignment-faults", "emulation-faults", "bpf-output", "dummy"] {
        let script = format!("software:{event}:1 {{ @ = count(); }}");
        if let Err(refused) = traced(&["-e", &script], || {}) {
            wrong.push(format!("{event}: {refused}"));
        }
    }
    let refused = traced(&["-e", "software:cpu-clock:1 { @ = count(); }"], || {}).expect_err("it is far too often");
    assert!(refused.contains("at most every"), "{refused}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where the machine has no counters, that is said before anything is attached.
#[test]
fn hardware_events_fire_or_are_refused_in_words() {
    if !possible("hardware events") {
        return;
    }
    let has_counters =
        ["cpu", "cpu_core"].iter().any(|name| Path::new("/sys/bus/event_source/devices").join(name).exists());
    for event in ["cycles:1000000", "instructions:1000000", "cache-misses"] {
        let script = format!("hardware:{event} {{ @ = count(); }}");
        match traced(&["-e", &script], || {}) {
            Ok(_attached) => assert!(has_counters, "{event}"),
            Err(refused) => assert!(refused.contains("this machine has no performance counters"), "{refused}"),
        }
    }
}

/// Many virtual machines have no debug registers; where they do, the clock's ticks are seen.
#[test]
fn memory_of_the_kernel_is_watched() {
    if !possible("watchpoints") {
        return;
    }
    let mut tracer = Tracer::start(["-e", "watchpoint:jiffies:8:w { @ticks = count(); if (@ticks > 3) { exit(); } }"]);
    if tracer.attached() {
        let printed = tracer.finish();
        assert!(shows(&printed.out, "@ticks: "), "{printed:?}");
        return;
    }
    let refused = tracer.interrupt().err;
    assert!(refused.contains("hint: ") && !refused.contains("Report this"), "{refused}");
    skip("watchpoints that fire", "debug registers that can be used");
}

#[test]
fn what_the_kernel_has_is_walked() {
    if !possible("iterators") {
        return;
    }
    let own = std::process::id();
    let program = std::env::current_exe().expect("a path");
    let program = program.file_name().expect("a name").to_str().expect("a name of text").to_owned();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("open while it is walked");
    let _open = fs::File::create(&path).expect("a file");
    let path = path.to_str().expect("a path of text");
    let cases = [
        ("iter:task", "printf(\"<%d %s>\\n\", ctx.task.tgid, ctx.task.comm)", format!("<{own} ")),
        (
            "iter:task_file",
            "printf(\"<%d %d %s>\\n\", ctx.task.tgid, ctx.fd, path(&ctx.file.f_path))",
            format!("<{own} … {path}>"),
        ),
        (
            "iter:task_file",
            "printf(\"<%d %d %s>\\n\", ctx.task.tgid, ctx.fd, path(ctx.file))",
            format!("<{own} … {path}>"),
        ),
        (
            "iter:task_vma",
            "printf(\"<%d %s>\\n\", ctx.task.tgid, path(ctx.vma.vm_file))",
            format!("<{own} … {program}>"),
        ),
        ("iter:task_vma", "@[ctx.task.tgid] = count()", format!("@[{own}]: ")),
    ];
    let mut wrong = Vec::new();
    for (target, body, wanted) in cases {
        let tracer = Tracer::start(["-e", &format!("{target} {{ {body}; }}")]);
        let printed = tracer.finish();
        let whole = printed.status.is_some_and(|status| status.success()) && !printed.err.contains("LOST");
        // The walk ends with a call for nothing, which is none of the elements.
        if !whole || !shows(&printed.out, &wanted) || printed.out.contains("<0 ") || printed.out.contains("@[0]") {
            let out = printed.out.lines().take(10).collect::<Vec<_>>().join("\n");
            wrong.push(format!("{target} {body}: {}\n{out}", printed.err));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn signals_to_the_tracer_are_probes() {
    if !possible("signals to the tracer") {
        return;
    }
    for (name, signal) in [("SIGUSR1", Signal::USR1), ("SIGUSR2", Signal::USR2)] {
        let script = format!("self:signal:{name} {{ printf(\"<%s>\\n\", probe); exit(); }}");
        let mut tracer = Tracer::start(["-e", &script]);
        assert!(tracer.attached());
        tracer.signal(signal);
        let printed = tracer.finish();
        assert!(shows(&printed.out, &format!("<self:signal:{name}>")), "{printed:?}");
    }
}
