//! What people keep by name: probes, scripts, recipes, filters, queries and selections, in the database.
//!
//! Nothing of it gives a right. It is never started by its name: what it stands for is written out, and checked as if somebody had
//! typed it. So what is kept is only looked at for whether it could be used at all.
//!
//! Whoever reads gets what is theirs and what is shared; nobody learns of a private thing of somebody else, not even that its name is
//! taken: names are one's own, and only of what is shared there is one of each. Admins read and change everything.

mod file;
mod probes;
mod terminal;
mod text;

use bathyscope_catalog::{closest, recipes::OwnRecipeError};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{LibraryChange, LibraryEntry, LibraryItem, LibraryKind, NewLibraryItem, Store, StoreError};

pub use file::{FileError, LibraryFile, file_name, file_text, read_file};
pub use probes::{ChangedProbes, NamingLine, ProbeChanges, change_probes, expanded, kept_probes, naming_lines};
pub use terminal::{TerminalChange, change_at_terminal};
use text::{checked_name, checked_text};
pub use text::{is_group_of_kept, probe_of, probe_text};

use crate::wire::SpecRefusal;

/// Whose things are that were saved at a terminal.
pub const TERMINAL: &str = "terminal";
/// The longest description, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 500;
/// The longest tag, in bytes.
const MAX_TAG_BYTES: usize = 32;
/// The most tags of one thing.
const MAX_TAGS: usize = 12;

/// Who reads, saves or deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryUser<'a> {
    /// The name that what is saved belongs to.
    pub user: &'a str,
    /// Whether that may read and change the things of others.
    pub may_change_all: bool,
}

impl<'a> LibraryUser<'a> {
    /// Whoever may use the database or the console's socket.
    pub const TERMINAL: LibraryUser<'static> = LibraryUser { user: TERMINAL, may_change_all: true };

    /// Whether the things of `owner` may be changed.
    pub fn may_change(self, owner: &str) -> bool {
        self.may_change_all || self.user == owner
    }

    /// For whom the store lists; none for everything.
    pub fn reader(self) -> Option<&'a str> {
        (!self.may_change_all).then_some(self.user)
    }

    /// Whether this is told of something.
    fn may_read(self, entry: &LibraryEntry) -> bool {
        self.may_change(&entry.owner) || entry.shared && entry.deleted_unix_ns.is_none()
    }

    /// Of things with one name the one that the name means: one's own, then the one that is shared.
    pub fn meant<'i>(self, name: &str, items: &'i [LibraryItem]) -> Option<&'i LibraryItem> {
        let named = || items.iter().filter(|item| item.entry.name == name);
        let own = named().find(|item| item.entry.owner == self.user);
        own.or_else(|| named().find(|item| item.entry.shared)).or_else(|| named().next())
    }
}

/// Why something was not saved, changed or deleted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// It cannot be called so.
    #[error("`{name}` cannot be the name of a {kind}: {why}")]
    Name {
        /// What it is.
        kind: &'static str,
        /// What was given, cut.
        name: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// Its text cannot be used.
    #[error("the text is no {kind} that can be used: {why}")]
    Text {
        /// What it should be.
        kind: &'static str,
        /// What is wrong.
        why: String,
    },
    /// Description or tags cannot be kept.
    #[error("{what} cannot be kept: {why}")]
    About {
        /// Which.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// It is no recipe.
    #[error(transparent)]
    Recipe(#[from] OwnRecipeError),
    /// What it would record cannot be recorded.
    #[error(transparent)]
    Spec(#[from] SpecRefusal),
    /// There is one of the name already.
    #[error("there is a {kind} `{name}` already; {remedy}")]
    Exists {
        /// What it is.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What helps.
        remedy: String,
    },
    /// There is none, or it is of somebody else and not shared.
    #[error("there is no {kind} `{name}` in the library{near}")]
    Missing {
        /// What it would be.
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// What was probably meant, as the end of a sentence.
        near: String,
    },
    /// There is none of this id, or it is of somebody else and not shared.
    #[error("there is nothing with this id in the library; it may have been deleted")]
    Gone,
    /// The file is none of the library's.
    #[error(transparent)]
    File(#[from] FileError),
    /// The database failed, or refused.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for LibraryError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::LibraryNameTaken { kind, name } => {
                Self::Exists { kind: kind.as_str(), name, remedy: "change that one, or choose another name".to_owned() }
            }
            StoreError::NoLibraryItem { .. } => Self::Gone,
            error => Self::Store(error),
        }
    }
}

impl LibraryError {
    fn text(kind: LibraryKind, why: impl std::fmt::Display) -> Self {
        Self::Text { kind: kind.as_str(), why: why.to_string() }
    }

    fn missing(kind: LibraryKind, name: &str, known: &[LibraryItem]) -> Self {
        // Without the group of a probe, which is often left out.
        let bare = |name: &'_ str| name.split_once(':').map_or(name.to_owned(), |(_, event)| event.to_owned());
        let events: Vec<String> = known.iter().map(|item| bare(&item.entry.name)).collect();
        let near = closest(&bare(name), events.iter().map(String::as_str));
        let near = near.and_then(|near| known.iter().find(|item| bare(&item.entry.name) == near));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{}`?", near.entry.name));
        Self::Missing { kind: kind.as_str(), name: text::cut(name), near }
    }
}

/// What somebody keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKept {
    /// What it is.
    pub kind: LibraryKind,
    /// What it is called; of a probe its definition says that, and this may be empty.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Whether everybody may read and use it.
    pub shared: bool,
    /// Its text.
    pub text: String,
}

/// What somebody changes of a thing; what is none stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptChange {
    /// The version that was seen.
    pub seen: Option<u32>,
    /// What it is called.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Words to find it by.
    pub tags: Option<Vec<String>>,
    /// Whether everybody may read and use it.
    pub shared: Option<bool>,
    /// Its text.
    pub text: Option<String>,
    /// The version whose text it gets again.
    pub restore: Option<u32>,
}

fn check_about(description: &str, tags: &[String]) -> Result<(), LibraryError> {
    let refuse = |what, why: String| Err(LibraryError::About { what, why });
    if description.len() > MAX_DESCRIPTION_BYTES || description.chars().any(char::is_control) {
        return refuse("the description", format!("it is one line of at most {MAX_DESCRIPTION_BYTES} bytes"));
    }
    let plain = |tag: &String| {
        (1..=MAX_TAG_BYTES).contains(&tag.len())
            && tag.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    if tags.len() > MAX_TAGS || !tags.iter().all(plain) {
        let why = format!(
            "there are at most {MAX_TAGS}, each a word of letters, digits, `-`, `_` and `.` with at most {MAX_TAG_BYTES} bytes"
        );
        return refuse("the tags", why);
    }
    Ok(())
}

/// Keeps something new; gives it as it is kept.
///
/// # Errors
/// Why it was not kept.
pub async fn keep(store: &Store, who: LibraryUser<'_>, new: NewKept) -> Result<LibraryItem, LibraryError> {
    let NewKept { kind, name, description, tags, shared, text } = new;
    let description = description.trim().to_owned();
    check_about(&description, &tags)?;
    let text = checked_text(kind, &text)?;
    let name = checked_name(kind, name.trim(), &text)?;
    let owner = who.user.to_owned();
    let new = NewLibraryItem { kind, name, owner, description, tags, shared, text, at_unix_ns: wall_unix_ns() };
    let id = store.keep(new).await?;
    store.kept_item(id).await?.ok_or(LibraryError::Gone)
}

/// Something that `who` may read, also one's own deleted one.
///
/// # Errors
/// [`LibraryError::Gone`], or the database's.
pub async fn one(store: &Store, who: LibraryUser<'_>, id: u32) -> Result<LibraryItem, LibraryError> {
    let item = store.kept_item(id).await?.filter(|item| who.may_read(&item.entry));
    item.ok_or(LibraryError::Gone)
}

/// Something that `who` may change.
async fn changeable(store: &Store, who: LibraryUser<'_>, id: u32) -> Result<LibraryItem, LibraryError> {
    let item = one(store, who, id).await?;
    if who.may_change(&item.entry.owner) { Ok(item) } else { Err(LibraryError::Gone) }
}

/// Changes something; gives it as it is then.
///
/// # Errors
/// Why it was not changed.
pub async fn change(
    store: &Store,
    who: LibraryUser<'_>,
    id: u32,
    change: KeptChange,
) -> Result<LibraryItem, LibraryError> {
    let before = changeable(store, who, id).await?;
    let KeptChange { seen, name, description, tags, shared, text, restore } = change;
    let kind = before.entry.kind;
    let text = match restore {
        None => text,
        Some(version) => {
            let versions = store.kept_versions(id).await?;
            let found = versions.into_iter().find(|one| one.version == version);
            Some(found.ok_or_else(|| LibraryError::text(kind, format!("there is no version {version} any more")))?.text)
        }
    };
    let text = text.map(|text| checked_text(kind, &text)).transpose()?;
    check_about(
        description.as_deref().unwrap_or(&before.entry.description).trim(),
        tags.as_deref().unwrap_or(&before.entry.tags),
    )?;
    let text_then = text.as_deref().unwrap_or(&before.text);
    // The definition of a probe says what it is called.
    let wanted = match (&name, kind) {
        (Some(name), _) => name.trim(),
        (None, LibraryKind::Probe) => "",
        (None, _) => &before.entry.name,
    };
    let name = checked_name(kind, wanted, text_then)?;
    let change = LibraryChange {
        seen,
        name: Some(name),
        owner: None,
        description: description.map(|text| text.trim().to_owned()),
        tags,
        shared,
        text,
        author: who.user.to_owned(),
        at_unix_ns: wall_unix_ns(),
    };
    store.change_kept(id, before.entry.owner, change).await?;
    one(store, who, id).await
}

/// Deletes something, so that it can be brought back for 30 days; gives what it was.
///
/// # Errors
/// [`LibraryError::Gone`], or the database's.
pub async fn delete(store: &Store, who: LibraryUser<'_>, id: u32) -> Result<LibraryEntry, LibraryError> {
    let LibraryItem { entry, .. } = changeable(store, who, id).await?;
    if store.delete_kept(id, entry.owner.clone(), wall_unix_ns()).await? { Ok(entry) } else { Err(LibraryError::Gone) }
}

/// Brings back something that was deleted.
///
/// # Errors
/// [`LibraryError::Gone`], [`LibraryError::Exists`] if another one has its name now, or the database's.
pub async fn undelete(store: &Store, who: LibraryUser<'_>, id: u32) -> Result<LibraryItem, LibraryError> {
    let LibraryItem { entry, .. } = changeable(store, who, id).await?;
    store.undelete_kept(id, entry.owner).await?;
    one(store, who, id).await
}

/// Keeps what a file has: new, or as another version of one's own that is called so.
///
/// # Errors
/// Why it was not kept.
pub async fn import(store: &Store, who: LibraryUser<'_>, text: &str) -> Result<LibraryItem, LibraryError> {
    let LibraryFile { kind, name, description, tags, shared, text } = read_file(text)?;
    let text = checked_text(kind, &text)?;
    let name = checked_name(kind, &name, &text)?;
    let own = store.kept_of(Some(who.user), kind).await?;
    let own = own.into_iter().find(|item| item.entry.owner == who.user && item.entry.name == name);
    match own {
        None => keep(store, who, NewKept { kind, name, description, tags, shared, text }).await,
        Some(item) => {
            let changed = KeptChange {
                description: Some(description),
                tags: Some(tags),
                shared: Some(shared),
                text: Some(text),
                ..KeptChange::default()
            };
            change(store, who, item.entry.id, changed).await
        }
    }
}

/// The thing of a kind that a name means to somebody.
///
/// # Errors
/// [`LibraryError::Missing`] with what was probably meant, or the database's.
pub async fn named(
    store: &Store,
    who: LibraryUser<'_>,
    kind: LibraryKind,
    name: &str,
) -> Result<LibraryItem, LibraryError> {
    let items = store.kept_of(who.reader(), kind).await?;
    who.meant(name, &items).cloned().ok_or_else(|| LibraryError::missing(kind, name, &items))
}
