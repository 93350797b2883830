//! What command lines of `record` ask for.

use clap::Parser as _;

use super::*;
use crate::verbs::{Cli, Verb};

pub(super) fn args(words: &[&str]) -> RecordArgs {
    let cli = Cli::try_parse_from(["bathyscope", "record"].iter().chain(words)).unwrap();
    let Some(Verb::Record(args)) = cli.verb else { panic!() };
    *args
}

pub(super) fn names() -> Vec<TracepointName> {
    ["sched:sched_switch", "sched:sched_wakeup", "kmem:kmalloc", "irq:irq_handler_entry"]
        .map(|name| name.parse().unwrap())
        .to_vec()
}

/// The spec of a command line, with recipes of the program and an own one, `mine`.
fn spec_of(words: &[&str]) -> Result<CaptureSpec, Failure> {
    let args = args(words);
    let from = args.sources.recipe.as_deref().map(recipe_for_tests);
    spec(&args, &names(), from.as_ref())
}

pub(super) fn recipe_for_tests(name: &str) -> FoundRecipe {
    if let Some(recipe) = bathyscope_catalog::recipes::recipe(name) {
        return FoundRecipe::OfProgram(recipe.clone());
    }
    let text = r#"{
        "question": "Why is it slow?", "of": "process", "opens": "timeline",
        "limits": { "duration_ms": 3000, "max_events": 500, "max_bytes": 4096, "budget_cpu_permille": 20 },
        "sources": [
            { "id": "trace", "method": { "trace": { "events": [{ "event": "kmem:kmalloc" }] } }, "required": false },
            { "id": "on-cpu", "method": { "profile": { "frequency_hz": 99, "kernel_stacks": true, "user_stacks": true } } }
        ]
    }"#;
    let recipe = Recipe::of_own_text(name, text).unwrap();
    FoundRecipe::Own(bathyscope_console::recipes::OwnRecipe { recipe, owner: "ada".to_owned(), created_unix_ns: 0 })
}

fn made(words: &[&str]) -> Result<(TraceSpec, Target), String> {
    match spec_of(words) {
        Ok(spec) => match spec.sources.as_slice() {
            [SourceSpec { method: Method::Trace(trace), .. }] => Ok((trace.clone(), spec.target)),
            other => panic!("{other:?}"),
        },
        Err(failure) => Err(failure.report()),
    }
}

#[test]
fn a_file_that_no_probe_takes_is_refused() {
    let error = made(&["-x", "/bin/bash", "--probe", "p:x /bin/bash:0x100"]).unwrap_err();
    assert!(error.contains("-x /bin/bash is taken by no probe"), "{error}");
    for probes in [&["readline"][..], &["p:x vfs_read", "--probe", "readline%return"]] {
        let words = [&["-x", "/bin/bash", "--probe"][..], probes].concat();
        assert!(made(&words).is_ok(), "{words:?}");
    }
}

#[test]
fn letters_are_those_of_trace_cmd() {
    let words =
        ["-p", "function_graph", "-g", "do_sys_open", "-O", "funcgraph-proc", "-O", "nofuncgraph-irqs", "ls", "-l"];
    let (trace, target) = made(&words).unwrap();
    assert_eq!(trace.tracer.as_deref(), Some("function_graph"));
    assert_eq!(trace.graph_roots, ["do_sys_open"]);
    assert_eq!(trace.options, [("funcgraph-proc".to_owned(), true), ("funcgraph-irqs".to_owned(), false)]);
    let argv = vec!["ls".to_owned(), "-l".to_owned()];
    assert_eq!(target, Target::during(argv, None, Target::System));
    let (trace, target) =
        made(&["-p", "function", "-l", "vfs_*", "-n", "vfs_read", "-b", "64", "-C", "boot", "-P", "7", "-c"]).unwrap();
    assert_eq!((trace.functions, trace.not_functions), (vec!["vfs_*".to_owned()], vec!["vfs_read".to_owned()]));
    assert_eq!((trace.buffer_kib, trace.clock.as_deref()), (Some(64), Some("boot")));
    assert_eq!(target, Target::Process { pid: 7, children: true });
}

#[test]
fn other_sources_stand_beside_a_trace_or_in_its_place() {
    let ids = |words: &[&str]| -> Result<String, String> {
        let spec = spec_of(words).map_err(|failure| failure.report())?;
        Ok(spec.sources.iter().map(|source| source.id.as_str()).collect::<Vec<_>>().join(" "))
    };
    let cases: [(&[&str], Result<&str, &str>); 14] = [
        (&["-e", "sched_switch", "--states", "--wake-stacks"], Ok("trace states")),
        (&["-e", "sched_switch", "--syscalls", "--profile", "ls"], Ok("trace syscalls profile")),
        (&["--profile=199", "--stat", "--script", "begin { exit() }"], Ok("profile count script")),
        (&["--syscalls=%file,read", "ls"], Ok("syscalls")),
        (&["-b", "64", "--profile", "ls"], Err("a trace needs a tracer")),
        (&["--script", "/no/such/file.bt"], Err("/no/such/file.bt")),
        (&["--profile=0"], Err("frequency")),
        (&["--stat=cs,instructions"], Ok("count")),
        (&["--stat=,"], Err("event")),
        (&["--script", "  "], Err("file")),
        (&["ls"], Err("a trace needs a tracer")),
        (&["--recipe", "disk"], Ok("requests states calls writeback")),
        (&["--recipe", "disk", "-e", "sched_switch", "--profile"], Ok("trace requests states calls writeback profile")),
        (&["--recipe", "process-time"], Err("is of a process or a command, and neither is given")),
    ];
    for (words, expected) in cases {
        match (ids(words), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{words:?}"),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{words:?}: {error}"),
            (found, _) => panic!("{words:?}: {found:?}"),
        }
    }
    let given = spec_of(&["--profile", "--syscalls=read, write", "ls"]).unwrap();
    let [SourceSpec { method: Method::Syscalls(calls), .. }, SourceSpec { method: Method::Profile(profile), .. }] =
        given.sources.as_slice()
    else {
        panic!("{:?}", given.sources)
    };
    assert_eq!(calls.calls, ["read", "write"]);
    assert_eq!((profile.frequency_hz, profile.kernel_stacks, profile.user_stacks), (99, true, true));
    let of = |words: &[&str]| spec_of(&[&["--recipe", "process-time"], words].concat()).unwrap();
    let command = of(&["make", "-j8"]);
    assert!(matches!(&command.target, Target::Command { children: true, .. }), "{:?}", command.target);
    assert_eq!((command.limits.duration_ms, command.name.as_str()), (None, "Where does the time of this process go?"));
    let process = of(&["-P", "7", "--name", "seven"]);
    assert_eq!((process.limits.duration_ms, process.name.as_str()), (Some(10_000), "seven"));
    assert_eq!(of(&["-a", "--duration", "2s"]).limits.duration_ms, Some(2000));
    // A command's own words stay its own.
    assert_eq!(args(&["--profile", "ls", "--syscalls"]).command, ["ls", "--syscalls"]);
}

#[test]
fn sources_may_be_missing_where_the_command_line_says_so() {
    let marked = |words: &[&str]| -> Result<String, String> {
        let spec = spec_of(words).map_err(|failure| failure.report())?;
        let told = |source: &SourceSpec| format!("{}{}", source.id, if source.required { "" } else { "?" });
        Ok(spec.sources.iter().map(told).collect::<Vec<_>>().join(" "))
    };
    let cases: [(&[&str], Result<&str, &str>); 14] = [
        (&["-e", "kmalloc", "--states", "ls"], Ok("trace states")),
        (&["-e", "kmalloc", "--states", "--optional", "states", "ls"], Ok("trace states?")),
        (&["-e", "kmalloc", "--optional", "trace", "ls"], Ok("trace?")),
        (&["--profile", "--states", "--stat", "--optional", "states, count"], Ok("states? profile count?")),
        (&["--profile", "--states", "--optional", "states", "--optional=profile"], Ok("states? profile?")),
        (&["--recipe", "disk"], Ok("requests states? calls? writeback?")),
        (&["--recipe", "disk", "--optional", "requests"], Ok("requests? states? calls? writeback?")),
        // What is asked for by hand is wanted, unless it is said again that it may be missing.
        (&["--recipe", "disk", "--states"], Ok("requests calls? writeback? states")),
        (&["--recipe", "disk", "--states", "--optional", "states"], Ok("requests calls? writeback? states?")),
        (&["--recipe", "mine", "-P", "7", "--optional", "on-cpu"], Ok("trace? on-cpu?")),
        (&["--recipe", "mine", "-P", "7", "-e", "sched_switch"], Ok("trace on-cpu")),
        (
            &["--profile", "--states", "--optional", "stats"],
            Err("Did you mean `states`? Its sources are states, profile."),
        ),
        (&["--profile", "--optional", "trace"], Err("names `trace`, which is no source of this capture")),
        (&["--optional", "trace"], Err("a trace needs a tracer")),
    ];
    for (words, expected) in cases {
        match (marked(words), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{words:?}"),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{words:?}: {error}"),
            (found, _) => panic!("{words:?}: {found:?}"),
        }
    }
}

#[test]
fn an_own_recipe_has_its_limits_and_what_is_asked_for_goes_before_them() {
    let of = |words: &[&str]| spec_of(&[&["--recipe", "mine"], words].concat()).unwrap();
    let spec = of(&["-P", "7"]);
    assert_eq!((spec.limits.duration_ms, spec.limits.max_events), (Some(3000), Some(500)));
    assert_eq!((spec.limits.max_bytes, spec.limits.budget_cpu_permille), (Some(4096), 20));
    assert_eq!((spec.name.as_str(), spec.limits.over_budget), ("Why is it slow?", None));
    let spec = of(&["-P", "7", "--duration", "1s", "--budget", "7", "--name", "it"]);
    assert_eq!((spec.limits.duration_ms, spec.limits.max_events), (Some(1000), Some(500)));
    assert_eq!((spec.name.as_str(), spec.limits.budget_cpu_permille), ("it", 70));
    let spec = of(&["make"]);
    assert!(matches!(&spec.target, Target::Command { children: true, .. }), "{:?}", spec.target);
    assert_eq!((spec.limits.duration_ms, spec.limits.over_budget), (None, Some(bathyscope_capture::OverBudget::Warn)));
    assert_eq!(args(&["--recipe", "mine", "ls"]).sources.own_recipe(), Some("mine"));
    assert_eq!((args(&["--recipe", "disk"]).sources.own_recipe(), args(&["ls"]).sources.own_recipe()), (None, None));
}

#[test]
fn everything_is_traced_while_a_command_runs_unless_letters_say_otherwise() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let during = |of| Target::during(words(&["ls", "-l"]), None, of);
    let own = |children| Target::Command { argv: words(&["ls", "-l"]), user: None, children };
    for (letters, target) in [
        (&["ls", "-l"][..], during(Target::System)),
        (&["-a", "ls", "-l"], during(Target::System)),
        (&["-a", "-e", "sched_switch", "--", "ls", "-l"], during(Target::System)),
        (&["-F", "ls", "-l"], own(false)),
        (&["-F", "-c", "ls", "-l"], own(true)),
        (&["--only-command", "ls", "-l"], own(true)),
        (&["-P", "7", "ls", "-l"], during(Target::of_processes(&[7], false))),
        (&["-P", "7,8", "-c", "ls", "-l"], during(Target::of_processes(&[7, 8], true))),
        (&["-P", "7,8"], Target::of_processes(&[7, 8], false)),
        (&["-a"], Target::System),
    ] {
        let (_, made) = made(&[&["-e", "kmalloc"], letters].concat()).unwrap();
        assert_eq!(made, target, "{letters:?}");
    }
    for letters in [&["-F"][..], &["--only-command"], &["--user", "root"], &["-c"], &["-c", "ls"]] {
        assert!(made(&[&["-e", "kmalloc"], letters].concat()).is_err(), "{letters:?}");
    }
    let of_states = |words: &[&str]| spec_of(&[&["--states"], words].concat()).map(|spec| spec.target);
    let threads = |tids: &[u32], children| Target::Threads { tids: tids.to_vec(), children };
    assert_eq!(of_states(&["--tid", "7,8", "-c"]).unwrap(), threads(&[7, 8], true));
    assert_eq!(of_states(&["--tid", "7", "ls", "-l"]).unwrap(), during(threads(&[7], false)));
    assert_eq!(args(&["-e", "x", "-o", "/tmp/a.bathy", "ls"]).output, Some(PathBuf::from("/tmp/a.bathy")));
    let read = |words: &[&str]| Cli::try_parse_from(["bathyscope", "record"].iter().chain(words)).is_ok();
    for letters in [
        &["-a", "-P", "7"][..],
        &["-P", "7", "--tid", "8"],
        &["-a", "--tid", "8"],
        &["-F", "-P", "7", "ls"],
        &["--nonsense", "ls"],
        &["-e", "x", "-v", "ls"],
    ] {
        assert!(!read(letters), "{letters:?}");
    }
    assert!(read(&["-e", "x", "--", "ls", "-v"]) && read(&["ls", "--nonsense"]));
}

#[test]
fn filters_belong_to_the_event_before_them() {
    let events = |words: &[&str]| -> Result<String, String> {
        let (trace, _) = made(words)?;
        let show = |event: &TraceEvent| format!("{}[{}]", event.event, event.filter.as_deref().unwrap_or(""));
        Ok(trace.events.iter().map(show).collect::<Vec<_>>().join(" "))
    };
    let cases: [(&[&str], Result<&str, &str>); 17] = [
        (&["-e", "sched_switch"], Ok("sched:sched_switch[]")),
        (&["-e", "sched"], Ok("sched:sched_switch[] sched:sched_wakeup[]")),
        (&["-e", "sched:*switch"], Ok("sched:sched_switch[]")),
        (&["-e", "sched_[sw]witch"], Ok("sched:sched_switch[]")),
        (&["-e", "kmem:kmalloc:bytes_req > 1000"], Ok("kmem:kmalloc[bytes_req > 1000]")),
        (&["-e", "kmalloc:bytes_req > 1000"], Ok("kmem:kmalloc[bytes_req > 1000]")),
        (
            &["-e", "sched:prev_comm ~ \"a:b\""],
            Ok("sched:sched_switch[prev_comm ~ \"a:b\"] sched:sched_wakeup[prev_comm ~ \"a:b\"]"),
        ),
        (&["-e", "kmalloc:a > 1", "-f", "b == 1"], Ok("kmem:kmalloc[(a > 1) && (b == 1)]")),
        (
            &["-e", "sched_switch", "-e", "kmalloc", "-f", "bytes_req > 1"],
            Ok("sched:sched_switch[] kmem:kmalloc[bytes_req > 1]"),
        ),
        (
            &["-e", "sched_switch", "-f", "a == 1", "-f", "b == 1", "-e", "kmalloc"],
            Ok("sched:sched_switch[(a == 1) && (b == 1)] kmem:kmalloc[]"),
        ),
        (&["-f", "a == 1", "-e", "kmalloc"], Err("has no event before it")),
        (&["-e", "nothing"], Err("this kernel has no event")),
        (&["-e", "sched_swich"], Err("Did you mean `sched_switch`?")),
        (&["-e", "sched:sched_swich"], Err("Did you mean `sched:sched_switch`?")),
        (&["-e", "probe_libc:malloc"], Err("`--exec libc --probe malloc`")),
        (&["-e", "probe:clear_huge_page"], Err("Other kernels call that function folio_zero_user")),
        (&["ls"], Err("a trace needs a tracer")),
    ];
    for (words, expected) in cases {
        match (events(words), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            (found, _) => panic!("{words:?}: {found:?}"),
        }
    }
}
