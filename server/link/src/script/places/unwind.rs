//! Makes the tables for `dw_ustack`: of the files that the target runs, or of those that most processes run.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::{Duration, Instant},
};

use bathyscope_capture::Target;
use bathyscope_catalog::elf::{ElfFile, Needed};
use bathyscope_protocol::{MAX_UNWIND_FILES, MAX_UNWIND_ROWS, Rows, UnwindTable};

use super::file::{Files, OpenFile};
use crate::ScriptAgent;

/// The word that makes tables necessary.
const WORD: &str = "dw_ustack";
/// The most processes that are asked what they run.
const MAX_PROCESSES: usize = 4096;
/// After so long no further table is made: whoever starts a script waits for it.
const PATIENCE: Duration = Duration::from_secs(15);
/// How many files a warning names.
const NAMED: usize = 3;

/// Tables, and what there is none of.
#[derive(Debug, Default)]
pub(in crate::script) struct Tables {
    pub(in crate::script) tables: Vec<UnwindTable>,
    pub(in crate::script) warning: Option<String>,
}

/// The tables that a script needs; none if it does not walk stacks by them.
pub(in crate::script) fn tables_of(agent: &mut impl ScriptAgent, text: &str, target: &Target) -> Tables {
    if !text.contains(WORD) || !cfg!(target_arch = "x86_64") {
        return Tables::default();
    }
    let mut making =
        Making { files: Files::new(agent, None, Vec::new()), made: Made::default(), until: Instant::now() + PATIENCE };
    let begun = match target.watched() {
        Target::Process { pid, .. } => making.process(*pid),
        Target::Processes { pids, .. } => pids.iter().try_for_each(|pid| making.process(*pid)),
        Target::Command { argv, .. } => making.command(argv),
        // Whose stacks these will be is not known before they run.
        Target::System
        | Target::Threads { .. }
        | Target::During { .. }
        | Target::Cgroup { .. }
        | Target::Unit { .. }
        | Target::Container { .. }
        | Target::User { .. }
        | Target::Comm { .. } => making.system(),
    };
    let mut made = making.made;
    made.trouble = begun.err();
    let warning = made.warning();
    Tables { tables: made.tables, warning }
}

#[derive(Default)]
struct Made {
    tables: Vec<UnwindTable>,
    rows: usize,
    /// Files that have a table, or of which there is none, by device and inode.
    seen: HashSet<(u64, u64)>,
    /// Files without a table, and why.
    without: BTreeMap<&'static str, Vec<String>>,
    trouble: Option<String>,
}

impl Made {
    fn leave_out(&mut self, why: &'static str, path: &str) {
        self.without.entry(why).or_default().push(path.to_owned());
    }

    fn warning(&self) -> Option<String> {
        let each = self.without.iter().map(|(why, paths)| {
            let named = paths.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if paths.len() > NAMED { format!(" and {} more", paths.len() - NAMED) } else { String::new() };
            format!("{named}{more} ({why})")
        });
        let parts: Vec<String> = self.trouble.iter().cloned().chain(each).collect();
        let what = "dw_ustack goes by frame pointers where it has no table";
        (!parts.is_empty()).then(|| format!("{what}: {}", parts.join("; ")))
    }
}

struct Making<'a, A> {
    files: Files<'a, A>,
    made: Made,
    until: Instant,
}

impl<A: ScriptAgent> Making<'_, A> {
    /// The files that a process runs.
    fn process(&mut self, pid: u32) -> Result<(), String> {
        self.files.pid = Some(pid);
        for path in self.files.mapped()? {
            self.path(&path);
        }
        Ok(())
    }

    /// A program that is not yet started, with the libraries that it is loaded with.
    fn command(&mut self, argv: &[String]) -> Result<(), String> {
        let program = argv.first().map(String::as_str).unwrap_or_default();
        let file = if program.contains('/') { self.files.open(program)? } else { self.files.by_short_name(program)? };
        let mut waiting = vec![file];
        let mut names = BTreeSet::new();
        while let Some(file) = waiting.pop() {
            let needed = ElfFile::parse(&file).map(|elf| elf.needed()).unwrap_or_default();
            let folder = file.about.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            self.file(&file);
            waiting.extend(self.libraries(&needed, &folder, &mut names));
        }
        Ok(())
    }

    /// The libraries that were not yet named.
    fn libraries(&mut self, needed: &Needed, folder: &str, names: &mut BTreeSet<String>) -> Vec<OpenFile> {
        let mut found = Vec::new();
        if let Some(linker) = needed.linker.as_ref().filter(|path| names.insert((*path).clone())) {
            found.extend(self.files.open(linker).ok());
        }
        let wanted = needed.libraries.iter().filter(|name| names.insert((*name).clone()));
        for name in wanted.take(MAX_UNWIND_FILES) {
            let places = needed.folders.iter().map(|place| format!("{}/{name}", place.replace("$ORIGIN", folder)));
            let near = places.into_iter().find_map(|path| self.files.open(&path).ok());
            match near.map_or_else(|| self.files.by_short_name(name), Ok) {
                Ok(file) => found.push(file),
                Err(_trouble) => self.made.leave_out("not found", name),
            }
        }
        found
    }

    /// The files that processes run, those first that most run.
    fn system(&mut self) -> Result<(), String> {
        let mut users: BTreeMap<(String, u64), (usize, u32)> = BTreeMap::new();
        for pid in self.files.processes()?.into_iter().take(MAX_PROCESSES) {
            // Processes end, and those of the kernel have none.
            for file in self.files.code_of(pid).unwrap_or_default() {
                users.entry(file).or_insert((0, pid)).0 += 1;
            }
        }
        let mut files: Vec<_> = users.into_iter().collect();
        files.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for ((path, inode), (_count, pid)) in files {
            self.files.pid = None;
            // The same path may be another file in a container.
            let opened = self.files.open(&path).ok().filter(|file| file.about.inode == inode);
            let opened = opened.map_or_else(
                || {
                    self.files.pid = Some(pid);
                    self.files.open(&path)
                },
                Ok,
            );
            match opened {
                Ok(file) => self.file(&file),
                Err(_gone) => self.made.leave_out("replaced or removed", &path),
            }
        }
        Ok(())
    }

    fn path(&mut self, path: &str) {
        match self.files.open(path) {
            Ok(file) => self.file(&file),
            Err(_gone) => self.made.leave_out("replaced or removed", path),
        }
    }

    /// Makes the table of a file.
    fn file(&mut self, file: &OpenFile) {
        let path = &file.about.path;
        if !self.made.seen.insert((file.about.device, file.about.inode)) {
            return;
        }
        if Instant::now() > self.until {
            return self.made.leave_out("reading all takes too long", path);
        }
        match ElfFile::parse(file).and_then(|elf| elf.unwind_rows()) {
            Ok(rows) if rows.is_empty() => self.made.leave_out("no .eh_frame", path),
            Ok(rows) => {
                let full = self.made.tables.len() >= MAX_UNWIND_FILES;
                if full || self.made.rows + rows.len() > MAX_UNWIND_ROWS {
                    return self.made.leave_out("too many rows", path);
                }
                self.made.rows += rows.len();
                self.made.tables.push(UnwindTable { file: file.about.clone(), rows: Rows(rows) });
            }
            Err(error) => {
                tracing::debug!(path, %error, "no unwind table");
                self.made.leave_out("its table cannot be read", path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_table_is_told_in_short() {
        let mut made = Made::default();
        assert_eq!(made.warning(), None);
        (1..=5).for_each(|number| made.leave_out("no .eh_frame", &format!("/bin/{number}")));
        made.leave_out("too many rows", "/opt/browser");
        assert_eq!(
            made.warning().unwrap_or_default(),
            "dw_ustack goes by frame pointers where it has no table: /bin/1, /bin/2, /bin/3 and 2 more (no .eh_frame); \
             /opt/browser (too many rows)"
        );
    }
}
