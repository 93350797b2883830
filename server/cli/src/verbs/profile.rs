//! `profile`: sampled stacks by any event, with the letters of `perf record`.

use std::{path::PathBuf, time::Duration};

use bathyscope_agent::Simulation;
use bathyscope_capture::{
    BranchFilter, CallGraph, CaptureSpec, MAX_FREQUENCY_HZ, Method, ProfileSpec, SampledEvent, SourceSpec, Target,
    TracepointName, visible,
};
use bathyscope_catalog::{
    matches_wildcards,
    perf_events::{EventSource, PerfEvent, parse_events},
};
use bathyscope_commands::KeptProbe;
use clap::Args;

use super::{
    capture_file::CaptureFile,
    kept,
    letters_of_perf::{cpus, delay, while_runs},
    range::duration,
    trace::{Recording, Shows, missing_option, record},
};
use crate::{Failure, Outcome, config::DataArgs};

const EXAMPLES: &str = "\
Examples:
  bathyscope profile -F 99 -a --duration 10s
  bathyscope profile -p 4711,4712 -g sleep 10
  bathyscope profile -a -g -- make -j8
  bathyscope profile -e page-faults -c 1 ./server --selftest
  bathyscope profile -e sched:sched_switch -a --duration 5s
  bathyscope profile -e '{task-clock,page-faults}' -D 500 -o slow.bathy ./server --selftest
  bathyscope profile --call-graph dwarf,16384 -- ./optimised
  bathyscope profile -e cpu/mem-loads,ldlat=30/P -d -W ./server --selftest
  bathyscope profile -e cycles:u -j any_call,u -p 4711 sleep 10

Of a COMMAND its own processes are sampled; with -a, -C, -p or -G the whole machine, those CPUs, processes or that \
group, for as long as the command runs. Of several events each sample tells its own, and each has its table of functions; those of a group are counted at the same times. Functions go to standard output, the summary to standard error; the command has \
the terminal as if a shell had started it. With --save the stacks are \
kept and can be looked at as a flame graph in the browser. The exit status is the command's.";

/// What `profile` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ProfileArgs {
    /// Event to sample by, such as cycles, page-faults or sched:sched_switch; several are sampled each by itself, those in braces as one group; repeatable [default: time on the CPU]
    #[arg(short, long, value_name = "EVENT")]
    pub event: Vec<String>,
    /// Only hits of the tracepoint that satisfy this condition, in the kernel's language, such as 'bytes_req > 1000'
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<String>,
    /// Samples per second and CPU, or max for as many as the kernel allows [default: 99; tracepoints: every one]
    #[arg(short = 'F', long, value_name = "HZ", conflicts_with = "count", value_parser = frequency)]
    pub freq: Option<u32>,
    /// A sample for each so many of the event
    #[arg(short, long, value_name = "PERIOD")]
    pub count: Option<u64>,
    /// Stacks, which is the default; by frame pointers unless --call-graph says otherwise
    #[arg(short = 'g')]
    pub stacks: bool,
    /// How frames of user space are found: fp, dwarf or dwarf,BYTES, lbr
    #[arg(long, value_name = "HOW", value_parser = call_graph)]
    pub call_graph: Option<(CallGraph, Option<u32>)>,
    /// With the memory that was accessed: address, where the data came from, how long it took; events of memory tell it
    #[arg(short = 'd', long)]
    pub mem: bool,
    /// The same as -d: address, data source and weight come together
    #[arg(short = 'W', long)]
    pub weight: bool,
    /// With the CPU's last branches before each sample
    #[arg(short = 'b', long, conflicts_with = "branch_filter")]
    pub branch_any: bool,
    /// With those branches only: any, any_call, any_ret, ind_call, ind_jmp, cond, call; where: u, k, hv; in_tx, no_tx, abort_tx; save_type
    #[arg(short = 'j', long, value_name = "FILTER,…", value_delimiter = ',', value_parser = branch_word)]
    pub branch_filter: Vec<BranchFilter>,
    /// Everything on all CPUs, which is the default without a process and a command; with a command while it runs
    #[arg(short = 'a', long, conflicts_with_all = ["pid", "cgroup"])]
    pub all_cpus: bool,
    /// Only on these CPUs, such as 0,2-5; without a process everything on them
    #[arg(short = 'C', long, value_name = "CPUS")]
    pub cpu: Option<String>,
    /// Only this process, or a comma-separated list; with a command while it runs
    #[arg(short, long, value_name = "PID,…", value_delimiter = ',', conflicts_with = "cgroup")]
    pub pid: Vec<u32>,
    /// Only this thread, or a comma-separated list; with a command while it runs
    #[arg(short = 't', long = "tid", value_name = "TID,…", value_delimiter = ',', conflicts_with_all = ["pid", "cgroup", "all_cpus"])]
    pub tid: Vec<u32>,
    /// Milliseconds from the start, and so from the command's, to the first sample
    #[arg(short = 'D', long, value_name = "MS", value_parser = delay, allow_hyphen_values = true)]
    pub delay: Option<u32>,
    /// Only processes of this control group, a path below /sys/fs/cgroup
    #[arg(short = 'G', long, value_name = "PATH")]
    pub cgroup: Option<String>,
    /// Without the processes that it forks
    #[arg(short = 'i', long)]
    pub no_inherit: bool,
    /// Without frames of the kernel
    #[arg(long)]
    pub user_callchains: bool,
    /// Without frames of user space
    #[arg(long, conflicts_with = "user_callchains")]
    pub kernel_callchains: bool,
    /// End after this time, such as 500ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Only processes of this user; with a command while it runs
    #[arg(short, long, value_name = "USER", conflicts_with_all = ["pid", "tid", "cgroup", "all_cpus"])]
    pub uid: Option<String>,
    /// User that the command runs as [default: who runs this]
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Write the capture to a file, to import it elsewhere; with - to standard output, and no functions
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Keep the capture under this name, to look at it in the browser; no console may be running on the same database
    #[arg(long, value_name = "NAME")]
    pub save: Option<String>,
    /// Print JSON, an object a line: each stack, then each row of the tables of memory and branches
    #[arg(long)]
    pub json: bool,
    /// Make up events instead of sampling
    #[arg(long, value_name = "OPTIONS", num_args = 0..=1, require_equals = true, default_missing_value = "", hide = true)]
    pub simulate: Option<Simulation>,
    /// What it may cost.
    #[command(flatten)]
    pub budgets: crate::verbs::budgets::BudgetArgs,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
    /// What is logged: a level, or levels by module
    #[arg(long = "log", value_name = "FILTER", default_value = "warn")]
    pub log_filter: String,
    /// Command to run and sample, with its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub words: Vec<String>,
}

/// Samples, and prints the functions.
///
/// # Errors
/// If it cannot be started, or its samples cannot be read back.
pub fn run(args: ProfileArgs) -> Outcome {
    // What is wrong is told before anything is started. A pattern can only be of kept probes, which are looked up later.
    if !args.event.iter().any(|list| kept::list_may_be_kept(list)) {
        spec(&args)?;
    }
    if args.json && args.output.as_deref().is_some_and(|path| path.as_os_str() == "-") {
        return Err(
            Failure::new("--json and -o - both write to standard output").remedy("Write the capture to a file.")
        );
    }
    // Opened before rights are given up: it may be where only who started this can write.
    let file = args.output.as_deref().map(CaptureFile::open).transpose()?;
    let how = Recording {
        simulate: args.simulate.as_ref(),
        log_filter: &args.log_filter,
        save: args.save.as_deref(),
        data: &args.data,
        json: args.json,
        shows: match file.as_ref().is_some_and(CaptureFile::is_stdout) {
            true => Shows::Nothing,
            false => Shows::Functions,
        },
        file: file.as_ref(),
        names_kept: args.event.iter().any(|list| kept::list_may_be_kept(list)),
    };
    record(&how, |client, known| {
        if !known.is_empty() {
            refuse_kept(&args.event, known, &super::record::available(client)?)?;
        }
        spec(&args)
    })
}

/// Refuses events that are kept probes and not in the kernel: a profile makes no events.
fn refuse_kept(lists: &[String], known: &[KeptProbe], available: &[TracepointName]) -> Result<(), Failure> {
    let events = lists.iter().flat_map(|list| list.split([',', '{', '}'])).map(str::trim);
    for event in events {
        let is_there = || available.iter().any(|name| matches_wildcards(event, &name.to_string()));
        let Some(name) = kept::names_of(event, known).into_iter().next().filter(|_| !is_there()) else { continue };
        let failure =
            Failure::new(format!("`{name}` is a kept probe, and `profile` samples only events that the kernel has"));
        return Err(failure.remedy(format!(
            "`bathyscope record -e '{event}' -O stacktrace -O userstacktrace` records each hit with its stacks."
        )));
    }
    Ok(())
}

fn branch_word(word: &str) -> Result<BranchFilter, String> {
    word.trim().parse().map_err(|error: bathyscope_capture::BranchFilterError| error.to_string())
}

/// Reads `fp`, `dwarf`, `dwarf,8192` or `lbr`.
fn call_graph(text: &str) -> Result<(CallGraph, Option<u32>), String> {
    let (how, size) = text.split_once(',').map_or((text, None), |(how, size)| (how, Some(size)));
    let size =
        size.map(|size| size.parse().map_err(|_number| format!("`{size}` is no number of bytes"))).transpose()?;
    match (how, size) {
        ("fp", None) => Ok((CallGraph::FramePointer, None)),
        ("dwarf", size) => Ok((CallGraph::Dwarf, size)),
        ("lbr", None) => Ok((CallGraph::Lbr, None)),
        _ => Err("write fp, dwarf, dwarf,BYTES or lbr".to_owned()),
    }
}

pub(super) fn spec(args: &ProfileArgs) -> Result<CaptureSpec, Failure> {
    let (call_graph, stack_bytes) = args.call_graph.unwrap_or((CallGraph::FramePointer, None));
    let (mut events, group) = events(&args.event)?;
    // A tracepoint is sampled at every hit unless somebody says otherwise.
    let period = |event: &PerfEvent| {
        let is_tracepoint = matches!(event.source, EventSource::Tracepoint(_));
        args.count.or_else(|| (is_tracepoint && args.freq.is_none()).then_some(1))
    };
    let more = events.split_off(events.len().min(1));
    let event = events.pop();
    let usual = ProfileSpec::default();
    let profile = ProfileSpec {
        frequency_hz: args.freq.unwrap_or(usual.frequency_hz),
        kernel_stacks: !args.user_callchains,
        user_stacks: !args.kernel_callchains,
        // A period is of an event; that of no event is the CPU's clock.
        event: event.as_ref().map(ToString::to_string).or_else(|| args.count.map(|_| "cpu-clock".to_owned())),
        period: event.as_ref().map_or(args.count, period),
        call_graph,
        stack_bytes,
        memory: args.mem || args.weight,
        branches: if args.branch_any { vec![BranchFilter::Any] } else { args.branch_filter.clone() },
        cpus: args.cpu.as_deref().map(cpus).transpose()?.unwrap_or_default(),
        filter: args.filter.clone(),
        delay_ms: args.delay.filter(|ms| *ms > 0),
        more: more.iter().map(|more| SampledEvent { event: more.to_string(), period: period(more) }).collect(),
        group,
    };
    let target = target(args)?;
    let limits = args.budgets.limits_of(&target, args.duration);
    let name = args.save.clone().unwrap_or_default();
    let spec = CaptureSpec { name, sources: vec![SourceSpec::of(Method::Profile(profile))], target, limits };
    spec.validate().map_err(|error| Failure::because("checking what to sample", error))?;
    Ok(spec)
}

/// The events to sample by, and whether they are one group.
fn events(lists: &[String]) -> Result<(Vec<PerfEvent>, bool), Failure> {
    let mut groups = Vec::new();
    for list in lists {
        groups.extend(
            parse_events(list).map_err(|error| {
                Failure::because(format!("reading the event `{}`", visible(list.as_bytes())), error)
            })?,
        );
    }
    let is_group = groups.iter().any(|group| group.len() > 1);
    if is_group && groups.len() > 1 {
        let failure = Failure::new("a group of events in braces stands beside other events");
        return Err(failure.remedy("Write all of them in one pair of braces, or none; or make two profiles."));
    }
    Ok((groups.into_iter().flatten().collect(), is_group))
}

/// Samples a second: a number, or `max` for as many as the kernel and a spec allow.
fn frequency(text: &str) -> Result<u32, String> {
    if text != "max" {
        return text.parse().map_err(|_number| "write a number of samples a second, or max".to_owned());
    }
    let allowed = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate");
    let allowed = allowed.ok().and_then(|text| text.trim().parse::<u32>().ok());
    let most = allowed.unwrap_or(MAX_FREQUENCY_HZ).min(MAX_FREQUENCY_HZ);
    super::letters_of_perf::say(&format!("-F max: {most} samples a second"));
    Ok(most)
}

/// Whose stacks: those of a command, or of others while it runs.
fn target(args: &ProfileArgs) -> Result<Target, Failure> {
    let (argv, children) = (args.words.clone(), !args.no_inherit);
    if let Some(word) = argv.first().filter(|word| word.starts_with('-')) {
        return Err(missing_option(word, "profile"));
    }
    if args.user.is_some() && argv.is_empty() {
        return Err(Failure::new("--user is given without a command"));
    }
    let others = match (args.pid.as_slice(), &args.cgroup) {
        _ if args.uid.is_some() => args.uid.clone().map(|user| Target::User { user }),
        _ if !args.tid.is_empty() => Some(Target::Threads { tids: args.tid.clone(), children }),
        (_, Some(path)) => Some(Target::Cgroup { path: path.clone() }),
        ([], None) if args.all_cpus || args.cpu.is_some() || argv.is_empty() => Some(Target::System),
        ([], None) => None,
        (pids, None) => Some(Target::of_processes(pids, children)),
    };
    Ok(match others {
        Some(others) => while_runs(others, argv, args.user.clone()),
        None => Target::Command { argv, user: args.user.clone(), children },
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::verbs::{Cli, Verb};

    fn made(words: &[&str]) -> Result<CaptureSpec, Failure> {
        let cli = Cli::try_parse_from(["bathyscope", "profile"].iter().chain(words))
            .map_err(|error| Failure::new(error.to_string()))?;
        let Some(Verb::Profile(args)) = cli.verb else { panic!() };
        spec(&args)
    }

    fn profile(words: &[&str]) -> ProfileSpec {
        match made(words).unwrap().sources.remove(0).method {
            Method::Profile(profile) => profile,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn letters_of_perf_record_become_a_spec() {
        assert_eq!(profile(&["-g", "ls"]), ProfileSpec::default());
        assert_eq!(profile(&["-F", "999", "-a"]).frequency_hz, 999);
        let faults = profile(&["-e", "faults:u", "-c", "1", "ls"]);
        assert_eq!((faults.event.as_deref(), faults.period), (Some("page-faults:u"), Some(1)));
        assert_eq!(profile(&["-e", "sched:sched_switch", "-a"]).period, Some(1));
        assert_eq!(profile(&["-e", "sched:sched_switch", "-F", "10", "-a"]).period, None);
        assert_eq!(profile(&["-c", "1000000", "ls"]).event.as_deref(), Some("cpu-clock"));
        let dwarf = profile(&["--call-graph", "dwarf,16384", "ls"]);
        assert_eq!((dwarf.call_graph, dwarf.copied_stack_bytes()), (CallGraph::Dwarf, 16384));
        assert_eq!(profile(&["--call-graph", "dwarf", "ls"]).copied_stack_bytes(), 8192);
        for letters in [&["-d", "-W", "ls"][..], &["--mem", "ls"], &["-W", "ls"]] {
            assert_eq!(profile(letters), ProfileSpec { memory: true, ..ProfileSpec::default() });
        }
        assert_eq!(profile(&["-b", "ls"]).branches, [BranchFilter::Any]);
        let filter = profile(&["-j", "any_call,u", "-j", "save_type", "--call-graph", "dwarf", "ls"]);
        assert_eq!(filter.branches, [BranchFilter::AnyCall, BranchFilter::U, BranchFilter::SaveType]);
        let both = profile(&["-g", "--call-graph", "dwarf", "ls"]);
        assert_eq!(both.call_graph, CallGraph::Dwarf);
        assert_eq!(profile(&["-e", "{cycles}", "ls"]).event.as_deref(), Some("cycles"));
        let some = profile(&["-C", "0,2-3", "-e", "kmem:kmalloc", "--filter", "bytes_req > 1000"]);
        assert_eq!((some.cpus, some.filter.as_deref()), (vec![0, 2, 3], Some("bytes_req > 1000")));
        assert_eq!(profile(&["-D", "250", "ls"]).delay_ms, Some(250));
        assert_eq!(profile(&["-D", "0", "ls"]).delay_ms, None);
        let several = profile(&["-e", "cs,kmem:kmalloc", "-e", "faults:u", "ls"]);
        let more = |event: &str, period| SampledEvent { event: event.to_owned(), period };
        assert_eq!((several.event.as_deref(), several.period, several.group), (Some("context-switches"), None, false));
        assert_eq!(several.more, [more("kmem:kmalloc", Some(1)), more("page-faults:u", None)]);
        let group = profile(&["-e", "{kmem:kmalloc,cs}", "-c", "10", "ls"]);
        assert_eq!((group.event.as_deref(), group.period, group.group), (Some("kmem:kmalloc"), Some(10), true));
        assert_eq!(group.more, [more("context-switches", Some(10))]);
        assert!(profile(&["-F", "max", "-a"]).frequency_hz > 99);
    }

    #[test]
    fn others_are_sampled_while_a_command_runs() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let while_make = |of| Target::during(words(&["make", "-j8"]), None, of);
        let group = || Target::Cgroup { path: "/a".to_owned() };
        let command = Target::Command { argv: words(&["make", "-j8"]), user: None, children: true };
        for (letters, target) in [
            (&["-a", "--", "make", "-j8"][..], while_make(Target::System)),
            (&["-ag", "make", "-j8"], while_make(Target::System)),
            (&["-C", "1", "make", "-j8"], while_make(Target::System)),
            (&["-p", "7", "--", "make", "-j8"], while_make(Target::of_processes(&[7], true))),
            (&["-p", "7,8", "-p", "9", "-i", "make", "-j8"], while_make(Target::of_processes(&[7, 8, 9], false))),
            (&["-G", "/a", "make", "-j8"], while_make(group())),
            (&["-p", "7,8"], Target::of_processes(&[7, 8], true)),
            (&["-t", "7,8", "-t", "9"], Target::Threads { tids: vec![7, 8, 9], children: true }),
            (&["-t", "7", "-i", "make", "-j8"], while_make(Target::Threads { tids: vec![7], children: false })),
            (&["-G", "/a"], group()),
            (&["-u", "www"], Target::User { user: "www".to_owned() }),
            (&["--uid", "33", "make", "-j8"], while_make(Target::User { user: "33".to_owned() })),
            (&["-a"], Target::System),
            (&["make", "-j8"], command),
        ] {
            assert_eq!(made(letters).unwrap().target, target, "{letters:?}");
        }
        // A command that only says how long is one like any other.
        let spec = made(&["-a", "-g", "--", "sleep", "0.1"]).unwrap();
        assert_eq!(
            (spec.target, spec.limits.duration_ms),
            (Target::during(words(&["sleep", "0.1"]), None, Target::System), None)
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for words in [
            &["-e", "cylces", "ls"][..],
            &["-F", "99", "-c", "1", "ls"],
            &["--call-graph", "magic", "ls"],
            &["--call-graph", "dwarf,x", "ls"],
            &["--call-graph", "dwarf,99999999", "ls"],
            &["--call-graph", "dwarf", "--kernel-callchains", "ls"],
            &["-j", "some", "ls"],
            &["-b", "-j", "any", "ls"],
            &["-b", "--call-graph", "lbr", "ls"],
            &["-e", "{cycles,faults},cs", "ls"],
            &["-e", "{cycles,faults}", "-e", "cs", "ls"],
            &["-e", "cycles,faults", "-b", "ls"],
            &["-e", "cycles,kmem:kmalloc", "--filter", "a > 1", "ls"],
            &["-a", "-p", "7"],
            &["-p", "7", "-G", "/a"],
            &["-p", "x"],
            &["-t", "7", "-p", "8"],
            &["-u", "www", "-p", "8"],
            &["-t", "7,7"],
            &["-a", "-t", "7"],
            &["-D", "-1", "ls"],
            &["-D", "10-20,30-40", "ls"],
            &["-D", "99999999", "ls"],
            &["-C", "3-1"],
            &["-F", "often", "ls"],
            &["--filter", "a > 1", "ls"],
            &["--user", "root"],
            &["--nonsense"],
            &["--nonsense", "ls"],
        ] {
            assert!(made(words).is_err(), "{words:?}");
        }
    }
}
