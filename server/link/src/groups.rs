//! Control groups as people know them: units of systemd and containers. The agent lists the groups of this host; what their
//! paths mean is found here (`catalog::groups`).

use bathyscope_capture::{Target, visible};
use bathyscope_catalog::groups::{Container, GroupName, name_of};
use serde::Serialize;

use crate::{LinkError, ScriptAgent};

/// The most names that an error lists.
const NAMED: usize = 5;

/// A control group that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Its path from the root of the file system of control groups.
    pub path: String,
    /// The unit of systemd that it belongs to, if the path names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The container that it is, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<NamedContainer>,
}

/// A container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedContainer {
    /// What runs it, such as `docker`.
    pub runtime: &'static str,
    /// Its id; empty where the runtime gives only names.
    pub id: String,
    /// What its runtime calls it, where that can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The image that it was made of, where that can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// Why a target cannot be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The agent refused or is not there.
    #[error(transparent)]
    Agent(#[from] LinkError),
    /// Nothing is called so.
    #[error("there is no {what} `{name}` with a control group here{}", list(" (there is ", known, ")"))]
    Missing {
        /// What was looked for, in words.
        what: &'static str,
        /// What was given.
        name: String,
        /// Some that exist and are alike.
        known: Vec<String>,
    },
    /// Several are called so.
    #[error("`{name}` is the name of several: {}", list("", paths, ""))]
    Several {
        /// What was given.
        name: String,
        /// Their control groups.
        paths: Vec<String>,
    },
}

fn list(before: &str, names: &[String], after: &str) -> String {
    if names.is_empty() {
        return String::new();
    }
    let shown = names.iter().take(NAMED).map(|name| visible(name.as_bytes())).collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{before}{shown}{more}{after}")
}

/// The control groups of this host. Blocks.
///
/// # Errors
/// If the agent cannot list them.
pub fn groups(agent: &mut impl ScriptAgent) -> Result<Vec<Group>, LinkError> {
    let paths = agent.call(|client| client.list_groups())?;
    let mut groups: Vec<Group> = paths.into_iter().map(described).collect();
    let has_long_id = |group: &&mut Group| group.container.as_ref().is_some_and(|it| it.id.len() == 64);
    let ids: Vec<String> =
        groups.iter_mut().filter(has_long_id).filter_map(|it| Some(it.container.as_ref()?.id.clone())).collect();
    if ids.is_empty() {
        return Ok(groups);
    }
    let names = agent.call(move |client| client.container_names(&ids))?;
    for (group, name) in groups.iter_mut().filter(has_long_id).zip(names) {
        if let Some(container) = &mut group.container {
            container.name = container.name.take().or(name.name);
            container.image = name.image;
        }
    }
    Ok(groups)
}

fn described(path: String) -> Group {
    let GroupName { unit, container } = name_of(&path);
    let unit = unit.map(str::to_owned);
    let container = container.map(|Container { runtime, id, name }| NamedContainer {
        runtime,
        id: id.to_owned(),
        name: name.map(str::to_owned),
        image: None,
    });
    Group { path, unit, container }
}

/// What the agent is asked for: units and containers become control groups. Blocks.
///
/// # Errors
/// If there is none of that name, or more than one.
pub fn resolved_target(agent: &mut impl ScriptAgent, target: &Target) -> Result<Target, TargetError> {
    Ok(match target {
        Target::Unit { name } => Target::Cgroup { path: unit(&groups(agent)?, name)? },
        Target::Container { name } => Target::Cgroup { path: container(&groups(agent)?, name)? },
        Target::During { argv, user, of } => Target::during(argv.clone(), user.clone(), resolved_target(agent, of)?),
        other => other.clone(),
    })
}

/// The group that is a unit: the last part of its path is the unit's name.
fn unit(groups: &[Group], name: &str) -> Result<String, TargetError> {
    let own = |group: &&Group| group.unit.as_deref().is_some_and(|unit| group.path.ends_with(&format!("/{unit}")));
    let units = || groups.iter().filter(own).filter_map(|group| Some((group.unit.as_deref()?, group)));
    // As systemctl does, a name without a type means a service.
    let full = if name.contains('.') { name.to_owned() } else { format!("{name}.service") };
    let found: Vec<&Group> = units().filter(|(unit, _)| *unit == full).map(|(_, group)| group).collect();
    one(&found, "unit", name, || {
        let stem = name.split('.').next().unwrap_or(name);
        units().filter(|(unit, _)| unit.contains(stem)).map(|(unit, _)| unit.to_owned()).collect()
    })
}

/// The group that is a container of this name, or whose id begins so.
fn container(groups: &[Group], name: &str) -> Result<String, TargetError> {
    let containers = || groups.iter().filter_map(|group| Some((group.container.as_ref()?, group)));
    let named = containers().filter(|(it, _)| it.name.as_deref() == Some(name));
    let mut found: Vec<&Group> = named.map(|(_, group)| group).collect();
    if found.is_empty() {
        let by_id = containers().filter(|(it, _)| !name.is_empty() && it.id.starts_with(name));
        found = by_id.map(|(_, group)| group).collect();
    }
    one(&found, "container", name, || {
        containers().map(|(it, _)| it.name.clone().unwrap_or_else(|| it.id.chars().take(12).collect())).collect()
    })
}

/// The only one found; groups inside of another one that was found belong to it.
fn one(
    found: &[&Group],
    what: &'static str,
    name: &str,
    known: impl FnOnce() -> Vec<String>,
) -> Result<String, TargetError> {
    let inside = |group: &Group| found.iter().any(|outer| group.path.starts_with(&format!("{}/", outer.path)));
    let outer: Vec<&Group> = found.iter().copied().filter(|group| !inside(group)).collect();
    match outer.as_slice() {
        [] => Err(TargetError::Missing { what, name: name.to_owned(), known: known() }),
        [one] => Ok(one.path.clone()),
        several => {
            let paths = several.iter().map(|group| group.path.clone()).collect();
            Err(TargetError::Several { name: name.to_owned(), paths })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Vec<Group> {
        let id = "0f1e2d3c4b5a69788796a5b4c3d2e1f0".repeat(2);
        let paths = [
            "/".to_owned(),
            "/system.slice".to_owned(),
            "/system.slice/cron.service".to_owned(),
            "/system.slice/cron.service/payload".to_owned(),
            format!("/system.slice/docker-{id}.scope"),
            format!("/system.slice/docker-{id}.scope/init"),
            "/user.slice/user-1000.slice/user@1000.service/app.slice/sync.service".to_owned(),
            "/user.slice/user-1001.slice/user@1001.service/app.slice/sync.service".to_owned(),
            "/lxc.payload.web".to_owned(),
        ];
        let mut groups: Vec<Group> = paths.into_iter().map(described).collect();
        if let Some(container) = &mut groups[4].container {
            container.name = Some("orders".to_owned());
        }
        groups
    }

    #[test]
    fn units_and_containers_are_found_by_name() {
        let tree = tree();
        assert_eq!(unit(&tree, "cron.service").unwrap(), "/system.slice/cron.service");
        assert_eq!(unit(&tree, "cron").unwrap(), "/system.slice/cron.service");
        assert_eq!(unit(&tree, "system.slice").unwrap(), "/system.slice");
        let docker = tree[4].path.clone();
        for name in ["orders", "0f1e2d3c4b5a", "0f1e"] {
            assert_eq!(container(&tree, name).unwrap(), docker, "{name}");
        }
        assert_eq!(container(&tree, "web").unwrap(), "/lxc.payload.web");
    }

    #[test]
    fn errors_tell_what_there_is() {
        let tree = tree();
        let error = unit(&tree, "cronn").unwrap_err().to_string();
        assert_eq!(error, "there is no unit `cronn` with a control group here");
        let error = unit(&tree, "cro").unwrap_err().to_string();
        assert_eq!(error, "there is no unit `cro` with a control group here (there is cron.service)");
        let error = unit(&tree, "sync.service").unwrap_err();
        assert!(matches!(&error, TargetError::Several { paths, .. } if paths.len() == 2), "{error}");
        assert!(container(&tree, "").is_err());
        let error = container(&tree, "ordersx").unwrap_err().to_string();
        assert!(error.ends_with("(there is orders, 0f1e2d3c4b5a, web)") || error.contains("orders"), "{error}");
    }
}
