//! From a script's text to what people read: scripts run in the machine for made-up events, their records are decoded by
//! the plan, and at the end the maps are printed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::sync::LazyLock;

use bathyscope_bpf::{
    disassemble,
    lang::{CheckOptions, CompileOptions, Compiled, compile, recorded::RecordedHost, render},
    machine::Machine,
    probe::TargetFilter,
};
use bathyscope_decode::script::{Decoder, Form, NoNames, Renderer, Snapshot};
use bathyscope_plan::ProgramType;

static HOST: LazyLock<RecordedHost> = LazyLock::new(|| RecordedHost::new("6.12").unwrap());

fn compiled(text: &str, options: CompileOptions) -> Compiled {
    let check = CheckOptions { unsafe_allowed: true, pid: None };
    compile(text, &*HOST, &CompileOptions { check, ..options }).unwrap_or_else(|diagnostics| {
        panic!("{}", diagnostics.iter().map(|it| render(text, "script", it)).collect::<String>())
    })
}

/// Something that happens.
#[derive(Clone, Copy, Debug)]
enum Event {
    Begin,
    End,
    Interval,
    /// `(thread, path's address, flags)`
    EnterOpenat(u32, u64, u64),
    /// `(thread, result)`
    ExitRead(u32, i64),
    EnterRead(u32),
    /// `(previous, next)`
    Switch(&'static str, &'static str),
    /// Some time later, in nanoseconds.
    Wait(u64),
}

impl Event {
    /// Whether a program at `name` runs, and with which context.
    fn context(self, name: &str) -> Option<Vec<u8>> {
        let words = |words: &[u64]| {
            Some(
                [&[0; 8][..], words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>().as_slice()]
                    .concat(),
            )
        };
        let comm = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(16, 0);
            bytes
        };
        match (self, name) {
            (Self::Begin, "begin") | (Self::End, "end") => Some(Vec::new()),
            (Self::Interval, name) if name.starts_with("interval:") => Some(vec![0; 200]),
            (Self::EnterOpenat(_, path, flags), "tracepoint:syscalls:sys_enter_openat") => {
                words(&[257, (-100_i64).cast_unsigned(), path, flags, 0])
            }
            (Self::ExitRead(_, result), "tracepoint:syscalls:sys_exit_read") => words(&[0, result.cast_unsigned()]),
            (Self::EnterRead(_), "tracepoint:syscalls:sys_enter_read") => words(&[0, 3, 0x1000, 100]),
            (Self::Switch(previous, next), "tracepoint:sched:sched_switch") => {
                let mut bytes = vec![0; 8];
                bytes.extend(comm(previous));
                bytes.extend([1, 0, 0, 0, 120, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
                bytes.extend(comm(next));
                bytes.extend([2, 0, 0, 0, 120, 0, 0, 0]);
                Some(bytes)
            }
            _ => None,
        }
    }

    fn thread(self) -> u32 {
        match self {
            Self::EnterOpenat(thread, ..) | Self::ExitRead(thread, _) | Self::EnterRead(thread) => thread,
            _ => 100,
        }
    }
}

fn machine() -> Machine {
    let mut machine = Machine::new(2);
    machine.world.time_ns = 5_000_000_000;
    machine.world.comm = *b"made\0\0\0\0\0\0\0\0\0\0\0\0";
    machine.world.user.insert(0x1000, b"/etc/passwd\0".to_vec());
    machine.world.user.insert(0x2000, b"/tmp/x\0".to_vec());
    machine.world.kernel_stack = vec![0xffff_ffff_8100_0000, 0xffff_ffff_8100_1000];
    machine
}

fn run(compiled: &Compiled, machine: &mut Machine, events: &[Event]) -> String {
    let mut shown = Vec::new();
    let renderer = Renderer::new(Form::Text, &compiled.plan, &NoNames);
    for event in events {
        if let Event::Wait(time) = event {
            machine.world.time_ns += time;
        }
        machine.world.tid = event.thread();
        machine.world.tgid = 100;
        for (index, probe) in compiled.plan.probes.iter().enumerate() {
            let Some(context) = event.context(&probe.name) else { continue };
            let program = &compiled.plan.programs[probe.program as usize];
            assert_eq!(program.kind == ProgramType::Run, matches!(event, Event::Begin | Event::End));
            machine.world.cookie = index as u64;
            let code = &compiled.codes[probe.program as usize];
            machine.run(code, &context).unwrap_or_else(|trap| panic!("{trap}\n{}", disassemble(code)));
        }
        let decoder = Decoder::new(&compiled.plan);
        for record in machine.take_records("ring") {
            let record = decoder.record(&record).unwrap();
            if let Some(message) = renderer.record(&record) {
                shown.extend(message.bytes);
            }
        }
    }
    for plan in &compiled.plan.maps {
        let Some(entries) = machine.map(&plan.object_name) else { continue };
        let content: Vec<(Vec<u8>, Vec<u8>)> =
            entries.keys().map(|key| (key.to_vec(), entries.values(key).concat())).collect();
        let each = content.iter().map(|(key, value)| (key.as_slice(), value.as_slice()));
        shown.extend(renderer.map(plan, &Snapshot::read(plan, each).unwrap(), None, None));
    }
    String::from_utf8(shown).unwrap()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn scripts_show_what_happened() {
    use Event::{Begin, End, EnterOpenat, EnterRead, ExitRead, Interval, Switch, Wait};
    let opens = [EnterOpenat(1, 0x1000, 0), EnterOpenat(2, 0x2000, 577), EnterOpenat(1, 0x2000, 0)];
    let reads = [ExitRead(1, 10), ExitRead(2, 1000), ExitRead(1, -9), ExitRead(1, 0)];
    let cases: Vec<(&str, Vec<Event>, &str)> = vec![
        ("begin { printf(\"hello %d\\n\", 1 + 2 * 3); } end { printf(\"bye\\n\"); }", vec![Begin, End], "hello 7\nbye\n"),
        (
            "tracepoint:syscalls:sys_enter_openat { printf(\"%s %d %s %d\\n\", comm, tid, str(args.filename), args.flags); }",
            opens.to_vec(),
            "made 1 /etc/passwd 0\nmade 2 /tmp/x 577\nmade 1 /tmp/x 0\n",
        ),
        (
            "tracepoint:syscalls:sys_enter_openat /str(args.filename) == \"/tmp/x\"/ { printf(\"%d\\n\", tid); }",
            opens.to_vec(),
            "2\n1\n",
        ),
        (
            "tracepoint:syscalls:sys_enter_openat { @[str(args.filename)] = count(); @t[tid, comm] = sum(args.flags); }",
            opens.to_vec(),
            "@[/etc/passwd]: 1\n@[/tmp/x]: 2\n@t[1, made]: 0\n@t[2, made]: 577\n",
        ),
        (
            "tracepoint:syscalls:sys_exit_read { if (args.ret < 0) { @errors++; } else { @n += args.ret; @all = avg(args.ret); } }",
            reads.to_vec(),
            "@errors: 1\n@n: 1010\n@all: 336\n",
        ),
        (
            "tracepoint:syscalls:sys_enter_read { @start[tid] = nsecs; }
             tracepoint:syscalls:sys_exit_read /@start[tid]/ { printf(\"%d\\n\", (nsecs - @start[tid]) / 1000); delete(@start, tid); }",
            vec![EnterRead(1), Wait(7000), EnterRead(2), ExitRead(3, 0), Wait(5000), ExitRead(1, 5), ExitRead(1, 5)],
            "12\n@start[2]: 5000007002\n",
        ),
        (
            "tracepoint:sched:sched_switch { printf(\"%s -> %s %d\\n\", args.prev_comm, args.next_comm, args.next_pid); @[args.next_comm] = count(); }",
            vec![Switch("bash", "make"), Switch("make", "cc1")],
            "bash -> make 2\nmake -> cc1 2\n@[cc1]: 1\n@[make]: 1\n",
        ),
        (
            "begin { $s = 0; for ($i : 0..5) { $s += $i; } for ($i : 0..1000) { if ($i % 2 == 0) { continue; } if ($i > 100) { break; } $s += $i; } printf(\"%d\\n\", $s); }",
            vec![Begin],
            "2510\n",
        ),
        (
            "begin { @m[1] = 10; @m[2] = 20; @m[3] = 30; $k = 0; for ($kv : @m) { $k += $kv.0 * $kv.1; } printf(\"%d %d\\n\", $k, len(@m)); clear(@m); }",
            vec![Begin],
            "140 3\n@m[1]: 10\n@m[2]: 20\n@m[3]: 30\n",
        ),
        (
            "begin { $a = 5; $b = $a++; $c = ++$a; $d = $a--; $e = --$a; printf(\"%d %d %d %d\\n\", $b, $c, $d, $e);
                     @a = 5; printf(\"%d %d %d %d\\n\", @a++, ++@a, @a--, --@a); @k[@n++] = 1; clear(@k); }",
            vec![Begin],
            "5 7 7 5\n5 7 7 5\n@a: 5\n@k[0]: 1\n@n: 1\n",
        ),
        (
            "begin { $i = 0; while ($i < 1000) { $i++; if ($i == 777) { break; } } printf(\"%d\\n\", $i); }",
            vec![Begin],
            "777\n",
        ),
        (
            "begin { $t = (1, \"two\", (3, 4)); printf(\"%d %s %d\\n\", $t.0, $t.1, $t.2.1); @[$t.0, $t.1] = $t.2; }",
            vec![Begin],
            "1 two 4\n@[1, two]: (3, 4)\n",
        ),
        (
            "interval:s:1 { @c = count(); if ((int64)@c == 3) { printf(\"three\\n\"); } }",
            vec![Interval; 4],
            "three\n@c: 4\n",
        ),
        (
            "begin { printf(\"%d %d %d %u\\n\", (int8)200, -7 / 2, -7 % 3, (uint8)300); }",
            vec![Begin],
            "-56 -3 -1 44\n",
        ),
        (
            "tracepoint:syscalls:sys_enter_read, tracepoint:syscalls:sys_exit_read { @[probe] = count(); }",
            vec![EnterRead(1), ExitRead(1, 0), EnterRead(1)],
            "@[tracepoint:syscalls:sys_exit_read]: 1\n@[tracepoint:syscalls:sys_enter_read]: 2\n",
        ),
        (
            "struct pair { int a; int b; }\nenum colour { RED = 3, BLUE }\nunion both { int a; long b; }\nbegin { printf(\"%d %d %d\\n\", sizeof(struct pair), sizeof(union both), BLUE); }",
            vec![Begin],
            "8 8 4\n",
        ),
        (
            "begin { if comptime (typeinfo(pid).base_type == \"int\" && typeinfo(comm).1 != typeinfo(1).1) { printf(\"%s %s\\n\", typeinfo(comm).full_type, typeinfo(curtask).2); } print(typeinfo((1, \"a\"))); print(typeinfo(pid) == typeinfo(tid)); }",
            vec![Begin],
            "string[16] struct task_struct *\n{ .btf_id = 0, .base_type = tuple, .full_type = (int8, string[2]) }\ntrue\n",
        ),
        (
            "tracepoint:syscalls:sys_enter_read { printf(\"%s %d|\", comm(tid), comm(tid)); @[comm(tid)] = comm(pid); }",
            vec![EnterRead(7)],
            ":7 7|@[:7]: :100\n",
        ),
        (
            // Histograms of so many buckets have their buckets in the keys of the kernel's map.
            "tracepoint:syscalls:sys_exit_read { @h[tid] = lhist(args.ret, 0, 9000, 10); }
             end { printf(\"%d %d %d\\n\", has_key(@h, 1), has_key(@h, 3), len(@h)); $t = 0; for ($kv : @h) { $t += $kv.0; }
                   delete(@h, 1); printf(\"%d %d %d\\n\", $t, has_key(@h, 1), len(@h)); }",
            vec![ExitRead(1, 10), ExitRead(1, 11), ExitRead(1, 500), ExitRead(2, 1000), End],
            "1 0 2\n3 0 1\n@h[2]:\n[1000, 1010)           1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\n",
        ),
    ];
    for (text, events, expected) in cases {
        let compiled = compiled(text, CompileOptions::default());
        assert_eq!(run(&compiled, &mut machine(), &events), expected, "{text}");
    }
}

#[test]
fn targets_are_asked_for_before_the_predicate() {
    let text = "tracepoint:syscalls:sys_enter_read { @ = count(); } interval:s:1 { @i = count(); }";
    let events = [Event::EnterRead(1), Event::EnterRead(2), Event::Interval];
    for (target, expected) in [
        (TargetFilter::System, "@: 2\n@i: 1\n"),
        (TargetFilter::Process(100), "@: 2\n@i: 1\n"),
        (TargetFilter::Process(101), "@i: 1\n"),
        (TargetFilter::Targets, "@i: 1\n"),
    ] {
        let compiled = compiled(text, CompileOptions { target, ..CompileOptions::default() });
        assert_eq!(run(&compiled, &mut machine(), &events), expected, "{target:?}");
    }
}

#[test]
fn records_carry_the_threads_name_if_asked() {
    let options = CompileOptions { comm: true, ..CompileOptions::default() };
    let compiled = compiled("tracepoint:syscalls:sys_enter_read { printf(\"%d\\n\", tid); }", options);
    let mut machine = machine();
    machine.world.tgid = 7;
    machine.run(&compiled.codes[0], &[0; 64]).unwrap();
    let record = Decoder::new(&compiled.plan).record(&machine.take_records("ring")[0]).unwrap();
    assert_eq!((record.comm.as_slice(), record.pid), (b"made".as_slice(), 7));
}

#[test]
fn a_full_ring_is_counted() {
    let compiled = compiled(
        "tracepoint:syscalls:sys_enter_read { printf(\"%d\\n\", tid); }",
        CompileOptions { ring_bytes: 4096, ..CompileOptions::default() },
    );
    let mut machine = machine();
    for _ in 0..100 {
        machine.run(&compiled.codes[0], &[0; 64]).unwrap();
    }
    let sent = machine.take_records("ring").len() as u64;
    let counters = machine.map("counters").unwrap();
    let words: Vec<u64> = counters
        .value(&[0; 4], 0)
        .unwrap()
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    assert!(sent < 100);
    assert_eq!(words, [100, 0, 100 - sent, 0, 0, 0, 0]);
}

#[test]
fn what_is_too_large_is_told_in_terms_of_the_script() {
    let text = "config = { max_strlen = 16384 } tracepoint:syscalls:sys_enter_renameat2 { printf(\"%s %s\\n\", str(args.oldname), str(args.newname)); }";
    let refused = compile(text, &*HOST, &CompileOptions::default()).unwrap_err();
    assert_eq!(refused.len(), 1);
    assert!(refused[0].message.contains("bytes of memory"), "{refused:?}");
    assert!(text[refused[0].start as usize..].starts_with("printf"), "{refused:?}");
}
