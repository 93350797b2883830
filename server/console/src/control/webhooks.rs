//! Webhooks, at the terminal: through the console that runs.

use std::{path::Path, time::Duration};

use bathyscope_link::words;
use bathyscope_store::Role;
use serde::{Deserialize, Serialize};

use super::{ControlAnswer, Request, Tracing, answered, other_answer};
use crate::{
    Failure,
    library::TERMINAL,
    webhooks::{AskedWebhook, DeliveryItem, MadeWebhook, WebhookError, WebhookList},
};

/// How long it is waited for what comes of a message: shorter than whoever asks waits.
const TEST_PATIENCE: Duration = Duration::from_secs(4);

/// What can be done with webhooks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TerminalWebhooks {
    /// All of them, with the last messages.
    List,
    /// Makes one.
    Add {
        /// What it is.
        asked: AskedWebhook,
    },
    /// Sends a message to one.
    Test {
        /// Which one.
        name: String,
    },
    /// Removes one.
    Remove {
        /// Which one.
        name: String,
    },
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalWebhooksAnswer {
    /// Webhooks.
    List(WebhookList),
    /// One that was made.
    Made(MadeWebhook),
    /// What came of a message; `waiting` if nothing has yet.
    Sent(DeliveryItem),
    /// The name of one that was removed.
    Removed(String),
}

impl Tracing {
    pub(super) async fn change_webhooks(&self, change: TerminalWebhooks) -> ControlAnswer {
        match self.changed_webhooks(change).await {
            Ok(answer) => ControlAnswer::Webhooks { answer: Box::new(answer) },
            Err(error) => ControlAnswer::Failed { why: words(&error) },
        }
    }

    async fn changed_webhooks(&self, change: TerminalWebhooks) -> Result<TerminalWebhooksAnswer, WebhookError> {
        let (by, webhooks) = ((TERMINAL, Role::Admin), &self.webhooks);
        Ok(match change {
            TerminalWebhooks::List => TerminalWebhooksAnswer::List(webhooks.list().await?),
            TerminalWebhooks::Add { asked } => TerminalWebhooksAnswer::Made(webhooks.add(asked, by).await?),
            TerminalWebhooks::Test { name } => {
                TerminalWebhooksAnswer::Sent(webhooks.test(&name, by, TEST_PATIENCE).await?)
            }
            TerminalWebhooks::Remove { name } => TerminalWebhooksAnswer::Removed(webhooks.remove(&name, by).await?),
        })
    }
}

/// Has the console that runs on `dir` do something with webhooks.
///
/// # Errors
/// If no console runs there, or why it was not done.
pub fn change_webhooks(dir: &Path, change: TerminalWebhooks) -> Result<TerminalWebhooksAnswer, Failure> {
    match answered(dir, &Request::Webhooks { change: Box::new(change) })? {
        ControlAnswer::Webhooks { answer } => Ok(*answer),
        _other => Err(other_answer(dir)),
    }
}
