//! Contents of maps.

use std::{cmp::Ordering, collections::BTreeMap};

use bathyscope_plan::{MARK_BUCKET, MapPlan};

use super::{
    Aggregated, DecodeError, Value, aggregate,
    record::add_stacks,
    value::{integer, list},
};

/// What a map held at some moment, in the order in which it is printed: by value for numbers, by count for histograms, by
/// key for the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The elements.
    pub entries: Vec<Entry>,
    /// Elements that do not fit the map's description.
    pub faulty: u64,
}

/// An element.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The parts of its key; none for a map of one element.
    pub key: Vec<Value>,
    /// Its value, over all CPUs.
    pub value: Value,
}

/// Why a map cannot be read at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// Its elements have no value.
    #[error("the map's elements have no size")]
    NoSize,
}

impl Snapshot {
    /// Reads elements: the key, and the value, or for a per-CPU map the values of all CPUs one after the other.
    ///
    /// # Errors
    /// If the map's description makes no sense. Single elements that do not fit it are left out and counted.
    pub fn read<'a>(
        plan: &MapPlan,
        elements: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<Self, MapError> {
        if plan.value_bytes == 0 {
            return Err(MapError::NoSize);
        }
        let mut snapshot = Self::default();
        if plan.aggregation().is_some_and(bathyscope_plan::Aggregation::is_sparse) {
            snapshot.read_sparse(plan, elements);
        } else {
            // Nothing was put into a map without keys yet, or it was removed.
            let is_unset = |value: &[u8]| plan.is_single() && value.iter().all(|byte| *byte == 0);
            for (key, value) in elements.into_iter().filter(|(_, value)| !is_unset(value)) {
                match entry(plan, key, value) {
                    Ok(entry) => snapshot.entries.push(entry),
                    Err(_) => snapshot.faulty += 1,
                }
            }
        }
        snapshot.entries.sort_by(order);
        Ok(snapshot)
    }

    /// As it is printed when a script asks for it: a map without keys that was not set is shown as 0.
    #[must_use]
    pub fn with_unset(mut self, plan: &MapPlan) -> Self {
        let zeros = vec![0; plan.value_bytes as usize];
        if self.entries.is_empty()
            && plan.is_single()
            && let Ok(zero) = entry(plan, &[0; 4], &zeros)
        {
            self.entries.push(zero);
        }
        self
    }

    /// Buckets of one key are elements of their own: the number is the last word of the key.
    fn read_sparse<'a>(&mut self, plan: &MapPlan, elements: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) {
        let mut found: BTreeMap<&[u8], BTreeMap<u64, u64>> = BTreeMap::new();
        for (key, value) in elements {
            let Some((key, number)) = key.len().checked_sub(8).and_then(|at| key.split_at_checked(at)) else {
                self.faulty += 1;
                continue;
            };
            let count = value.chunks_exact(8).fold(0_u64, |sum, cpu| sum.saturating_add(integer(cpu)));
            let number = integer(number);
            if count > 0 && number != MARK_BUCKET {
                found.entry(key).or_default().insert(number, count);
            }
        }
        for (key, buckets) in found {
            match list(plan.key.iter(), key, 0) {
                Ok(Value::List(key)) => {
                    let value = Value::Aggregate(Aggregated::Buckets(buckets.into_iter().collect()));
                    self.entries.push(Entry { key, value });
                }
                _ => self.faulty += 1,
            }
        }
    }

    /// The stacks that keys and values refer to: whether of user space, and the id.
    pub fn stacks(&self, map: &MapPlan) -> Vec<(bool, u64)> {
        let mut found = Vec::new();
        for entry in &self.entries {
            map.key.iter().zip(&entry.key).for_each(|(ty, value)| add_stacks(ty, value, &mut found));
            add_stacks(&map.value, &entry.value, &mut found);
        }
        found
    }

    /// The last `top` entries, which are the greatest; all if none is given or it is 0.
    pub fn top(&self, top: Option<u64>) -> &[Entry] {
        let wanted = top.filter(|top| *top > 0).map_or(usize::MAX, |top| usize::try_from(top).unwrap_or(usize::MAX));
        self.entries.get(self.entries.len().saturating_sub(wanted)..).unwrap_or_default()
    }
}

fn entry(plan: &MapPlan, key: &[u8], value: &[u8]) -> Result<Entry, DecodeError> {
    let key = if plan.key.is_empty() { Value::List(Vec::new()) } else { list(plan.key.iter(), key, 0)? };
    let value = match plan.aggregation() {
        Some(aggregation) => {
            let cpus = value.chunks_exact(plan.value_bytes as usize);
            if cpus.len() == 0 {
                return Err(DecodeError::Short);
            }
            Value::Aggregate(aggregate::combine(aggregation, cpus)?)
        }
        None if plan.is_per_cpu() => per_cpu(plan, value)?,
        None => Value::read(&plan.value, value)?,
    };
    match key {
        Value::List(key) => Ok(Entry { key, value }),
        _ => Err(DecodeError::Type),
    }
}

/// A declared per-CPU map of plain values: numbers are added up, of the rest the first that is set is taken.
fn per_cpu(plan: &MapPlan, value: &[u8]) -> Result<Value, DecodeError> {
    let cpus = value.chunks_exact(plan.value_bytes as usize);
    let values = cpus.map(|cpu| Value::read(&plan.value, cpu)).collect::<Result<Vec<_>, _>>()?;
    let first = values.first().ok_or(DecodeError::Short)?;
    Ok(match first {
        Value::Unsigned(_) => Value::Unsigned(values.iter().fold(0, |sum, value| match value {
            Value::Unsigned(value) => sum.wrapping_add(*value),
            _ => sum,
        })),
        Value::Signed(_) => Value::Signed(values.iter().fold(0, |sum, value| match value {
            Value::Signed(value) => sum.wrapping_add(*value),
            _ => sum,
        })),
        _ => {
            let set = value.chunks_exact(plan.value_bytes as usize).position(|cpu| cpu.iter().any(|byte| *byte != 0));
            values.get(set.unwrap_or(0)).unwrap_or(first).clone()
        }
    })
}

/// By value, then by key.
fn order(a: &Entry, b: &Entry) -> Ordering {
    weight(&a.value).cmp(&weight(&b.value)).then_with(|| compare_all(&a.key, &b.key))
}

/// What elements are sorted by: their number, or how much is in their histogram; the same for all where it is neither.
fn weight(value: &Value) -> i128 {
    match value {
        Value::Unsigned(_) | Value::Signed(_) | Value::Bool(_) => value.number().unwrap_or(0),
        Value::Aggregate(Aggregated::Buckets(buckets)) => buckets.iter().map(|(_, count)| i128::from(*count)).sum(),
        Value::Aggregate(Aggregated::Series(points)) => points.last().map_or(0, |point| i128::from(point.interval)),
        Value::Aggregate(aggregated) => aggregated.number().unwrap_or(0),
        _ => 0,
    }
}

fn compare_all(a: &[Value], b: &[Value]) -> Ordering {
    let parts = a.iter().zip(b).map(|(a, b)| compare(a, b));
    parts.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Text(a) | Value::Buffer(a), Value::Text(b) | Value::Buffer(b)) => a.cmp(b),
        (Value::List(a), Value::List(b)) => compare_all(a, b),
        (Value::Stack { id: a, pid: a_pid }, Value::Stack { id: b, pid: b_pid }) => (a_pid, a).cmp(&(b_pid, b)),
        (Value::Inet { family: a, address: a_address }, Value::Inet { family: b, address: b_address }) => {
            (a, a_address).cmp(&(b, b_address))
        }
        (Value::Mac(a), Value::Mac(b)) => a.cmp(b),
        _ => a.number().cmp(&b.number()),
    }
}
