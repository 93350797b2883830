//! Taking a trace out of the kernel again, in the right order, also when something failed half way.
//!
//! An instance cannot be removed while the console still holds its pages open, and an event not while anybody uses it. So
//! this goes on in a thread of its own; what is left when the process ends is in the journal for the next agent.

use std::{
    io,
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{
    area::Area,
    journal::{Restore, Ticket},
    machine,
};

/// After how long it is told that something is still held. The console closes what it has read to its end.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest pause between two attempts.
const MOST_PAUSE: Duration = Duration::from_secs(1);

static PENDING: Mutex<usize> = Mutex::new(0);
static SETTLED: Condvar = Condvar::new();

/// What was made, in the order in which it was made.
#[derive(Debug)]
struct Steps {
    area: Area,
    /// The name of the own instance.
    instance: Option<(String, Ticket)>,
    /// Groups and names of dynamic events.
    events: Vec<(String, Ticket)>,
    /// Settings outside of the own instance.
    settings: Vec<(Vec<Restore>, Ticket)>,
    /// Whether the area is the own instance or taken from the machine, so that its settings may be written.
    quiet: bool,
}

/// What was made in tracefs. Dropping it removes it all, in the background.
#[derive(Debug)]
pub(crate) struct Undo(Option<Steps>);

impl Undo {
    /// Of a trace in `area`, of which nothing was made yet.
    pub(crate) fn new(area: Area) -> Self {
        Self(Some(Steps { area, instance: None, events: Vec::new(), settings: Vec::new(), quiet: true }))
    }

    fn steps(&mut self, with: impl FnOnce(&mut Steps)) {
        if let Some(steps) = &mut self.0 {
            with(steps);
        }
    }

    /// The trace is in this area after all.
    pub(crate) fn moved(&mut self, area: Area) {
        self.steps(|steps| steps.area = area);
    }

    /// An instance is about to be made.
    pub(crate) fn instance(&mut self, name: String, ticket: Ticket) {
        self.steps(|steps| {
            steps.instance = Some((name, ticket));
            steps.quiet = false;
        });
    }

    /// An event is about to be made.
    pub(crate) fn event(&mut self, name: String, ticket: Ticket) {
        self.steps(|steps| steps.events.push((name, ticket)));
    }

    /// Settings are about to be changed.
    pub(crate) fn settings(&mut self, restore: Vec<Restore>, ticket: Ticket) {
        self.steps(|steps| steps.settings.push((restore, ticket)));
    }

    /// Removes the own instance, which is not needed.
    pub(crate) fn drop_instance(&mut self) -> io::Result<()> {
        let Some(steps) = &mut self.0 else { return Ok(()) };
        if let Some((name, ticket)) = steps.instance.take() {
            if let Err(error) = steps.area.tracefs().remove_instance(&name) {
                steps.instance = Some((name, ticket));
                return Err(error);
            }
            ticket.done();
        }
        steps.quiet = true;
        Ok(())
    }
}

impl Steps {
    /// Does what can be done now. Returns whether nothing is left.
    fn run(&mut self) -> bool {
        if !self.quiet && self.instance.is_some() {
            // Nothing hits any more, so events can be removed even if the instance cannot yet. A tracer stays while somebody
            // holds pages open.
            let quiet = [("tracing_on", "0"), ("events/enable", "0"), ("current_tracer", "nop")];
            self.quiet = quiet.map(|(file, text)| self.area.write(file, text).is_ok()) == [true; 3];
        }
        let machine = Area::machine_of(&self.area);
        while let Some((restore, ticket)) = self.settings.pop() {
            let left = put_back_all(&machine, restore);
            if !left.is_empty() {
                self.settings.push((left, ticket));
                return false;
            }
            ticket.done();
        }
        while let Some((name, ticket)) = self.events.pop() {
            if !remove_event(&machine, &name) {
                self.events.push((name, ticket));
                break;
            }
            ticket.done();
        }
        if let Some((name, ticket)) = self.instance.take() {
            if remove_instance(&machine, &name) {
                ticket.done();
            } else {
                self.instance = Some((name, ticket));
            }
        }
        self.settings.is_empty() && self.events.is_empty() && self.instance.is_none()
    }

    /// Does not give up: while this process lives, no other agent may do it.
    fn run_to_the_end(mut self) {
        let begin = Instant::now();
        let mut pause = Duration::from_millis(5);
        let mut told = false;
        while !self.run() {
            if !told && begin.elapsed() > PATIENCE {
                told = true;
                tracing::warn!(
                    settings = self.settings.len(),
                    events = self.events.len(),
                    instance = self.instance.as_ref().map(|(name, _ticket)| name),
                    "something of ftrace is still in use, and is removed when it is not"
                );
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(MOST_PAUSE);
        }
    }
}

/// Puts settings back in their order, up to the first that somebody is in the way of: what comes after it relies on it, as
/// a tracer without its choice of functions would trace all of them. Returns what is left to do.
fn put_back_all(machine: &Area, restore: Vec<Restore>) -> Vec<Restore> {
    let mut left = restore.into_iter();
    while let Some(setting) = left.next() {
        match machine::put_back(machine, &setting) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                return std::iter::once(setting).chain(left).collect();
            }
            Err(error) => tracing::warn!(file = setting.file, %error, "a setting of ftrace could not be put back"),
            Ok(()) => {}
        }
    }
    Vec::new()
}

/// Removes a dynamic event; true if there is none any more.
pub(crate) fn remove_event(machine: &Area, name: &str) -> bool {
    match machine.write("dynamic_events", &format!("-:{name}\n")) {
        Ok(()) => true,
        Err(error) => error.raw_os_error() == Some(libc::ENOENT),
    }
}

/// Removes an instance; true if there is none any more.
pub(crate) fn remove_instance(machine: &Area, name: &str) -> bool {
    match machine.tracefs().remove_instance(name) {
        Ok(()) => true,
        Err(error) => error.raw_os_error() == Some(libc::ENOENT),
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        let Some(steps) = self.0.take() else { return };
        if steps.instance.is_none() && steps.events.is_empty() && steps.settings.is_empty() {
            return;
        }
        *PENDING.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        // Counted down however the thread ends, and also if there is none.
        let counted = Counted;
        let spawned = std::thread::Builder::new().name("bathyscope-undo".into()).spawn(move || {
            let _counted = counted;
            steps.run_to_the_end();
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "the thread that removes a trace could not be started; the next agent removes it");
        }
    }
}

struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
        *pending = pending.saturating_sub(1);
        SETTLED.notify_all();
    }
}

/// Waits until all that was dropped is removed, at most so long. Returns whether it is.
pub(crate) fn settle(most: Duration) -> bool {
    let pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = SETTLED.wait_timeout_while(pending, most, |pending| *pending > 0);
    let (pending, _timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
    *pending == 0
}
