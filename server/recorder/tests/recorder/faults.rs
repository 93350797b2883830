//! Captures on disks that fail or stand still (P36, P35), and the ledger after whatever happened (P28).

use std::{sync::atomic::Ordering, time::Duration};

use bathyscope_capture::{CaptureId, LossStage};
use bathyscope_store::{CaptureRecord, CaptureState, Options, Store, SummaryQuery};

use crate::{
    Bench, assert_ledger_balances, bench,
    disk::{Calls, Disk, Fault, Plan},
    first_rows,
    made_agent::Behaviour,
    spec, unlimited,
};

/// What holds of the ledger of every capture that has ended, whatever happened to it.
fn assert_balanced(record: &CaptureRecord) {
    for (index, totals) in record.ledger.streams.iter().enumerate() {
        let lost = record.ledger.lost(u16::try_from(index).unwrap());
        assert_eq!(totals.emitted, totals.stored + lost, "{:?}", record.ledger);
        assert_eq!(totals.hits, totals.filtered + totals.emitted, "{:?}", record.ledger);
        assert_eq!(totals.stored, record.streams[index].rows, "{:?}", record.ledger);
    }
    assert!(record.ledger.in_flight().iter().all(|left| *left == 0));
    assert_ne!(record.state, CaptureState::Recording);
    assert!(!record.reason.is_empty());
}

fn plan(fault: Fault, first: u64, for_ever: bool) -> Plan {
    Plan { calls: Calls::Writes, fault, first, for_ever }
}

impl Bench {
    /// Ends everything and opens the database anew, as the next start does.
    async fn reopened(self, id: CaptureId) -> CaptureRecord {
        self.store.close().await;
        let store =
            Store::open(self.directory.path(), Options { ballast_bytes: 0, ..Options::default() }).await.unwrap();
        let record = store.capture(id).await.unwrap();
        store.close().await;
        record
    }

    /// Waits until the agent has had so many hits more.
    pub(crate) async fn hits(&self, more: u64) {
        let before = self.seen.total(|truth| &truth.hits);
        while self.seen.total(|truth| &truth.hits) < before + more {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p36_a_write_that_fails_ends_the_capture_with_its_ledger() {
    for (first, errno) in [(0, libc::ENOSPC), (2, libc::EIO), (5, libc::ENOSPC), (9, libc::EIO)] {
        let bench = bench(Behaviour::default()).await;
        let id = bench.start(spec(3, unlimited())).await;
        first_rows(&mut bench.recorder.live(id).unwrap()).await;
        let disk = Disk::fails(bench.directory.path(), plan(Fault::Error(errno), first, false));
        let record = bench.ended(id).await;
        assert_eq!(disk.heal(), 1);
        assert_balanced(&record);
        match record.state {
            // An append was refused: what came after it would refer to what is not there.
            CaptureState::Failed => {
                let said = record.reason.contains("disk") || record.reason.contains("database");
                assert!(said, "the reason names neither disk nor database: {}", record.reason);
                assert!(record.ledger.losses.iter().any(|loss| loss.stage == LossStage::Store), "{:?}", record.ledger);
            }
            state => panic!("{state}: {}", record.reason),
        }
        // The next capture is as good as any, and the failed one can go.
        let next = bench.start(spec(1, bathyscope_capture::Limits { max_events: Some(100), ..unlimited() })).await;
        let record = bench.ended(next).await;
        assert_eq!(record.state, CaptureState::Finished, "{}", record.reason);
        assert_ledger_balances(&record, &bench.seen);
        bench.store.delete(id).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p36_a_disk_that_fails_for_ever_leaves_an_end_that_is_answered_and_stored_when_it_writes_again() {
    let bench = bench(Behaviour::default()).await;
    let id = bench.start(spec(3, unlimited())).await;
    first_rows(&mut bench.recorder.live(id).unwrap()).await;
    let disk = Disk::fails(bench.directory.path(), plan(Fault::Error(libc::EIO), 0, true));
    bench.recorder.wait(id).await;
    assert_eq!(bench.seen.alive.load(Ordering::Acquire), 0, "nothing of it is left in the agent");
    let answered = bench.store.capture(id).await.unwrap();
    assert_balanced(&answered);
    assert_eq!(answered.state, CaptureState::Failed, "{}", answered.reason);
    assert!(answered.ledger.losses.iter().any(|loss| loss.stage == LossStage::Store), "{:?}", answered.ledger);
    disk.heal();
    let record = bench.reopened(id).await;
    assert_eq!((record.state, record.reason, record.ledger), (answered.state, answered.reason, answered.ledger));
}

#[tokio::test(flavor = "multi_thread")]
async fn p36_a_disk_that_fails_until_the_console_has_ended_leaves_an_interrupted_capture() {
    let bench = bench(Behaviour::default()).await;
    let id = bench.start(spec(3, unlimited())).await;
    first_rows(&mut bench.recorder.live(id).unwrap()).await;
    let disk = Disk::fails(bench.directory.path(), plan(Fault::Error(libc::EIO), 0, true));
    bench.recorder.wait(id).await;
    bench.store.close().await;
    disk.heal();
    let record = bench.reopened(id).await;
    assert_balanced(&record);
    assert_eq!(record.state, CaptureState::Interrupted, "{}", record.reason);
    assert!(record.ledger.losses.iter().any(|loss| loss.stage == LossStage::Interrupted));
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_a_disk_that_stands_still_fills_the_ring_and_nothing_else() {
    let bench = bench(Behaviour { burst: 2_000, ..Behaviour::default() }).await;
    let id = bench.start(spec(1, unlimited())).await;
    first_rows(&mut bench.recorder.live(id).unwrap()).await;
    let disk = Disk::fails(bench.directory.path(), plan(Fault::Wait, 0, true));
    let before = bench.seen.total(|truth| &truth.ring_full);
    while bench.seen.total(|truth| &truth.ring_full) < before + 10_000 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Readers do not wait for the writer.
    let rows = bench.store.capture(id).await.unwrap().streams[0].rows;
    assert!(disk.heal() > 0);
    while bench.store.capture(id).await.unwrap().streams[0].rows < rows + 10_000 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(bench.recorder.stop(id, "ada"));
    let record = bench.ended(id).await;
    assert_eq!(record.state, CaptureState::Finished, "{}", record.reason);
    assert!(record.ledger.lost_total() > 0);
    assert_ledger_balances(&record, &bench.seen);
}

/// Numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p28_the_ledger_balances_after_random_rates_stalls_faults_and_deaths() {
    for seed in 0..24 {
        let mut dice = Dice(seed);
        for _ in 0..8 {
            dice.roll(2);
        }
        let behaviour = Behaviour {
            burst: 200 + dice.roll(3_000),
            pause: Duration::from_micros(200 + dice.roll(2_000)),
            // Not 1: then no hit would count.
            filter_every: dice.roll(2) * (2 + dice.roll(9)),
            miss_every: dice.roll(2) * (2 + dice.roll(13)),
            ring_bytes: 1 << (13 + dice.roll(8)),
            die_after: (dice.roll(4) == 0).then(|| 1_000 + dice.roll(30_000)),
            ..Behaviour::default()
        };
        let what = format!("seed {seed}: {behaviour:?}");
        let bench = bench(behaviour.clone()).await;
        let id = bench.start(spec(1 + usize::try_from(dice.roll(3)).unwrap(), unlimited())).await;
        let died = behaviour.die_after.is_some();
        let mut failed = false;
        if !died {
            for _ in 0..dice.roll(3) {
                let disk = Disk::fails(bench.directory.path(), plan(Fault::Wait, dice.roll(20), true));
                bench.hits(1 + dice.roll(5_000)).await;
                disk.heal();
            }
            if dice.roll(3) == 0 {
                let disk = Disk::fails(bench.directory.path(), plan(Fault::Error(libc::ENOSPC), dice.roll(12), false));
                bench.recorder.wait(id).await;
                failed = disk.heal() == 1;
            } else {
                bench.hits(dice.roll(10_000)).await;
                assert!(bench.recorder.stop(id, "ada"), "{what}");
            }
        }
        let record = bench.ended(id).await;
        assert_balanced(&record);
        let expected = match (died, failed) {
            (true, _) => CaptureState::AgentLost,
            (false, true) => CaptureState::Failed,
            (false, false) => CaptureState::Finished,
        };
        assert_eq!(record.state, expected, "{what}: {}", record.reason);
        if !died && !failed {
            assert_ledger_balances(&record, &bench.seen);
        }
        let placed = bench.seen.total(|truth| &truth.placed);
        assert!(record.streams.iter().map(|stream| stream.rows).sum::<u64>() <= placed, "{what}: rows out of nothing");
    }
}

/// The truth about the one stream of a bench's last capture: emitted, and lost to a full ring.
fn truth(bench: &Bench) -> (u64, u64) {
    let hits = bench.seen.total(|truth| &truth.hits) + bench.seen.total(|truth| &truth.missed);
    (hits - bench.seen.total(|truth| &truth.filtered), bench.seen.total(|truth| &truth.ring_full))
}

#[tokio::test(flavor = "multi_thread")]
async fn p73_an_agent_that_lets_go_leaves_its_last_readings_and_the_ledger_is_exact() {
    // A ring that is always full, so that a reading that is not the last one is behind.
    let lets_go = Behaviour { die_after: Some(20_000), lets_go: true, ring_bytes: 1 << 13, ..Behaviour::default() };
    let bench = bench(lets_go).await;
    let id = bench.start(spec(1, unlimited())).await;
    let record = bench.ended(id).await;
    assert_eq!(record.state, CaptureState::AgentLost, "{}", record.reason);
    assert_balanced(&record);
    let (emitted, ring_full) = truth(&bench);
    assert!(ring_full > 0);
    assert_eq!((record.ledger.streams[0].emitted, record.ledger.lost(0)), (emitted, ring_full), "{:?}", record.ledger);
    assert!(!record.ledger.is_lower_bound(), "all is known: {:?}", record.ledger);
}

#[tokio::test(flavor = "multi_thread")]
async fn p73_a_killed_agent_leaves_at_least_what_was_read_and_the_rest_is_unknown() {
    let killed = Behaviour { die_after: Some(20_000), ring_bytes: 1 << 13, ..Behaviour::default() };
    let bench = bench(killed).await;
    let id = bench.start(spec(1, unlimited())).await;
    let record = bench.ended(id).await;
    assert_eq!(record.state, CaptureState::AgentLost, "{}", record.reason);
    assert_balanced(&record);
    let ledger = &record.ledger;
    assert!(ledger.is_lower_bound() && ledger.lost_words().contains("broke off"), "{ledger:?}");
    let unknown = ledger.losses.iter().find(|loss| loss.stage == LossStage::Interrupted).unwrap();
    assert_eq!(unknown.stream, Some(0));
    assert!(unknown.start_ns < unknown.end_ns && unknown.end_ns >= record.end_ns, "{unknown:?} {}", record.end_ns);
    let last_read = ledger.losses.iter().filter(|loss| loss.stage == LossStage::RingFull).map(|loss| loss.end_ns).max();
    assert!(last_read.is_none_or(|last_ns| last_ns <= unknown.start_ns), "{ledger:?}");
    let listed = bench.store.summaries(&SummaryQuery::default()).await.unwrap().items;
    assert!(listed.iter().any(|capture| capture.id == id && capture.lost_at_least));
}
