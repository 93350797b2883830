//! Takes what the decoder made to the store, one transaction after the other.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bathyscope_capture::{Append, CaptureId, Ledger};
use bathyscope_store::{Store, StoreError};
use tokio::{sync::mpsc, time::Instant};

use super::{ledger::LossAccounting, link::words, process_metadata::lock, progress::Progress};

/// Appends that may wait; when it is full the decoder waits, then the reader, then the kernel counts.
pub(crate) const QUEUED_APPENDS: usize = 3;
/// The pause before the database is tried again when another process holds it.
const LOCKED_PAUSE: Duration = Duration::from_millis(100);
/// How long a locked database is tried when the capture is to end.
const LOCKED_AT_THE_END: Duration = Duration::from_secs(5);

/// Something to be stored, and how many rows of which streams are in it.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) append: Append,
    pub(crate) rows: Vec<(u16, u64)>,
}

fn nothing_new(append: &Append) -> bool {
    let dictionaries = append.strings.is_empty() && append.mappings.is_empty() && append.frames.is_empty();
    let rows = append.chunks.is_empty() && append.stacks.is_empty() && append.symbols.is_empty();
    dictionaries && rows && append.processes.is_empty() && append.output.is_empty()
}

/// The way to the store.
pub(crate) struct Appender {
    pub(crate) store: Store,
    pub(crate) id: CaptureId,
    pub(crate) accounting: Arc<Mutex<LossAccounting>>,
    pub(crate) progress: Arc<Progress>,
}

impl Appender {
    /// Stores until nobody sends any more. Once the store has refused something, later rows are only counted: they
    /// would refer to texts and stacks that are not there.
    pub(crate) async fn run(self, mut from: mpsc::Receiver<Outgoing>) {
        let mut last = Ledger::default();
        let mut broken = false;
        while let Some(Outgoing { mut append, rows }) = from.recv().await {
            let ledger = lock(&self.accounting).ledger(&rows);
            if broken {
                self.refused(&append, &rows);
                continue;
            }
            if nothing_new(&append) && ledger == last {
                continue;
            }
            append.ledger = Some(ledger.clone());
            last = ledger;
            let append = Arc::new(append);
            match self.store(&append).await {
                Ok(()) => {
                    let bytes: usize = append.chunks.iter().map(|(_, chunk)| chunk.bytes.len()).sum();
                    let text: usize = append.strings.iter().map(|(_, text)| text.len()).sum();
                    let mut accounting = lock(&self.accounting);
                    rows.iter().for_each(|(stream, rows)| accounting.stored(*stream, *rows));
                    drop(accounting);
                    self.progress.stored((bytes + text) as u64);
                }
                Err(error) => {
                    broken = true;
                    self.refused(&append, &rows);
                    tracing::error!(capture = %self.id, error = words(&error), "nothing more can be stored");
                    self.progress.fail(words(&error));
                }
            }
        }
    }

    async fn store(&self, append: &Arc<Append>) -> Result<(), StoreError> {
        let mut give_up = None;
        loop {
            match self.store.append(self.id, Arc::clone(append)).await {
                Err(StoreError::Locked) => {
                    let ending = self.progress.cause().is_some();
                    let until = *give_up.get_or_insert_with(|| Instant::now() + LOCKED_AT_THE_END);
                    if ending && Instant::now() > until {
                        return Err(StoreError::Locked);
                    }
                    if !ending {
                        give_up = None;
                    }
                    tokio::time::sleep(LOCKED_PAUSE).await;
                }
                result => return result,
            }
        }
    }

    fn refused(&self, append: &Append, rows: &[(u16, u64)]) {
        let mut accounting = lock(&self.accounting);
        for (stream, rows) in rows {
            let own = append.chunks.iter().filter(|(of, _)| of == stream).map(|(_, chunk)| chunk);
            let start_ns = own.clone().map(|chunk| chunk.first_ns).min().unwrap_or(0);
            let end_ns = own.map(|chunk| chunk.last_ns).max().unwrap_or(0);
            accounting.refused(*stream, *rows, start_ns, end_ns);
        }
    }
}
