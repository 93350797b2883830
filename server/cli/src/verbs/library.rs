//! `library`: what people keep by name, at a terminal: listed, shown, written to files, read from files, and deleted.

use std::path::{Path, PathBuf};

use bathyscope_capture::shown;
use bathyscope_console::{
    control::ControlConnection,
    library::{LibraryFile, LibraryUser, TerminalChange, change_at_terminal, file_name, file_text},
};
use bathyscope_store::{LibraryEntry, LibraryItem, LibraryKind};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use super::{open, print_all};
use crate::{
    Failure, Outcome,
    config::DataArgs,
    launch::{Workplace, this_binary},
};

/// The longest file that is read.
const MAX_FILE_BYTES: u64 = 128 << 10;

const EXAMPLES: &str = "\
Examples:
  bathyscope library list disk
  bathyscope library show probe:vfs_read
  bathyscope library export --to probes/
  bathyscope library import probes/*.probe scripts/*.bt
  bathyscope library delete --kind query slow-calls

Probes are kept with `bathyscope probe --add`, and in the browser with everything else. Files are text, one for each thing, so \
that a team keeps them in a repository. All of it works while a console runs, too.";

/// What `library` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct LibraryArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: LibraryVerb,
}

/// What can be done with what is kept.
#[derive(Clone, Debug, Subcommand)]
pub enum LibraryVerb {
    /// List what is kept
    List {
        /// Only what has all of these words in its name, description, tags or owner
        #[arg(value_name = "WORDS")]
        words: Vec<String>,
        /// Only of this kind: probe, script, recipe, filter, query or selection
        #[arg(long, value_name = "KIND")]
        kind: Option<LibraryKind>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where it is kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Print one as its text file
    Show {
        /// Its name
        name: String,
        /// Only of this kind
        #[arg(long, value_name = "KIND")]
        kind: Option<LibraryKind>,
        /// Where it is kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Write each to a text file; files that are there already are replaced
    Export {
        /// Which, by name [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// The folder for the files
        #[arg(long, value_name = "FOLDER")]
        to: PathBuf,
        /// Only of this kind
        #[arg(long, value_name = "KIND")]
        kind: Option<LibraryKind>,
        /// Where it is kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Keep what text files have: new, or as another version of what has that name
    Import {
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Where it is kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Delete one; it can be restored on the page Library for 30 days
    Delete {
        /// Its name
        name: String,
        /// Its kind, where the name could be of several
        #[arg(long, value_name = "KIND")]
        kind: Option<LibraryKind>,
        /// Where it is kept.
        #[command(flatten)]
        data: DataArgs,
    },
}

/// Does what is asked.
///
/// # Errors
/// If there is none of the name, or files or the database cannot be used.
pub fn run(args: LibraryArgs) -> Outcome {
    match args.verb {
        LibraryVerb::List { words, kind, json, data } => list(&words, kind, json, &data),
        LibraryVerb::Show { name, kind, data } => {
            let found = one(&items(&data)?, &name, kind)?;
            print_all(&file_text(&LibraryFile::from(&found)))
        }
        LibraryVerb::Export { names, to, kind, data } => export(&names, kind, &to, &data),
        LibraryVerb::Import { files, data } => import(&files, &data),
        LibraryVerb::Delete { name, kind, data } => {
            let told = changed(vec![TerminalChange::Delete { kind, name }], &data.directory()?)?;
            print_all(&told)
        }
    }
}

/// Everything that is kept. This process gives its rights up for it.
fn items(data: &DataArgs) -> Result<Vec<LibraryItem>, Failure> {
    if !data.directory()?.is_dir() {
        return Ok(Vec::new());
    }
    open::reading(data, async |store| {
        let mut all = Vec::new();
        for kind in LibraryKind::ALL {
            all.extend(store.kept_of(LibraryUser::TERMINAL.reader(), kind).await?);
        }
        Ok(all)
    })
}

/// The same in a process of its own, so that this one keeps the rights that it needs otherwise.
///
/// # Errors
/// If the database cannot be read.
pub(super) fn listed_elsewhere(data: &DataArgs) -> Result<Vec<LibraryItem>, Failure> {
    let doing = "reading the library";
    if !data.directory()?.is_dir() {
        return Ok(Vec::new());
    }
    let directory = std::path::absolute(data.directory()?).map_err(|error| Failure::because(doing, error))?;
    let mut command = this_binary("library");
    command.args(["list", "--json", "--data"]).arg(directory);
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| Failure::because(doing, error))?;
    if !output.status.success() {
        return Err(Failure::new(format!("{doing}: it failed")));
    }
    let all: Vec<Listed> = serde_json::from_slice(&output.stdout).map_err(|error| Failure::because(doing, error))?;
    Ok(all.into_iter().map(|Listed { entry, text }| LibraryItem { entry, text }).collect())
}

/// Something as it is listed in JSON.
#[derive(Serialize, Deserialize)]
struct Listed {
    #[serde(flatten)]
    entry: LibraryEntry,
    text: String,
}

/// The one of a name.
fn one(items: &[LibraryItem], name: &str, kind: Option<LibraryKind>) -> Result<LibraryItem, Failure> {
    let named = |item: &&LibraryItem| item.entry.name == name && kind.is_none_or(|kind| item.entry.kind == kind);
    let found: Vec<&LibraryItem> = items.iter().filter(named).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => {
            let near = bathyscope_catalog::closest(name, items.iter().map(|item| item.entry.name.as_str()));
            let near = near.map_or_else(String::new, |near| format!("Did you mean `{near}`? "));
            let failure = Failure::new(format!("nothing is kept as `{}`", shown(name)));
            Err(failure.remedy(format!("{near}`bathyscope library list` lists what is.")))
        }
        several => {
            let own = several.iter().find(|item| item.entry.owner == LibraryUser::TERMINAL.user);
            let kinds: Vec<&str> = several.iter().map(|item| item.entry.kind.as_str()).collect();
            let is_one_kind = kinds.iter().all(|other| Some(other) == kinds.first());
            match own.or(several.first()).filter(|_| is_one_kind) {
                Some(item) => Ok((**item).clone()),
                None => Err(Failure::new(format!("`{}` is a {}", shown(name), kinds.join(" and a ")))
                    .remedy("Say which with --kind.")),
            }
        }
    }
}

fn list(words: &[String], kind: Option<LibraryKind>, json: bool, data: &DataArgs) -> Outcome {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let fits = |item: &LibraryItem| {
        let entry = &item.entry;
        let text =
            format!("{} {} {} {}", entry.name, entry.description, entry.owner, entry.tags.join(" ")).to_lowercase();
        kind.is_none_or(|kind| entry.kind == kind) && words.iter().all(|word| text.contains(word.as_str()))
    };
    let found: Vec<LibraryItem> = items(data)?.into_iter().filter(fits).collect();
    if json {
        let all: Vec<Listed> = found.into_iter().map(|LibraryItem { entry, text }| Listed { entry, text }).collect();
        let text = serde_json::to_string_pretty(&all);
        return print_all(&(text.map_err(|error| Failure::because("writing JSON", error))? + "\n"));
    }
    let width = found.iter().map(|item| item.entry.name.len()).max().unwrap_or(0);
    let line = |item: &LibraryItem| {
        let entry = &item.entry;
        let shared = if entry.shared { ", shared" } else { "" };
        let about =
            if entry.description.is_empty() { String::new() } else { format!("  {}", shown(&entry.description)) };
        let owner = shown(&entry.owner);
        format!("{:9}  {:width$}  ({owner}{shared}){about}\n", entry.kind.as_str(), shown(&entry.name))
    };
    print_all(&found.iter().map(line).collect::<String>())
}

fn export(names: &[String], kind: Option<LibraryKind>, to: &Path, data: &DataArgs) -> Outcome {
    std::fs::create_dir_all(to).map_err(|error| Failure::because(format!("making {}", to.display()), error))?;
    let all = listed_elsewhere(data)?;
    let wanted: Vec<LibraryItem> = match names {
        [] => all.into_iter().filter(|item| kind.is_none_or(|kind| item.entry.kind == kind)).collect(),
        names => names.iter().map(|name| one(&all, name, kind)).collect::<Result<_, _>>()?,
    };
    let mut told = String::new();
    for item in &wanted {
        let path = to.join(file_name(item.entry.kind, &item.entry.name));
        let written = std::fs::write(&path, file_text(&LibraryFile::from(item)));
        written.map_err(|error| Failure::because(format!("writing {}", path.display()), error))?;
        told.push_str(&format!("{}\n", path.display()));
    }
    print_all(&told)
}

fn import(files: &[PathBuf], data: &DataArgs) -> Outcome {
    use std::io::Read as _;
    let mut changes = Vec::with_capacity(files.len());
    for path in files {
        let doing = |error| Failure::because(format!("reading {}", path.display()), error);
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(doing)?;
        file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(doing)?;
        changes.push(TerminalChange::Import { text });
    }
    print_all(&changed(changes, &data.directory()?)?)
}

/// Has changes done: by the console that runs on `dir`, or here. Gives what is to be told.
///
/// # Errors
/// The first that cannot be done; those before it are.
pub(super) fn changed(changes: Vec<TerminalChange>, dir: &Path) -> Result<String, Failure> {
    let mut told = String::new();
    let mut left = changes.into_iter().peekable();
    while left.peek().is_some() {
        // While this process has its rights: the console answers who connected, and not its own user.
        let Some(console) = ControlConnection::open(dir)? else { break };
        let Some(change) = left.next() else { break };
        told.extend(console.change_library(change)?.into_iter().map(|line| line + "\n"));
    }
    if left.peek().is_none() {
        return Ok(told);
    }
    open::changing(&Workplace::make(Some(dir))?, async |store| {
        for change in left {
            let lines = change_at_terminal(store, change).await;
            let lines = lines.map_err(|error| Failure::because("changing the library", error))?;
            told.extend(lines.into_iter().map(|line| line + "\n"));
        }
        Ok(told)
    })
}
