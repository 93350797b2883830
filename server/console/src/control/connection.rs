//! A connection to a running console that is made before whoever asks gives up its rights.

use std::path::Path;

use bathyscope_capture::CaptureId;
use bathyscope_catalog::recipes::Recipe;

use super::{ControlAnswer, Request, TIMEOUT, answer_of, asking, connect, is_absent, send};
use crate::{
    Failure,
    capture_changes::TerminalCapture,
    investigations::TerminalPage,
    library::TerminalChange,
    notes::TerminalNote,
    rights::{TerminalRights, TerminalRightsAnswer},
    series::TerminalSeries,
};

/// A connection to a console, made while this process has the rights to ask: the console answers who connected.
#[derive(Debug)]
pub struct ControlConnection {
    stream: std::os::unix::net::UnixStream,
}

impl ControlConnection {
    /// To the console that runs on `dir`; none if none runs there.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub fn open(dir: &Path) -> Result<Option<Self>, Failure> {
        match connect(dir) {
            Ok(stream) => Ok(Some(Self { stream })),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(Failure::because(asking(dir), error)),
        }
    }

    /// Has it save a recipe, in place of one of the same name if `replace` says so.
    ///
    /// # Errors
    /// Why it was not saved.
    pub fn save_recipe(self, recipe: Recipe, replace: bool) -> Result<(), Failure> {
        let doing = format!("saving the recipe `{}`", recipe.name);
        self.have_done(&doing, &Request::SaveRecipe { recipe: Box::new(recipe), replace })
    }

    /// Has it delete a recipe that somebody has saved.
    ///
    /// # Errors
    /// Why it was not deleted.
    pub fn delete_recipe(self, name: &str) -> Result<(), Failure> {
        self.have_done("deleting the recipe", &Request::DeleteRecipe { name: name.to_owned() })
    }

    /// Has it change the library; gives what is to be told, in lines.
    ///
    /// # Errors
    /// Why it was not changed.
    pub fn change_library(self, change: TerminalChange) -> Result<Vec<String>, Failure> {
        self.told("changing the library", &Request::ChangeLibrary { change: Box::new(change) })
    }

    /// Has it write, change, resolve or remove a note; gives what is to be told, in lines.
    ///
    /// # Errors
    /// Why it was not done.
    pub fn change_notes(self, change: TerminalNote) -> Result<Vec<String>, Failure> {
        self.told("changing notes", &Request::ChangeNotes { change: Box::new(change) })
    }

    /// Has it begin, write or delete an investigation; gives what is to be told, in lines.
    ///
    /// # Errors
    /// Why it was not done.
    pub fn change_investigations(self, change: TerminalPage) -> Result<Vec<String>, Failure> {
        self.told("changing investigations", &Request::ChangeInvestigations { change: Box::new(change) })
    }

    /// Has it mark a moment, or name a baseline; gives what is to be told, in lines.
    ///
    /// # Errors
    /// Why it was not done.
    pub fn change_series(self, change: TerminalSeries) -> Result<Vec<String>, Failure> {
        self.told("changing series", &Request::ChangeSeries { change: Box::new(change) })
    }

    /// Has it tell or change who may read captures.
    ///
    /// # Errors
    /// Why it was not done.
    pub fn change_rights(self, change: TerminalRights) -> Result<TerminalRightsAnswer, Failure> {
        const DOING: &str = "changing rights";
        match self.answered(DOING, &Request::Rights { change: Box::new(change) })? {
            ControlAnswer::Rights { answer } => Ok(answer),
            _other => Err(another_answer(DOING)),
        }
    }

    /// Has it change a stored capture; gives what is to be told, without the capture.
    ///
    /// # Errors
    /// Why it was not done.
    pub fn change_capture(self, id: CaptureId, change: TerminalCapture) -> Result<String, Failure> {
        let lines = self.told("changing a capture", &Request::ChangeCapture { id, change: Box::new(change) })?;
        Ok(lines.concat())
    }

    /// Has it do something of which it tells in lines.
    fn told(self, doing: &str, request: &Request) -> Result<Vec<String>, Failure> {
        match self.answered(doing, request)? {
            ControlAnswer::Told { lines } => Ok(lines),
            _other => Err(another_answer(doing)),
        }
    }

    fn have_done(self, doing: &str, request: &Request) -> Result<(), Failure> {
        match self.answered(doing, request)? {
            ControlAnswer::Done => Ok(()),
            _other => Err(another_answer(doing)),
        }
    }

    /// What it answers, if it did what was asked.
    ///
    /// # Errors
    /// Why it was not done.
    pub(super) fn answered(mut self, doing: &str, request: &Request) -> Result<ControlAnswer, Failure> {
        let answered = send(&mut self.stream, request).and_then(|()| answer_of(self.stream, TIMEOUT));
        let line = answered.map_err(|error| Failure::because(doing, error))?;
        match serde_json::from_str(&line) {
            Ok(ControlAnswer::Failed { why }) => Err(Failure::new(format!("{doing}: {why}"))),
            Ok(answer) => Ok(answer),
            Err(error) => Err(Failure::because(doing, error)),
        }
    }
}

/// What is said of an answer to something else.
pub(super) fn another_answer(doing: &str) -> Failure {
    Failure::new(format!("{doing}: the console answered something else"))
}
