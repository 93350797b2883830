//! `webhooks`: addresses that are told of captures of flight recorders, at a terminal: listed, made, tried and removed.

use std::fmt::Write as _;

use bathyscope_capture::visible;
use bathyscope_console::{
    control::{TerminalWebhooks, TerminalWebhooksAnswer, change_webhooks},
    webhooks::{AskedWebhook, DeliveryItem, WebhookItem, WebhookList},
};
use clap::{Args, Subcommand};

use super::{
    people::{PeopleCommon, json_line},
    print_all, text,
};
use crate::{Failure, Outcome};

const EXAMPLES: &str = "\
Examples:
  bathyscope webhooks add 'on call' https://hooks.example/bathyscope
  bathyscope webhooks test 'on call'
  bathyscope webhooks list

A console must run on the data directory, started with --outbound-allow or --outbound-private for the host, and only its user and \
root may ask. Flight recorders name the webhooks that they tell, on the page New capture.";

/// What `webhooks` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WebhooksArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: WebhooksVerb,
}

/// What can be done with webhooks.
#[derive(Clone, Debug, Subcommand)]
pub enum WebhooksVerb {
    /// List webhooks, and what became of the last messages to each
    List {
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Make a webhook, and print the secret that its messages are signed with, which cannot be done again
    Add {
        /// By which flight recorders name it
        #[arg(value_name = "NAME")]
        name: String,
        /// Where its messages go
        #[arg(value_name = "URL")]
        url: String,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Send a message to a webhook, and print what came of it
    Test {
        /// Which one
        #[arg(value_name = "NAME")]
        name: String,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Remove a webhook with its messages
    Remove {
        /// Which one
        #[arg(value_name = "NAME")]
        name: String,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
}

/// Does it.
///
/// # Errors
/// Why it was not done, or a message did not arrive.
pub fn run(args: WebhooksArgs) -> Outcome {
    let (change, common) = match args.verb {
        WebhooksVerb::List { common } => (TerminalWebhooks::List, common),
        WebhooksVerb::Add { name, url, common } => {
            (TerminalWebhooks::Add { asked: AskedWebhook { name, url } }, common)
        }
        WebhooksVerb::Test { name, common } => (TerminalWebhooks::Test { name }, common),
        WebhooksVerb::Remove { name, common } => (TerminalWebhooks::Remove { name }, common),
    };
    let answer = change_webhooks(&common.data.directory()?, change)?;
    print_all(&match &answer {
        TerminalWebhooksAnswer::List(list) if common.json => json_line(list)?,
        TerminalWebhooksAnswer::List(list) => listed(list),
        TerminalWebhooksAnswer::Made(made) if common.json => json_line(made)?,
        TerminalWebhooksAnswer::Made(made) => format!("{}\n", made.secret),
        TerminalWebhooksAnswer::Sent(sent) if common.json => json_line(sent)?,
        TerminalWebhooksAnswer::Sent(sent) => message(sent),
        TerminalWebhooksAnswer::Removed(name) if common.json => json_line(&serde_json::json!({ "removed": name }))?,
        TerminalWebhooksAnswer::Removed(name) => format!("{}  removed\n", visible(name.as_bytes())),
    })?;
    match answer {
        TerminalWebhooksAnswer::Sent(sent) if sent.state == "given_up" => {
            Err(Failure::new("the message did not arrive").remedy("`bathyscope webhooks list` tells more."))
        }
        _ => Ok(std::process::ExitCode::SUCCESS),
    }
}

fn listed(list: &WebhookList) -> String {
    let mut out = list.problem.iter().map(|problem| format!("{problem}\n")).collect::<String>();
    if list.items.is_empty() {
        out += "There is no webhook.\n";
    }
    for webhook in &list.items {
        out += &line(webhook);
        let of_it = |message: &&DeliveryItem| message.webhook.to_lowercase() == webhook.name.to_lowercase();
        out.extend(list.deliveries.iter().filter(of_it).map(|sent| format!("  {}", message(sent))));
    }
    let is_known = |message: &&DeliveryItem| {
        list.items.iter().any(|webhook| webhook.name.to_lowercase() == message.webhook.to_lowercase())
    };
    for sent in list.deliveries.iter().filter(|message| !is_known(message)) {
        // Writing to a String cannot fail.
        let _infallible = write!(out, "{}  gone\n  {}", visible(sent.webhook.as_bytes()), message(sent));
    }
    out
}

fn line(webhook: &WebhookItem) -> String {
    let WebhookItem { name, url, problem, made_by, delivered, given_up, .. } = webhook;
    let problem = problem.iter().map(|problem| format!("  {problem}\n")).collect::<String>();
    format!(
        "{}  {}  {delivered} arrived, {given_up} given up  by {}\n{problem}",
        visible(name.as_bytes()),
        visible(url.as_bytes()),
        visible(made_by.as_bytes())
    )
}

fn message(sent: &DeliveryItem) -> String {
    let DeliveryItem { capture, state, attempts, status, error, changed_unix_ns, .. } = sent;
    let attempts = text::counted(u64::from(*attempts), "attempt");
    let about = capture.as_deref().unwrap_or("test");
    let status = status.map_or_else(String::new, |status| format!("  status {status}"));
    let error = if error.is_empty() { String::new() } else { format!("  {}", visible(error.as_bytes())) };
    let state = state.replace('_', " ");
    format!("{}  {about}  {state}  {attempts}{status}{error}\n", text::wall_time(*changed_unix_ns))
}
