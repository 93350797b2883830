//! `login-link`: another link that logs in once.

use std::{io::Write as _, process::ExitCode};

use bathyscope_store::Role;
use clap::{Args, ValueEnum};

use crate::{Failure, Outcome, config::DataArgs, control, http::LOGIN_LINK_S};

/// What `login-link` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "The link works once, within an hour. Captures belong to the name that it carries.")]
pub struct LoginLinkArgs {
    /// What the link's user may do
    #[arg(long, value_enum, default_value_t = RoleArg::Admin)]
    pub role: RoleArg,
    /// Name of the link's user: letters, digits and . _ - @ [default: the role's name]
    #[arg(long, value_name = "NAME", value_parser = user_name)]
    pub user: Option<String>,
    /// Where the running console keeps its captures.
    #[command(flatten)]
    pub data: DataArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What a person may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// Read captures
    Viewer,
    /// Also start, stop and delete own captures
    Operator,
    /// Everything
    Admin,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Viewer => Self::Viewer,
            RoleArg::Operator => Self::Operator,
            RoleArg::Admin => Self::Admin,
        }
    }
}

fn user_name(text: &str) -> Result<String, String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'@');
    if (1..=64).contains(&text.len()) && text.bytes().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("a name is 1 to 64 letters, digits and . _ - @".to_owned())
    }
}

/// Prints the link.
///
/// # Errors
/// If no console runs on that directory.
pub fn run(args: LoginLinkArgs) -> Outcome {
    let role = Role::from(args.role);
    let user = args.user.unwrap_or_else(|| role.as_str().to_owned());
    let url = control::login_link(&args.data.directory()?, &user, role)?;
    let line = if args.json {
        serde_json::json!({ "url": url, "user": user, "role": role, "expires_in_s": LOGIN_LINK_S }).to_string()
    } else {
        url
    };
    writeln!(std::io::stdout(), "{line}").map_err(|error| Failure::because("printing the link", error))?;
    Ok(ExitCode::SUCCESS)
}
