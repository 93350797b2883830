//! Builds this room again when a file is added below `static` or removed; the compiler tracks only those it has seen.

fn main() {
    println!("cargo:rerun-if-changed=static");
    println!("cargo:rerun-if-changed=templates");
}
