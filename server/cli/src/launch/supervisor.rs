//! The process that a person starts: keeps an agent and a console running until the console ends, and what connects to others where
//! that is asked for.

use std::{
    os::fd::AsFd as _,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Child, ExitCode, ExitStatus, Stdio},
    time::Duration,
};

use bathyscope_agent::CommandRights;
use bathyscope_protocol::Door;
use rustix::process::{Pid, Signal};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::Instant,
};

use super::{
    Account, FIRST_RESTART_MS, LONGEST_RESTART_MS, SETTLED_MS, STOP_AGENT_MS, STOP_CONSOLE_MS, console_account,
    directories::prepare_data, starter_uid, this_binary,
};
use crate::{Failure, Outcome, config::ServeArgs, signals::EndSignals};

/// Asks for a process group of a child's own: Ctrl-C and `timeout` signal the whole group, but only the supervisor knows in
/// which order the two others end so that captures are stored whole.
const OWN_GROUP: i32 = 0;
/// What the third process is called in the log.
const OUTBOUND: &str = "the process that connects to others";

/// Runs agent and console until the console ends, and gives back its exit status.
///
/// # Errors
/// If a directory cannot be made or the console cannot be started.
pub fn supervise(args: &ServeArgs) -> Outcome {
    let data = args.data.directory()?;
    let account = console_account(args.agent.user.as_deref(), Some(&data))?;
    let data = prepare_data(&data, account.as_ref())?;
    let (agents_end, consoles_end) =
        Door::pair().map_err(|error| Failure::because("making the socket between console and agent", error))?;
    // Before there is an agent: it comes first through the door.
    let connects = !args.outbound.targets().is_empty();
    let outbounds_end = connects.then(|| hand_over_outbound(&agents_end)).transpose()?;
    let plan = Plan { args, account, data, agents_end, outbounds_end };
    // A runtime of this thread alone: children are bound to the thread that started them.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::because("starting the supervisor", error))?;
    runtime.block_on(plan.run(consoles_end)).map(exit_code)
}

/// Makes the door between console and the process that connects to others, and hands the console's end over.
fn hand_over_outbound(agents_end: &Door) -> Result<Door, Failure> {
    let failed = |error| Failure::because("making the socket between console and the process that connects", error);
    let (consoles_end, outbounds_end) = Door::pair().map_err(failed)?;
    agents_end.hand_over(&consoles_end).map_err(failed)?;
    Ok(outbounds_end)
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

struct Plan<'a> {
    args: &'a ServeArgs,
    account: Option<Account>,
    data: PathBuf,
    /// Given to each agent, so that what waits at the door outlives one that dies.
    agents_end: Door,
    /// Given to each process that connects to others, likewise; none if nobody is listed.
    outbounds_end: Option<Door>,
}

/// When the next agent may be started.
#[derive(Debug)]
struct Pause {
    ms: u64,
}

impl Pause {
    /// The pause after an agent that lived `lived`; it doubles while they die young.
    fn after(&mut self, lived: Duration) -> Duration {
        if lived >= Duration::from_millis(SETTLED_MS) {
            self.ms = FIRST_RESTART_MS;
        }
        let pause = Duration::from_millis(self.ms);
        self.ms = (self.ms * 2).min(LONGEST_RESTART_MS);
        pause
    }
}

impl Plan<'_> {
    async fn run(&self, consoles_end: Door) -> Result<ExitStatus, Failure> {
        let watch = |kind| signal(kind).map_err(|error| Failure::because("watching for signals", error));
        let mut child_ended = watch(SignalKind::child())?;
        let mut end = EndSignals::watch()?;
        let mut agent = Kept::new("the agent", self.start_agent());
        let mut outbound = self.outbounds_end.as_ref().map(|door| Kept::new(OUTBOUND, self.start_outbound(door)));
        let mut console = match self.start_console(consoles_end) {
            Ok(console) => console,
            Err(failure) => {
                end_all(&mut agent, outbound.as_mut(), &mut child_ended).await;
                return Err(failure);
            }
        };
        let mut kill_at = None;
        loop {
            tokio::select! {
                _ = child_ended.recv() => {}
                _ = end.next() => stop_console(&mut console, &mut kill_at),
                () = until(kill_at) => {
                    tracing::warn!("the console did not stop in {STOP_CONSOLE_MS} ms; killing it");
                    let _gone = console.kill();
                    kill_at = None;
                }
                () = until(agent.start_at) => agent.started(self.start_agent()),
                () = until(outbound.as_ref().and_then(|outbound| outbound.start_at)) => {
                    if let (Some(outbound), Some(door)) = (&mut outbound, &self.outbounds_end) {
                        outbound.started(self.start_outbound(door));
                    }
                }
            }
            match console.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => {
                    end_all(&mut agent, outbound.as_mut(), &mut child_ended).await;
                    return Ok(status);
                }
                Err(error) => return Err(Failure::because("waiting for the console", error)),
            }
            // Where the console stops, nobody needs what it has needed, and that ends too.
            if kill_at.is_none() {
                agent.look();
                outbound.iter_mut().for_each(Kept::look);
            }
        }
    }

    /// As whom commands run; both children are told, and the agent decides.
    fn commands(&self) -> CommandRights {
        self.args.commands.rights(&self.args.listen, self.args.agent.simulate.is_some(), starter_uid())
    }

    fn start_agent(&self) -> std::io::Result<Child> {
        let mut command = this_binary("agent");
        let own = rustix::process::geteuid().as_raw();
        let console_uid = self.account.as_ref().map_or(own, |account| account.uid);
        command.args(["--console-uid", &console_uid.to_string()]);
        command.args(["--commands", &self.commands().to_string()]);
        command.args(["--supervisor", &std::process::id().to_string()]);
        if let Some(simulation) = &self.args.agent.simulate {
            command.arg(format!("--simulate={simulation}"));
        }
        self.args.scripts.pass_on_to_agent(&mut command, &self.args.listen);
        self.args.log.pass_on(&mut command);
        command.stdin(self.agents_end.as_fd().try_clone_to_owned()?).stdout(Stdio::null());
        command.process_group(OWN_GROUP).spawn()
    }

    fn start_outbound(&self, door: &Door) -> std::io::Result<Child> {
        let mut command = this_binary("outbound");
        command.args(["--supervisor", &std::process::id().to_string()]);
        self.become_console_user(&mut command);
        self.args.outbound.pass_on(&mut command);
        self.args.log.pass_on(&mut command);
        command.stdin(door.as_fd().try_clone_to_owned()?).stdout(Stdio::null());
        command.process_group(OWN_GROUP).spawn()
    }

    fn become_console_user(&self, command: &mut std::process::Command) {
        if let Some(account) = &self.account {
            command.args(["--uid", &account.uid.to_string(), "--gid", &account.gid.to_string()]);
        }
    }

    fn start_console(&self, door: Door) -> Result<Child, Failure> {
        let failed = |error| Failure::because("starting the console", error);
        let mut command = this_binary("console");
        command.args(["--supervisor", &std::process::id().to_string()]);
        self.become_console_user(&mut command);
        command.arg("--data").arg::<&Path>(&self.data);
        self.args.listen.pass_on(&mut command);
        self.args.proxy_users.pass_on(&mut command);
        self.args.scripts.pass_on(&mut command, &self.args.listen);
        command.args(["--commands", &self.commands().to_string()]);
        self.args.shares.pass_on(&mut command);
        self.args.keep.pass_on(&mut command);
        self.args.outbound.pass_on(&mut command);
        self.args.oidc.pass_on(&mut command);
        self.args.log.pass_on(&mut command);
        // No copy of this end stays here: the agent sees the console's end.
        command.stdin(door.as_fd().try_clone_to_owned().map_err(failed)?);
        command.process_group(OWN_GROUP).spawn().map_err(failed)
    }
}

/// Asks the console to stop. The first request sets the time after which it is killed; another one is passed on, and
/// tells the console to end at once.
fn stop_console(console: &mut Child, kill_at: &mut Option<Instant>) {
    kill_at.get_or_insert_with(|| Instant::now() + Duration::from_millis(STOP_CONSOLE_MS));
    send(console, Signal::TERM);
}

/// The child has not been waited for, so its id is still its own.
fn send(child: &Child, signal: Signal) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _gone = rustix::process::kill_process(pid, signal);
    }
}

/// Sleeps until `moment`; for ever without one.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Ends those that the console has needed.
async fn end_all(agent: &mut Kept, outbound: Option<&mut Kept>, child_ended: &mut tokio::signal::unix::Signal) {
    if let Some(outbound) = outbound {
        outbound.end(child_ended).await;
    }
    agent.end(child_ended).await;
}

/// A process that is started again when it has ended: the one that runs, or when the next one is started.
struct Kept {
    name: &'static str,
    child: Option<(Child, Instant)>,
    start_at: Option<Instant>,
    pause: Pause,
}

impl Kept {
    fn new(name: &'static str, first: std::io::Result<Child>) -> Self {
        let mut kept = Self { name, child: None, start_at: None, pause: Pause { ms: FIRST_RESTART_MS } };
        kept.started(first);
        kept
    }

    fn started(&mut self, child: std::io::Result<Child>) {
        match child {
            Ok(child) => {
                self.start_at = None;
                self.child = Some((child, Instant::now()));
            }
            Err(error) => {
                tracing::error!(%error, "{} cannot be started", self.name);
                self.start_at = Some(Instant::now() + self.pause.after(Duration::ZERO));
            }
        }
    }

    /// Whether it has ended; then another one is started after a pause.
    fn look(&mut self) {
        let Some((child, since)) = &mut self.child else { return };
        let status = match child.try_wait() {
            Ok(None) => return,
            Ok(Some(status)) => status,
            Err(error) => {
                tracing::error!(%error, "{} cannot be waited for", self.name);
                return;
            }
        };
        let pause = self.pause.after(since.elapsed());
        let pause_ms = pause.as_millis() as u64;
        tracing::error!(%status, pause_ms, "{} has ended; another one is started", self.name);
        self.start_at = Some(Instant::now() + pause);
        self.child = None;
    }

    /// Ends it and waits for that.
    async fn end(&mut self, child_ended: &mut tokio::signal::unix::Signal) {
        let Some((mut child, _since)) = self.child.take() else { return };
        send(&child, Signal::TERM);
        let deadline = Instant::now() + Duration::from_millis(STOP_AGENT_MS);
        while matches!(child.try_wait(), Ok(None)) {
            tokio::select! {
                _ = child_ended.recv() => {}
                () = tokio::time::sleep_until(deadline) => {
                    let _gone = child.kill();
                    let _ended = child.wait();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_that_die_young_are_started_ever_later() {
        let mut pause = Pause { ms: FIRST_RESTART_MS };
        let young = Duration::from_millis(5);
        let pauses: Vec<u128> = (0..9).map(|_| pause.after(young).as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        assert_eq!(pause.after(Duration::from_millis(SETTLED_MS)).as_millis(), 100);
    }
}
