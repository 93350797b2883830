//! A script from its start to its end: attached, its ring read, its records' wishes done in their order.

use std::{collections::HashMap, time::Duration};

use bathyscope_bpf::lang::plan::{Action, HEADER_BYTES, MapPlan, Plan};
use bathyscope_protocol::rings::RingReader;

use super::{
    MapRef, MapRow, MapSnapshot, ProbeAttached, ScriptAgent, ScriptEvent, ScriptFailure, ScriptRequest,
    agent::{ScriptReadings, StartedScript},
    event::{header_u32, time_ns},
};
use crate::recorder::{LinkError, words};

/// About how many bytes one call of [`ScriptSession::poll`] reads at most.
const POLL_BYTES: usize = 256 << 10;
/// How long the last record may take to be completed after everything was detached.
const LAST_RECORD: Duration = Duration::from_millis(200);

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
    /// The last counters; none if the agent is gone.
    pub readings: Option<ScriptReadings>,
    /// What `exit()` said; none if the script did not end itself.
    pub exit_code: Option<i64>,
    /// Records that cannot be: of no site, or shorter than they must be.
    pub undecodable: u64,
    /// Records that came after `exit()` and were left out.
    pub after_exit: u64,
}

/// A script that is attached or runs.
#[derive(Debug)]
pub struct ScriptSession<A> {
    agent: A,
    plan: Plan,
    started: StartedParts,
    follower: Follower,
}

#[derive(Debug)]
struct StartedParts {
    probes: Vec<ProbeAttached>,
    ring: Option<RingReader>,
    output: Option<(std::os::fd::OwnedFd, std::os::fd::OwnedFd)>,
    target_pid: Option<u32>,
    costs_ns: [u64; 3],
}

impl<A: ScriptAgent> ScriptSession<A> {
    /// Compiles a script and attaches its probes; nothing runs before [`ScriptSession::enable`].
    ///
    /// # Errors
    /// What is wrong with the script, or why it cannot run here.
    pub fn start(mut agent: A, request: &ScriptRequest) -> Result<Self, ScriptFailure> {
        let StartedScript { plan, probes, ring, sideband: _, output, target_pid, costs_ns } = agent.start(request)?;
        let mapped = ring.map(|(info, fd)| RingReader::map(fd, &info)).transpose();
        let ring = match mapped {
            Ok(ring) => ring,
            Err(error) => {
                // What was made must not stay; why it cannot be used is worth more than a failure to remove it.
                let _undone = agent.stop(true).and_then(|_| agent.discard());
                return Err(ScriptFailure::Ring { why: words(&error) });
            }
        };
        let follower = Follower::default();
        Ok(Self { agent, plan, started: StartedParts { probes, ring, output, target_pid, costs_ns }, follower })
    }

    /// What the script's records mean.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What became of each probe.
    pub fn probes(&self) -> &[ProbeAttached] {
        &self.started.probes
    }

    /// Processes that are the target when it begins.
    pub fn target_pid(&self) -> Option<u32> {
        self.started.target_pid
    }

    /// Nanoseconds spent on compiling, loading, attaching.
    pub fn costs_ns(&self) -> [u64; 3] {
        self.started.costs_ns
    }

    /// Read ends of the command's standard output and standard error, once.
    pub fn take_output(&mut self) -> Option<(std::os::fd::OwnedFd, std::os::fd::OwnedFd)> {
        self.started.output.take()
    }

    /// The agent, for what else there is to ask.
    pub fn agent(&mut self) -> &mut A {
        &mut self.agent
    }

    /// Runs `begin` probes, then lets the others and the command run. Gives the moment at which all were enabled.
    ///
    /// # Errors
    /// If the agent refuses it or is not there.
    pub fn enable(&mut self) -> Result<u64, ScriptFailure> {
        Ok(self.agent.enable()?)
    }

    /// Counters, and the state of the target.
    ///
    /// # Errors
    /// If the agent refuses it or is not there.
    pub fn readings(&mut self) -> Result<ScriptReadings, ScriptFailure> {
        Ok(self.agent.readings()?)
    }

    /// Reads what is in the ring, does what the records ask for, and tells `each` in their order. Never waits for
    /// records: call it every few milliseconds.
    ///
    /// # Errors
    /// If the ring is damaged.
    pub fn poll(&mut self, each: &mut dyn FnMut(ScriptEvent)) -> Result<Polled, ScriptFailure> {
        let Some(ring) = &mut self.started.ring else { return Ok(Polled::default()) };
        let (plan, follower, agent) = (&self.plan, &mut self.follower, &mut self.agent);
        let drained = ring.drain(POLL_BYTES, &mut |record| follower.follow(record, plan, agent, each));
        let drained = drained.map_err(|error| ScriptFailure::Ring { why: error.to_string() })?;
        Ok(Polled { records: drained.records, more: drained.more })
    }

    /// A whole map as it is now.
    ///
    /// # Errors
    /// If the agent refuses it or is not there.
    pub fn snapshot(&mut self, map: u32) -> Result<MapSnapshot, ScriptFailure> {
        Ok(snapshot(&mut self.agent, &self.plan, map, crate::recorder::monotonic_ns())?)
    }

    /// The frames of a stack, innermost first; empty if it was not kept. Read once for each stack.
    pub fn stack(&mut self, user: bool, id: u64) -> &[u64] {
        self.follower.stacks.get(user, id, &mut self.agent)
    }

    /// Detaches all probes, runs `end` probes, tells `each` what is left, and last, if the script wants it, all maps
    /// (those with nothing in them too). Nothing of the script is left afterwards.
    ///
    /// # Errors
    /// If the ring is damaged.
    pub fn finish(
        mut self,
        end_command: bool,
        each: &mut dyn FnMut(ScriptEvent),
    ) -> Result<(Finished, Stacks), ScriptFailure> {
        self.drain_all(each)?;
        let readings = match self.agent.stop(end_command) {
            Ok(readings) => Some(readings),
            Err(error) => {
                each(ScriptEvent::Trouble(format!("its last counters cannot be read: {}", words(&error))));
                None
            }
        };
        // What `end` probes say belongs to the end, whatever was said before.
        self.follower.exited = None;
        let since = std::time::Instant::now();
        loop {
            self.drain_all(each)?;
            let unfinished = self.started.ring.as_ref().is_some_and(|ring| ring.used_bytes() > 0);
            if !unfinished || since.elapsed() > LAST_RECORD {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.plan.config.print_maps_on_exit {
            self.tell_maps(each);
        }
        if self.plan.kernel_stacks || self.plan.user_stacks {
            self.follower.stacks.read_all(&mut self.agent);
        }
        if readings.is_some()
            && let Err(error) = self.agent.discard()
        {
            tracing::warn!(error = words(&error), "the agent did not forget a script");
        }
        let Follower { exit_code, undecodable, after_exit, stacks, .. } = self.follower;
        Ok((Finished { readings, exit_code, undecodable, after_exit }, stacks))
    }

    fn drain_all(&mut self, each: &mut dyn FnMut(ScriptEvent)) -> Result<(), ScriptFailure> {
        while self.poll(each)?.more {}
        Ok(())
    }

    fn tell_maps(&mut self, each: &mut dyn FnMut(ScriptEvent)) {
        for map in 0..u32::try_from(self.plan.maps.len()).unwrap_or(0) {
            match self.snapshot(map) {
                Ok(snapshot) => each(ScriptEvent::Map { site: None, snapshot }),
                Err(error) => each(ScriptEvent::Trouble(format!("{}: {}", map_name(&self.plan, map), words(&error)))),
            }
        }
    }
}

fn map_name(plan: &Plan, map: u32) -> &str {
    plan.maps.get(map as usize).map_or("a map", |map| map.name.as_str())
}

/// Reads a map. Elements of another size than the plan says cannot be and are left out.
fn snapshot(agent: &mut impl ScriptAgent, plan: &Plan, map: u32, time_ns: u64) -> Result<MapSnapshot, LinkError> {
    let (mut rows, cut) = agent.read_map(MapRef::Script(map))?;
    rows.retain(|row| plan.maps.get(map as usize).is_some_and(|map| fits(row, map)));
    Ok(MapSnapshot { map, time_ns, rows, cut })
}

/// Follows the records of a script: what the recorder and [`ScriptSession`] have in common.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    /// When `exit()` was called.
    exited: Option<u64>,
    exit_code: Option<i64>,
    undecodable: u64,
    after_exit: u64,
    stacks: Stacks,
}

impl Follower {
    /// Does what a record asks for and tells `each`.
    pub(crate) fn follow(
        &mut self,
        record: &[u8],
        plan: &Plan,
        agent: &mut impl ScriptAgent,
        each: &mut dyn FnMut(ScriptEvent),
    ) {
        let index = header_u32(record, 0);
        let site = plan.sites.get(index as usize);
        let (Some(site), Some(time_ns)) =
            (site.filter(|site| record.len() >= site.fixed_bytes as usize), time_ns(record))
        else {
            self.undecodable += 1;
            return;
        };
        if self.exited.is_some() {
            self.after_exit += 1;
            return;
        }
        match &site.action {
            Action::PrintMap { map, .. } => match snapshot(agent, plan, *map, time_ns) {
                Ok(snapshot) => each(ScriptEvent::Map { site: Some(index), snapshot }),
                Err(error) => each(ScriptEvent::Trouble(format!("{}: {}", map_name(plan, *map), words(&error)))),
            },
            Action::Clear { map } => self.empty(*map, false, plan, agent, each),
            Action::Zero { map } => self.empty(*map, true, plan, agent, each),
            Action::Exit => {
                let code = site.fields.first().map_or(0, |field| integer(record, field));
                self.exited = Some(time_ns);
                self.exit_code = Some(code);
                each(ScriptEvent::Exit { code, time_ns });
            }
            _ => each(ScriptEvent::Record(record.to_vec())),
        }
    }

    fn empty(
        &mut self,
        map: u32,
        zero: bool,
        plan: &Plan,
        agent: &mut impl ScriptAgent,
        each: &mut dyn FnMut(ScriptEvent),
    ) {
        match agent.empty_map(map, zero) {
            Ok(()) => each(ScriptEvent::Emptied { map }),
            Err(error) => each(ScriptEvent::Trouble(format!("{}: {}", map_name(plan, map), words(&error)))),
        }
    }
}

/// A number in a record.
fn integer(record: &[u8], field: &bathyscope_bpf::lang::plan::SiteField) -> i64 {
    use bathyscope_bpf::lang::types::Type;
    let (bytes, signed) = match field.ty {
        Type::Integer { bytes, signed } | Type::Enum { bytes, signed, .. } => (usize::from(bytes), signed),
        _ => (8, true),
    };
    let at = field.offset as usize;
    let raw = record.get(at..at + bytes.clamp(1, 8)).unwrap_or_default();
    let value = raw.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    let unused = 64 - 8 * u32::try_from(raw.len()).unwrap_or(8).clamp(1, 8);
    if signed { (value << unused).cast_signed() >> unused } else { value.cast_signed() }
}

/// Bodies of stacks, read when one is not known yet.
#[derive(Debug, Default)]
pub struct Stacks {
    bodies: HashMap<(bool, u64), Vec<u64>>,
    asked: HashMap<(bool, u64), ()>,
}

impl Stacks {
    /// The frames of a stack, innermost first; empty if it was not kept.
    pub fn frames(&self, user: bool, id: u64) -> &[u64] {
        self.bodies.get(&(user, id)).map_or(&[], Vec::as_slice)
    }

    fn get(&mut self, user: bool, id: u64, agent: &mut impl ScriptAgent) -> &[u64] {
        if !self.bodies.contains_key(&(user, id)) && self.asked.insert((user, id), ()).is_none() {
            self.read(user, agent);
        }
        self.frames(user, id)
    }

    fn read_all(&mut self, agent: &mut impl ScriptAgent) {
        self.read(false, agent);
        self.read(true, agent);
    }

    fn read(&mut self, user: bool, agent: &mut impl ScriptAgent) {
        let map = if user { MapRef::UserStacks } else { MapRef::KernelStacks };
        let Ok((rows, _cut)) = agent.read_map(map) else { return };
        for MapRow { key, value } in rows {
            let Some(id) = key.get(..8).and_then(|id| <[u8; 8]>::try_from(id).ok()).map(u64::from_le_bytes) else {
                continue;
            };
            let words = value.chunks_exact(8).filter_map(|word| <[u8; 8]>::try_from(word).ok()).map(u64::from_le_bytes);
            self.bodies.insert((user, id), words.take_while(|frame| *frame != 0).collect());
        }
    }
}

/// Whether a map's elements are as long as the plan says.
fn fits(row: &MapRow, map: &MapPlan) -> bool {
    let value = map.value_bytes as usize;
    row.key.len() == map.key_bytes as usize
        && if map.is_per_cpu() { value > 0 && row.value.len().is_multiple_of(value) } else { row.value.len() == value }
}

const _: () = assert!(HEADER_BYTES >= 32, "the header has more fields than are read here");
