//! Functions that a trace names: whether this kernel has them, and what somebody should know about them.

use bathyscope_capture::{CaptureSpec, DynamicProbe, Method, TraceSpec};
use bathyscope_catalog::{
    dynamic::{Line, ProbeSite, parse_dynamic},
    kernel_names::seldom_called,
};
use bathyscope_plan::Diagnostic;

use super::{KernelFacts, span};
use crate::ScriptAgent;

/// The name of a function without a module behind it; none for a pattern.
fn name_of(function: &str) -> Option<&str> {
    let name = function.split_once(":mod:").map_or(function, |(name, _)| name);
    (!name.contains(['*', '?', '['])).then_some(name)
}

fn named(trace: &TraceSpec) -> impl Iterator<Item = &str> {
    let lists = [&trace.functions, &trace.graph_roots, &trace.not_functions, &trace.graph_not];
    lists.into_iter().flatten().map(String::as_str)
}

/// Functions of a trace that this kernel does not have, or cannot trace: the text that has them, one a line, and what is
/// wrong with each.
pub(super) fn wrong(
    agent: &mut impl ScriptAgent,
    facts: &mut KernelFacts,
    trace: &TraceSpec,
) -> Option<(String, Vec<Diagnostic>)> {
    let (mut text, mut troubles) = (String::new(), Vec::new());
    for function in named(trace) {
        let start = text.len();
        text.push_str(function);
        text.push('\n');
        let Some(name) = name_of(function) else { continue };
        let events = facts.events(agent);
        let functions = facts.functions(agent);
        // Where the lists cannot be read the kernel is asked when the capture begins.
        let why = if !functions.is_empty() && !functions.has(None, name) {
            functions.missing(name, &events)
        } else if let Err(why) = can_be_traced(agent, facts, name) {
            why
        } else {
            continue;
        };
        troubles.push(Diagnostic::error(span(start, start + function.len()), why));
    }
    (!troubles.is_empty()).then_some((text, troubles))
}

/// Whether ftrace can trace a function that there is, as far as its list can be read.
pub(super) fn can_be_traced(agent: &mut impl ScriptAgent, facts: &mut KernelFacts, name: &str) -> Result<(), String> {
    let traceable = facts.traceable(agent);
    if traceable.is_empty() || traceable.binary_search_by(|known| known.as_str().cmp(name)).is_ok() {
        return Ok(());
    }
    Err(format!(
        "`{name}` is a function of this kernel and cannot be traced: it is not in available_filter_functions; trace what \
         calls it, or what it calls"
    ))
}

fn probed(probes: &[DynamicProbe]) -> impl Iterator<Item = String> {
    probes.iter().filter_map(|probe| match parse_dynamic(probe.line()).ok()? {
        Line::Define(definition) => match definition.place {
            ProbeSite::Function { symbol, .. } | ProbeSite::Traced { symbol, .. } => Some(symbol),
            _ => None,
        },
        Line::Remove { .. } => None,
    })
}

/// What somebody should know who wonders why a capture has few rows or none: functions that are hardly ever called.
pub fn hints(spec: &CaptureSpec) -> Vec<String> {
    let traced = spec.methods().filter_map(Method::trace);
    let traced = traced.flat_map(|trace| trace.functions.iter().chain(&trace.graph_roots));
    let traced = traced.filter_map(|function| name_of(function)).map(str::to_owned);
    let names: Vec<String> = traced.chain(spec.methods().flat_map(|method| probed(method.dynamic()))).collect();
    let mut hints: Vec<String> = Vec::new();
    for (_, why) in names.iter().filter_map(|name| seldom_called(name)) {
        if !hints.iter().any(|known| known == why) {
            hints.push(why.to_owned());
        }
    }
    hints
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::Target;

    use super::*;

    fn told(trace: TraceSpec) -> usize {
        hints(&CaptureSpec::of(Method::Trace(trace), Target::System)).len()
    }

    #[test]
    fn functions_that_are_hardly_ever_called_are_told() {
        let roots = |names: &[&str]| TraceSpec {
            graph_roots: names.iter().map(|name| (*name).to_owned()).collect(),
            ..TraceSpec::default()
        };
        assert_eq!(told(roots(&["do_sys_open", "vfs_read"])), 1);
        assert_eq!(told(roots(&["do_sys_open:mod:x", "schedule", "do_sys_open"])), 2);
        assert_eq!(told(roots(&["do_sys_open*", "do_sys_openat2"])), 0);
        let line = Some("p:probe/do_sys_open do_sys_open".to_owned());
        let probe = DynamicProbe { typed: "do_sys_open".to_owned(), file: None, line };
        assert_eq!(told(TraceSpec { dynamic: vec![probe], ..TraceSpec::default() }), 1);
    }
}
