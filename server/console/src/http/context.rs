//! What is known about one request while it is served: shared by the outer guard and the handler.

use std::{
    net::IpAddr,
    sync::{Arc, OnceLock},
};

use http::Uri;

use super::{access::Who, hosts::AllowedHost, proxied::Proxied};
use crate::hex::hex;

/// The address that a request comes from, for limits; never shown and never trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer(pub IpAddr);

/// What a route gives, which decides how its errors look and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteKind {
    /// A page for a person: errors are pages, and who is not logged in is sent to the login.
    Page,
    /// JSON or another answer for a module or program: errors are JSON.
    Api,
    /// An event stream: it has no end, and must come from an own page.
    Stream,
    /// A file that may take long to write.
    Download,
}

/// One request's context. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Context {
    inner: Arc<SharedContext>,
}

#[derive(Debug)]
struct SharedContext {
    request_id: String,
    nonce: String,
    peer: Peer,
    host: AllowedHost,
    route: OnceLock<(RouteKind, &'static str)>,
    who: OnceLock<Who>,
    asked: OnceLock<String>,
    proxied: OnceLock<Proxied>,
}

impl Context {
    /// The context of a request with this id for `host` from `peer`.
    ///
    /// # Errors
    /// If the kernel gives no randomness.
    pub(super) fn new(request_id: &str, host: AllowedHost, peer: Peer) -> Result<Self, getrandom::Error> {
        let mut random = [0_u8; 16];
        getrandom::fill(&mut random)?;
        let (request_id, nonce) = (request_id.to_owned(), hex(&random));
        let (route, who, asked, proxied) = (OnceLock::new(), OnceLock::new(), OnceLock::new(), OnceLock::new());
        Ok(Self { inner: Arc::new(SharedContext { request_id, nonce, peer, host, route, who, asked, proxied }) })
    }

    /// By which the log and the client know this request.
    pub(super) fn request_id(&self) -> &str {
        &self.inner.request_id
    }

    /// The nonce of this response's content security policy.
    pub(super) fn nonce(&self) -> &str {
        &self.inner.nonce
    }

    /// Where the request comes from.
    pub(super) fn peer(&self) -> Peer {
        self.inner.peer
    }

    /// The host it is for, which is one of ours.
    pub(super) fn host(&self) -> &AllowedHost {
        &self.inner.host
    }

    /// What the matched route gives; none where no route matched.
    pub(super) fn kind(&self) -> Option<RouteKind> {
        self.inner.route.get().map(|(kind, _path)| *kind)
    }

    /// The pattern of the matched route; none where no route matched.
    pub(super) fn route(&self) -> Option<&'static str> {
        self.inner.route.get().map(|(_kind, path)| *path)
    }

    /// Who asks, once an extractor has found out.
    pub(super) fn who(&self) -> Option<&Who> {
        self.inner.who.get()
    }

    /// The page that was asked for, as path and query; none where the request is for something else.
    pub(super) fn asked(&self) -> Option<&str> {
        self.inner.asked.get().map(String::as_str)
    }

    /// Whom the proxy in front names, which is one that is believed; none if it names nobody.
    pub(super) fn proxied(&self) -> Option<&Proxied> {
        self.inner.proxied.get()
    }

    pub(super) fn set_proxied(&self, proxied: Proxied) {
        // The guard looks once.
        let _same = self.inner.proxied.set(proxied);
    }

    pub(super) fn set_asked(&self, uri: &Uri) {
        // A request has one address.
        let _same = self.inner.asked.set(uri.path_and_query().map_or("/", |asked| asked.as_str()).to_owned());
    }

    pub(super) fn set_route(&self, kind: RouteKind, path: &'static str) {
        // A request matches one route, once.
        let _same = self.inner.route.set((kind, path));
    }

    pub(super) fn set_who(&self, who: Who) {
        // Two extractors of one handler find the same session.
        let _same = self.inner.who.set(who);
    }
}
