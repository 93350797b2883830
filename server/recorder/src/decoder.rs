//! The decoder: one thread for each capture in which its engines make rows, in order of time with the process history.

use std::{
    ops::Range,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender},
    },
    time::{Duration, Instant},
};

use bathyscope_capture::{Append, CaptureId, ReadingPriority, StreamSchema};
use bathyscope_protocol::{RingContent, RingInfo};
use tokio::sync::{mpsc, oneshot};

use super::{
    AgentLink,
    appender::Outgoing,
    engine::{Engine, EngineSetup, MakeEngine},
    frames::Frames,
    history::ProcessHistory,
    live_rows::LiveRows,
    lookup::Lookup,
    naming::NamingWork,
    priority,
    process_metadata::{MetadataRequest, MetadataResponse},
    progress::Progress,
    reader::{FromReader, RecordBatch},
    running::{Running, TextRequest},
    sink::Sink,
};

/// How long the decoder waits for records before it looks after everything else.
const PATIENCE: Duration = Duration::from_millis(10);
/// Bytes of dictionaries that one capture may have in memory.
const MAX_DICTIONARY_BYTES: u64 = 512 << 20;

/// Everything that a decoder begins with.
pub(super) struct DecoderSetup {
    pub(super) running: Arc<Running>,
    pub(super) start_ns: u64,
    pub(super) reading: ReadingPriority,
    pub(super) flush_every: Duration,
    pub(super) schemas: Vec<StreamSchema>,
    /// The rings of all sources, in their order.
    pub(super) rings: Arc<[RingInfo]>,
    pub(super) seats: Vec<SeatSetup>,
    pub(super) frames: Frames,
    /// Whether what processes map is followed.
    pub(super) follows_maps: bool,
    /// A process that is to be recorded, if there is one.
    pub(super) target_pid: Option<u32>,
    pub(super) link: AgentLink,
    pub(super) private_dir: PathBuf,
    pub(super) channels: DecoderChannels,
}

/// An engine that is to be made, with the numbers of its streams and rings among those of the capture.
pub(super) struct SeatSetup {
    pub(super) make_engine: MakeEngine,
    pub(super) engine: EngineSetup,
    pub(super) streams: Range<u16>,
    pub(super) rings: Range<usize>,
}

/// Where a decoder gets what it works on, and where it puts what it made.
pub(super) struct DecoderChannels {
    pub(super) records: Receiver<FromReader>,
    pub(super) responses: Receiver<MetadataResponse>,
    pub(super) requests: SyncSender<MetadataRequest>,
    /// Texts that others need ids of.
    pub(super) texts: Receiver<TextRequest>,
    pub(super) to_store: mpsc::Sender<Outgoing>,
    /// Told when engines know what they have to know of the target before that may go on.
    pub(super) ready: oneshot::Sender<()>,
}

/// Starts the thread; it ends when the reader has, with everything handed to the store.
pub(super) fn spawn(setup: DecoderSetup) -> std::io::Result<std::thread::JoinHandle<()>> {
    let run = move || {
        priority::take(setup.reading);
        Decoder::new(setup).run();
    };
    std::thread::Builder::new().name("bathyscope-rows".to_owned()).spawn(run)
}

/// An engine with its streams and rings.
struct Seat {
    engine: Box<dyn Engine>,
    streams: Range<u16>,
    /// Among these are its rings; those that tell of processes are the history's.
    rings: Range<usize>,
}

impl Seat {
    fn take(setup: SeatSetup) -> Self {
        let SeatSetup { make_engine, engine, streams, rings } = setup;
        Self { engine: make_engine(engine), streams, rings }
    }
}

struct Decoder {
    id: CaptureId,
    seats: Vec<Seat>,
    rings: Arc<[RingInfo]>,
    sink: Sink,
    lookup: Lookup,
    progress: Arc<Progress>,
    naming: NamingWork,
    records: Receiver<FromReader>,
    responses: Receiver<MetadataResponse>,
    requests: SyncSender<MetadataRequest>,
    texts: Receiver<TextRequest>,
    to_store: mpsc::Sender<Outgoing>,
    flush_every: Duration,
    flushed: Instant,
    dictionary_bytes: u64,
}

impl Decoder {
    fn new(setup: DecoderSetup) -> Self {
        let DecoderSetup { running, start_ns, schemas, rings, .. } = setup;
        let progress = Arc::clone(&running.progress);
        let history = ProcessHistory::new(&rings, setup.frames, setup.follows_maps);
        let lookup = Lookup::new(history, setup.link, setup.private_dir);
        let live = LiveRows::new(running.hub.clone(), schemas.len());
        let sink = Sink::new(schemas, start_ns, live, Arc::clone(&progress), Arc::clone(&running.accounting));
        let mut seats: Vec<Seat> = setup.seats.into_iter().map(Seat::take).collect();
        if let Some(pid) = setup.target_pid {
            seats.iter_mut().for_each(|seat| seat.engine.expect(pid));
        }
        let DecoderChannels { records, responses, requests, texts, to_store, ready } = setup.channels;
        // Nobody waits any more where the start was given up.
        let _given_up = ready.send(());
        Self {
            id: running.id,
            seats,
            rings,
            sink,
            lookup,
            progress,
            naming: running.naming.clone(),
            records,
            responses,
            requests,
            texts,
            to_store,
            flush_every: setup.flush_every,
            flushed: Instant::now(),
            dictionary_bytes: 0,
        }
    }

    fn run(mut self) {
        loop {
            match self.records.recv_timeout(PATIENCE) {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.tick();
            if !self.flush_if_due() {
                return;
            }
        }
        self.finish();
    }

    fn finish(mut self) {
        self.learn();
        self.release(true);
        self.for_each(|engine, sink, lookup| engine.finish(sink, lookup));
        self.sink.send_live(true);
        let _the_store_may_be_gone = self.flush(true);
        let missing = self.naming.without_file(&self.lookup.history.held());
        self.progress.without_file(missing);
        let mut late = 0;
        for Seat { engine, streams, .. } in self.seats.iter().filter(|seat| seat.engine.is_ordered()) {
            late += self.sink.late(streams.clone()) + engine.late();
        }
        let (changes, malformed) = (self.lookup.history.late(), self.lookup.history.malformed());
        if late > 0 || changes > 0 || malformed > 0 {
            tracing::info!(capture = %self.id, late, changes, malformed, "rows or changes of processes came late");
        }
        self.progress.late(late);
    }

    /// Does something with each engine in turn.
    fn for_each(&mut self, mut todo: impl FnMut(&mut dyn Engine, &mut Sink, &mut Lookup)) {
        for index in 0..self.seats.len() {
            self.turn_to(index, &mut todo);
        }
    }

    /// Does something with one engine.
    fn turn_to(&mut self, index: usize, todo: impl FnOnce(&mut dyn Engine, &mut Sink, &mut Lookup)) {
        let Some(Seat { engine, streams, rings }) = self.seats.get_mut(index) else { return };
        self.sink.turn_to(index, streams.start);
        self.lookup.turn_to(rings.start);
        todo(&mut **engine, &mut self.sink, &mut self.lookup);
    }

    /// The engine whose ring it is, and the ring's number among that engine's.
    fn owner(&self, ring: usize) -> Option<(usize, usize)> {
        let index = self.seats.iter().position(|seat| seat.rings.contains(&ring))?;
        Some((index, ring - self.seats.get(index)?.rings.start))
    }

    fn take(&mut self, message: FromReader) {
        match message {
            FromReader::Records(batch) => self.decode(batch),
            FromReader::Read { ring, read_ns, to_its_end } => self.ring_read(ring, read_ns, to_its_end),
            FromReader::Damaged { ring, why } => {
                tracing::error!(capture = %self.id, ring, why, "a ring cannot be read any more");
                self.ring_read(ring, u64::MAX, true);
                self.progress.fail(format!("a ring could not be read any more: {why}"));
            }
        }
    }

    fn is_sideband(&self, ring: usize) -> bool {
        self.rings.get(ring).is_some_and(|info| info.content == RingContent::Sideband)
    }

    fn ring_read(&mut self, ring: usize, read_ns: u64, to_its_end: bool) {
        self.sink.was_read(read_ns);
        self.lookup.history.read(ring, read_ns, to_its_end);
        if let Some((index, ring)) = self.owner(ring).filter(|_| !self.is_sideband(ring)) {
            self.turn_to(index, |engine, sink, _| engine.ring_read(ring, read_ns, to_its_end, sink));
        }
    }

    fn decode(&mut self, batch: RecordBatch) {
        if self.is_sideband(batch.ring) {
            return self.lookup.history.take(&batch);
        }
        self.sink.look_for_viewers();
        if let Some((index, ring)) = self.owner(batch.ring) {
            let batch = batch.of_ring(ring);
            self.turn_to(index, |engine, sink, lookup| engine.take(&batch, sink, lookup));
        }
    }

    /// What was found out about processes, records whose turn has come, viewers.
    fn tick(&mut self) {
        self.sink.look_for_viewers();
        self.learn();
        self.name_texts();
        self.release(false);
        self.for_each(|engine, sink, lookup| engine.tick(sink, lookup));
        self.note_addresses();
        self.lookup.history.send_requests(&self.requests);
        self.sink.send_live(false);
    }

    /// Addresses of the kernel in rows get names with those of the stacks.
    fn note_addresses(&mut self) {
        for address in self.sink.take_noted() {
            self.lookup.history.note_address(address);
        }
    }

    fn learn(&mut self) {
        while let Ok(fact) = self.responses.try_recv() {
            self.lookup.history.learn(fact, self.sink.strings());
        }
    }

    /// Gives ids to texts that others ask for.
    fn name_texts(&mut self) {
        while let Ok(TextRequest { text, reply }) = self.texts.try_recv() {
            // Whoever asked may be gone.
            let _unheard = reply.try_send(self.sink.strings().id(&text));
        }
    }

    /// Lets engines make rows of the records whose turn has come, or of all. In between changes of processes take effect.
    fn release(&mut self, all: bool) {
        self.lookup.history.apply_facts(self.sink.strings(), all);
        let known_ns = if all { u64::MAX } else { self.lookup.history.complete_ns() };
        while let Some((index, next_ns)) = self.next(all, known_ns) {
            self.changes_until(next_ns);
            self.turn_to(index, |engine, sink, lookup| engine.release(all, sink, lookup));
        }
        self.lookup.history.apply_facts(self.sink.strings(), all);
        self.for_each(|engine, sink, lookup| engine.settle(all, sink, lookup));
        let pending_ns = self.seats.iter().map(|seat| seat.engine.pending_ns()).min().unwrap_or(u64::MAX);
        self.changes_until(if all { u64::MAX } else { known_ns.min(pending_ns).saturating_sub(1) });
    }

    /// The engine whose record is next, and when that happened.
    fn next(&self, all: bool, known_ns: u64) -> Option<(usize, u64)> {
        let engines = self.seats.iter().map(|seat| &seat.engine).enumerate();
        let next = engines.filter_map(|(index, engine)| {
            let next_ns = engine.next_ns(all).filter(|next_ns| all || *next_ns < known_ns || engine.is_full())?;
            Some((index, next_ns))
        });
        next.min_by_key(|(_, next_ns)| *next_ns)
    }

    fn changes_until(&mut self, until_ns: u64) {
        while let Some(change) = self.lookup.history.next_change(until_ns) {
            if let Some(pid) = change.executing() {
                self.for_each(|engine, sink, lookup| engine.before_exec(pid, sink, lookup));
            }
            self.lookup.history.apply(change, self.sink.strings());
        }
    }

    /// Says whether there is still a store to flush to.
    fn flush_if_due(&mut self) -> bool {
        if self.flushed.elapsed() >= self.flush_every || self.sink.is_full() {
            return self.flush(false);
        }
        true
    }

    fn flush(&mut self, all: bool) -> bool {
        self.flushed = Instant::now();
        self.note_addresses();
        let (mut append, rows) = self.sink.take_chunks(all);
        (append.mappings, append.frames, append.stacks) = self.lookup.history.take_new(&self.naming);
        append.processes = self.lookup.history.take_processes();
        self.measure(&append);
        self.to_store.blocking_send(Outgoing { append, rows }).is_ok()
    }

    fn measure(&mut self, append: &Append) {
        // What an entry costs beside its bytes: the map's slot, the box, the copy for naming.
        let strings: usize = append.strings.iter().map(|(_, text)| text.len() + 64).sum();
        let stacks: usize = append.stacks.iter().map(|(_, stack)| stack.len() * 4 + 96).sum();
        let bytes = strings + stacks + append.frames.len() * 128;
        self.dictionary_bytes += bytes as u64;
        if self.dictionary_bytes > MAX_DICTIONARY_BYTES {
            let limit = MAX_DICTIONARY_BYTES >> 20;
            self.progress.stop(format!("its different texts and stacks filled {limit} MiB of memory"));
        }
    }
}
