//! What the programs of a capture do, run on the strict machine, and what they look like.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::machine;

use bathyscope_bpf::{
    Code, compile, disassemble, ir, object,
    probe::{
        Encoding, Parents, ProbeError, ProbeProgram, SampleFilter, TargetFilter, TracepointProbe, fork_program,
        free_program, sample_filter_program, tracepoint_program,
    },
};
use bathyscope_capture::{Predicate, Value};
use bathyscope_catalog::{EventFormat, parse_event_format};
use machine::{USER, World, run};
use proptest::prelude::*;

macro_rules! fixture {
    ($name:literal) => {
        parse_event_format(include_bytes!(concat!("../../../server/catalog/fixtures/", $name, ".format"))).unwrap()
    };
}

/// An event with every kind of field, some at places that are not aligned.
fn every_kind() -> EventFormat {
    let text = "name: sys_enter_every\nID: 1\n\
        \tfield:u8 small;\toffset:8;\tsize:1;\tsigned:0;\n\
        \tfield:s8 tiny;\toffset:9;\tsize:1;\tsigned:1;\n\
        \tfield:u16 port;\toffset:10;\tsize:2;\tsigned:0;\n\
        \tfield:int odd;\toffset:13;\tsize:4;\tsigned:1;\n\
        \tfield:s16 pair;\toffset:18;\tsize:2;\tsigned:1;\n\
        \tfield:u64 packed;\toffset:20;\tsize:8;\tsigned:0;\n\
        \tfield:int number;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:s64 wide;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:u32 list[3];\toffset:40;\tsize:12;\tsigned:0;\n\
        \tfield:char name[10];\toffset:54;\tsize:10;\tsigned:0;\n\
        \tfield:__data_loc char[] dynamic;\toffset:64;\tsize:4;\tsigned:0;\n\
        \tfield:__rel_loc char[] relative;\toffset:68;\tsize:4;\tsigned:0;\n\
        \tfield:const char * path;\toffset:72;\tsize:8;\tsigned:0;\n\
        \tfield:void * pointer;\toffset:80;\tsize:8;\tsigned:0;\n\
        \tfield:char label[40];\toffset:88;\tsize:40;\tsigned:0;\n\
        \tfield:u32 pid;\toffset:128;\tsize:4;\tsigned:0;\n";
    parse_event_format(text.as_bytes()).unwrap()
}

const ALL_FIELDS: [&str; 16] = [
    "small", "tiny", "port", "odd", "pair", "packed", "number", "wide", "list", "name", "dynamic", "relative", "path",
    "pointer", "label", "pid",
];

fn probe(
    format: &EventFormat,
    fields: &[&str],
    predicate: Option<&str>,
    target: TargetFilter,
) -> Result<ProbeProgram, ProbeError> {
    let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
    let predicate = predicate.map(|text| Predicate::parse(text).unwrap());
    tracepoint_program(&TracepointProbe {
        name: "bathy_p0",
        format,
        fields: &fields,
        predicate: predicate.as_ref(),
        target,
        ring_bytes: 1 << 20,
    })
}

/// A record's values as text, as a reader would decode them.
fn decode(layout: &ProbeProgram, record: &[u8]) -> Vec<(String, String)> {
    let number = |at: usize, bytes: usize| {
        let mut all = [0; 8];
        all[..bytes].copy_from_slice(&record[at..at + bytes]);
        u64::from_le_bytes(all)
    };
    let until_nul = |bytes: &[u8]| bytes.split(|byte| *byte == 0).next().unwrap_or_default().escape_ascii().to_string();
    let show = |place: &bathyscope_bpf::probe::ColumnPlace| {
        let at = place.offset as usize;
        match place.encoding {
            Encoding::Unsigned { bytes, .. } => number(at, bytes.into()).to_string(),
            Encoding::Signed { bytes } => {
                let unused = 64 - u32::from(bytes) * 8;
                ((number(at, bytes.into()) << unused).cast_signed() >> unused).to_string()
            }
            Encoding::FixedText { bytes } => format!("{:?}", until_nul(&record[at..at + usize::from(bytes)])),
            Encoding::LengthText { room } => {
                let length = (number(at, 4) as u32).cast_signed();
                match usize::try_from(length) {
                    Err(_negative) => format!("error {length}"),
                    Ok(length) => {
                        assert!((1..=usize::from(room)).contains(&length), "{length}");
                        format!("{:?}", record[at + 4..at + 3 + length].escape_ascii().to_string())
                    }
                }
            }
        }
    };
    layout.layout.iter().map(|place| (place.name.clone(), show(place))).collect()
}

/// One hit: what a process does and what the kernel writes into the event.
#[derive(Clone, Debug)]
struct Hit {
    numbers: [u64; 12],
    name: Vec<u8>,
    dynamic: Vec<u8>,
    relative: Vec<u8>,
    path: Option<Vec<u8>>,
    label: Vec<u8>,
    comm: Vec<u8>,
    tgid: u32,
    tid: u32,
    cpu: u32,
}

impl Default for Hit {
    fn default() -> Self {
        Self {
            numbers: [200, 0xfb, 443, 0xffff_fff9, 0xfffe, u64::MAX - 1, 0xffff_ff9c, u64::MAX, 1, 2, 3, 77],
            name: b"abcdefghij".to_vec(),
            dynamic: b"/usr/bin/true".to_vec(),
            relative: b"message".to_vec(),
            path: Some(b"/etc/passwd".to_vec()),
            label: b"a label".to_vec(),
            comm: b"sshd".to_vec(),
            tgid: 42,
            tid: 43,
            cpu: 1,
        }
    }
}

impl Hit {
    fn world(&self) -> World {
        let mut context = vec![0xee; 132];
        let mut put = |at: usize, bytes: &[u8]| context[at..at + bytes.len()].copy_from_slice(bytes);
        let n = self.numbers.map(u64::to_le_bytes);
        let places = [(8, 1), (9, 1), (10, 2), (13, 4), (18, 2), (20, 8), (28, 4), (32, 8), (40, 4), (44, 4), (48, 4)];
        for ((at, bytes), value) in places.into_iter().zip(n) {
            put(at, &value[..bytes]);
        }
        put(80, &n[11]);
        put(128, &n[11][..4]);
        let terminated = |text: &[u8], room: usize| {
            let mut all = text.to_vec();
            // What is behind the NUL of an array is left over from before.
            all.resize(room, b'#');
            if text.len() < room {
                all[text.len()] = 0;
            }
            all
        };
        put(54, &terminated(&self.name, 10));
        put(88, &terminated(&self.label, 40));
        put(72, &self.path.as_ref().map_or(8, |_| USER + 16).to_le_bytes());
        let dynamic_at = context.len();
        context.extend(&self.dynamic);
        context.push(0);
        let relative_at = context.len();
        context.extend(&self.relative);
        context.push(0);
        let loc = (self.dynamic.len() as u32 + 1) << 16;
        context[64..68].copy_from_slice(&(loc | dynamic_at as u32).to_le_bytes());
        context[68..72].copy_from_slice(&(loc | (relative_at as u32 - 72)).to_le_bytes());
        let mut user = vec![0xcc; 16];
        user.extend(self.path.iter().flatten());
        user.push(0);
        let mut comm = [0; 16];
        comm[..self.comm.len()].copy_from_slice(&self.comm);
        World { context, user, comm, tgid: self.tgid, tid: self.tid, cpu: self.cpu, time_ns: 1000, ..World::default() }
    }

    /// The value of a column, as a row of the capture would have it.
    fn value<'a>(&'a self, name: &str) -> Option<Value<'a>> {
        let n = self.numbers;
        let cut = |text: &'a [u8], most: usize| Some(Value::Text(&text[..text.len().min(most)]));
        match name {
            "pid" => Some(Value::Unsigned(self.tgid.into())),
            "tid" => Some(Value::Unsigned(self.tid.into())),
            "cpu" => Some(Value::Unsigned(self.cpu.into())),
            "comm" => Some(Value::Text(&self.comm)),
            "small" => Some(Value::Unsigned(u64::from(n[0] as u8))),
            "tiny" => Some(Value::Signed(i64::from(n[1] as i8))),
            "port" => Some(Value::Unsigned(u64::from(n[2] as u16))),
            "odd" => Some(Value::Signed(i64::from(n[3] as i32))),
            "pair" => Some(Value::Signed(i64::from(n[4] as i16))),
            "packed" => Some(Value::Unsigned(n[5])),
            "number" => Some(Value::Signed(i64::from(n[6] as i32))),
            "wide" => Some(Value::Signed(n[7].cast_signed())),
            "list[0]" => Some(Value::Unsigned(u64::from(n[8] as u32))),
            "list[2]" => Some(Value::Unsigned(u64::from(n[10] as u32))),
            "args.pid" => Some(Value::Unsigned(u64::from(n[11] as u32))),
            "pointer" => Some(Value::Unsigned(n[11])),
            "name" => Some(Value::Text(&self.name)),
            "label" => Some(Value::Text(&self.label)),
            "dynamic" => cut(&self.dynamic, 63),
            "relative" => cut(&self.relative, 63),
            "path" => self.path.as_ref().and_then(|path| cut(path, 255)),
            _ => panic!("{name}"),
        }
    }
}

#[test]
fn a_record_holds_every_field() {
    let made = probe(&every_kind(), &ALL_FIELDS, None, TargetFilter::System).unwrap();
    let code = compile(&made.program).unwrap();
    let mut world = Hit::default().world();
    assert_eq!(run(&code, &mut world), Ok(0));
    assert_eq!(world.counters, [1, 0, 0]);
    assert_eq!(world.records.len(), 1);
    assert_eq!(world.records[0].len(), made.record_bytes as usize);
    let expected = [
        ("time", "1001"),
        ("cpu", "1"),
        ("pid", "42"),
        ("tid", "43"),
        ("comm", "\"sshd\""),
        ("small", "200"),
        ("tiny", "-5"),
        ("port", "443"),
        ("odd", "-7"),
        ("pair", "-2"),
        ("packed", "18446744073709551614"),
        ("number", "-100"),
        ("wide", "-1"),
        ("list[0]", "1"),
        ("list[1]", "2"),
        ("list[2]", "3"),
        ("name", "\"abcdefghij\""),
        ("dynamic", "\"/usr/bin/true\""),
        ("relative", "\"message\""),
        ("path", "\"/etc/passwd\""),
        ("pointer", "77"),
        ("label", "\"a label\""),
        ("args.pid", "77"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(decode(&made, &world.records[0]), expected);
}

#[test]
fn long_and_unreadable_text_is_told_apart() {
    let made = probe(&every_kind(), &["dynamic", "path"], None, TargetFilter::System).unwrap();
    let code = compile(&made.program).unwrap();
    let text = |hit: Hit| {
        let mut world = hit.world();
        run(&code, &mut world).unwrap();
        decode(&made, &world.records[0]).into_iter().skip(5).map(|(_, value)| value).collect::<Vec<_>>()
    };
    let long = Hit { dynamic: vec![b'd'; 100], path: Some(vec![b'p'; 300]), ..Hit::default() };
    assert_eq!(text(long), [format!("{:?}", "d".repeat(63)), format!("{:?}", "p".repeat(255))]);
    let missing = Hit { dynamic: Vec::new(), path: None, ..Hit::default() };
    assert_eq!(text(missing), ["\"\"", "error -14"]);
}

#[test]
fn hits_are_filtered_and_counted() {
    let format = every_kind();
    let hit = Hit::default();
    /// Predicate, target, targets in the map, whether the ring is full, counters, records.
    type Case<'a> = (Option<&'a str>, TargetFilter, &'a [u32], bool, [u64; 3], usize);
    let cases: [Case<'_>; 10] = [
        (None, TargetFilter::System, &[], false, [1, 0, 0], 1),
        (None, TargetFilter::System, &[], true, [1, 0, 1], 0),
        (None, TargetFilter::Process(42), &[], false, [1, 0, 0], 1),
        (None, TargetFilter::Process(43), &[], false, [1, 1, 0], 0),
        (None, TargetFilter::Process(43), &[], true, [1, 1, 0], 0),
        (None, TargetFilter::Targets, &[41], false, [1, 1, 0], 0),
        (None, TargetFilter::Targets, &[41, 42], false, [1, 0, 0], 1),
        (Some("port == 443"), TargetFilter::Targets, &[42], false, [1, 0, 0], 1),
        (Some("port == 444"), TargetFilter::Targets, &[42], false, [1, 1, 0], 0),
        (Some("port == 443"), TargetFilter::Targets, &[42], true, [1, 0, 1], 0),
    ];
    for (predicate, target, targets, ring_is_full, counters, records) in cases {
        let made = probe(&format, &["port"], predicate, target).unwrap();
        let code = compile(&made.program).unwrap();
        let mut world = hit.world();
        world.ring_is_full = ring_is_full;
        world.targets = targets.iter().map(|tgid| (*tgid, 1)).collect();
        assert_eq!(run(&code, &mut world), Ok(0), "{predicate:?} {target:?}");
        assert_eq!((world.counters, world.records.len()), (counters, records), "{predicate:?} {target:?}");
    }
}

fn compiled(predicate: &str) -> (ProbeProgram, Code) {
    let made = probe(&every_kind(), &[], Some(predicate), TargetFilter::System).unwrap();
    let code = compile(&made.program).unwrap_or_else(|error| panic!("{predicate}: {error}"));
    (made, code)
}

fn holds(predicate: &str, hit: &Hit) -> bool {
    let (_, code) = compiled(predicate);
    let mut world = hit.world();
    run(&code, &mut world).unwrap_or_else(|error| panic!("{predicate}: {error}\n{}", disassemble(&code)));
    assert_eq!(world.counters[1] + world.records.len() as u64, 1);
    world.records.len() == 1
}

#[test]
fn predicates_mean_what_they_mean_on_rows() {
    let hit = Hit::default();
    let cases = [
        ("pid == 42 && tid == 43 && cpu == 1 && comm == \"sshd\"", true),
        ("args.pid == 77 && pid != 77", true),
        ("small == 200", true),
        ("small == -56", false),
        ("tiny == -5", true),
        ("tiny == 251", false),
        ("tiny < 0", true),
        ("tiny > 300", false),
        ("tiny < 300", true),
        ("odd == -7", true),
        ("pair <= -2", true),
        ("packed == 18446744073709551614", true),
        ("packed > -1", true),
        ("packed < 0", false),
        ("packed >= 0x8000000000000000", true),
        ("wide == -1", true),
        ("wide > 0xfffffffffffffff0", false),
        ("number & 0x80000000", true),
        ("number & 0x8000000000000000", true),
        ("small & 0x37", false),
        ("small & 0xffffffff00000000", false),
        ("list[2] == 3", true),
        ("name == \"abcdefghij\"", true),
        ("name == \"abcdefghi\"", false),
        ("name == \"abcdefghijk\"", false),
        ("name != \"abcdefghijk\"", true),
        ("name ~ \"*hij\"", true),
        ("name ~ \"abc*\"", true),
        ("name ~ \"*j\" && name ~ \"a*\" && name ~ \"*e*\"", true),
        ("name ~ \"*#*\"", false),
        ("label ~ \"*#\"", false),
        ("label == \"a label\"", true),
        ("dynamic == \"/usr/bin/true\"", true),
        ("dynamic ~ \"*/true\"", true),
        ("dynamic ~ \"*bin*\"", true),
        ("dynamic ~ \"*bind*\"", false),
        ("relative == \"message\"", true),
        ("relative ~ \"*ss*\"", true),
        ("path ~ \"/etc/*\"", true),
        ("path ~ \"*passwd\"", true),
        ("path ~ \"*/etc/passwd\"", true),
        ("path ~ \"*x/etc/passwd\"", false),
        ("path ~ \"*tc/pass*\"", true),
        ("path ~ \"*\"", true),
        ("path == \"\"", false),
        ("comm ~ \"*d\" && comm ~ \"*sh*\" && comm != \"ssh\"", true),
        ("comm == \"this is too long for a comm\"", false),
        ("comm in (\"ssh\", \"sshd\")", true),
        ("comm not in (\"sshd\")", false),
        ("pid in (1, 42, 43) && pid between 40 and 42", true),
        ("pid between 43 and 50 || pid in (41)", false),
        ("pid not between 43 and 50", true),
        ("path contains \"tc/pass\"", true),
        ("path contains \"*\"", false),
        ("path not contains \"x\"", true),
        ("!(comm == \"sshd\") || !(pid == 42)", false),
    ];
    for (text, expected) in cases {
        let predicate = Predicate::parse(text).unwrap();
        assert_eq!(predicate.eval(&mut |name| hit.value(name)), expected, "the row: {text}");
        assert_eq!(holds(text, &hit), expected, "the program: {text}");
    }
    let unreadable = Hit { path: None, ..hit };
    for (text, expected) in [
        ("path == \"x\"", false),
        ("path != \"x\"", false),
        ("!(path == \"x\")", true),
        ("path ~ \"*x*\"", false),
        ("path ~ \"*\"", false),
        ("path ~ \"**\"", false),
        ("path ~ \"*x\" || small == 200", true),
        ("path in (\"x\")", false),
        ("path not in (\"x\")", true),
        ("path contains \"x\"", false),
    ] {
        assert_eq!(Predicate::parse(text).unwrap().eval(&mut |name| unreadable.value(name)), expected, "row: {text}");
        assert_eq!(holds(text, &unreadable), expected, "program: {text}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let format = every_kind();
    let refused = |fields: &[&str], predicate: Option<&str>| {
        probe(&format, fields, predicate, TargetFilter::System).unwrap_err().to_string()
    };
    assert_eq!(refused(&["prot"], None), "sys_enter_every has no field `prot`; did you mean `port`?");
    assert_eq!(refused(&[], Some("path == 1")), {
        "`path` of sys_enter_every is text: compare it with text in quotes by ==, !=, ~, contains or in"
    });
    let said = refused(&[], Some("port == 1 && comm matches \"^s\""));
    assert!(said.starts_with("`matches` cannot be asked where sys_enter_every is recorded"), "{said}");
    let said = refused(&[], Some("!has stack frame \"vfs_read\""));
    assert!(said.starts_with("`has stack frame` cannot be asked where sys_enter_every is recorded"), "{said}");
    let said = refused(&[], Some("port > 100ms"));
    assert!(said.ends_with("nothing says what `port` is in: write a number without a unit at character 7"), "{said}");
    let options = |name, ring_bytes| {
        let probe = TracepointProbe {
            name,
            format: &format,
            fields: &[],
            predicate: None,
            target: TargetFilter::System,
            ring_bytes,
        };
        tracepoint_program(&probe).map(|made| made.record_bytes).map_err(|error| error.to_string())
    };
    assert_eq!(options("p", 4096), Ok(40));
    assert!(options("p", 2048).is_err() && options("p", 4097).is_err() && options("p", 0).is_err());
    assert!(options("", 4096).is_err() && options("nine_char", 4096).is_err() && options("a-b", 4096).is_err());
    assert!(fork_program("f", &format, Parents::Processes).is_err());
    assert!(free_program("f", &fixture!("sched.sched_process_free")).is_ok());
}

#[test]
fn a_number_with_a_unit_is_the_number_that_the_field_has() {
    let format = fixture!("kmem.kmalloc");
    let code = |predicate: &str| {
        let made = probe(&format, &["bytes_req"], Some(predicate), TargetFilter::System).unwrap();
        disassemble(&compile(&made.program).unwrap())
    };
    assert_eq!(
        code("bytes_req >= 4KiB && bytes_alloc in (1B, 1kB)"),
        code("bytes_req >= 4096 && bytes_alloc in (1, 1000)")
    );
    assert_ne!(code("bytes_req >= 4KiB"), code("bytes_req >= 4"));
}

#[test]
fn children_of_targets_become_targets() {
    let fork =
        compile(&fork_program("fork", &fixture!("sched.sched_process_fork"), Parents::Processes).unwrap()).unwrap();
    let free = compile(&free_program("free", &fixture!("sched.sched_process_free")).unwrap()).unwrap();
    let mut world = World { tgid: 42, tid: 43, targets: [(42, 1)].into(), ..World::default() };
    let child = |pid: u32, at: usize| {
        let mut context = vec![0; 32];
        context[at..at + 4].copy_from_slice(&pid.to_le_bytes());
        context
    };
    world.context = child(50, 20);
    assert_eq!(run(&fork, &mut world), Ok(0));
    assert_eq!(world.targets.keys().copied().collect::<Vec<_>>(), [42, 50]);
    world.tgid = 7;
    world.context = child(51, 20);
    assert_eq!(run(&fork, &mut world), Ok(0));
    assert_eq!(world.targets.keys().copied().collect::<Vec<_>>(), [42, 50]);
    world.context = child(42, 12);
    assert_eq!(run(&free, &mut world), Ok(0));
    assert_eq!(world.targets.keys().copied().collect::<Vec<_>>(), [50]);
}

#[test]
fn what_a_thread_of_the_target_starts_becomes_a_target() {
    let fork = fork_program("fork", &fixture!("sched.sched_process_fork"), Parents::Threads).unwrap();
    let fork = compile(&fork).unwrap();
    let mut world = World { tgid: 42, tid: 43, targets: [(42, 1)].into(), context: vec![0; 32], ..World::default() };
    world.context[20..24].copy_from_slice(&50_u32.to_le_bytes());
    assert_eq!(run(&fork, &mut world), Ok(0));
    assert_eq!(world.targets.keys().copied().collect::<Vec<_>>(), [42], "another thread of its process");
    world.tid = 42;
    assert_eq!(run(&fork, &mut world), Ok(0));
    assert_eq!(world.targets.keys().copied().collect::<Vec<_>>(), [42, 50]);
}

#[test]
fn events_of_the_scheduler_are_also_of_the_threads_that_they_name() {
    let records = |format, next: Option<(usize, u32)>, tid| {
        let made = probe(&format, &[], None, TargetFilter::Threads).unwrap();
        let mut world = World { tgid: 42, tid, targets: [(43, 1)].into(), context: vec![0; 128], ..World::default() };
        if let Some((at, next)) = next {
            world.context[at..at + 4].copy_from_slice(&next.to_le_bytes());
        }
        assert_eq!(run(&compile(&made.program).unwrap(), &mut world), Ok(0));
        [world.counters[0], world.counters[1]]
    };
    let next_pid = |format: &EventFormat| format.field("next_pid").unwrap().offset as usize;
    let switch = || fixture!("sched.sched_switch");
    let at = next_pid(&switch());
    assert_eq!(records(switch(), None, 43), [1, 0], "it leaves the CPU");
    assert_eq!(records(switch(), Some((at, 43)), 7), [1, 0], "it gets the CPU");
    assert_eq!(records(switch(), Some((at, 42)), 7), [1, 1], "its process is another matter");
    assert_eq!(records(fixture!("sched.sched_process_exec"), None, 43), [1, 0]);
    assert_eq!(records(fixture!("sched.sched_process_exec"), Some((at, 43)), 7), [1, 1], "names no thread");
}

#[test]
fn samples_are_kept_or_dropped() {
    let cases = [
        (TargetFilter::System, false, 0, 1, [1, 0, 0]),
        (TargetFilter::System, true, 0, 0, [1, 1, 0]),
        (TargetFilter::System, true, 43, 1, [1, 0, 0]),
        (TargetFilter::Process(42), true, 43, 1, [1, 0, 0]),
        (TargetFilter::Process(41), true, 43, 0, [1, 1, 0]),
        (TargetFilter::Targets, false, 43, 1, [1, 0, 0]),
    ];
    for (target, skip_idle, tid, expected, counters) in cases {
        let (program, _) = sample_filter_program(&SampleFilter { name: "sample", target, skip_idle }).unwrap();
        let code = compile(&program).unwrap();
        let mut world = World { tgid: 42, tid, targets: [(42, 1)].into(), ..World::default() };
        assert_eq!(run(&code, &mut world), Ok(expected), "{target:?} {skip_idle}");
        assert_eq!(world.counters, counters, "{target:?} {skip_idle}");
    }
}

#[test]
fn programs_look_as_they_did() {
    let sched_switch = probe(&fixture!("sched.sched_switch"), &["prev_comm", "prev_state", "next_pid"], None, {
        TargetFilter::System
    });
    let openat = probe(
        &fixture!("syscalls.sys_enter_openat"),
        &["filename", "flags"],
        Some("filename ~ \"/etc/*\" && !(flags & 0x40) || filename ~ \"*.so\""),
        TargetFilter::Targets,
    );
    let exec = probe(&fixture!("sched.sched_process_exec"), &["filename"], Some("filename ~ \"*bin*\""), {
        TargetFilter::Process(1)
    });
    let enter = probe(&fixture!("raw_syscalls.sys_enter"), &["id", "args"], Some("id == 0 && cpu < 2"), {
        TargetFilter::System
    });
    let (sample, _) =
        sample_filter_program(&SampleFilter { name: "sample", target: TargetFilter::Targets, skip_idle: true })
            .unwrap();
    let programs: [(&str, ir::Program); 7] = [
        ("sched_switch", sched_switch.unwrap().program),
        ("openat", openat.unwrap().program),
        ("exec", exec.unwrap().program),
        ("sys_enter", enter.unwrap().program),
        ("fork", fork_program("fork", &fixture!("sched.sched_process_fork"), Parents::Processes).unwrap()),
        ("free", free_program("free", &fixture!("sched.sched_process_free")).unwrap()),
        ("sample", sample),
    ];
    for (name, program) in programs {
        let code = compile(&program).unwrap();
        let text = format!("{program}\n{}", disassemble(&code));
        let path = format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(text, golden, "{name}: if this is right, run again with BLESS=1");
    }
}

#[test]
fn programs_share_maps_in_an_object() {
    let made = probe(&every_kind(), &[], None, TargetFilter::Targets).unwrap();
    let record = compile(&made.program).unwrap();
    let fork =
        compile(&fork_program("fork", &fixture!("sched.sched_process_fork"), Parents::Processes).unwrap()).unwrap();
    let bytes = object(&[&record, &fork]).unwrap();
    assert_eq!(&bytes[..4], b"\x7fELF");
    let twice = object(&[&record, &record]).unwrap_err();
    assert_eq!(twice.to_string(), "two programs have the name `bathy_p0`");
    let mut other = fork;
    other.maps[0].max_entries = 1;
    assert_eq!(object(&[&record, &other]).unwrap_err().to_string(), "two different maps have the name `targets`");
}

fn text_of(alphabet: &'static str, most: usize) -> impl Strategy<Value = Vec<u8>> + Clone {
    prop::collection::vec(prop::sample::select(alphabet.as_bytes().to_vec()), 0..=most)
}

fn hit() -> impl Strategy<Value = Hit> {
    let number =
        prop_oneof![any::<u64>(), 0_u64..4, (0_u64..4).prop_map(|n| u64::MAX - n), Just(0x8000_0000), Just(128)];
    let numbers = prop::array::uniform12(number);
    let texts = (
        text_of("abc/", 10),
        text_of("abc/", 70),
        text_of("abc/", 12),
        prop::option::weighted(0.9, text_of("abc/", 20)),
        text_of("abc/", 40),
        text_of("abc/", 15),
    );
    (numbers, texts, 0_u32..4, 0_u32..4, 0_u32..4).prop_map(
        |(numbers, (name, dynamic, relative, path, label, comm), tgid, tid, cpu)| Hit {
            numbers,
            name,
            dynamic,
            relative,
            path,
            label,
            comm,
            tgid,
            tid,
            cpu,
        },
    )
}

fn condition() -> impl Strategy<Value = String> {
    let number_fields = prop::sample::select(vec![
        "pid", "tid", "cpu", "small", "tiny", "port", "odd", "pair", "packed", "number", "wide", "list[0]", "list[2]",
        "args.pid", "pointer",
    ]);
    let text_fields = prop::sample::select(vec!["comm", "name", "label", "dynamic", "relative", "path"]);
    let constant = prop_oneof![
        (-4_i64..4).prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        prop::sample::select(vec!["127", "128", "255", "256", "32767", "32768", "65535", "65536", "2147483647"])
            .prop_map(str::to_owned),
        prop::sample::select(vec!["2147483648", "4294967295", "4294967296", "-128", "-129", "-2147483648"])
            .prop_map(str::to_owned),
    ];
    let order = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let numbers = (number_fields.clone(), order, constant).prop_map(|(field, op, c)| format!("{field} {op} {c}"));
    let bits = (number_fields, any::<u64>(), 0_u32..64).prop_map(|(field, m, s)| format!("{field} & {}", m >> s));
    let wanted = text_of("abc/", 5).prop_map(|text| String::from_utf8(text).unwrap());
    let equal = (text_fields.clone(), prop::sample::select(vec!["==", "!="]), wanted.clone())
        .prop_map(|(field, op, text)| format!("{field} {op} \"{text}\""));
    let matches =
        (text_fields, "[*]?", wanted, "[*]?").prop_map(|(field, a, text, b)| format!("{field} ~ \"{a}{text}{b}\""));
    prop_oneof![3 => numbers, 1 => bits, 2 => equal, 3 => matches]
}

fn predicate() -> impl Strategy<Value = String> {
    condition().prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| format!("!({a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) && ({b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a}) || ({b})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_program_decides_as_a_row_does(text in predicate(), hits in prop::collection::vec(hit(), 4)) {
        let Ok(predicate) = Predicate::parse(&text) else { return Ok(()) };
        let (made, code) = compiled(&text);
        let mut equal_texts = hits.clone();
        // Texts that are equal to what is asked for are rare by chance.
        for (hit, text) in equal_texts.iter_mut().zip(text.split('"').skip(1).step_by(2)) {
            let text: Vec<u8> = text.bytes().filter(|byte| *byte != b'*').collect();
            (hit.name, hit.dynamic, hit.path, hit.comm) = (text.clone(), text.clone(), Some(text.clone()), text);
        }
        for hit in hits.into_iter().chain(equal_texts) {
            let expected = predicate.eval(&mut |name| hit.value(name));
            let mut world = hit.world();
            let result = run(&code, &mut world);
            prop_assert_eq!(result, Ok(0), "{}\n{}\n{}", text, made.program, disassemble(&code));
            prop_assert_eq!(world.records.len() == 1, expected, "{}\n{:?}", text, hit);
            prop_assert_eq!(world.counters, [1, u64::from(!expected), 0]);
        }
    }
}
