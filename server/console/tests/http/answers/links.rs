//! Links to items of the code in what is said of routes and types: who reads the document of the API has no code to follow them in, so
//! a constant is written as its value, and a type as its name.

use std::{collections::BTreeMap, fs, path::Path};

use syn::{BinOp, Expr, ExprLit, ItemConst, Lit, UnOp};

/// How a link begins and ends.
const BEGIN: &str = "[`";
const END: &str = "`]";

/// Public constants of the workspace by name, as they are written for people.
pub struct Constants(BTreeMap<String, String>);

impl Constants {
    /// Reads them. A name that stands for several values is none.
    pub fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
        let rooms = fs::read_dir(root.join("server")).unwrap().map(|entry| entry.unwrap().path());
        for room in rooms.chain([root.join("bpf")]) {
            note_folder(&room.join("src"), &mut found);
        }
        Self(found.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
    }

    /// A text without links.
    pub fn without_links(&self, text: &str) -> String {
        let mut parts = text.split(BEGIN);
        let mut plain = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (link, rest) = part.split_once(END).unwrap_or_else(|| panic!("a link in {text:?} has no end"));
            plain.push_str(&self.words(link));
            plain.push_str(rest);
        }
        plain
    }

    /// What a link leads to: a value, a type, or what is within one.
    fn words(&self, link: &str) -> String {
        let names: Vec<&str> = link.split("::").collect();
        let (name, before) = names.split_last().unwrap();
        let is_constant =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if is_constant {
            return self.0.get(*name).unwrap_or_else(|| panic!("there is no one public constant {name}")).clone();
        }
        let is_type = |name: &str| name.starts_with(|c: char| c.is_ascii_uppercase());
        match before.last() {
            // A variant goes over the wire in small letters.
            Some(of) if is_type(of) => format!("`{}` of `{of}`", name.to_lowercase()),
            _ => format!("`{name}`"),
        }
    }
}

fn note_folder(folder: &Path, found: &mut BTreeMap<String, Option<String>>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            note_folder(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            for line in fs::read_to_string(&path).unwrap().lines().filter(|line| line.starts_with("pub const ")) {
                let Ok(item) = syn::parse_str::<ItemConst>(line) else { continue };
                let Some(value) = words_of(&item.expr) else { continue };
                let known = found.entry(item.ident.to_string()).or_insert_with(|| Some(value.clone()));
                if known.as_ref().is_some_and(|known| *known != value) {
                    *known = None;
                }
            }
        }
    }
}

/// A value as people read it; none for what is no number, text or list of texts.
fn words_of(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Array(list) => {
            let all: Option<Vec<String>> = list.elems.iter().map(words_of).collect();
            Some(all?.join(", "))
        }
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(format!("`{}`", text.value())),
        other => number_of(other).map(with_commas),
    }
}

fn number_of(expression: &Expr) -> Option<i128> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        Expr::Paren(inner) => number_of(&inner.expr),
        Expr::Unary(one) if matches!(one.op, UnOp::Neg(_)) => Some(-number_of(&one.expr)?),
        Expr::Binary(both) => {
            let (left, right) = (number_of(&both.left)?, number_of(&both.right)?);
            match both.op {
                BinOp::Shl(_) => left.checked_shl(u32::try_from(right).ok()?),
                BinOp::Mul(_) => left.checked_mul(right),
                BinOp::Add(_) => left.checked_add(right),
                BinOp::Sub(_) => left.checked_sub(right),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `134,217,728`.
fn with_commas(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let first = digits.len() % 3;
    let groups = (0..digits.len()).filter(|at| *at == 0 || at % 3 == first).collect::<Vec<_>>();
    let ends = groups.iter().skip(1).copied().chain([digits.len()]);
    let parts: Vec<&str> = groups.iter().copied().zip(ends).map(|(from, to)| &digits[from..to]).collect();
    format!("{}{}", if number < 0 { "-" } else { "" }, parts.join(","))
}

#[test]
fn links_become_values_and_names() {
    let constants = Constants(
        [("MAX_FLIGHT_S", "3,600"), ("CLOCKS", "`mono`, `boot`")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
    );
    for (text, expected) in [
        ("at most [`MAX_FLIGHT_S`]; 0 for none", "at most 3,600; 0 for none"),
        ("[`crate::MAX_FLIGHT_S`], [`CLOCKS`]", "3,600, `mono`, `boot`"),
        ("See [`bathyscope_views::Transform`].", "See `Transform`."),
        ("[`CallGraph::Dwarf`] and [`FlameGraph::unit`]", "`dwarf` of `CallGraph` and `unit` of `FlameGraph`"),
        ("no link, `code`", "no link, `code`"),
    ] {
        assert_eq!(constants.without_links(text), expected);
    }
    for (text, expected) in [
        ("64 << 10", "65,536"),
        ("1 << 27", "134,217,728"),
        ("3", "3"),
        ("20_000", "20,000"),
        ("\"$a\"", "`$a`"),
        ("-1", "-1"),
    ] {
        assert_eq!(words_of(&syn::parse_str(text).unwrap()).as_deref(), Some(expected), "{text}");
    }
}
