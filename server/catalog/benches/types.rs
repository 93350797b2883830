//! How long the types of a whole kernel take: `cargo bench -p bathyscope-catalog --bench types [BTF]`, by default those of
//! the running kernel. A script must be attached within 10 ms of its text, so all of this together must be a small part.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints its readings")]

use std::{hint::black_box, sync::Arc, time::Instant};

use bathyscope_catalog::types::{Btf, TypeKind, Types};

/// The best and the middle of several runs.
fn time<T>(what: &str, mut run: impl FnMut() -> T) -> T {
    let mut result = run();
    let mut took: Vec<f64> = (0..21)
        .map(|_| {
            let start = Instant::now();
            result = black_box(run());
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    took.sort_by(f64::total_cmp);
    println!("{what:<60} best {:>9.2} µs   middle {:>9.2} µs", took[0], took[10]);
    result
}

fn main() {
    let path = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let path = path.unwrap_or_else(|| "/sys/kernel/btf/vmlinux".to_owned());
    let Ok(bytes) = std::fs::read(&path) else { return println!("{path} cannot be read: nothing to measure") };
    println!("{path}: {} bytes", bytes.len());
    time("copying the bytes (part of the next line)", || bytes.clone());
    let btf = time("parse", || Btf::parse(bytes.clone()).expect("BTF"));
    println!("    {} types", btf.len());
    time("parse and first look-up by name (makes the index)", || {
        let types = Types::new(Arc::new(Btf::parse(bytes.clone()).expect("BTF")));
        types.find(TypeKind::Struct, "task_struct")
    });
    time("parse and first enum constant (makes that index)", || {
        let types = Types::new(Arc::new(Btf::parse(bytes.clone()).expect("BTF")));
        types.constant("TCP_FIN_WAIT1").map(|found| found.value)
    });
    let btf = Arc::new(btf);
    let types = Types::new(Arc::clone(&btf));
    types.find(TypeKind::Struct, "task_struct").expect("a kernel has tasks");
    types.constant("TCP_FIN_WAIT1");
    time("types of one more script", || Types::new(Arc::clone(&btf)));
    time("a struct by name", || types.find(TypeKind::Struct, "sk_buff"));
    time("a name that is not there", || types.find(TypeKind::Struct, "no_such_struct"));
    let task = types.find(TypeKind::Struct, "task_struct").expect("a kernel has tasks");
    time("task_struct.comm", || types.field(task, "comm"));
    time("an enum constant", || types.constant("TCP_FIN_WAIT1").map(|found| found.value));
    time("what vfs_read takes", || types.function(None, "vfs_read").and_then(|found| types.signature(found.id)));
    time("what sched_switch passes", || types.raw_tracepoint("sched_switch"));
    time("the variable runqueues", || types.variable("runqueues").map(|found| found.offset));
    time("task_struct as C", || types.render_definition(task).len());
    time("a definition of three members", || {
        let mut types = types.clone();
        types.define("struct mine { u32 a; struct task_struct *t; char c[TASK_COMM_LEN]; };", &|_| None).expect("right")
    });
    time("completing functions: vfs_", || types.complete(TypeKind::Function, "vfs_", 50).total);
    time("completing functions: nothing typed", || types.complete(TypeKind::Function, "", 50).total);
    time("did you mean: vfs_raed", || types.closest(TypeKind::Function, "vfs_raed"));
}
