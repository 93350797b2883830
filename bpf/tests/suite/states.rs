//! The programs for switches and wake-ups: what they record of made threads, and on a real kernel, whose verifier must accept
//! them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::print_stdout, reason = "a skipped test must be seen, and the times are of interest")]

use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write as _},
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use aya::{
    Ebpf, EbpfLoader,
    maps::{Array, HashMap, MapData, PerCpuArray, RingBuf},
    programs::RawTracePoint,
};
use bathyscope_bpf::{
    Code, compile,
    ir::Program,
    machine::{Machine, World},
    object,
    probe::{ALLOWANCE_MAP, ALLOWANCE_WORDS, CommPattern, TARGETS_MAP, TargetFilter},
    states::{
        CgroupPlaces, RING, SWITCH_COUNTERS, StateError, StatePlaces, StateProbe, StatePrograms, WAKE_COUNTERS,
        programs,
    },
};
use bathyscope_capture::{MAX_BLOCKED_FRAMES, SwitchSides};
use bathyscope_catalog::types::{Btf, Types};
use bathyscope_decode::states::{StateEvent, StateRecord, StateStacks, ThreadId};

const MADE: StatePlaces = StatePlaces {
    tid: 8,
    pid: 12,
    exit_state: 16,
    cpu: Some(20),
    comm: 24,
    user: Some((40, 4)),
    cgroup: Some(CgroupPlaces { set: 48, group: 8, level: 0, ancestors: 24, node: 8, id: 8 }),
};

fn probe(target: TargetFilter) -> StateProbe {
    StateProbe { target, ring_bytes: 4096, sleep_stacks: false, wake_stacks: false, places: MADE }
}

/// A made thread.
#[derive(Clone, Copy)]
struct Thread {
    address: u64,
    id: ThreadId,
    comm: &'static str,
    uid: u32,
    cgroups: &'static [u64],
}

const fn thread(address: u64, pid: u32, tid: u32, comm: &'static str, uid: u32, cgroups: &'static [u64]) -> Thread {
    Thread { address, id: ThreadId { pid, tid }, comm, uid, cgroups }
}

const A: Thread = thread(0x1_0000, 10, 11, "reader", 1000, &[1, 7]);
const B: Thread = thread(0x2_0000, 20, 21, "writer", 0, &[1, 8, 9]);

impl Thread {
    /// Its `task_struct` and what that leads to, in the kernel's memory.
    fn put(self, kernel: &mut BTreeMap<u64, Vec<u8>>) {
        let (cred, set, group) = (self.address + 0x100, self.address + 0x200, self.address + 0x300);
        let mut task = vec![0; 8];
        task.extend([self.id.tid, self.id.pid, 0x20, 5].into_iter().flat_map(u32::to_le_bytes));
        let mut comm = self.comm.as_bytes().to_vec();
        comm.resize(16, 0);
        task.extend(comm);
        task.extend([cred, set].into_iter().flat_map(u64::to_le_bytes));
        kernel.insert(self.address, task);
        kernel.insert(cred, [0, self.uid].into_iter().flat_map(u32::to_le_bytes).collect());
        kernel.insert(set, [0, group].into_iter().flat_map(u64::to_le_bytes).collect());
        let nodes = (0..self.cgroups.len() as u64).map(|level| group + 0x80 + 0x40 * level);
        let level = self.cgroups.len() as u64 - 1;
        let words = [level, 0, 0].into_iter().chain(nodes.clone());
        kernel.insert(group, words.flat_map(u64::to_le_bytes).collect());
        for (at, id) in nodes.zip(self.cgroups) {
            // A group and its node, one behind the other.
            kernel.insert(at, [0, at + 0x10, 0, *id].into_iter().flat_map(u64::to_le_bytes).collect());
        }
    }
}

struct Made {
    machine: Machine,
    programs: [Code; 3],
}

fn code(program: &Program) -> Code {
    compile(program).unwrap_or_else(|error| panic!("{}: {error}", program.name))
}

impl Made {
    fn new(probe: &StateProbe) -> Self {
        let StatePrograms { switch, waking, new } = programs(probe).unwrap();
        let mut machine = Machine::new(2);
        let mut kernel = BTreeMap::new();
        A.put(&mut kernel);
        B.put(&mut kernel);
        machine.world = World { cpu: 1, time_ns: 100, kernel, kernel_stack: vec![3, 2], ..World::default() };
        machine.world.user_stack = vec![9];
        let programs = [&switch, &waking, &new].map(code);
        programs.iter().for_each(|code| machine.declare(code));
        Self { machine, programs }
    }

    /// Makes `thread` the current one.
    fn current(&mut self, thread: Thread) {
        let world = &mut self.machine.world;
        (world.tgid, world.tid, world.uid, world.task) = (thread.id.pid, thread.id.tid, thread.uid, thread.address);
        world.comm = [0; 16];
        world.comm[..thread.comm.len()].copy_from_slice(thread.comm.as_bytes());
        world.ancestor_cgroups = thread.cgroups.to_vec();
    }

    fn run(&mut self, program: usize, arguments: &[u64]) {
        let context: Vec<u8> = arguments.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(self.machine.run(&self.programs[program], &context), Ok(0));
    }

    fn switch(&mut self, from: Thread, to: Thread, preempted: bool, state: u64) {
        self.current(from);
        self.run(0, &[u64::from(preempted), from.address, to.address, state]);
    }

    fn wake(&mut self, waker: Thread, wakee: Thread, new: bool) {
        self.current(waker);
        self.run(if new { 2 } else { 1 }, &[wakee.address]);
    }

    fn taken(&mut self) -> Vec<StateRecord> {
        let read = |bytes: &Vec<u8>| StateRecord::read(bytes).unwrap();
        self.machine.take_records(RING).iter().map(read).collect()
    }

    /// Hits, filtered, without room, limited.
    fn counts(&self, name: &str) -> [u64; 4] {
        let values = self.machine.map(name).unwrap().values(&[0; 4]);
        std::array::from_fn(|at| {
            values.iter().map(|value| u64::from_le_bytes(value[8 * at..8 * at + 8].try_into().unwrap())).sum()
        })
    }
}

/// A switch from a thread in this state, and which of both threads are the target's.
fn left(state: &'static str, [from, to]: [bool; 2]) -> StateEvent {
    StateEvent::Switch { state, target: SwitchSides { from, to } }
}

#[test]
fn a_switch_tells_both_threads_and_the_state_of_the_one_that_leaves() {
    let mut made = Made::new(&probe(TargetFilter::System));
    made.switch(A, B, false, 1);
    made.switch(B, A, true, 1);
    // The last switch of a thread: what it ends as is read from its structure.
    made.switch(A, B, false, 0x80);
    let expected = [(A, B, "S"), (B, A, "R+"), (A, B, "Z")].map(|(from, to, state)| (from.id, to.id, state));
    let told = made.taken();
    for (record, (running, other, state)) in told.iter().zip(expected) {
        assert_eq!((record.running, record.other, record.event), (running, other, left(state, [false, false])));
        assert_eq!((record.cpu, &record.stacks), (1, &None));
    }
    assert_eq!((told.len(), told.is_sorted_by_key(|record| record.time_ns)), (3, true));
    assert_eq!((made.counts(SWITCH_COUNTERS), made.counts(WAKE_COUNTERS)), ([3, 0, 0, 0], [0; 4]));
}

#[test]
fn a_wakeup_tells_the_waker_and_the_woken_thread() {
    let mut made = Made::new(&probe(TargetFilter::System));
    made.wake(A, B, false);
    made.wake(B, A, true);
    let told: Vec<_> = made.taken().iter().map(|record| (record.running, record.other, record.event)).collect();
    let event = |new| StateEvent::Wakeup { new, target_cpu: 5 };
    assert_eq!(told, [(A.id, B.id, event(false)), (B.id, A.id, event(true))]);
    assert_eq!((made.counts(SWITCH_COUNTERS), made.counts(WAKE_COUNTERS)), ([0; 4], [2, 0, 0, 0]));
}

#[test]
fn a_target_has_the_switches_from_and_to_it_and_its_wakeups_by_anybody() {
    let comm = |pattern| TargetFilter::Comm(CommPattern::new(pattern).unwrap());
    let targets = [
        TargetFilter::Process(A.id.pid),
        TargetFilter::Targets,
        TargetFilter::Threads,
        TargetFilter::Cgroup { id: 7, level: 1 },
        TargetFilter::User(1000),
        comm("reader"),
        comm("re*"),
        comm("*ade*"),
    ];
    const IDLE: Thread = thread(0x3_0000, 0, 0, "swapper/1", 4, &[1]);
    for target in targets {
        let mut made = Made::new(&probe(target));
        IDLE.put(&mut made.machine.world.kernel);
        if target == TargetFilter::Targets {
            assert!(made.machine.set(TARGETS_MAP, &A.id.pid.to_le_bytes(), 0, &[1, 0, 0, 0]));
        }
        if target == TargetFilter::Threads {
            assert!(made.machine.set(TARGETS_MAP, &A.id.tid.to_le_bytes(), 0, &[1, 0, 0, 0]));
        }
        made.switch(A, B, false, 1);
        made.switch(B, A, false, 1);
        made.switch(B, IDLE, false, 1);
        made.wake(B, A, false);
        made.wake(A, B, false);
        made.wake(IDLE, A, true);
        // Both are of it.
        made.switch(A, A, false, 1);
        let records = made.taken();
        let told: Vec<_> = records.iter().map(|record| (record.running, record.other)).collect();
        let expected = [(A.id, B.id), (B.id, A.id), (B.id, A.id), (IDLE.id, A.id), (A.id, A.id)];
        assert_eq!(told, expected, "{target:?}");
        let sides = [0, 1, 4].map(|at| records[at].event);
        let expected = [[true, false], [false, true], [true, true]].map(|sides| left("S", sides));
        assert_eq!(sides, expected, "{target:?}");
        assert_eq!((made.counts(SWITCH_COUNTERS), made.counts(WAKE_COUNTERS)), ([4, 1, 0, 0], [3, 1, 0, 0]));
    }
}

#[test]
fn a_group_has_what_is_below_it_and_nothing_beside() {
    let wakes = |id, level| {
        let mut made = Made::new(&probe(TargetFilter::Cgroup { id, level }));
        made.wake(A, B, false);
        made.taken().len()
    };
    assert_eq!([wakes(1, 0), wakes(8, 1), wakes(9, 2), wakes(7, 1), wakes(9, 1), wakes(9, 3)], [1, 1, 1, 0, 0, 0]);
}

#[test]
fn stacks_are_of_threads_that_go_to_sleep_and_of_wakers() {
    let stacks = Some(StateStacks { kernel: vec![3, 2], user: vec![9], is_cut: false });
    let of = |sleep_stacks, wake_stacks| {
        let mut made = Made::new(&StateProbe { sleep_stacks, wake_stacks, ..probe(TargetFilter::System) });
        made.switch(A, B, false, 1);
        made.switch(A, B, false, 0);
        made.switch(A, B, true, 1);
        made.switch(A, B, false, 0x80);
        made.wake(A, B, false);
        made.taken().into_iter().map(|record| record.stacks).collect::<Vec<_>>()
    };
    let none = || None::<StateStacks>;
    assert_eq!(of(true, false), [stacks.clone(), none(), none(), none(), none()]);
    assert_eq!(of(false, true), [none(), none(), none(), none(), stacks.clone()]);
    // Of a thread that only gives way to one of the target nobody wants to know why.
    let mut made = Made::new(&StateProbe { sleep_stacks: true, ..probe(TargetFilter::Process(A.id.pid)) });
    made.switch(A, B, false, 1);
    made.switch(B, A, false, 1);
    assert_eq!(made.taken().into_iter().map(|record| record.stacks).collect::<Vec<_>>(), [stacks, none()]);
    // What has no stack in user space has an empty one.
    let mut made = Made::new(&StateProbe { wake_stacks: true, ..probe(TargetFilter::System) });
    made.machine.world.user_stack.clear();
    made.wake(A, B, false);
    assert_eq!(made.taken()[0].stacks.as_ref().unwrap().user, Vec::<u64>::new());
}

#[test]
fn an_uninterruptible_thread_has_the_frames_that_tell_where_it_blocks() {
    let deep: Vec<u64> = (1..=100).collect();
    let of = |target| {
        let mut made = Made::new(&probe(target));
        made.machine.world.kernel_stack = deep.clone();
        // Uninterruptible, killable, idle, asleep, preempted; and another thread than the target's.
        [2, 0x102, 0x402, 1].into_iter().for_each(|state| made.switch(A, B, false, state));
        made.switch(A, B, true, 2);
        made.switch(B, A, false, 2);
        made.taken().into_iter().map(|record| record.stacks).collect::<Vec<_>>()
    };
    let innermost = deep[..MAX_BLOCKED_FRAMES as usize].to_vec();
    let stacks = || Some(StateStacks { kernel: innermost.clone(), user: Vec::new(), is_cut: false });
    assert_eq!(of(TargetFilter::System), [stacks(), stacks(), None, None, None, stacks()]);
    assert_eq!(of(TargetFilter::Process(A.id.pid)), [stacks(), stacks(), None, None, None, None]);
}

#[test]
fn what_finds_no_room_or_is_not_allowed_is_counted() {
    let mut made = Made::new(&probe(TargetFilter::System));
    (0..200).for_each(|_| made.switch(A, B, false, 1));
    made.wake(A, B, false);
    let stored = made.taken().len() as u64;
    assert_eq!(made.counts(SWITCH_COUNTERS), [200, 0, 200 - stored, 0]);
    assert_eq!(made.counts(WAKE_COUNTERS), [1, 0, 1, 0]);

    let mut made = Made::new(&StateProbe { wake_stacks: true, ..probe(TargetFilter::System) });
    // Bytes of the capture in a window: a record with stacks counts with them.
    let limits: Vec<u8> = [0_u64, 0, 96, 0, 0, 0].into_iter().flat_map(u64::to_le_bytes).collect();
    assert_eq!(limits.len(), 8 * ALLOWANCE_WORDS);
    assert!(made.machine.set(ALLOWANCE_MAP, &[0; 4], 0, &limits));
    (0..5).for_each(|_| made.wake(A, B, false));
    assert_eq!((made.taken().len(), made.counts(WAKE_COUNTERS)), (2, [5, 0, 0, 3]));
}

#[test]
fn what_a_kernel_does_not_tell_is_refused_in_words() {
    let places = StatePlaces { user: None, cgroup: None, ..MADE };
    let refused = |target| programs(&StateProbe { places, ..probe(target) }).unwrap_err();
    assert_eq!(refused(TargetFilter::User(1)), StateError::Untold { what: "the user" });
    let group = refused(TargetFilter::Cgroup { id: 1, level: 1 });
    assert_eq!(group.to_string(), "this kernel does not tell the control group of a thread that is not running");
    assert!(programs(&StateProbe { places, ..probe(TargetFilter::System) }).is_ok());
    let ring = programs(&StateProbe { ring_bytes: 5000, ..probe(TargetFilter::System) }).unwrap_err();
    assert!(ring.to_string().starts_with("a ring of 5000 bytes"), "{ring}");
}

/// Where this kernel has what; none without rights or types, and that is said.
fn places() -> Option<StatePlaces> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    if u64::from_str_radix(effective.unwrap_or("0").trim(), 16).unwrap_or(0) & (1 << 21) == 0 {
        println!("SKIPPED: needs root (CAP_SYS_ADMIN)");
        return None;
    }
    let Ok(bytes) = fs::read("/sys/kernel/btf/vmlinux") else {
        println!("SKIPPED: this kernel does not tell its types");
        return None;
    };
    let places = StatePlaces::find(&Types::new(Arc::new(Btf::parse(bytes).unwrap()))).unwrap();
    assert!(places.user.is_some() && places.cgroup.is_some() && places.cpu.is_some(), "{places:?}");
    Some(places)
}

struct Tracing {
    ebpf: Ebpf,
    ring: RingBuf<MapData>,
}

impl Tracing {
    fn start(probe: &StateProbe) -> Self {
        let made = programs(probe).unwrap();
        let points = [(&made.switch, "sched_switch"), (&made.waking, "sched_waking"), (&made.new, "sched_wakeup_new")];
        let codes = points.map(|(program, _)| code(program));
        let mut loader = EbpfLoader::new();
        let mut ebpf = loader.btf(None).load(&object(&codes.iter().collect::<Vec<_>>()).unwrap()).unwrap();
        let ring = RingBuf::try_from(ebpf.take_map(RING).unwrap()).unwrap();
        if probe.target == TargetFilter::Targets {
            let mut targets: HashMap<&mut MapData, u32, u32> =
                HashMap::try_from(ebpf.map_mut(TARGETS_MAP).unwrap()).unwrap();
            targets.insert(std::process::id(), 1, 0).unwrap();
        }
        // As the guard sets it: limits that are never reached cost most.
        let mut limits: Array<&mut MapData, [u64; ALLOWANCE_WORDS]> =
            Array::try_from(ebpf.map_mut(ALLOWANCE_MAP).unwrap()).unwrap();
        limits.set(0, [1 << 20, 0, 0, 0, 0, 0], 0).unwrap();
        for (program, point) in points {
            let loaded: &mut RawTracePoint = ebpf.program_mut(&program.name).unwrap().try_into().unwrap();
            loaded.load().unwrap_or_else(|error| panic!("{} was refused: {error:?}", program.name));
            loaded.attach(point).unwrap();
        }
        Self { ebpf, ring }
    }

    fn records(&mut self) -> Vec<StateRecord> {
        std::iter::from_fn(|| self.ring.next().map(|record| StateRecord::read(&record).unwrap())).collect()
    }

    fn counts(&self, name: &str) -> [u64; 4] {
        let map: PerCpuArray<&MapData, [u64; 6]> = PerCpuArray::try_from(self.ebpf.map(name).unwrap()).unwrap();
        let mut sums = [0; 4];
        for values in map.get(&0, 0).unwrap().iter() {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        sums
    }

    /// Nanoseconds that a run of a program took, if the kernel counts them.
    fn cost(&self, name: &str) -> Option<f64> {
        let info = self.ebpf.program(name).unwrap().info().unwrap();
        let (runs, time) = (info.run_count(), info.run_time());
        (runs > 0).then(|| time.as_nanos() as f64 / runs as f64)
    }
}

/// Has the process run on one CPU only from here on, with what it makes.
fn pin() {
    let set = rustix::thread::sched_getaffinity(None).unwrap();
    let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| set.is_set(*cpu)).unwrap();
    let mut one = rustix::thread::CpuSet::new();
    one.set(first);
    rustix::thread::sched_setaffinity(None, &one).unwrap();
}

/// How often a thread has left its CPU: because it waited, and because others were let run.
fn switches(tid: u32) -> [u64; 2] {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).unwrap();
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    };
    [number("voluntary_ctxt_switches:"), number("nonvoluntary_ctxt_switches:")]
}

const ROUNDS: usize = 2000;

/// The other end of a ping-pong: gives back every byte, then says how often it was switched.
fn give_back(mut from: impl std::io::Read, mut to: impl std::io::Write) {
    let mut byte = [0];
    while from.read(&mut byte).is_ok_and(|read| read == 1) {
        to.write_all(&byte).unwrap();
    }
}

/// Plays ping-pong between two threads on one CPU while it is recorded; gives both threads, what was recorded, and how often each
/// was switched meanwhile.
fn ping_pong(probe: &StateProbe) -> (Tracing, [u32; 2], [[u64; 2]; 2]) {
    let play = std::thread::spawn({
        let probe = *probe;
        move || {
            pin();
            let (mut ours, theirs) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
            let (from_us, to_them) = (ours.0.try_clone().unwrap(), theirs.1.try_clone().unwrap());
            let (tell, told) = std::sync::mpsc::sync_channel(1);
            let other = std::thread::spawn(move || {
                tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
                give_back(from_us, to_them);
            });
            let tids = [rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs(), told.recv().unwrap()];
            let (mut back, mut byte) = (theirs.0, [0]);
            let mut round = || {
                ours.1.write_all(&[1]).unwrap();
                back.read_exact(&mut byte).unwrap();
            };
            round();
            let tracing = Tracing::start(&probe);
            let before = tids.map(switches);
            (0..ROUNDS).for_each(|_| round());
            let after = tids.map(switches);
            let between = std::array::from_fn(|at| std::array::from_fn(|kind| after[at][kind] - before[at][kind]));
            drop(ours);
            drop(theirs.1);
            other.join().unwrap();
            (tracing, tids, between)
        }
    });
    play.join().unwrap()
}

#[test]
fn switches_and_wakers_of_a_ping_pong_are_those_that_the_kernel_counts() {
    let Some(places) = places() else { return };
    let pid = std::process::id();
    let whole = StateProbe { places, ring_bytes: 8 << 20, ..probe(TargetFilter::Process(pid)) };
    let targets = [TargetFilter::Process(pid), TargetFilter::Targets, TargetFilter::System];
    for (target, sleep_stacks) in targets.into_iter().flat_map(|target| [(target, false), (target, true)]) {
        let probe = StateProbe { target, sleep_stacks, wake_stacks: sleep_stacks, ..whole };
        let (mut tracing, tids, counted) = ping_pong(&probe);
        // On one CPU one end may find what it wants to read whenever it runs; the other waits then.
        assert!(counted.iter().map(|[waited, _]| waited).sum::<u64>() >= ROUNDS as u64, "{counted:?}");
        let records = tracing.records();
        for (at, tid) in tids.into_iter().enumerate() {
            let of = |record: &&StateRecord| record.running.tid == tid && record.running.pid == pid;
            let left = |record: &&StateRecord| matches!(record.event, StateEvent::Switch { .. });
            let told = records.iter().filter(of).filter(left).count() as u64;
            let [waited, preempted] = counted[at];
            // It may be switched while the programs are attached and before it is asked, and after.
            let (least, most) = (waited + preempted, waited + preempted + 50);
            assert!((least..=most).contains(&told), "{target:?}: {told} of {tid}, and the kernel counted {least}");
            let wakes = records.iter().filter(|record| {
                record.other.tid == tid && matches!(record.event, StateEvent::Wakeup { new: false, .. })
            });
            let by_other = wakes.filter(|record| record.running.tid == tids[1 - at]).count() as u64;
            assert!(
                by_other + 5 >= waited,
                "{target:?}: {tid} waited {waited} times, and {by_other} times for the other"
            );
        }
        if sleep_stacks {
            let asleep = |record: &&StateRecord| matches!(record.event, StateEvent::Switch { state: "S", .. });
            let own = |record: &&StateRecord| tids.contains(&record.running.tid);
            let mut stacks = records.iter().filter(asleep).filter(own).map(|record| record.stacks.as_ref().unwrap());
            assert!(stacks.all(|stacks| stacks.kernel.len() > 4 && !stacks.user.is_empty()));
        } else {
            let blocked = |record: &&StateRecord| matches!(record.event, StateEvent::Switch { state: "D", .. });
            assert!(records.iter().filter(|record| !blocked(record)).all(|record| record.stacks.is_none()));
        }
        let (switched, woken) = (tracing.counts(SWITCH_COUNTERS), tracing.counts(WAKE_COUNTERS));
        let kept = |[hits, filtered, full, limited]: [u64; 4]| hits - filtered - full - limited;
        assert!(kept(switched) + kept(woken) >= records.len() as u64);
        let cost = ["st_switch", "st_waking"].map(|name| tracing.cost(name));
        println!(
            "{target:?}, stacks {sleep_stacks}: {} records, {switched:?}, {woken:?}, {cost:.0?} ns",
            records.len()
        );
    }
}

/// A process that gives back what it reads, and nothing else on this machine is like it: in its name, its user or its group.
struct Echo {
    child: Child,
    group: Option<PathBuf>,
    program: Option<PathBuf>,
}

impl Echo {
    fn start(program: &Path, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(program);
        change(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        Self { child: command.spawn().unwrap(), group: None, program: None }
    }

    /// Under this name, with what its target is then.
    fn named() -> (Self, TargetFilter) {
        let program = std::env::temp_dir().join(format!("echo-{}-of-states", std::process::id() % 1000));
        fs::copy("/bin/cat", &program).unwrap();
        let mut echo = Self::start(&program, |_| ());
        echo.program = Some(program.clone());
        let name = program.file_name().unwrap().to_str().unwrap();
        (echo, TargetFilter::Comm(CommPattern::new(&name[..15]).unwrap()))
    }

    /// Of a user that has nothing else.
    fn of_user() -> (Self, TargetFilter) {
        const USER: u32 = 54_321;
        let echo = Self::start(Path::new("/bin/cat"), |command| {
            command.uid(USER);
        });
        (echo, TargetFilter::User(USER))
    }

    /// In a group of its own, and the group above that; none where no groups can be made, and that is said.
    fn in_group() -> Option<(Self, TargetFilter)> {
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let of_version_2 = |line: &str| {
            let mut words = line.split(' ').skip(1);
            let place = words.next()?;
            (words.next()? == "cgroup2").then(|| PathBuf::from(place))
        };
        let root = mounts.lines().find_map(of_version_2).unwrap_or_default();
        let group = root.join(format!("states-{}", std::process::id()));
        if root == Path::new("") || fs::create_dir_all(group.join("below")).is_err() {
            println!("SKIPPED: no control group can be made");
            return None;
        }
        let mut echo = Self::start(Path::new("/bin/cat"), |_| ());
        fs::write(group.join("below/cgroup.procs"), echo.child.id().to_string()).unwrap();
        let id = fs::metadata(&group).unwrap().ino();
        echo.group = Some(group);
        Some((echo, TargetFilter::Cgroup { id, level: 1 }))
    }

    fn round(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        self.child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // Nothing more can be done where something of this fails.
        let _ended = self.child.wait();
        let _removed = self.program.as_ref().map(fs::remove_file);
        let _removed = self.group.as_ref().map(|group| fs::remove_dir(group.join("below")).and(fs::remove_dir(group)));
    }
}

#[test]
fn users_names_and_groups_of_threads_that_do_not_run_are_those_that_they_have() {
    let Some(places) = places() else { return };
    for (mut echo, target) in [Echo::named(), Echo::of_user()].into_iter().chain(Echo::in_group()) {
        // It executes the program only after it was made.
        echo.round();
        let mut tracing = Tracing::start(&StateProbe { places, ring_bytes: 1 << 20, ..probe(target) });
        (0..ROUNDS).for_each(|_| echo.round());
        let (records, pid) = (tracing.records(), echo.child.id());
        let comes = |record: &&StateRecord| record.other.pid == pid;
        let is_switch = |record: &&StateRecord| matches!(record.event, StateEvent::Switch { .. });
        let switched = records.iter().filter(comes).filter(is_switch).count();
        let left = records.iter().filter(|record| record.running.pid == pid).filter(is_switch).count();
        let woken = records.iter().filter(comes).count() - switched;
        // It may find what it wants to read before it has gone to sleep; but not often.
        assert!(
            [switched, left, woken].iter().all(|count| *count > ROUNDS / 4),
            "{target:?}: {switched} {left} {woken}"
        );
        assert!(records.iter().all(|record| [record.running.pid, record.other.pid].contains(&pid)), "{target:?}");
        println!("{target:?}: switched to {switched} times, woken {woken} times");
    }
}

#[test]
fn the_verifier_takes_the_programs_for_every_target() {
    let Some(places) = places() else { return };
    let comm = |pattern| TargetFilter::Comm(CommPattern::new(pattern).unwrap());
    let targets = [
        TargetFilter::System,
        TargetFilter::Process(1),
        TargetFilter::Targets,
        TargetFilter::Threads,
        TargetFilter::Cgroup { id: u64::MAX >> 1, level: 0 },
        TargetFilter::Cgroup { id: 1, level: 12 },
        TargetFilter::User(0),
        comm("exactly"),
        comm("begin*"),
        comm("*end"),
        comm("*in*"),
    ];
    for (target, stacks) in targets.into_iter().flat_map(|target| [(target, false), (target, true)]) {
        let probe = StateProbe { target, places, ring_bytes: 1 << 20, sleep_stacks: stacks, wake_stacks: stacks };
        drop(Tracing::start(&probe));
    }
}
