//! What a view is compared with: the parameters of `compare`.

use bathyscope_capture::{CaptureId, StreamKind};
use bathyscope_views::{
    Cancel, CompareQuery, ComparedSide, FlameDifference, FlameQuery, MAX_COMPARED_CAPTURES, Normalised, ViewError,
    compare,
};
use serde::Deserialize;

use crate::{CaptureView, ViewQuery};

/// The other side, beside the parameters of a view. Times are nanoseconds relative to the start of the other capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CompareParams {
    /// Other captures, with commas between them; the same one if empty. Of several the median counts.
    pub with: String,
    /// From when, of the other.
    pub with_start: Option<i64>,
    /// Until before when, of the other.
    pub with_end: Option<i64>,
    /// Which samples of the other, if they are others than here: a predicate.
    pub with_filter: Option<String>,
    /// `total`, `time` or `none`; if it is empty flame graphs are compared by total, and tables by time.
    pub normalised: String,
    /// Of flame graphs: 1 to draw the other and compare this one with it. Tables have both sides.
    pub turned: Option<u8>,
}

impl CompareParams {
    /// The other captures.
    ///
    /// # Errors
    /// If one is no id of a capture, or there are too many.
    pub fn captures(&self) -> Result<Vec<CaptureId>, ViewError> {
        let words = self.with.split(',').filter(|word| !word.is_empty());
        let read =
            |word: &str| word.parse().map_err(|_not_an_id| ViewError::ComparedCapture(word.chars().take(80).collect()));
        let all = words.map(read).collect::<Result<Vec<CaptureId>, _>>()?;
        let most = MAX_COMPARED_CAPTURES as u64;
        ViewError::within("the number of captures to compare with", all.len() as u64, 0, most)?;
        Ok(all)
    }

    /// By what values are compared: shares if nothing is said.
    pub(crate) fn normalisation(&self) -> Result<Normalised, ViewError> {
        match self.normalised.as_str() {
            "" => Ok(Normalised::Total),
            word => Normalised::named(word).ok_or_else(|| ViewError::Normalised(word.chars().take(80).collect())),
        }
    }

    /// Compares a view with others: with itself in another range or with another filter if there are none.
    ///
    /// # Errors
    /// If a query cannot be read, samples cannot be compared, or a view cannot be made.
    pub fn answer(
        &self,
        query: &ViewQuery,
        here: &CaptureView,
        others: &[CaptureView],
        cancel: &Cancel,
    ) -> Result<FlameDifference, ViewError> {
        let normalised = self.normalisation()?;
        let flame = query.flame(here)?;
        let of_others = self.of_other(query);
        let others = if others.is_empty() { std::slice::from_ref(here) } else { others };
        if normalised != Normalised::Total {
            others.iter().try_for_each(|other| same_rate(here, other))?;
        }
        let read = |view: &CaptureView, flame: &FlameQuery| view.checked(ComparedSide::read(view, flame, cancel));
        let this = read(here, &flame)?;
        let mut sides = Vec::with_capacity(others.len());
        for other in others {
            sides.push(of_others.flame(other).and_then(|flame| read(other, &flame)).map_err(of_other)?);
        }
        let query = CompareQuery { flame, normalised };
        match (self.turned, &sides[..]) {
            (Some(1), [other]) => compare(other, &[this], &query),
            (Some(1), _) => Err(ViewError::TurnedMedian),
            _ => compare(&this, &sides, &query),
        }
    }
}

/// A weight that is not known there is one that is known here.
fn of_other(error: ViewError) -> ViewError {
    match error {
        ViewError::NoSuchWeight { weight, .. } => ViewError::ComparedWeight { weight },
        other => other,
    }
}

/// Whether samples of two captures were taken equally often; shares can be compared without.
fn same_rate(here: &CaptureView, other: &CaptureView) -> Result<(), ViewError> {
    let (here, other) = (rate_words(here), rate_words(other));
    if here == other { Ok(()) } else { Err(ViewError::ComparedRates { here, other }) }
}

/// What took the samples of a capture: an event and how often, in the words of its source.
fn rate_words(view: &CaptureView) -> String {
    let record = view.record();
    let sampled = |id: &str| {
        let mut streams = record.streams.iter().map(|stream| &stream.schema);
        // The streams of an only source do not name it.
        let is_of = |source: &str| source == id || (source.is_empty() && record.spec.sources.len() == 1);
        streams.any(|schema| schema.kind == StreamKind::Samples && is_of(&schema.source))
    };
    let sources = record.spec.sources.iter().filter(|source| sampled(&source.id));
    let rates: Vec<String> = sources.map(|source| source.method.title()).collect();
    if rates.is_empty() { "no source of samples".to_owned() } else { rates.join(", ") }
}
