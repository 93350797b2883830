//! Colours of names, the same in the front end and in pictures that are made here: a process has one of the categories, by
//! its rank within the capture where it is frequent, a frame one of the shades of its family.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
};

use crate::{
    Cancel, Source, TimeRange, TimelineQuery, ViewError,
    answers::{Group, NodeKind},
    hash::fnv1a_32,
    timeline::timeline,
};

/// How many categories there are: colours of processes, threads and events.
pub const CATEGORIES: usize = 12;
/// How many shades each family of frames has.
pub const SHADES: usize = 4;
/// How finely a capture is looked at for its most frequent names.
const RANKED_BINS: u32 = 512;
const RANKED_TRACKS: u32 = 256;

/// A colour on light and on dark ground, each as `0xRRGGBB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shade {
    /// In the light theme.
    pub light: u32,
    /// In the dark theme.
    pub dark: u32,
}

impl Shade {
    const fn new(light: u32, dark: u32) -> Self {
        Self { light, dark }
    }
}

/// The colours of processes, threads and events. `tokens.css` has the same; a test compares them.
pub const CATEGORY_SHADES: [Shade; CATEGORIES] = [
    Shade::new(0x3f_3d9e, 0x9a_9df2),
    Shade::new(0x1b_7446, 0x55_bd86),
    Shade::new(0x1f_7f93, 0x5f_c9da),
    Shade::new(0x8a_2a6b, 0xdd_7dbb),
    Shade::new(0x3b_73b1, 0x8f_bdea),
    Shade::new(0x9b_469a, 0xe0_a0de),
    Shade::new(0x6d_6c14, 0xbd_bb5d),
    Shade::new(0x46_5766, 0x9f_b0bd),
    Shade::new(0x2f_7d67, 0x9d_dfc4),
    Shade::new(0x6f_51bd, 0xb7_a1f4),
    Shade::new(0x5f_7482, 0xc8_d2d9),
    Shade::new(0x00_5c70, 0x47_a8be),
];
/// Of text on a category.
pub const ON_CATEGORY: Shade = Shade::new(0xff_ffff, 0x0b_1115);
/// The root's.
pub const ROOT_SHADE: Shade = Shade::new(0xe4_e9ec, 0x2a_343c);
/// Of text on a frame.
pub const ON_FRAME: Shade = Shade::new(0x13_1b22, 0xe8_eef2);
/// The shades of frames, by family.
pub const FRAME_SHADES: [(&str, [Shade; SHADES]); 5] = [
    (
        "kernel",
        [
            Shade::new(0xd8_cdee, 0x44_386c),
            Shade::new(0xe1_d8f3, 0x4d_4077),
            Shade::new(0xce_c1e8, 0x3b_3061),
            Shade::new(0xdc_cde6, 0x4b_3969),
        ],
    ),
    (
        "user",
        [
            Shade::new(0xbb_daec, 0x1f_4c67),
            Shade::new(0xca_e5f1, 0x25_5772),
            Shade::new(0xaf_d2e7, 0x19_425a),
            Shade::new(0xbf_dfe6, 0x1f_5361),
        ],
    ),
    (
        "inlined",
        [
            Shade::new(0xc4_e8e0, 0x1c_544a),
            Shade::new(0xd3_efe8, 0x22_6055),
            Shade::new(0xb6_dfd5, 0x17_483f),
            Shade::new(0xc9_e9dc, 0x26_5846),
        ],
    ),
    (
        "jit",
        [
            Shade::new(0xd3_e6b8, 0x3a_5226),
            Shade::new(0xdf_edc8, 0x44_5e2e),
            Shade::new(0xc6_dda8, 0x31_471f),
            Shade::new(0xd8_e4b0, 0x49_5424),
        ],
    ),
    (
        "unresolved",
        [
            Shade::new(0xda_dfe2, 0x39_434b),
            Shade::new(0xe3_e7e9, 0x41_4c54),
            Shade::new(0xd0_d6da, 0x32_3b42),
            Shade::new(0xdc_dcda, 0x3d_4247),
        ],
    ),
];

/// Which colours names have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameColours {
    /// Those that were given by rank, by [`alike`].
    ranked: HashMap<String, usize>,
}

impl NameColours {
    /// Gives the most frequent names colours of their own: each the one that it has everywhere if that is free, else the next
    /// one that is. Each list has names that are shown together, the most frequent first; those after as many as there are
    /// colours keep the usual one.
    pub fn ranked(lists: &[Vec<String>]) -> Self {
        let mut ranked: HashMap<String, usize> = HashMap::new();
        for names in lists {
            let (mut seen, mut given) = (HashSet::new(), HashSet::new());
            let kinds = names.iter().map(|name| alike(name)).filter(|kind| seen.insert(*kind)).take(CATEGORIES);
            for kind in kinds {
                let mut colour = ranked.get(kind).copied().unwrap_or_else(|| usual(kind));
                while given.contains(&colour) {
                    colour = (colour + 1) % CATEGORIES;
                }
                ranked.insert(kind.to_owned(), colour);
                given.insert(colour);
            }
        }
        Self { ranked }
    }

    /// The colours in a capture: streams by their rows, then names of threads by theirs in `range`, which is all of the capture.
    ///
    /// # Errors
    /// If a chunk cannot be loaded, or `cancel` was set.
    pub fn of(source: &dyn Source, range: TimeRange, cancel: &Cancel) -> Result<Self, ViewError> {
        let (width, limit_tracks) = (RANKED_BINS, RANKED_TRACKS);
        let query = TimelineQuery { range, width, group: Group::Cpu, filter: None, limit_tracks, streams: None };
        let window = timeline(source, &query, cancel)?;
        let mut rows: BTreeMap<u32, u64> = BTreeMap::new();
        for bins in &window.bins {
            for (name, count) in bins.name.iter().zip(&bins.count) {
                *rows.entry(*name).or_default() += u64::from(*count);
            }
        }
        let mut names: Vec<(u32, u64)> = rows.into_iter().filter(|(_name, rows)| *rows > 0).collect();
        names.sort_by_key(|(_name, rows)| Reverse(*rows));
        let names = names.iter().filter_map(|(name, _rows)| window.names.get(*name as usize).cloned()).collect();
        Ok(Self::ranked(&[streams_by_rows(source), names]))
    }

    /// Which category a name belongs to, less than [`CATEGORIES`].
    pub fn category(&self, name: &str) -> usize {
        let kind = alike(name);
        self.ranked.get(kind).copied().unwrap_or_else(|| usual(kind))
    }

    /// The class of a frame: its family and one of its shades.
    pub fn class(&self, kind: NodeKind, name: &str) -> String {
        match family(kind) {
            Some(family) => format!("fl-{family}-{}", fnv1a_32(name.as_bytes()) as usize % SHADES),
            None if kind == NodeKind::Process => format!("cat-{}", self.category(name)),
            None => "fl-root".to_owned(),
        }
    }
}

fn streams_by_rows(source: &dyn Source) -> Vec<String> {
    let rows = |stream: usize| -> u64 {
        let chunks = u16::try_from(stream).map(|stream| source.chunks(stream)).unwrap_or_default();
        chunks.iter().map(|chunk| u64::from(chunk.rows)).sum()
    };
    let mut streams: Vec<(u64, &str)> = source
        .streams()
        .iter()
        .enumerate()
        .filter(|(_, stream)| stream.is_recorded())
        .map(|(at, stream)| (rows(at), stream.name.as_str()))
        .collect();
    streams.sort_by_key(|(rows, _name)| Reverse(*rows));
    streams.into_iter().map(|(_rows, name)| name.to_owned()).collect()
}

/// The family of frames of a kind; none for processes, which have categories, and the root.
const fn family(kind: NodeKind) -> Option<&'static str> {
    match kind {
        NodeKind::Root | NodeKind::Process => None,
        NodeKind::Kernel => Some("kernel"),
        NodeKind::User => Some("user"),
        NodeKind::Inlined => Some("inlined"),
        NodeKind::Jit => Some("jit"),
        NodeKind::Unresolved => Some("unresolved"),
    }
}

fn usual(kind: &str) -> usize {
    fnv1a_32(kind.as_bytes()) as usize % CATEGORIES
}

/// What names of one kind have in common: numbers at the end do not count, so that `kworker/0:1` and `kworker/3:2` look alike.
fn alike(name: &str) -> &str {
    let bytes = name.as_bytes();
    let numeric = |byte: &u8| byte.is_ascii_digit() || b":/u.-".contains(byte);
    let tail = bytes.len() - bytes.iter().rev().take_while(|byte| numeric(byte)).count();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let begins = |at: &usize| digit(*at) || (bytes.get(*at).is_some_and(|byte| *byte != b'u') && digit(*at + 1));
    let end = (tail..bytes.len()).find(begins).unwrap_or(bytes.len());
    name.get(..end).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::*;

    /// What the front end says of itself.
    fn page(path: &str) -> String {
        std::fs::read_to_string(format!("{}/../../web/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn the_colours_are_those_of_the_page() {
        let tokens = page("static/tokens.css");
        let mut all = vec![
            ("on-cat".to_owned(), ON_CATEGORY),
            ("on-frame".to_owned(), ON_FRAME),
            ("fl-root".to_owned(), ROOT_SHADE),
        ];
        all.extend(CATEGORY_SHADES.iter().enumerate().map(|(at, shade)| (format!("cat-{at}"), *shade)));
        for (family, shades) in FRAME_SHADES {
            all.extend(shades.iter().enumerate().map(|(at, shade)| (format!("fl-{family}-{at}"), *shade)));
        }
        for (name, Shade { light, dark }) in all {
            let line = format!("--{name}: light-dark(#{light:06x}, #{dark:06x});");
            assert!(tokens.contains(&line), "tokens.css has no {line}");
        }
    }

    /// `web/tests/color.test.js` reads the same cases.
    #[test]
    fn a_name_has_the_colour_that_it_has_on_the_page() {
        let cases: serde_json::Value = serde_json::from_str(&page("tests/colors.json")).unwrap();
        for case in cases.as_array().unwrap() {
            let lists: Vec<Vec<String>> = serde_json::from_value(case["lists"].clone()).unwrap();
            let colours = NameColours::ranked(&lists);
            for (name, category) in case["categories"].as_object().unwrap() {
                assert_eq!(colours.category(name) as u64, category.as_u64().unwrap(), "{name} of {lists:?}");
            }
        }
    }

    #[test]
    fn a_frame_has_the_class_of_its_family() {
        let colours = NameColours::default();
        assert_eq!(colours.class(NodeKind::Root, "all"), "fl-root");
        assert_eq!(colours.class(NodeKind::Process, "dd"), format!("cat-{}", colours.category("dd")));
        assert_eq!(colours.class(NodeKind::Kernel, "a"), "fl-kernel-0");
    }
}
