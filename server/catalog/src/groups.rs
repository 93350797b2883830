//! What the path of a control group says: which unit of systemd and which container it is.
//!
//! The forms are those of systemd (cgroups(7), `systemd.unit(5)`), Docker, Podman, containerd and CRI-O with either cgroup
//! driver, LXC and systemd-nspawn, as their documentation and their paths on running hosts show them.

/// What a path says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupName<'a> {
    /// The innermost unit that the group is or belongs to.
    pub unit: Option<&'a str>,
    /// The innermost container that the group is or belongs to.
    pub container: Option<Container<'a>>,
}

/// A container, as its control group's path names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Container<'a> {
    /// What runs it: `docker`, `podman`, `containerd`, `cri-o`, `kubernetes`, `lxc`, `nspawn`.
    pub runtime: &'static str,
    /// Its id; empty where the runtime has only names.
    pub id: &'a str,
    /// Its name, where the path has it.
    pub name: Option<&'a str>,
}

const UNIT_TYPES: [&str; 7] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap", ".device"];
/// What stands before the id in the name of a scope.
const SCOPES: [(&str, &str); 6] = [
    ("docker-", "docker"),
    ("libpod-conmon-", ""),
    ("libpod-", "podman"),
    ("cri-containerd-", "containerd"),
    ("nerdctl-", "containerd"),
    ("crio-", "cri-o"),
];
/// Folders whose children are containers, with the driver that makes plain folders.
const FOLDERS: [(&str, &str); 3] = [("docker", "docker"), ("libpod_parent", "podman"), ("kubepods", "kubernetes")];

/// What a path says.
pub fn name_of(path: &str) -> GroupName<'_> {
    let mut name = GroupName::default();
    let mut kubernetes = false;
    let mut parent = "";
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if UNIT_TYPES.iter().any(|end| part.len() > end.len() && part.ends_with(end)) {
            name.unit = Some(part);
        }
        kubernetes |= part == "kubepods" || part.starts_with("kubepods.") || part.starts_with("kubepods-");
        let found = container_of(part, parent, kubernetes);
        name.container = found.or(name.container);
        parent = part;
    }
    name
}

fn container_of<'a>(part: &'a str, parent: &str, kubernetes: bool) -> Option<Container<'a>> {
    if let Some(scope) = part.strip_suffix(".scope") {
        for (before, runtime) in SCOPES {
            if let Some(id) = scope.strip_prefix(before) {
                return (is_id(id) && !runtime.is_empty()).then_some(Container { runtime, id, name: None });
            }
        }
        // nspawn registers its machines so.
        return scope.strip_prefix("machine-").map(|name| Container { runtime: "nspawn", id: "", name: Some(name) });
    }
    if let Some(name) = part.strip_prefix("lxc.payload.") {
        return Some(Container { runtime: "lxc", id: "", name: Some(name) });
    }
    if let Some(name) = part.strip_prefix("systemd-nspawn@").and_then(|rest| rest.strip_suffix(".service")) {
        return Some(Container { runtime: "nspawn", id: "", name: Some(name) });
    }
    if let Some(id) = part.strip_prefix("libpod-").filter(|id| is_id(id)) {
        return Some(Container { runtime: "podman", id, name: None });
    }
    if let Some(id) = part.strip_prefix("crio-").filter(|id| is_id(id)) {
        return Some(Container { runtime: "cri-o", id, name: None });
    }
    if !is_id(part) {
        return None;
    }
    let known = FOLDERS.iter().find(|(folder, _)| *folder == parent).map(|(_, runtime)| *runtime);
    let runtime = known.or(kubernetes.then_some("kubernetes"))?;
    Some(Container { runtime, id: part, name: None })
}

/// Ids of containers are 64 digits of base sixteen.
fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_understood() {
        let id = &"0123456789abcdef".repeat(4);
        let cases = [
            ("/".to_owned(), None, None),
            ("/system.slice/cron.service".to_owned(), Some("cron.service".to_owned()), None),
            ("/system.slice/cron.service/supervisor".to_owned(), Some("cron.service".to_owned()), None),
            (format!("/docker/{id}"), None, Some(("docker", id.as_str(), None))),
            (
                format!("/system.slice/docker-{id}.scope"),
                Some(format!("docker-{id}.scope")),
                Some(("docker", id, None)),
            ),
            (
                format!("/machine.slice/libpod-{id}.scope/container"),
                Some(format!("libpod-{id}.scope")),
                Some(("podman", id, None)),
            ),
            (format!("/machine.slice/libpod-conmon-{id}.scope"), Some(format!("libpod-conmon-{id}.scope")), None),
            (format!("/kubepods/burstable/pod7/{id}"), None, Some(("kubernetes", id, None))),
            (
                format!("/kubepods.slice/kubepods-pod7.slice/cri-containerd-{id}.scope"),
                Some(format!("cri-containerd-{id}.scope")),
                Some(("containerd", id, None)),
            ),
            ("/lxc.payload.web/init.scope".to_owned(), Some("init.scope".to_owned()), Some(("lxc", "", Some("web")))),
            (
                "/machine.slice/machine-box.scope".to_owned(),
                Some("machine-box.scope".to_owned()),
                Some(("nspawn", "", Some("box"))),
            ),
            (format!("/somewhere/{id}"), None, None),
            ("/docker/short".to_owned(), None, None),
            ("/.service/x".to_owned(), None, None),
        ]
        .map(|(path, unit, container): (String, Option<String>, _)| (path, unit, container));
        for (path, unit, container) in cases {
            let found = name_of(&path);
            assert_eq!(found.unit, unit.as_deref(), "{path}");
            let found = found.container.map(|it| (it.runtime, it.id, it.name));
            assert_eq!(found, container, "{path}");
        }
    }
}
