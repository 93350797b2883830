//! In what a capture differs from another one, in words: what a command could not say of the capture that it was made from.

use bathyscope_capture::{CaptureSpec, Limits, Method};
use serde_json::Value;

/// The most options that are named.
const MAX_NAMED: usize = 6;

/// In what the capture that a command asks for differs from the one that is wanted; empty if it does not. What captures are called
/// and how their sources are called is not compared.
pub(crate) fn differences(asked: &CaptureSpec, wanted: &CaptureSpec) -> Vec<String> {
    let mut differs = Vec::new();
    let (asked_methods, wanted_methods) = (methods(asked), methods(wanted));
    if asked_methods != wanted_methods {
        differs.push(of_methods(&asked_methods, &wanted_methods));
    }
    if asked.target != wanted.target {
        let (theirs, own) = (asked.target.to_string(), wanted.target.to_string());
        differs.push(if theirs == own {
            format!("whose events: {theirs}, but other arguments, another user, or with or without what it starts")
        } else {
            format!("whose events: {theirs} instead of {own}")
        });
    }
    if asked.limits.duration_ms != wanted.limits.duration_ms {
        let time = |limits: &Limits| {
            limits.duration_ms.map_or_else(|| "when it is stopped".to_owned(), |ms| format!("{ms} ms"))
        };
        differs.push(format!("when it ends: {} instead of {}", time(&asked.limits), time(&wanted.limits)));
    }
    let budgets = |spec: &CaptureSpec| Limits { duration_ms: None, ..spec.limits.clone() };
    let names = names_of_differences(&budgets(asked), &budgets(wanted));
    if !names.is_empty() {
        differs.push(format!("limits that it does not have: {}", listed(&names)));
    }
    differs
}

/// What is recorded, without the lines for the kernel, which are made when it starts.
fn methods(spec: &CaptureSpec) -> Vec<Method> {
    let mut methods: Vec<Method> = spec.methods().cloned().collect();
    methods.iter_mut().filter_map(Method::dynamic_mut).flatten().for_each(|probe| probe.line = None);
    methods
}

fn of_methods(asked: &[Method], wanted: &[Method]) -> String {
    let ([asked], [wanted]) = (asked, wanted) else {
        return format!("what is recorded: {} sources instead of {}", asked.len(), wanted.len());
    };
    if asked.kind() != wanted.kind() {
        let fields = if wanted.tracepoints().iter().any(|probe| !probe.fields.is_empty() || probe.predicate.is_some()) {
            "; it records all fields of the events, and every hit"
        } else {
            ""
        };
        return format!("what is recorded: {} instead of {}{fields}", asked.kind().name(), wanted.kind().name());
    }
    let content = |method: &Method| {
        let Ok(Value::Object(map)) = serde_json::to_value(method) else { return Value::Null };
        map.into_iter().next().map_or(Value::Null, |(_, content)| content)
    };
    format!("options that it cannot say: {}", listed(&names_of_differences(&content(asked), &content(wanted))))
}

/// Names of what differs in two structures, as a capture's spec has them.
fn names_of_differences(one: &impl serde::Serialize, other: &impl serde::Serialize) -> Vec<String> {
    let (Ok(Value::Object(one)), Ok(Value::Object(other))) = (serde_json::to_value(one), serde_json::to_value(other))
    else {
        return Vec::new();
    };
    let missing = other.keys().filter(|name| !one.contains_key(*name));
    let names = one.keys().chain(missing).filter(|name| one.get(*name) != other.get(*name));
    names.map(|name| name.replace('_', " ")).collect()
}

fn listed(names: &[String]) -> String {
    let named = names.get(..MAX_NAMED).unwrap_or(names);
    let more = names.len().saturating_sub(named.len());
    let text = named.join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}
