//! A capture that is being recorded, as others see it.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU8, Ordering},
    mpsc::{SyncSender, sync_channel},
};

use bathyscope_capture::{CaptureId, CaptureSpec, FrameId, FunctionCode, SourceSpec, StringId, Symbol};
use bathyscope_protocol::{CaptureHandle, CpuTime, GuardStage, Started, TargetState, TraceFormat};
use bathyscope_store::{ScriptEnd, SourceEnd, SourceState, Store};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::{
    RunningCapture,
    flight_state::Flight,
    guard_words::guard_words,
    ledger::LossAccounting,
    link::words,
    live::LiveHub,
    naming::{Namer, NamingProgress, NamingWork},
    process_metadata::{SharedHeld, lock},
    progress::Progress,
    running_script::RunningScript,
};

/// What a capture does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    Recording,
    Stopping,
    Naming,
    Ended,
}

impl Phase {
    const ALL: [Self; 4] = [Self::Recording, Self::Stopping, Self::Naming, Self::Ended];

    const fn word(self) -> &'static str {
        match self {
            Self::Recording => "recording",
            Self::Stopping => "stopping",
            Self::Naming => "naming",
            Self::Ended => "ended",
        }
    }
}

/// What the agent made for a capture: dynamic events and the command, and how the agent knows it.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) handle: CaptureHandle,
    pub(crate) connection: u64,
    /// As whom the command runs, if there is one.
    pub(crate) command_user: Option<String>,
    pub(crate) events: Vec<MadeEvent>,
}

/// A dynamic event of a capture.
#[derive(Debug)]
pub(crate) struct MadeEvent {
    pub(crate) index: u16,
    /// Group and name in the kernel.
    pub(crate) group: String,
    pub(crate) name: String,
    /// What it is called in the capture.
    pub(crate) label: String,
}

impl MadeEvent {
    /// Whether its name, with or without the group, is what a pattern means.
    pub(crate) fn matches(&self, pattern: &str) -> bool {
        let bare = self.label.rsplit(':').next().unwrap_or_default();
        crate::script::matches(pattern, &self.label) || crate::script::matches(pattern, bare)
    }
}

impl Made {
    pub(crate) fn of(handle: CaptureHandle, connection: u64, started: &Started) -> Self {
        let traces = started.sources.iter().filter_map(|source| source.trace.as_ref());
        let formats = traces.flat_map(|facts| &facts.events);
        let event = |format: &TraceFormat| {
            let TraceFormat { group, name, label, dynamic, .. } = format.clone();
            Some(MadeEvent { index: dynamic?, group, name, label })
        };
        let command_user = started.command_user.clone();
        Self { handle, connection, command_user, events: formats.filter_map(event).collect() }
    }
}

/// A text that needs an id in the strings of a capture.
#[derive(Debug)]
pub(crate) struct TextRequest {
    pub(crate) text: Vec<u8>,
    pub(crate) reply: SyncSender<StringId>,
}

/// What a capture's threads, its controller and everybody else share.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) id: CaptureId,
    pub(crate) title: String,
    pub(crate) owner: String,
    pub(crate) hub: LiveHub,
    pub(crate) progress: Arc<Progress>,
    pub(crate) accounting: Arc<Mutex<LossAccounting>>,
    pub(crate) held: SharedHeld,
    pub(crate) naming: NamingWork,
    pub(crate) naming_turn: tokio::sync::Mutex<()>,
    pub(crate) rows_per_s: Mutex<f64>,
    /// As of the last reading.
    pub(crate) target: Mutex<TargetState>,
    /// What its command has used, once that is known.
    pub(crate) command_time: Mutex<Option<CpuTime>>,
    /// Why the guard has detached its probes, if it has.
    pub(crate) detached: std::sync::OnceLock<String>,
    /// How far the guard has gone with each source, in the order of the spec, as of the last reading.
    pub(crate) guards: Mutex<Vec<GuardStage>>,
    /// What it has in memory, if it is a flight recorder.
    pub(crate) flight: Option<Arc<Flight>>,
    /// What the capture's script says of itself, if a script makes it.
    pub(crate) script: Option<RunningScript>,
    pub(crate) made: Made,
    /// Where texts are asked for that are not of its records.
    texts: std::sync::OnceLock<SyncSender<TextRequest>>,
    phase: AtomicU8,
    stored: watch::Sender<bool>,
    named: watch::Sender<bool>,
    /// Given back when the capture is over.
    slot: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Running {
    pub(crate) fn new(
        (id, title, owner): (CaptureId, String, String),
        (progress, accounting): (Arc<Progress>, Arc<Mutex<LossAccounting>>),
        slot: OwnedSemaphorePermit,
        (script, made): (Option<RunningScript>, Made),
        flight: Option<Arc<Flight>>,
    ) -> Self {
        Self {
            id,
            title,
            owner,
            hub: LiveHub::default(),
            progress,
            accounting,
            held: SharedHeld::default(),
            naming: NamingWork::default(),
            naming_turn: tokio::sync::Mutex::default(),
            rows_per_s: Mutex::new(0.0),
            target: Mutex::default(),
            command_time: Mutex::default(),
            detached: std::sync::OnceLock::new(),
            guards: Mutex::default(),
            flight,
            script,
            made,
            texts: std::sync::OnceLock::new(),
            phase: AtomicU8::new(Phase::Recording as u8),
            stored: watch::Sender::new(false),
            named: watch::Sender::new(false),
            slot: Mutex::new(Some(slot)),
        }
    }

    /// Where the decoder takes texts from that need ids.
    pub(crate) fn take_texts_from(&self, texts: SyncSender<TextRequest>) {
        let _once = self.texts.set(texts);
    }

    /// The id of a text in the capture's strings, new or known; none when its decoder has ended. May wait.
    pub(crate) fn text_id(&self, text: &[u8]) -> Option<StringId> {
        let (reply, answer) = sync_channel(1);
        self.texts.get()?.send(TextRequest { text: text.to_vec(), reply }).ok()?;
        answer.recv().ok()
    }

    pub(crate) fn phase(&self) -> Phase {
        let phase = usize::from(self.phase.load(Ordering::Acquire));
        Phase::ALL.get(phase).copied().unwrap_or(Phase::Ended)
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
        if matches!(phase, Phase::Naming | Phase::Ended) {
            // Its probes and threads are gone: another capture may begin.
            lock(&self.slot).take();
            self.stored.send_replace(true);
        }
    }

    /// Waits until everything is stored but perhaps names.
    pub(crate) async fn stored(&self) {
        let mut stored = self.stored.subscribe();
        let _never_closed = stored.wait_for(|stored| *stored).await;
    }

    /// Naming has ended, well or not.
    pub(crate) fn set_named(&self) {
        self.named.send_replace(true);
    }

    /// Waits until functions have their names, as far as they ever will.
    pub(crate) async fn named(&self) {
        let mut named = self.named.subscribe();
        let _never_closed = named.wait_for(|named| *named).await;
    }

    pub(crate) fn summary(&self) -> RunningCapture {
        let accounting = lock(&self.accounting);
        RunningCapture {
            id: self.id,
            title: self.title.clone(),
            owner: self.owner.clone(),
            state: self.phase().word(),
            rows_per_s: *lock(&self.rows_per_s),
            lost: accounting.lost_total(),
            cpu_permille: accounting.cpu_permille(),
            flight: self.flight.as_ref().map(|flight| flight.status()),
        }
    }

    /// What became of each source so far, in the order of the spec.
    pub(crate) fn source_ends(&self, spec: &CaptureSpec) -> Vec<SourceEnd> {
        let guards = lock(&self.guards).clone();
        let end = |(number, source): (usize, &SourceSpec)| {
            let guard = guards.get(number).unwrap_or(&GuardStage::Watching);
            let (state, reason) = match (self.progress.why_failed(&source.id), guard) {
                (Some(why), _) => (SourceState::Failed, why),
                (None, GuardStage::Detached { .. }) => (SourceState::Detached, guard_words(guard)),
                (None, GuardStage::Thinned { .. }) => (SourceState::Thinned, guard_words(guard)),
                (None, GuardStage::Watching | GuardStage::Warned { .. }) => (SourceState::Ended, String::new()),
            };
            SourceEnd { state, reason }
        };
        spec.sources.iter().enumerate().map(end).collect()
    }

    /// What became of the script so far.
    pub(crate) fn script_end(&self) -> Option<ScriptEnd> {
        let script = self.script.as_ref()?;
        let probes = lock(&self.accounting).programs().cloned().collect();
        Some(ScriptEnd { probes, exit_code: lock(&script.state).exit_code })
    }

    /// Names what has no name yet and stores the names; one at a time.
    pub(crate) async fn name_functions(&self, store: &Store, namer: Namer, told: impl Fn(NamingProgress)) {
        let _turn = self.naming_turn.lock().await;
        let work = self.naming.clone();
        type Batch = (Vec<(FrameId, Symbol)>, Vec<FunctionCode>, Option<NamingProgress>);
        let (to_store, mut batches) = tokio::sync::mpsc::channel::<Batch>(2);
        let naming = tokio::task::spawn_blocking(move || {
            let mut files = namer.files();
            let send = |batch| to_store.blocking_send(batch).is_ok();
            let progress =
                namer.run(&work, &mut files, |symbols, progress| send((symbols, Vec::new(), Some(progress))));
            namer.code(&work, &mut files, |code| send((Vec::new(), code, None)));
            progress
        });
        while let Some((symbols, code, progress)) = batches.recv().await {
            if let Some(flight) = &self.flight {
                flight.learn_names(symbols, code);
                continue;
            }
            if !symbols.is_empty()
                && let Err(error) = store.put_symbols(self.id, symbols).await
            {
                tracing::warn!(capture = %self.id, error = words(&error), "names of functions cannot be stored");
                break;
            }
            if !code.is_empty()
                && let Err(error) = store.put_code(self.id, code).await
            {
                tracing::warn!(capture = %self.id, error = words(&error), "instructions cannot be stored");
                break;
            }
            progress.into_iter().for_each(&told);
        }
        drop(batches);
        if let Some(flight) = &self.flight {
            flight.name_captures(store).await;
        }
        match naming.await {
            Ok(NamingProgress { named, unnamed, .. }) => {
                tracing::debug!(capture = %self.id, named, unnamed, "functions were named");
            }
            Err(error) => tracing::error!(capture = %self.id, %error, "naming functions failed"),
        }
    }
}
