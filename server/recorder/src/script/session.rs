//! A script from its start to its end: attached, its ring read, its records' wishes done in their order.

use std::{
    collections::{BTreeSet, HashMap},
    os::fd::OwnedFd,
    sync::Arc,
    time::{Duration, Instant},
};

use bathyscope_decode::perf::PerfEvent;
use bathyscope_link::{
    LinkError, ScriptAgent,
    clock::monotonic_ns,
    script::{PreparedScript, ScriptFailure, ScriptRequest, make},
    words,
};
use bathyscope_plan::Plan;
use bathyscope_protocol::{
    CaptureHandle, ObjectStats, ProbeFailure, ProtocolError, Readings, RingContent, ScriptEnabled, ScriptStarted,
    Started, rings::RingReader,
};

use super::{MapSnapshot, ScriptEvent, follow::Follower, sideband::Sideband};

/// About how many bytes one call of [`ScriptSession::poll`] reads at most.
const POLL_BYTES: usize = 256 << 10;
/// How long the last record may take to be completed after everything was detached.
const LAST_RECORD: Duration = Duration::from_millis(200);
/// How long detaching may take before the end is told without it.
const DETACHING: Duration = Duration::from_secs(30);
/// The pause while something is waited for.
const PAUSE: Duration = Duration::from_millis(2);

/// What one call of [`ScriptSession::poll`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Polled {
    /// Records that were read.
    pub records: u64,
    /// Whether there are more to be read at once; otherwise wait a few milliseconds.
    pub more: bool,
}

/// How a script ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finished {
    /// The last counters, one for each program of the plan; none if the agent is gone.
    pub readings: Option<Readings>,
    /// What `exit()` said; none if the script did not end itself.
    pub exit_code: Option<i64>,
    /// Records that cannot be: of no site, or shorter than they must be.
    pub undecodable: u64,
    /// Records that came after `exit()` and were left out.
    pub after_exit: u64,
}

/// A script that is attached or runs.
#[derive(Debug)]
pub struct ScriptSession<A: ScriptAgent> {
    agent: A,
    handle: CaptureHandle,
    plan: Arc<Plan>,
    started: Started,
    script: ScriptStarted,
    enabled: Option<ScriptEnabled>,
    ring: Option<RingReader>,
    sideband: Sideband,
    output: Option<(OwnedFd, OwnedFd)>,
    follower: Follower,
    stacks: HashMap<(bool, u64), Vec<u64>>,
}

impl<A: ScriptAgent> ScriptSession<A> {
    /// Finds the places in user space that a script names, compiles it and prepares its probes; nothing runs before
    /// [`ScriptSession::enable`]. `handle` is one that is not in use over this connection.
    ///
    /// # Errors
    /// What is wrong with the script, or why it cannot run here.
    pub fn start(mut agent: A, handle: CaptureHandle, request: &ScriptRequest) -> Result<Self, ScriptFailure> {
        let PreparedScript { started, script, rings, output } = make(&mut agent, handle, request)?;
        let plan = Arc::new(script.plan.clone());
        let own = started.rings().zip(rings);
        let (own, others): (Vec<_>, Vec<_>) = own.partition(|(info, _)| info.content == RingContent::Script);
        let ring = own.into_iter().next().map(|(info, fd)| RingReader::map(fd, info)).transpose();
        let (ring, sideband) = match ring.and_then(|ring| Ok((ring, Sideband::map(others)?))) {
            Ok(mapped) => mapped,
            Err(error) => {
                let why = words(&error);
                let _undone = agent.call(move |client| client.stop(handle, true).and_then(|_| client.discard(handle)));
                return Err(ScriptFailure::Ring { why });
            }
        };
        let follower = Follower::new(handle, Arc::clone(&plan));
        let stacks = HashMap::new();
        Ok(Self { agent, handle, plan, started, script, enabled: None, ring, sideband, output, follower, stacks })
    }

    /// What the script's records mean.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// What the agent made.
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// What the script takes of the kernel.
    pub fn stats(&self) -> ObjectStats {
        self.script.stats
    }

    /// How many attach points are attached; 0 before [`ScriptSession::enable`].
    pub fn attached(&self) -> u32 {
        self.enabled.as_ref().map_or(0, |enabled| enabled.attached)
    }

    /// Attach points that could not be had, where the script runs without them.
    pub fn failed(&self) -> impl Iterator<Item = &ProbeFailure> {
        let later = self.enabled.iter().flat_map(|enabled| &enabled.failed);
        self.script.failed.iter().chain(later)
    }

    /// Whether no probe is left at which anything could happen: the script has only `begin`, `end` and walks, or its other
    /// probes could not be attached.
    pub fn nothing_will_happen(&self) -> bool {
        let missing: BTreeSet<u32> = self.failed().map(|failure| failure.probe).collect();
        self.plan.is_over_at_start(|probe| missing.contains(&probe))
    }

    /// Read ends of the command's standard output and standard error, once.
    pub fn take_output(&mut self) -> Option<(OwnedFd, OwnedFd)> {
        self.output.take()
    }

    /// The agent, for what else there is to ask.
    pub fn agent(&mut self) -> &mut A {
        &mut self.agent
    }

    /// Runs `begin` probes, attaches the others, then lets the command run.
    ///
    /// # Errors
    /// If probes cannot be attached without which the script does not run, or the agent is not there. Nothing of the
    /// script is left then.
    pub fn enable(&mut self) -> Result<&ScriptEnabled, ScriptFailure> {
        let handle = self.handle;
        let enabled = self.agent.call(move |client| {
            let enabled = client.enable(handle)?;
            Ok(enabled.script.ok_or(ProtocolError::WrongReply { request: "enable" })?)
        });
        match enabled {
            Ok(enabled) => Ok(self.enabled.insert(enabled)),
            Err(error) => {
                self.abandon();
                Err(error.into())
            }
        }
    }

    /// Takes back what the agent made.
    fn abandon(&mut self) {
        let handle = self.handle;
        let undone = self.agent.call(move |client| client.stop(handle, true).and_then(|_| client.discard(handle)));
        if let Err(error) = undone {
            tracing::warn!(error = words(&error), "the agent could not discard a script");
        }
    }

    /// Counters (one for each program of the plan), and the state of the target.
    ///
    /// # Errors
    /// If the agent refuses it or is not there.
    pub fn readings(&mut self) -> Result<Readings, ScriptFailure> {
        let handle = self.handle;
        Ok(self.agent.call(move |client| client.readings(handle))?)
    }

    /// Runs the script's `self:signal` probes of a signal; says how many there are.
    ///
    /// # Errors
    /// If the agent refuses it or is not there.
    pub fn signal(&mut self, number: i32) -> Result<u32, ScriptFailure> {
        let handle = self.handle;
        Ok(self.agent.call(move |client| client.run_signal(handle, number))?)
    }

    /// Reads what is in the ring, does what the records ask for, and tells `each` in their order. Never waits for
    /// records: call it every few milliseconds.
    ///
    /// # Errors
    /// If the ring is damaged.
    pub fn poll(&mut self, each: &mut dyn FnMut(ScriptEvent)) -> Result<Polled, ScriptFailure> {
        let Some(ring) = &mut self.ring else { return Ok(Polled::default()) };
        let (follower, agent) = (&mut self.follower, &mut self.agent);
        let drained = ring.drain(POLL_BYTES, &mut |record| follower.follow(record, agent, each));
        let drained = drained.map_err(|error| ScriptFailure::Ring { why: error.to_string() })?;
        Ok(Polled { records: drained.records, more: drained.more })
    }

    /// Hands out what happened to processes before this call, where the script shows addresses in their memory; with `all`
    /// also what happened since.
    pub fn processes(&mut self, all: bool, each: &mut dyn FnMut(PerfEvent)) {
        self.sideband.read(all, each);
    }

    /// A whole map as it is now.
    ///
    /// # Errors
    /// If the agent refuses it or is not there.
    pub fn snapshot(&mut self, map: u32) -> Result<MapSnapshot, ScriptFailure> {
        Ok(self.follower.snapshot(map, monotonic_ns(), &mut self.agent)?)
    }

    /// The frames of stacks, innermost first, for rendering what refers to them; those that were not kept are empty. Each
    /// is read once.
    pub fn load_stacks(&mut self, user: bool, ids: impl IntoIterator<Item = u64>) {
        // Entries of different keys share stacks.
        let unknown: BTreeSet<u64> = ids.into_iter().filter(|id| !self.stacks.contains_key(&(user, *id))).collect();
        if unknown.is_empty() {
            return;
        }
        let asked = unknown.iter().copied().collect();
        match self.follower.stacks(user, asked, &mut self.agent) {
            Ok(mut found) => {
                let new = unknown.into_iter().map(|id| ((user, id), found.remove(&id).unwrap_or_default()));
                self.stacks.extend(new);
            }
            Err(error) => tracing::warn!(error = words(&error), "stacks cannot be read"),
        }
    }

    /// The frames of a stack that was loaded, innermost first.
    pub fn stack(&self, user: bool, id: u64) -> Option<&[u64]> {
        self.stacks.get(&(user, id)).map(Vec::as_slice).filter(|frames| !frames.is_empty())
    }

    /// Detaches all probes, runs `end` probes, and tells `each` what is left and, if the script wants it, all maps. Maps
    /// and stacks can be read until [`ScriptSession::discard`].
    ///
    /// # Errors
    /// If the ring is damaged.
    pub fn finish(&mut self, end_command: bool, each: &mut dyn FnMut(ScriptEvent)) -> Result<Finished, ScriptFailure> {
        self.drain_all(each)?;
        let handle = self.handle;
        let mut readings = self.told(each, move |client| client.stop(handle, end_command));
        let since = Instant::now();
        while readings.as_ref().is_some_and(|readings| readings.detaching().attached > 0) && since.elapsed() < DETACHING
        {
            self.drain_all(each)?;
            std::thread::sleep(PAUSE);
            readings = self.told(each, move |client| client.readings(handle));
        }
        let since = Instant::now();
        loop {
            self.drain_all(each)?;
            let unfinished = self.ring.as_ref().is_some_and(|ring| ring.used_bytes() > 0);
            if !unfinished || since.elapsed() > LAST_RECORD {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        if self.plan.config.print_maps_on_exit && readings.is_some() {
            self.tell_maps(each);
        }
        let follower = &self.follower;
        let (undecodable, after_exit) = (follower.undecodable(), follower.after_exit());
        Ok(Finished { readings, exit_code: follower.exit_code(), undecodable, after_exit })
    }

    /// Lets the agent forget the script with its maps.
    pub fn discard(mut self) {
        let handle = self.handle;
        if let Err(error) = self.agent.call(move |client| client.discard(handle)) {
            tracing::warn!(error = words(&error), "the agent did not release a script");
        }
    }

    fn told(
        &mut self,
        each: &mut dyn FnMut(ScriptEvent),
        ask: impl FnOnce(&mut bathyscope_protocol::AgentClient) -> Result<Readings, bathyscope_protocol::ClientError>
        + Send
        + 'static,
    ) -> Option<Readings> {
        let answer: Result<Readings, LinkError> = self.agent.call(ask);
        answer
            .inspect_err(|error| each(ScriptEvent::Trouble(format!("its counters cannot be read: {}", words(error)))))
            .ok()
    }

    /// Reads what is in the ring now. As long as probes are attached, more may come as fast as it is read.
    fn drain_all(&mut self, each: &mut dyn FnMut(ScriptEvent)) -> Result<(), ScriptFailure> {
        let whole = self.ring.as_ref().map_or(0, RingReader::data_bytes);
        for _round in 0..=whole / POLL_BYTES {
            if !self.poll(each)?.more {
                break;
            }
        }
        Ok(())
    }

    fn tell_maps(&mut self, each: &mut dyn FnMut(ScriptEvent)) {
        for map in 0..u32::try_from(self.plan.maps.len()).unwrap_or(0) {
            match self.snapshot(map) {
                Ok(snapshot) => each(ScriptEvent::Final(snapshot)),
                Err(error) => {
                    let name = self.plan.maps.get(map as usize).map_or("a map", |map| map.name.as_str());
                    each(ScriptEvent::Trouble(format!("{name}: {}", words(&error))));
                }
            }
        }
    }
}
