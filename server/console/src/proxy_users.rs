//! What a proxy in front is believed when it says who asks: in which header, from which addresses, and what its groups may do.
//!
//! A header is text that anybody can send, so it counts only in requests that come from an address that was named. From this host's
//! own addresses every local user can send one, so there a secret is needed too, which the proxy adds.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::Path,
    str::FromStr,
};

use bathyscope_store::{Role, TokenHash};
use http::HeaderName;

use crate::Failure;

/// The header in which the proxy sends its secret.
pub const PROXY_SECRET_HEADER: &str = "bathyscope-proxy-secret";
/// The least number of characters of the secret.
const SECRET_CHARS: usize = 32;
/// The largest file with a secret.
const SECRET_FILE_BYTES: u64 = 4096;
/// Headers that say something else.
const TAKEN: [&str; 9] = [
    "host",
    "cookie",
    "authorization",
    "origin",
    "x-forwarded-for",
    "content-type",
    "content-length",
    "x-request-id",
    PROXY_SECRET_HEADER,
];

/// The name of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyHeader(pub(crate) HeaderName);

/// A text that is no name of a header in which a proxy may say who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is the name of a header, such as X-Forwarded-User, that says nothing else")]
pub struct ParseProxyHeaderError;

impl FromStr for ProxyHeader {
    type Err = ParseProxyHeaderError;

    fn from_str(text: &str) -> Result<Self, ParseProxyHeaderError> {
        let name = HeaderName::try_from(text).ok();
        let is_free = |name: &HeaderName| !TAKEN.contains(&name.as_str()) && !name.as_str().starts_with("sec-");
        name.filter(is_free).map(Self).ok_or(ParseProxyHeaderError)
    }
}

impl fmt::Display for ProxyHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// Addresses that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    first: IpAddr,
    bits: u8,
}

/// A text that names no addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is an address such as 10.0.0.2, or a network such as 10.0.0.0/24")]
pub struct ParseAddressRangeError;

impl FromStr for AddressRange {
    type Err = ParseAddressRangeError;

    fn from_str(text: &str) -> Result<Self, ParseAddressRangeError> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().map_err(|_number| ParseAddressRangeError)?)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().map_err(|_address| ParseAddressRangeError)?;
        let whole: u8 = if first.is_ipv4() { 32 } else { 128 };
        let bits: u8 = bits.unwrap_or(whole);
        if bits == 0 || bits > whole {
            return Err(ParseAddressRangeError);
        }
        Ok(Self { first, bits })
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

impl AddressRange {
    /// Whether an address is among them.
    pub fn has(&self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                (first.to_bits() ^ address.to_bits()).checked_shr(32 - u32::from(self.bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                (first.to_bits() ^ address.to_bits()).checked_shr(128 - u32::from(self.bits)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }

    /// Whether programs of this host have some of them, whatever network it is in.
    fn has_loopback(&self) -> bool {
        let own = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        self.first.to_canonical().is_loopback() || own.into_iter().any(|address| self.has(address))
    }
}

/// What the members of a group of the proxy's may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRole {
    group: String,
    role: Role,
}

/// A text that gives no group a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write GROUP=ROLE, with viewer, operator or admin as the role; a group has no comma")]
pub struct ParseGroupRoleError;

impl FromStr for GroupRole {
    type Err = ParseGroupRoleError;

    fn from_str(text: &str) -> Result<Self, ParseGroupRoleError> {
        // Names of groups may have this sign in them (`cn=ops,…` of a directory has commas too, and is not taken).
        let (group, role) = text.rsplit_once('=').ok_or(ParseGroupRoleError)?;
        let role = role.parse().map_err(|_unknown| ParseGroupRoleError)?;
        if group.trim().is_empty() || group.contains(',') {
            return Err(ParseGroupRoleError);
        }
        Ok(Self { group: group.trim().to_owned(), role })
    }
}

impl GroupRole {
    /// The group.
    pub(crate) fn group(&self) -> &str {
        &self.group
    }

    /// What members of `group` may do, if it is this one.
    pub(crate) fn role_of(&self, group: &str) -> Option<Role> {
        (self.group == group).then_some(self.role)
    }
}

impl fmt::Display for GroupRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.group, self.role)
    }
}

/// What the proxy adds to each request, so that others cannot say that they are it. Only its hash stays in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxySecret(TokenHash);

impl ProxySecret {
    /// What stands in a file, without white space around it. To be called while it may be read.
    ///
    /// # Errors
    /// If it cannot be read, or is too short.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        use std::io::Read as _;
        let doing = || format!("reading the proxy's secret in {}", path.display());
        let mut text = String::new();
        let read = std::fs::File::open(path).and_then(|file| file.take(SECRET_FILE_BYTES).read_to_string(&mut text));
        read.map_err(|error| Failure::because(doing(), error))?;
        let secret = text.trim();
        if secret.len() < SECRET_CHARS || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Failure::new(format!("{}: it is no secret", doing())).remedy(format!(
                "Put {SECRET_CHARS} random letters and digits or more into it, such as those of `openssl rand -hex 32`."
            )));
        }
        Ok(Self::of(secret))
    }

    /// A secret by its text.
    pub fn of(secret: &str) -> Self {
        Self(TokenHash::of(secret.as_bytes()))
    }

    /// Whether a text is the secret. Hashes are compared, which nobody who guesses can steer.
    pub fn is(&self, text: &[u8]) -> bool {
        self.0 == TokenHash::of(text)
    }
}

/// What a proxy in front is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyUsers {
    /// In which header it says who asks.
    pub(crate) user_header: ProxyHeader,
    /// In which it says of which groups they are, separated by commas; none if it does not.
    pub(crate) group_header: Option<ProxyHeader>,
    group_roles: Vec<GroupRole>,
    from: Vec<AddressRange>,
    secret: Option<ProxySecret>,
}

impl ProxyUsers {
    /// A proxy that says in `user_header` who asks, in requests from these addresses, which have its secret if there is one.
    ///
    /// # Errors
    /// If no address is named, or one of this host without a secret, or roles of groups without a header.
    pub fn new(
        user_header: ProxyHeader,
        (from, secret): (Vec<AddressRange>, Option<ProxySecret>),
        (group_header, group_roles): (Option<ProxyHeader>, Vec<GroupRole>),
    ) -> Result<Self, Failure> {
        if from.is_empty() {
            return Err(Failure::new(format!("the header {user_header} is believed from nobody"))
                .remedy("Name the addresses of the proxy with --proxy-from."));
        }
        if let Some(own) = from.iter().find(|range| range.has_loopback())
            && secret.is_none()
        {
            let why = format!("every user of this host can send the header {user_header} from {own}");
            return Err(Failure::new(why).remedy(format!(
                "Give --proxy-secret FILE, and have the proxy send what stands in it in the header {PROXY_SECRET_HEADER}."
            )));
        }
        if (group_header.is_none() && !group_roles.is_empty()) || group_header.as_ref() == Some(&user_header) {
            return Err(Failure::new("groups of the proxy need a header of their own")
                .remedy("Give --proxy-group-header NAME, another one than --proxy-user-header."));
        }
        Ok(Self { user_header, group_header, group_roles, from, secret })
    }

    /// Whether a request from this address with this secret is the proxy's.
    pub(crate) fn is_proxy(&self, address: IpAddr, secret: Option<&[u8]>) -> bool {
        let knows = self.secret.is_none_or(|own| secret.is_some_and(|secret| own.is(secret)));
        knows && self.from.iter().any(|range| range.has(address))
    }

    /// Whether it says groups, and those that have a role.
    pub(crate) fn groups(&self) -> Option<impl Iterator<Item = &str>> {
        self.group_header.is_some().then(|| self.group_roles.iter().map(GroupRole::group))
    }

    /// The highest role that the groups in a text have, which are between commas.
    pub(crate) fn role_of(&self, groups: &str) -> Option<Role> {
        let roles = groups.split(',').flat_map(|group| {
            self.group_roles.iter().filter(move |known| known.group == group.trim()).map(|known| known.role)
        });
        roles.max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_a_range() {
        for (range, address, has) in [
            ("10.0.0.2", "10.0.0.2", true),
            ("10.0.0.2", "10.0.0.3", false),
            ("10.0.0.2", "::ffff:10.0.0.2", true),
            ("10.0.0.0/24", "10.0.0.255", true),
            ("10.0.0.0/24", "10.0.1.0", false),
            ("10.0.0.0/1", "127.255.255.255", true),
            ("10.0.0.0/1", "128.0.0.1", false),
            ("fd00::/8", "fd12::7", true),
            ("fd00::/8", "fe80::1", false),
            ("fd00::7", "fd00::7", true),
            ("fd00::7", "10.0.0.2", false),
        ] {
            let range: AddressRange = range.parse().unwrap();
            assert_eq!(range.has(address.parse().unwrap()), has, "{range} {address}");
        }
        for bad in ["", "10.0.0", "10.0.0.1/33", "10.0.0.1/0", "fd00::/129", "proxy.example", "10.0.0.1/", "10.0.0.1/x"]
        {
            assert!(bad.parse::<AddressRange>().is_err(), "{bad}");
        }
    }

    #[test]
    fn headers_and_groups_are_what_they_are_written_as() {
        assert_eq!("X-Forwarded-User".parse::<ProxyHeader>().unwrap().to_string(), "x-forwarded-user");
        for bad in ["", "a b", "Cookie", "Host", "authorization", "Sec-Fetch-Site", "bathyscope-proxy-secret", "x\n"] {
            assert!(bad.parse::<ProxyHeader>().is_err(), "{bad}");
        }
        assert_eq!("a=b=admin".parse::<GroupRole>().unwrap().to_string(), "a=b=admin");
        for bad in ["", "ops", "=admin", "ops=", "ops=root", "a,b=admin"] {
            assert!(bad.parse::<GroupRole>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_proxy_on_this_host_has_a_secret_and_groups_have_a_header() {
        let header = || "x-user".parse::<ProxyHeader>().unwrap();
        let from = |text: &str| vec![text.parse::<AddressRange>().unwrap()];
        let made = |from, secret: Option<&str>| {
            ProxyUsers::new(header(), (from, secret.map(ProxySecret::of)), (None, Vec::new()))
        };
        assert!(
            made(Vec::new(), None).is_err()
                && made(from("127.0.0.1"), None).is_err()
                && made(from("::1"), None).is_err()
        );
        assert!(made(from("64.0.0.0/1"), None).is_err(), "it has 127.0.0.1");
        assert!(made(from("10.0.0.2"), None).unwrap().is_proxy("10.0.0.2".parse().unwrap(), None));
        let own = made(from("127.0.0.1"), Some("secret")).unwrap();
        let here = "127.0.0.1".parse().unwrap();
        assert!(
            own.is_proxy(here, Some(b"secret")) && !own.is_proxy(here, Some(b"Secret")) && !own.is_proxy(here, None)
        );
        let with = |header: Option<&str>, roles: &[&str]| {
            let roles = roles.iter().map(|role| role.parse().unwrap()).collect();
            ProxyUsers::new(
                "x-user".parse().unwrap(),
                (from("10.0.0.2"), None),
                (header.map(|it| it.parse().unwrap()), roles),
            )
        };
        assert!(with(None, &["a=viewer"]).is_err());
        assert!(with(Some("x-groups"), &[]).is_ok(), "rights can be given to groups without a role");
        assert!(with(Some("x-user"), &["a=viewer"]).is_err());
        let groups = with(Some("x-groups"), &["a=viewer", "b=admin", "c=operator"]).unwrap();
        for (text, role) in [
            ("a", Some(Role::Viewer)),
            ("a, c", Some(Role::Operator)),
            (" b ,a", Some(Role::Admin)),
            ("", None),
            ("A", None),
            ("ab", None),
            ("a b", None),
        ] {
            assert_eq!(groups.role_of(text), role, "{text}");
        }
    }
}
