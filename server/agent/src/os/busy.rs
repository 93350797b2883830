//! Who has a probe that cannot be had: a probe in a program is used by ftrace or by perf, and not by both.

use bathyscope_capture::{TracepointName, visible};
use bathyscope_protocol::{AgentError, AgentErrorKind};

use super::owner::Owner;
use crate::{error::failed, os::tracefs::Tracefs};

/// The most processes that are named.
const MOST_NAMED: usize = 4;
/// What the link of a perf event's descriptor says.
const PERF_EVENT: &str = "anon_inode:[perf_event]";

/// The error for an event that the kernel does not give because it is in use in the other way (EINTR).
pub(crate) fn busy(doing: String, event: &TracepointName) -> AgentError {
    let by_ftrace = instances_with(event);
    let (why, remedy) = if by_ftrace.is_empty() {
        let held = match perf_users().as_slice() {
            [] => "another process".to_owned(),
            users => format!("one of {}", users.join(", ")),
        };
        (
            format!("{event} is in use by perf, in {held}, and the kernel lets ftrace not have it too"),
            "End that first, or count or sample the event: `bathyscope stat -e` and `profile -e` use perf as well.",
        )
    } else {
        (
            format!(
                "{event} is in use by ftrace, in {}, and the kernel lets perf not have it too",
                by_ftrace.join(", ")
            ),
            "End that first, or record the event's rows: `bathyscope record -e` uses ftrace as well.",
        )
    };
    failed(AgentErrorKind::Limit, doing, why, remedy)
}

/// The instances of ftrace in which the event is on, in words.
fn instances_with(event: &TracepointName) -> Vec<String> {
    let Ok(tracefs) = Tracefs::find() else { return Vec::new() };
    let is_on = |place: &str| {
        let file = format!("{place}events/{}/{}/enable", event.system(), event.name());
        // The kernel shows `1*` where it is on in a special way.
        tracefs.read(&file).is_ok_and(|text| text.trim() != "0")
    };
    let machine = is_on("").then(|| "the machine's own instance".to_owned());
    let others = tracefs.instances().into_iter().filter(|name| is_on(&format!("instances/{name}/")));
    let named = others.map(|name| match Owner::of_name(&name, '-') {
        Some(owner) => format!("a capture of Bathyscope's agent {}", owner.pid),
        None => format!("the instance `{}`", visible(name.as_bytes())),
    });
    machine.into_iter().chain(named).collect()
}

/// Other processes that have perf events open, by name and number; which events the kernel does not tell.
fn perf_users() -> Vec<String> {
    let own = std::process::id();
    let pids = std::fs::read_dir("/proc").into_iter().flatten();
    let pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let has_events = |pid: &u32| {
        let mut files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
        files.any(|file| {
            file.ok()
                .and_then(|file| std::fs::read_link(file.path()).ok())
                .is_some_and(|link| link.as_os_str() == PERF_EVENT)
        })
    };
    let named = |pid: u32| {
        let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        format!("{} ({pid})", visible(name.trim_ascii_end()))
    };
    pids.filter(|pid| *pid != own).filter(has_events).take(MOST_NAMED).map(named).collect()
}
