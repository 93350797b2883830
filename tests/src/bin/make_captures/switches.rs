//! Scheduler switches with the wake-ups before them.

use bathyscope_capture::{Append, ColumnType, EventProbe, Method, StreamKind, StreamSchema};

use crate::{Maker, Rows, START_NS, column, dice::Dice};

const CPUS: usize = 16;
const THREADS: u64 = 400;
/// Events of all CPUs are so far from each other, on average about twice that.
const PAUSE_NS: u64 = 2_000;
const PRIORITY: u64 = 120;
const SLEEPS: u64 = 1;

/// Each CPU runs a thread, or 0 when it idles; a thread is woken before it runs, unless another only took its turn.
pub(crate) struct Switches {
    dice: Dice,
    now_ns: u64,
    running: [u64; CPUS],
    /// The thread that was woken for a CPU and has not run yet; 0 for none.
    woken: [u64; CPUS],
}

impl Switches {
    pub(crate) fn new() -> Self {
        Self { dice: Dice::new(1), now_ns: START_NS, running: [0; CPUS], woken: [0; CPUS] }
    }
}

/// The thread's process: most have a few threads.
const fn pid(thread: u64) -> u64 {
    if thread == 0 { 0 } else { 900 + thread / 3 * 3 }
}

const fn tid(thread: u64) -> u64 {
    if thread == 0 { 0 } else { 900 + thread }
}

/// The id of its name; half as many names as threads.
const fn comm(thread: u64) -> u64 {
    thread / 2 + 1
}

impl Maker for Switches {
    fn method(&self) -> Method {
        let probe = |name: &str, fields: &[&str]| EventProbe {
            tracepoint: name.parse().unwrap_or_else(|_| unreachable!("a name of this file")),
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
            predicate: None,
        };
        let switch = probe("sched:sched_switch", &["prev_state", "next_comm", "next_pid"]);
        let wakeup = probe("sched:sched_wakeup", &["comm", "pid", "prio", "target_cpu"]);
        Method::Events { probes: vec![switch, wakeup] }
    }

    fn schemas(&self) -> Vec<StreamSchema> {
        let (number, text) = (ColumnType::I64, ColumnType::Text);
        let switch = [column("prev_state", number), column("next_comm", text), column("next_pid", number)];
        let wakeup = [("args.comm", text), ("args.pid", number), ("prio", number), ("target_cpu", number)];
        vec![
            StreamSchema::new("sched:sched_switch", StreamKind::Events, switch),
            StreamSchema::new("sched:sched_wakeup", StreamKind::Events, wakeup.map(|(name, ty)| column(name, ty))),
        ]
    }

    fn dictionaries(&self) -> Append {
        let names = (1..=comm(THREADS)).map(|id| {
            let id = u32::try_from(id).unwrap_or(0);
            (id, if id == 1 { b"swapper".to_vec() } else { format!("worker-{id}").into_bytes() })
        });
        Append { strings: names.collect(), ..Append::default() }
    }

    fn event(&mut self, streams: &mut [Rows]) -> u16 {
        self.now_ns += self.dice.length(PAUSE_NS);
        let cpu = self.dice.few(CPUS as u64) as usize % CPUS;
        let (before, woken) = (self.running[cpu], self.woken[cpu]);
        let [switch, wakeup] = streams else { return 0 };
        // Nobody waits for an idle CPU, or now and then for a busy one: somebody is woken.
        if woken == 0 && (before == 0 || self.dice.below(3) == 0) {
            let thread = 1 + self.dice.few(THREADS - 1);
            self.woken[cpu] = thread;
            let waker = self.running[self.dice.below(CPUS as u64) as usize];
            let own = [comm(thread), tid(thread), PRIORITY, cpu as u64];
            wakeup.push(&[
                self.now_ns,
                cpu as u64,
                pid(waker),
                tid(waker),
                comm(waker),
                own[0],
                own[1],
                own[2],
                own[3],
            ]);
            return 1;
        }
        let state = if before != 0 && (woken == 0 || self.dice.below(4) != 0) { SLEEPS } else { 0 };
        let next = std::mem::take(&mut self.woken[cpu]);
        self.running[cpu] = next;
        switch.push(&[self.now_ns, cpu as u64, pid(before), tid(before), comm(before), state, comm(next), tid(next)]);
        0
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }
}
