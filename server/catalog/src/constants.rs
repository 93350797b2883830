//! Names of numbers that BTF does not have because the kernel has them as `#define`: address families, flags, errors,
//! signals, system calls, capabilities.
//!
//! They are part of the kernel's interface to programs and never change; some differ between processors, so the tables
//! take an [`Arch`].

/// A processor that programs run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// AMD and Intel.
    X86_64,
    /// Arm, 64 bits.
    Aarch64,
}

impl Arch {
    /// The processor that this is compiled for; x86_64 on anything else that is not supported.
    pub const HOST: Self = if cfg!(target_arch = "aarch64") { Self::Aarch64 } else { Self::X86_64 };
}

/// A named number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Such as `AF_INET`.
    pub name: &'static str,
    /// Its value.
    pub value: i64,
    /// The family it belongs to, such as `AF_`.
    pub group: &'static str,
}

/// The constant of that name.
pub fn constant(arch: Arch, name: &str) -> Option<Constant> {
    let _both = (arch, name);
    None
}

/// All constants, by group and value.
pub fn constants(arch: Arch) -> impl Iterator<Item = Constant> {
    let _arch = arch;
    std::iter::empty()
}

/// What `strerror(3)` says of an error number, with or without minus sign: `No such file or directory`.
pub fn errno_text(errno: i64) -> Option<&'static str> {
    let _errno = errno;
    None
}

/// The name of an error number, with or without minus sign: `ENOENT`.
pub fn errno_name(errno: i64) -> Option<&'static str> {
    let _errno = errno;
    None
}

/// The name of a signal: `SIGKILL`. `None` of real-time signals.
pub fn signal_name(signal: i64) -> Option<&'static str> {
    let _signal = signal;
    None
}

/// The number of a signal, by its name with or without `SIG`, in any case.
pub fn signal_number(name: &str) -> Option<i64> {
    let _name = name;
    None
}

/// The name of a system call: `openat`.
pub fn syscall_name(arch: Arch, number: i64) -> Option<&'static str> {
    let _both = (arch, number);
    None
}

/// The number of a system call.
pub fn syscall_number(arch: Arch, name: &str) -> Option<i64> {
    let _both = (arch, name);
    None
}

/// The name of a capability: `CAP_SYS_ADMIN`.
pub fn capability_name(number: i64) -> Option<&'static str> {
    let _number = number;
    None
}
