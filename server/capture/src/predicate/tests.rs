#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use proptest::prelude::*;

use super::*;

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
        ("pid", "expected a comparison such as == or > after the field at character 3"),
        ("a && b == 1", "expected a comparison such as == or > after the field at character 2"),
        ("1 == pid", "expected a field's name before the value at character 0"),
        ("pid == 1 &&", "expected a field's name at character 11"),
        ("pid == 1 tid == 2", "expected &&, || or the end after a condition at character 9"),
        ("(pid == 1", "expected a ) for the ( at character 0 at character 9"),
        ("pid == 1)", "this ) closes nothing at character 8"),
        ("pid == 1k", "a number is decimal or hexadecimal, whole and without a unit at character 8"),
        ("pid == 18446744073709551616", "this number does not fit into 64 bits at character 7"),
        ("pid == -9223372036854775809", "this number does not fit into 64 bits at character 7"),
        ("pid == 0x", "expected hexadecimal digits after 0x at character 9"),
        ("comm < 'a'", "text can be compared with ==, != and ~ only at character 7"),
        ("comm ~ 5", "~ needs text in quotes, such as \"ssh*\" at character 7"),
        ("comm ~ 'a*b'", "a * may stand only at the beginning and at the end of a pattern at character 7"),
        ("id & -1", "& needs a number from zero up, such as 0x10 at character 5"),
        ("comm == 'größe", "this text has no closing ' at character 8"),
        ("comm == 'größe' x", "expected &&, || or the end after a condition at character 16"),
        ("comm == 'a\\x'", "a \\ begins one of \\\\ \\\" \\' \\n \\t \\u{…} at character 10"),
        ("or == 1", "expected a field's name, found the word or (a field is args.or) at character 0"),
        ("x.y == 1", "only args has parts, as in args.filename at character 1"),
        ("args[x] == 1", "expected the number of an element after [ at character 5"),
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
        compare("a", CompareOp::Eq, Literal::Text("a\0".to_owned())),
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
    ];
    for (text, expected) in cases {
        assert_eq!(Predicate::parse(text).unwrap().eval(&mut |name| row(name)), expected, "{text}");
    }
}

#[test]
fn fields_are_listed_once() {
    let predicate = Predicate::parse("b == 1 && (a == 2 || b == 3) && !(args.c == 1)").unwrap();
    assert_eq!(predicate.fields(), ["b", "a", "args.c"]);
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
    ];
    let texts = "[^\0*]{0,6}";
    let operand = prop_oneof![
        (orders, numbers),
        any::<u64>().prop_map(|mask| (CompareOp::AnyBit, Literal::Number(mask))),
        (prop_oneof![Just(CompareOp::Eq), Just(CompareOp::Ne)], "[^\0]{0,6}".prop_map(Literal::Text)),
        ("[*]?", texts, "[*]?").prop_map(|(a, b, c)| (CompareOp::Matches, Literal::Text(a + &b + &c))),
    ];
    (field_name(), operand).prop_map(|(field, (op, value))| Predicate::Compare { field, op, value })
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
    fn p16_no_text_panics(text in "\\PC{0,40}", grammar in "[a-c0-9x&|!()~=<> \"'*\\\\\\[\\].-]{0,40}") {
        for text in [text, grammar] {
            if let Ok(predicate) = Predicate::parse(&text) {
                prop_assert_eq!(Predicate::parse(&predicate.to_string()), Ok(predicate));
            }
        }
    }
}
