//! What a script that makes a capture says of itself while it runs.

use std::sync::{Arc, Mutex};

use bathyscope_plan::Plan;

use super::live::MapTick;

/// The most troubles that are told.
const MAX_TROUBLES: usize = 20;

/// A script that makes a capture.
#[derive(Debug)]
pub(crate) struct RunningScript {
    pub(crate) plan: Arc<Plan>,
    pub(crate) state: Arc<Mutex<ScriptState>>,
}

/// What a script's threads tell its controller.
#[derive(Debug, Default)]
pub(crate) struct ScriptState {
    /// What `exit()` said.
    pub(crate) exit_code: Option<i64>,
    /// Records that came after `exit()`.
    pub(crate) after_exit: u64,
    /// What could not be done, the first few.
    pub(crate) troubles: Vec<String>,
    /// What reading maps costs.
    pub(crate) maps: Vec<MapTick>,
    /// Maps are read far more rarely, to spare the agent.
    pub(crate) spared: bool,
}

impl ScriptState {
    pub(crate) fn trouble(&mut self, words: String) {
        if self.troubles.len() < MAX_TROUBLES && !self.troubles.contains(&words) {
            self.troubles.push(words);
        }
    }
}
