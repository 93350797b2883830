//! `rights`: who may read and change captures, where that is not as roles say, and groups of people; by the console that runs or in its
//! database.

use std::path::Path;

use bathyscope_console::{
    control::ControlConnection,
    rights::{TerminalRights, TerminalRightsAnswer, right_holder, rights_at_terminal, rights_words},
};
use bathyscope_store::{CaptureRight, GivenRight, StoreError};
use clap::{Args, Subcommand};

use super::{
    chosen::ChosenCapture,
    open,
    people::{PeopleCommon, json_line},
    print_all,
};
use crate::{Failure, Outcome, config::DataArgs, launch::Workplace};

/// What `rights` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  bathyscope rights set newest --read bob --change group:ops    these, the owner and admins, and nobody else
  bathyscope rights set 00f1e2d3c4b5a697                        only the owner and admins
  bathyscope rights set newest --read everybody --change bob    all read it, and bob may do what its owner may
  bathyscope rights clear newest                                as roles say: everybody reads
  bathyscope rights set-tag payroll --read group:finance
  bathyscope rights set newest --read oidc-group:finance        whoever the provider says is in its group `finance`
  bathyscope rights group finance --add ada --add bob

A capture without a list, and without a tag that has one, is read by everybody who is logged in. Its own list counts in place of those \
of its tags; of several tags each list must let somebody read. What somebody may not read is not there for them: in no list, search, \
comparison or series.")]
pub struct RightsArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: RightsVerb,
}

/// Who is in a list.
#[derive(Clone, Debug, Args)]
pub struct ReadersArgs {
    /// May read: a name, `group:NAME`, `oidc-group:NAME` or `proxy-group:NAME` (groups that the provider or the proxy tells of), or `everybody`; can be given several times
    #[arg(long, value_name = "WHO")]
    pub read: Vec<String>,
    /// May also change what an operator changes of own captures; likewise
    #[arg(long, value_name = "WHO")]
    pub change: Vec<String>,
}

/// What can be done with rights.
#[derive(Clone, Debug, Subcommand)]
pub enum RightsVerb {
    /// Print who may read and change a capture
    Show {
        /// The capture: an id, `newest` or `previous`
        #[arg(value_name = "CAPTURE")]
        capture: ChosenCapture,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Say who may read and change a capture, beside its owner and admins
    Set {
        /// The capture: an id, `newest` or `previous`
        #[arg(value_name = "CAPTURE")]
        capture: ChosenCapture,
        /// Who.
        #[command(flatten)]
        list: ReadersArgs,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Let a capture be read as roles and its tags say
    Clear {
        /// The capture: an id, `newest` or `previous`
        #[arg(value_name = "CAPTURE")]
        capture: ChosenCapture,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// List the tags that say who may read what has them
    Tags {
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Say who may read and change captures that have a tag and no list of their own
    SetTag {
        /// The tag
        #[arg(value_name = "TAG")]
        tag: String,
        /// Who.
        #[command(flatten)]
        list: ReadersArgs,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Let a tag say nothing of who may read
    ClearTag {
        /// The tag
        #[arg(value_name = "TAG")]
        tag: String,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// List groups with their people
    Groups {
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Make a group, or add people to it and remove some
    Group {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        /// Add somebody, by the name that they are logged in by; can be given several times
        #[arg(long, value_name = "NAME")]
        add: Vec<String>,
        /// Remove somebody; likewise
        #[arg(long, value_name = "NAME")]
        remove: Vec<String>,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Remove a group, and what was given to it
    RemoveGroup {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
}

impl ReadersArgs {
    fn given(&self) -> Vec<GivenRight> {
        let of =
            |who: &[String], may| who.iter().map(|who| GivenRight { to: right_holder(who), may }).collect::<Vec<_>>();
        let mut given = of(&self.read, CaptureRight::Read);
        // Who is named twice may do the more of both.
        let change = of(&self.change, CaptureRight::Change);
        given.retain(|read| change.iter().all(|change| change.to != read.to));
        given.extend(change);
        given
    }
}

/// Does what is asked.
///
/// # Errors
/// If there is no such capture or group, or the database cannot be used.
pub fn run(args: RightsArgs) -> Outcome {
    let common = args.verb.common().clone();
    let dir = common.data.directory()?;
    // While this process has its rights: the console answers who connected, and not its own user, who reads the database below.
    let console = ControlConnection::open(&dir)?;
    let answer = done(asked(args.verb, &common.data)?, console, &dir)?;
    print_all(&if common.json { json_line(&answer)? } else { lines(answer) })
}

impl RightsVerb {
    const fn common(&self) -> &PeopleCommon {
        match self {
            Self::Show { common, .. }
            | Self::Set { common, .. }
            | Self::Clear { common, .. }
            | Self::Tags { common }
            | Self::SetTag { common, .. }
            | Self::ClearTag { common, .. }
            | Self::Groups { common }
            | Self::Group { common, .. }
            | Self::RemoveGroup { common, .. } => common,
        }
    }
}

/// What is to be done.
fn asked(verb: RightsVerb, data: &DataArgs) -> Result<TerminalRights, Failure> {
    let id = |capture: &ChosenCapture| id_of(capture, data);
    Ok(match verb {
        RightsVerb::Show { capture, .. } => TerminalRights::OfCapture { capture: id(&capture)? },
        RightsVerb::Set { capture, list, .. } => {
            TerminalRights::SetCapture { capture: id(&capture)?, list: Some(list.given()) }
        }
        RightsVerb::Clear { capture, .. } => TerminalRights::SetCapture { capture: id(&capture)?, list: None },
        RightsVerb::Tags { .. } => TerminalRights::OfTags,
        RightsVerb::SetTag { tag, list, .. } => TerminalRights::SetTag { tag, list: Some(list.given()) },
        RightsVerb::ClearTag { tag, .. } => TerminalRights::SetTag { tag, list: None },
        RightsVerb::Groups { .. } => TerminalRights::Groups,
        RightsVerb::Group { name, add, remove, .. } => TerminalRights::ChangeGroup { name, add, remove },
        RightsVerb::RemoveGroup { name, .. } => TerminalRights::RemoveGroup { name },
    })
}

fn id_of(capture: &ChosenCapture, data: &DataArgs) -> Result<bathyscope_capture::CaptureId, Failure> {
    let found = open::reading(data, async |store| Ok::<_, StoreError>(capture.id(&store).await?))?;
    found.ok_or_else(|| Failure::new("there is no such capture; `bathyscope captures list` lists them"))
}

fn lines(answer: TerminalRightsAnswer) -> String {
    match answer {
        TerminalRightsAnswer::List(list) => rights_words(list.as_deref()) + "\n",
        TerminalRightsAnswer::Tags(tags) if tags.is_empty() => "No tag says who may read what has it.\n".to_owned(),
        TerminalRightsAnswer::Tags(tags) => {
            tags.iter().map(|(tag, list)| format!("{tag}  {}\n", rights_words(Some(list)))).collect()
        }
        TerminalRightsAnswer::Groups(groups) if groups.is_empty() => {
            "There is no group. `bathyscope rights group NAME --add PERSON` makes one.\n".to_owned()
        }
        TerminalRightsAnswer::Groups(groups) => {
            let line = |(name, people): (&String, &Vec<String>)| {
                let people = if people.is_empty() { "nobody".to_owned() } else { people.join(", ") };
                bathyscope_capture::visible(format!("{name}  {people}").as_bytes()) + "\n"
            };
            groups.iter().map(line).collect()
        }
        TerminalRightsAnswer::Done(told) => bathyscope_capture::visible(told.as_bytes()) + "\n",
    }
}

/// Has it done: by the console that runs there, or here.
fn done(
    change: TerminalRights,
    console: Option<ControlConnection>,
    dir: &Path,
) -> Result<TerminalRightsAnswer, Failure> {
    if let Some(console) = console {
        return console.change_rights(change);
    }
    open::has_database(dir)?;
    open::changing(&Workplace::make(Some(dir))?, async |store| {
        let done = rights_at_terminal(store, change).await;
        Ok(done.map_err(|error| Failure::because("changing rights", error))?.answer)
    })
}
