//! Starting the processes that do one thing for another one: the reader of files for the console, and what makes files for
//! `strace`.

use std::{
    ffi::OsStr,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::Path,
    process::{Command, Stdio},
};

/// Starts it, from `program`, which is this one: as the user `uid` and group `gid`, as the console becomes, with `socket` as
/// standard input. It ends when the other end of that is closed, and is waited for by nobody.
///
/// # Errors
/// If it cannot be started.
pub fn start_reader(program: &Path, uid: Option<u32>, gid: Option<u32>, socket: OwnedFd) -> io::Result<()> {
    let mut command = Command::new(program);
    command.arg0("bathyscope").arg("reader").args(["--parent", &std::process::id().to_string()]);
    for (option, id) in [("--uid", uid), ("--gid", gid)] {
        if let Some(id) = id {
            command.args([option, &id.to_string()]);
        }
    }
    command.stdin(Stdio::from(socket)).stdout(Stdio::null()).spawn().map(drop)
}

/// Starts what makes the files of `strace -ff` in `folder`, with `socket` as standard input. It ends when the other end of that
/// is closed, and is waited for by nobody.
///
/// # Errors
/// If it cannot be started.
pub fn start_file_maker(socket: OwnedFd, folder: OwnedFd, name: &OsStr, append: bool) -> io::Result<()> {
    let mut command = super::this_binary("file-maker");
    command.args(["--parent", &std::process::id().to_string()]).arg("--name").arg(name);
    if append {
        command.arg("--append");
    }
    command.stdin(Stdio::from(socket)).stdout(Stdio::from(folder)).spawn().map(drop)
}
