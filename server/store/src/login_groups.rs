//! Groups that somebody is in by who logged them in elsewhere: a proxy in front, or an OpenID Connect provider.
//!
//! They are of one login, and no groups of this console: a name that both have says nothing. Names are compared as they are, letter by
//! letter, as elsewhere `ops` and `Ops` may be two groups.

use std::collections::BTreeSet;

use crate::limits::limit;

/// Who says that somebody is in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupOrigin {
    /// The proxy in front.
    Proxy,
    /// The OpenID Connect provider.
    Oidc,
}

impl GroupOrigin {
    /// As rights have it.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::Proxy => "proxy_group",
            Self::Oidc => "oidc_group",
        }
    }
}

/// Groups that somebody is in by their login.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoginGroups {
    /// Who says so.
    pub origin: GroupOrigin,
    /// Their names, at most 256, each once.
    names: BTreeSet<String>,
    /// How many were said that are no names of groups, or more than are taken.
    left_out: usize,
}

impl LoginGroups {
    /// Those that were said. What is no name of a group, and what is beyond the most that are taken, is left out and counted.
    pub fn said<'a>(origin: GroupOrigin, said: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut names, mut left_out) = (BTreeSet::new(), 0);
        for name in said {
            if names.contains(name) {
                continue;
            }
            if is_group_name(name) && names.len() < limit::LOGIN_GROUPS {
                names.insert(name.to_owned());
            } else {
                left_out += 1;
            }
        }
        Self { origin, names, left_out }
    }

    /// Their names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// How many were said that do not count.
    pub const fn left_out(&self) -> usize {
        self.left_out
    }

    /// Whether none counts.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// As a list of JSON, which statements read.
    pub(crate) fn json(&self) -> String {
        serde_json::Value::from_iter(self.names.iter().map(String::as_str)).to_string()
    }
}

/// Whether a text can name a group elsewhere: 1 to 256 bytes, without control characters, and without blanks around it.
pub(crate) fn is_group_name(name: &str) -> bool {
    (1..=limit::LOGIN_GROUP_BYTES).contains(&name.len()) && name == name.trim() && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_of_a_group_is_left_out_and_counted() {
        let long = "x".repeat(limit::LOGIN_GROUP_BYTES + 1);
        let said =
            ["ops", "Ops", "ops", "", " a", "a\nb", "a\0b", long.as_str(), "cn=a,dc=b", "ops' OR 1=1 --", "[\"x\"]"];
        let groups = LoginGroups::said(GroupOrigin::Oidc, said);
        assert_eq!(Vec::from_iter(groups.names()), ["Ops", "[\"x\"]", "cn=a,dc=b", "ops", "ops' OR 1=1 --"]);
        assert_eq!(groups.left_out(), 5);
        let many: Vec<String> = (0..1000).map(|number| format!("g{number}")).collect();
        let groups = LoginGroups::said(GroupOrigin::Proxy, many.iter().map(String::as_str));
        assert_eq!((groups.names().count(), groups.left_out()), (limit::LOGIN_GROUPS, 1000 - limit::LOGIN_GROUPS));
    }
}
