//! Asks the console what its pages ask it, and packs what it answers. Who asks was decided before: each question goes to the same
//! handlers as one from a browser does, as whoever has the file made, so a file holds nothing that they may not read.

use std::{collections::HashMap, time::Instant};

use axum::{Router, body::Body};
use bathyscope_capture::CaptureId;
use bathyscope_web::saved::packed;
use bytes::Bytes;
use http::{Request, StatusCode, header::CONTENT_TYPE};
use openidconnect::url::form_urlencoded;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use tower::ServiceExt as _;

use super::{
    super::access::{Inside, Reader},
    MostBytes,
    view::KeptView,
};
use crate::http::error::{ApiError, ErrorKind, refused};

/// The most bytes of one answer.
const MOST_ANSWER_BYTES: usize = 256 << 20;

/// A question about a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    below: String,
    params: Vec<(&'static str, String)>,
}

impl Ask {
    /// What is below the address of the capture: `/rows`, or nothing for the capture itself.
    pub(super) fn of(below: impl Into<String>) -> Self {
        Self { below: below.into(), params: Vec::new() }
    }

    /// With a parameter; none if it is empty, as pages leave those out.
    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        let value = value.to_string();
        if !value.is_empty() {
            self.params.push((name, value));
        }
        self
    }

    /// With a parameter, if there is one.
    #[must_use]
    pub(super) fn with_some(self, name: &'static str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// With the range of a view.
    #[must_use]
    pub(super) fn in_range(self, view: &KeptView) -> Self {
        let range = view.range();
        self.with_some("start", range.map(|(start, _)| start)).with_some("end", range.map(|(_, end)| end))
    }

    /// With parts of a view, under their own names.
    #[must_use]
    pub(super) fn with_parts(self, view: &KeptView, names: &[&'static str]) -> Self {
        names.iter().fold(self, |ask, name| ask.with(name, view.text(name)))
    }

    /// With the other side of a view that compares, as `otherSide` of `view/against/against_model.js` has it, but for the way in which
    /// amounts are compared.
    #[must_use]
    pub(super) fn with_other_side(self, view: &KeptView) -> Self {
        let against = Some(view.text("against")).filter(|against| *against != "self").unwrap_or_default();
        // An empty filter is one too; none is that of this side.
        let filter = Some(view.text("againstfilter")).filter(|filter| !filter.is_empty()).unwrap_or(" ");
        self.with("with", against)
            .with_some("with_start", view.number("againststart"))
            .with_some("with_end", view.number("againstend"))
            .with_some("with_filter", Some(filter).filter(|_| !view.is_on("againstsame")))
    }

    /// The same of what is below it.
    #[must_use]
    pub(super) fn below(self, below: &str) -> Self {
        Self { below: self.below + below, ..self }
    }

    /// Without some parameters.
    #[must_use]
    pub(super) fn without(mut self, names: &[&str]) -> Self {
        self.params.retain(|(name, _)| !names.contains(name));
        self
    }

    fn address(&self, id: CaptureId) -> String {
        let path = format!("/api/captures/{id}{}", self.below);
        if self.params.is_empty() {
            return path;
        }
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.params).finish();
        format!("{path}?{query}")
    }
}

/// An answer in a file.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SavedAnswer {
    address: String,
    #[serde(rename = "type")]
    kind: &'static str,
    gzip: String,
}

/// The answers of a file, each once.
#[derive(Debug, Default)]
pub(super) struct Answers {
    all: Vec<SavedAnswer>,
    known: HashMap<String, usize>,
    bytes: usize,
}

impl Answers {
    /// What a file holds.
    pub(super) fn all(&self) -> &[SavedAnswer] {
        &self.all
    }

    /// How large they are in the file.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of the answer from an address, if it is there.
    fn number(&self, address: &str) -> Option<usize> {
        self.known.get(address).copied()
    }

    /// Keeps an answer; gives its number.
    ///
    /// # Errors
    /// If it cannot be compressed.
    pub(super) fn keep(&mut self, address: &str, kind: &'static str, body: &[u8]) -> Result<usize, ApiError> {
        if let Some(known) = self.number(address) {
            return Ok(known);
        }
        let gzip = packed(body).map_err(|error| ApiError::internal("packing an answer", error))?;
        // With the quotes, names and commas around it.
        self.bytes += gzip.len() + address.len() + 48;
        self.known.insert(address.to_owned(), self.all.len());
        self.all.push(SavedAnswer { address: address.to_owned(), kind, gzip });
        Ok(self.all.len() - 1)
    }

    /// Keeps the words in which a question was refused, which its place in the file says as a page does.
    ///
    /// # Errors
    /// If they cannot be compressed.
    fn keep_refusal(&mut self, address: &str, refusal: &ApiError) -> Result<usize, ApiError> {
        let ApiError { kind, doing, why, remedy, .. } = refusal;
        let words = json!({ "error": { "kind": kind.as_str(), "doing": doing, "why": why, "remedy": remedy } });
        self.keep(address, "refused", words.to_string().as_bytes())
    }

    /// Forgets all but the first of them: a view that came too late or is too large has none.
    pub(super) fn truncate(&mut self, count: usize) {
        for left in self.all.drain(count..) {
            self.bytes -= left.gzip.len() + left.address.len() + 48;
            self.known.remove(&left.address);
        }
    }
}

/// Asks about one capture, as one reader.
pub(super) struct Asker<'a> {
    /// The routes of captures.
    pub(super) router: Router,
    /// As whom.
    pub(super) reader: Reader,
    /// Which capture.
    pub(super) id: CaptureId,
    /// Where answers are kept.
    pub(super) answers: &'a mut Answers,
    /// The most bytes that they may have.
    pub(super) most: MostBytes,
    /// When whoever waits is answered with what there is by then.
    pub(super) until: Instant,
    /// The numbers of the answers to what was asked here.
    pub(super) used: Vec<usize>,
}

impl Asker<'_> {
    /// Asks what the whole view depends on.
    ///
    /// # Errors
    /// As [`Asker::ask`], and if the question is refused: the view's filter cannot be read.
    pub(super) async fn ask_first(&mut self, ask: &Ask) -> Result<(), ApiError> {
        match self.has(ask).await? {
            Ok(()) => Ok(()),
            Err(refused) => refused.map_or(Ok(()), Err),
        }
    }

    /// Asks. Where the console has no answer, the view that needs it says so.
    ///
    /// # Errors
    /// If the answers become too large, or one cannot be packed.
    pub(super) async fn ask(&mut self, ask: &Ask) -> Result<(), ApiError> {
        self.has(ask).await.map(drop)
    }

    /// Has an answer in the file, which another view or tab may have asked for; else why the question was refused, if that is known.
    async fn has(&mut self, ask: &Ask) -> Result<Result<(), Option<ApiError>>, ApiError> {
        self.has_at(ask.address(self.id)).await
    }

    async fn has_at(&mut self, address: String) -> Result<Result<(), Option<ApiError>>, ApiError> {
        if let Some(number) = self.answers.number(&address) {
            self.uses(number);
            return Ok(Ok(()));
        }
        Ok(self.answer(address).await?.map(drop))
    }

    /// Whether whoever asks may read another capture. Its facts are kept if the page names it.
    ///
    /// # Errors
    /// As [`Asker::ask`].
    pub(super) async fn reads(&mut self, other: CaptureId, is_named: bool) -> Result<bool, ApiError> {
        let address = Ask::of("").address(other);
        Ok(if is_named { self.has_at(address).await?.is_ok() } else { self.read(&address).await?.is_ok() })
    }

    fn uses(&mut self, number: usize) {
        if !self.used.contains(&number) {
            self.used.push(number);
        }
    }

    /// What the console answers, and of what kind it is; else why the question was refused, if that is known.
    async fn read(&self, address: &str) -> Result<Result<(&'static str, Bytes), Option<ApiError>>, ApiError> {
        let request = Request::get(address).extension(Inside(self.reader.clone())).body(Body::empty());
        let request = request.map_err(|error| ApiError::internal("asking for a file", error))?;
        let Ok(response) = self.router.clone().oneshot(request).await;
        let (head, body) = response.into_parts();
        if head.status != StatusCode::OK {
            return Ok(Err(refused(&head.extensions)));
        }
        let is_json =
            head.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let body = axum::body::to_bytes(body, MOST_ANSWER_BYTES).await;
        let body = body.map_err(|error| ApiError::internal("reading an answer for a file", error))?;
        Ok(Ok((if is_json { "json" } else { "bytes" }, body)))
    }

    /// An answer, which is kept; else why the question was refused, if that is known.
    async fn answer(&mut self, address: String) -> Result<Result<Bytes, Option<ApiError>>, ApiError> {
        let (kind, body) = match self.read(&address).await? {
            Ok(answer) => answer,
            Err(refused) => return Ok(Err(refused)),
        };
        let number = self.answers.keep(&address, kind, &body)?;
        self.takes(number)?;
        Ok(Ok(body))
    }

    /// Uses an answer that was kept, if there is room for it.
    fn takes(&mut self, number: usize) -> Result<(), ApiError> {
        self.uses(number);
        if self.answers.bytes() > self.most.answers { Err(too_large(self.most.file)) } else { Ok(()) }
    }

    /// Asks for two sides. Why they are not compared is kept like an answer, and given if it is known.
    ///
    /// # Errors
    /// As [`Asker::ask`].
    pub(super) async fn ask_sides<T: DeserializeOwned>(
        &mut self,
        ask: &Ask,
    ) -> Result<Result<Option<T>, Option<ApiError>>, ApiError> {
        let address = ask.address(self.id);
        match self.answer(address.clone()).await? {
            Ok(body) => Ok(Ok(serde_json::from_slice(&body).ok())),
            Err(Some(refusal)) => {
                let number = self.answers.keep_refusal(&address, &refusal)?;
                self.takes(number)?;
                Ok(Err(Some(refusal)))
            }
            Err(None) => Ok(Err(None)),
        }
    }

    /// Asks for JSON; none where the console has no answer, or another one than was thought.
    ///
    /// # Errors
    /// As [`Asker::ask`].
    pub(super) async fn ask_json<T: DeserializeOwned>(&mut self, ask: &Ask) -> Result<Option<T>, ApiError> {
        let body = self.answer(ask.address(self.id)).await?;
        Ok(body.ok().and_then(|body| serde_json::from_slice(&body).ok()))
    }

    /// Asks all of these.
    ///
    /// # Errors
    /// As [`Asker::ask`].
    pub(super) async fn ask_all(&mut self, all: impl IntoIterator<Item = Ask>) -> Result<(), ApiError> {
        for ask in all {
            self.ask(&ask).await?;
        }
        Ok(())
    }

    /// Whether there is no time for more.
    pub(super) fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }
}

/// A file would be larger than it may be.
pub(super) fn too_large(most_bytes: usize) -> ApiError {
    let why = format!("the file would be larger than {}", megabytes(most_bytes));
    ApiError::new(ErrorKind::TooLarge, "making a file of the view", why)
        .remedy("Select a shorter range, choose fewer tabs, or take pictures off the page.")
}

/// How many bytes, for people.
pub(super) fn megabytes(bytes: usize) -> String {
    let (whole, tenths) = (bytes / 1_000_000, bytes % 1_000_000 / 100_000);
    if tenths == 0 { format!("{whole} MB") } else { format!("{whole}.{tenths} MB") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_question_has_the_address_that_a_page_asks() {
        let view = KeptView::read("start=5&end=9&filter=comm+~+%22a*%22&by=");
        let ask = Ask::of("/rows")
            .with("stream", 0)
            .in_range(&view)
            .with_parts(&view, &["filter", "by"])
            .with_some("x", None::<u8>);
        let id: CaptureId = "0123456789abcdef".parse().unwrap();
        assert_eq!(
            ask.address(id),
            "/api/captures/0123456789abcdef/rows?stream=0&start=5&end=9&filter=comm+%7E+%22a*%22"
        );
        assert_eq!(Ask::of("").address(id), "/api/captures/0123456789abcdef");
    }

    #[test]
    fn an_answer_is_kept_once_and_what_is_too_much_is_forgotten() {
        let mut answers = Answers::default();
        assert_eq!(answers.keep("/a", "json", b"1").unwrap(), 0);
        let one = answers.bytes();
        assert_eq!(answers.keep("/b", "json", b"2").unwrap(), 1);
        assert_eq!(answers.keep("/a", "json", b"1").unwrap(), 0);
        answers.truncate(1);
        assert_eq!((answers.all().len(), answers.bytes()), (1, one));
        assert_eq!(answers.keep("/b", "json", b"2").unwrap(), 1);
    }
}
