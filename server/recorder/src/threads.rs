//! The threads and tasks of a capture.

use std::{
    os::fd::OwnedFd,
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
};

use bathyscope_capture::{ReadingPriority, StreamSchema};
use bathyscope_protocol::RingInfo;
use bathyscope_symbols::Kallsyms;
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    Inner,
    appender::{Appender, QUEUED_APPENDS},
    decoder::{self, DecoderChannels, DecoderSetup, SeatSetup},
    engine::{EngineSetup, MakeEngine},
    flight::Keeper,
    frames::Frames,
    output,
    process_metadata::{FirstLook, MetadataThread, QUEUED_REQUESTS, QUEUED_RESPONSES},
    reader::{self, QUEUED_BATCHES, RecordSource},
    running::Running,
};
use crate::script::ScriptEvent;

/// Texts that may wait for an id.
const QUEUED_TEXTS: usize = 16;

/// A source that is recorded: its streams, its rings, and what makes its engine.
pub(super) struct SourceParts {
    pub(super) schemas: Vec<StreamSchema>,
    pub(super) rings: Vec<RingInfo>,
    pub(super) make_engine: MakeEngine,
}

/// What the threads begin with.
pub(super) struct Parts {
    pub(super) sources: Vec<SourceParts>,
    /// A process that is the target when it begins, if it is one.
    pub(super) target_pid: Option<u32>,
    pub(super) readers: Vec<RecordSource>,
    /// The outputs of the command, if there is one.
    pub(super) output: Option<(OwnedFd, OwnedFd)>,
    pub(super) frames: Frames,
    /// The kernel's functions, where they are shown.
    pub(super) kernel: Option<Arc<Kallsyms>>,
    pub(super) follows_maps: bool,
    pub(super) tap: Option<SyncSender<ScriptEvent>>,
    pub(super) start_ns: u64,
    pub(super) reading: ReadingPriority,
    /// What keeps the rows in memory, if it is a flight recorder.
    pub(super) keeper: Option<Keeper>,
}

/// The threads and tasks of a capture.
pub(super) struct Threads {
    pub(super) reader: reader::ReaderHandle,
    pub(super) decoder: Option<std::thread::JoinHandle<()>>,
    /// Told when the decoder knows what it has to know before the target goes on.
    pub(super) ready: Option<oneshot::Receiver<()>>,
    pub(super) appender: Option<tokio::task::JoinHandle<()>>,
    pub(super) output: Option<tokio::task::JoinHandle<()>>,
    pub(super) ending: watch::Sender<bool>,
    pub(super) names: Vec<String>,
}

/// Starts everything that a capture consists of.
pub(super) fn run(inner: &Inner, running: &Arc<Running>, parts: Parts) -> std::io::Result<Threads> {
    let Parts { sources, target_pid, readers, output, frames, kernel, follows_maps, tap, start_ns, reading, keeper } =
        parts;
    let (to_decoder, records) = sync_channel(QUEUED_BATCHES);
    let (requests_in, requests) = sync_channel(QUEUED_REQUESTS);
    let (responses_in, responses) = sync_channel(QUEUED_RESPONSES);
    let (to_store, appends) = mpsc::channel(QUEUED_APPENDS);
    let (ending, watched) = watch::channel(false);
    let (tell_ready, ready) = oneshot::channel();
    let (ask_texts, texts) = sync_channel(QUEUED_TEXTS);
    running.take_texts_from(ask_texts);
    let schemas: Vec<StreamSchema> = sources.iter().flat_map(|source| source.schemas.clone()).collect();
    let rings: Arc<[RingInfo]> = sources.iter().flat_map(|source| source.rings.clone()).collect();
    let names = schemas.iter().map(|schema| schema.name.clone()).collect();
    let metadata = MetadataThread {
        link: inner.link.clone(),
        requests,
        responses: responses_in,
        held: Arc::clone(&running.held),
        first: target_pid.map_or(FirstLook::All, FirstLook::One),
        maps: follows_maps,
    };
    let appender = Appender {
        store: inner.store.clone(),
        id: running.id,
        accounting: Arc::clone(&running.accounting),
        progress: Arc::clone(&running.progress),
    };
    let output =
        output.map(|pipes| tokio::spawn(output::read(pipes, to_store.clone(), Arc::clone(&running.progress), watched)));
    let decoder = decoder::spawn(DecoderSetup {
        reading,
        running: Arc::clone(running),
        start_ns,
        flush_every: inner.options.flush_every,
        schemas,
        rings,
        seats: seats(inner, running, sources, kernel.as_ref(), tap.as_ref()),
        frames,
        follows_maps,
        target_pid,
        link: inner.link.clone(),
        private_dir: inner.options.private_dir.clone(),
        channels: DecoderChannels { records, responses, requests: requests_in, texts, to_store, ready: tell_ready },
    })?;
    let appender = match keeper {
        Some(keeper) => tokio::task::spawn_blocking(move || keeper.run(appends)),
        None => tokio::spawn(appender.run(appends)),
    };
    metadata.spawn()?;
    let reader = reader::spawn(readers, to_decoder, reading)?;
    Ok(Threads { reader, decoder: Some(decoder), ready: Some(ready), appender: Some(appender), output, ending, names })
}

/// The engines to be made, with the numbers of their streams and rings among those of the capture.
fn seats(
    inner: &Inner,
    running: &Running,
    sources: Vec<SourceParts>,
    kernel: Option<&Arc<Kallsyms>>,
    tap: Option<&SyncSender<ScriptEvent>>,
) -> Vec<SeatSetup> {
    let (mut streams, mut rings) = (0_u16, 0);
    let seat = |source: SourceParts| {
        let (first_stream, first_ring) = (streams, rings);
        streams = streams.saturating_add(u16::try_from(source.schemas.len()).unwrap_or(u16::MAX));
        rings += source.rings.len();
        let engine = EngineSetup {
            handle: running.made.handle,
            link: inner.link.clone(),
            rings: source.rings.into(),
            kernel: kernel.cloned(),
            progress: Arc::clone(&running.progress),
            hub: running.hub.clone(),
            tap: tap.cloned(),
        };
        let make_engine = source.make_engine;
        SeatSetup { make_engine, engine, streams: first_stream..streams, rings: first_ring..rings }
    };
    sources.into_iter().map(seat).collect()
}
