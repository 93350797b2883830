//! The address by which others reach the console: what links begin with.

use std::{fmt, net::IpAddr, str::FromStr};

use http::{Uri, uri::Scheme};

/// Such as `https://trace.example`: a scheme and a host, and a port where it is not the scheme's own. Lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    scheme: &'static str,
    /// As browsers send it.
    host: String,
}

/// The text is no such address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is https://NAME or http://NAME, with :PORT where that is not the scheme's own, and no path")]
pub struct ParsePublicUrlError;

impl PublicUrl {
    /// `https` or `http`.
    pub fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// The host, with the port where browsers send it.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether only the machine that a browser runs on can be meant.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }
}

/// `host` or `host:port` in its parts, if it is one: a name, an IPv4 address, or an IPv6 address in brackets.
pub(crate) fn split_host(text: &str) -> Option<(String, Option<u16>)> {
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

/// Whether a host, with or without a port, is a name for the machine itself.
fn is_loopback(host: &str) -> bool {
    let Some((name, _port)) = split_host(host) else { return false };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name == "localhost" || name.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

impl FromStr for PublicUrl {
    type Err = ParsePublicUrlError;

    fn from_str(text: &str) -> Result<Self, ParsePublicUrlError> {
        // A parsed address cannot tell that there was a fragment.
        let text = Some(text.trim()).filter(|text| !text.contains('#')).ok_or(ParsePublicUrlError)?;
        let uri: Uri = text.to_ascii_lowercase().parse().map_err(|_not_an_address| ParsePublicUrlError)?;
        let (scheme, own_port) = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => ("https", 443),
            Some(scheme) if *scheme == Scheme::HTTP => ("http", 80),
            _ => return Err(ParsePublicUrlError),
        };
        let authority = uri.authority().ok_or(ParsePublicUrlError)?;
        if authority.as_str().contains('@') || uri.path() != "/" || uri.query().is_some() {
            return Err(ParsePublicUrlError);
        }
        let port = authority.port_u16().filter(|port| *port != own_port);
        let is_numbered = authority.as_str().len() == authority.host().len() || authority.port_u16().is_some();
        if !is_numbered || split_host(authority.host()).is_none() {
            return Err(ParsePublicUrlError);
        }
        let host = port.map_or_else(|| authority.host().to_owned(), |port| format!("{}:{port}", authority.host()));
        Ok(Self { scheme, host })
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_scheme_and_a_host() {
        for (text, expected) in [
            ("https://trace.example", Some("https://trace.example")),
            ("https://trace.example/", Some("https://trace.example")),
            (" HTTPS://Trace.Example:443 ", Some("https://trace.example")),
            ("https://trace.example:8443", Some("https://trace.example:8443")),
            ("http://10.1.2.3:80", Some("http://10.1.2.3")),
            ("http://[fd00::1]:7070", Some("http://[fd00::1]:7070")),
            ("http://localhost:7070", Some("http://localhost:7070")),
            ("", None),
            ("trace.example", None),
            ("trace.example:443", None),
            ("//trace.example", None),
            ("ftp://trace.example", None),
            ("https://", None),
            ("https://trace.example/console", None),
            ("https://trace.example/?a=b", None),
            ("https://trace.example/#a", None),
            ("https://trace.example#a", None),
            ("https://eva@trace.example", None),
            ("https://trace.example:", None),
            ("https://trace.example:99999", None),
            ("https://a..b", None),
            ("https://a b", None),
            ("https://*", None),
        ] {
            assert_eq!(text.parse::<PublicUrl>().ok().map(|url| url.to_string()).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn names_of_the_machine_itself_are_known() {
        for (text, expected) in [
            ("http://localhost:7070", true),
            ("http://a.localhost", true),
            ("http://127.0.0.1", true),
            ("http://127.8.0.1:7070", true),
            ("http://[::1]:7070", true),
            ("http://localhost.example", false),
            ("http://10.0.0.1", false),
            ("https://trace.example", false),
        ] {
            assert_eq!(text.parse::<PublicUrl>().unwrap().is_loopback(), expected, "{text}");
        }
    }
}
