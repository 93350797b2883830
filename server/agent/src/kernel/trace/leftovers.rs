//! Removing what agents that were killed left in tracefs, and nothing else.
//!
//! What is ours is told in two ways: by the journal of a process that has ended, and by names that say who made them. An
//! instance or event of a process that lives, of another pid namespace, or of anybody else's name is not touched.

use std::{fs, sync::Arc};

use serde::Serialize;

use super::{
    area::Area,
    journal::{self, JournalEntry, Restore},
    machine,
    undo::{remove_event, remove_instance},
};
use crate::{
    error::words,
    os::{owner::Owner, tracefs::Tracefs},
};

/// Something that an agent left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leftover {
    /// `instance`, `event` or `settings`.
    pub kind: &'static str,
    /// Its name in tracefs; for settings, the files.
    pub name: String,
    /// The process that made it, which has ended.
    pub owner_pid: u32,
    /// Whether it is gone now; never when it was only looked for.
    pub removed: bool,
    /// Why it is not gone, or why it is left as it is; empty if it is gone or was only looked for.
    pub why: String,
}

struct Cleaner {
    machine: Area,
    dry_run: bool,
    found: Vec<Leftover>,
    /// How many of them are left as they are.
    given_up: usize,
}

/// Looks for what ended agents left behind, and removes it unless it is a `dry_run`. Does nothing if nothing is left.
pub fn cleanup(dry_run: bool) -> Vec<Leftover> {
    let Some(tracefs) = Tracefs::find_mounted() else { return Vec::new() };
    let mut cleaner = Cleaner { machine: Area::machine(&Arc::new(tracefs)), dry_run, found: Vec::new(), given_up: 0 };
    let dead: Vec<_> =
        journal::all().into_iter().filter(|journal| journal.outdated || journal.owner.is_dead()).collect();
    for journal in &dead {
        if !journal.outdated {
            cleaner.instances(&journal.entries, &journal.owner);
        }
    }
    cleaner.named_instances();
    // Settings after instances: a graph that is still drawn there would get other roots.
    for journal in dead.iter().filter(|journal| !journal.outdated) {
        cleaner.rest(&journal.entries, &journal.owner);
    }
    cleaner.named_events();
    let kept = cleaner.found.iter().filter(|leftover| !leftover.removed).count();
    if kept <= cleaner.given_up && !dry_run {
        for journal in dead {
            let _gone = fs::remove_file(journal.path);
        }
    }
    cleaner.found
}

/// [`cleanup`] at the start of an agent, told in the log.
pub(crate) fn remove_leftovers() {
    for Leftover { kind, name, removed, why, .. } in cleanup(false) {
        if removed {
            tracing::info!(kind, name, "removed from tracefs what an earlier agent left");
        } else {
            tracing::warn!(kind, name, why, "what an earlier agent left in tracefs is still there");
        }
    }
}

impl Cleaner {
    fn tell(
        &mut self,
        kind: &'static str,
        name: &str,
        owner: &Owner,
        remove: impl FnOnce(&Area) -> Result<(), String>,
    ) {
        if self.found.iter().any(|leftover| leftover.kind == kind && leftover.name == name) {
            return;
        }
        let done = if self.dry_run { None } else { Some(remove(&self.machine)) };
        self.found.push(Leftover {
            kind,
            name: name.to_owned(),
            owner_pid: owner.pid,
            removed: matches!(done, Some(Ok(()))),
            why: done.and_then(Result::err).unwrap_or_default(),
        });
    }

    fn instance(&mut self, name: &str, owner: &Owner) {
        self.tell("instance", name, owner, |machine| {
            // It may be held open; then at least nothing hits any more.
            for (file, text) in [("tracing_on", "0"), ("current_tracer", "nop"), ("events/enable", "0")] {
                let _tried = machine.write(&format!("instances/{name}/{file}"), text);
            }
            if remove_instance(machine, name) { Ok(()) } else { Err("somebody holds its files open".to_owned()) }
        });
    }

    fn event(&mut self, name: &str, owner: &Owner) {
        self.tell("event", name, owner, |machine| {
            if remove_event(machine, name) { Ok(()) } else { Err("somebody uses it".to_owned()) }
        });
    }

    /// Those of a journal; its names are checked again, as whatever is named there is removed.
    fn instances(&mut self, entries: &[JournalEntry], owner: &Owner) {
        for entry in entries {
            if let JournalEntry::Instance { name } = entry {
                let ours = Owner::of_name(name, '-').as_ref() == Some(owner);
                if ours && self.machine.has(&format!("instances/{name}")) {
                    self.instance(name, owner);
                }
            }
        }
    }

    fn named_instances(&mut self) {
        for name in self.machine.tracefs().instances() {
            if let Some(owner) = Owner::of_name(&name, '-').filter(Owner::is_dead) {
                self.instance(&name, &owner);
            }
        }
    }

    fn rest(&mut self, entries: &[JournalEntry], owner: &Owner) {
        for entry in entries.iter().rev() {
            match entry {
                JournalEntry::Settings { tracer, restore } => self.settings(tracer, restore, owner),
                JournalEntry::Event { name } => {
                    let group = name.split('/').next().unwrap_or_default();
                    let ours = Owner::of_name(group, '_').as_ref() == Some(owner);
                    if ours && self.machine.has(&format!("events/{name}")) {
                        self.event(name, owner);
                    }
                }
                JournalEntry::Instance { .. } => {}
            }
        }
    }

    /// The machine's own instance is put back unless somebody else has taken it over since.
    fn settings(&mut self, tracer: &str, restore: &[Restore], owner: &Owner) {
        let files: Vec<&str> = restore.iter().map(|setting| setting.file.as_str()).collect();
        let files = files.join(" ");
        let now = self.machine.read("current_tracer").unwrap_or_default();
        let taken = !tracer.is_empty() && now.trim() != "nop" && now.trim() != tracer;
        self.tell("settings", &files, owner, |machine| {
            if taken {
                return Err(format!("the tracer is {} now, which somebody else has set", now.trim()));
            }
            // In their order, and no further than the first that fails: see `undo`.
            let put_back = |setting: &Restore| {
                machine::put_back(machine, setting).map_err(|error| format!("{}: {}", setting.file, words(&error)))
            };
            restore.iter().try_for_each(put_back)
        });
        // What somebody else has taken over is theirs; nobody looks at it again.
        self.given_up += usize::from(taken);
    }

    fn named_events(&mut self) {
        let text = self.machine.read("dynamic_events").unwrap_or_default();
        for name in text.lines().filter_map(event_name) {
            let group = name.split('/').next().unwrap_or_default();
            if let Some(owner) = Owner::of_name(group, '_').filter(Owner::is_dead) {
                self.event(name, &owner);
            }
        }
    }
}

/// Group and name of a line of `dynamic_events`.
fn event_name(line: &str) -> Option<&str> {
    line.split(' ').next()?.split_once(':').map(|(_letter, name)| name)
}
