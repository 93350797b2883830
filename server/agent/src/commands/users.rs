//! Users as the system's own name service knows them.

use std::ffi::{CStr, CString};

/// A user, with everything that running a program as that user takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    /// Its number.
    pub(crate) uid: u32,
    /// Its own group.
    pub(crate) gid: u32,
    /// All of its groups.
    pub(crate) groups: Vec<u32>,
    /// Its name.
    pub(crate) name: CString,
    /// Its home.
    pub(crate) home: CString,
}

/// Room for one entry of the user database.
const ENTRY_BYTES: usize = 64 << 10;
/// The most groups of a user that are looked at; the kernel's own limit.
const MAX_GROUPS: usize = 65_536;

impl User {
    /// Finds a user by name, or by number if the name is one.
    pub(crate) fn find(name_or_number: &str) -> Option<Self> {
        let name = CString::new(name_or_number).ok()?;
        // SAFETY: `name` ends in NUL and lives until the call returns; the other arguments are as `lookup` says.
        let by_name =
            lookup(|entry, room, bytes, found| unsafe { libc::getpwnam_r(name.as_ptr(), entry, room, bytes, found) });
        by_name.or_else(|| Self::of_uid(name_or_number.parse().ok()?))
    }

    /// Finds a user by number. A number without an entry is a user without a name, groups or home.
    pub(crate) fn of_uid(uid: u32) -> Option<Self> {
        // -1 means "leave as it is" to the calls that change users.
        if uid == u32::MAX {
            return None;
        }
        let known = Self::account(uid);
        let name = CString::new(uid.to_string()).ok()?;
        Some(known.unwrap_or_else(|| Self { uid, gid: uid, groups: vec![uid], name, home: c"/".to_owned() }))
    }
}

impl User {
    /// Whether a number has an entry.
    pub(crate) fn has_account(uid: u32) -> bool {
        Self::account(uid).is_some()
    }

    fn account(uid: u32) -> Option<Self> {
        // SAFETY: a plain number; the other arguments are as `lookup` says.
        lookup(|entry, room, bytes, found| unsafe { libc::getpwuid_r(uid, entry, room, bytes, found) })
    }
}

type PasswdEntry = *mut libc::passwd;

fn lookup(call: impl Fn(PasswdEntry, *mut libc::c_char, usize, *mut PasswdEntry) -> libc::c_int) -> Option<User> {
    let mut room = vec![0 as libc::c_char; ENTRY_BYTES];
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::zeroed();
    let mut found: PasswdEntry = std::ptr::null_mut();
    if call(entry.as_mut_ptr(), room.as_mut_ptr(), room.len(), &raw mut found) != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the call succeeded and `found` points to `entry`, which it has filled in.
    let entry = unsafe { entry.assume_init_ref() };
    let text = |pointer: *const libc::c_char| {
        // SAFETY: the strings of a found entry end in NUL and live in `room`, which lives until the end of `lookup`.
        (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_owned())
    };
    let (name, home) = (text(entry.pw_name)?, text(entry.pw_dir)?);
    let groups = groups_of(&name, entry.pw_gid);
    let home = if home.is_empty() { c"/".to_owned() } else { home };
    Some(User { uid: entry.pw_uid, gid: entry.pw_gid, groups, name, home })
}

fn groups_of(name: &CStr, gid: u32) -> Vec<u32> {
    let mut count: libc::c_int = 64;
    loop {
        let mut groups = vec![0 as libc::gid_t; usize::try_from(count).unwrap_or(0)];
        // SAFETY: `name` ends in NUL; `groups` has room for `count` numbers, and `count` is set to how many there are.
        let result = unsafe { libc::getgrouplist(name.as_ptr(), gid, groups.as_mut_ptr(), &raw mut count) };
        let found = usize::try_from(count).unwrap_or(0);
        if result >= 0 {
            groups.truncate(found);
            return groups;
        }
        if found <= groups.len() || found > MAX_GROUPS {
            return vec![gid];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_number() {
        let root = User::find("root").unwrap();
        assert_eq!((root.uid, root.gid, root.name.as_c_str()), (0, 0, c"root"));
        assert!(root.groups.contains(&0));
        assert_eq!(User::find("0").unwrap(), root);
        assert_eq!(User::find("no-such-user-here"), None);
        assert_eq!(User::find("4294967295"), None);
        let unnamed = User::find("4000000001").unwrap();
        assert_eq!((unnamed.uid, unnamed.gid, unnamed.home.as_c_str()), (4_000_000_001, 4_000_000_001, c"/"));
    }
}
