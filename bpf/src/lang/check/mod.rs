//! The checker: tree → [`hir`]. Every name is resolved, every type decided, every conversion made explicit, and every attach
//! point found.
//!
//! `points` finds the attach points and groups them by what a body sees there ([`context`]); `checker` goes over the bodies
//! until the types of maps and variables are known; `body`, `statements`, `expressions`, `binary` and `calls` check one body;
//! `reference` is the table of all names.

mod arguments;
mod binary;
mod body;
mod calls;
mod casts;
mod checker;
mod complete;
mod context;
mod ctypes;
mod describe;
mod expressions;
mod formats;
mod hover;
mod keys;
mod maps;
mod near;
mod places;
mod points;
mod reference;
mod sites;
mod statements;
mod values;
mod variables;
mod visit;

#[cfg(all(test, feature = "recorded"))]
mod tests;

pub use complete::{Completion, CompletionKind, complete};
pub(in crate::lang) use describe::describe;
pub use hover::{Hover, hover};
pub use points::denied_function;
pub use reference::{Reference, ReferenceGroup, reference};

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_plan::Diagnostic;

use super::{
    Expanded,
    ast::{Item, Script},
    hir,
    host::Host,
};

/// What the checker is told beside the script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckOptions {
    /// Whether the script may change what it observes: `system()`, `signal()`, `override()`, `write_user()`, probes at raw
    /// addresses and at functions that can stop the machine.
    pub unsafe_allowed: bool,
    /// Only this process is meant (`-p`): user-space probes are attached in it alone.
    pub pid: Option<u32>,
}

/// Something is wrong and was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Failed;

/// A result of which the error was reported already.
type Checked<T> = Result<T, Failed>;

/// Checks a script.
///
/// # Errors
/// Everything that is wrong with it, at most [`super::limits::MAX_DIAGNOSTICS`], in the order of the text.
pub fn check(
    expanded: &Expanded,
    text: &str,
    host: &dyn Host,
    options: &CheckOptions,
) -> Result<hir::TypedScript, Vec<Diagnostic>> {
    checker::ScriptChecker::new(expanded, text, host, options).run(&expanded.warnings)
}

/// What the probes of a script ask of `args`, by the text of their attach points: names, or everything.
pub fn asked_arguments(script: &Script) -> BTreeMap<String, AskedArguments> {
    let mut asked: BTreeMap<String, AskedArguments> = BTreeMap::new();
    for item in &script.items {
        let Item::Probe(probe) = item else { continue };
        let uses = visit::Uses::of(probe);
        for point in probe.points.iter().filter(|_| uses.args()) {
            let known = asked.entry(point.text.clone()).or_default();
            known.all |= uses.whole;
            known.names.extend(uses.fields.iter().cloned());
        }
    }
    asked
}

/// What a script asks of `args` at an attach point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedArguments {
    /// `args` as a whole.
    pub all: bool,
    /// Names in it.
    pub names: BTreeSet<String>,
}
