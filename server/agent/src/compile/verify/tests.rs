//! Attacks on the agent by what a child says: each changes one thing of what the compiler made.

use bathyscope_bpf::{
    Code,
    ir::{MapDefinition, MapKind, ProgramKind},
};
use bathyscope_plan::{AttachPoint, COUNTERS, KERNEL_STACKS, MapType, Period, RING, UserFile};

use super::*;
use crate::{
    compile::{Around, compile},
    simulated::SimulatedFacts,
};

const TEXT: &str = "begin { @start = 1; } \
    tracepoint:sched:sched_switch { @[args.next_comm, kstack] = count(); printf(\"%s\\n\", comm); } \
    profile:hz:99 { @h = hist(pid); print(@start); }";

fn script() -> WireScript {
    WireScript { text: TEXT.into(), ..WireScript::default() }
}

fn good() -> CompiledScript {
    compile(&script(), &SimulatedFacts, Around::default(), ScriptRights::Observe).unwrap()
}

const OBSERVES: Allowed = Allowed { change: false };
const CHANGES: Allowed = Allowed { change: true };

/// What is said about a good script after `change`.
fn after(allowed: Allowed, change: impl FnOnce(&mut CompiledScript)) -> Result<(), AgentError> {
    let mut compiled = good();
    change(&mut compiled);
    check(&compiled, &script(), allowed)
}

#[track_caller]
fn refused(what: &str, change: impl FnOnce(&mut CompiledScript)) {
    let error = after(CHANGES, change).unwrap_err();
    assert_eq!(error.kind, AgentErrorKind::Internal, "{what}: {error:?}");
    assert!(error.why.contains("an invalid program"), "{what}: {error:?}");
}

/// Puts an instruction before the first of the second program.
fn insert(compiled: &mut CompiledScript, words: &[u64]) {
    let code = &mut compiled.codes[1];
    for (at, word) in words.iter().enumerate() {
        code.instructions.insert(at, (*word).into());
    }
    for (at, _map) in &mut code.map_references {
        *at += words.len();
    }
}

fn call(kind: u64, number: u64) -> u64 {
    0x85 | kind << 12 | number << 32
}

fn wide(kind: u64, number: u64) -> [u64; 2] {
    [0x18 | 1 << 8 | kind << 12 | number << 32, 0]
}

fn map<'a>(compiled: &'a mut CompiledScript, name: &str) -> Vec<&'a mut MapDefinition> {
    compiled.codes.iter_mut().flat_map(|code: &mut Code| &mut code.maps).filter(|map| map.name == name).collect()
}

#[test]
fn p82_what_the_compiler_makes_is_taken() {
    assert_eq!(after(OBSERVES, |_nothing| ()), Ok(()));
    let more = [
        "begin { @x[1] = 2; $i = 0; while ($i < 5) { $i++; } clear(@x); }",
        "tracepoint:sched:sched_switch { @s[ustack(3)] = sum(1); @l = lhist(pid, 0, 10, 1); }",
        "interval:s:1 { time(); print(@a); } end { zero(@a); } begin { @a[1] = avg(1); }",
        "software:page-faults:1 { @[comm] = count(); for ($kv : @) { printf(\"%s\", $kv.0); } }",
        "self:signal:SIGUSR1 { printf(\"%s\", strftime(\"%H\", nsecs)); }",
    ];
    for text in more {
        let script = WireScript { text: text.into(), ..WireScript::default() };
        compile(&script, &SimulatedFacts, Around::default(), ScriptRights::Observe)
            .map(|_compiled| ())
            .unwrap_or_else(|trouble| panic!("{text}: {trouble:?}"));
    }
}

#[test]
fn p82_helpers_that_change_what_is_observed_need_the_right() {
    for number in [36, 58, 109, 117] {
        let with = |allowed| after(allowed, |compiled| insert(compiled, &[call(0, number)]));
        let error = with(OBSERVES).unwrap_err();
        assert_eq!(error.kind, AgentErrorKind::Denied, "{number}: {error:?}");
        assert!(error.why.contains("changes what is observed") && !error.remedy.is_empty(), "{error:?}");
        assert_eq!(with(CHANGES), Ok(()), "{number}");
    }
    let rights = |rights, allow_unsafe| Allowed::of(&WireScript { allow_unsafe, ..script() }, rights);
    assert_eq!(rights(ScriptRights::Change, true), CHANGES);
    for (right, asked) in [(ScriptRights::Change, false), (ScriptRights::Observe, true), (ScriptRights::Off, true)] {
        assert_eq!(rights(right, asked), OBSERVES);
    }
}

#[test]
fn p82_instructions_refer_to_nothing_but_the_scripts_own() {
    refused("a helper that the compiler does not know", |all| insert(all, &[call(0, 6)]));
    refused("a helper of a negative number", |all| insert(all, &[call(0, 0xffff_ffff)]));
    refused("a function of the kernel", |all| insert(all, &[call(2, 1234)]));
    refused("a call by register", |all| insert(all, &[0x8d]));
    refused("a load of a packet", |all| insert(all, &[0x20]));
    // Whatever the agent has open as descriptor 3: the maps of another capture.
    refused("a map by its descriptor", |all| insert(all, &wide(1, 3)));
    refused("a value of a map by its descriptor", |all| insert(all, &wide(2, 3)));
    refused("a variable of the kernel", |all| insert(all, &wide(3, 99)));
    for kind in [5, 6, 7, 15] {
        refused("a map by its index", |all| insert(all, &wide(kind, 0)));
    }
    refused("half a constant", |all| all.codes[1].instructions.push(wide(0, 0)[0].into()));
    refused("a half with registers", |all| insert(all, &[wide(0, 0)[0], 1 << 8]));
    // The loader would put a descriptor where a helper's number is.
    refused("a reference to a call", |all| {
        insert(all, &[call(0, 5)]);
        let map = all.codes[1].map_references[0].1;
        all.codes[1].map_references.insert(0, (0, map));
    });
    refused("a reference behind the end", |all| {
        let map = all.codes[1].map_references[0].1;
        all.codes[1].map_references.push((usize::MAX, map));
    });
    refused("a reference that is missing", |all| {
        all.codes[1].map_references.pop();
    });
    refused("the same reference twice", |all| {
        let first = all.codes[1].map_references[0];
        all.codes[1].map_references.insert(0, first);
    });
    refused("a map that is not there", |all| all.codes[1].maps.truncate(0));
}

#[test]
fn p82_maps_are_what_the_agent_reads_them_as() {
    let each = |name: &'static str, change: fn(&mut MapDefinition)| {
        move |all: &mut CompiledScript| {
            let found = map(all, name);
            assert!(!found.is_empty(), "{name}");
            found.into_iter().for_each(change);
        }
    };
    refused("counters of one CPU", each(COUNTERS, |map| map.kind = MapKind::Array));
    refused("larger counters", each(COUNTERS, |map| map.value_bytes *= 2));
    refused("stacks of each CPU", each(KERNEL_STACKS, |map| map.kind = MapKind::PerCpuHash));
    refused("stacks of another size", each(KERNEL_STACKS, |map| map.value_bytes += 8));
    refused("a ring that is none", each(RING, |map| map.kind = MapKind::Array));
    refused("flags", each(COUNTERS, |map| map.flags = 1 << 10));
    refused("a name that is none", each(COUNTERS, |map| map.name = "a/b".into()));
    refused("a second ring", |all| all.codes[0].maps.push(MapDefinition::ring("other", 4096)));
    refused("two that differ", |all| all.codes[0].maps.push(MapDefinition::new(RING, MapKind::RingBuffer, 0, 0, 8192)));
    refused("a value without end", |all| {
        all.codes[0].maps.push(MapDefinition::new("large", MapKind::Array, 4, u32::MAX, 1));
    });
    refused("content that does not fit", |all| {
        let map = MapDefinition { value_bytes: 1, ..MapDefinition::constant("text", vec![0; 2]) };
        all.codes[0].maps.push(map);
    });
    for change in [
        (|map: &mut bathyscope_plan::MapPlan| map.kind = MapType::Array) as fn(&mut _),
        |map| map.key_bytes += 8,
        |map| map.value_bytes += 8,
        |map| map.max_entries = u32::MAX,
        |map| map.object_name = RING.to_owned(),
        |map| map.object_name = COUNTERS.to_owned(),
    ] {
        refused("a map that is not as planned", |all| change(all.plan.maps.last_mut().unwrap()));
    }
    refused("a map planned twice", |all| all.plan.maps.push(all.plan.maps[0].clone()));
    refused("a record about no map", |all| all.plan.maps.truncate(0));
}

fn point(all: &mut CompiledScript, program: usize, kind: ProgramKind, point: AttachPoint) {
    use bathyscope_plan::ProgramType;
    all.codes[program].kind = kind;
    all.plan.programs[program].kind = match (&point, kind) {
        (AttachPoint::Fentry { .. }, _) => ProgramType::Fentry,
        (_, ProgramKind::Uprobe) => ProgramType::Uprobe,
        (_, ProgramKind::Kprobe) => ProgramType::Kprobe,
        (_, ProgramKind::Iterator) => ProgramType::Iterator,
        (_, ProgramKind::Tracepoint) => ProgramType::Tracepoint,
        _ => ProgramType::PerfEvent,
    };
    let probe = all.plan.probes.iter_mut().find(|probe| probe.program as usize == program).unwrap();
    probe.point = point;
}

#[test]
fn p82_programs_are_at_places_that_are_allowed() {
    refused("a program of another type", |all| all.codes[1].kind = ProgramKind::Kprobe);
    refused("a plan of another type", |all| {
        all.plan.programs[1].kind = bathyscope_plan::ProgramType::PerfEvent;
    });
    refused("a point of another type", |all| {
        all.plan.probes[1].point = AttachPoint::Interval { every: Period::Hertz(1) };
    });
    refused("a program that is not there", |all| all.plan.probes[1].program = 99);
    refused("fewer programs than planned", |all| drop(all.codes.pop()));
    refused("a licence with a NUL", |all| all.plan.config.license = "GPL\0x".into());
    let file = UserFile { path: "/bin/bash".into(), in_process: None, device: 1, inode: 2 };
    refused("a file that it was not given", |all| {
        let place = AttachPoint::Uprobe { file, offset: 64, exit: false, pid: None, symbol: "main".into() };
        point(all, 1, ProgramKind::Uprobe, place);
    });
    refused("a tracepoint with a path", |all| {
        let place = AttachPoint::Tracepoint { system: "..".into(), name: "../../etc/passwd".into() };
        point(all, 1, ProgramKind::Tracepoint, place);
    });
    refused("an iterator with a path", |all| {
        point(all, 1, ProgramKind::Iterator, AttachPoint::Iterator { target: "a/b".into(), pin: None });
    });
    refused("an event of a kind that no script counts", |all| {
        let place = AttachPoint::PerfEvent { name: "x".into(), kind: 6, config: 0, period: 1 };
        point(all, 1, ProgramKind::PerfEvent, place);
    });
    let kernel = |function: &str, offset| AttachPoint::Kprobe {
        module: String::new(),
        function: function.to_owned(),
        offset,
        exit: false,
    };
    for place in [kernel("_raw_spin_lock", 0), kernel("", 0xffff_ffff_8100_0000)] {
        let with = |allowed| after(allowed, |all| point(all, 1, ProgramKind::Kprobe, place.clone()));
        assert_eq!(with(OBSERVES).unwrap_err().kind, AgentErrorKind::Denied, "{place:?}");
        assert_eq!(with(CHANGES), Ok(()), "{place:?}");
    }
    assert_eq!(after(OBSERVES, |all| point(all, 1, ProgramKind::Kprobe, kernel("vfs_read", 0))), Ok(()));
    let many = after(CHANGES, |all| {
        let probe = all.plan.probes[1].clone();
        all.plan.probes.resize(MAX_PROBES + 1, probe);
    });
    assert_eq!(many.unwrap_err().kind, AgentErrorKind::Limit);
    let starts = |allowed| {
        after(allowed, |all| {
            all.plan.sites[0].action = Action::System { format: Vec::new() };
        })
    };
    assert_eq!(starts(OBSERVES).unwrap_err().kind, AgentErrorKind::Denied);
    assert_eq!(starts(CHANGES), Ok(()));
}
