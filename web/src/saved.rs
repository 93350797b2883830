//! A page that opens from the disk, without a server and without a network: markup, styles, one classic script, and what the console
//! had answered. Its policy lets it load and send nothing.

use std::io::{self, Write as _};

use askama::Template;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};

use crate::{RenderError, assets};

/// The styles of what a file can show, in the order in which pages have them.
const STYLES: [&str; 5] =
    ["tokens.css", "css/base.css", "css/language.css", "css/capture.css", "css/investigation.css"];
/// The script of all files: the build joins it of the modules of both pages (`build/bundle.rs`).
const SCRIPT: &str = "js/saved.js";

/// What a file is made of.
#[derive(Clone, Copy, Debug)]
pub struct SavedParts<'a> {
    /// What it is called, already made visible.
    pub title: &'a str,
    /// What only its own script and styles have: letters, digits and `-`.
    pub nonce: &'a str,
    /// What it holds, as JSON (`SavedFile` in `static/js/page/saved_answers.js`).
    pub data: &'a str,
    /// Whether it has an investigation.
    pub has_investigation: bool,
    /// Whether it has views of captures.
    pub has_views: bool,
}

#[derive(Debug, Template)]
#[template(path = "saved.html")]
struct SavedPage<'a> {
    title: &'a str,
    nonce: &'a str,
    has_investigation: bool,
    has_views: bool,
    /// Of the parts that pages have too: a file names what it shows in its data.
    id: &'a str,
}

/// The text of the file.
///
/// # Errors
/// If it cannot be written.
pub fn page(parts: SavedParts<'_>) -> Result<String, RenderError> {
    let SavedParts { title, nonce, data, has_investigation, has_views } = parts;
    let page = SavedPage { title, nonce, has_investigation, has_views, id: "" };
    let styles: Vec<_> = STYLES.iter().map(|path| text_of(path)).collect();
    let parts = [
        ("styles", styles.join("\n")),
        // No text of anybody ends the element.
        ("data", data.replace('<', "\\u003c")),
        ("script", within_script(&text_of(SCRIPT))),
    ];
    // Templates put nothing into a page as it is. Where these go the nonce stands, which no text of anybody has.
    let rendered = page.render()?;
    let (mut out, mut rest) = (String::new(), rendered.as_str());
    for (name, part) in &parts {
        if let Some((before, after)) = rest.split_once(&format!("{nonce}:{name}")) {
            out.push_str(before);
            out.push_str(part);
            rest = after;
        }
    }
    Ok(out + rest)
}

/// The bytes of a file without what it holds of captures: script, styles and markup.
pub fn page_bytes() -> usize {
    STYLES.iter().chain([&SCRIPT]).filter_map(|path| assets::get(path)).map(|asset| asset.bytes.len()).sum()
}

fn text_of(path: &str) -> String {
    assets::get(path).map(|asset| String::from_utf8_lossy(asset.bytes).into_owned()).unwrap_or_default()
}

/// Text for within a `script` element, which ends at no text but its own end.
fn within_script(script: &str) -> String {
    let mut out = String::with_capacity(script.len());
    let mut rest = script;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let begins = |word: &str| tag.get(1..=word.len()).is_some_and(|text| text.eq_ignore_ascii_case(word));
        out.push_str(if ["/script", "!--", "script"].into_iter().any(begins) { "\\x3C" } else { "<" });
        rest = tag.get(1..).unwrap_or_default();
    }
    out + rest
}

/// Compressed, in base64, as a file holds answers.
///
/// # Errors
/// If it cannot be compressed.
pub fn packed(bytes: &[u8]) -> io::Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(STANDARD.encode(encoder.finish()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::io::Read as _;

    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(STANDARD.encode(bytes), text);
        }
        assert_eq!(STANDARD.encode([0xfb, 0xff, 0xbf]), "+/+/");
    }

    #[test]
    fn what_is_packed_is_gzip() {
        let text = packed(&[b'a'; 3000]).unwrap();
        assert!(text.starts_with("H4sI") && text.len() < 100, "{text}");
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&[0x1f_u8, 0x8b][..]).read_to_end(&mut plain).unwrap_err();
    }

    /// Text of events stays text, and the file has two scripts: what it holds, and its own.
    #[test]
    fn p12_a_file_has_its_own_script_and_no_other() {
        let hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>\"\u{2028}";
        let data = serde_json::json!({ "left_out": [hostile] }).to_string();
        let parts = SavedParts { title: hostile, nonce: "n", data: &data, has_investigation: true, has_views: true };
        let html = page(parts).unwrap();
        assert_eq!(html.matches("<script").count(), 2, "the data and the script");
        assert_eq!(html.matches("</script").count(), 2);
        assert!(!html.contains("<img") && !html.contains("<!--"));
        let (_, held) = html.split_once("id=\"saved-data\">").unwrap();
        let (held, _) = held.split_once("</script>").unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(held).unwrap()["left_out"][0], hostile);
        let policy = "default-src 'none'; script-src 'nonce-n'; style-src 'nonce-n'; img-src data: blob:; base-uri 'none'; form-action 'none'";
        assert!(html.contains(&format!("content=\"{policy}\"")));
        assert!(
            html.contains("id=\"capture\"") && html.contains("id=\"investigation\"") && html.contains("id=\"help\"")
        );
        let still = SavedParts { has_views: false, ..parts };
        assert!(!page(still).unwrap().contains("id=\"capture\""));
    }

    #[test]
    fn the_script_is_one_classic_script_without_what_asks_a_server_to_change_something() {
        let script = text_of(SCRIPT);
        assert!(script.starts_with("\"use strict\";\n(() => {\n") && script.ends_with("})();\n"));
        for word in ["\nimport ", "\nexport ", "import(", "const $share_dialog", "const $sql_view"] {
            assert!(!script.contains(word), "{word}");
        }
        for module in [
            "const $saved_entry",
            "const $flame ",
            "const $timeline ",
            "const $events_view",
            "const $investigation_page",
        ] {
            assert_eq!(script.matches(module).count(), 1, "{module}");
        }
        assert!(page_bytes() < 3_000_000, "{}", page_bytes());
    }

    #[test]
    fn a_script_ends_at_its_own_end() {
        assert_eq!(
            within_script("a < b; \"</SCRIPT>\"; '<!--'; `<script>`"),
            "a < b; \"\\x3C/SCRIPT>\"; '\\x3C!--'; `\\x3Cscript>`"
        );
        assert_eq!(within_script("x<"), "x<");
    }
}
