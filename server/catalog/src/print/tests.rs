//! What formats of kernels print, and that none makes it panic.

use std::{borrow::Cow, collections::BTreeMap};

use proptest::prelude::*;

use super::*;
use crate::{format::print_text, parse_event_format, recorded, types::Types};

/// Values of an event, by name.
struct Event<'a> {
    fields: &'a [String],
    values: &'a [(&'a str, FieldValue<'a>)],
}

impl EventValues for Event<'_> {
    fn field(&self, index: usize) -> Option<FieldValue<'_>> {
        let name = self.fields.get(index)?;
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn name_of(&self, address: u64) -> Option<AddressName> {
        let offset = address.checked_sub(0xffff_ffff_8100_0000).filter(|offset| *offset < 0x1000)?;
        Some(AddressName { name: "kfree".to_owned(), offset })
    }
}

fn int(value: i32) -> FieldValue<'static> {
    FieldValue::Number { bits: i64::from(value).cast_unsigned(), bytes: 4, signed: true }
}

fn long(bits: u64) -> FieldValue<'static> {
    FieldValue::Number { bits, bytes: 8, signed: false }
}

fn text(text: &str) -> FieldValue<'_> {
    FieldValue::Text(Cow::Borrowed(text.as_bytes()))
}

fn array(bytes: &[u8], width: u8) -> FieldValue<'_> {
    FieldValue::Array { bytes: Cow::Borrowed(bytes), width, signed: false }
}

/// A format file with these fields.
fn file(fields: &[&str], print: &str) -> String {
    let declare = |(i, field): (usize, &&str)| format!("\tfield:{field};\toffset:{};\tsize:4;\tsigned:1;\n", 8 + 8 * i);
    let fields: String = fields.iter().enumerate().map(declare).collect();
    format!("name: made\nID: 1\nformat:\n{fields}\nprint fmt: {print}\n")
}

fn parsed(file: &str) -> Result<PrintFormat, PrintError> {
    let event = parse_event_format(file.as_bytes()).unwrap();
    PrintFormat::parse(&event, file, &mut |name| (name == "KNOWN").then_some(7))
}

#[track_caller]
fn printed(print: &str, values: &[(&str, FieldValue<'_>)]) -> Result<String, NoText> {
    let fields: Vec<String> = values.iter().map(|(name, _)| format!("int {name}")).collect();
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let format = parsed(&file(&fields, print)).unwrap_or_else(|error| panic!("{print}: {error}"));
    let mut out = String::new();
    format.write(&Event { fields: format.fields(), values }, &mut out).map(|()| out)
}

#[test]
fn values_are_printed_as_printf_does() {
    let values = [
        ("a", int(-5)),
        ("b", int(200)),
        ("flags", int(0b1011)),
        ("at", long(0xffff_ffff_8100_0010)),
        ("comm", text("ls\u{1b}")),
        ("bytes", array(&[1, 2, 0xff, 0], 1)),
        ("longs", array(&[3, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], 8)),
    ];
    let cases = [
        (r#""a=%d b=%u%%", REC->a, REC->b"#, "a=-5 b=200%"),
        (r#""%x %lx %hhd %#x %#X", REC->a, REC->a, REC->b, REC->b, REC->b"#, "fffffffb fffffffffffffffb -56 0xc8 0XC8"),
        (r#""[%5d|%-5d|%05d|%+d|%.4d]", REC->a, REC->a, REC->a, REC->b, REC->b"#, "[   -5|-5   |-0005|+200|0200]"),
        (r#""%s %c%c", REC->comm, 'a', '\n'"#, r"ls\x1b a\n"),
        (r#""[%6s|%-6s|%.1s|%.*s]", "ab", "ab", "ab", 1, "xy""#, "[    ab|ab    |a|x]"),
        (r#""%d", REC->a + 2 * 3 - (4 << 1) / 2"#, "-3"),
        (r#""%d", REC->a < 0u"#, "0"),
        (r#""%s", REC->b > 100 && !(REC->a > 0) ? "yes" : "no""#, "yes"),
        (r#""%s", __print_flags(REC->flags, "|", { 1, "A" }, { 1 << 1, "B" "2" })"#, "A|B2|0x8"),
        (r#""%s", __print_flags(0, "|", { 1, "A" })"#, ""),
        (r#""%s %s", __print_symbolic(REC->b, { 200, "two" }), __print_symbolic(REC->b, { KNOWN, "7" })"#, "two 0xc8"),
        (
            r#""%pS %ps %pS %p", REC->at, (void *)REC->at, (void *)16, REC->at"#,
            "kfree+0x10 kfree 0x10 0xffffffff81000010",
        ),
        (
            r#""%s|%s", __print_hex(REC->bytes, 3), __print_hex_str(__get_dynamic_array(bytes), 99)"#,
            "01 02 ff|0102ff00",
        ),
        (r#""%s", __print_array(__get_dynamic_array(longs), __get_dynamic_array_len(longs) / 8, 8)"#, "{0x3,0x100}"),
        (r#""%s %*pbl %*pb", __get_bitmask(bytes), 26, REC->bytes, 12, REC->bytes"#, "00ff0201 0,9,16-23 201"),
        (
            r#""%pI4 %pi4 %pM %*phD", REC->bytes, REC->bytes, REC->longs, 2, REC->bytes"#,
            "1.2.255.0 001.002.255.000 03:00:00:00:00:00 01-02",
        ),
        (r#""%pI6c %pU", REC->longs, REC->longs"#, "300::1:0:0:0 03000000-0000-0000-0001-000000000000"),
        (r#""%d,%d", ((unsigned int) ((0x800010) >> 20)), ((unsigned int) ((0x800010) & ((1U << 20) - 1)))"#, "8,16"),
        (r#""%u %u", REC->bytes[2], ((u16 *)__get_dynamic_array(bytes))[0]"#, "255 513"),
        (r#""%d", ({ int x = (REC->a); int y = (3); ((x) < (y) ? (x) : (y)); })"#, "-5"),
        (r#""%llu", (unsigned long long)sizeof(struct in6_addr) + sizeof(REC->a)"#, "20"),
        (r#""after=%ld", (jiffies - REC->at) / 250"#, "after=?"),
        (r#""%d", (u8)REC->a"#, "251"),
        (r#""%ld", (long)(int)0xffffffff"#, "-1"),
        (r#""%d %d", REC->a ?: 4, 0 ?: 4"#, "-5 4"),
        (r#""a\tb %d %s", (REC)->b, __print_symbolic(REC->b, { 1, "1" }, { }, { -1, ((void *)0) })"#, "a b 200 0xc8"),
        ("\"two\nlines\n\"", "two lines"),
    ];
    for (print, expected) in cases {
        assert_eq!(printed(print, &values).as_deref(), Ok(expected), "{print}");
    }
}

#[test]
fn what_does_not_fit_has_no_text() {
    let values = [("a", int(0)), ("comm", text("ls"))];
    let cases = [
        r#""%d", 1 / REC->a"#,
        r#""%d", REC->comm"#,
        r#""%pI4", REC->a"#,
        r#""%pI4", REC->comm"#,
        r#""%d", REC->comm[9]"#,
        r#""%s", __print_flags(REC->comm, "|", { 1, "A" })"#,
    ];
    for print in cases {
        assert_eq!(printed(print, &values), Err(NoText), "{print}");
    }
}

#[test]
fn what_is_not_understood_is_refused_with_its_kind() {
    let deep = format!("\"%d\", {}1{}", "(".repeat(5000), ")".repeat(5000));
    let high = format!("\"%d\", 1{}", " + 1".repeat(5000));
    let cases = [
        ("", PrintErrorKind::Syntax),
        (r#""""#, PrintErrorKind::Missing),
        (r#""%d""#, PrintErrorKind::Conversion),
        (r#""%y", 1"#, PrintErrorKind::Conversion),
        (r#""%pV", REC->a"#, PrintErrorKind::Conversion),
        (r#""%d", REC->other"#, PrintErrorKind::Name),
        (r#""%d", TCP_OPEN"#, PrintErrorKind::Name),
        (r#""%d", REC->a.b"#, PrintErrorKind::Name),
        (r#""%s", made_up(REC->a)"#, PrintErrorKind::Function),
        (r#""%s", ({ const char *p = 0; static int q[] = { 1 }; p; })"#, PrintErrorKind::Statement),
        (r#""%d", "#, PrintErrorKind::Syntax),
        (r#""%d", 1 2"#, PrintErrorKind::Syntax),
        (&deep, PrintErrorKind::TooLarge),
        (&high, PrintErrorKind::TooLarge),
    ];
    for (print, kind) in cases {
        let error = parsed(&file(&["int a"], print)).unwrap_err();
        assert_eq!(error.kind, kind, "{print:.80}");
        assert!(!error.to_string().contains("TCP"), "it quotes nothing");
    }
    assert_eq!(parsed("name: made\nID: 1\n").unwrap_err().kind, PrintErrorKind::Missing);
}

/// Formats of a kernel by why they are not understood.
fn refused(formats: &BTreeMap<String, String>, types: &Types) -> Vec<(String, PrintErrorKind)> {
    let mut refused = Vec::new();
    for (name, text) in formats {
        let event = parse_event_format(text.as_bytes()).unwrap();
        let mut constant = |name: &str| types.constant(name).map(|found| found.value);
        if let Err(error) = PrintFormat::parse(&event, text, &mut constant) {
            refused.push((name.clone(), error.kind));
        }
    }
    refused
}

#[test]
#[allow(clippy::print_stdout, reason = "the count is what somebody who runs it wants to see")]
fn nearly_all_formats_of_recorded_kernels_are_understood() {
    for series in recorded::KERNELS {
        let kernel = recorded::kernel(series).unwrap();
        let refused = refused(&kernel.formats, &kernel.types());
        let (all, understood) = (kernel.formats.len(), kernel.formats.len() - refused.len());
        println!("{series}: {understood} of {all} print formats are understood; not {refused:?}");
        assert!(understood * 100 >= all * 98, "{series}: {understood} of {all}: {refused:#?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(text in "\\PC{0,200}", print in r#""(%[-0#]?[0-9*]{0,2}[a-zA-Z]{1,4} ?){0,4}"(, (REC->a|\(|\)|\{|\}|[0-9a-fx]{1,3}|[-+*/<>?:!~&|]|u8|__get_str|sizeof| ){0,8}){0,4}"#) {
        for print in [&text, &print] {
            let file = file(&["int a", "char b[4]"], print);
            if let Ok(format) = parsed(&file) {
                let values = [("a", int(-1)), ("b", text_of(&text))];
                let mut out = String::new();
                let _text_or_not = format.write(&Event { fields: format.fields(), values: &values }, &mut out);
                prop_assert!(!out.contains(|c: char| c.is_control()));
            }
        }
    }

    #[test]
    fn no_damage_to_a_format_makes_it_panic(which in 0_usize..4000, cut in 0_usize..5000, put in "[(){}*%\",&\\[\\]A-Z0-9:?-]{0,4}", bits in any::<u64>()) {
        let kernel = recorded_once();
        let text = kernel.values().nth(which % kernel.len()).unwrap();
        let at = print_text(text).map_or(0, |print| text.len() - print.len()) + cut % print_text(text).map_or(1, |t| t.len().max(1));
        let at = text.floor_char_boundary(at.min(text.len()));
        let end = text.floor_char_boundary((at + put.len() % 3).min(text.len()));
        let damaged = format!("{}{put}{}", &text[..at], &text[end..]);
        let Ok(event) = parse_event_format(damaged.as_bytes()) else { return Ok(()) };
        if let Ok(format) = PrintFormat::parse(&event, &damaged, &mut |_name| Some(1)) {
            let mut out = String::new();
            let _text_or_not = format.write(&Random(bits), &mut out);
            prop_assert!(out.len() <= 2 * MAX_PRINTED_BYTES + 1024);
        }
    }
}

fn text_of(text: &str) -> FieldValue<'_> {
    FieldValue::Text(Cow::Borrowed(text.as_bytes()))
}

/// Values of any kind.
struct Random(u64);

impl EventValues for Random {
    fn field(&self, index: usize) -> Option<FieldValue<'_>> {
        let bits = self.0.rotate_left(7 * index as u32);
        Some(match bits % 4 {
            0 => FieldValue::Text(bits.to_le_bytes().to_vec().into()),
            1 => FieldValue::Array {
                bytes: bits.to_le_bytes().repeat(3).into(),
                width: 1 << (bits >> 8 & 3),
                signed: true,
            },
            _ => FieldValue::Number { bits, bytes: 1 << (bits >> 8 & 3), signed: bits & 1 << 20 != 0 },
        })
    }

    fn name_of(&self, _address: u64) -> Option<AddressName> {
        None
    }
}

fn recorded_once() -> &'static BTreeMap<String, String> {
    static FORMATS: std::sync::OnceLock<BTreeMap<String, String>> = std::sync::OnceLock::new();
    FORMATS.get_or_init(|| recorded::kernel("6.18").unwrap().formats)
}
