//! sysdig's filter lines, such as `proc.name=redis-server and evt.type=open`, as a capture of system calls: whose calls,
//! which of them, with which outcome, duration and path. So people bring the line that they know, and the kernel filters.
//!
//! Only what the kernel's programs can decide is taken: conditions that must all hold, an `or` only between names of calls.
//! Everything else is an error that says what to do instead; no condition is ever left out silently. The fields and
//! operators are those that sysdig's manual describes.
//!
//! No I/O, no panic, at most [`MAX_LINE_BYTES`].

use bathyscope_capture::{SyscallOutcome, SyscallSpec, Target, visible};

/// The longest line.
pub const MAX_LINE_BYTES: usize = 4096;
/// How deep parentheses may be nested.
const MAX_DEPTH: usize = 16;
/// The longest name of a thread; the kernel cuts longer ones.
const MAX_COMM_BYTES: usize = 15;

/// What a filter line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SysdigFilter {
    /// Whose calls; none if the line does not say.
    pub target: Option<Target>,
    /// Which calls.
    pub calls: SyscallSpec,
}

/// What is wrong with a filter line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct SysdigError {
    /// What is wrong.
    pub why: String,
    /// What to do about it; may be empty.
    pub remedy: String,
    /// Where, in bytes.
    pub offset: usize,
}

type Result<T> = std::result::Result<T, SysdigError>;

fn wrong<T>(offset: usize, why: impl Into<String>, remedy: impl Into<String>) -> Result<T> {
    Err(SysdigError { why: why.into(), remedy: remedy.into(), offset })
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `=`, `!=`, `<`, `<=`, `>`, `>=`, `(`, `)` or `,`.
    Sign(&'static str),
}

const SIGNS: [&str; 10] = ["==", "!=", "<=", ">=", "=", "<", ">", "(", ")", ","];

/// Words and signs with where they begin.
fn tokens(line: &str) -> Result<Vec<(usize, Token)>> {
    let mut found = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        let at = line.len() - rest.len();
        let Some(first) = rest.chars().next() else { return Ok(found) };
        if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            found.push((at, Token::Sign(if sign == "==" { "=" } else { sign })));
            rest = rest.get(sign.len()..).unwrap_or_default();
        } else if first == '"' || first == '\'' {
            let inner = rest.get(1..).unwrap_or_default();
            let Some((text, after)) = inner.split_once(first) else {
                return wrong(at, "a quotation has no end", format!("Write a second {first}."));
            };
            found.push((at, Token::Word(text.to_owned())));
            rest = after;
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || "=!<>(),\"'".contains(c)).unwrap_or(rest.len()).max(1);
            // Of a `!` alone, which is no sign.
            let end = (end..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            found.push((at, Token::Word(word.to_owned())));
            rest = after;
        }
    }
}

/// A condition on one field.
#[derive(Clone, Debug)]
struct Condition {
    at: usize,
    field: String,
    operator: String,
    values: Vec<String>,
}

#[derive(Clone, Debug)]
enum Tree {
    One(Condition),
    Not(usize, Box<Tree>),
    All(Vec<Tree>),
    Any(usize, Vec<Tree>),
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    end: usize,
    depth: usize,
}

impl Parser {
    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn peek_word(&self) -> Option<&str> {
        match self.tokens.get(self.next) {
            Some((_, Token::Word(word))) => Some(word),
            _ => None,
        }
    }

    fn take_word(&mut self, what: &str) -> Result<String> {
        let (at, word) = (self.at(), self.peek_word().map(str::to_owned));
        self.next += 1;
        word.map_or_else(|| wrong(at, format!("{what} is missing"), EXAMPLE), Ok)
    }

    fn keyword(&mut self, wanted: &str) -> bool {
        let found = self.peek_word().is_some_and(|word| word.eq_ignore_ascii_case(wanted));
        self.next += usize::from(found);
        found
    }

    fn sign(&mut self, wanted: &str) -> bool {
        let found = matches!(self.tokens.get(self.next), Some((_, Token::Sign(sign))) if *sign == wanted);
        self.next += usize::from(found);
        found
    }

    fn any(&mut self) -> Result<Tree> {
        let (at, first) = (self.at(), self.all()?);
        let mut several = vec![first];
        while self.keyword("or") {
            several.push(self.all()?);
        }
        Ok(if several.len() == 1 { several.remove(0) } else { Tree::Any(at, several) })
    }

    fn all(&mut self) -> Result<Tree> {
        let mut several = vec![self.not()?];
        while self.keyword("and") {
            several.push(self.not()?);
        }
        Ok(if several.len() == 1 { several.remove(0) } else { Tree::All(several) })
    }

    fn not(&mut self) -> Result<Tree> {
        let at = self.at();
        if self.depth >= MAX_DEPTH {
            return wrong(at, "it is nested too deeply", "");
        }
        self.depth += 1;
        let tree = if self.keyword("not") {
            Tree::Not(at, Box::new(self.not()?))
        } else if self.sign("(") {
            let inner = self.any()?;
            if !self.sign(")") {
                return wrong(self.at(), "a `)` is missing", "");
            }
            inner
        } else {
            Tree::One(self.condition()?)
        };
        self.depth -= 1;
        Ok(tree)
    }

    fn condition(&mut self) -> Result<Condition> {
        let at = self.at();
        let field = self.take_word("a field such as `proc.name`")?;
        let signs = ["=", "!=", "<=", ">=", "<", ">"];
        if let Some(sign) = signs.into_iter().find(|sign| self.sign(sign)) {
            // `evt.dir` is `<` or `>`.
            let direction = ["<", ">"].into_iter().find(|sign| self.sign(sign)).map(str::to_owned);
            let value = direction.map_or_else(|| self.take_word("the value"), Ok)?;
            return Ok(Condition { at, field, operator: sign.to_owned(), values: vec![value] });
        }
        let operator = self.take_word("an operator such as `=`")?.to_ascii_lowercase();
        match operator.as_str() {
            "exists" => Ok(Condition { at, field, operator, values: Vec::new() }),
            "in" => {
                if !self.sign("(") {
                    return wrong(self.at(), "`in` takes a list in parentheses", "Write `evt.type in (open, openat)`.");
                }
                let mut values = vec![self.take_word("a value")?];
                while self.sign(",") {
                    values.push(self.take_word("a value")?);
                }
                if !self.sign(")") {
                    return wrong(self.at(), "a `)` is missing", "");
                }
                Ok(Condition { at, field, operator, values })
            }
            "contains" | "startswith" => {
                let value = self.take_word("the value")?;
                Ok(Condition { at, field, operator, values: vec![value] })
            }
            other => wrong(at, format!("`{}` is no operator", visible(other.as_bytes())), EXAMPLE),
        }
    }
}

const EXAMPLE: &str = "Write it like `proc.name=redis-server and evt.type=open`.";

/// Reads a filter line.
///
/// # Errors
/// What cannot be read, or cannot be filtered while recording, with its place and a remedy.
pub fn parse_sysdig_filter(line: &str) -> Result<SysdigFilter> {
    if line.len() > MAX_LINE_BYTES {
        return wrong(0, format!("it has {} bytes, and at most {MAX_LINE_BYTES} are read", line.len()), "");
    }
    let mut parser = Parser { tokens: tokens(line)?, next: 0, end: line.len(), depth: 0 };
    if parser.tokens.is_empty() {
        return Ok(SysdigFilter { target: None, calls: SyscallSpec::default() });
    }
    let tree = parser.any()?;
    if parser.next < parser.tokens.len() {
        return wrong(parser.at(), "it goes on where it should end", "Join conditions with `and`.");
    }
    let mut filter = SysdigFilter { target: None, calls: SyscallSpec::default() };
    filter.require(&tree)?;
    Ok(filter)
}

impl SysdigFilter {
    fn require(&mut self, tree: &Tree) -> Result<()> {
        match tree {
            Tree::All(several) => several.iter().try_for_each(|tree| self.require(tree)),
            Tree::One(condition) => self.condition(condition),
            Tree::Any(at, several) => self.calls(*at, &joined(*at, several)?, false),
            Tree::Not(at, inner) => match &**inner {
                Tree::One(Condition { field, operator, values, .. })
                    if field == "evt.type" && matches!(operator.as_str(), "=" | "in") =>
                {
                    self.calls(*at, values, true)
                }
                Tree::Any(_, several) => self.calls(*at, &joined(*at, several)?, true),
                _ => wrong(*at, "`not` can only stand before names of calls", "Filter the capture's rows instead."),
            },
        }
    }

    /// Only these calls, or all but these.
    fn calls(&mut self, at: usize, names: &[String], not: bool) -> Result<()> {
        if !self.calls.calls.is_empty() {
            return wrong(
                at,
                "the calls are chosen twice",
                "Put all names into one list: `evt.type in (open, openat)`.",
            );
        }
        self.calls.calls = names.iter().map(|name| name.trim().to_owned()).collect();
        if let Some(first) = self.calls.calls.first_mut().filter(|_| not) {
            first.insert(0, '!');
        }
        Ok(())
    }

    fn condition(&mut self, condition: &Condition) -> Result<()> {
        let Condition { at, field, operator, values } = condition;
        let (at, value) = (*at, values.first().map_or("", String::as_str));
        match (field.as_str(), operator.as_str()) {
            ("evt.type" | "syscall.type", "=" | "in") => self.calls(at, values, false),
            ("evt.type" | "syscall.type", "!=") => self.calls(at, values, true),
            ("evt.failed", "=") => self.outcome(at, value),
            ("evt.latency" | "evt.rawres.latency", ">" | ">=") => self.slower(at, value, 1),
            ("evt.latency.ms", ">" | ">=") => self.slower(at, value, 1_000_000),
            ("evt.latency.s", ">" | ">=") => self.slower(at, value, 1_000_000_000),
            ("evt.dir", "=") if matches!(value, "<" | ">") => Ok(()),
            ("fd.name" | "evt.arg.path" | "evt.arg.name" | "evt.abspath", "startswith" | "=") => self.path(at, value),
            ("fd.directory", "=") => self.path(at, &format!("{}/", value.trim_end_matches('/'))),
            ("proc.name" | "thread.name", "=") => self.comm(at, value),
            ("proc.name" | "thread.name", "contains") => self.target(at, comm(&format!("*{value}*"))),
            ("proc.name" | "thread.name", "startswith") => self.target(at, comm(&format!("{value}*"))),
            ("proc.pid" | "proc.apid" | "proc.ppid", "=") => self.process(at, field, value),
            ("user.name" | "user.uid", "=") => self.target(at, Target::User { user: value.to_owned() }),
            ("container.name" | "container.id", "=") => self.target(at, Target::Container { name: value.to_owned() }),
            ("thread.cgroup" | "thread.cgroups", "=") => self.target(at, Target::Cgroup { path: value.to_owned() }),
            (field, operator) => refuse(at, field, operator),
        }
    }

    fn target(&mut self, at: usize, target: Target) -> Result<()> {
        match &self.target {
            None => self.target = Some(target),
            Some(known) if *known == target => {}
            Some(known) => {
                let why = format!("it asks for {target} and for {known}, and a capture has one target");
                return wrong(at, why, "Keep one of them, and filter the capture's rows by the other.");
            }
        }
        Ok(())
    }

    fn comm(&mut self, at: usize, name: &str) -> Result<()> {
        if name.contains('*') {
            return wrong(at, "`=` takes no wildcards", "Write `contains` or `startswith`.");
        }
        self.target(at, comm(name))
    }

    fn process(&mut self, at: usize, field: &str, value: &str) -> Result<()> {
        let Ok(pid) = value.parse() else {
            return wrong(at, format!("`{}` is no process id", visible(value.as_bytes())), "");
        };
        self.target(at, Target::Process { pid, children: field != "proc.pid" })
    }

    fn outcome(&mut self, at: usize, value: &str) -> Result<()> {
        self.calls.outcome = match value {
            "true" => SyscallOutcome::Failed,
            "false" => SyscallOutcome::Succeeded,
            _ => return wrong(at, "`evt.failed` is `true` or `false`", ""),
        };
        Ok(())
    }

    fn slower(&mut self, at: usize, value: &str, unit_ns: u64) -> Result<()> {
        let Some(least) = value.parse::<u64>().ok().and_then(|value| value.checked_mul(unit_ns)) else {
            return wrong(at, format!("`{}` is no length of time", visible(value.as_bytes())), "Write a whole number.");
        };
        self.calls.min_duration_ns = self.calls.min_duration_ns.max(least);
        Ok(())
    }

    fn path(&mut self, at: usize, value: &str) -> Result<()> {
        if !value.starts_with('/') {
            let why = "only paths can be compared while recording: names of files that begin with `/`";
            return wrong(at, why, "Filter the capture's rows by an address or a port.");
        }
        if self.calls.path.is_some() {
            return wrong(at, "the path is chosen twice", "Keep one of them.");
        }
        self.calls.path = Some(value.to_owned());
        Ok(())
    }
}

/// Threads of this name, which the kernel keeps only the beginning of.
fn comm(name: &str) -> Target {
    let cut = name.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= MAX_COMM_BYTES).last();
    let pattern = match name.contains('*') {
        true => name.to_owned(),
        false => name.get(..cut.unwrap_or(0)).unwrap_or_default().to_owned(),
    };
    Target::Comm { pattern }
}

/// The names of calls that are joined by `or`.
fn joined(at: usize, several: &[Tree]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for tree in several {
        match tree {
            Tree::One(Condition { field, operator, values, .. })
                if field == "evt.type" && matches!(operator.as_str(), "=" | "in") =>
            {
                names.extend(values.iter().cloned());
            }
            _ => {
                let why = "`or` can only stand between names of calls";
                return wrong(at, why, "Make a capture of each part, or record more and filter its rows.");
            }
        }
    }
    Ok(names)
}

fn refuse(at: usize, field: &str, operator: &str) -> Result<()> {
    let (field, operator) = (visible(field.as_bytes()), visible(operator.as_bytes()));
    let remedy = "While recording these are decided: evt.type, evt.failed, evt.latency, fd.name and fd.directory (paths), \
        proc.name, proc.pid, proc.apid, user.name, user.uid, container.name, container.id. Filter the capture's rows by \
        the rest.";
    wrong(at, format!("`{field} {operator}` cannot be decided while recording"), remedy)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(line: &str) -> String {
        match parse_sysdig_filter(line) {
            Ok(SysdigFilter { target, calls }) => {
                let target = target.map_or_else(|| "anybody".to_owned(), |target| target.to_string());
                let path = calls.path.as_deref().unwrap_or("-");
                format!("{target}|{}|{:?}|{}|{path}", calls.calls.join(","), calls.outcome, calls.min_duration_ns)
            }
            Err(error) => format!("{}: {}", error.offset, error.why),
        }
    }

    #[test]
    fn lines_that_people_know_are_understood() {
        let cases = [
            ("", "anybody||Any|0|-"),
            ("proc.name=redis-server and evt.type=open", "threads called redis-server|open|Any|0|-"),
            (
                "proc.name = \"a name\" and (evt.type=open or evt.type=close)",
                "threads called a name|open,close|Any|0|-",
            ),
            ("evt.type in (open, openat, 'close')", "anybody|open,openat,close|Any|0|-"),
            ("evt.type!=futex", "anybody|!futex|Any|0|-"),
            ("not evt.type in (futex,poll)", "anybody|!futex,poll|Any|0|-"),
            ("not (evt.type=futex or evt.type=poll) and evt.failed=true", "anybody|!futex,poll|Failed|0|-"),
            ("evt.failed=false and evt.latency>1000000 and proc.pid=7", "pid 7||Succeeded|1000000|-"),
            ("evt.latency.ms >= 20", "anybody||Any|20000000|-"),
            ("fd.name startswith /etc and user.name=www-data", "user www-data||Any|0|/etc"),
            ("fd.directory=/etc and evt.dir=<", "anybody||Any|0|/etc/"),
            ("container.name=web", "container web||Any|0|-"),
            ("proc.name contains java", "threads called *java*||Any|0|-"),
            ("proc.name=a-name-of-20-letters", "threads called a-name-of-20-le||Any|0|-"),
        ];
        for (line, expected) in cases {
            assert_eq!(shown(line), expected, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_decided_is_refused_at_its_place() {
        let cases = [
            ("fd.port=80", "0: `fd.port =` cannot be decided while recording"),
            ("proc.name=a and fd.sip=1.2.3.4", "16: `fd.sip =` cannot be decided while recording"),
            ("proc.name=a or evt.type=open", "0: `or` can only stand between names of calls"),
            ("not proc.name=a", "0: `not` can only stand before names of calls"),
            (
                "proc.name=a and proc.pid=3",
                "16: it asks for pid 3 and for threads called a, and a capture has one target",
            ),
            ("evt.type=open and evt.type=close", "18: the calls are chosen twice"),
            (
                "fd.name=10.0.0.1:80",
                "0: only paths can be compared while recording: names of files that begin with `/`",
            ),
            ("evt.type in open", "12: `in` takes a list in parentheses"),
            ("(evt.type=open", "14: a `)` is missing"),
            ("evt.type=open evt.failed=true", "14: it goes on where it should end"),
            ("proc.name='a", "10: a quotation has no end"),
            ("proc.name", "9: an operator such as `=` is missing"),
            ("proc.pid=x", "0: `x` is no process id"),
            ("evt.failed=maybe", "0: `evt.failed` is `true` or `false`"),
        ];
        for (line, expected) in cases {
            assert_eq!(shown(line), expected, "{line}");
        }
        assert!(shown(&"(".repeat(100)).contains("nested too deeply"));
        assert!(shown(&"x".repeat(5000)).contains("5000 bytes"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(line in ".{0,200}") {
            if let Err(error) = parse_sysdig_filter(&line) {
                prop_assert!(error.offset <= line.len());
            }
        }

        #[test]
        fn any_words_are_read_or_refused(words in proptest::collection::vec("proc.name|evt.type|=|!=|and|or|not|in|\\(|\\)|,|a|7|\"|é", 0..30)) {
            let line = words.join(" ");
            if let Err(error) = parse_sysdig_filter(&line) {
                prop_assert!(error.offset <= line.len());
            }
        }
    }
}
