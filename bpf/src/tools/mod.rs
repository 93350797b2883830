//! The tool library: tool scripts of our own, embedded. Each begins with a header of comments that says what it is for:
//!
//! ```text
//! #!/usr/bin/env -S bathyscope trace
//! // name: title
//! //
//! // group: files
//! // purpose: Text, which may go on
//! //   in further lines that are indented.
//! // parameters: none, or one in each of the next lines:
//! //   $1 - what it is
//! //   $2:function - what it is; the word says what its values are names of
//! //   --name=default - what it is
//! // view: table
//! // needs: tracepoint, interval
//! ```
//!
//! Two fields may follow: `since` (the first kernel that has what it needs) and `usual` (which probes others use for the
//! same, where those are kernel functions, and how this one differs).

mod table;

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

/// A tool script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name: the file's without `.bt`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Where it stands in the library.
    pub group: Group,
    /// What it shows and what for.
    pub purpose: String,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// How its results are shown first.
    pub view: View,
    /// Kinds of probes that it uses, beside `begin` and `end`.
    pub needs: Vec<&'static str>,
    /// The first kernel (as `6.14`) that has them, if not all supported ones do.
    pub since: Option<&'static str>,
    /// Which kernel functions others probe for the same, and how this one differs.
    pub usual: Option<String>,
    /// The script, header included.
    pub text: &'static str,
}

/// A part of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Group {
    Processes,
    Cpu,
    Memory,
    Files,
    Network,
    General,
}

/// How results are shown first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum View {
    Table,
    Histogram,
    Heatmap,
    Flame,
    Timeline,
}

/// What a tool takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// `$1`, or `--name`.
    pub name: &'static str,
    /// Its value if it is not given; positional ones must be.
    pub default: Option<&'static str>,
    /// What its values are names of, if they are of something that a host lists.
    pub takes: Option<NameKind>,
    /// What it is.
    pub description: &'static str,
}

/// What a parameter's values are names of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// A program or library.
    File,
    /// A function: of the file before it, or of the kernel where there is none.
    Function,
    /// A USDT probe of the file before it.
    Usdt,
    /// A subsystem of tracepoints.
    Subsystem,
    /// A tracepoint of the subsystem before it.
    Event,
    /// A thread.
    Thread,
}

impl NameKind {
    /// All.
    pub const ALL: [Self; 6] = [Self::File, Self::Function, Self::Usdt, Self::Subsystem, Self::Event, Self::Thread];

    /// As headers write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Function => "function",
            Self::Usdt => "usdt",
            Self::Subsystem => "subsystem",
            Self::Event => "event",
            Self::Thread => "thread",
        }
    }
}

impl Group {
    /// All, in the order of the library.
    pub const ALL: [Self; 6] = [Self::Processes, Self::Cpu, Self::Memory, Self::Files, Self::Network, Self::General];

    /// As headers write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Files => "files",
            Self::Network => "network",
            Self::General => "general",
        }
    }
}

impl View {
    /// All.
    pub const ALL: [Self; 5] = [Self::Table, Self::Histogram, Self::Heatmap, Self::Flame, Self::Timeline];

    /// As headers write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Histogram => "histogram",
            Self::Heatmap => "heatmap",
            Self::Flame => "flame",
            Self::Timeline => "timeline",
        }
    }
}

/// What is wrong with a tool's header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The line after `#!` is not `// name: title`.
    #[error("the header of {0} does not begin with `// {0}: title`")]
    Title(&'static str),
    /// A field is not there.
    #[error("the header of {0} has no field `{1}`")]
    Missing(&'static str, &'static str),
    /// A line is not understood.
    #[error("the header of {0} has a line that is not understood: {1}")]
    Line(&'static str, String),
}

/// All tools, by name.
pub fn all() -> &'static [Tool] {
    static TOOLS: LazyLock<Vec<Tool>> =
        LazyLock::new(|| table::SCRIPTS.iter().filter_map(|(name, text)| parse(name, text).ok()).collect());
    &TOOLS
}

/// The tool `name`.
pub fn find(name: &str) -> Option<&'static Tool> {
    let all = all();
    all.binary_search_by_key(&name, |it| it.name).ok().and_then(|index| all.get(index))
}

/// A field of a header: its name, its first line, and the lines that continue it.
type Field = (&'static str, &'static str, Vec<&'static str>);

/// A tool of its text.
///
/// # Errors
/// What is wrong with its header.
pub fn parse(name: &'static str, text: &'static str) -> Result<Tool, HeaderError> {
    let mut lines = text.lines().skip_while(|it| it.starts_with("#!"));
    let first = lines.next().and_then(|it| it.strip_prefix("// ")).and_then(|it| it.split_once(": "));
    let Some((_, title)) = first.filter(|(named, _)| *named == name) else { return Err(HeaderError::Title(name)) };
    let fields = fields(name, lines)?;
    let field = |wanted: &str| fields.iter().find(|(it, _, _)| *it == wanted);
    let required = |wanted: &'static str| field(wanted).ok_or(HeaderError::Missing(name, wanted));
    let word = |wanted| required(wanted).map(|(_, value, _)| *value);
    let prose =
        |(_, value, more): &Field| std::iter::once(*value).chain(more.iter().copied()).collect::<Vec<_>>().join(" ");
    let unknown = |line: &str| HeaderError::Line(name, line.to_owned());
    let group = word("group")?;
    let view = word("view")?;
    Ok(Tool {
        name,
        title,
        group: Group::ALL.into_iter().find(|it| it.name() == group).ok_or_else(|| unknown(group))?,
        purpose: prose(required("purpose")?),
        parameters: parameters(required("parameters")?).map_err(|line| unknown(&line))?,
        view: View::ALL.into_iter().find(|it| it.name() == view).ok_or_else(|| unknown(view))?,
        needs: word("needs")?.split(", ").collect(),
        since: field("since").map(|(_, value, _)| *value),
        usual: field("usual").map(prose),
        text,
    })
}

/// The fields of a header, which ends at the first line that is no comment.
fn fields(name: &'static str, lines: impl Iterator<Item = &'static str>) -> Result<Vec<Field>, HeaderError> {
    const NAMES: [&str; 7] = ["group", "purpose", "parameters", "view", "needs", "since", "usual"];
    let mut fields: Vec<Field> = Vec::new();
    for line in lines.map_while(|it| it.strip_prefix("//")) {
        if line.is_empty() {
            continue;
        }
        let more = line.strip_prefix("   ").and_then(|more| Some((more, fields.last_mut()?)));
        let field = line.strip_prefix(' ').and_then(|it| it.split_once(':'));
        match (more, field) {
            (Some((more, last)), _) => last.2.push(more.trim()),
            (None, Some((field, value))) if NAMES.contains(&field) => fields.push((field, value.trim(), Vec::new())),
            _ => return Err(HeaderError::Line(name, line.to_owned())),
        }
    }
    Ok(fields)
}

/// The parameters; or the line that is not understood.
fn parameters((_, value, lines): &Field) -> Result<Vec<Parameter>, String> {
    if !value.is_empty() {
        return if *value == "none" && lines.is_empty() { Ok(Vec::new()) } else { Err((*value).to_owned()) };
    }
    let parameter = |line: &&'static str| {
        let (left, description) = line.split_once(" - ")?;
        let (name, default) = left.split_once('=').map_or((left, None), |(name, default)| (name, Some(default)));
        let (name, takes) = match name.split_once(':') {
            Some((name, word)) => (name, Some(NameKind::ALL.into_iter().find(|kind| kind.word() == word)?)),
            None => (name, None),
        };
        let is_name = name.starts_with('$') || name.starts_with("--");
        is_name.then_some(Parameter { name, default, takes, description })
    };
    lines.iter().map(|line| parameter(line).ok_or_else(|| (*line).to_owned())).collect()
}
