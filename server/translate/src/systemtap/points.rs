//! Probe points as attach points.

use bathyscope_plan::Span;

use super::{
    StapContext,
    aliases::{self, Alias, AliasVariable},
    no_parameter,
    parse::{Component, WrittenPoint},
};
use crate::{
    ScriptTarget,
    calls::{self, CallField},
    refusal::{Result, refuse},
    tree::{Expr, Statement},
};

/// An attach point, with what SystemTap's names mean there.
#[derive(Clone, Debug)]
pub(super) struct StapPoint {
    pub(super) text: String,
    pub(super) kind: StapPointKind,
    pub(super) condition: String,
    /// The function or call, if it is one.
    pub(super) name: Option<String>,
    pub(super) variables: &'static [AliasVariable],
}

/// What kind of probe it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StapPointKind {
    Begin,
    End,
    Timer,
    CallEntry(Vec<CallField>),
    AnyCallEntry,
    CallReturn(Vec<CallField>),
    AnyCallReturn,
    /// A function of the kernel; typed if arguments have names.
    Kernel {
        typed: bool,
        is_return: bool,
    },
    User {
        is_return: bool,
    },
    Mark,
    Trace,
    Alias,
}

impl StapPoint {
    fn new(text: impl Into<String>, kind: StapPointKind) -> Self {
        Self { text: text.into(), kind, condition: String::new(), name: None, variables: &[] }
    }

    fn named(mut self, name: &str) -> Self {
        self.name = (!name.contains('*')).then(|| name.to_owned());
        self
    }

    fn of_alias(alias: &'static Alias) -> Self {
        let condition = alias.condition.to_owned();
        Self { condition, variables: alias.variables, ..Self::new(alias.point, StapPointKind::Alias) }
    }

    /// The entry that belongs to a return.
    pub(super) fn entry(&self) -> Option<Self> {
        let (text, kind) = match &self.kind {
            StapPointKind::CallReturn(fields) => {
                (self.text.replacen("sys_exit_", "sys_enter_", 1), StapPointKind::CallEntry(fields.clone()))
            }
            StapPointKind::AnyCallReturn => {
                ("tracepoint:raw_syscalls:sys_enter".to_owned(), StapPointKind::AnyCallEntry)
            }
            StapPointKind::Kernel { typed, is_return: true } => {
                let (from, to) = if *typed { ("fexit:", "fentry:") } else { ("kretprobe:", "kprobe:") };
                (self.text.replacen(from, to, 1), StapPointKind::Kernel { typed: *typed, is_return: false })
            }
            StapPointKind::User { is_return: true } => {
                (self.text.replacen("uretprobe:", "uprobe:", 1), StapPointKind::User { is_return: false })
            }
            _ => return None,
        };
        Some(Self { text, kind, ..self.clone() })
    }
}

/// The attach points of a probe point.
pub(super) fn points(
    written: &WrittenPoint,
    body: &[Statement],
    whole: &mut StapContext<'_>,
) -> Result<Vec<StapPoint>> {
    let span = written.span;
    let components = written.components.as_slice();
    let Some((first, rest)) = components.split_first() else { return Ok(Vec::new()) };
    let words: Vec<&str> = components.iter().map(|it| it.name.as_str()).collect();
    match words.as_slice() {
        ["begin"] => Ok(vec![StapPoint::new("begin", StapPointKind::Begin)]),
        ["end"] => Ok(vec![StapPoint::new("end", StapPointKind::End)]),
        ["never"] => {
            whole.output.note(span, "`probe never` does nothing and is left out", "");
            Ok(Vec::new())
        }
        ["error"] => {
            refuse(span, "errors of a script have no probe", "what a capture lost or could not read is in its ledger")
        }
        ["timer", unit] => Ok(vec![timer(unit, rest.first().and_then(|it| it.argument.as_deref()), span, whole)?]),
        ["syscall" | "nd_syscall", call] => system_calls(call, false, span, whole),
        ["syscall" | "nd_syscall", call, "return"] => system_calls(call, true, span, whole),
        ["kernel", "trace"] => Ok(vec![trace(rest, span)?]),
        ["kernel" | "module", "function", ..] => Ok(vec![kernel_function(first, rest, body, span)?]),
        ["process", ..] => Ok(vec![process(first, rest, span, whole)?]),
        _ => library(&words, body, span),
    }
}

/// A probe of SystemTap's library.
fn library(words: &[&str], body: &[Statement], span: Span) -> Result<Vec<StapPoint>> {
    let name = words.join(".");
    if let Some(alias) = aliases::find(&name) {
        return Ok(vec![StapPoint::of_alias(alias)]);
    }
    let (function, is_return) = name.strip_suffix(".return").map_or((name.as_str(), false), |name| (name, true));
    if let Some((function, variables)) = aliases::function(function) {
        let typed = is_typed(body) || uses(body, &mut |name| variables.iter().any(|it| it.name == name));
        return Ok(vec![StapPoint { variables, ..function_point("", function, typed, is_return) }]);
    }
    let family = words.first().copied().unwrap_or_default();
    let hint = format!("the nearest: {}", aliases::nearest(family));
    refuse(span, format!("the probe `{name}` has no equal"), hint)
}

fn timer(unit: &str, argument: Option<&str>, span: Span, whole: &mut StapContext<'_>) -> Result<StapPoint> {
    if unit == "profile" {
        let message = "`timer.profile` runs 100 times a second on each CPU; there it runs with the kernel's tick";
        whole.output.note(span, message, "change the rate in `profile:hz:100`");
        return Ok(StapPoint::new("profile:hz:100", StapPointKind::Timer));
    }
    let argument = argument.unwrap_or_default();
    let digits = match argument.strip_prefix('$') {
        Some(_) => match parameter(argument, &whole.options.parameters) {
            Some(value) => value,
            None => return no_parameter(argument, span),
        },
        None => argument.to_owned(),
    };
    let Some(number) = digits.parse::<u64>().ok().filter(|it| *it > 0) else {
        return refuse(span, "a timer has a number", "write `timer.s(1)` or `timer.ms(100)`");
    };
    let text = match unit {
        "s" | "sec" => format!("interval:s:{number}"),
        "ms" | "msec" => format!("interval:ms:{number}"),
        "us" | "usec" => format!("interval:us:{number}"),
        "ns" | "nsec" if number % 1000 == 0 => format!("interval:us:{}", number / 1000),
        "hz" => format!("interval:hz:{number}"),
        _ => {
            return refuse(
                span,
                format!("the timer `{unit}` has no equal"),
                "use `timer.s`, `timer.ms`, `timer.us` or `timer.hz`",
            );
        }
    };
    Ok(StapPoint::new(text, StapPointKind::Timer))
}

/// The value of `$1` or `@1`.
pub(super) fn parameter(name: &str, parameters: &[String]) -> Option<String> {
    let index: usize = name.trim_start_matches(['$', '@']).parse().ok()?;
    parameters.get(index.checked_sub(1)?).cloned()
}

fn system_calls(call: &str, is_return: bool, span: Span, whole: &mut StapContext<'_>) -> Result<Vec<StapPoint>> {
    let side = if is_return { "exit" } else { "enter" };
    if call == "*" {
        let kind = if is_return { StapPointKind::AnyCallReturn } else { StapPointKind::AnyCallEntry };
        return Ok(vec![StapPoint::new(format!("tracepoint:raw_syscalls:sys_{side}"), kind)]);
    }
    let known = calls::matching(call);
    if known.is_empty() {
        let (reason, hint) = crate::dtrace::no_call(call);
        return refuse(span, reason, hint);
    }
    let of = |name: &str, fields: Vec<CallField>| {
        let kind = if is_return { StapPointKind::CallReturn(fields) } else { StapPointKind::CallEntry(fields) };
        StapPoint::new(format!("tracepoint:syscalls:sys_{side}_{name}"), kind)
    };
    // Each call has its own arguments; where none is used, a wildcard does.
    let mut all = Vec::new();
    for name in known {
        let fields = calls::fields(name).unwrap_or_default();
        all.push(of(name, fields).named(name));
        if let Some((by, skipped)) = calls::successor(name) {
            let fields = calls::fields(by).unwrap_or_default().into_iter().skip(skipped).collect();
            let message = format!("programs call `{by}` where they called `{name}`: both are probed");
            whole.output.note(span, &message, "remove the probe of the one that is not meant");
            all.push(of(by, fields).named(name));
        }
    }
    Ok(all)
}

fn trace(rest: &[Component], span: Span) -> Result<StapPoint> {
    let name = rest.first().and_then(|it| it.argument.as_deref()).unwrap_or_default();
    let event = name.rsplit(':').next().unwrap_or_default();
    if event.is_empty() || !is_plain(event) {
        return refuse(span, "a tracepoint is named in full", "write `kernel.trace(\"sched_switch\")`");
    }
    Ok(StapPoint::new(format!("rawtracepoint:{event}"), StapPointKind::Trace).named(event))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c))
}

/// Whether a body has a name that is such.
fn uses(body: &[Statement], is: &mut dyn FnMut(&str) -> bool) -> bool {
    let mut has = |expr: &Expr| expr.name().is_some_and(&mut *is);
    body.iter().any(|it| it.any(&mut has))
}

/// Whether arguments are used by their names.
fn is_typed(body: &[Statement]) -> bool {
    uses(body, &mut |name| name.strip_prefix('$').is_some_and(|name| name.starts_with(|c: char| !c.is_ascii_digit())))
}

fn function_point(module: &str, function: &str, typed: bool, is_return: bool) -> StapPoint {
    let probe = match (typed, is_return) {
        (true, false) => "fentry",
        (true, true) => "fexit",
        (false, false) => "kprobe",
        (false, true) => "kretprobe",
    };
    StapPoint::new(format!("{probe}:{module}{function}"), StapPointKind::Kernel { typed, is_return }).named(function)
}

/// The function of a component, and whether its return is meant.
fn function_of(rest: &[Component], span: Span) -> Result<(&str, bool)> {
    let name = rest.first().and_then(|it| it.argument.as_deref()).unwrap_or_default();
    if name.contains('@') {
        let hint = "name the functions by a pattern: `function(\"ext4_*\")`";
        return refuse(span, "functions by source file need debug information, which is not read", hint);
    }
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_.*?:".contains(c)) {
        return refuse(span, "a function is named by a name or pattern", "write `function(\"NAME\")`");
    }
    let is_return = match rest.get(1).map(|it| it.name.as_str()) {
        None | Some("call" | "exported") => false,
        Some("return") => true,
        Some(other) => {
            return refuse(span, format!("`.{other}` of a function has no equal"), "use `.call` or `.return`");
        }
    };
    Ok((name, is_return))
}

fn kernel_function(first: &Component, rest: &[Component], body: &[Statement], span: Span) -> Result<StapPoint> {
    let (function, is_return) = function_of(rest, span)?;
    let module = match (first.name.as_str(), first.argument.as_deref()) {
        ("kernel", _) => String::new(),
        (_, Some(module)) if is_plain(&module.replace('-', "_")) => format!("{module}:"),
        _ => return refuse(span, "a module is named in full", "write `module(\"ext4\").function(\"ext4_*\")`"),
    };
    if module.is_empty() && function == "*" {
        return refuse(
            span,
            "all functions of the kernel are too many for probes",
            "name them by a pattern: `function(\"vfs_*\")`",
        );
    }
    Ok(function_point(&module, function, is_typed(body) && !function.contains('*'), is_return))
}

fn process(first: &Component, rest: &[Component], span: Span, whole: &StapContext<'_>) -> Result<StapPoint> {
    let path = match (first.argument.as_deref(), &whole.options.target) {
        (Some(argument), _) if argument.starts_with('@') => match parameter(argument, &whole.options.parameters) {
            Some(path) => path,
            None => return no_parameter(argument, span),
        },
        (Some(path), _) if path.parse::<u32>().is_ok() => format!("/proc/{path}/exe"),
        (Some(path), _) => path.to_owned(),
        (None, ScriptTarget::Process(pid)) => format!("/proc/{pid}/exe"),
        (None, ScriptTarget::Command(path)) => path.clone(),
        (None, ScriptTarget::None) => {
            return refuse(
                span,
                "the program is not named",
                "write `process(\"/path/of/program\")`, or give -x PID or -c COMMAND",
            );
        }
    };
    if path.is_empty() || !path.chars().all(|c| c.is_ascii_alphanumeric() || "/_.-+*".contains(c)) {
        return refuse(
            span,
            "this path has characters that are not translated",
            "write a path of letters, digits and `/_.-+`",
        );
    }
    let path = match path.split_once(".so") {
        Some((library, _)) if !path.contains('/') => library,
        _ => path.as_str(),
    };
    let names: Vec<&str> = rest.iter().map(|it| it.name.as_str()).collect();
    let argument = |at: usize| rest.get(at).and_then(|it| it.argument.as_deref()).unwrap_or_default();
    match names.as_slice() {
        ["function", ..] => user_function(path, rest, span),
        ["library", "function", ..] => user_function(argument(0), rest.get(1..).unwrap_or_default(), span),
        ["mark"] => mark(path, "*", argument(0), span),
        ["provider", "mark"] => mark(path, argument(0), argument(1), span),
        ["library", "mark"] => mark(argument(0), "*", argument(1), span),
        ["begin" | "thread"] => {
            refuse(span, "the start of a process is a tracepoint", "use `kernel.trace(\"sched_process_exec\")`")
        }
        ["end"] => refuse(span, "the end of a process is a tracepoint", "use `kprocess.exit`"),
        ["syscall", ..] => {
            refuse(span, "system calls of one process are not a probe", "use `syscall.*` with `if (pid() == target())`")
        }
        _ => refuse(
            span,
            "this place in a process has no equal",
            "use `.function(\"NAME\")`, `.return` or `.mark(\"NAME\")`",
        ),
    }
}

fn user_function(path: &str, rest: &[Component], span: Span) -> Result<StapPoint> {
    let (function, is_return) = function_of(rest, span)?;
    if !path.chars().all(|c| c.is_ascii_alphanumeric() || "/_.-+*".contains(c)) || path.is_empty() {
        return refuse(
            span,
            "this path has characters that are not translated",
            "write a path of letters, digits and `/_.-+`",
        );
    }
    let probe = if is_return { "uretprobe" } else { "uprobe" };
    Ok(StapPoint::new(format!("{probe}:{path}:{function}"), StapPointKind::User { is_return }).named(function))
}

fn mark(path: &str, provider: &str, name: &str, span: Span) -> Result<StapPoint> {
    let plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_*-".contains(c));
    if !plain(name) || !plain(provider) || path.is_empty() {
        return refuse(span, "a USDT probe is named by a name or pattern", "write `mark(\"NAME\")`");
    }
    let marker = name.replace('-', "__");
    Ok(StapPoint::new(format!("usdt:{path}:{provider}:{marker}"), StapPointKind::Mark).named(name))
}
