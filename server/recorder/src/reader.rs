//! The reader: one thread for each capture that copies records out of its rings and does nothing else.
//!
//! It looks at the rings every few milliseconds; nobody wakes it, because a wake-up for each record costs many times
//! what the record costs. When the decoder is behind, the reader waits and leaves the rings alone: they fill, and the
//! kernel counts what does not fit. So there is no place here where a record can get lost.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::SyncSender,
    },
    time::{Duration, Instant},
};

use bathyscope_capture::ReadingPriority;
use bathyscope_protocol::rings::{Drained, RingReader};

use super::{clock::monotonic_ns, page_reader::PageReader, priority};

/// About how many bytes are copied out of one ring before the next gets its turn.
const BATCH_BYTES: usize = 256 << 10;
/// Batches that may wait for the decoder.
pub(crate) const QUEUED_BATCHES: usize = 16;
/// The pause after records were found.
const BUSY_PAUSE: Duration = Duration::from_millis(5);
/// The pause after none were found.
const IDLE_PAUSE: Duration = Duration::from_millis(10);
/// How long the last record may take to be completed after everything was detached.
const LAST_RECORD: Duration = Duration::from_millis(200);

/// What the decoder gets.
#[derive(Debug)]
pub(crate) enum FromReader {
    /// Records of a ring, in its order.
    Records(RecordBatch),
    /// A ring was read: to its end as it was at `read_ns`, or only in part.
    Read { ring: usize, read_ns: u64, to_its_end: bool },
    /// A ring cannot be read any more.
    Damaged { ring: usize, why: String },
}

/// Records of one ring, one after the other.
#[derive(Debug, Default)]
pub(crate) struct RecordBatch {
    pub(crate) ring: usize,
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl RecordBatch {
    fn push(&mut self, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        // A batch is far smaller than 4 GiB: a ring stops giving at about BATCH_BYTES.
        self.ends.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
    }

    /// The same with another number of the ring.
    pub(crate) fn of_ring(self, ring: usize) -> Self {
        Self { ring, ..self }
    }

    /// The records in order.
    pub(crate) fn records(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).filter_map(|(start, end)| self.bytes.get(start as usize..*end as usize))
    }
}

/// What records are read from.
#[derive(Debug)]
pub(crate) enum RecordSource {
    /// A ring in shared memory.
    Ring(RingReader),
    /// Pages of ftrace; a page is a record here.
    Pages(PageReader),
}

impl RecordSource {
    fn drain(&mut self, batch: &mut RecordBatch) -> Result<Drained, String> {
        match self {
            Self::Ring(ring) => ring.drain(BATCH_BYTES, &mut |record| batch.push(record)).map_err(|e| e.to_string()),
            Self::Pages(pages) => pages.drain(BATCH_BYTES, &mut |page| batch.push(page)).map_err(|e| e.to_string()),
        }
    }

    /// Bytes that are there and were not read. Pages are read until there are none.
    fn used_bytes(&self) -> u64 {
        match self {
            Self::Ring(ring) => ring.used_bytes(),
            Self::Pages(_) => 0,
        }
    }
}

/// Ends the reader: everything is detached, so once the rings are empty they stay empty.
#[derive(Debug)]
pub(crate) struct ReaderHandle {
    finish: Arc<AtomicBool>,
    thread: std::thread::Thread,
}

impl ReaderHandle {
    /// Lets the reader read the rings to their end and go.
    pub(crate) fn finish(&self) {
        self.finish.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

impl Drop for ReaderHandle {
    /// Whatever becomes of the capture, its reader does not stay.
    fn drop(&mut self) {
        self.finish();
    }
}

/// Starts the thread. It ends after [`ReaderHandle::finish`], or when nobody receives any more.
pub(crate) fn spawn(
    rings: Vec<RecordSource>,
    to: SyncSender<FromReader>,
    reading: ReadingPriority,
) -> std::io::Result<ReaderHandle> {
    let finish = Arc::new(AtomicBool::new(false));
    let reader = Reader { rings: rings.into_iter().map(Some).collect(), to, finish: Arc::clone(&finish) };
    let run = move || {
        priority::take(reading);
        reader.run();
    };
    let thread = std::thread::Builder::new().name("bathyscope-ring".to_owned()).spawn(run)?;
    Ok(ReaderHandle { finish, thread: thread.thread().clone() })
}

struct Gone;

struct Reader {
    rings: Vec<Option<RecordSource>>,
    to: SyncSender<FromReader>,
    finish: Arc<AtomicBool>,
}

impl Reader {
    fn run(mut self) {
        let mut waiting_since: Option<Instant> = None;
        loop {
            // Asked before the rings are read: what was written before the end is then found.
            let finishing = self.finish.load(Ordering::Acquire);
            let Ok((found, left)) = self.pass() else { return };
            if finishing && !left {
                return;
            }
            if finishing && !found && waiting_since.get_or_insert_with(Instant::now).elapsed() > LAST_RECORD {
                tracing::warn!("a record was never completed; what follows it in its ring is lost");
                return;
            }
            if !left || !found {
                std::thread::park_timeout(if found { BUSY_PAUSE } else { IDLE_PAUSE });
            }
        }
    }

    /// Reads every ring once; says whether anything was found, and whether much or anything unfinished is left.
    fn pass(&mut self) -> Result<(bool, bool), Gone> {
        let (mut any, mut left) = (false, false);
        for ring in 0..self.rings.len() {
            let (found, more) = self.read(ring)?;
            any |= found;
            left |= more;
        }
        Ok((any, left))
    }

    fn read(&mut self, ring: usize) -> Result<(bool, bool), Gone> {
        let Some(slot) = self.rings.get_mut(ring) else { return Ok((false, false)) };
        let Some(reader) = slot else { return Ok((false, false)) };
        let read_ns = monotonic_ns();
        let mut batch = RecordBatch { ring, ..RecordBatch::default() };
        let drained = reader.drain(&mut batch);
        // A record that is still being written hides those behind it.
        let used = reader.used_bytes();
        let found = !batch.ends.is_empty();
        if found {
            self.to.send(FromReader::Records(batch)).map_err(|_closed| Gone)?;
        }
        let left = match drained {
            Ok(drained) => {
                let to_its_end = !drained.more && used == 0;
                self.to.send(FromReader::Read { ring, read_ns, to_its_end }).map_err(|_closed| Gone)?;
                let finishing = self.finish.load(Ordering::Acquire);
                drained.more || (finishing && used > 0)
            }
            Err(why) => {
                *slot = None;
                self.to.send(FromReader::Damaged { ring, why }).map_err(|_closed| Gone)?;
                false
            }
        };
        Ok((found, left))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        os::fd::AsFd,
        sync::mpsc::{Receiver, sync_channel},
    };

    use bathyscope_protocol::{RingContent, RingInfo, RingKind, rings::SimulatedBpfRing};

    use super::*;

    fn ring() -> (SimulatedBpfRing, RingReader) {
        let made = SimulatedBpfRing::create(1 << 16).unwrap();
        let content = RingContent::Stream { stream: 0 };
        let info = RingInfo { kind: RingKind::Bpf, content, data_bytes: 1 << 16, cpu: None };
        let reader = RingReader::map(made.as_fd().try_clone_to_owned().unwrap(), &info).unwrap();
        (made, reader)
    }

    fn records(from: &Receiver<FromReader>) -> Vec<Vec<u8>> {
        let batches = from.iter().filter_map(|message| match message {
            FromReader::Records(batch) => Some(batch),
            FromReader::Read { .. } | FromReader::Damaged { .. } => None,
        });
        batches.flat_map(|batch| batch.records().map(<[u8]>::to_vec).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn p28_everything_before_the_end_is_read() {
        let (mut made, reader) = ring();
        let (to, from) = sync_channel(QUEUED_BATCHES);
        let handle = spawn(vec![RecordSource::Ring(reader)], to, ReadingPriority::Usual).unwrap();
        for number in 0..100_u64 {
            assert!(made.push(&number.to_le_bytes()));
        }
        handle.finish();
        let expected: Vec<Vec<u8>> = (0..100_u64).map(|number| number.to_le_bytes().to_vec()).collect();
        assert_eq!(records(&from), expected);
    }

    #[test]
    fn p28_a_slow_decoder_leaves_records_in_the_ring() {
        let (mut made, reader) = ring();
        let (to, from) = sync_channel(1);
        let handle = spawn(vec![RecordSource::Ring(reader)], to, ReadingPriority::Usual).unwrap();
        let mut placed = 0_u64;
        let mut refused = 0_u64;
        while refused < 10 {
            // Nobody receives: the queue fills, then the ring, then the writer is refused.
            if made.push(&placed.to_le_bytes()) { placed += 1 } else { refused += 1 }
        }
        handle.finish();
        assert_eq!(records(&from).len() as u64, placed);
    }

    #[test]
    fn a_record_that_is_never_completed_does_not_hold_the_end() {
        let (mut made, reader) = ring();
        let (to, from) = sync_channel(QUEUED_BATCHES);
        assert!(made.push(b"whole") && made.push_busy(b"never") && made.push(b"behind"));
        let handle = spawn(vec![RecordSource::Ring(reader)], to, ReadingPriority::Usual).unwrap();
        handle.finish();
        assert_eq!(records(&from), [b"whole".to_vec()]);
    }
}
