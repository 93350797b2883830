//! Requests about scripts.
//!
//! Numbers and keys of the console are checked here against the plan that it was given: one that does not fit is no
//! mistake of a person and ends the connection.

use bathyscope_plan::{AttachPoint, Plan};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, Bytes, CaptureHandle, MAX_KEYS, MAX_PATH_BYTES, MAX_STACK_IDS, MapPage, Reply, Request,
    WireScript, large,
};

use super::{Answer, Session, Stage, Violation, plain};
use crate::{
    engine::{Elements, ScriptMaps},
    error::{failed, refused},
    source::check_script_sizes,
};

impl Session<'_> {
    pub(super) fn answer_about_scripts(&mut self, request: Request) -> Result<Answer, Violation> {
        Ok(match request {
            Request::HostFeatures => Answer::Plain(Reply::Features(self.backend.features())),
            Request::CheckScript { script, show } => {
                let checked = check_script_sizes(&script).and_then(|()| self.backend.check_script(&script, show));
                plain(checked.map(Reply::ScriptChecked))
            }
            Request::ScriptFacts { text, offset } => {
                let script = WireScript { text, ..WireScript::default() };
                let facts = check_script_sizes(&script).and_then(|()| self.backend.script_facts(&script, offset));
                plain(facts.map(Reply::ScriptFacts))
            }
            Request::OpenUserFile { path, in_process } => self.open_user_file(&path, in_process),
            Request::ReadMap { capture, map, take, after } => {
                let (script, map) = self.map(capture, map)?;
                elements_answer(script.read_map(map, take, after.as_ref().map(|after| after.0.as_slice())))
            }
            Request::ReadElements { capture, map, keys } => {
                let (script, map) = self.map(capture, map)?;
                let keys = checked_keys(script, map, &keys)?;
                elements_answer(script.read_elements(map, &keys))
            }
            Request::DeleteKeys { capture, map, keys } => {
                let (script, map) = self.map(capture, map)?;
                let keys = checked_keys(script, map, &keys)?;
                changed(script.delete_keys(map, &keys))
            }
            Request::ClearMap { capture, map } => {
                let (script, map) = self.map(capture, map)?;
                changed(script.clear_map(map))
            }
            Request::ZeroMap { capture, map } => {
                let (script, map) = self.map(capture, map)?;
                changed(script.zero_map(map))
            }
            Request::ReadStacks { capture, user, ids } => self.read_stacks(capture, user, &ids)?,
            Request::RunSignal { capture, number } => {
                let script = self.running_script(capture)?;
                plain(script.run_signal(number).map(|count| Reply::Ran { count }))
            }
            Request::ReadIterator { capture, probe } => {
                let script = self.running_script(capture)?;
                let found = script.script().plan.probes.get(probe as usize);
                if !found.is_some_and(|probe| matches!(probe.point, AttachPoint::Iterator { .. })) {
                    return Err("it named a probe that is no iterator");
                }
                plain(script.run_iterator(probe as usize).map(|()| Reply::Ran { count: 1 }))
            }
            _other => return Err("it sent a request that nothing answers"),
        })
    }

    fn open_user_file(&mut self, path: &str, in_process: Option<u32>) -> Answer {
        let sound = path.starts_with('/') && path.len() < MAX_PATH_BYTES && !path.contains('\0');
        if !sound {
            let doing = format!("opening {}", bathyscope_capture::visible(path.as_bytes()));
            let why = "it is not an absolute path";
            return Answer::Plain(Reply::Failed(failed(AgentErrorKind::Invalid, doing, why, "Give it from `/`.")));
        }
        match self.backend.open_user_file(path, in_process) {
            Ok(opened) => {
                let reply = Reply::UserFile { device: opened.device, inode: opened.inode, bytes: opened.bytes };
                Answer::File(reply, opened.file)
            }
            Err(error) => Answer::Plain(Reply::Failed(error)),
        }
    }

    fn script(&mut self, handle: CaptureHandle) -> Result<(&mut dyn ScriptMaps, Stage), Violation> {
        let entry = self.captures.get_mut(&handle).ok_or("it named an unknown capture")?;
        let maps = entry.capture.maps().ok_or("it named a capture that has no script")?;
        Ok((maps, entry.stage))
    }

    fn running_script(&mut self, handle: CaptureHandle) -> Result<&mut dyn ScriptMaps, Violation> {
        match self.script(handle)? {
            (script, Stage::Enabled) => Ok(script),
            _other => Err("it named a script that does not run"),
        }
    }

    fn map(&mut self, handle: CaptureHandle, map: u32) -> Result<(&mut dyn ScriptMaps, usize), Violation> {
        let (script, _any_stage) = self.script(handle)?;
        let map = map as usize;
        if map < script.script().plan.maps.len() { Ok((script, map)) } else { Err("it named an unknown map") }
    }

    fn read_stacks(&mut self, handle: CaptureHandle, user: bool, ids: &[u64]) -> Result<Answer, Violation> {
        let (script, _any_stage) = self.script(handle)?;
        let Plan { kernel_stacks, user_stacks, .. } = script.script().plan;
        if ids.len() > MAX_STACK_IDS || !(if user { user_stacks } else { kernel_stacks }) {
            return Err("it asked for stacks that are not there");
        }
        let answer = script.read_stacks(user, ids).and_then(|stacks| {
            let count = u32::try_from(stacks.len()).unwrap_or(u32::MAX);
            let words = stacks.into_iter().flat_map(|(id, frames)| [id, frames.len() as u64].into_iter().chain(frames));
            in_file(Reply::Stacks { count }, &words.flat_map(u64::to_le_bytes).collect::<Vec<_>>())
        });
        Ok(answer.unwrap_or_else(|error| Answer::Plain(Reply::Failed(error))))
    }
}

/// Keys that are as long as the map's.
fn checked_keys<'a>(script: &dyn ScriptMaps, map: usize, keys: &'a [Bytes]) -> Result<Vec<&'a [u8]>, Violation> {
    let length = script.script().plan.maps.get(map).map_or(0, |map| map.key_bytes as usize);
    if keys.len() > MAX_KEYS || keys.iter().any(|key| key.0.len() != length) {
        return Err("it sent keys that are not the map's");
    }
    Ok(keys.iter().map(|key| key.0.as_slice()).collect())
}

pub(super) fn in_file(reply: Reply, bytes: &[u8]) -> Result<Answer, AgentError> {
    let file = large::sealed_file("bathyscope-content", bytes)
        .map_err(|error| refused("making a file for what was read", &error, ""))?;
    Ok(Answer::File(reply, file))
}

fn elements_answer(elements: Result<Elements, AgentError>) -> Answer {
    let answer = elements.and_then(|elements| {
        let page = MapPage { count: elements.count, next: elements.next.map(Bytes) };
        in_file(Reply::MapPage(page), &elements.bytes)
    });
    answer.unwrap_or_else(|error| Answer::Plain(Reply::Failed(error)))
}

fn changed(count: Result<u32, AgentError>) -> Answer {
    plain(count.map(|count| Reply::Changed { count }))
}
