//! The control groups of this host, and what container runtimes call their containers.
//!
//! Runtimes keep their state in folders that only root can write to. Of it nothing but the name leaves the agent: beside it
//! there are the containers' environments, which hold secrets.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use bathyscope_protocol::{AgentError, AgentErrorKind};
use serde::Deserialize;

use super::host::first_mount;
use crate::error::{failed, refused};

/// The deepest group that is listed; the kernel allows more, no service manager makes more.
const MAX_LEVEL: usize = 24;
/// The most groups that are looked at.
const MAX_GROUPS: usize = 64 << 10;
/// The largest state of a runtime that is read.
const MAX_STATE_BYTES: u64 = 16 << 20;
const DOCKER: &str = "/var/lib/docker/containers";
const PODMAN: &str = "/var/lib/containers/storage/overlay-containers/containers.json";

/// See [`crate::backend::Backend::list_groups`].
pub(super) fn list(after: &str, bytes: usize) -> Result<(Vec<String>, bool), AgentError> {
    let doing = "listing the control groups";
    let mount = first_mount().ok_or_else(|| {
        let why = "no hierarchy of version 2 is mounted";
        failed(AgentErrorKind::Unsupported, doing, why, "Boot with systemd.unified_cgroup_hierarchy=1.")
    })?;
    let mut paths = vec!["/".to_owned()];
    collect(Path::new(&mount), "", 0, &mut paths).map_err(|error| refused(doing, &error, ""))?;
    paths.sort_unstable();
    let mut left = bytes;
    let later = paths.into_iter().filter(|path| path.as_str() > after);
    let mut page = Vec::new();
    for path in later {
        match left.checked_sub(path.len()) {
            Some(rest) => left = rest,
            None => return Ok((page, true)),
        }
        page.push(path);
    }
    Ok((page, false))
}

/// Adds the groups below `folder`, whose path is `path`.
fn collect(folder: &Path, path: &str, level: usize, paths: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        if paths.len() >= MAX_GROUPS {
            return Ok(());
        }
        let below = format!("{path}/{name}");
        paths.push(below.clone());
        if level < MAX_LEVEL {
            // One that was removed in between has no groups.
            let _gone = collect(&entry.path(), &below, level + 1, paths);
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct DockerState {
    #[serde(rename = "Name")]
    name: String,
}

#[derive(Deserialize)]
struct PodmanContainer {
    id: String,
    #[serde(default)]
    names: Vec<String>,
}

/// What docker or podman call the container with this id, which has been checked.
pub(super) fn container_name(id: &str) -> Option<String> {
    let docker = || docker_name(&read(&Path::new(DOCKER).join(id).join("config.v2.json"))?);
    docker().or_else(|| podman_name(&read(&PathBuf::from(PODMAN))?, id))
}

fn docker_name(state: &[u8]) -> Option<String> {
    let state: DockerState = serde_json::from_slice(state).ok()?;
    // Docker writes it with a slash, and shows it without.
    let name = state.name.strip_prefix('/').unwrap_or(&state.name);
    (!name.is_empty()).then(|| name.to_owned())
}

fn podman_name(state: &[u8], id: &str) -> Option<String> {
    let all: Vec<PodmanContainer> = serde_json::from_slice(state).ok()?;
    all.into_iter().find(|container| container.id == id)?.names.into_iter().next()
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MAX_STATE_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_STATE_BYTES).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_state_of_runtimes() {
        let id = "ab".repeat(32);
        let docker = |text: &str| docker_name(text.as_bytes());
        assert_eq!(docker(r#"{"ID":"x","Name":"/web","Config":{"Env":["A=secret"]}}"#).as_deref(), Some("web"));
        for bad in ["", "{}", r#"{"Name":""}"#, r#"{"Name":7}"#, "[]"] {
            assert_eq!(docker(bad), None, "{bad}");
        }
        let podman = format!(r#"[{{"id":"{id}","names":["db"],"image":"x"}},{{"id":"y"}}]"#);
        assert_eq!(podman_name(podman.as_bytes(), &id).as_deref(), Some("db"));
        assert_eq!(podman_name(podman.as_bytes(), "y"), None);
        assert_eq!(container_name(&id), None);
    }

    #[test]
    fn groups_are_listed_in_pages() {
        let Ok((all, false)) = list("", usize::MAX) else { return };
        assert!(all.first().is_some_and(|first| first == "/") && all.is_sorted_by(|a, b| a < b));
        let (first, more) = list("", 1).unwrap();
        assert_eq!((first.as_slice(), more), (&["/".to_owned()][..], all.len() > 1));
        let (rest, more) = list("/", usize::MAX).unwrap();
        assert!(!more && rest.len() <= all.len());
    }
}
