//! The control groups of this host, and what container runtimes call their containers.
//!
//! Runtimes keep their state in folders that only root can write to. Of it nothing but the names of container and image leaves
//! the agent: beside them there are the containers' environments, which hold secrets.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use bathyscope_protocol::{AgentError, AgentErrorKind, ContainerName};
use serde::Deserialize;

use crate::{
    error::{failed, refused},
    os::cgroups::first_mount,
};

/// The deepest group that is listed; the kernel allows more, no service manager makes more.
const MAX_LEVEL: usize = 24;
/// The most groups that are looked at.
const MAX_GROUPS: usize = 64 << 10;
/// The largest state of a runtime that is read.
const MAX_STATE_BYTES: u64 = 16 << 20;
const DOCKER: &str = "/var/lib/docker/containers";
const PODMAN: &str = "/var/lib/containers/storage/overlay-containers/containers.json";

/// See [`crate::host_requests::HostRequests::list_groups`].
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
    #[serde(rename = "Config")]
    config: Option<DockerConfig>,
}

#[derive(Deserialize)]
struct DockerConfig {
    #[serde(rename = "Image")]
    image: Option<String>,
}

#[derive(Deserialize)]
struct PodmanContainer {
    id: String,
    #[serde(default)]
    names: Vec<String>,
    /// JSON in a text.
    metadata: Option<String>,
}

#[derive(Deserialize)]
struct PodmanMetadata {
    #[serde(rename = "image-name")]
    image: Option<String>,
}

/// What docker or podman say of the container with this id, which has been checked.
pub(super) fn container_name(id: &str) -> ContainerName {
    let docker = || docker_name(&read(&Path::new(DOCKER).join(id).join("config.v2.json"))?);
    docker().or_else(|| podman_name(&read(&PathBuf::from(PODMAN))?, id)).unwrap_or_default()
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn docker_name(state: &[u8]) -> Option<ContainerName> {
    let state: DockerState = serde_json::from_slice(state).ok()?;
    // Docker writes it with a slash, and shows it without.
    let name = some(state.name.strip_prefix('/').unwrap_or(&state.name))?;
    let image = state.config.and_then(|config| config.image);
    Some(ContainerName { name: Some(name), image: image.as_deref().and_then(some) })
}

fn podman_name(state: &[u8], id: &str) -> Option<ContainerName> {
    let all: Vec<PodmanContainer> = serde_json::from_slice(state).ok()?;
    let found = all.into_iter().find(|container| container.id == id)?;
    let metadata = found.metadata.and_then(|text| serde_json::from_str::<PodmanMetadata>(&text).ok());
    let image = metadata.and_then(|metadata| metadata.image);
    Some(ContainerName { name: found.names.into_iter().next(), image: image.as_deref().and_then(some) })
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
        let named = |name: &str, image: Option<&str>| {
            Some(ContainerName { name: Some(name.to_owned()), image: image.map(str::to_owned) })
        };
        assert_eq!(docker(r#"{"ID":"x","Name":"/web","Config":{"Env":["A=secret"]}}"#), named("web", None));
        assert_eq!(docker(r#"{"Name":"/web","Config":{"Image":"nginx:1.27"}}"#), named("web", Some("nginx:1.27")));
        for bad in ["", "{}", r#"{"Name":""}"#, r#"{"Name":7}"#, "[]"] {
            assert_eq!(docker(bad), None, "{bad}");
        }
        let metadata = r#""metadata":"{\"image-name\":\"docker.io/library/postgres:16\",\"x\":1}""#;
        let podman = format!(r#"[{{"id":"{id}","names":["db"],"image":"x",{metadata}}},{{"id":"y"}}]"#);
        assert_eq!(podman_name(podman.as_bytes(), &id), named("db", Some("docker.io/library/postgres:16")));
        assert_eq!(podman_name(podman.as_bytes(), "y"), Some(ContainerName::default()));
        assert_eq!(container_name(&id), ContainerName::default());
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
