//! Files that a process has mapped which has ended since: found again by their names, if they are still the same.

use std::os::fd::OwnedFd;

use bathyscope_symbols::FileResolver;

use super::{AgentLink, mappings::FileKey};

/// The file of that name on the host, if it is the one that was mapped: the same name can be another file by now, or in
/// another mount namespace.
pub fn open_by_name(link: &AgentLink, key: &FileKey, name: &[u8]) -> Option<OwnedFd> {
    let path = std::str::from_utf8(name).ok().filter(|path| path.starts_with('/'))?.to_owned();
    let opened = link.call_blocking(move |client| client.open_user_file(&path, None)).ok()?;
    let is_same = match key {
        FileKey::BuildId(id) => FileResolver::build_id(&opened.file).is_ok_and(|found| found == *id),
        FileKey::Inode { device: (major, minor), inode } => {
            let device = (rustix::fs::major(opened.device), rustix::fs::minor(opened.device));
            device == (*major, *minor) && opened.inode == *inode
        }
    };
    is_same.then_some(opened.file)
}
