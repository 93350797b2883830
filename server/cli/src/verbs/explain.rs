//! `explain`: what a command of another tool asks for, in words and as a capture's spec. Nothing is started for it.

use std::process::ExitCode;

use bathyscope_agent::Simulation;
use bathyscope_commands::{
    Answer, ExplainedText, Explanation, KeptProbe, KnownHost, MAX_COMMAND_BYTES, Note, Refusal, SameCommand, cost_of,
    explain, same_as, wanted_processes,
};
use bathyscope_console::library::probe_of;
use bathyscope_link::processes::{StatLine, read_some};
use bathyscope_protocol::{AgentClient, ProcessFile};
use bathyscope_store::LibraryKind;
use clap::Args;

use super::{library, record::available};
use crate::{Failure, Outcome, config::DataArgs, launch::OwnAgent};

/// The field of `/proc/PID/stat` that tells when a process was started.
const START_FIELD: usize = 22;
/// The most that is read of that file.
const MAX_STAT_BYTES: u64 = 4096;

const EXAMPLES: &str = "\
Examples:
  bathyscope explain 'perf record -F 99 -g -p 4711 -- sleep 10'
  bathyscope explain --json 'strace -f -e %network curl localhost'
  bathyscope explain 'echo function > current_tracer; echo 1 > tracing_on; sleep 1; cat trace'

The commands of strace, perf, trace-cmd, bpftrace, BCC, sysdig and ltrace are understood, and lines that write to files of tracefs. \
Nothing is started, by Bathyscope or by a shell. Events and processes are looked up on this host as far as its kernel may be asked.";

/// What `explain` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExplainArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Where probes are kept by name.
    #[command(flatten)]
    pub data: DataArgs,
    /// Look events up in the simulated kernel
    #[arg(long, value_name = "OPTIONS", num_args = 0..=1, require_equals = true, default_missing_value = "", hide = true)]
    pub simulate: Option<Simulation>,
    /// The command as it is typed for the other tool, in one text; or its words
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}

/// Prints what is understood. The exit status tells whether it is.
///
/// # Errors
/// If the text is too long.
pub fn run(args: ExplainArgs) -> Outcome {
    let text = text_of(&args.command)?;
    // Before rights are given up.
    let kept_probes = kept_probes(&text, &args.data);
    let mut agent = OwnAgent::start(args.simulate.as_ref(), None).ok();
    let client = agent.as_mut().and_then(|agent| agent.client().ok());
    let mut host = client.map_or_else(KnownHost::default, |mut client| known_host(&mut client, &text));
    host.kept_probes = kept_probes;
    let explanation = explain(&text, &host);
    let code = if matches!(explanation.answer, Answer::Refused(_)) { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    let printed = if args.json {
        let line = serde_json::to_string(&ExplainedText::from(explanation));
        line.map_err(|error| Failure::because("writing JSON", error))? + "\n"
    } else {
        in_lines(&explanation, &text)?
    };
    super::print_all(&printed)?;
    Ok(code)
}

/// The text of the words of a command line: one is the text itself.
///
/// # Errors
/// If it is too long.
pub(super) fn text_of(words: &[String]) -> Result<String, Failure> {
    let text = match words {
        [text] => text.clone(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    };
    if text.len() > MAX_COMMAND_BYTES {
        let why = format!("the command has {} bytes, and at most {MAX_COMMAND_BYTES} are read", text.len());
        return Err(Failure::new(why));
    }
    Ok(text)
}

/// A word as it is typed into a shell.
pub(super) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,=+@%^".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// What the commands may ask of the host; less where it cannot be asked.
pub(super) fn known_host(client: &mut AgentClient, text: &str) -> KnownHost {
    let tracepoints = available(client).ok().map(Into::into);
    let wanted = wanted_processes(text);
    let mut started: Vec<(u64, u32, String)> = Vec::new();
    if !wanted.is_empty() {
        for pid in client.list_processes().unwrap_or_default() {
            let Ok(file) = client.open_process_file(pid, ProcessFile::Stat) else { continue };
            let bytes = read_some(file, MAX_STAT_BYTES);
            let Some(line) = StatLine::read(&bytes) else { continue };
            let name = String::from_utf8_lossy(line.comm).into_owned();
            started.push((line.number(START_FIELD).unwrap_or(0), pid, name));
        }
        started.sort();
    }
    let of = |name: String| {
        let pids = started.iter().filter(|(_, _, known)| *known == name).map(|(_, pid, _)| *pid).collect();
        (name, pids)
    };
    KnownHost { tracepoints, processes: wanted.into_iter().map(of).collect(), kept_probes: Vec::new() }
}

/// The probes that are kept by name, if a text can name one. Where the database cannot be read, the text is explained without them.
fn kept_probes(text: &str, data: &DataArgs) -> Vec<KeptProbe> {
    if !text.contains("probe") {
        return Vec::new();
    }
    let items = library::listed_elsewhere(data).unwrap_or_default().into_iter();
    let probes = items.filter(|item| item.entry.kind == LibraryKind::Probe);
    probes.filter_map(|item| probe_of(&item.text).ok()).map(|(probe, name)| KeptProbe { name, probe }).collect()
}

/// What is understood, in lines.
fn in_lines(explanation: &Explanation, text: &str) -> Result<String, Failure> {
    let mut out = match &explanation.answer {
        Answer::Refused(refusal) => place_of(refusal, text),
        _ => String::new(),
    };
    out.push_str(&explanation.words);
    if let Answer::Capture(planned) = &explanation.answer {
        out.push_str(&format!(" {}", cost_of(&planned.spec)));
    }
    out.push('\n');
    for note in &explanation.notes {
        out.push_str(&format!("  {}\n", in_one_line(note, text)));
    }
    match &explanation.answer {
        Answer::Capture(planned) => {
            let spec = serde_json::to_string_pretty(&planned.spec);
            out.push_str(&spec.map_err(|error| Failure::because("writing JSON", error))?);
            out.push('\n');
            out.push_str(&same_lines(&same_as(&planned.spec)));
        }
        Answer::Page(page) => {
            let parameters: Vec<String> =
                page.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            out.push_str(&format!("page {} {}\n", page.path, parameters.join(" ")).replace(" \n", "\n"));
        }
        Answer::Stored(stored) if !stored.terminal.is_empty() => {
            let words: Vec<String> = stored.terminal.iter().map(|word| quoted(word)).collect();
            out.push_str(&format!("at a terminal: bathyscope {}\n", words.join(" ")));
        }
        _ => {}
    }
    Ok(out)
}

/// Commands that ask for a capture, in lines, each with what it asks for otherwise.
pub(super) fn same_lines(commands: &[SameCommand]) -> String {
    let mut out = String::new();
    for SameCommand { text, differs } in commands {
        let head = if out.is_empty() { "the same as\n" } else { "" };
        let text: Vec<String> = text.lines().map(|line| format!("  {}\n", bathyscope_capture::shown(line))).collect();
        let differs = differs.iter().map(|words| format!("    differs: {}\n", bathyscope_capture::shown(words)));
        out.push_str(&format!("{head}{}{}", text.concat(), differs.collect::<String>()));
    }
    out
}

/// A note with the part that it is about.
pub(super) fn in_one_line(note: &Note, text: &str) -> String {
    let part = text.get(note.start..note.end).unwrap_or_default().trim();
    let part = bathyscope_capture::visible(part.as_bytes());
    if part.is_empty() || note.text.starts_with(&part) { note.text.clone() } else { format!("{part}: {}", note.text) }
}

/// The line of the text that is refused, with the place below it.
pub(super) fn place_of(refusal: &Refusal, text: &str) -> String {
    let before = text.get(..refusal.at.start).unwrap_or_default();
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(begin..).unwrap_or_default().split('\n').next().unwrap_or_default();
    let columns = before.get(begin..).unwrap_or_default().chars().count();
    let marked = text.get(refusal.at.clone()).unwrap_or_default().split('\n').next().unwrap_or_default();
    let line = bathyscope_capture::shown(line);
    format!("{line}\n{}{}\n", " ".repeat(columns), "^".repeat(marked.chars().count().max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_one_text_again() {
        let text = |words: &[&str]| text_of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).unwrap();
        assert_eq!(text(&["perf record -g ls"]), "perf record -g ls");
        assert_eq!(
            text(&["trace-cmd", "report", "-F", "kmalloc: bytes_req > 1"]),
            "trace-cmd report -F 'kmalloc: bytes_req > 1'"
        );
        assert_eq!(text(&["strace", "echo", "it's", ""]), r"strace echo 'it'\''s' ''");
        assert!(text_of(&["x".repeat(MAX_COMMAND_BYTES + 1)]).is_err());
    }

    #[test]
    fn a_refusal_is_shown_at_its_place() {
        let text = "perf list\nstrace -Q ls";
        let Answer::Refused(refusal) = explain(text, &KnownHost::default()).answer else { panic!() };
        assert_eq!(place_of(&refusal, text), "strace -Q ls\n       ^^\n");
    }
}
