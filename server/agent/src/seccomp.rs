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

pub use bathyscope_protocol::seccomp::{Call, Condition, FilterError};
use bathyscope_protocol::seccomp::{Filter, Outcome};

pub use common::COMMON;

/// Calls with what they are for.
#[derive(Clone, Copy, Debug)]
pub struct CallGroup {
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

/// Lets all threads of this process make the calls of the lists, for good. Of `never` and [`NEVER`] each ends the process.
///
/// # Errors
/// If the kernel has no filters, or refuses this one.
pub fn install(lists: &[&[CallGroup]], never: &[libc::c_long]) -> Result<(), FilterError> {
    let rows = lists.iter().flat_map(|groups| groups.iter()).flat_map(|group| group.calls.iter().copied());
    let any = |calls: &[libc::c_long]| calls.iter().copied().map(Call::Any).collect::<Vec<_>>();
    let allowed = Filter::new(rows.chain(any(QUIET)), Outcome::Allowed, Outcome::NoSuchCall)?;
    let deadly = Filter::new([any(NEVER), any(never)].concat(), Outcome::EndOfProcess, Outcome::Allowed)?;
    let quiet = Filter::new(any(QUIET), Outcome::NoSuchCall, Outcome::Allowed)?;
    rustix::thread::set_no_new_privs(true).map_err(|errno| FilterError::Refused(errno.into()))?;
    // Of several filters the strictest answer counts. The list of what is allowed comes last: it forbids to install more.
    quiet.install(false)?;
    deadly.install(true)?;
    allowed.install(true)
}

/// Whether a filter holds for this process, as the kernel says; none where it does not tell.
pub fn is_installed() -> Option<bool> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"))?;
    Some(mode.trim() == "2")
}
