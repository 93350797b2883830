//! Processes as a tree of what started what, with what is known of each: from the process history, and from rows that tell
//! arguments, ends and time on CPUs. Of a capture that does not change any more it is read once, what a range has once for the last
//! ranges.

mod lives;
mod subtree;

use std::{collections::HashMap, sync::Arc};

use bathyscope_capture::{ColumnType, ProcessChange, RowKind, StreamKind, StreamSchema, StringId, TrackKind, visible};
use bathyscope_catalog::groups::{Container, name_of};

use self::{
    lives::{Life, Lives},
    subtree::Subtrees,
};
use crate::{
    Cancel, Source, TimeRange, ViewError,
    answers::{ProcessLife, ProcessTree},
    range::{
        overlap::{OverlapScan, inside_ns, word},
        timed_streams,
    },
    scan::Scan,
    source::relative,
};

/// The most processes of an answer.
pub const MAX_PROCESSES: usize = 5000;
/// The letters of a container's id that are told, as their tools do.
const SHORT_ID: usize = 12;
/// The longest arguments of a process that are sent, in characters.
const MAX_ARGUMENTS: usize = 2000;

/// Makes the tree of the processes that were there in a range. `changes` is the process history.
///
/// # Errors
/// If a chunk cannot be read, or `cancel` was set.
pub fn process_tree(
    source: &dyn Source,
    changes: &[ProcessChange],
    range: TimeRange,
    cancel: &Cancel,
) -> Result<ProcessTree, ViewError> {
    let facts = || ProcessFacts::read(source, changes, cancel);
    let facts = kept(source, String::new(), facts, |facts| facts.lives.bytes())?;
    let used = || UsedTimes::read(source, &facts.lives, range, cancel);
    let of_range = format!(" {} {}", range.start_ns, range.end_ns);
    let used = kept(source, of_range, used, |used| 24 * used.running_ns.len() + 64 * used.names.len())?;
    Ok(facts.answer(source, &used, range))
}

/// What was made of a capture before, if it does not change any more, or what is made now. Streams that are computed later count.
fn kept<T: std::any::Any + Send + Sync>(
    source: &dyn Source,
    of: String,
    make: impl FnOnce() -> Result<T, ViewError>,
    bytes: impl FnOnce(&T) -> usize,
) -> Result<Arc<T>, ViewError> {
    let Some((kept, capture)) = source.kept() else { return make().map(Arc::new) };
    let streams = source.streams().iter().filter(|schema| !schema.is_absent()).count();
    kept.kept((capture, format!("processes of {streams}{of}")), make, bytes)
}

/// What is known of processes whatever the range.
#[derive(Debug, Default)]
struct ProcessFacts {
    lives: Lives,
    has_ends: bool,
    has_arguments: bool,
}

/// What processes used in a range, by their places.
#[derive(Debug, Default)]
struct UsedTimes {
    running_ns: Vec<u64>,
    samples: Vec<u64>,
    /// Names that only samples tell.
    names: HashMap<usize, StringId>,
    has_states: bool,
    has_samples: bool,
}

fn text(source: &dyn Source, id: u64) -> &[u8] {
    source.dictionaries().text(u32::try_from(id).unwrap_or(0)).unwrap_or_default()
}

impl ProcessFacts {
    fn read(source: &dyn Source, changes: &[ProcessChange], cancel: &Cancel) -> Result<Self, ViewError> {
        let mut facts = Self { lives: Lives::of(changes), ..Self::default() };
        for (stream, schema) in (0_u16..).zip(source.streams()) {
            facts.read_calls(source, (stream, schema), cancel)?;
            facts.read_executions(source, (stream, schema), cancel)?;
        }
        Ok(facts)
    }

    /// Arguments and ends, from rows of system calls.
    fn read_calls(
        &mut self,
        source: &dyn Source,
        (stream, schema): (u16, &StreamSchema),
        cancel: &Cancel,
    ) -> Result<(), ViewError> {
        let typed =
            |name: &str, ty| schema.column(name).filter(|at| schema.columns.get(*at).is_some_and(|it| it.ty == ty));
        let (Some(call), Some(args), Some(result), Some(kind)) = (
            typed("call", ColumnType::Text),
            typed("args", ColumnType::Text),
            typed("result", ColumnType::I64),
            typed("kind", ColumnType::Text),
        ) else {
            return Ok(());
        };
        let common = [StreamSchema::TIME, StreamSchema::PID, StreamSchema::TID, StreamSchema::COMM];
        let wanted: Vec<usize> = common.into_iter().chain([call, args, result, kind]).collect();
        let mut scan = Scan::new(source, stream, TimeRange::ALL, None, &wanted, cancel)?;
        let lives = &mut self.lives;
        scan.for_each_hit(|hit| {
            hit.picked.for_each(|row| {
                let at = |column: usize| word(&hit.batch, column, row);
                let (time_ns, pid, tid) = (at(StreamSchema::TIME), at(StreamSchema::PID), at(StreamSchema::TID));
                lives.name([pid, tid], time_ns, at(StreamSchema::COMM) as StringId);
                match text(source, at(kind)) {
                    b"exit" if pid == tid => {
                        self.has_ends = true;
                        let words = [text(source, at(call)), b" ", text(source, at(args))].concat();
                        if let Some(life) = lives.at_mut(pid, time_ns) {
                            life.ended = visible(&words);
                        }
                    }
                    b"call" if at(result) == 0 && matches!(text(source, at(call)), b"execve" | b"execveat") => {
                        self.has_arguments = true;
                        if let Some(life) = lives.at_mut(pid, time_ns) {
                            life.arguments = arguments_of(&visible(text(source, at(args))));
                        }
                    }
                    _ => {}
                }
            });
            Ok(())
        })
    }

    /// Names of programs, from rows that tell which file was executed.
    fn read_executions(
        &mut self,
        source: &dyn Source,
        (stream, schema): (u16, &StreamSchema),
        cancel: &Cancel,
    ) -> Result<(), ViewError> {
        let is_text = |at: &usize| schema.columns.get(*at).is_some_and(|it| it.ty == ColumnType::Text);
        let Some(file) =
            schema.column("filename").filter(|at| schema.name.ends_with("sched_process_exec") && is_text(at))
        else {
            return Ok(());
        };
        let mut scan =
            Scan::new(source, stream, TimeRange::ALL, None, &[StreamSchema::TIME, StreamSchema::PID, file], cancel)?;
        scan.for_each_hit(|hit| {
            hit.picked.for_each(|row| {
                let at = |column: usize| word(&hit.batch, column, row);
                self.has_arguments = true;
                if let Some(life) = self.lives.at_mut(at(StreamSchema::PID), at(StreamSchema::TIME))
                    && life.arguments.is_empty()
                {
                    life.arguments = visible(text(source, at(file)));
                }
            });
            Ok(())
        })
    }
}

impl UsedTimes {
    fn read(source: &dyn Source, lives: &Lives, range: TimeRange, cancel: &Cancel) -> Result<Self, ViewError> {
        let nothing = vec![0; lives.all.len()];
        let mut used = Self { running_ns: nothing.clone(), samples: nothing, ..Self::default() };
        for (stream, schema) in (0_u16..).zip(source.streams()) {
            if schema.kind == StreamKind::Samples {
                used.read_samples(source, lives, (stream, range), cancel)?;
            }
        }
        used.read_states(source, lives, range, cancel)?;
        Ok(used)
    }

    fn read_samples(
        &mut self,
        source: &dyn Source,
        lives: &Lives,
        (stream, range): (u16, TimeRange),
        cancel: &Cancel,
    ) -> Result<(), ViewError> {
        self.has_samples = true;
        let wanted = [StreamSchema::TIME, StreamSchema::PID, StreamSchema::TID, StreamSchema::COMM];
        let mut scan = Scan::new(source, stream, range, None, &wanted, cancel)?;
        scan.for_each_hit(|hit| {
            hit.picked.for_each(|row| {
                let at = |column: usize| word(&hit.batch, column, row);
                let (pid, tid) = (at(StreamSchema::PID), at(StreamSchema::TID));
                let Some(place) = lives.at(pid, at(StreamSchema::TIME)) else { return };
                if let Some(samples) = self.samples.get_mut(place) {
                    *samples += 1;
                }
                if pid == tid && lives.all.get(place).is_some_and(|life| life.comms.is_empty()) {
                    self.names.entry(place).or_insert(at(StreamSchema::COMM) as StringId);
                }
            });
            Ok(())
        })
    }

    fn read_states(
        &mut self,
        source: &dyn Source,
        lives: &Lives,
        range: TimeRange,
        cancel: &Cancel,
    ) -> Result<(), ViewError> {
        let is_states = |kind: &RowKind| matches!(kind, RowKind::State { .. });
        for (stream, _, rule) in timed_streams(source, |schema| is_states(&schema.meaning().kind)) {
            if *rule.kind() != TrackKind::Thread {
                continue;
            }
            self.has_states = true;
            let scan = OverlapScan { source, stream, rule: &rule, range, more: &[], cancel };
            scan.for_each_chunk(|_, rows| {
                for (_, row) in rows {
                    if source.dictionaries().text(row.name.text) == Some(b"running")
                        && let Some(place) = lives.at(row.pid, row.entry.begin_ns)
                        && let Some(running_ns) = self.running_ns.get_mut(place)
                    {
                        *running_ns += inside_ns(row, range);
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn of(&self, at: usize) -> (u64, u64) {
        let of = |all: &[u64]| all.get(at).copied().unwrap_or(0);
        (of(&self.running_ns), of(&self.samples))
    }
}

impl ProcessFacts {
    fn answer(&self, source: &dyn Source, used: &UsedTimes, range: TimeRange) -> ProcessTree {
        let all = &self.lives.all;
        let mut wanted: Vec<bool> = all.iter().map(|life| life.was_in(range)).collect();
        // Those that started one are shown with it.
        for at in (0..all.len()).rev() {
            let parent = all.get(at).and_then(|life| life.parent);
            if let (true, Some(parent)) = (wanted.get(at).copied().unwrap_or(false), parent)
                && let Some(parent) = wanted.get_mut(parent)
            {
                *parent = true;
            }
        }
        let order = subtree::in_order(all, |at| used.of(at));
        let more = wanted.iter().filter(|is_wanted| **is_wanted).count().saturating_sub(MAX_PROCESSES) as u64;
        let is_wanted = |at: &usize| wanted.get(*at) == Some(&true);
        let shown: Vec<usize> = order.iter().copied().filter(is_wanted).take(MAX_PROCESSES).collect();
        let mut subtrees = Subtrees::of(all, &order, &shown);
        let origin = source.origin_ns();
        let line = |(place, at): (usize, &usize)| {
            let life = all.get(*at).cloned().unwrap_or_default();
            let name = |id: &u32| source.dictionaries().text(*id).map(visible).unwrap_or_default();
            let told = life.comms.iter().chain(used.names.get(at));
            let mut names: Vec<String> = told.map(name).filter(|name| !name.is_empty()).collect();
            names.dedup();
            let (running_ns, samples) = used.of(*at);
            let group = life.group.as_ref().map(name).unwrap_or_default();
            let within = name_of(&group);
            let (filter, is_shared) = subtrees.filter(place);
            ProcessLife {
                pid: life.pid,
                parent: subtrees.parent(place).map(|parent| parent as u32),
                depth: subtrees.depth(place),
                comm: names.pop().unwrap_or_default(),
                former: names,
                start: life.start_ns.map(|time_ns| relative(origin, time_ns)),
                end: life.end_ns.map(|time_ns| relative(origin, time_ns)),
                arguments: life.arguments.chars().take(MAX_ARGUMENTS).collect(),
                ended: life.ended,
                user: life.user.as_ref().map(name).unwrap_or_default(),
                container: within.container.map(container_words).unwrap_or_default(),
                unit: within.unit.unwrap_or_default().to_owned(),
                group: group.clone(),
                is_inherited: life.is_inherited,
                running: used.has_states.then_some(running_ns),
                samples: used.has_samples.then_some(samples),
                threads: life.peak,
                descendants: subtrees.descendants(place),
                filter,
                is_shared,
            }
        };
        ProcessTree {
            start: relative(origin, range.start_ns),
            end: relative(origin, range.end_ns),
            processes: shown.iter().enumerate().map(line).collect(),
            more,
            has_states: used.has_states,
            has_ends: self.has_ends,
            has_arguments: self.has_arguments,
            has_parents: self.lives.has_parents,
            has_owners: self.lives.has_owners,
        }
    }
}

impl Life {
    /// Whether any part of it is in a range.
    fn was_in(&self, range: TimeRange) -> bool {
        self.start_ns.unwrap_or(0) < range.end_ns && self.end_ns.is_none_or(|end_ns| end_ns >= range.start_ns)
    }
}

/// A container in words: `docker 0f1e2d3c4b5a`, or its name where the path has it.
fn container_words(container: Container<'_>) -> String {
    let short: String = container.id.chars().take(SHORT_ID).collect();
    format!("{} {}", container.runtime, container.name.unwrap_or(&short))
}

/// The list of arguments in the text of a call: `"/bin/ls", ["ls", "-l"], 0x7ffe /* 3 vars */` → `["ls", "-l"]`; the whole where
/// there is none.
fn arguments_of(text: &str) -> String {
    let (mut in_quotes, mut is_escaped, mut begin) = (false, false, None);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if in_quotes => is_escaped = true,
            '"' => in_quotes = !in_quotes,
            _ if in_quotes => {}
            '[' if begin.is_none() => begin = Some(at),
            ']' if begin.is_some() => {
                return text.get(begin.unwrap_or(0)..=at).unwrap_or(text).to_owned();
            }
            _ => {}
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_the_list_of_a_call() {
        for (text, list) in [
            ("\"/bin/ls\", [\"ls\", \"-l\"], 0x7ffe /* 3 vars */", "[\"ls\", \"-l\"]"),
            ("\"/bin/[\", [\"[\", \"a]\"], NULL", "[\"[\", \"a]\"]"),
            ("\"/bin/x\", 0x1, 0x2", "\"/bin/x\", 0x1, 0x2"),
            ("\"cut", "\"cut"),
            ("3, \"\", [\"sh\", \"-c\", \"a \\\"b\\\"]\"...], 0x1", "[\"sh\", \"-c\", \"a \\\"b\\\"]\"...]"),
        ] {
            assert_eq!(arguments_of(text), list);
        }
    }
}
