//! `events/SYSTEM/EVENT/enable`, `filter` and `trigger`; `set_event`.

use std::ops::Range;

use bathyscope_capture::{TraceEvent, TracepointName};
use bathyscope_catalog::matches_wildcards;

use super::{FileUse, Tracefs, files::refuse};
use crate::{
    answer::{Marks, Refusal, Result, SpanKind},
    host::Host,
};

/// Events that a line has switched on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EnabledEvent {
    /// The subsystem or a pattern.
    pub(super) system: String,
    /// The event or a pattern.
    pub(super) event: String,
    /// Where that is said.
    pub(super) at: Range<usize>,
}

impl Tracefs {
    /// Writes to a file of an event.
    pub(super) fn write_event(&mut self, path: &str, text: &str, used: &FileUse<'_>, marks: &mut Marks) -> Result<()> {
        marks.mark(&used.at, SpanKind::Event);
        let parts: Vec<&str> = path.split('/').collect();
        let (names, file) = parts.split_at(parts.len().saturating_sub(1));
        let (system, event) = match names {
            [] => ("*", "*"),
            [system] => (*system, "*"),
            [system, event] => (*system, *event),
            _ => {
                return Err(Refusal::new(
                    used.at.clone(),
                    format!("events/{path} is no file of an event"),
                    "Write events/SYSTEM/EVENT/enable.",
                ));
            }
        };
        match file {
            ["enable"] => {
                self.enable(system, event, text == "1", used);
                Ok(())
            }
            ["filter"] if text == "0" => {
                self.filters.retain(|(name, _)| *name != format!("{system}:{event}"));
                Ok(())
            }
            ["filter"] if event != "*" => {
                self.filters.retain(|(name, _)| *name != format!("{system}:{event}"));
                self.filters.push((format!("{system}:{event}"), text.to_owned()));
                Ok(())
            }
            ["filter"] => {
                Err(refuse(used, "a filter of a whole subsystem is not supported", "Write it for each event."))
            }
            ["trigger"] => Err(refuse(
                used,
                "triggers of events are not set",
                "A script of the probe language counts, sums and makes histograms: `bpftrace -e 'tracepoint:SYSTEM:EVENT { @[comm] = count(); }'`.",
            )),
            _ => Err(Refusal::new(
                used.at.clone(),
                format!("events/{path} is no file that is written"),
                "Write enable or filter.",
            )),
        }
    }

    fn enable(&mut self, system: &str, event: &str, on: bool, used: &FileUse<'_>) {
        for probe in &mut self.probes {
            let named = matches_wildcards(system, &probe.defined.group)
                && (event == "..." || matches_wildcards(event, &probe.defined.event));
            if named {
                probe.is_enabled = Some(on);
            }
        }
        let is_own = self.probes.iter().any(|one| one.defined.group == system)
            && (event == "..." || event == "*" || self.probes.iter().any(|one| one.defined.event == event));
        self.enabled.retain(|known| (known.system.as_str(), known.event.as_str()) != (system, event));
        if on && !is_own {
            self.enabled.push(EnabledEvent { system: system.to_owned(), event: event.to_owned(), at: used.at.clone() });
        } else if !on && self.argv.is_some() {
            self.has_ended = true;
        }
    }

    /// `echo SYSTEM:EVENT > set_event`
    pub(super) fn set_event(&mut self, text: &str, used: &FileUse<'_>, marks: &mut Marks) -> Result<()> {
        marks.mark(&used.word.source, SpanKind::Event);
        if !used.appends {
            self.enabled.clear();
        }
        for word in text.split_whitespace() {
            let (on, name) = word.strip_prefix('!').map_or((true, word), |name| (false, name));
            let (system, event) = name.split_once(':').unwrap_or(("*", name));
            let event = if event.is_empty() { "*" } else { event };
            self.enable(system, event, on, used);
        }
        Ok(())
    }

    /// Puts events and probes into the trace that lines have switched on.
    pub(super) fn add_events(&mut self, host: &dyn Host, marks: &mut Marks) -> Result<()> {
        for EnabledEvent { system, event, at } in std::mem::take(&mut self.enabled) {
            for name in named(&system, &event, &at, host)? {
                let filter =
                    self.filters.iter().find(|(known, _)| *known == name.to_string()).map(|(_, filter)| filter.clone());
                if !self.trace.events.iter().any(|known| known.event == name) {
                    self.trace.events.push(TraceEvent { event: name, filter });
                }
            }
        }
        let some_are_on = self.probes.iter().any(|one| one.is_enabled == Some(true));
        for one in &self.probes {
            if some_are_on && one.is_enabled != Some(true) {
                marks.ignore(&one.at, "this probe is not recorded: it is not switched on");
            } else {
                self.trace.dynamic.push(one.defined.probe.clone());
            }
        }
        Ok(())
    }
}

/// The tracepoints that a line means.
fn named(system: &str, event: &str, at: &Range<usize>, host: &dyn Host) -> Result<Vec<TracepointName>> {
    let is_pattern = [system, event].iter().any(|text| text.contains(['*', '?', '[']));
    match host.tracepoints() {
        Some(all) => {
            let matches = |name: &&TracepointName| {
                matches_wildcards(system, name.system()) && matches_wildcards(event, name.name())
            };
            let found: Vec<TracepointName> = all.iter().filter(matches).cloned().collect();
            if found.is_empty() {
                let known = all.iter().map(TracepointName::name);
                let near = bathyscope_catalog::closest(event, known).map(|near| format!("Did you mean `{near}`?"));
                let why = format!("this kernel has no event {system}:{event}");
                return Err(Refusal::new(
                    at.clone(),
                    why,
                    near.unwrap_or_else(|| "Search for it in the catalogue.".to_owned()),
                ));
            }
            Ok(found)
        }
        None if is_pattern => {
            let why = format!("which events are meant by {system}:{event} is not known without asking the host");
            Err(Refusal::new(at.clone(), why, "Name the events with their subsystem."))
        }
        None => {
            let name = format!("{system}:{event}").parse::<TracepointName>();
            name.map(|name| vec![name])
                .map_err(|error| Refusal::new(at.clone(), error.to_string(), "Write events/SYSTEM/EVENT/enable."))
        }
    }
}
