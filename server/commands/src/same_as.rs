//! A capture's spec → commands that would ask the same. Each is read again before it is given out: what it asks for exactly, and
//! what it asks for in another way, is told by that and not assumed.

use bathyscope_capture::{
    CallGraph, CaptureSpec, CountPer, CountSpec, DynamicProbe, HexTexts, Method, ProfileSpec, SyscallOutcome,
    SyscallSpec, Target, TraceSpec,
};
use bathyscope_catalog::dynamic::parse_perf_probe;
use serde::Serialize;

use crate::{Answer, UnknownHost, differences::differences, explain};

/// A command that asks for a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SameCommand {
    /// The command; several lines are to be pasted together.
    pub text: String,
    /// In what it asks for something else, in words; empty if it asks for exactly the same.
    pub differs: Vec<String>,
}

/// Commands of other tools, and of Bathyscope, that ask for a capture; none where no tool has one. Of several sources, which other
/// tools cannot record together, each has its own.
pub fn same_as(spec: &CaptureSpec) -> Vec<SameCommand> {
    if let [_] = spec.sources.as_slice() {
        return of_one_source(spec);
    }
    let alone = spec.sources.iter().flat_map(|source| {
        let alone = CaptureSpec { sources: vec![source.clone()], ..spec.clone() };
        let only = format!("what is recorded: only the source {}, of {}", source.id, spec.sources.len());
        of_one_source(&alone).into_iter().map(move |mut one| {
            one.differs.insert(0, only.clone());
            one
        })
    });
    alone.collect()
}

fn of_one_source(spec: &CaptureSpec) -> Vec<SameCommand> {
    let texts: Vec<String> = spec.methods().flat_map(|method| of_method(method, spec)).collect();
    let mut commands: Vec<SameCommand> = texts.iter().filter_map(|text| read_again(text, spec)).collect();
    let ours = commands.iter().find(|one| !one.text.contains('\n')).cloned();
    commands.extend(ours.map(|one| SameCommand { text: format!("bathyscope run {}", quoted(&one.text)), ..one }));
    commands
}

/// The command with what it asks for otherwise; none if it does not ask for a capture.
fn read_again(text: &str, spec: &CaptureSpec) -> Option<SameCommand> {
    let Answer::Capture(planned) = explain(text, &UnknownHost).answer else { return None };
    Some(SameCommand { text: text.to_owned(), differs: differences(&planned.spec, spec) })
}

fn of_method(method: &Method, spec: &CaptureSpec) -> Vec<String> {
    if let Some(profile) = method.profile() {
        return vec![perf_record(profile, spec)];
    }
    if let Some(count) = method.counts() {
        return perf_stat(count, spec).into_iter().collect();
    }
    if let Some(calls) = method.syscalls() {
        return of_calls(calls, spec);
    }
    if let Some(trace) = method.trace() {
        return of_trace(trace, spec);
    }
    if let Some(script) = method.script() {
        let mut line = Line::new("bpftrace");
        match &spec.target {
            Target::Process { pid, .. } => line.with("-p", &pid.to_string()),
            Target::Command { argv, .. } => {
                line.with("-c", &argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
            }
            _ => {}
        }
        if script.allow_unsafe {
            line.word("--unsafe");
        }
        if bathyscope_bpf::tools::find(&script.file).is_some_and(|tool| tool.text == script.text) {
            line.word(&format!("{}.bt", script.file));
        } else {
            line.with("-e", &script.text);
        }
        script.params.iter().for_each(|word| line.word(word));
        return vec![line.within(spec)];
    }
    if method.tracepoints().is_empty() {
        let mut line = Line::new("perf sched record");
        line.command(spec);
        return vec![line.text];
    }
    // Tracepoints with chosen fields: the nearest records all of their fields.
    let mut line = Line::new("perf record");
    method.tracepoints().iter().for_each(|probe| line.with("-e", &probe.tracepoint.to_string()));
    line.perf_target(spec);
    vec![line.text]
}

/// A command line.
struct Line {
    text: String,
}

impl Line {
    fn new(program: &str) -> Self {
        Self { text: program.to_owned() }
    }

    fn word(&mut self, word: &str) {
        self.text.push(' ');
        self.text.push_str(&quoted(word));
    }

    fn with(&mut self, option: &str, value: &str) {
        self.text.push(' ');
        self.text.push_str(option);
        self.word(value);
    }

    /// Whose events, as perf is told, and the command.
    fn perf_target(&mut self, spec: &CaptureSpec) {
        let list = |ids: &[u32]| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let inherits = match spec.target.watched() {
            Target::System => {
                self.word("-a");
                true
            }
            Target::Process { pid, children } => {
                self.with("-p", &pid.to_string());
                *children
            }
            Target::Processes { pids, children } => {
                self.with("-p", &list(pids));
                *children
            }
            Target::Threads { tids, children } => {
                self.with("-t", &list(tids));
                *children
            }
            Target::User { user } => {
                self.with("-u", user);
                true
            }
            Target::Cgroup { path } => {
                self.with("-G", path);
                true
            }
            Target::Command { children, .. } => *children,
            Target::During { .. } | Target::Unit { .. } | Target::Container { .. } | Target::Comm { .. } => {
                self.word("-a");
                true
            }
        };
        if !inherits {
            self.word("-i");
        }
        self.command(spec);
    }

    /// The command that is started, or a `sleep` as long as the capture lasts.
    fn command(&mut self, spec: &CaptureSpec) {
        match (spec.target.command(), spec.limits.duration_ms) {
            (Some(argv), _) => {
                self.text.push_str(" --");
                argv.iter().for_each(|word| self.word(word));
            }
            (None, Some(ms)) => self.text.push_str(&format!(" -- sleep {}", seconds(ms))),
            (None, None) => {}
        }
    }

    /// Within the time that the capture lasts, where the tool has no option for it.
    fn within(self, spec: &CaptureSpec) -> String {
        match spec.limits.duration_ms {
            Some(ms) => format!("timeout {} {}", seconds(ms), self.text),
            None => self.text,
        }
    }
}

fn seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) { (ms / 1000).to_string() } else { format!("{}.{:03}", ms / 1000, ms % 1000) }
}

/// A word as it is typed into a shell.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,=+@%^".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn perf_record(profile: &ProfileSpec, spec: &CaptureSpec) -> String {
    let mut line = Line::new("perf record");
    match profile.period {
        Some(period) => line.with("-c", &period.to_string()),
        None => line.with("-F", &profile.frequency_hz.to_string()),
    }
    let events: Vec<&str> =
        profile.event.iter().map(String::as_str).chain(profile.more.iter().map(|more| more.event.as_str())).collect();
    if !events.is_empty() {
        let text = events.join(",");
        line.with("-e", &if profile.group { format!("{{{text}}}") } else { text });
    }
    if let Some(filter) = &profile.filter {
        line.with("--filter", filter);
    }
    match (profile.call_graph, profile.stack_bytes) {
        (CallGraph::FramePointer, _) => line.word("-g"),
        (CallGraph::Lbr, _) => line.with("--call-graph", "lbr"),
        (CallGraph::Dwarf, None) => line.with("--call-graph", "dwarf"),
        (CallGraph::Dwarf, Some(bytes)) => line.with("--call-graph", &format!("dwarf,{bytes}")),
    }
    if !profile.kernel_stacks {
        line.word("--user-callchains");
    }
    if !profile.user_stacks {
        line.word("--kernel-callchains");
    }
    if profile.memory {
        line.word("-d");
    }
    if !profile.branches.is_empty() {
        line.with("-j", &profile.branches.iter().map(|branch| branch.word()).collect::<Vec<_>>().join(","));
    }
    if !profile.cpus.is_empty() {
        line.with("-C", &list(&profile.cpus));
    }
    if let Some(ms) = profile.delay_ms {
        line.with("-D", &ms.to_string());
    }
    line.perf_target(spec);
    line.text
}

/// The lines of `perf probe` that make probes, and the names of their events.
fn probes(dynamic: &[DynamicProbe]) -> Option<(Vec<String>, Vec<String>)> {
    let (mut lines, mut names) = (Vec::new(), Vec::new());
    for probe in dynamic {
        let path =
            probe.file.as_deref().map(|file| if file.contains('/') { file.to_owned() } else { format!("/{file}") });
        let definition = parse_perf_probe(&probe.typed, path.as_deref()).ok()?;
        let mut line = Line::new("perf probe");
        if let Some(file) = &probe.file {
            line.with("-x", file);
        }
        line.with("--add", &probe.typed);
        lines.push(line.text);
        names.push(format!("{}:{}", definition.group?, definition.event?));
    }
    Some((lines, names))
}

fn perf_stat(count: &CountSpec, spec: &CaptureSpec) -> Option<String> {
    let (mut lines, names) = probes(&count.dynamic)?;
    let mut line = Line::new("perf stat");
    for group in &count.groups {
        let text = group.join(",");
        line.with("-e", &if group.len() > 1 { format!("{{{text}}}") } else { text });
    }
    names.iter().for_each(|name| line.with("-e", name));
    if count.interval_ms != 1000 {
        line.with("-I", &count.interval_ms.to_string());
    }
    match count.per {
        CountPer::Total => {}
        CountPer::Cpu => line.word("-A"),
        CountPer::Thread => line.word("--per-thread"),
    }
    if count.detail > 0 {
        line.word(&format!("-{}", "d".repeat(usize::from(count.detail))));
    }
    if !count.cpus.is_empty() {
        line.with("-C", &list(&count.cpus));
    }
    if let Some(group) = &count.cgroup {
        line.with("-G", group);
    }
    if let Some(ms) = count.delay_ms {
        line.with("-D", &ms.to_string());
    }
    line.perf_target(spec);
    lines.push(line.text);
    Some(lines.join("\n"))
}

fn of_calls(calls: &SyscallSpec, spec: &CaptureSpec) -> Vec<String> {
    let mut texts = Vec::new();
    if matches!(spec.target, Target::Process { .. } | Target::Processes { .. } | Target::Command { .. }) {
        texts.push(strace(calls, spec));
    }
    if calls.filter.is_some() || matches!(spec.target, Target::Comm { .. } | Target::System) {
        texts.extend(sysdig(calls, spec));
    }
    let mut line = Line::new("perf trace");
    if !calls.calls.is_empty() {
        line.with("-e", &calls.calls.join(","));
    }
    if calls.min_duration_ns > 0 {
        line.with("--duration", &format!("{}", calls.min_duration_ns as f64 / 1e6));
    }
    if calls.outcome == SyscallOutcome::Failed {
        line.word("--failure");
    }
    if calls.stacks {
        line.with("--call-graph", "fp");
    }
    line.perf_target(spec);
    // perf has another word for it there.
    texts.push(line.text.replace(" -i", " --no-inherit"));
    texts
}

fn strace(calls: &SyscallSpec, spec: &CaptureSpec) -> String {
    let mut line = Line::new("strace");
    let children = match &spec.target {
        Target::Process { children, .. } | Target::Processes { children, .. } | Target::Command { children, .. } => {
            *children
        }
        _ => false,
    };
    let look = &calls.look;
    let switches = [
        (children, "-f"),
        (calls.fd_paths && !look.sockets, "-y"),
        (calls.fd_paths && look.sockets, "-yy"),
        (look.verbose, "-v"),
        (look.hex == HexTexts::NonAscii, "-x"),
        (look.hex == HexTexts::All, "-xx"),
        (calls.cpu_time, "-c"),
        (calls.addresses, "-i"),
        (calls.stacks, "-k"),
        (calls.numbers, "-n"),
        (calls.outcome == SyscallOutcome::Failed, "-Z"),
        (calls.outcome == SyscallOutcome::Succeeded, "-z"),
    ];
    switches.iter().filter(|(on, _)| *on).for_each(|(_, switch)| line.word(switch));
    if !calls.calls.is_empty() {
        line.with("-e", &format!("trace={}", calls.calls.join(",")));
    }
    if !look.raw.is_empty() {
        line.with("-e", &format!("raw={}", look.raw.join(",")));
    }
    if calls.string_bytes != 32 {
        line.with("-s", &calls.string_bytes.to_string());
    }
    match &spec.target {
        Target::Process { pid, .. } => line.with("-p", &pid.to_string()),
        Target::Processes { pids, .. } => line.with("-p", &list(pids)),
        Target::Command { argv, user, .. } => {
            if let Some(user) = user {
                line.with("-u", user);
            }
            line.text.push_str(" --");
            argv.iter().for_each(|word| line.word(word));
        }
        _ => {}
    }
    line.within(spec)
}

fn sysdig(calls: &SyscallSpec, spec: &CaptureSpec) -> Option<String> {
    let mut conditions: Vec<String> = Vec::new();
    // The line has all of its conditions in it.
    if let (Target::Comm { pattern }, None) = (&spec.target, &calls.filter) {
        conditions.push(format!("proc.name={pattern}"));
    }
    match (&calls.filter, calls.calls.as_slice()) {
        (Some(filter), _) => conditions.push(filter.clone()),
        (None, []) => {}
        (None, [one]) => conditions.push(format!("evt.type={one}")),
        (None, names) => conditions.push(format!("evt.type in ({})", names.join(", "))),
    }
    let mut line = Line::new("sysdig");
    if let Some(ms) = spec.limits.duration_ms {
        if !ms.is_multiple_of(1000) {
            return None;
        }
        line.with("-M", &(ms / 1000).to_string());
    }
    if calls.string_bytes != 32 {
        line.with("-s", &calls.string_bytes.to_string());
    }
    if !conditions.is_empty() {
        line.word(&conditions.join(" and "));
    }
    Some(line.text)
}

fn of_trace(trace: &TraceSpec, spec: &CaptureSpec) -> Vec<String> {
    if trace.dynamic.is_empty() {
        return vec![trace_cmd(trace, spec)];
    }
    let Some((mut lines, names)) = probes(&trace.dynamic).filter(|_| trace.tracer.is_none()) else {
        return vec![lines_of_tracefs(trace, spec)];
    };
    let mut line = Line::new("perf record");
    for event in &trace.events {
        line.with("-e", &event.event.to_string());
        if let Some(filter) = &event.filter {
            line.with("--filter", filter);
        }
    }
    names.iter().for_each(|name| line.with("-e", name));
    line.perf_target(spec);
    lines.push(line.text);
    vec![lines.join("\n")]
}

fn trace_cmd(trace: &TraceSpec, spec: &CaptureSpec) -> String {
    let mut line = Line::new("trace-cmd record");
    if let Some(tracer) = &trace.tracer {
        line.with("-p", tracer);
    }
    trace.functions.iter().for_each(|name| line.with("-l", name));
    trace.not_functions.iter().for_each(|name| line.with("-n", name));
    trace.graph_roots.iter().for_each(|name| line.with("-g", name));
    if let Some(depth) = trace.max_depth {
        line.with("--max-graph-depth", &depth.to_string());
    }
    for event in &trace.events {
        line.with("-e", &event.event.to_string());
        if let Some(filter) = &event.filter {
            line.with("-f", filter);
        }
    }
    trace.options.iter().for_each(|(name, on)| line.with("-O", &format!("{}{name}", if *on { "" } else { "no" })));
    if let Some(clock) = &trace.clock {
        line.with("-C", clock);
    }
    if let Some(kib) = trace.buffer_kib {
        line.with("-b", &kib.to_string());
    }
    let ids = |line: &mut Line, ids: &[u32], children: bool| {
        line.with("-P", &list(ids));
        if children {
            line.word("-c");
        }
    };
    match spec.target.watched() {
        Target::Process { pid, children } => ids(&mut line, &[*pid], *children),
        Target::Processes { pids, children } => ids(&mut line, pids, *children),
        Target::Command { children, user, .. } => {
            if let Some(user) = user {
                line.with("--user", user);
            }
            line.word("-F");
            if *children {
                line.word("-c");
            }
        }
        _ => {}
    }
    line.command(spec);
    line.text
}

/// Lines that write to the files of tracefs.
fn lines_of_tracefs(trace: &TraceSpec, spec: &CaptureSpec) -> String {
    let mut lines = vec!["cd /sys/kernel/tracing".to_owned()];
    for probe in &trace.dynamic {
        let is_user = probe.typed.contains(" /");
        lines.push(format!(
            "echo {} >> {}",
            quoted(&probe.typed),
            if is_user { "uprobe_events" } else { "kprobe_events" }
        ));
    }
    let each = |lines: &mut Vec<String>, names: &[String], file: &str| {
        names.iter().for_each(|name| lines.push(format!("echo {} >> {file}", quoted(name))));
    };
    each(&mut lines, &trace.functions, "set_ftrace_filter");
    each(&mut lines, &trace.graph_roots, "set_graph_function");
    for (name, on) in &trace.options {
        lines.push(format!("echo {}{name} > trace_options", if *on { "" } else { "no" }));
    }
    for event in &trace.events {
        let folder = format!("events/{}/{}", event.event.system(), event.event.name());
        lines.extend(event.filter.as_deref().map(|filter| format!("echo {} > {folder}/filter", quoted(filter))));
        lines.push(format!("echo 1 > {folder}/enable"));
    }
    lines.extend(trace.tracer.as_deref().map(|tracer| format!("echo {tracer} > current_tracer")));
    lines.push("echo 1 > tracing_on".to_owned());
    if let Some(ms) = spec.limits.duration_ms {
        lines.push(format!("sleep {}", seconds(ms)));
    }
    if let Some(argv) = spec.target.command() {
        lines.push(argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
    }
    lines.push("cat trace".to_owned());
    lines.join("\n")
}
