//! What people type or paste: lines of either grammar, alone or within the commands that they know them from.
//!
//! `echo 'p:open do_sys_openat2' >> kprobe_events` and `perf probe -x /bin/bash 'readline%return'` are taken for the probe
//! in them. Lines that only switch on, read or record what a capture does by itself are passed over and named.

use super::{DynamicError, DynamicProblem as Problem};

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
pub struct Typed {
    /// The definition alone.
    pub text: String,
    /// Bytes before it in all of the text.
    pub at: usize,
    /// In which grammar.
    pub dialect: Dialect,
    /// The file after `-x`.
    pub file: Option<String>,
}

/// What was read of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The definitions, in their order.
    pub typed: Vec<Typed>,
    /// What was passed over, and why.
    pub skipped: Vec<(String, &'static str)>,
}

/// A part of the text.
#[derive(Clone, Copy, Debug)]
struct Part<'a> {
    at: usize,
    text: &'a str,
}

impl<'a> Part<'a> {
    fn skip(self, bytes: usize) -> Self {
        Self { at: self.at + bytes, text: self.text.get(bytes..).unwrap_or_default() }
    }

    fn trim(self) -> Self {
        let begun = self.skip(self.text.len() - self.text.trim_start().len());
        Self { text: begun.text.trim_end(), ..begun }
    }

    /// What stands behind a word, if it is the first.
    fn after(self, word: &str) -> Option<Self> {
        let rest = self.text.strip_prefix(word)?;
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| self.skip(word.len()).trim())
    }
}

/// Reads a text of lines; `file` is the one that functions are in unless a line says another, as with `perf probe -x`.
///
/// # Errors
/// What cannot be read, with its place in the text.
pub fn read_typed(text: &str, file: Option<&str>) -> Result<Reading, DynamicError> {
    let mut reading = Reading::default();
    let mut at = 0;
    for line in text.split('\n') {
        let part = without_prompt(Part { at, text: line }.trim());
        at += line.len() + 1;
        if !part.text.is_empty() {
            reading.line(part, file)?;
        }
    }
    Ok(reading)
}

/// Without what stands before a command in documents; nothing of a comment.
fn without_prompt(part: Part<'_>) -> Part<'_> {
    let prompted = part.after("#").or_else(|| part.after("$")).unwrap_or(part);
    let command = prompted.after("sudo").unwrap_or(prompted);
    let is_command = ["echo", "perf", "cat", "trace-cmd"].iter().any(|word| command.after(word).is_some());
    match (is_command, part.text.starts_with('#')) {
        (true, _) => command,
        (false, true) => part.skip(part.text.len()),
        (false, false) => prompted,
    }
}

impl Reading {
    fn line(&mut self, part: Part<'_>, file: Option<&str>) -> Result<(), DynamicError> {
        if let Some(rest) = part.after("echo") {
            return self.echo(part, rest);
        }
        if let Some(rest) = part.after("perf").and_then(|rest| rest.after("probe")) {
            return self.perf(part, rest, file);
        }
        if part.after("perf").is_some() || part.after("trace-cmd").is_some() {
            self.skip(part, "the capture records and shows its probes itself");
            return Ok(());
        }
        if part.after("cat").is_some() {
            self.skip(part, "what the kernel's files hold is shown with the capture");
            return Ok(());
        }
        let dialect = dialect_of(part.text);
        self.define(part, dialect, file.filter(|_| dialect == Dialect::Perf).map(str::to_owned))
    }

    fn skip(&mut self, part: Part<'_>, why: &'static str) {
        self.skipped.push((part.text.to_owned(), why));
    }

    fn define(&mut self, part: Part<'_>, dialect: Dialect, file: Option<String>) -> Result<(), DynamicError> {
        if dialect == Dialect::Kernel && part.text.starts_with('-') {
            return Err(DynamicError { at: part.at, problem: Problem::RemoveHere });
        }
        self.typed.push(Typed { text: part.text.to_owned(), at: part.at, dialect, file });
        Ok(())
    }

    /// `echo [-n] 'LINE' >> FILE`
    fn echo(&mut self, line: Part<'_>, mut rest: Part<'_>) -> Result<(), DynamicError> {
        while let Some(behind) = ["-n", "-e"].iter().find_map(|option| rest.after(option)) {
            rest = behind;
        }
        let (said, to) = match quoted(rest)? {
            Some((inside, behind)) => (inside, behind.trim()),
            None => {
                let end = rest.text.find('>').unwrap_or(rest.text.len());
                (Part { text: rest.text.get(..end).unwrap_or_default(), ..rest }.trim(), rest.skip(end))
            }
        };
        let to = to.text.trim_start_matches('>').trim();
        match to.rsplit('/').next() {
            Some("kprobe_events" | "uprobe_events" | "dynamic_events" | "") if said.text.is_empty() => {
                self.skip(line, "nobody's probes are removed all at once; those of a capture go with it");
                Ok(())
            }
            Some("kprobe_events" | "uprobe_events" | "dynamic_events" | "") => {
                self.define(said.trim(), Dialect::Kernel, None)
            }
            _ => {
                self.skip(line, "the capture switches its probes on and off itself");
                Ok(())
            }
        }
    }

    /// `perf probe [-x FILE] [--add] 'DEFINITION' …`
    fn perf(&mut self, line: Part<'_>, rest: Part<'_>, file: Option<&str>) -> Result<(), DynamicError> {
        let mut file = file.map(str::to_owned);
        let mut words = shell_words(rest)?.into_iter().peekable();
        let mut added: Vec<Part<'_>> = Vec::new();
        let mut bare: Option<Part<'_>> = None;
        while let Some(word) = words.next() {
            match word.text.split_once('=').map_or((word.text, None), |(name, value)| (name, Some(value))) {
                ("-x" | "--exec", value) => {
                    file = value.map(str::to_owned).or_else(|| words.next().map(|word| word.text.to_owned()));
                }
                ("-a" | "--add", Some(value)) => added.push(word.skip(word.text.len() - value.len())),
                ("-a" | "--add", None) => added.extend(words.next()),
                ("-d" | "--del", _) => {
                    self.skip(line, "probes are removed with their capture");
                    return Ok(());
                }
                (option, _) if option.starts_with('-') => {}
                _ => {
                    let all = bare.map_or(word, |first| {
                        let end = word.at + word.text.len() - rest.at;
                        Part { at: first.at, text: rest.text.get(first.at - rest.at..end).unwrap_or(first.text) }
                    });
                    bare = Some(all);
                }
            }
        }
        added.extend(bare);
        added.into_iter().try_for_each(|one| self.define(one, Dialect::Perf, file.clone()))
    }
}

/// In quotes, if it begins with one: what is inside, and what stands behind.
fn quoted(part: Part<'_>) -> Result<Option<(Part<'_>, Part<'_>)>, DynamicError> {
    let Some(quote) = part.text.chars().next().filter(|first| matches!(first, '\'' | '"')) else { return Ok(None) };
    let inside = part.skip(1);
    let end = inside.text.find(quote).ok_or(DynamicError { at: part.at, problem: Problem::Quote })?;
    Ok(Some((Part { text: inside.text.get(..end).unwrap_or_default(), ..inside }, inside.skip(end + 1))))
}

/// Words with blanks between them; quotes hold one together, also behind `--add=`.
fn shell_words(part: Part<'_>) -> Result<Vec<Part<'_>>, DynamicError> {
    let (mut words, mut rest) = (Vec::new(), part.trim());
    while !rest.text.is_empty() {
        if let Some((inside, behind)) = quoted(rest)? {
            words.push(inside);
            rest = behind.trim();
            continue;
        }
        let end = rest.text.find(char::is_whitespace).unwrap_or(rest.text.len());
        let word = Part { text: rest.text.get(..end).unwrap_or_default(), ..rest };
        let value = word.text.find('=').map(|at| at + 1).filter(|_| word.text.starts_with('-'));
        match value.map(|at| (at, quoted(rest.skip(at)))) {
            Some((at, Ok(Some((inside, behind))))) => {
                words.push(Part { text: word.text.get(..at - 1).unwrap_or_default(), ..word });
                words.push(inside);
                rest = behind.trim();
            }
            Some((_, Err(error))) => return Err(error),
            _ => {
                words.push(word);
                rest = rest.skip(end).trim();
            }
        }
    }
    Ok(words)
}

/// A line of the kernel's files begins with `p`, `r`, `e` or `-`, alone or before a `:`.
fn dialect_of(text: &str) -> Dialect {
    let first = text.split_whitespace().next().unwrap_or_default();
    let kind = first.split(':').next().unwrap_or_default();
    let number = kind.get(1..).unwrap_or_default();
    let is_kernel = match kind.bytes().next() {
        Some(b'p' | b'e') => number.is_empty(),
        Some(b'r') => number.bytes().all(|byte| byte.is_ascii_digit()),
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
    let place = |word: super::fetch::Word<'_>| word.split('=').map_or(word.at, |(_, value)| value.at);
    words.into_iter().skip(before).map(place).collect()
}
