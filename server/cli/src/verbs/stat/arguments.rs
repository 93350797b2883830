//! The command line → the capture's spec.

use std::collections::BTreeMap;

use bathyscope_capture::{CaptureSpec, CountPer, CountSpec, DynamicProbe, Method, SourceSpec, Target, visible};
use bathyscope_catalog::perf_events::parse_events;

use super::StatArgs;
use crate::{
    Failure,
    verbs::{
        letters_of_perf::{cpus, while_runs},
        trace::missing_option,
    },
};

/// How often counts are read where no intervals are shown: kept captures have lines over time.
const USUAL_INTERVAL_MS: u32 = 1000;
/// The most CPUs in a list.
const MAX_CPUS: u32 = 8192;

/// Gives the tracepoints, and the counters in files of the kernel, that match a pattern.
type Matching<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<String>, Failure>;

/// The spec that the arguments describe.
pub(super) fn spec(args: &StatArgs, matching: Matching<'_>) -> Result<CaptureSpec, Failure> {
    let target = target(args)?;
    let per = match args {
        StatArgs { no_aggr: true, .. } | StatArgs { per_core: true, .. } => CountPer::Cpu,
        StatArgs { per_thread: true, .. } => CountPer::Thread,
        _ => CountPer::Total,
    };
    crate::verbs::probe::require_use_of_file(&args.probe, args.exec.as_deref())?;
    let count = CountSpec {
        groups: groups(&args.events, matching)?,
        interval_ms: args.interval.unwrap_or(USUAL_INTERVAL_MS),
        per,
        cpus: args.cpu.as_deref().map(cpus).transpose()?.unwrap_or_default(),
        // Of a process on some CPUs only what it does there is counted.
        everywhere: args.all_cpus && *target.watched() != Target::System,
        cgroup: args.cgroup.clone(),
        detail: args.detail.min(bathyscope_capture::MAX_DETAIL),
        delay_ms: args.delay.filter(|ms| *ms > 0),
        dynamic: args.probe.iter().map(|typed| probe(args, typed)).collect(),
    };
    let limits = args.budgets.limits_of(&target, args.duration.or(args.timeout));
    let name = args.save.clone().unwrap_or_default();
    let spec = CaptureSpec { name, sources: vec![SourceSpec::of(Method::Count(count))], target, limits };
    spec.validate().map_err(|error| Failure::because("checking what to count", error))?;
    Ok(spec)
}

fn probe(args: &StatArgs, typed: &str) -> DynamicProbe {
    DynamicProbe { typed: typed.to_owned(), file: args.exec.clone().map(crate::verbs::probe::absolute), line: None }
}

/// `-x` is what stands between fields, and in `perf probe` a file: with a probe, and a word that is no mark, the file.
pub(super) fn take_file(args: &mut StatArgs) {
    let is_file = |text: &String| text.contains(|c: char| c.is_alphanumeric() || c == '/');
    if !args.probe.is_empty() && args.exec.is_none() && args.field_separator.as_ref().is_some_and(is_file) {
        args.exec = args.field_separator.take();
    }
}

/// Whose events: those of a command, or of others while it runs.
fn target(args: &StatArgs) -> Result<Target, Failure> {
    let (argv, children) = (args.words.clone(), !args.no_inherit);
    if let Some(word) = argv.first().filter(|word| word.starts_with('-')) {
        return Err(missing_option(word, "stat"));
    }
    if args.user.is_some() && argv.is_empty() {
        return Err(Failure::new("--user is given without a command"));
    }
    if args.repeat > 1 && argv.is_empty() {
        return Err(Failure::new("--repeat is given without a command"));
    }
    let others = match args.pid.as_slice() {
        _ if !args.tid.is_empty() => Some(Target::Threads { tids: args.tid.clone(), children }),
        [] if args.all_cpus || args.cpu.is_some() || args.cgroup.is_some() || argv.is_empty() => Some(Target::System),
        [] => None,
        pids => Some(Target::of_processes(pids, children)),
    };
    Ok(match others {
        Some(others) => while_runs(others, argv, args.user.clone()),
        None => Target::Command { argv, user: args.user.clone(), children },
    })
}

/// The core of each CPU, where lines are of cores.
pub(super) fn cores(args: &StatArgs) -> Option<BTreeMap<u32, String>> {
    let number = |cpu: u32, name: &str| {
        let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}")).ok()?;
        text.trim().parse::<u32>().ok()
    };
    let core = |cpu: u32| {
        let (socket, core) = (number(cpu, "physical_package_id")?, number(cpu, "core_id")?);
        Some((cpu, format!("S{socket}-C{core}")))
    };
    args.per_core.then(|| (0..MAX_CPUS).map_while(core).collect())
}

fn groups(lists: &[String], matching: Matching<'_>) -> Result<Vec<Vec<String>>, Failure> {
    let mut groups = Vec::new();
    for list in lists {
        // Without braces and slashes a pattern is a whole part of the list.
        if list.contains(['*', '?']) && !list.contains(['{', '/']) {
            for part in list.split(',') {
                let found = if part.contains(['*', '?']) { matching(part)? } else { vec![part.to_owned()] };
                if found.is_empty() {
                    return Err(Failure::new(format!("no tracepoint matches `{}`", visible(part.as_bytes()))));
                }
                groups.extend(found.into_iter().map(|event| vec![event]));
            }
            continue;
        }
        let doing = || format!("reading the events `{}`", visible(list.as_bytes()));
        let parsed = parse_events(list).map_err(|error| Failure::because(doing(), error))?;
        groups.extend(parsed.iter().map(|group| group.iter().map(ToString::to_string).collect::<Vec<_>>()));
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::verbs::{Cli, Verb};

    fn args(words: &[&str]) -> StatArgs {
        let cli = Cli::try_parse_from(["bathyscope", "stat"].iter().chain(words)).unwrap();
        let Some(Verb::Stat(args)) = cli.verb else { panic!() };
        args
    }

    fn made(words: &[&str]) -> (CountSpec, Target, Option<u64>) {
        let mut matching = |pattern: &str| Ok(vec![format!("a:{}", pattern.len()), "a:b".to_owned()]);
        let spec = spec(&args(words), &mut matching).unwrap();
        let Method::Count(count) = spec.sources[0].method.clone() else { panic!() };
        (count, spec.target, spec.limits.duration_ms)
    }

    #[test]
    fn arguments_become_a_spec() {
        let command = |words: &[&str]| {
            let argv = words.iter().map(|word| (*word).to_owned()).collect();
            Target::Command { argv, user: None, children: true }
        };
        let (count, target, _) = made(&["ls", "-l"]);
        assert_eq!((count, target), (CountSpec::default(), command(&["ls", "-l"])));
        let during =
            |words: &[&str], of| Target::during(words.iter().map(|word| (*word).to_owned()).collect(), None, of);
        let (count, target, _) = made(&["-C", "0,2-3", "--", "sleep", "5"]);
        assert_eq!((count.cpus, count.everywhere), (vec![0, 2, 3], false));
        assert_eq!(target, during(&["sleep", "5"], Target::System));
        assert_eq!(made(&["-a", "--", "make"]).1, during(&["make"], Target::System));
        assert_eq!(made(&["-p", "7,8", "-i", "make"]).1, during(&["make"], Target::of_processes(&[7, 8], false)));
        assert_eq!(made(&["-p", "7,8"]).1, Target::of_processes(&[7, 8], true));
        let (count, target, _) = made(&["-a", "-I", "100", "-e", "{cycles,cs}:u,faults", "-e", "kmem:kmalloc"]);
        assert_eq!((count.interval_ms, count.everywhere, target), (100, false, Target::System));
        assert_eq!(count.groups, [vec!["cycles:u", "context-switches:u"], vec!["page-faults"], vec!["kmem:kmalloc"]]);
        let (count, ..) = made(&["-e", "a:*,cs"]);
        assert_eq!(count.groups, [["a:3"], ["a:b"], ["cs"]]);
        let (count, target, limit) = made(&["-dd", "-p", "1", "sleep", "2"]);
        assert_eq!((count.detail, limit), (2, None));
        assert_eq!(target, during(&["sleep", "2"], Target::Process { pid: 1, children: true }));
        assert_eq!(made(&["-A", "-a"]).0.per, CountPer::Cpu);
        assert_eq!(made(&["--per-thread", "-i", "-p", "1"]).1, Target::Process { pid: 1, children: false });
        let (count, target, limit) = made(&["-t", "7,8", "-t", "9", "-D", "100", "--timeout", "3s"]);
        assert_eq!((count.per, count.delay_ms, limit), (CountPer::Total, Some(100), Some(3000)));
        assert_eq!(target, Target::Threads { tids: vec![7, 8, 9], children: true });
        let (count, target, _) = made(&["-t", "7", "--per-thread", "-i", "make"]);
        assert_eq!(
            (count.per, target),
            (CountPer::Thread, during(&["make"], Target::Threads { tids: vec![7], children: false }))
        );
        for (words, limit) in [(["--timeout", "2000"], 2000), (["--timeout", "2s"], 2000), (["--duration", "2"], 2000)]
        {
            assert_eq!(made(&words).2, Some(limit), "{words:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for words in [
            &["-e", "cylces", "ls"][..],
            &["-p", "1,1", "ls"],
            &["-C", "3-1"],
            &["-C", "x"],
            &["--user", "root"],
            &["-r", "3", "-a"],
            &["--per-thread", "-a"],
            &["-I", "1", "ls"],
            &["-t", "4294967295"],
            &["-t", "7,7"],
            &["-D", "99999999", "ls"],
            &["-G", "x", "-p", "1"],
        ] {
            assert!(spec(&args(words), &mut |_| Ok(Vec::new())).is_err(), "{words:?}");
        }
        assert!(spec(&args(&["-e", "no:such*"]), &mut |_| Ok(Vec::new())).is_err());
        for words in [&["-p", "1", "-t", "2"][..], &["--nonsense"], &["--nonsense", "ls"]] {
            assert!(Cli::try_parse_from(["bathyscope", "stat"].iter().chain(words)).is_err(), "{words:?}");
        }
        assert_eq!(args(&["-x,", "ls", "-x"]).field_separator.as_deref(), Some(","));
    }
}
