//! The command line of `perf probe`: what it adds, what it asks, what it removes, and what there is no way to do here.

use super::{
    super::{DynamicError, DynamicProblem as Problem},
    part::{TypedPart, shell_words},
};
use crate::suggest::closest;

const SOURCES: &str = "source lines are found in the probe builder, as `work.c:12`; the parameters of a function of the \
                       kernel are shown for `perf probe -V FUNCTION` and by `bathyscope probe -V FUNCTION`";
const DEBUG: &str = "only the debug information of programs is read; leave the option out";
const NOT_HERE: &str = "this has no counterpart here; leave the option out";

/// What an option does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Add,
    Define,
    Remove,
    Exec,
    Variables,
    Functions,
    Pattern,
    List,
    DryRun,
    /// Nothing that is missed: why.
    Idle(&'static str),
    /// It cannot be done: why, and what can.
    Refused(&'static str),
}

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    /// Only one that is written to it.
    Attached,
}

struct PerfOption {
    letter: Option<char>,
    name: &'static str,
    takes: Takes,
    does: Does,
}

const fn option(letter: Option<char>, name: &'static str, takes: Takes, does: Does) -> PerfOption {
    PerfOption { letter, name, takes, does }
}

/// All that `perf probe` has, up to perf 6.18.
const OPTIONS: [PerfOption; 26] = [
    option(Some('a'), "add", Takes::Value, Does::Add),
    option(Some('D'), "definition", Takes::Value, Does::Define),
    option(Some('d'), "del", Takes::Value, Does::Remove),
    option(Some('x'), "exec", Takes::Value, Does::Exec),
    option(Some('V'), "vars", Takes::Value, Does::Variables),
    option(Some('F'), "funcs", Takes::Attached, Does::Functions),
    option(None, "filter", Takes::Value, Does::Pattern),
    option(Some('l'), "list", Takes::Attached, Does::List),
    option(Some('n'), "dry-run", Takes::Nothing, Does::DryRun),
    option(Some('L'), "line", Takes::Value, Does::Refused(SOURCES)),
    option(Some('v'), "verbose", Takes::Nothing, Does::Idle("there is nothing more to tell")),
    option(Some('q'), "quiet", Takes::Nothing, Does::Idle("only what matters is told")),
    option(Some('f'), "force", Takes::Nothing, Does::Idle("probes with the same name get their own")),
    option(None, "demangle", Takes::Nothing, Does::Idle("names are looked for as they are written")),
    option(None, "demangle-kernel", Takes::Nothing, Does::Idle("names are looked for as they are written")),
    option(None, "no-demangle", Takes::Nothing, Does::Idle("names are looked for as they are written")),
    option(
        Some('m'),
        "module",
        Takes::Value,
        Does::Refused("write the module before the function, as in `ext4:ext4_sync_file`, and leave the option out"),
    ),
    option(None, "externs", Takes::Nothing, Does::Refused(DEBUG)),
    option(None, "range", Takes::Nothing, Does::Refused(DEBUG)),
    option(None, "no-inlines", Takes::Nothing, Does::Refused(DEBUG)),
    option(Some('k'), "vmlinux", Takes::Value, Does::Refused("the running kernel is probed; leave the option out")),
    option(Some('s'), "source", Takes::Value, Does::Refused(SOURCES)),
    option(None, "max-probes", Takes::Value, Does::Refused("a definition is one probe here; leave the option out")),
    option(None, "cache", Takes::Nothing, Does::Refused(NOT_HERE)),
    option(None, "symfs", Takes::Value, Does::Refused(NOT_HERE)),
    option(
        None,
        "target-ns",
        Takes::Value,
        Does::Refused("files of another root are named by `bathyscope probe --pid PID -x FILE`"),
    ),
];

/// What a command line of `perf probe` says.
#[derive(Debug, Default)]
pub(super) struct PerfCommand<'a> {
    /// Behind `-x`.
    pub(super) file: Option<TypedPart<'a>>,
    /// Definitions.
    pub(super) added: Vec<TypedPart<'a>>,
    /// Patterns of those that are removed.
    pub(super) removed: Vec<TypedPart<'a>>,
    /// Nothing is to be made.
    pub(super) dry: bool,
    /// Behind `-V`.
    pub(super) variables: Option<TypedPart<'a>>,
    /// `-F`, with its pattern.
    pub(super) functions: Option<Option<TypedPart<'a>>>,
    /// `-l`, with its pattern.
    pub(super) list: Option<Option<TypedPart<'a>>>,
    /// What was given and changes nothing, in words.
    pub(super) notes: Vec<String>,
}

/// Reads what stands behind `perf probe`.
pub(super) fn read(rest: TypedPart<'_>) -> Result<PerfCommand<'_>, DynamicError> {
    let mut command = PerfCommand::default();
    let mut bare: Option<TypedPart<'_>> = None;
    let redirected = |word: &TypedPart<'_>| {
        let text = word.text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
        text.starts_with(['>', '<'])
    };
    let mut words = shell_words(rest)?.into_iter().take_while(|word| !redirected(word));
    while let Some(word) = words.next() {
        if !word.text.starts_with('-') || word.text.len() < 2 {
            // As perf does: what is not in quotes is one definition.
            let end = word.at + word.text.len() - rest.at;
            let all = bare.map(|first| TypedPart {
                at: first.at,
                text: rest.text.get(first.at - rest.at..end).unwrap_or(first.text),
            });
            bare = Some(all.unwrap_or(word));
            continue;
        }
        for (known, value) in options(word)? {
            let value = match (value, known.takes) {
                (None, Takes::Value) => Some(words.next().ok_or_else(|| word.error(missing(known)))?),
                (value, _) => value,
            };
            command.take(word, known, value)?;
        }
    }
    match bare {
        Some(pattern) if command.functions == Some(None) => command.functions = Some(Some(pattern)),
        Some(pattern) if command.list == Some(None) => command.list = Some(Some(pattern)),
        bare => command.added.extend(bare),
    }
    Ok(command)
}

fn missing(known: &PerfOption) -> Problem {
    Problem::PerfOption { option: format!("--{}", known.name), why: "it needs a value, which is missing".to_owned() }
}

/// The options of a word, each with what is written to it.
fn options(word: TypedPart<'_>) -> Result<Vec<(&'static PerfOption, Option<TypedPart<'_>>)>, DynamicError> {
    if let Some(long) = word.text.strip_prefix("--") {
        let (name, value) = match long.find('=') {
            Some(at) => (long.get(..at).unwrap_or_default(), Some(word.skip(at + 3))),
            None => (long, None),
        };
        let known = OPTIONS.iter().find(|known| known.name == name);
        return Ok(vec![(known.ok_or_else(|| word.error(unknown(&format!("--{name}"))))?, value)]);
    }
    let mut found = Vec::new();
    for (at, letter) in word.text.char_indices().skip(1) {
        let known = OPTIONS.iter().find(|known| known.letter == Some(letter));
        let known = known.ok_or_else(|| word.error(unknown(&format!("-{letter}"))))?;
        let behind = word.skip(at + letter.len_utf8());
        if known.takes == Takes::Nothing || behind.text.is_empty() {
            found.push((known, None));
            continue;
        }
        let value = if behind.text.starts_with('=') { behind.skip(1) } else { behind };
        found.push((known, Some(value)));
        break;
    }
    Ok(found)
}

fn unknown(option: &str) -> Problem {
    let near = closest(option.trim_start_matches('-'), OPTIONS.iter().map(|known| known.name));
    let why = match near.filter(|_| option.len() > 2) {
        Some(near) => format!("`perf probe` has no such option; did you mean `--{near}`?"),
        None => "`perf probe` has no such option".to_owned(),
    };
    Problem::PerfOption { option: option.to_owned(), why }
}

impl<'a> PerfCommand<'a> {
    fn take(
        &mut self,
        word: TypedPart<'a>,
        known: &PerfOption,
        value: Option<TypedPart<'a>>,
    ) -> Result<(), DynamicError> {
        match known.does {
            Does::Add => self.added.extend(value),
            Does::Define => {
                self.added.extend(value);
                self.dry = true;
            }
            Does::Remove => self.removed.extend(value),
            Does::Exec => self.file = value,
            Does::Variables => self.variables = value,
            Does::Functions => self.functions = Some(value.or(self.functions.flatten())),
            Does::Pattern => self.functions = Some(value),
            Does::List => self.list = Some(value),
            Does::DryRun => self.dry = true,
            Does::Idle(why) => {
                let shown = known.letter.map_or_else(|| format!("--{}", known.name), |letter| format!("-{letter}"));
                self.notes.push(format!("`{shown}` of `perf probe` changes nothing here: {why}"));
            }
            Does::Refused(why) => {
                let option = word.text.split('=').next().unwrap_or(word.text).to_owned();
                return Err(word.error(Problem::PerfOption { option, why: why.to_owned() }));
            }
        }
        Ok(())
    }
}
