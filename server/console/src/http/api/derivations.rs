//! Streams of a capture that are computed from others: asked for, and removed.

use axum::extract::State;
use bathyscope_capture::CaptureId;
use bathyscope_derive::{RuleSpec, Span, SpanTextError};
use bathyscope_recorder::{DerivationRefusal, rules_of};
use http::StatusCode;
use serde::Deserialize;

use super::super::{
    access::Operator,
    error::ApiError,
    extract::{self, Path},
    state::{AppState, to_its_end},
};
use super::captures::{CapturePath, admit_change};

const DOING: &str = "computing streams";

/// What is to be computed.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(in crate::http) enum Wanted {
    /// A rule of the program, by its name.
    Rule(String),
    /// What lies between two rows.
    Span(Box<Span>),
    /// The same as a text, as a link holds it.
    SpanText(String),
}

/// Begins to compute streams of a capture that has ended.
pub(in crate::http) async fn compute(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    extract::Json(wanted): extract::Json<Wanted>,
) -> Result<StatusCode, ApiError> {
    admit_change(&state, &who, id).await?;
    let rule = match wanted {
        Wanted::Span(span) => RuleSpec::Span(span),
        Wanted::SpanText(text) => {
            let span: Span =
                text.parse().map_err(|error: SpanTextError| ApiError::invalid(DOING, error.to_string()))?;
            RuleSpec::Span(Box::new(span))
        }
        Wanted::Rule(name) => {
            let rules = rules_of(&state.store().capture(id).await?);
            let names: Vec<&str> = rules.iter().map(RuleSpec::name).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let why = format!("this capture has not what {name:?} is computed from; it can have: {known}");
            let found = rules.into_iter().find(|rule| rule.name() == name);
            found.ok_or_else(|| ApiError::invalid(DOING, why))?
        }
    };
    let detail = format!("compute {}", rule.name());
    state.derivations().compute(id, rule).await.map_err(refused)?;
    state.audit(&who.session, "capture.compute", &id.to_string(), &detail).await;
    Ok(StatusCode::ACCEPTED)
}

fn refused(refusal: DerivationRefusal) -> ApiError {
    match refusal {
        DerivationRefusal::Store(error) => error.into(),
        other => ApiError::invalid(DOING, bathyscope_link::words(&other)),
    }
}

/// A rule that was applied to a capture.
#[derive(Clone, Copy, Deserialize)]
pub(in crate::http) struct RulePath {
    id: CaptureId,
    number: u16,
}

/// Removes the streams of a rule, or stops it while they are computed.
pub(in crate::http) async fn remove(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(RulePath { id, number }): Path<RulePath>,
) -> Result<StatusCode, ApiError> {
    admit_change(&state, &who, id).await?;
    let known = state.store().capture(id).await?.derivations;
    if !known.iter().any(|known| known.number == number) {
        return Err(ApiError::not_found());
    }
    let removing = async move {
        state.derivations().remove(id, number).await?;
        state.audit(&who.session, "capture.remove_computed", &id.to_string(), &format!("rule {number}")).await;
        Ok::<_, ApiError>(())
    };
    to_its_end(removing).await??;
    Ok(StatusCode::NO_CONTENT)
}
