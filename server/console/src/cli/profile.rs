//! `profile`: sampled stacks by any event, with the letters of `perf record`.

use std::time::Duration;

use bathyscope_agent::Simulation;
use bathyscope_capture::{BranchFilter, CallGraph, CaptureSpec, Method, ProfileSpec, Target, visible};
use bathyscope_catalog::perf_events::{EventSource, parse_event};
use clap::Args;

use super::trace::{Recording, duration, missing_option, record};
use crate::{Failure, Outcome, config::DataArgs};

const EXAMPLES: &str = "\
Examples:
  bathyscope profile -F 99 -a --duration 10s
  bathyscope profile -p 4711 -g sleep 10
  bathyscope profile -e page-faults -c 1 ./server --selftest
  bathyscope profile -e sched:sched_switch -a --duration 5s
  bathyscope profile --call-graph dwarf,16384 -- ./optimised
  bathyscope profile -e cpu/mem-loads,ldlat=30/P -d -W ./server --selftest
  bathyscope profile -e cycles:u -j any_call,u -p 4711 sleep 10

Functions go to standard output, what the command prints and the summary to standard error. With --save the stacks are \
kept and can be looked at as a flame graph in the browser. The exit status is the command's.";

/// What `profile` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ProfileArgs {
    /// Event to sample by, such as cycles, page-faults or sched:sched_switch [default: time on the CPU]
    #[arg(short, long, value_name = "EVENT")]
    pub event: Option<String>,
    /// Samples per second and CPU [default: 99; tracepoints: every one]
    #[arg(short = 'F', long, value_name = "HZ", conflicts_with = "count")]
    pub freq: Option<u32>,
    /// A sample for each so many of the event
    #[arg(short, long, value_name = "PERIOD")]
    pub count: Option<u64>,
    /// Stacks by frame pointers, which is the default
    #[arg(short = 'g', conflicts_with = "call_graph")]
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
    /// Everything on all CPUs, which is the default without a process and a command
    #[arg(short = 'a', long, conflicts_with = "pid")]
    pub all_cpus: bool,
    /// Only this process
    #[arg(short, long, value_name = "PID")]
    pub pid: Option<u32>,
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
    /// User that the command runs as [default: who runs this]
    #[arg(short, long, value_name = "NAME")]
    pub user: Option<String>,
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
    pub budgets: crate::cli::budgets::BudgetArgs,
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
    let spec = spec(&args)?;
    let how = Recording {
        simulate: args.simulate.as_ref(),
        log_filter: &args.log_filter,
        save: args.save.as_deref(),
        data: &args.data,
        json: args.json,
        is_profile: true,
    };
    record(&how, |_client| Ok(spec))
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

fn spec(args: &ProfileArgs) -> Result<CaptureSpec, Failure> {
    let (call_graph, stack_bytes) = args.call_graph.unwrap_or((CallGraph::FramePointer, None));
    let event = args.event.as_deref().map(parse_event).transpose().map_err(|error| {
        let text = visible(args.event.as_deref().unwrap_or_default().as_bytes());
        Failure::because(format!("reading the event `{text}`"), error)
    })?;
    let is_tracepoint = event.as_ref().is_some_and(|event| matches!(event.source, EventSource::Tracepoint(_)));
    let usual = ProfileSpec::default();
    let (target, limit) = target(args)?;
    let profile = ProfileSpec {
        frequency_hz: args.freq.unwrap_or(usual.frequency_hz),
        kernel_stacks: !args.user_callchains,
        user_stacks: !args.kernel_callchains,
        // A period is of an event; that of no event is the CPU's clock.
        event: event.map(|event| event.to_string()).or_else(|| args.count.map(|_| "cpu-clock".to_owned())),
        period: args.count.or_else(|| (is_tracepoint && args.freq.is_none()).then_some(1)),
        call_graph,
        stack_bytes,
        memory: args.mem || args.weight,
        branches: if args.branch_any { vec![BranchFilter::Any] } else { args.branch_filter.clone() },
    };
    let limits = args.budgets.limits(args.duration.or(limit));
    let name = args.save.clone().unwrap_or_default();
    let spec = CaptureSpec { name, method: Method::Profile(profile), target, limits };
    spec.validate().map_err(|error| Failure::because("checking what to sample", error))?;
    Ok(spec)
}

/// Whose stacks, and how long if a command only says that.
fn target(args: &ProfileArgs) -> Result<(Target, Option<Duration>), Failure> {
    let (argv, children) = (args.words.clone(), !args.no_inherit);
    if let Some(word) = argv.first().filter(|word| word.starts_with('-')) {
        return Err(missing_option(word, "profile"));
    }
    let limit = match argv.as_slice() {
        [sleep, time] if sleep == "sleep" => duration(time).ok(),
        _ => None,
    };
    match (args.pid, limit) {
        (None, None) if argv.is_empty() => Ok((Target::System, None)),
        // The way in which people say how long.
        (None, Some(limit)) if args.all_cpus => Ok((Target::System, Some(limit))),
        (None, _) if args.all_cpus => Err(Failure::new("everything is sampled while a command runs")
            .remedy("Leave -a out to sample the command, or say how long with --duration TIME.")),
        (None, _) => Ok((Target::Command { argv, user: args.user.clone(), children }, None)),
        (Some(pid), limit) if argv.is_empty() || limit.is_some() => Ok((Target::Process { pid, children }, limit)),
        (Some(_), _) => Err(Failure::new("a process is sampled while another command runs")
            .remedy("Say how long with --duration TIME, or with the command `sleep SECONDS`.")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Verb};

    fn made(words: &[&str]) -> Result<CaptureSpec, Failure> {
        let cli = Cli::try_parse_from(["bathyscope", "profile"].iter().chain(words))
            .map_err(|error| Failure::new(error.to_string()))?;
        let Some(Verb::Profile(args)) = cli.verb else { panic!() };
        spec(&args)
    }

    fn profile(words: &[&str]) -> ProfileSpec {
        match made(words).unwrap().method {
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
        let spec = made(&["-p", "7", "sleep", "3"]).unwrap();
        assert_eq!(spec.target, Target::Process { pid: 7, children: true });
        assert_eq!(spec.limits.duration_ms, Some(3000));
        assert_eq!(made(&["-a", "--", "sleep", "1"]).unwrap().target, Target::System);
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
            &["-p", "7", "ls"],
            &["-a", "ls"],
            &["--nonsense"],
        ] {
            assert!(made(words).is_err(), "{words:?}");
        }
    }
}
