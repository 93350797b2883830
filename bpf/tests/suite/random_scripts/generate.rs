//! Random scripts: well-typed mostly, of every kind of statement and expression, small enough for a verifier's patience.

use std::fmt::Write as _;

/// What an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    Pair,
}

/// A map: its key's parts and what it holds.
#[derive(Clone, Copy, Debug)]
struct Map {
    name: &'static str,
    key: &'static [Kind],
    holds: Holds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Value(Kind),
    /// What is put in, as text with `#` for a number.
    Aggregate(&'static str),
}

use Kind::{Number, Pair, Text};

const MAPS: [Map; 15] = [
    Map { name: "@a", key: &[], holds: Holds::Value(Number) },
    Map { name: "@b", key: &[Number], holds: Holds::Value(Number) },
    Map { name: "@c", key: &[Text], holds: Holds::Value(Number) },
    Map { name: "@d", key: &[Number, Text], holds: Holds::Value(Text) },
    Map { name: "@e", key: &[Number, Number], holds: Holds::Value(Pair) },
    Map { name: "@f", key: &[Pair], holds: Holds::Value(Number) },
    Map { name: "@t", key: &[], holds: Holds::Value(Text) },
    Map { name: "@n", key: &[], holds: Holds::Aggregate("count()") },
    Map { name: "@o", key: &[Text, Number], holds: Holds::Aggregate("count()") },
    Map { name: "@s", key: &[Number], holds: Holds::Aggregate("sum(#)") },
    Map { name: "@v", key: &[], holds: Holds::Aggregate("avg(#)") },
    Map { name: "@w", key: &[Text], holds: Holds::Aggregate("stats(#)") },
    Map { name: "@m", key: &[Number], holds: Holds::Aggregate("max(#)") },
    Map { name: "@h", key: &[], holds: Holds::Aggregate("hist(#)") },
    Map { name: "@l", key: &[Number], holds: Holds::Aggregate("lhist(#, 0, 100, 10)") },
];

/// A probe: its point, and expressions that are there only.
struct Probe {
    point: &'static str,
    numbers: &'static [&'static str],
    texts: &'static [&'static str],
}

const PROBES: [Probe; 9] = [
    Probe {
        point: "tracepoint:syscalls:sys_enter_openat",
        numbers: &["args.flags", "args.dfd", "args.mode"],
        texts: &["str(args.filename)", "str(args.filename, 16)"],
    },
    Probe { point: "tracepoint:syscalls:sys_exit_read", numbers: &["args.ret"], texts: &[] },
    Probe {
        point: "tracepoint:sched:sched_switch",
        numbers: &["args.prev_pid", "args.next_prio", "args.prev_state"],
        texts: &["args.prev_comm", "args.next_comm"],
    },
    Probe {
        point: "tracepoint:raw_syscalls:sys_enter",
        numbers: &["args.id", "args.args[0]", "args.args[5]"],
        texts: &[],
    },
    Probe { point: "profile:hz:49", numbers: &[], texts: &[] },
    Probe { point: "interval:ms:500", numbers: &[], texts: &[] },
    Probe { point: "begin", numbers: &[], texts: &[] },
    Probe {
        point: "rawtracepoint:sched_switch",
        numbers: &["args.next->prio", "args.prev->pid", "args.prev->se.vruntime"],
        texts: &["args.next->comm"],
    },
    Probe { point: "end", numbers: &[], texts: &[] },
];

const NUMBERS: [&str; 22] = [
    "pid",
    "tid",
    "uid",
    "cpu",
    "nsecs",
    "rand",
    "curtask->prio",
    "curtask->real_parent->tgid",
    "curtask->se.vruntime",
    "curtask->start_time",
    "0",
    "1",
    "-1",
    "7",
    "255",
    "0x7fffffff",
    "0x80000000",
    "-9223372036854775807",
    "18446744073709551615",
    "sizeof(struct task_struct)",
    "offsetof(struct task_struct, comm)",
    "100ms",
];
const TEXTS: [&str; 6] =
    ["comm", "\"abc\"", "\"\"", "\"a longer text than a name\"", "curtask->comm", "curtask->real_parent->comm"];
const BINARY: [&str; 18] =
    ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "&&", "||"];
const CASTS: [&str; 8] = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"];
/// Puts something into each map, as reading from one that is always empty is refused.
const BEGIN: &str = "begin {
    @a = (int64)1; @b[1] = (int64)1; @c[\"a text of a length\"] = (int64)1; @d[1, \"abc\"] = \"a longer text than a name\";
    @e[1, 2] = ((int64)1, \"a longer text than a name\"); @f[((int64)1, \"abc\")] = (int64)1;
    @t = \"a longer text than a name\"; @n = count(); @o[\"abc\", 1] = count(); @s[1] = sum(1); @v = avg(1);
    @w[\"abc\"] = stats(1); @m[1] = max(1); @h = hist(1); @l[1] = lhist(1, 0, 100, 10);
}
";
/// How deep expressions and blocks become.
const DEPTH: u32 = 3;

/// A generator of numbers whose every run is the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, most: usize) -> usize {
        // Marsaglia's xorshift with a multiplication.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % most
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A script being written.
struct Writer {
    dice: Dice,
    out: String,
    /// Variables that can be used here.
    variables: Vec<(String, Kind)>,
    fresh: u32,
    probe: usize,
    loops: u32,
}

/// A random script.
pub(crate) fn script(seed: u64) -> String {
    let dice = Dice::new(seed);
    let mut writer = Writer { dice, out: BEGIN.to_owned(), variables: Vec::new(), fresh: 0, probe: 0, loops: 0 };
    for _ in 0..1 + writer.dice.below(3) {
        writer.probe = writer.dice.below(PROBES.len());
        writer.variables.clear();
        writer.out += PROBES[writer.probe].point;
        if writer.dice.below(3) == 0 && !matches!(PROBES[writer.probe].point, "begin" | "end") {
            let condition = writer.number(2);
            // A slash would end the condition.
            let _infallible = write!(writer.out, " /({})/", condition.replace('/', "%"));
        }
        writer.out += " {\n";
        let most = 2 + writer.dice.below(7);
        writer.block(0, most);
        writer.out += "}\n";
    }
    writer.out
}

impl Writer {
    fn line(&mut self, depth: u32, text: &str) {
        for _ in 0..=depth {
            self.out += "    ";
        }
        self.out += text;
        self.out.push('\n');
    }

    fn block(&mut self, depth: u32, most: usize) {
        let outer = self.variables.len();
        for _ in 0..most {
            self.statement(depth);
        }
        self.variables.truncate(outer);
    }

    fn name(&mut self) -> String {
        self.fresh += 1;
        format!("$v{}", self.fresh)
    }

    fn statement(&mut self, depth: u32) {
        let nested = depth < DEPTH;
        match self.dice.below(20) {
            0..=3 => self.assign(depth),
            4..=6 => self.store(depth),
            7..=9 => self.aggregate(depth),
            10 => {
                let map = self.dice.of(&["@a", "@b[1]", "@c[comm]"]);
                let change = self.dice.of(&["++", "--", " += 3", " ^= 5", " <<= 1"]);
                self.line(depth, &format!("{map}{change};"));
            }
            11 | 12 if nested => self.condition(depth),
            13 if nested => self.range(depth),
            14 if nested => self.entries(depth),
            15 if nested => self.rounds(depth),
            16 => self.forget(depth),
            17 if depth > 0 => {
                let word = if self.loops > 0 { self.dice.of(&["break", "continue", "return"]) } else { "return" };
                let condition = self.number(1);
                self.line(depth, &format!("if ({condition}) {{ {word}; }}"));
            }
            _ => self.print(depth),
        }
    }

    fn assign(&mut self, depth: u32) {
        let kind = self.dice.of(&[Number, Number, Text, Pair]);
        let value = self.value(kind, DEPTH);
        let known: Vec<String> = self
            .variables
            .iter()
            .filter(|(name, of)| *of == kind && kind == Number && !name.starts_with("$i"))
            .map(|it| it.0.clone())
            .collect();
        if !known.is_empty() && self.dice.below(2) == 0 {
            let name = known[self.dice.below(known.len())].clone();
            return self.line(depth, &format!("{name} = (int64)({value});"));
        }
        let name = self.name();
        let value = if kind == Number { format!("(int64)({value})") } else { value };
        self.line(depth, &format!("{name} = {value};"));
        self.variables.push((name, kind));
    }

    fn place(&mut self, map: &Map) -> String {
        let parts: Vec<String> = map.key.iter().map(|kind| self.value(*kind, 1)).collect();
        if parts.is_empty() { map.name.to_owned() } else { format!("{}[{}]", map.name, parts.join(", ")) }
    }

    fn map(&mut self, wanted: impl Fn(Holds) -> bool) -> Map {
        let all: Vec<Map> = MAPS.iter().copied().filter(|map| wanted(map.holds)).collect();
        self.dice.of(&all)
    }

    fn store(&mut self, depth: u32) {
        let map = self.map(|holds| matches!(holds, Holds::Value(_)));
        let Holds::Value(kind) = map.holds else { return };
        let (place, value) = (self.place(&map), self.value(kind, 2));
        let value = if kind == Number { format!("(int64)({value})") } else { value };
        self.line(depth, &format!("{place} = {value};"));
    }

    fn aggregate(&mut self, depth: u32) {
        let map = self.map(|holds| matches!(holds, Holds::Aggregate(_)));
        let Holds::Aggregate(what) = map.holds else { return };
        let (place, number) = (self.place(&map), self.number(2));
        self.line(depth, &format!("{place} = {};", what.replace('#', &number)));
    }

    fn condition(&mut self, depth: u32) {
        let condition = self.number(2);
        self.line(depth, &format!("if ({condition}) {{"));
        self.block(depth + 1, 2);
        if self.dice.below(2) == 0 {
            self.line(depth, "} else {");
            self.block(depth + 1, 2);
        }
        self.line(depth, "}");
    }

    fn range(&mut self, depth: u32) {
        self.fresh += 1;
        let (name, end) = (format!("$i{}", self.fresh), 1 + self.dice.below(30));
        self.line(depth, &format!("for {name} : 0..{end} {{"));
        self.inside(depth, Some((name, Number)));
    }

    fn entries(&mut self, depth: u32) {
        let map = self.dice.of(&["@b", "@c", "@s"]);
        let name = self.name();
        self.line(depth, &format!("for {name} : {map} {{"));
        let part = self.name();
        self.line(depth + 1, &format!("{part} = (int64){name}.1;"));
        self.inside(depth, Some((part, Number)));
    }

    /// The body of a loop, and its end.
    fn inside(&mut self, depth: u32, variable: Option<(String, Kind)>) {
        let outer = self.variables.len();
        self.variables.extend(variable);
        self.loops += 1;
        self.block(depth + 1, 2);
        self.loops -= 1;
        self.variables.truncate(outer);
        self.line(depth, "}");
    }

    fn rounds(&mut self, depth: u32) {
        if self.dice.below(2) == 0 {
            let count = 1 + self.dice.below(4);
            self.line(depth, &format!("unroll({count}) {{"));
            self.block(depth + 1, 2);
            return self.line(depth, "}");
        }
        let (name, end) = (self.name(), 1 + self.dice.below(20));
        self.line(depth, &format!("{name} = 0;"));
        self.line(depth, &format!("while ({name} < {end}) {{"));
        self.line(depth + 1, &format!("{name}++;"));
        self.inside(depth, None);
    }

    fn forget(&mut self, depth: u32) {
        let map = self.dice.of(&MAPS);
        let place = self.place(&map);
        match (self.dice.below(3), map.key) {
            (0, [_, ..]) => self.line(depth, &format!("delete({place});")),
            (1, _) => self.line(depth, &format!("zero({});", map.name)),
            _ => self.line(depth, &format!("clear({});", map.name)),
        }
    }

    fn print(&mut self, depth: u32) {
        match self.dice.below(6) {
            0 => {
                let map = self.dice.of(&MAPS);
                self.line(depth, &format!("print({});", map.name));
            }
            1 => {
                let value = self.value(Pair, 2);
                self.line(depth, &format!("print({value});"));
            }
            2 => self.line(depth, "printf(\"%s\\n\", kstack(5));"),
            3 => self.line(depth, "printf(\"%s at %s\\n\", ustack(3), strftime(\"%H\", nsecs));"),
            _ => {
                let (a, b, c) = (self.number(2), self.text(1), self.number(1));
                self.line(depth, &format!("printf(\"%d <%s> %-8x\\n\", {a}, {b}, {c});"));
            }
        }
    }

    fn value(&mut self, kind: Kind, depth: u32) -> String {
        match kind {
            Number => self.number(depth),
            Text => self.text(depth),
            Pair => format!("((int64)({}), {})", self.number(depth.min(1)), self.text(0)),
        }
    }

    fn known(&mut self, kind: Kind) -> Option<String> {
        let known: Vec<String> = self.variables.iter().filter(|(_, of)| *of == kind).map(|it| it.0.clone()).collect();
        if known.is_empty() { None } else { Some(known[self.dice.below(known.len())].clone()) }
    }

    fn number(&mut self, depth: u32) -> String {
        let deeper = depth > 0;
        match self.dice.below(16) {
            0..=3 => self.known(Number).unwrap_or_else(|| self.dice.of(&NUMBERS).to_owned()),
            4 if !PROBES[self.probe].numbers.is_empty() => self.dice.of(PROBES[self.probe].numbers).to_owned(),
            5..=8 if deeper => {
                let (a, op, b) = (self.number(depth - 1), self.dice.of(&BINARY), self.number(depth - 1));
                format!("({a} {op} {b})")
            }
            9 if deeper => {
                let (cast, a) = (self.dice.of(&CASTS), self.number(depth - 1));
                format!("({cast})({a})")
            }
            10 if deeper => {
                let (a, b, c) = (self.number(depth - 1), self.number(depth - 1), self.number(depth - 1));
                format!("({a} ? (int64)({b}) : (int64)({c}))")
            }
            11 if deeper => {
                let (a, b) = (self.text(0), self.text(0));
                let test = self.dice.of(&["(# == @)", "(# != @)", "strcontains(#, @)", "(strncmp(#, @, 4) == 0)"]);
                test.replace('#', &a).replace('@', &b)
            }
            12 if deeper => {
                let (sign, a) = (self.dice.of(&["-", "~", "!"]), self.number(depth - 1));
                format!("{sign}({a})")
            }
            13 if deeper => {
                let map = self.map(|holds| holds == Holds::Value(Number));
                self.place(&map)
            }
            14 if deeper => {
                let (map, number) = (
                    self.dice.of(&["len(@b)", "has_key(@b, #)", "(int64)@n", "(int64)@v", "@e[#, 1].0"]),
                    self.number(0),
                );
                map.replace('#', &number)
            }
            15 => self.known(Pair).map_or_else(|| "gid".to_owned(), |pair| format!("{pair}.0")),
            _ => self.dice.of(&NUMBERS).to_owned(),
        }
    }

    fn text(&mut self, depth: u32) -> String {
        match self.dice.below(8) {
            0 | 1 => self.known(Text).unwrap_or_else(|| "comm".to_owned()),
            2 | 3 if !PROBES[self.probe].texts.is_empty() => self.dice.of(PROBES[self.probe].texts).to_owned(),
            4 if depth > 0 => {
                let (a, b, c) = (self.number(1), self.text(0), self.text(0));
                format!("({a} ? {b} : {c})")
            }
            5 if depth > 0 => self.dice.of(&["@t", "@d[1, comm]"]).to_owned(),
            6 => self.known(Pair).map_or_else(|| "comm".to_owned(), |pair| format!("{pair}.1")),
            _ => self.dice.of(&TEXTS).to_owned(),
        }
    }
}
