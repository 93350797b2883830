//! What each of the processes is started with.

use bathyscope_agent::ScriptRights;
use bathyscope_console::config::{ConsoleConfig, OidcConfig, ProxyUsers, ScriptUsers, Transport};
use clap::{Args, ValueEnum};

use super::{
    AgentRunArgs, CommandArgs, DataArgs, KeepArgs, ListenArgs, LogArgs, OidcArgs, OutboundArgs, ProxyUserArgs,
    ScriptRightsArgs, ShareArgs,
};
use crate::Failure;

/// What `serve` takes.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// Where and for whom to listen.
    #[command(flatten)]
    pub listen: ListenArgs,
    /// What a proxy in front is believed when it says who asks.
    #[command(flatten)]
    pub proxy_users: ProxyUserArgs,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
    /// How the agent is run.
    #[command(flatten)]
    pub agent: AgentRunArgs,
    /// Who may run scripts.
    #[command(flatten)]
    pub scripts: ScriptRightsArgs,
    /// As whom captures start commands.
    #[command(flatten)]
    pub commands: CommandArgs,
    /// Links for people without a login.
    #[command(flatten)]
    pub shares: ShareArgs,
    /// How long captures are kept.
    #[command(flatten)]
    pub keep: KeepArgs,
    /// To whom connections are made.
    #[command(flatten)]
    pub outbound: OutboundArgs,
    /// By which provider people log in.
    #[command(flatten)]
    pub oidc: OidcArgs,
    /// What is logged.
    #[command(flatten)]
    pub log: LogArgs,
}

/// What the supervisor gives to the console.
#[derive(Clone, Debug, Args)]
pub struct ConsoleArgs {
    /// Where and for whom to listen.
    #[command(flatten)]
    pub listen: ListenArgs,
    /// What a proxy in front is believed when it says who asks.
    #[command(flatten)]
    pub proxy_users: ProxyUserArgs,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
    /// Who may run scripts.
    #[command(flatten)]
    pub scripts: ScriptRightsArgs,
    /// As whom captures start commands.
    #[command(flatten)]
    pub commands: CommandArgs,
    /// Links for people without a login.
    #[command(flatten)]
    pub shares: ShareArgs,
    /// How long captures are kept.
    #[command(flatten)]
    pub keep: KeepArgs,
    /// To whom connections are made.
    #[command(flatten)]
    pub outbound: OutboundArgs,
    /// By which provider people log in.
    #[command(flatten)]
    pub oidc: OidcArgs,
    /// What is logged.
    #[command(flatten)]
    pub log: LogArgs,
    /// User id to become
    #[arg(long, value_name = "UID")]
    pub uid: Option<u32>,
    /// Group id to become
    #[arg(long, value_name = "GID")]
    pub gid: Option<u32>,
    /// Process that started this one; the console ends with it
    #[arg(long, value_name = "PID")]
    pub supervisor: Option<u32>,
}

impl ConsoleArgs {
    /// What the console is told, with what its connections are and what a proxy is believed. To be called after rights were given
    /// up.
    ///
    /// # Errors
    /// If there is no directory for captures.
    pub fn config(
        &self,
        transport: Transport,
        (proxy_users, oidc): (Option<ProxyUsers>, Option<OidcConfig>),
    ) -> Result<ConsoleConfig, Failure> {
        Ok(ConsoleConfig {
            listen: self.listen.config(transport),
            proxy_users,
            data: self.data.directory()?,
            scripts: self.scripts.scripts.map_or_else(ScriptUsers::default, ScriptUsers::from),
            allow_unsafe_scripts: self.scripts.allow_unsafe_scripts,
            commands: self.commands.commands.clone().unwrap_or_default(),
            allow_shares: self.shares.allow_shares,
            retention: self.keep.rule(),
            outbound: self.outbound.targets(),
            oidc,
            // Who was given a user to become was started by root.
            starter_uid: self.uid.is_none().then(|| rustix::process::geteuid().as_raw()),
        })
    }
}

/// What scripts may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scripts {
    /// None runs.
    Off,
    /// They observe.
    Observe,
    /// Those that ask for it may change what they observe.
    Change,
}

impl Scripts {
    /// Gives this to an agent that is started.
    pub fn pass_on(self, command: &mut std::process::Command) {
        let what = match self {
            Self::Off => "off",
            Self::Observe => "observe",
            Self::Change => "change",
        };
        command.args(["--scripts", what]);
    }
}

impl From<Scripts> for ScriptRights {
    fn from(scripts: Scripts) -> Self {
        match scripts {
            Scripts::Off => Self::Off,
            Scripts::Observe => Self::Observe,
            Scripts::Change => Self::Change,
        }
    }
}
