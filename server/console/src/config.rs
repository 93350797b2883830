//! What the console is told at its start. Read once, never after.

use std::{net::SocketAddr, path::PathBuf};

use bathyscope_agent::CommandRights;

use crate::retention::RetentionRule;

pub use crate::{
    oidc::{OidcConfig, OidcSecret, ParseUserClaimError, UserClaim},
    outbound::{OutboundHost, OutboundTargets, ParseOutboundHostError},
    proxy_users::{
        AddressRange, GroupRole, PROXY_SECRET_HEADER, ParseAddressRangeError, ParseGroupRoleError,
        ParseProxyHeaderError, ProxyHeader, ProxySecret, ProxyUsers,
    },
    public_url::{ParsePublicUrlError, PublicUrl},
    tls::{ServerTls, ServerTlsError},
};

/// Everything that a console is told.
#[derive(Clone, Debug)]
pub struct ConsoleConfig {
    /// Where and for whom it listens.
    pub listen: ListenConfig,
    /// What a proxy in front is believed when it says who asks; none if nothing.
    pub proxy_users: Option<ProxyUsers>,
    /// The directory of the database.
    pub data: PathBuf,
    /// Who may run scripts.
    pub scripts: ScriptUsers,
    /// Whether scripts may change the system.
    pub allow_unsafe_scripts: bool,
    /// As whom captures start commands, as the agent was told.
    pub commands: CommandRights,
    /// Whether links for people without a login are allowed from now on; what an admin has said stays if it is not.
    pub allow_shares: bool,
    /// How long captures are kept.
    pub retention: RetentionRule,
    /// To whom connections are made.
    pub outbound: OutboundTargets,
    /// By which provider people log in; none if by none.
    pub oidc: Option<OidcConfig>,
    /// Who started it, if that was not root: the control socket answers that user too.
    pub starter_uid: Option<u32>,
}

/// Where and for whom the console listens.
#[derive(Clone, Debug)]
pub struct ListenConfig {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Host names (with the port, unless it is the scheme's own) that browsers may use beside those of this machine.
    pub allow_host: Vec<String>,
    /// What its connections are.
    pub transport: Transport,
    /// The address by which others reach it; none if that is not known.
    pub public_url: Option<PublicUrl>,
}

/// What connections from browsers are.
#[derive(Clone, Debug)]
pub enum Transport {
    /// As they come: from this machine, or through a tunnel.
    Plain,
    /// Of a proxy that speaks TLS and stands in front.
    BehindProxy,
    /// With TLS that the console speaks itself.
    Tls(ServerTls),
}

impl Transport {
    /// Whether a proxy stands in front.
    pub fn is_behind_proxy(&self) -> bool {
        matches!(self, Self::BehindProxy)
    }

    /// Whether browsers come by TLS, and so by `https`.
    pub fn is_secure(&self) -> bool {
        !matches!(self, Self::Plain)
    }

    /// The certificate, if the console speaks TLS itself.
    pub fn tls(&self) -> Option<&ServerTls> {
        match self {
            Self::Tls(tls) => Some(tls),
            Self::Plain | Self::BehindProxy => None,
        }
    }
}

/// Who may run scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScriptUsers {
    /// Nobody.
    #[default]
    Off,
    /// Admins.
    Admins,
    /// Admins and operators.
    Operators,
}
