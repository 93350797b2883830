//! Calls with the memory that was copied, and the text that strace makes of them.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "tests")]

use bathyscope_catalog::{
    constants::{Arch, syscall_number},
    syscalls::{Abi, Call, FileText, Moment, Piece, Style, decode, error_of, number_of, result_text},
};

type At<'a> = (u8, u8, bool, &'a [u8]);

fn text(name: &str, arguments: &[u64], result: i64, pieces: &[At<'_>]) -> String {
    of_number(syscall_number(Arch::X86_64, name).unwrap(), arguments, result, pieces)
}

fn of_number(number: i64, arguments: &[u64], result: i64, pieces: &[At<'_>]) -> String {
    let mut all = [0; 6];
    all.iter_mut().zip(arguments).for_each(|(to, from)| *to = *from);
    let pieces: Vec<Piece<'_>> = pieces
        .iter()
        .map(|&(argument, part, exit, bytes)| Piece { argument, part, exit, bytes: Some(bytes) })
        .collect();
    let call = Call { number, arguments: all, result: Some(result), unfinished: false, pieces: &pieces };
    let decoded = decode(Arch::X86_64, &call, &Style { strings: 32, ..Style::default() });
    let result = result_text(Arch::X86_64, number, Some(result), &decoded.note);
    format!("{}({}) = {result}", decoded.name, decoded.arguments)
}

const HERE: u64 = -100_i64 as u64;

#[test]
fn calls_are_written_as_strace_writes_them() {
    let long = [b'a'; 32];
    let message = {
        let words: [u64; 7] = [0, 0, 0x7000, 1, 0, 0, 0];
        words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()
    };
    let vector = [0x9000_u64, 3].iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let polled = [&3_i32.to_le_bytes()[..], &[1, 0, 1, 0]].concat();
    type Case<'a> = (&'a str, &'a [u64], i64, &'a [At<'a>], &'a str);
    let cases: [Case<'_>; 22] = [
        (
            "openat",
            &[HERE, 1, 0o2_000_000, 7],
            3,
            &[(1, 0, false, b"/etc/ld.so.cache\0")],
            r#"openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3"#,
        ),
        (
            "openat",
            &[HERE, 1, 0o101, 0o644],
            -2,
            &[(1, 0, false, b"x\0")],
            r#"openat(AT_FDCWD, "x", O_WRONLY|O_CREAT, 0644) = -1 ENOENT (No such file or directory)"#,
        ),
        ("openat", &[HERE, 1, 0], -14, &[], "openat(AT_FDCWD, 0x1, O_RDONLY) = -1 EFAULT (Bad address)"),
        ("write", &[1, 5, 60], 60, &[(1, 0, false, &long)], &format!("write(1, \"{}\"..., 60) = 60", "a".repeat(32))),
        ("read", &[3, 5, 60], 0, &[], r#"read(3, "", 60) = 0"#),
        ("read", &[3, 5, 60], 2, &[(1, 0, true, b"ab")], r#"read(3, "ab", 60) = 2"#),
        ("read", &[3, 0x5000, 60], -9, &[], "read(3, 0x5000, 60) = -1 EBADF (Bad file descriptor)"),
        ("brk", &[0], 0x5555_0000, &[], "brk(NULL) = 0x55550000"),
        ("umask", &[0o22], 0o22, &[], "umask(022) = 022"),
        (
            "mmap",
            &[0, 8192, 3, 0x22, u64::from(u32::MAX), 0],
            0x7f00_0000,
            &[],
            "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f000000",
        ),
        ("fcntl", &[3, 3], 0x8002, &[], "fcntl(3, F_GETFL) = 0x8002 (flags O_RDWR|O_LARGEFILE)"),
        ("fcntl", &[3, 2, 1], 0, &[], "fcntl(3, F_SETFD, FD_CLOEXEC) = 0"),
        ("fcntl", &[3, 1030, 10], 11, &[], "fcntl(3, F_DUPFD_CLOEXEC, 10) = 11"),
        ("socket", &[2, 0x80001, 6], 4, &[], "socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = 4"),
        (
            "getsockname",
            &[4, 1, 2],
            0,
            &[
                (1, 0, true, &[2, 0, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
                (2, 0, false, &[128, 0, 0, 0]),
                (2, 0, true, &[16, 0, 0, 0]),
            ],
            "getsockname(4, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"127.0.0.1\")}, [128 => 16]) = 0",
        ),
        (
            "sendmsg",
            &[5, 1, 0x4000],
            3,
            &[(1, 0, false, &message), (1, 2, false, &vector), (1, 3, false, b"abc")],
            "sendmsg(5, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"abc\", iov_len=3}], msg_iovlen=1, \
             msg_controllen=0, msg_flags=0}, MSG_NOSIGNAL) = 3",
        ),
        (
            "poll",
            &[1, 1, 10],
            1,
            &[(0, 0, false, &polled), (0, 0, true, &polled)],
            "poll([{fd=3, events=POLLIN}], 1, 10) = 1 ([{fd=3, revents=POLLIN}])",
        ),
        ("futex", &[0x1000, 129, 1], 0, &[], "futex(0x1000, FUTEX_WAKE_PRIVATE, 1) = 0"),
        (
            "clone",
            &[0x0120_0011, 0, 0, 0x7010],
            31197,
            &[],
            "clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x7010) = 31197",
        ),
        (
            "ioctl",
            &[1, 0x5401, 0x7ffe],
            -25,
            &[],
            "ioctl(1, TCGETS, 0x7ffe) = -1 ENOTTY (Inappropriate ioctl for device)",
        ),
        ("nanosleep", &[0x10, 0], -516, &[], "nanosleep(0x10, NULL) = ? ERESTART_RESTARTBLOCK (Interrupted by signal)"),
        (
            "execve",
            &[1, 2, 0x7ff0],
            0,
            &[
                (0, 0, false, b"/bin/ls\0"),
                (1, 0, false, &2_u32.to_le_bytes()),
                (1, 1, false, b"ls\0"),
                (1, 2, false, b"-l\0"),
                (2, 0, false, &[&7_u64.to_le_bytes()[..], &[0; 8]].concat()),
            ],
            r#"execve("/bin/ls", ["ls", "-l"], 0x7ff0 /* 1 var */) = 0"#,
        ),
    ];
    for (name, arguments, result, pieces, expected) in cases {
        assert_eq!(text(name, arguments, result, pieces), expected);
    }
}

#[test]
fn a_number_without_a_name_is_shown_with_all_arguments() {
    let call = Call { number: 500, arguments: [1, 2, 3, 0, 0, 0], result: Some(-38), unfinished: false, pieces: &[] };
    let decoded = decode(Arch::X86_64, &call, &Style { strings: 32, ..Style::default() });
    assert_eq!((decoded.name.as_str(), decoded.arguments.as_str()), ("syscall_0x1f4", "0x1, 0x2, 0x3, 0, 0, 0"));
    assert_eq!(result_text(Arch::X86_64, 500, None, ""), "?");
    assert_eq!((error_of(-38), error_of(5), error_of(-5000)), (Some("ENOSYS"), None, None));
}

#[test]
fn descriptors_have_files_where_they_are_known() {
    let number = syscall_number(Arch::X86_64, "openat").unwrap();
    let pieces = [Piece { argument: 1, part: 0, exit: false, bytes: Some(b"f\0") }];
    let call = Call { number, arguments: [HERE, 1, 0, 0, 0, 0], result: Some(3), unfinished: false, pieces: &pieces };
    let path = |path: &str| Some(FileText::Path(path.to_owned()));
    let file_of = |fd: i32, moment: Moment| match (fd, moment) {
        (-100, _) => path("/home"),
        (3, Moment::Exit) => path("/home/\x1bf"),
        (3, Moment::Entry) => path("/before"),
        (4, _) => path("/a<b> (deleted)"),
        (5, _) => Some(FileText::Plain("UNIX:[7,\"/x\"]".to_owned())),
        _ => None,
    };
    let decoded = decode(Arch::X86_64, &call, &Style { strings: 32, file_of: Some(&file_of), ..Style::default() });
    assert_eq!(decoded.arguments, r#"AT_FDCWD</home>, "f", O_RDONLY"#);
    assert_eq!(result_text(Arch::X86_64, number, Some(3), &decoded.note), r"3</home/\33f>");
    let of = |name: &str, arguments: [u64; 6], pieces: &[Piece<'_>]| {
        let number = syscall_number(Arch::X86_64, name).unwrap();
        let call = Call { number, arguments, result: Some(0), unfinished: false, pieces };
        decode(Arch::X86_64, &call, &Style { strings: 32, file_of: Some(&file_of), ..Style::default() }).arguments
    };
    // What a call was given is told as it was before, what it has filled as it is after.
    assert_eq!(of("dup2", [5, 3, 0, 0, 0, 0], &[]), r#"5<UNIX:[7,"/x"]>, 3</before>"#);
    assert_eq!(of("close", [4, 0, 0, 0, 0, 0], &[]), r"4</a\74b\76>(deleted)");
    let pair = [Piece { argument: 0, part: 0, exit: true, bytes: Some(&[3, 0, 0, 0, 5, 0, 0, 0]) }];
    assert_eq!(of("pipe2", [1, 0, 0, 0, 0, 0], &pair), r#"[3</home/\33f>, 5<UNIX:[7,"/x"]>], 0"#);
}

/// Whatever the memory is: no panic, and nothing but printable ASCII.
#[test]
fn any_bytes_in_any_place_are_decoded() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for round in 0..20_000_u64 {
        let abi = [0, Abi::I386_BIT, Abi::X32_BIT, Abi::I386_BIT | Abi::THROUGH_SOCKETCALL];
        let number = (round % 550) as i64 | abi[(round / 550 % 4) as usize];
        let arguments = [0; 6].map(|_| if next() % 2 == 0 { next() % 40 } else { next() });
        let memory: Vec<Vec<u8>> =
            (0..8).map(|_| (0..next() % 200).map(|_| (next() >> 32) as u8).collect::<Vec<u8>>()).collect();
        let pieces: Vec<Piece<'_>> = memory
            .iter()
            .map(|bytes| Piece {
                argument: (next() % 7) as u8,
                part: (next() % 4) as u8,
                exit: next() % 2 == 0,
                bytes: (next() % 5 != 0).then_some(bytes.as_slice()),
            })
            .collect();
        let result = match next() % 4 {
            0 => None,
            1 => Some(-((next() % 600) as i64)),
            2 => Some((next() % 300) as i64),
            _ => Some(next().cast_signed()),
        };
        let call = Call { number, arguments, result, unfinished: false, pieces: &pieces };
        let decoded = decode(Arch::X86_64, &call, &Style { strings: 32, ..Style::default() });
        let line = format!("{} {}", decoded.arguments, result_text(Arch::X86_64, number, result, &decoded.note));
        assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
    }
}

/// Numbers of 32 bits one after the other.
fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn sets_entries_messages_and_returns_from_handlers_are_decoded() {
    let (three, both, left) = ([8, 0, 0, 0, 0, 0, 0, 0], [0x28, 0, 0, 0, 0, 0, 0, 0], words(&[0, 0, 996, 0]));
    let time = words(&[1, 0, 0, 0]);
    let select = [(1, 0, false, &three[..]), (2, 0, false, &both), (4, 0, false, &time)];
    let found = [&select[..], &[(1, 0, true, &[0; 8]), (2, 0, true, &both), (4, 0, true, &left)]].concat();
    let asked = "select(6, [3], [3 5], NULL, {tv_sec=1, tv_usec=0})";
    assert_eq!(
        text("select", &[6, 1, 2, 0, 4], 2, &found),
        format!("{asked} = 2 (out [3 5], left {{tv_sec=0, tv_usec=996}})")
    );
    assert_eq!(text("select", &[6, 1, 2, 0, 4], 0, &select), format!("{asked} = 0 (Timeout)"));
    let mask = words(&[0x1000, 0, 8, 0]);
    assert_eq!(
        text("pselect6", &[6, 1, 0, 0, 0, 5], -4, &[(1, 0, false, &three), (5, 0, false, &mask)]),
        "pselect6(6, [3], NULL, NULL, NULL, {sigmask=0x1000, sigsetsize=8}) = -1 EINTR (Interrupted system call)"
    );
    assert_eq!(
        text("getdents64", &[3, 0x5000, 100], 72, &[(1, 0, true, &words(&[3]))]),
        "getdents64(3, 0x5000 /* 3 entries */, 100) = 72"
    );
    assert_eq!(text("getdents64", &[3, 0x5000, 100], 0, &[]), "getdents64(3, 0x5000 /* 0 entries */, 100) = 0");
    assert_eq!(text("getdents64", &[3, 0x5000, 100], 72, &[]), "getdents64(3, 0x5000, 100) = 72");
    assert_eq!(
        text("rt_sigreturn", &[1], 0, &[(0, 0, false, &[1, 0, 0, 0, 0, 0, 0, 0])]),
        "rt_sigreturn({mask=[HUP]}) = 0"
    );
    assert_eq!(text("rt_sigreturn", &[0], 0, &[]), "rt_sigreturn() = 0");
    let before = words(&[0x7000, 0, 128, 0]);
    let after = words(&[0x7000, 0, 0, 0, 0, 0, 0, 0, 0x8000, 0, 24, 0, 0, 0]);
    let beside = words(&[20, 0, 1, 1, 6, 0]);
    assert_eq!(
        text("recvmsg", &[3, 1, 0], 1, &[(1, 0, false, &before), (1, 0, true, &after), (1, 15, true, &beside)]),
        "recvmsg(3, {msg_name=0x7000, msg_namelen=128 => 0, msg_iov=NULL, msg_iovlen=0, msg_control=[{cmsg_len=20, \
         cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[6]}], msg_controllen=24, msg_flags=0}, 0) = 1"
    );
    assert_eq!(
        text("recvmsg", &[3, 1, 0], -11, &[(1, 0, false, &before)]),
        "recvmsg(3, {msg_namelen=128}, 0) = -1 EAGAIN (Resource temporarily unavailable)"
    );
}

#[test]
fn what_a_call_would_have_filled_is_not_shown_before_it_has() {
    let unfinished = |name: &str, arguments: [u64; 6]| {
        let number = syscall_number(Arch::X86_64, name).unwrap();
        let call = Call { number, arguments, result: None, unfinished: true, pieces: &[] };
        decode(Arch::X86_64, &call, &Style { strings: 32, ..Style::default() }).arguments
    };
    assert_eq!(unfinished("read", [3, 0x5000, 10, 0, 0, 0]), "3, ");
    assert_eq!(unfinished("wait4", [u64::MAX, 0x5000, 0, 0, 0, 0]), "-1, ");
    assert_eq!(unfinished("pause", [0; 6]), "");
}

/// As [`text`], of a 32-bit program.
fn narrow(name: &str, arguments: &[u64], result: i64, pieces: &[At<'_>]) -> String {
    of_number(number_of(Arch::X86_64, Abi::I386, name).unwrap(), arguments, result, pieces)
}

fn short_words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn calls_of_32_bit_programs_are_decoded_by_their_layouts() {
    let stat: Vec<u8> =
        [&short_words(&[1, 2])[..], &0o100_644_u16.to_le_bytes(), &[0; 10], &short_words(&[77]), &[0; 40]].concat();
    let stat64 = short_words(&[0, 0, 0, 1, 0o100_644, 1, 0, 0, 0, 0, 0, 0x1_0000, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let statfs = short_words(&[0xef53, 4096, 10, 9, 8, 7, 6, 1, 2, 255, 4096, 0]);
    let message = short_words(&[0, 0, 0x7000, 1, 0, 0, 0]);
    let vector = short_words(&[0x9000, 3]);
    let infinity = short_words(&[8192 * 1024, u32::MAX]);
    type Case<'a> = (&'a str, &'a [u64], i64, &'a [At<'a>], &'a str);
    let cases: [Case<'_>; 24] = [
        // What is above 32 bits in a register is not the program's.
        (
            "mmap2",
            &[0xdead_0000_0000, 4096, 1, 2, 3, 5],
            0xf7f0_0000,
            &[],
            "mmap2(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0x5000) = 0xf7f00000",
        ),
        ("lseek", &[3, 0xffff_fffe, 1], -22, &[], "lseek(3, -2, SEEK_CUR) = -1 EINVAL (Invalid argument)"),
        (
            "_llseek",
            &[3, 1, 2, 0x8000, 0],
            0,
            &[(3, 0, true, &short_words(&[2, 1]))],
            "_llseek(3, 4294967298, [4294967298], SEEK_SET) = 0",
        ),
        ("pread64", &[3, 0x8000, 2, 5, 1], 2, &[(1, 0, true, b"ab")], "pread64(3, \"ab\", 2, 4294967301) = 2"),
        ("ftruncate64", &[3, 0xffff_ffff, 0xffff_ffff], -22, &[], "ftruncate64(3, -1) = -1 EINVAL (Invalid argument)"),
        (
            "stat",
            &[0x8000, 0x9000],
            0,
            &[(0, 0, false, b"/a\0"), (1, 0, true, &stat)],
            "stat(\"/a\", {st_mode=S_IFREG|0644, st_size=77, ...}) = 0",
        ),
        (
            "fstat64",
            &[3, 0x9000],
            0,
            &[(1, 0, true, &stat64)],
            "fstat64(3, {st_mode=S_IFREG|0644, st_size=8590000128, ...}) = 0",
        ),
        (
            "readv",
            &[3, 0x8000, 1],
            3,
            &[(1, 0, true, &vector), (1, 1, true, b"abc")],
            "readv(3, [{iov_base=\"abc\", iov_len=3}], 1) = 3",
        ),
        (
            "sendmsg",
            &[3, 0x8000, 0],
            3,
            &[(1, 0, false, &message), (1, 2, false, &vector), (1, 3, false, b"abc")],
            "sendmsg(3, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"abc\", iov_len=3}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, 0) = 3",
        ),
        (
            "nanosleep",
            &[0x8000, 0],
            0,
            &[(0, 0, false, &short_words(&[1, 5]))],
            "nanosleep({tv_sec=1, tv_nsec=5}, NULL) = 0",
        ),
        (
            "clock_gettime",
            &[1, 0x8000],
            0,
            &[(1, 0, true, &short_words(&[1, u32::MAX]))],
            "clock_gettime(CLOCK_MONOTONIC, {tv_sec=1, tv_nsec=-1}) = 0",
        ),
        (
            "clock_gettime64",
            &[1, 0x8000],
            0,
            &[(1, 0, true, &short_words(&[1, 0, 5, 0]))],
            "clock_gettime64(CLOCK_MONOTONIC, {tv_sec=1, tv_nsec=5}) = 0",
        ),
        (
            "ugetrlimit",
            &[3, 0x8000],
            0,
            &[(1, 0, true, &infinity)],
            "ugetrlimit(RLIMIT_STACK, {rlim_cur=8192*1024, rlim_max=RLIM_INFINITY}) = 0",
        ),
        (
            "rt_sigaction",
            &[10, 0x8000, 0, 8],
            0,
            &[(1, 0, false, &short_words(&[1, 0x1000_0000, 0, 1 << 12, 0]))],
            "rt_sigaction(SIGUSR1, {sa_handler=SIG_IGN, sa_mask=[PIPE], sa_flags=SA_RESTART}, NULL, 8) = 0",
        ),
        (
            "sigaction",
            &[10, 0x8000, 0],
            0,
            &[(1, 0, false, &short_words(&[0, 1 << 12, 0, 0]))],
            "sigaction(SIGUSR1, {sa_handler=SIG_DFL, sa_mask=[PIPE], sa_flags=0}, NULL) = 0",
        ),
        (
            "sigprocmask",
            &[0, 0x8000, 0],
            0,
            &[(1, 0, false, &short_words(&[1 << 12]))],
            "sigprocmask(SIG_BLOCK, [PIPE], NULL) = 0",
        ),
        (
            "fcntl64",
            &[3, 6, 0x8000],
            0,
            &[(2, 0, false, &short_words(&[1, 3, 4, 0]))],
            "fcntl64(3, F_SETLK, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=3, l_len=4}) = 0",
        ),
        (
            "fcntl64",
            &[3, 13, 0x8000],
            0,
            &[(2, 0, false, &short_words(&[1, 3, 0, 4, 0]))],
            "fcntl64(3, F_SETLK64, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=3, l_len=4}) = 0",
        ),
        ("chown", &[0x8000, 0xffff, 7], 0, &[(0, 0, false, b"/a\0")], "chown(\"/a\", -1, 7) = 0"),
        ("getgroups", &[8, 0x8000], 2, &[(1, 0, true, &[1, 0, 2, 0])], "getgroups(8, [1, 2]) = 2"),
        (
            "execve",
            &[0x8000, 0x8100, 0x8200],
            0,
            &[
                (0, 0, false, b"/a\0"),
                (1, 0, false, &short_words(&[1])),
                (1, 1, false, b"a\0"),
                (2, 0, false, &short_words(&[5, 6, 0])),
            ],
            "execve(\"/a\", [\"a\"], 0x8200 /* 2 vars */) = 0",
        ),
        (
            "clone",
            &[0x0120_0011, 0, 0, 7, 0x9000],
            5,
            &[],
            "clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x9000) = 5",
        ),
        (
            "fstatfs",
            &[3, 0x8000],
            0,
            &[(1, 0, true, &statfs)],
            "fstatfs(3, {f_type=EXT2_SUPER_MAGIC, f_bsize=4096, f_blocks=10, f_bfree=9, f_bavail=8, f_files=7, f_ffree=6, f_fsid={val=[0x1, 0x2]}, f_namelen=255, f_frsize=4096, f_flags=0}) = 0",
        ),
        (
            "mmap",
            &[0, 4096, 1, 2, 3, 0],
            -12,
            &[],
            "mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) = -1 ENOMEM (Cannot allocate memory)",
        ),
    ];
    for (name, arguments, result, pieces, expected) in cases {
        assert_eq!(narrow(name, arguments, result, pieces), expected);
    }
    // Through others: the arguments are in the order of `ipc`.
    let through = |number: i64, arguments: &[u64]| of_number(Abi::I386_BIT | number, arguments, 0, &[]);
    assert_eq!(through(Abi::THROUGH_IPC + 14, &[7, 0, 9, 0x8000]), "msgctl(7, IPC_RMID, 0x8000) = 0");
    assert_eq!(through(Abi::THROUGH_SOCKETCALL + 13, &[3, 2]), "shutdown(3, SHUT_RDWR) = 0");
    // Those of x32 that 64-bit programs have too are the same; its own have short pointers and long times.
    assert_eq!(of_number(Abi::X32_BIT | 3, &[3], 0, &[]), "close(3) = 0");
    let read = of_number(Abi::X32_BIT | 515, &[3, 0x8000, 1], 3, &[(1, 0, true, &vector), (1, 1, true, b"abc")]);
    assert_eq!(read, "readv(3, [{iov_base=\"abc\", iov_len=3}], 1) = 3");
}
