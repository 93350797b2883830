//! sysdig's filter lines, such as `proc.name=redis-server and evt.type=open`, as a capture of system calls: whose calls,
//! which of them, with which outcome and duration. So people bring the line that they know.
//!
//! What the kernel's programs can decide they decide. The rest is decided of each call when its record has been read:
//! [`CallFilter`] says for what is known of it ([`CallFacts`]) whether it is asked for. No condition is ever left out
//! silently: a line that cannot be decided is an error with its place. Fields and operators are those that sysdig's manual
//! describes. A call is one row here, its entry and its end, so `evt.dir` is both.
//!
//! No I/O, no panic, at most [`MAX_LINE_BYTES`].

mod fields;
mod kernel;
mod parse;
mod pasted;

use bathyscope_capture::{SyscallOutcome, SyscallSpec, Target, visible};
use bathyscope_catalog::syscalls::OPENING;

use fields::holds;
pub use fields::{CallFacts, Field};
use kernel::{Calls, Decided};
use parse::{Condition, Parser, Tree};
pub use pasted::{PastedFilter, parse_pasted_filter};

/// The longest line.
pub const MAX_LINE_BYTES: usize = 4096;
/// How deep parentheses may be nested.
const MAX_DEPTH: usize = 16;
/// The longest name of a thread; the kernel cuts longer ones.
const MAX_COMM_BYTES: usize = 15;
/// What a filter line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SysdigFilter {
    /// Whose calls; none if the line does not say.
    pub target: Option<Target>,
    /// Which calls.
    pub calls: SyscallSpec,
}

/// What is wrong with a filter line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct SysdigError {
    /// What is wrong.
    pub why: String,
    /// What to do about it; may be empty.
    pub remedy: String,
    /// Where, in bytes.
    pub offset: usize,
}

type Result<T> = std::result::Result<T, SysdigError>;

fn wrong<T>(offset: usize, why: impl Into<String>, remedy: impl Into<String>) -> Result<T> {
    Err(SysdigError { why: why.into(), remedy: remedy.into(), offset })
}

/// What the kernel keeps of a thread's name.
fn cut_comm(name: &str) -> &str {
    let cut = name.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= MAX_COMM_BYTES).last();
    name.get(..cut.unwrap_or(0)).unwrap_or_default()
}

fn read(line: &str) -> Result<Option<Tree>> {
    if line.len() > MAX_LINE_BYTES {
        return wrong(0, format!("it has {} bytes, and at most {MAX_LINE_BYTES} are read", line.len()), "");
    }
    Parser::line(line)
}

/// Reads a filter line.
///
/// # Errors
/// What cannot be read or decided, with its place and a remedy.
pub fn parse_sysdig_filter(line: &str) -> Result<SysdigFilter> {
    let Some(tree) = read(line)? else { return Ok(SysdigFilter { target: None, calls: SyscallSpec::default() }) };
    let mut decided = Decided::of(&tree);
    each(&tree, &mut decidable)?;
    // Without a name all calls would be recorded.
    if matches!(&decided.calls, Some(Calls::Only(names)) if names.is_empty()) {
        return wrong(
            0,
            "no system call satisfies all of its conditions",
            "Join names by `or`, or write `evt.type in (open, openat)`.",
        );
    }
    let mut of_files = false;
    each(&tree, &mut |condition| {
        of_files |= condition.field.is_of_files();
        Ok(())
    })?;
    let mut calls = SyscallSpec { signals: decided.calls.is_none(), ..SyscallSpec::default() };
    if of_files {
        // What a descriptor is follows from calls that have not failed and may have been short.
        (decided.outcome, decided.least_ns, decided.all) = (SyscallOutcome::Any, 0, false);
        calls.signals = false;
    }
    calls.calls = match decided.calls {
        None => Vec::new(),
        Some(Calls::Only(names)) if of_files => {
            names.into_iter().chain(OPENING.iter().map(|it| (*it).to_owned())).collect()
        }
        Some(Calls::Only(names)) => names,
        Some(Calls::AllBut(names)) => {
            let names = names.into_iter().filter(|name| !of_files || !OPENING.contains(&name.as_str()));
            names.enumerate().map(|(index, name)| if index == 0 { format!("!{name}") } else { name }).collect()
        }
    };
    calls.calls.dedup();
    if decided.outcome != SyscallOutcome::Any || decided.least_ns > 0 {
        calls.signals = false;
    }
    (calls.outcome, calls.min_duration_ns, calls.below) = (decided.outcome, decided.least_ns, decided.below);
    calls.filter = (!decided.all).then(|| line.trim().to_owned());
    Ok(SysdigFilter { target: decided.target, calls })
}

/// Shows every condition.
fn each(tree: &Tree, show: &mut dyn FnMut(&Condition) -> Result<()>) -> Result<()> {
    match tree {
        Tree::One(condition) => show(condition),
        Tree::Not(_, inner) => each(inner, show),
        Tree::All(several) | Tree::Any(_, several) => several.iter().try_for_each(|tree| each(tree, show)),
    }
}

/// Whether a condition can be decided by somebody.
fn decidable(condition: &Condition) -> Result<()> {
    let Condition { at, field, values, .. } = condition;
    if *field == Field::Type
        && let Some(odd) = values.iter().find(|name| name.starts_with('!') || name.contains([',', ' ', '\0']))
    {
        let why = format!("`{}` is no name of a call", visible(odd.as_bytes()));
        return wrong(*at, why, "Write `evt.type!=futex` or `evt.type in (open, openat)`.");
    }
    Ok(())
}

/// A filter line, to be asked of each call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFilter {
    tree: Tree,
    of_family: bool,
    of_files: bool,
}

impl CallFilter {
    /// Reads a line; nothing of an empty one. Sets of calls such as `%file` are what `expand` says.
    ///
    /// # Errors
    /// What cannot be read or decided.
    pub fn new(line: &str, expand: &dyn Fn(&str) -> Vec<String>) -> Result<Option<Self>> {
        let Some(mut tree) = read(line)? else { return Ok(None) };
        parse_sysdig_filter(line)?;
        tree.expand(expand);
        let (mut of_family, mut of_files) = (false, false);
        each(&tree, &mut |condition| {
            of_family |= condition.field.is_of_family();
            of_files |= condition.field.is_of_files();
            Ok(())
        })?;
        Ok(Some(Self { tree, of_family, of_files }))
    }

    /// Whether it asks what a process descends from or whose it is.
    pub fn asks_for_family(&self) -> bool {
        self.of_family
    }

    /// Whether it asks what files, sockets or folders a call has to do with, which follows from calls before.
    pub fn asks_for_files(&self) -> bool {
        self.of_files
    }

    /// Whether a call is asked for.
    pub fn holds(&self, facts: &dyn CallFacts) -> bool {
        holds(&self.tree, facts)
    }
}

impl Tree {
    fn expand(&mut self, expand: &dyn Fn(&str) -> Vec<String>) {
        match self {
            Self::One(condition) => {
                if condition.field == Field::Type {
                    let values = std::mem::take(&mut condition.values).into_iter();
                    let all = values.flat_map(|it| if it.starts_with('%') { expand(&it) } else { vec![it] });
                    condition.values = all.collect();
                }
                if condition.field == Field::ProcessName {
                    // The kernel keeps no more of them.
                    use fields::Operator::{Equal, In, Intersects, NotEqual};
                    if matches!(condition.operator, Equal | NotEqual | In | Intersects) {
                        condition.values.iter_mut().for_each(|it| *it = cut_comm(it).to_owned());
                    }
                }
            }
            Self::Not(_, inner) => inner.expand(expand),
            Self::All(several) | Self::Any(_, several) => several.iter_mut().for_each(|tree| tree.expand(expand)),
        }
    }
}

#[cfg(test)]
mod tests;
