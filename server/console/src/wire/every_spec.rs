//! Specs of every kind with every field set to something unusual, for the form in the browser: `web/tests/specs.json`.
//!
//! Each struct is written out with all of its fields, so that a new one does not compile until it stands here; then the file
//! is made again with `BLESS=1`, and the tests of the form fail until the form keeps the field.

use bathyscope_capture::{
    Below, BranchFilter, Budgets, CallGraph, CaptureSpec, CountPer, CountSpec, Descriptors, DynamicProbe, EventProbe,
    FlightSpec, FlightTrigger, HexTexts, Limits, Method, OverBudget, Predicate, PressureOf, ProfileSpec,
    ReadingPriority, SampledEvent, ScriptSpec, SourceSpec, StatesSpec, SyscallData, SyscallLook, SyscallOutcome,
    SyscallSpec, Target, TraceEvent, TraceSpec,
};

use super::check_spec;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/tests/specs.json");

fn text(text: &str) -> String {
    text.to_owned()
}

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().copied().map(str::to_owned).collect()
}

fn probes() -> Vec<DynamicProbe> {
    vec![
        DynamicProbe { typed: text("p:mine vfs_read a=%di"), file: None, line: None },
        DynamicProbe {
            typed: text("malloc"),
            file: Some(text("libc")),
            line: Some(text("p:probe_libc/malloc /usr/lib/libc.so.6:0x1000")),
        },
        DynamicProbe { typed: text("main b='c'"), file: Some(text("/a b")), line: None },
    ]
}

fn methods() -> Vec<Method> {
    vec![
        Method::Events {
            probes: vec![
                EventProbe {
                    tracepoint: "sched:sched_switch".parse().unwrap(),
                    fields: texts(&["prev_comm", "next_pid"]),
                    predicate: Some(Predicate::parse("pid == 1 && comm ~ \"a*\"").unwrap()),
                },
                EventProbe { tracepoint: "a-b:c.d".parse().unwrap(), fields: Vec::new(), predicate: None },
            ],
        },
        Method::Profile(ProfileSpec {
            frequency_hz: 49,
            kernel_stacks: false,
            user_stacks: true,
            event: Some(text("cpu/mem-loads,ldlat=30/P")),
            period: Some(1_000_003),
            call_graph: CallGraph::Dwarf,
            stack_bytes: Some(4096),
            memory: true,
            branches: BranchFilter::ALL.to_vec(),
            cpus: vec![0, 3, 1],
            filter: Some(text("prev_pid == 0 && next_comm ~ \"a b*\"")),
            delay_ms: Some(250),
            more: Vec::new(),
            group: false,
        }),
        Method::Count(CountSpec {
            groups: vec![texts(&["cycles:u", "cpu/event=0x3c,umask=0/k"]), texts(&["probe_libc:malloc"])],
            interval_ms: 1500,
            per: CountPer::Cpu,
            cpus: vec![0, 1, 2, 8, 5],
            everywhere: true,
            cgroup: Some(text("/a b ")),
            detail: 3,
            dynamic: probes(),
            delay_ms: Some(250),
        }),
        Method::Script(ScriptSpec {
            text: text("begin {\n  printf(\"'%s'\\n\", str($1)); exit();\n}\n"),
            file: text("x.bt"),
            params: texts(&["1", "", "--a=b c"]),
            allow_unsafe: true,
        }),
        Method::Trace(TraceSpec {
            tracer: Some(text("function_graph")),
            functions: texts(&["vfs_*", "*:mod:ext4"]),
            not_functions: texts(&["vfs_fsync"]),
            graph_roots: texts(&["do_sys_openat2"]),
            graph_not: texts(&["schedule", "irq_enter_rcu"]),
            max_depth: Some(3),
            events: vec![
                TraceEvent {
                    event: "kmem:kmalloc".parse().unwrap(),
                    filter: Some(text("bytes_req > 1000 && call_site ~ \"*,\"")),
                },
                TraceEvent { event: "a:b".parse().unwrap(), filter: None },
            ],
            dynamic: probes(),
            options: vec![(text("funcgraph-proc"), true), (text("sleep-time"), false), (text("no"), true)],
            clock: Some(text("boot")),
            buffer_kib: Some(4096),
            overwrite: true,
        }),
        Method::Syscalls(SyscallSpec {
            calls: texts(&["!%file", "read", "?statx"]),
            outcome: SyscallOutcome::Failed,
            min_duration_ns: 1_234_567,
            path: Some(text("/etc/a b, c ")),
            string_bytes: 0,
            fd_paths: false,
            signals: false,
            filter: Some(text("fd.port=443 or proc.name=\"a b\"")),
            below: Some(Below { pid: 7, direct: true }),
            look: SyscallLook {
                hex: HexTexts::NonAscii,
                verbose: true,
                sockets: true,
                raw: texts(&["read", "%file"]),
                abbreviated: texts(&["!statx"]),
                structures: texts(&["none"]),
                devices: true,
                processes: true,
                no_paths: true,
            },
            cpu_time: true,
            addresses: true,
            stacks: true,
            numbers: true,
            data: SyscallData { read: Descriptors::Of(vec![3, 5]), write: Descriptors::All },
        }),
        Method::States(StatesSpec { sleep_stacks: true, wake_stacks: true }),
    ]
}

fn targets() -> Vec<Target> {
    vec![
        Target::System,
        Target::Process { pid: 7, children: true },
        Target::Processes { pids: vec![7, 9], children: true },
        Target::Threads { tids: vec![8, 10], children: true },
        Target::Command {
            argv: texts(&["/bin/a b", "", "it's", "\"x\" \\", "$HOME;*", "two\nlines"]),
            user: Some(text("nobody")),
            children: false,
        },
        Target::During {
            argv: texts(&["make", "-j 2"]),
            user: Some(text("nobody")),
            of: Box::new(Target::Process { pid: 7, children: false }),
        },
        Target::During { argv: texts(&["sleep", "2"]), user: None, of: Box::new(Target::System) },
        Target::Cgroup { path: text("/a/b ") },
        Target::Unit { name: text("a.service") },
        Target::Container { name: text("db") },
        Target::User { user: text("www") },
        Target::Comm { pattern: text(" kworker/*") },
    ]
}

fn limits() -> Limits {
    Limits {
        duration_ms: Some(90_061),
        max_events: Some(12_345),
        max_bytes: Some(1_000_001),
        budget_cpu_permille: 37,
        budgets: Budgets {
            rows_per_s: Some(101),
            bytes_per_s: Some((64 << 10) + 1),
            agent_cpu_permille: 25,
            agent_bytes: (64 << 20) + 1,
        },
        over_budget: Some(OverBudget::Detach),
        reading: ReadingPriority::High,
        flight: Some(Box::new(FlightSpec {
            before_s: 31,
            after_s: 11,
            memory_mib: 65,
            pause_s: 61,
            per_day: 25,
            triggers: vec![
                FlightTrigger::Rows { condition: text("duration_ns > 5"), stream: text("openat") },
                FlightTrigger::Rows { condition: text("comm == \"a b\""), stream: String::new() },
                FlightTrigger::Pressure { resource: PressureOf::Io, full: true, above_percent: 7, for_s: 3 },
                FlightTrigger::Exit { comm: text("a b") },
                FlightTrigger::Schedule { cron: text("*/5 1-3 * * mon"), zone: text("Europe/Berlin") },
            ],
            announce: vec![text("on call"), text("chat")],
        })),
    }
}

/// What a kind is called in the file; a new one does not compile until there is a spec of it above.
fn kind(method: &Method) -> &'static str {
    match method {
        Method::Events { .. } => "events",
        Method::Profile(_) => "profile",
        Method::Count(_) => "count",
        Method::Script(_) => "script",
        Method::Trace(_) => "trace",
        Method::Syscalls(_) => "syscalls",
        Method::States(_) => "states",
    }
}

fn of_target(target: &Target) -> &'static str {
    match target {
        Target::System => "system",
        Target::Process { .. } => "process",
        Target::Processes { .. } => "processes",
        Target::Threads { .. } => "threads",
        Target::Command { .. } => "command",
        Target::During { .. } => "during",
        Target::Cgroup { .. } => "cgroup",
        Target::Unit { .. } => "unit",
        Target::Container { .. } => "container",
        Target::User { .. } => "user",
        Target::Comm { .. } => "comm",
    }
}

#[test]
fn the_form_is_tested_with_every_kind_and_field() {
    let mut specs: Vec<CaptureSpec> = methods()
        .into_iter()
        .map(|method| CaptureSpec {
            name: text(kind(&method)),
            sources: vec![SourceSpec::of(method)],
            target: Target::System,
            limits: limits(),
        })
        .collect();
    specs.extend(targets().into_iter().map(|target| CaptureSpec {
        name: text(of_target(&target)),
        sources: vec![SourceSpec::of(match &target {
            Target::Threads { .. } => Method::Count(CountSpec::default()),
            _ => Method::Syscalls(SyscallSpec::default()),
        })],
        target,
        limits: Limits::default(),
    }));
    specs.push(CaptureSpec {
        name: text("several events"),
        sources: vec![SourceSpec::of(Method::Profile(ProfileSpec {
            event: Some(text("cpu/event=0x3c,umask=0/k")),
            more: vec![
                SampledEvent { event: text("kmem:kmalloc"), period: Some(1) },
                SampledEvent { event: text("page-faults:u"), period: None },
            ],
            group: true,
            ..ProfileSpec::default()
        }))],
        target: Target::System,
        limits: Limits::default(),
    });
    for spec in &specs {
        spec.validate().unwrap();
        let json = serde_json::to_string(spec).unwrap();
        let again: CaptureSpec = serde_json::from_str(&json).unwrap();
        check_spec(&again).unwrap();
        assert_eq!(again, *spec, "{json}");
    }
    let golden = serde_json::to_string_pretty(&specs).unwrap() + "\n";
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(GOLDEN, golden).unwrap();
        return;
    }
    let known = std::fs::read_to_string(GOLDEN).unwrap();
    assert!(
        golden == known,
        "specs have changed: run again with BLESS=1, then mend the form until `node --test web/tests` passes"
    );
}
