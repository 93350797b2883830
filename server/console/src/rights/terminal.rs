//! Rights and groups at a terminal: what the command line has done, by the running console or without one.

use std::collections::BTreeMap;

use bathyscope_capture::CaptureId;
use bathyscope_store::{GivenRight, RightsObject, Store, StoreError};
use serde::{Deserialize, Serialize};

use super::rights_words;

/// What a terminal asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TerminalRights {
    /// Who may read and change a capture.
    OfCapture {
        /// Which.
        capture: CaptureId,
    },
    /// All lists of tags.
    OfTags,
    /// All groups.
    Groups,
    /// Say who may read and change a capture; with none it is as roles say.
    SetCapture {
        /// Which.
        capture: CaptureId,
        /// Who.
        list: Option<Vec<GivenRight>>,
    },
    /// The same of captures that have a tag.
    SetTag {
        /// Which.
        tag: String,
        /// Who.
        list: Option<Vec<GivenRight>>,
    },
    /// Make a group, or add and remove people.
    ChangeGroup {
        /// Its name.
        name: String,
        /// Who is in it from now on.
        add: Vec<String>,
        /// Who is not.
        remove: Vec<String>,
    },
    /// Remove a group.
    RemoveGroup {
        /// Its name.
        name: String,
    },
}

/// What a terminal is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalRightsAnswer {
    /// The list of a capture; none if it has none.
    List(Option<Vec<GivenRight>>),
    /// Lists of tags.
    Tags(BTreeMap<String, Vec<GivenRight>>),
    /// Groups with their people.
    Groups(BTreeMap<String, Vec<String>>),
    /// What was done, in words.
    Done(String),
}

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RightsError {
    /// There is no such group.
    #[error("there is no group `{0}`; `bathyscope rights groups` lists them")]
    NoGroup(String),
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was done, for the audit log and the terminal.
#[derive(Clone, Debug)]
pub struct DoneRights {
    /// What stands in the audit log: an action such as `rights.capture`, to what, and more about it; none if something was only read.
    pub note: Option<(&'static str, String, String)>,
    /// What is told.
    pub answer: TerminalRightsAnswer,
}

impl DoneRights {
    fn read(answer: TerminalRightsAnswer) -> Self {
        Self { note: None, answer }
    }

    fn done((action, object, detail): (&'static str, String, String), told: String) -> Self {
        Self { note: Some((action, object, detail)), answer: TerminalRightsAnswer::Done(told) }
    }
}

/// Does what a terminal asks, in the name of whoever may use the database.
///
/// # Errors
/// Why it was not done.
pub async fn rights_at_terminal(store: &Store, asked: TerminalRights) -> Result<DoneRights, RightsError> {
    Ok(match asked {
        TerminalRights::OfCapture { capture } => {
            store.capture(capture).await?;
            DoneRights::read(TerminalRightsAnswer::List(store.capture_rights(capture).await?))
        }
        TerminalRights::OfTags => DoneRights::read(TerminalRightsAnswer::Tags(store.tag_rights().await?)),
        TerminalRights::Groups => DoneRights::read(TerminalRightsAnswer::Groups(store.groups().await?)),
        TerminalRights::SetCapture { capture, list } => {
            let words = rights_words(list.as_deref());
            store.set_rights(RightsObject::Capture(capture), list).await?;
            let told = format!("Capture {capture}: {words}.");
            DoneRights::done(("rights.capture", capture.to_string(), words), told)
        }
        TerminalRights::SetTag { tag, list } => {
            let words = rights_words(list.as_deref());
            store.set_rights(RightsObject::Tag(tag.clone()), list).await?;
            let told = format!("Captures with the tag {tag}: {words}.");
            DoneRights::done(("rights.tag", tag, words), told)
        }
        TerminalRights::ChangeGroup { name, add, remove } => {
            let people = members(store, &name, add, &remove).await?;
            store.set_group(name.clone(), people.clone()).await?;
            let words = if people.is_empty() { "nobody".to_owned() } else { people.join(", ") };
            let told = format!("Group {name}: {words}.");
            DoneRights::done(("group.set", name, words), told)
        }
        TerminalRights::RemoveGroup { name } => {
            if !store.remove_group(name.clone()).await? {
                return Err(RightsError::NoGroup(name));
            }
            let told = format!("Removed group {name}, and what was given to it.");
            DoneRights::done(("group.remove", name, String::new()), told)
        }
    })
}

/// Who is in a group once some came and some went; of one that there is not, those who came.
async fn members(store: &Store, name: &str, add: Vec<String>, remove: &[String]) -> Result<Vec<String>, RightsError> {
    let known = store.groups().await?.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    if known.is_none() && add.is_empty() && !remove.is_empty() {
        return Err(RightsError::NoGroup(name.to_owned()));
    }
    let mut people = known.map(|(_, people)| people).unwrap_or_default();
    people.retain(|person| !remove.iter().any(|one| one.eq_ignore_ascii_case(person)));
    for person in add {
        if !people.iter().any(|one| one.eq_ignore_ascii_case(&person)) {
            people.push(person);
        }
    }
    Ok(people)
}
