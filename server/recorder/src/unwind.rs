//! Stacks of user space from copies: which rule holds at an address of a process, by the tables of the files that it has
//! mapped. The walk itself is `catalog::elf::walk_stack`.
//!
//! A file's table is made once, from the descriptor that is kept for naming. What has none is walked by frame pointers.

use std::{
    collections::{HashMap, HashSet},
    os::{fd::OwnedFd, unix::fs::FileExt as _},
    sync::Arc,
};

use bathyscope_catalog::elf::{ElfFile, ReadAt, Rule, rule_of};

use super::{
    mappings::FileKey,
    process_metadata::{SharedHeld, lock},
};

/// The most rows of all files of one capture, of 8 bytes each.
const MAX_ROWS: usize = 16 << 20;

/// The tables of a capture's files.
#[derive(Debug, Default)]
pub(crate) struct UnwindTables {
    tables: HashMap<FileKey, Arc<Vec<u64>>>,
    rows: usize,
    /// Files that could not be opened where they were seen.
    unopened: HashSet<FileKey>,
}

/// A file as it is read.
struct OpenElf(std::fs::File, u64);

impl ReadAt for OpenElf {
    fn length(&self) -> u64 {
        self.1
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> bool {
        self.0.read_exact_at(buffer, offset).is_ok()
    }
}

impl UnwindTables {
    /// A file could not be opened; another process may still give it.
    pub(crate) fn unopened(&mut self, key: &FileKey) {
        self.unopened.insert(key.clone());
    }

    /// The rule at an offset of a file; none if the file must be opened first.
    pub(crate) fn rule(&mut self, key: &FileKey, offset: u64, held: &SharedHeld) -> Option<Rule> {
        if let Some(rows) = self.tables.get(key) {
            return Some(rule_of(rows, offset));
        }
        let Some(file) = lock(held).file(key) else {
            return self.unopened.contains(key).then_some(Rule::Unknown);
        };
        let rows = if self.rows < MAX_ROWS { read_rows(&file) } else { Vec::new() };
        self.rows += rows.len();
        let rule = rule_of(&rows, offset);
        self.tables.insert(key.clone(), Arc::new(rows));
        Some(rule)
    }
}

/// The rows of a file; none where it has no table that is understood.
fn read_rows(file: &OwnedFd) -> Vec<u64> {
    let read = || {
        let file = std::fs::File::from(file.try_clone().ok()?);
        let bytes = file.metadata().ok()?.len();
        let open = OpenElf(file, bytes);
        match ElfFile::parse(&open).and_then(|elf| elf.unwind_rows()) {
            Ok(rows) => Some(rows),
            Err(error) => {
                tracing::debug!(%error, "a file has no unwind table");
                None
            }
        }
    };
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_made_of_the_file_that_is_kept() {
        let held = SharedHeld::default();
        let mut tables = UnwindTables::default();
        let key = FileKey::BuildId(vec![1]);
        assert_eq!(tables.rule(&key, 0, &held), None);
        tables.unopened(&key);
        assert_eq!(tables.rule(&key, 0, &held), Some(Rule::Unknown));
        lock(&held).keep(key.clone(), std::fs::File::open("/proc/self/exe").unwrap().into());
        assert_eq!(tables.rule(&key, 0, &held), Some(Rule::Unknown), "no code begins there");
        if cfg!(target_arch = "x86_64") {
            assert!(tables.tables.get(&key).is_some_and(|rows| rows.len() > 1000));
        }
        let other = FileKey::BuildId(vec![2]);
        lock(&held).keep(other.clone(), std::fs::File::open("/dev/null").unwrap().into());
        assert_eq!(tables.rule(&other, 5, &held), Some(Rule::Unknown));
    }
}
