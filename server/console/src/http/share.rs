//! Links for people without a login: *shares*. One shows a capture, or a part of it, or an investigation, and nothing else.
//!
//! A link is `/s/ID#TOKEN`. The token has 256 random bits and is kept only as SHA-256; it stands in the fragment, which no browser
//! sends. The page at `/s/ID` posts it to `/s/ID/open` and gets it back as a cookie for `/s/ID` alone; below that are the routes that
//! read a capture ([`super::access::Reader`]) or an investigation ([`super::access::InvestigationReader`]). Each request looks the link up and checks what it asks for. A link that does not
//! exist, has expired or was revoked, and one that nobody may use as shares are not allowed here, all give one answer.
//!
//! When a link was last used is kept in memory and written once a minute by [`Shares::keep`], because a GET must not change the
//! database (P04). The end of a link is compared with the wall clock, as no other clock outlives a boot.

use std::{
    collections::HashMap,
    fmt,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bathyscope_capture::CaptureId;
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_reader::{RemovedKind, ViewQuery};
use bathyscope_store::{
    InvestigationId, NewShare, Role, SharePreview, ShareRecord, ShareUse, Store, StoreError, TokenHash,
};
use bathyscope_views::{Scope, Source, ViewError};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use self::choices::{KeptChoices, seconds};
use super::session::{Secret, SessionError, TOKEN_BYTES, new_secret};
use crate::{audit::audit, investigations::plain_view, library::TERMINAL};

mod block;
mod choices;

pub use choices::{DrawnShare, ShareChoices, draw_share};

/// How long a link lives if nothing is said.
pub const SHARE_DAYS: u32 = 7;
/// The longest that one lives.
pub const MOST_SHARE_DAYS: u32 = 366;
/// The longest address of a view that a link opens.
const VIEW_BYTES: usize = 16 << 10;
/// The longest filter of a part.
const FILTER_BYTES: usize = 16 << 10;
/// How often uses are written and expired links removed.
const KEEP_EVERY: Duration = Duration::from_secs(60);
/// What the store calls the kinds of things that links show.
const CAPTURE: &str = "capture";
const INVESTIGATION: &str = "investigation";
const DAY_NS: i64 = 24 * 3600 * 1_000_000_000;

/// Names a link in addresses and lists; whoever knows it sees nothing yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShareId(u64);

impl ShareId {
    /// The number.
    pub fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ShareId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What is no name of a link.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a share is named by 16 digits in base sixteen, in lower case")]
pub struct ParseShareIdError;

impl FromStr for ShareId {
    type Err = ParseShareIdError;

    fn from_str(text: &str) -> Result<Self, ParseShareIdError> {
        let is_name = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let bits = is_name.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        bits.map(Self).ok_or(ParseShareIdError)
    }
}

impl Serialize for ShareId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ShareId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What a link shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedObject {
    /// A capture.
    Capture(CaptureId),
    /// An investigation, with pictures of the views on it, and without the captures themselves.
    Investigation(InvestigationId),
}

impl SharedObject {
    /// What the store calls its kind, and which one it is.
    fn stored(self) -> (&'static str, String) {
        match self {
            Self::Capture(id) => (CAPTURE, id.to_string()),
            Self::Investigation(id) => (INVESTIGATION, id.to_string()),
        }
    }

    /// None if it is of a kind that this program does not know.
    fn of(record: &ShareRecord) -> Option<Self> {
        match record.kind.as_str() {
            CAPTURE => record.object.parse().ok().map(Self::Capture),
            INVESTIGATION => record.object.parse().ok().map(Self::Investigation),
            _ => None,
        }
    }

    /// The path of its page.
    pub fn path(self) -> String {
        match self {
            Self::Capture(id) => format!("/captures/{id}"),
            Self::Investigation(id) => format!("/investigations/{id}"),
        }
    }

    /// The capture, if it is one.
    pub fn capture(self) -> Option<CaptureId> {
        match self {
            Self::Capture(id) => Some(id),
            Self::Investigation(_) => None,
        }
    }

    /// The investigation, if it is one.
    pub fn investigation(self) -> Option<InvestigationId> {
        match self {
            Self::Capture(_) => None,
            Self::Investigation(id) => Some(id),
        }
    }

    /// Its title; none if it is gone.
    ///
    /// # Errors
    /// The store's.
    pub async fn title(self, store: &Store) -> Result<Option<String>, StoreError> {
        match self {
            Self::Capture(id) => match store.capture(id).await {
                Ok(capture) => Ok(Some(capture.title)),
                Err(StoreError::NoCapture { .. }) => Ok(None),
                Err(error) => Err(error),
            },
            Self::Investigation(id) => {
                let found = store.investigation(id).await?.map(|(record, _blocks)| record);
                Ok(found.filter(|record| record.deleted_unix_ns.is_none()).map(|record| record.title))
            }
        }
    }
}

/// The part of a capture that a link shows: nothing outside can be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedPart {
    /// From when, nanoseconds from the capture's start; none for its beginning.
    #[serde(default)]
    pub start: Option<i64>,
    /// Until before when.
    #[serde(default)]
    pub end: Option<i64>,
    /// Which rows; empty for all.
    #[serde(default)]
    pub filter: String,
}

impl SharedPart {
    /// What is left of a capture.
    ///
    /// # Errors
    /// If the filter cannot be read.
    pub fn scope(&self, capture: &dyn Source) -> Result<Scope, ViewError> {
        let Self { start, end, filter } = self.clone();
        let rows = ViewQuery { start, end, filter, ..ViewQuery::default() }.rows(capture)?;
        Ok(Scope { range: rows.range, filter: rows.filter })
    }

    /// Whether a note is shown: one of which all is in the range, in nanoseconds from the capture's start. Of one that is a moment
    /// there is no end.
    pub(super) fn has_note(&self, start: i64, end: Option<i64>) -> bool {
        self.start.is_none_or(|from| from <= start) && self.end.is_none_or(|until| end.unwrap_or(start) <= until)
    }
}

/// What of its object a link shows, as the store keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShareScope {
    /// The view that it opens: the query of its address.
    view: String,
    part: Option<SharedPart>,
    #[serde(default)]
    choices: KeptChoices,
}

/// What somebody wants to share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedShare {
    /// Which capture, if it is one.
    #[serde(default)]
    pub capture: Option<CaptureId>,
    /// Which investigation, if it is one.
    #[serde(default)]
    pub investigation: Option<InvestigationId>,
    /// What the link is called; the title of what it shows if it is empty.
    #[serde(default)]
    pub title: String,
    /// How many days it lives; a week if nothing is said.
    #[serde(default)]
    pub days: Option<u32>,
    /// The view that it opens, as the query of the capture's page; its usual one if it is empty.
    #[serde(default)]
    pub view: String,
    /// The only part of the capture that it shows; none for all.
    #[serde(default)]
    pub part: Option<SharedPart>,
    /// What is removed from it: `arguments`, `paths`, `names`, `addresses`.
    #[serde(default)]
    pub remove: Vec<RemovedKind>,
    /// Whether notes are shown as they were written, though something is removed.
    #[serde(default)]
    pub notes: bool,
    /// Whether results of queries on the investigation are shown as they were, though something is removed.
    #[serde(default)]
    pub results: bool,
    /// Whether whoever knows the link's id is shown its title and a picture, without the token: what chats fetch.
    #[serde(default)]
    pub preview: bool,
    /// Whether views that stand on the investigation can be opened: each at its range and filter, and nothing else of its capture.
    #[serde(default)]
    pub views: bool,
}

impl AskedShare {
    /// What is to be shown.
    ///
    /// # Errors
    /// If that is not one thing.
    pub fn object(&self) -> Result<SharedObject, ShareError> {
        match (self.capture, self.investigation) {
            (Some(id), None) => Ok(SharedObject::Capture(id)),
            (None, Some(id)) => Ok(SharedObject::Investigation(id)),
            _ => Err(ShareError::Refused("a share is of one `capture`, or of one `investigation`".to_owned())),
        }
    }
}

/// A link in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareItem {
    /// By which it is revoked; it opens nothing.
    pub id: ShareId,
    /// The capture that it shows; none if it shows an investigation.
    pub capture: Option<CaptureId>,
    /// The investigation that it shows; none if it shows a capture.
    pub investigation: Option<InvestigationId>,
    /// What it is called.
    pub title: String,
    /// Who made it.
    pub owner: String,
    /// When, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
    /// From when on it shows nothing, likewise.
    pub expires_unix_ns: i64,
    /// When it was last used, likewise, to a minute; none if it never was.
    pub last_used_unix_ns: Option<i64>,
    /// How often it was opened.
    pub opened: u64,
    /// The only part that it shows; none for all.
    pub part: Option<SharedPart>,
    /// What is removed from it.
    pub removes: Vec<RemovedKind>,
    /// Whether notes are shown; they are not where something is removed, unless its maker chose so.
    pub notes: bool,
    /// Whether results of queries are shown, likewise.
    pub results: bool,
    /// Whether whoever knows its id is shown its title and a picture.
    pub preview: bool,
    /// Whether views that stand on its investigation can be opened.
    pub views: bool,
}

impl ShareItem {
    fn new(record: &ShareRecord) -> Option<Self> {
        let share = Share::new(record.clone(), CancellationToken::new())?;
        Some(Self {
            id: share.id(),
            capture: share.object().capture(),
            investigation: share.object().investigation(),
            title: bathyscope_capture::shown(&record.title),
            owner: bathyscope_capture::shown(&record.owner),
            created_unix_ns: record.created_unix_ns,
            expires_unix_ns: record.expires_unix_ns,
            last_used_unix_ns: record.last_used_unix_ns,
            opened: record.uses,
            part: share.inner.scope.part.clone(),
            removes: share.choices().removes().to_vec(),
            notes: share.choices().has_notes(),
            results: share.choices().has_results(),
            preview: record.has_preview,
            views: share.choices().opens_views(),
        })
    }

    /// What of its object it shows, for the audit log.
    fn words(&self) -> String {
        let part = self.part.as_ref().map_or_else(|| "all of it".to_owned(), SharedPart::words);
        let mut words = format!("share {}: {part}", self.id);
        if !self.removes.is_empty() {
            let kinds: Vec<&str> = self.removes.iter().map(|kind| kind.word()).collect();
            words += &format!(", without {}", kinds.join(", "));
            words += if self.notes { ", with notes" } else { "" };
            words += if self.results { ", with results of queries" } else { "" };
        }
        words += if self.views { ", whose views are opened" } else { "" };
        words + if self.preview { ", with a preview" } else { "" }
    }
}

/// A link that was found with its token: a way to read. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Share {
    inner: Arc<FoundShare>,
}

#[derive(Debug)]
struct FoundShare {
    record: ShareRecord,
    object: SharedObject,
    scope: ShareScope,
    choices: ShareChoices,
    ended: CancellationToken,
    /// By which the rows are kept that it shows.
    part_name: u64,
}

impl Share {
    /// None if it is of a kind that this program does not know.
    fn new(record: ShareRecord, ended: CancellationToken) -> Option<Self> {
        let object = SharedObject::of(&record)?;
        let scope: ShareScope = serde_json::from_str(&record.scope).ok()?;
        let choices = ShareChoices::of(&record, &scope.choices)?;
        let part_name = record.id;
        Some(Self { inner: Arc::new(FoundShare { record, object, scope, choices, ended, part_name }) })
    }

    /// Its name.
    pub fn id(&self) -> ShareId {
        ShareId(self.inner.record.id)
    }

    /// What it shows.
    pub fn object(&self) -> SharedObject {
        self.inner.object
    }

    /// The only part of the capture that it shows; none for all.
    pub fn part(&self) -> Option<&SharedPart> {
        self.inner.scope.part.as_ref()
    }

    /// Who made it.
    pub fn owner(&self) -> &str {
        &self.inner.record.owner
    }

    /// By which the rows are kept that it shows: another name for each part of a capture.
    pub fn part_name(&self) -> u64 {
        self.inner.part_name
    }

    /// What it does not tell.
    pub fn choices(&self) -> &ShareChoices {
        &self.inner.choices
    }

    /// What the store keeps of it.
    pub fn record(&self) -> &ShareRecord {
        &self.inner.record
    }

    /// The address of the page that it opens.
    pub fn address(&self) -> String {
        let range = self.part().and_then(|part| Some((part.start?, part.end?)));
        let view = match range {
            // What is to be seen fills the page.
            Some((start, end)) if self.inner.scope.view.is_empty() => format!("v=3&start={start}&end={end}"),
            _ => self.inner.scope.view.clone(),
        };
        let mark = if view.is_empty() { "" } else { "?" };
        format!("/s/{}{}{mark}{view}", self.id(), self.object().path())
    }

    /// Seconds that it lives still.
    pub fn left_s(&self) -> u64 {
        let left_ns = self.inner.record.expires_unix_ns.saturating_sub(wall_unix_ns());
        u64::try_from(left_ns / 1_000_000_000).unwrap_or(0)
    }

    /// Waits until it ends: revoked, expired, or with the console.
    pub async fn over(&self) {
        tokio::select! {
            () = self.inner.ended.cancelled() => {}
            () = tokio::time::sleep(Duration::from_secs(self.left_s())) => {}
        }
    }
}

/// Why a link could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// Nobody has allowed them.
    #[error(
        "shares are not allowed in this console; an admin allows them on the page Shares, or `bathyscope shares allow` does"
    )]
    NotAllowed,
    /// It is not as it must be.
    #[error("{0}")]
    Refused(String),
    /// There is nothing to show.
    #[error("there is no such capture or investigation")]
    NoObject,
    /// The kernel gave no randomness.
    #[error(transparent)]
    Secret(#[from] SessionError),
    /// The store failed, or refused it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// All links. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Shares {
    store: Store,
    live: Arc<Mutex<LiveShares>>,
    stop: CancellationToken,
}

#[derive(Debug)]
struct LiveShares {
    /// Cancelled when shares are not allowed any more; none while they are not.
    allowed: Option<CancellationToken>,
    /// Of links that were used, cancelled with them.
    ended: HashMap<u64, CancellationToken>,
    /// Links that were revoked here: one that is being looked up meanwhile must not come back.
    revoked: HashMap<u64, i64>,
    /// Uses that are not written yet.
    uses: HashMap<u64, ShareUse>,
}

impl Shares {
    /// The links that `store` keeps. They all end when `stop` is cancelled. `allow` allows them from now on, as whoever starts the
    /// console says; where they were not allowed before, the audit log tells it.
    ///
    /// # Errors
    /// The store's.
    pub async fn open(store: Store, allow: bool, stop: &CancellationToken) -> Result<Self, StoreError> {
        if allow && !store.shares_are_allowed().await? {
            store.allow_shares(true).await?;
            audit(&store, (TERMINAL, Role::Admin), "share.allow", ("", "serve --allow-shares")).await;
        }
        store.purge_shares(wall_unix_ns()).await?;
        let allowed = store.shares_are_allowed().await?.then(|| stop.child_token());
        let live = LiveShares { allowed, ended: HashMap::new(), revoked: HashMap::new(), uses: HashMap::new() };
        Ok(Self { store, live: Arc::new(Mutex::new(live)), stop: stop.clone() })
    }

    /// None can be made or found: of a process at a terminal, which only reads.
    pub(super) fn none(store: Store, stop: &CancellationToken) -> Self {
        let (ended, revoked, uses) = (HashMap::new(), HashMap::new(), HashMap::new());
        let live = LiveShares { allowed: None, ended, revoked, uses };
        Self { store, live: Arc::new(Mutex::new(live)), stop: stop.clone() }
    }

    /// Whether they may be made and used here.
    pub fn are_allowed(&self) -> bool {
        self.locked(|live| live.allowed.is_some())
    }

    /// Allows them, or takes that back: then none shows anything, and what is open ends.
    ///
    /// # Errors
    /// The store's; they are refused in this process all the same.
    pub async fn allow(&self, allowed: bool) -> Result<(), StoreError> {
        if !allowed {
            self.locked(|live| {
                live.ended.clear();
                if let Some(token) = live.allowed.take() {
                    token.cancel();
                }
            });
        }
        self.store.allow_shares(allowed).await?;
        if allowed {
            self.locked(|live| live.allowed.get_or_insert_with(|| self.stop.child_token()).clone());
        }
        Ok(())
    }

    /// Makes a link; gives its token, for the one who made it, and what it is. That the capture has such a part was found out
    /// before, by this id, which was drawn, and `picture` was drawn of it if it has a preview.
    ///
    /// # Errors
    /// If shares are not allowed, or it is refused.
    pub async fn create(
        &self,
        drawn: DrawnShare,
        (asked, picture): (AskedShare, Option<Vec<u8>>),
        (owner, role): (&str, Role),
    ) -> Result<(Secret, ShareItem), ShareError> {
        if !self.are_allowed() {
            return Err(ShareError::NotAllowed);
        }
        let days = asked.days.unwrap_or(SHARE_DAYS);
        check(&asked, days)?;
        let object = asked.object()?;
        if let (Some(capture), Some(part)) = (object.capture(), &asked.part) {
            let record = self.store.capture(capture).await.map_err(|error| match error {
                StoreError::NoCapture { .. } => ShareError::NoObject,
                error => error.into(),
            })?;
            part.check_within(record.end_ns.saturating_sub(record.start_ns))?;
        }
        let usual_title = object.title(&self.store).await?.ok_or(ShareError::NoObject)?;
        let (id, title, removes) = (drawn.id, asked.title_or(usual_title), asked.removed_words());
        let choices = asked.kept_choices(&drawn);
        let view = if removes.is_empty() { asked.view } else { plain_view(&asked.view).0 };
        let scope = ShareScope { view, part: asked.part, choices };
        let scope = serde_json::to_string(&scope).map_err(|error| ShareError::Refused(error.to_string()))?;
        let (secret, token) = new_secret()?;
        let created_unix_ns = wall_unix_ns();
        let (kind, object) = object.stored();
        let new = NewShare {
            id: id.0,
            token,
            kind: kind.to_owned(),
            object,
            scope,
            title,
            owner: owner.to_owned(),
            created_unix_ns,
            expires_unix_ns: created_unix_ns.saturating_add(i64::from(days).saturating_mul(DAY_NS)),
            removes,
            preview: picture.filter(|_| asked.preview),
        };
        self.store.add_share(new).await?;
        let gone = || ShareError::Refused("it was revoked at once".to_owned());
        let record = self.store.share(id.0, token, created_unix_ns).await?.ok_or_else(gone)?;
        let made = ShareItem::new(&record).ok_or_else(gone)?;
        self.note((owner, role), "share.create", &record, made.words()).await;
        Ok((secret, made))
    }

    /// The link of this name and token, which is used now; none if there is none, it has expired or was revoked, the token is
    /// another one, or shares are not allowed. `opens` counts it as opened.
    ///
    /// # Errors
    /// The store's.
    pub async fn find(&self, id: ShareId, token: &str, opens: bool) -> Result<Option<Share>, StoreError> {
        // What no token looks like is not looked up.
        if token.len() != TOKEN_BYTES * 2 || !self.are_allowed() {
            return Ok(None);
        }
        let now = wall_unix_ns();
        let Some(record) = self.store.share(id.0, TokenHash::of(token.as_bytes()), now).await? else { return Ok(None) };
        let ended = self.locked(|live| {
            let allowed = live.allowed.as_ref().filter(|_| !live.revoked.contains_key(&id.0))?.clone();
            let fresh = ShareUse { id: id.0, last_used_unix_ns: now, opened: 0 };
            let used = live.uses.entry(id.0).or_insert(fresh);
            used.last_used_unix_ns = used.last_used_unix_ns.max(now);
            used.opened += u64::from(opens);
            Some(live.ended.entry(id.0).or_insert_with(|| allowed.child_token()).clone())
        });
        Ok(ended.and_then(|ended| Share::new(record, ended)))
    }

    /// What is shown of a link to whoever knows its name, without its token; none if there is none, it has expired or was revoked, has
    /// no preview, what it shows is gone, or shares are not allowed.
    ///
    /// # Errors
    /// The store's.
    pub async fn preview(&self, id: ShareId) -> Result<Option<SharePreview>, StoreError> {
        let is_over = || self.locked(|live| live.allowed.is_none() || live.revoked.contains_key(&id.0));
        if is_over() {
            return Ok(None);
        }
        let Some(found) = self.store.share_preview(id.0, wall_unix_ns()).await? else { return Ok(None) };
        let Some(share) = Share::new(found.share.clone(), CancellationToken::new()) else { return Ok(None) };
        let is_there = share.object().title(&self.store).await?.is_some();
        Ok(Some(found).filter(|_| is_there && !is_over()))
    }

    /// The links of `owner`, or all, that have not expired; the one that was made last first.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self, owner: Option<&str>) -> Result<Vec<ShareItem>, StoreError> {
        let records = self.store.shares(owner, wall_unix_ns()).await?;
        let mut items: Vec<ShareItem> = records.iter().filter_map(ShareItem::new).collect();
        self.locked(|live| {
            for item in &mut items {
                // What is not written yet.
                if let Some(used) = live.uses.get(&item.id.0) {
                    item.last_used_unix_ns = item.last_used_unix_ns.max(Some(used.last_used_unix_ns));
                    item.opened += used.opened;
                }
            }
        });
        Ok(items)
    }

    /// Revokes a link if it is `owner`'s, or whosever it is if that is none: its next request is refused and its streams end. Gives
    /// what it was; none if there is no such one. `who` does it.
    ///
    /// # Errors
    /// The store's.
    pub async fn revoke(
        &self,
        id: ShareId,
        owner: Option<&str>,
        who: (&str, Role),
    ) -> Result<Option<ShareItem>, StoreError> {
        let Some(record) = self.store.revoke_share(id.0, owner.map(str::to_owned)).await? else { return Ok(None) };
        self.locked(|live| {
            live.revoked.insert(id.0, record.expires_unix_ns);
            live.uses.remove(&id.0);
            if let Some(token) = live.ended.remove(&id.0) {
                token.cancel();
            }
        });
        let item = ShareItem::new(&record);
        if let Some(item) = &item {
            self.note(who, "share.revoke", &record, format!("{}, made by {}", item.words(), item.owner)).await;
        }
        Ok(item)
    }

    /// Notes for ever who did what with a link.
    async fn note(&self, who: (&str, Role), action: &str, link: &ShareRecord, detail: String) {
        audit(&self.store, who, action, (&link.object, &detail)).await;
    }

    /// Writes uses and removes expired links, once a minute, until the console stops.
    pub async fn keep(self) {
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(KEEP_EVERY) => {}
            }
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "uses of shares could not be written");
            }
        }
    }

    /// Writes uses that are not written yet and removes links that have expired.
    ///
    /// # Errors
    /// The store's.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        let now = wall_unix_ns();
        let uses: Vec<ShareUse> = self.locked(|live| {
            live.revoked.retain(|_id, expires_unix_ns| *expires_unix_ns > now);
            std::mem::take(&mut live.uses).into_values().collect()
        });
        if !uses.is_empty() {
            self.store.note_share_uses(uses).await?;
        }
        let expired = self.store.purge_shares(now).await?;
        self.locked(|live| {
            for share in expired {
                if let Some(token) = live.ended.remove(&share.id) {
                    token.cancel();
                }
            }
        });
        Ok(())
    }

    fn locked<T>(&self, with: impl FnOnce(&mut LiveShares) -> T) -> T {
        with(&mut self.live.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn check(asked: &AskedShare, days: u32) -> Result<(), ShareError> {
    let refused = |why: String| Err(ShareError::Refused(why));
    if !(1..=MOST_SHARE_DAYS).contains(&days) {
        return refused(format!("it lives for 1 to {MOST_SHARE_DAYS} days, not {days}"));
    }
    let is_query = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'#');
    if asked.view.len() > VIEW_BYTES || !asked.view.bytes().all(is_query) {
        return refused(format!("the view is no query of an address of at most {VIEW_BYTES} bytes"));
    }
    if asked.part.as_ref().is_some_and(|part| part.filter.len() > FILTER_BYTES) {
        return refused(format!("the filter of the part is longer than {FILTER_BYTES} bytes"));
    }
    if let Some(SharedPart { start: Some(start), end: Some(end), .. }) = asked.part
        && start >= end
    {
        return refused(format!("the part is empty: it begins at {} and ends at {}", seconds(start), seconds(end)));
    }
    if asked.object()?.investigation().is_some() && (asked.part.is_some() || !asked.view.is_empty()) {
        return refused("an investigation is shared as a whole: it has no `view` and no `part`".to_owned());
    }
    asked.check_choices()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_named_by_sixteen_digits() {
        for (text, expected) in [
            ("00000000000000ff", Some(255)),
            ("ffffffffffffffff", Some(u64::MAX)),
            ("00000000000000FF", None),
            ("0", None),
            ("+000000000000001", None),
            ("000000000000000ff", None),
            ("", None),
        ] {
            let id = text.parse::<ShareId>().ok();
            assert_eq!(id.map(|id| id.0), expected, "{text}");
            assert!(id.is_none_or(|id| id.to_string() == text));
        }
    }

    #[test]
    fn what_is_asked_for_is_bounded() {
        let asked = || AskedShare {
            capture: Some(CaptureId::from_bits(1)),
            investigation: None,
            title: String::new(),
            days: None,
            view: "v=3&tab=flame&filter=a%20b".to_owned(),
            part: None,
            remove: Vec::new(),
            notes: false,
            results: false,
            preview: false,
            views: false,
        };
        assert!(check(&asked(), 1).is_ok() && check(&asked(), 366).is_ok());
        assert!(check(&asked(), 0).is_err() && check(&asked(), 367).is_err());
        for view in ["a b", "a\\b", "a#b", "a\n", "ü", &"x".repeat(VIEW_BYTES + 1)] {
            assert!(check(&AskedShare { view: view.to_owned(), ..asked() }, 7).is_err(), "{view:.20}");
        }
        let part = SharedPart { filter: "x".repeat(FILTER_BYTES + 1), ..SharedPart::default() };
        assert!(check(&AskedShare { part: Some(part), ..asked() }, 7).is_err());
        let investigation = "00000000000000ff".parse().ok();
        assert!(check(&AskedShare { investigation, ..asked() }, 7).is_err(), "two things");
        assert!(check(&AskedShare { capture: None, ..asked() }, 7).is_err(), "nothing");
        let remove = || AskedShare { remove: vec![RemovedKind::Paths], ..asked() };
        assert!(check(&remove(), 7).is_ok() && check(&AskedShare { notes: true, ..remove() }, 7).is_ok());
        assert!(check(&AskedShare { notes: true, ..asked() }, 7).is_err(), "of what nothing is removed from");
        assert!(check(&AskedShare { results: true, ..remove() }, 7).is_err(), "of a capture");
        assert!(check(&AskedShare { views: true, ..asked() }, 7).is_err(), "of a capture");
        let page = || AskedShare { capture: None, investigation, ..asked() };
        assert!(check(&page(), 7).is_err(), "a view of an investigation");
        let page = || AskedShare { view: String::new(), ..page() };
        assert!(check(&page(), 7).is_ok());
        assert!(check(&AskedShare { part: Some(SharedPart::default()), ..page() }, 7).is_err(), "a part of one");
    }
}
