//! Made calls of functions, in pages that look as ftrace writes them.

use crate::engine::ProcessReports;
use std::{collections::VecDeque, os::fd::OwnedFd};

use bathyscope_capture::TraceSpec;
use bathyscope_protocol::{
    AgentError, AgentErrorKind, ProbeReading, RingContent, RingInfo, RingKind, StreamLayout, TraceFacts, TraceFormat,
};
use rustix::pipe::{PipeFlags, pipe_with};

use super::{
    MadeTarget,
    engine::{SimulatedEngine, Work},
    events::{CPUS, NS_PER_HIT},
    host::no_such_tracepoint,
    options::Simulation,
    records::{self, Moment},
    sideband::SimulatedSideband,
    world::{
        self, Draw, FUNCTION_BYTES, KERNEL_ADDRESS, KERNEL_FUNCTIONS, MadeField, MadeProcess, MadeTracepoint,
        MadeValue, PROCESSES,
    },
};
use crate::error::{failed, refused};

/// Bytes of a page, and of those its head.
const PAGE: usize = 4096;
const HEAD: usize = 16;
/// A page's head says with these that events were lost before it, and that their number follows its data.
const MISSED: u64 = 1 << 31 | 1 << 30;
/// The longest time between two events that fits into the word before a record.
const MAX_DELTA: u64 = 1 << 27;
/// Numbers of the events for calls.
const ENTRY: u16 = 101;
const EXIT: u16 = 102;
/// Calls of a tree, about.
const CALLS: u64 = 8;

const fn number(name: &'static str, declaration: &'static str, offset: u32, size: u32) -> MadeField {
    MadeField { name, declaration, offset, size, signed: false, make: |_, _| MadeValue::Unsigned(0) }
}

const FUNCTION: MadeField = number("func", "unsigned long func", 8, 8);
const DEPTH: MadeField = MadeField { signed: true, ..number("depth", "int depth", 16, 4) };

/// The tracer's own events.
const OWN: [(u16, MadeTracepoint); 2] = [
    (ENTRY, MadeTracepoint { system: "ftrace", name: "funcgraph_entry", fields: &[FUNCTION, DEPTH] }),
    (
        EXIT,
        MadeTracepoint {
            system: "ftrace",
            name: "funcgraph_exit",
            fields: &[
                FUNCTION,
                DEPTH,
                number("overrun", "unsigned int overrun", 20, 4),
                number("calltime", "unsigned long long calltime", 24, 8),
                number("rettime", "unsigned long long rettime", 32, 8),
            ],
        },
    ),
];

pub(super) const HEADER_PAGE: &str = "\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
";
pub(super) const HEADER_EVENT: &str = "\
# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
";

/// The format of an event of the tracer's own.
pub(super) fn own_format(name: &str) -> Option<String> {
    let (number, made) = OWN.iter().find(|(_, made)| made.name == name)?;
    Some(made.format(usize::from(*number)))
}

/// A function and what it calls, in order.
struct CallTree(&'static str, &'static [CallTree]);

const COPY: CallTree = CallTree("copy_user_generic", &[]);
const READ: CallTree = CallTree("do_syscall_64", &[CallTree("ksys_read", &[CallTree("vfs_read", &[COPY])])]);
const WRITE: CallTree =
    CallTree("do_syscall_64", &[CallTree("ksys_write", &[CallTree("vfs_write", &[COPY, COPY, COPY])])]);
const WAIT: CallTree = CallTree("do_syscall_64", &[CallTree("ksys_read", &[CallTree("vfs_read", &[SCHEDULE, COPY])])]);
const SCHEDULE: CallTree = CallTree("schedule", &[]);
const INTERRUPT: CallTree = CallTree("common_interrupt", &[CallTree("handle_irq_event", &[])]);
const TREES: [&CallTree; 5] = [&READ, &WRITE, &READ, &WRITE, &WAIT];
/// Interrupts and their handlers.
const IRQS: [(u32, &[u8]); 3] = [(24, b"eth0"), (25, b"nvme0q1"), (1, b"i8042")];

/// An event that was made and is not yet written.
struct PendingRecord {
    time_ns: u64,
    record: Vec<u8>,
}

/// A CPU's buffer: a pipe that keeps the borders of pages.
struct CpuBuffer {
    read: OwnedFd,
    write: OwnedFd,
    waiting: VecDeque<PendingRecord>,
    missed: u64,
}

/// Makes the engine of a trace.
pub(crate) fn start(
    simulation: &Simulation,
    wanted: &TraceSpec,
    target: &MadeTarget,
    reports: ProcessReports,
) -> Result<SimulatedEngine, AgentError> {
    SimulatedEngine::new(TraceWork::make(simulation, wanted, target, reports)?, target)
}

/// A capture of made calls.
pub(super) struct TraceWork {
    simulation: Simulation,
    wanted: TraceSpec,
    events: Vec<(u16, &'static MadeTracepoint)>,
    target: MadeTarget,
    processes: Vec<&'static MadeProcess>,
    cpus: Vec<CpuBuffer>,
    sideband: SimulatedSideband,
    trees: u64,
    records: u64,
    counts: ProbeReading,
}

impl TraceWork {
    fn make(
        simulation: &Simulation,
        wanted: &TraceSpec,
        target: &MadeTarget,
        reports: ProcessReports,
    ) -> Result<Self, AgentError> {
        if !matches!(wanted.tracer.as_deref(), None | Some("function_graph")) || !wanted.dynamic.is_empty() {
            let why = "the simulated kernel has only the tracer function_graph, and no dynamic events";
            let remedy = "Record calls, events or a profile, or start without --simulate.";
            return Err(failed(AgentErrorKind::Unsupported, "making a trace", why, remedy));
        }
        let trouble = |error: std::io::Error| refused("making a simulated trace", &error, "");
        let mut events = Vec::new();
        for event in &wanted.events {
            let name = &event.event;
            let found = world::tracepoint(name.system(), name.name());
            let (number, made) = found.ok_or_else(|| no_such_tracepoint(&name.to_string()))?;
            events.push((u16::try_from(number).unwrap_or(u16::MAX), made));
        }
        let flags = PipeFlags::DIRECT | PipeFlags::NONBLOCK | PipeFlags::CLOEXEC;
        let cpu = |_cpu| {
            let (read, write) = pipe_with(flags).map_err(|errno| trouble(errno.into()))?;
            rustix::pipe::fcntl_setpipe_size(&write, 1 << 20).map_err(|errno| trouble(errno.into()))?;
            Ok(CpuBuffer { read, write, waiting: VecDeque::new(), missed: 0 })
        };
        Ok(Self {
            simulation: simulation.clone(),
            wanted: wanted.clone(),
            events,
            processes: PROCESSES.iter().filter(|process| target.includes(process.pid)).collect(),
            target: target.clone(),
            cpus: (0..CPUS).map(cpu).collect::<Result<_, AgentError>>()?,
            sideband: SimulatedSideband::open(reports).map_err(trouble)?,
            trees: 0,
            records: 0,
            counts: ProbeReading { ns_per_hit: Some(NS_PER_HIT), ..ProbeReading::default() },
        })
    }

    /// How far the beginnings of two trees are apart, of which every other is on the same CPU.
    fn slot_ns(&self) -> u64 {
        1_000_000_000 * CALLS / self.simulation.rate_per_s.max(1)
    }

    fn tree(&mut self, start_ns: u64) {
        let draw = Draw::of(self.simulation.seed, 77, self.trees);
        let cpu = (self.trees % u64::from(CPUS)) as usize;
        self.trees += 1;
        // A thread is on one CPU at a time.
        let on_cpu = |tid: &u32| u64::from(*tid) % u64::from(CPUS) == cpu as u64;
        let tids = self.processes.iter().flat_map(|process| process.threads.iter().copied().filter(on_cpu));
        let tids: Vec<u32> = tids.collect();
        let Some(tid) = draw.one_of(1, &tids) else { return };
        let mut tree =
            Tree { draw, tid, now_ns: 0, drawn: 10, events: Vec::new(), irq: self.irq_event(), roots: Vec::new() };
        if self.wanted.tracer.is_some() {
            tree.roots = self.wanted.graph_roots.clone();
            let depth = if tree.roots.is_empty() { Some(0) } else { None };
            tree.call(draw.one_of(3, &TREES).unwrap_or(&READ), depth, self.wanted.max_depth.unwrap_or(u32::MAX));
        }
        // It must end before the next one on this CPU begins.
        let room_ns = self.slot_ns() * u64::from(CPUS) * 4 / 5;
        let end_ns = tree.now_ns.max(1);
        let scaled = |time: u64| {
            if end_ns <= room_ns { time } else { (u128::from(time) * u128::from(room_ns) / u128::from(end_ns)) as u64 }
        };
        // What began before the recording has no entry in it.
        let was_open = self.trees <= u64::from(CPUS);
        let made = tree.events.into_iter().skip(if was_open { 2 } else { 0 }).map(|event| {
            let time_ns = start_ns + scaled(event.time_ns);
            PendingRecord { time_ns, record: event.record(start_ns, &scaled) }
        });
        if let Some(cpu) = self.cpus.get_mut(cpu) {
            cpu.waiting.extend(made);
        }
    }

    fn irq_event(&self) -> Option<u16> {
        self.events.iter().find(|(_, made)| made.name == "irq_handler_entry").map(|(number, _)| *number)
    }

    /// Writes what has happened by now.
    fn write(&mut self, now_ns: u64) {
        for cpu in &mut self.cpus {
            while let Some(first) = cpu.waiting.front().filter(|first| first.time_ns <= now_ns) {
                let mut page = PageWriter::new(first.time_ns);
                while let Some(next) =
                    cpu.waiting.pop_front_if(|next| next.time_ns <= now_ns && page.has_room(&next.record))
                {
                    self.counts.hits += 1;
                    self.records += 1;
                    let lose = self.simulation.lose_every.is_some_and(|every| self.records.is_multiple_of(every));
                    if lose {
                        self.counts.ring_full += 1;
                        cpu.missed += 1;
                    } else {
                        page.push(&next);
                    }
                }
                let missed = if self.wanted.overwrite { std::mem::take(&mut cpu.missed) } else { 0 };
                let (events, bytes) = page.finish(missed);
                if events > 0 && rustix::io::write(&cpu.write, &bytes).is_err() {
                    // It is full.
                    self.counts.ring_full += events;
                    cpu.missed += missed + events;
                }
            }
        }
    }
}

/// An event of a tree; its time counts from the tree's beginning.
struct TreeEvent {
    time_ns: u64,
    tid: u32,
    what: What,
}

enum What {
    Enter { function: u64, depth: u32 },
    Leave { function: u64, depth: u32, entered_ns: u64 },
    Irq { number: u16, irq: u32, name: &'static [u8] },
}

impl TreeEvent {
    fn record(&self, start_ns: u64, scaled: &impl Fn(u64) -> u64) -> Vec<u8> {
        let common = |number: u16| [number.to_le_bytes().as_slice(), &[0, 0], &self.tid.to_le_bytes()].concat();
        match self.what {
            What::Enter { function, depth } => {
                [common(ENTRY), function.to_le_bytes().to_vec(), depth.to_le_bytes().to_vec()].concat()
            }
            What::Leave { function, depth, entered_ns } => {
                let mut record = [common(EXIT), function.to_le_bytes().to_vec(), depth.to_le_bytes().to_vec()].concat();
                record.extend([0; 4]);
                record.extend((start_ns + scaled(entered_ns)).to_le_bytes());
                record.extend((start_ns + scaled(self.time_ns)).to_le_bytes());
                record
            }
            What::Irq { number, irq, name } => {
                let mut record = [common(number), irq.to_le_bytes().to_vec()].concat();
                // The text's place, and its length in the upper half.
                record.extend((16 | (name.len() as u32 + 1) << 16).to_le_bytes());
                record.extend(name);
                record.push(0);
                record.resize(record.len().next_multiple_of(4), 0);
                record
            }
        }
    }
}

struct Tree {
    draw: Draw,
    tid: u32,
    now_ns: u64,
    drawn: u64,
    events: Vec<TreeEvent>,
    irq: Option<u16>,
    roots: Vec<String>,
}

impl Tree {
    fn pass(&mut self, least: u64, more: u64) {
        self.drawn += 1;
        self.now_ns += least + self.draw.below(self.drawn, more);
    }

    fn happens(&mut self, one_in: u64) -> bool {
        self.drawn += 1;
        self.draw.below(self.drawn, one_in) == 0
    }

    /// Goes through a call. Without a depth it is not recorded, unless the graph begins with it.
    fn call(&mut self, CallTree(name, inner): &CallTree, depth: Option<u32>, most: u32) {
        let depth = depth.or_else(|| self.roots.iter().any(|root| root == name).then_some(0));
        let recorded = depth.filter(|depth| *depth < most);
        let index = (0_u64..).zip(KERNEL_FUNCTIONS).find(|(_, known)| known == name).map_or(0, |(index, _)| index);
        // The kernel's address is that of the call to the tracer.
        let function = KERNEL_ADDRESS + index * FUNCTION_BYTES + 4;
        let entered_ns = self.now_ns;
        let push = |tree: &mut Self, what| tree.events.push(TreeEvent { time_ns: tree.now_ns, tid: tree.tid, what });
        if let Some(depth) = recorded {
            push(self, What::Enter { function, depth });
        }
        self.pass(150, 900);
        if *name == "handle_irq_event"
            && let Some(number) = self.irq
        {
            self.drawn += 1;
            let (irq, handler) = self.draw.one_of(self.drawn, &IRQS).unwrap_or((0, b""));
            push(self, What::Irq { number, irq, name: handler });
            // One of them is slower.
            self.pass(500, if irq == 25 { 60_000 } else { 4_000 });
        }
        if *name == "schedule" {
            self.pass(20_000, 2_000_000);
        }
        let below = depth.map(|depth| depth + 1);
        for shape in *inner {
            self.call(shape, below, most);
            self.pass(40, 300);
        }
        if *name == "copy_user_generic" && self.happens(6) {
            self.call(&INTERRUPT, below, most);
            self.pass(40, 300);
        }
        if *name == "vfs_write" && self.happens(20) {
            self.pass(10_000, 300_000);
        }
        if let Some(depth) = recorded {
            push(self, What::Leave { function, depth, entered_ns });
        }
        self.pass(10, 20);
    }
}

/// A page that is being written.
struct PageWriter {
    bytes: Vec<u8>,
    last_ns: u64,
    events: u64,
}

impl PageWriter {
    fn new(time_ns: u64) -> Self {
        let mut bytes = time_ns.to_le_bytes().to_vec();
        bytes.resize(HEAD, 0);
        Self { bytes, last_ns: time_ns, events: 0 }
    }

    /// With a longer time before the record, and the number of lost events behind all.
    fn has_room(&self, record: &[u8]) -> bool {
        self.bytes.len() + 8 + 4 + record.len() + 8 <= PAGE
    }

    fn push(&mut self, next: &PendingRecord) {
        let delta = next.time_ns.saturating_sub(self.last_ns);
        if delta >= MAX_DELTA {
            let low = (delta % MAX_DELTA) as u32;
            self.bytes.extend((30 | low << 5).to_le_bytes());
            self.bytes.extend(((delta / MAX_DELTA) as u32).to_le_bytes());
        }
        let delta = if delta >= MAX_DELTA { 0 } else { delta as u32 };
        self.bytes.extend(((next.record.len() / 4) as u32 | delta << 5).to_le_bytes());
        self.bytes.extend(&next.record);
        (self.last_ns, self.events) = (next.time_ns, self.events + 1);
    }

    fn finish(mut self, missed: u64) -> (u64, Vec<u8>) {
        let length = (self.bytes.len() - HEAD) as u64;
        let commit = if missed > 0 { length | MISSED } else { length };
        let place = self.bytes.iter_mut().skip(8);
        place.zip(commit.to_le_bytes()).for_each(|(to, from)| *to = from);
        if missed > 0 {
            self.bytes.extend(missed.to_le_bytes());
        }
        (self.events, self.bytes)
    }
}

impl Work for TraceWork {
    fn layouts(&self) -> Vec<StreamLayout> {
        vec![StreamLayout::TracePages]
    }

    fn facts(&self) -> Option<TraceFacts> {
        let asked = self.events.iter().map(|(id, made)| TraceFormat {
            id: *id,
            group: made.system.to_owned(),
            name: made.name.to_owned(),
            label: format!("{}:{}", made.system, made.name),
            dynamic: None,
        });
        let own = OWN.iter().map(|(id, made)| TraceFormat {
            id: *id,
            group: made.system.to_owned(),
            name: made.name.to_owned(),
            label: format!("{}:{}", made.system, made.name),
            dynamic: None,
        });
        let events = asked.chain(own).collect();
        Some(TraceFacts {
            clock: "mono".to_owned(),
            clock_ahead_ns: 0,
            instance: "instances/simulated".to_owned(),
            events,
        })
    }

    fn rings(&self) -> Vec<RingInfo> {
        let kind = RingKind::TracePipe { page_bytes: PAGE as u32 };
        let cpu = |cpu| RingInfo { kind, content: RingContent::TracePages, data_bytes: 1 << 20, cpu: Some(cpu) };
        (0..CPUS).map(cpu).chain(self.sideband.infos()).collect()
    }

    fn descriptors(&self) -> std::io::Result<Vec<OwnedFd>> {
        let cpus = self.cpus.iter().map(|cpu| cpu.read.try_clone());
        cpus.chain(self.sideband.descriptors()).collect()
    }

    fn make_until(&mut self, start_ns: u64, now_ns: u64) -> Vec<ProbeReading> {
        if self.trees == 0
            && let Some(process) = self.target.executes().and_then(world::process)
        {
            let at = Moment { pid: process.pid, tid: process.pid, time_ns: start_ns, cpu: 0 };
            self.sideband.push(&records::comm(at, process.comm, true));
        }
        while start_ns + self.trees * self.slot_ns() <= now_ns {
            self.tree(start_ns + self.trees * self.slot_ns());
        }
        self.write(now_ns);
        vec![self.counts.clone()]
    }
}
