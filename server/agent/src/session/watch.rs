//! What the agent itself uses for its captures, and what is done if that is too much. It is looked at between requests and
//! while none comes, so that it does not depend on the console.

use std::time::{Duration, Instant};

use bathyscope_protocol::{Budget, CaptureHandle, Overspent, ProcessUse, Readings, Request, resident_bytes};

use super::{Answer, Session, SessionCapture, Stage, Violation, lease::named};
use crate::{
    agent_guard::{AgentAction, AgentGuard, AgentUse, costliest},
    spending::Spending,
};

/// How often it is looked.
pub(super) const EVERY: Duration = Duration::from_secs(1);

/// What one capture costs the agent.
#[derive(Debug)]
pub(super) struct Watched {
    spending: Spending,
    /// Spent at the last look.
    spent_ns: u64,
    /// By how much the agent has grown for it; before it is made: how large it was.
    bytes: u64,
    budget: Budget,
    guard: AgentGuard,
}

impl Watched {
    /// Of a capture that is being made.
    pub(super) fn begin() -> Self {
        Self {
            spending: Spending::default(),
            spent_ns: 0,
            bytes: resident_bytes(),
            budget: Budget::default(),
            guard: AgentGuard::default(),
        }
    }

    /// Does `work` for the capture.
    pub(super) fn pays<T>(&self, work: impl FnOnce() -> T) -> T {
        self.spending.pays(work)
    }

    /// Whose time its readings are.
    pub(super) fn account(&self) -> Spending {
        self.spending.clone()
    }

    /// It is made.
    pub(super) fn made(self) -> Self {
        Self { bytes: resident_bytes().saturating_sub(self.bytes), ..self }
    }

    pub(super) fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// Readings with the further one of the two guards, of each source.
    pub(super) fn overlay(&self, mut readings: Readings) -> Readings {
        for source in &mut readings.sources {
            source.guard = std::mem::take(&mut source.guard).further(self.guard.stage().clone());
        }
        readings
    }

    /// What it cost the agent since the last look.
    fn used(&mut self, elapsed: Duration) -> AgentUse {
        let now = self.spending.ns();
        let used_ns = now.saturating_sub(std::mem::replace(&mut self.spent_ns, now));
        AgentUse { cpu_permille: permille(used_ns, elapsed), bytes: self.bytes }
    }
}

fn permille(used_ns: u64, elapsed: Duration) -> f64 {
    used_ns as f64 / elapsed.as_secs_f64().max(1e-6) / 1e6
}

/// The last look.
#[derive(Debug)]
pub(super) struct Looked {
    at: Instant,
    cpu_ns: u64,
}

impl Default for Looked {
    fn default() -> Self {
        Self { at: Instant::now(), cpu_ns: ProcessUse::own_cpu_ns() }
    }
}

/// The capture that a request works for, if its time can be much.
fn payer(request: &Request) -> Option<CaptureHandle> {
    match request {
        // Little work, or work that ends it.
        Request::SetBudget { .. }
        | Request::TakeRings { .. }
        | Request::OpenCounters { .. }
        | Request::Stop { .. }
        | Request::Discard { .. } => None,
        _ => named(request),
    }
}

impl Session<'_> {
    /// Answers, and notes for which capture.
    pub(super) fn answer_on_account(&mut self, request: Request) -> Result<Answer, Violation> {
        let handle = payer(&request);
        let account = handle.and_then(|handle| Some(self.captures.get(&handle)?.watched.spending.clone()));
        match account {
            Some(account) => account.pays(|| self.answer(request)),
            None => self.answer(request),
        }
    }

    /// Looks at what the agent uses, if it is time.
    pub(super) fn look(&mut self, running: bool) {
        let elapsed = self.looked.at.elapsed();
        if elapsed < EVERY {
            return;
        }
        let cpu_ns = ProcessUse::own_cpu_ns();
        let last = std::mem::replace(&mut self.looked, Looked { at: Instant::now(), cpu_ns });
        if !running {
            return;
        }
        let agent =
            AgentUse { cpu_permille: permille(cpu_ns.saturating_sub(last.cpu_ns), elapsed), bytes: resident_bytes() };
        let enabled = |entry: &&mut SessionCapture| entry.stage == Stage::Enabled;
        let mut entries: Vec<&mut SessionCapture> = self.captures.values_mut().filter(enabled).collect();
        let used: Vec<(Budget, AgentUse)> =
            entries.iter_mut().map(|entry| (entry.watched.budget, entry.watched.used(elapsed))).collect();
        let chosen = costliest(agent, &used);
        for (index, entry) in entries.into_iter().enumerate() {
            match chosen {
                Some((which, over)) if which == index => entry.enforce(over),
                _ => entry.watched.guard.rest(),
            }
        }
    }
}

impl SessionCapture {
    /// It is the one that costs the agent most, and that is too much.
    fn enforce(&mut self, over: Overspent) {
        let guard = &mut self.watched.guard;
        match guard.look(over, self.watched.budget.detach) {
            AgentAction::Leave => {}
            AgentAction::Spare(over) if self.capture.throttle() => guard.spared(over),
            AgentAction::Spare(over) => {
                guard.detached(over);
                self.capture.detach();
            }
            AgentAction::Detach => self.capture.detach(),
        }
    }
}
