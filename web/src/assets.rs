//! Embedded files with everything that serving them needs worked out once: strong ETags, and the bytes of what the build
//! compressed.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io::Read as _,
    sync::LazyLock,
};

use flate2::read::GzDecoder;
use rust_embed::RustEmbed;
use sha2::{Digest as _, Sha256};

include!(concat!(env!("OUT_DIR"), "/static.rs"));

/// A file as it goes to the browser.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Its bytes.
    pub bytes: &'static [u8],
    /// The same bytes for `Content-Encoding: gzip`; none where that would not be smaller.
    pub gzip: Option<&'static [u8]>,
    /// A strong entity tag with its quotes. The gzip form needs another one: see [`Asset::gzip_etag`].
    pub etag: &'static str,
    /// The entity tag of the gzip form, with its quotes.
    pub gzip_etag: &'static str,
    /// The value for `Content-Type`.
    pub mime: &'static str,
    /// Whether the path that was asked for names this content and no other, so that it may be kept for ever.
    pub immutable: bool,
}

struct Stored {
    bytes: Vec<u8>,
    gzip: Cow<'static, [u8]>,
    etag: String,
    gzip_etag: String,
    mime: &'static str,
}

static STORED: LazyLock<BTreeMap<String, Stored>> =
    LazyLock::new(|| Files::iter().filter_map(|name| load(&name)).collect());

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut all = Sha256::new();
    for (path, stored) in STORED.iter() {
        all.update(path);
        all.update(&stored.etag);
    }
    format!("v-{}", hex(&all.finalize(), 8))
});

/// The first part of the paths that pages use, made from the content of all files: `v-0123456789abcdef`. Modules import
/// each other by relative path, so they stay below it, and all of it may be kept for ever.
pub fn version() -> &'static str {
    &VERSION
}

/// The file at `path`, which is what follows `/assets/`: `js/page_start.js`, or the same below [`version`]. Only names that were
/// embedded are found; a path is compared, never opened.
pub fn get(path: &str) -> Option<Asset> {
    let below_version = path.strip_prefix(version()).and_then(|rest| rest.strip_prefix('/'));
    let stored = STORED.get(below_version.unwrap_or(path))?;
    Some(Asset {
        bytes: &stored.bytes,
        gzip: (stored.gzip.len() < stored.bytes.len()).then_some(&*stored.gzip),
        etag: &stored.etag,
        gzip_etag: &stored.gzip_etag,
        mime: stored.mime,
        immutable: below_version.is_some(),
    })
}

/// The modules that `entry` (`js/page_start.js`) imports, directly or not, so that a page can ask for all of them at
/// once instead of finding them one level at a time. In a stable order, without `entry` itself.
pub fn modules_of(entry: &str) -> Vec<&'static str> {
    let mut found = BTreeSet::new();
    let mut open = vec![entry];
    while let Some(path) = open.pop() {
        let Some((path, stored)) = STORED.get_key_value(path) else {
            continue;
        };
        if found.insert(path.as_str()) {
            open.extend(
                imports(&stored.bytes).filter_map(|name| {
                    STORED.get_key_value(&format!("js/{name}")).map(|(path, _stored)| path.as_str())
                }),
            );
        }
    }
    found.remove(entry);
    found.into_iter().collect()
}

/// The names in `… from "./NAME";` at the ends of lines, the one form that the modules here use.
fn imports(module: &[u8]) -> impl Iterator<Item = &str> {
    let text = std::str::from_utf8(module).unwrap_or_default();
    text.lines().filter_map(|line| line.strip_suffix("\";")?.split_once(" from \"./").map(|(_what, name)| name))
}

/// The file that was embedded as `name`, which is its path with `.gz`.
fn load(name: &str) -> Option<(String, Stored)> {
    let path = name.strip_suffix(".gz")?;
    let gzip = Files::get(name)?.data;
    let mut bytes = Vec::new();
    GzDecoder::new(&*gzip).read_to_end(&mut bytes).ok()?;
    let digest = hex(&Sha256::digest(&bytes), 16);
    let (etag, gzip_etag) = (format!("\"{digest}\""), format!("\"{digest}-gzip\""));
    Some((path.to_owned(), Stored { bytes, gzip, etag, gzip_etag, mime: mime(path) }))
}

fn mime(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_stem, extension)| extension) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}

fn hex(bytes: &[u8], count: usize) -> String {
    bytes.iter().take(count).fold(String::new(), |mut out, byte| {
        // Writing to a String cannot fail.
        let _infallible = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_file_is_found_by_its_name_and_below_the_version() {
        let plain = get("tokens.css").unwrap();
        let kept = get(&format!("{}/tokens.css", version())).unwrap();
        assert!(!plain.immutable && kept.immutable);
        assert_eq!(plain.bytes, kept.bytes);
        assert_eq!(plain.mime, "text/css; charset=utf-8");
        assert_ne!(plain.etag, plain.gzip_etag);
        for path in ["", "/", "../Cargo.toml", "tokens.css/", "v-0000000000000000/tokens.css", "js", "js/../tokens.css"]
        {
            assert!(get(path).is_none(), "{path}");
        }
    }

    #[test]
    fn gzip_holds_the_same_bytes() {
        let asset = get("tokens.css").unwrap();
        let mut plain = Vec::new();
        GzDecoder::new(asset.gzip.unwrap()).read_to_end(&mut plain).unwrap();
        assert_eq!(plain, asset.bytes);
    }

    #[test]
    fn every_import_is_a_file() {
        for (path, stored) in STORED.iter().filter(|(path, _stored)| path.starts_with("js/")) {
            let text = std::str::from_utf8(&stored.bytes).unwrap();
            let listed: Vec<_> = imports(&stored.bytes).collect();
            assert_eq!(listed.len(), text.matches(" from \"").count(), "an import of {path} is not on one line");
            for name in listed {
                assert!(STORED.contains_key(&format!("js/{name}")), "{path} imports {name}, which does not exist");
            }
        }
    }

    /// How a page's modules come: what all pages need, and its own.
    #[test]
    fn a_page_asks_for_two_files() {
        let pages: Vec<_> = STORED.keys().filter(|path| path.starts_with("js/page_")).collect();
        assert!(pages.len() > 8, "{pages:?}");
        for page in pages {
            assert_eq!(modules_of(page), ["js/core.js"], "{page}");
        }
        assert!(get("js/dom.js").is_none(), "joined with others, not served by itself");
        assert!(get("js/script_editor.js").is_some() && get("js/vendor/codemirror.js").is_some(), "loaded later");
        assert!(get("js/vendor/codemirror.d.ts").is_none(), "only for the check of types");
    }

    /// P10: the policy forbids these; nothing may depend on them.
    #[test]
    fn p10_no_module_writes_markup() {
        for (path, stored) in STORED.iter() {
            let text = String::from_utf8_lossy(&stored.bytes);
            for word in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "://"]
            {
                // Names of XML, and examples of addresses for other programs, at hosts that can be nobody's (RFC 2606).
                let is_name = |(at, _): (usize, &str)| {
                    let host = text[at + word.len()..].split('/').next().unwrap_or_default();
                    host == "www.w3.org" || (path == "openapi.json" && host.ends_with(".example"))
                };
                let allowed = word == "://" && text.match_indices(word).all(is_name);
                assert!(allowed || !text.contains(word), "{path} contains {word}");
            }
        }
    }
}
