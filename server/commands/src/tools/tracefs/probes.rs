//! Lines of `kprobe_events` and `uprobe_events`.

use std::ops::Range;

use bathyscope_capture::DynamicProbe;
use bathyscope_catalog::{
    dynamic::{DynamicDefinition, End, FilePlace, Line, ProbeSite, parse_dynamic},
    matches_wildcards,
};

use super::{FileUse, Tracefs};
use crate::{
    answer::{Marks, Refusal, Result, SpanKind},
    call::DefinedProbe,
    host::Host,
};

/// A probe that a line defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnProbe {
    /// The probe.
    pub(super) defined: DefinedProbe,
    /// Where it is defined.
    pub(super) at: Range<usize>,
    /// Whether a line has switched it on or off.
    pub(super) is_enabled: Option<bool>,
}

impl Tracefs {
    /// Writes definitions to a file.
    pub(super) fn define(&mut self, used: &FileUse<'_>, _host: &dyn Host, marks: &mut Marks) -> Result<()> {
        if !used.appends {
            marks.note(&used.at, "`>` removes the probes that this text has made and nothing else");
            self.probes.clear();
        }
        marks.mark(&used.word.source, SpanKind::Event);
        if let Some(one) = used.word.expansions.iter().find(|one| one.kind != crate::shell::ExpansionKind::Glob) {
            return Err(one.refusal());
        }
        let mut at = 0;
        for line in used.word.text.split('\n') {
            if !line.trim().is_empty() {
                self.line(line, at, used, marks)?;
            }
            at += line.len() + 1;
        }
        Ok(())
    }

    fn line(&mut self, line: &str, begin: usize, used: &FileUse<'_>, marks: &mut Marks) -> Result<()> {
        let whole = used.word.place(begin..begin + line.len());
        let parsed = parse_dynamic(line.trim()).map_err(|error| {
            let blanks = line.len() - line.trim_start().len();
            let place = used.word.place((begin + blanks + error.at).min(begin + line.len())..begin + line.len());
            let at = if place.start < place.end { place } else { whole.clone() };
            Refusal::new(
                at,
                error.problem.to_string(),
                "The grammar is that of kprobe_events: p[:[GROUP/]EVENT] PLACE [ARGUMENTS].",
            )
        })?;
        match parsed {
            Line::Define(definition) => {
                let is_user = used.path == "uprobe_events" || definition.is_user();
                let group =
                    definition.group.clone().unwrap_or_else(|| if is_user { "uprobes" } else { "kprobes" }.to_owned());
                let event = definition.event.clone().unwrap_or_else(|| kernel_name(&definition));
                let probe = DynamicProbe::from(line.trim());
                self.probes.push(OwnProbe {
                    defined: DefinedProbe { group, event, probe, is_kept: false },
                    at: whole,
                    is_enabled: None,
                });
            }
            Line::Remove { group, event } => {
                let matches = |one: &OwnProbe| {
                    group.as_deref().is_none_or(|group| group == one.defined.group)
                        && matches_wildcards(&event, &one.defined.event)
                };
                let was_used = self.reads || self.is_on || self.has_ended || self.argv.is_some();
                if self.probes.iter().any(matches) && !was_used {
                    self.probes.retain(|one| !matches(one));
                } else {
                    marks.ignore(&whole, "the capture removes its probes at its end; those of others are left alone");
                }
            }
        }
        Ok(())
    }
}

/// The name that the kernel gives an event which has none.
fn kernel_name(definition: &DynamicDefinition) -> String {
    let of = |on: &End| if *on == End::Entry { 'p' } else { 'r' };
    match &definition.place {
        ProbeSite::Function { symbol, offset, on, .. } => format!("{}_{symbol}_{offset}", of(on)),
        ProbeSite::Address { address, on } => format!("{}_0x{address:x}", of(on)),
        ProbeSite::Traced { symbol, on } => format!("{symbol}__{}", if *on == End::Entry { "entry" } else { "exit" }),
        ProbeSite::Tracepoint { name } => name.clone(),
        ProbeSite::Event { event, .. } => event.clone(),
        ProbeSite::File { path, at, returns, .. } => {
            let name = path.rsplit('/').next().unwrap_or(path);
            let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
            let letter = if *returns { 'r' } else { 'p' };
            match at {
                FilePlace::Offset(offset) => format!("{letter}_{}_0x{offset:x}", name.get(..end).unwrap_or(name)),
                FilePlace::Function { name, .. } => format!("{letter}_{name}"),
            }
        }
    }
}
