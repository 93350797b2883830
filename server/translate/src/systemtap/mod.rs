//! The language of SystemTap.

mod aliases;
mod entries;
mod foreach;
mod functions;
mod parse;
mod points;
mod statements;
mod statistics;
mod values;
mod variables;
mod writer;

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_plan::Span;

use crate::{
    MAX_POINTS, TranslateOptions,
    output::{Output, Probe},
    refusal::{Result, refuse},
    tree::{Expr, ExprKind, Statement, StatementKind},
};
use parse::{SourceFunction, StapProgram};
use statistics::Statistics;
use writer::HandlerWriter;

/// What is known of the whole script while one handler is translated.
struct StapContext<'a> {
    options: &'a TranslateOptions,
    globals: BTreeSet<String>,
    functions: BTreeMap<String, SourceFunction>,
    statistics: BTreeMap<String, Statistics>,
    output: Output,
    /// Values that were kept at entries.
    entries: usize,
    /// Functions that were put in.
    inlined: usize,
}

/// The script as probes.
pub(crate) fn translated(text: &str, options: &TranslateOptions) -> Result<Output> {
    let StapProgram { globals, functions, handlers } = parse::program(text)?;
    let bodies: Vec<&[Statement]> =
        handlers.iter().map(|it| it.body.as_slice()).chain(functions.values().map(|it| it.body.as_slice())).collect();
    let names: BTreeSet<String> = globals.iter().map(|it| it.name.clone()).collect();
    let statistics = statistics::of(&bodies, &names)?;
    let read = read(&bodies, &names);
    let mut output = Output::default();
    let initial: Vec<String> =
        globals.iter().filter_map(|it| Some(format!("@{} = {};", it.name, it.value.as_ref()?))).collect();
    if !initial.is_empty() {
        output.probe(Probe { points: vec!["begin".to_owned()], predicate: String::new(), body: initial });
    }
    let mut whole = StapContext { options, globals: names, functions, statistics, output, entries: 0, inlined: 0 };
    let mut count = 0;
    for handler in &handlers {
        for written in &handler.points {
            for point in points::points(written, &handler.body, &mut whole)? {
                count += 1;
                if count > MAX_POINTS {
                    let message = format!("the script has more than {MAX_POINTS} probes");
                    return refuse(written.span, message, "use a wildcard, or fewer probes");
                }
                HandlerWriter::new(&point, &mut whole).handler(&handler.body)?;
            }
        }
    }
    // SystemTap shows a global by itself only if the script does not read it.
    for name in whole.globals.iter().filter(|name| read.contains(*name)) {
        let maps = whole.statistics.get(name).map_or_else(|| vec![format!("@{name}")], |it| it.maps(name));
        let used =
            |map: &String| whole.output.probes.iter().any(|it| it.body.iter().any(|line| writer::has_word(line, map)));
        let lines: Vec<String> = maps.iter().filter(|map| used(map)).map(|map| format!("clear({map});")).collect();
        whole.output.last.extend(lines);
    }
    Ok(whole.output)
}

/// Globals that are read: not only assigned to.
fn read(bodies: &[&[Statement]], globals: &BTreeSet<String>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for statement in bodies.iter().flat_map(|body| body.iter()) {
        read_by_statement(statement, &mut names);
    }
    names.retain(|name| globals.contains(name));
    names
}

fn read_by_statement(statement: &Statement, names: &mut BTreeSet<String>) {
    let mut inner = |expr: &Expr| read_by_expr(expr, names);
    match &statement.kind {
        StatementKind::Expr(expr) => match &expr.kind {
            ExprKind::Assign { to, value, .. } => {
                inner(value);
                keys(to).iter().for_each(inner);
            }
            ExprKind::Postfix { of, .. } | ExprKind::Prefix { operator: "++" | "--", of } => {
                keys(of).iter().for_each(inner);
            }
            _ => inner(expr),
        },
        StatementKind::Block(body) => body.iter().for_each(|it| read_by_statement(it, names)),
        StatementKind::If { condition, then, otherwise } => {
            inner(condition);
            read_by_statement(then, names);
            if let Some(otherwise) = otherwise {
                read_by_statement(otherwise, names);
            }
        }
        StatementKind::While { condition, body } => {
            inner(condition);
            read_by_statement(body, names);
        }
        StatementKind::For { first, condition, step, body } => {
            first.iter().chain(condition).chain(step).for_each(inner);
            read_by_statement(body, names);
        }
        StatementKind::Foreach(it) => {
            names.insert(it.array.clone());
            read_by_statement(&it.body, names);
        }
        StatementKind::Return(Some(expr)) => inner(expr),
        StatementKind::Delete(to) => keys(to).iter().for_each(inner),
        StatementKind::Return(None) | StatementKind::Next | StatementKind::Break | StatementKind::Continue => {}
    }
}

fn keys(to: &Expr) -> &[Expr] {
    match &to.kind {
        ExprKind::Index { keys, .. } => keys,
        _ => &[],
    }
}

fn read_by_expr(expr: &Expr, names: &mut BTreeSet<String>) {
    expr.any(&mut |it| {
        names.extend(it.name().map(str::to_owned));
        false
    });
}

/// What has no equal in the language at all.
fn no_parameter<T>(name: &str, span: Span) -> Result<T> {
    refuse(span, format!("the parameter `{name}` is not given"), "give it behind the script, or write the value")
}
