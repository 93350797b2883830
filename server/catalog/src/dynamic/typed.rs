//! What people type or paste: lines of either grammar, alone or within the commands that they know them from.
//!
//! `echo 'p:open do_sys_openat2' >> kprobe_events` and `perf probe -x /bin/bash 'readline%return'` are taken for the probe
//! in them. What only asks (`perf probe -V`) is kept as a question. Lines that only switch on, read or record what a capture
//! does by itself, prompts, and what `perf` answered are passed over and named.

mod part;
mod perf_words;
mod prompts;

use part::{TypedPart, commands, quoted};

use super::{DynamicError, DynamicProblem as Problem, Line, parse_dynamic};

/// The most lines.
const MAX_LINES: usize = 4096;
/// How deep `sh -c` may be nested.
const MAX_SHELLS: usize = 2;
/// Commands that people have around those that make probes, and that make none.
const OTHERS: [&str; 20] = [
    "cd", "ls", "pwd", "head", "tail", "less", "more", "grep", "sleep", "mount", "umount", "sysctl", "modprobe", "rm",
    "clear", "exit", "su", "sort", "wc", "export",
];
/// The files of the kernel that lines of its grammar are written to.
const FILES: [&str; 3] = ["kprobe_events", "uprobe_events", "dynamic_events"];

/// Which grammar a text is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// That of the kernel's files.
    Kernel,
    /// That of `perf probe`.
    Perf,
}

/// A definition as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedDefinition {
    /// The definition alone.
    pub text: String,
    /// Bytes before it in all of the text.
    pub at: usize,
    /// In which grammar.
    pub dialect: Dialect,
    /// The file after `-x`.
    pub file: Option<String>,
}

/// A line that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The line.
    pub text: String,
    /// Why, in words.
    pub why: String,
}

/// What a line asks instead of making a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The command.
    pub text: String,
    /// Bytes before what it asks about in all of the text.
    pub at: usize,
    /// What it asks.
    pub question: Question,
}

/// A question of `perf probe`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// `-V`: what can be recorded at a function, of a file if there is one.
    Variables {
        /// The function.
        function: String,
        /// The file after `-x`.
        file: Option<String>,
    },
    /// `-F`: the functions of the kernel or of a file.
    Functions {
        /// Those that match; all if there is none.
        pattern: Option<String>,
        /// The file after `-x`.
        file: Option<String>,
    },
    /// `-l`: the probes that there are.
    List {
        /// Those that match; all if there is none.
        pattern: Option<String>,
    },
    /// `-n` and `-D`: what a definition becomes.
    Definition(TypedDefinition),
}

/// A line that removes what was made before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The line.
    pub text: String,
    /// Bytes before it in all of the text.
    pub at: usize,
    /// The group; any if there is none.
    pub group: Option<String>,
    /// The event, or a pattern with `*` and `?`.
    pub event: String,
    /// How many definitions stand before it.
    pub after: usize,
    /// How many definitions stood before the last line that switched something on, recorded or read it.
    pub used: usize,
}

/// What was read of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The definitions, in their order.
    pub typed: Vec<TypedDefinition>,
    /// What was passed over, and why.
    pub skipped: Vec<Passed>,
    /// What was asked.
    pub asked: Vec<Asked>,
    /// What was removed.
    pub removed: Vec<Removal>,
    /// What somebody should know about how it was read.
    pub notes: Vec<String>,
    used: usize,
}

/// Reads a text of lines; `file` is the one that functions are in unless a line says another, as with `perf probe -x`.
///
/// # Errors
/// What cannot be read, with its place in the text.
pub fn read_typed(text: &str, file: Option<&str>) -> Result<Reading, DynamicError> {
    let mut reading = Reading::default();
    let mut at = 0;
    for (number, line) in text.split('\n').enumerate() {
        if number >= MAX_LINES {
            return Err(DynamicError { at, problem: Problem::TooManyLines(MAX_LINES) });
        }
        reading.read_line(line, at, file)?;
        at += line.len() + 1;
    }
    Ok(reading)
}

/// Without `sudo`.
fn without_sudo(part: TypedPart<'_>) -> TypedPart<'_> {
    part.after("sudo").unwrap_or(part)
}

/// Whether a line is of a shell and not a definition.
fn is_command(part: TypedPart<'_>, file: Option<&str>) -> bool {
    let command = without_sudo(part);
    let known = ["echo", "perf", "cat", "trace-cmd", "sh", "bash"].iter().any(|word| command.after(word).is_some());
    // A library has functions of some of these names.
    known || file.is_none() && OTHERS.contains(&command.first_word())
}

impl Reading {
    /// Reads one more line, with `at` bytes of the text before it. After an error it goes on with the next.
    ///
    /// # Errors
    /// What cannot be read, with its place in the text.
    pub fn read_line(&mut self, line: &str, at: usize, file: Option<&str>) -> Result<(), DynamicError> {
        let part = TypedPart { at, text: line }.trim();
        if part.text.is_empty() { Ok(()) } else { self.line(part, file) }
    }

    fn line(&mut self, part: TypedPart<'_>, file: Option<&str>) -> Result<(), DynamicError> {
        if let Some(what) = prompts::answer(part) {
            self.skip(part, what);
            return Ok(());
        }
        if let Some(command) = prompts::after_prompt(part) {
            if command.text.is_empty() {
                self.skip(part, "this is a prompt");
                return Ok(());
            }
            return self.shell(command, file, 0);
        }
        let prompted = ["#", "$", "%"].iter().find_map(|mark| part.after(mark));
        match prompted {
            Some(command) if is_command(command, file) => self.shell(command, file, 0),
            // A comment.
            _ if part.text.starts_with('#') => Ok(()),
            Some(definition) => self.bare(definition, file),
            None if is_command(part, file) => self.shell(part, file, 0),
            None => self.bare(part, file),
        }
    }

    /// A definition, or a line that removes one.
    fn bare(&mut self, part: TypedPart<'_>, file: Option<&str>) -> Result<(), DynamicError> {
        // `--add DEFINITION` without the command before it; the kernel's lines have a blank or a colon behind `-`.
        if part
            .text
            .strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|c: char| c == '-' || c.is_ascii_alphabetic()))
        {
            return self.perf(part, part, file);
        }
        let dialect = dialect_of(part.text);
        self.define(part, dialect, file.filter(|_| dialect == Dialect::Perf).map(str::to_owned))
    }

    /// The commands of a line.
    fn shell(&mut self, line: TypedPart<'_>, file: Option<&str>, depth: usize) -> Result<(), DynamicError> {
        let all = commands(line);
        let mut rest = all.iter().peekable();
        while let Some((command, _)) = rest.next() {
            // What reads the output of a command goes with it.
            let mut behind = Vec::new();
            while let Some((piped, _)) = rest.next_if(|(_, piped)| *piped) {
                behind.push(*piped);
            }
            self.command(without_sudo(*command), &behind, file, depth)?;
        }
        Ok(())
    }

    fn command(
        &mut self,
        part: TypedPart<'_>,
        behind: &[TypedPart<'_>],
        file: Option<&str>,
        depth: usize,
    ) -> Result<(), DynamicError> {
        if let Some(rest) = part.after("echo") {
            let tee = behind.first().and_then(|piped| without_sudo(*piped).after("tee"));
            return self.echo(part, rest, tee);
        }
        if let Some(rest) = part.after("perf").and_then(|rest| rest.after("probe")) {
            return self.perf(part, rest, file);
        }
        if let Some(rest) = part.after("sh").or_else(|| part.after("bash")) {
            let inside = rest.after("-c").filter(|_| depth < MAX_SHELLS);
            if let Some((inside, _)) = inside.map(quoted).transpose()?.flatten() {
                return self.shell(inside.trim(), file, depth + 1);
            }
        }
        let why = if part.after("perf").is_some() || part.after("trace-cmd").is_some() {
            self.used = self.typed.len();
            "the capture records and shows its probes itself"
        } else if part.after("cat").is_some() {
            self.used = self.typed.len();
            "what the kernel's files hold is shown with the capture"
        } else {
            "this command makes no probe"
        };
        self.skip(part, why);
        Ok(())
    }

    fn skip(&mut self, part: TypedPart<'_>, why: impl Into<String>) {
        self.skipped.push(Passed { text: part.text.to_owned(), why: why.into() });
    }

    fn define(&mut self, part: TypedPart<'_>, dialect: Dialect, file: Option<String>) -> Result<(), DynamicError> {
        if dialect == Dialect::Kernel && part.text.starts_with('-') {
            let moved = |error: DynamicError| DynamicError { at: part.at + error.at, ..error };
            if let Line::Remove { group, event } = parse_dynamic(part.text).map_err(moved)? {
                self.remove(part, group, event);
            }
            return Ok(());
        }
        self.typed.push(TypedDefinition { text: part.text.to_owned(), at: part.at, dialect, file });
        Ok(())
    }

    fn remove(&mut self, part: TypedPart<'_>, group: Option<String>, event: String) {
        let (after, used) = (self.typed.len(), self.used);
        self.removed.push(Removal { text: part.text.to_owned(), at: part.at, group, event, after, used });
    }

    /// `echo [-n] 'LINE' >> FILE`, or `| tee FILE`
    fn echo(
        &mut self,
        line: TypedPart<'_>,
        mut rest: TypedPart<'_>,
        tee: Option<TypedPart<'_>>,
    ) -> Result<(), DynamicError> {
        while let Some(behind) = ["-n", "-e"].iter().find_map(|option| rest.after(option)) {
            rest = behind;
        }
        let (said, to) = match quoted(rest)? {
            Some((inside, behind)) => (inside, behind.trim()),
            None => {
                let end = rest.text.find('>').unwrap_or(rest.text.len());
                (TypedPart { text: rest.text.get(..end).unwrap_or_default(), ..rest }.trim(), rest.skip(end))
            }
        };
        let tee = tee.map(|files| files.after("-a").unwrap_or(files).first_word());
        let to = tee.unwrap_or_else(|| to.text.trim_start_matches('>').trim());
        let to = to.split_whitespace().next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        if !to.is_empty() && !FILES.contains(&to) {
            self.used = self.typed.len();
            self.skip(line, "the capture switches its probes on and off itself");
            return Ok(());
        }
        if said.text.trim().is_empty() {
            self.skip(line, "nobody's probes are removed all at once; those of a capture go with it");
            return Ok(());
        }
        self.define(said.trim(), Dialect::Kernel, None)
    }

    /// `perf probe [-x FILE] [--add] 'DEFINITION' …`, and what else it can be asked.
    fn perf(&mut self, line: TypedPart<'_>, rest: TypedPart<'_>, file: Option<&str>) -> Result<(), DynamicError> {
        let command = perf_words::read(rest)?;
        let file = command.file.map(|file| file.text.to_owned()).or_else(|| file.map(str::to_owned));
        for note in command.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let text = |part: TypedPart<'_>| part.text.to_owned();
        let mut ask = |at: usize, question| self.asked.push(Asked { text: text(line), at, question });
        if let Some(function) = command.variables {
            let (at, function) = (function.at, text(function));
            ask(at, Question::Variables { function, file: file.clone() });
        }
        if let Some(pattern) = command.functions {
            ask(line.at, Question::Functions { pattern: pattern.map(text), file: file.clone() });
        }
        if let Some(pattern) = command.list {
            ask(line.at, Question::List { pattern: pattern.map(text) });
        }
        for pattern in command.removed {
            let (group, event) = match pattern.text.split_once(':') {
                Some((group, event)) => (Some(group.to_owned()), event.to_owned()),
                None => (None, text(pattern)),
            };
            self.remove(TypedPart { text: line.text, ..pattern }, group, event);
        }
        for one in command.added {
            if command.dry {
                let (text, at, file) = (text(one), one.at, file.clone());
                let question = Question::Definition(TypedDefinition { text, at, dialect: Dialect::Perf, file });
                self.asked.push(Asked { text: line.text.to_owned(), at, question });
            } else {
                self.define(one, Dialect::Perf, file.clone())?;
            }
        }
        Ok(())
    }
}

/// A line of the kernel's files begins with `p`, `r`, `e`, `f`, `t` or `-`, alone or before a `:`.
fn dialect_of(text: &str) -> Dialect {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    // Functions may be called `f`: a line of the kernel's files has a place behind its first word.
    if words.next().is_none() && !first.contains(':') && !first.starts_with('-') {
        return Dialect::Perf;
    }
    let kind = first.split(':').next().unwrap_or_default();
    let number = kind.get(1..).unwrap_or_default();
    let is_kernel = match kind.bytes().next() {
        Some(b'p' | b'e' | b't') => number.is_empty(),
        Some(b'r' | b'f') => number.bytes().all(|byte| byte.is_ascii_digit()),
        Some(b'-') => true,
        _ => false,
    };
    if is_kernel { Dialect::Kernel } else { Dialect::Perf }
}

/// Where each argument of a definition begins in its text.
pub fn argument_places(text: &str, dialect: Dialect) -> Vec<usize> {
    let before = match dialect {
        Dialect::Kernel => 2,
        Dialect::Perf => 1,
    };
    let Ok(words) = super::line::words(text) else { return Vec::new() };
    let place = |word: super::fetch::FetchWord<'_>| word.split('=').map_or(word.at, |(_, value)| value.at);
    words.into_iter().skip(before).map(place).collect()
}
