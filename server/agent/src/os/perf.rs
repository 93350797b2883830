//! `perf_event_open` and its calls.

use std::{
    io,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd},
    ptr::NonNull,
};

use perf_event_open_sys as sys;
use rustix::mm::{MapFlags, ProtFlags};
pub(crate) use sys::bindings::perf_event_attr as Attributes;

/// Whom an event observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everything on one CPU.
    Cpu(u32),
    /// The calling thread on any CPU.
    ThisThread,
    /// A thread, on any CPU.
    Thread(u32),
    /// A thread while it is on one CPU.
    ThreadOnCpu(u32, u32),
    /// Threads of a control group, whose open folder this is, on one CPU.
    Cgroup(RawFd, u32),
}

/// A perf event. Closing it removes it from the kernel.
#[derive(Debug)]
pub(crate) struct Event {
    fd: OwnedFd,
}

/// Attributes of an event that is created disabled, with the size filled in.
pub(crate) fn attributes(type_: u32, config: u64) -> Attributes {
    let mut attributes = Attributes { type_, config, ..Attributes::default() };
    attributes.size = size_of::<Attributes>() as u32;
    attributes.set_disabled(1);
    attributes
}

impl Event {
    /// Opens an event. `attributes` must not hold addresses; use [`Event::open_at`] for those.
    pub(crate) fn open(attributes: &mut Attributes, scope: Scope) -> io::Result<Self> {
        Self::open_in(attributes, scope, None)
    }

    /// As [`Event::open`], in the group of `leader`, an event of the same scope.
    pub(crate) fn open_in(attributes: &mut Attributes, scope: Scope, leader: Option<&Self>) -> io::Result<Self> {
        let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let mut flags = u64::from(sys::bindings::PERF_FLAG_FD_CLOEXEC);
        let (pid, cpu) = match scope {
            Scope::Cpu(cpu) => (-1, number(cpu)),
            Scope::ThisThread => (0, -1),
            Scope::Thread(tid) => (number(tid), -1),
            Scope::ThreadOnCpu(tid, cpu) => (number(tid), number(cpu)),
            Scope::Cgroup(folder, cpu) => {
                flags |= u64::from(sys::bindings::PERF_FLAG_PID_CGROUP);
                (folder, number(cpu))
            }
        };
        let leader = leader.map_or(-1, |leader| leader.fd.as_raw_fd());
        // SAFETY: `attributes` is a valid structure whose `size` says how long it is (see `attributes`); the kernel
        // reads it, and may write its `size`. Any addresses in it are pointers to strings that outlive this call.
        let fd = unsafe { sys::perf_event_open(attributes, pid, cpu, leader, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just made this descriptor, and nobody else knows it.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Opens a probe event whose target is `name` (a function of the kernel, or the path of a file) at `offset`.
    pub(crate) fn open_at(
        attributes: &mut Attributes,
        name: &std::ffi::CStr,
        offset: u64,
        scope: Scope,
    ) -> io::Result<Self> {
        attributes.__bindgen_anon_3.config1 = name.as_ptr() as u64;
        attributes.__bindgen_anon_4.config2 = offset;
        Self::open(attributes, scope)
    }

    /// Opens a probe event at an address of the kernel.
    pub(crate) fn open_at_address(attributes: &mut Attributes, address: u64, scope: Scope) -> io::Result<Self> {
        attributes.__bindgen_anon_3.config1 = 0;
        attributes.__bindgen_anon_4.config2 = address;
        Self::open(attributes, scope)
    }

    /// Another descriptor of the same event.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { fd: self.fd.try_clone()? })
    }

    /// Begins to count, or to sample.
    pub(crate) fn enable(&self) -> io::Result<()> {
        // SAFETY: a plain call on a descriptor that `self` owns.
        check(unsafe { sys::ioctls::ENABLE(self.fd.as_raw_fd(), 0) })
    }

    /// Ceases to count.
    pub(crate) fn disable(&self) -> io::Result<()> {
        // SAFETY: a plain call on a descriptor that `self` owns.
        check(unsafe { sys::ioctls::DISABLE(self.fd.as_raw_fd(), 0) })
    }

    /// Lets a loaded program decide about each sample.
    pub(crate) fn set_program(&self, program: BorrowedFd<'_>) -> io::Result<()> {
        let program = program.as_raw_fd().unsigned_abs();
        // SAFETY: both descriptors are open; the kernel takes its own reference to the program.
        check(unsafe { sys::ioctls::SET_BPF(self.fd.as_raw_fd(), program) })
    }

    /// Lets only those hits of a tracepoint through that satisfy a condition in the kernel's filter language.
    pub(crate) fn set_filter(&self, filter: &std::ffi::CStr) -> io::Result<()> {
        // SAFETY: the kernel reads the text, which is terminated, and keeps nothing of it.
        check(unsafe { sys::ioctls::SET_FILTER(self.fd.as_raw_fd(), filter.as_ptr().cast_mut()) })
    }

    /// Writes this event's records into the buffer of `other`, which must be of the same CPU and mapped.
    pub(crate) fn write_into(&self, other: &Self) -> io::Result<()> {
        // SAFETY: both descriptors are open perf events.
        check(unsafe { sys::ioctls::SET_OUTPUT(self.fd.as_raw_fd(), other.fd.as_raw_fd()) })
    }

    /// The count, and with [`PERF_FORMAT_LOST`](sys::bindings::PERF_FORMAT_LOST) in `read_format` how many records did
    /// not fit into the buffer.
    pub(crate) fn read(&self) -> io::Result<(u64, u64)> {
        let [count, lost, _none] = self.read_words()?;
        Ok((count, lost))
    }

    /// The count and what `read_format` adds to it, in its order: with [`PERF_FORMAT_TOTAL_TIME_ENABLED`] and
    /// [`PERF_FORMAT_TOTAL_TIME_RUNNING`] how many nanoseconds it was enabled, and how many of them on a counter. What
    /// is not there is zero.
    ///
    /// [`PERF_FORMAT_TOTAL_TIME_ENABLED`]: sys::bindings::PERF_FORMAT_TOTAL_TIME_ENABLED
    /// [`PERF_FORMAT_TOTAL_TIME_RUNNING`]: sys::bindings::PERF_FORMAT_TOTAL_TIME_RUNNING
    pub(crate) fn read_words(&self) -> io::Result<[u64; 3]> {
        let mut bytes = [0_u8; 24];
        let got = rustix::io::read(&self.fd, &mut bytes)?;
        let mut words = [0; 3];
        for (word, from) in words.iter_mut().zip(bytes.get(..got).unwrap_or_default().chunks_exact(8)) {
            *word = from.try_into().map_or(0, u64::from_ne_bytes);
        }
        Ok(words)
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A mapped buffer of an event. The agent never looks into it: it maps so that the memory is accounted to the agent
/// (the console's own mapping of the same buffer then costs it nothing), and so that another event can write into it.
#[derive(Debug)]
pub(crate) struct Buffer {
    address: NonNull<std::ffi::c_void>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and is never accessed, only unmapped.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Gives `event` a buffer of `data_bytes`, a power of two.
    pub(crate) fn map(event: &Event, data_bytes: u32) -> io::Result<Self> {
        let bytes = rustix::param::page_size() + data_bytes as usize;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address that the kernel chooses; nothing refers to it.
        let address =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, &event.fd, 0) }?;
        let address = NonNull::new(address).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { address, bytes })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length; nothing refers to it.
        let _unmapped = unsafe { rustix::mm::munmap(self.address.as_ptr(), self.bytes) };
    }
}
