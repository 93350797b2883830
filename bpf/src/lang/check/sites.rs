//! What programs send to user space: sites, and the names of their columns.

use bathyscope_plan::{Action, Output, Site, SiteField, Span, Type};

use super::{Checked, body::BodyChecker, describe::describe};
use crate::lang::{
    ast::{self, ExprKind},
    hir::{SiteId, TypedExpr, TypedStatement, TypedStatementKind},
};

/// The largest record.
const MAX_RECORD_BYTES: u32 = 48 * 1024;

impl BodyChecker<'_, '_> {
    /// Sends a record: what is asked for, and the values by their columns' names.
    pub(super) fn emit(
        &mut self,
        action: Action,
        values: Vec<(String, TypedExpr)>,
        span: Span,
    ) -> Checked<TypedStatement> {
        let mut bytes = 0_u32;
        let mut fields: Vec<SiteField> = Vec::with_capacity(values.len());
        let mut arguments = Vec::with_capacity(values.len());
        for (name, value) in values {
            if matches!(value.ty, Type::None | Type::Aggregate(_)) {
                return self.fail(value.span, format!("{} cannot be shown", describe(&value.ty)), "it has no value");
            }
            // Parts of a key are as the map has them.
            let value = if matches!(action, Action::PrintElement { .. }) { value } else { shown_value(value) };
            bytes = bytes.saturating_add(value.ty.bytes());
            let name = unique(&name, &fields);
            let ty = self.cx.shown_type(&value.ty);
            fields.push(SiteField { name, ty, offset: 0 });
            arguments.push(value);
        }
        if bytes > MAX_RECORD_BYTES {
            let message = format!("this sends up to {bytes} bytes at once, more than {MAX_RECORD_BYTES}");
            return self.fail(span, message, "shorten the texts: `str(p, 256)`");
        }
        let site = self.site(action, fields, span);
        Ok(TypedStatement { kind: TypedStatementKind::Emit { site, arguments }, span })
    }

    /// The site for this; the same place of the script that sends the same is one site in all programs.
    fn site(&mut self, action: Action, fields: Vec<SiteField>, span: Span) -> SiteId {
        let calls: Vec<(u32, u32)> = match &action {
            Action::Print { to: Output::Error | Output::Warning, .. } => {
                self.calls.iter().rev().map(|call| (call.start, call.end)).collect()
            }
            _ => Vec::new(),
        };
        let known = self.cx.sites_at.get(&(span.start, span.end)).cloned().unwrap_or_default();
        for id in known {
            let same = |site: &Site| site.action == action && site.fields == fields && site.calls == calls;
            if self.cx.sites.get(id as usize).is_some_and(same) {
                return SiteId(id);
            }
        }
        let id = u32::try_from(self.cx.sites.len()).unwrap_or(u32::MAX);
        let (start, end) = (span.start, span.end);
        self.cx.sites.push(Site { action, fields, fixed_bytes: 0, max_bytes: 0, start, end, calls });
        self.cx.sites_at.entry((start, end)).or_default().push(id);
        SiteId(id)
    }
}

/// Known numbers are sent with 64 bits, so that a column has one type however the number is written.
fn shown_value(value: TypedExpr) -> TypedExpr {
    let ty = BodyChecker::kept_type(&value);
    match (&value.ty, &ty) {
        (Type::Integer { .. }, Type::Integer { .. }) => value.convert(ty),
        _ => value,
    }
}

fn unique(name: &str, fields: &[SiteField]) -> String {
    let taken = |name: &str| fields.iter().any(|field| field.name == name);
    if !taken(name) {
        return name.to_owned();
    }
    (2..).map(|number| format!("{name}_{number}")).find(|name| !taken(name)).unwrap_or_default()
}

/// What a column is called that shows an expression: what the script calls it, or `argN`.
pub(super) fn column(expr: &ast::Expr, index: usize) -> String {
    named(expr).unwrap_or_else(|| format!("arg{index}"))
}

fn named(expr: &ast::Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Identifier(name) | ExprKind::Variable(name) => Some(name.clone()),
        ExprKind::Map { name, .. } if !name.is_empty() => Some(name.clone()),
        ExprKind::Member { name, .. } => Some(name.text.clone()),
        ExprKind::Cast { of, .. } | ExprKind::Unary { of, .. } | ExprKind::Step { place: of, .. } => named(of),
        ExprKind::Element { base, .. } | ExprKind::Index { base, .. } => named(base),
        ExprKind::Binary { left, right, .. } => match (&left.kind, &right.kind) {
            // `x / 1000` is still x.
            (_, ExprKind::Integer { .. }) => named(left),
            _ => None,
        },
        ExprKind::Call { function, arguments } => match (function.text.as_str(), arguments.as_slice()) {
            (name, []) => Some(name.to_owned()),
            ("strftime", _) => Some("time".to_owned()),
            ("kstack" | "ustack" | "dw_ustack" | "nsecs" | "pid" | "tid" | "comm" | "ppid" | "pcomm", _) => {
                Some(function.text.clone())
            }
            (_, [first]) | ("str" | "buf" | "cgroup_path", [first, ..]) | ("ntop", [_, first]) => named(first),
            _ => None,
        },
        _ => None,
    }
}
