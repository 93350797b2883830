//! By which OpenID Connect provider people log in: none, unless one is named.

use std::path::PathBuf;

use bathyscope_console::config::{GroupRole, OidcConfig, OidcSecret, UserClaim};
use clap::Args;

use super::ListenArgs;
use crate::Failure;

/// By which provider people log in.
#[derive(Clone, Debug, Default, Args)]
pub struct OidcArgs {
    /// OpenID Connect provider by which people log in: its issuer, as it writes it; its host is to be listed with --outbound-allow
    #[arg(
        long,
        value_name = "URL",
        env = "BATHYSCOPE_OIDC_ISSUER",
        requires = "oidc_client_id",
        requires = "public_url"
    )]
    pub oidc_issuer: Option<String>,
    /// By which the provider knows this console; there /oidc/callback behind --public-url is the address to come back to
    #[arg(long, value_name = "ID", env = "BATHYSCOPE_OIDC_CLIENT_ID", requires = "oidc_issuer")]
    pub oidc_client_id: Option<String>,
    /// File with the secret that the provider gave to this client; without one it is a client that has none
    #[arg(long, value_name = "FILE", env = "BATHYSCOPE_OIDC_CLIENT_SECRET", requires = "oidc_issuer")]
    pub oidc_client_secret: Option<PathBuf>,
    /// What people call the provider: the button of the login page says it
    #[arg(long, value_name = "NAME", env = "BATHYSCOPE_OIDC_NAME", default_value = "single sign-on")]
    pub oidc_name: String,
    /// Claim that is a person's name here: preferred_username, or email if the provider has verified it
    #[arg(long, value_name = "CLAIM", env = "BATHYSCOPE_OIDC_USER_CLAIM", default_value = "preferred_username")]
    pub oidc_user_claim: UserClaim,
    /// Claim that says of which groups they are
    #[arg(long, value_name = "CLAIM", env = "BATHYSCOPE_OIDC_GROUPS_CLAIM", default_value = "groups")]
    pub oidc_groups_claim: String,
    /// What members of a group may do, such as ops=operator; without one nobody gets an account by logging in; repeatable
    #[arg(
        long,
        value_name = "GROUP=ROLE",
        env = "BATHYSCOPE_OIDC_GROUP_ROLE",
        value_delimiter = ',',
        requires = "oidc_issuer"
    )]
    pub oidc_group_role: Vec<GroupRole>,
    /// Scope that is asked for beside openid, profile and email, such as groups; repeatable
    #[arg(long, value_name = "SCOPE", env = "BATHYSCOPE_OIDC_SCOPE", value_delimiter = ',', requires = "oidc_issuer")]
    pub oidc_scope: Vec<String>,
}

impl OidcArgs {
    /// Which provider. Reads its secret, if there is one: to be called while that is allowed.
    ///
    /// # Errors
    /// If the secret cannot be read, or something is missing.
    pub fn provider(&self, listen: &ListenArgs) -> Result<Option<OidcConfig>, Failure> {
        let Some(issuer) = self.oidc_issuer.clone() else { return Ok(None) };
        let missing = |what: &str| Failure::new(format!("people cannot log in by {issuer}: {what} is missing"));
        let usual = ["profile", "email"].map(str::to_owned);
        Ok(Some(OidcConfig {
            client_id: self.oidc_client_id.clone().ok_or_else(|| missing("--oidc-client-id"))?,
            client_secret: self.oidc_client_secret.as_deref().map(OidcSecret::read).transpose()?,
            name: self.oidc_name.clone(),
            user_claim: self.oidc_user_claim,
            groups_claim: self.oidc_groups_claim.clone(),
            group_roles: self.oidc_group_role.clone(),
            scopes: usual.into_iter().chain(self.oidc_scope.iter().cloned()).collect(),
            public_url: listen.public_url.clone().ok_or_else(|| missing("--public-url"))?,
            issuer,
        }))
    }

    /// Gives the same options to another process of this binary.
    pub fn pass_on(&self, command: &mut std::process::Command) {
        let Some(issuer) = &self.oidc_issuer else { return };
        command.args(["--oidc-issuer", issuer, "--oidc-name", &self.oidc_name]);
        command.args(["--oidc-user-claim", &self.oidc_user_claim.to_string()]);
        command.args(["--oidc-groups-claim", &self.oidc_groups_claim]);
        if let Some(id) = &self.oidc_client_id {
            command.args(["--oidc-client-id", id]);
        }
        if let Some(file) = &self.oidc_client_secret {
            command.arg("--oidc-client-secret").arg(file);
        }
        for role in &self.oidc_group_role {
            command.args(["--oidc-group-role", &role.to_string()]);
        }
        for scope in &self.oidc_scope {
            command.args(["--oidc-scope", scope]);
        }
    }
}
