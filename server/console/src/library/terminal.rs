//! What a terminal asks to be changed in a library, by the console that runs or by itself where none does.

use bathyscope_capture::{DynamicProbe, shown};
use bathyscope_store::{LibraryKind, Store};
use serde::{Deserialize, Serialize};

use super::{ChangedProbes, LibraryError, LibraryUser, ProbeChanges, change_probes, delete, import};

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TerminalChange {
    /// What a file has is kept.
    Import {
        /// The file.
        text: String,
    },
    /// Something is deleted.
    Delete {
        /// Its kind; any if none is said.
        kind: Option<LibraryKind>,
        /// Its name.
        name: String,
    },
    /// Probes are kept and deleted as with `perf probe`.
    Probes {
        /// Definitions to keep.
        add: Vec<DynamicProbe>,
        /// Names and patterns of those to delete.
        remove: Vec<String>,
        /// Whether one whose name is taken gets another name.
        force: bool,
        /// Whether it is only told what would be done.
        dry_run: bool,
    },
}

/// Does what a terminal asks; gives what is to be told, in lines.
///
/// # Errors
/// Why it was not done.
pub async fn change_at_terminal(store: &Store, change: TerminalChange) -> Result<Vec<String>, LibraryError> {
    let who = LibraryUser::TERMINAL;
    match change {
        TerminalChange::Import { text } => {
            let entry = import(store, who, &text).await?.entry;
            Ok(vec![format!("Kept the {} {}, version {}.", entry.kind.as_str(), entry.name, entry.version)])
        }
        TerminalChange::Delete { kind, name } => {
            let entry = delete(store, who, meant(store, kind, &name).await?).await?;
            Ok(vec![format!(
                "Deleted the {} {} of {}. It can be restored on the Library page for 30 days.",
                entry.kind.as_str(),
                entry.name,
                shown(&entry.owner)
            )])
        }
        TerminalChange::Probes { add, remove, force, dry_run } => {
            let done = change_probes(store, who, ProbeChanges { add, remove, force, dry_run }).await?;
            Ok(told(&done, dry_run))
        }
    }
}

/// The id of what a name means at a terminal.
async fn meant(store: &Store, kind: Option<LibraryKind>, name: &str) -> Result<u32, LibraryError> {
    let who = LibraryUser::TERMINAL;
    let entries = store.kept(who.reader(), kind, false).await?;
    let named = || entries.iter().filter(|entry| entry.name == name);
    let own = named().find(|entry| entry.owner == who.user);
    let found = own.or_else(|| named().find(|entry| entry.shared)).or_else(|| named().next());
    if let Some(found) = found {
        let other = named().find(|entry| entry.kind != found.kind);
        return match other {
            None => Ok(found.id),
            Some(other) => Err(LibraryError::About {
                what: "the name",
                why: format!("it is that of a {} and of a {}; say which", found.kind.as_str(), other.kind.as_str()),
            }),
        };
    }
    let near = bathyscope_catalog::closest(name, entries.iter().map(|entry| entry.name.as_str()));
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let kind = kind.map_or("thing", LibraryKind::as_str);
    Err(LibraryError::Missing { kind, name: super::text::cut(name), near })
}

fn told(done: &ChangedProbes, dry_run: bool) -> Vec<String> {
    let (would, deleted) = if dry_run { ("Would keep", "Would delete") } else { ("Kept", "Deleted") };
    let removed = done.removed.iter().map(|entry| format!("{deleted} the kept probe {}.", entry.name));
    let already = done.already.iter().map(|name| format!("{name} is kept already, exactly so."));
    let added = done.added.iter().map(|(name, text)| format!("{would} {name}: {}", shown(text)));
    let mut lines: Vec<String> = removed.chain(already).chain(added).collect();
    if let (Some((name, _)), false) = (done.added.first(), dry_run) {
        lines.push(format!(
            "Nothing is in the kernel until a capture names it: bathyscope record -e {name} COMMAND, or bathyscope run \
             'perf stat -e {name} -a sleep 10'."
        ));
    }
    lines
}
