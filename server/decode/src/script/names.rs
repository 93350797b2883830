//! What rendering asks about the outside.

use bathyscope_plan::Clock;

/// A named place in code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbol {
    /// The function, demangled if that is wanted.
    pub name: String,
    /// Bytes after its begin.
    pub offset: u64,
    /// The module or file; empty where it is not known.
    pub module: String,
}

/// A moment of the wall clock, with what is needed to write it in a time zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WallTime {
    /// Nanoseconds since 1970 in UTC.
    pub unix_ns: i128,
    /// Seconds that the local time is ahead of UTC.
    pub offset_seconds: i32,
    /// The zone's abbreviation: `CET`.
    pub zone: String,
}

/// Facts of the outside. An answer that is not known is none; rendering then shows the number.
pub trait Names {
    /// The kernel's symbol at an address.
    fn kernel_symbol(&self, _address: u64) -> Option<Symbol> {
        None
    }
    /// A process's symbol at an address.
    fn user_symbol(&self, _pid: u32, _address: u64) -> Option<Symbol> {
        None
    }
    /// The build id (bytes) of the file at an address of a process, and the place in that file.
    fn build_id(&self, _pid: u32, _address: u64) -> Option<(Vec<u8>, u64)> {
        None
    }
    /// The name of a thread or process: as it is now, or as it was last if it is gone.
    fn process_name(&self, _pid: u32) -> Option<String> {
        None
    }
    /// A user's name.
    fn user_name(&self, _uid: u32) -> Option<String> {
        None
    }
    /// Paths of a cgroup, as `hierarchy:path` joined with commas; hierarchies match `filter`, if it is not empty.
    fn cgroup_path(&self, _id: u64, _filter: &str) -> Option<String> {
        None
    }
    /// The addresses of a stack, innermost first, by the id that programs gave it.
    fn stack(&self, _user: bool, _id: u64) -> Option<Vec<u64>> {
        None
    }
    /// The moment at which `clock` had this value.
    fn wall_time(&self, _clock: Clock, _ns: u64) -> Option<WallTime> {
        None
    }
}

/// Nothing is known: everything is shown as numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl Names for NoNames {}
