//! Unwind rows of programs that are compiled here, and of the same programs damaged.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::{path::Path, process::Command};

use bathyscope_catalog::elf::{ElfFile, Rule};

const SOURCE: &str = "
    __attribute__((noinline)) int leaf(int n) { __asm__ volatile(\"\" ::: \"memory\"); return n; }
    __attribute__((noinline)) int keeps(int n) {
        __asm__ volatile(\"\" ::: \"rbx\", \"rbp\", \"memory\");
        return leaf(n) + 1;
    }
    __attribute__((noinline, optimize(\"no-omit-frame-pointer\"))) int framed(int n) { return keeps(n) + 1; }
    __attribute__((noinline)) int large(int n) {
        volatile char room[1000]; room[n] = 1; return framed(n) + room[n];
    }
    int puts(const char *);
    int main(int argc, char **argv) { return large(argc) + puts(argv[0]); }
";

fn compiled(folder: &Path) -> Vec<u8> {
    let (source, program) = (folder.join("chain.c"), folder.join("chain"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut cc = Command::new("cc");
    cc.args([
        "-O2",
        "-fomit-frame-pointer",
        "-fasynchronous-unwind-tables",
        "-fcf-protection=none",
        "-Wl,-z,lazy",
        "-o",
    ]);
    assert!(cc.arg(&program).arg(&source).status().unwrap().success());
    std::fs::read(program).unwrap()
}

fn at(rows: &[u64], offset: u64) -> Rule {
    let before = rows.partition_point(|row| row >> 32 <= offset);
    let row = rows.get(before.wrapping_sub(1));
    row.and_then(|row| Rule::of_code((row & 0xffff_ffff) as u32)).unwrap_or(Rule::Unknown)
}

#[test]
fn rows_of_a_compiled_program_tell_where_its_callers_are() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = compiled(folder.path());
    let file = ElfFile::parse(&bytes).unwrap();
    let rows = file.unwind_rows().unwrap();
    assert!(rows.is_sorted_by(|a, b| a >> 32 < b >> 32));
    let functions = file.functions().unwrap();
    let entry = |name: &str| functions.named(name)[0];
    // At its first instruction every function has only been called.
    for name in ["leaf", "keeps", "framed", "large", "main"] {
        assert_eq!(at(&rows, entry(name).offset), Rule::Stack { offset: 8, rbp: 0 }, "{name}");
    }
    let all = |name: &str| -> Vec<Rule> {
        let symbol = entry(name);
        (symbol.offset..symbol.offset + symbol.bytes).map(|offset| at(&rows, offset)).collect()
    };
    assert!(all("leaf").iter().all(|rule| *rule == Rule::Stack { offset: 8, rbp: 0 }));
    assert!(
        all("keeps").contains(&Rule::Stack { offset: 24, rbp: 16 })
            || all("keeps").contains(&Rule::Stack { offset: 24, rbp: 24 })
    );
    assert!(all("framed").contains(&Rule::Frame { offset: 16, rbp: 16 }));
    assert!(all("large").iter().any(|rule| matches!(rule, Rule::Stack { offset: 1000.., rbp: 0 })));
    assert!(all("_start").contains(&Rule::End));
    assert_eq!(at(&rows, 0), Rule::Unknown);
    // In the table of jumps to other files, the number is pushed by the second of three instructions.
    let rule = |row: u64| Rule::of_code((row & 0xffff_ffff) as u32);
    let jump = |pair: &[u64]| {
        let (from, to) = (pair[0] >> 32, pair[1] >> 32);
        let pushed = rule(pair[1]) == Some(Rule::Stack { offset: 16, rbp: 0 });
        from % 16 == 0 && to == from + 11 && rule(pair[0]) == Some(Rule::Stack { offset: 8, rbp: 0 }) && pushed
    };
    assert!(rows.windows(2).any(jump));
}

proptest::proptest! {
    #[test]
    fn damaged_tables_do_no_harm(changes in proptest::collection::vec((0_usize..2000, 0_u8..), 1..20)) {
        static ONCE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let mut bytes = ONCE.get_or_init(|| compiled(tempfile::tempdir().unwrap().path())).clone();
        // The first header of the table, which says how its entries are written.
        let start = bytes.windows(4).position(|window| window == b"\x01zR\0").unwrap() - 8;
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(start + at) {
                *byte = value;
            }
        }
        if let Ok(file) = ElfFile::parse(&bytes) && let Ok(rows) = file.unwind_rows() {
            proptest::prop_assert!(rows.is_sorted_by(|a, b| a >> 32 < b >> 32));
        }
    }
}
