//! `investigations`: pages that people write on what they look for, at a terminal: listed, shown, begun, written and deleted.

use std::path::Path;

use bathyscope_capture::{CaptureId, NoteId, visible};
use bathyscope_console::{
    control::ControlConnection,
    investigations::{
        InvestigationHead, InvestigationItem, TerminalPage, ToldBlock, WrittenBlock, page_at_terminal, templates,
        told_page,
    },
};
use bathyscope_reader::CaptureCache;
use bathyscope_store::{InvestigationId, InvestigationState, StoreError};
use clap::{Args, Subcommand};
use serde::Serialize;

use super::{
    open, print_all,
    saved_file::{self, InvestigationFileArgs},
};
use crate::{Failure, Outcome, config::DataArgs, launch::Workplace};

const EXAMPLES: &str = "\
Examples:
  bathyscope investigations list
  bathyscope investigations create 'Why is the shop slow?' --template slow-service
  bathyscope investigations show 00f1e2d3c4b5a697
  bathyscope investigations add 00f1e2d3c4b5a697 --text 'It began with **yesterday''s** deployment'
  bathyscope investigations add 00f1e2d3c4b5a697 --capture 11f1e2d3c4b5a697 --view 'v=3&tab=flame' --caption 'What it does'
  bathyscope investigations add 00f1e2d3c4b5a697 --capture 11f1e2d3c4b5a697 --sql 'select comm, count(*) from sched_switch group by 1'
  bathyscope investigations change 00f1e2d3c4b5a697 --state found --conclusion 'The log writer syncs each line'

All of it works while a console runs, too: who has the page open there sees it at once.";

/// What `investigations` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct InvestigationsArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: InvestigationsVerb,
}

/// What can be done with investigations.
#[derive(Clone, Debug, Subcommand)]
pub enum InvestigationsVerb {
    /// List them, the one that was changed last first
    List {
        /// Those that were deleted, which can be restored for 30 days
        #[arg(long)]
        deleted: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where they are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Print one with its blocks
    Show {
        /// Which, as `list` names it
        id: InvestigationId,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where they are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Write one with its views as an HTML file that opens without Bathyscope and without a network
    File(InvestigationFileArgs),
    /// List the templates that one can begin with
    Templates {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Begin one, and print its id
    Create {
        /// What is looked for [default: the template's title]
        #[arg(default_value = "", hide_default_value = true)]
        title: String,
        /// Begin with the questions of this template, as `templates` names it
        #[arg(long, value_name = "NAME")]
        template: Option<String>,
        /// Where they are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Change title, state or conclusion
    Change {
        /// Which
        id: InvestigationId,
        /// What it is called
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
        /// How far it is: open, found or closed
        #[arg(long, value_name = "STATE")]
        state: Option<InvestigationState>,
        /// What came of it, Markdown
        #[arg(long, value_name = "TEXT")]
        conclusion: Option<String>,
        /// Where they are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Add a block, and print its id
    Add(Box<BlockArgs>),
    /// Change the text of a block
    Edit {
        /// The investigation
        id: InvestigationId,
        /// The block, as `show` names it
        block: InvestigationId,
        /// What it shall say, Markdown
        text: String,
        /// Where they are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Say that a task is done
    Check(OneBlock),
    /// Say that a task is open again
    Uncheck(OneBlock),
    /// Move a block before another one, or to the end
    Move {
        /// The block.
        #[command(flatten)]
        block: OneBlock,
        /// Before this block
        #[arg(long, value_name = "BLOCK")]
        before: Option<InvestigationId>,
    },
    /// Delete a block; `restore` with its id restores it for 30 days
    Remove(OneBlock),
    /// Delete an investigation; `restore` restores it for 30 days
    Delete {
        /// Which
        id: InvestigationId,
        /// Where they are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Restore a deleted investigation, or a deleted block of one
    Restore {
        /// The investigation
        id: InvestigationId,
        /// A block of it
        block: Option<InvestigationId>,
        /// Where they are kept.
        #[command(flatten)]
        data: DataArgs,
    },
}

/// One block.
#[derive(Clone, Debug, Args)]
pub struct OneBlock {
    /// The investigation
    pub id: InvestigationId,
    /// The block, as `show` names it
    pub block: InvestigationId,
    /// Where they are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// What `investigations add` takes.
#[derive(Clone, Debug, Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["text", "task", "view", "note", "sql"])))]
pub struct BlockArgs {
    /// The investigation
    pub id: InvestigationId,
    /// A text, Markdown
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
    /// A task, Markdown
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// A view of the capture: what stands after the ? in the address of its page
    #[arg(long, value_name = "QUERY", requires = "capture")]
    pub view: Option<String>,
    /// A note on the capture, as `notes list` names it
    #[arg(long, value_name = "NOTE", requires = "capture")]
    pub note: Option<NoteId>,
    /// A query of the capture, which is asked now; its result stays as it is
    #[arg(long, value_name = "SELECT", requires = "capture")]
    pub sql: Option<String>,
    /// The capture
    #[arg(long, value_name = "CAPTURE")]
    pub capture: Option<CaptureId>,
    /// What there is to see
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub caption: String,
    /// Before this block [default: at the end]
    #[arg(long, value_name = "BLOCK")]
    pub before: Option<InvestigationId>,
    /// Where they are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

impl BlockArgs {
    fn written(self) -> Result<TerminalPage, Failure> {
        let Self { id, text, task, view, note, sql, capture, caption, before, .. } = self;
        let of = |capture: Option<CaptureId>| {
            capture.ok_or_else(|| Failure::new("which capture? Give --capture with its id"))
        };
        let block = match (text, task, view, note, sql) {
            (Some(text), ..) => WrittenBlock::Text { text },
            (_, Some(text), ..) => WrittenBlock::Task { text, done: false },
            (_, _, Some(view), ..) if view.contains("against=") => {
                WrittenBlock::Comparison { capture: of(capture)?, view, caption }
            }
            (_, _, Some(view), ..) => WrittenBlock::View { capture: of(capture)?, view, caption },
            (_, _, _, Some(note), _) => WrittenBlock::Note { capture: of(capture)?, note },
            (.., Some(sql)) => WrittenBlock::Query { capture: of(capture)?, sql, caption },
            _ => return Err(Failure::new("add what? Give --text, --task, --view, --note or --sql")),
        };
        Ok(TerminalPage::Add { id, block: Box::new(block), before })
    }
}

/// Does what is asked.
///
/// # Errors
/// If there is no such investigation or block, or the database cannot be used.
pub fn run(args: InvestigationsArgs) -> Outcome {
    use InvestigationsVerb as Verb;
    match args.verb {
        Verb::List { deleted, json, data } => list(deleted, json, &data),
        Verb::Show { id, json, data } => show(id, json, &data),
        Verb::File(args) => saved_file::investigation(&args),
        Verb::Templates { json } => {
            let all = templates();
            let lines = || all.iter().map(|one| format!("{:16}  {}\n", one.name, one.title)).collect::<String>();
            print_all(&if json { json_of(&all)? } else { lines() })
        }
        Verb::Create { title, template, data } => changed(TerminalPage::Create { title, template }, &data),
        Verb::Change { id, title, state, conclusion, data } => {
            changed(TerminalPage::Change { id, title, state, conclusion }, &data)
        }
        Verb::Add(args) => {
            let data = args.data.clone();
            changed(args.written()?, &data)
        }
        Verb::Edit { id, block, text, data } => changed(TerminalPage::Edit { id, block, text }, &data),
        Verb::Check(OneBlock { id, block, data }) => changed(TerminalPage::Check { id, block, done: true }, &data),
        Verb::Uncheck(OneBlock { id, block, data }) => changed(TerminalPage::Check { id, block, done: false }, &data),
        Verb::Move { block: OneBlock { id, block, data }, before } => {
            changed(TerminalPage::Move { id, block, before }, &data)
        }
        Verb::Remove(OneBlock { id, block, data }) => changed(TerminalPage::Remove { id, block, deleted: true }, &data),
        Verb::Delete { id, data } => changed(TerminalPage::Delete { id, deleted: true }, &data),
        Verb::Restore { id, block: Some(block), data } => {
            changed(TerminalPage::Remove { id, block, deleted: false }, &data)
        }
        Verb::Restore { id, block: None, data } => changed(TerminalPage::Delete { id, deleted: false }, &data),
    }
}

fn json_of(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(|error| Failure::because("writing JSON", error))? + "\n")
}

fn list(deleted: bool, json: bool, data: &DataArgs) -> Outcome {
    let found = open::reading(data, async |store| store.investigations(deleted).await)?;
    let items: Vec<InvestigationHead> =
        found.into_iter().map(|(record, blocks)| InvestigationHead::new(record, blocks, true)).collect();
    if json {
        return print_all(&json_of(&serde_json::json!({ "items": items }))?);
    }
    let line = |one: &InvestigationHead| {
        format!("{}  {:6}  {:>3} blocks  by {}  {}\n", one.id, one.state.as_str(), one.blocks, one.owner, one.title)
    };
    let none = "There is no investigation. `bathyscope investigations create TITLE` begins one.\n";
    let lines: String = items.iter().map(line).collect();
    print_all(if lines.is_empty() { none } else { lines.as_str() })
}

fn show(id: InvestigationId, json: bool, data: &DataArgs) -> Outcome {
    let page = open::reading(data, async |store| {
        let found = store.investigation(id).await?.ok_or(StoreError::NoInvestigation { id })?;
        told_page((&store, &bathyscope_store::Sight::ALL), found, (true, true)).await
    })?;
    print_all(&if json { json_of(&page)? } else { lines(&page) })
}

fn lines(page: &InvestigationItem) -> String {
    let head = &page.head;
    let mut out =
        format!("{}\n{}, by {}, changed by {}\n\n", head.title, head.state.as_str(), head.owner, head.changed_by);
    for block in &page.blocks {
        let (what, text) = told(&block.content);
        out += &format!("{}  {what}\n{}", block.id, indented(&text));
    }
    if !page.conclusion.is_empty() {
        out += &format!("\nConclusion\n{}", indented(&page.conclusion));
    }
    out
}

/// What a block is, in a word or two, and what it says.
fn told(content: &ToldBlock) -> (String, String) {
    match content {
        ToldBlock::Text { text, .. } => ("text".to_owned(), text.clone()),
        ToldBlock::Task { text, done, .. } => (format!("task, {}", if *done { "done" } else { "open" }), text.clone()),
        ToldBlock::View { capture, view, caption, .. } => (format!("view of {capture}"), format!("{caption}\n{view}")),
        ToldBlock::Comparison { capture, view, caption, .. } => {
            (format!("comparison of {capture}"), format!("{caption}\n{view}"))
        }
        ToldBlock::Note { capture, id, note, .. } => {
            let text = note.as_ref().map_or_else(|| "The note is gone.".to_owned(), |note| note.text.clone());
            (format!("note {id} on {capture}"), text)
        }
        ToldBlock::Query { capture, sql, result, caption, .. } => {
            let row = |row: &Vec<Option<String>>| {
                row.iter().map(|cell| cell.as_deref().unwrap_or("-")).collect::<Vec<_>>().join("  ")
            };
            let rows: Vec<String> = result.rows.iter().map(row).collect();
            let more = if result.cut { "\n…and more that are not kept" } else { "" };
            let text = format!("{caption}\n{sql}\n{}\n{}{more}", result.columns.join("  "), rows.join("\n"));
            (format!("query of {capture}"), text)
        }
        ToldBlock::Step { text, recipe, capture, .. } => {
            let made = capture.map_or_else(|| "not recorded yet".to_owned(), |capture| format!("capture {capture}"));
            (format!("step, recipe {recipe}, {made}"), text.clone())
        }
        // Only shares leave something out.
        ToldBlock::LeftOut { what } => (format!("{what}, left out"), String::new()),
        ToldBlock::Unknown => ("written by a later release".to_owned(), String::new()),
    }
}

fn indented(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| format!("    {}\n", visible(line.as_bytes()))).collect()
}

/// Has it done: by the console that runs there, or here.
fn changed(change: TerminalPage, data: &DataArgs) -> Outcome {
    let told = done(change, &data.directory()?)?;
    print_all(&format!("{told}\n"))
}

fn done(change: TerminalPage, dir: &Path) -> Result<String, Failure> {
    // While this process has its rights: the console answers who connected, and not its own user.
    if let Some(console) = ControlConnection::open(dir)? {
        return Ok(console.change_investigations(change)?.join("\n"));
    }
    open::has_database(dir)?;
    open::changing(&Workplace::make(Some(dir))?, async |store| {
        let done = page_at_terminal(store, &CaptureCache::new(store.clone()), change).await;
        Ok(done.map_err(|error| Failure::because("changing investigations", error))?.told)
    })
}
