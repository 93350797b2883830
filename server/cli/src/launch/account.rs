//! Users of this system, as `/etc/passwd` has them.

use std::{
    collections::BTreeSet,
    fs::{File, Metadata, TryLockError},
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::{Duration, Instant},
};

use super::directories::LOCK;
use crate::Failure;

/// A user to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its number.
    pub uid: u32,
    /// The number of its own group.
    pub gid: u32,
}

/// The account that a package makes for the console.
const PACKAGED: &str = "bathyscope";
/// Numbers of the console's user where there is no account for it: one that no account and no process has is taken, and
/// kept as the owner of the directory of captures. No distribution gives them away, and they exist in containers too.
const OWN_UIDS: std::ops::RangeInclusive<u32> = 60_800..=60_899;
/// The user that programs share which have nothing in common, and the console's in earlier versions.
const NOBODY: u32 = 65_534;

fn find(passwd: &str, wanted: &str) -> Option<Account> {
    passwd.lines().find_map(|line| {
        let mut columns = line.split(':');
        let (name, _password) = (columns.next()?, columns.next()?);
        let account = Account { uid: columns.next()?.parse().ok()?, gid: columns.next()?.parse().ok()? };
        (name == wanted).then_some(account)
    })
}

/// What is known of the users of a host.
trait Users {
    /// Whether there is an account of this number.
    fn has_account(&self, uid: u32) -> bool;
    /// Whether a process has it.
    fn has_process(&self, uid: u32) -> bool;
}

/// How long the last processes of an earlier console may take to end.
const LEAVING: Duration = Duration::from_millis(500);
/// How often it is looked for them.
const LEAVING_LOOK: Duration = Duration::from_millis(10);

/// Those of this host.
struct Host {
    busy: BTreeSet<u32>,
}

impl Host {
    fn look() -> Self {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let pids =
            entries.filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()));
        let statuses = pids.filter_map(|entry| std::fs::read_to_string(entry.path().join("status")).ok());
        // One that has ended and that nobody has waited for does nothing any more.
        let statuses = statuses.filter(|status| !status.contains("\nState:\tZ") && !status.contains("\nState:\tX"));
        let uids = |status: String| {
            let line = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
            line.split_ascii_whitespace().filter_map(|uid| uid.parse().ok()).collect::<Vec<u32>>()
        };
        Self { busy: statuses.flat_map(uids).collect() }
    }

    /// Those of this host, once what an earlier console of the directory's owner has started is gone: its number is free then.
    fn without_leavers(owner: Option<(u32, bool)>) -> Self {
        let end = Instant::now() + LEAVING;
        loop {
            let host = Self::look();
            let is_taken = owner.is_some_and(|(uid, in_use)| is_own(&host, uid) && !in_use && host.has_process(uid));
            if !is_taken || Instant::now() >= end {
                return host;
            }
            std::thread::sleep(LEAVING_LOOK);
        }
    }
}

impl Users for Host {
    fn has_account(&self, uid: u32) -> bool {
        bathyscope_agent::has_account(uid)
    }

    fn has_process(&self, uid: u32) -> bool {
        self.busy.contains(&uid)
    }
}

/// The user that the console becomes: the one called `name`, else one of its own. None where it keeps the user that started
/// it, because only root can change users. `data` is the directory of captures, if there is one, whose owner is kept.
///
/// # Errors
/// If there is no such user, it is root or shared with others, or no number is free.
pub fn console_account(name: Option<&str>, data: Option<&Path>) -> Result<Option<Account>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return match name {
            None => Ok(None),
            Some(_) => Err(Failure::new("--user is given, and only root can change users")
                .remedy("Leave it out, or start Bathyscope as root.")),
        };
    }
    // Where it is missing there is no named account.
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    if let Some(account) = named(&passwd, name)? {
        return Ok(Some(account));
    }
    let owner = data.and_then(owner_of);
    let random = getrandom::u32()
        .map_err(|error| Failure::because("choosing a user for the console", std::io::Error::other(error)))?;
    own(&Host::without_leavers(owner), owner, random).map(Some)
}

/// The owner of the directory of captures, and whether a process works on what is in it.
fn owner_of(data: &Path) -> Option<(u32, bool)> {
    let meta = std::fs::symlink_metadata(data).ok().filter(Metadata::is_dir)?;
    let in_use = File::open(data.join(LOCK)).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)));
    Some((meta.uid(), in_use))
}

/// The account that is asked for, or that a package made.
fn named(passwd: &str, name: Option<&str>) -> Result<Option<Account>, Failure> {
    let account = match name {
        Some(name) => find(passwd, name).map(Some).ok_or_else(|| {
            let name = bathyscope_capture::visible(name.as_bytes());
            Failure::new(format!("there is no user `{name}` for the console in /etc/passwd"))
                .remedy("Create it, or leave --user out: then a number that nobody else has is taken.")
        })?,
        None => find(passwd, PACKAGED),
    };
    match account {
        Some(account) if account.uid == 0 || account.gid == 0 => {
            Err(Failure::new("the console must not run as root, or in root's group")
                .remedy("Name another user with --user, or leave it out; it needs no rights."))
        }
        Some(account) if account.uid == NOBODY => {
            Err(Failure::new("the console must not run as `nobody`, whom it would share with other programs")
                .remedy("Leave --user out: then a number that nobody else has is taken."))
        }
        account => Ok(account),
    }
}

/// Whether a directory's owner is the number of a console, and no account's.
fn is_own(users: &dyn Users, uid: u32) -> bool {
    uid != 0 && uid != NOBODY && !users.has_account(uid)
}

/// A number that is nobody else's: that of the directory's owner, if it is the console's own, else one of a range.
fn own(users: &dyn Users, owner: Option<(u32, bool)>, random: u32) -> Result<Account, Failure> {
    let account = |uid| Account { uid, gid: uid };
    if let Some((uid, in_use)) = owner
        && is_own(users, uid)
        // A console that runs there is told of, and keeps its directory.
        && (in_use || !users.has_process(uid))
    {
        return Ok(account(uid));
    }
    let (first, count) = (*OWN_UIDS.start(), OWN_UIDS.end() - OWN_UIDS.start() + 1);
    let tried = (0..count).map(|step| first + (random % count + step) % count);
    let free = tried.into_iter().find(|uid| !users.has_account(*uid) && !users.has_process(*uid));
    free.map(account).ok_or_else(|| {
        let (first, last) = (OWN_UIDS.start(), OWN_UIDS.end());
        Failure::new(format!("every user number from {first} to {last} has an account or a process"))
            .remedy("Create a user `bathyscope`, or name one with --user.")
    })
}

/// Whether a directory of captures that belongs to this user may be given to another one: root's, and those of the
/// console's own earlier users.
pub(super) fn may_give_away(owner: u32) -> bool {
    let own = OWN_UIDS.contains(&owner) && !bathyscope_agent::has_account(owner);
    owner == 0 || owner == NOBODY || own
}

/// The first number of people's accounts, as distributions give them; those below are the system's.
const FIRST_PERSON_UID: u32 = 1000;
/// Numbers that are given to services for as long as they run, and `nobody`.
const SERVICE_UIDS: std::ops::RangeInclusive<u32> = 61_184..=65_535;

/// The person who started this: the user behind sudo, or the login. None if that is root or a system account, or if
/// nobody logged in, as under a service manager.
pub fn starter_uid() -> Option<u32> {
    let own = rustix::process::getuid();
    if !own.is_root() {
        return Some(own.as_raw());
    }
    let sudo = std::env::var("SUDO_UID").ok();
    let login = || std::fs::read_to_string("/proc/self/loginuid").ok();
    person(&sudo.or_else(login)?)
}

/// A number in text, if it is a person's. A login that is not set is the greatest number.
fn person(uid: &str) -> Option<u32> {
    let uid = uid.trim().parse().ok()?;
    let is_person = uid >= FIRST_PERSON_UID && uid != u32::MAX && !SERVICE_UIDS.contains(&uid);
    is_person.then_some(uid)
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
    fn p54_the_console_gets_an_account_without_rights_of_its_own() {
        let account = |uid, gid| Ok(Some(Account { uid, gid }));
        let packaged = "bathyscope:x:9:9::/:\nnobody:x:65534:65534::/:";
        let cases = [
            (PASSWD, None, Ok(None)),
            (PASSWD, Some("ann"), account(1001, 1002)),
            (PASSWD, Some("root"), Err(())),
            (PASSWD, Some("toor"), Err(())),
            (PASSWD, Some("an"), Err(())),
            (PASSWD, Some("nobody"), Err(())),
            (packaged, None, account(9, 9)),
            ("", None, Ok(None)),
        ];
        for (passwd, name, expected) in cases {
            assert_eq!(named(passwd, name).map_err(|_failure| ()), expected, "{name:?}");
        }
    }

    /// Users with these accounts, and processes of these.
    struct Made(&'static [u32], Vec<u32>);

    impl Users for Made {
        fn has_account(&self, uid: u32) -> bool {
            self.0.contains(&uid)
        }

        fn has_process(&self, uid: u32) -> bool {
            self.1.contains(&uid)
        }
    }

    #[test]
    fn p54_a_number_is_nobody_elses_and_is_kept() {
        let none = || Made(&[], vec![]);
        let uid = |users: &Made, owner, random| own(users, owner, random).map(|account| account.uid).ok();
        assert_eq!(uid(&none(), None, 7), Some(60_807));
        assert_eq!(uid(&none(), Some((60_850, false)), 7), Some(60_850), "the directory's owner");
        assert_eq!(uid(&none(), Some((777, false)), 7), Some(777), "whatever its number");
        assert_eq!(uid(&Made(&[], vec![60_850]), Some((60_850, false)), 7), Some(60_807), "others have it");
        assert_eq!(uid(&Made(&[], vec![60_850]), Some((60_850, true)), 7), Some(60_850), "its console has it");
        assert_eq!(uid(&Made(&[1000], vec![]), Some((1000, false)), 7), Some(60_807), "an account");
        assert_eq!(uid(&none(), Some((0, false)), 7), Some(60_807));
        assert_eq!(uid(&none(), Some((NOBODY, false)), 7), Some(60_807));
        assert_eq!(uid(&Made(&[60_807], vec![60_808]), None, 7), Some(60_809));
        assert_eq!(uid(&Made(&[], vec![60_899]), None, 99), Some(60_800), "around");
        assert_eq!(uid(&Made(&[], OWN_UIDS.collect()), None, 3), None);
    }

    #[test]
    fn p51_only_a_person_lends_its_name_to_commands() {
        let cases = [("1000", Some(1000)), ("1000\n", Some(1000)), ("100000", Some(100_000))];
        for (uid, expected) in cases {
            assert_eq!(person(uid), expected, "{uid}");
        }
        for uid in ["0", "33", "999", "61184", "65534", "4294967295", "-1", "", "root"] {
            assert_eq!(person(uid), None, "{uid}");
        }
    }
}
