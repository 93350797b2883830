//! C types as one space of ids: the kernel's BTF, its modules' BTF, and what a script defines.
//!
//! A [`Btf`] is the bytes of one `/sys/kernel/btf/*` file and where in them each type begins; it is read once and shared
//! (`Arc`). A [`Types`] puts one or several of them together for one script, together with the C definitions in that
//! script, which shadow types of the same name. Making one costs nothing; looking at a type reads the bytes.
//!
//! ```no_run
//! # fn f(bytes: Vec<u8>) -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use bathyscope_catalog::types::{Btf, Types};
//!
//! let mut types = Types::new(Arc::new(Btf::parse(bytes)?));
//! types.define("struct pair { u32 first; struct task_struct *second; };", &|_name| None)?;
//! let pair = types.spelled("struct pair").ok_or("not there")?;
//! let second = types.field(pair, "second").ok_or("not there")?;
//! assert_eq!((second.byte_offset(), types.render(second.ty).as_str()), (8, "struct task_struct *"));
//! # Ok(())
//! # }
//! ```
//!
//! Constraints: sizes, counts and references in BTF are not trusted. What is wrong shows as `void`, as a missing name or
//! as the end of a list, never as a panic; typedefs that lead in circles end after [`MAX_DEPTH`] steps. Layouts are
//! those of 64-bit little-endian Linux (x86_64 and aarch64 agree in all that matters here).

pub(crate) mod btf;
mod definition;
mod fields;
mod functions;
mod index;
mod local;
mod lookup;
mod program;
mod render;
#[expect(clippy::module_inception, reason = "it has the type of that name")]
pub(crate) mod types;
mod view;

pub use btf::{Btf, BtfBytes, BtfError, MAX_BTF_BYTES};
pub use definition::DefinitionError;
pub use types::{MAX_DEPTH, Types};
pub use view::{
    BtfId, CType, Completions, Enum, EnumConstant, Function, Int, Integer, KernelVariable, Member, MemberLocation,
    Notes, Parameter, Pointer, RawTracepoint, Record, Signature, Stripped, TypeId, TypeKind,
};
