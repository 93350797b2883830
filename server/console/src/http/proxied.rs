//! People whom a proxy in front has logged in, which says in a header of each request who asks.
//!
//! They have no session here: each request carries who asks, and what they may do is looked up each time. The account of the name
//! decides; only where there is none do the proxy's groups. Rights that are given to these groups are theirs as long as each request
//! says so. A request with the header that is not the proxy's is refused, whatever
//! it asks for.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use bathyscope_store::{GroupOrigin, LoginGroups, Role, Store, TokenHash};
use http::{HeaderMap, HeaderName};
use tokio_util::sync::CancellationToken;

use super::{
    error::{ApiError, ErrorKind},
    people::name_refusal,
    session::{CameBy, SESSION_S, Session, Sessions},
};
use crate::proxy_users::{PROXY_SECRET_HEADER, ProxyUsers};

/// The most people that come so while the console runs.
const MOST_PEOPLE: usize = 10_000;
const DOING: &str = "reading who asks";

/// Whom the proxy in front names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proxied {
    user: String,
    /// What the proxy's groups may do.
    by_groups: Option<Role>,
    /// Those groups; none if the proxy does not say them.
    groups: Option<LoginGroups>,
}

impl ProxyUsers {
    /// Whom a request from `peer` names; none if it names nobody.
    ///
    /// # Errors
    /// If somebody else than the proxy names somebody, or what it names is no name.
    pub(super) fn named(&self, peer: IpAddr, headers: &HeaderMap) -> Result<Option<Proxied>, ApiError> {
        let (user_header, group_header) = (&self.user_header.0, self.group_header.as_ref().map(|header| &header.0));
        let sent = |name: &HeaderName| headers.contains_key(name);
        if !sent(user_header) && !group_header.is_some_and(sent) {
            return Ok(None);
        }
        let mut secrets = headers.get_all(PROXY_SECRET_HEADER).iter();
        let (secret, more) = (secrets.next().map(|secret| secret.as_bytes()), secrets.next());
        if more.is_some() || !self.is_proxy(peer, secret) {
            tracing::warn!(%peer, "a request that is not the proxy's says who asks");
            let why = format!("the header {user_header} says who asks, and only the proxy in front may send it");
            return Err(ApiError::new(ErrorKind::Proxy, DOING, why)
                .remedy("Come through the proxy, or send no such header. Where this is the proxy: --proxy-from and --proxy-secret of `bathyscope serve` say how it is known."));
        }
        // What was sent is not repeated: it may be anything.
        let invalid = |why: String| ApiError::invalid(DOING, why);
        let mut users = headers.get_all(user_header).iter();
        let (Some(user), None) = (users.next(), users.next()) else {
            return Err(invalid(format!("the proxy has to send the header {user_header} once")));
        };
        let user = user.to_str().unwrap_or_default();
        if let Some(why) = name_refusal(user) {
            return Err(invalid(format!("the header {user_header} names nobody: {why}")));
        }
        let Some(group_header) = group_header else {
            return Ok(Some(Proxied { user: user.to_owned(), by_groups: None, groups: None }));
        };
        let said = headers.get_all(group_header).iter().map(|value| std::str::from_utf8(value.as_bytes()));
        let Ok(said) = said.collect::<Result<Vec<&str>, _>>() else {
            return Err(invalid(format!("the header {group_header} is no text in UTF-8")));
        };
        let by_groups = said.iter().filter_map(|groups| self.role_of(groups)).max();
        let names = said.iter().flat_map(|groups| groups.split(',')).map(str::trim).filter(|name| !name.is_empty());
        let groups = Some(LoginGroups::said(GroupOrigin::Proxy, names));
        Ok(Some(Proxied { user: user.to_owned(), by_groups, groups }))
    }
}

/// Those who have come so. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct ProxiedPeople {
    store: Store,
    sessions: Sessions,
    /// By name in lower case.
    open: Arc<Mutex<HashMap<String, OpenPerson>>>,
    stop: CancellationToken,
}

/// What somebody has open.
#[derive(Debug)]
struct OpenPerson {
    /// Cancelled when their account is changed, or their groups are.
    ended: CancellationToken,
    /// The groups that their last request said.
    groups: Option<LoginGroups>,
}

impl ProxiedPeople {
    pub(super) fn new(store: Store, sessions: Sessions, stop: &CancellationToken) -> Self {
        Self { store, sessions, open: Arc::default(), stop: stop.clone() }
    }

    /// Who asks. What is open ends when the account of the name is changed, or the proxy says other groups of them, and comes again if
    /// it still may.
    ///
    /// # Errors
    /// If the account is disabled, or there is none and no group has a role; or the store's.
    pub(super) async fn find(&self, named: &Proxied) -> Result<Session, ApiError> {
        // Before the account is looked at: whoever changes it meanwhile ends this.
        let ended = self.opened(named)?;
        let refused = |why: String, remedy: &str| Err(ApiError::new(ErrorKind::Proxy, DOING, why).remedy(remedy));
        let (user, role) = match (self.store.account(&named.user).await?, named.by_groups) {
            (Some(account), _) if !account.is_enabled() => {
                return refused(format!("the account {} is disabled", account.name), "Ask an admin of this console.");
            }
            (Some(account), _) => (account.name, account.role),
            (None, Some(role)) => (named.user.clone(), role),
            (None, None) => {
                let why = format!("{} has no account here and is in no group that has a role", named.user);
                return refused(why, "Ask an admin of this console for an account of this name.");
            }
        };
        let hash = TokenHash::of(format!("proxy {user}").as_bytes());
        let whose = (user, role, named.groups.clone());
        Ok(self.sessions.without_cookie((hash, CameBy::Proxy), whose, (SESSION_S, &ended)))
    }

    fn opened(&self, Proxied { user, groups, .. }: &Proxied) -> Result<CancellationToken, ApiError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let name = user.to_ascii_lowercase();
        if open.len() >= MOST_PEOPLE && !open.contains_key(&name) {
            let why = format!("more than {MOST_PEOPLE} people have come by the proxy since the console was started");
            return Err(ApiError::new(ErrorKind::Busy, DOING, why));
        }
        let new = || OpenPerson { ended: self.stop.child_token(), groups: groups.clone() };
        let person = open.entry(name).or_insert_with(new);
        if person.groups != *groups {
            std::mem::replace(person, new()).ended.cancel();
        }
        Ok(person.ended.clone())
    }

    /// Ends what somebody has open.
    pub(super) fn end(&self, user: &str) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(person) = open.remove(&user.to_ascii_lowercase()) {
            person.ended.cancel();
        }
    }
}
