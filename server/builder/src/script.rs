//! The text of a form's script.

use std::fmt::Write as _;

use crate::{
    form::{DURATION, FormAction, Pairing, ProbeForm, RecordedValue, ValueFormat},
    texts::quoted,
};

/// What a row without values shows.
pub(crate) const NO_VALUES: &str = "hit\n";

/// The script of a normal form.
pub(crate) fn script_of(form: &ProbeForm) -> String {
    let mut script: String =
        form.comment.lines().map(|line| format!("// {line}").trim_end().to_owned() + "\n").collect();
    match &form.until {
        None => {
            head(&mut script, &form.sites, &form.condition);
            line(&mut script, 1, &row(form));
            script.push_str("}\n");
        }
        Some(until) => pair(&mut script, form, until),
    }
    script
}

fn line(script: &mut String, depth: usize, statement: &str) {
    let _never_fails = writeln!(script, "{}{statement};", "  ".repeat(depth));
}

fn head(script: &mut String, sites: &[String], condition: &str) {
    script.push_str(&sites.join(",\n"));
    if !condition.is_empty() {
        // A division would end the predicate.
        let (open, close) = if condition.contains('/') { ("(", ")") } else { ("", "") };
        let _never_fails = write!(script, "\n/{open}{condition}{close}/");
    }
    script.push_str("\n{\n");
}

fn pair(script: &mut String, form: &ProbeForm, until: &Pairing) {
    let (begin, end) = (until.key.join(", "), until.end_key.join(", "));
    head(script, &form.sites, &form.condition);
    line(script, 1, &format!("@{}[{begin}] = nsecs", until.started));
    for value in &form.values {
        let kept = if value.late { value.expr.clone() } else { converted(value.format, &value.expr) };
        line(script, 1, &format!("@{}[{begin}] = {kept}", value.name));
    }
    script.push_str("}\n\n");
    let started = format!("@{}[{end}]", until.started);
    head(script, &until.sites, &started);
    if uses_duration(form, until) {
        line(script, 1, &format!("{DURATION} = nsecs - {started}"));
    }
    if until.condition.is_empty() {
        line(script, 1, &row(form));
    } else {
        let _never_fails = writeln!(script, "  if ({}) {{", until.condition);
        line(script, 2, &row(form));
        script.push_str("  }\n");
    }
    let maps = || std::iter::once(&until.started).chain(form.values.iter().map(|value| &value.name));
    for map in maps() {
        line(script, 1, &format!("delete(@{map}[{end}])"));
    }
    script.push_str("}\n\nend\n{\n");
    for map in maps() {
        line(script, 1, &format!("clear(@{map})"));
    }
    script.push_str("}\n");
}

/// Whether the script needs to know how long it took.
fn uses_duration(form: &ProbeForm, until: &Pairing) -> bool {
    let of = match &form.action {
        FormAction::Aggregate { of, .. } | FormAction::LinearHistogram { of, .. } => of.as_str(),
        FormAction::Record | FormAction::Print { .. } => "",
    };
    let texts = [of, until.condition.as_str()];
    until.duration
        || texts.into_iter().chain(until.values.iter().map(|it| it.expr.as_str())).any(|text| text.contains(DURATION))
}

/// An expression with the function that shows it.
fn converted(format: ValueFormat, expr: &str) -> String {
    match (format, format.function()) {
        (ValueFormat::Bytes(count), Some(function)) => format!("{function}({expr}, {count})"),
        (ValueFormat::Names(set), Some(function)) => format!("{function}({}, {expr})", quoted(set.name())),
        (_, Some(function)) => format!("{function}({expr})"),
        (_, None) => expr.to_owned(),
    }
}

/// What a row or an aggregate is made of, in order: name, conversion of `printf`, expression.
fn parts(form: &ProbeForm) -> Vec<(&str, &'static str, String)> {
    let mut parts = Vec::new();
    let plain = |value: &RecordedValue| converted(value.format, &value.expr);
    let kept = |value: &RecordedValue, end: &str| {
        let kept = format!("@{}[{end}]", value.name);
        if value.late { converted(value.format, &kept) } else { kept }
    };
    let end = form.until.as_ref().map(|until| until.end_key.join(", "));
    for value in &form.values {
        let expr = end.as_ref().map_or_else(|| plain(value), |end| kept(value, end));
        parts.push((value.name.as_str(), value.format.conversion(), expr));
    }
    if let Some(until) = &form.until {
        parts.extend(until.values.iter().map(|it| (it.name.as_str(), it.format.conversion(), plain(it))));
        if until.duration {
            parts.push(("duration_ns", "%s", DURATION.to_owned()));
        }
    }
    parts
}

/// The statement that makes a row, or counts the hit.
fn row(form: &ProbeForm) -> String {
    let parts = parts(form);
    let stacks = [(form.kernel_stack, "kstack"), (form.user_stack, "ustack")];
    let stacks = stacks.into_iter().filter(|(wanted, _)| *wanted).map(|(_, name)| name.to_owned());
    let exprs: Vec<String> = parts.iter().map(|(_, _, expr)| expr.clone()).chain(stacks).collect();
    let keyed = |map: &str| if exprs.is_empty() { format!("@{map}") } else { format!("@{map}[{}]", exprs.join(", ")) };
    match &form.action {
        FormAction::Record => {
            let shown: Vec<String> = parts.iter().map(|(name, conversion, _)| format!("{name}={conversion}")).collect();
            let format = match shown.join(" ") + &"%s".repeat(exprs.len() - parts.len()) {
                empty if empty.is_empty() => NO_VALUES.to_owned(),
                format => format + "\n",
            };
            printf(&format, &exprs)
        }
        FormAction::Print { format } => printf(format, &exprs),
        FormAction::Aggregate { map, function, of } => format!("{} = {}({of})", keyed(map), function.word()),
        FormAction::LinearHistogram { map, of, min, max, step } => {
            format!("{} = lhist({of}, {min}, {max}, {step})", keyed(map))
        }
    }
}

fn printf(format: &str, exprs: &[String]) -> String {
    let arguments: String = exprs.iter().map(|expr| format!(", {expr}")).collect();
    format!("printf({}{arguments})", quoted(format))
}
