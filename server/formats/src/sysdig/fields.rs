//! Fields and operators of filter lines, and what a condition says of a call.

use std::net::IpAddr;

use bathyscope_capture::visible;
use bathyscope_catalog::matches_wildcards;

use super::parse::{Condition, Tree};

/// Compares a field with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
    ContainsAnyCase,
    StartsWith,
    EndsWith,
    Glob,
    GlobAnyCase,
    Exists,
    In,
    Intersects,
    Pmatch,
}

impl Operator {
    pub(super) const SIGNS: [(&'static str, Self); 6] = [
        ("=", Self::Equal),
        ("!=", Self::NotEqual),
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("<", Self::Less),
        (">", Self::Greater),
    ];
    const WORDS: [(&'static str, Self); 10] = [
        ("contains", Self::Contains),
        ("icontains", Self::ContainsAnyCase),
        ("startswith", Self::StartsWith),
        ("endswith", Self::EndsWith),
        ("glob", Self::Glob),
        ("iglob", Self::GlobAnyCase),
        ("exists", Self::Exists),
        ("in", Self::In),
        ("intersects", Self::Intersects),
        ("pmatch", Self::Pmatch),
    ];

    pub(super) fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, operator)| operator)
    }

    pub(super) fn words() -> String {
        Self::WORDS.map(|(word, _)| word).join(", ")
    }

    fn is_order(self) -> bool {
        matches!(self, Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual)
    }
}

/// What a condition asks of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "sysdig's own names, in the table below")]
pub enum Field {
    Type,
    Category,
    Direction,
    Failed,
    Error,
    Result,
    /// In units of so many nanoseconds.
    Latency(u64),
    Buffer,
    BufferBytes,
    Arguments,
    /// One argument, by its place.
    Argument(usize),
    /// A path among the arguments.
    Path,
    Cpu,
    IsIo,
    IsRead,
    IsWrite,
    IsWait,
    FileName,
    FileDirectory,
    FileBase,
    FileNumber,
    FileType,
    FileTypeLetter,
    Port,
    ClientPort,
    ServerPort,
    LocalPort,
    RemotePort,
    Address,
    ClientAddress,
    ServerAddress,
    LocalAddress,
    RemoteAddress,
    Protocol,
    ProcessName,
    ProcessId,
    ParentId,
    ParentName,
    AncestorId,
    AncestorName,
    CommandLine,
    Words,
    Program,
    WorkingDirectory,
    ThreadId,
    IsMainThread,
    ControlGroup,
    UserName,
    UserId,
    GroupId,
    ContainerId,
    ContainerName,
    ContainerImage,
    /// Without its tag.
    ImageRepository,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Flag,
    Address,
}

/// All names; several may be one.
const NAMES: &[(&str, Field, Kind)] = &[
    ("evt.type", Field::Type, Kind::Text),
    ("syscall.type", Field::Type, Kind::Text),
    ("evt.category", Field::Category, Kind::Text),
    ("evt.dir", Field::Direction, Kind::Text),
    ("evt.failed", Field::Failed, Kind::Flag),
    ("evt.res", Field::Error, Kind::Text),
    ("evt.rawres", Field::Result, Kind::Number),
    ("evt.latency", Field::Latency(1), Kind::Number),
    ("evt.latency.ns", Field::Latency(1), Kind::Number),
    ("evt.latency.us", Field::Latency(1000), Kind::Number),
    ("evt.latency.ms", Field::Latency(1_000_000), Kind::Number),
    ("evt.latency.s", Field::Latency(1_000_000_000), Kind::Number),
    ("evt.buffer", Field::Buffer, Kind::Text),
    ("evt.buflen", Field::BufferBytes, Kind::Number),
    ("evt.args", Field::Arguments, Kind::Text),
    ("evt.arg.path", Field::Path, Kind::Text),
    ("evt.arg.name", Field::Path, Kind::Text),
    ("evt.arg.filename", Field::Path, Kind::Text),
    ("evt.abspath", Field::Path, Kind::Text),
    ("evt.cpu", Field::Cpu, Kind::Number),
    ("evt.is_io", Field::IsIo, Kind::Flag),
    ("evt.is_io_read", Field::IsRead, Kind::Flag),
    ("evt.is_io_write", Field::IsWrite, Kind::Flag),
    ("evt.is_wait", Field::IsWait, Kind::Flag),
    ("fd.name", Field::FileName, Kind::Text),
    ("fd.directory", Field::FileDirectory, Kind::Text),
    ("fd.filename", Field::FileBase, Kind::Text),
    ("fd.num", Field::FileNumber, Kind::Number),
    ("fd.type", Field::FileType, Kind::Text),
    ("fd.typechar", Field::FileTypeLetter, Kind::Text),
    ("fd.port", Field::Port, Kind::Number),
    ("fd.cport", Field::ClientPort, Kind::Number),
    ("fd.sport", Field::ServerPort, Kind::Number),
    ("fd.lport", Field::LocalPort, Kind::Number),
    ("fd.rport", Field::RemotePort, Kind::Number),
    ("fd.ip", Field::Address, Kind::Address),
    ("fd.cip", Field::ClientAddress, Kind::Address),
    ("fd.sip", Field::ServerAddress, Kind::Address),
    ("fd.lip", Field::LocalAddress, Kind::Address),
    ("fd.rip", Field::RemoteAddress, Kind::Address),
    ("fd.l4proto", Field::Protocol, Kind::Text),
    ("proc.name", Field::ProcessName, Kind::Text),
    ("thread.name", Field::ProcessName, Kind::Text),
    ("proc.pid", Field::ProcessId, Kind::Number),
    ("proc.ppid", Field::ParentId, Kind::Number),
    ("proc.pname", Field::ParentName, Kind::Text),
    ("proc.apid", Field::AncestorId, Kind::Number),
    ("proc.aname", Field::AncestorName, Kind::Text),
    ("proc.cmdline", Field::CommandLine, Kind::Text),
    ("proc.args", Field::Words, Kind::Text),
    ("proc.exe", Field::Program, Kind::Text),
    ("proc.cwd", Field::WorkingDirectory, Kind::Text),
    ("thread.tid", Field::ThreadId, Kind::Number),
    ("thread.ismain", Field::IsMainThread, Kind::Flag),
    ("thread.cgroup", Field::ControlGroup, Kind::Text),
    ("thread.cgroups", Field::ControlGroup, Kind::Text),
    ("user.name", Field::UserName, Kind::Text),
    ("user.uid", Field::UserId, Kind::Number),
    ("group.gid", Field::GroupId, Kind::Number),
    ("container.id", Field::ContainerId, Kind::Text),
    ("container.name", Field::ContainerName, Kind::Text),
    ("container.image", Field::ContainerImage, Kind::Text),
    ("container.image.repository", Field::ImageRepository, Kind::Text),
];

/// Fields of sysdig's that people try, and why they cannot be decided.
const OTHERS: &[(&str, &str)] = &[
    (
        "container.",
        "Of containers these are known: container.id, container.name, container.image, container.image.repository.",
    ),
    ("k8s.", "Names of Kubernetes are not known here: name the container by container.name or container.id."),
    ("evt.num", "Calls are not numbered: filter the capture's rows by time."),
    ("evt.time", "Filter the capture's rows by time, or give --duration."),
    ("proc.vpid", "Ids are those of the first pid namespace: proc.pid."),
    ("thread.vtid", "Ids are those of the first pid namespace: thread.tid."),
];

impl Field {
    /// Reads a name; else why not, and what helps.
    pub(super) fn parse(name: &str) -> Result<Self, (String, String)> {
        if let Some((_, field, _)) = NAMES.iter().find(|(known, _, _)| *known == name) {
            return Ok(field.clone());
        }
        let place = name.strip_prefix("evt.arg[").and_then(|rest| rest.strip_suffix(']'));
        if let Some(place) = place.and_then(|place| place.parse::<usize>().ok()).filter(|place| *place < 6) {
            return Ok(Self::Argument(place));
        }
        let shown = visible(name.as_bytes());
        let why = format!("`{shown}` is no field that is known here");
        if let Some((_, remedy)) = OTHERS.iter().find(|(known, _)| name.starts_with(known)) {
            return Err((why, (*remedy).to_owned()));
        }
        let group = name.split('.').next().unwrap_or_default();
        let alike: Vec<&str> =
            NAMES.iter().map(|(known, _, _)| *known).filter(|known| known.split('.').next() == Some(group)).collect();
        let remedy = match alike.as_slice() {
            [] => "Fields begin with evt., fd., proc., thread., user., group. or container.".to_owned(),
            alike => format!("These are: {}.", alike.join(", ")),
        };
        Err((why, remedy))
    }

    fn kind(&self) -> Kind {
        NAMES.iter().find(|(_, field, _)| field == self).map_or(Kind::Text, |(_, _, kind)| *kind)
    }

    /// Whether the operator and the values fit; else why not, and what helps.
    pub(super) fn check(&self, operator: Operator, values: &[String]) -> Result<(), (String, String)> {
        let kind = self.kind();
        let shown = |value: &str| visible(value.as_bytes());
        if operator.is_order() && matches!(kind, Kind::Flag | Kind::Address) {
            return Err(("it has no order".to_owned(), "Write `=` or `!=`.".to_owned()));
        }
        let is_whole = matches!(operator, Operator::Equal | Operator::NotEqual | Operator::In | Operator::Intersects);
        if !is_whole && !operator.is_order() {
            return Ok(());
        }
        for value in values {
            match kind {
                Kind::Number if value.parse::<i128>().is_err() => {
                    return Err((format!("`{}` is no number", shown(value)), "Write a whole number.".to_owned()));
                }
                Kind::Flag if !matches!(value.as_str(), "true" | "false" | "0" | "1") => {
                    let why = format!("`{}` is neither `true` nor `false`", shown(value));
                    return Err((why, "Write `true` or `false`.".to_owned()));
                }
                Kind::Address if value.parse::<IpAddr>().is_err() => {
                    let why = format!("`{}` is no address", shown(value));
                    return Err((why, "Write it like 127.0.0.1 or ::1.".to_owned()));
                }
                Kind::Text if operator.is_order() => {
                    return Err((
                        "a text has no order".to_owned(),
                        "Write `=`, `contains` or `startswith`.".to_owned(),
                    ));
                }
                _ => {}
            }
            if *self == Self::Direction && !matches!(value.as_str(), "<" | ">") {
                return Err(("`evt.dir` is `<` or `>`".to_owned(), String::new()));
            }
        }
        Ok(())
    }

    /// Whether it is of what a descriptor is, which follows from calls before.
    pub(super) fn is_of_files(&self) -> bool {
        use Field as F;
        matches!(
            self,
            F::FileName
                | F::FileDirectory
                | F::FileBase
                | F::FileType
                | F::FileTypeLetter
                | F::Port
                | F::ClientPort
                | F::ServerPort
                | F::LocalPort
                | F::RemotePort
                | F::Address
                | F::ClientAddress
                | F::ServerAddress
                | F::LocalAddress
                | F::RemoteAddress
                | F::Protocol
                | F::Path
                | F::WorkingDirectory
        )
    }

    /// Whether it is of what a process descends from, whose it is, or in which control group.
    pub(super) fn is_of_family(&self) -> bool {
        use Field as F;
        matches!(
            self,
            F::ParentId
                | F::ParentName
                | F::AncestorId
                | F::AncestorName
                | F::UserId
                | F::UserName
                | F::GroupId
                | F::ContainerId
                | F::ContainerName
                | F::ContainerImage
                | F::ImageRepository
                | F::ControlGroup
        )
    }
}

/// What is known of one call.
pub trait CallFacts {
    /// The values that a field has: several where a call has several, such as two paths; none where it has none. Flags are
    /// `true` or `false`, numbers decimal.
    fn values(&self, field: &Field) -> Vec<String>;
}

/// Whether a call is what a tree asks for. A condition on what a call does not have is not met, whatever it compares.
pub(super) fn holds(tree: &Tree, facts: &dyn CallFacts) -> bool {
    match tree {
        Tree::One(condition) => met(condition, facts),
        Tree::Not(_, inner) => !holds(inner, facts),
        Tree::All(several) => several.iter().all(|tree| holds(tree, facts)),
        Tree::Any(_, several) => several.iter().any(|tree| holds(tree, facts)),
    }
}

fn met(condition: &Condition, facts: &dyn CallFacts) -> bool {
    // A row is both: the entry and the end of its call.
    if condition.field == Field::Direction {
        return true;
    }
    let found = facts.values(&condition.field);
    let wanted = &condition.values;
    let any = |meets: &dyn Fn(&str, &str) -> bool| found.iter().any(|it| wanted.iter().any(|value| meets(it, value)));
    match condition.operator {
        Operator::Exists => !found.is_empty(),
        Operator::Equal | Operator::In | Operator::Intersects => any(&|it, value| equal(&condition.field, it, value)),
        Operator::NotEqual => !found.is_empty() && !any(&|it, value| equal(&condition.field, it, value)),
        Operator::Less => any(&|it, value| ordered(&condition.field, it, value, |order| order.is_lt())),
        Operator::LessOrEqual => any(&|it, value| ordered(&condition.field, it, value, |order| order.is_le())),
        Operator::Greater => any(&|it, value| ordered(&condition.field, it, value, |order| order.is_gt())),
        Operator::GreaterOrEqual => any(&|it, value| ordered(&condition.field, it, value, |order| order.is_ge())),
        Operator::Contains => any(&|it, value| it.contains(value)),
        Operator::ContainsAnyCase => any(&|it, value| it.to_lowercase().contains(&value.to_lowercase())),
        Operator::StartsWith => any(&|it, value| it.starts_with(value)),
        Operator::EndsWith => any(&|it, value| it.ends_with(value)),
        Operator::Glob => any(&|it, value| matches_wildcards(value, it)),
        Operator::GlobAnyCase => any(&|it, value| matches_wildcards(&value.to_lowercase(), &it.to_lowercase())),
        Operator::Pmatch => any(&|it, value| is_below(it, value)),
    }
}

fn equal(field: &Field, it: &str, value: &str) -> bool {
    match field.kind() {
        Kind::Text => it == value,
        Kind::Number => ordered(field, it, value, |order| order.is_eq()),
        Kind::Flag => {
            it == if value == "1" {
                "true"
            } else if value == "0" {
                "false"
            } else {
                value
            }
        }
        Kind::Address => matches!((it.parse::<IpAddr>(), value.parse::<IpAddr>()), (Ok(it), Ok(value)) if it == value),
    }
}

/// Compares numbers; of a time the value is in units, and what is known is in nanoseconds.
fn ordered(field: &Field, it: &str, value: &str, fits: impl Fn(std::cmp::Ordering) -> bool) -> bool {
    let unit = if let Field::Latency(unit) = field { i128::from(*unit) } else { 1 };
    match (it.parse::<i128>(), value.parse::<i128>()) {
        (Ok(it), Ok(value)) => fits(it.cmp(&value.saturating_mul(unit))),
        _ => false,
    }
}

/// Whether a path is another or lies below it.
fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
