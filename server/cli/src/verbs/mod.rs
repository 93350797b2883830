//! The command line: every verb, and the options that several share. Each verb has a file of its own with its
//! arguments and a `run`.

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory as _, Parser, Subcommand, error::ErrorKind};
use tokio::runtime::Runtime;

use crate::{Outcome, launch::OwnAgent};

pub mod agent;
pub mod audit;
pub mod budgets;
mod capture_file;
pub mod captures;
mod chosen;
pub mod cleanup;
pub mod compare;
pub mod compile;
pub mod completions;
pub mod console;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod export;
mod facts;
pub mod file_maker;
pub mod flight;
pub mod investigations;
mod kept;
mod letters;
mod letters_of_perf;
pub mod library;
pub mod list;
pub mod login_link;
pub mod notes;
mod open;
mod options;
pub mod outbound;
pub mod people;
pub mod probe;
mod probes;
pub mod profile;
pub mod query;
mod range;
pub mod reader;
pub mod recipes;
pub mod record;
pub mod report;
pub mod rights;
pub mod run;
mod saved_file;
pub mod script;
pub mod series;
pub mod serve;
pub mod sessions;
pub mod shares;
pub mod stat;
pub mod strace;
mod text;
pub mod tokens;
pub mod top;
pub mod trace;
pub mod webhooks;
mod words;

const LONG_ABOUT: &str = "\
Bathyscope traces a running Linux system and shows what it found in a browser.

Without a verb it serves: it starts a privileged agent and an unprivileged console, and prints one line with a link \
that logs you in once. Run it as root to trace the whole system; as another user it works on stored captures and says \
what is out of reach and why.";

const EXAMPLES: &str = "\
Examples:
  bathyscope                                  serve on http://127.0.0.1:7070 and print a login link
  bathyscope serve --simulate                 the same with made-up events; needs no rights
  bathyscope doctor                           what this host can trace, and why not
  bathyscope list 'sched:*'                   tracepoints of the running kernel
  bathyscope trace -e sched:sched_switch --duration 5s
  bathyscope trace -e 'tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }'
  bathyscope strace -e %file ls -l
  bathyscope profile -e page-faults -c 1 --call-graph dwarf ./server --selftest
  bathyscope top -p 4711
  bathyscope stat -e page-faults,context-switches make -j8
  bathyscope report newest --sort dso,symbol -g caller
  bathyscope diff 00f1e2d3c4b5a697 newest
  bathyscope compare previous newest
  bathyscope captures list --json
  bathyscope query newest 'select comm, count(*) from sched_switch group by comm'
  bathyscope export 00f1e2d3c4b5a697 --format folded -o stacks.txt

Every option has a twin in the environment, named in brackets in each verb's help. Options follow the verb.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "bathyscope",
    version,
    about = "Look below the surface of a running Linux system, from a browser",
    long_about = LONG_ABOUT,
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Option<Verb>,
    /// What `serve` takes, for a command line without a verb.
    #[command(flatten)]
    pub serve: crate::config::ServeArgs,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Start agent and console and print a login link (the default)
    Serve(crate::config::ServeArgs),
    /// Test what works here, and say what to change where it does not
    Doctor(doctor::DoctorArgs),
    /// List what can be traced: tracepoints, functions, types, tracers, programs, what others have attached
    List(list::ListArgs),
    /// Say what a dynamic event would record, what can be probed, and which probes there are
    Probe(probe::ProbeArgs),
    /// Run a script, or make a capture, from the terminal and print what it finds as it comes
    Trace(Box<trace::TraceArgs>),
    /// Record what the kernel's own tracer, ftrace, sees, and keep it
    Record(Box<record::RecordArgs>),
    /// Questions, and what `record --recipe` records for an answer
    Recipes(recipes::RecipesArgs),
    /// What people keep by name: list it, write it to files, read it from files
    Library(library::LibraryArgs),
    /// Print a stored trace as trace-cmd does, or samples as perf report does
    Report(Box<report::ReportArgs>),
    /// Two captures beside each other: what was asked, hosts, losses, numbers, and what changed most
    Compare(compare::CompareArgs),
    /// Captures of the same as runs with their key numbers over time, and the baseline of later ones
    Series(series::SeriesArgs),
    /// Mark a moment, such as a deployment, that charts of series show
    Mark(series::MarkArgs),
    /// Compare the functions of profiles, and say which differences are more than chance
    Diff(Box<diff::DiffArgs>),
    /// Who did what: the audit log, the newest entries first
    Audit(audit::AuditArgs),
    /// Ask a stored capture by SQL
    Query(query::QueryArgs),
    /// Print system calls with their arguments and results, in the look of strace
    Strace(Box<strace::StraceArgs>),
    /// Sample stacks by time or by any event, and print the functions found most often
    Profile(profile::ProfileArgs),
    /// Live samples by function and process, and what processes use, with keys
    Top(Box<top::TopArgs>),
    /// Count how often events happen, in a command, a process or the whole machine
    Stat(stat::StatArgs),
    /// Make the capture that a command of another tool asks for, such as 'perf record -F 99 -g ls'
    Run(Box<run::RunArgs>),
    /// Say what a command of another tool asks for; nothing is started
    Explain(explain::ExplainArgs),
    /// Compile a script, and show what the compiler makes of it
    Compile(compile::CompileArgs),
    /// List, show, rename, pin, delete and import stored captures
    Captures(captures::CapturesArgs),
    /// What people noted on a capture: list it, write, answer and resolve notes
    Notes(notes::NotesArgs),
    /// Pages that people write on what they look for: list, show, begin, write and delete them
    Investigations(investigations::InvestigationsArgs),
    /// Write a stored capture or a view of it in another format
    Export(export::ExportArgs),
    /// Remove what a killed agent left in the kernel's tracing, and nothing else
    Cleanup(cleanup::CleanupArgs),
    /// Print a link that logs in to the running console once
    LoginLink(login_link::LoginLinkArgs),
    /// Who is logged in to the running console: list and end sessions and unused links
    Sessions(sessions::SessionsArgs),
    /// Accounts: who logs in by name and password, with which role; add, change and remove them
    People(people::PeopleArgs),
    /// Who may read and change captures: lists of captures and of tags, and groups of people
    Rights(rights::RightsArgs),
    /// Tokens with which programs ask for somebody who has an account: make, list and revoke them
    Tokens(tokens::TokensArgs),
    /// Links of the running console for people without a login: make, list and revoke them
    Shares(shares::SharesArgs),
    /// Webhooks of the running console, which tell others of captures of flight recorders: list, add, try and remove them
    Webhooks(webhooks::WebhooksArgs),
    /// Flight recorders of the running console: list them, keep what just happened
    Flight(flight::FlightVerbArgs),
    /// Run only the privileged side
    #[command(hide = true)]
    Agent(agent::AgentArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// The unprivileged side; started by `serve`
    #[command(hide = true)]
    Console(crate::config::ConsoleArgs),
    /// Reads files for the console, which starts it
    #[command(hide = true)]
    Reader(reader::ReaderArgs),
    /// Connects to others for the console; started by `serve`
    #[command(hide = true)]
    Outbound(outbound::OutboundProcessArgs),
    /// Makes files for a strace that has given its rights up
    #[command(hide = true)]
    FileMaker(file_maker::FileMakerArgs),
}

impl Cli {
    /// What the process is called that runs the verb. All names begin alike, so that they can be left out of a capture.
    pub fn process_name(&self) -> &'static std::ffi::CStr {
        match self.verb {
            Some(Verb::Agent(_)) => c"bathyscope-agent",
            Some(Verb::Console(_)) => c"bathyscope-console",
            Some(Verb::Outbound(_)) => c"bathyscope-outbound",
            _ => c"bathyscope",
        }
    }
}

/// Parses the command line of this process; prints help and ends the process where that was asked for.
#[expect(clippy::print_stderr, reason = "notes to whoever typed the options")]
pub fn parse() -> Cli {
    let (cli, notes) = read(std::env::args_os().collect()).unwrap_or_else(|error| error.exit());
    for note in notes {
        eprintln!("{note}");
    }
    cli
}

/// Reads the words of a command line, the first of which is the program's name, and tells which options of other tools were
/// left out because they mean nothing here.
///
/// # Errors
/// If they are no command line, or ask for help.
pub fn read(words: Vec<OsString>) -> Result<(Cli, Vec<String>), clap::Error> {
    let verb = words.get(1).and_then(|verb| verb.to_str()).map(str::to_owned);
    let arranged = letters::arranged(trace::order::arranged(words)).map_err(|error| refused(verb.as_deref(), error))?;
    let cli = Cli::try_parse_from(arranged.words)?;
    if let Some(Verb::Trace(args)) = &cli.verb
        && let Some(error) = trace::unknown_option(args).and_then(|word| letters::unknown("trace", word))
    {
        return Err(refused(verb.as_deref(), error));
    }
    Ok((cli, arranged.notes))
}

/// An option that is refused before the parser reads it, with how the verb is used.
fn refused(verb: Option<&str>, error: letters::LettersError) -> clap::Error {
    let mut command = Cli::command();
    command.build();
    match verb.and_then(|verb| command.find_subcommand_mut(verb)) {
        Some(verb) => verb.error(ErrorKind::UnknownArgument, error),
        None => command.error(ErrorKind::UnknownArgument, error),
    }
}

/// Does what the command line asks, and reports a failure on standard error.
#[expect(clippy::print_stderr, reason = "the one place where a verb's failure reaches the terminal")]
pub fn run(cli: Cli) -> ExitCode {
    match dispatch(cli) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("{}", failure.report());
            ExitCode::FAILURE
        }
    }
}

fn dispatch(cli: Cli) -> Outcome {
    match cli.verb.unwrap_or(Verb::Serve(cli.serve)) {
        Verb::Serve(args) => serve::run(args),
        Verb::Doctor(args) => doctor::run(args),
        Verb::List(args) => list::run(args),
        Verb::Probe(args) => probe::run(args),
        Verb::Trace(args) => trace::run(&args),
        Verb::Record(args) => record::run(*args),
        Verb::Recipes(args) => recipes::run(args),
        Verb::Library(args) => library::run(args),
        Verb::Report(args) => report::run(&args),
        Verb::Compare(args) => compare::run(&args),
        Verb::Audit(args) => audit::run(&args),
        Verb::Series(args) => series::run(args),
        Verb::Mark(args) => series::mark(args),
        Verb::Diff(args) => diff::run(*args),
        Verb::Query(args) => query::run(args),
        Verb::Strace(args) => strace::run(*args),
        Verb::Profile(args) => profile::run(args),
        Verb::Top(args) => top::run(*args),
        Verb::Stat(args) => stat::run(args),
        Verb::Run(args) => run::run(*args),
        Verb::Explain(args) => explain::run(args),
        Verb::Compile(args) => compile::run(args),
        Verb::Captures(args) => captures::run(args),
        Verb::Notes(args) => notes::run(args),
        Verb::Investigations(args) => investigations::run(args),
        Verb::Export(args) => export::run(args),
        Verb::Cleanup(args) => cleanup::run(args),
        Verb::LoginLink(args) => login_link::run(args),
        Verb::Sessions(args) => sessions::run(args),
        Verb::People(args) => people::run(args),
        Verb::Rights(args) => rights::run(args),
        Verb::Tokens(args) => tokens::run(args),
        Verb::Shares(args) => shares::run(args),
        Verb::Webhooks(args) => webhooks::run(args),
        Verb::Flight(args) => flight::run(args),
        Verb::Agent(args) => agent::run(args),
        Verb::Completions(args) => completions::run(args),
        Verb::Console(args) => console::run(args),
        Verb::Reader(args) => reader::run(&args),
        Verb::Outbound(args) => outbound::run(&args),
        Verb::FileMaker(args) => file_maker::run(&args),
    }
}

/// Writes a verb's output. A reader that has gone, such as `head`, has seen enough: that is no failure.
pub(crate) fn print_all(text: &str) -> Outcome {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(crate::Failure::because("printing", error)),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Does the work of a verb, and waits for its agent to end. The runtime goes before the agent, which ends when nobody holds
/// its connection any more: what was begun beside the work would hold it for seconds.
pub(crate) fn to_the_end(agent: OwnAgent, runtime: Runtime, work: impl Future<Output = Outcome>) -> Outcome {
    let outcome = runtime.block_on(work);
    drop(runtime);
    drop(agent);
    outcome
}

/// A runtime for the verbs that need one; made only after rights were given up.
///
/// # Errors
/// If the kernel gives no threads or descriptors.
pub fn runtime() -> Result<Runtime, crate::Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .thread_name("bathyscope-work")
        .enable_all()
        .build()
        .map_err(|error| crate::Failure::because("starting the runtime", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_option_that_trace_does_not_have_is_told_with_what_was_meant_and_the_usage() {
        let said = |line: &str| match read(line.split(' ').map(OsString::from).collect()) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        for (line, words) in [
            ("bathyscope trace --bogus", "`bathyscope trace --help` lists its options"),
            ("bathyscope trace --quite", "Did you mean `--quiet`?"),
            ("bathyscope trace -l --bogus", "`--bogus` is no option of `trace`"),
            ("bathyscope trace -q --bogus x.bt", "`--bogus` is no option of `trace`"),
        ] {
            let said = said(line);
            assert!(said.contains(words) && said.contains("Usage: bathyscope trace"), "{line}: {said}");
        }
        for line in ["bathyscope trace x.bt --bogus", "bathyscope trace -e begin{} --bogus", "bathyscope trace -"] {
            assert_eq!(said(line), "", "{line}");
        }
    }

    /// Options of other programs that messages name.
    const OF_OTHERS: [&str; 3] = ["--cgroupns", "--selftest", "--pid"];

    /// A source of a test.
    const NOT_SAID: [&str; 1] = ["every_spec.rs"];

    /// The sources of what can say something, without their tests.
    fn sources(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                sources(&path, found);
                continue;
            }
            let is_source = path.extension().is_some_and(|it| it == "rs") && !name.contains("test");
            if is_source && !NOT_SAID.contains(&&*name) {
                found.push(path);
            }
        }
    }

    fn options_in(line: &str) -> Vec<String> {
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let begins = line.match_indices("--").map(|(at, _)| at);
        let option = |at: usize| {
            let before = line[..at].chars().next_back();
            let word: String = line[at + 2..].chars().take_while(|c| is_word(*c)).collect();
            let begins_one = word.starts_with(|c: char| c.is_ascii_lowercase());
            let apart = before.is_none_or(|c| !c.is_alphanumeric() && c != '-');
            (begins_one && apart).then(|| format!("--{}", word.trim_end_matches('-')))
        };
        begins.filter_map(option).collect()
    }

    #[test]
    fn messages_name_no_option_that_does_not_exist() {
        let mut command = Cli::command();
        command.build();
        let mut known: std::collections::BTreeSet<String> = OF_OTHERS.iter().map(|it| (*it).to_owned()).collect();
        let mut all: Vec<&clap::Command> = vec![&command];
        while let Some(one) = all.pop() {
            let names = one.get_arguments().filter_map(|it| it.get_long_and_visible_aliases()).flatten();
            known.extend(names.map(|name| format!("--{name}")));
            all.extend(one.get_subcommands());
        }
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = Vec::new();
        for folder in ["server", "bpf/src"] {
            sources(&root.join(folder), &mut files);
        }
        assert!(files.len() > 300, "{}", files.len());
        let mut unknown = Vec::new();
        for path in files {
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            // Options of other tools that are refused here are named to be recognised.
            let is_said = |line: &&str| !line.trim_start().starts_with("//") && !line.contains("option: \"-");
            // Where commands of others are read, only what is said of ours is.
            let of_others = path.starts_with(root.join("server/commands"));
            for line in text.lines().filter(is_said) {
                let said = if of_others { line.find("bathyscope ").map_or("", |at| &line[at..]) } else { line };
                unknown.extend(
                    options_in(said)
                        .into_iter()
                        .filter(|option| !known.contains(option))
                        .map(|option| format!("{option} in {}: {}", path.display(), line.trim())),
                );
            }
        }
        assert_eq!(unknown, Vec::<String>::new());
    }

    #[test]
    fn examples_of_help_are_understood() {
        let command = Cli::command();
        let mut examples = 0;
        for verb in command.get_subcommands() {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines().filter_map(|line| line.strip_prefix("  bathyscope ")) {
                // What it is for follows after some blanks.
                let line =
                    ["  ", " | ", " > ", " < "].iter().fold(line, |line, end| line.split(end).next().unwrap_or(line));
                let Ok(words) = words::split(line) else { continue };
                let words = ["bathyscope".to_owned()].into_iter().chain(words).map(Into::into).collect();
                let understood = read(words);
                assert!(understood.is_ok(), "{line}: {}", understood.unwrap_err());
                examples += 1;
            }
        }
        assert!(examples > 30, "{examples}");
    }

    #[test]
    fn without_a_verb_it_serves() {
        let cli = Cli::try_parse_from(["bathyscope", "--simulate"]).unwrap();
        assert!(cli.verb.is_none() && cli.serve.agent.simulate.is_some());
        assert!(Cli::try_parse_from(["bathyscope", "--simulate", "doctor"]).is_err());
    }

    #[test]
    fn an_option_that_a_verb_does_not_have_is_not_taken_for_the_command() {
        let read = |line: &str| read(["bathyscope"].into_iter().chain(line.split(' ')).map(OsString::from).collect());
        for line in ["strace --frobnicate ls", "record -a -Q sched_switch ls", "stat --frobnicate ls"] {
            let error = read(line).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnknownArgument, "{line}: {error}");
            let verb = line.split(' ').next().unwrap();
            assert!(error.to_string().contains(&format!("Usage: bathyscope {verb} ")), "{error}");
        }
        let Some(Verb::Strace(args)) = read("strace -f ls -v -f").unwrap().0.verb else { panic!() };
        assert_eq!((args.follow, args.command.join(" ").as_str()), (1, "ls -v -f"));
    }
}
