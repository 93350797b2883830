//! What the command line and the environment say, one struct for each topic. Read once at start, never after.

mod amount;
mod oidc;
mod outbound;
mod processes;

use std::{net::SocketAddr, path::PathBuf};

use bathyscope_agent::{CommandRights, Simulation};
use bathyscope_console::{
    config::{
        AddressRange, GroupRole, ListenConfig, ProxyHeader, ProxySecret, ProxyUsers, PublicUrl, ScriptUsers, ServerTls,
        Transport,
    },
    retention::{LabelRule, RetentionRule},
};
use clap::{Args, ValueEnum};

pub(crate) use amount::bytes;
pub use oidc::OidcArgs;
pub use outbound::OutboundArgs;
pub use processes::{ConsoleArgs, Scripts, ServeArgs};

/// Where captures are kept.
#[derive(Clone, Debug, Default, Args)]
pub struct DataArgs {
    /// Directory of the database [default: /var/lib/bathyscope for root, else ~/.local/share/bathyscope]
    #[arg(long, value_name = "DIR", env = "BATHYSCOPE_DATA")]
    pub data: Option<PathBuf>,
}

/// What is logged, and how. Logs go to standard error.
#[derive(Clone, Debug, Args)]
pub struct LogArgs {
    /// How log lines are written
    #[arg(long, value_enum, default_value_t = LogFormat::Text, env = "BATHYSCOPE_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// What is logged: a level, or levels by module such as `info,bathyscope_console::http=debug`
    #[arg(long, value_name = "FILTER", default_value = "info", env = "BATHYSCOPE_LOG")]
    pub log: String,
}

impl LogArgs {
    /// Gives the same options to another process of this binary.
    pub fn pass_on(&self, command: &mut std::process::Command) {
        let format = match self.log_format {
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        };
        command.args(["--log-format", format, "--log", &self.log]);
    }
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Where and for whom the console listens.
#[derive(Clone, Debug, Args)]
pub struct ListenArgs {
    /// Address and port to listen on; port 0 takes a free one, which is printed
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7070", env = "BATHYSCOPE_LISTEN")]
    pub listen: SocketAddr,
    /// Host name (with the port, unless it is the scheme's own) that browsers may use; repeatable
    #[arg(long, value_name = "NAME", env = "BATHYSCOPE_ALLOW_HOST", value_delimiter = ',')]
    pub allow_host: Vec<String>,
    /// A proxy that speaks TLS stands in front; needed, with --allow-host, to listen on other than loopback
    #[arg(long, env = "BATHYSCOPE_BEHIND_PROXY")]
    pub behind_proxy: bool,
    /// Certificate, for TLS without a proxy: a PEM file, with the certificates that it was issued by; read at the start
    #[arg(
        long,
        value_name = "FILE",
        env = "BATHYSCOPE_TLS_CERT",
        requires = "tls_key",
        conflicts_with = "behind_proxy"
    )]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate: a PEM file without a password
    #[arg(long, value_name = "FILE", env = "BATHYSCOPE_TLS_KEY", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Address by which others reach the console, scheme and host: links begin with it, and browsers may use its name
    #[arg(long, value_name = "URL", env = "BATHYSCOPE_PUBLIC_URL")]
    pub public_url: Option<PublicUrl>,
}

impl ListenArgs {
    /// What connections are. Reads the certificate and its key, if they are given: to be called while that is allowed.
    ///
    /// # Errors
    /// If they cannot be used.
    pub fn transport(&self) -> Result<Transport, crate::Failure> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => ServerTls::read(cert, key).map(Transport::Tls),
            _ if self.behind_proxy => Ok(Transport::BehindProxy),
            _ => Ok(Transport::Plain),
        }
    }

    /// What the console is told.
    pub fn config(&self, transport: Transport) -> ListenConfig {
        let Self { listen, allow_host, public_url, .. } = self.clone();
        ListenConfig { listen, allow_host, transport, public_url }
    }

    /// Gives the same options to another process of this binary.
    pub fn pass_on(&self, command: &mut std::process::Command) {
        command.args(["--listen", &self.listen.to_string()]);
        for name in &self.allow_host {
            command.args(["--allow-host", name]);
        }
        if self.behind_proxy {
            command.arg("--behind-proxy");
        }
        for (option, path) in [("--tls-cert", &self.tls_cert), ("--tls-key", &self.tls_key)] {
            if let Some(path) = path {
                command.arg(option).arg(path);
            }
        }
        if let Some(url) = &self.public_url {
            command.args(["--public-url", &url.to_string()]);
        }
    }

    /// Whether others than this host's users can reach the console.
    pub fn exposed(&self) -> bool {
        let is_public = self.public_url.as_ref().is_some_and(|url| !url.is_loopback());
        self.behind_proxy || is_public || !self.listen.ip().is_loopback()
    }
}

/// What a proxy in front is believed when it says who asks.
#[derive(Clone, Debug, Default, Args)]
pub struct ProxyUserArgs {
    /// Header in which the proxy in front says who asks, such as X-Forwarded-User; the account of that name decides what they may do
    #[arg(
        long,
        value_name = "NAME",
        env = "BATHYSCOPE_PROXY_USER_HEADER",
        requires = "behind_proxy",
        requires = "proxy_from"
    )]
    pub proxy_user_header: Option<ProxyHeader>,
    /// Address or network of the proxy, such as 10.0.0.2 or 10.0.0.0/24: from elsewhere the header is refused; repeatable
    #[arg(
        long,
        value_name = "ADDR",
        env = "BATHYSCOPE_PROXY_FROM",
        value_delimiter = ',',
        requires = "proxy_user_header"
    )]
    pub proxy_from: Vec<AddressRange>,
    /// File with a secret that the proxy sends in the header Bathyscope-Proxy-Secret; needed where the proxy is on this host, as every user of the host can connect from its addresses
    #[arg(long, value_name = "FILE", env = "BATHYSCOPE_PROXY_SECRET", requires = "proxy_user_header")]
    pub proxy_secret: Option<PathBuf>,
    /// Header in which the proxy says of which groups they are, separated by commas: groups can have a role, and be given rights
    #[arg(long, value_name = "NAME", env = "BATHYSCOPE_PROXY_GROUP_HEADER", requires = "proxy_user_header")]
    pub proxy_group_header: Option<ProxyHeader>,
    /// What members of a group may do who have no account, such as ops=operator; repeatable
    #[arg(
        long,
        value_name = "GROUP=ROLE",
        env = "BATHYSCOPE_PROXY_GROUP_ROLE",
        value_delimiter = ',',
        requires = "proxy_group_header",
        requires = "proxy_user_header"
    )]
    pub proxy_group_role: Vec<GroupRole>,
}

impl ProxyUserArgs {
    /// What the proxy is believed. Reads its secret, if there is one: to be called while that is allowed.
    ///
    /// # Errors
    /// If the secret cannot be read, or what was given is not enough.
    pub fn proxy_users(&self) -> Result<Option<ProxyUsers>, crate::Failure> {
        let Some(user_header) = self.proxy_user_header.clone() else { return Ok(None) };
        let secret = self.proxy_secret.as_deref().map(ProxySecret::read).transpose()?;
        let groups = (self.proxy_group_header.clone(), self.proxy_group_role.clone());
        ProxyUsers::new(user_header, (self.proxy_from.clone(), secret), groups).map(Some)
    }

    /// Gives the same options to another process of this binary.
    pub fn pass_on(&self, command: &mut std::process::Command) {
        let headers =
            [("--proxy-user-header", &self.proxy_user_header), ("--proxy-group-header", &self.proxy_group_header)];
        for (option, header) in headers {
            if let Some(header) = header {
                command.args([option, &header.to_string()]);
            }
        }
        for range in &self.proxy_from {
            command.args(["--proxy-from", &range.to_string()]);
        }
        for role in &self.proxy_group_role {
            command.args(["--proxy-group-role", &role.to_string()]);
        }
        if let Some(file) = &self.proxy_secret {
            command.arg("--proxy-secret").arg(file);
        }
    }
}

/// Who may run scripts.
#[derive(Clone, Debug, Default, Args)]
pub struct ScriptRightsArgs {
    /// Who may run scripts of the probe language [default: admins; nobody where the console is reached from elsewhere]
    #[arg(long, value_enum, value_name = "WHO", env = "BATHYSCOPE_SCRIPTS")]
    pub scripts: Option<ScriptUsersArg>,
    /// Scripts may change the system: system(), signal(), override(), raw addresses
    #[arg(long, env = "BATHYSCOPE_ALLOW_UNSAFE_SCRIPTS")]
    pub allow_unsafe_scripts: bool,
}

impl ScriptRightsArgs {
    /// Who may run them. Nobody, unless it was said, where others than this host's users reach the console: a script reads
    /// whatever memory it likes.
    pub fn for_whom(&self, listen: &ListenArgs) -> ScriptUsers {
        let usual = if listen.exposed() { ScriptUsers::Off } else { ScriptUsers::Admins };
        self.scripts.map_or(usual, ScriptUsers::from)
    }

    /// What the agent is told: it refuses what nobody may do, whatever the console asks for.
    pub fn pass_on_to_agent(&self, command: &mut std::process::Command, listen: &ListenArgs) {
        let rights = match (self.for_whom(listen), self.allow_unsafe_scripts) {
            (ScriptUsers::Off, _) => "off",
            (_, false) => "observe",
            (_, true) => "change",
        };
        command.args(["--scripts", rights]);
    }

    /// Gives the same options to another process of this binary.
    pub fn pass_on(&self, command: &mut std::process::Command, listen: &ListenArgs) {
        let whom = match self.for_whom(listen) {
            ScriptUsers::Off => "off",
            ScriptUsers::Admins => "on",
            ScriptUsers::Operators => "operators",
        };
        command.args(["--scripts", whom]);
        if self.allow_unsafe_scripts {
            command.arg("--allow-unsafe-scripts");
        }
    }
}

/// Who may run scripts, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScriptUsersArg {
    /// Nobody.
    Off,
    /// Admins.
    #[value(name = "on", alias = "admins")]
    Admins,
    /// Admins and operators.
    Operators,
}

impl From<ScriptUsersArg> for ScriptUsers {
    fn from(users: ScriptUsersArg) -> Self {
        match users {
            ScriptUsersArg::Off => Self::Off,
            ScriptUsersArg::Admins => Self::Admins,
            ScriptUsersArg::Operators => Self::Operators,
        }
    }
}

/// As whom captures start commands.
#[derive(Clone, Debug, Default, Args)]
pub struct CommandArgs {
    /// As whom captures may start commands: off, users (NAME,…), or as-root for any user; started by another user than root, only as that user [default: who started this; where root did, the person behind sudo or the login, and off if there is none; off too where others reach the console]
    #[arg(long, value_name = "WHO", env = "BATHYSCOPE_COMMANDS", value_parser = command_rights)]
    pub commands: Option<CommandRights>,
}

fn command_rights(text: &str) -> Result<CommandRights, String> {
    match text.parse() {
        Ok(CommandRights::Caller) => Err("it is off, as-root, or comma-separated names of users".to_owned()),
        Ok(rights) => Ok(rights),
        Err(error) => Err(error.to_string()),
    }
}

impl CommandArgs {
    /// As whom they run. `starter_uid` is who started this, if that is known. Not at all, unless it was said, where others
    /// than this host's users reach the console. Made-up ones run as anybody, since nothing is run.
    pub fn rights(&self, listen: &ListenArgs, simulated: bool, starter_uid: Option<u32>) -> CommandRights {
        let usual = || match starter_uid {
            _ if simulated => CommandRights::AsRoot,
            Some(uid) if !listen.exposed() => CommandRights::Users(vec![uid]),
            Some(_) | None => CommandRights::Off,
        };
        self.commands.clone().unwrap_or_else(usual)
    }
}

/// Links for people without a login.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ShareArgs {
    /// Allow shares: links that show a capture, or a part of it, to people without a login, read only and until they expire; without this, what an admin has allowed or forbidden stays so
    #[arg(long, env = "BATHYSCOPE_ALLOW_SHARES")]
    pub allow_shares: bool,
}

impl ShareArgs {
    /// Gives the same option to another process of this binary.
    pub fn pass_on(self, command: &mut std::process::Command) {
        if self.allow_shares {
            command.arg("--allow-shares");
        }
    }
}

/// How long captures are kept. Without a rule they stay until somebody deletes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct KeepArgs {
    /// Delete captures that ended, or were imported, more than so many days ago, unless they are pinned
    #[arg(long, value_name = "DAYS", env = "BATHYSCOPE_KEEP_DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub keep_days: Option<u32>,
    /// Delete the oldest captures that are not pinned while all together have more bytes than this, such as 20G
    #[arg(long, value_name = "SIZE", env = "BATHYSCOPE_KEEP_SIZE", value_parser = bytes)]
    pub keep_size: Option<u64>,
    /// Keep captures of a tag or owner so long instead, such as tag:slow=90d, by:ci=3d or tag:release=forever; repeatable. Of
    /// several that are for one capture the longest holds; forever is whatever the size
    #[arg(long, value_name = "RULE", env = "BATHYSCOPE_KEEP_FOR", value_delimiter = ',')]
    pub keep_for: Vec<LabelRule>,
}

impl KeepArgs {
    /// Gives the same options to another process of this binary.
    pub fn pass_on(&self, command: &mut std::process::Command) {
        if let Some(days) = self.keep_days {
            command.args(["--keep-days", &days.to_string()]);
        }
        if let Some(bytes) = self.keep_size {
            command.args(["--keep-size", &bytes.to_string()]);
        }
        for rule in &self.keep_for {
            command.args(["--keep-for", &rule.to_string()]);
        }
    }

    /// The rule that they make.
    pub fn rule(&self) -> RetentionRule {
        RetentionRule { max_days: self.keep_days, max_bytes: self.keep_size, labels: self.keep_for.clone() }
    }
}

/// How the agent is run.
#[derive(Clone, Debug, Default, Args)]
pub struct AgentRunArgs {
    /// Make up events instead of tracing; needs no rights. Options: rate=N,lose_every=N,seed=N
    #[arg(
        long,
        value_name = "OPTIONS",
        env = "BATHYSCOPE_SIMULATE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub simulate: Option<Simulation>,
    /// User that the console runs as when started by root [default: bathyscope if it exists, else a number that nobody has]
    #[arg(long, value_name = "NAME", env = "BATHYSCOPE_USER")]
    pub user: Option<String>,
}

impl DataArgs {
    /// The directory to use: the given one, or the default for this user.
    ///
    /// # Errors
    /// If none was given and the environment names no home.
    pub fn directory(&self) -> Result<PathBuf, crate::Failure> {
        if let Some(data) = &self.data {
            return Ok(data.clone());
        }
        if rustix::process::geteuid().is_root() {
            return Ok(PathBuf::from("/var/lib/bathyscope"));
        }
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        absolute("XDG_DATA_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
            .map(|base| base.join("bathyscope"))
            .ok_or_else(|| {
                crate::Failure::new("no directory for captures: neither XDG_DATA_HOME nor HOME is set")
                    .remedy("Give one with --data DIR.")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_address_of_others_means_that_others_reach_the_console() {
        for (public_url, expected) in [
            (None, false),
            (Some("http://localhost:8080"), false),
            (Some("http://127.0.0.1:8080"), false),
            (Some("http://trace.example"), true),
        ] {
            let listen = ListenArgs {
                listen: ([127, 0, 0, 1], 7070).into(),
                allow_host: Vec::new(),
                behind_proxy: false,
                tls_cert: None,
                tls_key: None,
                public_url: public_url.map(|url| url.parse().unwrap()),
            };
            assert_eq!(listen.exposed(), expected, "{public_url:?}");
            let usual = if expected { ScriptUsers::Off } else { ScriptUsers::Admins };
            assert_eq!(ScriptRightsArgs::default().for_whom(&listen), usual, "{public_url:?}");
        }
    }
}
