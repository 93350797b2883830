#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::ColumnUnit;

fn normal(text: &str) -> String {
    Predicate::parse(text).map_or_else(|error| format!("error: {error}"), |predicate| predicate.to_string())
}

#[test]
fn text_has_a_normal_form() {
    let cases = [
        ("bytes_req > 1000", "bytes_req > 1000"),
        ("bytes_req>0x3e8", "bytes_req > 1000"),
        ("bytes_req > 1000 && comm == \"dd\" || !(id & 0x10)", "(bytes_req > 1000 && comm == \"dd\") || !(id & 0x10)"),
        ("a==1 and b!=2 or not c<=-3", "(a == 1 && b != 2) || !(c <= -3)"),
        ("comm ~ 'ssh*'", "comm ~ \"ssh*\""),
        ("comm !~ \"*d\"", "!(comm ~ \"*d\")"),
        ("args.pid == 1 && args->comm == 'x'", "args.pid == 1 && args.comm == \"x\""),
        ("args[1] >= 2", "args[1] >= 2"),
        ("args.args[01] >= 2", "args.args[1] >= 2"),
        ("(flags & 0x10) != 0", "flags & 0x10"),
        ("(flags & 16) == 0", "!(flags & 0x10)"),
        ("order == 1 || android == 2 || not_x == 3", "order == 1 || android == 2 || not_x == 3"),
        ("a == 1 && (b == 2 && c == 3)", "a == 1 && (b == 2 && c == 3)"),
        ("((a == 1))", "a == 1"),
        ("!a == 1", "!(a == 1)"),
        ("a == -0", "a == 0"),
        ("a == -9223372036854775808", "a == -9223372036854775808"),
        ("a == 0xffffffffffffffff", "a == 18446744073709551615"),
        ("pid in (1,0x2, -3)", "pid in (1, 2, -3)"),
        ("comm not in ('a', \"b\")", "!(comm in (\"a\", \"b\"))"),
        ("pid in(7) && in in (7)", "pid in (7) && in in (7)"),
        ("x between -5 and 0x10 and y == 1", "x between -5 and 16 && y == 1"),
        ("x not between 1 and 1", "!(x between 1 and 1)"),
        ("comm contains 'a*\\'b'", "comm contains \"a*'b\""),
        (
            "comm not contains 'a' or comm matches '^k(worker|soft)'",
            "!(comm contains \"a\") || comm matches \"^k(worker|soft)\"",
        ),
        ("has stack frame 'tcp_*' && !has stack frame \"x\"", "has stack frame \"tcp_*\" && !(has stack frame \"x\")"),
        ("has == 1 && contains == 2 && matches in (1)", "has == 1 && contains == 2 && matches in (1)"),
        ("a > 100ms && a<=1.5s", "a > 100ms && a <= 1500ms"),
        ("a > 100 ms && b == 0 || c < -2min", "(a > 100ms && b == 0) || c < -120s"),
        ("a >= 4KiB || a == 4 kB", "a >= 4KiB || a == 4000B"),
        ("a in (1us, 2µs) && a between 1ms and 0.5 h", "a in (1us, 2us) && a between 1ms and 1800s"),
        ("a == 0s && s == 1", "a == 0ns && s == 1"),
        (r#"f == "a\"b\\c\n\u{202e}""#, r#"f == "a\"b\\c\n\u{202e}""#),
    ];
    for (text, expected) in cases {
        assert_eq!(normal(text), expected, "{text}");
    }
}

#[test]
fn errors_say_where_and_what() {
    let cases = [
        ("", "expected a condition such as bytes_req > 1000 at character 0"),
        ("  ", "expected a condition such as bytes_req > 1000 at character 2"),
        ("pid ==", "expected a value after == at character 6"),
        ("pid == ", "expected a value after == at character 7"),
        ("comm == dd", "expected a number, or text in quotes, after == at character 8"),
        ("pid = 1", "to compare, write == at character 4"),
        ("pid", "expected a comparison such as == or > or a word such as contains after the field at character 3"),
        (
            "a && b == 1",
            "expected a comparison such as == or > or a word such as contains after the field at character 2",
        ),
        ("1 == pid", "expected a field's name before the value at character 0"),
        ("pid == 1 &&", "expected a field's name at character 11"),
        ("pid == 1 tid == 2", "expected &&, || or the end after a condition at character 9"),
        ("(pid == 1", "expected a ) for the ( at character 0 at character 9"),
        ("pid == 1)", "this ) closes nothing at character 8"),
        (
            "pid == 1k",
            "`k` is no unit; there are ns, us, ms, s, min and h for times and B, KiB, MiB, GiB, TiB, kB, MB, GB and TB for sizes at \
             character 8",
        ),
        ("pid == 1.5", "a number without a unit is whole, decimal or hexadecimal at character 8"),
        ("pid == 1.s", "a number without a unit is whole, decimal or hexadecimal at character 8"),
        ("pid == 0x1k", "a number without a unit is whole, decimal or hexadecimal at character 10"),
        ("pid == 1 k", "expected &&, || or the end after a condition at character 9"),
        ("pid == 1ms_x", "expected &&, || or the end after a condition at character 10"),
        ("pid == 1.5ns", "this is no whole number of nanoseconds at character 7"),
        ("pid == 99999999999999999999s", "this is more than 9223372036854775807 nanoseconds at character 7"),
        ("pid & 1ms", "& needs a number from zero up, such as 0x10 at character 6"),
        ("comm ~ 1ms", "~ needs text in quotes, such as \"ssh*\" at character 7"),
        (
            "x between 1 and 2ms",
            "the numbers of between have both units of time, both units of size, or none at character 10",
        ),
        ("x between 2ms and 1ms", "the first number of between is the smaller one at character 10"),
        ("x in (1ms, 1B)", "the values of in (…) have all units of time, all units of size, or none at character 2"),
        ("x in (1ms, 'a')", "the values of in (…) are all numbers or all texts at character 2"),
        ("pid == 18446744073709551616", "this number does not fit into 64 bits at character 7"),
        ("pid == -9223372036854775809", "this number does not fit into 64 bits at character 7"),
        ("pid == 0x", "expected hexadecimal digits after 0x at character 9"),
        ("comm < 'a'", "text can be compared with ==, !=, ~, contains and matches only at character 7"),
        ("comm ~ 5", "~ needs text in quotes, such as \"ssh*\" at character 7"),
        ("comm ~ 'a*b'", "a * may stand only at the beginning and at the end of a pattern at character 7"),
        ("id & -1", "& needs a number from zero up, such as 0x10 at character 5"),
        ("comm == 'größe", "this text has no closing ' at character 8"),
        ("comm == 'größe' x", "expected &&, || or the end after a condition at character 16"),
        ("comm == 'a\\x'", "a \\ begins one of \\\\ \\\" \\' \\n \\t \\u{…} at character 10"),
        ("or == 1", "expected a field's name, found the word or (a field is args.or) at character 0"),
        ("x.y == 1", "only args has parts, as in args.filename at character 1"),
        ("args[x] == 1", "expected the number of an element after [ at character 5"),
        ("pid in 1", "expected ( with values after in, as in (1, 2) at character 7"),
        ("pid in ()", "expected a value after in ( at character 8"),
        ("pid in (1", "expected a , or a ) after a value at character 9"),
        ("pid in (1,)", "expected a value after , at character 10"),
        ("pid in (1, 'a')", "the values of in (…) are all numbers or all texts at character 4"),
        ("pid not == 1", "expected in, between, contains or matches after not at character 8"),
        ("pid between 1", "expected and with the greater number, as in between 10 and 20 at character 13"),
        ("pid between 2 and 1", "the first number of between is the smaller one at character 12"),
        ("pid between 'a' and 'b'", "between needs two numbers, such as 10 and 20 at character 12"),
        ("comm contains ''", "contains needs a text to look for at character 14"),
        ("comm contains 5", "contains needs text in quotes, such as \"ssh\" at character 14"),
        ("comm matches 5", "matches needs a regular expression in quotes, such as \"^ssh[0-9]\" at character 13"),
        ("has stack x", "expected frame, as in has stack frame \"tcp_*\" at character 10"),
        ("has stack frame x", "expected a function's name in quotes after has stack frame at character 16"),
        ("has stack frame ''", "has stack frame needs a function's name, such as \"tcp_*\" at character 16"),
        ("(flags & 16) == 16", "the result of & can be compared with 0 only at character 16"),
    ];
    for (text, expected) in cases {
        assert_eq!(normal(text), format!("error: {expected}"), "{text}");
    }
}

#[test]
fn p14_length_and_depth_have_limits() {
    let of_length = |bytes: usize| format!("a == {}'{}'", "", "x".repeat(bytes - 7));
    assert!(Predicate::parse(&of_length(MAX_PREDICATE_BYTES - 1)).is_ok());
    assert!(Predicate::parse(&of_length(MAX_PREDICATE_BYTES)).is_ok());
    let long = PredicateError::TooLarge { what: "long", limit: MAX_PREDICATE_BYTES };
    assert_eq!(Predicate::parse(&of_length(MAX_PREDICATE_BYTES + 1)), Err(long));
    let deep = PredicateError::TooLarge { what: "deep", limit: MAX_PREDICATE_DEPTH };
    let of_depth = |depth: usize| format!("{}a == 1", "!".repeat(depth - 1));
    assert!(Predicate::parse(&of_depth(MAX_PREDICATE_DEPTH - 1)).is_ok());
    assert!(Predicate::parse(&of_depth(MAX_PREDICATE_DEPTH)).is_ok());
    assert_eq!(Predicate::parse(&of_depth(MAX_PREDICATE_DEPTH + 1)), Err(deep.clone()));
    assert_eq!(Predicate::parse(&"!".repeat(1000)), Err(deep.clone()));
    assert_eq!(Predicate::parse(&"(".repeat(1000)), Err(deep));
}

#[test]
fn trees_from_elsewhere_are_checked() {
    let compare = |field: &str, op, value| Predicate::Compare { field: field.to_owned(), op, value };
    let good = || compare("a", CompareOp::Eq, Literal::Number(1));
    let bad = [
        compare("a b", CompareOp::Eq, Literal::Number(1)),
        compare("", CompareOp::Eq, Literal::Number(1)),
        compare("or", CompareOp::Eq, Literal::Number(1)),
        compare("args->x", CompareOp::Eq, Literal::Number(1)),
        compare("a", CompareOp::Eq, Literal::Negative(1)),
        compare("a", CompareOp::Lt, Literal::Text("x".to_owned())),
        compare("a", CompareOp::Matches, Literal::Number(1)),
        compare("a", CompareOp::AnyBit, Literal::Negative(-1)),
        compare("a", CompareOp::Eq, amount(AmountKind::Time, i64::MIN)),
        compare("a", CompareOp::AnyBit, amount(AmountKind::Size, 1)),
        compare("a", CompareOp::Regex, amount(AmountKind::Size, 1)),
        Predicate::Between { field: "a".to_owned(), low: Literal::Number(1), high: amount(AmountKind::Time, 2) },
        Predicate::In { field: "a".to_owned(), values: vec![amount(AmountKind::Size, 1), Literal::Number(1)] },
        compare("a", CompareOp::Eq, Literal::Text("a\0".to_owned())),
        compare("a", CompareOp::Contains, Literal::Number(1)),
        compare("a", CompareOp::Regex, Literal::Text(String::new())),
        Predicate::In { field: "a".to_owned(), values: Vec::new() },
        Predicate::In { field: "a b".to_owned(), values: vec![Literal::Number(1)] },
        Predicate::In { field: "a".to_owned(), values: vec![Literal::Number(1), Literal::Text("x".to_owned())] },
        Predicate::Between { field: "a".to_owned(), low: Literal::Number(2), high: Literal::Number(1) },
        Predicate::HasFrame { name: "a\0".to_owned() },
        Predicate::All(vec![]),
        Predicate::Any(vec![good()]),
        Predicate::All(vec![good(); 500]),
    ];
    for predicate in bad {
        assert!(predicate.validate().is_err(), "{predicate:?}");
    }
    assert_eq!(Predicate::All(vec![good(), good()]).validate(), Ok(()));
}

#[test]
fn rows_are_judged_by_value() {
    let row = |name: &str| match name {
        "pid" => Some(Value::Unsigned(42)),
        "ret" => Some(Value::Signed(-2)),
        "addr" => Some(Value::Unsigned(u64::MAX)),
        "comm" => Some(Value::Text(b"sshd")),
        _ => None,
    };
    let cases = [
        ("pid == 42", true),
        ("pid >= 43", false),
        ("pid > -1", true),
        ("pid == -1", false),
        ("ret == -2", true),
        ("ret == 0xfffffffffffffffe", false),
        ("ret < 0 && ret <= -2", true),
        ("ret & 0x8000000000000000", true),
        ("addr == 18446744073709551615", true),
        ("addr > -1", true),
        ("addr < 0", false),
        ("pid & 0x2a", true),
        ("pid & 1", false),
        ("pid & 0", false),
        ("comm == \"sshd\"", true),
        ("comm == \"ssh\"", false),
        ("comm != \"ssh\"", true),
        ("comm ~ \"ssh*\"", true),
        ("comm ~ \"*hd\"", true),
        ("comm ~ \"*sh*\"", true),
        ("comm ~ \"*x*\"", false),
        ("comm ~ \"sshd\"", true),
        ("comm ~ \"ssh\"", false),
        ("comm ~ \"*\"", true),
        ("comm ~ \"**\"", true),
        ("comm == 4", false),
        ("comm != 4", false),
        ("pid != \"x\"", false),
        ("nothing != 4", false),
        ("!(nothing == 4)", true),
        ("pid == 1 || comm ~ \"s*\"", true),
        ("pid in (1, 42)", true),
        ("pid not in (1, 42)", false),
        ("ret in (18446744073709551614)", false),
        ("comm in ('ssh', 'sshd')", true),
        ("nothing in (1)", false),
        ("nothing not in (1)", true),
        ("pid between 42 and 42", true),
        ("pid between 43 and 50", false),
        ("ret between -3 and 0", true),
        ("comm between 0 and 9", false),
        ("comm contains \"sh\"", true),
        ("comm contains \"*\"", false),
    ];
    for (text, expected) in cases {
        assert_eq!(Predicate::parse(text).unwrap().eval(&mut |name| row(name)), expected, "{text}");
    }
}

#[test]
fn units_become_those_of_the_fields_or_are_refused_at_their_place() {
    let unit_of = |field: &str| match field {
        "bytes" => Some(ColumnUnit::Bytes),
        "wait_ms" => Some(ColumnUnit::Milliseconds),
        "duration_ns" => Some(ColumnUnit::Nanoseconds),
        _ => None,
    };
    let plain = |text: &str| match Predicate::parse(text).unwrap().in_units(&mut { unit_of }) {
        Ok(plain) => plain.to_string(),
        Err(error) => error.to_string(),
    };
    let cases = [
        ("duration_ns > 1.5s && pid == 4", "duration_ns > 1500000000 && pid == 4"),
        (
            "!(wait_ms in (1s, -2ms)) || wait_ms between 1s and 1min",
            "!(wait_ms in (1000, -2)) || wait_ms between 1000 and 60000",
        ),
        ("bytes >= 4KiB || bytes == 7", "bytes >= 4096 || bytes == 7"),
        ("has stack frame \"x\" || bytes < 1kB", "has stack frame \"x\" || bytes < 1000"),
        (
            "pid == 1 && prio > 100ms",
            "100ms is a time, but nothing says what `prio` is in: write a number without a unit at character 19",
        ),
        (
            "bytes  >  0.1s",
            "100ms is a time, but `bytes` is in bytes: write a size such as 4KiB, or a number without a unit at character 10",
        ),
        (
            "duration_ns > 4KiB",
            "4KiB is a size, but `duration_ns` is in nanoseconds: write a time such as 100ms, or a number without a unit at \
             character 14",
        ),
        (
            "wait_ms between 1ms and 1500us",
            "1500us is no whole number of milliseconds, which `wait_ms` is in: write a whole number of milliseconds at character 24",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(plain(text), expected, "{text}");
    }
    // A tree that was not read from text here has no places.
    let json = serde_json::to_string(&Predicate::parse("a > 1ms").unwrap()).unwrap();
    let tree: Predicate = serde_json::from_str(&json).unwrap();
    let error = tree.in_units(&mut |_| None).unwrap_err().to_string();
    assert_eq!(error, "1ms is a time, but nothing says what `a` is in: write a number without a unit");
    assert!(!tree.eval(&mut |_| Some(Value::Unsigned(u64::MAX))), "no number has a unit before");
}

#[test]
fn fields_are_listed_once() {
    let predicate = Predicate::parse("b == 1 && (a == 2 || b == 3) && !(args.c == 1)").unwrap();
    assert_eq!(predicate.fields(), ["b", "a", "args.c"]);
}

#[test]
fn lists_and_bounds_are_comparisons_too_and_rows_alone_have_patterns_and_frames() {
    let of = |text: &str| Predicate::parse(text).unwrap();
    let cases = [
        ("pid in (1, 2)", Some("pid == 1 || pid == 2")),
        ("pid in (1)", Some("pid == 1")),
        ("comm in ('a', 'b')", Some("comm == \"a\" || comm == \"b\"")),
        ("x between 1 and 2", Some("x >= 1 && x <= 2")),
        ("x == 1", None),
    ];
    for (text, expected) in cases {
        assert_eq!(of(text).as_comparisons().map(|it| it.to_string()).as_deref(), expected, "{text}");
    }
    let cases = [
        ("a == 1 && !(b == 2 || comm matches \"x\")", Some("matches")),
        ("has stack frame \"x\" || a == 1", Some("has stack frame")),
        ("a in (1) && b between 1 and 2 && comm contains 'x'", None),
    ];
    for (text, expected) in cases {
        assert_eq!(of(text).rows_only(), expected, "{text}");
    }
}

fn amount(kind: AmountKind, base: i64) -> Literal {
    Literal::Amount { amount: Amount { kind, base }, at: Place::default() }
}

fn field_name() -> impl Strategy<Value = String> {
    prop_oneof![Just("pid"), Just("comm"), Just("args.pid"), Just("args[3]"), Just("args.or"), Just("_x9")]
        .prop_map(str::to_owned)
}

fn comparison() -> impl Strategy<Value = Predicate> {
    let orders = prop_oneof![
        Just(CompareOp::Eq),
        Just(CompareOp::Ne),
        Just(CompareOp::Lt),
        Just(CompareOp::Le),
        Just(CompareOp::Gt),
        Just(CompareOp::Ge),
    ];
    let numbers = prop_oneof![
        any::<u64>().prop_map(Literal::Number),
        (i64::MIN..0).prop_map(Literal::Negative),
        (0_u64..3).prop_map(Literal::Number),
        (
            prop_oneof![Just(AmountKind::Time), Just(AmountKind::Size)],
            prop_oneof![any::<i64>(), -3_i64..3, Just(7 << 30)]
        )
            .prop_filter("an amount that can be written", |(_, base)| *base != i64::MIN)
            .prop_map(|(kind, base)| amount(kind, base)),
    ];
    let texts = "[^\0*]{0,6}";
    let operand = prop_oneof![
        (orders, numbers),
        any::<u64>().prop_map(|mask| (CompareOp::AnyBit, Literal::Number(mask))),
        (prop_oneof![Just(CompareOp::Eq), Just(CompareOp::Ne)], "[^\0]{0,6}".prop_map(Literal::Text)),
        ("[*]?", texts, "[*]?").prop_map(|(a, b, c)| (CompareOp::Matches, Literal::Text(a + &b + &c))),
        (prop_oneof![Just(CompareOp::Contains), Just(CompareOp::Regex)], "[^\0]{1,6}".prop_map(Literal::Text)),
    ];
    let compared = (field_name(), operand).prop_map(|(field, (op, value))| Predicate::Compare { field, op, value });
    let numbers = prop::collection::vec(-9_i64..9, 1..4);
    let number = |number: i64| u64::try_from(number).map_or(Literal::Negative(number), Literal::Number);
    let listed = (field_name(), numbers)
        .prop_map(move |(field, values)| Predicate::In { field, values: values.into_iter().map(number).collect() });
    let bounded = (field_name(), -9_i64..9, 0_i64..9).prop_map(move |(field, low, more)| Predicate::Between {
        field,
        low: number(low),
        high: number(low + more),
    });
    let framed = "[^\0]{1,6}".prop_map(|name| Predicate::HasFrame { name });
    prop_oneof![6 => compared, 1 => listed, 1 => bounded, 1 => framed]
}

fn tree() -> impl Strategy<Value = Predicate> {
    comparison().prop_recursive(5, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|p| Predicate::Not(Box::new(p))),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Predicate::All),
            prop::collection::vec(inner, 2..4).prop_map(Predicate::Any),
        ]
    })
}

proptest! {
    #[test]
    fn normal_form_parses_back(predicate in tree()) {
        match predicate.validate() {
            Ok(()) => prop_assert_eq!(Predicate::parse(&predicate.to_string()), Ok(predicate)),
            Err(error) => prop_assert!(matches!(error, PredicateError::TooLarge { what: "long", .. }), "{}", error),
        }
    }

    #[test]
    fn p16_no_text_panics(text in "\\PC{0,40}", grammar in "(([a-c0-9x&|!()~=<> \"'*\\\\\\[\\].,-]|in|not|and|between|contains|ms|µs|KiB|has stack frame) ?){0,30}") {
        for text in [text, grammar] {
            if let Ok(predicate) = Predicate::parse(&text) {
                prop_assert_eq!(Predicate::parse(&predicate.to_string()), Ok(predicate));
            }
        }
    }
}
