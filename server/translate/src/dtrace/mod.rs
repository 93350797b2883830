//! D, of DTrace.

mod actions;
mod aggregations;
mod clause;
mod parse;
mod points;
mod stable;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    MAX_POINTS, TranslateOptions,
    output::{Output, Probe},
    refusal::{Result, refuse},
    tree::{Expr, ExprKind},
};
use clause::ClauseWriter;
use parse::{DtraceProgram, SourceClause};
use points::DtracePoint;
pub(crate) use points::no_call;

/// What is known of the whole script while one clause is translated.
pub(super) struct DtraceContext<'a> {
    pub(super) options: &'a TranslateOptions,
    /// Whether each hit ends its line, as it does without the option `quiet`.
    pub(super) ends_lines: bool,
    /// Global variables that are assigned somewhere.
    pub(super) assigned: BTreeSet<String>,
    /// Names with `inline`.
    pub(super) constants: BTreeMap<String, String>,
    /// Aggregations that `printa` shows, which are not shown again at the end.
    pub(super) printed: BTreeSet<String>,
    pub(super) output: Output,
    /// What each map of the translation is made of.
    pub(super) maps: BTreeMap<String, MapUse>,
}

/// What a map of the translation stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MapUse {
    Aggregation(String),
    Global,
    Thread,
}

/// The script as probes.
pub(super) fn translated(text: &str, options: &TranslateOptions) -> Result<Output> {
    let program = parse::program(text)?;
    let DtraceProgram { clauses, constants, quiet } = program;
    let mut whole = DtraceContext {
        options,
        ends_lines: !quiet && !options.quiet,
        assigned: assigned(&clauses),
        constants,
        printed: printed(&clauses),
        output: Output::default(),
        maps: BTreeMap::new(),
    };
    // Clauses of the same attach point run in the order of the script, and share their local variables.
    let mut all: Vec<Vec<(DtracePoint, &SourceClause)>> = Vec::new();
    for clause in &clauses {
        for description in &clause.descriptions {
            for point in points::points(description, &mut whole)? {
                let same = |it: &&mut Vec<(DtracePoint, &SourceClause)>| {
                    it.first().is_some_and(|(it, _)| it.text == point.text && it.condition == point.condition)
                };
                match all.iter_mut().find(same) {
                    Some(group) => group.push((point, clause)),
                    None => all.push(vec![(point, clause)]),
                }
            }
            if all.len() > MAX_POINTS {
                let message = format!("the script has more than {MAX_POINTS} probes");
                return refuse(description.span, message, "use a wildcard, or fewer probes");
            }
        }
    }
    for group in &mut all {
        // A switch takes one thread off the CPU before it puts the next on it.
        group.sort_by_key(|(point, _)| point.names.name == "on-cpu");
        if let Some((first, _)) = group.first() {
            let probe = ClauseWriter::new(first, &mut whole).probe(group)?;
            whole.output.probe(probe);
        }
    }
    for (map, of) in &whole.maps {
        let shown = matches!(of, MapUse::Aggregation(_)) && !whole.printed.contains(map);
        if !shown {
            whole.output.last.insert(format!("clear({map});"));
        }
    }
    Ok(whole.output)
}

/// Calls `each` with all expressions of a script, until it says that this is the one.
fn walk(clauses: &[SourceClause], each: &mut dyn FnMut(&Expr) -> bool) {
    for clause in clauses {
        if let Some(predicate) = &clause.predicate {
            predicate.any(each);
        }
        for statement in clause.body.iter().flatten() {
            statement.any(each);
        }
    }
}

fn assigned(clauses: &[SourceClause]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    walk(clauses, &mut |expr| {
        let to = match &expr.kind {
            ExprKind::Assign { to, .. } => to,
            ExprKind::Postfix { of, .. } | ExprKind::Prefix { operator: "++" | "--", of } => of,
            _ => return false,
        };
        let name = match &to.kind {
            ExprKind::Name(name) => Some(name.as_str()),
            ExprKind::Index { of, .. } => of.name(),
            _ => None,
        };
        names.extend(name.map(str::to_owned));
        false
    });
    names
}

fn printed(clauses: &[SourceClause]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    walk(clauses, &mut |expr| {
        if let ExprKind::Call { name, arguments } = &expr.kind
            && name == "printa"
        {
            names.extend(arguments.iter().filter_map(|it| it.name()).map(str::to_owned));
        }
        false
    });
    names
}

/// A probe that does nothing but tell that it was hit.
pub(super) fn default_action(points: Vec<String>, predicate: String) -> Probe {
    Probe { points, predicate, body: vec!["printf(\"%d %s\\n\", cpu, probe);".to_owned()] }
}
