//! Names of threads and processes that a script shows by their ids. They are asked for when they are shown, and kept for when
//! the process is gone.

use std::{
    collections::HashMap,
    fs::File,
    io::Read as _,
    time::{Duration, Instant},
};

use bathyscope_protocol::ProcessFile;

use crate::{AgentLink, processes::comm_of_stat};

/// How long a name is taken for true.
const FRESH: Duration = Duration::from_millis(500);
/// The most names that are kept.
const MAX_NAMES: usize = 1 << 16;
/// The most that is read of what the kernel says about a thread.
const MAX_STAT_BYTES: u64 = 4096;

/// See the module.
#[derive(Debug, Default)]
pub struct ProcessNames {
    known: HashMap<u32, (Instant, Option<String>)>,
}

impl ProcessNames {
    /// The name of a thread or process: as the kernel says now, else as it said last.
    pub fn name(&mut self, pid: u32, link: &AgentLink) -> Option<String> {
        let known = self.known.get(&pid);
        if let Some((_, name)) = known.filter(|(asked, _)| asked.elapsed() < FRESH) {
            return name.clone();
        }
        let name = ask(pid, link).or_else(|| known.and_then(|(_, name)| name.clone()));
        if self.known.len() >= MAX_NAMES {
            self.known.clear();
        }
        self.known.insert(pid, (Instant::now(), name.clone()));
        name
    }
}

fn ask(pid: u32, link: &AgentLink) -> Option<String> {
    let file = link.call_blocking(move |client| client.open_process_file(pid, ProcessFile::Stat)).ok()?;
    let mut text = Vec::new();
    File::from(file).take(MAX_STAT_BYTES).read_to_end(&mut text).ok()?;
    name_in(&text)
}

/// The name in what `/proc/PID/stat` says, as text.
fn name_in(stat: &[u8]) -> Option<String> {
    Some(String::from_utf8_lossy(comm_of_stat(stat)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_whatever_is_in_them() {
        let cases: [(&[u8], Option<&str>); 6] = [
            (b"1 (init) S 0 1 1", Some("init")),
            (b"70 (a) b (c) R 1 2", Some("a) b (c")),
            (b"70 () R 1", Some("")),
            (b"70 (\xff) R", Some("\u{fffd}")),
            (b"70 )x( R", None),
            (b"", None),
        ];
        for (stat, expected) in cases {
            assert_eq!(name_in(stat).as_deref(), expected, "{}", stat.escape_ascii());
        }
    }
}
