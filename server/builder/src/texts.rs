//! Expressions as texts of the form.

use bathyscope_bpf::lang::{
    ast::{Expr, ExprKind, Item, StatementKind},
    parse,
};
use bathyscope_plan::Span;

use crate::limits::MAX_TEXT_BYTES;

/// The expression that a text is.
///
/// # Errors
/// Why it is none.
pub(crate) fn expression(text: &str) -> Result<Expr, String> {
    const BEFORE: &str = "begin { $it = ";
    let script = parse(&format!("{BEFORE}{text}\n; }}")).map_err(|said| {
        let first = said.into_iter().next();
        first.map_or("it cannot be read".to_owned(), |it| match it.hint.as_str() {
            "" => it.message,
            hint => format!("{} ({hint})", it.message),
        })
    })?;
    let [Item::Probe(probe)] = script.items.as_slice() else {
        return Err("it holds more than an expression".to_owned());
    };
    match probe.body.statements.as_slice() {
        [one] => match &one.kind {
            StatementKind::Assign { value, op: None, .. } => Ok(value.clone()),
            _ => Err("it is a statement".to_owned()),
        },
        _ => Err("it holds more than an expression".to_owned()),
    }
}

/// The number that an expression is.
pub(crate) fn number(expr: &Expr) -> Option<u32> {
    match expr.kind {
        ExprKind::Integer { value, .. } => u32::try_from(value).ok(),
        _ => None,
    }
}

/// The text of an expression: as it is written in `script`, where that alone says the same.
pub(crate) fn text_of(expr: &Expr, script: &str) -> String {
    let shown = expr.to_string();
    let written = slice(script, expr.span).trim();
    match expression(written) {
        Ok(read) if read.to_string() == shown => bare(written).to_owned(),
        _ => shown,
    }
}

/// A text without blanks and parentheses around the whole of it.
pub(crate) fn bare(text: &str) -> &str {
    let mut text = text.trim();
    if text.len() > MAX_TEXT_BYTES {
        return text;
    }
    while let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        let (Ok(whole), Ok(part)) = (expression(text), expression(inner)) else { return text };
        if whole.to_string() != part.to_string() {
            return text;
        }
        text = inner.trim();
    }
    text
}

/// What stands at a place of a script.
pub(crate) fn slice(script: &str, span: Span) -> &str {
    script.get(span.start as usize..span.end as usize).unwrap_or_default()
}

/// A text in the language's quotes.
pub(crate) fn quoted(text: &str) -> String {
    Expr { kind: ExprKind::Text(text.as_bytes().to_vec()), span: Span::default() }.to_string()
}
