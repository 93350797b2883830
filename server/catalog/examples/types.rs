use bathyscope_catalog::types::*;
use std::{sync::Arc, time::Instant};
fn main() {
    let bytes = std::fs::read("/sys/kernel/btf/vmlinux").unwrap();
    let t = Instant::now();
    let b = Btf::parse(bytes).unwrap();
    println!("parse {:?} {}", t.elapsed(), b.len());
    let types = Types::new(Arc::new(b));
    let t = Instant::now();
    let id = types.find(Kind::Struct, "task_struct");
    println!("first {:?} {id:?}", t.elapsed());
    let t = Instant::now();
    let id = types.find(Kind::Struct, "sock");
    println!("second {:?} {id:?}", t.elapsed());
    let t = Instant::now();
    let c = types.constant("TCP_FIN_WAIT1");
    println!("const {:?} {c:?}", t.elapsed());
    let t = Instant::now();
    let c = types.complete(Kind::Function, "vfs_", 5);
    println!("complete {:?} {c:?}", t.elapsed());
    let t = Instant::now();
    let c = types.closest(Kind::Function, "vfs_raed");
    println!("closest {:?} {c:?}", t.elapsed());
    for n in std::env::args().skip(1) {
        let t = Instant::now();
        if let Some(n) = n.strip_prefix("fn ") {
            for f in types.functions(n) {
                println!("{f:?} {} {:?}", types.render(f.id), types.signature(f.id));
            }
        } else if let Some(n) = n.strip_prefix("rt ") {
            let r = types.raw_tracepoint(n);
            println!("{r:?}");
        } else if let Some(n) = n.strip_prefix("var ") {
            println!("{:?}", types.variable(n));
        } else {
            let id = types.spelled(&n).unwrap();
            println!("{}", types.render_definition(id));
            println!("size {:?} align {:?}", types.size(id), types.align(id));
        }
        println!("{:?}", t.elapsed());
    }
}
