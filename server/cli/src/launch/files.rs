//! Which files the console may open by name, and which ports it may use (Landlock): less than its user may.

use std::{
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};

use crate::Failure;

/// The newest rules that are asked for; a kernel that has fewer enforces those that it has.
const NEWEST: ABI = ABI::V6;

/// What is read, with all below it: facts of the kernel and of processes, and where programs, their debug information and time
/// zones are. A program elsewhere is read from a private copy of the agent's descriptor.
const READ: [&str; 8] = ["/proc", "/sys", "/usr", "/opt", "/bin", "/sbin", "/lib", "/lib64"];
/// Single files that are read: names of users, the linker's cache, the time zone, and what `/dev` has for everybody.
const READ_FILES: [&str; 5] = ["/etc/passwd", "/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/urandom"];

/// Lets this process open files below `data` in every way but to execute them, read a closed list of places, listen at `port`,
/// and open nothing else by its name. Signals and abstract sockets of others are out of reach. What this kernel does not know
/// of that is not enforced, and told in the log.
///
/// # Errors
/// If the rules cannot be made.
pub fn restrict_files(data: &Path, port: u16) -> Result<(), Failure> {
    let failed = |error: RulesetError| Failure::because("limiting which files the console may open", error);
    let of_files = READ_FILES.iter().map(|path| (PathBuf::from(path), AccessFs::ReadFile.into()));
    let of_folders = READ.iter().map(|path| (PathBuf::from(path), reading()));
    let places = of_files.chain(of_folders).chain([(data.to_owned(), captures())]);
    let status = rules(places, [(port, AccessNet::BindTcp)]).map_err(failed)?;
    match status {
        LandlockStatus::Available { effective_abi, .. } if effective_abi >= NEWEST => {}
        LandlockStatus::Available { effective_abi, .. } => {
            let abi = effective_abi as i32;
            tracing::info!(abi, "this kernel's Landlock limits which files the console opens, and not all of the rest");
        }
        LandlockStatus::NotEnabled => {
            tracing::warn!("Landlock is switched off in this kernel; the console may open what its user may");
        }
        LandlockStatus::NotImplemented => {
            tracing::warn!("this kernel has no Landlock; the console may open what its user may");
        }
    }
    Ok(())
}

/// Lets this process, and what it starts, open nothing by its name but what `/proc` says about it.
///
/// # Errors
/// If the rules cannot be made.
pub fn restrict_files_of_reader() -> Result<(), Failure> {
    let failed = |error: RulesetError| Failure::because("limiting which files the reader may open", error);
    // What this kernel does not know of it the console has told.
    rules([(PathBuf::from("/proc"), reading())], []).map_err(failed).map(drop)
}

/// Where the C library reads how names become addresses. What is below `/run` is what `/etc/resolv.conf` may lead to.
const RESOLVER: [&str; 5] = ["/etc", "/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf", "/run/connman"];
/// The port of name servers.
const DNS_PORT: u16 = 53;

/// Lets this process connect to `ports`, and open nothing by its name but what names are resolved by.
///
/// # Errors
/// If the rules cannot be made.
pub fn restrict_outbound(ports: impl Iterator<Item = u16>) -> Result<(), Failure> {
    let failed = |error: RulesetError| {
        Failure::because("limiting which ports the process that connects to others may use", error)
    };
    let places = RESOLVER.map(|path| (PathBuf::from(path), AccessFs::ReadFile.into()));
    let ports = ports.chain([DNS_PORT]).map(|port| (port, AccessNet::ConnectTcp));
    // What this kernel does not know of it the console has told.
    rules(places, ports).map_err(failed).map(drop)
}

/// Lets this process write and make files below a folder, and open nothing else by its name.
///
/// # Errors
/// If the rules cannot be made.
pub(super) fn restrict_files_to(folder: &OwnedFd) -> Result<(), RulesetError> {
    let access = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::MakeReg;
    ruleset()?.add_rule(PathBeneath::new(folder, access))?.restrict_self().map(drop)
}

/// Rules that allow nothing yet.
fn ruleset() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()
}

fn reading() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir
}

/// Allows this process what is listed, and what it may do with these ports, and nothing else.
fn rules(
    places: impl IntoIterator<Item = (PathBuf, BitFlags<AccessFs>)>,
    ports: impl IntoIterator<Item = (u16, AccessNet)>,
) -> Result<LandlockStatus, RulesetError> {
    let mut ruleset = ruleset()?;
    for (port, access) in ports {
        ruleset = ruleset.add_rule(NetPort::new(port, access))?;
    }
    for (path, access) in places {
        // What is missing here needs no rule. A directory of captures that is missing is told when it is opened.
        if let Ok(path) = PathFd::new(&path) {
            ruleset = ruleset.add_rule(PathBeneath::new(path, access))?;
        }
    }
    Ok(ruleset.restrict_self()?.landlock)
}

/// What is done below the directory of captures.
fn captures() -> BitFlags<AccessFs> {
    AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSock
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer
}
