//! What only one of two captures asked for: where the other has no such rows, it has them not because nothing happened, but because
//! nobody looked. Such rows are left out on both sides, and counted.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use bathyscope_capture::{
    Batch, CaptureSpec, ColumnType, Literal, Loss, Method, Predicate, StreamSchema, StringId, SyscallSpec, shown,
};
use bathyscope_catalog::{
    constants::Arch,
    syscalls::{definitions, select},
};

use crate::{Cancel, ChunkMeta, Dictionaries, Filter, Source, TimeRange, ViewError, scan::Scan};

/// The columns of rows of system calls that tell what a row is.
const COLUMNS: [&str; 2] = ["call", "kind"];
/// The words of the column `kind` of what comes with signals, and with data.
const SIGNALS: [&str; 3] = ["signal", "exit", "thread exit"];
const DATA: &str = "data";
/// The most names that a sentence has.
const MAX_NAMED: usize = 8;

/// Rows of system calls that only one of two captures asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnaskedRows {
    /// Texts of each of [`COLUMNS`].
    texts: [BTreeSet<&'static str>; 2],
}

/// How many rows of a side are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnaskedCount {
    /// All of them.
    pub rows: u64,
    /// By the name of the call, or of the signal.
    pub by_name: BTreeMap<String, u64>,
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

    /// Counts such rows of a capture; `stream` is the one that is looked at, all if it is none.
    ///
    /// # Errors
    /// If chunks cannot be loaded, the filter fits no stream, or `cancel` was set.
    pub fn count(
        &self,
        source: &dyn Source,
        stream: Option<u16>,
        (range, filter): (TimeRange, Option<&Filter>),
        cancel: &Cancel,
    ) -> Result<UnaskedCount, ViewError> {
        let mut found = UnaskedCount::default();
        let is_looked_at = |scan: &Scan<'_>| stream.is_none_or(|stream| stream == scan.stream());
        let wanted = |schema: &StreamSchema| columns_of(schema).map(Vec::from).unwrap_or_default();
        let scans = Scan::all(source, range, filter, wanted, cancel, |schema| columns_of(schema).is_some())?;
        for mut scan in scans.into_iter().filter(is_looked_at) {
            let Some([call, kind]) = columns_of(scan.schema()) else { continue };
            let mut by_call: HashMap<StringId, u64> = HashMap::new();
            let mut known: [HashMap<StringId, bool>; 2] = Default::default();
            scan.for_each_hit(|hit| {
                let (calls, kinds) = (hit.ids(call)?, hit.ids(kind)?);
                hit.picked.for_each(|row| {
                    let (Some(call), Some(kind)) = (calls.get(row), kinds.get(row)) else { return };
                    let mut is_unasked = |id: &StringId, at: usize| {
                        let (Some(known), Some(texts)) = (known.get_mut(at), self.texts.get(at)) else { return false };
                        *known.entry(*id).or_insert_with(|| {
                            let text = source.dictionaries().text(*id).and_then(|text| std::str::from_utf8(text).ok());
                            text.is_some_and(|text| texts.contains(text))
                        })
                    };
                    if is_unasked(call, 0) || is_unasked(kind, 1) {
                        *by_call.entry(*call).or_insert(0) += 1;
                    }
                });
                Ok(())
            })?;
            for (id, rows) in by_call {
                let name = source.dictionaries().text(id).map(String::from_utf8_lossy).unwrap_or_default();
                *found.by_name.entry(shown(&name)).or_insert(0) += rows;
                found.rows += rows;
            }
        }
        Ok(found)
    }
}

impl UnaskedCount {
    /// As a sentence, if there are some: whose they are, and that the other one did not ask for them.
    pub fn sentence(&self, whose: &str, unasked: &str) -> Option<String> {
        if self.rows == 0 {
            return None;
        }
        let mut names: Vec<(&String, &u64)> = self.by_name.iter().collect();
        names.sort_by_key(|(_, rows)| std::cmp::Reverse(**rows));
        let mut named: Vec<String> =
            names.iter().take(MAX_NAMED).map(|(name, rows)| format!("{name} {rows}")).collect();
        let others = names.len().saturating_sub(MAX_NAMED);
        if others > 0 {
            named.push(format!("{others} others"));
        }
        let rows = if self.rows == 1 { "1 row".to_owned() } else { format!("{} rows", self.rows) };
        Some(format!(
            "Not recorded on both sides: {rows} {whose} of what {unasked} ({}). They are left out.",
            named.join(", ")
        ))
    }
}

fn syscalls_of(spec: &CaptureSpec) -> Option<&SyscallSpec> {
    spec.methods().find_map(|method| match method {
        Method::Syscalls(syscalls) => Some(syscalls),
        _ => None,
    })
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
fn columns_of(schema: &StreamSchema) -> Option<[usize; 2]> {
    let is_text = |at: &usize| schema.columns.get(*at).is_some_and(|column| column.ty == ColumnType::Text);
    let [call, kind] = COLUMNS.map(|name| schema.column(name).filter(is_text));
    schema.is_recorded().then_some([call?, kind?])
}

/// A capture without rows that the other one did not ask for. It has no index, as that counts them too.
#[derive(Clone, Copy)]
pub struct AskedOfBoth<'a> {
    inner: &'a dyn Source,
    unasked: &'a UnaskedRows,
}

impl<'a> AskedOfBoth<'a> {
    /// `inner` without these.
    pub fn new(inner: &'a dyn Source, unasked: &'a UnaskedRows) -> Self {
        Self { inner, unasked }
    }
}

impl Source for AskedOfBoth<'_> {
    fn origin_ns(&self) -> u64 {
        self.inner.origin_ns()
    }

    fn streams(&self) -> &[StreamSchema] {
        self.inner.streams()
    }

    fn chunks(&self, stream: u16) -> &[ChunkMeta] {
        self.inner.chunks(stream)
    }

    fn batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        self.inner.batch(stream, chunk, wanted)
    }

    fn sample_period_ns(&self, stream: u16) -> Option<u64> {
        self.inner.sample_period_ns(stream)
    }

    fn unasked(&self) -> Option<&UnaskedRows> {
        Some(self.unasked)
    }

    fn dictionaries(&self) -> &Dictionaries {
        self.inner.dictionaries()
    }

    fn losses(&self) -> &[Loss] {
        self.inner.losses()
    }
}
