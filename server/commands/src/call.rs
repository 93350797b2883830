//! A command as its tool reads it, and what comes of it.

use std::ops::Range;

use bathyscope_capture::{CaptureSpec, DynamicProbe, Limits, Method, SourceSpec, Target};
use bathyscope_catalog::matches_wildcards;

use crate::{
    answer::{Marks, Page, Planned, Refusal, Result, SpanKind, StoredView, ViewName},
    host::{Host, KeptProbe},
    shell::{ExpansionKind, Redirect, RedirectKind, Word, WrittenFile},
};

/// A command.
pub(crate) struct Call<'a> {
    /// The tool's name as it was typed.
    pub(crate) name: &'a Word,
    /// The tool's name without its folder and what packages put behind it.
    pub(crate) tool: String,
    /// The words behind it.
    pub(crate) words: &'a [Word],
    /// Its redirections.
    pub(crate) redirects: &'a [Redirect],
    /// The host.
    pub(crate) host: &'a dyn Host,
    /// Parts and notes.
    pub(crate) marks: &'a mut Marks,
    /// Probes that the commands before it in the text have defined, and then those that are kept by name.
    pub(crate) probes: &'a [DefinedProbe],
    /// Files that lines before it in the text have written.
    pub(crate) files: &'a [WrittenFile],
    /// Variables by which bpftrace is set.
    pub(crate) settings: &'a [Word],
}

/// A probe that a command defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DefinedProbe {
    /// The group and the name that its event has, if they are known without the host.
    pub(crate) group: String,
    /// The event.
    pub(crate) event: String,
    /// The definition.
    pub(crate) probe: DynamicProbe,
    /// Whether it is kept by name, and not defined in the text.
    pub(crate) is_kept: bool,
}

impl DefinedProbe {
    /// One that is kept by name.
    pub(crate) fn kept(kept: &KeptProbe) -> Option<Self> {
        let (group, event) = kept.name.split_once(':')?;
        Some(Self { group: group.to_owned(), event: event.to_owned(), probe: kept.probe.clone(), is_kept: true })
    }

    /// What it is called: `probe:vfs_read`.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.group, self.event)
    }
}

/// Probes that are defined or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbeSteps {
    /// Those that are defined.
    pub(crate) add: Vec<DefinedProbe>,
    /// Names and patterns of those that are removed.
    pub(crate) remove: Vec<String>,
    /// Whether one whose name is taken gets another name.
    pub(crate) force: bool,
    /// Whether it is only told what would be done.
    pub(crate) dry_run: bool,
}

/// What comes of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A capture.
    Capture(Box<Planned>),
    /// A view of a capture: of the one that the text asks for, or of one that is stored.
    View(StoredView),
    /// A page, with what is to be said.
    Page(Page, String),
    /// Probes are defined, or removed by name or pattern.
    Probes(ProbeSteps),
    /// Nothing is to be done, and why.
    Nothing(String),
}

/// Whose events are recorded, and when it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Whose {
    /// Whose.
    pub(crate) target: Target,
    /// Milliseconds, if it ends by time.
    pub(crate) duration_ms: Option<u64>,
    /// What has to be chosen.
    pub(crate) missing: Option<String>,
}

impl Whose {
    pub(crate) fn of(target: Target) -> Self {
        Self { target, duration_ms: None, missing: None }
    }
}

impl Call<'_> {
    /// The probes that a name or pattern means: those of the text, then those that are kept by name, which is noted at its place.
    pub(crate) fn probes_named(&mut self, pattern: &str, at: &Range<usize>) -> Vec<DefinedProbe> {
        let is_pattern = pattern.contains(['*', '?']);
        let is_named = |one: &&DefinedProbe| matches_wildcards(pattern, &one.name());
        let mut found: Vec<DefinedProbe> = Vec::new();
        for one in self.probes.iter().filter(is_named) {
            if found.iter().any(|known| known.group == one.group && known.event == one.event) {
                continue;
            }
            if one.is_kept {
                let text = format!("`{}` is kept in the library: `{}`", one.name(), one.probe.typed);
                self.marks.note(at, text);
            }
            found.push(one.clone());
            if !is_pattern {
                break;
            }
        }
        found
    }
}

impl Call<'_> {
    /// The tool's name and, where one is given, its command.
    pub(crate) fn source(&self) -> Range<usize> {
        self.name.source.clone()
    }

    /// A capture of one source.
    ///
    /// # Errors
    /// If the spec cannot be one.
    pub(crate) fn capture(&self, method: Method, whose: Whose, opens: ViewName) -> Result<Step> {
        let Whose { target, duration_ms, missing } = whose;
        let limits = Limits { duration_ms, ..Limits::default() };
        let sources = vec![SourceSpec::of(method)];
        let spec = CaptureSpec { name: String::new(), sources, target, limits };
        if missing.is_none()
            && let Err(error) = spec.validate()
        {
            let end = self.words.last().map_or(self.name.source.end, |word| word.source.end);
            let why = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
            let why = why.map(ToString::to_string).collect::<Vec<_>>().join(": ");
            return Err(Refusal::new(self.name.source.start..end, why, "Change that part of the command."));
        }
        Ok(Step::Capture(Box::new(Planned { spec, opens, missing })))
    }

    /// Process ids, separated by commas or blanks, `$(pidof NAME)` and the like, or a word such as `PID` that stands for one.
    ///
    /// # Errors
    /// If it is none of these.
    pub(crate) fn process_ids(&mut self, word: &Word) -> Result<(Vec<u32>, Option<String>)> {
        self.marks.mark(&word.source, SpanKind::Target);
        if let [one] = word.expansions.as_slice() {
            match &one.kind {
                ExpansionKind::Command(inner) if word.text.is_empty() => {
                    let pids = self.processes_by_name(&one.source, inner)?;
                    return Ok((pids, None));
                }
                ExpansionKind::Variable(name) if word.text.is_empty() && name.to_lowercase().contains("pid") => {
                    self.marks
                        .note(&word.source, format!("`${name}` stands for a process, which is chosen in the form"));
                    return Ok((Vec::new(), Some("a process".to_owned())));
                }
                _ => {}
            }
        }
        word.plain()?;
        let mut pids = Vec::new();
        let parts = word.split(',').into_iter().flat_map(|part| part.split(' ')).filter(|part| !part.text.is_empty());
        for part in parts {
            match part.text.parse::<u32>() {
                Ok(pid) if pid > 0 && !pids.contains(&pid) => pids.push(pid),
                Ok(pid) if pid > 0 => {}
                _ if stands_for_process(&part.text) => {
                    let text = format!("`{}` stands for a process, which is chosen in the form", part.text);
                    self.marks.note(&part.source, text);
                    return Ok((Vec::new(), Some("a process".to_owned())));
                }
                _ => {
                    let why = format!("`{}` is no process id", part.text);
                    return Err(Refusal::new(
                        part.source,
                        why,
                        "Write a number, several with commas, or `$(pgrep -n NAME)`.",
                    ));
                }
            }
        }
        if pids.is_empty() {
            return Err(Refusal::new(word.source.clone(), "there is no process id", "Write a number."));
        }
        Ok((pids, None))
    }

    /// The processes that `pgrep` or `pidof` would print.
    fn processes_by_name(&mut self, at: &Range<usize>, inner: &str) -> Result<Vec<u32>> {
        let words: Vec<&str> = inner.split_whitespace().collect();
        let (one, oldest, name) = match words.as_slice() {
            ["pgrep", "-n" | "-nx" | "-xn", name] | ["pgrep", "-x", "-n", name] | ["pgrep", "-n", "-x", name] => {
                (true, false, *name)
            }
            ["pgrep", "-o" | "-ox" | "-xo", name] | ["pgrep", "-o", "-x", name] => (true, true, *name),
            ["pidof", "-s", name] => (true, false, *name),
            ["pgrep", "-d,", name] | ["pgrep", "-d", ",", name] | ["pgrep" | "pidof", name] => (false, false, *name),
            _ => {
                let why = format!("`$({inner})` would have to be run by a shell, and none is ever started");
                let remedy =
                    "Write what it prints. Of processes, `$(pgrep -n NAME)` and `$(pidof NAME)` are understood.";
                return Err(Refusal::new(at.clone(), why, remedy));
            }
        };
        if name.contains(['\'', '"', '$', '|', '*', '^', '[', '.', '\\']) && !is_program_name(name) {
            let why = format!("`{name}` is no name of a program");
            return Err(Refusal::new(at.clone(), why, "Write the name as it is, without a pattern."));
        }
        let Some(found) = self.host.processes(name) else {
            let why = format!("which process is called `{name}` is not known without asking the host");
            return Err(Refusal::new(at.clone(), why, "Write its process id."));
        };
        let chosen = match (one, oldest) {
            (true, true) => found.first().copied().into_iter().collect(),
            (true, false) => found.last().copied().into_iter().collect(),
            _ => found,
        };
        if chosen.is_empty() {
            let why = format!("no process is called `{name}` now");
            return Err(Refusal::new(at.clone(), why, "Start it first, or write a process id."));
        }
        let list = chosen.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        self.marks.note(at, format!("`{name}` is process {list} now"));
        Ok(chosen)
    }

    /// The words of the command that is started for the capture.
    ///
    /// # Errors
    /// What a shell would expand.
    pub(crate) fn command(&mut self, words: &[Word]) -> Result<Vec<String>> {
        if let (Some(first), Some(last)) = (words.first(), words.last()) {
            self.marks.mark(&(first.source.start..last.source.end), SpanKind::Target);
        }
        words.iter().map(|word| word.plain().map(str::to_owned)).collect()
    }

    /// Whose events where others than a command are chosen: these, for as long as the command runs. `sleep` is a time.
    ///
    /// # Errors
    /// What a shell would expand.
    pub(crate) fn while_runs(&mut self, others: Target, words: &[Word]) -> Result<Whose> {
        let argv = self.command(words)?;
        if argv.is_empty() {
            return Ok(Whose::of(others));
        }
        if let Some(ms) = sleep_ms(&argv) {
            return Ok(Whose { duration_ms: Some(ms), ..Whose::of(others) });
        }
        Ok(Whose::of(Target::during(argv, None, others)))
    }

    /// Says of redirections that what they are for is not needed.
    pub(crate) fn ignore_redirects(&mut self, why: &str) {
        for one in self.redirects {
            self.marks.ignore(&one.source, format!("the redirection has no meaning here: {why}"));
        }
    }

    /// Says of redirections into files that what a script prints is kept.
    pub(crate) fn marks_redirects(&mut self) {
        for one in self.redirects.iter().filter(|one| one.kind != RedirectKind::Text) {
            self.marks.ignore(
                &one.source,
                "the redirection has no meaning here: what a script prints is kept with the capture",
            );
        }
    }

    /// What a file has that a line before it in the text has written.
    pub(crate) fn written(&self, file: &Word) -> Option<Word> {
        self.files.iter().rev().find(|one| one.is(&file.text)).map(|one| one.text.clone())
    }

    /// The text that is read from standard input, if it is in the command itself.
    pub(crate) fn here_text(&self) -> Option<&Word> {
        self.redirects.iter().find(|one| one.kind == RedirectKind::Text).map(|one| &one.word)
    }
}

fn is_program_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'+'))
}

/// Words that documents write where a process id belongs.
fn stands_for_process(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    matches!(word.as_str(), "pid" | "tgid" | "tid" | "yourpid" | "your_pid" | "the_pid" | "mypid")
        || word.ends_with("_pid")
}

/// The milliseconds of `sleep 5`, `sleep 0.5`, `sleep 2m`; none of another command.
pub(crate) fn sleep_ms(argv: &[String]) -> Option<u64> {
    let (program, times) = argv.split_first()?;
    if !matches!(program.as_str(), "sleep" | "/bin/sleep" | "/usr/bin/sleep") || times.is_empty() {
        return None;
    }
    let total: f64 = times.iter().map(|time| seconds(time)).sum::<Option<f64>>()?;
    let ms = (total * 1000.0).round();
    ((1.0..=7.0 * 86_400_000.0).contains(&ms)).then_some(ms as u64)
}

/// A time as `sleep` and `timeout` take it, in seconds.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    let (number, factor) = match text.chars().last()? {
        's' => (text.strip_suffix('s')?, 1.0),
        'm' => (text.strip_suffix('m')?, 60.0),
        'h' => (text.strip_suffix('h')?, 3600.0),
        'd' => (text.strip_suffix('d')?, 86_400.0),
        _ => (text, 1.0),
    };
    let digits = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !number.is_empty();
    number.parse::<f64>().ok().filter(|_| digits).map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_are_times() {
        let ms = |line: &str| sleep_ms(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let cases = [
            ("sleep 5", Some(5000)),
            ("sleep 0.25", Some(250)),
            ("/bin/sleep 1m 1", Some(61_000)),
            ("sleep", None),
            ("sleep 0", None),
            ("sleep x", None),
            ("sleep 1e3", None),
            ("sleep inf", None),
            ("sleep -1", None),
            ("sleep 99999999999", None),
            ("make 5", None),
        ];
        for (line, expected) in cases {
            assert_eq!(ms(line), expected, "{line}");
        }
    }
}
