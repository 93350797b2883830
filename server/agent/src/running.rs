//! A capture from its start to its end: the engines of its sources side by side, and whose events they record.

use std::os::fd::BorrowedFd;

use bathyscope_protocol::{
    AgentError, AgentErrorKind, Budget, Enabled, Readings, RingsCut, SourceFailure, SourceReadings, Started,
    StartedSource,
};

use crate::{
    clock::monotonic_ns,
    engine::{Engine, EngineError, HeldTarget, ScriptMaps},
    error::failed,
    guard::SharedBudget,
};

/// One of the sources of a capture.
pub(crate) struct RunningSource {
    /// What records it, or why nothing does.
    pub(crate) engine: Result<Box<dyn Engine>, AgentError>,
    /// Whether the capture does not begin without it.
    pub(crate) required: bool,
    /// Whether it reports processes, for all of them.
    pub(crate) reports: bool,
    /// What was cut of its rings.
    pub(crate) rings_cut: Option<RingsCut>,
    /// See [`SourceReadings::recorded_until_ns`].
    pub(crate) until: RecordedUntil,
}

/// Until when a source is known to have recorded everything.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordedUntil {
    /// When it was last seen to be attached.
    seen_ns: u64,
    ended_ns: Option<u64>,
}

impl RunningSource {
    fn started(&mut self) -> StartedSource {
        match &mut self.engine {
            Ok(engine) => {
                let script = engine.maps().map(|maps| Box::new(maps.script().clone()));
                StartedSource { script, rings_cut: self.rings_cut, ..engine.started().clone() }
            }
            Err(error) => StartedSource { failed: Some(error.clone()), ..StartedSource::default() },
        }
    }

    fn readings(&mut self) -> SourceReadings {
        let now_ns = monotonic_ns();
        let Ok(engine) = &mut self.engine else { return SourceReadings::default() };
        let readings = engine.readings();
        if readings.guard.is_detached() {
            // The guard has detached it since.
            self.until.ended_ns.get_or_insert(self.until.seen_ns);
        }
        self.until.seen_ns = now_ns;
        SourceReadings { recorded_until_ns: self.until.ended_ns, ..readings }
    }

    /// Ends it with `end`, from when on nothing is sure to be recorded.
    fn end(&mut self, end: impl FnOnce(&mut dyn Engine)) {
        if let Ok(engine) = &mut self.engine {
            self.until.ended_ns.get_or_insert_with(monotonic_ns);
            end(engine.as_mut());
        }
    }

    fn rings(&self) -> usize {
        self.engine.as_ref().map_or(0, |engine| engine.started().rings.len())
    }
}

/// A capture: what records, and whose events.
pub struct RunningCapture {
    /// Dropped first: what is attached goes before the command that it is attached to.
    pub(crate) sources: Vec<RunningSource>,
    pub(crate) target: Box<dyn HeldTarget>,
}

impl RunningCapture {
    /// The engines of the sources that have one.
    fn engines(&mut self) -> impl Iterator<Item = &mut Box<dyn Engine>> {
        self.sources.iter_mut().filter_map(|source| source.engine.as_mut().ok())
    }

    /// What was made.
    pub(crate) fn started(&mut self) -> Started {
        let sources = self.sources.iter_mut().map(RunningSource::started).collect();
        let (target_pid, has_output) = (self.target.pid(), self.target.output(0).is_some());
        Started { sources, target_pid, has_output, command_user: None }
    }

    /// Descriptor `index`: the rings in order of the sources, then the read ends of the command's two outputs.
    pub(crate) fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>> {
        let mut left = index;
        for source in &self.sources {
            match left.checked_sub(source.rings()) {
                None => return source.engine.as_ref().ok()?.descriptor(left),
                Some(behind) => left = behind,
            }
        }
        self.target.output(left)
    }

    /// What it may cost, all its sources together.
    pub(crate) fn set_budget(&mut self, budget: Budget) {
        let shared = SharedBudget::among(budget, self.sources.len());
        for (source, budget) in self.sources.iter_mut().zip(shared) {
            if let Ok(engine) = &mut source.engine {
                engine.set_budget(budget);
            }
        }
    }

    /// Begins to record, then lets the command run. A source that is not required may fail.
    pub(crate) fn enable(&mut self) -> Result<Enabled, EngineError> {
        let (mut script, mut failed) = (None, Vec::new());
        // What happens to processes is reported before anything else is recorded.
        let (first, others): (Vec<_>, Vec<_>) =
            (0_u32..).zip(&mut self.sources).partition(|(_number, source)| source.reports);
        for (number, source) in first.into_iter().chain(others) {
            let Ok(engine) = &mut source.engine else { continue };
            match engine.enable() {
                Ok(attached) => script = script.or(attached),
                Err(error) if !source.required && !source.reports => {
                    let error = error.into_agent_error();
                    // What it has attached already goes with it.
                    source.engine = Err(error.clone());
                    failed.push(SourceFailure { source: number, error });
                }
                Err(error) => {
                    self.detach();
                    return Err(error);
                }
            }
        }
        let time_ns = monotonic_ns();
        self.target.release()?;
        Ok(Enabled { time_ns, script, failed })
    }

    /// Counters and states. The counters first: when the target is told to have ended, they hold all that it did.
    pub(crate) fn readings(&mut self) -> Readings {
        let sources = self.sources.iter_mut().map(RunningSource::readings).collect();
        let (time_ns, target) = (monotonic_ns(), self.target.state());
        Readings { time_ns, sources, target, command: self.target.command_time(), ..Readings::default() }
    }

    /// Makes it cost the agent less, once. Returns whether any of its sources can.
    pub(crate) fn throttle(&mut self) -> bool {
        // All of them are asked, also after the first that can.
        self.engines().map(|engine| engine.throttle()).filter(|can| *can).count() > 0
    }

    /// Detaches what costs something; it can then only be stopped.
    pub(crate) fn detach(&mut self) {
        self.sources.iter_mut().for_each(|source| source.end(|engine| engine.detach()));
    }

    /// The engine of its trace; none if it has none.
    pub(crate) fn trace(&mut self) -> Option<&mut Box<dyn Engine>> {
        self.engines().find(|engine| engine.started().trace.is_some())
    }

    /// What can be asked of its script; none if it has none.
    pub(crate) fn maps(&mut self) -> Option<&mut dyn ScriptMaps> {
        self.engines().find_map(|engine| engine.maps())
    }

    /// Detaches, ends the command if it is to be ended, and returns the counters.
    pub(crate) fn stop(&mut self, end_command: bool) -> Readings {
        self.sources.iter_mut().for_each(|source| source.end(|engine| engine.stop()));
        if end_command {
            self.target.end();
        }
        self.readings()
    }
}

/// Why a capture without a single source that records is none.
pub(crate) fn nothing_records(first: AgentError) -> AgentError {
    let why = format!("none of its sources can be recorded here; the first: {}", first.why);
    failed(AgentErrorKind::Unsupported, "starting the capture", why, first.remedy)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bathyscope_protocol::{BudgetOf, GuardStage, Overspent, ScriptEnabled};

    use super::*;

    /// Takes its time to be detached.
    #[derive(Default)]
    struct SlowEngine {
        started: StartedSource,
        guard: GuardStage,
    }

    impl Engine for SlowEngine {
        fn started(&self) -> &StartedSource {
            &self.started
        }

        fn descriptor(&self, _index: usize) -> Option<BorrowedFd<'_>> {
            None
        }

        fn set_budget(&mut self, _budget: SharedBudget) {}

        fn detach(&mut self) {
            std::thread::sleep(Duration::from_millis(20));
        }

        fn enable(&mut self) -> Result<Option<ScriptEnabled>, EngineError> {
            Ok(None)
        }

        fn readings(&mut self) -> SourceReadings {
            SourceReadings { guard: self.guard.clone(), ..SourceReadings::default() }
        }

        fn stop(&mut self) {
            self.detach();
        }
    }

    fn source(guard: GuardStage) -> RunningSource {
        let engine: Box<dyn Engine> = Box::new(SlowEngine { guard, ..SlowEngine::default() });
        let until = RecordedUntil::default();
        RunningSource { engine: Ok(engine), required: true, reports: false, rings_cut: None, until }
    }

    #[test]
    fn a_source_has_recorded_everything_until_it_began_to_be_detached() {
        let mut stopped = source(GuardStage::Watching);
        assert_eq!(stopped.readings().recorded_until_ns, None);
        let before_ns = monotonic_ns();
        stopped.end(|engine| engine.stop());
        let until_ns = stopped.readings().recorded_until_ns.unwrap();
        assert!(before_ns <= until_ns && until_ns + 20_000_000 <= monotonic_ns(), "{until_ns} after {before_ns}");
        stopped.end(|engine| engine.stop());
        assert_eq!(stopped.readings().recorded_until_ns, Some(until_ns), "it ends once");
    }

    #[test]
    fn a_source_that_the_guard_detached_was_seen_to_record_before() {
        let mut detached = source(GuardStage::Watching);
        detached.readings();
        let seen_ns = monotonic_ns();
        let over = Overspent { of: BudgetOf::Probes, used: 60, budget: 50 };
        detached.engine = source(GuardStage::Detached { over }).engine;
        let until_ns = detached.readings().recorded_until_ns.unwrap();
        assert!(until_ns <= seen_ns);
        detached.end(|engine| engine.stop());
        assert_eq!(detached.readings().recorded_until_ns, Some(until_ns));
    }
}
