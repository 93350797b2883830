//! In which state a thread left its CPU.
//!
//! `prev_state` of `sched_switch` is a number of bits, whose meaning differs between kernels. Since Linux 4.14 it has one of the
//! bits of `TASK_REPORT` (include/linux/sched.h: S 1, D 2, T 4, t 8, X 0x10, Z 0x20, P 0x40, I 0x80), or the bit above them,
//! `TASK_REPORT_MAX`, of a thread that was preempted (`__trace_sched_switch_state` in include/trace/events/sched.h). Before
//! that it was the thread's own state, in which Z is 0x10 and X is 0x20, and more bits have names. Either way the event's
//! print format has a table of its flags (`__print_flags`), and prints `+` for the bit above them. That table is read where the
//! format was recorded; where it was not, the one of 4.14 and later is taken.
//!
//! Names are those that ftrace prints: `R` with no bit, `R+` of a preempted thread.

use bathyscope_capture::{Batch, IdMap, KernelFormat, StringId};

use crate::{DerivationHost, column};

/// The most states that are remembered; there are some ten.
const MAX_REMEMBERED: usize = 1024;

/// What becomes of a thread that leaves its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeavingKind {
    /// It could have gone on running.
    Preempted,
    /// It waits for something, in the state with this name.
    Blocked(StringId),
    /// It has ended.
    Dead,
}

/// How a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaving {
    pub(super) kind: LeavingKind,
    /// As ftrace prints it.
    pub(super) name: StringId,
}

/// Where switches have the state.
#[derive(Clone, Copy, Debug)]
pub(super) enum StateColumn {
    /// As ftrace prints it.
    Text(usize),
    /// As `prev_state`.
    Number(usize),
}

impl StateColumn {
    pub(super) const fn column(self) -> usize {
        match self {
            Self::Text(column) | Self::Number(column) => column,
        }
    }
}

/// The bits of `prev_state` with what is printed for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StateFlags(Vec<(u64, String)>);

impl Default for StateFlags {
    /// Of Linux 4.14 and later.
    fn default() -> Self {
        let letters = ["S", "D", "T", "t", "X", "Z", "P", "I"];
        Self(letters.iter().enumerate().map(|(bit, letter)| (1 << bit, (*letter).to_owned())).collect())
    }
}

impl StateFlags {
    /// The most flags that are read.
    const MAX: usize = 64;

    /// The flags that the print format of `sched_switch` names.
    pub(super) fn of(format: Option<&KernelFormat>) -> Self {
        let printed = format.and_then(|format| Self::parse(&format.text));
        printed.filter(|flags| !flags.0.is_empty()).unwrap_or_default()
    }

    /// Reads `{ 0x00000001, "S" }, …` after the first `__print_flags(` of `prev_state`.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once("__print_flags(")?;
        let (value, rest) = rest.split_once('{')?;
        if !value.contains("prev_state") {
            return None;
        }
        let mut flags = Vec::new();
        for entry in rest.split('{').take(Self::MAX) {
            let (inside, after) = entry.split_once('}')?;
            let (number, name) = inside.split_once(',')?;
            let number = number.trim();
            let bits = match number.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            let name = name.trim().strip_prefix('"')?.strip_suffix('"')?;
            flags.push((bits, name.to_owned()));
            // The list ends at the bracket.
            if !after.trim_start().starts_with(',') {
                break;
            }
        }
        Some(Self(flags))
    }

    /// The name of a state as ftrace prints it.
    fn name(&self, state: u64) -> String {
        let all = self.0.iter().fold(0, |all, (bits, _)| all | bits);
        let preempted = all.checked_add(1).filter(|above| above.is_power_of_two()).unwrap_or(0);
        let set = self.0.iter().filter(|(bits, _)| *bits != 0 && state & bits == *bits).map(|(_, name)| name.as_str());
        let names: Vec<&str> = set.collect();
        let name = if names.is_empty() { "R".to_owned() } else { names.join("|") };
        if state & preempted != 0 { name + "+" } else { name }
    }
}

/// What a name of ftrace's means; the word is for people.
fn meaning(name: &str) -> (&'static str, bool) {
    let letters = || name.trim_end_matches('+').split('|');
    let words = [
        ("X", "dead"),
        ("x", "dead"),
        ("Z", "dead"),
        ("T", "stopped"),
        ("t", "traced"),
        ("D", "uninterruptible"),
        ("S", "sleeping"),
        ("I", "idle"),
        ("P", "parked"),
    ];
    let known = words.iter().find(|(letter, _)| letters().any(|found| found == *letter));
    known.map_or(("blocked", false), |(_, word)| (*word, *word == "dead"))
}

/// The states in which threads leave their CPU, each learnt once.
#[derive(Debug)]
pub(super) struct Leavings {
    flags: StateFlags,
    /// By the number, or by the text's id.
    known: IdMap<u64, Leaving>,
}

impl Leavings {
    pub(super) fn new(flags: StateFlags) -> Self {
        Self { flags, known: IdMap::default() }
    }

    /// The state in a row; none if it has none.
    pub(super) fn of(
        &mut self,
        column: StateColumn,
        (rows, row): (&Batch, usize),
        host: &mut dyn DerivationHost,
    ) -> Option<Leaving> {
        let value = match column {
            StateColumn::Text(at) => Some(u64::from(column::id(rows, at, row))).filter(|id| *id != 0)?,
            StateColumn::Number(at) => column::number(rows, at, row)?,
        };
        if let Some(known) = self.known.get(&value) {
            return Some(*known);
        }
        let leaving = self.learn(column, value, host)?;
        if self.known.len() >= MAX_REMEMBERED {
            self.known.clear();
        }
        self.known.insert(value, leaving);
        Some(leaving)
    }

    fn learn(&self, column: StateColumn, value: u64, host: &mut dyn DerivationHost) -> Option<Leaving> {
        let name = match column {
            StateColumn::Text(_) => {
                let text = host.string(StringId::try_from(value).ok()?)?;
                String::from_utf8_lossy(&text).into_owned()
            }
            StateColumn::Number(_) => self.flags.name(value),
        };
        let id = host.string_id(name.as_bytes());
        let kind = if name.starts_with('R') || name.ends_with('+') {
            LeavingKind::Preempted
        } else {
            match meaning(&name) {
                (_, true) => LeavingKind::Dead,
                (word, false) => LeavingKind::Blocked(host.string_id(word.as_bytes())),
            }
        };
        Some(Leaving { kind, name: id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The print format of Linux 6.18.
    const NEW: &str = r#"print fmt: "prev_state=%s%s", (REC->prev_state & ((((0x00000000 | 0x00000001) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & ((((0x00000000 | 0x00000001) + 1) << 1) - 1), "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" }, { 0x00000080, "I" }) : "R", REC->prev_state & (((0x00000000 | 0x00000080) + 1) << 1) ? "+" : "", REC->next_comm"#;
    /// The print format of Linux 4.4, shortened.
    const OLD: &str = r#"print fmt: "prev_state=%s%s ==> next_comm=%s", REC->prev_state & (1024-1) ? __print_flags(REC->prev_state & (1024-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K"}, { 256, "W" }, { 512, "P" }) : "R", REC->prev_state & 1024 ? "+" : "", REC->next_comm"#;

    fn flags(text: &str) -> StateFlags {
        let format = KernelFormat { text: text.to_owned(), constants: Default::default() };
        StateFlags::of(Some(&format))
    }

    #[test]
    fn states_have_the_names_that_the_kernels_table_gives_them() {
        assert_eq!(flags(NEW), StateFlags::default());
        let cases = [
            (NEW, 0, "R"),
            (NEW, 0x100, "R+"),
            (NEW, 1, "S"),
            (NEW, 2, "D"),
            (NEW, 0x10, "X"),
            (NEW, 0x20, "Z"),
            (NEW, 0x80, "I"),
            (NEW, 1 << 40, "R"),
            (OLD, 0x10, "Z"),
            (OLD, 0x20, "X"),
            (OLD, 0x82, "D|K"),
            (OLD, 1024, "R+"),
            (OLD, 1025, "S+"),
        ];
        for (text, state, name) in cases {
            assert_eq!(flags(text).name(state), name, "{state:#x}");
        }
    }

    #[test]
    fn a_format_without_flags_leaves_the_table_of_today() {
        for text in
            ["", "print fmt: \"%d\"", "__print_flags(REC->other, { 1, \"S\" })", "__print_flags(prev_state, { 1 "]
        {
            assert_eq!(flags(text), StateFlags::default(), "{text}");
        }
        assert_eq!(StateFlags::of(None), StateFlags::default());
    }

    #[test]
    fn names_have_a_meaning() {
        let cases = [
            ("S", "sleeping", false),
            ("D", "uninterruptible", false),
            ("D|K", "uninterruptible", false),
            ("D|Z", "dead", true),
            ("X", "dead", true),
            ("Z", "dead", true),
            ("T", "stopped", false),
            ("t", "traced", false),
            ("I", "idle", false),
            ("P", "parked", false),
            ("W", "blocked", false),
            ("", "blocked", false),
        ];
        for (name, word, dead) in cases {
            assert_eq!(meaning(name), (word, dead), "{name}");
        }
    }
}
