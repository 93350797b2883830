//! Captures of the running kernel. They need root and perf events; without them they say so and pass.

use std::{
    collections::HashMap,
    process::Command,
    time::{Duration, Instant},
};

use bathyscope_agent::{CommandRights, KernelBackend, ScriptRights, serve};
use bathyscope_capture::{
    CaptureId, CaptureSpec, EventProbe, FlightSpec, FrameId, Limits, MappingKind, Method, Predicate, ProfileSpec,
    ScriptSpec, SourceSpec, StreamSchema, Symbol, SyscallSpec, Target, decode_chunk,
};
use bathyscope_link::AgentLink;
use bathyscope_protocol::{AgentClient, CapabilityState, Connection};
use bathyscope_recorder::{LiveMessage, Recorder, RecorderOptions};
use bathyscope_store::{CaptureRecord, CaptureState, Options, Store};

struct Bench {
    recorder: Recorder,
    store: Store,
    _directory: tempfile::TempDir,
}

/// The parts of a test with the kernel's agent; none, and a line that says so, where `needs` does not work.
async fn bench(needs: &str) -> Option<Bench> {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: needs root");
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Options { ballast_bytes: 0, ..Options::default() }).await.unwrap();
    let link = AgentLink::new(|| {
        let (ours, theirs) = Connection::pair().unwrap();
        std::thread::spawn(move || {
            // Not as a process of its own would, which gives up for good what the rest of this one needs.
            let kernel = KernelBackend::new(CommandRights::AsRoot).with_scripts(ScriptRights::Observe);
            serve(&theirs, &mut kernel.at_a_terminal())
        });
        AgentClient::over(ours)
    });
    let link = link.unwrap();
    assert!(link.connected(Duration::from_secs(10)).await);
    let capabilities = link.capabilities().await.unwrap();
    let needed = capabilities.iter().find(|capability| capability.id == needs).unwrap();
    if needed.state != CapabilityState::Available {
        println!("SKIPPED: {} does not work here: {}", needed.title, needed.finding);
        return None;
    }
    let recorder = Recorder::new(store.clone(), link, RecorderOptions::new(directory.path()));
    Some(Bench { recorder, store, _directory: directory })
}

fn command(words: &[&str]) -> Target {
    Target::Command { argv: words.iter().map(|word| (*word).to_owned()).collect(), user: None, children: true }
}

fn events(probes: &[(&str, &[&str], Option<&str>)], target: Target) -> CaptureSpec {
    let probe = |(name, fields, predicate): &(&str, &[&str], Option<&str>)| EventProbe {
        tracepoint: name.parse().unwrap(),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        predicate: predicate.map(|text| Predicate::parse(text).unwrap()),
    };
    let method = Method::Events { probes: probes.iter().map(probe).collect() };
    let limits = Limits { duration_ms: Some(60_000), ..Limits::default() };
    CaptureSpec { name: String::new(), sources: vec![SourceSpec::of(method)], target, limits }
}

fn profile(target: Target, duration_ms: u64) -> CaptureSpec {
    let method = Method::Profile(ProfileSpec {
        frequency_hz: 499,
        kernel_stacks: true,
        user_stacks: true,
        ..ProfileSpec::default()
    });
    let limits = Limits { duration_ms: Some(duration_ms), ..Limits::default() };
    CaptureSpec { name: String::new(), sources: vec![SourceSpec::of(method)], target, limits }
}

/// How often each function is in a stack, once for each sample.
async fn functions(store: &Store, id: CaptureId) -> HashMap<String, u64> {
    let record = store.capture(id).await.unwrap();
    let symbols: HashMap<FrameId, Symbol> = store.symbols(id, 0).await.unwrap().into_iter().collect();
    let stacks: HashMap<u32, _> = store.stacks(id, 0).await.unwrap().into_iter().collect();
    let mut counts = HashMap::new();
    for info in store.chunk_index(id, 0, 0).await.unwrap() {
        let bytes = store.chunk(id, 0, info.seq).await.unwrap();
        let batch = decode_chunk(&record.streams[0].schema, &bytes, &[StreamSchema::STACK]).unwrap();
        for stack in batch.columns[StreamSchema::STACK].as_id() {
            let frames = stacks.get(stack).map(|frames| frames.to_vec()).unwrap_or_default();
            let names = frames.iter().map(|frame| symbols.get(frame).map_or("?", |symbol| symbol.function.as_str()));
            let names: std::collections::HashSet<&str> = names.collect();
            names.into_iter().for_each(|name| *counts.entry(name.to_owned()).or_insert(0) += 1);
        }
    }
    counts
}

impl Bench {
    async fn run(&self, spec: CaptureSpec) -> (CaptureId, CaptureRecord) {
        let id = self.recorder.start(spec, "test").await.unwrap();
        self.ended(id).await
    }

    /// Waits until it is stored and named.
    async fn ended(&self, id: CaptureId) -> (CaptureId, CaptureRecord) {
        let mut viewer = self.recorder.live(id).unwrap();
        while let Some(message) = viewer.next().await {
            if matches!(&*message, LiveMessage::Ended { .. }) {
                break;
            }
        }
        (id, self.store.capture(id).await.unwrap())
    }
}

fn assert_complete(record: &CaptureRecord) {
    assert_eq!(record.state, CaptureState::Finished, "{}", record.reason);
    assert!(record.ledger.in_flight().iter().all(|left| *left == 0), "{:?}", record.ledger);
    let interrupted = |loss: &bathyscope_capture::Loss| loss.stage == bathyscope_capture::LossStage::Interrupted;
    assert!(!record.ledger.losses.iter().any(interrupted), "{:?}", record.ledger);
}

#[tokio::test(flavor = "multi_thread")]
async fn p28_every_read_and_write_of_dd_is_there() {
    let Some(bench) = bench("tracepoint").await else { return };
    let target = command(&["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=100000"]);
    let fields = &["fd", "count"][..];
    let probes = [
        ("syscalls:sys_enter_read", fields, Some("fd == 0 && count == 1")),
        ("syscalls:sys_enter_write", fields, Some("fd == 1 && count == 1")),
    ];
    let (id, record) = bench.run(events(&probes, target)).await;
    assert_complete(&record);
    assert!(record.reason.starts_with("the command exited with status 0"), "{}", record.reason);
    for (index, totals) in record.ledger.streams.iter().enumerate() {
        assert_eq!(totals.emitted, 100_000, "{:?}", record.ledger);
        assert_eq!(totals.stored + record.ledger.lost(index as u16), 100_000);
        assert_eq!(record.streams[index].rows, totals.stored);
    }
    let processes = bench.store.processes(id).await.unwrap();
    assert!(!processes.is_empty());
    let output = bench.store.output(id, 0, 10).await.unwrap();
    let text: Vec<u8> = output.into_iter().flat_map(|line| line.bytes).collect();
    assert!(String::from_utf8_lossy(&text).contains("100000+0 records"), "{}", String::from_utf8_lossy(&text));
}

fn script(text: &str, target: Target) -> CaptureSpec {
    let method = Method::Script(ScriptSpec { text: text.to_owned(), ..ScriptSpec::default() });
    let limits = Limits { duration_ms: Some(60_000), ..Limits::default() };
    CaptureSpec { name: String::new(), sources: vec![SourceSpec::of(method)], target, limits }
}

/// The values of a column of numbers, over all chunks.
async fn numbers(bench: &Bench, record: &CaptureRecord, stream: u16, column: &str) -> Vec<u64> {
    let schema = &record.streams[usize::from(stream)].schema;
    let column = schema.column(column).unwrap();
    let mut all = Vec::new();
    for info in bench.store.chunk_index(record.id, stream, 0).await.unwrap() {
        let bytes = bench.store.chunk(record.id, stream, info.seq).await.unwrap();
        let batch = decode_chunk(schema, &bytes, &[column]).unwrap();
        all.extend_from_slice(batch.columns[column].as_u64());
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_counts_every_read_of_dd() {
    let Some(bench) = bench("tracepoint").await else { return };
    let text = r#"
        tracepoint:syscalls:sys_enter_read /args.fd == 0 && args.count == 1/ { @reads = count(); @sizes = hist(args.count); }
        tracepoint:syscalls:sys_enter_write /args.fd == 1 && args.count == 1/ { printf("%d %s", args.fd, comm); }
        end { print(@reads); }"#;
    let target = command(&["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=20000"]);
    let (_, record) = bench.run(script(text, target)).await;
    assert_complete(&record);
    assert!(record.reason.starts_with("the command exited with status 0"), "{}", record.reason);
    let stream = |name: &str| {
        let at = record.streams.iter().position(|stream| stream.schema.name == name);
        u16::try_from(at.unwrap_or_else(|| panic!("{name}: {:?}", record.streams))).unwrap()
    };
    let printed = stream("fd comm");
    let lost: u64 = record.ledger.losses.iter().map(|loss| loss.count).sum();
    assert_eq!(record.streams[usize::from(printed)].rows + lost, 20_000, "{:?}", record.ledger);
    assert!(numbers(&bench, &record, printed, "pid").await.iter().all(|pid| *pid > 0));
    let counts = numbers(&bench, &record, stream("@reads"), "count").await;
    assert_eq!(counts.last(), Some(&20_000), "{counts:?}");
    let kept = bench.store.script(record.id).await.unwrap().unwrap();
    assert!(kept.probes.iter().any(|probe| probe.hits - probe.filtered == 20_000), "{kept:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_finds_functions_of_libraries() {
    let Some(bench) = bench("uprobe").await else { return };
    let dd = || command(&["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=500"]);
    let text = "uprobe:libc:write /arg0 == 1 && arg2 == 1/ { @ = count(); }";
    let (_, record) = bench.run(script(text, dd())).await;
    assert_complete(&record);
    let counts = numbers(&bench, &record, 0, "count").await;
    assert_eq!(counts.last(), Some(&500), "{counts:?} {}", record.reason);
    let wrong = bench.recorder.start(script("uprobe:libc:mallocc { }", dd()), "test").await.unwrap_err();
    assert!(format!("{wrong:?}").contains("did you mean `malloc`"), "{wrong:?}");
    let wrong = bench.recorder.start(script("uprobe:libnothinglikeit:f { }", dd()), "test").await.unwrap_err();
    assert!(wrong.to_string().contains("libnothinglikeit"), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn stacks_of_a_script_have_names() {
    let Some(bench) = bench("tracepoint").await else { return };
    let text = "tracepoint:syscalls:sys_enter_write /args.count == 1/ { @[kstack, ustack] = count(); }";
    let target = command(&["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=300000"]);
    let (id, record) = bench.run(script(text, target)).await;
    assert_complete(&record);
    let symbols = bench.store.symbols(id, 0).await.unwrap();
    let names: Vec<&str> = symbols.iter().map(|(_, symbol)| symbol.function.as_str()).collect();
    assert!(names.iter().any(|name| name.contains("do_syscall_64")), "{names:?}");
    let mappings = bench.store.mappings(id, 0).await.unwrap();
    assert!(mappings.iter().any(|(_, mapping)| mapping.kind == MappingKind::File), "{mappings:?}");
    assert!(names.iter().any(|name| name.contains("write")), "{names:?}");
}

#[inline(never)]
fn a_busy_function_of_the_test(until: Instant) -> u64 {
    let mut sum = 0_u64;
    while Instant::now() < until {
        // Nothing here is a call, however this is built: all time is this function's own.
        let mut number = 0_u64;
        while number < 10_000 {
            sum = sum.wrapping_mul(31).wrapping_add(number);
            number += 1;
        }
        sum = std::hint::black_box(sum);
    }
    sum
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_of_a_busy_process_have_names() {
    let Some(bench) = bench("cpu_clock_sampling").await else { return };
    let busy = std::thread::spawn(|| a_busy_function_of_the_test(Instant::now() + Duration::from_millis(1500)));
    let target = Target::Process { pid: std::process::id(), children: false };
    let (id, record) = bench.run(profile(target, 1000)).await;
    busy.join().unwrap();
    assert_complete(&record);
    let counts = functions(&bench.store, id).await;
    let own = counts.iter().filter(|(name, _)| name.ends_with("a_busy_function_of_the_test"));
    let own: u64 = own.map(|(_, count)| count).sum();
    // How often it was on a processor is for what else runs here: that it has its name matters.
    assert!(own > 20, "{own} of {} samples: {counts:?}", record.streams[0].rows);
}

#[tokio::test(flavor = "multi_thread")]
async fn kernel_functions_have_names() {
    let Some(bench) = bench("cpu_clock_sampling").await else { return };
    let target = command(&["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=400000"]);
    let (id, record) = bench.run(profile(target, 20_000)).await;
    assert_complete(&record);
    let counts = functions(&bench.store, id).await;
    let kernel =
        ["ksys_read", "vfs_read", "ksys_write", "vfs_write", "do_syscall_64", "entry_SYSCALL_64_after_hwframe"];
    let found: u64 = kernel.iter().filter_map(|name| counts.get(*name)).sum();
    assert!(found > 10, "{counts:?}");
    let mappings = bench.store.mappings(id, 0).await.unwrap();
    assert!(mappings.iter().any(|(_, mapping)| mapping.kind == MappingKind::Kernel && !mapping.build_id.is_empty()));
}

/// Not a test: what the tests below run as a process of its own.
#[test]
#[ignore = "a part of other tests"]
fn busy_child() {
    if std::env::var_os("BATHYSCOPE_TEST_CHILD").is_some() {
        a_busy_function_of_the_test(Instant::now() + Duration::from_millis(120));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_have_ended_still_have_names() {
    let Some(bench) = bench("cpu_clock_sampling").await else { return };
    let id = bench.recorder.start(profile(Target::System, 60_000), "test").await.unwrap();
    let mut pids = Vec::new();
    for _ in 0..5 {
        let mut child = Command::new("/proc/self/exe");
        child.args(["--ignored", "--exact", "kernel::busy_child"]).env("BATHYSCOPE_TEST_CHILD", "1");
        let mut child = child.stdout(std::process::Stdio::null()).spawn().unwrap();
        pids.push(u64::from(child.id()));
        child.wait().unwrap();
    }
    assert!(bench.recorder.stop(id, "test"));
    let (id, record) = bench.ended(id).await;
    assert_complete(&record);
    let counts = functions(&bench.store, id).await;
    let own = counts.iter().filter(|(name, _)| name.ends_with("a_busy_function_of_the_test"));
    let own: u64 = own.map(|(_, count)| count).sum();
    assert!(own > 50, "{own} of {} samples: {counts:?}", record.streams[0].rows);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_call_fires_a_flight_recorder_and_is_found_in_what_it_stores() {
    let Some(bench) = bench("btf_tracepoint").await else { return };
    let condition = "call == \"clock_nanosleep\" && comm == \"sleep\" && duration_ns > 250000000";
    let flight = FlightSpec { after_s: 0, triggers: vec![condition.parse().unwrap()], ..FlightSpec::default() };
    let method = Method::Syscalls(SyscallSpec { calls: vec!["clock_nanosleep".to_owned()], ..SyscallSpec::default() });
    let limits = Limits { duration_ms: Some(120_000), flight: Some(Box::new(flight)), ..Limits::default() };
    let sources = vec![SourceSpec::of(method)];
    let spec = CaptureSpec { name: String::new(), sources, target: Target::System, limits };
    let id = bench.recorder.start(spec, "test").await.unwrap();
    let sleep = |time: &str| Command::new("sleep").arg(time).spawn().unwrap();
    sleep("0.01").wait().unwrap();
    let mut slow = sleep("0.4");
    slow.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let stored = loop {
        let status = bench.recorder.flight(id).unwrap();
        match status.last.filter(|_| !status.is_storing) {
            Some(stored) => break stored,
            None => assert!(Instant::now() < until, "{status:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(bench.recorder.stop(id, "test"));
    let (_, own) = bench.ended(id).await;
    assert_eq!((own.streams[0].rows, own.state), (0, CaptureState::Finished), "{}", own.reason);
    assert!(own.ledger.not_kept(0) >= 2 && own.ledger.in_flight().iter().all(|left| *left == 0), "{:?}", own.ledger);
    let record = bench.store.capture(stored).await.unwrap();
    let firing = record.firing.as_ref().unwrap();
    assert!(firing.value.contains(&format!("pid {}", slow.id())), "{}", firing.value);
    assert!(record.ledger.in_flight().iter().all(|left| *left == 0), "{:?}", record.ledger);
    let schema = &record.streams[0].schema;
    let wanted = [StreamSchema::PID, schema.duration_column().unwrap()];
    let mut longest = 0;
    for info in bench.store.chunk_index(stored, 0, 0).await.unwrap() {
        let batch = decode_chunk(schema, &bench.store.chunk(stored, 0, info.seq).await.unwrap(), &wanted).unwrap();
        let rows = batch.columns[wanted[0]].as_u64().iter().zip(batch.columns[wanted[1]].as_u64());
        longest = rows.filter(|(pid, _)| **pid == u64::from(slow.id())).map(|(_, ns)| *ns).fold(longest, u64::max);
    }
    assert!(longest > 250_000_000, "{longest}");
}

/// Runs code that was made a moment ago: a loop that counts down.
fn run_made_code(until: Instant) {
    // mov rax, 10000000; loop: dec rax; jnz loop; ret
    const CODE: [u8; 13] = [0x48, 0xc7, 0xc0, 0x80, 0x96, 0x98, 0x00, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3];
    let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: a fresh private mapping of one page; nothing refers to it.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, all, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    // SAFETY: the page is writable and longer than the code.
    unsafe { std::ptr::copy_nonoverlapping(CODE.as_ptr(), page.cast(), CODE.len()) };
    let map = format!("{:x} {:x} made_at_run_time\ngarbage\n", page as usize, CODE.len());
    let path = format!("/tmp/perf-{}.map", std::process::id());
    std::fs::write(&path, map).unwrap();
    // SAFETY: the page holds the code of a function that takes nothing and changes only what a caller saves.
    let function = unsafe { std::mem::transmute::<*mut libc::c_void, extern "C" fn()>(page) };
    while Instant::now() < until {
        function();
    }
    std::fs::remove_file(path).unwrap();
}

#[cfg(target_arch = "x86_64")]
#[tokio::test(flavor = "multi_thread")]
async fn code_made_at_run_time_has_names() {
    let Some(bench) = bench("cpu_clock_sampling").await else { return };
    let busy = std::thread::spawn(|| run_made_code(Instant::now() + Duration::from_millis(1500)));
    let target = Target::Process { pid: std::process::id(), children: false };
    let (id, record) = bench.run(profile(target, 1000)).await;
    busy.join().unwrap();
    assert_complete(&record);
    let counts = functions(&bench.store, id).await;
    assert!(counts.get("made_at_run_time").is_some_and(|count| *count > 20), "{counts:?}");
}

/// Run by hand: `cargo test -p bathyscope --test recorder -- --ignored --nocapture measure_dd`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement, not a test"]
async fn measure_dd() {
    let Some(bench) = bench("tracepoint").await else { return };
    let dd = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=500000"];
    let alone = Instant::now();
    Command::new(dd[0]).args(&dd[1..]).stderr(std::process::Stdio::null()).status().unwrap();
    let alone = alone.elapsed();
    let mut spec = events(&[("raw_syscalls:sys_enter", &["id"], None)], Target::System);
    spec.limits.max_bytes = None;
    let started = Instant::now();
    let id = bench.recorder.start(spec, "test").await.unwrap();
    println!("recording {:?} after it was asked for", started.elapsed());
    let traced = Instant::now();
    Command::new(dd[0]).args(&dd[1..]).stderr(std::process::Stdio::null()).status().unwrap();
    let traced = traced.elapsed();
    assert!(bench.recorder.stop(id, "test"));
    let (_, record) = bench.ended(id).await;
    println!("dd alone {alone:?}, traced {traced:?}: {:.2} times", traced.as_secs_f64() / alone.as_secs_f64());
    let totals = record.ledger.streams[0];
    println!("{totals:?}, lost {}", record.ledger.lost_total());
    println!("{:.0} events/s, {} bytes", totals.emitted as f64 / traced.as_secs_f64(), record.chunk_bytes);
    println!("{:?}", record.streams[0].reading);
    assert_complete(&record);
}
