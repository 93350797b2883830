//! Places for connections: how many there may be, and which one goes when there are too many.
//!
//! A connection whose last request had a live session keeps its place; such connections may hold [`KEPT_OF_FOUR`] of
//! four places, and [`KEPT_PER_SESSION`] of one session. Any other makes room for a newcomer: first those that wait for a
//! request, then those that serve one, the oldest of them first. So whoever opens connections without being logged in
//! pushes out the own older ones, and nobody who is.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio_util::sync::CancellationToken;

use super::{listener::ListenLimits, session::Session};

/// How many of four places connections with a live session keep.
const KEPT_OF_FOUR: usize = 3;
/// How many places connections of one session keep: several windows of a browser, each with its streams.
const KEPT_PER_SESSION: usize = 16;

/// Who holds which place. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    held: Arc<Mutex<Held>>,
}

#[derive(Debug)]
struct Held {
    limits: ListenLimits,
    next: u64,
    /// By number, so the oldest first.
    places: BTreeMap<u64, TakenSlot>,
}

#[derive(Debug)]
struct TakenSlot {
    source: IpAddr,
    /// The session of the last request, if it may keep the place.
    kept_by: Option<Session>,
    /// Requests that are being served.
    serving: usize,
    cut: CancellationToken,
}

impl TakenSlot {
    fn is_kept(&self) -> bool {
        self.kept_by.as_ref().is_some_and(Session::is_live)
    }
}

/// One connection's place; given back when the last clone is dropped.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    inner: Arc<SlotInner>,
}

#[derive(Debug)]
struct SlotInner {
    held: Arc<Mutex<Held>>,
    number: u64,
    cut: CancellationToken,
}

/// Says for as long as it lives that a connection serves a request.
#[derive(Debug)]
pub(super) struct Serving {
    slot: Slot,
}

impl Slots {
    /// No connections yet, and at most these.
    pub(super) fn new(limits: ListenLimits) -> Self {
        Self { held: Arc::new(Mutex::new(Held { limits, next: 0, places: BTreeMap::new() })) }
    }

    /// A place for a connection from `source`, if need be that of another one, which is cut; none if all are kept.
    pub(super) fn take(&self, source: IpAddr) -> Option<Slot> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let own = held.places.values().filter(|place| place.source == source).count();
        if own >= held.limits.per_source {
            held.cut_one(|place| place.source == source)?;
        } else if held.places.len() >= held.limits.connections {
            held.cut_one(|_any| true)?;
        }
        let number = held.next;
        held.next += 1;
        let cut = CancellationToken::new();
        held.places.insert(number, TakenSlot { source, kept_by: None, serving: 0, cut: cut.clone() });
        Some(Slot { inner: Arc::new(SlotInner { held: Arc::clone(&self.held), number, cut }) })
    }
}

impl Held {
    /// Cuts a connection that does not keep its place; none if there is no such one among these.
    fn cut_one(&mut self, among: impl Fn(&TakenSlot) -> bool) -> Option<()> {
        let gone = |(number, place): (&u64, &TakenSlot)| (place.serving > 0, *number);
        let free = self.places.iter().filter(|(_, place)| among(place) && !place.is_kept());
        let (_, number) = free.map(gone).min()?;
        let place = self.places.remove(&number)?;
        place.cut.cancel();
        Some(())
    }

    /// Whether one more connection from `source` may keep its place for `session`.
    fn may_keep(&self, number: u64, source: IpAddr, session: &Session) -> bool {
        let kept = || self.places.iter().filter(|(other, place)| **other != number && place.is_kept());
        let by_session = kept().filter(|(_, place)| place.kept_by.as_ref().is_some_and(|kept| kept.is_same(session)));
        let by_source = kept().filter(|(_, place)| place.source == source);
        by_session.count() < KEPT_PER_SESSION
            && by_source.count() < self.limits.per_source * KEPT_OF_FOUR / 4
            && kept().count() < self.limits.connections * KEPT_OF_FOUR / 4
    }
}

impl Slot {
    /// Cancelled when the place was given to another connection.
    pub(super) fn cut(&self) -> &CancellationToken {
        &self.inner.cut
    }

    /// The connection carries a request with this session.
    pub(super) fn used_by(&self, session: &Session) {
        let mut held = self.inner.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(source) = held.places.get(&self.inner.number).map(|place| place.source) else { return };
        let kept_by = held.may_keep(self.inner.number, source, session).then(|| session.clone());
        if let Some(place) = held.places.get_mut(&self.inner.number) {
            place.kept_by = kept_by;
        }
    }

    /// A request begins; it has been served when what this gives is dropped.
    pub(super) fn serve(&self) -> Serving {
        self.change_serving(|serving| serving + 1);
        Serving { slot: self.clone() }
    }

    fn change_serving(&self, change: impl Fn(usize) -> usize) {
        let mut held = self.inner.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = held.places.get_mut(&self.inner.number) {
            place.serving = change(place.serving);
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.slot.change_serving(|serving| serving.saturating_sub(1));
    }
}

impl Drop for SlotInner {
    fn drop(&mut self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.places.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_store::{Options, Role, Store};

    use super::{super::session::SessionClock, super::session::Sessions, *};

    fn limits(connections: usize, per_source: usize) -> ListenLimits {
        ListenLimits { connections, per_source, ..ListenLimits::default() }
    }

    async fn sessions(dir: &tempfile::TempDir) -> Sessions {
        let store = Store::open(dir.path(), Options { ballast_bytes: 0, ..Options::default() }).await.unwrap();
        Sessions::open(store, SessionClock::Boot, &CancellationToken::new()).await.unwrap()
    }

    async fn log_in(sessions: &Sessions) -> Session {
        let token = sessions.login_token("alice", Role::Operator).await.unwrap();
        sessions.login(token.reveal(), None).await.unwrap().unwrap().1
    }

    #[test]
    fn p15_places_are_limited_and_given_back() {
        let slots = Slots::new(limits(3, 2));
        let [a, b, c]: [IpAddr; 3] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|text| text.parse().unwrap());
        let (first, second) = (slots.take(a).unwrap(), slots.take(a).unwrap());
        let third = slots.take(a).unwrap();
        assert!(first.cut().is_cancelled(), "one source has two places: the oldest goes");
        let other = slots.take(b).unwrap();
        assert!(!second.cut().is_cancelled() && !third.cut().is_cancelled() && !other.cut().is_cancelled());
        let _fourth = slots.take(c).unwrap();
        assert!(second.cut().is_cancelled(), "there are three places: the oldest goes");
        let busy = third.serve();
        let _fifth = slots.take(c).unwrap();
        assert!(other.cut().is_cancelled() && !third.cut().is_cancelled(), "those that wait for a request go first");
        drop(busy);
        drop((first, second, other, third));
        assert_eq!(slots.held.lock().unwrap().places.len(), 2);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn p70_places_of_live_sessions_are_kept_and_they_keep_no_more_than_their_share() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = sessions(&dir).await;
        let slots = Slots::new(limits(100, 8));
        let [a, b]: [IpAddr; 2] = ["127.0.0.1", "127.0.0.2"].map(|text| text.parse().unwrap());
        let session = log_in(&sessions).await;
        let kept: Vec<Slot> = (0..8).map(|_| slots.take(a).unwrap()).collect();
        kept.iter().for_each(|slot| slot.used_by(&session));
        let mut strangers: Vec<Slot> = (0..100).map(|_| slots.take(a).unwrap()).collect();
        assert_eq!(kept.iter().filter(|slot| !slot.cut().is_cancelled()).count(), 6, "three of four places");
        assert_eq!(strangers.iter().filter(|slot| !slot.cut().is_cancelled()).count(), 2);
        sessions.logout(&session).await.unwrap();
        strangers.extend((0..8).map(|_| slots.take(a).unwrap()));
        assert!(kept.iter().all(|slot| slot.cut().is_cancelled()), "a session that has ended keeps nothing");
        drop(strangers);

        let slots = Slots::new(limits(100, 80));
        let session = log_in(&sessions).await;
        let mine: Vec<Slot> = (0..40).map(|_| slots.take(b).unwrap()).collect();
        mine.iter().for_each(|slot| slot.used_by(&session));
        let _strangers: Vec<Slot> = (0..100).map(|_| slots.take(b).unwrap()).collect();
        assert_eq!(mine.iter().filter(|slot| !slot.cut().is_cancelled()).count(), KEPT_PER_SESSION);
    }
}
