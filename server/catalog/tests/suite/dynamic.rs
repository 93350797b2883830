//! The language of dynamic events: text → definition → the text that the kernel takes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use bathyscope_catalog::dynamic::{Line, MAX_LINE_BYTES, parse_dynamic, parse_perf_probe};
use proptest::prelude::*;

fn canonical(line: &str) -> String {
    match parse_dynamic(line) {
        Ok(line) => line.to_string(),
        Err(error) => format!("{}: {}", error.at, error.problem),
    }
}

#[test]
fn lines_become_what_the_kernel_takes() {
    let cases = [
        // The documents' own.
        ("p:zfree_entry /bin/zsh:0x46420 %ip %ax", "p:zfree_entry /bin/zsh:0x46420 %ip %ax"),
        ("r:zfree_exit /bin/zsh:0x46420 %ip %ax", "r:zfree_exit /bin/zsh:0x46420 %ip %ax"),
        ("p vfs_read+0x10 %di +0x3c(%di):u32", "p vfs_read+0x10 %di +0x3c(%di):u32"),
        ("- p_vfs_read_0", "-:p_vfs_read_0"),
        ("-:grp/ev", "-:grp/ev"),
        ("-:grp.ev", "-:grp/ev"),
        (
            "p:myprobe do_sys_open dfd=%ax filename=%dx flags=%cx mode=+4($stack)",
            "p:myprobe do_sys_open dfd=%ax filename=%dx flags=%cx mode=+4($stack)",
        ),
        ("r:myretprobe do_sys_open $retval", "r:myretprobe do_sys_open $retval"),
        ("r16:a/b f ret=$retval:s32", "r16:a/b f ret=$retval:s32"),
        ("p:a/ f%return $retval", "r:a/ f $retval"),
        ("p ext4:ext4_sync_file+010 a=%di", "p ext4:ext4_sync_file+0x8 a=%di"),
        ("p f a=$arg1 b=$arg2:x8", "p f a=$arg1 b=$arg2:x8"),
        ("p 0xffffffff81000000", "p 0xffffffff81000000"),
        (
            "p f @jiffies @jiffies-16:u32 @sym+8:x64 @0xffffffff81000000",
            "p f @jiffies @jiffies-0x10:u32 @sym+8:x64 @0xffffffff81000000",
        ),
        (
            "p f $stack $stack0 $stack10:symbol $comm c=$comm:string \\42 \\-1:s64",
            "p f $stack $stack0 $stack10:symbol $comm c=$comm:string \\0x2a \\0xffffffffffffffff:s64",
        ),
        (
            "p f -8(+0x10(%si)):b4@3/32 n=+0(%di):u8[64] s=+0(+8(%di)):string[3]",
            "p f -8(+0x10(%si)):b4@3/32 n=+0(%di):u8[64] s=+0(+8(%di)):string[3]",
        ),
        ("p f +u0(%si):ustring -u4(%si):char", "p f +u0x0(%si):ustring -u0x4(%si):char"),
        ("p f filename:string file->f_path.dentry", "p f filename:string file->f_path.dentry"),
        (
            "p:probe_bash/readline /bin/bash:0x1234%return(0x20) +0($retval):string",
            "r:probe_bash/readline /bin/bash:0x1234(0x20) +0($retval):string",
        ),
        ("p /lib/x:y.so:16 @+0x40:u32", "p /lib/x:y.so:0x10 @+0x40:u32"),
        (
            "e:g/open syscalls.sys_enter_openat file=+0($filename):ustring if dfd == -100 && flags & 1",
            "e:g/open syscalls.sys_enter_openat file=+0($filename):ustring if dfd == -100 && flags & 1",
        ),
        ("f:mine vfs_read count=$arg3", "f:mine vfs_read count=$arg3"),
        ("f16:g/mine vfs_read%return $retval", "f16:g/mine vfs_read%return $retval"),
        ("t sched_switch $arg2", "t sched_switch $arg2"),
        ("p f name=\\\"text\" b=\\\"a=b\"", "p f name=\\\"text\" b=\\\"a=b\""),
        ("p f name=\\\"text\":string", "p f name=\\\"text\":string"),
        #[cfg(target_arch = "x86_64")]
        ("p /lib/x:16 $arg1 b=$arg6:u32 $arg7 +0($arg2):string", "p /lib/x:0x10 %di b=%r9:u32 $stack1 +0(%si):string"),
        #[cfg(target_arch = "aarch64")]
        ("p /lib/x:16 $arg1 b=$arg8:u32 $arg9", "p /lib/x:0x10 %x0 b=%x7:u32 $stack0"),
        (
            "e:open syscalls/sys_enter_openat $filename:string $comm",
            "e:open syscalls.sys_enter_openat $filename:string $comm",
        ),
        ("  p\tf \n", "p f"),
    ];
    for (line, expected) in cases {
        assert_eq!(canonical(line), expected, "{line}");
        // The canonical text means the same.
        let again = parse_dynamic(expected).unwrap_or_else(|error| panic!("{expected}: {error}"));
        assert_eq!(parse_dynamic(line).unwrap(), again, "{line}");
    }
}

#[test]
fn errors_have_a_place_and_a_remedy() {
    let cases = [
        ("", 0, "there is no event here"),
        ("q f", 0, "an event begins with"),
        ("p", 1, "say where"),
        ("p:1a f", 2, "a name has letters"),
        ("p:a/b-c f", 4, "a name has letters"),
        ("-", 0, "say which event"),
        ("-:g/", 2, "say which event"),
        ("-:*", 2, "a name has letters"),
        ("r0 f", 1, "the number after `r`"),
        ("r5 /bin/sh:0x10", 1, "the number after `r`"),
        ("p bin/sh:0x10", 2, "the path of a file must be absolute"),
        ("p /bin/sh", 2, "this is no place"),
        ("p /bin/sh:main", 10, "this is no place"),
        ("p f+x", 4, "this is no place"),
        ("r f+4", 2, "a return probe is for the whole function"),
        ("e:a sys_enter", 4, "say which event"),
        ("p f %rdi", 5, "the kernel calls this register %di"),
        ("p f $retval", 5, "$retval is known only"),
        ("p f+8 $arg1", 7, "arguments are known only"),
        ("p f $arg0", 5, "this number cannot be here"),
        ("p f $foo", 5, "there is no such variable"),
        ("p f @+8", 5, "@+OFFSET is a place"),
        ("p /bin/sh:1 @jiffies", 13, "symbols and addresses of the kernel"),
        ("p f +8(%di", 7, "`)` is missing"),
        ("p f +x(%di)", 5, "this number cannot be here"),
        ("p f %di:u7", 8, "this is no type"),
        ("p f %di:b9@0/8", 8, "these bits do not fit"),
        ("p f +0(%di):u8[65]", 15, "an array has 1 to 64"),
        ("p f %di:u8[4]", 8, "an array has 1 to 64"),
        ("p f %di:string", 8, "text is in memory"),
        ("p f a=%di a=%si", 10, "another argument has this name"),
        ("p f common_pid=%di", 4, "every event has a field"),
        ("p f 9=%di", 4, "an argument's name"),
        ("p f\np g", 3, "this character cannot stand here"),
        ("p f \u{1b}[m", 4, "this character cannot stand here"),
        ("p f ,", 4, "this is no value"),
    ];
    for (line, at, words) in cases {
        let error = parse_dynamic(line).map(|line| line.to_string()).unwrap_err();
        assert_eq!(error.at, at, "{line}: {error}");
        assert!(error.problem.to_string().starts_with(words), "{line}: {error}");
        assert!(error.to_string().starts_with(&format!("column {}: ", at + 1)));
    }
    let nested = format!("p f {}%di{}", "+0(".repeat(40), ")".repeat(40));
    assert!(canonical(&nested).contains("at most 14 values"));
    let many = format!("p f {}", "%di ".repeat(129));
    assert!(canonical(&many).contains("128 arguments"));
    assert!(canonical(&"p".repeat(MAX_LINE_BYTES + 1)).contains("4096 bytes"));
}

#[test]
fn what_perf_probe_takes() {
    let cases = [
        ("do_sys_open", None, "p:probe/do_sys_open do_sys_open"),
        ("do_sys_open filename:string", None, "p:probe/do_sys_open do_sys_open filename:string"),
        (
            "readline%return +0($retval):string",
            Some("/bin/bash"),
            "r:probe_bash/readline__return /bin/bash:readline +0($retval):string",
        ),
        (
            "do_execve +0(+0(%si)):string +0(+8(%si)):string",
            None,
            "p:probe/do_execve do_execve +0(+0(%si)):string +0(+8(%si)):string",
        ),
        ("tcp_sendmsg+8 len=%dx", None, "p:probe/tcp_sendmsg tcp_sendmsg+0x8 len=%dx"),
        ("NAME=f%return $retval", None, "r:probe/NAME f $retval"),
        ("grp:ev=_f.isra.0", None, "p:grp/ev _f.isra.0"),
        ("ext4:ext4_sync_fs", None, "p:probe/ext4_sync_fs ext4:ext4_sync_fs"),
        ("malloc+4 %di", Some("/usr/lib/libc.so.6"), "p:probe_libc/malloc /usr/lib/libc.so.6:malloc+0x4 %di"),
        ("0x1230", Some("/bin/true"), "p:probe_true/abs_0x1230 /bin/true:0x1230"),
    ];
    for (text, file, expected) in cases {
        let found = parse_perf_probe(text, file).map(|found| found.to_string());
        assert_eq!(found.as_deref().map_err(ToString::to_string), Ok(expected), "{text}");
    }
    let refused = [
        ("f@file.c:10", None, 1, "source lines and patterns"),
        ("f:10", None, 1, "source lines and patterns"),
        ("f;ptn*", None, 1, "source lines and patterns"),
        ("a=", None, 2, "say where"),
        ("a b=c=d", None, 4, "this is no value"),
        ("f", Some("bash"), 0, "the path of a file must be absolute"),
        ("f", Some("/bin/a b"), 0, "the kernel cannot take a path with blanks"),
        ("f $retval", None, 3, "$retval is known only"),
    ];
    for (text, file, at, words) in refused {
        let error = parse_perf_probe(text, file).map(|found| found.to_string()).unwrap_err();
        assert!(error.problem.to_string().starts_with(words), "{text}: {error}");
        assert_eq!(error.at, at, "{text}");
    }
}

#[test]
fn a_function_in_a_file_is_replaced_by_its_place() {
    let probe = parse_perf_probe("readline+4", Some("/bin/bash")).unwrap();
    assert_eq!(probe.at_offset(0x100).to_string(), "p:probe_bash/readline /bin/bash:0x104");
}

proptest! {
    #[test]
    fn anything_is_read_or_refused(line in "\\PC{0,120}") {
        if let Ok(Line::Define(definition)) = parse_dynamic(&line) {
            prop_assert!(definition.to_string().is_ascii() || line.contains('/'));
        }
        let _whatever = parse_perf_probe(&line, Some("/bin/sh"));
    }

    /// What was understood is said in words that are understood alike, and in one line.
    #[test]
    fn the_canonical_text_means_the_same(
        line in "[pre]([0-9]{1,2})?(:[a-z/]{1,5})? [a-z/+:0-9x.%]{1,8}( ([a-z]=)?[-+u%$@\\\\]{0,2}[a-z0-9]{1,5}(\\(%di\\))?(:[usxb][0-9@/]{1,4})?){0,3}",
    ) {
        if let Ok(parsed) = parse_dynamic(&line) {
            let text = parsed.to_string();
            prop_assert_eq!(parse_dynamic(&text), Ok(parsed), "{}", text);
            prop_assert!(!text.contains('\n'));
        }
    }
}
