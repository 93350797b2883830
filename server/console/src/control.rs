//! A socket in the data directory through which the command line asks the running console for another login link.
//!
//! The directory is the console user's own (0700), the socket too, and the peer's user is checked: only that user and
//! root get an answer. One JSON line each way.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
    time::Duration,
};

use bathyscope_store::Role;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
};
use tokio_util::sync::CancellationToken;

use crate::{Failure, http::Sessions};

/// The socket's name in the data directory.
const NAME: &str = "control.sock";
/// The longest line.
const LINE_BYTES: u64 = 4096;
/// How long either side waits for the other.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What can be asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    LoginLink { user: String, role: Role },
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    LoginLink { url: String },
    Failed { why: String },
}

/// The end that answers.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    directory: OwnedFd,
    sessions: Sessions,
    origin: String,
}

impl Control {
    /// Listens in `dir`, whose database this process holds open, so that a socket that is there is a dead one. Links
    /// begin with `origin`, such as `http://127.0.0.1:7070`.
    ///
    /// # Errors
    /// If the socket cannot be made.
    pub fn bind(dir: &Path, sessions: Sessions, origin: String) -> io::Result<Self> {
        let directory = open_directory(dir)?;
        match rustix::fs::unlinkat(&directory, NAME, rustix::fs::AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let listener = UnixListener::bind(through(&directory))?;
        rustix::fs::chmodat(&directory, NAME, Mode::RUSR | Mode::WUSR, rustix::fs::AtFlags::empty())?;
        Ok(Self { listener, directory, sessions, origin })
    }

    /// Answers, one at a time, until `stop` is cancelled.
    pub async fn serve(self, stop: CancellationToken) {
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _unnamed)) => {
                    let answered = tokio::time::timeout(TIMEOUT, self.answer(stream)).await;
                    if !matches!(answered, Ok(Ok(()))) {
                        tracing::warn!("a request on the control socket was not answered");
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "the control socket failed");
                    tokio::time::sleep(TIMEOUT).await;
                }
            }
        }
    }

    async fn answer(&self, mut stream: UnixStream) -> io::Result<()> {
        let uid = stream.peer_cred()?.uid();
        if uid != 0 && uid != rustix::process::geteuid().as_raw() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "not this user"));
        }
        let mut line = String::new();
        let (reading, mut writing) = stream.split();
        tokio::io::BufReader::new(reading.take(LINE_BYTES)).read_line(&mut line).await?;
        let answer = match serde_json::from_str(&line) {
            Ok(Request::LoginLink { user, role }) => match self.sessions.login_token(&user, role).await {
                Ok(secret) => Answer::LoginLink { url: login_url(&self.origin, secret.reveal()) },
                Err(error) => Answer::Failed { why: crate::recorder::words(&error) },
            },
            Err(_unknown) => Answer::Failed { why: "the console is of another version".to_owned() },
        };
        let mut line = serde_json::to_vec(&answer)?;
        line.push(b'\n');
        writing.write_all(&line).await
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // A socket that is left behind only refuses; the next console removes it.
        let _left = rustix::fs::unlinkat(&self.directory, NAME, rustix::fs::AtFlags::empty());
    }
}

/// The address that logs in with a token. The token stands in the fragment, which browsers do not send.
pub fn login_url(origin: &str, token: &str) -> String {
    format!("{origin}/login#token={token}")
}

/// Asks the console that runs on `dir` for a link that logs `user` in once with `role`.
///
/// # Errors
/// If no console runs there, or it refuses.
pub fn login_link(dir: &Path, user: &str, role: Role) -> Result<String, Failure> {
    let doing = || format!("asking the console that runs on {}", dir.display());
    let line = ask(dir, user, role).map_err(|error| {
        Failure::because(doing(), error).remedy(
            "Start one with `bathyscope serve`, or name its directory with --data. Only its user and root may ask.",
        )
    })?;
    match serde_json::from_str(&line) {
        Ok(Answer::LoginLink { url }) => Ok(url),
        Ok(Answer::Failed { why }) => Err(Failure::new(format!("{}: {why}", doing()))),
        Err(error) => Err(Failure::because(doing(), error)),
    }
}

fn ask(dir: &Path, user: &str, role: Role) -> io::Result<String> {
    let directory = open_directory(dir)?;
    let mut stream = std::os::unix::net::UnixStream::connect(through(&directory))?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut request = serde_json::to_vec(&Request::LoginLink { user: user.to_owned(), role })?;
    request.push(b'\n');
    stream.write_all(&request)?;
    let mut line = String::new();
    BufReader::new(stream.take(LINE_BYTES)).read_line(&mut line)?;
    Ok(line)
}

fn open_directory(dir: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// The socket's path through an open directory: however long the directory's own path is, this one fits.
fn through(directory: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{NAME}", directory.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use bathyscope_store::{Options, Store};

    use super::*;
    use crate::http::SessionClock;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_link_logs_in_whom_it_names() {
        let dir = tempfile::tempdir().unwrap();
        // Longer than the path of a socket may be.
        let deep = dir.path().join("d".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        let store = Store::open(&deep, Options { ballast_bytes: 0, ..Options::default() }).await.unwrap();
        let stop = CancellationToken::new();
        let sessions = Sessions::open(store, SessionClock::Boot, &stop).await.unwrap();
        let control = Control::bind(&deep, sessions.clone(), "http://127.0.0.1:1".to_owned()).unwrap();
        let serving = tokio::spawn(control.serve(stop.clone()));
        let asked = deep.clone();
        let url =
            tokio::task::spawn_blocking(move || login_link(&asked, "alice", Role::Viewer)).await.unwrap().unwrap();
        let token = url.strip_prefix("http://127.0.0.1:1/login#token=").unwrap();
        let (_secret, session) = sessions.login(token, None).await.unwrap().unwrap();
        assert_eq!((session.user(), session.role()), ("alice", Role::Viewer));
        stop.cancel();
        serving.await.unwrap();
        assert!(!deep.join(NAME).exists());
        let asked = deep.clone();
        let refused = tokio::task::spawn_blocking(move || login_link(&asked, "alice", Role::Viewer)).await.unwrap();
        assert!(refused.unwrap_err().report().contains("bathyscope serve"));
    }
}
