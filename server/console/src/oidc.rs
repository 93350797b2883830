//! By which OpenID Connect provider people log in, and what its groups may do. How it is asked is in `http/sign_in`.

use std::{fmt, path::Path, str::FromStr};

use bathyscope_store::Role;
use openidconnect::IssuerUrl;

use crate::{Failure, outbound::OutboundTargets, proxy_users::GroupRole, public_url::PublicUrl};

/// The largest file with a secret.
const SECRET_FILE_BYTES: u64 = 4096;
/// The longest name of the provider.
const NAME_CHARS: usize = 40;

/// The claim that is a person's name here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserClaim {
    /// `preferred_username`.
    #[default]
    PreferredUsername,
    /// `email`, if the provider says that it was verified.
    Email,
}

/// A text that is none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is preferred_username or email")]
pub struct ParseUserClaimError;

impl FromStr for UserClaim {
    type Err = ParseUserClaimError;

    fn from_str(text: &str) -> Result<Self, ParseUserClaimError> {
        match text {
            "preferred_username" => Ok(Self::PreferredUsername),
            "email" => Ok(Self::Email),
            _ => Err(ParseUserClaimError),
        }
    }
}

impl fmt::Display for UserClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PreferredUsername => "preferred_username",
            Self::Email => "email",
        })
    }
}

/// What the provider knows this console by. It is not shown in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct OidcSecret(String);

impl fmt::Debug for OidcSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OidcSecret(…)")
    }
}

impl OidcSecret {
    /// What stands in a file, without white space around it. To be called while it may be read.
    ///
    /// # Errors
    /// If it cannot be read, or is empty.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        use std::io::Read as _;
        let doing = || format!("reading the secret of the sign-in in {}", path.display());
        let mut text = String::new();
        let read = std::fs::File::open(path).and_then(|file| file.take(SECRET_FILE_BYTES).read_to_string(&mut text));
        read.map_err(|error| Failure::because(doing(), error))?;
        let secret = text.trim();
        if secret.is_empty() {
            return Err(Failure::new(format!("{}: it is empty", doing()))
                .remedy("Put the secret into it that the provider shows for this client."));
        }
        Ok(Self(secret.to_owned()))
    }

    /// A secret by its text.
    pub fn of(secret: &str) -> Self {
        Self(secret.to_owned())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

/// Which provider, and what is believed of what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcConfig {
    /// The provider: its issuer, exactly as it writes it.
    pub issuer: String,
    /// By which it knows this console.
    pub client_id: String,
    /// With which this console proves that; none for a client without a secret.
    pub client_secret: Option<OidcSecret>,
    /// What people call it.
    pub name: String,
    /// The claim that is a person's name here.
    pub user_claim: UserClaim,
    /// The claim that says of which groups they are: a list of texts, or one.
    pub groups_claim: String,
    /// What members of groups may do.
    pub group_roles: Vec<GroupRole>,
    /// What is asked for beside `openid`.
    pub scopes: Vec<String>,
    /// By which others reach this console.
    pub public_url: PublicUrl,
}

impl OidcConfig {
    /// Checks what can be checked without asking the provider.
    ///
    /// # Errors
    /// If the issuer is no address, or nobody may connect to it; or a name is none.
    pub fn check(&self, targets: &OutboundTargets) -> Result<(), Failure> {
        let doing = || format!("setting up the login by {}", self.issuer.escape_default());
        IssuerUrl::new(self.issuer.clone()).map_err(|error| Failure::because(doing(), error))?;
        targets.target(&self.issuer).map_err(|error| {
            Failure::because(doing(), error)
                .remedy("List the provider with --outbound-allow HOST, or with --outbound-private HOST if it is on a private network.")
        })?;
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '.' | '_' | '-' | '&' | '\'');
        let chars = self.name.chars().count();
        if !(1..=NAME_CHARS).contains(&chars) || !self.name.chars().all(is_plain) {
            return Err(Failure::new(format!(
                "{}: --oidc-name is 1 to {NAME_CHARS} letters, digits and spaces",
                doing()
            )));
        }
        Ok(())
    }

    /// The most that these groups may do; none if none of them is listed.
    pub(crate) fn role_of<'a>(&self, groups: impl Iterator<Item = &'a str>) -> Option<Role> {
        groups.filter_map(|group| self.group_roles.iter().filter_map(|known| known.role_of(group)).max()).max()
    }
}
