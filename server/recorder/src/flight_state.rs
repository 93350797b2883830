//! A flight recorder as the rest of the recorder sees it: what it is to keep, what it does, who wants it to fire, and names that were
//! found for its captures. What keeps its rows and stores them is [`crate::flight`].

use std::{
    collections::{HashMap, HashSet},
    sync::Mutex,
};

use bathyscope_capture::{CaptureId, FiringKind, FlightSpec, FrameId, FunctionCode, MappingId, Symbol};
use bathyscope_store::Store;
use tokio::sync::oneshot;

use crate::{link::words, process_metadata::lock};

/// The most firings that wait for the keeper.
const MAX_WAITING: usize = 64;

/// What a flight recorder does, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct FlightStatus {
    /// The seconds before a firing that it is to keep.
    pub before_s: u32,
    /// The seconds after it.
    pub after_s: u32,
    /// Nanoseconds that it holds now.
    pub held_ns: u64,
    /// Rows that it holds now.
    pub held_rows: u64,
    /// Bytes that these take, packed as they would be stored.
    pub held_bytes: u64,
    /// The most that these may take.
    pub memory_bytes: u64,
    /// Whether it has less than the seconds that were asked for, because they need more memory.
    pub is_short: bool,
    /// Whether a capture is being stored now.
    pub is_storing: bool,
    /// How many captures it has stored.
    pub captures: u64,
    /// The last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<CaptureId>,
    /// How often something would have fired within the pause, while a capture was being stored, or beyond the largest number a day.
    pub held_back: u64,
    /// What went wrong last, in words; empty if nothing did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub trouble: String,
}

/// What fires a flight recorder now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FireCause {
    /// What sort of thing.
    pub kind: FiringKind,
    /// What, in words.
    pub trigger: String,
    /// With which value; empty where there is none.
    pub value: String,
    /// When it happened, monotonic nanoseconds; none for now.
    pub fired_ns: Option<u64>,
    /// When what happened began, if that is to be in the capture too.
    pub(crate) since_ns: Option<u64>,
}

impl FireCause {
    /// Something that happens now.
    pub fn now(kind: FiringKind, trigger: impl Into<String>, value: impl Into<String>) -> Self {
        Self { kind, trigger: trigger.into(), value: value.into(), fired_ns: None, since_ns: None }
    }
}

/// Why a flight recorder did not fire.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FireError {
    /// It does not run.
    #[error("the flight recorder does not run, so there is nothing in memory")]
    NotRunning,
    /// It stores all of its rows.
    #[error("this capture is not a flight recorder: all of its rows are stored as they come")]
    NotFlight,
    /// A capture is being stored.
    #[error("what happened is being stored already, for another {left_s} s; fire again after that")]
    Storing {
        /// Seconds that it takes still.
        left_s: u64,
    },
    /// It has fired a moment ago.
    #[error("the pause after the last firing lasts for another {left_s} s")]
    Pause {
        /// Seconds that are left.
        left_s: u64,
    },
    /// It has fired as often as it may in a day.
    #[error("the flight recorder has fired {most} times in 24 hours, which is the most that it may")]
    Day {
        /// The most.
        most: u32,
    },
    /// Too much asks for it at a time.
    #[error("too many requests to fire wait already")]
    Busy,
    /// The capture cannot be stored.
    #[error("what is in memory cannot be stored: {why}")]
    Store {
        /// Why.
        why: String,
    },
}

/// Something that wants a flight recorder to fire.
pub(crate) struct FireRequest {
    pub(crate) cause: FireCause,
    /// Who waits to be told what came of it.
    pub(crate) reply: Option<oneshot::Sender<Result<CaptureId, FireError>>>,
}

/// A flight recorder as others see it.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) spec: FlightSpec,
    state: Mutex<FlightState>,
    names: Mutex<FlightNames>,
}

#[derive(Default)]
struct FlightState {
    waiting: Vec<FireRequest>,
    /// Whether the keeper has ended.
    is_closed: bool,
    status: FlightStatus,
    /// The captures that are being stored.
    storing: Option<CaptureId>,
}

impl std::fmt::Debug for FlightState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlightState").field("waiting", &self.waiting.len()).field("status", &self.status).finish()
    }
}

/// Names of functions of all frames, and the captures that wait for theirs.
#[derive(Debug, Default)]
struct FlightNames {
    symbols: HashMap<FrameId, Symbol>,
    code: Vec<FunctionCode>,
    unnamed: Vec<Unnamed>,
}

/// A capture whose functions have no names yet.
#[derive(Debug)]
pub(crate) struct Unnamed {
    pub(crate) id: CaptureId,
    pub(crate) frames: HashSet<FrameId>,
    pub(crate) mappings: HashSet<MappingId>,
}

impl Flight {
    pub(crate) fn new(spec: FlightSpec) -> Self {
        let memory_bytes = u64::from(spec.memory_mib) << 20;
        let status =
            FlightStatus { before_s: spec.before_s, after_s: spec.after_s, memory_bytes, ..FlightStatus::default() };
        Self { spec, state: Mutex::new(FlightState { status, ..FlightState::default() }), names: Mutex::default() }
    }

    /// For how long losses have to be known one by one, nanoseconds: as long as a capture lasts, and as long as it takes to know them.
    pub(crate) fn remembered_ns(&self) -> u64 {
        (u64::from(self.spec.before_s) + u64::from(self.spec.after_s) + 60) * 1_000_000_000
    }

    pub(crate) fn status(&self) -> FlightStatus {
        lock(&self.state).status.clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut FlightStatus)) {
        change(&mut lock(&self.state).status);
    }

    pub(crate) fn trouble(&self, why: String) {
        self.update(|status| status.trouble = why);
    }

    /// The capture that is being stored now.
    pub(crate) fn storing(&self) -> Option<CaptureId> {
        lock(&self.state).storing
    }

    pub(crate) fn set_storing(&self, id: Option<CaptureId>) {
        let mut state = lock(&self.state);
        state.storing = id;
        state.status.is_storing = id.is_some();
    }

    /// Asks the keeper to fire.
    pub(crate) fn ask(&self, request: FireRequest) -> Result<(), FireError> {
        let mut state = lock(&self.state);
        match (state.is_closed, state.waiting.len()) {
            (true, _) => Err(FireError::NotRunning),
            (false, MAX_WAITING..) => {
                state.status.held_back += 1;
                Err(FireError::Busy)
            }
            (false, _) => {
                state.waiting.push(request);
                Ok(())
            }
        }
    }

    pub(crate) fn take_waiting(&self) -> Vec<FireRequest> {
        std::mem::take(&mut lock(&self.state).waiting)
    }

    /// Nothing fires any more; who waits is told so.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.waiting.clear();
    }

    /// Keeps names that were found, for all captures that come of it.
    pub(crate) fn learn_names(&self, symbols: Vec<(FrameId, Symbol)>, code: Vec<FunctionCode>) {
        let mut names = lock(&self.names);
        names.symbols.extend(symbols);
        names.code.extend(code);
    }

    pub(crate) fn wait_for_names(&self, unnamed: Unnamed) {
        lock(&self.names).unnamed.push(unnamed);
    }

    /// Stores the names of the functions of captures that have ended.
    pub(crate) async fn name_captures(&self, store: &Store) {
        let unnamed = std::mem::take(&mut lock(&self.names).unnamed);
        for Unnamed { id, frames, mappings } in unnamed {
            let (symbols, code): (Vec<_>, Vec<_>) = {
                let names = lock(&self.names);
                let symbol = |frame: &FrameId| Some((*frame, names.symbols.get(frame)?.clone()));
                let code = names.code.iter().filter(|code| mappings.contains(&code.mapping));
                (frames.iter().filter_map(symbol).collect(), code.cloned().collect())
            };
            for part in [store.put_symbols(id, symbols).await, store.put_code(id, code).await] {
                if let Err(error) = part {
                    tracing::warn!(capture = %id, error = words(&error), "names of functions cannot be stored");
                }
            }
        }
    }
}
