//! The command line → what to do: a script, a list, or a capture's spec, the same that the browser's form ends in.

use bathyscope_capture::{
    CaptureSpec, DynamicProbe, EventProbe, Method, Predicate, ProfileSpec, SourceSpec, Target, TraceEvent, TraceSpec,
    TracepointName, visible,
};
use bathyscope_decode::script::Form;

use super::{Format, TraceArgs};
use crate::{
    Failure,
    verbs::{kept::may_be_kept, letters_of_perf::while_runs, script::ScriptArgs, words},
};

/// The longest script that is read from a file.
const MAX_SCRIPT_BYTES: u64 = bathyscope_protocol::MAX_SCRIPT_BYTES as u64;

/// What is to be done.
#[derive(Debug)]
pub(super) enum Task {
    /// A capture of tracepoints or a profile.
    Rows,
    /// A script.
    Script(Box<ScriptArgs>),
    /// A list of the probes that match any of these.
    List(Vec<String>),
}

/// What the arguments ask for.
pub(super) fn task(args: &TraceArgs) -> Result<Task, Failure> {
    if args.list {
        return for_lists(args).and_then(|()| patterns(args)).map(Task::List);
    }
    let rows = args.profile.is_some() || (!args.events.is_empty() && are_events(args));
    if rows {
        let scripts_only = [
            ("--unsafe", args.allow_unsafe),
            ("--dry-run", args.dry_run),
            ("--output", args.output.is_some()),
            ("--raw", args.raw),
            ("--buffer", args.buffer != crate::verbs::script::Buffering::default()),
            ("--quiet", args.quiet),
            ("--verbose", args.verbose > 0),
            ("--no-warnings", args.no_warnings),
            ("-k", args.helper_errors > 0),
            ("--usdt-file-activation", args.usdt_file_activation),
        ];
        return match scripts_only.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Failure::new(format!("{option} is for scripts, not for rows of tracepoints"))),
            None => Ok(Task::Rows),
        };
    }
    let rows_only = [("--fields", args.fields.is_some()), ("--filter", args.filter.is_some())];
    if let Some((option, _)) = rows_only.iter().find(|(_, given)| *given) {
        return Err(Failure::new(format!("{option} is for tracepoints (-e SYSTEM:EVENT), not for scripts"))
            .remedy("Write what the script prints, and a /condition/, into the script."));
    }
    script(args).map(|script| Task::Script(Box::new(script)))
}

/// Refuses what a list has no use for, rather than leaving it out.
fn for_lists(args: &TraceArgs) -> Result<(), Failure> {
    let of_runs = [
        ("--command", args.command.is_some()),
        ("--output", args.output.is_some()),
        ("--fields", args.fields.is_some()),
        ("--filter", args.filter.is_some()),
        ("--duration", args.duration.is_some()),
        ("--save", args.save.is_some()),
        ("--user", args.user.is_some()),
        ("--all-cpus", args.all_cpus),
        ("--dry-run", args.dry_run),
    ];
    match of_runs.iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            let failure = Failure::new(format!("{option} is for what is recorded, and -l only lists probes"));
            Err(failure.remedy("Leave one of the two out."))
        }
        None => Ok(()),
    }
}

/// A word that stands where a script's file or a pattern is expected and looks like an option, which it then should be.
pub(in crate::verbs) fn unknown_option(args: &TraceArgs) -> Option<&str> {
    let first = args.words.first().filter(|_| args.events.is_empty())?;
    (first.starts_with('-') && first != "-").then_some(first)
}

/// The patterns of `-l`: the words, with commas between them or not; or the attach points of a script.
fn patterns(args: &TraceArgs) -> Result<Vec<String>, Failure> {
    if let Some(word) = args.words.iter().find(|word| word.starts_with('-')) {
        return Err(missing_option(word, "trace"));
    }
    let text = match (args.events.last(), args.words.as_slice()) {
        (Some(text), _) => Some(text.clone()),
        // A script's file, and no pattern: patterns have colons or wildcards.
        (None, [file]) if !file.contains([':', '*']) && std::path::Path::new(file).is_file() => {
            Some(read_script(file)?)
        }
        _ => None,
    };
    if let Some(text) = text {
        let script = bathyscope_bpf::lang::parse(&text).map_err(|diagnostics| {
            Failure::new(
                crate::verbs::script::diagnostics_text(&text, "script", &diagnostics, false).trim_end().to_owned(),
            )
        })?;
        return Ok(bathyscope_bpf::lang::points(&script).map(|point| point.text.clone()).collect());
    }
    let patterns: Vec<String> = args.words.iter().flat_map(|word| split_at_commas(word)).collect();
    Ok(if patterns.is_empty() { vec!["*".to_owned()] } else { patterns })
}

/// Patterns between commas; a comma in quotes is part of one.
fn split_at_commas(text: &str) -> Vec<String> {
    let (mut parts, mut quoted) = (vec![String::new()], false);
    for letter in text.chars() {
        quoted ^= letter == '"';
        match parts.last_mut() {
            Some(part) if letter != ',' || quoted => part.push(letter),
            _ => parts.push(String::new()),
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// Whether `-e` names tracepoints and kept probes, and no script.
fn are_events(args: &TraceArgs) -> bool {
    let is_event = |text: &str| text.parse::<TracepointName>().is_ok() || may_be_kept(text);
    args.events.iter().all(|text| is_event(text.trim()))
}

/// What is recorded by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// Tracepoints.
    pub(super) events: Vec<String>,
    /// Kept probes.
    pub(super) probes: Vec<DynamicProbe>,
}

/// Tracepoints and kept probes in one trace, whose rows have all that the events have.
fn with_probes(args: &TraceArgs, asked: &Asked) -> Result<Method, Failure> {
    let of_tracepoints = [("--fields", args.fields.is_some()), ("--filter", args.filter.is_some())];
    if let Some((option, _)) = of_tracepoints.iter().find(|(_, given)| *given) {
        let failure = Failure::new(format!("{option} is for tracepoints, and a kept probe is recorded whole"));
        return Err(
            failure.remedy("Leave it out, and filter the rows: `bathyscope record` and `bathyscope report -F`.")
        );
    }
    let events = names(&asked.events)?.into_iter().map(|event| TraceEvent { event, filter: None }).collect();
    Ok(Method::Trace(TraceSpec { events, dynamic: asked.probes.clone(), ..TraceSpec::default() }))
}

/// Names of tracepoints.
fn names(events: &[String]) -> Result<Vec<TracepointName>, Failure> {
    let name = |event: &String| {
        let text = visible(event.as_bytes());
        let failure = Failure::new(format!("no kept probe matches `{text}`, and it is the name of no tracepoint"));
        event.parse().map_err(|_name| failure.remedy("`bathyscope library list` lists the probes that are kept."))
    };
    events.iter().map(name).collect()
}

/// Whether JSON is wanted.
pub(super) fn is_json(args: &TraceArgs) -> bool {
    args.json || args.format == Some(Format::Json)
}

/// The words for the script. In bpftrace two dashes stand between its own options and those of a script, whose parameters may
/// be on both sides; a second pair ends the script's options.
fn for_script(words: &[String]) -> Vec<String> {
    let mut words = words.to_vec();
    if let Some(at) = words.iter().position(|word| word == "--") {
        words.remove(at);
    }
    words
}

fn script(args: &TraceArgs) -> Result<ScriptArgs, Failure> {
    let (name, text, params) = match (args.events.as_slice(), args.words.split_first()) {
        // Of several the last counts.
        ([.., text], _) => ("stdin".to_owned(), text.clone(), for_script(&args.words)),
        ([], Some((file, params))) if file == "-" || !file.starts_with('-') => {
            (file.clone(), read_script(file)?, for_script(params))
        }
        ([], Some((word, _))) => return Err(missing_option(word, "trace")),
        ([], None) => {
            return Err(Failure::new("there is nothing to trace")
                .remedy("Give a script (-e TEXT or a FILE), a tracepoint (-e SYSTEM:EVENT), --profile, or -l."));
        }
    };
    Ok(ScriptArgs {
        name,
        text,
        params,
        target: script_target(args)?,
        allow_unsafe: args.allow_unsafe,
        duration: args.duration,
        budgets: args.budgets,
        form: if is_json(args) { Form::Json } else { Form::Text },
        output: args.output.clone(),
        buffering: args.buffer,
        quiet: args.quiet,
        raw: args.raw,
        verbose: args.verbose,
        warnings: !args.no_warnings,
        dry_run: args.dry_run,
        simulate: args.simulate.clone(),
        log: args.log_filter.clone(),
    })
}

/// Reads a script before rights are given up: it may be where only who started this can read.
pub(in crate::verbs) fn read_script(path: &str) -> Result<String, Failure> {
    use std::io::Read as _;
    let shown = visible(path.as_bytes());
    let doing = |error: std::io::Error| Failure::because(format!("reading the script {shown}"), error);
    let mut bytes = Vec::new();
    if path == "-" {
        std::io::stdin().take(MAX_SCRIPT_BYTES + 1).read_to_end(&mut bytes).map_err(doing)?;
    } else {
        std::fs::File::open(path).map_err(doing)?.take(MAX_SCRIPT_BYTES + 1).read_to_end(&mut bytes).map_err(doing)?;
    }
    if bytes.len() as u64 > MAX_SCRIPT_BYTES {
        return Err(Failure::new(format!("the script {shown} is longer than {} KiB", MAX_SCRIPT_BYTES >> 10)));
    }
    String::from_utf8(bytes).map_err(|_bytes| Failure::new(format!("the script {shown} is not UTF-8")))
}

/// The command to trace, from `-c`, or for rows from the words after `--`.
fn command(args: &TraceArgs) -> Result<Option<Vec<String>>, Failure> {
    match &args.command {
        Some(text) => {
            let shown = visible(text.as_bytes());
            let words = words::split(text);
            words.map(Some).map_err(|error| Failure::because(format!("reading the command `{shown}`"), error))
        }
        None => Ok(None),
    }
}

fn script_target(args: &TraceArgs) -> Result<Target, Failure> {
    let target = target(args, command(args)?.unwrap_or_default())?;
    let spec = CaptureSpec::of(Method::Profile(ProfileSpec::default()), target);
    // Only the target is of interest; the script is checked where it is compiled.
    spec.validate().map_err(|error| Failure::because("checking what to record", error))?;
    Ok(spec.target)
}

/// Whose events: those of the command; or of what an option names, while the command runs if there is one.
fn target(args: &TraceArgs, argv: Vec<String>) -> Result<Target, Failure> {
    let children = !args.no_children;
    let named = match args.pid.as_slice() {
        [] if args.all_cpus => Some(Target::System),
        [] => args.of.target(),
        pids => Some(Target::of_processes(pids, children)),
    };
    check_user(args, !argv.is_empty())?;
    Ok(match (named, argv.is_empty()) {
        (Some(target), _) => while_runs(target, argv, args.user.clone()),
        (None, false) => Target::Command { argv, user: args.user.clone(), children },
        (None, true) => Target::System,
    })
}

fn check_user(args: &TraceArgs, has_command: bool) -> Result<(), Failure> {
    if args.user.is_some() && !has_command {
        return Err(Failure::new("--user is given without a command").remedy("Give one with -c COMMAND."));
    }
    Ok(())
}

/// A word that looks like an option where a command is expected.
pub(in crate::verbs) fn missing_option(word: &str, verb: &str) -> Failure {
    Failure::new(format!("there is no option {}", visible(word.as_bytes())))
        .remedy(format!("`bathyscope {verb} --help` lists them. A command to trace follows --."))
}

/// The spec that the arguments describe. `all_fields` gives the fields of a tracepoint that can be recorded.
pub(super) fn spec(
    args: &TraceArgs,
    asked: &Asked,
    mut all_fields: impl FnMut(&TracepointName) -> Result<Vec<String>, Failure>,
) -> Result<CaptureSpec, Failure> {
    let predicate = args.filter.as_deref().map(Predicate::parse).transpose().map_err(|error| {
        let text = visible(args.filter.as_deref().unwrap_or_default().as_bytes());
        Failure::because(format!("reading the filter `{text}`"), error)
    })?;
    let method = match args.profile {
        Some(frequency_hz) => Method::Profile(ProfileSpec { frequency_hz, ..ProfileSpec::default() }),
        None if !asked.probes.is_empty() => with_probes(args, asked)?,
        None => {
            let mut probes = Vec::new();
            for tracepoint in names(&asked.events)? {
                let fields = match &args.fields {
                    Some(fields) => fields.clone(),
                    None => all_fields(&tracepoint)?,
                };
                probes.push(EventProbe { tracepoint, fields, predicate: predicate.clone() });
            }
            Method::Events { probes }
        }
    };
    let argv = match command(args)? {
        Some(_) if !args.words.is_empty() => {
            return Err(Failure::new("a command is given twice, with -c and after --"));
        }
        Some(argv) => argv,
        None => args.words.clone(),
    };
    if let Some(word) = argv.first().filter(|word| word.starts_with('-')) {
        return Err(missing_option(word, "trace"));
    }
    let target = target(args, argv)?;
    let limits = args.budgets.limits_of_a_watched_one(args.duration);
    let spec = CaptureSpec {
        name: args.save.clone().unwrap_or_default(),
        sources: vec![SourceSpec::of(method)],
        target,
        limits,
    };
    spec.validate().map_err(|error| Failure::because("checking what to record", error))?;
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::verbs::{Cli, Verb};

    fn spec(
        args: &TraceArgs,
        all_fields: impl FnMut(&TracepointName) -> Result<Vec<String>, Failure>,
    ) -> Result<CaptureSpec, Failure> {
        super::spec(args, &Asked { events: args.events.clone(), probes: Vec::new() }, all_fields)
    }

    fn args(words: &[&str]) -> TraceArgs {
        let cli = Cli::try_parse_from(["bathyscope", "trace"].iter().chain(words)).unwrap();
        let Some(Verb::Trace(args)) = cli.verb else { panic!() };
        *args
    }

    #[test]
    fn arguments_become_a_spec() {
        let all = |_: &TracepointName| Ok(vec!["a".to_owned(), "b".to_owned()]);
        let made =
            spec(&args(&["-e", "sched:sched_switch", "-e", "sched:sched_wakeup", "--duration", "5s"]), all).unwrap();
        let Method::Events { probes } = &made.sources[0].method else { panic!() };
        assert_eq!(probes.iter().map(|probe| probe.fields.len()).collect::<Vec<_>>(), [2, 2]);
        assert_eq!((made.target, made.limits.duration_ms), (Target::System, Some(5000)));
        let words = ["-e", "a:b", "--fields", "x,y", "--filter", "x > 1", "--no-children", "--", "ls", "-l", "--json"];
        let made = spec(&args(&words), all).unwrap();
        let Method::Events { probes } = &made.sources[0].method else { panic!() };
        assert_eq!(
            (probes[0].fields.as_slice(), probes[0].predicate.is_some()),
            (["x", "y"].map(String::from).as_slice(), true)
        );
        let argv = ["ls", "-l", "--json"].map(String::from).to_vec();
        assert_eq!(made.target, Target::Command { argv, user: None, children: false });
        let made = spec(&args(&["--profile", "--pid", "7"]), all).unwrap();
        assert!(matches!(made.sources[0].method, Method::Profile(ProfileSpec { frequency_hz: 99, .. })));
        assert_eq!(made.target, Target::Process { pid: 7, children: true });
        let made = spec(&args(&["--profile=999", "--save", "x"]), all).unwrap();
        assert!(matches!(made.sources[0].method, Method::Profile(ProfileSpec { frequency_hz: 999, .. })));
        assert_eq!(made.name, "x");
    }

    #[test]
    fn targets_have_options() {
        let all = |_: &TracepointName| Ok(vec!["a".to_owned()]);
        let of = |option: &str, value: &str| spec(&args(&["-e", "a:b", option, value]), all).unwrap().target;
        let text = || "x".to_owned();
        assert_eq!(of("--cgroup", "x"), Target::Cgroup { path: text() });
        assert_eq!(of("--unit", "x"), Target::Unit { name: text() });
        assert_eq!(of("--container", "x"), Target::Container { name: text() });
        assert_eq!(of("--uid", "x"), Target::User { user: text() });
        assert_eq!(of("--comm", "x*"), Target::Comm { pattern: "x*".to_owned() });
        assert_eq!(script_of(&["--unit", "x", "-e", "END {}"]).target, Target::Unit { name: text() });
        let parse = |words: &[&str]| Cli::try_parse_from(["bathyscope", "trace", "-e", "a:b"].iter().chain(words));
        assert!(parse(&["--unit", "x", "--uid", "y"]).is_err() && parse(&["--unit", "x", "-p", "7"]).is_err());
        let command = ["ls"].map(String::from).to_vec();
        let during = |of| Target::during(command.clone(), None, of);
        let while_ls =
            |words: &[&str]| spec(&args(&[&["-e", "a:b"], words, &["--", "ls"]].concat()), all).unwrap().target;
        assert_eq!(while_ls(&["--unit", "x"]), during(Target::Unit { name: text() }));
        assert_eq!(while_ls(&["--all-cpus"]), during(Target::System));
        assert_eq!(while_ls(&["-p", "7,8", "--no-children"]), during(Target::of_processes(&[7, 8], false)));
        assert_eq!(
            script_of(&["-p", "7", "-c", "ls", "-e", "END {}"]).target,
            during(Target::of_processes(&[7], true))
        );
        assert!(spec(&args(&["-e", "a:b", "--comm", "a-name-of-16-chr"]), all).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let parse = |words: &[&str]| Cli::try_parse_from(["bathyscope", "trace"].iter().chain(words));
        assert!(parse(&["--profile", "-e", "a:b"]).is_err());
        assert!(
            parse(&["--all-cpus", "-p", "7", "-e", "a:b"]).is_err()
                && parse(&["--all-cpus", "--uid", "0", "-e", "a:b"]).is_err()
        );
        for words in [
            &[][..],
            &["--nonsense"],
            &["-e", "BEGIN {}", "--user", "root"],
            &["--fields", "a", "-e", "BEGIN {}"],
            &["--unsafe", "-e", "a:b"],
            &["-e", "BEGIN {}", "-c", "ls 'x"],
            &["-l", "a", "-b"],
            &["/no/such/script.bt"],
        ] {
            // Options come before words.
            let words: Vec<&str> = match words {
                ["-e", script, rest @ ..] if rest.first() != Some(&"-e") => [rest, &["-e", script]].concat(),
                words => words.to_vec(),
            };
            assert!(task(&args(&words)).is_err(), "{words:?}");
        }
        let none = |_: &TracepointName| Ok(Vec::new());
        for words in [
            &["-e", "a:b", "--user", "root"][..],
            &["-e", "a:b", "--pid", "7,7", "--", "ls"],
            &["-e", "a:b", "--nonsense"],
        ] {
            assert!(spec(&args(words), none).is_err(), "{words:?}");
        }
        let error = spec(&args(&["-e", "a:b", "--fields", "x", "--filter", "x >"]), |_| Ok(Vec::new())).unwrap_err();
        assert!(error.report().contains("reading the filter `x >`"), "{}", error.report());
    }

    #[test]
    fn kept_probes_are_recorded_beside_tracepoints() {
        let named = args(&["-e", "probe:vfs_*", "-e", "sched:sched_switch", "-p", "7"]);
        assert!(matches!(task(&named).unwrap(), Task::Rows));
        let probes = vec![DynamicProbe::from("vfs_read count")];
        let asked = Asked { events: vec!["sched:sched_switch".to_owned()], probes };
        let none = |_: &TracepointName| Ok(Vec::new());
        let made = super::spec(&named, &asked, none).unwrap();
        let trace = made.sources[0].method.trace().unwrap();
        assert_eq!((trace.events.len(), &trace.dynamic), (1, &asked.probes));
        assert_eq!(made.target, Target::Process { pid: 7, children: true });
        for (words, part) in [
            (&["-e", "probe:vfs_*", "--fields", "count"][..], "--fields is for tracepoints"),
            (&["-e", "probe:vfs_*", "--filter", "count > 1"], "--filter is for tracepoints"),
        ] {
            let error = super::spec(&args(words), &asked, none).unwrap_err().report();
            assert!(error.contains(part), "{error}");
        }
        let error = spec(&args(&["-e", "probe:vfs_*"]), none).unwrap_err().report();
        assert!(error.contains("no kept probe matches `probe:vfs_*`"), "{error}");
    }

    fn script_of(words: &[&str]) -> ScriptArgs {
        match task(&args(words)).unwrap() {
            Task::Script(script) => *script,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn scripts_are_told_from_tracepoints() {
        assert!(matches!(task(&args(&["-e", "sched:sched_switch"])).unwrap(), Task::Rows));
        assert!(matches!(task(&args(&["--profile"])).unwrap(), Task::Rows));
        let script = script_of(&["-e", "BEGIN { exit(); }"]);
        assert_eq!(
            (script.text.as_str(), script.target, script.form),
            ("BEGIN { exit(); }", Target::System, Form::Text)
        );
        let script =
            script_of(&["-f", "json", "-q", "-B", "none", "--unsafe", "-p", "7", "-e", "END {}", "5", "--all", "-v"]);
        assert_eq!(script.params, ["5", "--all", "-v"]);
        assert_eq!(script.target, Target::Process { pid: 7, children: true });
        assert!(script.form == Form::Json && script.quiet && script.allow_unsafe && script.verbose == 0);
        let script = script_of(&["-c", "ls -l 'a b'", "-e", "END {}", "--", "5"]);
        assert_eq!(script.params, ["5"]);
        let argv = ["ls", "-l", "a b"].map(String::from).to_vec();
        assert_eq!(script.target, Target::Command { argv, user: None, children: true });
    }

    #[test]
    fn scripts_are_read_from_files_with_their_parameters() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.bt");
        std::fs::write(&path, "BEGIN { }").unwrap();
        let path = path.to_str().unwrap();
        let script = script_of(&["-q", path, "1", "--name=value", "--", "-p"]);
        assert_eq!((script.name.as_str(), script.text.as_str()), (path, "BEGIN { }"));
        assert_eq!(script.params, ["1", "--name=value", "-p"]);
        let script = script_of(&["-e", "END {}", "one", "--", "--aa=20", "--", "--two"]);
        assert_eq!(script.params, ["one", "--aa=20", "--", "--two"]);
        std::fs::write(path, vec![b' '; bathyscope_protocol::MAX_SCRIPT_BYTES + 1]).unwrap();
        assert!(task(&args(&[path])).is_err());
        std::fs::write(path, b"\xff").unwrap();
        assert!(task(&args(&[path])).unwrap_err().report().contains("not UTF-8"));
    }

    #[test]
    fn lists_take_a_pattern() {
        let patterns = |words: &[&str]| match task(&args(words)).unwrap() {
            Task::List(patterns) => patterns,
            other => panic!("{other:?}"),
        };
        assert_eq!(patterns(&["-l"]), ["*"]);
        assert_eq!(patterns(&["-lv", "struct task_struct"]), ["struct task_struct"]);
        assert_eq!(patterns(&["-l", "--json", "kprobe:tcp_*"]), ["kprobe:tcp_*"]);
        assert_eq!(patterns(&["-l", "a:b*,c:d", "e"]), ["a:b*", "c:d", "e"]);
        assert_eq!(patterns(&["-l", r#"uprobe:"/a,b":f,c:d"#]), [r#"uprobe:"/a,b":f"#, "c:d"]);
        assert_eq!(patterns(&["-l", "-e", "t:a:b, interval:s:1 { exit(); } end {}"]), ["t:a:b", "interval:s:1", "end"]);
    }
}
