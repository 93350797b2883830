//! Attach points: from what is written to the places that there are, grouped by what a body finds there.

mod alternatives;
mod denied;
mod events;
mod functions;
mod tracepoints;
mod user;

pub(super) use bathyscope_catalog::{Wildcards, has_wildcard, matches_wildcards as matches};
pub use denied::denied as denied_function;
pub(super) use events::{HARDWARE_EVENTS, SOFTWARE_EVENTS};
pub(super) use tracepoints::ITERATORS;

use bathyscope_plan::{AttachPoint, Config, Diagnostic, MissingProbes, Span};

use super::{
    body::Hint,
    checker::ScriptChecker,
    context::{PointKind, Shape},
    visit::Uses,
};
use crate::lang::{
    ast::{self, AttachText},
    hir::ProbePoint,
};

/// How many names a message shows.
pub(super) const SHOWN_NAMES: usize = 8;

/// A probe of the script with the places that it is attached to.
pub(super) struct Unit<'a> {
    pub(super) probe: &'a ast::Probe,
    pub(super) groups: Vec<LayoutGroup>,
}

/// Places at which a body finds the same.
pub(super) struct LayoutGroup {
    pub(super) points: Vec<ProbePoint>,
    pub(super) shape: Shape,
}

/// A place that was found.
pub(super) struct ResolvedPoint {
    pub(super) name: String,
    pub(super) point: AttachPoint,
    pub(super) shape: Shape,
    /// Equal where the body finds the same things.
    pub(super) layout: String,
}

/// Why an attach point is none: a message, and what to do.
pub(super) struct UnresolvedPoint {
    pub(super) message: String,
    pub(super) hint: String,
    /// Whether it is only that the place does not exist, which `missing_probes` may forgive.
    pub(super) missing: bool,
}

impl UnresolvedPoint {
    /// The place does not exist.
    pub(super) fn missing(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), missing: true }
    }

    /// It is not written as it should be, or must not be used.
    pub(super) fn wrong(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), missing: false }
    }
}

/// The parts of an attach point after the provider.
pub(super) fn parts(text: &AttachText) -> Vec<&str> {
    text.parts.iter().skip(1).map(|part| part.text.as_str()).collect()
}

impl<'a> ScriptChecker<'a> {
    /// The places of all probes.
    pub(super) fn find_points(&mut self, probes: &[&'a ast::Probe]) -> Vec<Unit<'a>> {
        let (mut units, mut points, mut programs) = (Vec::new(), 0_usize, 0_usize);
        for probe in probes {
            let unit = self.unit(probe);
            points += unit.groups.iter().map(|group| group.points.len()).sum::<usize>();
            programs += unit.groups.iter().filter(|group| !group.shape.unknown).count();
            units.push(unit);
        }
        let end = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        let whole = probes.last().map_or(Span { start: 0, end }, |probe| probe.span);
        self.limit(whole, points, self.config.max_probes, "attach points", "max_probes");
        self.limit(whole, programs, self.config.max_bpf_programs, "programs", "max_bpf_progs");
        units
    }

    fn limit(&mut self, at: Span, count: usize, limit: u32, what: &str, setting: &str) {
        if count > limit as usize {
            self.report(Diagnostic::error(at, format!("the script has {count} {what}, more than {setting} = {limit}")))
                .hint(format!("use fewer, or raise the limit: `config = {{ {setting} = {count} }}`"));
        }
    }

    fn unit(&mut self, probe: &'a ast::Probe) -> Unit<'a> {
        let uses = Uses::of(probe);
        let mut groups: Vec<(String, LayoutGroup)> = Vec::new();
        for text in &probe.points {
            let Some(kind) = text.parts.first().and_then(|part| PointKind::of(&part.text)) else {
                self.no_provider(text);
                continue;
            };
            match self.find(kind, text, &uses) {
                Ok(found) => {
                    for found in found {
                        add(&mut groups, found);
                    }
                }
                Err(trouble) => {
                    self.trouble(text, &trouble);
                    let points = Vec::new();
                    groups.push((String::new(), LayoutGroup { points, shape: Shape::unknown(kind, &text.text) }));
                }
            }
        }
        let mut groups: Vec<LayoutGroup> = groups.into_iter().map(|(_, group)| group).collect();
        if groups.iter().any(|group| !group.shape.unknown) {
            // The body is checked anyway.
            groups.retain(|group| !group.shape.unknown);
        } else {
            groups.truncate(1);
        }
        agree_on_result(&mut groups);
        Unit { probe, groups }
    }

    fn no_provider(&mut self, text: &AttachText) {
        let word = text.parts.first().map_or("", |part| part.text.as_str()).to_owned();
        let span = text.parts.first().map_or(text.span, |part| part.span);
        if matches!(word.as_str(), "test" | "bench") {
            self.report(Diagnostic::error(span, format!("`{word}` probes are not run here")))
                .hint("use `begin` for what is to run once");
            return;
        }
        let names = crate::lang::PROVIDERS.iter().map(|provider| provider.name);
        let hint =
            crate::lang::suggest(&word, names).map_or_else(String::new, |near| format!("did you mean `{near}`?"));
        self.report(Diagnostic::error(span, format!("there is no kind of probe `{word}`"))).hint(hint);
    }

    fn trouble(&mut self, text: &AttachText, trouble: &UnresolvedPoint) {
        let forgiven = if trouble.missing { self.config.missing_probes } else { MissingProbes::Error };
        let diagnostic = match forgiven {
            MissingProbes::Error => Diagnostic::error(text.span, trouble.message.clone()),
            MissingProbes::Warn => Diagnostic::warning(text.span, format!("{} (left out)", trouble.message)),
            MissingProbes::Ignore => return,
        };
        let _told: Hint<'_> = self.report(diagnostic.hint(trouble.hint.clone()));
    }

    fn find(&mut self, kind: PointKind, text: &AttachText, uses: &Uses) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
        match kind {
            PointKind::Begin | PointKind::End | PointKind::Signal => events::special(kind, text),
            PointKind::Profile | PointKind::Interval => events::timer(kind, text),
            PointKind::Software => events::software(text),
            PointKind::Hardware => events::hardware(text, self.host),
            PointKind::Watchpoint => self.watchpoint(text),
            PointKind::Iter => self.iterator(text),
            PointKind::Tracepoint => self.tracepoint(text, uses),
            PointKind::RawTracepoint => self.raw_tracepoint(text),
            PointKind::Kprobe | PointKind::Kretprobe => self.kprobe(kind, text, uses),
            PointKind::Fentry | PointKind::Fexit => self.fentry(kind, text),
            PointKind::Uprobe | PointKind::Uretprobe | PointKind::Usdt => self.user(kind, text, uses),
        }
    }
}

/// How many places one wildcard may match.
pub(super) fn match_limit(config: &Config) -> usize {
    config.max_probes as usize
}

/// Refuses a wildcard that matches nothing or too much.
pub(super) fn limit_matches(text: &AttachText, count: usize, config: &Config) -> Result<(), UnresolvedPoint> {
    let limit = match_limit(config);
    if count > limit {
        let message = format!("`{}` matches {count} probe sites, more than {limit}", text.text);
        let hint = format!("narrow it, or raise the limit: `config = {{ max_probes = {} }}`", count.max(1025));
        return Err(UnresolvedPoint::wrong(message, hint));
    }
    Ok(())
}

fn add(groups: &mut Vec<(String, LayoutGroup)>, found: ResolvedPoint) {
    let ResolvedPoint { name, point, shape, layout } = found;
    let point = ProbePoint { name, point };
    let kind = shape.kind;
    let same = groups
        .iter_mut()
        .find(|(known, group)| !kind.is_tied() && !group.shape.unknown && group.shape.kind == kind && *known == layout);
    match same {
        Some((_, group)) => group.points.push(point),
        None => groups.push((layout, LayoutGroup { points: vec![point], shape })),
    }
}

/// A function's result has a type where all functions of a program agree.
fn agree_on_result(groups: &mut [LayoutGroup]) {
    use super::context::Returned;
    for group in groups {
        if group.points.len() > 1
            && let Returned::Register(ty) = &mut group.shape.returned
        {
            *ty = None;
        }
    }
}
