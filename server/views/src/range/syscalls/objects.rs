//! The file or socket that a call is about, from its arguments as they are written: `3</etc/passwd>`, `AT_FDCWD, "name"`,
//! `5<TCP:[…]>`.

use std::{borrow::Cow, collections::HashMap};

use bathyscope_capture::{CompareOp, Literal, Predicate, StringId};

use crate::{Source, hash::IdMap};

/// The most texts of arguments whose object is kept; others are read each time.
const MAX_TEXTS: usize = 1 << 20;
/// The most objects that are told apart; calls of others are of none.
const MAX_OBJECTS: usize = 1 << 18;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectKind {
    File,
    Socket,
    Pipe,
    Other,
}

/// An object as arguments name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedObject<'a> {
    kind: ObjectKind,
    name: Cow<'a, [u8]>,
    /// What arguments have of it, as they are written.
    written: &'a [u8],
}

/// An object that was found.
#[derive(Clone, Debug)]
struct KnownObject {
    kind: ObjectKind,
    name: Box<[u8]>,
    written: Box<[u8]>,
}

/// Objects by number.
#[derive(Debug, Default)]
pub(super) struct Objects {
    by_text: IdMap<(StringId, StringId), Option<u32>>,
    by_name: HashMap<Box<[u8]>, u32>,
    all: Vec<KnownObject>,
}

impl Objects {
    /// The object of a call with these arguments; none where it is about none.
    pub(super) fn of(&mut self, source: &dyn Source, call: StringId, args: StringId) -> Option<u32> {
        if let Some(known) = self.by_text.get(&(call, args)) {
            return *known;
        }
        let dictionaries = source.dictionaries();
        let (name, text) = (dictionaries.text(call)?, dictionaries.text(args)?);
        let found = object_of(name, text).and_then(|object| self.number(&object));
        if self.by_text.len() < MAX_TEXTS {
            self.by_text.insert((call, args), found);
        }
        found
    }

    fn number(&mut self, object: &NamedObject<'_>) -> Option<u32> {
        if let Some(number) = self.by_name.get(&*object.name) {
            return Some(*number);
        }
        if self.all.len() >= MAX_OBJECTS {
            return None;
        }
        let number = self.all.len() as u32;
        let (name, written): (Box<[u8]>, Box<[u8]>) = ((*object.name).into(), object.written.into());
        self.by_name.insert(name.clone(), number);
        self.all.push(KnownObject { kind: object.kind, name, written });
        Some(number)
    }

    /// What an object is, and its name.
    pub(super) fn named(&self, number: u32) -> (ObjectKind, &[u8]) {
        self.all.get(number as usize).map_or((ObjectKind::Other, b""), |object| (object.kind, &object.name))
    }

    /// The condition on rows whose arguments have it; none where it cannot be written.
    pub(super) fn filter(&self, number: u32) -> Option<Predicate> {
        let written = std::str::from_utf8(&self.all.get(number as usize)?.written).ok()?;
        // A `*` at an end would be one of the pattern.
        let fits = !written.is_empty() && !written.starts_with('*') && !written.ends_with('*');
        let value = Literal::Text(format!("*{written}*"));
        fits.then(|| Predicate::Compare { field: "args".to_owned(), op: CompareOp::Matches, value })
    }
}

/// Calls whose first argument is a text that is no path.
const NO_PATHS: [&[u8]; 8] = [
    b"memfd_create",
    b"sethostname",
    b"setdomainname",
    b"add_key",
    b"request_key",
    b"init_module",
    b"fsopen",
    b"mq_open",
];

/// The object of a call.
pub(super) fn object_of<'a>(call: &[u8], args: &'a [u8]) -> Option<NamedObject<'a>> {
    let (first, rest) = argument(args);
    if let Some(path) = quoted(first) {
        return (!NO_PATHS.contains(&call)).then(|| file(Cow::Borrowed(path), first));
    }
    let folder = first.strip_prefix(b"AT_FDCWD");
    let descriptor = || {
        let digits = first.iter().take_while(|byte| byte.is_ascii_digit()).count();
        Some(first.get(digits..)?).filter(|_| digits > 0)
    };
    let named = inner(folder.or_else(descriptor)?);
    // A path that is relative to what the first argument names.
    let (second, _) = argument(rest);
    let path = quoted(second).filter(|path| !path.is_empty());
    let takes_path = folder.is_some()
        || call.ends_with(b"at")
        || matches!(call, b"openat2" | b"statx" | b"faccessat2" | b"fchmodat2" | b"renameat2" | b"utimensat");
    if let Some(path) = path.filter(|_| takes_path) {
        let name = match named {
            Some(folder) if !path.starts_with(b"/") => Cow::Owned([folder, b"/", path].concat()),
            _ => Cow::Borrowed(path),
        };
        return Some(file(name, second));
    }
    let name = named.filter(|name| !name.is_empty())?;
    let written = first.get(first.iter().position(|byte| *byte == b'<')?..)?;
    Some(NamedObject { kind: kind_of(name), name: Cow::Borrowed(name), written })
}

fn file<'a>(name: Cow<'a, [u8]>, written: &'a [u8]) -> NamedObject<'a> {
    NamedObject { kind: ObjectKind::File, name, written }
}

fn kind_of(name: &[u8]) -> ObjectKind {
    const SOCKETS: [&[u8]; 8] = [b"socket:[", b"TCP", b"UDP", b"UNIX", b"NETLINK", b"RAW", b"ICMP", b"PACKET"];
    match name {
        name if SOCKETS.iter().any(|prefix| name.starts_with(prefix)) => ObjectKind::Socket,
        name if name.starts_with(b"pipe:[") => ObjectKind::Pipe,
        name if name.starts_with(b"/") => ObjectKind::File,
        _ => ObjectKind::Other,
    }
}

/// The first argument of a list, and what comes behind it. Commas within quotes, brackets and names of files end none.
fn argument(args: &[u8]) -> (&[u8], &[u8]) {
    let (mut depth, mut in_quotes, mut is_escaped) = (0_u32, false, false);
    for (at, byte) in args.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_quotes => is_escaped = true,
            b'"' => in_quotes = !in_quotes,
            _ if in_quotes => {}
            b'<' | b'[' | b'{' | b'(' => depth += 1,
            b'>' if at > 0 && args.get(at - 1) == Some(&b'-') => {}
            b'>' | b']' | b'}' | b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                let rest = args.get(at + 1..).unwrap_or_default();
                return (args.get(..at).unwrap_or_default(), rest.trim_ascii_start());
            }
            _ => {}
        }
    }
    (args, b"")
}

/// What stands between quotes, if that is all, or all but the dots of what was cut off.
fn quoted(argument: &[u8]) -> Option<&[u8]> {
    let inside = argument.strip_prefix(b"\"")?;
    let whole = inside.strip_suffix(b"...").unwrap_or(inside);
    whole.strip_suffix(b"\"")
}

/// What stands between `<` and the last `>`.
fn inner(text: &[u8]) -> Option<&[u8]> {
    let inside = text.strip_prefix(b"<")?;
    let end = inside.iter().rposition(|byte| *byte == b'>')?;
    inside.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_files_and_sockets() {
        use ObjectKind::{File, Other, Pipe, Socket};
        type Found = Option<(ObjectKind, &'static str)>;
        let cases: [(&str, &str, Found); 18] = [
            ("read", "3</etc/passwd>, \"root\"..., 4096", Some((File, "/etc/passwd"))),
            ("write", "1<pipe:[77]>, \"a, b\", 4", Some((Pipe, "pipe:[77]"))),
            ("openat", "AT_FDCWD</home>, \"a.txt\", O_RDONLY", Some((File, "/home/a.txt"))),
            ("openat", "AT_FDCWD, \"/a,b\", O_RDONLY", Some((File, "/a,b"))),
            ("openat", "AT_FDCWD, \"rel\", O_RDONLY", Some((File, "rel"))),
            ("openat", "5</srv>, \"x\", 0", Some((File, "/srv/x"))),
            ("newfstatat", "3</etc/x>, \"\", {st_mode=1}, AT_EMPTY_PATH", Some((File, "/etc/x"))),
            ("execve", "\"/bin/ls\", [\"ls\"], 0x7ffe /* 3 vars */", Some((File, "/bin/ls"))),
            ("memfd_create", "\"name\", 0", None),
            (
                "sendto",
                "4<TCP:[1.2.3.4:5->6.7.8.9:80]>, \"x\", 1, 0, NULL, 0",
                Some((Socket, "TCP:[1.2.3.4:5->6.7.8.9:80]")),
            ),
            ("recvfrom", "4<socket:[99]>, 0x1, 10, 0, NULL, NULL", Some((Socket, "socket:[99]"))),
            ("epoll_wait", "6<anon_inode:[eventpoll]>, [], 1, 0", Some((Other, "anon_inode:[eventpoll]"))),
            ("close", "3", None),
            ("mmap", "NULL, 4096, PROT_READ, MAP_PRIVATE, 3</x>, 0", None),
            ("getpid", "", None),
            ("write", "1</a \"q>, \"x\", 1", Some((File, "/a \"q"))),
            ("stat", "\"cut off\"..., 0x1", Some((File, "cut off"))),
            ("futex", "0x7f, FUTEX_WAIT, 1, NULL", None),
        ];
        for (call, args, expected) in cases {
            let found = object_of(call.as_bytes(), args.as_bytes());
            let found = found.map(|object| (object.kind, String::from_utf8_lossy(&object.name).into_owned()));
            assert_eq!(found, expected.map(|(kind, name)| (kind, name.to_owned())), "{call}({args})");
        }
    }
}
