//! Probes of user space can be preempted by others on the same CPU: whatever comes in between, wherever, no run sees what
//! another one wrote.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::hand;

use bathyscope_bpf::{
    Code, disassemble,
    lang::{CheckOptions, CompileOptions, Compiled, compile, recorded::RecordedHost, render},
    machine::{Interruption, Machine, World},
};
use bathyscope_decode::script::{Decoder, Form, NoNames, Renderer};
use bathyscope_plan::{UserFile, UserPlace, UserPlaces};

const CPU: u32 = 1;
/// The most runs that one CPU can have begun: what arrays of small pieces have.
const PIECES: u32 = 16;

fn compiled(text: &str) -> Compiled {
    let mut host = RecordedHost::new("6.12").unwrap();
    for point in ["uprobe:/bin/bash:readline", "uretprobe:/bin/bash:readline"] {
        let file = UserFile { path: "/bin/bash".to_owned(), in_process: None, device: 1, inode: 2 };
        let (symbol, provider, arguments) = ("readline".to_owned(), String::new(), Vec::new());
        let place = UserPlace { file, offset: 0x1000, symbol, provider, address: 0x1000, semaphore: 0, arguments };
        let places = UserPlaces { point: point.to_owned(), places: vec![place], ..UserPlaces::default() };
        host.places.insert(point.to_owned(), places);
    }
    let check = CheckOptions { unsafe_allowed: true, pid: None };
    let compiled = compile(text, &host, &CompileOptions { check, ..CompileOptions::default() })
        .unwrap_or_else(|wrong| panic!("{}", wrong.iter().map(|it| render(text, "script", it)).collect::<String>()));
    if hand::load::ready()
        && let Err(refusal) = hand::load::load(&compiled)
    {
        panic!("the kernel refuses {text}: {refusal}");
    }
    compiled
}

/// A thread with two long texts of its own.
fn thread(tid: u32, letter: u8) -> World {
    let mut world = World { cpu: CPU, tgid: 9, tid, time_ns: 1_000, ..World::default() };
    for (address, length) in [(0x1000, 200), (0x2000, 700)] {
        let mut text = vec![letter; length];
        text.extend(b"end\0");
        world.user.insert(address, text);
    }
    world.user_stack = vec![0x40_0000 + u64::from(tid), 0x40_1000 + u64::from(tid)];
    world
}

/// `pt_regs` with two arguments.
fn registers() -> Vec<u8> {
    let mut bytes = vec![0; 168];
    bytes[112..120].copy_from_slice(&0x1000_u64.to_le_bytes());
    bytes[104..112].copy_from_slice(&0x2000_u64.to_le_bytes());
    bytes
}

fn run(machine: &mut Machine, code: &Code) {
    machine.run(code, &registers()).unwrap_or_else(|trap| panic!("{trap}\n{}", disassemble(code)));
}

/// What the records print, sorted: which run was first is not what this is about.
fn printed(machine: &mut Machine, compiled: &Compiled) -> Vec<String> {
    let renderer = Renderer::new(Form::Text, &compiled.plan, &NoNames);
    let decoder = Decoder::new(&compiled.plan);
    let records = machine.take_records("ring");
    let text = |record: &Vec<u8>| renderer.record(&decoder.record(record).unwrap()).unwrap().bytes;
    let mut lines: Vec<String> = records.iter().map(|it| String::from_utf8(text(it)).unwrap()).collect();
    lines.sort();
    lines
}

/// Which pieces are claimed.
fn claimed(machine: &Machine) -> Vec<u32> {
    let pieces = machine.map("scratch_user").unwrap();
    let taken = |index: &u32| pieces.value(&index.to_le_bytes(), CPU).is_some_and(|piece| piece[..8] != [0; 8]);
    (0..pieces.len() as u32).filter(taken).collect()
}

fn counters(machine: &Machine, word: usize) -> u64 {
    let entries = machine.map("counters").unwrap();
    let number = |value: &[u8]| u64::from_le_bytes(value[word * 8..word * 8 + 8].try_into().unwrap());
    entries.keys().flat_map(|key| entries.values(key)).map(number).sum()
}

/// Scripts whose values are too large for the stack, with every way out of a program.
const SCRIPTS: [&str; 8] = [
    r#"uprobe:/bin/bash:readline { printf("%d %s %s\n", tid, str(arg0), str(arg1)); }"#,
    r#"uprobe:/bin/bash:readline /strncmp(str(arg1), str(arg0), 200) == 0 && tid == 1/ { printf("%d %s\n", tid, str(arg1)); }"#,
    r#"uprobe:/bin/bash:readline { $a = str(arg0); $b = str(arg1); if (tid == 1) { printf("%s\n", $a); return; } printf("%s %s\n", $a, $b); }"#,
    r#"uprobe:/bin/bash:readline { $a = str(arg0); for ($i : 0..30) { @[$a, $i] = count(); if ($i == 20) { printf("%d %s\n", $i, $a); return; } } }"#,
    r#"uprobe:/bin/bash:readline { printf("%d\n", strstr(str(arg1), "end")); printf("%s\n", str(arg1)); }"#,
    r#"uprobe:/bin/bash:readline { $a = str(arg0); @h[$a] = hist(arg1, 5); delete(@h[$a]); printf("%s\n", $a); }"#,
    r#"uprobe:/bin/bash:readline { $a = str(arg1); $n = 0; while ($n < 40) { $n++; if ($n == 39) { @[$a] = $n; } } printf("%d %s\n", $n, $a); }"#,
    r#"uprobe:/bin/bash:readline { @s[ustack] = count(); @c = count(); @t = sum(3); @a = avg(3); @m = max(tid); printf("%d %s\n", tid, str(arg0)); }"#,
];

#[test]
fn no_run_sees_what_came_in_between() {
    for text in SCRIPTS {
        let compiled = compiled(text);
        let code = &compiled.codes[0];
        assert_eq!(claims(code), 1, "{text}");
        // One after the other.
        let mut machine = Machine::new(2);
        for world in [thread(1, b'a'), thread(2, b'b')] {
            machine.world = world;
            run(&mut machine, code);
        }
        let expected = printed(&mut machine, &compiled);
        assert!(!expected.is_empty(), "{text}");
        let maps = contents(&machine, &compiled);
        // One within the other, wherever; where a loop goes round and round not in each round. Under an emulated kernel
        // it is the kernel that is asked, and the rest was seen outside.
        let everywhere = if std::env::var_os("BATHYSCOPE_KEEP_FOR").is_some() { 0 } else { 600 };
        for after in (0..everywhere).chain((everywhere..).step_by(61)) {
            let mut machine = Machine::new(2);
            machine.world = thread(1, b'a');
            let (code_within, context) = (code.clone(), registers());
            machine.interruption = Some(Interruption { after, code: code_within, context, world: thread(2, b'b') });
            run(&mut machine, code);
            if machine.interruption.is_some() {
                assert!(after > 50, "{text}: {after}");
                break;
            }
            assert_eq!(printed(&mut machine, &compiled), expected, "{text}: {after}");
            assert_eq!(contents(&machine, &compiled), maps, "{text}: {after}");
            assert!(claimed(&machine).is_empty(), "{text}: {after}");
            assert_eq!(
                [counters(&machine, 0) + counters(&machine, 1), counters(&machine, 6)],
                [2, 0],
                "{text}: {after}"
            );
        }
    }
}

/// How many of its instructions claim a piece.
fn claims(code: &Code) -> usize {
    code.instructions.iter().filter(|it| it.code == 0xdb && it.imm == 0xe1).count()
}

/// The first word of every element, over all CPUs.
fn contents(machine: &Machine, compiled: &Compiled) -> Vec<(String, Vec<u8>, Option<u64>)> {
    let map = |name: &String| {
        let entries = machine.map(name).unwrap();
        entries.keys().map(|key| (name.clone(), key.to_vec(), entries.sum(key))).collect::<Vec<_>>()
    };
    compiled.plan.maps.iter().flat_map(|plan| map(&plan.object_name)).collect()
}

#[test]
fn runs_need_not_end_in_the_reverse_order() {
    let compiled = compiled(SCRIPTS[0]);
    let code = &compiled.codes[0];
    let mut machine = Machine::new(2);
    machine.world = thread(1, b'a');
    machine.declare(code);
    // Two that were preempted hold the first and the third piece, whatever is in them.
    let held = |index: u32| [&1_u64.to_le_bytes()[..], &[index as u8; 900]].concat();
    for index in [0, 2_u32] {
        assert!(machine.set("scratch_user", &index.to_le_bytes(), CPU, &held(index)));
    }
    let before = machine.map("scratch_user").unwrap().value(&[0; 4], CPU).unwrap().to_vec();
    run(&mut machine, code);
    assert_eq!(claimed(&machine), [0, 2]);
    assert_eq!(machine.map("scratch_user").unwrap().value(&[0; 4], CPU).unwrap(), before);
    assert_eq!(printed(&mut machine, &compiled), [format!("1 {}end {}end\n", "a".repeat(200), "a".repeat(700))]);
}

#[test]
fn a_hit_without_memory_is_left_out_and_counted() {
    let compiled = compiled(SCRIPTS[0]);
    let code = &compiled.codes[0];
    let mut machine = Machine::new(2);
    machine.world = thread(1, b'a');
    machine.declare(code);
    assert_eq!(machine.map("scratch_user").unwrap().len() as u32, PIECES);
    for index in 0..PIECES {
        assert!(machine.set("scratch_user", &index.to_le_bytes(), CPU, &1_u64.to_le_bytes()));
    }
    run(&mut machine, code);
    assert!(printed(&mut machine, &compiled).is_empty());
    assert_eq!([counters(&machine, 0), counters(&machine, 1), counters(&machine, 6)], [0, 0, 1]);
    // Another CPU's are its own.
    machine.world.cpu = 0;
    run(&mut machine, code);
    assert_eq!(printed(&mut machine, &compiled).len(), 1);
    assert_eq!([counters(&machine, 0), counters(&machine, 6)], [1, 1]);
}

#[test]
fn large_pieces_are_few_and_all_arrays_have_as_many() {
    let text = r#"config = { max_strlen = 16384; } uprobe:/bin/bash:readline { $a = str(arg0); $b = str(arg1); $c = str(arg1);
        printf("%s\n", $a); printf("%s%s\n", $b == $c ? "same" : "different", $b == $a ? "same" : "different"); } uretprobe:/bin/bash:readline { printf("%s\n", str(retval)); }"#;
    let compiled = compiled(text);
    let maps = compiled.codes.iter().flat_map(|code| &code.maps).filter(|map| map.name.starts_with("scratch_user"));
    let sizes: Vec<(&str, u32, u32)> = maps.map(|map| (map.name.as_str(), map.value_bytes, map.max_entries)).collect();
    assert!(sizes.iter().any(|(name, ..)| *name == "scratch_user_1"), "{sizes:?}");
    assert!(sizes.iter().all(|(_, _, pieces)| *pieces == 4), "{sizes:?}");
}

#[test]
fn only_those_pay_that_can_be_preempted_and_need_memory() {
    let without = r#"uprobe:/bin/bash:readline /pid == 3/ { @[tid] = count(); printf("%d\n", tid); }"#;
    let others = r#"tracepoint:sched:sched_switch { printf("%s %s\n", kstack, str(curtask)); } profile:hz:99 { @[ustack] = count(); }"#;
    for text in [without, others] {
        for code in &compiled(text).codes {
            assert_eq!(claims(code), 0, "{}", disassemble(code));
            assert!(code.maps.iter().all(|map| map.name != "scratch_user"), "{text}");
        }
    }
    // Nor do they count with atomic operations.
    let atomic = |code: &Code| code.instructions.iter().any(|it| matches!(it.code, 0xdb | 0xc3));
    assert!(!compiled(others).codes.iter().any(atomic));
}
