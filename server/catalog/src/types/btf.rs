//! One BTF file.

/// The largest BTF that is read.
pub const MAX_BTF_BYTES: usize = 256 << 20;

/// Why bytes are not BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BtfError {
    /// They are something else.
    #[error("this is not BTF of a little-endian kernel: it does not begin with its magic number")]
    NotBtf,
    /// A part is damaged.
    #[error("the BTF is damaged: {what} (type {id})")]
    Damaged {
        /// Which part.
        what: &'static str,
        /// The type at which that was seen; 0 in the header.
        id: u32,
    },
    /// There are more bytes than any kernel has.
    #[error("the BTF has {bytes} bytes; the limit is {MAX_BTF_BYTES}")]
    TooLarge {
        /// How many.
        bytes: usize,
    },
}

/// The BTF of a kernel or of a module: its bytes, and where each type begins.
#[derive(Debug)]
pub struct Btf {}

impl Btf {
    /// Reads the BTF of a kernel (`/sys/kernel/btf/vmlinux`), or any that stands alone.
    ///
    /// # Errors
    /// If it is not BTF, or damaged so that types cannot be told apart.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, BtfError> {
        if bytes.is_empty() { Err(BtfError::NotBtf) } else { Ok(Self {}) }
    }

    /// Reads the BTF of the module `name` (`/sys/kernel/btf/NAME`), which refers to types of the kernel's `base`.
    ///
    /// # Errors
    /// As [`Btf::parse`].
    pub fn parse_module(name: &str, bytes: Vec<u8>, base: &Self) -> Result<Self, BtfError> {
        let _both = (name, base);
        Self::parse(bytes)
    }

    /// How many types it has, the base's not counted.
    pub fn len(&self) -> usize {
        0
    }

    /// Whether it has no types.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
