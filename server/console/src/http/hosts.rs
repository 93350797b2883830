//! Which host names a browser may use for this console: the guard against DNS rebinding, asked before anything else.
//!
//! A page of a hostile site can make its own name resolve to this address; the browser then sends that name in `Host`.
//! So the name must be one that this console goes by, with the port that it listens on.

use std::{collections::BTreeSet, net::SocketAddr};

use http::{HeaderMap, Uri, header::HOST};

use crate::{Failure, config::ListenConfig};

/// The names of this console, each a host with its port as a browser would send it, in lower case.
#[derive(Clone, Debug)]
pub struct HostPolicy {
    allowed: BTreeSet<String>,
    scheme: &'static str,
}

/// The request's host is one of this console's: lower case, with the port where one was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost(pub String);

const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl HostPolicy {
    /// The policy of a console that listens on `bound`, the address with the port that the kernel gave.
    ///
    /// # Errors
    /// If the address is not loopback and no proxy and name were given, or a name is not a host.
    pub fn new(listen: &ListenConfig, bound: SocketAddr) -> Result<Self, Failure> {
        let is_fenced = listen.behind_proxy && !listen.allow_host.is_empty();
        if !bound.ip().is_loopback() && !is_fenced {
            return Err(Failure::new(format!("refusing to listen on {bound}: it can be reached from other machines"))
                .remedy(
                    "Put a proxy that speaks TLS in front and give --behind-proxy and --allow-host NAME, or listen on \
                     127.0.0.1 and use a tunnel.",
                ));
        }
        let port = bound.port();
        let mut allowed: BTreeSet<String> = LOOPBACK_NAMES.iter().flat_map(|name| as_sent(name, port)).collect();
        for name in &listen.allow_host {
            let Some((host, given_port)) = split_host(&name.to_ascii_lowercase()) else {
                return Err(Failure::new(format!("`{}` is not a host name", name.escape_default()))
                    .remedy("Write NAME or NAME:PORT, as the browser's address bar shows it."));
            };
            match given_port {
                Some(port) => allowed.extend([format!("{host}:{port}")]),
                None if listen.behind_proxy => allowed.extend([host]),
                None => allowed.extend(as_sent(&host, port)),
            }
        }
        Ok(Self { allowed, scheme: if listen.behind_proxy { "https" } else { "http" } })
    }

    /// The host that a request is for, if it is one of ours. Exactly one `Host` is needed; a target in absolute form
    /// must name the same host.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Option<AllowedHost> {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return None };
        let host = host.to_str().ok()?.to_ascii_lowercase();
        if !self.allowed.contains(&host) {
            return None;
        }
        let same = uri.authority().is_none_or(|authority| authority.as_str().eq_ignore_ascii_case(&host));
        same.then_some(AllowedHost(host))
    }

    /// `http` or `https`: what stands before the host in this console's origin.
    pub fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// Whether cookies are for TLS only.
    pub fn is_secure(&self) -> bool {
        self.scheme == "https"
    }
}

/// How browsers write a host with this port when the scheme is http.
fn as_sent(host: &str, port: u16) -> Vec<String> {
    let mut sent = vec![format!("{host}:{port}")];
    if port == 80 {
        sent.push(host.to_owned());
    }
    sent
}

/// `host` or `host:port` in its parts, if it is one: a name, an IPv4 address, or an IPv6 address in brackets.
fn split_host(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match text.rfind(':') {
        Some(at) if !text.ends_with(']') => (text.get(..at)?, Some(text.get(at + 1..)?.parse().ok()?)),
        _ => (text, None),
    };
    let is_address = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok());
    let label = |label: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(plain)
    };
    let is_name = host.len() <= 253 && host.split('.').all(label);
    (is_address || is_name).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn listen(allow_host: &[&str], behind_proxy: bool) -> ListenConfig {
        ListenConfig {
            listen: ([127, 0, 0, 1], 0).into(),
            allow_host: allow_host.iter().map(|&name| name.to_owned()).collect(),
            behind_proxy,
        }
    }

    fn allows(policy: &HostPolicy, target: &str, hosts: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_bytes(host.as_bytes()).unwrap());
        }
        policy.check(&target.parse().unwrap(), &headers).is_some()
    }

    #[test]
    fn p01_only_own_names_with_the_own_port_are_hosts() {
        let policy = HostPolicy::new(&listen(&["tunnel.example:8080", "alias"], false), ([127, 0, 0, 1], 7070).into());
        let policy = policy.unwrap();
        let cases: [(&str, &[&str], bool); 22] = [
            ("/", &["localhost:7070"], true),
            ("/", &["LOCALHOST:7070"], true),
            ("/", &["127.0.0.1:7070"], true),
            ("/", &["[::1]:7070"], true),
            ("/", &["tunnel.example:8080"], true),
            ("/", &["alias:7070"], true),
            ("http://localhost:7070/", &["localhost:7070"], true),
            ("/", &[], false),
            ("/", &[""], false),
            ("/", &["localhost"], false),
            ("/", &["localhost:7071"], false),
            ("/", &["localhost.:7070"], false),
            ("/", &["127.1:7070"], false),
            ("/", &["2130706433:7070"], false),
            ("/", &["192.168.1.2:7070"], false),
            ("/", &["evil.example:7070"], false),
            ("/", &["tunnel.example"], false),
            ("/", &["localhost:7070", "localhost:7070"], false),
            ("/", &["localhost:7070", "evil.example"], false),
            ("/", &["localhost:7070, evil.example"], false),
            ("http://evil.example/", &["localhost:7070"], false),
            ("http://localhost:7070/", &["evil.example"], false),
        ];
        for (target, hosts, expected) in cases {
            assert_eq!(allows(&policy, target, hosts), expected, "{target} {hosts:?}");
        }
    }

    #[test]
    fn p01_other_addresses_need_a_proxy_and_a_name() {
        let anywhere: SocketAddr = ([0, 0, 0, 0], 7070).into();
        assert!(HostPolicy::new(&listen(&[], false), anywhere).is_err());
        assert!(HostPolicy::new(&listen(&["trace.example"], false), anywhere).is_err());
        assert!(HostPolicy::new(&listen(&[], true), anywhere).is_err());
        let policy = HostPolicy::new(&listen(&["trace.example"], true), anywhere).unwrap();
        assert!(allows(&policy, "/", &["trace.example"]) && !allows(&policy, "/", &["trace.example:7070"]));
        assert!(policy.is_secure());
        for bad in ["", "a b", "*", "http://x", "x:port", "a..b", "[::1", "x/y"] {
            assert!(HostPolicy::new(&listen(&[bad], true), anywhere).is_err(), "{bad}");
        }
    }
}
