//! Flight recorders: what stays in memory, what fires, what is stored, and that all of it is accounted for.

use std::{
    collections::HashSet,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use bathyscope_capture::{
    CaptureId, CaptureSpec, FiringKind, FlightSpec, Limits, LossStage, Method, ProcessChangeKind, ProfileSpec,
    SourceSpec, StreamSchema, decode_chunk,
};
use bathyscope_recorder::{FireCause, FireError, FlightStatus, StartError};
use bathyscope_store::{CaptureRecord, CaptureState};

use super::{Behaviour, Bench, bench, spec, unlimited};

fn flight(triggers: &[&str]) -> FlightSpec {
    let triggers = triggers.iter().map(|text| text.parse().unwrap()).collect();
    FlightSpec { before_s: 60, after_s: 0, pause_s: 0, triggers, ..FlightSpec::default() }
}

fn limits(flight: FlightSpec) -> Limits {
    Limits { flight: Some(Box::new(flight)), ..unlimited() }
}

/// Hits that come for a while.
fn lasting() -> Behaviour {
    Behaviour { hits: 3_000, burst: 30, pause: Duration::from_millis(20), ..Behaviour::default() }
}

impl Bench {
    /// Waits until a flight recorder is as is wanted.
    async fn flight_is(&self, id: CaptureId, wanted: impl Fn(&FlightStatus) -> bool) -> FlightStatus {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let status = self.recorder.flight(id).unwrap();
            if wanted(&status) {
                return status;
            }
            assert!(Instant::now() < until, "{status:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Everything that rows and processes of a capture refer to is in it.
    async fn assert_is_whole(&self, record: &CaptureRecord) {
        let ids = |list: Vec<(u32, Vec<u8>)>| list.into_iter().map(|(id, _)| id).collect::<HashSet<u32>>();
        let strings = ids(self.store.strings(record.id, 0).await.unwrap());
        for (stream, of) in (0_u16..).zip(&record.streams) {
            for info in self.store.chunk_index(record.id, stream, 0).await.unwrap() {
                let bytes = self.store.chunk(record.id, stream, info.seq).await.unwrap();
                let batch = decode_chunk(&of.schema, &bytes, &[StreamSchema::COMM]).unwrap();
                assert!(batch.columns[StreamSchema::COMM].as_id().iter().all(|id| *id == 0 || strings.contains(id)));
            }
        }
        for change in self.store.processes(record.id).await.unwrap() {
            if let ProcessChangeKind::Existing { comm } | ProcessChangeKind::Comm { comm, .. } = change.kind {
                assert!(strings.contains(&comm), "{change:?}");
            }
        }
        self.store.check(record.id).await.unwrap();
        assert!(record.ledger.in_flight().iter().all(|left| *left == 0), "{:?}", record.ledger);
        for (stream, totals) in record.streams.iter().zip(&record.ledger.streams) {
            assert_eq!(stream.rows, totals.stored);
        }
    }

    /// The numbers of the rows of a stream.
    async fn numbers(&self, id: CaptureId, stream: u16) -> Vec<u64> {
        self.rows(id, stream).await.into_iter().flatten().map(|(_, number)| number).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_stored_until_a_row_fires_and_then_that_row_is_there() {
    let bench = bench(Behaviour { filter_every: 7, miss_every: 11, ..lasting() }).await;
    let id = bench.start(spec(2, limits(flight(&["on made:one if number == 1000"])))).await;
    let own = bench.ended(id).await;
    let stored = bench.store.stored_by(id, 9).await.unwrap();
    assert_eq!(stored.len(), 1, "{}", own.reason);
    let record = bench.store.capture(stored[0]).await.unwrap();
    assert_eq!((record.state, record.owner.as_str()), (CaptureState::Finished, "ada"), "{}", record.reason);
    let firing = record.firing.as_ref().unwrap();
    assert_eq!(
        (firing.kind, firing.recorder, firing.trigger.as_str()),
        (FiringKind::Row, id, "on made:one if number == 1000")
    );
    assert!(firing.value.contains("number 1000"), "{}", firing.value);
    assert!(record.title.contains("number == 1000"), "{}", record.title);
    bench.assert_is_whole(&record).await;
    let noted = bench.store.audit(0, 9).await.unwrap();
    let noted: Vec<_> = noted.iter().map(|it| &it.entry).filter(|entry| entry.action == "capture.fire").collect();
    assert_eq!(noted.len(), 1);
    assert_eq!((noted[0].user.as_str(), noted[0].object.as_str()), ("flight recorder of ada", id.to_string().as_str()));
    assert_eq!(noted[0].detail, format!("stored as {}, by on made:one if number == 1000", record.id));
    // It was younger than the minute that was asked for.
    assert!(record.reason.contains("as the recorder was no older (60 s were asked for)"), "{}", record.reason);
    let numbers = bench.numbers(record.id, 0).await;
    assert!(numbers.contains(&1000), "{numbers:?}");
    assert!(record.streams.iter().all(|stream| stream.rows > 0), "rows of all streams are there");
    assert!(record.start_ns <= firing.fired_ns && firing.fired_ns <= record.end_ns && record.start_ns >= own.start_ns);
    // Its own capture has no rows, and what became of each is said.
    assert_eq!(own.state, CaptureState::Finished);
    assert!(own.reason.contains("it has fired once"), "{}", own.reason);
    assert!(own.ledger.in_flight().iter().all(|left| *left == 0), "{:?}", own.ledger);
    for (index, truth) in bench.seen.truths.lock().unwrap().iter().enumerate() {
        let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Acquire);
        let stream = u16::try_from(index).unwrap();
        assert_eq!((own.streams[index].rows, own.ledger.streams[index].stored), (0, 0));
        assert_eq!(own.ledger.not_kept(stream), of(&truth.placed));
        assert_eq!(own.ledger.streams[index].hits, of(&truth.hits) + of(&truth.missed));
        let missed =
            own.ledger.losses.iter().filter(|it| it.stream == Some(stream) && it.stage == LossStage::KernelMissed);
        assert_eq!(missed.map(|loss| loss.count).sum::<u64>(), of(&truth.missed));
    }
    assert!(bench.store.strings(id, 0).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_fires_it_and_functions_have_names() {
    let bench = bench(lasting()).await;
    let profile = ProfileSpec { kernel_stacks: false, user_stacks: true, ..ProfileSpec::default() };
    let sources = vec![SourceSpec::of(Method::Profile(profile))];
    let spec = CaptureSpec { sources, ..spec(1, limits(flight(&[]))) };
    let id = bench.start(spec).await;
    bench.flight_is(id, |status| status.held_rows > 100).await;
    let running = bench.recorder.running();
    assert!(running[0].flight.as_ref().is_some_and(|flight| flight.held_bytes > 0), "{running:?}");
    let stored = bench.recorder.fire(id, FireCause::now(FiringKind::Hand, "by hand of ada", "")).await.unwrap();
    assert!(bench.store.audit(0, 9).await.unwrap().is_empty(), "whoever asks notes it");
    assert!(bench.recorder.stop(id, "ada"));
    let own = bench.named(id).await;
    assert!(own.reason.contains("fired once"), "{}", own.reason);
    let record = bench.store.capture(stored).await.unwrap();
    assert_eq!(record.state, CaptureState::Finished, "{}", record.reason);
    bench.assert_is_whole(&record).await;
    let symbols = bench.store.symbols(stored, 0).await.unwrap();
    assert!(!symbols.is_empty() && symbols.iter().all(|(_, it)| it.function.ends_with("a_function_to_be_named")));
    let stacks: HashSet<u32> = bench.store.stacks(stored, 0).await.unwrap().into_iter().map(|(id, _)| id).collect();
    assert!(!stacks.is_empty());
    let gone = bench.recorder.fire(id, FireCause::now(FiringKind::Hand, "", "")).await;
    assert_eq!(gone, Err(FireError::NotRunning));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_fires_no_more_often_than_it_may() {
    let bench = bench(lasting()).await;
    let triggers = ["number == 300", "number == 1200", "number == 2400"];
    let kept = FlightSpec { pause_s: 3600, ..flight(&triggers) };
    let id = bench.start(spec(1, limits(kept))).await;
    let status = bench.flight_is(id, |status| status.held_back >= 2).await;
    assert_eq!((status.captures, status.trouble.as_str()), (1, ""));
    bench.ended(id).await;
    assert_eq!(bench.store.stored_by(id, 9).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_bounded_and_what_leaves_it_is_not_kept() {
    let bench = bench(Behaviour { hits: 400_000, burst: 20_000, ring_bytes: 1 << 22, ..lasting() }).await;
    let id = bench.start(spec(3, limits(FlightSpec { memory_mib: 1, ..flight(&[]) }))).await;
    let status = bench.flight_is(id, |status| status.is_short).await;
    assert!(status.held_bytes <= 1 << 20, "{status:?}");
    let own = bench.ended(id).await;
    assert!(own.reason.contains("nothing fired"), "{}", own.reason);
    assert!(own.ledger.in_flight().iter().all(|left| *left == 0), "{:?}", own.ledger);
    assert!((0..3).all(|stream| own.ledger.not_kept(stream) > 0));
    assert_eq!(
        own.ledger.lost_total(),
        own.ledger.losses.iter().filter(|it| it.stage.is_lost()).map(|it| it.count).sum::<u64>()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misspelt_trigger_is_refused_with_what_was_meant() {
    let bench = bench(lasting()).await;
    let compared = "nothing in it is compared, so that it would never fire";
    for (trigger, expected) in [
        ("exits nginx", "did you mean `exit nginx`?"),
        ("Exit nginx", "did you mean `exit nginx`?"),
        ("ends nginx", "did you mean `exit nginx`?"),
        ("AT 0 3 * * *", "did you mean `at 0 3 * * *`?"),
        ("cron 0 3 * * *", "did you mean `at 0 3 * * *`?"),
        ("Pressure cpu > 80% for 5s", "did you mean `pressure cpu > 80% for 5s`?"),
        ("every 5 minutes", compared),
        ("signal 11", compared),
        ("cron 0 3", compared),
        ("slow", compared),
        ("on made:one if slow", compared),
        ("on made:one if number 5", "did you mean `on made:one if number > 5`?"),
        ("number 100", "did you mean `number > 100`?"),
        ("comm nginx", "did you mean `comm == \"nginx\"`?"),
        ("slow", "at MINUTE HOUR DAY MONTH WEEKDAY [ZONE]"),
        ("has stack frame do_syscall_64", "have no names yet"),
        ("\"\"", "it is empty"),
    ] {
        let error = bench.recorder.start(spec(1, limits(flight(&[trigger]))), "ada").await.unwrap_err();
        assert!(matches!(&error, StartError::Flight { why } if why.contains(expected)), "{trigger}: {error}");
    }
    // A text in double quotes is looked for on purpose.
    let id = bench.start(spec(1, limits(flight(&["\"exits nginx\""])))).await;
    assert!(bench.recorder.stop(id, "ada"));
    bench.ended(id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_fire_is_refused_before_anything_is_attached() {
    let bench = bench(lasting()).await;
    for (trigger, expected) in [
        ("nothing == 1", "nothing"),
        ("number ==", "number =="),
        ("on nowhere if number == 1", "there is no stream `nowhere`; there are made:one"),
        ("has stack frame \"main\"", "have no names yet"),
        ("at 0 3 * * * Mars/Olympus", "there is no time zone"),
        ("at 0 0 31 2 *", "no such day"),
    ] {
        let error = bench.recorder.start(spec(1, limits(flight(&[trigger]))), "ada").await.unwrap_err();
        assert!(matches!(&error, StartError::Flight { why } if why.contains(expected)), "{trigger}: {error}");
    }
    assert_eq!(bench.seen.alive.load(Ordering::Acquire), 0);
    let id = bench.start(spec(1, unlimited())).await;
    let refused = bench.recorder.fire(id, FireCause::now(FiringKind::Hand, "", "")).await;
    assert_eq!(refused, Err(FireError::NotFlight));
}
