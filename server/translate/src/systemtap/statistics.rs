//! Statistics: what is added by `<<<`, and read by `@count` and its kin. Each that is read is a map of its own.

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_plan::Span;

use crate::{
    refusal::{Result, refuse},
    tree::{Expr, ExprKind, Statement},
};

/// What a script reads of the statistics of one global.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Statistics {
    /// Names of maps behind the global's, with how they are added to: `count` and `count()`.
    kinds: BTreeMap<&'static str, String>,
}

impl Statistics {
    /// The map of a kind.
    pub(super) fn map(&self, global: &str, kind: &str) -> String {
        if self.kinds.len() <= 1 { format!("@{global}") } else { format!("@{global}_{kind}") }
    }

    /// All of its maps.
    pub(super) fn maps(&self, global: &str) -> Vec<String> {
        if self.kinds.is_empty() {
            return vec![format!("@{global}")];
        }
        self.kinds.keys().map(|kind| self.map(global, kind)).collect()
    }

    /// The first of its maps, to see which keys there are.
    pub(super) fn first(&self, global: &str) -> String {
        self.maps(global).into_iter().next().unwrap_or_else(|| format!("@{global}"))
    }

    /// The statements that add a value.
    pub(super) fn add(&self, global: &str, keys: &str, value: &str) -> Vec<String> {
        if self.kinds.is_empty() {
            return vec![format!("@{global}{keys} = stats({value});")];
        }
        let line = |(kind, with): (&&str, &String)| {
            format!("{}{keys} = {};", self.map(global, kind), with.replace('\u{0}', value))
        };
        self.kinds.iter().map(line).collect()
    }
}

/// The kind of statistic that a function reads.
pub(super) fn kind(function: &str) -> Option<&'static str> {
    match function {
        "@count" => Some("count"),
        "@sum" => Some("sum"),
        "@min" => Some("min"),
        "@max" => Some("max"),
        "@avg" => Some("avg"),
        "@hist_log" => Some("hist_log"),
        "@hist_linear" => Some("hist_linear"),
        _ => None,
    }
}

/// The statistics of a script.
pub(super) fn of(bodies: &[&[Statement]], globals: &BTreeSet<String>) -> Result<BTreeMap<String, Statistics>> {
    let mut all: BTreeMap<String, Statistics> = BTreeMap::new();
    let mut wrong: Option<(Span, &str, &str)> = None;
    let mut each = |expr: &Expr| {
        match &expr.kind {
            ExprKind::Assign { operator: "<<<", to, .. } => {
                let name = global(to);
                if !globals.contains(name) {
                    wrong = Some((to.span, "statistics are of globals", "declare it: `global name`"));
                    return true;
                }
                all.entry(name.to_owned()).or_default();
            }
            ExprKind::Call { name: function, arguments } => {
                let (Some(kind), Some((of, limits))) = (kind(function), arguments.split_first()) else { return false };
                let with = match (kind, limits) {
                    ("count", []) => "count()".to_owned(),
                    ("hist_log", []) => "hist(\u{0})".to_owned(),
                    ("hist_linear", [low, high, step]) => {
                        let numbers = (low.number(), high.number(), step.number());
                        let (Some(low), Some(high), Some(step)) = numbers else {
                            wrong = Some((expr.span, "the limits of a histogram are numbers", "write the numbers"));
                            return true;
                        };
                        format!("lhist(\u{0}, {low}, {high}, {step})")
                    }
                    (kind, []) => format!("{kind}(\u{0})"),
                    _ => {
                        wrong = Some((
                            expr.span,
                            "this statistic is not called so",
                            "write `@count(name)` or `@hist_linear(name, from, to, step)`",
                        ));
                        return true;
                    }
                };
                let known =
                    all.entry(global(of).to_owned()).or_default().kinds.entry(kind).or_insert_with(|| with.clone());
                if *known != with {
                    wrong = Some((expr.span, "one statistic has two sets of limits", "use the same limits everywhere"));
                    return true;
                }
            }
            _ => {}
        }
        false
    };
    let _stopped = bodies.iter().any(|body| body.iter().any(|it| it.any(&mut each)));
    match wrong {
        Some((span, message, hint)) => refuse(span, message, hint),
        None => Ok(all),
    }
}

/// The global of which an element is meant.
pub(super) fn global(of: &Expr) -> &str {
    match &of.kind {
        ExprKind::Index { of, .. } => of.name().unwrap_or_default(),
        _ => of.name().unwrap_or_default(),
    }
}
