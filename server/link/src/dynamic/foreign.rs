//! Probes that somebody else has made by a text (`perf probe`, `echo … >> kprobe_events`) are events among the kernel's, but
//! programs cannot read their fields: a capture of rows that names one is recorded by ftrace.

use bathyscope_capture::{ColumnUnit, CompareOp, EventProbe, Literal, Method, Predicate, TraceEvent, TraceSpec};
use bathyscope_plan::{Diagnostic, Span};

use crate::ScriptAgent;

/// The same method, or one by ftrace if it is of rows of events and one of them is a dynamic event.
///
/// # Errors
/// If a condition cannot be said in the kernel's filter language: it, and why.
pub(super) fn by_ftrace(agent: &mut impl ScriptAgent, method: Method) -> Result<Method, (String, Vec<Diagnostic>)> {
    let probes = method.tracepoints();
    if probes.is_empty() {
        return Ok(method);
    }
    // Where they cannot be listed, none can be told from others; what attaching them then says is as true.
    let known = agent.call(|client| client.dynamic_events()).map(|dynamic| dynamic.events).unwrap_or_default();
    let is_dynamic = |probe: &EventProbe| {
        let (group, name) = (probe.tracepoint.system(), probe.tracepoint.name());
        known.iter().any(|event| event.group == group && event.name == name)
    };
    if !probes.iter().any(is_dynamic) {
        return Ok(method);
    }
    let event = |probe: &EventProbe| -> Result<TraceEvent, (String, Vec<Diagnostic>)> {
        let filter = probe.predicate.as_ref().map(kernel_filter).transpose().map_err(|why| {
            let text = probe.predicate.as_ref().map(ToString::to_string).unwrap_or_default();
            let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
            let message = format!("a dynamic event is recorded by ftrace, and {why}");
            (text, vec![Diagnostic::error(Span { start: 0, end }, message)])
        })?;
        Ok(TraceEvent { event: probe.tracepoint.clone(), filter })
    };
    let events = probes.iter().map(event).collect::<Result<Vec<_>, _>>()?;
    Ok(Method::Trace(TraceSpec { events, ..TraceSpec::default() }))
}

/// A condition in the filter language of the kernel's events, which knows no units.
fn kernel_filter(predicate: &Predicate) -> Result<String, String> {
    let plain = predicate.in_units(&mut |field| ColumnUnit::of_name(field)).map_err(|error| error.to_string())?;
    filter(&plain)
}

/// A condition without units in that language.
fn filter(predicate: &Predicate) -> Result<String, String> {
    let joined = |all: &[Predicate], with: &str| {
        let parts: Vec<String> = all.iter().map(filter).collect::<Result<_, _>>()?;
        Ok(parts.iter().map(|part| format!("({part})")).collect::<Vec<_>>().join(with))
    };
    if let Some(what) = predicate.rows_only() {
        return Err(format!("its filters cannot say `{what}`: leave it out, and filter the rows by it"));
    }
    if let Some(said) = predicate.as_comparisons() {
        return filter(&said);
    }
    match predicate {
        Predicate::Compare { op: CompareOp::Contains, value: Literal::Text(text), .. } if text.contains('*') => {
            Err(format!("its filters cannot look for a *: {text}"))
        }
        Predicate::Compare { field, op: CompareOp::Contains, value: Literal::Text(text) } => {
            compare(field, CompareOp::Matches, &Literal::Text(format!("*{text}*")))
        }
        Predicate::Compare { field, op, value } => compare(field, *op, value),
        Predicate::Not(inner) => Ok(format!("!({})", filter(inner)?)),
        Predicate::All(all) => joined(all, " && "),
        Predicate::Any(any) => joined(any, " || "),
        // Said by comparisons or refused above.
        Predicate::In { .. } | Predicate::Between { .. } | Predicate::HasFrame { .. } => Ok(String::new()),
    }
}

fn compare(field: &str, op: CompareOp, value: &Literal) -> Result<String, String> {
    let field = match field {
        "tid" => "common_pid",
        "cpu" => "CPU",
        "comm" => "COMM",
        "pid" => return Err("its filters know threads: write tid, or choose the process as target".to_owned()),
        own => own.strip_prefix("args.").unwrap_or(own),
    };
    if field.contains('[') {
        return Err(format!("its filters do not look into arrays: leave `{field}` out"));
    }
    let value = match value {
        Literal::Negative(number) => number.to_string(),
        Literal::Number(number) => number.to_string(),
        Literal::Amount { amount, .. } => return Err(format!("its filters know no units: {amount}")),
        Literal::Text(text) if !text.contains('"') => format!("\"{text}\""),
        Literal::Text(text) if !text.contains('\'') => format!("'{text}'"),
        Literal::Text(text) => return Err(format!("its filters cannot say a text with both quotes: {text}")),
    };
    Ok(format!("{field} {} {value}", op.sign()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_said_in_the_kernels_filter_language() {
        let cases = [
            ("size > 4096", Ok("size > 4096")),
            ("args.pid == 7 && comm == \"dd\"", Ok("(pid == 7) && (COMM == \"dd\")")),
            ("tid == 7 || !(cpu & 3)", Ok("(common_pid == 7) || (!(CPU & 3))")),
            ("name ~ \"*.conf\" && name !~ '/etc*'", Ok("(name ~ \"*.conf\") && (!(name ~ \"/etc*\"))")),
            ("name == 'a\"b'", Ok("name == 'a\"b'")),
            ("x == -1", Ok("x == -1")),
            ("wait_us > 1.5ms", Ok("wait_us > 1500")),
            ("size > 4KiB", Err("write a number without a unit")),
            (
                "size in (1, 2) && size between 3 and 4",
                Ok("((size == 1) || (size == 2)) && ((size >= 3) && (size <= 4))"),
            ),
            ("comm contains 'dd'", Ok("COMM ~ \"*dd*\"")),
            ("comm contains '*'", Err("*")),
            ("comm matches '^d'", Err("matches")),
            ("size == 1 || !has stack frame 'x'", Err("has stack frame")),
            ("pid == 7", Err("tid")),
            ("args.args[0] == 1", Err("arrays")),
        ];
        for (text, expected) in cases {
            let made = kernel_filter(&Predicate::parse(text).unwrap());
            match (&made, expected) {
                (Ok(made), Ok(expected)) => assert_eq!(made, expected, "{text}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{text}: {why}"),
                _ => panic!("{text}: {made:?}"),
            }
        }
    }
}
