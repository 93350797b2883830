//! A script that is loaded, and runs once it is enabled.

use std::{
    io::Read as _,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use bathyscope_plan::{COUNTER_WORDS, COUNTERS, KERNEL_STACKS, RING, USER_STACKS};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, ProbeFailure, ProbeReading, ScriptEnabled, ScriptStarted, SourceReadings, StartedSource,
};

use super::{
    attach::{Link, attach_all},
    content::{self, Content},
    detach::{self, Progress, run_all},
    failures,
    object::Object,
    points::{PreparedScript, ScriptAttachment},
    unwind::Mapped,
};
use crate::{
    clock::elapsed_ns,
    engine::{Elements, Engine, EngineError, ScriptMaps},
    error::{failed, refused},
    guard::{SECOND_STAGE, SharedBudget, check_stage},
    kernel::{
        retire::{close_links, drop_aside},
        stats::{CostMeter, Guarded, cpu_permille_now},
    },
    os::{
        bpf::{self, links, maps, programs},
        sideband::Sideband,
    },
};

/// A script's programs and maps in the kernel.
#[derive(Debug)]
pub(crate) struct ScriptEngine {
    started: StartedSource,
    script: ScriptStarted,
    text: String,
    prepared: PreparedScript,
    following: Vec<ScriptAttachment>,
    object: Object,
    contents: Vec<Content>,
    /// Where it shows addresses of user space.
    pub(super) sideband: Option<Sideband>,
    links: Arc<Mutex<Vec<Link>>>,
    budget: SharedBudget,
    cost: Option<CostMeter>,
    /// By program: what was read last.
    last: Vec<ProbeReading>,
    /// By program: what its links did not deliver, as read last.
    link_missed: Vec<u64>,
    progress: Arc<Progress>,
    /// The files with unwind tables.
    pub(super) mapped: Vec<Mapped>,
}

impl ScriptEngine {
    pub(super) fn new(
        (started, script): (StartedSource, ScriptStarted),
        text: &str,
        prepared: PreparedScript,
        following: Vec<ScriptAttachment>,
        object: Object,
        contents: Vec<Content>,
    ) -> Self {
        let last = vec![ProbeReading::default(); script.plan.programs.len()];
        Self {
            started,
            script,
            text: text.to_owned(),
            prepared,
            following,
            object,
            contents,
            sideband: None,
            links: Arc::default(),
            budget: SharedBudget::default(),
            cost: None,
            link_missed: vec![0; last.len()],
            last,
            progress: Arc::default(),
            mapped: Vec::new(),
        }
    }

    fn content(&self, map: usize) -> Result<&Content, AgentError> {
        let missing = || failed(AgentErrorKind::Internal, "reading a map", "there is no such map", "");
        self.contents.get(map).ok_or_else(missing)
    }

    fn doing(&self, probe: u32) -> String {
        let probe = self.script.plan.probes.get(probe as usize);
        let name = probe.map_or("a probe", |probe| probe.name.as_str());
        format!("attaching to {}", bathyscope_capture::visible(name.as_bytes()))
    }

    fn attach(&mut self) -> Result<(usize, Vec<ProbeFailure>), EngineError> {
        let follow = attach_all(&self.following, &|_none| "following child processes".to_owned(), &mut |_| Ok(()));
        hold(&self.links, follow.links);
        if let Some(failure) = follow.failed.into_iter().next() {
            return Err(failure.error.into());
        }
        let all = self.prepared.attachments.iter().map(|attachment| attachment.probes.len()).sum();
        let programs = if self.budget.detach && all > SECOND_STAGE { self.programs() } else { None };
        let mut check = |points| match &programs {
            Some(programs) => check_stage(*self.budget, cpu_permille_now(programs).unwrap_or(0.0), points, all),
            None => Ok(()),
        };
        let attached = attach_all(&self.prepared.attachments, &|probe| self.doing(probe), &mut check);
        hold(&self.links, attached.links);
        if let Some(error) = attached.too_dear {
            return Err(error.into());
        }
        let by_hand = self.prepared.begin.len()
            + self.prepared.end.len()
            + self.prepared.signals.len()
            + self.prepared.iterators.len();
        let points = attached.points + by_hand;
        let failed = failures::judge(&self.script.plan, &self.text, attached.failed, points)?;
        Ok((points, failed))
    }

    /// All programs; none if there are too many open files.
    fn programs(&self) -> Option<Vec<OwnedFd>> {
        self.prepared.loaded.iter().flatten().map(|program| program.try_clone().ok()).collect()
    }

    /// Begins to measure and to guard. Fewer rows would not make a script cheaper, nor leave what it counts right: it is
    /// detached or not.
    fn measure(&mut self) {
        let Some(programs) = self.programs() else { return };
        let links = Arc::clone(&self.links);
        let mut guarded = Guarded::whole(self.budget.clone(), move || close_links(take(&links)));
        if let Some(ring) = self.object.map(RING) {
            guarded = guarded.writing_into(ring.fd.as_fd());
        }
        self.cost = Some(CostMeter::start(programs, guarded));
    }

    /// Reads what links at functions of the kernel did not deliver, as long as there are any.
    fn read_missed(&mut self) {
        let held = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let counting = held.iter().filter_map(|link| Some((link.counts_missed?, links::missed(link.fd.as_fd()).ok()?)));
        let counted: Vec<(u32, u64)> = counting.collect();
        drop(held);
        if counted.is_empty() {
            return;
        }
        self.link_missed.fill(0);
        for (probe, missed) in counted {
            let program =
                self.script.plan.probes.get(probe as usize).map_or(usize::MAX, |probe| probe.program as usize);
            if let Some(sum) = self.link_missed.get_mut(program) {
                *sum += missed;
            }
        }
    }

    /// Reads the counters of all programs; those of a map that cannot be read stay as they were.
    fn read_counters(&mut self) {
        self.read_missed();
        let words = COUNTER_WORDS as usize;
        let mut value = vec![0_u8; 8 * words * self.script.cpus as usize];
        let mut measured = 0;
        for (index, (reading, loaded)) in self.last.iter_mut().zip(&self.prepared.loaded).enumerate() {
            let key = u32::try_from(index).unwrap_or(u32::MAX).to_ne_bytes();
            if let Some(map) = self.object.map(COUNTERS) {
                // SAFETY: an array's key has 4 bytes; that the values have these words was checked at the start, and there
                // is room for one of each possible CPU.
                if let Ok(true) = unsafe { maps::lookup(map.fd.as_fd(), &key, &mut value) } {
                    count(reading, &value, words);
                }
            }
            let missed = |program: &Arc<OwnedFd>| bpf::program_stats(program.as_fd()).unwrap_or_default().missed;
            let by_links = self.link_missed.get(index).copied().unwrap_or(0);
            reading.missed = loaded.iter().map(missed).sum::<u64>() + by_links;
            let costs = measured..measured + loaded.len();
            measured = costs.end;
            let cost =
                self.cost.as_ref().and_then(|cost| costs.filter_map(|one| cost.ns_per_hit(one)).reduce(f64::max));
            reading.ns_per_hit = cost.or(reading.ns_per_hit);
        }
    }

    fn disable(&mut self) {
        if let Some(cost) = &mut self.cost {
            cost.end();
        }
        if let Some(sideband) = &mut self.sideband {
            sideband.disable();
        }
    }
}

fn hold(held: &Mutex<Vec<Link>>, links: Vec<Link>) {
    held.lock().unwrap_or_else(PoisonError::into_inner).extend(links);
}

fn take(held: &Mutex<Vec<Link>>) -> Vec<OwnedFd> {
    let links = std::mem::take(&mut *held.lock().unwrap_or_else(PoisonError::into_inner));
    links.into_iter().map(|link| link.fd).collect()
}

/// Sums the counters of all CPUs, in the order that the plan tells.
fn count(reading: &mut ProbeReading, value: &[u8], words: usize) {
    let mut sums = [0_u64; COUNTER_WORDS as usize];
    let numbers = value.chunks_exact(8).filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?)));
    for (at, number) in numbers.enumerate() {
        if let Some(sum) = sums.get_mut(at % words.max(1)) {
            *sum = sum.wrapping_add(number);
        }
    }
    let ran;
    [
        ran,
        reading.filtered,
        reading.ring_full,
        reading.map_full,
        reading.helper_failed,
        reading.stacks_failed,
        reading.nested,
    ] = sums;
    reading.hits = ran.wrapping_add(reading.filtered);
}

impl Engine for ScriptEngine {
    fn started(&self) -> &StartedSource {
        &self.started
    }

    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>> {
        let ring = self.object.map(RING).map(|ring| ring.fd.as_fd());
        let sideband = self.sideband.iter().flat_map(|sideband| (0..).map_while(|index| sideband.descriptor(index)));
        ring.into_iter().chain(sideband).nth(index)
    }

    fn set_budget(&mut self, budget: SharedBudget) {
        self.budget = budget;
    }

    /// A script's maps are read by the console, which is told and reads them more rarely.
    fn throttle(&mut self) -> bool {
        !self.script.plan.maps.is_empty()
    }

    /// First what reports processes, then `begin`, then what follows processes, then the probes, then the iterators.
    fn enable(&mut self) -> Result<Option<ScriptEnabled>, EngineError> {
        if let Some(sideband) = &mut self.sideband {
            sideband.enable()?;
        }
        for one in &self.prepared.begin {
            programs::run(one.program.as_fd()).map_err(|error| refused(self.doing(one.probe), &error, ""))?;
        }
        let clock = Instant::now();
        let (attached, failed) = self.attach()?;
        let attach_ns = elapsed_ns(clock);
        self.measure();
        for index in 0..self.prepared.iterators.len() {
            if let Some(probe) = self.prepared.iterators.get(index).map(|one| one.probe as usize) {
                self.run_iterator(probe)?;
            }
        }
        let attached = u32::try_from(attached).unwrap_or(u32::MAX);
        Ok(Some(ScriptEnabled { attached, failed, attach_ns }))
    }

    fn readings(&mut self) -> SourceReadings {
        // Before the counters: if nothing is attached any more, they are final.
        let detaching = self.progress.left();
        self.read_counters();
        let guard = self.cost.as_ref().map(CostMeter::stage).unwrap_or_default();
        SourceReadings { probes: self.last.clone(), guard, detaching, ..SourceReadings::default() }
    }

    fn detach(&mut self) {
        self.disable();
        close_links(take(&self.links));
    }

    /// When nothing is attached any more the `end` probes run.
    fn stop(&mut self) {
        self.read_counters();
        self.disable();
        let attachments = std::mem::take(&mut self.prepared.attachments);
        let attachments = attachments.into_iter().chain(std::mem::take(&mut self.following)).collect();
        let end = std::mem::take(&mut self.prepared.end);
        detach::detach(&self.progress, take(&self.links), end, attachments);
    }

    fn maps(&mut self) -> Option<&mut dyn ScriptMaps> {
        Some(self)
    }
}

impl ScriptMaps for ScriptEngine {
    fn script(&self) -> &ScriptStarted {
        &self.script
    }

    fn read_map(&mut self, map: usize, take: bool, after: Option<&[u8]>) -> Result<Elements, AgentError> {
        self.content(map)?.read(take, after)
    }

    fn read_elements(&mut self, map: usize, keys: &[&[u8]]) -> Result<Elements, AgentError> {
        self.content(map)?.read_elements(keys)
    }

    fn clear_map(&mut self, map: usize) -> Result<u32, AgentError> {
        self.content(map)?.clear()
    }

    fn zero_map(&mut self, map: usize) -> Result<u32, AgentError> {
        self.content(map)?.zero()
    }

    fn delete_keys(&mut self, map: usize, keys: &[&[u8]]) -> Result<u32, AgentError> {
        self.content(map)?.delete(keys)
    }

    fn read_stacks(&mut self, user: bool, ids: &[u64]) -> Result<Vec<(u64, Vec<u64>)>, AgentError> {
        let name = if user { USER_STACKS } else { KERNEL_STACKS };
        self.object.map(name).map_or_else(|| Ok(Vec::new()), |map| content::stacks(map.fd.as_fd(), ids))
    }

    fn run_signal(&mut self, number: i32) -> Result<u32, AgentError> {
        let chosen = self.prepared.signals.iter().filter(|(signal, _one)| *signal == number);
        let chosen: Vec<_> = chosen.map(|(_signal, one)| one.clone()).collect();
        run_all(&chosen);
        Ok(u32::try_from(chosen.len()).unwrap_or(u32::MAX))
    }

    fn run_iterator(&mut self, probe: usize) -> Result<(), AgentError> {
        let Some(one) = self.prepared.iterators.iter().find(|one| one.probe as usize == probe) else { return Ok(()) };
        let walked = links::iterator(one.program.as_fd())
            .and_then(|link| links::walk(link.as_fd()))
            .and_then(|walk| walk_to_end(walk.into()));
        walked.map_err(|error| refused(format!("walking the iterator of {}", self.doing(one.probe)), &error, ""))
    }
}

/// Reading runs the program; what it gives is nothing, as the output goes into the ring.
fn walk_to_end(mut walk: std::fs::File) -> std::io::Result<()> {
    let mut nothing = [0; 4096];
    loop {
        match walk.read(&mut nothing) {
            Ok(0) => return Ok(()),
            Ok(_some) => {}
            // The kernel takes a break after very many items.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => {}
            Err(error) => return Err(error),
        }
    }
}

impl Drop for ScriptEngine {
    fn drop(&mut self) {
        self.disable();
        close_links(take(&self.links));
        let attachments = std::mem::take(&mut self.prepared.attachments);
        drop_aside((attachments, std::mem::take(&mut self.following)));
    }
}
