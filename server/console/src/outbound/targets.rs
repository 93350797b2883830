//! To whom connections are made: hosts that were listed, and of their addresses those that are nobody's own network, unless the host
//! was listed as private.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use http::{Uri, uri::Scheme};

use crate::public_url::split_host;

/// The longest address that is asked for.
const MAX_URL_BYTES: usize = 8 << 10;
const HTTPS_PORT: u16 = 443;
const HTTP_PORT: u16 = 80;

/// A host that may be connected to: a name or an address, and one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboundHost {
    /// In lower case, an IPv6 address in brackets.
    host: String,
    port: u16,
}

/// A text that names no such host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is HOST or HOST:PORT, such as hooks.example or id.example:8443; without a port it is 443")]
pub struct ParseOutboundHostError;

impl FromStr for OutboundHost {
    type Err = ParseOutboundHostError;

    fn from_str(text: &str) -> Result<Self, ParseOutboundHostError> {
        let (host, port) = split_host(&text.trim().to_ascii_lowercase()).ok_or(ParseOutboundHostError)?;
        let port = port.unwrap_or(HTTPS_PORT);
        if port == 0 { Err(ParseOutboundHostError) } else { Ok(Self { host, port }) }
    }
}

impl fmt::Display for OutboundHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Everybody that may be connected to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutboundTargets {
    /// Those of whose addresses only public ones are used.
    pub public: Vec<OutboundHost>,
    /// Those whose addresses may be of this host or a private network.
    pub private: Vec<OutboundHost>,
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Whether it is spoken to with TLS.
    pub tls: bool,
    /// Its name or address, without brackets.
    pub name: String,
    /// Its port.
    pub port: u16,
    /// As the header of a request has it.
    pub host_header: String,
    /// Path and query.
    pub path: String,
    /// Whether its addresses may be private.
    is_private: bool,
}

/// Why an address is not asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// It is no address of the web.
    #[error(
        "it is no address that begins with https://, without a name or password before the host and without a fragment"
    )]
    NoUrl,
    /// It is not listed.
    #[error(
        "{host} is not among the hosts that this console may connect to: list it with --outbound-allow, or with \
         --outbound-private if it is on a private network"
    )]
    NotListed {
        /// Host and port.
        host: String,
    },
    /// It is spoken to without TLS.
    #[error("{host} would be spoken to without TLS, which only hosts of --outbound-private are")]
    Plain {
        /// Host and port.
        host: String,
    },
    /// It has no address that may be used.
    #[error(
        "{host} has the address {address}, which is private: list the host with --outbound-private if that is meant"
    )]
    Private {
        /// Host and port.
        host: String,
        /// One of its addresses.
        address: IpAddr,
    },
}

impl OutboundTargets {
    /// Whether nobody is listed.
    pub fn is_empty(&self) -> bool {
        self.public.is_empty() && self.private.is_empty()
    }

    /// All ports that are connected to.
    pub fn ports(&self) -> impl Iterator<Item = u16> {
        self.public.iter().chain(&self.private).map(|host| host.port)
    }

    /// The names among the hosts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let named = |host: &&OutboundHost| literal(&host.host).is_none();
        self.public.iter().chain(&self.private).filter(named).map(|host| host.host.as_str())
    }

    /// Where a request to `url` goes.
    ///
    /// # Errors
    /// If it is no address, or nobody may connect to it.
    pub fn target(&self, url: &str) -> Result<Target, TargetError> {
        if url.len() > MAX_URL_BYTES || url.contains('#') {
            return Err(TargetError::NoUrl);
        }
        let uri: Uri = url.parse().map_err(|_not_an_address| TargetError::NoUrl)?;
        let (tls, own_port) = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => (true, HTTPS_PORT),
            Some(scheme) if *scheme == Scheme::HTTP => (false, HTTP_PORT),
            _ => return Err(TargetError::NoUrl),
        };
        let authority = uri.authority().filter(|it| !it.as_str().contains('@')).ok_or(TargetError::NoUrl)?;
        let (host, port) = split_host(&authority.as_str().to_ascii_lowercase()).ok_or(TargetError::NoUrl)?;
        let wanted = OutboundHost { host, port: port.unwrap_or(own_port) };
        let is_private = self.private.contains(&wanted);
        if !is_private && !self.public.contains(&wanted) {
            return Err(TargetError::NotListed { host: wanted.to_string() });
        }
        if !tls && !is_private {
            return Err(TargetError::Plain { host: wanted.to_string() });
        }
        let host_header = if wanted.port == own_port { wanted.host.clone() } else { wanted.to_string() };
        let name = literal(&wanted.host).map_or(wanted.host, |address| address.to_string());
        let path = uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
        Ok(Target { tls, name, port: wanted.port, host_header, path, is_private })
    }
}

impl Target {
    /// Host and port, for people.
    pub fn host(&self) -> String {
        if self.name.contains(':') {
            format!("[{}]:{}", self.name, self.port)
        } else {
            format!("{}:{}", self.name, self.port)
        }
    }

    /// Those of its addresses that are connected to.
    ///
    /// # Errors
    /// If there are some, and none may be used.
    pub fn usable(&self, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, TargetError> {
        let refused = addresses.iter().copied().find(|address| !self.is_private && !is_public(*address));
        let usable: Vec<IpAddr> =
            addresses.into_iter().filter(|address| self.is_private || is_public(*address)).collect();
        match refused {
            Some(address) if usable.is_empty() => Err(TargetError::Private { host: self.host(), address }),
            _ => Ok(usable),
        }
    }
}

/// The address that a host is written as; none if it is a name.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Whether an address is of the public network: none of this host, of a private or local network, or without a host behind it.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

const fn is_public_v4(address: Ipv4Addr) -> bool {
    match address.octets() {
        // This network, private, this host, link-local (clouds have their secrets there), multicast, reserved and broadcast.
        [0 | 10 | 127 | 224..=255, ..] | [169, 254, ..] | [172, 16..=31, ..] | [192, 168, ..] => false,
        // Behind a provider's translation of addresses, of protocols, of examples, of benchmarks, of relays.
        [100, 64..=127, ..] | [192, 0, 0 | 2, _] | [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => false,
        [192, 88, 99, _] => false,
        _ => true,
    }
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // Addresses of IPv4 behind a translation.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
        }
        // Tunnels, which lead to any address; protocols and examples.
        [0x2001, 0x0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // What is given to hosts.
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets() -> OutboundTargets {
        let hosts = |text: &str| text.split(' ').map(|host| host.parse().unwrap()).collect();
        OutboundTargets {
            public: hosts("hooks.example ID.example:8443 [2606:4700::1111]"),
            private: hosts("10.0.0.5:8080 chat.internal"),
        }
    }

    #[test]
    fn hosts_are_read_and_shown_with_their_ports() {
        for (text, shown) in [
            ("hooks.example", "hooks.example:443"),
            ("Hooks.Example:80", "hooks.example:80"),
            ("10.0.0.5:1", "10.0.0.5:1"),
            ("[::1]:8443", "[::1]:8443"),
        ] {
            assert_eq!(text.parse::<OutboundHost>().unwrap().to_string(), shown);
        }
        for wrong in ["", "a:b", "a:0", "a:70000", "https://a", "a/b", "a b", "*.example", "[::1", "::1", "a@b"] {
            assert!(wrong.parse::<OutboundHost>().is_err(), "{wrong}");
        }
        assert_eq!(targets().ports().collect::<Vec<_>>(), [443, 8443, 443, 8080, 443]);
        assert_eq!(targets().names().collect::<Vec<_>>(), ["hooks.example", "id.example", "chat.internal"]);
    }

    #[test]
    fn only_listed_hosts_are_asked() {
        let to = |url: &str| targets().target(url).map(|it| (it.tls, it.host(), it.host_header, it.path));
        let there =
            |tls, host: &str, header: &str, path: &str| Ok((tls, host.to_owned(), header.to_owned(), path.to_owned()));
        assert_eq!(to("https://hooks.example/a?b=1"), there(true, "hooks.example:443", "hooks.example", "/a?b=1"));
        assert_eq!(to("https://HOOKS.example:443"), there(true, "hooks.example:443", "hooks.example", "/"));
        assert_eq!(to("https://id.example:8443/x"), there(true, "id.example:8443", "id.example:8443", "/x"));
        assert_eq!(to("https://[2606:4700::1111]/"), there(true, "[2606:4700::1111]:443", "[2606:4700::1111]", "/"));
        assert_eq!(to("http://10.0.0.5:8080/"), there(false, "10.0.0.5:8080", "10.0.0.5:8080", "/"));
        for (url, words) in [
            ("https://hooks.example:444/", "hooks.example:444 is not among"),
            ("https://evil.hooks.example/", "not among"),
            ("https://hooks.example.evil/", "not among"),
            ("http://hooks.example/", "hooks.example:80 is not among"),
            ("http://hooks.example:443/", "without TLS"),
            ("https://hooks.example@evil/", "no address"),
            ("https://evil@hooks.example/", "no address"),
            ("https://hooks.example/#a", "no address"),
            ("ftp://hooks.example/", "no address"),
            ("//hooks.example/", "no address"),
            ("hooks.example", "no address"),
            ("", "no address"),
            ("https://10.0.0.5/", "not among"),
            ("https://0x0a000005:8080/", "not among"),
        ] {
            let refused = targets().target(url).unwrap_err().to_string();
            assert!(refused.contains(words), "{url}: {refused}");
        }
        assert!(targets().target(&format!("https://hooks.example/{}", "x".repeat(MAX_URL_BYTES))).is_err());
    }

    #[test]
    fn h26_addresses_of_private_networks_are_refused_unless_that_is_meant() {
        let public = targets().target("https://hooks.example/").unwrap();
        let private = targets().target("https://chat.internal/").unwrap();
        for (address, expected) in [
            ("1.1.1.1", true),
            ("100.63.255.255", true),
            ("172.32.0.1", true),
            ("2606:4700::1111", true),
            ("::ffff:1.1.1.1", true),
            ("64:ff9b::101:101", true),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("100.64.0.1", false),
            ("127.0.0.1", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("192.168.1.1", false),
            ("198.18.0.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::ffff:10.0.0.1", false),
            ("64:ff9b::a00:1", false),
            ("fc00::1", false),
            ("fe80::1", false),
            ("ff02::1", false),
            ("2001:db8::1", false),
            ("2002:a00:1::", false),
            ("2001::1", false),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(is_public(address), expected, "{address}");
            assert_eq!(public.usable(vec![address]).is_ok(), expected, "{address}");
            assert_eq!(private.usable(vec![address]).unwrap(), [address]);
        }
        let mixed: Vec<IpAddr> = ["10.0.0.1", "1.1.1.1"].map(|address| address.parse().unwrap()).to_vec();
        assert_eq!(public.usable(mixed.clone()).unwrap(), mixed[1..]);
        assert!(public.usable(Vec::new()).unwrap().is_empty(), "a name without an address is another failure");
    }
}
