//! System calls with their arguments as text.

use bathyscope_capture::{Append, ColumnType, Method, StreamKind, StreamSchema, SyscallSpec};

use crate::{Maker, Rows, START_NS, column, dice::Dice};

const CPUS: u64 = 16;
const THREADS: u64 = 600;
const PAUSE_NS: u64 = 1_500;
/// Texts of arguments, different for each call.
const TEXTS: u64 = 20_000;
const NAMES: u64 = 200;

/// A call: its name, how long one usually takes, how many of a thousand fail, and its error.
const CALLS: [(&str, u64, u64, &str); 12] = [
    ("read", 900, 20, "EAGAIN"),
    ("futex", 20_000, 60, "EAGAIN"),
    ("write", 1_200, 2, "EPIPE"),
    ("epoll_wait", 400_000, 1, "EINTR"),
    ("openat", 3_000, 250, "ENOENT"),
    ("close", 300, 1, "EBADF"),
    ("recvmsg", 2_000, 300, "EAGAIN"),
    ("sendto", 6_000, 5, "EAGAIN"),
    ("newfstatat", 1_000, 100, "ENOENT"),
    ("mmap", 2_500, 1, "ENOMEM"),
    ("clock_nanosleep", 900_000, 1, "EINTR"),
    ("connect", 40_000, 400, "EINPROGRESS"),
];

/// Ids of texts: names of threads, of calls, of errors, what a row is, then arguments, call by call.
const CALL: u64 = NAMES + 1;
const ERROR: u64 = CALL + CALLS.len() as u64;
const KIND: u64 = ERROR + CALLS.len() as u64;
const ARGUMENTS: u64 = KIND + 1;

pub(crate) struct Calls {
    dice: Dice,
    now_ns: u64,
}

impl Calls {
    pub(crate) fn new() -> Self {
        Self { dice: Dice::new(2), now_ns: START_NS }
    }
}

fn arguments(call: &str, number: u64) -> String {
    let fd = 3 + number % 60;
    match call {
        "openat" | "newfstatat" => {
            format!("AT_FDCWD, \"/srv/data/shard-{}/part-{number}.log\", O_RDONLY|O_CLOEXEC", number % 97)
        }
        "futex" => format!("0x7f{:010x}, FUTEX_WAIT_BITSET_PRIVATE, {}, NULL", number * 64, number % 9),
        "mmap" => format!("NULL, {}, PROT_READ, MAP_PRIVATE, {fd}</usr/lib/libpart-{number}.so>, 0", number * 4096),
        "connect" => format!("{fd}, {{sa_family=AF_INET, sin_port=htons({number}), sin_addr=\"10.0.0.7\"}}, 16"),
        _ => format!("{fd}</srv/data/shard-{}/part-{number}.log>, \"line {number} of it\"..., 4096", number % 97),
    }
}

impl Maker for Calls {
    fn method(&self) -> Method {
        Method::Syscalls(SyscallSpec::default())
    }

    fn schemas(&self) -> Vec<StreamSchema> {
        let text = ColumnType::Text;
        let own = [
            ("call", text),
            ("args", text),
            ("result", ColumnType::I64),
            ("error", text),
            ("duration_ns", ColumnType::U64),
            ("note", text),
            ("kind", text),
        ];
        vec![StreamSchema::new("syscalls", StreamKind::Events, own.map(|(name, ty)| column(name, ty)))]
    }

    fn dictionaries(&self) -> Append {
        let names = (1..=NAMES).map(|id| format!("server-{id}"));
        let calls = CALLS.iter().map(|(name, ..)| (*name).to_owned());
        let errors = CALLS.iter().map(|(.., error)| (*error).to_owned());
        let arguments = CALLS.iter().flat_map(|(name, ..)| (0..TEXTS).map(|number| arguments(name, number)));
        let all = names.chain(calls).chain(errors).chain(["call".to_owned()]).chain(arguments);
        Append { strings: (1..).zip(all.map(String::into_bytes)).collect(), ..Append::default() }
    }

    fn event(&mut self, streams: &mut [Rows]) -> u16 {
        let dice = &mut self.dice;
        self.now_ns += dice.length(PAUSE_NS);
        let thread = dice.few(THREADS);
        let number = dice.few(CALLS.len() as u64);
        let Some((_, usual_ns, failing, _)) = CALLS.get(number as usize) else { return 0 };
        let failed = dice.below(1000) < *failing;
        let text = ARGUMENTS + number * TEXTS + dice.few(TEXTS);
        let result = if failed { (-11_i64).cast_unsigned() } else { dice.few(4096) };
        let error = if failed { ERROR + number } else { 0 };
        let values = [
            self.now_ns,
            (thread + dice.few(CPUS)) % CPUS,
            2000 + thread / 4 * 4,
            2000 + thread,
            1 + thread % NAMES,
            CALL + number,
            text,
            result,
            error,
            dice.length(*usual_ns),
            0,
            KIND,
        ];
        if let Some(rows) = streams.first_mut() {
            rows.push(&values);
        }
        0
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }
}
