//! What a shell would put in place of a part of a word.

use std::ops::Range;

use crate::answer::Refusal;

/// What a shell would expand in a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expansion {
    /// The byte of the word's text where it would stand; its own text is no part of the word, except that of a glob.
    pub(crate) at: usize,
    /// Where it stands in what was typed.
    pub(crate) source: Range<usize>,
    /// What it is.
    pub(crate) kind: ExpansionKind,
}

/// What would be expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExpansionKind {
    /// `$(COMMAND)`, or the same in backticks.
    Command(String),
    /// `$NAME`, `${NAME}`, with its name.
    Variable(String),
    /// `*`, `?`, `[…]`
    Glob,
    /// `{a,b}`
    Braces,
    /// `~` at the beginning.
    Home,
    /// `$((…))`
    Arithmetic,
    /// `<(COMMAND)`
    Process,
}

impl Expansion {
    /// Why it cannot be taken.
    pub(crate) fn refusal(&self) -> Refusal {
        let (why, remedy) = match &self.kind {
            ExpansionKind::Command(inner) => (
                format!("`$({inner})` would have to be run by a shell, and none is ever started"),
                "Write what it prints. Of processes, `$(pgrep -n NAME)` and `$(pidof NAME)` are understood.".to_owned(),
            ),
            ExpansionKind::Variable(name) if name == "!" => (
                "`$!` is the process that the shell has started last in the background, which is not known here"
                    .to_owned(),
                "Write its process id, or let the command be started with the capture.".to_owned(),
            ),
            ExpansionKind::Variable(name) if name == "$" => (
                "`$$` is the shell's own process, which is not known here".to_owned(),
                "Write the process id.".to_owned(),
            ),
            ExpansionKind::Variable(name) => (
                format!("the value of `${name}` is known to the shell only"),
                "Write the value. If the sign belongs to a probe or a script, put it in single quotes.".to_owned(),
            ),
            ExpansionKind::Glob => (
                "the shell would put names of files here".to_owned(),
                "Write the files, or put the pattern in quotes if it is not for the shell.".to_owned(),
            ),
            ExpansionKind::Braces => (
                "the shell would make several words of the braces".to_owned(),
                "Put it in quotes, or write the words.".to_owned(),
            ),
            ExpansionKind::Home => {
                ("which folder `~` is depends on the shell's user".to_owned(), "Write the whole path.".to_owned())
            }
            ExpansionKind::Arithmetic => {
                ("`$((…))` would have to be computed by a shell".to_owned(), "Write the number.".to_owned())
            }
            ExpansionKind::Process => (
                "a shell would have to run the command in `<(…)`".to_owned(),
                "Write a file, or the text itself.".to_owned(),
            ),
        };
        Refusal::new(self.source.clone(), why, remedy)
    }
}
