//! What of a tree the kernel's programs can decide: whose calls, which, with which outcome and duration.
//!
//! What is found holds for every call that the tree asks for; whether the tree asks for no other is told too.

use bathyscope_capture::{Below, SyscallOutcome, Target};

use super::{
    MAX_COMM_BYTES,
    fields::{Field, Operator},
    parse::{Condition, Tree},
};

/// Which calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    Only(Vec<String>),
    AllBut(Vec<String>),
}

/// What the kernel can decide of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) target: Option<Target>,
    pub(super) below: Option<Below>,
    pub(super) calls: Option<Calls>,
    pub(super) outcome: SyscallOutcome,
    pub(super) least_ns: u64,
    /// Whether nothing else is asked for.
    pub(super) all: bool,
}

impl Decided {
    /// No more than that a call is one.
    fn nothing() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// Something that is not decided.
    fn not() -> Self {
        Self::default()
    }

    /// Whether it says which calls and nothing else.
    fn only_calls(&self) -> Option<&Calls> {
        let bare = Self { calls: None, ..self.clone() } == Self::nothing();
        self.calls.as_ref().filter(|_| bare)
    }

    pub(super) fn of(tree: &Tree) -> Self {
        match tree {
            Tree::One(condition) => Self::one(condition),
            Tree::All(several) => several.iter().map(Self::of).fold(Self::nothing(), Self::and),
            Tree::Any(_, several) => several.iter().map(Self::of).reduce(Self::or).unwrap_or_else(Self::not),
            Tree::Not(_, inner) => match Self::of(inner) {
                decided if decided.all && decided.only_calls().is_some() => {
                    let calls = match decided.calls {
                        Some(Calls::Only(names)) => Some(Calls::AllBut(names)),
                        Some(Calls::AllBut(names)) => Some(Calls::Only(names)),
                        None => None,
                    };
                    Self { calls, ..Self::nothing() }
                }
                _ => Self::not(),
            },
        }
    }

    /// Both. Of two targets one is decided, and the other behind it.
    fn and(self, other: Self) -> Self {
        let mut all = self.all && other.all;
        let mut target = self.target;
        match (&target, other.target) {
            (Some(one), Some(second)) => all &= *one == second,
            (None, second) => target = second,
            (Some(_), None) => {}
        }
        let below = match (self.below, other.below) {
            (Some(one), Some(second)) => {
                all &= one == second;
                Some(one)
            }
            (one, second) => one.or(second),
        };
        let calls = match (self.calls, other.calls) {
            (Some(Calls::Only(names)), Some(Calls::Only(also))) => {
                Some(Calls::Only(names.into_iter().filter(|name| also.contains(name)).collect()))
            }
            (Some(Calls::Only(names)), Some(Calls::AllBut(without)))
            | (Some(Calls::AllBut(without)), Some(Calls::Only(names))) => {
                Some(Calls::Only(names.into_iter().filter(|name| !without.contains(name)).collect()))
            }
            (Some(Calls::AllBut(names)), Some(Calls::AllBut(also))) => {
                Some(Calls::AllBut(names.into_iter().chain(also).collect()))
            }
            (one, second) => one.or(second),
        };
        let outcome = match (self.outcome, other.outcome) {
            (SyscallOutcome::Any, second) => second,
            (first, SyscallOutcome::Any) => first,
            (first, second) => {
                all &= first == second;
                first
            }
        };
        Self { target, below, calls, outcome, least_ns: self.least_ns.max(other.least_ns), all }
    }

    /// Either. Only what both ask for is decided.
    fn or(self, other: Self) -> Self {
        let both_calls = self.all && other.all && self.only_calls().is_some() && other.only_calls().is_some();
        let calls = match (&self.calls, &other.calls) {
            (Some(Calls::Only(names)), Some(Calls::Only(also))) => {
                Some(Calls::Only(names.iter().chain(also).cloned().collect()))
            }
            (Some(Calls::AllBut(names)), Some(Calls::AllBut(also))) => {
                Some(Calls::AllBut(names.iter().filter(|name| also.contains(name)).cloned().collect()))
            }
            _ => None,
        };
        let all = both_calls && calls.is_some() || self == other && self.all;
        Self {
            target: self.target.filter(|target| other.target.as_ref() == Some(target)),
            below: self.below.filter(|below| other.below == Some(*below)),
            calls,
            outcome: if self.outcome == other.outcome { self.outcome } else { SyscallOutcome::Any },
            least_ns: self.least_ns.min(other.least_ns),
            all,
        }
    }

    fn one(Condition { field, operator, values, .. }: &Condition) -> Self {
        let value = values.first().map_or("", String::as_str);
        let of_target = |target: Target| Self { target: Some(target), ..Self::nothing() };
        let below = |direct: bool| {
            let below = value.parse().ok().filter(|pid| *pid > 0).map(|pid| Below { pid, direct });
            Self { below, all: below.is_some(), ..Self::nothing() }
        };
        match (field, operator) {
            (Field::Direction, _) => Self::nothing(),
            (Field::Type, Operator::Equal | Operator::In | Operator::Intersects) => {
                Self { calls: Some(Calls::Only(values.clone())), ..Self::nothing() }
            }
            (Field::Type, Operator::NotEqual) => Self { calls: Some(Calls::AllBut(values.clone())), ..Self::nothing() },
            (Field::Failed, Operator::Equal) => {
                let failed = matches!(value, "true" | "1");
                let outcome = if failed { SyscallOutcome::Failed } else { SyscallOutcome::Succeeded };
                Self { outcome, ..Self::nothing() }
            }
            (Field::Latency(unit), Operator::Greater | Operator::GreaterOrEqual) => {
                let least = value.parse::<u64>().ok().and_then(|value| value.checked_mul(*unit));
                let more = u64::from(*operator == Operator::Greater);
                match least.and_then(|least| least.checked_add(more)) {
                    Some(least_ns) => Self { least_ns, ..Self::nothing() },
                    None => Self::not(),
                }
            }
            (Field::ProcessName, Operator::Equal) if !value.contains('*') => of_target(comm(value)),
            (Field::ProcessName, Operator::Contains) if is_plain(value) => of_target(pattern(&format!("*{value}*"))),
            (Field::ProcessName, Operator::StartsWith) if is_plain(value) => of_target(pattern(&format!("{value}*"))),
            (Field::ProcessId, Operator::Equal) => {
                value.parse().map_or_else(|_| Self::not(), |pid| of_target(Target::Process { pid, children: false }))
            }
            (Field::ParentId, Operator::Equal) => below(true),
            (Field::AncestorId, Operator::Equal) => below(false),
            (Field::UserName | Field::UserId, Operator::Equal) => of_target(Target::User { user: value.to_owned() }),
            (Field::ContainerName | Field::ContainerId, Operator::Equal) => {
                of_target(Target::Container { name: value.to_owned() })
            }
            (Field::ControlGroup, Operator::Equal) => of_target(Target::Cgroup { path: value.to_owned() }),
            _ => Self::not(),
        }
    }
}

/// Whether a text is short enough for a pattern of names, and is none itself.
fn is_plain(value: &str) -> bool {
    !value.contains('*') && value.len() <= MAX_COMM_BYTES
}

fn pattern(pattern: &str) -> Target {
    Target::Comm { pattern: pattern.to_owned() }
}

/// Threads of this name, which the kernel keeps only the beginning of.
fn comm(name: &str) -> Target {
    pattern(super::cut_comm(name))
}
