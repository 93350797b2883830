use std::{os::fd::AsFd, sync::atomic::Ordering};

use proptest::prelude::*;

use super::{
    layout::{PERF_HEAD, page_bytes},
    *,
};
use crate::{RingContent, RingInfo, RingKind};

fn info(kind: RingKind, data_bytes: u32) -> RingInfo {
    RingInfo { kind, content: RingContent::Stream { stream: 0 }, data_bytes, cpu: None }
}

fn perf() -> RingKind {
    RingKind::Perf { sample_type: 0, read_format: 0, sample_id_all: false, branch_sample_type: 0 }
}

fn bpf_ring() -> (SimulatedBpfRing, RingReader) {
    let ring = SimulatedBpfRing::create(4096).unwrap();
    let fd = ring.as_fd().try_clone_to_owned().unwrap();
    (ring, RingReader::map(fd, &info(RingKind::Bpf, 4096)).unwrap())
}

fn perf_ring() -> (SimulatedPerfRing, RingReader) {
    let ring = SimulatedPerfRing::create(4096).unwrap();
    let fd = ring.as_fd().try_clone_to_owned().unwrap();
    (ring, RingReader::map(fd, &info(perf(), 4096)).unwrap())
}

fn drain_all(reader: &mut RingReader) -> Result<Vec<Vec<u8>>, RingError> {
    let mut records = Vec::new();
    reader.drain(usize::MAX, &mut |record| records.push(record.to_vec()))?;
    Ok(records)
}

fn perf_record(kind: u32, body: &[u8]) -> Vec<u8> {
    let size = 8 + body.len().next_multiple_of(8);
    let mut record = kind.to_le_bytes().to_vec();
    record.extend([0, 0]);
    record.extend((size as u16).to_le_bytes());
    record.extend(body);
    record.resize(size, 0);
    record
}

#[test]
fn bpf_records_survive_many_wraps() {
    let (mut ring, mut reader) = bpf_ring();
    for round in 0_u32..5000 {
        let payload: Vec<u8> = (0..round % 97).map(|i| (i ^ round) as u8).collect();
        assert!(ring.push(&payload));
        assert_eq!(drain_all(&mut reader).unwrap(), [payload], "round {round}");
    }
    assert_eq!(reader.used_bytes(), 0);
}

#[test]
fn perf_records_survive_many_wraps() {
    let (mut ring, mut reader) = perf_ring();
    for round in 0_u32..5000 {
        let body: Vec<u8> = (0..round % 97).map(|i| (i ^ round) as u8).collect();
        let record = perf_record(9, &body);
        assert!(ring.push(&record));
        assert_eq!(drain_all(&mut reader).unwrap(), [record], "round {round}");
    }
}

#[test]
fn a_full_ring_takes_nothing_until_it_was_read() {
    let (mut ring, mut reader) = bpf_ring();
    let mut pushed = 0_u8;
    while ring.push(&[pushed; 56]) {
        pushed += 1;
    }
    assert_eq!(usize::from(pushed), 4096 / 64 - 1);
    assert_eq!(drain_all(&mut reader).unwrap().len(), usize::from(pushed));
    assert!(ring.push(&[1; 56]));

    let (mut ring, mut reader) = perf_ring();
    let record = perf_record(9, &[7; 56]);
    let pushed = std::iter::from_fn(|| ring.push(&record).then_some(())).count();
    assert_eq!(pushed, 4096 / 64 - 1);
    assert_eq!(drain_all(&mut reader).unwrap().len(), pushed);
    assert!(ring.push(&record));
}

#[test]
fn abandoned_records_are_passed_and_unfinished_ones_wait() {
    let (mut ring, mut reader) = bpf_ring();
    assert!(ring.push(b"one") && ring.push_discarded(b"gone") && ring.push(b"two"));
    assert!(ring.push_busy(b"later") && ring.push(b"after"));
    assert_eq!(drain_all(&mut reader).unwrap(), [b"one".to_vec(), b"two".to_vec()]);
    assert!(drain_all(&mut reader).unwrap().is_empty());
    assert!(reader.used_bytes() > 0);
}

#[test]
fn draining_stops_near_the_limit_and_says_so() {
    let (mut ring, mut reader) = bpf_ring();
    for _ in 0..10 {
        assert!(ring.push(&[0; 56]));
    }
    let drained = reader.drain(128, &mut |_record| ()).unwrap();
    assert_eq!(drained, Drained { records: 2, bytes: 128, more: true });
    let drained = reader.drain(usize::MAX, &mut |_record| ()).unwrap();
    assert_eq!(drained, Drained { records: 8, bytes: 512, more: false });
}

#[test]
fn impossible_sizes_and_short_memory_are_refused() {
    let ring = SimulatedBpfRing::create(4096).unwrap();
    let map = |bytes| RingReader::map(ring.as_fd().try_clone_to_owned().unwrap(), &info(RingKind::Bpf, bytes));
    for bytes in [0, 1, 4095, 4097, 6000, 1 << 31] {
        assert!(matches!(map(bytes), Err(RingError::Size(found)) if found == bytes), "{bytes}");
    }
    assert!(matches!(map(8192), Err(RingError::Map { .. })), "longer than the memory");
    let unsealed = rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&unsealed, 1 << 20).unwrap();
    assert!(matches!(RingReader::map(unsealed, &info(perf(), 4096)), Err(RingError::Map { .. })));
    let perf_size = SimulatedPerfRing::create(8192).unwrap();
    let other = RingReader::map(perf_size.as_fd().try_clone_to_owned().unwrap(), &info(perf(), 4096));
    assert!(matches!(other, Err(RingError::Damaged { .. })));
}

#[test]
fn a_damaged_ring_stays_damaged() {
    let (mut ring, mut reader) = perf_ring();
    assert!(ring.push(&perf_record(1, &[])));
    ring.memory().store(page_bytes() / 8, 0, Ordering::Relaxed);
    assert!(matches!(drain_all(&mut reader), Err(RingError::Damaged { .. })));
    assert!(matches!(drain_all(&mut reader), Err(RingError::Damaged { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever the other side writes, there is an end, an error or records, all of them within the ring.
    #[test]
    fn garbage_in_a_bpf_ring_is_survived(
        words in prop::collection::vec(any::<u64>(), 512),
        small in any::<bool>(),
        head in prop_oneof![any::<u64>(), 0_u64..8192],
    ) {
        let (ring, mut reader) = bpf_ring();
        let first = 2 * page_bytes() / 8;
        for (i, word) in words.iter().enumerate() {
            ring.memory().store(first + i, if small { word & 0xff } else { *word }, Ordering::Relaxed);
        }
        ring.memory().store(page_bytes() / 8, head, Ordering::Release);
        let mut bytes = 0;
        let _either = reader.drain(usize::MAX, &mut |record| bytes += record.len());
        prop_assert!(bytes <= 4096);
    }

    #[test]
    fn garbage_in_a_perf_ring_is_survived(
        words in prop::collection::vec(any::<u64>(), 512),
        small in any::<bool>(),
        head in prop_oneof![any::<u64>(), 0_u64..8192],
    ) {
        let (ring, mut reader) = perf_ring();
        let first = page_bytes() / 8;
        for (i, word) in words.iter().enumerate() {
            ring.memory().store(first + i, if small { word & (0xf8 << 48) } else { *word }, Ordering::Relaxed);
        }
        ring.memory().store(PERF_HEAD, head, Ordering::Release);
        let mut bytes = 0;
        let _either = reader.drain(usize::MAX, &mut |record| bytes += record.len());
        prop_assert!(bytes <= 4096);
    }

    #[test]
    fn what_goes_in_comes_out(payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..200)) {
        let (mut ring, mut reader) = bpf_ring();
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for payload in payloads {
            while !ring.push(&payload) {
                received.extend(drain_all(&mut reader).unwrap());
            }
            sent.push(payload);
        }
        received.extend(drain_all(&mut reader).unwrap());
        prop_assert_eq!(sent, received);
    }
}
