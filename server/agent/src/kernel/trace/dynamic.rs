//! Dynamic events: lines of the kernel's grammar, looked at as far as safety needs, and rewritten into a group of the
//! capture's own.
//!
//! What follows the place, the arguments, is left to the kernel, which checks it. The place is looked at here: which
//! function, so that none is probed that would stop the machine; which file, so that it is the one that was found and a
//! regular one; and whether it is a bare address, which nobody can vouch for.

use std::{collections::BTreeSet, os::fd::OwnedFd};

use bathyscope_bpf::lang::denied_function;
use bathyscope_capture::visible;
use bathyscope_protocol::{AgentError, AgentErrorKind};

use crate::{
    compile::ScriptRights,
    error::failed,
    kernel::user_file::{open_user_file, path_of},
};

/// The longest name of an event; the kernel takes 63 bytes.
const MAX_NAME_BYTES: usize = 63;

/// What kind of event it is, by which the kernel's files list it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// At a function of the kernel.
    Kprobe,
    /// At a place in a file.
    Uprobe,
    /// On another event.
    Eprobe,
}

/// Where an event is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place<'a> {
    /// A function of the kernel, and bytes behind its begin.
    Function { name: &'a str, offset: u64 },
    /// An address in the kernel.
    Address,
    /// A file and the rest of the place: offset, reference counter, `%return`.
    File { path: &'a str, offset: u64, rest: &'a str },
    /// Another event.
    Event { system: &'a str, name: &'a str },
}

/// A line, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parsed<'a> {
    /// `p`, `e`, `r` or `r16`.
    letter: &'a str,
    /// What the person called it.
    group: Option<&'a str>,
    name: Option<&'a str>,
    place: Place<'a>,
    place_text: &'a str,
    /// Arguments, with the space before them.
    arguments: &'a str,
}

/// A dynamic event, ready to be made.
#[derive(Debug)]
pub(crate) struct Dynamic {
    /// Its kind.
    pub(crate) kind: Kind,
    /// Its name in the group.
    pub(crate) name: String,
    /// What the person called it.
    pub(crate) label: String,
    /// The line as it was given.
    pub(crate) given: String,
    /// The line for the kernel, without the name: what is before and what is after it.
    letter: String,
    rest: String,
    /// Bytes of the arguments at the end of both lines.
    arguments: usize,
    /// For a function of the kernel, its name and the offset in it.
    pub(crate) inside: Option<(String, u64)>,
    /// The file that is probed, kept so that the line goes on naming it.
    _file: Option<OwnedFd>,
}

fn wrong(line: &str, why: impl Into<String>, remedy: impl Into<String>) -> AgentError {
    failed(AgentErrorKind::Invalid, format!("reading the probe `{}`", visible(line.as_bytes())), why, remedy)
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => u64::from_str_radix(digits, 16).ok(),
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

fn is_name(text: &str) -> bool {
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=MAX_NAME_BYTES).contains(&text.len())
        && text.bytes().all(in_name)
        && !text.starts_with(|first: char| first.is_ascii_digit())
}

fn parse(line: &str) -> Result<Parsed<'_>, AgentError> {
    let usage = "Write p:NAME PLACE ARGUMENTS; places are FUNCTION+OFFSET, /FILE:OFFSET, and for e another event, \
        GROUP.EVENT.";
    let (head, rest) = line.split_once(' ').ok_or_else(|| wrong(line, "it has no place", usage))?;
    let rest = rest.trim_start();
    let place_text = rest.split(' ').next().unwrap_or_default();
    let arguments = rest.get(place_text.len()..).unwrap_or_default();
    let (letter, called) = head.split_once(':').map_or((head, None), |(letter, called)| (letter, Some(called)));
    let (group, name) = match called {
        None | Some("") => (None, None),
        Some(called) => match called.split_once(['/', '.']) {
            Some((group, "")) => (Some(group), None),
            Some((group, name)) => (Some(group), Some(name)),
            None => (None, Some(called)),
        },
    };
    if let Some(bad) = group.into_iter().chain(name).find(|text| !is_name(text)) {
        let why = format!("`{}` cannot be a name", visible(bad.as_bytes()));
        return Err(wrong(line, why, "Names have letters, digits and _, at most 63, and no digit first."));
    }
    let place = place_of(line, letter, place_text)?;
    Ok(Parsed { letter, group, name, place, place_text, arguments })
}

fn place_of<'a>(line: &str, letter: &str, text: &'a str) -> Result<Place<'a>, AgentError> {
    if letter == "e" {
        let parts = text.split_once(['.', '/']).filter(|(system, name)| is_name(system) && is_name(name));
        let remedy = "Write the event that it is on as GROUP.EVENT, such as sched.sched_switch.";
        return parts
            .map(|(system, name)| Place::Event { system, name })
            .ok_or_else(|| wrong(line, format!("`{}` is no event", visible(text.as_bytes())), remedy));
    }
    if text.starts_with('/') {
        let remedy = "Write the file and the offset in it: /bin/bash:0x30000.";
        let no_offset = || wrong(line, format!("`{}` has no offset", visible(text.as_bytes())), remedy);
        let (path, rest) = text.rsplit_once(':').ok_or_else(no_offset)?;
        let end = rest.find(['(', '%']).unwrap_or(rest.len());
        let offset = rest.get(..end).and_then(number).ok_or_else(no_offset)?;
        return Ok(Place::File { path, offset, rest });
    }
    let bare = text.strip_suffix("%return").unwrap_or(text);
    if bare.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(Place::Address);
    }
    let (symbol, offset) = match bare.split_once('+') {
        Some((symbol, offset)) => (symbol, number(offset)),
        None => (bare, Some(0)),
    };
    let (module, name) = symbol.split_once(':').unwrap_or(("kernel", symbol));
    let is_symbol = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.$-".contains(&byte))
    };
    match offset.filter(|_offset| is_symbol(module) && is_symbol(name)) {
        Some(offset) => Ok(Place::Function { name, offset }),
        None => {
            let why = format!("`{}` is no place", visible(text.as_bytes()));
            Err(wrong(line, why, "Write a function, MODULE:FUNCTION, or FUNCTION+OFFSET, or /FILE:OFFSET."))
        }
    }
}

impl Parsed<'_> {
    fn kind(&self) -> Kind {
        match self.place {
            Place::Function { .. } | Place::Address => Kind::Kprobe,
            Place::File { .. } => Kind::Uprobe,
            Place::Event { .. } => Kind::Eprobe,
        }
    }

    /// A name like the one that the kernel makes where none is given.
    fn made_name(&self) -> String {
        let letter = if self.letter.starts_with('r') || self.place_text.ends_with("%return") { 'r' } else { 'p' };
        let name = match &self.place {
            Place::Function { name, offset } => format!("{letter}_{name}_{offset}"),
            Place::Address => format!("{letter}_{}", self.place_text),
            Place::File { path, offset, .. } => {
                format!("{letter}_{}_{offset:#x}", path.rsplit('/').next().unwrap_or_default())
            }
            Place::Event { name, .. } => (*name).to_owned(),
        };
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        name.chars().map(safe).take(MAX_NAME_BYTES - 4).collect()
    }

    fn label(&self, name: &str) -> String {
        match (self.group, self.name) {
            (Some(group), Some(name)) => format!("{group}:{name}"),
            _ => self.name.unwrap_or(name).to_owned(),
        }
    }
}

/// Refuses what nobody can vouch for.
fn check_place(line: &str, place: &Place<'_>, rights: ScriptRights) -> Result<(), AgentError> {
    let doing = || format!("reading the probe `{}`", visible(line.as_bytes()));
    match place {
        Place::Address if rights != ScriptRights::Change => Err(failed(
            AgentErrorKind::Denied,
            doing(),
            "a probe at a bare address can stop the machine if no instruction begins there",
            "Name the function and the offset in it. Whoever starts the console can allow addresses with \
             --allow-unsafe-scripts.",
        )),
        Place::Function { name, .. } => match denied_function(name) {
            Some(why) => {
                let why = format!("`{name}` is not probed: {why}");
                Err(failed(AgentErrorKind::Invalid, doing(), why, "Probe what calls it."))
            }
            None => Ok(()),
        },
        Place::Address | Place::File { .. } | Place::Event { .. } => Ok(()),
    }
}

/// Reads all lines, opens the files that they name, and gives each event a name of its own.
pub(crate) fn prepare(lines: &[String], rights: ScriptRights) -> Result<Vec<Dynamic>, AgentError> {
    if let Some(line) = lines.first().filter(|_line| rights == ScriptRights::Off) {
        // Their arguments read whatever memory they name, as scripts do.
        let doing = format!("reading the probe `{}`", visible(line.as_bytes()));
        let remedy = "Whoever starts the console can allow them with --allow-scripts.";
        return Err(failed(AgentErrorKind::Denied, doing, "probes with arguments are switched off here", remedy));
    }
    let parsed = lines.iter().map(|line| parse(line)).collect::<Result<Vec<_>, _>>()?;
    let mut names = BTreeSet::new();
    for (line, one) in lines.iter().zip(&parsed) {
        if let Some(name) = one.name.filter(|name| !names.insert((*name).to_owned())) {
            return Err(wrong(line, format!("there are two with the name `{name}`"), "Give each its own name."));
        }
    }
    let mut events = Vec::new();
    for (line, one) in lines.iter().zip(&parsed) {
        check_place(line, &one.place, rights)?;
        let name = one.name.map_or_else(|| unused(&one.made_name(), &mut names), str::to_owned);
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
    fn of(line: &str, parsed: &Parsed<'_>, name: String) -> Result<Self, AgentError> {
        let (place, file) = match &parsed.place {
            Place::File { path, offset, rest } => {
                let file = open_user_file(path, None)?;
                if *offset >= file.bytes {
                    let why = format!("the file has {} bytes, and {offset:#x} is behind its end", file.bytes);
                    return Err(wrong(line, why, "Give an offset in the file, as `readelf` and `nm` help to find."));
                }
                // This path leads to the file that was opened, whatever the name leads to by now, and has no spaces.
                let open = path_of(&file.file);
                (format!("{}:{rest}", open.to_string_lossy()), Some(file.file))
            }
            Place::Event { system, name } => (format!("{system}.{name}"), None),
            Place::Function { .. } | Place::Address => (parsed.place_text.to_owned(), None),
        };
        let inside = match parsed.place {
            Place::Function { name, offset } if offset > 0 => Some((name.to_owned(), offset)),
            _ => None,
        };
        Ok(Self {
            kind: parsed.kind(),
            label: parsed.label(&name),
            name,
            given: line.to_owned(),
            letter: parsed.letter.to_owned(),
            rest: format!("{place}{}", parsed.arguments),
            arguments: parsed.arguments.len(),
            inside,
            _file: file,
        })
    }

    /// The line that makes it in a group.
    pub(crate) fn line(&self, group: &str) -> String {
        format!("{}:{group}/{} {}", self.letter, self.name, self.rest)
    }

    /// A line that makes nothing but the same place at another offset of its function, under another name.
    pub(crate) fn line_at(&self, group: &str, name: &str, offset: u64) -> Option<String> {
        let (function, old) = self.inside.as_ref()?;
        let place = self.rest.split(' ').next()?;
        let (before, after) = place.split_once('+')?;
        let end = after.find('%').unwrap_or(after.len());
        let suffix = after.get(end..)?;
        (before.ends_with(function.as_str()) && number(after.get(..end)?) == Some(*old))
            .then(|| format!("{}:{group}/{name} {before}+{offset}{suffix}", self.letter))
    }

    /// The place in the line as it was given, for a place in the line that was made.
    pub(crate) fn place_in_given(&self, group: &str, at: usize) -> usize {
        let arguments = self.line(group).len().saturating_sub(self.arguments);
        let given = self.given.len().saturating_sub(self.arguments);
        match at.checked_sub(arguments) {
            Some(into) => given + into,
            None => self.given.find(' ').map_or(0, |space| space + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(lines: &[&str]) -> Result<Vec<Dynamic>, AgentError> {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        prepare(&lines, ScriptRights::Observe)
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
            ("p:theirs/ vfs_read%return", "p:G/r_vfs_read_0 vfs_read%return", "r_vfs_read_0"),
            ("e:prev sched.sched_switch p=$prev_pid", "e:G/prev sched.sched_switch p=$prev_pid", "prev"),
            ("p ext4:ext4_sync_file", "p:G/p_ext4_sync_file_0 ext4:ext4_sync_file", "p_ext4_sync_file_0"),
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
        assert!(why("r rcu_read_unlock_special").contains("RCU"));
        let address = prepared(&["p 0xffffffff81000000"]).unwrap_err();
        assert_eq!(address.kind, AgentErrorKind::Denied);
        assert!(address.remedy.contains("--allow-unsafe-scripts"));
        assert!(prepare(&["p 0xffffffff81000000".to_owned()], ScriptRights::Change).is_ok());
        assert_eq!(prepare(&["p vfs_read".to_owned()], ScriptRights::Off).unwrap_err().kind, AgentErrorKind::Denied);
    }

    #[test]
    fn p26_files_are_opened_and_named_by_their_descriptor() {
        let own = std::env::current_exe().unwrap();
        let own = own.to_str().unwrap();
        let made = prepared(&[&format!("r:x {own}:0x40%return ret=$retval")]).unwrap().remove(0);
        assert!(made.kind == Kind::Uprobe);
        let line = made.line("G");
        assert!(line.starts_with("r:G/x /proc/self/fd/") && line.ends_with(":0x40%return ret=$retval"), "{line}");
        for bad in ["/etc/passwd:0x10", "/dev/null:0", "/none:0", "/:0"] {
            assert!(prepared(&[&format!("p {bad}")]).is_err(), "{bad}");
        }
        assert!(prepared(&[&format!("p {own}:0xffffffffff")]).unwrap_err().why.contains("behind its end"));
        assert!(prepared(&[&format!("p {own}")]).unwrap_err().why.contains("no offset"));
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
        assert_eq!(made.place_in_given("bathyscope_1", 3), 4);
    }

    #[test]
    fn neighbours_are_asked_for_under_another_name() {
        let made = prepared(&["p:x ext4:ext4_sync_file+0x11%return a=%di"]).unwrap().remove(0);
        assert_eq!(made.line_at("G", "near", 9).unwrap(), "p:G/near ext4:ext4_sync_file+9%return");
        assert_eq!(prepared(&["p:x vfs_read"]).unwrap()[0].line_at("G", "near", 9), None);
    }
}
