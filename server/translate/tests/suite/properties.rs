//! Any text is translated or refused, at a place within it.

use bathyscope_translate::{Language, MAX_TEXT_BYTES, ScriptTarget, TranslateOptions, translate};
use proptest::prelude::*;

use crate::cases::table;

fn translated(text: &str) {
    let options = TranslateOptions {
        parameters: vec!["1".to_owned(), "sh".to_owned()],
        target: ScriptTarget::Process(1),
        quiet: false,
    };
    for language in [Language::DTrace, Language::SystemTap] {
        let said = match translate(language, text, &options) {
            Ok(translation) => translation.notes,
            Err(refusal) => vec![*refusal],
        };
        for it in said {
            assert!(text.get(it.start as usize..it.end as usize).is_some(), "{it:?} is within {text:?}");
        }
    }
}

fn texts() -> Vec<String> {
    let files = ["dtrace-one-liners.txt", "dtrace-scripts.txt", "systemtap.txt", "refused.txt"];
    files.into_iter().flat_map(|file| table(file).1).map(|case| case.text).collect()
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        translated(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn scripts_with_changes_are_answered(index in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), put in "\\PC{0,4}", taken in 0_usize..8) {
        let texts = texts();
        let text = index.get(&texts);
        let chars: Vec<char> = text.chars().collect();
        let at = at.index(chars.len());
        let changed: String = chars[..at].iter().copied().chain(put.chars()).chain(chars[(at + taken).min(chars.len())..].iter().copied()).collect();
        translated(&changed);
    }

    #[test]
    fn tokens_in_any_order_are_answered(tokens in prop::collection::vec(prop::sample::select(vec![
        "probe ", "syscall.read", "global ", "a", "{", "}", "(", ")", "[", "]", "@", "@count", "<<<", "++", "-", "foreach ", "in ",
        "$x", "self->", "this->", "BEGIN", "syscall::read:entry", "/", ",", ";", "\"%d %s\"", "printf", "execname()", "execname",
        "arg0", "if ", "else ", "=", "==", "?", ":", "1", "0x", "function ", "return ", ".", "pid$target", "tick-1s", "\n", "ä",
    ]), 0..60)) {
        translated(&tokens.concat());
    }
}

#[test]
fn deep_and_long_texts_are_refused() {
    for (open, close) in [
        ("(", ")"),
        ("!", ""),
        ("-", ""),
        ("{", "}"),
        ("1+", ""),
        ("1?", ":1"),
        ("a[", "]"),
        ("f(", ")"),
        ("if(1)", ""),
    ] {
        for count in [40, 1000, 5000] {
            let nested = format!("{}1{}", open.repeat(count), close.repeat(count));
            translated(&format!("BEGIN {{ x = {nested}; }}"));
            translated(&format!("BEGIN /{nested}/ {{ {nested} }}"));
            translated(&format!("probe begin {{ x = {nested} }}"));
            translated(&format!("probe begin {{ {nested} }}"));
        }
    }
    let calls: String =
        (0..12).map(|n| format!("function f{n}(x) {{ return f{}(x) + f{}(x) }}\n", n + 1, n + 1)).collect();
    translated(&format!("{calls} function f12(x) {{ return x }} probe begin {{ printf(\"%d\", f0(1)) }}"));
    translated(&format!("probe {} {{ }}", "{a,b}.".repeat(30)));
    translated(&"x".repeat(MAX_TEXT_BYTES + 1));
}
