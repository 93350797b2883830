//! Searching names: what is found, in which order, and that nothing is missed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use bathyscope_catalog::{
    matches_wildcards,
    names::{Names, NamesBuilder, NewName, Query, Searched, search},
};
use proptest::prelude::*;

fn plain(names: &[&str]) -> Names {
    let mut builder = NamesBuilder::new();
    for text in names {
        let own_at = text.find(':').map_or(0, |at| if text[at..].starts_with("::") { 0 } else { at + 1 });
        builder.add(NewName { text, own_at, ..NewName::default() });
    }
    builder.finish()
}

fn all(names: &Names, query: &Query) -> Vec<String> {
    let found = search(&[Searched { names, group: None }], query, 0, usize::MAX);
    assert_eq!(found.total(), found.hits.len());
    found.hits.iter().map(|hit| names.get(hit.index).unwrap().text.to_owned()).collect()
}

const KERNEL: [&str; 12] = [
    "vfs_read",
    "vfs_readv",
    "kernel_read",
    "__vfs_read_iter",
    "read",
    "spread",
    "do_vfs_ioctl",
    "read_vfs_all",
    "VFS_Read_Upper",
    "xfs_vfsread",
    "sched:sched_switch",
    "sched:sched_wakeup",
];

#[test]
fn the_nearest_name_comes_first() {
    let names = plain(&KERNEL);
    let cases: [(&str, &[&str]); 12] = [
        // Equal, begins with it, a word does; then those that have the words, at last one inside of another.
        ("vfs_read", &["vfs_read", "vfs_readv", "VFS_Read_Upper", "__vfs_read_iter", "read_vfs_all", "xfs_vfsread"]),
        ("VFS READ", &["vfs_read", "vfs_readv", "VFS_Read_Upper", "__vfs_read_iter", "read_vfs_all", "xfs_vfsread"]),
        ("read vfs", &["read_vfs_all", "vfs_read", "vfs_readv", "VFS_Read_Upper", "__vfs_read_iter", "xfs_vfsread"]),
        ("switch", &["sched:sched_switch"]),
        ("sched_s", &["sched:sched_switch", "sched:sched_wakeup"]),
        ("sched:sched_switch", &["sched:sched_switch"]),
        ("sched switch", &["sched:sched_switch"]),
        ("vfs_*", &["vfs_read", "vfs_readv"]),
        ("sched:*", &["sched:sched_switch", "sched:sched_wakeup"]),
        ("sched_*", &["sched:sched_switch", "sched:sched_wakeup"]),
        ("*[vV]fs_[rR]ead", &["vfs_read"]),
        ("nothing", &[]),
    ];
    for (query, expected) in cases {
        assert_eq!(all(&names, &Query::new(query)), expected, "{query}");
    }
    assert_eq!(all(&names, &Query::new(" ")).len(), KERNEL.len());
    assert_eq!(all(&names, &Query::pattern("read")), ["read"], "a pattern without wildcards is one name");
}

#[test]
fn both_forms_of_a_name_are_found() {
    let mut builder = NamesBuilder::new();
    let new = |text, raw| NewName { text, raw, flags: 7, value: 9, group: "lib", ..NewName::default() };
    builder.add(new("std::vector<int>::push_back(int&&)", "_ZNSt6vectorIiSaIiEE9push_backEOi"));
    builder.add(new("core::fmt::write", "_ZN4core3fmt5write17h0123456789abcdefE"));
    builder.add(new("main", "main"));
    builder.add(new("main.(*server).run", "main.(*server).run"));
    let names = builder.finish();
    let found = |query: &str| all(&names, &Query::new(query));
    assert_eq!(found("push_back"), ["std::vector<int>::push_back(int&&)"]);
    assert_eq!(found("vector push"), ["std::vector<int>::push_back(int&&)"]);
    assert_eq!(found("_ZN4core3fmt5write17h0123456789abcdefE"), ["core::fmt::write"]);
    assert_eq!(found("_ZN4core*"), ["core::fmt::write"]);
    assert_eq!(found("core::*"), ["core::fmt::write"]);
    assert_eq!(found("main"), ["main", "main.(*server).run"]);
    assert_eq!(found("int _ZN4core"), Vec::<String>::new(), "not across names");
    let index = names.exactly("core::fmt::write").next().unwrap();
    assert_eq!(names.exactly("_ZN4core3fmt5write17h0123456789abcdefE").collect::<Vec<_>>(), [index]);
    let name = names.get(index).unwrap();
    assert_eq!(
        (name.raw, name.group, name.flags, name.value),
        ("_ZN4core3fmt5write17h0123456789abcdefE", Some("lib"), 7, 9)
    );
    assert_eq!(names.exactly("core::fmt").count(), 0);
}

#[test]
fn pages_and_lists_and_groups_fit_together() {
    let mut builder = NamesBuilder::new();
    for (text, group) in [("a_read", ""), ("b_read", "ext4"), ("c_read", "ext4"), ("d_read", "xfs")] {
        builder.add(NewName { text, group, ..NewName::default() });
    }
    let (first, second) = (builder.finish(), plain(&["read", "thread"]));
    let lists = [Searched { names: &first, group: None }, Searched { names: &second, group: None }];
    let whole = search(&lists, &Query::new("read"), 0, usize::MAX);
    assert_eq!(whole.totals, [4, 2]);
    for offset in 0..8 {
        for limit in 0..4 {
            let page = search(&lists, &Query::new("read"), offset, limit);
            let expected: Vec<_> = whole.hits.iter().copied().skip(offset).take(limit).collect();
            assert_eq!((page.hits, page.totals), (expected, whole.totals.clone()), "{offset} {limit}");
        }
    }
    let of_group = |group| search(&[Searched { names: &first, group: Some(group) }], &Query::new("read"), 0, 9).totals;
    assert_eq!((of_group("ext4"), of_group("xfs"), of_group("btrfs")), (vec![2], vec![1], vec![0]));
    let everything = search(&[Searched { names: &first, group: Some("ext4") }], &Query::new(""), 1, 9);
    assert_eq!((everything.totals, everything.hits.len()), (vec![2], 1));
}

#[test]
fn what_is_too_long_is_counted() {
    let mut builder = NamesBuilder::new();
    builder.add(NewName { text: &"x".repeat(1 << 16), ..NewName::default() });
    builder.add(NewName { text: "", ..NewName::default() });
    let names = builder.finish();
    assert_eq!((names.len(), names.left_out()), (1, 1));
    assert_eq!(all(&names, &Query::new("")), [""]);
}

/// What fits, by the plainest means.
fn fits(name: &str, query: &str) -> bool {
    let query = query.trim();
    if query.contains(['*', '?']) {
        let own = name.find(':').filter(|at| !name[*at..].starts_with("::")).map_or(name, |at| &name[at + 1..]);
        return matches_wildcards(query, name) || matches_wildcards(query, own);
    }
    let (name, query) = (name.to_ascii_lowercase(), query.to_ascii_lowercase());
    let words: Vec<&str> =
        query.split(|c: char| c.is_whitespace() || matches!(c, '_' | ':' | '.')).filter(|it| !it.is_empty()).collect();
    if words.is_empty() {
        return name.contains(&query.split_whitespace().collect::<Vec<_>>().join("_"));
    }
    words.iter().all(|word| name.contains(word))
}

proptest! {
    #[test]
    fn a_search_finds_what_a_plain_scan_finds(
        texts in prop::collection::vec("[a-cA-C_:.é]{0,8}", 0..40),
        query in prop_oneof!["[a-cA-C_:. *?é]{0,5}", "[a-c]( [a-cB]){1,3}", "[*?][a-cA-C_é]{1,3}[*?]?"],
    ) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let names = plain(&texts);
        let mut found = all(&names, &Query::new(&query));
        // Equal queries give equal answers, however the pages are cut.
        prop_assert_eq!(&found, &all(&names, &Query::new(&query)));
        found.sort_unstable();
        let mut expected: Vec<String> =
            texts.iter().filter(|name| fits(name, &query)).map(|&name| name.to_owned()).collect();
        expected.sort_unstable();
        prop_assert_eq!(found, expected, "{:?}", query);
    }
}
