//! Views that stand on a shared investigation, opened where its link's maker chose so.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use bathyscope_capture::CaptureId;
use bathyscope_reader::ViewQuery;
use bathyscope_store::{InvestigationId, Store, StoreError};

use super::{FoundShare, Share, ShareScope, SharedObject, SharedPart};
use crate::investigations::{BlockContent, plain_view};

impl Share {
    /// The same link as a share of the capture whose view a block of its investigation shows now: of the range and filter of that view.
    /// None if its maker did not choose that views are opened, or there is no such block with a view.
    ///
    /// # Errors
    /// The store's.
    pub async fn of_block(&self, store: &Store, block: &str) -> Result<Option<Self>, StoreError> {
        let (Some(id), Ok(block)) = (self.object().investigation(), block.parse::<InvestigationId>()) else {
            return Ok(None);
        };
        let found = if self.choices().opens_views() { store.investigation(id).await? } else { None };
        let Some((_, blocks)) = found.filter(|(record, _)| record.deleted_unix_ns.is_none()) else {
            return Ok(None);
        };
        let content = blocks.iter().find(|one| one.id == block).map(|one| one.content.as_str());
        let Some((capture, view)) = content.and_then(view_of_block) else { return Ok(None) };
        let Some(part) = part_of_view(&view) else { return Ok(None) };
        let mut name = DefaultHasher::new();
        (self.id().bits(), capture.bits(), part.start, part.end, &part.filter).hash(&mut name);
        let view = if self.choices().removal().is_some() { plain_view(&view).0 } else { view };
        let scope = ShareScope { view, part: Some(part), choices: self.inner.scope.choices.clone() };
        let inner = FoundShare {
            record: self.inner.record.clone(),
            object: SharedObject::Capture(capture),
            scope,
            choices: self.choices().for_view(),
            ended: self.inner.ended.clone(),
            part_name: name.finish(),
        };
        Ok(Some(Self { inner: Arc::new(inner) }))
    }
}

/// The view of a capture that a block is; a comparison is of more than one.
fn view_of_block(content: &str) -> Option<(CaptureId, String)> {
    match serde_json::from_str(content).ok()? {
        BlockContent::View { capture, view, .. } => Some((capture, view)),
        _ => None,
    }
}

/// The range and filter that the query of a page's address says; none if it is none.
fn part_of_view(view: &str) -> Option<SharedPart> {
    let uri: http::Uri = format!("/?{view}").parse().ok()?;
    let axum::extract::Query(query) = axum::extract::Query::<ViewQuery>::try_from_uri(&uri).ok()?;
    let ViewQuery { start, end, filter, .. } = query;
    Some(SharedPart { start, end, filter })
}
