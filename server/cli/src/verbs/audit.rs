//! `audit`: who did what, from the terminal.

use std::fmt::Write as _;

use bathyscope_capture::visible;
use bathyscope_store::AuditRecord;
use clap::Args;

use super::{open, print_all, text};
use crate::{Outcome, config::DataArgs};

/// What `audit` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
The log says who logged in, started, changed, shared, fired and deleted what, and what was refused. It cannot be changed or emptied from here.

Examples:
  bathyscope audit -n 20
  bathyscope audit --before 1200 --json")]
pub struct AuditArgs {
    /// How many at most
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 100)]
    pub limit: u32,
    /// Only those before the entry of this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true)]
    pub before: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// Prints it.
///
/// # Errors
/// If the database cannot be read.
pub fn run(args: &AuditArgs) -> Outcome {
    let records = open::reading(&args.data, async |store| store.audit(args.before, args.limit).await)?;
    print_all(&if args.json { in_json(&records) } else { in_lines(&records) })
}

fn in_json(records: &[AuditRecord]) -> String {
    let item = |AuditRecord { number, entry }: &AuditRecord| {
        serde_json::json!({
            "number": number, "time_unix_ns": entry.time_unix_ns, "user": entry.user, "role": entry.role.as_str(),
            "action": entry.action, "object": entry.object, "detail": entry.detail,
        })
    };
    let items: Vec<_> = records.iter().map(item).collect();
    format!("{:#}\n", serde_json::json!({ "items": items }))
}

fn in_lines(records: &[AuditRecord]) -> String {
    let mut out = String::new();
    for AuditRecord { number, entry } in records {
        let (time, user) = (text::wall_time(entry.time_unix_ns), visible(entry.user.as_bytes()));
        let (role, action) = (entry.role.as_str(), &entry.action);
        let more = [visible(entry.object.as_bytes()), visible(entry.detail.as_bytes())].join("  ");
        // Writing to a String cannot fail.
        let _infallible = writeln!(out, "{number:>6}  {time}  {user} ({role})  {action}  {}", more.trim_end());
    }
    if records.is_empty() {
        out.push_str("Nothing is in the log.\n");
    }
    out
}
