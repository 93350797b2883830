//! A script from the terminal, without a capture: attached through an agent of its own, its output printed as bpftrace
//! prints it. Nothing is stored, so nothing is opened that storing needs: a script is attached in milliseconds.

mod forward;
mod losses;
mod mapped;
mod names;
mod outside;
mod printer;
mod run;
mod saved;
mod signals;
mod sink;

pub(crate) use printer::diagnostics_text;
pub(crate) use run::{ScriptArgs, run};
pub(crate) use saved::run_saved;
pub use sink::Buffering;

/// Settings that the environment gives a script, in bpftrace's way: `BPFTRACE_MAX_STRLEN=200`.
pub(crate) fn settings(
    environment: impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
) -> Vec<(String, String)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    environment.filter_map(text).filter(|(name, _)| name.starts_with("BPFTRACE_")).collect()
}
