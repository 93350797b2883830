//! Why a verb could not do what it was asked to, for a person at a terminal.

use std::{error::Error, fmt::Write as _, process::ExitCode};

/// What a verb gives back: the exit status, or why it could not do its work.
pub type Outcome = Result<ExitCode, Failure>;

/// What was being done, why it failed, and what helps.
#[derive(Debug, thiserror::Error)]
#[error("{doing}")]
pub struct Failure {
    doing: String,
    remedy: String,
    #[source]
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    /// A failure without a cause of its own: `doing` says the whole of it, such as `port 70000 is not a port`.
    pub fn new(doing: impl Into<String>) -> Self {
        Self { doing: doing.into(), remedy: String::new(), source: None }
    }

    /// A failure of `doing` (`opening /var/lib/bathyscope`) because of `source`.
    pub fn because(doing: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { doing: doing.into(), remedy: String::new(), source: Some(source.into()) }
    }

    /// With what a person can do about it, in whole sentences.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// The whole chain and the remedy, as lines for a terminal.
    pub fn report(&self) -> String {
        let mut text = format!("bathyscope: {self}");
        let mut cause = self.source();
        while let Some(error) = cause {
            // Writing to a String cannot fail.
            let _infallible = write!(text, ": {error}");
            cause = error.source();
        }
        if !self.remedy.is_empty() {
            let _infallible = write!(text, "\n  {}", self.remedy);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_each_cause_once() {
        let failure = Failure::because("opening x", std::io::Error::other("disk gone")).remedy("Plug it in.");
        assert_eq!(failure.report(), "bathyscope: opening x: disk gone\n  Plug it in.");
    }
}
