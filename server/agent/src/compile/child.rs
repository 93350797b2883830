//! The child that compiles, seen from both sides.
//!
//! It is forked from the agent, so what the agent knows about the host is in its memory, and it needs no file. What the agent
//! has not read yet it asks for: one fact at a time by a [`Question`], a long list by ending as [`Missing`] that list.

use std::{
    any::Any,
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant},
};

use bathyscope_protocol::{
    AgentError, AgentErrorKind, WireScript,
    sandbox::{self, Inside, Limits, Sandbox, SandboxError},
};

use super::{
    Facts,
    messages::{Job, JobResult, Missing, Question, Said, Told},
};
use crate::{
    error::{failed, kind_of},
    spending::Spending,
};

const DOING: &str = "compiling the script";
/// What a compilation may use. Scripts of people take milliseconds and a few MiB; the largest that the compiler's own limits
/// let through take seconds.
const LIMITS: Limits = Limits {
    memory_bytes: 256 << 20,
    cpu_seconds: 10,
    // Less than the console waits, and less than the lease: whoever follows a capture must be able to ask again.
    wall: Some(Duration::from_secs(15)),
    threads: false,
    user: None,
};
/// The largest message of a child. Once parsed it may take several times as much.
const MAX_SAID_BYTES: usize = 32 << 20;
/// How much a child may ask: a wildcard may ask for each tracepoint of the kernel.
const MAX_QUESTIONS: usize = 20_000;

/// The child's channel to the agent.
#[derive(Debug)]
pub(crate) struct AgentChannel(RefCell<Inside>);

/// What unwinds in a child that has said what it lacks.
struct Lacking;

impl AgentChannel {
    /// Asks the agent. None if there is no answer, which ends the child soon.
    pub(crate) fn ask(&self, question: Question) -> Option<Told> {
        let mut inside = self.0.try_borrow_mut().ok()?;
        say(&mut inside, &Said::Asks(question));
        serde_json::from_slice(&inside.receive().ok()?).ok()
    }

    /// Ends the child, since it cannot go on without a list.
    pub(crate) fn lack(&self, missing: Missing) -> ! {
        if let Ok(mut inside) = self.0.try_borrow_mut() {
            say(&mut inside, &Said::Lacks(missing));
        }
        resume_unwind(Box::new(Lacking))
    }
}

fn say(inside: &mut Inside, said: &Said) {
    // An agent that is gone, or does not listen any more, needs no answer.
    let _nobody_listens = serde_json::to_vec(said).map(|message| inside.send(&message));
}

/// Has `job` done by a child, and by another each time that a list was missing; all of them together take no longer than one
/// may.
///
/// # Errors
/// How the child failed, with what helps.
pub(super) fn run(job: &Job, script: &WireScript, facts: &dyn Facts) -> Result<JobResult, AgentError> {
    let mut limits = LIMITS;
    for _ in 0..=Missing::COUNT {
        let begin = Instant::now();
        match attempt(limits, facts, |inside| be_child(job, script, facts, inside))? {
            Ok(done) => return Ok(done),
            Err(missing) => {
                // Reading the list is the agent's own time, which no child can make longer.
                limits.wall = limits.wall.map(|wall| wall.saturating_sub(begin.elapsed()));
                facts.read(missing);
            }
        }
    }
    Err(wrong_answer())
}

/// What a child has made, or what it lacks.
fn attempt(
    limits: Limits,
    facts: &dyn Facts,
    work: impl FnOnce(Inside),
) -> Result<Result<JobResult, Missing>, AgentError> {
    let mut child = sandbox::start(limits, None, || Ok(()), |(), inside| work(inside)).map_err(|error| told(&error))?;
    let said = talk(&mut child, facts);
    // Its work is for the same capture as that of the agent here.
    Spending::of_here().add(child.close());
    said
}

fn talk(child: &mut Sandbox, facts: &dyn Facts) -> Result<Result<JobResult, Missing>, AgentError> {
    for _ in 0..MAX_QUESTIONS {
        let said = child.receive(MAX_SAID_BYTES).map_err(|error| told(&error))?;
        let said = said.ok_or_else(|| told(&SandboxError::Ended { status: 0 }))?;
        match serde_json::from_slice::<Said>(&said).map_err(|_malformed| wrong_answer())? {
            Said::Asks(question) => {
                let told_to_child = if question.is_sound() { facts.tell(&question) } else { Told::Unsound };
                let answer = serde_json::to_vec(&told_to_child).map_err(|_impossible| wrong_answer())?;
                child.send(&answer).map_err(|error| told(&error))?;
            }
            Said::Lacks(missing) => return Ok(Err(missing)),
            Said::Done(done) => return Ok(Ok(*done)),
            Said::Panicked(message) => return Err(panicked(&message)),
        }
    }
    let why = format!("it needs more than {MAX_QUESTIONS} facts about this host");
    Err(failed(AgentErrorKind::Limit, DOING, why, "Narrow its wildcards, so that they match fewer probe sites."))
}

fn be_child(job: &Job, script: &WireScript, facts: &dyn Facts, inside: Inside) {
    let channel = AgentChannel(RefCell::new(inside));
    let done = catch_unwind(AssertUnwindSafe(|| super::work(job, script, facts.inside(script, &channel).as_ref())));
    let said = match done {
        Ok(done) => Said::Done(Box::new(done)),
        Err(lacking) if lacking.is::<Lacking>() => return,
        Err(panic) => Said::Panicked(message_of(panic.as_ref())),
    };
    say(&mut channel.0.into_inner(), &said);
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

fn panicked(message: &str) -> AgentError {
    let message = bathyscope_capture::visible(message.as_bytes()).to_string();
    tracing::warn!(message, "the compiler of scripts has panicked");
    let why = format!("the compiler failed: {}", message.chars().take(200).collect::<String>());
    failed(AgentErrorKind::Internal, DOING, why, "Report this as a defect, with the script.")
}

/// What a child said was not what it was asked for.
pub(super) fn wrong_answer() -> AgentError {
    let why = "the process that compiles returned an invalid answer";
    failed(AgentErrorKind::Internal, DOING, why, "Report this as a defect, with the script.")
}

fn told(error: &SandboxError) -> AgentError {
    let smaller = "Make the script smaller: fewer attach points, fewer or smaller `unroll`s, shorter texts.";
    let (kind, remedy) = match error {
        SandboxError::Start { source, .. } => (kind_of(source), "Raise the limits of processes and open files."),
        SandboxError::Confine { source, .. } => (kind_of(source), ""),
        SandboxError::Memory { .. } | SandboxError::Time { .. } | SandboxError::TooLarge { .. } => {
            (AgentErrorKind::Limit, smaller)
        }
        _ => (AgentErrorKind::Internal, "Report this as a defect, with the script."),
    };
    let why = match error {
        SandboxError::Start { source, .. } | SandboxError::Confine { source, .. } => {
            format!("{error}: {}", crate::error::words(source))
        }
        SandboxError::Memory { .. } | SandboxError::Time { .. } => format!("the script is too much work: {error}"),
        error => error.to_string(),
    };
    failed(kind, DOING, why, remedy)
}

#[cfg(test)]
mod tests;
