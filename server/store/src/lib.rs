//! Keeps captures, accounts, sessions, shares, what people keep by name and the audit log in one SQLite file, and is the only room that contains SQL.
//!
//! [`Store::open`] takes the directory, holds a lock on it, and starts one writer task that owns the only writing
//! connection; readers have a pool of their own. A call that changes something is handed to the writer and runs to its
//! end even if the caller stops waiting, so a dropped HTTP request leaves no half state. Rows of events are not rows of
//! SQL: they come and go as encoded chunks (`bathyscope_capture::encode_chunk`), each with a CRC.
//!
//! Constraints: no clock (every time is passed in), no randomness (ids and tokens are made by the caller), no HTTP.
//! Reads hold no transaction beyond one statement. It must not interpret events, resolve symbols or decide who may do
//! what; it never deletes or recreates a database that it cannot read.
#![forbid(unsafe_code)]

mod access;
mod api_tokens;
mod append;
mod database;
mod deleted;
mod derivations;
mod disk;
mod ends;
mod entry;
mod error;
mod export;
#[cfg(feature = "testing")]
mod fingerprint;
mod finish;
mod firings;
mod identities;
mod identity_rows;
mod import;
mod index;
mod insert;
mod investigations;
mod labels;
mod library;
mod limits;
mod listed;
mod listing;
mod login_groups;
mod marks;
mod model;
mod notes;
mod packed;
mod pages;
mod people;
mod places;
mod read;
mod remove;
mod retention;
mod rights;
mod rows;
mod runs;
mod schema;
mod search;
mod select;
mod session_groups;
mod shares;
mod sources;
mod store;
mod sums;
mod tags;
mod task;
mod terms;
mod texts;
mod tracks;
mod webhooks;
mod writer;

pub use access::{AuditEntry, AuditRecord, LoginToken, NewSession, ParseRoleError, Role, Session, TokenHash};
pub use api_tokens::{ApiTokenRecord, ApiTokenUse, NewApiToken};
pub use deleted::DeletedCapture;
pub use error::StoreError;
pub use firings::FireToken;
pub use identities::{IdentityLogin, IdentityOutcome, IdentityRefusal};
pub use identity_rows::IdentityRecord;
pub use import::{MAX_IMPORT_MESSAGE_BYTES, NextMessage, tell_file};
pub use investigations::{
    BlockRecord, HeadChange, InvestigationRecord, InvestigationState, PageChange, UnknownInvestigationStateError,
};
pub use labels::{CaptureLabels, LabelChange};
pub use library::{LibraryChange, LibraryEntry, LibraryItem, LibraryVersion, NewLibraryItem};
pub use login_groups::{GroupOrigin, LoginGroups};
pub use marks::{MarkRecord, NewMark};
pub use model::{
    BootTime, CaptureRecord, CaptureState, CaptureSummary, ChunkInfo, DerivationRecord, DerivationState,
    DictionaryEnds, End, FoundText, InvestigationId, LibraryKind, NewCapture, Options, Origin,
    ParseInvestigationIdError, ParseLibraryKindError, ParseStateError, Reserve, RetainedCapture, Room, ScriptEnd,
    SearchField, SourceEnd, SourceState, StreamRecord, SummaryPage, Unsearched,
};
pub use notes::{NoteChange, NoteRecord, NoteVersion};
pub use people::{
    AccountChange, AccountChanged, AccountRecord, AccountSummary, BegunSession, EndedSession, KeptPassword, NewAccount,
    PasswordLink,
};
pub use rights::{CaptureRight, GivenRight, RightHolder, RightsObject, Sight};
pub use runs::{PendingRun, RunNumbers, RunPlace, SeriesRun, SeriesSummary};
pub use search::{
    ParseSearchError, SummaryCondition, SummaryNumber, SummaryProperty, SummaryQuery, SummarySort, SummaryTest,
    UnknownSortError,
};
pub use shares::{NewShare, SharePreview, ShareRecord, ShareUse};
pub use store::{BlockingStore, SeenStore, Store, StoreChange, StoreFuture};
pub use tracks::{TrackChanges, TrackPlace};
pub use webhooks::{DeliveryAttempt, DeliveryRecord, DeliveryState, NewWebhook, WebhookRecord, WebhookSecret};
