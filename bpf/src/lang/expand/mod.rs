//! Tree → tree: settings are read, and macros, `#define`s, positional parameters and `getopt()` are replaced by what they
//! mean.

mod config;
mod constants;
mod macros;
mod params;
mod walk;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ast::{ExprKind, Item, Script},
    limits::MAX_DIAGNOSTICS,
};
use bathyscope_plan::{Config, Diagnostic};

pub use params::script_options;

/// The most symbols that are looked up for a script.
const MAX_SYMBOLS: usize = 256;

/// The symbols that a script asks for with `uaddr("name")`, which whoever knows the files must look up before the script is
/// checked.
pub fn user_symbols(script: &Script) -> Vec<String> {
    let mut found = BTreeSet::new();
    walk::script(script, &mut |part| {
        if let walk::VisitedNode::Expr(expr) = part
            && let ExprKind::Call { function, arguments } = &expr.kind
            && function.text == "uaddr"
            && let Some(ExprKind::Text(name)) = arguments.first().map(|it| &it.kind)
            && found.len() < MAX_SYMBOLS
        {
            found.insert(String::from_utf8_lossy(name).into_owned());
        }
    });
    found.into_iter().collect()
}

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
    /// The tree: no macros, positional parameters, `getopt()` or names of `#define`s are left in its probes and map
    /// declarations. `defines` stand as they were written.
    pub script: Script,
    /// The settings.
    pub config: Config,
    /// Values of the `#define`s that are numbers, which sizes in C definitions may use.
    pub constants: BTreeMap<String, i64>,
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
/// Everything that is wrong, at most [`MAX_DIAGNOSTICS`]. What is wrong with parameters or the environment has the place
/// 0..0.
pub fn expand(script: &Script, options: &ExpandOptions) -> Result<Expanded, Vec<Diagnostic>> {
    let params = params::Params::new(&options.params).map_err(|it| vec![it])?;
    let mut warnings = script.warnings.clone();
    let mut errors: Vec<Diagnostic> = script.imports.iter().filter_map(refuse_import).collect();
    let known = script_options(script);
    errors.extend(params.unknown(&known));
    let mut expander = macros::Expander::new(script, &params);
    let settings = expander.settings(&script.config);
    let items: Vec<Item> = expander.items(&script.items);
    errors.append(&mut expander.errors);
    let mut config = config::from_script(&settings, &mut errors, &mut warnings);
    config::from_environment(&options.environment, &mut config, &mut errors, &mut warnings);
    if !errors.is_empty() {
        errors.sort_by_key(|it| (it.start, it.end));
        errors.truncate(MAX_DIAGNOSTICS);
        return Err(errors);
    }
    let script = Script { items, config: settings, ..script.clone() };
    Ok(Expanded { constants: constants::of(&script.defines), script, config, options: known, warnings })
}

/// Nothing can be imported, but what bpftrace's own library has is known without it.
fn refuse_import(import: &super::ast::Name) -> Option<Diagnostic> {
    if import.text == "stdlib" || import.text.starts_with("stdlib/") {
        return None;
    }
    let message = format!("`import \"{}\"` is not supported", import.text);
    let hint = "functions of bpftrace's library are built in; others can be written as a `macro` in the script";
    Some(Diagnostic::error(import.span, message).hint(hint))
}
