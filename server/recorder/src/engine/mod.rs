//! Engines: what asks for one kind of source, and makes rows of what comes of it. Each kind is a folder here.
//!
//! A [`Source`] is made of a capture's spec and says what the agent is asked for. When the agent has made it, the source is
//! *prepared*: what its streams are, what has to be known besides, how the kernel counts. Then an [`Engine`] runs in the
//! decoder's thread. It is handed the records of its own rings and puts rows into its own streams; it never assumes that it is
//! the only one. The decoder decides about time: whose record is next, and which changes of processes take effect before.

mod count;
mod events;
pub(super) mod profile;
pub(super) mod script;
mod states;
pub(super) mod syscalls;
mod trace;

use std::sync::{Arc, mpsc::SyncSender};

use bathyscope_capture::{Method, ScriptRecord, StreamSchema, Target};
use bathyscope_protocol::{CaptureHandle, RingInfo, ScriptStarted, StartedSource, WireMethod};
use bathyscope_symbols::Kallsyms;
use futures_util::future::BoxFuture;

use super::{
    AgentLink, StartError,
    counters::{KernelCounters, StreamCounters},
    kernel_formats::StreamFormat,
    live::LiveHub,
    lookup::Lookup,
    progress::Progress,
    reader::RecordBatch,
    running_script::RunningScript,
    sink::Sink,
};
use crate::script::{ScriptEvent, ScriptRequest};
pub(super) use script::note_failures;

/// The source that a method asks for: the only place where the recorder tells kinds apart.
///
/// # Errors
/// What is wrong with the source that can be told before anybody is asked.
pub(super) fn source_of(method: &Method) -> Result<Box<dyn Source + '_>, StartError> {
    Ok(match method {
        Method::Events { probes } => Box::new(events::EventSource { probes }),
        Method::Profile(spec) => Box::new(profile::ProfileSource { spec }),
        Method::Count(spec) => Box::new(count::CountSource { spec }),
        Method::Syscalls(spec) => Box::new(syscalls::SyscallSource::new(spec)?),
        Method::States(spec) => Box::new(states::StatesSource { spec }),
        Method::Trace(spec) => Box::new(trace::TraceSource { spec }),
        Method::Script(spec) => Box::new(script::ScriptSource { spec }),
    })
}

/// What the agent is asked to make.
pub(super) enum Request {
    /// What is described by the wire's method.
    Method(Box<WireMethod>),
    /// A script, whose places in programs are looked up first.
    Script(Box<ScriptRequest>),
}

/// A source as a spec asks for it.
pub(super) trait Source: Send + Sync {
    /// What the agent is asked for, with rings of so many bytes.
    fn request(&self, target: &Target, ring_bytes: u32) -> Request;

    /// Lines for the kernel that define the dynamic events of the source.
    fn dynamic_lines(&self) -> Vec<&str> {
        Vec::new()
    }

    /// What comes of what the agent has made. An error says in what the agent's answer does not fit.
    fn prepare<'a>(&'a self, link: &'a AgentLink, made: MadeSource<'a>) -> BoxFuture<'a, Result<Prepared, String>>;
}

/// What the agent made of a source.
pub(super) struct MadeSource<'a> {
    pub(super) target: &'a Target,
    pub(super) started: &'a StartedSource,
    /// Of a script: what the agent's compiler made of it.
    pub(super) script: Option<ScriptStarted>,
}

/// What is known of a source before it records.
pub(super) struct Prepared {
    /// Its streams.
    pub(super) schemas: Vec<StreamSchema>,
    /// How the kernel prints the events of its streams.
    pub(super) formats: Vec<StreamFormat>,
    /// Whether addresses of the kernel are shown while it records.
    pub(super) names_kernel_addresses: bool,
    /// Whether it matters what processes map: there are stacks of user space.
    pub(super) follows_maps: bool,
    /// How the kernel counts.
    pub(super) counters: Box<dyn KernelCounters>,
    /// What a script says of itself while it runs, and what is stored of it.
    pub(super) script: Option<(RunningScript, ScriptRecord)>,
    /// Makes the engine, in the thread in which it stays.
    pub(super) engine: MakeEngine,
}

impl Prepared {
    /// A source of these streams, each with counters of its own, that needs nothing besides.
    fn of(schemas: Vec<StreamSchema>, engine: MakeEngine) -> Self {
        Self {
            counters: Box::new(StreamCounters::new(schemas.len())),
            schemas,
            formats: Vec::new(),
            names_kernel_addresses: false,
            follows_maps: false,
            script: None,
            engine,
        }
    }
}

/// Makes an engine when everything is known that it works with.
pub(super) type MakeEngine = Box<dyn FnOnce(EngineSetup) -> Box<dyn Engine> + Send>;

/// What an engine works with.
pub(super) struct EngineSetup {
    pub(super) handle: CaptureHandle,
    pub(super) link: AgentLink,
    /// Its rings; it knows what is in them by their content.
    pub(super) rings: Arc<[RingInfo]>,
    /// The kernel's functions, where they are needed and can be read.
    pub(super) kernel: Option<Arc<Kallsyms>>,
    pub(super) progress: Arc<Progress>,
    pub(super) hub: LiveHub,
    /// Who gets every event of a script too, in order, such as a terminal.
    pub(super) tap: Option<SyncSender<ScriptEvent>>,
}

/// Makes rows of the records of one source. Lives in the decoder's thread.
///
/// Records that name processes wait in the engine until the decoder lets them be released in order of time; others become rows
/// as soon as they come.
pub(super) trait Engine {
    /// A process is to be recorded, and is certainly there until this returns.
    fn expect(&mut self, _pid: u32) {}

    /// Takes records of one of its rings.
    fn take(&mut self, batch: &RecordBatch, sink: &mut Sink, lookup: &mut Lookup);

    /// One of its rings was read: to its end at `read_ns`, or only in part.
    fn ring_read(&mut self, ring: usize, read_ns: u64, to_its_end: bool, sink: &mut Sink);

    /// When the record happened that can be released next; with `all` any, as nothing more will come.
    fn next_ns(&self, _all: bool) -> Option<u64> {
        None
    }

    /// Whether so much waits that a record must be released, whatever may still come.
    fn is_full(&self) -> bool {
        false
    }

    /// No record from before this moment will be released any more.
    fn pending_ns(&self) -> u64 {
        u64::MAX
    }

    /// Makes rows of the record that is next. Changes of processes from before have taken effect, and no later ones.
    fn release(&mut self, _all: bool, _sink: &mut Sink, _lookup: &mut Lookup) {}

    /// A process executes another program: rows from before must be finished by what is known of its memory so far.
    fn before_exec(&mut self, _pid: u32, _sink: &mut Sink, _lookup: &mut Lookup) {}

    /// What can be released has been; with `all` nothing more will come, and rows that wait for something do not any more.
    fn settle(&mut self, _all: bool, _sink: &mut Sink, _lookup: &mut Lookup) {}

    /// Looks from time to time at what has no records.
    fn tick(&mut self, _sink: &mut Sink, _lookup: &mut Lookup) {}

    /// Makes the last rows, when everything is detached and was read.
    fn finish(&mut self, _sink: &mut Sink, _lookup: &mut Lookup) {}

    /// Whether rows come in order of their times, but for late ones. Not so where the time of a row is when it began.
    fn is_ordered(&self) -> bool {
        true
    }

    /// Records that came after later ones were released.
    fn late(&self) -> u64 {
        0
    }
}
