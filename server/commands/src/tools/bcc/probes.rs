//! `funccount`, `funclatency`, `stackcount`: the probes that their patterns name.

use super::{Positional, of_library, of_script};
use crate::{
    answer::{Refusal, Result, SpanKind},
    call::{Call, Step},
    options::Arguments,
    shell::Word,
};

/// Where a pattern leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// A function of the kernel.
    Kernel(String),
    /// A function of a file.
    File(String, String),
    /// A tracepoint.
    Tracepoint(String, String),
    /// A USDT probe of a file.
    Usdt(String, String),
}

/// `FUNCTION`, `LIBRARY:FUNCTION`, `p:LIBRARY:FUNCTION`, `t:SYSTEM:EVENT`, `u:LIBRARY:PROBE`.
///
/// # Errors
/// If it is none of these.
pub(super) fn pattern(word: &Word) -> Result<Pattern> {
    let text = word.pattern()?;
    let parts: Vec<&str> = text.split(':').collect();
    let library = |name: &str| if name == "c" { "libc".to_owned() } else { name.to_owned() };
    let plain =
        |part: &&str| !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || "{}()/;\"'$".contains(c));
    let is_path =
        |part: &&str| !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || "{};\"'$".contains(c));
    let found = match parts.as_slice() {
        [function] | ["p", "", function] | ["p", function] if plain(function) => {
            Some(Pattern::Kernel((*function).to_owned()))
        }
        ["p", file, function] | [file, function]
            if is_path(file) && plain(function) && *file != "t" && *file != "u" =>
        {
            Some(Pattern::File(library(file), (*function).to_owned()))
        }
        ["t", system, event] if plain(system) && plain(event) => {
            Some(Pattern::Tracepoint((*system).to_owned(), (*event).to_owned()))
        }
        ["u", file, probe] if is_path(file) && plain(probe) => Some(Pattern::Usdt(library(file), (*probe).to_owned())),
        _ => None,
    };
    found.ok_or_else(|| {
        Refusal::new(
            word.source.clone(),
            format!("`{text}` names no probe"),
            "Write FUNCTION, LIBRARY:FUNCTION, t:SYSTEM:EVENT or u:LIBRARY:PROBE.",
        )
    })
}

fn only<'a>(arguments: &'a Arguments, call: &mut Call<'_>) -> Result<&'a Word> {
    match arguments.operands.as_slice() {
        [word] => {
            call.marks.mark(&word.source, SpanKind::Event);
            Ok(word)
        }
        [] => Err(Refusal::new(
            call.source(),
            format!("{} needs a function", call.tool),
            "Write it behind the name, such as 'vfs_*'.",
        )),
        [_, odd, ..] => Err(Refusal::new(odd.source.clone(), format!("{} takes one pattern", call.tool), "Remove it.")),
    }
}

/// Reads `funccount` and `funclatency`.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn counted(name: &str, arguments: &Arguments, call: &mut Call<'_>) -> Result<Step> {
    let word = only(arguments, call)?;
    let (tool, params) = match (name, pattern(word)?) {
        ("funccount", Pattern::Kernel(function)) => ("kfunccount", vec![function]),
        (_, Pattern::Kernel(function)) => ("kfunclatency", vec![function]),
        (name, Pattern::File(file, function)) => (name, vec![file, function]),
        ("funccount", Pattern::Tracepoint(system, event)) => ("eventcount", vec![system, event]),
        ("funccount", Pattern::Usdt(file, probe)) => ("usdtcount", vec![file, probe]),
        _ => return Err(Refusal::new(word.source.clone(), "only functions have a duration", "Name a function.")),
    };
    if tool == "kfunclatency" && params.iter().any(|function| function.contains('*')) {
        return Err(Refusal::new(
            word.source.clone(),
            "the durations of several functions are not measured at once",
            "Name one function.",
        ));
    }
    // Which words are parameters is said already.
    of_library(tool, params, arguments, Positional::Nothing, call)
}

/// Reads `stackcount`.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn stacks(arguments: &Arguments, call: &mut Call<'_>) -> Result<Step> {
    let word = only(arguments, call)?;
    let (point, usual) = match pattern(word)? {
        Pattern::Kernel(function) => (format!("kprobe:{function}"), "kstack"),
        Pattern::File(file, function) => (format!("uprobe:{file}:{function}"), "ustack"),
        Pattern::Tracepoint(system, event) => (format!("tracepoint:{system}:{event}"), "kstack"),
        Pattern::Usdt(file, probe) => (format!("usdt:{file}:{probe}"), "ustack"),
    };
    let stack = match (arguments.has("-K"), arguments.has("-U")) {
        (true, true) => "ustack, kstack",
        (true, false) => "kstack",
        (false, true) => "ustack",
        (false, false) => usual,
    };
    let who = if arguments.has("-P") { "comm, pid, " } else { "" };
    of_script(format!("{point} {{ @[{who}{stack}] = count(); }}"), arguments, None, call)
}
