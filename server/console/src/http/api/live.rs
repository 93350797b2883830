//! Event streams: a running capture, all running captures for the rail with what people write, and who uses this host.
//!
//! A stream ends with the session, with the console, or when the capture has ended. Queues are bounded by the recorder;
//! a viewer who takes nothing is cut by the listener.

use std::{collections::BTreeSet, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::State,
    response::{
        IntoResponse as _, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use bathyscope_capture::CaptureId;
use bathyscope_store::{CaptureState, InvestigationId, StoreChange};
use futures_util::{Stream, StreamExt as _, stream};
use serde::Serialize;
use tokio::{
    sync::{
        broadcast,
        broadcast::error::{RecvError, TryRecvError},
        watch,
    },
    time::{Interval, MissedTickBehavior},
};

use super::{
    super::{
        access::{Operator, Reader, Viewer, Who, sight_of},
        error::{ApiError, ErrorKind},
        extract::Path,
        session::Session,
        state::AppState,
    },
    captures::CapturePath,
};
use bathyscope_link::activity::ActivityMessage;
use bathyscope_recorder::{LiveMessage, RunningCapture, Subscription};

/// How often something is sent when nothing happens, so that proxies and browsers see that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How often the running captures are told.
const RUNNING_EVERY: Duration = Duration::from_secs(1);

/// Streams what one running capture does.
pub(in crate::http) async fn capture(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<Response, ApiError> {
    reader.admit_whole(id, "what it does now")?;
    if let Some(subscription) = state.recorder().live(id) {
        return Ok(respond_until(reader.over(state, id), stream::unfold(subscription, next)));
    }
    let record = state.store().capture(id).await?;
    if record.state == CaptureState::Recording {
        return Err(ApiError::new(ErrorKind::Busy, "watching the capture", "too many people watch it already")
            .remedy("Its stored rows can be looked at all the same."));
    }
    let ended = LiveMessage::Ended { state: record.state, reason: record.reason };
    Ok(respond_until(reader.over(state, id), stream::iter(event(&ended))))
}

async fn next(mut subscription: Subscription) -> Option<(Event, Subscription)> {
    loop {
        let message = subscription.next().await?;
        if let Some(event) = event(&*message) {
            return Some((event, subscription));
        }
    }
}

/// A message as an event: its name, and what is in it.
fn event(message: &impl Serialize) -> Option<Event> {
    let named = serde_json::to_value(message).ok()?;
    let (name, data) = named.as_object()?.iter().next()?;
    Event::default().event(name).json_data(data).ok()
}

/// What pages behind the login hear.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Heard {
    /// All running captures.
    Running { items: Vec<RunningCapture> },
    /// What people have written since the last such message.
    Written(WrittenNow),
}

/// What people have written.
#[derive(Default, Serialize)]
struct WrittenNow {
    /// Captures whose notes are others now.
    notes: BTreeSet<CaptureId>,
    /// Investigations that are others now.
    investigations: BTreeSet<InvestigationId>,
    /// Whether there was more than is told: anything may be other than it was.
    missed: bool,
}

impl WrittenNow {
    fn add(&mut self, change: StoreChange) {
        match change {
            StoreChange::Notes(id) => {
                self.notes.insert(id);
            }
            StoreChange::Investigation(id) => {
                self.investigations.insert(id);
            }
            // What somebody sees is looked at each time that something is told.
            StoreChange::Rights => {}
        }
    }
}

/// All running captures, whenever something about them is new, and what people have written, at once.
pub(in crate::http) async fn running(Viewer(who): Viewer, State(state): State<AppState>) -> Response {
    let mut clock = tokio::time::interval(RUNNING_EVERY);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let changes = state.store().changes();
    let watch = Watch { state, session: who.session.clone(), clock, told: None, changes };
    respond(&who, stream::unfold(watch, next_heard))
}

struct Watch {
    state: AppState,
    session: Session,
    clock: Interval,
    told: Option<Vec<RunningCapture>>,
    changes: broadcast::Receiver<StoreChange>,
}

async fn next_heard(mut watch: Watch) -> Option<(Event, Watch)> {
    loop {
        let heard = tokio::select! {
            change = watch.changes.recv() => Heard::Written(written_now(change, &mut watch.changes)?),
            _ = watch.clock.tick() => {
                let items = seen_of(&watch, watch.state.recorder().running()).await?;
                if watch.told.as_ref() == Some(&items) {
                    continue;
                }
                watch.told = Some(items.clone());
                Heard::Running { items }
            }
        };
        if let Some(event) = event(&heard) {
            return Some((event, watch));
        }
    }
}

/// Those of the running captures that somebody sees; none when the store is gone.
async fn seen_of(watch: &Watch, items: Vec<RunningCapture>) -> Option<Vec<RunningCapture>> {
    // At every tick, while most of the time nothing runs.
    if items.is_empty() {
        return Some(items);
    }
    let sight = sight_of(&watch.state, &watch.session).await.ok()?;
    if !sight.is_narrow() {
        return Some(items);
    }
    let store = watch.state.store().seen_by(&sight);
    let mut seen = Vec::new();
    for item in items {
        if store.right(item.id).await.is_ok() {
            seen.push(item);
        }
    }
    Some(seen)
}

/// A change with those that wait behind it; none when the store is gone.
fn written_now(
    first: Result<StoreChange, RecvError>,
    changes: &mut broadcast::Receiver<StoreChange>,
) -> Option<WrittenNow> {
    let mut now = WrittenNow::default();
    match first {
        Ok(change) => now.add(change),
        Err(RecvError::Lagged(_)) => now.missed = true,
        Err(RecvError::Closed) => return None,
    }
    loop {
        match changes.try_recv() {
            Ok(change) => now.add(change),
            Err(TryRecvError::Lagged(_)) => now.missed = true,
            Err(TryRecvError::Empty | TryRecvError::Closed) => return Some(now),
        }
    }
}

type Told = watch::Receiver<Option<Arc<ActivityMessage>>>;

/// Who uses this host, once a second. One reading serves all who look; who is slow misses some.
pub(in crate::http) async fn activity(Operator(who): Operator, State(state): State<AppState>) -> Response {
    respond(&who, stream::unfold(state.activity().subscribe(), next_activity))
}

async fn next_activity(mut told: Told) -> Option<(Event, Told)> {
    loop {
        told.changed().await.ok()?;
        let message = told.borrow_and_update().clone();
        if let Some(event) = message.and_then(|message| event(&*message)) {
            return Some((event, told));
        }
    }
}

/// The response of a stream that ends with the session.
fn respond(who: &Who, events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let session = who.session.clone();
    respond_until(async move { session.over().await }, events)
}

/// The response of a stream that ends when its reader may not read any more.
fn respond_until(
    over: impl Future<Output = ()> + Send + 'static,
    events: impl Stream<Item = Event> + Send + 'static,
) -> Response {
    let events = events.take_until(over).map(Ok::<_, Infallible>);
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}
