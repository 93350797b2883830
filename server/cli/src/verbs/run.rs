//! `run`: makes the capture that a command of another tool asks for, and keeps it.

use std::path::PathBuf;

use bathyscope_agent::Simulation;
use bathyscope_capture::CaptureSpec;
use bathyscope_commands::{Answer, Explanation, Planned, explain};
use clap::Args;

use super::{
    budgets::limits_of_target,
    capture_file::CaptureFile,
    explain::{in_one_line, known_host, place_of, quoted, text_of},
    kept::kept_in,
    record::keep,
};
use crate::{
    Failure, Outcome,
    config::{DataArgs, LogArgs, LogFormat, Scripts},
    launch::{OwnAgent, Workplace},
};

const EXAMPLES: &str = "\
Examples:
  bathyscope run 'perf record -F 99 -g -p 4711 -- sleep 10'
  bathyscope run 'trace-cmd record -e sched_switch sleep 1'
  bathyscope run --live 'opensnoop -d 5'

What is asked for is said first, with what has no meaning here; `bathyscope explain` only says it. The capture is kept, and shown \
by `bathyscope report` and in the browser. It lasts as the command says, or until Ctrl-C. No console may be running on the same \
database. No shell is started: a command that is traced is started by itself, with its words.";

/// What `run` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    /// Print rows as they come, as `report` does
    #[arg(long)]
    pub live: bool,
    /// Write the capture to a file too, to import it elsewhere
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Name of the capture
    #[arg(long, value_name = "NAME", default_value = "")]
    pub name: String,
    /// Make up events instead of recording
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
    /// The command as it is typed for the other tool, in one text; or its words
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}

/// Makes the capture.
///
/// # Errors
/// If the command asks for none, or it cannot be started.
pub fn run(args: RunArgs) -> Outcome {
    let text = text_of(&args.command)?;
    let log = LogArgs { log_format: LogFormat::Text, log: args.log_filter.clone() };
    // Opened before rights are given up: it may be where only who started this can write.
    let file = args.output.as_deref().map(CaptureFile::open).transpose()?;
    let mut agent = OwnAgent::start_for_scripts(args.simulate.as_ref(), Some(&log), Scripts::Observe)?;
    let place = Workplace::make(Some(&args.data.directory()?))?;
    let mut client = agent.client_at(&place)?;
    crate::logging::start(&log)?;
    let mut host = known_host(&mut client, &text);
    let runtime = super::runtime()?;
    if text.contains("probe") {
        host.kept_probes = runtime.block_on(kept_in(place.directory()))?;
    }
    let explanation = explain(&text, &host);
    if let Answer::Stored(stored) = &explanation.answer
        && !stored.terminal.is_empty()
    {
        // The agent ends when nobody asks it any more.
        drop(client);
        drop(agent);
        return print_stored(&stored.terminal, &explanation, &args.data, &text);
    }
    let planned = planned(explanation, &text)?;
    let CaptureSpec { sources, target, limits, .. } = planned;
    let limits = limits_of_target(args.budgets.apply(limits), &target);
    let spec = CaptureSpec { name: args.name.clone(), sources, target, limits };
    let directory = place.directory();
    super::to_the_end(agent, runtime, keep(spec, client, directory, args.live, file.as_ref()))
}

/// Prints a stored capture as the command would, after what is to be said of it.
#[expect(clippy::print_stderr, reason = "standard output is for the table")]
fn print_stored(words: &[String], explanation: &Explanation, data: &DataArgs, text: &str) -> Outcome {
    let mut all = vec!["bathyscope".to_owned()];
    all.extend(words.iter().cloned());
    all.extend(["--data".to_owned(), data.directory()?.display().to_string()]);
    eprintln!("bathyscope {}", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
    for note in &explanation.notes {
        eprintln!("  {}", in_one_line(note, text));
    }
    let (cli, _) = super::read(all.into_iter().map(Into::into).collect())
        .map_err(|error| Failure::because("reading what prints a stored capture", error))?;
    super::dispatch(cli)
}

/// The capture that is asked for, after what is to be said of it.
#[expect(clippy::print_stderr, reason = "standard output is for rows")]
fn planned(explanation: Explanation, text: &str) -> Result<CaptureSpec, Failure> {
    let said = explanation.words.clone();
    match explanation.answer {
        Answer::Capture(planned) => {
            let Planned { spec, missing, .. } = *planned;
            if let Some(missing) = missing {
                return Err(Failure::new(format!("{missing} has to be chosen")).remedy("Write its process id."));
            }
            eprintln!("{said}");
            for note in &explanation.notes {
                eprintln!("  {}", in_one_line(note, text));
            }
            Ok(spec)
        }
        Answer::Refused(refusal) => {
            let place = place_of(&refusal, text);
            Err(Failure::new(format!("{}\n{}", refusal.why, place.trim_end())).remedy(refusal.remedy))
        }
        Answer::Probes { .. } => Err(Failure::new(said)
            .remedy("`bathyscope probe --add` keeps and `--del` deletes probes; to record one, write `perf record -e probe:NAME -a`.")),
        Answer::Stored(_) => {
            Err(Failure::new(said)
                .remedy("`bathyscope report` prints it, with --functions the functions of a profile."))
        }
        Answer::Page(_) => {
            Err(Failure::new(said).remedy("Open the page in the browser; `bathyscope list` lists what can be traced."))
        }
        Answer::Foreign { .. } | Answer::Nothing => Err(Failure::new(said).remedy("Nothing is recorded for it.")),
    }
}
