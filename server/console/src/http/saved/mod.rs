//! A view as a file: one HTML file that opens from the disk without a server and without a network. It holds the page (`bathyscope_web`
//! has its markup, styles and script) and what the console answers to all that the page asks: [`tabs`] knows what that is, and [`ask`]
//! asks it as whoever wants the file. The page's modules read it (`web/static/js/page/saved_*.js`).

use std::time::{Duration, Instant};

use axum::{
    Router,
    response::{IntoResponse as _, Response},
};
use bathyscope_capture::CaptureId;
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_web::saved::{SavedParts, page, page_bytes};
use http::{
    HeaderName, HeaderValue,
    header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
};
use serde::Serialize;

use self::{
    ask::{Answers, Ask, Asker, SavedAnswer, too_large},
    facts::{Facts, TABS},
    tabs::TabReader,
    view::KeptView,
};
use super::{
    access::Reader,
    context::Context,
    error::{ApiError, ErrorKind},
    routes,
    state::AppState,
};
use crate::hex::hex;

mod ask;
mod facts;
mod investigation;
mod tabs;
mod terminal;
mod view;
mod windows;

pub(super) use investigation::investigation_file;
pub use terminal::{capture_file_at_terminal, investigation_file_at_terminal};

/// The most bytes of a file.
pub(super) const MOST_FILE_BYTES: usize = 20_000_000;
/// Of these, what is written around the answers at most.
const AROUND_BYTES: usize = 64 << 10;
/// How long a browser waits; a request is given up after 90 s.
pub(super) const PATIENCE: Duration = Duration::from_secs(50);
/// Why a file has no SQL.
const SQL: &str = "SQL asks Bathyscope itself, which no file can";
/// Why a file has no comparison. A capture that is kept from somebody is as if it were not there.
const NO_OTHER: &str =
    "It is compared with nothing: what it was compared with is not there, or is kept from whoever saved it.";
/// The version of what a file holds (`SAVED_VERSION` in `saved_answers.js`).
const VERSION: u32 = 2;
/// The longest name of a file.
const NAME_CHARS: usize = 80;
/// What a file lacks, in sentences of plain letters.
const LEFT_OUT: HeaderName = HeaderName::from_static("bathyscope-left-out");

/// What is wanted of a capture.
#[derive(Clone, Debug, Default)]
pub struct AskedFile {
    /// The view: the query of the page's address; the usual one if it is empty.
    pub view: String,
    /// The tabs that the file has; that of the view if there are none.
    pub tabs: Vec<String>,
}

/// A file.
#[derive(Clone, Debug)]
pub struct MadeFile {
    /// What it is called.
    pub name: String,
    /// Its text.
    pub html: String,
    /// What is not in it, in sentences of plain letters.
    pub left_out: Vec<String>,
}

impl MadeFile {
    /// As a download.
    pub(super) fn response(self) -> Response {
        let head = [
            (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
            (CONTENT_DISPOSITION, format!("attachment; filename=\"{}\"", self.name)),
            // Opened at this console it is nobody's page.
            (CONTENT_SECURITY_POLICY, "sandbox".to_owned()),
        ];
        let left_out = HeaderValue::try_from(self.left_out.join(" "));
        let mut response = (head, self.html).into_response();
        if let Ok(words) = left_out {
            response.headers_mut().insert(LEFT_OUT, words);
        }
        response
    }
}

/// A view in a file.
#[derive(Clone, Debug, Serialize)]
struct SavedView {
    /// The investigation's block that has it; none where the file is of the view.
    block: Option<String>,
    capture: CaptureId,
    title: String,
    view: String,
    tabs: Vec<String>,
    /// What is not in the file of it.
    left_out: Vec<String>,
    answers: Vec<usize>,
}

/// What a file holds.
#[derive(Debug, Serialize)]
struct SavedFile<'a> {
    version: u32,
    from: Option<String>,
    saved_unix_ms: i64,
    left_out: &'a [String],
    investigation: Option<&'a investigation::SavedInvestigation>,
    views: &'a [SavedView],
    answers: &'a [SavedAnswer],
}

/// What makes a file.
pub(super) struct FileMaker {
    router: Router,
    answers: Answers,
    until: Instant,
    most_bytes: usize,
    left_out: Vec<String>,
}

impl FileMaker {
    /// One that reads for as long as `patience`; its file has at most so many bytes.
    ///
    /// # Errors
    /// If that is more than files may have.
    pub(super) fn new(state: &AppState, patience: Duration, most_bytes: Option<usize>) -> Result<Self, ApiError> {
        let until = Instant::now() + patience;
        let most_bytes = most_bytes.unwrap_or(MOST_FILE_BYTES);
        if most_bytes > MOST_FILE_BYTES {
            let why = format!("a file has at most {MOST_FILE_BYTES} bytes");
            return Err(ApiError::invalid(format!("making a file of {most_bytes} bytes"), why));
        }
        let (router, answers) = (routes::captures_inside(state.clone()), Answers::default());
        Ok(Self { router, answers, until, most_bytes, left_out: Vec::new() })
    }

    /// Reads the view of a capture.
    async fn read(
        &mut self,
        (reader, id): (Reader, CaptureId),
        asked: &AskedFile,
        most: MostBytes,
    ) -> Result<SavedView, ApiError> {
        let mut asker = Asker {
            router: self.router.clone(),
            reader,
            id,
            answers: &mut self.answers,
            most,
            until: self.until,
            used: Vec::new(),
        };
        let facts: Facts = asker.ask_json(&Ask::of("")).await?.ok_or_else(ApiError::no_capture)?;
        if facts.grows() {
            let why = "it is still recorded, and a file does not grow";
            let refused = ApiError::new(ErrorKind::Conflict, "making a file of the view", why);
            return Err(refused.remedy("Stop it, or wait for its end."));
        }
        let mut view = KeptView::read(&asked.view);
        let lost = view.leave_out();
        let is_alone = !reads_others(&mut asker, &view).await?;
        if is_alone {
            view.end_comparison();
        }
        let (first, tabs) = tabs_of(&facts, &view, &asked.tabs)?;
        if view.text("tab") != first {
            view.set("tab", first);
        }
        let mut read = TabReader {
            asker: &mut asker,
            facts: &facts,
            view: &view,
            most_window_bytes: most.windows,
            left_out: Vec::new(),
        };
        read.base().await?;
        for tab in &tabs {
            read.tab(tab).await?;
        }
        let mut left_out = read.left_out;
        if is_alone {
            left_out.push(NO_OTHER.to_owned());
        }
        if !lost.is_empty() {
            left_out.push(format!("It opens without what asks Bathyscope again: {}.", lost.join(", ")));
        }
        let view = view.query();
        let tabs = tabs.into_iter().map(str::to_owned).collect();
        Ok(SavedView { block: None, capture: id, title: facts.title, view, tabs, left_out, answers: asker.used })
    }

    /// Writes the file.
    fn write(
        self,
        (title, id): (&str, &str),
        from: Option<String>,
        (investigation, views): (Option<&investigation::SavedInvestigation>, &[SavedView]),
    ) -> Result<MadeFile, ApiError> {
        let internal = |error: Box<dyn std::error::Error + Send + Sync>| ApiError::internal("writing a file", error);
        let data = SavedFile {
            version: VERSION,
            from,
            saved_unix_ms: wall_unix_ns() / 1_000_000,
            left_out: &self.left_out,
            investigation,
            views,
            answers: self.answers.all(),
        };
        let data = serde_json::to_string(&data).map_err(|error| internal(error.into()))?;
        let mut random = [0_u8; 16];
        getrandom::fill(&mut random).map_err(|error| internal(error.to_string().into()))?;
        let nonce = hex(&random);
        let (has_investigation, has_views) = (investigation.is_some(), !views.is_empty());
        let parts = SavedParts { title, nonce: &nonce, data: &data, has_investigation, has_views };
        let html = page(parts).map_err(|error| internal(error.into()))?;
        if html.len() > self.most_bytes {
            return Err(too_large(self.most_bytes));
        }
        Ok(MadeFile { name: file_name(title, id), html, left_out: self.left_out })
    }
}

/// Whether whoever wants the file may read all that a view is compared with. One other capture is named by the page.
async fn reads_others(asker: &mut Asker<'_>, view: &KeptView) -> Result<bool, ApiError> {
    let Some(others) = view.compared_with() else { return Ok(false) };
    for other in &others {
        if !asker.reads(*other, others.len() == 1).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How many bytes there may be.
#[derive(Clone, Copy, Debug)]
struct MostBytes {
    /// Of the file.
    file: usize,
    /// Of its answers.
    answers: usize,
    /// Of the windows of a timeline.
    windows: usize,
}

impl MostBytes {
    fn of(file: usize) -> Self {
        Self { file, answers: file.saturating_sub(page_bytes() + AROUND_BYTES), windows: file / 5 * 2 }
    }
}

/// The tab that is open first, and all that the file has.
fn tabs_of<'a>(facts: &Facts, view: &KeptView, asked: &[String]) -> Result<(&'a str, Vec<&'static str>), ApiError> {
    let known = facts.tabs();
    let refused = |why: String| Err(ApiError::invalid("choosing tabs of a file", why));
    let mut chosen = Vec::new();
    for name in asked {
        match known.iter().find(|tab| *tab == name) {
            Some(tab) if !chosen.contains(tab) => chosen.push(*tab),
            Some(_) => {}
            None if name == "sql" => return refused(SQL.to_owned()),
            None if TABS.contains(&name.as_str()) => {
                return refused(format!("this capture has no `{name}`; it has: {}", known.join(", ")));
            }
            None => return refused(format!("there is no tab `{name}`; this capture has: {}", known.join(", "))),
        }
    }
    let of_view = known.iter().copied().find(|tab| *tab == view.text("tab"));
    if chosen.is_empty() {
        chosen = match of_view {
            Some(tab) => vec![tab],
            None if view.text("tab") == "sql" => {
                return refused(SQL.to_owned());
            }
            None => facts.first_tabs(),
        };
    }
    // A script's text says which is first; the page reads it.
    let is_said = of_view.is_some() || !facts.is_script() || !asked.is_empty();
    let first = of_view.filter(|tab| chosen.contains(tab)).or_else(|| chosen.first().copied());
    Ok((if is_said { first.unwrap_or("events") } else { "" }, chosen))
}

/// Where others find the page that a file was made of: at the public address, else at that of whoever asks.
pub(super) fn origin(state: &AppState, context: &Context) -> String {
    let hosts = state.hosts();
    hosts.public_url().map_or_else(|| format!("{}://{}", hosts.scheme(), context.host().0), ToString::to_string)
}

/// What a file is called.
fn file_name(title: &str, id: &str) -> String {
    let mut name = String::new();
    for letter in format!("{title}-{id}").chars() {
        let plain = if letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_') { letter } else { '_' };
        if plain != '_' || !name.ends_with('_') {
            name.push(plain);
        }
    }
    let kept: String = name.chars().take(NAME_CHARS).collect();
    format!("{kept}.html")
}

/// The file of a capture's view.
///
/// # Errors
/// If the capture still runs, a tab is not there, or the file would be too large.
pub(super) async fn capture_file(
    mut maker: FileMaker,
    of: (Reader, CaptureId),
    asked: &AskedFile,
    page: Option<String>,
) -> Result<MadeFile, ApiError> {
    let id = of.1;
    let view = maker.read(of, asked, MostBytes::of(maker.most_bytes)).await?;
    maker.left_out.clone_from(&view.left_out);
    let from = page.map(|page| format!("{page}?{}", view.view));
    let title = view.title.clone();
    maker.write((&title, &id.to_string()), from, (None, &[view]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_plain_name() {
        for (title, name) in [
            ("Why <b>is</b> it slow?", "Why_b_is_b_it_slow_-0f.html"),
            ("läuft/../x", "l_uft_.._x-0f.html"),
            ("", "-0f.html"),
        ] {
            assert_eq!(file_name(title, "0f"), name);
        }
        assert_eq!(file_name(&"a".repeat(200), "0f").len(), NAME_CHARS + 5);
    }
}
