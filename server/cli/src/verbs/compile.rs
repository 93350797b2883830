//! `compile`: what the compiler makes of a script, pass by pass. Nothing is loaded.
//!
//! The compiler runs in this process, after it has given up its rights; facts about the host come from files that an
//! agent opens. Without rights it works as far as those files can be read by anybody.

use std::{io::IsTerminal as _, path::PathBuf, process::ExitCode};

use bathyscope_agent::Simulation;
use bathyscope_bpf::lang::{CheckOptions, CompileOptions, ExpandOptions, Stage, compile, expand, parse};
use clap::{Args, ValueEnum};

use super::{facts, script::diagnostics_text};
use crate::{Failure, Outcome, launch::OwnAgent};

const EXAMPLES: &str = "\
Examples:
  bathyscope compile opens.bt --emit bpf
  bathyscope compile --emit ast -e 'BEGIN { printf(\"%d\\n\", $1); }' 42
  bathyscope compile opens.bt --emit elf -o opens.o";

/// What the compiler makes on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// The script, with macros, parameters and settings replaced
    Ast,
    /// The checked script: every name and type
    Types,
    /// The intermediate representation
    Ir,
    /// The instructions
    Bpf,
    /// The object file that is loaded
    Elf,
}

/// What `compile` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompileArgs {
    /// The script itself, instead of a file
    #[arg(short, long = "event", value_name = "SCRIPT")]
    pub event: Option<String>,
    /// What to show
    #[arg(long, value_enum, value_name = "PASS", default_value = "bpf")]
    pub emit: Emit,
    /// Where to write it [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Only this process is meant: where its files are is looked up in it
    #[arg(short, long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Let the script change what it observes
    #[arg(long = "unsafe")]
    pub allow_unsafe: bool,
    /// Compile for the simulated kernel
    #[arg(long, value_name = "OPTIONS", num_args = 0..=1, require_equals = true, default_missing_value = "", hide = true)]
    pub simulate: Option<Simulation>,
    /// The script's file (- for standard input) and its parameters; after -e only parameters
    #[arg(value_name = "FILE|WORD")]
    pub words: Vec<String>,
}

/// Compiles and shows.
///
/// # Errors
/// If there is no script, no agent, or the result cannot be written. What is wrong with the script is said on standard
/// error.
pub fn run(args: CompileArgs) -> Outcome {
    let (name, text, params) = script(&args)?;
    let mut agent = OwnAgent::start(args.simulate.as_ref(), None)?;
    // Where only who started this can write.
    let file = args.output.as_ref().map(|path| {
        std::fs::File::create(path).map_err(|error| Failure::because(format!("writing to {}", path.display()), error))
    });
    let mut file = file.transpose()?;
    let client = agent.client()?;
    let expand_options = ExpandOptions { params, environment: super::script::settings(std::env::vars_os()) };
    let stage = match args.emit {
        Emit::Ast => Stage::Ast,
        Emit::Types => Stage::Types,
        Emit::Ir => Stage::Ir,
        Emit::Bpf => Stage::Bpf,
        Emit::Elf => Stage::Elf,
    };
    let made = if stage == Stage::Ast {
        // The text alone decides: no facts are needed, and none may be missing.
        parse(&text)
            .and_then(|script| expand(&script, &expand_options))
            .map(|expanded| (bathyscope_bpf::lang::print(&expanded.script, &text).into_bytes(), expanded.warnings))
    } else {
        let mut link = facts::link(client)?;
        let places =
            bathyscope_link::script::places_of(&mut link, &facts::request(&text, &expand_options.params, args.pid));
        let host = facts::HostFacts::new(link, places.unwrap_or_default())?;
        let check = CheckOptions { unsafe_allowed: args.allow_unsafe, pid: args.pid };
        let options = CompileOptions { name: name.clone(), expand: expand_options, check, ..CompileOptions::default() };
        compile(&text, &host, &options).map(|compiled| (compiled.stage(stage, &text), compiled.plan.warnings))
    };
    let (made, warnings) = match made {
        Ok(made) => made,
        Err(diagnostics) => {
            tell(&diagnostics_text(&text, &name, &diagnostics, true));
            return Ok(ExitCode::FAILURE);
        }
    };
    tell(&diagnostics_text(&text, &name, &warnings, false));
    if let Some(file) = &mut file {
        use std::io::Write as _;
        file.write_all(&made).map_err(|error| Failure::because("writing the result", error))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.emit == Emit::Elf && std::io::stdout().is_terminal() {
        return Err(Failure::new("an object file is not for a terminal").remedy("Name a file with -o FILE."));
    }
    write_all(&made)
}

fn script(args: &CompileArgs) -> Result<(String, String, Vec<String>), Failure> {
    match (&args.event, args.words.split_first()) {
        (Some(text), _) => Ok(("stdin".to_owned(), text.clone(), args.words.clone())),
        (None, Some((file, params))) => Ok((file.clone(), super::trace::read_script(file)?, params.to_vec())),
        (None, None) => Err(Failure::new("there is no script").remedy("Give a FILE, or the script itself with -e.")),
    }
}

#[expect(clippy::print_stderr, reason = "standard output is for the result")]
fn tell(text: &str) {
    eprint!("{text}");
}

fn write_all(bytes: &[u8]) -> Outcome {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::because("printing", error)),
        _ => Ok(ExitCode::SUCCESS),
    }
}
