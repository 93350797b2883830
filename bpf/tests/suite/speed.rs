//! What a hit costs, by the kernel's own statistics, beside what the installed reference needs for the same. A tool for
//! whoever works on the compiler: run it with `--ignored --nocapture`, as root. It asserts nothing about time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use aya::{
    Ebpf, EbpfLoader,
    programs::{TracePoint, loaded_programs},
    sys::{Stats, enable_stats},
};
use bathyscope_bpf::{
    compile, disassemble,
    ir::{Builder, Helper, IrBinaryOp, MapDefinition, MapKind, Op, Program, ProgramKind, Size, Test, Width},
    object,
};

const CALLS: u32 = 1_000_000;

fn count(builder: &mut Builder) {
    let map = builder.map(MapDefinition::new("count", MapKind::PerCpuArray, 4, 8, 1));
    let value = builder.array_value(map, 0);
    let before = builder.load(value, 0, Size::B8, false);
    let after = builder.binary(IrBinaryOp::Add, before, 1);
    builder.store(value, 0, Size::B8, after);
}

fn keyed(builder: &mut Builder) {
    let map = builder.map(MapDefinition::new("keyed", MapKind::PerCpuHash, 8, 8, 4096));
    let (key, fresh) = (builder.slot(8), builder.slot(8));
    let pid_tgid = builder.call(Helper::GetCurrentPidTgid, &[]);
    let tid = builder.extend(pid_tgid, Size::B4, false);
    builder.store_slot(key, 0, Size::B8, tid);
    let (address, place) = (builder.map_address(map), builder.slot_address(key));
    let found = builder.call(Helper::MapLookup, &[address.into(), place.into()]);
    let (there, missing, end) = (builder.block(), builder.block(), builder.block());
    builder.branch(Test::Ne, found, 0, there, missing);
    builder.switch_to(missing);
    builder.store_slot(fresh, 0, Size::B8, 1);
    let value = builder.slot_address(fresh);
    builder.call_only(Helper::MapUpdate, &[address.into(), place.into(), value.into(), 0.into()]);
    builder.jump(end);
    builder.switch_to(there);
    let before = builder.load(found, 0, Size::B8, false);
    let after = builder.binary(IrBinaryOp::Add, before, 1);
    builder.store(found, 0, Size::B8, after);
    builder.jump(end);
    builder.switch_to(end);
}

fn rejected(builder: &mut Builder) {
    let pid_tgid = builder.call(Helper::GetCurrentPidTgid, &[]);
    let pid = builder.reg();
    let (op, width, right) = (IrBinaryOp::Shr, Width::W64, 32.into());
    builder.push(Op::Binary { to: pid, op, width, left: pid_tgid, right });
    let (wanted, end) = (builder.block(), builder.block());
    builder.branch(Test::Eq, pid, 1, wanted, end);
    builder.switch_to(wanted);
    count(builder);
    builder.jump(end);
    builder.switch_to(end);
}

fn program(write: fn(&mut Builder)) -> Program {
    let mut builder = Builder::new("ours", ProgramKind::Tracepoint);
    write(&mut builder);
    builder.ret(0);
    builder.finish()
}

fn system_calls() {
    for _ in 0..CALLS {
        std::hint::black_box(std::os::unix::process::parent_id());
    }
}

/// Nanoseconds per run of each tracepoint program that ran at least as often as system calls were made.
fn measured() -> BTreeMap<(u32, String), f64> {
    let runs = || -> BTreeMap<u32, (String, f64, f64)> {
        let all = loaded_programs().filter_map(Result::ok);
        all.map(|program| {
            let name = program.name_as_str().unwrap_or("?").to_owned();
            (program.id(), (name, program.run_time().as_nanos() as f64, program.run_count() as f64))
        })
        .collect()
    };
    let before = runs();
    system_calls();
    let mut found = BTreeMap::new();
    for (id, (name, time, count)) in runs() {
        let (_, time_before, count_before) = before.get(&id).cloned().unwrap_or_default();
        if count - count_before >= f64::from(CALLS) * 0.9 {
            found.insert((id, name), (time - time_before) / (count - count_before));
        }
    }
    found
}

fn ours(program: &Program) -> Ebpf {
    let code = compile(program).unwrap();
    println!("{}", disassemble(&code));
    let mut ebpf = EbpfLoader::new().btf(None).load(&object(&[&code]).unwrap()).unwrap();
    let loaded: &mut TracePoint = ebpf.program_mut("ours").unwrap().try_into().unwrap();
    loaded.load().unwrap();
    loaded.attach("raw_syscalls", "sys_enter").unwrap();
    ebpf
}

#[test]
#[ignore = "figures for people"]
fn cost_of_a_hit() {
    if !fs::exists("/sys/kernel/tracing/events/raw_syscalls").unwrap_or(false) {
        println!("SKIPPED: needs root and tracefs");
        return;
    }
    let _statistics = enable_stats(Stats::RunTime).unwrap();
    type Write = fn(&mut Builder);
    let cases: [(&str, Write, &str); 3] = [
        ("count", count, "tracepoint:raw_syscalls:sys_enter { @ = count(); }"),
        ("keyed count", keyed, "tracepoint:raw_syscalls:sys_enter { @[tid] = count(); }"),
        ("rejected", rejected, "tracepoint:raw_syscalls:sys_enter /pid == 1/ { @ = count(); }"),
    ];
    for (what, write, script) in cases {
        let ebpf = ours(&program(write));
        let best = |_| measured().into_values().fold(f64::MAX, f64::min);
        let own = (0..5).map(best).fold(f64::MAX, f64::min);
        drop(ebpf);
        let begin = "BEGIN { printf(\"ready\\n\"); }";
        let reference = Command::new("bpftrace")
            .args(["-B", "line", "-e", &format!("{begin} {script}")])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut reference) = reference else {
            println!("{what}: {own:.1} ns; there is no reference");
            continue;
        };
        let output = BufReader::new(reference.stdout.take().unwrap());
        let ready = output.lines().map_while(Result::ok).any(|line| line == "ready");
        assert!(ready, "the reference did not start");
        // It prints before it has attached the rest.
        std::iter::repeat_with(measured).find(|found| !found.is_empty());
        let theirs = (0..5).map(best).fold(f64::MAX, f64::min);
        reference.kill().unwrap();
        reference.wait().unwrap();
        println!("{what}: {own:.1} ns, the reference {theirs:.1} ns: {:.2}", own / theirs);
    }
}
