//! The nearest rows before and after one that are called the same.

use bathyscope_capture::{FoundRow, TrackEntry, row_of_name};

use super::{FoundTrack, TrackReader};
use crate::ViewError;

/// Pages that are read for one search at most.
const MAX_SEARCHED_PAGES: usize = 256;

/// What was found before and after a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SameName {
    pub(super) before: Option<(u64, TrackEntry)>,
    pub(super) after: Option<(u64, TrackEntry)>,
    /// Whether a search was given up.
    pub(super) is_cut: bool,
}

/// The nearest rows before and after one that are called the same and take time.
///
/// # Errors
/// If a page cannot be read, or the view was cancelled.
pub(super) fn same_name(
    reader: &mut TrackReader<'_>,
    track: FoundTrack<'_>,
    (number, row): (u64, TrackEntry),
) -> Result<SameName, ViewError> {
    let mut found = SameName::default();
    for is_backwards in [true, false] {
        let found_row = reader.until_read_most(track.id, MAX_SEARCHED_PAGES, |pages| {
            row_of_name(pages, track.info, row.name, number, is_backwards)
        })?;
        let place = if is_backwards { &mut found.before } else { &mut found.after };
        match found_row {
            Some(FoundRow::Row(number, entry)) => *place = Some((number, entry)),
            Some(FoundRow::None) => {}
            None | Some(FoundRow::Unread) => found.is_cut = true,
        }
    }
    Ok(found)
}
