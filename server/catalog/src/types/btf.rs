//! One BTF file: its bytes, and where each type begins.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use super::index::{ConstantIndex, NameIndex};

/// The largest BTF that is read.
pub const MAX_BTF_BYTES: usize = 256 << 20;
/// The most types of a kernel and all its modules; the rest of the numbers is for what scripts define.
pub(super) const MAX_TYPES: usize = 1 << 30;
/// The longest name; the kernel's own limit is 512.
pub(super) const MAX_NAME_BYTES: usize = 1024;
const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: u32 = 24;

/// Kinds as the format numbers them.
pub(crate) mod kind {
    #![allow(missing_docs, reason = "the names are the format's")]
    pub(crate) const INT: u8 = 1;
    pub(crate) const PTR: u8 = 2;
    pub(crate) const ARRAY: u8 = 3;
    pub(crate) const STRUCT: u8 = 4;
    pub(crate) const UNION: u8 = 5;
    pub(crate) const ENUM: u8 = 6;
    pub(crate) const FWD: u8 = 7;
    pub(crate) const TYPEDEF: u8 = 8;
    pub(crate) const VOLATILE: u8 = 9;
    pub(crate) const CONST: u8 = 10;
    pub(crate) const RESTRICT: u8 = 11;
    pub(crate) const FUNC: u8 = 12;
    pub(crate) const FUNC_PROTO: u8 = 13;
    pub(crate) const VAR: u8 = 14;
    pub(crate) const DATASEC: u8 = 15;
    pub(crate) const FLOAT: u8 = 16;
    pub(crate) const DECL_TAG: u8 = 17;
    pub(crate) const TYPE_TAG: u8 = 18;
    pub(crate) const ENUM64: u8 = 19;
}

/// Why bytes are not BTF.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
    /// A type of a kind that this program does not know, so that its size is unknown.
    #[error("the BTF has a type of kind {kind}, which is newer than this program (type {id})")]
    UnknownKind {
        /// Its number.
        kind: u8,
        /// The type.
        id: u32,
    },
    /// There are more bytes or types than any kernel has.
    #[error("the BTF is too large: {size}, the limit is {limit}")]
    TooLarge {
        /// How many.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// A module's BTF was read for another kernel.
    #[error("the BTF of module {module} belongs to another kernel; read it again on this one")]
    OtherBase {
        /// The module.
        module: String,
    },
}

/// The fixed part of a type, and where the rest is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw {
    /// Offset of its name.
    pub(crate) name: u32,
    /// Its kind.
    pub(crate) kind: u8,
    /// What that means depends on the kind.
    pub(crate) flag: bool,
    /// How many entries follow.
    pub(crate) entries: u32,
    /// Its size or another type's number.
    pub(crate) size_or_type: u32,
    /// Where the part behind the head is.
    pub(crate) rest: usize,
}

impl Raw {
    /// Bytes of the part behind the head; `None` of an unknown kind.
    pub(crate) fn rest_bytes(self) -> Option<usize> {
        let entries = self.entries as usize;
        Some(match self.kind {
            kind::INT | kind::VAR | kind::DECL_TAG => 4,
            kind::ARRAY => 12,
            kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => 12 * entries,
            kind::ENUM | kind::FUNC_PROTO => 8 * entries,
            kind::PTR | kind::FWD | kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT => 0,
            kind::FUNC | kind::FLOAT | kind::TYPE_TAG => 0,
            _ => return None,
        })
    }
}

/// Where the bytes of a BTF are: in memory of our own, or in the kernel's that is only mapped.
pub struct BtfBytes(Box<dyn AsRef<[u8]> + Send + Sync>);

impl BtfBytes {
    /// Bytes that somebody else holds, and that do not change.
    pub fn held(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self(Box::new(bytes))
    }
}

impl From<Vec<u8>> for BtfBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::held(bytes)
    }
}

impl std::ops::Deref for BtfBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// The BTF of a kernel or of a module.
pub struct Btf {
    bytes: BtfBytes,
    /// Where the strings begin and end in `bytes`.
    strings: (usize, usize),
    /// Where each type begins in `bytes`, those of the base not included.
    offsets: Vec<u32>,
    /// The module's name, and the kernel's BTF that it goes on from.
    module: Option<(String, Arc<Btf>)>,
    /// Whether enums say that they are signed: compilers did not in the beginning.
    enum_signs: bool,
    names: OnceLock<NameIndex>,
    constants: OnceLock<ConstantIndex>,
}

impl fmt::Debug for Btf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Btf").field("module", &self.module_name()).field("types", &self.len()).finish()
    }
}

impl Btf {
    /// Reads the BTF of a kernel (`/sys/kernel/btf/vmlinux`), or any that stands alone.
    ///
    /// # Errors
    /// If it is not BTF, or damaged so that types cannot be told apart.
    pub fn parse(bytes: impl Into<BtfBytes>) -> Result<Self, BtfError> {
        Self::read(bytes.into(), None)
    }

    /// Reads the BTF of the module `name` (`/sys/kernel/btf/NAME`), which goes on from the BTF of the kernel, `base`.
    ///
    /// # Errors
    /// As [`Btf::parse`].
    pub fn parse_module(name: &str, bytes: impl Into<BtfBytes>, base: &Arc<Self>) -> Result<Self, BtfError> {
        Self::read(bytes.into(), Some((name.to_owned(), Arc::clone(base))))
    }

    /// A BTF without types.
    pub(super) fn empty() -> Self {
        Self {
            bytes: Vec::new().into(),
            strings: (0, 0),
            offsets: Vec::new(),
            module: None,
            enum_signs: true,
            names: OnceLock::new(),
            constants: OnceLock::new(),
        }
    }

    fn read(bytes: BtfBytes, module: Option<(String, Arc<Self>)>) -> Result<Self, BtfError> {
        if bytes.len() > MAX_BTF_BYTES {
            return Err(BtfError::TooLarge { size: bytes.len(), limit: MAX_BTF_BYTES });
        }
        if bytes.get(..2) != Some(&MAGIC.to_le_bytes()) {
            return Err(BtfError::NotBtf);
        }
        let (types, strings) = sections(&bytes).ok_or(BtfError::Damaged { what: "its header", id: 0 })?;
        let (Some(type_bytes), Some(string_bytes)) = (bytes.get(types.0..types.1), bytes.get(strings.0..strings.1))
        else {
            return Err(BtfError::Damaged { what: "its header points behind its end", id: 0 });
        };
        // Every name ends before its section does; a module's may be empty.
        if string_bytes.last().is_some_and(|last| *last != 0) || (module.is_none() && string_bytes.is_empty()) {
            return Err(BtfError::Damaged { what: "its strings do not end", id: 0 });
        }
        let mut offsets = Vec::with_capacity(type_bytes.len() / 24);
        let (mut at, mut enum_signs) = (0, false);
        while at < type_bytes.len() {
            let id = u32::try_from(offsets.len()).unwrap_or(u32::MAX).saturating_add(1);
            let raw = raw_at(type_bytes, at).ok_or(BtfError::Damaged { what: "a type is cut off", id })?;
            let rest = raw.rest_bytes().ok_or(BtfError::UnknownKind { kind: raw.kind, id })?;
            enum_signs |= raw.flag && matches!(raw.kind, kind::ENUM | kind::ENUM64);
            offsets.push(u32::try_from(types.0 + at).unwrap_or(u32::MAX));
            at = raw.rest + rest;
            if at > type_bytes.len() {
                return Err(BtfError::Damaged { what: "a type is cut off", id });
            }
        }
        if offsets.len() > MAX_TYPES {
            return Err(BtfError::TooLarge { size: offsets.len(), limit: MAX_TYPES });
        }
        offsets.shrink_to_fit();
        let enum_signs = enum_signs || module.as_ref().is_some_and(|(_, base)| base.enum_signs);
        let (names, constants) = (OnceLock::new(), OnceLock::new());
        Ok(Self { bytes, strings, offsets, module, enum_signs, names, constants })
    }

    /// How many types it has, `void` and those of the base not counted.
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether it has no types.
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// The module's name; `None` of a kernel's.
    pub fn module_name(&self) -> Option<&str> {
        self.module.as_ref().map(|(name, _)| name.as_str())
    }

    /// The kernel's BTF that a module's goes on from.
    pub fn base(&self) -> Option<&Arc<Self>> {
        self.module.as_ref().map(|(_, base)| base)
    }

    /// The number of the last type before its own: 0 (`void`), or the last one of its base.
    pub(super) fn base_types(&self) -> u32 {
        self.base().map_or(0, |base| u32::try_from(base.len()).unwrap_or(u32::MAX))
    }

    /// Whether signs of enums are known.
    pub(super) fn enum_signs(&self) -> bool {
        self.enum_signs
    }

    /// The head of its own type `index`, counted from 0.
    pub(crate) fn raw(&self, index: u32) -> Option<Raw> {
        raw_at(&self.bytes, *self.offsets.get(index as usize)? as usize)
    }

    /// The number at an offset of the file.
    pub(super) fn number(&self, at: usize) -> u32 {
        number(&self.bytes, at).unwrap_or(0)
    }

    /// A name; empty if there is none, or if it is no text or too long.
    pub(crate) fn name(&self, offset: u32) -> &str {
        let bytes = self.name_bytes(offset);
        let end = bytes.iter().position(|byte| *byte == 0);
        end.and_then(|end| std::str::from_utf8(bytes.get(..end)?).ok()).unwrap_or_default()
    }

    /// The bytes that a name begins with, and what follows it.
    pub(super) fn name_bytes(&self, offset: u32) -> &[u8] {
        let base = self.base().map_or(0, |base| base.strings.1 - base.strings.0);
        let Some(own) = (offset as usize).checked_sub(base) else {
            return self.base().map(|base| base.name_bytes(offset)).unwrap_or_default();
        };
        let start = self.strings.0.saturating_add(own);
        let end = self.strings.1.min(start.saturating_add(MAX_NAME_BYTES));
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Where names are found; made when first asked for.
    pub(super) fn names(&self) -> &NameIndex {
        self.names.get_or_init(|| NameIndex::new(self))
    }

    /// Where enum constants are found; made when first asked for.
    pub(super) fn constants(&self) -> &ConstantIndex {
        self.constants.get_or_init(|| ConstantIndex::new(self))
    }

    /// The heads of all its own types.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, Raw)> {
        (0..).zip(&self.offsets).filter_map(|(index, at)| Some((index, raw_at(&self.bytes, *at as usize)?)))
    }
}

/// Where types and strings are: begin and end of each.
fn sections(bytes: &[u8]) -> Option<((usize, usize), (usize, usize))> {
    let header = number(bytes, 4)?;
    if header < HEADER_BYTES {
        return None;
    }
    let section = |at| {
        let start = header.checked_add(number(bytes, at)?)?;
        Some((start as usize, start.checked_add(number(bytes, at + 4)?)? as usize))
    };
    Some((section(8)?, section(16)?))
}

fn raw_at(bytes: &[u8], at: usize) -> Option<Raw> {
    let head: &[u8; 12] = bytes.get(at..at.checked_add(12)?)?.as_array()?;
    let [n0, n1, n2, n3, i0, i1, _, i3, s0, s1, s2, s3] = *head;
    Some(Raw {
        name: u32::from_le_bytes([n0, n1, n2, n3]),
        kind: i3 & 0x1f,
        flag: i3 & 0x80 != 0,
        entries: u32::from(u16::from_le_bytes([i0, i1])),
        size_or_type: u32::from_le_bytes([s0, s1, s2, s3]),
        rest: at + 12,
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.as_array().copied().map(u32::from_le_bytes)
}
