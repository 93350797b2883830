//! Opening programs and libraries: for the console, which looks up their symbols, and again to probe them.
//!
//! The console may be anybody by now, and the agent may read everything. So what it can get this way is only what is a
//! program: a regular file with the head of an ELF executable or shared object. Dumps of memory (`ET_CORE`), keys, logs
//! and anything else are not handed out. Files of the kernel's own file systems are not even opened, since reading some
//! of them has effects. Links are followed as the process itself would, but for those of `/proc` that lead out of its root.
//!
//! What is probed may be any regular file, since nothing of it is handed out: code can be mapped from an archive, or from a file
//! without a head. The console must have found it with rights of its own then.

use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
};

use bathyscope_capture::visible;
use bathyscope_protocol::{AgentError, AgentErrorKind};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

use super::files::{ProcessFolder, open_within_time, reopen_regular};
use crate::{
    error::{failed, refused, words},
    host_requests::UserFile,
    needs::Need,
};

/// Bytes of the head of a 64-bit ELF file; no program is shorter.
const ELF_HEAD_BYTES: i64 = 64;
/// File systems of the kernel's own, by the number that statfs(2) gives: proc, sysfs, tracefs, debugfs, securityfs,
/// cgroup, cgroup2, bpf, configfs, efivarfs, pstore, selinuxfs.
const KERNEL_FILE_SYSTEMS: [u32; 12] = [
    0x9fa0,
    0x6265_6572,
    0x7472_6163,
    0x6462_6720,
    0x7363_6673,
    0x0027_e0eb,
    0x6367_7270,
    0xcafe_4a11,
    0x6265_6570,
    0xde5e_81e4,
    0x6165_676c,
    0xf97c_ff8c,
];

/// Opens a program or library by an absolute path, through the root of a process if one is given.
pub(crate) fn open_user_file(path: &str, in_process: Option<u32>) -> Result<UserFile, AgentError> {
    open(path, in_process, Wanted::Program)
}

/// Opens the file of an attach point again, which must be the one that the console found.
pub(crate) fn open_same(file: &bathyscope_plan::UserFile) -> Result<OwnedFd, AgentError> {
    let opened = open(&file.path, file.in_process, Wanted::Any)?;
    if (opened.device, opened.inode) == (file.device, file.inode) {
        return Ok(opened.file);
    }
    let doing = format!("opening {}", visible(file.path.as_bytes()));
    let why = "it was replaced while the script was prepared";
    Err(failed(AgentErrorKind::NotFound, doing, why, "Start the script again."))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// It is handed out.
    Program,
    /// The kernel gets it, and nobody else.
    Any,
}

fn open(path: &str, in_process: Option<u32>, wanted: Wanted) -> Result<UserFile, AgentError> {
    let doing = format!("opening {}", visible(path.as_bytes()));
    let process = in_process.map(ProcessFolder::open).transpose()?;
    let relative = path.trim_start_matches('/').to_owned();
    let opened = open_within_time(doing.clone(), move || Ok(open_checked(process.as_ref(), &relative, wanted)))?;
    opened.map_err(|trouble| trouble.told(doing))
}

/// Why a file is not handed out.
enum Trouble {
    Io(io::Error),
    NotRegular,
    NotProgram,
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Trouble {
    fn told(self, doing: String) -> AgentError {
        match self {
            Self::Io(error) if error.raw_os_error() == Some(libc::ELOOP) => failed(
                AgentErrorKind::Invalid,
                doing,
                "it leads through a link of /proc, or through too many links",
                "Give the path as the process sees it, and the process.",
            ),
            Self::Io(error) if error.raw_os_error() == Some(libc::ENOENT) => {
                failed(AgentErrorKind::NotFound, doing, words(&error), "Check the path.")
            }
            Self::Io(error) => refused(doing, &error, Need::Files),
            Self::NotRegular => failed(AgentErrorKind::Invalid, doing, "it is not a regular file", ""),
            Self::NotProgram => failed(
                AgentErrorKind::Invalid,
                doing,
                "it is no program or shared library (ELF of 64 bits)",
                "Scripts are traced in the program that interprets them.",
            ),
        }
    }
}

fn open_checked(process: Option<&ProcessFolder>, relative: &str, wanted: Wanted) -> Result<UserFile, Trouble> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = match process {
        Some(process) => rustix::fs::openat(&process.directory, "root", flags, Mode::empty()),
        None => rustix::fs::open("/", flags, Mode::empty()),
    };
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let found = rustix::fs::openat2(
        &root.map_err(io::Error::from)?,
        relative,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        resolve,
    );
    let found = found.map_err(io::Error::from)?;
    let stat = rustix::fs::fstat(&found).map_err(io::Error::from)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Trouble::NotRegular);
    }
    let file_system = rustix::fs::fstatfs(&found).map_err(io::Error::from)?.f_type as u32;
    if stat.st_size < ELF_HEAD_BYTES || KERNEL_FILE_SYSTEMS.contains(&file_system) {
        return Err(Trouble::NotProgram);
    }
    let file = reopen_regular(&found, |_stat| Ok(()))?;
    if wanted == Wanted::Program {
        let mut head = [0; 20];
        let got = rustix::io::pread(&file, &mut head, 0).map_err(io::Error::from)?;
        if got < head.len() || !is_program(&head) {
            return Err(Trouble::NotProgram);
        }
    }
    Ok(UserFile { file, device: stat.st_dev, inode: stat.st_ino, bytes: stat.st_size.unsigned_abs() })
}

/// Whether the first bytes are those of an executable or shared object of this kind of machine: 64 bits, little endian.
fn is_program(head: &[u8; 20]) -> bool {
    const EXECUTABLE: u8 = 2;
    const SHARED: u8 = 3;
    head.starts_with(b"\x7fELF\x02\x01") && matches!(head, [.., EXECUTABLE | SHARED, 0, _, _])
}

/// A path of an open file that the kernel can be given: it leads to this file even if its name is another's by now.
pub(crate) fn path_of(file: &OwnedFd) -> std::ffi::CString {
    // There is no NUL in a number.
    std::ffi::CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(path: &str, in_process: Option<u32>) -> Result<u64, AgentErrorKind> {
        open_user_file(path, in_process).map(|opened| opened.bytes).map_err(|error| error.kind)
    }

    #[test]
    fn p26_only_programs_are_handed_out() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let own = std::env::current_exe().unwrap();
        assert!(kind(own.to_str().unwrap(), None).unwrap() > 1000);
        std::os::unix::fs::symlink(&own, at("link")).unwrap();
        assert!(kind(&at("link"), Some(std::process::id())).unwrap() > 1000);
        let head = |kind: u8| [b"\x7fELF\x02\x01\x01".as_slice(), &[0; 9], &[kind, 0, 62, 0], &[0; 60]].concat();
        for (name, content) in [
            ("core", head(4)),
            ("object", head(1)),
            ("text", b"root:x:0:0:".repeat(10)),
            ("short", b"\x7fELF".to_vec()),
        ] {
            std::fs::write(at(name), content).unwrap();
            assert_eq!(kind(&at(name), None), Err(AgentErrorKind::Invalid), "{name}");
        }
        std::fs::write(at("program"), head(2)).unwrap();
        assert_eq!(kind(&at("program"), None), Ok(80));
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        for other in [at("pipe"), at("."), "/dev/zero".to_owned(), "/proc/self/environ".to_owned()] {
            assert!(kind(&other, None).is_err(), "{other}");
        }
        assert_eq!(kind(&at("none"), None), Err(AgentErrorKind::NotFound));
        assert_eq!(kind("/proc/self/exe", None), Err(AgentErrorKind::Invalid));
        assert_eq!(kind(&at("program"), Some(u32::MAX)), Err(AgentErrorKind::NotFound));
    }

    #[test]
    fn p26_a_replaced_file_is_not_the_one_that_was_found() {
        let own = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
        let found = open_user_file(&own, None).unwrap();
        let file =
            |inode| bathyscope_plan::UserFile { path: own.clone(), in_process: None, device: found.device, inode };
        assert!(open_same(&file(found.inode)).is_ok());
        // What is probed need not be a program: nobody reads it.
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("archive.zip");
        std::fs::write(&archive, b"PK".repeat(100)).unwrap();
        let stat = rustix::fs::stat(&archive).unwrap();
        let path = archive.to_str().unwrap().to_owned();
        let archive = bathyscope_plan::UserFile { path, in_process: None, device: stat.st_dev, inode: stat.st_ino };
        assert!(open_same(&archive).is_ok());
        assert_eq!(open_same(&file(found.inode + 1)).unwrap_err().kind, AgentErrorKind::NotFound);
    }
}
