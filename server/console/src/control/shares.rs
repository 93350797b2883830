//! Links for people without a login, at the terminal.

use std::{path::Path, time::Duration};

use bathyscope_link::words;
use bathyscope_reader::CaptureCache;
use bathyscope_store::Role;
use bathyscope_views::Cancel;
use serde::{Deserialize, Serialize};

use super::{ControlAnswer, Request, Tracing, answered, other_answer};
use crate::{
    Failure,
    http::{AskedShare, Secret, SessionError, ShareError, ShareId, ShareItem, Shares, draw_share},
    library::TERMINAL,
};

/// How long a part of a capture is looked at before a link to it is made: shorter than whoever asks waits.
const PART_PATIENCE: Duration = Duration::from_secs(3);

/// What makes links for people without a login.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// The links.
    pub shares: Shares,
    /// The captures that they show.
    pub captures: CaptureCache,
    /// What links begin with, such as `http://127.0.0.1:7070`.
    pub origin: String,
}

/// The links that there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownShares {
    /// Whether shares are allowed.
    pub allowed: bool,
    /// All links, the one that was made last first.
    pub items: Vec<ShareItem>,
}

impl Tracing {
    pub(super) async fn shares(&self) -> ControlAnswer {
        match self.sharing.shares.list(None).await {
            Ok(items) => {
                ControlAnswer::Shares { shares: KnownShares { allowed: self.sharing.shares.are_allowed(), items } }
            }
            Err(error) => ControlAnswer::Failed { why: words(&error) },
        }
    }

    pub(super) async fn make_share(&self, asked: AskedShare) -> ControlAnswer {
        match self.made_share(asked).await {
            Ok((secret, share)) => {
                let url = format!("{}/s/{}#{}", self.sharing.origin, share.id, secret.reveal());
                ControlAnswer::Share { share: Box::new(share), url }
            }
            Err(error) => ControlAnswer::Failed { why: words(&error) },
        }
    }

    pub(super) async fn revoke_share(&self, id: ShareId) -> ControlAnswer {
        match self.sharing.shares.revoke(id, None, (TERMINAL, Role::Admin)).await {
            Ok(Some(share)) => ControlAnswer::Share { share: Box::new(share), url: String::new() },
            Ok(None) => ControlAnswer::Failed { why: format!("there is no share {id}") },
            Err(error) => ControlAnswer::Failed { why: words(&error) },
        }
    }

    pub(super) async fn allow_shares(&self, allowed: bool) -> ControlAnswer {
        match self.sharing.shares.allow(allowed).await {
            Ok(()) => {
                self.note(if allowed { "share.allow" } else { "share.forbid" }, "", "").await;
                ControlAnswer::Done
            }
            Err(error) => ControlAnswer::Failed { why: words(&error) },
        }
    }

    /// Makes a link. What is wrong with its part is found out now, if that does not take long.
    async fn made_share(&self, asked: AskedShare) -> Result<(Secret, ShareItem), ShareError> {
        let drawn = draw_share().map_err(SessionError::Random)?;
        let mut picture = asked.usual_picture();
        if let Some(capture) = asked.object()?.capture().filter(|_| asked.needs_look()) {
            let is_busy = self.recorder.running().iter().any(|running| running.id == capture);
            let (view, asked) = (self.sharing.captures.view(capture, is_busy).await?, asked.clone());
            let look = move || asked.look(&drawn, &view, &Cancel::new(false));
            match tokio::time::timeout(PART_PATIENCE, tokio::task::spawn_blocking(look)).await {
                Ok(Ok(Err(error))) => return Err(ShareError::Refused(words(&error))),
                Ok(Ok(Ok(drawn))) => picture = drawn,
                // It takes long, which is no reason against the link: its preview has no bars then.
                Ok(Err(_)) | Err(_) => {}
            }
        }
        self.sharing.shares.create(drawn, (asked, picture), (TERMINAL, Role::Admin)).await
    }
}

/// The links for people without a login of the console that runs on `dir`.
///
/// # Errors
/// If no console runs there, or it refuses.
pub fn shares(dir: &Path) -> Result<KnownShares, Failure> {
    match answered(dir, &Request::Shares)? {
        ControlAnswer::Shares { shares } => Ok(shares),
        _other => Err(other_answer(dir)),
    }
}

/// Has the console that runs on `dir` make such a link; gives it and its address.
///
/// # Errors
/// If no console runs there, or it refuses.
pub fn make_share(dir: &Path, asked: AskedShare) -> Result<(ShareItem, String), Failure> {
    match answered(dir, &Request::MakeShare { asked: Box::new(asked) })? {
        ControlAnswer::Share { share, url } => Ok((*share, url)),
        _other => Err(other_answer(dir)),
    }
}

/// Has the console that runs on `dir` revoke such a link; gives what it was.
///
/// # Errors
/// If no console runs there, or there is no such link.
pub fn revoke_share(dir: &Path, id: ShareId) -> Result<ShareItem, Failure> {
    match answered(dir, &Request::RevokeShare { id })? {
        ControlAnswer::Share { share, .. } => Ok(*share),
        _other => Err(other_answer(dir)),
    }
}

/// Has the console that runs on `dir` allow such links, or not any more.
///
/// # Errors
/// If no console runs there, or it refuses.
pub fn allow_shares(dir: &Path, allowed: bool) -> Result<(), Failure> {
    match answered(dir, &Request::AllowShares { allowed })? {
        ControlAnswer::Done => Ok(()),
        _other => Err(other_answer(dir)),
    }
}
