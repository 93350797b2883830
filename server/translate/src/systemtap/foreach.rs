//! `foreach`: a loop over a map, or its sorted print.

use super::{
    statistics,
    writer::{HandlerWriter, MapLoop},
};
use crate::{
    refusal::{Result, refuse},
    tree::{Expr, ExprKind, Foreach, Statement, StatementKind},
};

impl HandlerWriter<'_, '_> {
    pub(super) fn foreach(&mut self, it: &Foreach) -> Result<()> {
        if !self.whole.globals.contains(&it.array) {
            return refuse(it.array_span, format!("`{}` is no global array", it.array), "declare it: `global name`");
        }
        if let Some(span) = it.by_key {
            return refuse(
                span,
                "elements are not sorted by their keys",
                "leave the sign out, or sort by the value: `array-`",
            );
        }
        match (it.by_value, &it.limit) {
            (Some(_), _) => self.sorted(it),
            (None, Some(limit)) => refuse(
                limit.span,
                "a limit is for sorted elements",
                "sort by the value: `foreach (key in array- limit 10)`",
            ),
            (None, None) => self.walked(it),
        }
    }

    /// All elements in no order.
    fn walked(&mut self, it: &Foreach) -> Result<()> {
        let map = match self.whole.statistics.get(&it.array) {
            Some(statistics) => statistics.first(&it.array),
            None => format!("@{}", it.array),
        };
        self.loop_count += 1;
        let entry = format!("$each_{}", self.loop_count);
        self.lines.push(format!("for ({entry} : {map}) {{"));
        let (array, keys, value) = (it.array.clone(), it.keys.clone(), it.value.clone());
        self.loops.push(MapLoop { array, map, keys, value, entry });
        let written = self.statement(&it.body);
        self.loops.pop();
        self.lines.push("}".to_owned());
        written
    }

    /// Elements by value: what the body prints of them is shown by `print`.
    fn sorted(&mut self, it: &Foreach) -> Result<()> {
        let Some(read) = read(it) else {
            let hint = "leave the sign out: elements come in no order then, and the body may do anything";
            return refuse(
                it.array_span,
                "sorted elements are only printed: the body has one `printf` of keys and their value",
                hint,
            );
        };
        let limit = match &it.limit {
            None => None,
            Some(limit) => match self.constant(limit).filter(|limit| *limit > 0) {
                Some(limit) => Some(limit),
                None => return refuse(limit.span, "the limit is a number", "write the number"),
            },
        };
        if it.by_value == Some('+') && limit.is_some() {
            return refuse(
                it.array_span,
                "the smallest elements alone are not shown",
                "leave the limit out, or take the largest: `array-`",
            );
        }
        if read.is_empty() && self.whole.statistics.contains_key(&it.array) {
            let hint = format!("print one with each key: `@count({}[key])`", it.array);
            return refuse(it.array_span, "sorted statistics are printed with their values", hint);
        }
        let maps = match self.whole.statistics.get(&it.array) {
            None => vec![format!("@{}", it.array)],
            Some(statistics) => {
                // They are sorted by how many values there are.
                let other = read.iter().any(|kind| *kind != "count");
                if other && limit.is_some() {
                    let hint = "leave the limit out, or print `@count` only";
                    return refuse(it.array_span, "these statistics would each be cut by their own value", hint);
                }
                read.iter().map(|kind| statistics.map(&it.array, kind)).collect()
            }
        };
        let hint = "each element is shown as `@name[key]: value`, the largest last";
        self.note(it.array_span, "the format of sorted elements is not used", hint);
        for map in maps {
            self.lines.push(match limit {
                Some(limit) => format!("print({map}, {limit});"),
                None => format!("print({map});"),
            });
        }
        Ok(())
    }
}

/// What a body that prints one element reads of it: kinds of statistics, or nothing else than the value. None if it does more.
fn read(it: &Foreach) -> Option<Vec<&'static str>> {
    let mut body: &Statement = &it.body;
    while let StatementKind::Block(statements) = &body.kind {
        let [only] = statements.as_slice() else { return None };
        body = only;
    }
    let StatementKind::Expr(Expr { kind: ExprKind::Call { name, arguments }, .. }) = &body.kind else { return None };
    if !matches!(name.as_str(), "printf" | "println" | "print" | "printd" | "printdln") {
        return None;
    }
    let mut kinds = Vec::new();
    for argument in arguments {
        let is_key = argument.name().is_some_and(|name| it.keys.iter().any(|key| key == name));
        let is_value =
            argument.name().is_some_and(|name| it.value.as_deref() == Some(name)) || is_element(it, argument);
        match &argument.kind {
            ExprKind::Text(_) => {}
            _ if is_key || is_value => {}
            ExprKind::Call { name, arguments } => {
                let kind = statistics::kind(name)?;
                if !arguments.first().is_some_and(|of| is_element(it, of)) {
                    return None;
                }
                kinds.push(kind);
            }
            _ => return None,
        }
    }
    Some(kinds)
}

fn is_element(it: &Foreach, expr: &Expr) -> bool {
    let ExprKind::Index { of, keys } = &expr.kind else { return false };
    of.name() == Some(it.array.as_str())
        && keys.len() == it.keys.len()
        && keys.iter().zip(&it.keys).all(|(key, name)| key.name() == Some(name.as_str()))
}
