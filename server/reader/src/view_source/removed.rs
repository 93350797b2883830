//! A snapshot without what a share does not tell.

use std::sync::Arc;

use bathyscope_capture::ScriptSpec;
use bathyscope_views::{Cancel, Dictionaries, LoadPages, Narrowed, Scope, Source as _, TimeRange, ViewError};

use super::CaptureView;
use crate::{
    call_forests::CallForests,
    removal::{Removal, RemovedPages, RemovedView, TextSpan},
};

impl CaptureView {
    /// The same without what is removed, as a snapshot for all views: none of them can tell what was there. What it is narrowed to is
    /// found by what was recorded, so that comes first.
    ///
    /// Tracks are made of the rows that are left where `name` is given, which reads them, so it must run where it may wait; they are
    /// kept by the name, which names this scope and this removal and no other. Without it there are none.
    ///
    /// # Errors
    /// [`ViewError::NarrowedWhileRunning`] if the capture still changes, and those of [`Narrowed::of`].
    pub fn without(&self, removal: &Arc<Removal>, name: Option<u64>, cancel: &Cancel) -> Result<Self, ViewError> {
        if !self.settled || self.removed.is_some() {
            return Err(ViewError::NarrowedWhileRunning);
        }
        let span = TextSpan::of(self.loader.last.string);
        let left = RemovedView::new(removal, (&self.record, &self.schemas), span, |stream| self.chunks(stream));
        let (whole, pages) = (Arc::clone(&self.loader) as Arc<dyn LoadPages>, Arc::clone(&self.loader.pages));
        let pages = RemovedPages { whole, pages, removal: Arc::clone(removal), span };
        let dictionaries = Arc::new(Dictionaries::paged(Arc::new(pages), span.last_ids(self.loader.last)));
        let schemas = self.schemas.iter().map(|schema| removal.schema(schema)).collect();
        let record = Arc::new(removal.head(&self.record));
        // What is kept of the capture, and what tells of its rows without reading them, has what was removed.
        let (index, tracks, forests) = (Arc::default(), Arc::default(), CallForests::default());
        let removed = Some(Arc::new(left.clone()));
        let view = Self { record, schemas, index, tracks, forests, dictionaries, removed, ..self.clone() };
        let Some(name) = name else { return Ok(view) };
        // Those of all rows only tell of which streams tracks are made.
        let with_tracks = Self { tracks: Arc::new(self.tracks().to_vec()), ..view.clone() };
        let all = Scope { range: TimeRange::ALL, filter: None };
        let made = self.removals.of(name, &self.chunks, || Narrowed::of(&with_tracks, &all, cancel))?;
        let removed = Some(Arc::new(left.with_tracks(made)));
        Ok(Self { removed, ..view })
    }

    /// The script that made the capture, if one did, for what is shown of its maps; not to be told to whoever reads a snapshot
    /// [`CaptureView::without`] something.
    pub(crate) fn script(&self) -> Option<&ScriptSpec> {
        self.script.as_deref()
    }

    /// What has the tracks of what is left, where that is not all.
    pub(super) fn part_with_tracks(&self) -> Option<&Narrowed> {
        match &self.removed {
            Some(removed) => removed.tracks(),
            None => self.narrowed.as_deref(),
        }
    }
}
