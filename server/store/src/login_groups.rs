//! Groups that somebody is in by who logged them in elsewhere: a proxy in front, or an OpenID Connect provider.
//!
//! They are of one login, and no groups of this console: a name that both have says nothing. Names are compared as they are, letter by
//! letter, as elsewhere `ops` and `Ops` may be two groups.

use std::collections::BTreeSet;

use sqlx::SqliteConnection;

use crate::{EndedSession, StoreError, TokenHash, error::failed, limits::limit, rows::unreadable, rows::unsigned};

const KEEPING: &str = "keeping the groups of a login";
const READING: &str = "reading the groups of a login";

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

/// Keeps those of a session that has just begun.
pub(crate) async fn keep(
    conn: &mut SqliteConnection,
    session: TokenHash,
    (issuer, groups): (&str, &LoginGroups),
) -> Result<(), StoreError> {
    let insert = sqlx::query("INSERT INTO session_groups SELECT ?1, ?2, value FROM json_each(?3)");
    let insert = insert.bind(session.bytes().to_vec()).bind(issuer.to_owned()).bind(groups.json());
    insert.execute(conn).await.map_err(failed(KEEPING))?;
    Ok(())
}

/// Forgets those of sessions that there are no more: to be called after each change that ends some, in the same one.
pub(crate) async fn forget_ended(conn: &mut SqliteConnection) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM session_groups WHERE session NOT IN (SELECT hash FROM sessions)");
    delete.execute(conn).await.map_err(failed("forgetting the groups of a login"))?;
    Ok(())
}

/// Those of a session, with the provider that said them; none if there are none.
pub(crate) async fn of_session(
    conn: &mut SqliteConnection,
    session: TokenHash,
) -> Result<Option<(String, LoginGroups)>, StoreError> {
    let select = sqlx::query_as("SELECT issuer, name FROM session_groups WHERE session = ?");
    let rows: Vec<(String, String)> =
        select.bind(session.bytes().to_vec()).fetch_all(conn).await.map_err(failed(READING))?;
    let Some((issuer, _)) = rows.first().cloned() else { return Ok(None) };
    let names = rows.iter().map(|(_, name)| name.as_str());
    Ok(Some((issuer, LoginGroups::said(GroupOrigin::Oidc, names))))
}

/// Ends the sessions of somebody that have a group which they are not in any more, as a new login says; tells which they were.
pub(crate) async fn end_sessions_with_others(
    conn: &mut SqliteConnection,
    name: &str,
    (issuer, groups): (&str, &LoginGroups),
) -> Result<Vec<EndedSession>, StoreError> {
    let delete = "DELETE FROM sessions WHERE user = ?1 COLLATE NOCASE AND EXISTS (SELECT 1 FROM session_groups g \
                  WHERE g.session = sessions.hash AND (g.issuer <> ?2 OR g.name NOT IN (SELECT value FROM json_each(?3)))) \
                  RETURNING hash, expires_s";
    let delete = sqlx::query_as(delete).bind(name.to_owned()).bind(issuer.to_owned()).bind(groups.json());
    let rows: Vec<(Vec<u8>, i64)> = delete.fetch_all(&mut *conn).await.map_err(failed("ending sessions"))?;
    forget_ended(conn).await?;
    let ended = |(hash, expires_s): (Vec<u8>, i64)| {
        let hash = TokenHash::from_bytes(&hash).ok_or_else(|| unreadable("a session"))?;
        Ok(EndedSession { hash, expires_s: unsigned(expires_s) })
    };
    rows.into_iter().map(ended).collect()
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
