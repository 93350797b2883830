//! Which interrupts were handled within which calls, by the rows of `irq:irq_handler_entry`.

use bathyscope_capture::{StreamSchema, visible};

use super::forest::{CallForest, NONE, Record};
use crate::{Cancel, Source, TimeRange, ViewError, hash::IdMap, scan::Scan};

/// Words that names of the kernel's functions for interrupts have.
const WORDS: [&[u8]; 3] = [b"irq", b"IRQ", b"interrupt"];

/// Interrupts by the calls that handled them.
#[derive(Debug, Default)]
pub(super) struct Irqs {
    pub(super) names: Vec<String>,
    /// By call: indexes of names, one for each time.
    pub(super) of_call: IdMap<u32, Vec<u32>>,
}

/// Whether the capture tells which interrupts were handled.
pub(super) fn has_irqs(source: &dyn Source) -> bool {
    stream_of(source).is_some()
}

fn stream_of(source: &dyn Source) -> Option<(u16, &StreamSchema)> {
    let is_it = |schema: &StreamSchema| schema.name == "irq:irq_handler_entry" && schema.column("irq").is_some();
    (0_u16..).zip(source.streams()).find(|(_, schema)| is_it(schema))
}

/// What happened in a thread: when, and which interrupt.
type Handled = (u64, u32);

impl Irqs {
    /// Reads them and finds the innermost call that each was handled in: an interrupt comes in the thread that runs.
    pub(super) fn read(source: &dyn Source, forest: &CallForest, cancel: &Cancel) -> Result<Self, ViewError> {
        let mut irqs = Self::default();
        let by_task = irqs.handled(source, forest, cancel)?;
        let mut innermost: IdMap<(u32, usize), (u64, u32)> = IdMap::default();
        for (index, call) in (0_u32..).zip(&forest.calls) {
            let Some(handled) = by_task.get(&call.task) else { continue };
            let from = handled.partition_point(|(time_ns, _)| *time_ns < call.start_ns);
            let within = handled.iter().enumerate().skip(from).take_while(|(_, (time, _))| *time <= call.end_ns);
            for (event, _) in within {
                let best = innermost.entry((call.task, event)).or_insert((u64::MAX, NONE));
                *best = (*best).min((call.duration_ns(), index));
            }
        }
        for ((task, event), (_, index)) in innermost {
            let Some((_, name)) = by_task.get(&task).and_then(|handled| handled.get(event)) else { continue };
            irqs.attribute(source, forest, index, *name);
        }
        Ok(irqs)
    }

    /// Notes an interrupt for the call that it was handled in, and for those around it as far as they are of interrupts.
    fn attribute(&mut self, source: &dyn Source, forest: &CallForest, index: u32, name: u32) {
        let is_of_interrupts = |call: &Record| {
            let name = source.dictionaries().text(call.function).unwrap_or_default();
            WORDS.iter().any(|word| name.windows(word.len()).any(|part| part == *word))
        };
        let mut at = index;
        while let Some(call) = forest.call(at).filter(|call| at == index || is_of_interrupts(call)) {
            self.of_call.entry(at).or_default().push(name);
            at = call.parent;
        }
    }

    /// Interrupts by the thread in which they came, in order of time.
    fn handled(
        &mut self,
        source: &dyn Source,
        forest: &CallForest,
        cancel: &Cancel,
    ) -> Result<IdMap<u32, Vec<Handled>>, ViewError> {
        let mut by_task: IdMap<u32, Vec<Handled>> = IdMap::default();
        let Some((stream, schema)) = stream_of(source) else { return Ok(by_task) };
        let tasks: IdMap<(u64, u64), u32> =
            (0_u32..).zip(&forest.tasks).map(|(index, task)| ((task.tid, task.cpu.unwrap_or(0)), index)).collect();
        let (irq, text) = (schema.column("irq").unwrap_or(0), schema.column("name"));
        let wanted: Vec<usize> =
            [StreamSchema::TIME, StreamSchema::CPU, StreamSchema::TID, irq].into_iter().chain(text).collect();
        let mut known: IdMap<(i128, u32), u32> = IdMap::default();
        let mut scan = Scan::new(source, stream, TimeRange::ALL, None, &wanted, cancel)?;
        scan.for_each_hit(|hit| {
            let (times, cpus) = (hit.u64s(StreamSchema::TIME)?, hit.u64s(StreamSchema::CPU)?);
            let tids = hit.u64s(StreamSchema::TID)?;
            let numbers = hit.batch.columns.get(irq);
            let texts = text.map(|text| hit.ids(text)).transpose()?.unwrap_or_default();
            hit.picked.for_each(|row| {
                let (Some(time), Some(cpu), Some(tid)) = (times.get(row), cpus.get(row), tids.get(row)) else { return };
                let Some(task) = tasks.get(&(*tid, if *tid == 0 { *cpu } else { 0 })) else { return };
                let number = numbers.and_then(|column| {
                    let signed = column.as_i64().get(row).map(|number| i128::from(*number));
                    signed.or_else(|| column.as_u64().get(row).map(|number| i128::from(*number)))
                });
                let key = (number.unwrap_or(-1), texts.get(row).copied().unwrap_or(0));
                let names = &mut self.names;
                let name = *known.entry(key).or_insert_with(|| {
                    let text = source.dictionaries().text(key.1).map(visible).unwrap_or_default();
                    names.push(format!("{text} (irq {})", key.0).trim_start().to_owned());
                    names.len() as u32 - 1
                });
                by_task.entry(*task).or_default().push((*time, name));
            });
            Ok(())
        })?;
        by_task.values_mut().for_each(|handled| handled.sort_unstable());
        Ok(by_task)
    }
}
