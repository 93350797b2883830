//! Filters of system calls (seccomp) as tables: which calls, with which arguments, and what becomes of them and of the others.

use std::{collections::BTreeMap, io};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// A system call that a list has, by its number on this architecture.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    /// With any arguments.
    Any(libc::c_long),
    /// Only if all of these hold; of several rows for one call any may hold.
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
    /// The argument of this index is the id of the process that makes the filter.
    IsThisProcess(u8),
    /// The argument of this index has none of the bits.
    Without(u8, u32),
    /// The argument of this index has all of the bits.
    With(u8, u32),
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is made.
    Allowed,
    /// It fails with `ENOSYS`, as if the kernel did not know it.
    NoSuchCall,
    /// The process ends.
    EndOfProcess,
}

impl From<Outcome> for SeccompAction {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Allowed => Self::Allow,
            Outcome::NoSuchCall => Self::Errno(libc::ENOSYS.unsigned_abs()),
            Outcome::EndOfProcess => Self::KillProcess,
        }
    }
}

/// Why a filter could not be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The kernel has no such filters.
    #[error("this kernel has no filters of system calls; use one with CONFIG_SECCOMP_FILTER")]
    Missing,
    /// The list cannot be made into a program: it has too many calls, or the architecture is unknown.
    #[error("making a filter of system calls")]
    Program(#[source] io::Error),
    /// The kernel refused it.
    #[error("installing the filter of system calls")]
    Refused(#[source] io::Error),
}

impl From<BackendError> for FilterError {
    fn from(error: BackendError) -> Self {
        Self::Program(io::Error::other(error))
    }
}

impl From<FilterError> for io::Error {
    fn from(error: FilterError) -> Self {
        match error {
            FilterError::Missing => Self::from_raw_os_error(libc::ENOSYS),
            FilterError::Program(source) | FilterError::Refused(source) => source,
        }
    }
}

/// A filter that can be installed.
#[derive(Debug)]
pub struct Filter(BpfProgram);

impl Filter {
    /// What becomes of these calls, and what of all `others`.
    ///
    /// # Errors
    /// If the calls are too many, or the architecture has no filters.
    pub fn new(calls: impl IntoIterator<Item = Call>, outcome: Outcome, others: Outcome) -> Result<Self, FilterError> {
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
        Ok(Self(SeccompFilter::new(rules, others.into(), outcome.into(), arch)?.try_into()?))
    }

    /// Gives it to the kernel for all threads of this process, for good. Of several the strictest answer counts. What it
    /// refuses is in the kernel's log if it is `logged`. The process must have given up new privileges before.
    ///
    /// # Errors
    /// If the kernel has no filters, or refuses this one.
    pub fn install(&self, logged: bool) -> Result<(), FilterError> {
        let Self(program) = self;
        let too_long = |_error| FilterError::Refused(io::Error::from_raw_os_error(libc::E2BIG));
        let len = u16::try_from(program.len()).map_err(too_long)?;
        let filter = libc::sock_fprog { len, filter: program.as_ptr().cast_mut().cast() };
        let log = if logged { libc::SECCOMP_FILTER_FLAG_LOG } else { 0 };
        // Threads that exist already, such as those of a runtime, get it too.
        let flags = libc::SECCOMP_FILTER_FLAG_TSYNC | log;
        // SAFETY: the kernel copies `len` instructions, which are of the shape of its `struct sock_filter`, and writes
        // nothing.
        let result =
            unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const filter) };
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
}

fn conditions_of(conditions: &[Condition]) -> Result<Vec<SeccompCondition>, BackendError> {
    let one = |condition: &Condition| {
        let (argument, operator, value) = match *condition {
            Condition::Is(argument, value) => (argument, SeccompCmpOp::Eq, value),
            Condition::IsThisProcess(argument) => (argument, SeccompCmpOp::Eq, std::process::id()),
            Condition::Without(argument, bits) => (argument, SeccompCmpOp::MaskedEq(bits.into()), 0),
            Condition::With(argument, bits) => (argument, SeccompCmpOp::MaskedEq(bits.into()), bits),
        };
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value.into())
    };
    conditions.iter().map(one).collect()
}
