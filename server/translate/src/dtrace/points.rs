//! Probes of D as attach points.

use bathyscope_plan::Span;

use super::{
    DtraceContext,
    parse::Description,
    stable::{self, Stable},
};
use crate::{
    ScriptTarget,
    calls::{self, CallField},
    refusal::{Result, refuse},
};

/// An attach point, with what D's names mean there.
#[derive(Clone, Debug)]
pub(super) struct DtracePoint {
    pub(super) text: String,
    pub(super) kind: DtracePointKind,
    /// What must hold so that it is the probe of D; may be empty.
    pub(super) condition: String,
    /// The probe's parts, as D names them.
    pub(super) names: Names,
}

/// `provider:module:function:name`.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) provider: String,
    pub(super) module: String,
    pub(super) function: String,
    pub(super) name: String,
}

/// What kind of probe it is.
#[derive(Clone, Debug)]
pub(super) enum DtracePointKind {
    Begin,
    End,
    Tick,
    Profile,
    /// The entry of system calls with the fields that all of them have at a position.
    CallEntry(Vec<Option<CallField>>),
    AnyCallEntry,
    CallReturn,
    AnyCallReturn,
    KernelEntry,
    KernelReturn,
    UserEntry,
    UserReturn,
    Usdt,
    Raw,
    Stable(&'static Stable),
}

impl Names {
    fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '['])
    }

    /// The function, if it is one.
    pub(super) fn one_function(&self) -> Option<&str> {
        (!self.function.is_empty() && !Self::is_pattern(&self.function)).then_some(self.function.as_str())
    }
}

/// The attach points of a description.
pub(super) fn points(description: &Description, whole: &mut DtraceContext<'_>) -> Result<Vec<DtracePoint>> {
    let span = description.span;
    let names = names(&description.text, span)?;
    if [&names.module, &names.function, &names.name].iter().any(|it| it.contains(['[', '!'])) {
        return refuse(span, "sets of characters in patterns have no equal", "use `*` and `?`, or a list of probes");
    }
    let provider = names.provider.as_str();
    let number = provider.trim_start_matches(|c: char| !c.is_ascii_digit() && c != '$');
    match provider {
        "dtrace" => one(dtrace(names, span)?),
        "profile" => one(timer(names, span)?),
        "syscall" => system_calls(names, span, whole),
        "fbt" => kernel_functions(names, span, whole),
        "sdt" | "rawtp" => one(kernel_markers(names, span)?),
        "pid" => refuse(span, "the process is missing behind `pid`", "write `pid$target` with -p, or `pid1234`"),
        _ if provider.starts_with("pid") && number.len() + 3 == provider.len() => {
            let number = number.to_owned();
            user_functions(names, &number, span, whole)
        }
        _ => match stable::find(provider, &names.name) {
            Some(found) => Ok(vec![DtracePoint {
                text: found.point.to_owned(),
                kind: DtracePointKind::Stable(found),
                condition: found.condition.to_owned(),
                names,
            }]),
            None if !number.is_empty() => {
                let number = number.to_owned();
                one(user_markers(names, &number, span, whole)?)
            }
            None => {
                let (reason, nearest) = stable::no_equal(provider, &names.name);
                refuse(span, reason, nearest)
            }
        },
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the others give several")]
fn one(point: DtracePoint) -> Result<Vec<DtracePoint>> {
    Ok(vec![point])
}

fn names(text: &str, span: Span) -> Result<Names> {
    let parts: Vec<&str> = text.split(':').collect();
    let [provider, module, function, name] = match parts.as_slice() {
        [name @ ("BEGIN" | "END" | "ERROR")] => ["dtrace", "", "", *name],
        [name] if name.starts_with("profile-") || name.starts_with("tick-") => ["profile", "", "", *name],
        [provider, module, function, name] => [*provider, *module, *function, *name],
        [_] | [_, _] | [_, _, _] => {
            let hint = "write all four parts, with the provider in front: `syscall::read:entry`";
            return refuse(span, format!("`{text}` names no provider"), hint);
        }
        _ => return refuse(span, "a probe has four parts", "write `provider:module:function:name`"),
    };
    if provider.is_empty() || Names::is_pattern(provider) {
        let hint = "name the provider: `syscall`, `fbt`, `profile`, `proc`, `sched`, `io`, `pid$target`";
        return refuse(span, format!("`{text}` means probes of all providers"), hint);
    }
    let provider = if matches!(name, "BEGIN" | "END") { "dtrace" } else { provider };
    let [provider, module, function, name] = [provider, module, function, name].map(str::to_owned);
    Ok(Names { provider, module, function, name })
}

fn point(text: impl Into<String>, kind: DtracePointKind, names: Names) -> DtracePoint {
    DtracePoint { text: text.into(), kind, condition: String::new(), names }
}

fn dtrace(names: Names, span: Span) -> Result<DtracePoint> {
    match names.name.as_str() {
        "BEGIN" => Ok(point("begin", DtracePointKind::Begin, names)),
        "END" => Ok(point("end", DtracePointKind::End, names)),
        _ => refuse(span, "errors of probes have no probe", "what a capture lost or could not read is in its ledger"),
    }
}

/// `profile-997`, `tick-1s`.
fn timer(names: Names, span: Span) -> Result<DtracePoint> {
    let Some((kind, rate)) = names.name.split_once('-') else {
        return refuse(span, "the profile provider has `profile-N` and `tick-N`", "write `profile-99` or `tick-1s`");
    };
    let digits = rate.len() - rate.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = rate.split_at(digits);
    let number: Option<u64> = number.parse().ok().filter(|it| *it > 0);
    let every = match (number, unit) {
        (Some(rate), "" | "hz") => Some(("hz", rate)),
        (Some(n), "s" | "sec") => Some(("s", n)),
        (Some(n), "m" | "min") => n.checked_mul(60).map(|n| ("s", n)),
        (Some(n), "h" | "hour") => n.checked_mul(3600).map(|n| ("s", n)),
        (Some(n), "d" | "day") => n.checked_mul(86400).map(|n| ("s", n)),
        (Some(n), "ms" | "msec") => Some(("ms", n)),
        (Some(n), "us" | "usec") => Some(("us", n)),
        (Some(n), "ns" | "nsec") if n % 1000 == 0 => Some(("us", n / 1000)),
        _ => None,
    };
    match (kind, every) {
        ("profile", Some((unit, n))) => Ok(point(format!("profile:{unit}:{n}"), DtracePointKind::Profile, names)),
        ("tick", Some((unit, n))) => Ok(point(format!("interval:{unit}:{n}"), DtracePointKind::Tick, names)),
        _ => refuse(span, format!("`{}` is no timer", names.name), "write `profile-99`, `tick-1s` or `tick-100ms`"),
    }
}

/// Entry and return by the probe's name.
fn sides(name: &str, span: Span) -> Result<&'static [bool]> {
    match name {
        "entry" => Ok(&[false]),
        "return" => Ok(&[true]),
        "" | "*" => Ok(&[false, true]),
        _ => refuse(span, format!("there is no probe `{name}` at a function"), "write `entry` or `return`"),
    }
}

fn system_calls(names: Names, span: Span, whole: &mut DtraceContext<'_>) -> Result<Vec<DtracePoint>> {
    let mut all = Vec::new();
    for is_return in sides(&names.name, span)? {
        let (side, name) = if *is_return { ("exit", "return") } else { ("enter", "entry") };
        let names = Names { name: name.to_owned(), ..names.clone() };
        let call = names.function.clone();
        if call.is_empty() || call == "*" {
            let kind = if *is_return { DtracePointKind::AnyCallReturn } else { DtracePointKind::AnyCallEntry };
            all.push(point(format!("tracepoint:raw_syscalls:sys_{side}"), kind, names));
            continue;
        }
        let known = calls::matching(&call);
        if known.is_empty() {
            let (reason, nearest) = no_call(&call);
            return refuse(span, reason, nearest);
        }
        let kind = if *is_return { DtracePointKind::CallReturn } else { DtracePointKind::CallEntry(common(&known, 0)) };
        all.push(point(format!("tracepoint:syscalls:sys_{side}_{call}"), kind, names.clone()));
        if let Some((by, skipped)) = calls::successor(&call) {
            let message = format!("programs call `{by}` where they called `{call}`: both are probed");
            whole.output.note(span, &message, "remove the probe of the one that is not meant");
            let kind = if *is_return {
                DtracePointKind::CallReturn
            } else {
                DtracePointKind::CallEntry(common(&[by], skipped))
            };
            all.push(point(format!("tracepoint:syscalls:sys_{side}_{by}"), kind, names));
        }
    }
    Ok(all)
}

/// The fields that calls have at the same position by the same name.
fn common(names: &[&str], skipped: usize) -> Vec<Option<CallField>> {
    let mut all = names.iter().filter_map(|name| calls::fields(name)).map(|fields| fields.into_iter().skip(skipped));
    let first: Vec<CallField> = all.next().map(Iterator::collect).unwrap_or_default();
    let rest: Vec<Vec<CallField>> = all.map(Iterator::collect).collect();
    let same = |(at, field): (usize, CallField)| rest.iter().all(|it| it.get(at) == Some(&field)).then_some(field);
    first.into_iter().enumerate().map(same).collect()
}

/// Why there is no such system call, and which is near.
pub(crate) fn no_call(call: &str) -> (String, String) {
    let near = match call {
        "exece" | "exec" | "exec*" => "execve",
        "open64" | "open_nocancel" => "open",
        "fork1" | "forksys" | "vforksys" => "clone",
        "mmap64" => "mmap",
        "rexit" => "exit_group",
        "stat64" | "fstatat" | "fstatat64" => "newfstatat",
        "pread" => "pread64",
        "pwrite" => "pwrite64",
        "nanosleep64" => "clock_nanosleep",
        "sendfile" => "sendfile64",
        "umount2" => "umount",
        _ => "",
    };
    let hint = if near.is_empty() {
        "search the catalogue for its name".to_owned()
    } else {
        format!("the nearest is `{near}`")
    };
    (format!("Linux has no system call `{call}`"), hint)
}

const KERNEL_MODULES: [&str; 6] = ["", "kernel", "vmlinux", "genunix", "unix", "mach_kernel"];

fn kernel_functions(names: Names, span: Span, whole: &mut DtraceContext<'_>) -> Result<Vec<DtracePoint>> {
    let module =
        if KERNEL_MODULES.contains(&names.module.as_str()) { String::new() } else { format!("{}:", names.module) };
    if module.is_empty() && matches!(names.function.as_str(), "" | "*") {
        return refuse(
            span,
            "all functions of the kernel are too many for probes",
            "name them by a pattern: `fbt::vfs_*:entry`",
        );
    }
    if matches!(names.function.as_str(), "malloc" | "free" | "kmem_alloc" | "kmem_free") {
        let hint = "the nearest are the tracepoints `kmem:kmalloc` (args.bytes_alloc) and `kmem:kfree`";
        whole.output.note(span, &format!("`{}` is no function of Linux", names.function), hint);
    }
    let function = if names.function.is_empty() { "*" } else { &names.function };
    let mut all = Vec::new();
    for is_return in sides(&names.name, span)? {
        let (probe, kind) = if *is_return {
            ("kretprobe", DtracePointKind::KernelReturn)
        } else {
            ("kprobe", DtracePointKind::KernelEntry)
        };
        let name = if *is_return { "return" } else { "entry" };
        let names = Names { name: name.to_owned(), ..names.clone() };
        all.push(point(format!("{probe}:{module}{function}"), kind, names));
    }
    Ok(all)
}

fn kernel_markers(names: Names, span: Span) -> Result<DtracePoint> {
    if names.name.is_empty() || Names::is_pattern(&names.name) {
        return refuse(span, "a tracepoint is named in full", "write `sdt:::NAME`, such as `sdt:sched::sched_switch`");
    }
    let name = names.name.replace('-', "_");
    Ok(point(format!("rawtracepoint:{name}"), DtracePointKind::Raw, names))
}

/// What is in front of a probe in a process: its file, and the condition that it is this process.
fn process(names: &Names, number: &str, span: Span, whole: &DtraceContext<'_>) -> Result<(String, String)> {
    let target = &whole.options.target;
    let (own, condition) = match (number, target) {
        ("$target", ScriptTarget::None) => {
            return refuse(
                span,
                "`$target` needs a process",
                "give -p PID or -c COMMAND, or write the number of the process",
            );
        }
        ("$target", ScriptTarget::Process(pid)) => (format!("/proc/{pid}/exe"), format!("pid == {pid}")),
        ("$target", ScriptTarget::Command(path)) => (path.clone(), "pid == cpid".to_owned()),
        _ => match number.parse::<u32>() {
            Ok(pid) => (format!("/proc/{pid}/exe"), format!("pid == {pid}")),
            Err(_not_a_number) => {
                return refuse(
                    span,
                    format!("`{number}` is no process"),
                    "write the number of the process, or `$target`",
                );
            }
        },
    };
    let base = own.rsplit('/').next().unwrap_or_default();
    let module = names.module.as_str();
    let file = if module == "a.out" || (!module.is_empty() && module == base) {
        own
    } else if let Some(library) = module.strip_suffix(".so").or_else(|| module.split_once(".so.").map(|it| it.0)) {
        library.to_owned()
    } else {
        module.to_owned()
    };
    if !file.chars().all(|c| c.is_ascii_alphanumeric() || "/_.-+".contains(c)) {
        return refuse(
            span,
            format!("`{module}` is no file"),
            "name the library, such as `libc`, or `a.out` for the program",
        );
    }
    Ok((file, condition))
}

fn user_functions(names: Names, number: &str, span: Span, whole: &DtraceContext<'_>) -> Result<Vec<DtracePoint>> {
    let (file, condition) = process(&names, number, span, whole)?;
    if file.is_empty() {
        let hint = "name the file: `pid$target:libc:malloc:entry`, or `pid$target:a.out:main:entry` for the program";
        return refuse(span, "this means functions of all files of the process", hint);
    }
    let function = if names.function.is_empty() { "*" } else { names.function.as_str() };
    let mut all = Vec::new();
    if !names.name.is_empty() && names.name.chars().all(|c| c.is_ascii_hexdigit()) {
        let text = format!("uprobe:{file}:{function}+0x{}", names.name);
        all.push(DtracePoint { condition, ..point(text, DtracePointKind::UserEntry, names) });
        return Ok(all);
    }
    for is_return in sides(&names.name, span)? {
        let (probe, kind, name) = if *is_return {
            ("uretprobe", DtracePointKind::UserReturn, "return")
        } else {
            ("uprobe", DtracePointKind::UserEntry, "entry")
        };
        let names = Names { name: name.to_owned(), ..names.clone() };
        let text = format!("{probe}:{file}:{function}");
        all.push(DtracePoint { condition: condition.clone(), ..point(text, kind, names) });
    }
    Ok(all)
}

/// `provider$target:module:function:name`: a USDT probe.
fn user_markers(names: Names, number: &str, span: Span, whole: &DtraceContext<'_>) -> Result<DtracePoint> {
    let mut names = names;
    if names.module.is_empty() {
        "a.out".clone_into(&mut names.module);
    }
    let (file, condition) = process(&names, number, span, whole)?;
    if names.name.is_empty() {
        return refuse(span, "the USDT probe is not named", "write its name as the last part");
    }
    let provider = names.provider.strip_suffix(number).unwrap_or_default();
    let text = format!("usdt:{file}:{provider}:{}", names.name.replace('-', "__"));
    Ok(DtracePoint { condition, ..point(text, DtracePointKind::Usdt, names) })
}
