//! `outbound` (hidden): the process that alone connects to others, started by `serve` with its end of a door as standard input where
//! hosts are listed. It has no rights, opens no file but those by which names are resolved, and listens nowhere.

use std::process::ExitCode;

use bathyscope_console::outbound::{OutboundProcess, serve_outbound};
use clap::Args;

use crate::{
    Failure, Outcome,
    config::{LogArgs, OutboundArgs},
    launch,
};

/// What the supervisor gives to it.
#[derive(Clone, Debug, Args)]
pub struct OutboundProcessArgs {
    /// To whom connections are made.
    #[command(flatten)]
    pub outbound: OutboundArgs,
    /// What is logged.
    #[command(flatten)]
    pub log: LogArgs,
    /// User id to become
    #[arg(long, value_name = "UID")]
    pub uid: Option<u32>,
    /// Group id to become
    #[arg(long, value_name = "GID")]
    pub gid: Option<u32>,
    /// Process that started this one; this one ends with it
    #[arg(long, value_name = "PID")]
    pub supervisor: u32,
}

/// Gives up all rights, and every file and system call that is not needed; then asks others for the console until that is gone.
///
/// # Errors
/// If rights remain, or a certificate cannot be read.
pub fn run(args: &OutboundProcessArgs) -> Outcome {
    crate::logging::start(&args.log)?;
    let targets = args.outbound.targets();
    // Whoever starts this may read the files that they name.
    let process = OutboundProcess::new(targets.clone(), &args.outbound.outbound_ca)?;
    launch::confine_helper(args.uid, args.gid, args.supervisor)?;
    let door = super::agent::door_on_stdin()?;
    load_resolver(targets.names().next());
    launch::restrict_outbound(targets.ports())?;
    launch::filter_system_calls_of_outbound()?;
    let runtime = super::runtime()?;
    serve_outbound(&door, &process, runtime.handle())
        .map_err(|error| Failure::because("waiting for requests of the console", error))?;
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

/// Has the C library load what it resolves names with, as no code is loaded later. What is found does not matter.
fn load_resolver(name: Option<&str>) {
    use std::net::ToSocketAddrs as _;
    if let Some(name) = name {
        let _found_or_not = (name, 0).to_socket_addrs();
    }
}
