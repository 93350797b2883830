//! The pages of a trace → rows.
//!
//! Each CPU's pages are in order by themselves; their records are merged by time, because a call may end on another CPU
//! than it began on, and with the changes of processes, because a record has only its thread's number.

use std::collections::HashMap;

use bathyscope_capture::{Cell, Row, StringDictionary, cut_text};
use bathyscope_catalog::EventFormat;
use bathyscope_decode::pages::{
    Call, CallEntry, CallExit, CallState, Calls, FieldValue, Missed, Number, Page, Role, value, write_value,
};
use bathyscope_protocol::{RingContent, RingInfo};

use super::streams::{FieldSource, RecordUse, TraceStreams};
use crate::{
    AgentLink,
    engine::Engine,
    history::ProcessHistory,
    lookup::Lookup,
    merge::Merge,
    reader::RecordBatch,
    row::{NewCell, NewRow, PlacedRow},
    script::HostNames,
    sink::Sink,
};

/// The most addresses whose names are kept.
const MAX_NAMES: usize = 1 << 17;
/// The longest text of an event without a stream of its own.
const MAX_TEXT_BYTES: usize = 4096;

/// What the kernel writes into a stack where its own tracer was called.
const TRAMPOLINE: u64 = i32::MAX as u64;

/// What rows of a trace are made with.
pub(crate) struct TraceSetup {
    pub(crate) streams: TraceStreams,
    pub(crate) names: HostNames,
    pub(crate) link: AgentLink,
}

/// A record, as far as it was read when its page came.
enum Item {
    Function {
        function: u64,
        caller: u64,
    },
    Enter(CallEntry),
    Leave(CallExit),
    Fields {
        id: u32,
        record: Box<[u8]>,
    },
    /// Events of this CPU were lost before this moment.
    Lost,
}

/// A record that waits for its turn.
struct WaitingRecord {
    tid: u32,
    item: Item,
}

/// Makes rows of pages.
pub(crate) struct TraceRows {
    setup: TraceSetup,
    merge: Merge<WaitingRecord>,
    /// For each ring its number in the merge and its CPU, if it has pages.
    rings: Vec<Option<(usize, u32)>>,
    /// By number in the merge.
    cpus: Vec<u32>,
    calls: Calls,
    function_stream: Option<u16>,
    names: HashMap<u64, Vec<u8>>,
    last_ns: u64,
}

impl TraceRows {
    pub(crate) fn new(setup: TraceSetup, rings: &[RingInfo]) -> Self {
        let mut cpus = Vec::new();
        let numbered = rings.iter().map(|ring| {
            let is_pages = ring.content == RingContent::TracePages;
            is_pages.then(|| {
                let cpu = ring.cpu.unwrap_or(0);
                cpus.push(cpu);
                (cpus.len() - 1, cpu)
            })
        });
        let rings = numbered.collect();
        let merge = Merge::new(cpus.len());
        let function_stream = setup.streams.uses.values().find_map(|used| match used {
            RecordUse::Function(stream, _) => Some(*stream),
            _ => None,
        });
        Self { setup, merge, rings, cpus, calls: Calls::default(), function_stream, names: HashMap::new(), last_ns: 0 }
    }

    fn note_missed(&mut self, ring: usize, missed: Missed, time_ns: u64, sink: &Sink) {
        let count = match missed {
            Missed::Nothing => return,
            Missed::Counted(count) => Some(count),
            Missed::Uncounted => None,
        };
        sink.told(count, self.merge.last_ns(ring), time_ns);
        self.merge.push(ring, Some(time_ns), size_of::<WaitingRecord>(), WaitingRecord { tid: 0, item: Item::Lost });
    }

    /// What a record is; none if nothing can be made of it.
    fn item(&self, record: &[u8]) -> Option<WaitingRecord> {
        let TraceStreams { events, uses, .. } = &self.setup.streams;
        let (id, tid) = events.head(record)?;
        let item = match uses.get(&id)? {
            RecordUse::Function(_, Role::Function { function, caller }) => Item::Function {
                function: value(function, record)?.unsigned()?,
                caller: value(caller, record)?.unsigned()?,
            },
            RecordUse::Graph(Role::GraphEntry(fields)) => Item::Enter(fields.read(record)?),
            RecordUse::Graph(Role::GraphExit(fields)) => Item::Leave(fields.read(record)?),
            RecordUse::Fields(..) | RecordUse::Other(..) => Item::Fields { id, record: record.into() },
            RecordUse::Function(..) | RecordUse::Graph(_) => return None,
        };
        Some(WaitingRecord { tid, item })
    }

    fn rows(
        &mut self,
        (cpu, time_ns): (u32, u64),
        WaitingRecord { tid, item }: WaitingRecord,
        strings: &mut StringDictionary,
        lookup: &mut Lookup,
    ) -> Vec<NewRow> {
        let (mut calls, mut rows) = (Vec::new(), Vec::new());
        match item {
            Item::Enter(entry) => self.calls.enter(cpu, tid, time_ns, entry, &mut calls),
            Item::Leave(exit) => self.calls.leave(cpu, tid, time_ns, exit, &mut calls),
            Item::Lost => self.calls.lost(cpu),
            Item::Function { function, caller } => {
                let Some(stream) = self.function_stream else { return rows };
                let mut row = self.common((cpu, time_ns), tid, &mut lookup.history, strings);
                row.cells.extend([function, caller].map(|address| Cell::Text(self.name(address))));
                rows.push(NewRow { stream, row });
            }
            Item::Fields { id, record } => {
                let common = self.common((cpu, time_ns), tid, &mut lookup.history, strings);
                rows.extend(self.fields(id, &record, common, lookup));
            }
        }
        rows.extend(calls.iter().filter_map(|call| self.call(call, &mut lookup.history, strings)));
        rows
    }

    /// Time, CPU, process, thread, name.
    fn common(
        &self,
        (cpu, time_ns): (u32, u64),
        tid: u32,
        history: &mut ProcessHistory,
        strings: &mut StringDictionary,
    ) -> PlacedRow {
        let (pid, comm) = history.thread(tid, &self.setup.link, strings);
        Row::common(time_ns, cpu, [pid, tid], comm.unwrap_or_default().to_vec())
    }

    fn call(&mut self, call: &Call, history: &mut ProcessHistory, strings: &mut StringDictionary) -> Option<NewRow> {
        let stream = self.setup.streams.graph?;
        let mut row = self.common((call.cpu, call.end), call.tid, history, strings);
        let so_far = || call.start.map_or(0, |start| call.end.saturating_sub(start));
        let duration_ns = match call.state {
            // It took at least so long.
            CallState::Unfinished => so_far(),
            CallState::Returned | CallState::Unstarted => call.duration_ns.unwrap_or_else(so_far),
        };
        let caller = call.caller.map(|address| self.name(address)).unwrap_or_default();
        row.cells.extend([
            Cell::Text(self.name(call.function)),
            Cell::U64(u64::from(call.depth)),
            Cell::U64(duration_ns),
            Cell::Text(caller),
            Cell::Text(call.state.word().as_bytes().to_vec()),
        ]);
        Some(NewRow { stream, row })
    }

    fn fields(&mut self, id: u32, record: &[u8], mut row: PlacedRow, lookup: &mut Lookup) -> Option<NewRow> {
        let stack = match self.setup.streams.uses.get(&id)? {
            RecordUse::Other(_, format) => TracedStack::of(format, record),
            _ => None,
        };
        let stack = stack.map(|stack| self.stack_text(&stack, lookup));
        match self.setup.streams.uses.get(&id)? {
            RecordUse::Fields(stream, sources) => {
                row.cells.extend(sources.iter().map(|source| field_cell(source, record)));
                Some(NewRow { stream: *stream, row })
            }
            RecordUse::Other(stream, format) => {
                let stacked = stack.is_some();
                let mut text = stack.unwrap_or_default();
                for field in format.fields.iter().filter(|_| !stacked) {
                    let Some(value) = value(field, record).filter(|_| text.len() < MAX_TEXT_BYTES) else { continue };
                    let space = if text.is_empty() { "" } else { " " };
                    text.push_str(space);
                    text.push_str(&field.name);
                    text.push('=');
                    // Writing to a String cannot fail.
                    let _infallible = write_value(&value, &mut text);
                }
                row.cells.push(Cell::Text(format.name.as_bytes().to_vec()));
                row.cells.push(Cell::Text(cut_text(text.as_bytes(), MAX_TEXT_BYTES).into_owned()));
                Some(NewRow { stream: *stream, row })
            }
            RecordUse::Function(..) | RecordUse::Graph(_) => None,
        }
    }

    /// The functions of a stack, innermost first, each behind `=>` as the kernel prints them.
    fn stack_text(&mut self, stack: &TracedStack, lookup: &mut Lookup) -> String {
        let mut text = String::new();
        for address in &stack.addresses {
            let name = match stack.process {
                Some(pid) => user_name(lookup, pid, *address),
                None => String::from_utf8_lossy(&self.name(*address)).into_owned(),
            };
            if text.len() + name.len() > MAX_TEXT_BYTES - 16 {
                text.push_str(" => …");
                break;
            }
            text.push_str(if text.is_empty() { "=> " } else { " => " });
            text.push_str(&name);
        }
        text
    }

    /// The function that an address lies in. It may lie some bytes into it, because it is that of the call to the tracer.
    fn name(&mut self, address: u64) -> Vec<u8> {
        if let Some(known) = self.names.get(&address) {
            return known.clone();
        }
        if address == TRAMPOLINE {
            return b"[FTRACE TRAMPOLINE]".to_vec();
        }
        use bathyscope_decode::script::Names as _;
        let name = match self.setup.names.kernel_symbol(address) {
            Some(symbol) if symbol.module.is_empty() => symbol.name,
            Some(symbol) => format!("{} [{}]", symbol.name, symbol.module),
            None => format!("{address:#x}"),
        };
        if self.names.len() >= MAX_NAMES {
            self.names.clear();
        }
        self.names.insert(address, name.clone().into_bytes());
        name.into_bytes()
    }
}

impl Engine for TraceRows {
    fn take(&mut self, batch: &RecordBatch, sink: &mut Sink, _lookup: &mut Lookup) {
        let Some(Some((ring, _cpu))) = self.rings.get(batch.ring).copied() else { return };
        let (mut seen, mut undecodable) = (0, 0);
        let since_ns = self.merge.last_ns(ring);
        for bytes in batch.records() {
            let Ok(page) = Page::parse(&self.setup.streams.layout, bytes) else {
                undecodable += 1;
                continue;
            };
            let mut missed = page.missed();
            for event in page.events() {
                let Ok(event) = event else {
                    // What follows in this page cannot be counted; it is at least one.
                    undecodable += 1;
                    break;
                };
                let time_ns = event.time.saturating_add_signed(self.setup.streams.ahead_ns.saturating_neg());
                self.note_missed(ring, std::mem::replace(&mut missed, Missed::Nothing), time_ns, sink);
                seen += 1;
                match self.item(event.record) {
                    Some(waiting) => {
                        let bytes = size_of::<WaitingRecord>() + event.record.len();
                        self.merge.push(ring, Some(time_ns), bytes, waiting);
                    }
                    None => undecodable += 1,
                }
            }
            // A page may have nothing but the note.
            self.note_missed(ring, missed, self.merge.last_ns(ring), sink);
        }
        sink.seen(seen);
        sink.undecodable(undecodable, since_ns, self.merge.last_ns(ring));
    }

    fn ring_read(&mut self, ring: usize, read_ns: u64, to_its_end: bool, _sink: &mut Sink) {
        if let Some(Some((ring, _cpu))) = self.rings.get(ring) {
            self.merge.read(*ring, read_ns, to_its_end);
        }
    }

    fn next_ns(&self, all: bool) -> Option<u64> {
        self.merge.next_ns(all)
    }

    fn is_full(&self) -> bool {
        self.merge.is_full()
    }

    fn pending_ns(&self) -> u64 {
        self.merge.pending_ns()
    }

    fn release(&mut self, _all: bool, sink: &mut Sink, lookup: &mut Lookup) {
        let Some((ring, time_ns, waiting)) = self.merge.pop_any() else { return };
        let cpu = self.cpus.get(ring).copied().unwrap_or(0);
        self.last_ns = self.last_ns.max(time_ns);
        let rows = self.rows((cpu, time_ns), waiting, sink.strings(), lookup);
        sink.push(rows);
    }

    fn settle(&mut self, all: bool, sink: &mut Sink, lookup: &mut Lookup) {
        if all {
            let mut open = Vec::new();
            self.calls.finish(self.last_ns, &mut open);
            let rows = open.iter().filter_map(|call| self.call(call, &mut lookup.history, sink.strings())).collect();
            sink.push(rows);
        }
        // Rows wait for the processes that they are of.
        let complete_ns = self.pending_ns().min(lookup.history.complete_ns());
        for stream in (0_u16..).take(self.setup.streams.schemas.len()) {
            sink.complete(stream, complete_ns);
        }
    }

    fn late(&self) -> u64 {
        self.merge.late()
    }
}

/// A stack that the tracer wrote.
struct TracedStack {
    /// For one of a program, its process.
    process: Option<u32>,
    /// Innermost first.
    addresses: Vec<u64>,
}

impl TracedStack {
    /// The stack in a record of `kernel_stack` or `user_stack`: the kernel fills what it does not use with 0 or -1.
    fn of(format: &EventFormat, record: &[u8]) -> Option<Self> {
        let process = match format.name.as_str() {
            "kernel_stack" => None,
            "user_stack" => {
                let told = format.field("tgid").and_then(|field| value(field, record)?.unsigned());
                Some(told.and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0))
            }
            _ => return None,
        };
        let caller = format.field("caller")?;
        // A format may tell of eight addresses where the record has as many as its own number says.
        let told = format.field("size").and_then(|field| value(field, record)?.unsigned());
        let count = told.and_then(|told| usize::try_from(told).ok()).unwrap_or(caller.size as usize / 8);
        let bytes = record.get(caller.offset as usize..)?;
        let addresses = bytes.chunks_exact(8).take(count).map(|word| {
            let mut address = [0; 8];
            address.copy_from_slice(word);
            u64::from_ne_bytes(address)
        });
        Some(Self { process, addresses: addresses.take_while(|address| !matches!(*address, 0 | u64::MAX)).collect() })
    }
}

/// The function of a process that an address lies in, with its file's last name.
fn user_name(lookup: &mut Lookup, pid: u32, address: u64) -> String {
    match lookup.user_symbol(pid, address) {
        Some(symbol) if symbol.module.is_empty() => symbol.name,
        Some(symbol) => format!("{} [{}]", symbol.name, symbol.module.rsplit('/').next().unwrap_or_default()),
        None => format!("<{address:016x}>"),
    }
}

fn field_cell(source: &FieldSource, record: &[u8]) -> NewCell {
    match source {
        FieldSource::Number(field) => match value(field, record) {
            Some(FieldValue::Number(Number::Unsigned(number)) | FieldValue::Address(number)) => Cell::U64(number),
            Some(FieldValue::Number(Number::Signed(number))) => Cell::I64(number),
            // A record that is shorter than its format says.
            _ if field.signed => Cell::I64(0),
            _ => Cell::U64(0),
        },
        FieldSource::Text(field) => match value(field, record) {
            Some(FieldValue::Text(text)) => Cell::Text(text.to_vec()),
            Some(value) => {
                let mut text = String::new();
                // Writing to a String cannot fail.
                let _infallible = write_value(&value, &mut text);
                Cell::Text(text.into_bytes())
            }
            None => Cell::Text(Vec::new()),
        },
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_catalog::parse_event_format;

    use super::*;

    fn stack(fields: &str, numbers: &[u64]) -> Option<(Option<u32>, Vec<u64>)> {
        let format = parse_event_format(fields.as_bytes()).unwrap();
        let record: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        TracedStack::of(&format, &record).map(|stack| (stack.process, stack.addresses))
    }

    #[test]
    fn stacks_of_the_tracer_have_their_addresses() {
        let varying = "name: kernel_stack\nID: 4\nformat:\n\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n\
                       \tfield:unsigned long caller[];\toffset:16;\tsize:0;\tsigned:0;\n\nprint fmt: \"\"\n";
        assert_eq!(stack(varying, &[0, 3, 10, 20, 30, 40]), Some((None, vec![10, 20, 30])));
        assert_eq!(stack(varying, &[0, 3, 10, u64::MAX, 30]), Some((None, vec![10])));
        let eight = varying.replace("caller[];\toffset:16;\tsize:0", "caller[8];\toffset:16;\tsize:64");
        let many: Vec<u64> = [0, 12].into_iter().chain(1..=13).collect();
        assert_eq!(stack(&eight, &many), Some((None, (1..=12).collect())));
        let user = "name: user_stack\nID: 12\nformat:\n\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n\
                    \tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\nprint fmt: \"\"\n";
        assert_eq!(stack(user, &[0, 7, 10, 20, 0, 0, 0, 0, 0, 0]), Some((Some(7), vec![10, 20])));
        assert_eq!(stack(&user.replace("user_stack", "print"), &[0, 7, 10]), None);
    }
}
