//! Whose the processes are that call: names of users and containers, as filters ask for them.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use bathyscope_catalog::groups::name_of;
use bathyscope_decode::script::Names as _;

use bathyscope_link::{AgentLink, HostNames};

/// The most control groups whose names are kept.
const MAX_GROUPS: usize = 4096;
/// As many digits as an id has that sysdig shows.
const SHORT_ID: usize = 12;
/// What sysdig calls the container of what runs in none.
const HOST: &str = "host";

/// A control group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) path: Option<String>,
    /// Ids of its container, short and whole; `host` of none.
    pub(super) ids: Vec<String>,
    pub(super) name: Option<String>,
    pub(super) image: Option<String>,
}

impl Group {
    /// The image without its tag and its digest: a colon may stand before a port too.
    pub(super) fn repository(&self) -> Option<&str> {
        let image = self.image.as_deref()?;
        let image = image.split_once('@').map_or(image, |(image, _)| image);
        Some(match image.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => repository,
            _ => image,
        })
    }
}

/// Names of users and containers, each looked up once.
pub(super) struct Owners {
    host: HostNames,
    link: AgentLink,
    groups: RefCell<HashMap<u64, Arc<Group>>>,
}

impl Owners {
    pub(super) fn new(link: AgentLink) -> Self {
        Self { host: HostNames::default(), link, groups: RefCell::default() }
    }

    /// A user's name, as this host has it.
    pub(super) fn user(&self, uid: u32) -> Option<String> {
        self.host.user_name(uid)
    }

    /// The control group with this id.
    pub(super) fn group(&self, id: u64) -> Arc<Group> {
        if let Some(known) = self.groups.borrow().get(&id) {
            return Arc::clone(known);
        }
        let group = Arc::new(self.look_up(id));
        let mut groups = self.groups.borrow_mut();
        if groups.len() >= MAX_GROUPS {
            groups.clear();
        }
        groups.insert(id, Arc::clone(&group));
        group
    }

    fn look_up(&self, id: u64) -> Group {
        let path = self.host.cgroup_path(id, "").map(|path| path.trim_start_matches("unified:").to_owned());
        let Some(path) = path else { return Group::default() };
        let mut group = of_path(&path);
        if let Some(whole) = group.ids.iter().find(|id| id.len() == 64).cloned() {
            let named = self.link.call_blocking(move |client| client.container_names(&[whole]));
            let named = named.ok().and_then(|names| names.into_iter().next()).unwrap_or_default();
            group.name = group.name.or(named.name);
            group.image = named.image;
        }
        group
    }
}

/// What a path tells.
fn of_path(path: &str) -> Group {
    let container = name_of(path).container;
    let path = Some(path.to_owned());
    let Some(container) = container else {
        return Group { path, ids: vec![HOST.to_owned()], name: Some(HOST.to_owned()), image: None };
    };
    let mut ids: Vec<String> = [container.id.get(..SHORT_ID), Some(container.id)]
        .into_iter()
        .flatten()
        .filter(|id| !id.is_empty())
        .map(str::to_owned)
        .collect();
    ids.dedup();
    Group { path, ids, name: container.name.map(str::to_owned), image: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_tell_containers_and_hosts() {
        let id = "3ad7b26fc59a".repeat(6)[..64].to_owned();
        let group = of_path(&format!("/system.slice/docker-{id}.scope"));
        assert_eq!(group.ids, ["3ad7b26fc59a".to_owned(), id]);
        assert_eq!(group.name, None);
        let group = of_path("/user.slice/user-0.slice");
        assert_eq!((group.ids, group.name.as_deref()), (vec!["host".to_owned()], Some("host")));
    }

    #[test]
    fn repositories_have_no_tag() {
        let of =
            |image: &str| Group { image: Some(image.to_owned()), ..Group::default() }.repository().map(str::to_owned);
        let cases = [
            ("nginx:1.27", "nginx"),
            ("nginx", "nginx"),
            ("localhost:5000/a/b", "localhost:5000/a/b"),
            ("localhost:5000/a/b:2", "localhost:5000/a/b"),
            ("nginx@sha256:00", "nginx"),
        ];
        for (image, expected) in cases {
            assert_eq!(of(image).as_deref(), Some(expected), "{image}");
        }
    }
}
