//! Names in tracefs that tell whose they are: instances and groups of events are named after the process that made them.
//!
//! A process is named by its pid namespace, its id and when it started: no two have had the same three since the machine
//! booted. So from a name alone can be told whether its owner still lives.

use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

/// All names begin so.
const PREFIX: &str = "bathyscope";

/// The process that made something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Owner {
    /// The number of its pid namespace.
    pub(crate) namespace: u64,
    /// Its id in there.
    pub(crate) pid: u32,
    /// When it started, in ticks since boot.
    pub(crate) ticks: u64,
}

impl Owner {
    /// This process; none without `/proc`.
    pub(crate) fn this() -> Option<Self> {
        let pid = std::process::id();
        Some(Self { namespace: pid_namespace()?, pid, ticks: start_ticks(pid)? })
    }

    /// Whether it has ended. One of another pid namespace counts as living: from here that cannot be told.
    pub(crate) fn is_dead(&self) -> bool {
        pid_namespace() == Some(self.namespace) && start_ticks(self.pid) != Some(self.ticks)
    }

    /// A name for something new of this process, with `between` the parts: `-` for instances, `_` for groups.
    pub(crate) fn name(&self, between: char) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let Self { namespace, pid, ticks } = self;
        format!("{PREFIX}{between}{namespace}{between}{pid}{between}{ticks}{between}{number}")
    }

    /// The owner of something with this name, of parts with `between` them; none if it is not of this program.
    pub(crate) fn of_name(name: &str, between: char) -> Option<Self> {
        let mut parts = name.split(between);
        if parts.next()? != PREFIX {
            return None;
        }
        // Strict, as what is ours may be removed: `+1` would be a number as well.
        let mut number = || parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok();
        let (namespace, pid, ticks, _number) = (number()?, number()?, number()?, number()?);
        let pid = u32::try_from(pid).ok()?;
        parts.next().is_none().then_some(Self { namespace, pid, ticks })
    }
}

fn pid_namespace() -> Option<u64> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

/// When a process started, in ticks since boot.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may hold anything but ends at the last parenthesis.
    let rest = stat.rsplit_once(") ")?.1;
    // What has ended and was not yet waited for holds nothing any more.
    if rest.starts_with(['Z', 'X']) {
        return None;
    }
    rest.split(' ').nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_names_are_ours() {
        let owner = |name, between| Owner::of_name(name, between).map(|it| (it.namespace, it.pid, it.ticks));
        let cases = [
            ("bathyscope-1-7-100-3", '-', true),
            ("bathyscope_1_7_100_3", '_', true),
            ("bathyscope_1_7_100_3", '-', false),
            ("bathyscope-1-7-100", '-', false),
            ("bathyscope-1-7-100-3-4", '-', false),
            ("bathyscope-1-7-100-x", '-', false),
            ("bathyscope-1-+7-100-3", '-', false),
            ("bathyscope-1--100-3", '-', false),
            ("bathyscope", '-', false),
            ("mine-1-7-100-3", '-', false),
        ];
        for (name, between, ours) in cases {
            assert_eq!(owner(name, between), ours.then_some((1, 7, 100)), "{name}");
        }
    }

    #[test]
    fn a_process_lives_while_its_id_is_its_own() {
        let this = Owner::this().unwrap();
        assert!(!this.is_dead());
        assert_eq!(Owner::of_name(&this.name('-'), '-'), Some(this.clone()));
        assert_ne!(this.name('_'), this.name('_'));
        assert!(Owner { ticks: this.ticks + 1, ..this.clone() }.is_dead());
        assert!(!Owner { namespace: 1, pid: u32::MAX, ..this }.is_dead(), "another namespace cannot be judged");
    }
}
