//! The compiler's back end: a small register IR in, BPF instructions and an object file out; and the programs that
//! captures need, made of that IR for a tracepoint, its fields, a predicate and a target.
//!
//! The passes are listed in [`PASSES`]; [`compile()`] runs them, [`object()`] wraps the result for the loader. There is no
//! LLVM, no clang and no kernel header in this: places come from the running kernel's own descriptions, which `catalog`
//! reads.
//!
//! Constraints: values in, values out; no I/O, no clock, no environment. What it emits must pass the verifier of every
//! kernel from 6.1 on. It must not know how programs are loaded, attached or read (`agent`), nor the wire (`protocol`).

#![forbid(unsafe_code)]

mod btf;
mod code;
mod compile;
mod disassemble;
mod emit;
mod error;
pub mod examples;
mod expand;
mod instruction;
pub mod ir;
pub mod lang;
#[cfg(feature = "machine")]
pub mod machine;
mod object;
mod optimise;
pub mod probe;
mod registers;
pub mod states;
pub mod syscalls;
pub mod tools;
pub mod unwind;
mod validate;

pub use btf::{FunctionInfo, LineInfo, ProgramTypes, TypeInfo, type_info};
pub use code::{Code, CodeFunction};
pub use compile::{PASSES, Pass, compile, compile_plainly};
pub use disassemble::disassemble;
pub use error::CompileError;
pub use instruction::Instruction;
pub use object::{ObjectError, object};
pub use validate::{Fault, validate};
