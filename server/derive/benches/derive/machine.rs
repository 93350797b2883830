//! Made-up switches and wake-ups that fit together, as the source *states* records them; for benchmarks.

use std::collections::{BinaryHeap, VecDeque};

pub(crate) const CPUS: u64 = 16;
pub(crate) const THREADS: u64 = 400;

/// Numbers that look random and are the same every time.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// Mostly around `middle`, now and then far more, as times of runs and sleeps are.
    pub(crate) fn around(&mut self, middle: u64) -> u64 {
        let factor = 1 << self.below(8);
        1 + middle * factor / 16 + self.below(middle)
    }
}

/// A machine: some threads are busy and often preempted, most sleep and are woken by others.
pub(crate) struct Machine {
    noise: Noise,
    /// What comes next: the time, and the CPU that switches, or the thread that is woken.
    events: BinaryHeap<std::cmp::Reverse<(u64, u64)>>,
    running: [u64; CPUS as usize],
    queues: Vec<VecDeque<u64>>,
    comms: Vec<u64>,
    states: [u64; 3],
    now: u64,
    /// Whether all threads do as much, or few of them do most.
    alike: bool,
}

/// In [`Machine::events`] threads come after the CPUs.
const FIRST_THREAD: u64 = CPUS;

impl Machine {
    /// `id` gives the number of a text. Nothing happens before `start_ns`.
    pub(crate) fn new(alike: bool, start_ns: u64, mut id: impl FnMut(&[u8]) -> u64) -> Self {
        let comms = (0..=THREADS).map(|tid| id(format!("worker-{}", tid % 40).as_bytes())).collect();
        let states = ["R", "S", "D"].map(|name| id(name.as_bytes()));
        let queues = vec![VecDeque::new(); CPUS as usize];
        let (noise, events, running) = (Noise(7), BinaryHeap::new(), [0; CPUS as usize]);
        let mut made = Self { noise, events, running, queues, comms, states, now: start_ns, alike };
        for tid in 1..=THREADS {
            let time = start_ns + made.noise.below(1_000_000);
            made.events.push(std::cmp::Reverse((time, FIRST_THREAD + tid)));
        }
        made
    }

    fn task(&self, tid: u64) -> [u64; 3] {
        if tid == 0 { [0, 0, self.comms[0]] } else { [1000 + tid / 4 * 4, 1000 + tid, self.comms[tid as usize]] }
    }

    /// The next event: into which stream (0 switches, 1 wake-ups), and its row.
    pub(crate) fn next_event(&mut self) -> Option<(u64, usize, Vec<u64>)> {
        while let Some(std::cmp::Reverse((time, what))) = self.events.pop() {
            // No two things happen at a time.
            let time = time.max(self.now + 1);
            self.now = time;
            if what > FIRST_THREAD {
                return Some((time, 1, self.wake(time, what - FIRST_THREAD)));
            }
            if let Some(row) = self.switch(time, what as usize) {
                return Some((time, 0, row));
            }
        }
        None
    }

    fn wake(&mut self, time: u64, tid: u64) -> Vec<u64> {
        let waker_cpu = self.noise.below(CPUS);
        // Mostly where it ran before.
        let target = if self.noise.below(8) == 0 { self.noise.below(CPUS) } else { tid % CPUS };
        self.queues[target as usize].push_back(tid);
        if self.running[target as usize] == 0 {
            let soon = time + self.noise.around(2000);
            self.events.push(std::cmp::Reverse((soon, target)));
        }
        let [pid, by, comm] = self.task(self.running[waker_cpu as usize]);
        let [wakee_pid, wakee, wakee_comm] = self.task(tid);
        vec![time, waker_cpu, pid, by, comm, wakee_pid, wakee, wakee_comm, target, 0]
    }

    fn switch(&mut self, time: u64, cpu: usize) -> Option<Vec<u64>> {
        let prev = self.running[cpu];
        let next = self.queues[cpu].pop_front().unwrap_or(0);
        if prev == next {
            return None;
        }
        let mut state = self.states[0];
        if prev != 0 {
            if self.noise.below(6) == 0 {
                self.queues[cpu].push_back(prev);
            } else {
                state = self.states[if self.noise.below(10) == 0 { 2 } else { 1 }];
                // The first threads sleep far shorter than the last.
                let rest = if self.alike { 200_000 } else { 2000 * prev * prev / 16 + 20_000 };
                let wake = time + self.noise.around(rest);
                self.events.push(std::cmp::Reverse((wake, FIRST_THREAD + prev)));
            }
        }
        self.running[cpu] = next;
        if next != 0 {
            let run = time + self.noise.around(10_000);
            self.events.push(std::cmp::Reverse((run, cpu as u64)));
        }
        let ([pid, tid, comm], [next_pid, next_tid, next_comm]) = (self.task(prev), self.task(next));
        Some(vec![time, cpu as u64, pid, tid, comm, state, next_pid, next_tid, next_comm])
    }
}
