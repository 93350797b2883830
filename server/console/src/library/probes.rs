//! Probes that are kept by name: added, listed and deleted as with `perf probe`, and put into captures that name them. Between captures
//! nothing of them is in the kernel.

use bathyscope_capture::{CaptureSpec, CountSpec, DynamicProbe, Method, TraceSpec};
use bathyscope_catalog::matches_wildcards;
use bathyscope_commands::KeptProbe;
use bathyscope_store::{LibraryEntry, LibraryItem, LibraryKind, Store};

use super::{LibraryError, LibraryUser, NewKept, delete, keep, probe_of, probe_text, text::kernel_line};

const KIND: LibraryKind = LibraryKind::Probe;
/// How many names `--force` tries, as perf does.
const MAX_SUFFIX: u32 = 1024;

/// What is asked of kept probes, as `perf probe` is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeChanges {
    /// Definitions to keep.
    pub add: Vec<DynamicProbe>,
    /// Names and patterns of those to delete.
    pub remove: Vec<String>,
    /// Whether one whose name is taken gets another name.
    pub force: bool,
    /// Whether it is only told what would be done.
    pub dry_run: bool,
}

/// What was done, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedProbes {
    /// Names of those that are kept now, with their texts.
    pub added: Vec<(String, String)>,
    /// Names of those that were kept before exactly so.
    pub already: Vec<String>,
    /// Those that are deleted; they can be brought back.
    pub removed: Vec<LibraryEntry>,
}

/// Keeps and deletes probes. Everything is checked before anything is done. A pattern deletes one's own; a whole name that of somebody
/// else too, if `who` may.
///
/// # Errors
/// A definition that cannot be kept, a name that is taken, or a pattern that matches nothing.
pub async fn change_probes(
    store: &Store,
    who: LibraryUser<'_>,
    changes: ProbeChanges,
) -> Result<ChangedProbes, LibraryError> {
    let ProbeChanges { add, remove, force, dry_run } = changes;
    let known = store.kept_of(who.reader(), KIND).await?;
    let mut done = ChangedProbes::default();
    for pattern in &remove {
        let found = matching(pattern, &known, who);
        if found.is_empty() {
            return Err(LibraryError::missing(KIND, pattern, &known));
        }
        done.removed.extend(found.into_iter().map(|item| item.entry.clone()));
    }
    done.removed.sort_by_key(|entry| entry.id);
    done.removed.dedup_by_key(|entry| entry.id);
    for probe in add {
        let removed: Vec<u32> = done.removed.iter().map(|entry| entry.id).collect();
        let own = known.iter().filter(|item| item.entry.owner == who.user && !removed.contains(&item.entry.id));
        place(probe, &own.collect::<Vec<_>>(), force, &mut done)?;
    }
    if dry_run {
        return Ok(done);
    }
    for entry in &done.removed {
        delete(store, who, entry.id).await?;
    }
    for (_, text) in &done.added {
        let new = NewKept {
            kind: KIND,
            name: String::new(),
            description: String::new(),
            tags: Vec::new(),
            shared: false,
            text: text.clone(),
        };
        keep(store, who, new).await?;
    }
    Ok(done)
}

/// Finds a name for a definition among one's own.
fn place(probe: DynamicProbe, own: &[&LibraryItem], force: bool, done: &mut ChangedProbes) -> Result<(), LibraryError> {
    let text = probe_text(&DynamicProbe { line: None, ..probe });
    let (probe, name) = probe_of(&text)?;
    let is_taken = |name: &str, added: &[(String, String)]| {
        own.iter().any(|item| item.entry.name == name) || added.iter().any(|(known, _)| known == name)
    };
    let same = own.iter().any(|item| item.entry.name == name && item.text == text)
        || done.added.iter().any(|(known, before)| *known == name && *before == text);
    if same && !force {
        done.already.push(name);
        return Ok(());
    }
    if !is_taken(&name, &done.added) {
        done.added.push((name, text));
        return Ok(());
    }
    if !force {
        let remedy = "delete it first, or add --force to keep this one under another name".to_owned();
        return Err(LibraryError::Exists { kind: KIND.as_str(), name, remedy });
    }
    for number in 1..MAX_SUFFIX {
        let other = format!("{name}_{number}");
        if !is_taken(&other, &done.added) {
            let typed = renamed(&probe.typed, &other);
            let text = probe_text(&DynamicProbe { typed, file: probe.file, line: None });
            let (_, name) = probe_of(&text)?;
            done.added.push((name, text));
            return Ok(());
        }
    }
    Err(LibraryError::Exists { kind: KIND.as_str(), name, remedy: "choose another name".to_owned() })
}

/// A definition whose event has another name, `GROUP:NAME`.
fn renamed(typed: &str, name: &str) -> String {
    if kernel_line(typed).is_some() {
        let (kind, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        let letter = kind.split(':').next().unwrap_or_default();
        return format!("{letter}:{} {}", name.replacen(':', "/", 1), rest.trim_start());
    }
    let bare = typed.split_once('=').filter(|(names, _)| !names.contains(char::is_whitespace));
    format!("{name}={}", bare.map_or(typed, |(_, place)| place))
}

/// Those that a name or pattern means to somebody who deletes them.
fn matching<'a>(pattern: &str, known: &'a [LibraryItem], who: LibraryUser<'_>) -> Vec<&'a LibraryItem> {
    let named = known.iter().filter(|item| is_named(pattern, &item.entry.name));
    let own: Vec<&LibraryItem> = named.clone().filter(|item| item.entry.owner == who.user).collect();
    let is_pattern = pattern.contains(['*', '?', '[']);
    if own.is_empty() && who.may_change_all && !is_pattern { named.collect() } else { own }
}

/// Whether a name or pattern, with or without the group, is that of a probe.
fn is_named(pattern: &str, name: &str) -> bool {
    let event = name.split_once(':').map_or(name, |(_, event)| event);
    matches_wildcards(pattern, name) || matches_wildcards(pattern, event)
}

/// The probes that somebody may use, each name once: one's own go before those that are shared. What cannot be read is logged and left
/// out.
///
/// # Errors
/// The database's.
pub async fn kept_probes(store: &Store, who: LibraryUser<'_>) -> Result<Vec<KeptProbe>, LibraryError> {
    let items = store.kept_of(who.reader(), KIND).await?;
    let mut probes: Vec<KeptProbe> = Vec::new();
    for item in &items {
        if probes.iter().any(|known| known.name == item.entry.name) {
            continue;
        }
        let Some(meant) = who.meant(&item.entry.name, &items) else { continue };
        match probe_of(&meant.text) {
            Ok((probe, name)) => probes.push(KeptProbe { name, probe }),
            Err(error) => tracing::warn!(%error, name = meant.entry.name, "a kept probe is left out"),
        }
    }
    Ok(probes)
}

/// A spec in which names and patterns of kept probes are the probes that they mean, and the names of those that were put in. Events
/// that the kernel has itself stay as they are: `is_event` tells which.
pub fn expanded(spec: CaptureSpec, kept: &[KeptProbe], is_event: &dyn Fn(&str) -> bool) -> (CaptureSpec, Vec<String>) {
    let mut spec = spec;
    let mut put_in = Vec::new();
    for source in &mut spec.sources {
        if let Some(mut count) = source.method.counts().cloned() {
            of_count(&mut count, kept, is_event, &mut put_in);
            source.method = Method::Count(count);
        } else if let Some(mut trace) = source.method.trace().cloned() {
            of_trace(&mut trace, kept, is_event, &mut put_in);
            source.method = Method::Trace(trace);
        }
    }
    (spec, put_in)
}

/// A line that names kept probes where definitions stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamingLine {
    /// Bytes before the name in all of the text.
    pub start: usize,
    /// The name, or a pattern of names.
    pub name: String,
    /// The probes that it means.
    pub probes: Vec<KeptProbe>,
}

/// A text of definitions with blanks in place of the lines that name kept probes, so that places in it stay, and those lines.
pub fn naming_lines(text: &str, kept: &[KeptProbe]) -> (String, Vec<NamingLine>) {
    let (mut plain, mut found) = (String::with_capacity(text.len()), Vec::new());
    for line in text.split_inclusive('\n') {
        let name = line.trim();
        let probes: Vec<KeptProbe> = match name.contains(char::is_whitespace) {
            true => Vec::new(),
            false => named(name, kept).cloned().collect(),
        };
        if probes.is_empty() {
            plain.push_str(line);
            continue;
        }
        let before = line.len() - line.trim_start().len();
        found.push(NamingLine { start: plain.len() + before, name: name.to_owned(), probes });
        let blanks = line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' });
        plain.extend(blanks);
    }
    (plain, found)
}

/// The kept probes that a text names: by the whole name, or a pattern of it.
fn named<'a>(text: &str, kept: &'a [KeptProbe]) -> impl Iterator<Item = &'a KeptProbe> {
    kept.iter().filter(move |one| text.contains(':') && matches_wildcards(text, &one.name))
}

fn add(dynamic: &mut Vec<DynamicProbe>, one: &KeptProbe, put_in: &mut Vec<String>) {
    let is_there = |known: &DynamicProbe| known.typed == one.probe.typed && known.file == one.probe.file;
    if !dynamic.iter().any(is_there) {
        dynamic.push(one.probe.clone());
    }
    if !put_in.contains(&one.name) {
        put_in.push(one.name.clone());
    }
}

fn of_count(count: &mut CountSpec, kept: &[KeptProbe], is_event: &dyn Fn(&str) -> bool, put_in: &mut Vec<String>) {
    let dynamic = &mut count.dynamic;
    for group in &mut count.groups {
        group.retain(|event| {
            let found: Vec<&KeptProbe> = if is_event(event) { Vec::new() } else { named(event, kept).collect() };
            found.iter().for_each(|one| add(dynamic, one, put_in));
            found.is_empty()
        });
    }
    count.groups.retain(|group| !group.is_empty());
}

fn of_trace(trace: &mut TraceSpec, kept: &[KeptProbe], is_event: &dyn Fn(&str) -> bool, put_in: &mut Vec<String>) {
    let (dynamic, events) = (&mut trace.dynamic, &mut trace.events);
    events.retain(|event| {
        let name = event.event.to_string();
        let found = kept.iter().find(|one| one.name == name && event.filter.is_none() && !is_event(&name));
        if let Some(one) = found {
            add(dynamic, one, put_in);
        }
        found.is_none()
    });
    // A line of a definition that is the name of a kept one, or a pattern.
    let typed = std::mem::take(dynamic);
    for probe in typed {
        let is_name = probe.file.is_none() && !probe.typed.contains(char::is_whitespace);
        let name = probe.typed.trim();
        let found: Vec<&KeptProbe> = if is_name { named(name, kept).collect() } else { Vec::new() };
        found.iter().for_each(|one| add(dynamic, one, put_in));
        if found.is_empty() {
            dynamic.push(probe);
        }
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::Target;

    use super::*;

    fn kept(text: &str) -> KeptProbe {
        let (probe, name) = probe_of(text).unwrap();
        KeptProbe { name, probe }
    }

    #[test]
    fn names_and_patterns_are_the_probes_that_they_mean() {
        let kept = ["vfs_read count", "vfs_write", "-x libc malloc"].map(kept);
        let is_event = |name: &str| name == "sched:sched_switch";
        let count = CountSpec {
            groups: vec![vec!["probe:vfs_*".to_owned()], vec!["cs".to_owned(), "probe_libc:malloc".to_owned()]],
            ..CountSpec::default()
        };
        let trace = TraceSpec {
            events: ["sched:sched_switch", "probe:vfs_read"]
                .map(|name| bathyscope_capture::TraceEvent { event: name.parse().unwrap(), filter: None })
                .to_vec(),
            dynamic: ["probe*:mal*", "do_exit", "probe:nothing*"].map(DynamicProbe::from).to_vec(),
            ..TraceSpec::default()
        };
        let mut spec = CaptureSpec::of(Method::Count(count), Target::System);
        spec.sources.push(bathyscope_capture::SourceSpec::of(Method::Trace(trace)));
        let (spec, put_in) = expanded(spec, &kept, &is_event);
        let typed = |probes: &[DynamicProbe]| probes.iter().map(|one| one.typed.clone()).collect::<Vec<_>>().join("; ");
        let [count, trace] = spec.sources.as_slice() else { panic!() };
        let count = count.method.counts().unwrap();
        assert_eq!(
            (count.groups.as_slice(), typed(&count.dynamic).as_str()),
            ([vec!["cs".to_owned()]].as_slice(), "vfs_read count; vfs_write; malloc")
        );
        let trace = trace.method.trace().unwrap();
        assert_eq!(
            (trace.events.len(), typed(&trace.dynamic).as_str()),
            (1, "malloc; do_exit; probe:nothing*; vfs_read count")
        );
        assert_eq!(put_in, ["probe:vfs_read", "probe:vfs_write", "probe_libc:malloc"]);
    }

    #[test]
    fn a_taken_name_is_refused_or_another_is_found() {
        let mut done = ChangedProbes::default();
        let add = |text: &str, force: bool, done: &mut ChangedProbes| {
            place(probe_of(text).unwrap().0, &[], force, done).map_err(|error| error.to_string())
        };
        add("vfs_read count", false, &mut done).unwrap();
        add("vfs_read count", false, &mut done).unwrap();
        assert_eq!(done.already, ["probe:vfs_read"]);
        assert!(add("vfs_read", false, &mut done).unwrap_err().contains("--force"));
        add("vfs_read", true, &mut done).unwrap();
        add("vfs_read=vfs_write", true, &mut done).unwrap();
        add("-x bash readline", false, &mut done).unwrap();
        add("-x bash readline%return", true, &mut done).unwrap();
        add("p:mine vfs_read %di", false, &mut done).unwrap();
        add("p:mine vfs_write", true, &mut done).unwrap();
        let names: Vec<&str> = done.added.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "probe:vfs_read",
                "probe:vfs_read_1",
                "probe:vfs_read_2",
                "probe_bash:readline",
                "probe_bash:readline__return",
                "kprobes:mine",
                "kprobes:mine_1"
            ]
        );
        assert_eq!(done.added[6].1, "p:kprobes/mine_1 vfs_write");
        assert_eq!(done.added[2].1, "probe:vfs_read_2=vfs_write");
    }

    #[test]
    fn lines_that_name_kept_probes_are_taken_out_and_places_stay() {
        let kept = ["vfs_read count", "vfs_write", "p:mine vfs_open"].map(kept);
        let text = "do_exit\n  probe:vfs_* \nprobe:other\nkprobes:mine\nvfs_read name=comm";
        let (plain, found) = naming_lines(text, &kept);
        assert_eq!(plain, "do_exit\n              \nprobe:other\n            \nvfs_read name=comm");
        let told: Vec<(usize, &str, usize)> =
            found.iter().map(|line| (line.start, line.name.as_str(), line.probes.len())).collect();
        assert_eq!(told, [(10, "probe:vfs_*", 2), (35, "kprobes:mine", 1)]);
    }

    #[test]
    fn names_are_meant_with_and_without_their_group() {
        for (pattern, name, is) in [
            ("probe:vfs_read", "probe:vfs_read", true),
            ("vfs_*", "probe:vfs_read", true),
            ("*", "probe_libc:malloc", true),
            ("probe:*", "probe_libc:malloc", false),
            ("vfs", "probe:vfs_read", false),
        ] {
            assert_eq!(is_named(pattern, name), is, "{pattern} {name}");
        }
    }
}
