//! Tree → tree: settings are read, and macros, `#define`s, positional parameters and `getopt()` are replaced by what they
//! mean.

use super::{Diagnostic, ast::Script, plan::Config};

/// What the expansion is told beside the script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpandOptions {
    /// The words after the script's name: positional ones, and `--name=value` or `--name` for `getopt()`. After `--` all
    /// are positional.
    pub params: Vec<String>,
    /// Variables `BPFTRACE_…` of the environment, which win over the `config` block. Others are ignored.
    pub environment: Vec<(String, String)>,
}

/// A script with everything replaced that is decided by its text alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expanded {
    /// The tree: no macros, positional parameters, `getopt()` or names of `#define`s are left in it. `defines` stay, with
    /// their values expanded, since sizes in C definitions may use them.
    pub script: Script,
    /// The settings.
    pub config: Config,
    /// What `getopt()` asks for.
    pub options: Vec<ScriptOption>,
    /// Warnings, those of the parser first.
    pub warnings: Vec<Diagnostic>,
}

/// An option that a script takes with `getopt()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOption {
    /// Its name, without the `--`.
    pub name: String,
    /// What it takes, with the default.
    pub kind: OptionKind,
    /// The third argument of `getopt()`; may be empty.
    pub description: String,
}

/// What an option of a script takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// Nothing, or `true` or `false`.
    Bool(bool),
    /// A number.
    Integer(i128),
    /// A text.
    Text(Vec<u8>),
}

/// See the module.
///
/// # Errors
/// Everything that is wrong, at most [`super::limits::MAX_DIAGNOSTICS`].
pub fn expand(script: &Script, _options: &ExpandOptions) -> Result<Expanded, Vec<Diagnostic>> {
    let warnings = script.warnings.clone();
    Ok(Expanded { script: script.clone(), config: Config::default(), options: script_options(script), warnings })
}

/// The options that a script takes, for its `--help`.
pub fn script_options(_script: &Script) -> Vec<ScriptOption> {
    Vec::new()
}
