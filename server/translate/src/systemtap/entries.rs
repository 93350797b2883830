//! Values of the entry that are used at the return: `@entry(…)`, and arguments of the call.

use bathyscope_plan::Span;

use super::writer::{HandlerWriter, KeptEntry};
use crate::{
    emit::{Meaning, Value, ValueKind},
    refusal::{Result, refuse},
    tree::{Expr, ExprKind},
};

impl HandlerWriter<'_, '_> {
    /// The value that an expression had at the entry.
    pub(super) fn at_entry(&mut self, expr: &Expr, span: Span) -> Result<Value> {
        let Some(entry) = self.point.entry() else {
            return refuse(
                span,
                "`@entry` is for the return of a call or function",
                "use it in a probe with `.return`",
            );
        };
        let made = {
            let mut writer = HandlerWriter::new(&entry, &mut *self.whole);
            if let ExprKind::Call { name, arguments } = &expr.kind
                && arguments.is_empty()
                && let Some(clock) = super::functions::clock(name)
            {
                Value::number(clock)
            } else {
                let value = writer.value(expr)?;
                crate::emit::settled(value, expr.span)?
            }
        };
        if !matches!(made.kind, ValueKind::Number | ValueKind::Text | ValueKind::Unknown) {
            return refuse(span, "this value cannot be kept", "keep a number or a text");
        }
        let value = made.pointer.clone().unwrap_or_else(|| made.text.clone());
        if let Some(known) = self.kept.iter().find(|it| it.value == value) {
            return Ok(Value::new(format!("{}[tid]", known.map), known.kind));
        }
        self.whole.entries += 1;
        let map = format!("@entry_{}", self.whole.entries);
        self.kept.push(KeptEntry { map: map.clone(), value, kind: made.kind });
        Ok(Value::new(format!("{map}[tid]"), made.kind))
    }
}
