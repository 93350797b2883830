//! How large the parts of a script may be.

use bathyscope_protocol::{
    AgentError, AgentErrorKind, MAX_PARAMETER_BYTES, MAX_SCRIPT_BYTES, MAX_SCRIPT_PARAMETERS, MAX_UNWIND_FILES,
    MAX_UNWIND_ROWS, MAX_USER_PLACES, UnwindTable, WireScript,
};

use crate::{compile::unwind_sizes, error::failed};

/// Checks the sizes of all parts of a script.
///
/// # Errors
/// The first that is too large.
pub(crate) fn check_script_sizes(script: &WireScript) -> Result<(), AgentError> {
    let limit = |what: String| Err(failed(AgentErrorKind::Limit, "checking the script", what, "Make it smaller."));
    let longest = |texts: &mut dyn Iterator<Item = &String>| texts.map(String::len).max().unwrap_or(0);
    let settings = script.settings.iter().flat_map(|(name, value)| [name, value]);
    let words = longest(&mut script.parameters.iter().chain(settings).chain([&script.name]));
    let places: usize = script.user_places.iter().map(|point| point.places.len()).sum();
    if script.text.len() > MAX_SCRIPT_BYTES {
        return limit(format!("it has {} bytes, and at most {MAX_SCRIPT_BYTES} are taken", script.text.len()));
    }
    if script.parameters.len() > MAX_SCRIPT_PARAMETERS || script.settings.len() > MAX_SCRIPT_PARAMETERS {
        return limit(format!("it has more than {MAX_SCRIPT_PARAMETERS} parameters or settings"));
    }
    if words > MAX_PARAMETER_BYTES {
        return limit(format!("a name, parameter or setting has more than {MAX_PARAMETER_BYTES} bytes"));
    }
    if places > MAX_USER_PLACES || script.user_places.len() > MAX_USER_PLACES {
        return limit(format!("it has {places} probe sites in user space, and at most {MAX_USER_PLACES} are taken"));
    }
    check_unwind_tables(script)
}

/// Checks the tables of `dw_ustack`: programs search in them, and rely on nothing but their number.
fn check_unwind_tables(script: &WireScript) -> Result<(), AgentError> {
    let doing = "checking the script's unwind tables";
    let (rows, files) = unwind_sizes(script);
    if rows as usize > MAX_UNWIND_ROWS || files as usize > MAX_UNWIND_FILES {
        let why = format!(
            "they have {rows} rows of {files} files, and at most {MAX_UNWIND_ROWS} of {MAX_UNWIND_FILES} are taken"
        );
        return Err(failed(AgentErrorKind::Limit, doing, why, "Trace one process or command."));
    }
    let sorted = |table: &UnwindTable| table.rows.0.is_sorted_by(|a, b| a >> 32 < b >> 32);
    if script.unwind.iter().all(sorted) {
        return Ok(());
    }
    Err(failed(AgentErrorKind::Invalid, doing, "the rows of a file are not sorted", "Report this as a defect."))
}
