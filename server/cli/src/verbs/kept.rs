//! Probes that are kept by name, for the verbs that record events.

use std::path::Path;

use bathyscope_capture::{DynamicProbe, TracepointName, shown};
use bathyscope_catalog::matches_wildcards;
use bathyscope_commands::KeptProbe;
use bathyscope_console::library::{LibraryUser, is_group_of_kept, kept_probes};
use bathyscope_store::StoreError;

use super::open;
use crate::Failure;

/// Whether what stands behind `-e` can name a kept probe, by its group. A script has blanks and braces.
pub(super) fn may_be_kept(event: &str) -> bool {
    let is_script = event.contains(|letter: char| letter.is_whitespace() || letter == '{');
    !is_script && event.split_once(':').is_some_and(|(group, _)| is_group_of_kept(group))
}

/// Whether one of the events of a list, as perf writes it, can name a kept probe.
pub(super) fn list_may_be_kept(list: &str) -> bool {
    list.split([',', '{', '}']).any(|event| may_be_kept(event.trim()))
}

/// The names of kept probes that a name or pattern means.
pub(super) fn names_of(event: &str, kept: &[KeptProbe]) -> Vec<String> {
    let named = kept.iter().filter(|one| may_be_kept(event) && matches_wildcards(event, &one.name));
    named.map(|one| one.name.clone()).collect()
}

/// The kept probes of the database in `dir`; none where there is none yet. Works while a console runs.
///
/// # Errors
/// If the database cannot be read.
pub(super) async fn kept_in(dir: &Path) -> Result<Vec<KeptProbe>, Failure> {
    let reading = |error: &dyn std::fmt::Display| Failure::new(format!("reading the kept probes: {error}"));
    let store = match open::for_reading(dir).await {
        Err(StoreError::NoDirectory { .. }) => return Ok(Vec::new()),
        opened => opened.map_err(|error| reading(&error))?,
    };
    let kept = kept_probes(&store, LibraryUser::TERMINAL).await;
    store.close().await;
    kept.map_err(|error| reading(&error))
}

/// Takes those `-e` out that name kept probes and no event of the kernel; gives the probes.
///
/// # Errors
/// A filter behind one: probes are recorded whole.
pub(super) fn taken(
    events: &mut Vec<(String, Option<String>)>,
    kept: &[KeptProbe],
    available: &[TracepointName],
) -> Result<Vec<DynamicProbe>, Failure> {
    let mut probes: Vec<DynamicProbe> = Vec::new();
    let mut others = Vec::with_capacity(events.len());
    for (event, filter) in std::mem::take(events) {
        let is_there = || available.iter().any(|name| matches_wildcards(&event, &name.to_string()));
        let named: Vec<&KeptProbe> = kept.iter().filter(|one| matches_wildcards(&event, &one.name)).collect();
        if !may_be_kept(&event) || named.is_empty() || is_there() {
            others.push((event, filter));
            continue;
        }
        if filter.is_some() {
            let why = format!("`{}` is a kept probe, which takes no filter", shown(&event));
            return Err(Failure::new(why).remedy("Remove -f, and filter the rows: `bathyscope report -F`."));
        }
        for one in named {
            if !probes.contains(&one.probe) {
                probes.push(one.probe.clone());
            }
        }
    }
    *events = others;
    Ok(probes)
}

#[cfg(test)]
mod tests {
    use bathyscope_console::library::probe_of;

    use super::*;

    #[test]
    fn events_that_name_kept_probes_are_taken_out() {
        let kept: Vec<KeptProbe> = ["vfs_read count", "vfs_write", "-x libc malloc"]
            .iter()
            .map(|text| {
                let (probe, name) = probe_of(text).unwrap();
                KeptProbe { name, probe }
            })
            .collect();
        let there: Vec<TracepointName> = vec!["probe:there".parse().unwrap(), "sched:sched_switch".parse().unwrap()];
        let taken = |names: &[&str]| {
            let mut events: Vec<(String, Option<String>)> =
                names.iter().map(|name| ((*name).to_owned(), None)).collect();
            let probes = taken(&mut events, &kept, &there).unwrap();
            let typed: Vec<String> = probes.into_iter().map(|one| one.typed).collect();
            (typed.join("; "), events.into_iter().map(|(event, _)| event).collect::<Vec<_>>().join(" "))
        };
        let cases = [
            (&["probe:vfs_read", "sched:sched_switch"][..], "vfs_read count", "sched:sched_switch"),
            (&["probe:vfs_*"], "vfs_read count; vfs_write", ""),
            (&["probe*:*"], "", "probe*:*"),
            (&["probe_libc:malloc", "probe:there"], "malloc", "probe:there"),
            (&["probe:other"], "", "probe:other"),
        ];
        for (names, probes, others) in cases {
            assert_eq!(taken(names), (probes.to_owned(), others.to_owned()), "{names:?}");
        }
        let mut filtered = vec![("probe:vfs_read".to_owned(), Some("count > 1".to_owned()))];
        let error = super::taken(&mut filtered, &kept, &there).unwrap_err().report();
        assert!(error.contains("takes no filter"), "{error}");
    }
}
