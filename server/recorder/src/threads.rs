//! The threads and tasks of a capture.

use std::{
    os::fd::OwnedFd,
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
};

use bathyscope_capture::StreamSchema;
use bathyscope_protocol::{RingInfo, Started};
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    Inner,
    appender::{Appender, QUEUED_APPENDS},
    decoder::{self, DecoderChannels, DecoderSetup},
    engine::{EngineSetup, MakeEngine},
    frames::Frames,
    output,
    process_metadata::{FirstLook, MetadataThread, QUEUED_REQUESTS, QUEUED_RESPONSES},
    reader::{self, QUEUED_BATCHES, RecordSource},
    running::Running,
};
use crate::script::ScriptEvent;

/// What the threads begin with.
pub(super) struct Parts {
    pub(super) started: Started,
    pub(super) schemas: Vec<StreamSchema>,
    pub(super) readers: Vec<RecordSource>,
    /// The outputs of the command, if there is one.
    pub(super) output: Option<(OwnedFd, OwnedFd)>,
    pub(super) frames: Frames,
    /// The kernel's functions, where they are shown.
    pub(super) kernel: Option<Arc<bathyscope_symbols::Kallsyms>>,
    pub(super) follows_maps: bool,
    pub(super) make_engine: MakeEngine,
    pub(super) tap: Option<SyncSender<ScriptEvent>>,
    pub(super) start_ns: u64,
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
    let Parts { started, schemas, readers, output, follows_maps, start_ns, .. } = parts;
    let (to_decoder, records) = sync_channel(QUEUED_BATCHES);
    let (requests_in, requests) = sync_channel(QUEUED_REQUESTS);
    let (responses_in, responses) = sync_channel(QUEUED_RESPONSES);
    let (to_store, appends) = mpsc::channel(QUEUED_APPENDS);
    let (ending, watched) = watch::channel(false);
    let (tell_ready, ready) = oneshot::channel();
    let names = schemas.iter().map(|schema| schema.name.clone()).collect();
    let metadata = MetadataThread {
        link: inner.link.clone(),
        requests,
        responses: responses_in,
        held: Arc::clone(&running.held),
        first: started.target_pid.map_or(FirstLook::All, FirstLook::One),
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
    let rings: Arc<[RingInfo]> = started.rings.into();
    let engine = EngineSetup {
        handle: running.made.handle,
        link: inner.link.clone(),
        rings,
        kernel: parts.kernel,
        progress: Arc::clone(&running.progress),
        hub: running.hub.clone(),
        tap: parts.tap,
    };
    let decoder = decoder::spawn(DecoderSetup {
        running: Arc::clone(running),
        start_ns,
        flush_every: inner.options.flush_every,
        schemas,
        make_engine: parts.make_engine,
        engine,
        frames: parts.frames,
        follows_maps,
        target_pid: started.target_pid,
        private_dir: inner.options.private_dir.clone(),
        channels: DecoderChannels { records, responses, requests: requests_in, to_store, ready: tell_ready },
    })?;
    let appender = tokio::spawn(appender.run(appends));
    metadata.spawn()?;
    let reader = reader::spawn(readers, to_decoder)?;
    Ok(Threads { reader, decoder: Some(decoder), ready: Some(ready), appender: Some(appender), output, ending, names })
}
