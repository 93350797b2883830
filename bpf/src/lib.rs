//! The compiler's back end: a small register IR in, BPF instructions and an object file out; and the programs that
//! captures need, made of that IR for a tracepoint, its fields, a predicate and a target.
//!
//! The passes are listed in [`PASSES`]; [`compile()`] runs them, [`object()`] wraps the result for the loader. There is no
//! LLVM, no clang, no kernel header and no BTF in this: places come from the running kernel's own descriptions, which
//! `catalog` reads.
//!
//! Constraints: values in, values out; no I/O, no clock, no environment. What it emits must pass the verifier of every
//! kernel from 6.1 on. It must not know how programs are loaded, attached or read (`agent`), nor the wire (`protocol`).

#![forbid(unsafe_code)]

mod compile;
mod emit;
mod instruction;
pub mod ir;
pub mod lang;
mod object;
mod optimise;
mod print;
pub mod probe;
mod registers;
pub mod tools;
mod validate;

pub use compile::{Code, CompileError, PASSES, Pass, compile};
pub use instruction::{Instruction, disassemble};
pub use object::{ObjectError, object};
pub use validate::{Fault, validate};
