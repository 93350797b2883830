//! How often something may be tried: a bucket for each source, or whatever else tells who tries what, and one for all together.

use std::{
    collections::HashMap,
    hash::Hash,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::listener::source_of;

/// The most sources that are remembered; beyond it the fullest are forgotten.
const MOST_SOURCES: usize = 4096;

/// A bucket's size and how fast it fills.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// Attempts at once.
    pub burst: f64,
    /// Time until one more is allowed.
    pub every: Duration,
}

/// Counts attempts by source.
#[derive(Debug)]
pub(super) struct RateLimit<K = IpAddr> {
    per_source: Rate,
    global: Rate,
    buckets: Mutex<Buckets<K>>,
}

#[derive(Debug)]
struct Buckets<K> {
    all: Bucket,
    by_source: HashMap<K, Bucket>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn full(rate: Rate, now: Instant) -> Self {
        Self { left: rate.burst, at: now }
    }

    fn refill(&mut self, rate: Rate, now: Instant) {
        let since = now.saturating_duration_since(self.at);
        self.left = (self.left + since.as_secs_f64() / rate.every.as_secs_f64()).min(rate.burst);
        self.at = now;
    }
}

impl RateLimit {
    /// Takes one attempt of `source` if there is one left, and says so. A source that is over its own limit takes
    /// nothing from the others.
    pub(super) fn attempt(&self, source: IpAddr, now: Instant) -> bool {
        self.take(source_of(source), now)
    }

    /// Gives an attempt back, as it did not fail.
    pub(super) fn take_back(&self, source: IpAddr) {
        self.give_back(&source_of(source));
    }
}

impl<K: Eq + Hash> RateLimit<K> {
    /// A limit with full buckets.
    pub(super) fn new(per_source: Rate, global: Rate, now: Instant) -> Self {
        let all = Bucket::full(global, now);
        Self { per_source, global, buckets: Mutex::new(Buckets { all, by_source: HashMap::new() }) }
    }

    /// As [`RateLimit::attempt`], of whatever tells sources apart.
    pub(super) fn take(&self, source: K, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let Buckets { all, by_source } = &mut *buckets;
        if by_source.len() >= MOST_SOURCES && !by_source.contains_key(&source) {
            let (rate, whole) = (self.per_source, self.per_source.burst - 0.5);
            by_source.values_mut().for_each(|bucket| bucket.refill(rate, now));
            by_source.retain(|_source, bucket| bucket.left < whole);
            if by_source.len() >= MOST_SOURCES {
                return false;
            }
        }
        let own = by_source.entry(source).or_insert_with(|| Bucket::full(self.per_source, now));
        own.refill(self.per_source, now);
        all.refill(self.global, now);
        if own.left < 1.0 || all.left < 1.0 {
            return false;
        }
        own.left -= 1.0;
        all.left -= 1.0;
        true
    }

    /// Gives an attempt back, as it did not fail.
    pub(super) fn give_back(&self, source: &K) {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.all.left = (buckets.all.left + 1.0).min(self.global.burst);
        if let Some(own) = buckets.by_source.get_mut(source) {
            own.left = (own.left + 1.0).min(self.per_source.burst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(now: Instant) -> RateLimit {
        let second = Duration::from_secs(1);
        RateLimit::new(Rate { burst: 2.0, every: second }, Rate { burst: 3.0, every: second }, now)
    }

    #[test]
    fn p06_sources_and_all_together_are_limited() {
        let now = Instant::now();
        let limit = limit(now);
        let [a, b]: [IpAddr; 2] = ["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()];
        assert_eq!([a, a, a].map(|source| limit.attempt(source, now)), [true, true, false]);
        assert_eq!([b, b].map(|source| limit.attempt(source, now)), [true, false], "three for everybody");
        let later = now + Duration::from_secs(1);
        assert_eq!([a, a].map(|source| limit.attempt(source, later)), [true, false]);
        let much_later = now + Duration::from_secs(100);
        assert_eq!([a, a, a].map(|source| limit.attempt(source, much_later)), [true, true, false]);
    }

    #[test]
    fn p06_what_did_not_fail_takes_nothing() {
        let now = Instant::now();
        let limit = limit(now);
        let a: IpAddr = "10.0.0.1".parse().unwrap();
        for _ in 0..9 {
            assert!(limit.attempt(a, now));
            limit.take_back(a);
        }
        limit.take_back(a);
        assert_eq!([a, a, a].map(|source| limit.attempt(source, now)), [true, true, false], "never more than at first");
    }

    #[test]
    fn p06_many_sources_do_not_grow_it_without_end() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let limit = RateLimit::new(Rate { burst: 2.0, every: second }, Rate { burst: 1e9, every: second }, now);
        let attempts = (0..10_000_u32).filter(|bits| limit.attempt(IpAddr::V4((*bits).into()), now)).count();
        assert_eq!(attempts, MOST_SOURCES);
        assert!(limit.attempt(IpAddr::V4(77_777.into()), now + second), "the full ones are forgotten");
    }
}
