//! What `perf probe --add` takes, as far as it needs no debug information.
//!
//! `[[GROUP:]EVENT=]FUNCTION[+OFFSET|%return] [ARGUMENT …]`, in the kernel or, as with `-x FILE`, in a file. Arguments
//! are those of the kernel's language; a bare name is a parameter, see [`DynamicDefinition::with_types`].

use super::{
    DynamicDefinition, DynamicError, DynamicProblem as Problem, End, FilePlace, MAX_NAME_BYTES, ProbeSite,
    fetch::{self, FetchWord},
    line::{arguments_of, is_name, kernel_place, words},
};
use crate::kernel_names::other_names;

/// Reads the text after `--add`; `file` is the one after `-x`, an absolute path.
///
/// # Errors
/// What is wrong, with its place in `text` and a remedy.
pub fn parse_perf_probe(text: &str, file: Option<&str>) -> Result<DynamicDefinition, DynamicError> {
    let words = words(text)?;
    let Some((first, arguments)) = words.split_first() else {
        return Err(DynamicError { at: 0, problem: Problem::Empty });
    };
    // The pattern of a line's text, as in `schedule;cpu=*`, may have a `=` of its own.
    let named = first.split('=').filter(|(names, _)| !names.text.contains([';', '@', '*']));
    let (names, place) = match named {
        Some((names, place)) => (Some(names), place),
        None => (None, *first),
    };
    let (group, event) = match names {
        Some(names) => {
            let (group, event) = match names.split(':') {
                Some((group, event)) => (Some(group), event),
                None => (None, names),
            };
            (group.map(name).transpose()?, Some(name(event)?))
        }
        None => (None, None),
    };
    let (place, returns) = match place.text.strip_suffix("%return") {
        Some(bare) => (FetchWord { text: bare, ..place }, true),
        None => (place, false),
    };
    if place.text.is_empty() {
        return Err(place.error(Problem::NoPlace));
    }
    if let Some(at) = place.text.find(['@', ';', '*', ':']) {
        let module = place.text.get(at..).is_some_and(|rest| rest.starts_with(':')) && file.is_none();
        let line = place.skip(at + 1).text.starts_with(|next: char| next.is_ascii_digit());
        if !module || line {
            return Err(place.skip(at).error(Problem::DebugInformation));
        }
    }
    let found = match file {
        Some(path) => file_place(path, place, returns)?,
        None => kernel_place(place, if returns { End::Return { max_active: None } } else { End::Entry })?,
    };
    let event = event.or_else(|| event_name(place.text, returns));
    let group = Some(group.unwrap_or_else(|| group_name(file)));
    let arguments = arguments_of(arguments, &found)?;
    Ok(DynamicDefinition { group, event, place: found, arguments })
}

fn name(word: FetchWord<'_>) -> Result<String, DynamicError> {
    if is_name(word.text, MAX_NAME_BYTES) { Ok(word.text.to_owned()) } else { Err(word.error(Problem::Name)) }
}

fn file_place(path: &str, word: FetchWord<'_>, returns: bool) -> Result<ProbeSite, DynamicError> {
    let problem = match path {
        _ if !path.starts_with('/') => Some(Problem::RelativePath),
        _ if path.contains(|c: char| c.is_whitespace() || c.is_control()) => Some(Problem::BlankInPath),
        _ => None,
    };
    if let Some(problem) = problem {
        return Err(DynamicError { at: 0, problem });
    }
    let (name, offset) = match word.split('+') {
        Some((name, offset)) => (name, fetch::number(offset.text).ok_or_else(|| offset.error(Problem::Place))?),
        None => (word, 0),
    };
    if returns && offset != 0 {
        return Err(word.error(Problem::ReturnOffset));
    }
    let at = match fetch::number(name.text) {
        // An address of the file's first segment is an offset in it, which is what perf takes it for too.
        Some(start) => FilePlace::Offset(start.saturating_add(offset)),
        None if fetch::is_symbol(name.text) => FilePlace::Function { name: name.text.to_owned(), offset },
        None => return Err(name.error(Problem::Place)),
    };
    Ok(ProbeSite::File { path: path.to_owned(), at, reference: None, returns })
}

/// The event's name that perf would choose: the function's, with `__return` for its return.
fn event_name(place: &str, returns: bool) -> Option<String> {
    let function = place.rsplit(':').next().unwrap_or(place);
    let function = function.split('+').next().unwrap_or(function);
    let mut name: String = clean(function).trim_start_matches('_').to_owned();
    if returns {
        name.push_str("__return");
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        name = format!("abs_{name}");
    }
    is_name(&name, MAX_NAME_BYTES).then_some(name)
}

/// What helps where there is no event `system:name`, if the group is one of dynamic events: they are there once somebody has
/// made their probes, as a person does before with `perf probe`.
pub fn missing_dynamic_event(system: &str, name: &str) -> Option<String> {
    let file = system.strip_prefix("probe_");
    if !(file.is_some() || ["probe", "kprobes", "uprobes"].contains(&system)) {
        return None;
    }
    let exec = file.map_or_else(String::new, |file| format!("--exec {file} "));
    let others = if file.is_none() { other_names(name) } else { Vec::new() };
    let others = match others.as_slice() {
        [] => String::new(),
        others => format!(" Other kernels call that function {}.", others.join(", ")),
    };
    Some(format!(
        "Events of the group `{system}` are there once their probes are made. Here a probe is made with the capture that records \
         or counts it, and removed with it: `{exec}--probe {name}` of `bathyscope record` and `stat`, or \"Own probes\" of a new \
         capture.{others}"
    ))
}

/// `probe`, or `probe_` and the file's name up to its first point or other mark.
fn group_name(file: Option<&str>) -> String {
    let Some(path) = file else { return "probe".to_owned() };
    let base = path.rsplit('/').next().unwrap_or(path);
    let word: String = base.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect();
    format!("probe_{word}")
}

fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}
