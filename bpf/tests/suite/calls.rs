//! Programs for many system calls: attached once, and yet each hit is that of its own attach point.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::{collections::BTreeMap, sync::LazyLock};

use bathyscope_bpf::{
    disassemble,
    lang::{CompileOptions, Compiled, compile, recorded::RecordedHost, render},
    machine::Machine,
    syscalls::CompatPlace,
};
use bathyscope_decode::script::{Decoder, Form, NoNames, Renderer};
use bathyscope_plan::{CallSide, Plan};

use crate::hand;

static HOST: LazyLock<RecordedHost> = LazyLock::new(|| RecordedHost::new("6.12").unwrap());
const TASK: u64 = 0xffff_8881_0000_0000;

fn compiled(text: &str) -> Compiled {
    let compiled = compile(text, &*HOST, &CompileOptions::default())
        .unwrap_or_else(|wrong| panic!("{}", wrong.iter().map(|it| render(text, "script", it)).collect::<String>()));
    if hand::load::ready()
        && let Err(refusal) = hand::load::load(&compiled)
    {
        panic!("the kernel refuses {text}: {refusal}");
    }
    compiled
}

/// By program: its side, if it is attached to all calls, and how many attach points it has.
fn sides(plan: &Plan) -> Vec<(Option<CallSide>, usize)> {
    let points = |index: usize| plan.probes.iter().filter(|probe| probe.program as usize == index).count();
    plan.programs.iter().enumerate().map(|(index, program)| (program.calls, points(index))).collect()
}

/// What a script prints of calls, each the number, whether of a 32-bit program, and the first word behind it.
fn printed(text: &str, calls: &[(u64, bool, u64)]) -> (String, Vec<[u64; 2]>) {
    use bathyscope_bpf::lang::host::Host as _;
    let compiled = compiled(text);
    let mut machine = Machine::new(1);
    machine.world.task = TASK;
    let status = CompatPlace::find(HOST.types()).unwrap().status;
    for (number, narrow, first) in calls {
        let bits = [u8::from(*narrow) * 2, 0, 0, 0].to_vec();
        machine.world.kernel = BTreeMap::from([(TASK + u64::from(status), bits)]);
        let words = [0, *number, *first, 2, 3, 4, 5, 6];
        let context: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for code in &compiled.codes {
            machine.run(code, &context).unwrap_or_else(|trap| panic!("{trap}\n{}", disassemble(code)));
        }
    }
    let renderer = Renderer::new(Form::Text, &compiled.plan, &NoNames);
    let decoder = Decoder::new(&compiled.plan);
    let records = machine.take_records("ring");
    let text = |record: &Vec<u8>| renderer.record(&decoder.record(record).unwrap()).unwrap().bytes;
    let shown = records.iter().flat_map(text).collect();
    let counters = machine.map("counters").unwrap();
    let word = |value: &[u8], at: usize| u64::from_le_bytes(value[8 * at..8 * at + 8].try_into().unwrap());
    let counted = (0..compiled.codes.len()).map(|program| {
        let value = counters.values(&u32::try_from(program).unwrap().to_le_bytes()).concat();
        [word(&value, 0), word(&value, 1)]
    });
    (String::from_utf8(shown).unwrap(), counted.collect())
}

#[test]
fn many_calls_are_one_program_and_few_are_not() {
    let all = |side: &str| {
        use bathyscope_bpf::lang::host::Host as _;
        HOST.tracepoints().iter().filter(|name| name.starts_with(&format!("syscalls:sys_{side}_"))).count()
    };
    let (entries, exits) = (all("enter"), all("exit"));
    assert!(entries > 300, "{entries}");
    let (entry, exit) = (Some(CallSide::Entry), Some(CallSide::Exit));
    for (text, expected) in [
        ("tracepoint:syscalls:sys_enter_* { @ = count(); }", vec![(entry, entries)]),
        ("tracepoint:syscalls:* { @[probe] = count(); }", vec![(entry, entries), (exit, exits)]),
        ("tracepoint:syscalls:sys_exit_* { @ = sum(args.ret); }", vec![(exit, exits)]),
        ("tracepoint:syscalls:sys_enter_open* { @ = count(); }", vec![(None, 5)]),
        // All on one side are at one place, which keeps their order.
        (
            "tracepoint:syscalls:sys_enter_* { @ = count(); } tracepoint:syscalls:sys_enter_read { @ = count(); }
             tracepoint:syscalls:sys_exit_read { @ = count(); }",
            vec![(entry, entries), (entry, 1), (None, 1)],
        ),
        ("config = { license = \"MIT\" } tracepoint:syscalls:sys_enter_* { @ = count(); }", vec![(None, entries)]),
    ] {
        assert_eq!(sides(&compiled(text).plan), expected, "{text}");
    }
}

#[test]
fn each_hit_is_of_its_own_attach_point() {
    let calls = [(0, false, 7), (257, false, 8), (5, false, 9), (1, true, 10), (511, false, 1), (1 << 30, false, 2)];
    let (shown, counted) =
        printed("tracepoint:syscalls:sys_enter_* { printf(\"%s %d\\n\", probe, args.__syscall_nr); }", &calls);
    let expected = "tracepoint:syscalls:sys_enter_read 0\ntracepoint:syscalls:sys_enter_openat 257\n\
         tracepoint:syscalls:sys_enter_newfstat 5\n";
    // What is another's hit is not counted as filtered.
    assert_eq!((shown.as_str(), counted), (expected, vec![[3, 0]]));

    let (shown, counted) = printed(
        "tracepoint:syscalls:sys_exit_* /args.ret > 7/ { for ($i : 0..2) { printf(\"%s %d\\n\", probe, args.ret); } }
         tracepoint:syscalls:sys_exit_read { printf(\"own %d\\n\", args.ret); }",
        &calls[..4],
    );
    let twice = |name: &str, result| format!("tracepoint:syscalls:sys_exit_{name} {result}\n").repeat(2);
    let expected = format!("own 7\n{}{}", twice("openat", 8), twice("newfstat", 9));
    assert_eq!((shown, counted), (expected, vec![[2, 1], [1, 0]]));
}
