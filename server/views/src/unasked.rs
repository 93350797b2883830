//! Rows of system calls that only one of two captures asked for: where the other has no such rows, nobody looked.

use std::collections::BTreeSet;

use bathyscope_capture::{CaptureSpec, ColumnType, Literal, Method, Predicate, StreamSchema, SyscallSpec};
use bathyscope_catalog::{
    constants::Arch,
    syscalls::{definitions, select},
};

/// The columns of rows of system calls that tell what a row is.
const COLUMNS: [&str; 2] = ["call", "kind"];
/// The words of the column `kind` of what comes with signals, and with data.
const SIGNALS: [&str; 3] = ["signal", "exit", "thread exit"];
const DATA: &str = "data";

/// Rows of system calls that only one of two captures asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnaskedRows {
    /// Texts of each of [`COLUMNS`].
    pub(crate) texts: [BTreeSet<&'static str>; 2],
}

impl UnaskedRows {
    /// What only one of two specs asks for, each with the machine that its host has; none if both ask for the same calls, or one for none.
    pub fn between(a: (&CaptureSpec, &str), b: (&CaptureSpec, &str)) -> Option<Self> {
        let (of_a, of_b) = (syscalls_of(a.0)?, syscalls_of(b.0)?);
        let (arch_a, arch_b) = (arch_of(a.1), arch_of(b.1));
        let (calls_a, calls_b) = (calls_of(arch_a, of_a)?, calls_of(arch_b, of_b)?);
        // A call that a machine does not have was not left out by anybody.
        let (known_a, known_b) = (names_of(arch_a, |_| true), names_of(arch_b, |_| true));
        let only = |calls: &BTreeSet<&'static str>, other: &BTreeSet<_>, known: &BTreeSet<_>| {
            calls.iter().filter(|call| !other.contains(**call) && known.contains(**call)).copied().collect::<Vec<_>>()
        };
        let mut calls: BTreeSet<&'static str> = only(&calls_a, &calls_b, &known_b).into_iter().collect();
        calls.extend(only(&calls_b, &calls_a, &known_a));
        let mut kinds: BTreeSet<&'static str> = BTreeSet::new();
        if of_a.signals != of_b.signals {
            kinds.extend(SIGNALS);
        }
        if of_a.data != of_b.data {
            kinds.insert(DATA);
        }
        (!calls.is_empty() || !kinds.is_empty()).then_some(Self { texts: [calls, kinds] })
    }

    /// The columns of a stream with conditions that such rows satisfy; nothing of streams that have none.
    pub(crate) fn of(&self, schema: &StreamSchema) -> Vec<(usize, Predicate)> {
        let Some(columns) = columns_of(schema) else { return Vec::new() };
        let texts = columns.into_iter().zip(COLUMNS).zip(&self.texts).filter(|(_, texts)| !texts.is_empty());
        texts
            .map(|((column, name), texts)| {
                let values = texts.iter().map(|text| Literal::Text((*text).to_owned())).collect();
                (column, Predicate::In { field: name.to_owned(), values })
            })
            .collect()
    }
}

fn syscalls_of(spec: &CaptureSpec) -> Option<&SyscallSpec> {
    spec.methods().find_map(Method::syscalls)
}

fn arch_of(machine: &str) -> Arch {
    if machine == "aarch64" { Arch::Aarch64 } else { Arch::X86_64 }
}

/// The names of calls that are asked for; none if a word names nothing here.
fn calls_of(arch: Arch, spec: &SyscallSpec) -> Option<BTreeSet<&'static str>> {
    if spec.calls.is_empty() {
        return Some(names_of(arch, |_| true));
    }
    let chosen = select(arch, &spec.calls.join(",")).ok()?;
    Some(names_of(arch, |number| chosen.contains(&number)))
}

fn names_of(arch: Arch, takes: impl Fn(i64) -> bool) -> BTreeSet<&'static str> {
    definitions(arch).filter(|(number, _)| takes(*number)).map(|(_, call)| call.name).collect()
}

/// [`COLUMNS`] of a recorded stream of system calls.
pub(crate) fn columns_of(schema: &StreamSchema) -> Option<[usize; 2]> {
    let is_text = |at: &usize| schema.columns.get(*at).is_some_and(|column| column.ty == ColumnType::Text);
    let [call, kind] = COLUMNS.map(|name| schema.column(name).filter(is_text));
    schema.is_recorded().then_some([call?, kind?])
}
