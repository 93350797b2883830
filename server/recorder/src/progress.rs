//! What the threads of a capture tell its controller: how much there is, and that it should end.

use std::sync::{
    Mutex, OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use bathyscope_protocol::{AgentError, RingsCut};
use tokio::sync::Notify;

use super::process_metadata::lock;

/// Why a capture ends, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It was meant to.
    Done(String),
    /// Something failed.
    Failed(String),
}

/// Counters and the wish to end; shared by all threads of a capture.
#[derive(Debug)]
pub(crate) struct Progress {
    rows: Vec<AtomicU64>,
    all_rows: AtomicU64,
    max_rows: u64,
    bytes: AtomicU64,
    max_bytes: u64,
    late: AtomicU64,
    output_left_out: AtomicU64,
    left_out: AtomicU64,
    /// Frames in files that could not be opened.
    without_file: AtomicU64,
    untold_memory: AtomicBool,
    rings_cut: OnceLock<RingsCut>,
    /// When the probes began to be detached, monotonic nanoseconds.
    ending_ns: OnceLock<u64>,
    /// Sources that could not be started, by id, and why.
    failed: Mutex<Vec<(String, String)>>,
    /// Sources that are not recorded any more, in words.
    detached: Mutex<Vec<String>>,
    cause: Mutex<Option<Cause>>,
    changed: Notify,
}

impl Progress {
    pub(crate) fn new(streams: usize, max_rows: Option<u64>, max_bytes: Option<u64>) -> Self {
        Self {
            rows: (0..streams).map(|_| AtomicU64::new(0)).collect(),
            all_rows: AtomicU64::new(0),
            max_rows: max_rows.unwrap_or(u64::MAX),
            bytes: AtomicU64::new(0),
            max_bytes: max_bytes.unwrap_or(u64::MAX),
            late: AtomicU64::new(0),
            output_left_out: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            without_file: AtomicU64::new(0),
            untold_memory: AtomicBool::new(false),
            rings_cut: OnceLock::new(),
            ending_ns: OnceLock::new(),
            failed: Mutex::new(Vec::new()),
            detached: Mutex::new(Vec::new()),
            cause: Mutex::new(None),
            changed: Notify::new(),
        }
    }

    /// The probes are detached from now on.
    pub(crate) fn ends(&self, now_ns: u64) {
        // The first moment counts.
        let _known = self.ending_ns.set(now_ns);
    }

    /// Until when the capture lasts that was read until `read_ns`: what is read after its end is from before it.
    pub(crate) fn covered_ns(&self, read_ns: u64) -> u64 {
        self.ending_ns.get().map_or(read_ns, |ending_ns| read_ns.min(*ending_ns))
    }

    /// Rows of a stream were read.
    pub(crate) fn rows(&self, stream: u16, rows: u64) {
        if let Some(counter) = self.rows.get(usize::from(stream)).filter(|_| rows > 0) {
            counter.fetch_add(rows, Ordering::Relaxed);
            if self.all_rows.fetch_add(rows, Ordering::Relaxed) + rows >= self.max_rows {
                // Those that are in the rings already are recorded too.
                self.stop(format!("at least {} events were recorded, the most that were asked for", self.max_rows));
            }
        }
    }

    /// Rows read of each stream.
    pub(crate) fn rows_by_stream(&self) -> Vec<u64> {
        self.rows.iter().map(|rows| rows.load(Ordering::Relaxed)).collect()
    }

    /// Bytes were stored.
    pub(crate) fn stored(&self, bytes: u64) {
        if self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes >= self.max_bytes {
            self.stop(format!("at least {} were stored, the most that were asked for", size(self.max_bytes)));
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Rows that came after later ones had been stored.
    pub(crate) fn late(&self, rows: u64) {
        self.late.fetch_add(rows, Ordering::Relaxed);
    }

    /// Records were read and left out by the capture's filter.
    pub(crate) fn leave_out(&self, records: u64) {
        self.left_out.fetch_add(records, Ordering::Relaxed);
    }

    /// How many records were read and left out by the capture's filter.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    /// No sample told where its data came from.
    pub(crate) fn no_memory_told(&self) {
        self.untold_memory.store(true, Ordering::Relaxed);
    }

    /// Whether samples were to tell where their data came from, and none did.
    pub(crate) fn is_memory_untold(&self) -> bool {
        self.untold_memory.load(Ordering::Relaxed)
    }

    /// So many frames are in files that could not be opened.
    pub(crate) fn without_file(&self, frames: u64) {
        self.without_file.store(frames, Ordering::Relaxed);
    }

    /// In words, if frames are in files that could not be opened.
    pub(crate) fn without_file_words(&self) -> Option<String> {
        let frames = self.without_file.load(Ordering::Relaxed);
        let (frame, has) = if frames == 1 { ("frame", "has") } else { ("frames", "have") };
        let why = "the process had ended before its files could be opened";
        (frames > 0).then(|| format!("{frames} {frame} {has} no name: {why}"))
    }

    /// The rings have less memory than was asked for.
    pub(crate) fn cut_rings(&self, cut: RingsCut) {
        let _once = self.rings_cut.set(cut);
    }

    /// In words, if the rings have less memory than was asked for.
    pub(crate) fn rings_cut_words(&self) -> Option<String> {
        let RingsCut { wanted_bytes, given_bytes } = self.rings_cut.get()?;
        let (given, wanted) = (size(*given_bytes), size(*wanted_bytes));
        Some(format!("its rings had {given} instead of {wanted}, as all captures share a limit of memory"))
    }

    /// Sources are not recorded: they could not be made or enabled, and the capture goes on without them.
    pub(crate) fn without_sources(&self, failed: &[(String, AgentError)]) {
        let why = failed.iter().map(|(id, error)| (id.clone(), format!("{}: {}", error.doing, error.why)));
        lock(&self.failed).extend(why);
    }

    /// Why a source could not be started, if it could not.
    pub(crate) fn why_failed(&self, id: &str) -> Option<String> {
        lock(&self.failed).iter().find(|(failed, _)| failed == id).map(|(_, why)| why.clone())
    }

    /// A source is not recorded any more.
    pub(crate) fn source_ended(&self, words: String) {
        lock(&self.detached).push(words);
    }

    /// In words, which sources are not recorded, or not to the end.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        words.extend(lock(&self.failed).iter().map(|(id, why)| format!("{id} is not recorded: {why}")));
        words.extend(lock(&self.detached).iter().cloned());
        words
    }

    pub(crate) fn late_rows(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// Bytes of the command's output that were not kept.
    pub(crate) fn leave_out_output(&self, bytes: u64) {
        self.output_left_out.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn output_left_out(&self) -> u64 {
        self.output_left_out.load(Ordering::Relaxed)
    }

    /// The capture is to end as meant; the first cause counts.
    pub(crate) fn stop(&self, reason: String) {
        self.end(Cause::Done(reason));
    }

    /// The capture is to end because something failed; that counts more than any limit.
    pub(crate) fn fail(&self, reason: String) {
        let mut cause = lock(&self.cause);
        if !matches!(*cause, Some(Cause::Failed(_))) {
            *cause = Some(Cause::Failed(reason));
        }
        drop(cause);
        self.changed.notify_one();
    }

    fn end(&self, new: Cause) {
        lock(&self.cause).get_or_insert(new);
        self.changed.notify_one();
    }

    /// Why it is to end, if it is.
    pub(crate) fn cause(&self) -> Option<Cause> {
        lock(&self.cause).clone()
    }

    /// Waits until it is to end. Only one may wait. Cancel safe.
    pub(crate) async fn ended(&self) -> Cause {
        loop {
            if let Some(cause) = self.cause() {
                return cause;
            }
            self.changed.notified().await;
        }
    }
}

/// Bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let unit = units.get(unit).copied().unwrap_or_default();
    if !(0.05..0.95).contains(&value.fract()) || value >= 100.0 {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_end_a_capture_and_failures_weigh_more() {
        let progress = Progress::new(2, Some(10), Some(1 << 20));
        progress.rows(0, 4);
        progress.rows(1, 5);
        assert_eq!(progress.cause(), None);
        progress.rows(1, 5);
        assert_eq!(
            progress.cause(),
            Some(Cause::Done("at least 10 events were recorded, the most that were asked for".to_owned()))
        );
        progress.stored(2 << 20);
        assert_eq!(
            progress.cause(),
            Some(Cause::Done("at least 10 events were recorded, the most that were asked for".to_owned()))
        );
        progress.fail("the disk is full".to_owned());
        progress.fail("later".to_owned());
        assert_eq!(progress.cause(), Some(Cause::Failed("the disk is full".to_owned())));
        assert_eq!(progress.rows_by_stream(), [4, 10]);
    }

    #[test]
    fn sizes_are_readable() {
        let cases = [(0, "0 bytes"), (1 << 20, "1 MiB"), (1536 << 20, "1.5 GiB"), (2_000, "2 KiB"), (2_500, "2.4 KiB")];
        for (bytes, expected) in cases {
            assert_eq!(size(bytes), expected);
        }
    }
}
