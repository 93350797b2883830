//! Which host names a browser may use for this console: the guard against DNS rebinding, asked before anything else.
//!
//! A page of a hostile site can make its own name resolve to this address; the browser then sends that name in `Host`.
//! So the name must be one that this console goes by, with the port that it listens on.

use std::{collections::BTreeSet, net::SocketAddr};

use http::{HeaderMap, Uri, header::HOST};

use crate::{
    Failure,
    config::{ListenConfig, PublicUrl, Transport},
    public_url::split_host,
};

/// The names of this console, each a host with its port as a browser would send it, in lower case.
#[derive(Clone, Debug)]
pub struct HostPolicy {
    allowed: BTreeSet<String>,
    scheme: &'static str,
    public_url: Option<PublicUrl>,
}

/// The request's host is one of this console's: lower case, with the port where one was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost(pub String);

const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl HostPolicy {
    /// The policy of a console that listens on `bound`, the address with the port that the kernel gave.
    ///
    /// # Errors
    /// If the address is not loopback and no proxy and name were given, a name is not a host, or the public address has
    /// another scheme than the console.
    pub fn new(listen: &ListenConfig, bound: SocketAddr) -> Result<Self, Failure> {
        let has_name = !listen.allow_host.is_empty() || listen.public_url.is_some();
        let is_fenced = listen.transport.is_secure() && has_name;
        if !bound.ip().is_loopback() && !is_fenced {
            return Err(Failure::new(format!("refusing to listen on {bound}: it can be reached from other machines"))
                .remedy(
                    "Give --tls-cert, --tls-key and --public-url https://NAME, or put a proxy that speaks TLS in front and \
                     give --behind-proxy and --public-url https://NAME, or listen on 127.0.0.1 and use a tunnel.",
                ));
        }
        let (scheme, own_port) = if listen.transport.is_secure() { ("https", 443) } else { ("http", 80) };
        if let Some(url) = listen.public_url.as_ref().filter(|url| url.scheme() != scheme) {
            return Err(other_scheme(url, &listen.transport));
        }
        let port = bound.port();
        let mut allowed: BTreeSet<String> =
            LOOPBACK_NAMES.iter().flat_map(|name| as_sent(name, port, own_port)).collect();
        for name in &listen.allow_host {
            let Some((host, given_port)) = split_host(&name.to_ascii_lowercase()) else {
                return Err(Failure::new(format!("`{}` is not a host name", name.escape_default()))
                    .remedy("Write NAME or NAME:PORT, as the browser's address bar shows it."));
            };
            match given_port {
                Some(port) => allowed.extend([format!("{host}:{port}")]),
                None if listen.transport.is_behind_proxy() => allowed.extend([host]),
                None => allowed.extend(as_sent(&host, port, own_port)),
            }
        }
        allowed.extend(listen.public_url.as_ref().map(|url| url.host().to_owned()));
        Ok(Self { allowed, scheme, public_url: listen.public_url.clone() })
    }

    /// What links for others begin with; none if nobody said it.
    pub fn public_url(&self) -> Option<&PublicUrl> {
        self.public_url.as_ref()
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

/// A public address with another scheme than the one that cookies and the guard against other sites go by.
fn other_scheme(url: &PublicUrl, transport: &Transport) -> Failure {
    let (why, remedy) = match transport {
        Transport::Plain => (
            "the console speaks no TLS",
            "Give --tls-cert and --tls-key; or, if a proxy in front speaks TLS, --behind-proxy. Without both write http://.",
        ),
        Transport::BehindProxy => {
            ("behind a proxy it is reached by TLS only", "Write https://, or leave out --behind-proxy.")
        }
        Transport::Tls(_) => ("the console speaks TLS only", "Write https://, or leave out --tls-cert and --tls-key."),
    };
    Failure::new(format!("`{url}` cannot be the public address: {why}")).remedy(remedy)
}

/// How browsers write a host with this port when the scheme's own is `own_port`.
fn as_sent(host: &str, port: u16, own_port: u16) -> Vec<String> {
    let mut sent = vec![format!("{host}:{port}")];
    if port == own_port {
        sent.push(host.to_owned());
    }
    sent
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn listen(allow_host: &[&str], behind_proxy: bool) -> ListenConfig {
        ListenConfig {
            listen: ([127, 0, 0, 1], 0).into(),
            allow_host: allow_host.iter().map(|&name| name.to_owned()).collect(),
            transport: if behind_proxy { Transport::BehindProxy } else { Transport::Plain },
            public_url: None,
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

    #[test]
    fn p01_with_tls_of_its_own_names_have_the_port_that_it_listens_on() {
        let tls = crate::tls::tests::own();
        let with = |url: Option<&str>, bound: ([u8; 4], u16)| {
            let listen = ListenConfig {
                transport: Transport::Tls(tls.clone()),
                public_url: url.map(|url| url.parse().unwrap()),
                ..listen(&[], false)
            };
            HostPolicy::new(&listen, bound.into())
        };
        let policy = with(None, ([127, 0, 0, 1], 443)).unwrap();
        assert!(policy.is_secure() && allows(&policy, "/", &["localhost"]) && allows(&policy, "/", &["localhost:443"]));
        let policy = with(Some("https://trace.example:7070"), ([0, 0, 0, 0], 7070)).unwrap();
        assert!(allows(&policy, "/", &["trace.example:7070"]) && !allows(&policy, "/", &["trace.example"]));
        assert!(with(None, ([0, 0, 0, 0], 7070)).is_err(), "a name is needed");
        assert!(with(Some("http://trace.example"), ([127, 0, 0, 1], 7070)).is_err(), "it speaks TLS only");
    }

    #[test]
    fn p01_the_public_address_is_a_host_and_has_the_scheme_of_the_console() {
        let with = |url: &str, behind_proxy| {
            let listen = ListenConfig { public_url: Some(url.parse().unwrap()), ..listen(&[], behind_proxy) };
            HostPolicy::new(&listen, ([127, 0, 0, 1], 7070).into())
        };
        let policy = with("https://trace.example", true).unwrap();
        assert!(allows(&policy, "/", &["trace.example"]) && allows(&policy, "/", &["localhost:7070"]));
        assert!(!allows(&policy, "/", &["trace.example:7070"]) && !allows(&policy, "/", &["evil.example"]));
        assert_eq!(policy.public_url().unwrap().to_string(), "https://trace.example");
        let policy = with("http://trace.example:8080", false).unwrap();
        assert!(allows(&policy, "/", &["trace.example:8080"]) && !allows(&policy, "/", &["trace.example"]));
        assert!(with("https://trace.example", false).is_err() && with("http://trace.example", true).is_err());
        let anywhere: SocketAddr = ([0, 0, 0, 0], 7070).into();
        let named = |behind_proxy, url: &str| ListenConfig {
            public_url: Some(url.parse().unwrap()),
            ..listen(&[], behind_proxy)
        };
        assert!(HostPolicy::new(&named(true, "https://trace.example"), anywhere).is_ok());
        assert!(HostPolicy::new(&named(false, "http://trace.example"), anywhere).is_err());
    }
}
