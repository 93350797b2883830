//! `shares`: links of the running console for people without a login, made, listed and revoked.

use std::fmt::Write as _;

use bathyscope_capture::{CaptureId, visible};
use bathyscope_console::{
    control::{self, KnownShares},
    http::{AskedShare, MOST_SHARE_DAYS, SHARE_DAYS, ShareId, ShareItem, SharedPart},
};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_reader::RemovedKind;
use bathyscope_store::InvestigationId;
use clap::{Args, Subcommand};

use super::{print_all, range::elapsed, text};
use crate::{Failure, Outcome, config::DataArgs};

/// What `shares` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
A share is a link that shows one capture, or a part of it, or an investigation, to people without a login, read only and until it expires. A console \
must run on the data directory, and only its user and root may ask. `shares allow` or `serve --allow-shares` comes first.")]
pub struct SharesArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: SharesVerb,
}

/// What can be done with shares.
#[derive(Clone, Debug, Subcommand)]
pub enum SharesVerb {
    /// List the shares that have not expired
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where the running console keeps its captures.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Make a share and print its link, which cannot be printed again
    Create(Box<CreateArgs>),
    /// Revoke shares: their links show nothing any more, in open pages too
    Revoke {
        /// Which, as `list` names them
        #[arg(value_name = "ID", required = true)]
        ids: Vec<ShareId>,
        /// Where the running console keeps its captures.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Allow shares in the running console
    Allow {
        /// Where the running console keeps its captures.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Forbid shares: those that there are show nothing until shares are allowed again
    Forbid {
        /// Where the running console keeps its captures.
        #[command(flatten)]
        data: DataArgs,
    },
}

/// What `shares create` takes.
#[derive(Clone, Debug, Args)]
pub struct CreateArgs {
    /// The capture that it shows, as `captures list` names it
    #[arg(value_name = "CAPTURE", required_unless_present = "investigation")]
    pub capture: Option<CaptureId>,
    /// Show this investigation instead, as `investigations list` names it
    #[arg(long, value_name = "ID", conflicts_with_all = ["capture", "from", "to", "filter", "view"])]
    pub investigation: Option<InvestigationId>,
    /// What it is called [default: the title of what it shows]
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub title: String,
    /// Days until it expires
    #[arg(long, value_name = "DAYS", default_value_t = SHARE_DAYS, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SHARE_DAYS)))]
    pub days: u32,
    /// Show nothing before this time from the capture's start, such as 1500ms
    #[arg(long, value_name = "TIME", value_parser = nanoseconds)]
    pub from: Option<i64>,
    /// Show nothing from this time on
    #[arg(long, value_name = "TIME", value_parser = nanoseconds)]
    pub to: Option<i64>,
    /// Show only rows that match, such as 'pid == 42'
    #[arg(long, value_name = "PREDICATE", default_value = "", hide_default_value = true)]
    pub filter: String,
    /// Open this view: what stands after the ? in the address of the capture's page
    #[arg(long, value_name = "QUERY", default_value = "", hide_default_value = true)]
    pub view: String,
    /// Remove these from what it shows, each replaced by a placeholder
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub remove: Vec<RemovedKind>,
    /// Show notes as they were written, though something is removed
    #[arg(long, requires = "remove")]
    pub keep_notes: bool,
    /// Show results of queries on the investigation, though something is removed
    #[arg(long, requires = "remove", requires = "investigation")]
    pub keep_results: bool,
    /// Show its title and a picture to whoever knows the link's id, without the token: what chats fetch
    #[arg(long)]
    pub preview: bool,
    /// Let views on the investigation be opened, each at its range and filter
    #[arg(long, requires = "investigation")]
    pub open_views: bool,
    /// Print JSON: the link, and what it shows
    #[arg(long)]
    pub json: bool,
    /// Where the running console keeps its captures.
    #[command(flatten)]
    pub data: DataArgs,
}

fn nanoseconds(text: &str) -> Result<i64, String> {
    let long = elapsed(text)?;
    i64::try_from(long.as_nanos()).map_err(|_too_long| format!("`{text}` is longer than any capture"))
}

impl CreateArgs {
    fn asked(self) -> AskedShare {
        let Self { capture, investigation, title, days, from, to, filter, view, remove, .. } = self;
        let (notes, results, preview, views) = (self.keep_notes, self.keep_results, self.preview, self.open_views);
        let is_part = from.is_some() || to.is_some() || !filter.is_empty();
        let part = is_part.then_some(SharedPart { start: from, end: to, filter });
        let days = Some(days);
        AskedShare { capture, investigation, title, days, view, part, remove, notes, results, preview, views }
    }
}

/// Does it.
///
/// # Errors
/// If no console runs there, or it refuses.
pub fn run(args: SharesArgs) -> Outcome {
    match args.verb {
        SharesVerb::List { json, data } => {
            let list = control::shares(&data.directory()?)?;
            print_all(&if json { json_line(&list)? } else { listed(&list) })
        }
        SharesVerb::Create(args) => {
            let (dir, json) = (args.data.directory()?, args.json);
            let (share, url) = control::make_share(&dir, args.asked())?;
            print_all(&if json { json_line(&serde_json::json!({ "url": url, "share": share }))? } else { url + "\n" })
        }
        SharesVerb::Revoke { ids, data } => {
            let dir = data.directory()?;
            let mut out = String::new();
            for id in ids {
                let share = control::revoke_share(&dir, id)?;
                // Writing to a String cannot fail.
                let _infallible = writeln!(out, "{id}  {}  revoked", visible(share.title.as_bytes()));
            }
            print_all(&out)
        }
        SharesVerb::Allow { data } => {
            control::allow_shares(&data.directory()?, true)?;
            print_all("Shares are allowed: operators and admins may make them.\n")
        }
        SharesVerb::Forbid { data } => {
            control::allow_shares(&data.directory()?, false)?;
            print_all("Shares are forbidden: none shows anything until they are allowed again.\n")
        }
    }
}

fn json_line(told: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(told).map_err(|error| Failure::because("printing shares", error))?;
    Ok(text + "\n")
}

fn listed(list: &KnownShares) -> String {
    let mut out = String::new();
    if !list.allowed {
        out.push_str(
            "Shares are not allowed in this console: none shows anything. `bathyscope shares allow` allows them.\n",
        );
    }
    if list.items.is_empty() {
        out.push_str("There is no share.\n");
    }
    let now_unix_ns = wall_unix_ns();
    for share in &list.items {
        out.push_str(&line(share, now_unix_ns));
    }
    out
}

fn line(share: &ShareItem, now_unix_ns: i64) -> String {
    let seconds = |ns: i64| text::span(u64::try_from(ns / 1_000_000_000).unwrap_or(0));
    let used = share.last_used_unix_ns.map_or_else(
        || "never used".to_owned(),
        |used| {
            let opened = text::counted(share.opened, "time");
            format!("opened {opened}, last used {} ago", seconds(now_unix_ns.saturating_sub(used)))
        },
    );
    let shows = match (share.capture, share.investigation) {
        (Some(capture), _) if share.part.is_some() => format!("a part of {capture}"),
        (Some(capture), _) => format!("all of {capture}"),
        (None, Some(investigation)) => format!("investigation {investigation}"),
        (None, None) => "nothing".to_owned(),
    };
    let kinds: Vec<&str> = share.removes.iter().map(|kind| kind.word()).collect();
    let without = if kinds.is_empty() { String::new() } else { format!(" without {}", kinds.join(", ")) };
    let preview = if share.preview { ", with a preview" } else { "" };
    format!(
        "{}  {shows}{without}{preview}  by {}  expires in {}  {used}  {}\n",
        share.id,
        visible(share.owner.as_bytes()),
        seconds(share.expires_unix_ns.saturating_sub(now_unix_ns)),
        visible(share.title.as_bytes())
    )
}
