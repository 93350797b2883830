//! Makes a schedule of threads on CPUs as a kernel could have it, with the events that it records, and knows what was true.

use std::collections::BTreeMap;

use bathyscope_capture::{ProcessChange, ProcessChangeKind};

use crate::fixture::{Event, OnCpu, State, Told, What, event, who};

/// Numbers that look random and are the same every time.
pub(crate) struct Noise(pub u64);

impl Noise {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(self.below(all.len() as u64) as usize).copied()
    }
}

/// What a thread really does.
#[derive(Clone, Debug, Default)]
struct Real {
    state: &'static str,
    since: u64,
    cpu: u32,
    waker: Option<u32>,
    /// It is in this state from before the capture.
    from_before: bool,
    /// A wake-up is on its way since it left its CPU; the event of its arrival on this CPU is still to come.
    in_flight: bool,
    /// It was woken so, and only that it runs tells it.
    needs_run: bool,
    /// Its wake-up was its first event, so it may have been running on a CPU without events.
    is_first: bool,
}

/// A schedule with its events and its truth.
pub(crate) struct Schedule {
    noise: Noise,
    pub(crate) start: u64,
    pub(crate) now: u64,
    cpus: Vec<u32>,
    cpu_since: Vec<u64>,
    touched: Vec<bool>,
    threads: BTreeMap<u32, Real>,
    pub(crate) events: Vec<Event>,
    pub(crate) changes: Vec<ProcessChange>,
    pub(crate) truth: Told,
}

const BLOCKED: [(&str, &str); 4] = [("S", "sleeping"), ("D", "uninterruptible"), ("T", "stopped"), ("I", "idle")];

impl Schedule {
    /// A schedule of so many events on some CPUs with some threads to begin with.
    pub(crate) fn new(seed: u64, cpus: u32, threads: u32, events: usize) -> Self {
        let start = 1000;
        let places = cpus as usize;
        let mut made = Self {
            noise: Noise(seed),
            start,
            now: start,
            cpus: vec![0; places],
            cpu_since: vec![start; places],
            touched: vec![false; places],
            threads: BTreeMap::new(),
            events: Vec::new(),
            changes: Vec::new(),
            truth: Told::default(),
        };
        for tid in 1..=threads {
            made.begin_with(tid);
        }
        // Where all threads have ended, nothing happens any more.
        for _ in 0..20 * events {
            if made.events.len() < events {
                made.step();
            }
        }
        made.finish();
        made
    }

    /// A thread that exists when the capture begins.
    fn begin_with(&mut self, tid: u32) {
        let idle = self.cpus.iter().position(|running| *running == 0);
        let (state, cpu) = match (self.noise.below(3), idle) {
            (0, Some(cpu)) => ("running", cpu as u32),
            (1, _) => ("runnable", 0),
            _ => ("sleeping", 0),
        };
        if state == "running" {
            self.cpus[cpu as usize] = tid;
        }
        let real = Real { state, since: self.start, cpu, waker: None, from_before: true, ..Real::default() };
        self.threads.insert(tid, real);
        let comm = 0;
        self.changes.push(ProcessChange {
            time_ns: 0,
            pid: who(tid).pid,
            tid,
            kind: ProcessChangeKind::Existing { comm },
        });
    }

    fn tick(&mut self) {
        self.now += 1 + self.noise.below(50);
    }

    fn record(&mut self, cpu: u32, what: What) {
        self.tick();
        // One form does not record it, and then nothing tells what this CPU runs.
        if matches!(what, What::Wakeup(..) | What::Exit) && !self.touched[cpu as usize] {
            return;
        }
        let current = self.cpus[cpu as usize];
        self.touched[cpu as usize] = true;
        self.events.push(event(self.now, cpu, current, what));
    }

    /// The state of a thread changes now.
    fn change(&mut self, tid: u32, state: &'static str, cpu: u32, waker: Option<u32>) {
        let now = self.now;
        let is_first = state == "runnable" && self.threads.get(&tid).is_some_and(|before| before.from_before);
        let next = Real { state, since: now, cpu, waker, is_first, ..Real::default() };
        let before = self.threads.insert(tid, next);
        if let Some(before) = before {
            self.tell(tid, &before, now, "");
        }
    }

    /// Whether the rule can know what a thread did.
    fn is_told(&self, real: &Real, at_end: bool) -> bool {
        match (real.from_before, real.state) {
            (false, _) => !(at_end && real.is_first),
            (true, "running") => !at_end || self.touched[real.cpu as usize],
            (true, "runnable") => !at_end,
            _ => false,
        }
    }

    fn tell(&mut self, tid: u32, real: &Real, end: u64, ending: &str) {
        if real.state == "dead" || !self.is_told(real, ending == "end") {
            return;
        }
        let begin = if real.from_before || real.is_first { "begin" } else { "" };
        let unknown = [begin, ending].iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(", ");
        // Where a thread waited from before is not known; it is said to have been where it then ran.
        let (state, start) = (real.state.to_owned(), real.since);
        let waker = if real.state == "runnable" { real.waker.unwrap_or(0) } else { 0 };
        self.truth.states.push(State { tid, start, end, state, cpu: real.cpu, waker, unknown });
    }

    fn in_state(&self, fits: impl Fn(&Real) -> bool) -> Vec<u32> {
        self.threads.iter().filter(|(_, real)| fits(real)).map(|(tid, _)| *tid).collect()
    }

    fn step(&mut self) {
        let cpu = self.noise.below(self.cpus.len() as u64) as u32;
        let current = self.cpus[cpu as usize];
        match self.noise.below(20) {
            0..=6 => self.wake(cpu),
            7 if current != 0 => self.fork(cpu),
            8 if current != 0 => self.wake_running(cpu),
            9 if current != 0 => self.record(cpu, What::Exit),
            10 if current != 0 => self.in_flight(cpu),
            _ => self.switch(cpu, None, None),
        }
        self.arrive();
    }

    /// What runs on a CPU, or an interrupt there, wakes a thread.
    fn wake(&mut self, cpu: u32) {
        let blocked = self.in_state(|real| !["running", "runnable", "preempted", "dead"].contains(&real.state));
        let Some(wakee) = self.noise.of(&blocked) else { return };
        let target = self.noise.below(self.cpus.len() as u64) as u32;
        self.record(cpu, What::Waking(who(wakee), target));
        self.change(wakee, "runnable", target, Some(self.cpus[cpu as usize]));
        self.record(target, What::Wakeup(who(wakee), target));
    }

    fn wake_running(&mut self, cpu: u32) {
        let running = self.in_state(|real| real.state == "running" || real.state == "preempted");
        let Some(wakee) = self.noise.of(&running) else { return };
        self.record(cpu, What::Waking(who(wakee), cpu));
        self.record(cpu, What::Wakeup(who(wakee), cpu));
    }

    /// A thread is woken while it is on its way off its CPU.
    fn in_flight(&mut self, waker_cpu: u32) {
        let (waker, cpu) = (self.cpus[waker_cpu as usize], self.noise.below(self.cpus.len() as u64) as u32);
        let wakee = self.cpus[cpu as usize];
        if wakee == 0 || cpu == waker_cpu {
            return;
        }
        self.record(waker_cpu, What::Waking(who(wakee), cpu));
        self.switch(cpu, Some("S"), None);
        let real = self.threads.get_mut(&wakee).unwrap();
        (real.state, real.waker) = ("runnable", Some(waker));
        (real.in_flight, real.needs_run) = (true, true);
    }

    /// Wake-ups that are on their way arrive.
    fn arrive(&mut self) {
        for wakee in self.in_state(|real| real.in_flight) {
            let cpu = self.threads[&wakee].cpu;
            self.record(cpu, What::Wakeup(who(wakee), cpu));
            self.threads.get_mut(&wakee).unwrap().in_flight = false;
        }
    }

    fn fork(&mut self, cpu: u32) {
        let dead = self.in_state(|real| real.state == "dead");
        // The number of one that has ended may be used again.
        let unused = self.threads.keys().max().unwrap() + 1;
        let child = if self.noise.below(2) == 0 { self.noise.of(&dead).unwrap_or(unused) } else { unused };
        let target = self.noise.below(self.cpus.len() as u64) as u32;
        self.tick();
        let kind = ProcessChangeKind::Fork { parent_pid: 1 };
        self.changes.push(ProcessChange { time_ns: self.now, pid: who(child).pid, tid: child, kind });
        self.record(cpu, What::New(who(child), target));
        self.change(child, "runnable", target, Some(self.cpus[cpu as usize]));
    }

    fn switch(&mut self, cpu: u32, state: Option<&'static str>, next: Option<u32>) {
        let place = cpu as usize;
        let current = self.cpus[place];
        let waiting = self.in_state(|real| real.state == "runnable" || real.state == "preempted");
        let any = if self.noise.below(4) == 0 { 0 } else { self.noise.of(&waiting).unwrap_or(0) };
        let next = next.unwrap_or(any);
        if next == current {
            return;
        }
        let any = ["S", "D", "T", "I", "R", "R+", "R+", "Z", "X"];
        let state = if current == 0 { "R" } else { state.unwrap_or(self.noise.of(&any).unwrap()) };
        self.record(cpu, What::Switch(state, who(next), 0));
        let begin = if self.cpu_since[place] == self.start { "begin" } else { "" };
        let (start, end) = (self.cpu_since[place], self.now);
        let (told, unknown) = (state.to_owned(), begin.to_owned());
        self.truth.occupation.push(OnCpu { cpu, start, end, tid: current, told, unknown });
        if current != 0 {
            self.leave(current, cpu, state);
        }
        if next != 0 {
            self.enter(next, cpu);
        }
        (self.cpus[place], self.cpu_since[place]) = (next, self.now);
    }

    fn leave(&mut self, tid: u32, cpu: u32, state: &'static str) {
        let now = self.now;
        match BLOCKED.iter().find(|(name, _)| *name == state) {
            Some((_, word)) => self.change(tid, word, cpu, None),
            None if state.starts_with('R') => self.change(tid, "preempted", cpu, None),
            None => {
                self.change(tid, "dead", cpu, None);
                let (state, unknown) = ("dead".to_owned(), String::new());
                self.truth.states.push(State { tid, start: now, end: now, state, cpu, waker: 0, unknown });
            }
        }
    }

    fn enter(&mut self, tid: u32, cpu: u32) {
        let before = self.threads.get_mut(&tid).unwrap();
        if before.from_before {
            before.cpu = cpu;
        }
        if let (Some(waker), "runnable") = (before.waker, before.state) {
            let (start, end) = (before.since, self.now);
            let (told, unknown) = (waker.to_string(), if before.is_first { "begin" } else { "" }.to_owned());
            self.truth.latencies.push(OnCpu { cpu, start, end, tid, told, unknown });
        }
        self.change(tid, "running", cpu, None);
    }

    fn finish(&mut self) {
        for tid in self.in_state(|real| real.needs_run) {
            self.switch(0, Some("R"), Some(tid));
        }
        self.tick();
        let end = self.now;
        for (tid, real) in self.threads.clone() {
            self.tell(tid, &real, end, "end");
        }
        for place in 0..self.cpus.len() {
            let (start, tid, cpu) = (self.cpu_since[place], self.cpus[place], place as u32);
            if self.touched[place] {
                let unknown = if start == self.start { "begin, end" } else { "end" }.to_owned();
                self.truth.occupation.push(OnCpu { cpu, start, end, tid, told: String::new(), unknown });
            }
        }
        self.truth.states.sort();
        self.truth.occupation.sort();
        self.truth.latencies.sort();
    }
}
