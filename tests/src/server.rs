//! A running Bathyscope.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    net::SocketAddr,
    path::Path,
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    http::{Events, Request, Response},
    proc,
    wait::until,
    workspace::binary,
};

/// A server with its agent and console, logged in to. Dropping it ends them.
#[derive(Debug)]
pub struct Server {
    supervisor: Child,
    // Kept open, or the server would write into a closed pipe.
    _stdout: BufReader<ChildStdout>,
    address: SocketAddr,
    cookie: String,
    log: TempDir,
}

impl Server {
    /// Starts `bathyscope serve` on a free port with its data in `data` and `options` added, and logs in.
    ///
    /// # Panics
    /// If it does not come up; its log says why.
    pub fn start(data: &Path, options: &[&str]) -> Self {
        Self::start_by(&[binary().to_string_lossy().into_owned()], data, options)
    }

    /// Starts it by other words than the binary's path alone: a program that changes something and then becomes it.
    ///
    /// # Panics
    /// If it does not come up; its log says why.
    pub fn start_by(words: &[String], data: &Path, options: &[&str]) -> Self {
        let log = tempfile::tempdir().expect("a folder for the log");
        let stderr = File::create(log.path().join("stderr")).expect("a file for the log");
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(options);
        let mut supervisor =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).spawn().expect("the binary starts");
        let mut stdout = BufReader::new(supervisor.stdout.take().expect("stdout is a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("stdout is text");
        let (address, token) = parse_ready_line(&line).unwrap_or_else(|| {
            let _ = supervisor.kill();
            let said = std::fs::read_to_string(log.path().join("stderr")).unwrap_or_default();
            panic!("it did not say that it is ready but {line:?}; its log:\n{said}")
        });
        let mut server = Self { supervisor, _stdout: stdout, address, cookie: String::new(), log };
        server.log_in(&token);
        // It serves stored captures as soon as it is ready; the agent may take a moment longer.
        until("the agent", || (server.get("/api/host")["agent"]["state"] == "connected").then_some(()));
        server
    }

    /// Starts one with the simulated agent.
    pub fn simulated(data: &Path) -> Self {
        Self::start(data, &["--simulate"])
    }

    /// Becomes whom a login link is for.
    ///
    /// # Panics
    /// If it is no such link, or does not log in.
    pub fn log_in_by(&mut self, link: &str) {
        let (_origin, token) = link.split_once("/login#token=").unwrap_or_else(|| panic!("not a login link: {link}"));
        self.log_in(token);
    }

    fn log_in(&mut self, token: &str) {
        let headers = vec![
            ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
            ("Origin", format!("http://{}", self.address)),
            ("Sec-Fetch-Site", "same-origin".to_owned()),
        ];
        let body = format!("token={token}").into_bytes();
        let answer = Request { method: "POST", path: "/login", headers, body }.send(self.address);
        let cookie = answer.header("set-cookie").and_then(|cookie| cookie.split(';').next());
        self.cookie = cookie.unwrap_or_else(|| panic!("no cookie: {} {}", answer.status, answer.text())).to_owned();
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The process that was started.
    pub fn supervisor(&self) -> u32 {
        self.supervisor.id()
    }

    /// The child whose command line has the word `verb`: `agent` or `console`.
    pub fn child(&self, verb: &str) -> u32 {
        until(&format!("the {verb} process"), || {
            let mut children = proc::children(self.supervisor.id()).into_iter();
            children.find(|&pid| proc::command_line(pid).get(1).is_some_and(|word| word == verb))
        })
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log.path().join("stderr")).unwrap_or_default()
    }

    fn request<'a>(&self, method: &'a str, path: &'a str, body: Option<&Value>) -> Request<'a> {
        let mut headers = vec![("Cookie", self.cookie.clone()), ("Sec-Fetch-Site", "same-origin".to_owned())];
        if method != "GET" {
            headers.push(("Origin", format!("http://{}", self.address)));
        }
        if body.is_some() {
            headers.push(("Content-Type", "application/json".to_owned()));
        }
        Request { method, path, headers, body: body.map(|b| b.to_string().into_bytes()).unwrap_or_default() }
    }

    /// Sends a request in the session.
    pub fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Response {
        self.request(method, path, body).send(self.address)
    }

    /// The JSON of a page of the API.
    ///
    /// # Panics
    /// If the answer is anything but 200 with JSON.
    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        let answer = self.send("GET", path, None);
        assert_eq!(answer.status, 200, "GET {path}: {}", answer.text());
        answer.json()
    }

    /// Starts a capture; gives its id.
    ///
    /// # Panics
    /// If it is refused.
    #[track_caller]
    pub fn capture(&self, spec: &Value) -> String {
        let answer = self.send("POST", "/api/captures", Some(spec));
        assert_eq!(answer.status, 201, "starting {spec}: {}\n{}", answer.text(), self.log());
        answer.json()["id"].as_str().expect("an id").to_owned()
    }

    /// Follows a capture live.
    pub fn live(&self, id: &str) -> Events {
        self.request("GET", &format!("/api/captures/{id}/live"), None).events(self.address)
    }

    /// Waits until a capture has ended; gives its page of the API.
    #[track_caller]
    pub fn ended(&self, id: &str) -> Value {
        until("the capture's end", || {
            let capture = self.get(&format!("/api/captures/{id}"));
            (capture["running"] == false).then_some(capture)
        })
    }

    /// Asks it to stop, as a service manager does, and waits for it.
    ///
    /// # Panics
    /// If it has gone already.
    pub fn terminate(&mut self) -> ExitStatus {
        signal(self.supervisor.id(), Signal::TERM);
        self.wait()
    }

    /// Waits for the supervisor's end.
    ///
    /// # Panics
    /// If it does not end.
    pub fn wait(&mut self) -> ExitStatus {
        until("the server's end", || self.supervisor.try_wait().expect("it is our child"))
    }

    /// What else it printed on stdout, after its end.
    pub fn rest_of_stdout(&mut self) -> String {
        let mut rest = String::new();
        self._stdout.read_to_string(&mut rest).expect("stdout is text");
        rest
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.supervisor.try_wait().is_ok_and(|ended| ended.is_none()) {
            let children = proc::children(self.supervisor.id());
            let _ = self.supervisor.kill();
            let _ = self.supervisor.wait();
            // All at once, as in a power failure: one that outlived another would store its end.
            for &child in children.iter().filter(|&&pid| proc::is_alive(pid)) {
                let _ = Pid::from_raw(i32::try_from(child).unwrap_or(0)).map(|pid| kill_process(pid, Signal::KILL));
            }
            // Until their end they hold the database, which the next one is to open.
            if !std::thread::panicking() {
                until("the end of its processes", || (!children.iter().any(|&pid| proc::is_alive(pid))).then_some(()));
            }
        }
    }
}

/// Sends a signal to a process that is known to exist.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, signal).expect("the process exists");
}

/// The address and the token of the line that says where to go.
fn parse_ready_line(line: &str) -> Option<(SocketAddr, String)> {
    let url = line.trim_end().rsplit(' ').next()?;
    let (address, token) = url.strip_prefix("http://")?.split_once("/login#token=")?;
    Some((address.parse().ok()?, token.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::parse_ready_line;

    #[test]
    fn the_ready_line_holds_address_and_token() {
        let found = parse_ready_line("Bathyscope is ready: http://127.0.0.1:7070/login#token=abc\n");
        assert_eq!(found, Some(("127.0.0.1:7070".parse().unwrap(), "abc".to_owned())));
        assert_eq!(parse_ready_line("error: no\n"), None);
        assert_eq!(parse_ready_line(""), None);
    }
}
