#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs, reason = "x")]
use bathyscope_bpf::lang::*;
fn main() {
    let host = recorded::RecordedHost::new("6.18").unwrap();
    let args: Vec<String> = std::env::args().collect();
    let text = if args[1] == "-f" { std::fs::read_to_string(&args[2]).unwrap() } else { args[1].clone() };
    let show = |d: Vec<Diagnostic>| {
        for d in d {
            println!("{}", render(&text, "t", &d));
        }
    };
    let ast = match parse(&text) {
        Ok(a) => a,
        Err(d) => return show(d),
    };
    let ex = match expand(&ast, &ExpandOptions::default()) {
        Ok(a) => a,
        Err(d) => return show(d),
    };
    match check(&ex, &text, &host, &CheckOptions { unsafe_allowed: true, pid: None }) {
        Err(d) => show(d),
        Ok(h) => {
            for w in &h.warnings {
                println!("{}", render(&text, "t", w));
            }
            println!("{h}");
        }
    }
    match compile(&text, &host, &CompileOptions::default()) {
        Err(d) => {
            println!("COMPILE");
            show(d)
        }
        Ok(_) => println!("compiled"),
    }
}
