//! Tracks of what was recorded itself, such as system calls and calls of functions, when a capture has ended.
//!
//! They are made from the stored rows, in the background: recording is not held up by them. Until the directory of a stream is
//! stored, nobody knows of its tracks, so one that was interrupted is made again.

use std::sync::atomic::Ordering;

use bathyscope_capture::{TrackIndexBuilder, TrackRule};
use bathyscope_derive::RuleInput;
use bathyscope_store::{BlockingStore, CaptureRecord, TrackChanges};

use super::{DerivationFailure, Watch, inputs::Inputs, recorded_streams};

/// Pages that are stored at once.
const MAX_PAGES: usize = 512;

/// Makes the tracks of all recorded streams whose rows take time and that have none; says whether there are new ones.
pub(super) fn index(store: &BlockingStore, record: &CaptureRecord, watch: &Watch) -> Result<bool, DerivationFailure> {
    let streams = recorded_streams(record);
    let known = store.read(|store| store.track_directories(record.id))?;
    let mut is_new = false;
    for (stream, schema) in (0_u16..).zip(&streams) {
        let Some(rule) = TrackRule::of(schema).filter(|_| known.iter().all(|(number, _)| *number != stream)) else {
            continue;
        };
        let wanted = RuleInput { stream, columns: rule.columns() };
        let mut inputs = Inputs::new(store, record.id, &[wanted])?;
        watch.done.store(0, Ordering::Relaxed);
        watch.of.store(inputs.chunks(), Ordering::Relaxed);
        let mut builder = TrackIndexBuilder::new(rule);
        let mut pages = Vec::new();
        while let Some((_, rows)) = inputs.next(store, &streams)? {
            if watch.is_cancelled() {
                return Err(DerivationFailure::Cancelled);
            }
            builder.add(&rows);
            pages.extend(builder.take_full_pages());
            if pages.len() >= MAX_PAGES {
                put(store, record, TrackChanges { stream, pages: std::mem::take(&mut pages), directory: None })?;
            }
            watch.done.fetch_add(1, Ordering::Relaxed);
        }
        pages.extend(builder.take_pages());
        if !pages.is_empty() {
            put(store, record, TrackChanges { stream, pages, directory: Some(builder.directory().encode()) })?;
            is_new = true;
        }
    }
    Ok(is_new)
}

fn put(store: &BlockingStore, record: &CaptureRecord, changes: TrackChanges) -> Result<(), DerivationFailure> {
    store.read(|store| store.put_tracks(record.id, changes))?;
    Ok(())
}
