//! What expressions of SystemTap mean at a probe.

use super::{functions, writer::HandlerWriter};
use crate::{
    emit::{Meaning, Value, ValueKind, settled},
    refusal::{Result, refuse},
    tree::{Expr, ExprKind},
};

impl HandlerWriter<'_, '_> {
    fn element(&mut self, of: &Expr, keys: &[Expr], expr: &Expr) -> Result<Value> {
        let Some(name) = of.name() else {
            let [key] = keys else { return refuse(expr.span, "this is no array", "use a global with keys") };
            let (of, key) = (self.value(of)?.operand(), self.text_of(key)?);
            return Ok(Value::new(format!("{of}[{key}]"), ValueKind::Unknown));
        };
        if name.starts_with('$') {
            let [key] = keys else { return refuse(expr.span, "an array of C has one index", "write one number") };
            let (of, key) = (self.value(of)?.operand(), self.text_of(key)?);
            return Ok(Value::new(format!("{of}[{key}]"), ValueKind::Unknown));
        }
        if !self.whole.globals.contains(name) {
            return refuse(expr.span, format!("the array `{name}` is not declared"), format!("write `global {name}`"));
        }
        if self.whole.statistics.contains_key(name) {
            return refuse(
                expr.span,
                format!("`{name}` holds statistics"),
                "read them by `@count`, `@sum`, `@avg`, `@min`, `@max`",
            );
        }
        if let Some(it) = self.loops.iter().rev().find(|it| it.array == name)
            && keys.len() == it.keys.len()
            && keys.iter().zip(&it.keys).all(|(key, name)| key.name() == Some(name.as_str()))
        {
            return Ok(Value::new(format!("{}.1", it.entry), ValueKind::Unknown));
        }
        Ok(Value::new(format!("@{name}[{}]", self.values(keys)?), ValueKind::Unknown))
    }

    fn contained(&mut self, keys: &[Expr], array: &Expr) -> Result<Value> {
        let name = array.name().unwrap_or_default().to_owned();
        if !self.whole.globals.contains(&name) {
            return refuse(array.span, "here a global array is expected", "declare it: `global name`");
        }
        let map = self.whole.statistics.get(&name).map_or_else(|| format!("@{name}"), |it| it.first(&name));
        let texts = self.values(keys)?;
        let texts = if keys.len() > 1 { format!("({texts})") } else { texts };
        Ok(Value::number(format!("has_key({map}, {texts})")))
    }

    /// A clock as one side of a difference.
    fn moment(&mut self, expr: &Expr) -> Option<Value> {
        let ExprKind::Call { name, arguments } = &expr.kind else { return None };
        let clock = functions::clock(name).filter(|_| arguments.is_empty())?;
        self.tell_clock(expr.span);
        Some(Value::number(format!("({clock})")))
    }
}

impl Meaning for HandlerWriter<'_, '_> {
    fn special(&mut self, expr: &Expr) -> Result<Option<Value>> {
        let ExprKind::Binary { operator: "-", left, right } = &expr.kind else { return Ok(None) };
        let (a, b) = (self.moment(left), self.moment(right));
        if a.is_none() && b.is_none() {
            return Ok(None);
        }
        let a = match a {
            Some(value) => value,
            None => settled(self.value(left)?, left.span)?,
        };
        let b = match b {
            Some(value) => value,
            None => settled(self.value(right)?, right.span)?,
        };
        Ok(Some(Value::number(format!("{} - {}", a.operand(), b.operand())).loose()))
    }

    fn leaf(&mut self, expr: &Expr) -> Result<Value> {
        match &expr.kind {
            ExprKind::Name(name) => self.named(name, expr.span),
            ExprKind::Call { name, arguments } => self.call(name, arguments, expr.span),
            ExprKind::Index { of, keys } => self.element(of, keys, expr),
            ExprKind::In { keys, array } => self.contained(keys, array),
            ExprKind::Member { of, name } => {
                let value = settled(self.value(of)?, of.span)?;
                if value.kind != ValueKind::Unknown {
                    return refuse(
                        expr.span,
                        format!("`{name}` is a member of nothing that is known"),
                        "use `kernel.function(…)` or `kernel.trace(…)` and its arguments",
                    );
                }
                Ok(Value::new(format!("{}.{name}", value.operand()), ValueKind::Unknown))
            }
            ExprKind::Postfix { operator, of } => {
                Ok(Value::number(format!("{}{operator}", self.assigned(of)?)).loose())
            }
            _ => refuse(expr.span, "this is not translated", "write it in another way"),
        }
    }
}
