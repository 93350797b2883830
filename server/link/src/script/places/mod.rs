//! Finds the places in user space that a script names: functions and markers of files that the agent opens and this process,
//! which has no rights, reads.
//!
//! Every point of the script gets an answer: its places, or in words why there are none and what would match.

mod debug;
mod file;
mod functions;
mod kernel;
mod lookup;
mod markers;
mod program;
mod unwind;
mod variables;

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_bpf::lang::{
    self, AskedArguments, ExpandOptions,
    ast::{AttachText, Script},
};
use bathyscope_capture::Target;
use bathyscope_catalog::Wildcards;
use bathyscope_plan::UserPlaces;
use bathyscope_protocol::{ScriptChecked, ScriptStage, WireScript};

use super::{ScriptAgent, ScriptFailure, ScriptRequest};
use file::Files;
pub use file::{FileVersion, OpenFile};
pub(crate) use kernel::{kernel_variables, open_kernel_debug};
pub(crate) use lookup::{OffsetPlace, file_functions, function_place, offset_place, place_variables, user_path};
pub use program::{ProgramFile, open_program};
pub(crate) use program::{ReadProgram, decompressed_debug};
pub(super) use unwind::tables_of;

/// The most places of one attach point.
const MAX_PLACES: usize = 4096;

/// What is sent to the agent: the script with the places of its attach points.
pub(super) fn wire_script(agent: &mut impl ScriptAgent, request: &ScriptRequest) -> Result<WireScript, ScriptFailure> {
    let user_places = resolve(agent, request)?;
    Ok(WireScript {
        name: request.name.clone(),
        text: request.text.clone(),
        parameters: request.params.clone(),
        allow_unsafe: request.options.unsafe_allowed,
        comm: request.options.comm,
        bare: request.options.bare,
        settings: request.settings.clone(),
        user_places,
        unwind: Vec::new(),
    })
}

/// Compiles a script without loading anything; `show` says which pass is to be shown.
///
/// # Errors
/// What is wrong with it before the agent can be asked, or that the agent is not there.
pub fn check_script(
    agent: &mut impl ScriptAgent,
    request: &ScriptRequest,
    show: Option<ScriptStage>,
) -> Result<ScriptChecked, ScriptFailure> {
    let script = wire_script(agent, request)?;
    Ok(agent.call(move |client| client.check_script(script, show))?)
}

fn target_pid(target: &Target) -> Option<u32> {
    match target.watched() {
        Target::Process { pid, .. } => Some(*pid),
        _ => None,
    }
}

/// The places of every attach point of a script in user space, each text once, and what is to be known of those in the kernel
/// whose variables it asks for.
///
/// # Errors
/// If the script cannot be read.
pub fn resolve(agent: &mut impl ScriptAgent, request: &ScriptRequest) -> Result<Vec<UserPlaces>, ScriptFailure> {
    let script = lang::parse(&request.text).map_err(|diagnostics| ScriptFailure::Script { diagnostics })?;
    let mut points = lang::user_points(&script);
    if points.is_empty() && in_kernel(&script, &lang::asked_arguments(&script)).next().is_none() {
        return Ok(Vec::new());
    }
    // Parameters may stand in attach points. What is wrong with them is told by the agent, which does the same again.
    let options = ExpandOptions { params: request.params.clone(), ..ExpandOptions::default() };
    let mut symbols = lang::user_symbols(&script);
    let mut asked = lang::asked_arguments(&script);
    points.extend(in_kernel(&script, &asked).cloned());
    if let Ok(expanded) = lang::expand(&script, &options) {
        points.extend(lang::user_points(&expanded.script));
        symbols = lang::user_symbols(&expanded.script);
        let of_expanded = lang::asked_arguments(&expanded.script);
        points.extend(in_kernel(&expanded.script, &of_expanded).cloned());
        asked.extend(of_expanded);
    }
    let mut seen = BTreeSet::new();
    points.retain(|point| seen.insert(point.text.clone()));
    let (kernel, points): (Vec<AttachText>, Vec<AttachText>) = points.into_iter().partition(is_kprobe);
    let about =
        |point: &AttachText| kernel::kernel_places(agent, point, &asked.get(&point.text).cloned().unwrap_or_default());
    let of_kernel: Vec<UserPlaces> = kernel.iter().map(about).collect();
    let mut files = Files::new(agent, target_pid(&request.target), symbols).in_folder(request.folder.clone());
    files = files.with_unsafe(request.options.unsafe_allowed);
    let in_programs = points.iter().map(|point| one(&mut files, point, asked.remove(&point.text)));
    Ok(in_programs.chain(of_kernel).collect())
}

/// The attach points of a script at functions of the kernel whose variables it asks for.
fn in_kernel<'s>(script: &'s Script, asked: &BTreeMap<String, AskedArguments>) -> impl Iterator<Item = &'s AttachText> {
    lang::points(script).filter(|point| is_kprobe(point) && asked.contains_key(&point.text))
}

fn is_kprobe(point: &AttachText) -> bool {
    point.parts.first().is_some_and(|part| part.text == "kprobe")
}

/// The places of one attach point.
fn one<A: ScriptAgent>(files: &mut Files<'_, A>, point: &AttachText, asked: Option<AskedArguments>) -> UserPlaces {
    let parts: Vec<&str> = point.parts.iter().map(|part| part.text.as_str()).collect();
    let mut found = UserPlaces { point: point.text.clone(), ..UserPlaces::default() };
    files.asked = asked;
    let searched = match parts.as_slice() {
        ["uprobe", file, rest @ ..] if !rest.is_empty() => functions::search(files, file, rest, false, &mut found),
        ["uretprobe", file, rest @ ..] if !rest.is_empty() => functions::search(files, file, rest, true, &mut found),
        ["usdt", file, rest @ ..] if !rest.is_empty() => markers::search(files, file, rest, &mut found),
        // What is missing is told by the checker, which knows how it is written.
        _ => Ok(()),
    };
    if let Err(trouble) = searched {
        found.places.clear();
        found.trouble = trouble;
    } else if found.places.len() > MAX_PLACES {
        let count = found.places.len();
        found.places.clear();
        found.trouble = format!("{count} probe sites match, which is more than {MAX_PLACES}; name fewer");
    }
    found
}

/// Whether a pattern has wildcards.
fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// A pattern of `*` (anything) and `?` (any one character).
fn pattern(text: &str) -> Wildcards {
    Wildcards::without_classes(text)
}

/// Whether `text` matches such a pattern.
pub fn matches(wanted: &str, text: &str) -> bool {
    pattern(wanted).matches(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        let cases = [
            ("mall*", "malloc", true),
            ("*", "", true),
            ("m*l?c", "malloc", true),
            ("mall", "malloc", false),
            ("*oc*", "malloc", true),
            ("a*b*c", "a-b-b-d", false),
            ("?", "", false),
            ("read*line", "readline", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
