//! Filters of system calls (seccomp): each long-lived process may make those that its work needs, and no other.
//!
//! A call that is on no list fails with `ENOSYS`, so that the C library falls back to an older one where it tries a newer
//! one first, and a call that was forgotten is an error of one request and not the end of all captures. A call of
//! [`NEVER`] ends the process: neither of the two has a use for it, so whoever makes it has taken the process over. Both
//! are in the kernel's log (`type=1326`) with the number of the call.
//!
//! The lists are tables with a reason for each group: the agent's in `seccomp/agent.rs`, the console's in its own crate.

pub(crate) mod agent;
mod common;

use std::{collections::BTreeMap, io};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

pub use common::COMMON;

/// A system call that a list has, by its number on this architecture.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    /// With any arguments.
    Any(libc::c_long),
    /// Only if this holds; of several rows for one call any may hold.
    If(libc::c_long, &'static [Condition]),
}

impl Call {
    fn number(self) -> i64 {
        match self {
            Self::Any(number) | Self::If(number, _) => number,
        }
    }
}

/// What an argument must be. Only the lower half is looked at: all arguments that are compared are 32 bits wide for the
/// kernel.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    /// The argument of this index is the value.
    Is(u8, u32),
    /// The argument of this index has none of the bits.
    Without(u8, u32),
    /// The argument of this index has all of the bits.
    With(u8, u32),
}

/// Calls with what they are for.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Why they are on the list.
    pub reason: &'static str,
    /// The calls.
    pub calls: &'static [Call],
}

/// What neither process has a use for once it runs: other programs, other processes' memory, mounts, namespaces, modules,
/// other kernels, keys, clocks. Making one of these calls ends the process.
pub const NEVER: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

/// Refused, and not logged: the C library asks for it with each thread, and falls back to `clone`, whose flags a filter can
/// see.
const QUIET: &[libc::c_long] = &[libc::SYS_clone3];

/// Why a filter could not be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The kernel has no such filters.
    #[error("this kernel has no filters of system calls; use one with CONFIG_SECCOMP_FILTER")]
    Missing,
    /// The list cannot be made into a program: it has too many calls, or the architecture is unknown.
    #[error("making a filter of system calls")]
    Program(#[from] BackendError),
    /// The kernel refused it.
    #[error("installing the filter of system calls")]
    Refused(#[source] io::Error),
}

/// Lets all threads of this process make the calls of the lists, for good. Of `never` and [`NEVER`] each ends the process.
///
/// # Errors
/// If the kernel has no filters, or refuses this one.
pub fn install(lists: &[&[Group]], never: &[libc::c_long]) -> Result<(), FilterError> {
    let rows = lists.iter().flat_map(|groups| groups.iter()).flat_map(|group| group.calls.iter().copied());
    let allowed = program(rows.chain(QUIET.iter().copied().map(Call::Any)), SeccompAction::Allow, enosys())?;
    let deadly = NEVER.iter().chain(never).copied().map(Call::Any);
    let deadly = program(deadly, SeccompAction::KillProcess, SeccompAction::Allow)?;
    let quiet = program(QUIET.iter().copied().map(Call::Any), enosys(), SeccompAction::Allow)?;
    rustix::thread::set_no_new_privs(true).map_err(|errno| FilterError::Refused(errno.into()))?;
    // Of several filters the strictest answer counts. The list of what is allowed comes last: it forbids to install more.
    load(&quiet, libc::SECCOMP_FILTER_FLAG_TSYNC)?;
    load(&deadly, libc::SECCOMP_FILTER_FLAG_TSYNC | libc::SECCOMP_FILTER_FLAG_LOG)?;
    load(&allowed, libc::SECCOMP_FILTER_FLAG_TSYNC | libc::SECCOMP_FILTER_FLAG_LOG)
}

/// Whether a filter holds for this process, as the kernel says; none where it does not tell.
pub fn is_installed() -> Option<bool> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"))?;
    Some(mode.trim() == "2")
}

fn enosys() -> SeccompAction {
    SeccompAction::Errno(libc::ENOSYS.unsigned_abs())
}

fn program(
    calls: impl Iterator<Item = Call>,
    matching: SeccompAction,
    otherwise: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let mut always = Vec::new();
    for call in calls {
        let of_call = rules.entry(call.number()).or_default();
        match call {
            Call::Any(number) => always.push(number),
            Call::If(_, conditions) => of_call.push(SeccompRule::new(conditions_of(conditions)?)?),
        }
    }
    // A call without rules matches whatever its arguments are.
    for number in always {
        rules.insert(number, Vec::new());
    }
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, otherwise, matching, arch)?.try_into()
}

fn conditions_of(conditions: &[Condition]) -> Result<Vec<SeccompCondition>, BackendError> {
    let one = |condition: &Condition| {
        let (argument, operator, value) = match *condition {
            Condition::Is(argument, value) => (argument, SeccompCmpOp::Eq, value),
            Condition::Without(argument, bits) => (argument, SeccompCmpOp::MaskedEq(bits.into()), 0),
            Condition::With(argument, bits) => (argument, SeccompCmpOp::MaskedEq(bits.into()), bits),
        };
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value.into())
    };
    conditions.iter().map(one).collect()
}

/// Gives the kernel a filter for all threads of this process.
fn load(program: &BpfProgram, flags: libc::c_ulong) -> Result<(), FilterError> {
    let too_long = |_error| FilterError::Refused(io::Error::from_raw_os_error(libc::E2BIG));
    let len = u16::try_from(program.len()).map_err(too_long)?;
    let filter = libc::sock_fprog { len, filter: program.as_ptr().cast_mut().cast() };
    // SAFETY: the kernel copies `len` instructions, which are of the shape of its `struct sock_filter`, and writes nothing.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const filter) };
    match result {
        0 => Ok(()),
        // The id of a thread that could not be given the filter.
        thread if thread > 0 => {
            Err(FilterError::Refused(io::Error::other(format!("thread {thread} has another filter"))))
        }
        _ => Err(match io::Error::last_os_error() {
            error if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) => FilterError::Missing,
            error => FilterError::Refused(error),
        }),
    }
}
