//! The decoder: one thread for each capture that turns records into rows, dictionaries and the process history.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, RecvTimeoutError, SyncSender},
    },
    time::{Duration, Instant},
};

use bathyscope_capture::{Append, CaptureId, ColumnData, LossStage, StreamSchema, StringDictionary};
use bathyscope_decode::records::RecordDecoder;
use bathyscope_protocol::{RingContent, RingInfo};
use bathyscope_views::{Dictionaries, EventText};
use tokio::sync::mpsc;

use super::{
    AgentLink,
    appender::Outgoing,
    chunks::ChunkBuilder,
    ledger::LossAccounting,
    live_rows::LiveRows,
    naming::NamingWork,
    process_metadata::{MetadataRequest, MetadataResponse, lock},
    progress::Progress,
    reader::{FromReader, RecordBatch},
    samples::{Out, Samples, ShowRow},
    script_rows::{Lookup, NewRow, ScriptRows, ScriptSetup},
    syscall_rows::{PlaceStack, SyscallRows},
    trace_rows::{TraceRows, TraceSetup},
};

/// How long the decoder waits for records before it looks after everything else.
const PATIENCE: Duration = Duration::from_millis(10);
/// Bytes of dictionaries that one capture may have in memory.
const MAX_DICTIONARY_BYTES: u64 = 512 << 20;
/// Bytes of raw records that may wait for a chunk.
const MAX_HELD_BYTES: usize = 64 << 20;
/// A record's time is taken a moment before its ring shows it.
const SLACK_NS: u64 = 1_000_000;

/// Everything that a decoder begins with.
pub(crate) struct Setup {
    pub(crate) id: CaptureId,
    pub(crate) start_ns: u64,
    pub(crate) flush_every: Duration,
    pub(crate) streams: Vec<(StreamSchema, Option<RecordDecoder>)>,
    pub(crate) rings: Vec<RingInfo>,
    pub(crate) records: Receiver<FromReader>,
    pub(crate) responses: Receiver<MetadataResponse>,
    pub(crate) requests: SyncSender<MetadataRequest>,
    pub(crate) to_store: mpsc::Sender<Outgoing>,
    pub(crate) accounting: Arc<Mutex<LossAccounting>>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) live: LiveRows,
    pub(crate) naming: NamingWork,
    pub(crate) link: AgentLink,
    pub(crate) private_dir: PathBuf,
}

/// What makes rows of what is not decoded by a layout.
pub(crate) struct Rows {
    pub(crate) samples: Samples,
    pub(crate) script: Option<ScriptSetup>,
    pub(crate) trace: Option<TraceSetup>,
    pub(crate) syscalls: Option<SyscallRows>,
    pub(crate) target_pid: Option<u32>,
}

#[derive(Debug)]
struct StreamState {
    rows: ChunkBuilder,
    is_event: bool,
    /// Columns with addresses of the kernel that are shown as its functions.
    addresses: Vec<usize>,
    decoder: Option<RecordDecoder>,
    /// Greatest time seen.
    last_ns: u64,
    /// Nothing from before this moment will come.
    complete_ns: u64,
    held_bytes: usize,
    undecodable: u64,
    undecodable_since_ns: u64,
}

/// Starts the thread; it ends when the reader has, with everything handed to the store. It says when it knows what it has to
/// know of the target before that may go on.
pub(crate) fn spawn(
    setup: Setup,
    rows: Rows,
    ready: tokio::sync::oneshot::Sender<()>,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    // Only of system calls something has to be known; who waits for others is told at once that nothing comes.
    let ready = rows.syscalls.is_some().then_some(ready);
    let run = move || {
        let decoder = Decoder::new(setup, rows);
        // Nobody waits any more where the start was given up.
        let _given_up = ready.map(|ready| ready.send(()));
        decoder.run();
    };
    std::thread::Builder::new().name("bathyscope-rows".to_owned()).spawn(run)
}

fn address_columns(schema: &StreamSchema) -> Vec<usize> {
    let none = Dictionaries::default();
    let text = EventText::of(schema, &none).ok().flatten();
    text.map_or_else(Vec::new, |text| text.address_columns())
}

struct Decoder {
    setup: Setup,
    look: Lookup,
    script: Option<ScriptRows>,
    trace: Option<TraceRows>,
    syscalls: Option<SyscallRows>,
    /// Records of system calls with stacks, with their ends, until all changes of processes before them are known.
    calls: VecDeque<(u64, Box<[u8]>)>,
    calls_bytes: usize,
    streams: Vec<StreamState>,
    strings: StringDictionary,
    dictionary_bytes: u64,
    flushed: Instant,
    read_ns: u64,
}

impl Decoder {
    fn new(mut setup: Setup, rows: Rows) -> Self {
        let Rows { samples, script, trace, syscalls, target_pid } = rows;
        if let (Some(syscalls), Some(pid)) = (&syscalls, target_pid) {
            syscalls.expect(pid);
        }
        let look = Lookup::new(samples, setup.link.clone(), std::mem::take(&mut setup.private_dir));
        let streams = std::mem::take(&mut setup.streams).into_iter().map(|(schema, decoder)| StreamState {
            is_event: schema.has_events(),
            addresses: address_columns(&schema),
            rows: ChunkBuilder::new(schema),
            decoder,
            last_ns: 0,
            complete_ns: 0,
            held_bytes: 0,
            undecodable: 0,
            undecodable_since_ns: setup.start_ns,
        });
        let streams = streams.collect();
        let read_ns = setup.start_ns;
        let strings = StringDictionary::default();
        let script = script.map(ScriptRows::new);
        let trace = trace.map(|trace| TraceRows::new(trace, &setup.rings));
        let flushed = Instant::now();
        Self {
            setup,
            look,
            script,
            trace,
            syscalls,
            calls: VecDeque::new(),
            calls_bytes: 0,
            streams,
            strings,
            dictionary_bytes: 0,
            flushed,
            read_ns,
        }
    }

    fn run(mut self) {
        loop {
            match self.setup.records.recv_timeout(PATIENCE) {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.tick();
            if !self.flush_if_due() {
                return;
            }
        }
        while let Ok(fact) = self.setup.responses.try_recv() {
            self.look.samples.learn(fact, &mut self.strings);
        }
        self.release(true);
        if let Some(rows) = self.syscalls.as_ref().map(SyscallRows::finish) {
            self.push_rows(rows);
        }
        if let Some(script) = &mut self.script {
            let rows = script.finish(&mut self.look);
            self.push_rows(rows);
        }
        if self.look.samples.is_memory_untold() {
            self.setup.progress.no_memory_told();
        }
        self.setup.live.flush(true);
        let _the_store_may_be_gone = self.flush(true);
        let missing = self.setup.naming.without_file(&self.look.samples.held());
        self.setup.progress.without_file(missing);
        let late: u64 = self.streams.iter().map(|stream| stream.rows.late()).sum();
        let late = late + self.trace.as_ref().map_or(0, TraceRows::late);
        if late > 0 || self.look.samples.late() > 0 {
            tracing::info!(capture = %self.setup.id, late, records = self.look.samples.late(), "rows came late");
        }
        // A call that took long comes after calls that began later: that is no disorder.
        if self.syscalls.is_none() {
            self.setup.progress.late(late);
        }
    }

    fn take(&mut self, message: FromReader) {
        match message {
            FromReader::Records(batch) => self.decode(&batch),
            FromReader::Read { ring, read_ns, to_its_end } => self.read(ring, read_ns, to_its_end),
            FromReader::Damaged { ring, why } => {
                tracing::error!(capture = %self.setup.id, ring, why, "a ring cannot be read any more");
                self.read(ring, u64::MAX, true);
                self.setup.progress.fail(format!("a ring could not be read any more: {why}"));
            }
        }
    }

    fn read(&mut self, ring: usize, read_ns: u64, to_its_end: bool) {
        if read_ns != u64::MAX {
            self.read_ns = self.read_ns.max(read_ns);
        }
        self.look.samples.read(ring, read_ns, to_its_end);
        if let Some(trace) = &mut self.trace {
            trace.read(ring, read_ns, to_its_end);
        }
        let content = self.setup.rings.get(ring).map(|ring| ring.content);
        let of_ring = |index: usize| match content {
            Some(RingContent::Stream { stream }) => index == usize::from(stream),
            Some(RingContent::Script) => true,
            Some(RingContent::Sideband | RingContent::TracePages) | None => false,
        };
        for (_, stream) in self.streams.iter_mut().enumerate().filter(|(index, _)| of_ring(*index)) {
            let complete_ns = if to_its_end { read_ns } else { stream.last_ns };
            stream.complete_ns = stream.complete_ns.max(complete_ns.saturating_sub(SLACK_NS));
        }
    }

    fn decode(&mut self, batch: &RecordBatch) {
        let Some(info) = self.setup.rings.get(batch.ring) else { return };
        let stream = match info.content {
            RingContent::Stream { stream } => self.streams.get_mut(usize::from(stream)).map(|state| (stream, state)),
            RingContent::Script => return self.decode_script(batch),
            RingContent::TracePages => {
                if let Some(trace) = &mut self.trace {
                    trace.take(batch, &self.setup.accounting);
                }
                return;
            }
            RingContent::Sideband => None,
        };
        if self.syscalls.is_some() && stream.is_some() {
            return self.decode_syscalls(batch);
        }
        let Some((index, state)) = stream.filter(|(_, state)| state.decoder.is_some()) else {
            return self.look.samples.take(batch, &self.setup.accounting);
        };
        let Some(decoder) = &mut state.decoder else { return };
        let watched = self.setup.live.watched();
        let mut rows = 0_u64;
        for record in batch.records() {
            if decoder.decode(record, state.rows.rows_mut(), &mut self.strings) {
                rows += 1;
                for column in &state.addresses {
                    let numbers = state.rows.rows_mut().columns.get(*column).map_or(&[][..], ColumnData::as_u64);
                    numbers.last().into_iter().for_each(|address| self.look.samples.note_address(*address));
                }
                state.held_bytes += record.len();
                state.last_ns = state.last_ns.max(decoder.time_ns(record).unwrap_or(0));
                if watched {
                    let origin_ns = self.setup.start_ns;
                    self.setup.live.row(index, || decoder.cells(record, origin_ns));
                }
            } else {
                state.undecodable += 1;
            }
        }
        self.setup.progress.rows(index, rows);
    }

    fn decode_syscalls(&mut self, batch: &RecordBatch) {
        if !self.syscalls.as_ref().is_some_and(SyscallRows::has_stacks) {
            return self.syscall_rows(batch.records());
        }
        for record in batch.records() {
            let end_ns = bathyscope_bpf::syscalls::Record::end_ns(record).unwrap_or(0);
            self.calls_bytes += record.len();
            self.calls.push_back((end_ns, record.into()));
        }
    }

    /// Handles records of system calls with stacks whose turn has come, or all. Changes of processes take effect in between.
    fn release_syscalls(&mut self, all: bool) {
        self.look.samples.apply_facts(&mut self.strings, all);
        let known_ns = if all { u64::MAX } else { self.look.samples.complete_ns() };
        while let Some((end_ns, record)) =
            self.calls.pop_front_if(|(end_ns, _)| *end_ns < known_ns || self.calls_bytes > MAX_HELD_BYTES)
        {
            self.calls_bytes -= record.len();
            self.look.samples.release_until(end_ns, &mut self.strings);
            self.syscall_rows(std::iter::once(&*record));
        }
        let next_ns = self.calls.front().map_or(u64::MAX, |(end_ns, _)| *end_ns);
        let until_ns = if all { u64::MAX } else { known_ns.min(next_ns).saturating_sub(1) };
        self.look.samples.release_until(until_ns, &mut self.strings);
    }

    fn syscall_rows<'a>(&mut self, records: impl Iterator<Item = &'a [u8]>) {
        let mut rows = Vec::new();
        let (mut undecodable, mut last_ns) = (0, 0);
        if let Some(syscalls) = &self.syscalls {
            let (samples, link) = (&mut self.look.samples, &self.setup.link);
            let place: &mut PlaceStack<'_> = &mut |pid, copy| samples.place_copy(pid, copy, link);
            for record in records {
                match syscalls.rows(record, place) {
                    Some((new, end_ns)) => {
                        last_ns = last_ns.max(end_ns);
                        rows.extend(new);
                    }
                    None => undecodable += 1,
                }
            }
            let left_out = syscalls.take_left_out();
            if left_out > 0 {
                lock(&self.setup.accounting).left_out(0, left_out);
                self.setup.progress.leave_out(left_out);
            }
        }
        self.push_rows(rows);
        if let Some(state) = self.streams.first_mut() {
            state.last_ns = state.last_ns.max(last_ns);
            state.undecodable += undecodable;
        }
    }

    fn decode_script(&mut self, batch: &RecordBatch) {
        let Some(script) = &mut self.script else { return };
        let (rows, undecodable) = script.take(batch, &mut self.look);
        if undecodable > 0 {
            lock(&self.setup.accounting).lost_somewhere(LossStage::Decode, undecodable, self.read_ns, self.read_ns);
        }
        self.push_rows(rows);
    }

    fn push_rows(&mut self, rows: Vec<NewRow>) {
        let watched = self.setup.live.watched();
        for row in rows {
            let index = row.stream;
            let Some(state) = self.streams.get_mut(usize::from(index)) else { continue };
            if watched && state.is_event {
                let origin_ns = self.setup.start_ns;
                self.setup.live.row(index, || row.shown(origin_ns));
            }
            for address in state.addresses.iter().filter_map(|column| row.number(*column)) {
                self.look.samples.note_address(address);
            }
            state.held_bytes += row.bytes();
            state.last_ns = state.last_ns.max(row.time_ns());
            if row.push(state.rows.rows_mut(), &mut self.strings) {
                self.setup.progress.rows(index, 1);
            } else {
                state.undecodable += 1;
            }
        }
    }

    /// Facts, records whose turn has come, viewers.
    fn tick(&mut self) {
        while let Ok(fact) = self.setup.responses.try_recv() {
            self.look.samples.learn(fact, &mut self.strings);
        }
        self.release(false);
        if let Some(script) = &mut self.script {
            let rows = script.tick(&mut self.look, self.setup.start_ns);
            self.push_rows(rows);
        }
        self.look.samples.send_requests(&self.setup.requests);
        self.setup.live.flush(false);
    }

    /// Handles the merged records whose turn has come, or all.
    fn release(&mut self, all: bool) {
        if let Some(trace) = &mut self.trace {
            let rows = trace.release(all, &mut self.look, &mut self.strings);
            let complete_ns = trace.complete_ns().min(self.look.samples.complete_ns());
            self.push_rows(rows);
            self.streams.iter_mut().for_each(|stream| stream.complete_ns = complete_ns);
            return;
        }
        if self.syscalls.as_ref().is_some_and(SyscallRows::has_stacks) {
            return self.release_syscalls(all);
        }
        let Some(index) = self.look.samples.stream() else {
            let out = &mut Out { rows: None, branches: None, strings: &mut self.strings, row: &mut |_, _| {} };
            return self.look.samples.release(all, out);
        };
        let origin_ns = self.setup.start_ns;
        let watched = self.setup.live.watched();
        // Branches are the stream behind the one of their samples.
        let mut streams = self.streams.iter_mut().skip(usize::from(index)).map(|state| &mut state.rows);
        let (rows, branches) = (streams.next(), streams.next());
        let mut counts = [0_u64; 2];
        let live = &mut self.setup.live;
        let row: &mut ShowRow<'_> = &mut |part, cells| {
            counts.get_mut(usize::from(part)).into_iter().for_each(|count| *count += 1);
            if watched {
                live.row(index + part, || cells(origin_ns));
            }
        };
        self.look.samples.release(all, &mut Out { rows, branches, strings: &mut self.strings, row });
        let complete_ns = self.look.samples.complete_ns();
        for (stream, count) in (index..).zip(counts) {
            self.setup.progress.rows(stream, count);
        }
        self.streams.iter_mut().skip(usize::from(index)).for_each(|state| state.complete_ns = complete_ns);
    }

    /// Says whether there is still a store to flush to.
    fn flush_if_due(&mut self) -> bool {
        let full = |stream: &StreamState| stream.rows.is_full() || stream.held_bytes > MAX_HELD_BYTES;
        if self.flushed.elapsed() >= self.setup.flush_every || self.streams.iter().any(full) {
            return self.flush(false);
        }
        true
    }

    fn flush(&mut self, all: bool) -> bool {
        self.flushed = Instant::now();
        let mut append = Append { end_ns: self.read_ns, ..Append::default() };
        let mut rows = Vec::new();
        for (index, stream) in self.streams.iter_mut().enumerate() {
            let Ok(index) = u16::try_from(index) else { continue };
            let flushed = stream.rows.flush(if all { u64::MAX } else { stream.complete_ns });
            stream.held_bytes = 0;
            let undecodable = std::mem::take(&mut stream.undecodable) + flushed.unfit;
            let since_ns = std::mem::replace(&mut stream.undecodable_since_ns, self.read_ns);
            let stored: u64 = flushed.chunks.iter().map(|chunk| u64::from(chunk.rows)).sum();
            let mut accounting = lock(&self.setup.accounting);
            accounting.lost(index, LossStage::Decode, undecodable, since_ns, self.read_ns);
            accounting.pending(index, stored);
            if stored > 0 {
                rows.push((index, stored));
            }
            append.chunks.extend(flushed.chunks.into_iter().map(|chunk| (index, chunk)));
        }
        append.strings = self.strings.take_new();
        (append.mappings, append.frames, append.stacks) = self.look.samples.take_new(&self.setup.naming);
        append.processes = self.look.samples.take_processes();
        self.measure(&append);
        self.setup.to_store.blocking_send(Outgoing { append, rows }).is_ok()
    }

    fn measure(&mut self, append: &Append) {
        // What an entry costs beside its bytes: the map's slot, the box, the copy for naming.
        let strings: usize = append.strings.iter().map(|(_, text)| text.len() + 64).sum();
        let stacks: usize = append.stacks.iter().map(|(_, stack)| stack.len() * 4 + 96).sum();
        let bytes = strings + stacks + append.frames.len() * 128;
        self.dictionary_bytes += bytes as u64;
        if self.dictionary_bytes > MAX_DICTIONARY_BYTES {
            let limit = MAX_DICTIONARY_BYTES >> 20;
            self.setup.progress.stop(format!("its different texts and stacks filled {limit} MiB of memory"));
        }
    }
}
