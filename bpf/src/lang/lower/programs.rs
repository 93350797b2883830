//! The programs of a script and its plan.

use std::{collections::HashMap, sync::Arc};

use bathyscope_plan::{Action, AttachPoint, CallSide, Diagnostic, Plan, ProbePlan, ProgramPlan, ProgramType, Site};

use super::{
    LowerOptions, Lowered, Result,
    analysis::Analysis,
    calls::{self, Calls},
    lines::Lines,
    nesting::nests,
    program::{Identity, Lower, Shared},
    record::{Layout, layout},
    scratch::{CLAIMED, pieces},
    walk,
};
use crate::{
    ir::{Program, ProgramKind, Source},
    lang::{
        hir::{self, ProbePoint, TypedExprKind},
        limits::MAX_SCRIPT_OPS,
    },
};

/// The most characters of a program's name that come from the attach point.
const MAX_NAME: usize = 24;

/// What one program is attached to.
struct ProgramAttachment<'a> {
    probe: &'a hir::TypedProbe,
    kind: ProgramKind,
    points: Vec<&'a ProbePoint>,
    /// If it is attached to the tracepoint of all system calls.
    calls: Option<Calls>,
}

fn kind_of(point: &AttachPoint) -> (ProgramKind, ProgramType) {
    match point {
        AttachPoint::Begin | AttachPoint::End | AttachPoint::Signal { .. } => {
            (ProgramKind::RawTracepoint, ProgramType::Run)
        }
        AttachPoint::Tracepoint { .. } => (ProgramKind::Tracepoint, ProgramType::Tracepoint),
        AttachPoint::RawTracepoint { .. } => (ProgramKind::BtfTracepoint, ProgramType::RawTracepoint),
        AttachPoint::Kprobe { exit: false, .. } => (ProgramKind::Kprobe, ProgramType::Kprobe),
        AttachPoint::Kprobe { exit: true, .. } => (ProgramKind::Kretprobe, ProgramType::Kprobe),
        AttachPoint::Fentry { exit: false, .. } => (ProgramKind::Fentry, ProgramType::Fentry),
        AttachPoint::Fentry { exit: true, .. } => (ProgramKind::Fexit, ProgramType::Fexit),
        AttachPoint::Uprobe { exit: false, .. } | AttachPoint::Usdt { .. } => {
            (ProgramKind::Uprobe, ProgramType::Uprobe)
        }
        AttachPoint::Uprobe { exit: true, .. } => (ProgramKind::Uretprobe, ProgramType::Uprobe),
        AttachPoint::Profile { .. }
        | AttachPoint::Interval { .. }
        | AttachPoint::PerfEvent { .. }
        | AttachPoint::Watchpoint { .. } => (ProgramKind::PerfEvent, ProgramType::PerfEvent),
        AttachPoint::Iterator { .. } => (ProgramKind::Iterator, ProgramType::Iterator),
    }
}

/// What a typed program is loaded for.
fn target_of(point: &AttachPoint) -> &str {
    match point {
        AttachPoint::RawTracepoint { name, .. } => name,
        AttachPoint::Fentry { function, .. } => function,
        AttachPoint::Iterator { target, .. } => target,
        _ => "",
    }
}

/// Whether hits at this point happen in a process that they are about.
fn is_filtered(point: &AttachPoint) -> bool {
    !matches!(
        point,
        AttachPoint::Begin
            | AttachPoint::End
            | AttachPoint::Signal { .. }
            | AttachPoint::Interval { .. }
            | AttachPoint::Iterator { .. }
    )
}

/// Splits the attach points of a probe into those that one program can serve.
fn groups<'a>(probe: &'a hir::TypedProbe, sides: &[CallSide]) -> Vec<ProgramAttachment<'a>> {
    let reads_arguments = |probe: &hir::TypedProbe| {
        let mut found = |expr: &hir::TypedExpr| matches!(expr.kind, TypedExprKind::UsdtArgument { .. });
        probe.predicate.as_ref().is_some_and(|predicate| walk::any_expression(predicate, &mut found))
            || walk::any_expression_of(&probe.body, &mut found)
    };
    let by_arguments = reads_arguments(probe);
    let alike = |a: &AttachPoint, b: &AttachPoint| match (a, b) {
        (AttachPoint::Usdt { arguments: a, .. }, AttachPoint::Usdt { arguments: b, .. }) => !by_arguments || a == b,
        _ => is_filtered(a) == is_filtered(b),
    };
    let mut points: Vec<&ProbePoint> = probe.points.iter().collect();
    let of_calls = calls::take(probe, sides, &mut points).into_iter();
    let mut all: Vec<ProgramAttachment<'_>> = of_calls
        .map(|(calls, points)| ProgramAttachment { probe, kind: ProgramKind::Tracepoint, points, calls: Some(calls) })
        .collect();
    for point in points {
        let (kind, ty) = kind_of(&point.point);
        // Of these a program serves one point, or does not know which it was.
        let alone = kind.has_target() || ty == ProgramType::Run;
        let same = |group: &&mut ProgramAttachment<'_>| {
            group.kind == kind
                && group.calls.is_none()
                && group.points.first().is_some_and(|first| alike(&first.point, &point.point))
        };
        match all.iter_mut().find(same).filter(|_| !alone) {
            Some(group) => group.points.push(point),
            None => all.push(ProgramAttachment { probe, kind, points: vec![point], calls: None }),
        }
    }
    all
}

/// `p3_vfs_read`: unique by the number, and of use in a list.
fn name_of(index: usize, point: &ProbePoint) -> String {
    let last = point.name.rsplit(':').next().unwrap_or("");
    let legible = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("p{index}_{}", last.chars().take(MAX_NAME).map(legible).collect::<String>())
}

/// Lowers a script, keeping values of at most so many bytes on the stack.
pub(super) fn lower(
    script: &hir::TypedScript,
    options: &LowerOptions,
    on_stack_limit: u32,
) -> std::result::Result<Lowered, Vec<Diagnostic>> {
    let lines = Lines::of(&options.source);
    let layouts: Vec<Layout> = script.sites.iter().map(|site| layout(site, options.comm)).collect();
    let sides = calls::sides(script, options);
    let groups: Vec<ProgramAttachment<'_>> = script.probes.iter().flat_map(|probe| groups(probe, &sides)).collect();
    let shared = Shared {
        script,
        options,
        lines: &lines,
        source: Arc::new(Source { name: options.name.clone(), text: options.source.to_string() }),
        layouts: &layouts,
        ring_bytes: if script.config.ring_bytes == 0 { options.ring_bytes } else { script.config.ring_bytes },
        programs: u32::try_from(groups.len()).unwrap_or(u32::MAX),
        on_stack_limit,
        marked: marked(script),
        exits: script.sites.iter().any(|site| site.action == Action::Exit),
    };
    let mut plan = Plan {
        sites: script.sites.iter().zip(&layouts).map(|(site, layout)| laid_out(site, layout)).collect(),
        maps: script.maps.clone(),
        comm: options.comm,
        config: script.config.clone(),
        ..Plan::default()
    };
    let (mut programs, mut diagnostics) = (Vec::new(), Vec::new());
    let mut scratch: HashMap<String, u32> = HashMap::new();
    let mut size = 0_usize;
    for (index, group) in groups.iter().enumerate() {
        match one(&shared, index, group, &mut plan) {
            Ok(one) => {
                for (name, bytes) in one.needs {
                    let most = scratch.entry(name).or_default();
                    *most = bytes.max(*most);
                }
                size += one.size;
                if size > MAX_SCRIPT_OPS {
                    let message = format!("the script becomes too large: {} programs do not fit", groups.len());
                    let hint = "attach it to fewer probe sites, or do less at each";
                    return Err(vec![Diagnostic::error(group.probe.span, message).hint(hint)]);
                }
                programs.push(one.program);
            }
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let claimed = pieces(scratch.iter().filter(|(name, _)| name.starts_with(CLAIMED)).map(|(_, bytes)| *bytes).sum());
    for map in programs.iter_mut().flat_map(|program| &mut program.maps) {
        if let Some(bytes) = scratch.get(&map.name) {
            map.value_bytes = (*bytes).max(8);
        }
        if map.name.starts_with(CLAIMED) {
            map.max_entries = claimed;
        }
    }
    let spans = groups.iter().map(|group| group.probe.span).collect();
    Ok(Lowered { programs, plan, spans })
}

fn laid_out(site: &Site, layout: &Layout) -> Site {
    let mut site = site.clone();
    site.fields.iter_mut().zip(&layout.offsets).for_each(|(field, offset)| field.offset = *offset);
    (site.fixed_bytes, site.max_bytes) = (layout.fixed_bytes, layout.max_bytes);
    site
}

/// A program, and what it takes.
struct One {
    program: Program,
    /// Bytes of scratch memory by name.
    needs: Vec<(String, u32)>,
    /// Operations and blocks.
    size: usize,
}

/// Lowers one program and adds it and its attach points to the plan.
fn one(shared: &Shared<'_>, index: usize, group: &ProgramAttachment<'_>, plan: &mut Plan) -> Result<One> {
    let probe = group.probe;
    let Some(first) = group.points.first() else {
        return Err(Diagnostic::error(probe.span, "this probe is attached nowhere"));
    };
    let program = u32::try_from(index).unwrap_or(u32::MAX);
    let id = Identity {
        name: name_of(index, first),
        kind: group.kind,
        is_filtered: is_filtered(&first.point),
        ends: !matches!(first.point, AttachPoint::Begin | AttachPoint::End),
        program,
        point: u32::try_from(plan.probes.len()).unwrap_or(u32::MAX),
        points: group.points.clone(),
        cookie: group.points.len() > 1 && group.calls.is_none(),
        calls: group.calls.clone(),
        shows_comm: shows_comm(probe),
    };
    let (line, _) = shared.lines.at(probe.span);
    let calls = group.calls.as_ref().map(|calls| calls.side);
    let kind = kind_of(&first.point).1;
    plan.programs.push(ProgramPlan { name: id.name.clone(), kind, cookie: id.cookie, line, calls });
    for point in &group.points {
        plan.probes.push(ProbePlan { name: point.name.clone(), point: point.point.clone(), program, line });
    }
    let analysis = Analysis::of(probe);
    let write = |guarded| -> Result<Lower<'_>> {
        let mut lower = Lower::new(shared, probe, (id.clone(), guarded), &analysis);
        lower.b.set_target(target_of(&first.point));
        lower.prologue()?;
        lower.statements(&probe.body)?;
        lower.leave(0);
        Ok(lower)
    };
    let mut lower = write(false)?;
    // Only what turns out to need scratch memory pays for claiming it.
    if nests(group.kind) && !lower.scratch_needs().is_empty() {
        lower = write(true)?;
    }
    plan.kernel_stacks |= lower.kernel_stacks;
    plan.user_stacks |= lower.user_stacks;
    let (needs, size) = (lower.scratch_needs(), lower.b.size());
    Ok(One { program: lower.b.finish(), needs, size })
}

fn shows_comm(probe: &hir::TypedProbe) -> bool {
    let mut found = |expr: &hir::TypedExpr| matches!(expr.kind, TypedExprKind::Builtin(hir::Builtin::Comm));
    probe.predicate.as_ref().is_some_and(|predicate| walk::any_expression(predicate, &mut found))
        || walk::any_expression_of(&probe.body, &mut found)
}

/// For each map, whether the elements of a histogram whose buckets are in its keys are asked for as such.
fn marked(script: &hir::TypedScript) -> Vec<bool> {
    let mut marked: Vec<bool> = script.maps.iter().map(|_| false).collect();
    let mut mark = |map: hir::ScriptMapId| {
        if let (Some(it), Some(plan)) = (marked.get_mut(map.0 as usize), script.maps.get(map.0 as usize)) {
            *it = super::maps::is_sparse(plan) && !plan.key.is_empty();
        }
    };
    for probe in &script.probes {
        let mut asked = |expr: &hir::TypedExpr| {
            if let TypedExprKind::HasKey { map, .. } | TypedExprKind::Length(hir::Countable::Map(map)) = &expr.kind {
                mark(*map);
            }
            false
        };
        let _all = probe.predicate.as_ref().is_some_and(|it| walk::any_expression(it, &mut asked));
        let _all = walk::any_expression_of(&probe.body, &mut asked);
        let mut visited = |statement: &hir::TypedStatement| {
            if let hir::TypedStatementKind::ForMap { map, .. } = &statement.kind {
                mark(*map);
            }
            false
        };
        let _all = walk::any_statement(&probe.body, &mut visited);
    }
    marked
}
