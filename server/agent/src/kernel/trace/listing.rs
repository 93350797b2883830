//! The dynamic events that there are on the host, whoever made them, and what limits making more.

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
};

use bathyscope_catalog::dynamic::{DynamicDefinition, Line, ProbeSite, parse_dynamic};
use bathyscope_protocol::{AgentError, AgentErrorKind, DynamicEvent, DynamicEvents, EventOwner, ProbeLimit};

use super::{
    area::remedy_of,
    counters::{Hits, all_hits},
};
use crate::{
    error::{failed, refused},
    lockdown::{self, Lockdown},
    needs::Need,
    os::{owner::Owner, tracefs::Tracefs},
};

/// Bytes of `endbr64`.
const MARK_BYTES: u64 = 4;
/// The most events that are told of.
const MAX_EVENTS: usize = 10_000;
/// Whether breakpoints may be replaced by jumps.
const OPTIMIZATION: &str = "/proc/sys/debug/kprobes-optimization";
/// The probes of the kernel's own code, with what became of each.
const KPROBES: &str = "/sys/kernel/debug/kprobes/list";

/// The events that anyone has made at functions of the kernel or of programs, by system and name; none where they cannot be
/// listed.
pub(crate) fn probe_events() -> Vec<(String, String)> {
    let Ok(tracefs) = Tracefs::find() else { return Vec::new() };
    let read = |file: &str| tracefs.read(file).unwrap_or_default();
    let lines = ["kprobe_events", "uprobe_events"].map(read);
    lines.iter().flat_map(|text| text.lines()).filter_map(name_of).collect()
}

/// Lists them.
pub(crate) fn dynamic_events() -> Result<DynamicEvents, AgentError> {
    let tracefs = Tracefs::find()?;
    let read = |file: &str| match tracefs.read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|error| refused(format!("reading {file}"), &error, remedy_of(&error))),
    };
    let lines = read("dynamic_events")?;
    let mut counted = all_hits(&read("kprobe_events")?, &read("kprobe_profile")?);
    // The kernel counts hits of probes in programs, and never misses one.
    let users = all_hits(&read("uprobe_events")?, &read("uprobe_profile")?);
    let files: Vec<(String, String)> = users.iter().map(|(group, name, _)| (group.clone(), name.clone())).collect();
    counted.extend(users);
    let kprobes = fs::read_to_string(KPROBES).ok();
    let base = kprobes.as_ref().and_then(|_| text_base());
    let this = Owner::this();
    let instances = tracefs.instances();
    let event = |line: &str| {
        let (group, name) = name_of(line)?;
        let hits = counted.iter().find(|(its_group, its_name, _)| (its_group, its_name) == (&group, &name));
        let hits: Option<Hits> = hits.map(|(_, _, hits)| *hits);
        let in_file = files.contains(&(group.clone(), name.clone()));
        let owner = Owner::of_name(&group, '_');
        let detached = owner.as_ref().is_some_and(|owner| is_detached(&tracefs, &instances, owner, &group, &name));
        Some(DynamicEvent {
            detached,
            hits: hits.map(|(hits, _)| hits),
            missed: hits.map(|(_, missed)| missed).filter(|_| !in_file),
            marks: kprobes.as_deref().filter(|_| !in_file).and_then(|list| marks(list, line, base)),
            owner: owner.map(|owner| EventOwner {
                pid: owner.pid,
                this: this.as_ref() == Some(&owner),
                ended: owner.is_dead(),
            }),
            line: line.to_owned(),
            group,
            name,
        })
    };
    let events = lines.lines().filter_map(event).take(MAX_EVENTS).collect();
    Ok(DynamicEvents { events, optimization: optimization(), limits: limits(&tracefs) })
}

/// Whether an event is switched off in all of its maker's instances. Counters have no instance: what they count is on.
fn is_detached(tracefs: &Tracefs, instances: &[String], owner: &Owner, group: &str, name: &str) -> bool {
    let own = instances.iter().filter(|instance| Owner::of_name(instance, '-').as_ref() == Some(owner));
    let files = own.map(|instance| format!("instances/{instance}/events/{group}/{name}/enable"));
    let mut states = files.filter_map(|file| tracefs.read(&file).ok()).peekable();
    states.peek().is_some() && states.all(|state| state.trim() == "0")
}

/// Group and name of a line as the kernel shows it: `p:GROUP/NAME PLACE …`.
fn name_of(line: &str) -> Option<(String, String)> {
    let head = line.split(' ').next()?;
    let (group, name) = head.split_once(':')?.1.split_once('/')?;
    Some((group.to_owned(), name.to_owned()))
}

/// What the list of probes says of the one of an event's line; none if it is not there, as one that is off is not.
fn marks(list: &str, line: &str, base: Option<u64>) -> Option<Vec<String>> {
    let Ok(Line::Define(DynamicDefinition { place, .. })) = parse_dynamic(line) else { return None };
    let returns = matches!(&place, ProbeSite::Function { on: bathyscope_catalog::dynamic::End::Return { .. }, .. });
    let ProbeSite::Function { symbol, offset, .. } = place else { return None };
    // `ffffffff8122a7d0  k  vfs_read+0x0    [FTRACE]`, with the module's name between.
    // Where a function begins with a mark for jumps the kernel moves the probe behind it.
    let behind_mark = format!("{symbol}+{MARK_BYTES:#x}");
    let wanted = format!("{symbol}+{offset:#x}");
    // perf writes all places as bytes behind the kernel's begin.
    let address =
        base.filter(|_| matches!(symbol.as_str(), "_text" | "_stext")).map(|base| base.saturating_add(offset));
    let one = |text: &str| {
        let mut words = text.split_ascii_whitespace();
        let (at, kind, place) = (words.next()?, words.next()?, words.next()?);
        let at = u64::from_str_radix(at, 16).ok()?;
        let is_moved = place.ends_with(&format!("+{MARK_BYTES:#x}"));
        let is_there =
            address.is_some_and(|address| at == address || is_moved && at == address.saturating_add(MARK_BYTES));
        if (place != wanted && !is_there && !(offset == 0 && place == behind_mark)) || (kind == "r") != returns {
            return None;
        }
        let marks = words.filter(|word| word.starts_with('[')).flat_map(|word| word.split(['[', ']']));
        Some(marks.filter(|mark| !mark.is_empty()).map(str::to_owned).collect())
    };
    // A return may be watched in another way than by a probe of this list.
    list.lines().find_map(one)
}

/// Where the kernel's own code begins.
fn text_base() -> Option<u64> {
    let symbols = BufReader::new(fs::File::open("/proc/kallsyms").ok()?);
    let line = symbols.lines().map_while(Result::ok).find(|line| line.ends_with(" _text"))?;
    u64::from_str_radix(line.split(' ').next()?, 16).ok().filter(|base| *base != 0)
}

/// Whether the kernel may optimise its probes; none if it has no such setting.
fn optimization() -> Option<bool> {
    match fs::read_to_string(OPTIMIZATION).ok()?.trim() {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

/// Sets whether the kernel may optimise its probes.
pub(crate) fn optimize_kprobes(on: bool) -> Result<(), AgentError> {
    let doing = "setting debug.kprobes-optimization";
    fs::write(OPTIMIZATION, if on { "1" } else { "0" }).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let remedy = "Use a kernel with CONFIG_OPTPROBES, as distributions have for x86.";
            failed(AgentErrorKind::Unsupported, doing, "this kernel has no probes that it could optimise", remedy)
        }
        _ => refused(doing, &error, remedy_of(&error)),
    })
}

/// What hides symbols or denies probes here, by what the machine says of itself.
fn limits(tracefs: &Tracefs) -> Vec<ProbeLimit> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let mut all = Vec::new();
    let mut add = |name: &str, value: &str, effect: &str, remedy: &str| {
        let [name, value, effect, remedy] = [name, value, effect, remedy].map(str::to_owned);
        all.push(ProbeLimit { name, value, effect, remedy });
    };
    if !tracefs.has("kprobe_events") {
        add(
            "CONFIG_KPROBE_EVENTS",
            "no",
            "Functions of the kernel cannot be probed; functions of programs can.",
            "Use a kernel with it, as distributions have.",
        );
    }
    if let Lockdown::Level(level) = Lockdown::of_this_kernel() {
        let effect = "A kernel that is locked down may refuse probes of its functions and hide its memory.";
        add("lockdown", level, effect, lockdown::REMEDY);
    }
    let hidden = read("/proc/sys/kernel/kptr_restrict");
    if hidden == "2" {
        add(
            "kernel.kptr_restrict",
            &hidden,
            "The kernel hides the addresses of its symbols, so stacks have no names of functions; probes by name work.",
            "Set it with `sysctl kernel.kptr_restrict=1`, which shows them to root.",
        );
    }
    let paranoid = read("/proc/sys/kernel/perf_event_paranoid");
    let administrator = rustix::thread::capabilities(None).is_ok_and(|sets| {
        sets.effective.intersects(rustix::thread::CapabilitySet::SYS_ADMIN | rustix::thread::CapabilitySet::PERFMON)
    });
    if !administrator && paranoid.parse::<i32>().is_ok_and(|level| level > -1) {
        add(
            "kernel.perf_event_paranoid",
            &paranoid,
            "The agent may not count events of the whole machine.",
            &Need::Events.remedy(),
        );
    }
    if read("/sys/kernel/debug/kprobes/enabled") == "0" {
        add(
            "/sys/kernel/debug/kprobes/enabled",
            "0",
            "All probes of the kernel's functions are disarmed: none is hit.",
            "Write 1 to that file.",
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
ffffffff8122a7d0  k  vfs_read+0x0    [FTRACE]
ffffffff8122a7e0  k  vfs_read+0x10    [DISABLED][OPTIMIZED]
ffffffff8122a800  r  vfs_write+0x0
ffffffff8122ac04  k  vfs_open+0x4    [FTRACE]
ffffffffc0000000  k  ext4_sync_file+0x0  ext4 [FTRACE]
";

    #[test]
    fn the_kernels_marks_are_those_of_the_place() {
        let cases: [(&str, Option<&[&str]>); 10] = [
            ("p:g/a vfs_read", Some(&["FTRACE"])),
            ("p:g/a vfs_read+0x10 x=%di", Some(&["DISABLED", "OPTIMIZED"])),
            ("p:g/a vfs_write", None),
            ("r:g/a vfs_write $retval", Some(&[])),
            ("p:g/a ext4:ext4_sync_file", Some(&["FTRACE"])),
            ("p:g/a /bin/true:0x10", None),
            ("p:g/a _text+2271200", Some(&["DISABLED", "OPTIMIZED"])),
            ("p:g/a _text+2271201", None),
            ("p:g/a vfs_open", Some(&["FTRACE"])),
            ("p:g/a _text+2272256", Some(&["FTRACE"])),
        ];
        for (line, expected) in cases {
            let expected = expected.map(|marks| marks.iter().map(|mark| (*mark).to_owned()).collect());
            assert_eq!(marks(LIST, line, Some(0xffff_ffff_8100_0000)), expected, "{line}");
        }
    }

    #[test]
    fn what_is_off_in_all_of_its_makers_instances_is_detached() {
        let directory = std::env::temp_dir().join(format!("bathyscope-listing-{}", std::process::id()));
        let owner = Owner::this().unwrap();
        let (group, instance) = (owner.name('_'), owner.name('-'));
        let events = directory.join("instances").join(&instance).join("events").join(&group);
        for (name, state) in [("on", "1\n"), ("also", "1*\n"), ("off", "0\n")] {
            fs::create_dir_all(events.join(name)).unwrap();
            fs::write(events.join(name).join("enable"), state).unwrap();
        }
        let tracefs = Tracefs::at(&directory).unwrap();
        let instances = [instance, "theirs".to_owned()];
        let detached = |name: &str| is_detached(&tracefs, &instances, &owner, &group, name);
        let found = ["on", "also", "off", "counted"].map(detached);
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(found, [false, false, true, false]);
    }

    #[test]
    fn lines_have_a_group_and_a_name() {
        assert_eq!(name_of("r64:a/b vfs_read"), Some(("a".to_owned(), "b".to_owned())));
        assert_eq!(name_of("s:synthetic/x u32 a"), Some(("synthetic".to_owned(), "x".to_owned())));
        assert_eq!(name_of("nothing"), None);
    }
}
