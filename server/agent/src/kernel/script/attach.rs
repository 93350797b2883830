//! Making the links of a script.
//!
//! Several probes of one place run in the script's order. Where the kernel puts what is attached last at the front, links
//! are made in the opposite order. The first links are made in small steps, so that what fails for all fails once.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use bathyscope_protocol::{AgentError, AgentErrorKind, ProbeFailure};

use super::points::{ScriptAttachment, Way, no_link};
use crate::{
    error::kind_of,
    guard::SECOND_STAGE,
    kernel::user_file::path_of,
    os::{
        bpf::links::{self, UprobeSite},
        perf::Event,
    },
};

/// What keeps a program attached.
#[derive(Debug)]
pub(super) struct Link {
    /// Itself.
    pub(super) fd: OwnedFd,
    /// If it is at functions of the kernel, which count what they miss: the first one's index in the plan's probes.
    pub(super) counts_missed: Option<u32>,
}

/// What came of making the links.
#[derive(Debug, Default)]
pub(super) struct Attached {
    /// The links.
    pub(super) links: Vec<Link>,
    /// Attach points that are attached.
    pub(super) points: usize,
    /// Those that are not.
    pub(super) failed: Vec<ProbeFailure>,
    /// Why the rest was not tried, if what was attached was too dear already.
    pub(super) too_dear: Option<AgentError>,
}

/// Makes the links of all attachments. `doing` tells what attaching to a probe is called. Ends early if something fails
/// that would fail for the others too, or if `check` fails, which is asked after the first point and after some more (P23)
/// where there are many.
pub(super) fn attach_all(
    attachments: &[ScriptAttachment],
    doing: &dyn Fn(u32) -> String,
    check: &mut dyn FnMut(usize) -> Result<(), AgentError>,
) -> Attached {
    let mut attached = Attached::default();
    let forwards = attachments.iter().filter(|one| !one.last_runs_first);
    let backwards = attachments.iter().rev().filter(|one| one.last_runs_first);
    let all: usize = attachments.iter().map(|attachment| attachment.probes.len()).sum();
    let mut stages: &[usize] = if all > SECOND_STAGE { &[1, SECOND_STAGE] } else { &[] };
    for attachment in forwards.chain(backwards) {
        let (mut done, length) = (0, attachment.probes.len());
        while done < length {
            let stage = stages.first().filter(|_| attachment.way.is_divisible());
            let until = stage.map_or(length, |stage| (done + stage.saturating_sub(attached.points)).min(length));
            attached.add_part(attachment, done..until.max(done + 1), doing);
            done = until.max(done + 1);
            if stages.first().is_some_and(|stage| attached.points >= *stage) {
                stages = stages.get(1..).unwrap_or_default();
                if let Err(error) = check(attached.points) {
                    attached.too_dear = Some(error);
                    return attached;
                }
            }
        }
        let hopeless = attached.failed.last().is_some_and(|failure| failure.error.kind == AgentErrorKind::Denied);
        if hopeless {
            break;
        }
    }
    attached
}

impl Attached {
    /// Attaches some probes of an attachment with one link; if that fails, each half by itself, down to what is at fault.
    fn add_part(&mut self, attachment: &ScriptAttachment, part: std::ops::Range<usize>, doing: &dyn Fn(u32) -> String) {
        match link(attachment, part.clone()) {
            Ok(links) => {
                let first = attachment.probes.get(part.start).copied();
                let counts_missed = first.filter(|_| attachment.way.counts_missed());
                self.links.extend(links.into_iter().map(|fd| Link { fd, counts_missed }));
                self.points += part.len();
            }
            Err(error) if part.len() <= 1 || !attachment.way.is_divisible() || is_for_all(&error) => {
                let probes = attachment.probes.get(part).unwrap_or_default();
                let failure = |probe: &u32| {
                    let error: AgentError = no_link(&attachment.way, doing(*probe), &error);
                    ProbeFailure { probe: *probe, error }
                };
                self.failed.extend(probes.iter().map(failure));
            }
            Err(_some_of_them) => {
                let middle = part.start + part.len() / 2;
                self.add_part(attachment, part.start..middle, doing);
                self.add_part(attachment, middle..part.end, doing);
            }
        }
    }
}

/// Whether an error has nothing to do with which places are probed.
fn is_for_all(error: &io::Error) -> bool {
    matches!(kind_of(error), AgentErrorKind::Denied | AgentErrorKind::Limit)
}

fn link(attachment: &ScriptAttachment, part: std::ops::Range<usize>) -> io::Result<Vec<OwnedFd>> {
    let program = attachment.program.as_fd();
    let probes = attachment.probes.get(part.clone()).unwrap_or_default();
    let cookie = probes.first().copied().map_or(0, u64::from);
    match &attachment.way {
        Way::Event { event, .. } => Ok(vec![links::perf_event(program, event, cookie)?]),
        Way::Sampling(events) => {
            let links = events.iter().map(|event| links::perf_event(program, event, cookie));
            let links = links.collect::<io::Result<Vec<_>>>()?;
            events.iter().try_for_each(Event::enable)?;
            Ok(links)
        }
        Way::Typed { attach } => Ok(vec![match links::typed(program, *attach, cookie) {
            Ok(link) => link,
            // Before 6.10 typed raw tracepoints are only attached in another way, without a cookie.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => links::raw_tracepoint(program)?,
            Err(error) => return Err(error),
        }]),
        Way::KprobeMulti { functions, exit } => {
            let functions = functions.get(part).unwrap_or_default().iter().map(std::ffi::CString::as_c_str);
            let functions: Vec<(&CStr, u64)> = functions.zip(probes.iter().copied().map(u64::from)).collect();
            Ok(vec![links::kprobe_multi(program, &functions, *exit)?])
        }
        Way::UprobeMulti { file, places, exit, pid } => {
            let places: &[UprobeSite] = places.get(part).unwrap_or_default();
            Ok(vec![links::uprobe_multi(program, &path_of(file), places, *exit, *pid)?])
        }
    }
}
