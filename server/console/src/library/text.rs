//! What the texts and names of a library are, by kind.

use bathyscope_capture::{DynamicProbe, MAX_DYNAMIC_BYTES, MAX_SCRIPT_BYTES, Predicate};
use bathyscope_catalog::{
    dynamic::{Dialect, Line, TypedDefinition, parse_dynamic, parse_perf_probe, read_typed},
    recipes::{Recipe, check_own_name},
};
use bathyscope_link::dynamic::{USUAL_GROUPS, event_name};
use bathyscope_store::{LibraryKind, SummaryQuery};

use super::LibraryError;
use crate::wire::check_spec;

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// The longest filter, query and selection.
const MAX_SMALL_BYTES: usize = 16 << 10;

/// A name as it is told in an error.
pub(super) fn cut(name: &str) -> String {
    bathyscope_capture::visible(name.as_bytes()).chars().take(80).collect()
}

/// A text as it is kept: without blank lines around it, and one that can be used.
///
/// # Errors
/// Why it cannot be.
pub(super) fn checked_text(kind: LibraryKind, text: &str) -> Result<String, LibraryError> {
    let most = match kind {
        LibraryKind::Probe => MAX_DYNAMIC_BYTES,
        LibraryKind::Script | LibraryKind::Recipe => MAX_SCRIPT_BYTES,
        LibraryKind::Filter | LibraryKind::Query | LibraryKind::Selection | LibraryKind::Search => MAX_SMALL_BYTES,
    };
    let text = text.replace("\r\n", "\n");
    let text = text.trim_end().trim_start_matches('\n');
    if text.trim().is_empty() {
        return Err(LibraryError::text(kind, "it is empty"));
    }
    if text.len() > most {
        return Err(LibraryError::text(kind, format!("it has {} bytes, and at most {most} are kept", text.len())));
    }
    match kind {
        LibraryKind::Probe => Ok(probe_text(&probe_of(text)?.0)),
        LibraryKind::Script => script(text),
        LibraryKind::Recipe => recipe(text),
        LibraryKind::Filter => {
            Predicate::parse(text.trim()).map_err(|error| LibraryError::text(kind, error))?;
            Ok(text.trim().to_owned())
        }
        LibraryKind::Query => Ok(text.to_owned()),
        LibraryKind::Selection => selection(text),
        LibraryKind::Search => {
            // Ages are counted from when it is used.
            SummaryQuery::parse(text, 0).map_err(|error| LibraryError::text(kind, error))?;
            Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
        }
    }
}

fn script(text: &str) -> Result<String, LibraryError> {
    match bathyscope_bpf::lang::parse(text) {
        Ok(_script) => Ok(text.to_owned() + "\n"),
        Err(errors) => {
            let first = errors.first().map_or_else(String::new, |first| {
                let at = bathyscope_bpf::lang::place(text, first.start);
                format!("line {}, column {}: {}", at.line, at.column, first.message)
            });
            Err(LibraryError::text(LibraryKind::Script, first))
        }
    }
}

/// A recipe's name is not in its text, so any will do to read it.
fn recipe(text: &str) -> Result<String, LibraryError> {
    let recipe = Recipe::of_own_text("x", text)?;
    check_spec(&recipe.spec(recipe.of.example()))?;
    Ok(recipe.to_own_text()?)
}

/// Lines `name=value`, as the address of a view of a capture has them between `&`.
fn selection(text: &str) -> Result<String, LibraryError> {
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let name = line.split_once('=').map(|(name, _)| name).unwrap_or_default();
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            let why = format!("`{}` is not NAME=VALUE, a line each", cut(line));
            return Err(LibraryError::text(LibraryKind::Selection, why));
        }
        lines.push(line);
    }
    Ok(lines.join("\n"))
}

/// The text of a probe: `DEFINITION` as after `perf probe --add`, with `-x FILE` before it for one in a program.
pub fn probe_text(probe: &DynamicProbe) -> String {
    match &probe.file {
        None => probe.typed.clone(),
        Some(file) => format!("-x {file} {}", probe.typed),
    }
}

/// The probe of a text, and the name of its event: `probe:vfs_read`.
///
/// # Errors
/// What is wrong with the definition.
pub fn probe_of(text: &str) -> Result<(DynamicProbe, String), LibraryError> {
    let refuse = |why: String| LibraryError::text(LibraryKind::Probe, why);
    let text = text.trim();
    if text.contains('\n') {
        return Err(refuse("it is one definition, in one line".to_owned()));
    }
    if text.starts_with("-:") {
        return Err(refuse("it removes an event and makes none".to_owned()));
    }
    if let Some(line) = kernel_line(text) {
        return of_kernel_line(line);
    }
    let (file, typed) = match text.strip_prefix("-x").map(str::trim_start) {
        None => (None, text),
        Some(rest) => {
            // The kernel takes no path with blanks.
            let (file, typed) = rest
                .split_once([' ', '\t'])
                .ok_or_else(|| refuse("behind `-x FILE` the definition is missing".to_owned()))?;
            if file.is_empty() || file.contains('\'') {
                return Err(refuse("behind `-x` stands a path or a name such as bash or libc".to_owned()));
            }
            (Some(file.to_owned()), typed.trim())
        }
    };
    let path = file.as_deref().map(|file| if file.contains('/') { file.to_owned() } else { format!("/{file}") });
    let definition = parse_perf_probe(typed, path.as_deref())
        .map_err(|error| refuse(format!("column {}: {}", error.at + 1, error.problem)))?;
    let group = definition.group.unwrap_or_else(|| "probe".to_owned());
    let event = definition.event.ok_or_else(|| refuse("it has no name; write NAME=PLACE".to_owned()))?;
    Ok((DynamicProbe { typed: typed.to_owned(), file, line: None }, format!("{group}:{event}")))
}

/// The line of `kprobe_events` or `uprobe_events` that a text is, without the command that writes it there.
pub(super) fn kernel_line(text: &str) -> Option<String> {
    let Ok(reading) = read_typed(text, None) else { return None };
    match reading.typed.as_slice() {
        [TypedDefinition { text, dialect: Dialect::Kernel, .. }] => Some(text.clone()),
        _ => None,
    }
}

/// The probe of a line of the kernel's grammar, and the name of its event: `uprobes:zfree_entry`.
fn of_kernel_line(typed: String) -> Result<(DynamicProbe, String), LibraryError> {
    let refuse = |why: String| LibraryError::text(LibraryKind::Probe, why);
    let line = parse_dynamic(&typed).map_err(|error| refuse(format!("column {}: {}", error.at + 1, error.problem)))?;
    let Line::Define(definition) = line else { return Err(refuse("it removes an event and makes none".to_owned())) };
    if let Some(group) = definition.group.as_deref().filter(|group| !is_group_of_kept(group)) {
        let why = format!("`{group}` cannot be the group of a kept probe; write `probe/NAME`, or NAME alone");
        return Err(refuse(why));
    }
    let name = event_name(&definition);
    Ok((DynamicProbe { typed, file: None, line: None }, name))
}

/// Whether events of kept probes can be in a group: those of perf, and those that the kernel gives by itself.
pub fn is_group_of_kept(group: &str) -> bool {
    group.starts_with("probe") || USUAL_GROUPS.contains(&group)
}

/// What something is called, if it may be called so. A probe is called as the event that its definition makes.
///
/// # Errors
/// What is wrong with the name.
pub(super) fn checked_name(kind: LibraryKind, name: &str, text: &str) -> Result<String, LibraryError> {
    let refuse = |why: String| Err(LibraryError::Name { kind: kind.as_str(), name: cut(name), why });
    match kind {
        LibraryKind::Probe => {
            let (_, of_text) = probe_of(text)?;
            if of_text.len() > MAX_NAME_BYTES {
                return refuse(format!("`{of_text}` has more than {MAX_NAME_BYTES} bytes; write NAME=PLACE"));
            }
            if name.is_empty() || name == of_text || of_text.split_once(':').is_some_and(|(_, event)| event == name) {
                return Ok(of_text);
            }
            refuse(format!("the definition makes `{of_text}`; write NAME=PLACE for another name"))
        }
        LibraryKind::Recipe => {
            check_own_name(name)?;
            Ok(name.to_owned())
        }
        _ => {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
            if begins && name.len() <= MAX_NAME_BYTES && name.bytes().all(plain) {
                return Ok(name.to_owned());
            }
            refuse(format!(
                "use 1 to {MAX_NAME_BYTES} letters, digits, `-`, `_` and `.`, of which a letter or a digit is the first"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(kind: LibraryKind, name: &str, text: &str) -> Result<(String, String), String> {
        let text = checked_text(kind, text).map_err(|error| error.to_string())?;
        let name = checked_name(kind, name, &text).map_err(|error| error.to_string())?;
        Ok((name, text))
    }

    #[test]
    fn what_is_kept_is_of_its_kind() {
        use LibraryKind::{Filter, Probe, Query, Script, Search, Selection};
        let cases = [
            (Probe, "", "vfs_read count", Ok(("probe:vfs_read", "vfs_read count"))),
            (Probe, "slow", " slow=vfs_read ", Ok(("probe:slow", "slow=vfs_read"))),
            (
                Probe,
                "",
                "-x bash readline%return r=+0($retval):string",
                Ok(("probe_bash:readline__return", "-x bash readline%return r=+0($retval):string")),
            ),
            (Probe, "", "-x '/a b/c' main", Err("a path or a name such as bash")),
            (Probe, "other", "vfs_read", Err("the definition makes `probe:vfs_read`")),
            (Probe, "", "-x bash", Err("the definition is missing")),
            (Probe, "", "vfs_read +", Err("column")),
            (Probe, "", "a\nb", Err("one line")),
            (Probe, "", "p:mine vfs_read %di", Ok(("kprobes:mine", "p:mine vfs_read %di"))),
            (
                Probe,
                "mine",
                "r:probe/mine vfs_read ret=$retval",
                Ok(("probe:mine", "r:probe/mine vfs_read ret=$retval")),
            ),
            (Probe, "", "p vfs_read+0x10 %di", Ok(("kprobes:p_vfs_read_16", "p vfs_read+0x10 %di"))),
            (Probe, "", "p:zfree /bin/zsh:0x46420 %ip", Ok(("uprobes:zfree", "p:zfree /bin/zsh:0x46420 %ip"))),
            (
                Probe,
                "",
                "echo 'p:zfree /bin/zsh:0x46420 %ip' >> /sys/kernel/tracing/uprobe_events",
                Ok(("uprobes:zfree", "p:zfree /bin/zsh:0x46420 %ip")),
            ),
            (Probe, "", "p:sched/mine vfs_read", Err("cannot be the group of a kept probe")),
            (Probe, "", "-:mine", Err("removes an event")),
            (Script, "s", "begin { exit(); }\n\n", Ok(("s", "begin { exit(); }\n"))),
            (Script, "s", "begin { exit( }", Err("line 1, column")),
            (Filter, "f", " pid == 7 ", Ok(("f", "pid == 7"))),
            (Filter, "f", "pid ==", Err("no filter that can be used")),
            (Query, "q.1", "select 1;\n", Ok(("q.1", "select 1;"))),
            (Query, "../q", "select 1", Err("cannot be the name of a query")),
            (Query, "", "select 1", Err("cannot be the name of a query")),
            (Query, "q", " \n", Err("it is empty")),
            (Selection, "v", "tab=flame\n\n filter=pid == 1 ", Ok(("v", "tab=flame\nfilter=pid == 1"))),
            (Selection, "v", "javascript:x", Err("is not NAME=VALUE")),
            (Search, "s", " tag:slow\n  newer:7d ", Ok(("s", "tag:slow newer:7d"))),
            (Search, "s", "older:soon", Err("write a time such as 30s")),
        ];
        for (kind, name, text, expected) in cases {
            match (kept(kind, name, text), expected) {
                (Ok(made), Ok((name, text))) => assert_eq!(made, (name.to_owned(), text.to_owned())),
                (Err(error), Err(part)) => assert!(error.contains(part), "{text:?}: {error}"),
                (made, expected) => panic!("{text:?}: {made:?} instead of {expected:?}"),
            }
        }
    }
}
