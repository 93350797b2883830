//! Users of this system, as `/etc/passwd` has them.

use crate::Failure;

/// A user to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its number.
    pub uid: u32,
    /// The number of its own group.
    pub gid: u32,
}

/// The users that the console runs as where none is named, in this order.
const DEFAULTS: [&str; 2] = ["bathyscope", "nobody"];

fn find(passwd: &str, wanted: &str) -> Option<Account> {
    passwd.lines().find_map(|line| {
        let mut columns = line.split(':');
        let (name, _password) = (columns.next()?, columns.next()?);
        let account = Account { uid: columns.next()?.parse().ok()?, gid: columns.next()?.parse().ok()? };
        (name == wanted).then_some(account)
    })
}

/// The user that the console becomes: the one called `name`, else a default; none where it keeps the user that started
/// it, because only root can change users.
///
/// # Errors
/// If there is no such user, or it is root.
pub fn console_account(name: Option<&str>) -> Result<Option<Account>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return match name {
            None => Ok(None),
            Some(_) => Err(Failure::new("--user is given, and only root can change users")
                .remedy("Leave it out, or start Bathyscope as root.")),
        };
    }
    let passwd = std::fs::read_to_string("/etc/passwd")
        .map_err(|error| Failure::because("reading /etc/passwd to find a user for the console", error))?;
    choose(&passwd, name).map(Some)
}

fn choose(passwd: &str, name: Option<&str>) -> Result<Account, Failure> {
    let account = match name {
        Some(name) => find(passwd, name).ok_or_else(|| {
            let name = bathyscope_capture::visible(name.as_bytes());
            Failure::new(format!("there is no user `{name}` for the console in /etc/passwd"))
                .remedy("Create it, or name another one with --user.")
        }),
        None => DEFAULTS.iter().find_map(|name| find(passwd, name)).ok_or_else(|| {
            Failure::new("there is neither a user `bathyscope` nor `nobody` for the console to run as")
                .remedy("Name one with --user.")
        }),
    }?;
    if account.uid == 0 || account.gid == 0 {
        return Err(Failure::new("the console must not run as root, or in root's group")
            .remedy("Name another user with --user; it needs no rights."));
    }
    Ok(account)
}

/// Who started this, through sudo too: the user that traced commands run as where no other is asked for.
pub fn invoking_uid() -> u32 {
    let own = rustix::process::getuid();
    let through_sudo = || std::env::var("SUDO_UID").ok()?.parse().ok();
    if own.is_root() { through_sudo().unwrap_or(0) } else { own.as_raw() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\n\
        toor:x:1000:0::/:/bin/sh\n\
        broken\n\
        nobody:x:65534:65534:nobody:/:/bin/false\n\
        ann:x:1001:1002::/home/ann:/bin/sh\n";

    #[test]
    fn the_console_gets_a_user_without_rights() {
        let account = |uid, gid| Some(Account { uid, gid });
        let cases = [
            (PASSWD, None, account(65534, 65534)),
            (PASSWD, Some("ann"), account(1001, 1002)),
            (PASSWD, Some("root"), None),
            (PASSWD, Some("toor"), None),
            (PASSWD, Some("an"), None),
            ("bathyscope:x:9:9::/:\nnobody:x:8:8::/:", None, account(9, 9)),
            ("", None, None),
        ];
        for (passwd, name, expected) in cases {
            assert_eq!(choose(passwd, name).ok(), expected, "{name:?}");
        }
    }
}
