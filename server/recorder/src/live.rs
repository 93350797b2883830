//! What viewers of a running capture get: bounded queues, one for each viewer, so that a slow one slows nobody (P30).

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bathyscope_capture::ShownCell;
use bathyscope_store::CaptureState;
use serde::Serialize;
use tokio::sync::Notify;

use super::flight_state::FlightStatus;

/// The most messages that wait for one viewer.
pub const MAX_QUEUED_MESSAGES: usize = 4096;
/// About how many bytes of messages wait for one viewer at most.
pub const MAX_QUEUED_BYTES: usize = 4 << 20;
/// The most viewers of one capture.
pub const MAX_VIEWERS: usize = 64;

/// Something that a viewer is told. Times are nanoseconds since the capture's start.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LiveMessage {
    /// What the capture is doing.
    State {
        /// As it is stored.
        state: CaptureState,
        /// In words; may be empty.
        message: String,
    },
    /// Some of the rows that were just read.
    Rows {
        /// The stream's index.
        stream: u16,
        /// The rows, as in a page of rows.
        rows: Vec<Vec<ShownCell>>,
        /// Rows of this stream that were read since the last message and are not in it.
        not_shown: u64,
    },
    /// A map of a script as it is now, the greatest elements last. Its rows may be in the capture or not.
    Map {
        /// The map's stream.
        stream: u16,
        /// The rows, as in a page of rows.
        rows: Vec<Vec<ShownCell>>,
        /// Rows that are not in it.
        not_shown: u64,
    },
    /// Counters.
    Tick(Tick),
    /// This viewer was too slow; so many messages were dropped. What they told is in the store.
    Lagged {
        /// How many.
        missed: u64,
    },
    /// The capture has ended and its functions have names; nothing follows.
    Ended {
        /// How it ended.
        state: CaptureState,
        /// Why, in words.
        reason: String,
    },
}

/// Counters of a running capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tick {
    /// Nanoseconds since the start.
    pub elapsed: u64,
    /// One for each stream.
    pub streams: Vec<StreamTick>,
    /// One for each program of a script; empty for others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeTick>,
    /// What reading the maps of a script costs; empty for others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maps: Vec<MapTick>,
    /// Share of one CPU that this process used since the last tick, in thousandths.
    pub console_cpu_permille: f64,
    /// The same of the agent.
    pub agent_cpu_permille: f64,
    /// The most memory that this process had resident, bytes.
    pub console_peak_bytes: u64,
    /// The same of the agent.
    pub agent_peak_bytes: u64,
    /// Bytes of the chunks so far.
    pub bytes: u64,
    /// What the guard has done and why, in words; empty if nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub guard: String,
    /// What it has in memory, if it is a flight recorder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flight: Option<Box<FlightStatus>>,
}

/// Counters of one program of a running script, totals since it began.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProbeTick {
    /// Its attach points.
    pub name: String,
    /// Line of the script, from 1.
    pub line: u32,
    /// Times it ran.
    pub hits: u64,
    /// Hits that predicate or target rejected.
    pub filtered: u64,
    /// Records, updates and stacks lost, and hits that were not delivered.
    pub lost: u64,
    /// Reads and other helpers that failed.
    pub helper_failed: u64,
    /// Nanoseconds for each hit.
    pub ns_per_hit: Option<f64>,
}

/// What reading one map of a running script costs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MapTick {
    /// `@name`.
    pub name: String,
    /// Elements that it had when it was read last.
    pub elements: u64,
    /// Microseconds of CPU time that reading it took, with making rows of it: twice those of this process, as the agent's are
    /// fewer.
    pub read_us: u64,
    /// Milliseconds between two readings: the more it costs the rarer it is read.
    pub every_ms: u64,
    /// Whether it has more elements than are shown while the script runs; all are in the capture at the end.
    pub too_large: bool,
}

/// Counters of one stream of a running capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StreamTick {
    /// The stream's name.
    pub name: String,
    /// Hits of the probe per second since the last tick.
    pub hits_per_s: f64,
    /// Rows read per second since the last tick.
    pub rows_per_s: f64,
    /// Rows stored.
    pub stored: u64,
    /// Hits that wanted to be recorded.
    pub emitted: u64,
    /// Hits that predicate or target rejected.
    pub filtered: u64,
    /// Events lost.
    pub lost: u64,
    /// Nanoseconds for each hit.
    pub ns_per_hit: Option<f64>,
    /// Share of one CPU that the probe uses, in thousandths.
    pub cpu_permille: Option<f64>,
}

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<(Arc<LiveMessage>, usize)>,
    bytes: usize,
    missed: u64,
    closed: bool,
}

#[derive(Debug, Default)]
struct Viewer {
    queue: Mutex<Queue>,
    notify: Notify,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves plain data behind, which stays usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Viewer {
    fn push(&self, message: &Arc<LiveMessage>, bytes: usize) {
        let mut queue = lock(&self.queue);
        if queue.messages.len() >= MAX_QUEUED_MESSAGES || queue.bytes + bytes > MAX_QUEUED_BYTES {
            queue.missed += 1;
        } else {
            queue.bytes += bytes;
            queue.messages.push_back((Arc::clone(message), bytes));
        }
        drop(queue);
        self.notify.notify_one();
    }

    fn close(&self) {
        lock(&self.queue).closed = true;
        self.notify.notify_one();
    }

    /// The next message; `Err(true)` if there will be none, `Err(false)` if there is none now.
    ///
    /// What was dropped came after everything that waits, so it is told when the queue has run empty.
    fn take(&self) -> Result<Arc<LiveMessage>, bool> {
        let mut queue = lock(&self.queue);
        if let Some((message, bytes)) = queue.messages.pop_front() {
            queue.bytes -= bytes;
            return Ok(message);
        }
        match std::mem::take(&mut queue.missed) {
            0 => Err(queue.closed),
            missed => Ok(Arc::new(LiveMessage::Lagged { missed })),
        }
    }
}

#[derive(Debug, Default)]
struct Hub {
    viewers: Vec<Arc<Viewer>>,
    state: Option<Arc<LiveMessage>>,
    tick: Option<Arc<LiveMessage>>,
    ended: Option<Arc<LiveMessage>>,
}

/// The sending side, one for each running capture. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveHub(Arc<Mutex<Hub>>);

impl LiveHub {
    /// Whether anybody looks.
    pub(crate) fn has_viewers(&self) -> bool {
        !lock(&self.0).viewers.is_empty()
    }

    /// Gives `message` to all viewers. Never waits.
    pub(crate) fn send(&self, message: LiveMessage) {
        let bytes = size_of_message(&message);
        let message = Arc::new(message);
        let mut hub = lock(&self.0);
        match &*message {
            LiveMessage::State { .. } => hub.state = Some(Arc::clone(&message)),
            LiveMessage::Tick(_) => hub.tick = Some(Arc::clone(&message)),
            LiveMessage::Ended { .. } => hub.ended = Some(Arc::clone(&message)),
            LiveMessage::Rows { .. } | LiveMessage::Map { .. } | LiveMessage::Lagged { .. } => {}
        }
        hub.viewers.iter().for_each(|viewer| viewer.push(&message, bytes));
        if hub.ended.is_some() {
            hub.viewers.drain(..).for_each(|viewer| viewer.close());
        }
    }

    /// A new viewer, who first gets the current state and the last tick; none if there are too many.
    pub(crate) fn subscribe(&self) -> Option<Subscription> {
        let mut hub = lock(&self.0);
        if hub.viewers.len() >= MAX_VIEWERS {
            return None;
        }
        let viewer = Arc::new(Viewer::default());
        for message in [&hub.state, &hub.tick, &hub.ended].into_iter().flatten() {
            viewer.push(message, size_of_message(message));
        }
        if hub.ended.is_some() {
            viewer.close();
        } else {
            hub.viewers.push(Arc::clone(&viewer));
        }
        Some(Subscription { viewer, hub: self.clone() })
    }
}

/// About how many bytes a message takes, in memory and on the wire.
fn size_of_message(message: &LiveMessage) -> usize {
    let cell = |cell: &ShownCell| match cell {
        ShownCell::Text(text) | ShownCell::Stack { top: text, .. } => 48 + text.len(),
        ShownCell::Null | ShownCell::Number(_) | ShownCell::Real(_) => 32,
    };
    match message {
        LiveMessage::Rows { rows, .. } | LiveMessage::Map { rows, .. } => {
            64 + rows.iter().flatten().map(cell).sum::<usize>()
        }
        LiveMessage::Tick(tick) => 128 + tick.streams.len() * 192 + tick.probes.len() * 256 + tick.maps.len() * 128,
        LiveMessage::State { message: text, .. } | LiveMessage::Ended { reason: text, .. } => 64 + text.len(),
        LiveMessage::Lagged { .. } => 64,
    }
}

/// One viewer's queue. Dropping it ends the view.
#[derive(Debug)]
pub struct Subscription {
    viewer: Arc<Viewer>,
    hub: LiveHub,
}

impl Subscription {
    /// The next message; none after [`LiveMessage::Ended`] was given, or if the capture ended without one. Cancel safe.
    pub async fn next(&mut self) -> Option<Arc<LiveMessage>> {
        loop {
            match self.viewer.take() {
                Ok(message) => return Some(message),
                Err(true) => return None,
                Err(false) => self.viewer.notify.notified().await,
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        lock(&self.hub.0).viewers.retain(|viewer| !Arc::ptr_eq(viewer, &self.viewer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> LiveMessage {
        LiveMessage::Rows { stream: 0, rows: vec![vec![ShownCell::Text(text.to_owned())]], not_shown: 0 }
    }

    #[tokio::test]
    async fn p30_a_slow_viewer_is_told_what_it_missed_and_slows_nobody() {
        let hub = LiveHub::default();
        let (mut slow, mut fast) = (hub.subscribe().unwrap(), hub.subscribe().unwrap());
        let extra = 10;
        for _ in 0..MAX_QUEUED_MESSAGES + extra {
            hub.send(rows("x"));
            assert_eq!(*fast.next().await.unwrap(), rows("x"));
        }
        for _ in 0..MAX_QUEUED_MESSAGES {
            assert_eq!(*slow.next().await.unwrap(), rows("x"));
        }
        assert_eq!(*slow.next().await.unwrap(), LiveMessage::Lagged { missed: extra as u64 });
        hub.send(rows("y"));
        assert_eq!(*slow.next().await.unwrap(), rows("y"));
    }

    #[tokio::test]
    async fn p30_the_bytes_of_a_queue_are_bounded() {
        let hub = LiveHub::default();
        let mut viewer = hub.subscribe().unwrap();
        let large = "z".repeat(1 << 20);
        (0..8).for_each(|_| hub.send(rows(&large)));
        for _ in 0..3 {
            assert!(matches!(&*viewer.next().await.unwrap(), LiveMessage::Rows { .. }));
        }
        assert_eq!(*viewer.next().await.unwrap(), LiveMessage::Lagged { missed: 5 });
    }

    #[tokio::test]
    async fn who_comes_late_gets_the_state_and_who_comes_too_late_gets_the_end() {
        let hub = LiveHub::default();
        let state = LiveMessage::State { state: CaptureState::Recording, message: String::new() };
        hub.send(state.clone());
        let mut early = hub.subscribe().unwrap();
        assert_eq!(*early.next().await.unwrap(), state);
        let ended = LiveMessage::Ended { state: CaptureState::Finished, reason: "10 s have passed".to_owned() };
        hub.send(ended.clone());
        assert_eq!(*early.next().await.unwrap(), ended);
        assert_eq!(early.next().await, None);
        let mut late = hub.subscribe().unwrap();
        assert_eq!((late.next().await.as_deref(), late.next().await.as_deref()), (Some(&state), Some(&ended)));
        assert_eq!(late.next().await, None);
    }

    #[test]
    fn viewers_are_counted_while_they_look() {
        let hub = LiveHub::default();
        let all: Vec<_> = (0..MAX_VIEWERS).map(|_| hub.subscribe().unwrap()).collect();
        assert!(hub.subscribe().is_none());
        drop(all);
        assert!(!hub.has_viewers() && hub.subscribe().is_some());
    }
}
