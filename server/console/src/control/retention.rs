//! The rules by which the console that runs deletes captures, for a terminal.

use std::path::Path;

use super::{ControlAnswer, ControlConnection, Request, Tracing, asking, other_answer};
use crate::{Failure, retention::RetentionRule};

impl Tracing {
    pub(super) fn retention(&self) -> ControlAnswer {
        let RetentionRule { max_days, max_bytes, labels } = &self.retention;
        let labels = labels.iter().map(ToString::to_string).collect();
        ControlAnswer::Retention { max_days: *max_days, max_bytes: *max_bytes, labels }
    }
}

/// The rules of the console that runs on `dir`; none if no console runs there.
///
/// # Errors
/// If it does not answer as agreed.
pub fn retention(dir: &Path) -> Result<Option<RetentionRule>, Failure> {
    let Some(console) = ControlConnection::open(dir)? else { return Ok(None) };
    let answer = console.answered(&asking(dir), &Request::Retention)?;
    let ControlAnswer::Retention { max_days, max_bytes, labels } = answer else { return Err(other_answer(dir)) };
    let labels = labels.iter().map(|rule| rule.parse()).collect::<Result<_, _>>();
    let labels = labels.map_err(|error| Failure::because(asking(dir), error))?;
    Ok(Some(RetentionRule { max_days, max_bytes, labels }))
}
