//! Transforms as they are written in addresses, and as they are told to people.

use std::fmt;

use super::{MAX_TRANSFORMS, Transform};
use crate::{ViewError, answers::NodeId};

/// Between transforms.
const BETWEEN: char = '~';
/// The longest pattern of a rename, in bytes: what is matched with it is every name of a capture.
const MAX_PATTERN_BYTES: usize = 512;

impl Transform {
    /// The transforms that an address names.
    ///
    /// # Errors
    /// If one cannot be read, or there are more than [`MAX_TRANSFORMS`].
    pub fn list(text: &str) -> Result<Vec<Self>, ViewError> {
        let words: Vec<&str> = text.split(BETWEEN).filter(|word| !word.is_empty()).collect();
        ViewError::within("the number of transforms", words.len() as u64, 0, MAX_TRANSFORMS as u64)?;
        words.into_iter().map(|word| Self::read(word).map_err(|why| bad(word, why))).collect()
    }

    fn read(word: &str) -> Result<Self, &'static str> {
        let (letter, rest) = word.split_once('.').unwrap_or((word, ""));
        let name = || unescaped(rest).filter(|name| !name.is_empty()).ok_or("it names no function");
        let node = || rest.parse::<NodeId>().map_err(|_not_an_id| "what it names is no node: 16 hexadecimal digits");
        Ok(match letter {
            "f" | "if" => Self::FocusFunction { name: name()?, inverted: letter == "if" },
            "F" | "iF" => Self::FocusNode { node: node()?, inverted: letter == "iF" },
            "m" => Self::MergeFunction(name()?),
            "M" | "iM" => Self::MergeNode { node: node()?, inverted: letter == "iM" },
            "d" => Self::DropFunction(name()?),
            "c" => Self::CollapseFunction(name()?),
            "C" => Self::CollapseModule(name()?),
            "r" | "R" => Self::CollapseRecursion { name: name()?, direct: letter == "R" },
            "k" | "u" if !rest.is_empty() => return Err("nothing may stand behind it"),
            "k" => Self::HideKernel,
            "u" => Self::HideRuntime,
            "s" => Self::read_rename(rest)?,
            _ => {
                return Err("its letter is none of f F m M d c C r R k u s, with i before f F M for the inverted tree");
            }
        })
    }

    fn read_rename(rest: &str) -> Result<Self, &'static str> {
        let two = rest.split_once('.').ok_or("a rename has a pattern, a point, and a text")?;
        let (pattern, text) = unescaped(two.0).zip(unescaped(two.1)).ok_or("a % is not followed by two digits")?;
        if pattern.is_empty() || pattern.len() > MAX_PATTERN_BYTES || text.len() > MAX_PATTERN_BYTES {
            return Err("a pattern and what stands for it have at most 512 bytes, and a pattern has one at least");
        }
        regex_lite::Regex::new(&pattern).map_err(|_not_one| "its pattern is no regular expression")?;
        Ok(Self::Rename { pattern, text })
    }

    /// What it does, in words; `node` is what its node is called.
    pub(super) fn words(&self, node: Option<&str>) -> String {
        let node = node.unwrap_or("a frame");
        match self {
            Self::FocusFunction { name, inverted: false } => format!("Only {name}"),
            Self::FocusFunction { name, inverted: true } => format!("Only callers of {name}"),
            Self::FocusNode { inverted: false, .. } => format!("Only this {node}"),
            Self::FocusNode { inverted: true, .. } => format!("Only callers of this {node}"),
            Self::MergeFunction(name) => format!("Without {name}"),
            Self::MergeNode { .. } => format!("Without this {node}"),
            Self::DropFunction(name) => format!("No samples with {name}"),
            Self::CollapseFunction(name) => format!("{name} as one"),
            Self::CollapseModule(name) => format!("{} as one", base_name(name)),
            Self::CollapseRecursion { name, direct: false } => format!("Recursion of {name} as one"),
            Self::CollapseRecursion { name, direct: true } => format!("Direct recursion of {name} as one"),
            Self::HideKernel => "Without the kernel".to_owned(),
            Self::HideRuntime => "Without run-time libraries".to_owned(),
            Self::Rename { pattern, text } => format!("{pattern} is {text}"),
        }
    }
}

fn bad(word: &str, why: &'static str) -> ViewError {
    ViewError::Transform { transform: word.chars().take(200).collect(), why }
}

/// The last part of a path.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inverted = |yes: &bool| if *yes { "i" } else { "" };
        match self {
            Self::FocusFunction { name, inverted: i } => write!(f, "{}f.{}", inverted(i), escaped(name, false)),
            Self::FocusNode { node, inverted: i } => write!(f, "{}F.{node}", inverted(i)),
            Self::MergeFunction(name) => write!(f, "m.{}", escaped(name, false)),
            Self::MergeNode { node, inverted: i } => write!(f, "{}M.{node}", inverted(i)),
            Self::DropFunction(name) => write!(f, "d.{}", escaped(name, false)),
            Self::CollapseFunction(name) => write!(f, "c.{}", escaped(name, false)),
            Self::CollapseModule(name) => write!(f, "C.{}", escaped(name, false)),
            Self::CollapseRecursion { name, direct: false } => write!(f, "r.{}", escaped(name, false)),
            Self::CollapseRecursion { name, direct: true } => write!(f, "R.{}", escaped(name, false)),
            Self::HideKernel => f.write_str("k"),
            Self::HideRuntime => f.write_str("u"),
            Self::Rename { pattern, text } => write!(f, "s.{}.{}", escaped(pattern, true), escaped(text, true)),
        }
    }
}

fn escaped(text: &str, points: bool) -> String {
    let text = text.replace('%', "%25").replace(BETWEEN, "%7E");
    if points { text.replace('.', "%2E") } else { text }
}

/// None if a `%` is not followed by two hexadecimal digits of an ASCII character.
fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..2).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        let byte = u8::from_str_radix(code, 16).ok().filter(u8::is_ascii)?;
        out.push(char::from(byte));
        out.push_str(part.get(2..).unwrap_or_default());
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let lists = [
            "f.main~if.std::vec<T>::~vec~F.00000000000000ff~iF.ffffffffffffffff~m.a.b~M.0000000000000001~iM.0000000000000002",
            "d.x~c.y~C./usr/lib/libc.so.6~r.f~R.f~k~u~s.^std::(.*).$1",
        ];
        for (list, count) in lists.into_iter().zip([7, 8]) {
            // A destructor's own ~ must be escaped by who writes it.
            let list = list.replace("::~vec", "::%7Evec").replace("(.*)", "(%2E*)");
            let read = Transform::list(&list).unwrap();
            let written: Vec<String> = read.iter().map(ToString::to_string).collect();
            assert_eq!((written.join("~"), read.len()), (list, count));
        }
        assert_eq!(Transform::list("~~").unwrap(), []);
        let rename = Transform::Rename { pattern: "a%.b".to_owned(), text: "~".to_owned() };
        assert_eq!(Transform::list(&rename.to_string()).unwrap(), [rename]);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_what_it_is() {
        let cases = [
            ("x.main", "`x.main` is no transform of stacks: its letter"),
            ("f", "`f` is no transform of stacks: it names no function"),
            ("f.%zz", "it names no function"),
            ("F.main", "what it names is no node"),
            ("k.1", "nothing may stand behind it"),
            ("s.a", "a rename has a pattern, a point, and a text"),
            ("s.(.b", "its pattern is no regular expression"),
            ("s..b", "at most 512 bytes"),
        ];
        for (text, expected) in cases {
            let said = Transform::list(text).unwrap_err().to_string();
            assert!(said.contains(expected), "{text}: {said}");
        }
        let said = Transform::list(&"k~".repeat(65)).unwrap_err().to_string();
        assert!(said.contains("the number of transforms is 65"), "{said}");
    }
}
