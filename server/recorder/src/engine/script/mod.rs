//! Scripts: what a program of the probe language prints and keeps in its maps, one stream for each `printf` and each map.

mod counters;
mod map_pace;
mod places;
mod rows;
mod streams;

use std::sync::{Arc, Mutex};

use bathyscope_capture::{ScriptRecord, ScriptSpec, Target};
use bathyscope_plan::Plan;
use bathyscope_protocol::{ProbeFailure, ScriptStarted};
use futures_util::future::{BoxFuture, ready};

use super::{EngineSetup, MadeSource, Prepared, Request, Source};
use crate::{
    AgentLink,
    running_script::{RunningScript, ScriptState},
    script::{Follower, HostNames, ScriptOptions, ScriptRequest},
};
use counters::ScriptCounters;
use rows::{ScriptRows, ScriptSetup};
use streams::{ScriptStreams, shows_kernel_addresses};
pub use streams::{map_kind, probes_of, shows_user_addresses};

/// A script of a spec.
pub(super) struct ScriptSource<'a> {
    pub(super) spec: &'a ScriptSpec,
}

impl Source for ScriptSource<'_> {
    fn request(&self, target: &Target, ring_bytes: u32) -> Request {
        let ScriptSpec { text, file, params, allow_unsafe } = self.spec;
        Request::Script(Box::new(ScriptRequest {
            text: text.clone(),
            name: if file.is_empty() { "script".to_owned() } else { file.clone() },
            params: params.clone(),
            // The rows of a capture always have the thread's name.
            options: ScriptOptions { unsafe_allowed: *allow_unsafe, comm: true, bare: false },
            settings: Vec::new(),
            target: target.clone(),
            folder: None,
            ring_bytes,
        }))
    }

    fn prepare<'a>(&'a self, _link: &'a AgentLink, made: MadeSource<'a>) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(ready(self.prepared(made)))
    }
}

impl ScriptSource<'_> {
    fn prepared(&self, made: MadeSource<'_>) -> Result<Prepared, String> {
        let ScriptStarted { plan, failed, .. } = made.script.ok_or("the agent did not tell what its records mean")?;
        let json = serde_json::to_string(&plan).map_err(|error| error.to_string())?;
        let streams = ScriptStreams::new(&plan, &self.spec.text)?;
        let mut state = ScriptState::default();
        note_failures(&plan, &failed, &mut state);
        let (probes, plan, state) = (probes_of(&plan), Arc::new(plan), Arc::new(Mutex::new(state)));
        let running = RunningScript { plan: Arc::clone(&plan), state: Arc::clone(&state) };
        let counters = Box::new(ScriptCounters::new(probes.clone()));
        let record = ScriptRecord { plan: json, probes, exit_code: None };
        let (shows_kernel, shows_user) = (shows_kernel_addresses(&plan), shows_user_addresses(&plan));
        let schemas = streams.schemas.clone();
        let engine = move |setup: EngineSetup| {
            let rows = ScriptSetup {
                follower: Follower::new(setup.handle, Arc::clone(&plan)),
                plan,
                streams,
                link: setup.link,
                names: HostNames::new(setup.kernel),
                state,
                progress: setup.progress,
                hub: setup.hub,
                tap: setup.tap,
            };
            Box::new(ScriptRows::new(rows)) as Box<dyn super::Engine>
        };
        Ok(Prepared {
            names_kernel_addresses: shows_kernel,
            follows_maps: shows_user,
            counters,
            script: Some((running, record)),
            ..Prepared::of(schemas, Box::new(engine))
        })
    }
}

/// Notes attach points without which a script runs.
pub(crate) fn note_failures(plan: &Plan, failed: &[ProbeFailure], state: &mut ScriptState) {
    for ProbeFailure { probe, error } in failed {
        let name = plan.probes.get(*probe as usize).map_or("a probe", |probe| probe.name.as_str());
        state.trouble(format!("{name} is not attached: {}", error.why));
    }
}
