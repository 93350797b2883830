//! To whom connections are made: nobody, unless hosts are listed.

use std::path::PathBuf;

use bathyscope_console::config::{OutboundHost, OutboundTargets};
use clap::Args;

/// To whom connections are made.
#[derive(Clone, Debug, Default, Args)]
pub struct OutboundArgs {
    /// Host that a process of its own may connect to, for webhooks and sign-in; port 443 unless it is given, public addresses only; repeatable. Without one nothing connects to others
    #[arg(long, value_name = "HOST[:PORT]", env = "BATHYSCOPE_OUTBOUND_ALLOW", value_delimiter = ',')]
    pub outbound_allow: Vec<OutboundHost>,
    /// The same for a host on a private network or this one, also without TLS (http://); repeatable
    #[arg(long, value_name = "HOST[:PORT]", env = "BATHYSCOPE_OUTBOUND_PRIVATE", value_delimiter = ',')]
    pub outbound_private: Vec<OutboundHost>,
    /// Certificates of authorities that are trusted beside those that this host trusts: a PEM file, read at the start; repeatable
    #[arg(long, value_name = "FILE", env = "BATHYSCOPE_OUTBOUND_CA", value_delimiter = ',')]
    pub outbound_ca: Vec<PathBuf>,
}

impl OutboundArgs {
    /// The hosts.
    pub fn targets(&self) -> OutboundTargets {
        OutboundTargets { public: self.outbound_allow.clone(), private: self.outbound_private.clone() }
    }

    /// Gives the same options to another process of this binary.
    pub fn pass_on(&self, command: &mut std::process::Command) {
        for (option, hosts) in
            [("--outbound-allow", &self.outbound_allow), ("--outbound-private", &self.outbound_private)]
        {
            for host in hosts {
                command.args([option, &host.to_string()]);
            }
        }
        for file in &self.outbound_ca {
            command.arg("--outbound-ca").arg(file);
        }
    }
}
