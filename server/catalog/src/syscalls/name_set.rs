//! Sets of named bits and numbers, such as the flags that a file is opened with, for whoever has the number alone.

use std::{collections::HashMap, sync::LazyLock};

use serde::{Deserialize, Serialize};

use super::table::{ArgumentKind, CallArgument, Set, set, sets};

/// A set of named bits or numbers, by its name in the tables: `open`, `prot`, `whence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct NameSet {
    /// Its place among those of the tables; the sets that consist of two come behind them.
    place: u16,
}

/// There is no such set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no set of names is `{name}`; there are, among others, open, prot, mmap and whence")]
pub struct UnknownNameSet {
    /// What was asked for.
    pub name: String,
}

impl From<NameSet> for String {
    fn from(set: NameSet) -> Self {
        set.name().to_owned()
    }
}

impl TryFrom<String> for NameSet {
    type Error = UnknownNameSet;

    fn try_from(name: String) -> Result<Self, UnknownNameSet> {
        Self::find(&name).ok_or(UnknownNameSet { name })
    }
}

/// Names of sets that consist of two.
const MMAP: &str = "mmap";
const SOCKET: &str = "socket";
const COMPOSED: [&str; 2] = [MMAP, SOCKET];

impl NameSet {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let count = sets().len() + COMPOSED.len();
        (0..u16::try_from(count).unwrap_or(u16::MAX)).map(|place| Self { place })
    }

    /// The set of that name. It is asked for with each value that a script shows so.
    pub fn find(name: &str) -> Option<Self> {
        static BY_NAME: LazyLock<HashMap<&'static str, NameSet>> =
            LazyLock::new(|| NameSet::all().map(|set| (set.name(), set)).collect());
        BY_NAME.get(name).copied()
    }

    /// That of an argument of a system call, if it has names.
    pub fn of_argument(argument: &CallArgument) -> Option<Self> {
        match argument.kind {
            ArgumentKind::Flags | ArgumentKind::Enum => argument.set.and_then(|set| Self::find(set.name)),
            ArgumentKind::MapFlags => Self::find(MMAP),
            ArgumentKind::SocketType => Self::find(SOCKET),
            _ => None,
        }
    }

    /// As the tables call it.
    pub fn name(self) -> &'static str {
        let place = usize::from(self.place);
        let composed = || COMPOSED.get(place.checked_sub(sets().len())?).copied();
        sets().get(place).map(|set| set.name).or_else(composed).unwrap_or_default()
    }

    /// The numbers that have names, if the set is of numbers and not of bits.
    pub fn numbers(self) -> &'static [(u64, &'static str)] {
        match self.set() {
            Some(found) if found.is_of_numbers => &found.names,
            _ => &[],
        }
    }

    /// The names of a number's bits, or of the number, as strace writes them.
    pub fn text(self, number: u64) -> String {
        let mut out = String::new();
        match self.set() {
            Some(set) => write(&mut out, set, number),
            None if self.name() == MMAP => map_flags(&mut out, number),
            None => socket_type(&mut out, number),
        }
        out
    }

    /// The set in the tables; none of one that consists of two.
    fn set(self) -> Option<&'static Set> {
        sets().get(usize::from(self.place))
    }
}

fn write(out: &mut String, set: &Set, number: u64) {
    if set.is_of_numbers { set.write_one(out, number) } else { set.write_bits(out, number) }
}

/// The flags of `mmap`: who shares the memory, and bits.
pub(super) fn map_flags(out: &mut String, number: u64) {
    out.push_str(match number & 0xf {
        1 => "MAP_SHARED",
        2 => "MAP_PRIVATE",
        3 => "MAP_SHARED_VALIDATE",
        _ => "MAP_FILE",
    });
    if number & !0xf != 0 {
        out.push('|');
        set("map").write_bits(out, number & !0xf);
    }
}

/// The type of a socket, with flags.
pub(super) fn socket_type(out: &mut String, number: u64) {
    set("socktype").write_one(out, number & 0xf);
    if number & !0xf != 0 {
        out.push('|');
        set("sockflags").write_bits(out, number & !0xf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_names_that_strace_gives_them() {
        let cases = [
            ("open", 0o2_000_000 | 0o100 | 1, "O_WRONLY|O_CREAT|O_CLOEXEC"),
            ("prot", 3, "PROT_READ|PROT_WRITE"),
            ("prot", 0, "PROT_NONE"),
            ("mmap", 0x22, "MAP_PRIVATE|MAP_ANONYMOUS"),
            ("socket", 0x8_0001, "SOCK_STREAM|SOCK_CLOEXEC"),
            ("whence", 2, "SEEK_END"),
            ("af", 10, "AF_INET6"),
        ];
        for (name, number, text) in cases {
            assert_eq!(NameSet::find(name).map(|set| set.text(number)).as_deref(), Some(text), "{name} {number}");
        }
        assert!(NameSet::all().count() > 60);
        assert_eq!(NameSet::find("nothing"), None);
        let told = serde_json::from_str::<NameSet>("\"nothing\"").unwrap_err().to_string();
        assert!(told.contains("`nothing`"), "{told}");
        assert_eq!(serde_json::to_string(&NameSet::find("open").unwrap()).unwrap(), "\"open\"");
        assert!(NameSet::find("whence").unwrap().numbers().contains(&(1, "SEEK_CUR")));
        assert_eq!(NameSet::find("open").unwrap().numbers(), []);
    }
}
