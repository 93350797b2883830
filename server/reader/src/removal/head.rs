//! The head of a capture of which something was removed: what was recorded, where and how it ended.
//!
//! Conditions, scripts, commands and what fired have values of all kinds in free text: they go with any choice. What is left is written
//! out here field by field, so that what is added to a spec is not told before somebody has thought of it.

use std::collections::BTreeSet;

use bathyscope_capture::{CaptureSpec, CodeLine, FunctionCode, HostFacts, Limits, SourceSpec, StreamSchema, Target};
use bathyscope_store::{CaptureRecord, SourceEnd};

use super::{Removal, RemovedKind};

/// The source whose rows a stream has, where that is known.
pub(crate) fn source_of<'a>(record: &'a CaptureRecord, schema: &StreamSchema) -> Option<&'a SourceSpec> {
    let sources = &record.spec.sources;
    if schema.derived.is_some() {
        return None;
    }
    // The stream of an only source does not name it.
    let is_only = sources.len() == 1 && schema.source.is_empty();
    sources.iter().find(|source| source.id == schema.source || is_only)
}

impl Removal {
    /// A schema, without what the names of probes tell.
    pub(crate) fn schema(&self, schema: &StreamSchema) -> StreamSchema {
        // It has where the kernel is in memory.
        let format = schema.format.clone().filter(|_| !self.removes(RemovedKind::Addresses));
        StreamSchema { name: self.name(&schema.name), format, ..schema.clone() }
    }

    /// What is told of the capture.
    pub(crate) fn head(&self, whole: &CaptureRecord) -> CaptureRecord {
        let mut record = whole.clone();
        record.title = self.title().to_owned();
        record.owner = self.chosen(RemovedKind::Names, &whole.owner);
        record.reason = String::new();
        record.spec = self.spec(&whole.spec);
        record.host = self.host(&whole.host);
        for stream in &mut record.streams {
            stream.schema = self.schema(&stream.schema);
        }
        for source in &mut record.sources {
            *source = SourceEnd { reason: String::new(), ..*source };
        }
        for derivation in &mut record.derivations {
            derivation.reason = String::new();
        }
        // A rule that is more than its name is a span, with conditions that somebody wrote.
        record.derivations.retain(|derivation| derivation.rule.starts_with('"'));
        record.firing = None;
        record.output_bytes = 0;
        record
    }

    /// The instructions of a function, without the files that they were compiled from.
    #[must_use]
    pub fn code(&self, mut code: FunctionCode) -> FunctionCode {
        let files: BTreeSet<u32> = code.lines.rows.iter().map(|CodeLine(_, _, file, _)| *file).collect();
        for (index, name) in (0_u32..).zip(&mut code.lines.names) {
            *name = if files.contains(&index) { self.chosen(RemovedKind::Paths, name) } else { self.name(name) };
        }
        code
    }

    pub(super) fn chosen(&self, kind: RemovedKind, text: &str) -> String {
        if self.removes(kind) { self.text(kind, text.as_bytes()) } else { text.to_owned() }
    }

    fn host(&self, host: &HostFacts) -> HostFacts {
        let mut host = host.clone();
        if self.removes(RemovedKind::Names) {
            host.hostname = self.text(RemovedKind::Names, host.hostname.as_bytes());
            host.target_name = String::new();
            // It tells which host it is, as a name does.
            host.boot_id = String::new();
        }
        host
    }

    fn spec(&self, spec: &CaptureSpec) -> CaptureSpec {
        let source = |source: &SourceSpec| SourceSpec {
            id: source.id.clone(),
            method: source.method.without_texts(&|name| self.name(name)),
            required: source.required,
        };
        let Limits {
            duration_ms,
            max_events,
            max_bytes,
            budget_cpu_permille,
            budgets,
            over_budget,
            reading,
            flight: _,
        } = spec.limits.clone();
        CaptureSpec {
            name: self.title().to_owned(),
            sources: spec.sources.iter().map(source).collect(),
            target: self.target(&spec.target),
            limits: Limits {
                duration_ms,
                max_events,
                max_bytes,
                budget_cpu_permille,
                budgets,
                over_budget,
                reading,
                flight: None,
            },
        }
    }

    fn target(&self, target: &Target) -> Target {
        use RemovedKind::{Arguments, Names, Paths};
        let command = |argv: &[String]| argv.iter().map(|word| self.text(Arguments, word.as_bytes())).collect();
        let user = |user: &Option<String>| user.as_deref().map(|user| self.chosen(Names, user));
        match target {
            Target::System => Target::System,
            Target::Process { pid, children } => Target::Process { pid: *pid, children: *children },
            Target::Processes { pids, children } => Target::Processes { pids: pids.clone(), children: *children },
            Target::Threads { tids, children } => Target::Threads { tids: tids.clone(), children: *children },
            Target::Command { argv, user: of, children } => {
                Target::Command { argv: command(argv), user: user(of), children: *children }
            }
            Target::During { argv, user: by, of } => {
                Target::During { argv: command(argv), user: user(by), of: Box::new(self.target(of)) }
            }
            // A path with the names of services and people in it.
            Target::Cgroup { path } => {
                let kind = if self.removes(Names) { Names } else { Paths };
                Target::Cgroup { path: self.chosen(kind, path) }
            }
            Target::Unit { name } => Target::Unit { name: self.chosen(Names, name) },
            Target::Container { name } => Target::Container { name: self.chosen(Names, name) },
            Target::User { user } => Target::User { user: self.chosen(Names, user) },
            Target::Comm { pattern } => Target::Comm { pattern: self.chosen(Names, pattern) },
        }
    }
}
