//! What is chosen, as the data model has it.

use bathyscope_capture::{HexTexts, SyscallLook, SyscallOutcome, SyscallSpec};
use bathyscope_formats::parse_sysdig_filter;

use super::choice::{Choice, ChoiceError, Files};

/// How calls are shown, beside what the words behind `-e` say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "strace's own switches")]
pub struct ShownCalls {
    /// Bytes that are kept of a text that is no path.
    pub string_bytes: u16,
    /// Which texts are in hexadecimal.
    pub hex: HexTexts,
    /// Whether it is recorded how long calls ran on a CPU.
    pub cpu_time: bool,
    /// Whether it is recorded where programs called from.
    pub addresses: bool,
    /// Whether stacks are recorded.
    pub stacks: bool,
    /// Whether rows have the numbers of calls.
    pub numbers: bool,
}

/// How calls are written, and what is recorded beside them.
pub fn shown_calls(choice: &Choice, shown: &ShownCalls, calls: SyscallSpec) -> SyscallSpec {
    let files = choice.files.unwrap_or_default();
    SyscallSpec {
        string_bytes: shown.string_bytes,
        data: choice.data.clone(),
        fd_paths: files != Files::default(),
        look: SyscallLook {
            hex: shown.hex,
            verbose: choice.verbose,
            sockets: files.sockets,
            raw: choice.raw.clone(),
            abbreviated: choice.abbreviated.clone(),
            structures: choice.structures.clone(),
            devices: files.devices,
            processes: files.processes,
            no_paths: files != Files::default() && !files.paths,
        },
        cpu_time: shown.cpu_time,
        addresses: shown.addresses,
        stacks: shown.stacks,
        numbers: shown.numbers,
        ..calls
    }
}

/// Which calls are recorded: of these files if there are any, and that took so many nanoseconds.
///
/// # Errors
/// A path that cannot be one.
pub fn chosen_calls(choice: &Choice, min_duration_ns: u64, paths: &[String]) -> Result<SyscallSpec, ChoiceError> {
    let calls = SyscallSpec {
        calls: choice.calls.clone(),
        outcome: choice.outcome,
        min_duration_ns,
        // Ends of processes are shown whichever signals are.
        signals: true,
        ..SyscallSpec::default()
    };
    let calls = if paths.is_empty() { calls } else { SyscallSpec { filter: Some(of_paths(paths)?), ..calls } };
    Ok(if choice.unfinished { with_unfinished(calls) } else { calls })
}

/// Calls that have to do with files, which is decided behind the kernel: what a descriptor is follows from calls before.
fn of_paths(paths: &[String]) -> Result<String, ChoiceError> {
    if let Some(wrong) = paths.iter().find(|path| path.is_empty() || path.contains('"') && path.contains('\'')) {
        let why = format!("-P `{}` is no path", bathyscope_capture::visible(wrong.as_bytes()));
        return Err(ChoiceError { why, remedy: "Write the path of one file.".to_owned() });
    }
    let quoted = |path: &String| if path.contains('"') { format!("'{path}'") } else { format!("\"{path}\"") };
    let files = paths.iter().map(quoted).collect::<Vec<_>>().join(", ");
    // Signals and ends of processes are shown whatever files are.
    let line = format!("evt.type in (signaldeliver, procexit) or fd.name in ({files})");
    let parsed = parse_sysdig_filter(&line);
    parsed
        .map_err(|error| ChoiceError { why: format!("choosing calls by path: {}", error.why), remedy: error.remedy })?;
    Ok(line)
}

/// The kernel's programs pass over calls that do not return where they are told an outcome: then it is decided behind them.
fn with_unfinished(calls: SyscallSpec) -> SyscallSpec {
    let not = match calls.outcome {
        SyscallOutcome::Any => return calls,
        SyscallOutcome::Failed => "not evt.failed=false",
        SyscallOutcome::Succeeded => "not evt.failed=true",
    };
    let filter = calls.filter.map_or_else(|| not.to_owned(), |line| format!("({line}) and {not}"));
    SyscallSpec { outcome: SyscallOutcome::Any, filter: Some(filter), ..calls }
}
