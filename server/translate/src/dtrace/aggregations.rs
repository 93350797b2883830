//! Aggregations: how they are added to and printed.

use bathyscope_plan::Span;

use super::{
    MapUse,
    clause::{ClauseWriter, Pending, print},
    points::DtracePointKind,
};
use crate::{
    emit::Meaning,
    refusal::{Result, refuse},
    tree::{Expr, ExprKind},
};

/// Aggregations that values can be divided by when they are printed.
const DIVIDED: [&str; 5] = ["count", "sum", "min", "max", "avg"];

impl ClauseWriter<'_, '_> {
    /// `@name[keys] = function(arguments)`.
    pub(super) fn aggregate(&mut self, name: &str, keys: &[Expr], value: &Expr) -> Result<()> {
        let ExprKind::Call { name: function, arguments } = &value.kind else {
            return refuse(
                value.span,
                "an aggregation is given an aggregating function",
                "write `@ = count()` or `@ = sum(value)`",
            );
        };
        let (made, function) = self.aggregating(function, arguments, value.span)?;
        let map = self.map(name.to_owned(), MapUse::Aggregation(function), value.span)?;
        let keys = self.values(keys)?;
        let keys = if keys.is_empty() { keys } else { format!("[{keys}]") };
        self.lines.push(format!("{map}{keys} = {made};"));
        Ok(())
    }

    fn aggregating(&mut self, function: &str, arguments: &[Expr], span: Span) -> Result<(String, String)> {
        let (equal, numbers) = match (function, arguments) {
            ("count", []) => return Ok(("count()".to_owned(), "count".to_owned())),
            ("sum" | "avg" | "min" | "max", [_]) => (function, 0),
            ("quantize", [_]) => ("hist", 0),
            ("lquantize", [_, _, _] | [_, _, _, _]) => ("lhist", arguments.len() - 1),
            ("quantize" | "lquantize", [_, ..]) => {
                return refuse(span, "a histogram with weights has no equal", "leave the weight out, or use `sum`");
            }
            ("llquantize", _) => {
                return refuse(span, "`llquantize` has no equal", "use `quantize` (powers of two) or `lquantize`");
            }
            ("stddev", _) => return refuse(span, "`stddev` has no equal", "use `avg`, `min` and `max`, or `quantize`"),
            _ => {
                return refuse(
                    span,
                    format!("`{function}` with {} values aggregates nothing", arguments.len()),
                    "use count(), sum(x), avg(x), min(x), max(x), quantize(x) or lquantize(x, from, to, step)",
                );
            }
        };
        let Some((value, limits)) = arguments.split_first() else {
            return refuse(span, format!("`{function}` needs a value"), "write it in the parentheses");
        };
        let mut texts = vec![self.text_of(value)?];
        for limit in limits {
            let Some(number) = self.constant(limit) else {
                return refuse(limit.span, "the limits of a histogram are numbers", "write the number");
            };
            texts.push(number.to_string());
        }
        if numbers == 2 {
            texts.push("1".to_owned());
        }
        let made = format!("{equal}({})", texts.join(", "));
        Ok((made, function.to_owned()))
    }

    /// A number that is written, or stands for one that is.
    pub(super) fn constant(&self, expr: &Expr) -> Option<i64> {
        let named = || self.whole.constants.get(expr.name()?)?.parse().ok();
        expr.number().or_else(named).or_else(|| self.parameter(expr.name()?)?.parse().ok())
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&String> {
        let index: usize = name.trim_start_matches('$').parse().ok()?;
        name.starts_with('$').then(|| self.whole.options.parameters.get(index.checked_sub(1)?))?
    }

    /// `printa(@)`, `printa("format", @)`.
    pub(super) fn printa(&mut self, arguments: &[Expr], span: Span) -> Result<()> {
        let maps = match arguments {
            [Expr { kind: ExprKind::Text(_), .. }, maps @ ..] => {
                let hint = "the map is shown as `@name[key]: value`, sorted by value";
                self.note(span, "the format of `printa` is not used", hint);
                maps
            }
            maps => maps,
        };
        if maps.is_empty() {
            return refuse(span, "`printa` needs an aggregation", "write `printa(@name)`");
        }
        for map in maps {
            let name = self.aggregation(map)?;
            let pending = self.pending.remove(&name);
            self.lines.push(print(&name, pending.as_ref()));
            if let Some(pending) = pending
                && pending.top > 0
            {
                self.cut.insert(name, pending.span);
            }
        }
        Ok(())
    }

    /// The name of an aggregation that is an argument.
    fn aggregation(&self, expr: &Expr) -> Result<String> {
        match expr.name() {
            Some(name) if name.starts_with('@') => Ok(name.to_owned()),
            _ => refuse(expr.span, "here an aggregation is expected", "write `@name`"),
        }
    }

    /// `clear`, `trunc`, `normalize` and `denormalize`.
    pub(super) fn change(&mut self, action: &str, arguments: &[Expr], span: Span) -> Result<()> {
        let Some((map, rest)) = arguments.split_first() else {
            return refuse(span, format!("`{action}` needs an aggregation"), "write `@name`");
        };
        let name = self.aggregation(map)?;
        let number = match rest {
            [] => None,
            [number] => match self.constant(number).filter(|it| *it >= 0) {
                Some(number) => Some(number),
                None => {
                    return refuse(number.span, "here a number that is not negative is expected", "write the number");
                }
            },
            [_, more, ..] => return refuse(more.span, format!("`{action}` takes two values"), "leave the others out"),
        };
        match (action, number) {
            ("clear", None) => {
                if self.cut.remove(&name).is_some() {
                    self.lines.push(format!("clear({name});"));
                } else {
                    self.lines.push(format!("zero({name});"));
                }
            }
            ("trunc", None | Some(0)) => {
                self.cut.remove(&name);
                self.pending.remove(&name);
                self.lines.push(format!("clear({name});"));
            }
            ("trunc", Some(top)) => self.pend(name, span, |it| it.top = top),
            ("denormalize", None) => {
                if let Some(pending) = self.pending.get_mut(&name) {
                    pending.divisor = 1;
                }
            }
            ("normalize", Some(divisor @ 1..)) => {
                let function = match self.whole.maps.get(&name) {
                    Some(MapUse::Aggregation(function)) => function.as_str(),
                    _ => "",
                };
                if !DIVIDED.contains(&function) {
                    let hint = "divide the value where it is added";
                    return refuse(span, format!("{name} cannot be divided when it is printed"), hint);
                }
                self.pend(name, span, |it| it.divisor = divisor);
            }
            _ => {
                return refuse(
                    span,
                    format!("`{action}` is not called so"),
                    "write `trunc(@, 10)` or `normalize(@, 1000)`",
                );
            }
        }
        Ok(())
    }

    fn pend(&mut self, name: String, span: Span, set: impl FnOnce(&mut Pending)) {
        set(self.pending.entry(name).or_insert(Pending { top: 0, divisor: 1, span }));
    }

    /// Whether this is a probe in which nothing of a process can be read.
    pub(super) fn has_no_arguments(&self) -> bool {
        matches!(self.point.kind, DtracePointKind::Begin | DtracePointKind::End | DtracePointKind::Tick)
    }
}
