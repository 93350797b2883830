//! The instructions of a function with the samples at each.

use axum::{Json, extract::State};
use bathyscope_reader::{CaptureView, ViewQuery};
use bathyscope_views::{Annotation, CodePlace, Source as _, annotate, function_samples};
use serde::Deserialize;

use super::{
    super::{
        access::Reader,
        error::ApiError,
        extract::{Path, Query},
        state::AppState,
    },
    captures::CapturePath,
    stacks::named_view,
};

/// Which function, beside which samples.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::http) struct WhichFunction {
    /// Its name, as the list of functions has it.
    function: String,
    /// Where its code is, if there are several places.
    #[serde(default)]
    place: String,
}

/// The instructions of a function, with the samples that a query of flame graphs asks for.
pub(in crate::http) async fn instructions(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
    Query(WhichFunction { function, place }): Query<WhichFunction>,
) -> Result<Json<Annotation>, ApiError> {
    let place: Option<CodePlace> = match place.as_str() {
        "" => None,
        text => Some(text.parse().map_err(|error: bathyscope_views::ParsePlaceError| {
            ApiError::invalid("reading the query", error.to_string())
        })?),
    };
    let view = named_view(&reader, &state, id).await?;
    let count = move |view: &CaptureView, cancel: &_| function_samples(view, &query.flame(view)?, &function, cancel);
    let found = state.workers().view(view.clone(), count).await?;
    let code = match found.chosen(place) {
        Some(known) => state.store().code_at(id, known.place.mapping, known.place.start).await?,
        None => None,
    };
    let code = code.map(|code| reader.removal().map_or(code.clone(), |removal| removal.code(code)));
    let make = move |view: &CaptureView, _: &_| Ok(annotate(view.dictionaries(), &found, place, code.as_ref()));
    Ok(Json(state.workers().view(view, make).await?))
}
