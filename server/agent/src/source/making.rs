//! Making the engines of a capture, side by side: each spends most of its time in the kernel, which makes rings, verifies programs
//! and changes code for them.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use bathyscope_capture::visible;
use bathyscope_protocol::{AgentError, AgentErrorKind};

use super::{CapturePlan, PlannedSource};
use crate::{
    engine::{Engine, EngineError, MadeEngine, ProcessReports},
    error::failed,
    running::{RecordedUntil, RunningSource, nothing_records},
    share_work::share_work,
};

/// The most sources that are made at a time.
const MAX_MADE_AT_ONCE: usize = 8;

/// The engine of a source that may fail, or why there is none.
type MaybeEngine = Result<Box<dyn Engine>, AgentError>;

impl CapturePlan {
    /// Makes the engines of all sources with `make`; those that may fail and do are left out.
    ///
    /// # Errors
    /// Why the first of them that must not fail did, or why none of them can be made. Then all are undone.
    pub(super) fn engines(
        &self,
        make: impl Fn(&PlannedSource, ProcessReports) -> MadeEngine + Sync,
    ) -> Result<Vec<RunningSource>, EngineError> {
        let data = self.sources.iter().any(|source| source.spec.tells_data());
        let reporters = self.reporters();
        let mut reporter = reporters.first().copied();
        let mut engines = self.all_engines(&|number, source: &PlannedSource| {
            let reports = reporter == Some(number);
            make(source, if reports { ProcessReports::Here { data } } else { ProcessReports::Elsewhere })
        })?;
        // If the best that can report has failed, the next one is made again, and does.
        let mut others = reporters.iter().copied().skip(1);
        while let Some(lost) = reporter.filter(|number| is_failed(&engines, *number)) {
            reporter = others.find(|number| !is_failed(&engines, *number));
            let Some(number) = reporter else { break };
            let (Some(source), Some(engine)) = (self.sources.get(number), engines.get_mut(number)) else { break };
            tracing::debug!(lost, number, "another source reports processes");
            // What it holds goes first: a name in the kernel may be there once only.
            *engine = Err(failed(AgentErrorKind::Internal, "making a source again", "it is not made yet", ""));
            *engine = source.outcome(make(source, ProcessReports::Here { data }))?;
        }
        if engines.iter().all(Result::is_err)
            && let Some(Err(first)) = engines.first()
        {
            return Err(nothing_records(first.clone()).into());
        }
        let running = |((number, source), engine): ((usize, &PlannedSource), MaybeEngine)| RunningSource {
            engine,
            required: source.required,
            reports: reporter == Some(number),
            rings_cut: source.rings_cut,
            until: RecordedUntil::default(),
        };
        Ok(self.sources.iter().enumerate().zip(engines).map(running).collect())
    }

    /// Makes one engine for each source: those of which each has to be alone one after the other, then the others side by side. No
    /// other is begun once one has failed that must not.
    fn all_engines(
        &self,
        make: &(impl Fn(usize, &PlannedSource) -> MadeEngine + Sync),
    ) -> Result<Vec<MaybeEngine>, EngineError> {
        let numbered = || self.sources.iter().enumerate();
        let (alone, together): (Vec<_>, Vec<_>) = numbered().partition(|(_, source)| source.spec.is_made_alone());
        let (made, is_over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        let one = |(number, source): &(usize, &PlannedSource)| {
            let engine = source.outcome(make(*number, source));
            is_over.fetch_or(engine.is_err(), Ordering::Relaxed);
            made.lock().unwrap_or_else(PoisonError::into_inner).push((*number, engine));
        };
        let work = |sources: &[(usize, &PlannedSource)], threads: usize| {
            let next = AtomicUsize::new(0);
            share_work(threads, "bathyscope-make", || {
                while !is_over.load(Ordering::Relaxed)
                    && let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    one(source);
                }
            });
        };
        work(&alone, 1);
        work(&together, together.len().min(MAX_MADE_AT_ONCE));
        let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
        made.sort_by_key(|(number, _)| *number);
        // All that were made go with the first error.
        made.into_iter().map(|(_, engine)| engine).collect()
    }
}

impl PlannedSource {
    /// Its engine or why it has none; the error of one without which the capture does not begin tells which that is.
    fn outcome(&self, made: MadeEngine) -> Result<MaybeEngine, EngineError> {
        match (made, &self.name) {
            (Err(EngineError::Agent(mut error)), Some(name)) if self.required => {
                error.doing = format!("source `{}`: {}", visible(name.as_bytes()), error.doing);
                Err(error.into())
            }
            (Err(error), _) if self.required => Err(error),
            (made, _) => Ok(made.map_err(EngineError::into_agent_error)),
        }
    }
}

fn is_failed(engines: &[MaybeEngine], number: usize) -> bool {
    engines.get(number).is_none_or(Result::is_err)
}
