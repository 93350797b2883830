//! The kernel's types where the kernel has them, instead of a copy of several MiB.

use std::{fs::File, ptr::NonNull};

use bathyscope_catalog::types::MAX_BTF_BYTES;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::BTF_FOLDER;

/// The kernel's BTF, mapped.
pub(super) struct KernelBtf {
    first: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, stays until it is dropped, and is never written to by anyone: it is
// read-only data of the kernel.
unsafe impl Send for KernelBtf {}
// SAFETY: as above.
unsafe impl Sync for KernelBtf {}

impl AsRef<[u8]> for KernelBtf {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `first` maps `bytes` readable bytes for as long as `self` lives, and they do not change.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.bytes) }
    }
}

impl Drop for KernelBtf {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `kernel_btf` with this length, and no reference into it outlives `self`.
        let _unmapped = unsafe { munmap(self.first.as_ptr().cast(), self.bytes) };
    }
}

/// Maps it; nothing where the kernel does not let it be mapped, as before 6.16.
pub(super) fn kernel_btf() -> Option<KernelBtf> {
    let file = File::open(format!("{BTF_FOLDER}/vmlinux")).ok()?;
    let bytes =
        usize::try_from(file.metadata().ok()?.len()).ok().filter(|bytes| (1..=MAX_BTF_BYTES).contains(bytes))?;
    // SAFETY: a fresh mapping at an address that the kernel chooses; nothing else refers to it. The file is the kernel's
    // read-only data: it neither shrinks nor changes.
    let address = unsafe { mmap(std::ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::PRIVATE, &file, 0) }.ok()?;
    Some(KernelBtf { first: NonNull::new(address.cast())?, bytes })
}
