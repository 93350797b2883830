//! Which calls are rows, where others are recorded only for what they tell of descriptors.
//!
//! What a descriptor is follows from the calls that open, copy and close it. Where descriptors are shown, or asked for by a
//! filter, such calls are recorded with whatever is asked for, whether or not they are to be shown: else a descriptor would
//! be shown with the file that it was before.

use std::collections::BTreeSet;

use bathyscope_capture::{SyscallOutcome, SyscallSpec};
use bathyscope_catalog::{
    constants::Arch,
    syscalls::{Call, error_of, opening, select},
};
use bathyscope_decode::calls::CallRecord;

use super::{facts::places, files::path_of};
use bathyscope_formats::CallFilter;

/// What is asked of calls that are recorded besides.
#[derive(Clone, Debug)]
pub(super) struct ShownCalls {
    /// Numbers of the calls that are recorded whatever is asked for.
    besides: BTreeSet<i64>,
    /// Of these, the ones that are asked for.
    calls: BTreeSet<i64>,
    outcome: SyscallOutcome,
    least_ns: u64,
    path: Option<String>,
}

impl ShownCalls {
    /// None where all that is recorded is shown. `filter` is that of the spec.
    pub(super) fn of(spec: &SyscallSpec, filter: Option<&CallFilter>) -> Option<Self> {
        let is_narrow = !spec.calls.is_empty()
            || spec.outcome != SyscallOutcome::Any
            || spec.min_duration_ns > 0
            || spec.path.is_some();
        let of_files = || filter.is_some_and(CallFilter::asks_for_files);
        if !is_narrow || !spec.fd_paths && !of_files() {
            return None;
        }
        let words = if spec.calls.is_empty() { "all".to_owned() } else { spec.calls.join(",") };
        let asked = select(Arch::HOST, &words).unwrap_or_default();
        let besides = opening(Arch::HOST);
        Some(Self {
            calls: besides.intersection(&asked).copied().collect(),
            besides,
            outcome: spec.outcome,
            least_ns: spec.min_duration_ns,
            path: spec.path.clone(),
        })
    }

    /// Whether a call is shown. Of others than those that are recorded besides the kernel has decided.
    pub(super) fn shows(&self, record: &CallRecord<'_>, call: &Call<'_>) -> bool {
        if !self.besides.contains(&call.number) {
            return true;
        }
        // What has not returned has neither failed nor succeeded.
        let outcome = match (self.outcome, record.result) {
            (SyscallOutcome::Any, _) => true,
            (_, None) => false,
            (SyscallOutcome::Failed, Some(result)) => is_error(result),
            (SyscallOutcome::Succeeded, Some(result)) => !is_error(result),
        };
        let path = || {
            let Some(wanted) = &self.path else { return true };
            let (_, paths) = places(call);
            paths.into_iter().any(|(at, _)| path_of(call, at).is_some_and(|path| path.starts_with(wanted.as_str())))
        };
        self.calls.contains(&call.number) && outcome && record.duration_ns >= self.least_ns && path()
    }
}

fn is_error(result: i64) -> bool {
    (-4095..0).contains(&result) || error_of(result).is_some()
}

#[cfg(test)]
mod tests {
    use bathyscope_catalog::{constants::syscall_number, syscalls::Piece};
    use bathyscope_decode::calls::CallEvent;

    use super::{super::filter_of, *};

    fn spec(calls: &[&str]) -> SyscallSpec {
        SyscallSpec { calls: calls.iter().map(|it| (*it).to_owned()).collect(), ..SyscallSpec::default() }
    }

    fn of(spec: &SyscallSpec) -> Option<ShownCalls> {
        ShownCalls::of(spec, filter_of(spec).unwrap().as_ref())
    }

    fn shows(spec: &SyscallSpec, name: &str, result: Option<i64>, duration_ns: u64) -> bool {
        let number = syscall_number(Arch::HOST, name).unwrap();
        let pieces = vec![Piece { argument: 1, part: 0, exit: false, bytes: Some(b"/etc/hosts\0") }];
        let record = CallRecord {
            what: if result.is_some() { CallEvent::Call } else { CallEvent::Unfinished },
            start_ns: 0,
            duration_ns,
            result,
            pid: 1,
            tid: 1,
            number: u32::try_from(number).unwrap(),
            cpu: 0,
            arguments: [0; 6],
            comm: b"",
            has_entry: true,
            pieces,
            content: &[],
            inside: None,
            address: None,
        };
        of(spec).is_none_or(|shown| shown.shows(&record, &record.call()))
    }

    #[test]
    fn calls_that_open_are_rows_only_where_they_are_asked_for() {
        assert!(of(&spec(&[])).is_none());
        assert!(of(&SyscallSpec { fd_paths: false, ..spec(&["read"]) }).is_none());
        let of_file = SyscallSpec { filter: Some("fd.name=/etc/hosts".to_owned()), ..spec(&["read"]) };
        assert!(of(&SyscallSpec { fd_paths: false, ..of_file }).is_some());
        let of_result = SyscallSpec { filter: Some("evt.res=0".to_owned()), fd_paths: false, ..spec(&["read"]) };
        assert!(of(&of_result).is_none());
        assert!(!shows(&spec(&["read"]), "openat", Some(3), 5) && shows(&spec(&["read"]), "read", Some(3), 5));
        assert!(shows(&spec(&["%file"]), "openat", Some(3), 5) && !shows(&spec(&["!openat"]), "openat", Some(3), 5));
    }

    #[test]
    fn what_is_asked_of_a_call_is_asked_of_those_that_are_recorded_besides() {
        let failed = SyscallSpec { outcome: SyscallOutcome::Failed, ..spec(&[]) };
        assert!(shows(&failed, "openat", Some(-2), 5) && !shows(&failed, "openat", Some(3), 5));
        assert!(!shows(&failed, "openat", None, 5));
        let slow = SyscallSpec { min_duration_ns: 6, ..spec(&[]) };
        assert!(shows(&slow, "openat", Some(3), 6) && !shows(&slow, "openat", Some(3), 5));
        let path = |path: &str| SyscallSpec { path: Some(path.to_owned()), ..spec(&[]) };
        assert!(shows(&path("/etc/"), "openat", Some(3), 5) && !shows(&path("/usr"), "openat", Some(3), 5));
        assert!(!shows(&path("/etc/"), "close", Some(0), 5));
    }
}
