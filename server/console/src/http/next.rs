//! Where a login leads back to: the page that was asked for, which `next` in the address of the login page names.
//!
//! Anybody can write such a link, so `next` is followed only to pages of the role table. A browser takes `//host`,
//! `/\host` and `/` with a line break in between for another site; none of them is a page here.

use std::fmt::Write as _;

use super::routes;

/// The longest address that is kept over a login. Links to views with a script are long.
const MOST_BYTES: usize = 8 << 10;

/// Whether `next` is a page of this console, with whatever query and fragment.
pub(super) fn is_own(next: &str) -> bool {
    let path = next.split(['?', '#']).next().unwrap_or_default();
    let is_plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    next.len() <= MOST_BYTES && is_plain && routes::is_page(path)
}

/// The address of the login page that leads back to `asked`. Without it, the start page follows.
pub(super) fn login_address(asked: Option<&str>) -> String {
    match asked.filter(|asked| *asked != "/" && is_own(asked)) {
        Some(asked) => format!("/login?next={}", encoded(asked)),
        None => "/login".to_owned(),
    }
}

/// `text` as a value in a query.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _infallible = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_console_are_returned_to() {
        for (next, expected) in [
            ("/", true),
            ("/?q=1", true),
            ("/captures", true),
            ("/captures?q=nginx", true),
            ("/captures/00000000000000ff?v=1&tab=flame&filter=comm%20~%20%22a*%22", true),
            ("/language#words-maps", true),
            ("/new?method=script&tool=opensnoop", true),
            ("", false),
            ("captures", false),
            ("//evil", false),
            ("//evil/captures", false),
            ("///evil", false),
            (r"/\evil", false),
            (r"\\evil", false),
            (r"/captures?q=\", false),
            ("/\t/evil", false),
            ("/captures\n", false),
            ("/captures?q=a b", false),
            ("/captures?q=ü", false),
            ("https:", false),
            ("https://evil", false),
            ("http:/captures", false),
            ("javascript:alert(1)", false),
            ("/login", false),
            ("/login?next=/captures", false),
            ("/logout", false),
            ("/api/captures", false),
            ("/assets/tokens.css", false),
            ("/captures/", false),
            ("/captures/..", false),
            ("/captures/../api/host", false),
            ("/captures/%2e%2e", false),
            ("/captures/ff/live", false),
            ("/nothing", false),
        ] {
            assert_eq!(is_own(next), expected, "{next:?}");
        }
        let long = |bytes: usize| format!("/captures?q={}", "a".repeat(bytes - "/captures?q=".len()));
        assert!(is_own(&long(MOST_BYTES)) && !is_own(&long(MOST_BYTES + 1)));
    }

    #[test]
    fn the_login_page_gets_what_was_asked_for() {
        for (asked, expected) in [
            (None, "/login"),
            (Some("/"), "/login"),
            (Some("//evil"), "/login"),
            (Some("/captures?q=a&tab=b#c"), "/login?next=/captures%3Fq%3Da%26tab%3Db%23c"),
            (Some("/captures?q=%20"), "/login?next=/captures%3Fq%3D%2520"),
        ] {
            assert_eq!(login_address(asked), expected, "{asked:?}");
        }
    }
}
