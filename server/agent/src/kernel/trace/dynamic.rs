//! Dynamic events: lines of the kernel's grammar, understood, and written again into a group of the capture's own.
//!
//! What the kernel is given is the text of what was understood ([`bathyscope_catalog::dynamic`]), never the words of whoever
//! asked. Whether there is such a register or field only the kernel knows. The place is looked at here: which function, so
//! that none is probed that would stop the machine; which file, so that it is the one that was found and a regular one;
//! and whether it is a bare address, which nobody can vouch for.

use std::{collections::BTreeSet, os::fd::OwnedFd};

use bathyscope_bpf::lang::denied_function;
use bathyscope_capture::{DynamicProbe, visible};
use bathyscope_catalog::dynamic::{DynamicDefinition, DynamicError, End, FilePlace, Line, ProbeSite, parse_dynamic};
use bathyscope_protocol::{AgentError, AgentErrorKind};

use super::refusals;
use crate::{
    compile::ScriptRights,
    error::failed,
    kernel::user_file::{open_user_file, path_of},
};

/// The longest name of an event; the kernel takes 63 bytes.
const MAX_NAME_BYTES: usize = 63;

/// What kind of event it is, by which the kernel's files list it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DynamicEventKind {
    /// At a function of the kernel.
    Kprobe,
    /// At a place in a file.
    Uprobe,
    /// On another event.
    Eprobe,
    /// At a function of the kernel, by ftrace.
    Fprobe,
    /// At a tracepoint, before its event.
    Tprobe,
}

impl DynamicEventKind {
    /// Where it is, in words, and the option that a kernel needs for it.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Kprobe => ("of its own functions", "CONFIG_KPROBE_EVENTS"),
            Self::Uprobe => ("of programs", "CONFIG_UPROBE_EVENTS"),
            Self::Eprobe => ("on other events", "CONFIG_EPROBE_EVENTS"),
            Self::Fprobe => ("of functions by ftrace", "CONFIG_FPROBE_EVENTS (Linux 6.5 or later)"),
            Self::Tprobe => ("of tracepoints", "CONFIG_FPROBE_EVENTS (Linux 6.5 or later)"),
        }
    }
}

/// A dynamic event, ready to be made.
#[derive(Debug)]
pub(crate) struct Dynamic {
    /// Its kind.
    pub(crate) kind: DynamicEventKind,
    /// Its name in the group.
    pub(crate) name: String,
    /// What the person called it.
    pub(crate) label: String,
    /// The line as it was given.
    pub(crate) given: String,
    /// What was understood of it, with the file named by its descriptor.
    definition: DynamicDefinition,
    /// For a place inside a function of the kernel, the function's name and the offset in it.
    pub(crate) inside: Option<(String, u64)>,
    /// For a function of the kernel, its name.
    pub(crate) function: Option<String>,
    /// The file that is probed, kept so that the line goes on naming it.
    _file: Option<OwnedFd>,
}

fn wrong(line: &str, why: impl Into<String>, remedy: impl Into<String>) -> AgentError {
    failed(AgentErrorKind::Invalid, format!("reading the probe `{}`", visible(line.as_bytes())), why, remedy)
}

fn parse(line: &str) -> Result<DynamicDefinition, AgentError> {
    let told = |error: &DynamicError| {
        let error_in_words = wrong(line, error.to_string(), "");
        AgentError { detail: refusals::marked(line, error.at), ..error_in_words }
    };
    match parse_dynamic(line).map_err(|error| told(&error))? {
        Line::Define(definition) => Ok(definition),
        Line::Remove { .. } => Err(wrong(line, "it makes no event", "Events are removed with their capture.")),
    }
}

fn kind_of(definition: &DynamicDefinition) -> DynamicEventKind {
    match definition.place {
        ProbeSite::Function { .. } | ProbeSite::Address { .. } => DynamicEventKind::Kprobe,
        ProbeSite::File { .. } => DynamicEventKind::Uprobe,
        ProbeSite::Event { .. } => DynamicEventKind::Eprobe,
        ProbeSite::Traced { .. } => DynamicEventKind::Fprobe,
        ProbeSite::Tracepoint { .. } => DynamicEventKind::Tprobe,
    }
}

/// The name of an event that was given none, as the kernel makes them.
fn made_name(definition: &DynamicDefinition) -> String {
    let letter = if definition.returns() { 'r' } else { 'p' };
    let name = match &definition.place {
        ProbeSite::Function { symbol, offset, .. } => format!("{letter}_{symbol}_{offset}"),
        ProbeSite::Address { address, .. } => format!("{letter}_{address:#x}"),
        ProbeSite::File { path, at, .. } => {
            format!("{letter}_{}_{:#x}", path.rsplit('/').next().unwrap_or_default(), offset_of(at))
        }
        ProbeSite::Event { event, .. } => event.clone(),
        ProbeSite::Traced { symbol, on: End::Entry } => format!("{symbol}__entry"),
        ProbeSite::Traced { symbol, .. } => format!("{symbol}__exit"),
        ProbeSite::Tracepoint { name } => name.clone(),
    };
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.chars().map(safe).take(MAX_NAME_BYTES - 4).collect()
}

fn offset_of(at: &FilePlace) -> u64 {
    match at {
        FilePlace::Offset(offset) | FilePlace::Function { offset, .. } => *offset,
    }
}

/// Refuses what nobody can vouch for.
fn check_place(line: &str, place: &ProbeSite, rights: ScriptRights) -> Result<(), AgentError> {
    let doing = || format!("reading the probe `{}`", visible(line.as_bytes()));
    match place {
        ProbeSite::Address { .. } if rights != ScriptRights::Change => Err(failed(
            AgentErrorKind::Denied,
            doing(),
            "a probe at a bare address can stop the machine if no instruction begins there",
            "Name the function and the offset in it. Whoever starts the console can allow addresses with \
             --allow-unsafe-scripts.",
        )),
        ProbeSite::Function { symbol, .. } | ProbeSite::Traced { symbol, .. } => match denied_function(symbol) {
            Some(why) => {
                let why = format!("`{symbol}` is not probed: {why}");
                Err(failed(AgentErrorKind::Invalid, doing(), why, "Probe what calls it."))
            }
            None => Ok(()),
        },
        ProbeSite::Address { .. } | ProbeSite::File { .. } | ProbeSite::Tracepoint { .. } | ProbeSite::Event { .. } => {
            Ok(())
        }
    }
}

/// Reads all lines, opens the files that they name, and gives each event a name of its own.
pub(crate) fn prepare(probes: &[DynamicProbe], rights: ScriptRights) -> Result<Vec<Dynamic>, AgentError> {
    let lines: Vec<&str> = probes.iter().map(DynamicProbe::line).collect();
    if let Some(line) = lines.first().filter(|_line| rights == ScriptRights::Off) {
        // Their arguments read whatever memory they name, as scripts do.
        let doing = format!("reading the probe `{}`", visible(line.as_bytes()));
        let remedy = "Whoever starts the console can allow them: `bathyscope serve --scripts on`.";
        return Err(failed(AgentErrorKind::Denied, doing, "probes with arguments are switched off here", remedy));
    }
    let parsed = lines.iter().copied().map(parse).collect::<Result<Vec<_>, _>>()?;
    let mut names = BTreeSet::new();
    for (line, one) in lines.iter().copied().zip(&parsed) {
        if let Some(name) = one.event.as_ref().filter(|name| !names.insert((*name).clone())) {
            return Err(wrong(line, format!("there are two with the name `{name}`"), "Give each its own name."));
        }
    }
    let mut events = Vec::new();
    for (line, one) in lines.iter().copied().zip(parsed) {
        check_place(line, &one.place, rights)?;
        let name = one.event.clone().unwrap_or_else(|| unused(&made_name(&one), &mut names));
        events.push(Dynamic::of(line, one, name)?);
    }
    Ok(events)
}

/// `name`, with a number behind it if it is taken.
fn unused(name: &str, names: &mut BTreeSet<String>) -> String {
    let mut candidate = name.to_owned();
    let mut number = 2;
    while !names.insert(candidate.clone()) {
        candidate = format!("{name}_{number}");
        number += 1;
    }
    candidate
}

impl Dynamic {
    fn of(line: &str, mut definition: DynamicDefinition, name: String) -> Result<Self, AgentError> {
        let kind = kind_of(&definition);
        let label = match (&definition.group, &definition.event) {
            (Some(group), Some(event)) => format!("{group}:{event}"),
            (_, event) => event.clone().unwrap_or_else(|| name.clone()),
        };
        let (function, inside) = match &definition.place {
            ProbeSite::Function { symbol, offset, .. } => {
                (Some(symbol.clone()), (*offset > 0).then(|| (symbol.clone(), *offset)))
            }
            ProbeSite::Traced { symbol, .. } => (Some(symbol.clone()), None),
            _ => (None, None),
        };
        let mut file = None;
        if let ProbeSite::File { path, at, .. } = &mut definition.place {
            let opened = open_user_file(path, None)?;
            let offset = offset_of(at);
            if offset >= opened.bytes {
                let why = format!("the file has {} bytes, and {offset:#x} is behind its end", opened.bytes);
                return Err(wrong(line, why, "Give an offset in the file, as `readelf` and `nm` help to find."));
            }
            // This path leads to the file that was opened, whatever the name leads to by now, and has no spaces.
            *path = path_of(&opened.file).to_string_lossy().into_owned();
            file = Some(opened.file);
        }
        Ok(Self { kind, function, label, name, given: line.to_owned(), definition, inside, _file: file })
    }

    /// The line that makes it in a group.
    pub(crate) fn line(&self, group: &str) -> String {
        let (group, event) = (Some(group.to_owned()), Some(self.name.clone()));
        DynamicDefinition { group, event, ..self.definition.clone() }.to_string()
    }

    /// A line that makes nothing but the same place at another offset of its function, under another name.
    pub(crate) fn line_at(&self, group: &str, name: &str, at: u64) -> Option<String> {
        let ProbeSite::Function { module, symbol, offset: 1.., on: End::Entry } = &self.definition.place else {
            return None;
        };
        let place = ProbeSite::Function { module: module.clone(), symbol: symbol.clone(), offset: at, on: End::Entry };
        let (group, event) = (Some(group.to_owned()), Some(name.to_owned()));
        Some(DynamicDefinition { group, event, place, arguments: Vec::new() }.to_string())
    }

    /// The place in the line as it was given, for a place in the line that was made: both have the same words.
    pub(crate) fn place_in_given(&self, group: &str, at: usize) -> usize {
        let made = self.line(group);
        let (word, before) = words_of(&made)
            .map(|(start, _)| start)
            .enumerate()
            .take_while(|(_, start)| *start <= at)
            .last()
            .unwrap_or_default();
        let mut places = words_of(&self.given);
        let (place, length) = places.nth(word).unwrap_or((0, 0));
        // The name and the path of a file are others.
        let into = if word < 2 { 0 } else { at.saturating_sub(before) };
        place + into.min(length)
    }
}

/// Where the words of a line begin, and how long they are.
fn words_of(line: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    line.split([' ', '\t']).filter_map(move |text| {
        let place = at;
        at += text.len() + 1;
        (!text.is_empty()).then_some((place, text.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(lines: &[&str]) -> Result<Vec<Dynamic>, AgentError> {
        let probes: Vec<DynamicProbe> = lines.iter().map(|line| DynamicProbe::of_line(line)).collect();
        prepare(&probes, ScriptRights::Observe)
    }

    #[test]
    fn lines_are_moved_into_a_group() {
        let cases = [
            (
                "p vfs_read+0x10 %di +0x3c(%di):u32",
                "p:G/p_vfs_read_16 vfs_read+0x10 %di +0x3c(%di):u32",
                "p_vfs_read_16",
            ),
            ("p:mine vfs_read", "p:G/mine vfs_read", "mine"),
            ("r16:theirs/mine vfs_read $retval", "r16:G/mine vfs_read $retval", "theirs:mine"),
            ("p:theirs/ vfs_read%return", "r:G/r_vfs_read_0 vfs_read", "r_vfs_read_0"),
            ("e:prev sched.sched_switch p=$prev_pid", "e:G/prev sched.sched_switch p=$prev_pid", "prev"),
            ("f vfs_read%return $retval", "f:G/vfs_read__exit vfs_read%return $retval", "vfs_read__exit"),
            ("t:theirs/sw sched_switch $arg1", "t:G/sw sched_switch $arg1", "theirs:sw"),
            ("p:a vfs_read x=\\\"text\"", "p:G/a vfs_read x=\\\"text\"", "a"),
            ("p ext4:ext4_sync_file", "p:G/p_ext4_sync_file_0 ext4:ext4_sync_file", "p_ext4_sync_file_0"),
            ("p:a\tvfs_read   x=%di:u64", "p:G/a vfs_read x=%di:u64", "a"),
        ];
        for (given, line, label) in cases {
            let made = prepared(&[given]).unwrap().remove(0);
            assert_eq!((made.line("G").as_str(), made.label.as_str()), (line, label), "{given}");
        }
        let made = prepared(&["p vfs_read", "p vfs_read"]).unwrap();
        assert_eq!((made[0].name.as_str(), made[1].name.as_str()), ("p_vfs_read_0", "p_vfs_read_0_2"));
    }

    #[test]
    fn p22_what_can_stop_the_machine_is_refused_with_the_reason() {
        let why = |line: &str| prepared(&[line]).unwrap_err().why;
        assert!(why("p _raw_spin_lock").contains("spin lock"));
        assert!(why("p:x ftrace_ops_test").contains("runs probes"));
        assert!(why("f _raw_spin_lock").contains("spin lock"));
        assert!(why("r rcu_read_unlock_special").contains("RCU"));
        let address = prepared(&["p 0xffffffff81000000"]).unwrap_err();
        assert_eq!(address.kind, AgentErrorKind::Denied);
        assert!(address.remedy.contains("--allow-unsafe-scripts"));
        assert!(prepare(&["p 0xffffffff81000000".into()], ScriptRights::Change).is_ok());
        assert_eq!(prepare(&["p vfs_read".into()], ScriptRights::Off).unwrap_err().kind, AgentErrorKind::Denied);
    }

    #[test]
    fn p26_files_are_opened_and_named_by_their_descriptor() {
        // Paths of this grammar have no blanks, which that of this program may have.
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &own).unwrap();
        let own = own.to_str().unwrap();
        let made = prepared(&[&format!("r:x {own}:0x40%return ret=$retval")]).unwrap().remove(0);
        assert!(made.kind == DynamicEventKind::Uprobe);
        let line = made.line("G");
        assert!(line.starts_with("r:G/x /proc/self/fd/") && line.ends_with(":0x40 ret=$retval"), "{line}");
        for bad in ["/etc/passwd:0x10", "/dev/null:0", "/none:0", "/:0"] {
            assert!(prepared(&[&format!("p {bad}")]).is_err(), "{bad}");
        }
        assert!(prepared(&[&format!("p {own}:0xffffffffff")]).unwrap_err().why.contains("behind its end"));
        assert!(prepared(&[&format!("p {own}")]).unwrap_err().why.contains("this is no place"));
    }

    #[test]
    fn bad_lines_are_told_in_words() {
        for line in ["p", "p:1x vfs_read", "p:a/b/c vfs_read", "p vfs_read+x", "p a|b", "e sched_switch", "p a:b:c"] {
            assert!(prepared(&[line]).is_err(), "{line}");
        }
        assert!(prepared(&["p:x vfs_read", "p:x vfs_write"]).unwrap_err().why.contains("two with the name"));
    }

    #[test]
    fn places_are_told_in_the_line_as_it_was_given() {
        let made = prepared(&["p:x vfs_read a=%di b=%zz"]).unwrap().remove(0);
        let line = made.line("bathyscope_1");
        let at = line.find("%zz").unwrap();
        assert_eq!(made.place_in_given("bathyscope_1", at), "p:x vfs_read a=%di b=%zz".find("%zz").unwrap());
        assert_eq!(made.place_in_given("bathyscope_1", 3), 0);
        assert_eq!(made.place_in_given("bathyscope_1", line.find("vfs_read").unwrap()), 4);
        let refused = prepared(&["p:x vfs_read a=%rdi"]).unwrap_err();
        assert_eq!(refused.detail, "p:x vfs_read a=%rdi\n                ^");
        assert!(refused.why.contains("the kernel calls this register %di"), "{}", refused.why);
    }

    #[test]
    fn neighbours_are_asked_for_under_another_name() {
        let made = prepared(&["p:x ext4:ext4_sync_file+0x11 a=%di"]).unwrap().remove(0);
        assert_eq!(made.line_at("G", "near", 9).unwrap(), "p:G/near ext4:ext4_sync_file+0x9");
        assert_eq!(prepared(&["p:x vfs_read"]).unwrap()[0].line_at("G", "near", 9), None);
    }
}
