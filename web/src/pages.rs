//! The pages. Each is a template with plain data; `render()` of [`crate::Template`] gives the HTML.
//!
//! Content security policy: every page needs exactly
//! `default-src 'none'; script-src 'nonce-…'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none';
//! form-action 'self'; frame-ancestors 'none'`, with the nonce that the page was given. The modules that a module with a
//! nonce imports inherit its nonce, so no `'strict-dynamic'` and no `'self'` is needed in `script-src`.

use askama::Template;

use crate::assets;

/// Which entry of the rail is the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nav {
    /// The start page.
    Start,
    /// The form for a new capture.
    New,
    /// The list of captures.
    History,
    /// Everything that can be traced.
    Catalog,
    /// The tools.
    Tools,
    /// What people keep by name.
    Library,
    /// What people look for.
    Investigations,
    /// What this host can do.
    Host,
    /// Who has an account.
    People,
    /// None of them: a capture, an error.
    None,
}

/// What all pages behind the login have in common.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Who is logged in, as shown.
    pub user: &'a str,
    /// Their role: `viewer`, `operator` or `admin`.
    pub role: &'a str,
    /// Whether they may start, stop, rename and delete captures. The server decides again on each request; this only
    /// leaves out what would be refused.
    pub can_record: bool,
    /// The current page.
    pub page: Nav,
}

impl Frame<'_> {
    /// For `aria-current`: `page` on the entry of the current page, else `false`.
    fn current(&self, nav: Nav) -> &'static str {
        if self.page == nav { "page" } else { "false" }
    }
}

/// The path of a file below the version: `asset("js/page_start.js")`.
fn asset(path: &str) -> String {
    format!("/assets/{}/{path}", assets::version())
}

/// The login, for everybody.
#[derive(Debug, Template)]
#[template(path = "login.html")]
pub struct Login<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Why the last attempt failed, one or more whole sentences; empty on the first.
    pub problem: &'a str,
    /// The page of this console that follows the login; empty for the start page.
    pub next: &'a str,
    /// Whether the page is to be asked for again at once, now from this console, so that the browser sends its cookie.
    pub ask_again: bool,
    /// Whether there is any account to log in by.
    pub has_accounts: bool,
    /// What people call the provider by which they log in; empty if there is none.
    pub provider: &'a str,
}

/// Where a browser comes back from the provider: it posts what that gave it, from a page of this console, so that it sends its cookies.
#[derive(Debug, Template)]
#[template(path = "signed_in.html")]
pub struct SignedIn<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// What people call the provider.
    pub provider: &'a str,
}

/// The page that a link to choose a password leads to. It tells nothing: its module posts the token in the address.
#[derive(Debug, Template)]
#[template(path = "password.html")]
pub struct Password<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// The least number of characters of a password.
    pub least_chars: usize,
    /// The largest.
    pub most_chars: usize,
}

/// Who has an account, for admins.
#[derive(Debug, Template)]
#[template(path = "people.html")]
pub struct People<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// Who is told of captures of flight recorders, for admins.
#[derive(Debug, Template)]
#[template(path = "webhooks.html")]
pub struct Webhooks<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// Who did what, for admins.
#[derive(Debug, Template)]
#[template(path = "audit.html")]
pub struct Audit<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// What somebody has of their own: password, sessions, tokens.
#[derive(Debug, Template)]
#[template(path = "account.html")]
pub struct Account<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// The start page: who is busy on this host, what it can do, recent captures, ways to begin.
#[derive(Debug, Template)]
#[template(path = "start.html")]
pub struct Start<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// The form for a new capture. It reads `method`, `tracepoint` and `from` from the address itself.
#[derive(Debug, Template)]
#[template(path = "new.html")]
pub struct New<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// All captures.
#[derive(Debug, Template)]
#[template(path = "history.html")]
pub struct History<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// One capture. The view is in the address; see `static/js/page/url_state.js`.
#[derive(Debug, Template)]
#[template(path = "capture.html")]
pub struct Capture<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
    /// The capture's id.
    pub id: &'a str,
    /// Its title, already made visible.
    pub title: &'a str,
}

/// Everything of this host that can be traced. What is looked for is in the address.
#[derive(Debug, Template)]
#[template(path = "catalog.html")]
pub struct Catalog<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// The scripts that come with the console.
#[derive(Debug, Template)]
#[template(path = "tools.html")]
pub struct Tools<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// What people keep by name.
#[derive(Debug, Template)]
#[template(path = "library.html")]
pub struct Library<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// Two captures beside each other.
#[derive(Debug, Template)]
#[template(path = "compare.html")]
pub struct Compare<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// What was recorded more than once.
#[derive(Debug, Template)]
#[template(path = "all_series.html")]
pub struct AllSeries<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// The runs of a series.
#[derive(Debug, Template)]
#[template(path = "series.html")]
pub struct Series<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
    /// Its id.
    pub id: &'a str,
}

/// The investigations.
#[derive(Debug, Template)]
#[template(path = "investigations.html")]
pub struct Investigations<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// One investigation.
#[derive(Debug, Template)]
#[template(path = "investigation.html")]
pub struct Investigation<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
    /// Its id.
    pub id: &'a str,
    /// Its title, already made visible.
    pub title: &'a str,
}

/// The reference of the probe language.
#[derive(Debug, Template)]
#[template(path = "language.html")]
pub struct Language<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// The reference of the API.
#[derive(Debug, Template)]
#[template(path = "api.html")]
pub struct ApiReference<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// What can be observed on this host, in full.
#[derive(Debug, Template)]
#[template(path = "host.html")]
pub struct Host<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// The page that a link for people without a login leads to. It tells nothing: its module posts the token in the address.
#[derive(Debug, Template)]
#[template(path = "share.html")]
pub struct ShareDoor<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// What chats show of it, where its maker wanted that.
    pub preview: Option<SharePreview>,
}

/// What chats show of a link, without opening it.
#[derive(Clone, Debug)]
pub struct SharePreview {
    /// What it is called.
    pub title: String,
    /// What it is.
    pub description: &'static str,
    /// The address of its picture.
    pub picture: String,
}

/// One capture, as somebody sees it who has a link to it and no login.
#[derive(Debug, Template)]
#[template(path = "shared_capture.html")]
pub struct SharedCapture<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// The capture's id.
    pub id: &'a str,
    /// What the link is called, already made visible.
    pub title: &'a str,
}

/// One investigation, as somebody sees it who has a link to it and no login.
#[derive(Debug, Template)]
#[template(path = "shared_investigation.html")]
pub struct SharedInvestigation<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// The investigation's id.
    pub id: &'a str,
    /// What the link is called, already made visible.
    pub title: &'a str,
}

/// Links for people without a login, for those who make some.
#[derive(Debug, Template)]
#[template(path = "shares.html")]
pub struct Shares<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it.
    pub frame: Frame<'a>,
}

/// Something failed or is not there.
#[derive(Debug, Template)]
#[template(path = "error.html")]
pub struct Error<'a> {
    /// Of this response's policy.
    pub nonce: &'a str,
    /// Who sees it; none where nobody is logged in.
    pub frame: Option<Frame<'a>>,
    /// What failed, short, as a heading: `This capture does not exist`.
    pub title: &'a str,
    /// Why; may be empty.
    pub why: &'a str,
    /// What to do; may be empty.
    pub remedy: &'a str,
    /// By which the log knows this request; may be empty.
    pub request_id: &'a str,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::*;

    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'";

    fn all() -> Vec<(&'static str, String)> {
        let frame = Frame { user: HOSTILE, role: "operator", can_record: true, page: Nav::Start };
        let nonce = "bm9uY2U";
        let preview =
            SharePreview { title: HOSTILE.to_owned(), description: "A recording", picture: HOSTILE.to_owned() };
        let error = |frame| Error { nonce, frame, title: HOSTILE, why: HOSTILE, remedy: HOSTILE, request_id: HOSTILE };
        vec![
            (
                "login",
                Login {
                    nonce,
                    problem: HOSTILE,
                    next: "/captures?q=\"'",
                    ask_again: true,
                    has_accounts: true,
                    provider: "",
                }
                .render()
                .unwrap(),
            ),
            (
                "first login",
                Login { nonce, problem: "", next: "", ask_again: false, has_accounts: false, provider: HOSTILE }
                    .render()
                    .unwrap(),
            ),
            ("password", Password { nonce, least_chars: 12, most_chars: 256 }.render().unwrap()),
            ("signed in", SignedIn { nonce, provider: HOSTILE }.render().unwrap()),
            ("people", People { nonce, frame }.render().unwrap()),
            ("webhooks", Webhooks { nonce, frame }.render().unwrap()),
            ("audit", Audit { nonce, frame }.render().unwrap()),
            ("account", Account { nonce, frame }.render().unwrap()),
            ("start", Start { nonce, frame }.render().unwrap()),
            ("new", New { nonce, frame }.render().unwrap()),
            ("history", History { nonce, frame }.render().unwrap()),
            ("capture", Capture { nonce, frame, id: "00000000000000ff", title: HOSTILE }.render().unwrap()),
            ("catalog", Catalog { nonce, frame }.render().unwrap()),
            ("tools", Tools { nonce, frame }.render().unwrap()),
            ("library", Library { nonce, frame }.render().unwrap()),
            ("language", Language { nonce, frame }.render().unwrap()),
            ("api", ApiReference { nonce, frame }.render().unwrap()),
            ("host", Host { nonce, frame }.render().unwrap()),
            ("share", ShareDoor { nonce, preview: None }.render().unwrap()),
            ("share with a preview", ShareDoor { nonce, preview: Some(preview) }.render().unwrap()),
            ("shared capture", SharedCapture { nonce, id: "00000000000000ff", title: HOSTILE }.render().unwrap()),
            (
                "shared investigation",
                SharedInvestigation { nonce, id: "00000000000000ff", title: HOSTILE }.render().unwrap(),
            ),
            ("compare", Compare { nonce, frame }.render().unwrap()),
            ("series", Series { nonce, frame, id: "00000000000000ff" }.render().unwrap()),
            ("investigations", Investigations { nonce, frame }.render().unwrap()),
            ("investigation", Investigation { nonce, frame, id: "00000000000000ff", title: HOSTILE }.render().unwrap()),
            ("shares", Shares { nonce, frame }.render().unwrap()),
            ("error", error(Some(frame)).render().unwrap()),
            ("error without a login", error(None).render().unwrap()),
        ]
    }

    #[test]
    fn p12_text_is_never_markup() {
        for (name, html) in all() {
            assert!(!html.contains("<img"), "{name}");
        }
    }

    #[test]
    fn p10_every_script_has_the_nonce_and_nothing_is_inline() {
        for (name, html) in all() {
            assert_eq!(html.matches("<script").count(), html.matches("<script nonce=\"bm9uY2U\"").count(), "{name}");
            for tag in html.split('<').skip(1).filter_map(|rest| rest.split_once('>')) {
                // Without values, in which anything may be text.
                let attributes: String = tag.0.split('"').step_by(2).collect();
                assert!(!attributes.contains(" style="), "{name}: {attributes}");
                assert!(!attributes.contains(" on"), "{name}: {attributes}");
            }
        }
    }

    #[test]
    fn every_file_that_a_page_names_exists() {
        let prefix = format!("/assets/{}/", assets::version());
        for (name, html) in all() {
            for rest in html.split(&prefix).skip(1) {
                let path = rest.split('"').next().unwrap();
                assert!(assets::get(path).is_some(), "{name} names {path}");
            }
        }
    }
}
